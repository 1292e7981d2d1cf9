/* SPDX-License-Identifier: MIT */
/*
 * The native datagram header: flow and sequence number from 8 bytes on, send time from 16 on. Smaller
 * datagrams are counted alone.
 */
#include <endian.h>
#include <string.h>

#include "frame/int.h"

#define FLOW_MASK 0xffffffull
#define SEQ_BITS  40u
#define SEQ_MASK  ((1ull << SEQ_BITS) - 1)

static void put_be64(uint8_t *at, uint64_t v)
{
	v = htobe64(v);
	memcpy(at, &v, sizeof(v));
}

static uint64_t get_be64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return be64toh(v);
}

void nd_header_put(uint8_t *at, size_t bytes, uint64_t flow, uint64_t seq, uint64_t now_ns)
{
	if (bytes < ND_HEADER_BYTES)
		return;
	put_be64(at, (flow & FLOW_MASK) << SEQ_BITS | (seq & SEQ_MASK));
	if (bytes >= ND_STAMP_BYTES)
		put_be64(at + ND_HEADER_BYTES, now_ns);
}

/* The last messages of a flow may be shorter; its number in the header tells them from strangers. */
static bool length_fits(const struct nd_frame_state *s, size_t len)
{
	if (len >= s->message_bytes)
		return len == s->message_bytes;
	return len > 0 && (len >= ND_HEADER_BYTES || s->message_bytes < ND_HEADER_BYTES);
}

/* The number in full, from its lower bits: the one that is nearest to what is expected. */
static uint64_t number_of(const struct nd_seq *seq, uint64_t low)
{
	uint64_t ahead = (low - seq->next) & SEQ_MASK, behind = SEQ_MASK + 1 - ahead;

	return ahead > behind && seq->next >= behind ? seq->next - behind : seq->next + ahead;
}

static void follow(struct nd_frame_state *s, uint64_t seq, struct nd_tally *tally)
{
	if (s->seq) {
		seq = number_of(s->seq, seq);
		nd_frame_tally(nd_seq_take(s->seq, seq), tally);
	}
	s->next = seq + 1;
}

static void follow_clock(const struct nd_frame_state *s, const struct nd_batch *b, uint32_t i)
{
	const uint8_t *at = b->iov[i].iov_base;

	nd_seq_jitter(s->seq,
		      (b->stamp_ns ? b->stamp_ns[i] : b->now_ns) - get_be64(at + ND_HEADER_BYTES));
}

bool nd_header_take(struct nd_frame_state *s, const struct nd_batch *b, uint32_t i,
		    struct nd_tally *tally)
{
	const uint8_t *at = b->iov[i].iov_base;
	size_t len = b->iov[i].iov_len;
	uint64_t word = len >= ND_HEADER_BYTES ? get_be64(at) : 0;

	if (!length_fits(s, len) ||
	    (len >= ND_HEADER_BYTES && (word >> SEQ_BITS) != (s->flow & FLOW_MASK))) {
		tally->foreign++;
		return false;
	}
	tally->messages++;
	if (len < ND_HEADER_BYTES)
		return true;
	follow(s, word & SEQ_MASK, tally);
	if (s->seq && len >= ND_STAMP_BYTES)
		follow_clock(s, b, i);
	return true;
}

static void count_both(uint64_t *c, uint64_t *sum, uint64_t n)
{
	if (n == 0)
		return;
	nd_count(c, n);
	nd_count(sum, n);
}

void nd_tally_count(const struct nd_tally *t, uint64_t highest, struct nd_counters *c,
		    struct nd_counters *sum)
{
	count_both(&c->rx_unique, &sum->rx_unique, t->unique);
	count_both(&c->rx_duplicate, &sum->rx_duplicate, t->duplicate);
	count_both(&c->rx_reordered, &sum->rx_reordered, t->reordered);
	count_both(&c->rx_foreign, &sum->rx_foreign, t->foreign);
	count_both(&c->rx_corrupt, &sum->rx_corrupt, t->corrupt);
	count_both(&c->rx_highest, &sum->rx_highest, highest);
}

