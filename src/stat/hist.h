/* SPDX-License-Identifier: MIT */
/*
 * Histogram of times: log-linear buckets, 3 significant digits (relative error <= 1/1024), 1 ns to
 * 1 h; larger values land in the last bucket and are counted as clipped. One writer; record is
 * wait-free and allocates nothing; counts only grow, so views are merged and subtracted exactly.
 */
#ifndef ND_STAT_HIST_H
#define ND_STAT_HIST_H

#include "base/base.h"

#define ND_HIST_MAX_NS (3600ull * ND_NS_PER_S)

struct nd_hist; /* the recording side, about 270 KiB, touched only where values fall */

/* A plain copy for readers. */
struct nd_hist_view {
	uint64_t count, sum_ns, min_ns, max_ns, clipped; /* min is UINT64_MAX when empty */
	uint32_t n;                                      /* buckets in v */
	uint64_t *v;                                     /* owned; nd_hist_view_done() */
};

/** nd_hist_new() - an empty one, whose pages are not touched yet. -ENOMEM. */
ND_MUST_CHECK int nd_hist_new(struct nd_hist **ret);
/** nd_hist_free() - accepts NULL. */
void nd_hist_free(struct nd_hist *h);
/** nd_hist_record() - owner thread only, wait-free, <= 10 ns. 0 counts as 1 ns. */
void nd_hist_record(struct nd_hist *h, uint64_t ns);
/** nd_hist_record_n() - the same so many @times. */
void nd_hist_record_n(struct nd_hist *h, uint64_t ns, uint64_t times);
/** nd_hist_reset() - empty again; while nobody records. */
void nd_hist_reset(struct nd_hist *h);
/** nd_hist_read() - copy into a view, any thread, while the owner records. -ENOMEM. */
ND_MUST_CHECK int nd_hist_read(const struct nd_hist *h, struct nd_hist_view *ret);
/** nd_hist_view_take() - add what it holds to a view, which all zeros makes empty; context as above. -ENOMEM. */
ND_MUST_CHECK int nd_hist_view_take(struct nd_hist_view *sum, const struct nd_hist *h);
/** nd_hist_view_done() - free the copy; empty afterwards. */
void nd_hist_view_done(struct nd_hist_view *v);
/**
 * nd_hist_quantile() - upper bound of the bucket that holds quantile @q (0..1), ns.
 * It may lie over max_ns, by less than 1/1024. Return: ND_UNKNOWN when empty.
 */
uint64_t nd_hist_quantile(const struct nd_hist_view *v, double q);
/** nd_hist_mean() - ns, exact. NAN when empty. */
double nd_hist_mean(const struct nd_hist_view *v);
/** nd_hist_stddev() - of the samples, ns, from bucket middles. NAN below two. */
double nd_hist_stddev(const struct nd_hist_view *v);

/* Bucket arithmetic, shared with exporters: times in ns, bounds are inclusive. */
uint32_t nd_hist_bucket(uint64_t ns);
uint64_t nd_hist_bucket_low(uint32_t bucket);
uint64_t nd_hist_bucket_high(uint32_t bucket);
uint32_t nd_hist_buckets(void);

#endif
