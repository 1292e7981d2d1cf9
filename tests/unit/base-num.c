/* SPDX-License-Identifier: MIT */
/* Reading and writing numbers with units: a row per text. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
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

#include "base/num.h"

#define UNTOUCHED 77u

struct number_case {
	const char *text;
	enum nd_unit unit;
	int r;
	uint64_t value;
};

struct format_case {
	uint64_t value;
	enum nd_unit unit;
	const char *text;
};

struct limit_case {
	const char *text;
	enum nd_unit unit;
	int r;
	uint64_t min, max;
	const char *sentence;
};

struct double_case {
	const char *text;
	int r;
	double value;
};

struct prefix_case {
	const char *text;
	size_t used;
	uint64_t value;
};

struct signed_prefix_case {
	const char *text;
	size_t used;
	int64_t value;
};

struct double_prefix_case {
	const char *text;
	size_t used;
	double value;
};

/* clang-format off */
static const struct number_case numbers[] = {
	{ "0",                       ND_UNIT_COUNT,   0,       0 },
	{ "1500",                    ND_UNIT_COUNT,   0,       1500 },
	{ "007",                     ND_UNIT_COUNT,   0,       7 },
	{ "1.5k",                    ND_UNIT_COUNT,   0,       1500 },
	{ "1.50000000000000000000000000000000k", ND_UNIT_COUNT, 0, 1500 },
	{ "64Ki",                    ND_UNIT_COUNT,   0,       65536 },
	{ "0.5Ki",                   ND_UNIT_COUNT,   0,       512 },
	{ "0.0009765625Mi",          ND_UNIT_COUNT,   0,       1024 },
	{ "2M",                      ND_UNIT_COUNT,   0,       2000000 },
	{ "3G",                      ND_UNIT_COUNT,   0,       3000000000 },
	{ "4T",                      ND_UNIT_COUNT,   0,       4000000000000 },
	{ "1Mi",                     ND_UNIT_COUNT,   0,       1048576 },
	{ "1Gi",                     ND_UNIT_COUNT,   0,       1073741824 },
	{ "1Ti",                     ND_UNIT_COUNT,   0,       1099511627776 },
	{ "1.0",                     ND_UNIT_COUNT,   0,       1 },
	{ "18446744073709551615",    ND_UNIT_COUNT,   0,       UINT64_MAX },
	{ "18446744073709551616",    ND_UNIT_COUNT,   -ERANGE, 0 },
	{ "99999999999999999999999", ND_UNIT_COUNT,   -ERANGE, 0 },
	{ "18446744073709551615k",   ND_UNIT_COUNT,   -ERANGE, 0 },
	{ "16777216Ti",              ND_UNIT_COUNT,   -ERANGE, 0 },
	{ "16777215.5Ti",            ND_UNIT_COUNT,   0,       18446743523953737728u },
	{ "18446744073709551.616k",  ND_UNIT_COUNT,   -ERANGE, 0 },
	{ "18446744073709551.615k",  ND_UNIT_COUNT,   0,       UINT64_MAX },
	{ "99999999999999999999x",   ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "0x10",                    ND_UNIT_COUNT,   0,       16 },
	{ "0XfF",                    ND_UNIT_COUNT,   0,       255 },
	{ "0xffffffffffffffff",      ND_UNIT_COUNT,   0,       UINT64_MAX },
	{ "0x10000000000000000",     ND_UNIT_COUNT,   -ERANGE, 0 },
	{ "0x",                      ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "0x1k",                    ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "0x1.8",                   ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "",                        ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "k",                       ND_UNIT_COUNT,   -EINVAL, 0 },
	{ ".5k",                     ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "5.",                      ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "5.k",                     ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1.2.3",                   ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "0.5",                     ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1.0001k",                 ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1.00000000000000000001k", ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "0.1Ki",                   ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "+1",                      ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "-1",                      ND_UNIT_COUNT,   -EINVAL, 0 },
	{ " 1",                      ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1 ",                      ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1 k",                     ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1,5k",                    ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1K",                      ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1m",                      ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1e3",                     ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1B",                      ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "nan",                     ND_UNIT_COUNT,   -EINVAL, 0 },
	{ "1500B",                   ND_UNIT_BYTES,   0,       1500 },
	{ "128KiB",                  ND_UNIT_BYTES,   0,       131072 },
	{ "128Ki",                   ND_UNIT_BYTES,   0,       131072 },
	{ "1.5MB",                   ND_UNIT_BYTES,   0,       1500000 },
	{ "0x1B",                    ND_UNIT_BYTES,   0,       27 },
	{ "1BB",                     ND_UNIT_BYTES,   -EINVAL, 0 },
	{ "1Mbit",                   ND_UNIT_BYTES,   -EINVAL, 0 },
	{ "10G",                     ND_UNIT_BITRATE, 0,       10000000000 },
	{ "2.5Gbit",                 ND_UNIT_BITRATE, 0,       2500000000 },
	{ "10Gbit/s",                ND_UNIT_BITRATE, 0,       10000000000 },
	{ "500Mbps",                 ND_UNIT_BITRATE, 0,       500000000 },
	{ "9600bps",                 ND_UNIT_BITRATE, 0,       9600 },
	{ "1MB",                     ND_UNIT_BITRATE, -EINVAL, 0 },
	{ "1Mbit/",                  ND_UNIT_BITRATE, -EINVAL, 0 },
	{ "10",                      ND_UNIT_TIME_NS, 0,       10 * ND_NS_PER_S },
	{ "10s",                     ND_UNIT_TIME_NS, 0,       10 * ND_NS_PER_S },
	{ "0.1",                     ND_UNIT_TIME_NS, 0,       100 * ND_NS_PER_MS },
	{ "250ms",                   ND_UNIT_TIME_NS, 0,       250 * ND_NS_PER_MS },
	{ "1.5us",                   ND_UNIT_TIME_NS, 0,       1500 },
	{ "7ns",                     ND_UNIT_TIME_NS, 0,       7 },
	{ "2m",                      ND_UNIT_TIME_NS, 0,       120 * ND_NS_PER_S },
	{ "1.5h",                    ND_UNIT_TIME_NS, 0,       5400 * ND_NS_PER_S },
	{ "0x10",                    ND_UNIT_TIME_NS, 0,       16 * ND_NS_PER_S },
	{ "1.5ns",                   ND_UNIT_TIME_NS, -EINVAL, 0 },
	{ "1d",                      ND_UNIT_TIME_NS, -EINVAL, 0 },
	{ "10k",                     ND_UNIT_TIME_NS, -EINVAL, 0 },
	{ "99999999999",             ND_UNIT_TIME_NS, -ERANGE, 0 },
	{ "1",                       ND_UNIT_PERCENT, 0,       10000 },
	{ "0.5%",                    ND_UNIT_PERCENT, 0,       5000 },
	{ "100%",                    ND_UNIT_PERCENT, 0,       1000000 },
	{ "0.0001%",                 ND_UNIT_PERCENT, 0,       1 },
	{ "0.00001%",                ND_UNIT_PERCENT, -EINVAL, 0 },
	{ "1%%",                     ND_UNIT_PERCENT, -EINVAL, 0 },
};

static const struct format_case formats[] = {
	{ 0,                    ND_UNIT_COUNT,   "0" },
	{ 1500,                 ND_UNIT_COUNT,   "1500" },
	{ 1000,                 ND_UNIT_COUNT,   "1k" },
	{ 1000000,              ND_UNIT_COUNT,   "1M" },
	{ 1500000,              ND_UNIT_COUNT,   "1.5M" },
	{ 1250000,              ND_UNIT_COUNT,   "1250k" },
	{ 65536,                ND_UNIT_COUNT,   "64Ki" },
	{ 65535,                ND_UNIT_COUNT,   "65535" },
	{ UINT64_MAX,           ND_UNIT_COUNT,   "18446744073709551615" },
	{ 1ull << 63,           ND_UNIT_COUNT,   "8388608Ti" },
	{ 131072,               ND_UNIT_BYTES,   "128Ki" },
	{ 2500000000,           ND_UNIT_BITRATE, "2.5G" },
	{ 0,                    ND_UNIT_TIME_NS, "0s" },
	{ 1,                    ND_UNIT_TIME_NS, "1ns" },
	{ 10 * ND_NS_PER_S,     ND_UNIT_TIME_NS, "10s" },
	{ 60 * ND_NS_PER_S,     ND_UNIT_TIME_NS, "1m" },
	{ 90 * ND_NS_PER_S,     ND_UNIT_TIME_NS, "90s" },
	{ 86400 * ND_NS_PER_S,  ND_UNIT_TIME_NS, "24h" },
	{ 250 * ND_NS_PER_MS,   ND_UNIT_TIME_NS, "250ms" },
	{ 10000,                ND_UNIT_PERCENT, "1%" },
	{ 5000,                 ND_UNIT_PERCENT, "0.5%" },
	{ 1,                    ND_UNIT_PERCENT, "0.0001%" },
};

static const struct limit_case limits[] = {
	{ "5",   ND_UNIT_COUNT,   0, 1, 10, "" },
	{ "1",   ND_UNIT_COUNT,   0, 1, 10, "" },
	{ "10",  ND_UNIT_COUNT,   0, 1, 10, "" },
	{ "0",   ND_UNIT_TIME_NS, -ERANGE, ND_NS_PER_S, 86400 * ND_NS_PER_S,
	  "--x: '0' is outside 1s..24h" },
	{ "11",  ND_UNIT_COUNT,   -ERANGE, 1, 10, "--x: '11' is outside 1..10" },
	{ "0",   ND_UNIT_BYTES,   -ERANGE, 1, UINT64_MAX, "--x: '0' is below 1" },
	{ "99999999999999999999", ND_UNIT_BYTES, -ERANGE, 1, UINT64_MAX,
	  "--x: '99999999999999999999' is too large" },
	{ "99999999999999999999", ND_UNIT_BYTES, -ERANGE, 1, 65536,
	  "--x: '99999999999999999999' is outside 1..64Ki" },
	{ "abc", ND_UNIT_COUNT,   -EINVAL, 1, 10, "--x: 'abc' is not a number such as 1500, 64k or 1Mi" },
	{ "abc", ND_UNIT_TIME_NS, -EINVAL, 1, 10, "--x: 'abc' is not a time such as 10, 250ms or 1.5h" },
};

static const struct double_case doubles[] = {
	{ "0",        0,       0 },
	{ "-0.5",     0,       -0.5 },
	{ "1.25e3",   0,       1250 },
	{ "1E-2",     0,       0.01 },
	{ "1e+2",     0,       100 },
	{ "1e-999",   0,       0 },
	{ "1e999",    -EINVAL, 0 },
	{ "",         -EINVAL, 0 },
	{ "-",        -EINVAL, 0 },
	{ "+1",       -EINVAL, 0 },
	{ " 1",       -EINVAL, 0 },
	{ "1 ",       -EINVAL, 0 },
	{ ".5",       -EINVAL, 0 },
	{ "5.",       -EINVAL, 0 },
	{ "1e",       -EINVAL, 0 },
	{ "1e+",      -EINVAL, 0 },
	{ "0x10",     -EINVAL, 0 },
	{ "nan",      -EINVAL, 0 },
	{ "inf",      -EINVAL, 0 },
	{ "1,5",      -EINVAL, 0 },
};

static const struct prefix_case prefixes[] = {
	{ "",                     0,  0 },
	{ "x1",                   0,  0 },
	{ "-1",                   0,  0 },
	{ "0",                    1,  0 },
	{ "12:34",                2,  12 },
	{ "18446744073709551615", 20, UINT64_MAX },
	{ "18446744073709551616", 0,  0 },
};

static const struct signed_prefix_case signed_prefixes[] = {
	{ "",                     0,  0 },
	{ "-",                    0,  0 },
	{ "--1",                  0,  0 },
	{ "+1",                   0,  0 },
	{ " 1",                   0,  0 },
	{ "-0",                   2,  0 },
	{ "-12 34",               3,  -12 },
	{ "12-",                  2,  12 },
	{ "9223372036854775807",  19, INT64_MAX },
	{ "9223372036854775808",  0,  0 },
	{ "-9223372036854775808", 20, INT64_MIN },
	{ "-9223372036854775809", 0,  0 },
	{ "-18446744073709551616", 0, 0 },
};

static const struct double_prefix_case double_prefixes[] = {
	{ "",          0, 0 },
	{ "-",         0, 0 },
	{ "x",         0, 0 },
	{ " 1",        0, 0 },
	{ "1.5 2",     3, 1.5 },
	{ "-2e-1,",    5, -0.2 },
	{ "1-2",       1, 1 },
	{ "7x",        1, 7 },
	{ "5.",        0, 0 },
	{ "0x10",      0, 0 },
	{ "1e999",     0, 0 },
	{ "infinity",  0, 0 },
};

/* clang-format on */

static void reads_numbers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(numbers); i++) {
		const struct number_case *c = &numbers[i];
		uint64_t want = c->r == 0 ? c->value : UNTOUCHED, v = UNTOUCHED;
		int r = nd_parse_number(c->text, c->unit, &v);

		if (r != c->r || v != want)
			fail_msg("'%s' of unit %d: %d, %" PRIu64, c->text, c->unit, r, v);
	}
}

