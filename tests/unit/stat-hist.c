/* SPDX-License-Identifier: MIT */
/* The histogram: bounds, recording, views, quantiles, a reader beside the writer. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "stat/hist.h"

#define RECORDS 200000u

struct bucket_case {
	uint64_t ns, low, high;
	uint32_t bucket;
};

struct quantile_case {
	double q;
	uint64_t ns;
};

/* clang-format off */
/* Bounds and indexes as HdrHistogram(1, 3600000000000, 3) has them. */
static const struct bucket_case buckets[] = {
	{ 0,                  0,             0,             0 },
	{ 1,                  1,             1,             1 },
	{ 1023,               1023,          1023,          1023 },
	{ 1024,               1024,          1024,          1024 },
	{ 2047,               2047,          2047,          2047 },
	{ 2048,               2048,          2049,          2048 },
	{ 2049,               2048,          2049,          2048 },
	{ 4095,               4094,          4095,          3071 },
	{ 4096,               4096,          4099,          3072 },
	{ 1000000,            999936,        1000447,       11169 },
	{ ND_HIST_MAX_NS,     3599182594048, 3601330077695, 33420 },
	{ ND_HIST_MAX_NS + 1, 3599182594048, 3601330077695, 33420 },
	{ UINT64_MAX,         3599182594048, 3601330077695, 33420 },
};

/* Of the values 1..1000. */
static const struct quantile_case quantiles[] = {
	{ -1, 1 }, { 0, 1 }, { 0.001, 1 }, { 0.0011, 2 }, { 0.07, 70 }, { 0.5, 500 }, { 0.55, 550 },
	{ 0.9, 900 }, { 0.99, 990 }, { 0.999, 999 }, { 0.9991, 1000 }, { 1, 1000 }, { 2, 1000 },
};

/* clang-format on */

static void has_the_bounds_of_hdr(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(buckets); i++) {
		uint32_t b = nd_hist_bucket(buckets[i].ns);

		if (b != buckets[i].bucket || nd_hist_bucket_low(b) != buckets[i].low ||
		    nd_hist_bucket_high(b) != buckets[i].high)
			fail_msg("%" PRIu64 ": %u, %" PRIu64 "..%" PRIu64, buckets[i].ns, b,
				 nd_hist_bucket_low(b), nd_hist_bucket_high(b));
	}
	assert_int_equal(nd_hist_buckets(), 33421);
	assert_int_equal(nd_hist_bucket_high(UINT32_MAX), 3601330077695);
}

static void has_no_gaps(void **state)
{
	uint64_t low, high, last = 0;
	uint32_t b;

	(void)state;
	for (b = 1; b < nd_hist_buckets(); b++) {
		low = nd_hist_bucket_low(b);
		high = nd_hist_bucket_high(b);
		if (low != last + 1 || nd_hist_bucket(low) != b ||
		    nd_hist_bucket(ND_MIN(high, ND_HIST_MAX_NS)) != b || (high - low) * 1024 > low)
			fail_msg("bucket %u: %" PRIu64 "..%" PRIu64, b, low, high);
		last = high;
	}
}

static void records(void **state)
{
	struct nd_hist_view v;
	struct nd_hist *h;

	(void)state;
	assert_int_equal(nd_hist_new(&h), 0);
	assert_int_equal(nd_hist_read(h, &v), 0);
	assert_int_equal(v.count, 0);
	assert_true(v.min_ns == UINT64_MAX && v.max_ns == 0);
	assert_true(nd_hist_quantile(&v, 0.5) == ND_UNKNOWN);
	assert_true(isnan(nd_hist_mean(&v)) && isnan(nd_hist_stddev(&v)));
	nd_hist_view_done(&v);

	nd_hist_record(h, 0);
	nd_hist_record_n(h, 5000, 3);
	nd_hist_record_n(h, 77, 0);
	nd_hist_record(h, ND_HIST_MAX_NS);
	nd_hist_record(h, 2 * ND_HIST_MAX_NS);
	assert_int_equal(nd_hist_read(h, &v), 0);
	assert_int_equal(v.n, nd_hist_buckets());
	assert_int_equal(v.count, 6);
	assert_int_equal(v.clipped, 1);
	assert_int_equal(v.min_ns, 1);
	assert_int_equal(v.max_ns, 2 * ND_HIST_MAX_NS);
	assert_int_equal(v.sum_ns, 1 + 15000 + 2 * ND_HIST_MAX_NS);
	assert_int_equal(v.v[1], 1);
	assert_int_equal(v.v[nd_hist_bucket(5000)], 3);
	assert_int_equal(v.v[v.n - 1], 2);
	nd_hist_view_done(&v);
	nd_hist_view_done(&v);
	nd_hist_view_done(NULL);
	nd_hist_free(h);
	nd_hist_free(NULL);
}

