/* SPDX-License-Identifier: MIT */
/* Functions of real numbers: series, after the argument was brought near 1 (or 0) through its exponent. */
#include <string.h>

#include "base/real.h"

#define LN2       0.693147180559945309417
#define LN2_HIGH  6.93147180369123816490e-01 /* ends in zeros: small multiples are exact */
#define LN2_LOW   1.90821492927058770002e-10
#define ROOT2     1.41421356237309504880
#define LN_2PI    1.83787706640934548356
#define MANTISSA  0x000fffffffffffffull
#define EXPONENT  1023
#define SUBNORMAL 54 /* bits by which such a number is made an ordinary one */
#define GAMMA_FAR 12 /* from here on the asymptotic series is exact */

static uint64_t bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static double from_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* @x = m * 2^k with m from sqrt(1/2) to sqrt(2); @x is positive and finite. */
static double split(double x, int *ret_k)
{
	int more = x < DBL_MIN ? SUBNORMAL : 0;
	uint64_t bits = bits_of(more ? x * (double)(1ull << SUBNORMAL) : x);
	int k = (int)(bits >> 52) - EXPONENT;
	double m = from_bits((bits & MANTISSA) | (uint64_t)EXPONENT << 52);

	if (m > ROOT2) {
		m /= 2;
		k++;
	}
	*ret_k = k - more;
	return m;
}

/* ln m = 2 * (s + s^3 / 3 + s^5 / 5 ...) with s = (m - 1) / (m + 1), at most 0.172. */
double nd_real_ln(double x)
{
	double s, square, sum = 0;
	int k;

	if (isnan(x) || x < 0)
		return (double)NAN;
	if (!(x > 0))
		return -(double)INFINITY;
	if (isinf(x))
		return x;
	s = split(x, &k);
	s = (s - 1) / (s + 1);
	square = s * s;
	for (int n = 23; n >= 3; n -= 2)
		sum = (sum + 1.0 / n) * square;
	return k * LN2_HIGH + (2 * s + (2 * s * sum + k * LN2_LOW));
}

/* What was lost when 1 was added is the same for both factors. */
double nd_real_ln1p(double x)
{
	double sum = 1 + x, kept = sum - 1;

	return kept > 0 || kept < 0 ? nd_real_ln(sum) * (x / kept) : x;
}

/* 2^k times a series for what is left, at most ln 2 / 2. */
double nd_real_exp(double x)
{
	double k, rest, sum = 1;

	if (isnan(x))
		return x;
	if (x > 709.78)
		return (double)INFINITY;
	if (x < -707.5) /* under 1e-307 */
		return 0;
	k = nd_real_floor(x / LN2 + 0.5);
	rest = (x - k * LN2_HIGH) - k * LN2_LOW;
	for (int n = 14; n >= 1; n--)
		sum = 1 + sum * rest / n;
	/* in two steps: 2^1024 is no double */
	return sum * from_bits((uint64_t)((int)k - 1 + EXPONENT) << 52) * 2;
}

/* Stirling's series, that of 1 / x^(2k - 1) at [k]; smaller arguments are moved up by factors. */
double nd_real_ln_gamma(double x)
{
	static const double stirling[] = { 1.0 / 12,    -1.0 / 360, 1.0 / 1260,
					   -1.0 / 1680, 1.0 / 1188, -691.0 / 360360 };
	double product = 1, square, sum = 0;

	while (x < GAMMA_FAR) {
		product *= x;
		x += 1;
	}
	square = 1 / (x * x);
	for (size_t k = ND_COUNTOF(stirling); k > 0; k--)
		sum = sum * square + stirling[k - 1];
	return (x - 0.5) * nd_real_ln(x) - x + LN_2PI / 2 + sum / x - nd_real_ln(product);
}

double nd_real_pow10(int n)
{
	double power = 1;

	for (int i = n < 0 ? -n : n; i > 0; i--)
		power *= 10;
	return n < 0 ? 1 / power : power;
}
