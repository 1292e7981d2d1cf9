/* SPDX-License-Identifier: MIT */
/* A window of bits behind the highest sequence number; bit @seq modulo the window. */
#include <math.h>
#include <string.h>

#include "stat/seq.h"

static bool test_and_set(struct nd_seq *s, uint64_t seq)
{
	uint64_t *word = &s->seen[seq % ND_SEQ_WINDOW / 64], bit = 1ull << seq % 64;
	bool was = *word & bit;

	*word |= bit;
	return was;
}

/* Forget what leaves the window when @seq becomes the highest. */
static void advance(struct nd_seq *s, uint64_t seq)
{
	uint64_t i;

	if (seq - s->next >= ND_SEQ_WINDOW) {
		memset(s->seen, 0, sizeof(s->seen));
	} else {
		for (i = s->next; i <= seq; i++)
			s->seen[i % ND_SEQ_WINDOW / 64] &= ~(1ull << i % 64);
	}
	s->next = seq + 1;
}

enum nd_seq_kind nd_seq_take(struct nd_seq *s, uint64_t seq)
{
	if (seq == UINT64_MAX) /* no sender counts that far, and next would start again at 0 */
		return ND_SEQ_TOO_OLD;
	if (seq >= s->next) {
		advance(s, seq);
		(void)test_and_set(s, seq); /* just cleared */
		return ND_SEQ_NEW;
	}
	if (s->next - seq > ND_SEQ_WINDOW)
		return ND_SEQ_TOO_OLD;
	return test_and_set(s, seq) ? ND_SEQ_DUPLICATE : ND_SEQ_REORDERED;
}

void nd_seq_run(struct nd_seq *s, uint64_t n)
{
	uint64_t at = s->next % ND_SEQ_WINDOW, left = ND_MIN(n, (uint64_t)ND_SEQ_WINDOW);

	if (n == 1) { /* exchanges bring one at a time */
		s->seen[at / 64] |= 1ull << at % 64;
		s->next++;
		return;
	}
	/* what leaves the window stood where these stand now */
	while (left > 0) {
		uint64_t bit = at % 64, some = ND_MIN(left, 64 - bit);
		uint64_t bits = some < 64 ? (1ull << some) - 1 : UINT64_MAX;

		s->seen[at / 64] |= bits << bit;
		at = (at + some) % ND_SEQ_WINDOW;
		left -= some;
	}
	s->next += n;
}

void nd_seq_jitter(struct nd_seq *s, uint64_t transit_ns)
{
	int64_t d = (int64_t)(transit_ns - s->last_transit_ns);

	if (s->has_transit)
		s->jitter_ns += (fabs((double)d) - s->jitter_ns) / 16;
	s->last_transit_ns = transit_ns;
	s->has_transit = true;
}
