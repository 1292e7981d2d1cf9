/* SPDX-License-Identifier: MIT */
/* The arena: alignment, zeros, limits, strings, lists of strings. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/arena.h"

struct size_case {
	size_t count, size;
	bool good;
};

static const struct size_case sizes[] = {
	{ 0, 0, true },
	{ 1, 1, true },
	{ 3, 5, true },
	{ 1, 4095, true },
	{ 1, 4096, true },
	{ 1, 100000, true },
	{ 2, SIZE_MAX / 2 + 1, false },
	{ 1, SIZE_MAX, false },
	{ 1, SIZE_MAX - 15, false },
	{ 1, SIZE_MAX - 31, false },
};

static bool all_zero(const char *p, size_t n)
{
	while (n > 0 && p[n - 1] == 0)
		n--;
	return n == 0;
}

static void allocates(void **state)
{
	struct nd_arena a = { 0 };
	size_t i, round;

	(void)state;
	for (round = 0; round < 50; round++) {
		for (i = 0; i < ND_COUNTOF(sizes); i++) {
			size_t n = sizes[i].count * sizes[i].size;
			char *p;

			if (!sizes[i].good && round > 0)
				continue;
			p = nd_arena_alloc(&a, sizes[i].count, sizes[i].size);
			if (!!p != sizes[i].good)
				fail_msg("row %zu: %p", i, (void *)p);
			if (!p)
				continue;
			assert_int_equal((uintptr_t)p % 16, 0);
			assert_true(all_zero(p, n));
			memset(p, 0xaa, n);
		}
	}
	nd_arena_done(&a);
	assert_null(a.head);
	nd_arena_done(&a);
	nd_arena_done(NULL);
}

static void keeps_a_limit(void **state)
{
	struct nd_arena a = { .limit = 64 };

	(void)state;
	assert_non_null(nd_arena_alloc(&a, 1, 33));
	assert_null(nd_arena_alloc(&a, 1, 17));
	assert_non_null(nd_arena_alloc(&a, 1, 16));
	assert_null(nd_arena_alloc(&a, 1, 1));
	assert_int_equal(a.bytes, 64);
	nd_arena_done(&a);
	assert_non_null(nd_arena_alloc(&a, 1, 64));
	nd_arena_done(&a);
}

static void copies_text(void **state)
{
	struct nd_arena a = { 0 };
	char text[] = "hello";
	const char *copy;

	(void)state;
	copy = nd_arena_dup(&a, text);
	text[0] = 'j';
	assert_string_equal(copy, "hello");
	assert_string_equal(nd_arena_dupn(&a, text, 2), "je");
	assert_string_equal(nd_arena_dupn(&a, text, 0), "");
	assert_null(nd_arena_dup(&a, NULL));
	assert_null(nd_arena_dupn(&a, NULL, 0));
	assert_string_equal(nd_arena_printf(&a, "%s %d", text, 5), "jello 5");
	a.limit = 1;
	assert_null(nd_arena_printf(&a, "%s", text));
	nd_arena_done(&a);
}

static void grows_a_list(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_strv list = { 0 };
	char text[16];
	unsigned i;

	(void)state;
	for (i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "item %u", i); /* fits */
		assert_int_equal(nd_strv_add(&a, &list, text), 0);
	}
	assert_int_equal(list.n, 100);
	for (i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "item %u", i); /* fits */
		assert_string_equal(list.v[i], text);
	}
	a.limit = 1;
	assert_int_equal(nd_strv_add(&a, &list, "more"), -ENOMEM);
	assert_int_equal(list.n, 100);
	nd_arena_done(&a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocates),
		cmocka_unit_test(keeps_a_limit),
		cmocka_unit_test(copies_text),
		cmocka_unit_test(grows_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
