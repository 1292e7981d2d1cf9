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

/* Whatever somebody typed or sent, it is one line that steers no terminal. */
static void cleans_text(void **state)
{
	static const struct {
		const char *text, *clean;
		size_t size;
	} rows[] = {
		{ "", "", 8 },
		{ "plain 'words'", "plain 'words'", 64 },
		{ "a\x1b[31mb", "a\\x1b[31mb", 64 },
		{ "one\ntwo\rthree\tfour", "one\\ntwo\\rthree\\tfour", 64 },
		{ "\a\x7f\x01", "\\x07\\x7f\\x01", 64 },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  64 },
		{ "\xc2\x9b"
		  "1m",
		  "\\xc2\\x9b"
		  "1m",
		  64 }, /* C1 in UTF-8 */
		{ "\x9b"
		  "1m\xff",
		  "\\x9b"
		  "1m\\xff",
		  64 }, /* C1 alone; never a byte of UTF-8 */
		{ "\xc0\x9b\xe0\x80\x9b", "\\xc0\\x9b\\xe0\\x80\\x9b",
		  64 },                           /* longer than needed */
		{ "\xe2\x82", "\\xe2\\x82", 64 }, /* half a character */
		{ "1234567", "1234567", 8 },
		{ "12345678", "1234567", 8 },
		{ "12345\x1b", "12345", 8 }, /* no half of an escape */
		{ "12345\xe2\x82\xac", "12345", 8 },
		{ "x", "", 1 },
	};

	char out[64];

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++)
		assert_string_equal(nd_log_clean(rows[i].text, out, rows[i].size), rows[i].clean);
}

static void writes_cleaned(void **state)
{
	char buf[64] = { 0 };
	int ends[2], saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	nd_log_set(ND_LOG_INFO);
	nd_log(ND_LOG_INFO, "%s", "\x1b]0;x\a");
	nd_log_line("> ", "\x1b\n");
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	assert_true(read(ends[0], buf, sizeof(buf) - 1) > 0);
	assert_string_equal(buf, "netdyno: \\x1b]0;x\\x07\n> \\x1b\\n\n");
	nd_close_p(&ends[0]);
	nd_close_p(&ends[1]);
	nd_close_p(&saved);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_levels),
		cmocka_unit_test(writes_one_line),
		cmocka_unit_test(cleans_text),
		cmocka_unit_test(writes_cleaned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
