/* SPDX-License-Identifier: MIT */
/* The heap of timed flows against a plain list. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "engine/int.h"

enum { FLOWS = 50, STEPS = 20000 };

static uint64_t earliest(const uint64_t *at)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < FLOWS; i++)
		least = ND_MIN(least, at[i]);
	return least;
}

static void keeps_order(void **state)
{
	static struct nd_flow flows[FLOWS];
	uint64_t at[FLOWS], seed = nd_now_ns() | 1, x = seed;
	struct nd_timers t;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	assert_int_equal(nd_timers_init(&t, FLOWS), 0);
	assert_int_equal(nd_timers_next(&t), UINT64_MAX);
	assert_null(nd_timers_pop(&t, UINT64_MAX));
	for (unsigned i = 0; i < FLOWS; i++)
		at[i] = UINT64_MAX;
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		i = (unsigned)(x >> 8) % FLOWS;
		if (x % 4 == 0) {
			nd_timers_drop(&t, &flows[i]); /* also when it is not there */
			at[i] = UINT64_MAX;
		} else if (x % 4 == 1 && earliest(at) != UINT64_MAX) {
			struct nd_flow *f = nd_timers_pop(&t, UINT64_MAX - 1);

			assert_non_null(f);
			assert_int_equal(at[f - flows], earliest(at));
			at[f - flows] = UINT64_MAX;
		} else {
			at[i] = (x >> 20) % 1000;
			nd_timers_set(&t, &flows[i], at[i]);
		}
		assert_int_equal(nd_timers_next(&t), earliest(at));
		if (earliest(at) > 0)
			assert_null(nd_timers_pop(&t, earliest(at) - 1));
	}
	nd_timers_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(keeps_order) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
