/* SPDX-License-Identifier: MIT */
/* Clock arithmetic; nothing here waits. */
#include <limits.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/time.h"

struct text_case {
	uint64_t unix_ms;
	const char *text;
};

static const struct text_case texts[] = {
	{ 0, "1970-01-01T00:00:00Z" },
	{ 999, "1970-01-01T00:00:00Z" },
	{ 951782400000, "2000-02-29T00:00:00Z" },
	{ 1893553445000, "2030-01-02T03:04:05Z" },
};

static void writes_instants(void **state)
{
	char buf[32], tiny[8];
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(texts); i++)
		if (strcmp(nd_unix_text(texts[i].unix_ms, buf, sizeof(buf)), texts[i].text) != 0)
			fail_msg("row %zu: %s", i, buf);
	assert_string_equal(nd_unix_text(0, tiny, sizeof(tiny)), "");
	assert_string_equal(nd_unix_text(0, tiny, 0), "");
	assert_non_null(nd_unix_text(UINT64_MAX, buf, sizeof(buf)));
	assert_true(nd_unix_ms() > 1600000000000);
}

static void counts_down(void **state)
{
	uint64_t now = nd_now_ns(), left;
	int ms;

	(void)state;
	assert_true(nd_now_ns() >= now);
	assert_int_equal(nd_ns_until(0), 0);
	assert_int_equal(nd_ns_until(now), 0);
	left = nd_ns_until(now + 3600 * ND_NS_PER_S);
	assert_in_range(left, 1800 * ND_NS_PER_S, 3600 * ND_NS_PER_S);
	assert_int_equal(nd_ms_until(0), 0);
	assert_int_equal(nd_ms_until(UINT64_MAX), -1);
	assert_int_equal(nd_ms_until(UINT64_MAX - 1), INT_MAX);
	ms = nd_ms_until(nd_now_ns() + 3600 * ND_NS_PER_S + 1);
	assert_in_range(ms, 1800 * 1000, 3600 * 1000 + 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_instants),
		cmocka_unit_test(counts_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
