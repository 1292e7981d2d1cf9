/* SPDX-License-Identifier: MIT */
/* Edges of a run, and CPUs that cannot be had. */
#include <cmocka.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "run/int.h"

#define MS 1000000ull

/* clang-format off */
static const struct {
	uint64_t length_ms, interval_ms, least_ms;
	uint64_t edges_ms[5]; /* ends with the length */
} rows[] = {
	{ 1000, 300, 150, { 300, 600, 1000 } }, /* 100 ms are too short for one */
	{ 1000, 300,   0, { 300, 600, 900, 1000 } },
	{ 1000, 300, 100, { 300, 600, 900, 1000 } },
	{ 1000, 400, 200, { 400, 800, 1000 } },
	{  900, 300,   0, { 300, 600, 900 } },
	{  200, 300,   0, { 200 } },
	{  200, 300, 150, { 200 } },
};

/* clang-format on */

static void walks_the_edges(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		const struct nd_schedule s = {
			.bound = { 0, rows[i].length_ms * MS, rows[i].length_ms * MS },
			.interval_ns = rows[i].interval_ms * MS,
			.least_ns = rows[i].least_ms * MS,
		};
		uint64_t at = 0, edges = 0;

		while (at < s.bound[ND_PHASE_MEASURE]) {
			at = nd_schedule_next(&s, ND_PHASE_MEASURE, at);
			if (at != rows[i].edges_ms[edges] * MS)
				fail_msg("row %zu: edge %llu is at %llu ms", i,
					 (unsigned long long)edges, (unsigned long long)(at / MS));
			edges++;
		}
		assert_int_equal(nd_schedule_phase(&s, edges - 1), ND_PHASE_MEASURE);
		assert_int_equal(nd_schedule_phase(&s, edges), ND_PHASE_DRAIN);
		assert_true(edges + 1 <= nd_schedule_marks(&s));
	}
}

/* clang-format off */
static const struct { const char *pin; bool yields; int expected; } pins[] = {
	{ NULL,    false, 0 },
	{ "auto",  false, 0 },
	{ "1023",  false, -EINVAL },
	{ "1023",  true,  0 },
};

/* clang-format on */

static void judges_cpus(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(pins); i++) {
		const struct nd_plan plan = { .pin = pins[i].pin, .pin_yields = pins[i].yields };
		struct nd_run run = { .cfg = { .plan = &plan } };
		struct nd_err err = { 0 };

		assert_int_equal(nd_pin_check(&plan, &err), pins[i].expected);
		if (pins[i].pin && pins[i].pin[0] == '1') {
			assert_int_equal(nd_pin_plan(&run, &err), pins[i].expected);
			assert_int_equal(run.pin_n, pins[i].yields ? 0 : 1);
		}
		free(run.pin_cpus);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_the_edges),
		cmocka_unit_test(judges_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
