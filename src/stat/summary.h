/* SPDX-License-Identifier: MIT */
/* Summaries of a list of figures: min, quartiles, max, Jain's index. */
#ifndef ND_STAT_SUMMARY_H
#define ND_STAT_SUMMARY_H

#include "base/base.h"

struct nd_spread {
	double min, median, max, mean;
	double jain; /* Jain, Chiu, Hawe 1984: (sum x)^2 / (n sum x^2), 1/n..1; NAN when all are 0 */
};

/** nd_spread_of() - @values is sorted in place. n = 0 gives NANs. */
void nd_spread_of(double *values, size_t n, struct nd_spread *ret);

/**
 * nd_steady() - true when @values has no trend: |slope| * n <= @tolerance * mean (least squares
 * over all of it), and its coefficient of variation is <= 2 * @tolerance.
 * Return: false also when n < 4 or mean <= 0.
 */
bool nd_steady(const double *values, size_t n, double tolerance);

#endif
