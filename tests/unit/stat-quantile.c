/* SPDX-License-Identifier: MIT */
/* How sure quantiles are, and the log format of HdrHistogram. */
#include <inttypes.h>
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

#include "stat/hdr.h"
#include "stat/quantile.h"

#define TRIALS  2000u
#define SAMPLES 1000u

struct rank_case {
	uint64_t n;
	double q;
	uint64_t low, high;
};

/* clang-format off */
/* From tables of the binomial distribution, and from its normal approximation. */
static const struct rank_case ranks[] = {
	{ 0,       0.5,  0,      1 },
	{ 1,       0.5,  0,      2 },
	{ 10,      0.5,  2,      9 },
	{ 100,     0.5,  40,     61 },
	{ 100,     0.9,  84,     96 },
	{ 100,     0.1,  5,      17 },
	{ 1000,    0.99, 983,    997 },
	{ 1000000, 0.5,  499020, 500981 },
};

/* clang-format on */

static void ranks_are_those_of_the_binomial_distribution(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(ranks); i++) {
		const struct rank_case *c = &ranks[i];
		uint64_t low, high;

		nd_quantile_ranks(c->n, c->q, &low, &high);
		if (low != c->low || high != c->high)
			fail_msg("row %zu: %" PRIu64 "..%" PRIu64 ", not %" PRIu64 "..%" PRIu64, i,
				 low, high, c->low, c->high);
	}
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Of uniform samples the true quantile is known: limits must hold it in 95 % of trials, or a little more. */
static void limits_hold_the_true_quantile(void **state)
{
	static const double quantiles[] = { 0.5, 0.9, 0.99 };
	uint64_t seed = 0x243f6a8885a308d3ull;

	(void)state;
	for (size_t k = 0; k < ND_COUNTOF(quantiles); k++) {
		double q = quantiles[k];
		unsigned held = 0;

		for (unsigned t = 0; t < TRIALS; t++) {
			uint64_t low, high;
			uint64_t below = 0;

			nd_quantile_ranks(SAMPLES, q, &low, &high);
			for (unsigned i = 0; i < SAMPLES; i++)
				below += (double)(next_random(&seed) >> 11) * 0x1p-53 <= q;
			held += low <= below && below < high;
		}
		if (held < TRIALS * 94 / 100 || held > TRIALS * 99 / 100)
			fail_msg("quantile %g: held in %u of %u (seed 0x243f6a8885a308d3)", q, held,
				 TRIALS);
	}
}

static void few_samples_tell_nothing(void **state)
{
	struct nd_hist *h;
	struct nd_hist_view v;
	struct nd_quantile got;

	(void)state;
	assert_int_equal(nd_hist_new(&h), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		nd_hist_record(h, i);
	assert_int_equal(nd_hist_read(h, &v), 0);
	nd_quantile_of(&v, 0.999, &got);
	assert_true(got.ns == ND_UNKNOWN && got.low_ns == ND_UNKNOWN && got.high_ns == ND_UNKNOWN);
	nd_quantile_of(&v, 0.99, &got);
	assert_int_equal(got.ns, 990);
	assert_int_equal(got.low_ns, 983);
	assert_int_equal(got.high_ns, 997);
	assert_int_equal(nd_hist_between(&v, 100, 199), 100);
	nd_hist_view_done(&v);
	nd_hist_reset(h);
	assert_int_equal(nd_hist_read(h, &v), 0);
	assert_int_equal(v.count, 0);
	assert_int_equal(v.sum_ns, 0);
	nd_hist_view_done(&v);
	nd_hist_free(h);
}

/* ---- the log */

static uint64_t get_be(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | *p++;
	return v;
}

/* Counts of a payload into @counts; returns how many buckets it told of. */
static uint32_t decode(const uint8_t *p, size_t n, uint64_t *counts, uint32_t room)
{
	const uint8_t *end = p + n;
	uint32_t at = 0;

	while (p < end) {
		uint64_t u = 0;
		unsigned shift = 0;
		int64_t value;

		for (;; shift += 7, p++) {
			assert_true(p < end && shift <= 56);
			u |= (uint64_t)(shift == 56 ? *p : *p & 0x7f) << shift;
			if (shift == 56 || !(*p & 0x80))
				break;
		}
		p++;
		value = (int64_t)(u >> 1) ^ -(int64_t)(u & 1);
		if (value < 0) {
			at += (uint32_t)-value;
			continue;
		}
		assert_true(at < room);
		counts[at++] = (uint64_t)value;
	}
	return at;
}

static void payload_holds_every_bucket(void **state)
{
	static const uint64_t values[] = { 1, 2047, 2048, 123456, 40000000, ND_HIST_MAX_NS };
	uint64_t *counts = calloc(nd_hist_buckets(), sizeof(*counts));
	struct nd_hist *h;
	struct nd_hist_view v;
	uint8_t *bytes;
	size_t n;

	(void)state;
	assert_non_null(counts);
	assert_int_equal(nd_hist_new(&h), 0);
	for (size_t i = 0; i < ND_COUNTOF(values); i++)
		nd_hist_record_n(h, values[i], i * 1000 + 1);
	assert_int_equal(nd_hist_read(h, &v), 0);
	assert_int_equal(nd_hdr_encode(&v, &bytes, &n), 0);
	assert_int_equal(get_be(bytes, 4), 0x1c849313);
	assert_int_equal(get_be(bytes + 4, 4), n - 40);
	assert_int_equal(get_be(bytes + 12, 4), 3);
	assert_int_equal(get_be(bytes + 16, 8), 1);
	assert_int_equal(get_be(bytes + 24, 8), ND_HIST_MAX_NS);
	assert_int_equal(get_be(bytes + 32, 8), 0x3ff0000000000000);
	assert_int_equal(decode(bytes + 40, n - 40, counts, nd_hist_buckets()),
			 nd_hist_bucket(ND_HIST_MAX_NS) + 1);
	for (uint32_t i = 0; i < nd_hist_buckets(); i++)
		assert_int_equal(counts[i], v.v[i]);
	free(bytes);
	free(counts);
	nd_hist_view_done(&v);
	nd_hist_free(h);
}

static void a_line_is_what_others_wrote(void **state)
{
	nd_auto_str out = { 0 };
	struct nd_hist_view v = { .min_ns = UINT64_MAX };

	(void)state;
	nd_hdr_header(&out, "test", 1700000000123);
	assert_non_null(
		strstr(nd_str_text(&out), "#[StartTime: 1700000000.123 (seconds since epoch)]\n"));
	assert_int_equal(nd_hdr_line(&out, "service", 1, 2.5, &v), 0);
	assert_non_null(strstr(nd_str_text(&out), "\nTag=service,1.000,2.500,0.000,HISTF"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_are_those_of_the_binomial_distribution),
		cmocka_unit_test(limits_hold_the_true_quantile),
		cmocka_unit_test(few_samples_tell_nothing),
		cmocka_unit_test(payload_holds_every_bucket),
		cmocka_unit_test(a_line_is_what_others_wrote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
