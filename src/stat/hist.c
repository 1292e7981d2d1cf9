/* SPDX-License-Identifier: MIT */
/*
 * The bucket bounds are those of HdrHistogram(1, 3600000000000, 3), so that its formats can be
 * written exactly: 2048 buckets of 1 ns, then 1024 per power of two, each twice as wide.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/real.h"
#include "stat/counters.h"
#include "stat/hist.h"

#define HALF_BITS    10
#define HALF         (1u << HALF_BITS)
#define FINEST       (2 * HALF - 1) /* last value with a bucket of its own */
#define LAST_SHIFT   31             /* of ND_HIST_MAX_NS */
#define BUCKET_COUNT (LAST_SHIFT * HALF + (uint32_t)(ND_HIST_MAX_NS >> LAST_SHIFT) + 1)

_Static_assert(ND_HIST_MAX_NS >> LAST_SHIFT >= HALF && ND_HIST_MAX_NS >> LAST_SHIFT <= FINEST,
	       "LAST_SHIFT is the one of the largest value");

/* One writer, the owner; readers load relaxed. The count is the sum of the buckets. */
struct nd_hist {
	uint64_t sum_ns, min_ns, max_ns, clipped;
	uint64_t v[BUCKET_COUNT] ND_ALIGNED(ND_CACHE_LINE);
};

/* @ns <= ND_HIST_MAX_NS */
static inline uint32_t bucket_of(uint64_t ns)
{
	unsigned shift = 63 - HALF_BITS - (unsigned)__builtin_clzll(ns | FINEST);

	return shift * HALF + (uint32_t)(ns >> shift);
}

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): clang-tidy 14 does not see the store */
static void store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELAXED);
}

/* mmap, not calloc: malloc hands out used memory again, and zeroing that touches every page. */
int nd_hist_new(struct nd_hist **ret)
{
	struct nd_hist *h =
		mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (h == MAP_FAILED)
		return -ENOMEM;
	h->min_ns = UINT64_MAX;
	*ret = h;
	return 0;
}

void nd_hist_free(struct nd_hist *h)
{
	if (h)
		(void)munmap(h, sizeof(*h)); /* fails only for a wrong address */
}

/* @times > 0; a constant 1 leaves no multiplication. */
static inline void record(struct nd_hist *h, uint64_t ns, uint64_t times)
{
	uint64_t value = ns ? ns : 1;

	if (value < load(&h->min_ns))
		store(&h->min_ns, value);
	if (value > load(&h->max_ns))
		store(&h->max_ns, value);
	if (__builtin_expect(value > ND_HIST_MAX_NS, 0)) {
		value = ND_HIST_MAX_NS;
		nd_count(&h->clipped, times);
	}
	nd_count(&h->sum_ns, value * times);
	nd_count(&h->v[bucket_of(value)], times);
}

void nd_hist_record(struct nd_hist *h, uint64_t ns)
{
	record(h, ns, 1);
}

void nd_hist_record_n(struct nd_hist *h, uint64_t ns, uint64_t times)
{
	if (times > 0)
		record(h, ns, times);
}

void nd_hist_reset(struct nd_hist *h)
{
	uint64_t low = load(&h->min_ns), high = load(&h->max_ns);

	if (low <= high) {
		uint32_t to = bucket_of(ND_MIN(high, ND_HIST_MAX_NS));

		for (uint32_t i = bucket_of(ND_MIN(low, ND_HIST_MAX_NS)); i <= to; i++)
			store(&h->v[i], 0);
	}
	store(&h->sum_ns, 0);
	store(&h->min_ns, UINT64_MAX);
	store(&h->max_ns, 0);
	store(&h->clipped, 0);
}

