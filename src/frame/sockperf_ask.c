/* SPDX-License-Identifier: MIT */
/*
 * sockperf's client: it numbers its messages, keeps their instants and takes their answers, of datagrams and of streams,
 * whose messages come in pieces.
 */
#include "frame/sockperf.h"

/* ---- it sends */

static void ask(const struct nd_frame_state *s, uint8_t *head)
{
	nd_sp_put(head, s->asks - 1u, ND_SP_QUESTION, ND_SOCKPERF_TALE);
}

static void warm_up(const struct nd_frame_state *s, struct nd_batch *b)
{
	unsigned flags = nd_sp_asking(s, 1) | ND_SP_WARM_UP;

	for (uint32_t i = 0; i < b->n; i++)
		nd_sp_put(b->iov[i].iov_base, 0, flags, (uint32_t)b->iov[i].iov_len);
}

static void fill_datagrams(struct nd_frame_state *s, struct nd_batch *b)
{
	if (s->asks == ND_SOCKPERF_WARM_UP) {
		warm_up(s, b);
		return;
	}
	if (s->asks) {
		ask(s, b->iov[0].iov_base);
		return;
	}
	for (uint32_t i = 0; i < b->n; i++) {
		uint64_t number = nd_samples_send(s->samples, b->now_ns);

		nd_sp_put(b->iov[i].iov_base, number, nd_sp_asking(s, number),
			  (uint32_t)b->iov[i].iov_len);
		if (s->workload->compares)
			nd_pattern_fill((uint8_t *)b->iov[i].iov_base + ND_SOCKPERF_HEADER,
					b->iov[i].iov_len - ND_SOCKPERF_HEADER, number, 0);
		s->next = number + 1;
	}
}

static void begin_message(struct nd_frame_state *s, struct nd_sp_stream *t, uint64_t now_ns)
{
	t->at = 0;
	if (s->asks) {
		t->length = ND_SOCKPERF_TALE;
		ask(s, t->head);
		return;
	}
	t->length = (uint32_t)nd_sockperf_bytes(s->workload, s->flow, t->made++);
	t->number = nd_samples_send(s->samples, now_ns);
	nd_sp_put(t->head, t->number, nd_sp_asking(s, t->number), t->length);
	s->next = t->number + 1;
}

/* @n bytes of the message under way. */
static void write_piece(const struct nd_frame_state *s, const struct nd_sp_stream *t, uint8_t *at,
			size_t n)
{
	size_t head =
		t->at < ND_SOCKPERF_HEADER ? ND_MIN(n, (size_t)(ND_SOCKPERF_HEADER - t->at)) : 0;

	if (head)
		memcpy(at, t->head + t->at, head);
	if (s->workload->compares && n > head)
		nd_pattern_fill(at + head, n - head, t->number, t->at + head - ND_SOCKPERF_HEADER);
}

/* Write @n bytes of the stream; @at NULL: only go on by so many. */
static void write_stream(struct nd_frame_state *s, struct nd_sp_stream *t, uint8_t *at, size_t n,
			 uint64_t now_ns)
{
	while (n > 0) {
		size_t piece;

		if (t->at == t->length)
			begin_message(s, t, now_ns);
		piece = ND_MIN(n, (size_t)(t->length - t->at));
		if (at)
			write_piece(s, t, at, piece);
		t->at += (uint32_t)piece;
		n -= piece;
		at = at ? at + piece : NULL;
	}
}

void nd_sp_fill(struct nd_frame_state *s, struct nd_batch *b)
{
	struct nd_sp_own *own = s->own;

	if (s->datagram) {
		fill_datagrams(s, b);
		return;
	}
	own->before = own->now;
	write_stream(s, &own->now, b->iov[0].iov_base, b->iov[0].iov_len, b->now_ns);
	s->piece_bytes = b->iov[0].iov_len;
	s->piece_ns = b->now_ns;
}

void nd_sp_unfill(struct nd_frame_state *s, uint32_t unsent)
{
	struct nd_sp_own *own = s->own;

	if (s->datagram) {
		if (!s->asks)
			nd_samples_unsend(s->samples, unsent);
		return;
	}
	nd_samples_unsend(s->samples, own->now.made - own->before.made);
	own->now = own->before;
	write_stream(s, &own->now, NULL, (size_t)(s->piece_bytes - unsent), s->piece_ns);
}

/* ---- it receives */

/* Those from a client, and of a warm-up, are not for us. */
static bool is_answer(const uint8_t *head)
{
	return (nd_sp_flags(head) & (ND_SP_FROM_CLIENT | ND_SP_WARM_UP)) == 0;
}

/* Bytes of a header that are not those of the message it answers. */
static uint64_t wrong_in_head(const struct nd_frame_state *s, const uint8_t *head)
{
	bool is_long = s->workload->spread_bytes == 0 && nd_sp_length(head) != s->message_bytes;

	return (nd_sp_flags(head) != ND_SP_WANTS_ANSWER) + is_long;
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return be64toh(v);
}

static bool is_tale(const uint8_t *head)
{
	return nd_sp_flags(head) == ND_SP_TALE && nd_sp_length(head) == ND_SOCKPERF_TALE;
}

