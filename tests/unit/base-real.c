/* SPDX-License-Identifier: MIT */
/* Functions of real numbers, beside those of the C library. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/real.h"

#define MANY 200000

/* How far @is lies from @wanted, in units of the last place of numbers of the size @scale. */
static double ulps(double is, double wanted, double scale)
{
	return fabs(is - wanted) / (fmax(fabs(wanted), scale) * DBL_EPSILON);
}

static double random_unit(uint64_t *s)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(*s >> 11) + 1) * 0x1p-53;
}

struct row {
	const char *name;
	double (*ours)(double x);
	double (*theirs)(double x);
	double from, to; /* of arguments */
	double most;     /* units in the last place that they may differ by */
	double scale;    /* below which the difference is absolute */
};

static const struct row rows[] = {
	{ "ln", nd_real_ln, log, DBL_MIN, 2, 4, 0 },
	{ "ln of large", nd_real_ln, log, 1, 1e18, 4, 0 },
	{ "ln near 1", nd_real_ln, log, 0.999, 1.001, 4, 0 },
	{ "ln1p", nd_real_ln1p, log1p, -0.9, 1, 6, 0 },
	{ "ln1p of small", nd_real_ln1p, log1p, -1e-9, 1e-9, 6, 0 },
	{ "exp", nd_real_exp, exp, -707, 709, 4, 0 },
	{ "exp of small", nd_real_exp, exp, -1, 1, 4, 0 },
	{ "ln gamma", nd_real_ln_gamma, lgamma, 1, 40, 8, 20 },
	{ "ln gamma of large", nd_real_ln_gamma, lgamma, 40, 1e9, 8, 0 },
};

static void as_the_library(void **state)
{
	uint64_t seed = (uint64_t)time(NULL), s = seed;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		const struct row *r = &rows[i];

		for (unsigned n = 0; n < MANY; n++) {
			double x = r->from + random_unit(&s) * (r->to - r->from);
			double off = ulps(r->ours(x), r->theirs(x), r->scale);

			if (!(off <= r->most))
				fail_msg("%s of %.17g: %.17g, not %.17g: %.1f units (seed %llu)",
					 r->name, x, r->ours(x), r->theirs(x), off,
					 (unsigned long long)seed);
		}
	}
}

static void ends(void **state)
{
	(void)state;
	assert_true(isinf(nd_real_ln(0)) && nd_real_ln(0) < 0);
	assert_true(isnan(nd_real_ln(-1)));
	assert_true(isnan(nd_real_ln((double)NAN)));
	assert_true(isinf(nd_real_ln((double)INFINITY)));
	assert_true(ulps(nd_real_ln(DBL_TRUE_MIN), log(DBL_TRUE_MIN), 0) < 4);
	assert_true(ulps(nd_real_ln(DBL_MAX), log(DBL_MAX), 0) < 4);
	assert_true(nd_real_ln(1) == 0 && nd_real_ln1p(0) == 0 && nd_real_exp(0) == 1);
	assert_true(isinf(nd_real_exp(710)) && nd_real_exp(-800) == 0);
	assert_true(isnan(nd_real_exp((double)NAN)));
	assert_true(fabs(nd_real_ln_gamma(1)) < 1e-14 && fabs(nd_real_ln_gamma(2)) < 1e-14);
	assert_true(nd_real_pow10(0) == 1 && nd_real_pow10(22) == 1e22);
	assert_true(nd_real_pow10(-3) == 1e-3);
}

static void unknown_does_not_count(void **state)
{
	const double nan = (double)NAN;

	(void)state;
	assert_true(nd_real_max(1, 2) == 2 && nd_real_max(2, 1) == 2);
	assert_true(nd_real_max(nan, 1) == 1 && nd_real_max(1, nan) == 1);
	assert_true(nd_real_min(1, 2) == 1 && nd_real_min(2, 1) == 1);
	assert_true(nd_real_min(nan, 1) == 1 && nd_real_min(1, nan) == 1);
	assert_true(isnan(nd_real_min(nan, nan)) && isnan(nd_real_max(nan, nan)));
}

static void whole_numbers(void **state)
{
	static const double halves[] = { 0, 0.25, 0.5, 1, 1.5, 2.5, 1e9 + 0.5, 0x1p52 };
	uint64_t seed = (uint64_t)time(NULL), s = seed;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(halves); i++)
		assert_true(nd_real_round(halves[i]) == round(halves[i]));
	assert_true(nd_real_round(nextafter(0.5, 0)) == 0);
	assert_true(nd_real_floor(-3) == -3 && nd_real_ceil(3) == 3);
	assert_true(nd_real_floor(0x1p60) == 0x1p60 && nd_real_ceil(-0x1p60) == -0x1p60);
	assert_true(isnan(nd_real_floor((double)NAN)) && isinf(nd_real_ceil((double)INFINITY)));
	assert_true(nd_real_less(0) == 0);
	for (unsigned n = 0; n < MANY; n++) {
		double x = random_unit(&s) * 1e9;

		if (nd_real_floor(-x) != floor(-x) || nd_real_ceil(x) != ceil(x))
			fail_msg("%.17g: %.17g under -x, %.17g over x (seed %llu)", x,
				 nd_real_floor(-x), nd_real_ceil(x), (unsigned long long)seed);
		if (nd_real_round(x) != round(x) || nd_real_less(x) != nextafter(x, 0))
			fail_msg("%.17g: rounds to %.17g, less is %.17g (seed %llu)", x,
				 nd_real_round(x), nd_real_less(x), (unsigned long long)seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_library),
		cmocka_unit_test(ends),
		cmocka_unit_test(unknown_does_not_count),
		cmocka_unit_test(whole_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
