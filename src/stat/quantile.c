/* SPDX-License-Identifier: MIT */
/*
 * The number of samples that are not over the true quantile has a binomial distribution, so that two ranks hold
 * it between them with a probability that does not depend on what was measured. Far from both ends the normal
 * distribution stands for the binomial one; near an end its terms are summed up.
 */
#include <math.h>

#include "base/real.h"
#include "stat/quantile.h"

#define Z_95    1.959963984540054
#define TAIL_95 0.025
#define NORMAL  2000.0 /* variance from which the normal distribution is as good */
#define FEW     30000u /* terms of the binomial one at most */

/* P(K = k) of @n trials with probability @p, by logarithms: factorials are too large. */
static double term(uint64_t n, double p, uint64_t k)
{
	double x = (double)k, rest = (double)(n - k);

	return nd_real_exp(nd_real_ln_gamma((double)n + 1) - nd_real_ln_gamma(x + 1) -
			   nd_real_ln_gamma(rest + 1) + x * nd_real_ln(p) +
			   rest * nd_real_ln1p(-p));
}

/* Largest a with P(K < a) <= 2.5 %, smallest b with P(K > b) <= 2.5 %; K is binomial(n, p). */
static void limits(uint64_t n, double p, uint64_t *ret_a, uint64_t *ret_b)
{
	double below = 0, upto = 0;
	uint64_t k;

	*ret_a = 0;
	*ret_b = n;
	for (k = 0; k <= n && k < FEW; k++) {
		below = upto;
		upto += term(n, p, k);
		if (below <= TAIL_95)
			*ret_a = k;
		if (1 - upto <= TAIL_95) {
			*ret_b = k;
			return;
		}
	}
}

void nd_quantile_ranks(uint64_t n, double q, uint64_t *ret_low, uint64_t *ret_high)
{
	double variance = (double)n * q * (1 - q), half, middle = (double)n * q;
	uint64_t a, b;

	*ret_low = 0;
	*ret_high = n + 1;
	if (n == 0 || !(q > 0) || !(q < 1))
		return;
	if (variance > NORMAL) {
		half = Z_95 * sqrt(variance);
		*ret_low = (uint64_t)nd_real_floor(middle - half);
		*ret_high = (uint64_t)nd_real_ceil(middle + half) + 1;
	} else if (q <= 0.5) {
		limits(n, q, &a, &b);
		*ret_low = a;
		*ret_high = b + 1;
	} else { /* counted from the other end */
		limits(n, 1 - q, &a, &b);
		*ret_low = n - b;
		*ret_high = n + 1 - a;
	}
	if (*ret_high > n)
		*ret_high = n + 1;
}

bool nd_quantile_enough(uint64_t n, double q)
{
	double least = q < 0.5 ? q : 1 - q;

	/* 1 - 0.999 is a little more than 0.001 */
	return (double)n * least >= (double)ND_QUANTILE_BEYOND * (1 - 1e-9);
}

/* The value of the sample of that rank, as its bucket's upper bound; never over the largest. */
static uint64_t at_rank(const struct nd_hist_view *v, uint64_t rank)
{
	uint64_t seen = 0;

	if (rank == 0 || rank > v->count)
		return ND_UNKNOWN;
	for (uint32_t i = 0; i < v->n; i++) {
		seen += v->v[i];
		if (seen >= rank)
			return ND_MIN(nd_hist_bucket_high(i), v->max_ns);
	}
	return v->max_ns;
}

void nd_quantile_of(const struct nd_hist_view *v, double q, struct nd_quantile *ret)
{
	uint64_t low, high;

	*ret = (struct nd_quantile){ ND_UNKNOWN, ND_UNKNOWN, ND_UNKNOWN };
	if (!nd_quantile_enough(v->count, q))
		return;
	nd_quantile_ranks(v->count, q, &low, &high);
	ret->ns = ND_MIN(nd_hist_quantile(v, q), v->max_ns);
	ret->low_ns = at_rank(v, low);
	ret->high_ns = at_rank(v, high);
}

uint64_t nd_hist_between(const struct nd_hist_view *v, uint64_t low_ns, uint64_t high_ns)
{
	uint32_t from = nd_hist_bucket(low_ns), to = nd_hist_bucket(high_ns);
	uint64_t n = 0;

	for (uint32_t i = from; i <= to && i < v->n; i++)
		n += v->v[i];
	return n;
}
