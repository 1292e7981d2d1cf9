/* SPDX-License-Identifier: MIT */
/* Marks appended by one thread while another reads them. */
#include <pthread.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "stat/series.h"

#define MARKS 2000u

static void keeps_marks(void **state)
{
	struct nd_counters c = { 0 };
	struct nd_series s;
	uint64_t i;

	(void)state;
	assert_int_equal(nd_series_init(&s, 3), 0);
	assert_int_equal(nd_series_count(&s), 0);
	for (i = 1; i <= 5; i++) {
		nd_count(&c.tx_bytes, 10);
		nd_series_mark(&s, i * 100, &c);
		assert_int_equal(nd_series_count(&s), ND_MIN(i, 3u));
	}
	assert_int_equal(s.marks[0].at_ns, 100);
	assert_int_equal(s.marks[1].c.tx_bytes, 20);
	assert_int_equal(s.marks[2].at_ns, 500);
	assert_int_equal(s.marks[2].c.tx_bytes, 50);
	nd_series_done(&s);
	nd_series_done(&s);
	nd_series_done(NULL);
}

static void has_room_for_one(void **state)
{
	struct nd_counters c = { 0 };
	struct nd_series s;

	(void)state;
	assert_int_equal(nd_series_init(&s, 0), 0);
	nd_series_mark(&s, 1, &c);
	nd_series_mark(&s, 2, &c);
	assert_int_equal(nd_series_count(&s), 1);
	assert_int_equal(s.marks[0].at_ns, 2);
	nd_series_done(&s);
}

static void *write_marks(void *arg)
{
	struct nd_counters c = { 0 };
	uint64_t i;

	for (i = 1; i <= MARKS; i++) {
		c.rx_bytes = i * 2;
		nd_series_mark(arg, i, &c);
	}
	return NULL;
}

static void publishes_whole_marks(void **state)
{
	uint32_t n = 0, wrong = 0;
	struct nd_series s;
	pthread_t writer;

	(void)state;
	assert_int_equal(nd_series_init(&s, MARKS), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_marks, &s), 0);
	while (n < MARKS) {
		n = nd_series_count(&s);
		if (n > 0)
			wrong += s.marks[n - 1].at_ns != n || s.marks[n - 1].c.rx_bytes != n * 2;
	}
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(wrong, 0);
	nd_series_done(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_marks),
		cmocka_unit_test(has_room_for_one),
		cmocka_unit_test(publishes_whole_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
