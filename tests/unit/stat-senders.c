/* SPDX-License-Identifier: MIT */
/* The table of senders: everybody has his own counts, and the one who was silent for longest makes room. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "stat/senders.h"

static void name(uint8_t key[ND_SENDER_KEY], uint32_t n)
{
	memset(key, 0, ND_SENDER_KEY);
	memcpy(key, &n, sizeof(n));
	memcpy(key + 16, &n, 2);
}

static void keeps_them_apart(void **state)
{
	struct nd_senders *s = nd_senders_new();
	uint8_t key[ND_SENDER_KEY];

	(void)state;
	assert_non_null(s);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 200; i++) {
			name(key, i);
			assert_int_equal(nd_senders_of(s, key)->messages, round * (uint64_t)i);
			nd_senders_of(s, key)->messages += i;
		}
	}
	nd_senders_free(s);
}

/* Many times what it holds: whoever is heard again and again stays, and others begin anew. */
static void forgets_the_silent(void **state)
{
	struct nd_senders *s = nd_senders_new();
	uint8_t loud[ND_SENDER_KEY], key[ND_SENDER_KEY];

	(void)state;
	assert_non_null(s);
	name(loud, 1u << 30);
	for (uint32_t i = 0; i < 50000; i++) {
		name(key, i);
		assert_int_equal(nd_senders_of(s, key)->messages, 0);
		nd_senders_of(s, key)->messages = 1;
		assert_int_equal(nd_senders_of(s, loud)->messages++, i);
	}
	nd_senders_free(s);
	nd_senders_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_them_apart),
		cmocka_unit_test(forgets_the_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
