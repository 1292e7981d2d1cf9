/* SPDX-License-Identifier: MIT */
/* Structs as JSON and back: what is left out, columns, and everything that a peer may get wrong. */
#include <errno.h>
#include <jansson.h>
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

#include "wire/wire.h"

enum colour { RED, GREEN };

static const char *const colours[] = { "red", "green", NULL };

struct col {
	uint64_t id, count;
	int64_t shift;
	double rate;
	const char *word;
	bool on;
	enum colour colour;
};

struct row {
	uint64_t n;
	struct nd_list cols;
};

struct outer {
	uint64_t bytes, hidden, derived;
	int64_t offset;
	double ratio;
	bool on;
	const char *name;
	enum colour colour;
	struct nd_strv words;
	struct row in;
	struct row *maybe;
	struct nd_list rows, cols;
};

/* clang-format off */
#define C struct col
static const struct nd_field col_rows[] = {
	ND_U64(C, id, ND_M_COUNT, 0, NULL, ""),
	ND_U64(C, count, ND_M_COUNT, 0, NULL, ""),
	ND_I64(C, shift, ND_M_NS, 0, NULL, ""),
	ND_F64(C, rate, ND_M_RATE, 0, NULL, ""),
	ND_STR(C, word, 0, NULL, ""),
	ND_BOOL(C, on, 0, NULL, ""),
	ND_ENUM(enum colour, C, colour, 0, NULL, "", colours),
	ND_ROWS_END
};
static const struct nd_table col_table = { "col", sizeof(C), col_rows, true };

#define R struct row
static const struct nd_field row_rows[] = {
	ND_U64(R, n, ND_M_COUNT, 0, NULL, ""),
	ND_LIST(R, cols, 0, NULL, "", &col_table),
	ND_ROWS_END
};
static const struct nd_table row_table = { "row", sizeof(R), row_rows, false };

#define O struct outer
static const struct nd_field outer_rows[] = {
	ND_U64(O, bytes, ND_M_BYTES, 0, NULL, ""),
	ND_U64(O, hidden, ND_M_BYTES, ND_HIDE_PEER, NULL, ""),
	ND_U64(O, derived, ND_M_BYTES, ND_NOT_WIRE, NULL, ""),
	ND_I64(O, offset, ND_M_NS, ND_NOT_REPORT, NULL, ""),
	ND_F64(O, ratio, ND_M_RATIO, 0, NULL, ""),
	ND_BOOL(O, on, 0, NULL, ""),
	ND_STR(O, name, 0, NULL, ""),
	ND_ENUM(enum colour, O, colour, 0, NULL, "", colours),
	ND_STRV(O, words, 0, NULL, ""),
	ND_GROUP(R, O, in, 0, NULL, "", &row_table),
	ND_OPTGROUP(R, O, maybe, 0, NULL, "", &row_table),
	ND_LIST(O, rows, 0, NULL, "", &row_table),
	ND_LIST(O, cols, 0, NULL, "", &col_table),
	ND_ROWS_END
};
static const struct nd_table outer_table = { "outer", sizeof(O), outer_rows, false };

/* clang-format on */

static void put(const struct outer *o, struct nd_str *s)
{
	struct nd_json j = { .out = s };

	nd_json_open(&j, NULL, '{');
	nd_wire_put(&j, &outer_table, o);
	nd_json_close(&j, '}');
}

static int get(const char *text, struct outer *ret, struct nd_arena *a, struct nd_err *err)
{
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	int code;

	assert_non_null(root);
	code = nd_wire_get(root, &outer_table, ret, a, 100, err);
	json_decref(root);
	return code;
}

static void leaves_out_what_is_unknown(void **state)
{
	nd_auto_str s = { 0 };
	struct outer o;

	(void)state;
	nd_table_unknown(&outer_table, &o);
	o.hidden = o.derived = 1;
	o.bytes = (uint64_t)INT64_MAX + 1; /* no JSON reader takes it */
	o.ratio = (double)INFINITY;
	memcpy(&o.colour, &(int){ 7 }, sizeof(o.colour));
	put(&o, &s);
	assert_string_equal(nd_str_text(&s), "{\"on\":false,\"in\":{}}");
}

