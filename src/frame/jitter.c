/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's layout for measuring jitter: number of the packet (32 bits), the sender's clock and its frequency
 * (64 bits each), all big-endian, in front of the payload. Clocks of any frequency are understood.
 */
#include "frame/int.h"

#define LAYOUT_BYTES 20u
#define CLOCK_AT     4u
#define HZ_AT        12u
#define MOST_HZ      (1000 * ND_NS_PER_S) /* a clock that counts faster is none */

static void put(uint8_t *at, unsigned bytes, uint64_t v)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> (8 * (bytes - 1 - i)));
}

static uint64_t get(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | at[i];
	return v;
}

static void fill(struct nd_frame_state *s, struct nd_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		uint8_t *at = b->iov[i].iov_base;

		if (b->iov[i].iov_len < LAYOUT_BYTES)
			continue;
		put(at, CLOCK_AT, s->next++);
		put(at + CLOCK_AT, HZ_AT - CLOCK_AT, b->now_ns);
		put(at + HZ_AT, LAYOUT_BYTES - HZ_AT, ND_NS_PER_S);
	}
}

/* All messages of a batch have one length: none or all of them have numbers. */
static void unfill(struct nd_frame_state *s, uint32_t unsent)
{
	s->next -= s->next >= unsent ? unsent : s->next;
}

/* The number in full, from its lower half: the one that is nearest to what is expected. */
static bool number_of(const struct nd_seq *seq, const uint8_t *at, uint64_t *ret)
{
	int32_t ahead = (int32_t)((uint32_t)get(at, CLOCK_AT) - (uint32_t)seq->next);

	if (ahead < 0 && seq->next < 0 - (uint64_t)(int64_t)ahead)
		return false;
	*ret = seq->next + (uint64_t)(int64_t)ahead;
	return true;
}

static void follow(struct nd_frame_state *s, uint64_t number, struct nd_tally *tally)
{
	nd_frame_tally(nd_seq_take(s->seq, number), tally);
	s->next = number + 1;
}

static uint64_t clock_ns(uint64_t count, uint64_t hz)
{
	return count / hz * ND_NS_PER_S + count % hz * ND_NS_PER_S / hz;
}

/* The packet for a log, in two entries: its number and the frequency, the clock and the instant it came. */
static void keep(const struct nd_frame_state *s, const uint8_t *at, uint64_t hz, uint64_t came_ns)
{
	const struct nd_sample v[] = { { get(at, CLOCK_AT), hz },
				       { get(at + CLOCK_AT, HZ_AT - CLOCK_AT), came_ns } };

	nd_samples_put(s->samples, v, ND_COUNTOF(v));
}

/* Packets without the layout are payload all the same. @from: the number that counting begins with, for now; the ends
 * do not agree on an instant to begin at, and what came before the first packet is not lost. */
static void take_one(struct nd_frame_state *s, const struct nd_batch *b, uint32_t i,
		     struct nd_tally *tally, uint64_t *from)
{
	const uint8_t *at = b->iov[i].iov_base;
	uint64_t came_ns = b->stamp_ns ? b->stamp_ns[i] : b->now_ns, hz, number;

	tally->messages++;
	if (!s->seq || b->iov[i].iov_len < LAYOUT_BYTES)
		return;
	hz = get(at + HZ_AT, LAYOUT_BYTES - HZ_AT);
	if (hz == 0 || hz > MOST_HZ)
		return;
	if (s->samples)
		keep(s, at, hz, came_ns);
	if (!s->seq->has_transit)
		*from = s->seq->next = get(at, CLOCK_AT);
	if (!number_of(s->seq, at, &number))
		return;
	follow(s, number, tally);
	nd_seq_jitter(s->seq, came_ns - clock_ns(get(at + CLOCK_AT, HZ_AT - CLOCK_AT), hz));
}

static uint32_t take(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
		     struct nd_counters *sum)
{
	uint64_t from = s->seq ? s->seq->next : 0;
	struct nd_tally tally = { 0 };

	for (uint32_t i = 0; i < b->n; i++)
		take_one(s, b, i, &tally, &from);
	nd_tally_count(&tally, s->seq ? s->seq->next - from : 0, c, sum);
	return (uint32_t)tally.messages;
}

const struct nd_frame nd_frame_jitter = {
	.name = "jitter",
	.help = "number, clock and its frequency in 20 bytes, as NTttcp's -jm",
	.datagram = true,
	.fills = true,
	.takes = true,
	.looks_bytes = LAYOUT_BYTES,
	.prepare = nd_payload_fill,
	.fill = fill,
	.unfill = unfill,
	.take = take,
};
