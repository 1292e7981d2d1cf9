/* SPDX-License-Identifier: MIT */
/* What the samples of TCP's state and the histograms of a lane come to: retransmissions, round trips, calls. */
#include <math.h>

#include "base/real.h"
#include "run/int.h"

#define RTT_DECADES 8 /* from 1 us to 100 s */

static double ratio_us(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : (double)NAN;
}

/* Between the window's edges; unknown when some worker could not read all its flows there. */
static uint64_t window_retransmits(const struct nd_run *r, unsigned lane)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_worker *w = &r->workers[i];
		uint64_t then, now;

		if (!w->retransmits[lane] || w->marks == 0)
			continue;
		then = w->retransmits[lane][w->window_from];
		now = w->retransmits[lane][w->window_to];
		if (then == ND_UNKNOWN || now == ND_UNKNOWN)
			return ND_UNKNOWN;
		sum += now - ND_MIN(then, now);
	}
	return sum;
}

static double quantile_us(const struct nd_hist_view *v, double q)
{
	if (!nd_quantile_says(v->count, (uint64_t)nd_real_round(1 / (1 - q))))
		return (double)NAN;
	return (double)ND_MIN(nd_hist_quantile(v, q), v->max_ns) / 1e3;
}

/* Sums of last samples over all workers. */
static void sum_last(const struct nd_run *r, unsigned lane, struct nd_tcp_tally *t)
{
	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_tcp_tally *w = &r->workers[i].tcp[lane];

		t->flows += w->flows;
		t->retransmits += w->retransmits;
		t->busy_us += w->busy_us;
		t->rwnd_us += w->rwnd_us;
		t->sndbuf_us += w->sndbuf_us;
		t->delivery_Bps += w->delivery_Bps;
		t->mss_bytes = w->flows ? w->mss_bytes : t->mss_bytes;
	}
}

int nd_collect_tcp(const struct nd_run *r, unsigned lane, struct nd_part *p)
{
	struct nd_hist_view all = { .min_ns = UINT64_MAX };
	struct nd_tcp_tally t = { 0 };
	double cwnd = 0;
	uint64_t cwnds = 0;
	int e = 0;

	sum_last(r, lane, &t);
	for (uint32_t i = 0; i < r->worker_n && e == 0; i++) {
		const struct nd_tcp_tally *tally = &r->workers[i].tcp[lane];

		if (!tally->rtt)
			continue;
		e = nd_hist_view_take(&all, tally->rtt);
		cwnd += tally->cwnd_sum;
		cwnds += tally->cwnd_n;
	}
	p->tcp.flows_sampled = t.flows;
	p->tcp.retransmits = t.flows ? t.retransmits : ND_UNKNOWN;
	p->tcp.window_retransmits = t.flows ? window_retransmits(r, lane) : ND_UNKNOWN;
	p->tcp.mss_bytes = t.flows ? t.mss_bytes : ND_UNKNOWN;
	p->tcp.rwnd_limited_ratio = ratio_us(t.rwnd_us, t.busy_us);
	p->tcp.sndbuf_limited_ratio = ratio_us(t.sndbuf_us, t.busy_us);
	p->tcp.cwnd_limited_ratio = 1 - ratio_us(t.rwnd_us + t.sndbuf_us, t.busy_us);
	p->tcp.delivery_rate_bps =
		t.flows ? (double)t.delivery_Bps * 8 / (double)t.flows : (double)NAN;
	p->tcp.cwnd_mean_segments = cwnds ? cwnd / (double)cwnds : (double)NAN;
	p->tcp.rtt_samples = all.count;
	if (e == 0 && all.count) {
		p->tcp.rtt_min_us = (double)all.min_ns / 1e3;
		p->tcp.rtt_mean_us = nd_hist_mean(&all) / 1e3;
		p->tcp.rtt_p99_us = quantile_us(&all, 0.99);
	}
	nd_hist_view_done(&all);
	return e;
}

