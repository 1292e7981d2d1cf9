/* SPDX-License-Identifier: MIT */
/*
 * Round trips of single intervals. Quantiles of workers cannot be put together, so each worker records an interval
 * into a histogram of its own and takes the next one at the edge; the main thread adds those of all workers up, keeps
 * a few figures, and gives them back empty. Where it is too far behind, an interval goes without.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "run/int.h"
#include "stat/quantile.h"

int nd_beat_new(struct nd_worker *w, unsigned lane)
{
	int e = 0;

	for (unsigned i = 0; e == 0 && i < ND_BEATS; i++)
		e = nd_hist_new(&w->beat[lane][i].hist);
	return e;
}

void nd_beat_done(struct nd_worker *w, unsigned lane)
{
	for (unsigned i = 0; i < ND_BEATS; i++)
		nd_hist_free(w->beat[lane][i].hist);
}

void nd_beat_next(struct nd_worker *w, uint32_t interval)
{
	for (unsigned i = 0; i < w->run->lane_n; i++) {
		struct nd_beat *b = &w->beat[i][interval % ND_BEATS];

		w->io.interval[i] = NULL;
		if (!b->hist || atomic_load_explicit(&b->taken, memory_order_acquire))
			continue;
		b->interval = interval;
		w->io.interval[i] = b->hist;
		/* the mark that follows publishes it */
		atomic_store_explicit(&b->taken, true, memory_order_release);
	}
}

/* What a worker recorded of the interval, into @sum; the histogram is free again. */
static int take(struct nd_worker *w, unsigned lane, uint32_t interval, struct nd_hist_view *sum)
{
	struct nd_beat *b = &w->beat[lane][interval % ND_BEATS];
	int e;

	/* only one whose end is marked is read: the worker has left it */
	if (!b->hist || nd_series_count(&w->series[0]) < interval + 2 ||
	    !atomic_load_explicit(&b->taken, memory_order_acquire) || b->interval != interval)
		return 0;
	e = nd_hist_view_take(sum, b->hist);
	nd_hist_reset(b->hist);
	atomic_store_explicit(&b->taken, false, memory_order_release);
	return e;
}

static double quantile_us(const struct nd_hist_view *v, double q)
{
	struct nd_quantile got;

	nd_quantile_of(v, q, &got);
	return got.ns == ND_UNKNOWN ? (double)NAN : (double)got.ns / 1e3;
}

static void sum_up(struct nd_run *r, unsigned lane, uint32_t interval, struct nd_beat_sum *ret)
{
	struct nd_hist_view all = { .min_ns = UINT64_MAX };
	int e = 0;

	for (uint32_t i = 0; i < r->worker_n && e == 0; i++)
		e = take(&r->workers[i], lane, interval, &all);
	*ret = (struct nd_beat_sum){ .p50_us = (double)NAN,
				     .p99_us = (double)NAN,
				     .max_us = (double)NAN };
	if (e == 0 && all.count) {
		ret->count = all.count;
		ret->p50_us = quantile_us(&all, 0.5);
		ret->p99_us = quantile_us(&all, 0.99);
		ret->max_us = (double)all.max_ns / 1e3;
	}
	nd_hist_view_done(&all);
}

static bool make_room(struct nd_run *r, uint32_t n)
{
	uint32_t room = ND_MAX(2 * r->beat_room, 64u);

	if (n < r->beat_room)
		return true;
	for (unsigned i = 0; i < r->lane_n; i++) {
		struct nd_beat_sum *v = reallocarray(r->beats[i], room, sizeof(*v));

		if (!v)
			return false; /* these intervals go without */
		r->beats[i] = v;
	}
	r->beat_room = room;
	return true;
}

static bool has_beats(const struct nd_run *r)
{
	for (unsigned i = 0; i < r->lane_n; i++) {
		if (r->lanes[i].load->round_trips && nd_is_active(r, i))
			return true;
	}
	return false;
}

void nd_beat_collect(struct nd_run *r)
{
	uint32_t n = has_beats(r) ? nd_run_intervals(r) : 0;

	for (; r->beat_n < n && make_room(r, r->beat_n); r->beat_n++) {
		for (unsigned i = 0; i < r->lane_n; i++)
			sum_up(r, i, r->beat_n, &r->beats[i][r->beat_n]);
	}
}

void nd_beat_interval(const struct nd_run *r, unsigned lane, uint32_t i,
		      struct nd_interval_sample *ret)
{
	static const struct nd_beat_sum none = { .p50_us = (double)NAN,
						 .p99_us = (double)NAN,
						 .max_us = (double)NAN };
	const struct nd_beat_sum *b = i < r->beat_n ? &r->beats[lane][i] : &none;

	ret->rtt_count = b->count;
	ret->rtt_p50_us = b->p50_us;
	ret->rtt_p99_us = b->p99_us;
	ret->rtt_max_us = b->max_us;
}
