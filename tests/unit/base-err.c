/* SPDX-License-Identifier: MIT */
/* Sentences: stated, with the system's words, wrapped, cut. */
#include <errno.h>
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

#include "base/err.h"

static void states_a_failure(void **state)
{
	struct nd_err err = { 0 };

	(void)state;
	assert_int_equal(nd_fail(&err, -EINVAL, "%s: '%s' is bad", "--time", "x"), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_string_equal(err.text, "--time: 'x' is bad");
	assert_int_equal(nd_fail(&err, -EBUSY, "again: %s", err.text), -EBUSY);
	assert_string_equal(err.text, "again: --time: 'x' is bad");
}

static void adds_the_words_of_the_system(void **state)
{
	struct nd_err err = { 0 };

	(void)state;
	errno = ENOENT;
	assert_int_equal(nd_sysfail(&err, "open %s", "/x"), -ENOENT);
	assert_int_equal(err.code, -ENOENT);
	assert_string_equal(err.text, "open /x: No such file or directory");
	errno = 0;
	assert_int_equal(nd_sysfail(&err, "strange"), -EIO);
}

static void wraps(void **state)
{
	struct nd_err err = { 0 };

	(void)state;
	(void)nd_fail(&err, -EPERM, "inner");
	assert_int_equal(nd_wrap(&err, -EIO, "flow %d", 3), -EIO);
	assert_int_equal(err.code, -EIO);
	assert_string_equal(err.text, "flow 3: inner");

	err = (struct nd_err){ 0 };
	assert_int_equal(nd_wrap(&err, -ENOMEM, "flow %d", 4), -ENOMEM);
	assert_string_equal(err.text, "flow 4: Cannot allocate memory");
}

static void accepts_no_err(void **state)
{
	(void)state;
	errno = EAGAIN;
	assert_int_equal(nd_fail(NULL, -EINVAL, "x"), -EINVAL);
	assert_int_equal(nd_sysfail(NULL, "x"), -EAGAIN);
	assert_int_equal(nd_wrap(NULL, -EIO, "x"), -EIO);
}

static void cuts_what_does_not_fit(void **state)
{
	struct nd_err err = { 0 };
	char longer[sizeof(err.text) * 2];

	(void)state;
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	(void)nd_fail(&err, -EINVAL, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	(void)nd_wrap(&err, -EINVAL, "front");
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "front: aaa", 10);
	errno = EINVAL;
	(void)nd_sysfail(&err, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void knows_words_of_codes(void **state)
{
	static const int codes[] = { EINVAL, -EINVAL, 0, 99999, INT_MAX, INT_MIN };
	char buf[64], tiny[4];
	size_t i;

	(void)state;
	assert_string_equal(nd_strerror(EINVAL, buf, sizeof(buf)), "Invalid argument");
	assert_string_equal(nd_strerror(-EINVAL, buf, sizeof(buf)), "Invalid argument");
	for (i = 0; i < ND_COUNTOF(codes); i++) {
		assert_non_null(nd_strerror(codes[i], buf, sizeof(buf)));
		assert_non_null(nd_strerror(codes[i], tiny, sizeof(tiny)));
		assert_string_equal(nd_strerror(codes[i], tiny, 0), "");
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_a_failure),
		cmocka_unit_test(adds_the_words_of_the_system),
		cmocka_unit_test(wraps),
		cmocka_unit_test(accepts_no_err),
		cmocka_unit_test(cuts_what_does_not_fit),
		cmocka_unit_test(knows_words_of_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
