/* SPDX-License-Identifier: MIT */
/* Datagram sequence numbers of one flow: first seen, duplicate, reordered, lost; RFC 3550 jitter. */
#ifndef ND_STAT_SEQ_H
#define ND_STAT_SEQ_H

#include "base/base.h"

#define ND_SEQ_WINDOW 1024 /* numbers behind the highest that are remembered one by one */

enum nd_seq_kind {
	ND_SEQ_NEW,       /* in order, or ahead of a gap */
	ND_SEQ_REORDERED, /* first seen, behind a higher number */
	ND_SEQ_DUPLICATE,
	ND_SEQ_TOO_OLD /* behind the window: counted as reordered, may be a duplicate */
};

struct nd_seq {
	uint64_t next; /* highest + 1 */
	uint64_t seen[ND_SEQ_WINDOW / 64];
	uint64_t last_transit_ns; /* RFC 3550: arrival - sent of the datagram before */
	double jitter_ns;         /* RFC 3550 section 6.4.1 */
	bool has_transit;
};

/** nd_seq_take() - what datagram number @seq (from 0 on) is, seen from those before it. One thread. */
enum nd_seq_kind nd_seq_take(struct nd_seq *s, uint64_t seq);
/** nd_seq_run() - the @n numbers from s->next on, each once and in order: all are ND_SEQ_NEW. */
void nd_seq_run(struct nd_seq *s, uint64_t n);
/** nd_seq_jitter() - RFC 3550: J += (|D| - J) / 16. @transit_ns may wrap: only differences are used. */
void nd_seq_jitter(struct nd_seq *s, uint64_t transit_ns);

#endif