static void formats_the_shortest_text(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(formats); i++) {
		const struct format_case *c = &formats[i];
		uint64_t back = UNTOUCHED;
		char buf[64];

		if (strcmp(nd_format_unit(c->value, c->unit, buf, sizeof(buf)), c->text) != 0)
			fail_msg("%" PRIu64 ": '%s', not '%s'", c->value, buf, c->text);
		if (nd_parse_number(buf, c->unit, &back) != 0 || back != c->value)
			fail_msg("'%s' reads back as %" PRIu64, buf, back);
	}
}

static void formats_into_a_small_buffer(void **state)
{
	char buf[3];

	(void)state;
	assert_string_equal(nd_format_unit(1500, ND_UNIT_COUNT, buf, sizeof(buf)), "15");
	assert_string_equal(nd_format_unit(1500, ND_UNIT_COUNT, buf, 0), "");
}

static void expect_same_back(uint64_t v)
{
	uint64_t back;
	unsigned unit;
	char buf[64];

	for (unit = 0; unit < ND_UNIT_MAX; unit++) {
		(void)nd_format_unit(v, unit, buf, sizeof(buf)); /* returns buf */
		back = ~v;
		if (nd_parse_number(buf, unit, &back) != 0 || back != v)
			fail_msg("%" PRIu64 " of unit %u: '%s'", v, unit, buf);
	}
}

