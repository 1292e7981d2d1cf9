/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's verification: it fills with the letter A, and its receiver looks at every byte. Nothing numbers
 * datagrams, so that each one that came is new.
 */
#include <string.h>

#include "frame/int.h"

#define LETTER 'A'

static uint64_t differing(const uint8_t *p, size_t n)
{
	uint64_t bad = 0;

	if (n == 0 || (p[0] == LETTER && memcmp(p, p + 1, n - 1) == 0))
		return 0;
	for (size_t i = 0; i < n; i++)
		bad += p[i] != LETTER;
	return bad;
}

static uint32_t take(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
		     struct nd_counters *sum)
{
	struct nd_tally tally = { 0 };

	for (uint32_t i = 0; i < b->n; i++)
		tally.corrupt += differing(b->iov[i].iov_base, b->iov[i].iov_len);
	if (s->seq) {
		tally.unique = b->n;
		s->seq->next += b->n;
	}
	nd_tally_count(&tally, tally.unique, c, sum);
	return b->n;
}

const struct nd_frame nd_frame_letter = {
	.name = "letter",
	.help = "the letter A throughout, verified by the receiver, as NTttcp's -d",
	.datagram = true,
	.stream = true,
	.takes = true,
	.prepare = nd_payload_fill,
	.take = take,
};
