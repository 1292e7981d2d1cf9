/* SPDX-License-Identifier: MIT */
/* The diary: counts at their distance, order, and what happens when nobody reads. */
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "stat/diary.h"
#include "stat/samples.h"

static void counts_at_a_distance(void **state)
{
	static const struct {
		uint64_t sum, now_ns;
		bool notes;
		uint64_t from, since_ns;
	} rows[] = {
		{ 1, 1000, false, 0, 0 },
		{ 9, 1500, false, 0, 0 },
		{ 10, 2000, true, 0, 1000 },
		{ 10, 2100, false, 0, 0 }, /* told already: a message was taken back */
		{ 19, 2500, false, 0, 0 },
		{ 45, 5000, true, 10, 3000 },
		{ 49, 6000, false, 0, 0 },
		{ 50, 6000, true, 45, 1000 },
	};

	struct nd_diary *d = nd_diary_new(10), *none = nd_diary_new(0);
	struct nd_diary_entry e;

	(void)state;
	assert_true(d && none);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		nd_diary_count(d, rows[i].sum, rows[i].now_ns);
		nd_diary_count(none, rows[i].sum, rows[i].now_ns);
		assert_int_equal(nd_diary_take(d, &e), rows[i].notes);
		if (!rows[i].notes)
			continue;
		assert_int_equal(e.what, ND_DIARY_COUNT);
		assert_int_equal(e.sum, rows[i].sum);
		assert_int_equal(e.from, rows[i].from);
		assert_int_equal(e.since_ns, rows[i].since_ns);
	}
	assert_false(nd_diary_take(none, &e));
	nd_diary_free(d);
	nd_diary_free(none);
	nd_diary_free(NULL);
}

static void leaves_out_what_does_not_fit(void **state)
{
	struct nd_diary *d = nd_diary_new(0);
	struct nd_diary_entry e = { .what = ND_DIARY_GAP };
	uint64_t read = 0;

	(void)state;
	assert_non_null(d);
	for (uint64_t i = 1; i <= 10000; i++) {
		e.sum = i;
		nd_diary_put(d, &e);
	}
	while (nd_diary_take(d, &e))
		assert_int_equal(e.sum, ++read);
	assert_true(read >= 1000 && read < 10000);
	e.sum = 10001;
	nd_diary_put(d, &e);
	assert_true(nd_diary_take(d, &e));
	assert_int_equal(e.sum, 10001);
	nd_diary_free(d);
}

static void belongs_to_samples(void **state)
{
	struct nd_samples *s = NULL;
	struct nd_diary_entry e;

	(void)state;
	assert_int_equal(nd_samples_new(0, &s), 0);
	assert_null(nd_samples_diary(s));
	nd_samples_handle(s, 5, 1); /* into none */
	assert_int_equal(nd_samples_watch(s, 3), 0);
	nd_samples_handle(s, 1, 2);
	assert_true(nd_diary_take(nd_samples_diary(s), &e));
	assert_int_equal(e.sum, 6);
	assert_false(nd_diary_take(nd_samples_diary(s), &e));
	for (int i = 1; i <= 3; i++)
		(void)nd_samples_send(s, 10);
	nd_samples_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_at_a_distance),
		cmocka_unit_test(leaves_out_what_does_not_fit),
		cmocka_unit_test(belongs_to_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
