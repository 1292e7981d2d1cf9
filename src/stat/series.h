/* SPDX-License-Identifier: MIT */
/*
 * What one worker's counters were at each edge of the run (start, end of warm-up, each interval,
 * end of measuring, end), with the true instant. Written by the worker, published by a release
 * store, read by anyone.
 */
#ifndef ND_STAT_SERIES_H
#define ND_STAT_SERIES_H

#include <stdatomic.h>

#include "stat/counters.h"

struct nd_mark {
	uint64_t at_ns; /* true instant, this host's monotonic clock */
	struct nd_counters c;
};

struct nd_series {
	struct nd_mark *marks; /* owned, room for .room */
	uint32_t room;
	_Atomic uint32_t n; /* writer: the worker (release); readers acquire */
};

ND_MUST_CHECK int nd_series_init(struct nd_series *s, uint32_t room); /* -ENOMEM */
void nd_series_done(struct nd_series *s);
/** nd_series_mark() - owner only. When full, the last mark is overwritten: totals stay right. */
void nd_series_mark(struct nd_series *s, uint64_t at_ns, const struct nd_counters *c);
uint32_t nd_series_count(const struct nd_series *s);

#endif