/* Room for @n buckets in a view that is all zeros, or has fewer. */
static int view_grow(struct nd_hist_view *v, uint32_t n)
{
	uint64_t *bigger;
	uint32_t i;

	if (n <= v->n)
		return 0;
	bigger = calloc(n, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	for (i = 0; i < v->n; i++)
		bigger[i] = v->v[i];
	free(v->v);
	v->v = bigger;
	v->n = n;
	return 0;
}

int nd_hist_view_take(struct nd_hist_view *sum, const struct nd_hist *h)
{
	uint64_t count;
	uint32_t i;

	if (view_grow(sum, BUCKET_COUNT) < 0)
		return -ENOMEM;
	if (sum->count == 0) /* all zeros is a good empty view, too */
		sum->min_ns = UINT64_MAX;
	for (i = 0; i < BUCKET_COUNT; i++) {
		count = load(&h->v[i]);
		if (count == 0) /* pages of zeros stay untouched on both sides */
			continue;
		sum->v[i] += count;
		sum->count += count;
	}
	sum->sum_ns += load(&h->sum_ns);
	sum->min_ns = ND_MIN(sum->min_ns, load(&h->min_ns));
	sum->max_ns = ND_MAX(sum->max_ns, load(&h->max_ns));
	sum->clipped += load(&h->clipped);
	return 0;
}

int nd_hist_read(const struct nd_hist *h, struct nd_hist_view *ret)
{
	struct nd_hist_view view = { 0 };

	if (nd_hist_view_take(&view, h) < 0)
		return -ENOMEM;
	*ret = view;
	return 0;
}

void nd_hist_view_done(struct nd_hist_view *v)
{
	if (!v)
		return;
	free(v->v);
	*v = (struct nd_hist_view){ .min_ns = UINT64_MAX };
}

uint64_t nd_hist_quantile(const struct nd_hist_view *v, double q)
{
	uint64_t want, seen = 0;
	double rank;
	uint32_t i;

	if (v->count == 0 || isnan(q))
		return ND_UNKNOWN;
	q = q < 0 ? 0 : q > 1 ? 1 : q;
	rank = nd_real_ceil(nd_real_less(q * (double)v->count)); /* 0.07 * 100 is a little over 7 */
	want = rank < 1 ? 1 : rank >= (double)v->count ? v->count : (uint64_t)rank;
	for (i = 0; i < v->n; i++) {
		seen += v->v[i];
		if (seen >= want)
			return nd_hist_bucket_high(i);
	}
	return ND_UNKNOWN; /* a view whose count is more than its buckets hold */
}

double nd_hist_mean(const struct nd_hist_view *v)
{
	return v->count ? (double)v->sum_ns / (double)v->count : (double)NAN;
}

static double middle(uint32_t bucket)
{
	return ((double)nd_hist_bucket_low(bucket) + (double)nd_hist_bucket_high(bucket)) / 2;
}

/* Of a sample (n - 1), around the mean of the middles, so that equal values have exactly 0. */
double nd_hist_stddev(const struct nd_hist_view *v)
{
	double mean = 0, squares = 0, off;
	uint32_t i;

	if (v->count < 2)
		return (double)NAN;
	for (i = 0; i < v->n; i++)
		if (v->v[i])
			mean += middle(i) * ((double)v->v[i] / (double)v->count);
	for (i = 0; i < v->n; i++) {
		if (!v->v[i])
			continue;
		off = middle(i) - mean;
		squares += off * off * (double)v->v[i];
	}
	return sqrt(squares / (double)(v->count - 1));
}

uint32_t nd_hist_bucket(uint64_t ns)
{
	return bucket_of(ND_MIN(ns, ND_HIST_MAX_NS));
}

uint64_t nd_hist_bucket_low(uint32_t bucket)
{
	unsigned shift;

	bucket = ND_MIN(bucket, BUCKET_COUNT - 1);
	if (bucket <= FINEST)
		return bucket;
	shift = bucket / HALF - 1;
	return (uint64_t)(bucket - shift * HALF) << shift;
}

uint64_t nd_hist_bucket_high(uint32_t bucket)
{
	bucket = ND_MIN(bucket, BUCKET_COUNT - 1);
	return nd_hist_bucket_low(bucket) +
	       (bucket <= FINEST ? 0 : (1ull << (bucket / HALF - 1)) - 1);
}

uint32_t nd_hist_buckets(void)
{
	return BUCKET_COUNT;
}
