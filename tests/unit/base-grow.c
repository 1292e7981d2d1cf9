/* SPDX-License-Identifier: MIT */
/* Arrays that grow by one: what they hold stays, whatever its size; they may shrink; too much is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/grow.h"

struct item {
	uint64_t number;
	char text[9]; /* an odd size */
};

static void check_items(const struct item *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].number != i * 7 || v[i].text[0] != (char)i)
			fail_msg("item %zu of %zu is %llu", i, n, (unsigned long long)v[i].number);
	}
}

static void put(struct item *v, size_t at)
{
	v[at] = (struct item){ .number = at * 7, .text = { (char)at } };
}

static void grows(void **state)
{
	struct item *v = NULL;
	size_t n = 0, moves = 0;

	(void)state;
	while (n < 5000) {
		const struct item *before = v;

		assert_int_equal(nd_grow(v, n), 0);
		moves += v != before;
		put(v, n++);
	}
	check_items(v, n);
	assert_true(moves <= 10); /* 16, 32 ... 8192: at most that many times */
	free(v);
}

/* Room behind any number that it may have shrunk to; memory checkers look at what is written. */
static void shrinks(void **state)
{
	static const size_t downs[] = { 0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 99 };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(downs); i++) {
		struct item *v = NULL;
		size_t n = 0;

		for (; n < 100; n++) {
			assert_int_equal(nd_grow(v, n), 0);
			put(v, n);
		}
		for (n = downs[i]; n < 200; n++) {
			assert_int_equal(nd_grow(v, n), 0);
			put(v, n);
		}
		check_items(v, n);
		free(v);
	}
}

/* It is taken for full at these numbers alone, and then there is room for as many again. */
static void moves_at_powers(void **state)
{
	static const struct {
		size_t n;
		bool is_full;
	} rows[] = {
		{ 0, false },  { 1, false },  { 15, false }, { 16, true },
		{ 17, false }, { 31, false }, { 32, true },  { 48, false },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		uint64_t *v = calloc(64, sizeof(*v)), *grown;

		assert_non_null(v);
		grown = nd_grow_bytes(v, rows[i].n, sizeof(*v));
		assert_non_null(grown);
		if (!rows[i].is_full && grown != v)
			fail_msg("row %zu: moved", i);
		if (rows[i].is_full) /* all of the new room is its own */
			memset(grown, 0, 2 * rows[i].n * sizeof(*v));
		free(grown);
	}
}

static void refuses(void **state)
{
	static const struct {
		size_t n, size;
	} rows[] = {
		{ SIZE_MAX / 2 + 1, 1 },       /* twice as many */
		{ SIZE_MAX / 4 + 1, 2 },       /* their bytes */
		{ (size_t)1 << 32, SIZE_MAX }, /* one alone */
		{ 16, SIZE_MAX / 31 },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		char *v = malloc(16);

		assert_non_null(v);
		if (nd_grow_bytes(v, rows[i].n, rows[i].size))
			fail_msg("row %zu: room for %zu", i, rows[i].n);
		v[15] = 1; /* as it was */
		free(v);
	}
}

static void says_so(void **state)
{
	char *v = malloc(16), *before = v;

	(void)state;
	assert_non_null(v);
	assert_int_equal(nd_grow(v, SIZE_MAX / 2 + 1), 0 - ENOMEM);
	assert_ptr_equal(v, before);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),           cmocka_unit_test(shrinks),
		cmocka_unit_test(moves_at_powers), cmocka_unit_test(refuses),
		cmocka_unit_test(says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