/* All messages of a batch have one length: none or all of them have numbers. */
static void fill(struct nd_frame_state *s, struct nd_batch *b)
{
	uint64_t flow = (s->flow & FLOW_MASK) << SEQ_BITS;
	size_t bytes = b->n ? b->iov[0].iov_len : 0;

	if (bytes < ND_HEADER_BYTES)
		return;
	for (uint32_t i = 0; i < b->n; i++) {
		uint8_t *at = b->iov[i].iov_base;

		put_be64(at, flow | ((s->next + i) & SEQ_MASK));
		if (bytes >= ND_STAMP_BYTES)
			put_be64(at + ND_HEADER_BYTES, b->now_ns);
	}
	s->next += b->n;
}

static void unfill(struct nd_frame_state *s, uint32_t unsent)
{
	s->next -= s->next >= unsent ? unsent : s->next;
}

/* How many, from message @from on, came as they were sent: with the numbers that are expected. */
static uint32_t in_order(const struct nd_frame_state *s, const struct nd_batch *b, uint32_t from)
{
	uint64_t low = s->seq->next & SEQ_MASK, word = (s->flow & FLOW_MASK) << SEQ_BITS | low;
	/* where the bits of a number end they are no longer in order, for this once */
	uint32_t end = from + (uint32_t)ND_MIN(SEQ_MASK + 1 - low, (uint64_t)(b->n - from)), i;
	size_t longer = (size_t)s->message_bytes - ND_HEADER_BYTES; /* than a header, at most */

	for (i = from; i < end; i++, word++)
		if (b->iov[i].iov_len - ND_HEADER_BYTES > longer ||
		    get_be64(b->iov[i].iov_base) != word)
			break;
	return i - from;
}

static void take_row(struct nd_frame_state *s, const struct nd_batch *b, uint32_t from, uint32_t n,
		     struct nd_tally *tally)
{
	nd_seq_run(s->seq, n);
	s->next = s->seq->next;
	tally->messages += n;
	tally->unique += n;
	for (uint32_t i = from; s->message_bytes >= ND_STAMP_BYTES && i < from + n; i++)
		if (b->iov[i].iov_len >= ND_STAMP_BYTES)
			follow_clock(s, b, i);
}

/* One alone, and the one that is expected. False: not so, and nothing is done. */
static bool take_next(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
		      struct nd_counters *sum)
{
	struct nd_seq *seq = s->seq;
	uint64_t low;

	if (b->n != 1 || !seq || b->iov[0].iov_len != s->message_bytes ||
	    s->message_bytes < ND_HEADER_BYTES)
		return false;
	low = seq->next & SEQ_MASK;
	if (get_be64(b->iov[0].iov_base) != ((s->flow & FLOW_MASK) << SEQ_BITS | low))
		return false;
	nd_seq_run(seq, 1);
	s->next = seq->next;
	if (s->message_bytes >= ND_STAMP_BYTES)
		follow_clock(s, b, 0);
	count_both(&c->rx_unique, &sum->rx_unique, 1);
	count_both(&c->rx_highest, &sum->rx_highest, 1);
	return true;
}

static uint32_t take(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
		     struct nd_counters *sum)
{
	bool numbered = s->seq && s->message_bytes >= ND_HEADER_BYTES;
	uint64_t highest = s->seq ? s->seq->next : 0;
	struct nd_tally tally = { 0 };

	if (take_next(s, b, c, sum))
		return 1;
	for (uint32_t i = 0, row; i < b->n; i += row ? row : 1) {
		row = numbered ? in_order(s, b, i) : 0;
		if (row)
			take_row(s, b, i, row, &tally);
		else if (!nd_header_take(s, b, i, &tally))
			b->iov[i].iov_len = 0;
	}
	nd_tally_count(&tally, s->seq ? s->seq->next - highest : 0, c, sum);
	return (uint32_t)tally.messages;
}

const struct nd_frame nd_frame_native = {
	.name = "native",
	.help = "flow and sequence number in 8 bytes, send time in 16",
	.datagram = true,
	.fills = true,
	.takes = true,
	.looks_bytes = ND_STAMP_BYTES,
	.prepare = nd_payload_fill,
	.fill = fill,
	.unfill = unfill,
	.take = take,
};
