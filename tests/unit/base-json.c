/* SPDX-License-Identifier: MIT */
/* JSON text: escapes, numbers, both forms. */
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

#include "base/json.h"

struct text_case {
	const char *text, *json;
};

struct double_case {
	double value;
	const char *json;
};

#define BAD "\xef\xbf\xbd"

/* clang-format off */
static const struct text_case texts[] = {
	{ NULL,                   "null" },
	{ "",                     "\"\"" },
	{ "plain",                "\"plain\"" },
	{ "a\"b\\c/d",            "\"a\\\"b\\\\c/d\"" },
	{ "\b\f\n\r\t",           "\"\\b\\f\\n\\r\\t\"" },
	{ "\x01\x1f x",           "\"\\u0001\\u001f x\"" },
	{ "\x7f",                 "\"\\u007f\"" },
	{ "\xc2\x9b",             "\"\\u009b\"" },
	{ "\xc2\xa0",             "\"\xc2\xa0\"" },
	{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"" },
	{ "\xff",                 "\"" BAD "\"" },
	{ "a\x80z",               "\"a" BAD "z\"" },
	{ "\xc3",                 "\"" BAD "\"" },
	{ "\xc3\"",               "\"" BAD "\\\"\"" },
	{ "\xe2\x82",             "\"" BAD BAD "\"" },
	{ "\xc0\xaf",             "\"" BAD BAD "\"" },
	{ "\xe0\x80\xaf",         "\"" BAD BAD BAD "\"" },
	{ "\xed\xa0\x80",         "\"" BAD BAD BAD "\"" },
	{ "\xf4\x8f\xbf\xbf",     "\"\xf4\x8f\xbf\xbf\"" },
	{ "\xf4\x90\x80\x80",     "\"" BAD BAD BAD BAD "\"" },
	{ "\xf8\x88\x80\x80\x80", "\"" BAD BAD BAD BAD BAD "\"" },
};

static const struct double_case doubles[] = {
	{ 0,                       "0" },
	{ 1,                       "1" },
	{ -1.5,                    "-1.5" },
	{ -0.0,                    "-0.0" },
	{ 0.1,                     "0.1" },
	{ 0.1 + 0.2,               "0.30000000000000004" },
	{ 1.0 / 3,                 "0.3333333333333333" },
	{ 1e22,                    "1e+22" },
	{ 1e-7,                    "1e-07" },
	{ 9007199254740993.0,      "9007199254740992" },
	{ 1.7976931348623157e308,  "1.7976931348623157e+308" },
	{ (double)INFINITY,        "null" },
	{ -(double)INFINITY,       "null" },
	{ (double)NAN,             "null" },
};

/* clang-format on */

static void escapes_text(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(texts); i++) {
		nd_auto_str s = { 0 };
		struct nd_json j = { .out = &s };

		nd_json_str(&j, NULL, texts[i].text);
		if (strcmp(nd_str_text(&s), texts[i].json) != 0)
			fail_msg("row %zu: %s", i, nd_str_text(&s));
	}
}

static void writes_doubles(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(doubles); i++) {
		nd_auto_str s = { 0 };
		struct nd_json j = { .out = &s };

		nd_json_f64(&j, NULL, doubles[i].value);
		if (strcmp(nd_str_text(&s), doubles[i].json) != 0)
			fail_msg("row %zu: %s", i, nd_str_text(&s));
	}
}

static void write_all(struct nd_json *j)
{
	nd_json_open(j, NULL, '{');
	nd_json_u64(j, "u", UINT64_MAX - 1);
	nd_json_u64(j, "uu", ND_UNKNOWN);
	nd_json_i64(j, "i", INT64_MIN + 1);
	nd_json_i64(j, "ii", INT64_MIN);
	nd_json_open(j, "a", '[');
	nd_json_bool(j, NULL, true);
	nd_json_bool(j, NULL, false);
	nd_json_open(j, NULL, '{');
	nd_json_close(j, '}');
	nd_json_close(j, ']');
	nd_json_open(j, "k\"", '[');
	nd_json_close(j, ']');
	nd_json_null(j, "n");
	nd_json_close(j, '}');
}

static void writes_one_line(void **state)
{
	nd_auto_str s = { 0 };
	struct nd_json j = { .out = &s };

	(void)state;
	write_all(&j);
	assert_string_equal(nd_str_text(&s), "{\"u\":18446744073709551614,\"uu\":null,"
					     "\"i\":-9223372036854775807,\"ii\":null,"
					     "\"a\":[true,false,{}],\"k\\\"\":[],\"n\":null}");
	assert_int_equal(j.depth, 0);
}

static void writes_a_pretty_form(void **state)
{
	nd_auto_str s = { 0 };
	struct nd_json j = { .out = &s, .pretty = true };

	(void)state;
	write_all(&j);
	assert_string_equal(nd_str_text(&s), "{\n"
					     "  \"u\": 18446744073709551614,\n"
					     "  \"uu\": null,\n"
					     "  \"i\": -9223372036854775807,\n"
					     "  \"ii\": null,\n"
					     "  \"a\": [\n"
					     "    true,\n"
					     "    false,\n"
					     "    {}\n"
					     "  ],\n"
					     "  \"k\\\"\": [],\n"
					     "  \"n\": null\n"
					     "}");
}

static void nests_to_the_limit(void **state)
{
	nd_auto_str s = { 0 };
	struct nd_json j = { .out = &s };
	unsigned i;

	(void)state;
	for (i = 0; i < 64; i++)
		nd_json_open(&j, NULL, '[');
	nd_json_null(&j, NULL);
	nd_json_null(&j, NULL);
	for (i = 0; i < 64; i++)
		nd_json_close(&j, ']');
	assert_int_equal(s.len, 64 + 9 + 64);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_text),       cmocka_unit_test(writes_doubles),
		cmocka_unit_test(writes_one_line),    cmocka_unit_test(writes_a_pretty_form),
		cmocka_unit_test(nests_to_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