/* The first answer to a question behind the end: what came before is not all. */
static void take_tale(struct nd_frame_state *s, const uint8_t *at)
{
	struct nd_sp_own *own = s->own;
	uint64_t messages = get_u64(at + ND_SOCKPERF_HEADER);
	struct nd_sample_counts c;

	s->next = nd_sp_number(at) + 1;
	nd_samples_counts(s->samples, &c);
	/* more than was sent: of somebody else's before, whose port this is now */
	if (own->was_told || nd_sp_number(at) == 0 || messages == ND_UNKNOWN || messages > c.sent)
		return;
	own->was_told = true;
	nd_samples_tell(s->samples, messages, get_u64(at + ND_SOCKPERF_HEADER + 8),
			get_u64(at + ND_SOCKPERF_HEADER + 16));
}

static bool take_answer(struct nd_frame_state *s, const uint8_t *head, const uint8_t *key,
			uint64_t now_ns)
{
	uint64_t number = nd_sp_number(head);

	if (!is_answer(head) || !nd_samples_answer_by(s->samples, key, number, now_ns))
		return false;
	s->next = number + 1;
	return true;
}

static uint32_t take_datagrams(struct nd_frame_state *s, const struct nd_batch *b,
			       struct nd_counters *c, struct nd_counters *sum)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		const uint8_t *at = b->iov[i].iov_base;

		if (b->iov[i].iov_len == ND_SOCKPERF_TALE && is_tale(at)) {
			take_tale(s, at);
			n++;
			continue;
		}
		if (b->iov[i].iov_len < ND_SOCKPERF_HEADER ||
		    nd_sp_length(at) > b->iov[i].iov_len ||
		    !take_answer(s, at, b->key ? b->key[i] : NULL, b->now_ns)) {
			b->iov[i].iov_len = 0;
			continue;
		}
		n++;
		if (s->workload->compares)
			nd_sp_count(&c->rx_corrupt, &sum->rx_corrupt,
				    wrong_in_head(s, at) +
					    nd_pattern_check(at + ND_SOCKPERF_HEADER,
							     b->iov[i].iov_len - ND_SOCKPERF_HEADER,
							     s->next - 1, 0));
	}
	nd_sp_count(&c->rx_foreign, &sum->rx_foreign, b->n - n);
	return n;
}

/* A header that is complete: of a stream that cannot be followed any more, false. */
static bool open_answer(struct nd_frame_state *s, struct nd_sp_stream *t, uint64_t now_ns)
{
	t->length = nd_sp_length(t->head);
	if (t->length < ND_SOCKPERF_HEADER || t->length > ND_MAX_MESSAGE)
		return false;
	t->tells = is_tale(t->head);
	if (t->tells) {
		memcpy(t->tale, t->head, ND_SOCKPERF_HEADER);
		t->compares = false;
		return true;
	}
	/* one that was not asked for is skipped */
	t->compares = take_answer(s, t->head, NULL, now_ns) && s->workload->compares;
	t->number = s->next - 1;
	return true;
}

/* @n bytes behind the header. Return: how many are not those that were sent. */
static uint64_t wrong_in_piece(const struct nd_sp_stream *t, const uint8_t *at, size_t n)
{
	return t->compares ? nd_pattern_check(at, n, t->number, t->at - ND_SOCKPERF_HEADER) : 0;
}

static void close_answer(struct nd_frame_state *s, struct nd_sp_stream *t)
{
	if (t->tells)
		take_tale(s, t->tale);
	t->tells = false;
	t->at = t->length = 0;
}

static uint64_t read_stream(struct nd_frame_state *s, const struct nd_batch *b)
{
	uint64_t wrong = 0;
	struct nd_sp_stream *t = &((struct nd_sp_own *)s->own)->now;
	const uint8_t *at = b->iov[0].iov_base;
	size_t n = b->iov[0].iov_len, piece;

	while (n > 0 && !t->is_broken) {
		if (t->at < ND_SOCKPERF_HEADER) {
			piece = ND_MIN(n, (size_t)(ND_SOCKPERF_HEADER - t->at));
			memcpy(t->head + t->at, at, piece);
		} else {
			piece = ND_MIN(n, (size_t)(t->length - t->at));
			wrong += wrong_in_piece(t, at, piece);
			if (t->tells)
				memcpy(t->tale + t->at, at, piece);
		}
		at += piece;
		n -= piece;
		t->at += (uint32_t)piece;
		if (t->at == ND_SOCKPERF_HEADER && t->length == 0)
			t->is_broken = !open_answer(s, t, b->now_ns);
		if (t->at == ND_SOCKPERF_HEADER && t->compares)
			wrong += wrong_in_head(s, t->head);
		if (t->length && t->at == t->length)
			close_answer(s, t);
	}
	return wrong;
}

static uint32_t take_stream(struct nd_frame_state *s, const struct nd_batch *b,
			    struct nd_counters *c, struct nd_counters *sum)
{
	nd_sp_count(&c->rx_corrupt, &sum->rx_corrupt, read_stream(s, b));
	return 1;
}

uint32_t nd_sp_take(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
		    struct nd_counters *sum)
{
	return s->datagram ? take_datagrams(s, b, c, sum) : take_stream(s, b, c, sum);
}
