/* SPDX-License-Identifier: MIT */
/* Spread, fairness and steadiness of a list of figures. */
#include <math.h>
#include <stdlib.h>

#include "stat/summary.h"

/* Unknown figures (NAN) go last. */
static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return (x > y) - (x < y);
}

void nd_spread_of(double *values, size_t n, struct nd_spread *ret)
{
	double nan = (double)NAN, sum = 0, squares = 0;
	size_t i;

	*ret = (struct nd_spread){ nan, nan, nan, nan, nan };
	if (n == 0)
		return;
	qsort(values, n, sizeof(*values), compare);
	while (n > 0 && isnan(values[n - 1]))
		n--;
	if (n == 0)
		return;
	for (i = 0; i < n; i++) {
		sum += values[i];
		squares += values[i] * values[i];
	}
	ret->min = values[0];
	ret->median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
	ret->max = values[n - 1];
	ret->mean = sum / (double)n;
	if (squares > 0)
		ret->jain = sum * sum / ((double)n * squares);
}

bool nd_steady(const double *values, size_t n, double tolerance)
{
	double mean = 0, middle = ((double)n - 1) / 2, squares = 0, along = 0, times = 0;
	size_t i;

	if (n < 4)
		return false;
	for (i = 0; i < n; i++)
		mean += values[i] / (double)n;
	if (!(mean > 0)) /* nothing flowed, or a figure is unknown */
		return false;
	for (i = 0; i < n; i++) {
		double x = (double)i - middle, y = values[i] - mean;

		squares += y * y;
		along += x * y;
		times += x * x;
	}
	return fabs(along / times) * (double)n <= tolerance * mean &&
	       sqrt(squares / (double)(n - 1)) <= 2 * tolerance * mean;
}
