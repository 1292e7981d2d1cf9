/* SPDX-License-Identifier: MIT */
/* Counters: every member is copied, added and subtracted. */
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "stat/counters.h"

/* Member number i is start + i * step. */
static struct nd_counters ramp(uint64_t start, uint64_t step)
{
	struct nd_counters c = { 0 };

#define X(name)                   \
	nd_count(&c.name, start); \
	start += step;
	ND_COUNTERS(X)
#undef X
	return c;
}

static void walks_every_member(void **state)
{
	struct nd_counters low = ramp(1, 1), high = ramp(101, 3), ret = { 0 }, want;

	(void)state;
	nd_counters_read(&low, &ret);
	assert_memory_equal(&ret, &low, sizeof(ret));
	nd_counters_add(&ret, &high);
	want = ramp(102, 4);
	assert_memory_equal(&ret, &want, sizeof(ret));
	nd_counters_since(&ret, &high, &low);
	want = ramp(100, 2);
	assert_memory_equal(&ret, &want, sizeof(ret));
}

static void subtracts_in_place(void **state)
{
	struct nd_counters now = ramp(50, 5), then = ramp(50, 5), zero = { 0 };

	(void)state;
	nd_counters_since(&now, &now, &then);
	assert_memory_equal(&now, &zero, sizeof(zero));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_every_member),
		cmocka_unit_test(subtracts_in_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
