/* SPDX-License-Identifier: MIT */
/* How sure a quantile is: limits from order statistics, whatever the distribution. */
#ifndef ND_STAT_QUANTILE_H
#define ND_STAT_QUANTILE_H

#include "stat/hist.h"

#define ND_QUANTILE_BEYOND 10u /* samples that must lie beyond a quantile before it is told */

/* One quantile of a histogram, ns. ND_UNKNOWN: not known. */
struct nd_quantile {
	uint64_t ns;
	uint64_t low_ns, high_ns; /* hold the true quantile with 95 % confidence */
};

/** nd_quantile_ranks() - between which samples, in order from 1 to @n, the true quantile @q (0..1) lies with at
 * least 95 % confidence if samples are independent. @ret_low 0 or @ret_high @n + 1: there is no such sample. */
void nd_quantile_ranks(uint64_t n, double q, uint64_t *ret_low, uint64_t *ret_high);
/** nd_quantile_enough() - do ten or more of @n samples lie beyond quantile @q, on either side? */
bool nd_quantile_enough(uint64_t n, double q);
/** nd_quantile_of() - value and limits; all unknown when samples are too few. */
void nd_quantile_of(const struct nd_hist_view *v, double q, struct nd_quantile *ret);
/** nd_hist_between() - samples from @low_ns to @high_ns, bucket by bucket. */
uint64_t nd_hist_between(const struct nd_hist_view *v, uint64_t low_ns, uint64_t high_ns);

#endif
