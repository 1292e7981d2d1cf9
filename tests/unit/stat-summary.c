/* SPDX-License-Identifier: MIT */
/* Spread and steadiness, a row per list. */
#include <math.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "stat/summary.h"

#define VALUES_MAX 10
#define NONE       ((double)NAN)

struct spread_case {
	double values[VALUES_MAX];
	size_t n;
	struct nd_spread want;
};

struct steady_case {
	double values[VALUES_MAX];
	size_t n;
	double tolerance;
	bool steady;
};

/* clang-format off */
static const struct spread_case spreads[] = {
	{ { 0 },             0, { NONE, NONE, NONE, NONE, NONE } },
	{ { 5 },             1, { 5, 5, 5, 5, 1 } },
	{ { 3, 1, 2 },       3, { 1, 2, 3, 2, 36.0 / 42 } },
	{ { 4, 1, 3, 2 },    4, { 1, 2.5, 4, 2.5, 100.0 / 120 } },
	{ { 0, 0, 0 },       3, { 0, 0, 0, 0, NONE } },
	{ { 8, 0, 0, 0 },    4, { 0, 0, 8, 2, 0.25 } },
	{ { NONE, 2, NONE, 1 }, 4, { 1, 1.5, 2, 1.5, 0.9 } },
	{ { NONE },          1, { NONE, NONE, NONE, NONE, NONE } },
};

static const struct steady_case steadies[] = {
	{ { 10, 10, 10, 10 },                 4, 0,    true },
	{ { 10, 10, 10 },                     3, 1,    false },
	{ { 0, 0, 0, 0 },                     4, 1,    false },
	{ { 100, 101, 99, 100, 101, 99 },     6, 0.05, true },
	{ { 100, 102, 104, 106, 108, 110 },   6, 0.05, false },
	{ { 100, 102, 104, 106, 108, 110 },   6, 0.20, true },
	{ { 110, 108, 106, 104, 102, 100 },   6, 0.05, false },
	{ { 50, 150, 150, 50, 50, 150, 150, 50 }, 8, 0.05, false },
	{ { 10, 10, NONE, 10 },               4, 1,    false },
};

/* clang-format on */

static bool same(double a, double b)
{
	return isnan(a) ? isnan(b) : fabs(a - b) < 1e-12;
}

static void spreads_values(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(spreads); i++) {
		struct spread_case c = spreads[i];
		struct nd_spread got = { 0 };

		nd_spread_of(c.values, c.n, &got);
		if (!same(got.min, c.want.min) || !same(got.median, c.want.median) ||
		    !same(got.max, c.want.max) || !same(got.mean, c.want.mean) ||
		    !same(got.jain, c.want.jain))
			fail_msg("row %zu: %g %g %g %g %g", i, got.min, got.median, got.max,
				 got.mean, got.jain);
	}
}

static void judges_steadiness(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(steadies); i++) {
		const struct steady_case *c = &steadies[i];

		if (nd_steady(c->values, c->n, c->tolerance) != c->steady)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(spreads_values),
		cmocka_unit_test(judges_steadiness),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
