/* SPDX-License-Identifier: MIT */
/*
 * Exact statistics of kept samples: order statistics of every value, not of buckets, in constant memory and a few
 * passes. Values are round trips in ns.
 */
#ifndef ND_STAT_EXACT_H
#define ND_STAT_EXACT_H

#include "stat/samples.h"

#define ND_EXACT_QUANTILES \
	9 /* 99.999 99.99 99.9 99 90 75 50 25 %, and the median's own place at the end */

/* Which of the samples count. */
struct nd_exact_cut {
	uint64_t skip_ns, tail_ns; /* at the beginning, and the end, of what was sent */
	uint64_t first, last;      /* entries; last 0: all. Instead of times. */
};

/* What one log came to, before values are looked at. */
struct nd_exact_span {
	uint64_t n;            /* accepted */
	uint64_t dropped;      /* asked for an answer that never came */
	uint64_t out_of_order; /* answered before the one before them was: not accepted */
	uint64_t first, last;  /* numbers of messages at both ends */
	uint64_t begin_ns, end_ns;
	bool is_empty; /* it ends before it begins */
};

struct nd_exact {
	struct nd_exact_span span; /* over all logs */
	uint64_t min_ns, max_ns;
	uint64_t at_ns[ND_EXACT_QUANTILES]; /* ND_UNKNOWN: too few samples */
	double mean_ns, stddev_ns, mean_ad_ns, median_ad_ns, siqr_ns, error_ns;
};

extern const double nd_exact_quantiles[ND_EXACT_QUANTILES]; /* 0.99999 ... */

/** nd_exact_walk() - every accepted sample of @s in order; @span may be NULL. 0, or -errno. */
ND_MUST_CHECK int nd_exact_walk(const struct nd_samples *s, const struct nd_exact_cut *cut,
				void (*visit)(void *user, const struct nd_sample *at), void *user,
				struct nd_exact_span *span);
/** nd_exact_of() - over all @n logs. 0, -ENOMEM, -errno of the file. */
ND_MUST_CHECK int nd_exact_of(struct nd_samples *const *logs, size_t n,
			      const struct nd_exact_cut *cut, struct nd_exact *ret);
/** nd_exact_normal() - the quantile of the normal distribution for a two-sided level (0.99: 2.576). */
double nd_exact_normal(double level);

#endif