/* Every power of two and ten, one less and one more, of every unit. */
static void reads_back_what_it_formats(void **state)
{
	uint64_t ten = 1, two = 1;
	unsigned n, i;

	(void)state;
	for (n = 0; n < 64; n++, ten *= 10, two *= 2) {
		for (i = 0; i < 3; i++) {
			expect_same_back(ten + i - 1);
			expect_same_back(two + i - 1);
		}
	}
}

static void says_what_is_wrong(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(limits); i++) {
		const struct limit_case *c = &limits[i];
		struct nd_err err = { 0 };
		uint64_t v = UNTOUCHED;
		int r = nd_parse_in("--x", c->text, c->unit, c->min, c->max, &v, &err);

		if (r != c->r || strcmp(err.text, c->sentence) != 0 || (r < 0) != (v == UNTOUCHED))
			fail_msg("'%s': %d, \"%s\"", c->text, r, err.text);
	}
}

static void reads_doubles(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(doubles); i++) {
		const struct double_case *c = &doubles[i];
		double want = c->r == 0 ? c->value : UNTOUCHED, v = UNTOUCHED;
		int r = nd_parse_double(c->text, &v);

		if (r != c->r || fabs(v - want) > 0)
			fail_msg("'%s': %d, %g", c->text, r, v);
	}
}

