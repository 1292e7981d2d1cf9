/* SPDX-License-Identifier: MIT */
/* A struct described by rows: all of it unknown, its lists, its enums. */
#include <errno.h>
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

#include "base/field.h"

enum colour { RED, GREEN };

struct inner {
	uint64_t count;
	double rate;
};

struct outer {
	uint64_t bytes;
	int64_t offset;
	double ratio;
	bool on;
	const char *name;
	enum colour colour;
	struct nd_strv words;
	struct inner in;
	struct inner *maybe;
	struct nd_list list;
	uint64_t undescribed;
};

static const char *const colours[] = { "red", "green", NULL };

/* clang-format off */
static const struct nd_field inner_rows[] = {
	ND_U64(struct inner, count, ND_M_COUNT, 0, NULL, "a count"),
	ND_F64(struct inner, rate, ND_M_RATE, 0, NULL, "a rate"),
	ND_ROWS_END
};
static const struct nd_table inner_table = { "inner", sizeof(struct inner), inner_rows, true };

static const struct nd_field outer_rows[] = {
	ND_U64(struct outer, bytes, ND_M_BYTES, ND_SHOW_KEY, NULL, "bytes"),
	ND_I64(struct outer, offset, ND_M_NS, 0, NULL, "offset"),
	ND_F64(struct outer, ratio, ND_M_RATIO, 0, NULL, "ratio"),
	ND_BOOL(struct outer, on, 0, NULL, "on"),
	ND_STR(struct outer, name, 0, NULL, "name"),
	ND_ENUM(enum colour, struct outer, colour, 0, NULL, "colour", colours),
	ND_STRV(struct outer, words, 0, NULL, "words"),
	ND_GROUP(struct inner, struct outer, in, 0, NULL, "group", &inner_table),
	ND_OPTGROUP(struct inner, struct outer, maybe, 0, NULL, "optional", &inner_table),
	ND_LIST(struct outer, list, 0, NULL, "list", &inner_table),
	ND_ROWS_END
};
static const struct nd_table outer_table = { "outer", sizeof(struct outer), outer_rows, false };

/* clang-format on */

static void makes_all_unknown(void **state)
{
	struct outer o;

	(void)state;
	memset(&o, 1, sizeof(o));
	nd_table_unknown(&outer_table, &o);
	assert_true(o.bytes == ND_UNKNOWN);
	assert_true(o.offset == INT64_MIN);
	assert_true(isnan(o.ratio));
	assert_false(o.on);
	assert_null(o.name);
	assert_int_equal(o.colour, RED);
	assert_null(o.words.v);
	assert_int_equal(o.words.n, 0);
	assert_true(o.in.count == ND_UNKNOWN);
	assert_true(isnan(o.in.rate));
	assert_null(o.maybe);
	assert_null(o.list.v);
	assert_int_equal(o.list.n, 0);
	assert_true(o.undescribed == 0x0101010101010101);
}

static void makes_lists(void **state)
{
	struct nd_arena a = { .limit = 1000 };
	struct nd_list list = { &a, 5 };
	struct inner *items;

	(void)state;
	assert_int_equal(nd_list_new(&a, &list, UINT64_MAX, 16), -EOVERFLOW);
	assert_int_equal(nd_list_new(&a, &list, 100, 16), -ENOMEM);
	assert_int_equal(list.n, 5);
	assert_int_equal(nd_list_new(&a, &list, 3, sizeof(*items)), 0);
	assert_int_equal(list.n, 3);
	items = list.v;
	assert_int_equal(items[2].count, 0);
	assert_int_equal(nd_list_new(&a, &list, 0, sizeof(*items)), 0);
	assert_int_equal(list.n, 0);
	nd_arena_done(&a);
}

static void finds_names(void **state)
{
	(void)state;
	assert_int_equal(nd_enum_find(colours, "red"), RED);
	assert_int_equal(nd_enum_find(colours, "green"), GREEN);
	assert_int_equal(nd_enum_find(colours, "gree"), -ENOENT);
	assert_int_equal(nd_enum_find(colours, ""), -ENOENT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_all_unknown),
		cmocka_unit_test(makes_lists),
		cmocka_unit_test(finds_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
