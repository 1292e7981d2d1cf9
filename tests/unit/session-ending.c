/* SPDX-License-Identifier: MIT */
/* What fails where, how the session then ends, and what the program says with its exit code. */
#include <errno.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "session/int.h"

static void errors_have_a_class(void **state)
{
	/* clang-format off */
	static const struct { enum nd_where where; int code; enum nd_ending ending; } rows[] = {
		{ ND_AT_OPTION, -ENOENT,        ND_END_USAGE },  /* -B or --listen: no such name */
		{ ND_AT_OPTION, -EAGAIN,        ND_END_USAGE },
		{ ND_AT_OPTION, -ENOMEM,        ND_END_FAILED },
		{ ND_AT_HOST,   -ENOENT,        ND_END_PEER },
		{ ND_AT_HOST,   -EAGAIN,        ND_END_PEER },
		{ ND_AT_HOST,   -ENOMEM,        ND_END_FAILED },
		{ ND_AT_PEER,   -ECONNREFUSED,  ND_END_PEER },
		{ ND_AT_PEER,   -ETIMEDOUT,     ND_END_PEER },
		{ ND_AT_PEER,   -EPROTO,        ND_END_PEER },
		{ ND_AT_PEER,   -EPERM,         ND_END_PEER },   /* the server refused */
		{ ND_AT_PEER,   -EADDRNOTAVAIL, ND_END_FAILED }, /* -B is no address of this host */
		{ ND_AT_PEER,   -ENODEV,        ND_END_FAILED }, /* -B %dev that is not there */
		{ ND_AT_RUN,    -ECONNREFUSED,  ND_END_PEER },
		{ ND_AT_RUN,    -ETIMEDOUT,     ND_END_PEER },
		{ ND_AT_RUN,    -EADDRNOTAVAIL, ND_END_FAILED },
		{ ND_AT_RUN,    -ENOMEM,        ND_END_FAILED },
		{ ND_AT_RUN,    -ECANCELED,     ND_END_FAILED },
		{ ND_AT_RUN,    0,              ND_END_FAILED },
	};

	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		if (nd_ending_of(rows[i].where, rows[i].code) != rows[i].ending)
			fail_msg("row %zu: %d", i, (int)nd_ending_of(rows[i].where, rows[i].code));
	}
}

static void endings_have_a_code(void **state)
{
	/* clang-format off */
	static const struct { enum nd_ending ending; int own, other; } rows[] = {
		{ ND_END_DONE,    0, 0 },
		{ ND_END_PARTIAL, 1, 0 },
		{ ND_END_DAMAGED, 1, 1 },
		{ ND_END_FAILED,  1, 1 },
		{ ND_END_USAGE,   2, 23 },
		{ ND_END_PEER,    3, 24 },
	};
	/* clang-format on */

	struct nd_plan own = { 0 }, other = { .face = &own, .exits = { .usage = 23, .peer = 24 } };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		assert_int_equal(nd_exit_code(&own, rows[i].ending), rows[i].own);
		assert_int_equal(nd_exit_code(&other, rows[i].ending), rows[i].other);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_a_class),
		cmocka_unit_test(endings_have_a_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
