/* SPDX-License-Identifier: MIT */
/*
 * Verification: every payload byte follows from flow and place, and the receiver looks at each. In
 * datagrams the pattern stands behind the native header and depends on the sequence number.
 */
#include "frame/int.h"

/* A datagram's own key; without a header all datagrams of a flow look alike. */
static uint64_t datagram_key(uint64_t flow, uint64_t seq)
{
	return flow << 40 ^ seq;
}

static void fill_datagram(struct nd_frame_state *s, const struct iovec *v, uint64_t now_ns)
{
	size_t head = nd_header_bytes(v->iov_len);
	uint64_t seq = head ? s->next++ : 0;

	nd_header_put(v->iov_base, v->iov_len, s->flow, seq, now_ns);
	nd_pattern_fill((uint8_t *)v->iov_base + head, v->iov_len - head,
			datagram_key(s->flow, seq), 0);
}

static void fill(struct nd_frame_state *s, struct nd_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		struct iovec *v = &b->iov[i];

		if (s->datagram) {
			fill_datagram(s, v, b->now_ns);
			continue;
		}
		nd_pattern_fill(v->iov_base, v->iov_len, s->flow, s->next);
		s->next += v->iov_len;
	}
}

static void unfill(struct nd_frame_state *s, uint32_t unsent)
{
	s->next -= s->next >= unsent ? unsent : s->next;
}

static uint32_t take_datagrams(struct nd_frame_state *s, const struct nd_batch *b,
			       struct nd_tally *tally)
{
	for (uint32_t i = 0; i < b->n; i++) {
		struct iovec *v = &b->iov[i];
		size_t head = nd_header_bytes(v->iov_len);

		if (!nd_header_take(s, b, i, tally)) {
			v->iov_len = 0;
			continue;
		}
		tally->corrupt +=
			nd_pattern_check((const uint8_t *)v->iov_base + head, v->iov_len - head,
					 datagram_key(s->flow, head ? s->next - 1 : 0), 0);
	}
	return (uint32_t)tally->messages;
}

static uint32_t take(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
		     struct nd_counters *sum)
{
	uint64_t highest = s->seq ? s->seq->next : 0;
	struct nd_tally tally = { 0 };
	uint32_t n = b->n;

	if (s->datagram) {
		n = take_datagrams(s, b, &tally);
	} else {
		for (uint32_t i = 0; i < b->n; i++) {
			tally.corrupt += nd_pattern_check(b->iov[i].iov_base, b->iov[i].iov_len,
							  s->flow, s->next);
			s->next += b->iov[i].iov_len;
		}
	}
	nd_tally_count(&tally, s->seq ? s->seq->next - highest : 0, c, sum);
	return n;
}

static void prepare(void *buf, size_t size, enum nd_payload payload, uint64_t seed)
{
	(void)payload; /* there is one pattern */
	(void)seed;
	nd_pattern_fill(buf, size, 0, 0);
}

const struct nd_frame nd_frame_pattern = {
	.name = "pattern",
	.help = "every byte is verified by the receiver",
	.datagram = true,
	.stream = true,
	.fills = true,
	.takes = true,
	.prepare = prepare,
	.fill = fill,
	.unfill = unfill,
	.take = take,
};
