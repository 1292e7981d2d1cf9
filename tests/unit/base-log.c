/* SPDX-License-Identifier: MIT */
/* Levels, and the line that reaches stderr. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/fd.h"
#include "base/log.h"

static void knows_levels(void **state)
{
	static const enum nd_log_level all[] = { ND_LOG_ERROR, ND_LOG_WARN, ND_LOG_INFO,
						 ND_LOG_DEBUG };

	size_t set, ask;

	(void)state;
	assert_true(nd_log_on(ND_LOG_WARN));
	assert_false(nd_log_on(ND_LOG_INFO));
	for (set = 0; set < ND_COUNTOF(all); set++) {
		nd_log_set(all[set]);
		for (ask = 0; ask < ND_COUNTOF(all); ask++)
			assert_int_equal(nd_log_on(all[ask]), ask <= set);
	}
}

static int counted(int *calls)
{
	return ++*calls;
}

/* Returns bytes that came out of stderr. */
static ssize_t capture(enum nd_log_level level, int *calls, char *buf, size_t size)
{
	int ends[2], saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	ssize_t n;

	assert_true(saved >= 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	nd_log(level, "number %d", counted(calls));
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	n = read(ends[0], buf, size);
	nd_close_p(&ends[0]);
	nd_close_p(&ends[1]);
	nd_close_p(&saved);
	return n;
}

static void writes_one_line(void **state)
{
	char buf[64] = { 0 };
	int calls = 0;

	(void)state;
	nd_log_set(ND_LOG_INFO);
	assert_int_equal(capture(ND_LOG_DEBUG, &calls, buf, sizeof(buf)), -1);
	assert_int_equal(calls, 0);
	assert_true(capture(ND_LOG_INFO, &calls, buf, sizeof(buf) - 1) > 0);
	assert_string_equal(buf, "netdyno: number 1\n");
	assert_int_equal(calls, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_levels),
		cmocka_unit_test(writes_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
