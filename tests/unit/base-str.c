/* SPDX-License-Identifier: MIT */
/* The text buffer: growing, formatting, wrapping, remembering failure. */
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/str.h"

struct wrap_case {
	const char *text;
	unsigned indent, width;
	const char *want;
};

/* clang-format off */
static const struct wrap_case wraps[] = {
	{ "",                     2, 10, "" },
	{ "one",                  0, 10, "one\n" },
	{ "one two three",        0, 7,  "one two\nthree\n" },
	{ "one two three",        2, 9,  "  one two\n  three\n" },
	{ "one   two ",           0, 20, "one two\n" },
	{ "a longestword b",      1, 4,  " a\n longestword\n b\n" },
	{ "one\ntwo",             1, 20, " one\n two\n" },
	{ "one\n\ntwo",           1, 20, " one\n\n two\n" },
	{ "one\n",                0, 20, "one\n" },
	{ "\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6", 0, 5, "\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6\n" },
};

/* clang-format on */

static void wraps_text(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(wraps); i++) {
		nd_auto_str s = { 0 };

		nd_str_wrap(&s, wraps[i].text, wraps[i].indent, wraps[i].width);
		if (strcmp(nd_str_text(&s), wraps[i].want) != 0)
			fail_msg("row %zu: '%s'", i, nd_str_text(&s));
	}
}

static void grows(void **state)
{
	nd_auto_str s = { 0 };
	unsigned i;

	(void)state;
	assert_string_equal(nd_str_text(&s), "");
	nd_str_add(&s, "");
	assert_null(s.data);
	nd_str_add(&s, "abc");
	nd_str_addn(&s, "defgh", 2);
	nd_str_addc(&s, '-', 3);
	nd_str_addf(&s, "%d%s", 42, "x");
	assert_string_equal(nd_str_text(&s), "abcde---42x");
	for (i = 0; i < 10000; i++)
		nd_str_addf(&s, "%05u", i);
	assert_int_equal(s.len, 11 + 50000);
	assert_int_equal(strlen(s.data), s.len);
	assert_string_equal(s.data + s.len - 5, "09999");
	assert_true(nd_str_ok(&s));
	nd_str_reset(&s);
	assert_string_equal(nd_str_text(&s), "");
	assert_non_null(s.data);
}

static void remembers_a_failure(void **state)
{
	nd_auto_str s = { 0 };

	(void)state;
	nd_str_add(&s, "abc");
	nd_str_addc(&s, 'x', SIZE_MAX - 2); /* overflows before malloc is asked */
	assert_false(nd_str_ok(&s));
	nd_str_add(&s, "def");
	assert_string_equal(nd_str_text(&s), "abc");
	nd_str_reset(&s);
	nd_str_add(&s, "def");
	assert_true(nd_str_ok(&s));
	assert_string_equal(nd_str_text(&s), "def");
	nd_str_done(NULL);
}

static void reads_utf8(void **state)
{
	/* clang-format off */
	static const struct { const char *text; unsigned bytes; uint32_t c; bool control; } rows[] = {
		{ "a",                1, 'a',      false },
		{ "",                 1, 0,        true },
		{ "\x1b",             1, 0x1b,     true },
		{ "\x7f",             1, 0x7f,     true },
		{ "\xc2\x9f",         2, 0x9f,     true },
		{ "\xc2\xa0",         2, 0xa0,     false },
		{ "\xdf\xbf",         2, 0x7ff,    false },
		{ "\xe0\xa0\x80",     3, 0x800,    false },
		{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff, false },
		{ "\xc1\xbf",         0, 0, false },     /* longer than needed */
		{ "\xe0\x9f\xbf",     0, 0, false },
		{ "\xf0\x8f\xbf\xbf", 0, 0, false },
		{ "\xed\xa0\x80",     0, 0, false },     /* a surrogate */
		{ "\xf4\x90\x80\x80", 0, 0, false },     /* beyond the last */
		{ "\xbf",             0, 0, false },
		{ "\xe2\x82",         0, 0, false },     /* cut */
		{ "\xff",             0, 0, false },
	};

	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		uint32_t c = 12345;

		if (nd_utf8_read(rows[i].text, &c) != rows[i].bytes ||
		    c != (rows[i].bytes ? rows[i].c : 12345))
			fail_msg("row %zu: %u", i, c);
		if (rows[i].bytes && nd_utf8_is_control(c) != rows[i].control)
			fail_msg("row %zu is wrongly judged", i);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(wraps_text),
		cmocka_unit_test(grows),
		cmocka_unit_test(remembers_a_failure),
		cmocka_unit_test(reads_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