static void finds_quantiles(void **state)
{
	struct nd_hist_view v;
	struct nd_hist *h;
	size_t i;

	(void)state;
	assert_int_equal(nd_hist_new(&h), 0);
	for (i = 1; i <= 1000; i++)
		nd_hist_record(h, i);
	assert_int_equal(nd_hist_read(h, &v), 0);
	for (i = 0; i < ND_COUNTOF(quantiles); i++)
		if (nd_hist_quantile(&v, quantiles[i].q) != quantiles[i].ns)
			fail_msg("row %zu: %" PRIu64, i, nd_hist_quantile(&v, quantiles[i].q));
	assert_true(nd_hist_quantile(&v, (double)NAN) == ND_UNKNOWN);
	assert_true(fabs(nd_hist_mean(&v) - 500.5) < 1e-9);
	assert_true(fabs(nd_hist_stddev(&v) - 288.8194360957494) < 1e-6);
	nd_hist_view_done(&v);
	nd_hist_free(h);
}

static void adds_up(void **state)
{
	struct nd_hist_view once, sum = { 0 };
	struct nd_hist *h, *empty;

	(void)state;
	assert_int_equal(nd_hist_new(&h), 0);
	assert_int_equal(nd_hist_new(&empty), 0);
	assert_int_equal(nd_hist_view_take(&sum, empty), 0);
	assert_true(sum.min_ns == UINT64_MAX && sum.max_ns == 0 && sum.count == 0);
	nd_hist_record_n(h, 10, 5);
	nd_hist_record_n(h, 5001, 2);
	nd_hist_record(h, UINT64_MAX);
	assert_int_equal(nd_hist_read(h, &once), 0);

	assert_int_equal(nd_hist_view_take(&sum, h), 0);
	assert_int_equal(nd_hist_view_take(&sum, empty), 0);
	assert_int_equal(sum.n, once.n);
	assert_memory_equal(sum.v, once.v, once.n * sizeof(*once.v));
	assert_int_equal(nd_hist_view_take(&sum, h), 0);
	assert_int_equal(sum.count, 16);
	assert_int_equal(sum.sum_ns, 2 * once.sum_ns);
	assert_int_equal(sum.clipped, 2);
	assert_int_equal(sum.min_ns, 10);
	assert_true(sum.max_ns == UINT64_MAX);
	for (uint32_t i = 0; i < sum.n; i++)
		assert_int_equal(sum.v[i], 2 * once.v[i]);
	nd_hist_view_done(&sum);
	nd_hist_view_done(&once);
	nd_hist_free(empty);
	nd_hist_free(h);
}

struct shared {
	struct nd_hist *h;
	atomic_bool finished; /* written by the recording thread */
};

static void *record_many(void *arg)
{
	struct shared *s = arg;
	uint64_t i;

	for (i = 1; i <= RECORDS; i++)
		nd_hist_record(s->h, i * 17);
	atomic_store_explicit(&s->finished, true, memory_order_release);
	return NULL;
}

static void reads_beside_the_writer(void **state)
{
	struct shared s = { 0 };
	struct nd_hist_view v;
	uint64_t last = 0;
	bool finished = false;
	pthread_t writer;

	(void)state;
	assert_int_equal(nd_hist_new(&s.h), 0);
	assert_int_equal(pthread_create(&writer, NULL, record_many, &s), 0);
	while (!finished) {
		finished = atomic_load_explicit(&s.finished, memory_order_acquire);
		assert_int_equal(nd_hist_read(s.h, &v), 0);
		assert_true(v.count >= last && v.count <= RECORDS);
		last = v.count;
		nd_hist_view_done(&v);
	}
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(last, RECORDS);
	nd_hist_free(s.h);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_bounds_of_hdr),
		cmocka_unit_test(has_no_gaps),
		cmocka_unit_test(records),
		cmocka_unit_test(finds_quantiles),
		cmocka_unit_test(adds_up),
		cmocka_unit_test(reads_beside_the_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
