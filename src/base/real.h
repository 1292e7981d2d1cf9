/* SPDX-License-Identifier: MIT */
/*
 * Functions of real numbers, the few that are needed. The C library's come with tables and variants for many
 * processors: half a megabyte that every process would have resident from its start.
 */
#ifndef ND_BASE_REAL_H
#define ND_BASE_REAL_H

#include <float.h>
#include <math.h>

#include "base/base.h"

/** nd_real_max() - the larger one; of an unknown (NAN) and a number the number. Any thread. */
static inline double nd_real_max(double a, double b)
{
	return a >= b || isnan(b) ? a : b;
}

/** nd_real_min() - the smaller one; of an unknown (NAN) and a number the number. Any thread. */
static inline double nd_real_min(double a, double b)
{
	return a <= b || isnan(b) ? a : b;
}

/** nd_real_floor() - the largest whole number that is not over @x. */
static inline double nd_real_floor(double x)
{
	double whole = fabs(x) < 0x1p52 ? (double)(int64_t)x : x; /* those are whole; so is NAN */

	return whole > x ? whole - 1 : whole;
}

/** nd_real_ceil() - the smallest whole number that is not below @x. */
static inline double nd_real_ceil(double x)
{
	return -nd_real_floor(-x);
}

/** nd_real_round() - to the nearest whole number, halves away from 0. @x: 0 and more. */
static inline double nd_real_round(double x)
{
	return nd_real_floor(x + (x < 0.5 ? x : 0.5)); /* just under a half stays under */
}

/** nd_real_less() - @x less a rounding error of a product or quotient. @x: 0 and more. */
static inline double nd_real_less(double x)
{
	return x * (1 - DBL_EPSILON / 2);
}

/** nd_real_ln() - natural logarithm, within 4 units in the last place. 0: -INFINITY; below: NAN. */
double nd_real_ln(double x);
/** nd_real_ln1p() - natural logarithm of 1 + @x, exact where @x is small. @x: over -1. */
double nd_real_ln1p(double x);
/** nd_real_exp() - e to the power of @x, within 4 units in the last place; 0 below 1e-307. */
double nd_real_exp(double x);
/** nd_real_ln_gamma() - logarithm of the gamma function: of (n - 1)! for whole n. @x: 1 and more. */
double nd_real_ln_gamma(double x);
/** nd_real_pow10() - 10 to the power of @n. @n: -300 to 300. */
double nd_real_pow10(int n);

#endif
