/* SPDX-License-Identifier: MIT */
/* The list of languages, the list of verbs, the clock estimate. */
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "dialect/dialect.h"

static void finds_languages(void **state)
{
	const char *help = NULL;
	size_t i;

	(void)state;
	assert_non_null(nd_dialect_find("native"));
	assert_null(nd_dialect_find("nati"));
	assert_null(nd_dialect_find(""));
	for (i = 0; nd_dialect_at(i); i++) {
		assert_string_equal(nd_dialect_names(i, &help), nd_dialect_at(i)->name);
		assert_non_null(help);
		assert_ptr_equal(nd_dialect_find(nd_dialect_at(i)->name), nd_dialect_at(i));
		assert_non_null(nd_dialect_at(i)->ports);
	}
	assert_true(i > 0);
	assert_null(nd_dialect_names(i, NULL));
	assert_null(nd_dialect_at(SIZE_MAX));
}

static void keeps_verbs(void **state)
{
	struct nd_verbs v = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < 100; i++) {
		nd_verbs_send(&v, i, &i, sizeof(i));
		nd_verbs_add(&v, ND_DO_TIMER)->at_ns = i;
	}
	assert_int_equal(v.n, 200);
	assert_false(v.failed);
	for (i = 0; i < 100; i++) {
		assert_int_equal(v.v[2 * i].what, ND_DO_SEND);
		assert_int_equal(v.v[2 * i].link, i);
		assert_memory_equal(v.data.data + v.v[2 * i].data_at, &i, sizeof(i));
		assert_int_equal(v.v[2 * i + 1].at_ns, i);
	}
	nd_verbs_reset(&v);
	assert_int_equal(v.n, 0);
	assert_int_equal(nd_verbs_add(&v, ND_DO_STOP)->at_ns, 0);
	nd_verbs_done(&v);
	nd_verbs_done(NULL);
}

static void takes_the_shortest_exchange(void **state)
{
	static const struct {
		uint64_t sent, peer, received;
	} rows[] = {
		{ 1000, 5000500, 2000 }, /* rtt 1000 */
		{ 3000, 5003000, 3100 }, /* rtt 100: offset 4999950 */
		{ 4000, 9000000, 4500 },
		{ 6000, 1, 5000 }, /* received before sent: not counted */
	};
	struct nd_clock c = { .rtt_ns = UINT64_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++)
		nd_clock_add(&c, rows[i].sent, rows[i].peer, rows[i].received);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.rtt_ns, 100);
	assert_int_equal(c.offset_ns, 4999950);
	c = (struct nd_clock){ 0 };
	nd_clock_add(&c, 1000000, 10, 1000010); /* the peer's clock is behind */
	assert_int_equal(c.offset_ns, -999995);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_languages),
		cmocka_unit_test(keeps_verbs),
		cmocka_unit_test(takes_the_shortest_exchange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