static void reads_digits_in_front(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(prefixes); i++) {
		const struct prefix_case *c = &prefixes[i];
		uint64_t v = UNTOUCHED;
		size_t used = nd_parse_prefix_u64(c->text, &v);

		if (used != c->used || v != (used ? c->value : UNTOUCHED))
			fail_msg("'%s': %zu, %" PRIu64, c->text, used, v);
	}
}

static void reads_numbers_in_front(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(signed_prefixes); i++) {
		const struct signed_prefix_case *c = &signed_prefixes[i];
		int64_t v = UNTOUCHED;
		size_t used = nd_parse_prefix_i64(c->text, &v);

		if (used != c->used || v != (used ? c->value : UNTOUCHED))
			fail_msg("'%s': %zu, %" PRId64, c->text, used, v);
	}
	for (i = 0; i < ND_COUNTOF(double_prefixes); i++) {
		const struct double_prefix_case *c = &double_prefixes[i];
		double want = c->used ? c->value : UNTOUCHED, v = UNTOUCHED;
		size_t used = nd_parse_prefix_double(c->text, &v);

		if (used != c->used || fabs(v - want) > 0)
			fail_msg("'%s': %zu, %g", c->text, used, v);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_numbers),
		cmocka_unit_test(formats_the_shortest_text),
		cmocka_unit_test(formats_into_a_small_buffer),
		cmocka_unit_test(reads_back_what_it_formats),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(reads_doubles),
		cmocka_unit_test(reads_digits_in_front),
		cmocka_unit_test(reads_numbers_in_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