/* How many round trips took so many times 1, 10, 100 ... us; those of 100 s and more all together. */
static int rtt_tenths(const struct nd_hist_view *v, struct nd_arena *a, struct nd_list *ret)
{
	uint64_t count[RTT_DECADES + 1][10] = { 0 };
	struct nd_rtt_tenth *row;
	uint64_t n = 0;
	int e;

	for (uint32_t i = 0; i < v->n; i++) {
		uint64_t us = nd_hist_bucket_high(i) / 1000, decade = 0;

		for (; us >= 10 && decade < RTT_DECADES; decade++)
			us /= 10;
		us = decade == RTT_DECADES ? 0 : us;
		n += v->v[i] && count[decade][us] == 0;
		count[decade][us] += v->v[i];
	}
	e = nd_list_new(a, ret, n, sizeof(*row));
	row = ret->v;
	for (uint64_t i = 0; e == 0 && i < (RTT_DECADES + 1) * 10; i++)
		if (count[i / 10][i % 10])
			*row++ = (struct nd_rtt_tenth){ i / 10, i % 10, count[i / 10][i % 10] };
	return e;
}

int nd_collect_rtt(const struct nd_run *r, unsigned lane, struct nd_arena *a, struct nd_part *p)
{
	struct nd_hist_view all = { .min_ns = UINT64_MAX };
	int e = 0;

	for (uint32_t i = 0; i < r->worker_n && e == 0; i++)
		if (r->workers[i].rtt_window[lane])
			e = nd_hist_view_take(&all, r->workers[i].rtt_window[lane]);
	if (e == 0 && all.count) {
		p->rtt_count = all.count;
		p->rtt_min_us = (double)all.min_ns / 1e3;
		p->rtt_mean_us = nd_hist_mean(&all) / 1e3;
		p->rtt_p50_us = quantile_us(&all, 0.5);
		p->rtt_p90_us = quantile_us(&all, 0.9);
		p->rtt_p99_us = quantile_us(&all, 0.99);
		p->rtt_p999_us = quantile_us(&all, 0.999);
		p->rtt_max_us = (double)all.max_ns / 1e3;
		p->rtt_stddev_us = nd_hist_stddev(&all) / 1e3;
		e = rtt_tenths(&all, a, &p->rtt_tenths);
	}
	nd_hist_view_done(&all);
	return e;
}

static int take_all(const struct nd_run *r, unsigned lane, bool gaps, struct nd_hist_view *ret)
{
	int e = 0;

	for (uint32_t i = 0; i < r->worker_n && e == 0; i++) {
		const struct nd_worker *w = &r->workers[i];
		const struct nd_hist *h = gaps ? w->gap[lane] : w->burst[lane];

		e = h ? nd_hist_view_take(ret, h) : 0;
	}
	return e;
}

/* One value of a histogram as it was recorded. */
static double quantile_of(const struct nd_hist_view *v, double q)
{
	return (double)ND_MIN(nd_hist_quantile(v, q), v->max_ns);
}

int nd_collect_calls(const struct nd_run *r, unsigned lane, struct nd_part *p)
{
	struct nd_hist_view gap = { .min_ns = UINT64_MAX }, burst = { .min_ns = UINT64_MAX };
	int e = take_all(r, lane, true, &gap);

	if (e == 0)
		e = take_all(r, lane, false, &burst);
	if (e == 0 && gap.count) {
		p->gap_p50_us = quantile_of(&gap, 0.5) / 1e3;
		if (nd_quantile_says(gap.count, 100))
			p->gap_p99_us = quantile_of(&gap, 0.99) / 1e3;
		p->gap_max_us = (double)gap.max_ns / 1e3;
	}
	if (e == 0 && burst.count) {
		p->send_calls = burst.count;
		p->burst_p50 = quantile_of(&burst, 0.5);
		p->burst_p99 = quantile_of(&burst, 0.99);
		p->burst_max = (double)burst.max_ns;
	}
	nd_hist_view_done(&gap);
	nd_hist_view_done(&burst);
	return e;
}
