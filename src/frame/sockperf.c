/* SPDX-License-Identifier: MIT */
/*
 * sockperf's messages. Here is what a ping-pong of short datagrams needs, one message alone in each: between two of them
 * the kernel has pushed most of this program out of the nearest cache, so that it is lines of code that cost.
 */
#include "frame/sockperf.h"

static void fill(struct nd_frame_state *s, struct nd_batch *b)
{
	uint64_t number;

	if (!s->datagram || b->n != 1 || s->asks || s->workload->compares) {
		nd_sp_fill(s, b);
		return;
	}
	number = nd_samples_send(s->samples, b->now_ns);
	nd_sp_put(b->iov[0].iov_base, number, nd_sp_asking(s, number), (uint32_t)b->iov[0].iov_len);
	s->next = number + 1;
}

/* Is it one answer to one message, whose bytes nobody compares? */
static bool is_plain_answer(const struct nd_frame_state *s, const struct nd_batch *b)
{
	const struct iovec *v = &b->iov[0];
	const unsigned not_plain = ND_SP_FROM_CLIENT | ND_SP_WARM_UP | ND_SP_TELLS;

	return s->datagram && b->n == 1 && v->iov_len >= ND_SOCKPERF_HEADER &&
	       !(nd_sp_flags(v->iov_base) & not_plain) && nd_sp_length(v->iov_base) <= v->iov_len &&
	       !s->workload->compares;
}

static uint32_t take(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
		     struct nd_counters *sum)
{
	uint64_t number;

	if (!is_plain_answer(s, b))
		return nd_sp_take(s, b, c, sum);
	number = nd_sp_number(b->iov[0].iov_base);
	if (!nd_samples_answer_by(s->samples, b->key ? b->key[0] : NULL, number, b->now_ns)) {
		b->iov[0].iov_len = 0;
		nd_sp_count(&c->rx_foreign, &sum->rx_foreign, 1);
		return 0;
	}
	s->next = number + 1;
	return 1;
}

/* Is it one message that asks for its answer, and nothing else, where nobody looks for gaps? */
static bool is_plain_question(const struct nd_frame_state *s, const struct nd_batch *b)
{
	const struct iovec *v = &b->iov[0];

	return s->datagram && b->n == 1 && v->iov_len > 0 &&
	       nd_sp_message(s, v->iov_base, v->iov_len) == v->iov_len &&
	       nd_sp_flags(v->iov_base) == (ND_SP_FROM_CLIENT | ND_SP_WANTS_ANSWER) && !s->silent &&
	       !s->workload->gaps;
}

static uint32_t turn(struct nd_frame_state *s, struct nd_batch *b, struct nd_counters *c,
		     struct nd_counters *sum)
{
	const uint16_t be_flags = htobe16(ND_SP_WANTS_ANSWER);
	const struct iovec *v = &b->iov[0];

	if (!is_plain_question(s, b))
		return nd_sp_turn(s, b, c, sum);
	if (b->key && s->senders)
		nd_sp_count_message(nd_senders_of(s->senders, b->key[0]), (uint32_t)v->iov_len,
				    b->now_ns);
	memcpy((uint8_t *)v->iov_base + ND_SP_FLAGS_AT, &be_flags, sizeof(be_flags));
	if (s->samples)
		nd_samples_handle(s->samples, 1, b->now_ns);
	return 1;
}

const struct nd_frame nd_frame_sockperf = {
	.name = "sockperf",
	.help = "number, flags and length in 14 bytes, as sockperf",
	.datagram = true,
	.stream = true,
	.fills = true,
	.takes = true,
	.looks_bytes = 0,
	.state_bytes = sizeof(struct nd_sp_own),
	.turn_room = ND_SOCKPERF_HEADER,
	.prepare = nd_payload_fill,
	.fill = fill,
	.unfill = nd_sp_unfill,
	.take = take,
	.turn = turn,
};