static void writes_and_reads_everything(void **state)
{
	static const char text[] =
		"{\"bytes\":9223372036854775807,\"offset\":-5,\"ratio\":0.1,\"on\":true,"
		"\"name\":\"a\\\"b\",\"colour\":\"green\",\"words\":[\"x\",\"y\"],"
		"\"in\":{\"n\":1},\"maybe\":{\"n\":2,\"cols\":{\"id\":\"4\",\"count\":1,\"on\":false,"
		"\"colour\":\"red\"}},\"rows\":[{\"n\":3},{}],"
		"\"cols\":{\"id\":\"0 1 9223372036854775807\",\"count\":\"5 - 6\","
		"\"shift\":\"-7 - 9223372036854775807\",\"rate\":0.5,\"word\":[\"a\",\"b\",\"a\"],"
		"\"on\":true,\"colour\":[\"red\",\"green\",\"red\"]}}";
	struct nd_arena a = { 0 };
	nd_auto_str s = { 0 };
	struct nd_err err = { 0 };
	struct outer o = { 0 };
	const struct col *c;

	(void)state;
	assert_int_equal(get(text, &o, &a, &err), 0);
	assert_int_equal(o.words.n, 2);
	assert_int_equal(o.maybe->cols.n, 1);
	assert_int_equal(o.rows.n, 2);
	assert_true(((struct row *)o.rows.v)[1].n == ND_UNKNOWN);
	assert_int_equal(o.cols.n, 3);
	c = o.cols.v;
	assert_int_equal(c[0].count, 5);
	assert_true(c[1].count == ND_UNKNOWN);
	assert_true(c[2].id == INT64_MAX && c[2].shift == INT64_MAX);
	assert_true(c[0].shift == -7 && c[1].shift == INT64_MIN);
	assert_true(c[2].rate > 0.49 && c[2].rate < 0.51);
	assert_string_equal(c[1].word, "b");
	assert_true(c[2].on);
	assert_int_equal(c[1].colour, GREEN);
	put(&o, &s);
	assert_string_equal(nd_str_text(&s), text);
	nd_arena_done(&a);
}

static void columns_shrink(void **state)
{
	static struct col many[1000];
	struct outer o;
	nd_auto_str s = { 0 };
	struct nd_arena a = { 0 };
	struct nd_err err = { 0 };
	struct outer back;
	json_t *root;
	size_t i;

	(void)state;
	nd_table_unknown(&outer_table, &o);
	for (i = 0; i < ND_COUNTOF(many); i++) {
		nd_table_unknown(&col_table, &many[i]);
		many[i].id = ND_UNKNOWN; /* the first column counts, even when nothing is known */
		many[i].word = "same";
	}
	o.cols = (struct nd_list){ .v = many, .n = ND_COUNTOF(many) };
	put(&o, &s);
	assert_true(s.len < 2 * ND_COUNTOF(many) + 200);
	assert_null(strstr(nd_str_text(&s), "rate"));
	root = json_loads(nd_str_text(&s), 0, NULL);
	assert_non_null(root);
	assert_int_equal(nd_wire_get(root, &outer_table, &back, &a, 1000, &err), 0);
	assert_int_equal(back.cols.n, 1000);
	assert_string_equal(((struct col *)back.cols.v)[999].word, "same");
	assert_true(isnan(((struct col *)back.cols.v)[999].rate));
	assert_int_equal(nd_wire_get(root, &outer_table, &back, &a, 999, &err), -EBADMSG);
	json_decref(root);
	nd_arena_done(&a);
}

/* Numbers of any size come back as they were, in strings longer than others may be. */
static void columns_keep_every_number(void **state)
{
	static const uint64_t counts[] = { 0, 1, 10, UINT32_MAX, INT64_MAX, ND_UNKNOWN };
	static const int64_t shifts[] = { 0, -1, 10, INT64_MAX, INT64_MIN + 1, INT64_MIN };
	static const double rates[] = { 0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e22, -1.5 };
	static struct col many[30000];
	struct nd_arena a = { 0 };
	nd_auto_str s = { 0 };
	struct nd_err err = { 0 };
	struct outer o, back;
	const struct col *c;
	json_t *root;
	size_t i;

	(void)state;
	nd_table_unknown(&outer_table, &o);
	for (i = 0; i < ND_COUNTOF(many); i++) {
		nd_table_unknown(&col_table, &many[i]);
		many[i].id = i;
		many[i].count = counts[i % ND_COUNTOF(counts)];
		many[i].shift = shifts[i % ND_COUNTOF(shifts)];
		many[i].rate = rates[i % ND_COUNTOF(rates)];
	}
	o.cols = (struct nd_list){ .v = many, .n = ND_COUNTOF(many) };
	put(&o, &s);
	root = json_loads(nd_str_text(&s), 0, NULL);
	assert_non_null(root);
	assert_true(json_string_length(json_object_get(json_object_get(root, "cols"), "id")) >
		    ND_WIRE_STRING_MAX);
	assert_int_equal(nd_wire_get(root, &outer_table, &back, &a, ND_COUNTOF(many), &err), 0);
	json_decref(root);
	assert_int_equal(back.cols.n, ND_COUNTOF(many));
	c = back.cols.v;
	for (i = 0; i < ND_COUNTOF(many); i++) {
		assert_true(c[i].id == i && c[i].count == many[i].count);
		assert_true(c[i].shift == many[i].shift);
		assert_memory_equal(&c[i].rate, &many[i].rate, sizeof(c[i].rate));
	}
	nd_arena_done(&a);
}

static void skips_what_it_does_not_know(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_err err = { 0 };
	struct outer o = { 0 };

	(void)state;
	assert_int_equal(
		get("{\"new\":{\"x\":[1]},\"hidden\":5,\"bytes\":null,\"name\":null,"
		    "\"words\":null,\"cols\":{\"id\":\"1 2\",\"later\":[1,2,3],\"on\":null},"
		    "\"ratio\":3}",
		    &o, &a, &err),
		0);
	assert_true(o.hidden == ND_UNKNOWN);
	assert_true(o.bytes == ND_UNKNOWN);
	assert_null(o.name);
	assert_int_equal(o.cols.n, 2);
	assert_true(o.ratio > 2.9 && o.ratio < 3.1);
	nd_arena_done(&a);
}

static void says_what_is_wrong(void **state)
{
	static const char *const rows[][2] = {
		{ "[]", "'outer': is not an object" },
		{ "{\"bytes\":-1}", "'bytes': is not a whole number from 0" },
		{ "{\"bytes\":1.0}", "'bytes': is not a whole number from 0" },
		{ "{\"bytes\":\"1\"}", "'bytes': is not a whole number from 0" },
		{ "{\"bytes\":true}", "'bytes': is not a whole number from 0" },
		{ "{\"offset\":0.5}", "'offset': is not a whole number" },
		{ "{\"ratio\":\"x\"}", "'ratio': is not a number" },
		{ "{\"on\":1}", "'on': is neither true nor false" },
		{ "{\"name\":1}", "'name': is not a string" },
		{ "{\"colour\":\"blue\"}", "'colour': no such value: 'blue'" },
		{ "{\"colour\":1}", "'colour': is not a string" },
		{ "{\"words\":\"x\"}", "'words': is not a list" },
		{ "{\"words\":[null]}", "'words': is not a string" },
		{ "{\"in\":[]}", "'in': is not an object" },
		{ "{\"in\":{\"n\":-3}}", "'n': is not a whole number from 0" },
		{ "{\"maybe\":3}", "'maybe': is not an object" },
		{ "{\"rows\":{}}", "'rows': is not a list" },
		{ "{\"rows\":[1]}", "'rows': holds something that is not an object" },
		{ "{\"cols\":[]}", "'cols': is not an object of columns" },
		{ "{\"cols\":{\"id\":\"1 2\",\"count\":\"1\"}}",
		  "'cols': has columns of different length" },
		{ "{\"cols\":{\"id\":\"1 2\",\"on\":[true]}}",
		  "'cols': has columns of different length" },
		{ "{\"cols\":{\"id\":\"\",\"on\":[true]}}",
		  "'cols': has columns of different length" },
		{ "{\"cols\":{\"id\":[1,2]}}", "'id': is a list, not a string of numbers" },
		{ "{\"cols\":{\"id\":\"1\",\"count\":[1]}}",
		  "'count': is a list, not a string of numbers" },
		{ "{\"cols\":{\"id\":\"x\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1 x\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1  2\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\" 1\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1 \"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1,2\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"+1\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"-1\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1 --\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1.0\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"0x10\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1e3\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1\\t2\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"9223372036854775808\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"18446744073709551616\"}}",
		  "'id': holds something that is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1\",\"shift\":\"1.5\"}}",
		  "'shift': holds something that is not a whole number" },
		{ "{\"cols\":{\"id\":\"1\",\"shift\":\"--1\"}}",
		  "'shift': holds something that is not a whole number" },
		{ "{\"cols\":{\"id\":\"1\",\"shift\":\"-9223372036854775809\"}}",
		  "'shift': holds something that is not a whole number" },
		{ "{\"cols\":{\"id\":\"1\",\"rate\":\"1.\"}}",
		  "'rate': holds something that is not a number" },
		{ "{\"cols\":{\"id\":\"1\",\"rate\":\"nan\"}}",
		  "'rate': holds something that is not a number" },
		{ "{\"cols\":{\"id\":\"1\",\"rate\":\"inf\"}}",
		  "'rate': holds something that is not a number" },
		{ "{\"cols\":{\"id\":\"1\",\"rate\":\"null\"}}",
		  "'rate': holds something that is not a number" },
		{ "{\"cols\":{\"id\":\"1\",\"rate\":\"1e999\"}}",
		  "'rate': holds something that is not a number" },
		{ "{\"cols\":{\"id\":\"1\",\"rate\":\".5\"}}",
		  "'rate': holds something that is not a number" },
		{ "{\"cols\":{\"id\":\"1\",\"rate\":\"0x10\"}}",
		  "'rate': holds something that is not a number" },
		{ "{\"cols\":{\"id\":\"1\",\"count\":{}}}",
		  "'count': is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1\",\"count\":-1}}",
		  "'count': is not a whole number from 0" },
		{ "{\"cols\":{\"id\":\"1\",\"word\":{}}}", "'word': is not a string" },
		{ "{\"cols\":{\"id\":\"1\",\"on\":\"1\"}}", "'on': is neither true nor false" },
		{ "{\"cols\":{\"id\":\"1 2\",\"word\":[\"x\",1]}}", "'word': is not a string" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_arena a = { 0 };
		struct nd_err err = { 0 };
		struct outer o = { 0 };

		assert_int_equal(get(rows[i][0], &o, &a, &err), -EBADMSG);
		assert_string_equal(err.text, rows[i][1]);
		nd_arena_done(&a);
	}
}

static void keeps_to_its_limits(void **state)
{
	struct nd_arena a = { .limit = 4096 };
	struct nd_err err = { 0 };
	nd_auto_str s = { 0 };
	struct outer o = { 0 };
	int i;

	(void)state;
	nd_str_add(&s, "{\"rows\":[{}");
	for (i = 0; i < 100; i++)
		nd_str_add(&s, ",{}");
	nd_str_add(&s, "]}");
	assert_int_equal(get(nd_str_text(&s), &o, &a, &err), -EBADMSG);
	assert_string_equal(err.text, "'rows': is too long a list");

	nd_str_reset(&s);
	nd_str_add(&s, "{\"name\":\"");
	nd_str_addc(&s, 'x', ND_WIRE_STRING_MAX + 1);
	nd_str_add(&s, "\"}");
	assert_int_equal(get(nd_str_text(&s), &o, &a, &err), -EBADMSG);
	assert_string_equal(err.text, "'name': is too long a string");

	nd_str_reset(&s);
	nd_str_add(&s, "{\"cols\":{\"id\":\"0");
	for (i = 0; i < 100; i++)
		nd_str_add(&s, " 1");
	nd_str_add(&s, "\"}}");
	assert_int_equal(get(nd_str_text(&s), &o, &a, &err), -EBADMSG);
	assert_string_equal(err.text, "'cols': is too long a list");

	nd_str_reset(&s);
	nd_str_add(&s, "{\"name\":\"");
	nd_str_addc(&s, 'x', 5000);
	nd_str_add(&s, "\"}");
	assert_int_equal(get(nd_str_text(&s), &o, &a, &err), -ENOMEM);
	nd_arena_done(&a);
}

static void strings_cannot_steer_a_terminal(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_err err = { 0 };
	struct outer o = { 0 };

	(void)state;
	assert_int_equal(get("{\"name\":\"a\\u001b[2Jb\\u007f\\u009bc\\u00e9\\n\"}", &o, &a, &err),
			 0);
	assert_string_equal(o.name, "a?[2Jb???c\xc3\xa9?");
	nd_arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_out_what_is_unknown),
		cmocka_unit_test(writes_and_reads_everything),
		cmocka_unit_test(columns_shrink),
		cmocka_unit_test(columns_keep_every_number),
		cmocka_unit_test(skips_what_it_does_not_know),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(keeps_to_its_limits),
		cmocka_unit_test(strings_cannot_steer_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
