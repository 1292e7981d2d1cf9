/* SPDX-License-Identifier: MIT */
/*
 * What a run came to. Counts are sums over workers; a rate is the sum over workers of each one's bytes over
 * its own true length.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "run/int.h"

/* A stretch of one worker's lane between two marks. */
struct stretch {
	struct nd_counters c;
	uint64_t from_ns, to_ns;
};

static double seconds_of(const struct stretch *s)
{
	return s->to_ns > s->from_ns ? (double)(s->to_ns - s->from_ns) / 1e9 : 0;
}

static double rate_of(uint64_t bytes, const struct stretch *s)
{
	double seconds = seconds_of(s);

	return seconds > 0 ? (double)bytes * 8 / seconds : 0;
}

static void stretch_between(const struct nd_series *s, uint32_t from, uint32_t to,
			    struct stretch *ret)
{
	const struct nd_mark *a = &s->marks[from], *b = &s->marks[to];

	nd_counters_since(&ret->c, &b->c, &a->c);
	ret->from_ns = a->at_ns;
	ret->to_ns = b->at_ns;
}

static uint64_t lost_of(const struct nd_counters *c)
{
	/* sequence numbers known to exist, less those seen; late arrivals may make it negative */
	return c->rx_highest > c->rx_unique ? c->rx_highest - c->rx_unique : 0;
}

uint32_t nd_run_intervals(const struct nd_run *r)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_worker *w = &r->workers[i];
		/* before the series: a worker that is over has made its last mark */
		bool over = atomic_load_explicit(&w->state, memory_order_acquire) == ND_WORKER_OVER;
		uint32_t n = nd_series_count(&w->series[0]);

		n = n ? n - 1 : 0;
		most = ND_MAX(most, n);
		if (!over) /* else it will complete no more than it has */
			least = ND_MIN(least, n);
	}
	return ND_MIN(least, most);
}

/* Add one worker's stretch to an interval; instants are averaged over @workers. */
static void add_stretch(struct nd_interval_sample *out, const struct stretch *s, uint64_t start_ns,
			uint32_t workers)
{
	out->start_s += (double)(int64_t)(s->from_ns - start_ns) / 1e9 / workers;
	out->end_s += (double)(int64_t)(s->to_ns - start_ns) / 1e9 / workers;
	out->seconds += seconds_of(s) / workers;
	out->tx_bytes += s->c.tx_bytes;
	out->tx_messages += s->c.tx_messages;
	out->tx_refused += s->c.tx_refused;
	out->rx_bytes += s->c.rx_bytes;
	out->rx_messages += s->c.rx_messages;
	out->rx_unique += s->c.rx_unique;
	out->rx_duplicate += s->c.rx_duplicate;
	out->rx_reordered += s->c.rx_reordered;
	out->rx_lost += lost_of(&s->c);
	out->transactions += s->c.transactions;
	out->tx_bps += rate_of(s->c.tx_bytes, s);
	out->rx_bps += rate_of(s->c.rx_bytes, s);
}

static void add_retransmits(struct nd_interval_sample *out, const struct nd_worker *w,
			    unsigned lane, uint32_t i)
{
	uint64_t then, now;

	if (!w->retransmits[lane])
		return; /* no sender of this lane here */
	then = w->retransmits[lane][i];
	now = w->retransmits[lane][i + 1];
	if (now == ND_UNKNOWN || then == ND_UNKNOWN)
		out->tcp_retransmits = ND_UNKNOWN;
	else if (out->tcp_retransmits != ND_UNKNOWN)
		out->tcp_retransmits += now - ND_MIN(then, now);
}

static bool sends_tcp(const struct nd_run *r, unsigned lane)
{
	return nd_is_active(r, lane) && (r->lanes[lane].transport->caps & ND_NET_TCP_INFO);
}

/* Marks that a worker lacks count as its last one: it had ended. */
static void worker_interval(const struct nd_run *r, const struct nd_worker *w, unsigned lane,
			    uint32_t i, struct nd_interval_sample *out)
{
	uint64_t start = atomic_load_explicit(&r->start_ns, memory_order_relaxed);
	uint32_t n = nd_series_count(&w->series[lane]);
	struct stretch s;

	if (n == 0)
		return;
	stretch_between(&w->series[lane], ND_MIN(i, n - 1), ND_MIN(i + 1, n - 1), &s);
	add_stretch(out, &s, start, r->worker_n);
	if (i + 1 < n)
		add_retransmits(out, w, lane, i);
}

void nd_run_interval(const struct nd_run *r, unsigned workload, uint32_t i,
		     struct nd_interval_sample *ret)
{
	*ret = (struct nd_interval_sample){
		.index = i,
		.workload = workload,
		.phase = nd_phase_names[nd_schedule_phase(&r->schedule, i)],
		.tcp_retransmits = sends_tcp(r, workload) ? 0 : ND_UNKNOWN,
	};
	for (uint32_t k = 0; k < r->worker_n; k++)
		worker_interval(r, &r->workers[k], workload, i, ret);
}

/* ---- totals */

static void add_totals(struct nd_totals *t, const struct stretch *s, uint64_t start_ns,
		       uint32_t workers)
{
#define X(name) t->name += s->c.name;
	ND_COUNTERS(X)
#undef X
	t->seconds += seconds_of(s) / workers;
	t->tx_bps += rate_of(s->c.tx_bytes, s);
	t->rx_bps += rate_of(s->c.rx_bytes, s);
	t->start_ns += (s->from_ns > start_ns ? s->from_ns - start_ns : 0) / workers;
	t->end_ns += (s->to_ns > start_ns ? s->to_ns - start_ns : 0) / workers;
}

static void lane_totals(const struct nd_run *r, unsigned lane, struct nd_part *p)
{
	bool by_bytes =
		r->lanes[lane].workload->total_bytes && r->schedule.bound[ND_PHASE_WARMUP] == 0;
	uint64_t start = atomic_load_explicit(&r->start_ns, memory_order_relaxed);

	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_worker *w = &r->workers[i];
		struct stretch s;

		if (w->marks == 0)
			continue;
		stretch_between(&w->series[lane], w->window_from, w->window_to, &s);
		s.to_ns = w->window_end_ns;
		if (by_bytes) /* every byte counts, also those that were there before this worker woke up */
			s.from_ns = start;
		add_totals(&p->window, &s, start, r->worker_n);
		stretch_between(&w->series[lane], 0, w->marks - 1, &s);
		add_totals(&p->run, &s, start, r->worker_n);
	}
}

/* ---- flows */

static int64_t since_start(uint64_t at_ns, uint64_t start_ns)
{
	return at_ns ? (int64_t)(at_ns - start_ns) : INT64_MIN;
}

static uint64_t widen(uint32_t v)
{
	return v == UINT32_MAX ? ND_UNKNOWN : v;
}

static void tcp_row(struct nd_flow_row *row, const struct nd_tcp_end *s)
{
	row->retransmits = widen(s->retransmits);
	row->rtt_us = widen(s->rtt_us);
	row->cwnd_segments = widen(s->cwnd_segments);
}

static void flow_row(const struct nd_run *r, const struct nd_worker *w, uint32_t slot,
		     struct nd_arena *a, struct nd_flow_row *row)
{
	uint64_t start = atomic_load_explicit(&r->start_ns, memory_order_relaxed);
	const struct nd_flow *f = &w->flows[slot];
	char words[64];

	row->flow = f->tx.flow;
	row->workload = f->workload;
	row->window_tx_bytes += f->at_end.tx - f->at_start.tx;
	row->window_rx_bytes += f->at_end.rx - f->at_start.rx;
	row->tx_bytes += f->c.tx_bytes;
	row->rx_bytes += f->c.rx_bytes;
	row->tx_messages += f->c.tx_messages;
	row->rx_messages += f->c.rx_messages;
	row->rx_unique += f->c.rx_unique;
	row->rx_duplicate += f->c.rx_duplicate;
	row->rx_reordered += f->c.rx_reordered;
	row->transactions += f->c.transactions;
	row->retransmits = row->rtt_us = row->cwnd_segments = ND_UNKNOWN;
	if (f->half != 0)
		return;
	row->first_ns = since_start(f->first_ns, start);
	row->jitter_us =
		f->rx.seq && f->rx.seq->has_transit ? f->rx.seq->jitter_ns / 1e3 : (double)NAN;
	if (w->last && w->tcp[f->workload].rtt)
		tcp_row(row, &w->last[slot]);
	if (f->error)
		row->error = nd_arena_dup(a, nd_strerror(f->error, words, sizeof(words)));
}

static int lane_flows(const struct nd_run *r, unsigned lane, struct nd_arena *a, struct nd_part *p)
{
	uint64_t flows = r->owner ? r->lanes[lane].workload->flows : r->given_n;
	struct nd_flow_row *rows;
	double jitter = 0;
	uint64_t jitters = 0;

	if (nd_list_new(a, &p->flows, flows, sizeof(*rows)) < 0)
		return -ENOMEM;
	rows = p->flows.v;
	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_worker *w = &r->workers[i];

		for (uint32_t k = 0; w->flows && k < w->lane_slots[lane]; k++) {
			uint32_t slot = w->lane_slot[lane] + k;

			flow_row(r, w, slot, a, &rows[w->flows[slot].number]);
		}
	}
	for (uint64_t i = 0; i < flows; i++) {
		if (isnan(rows[i].jitter_us))
			continue;
		jitter += rows[i].jitter_us;
		jitters++;
	}
	p->jitter_us =
		jitters && nd_is_datagram(&r->lanes[lane]) ? jitter / (double)jitters : (double)NAN;
	return 0;
}

/* ---- TCP and round trips */

static double ratio_us(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : (double)NAN;
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

static int lane_tcp(const struct nd_run *r, unsigned lane, struct nd_part *p)
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
	p->tcp.retransmits = t.retransmits;
	p->tcp.mss_bytes = t.flows ? t.mss_bytes : ND_UNKNOWN;
	p->tcp.rwnd_limited_ratio = ratio_us(t.rwnd_us, t.busy_us);
	p->tcp.sndbuf_limited_ratio = ratio_us(t.sndbuf_us, t.busy_us);
	p->tcp.cwnd_limited_ratio = 1 - ratio_us(t.rwnd_us + t.sndbuf_us, t.busy_us);
	p->tcp.delivery_rate_bps =
		t.flows ? (double)t.delivery_Bps * 8 / (double)t.flows : (double)NAN;
	p->tcp.cwnd_mean_segments = cwnds ? cwnd / (double)cwnds : (double)NAN;
	if (e == 0 && all.count) {
		p->tcp.rtt_min_us = (double)all.min_ns / 1e3;
		p->tcp.rtt_mean_us = nd_hist_mean(&all) / 1e3;
		p->tcp.rtt_p99_us = (double)ND_MIN(nd_hist_quantile(&all, 0.99), all.max_ns) / 1e3;
	}
	nd_hist_view_done(&all);
	return e;
}

static double quantile_us(const struct nd_hist_view *v, double q)
{
	/* with fewer than ten samples beyond, the quantile says little: unknown */
	if ((double)v->count * (1 - q) < 10)
		return (double)NAN;
	return (double)ND_MIN(nd_hist_quantile(v, q), v->max_ns) / 1e3;
}

static int lane_rtt(const struct nd_run *r, unsigned lane, struct nd_part *p)
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
	}
	nd_hist_view_done(&all);
	return e;
}

static int lane_intervals(const struct nd_run *r, unsigned lane, struct nd_arena *a,
			  struct nd_part *p)
{
	uint32_t most = 0;
	struct nd_interval_sample *v;

	for (uint32_t i = 0; i < r->worker_n; i++)
		most = ND_MAX(most, nd_series_count(&r->workers[i].series[lane]));
	if (nd_list_new(a, &p->intervals, most ? most - 1 : 0, sizeof(*v)) < 0)
		return -ENOMEM;
	v = p->intervals.v;
	for (uint32_t i = 0; i + 1 < most; i++)
		nd_run_interval(r, lane, i, &v[i]);
	return 0;
}

/* Nothing in these datagrams tells one from another: they are counted, no more. */
static void without_numbers(struct nd_part *p)
{
	struct nd_flow_row *row = p->flows.v;
	struct nd_totals *totals[] = { &p->window, &p->run };

	for (size_t i = 0; i < ND_COUNTOF(totals); i++) {
		totals[i]->rx_unique = totals[i]->rx_duplicate = ND_UNKNOWN;
		totals[i]->rx_reordered = totals[i]->rx_highest = ND_UNKNOWN;
	}
	for (uint64_t i = 0; i < p->flows.n; i++)
		row[i].rx_unique = row[i].rx_duplicate = row[i].rx_reordered = ND_UNKNOWN;
	p->jitter_us = (double)NAN;
}

static bool is_numbered(const struct nd_lane *l)
{
	return l->frame->takes && l->workload->message_bytes >= 8;
}

/* What was in force on the lane's sockets when they were closed, read from the first. */
static void lane_facts(const struct nd_run *r, unsigned lane, struct nd_arena *a, struct nd_part *p)
{
	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_worker *w = &r->workers[i];
		const struct nd_net_facts *f = &w->facts[lane];

		if (!w->has_facts[lane])
			continue;
		p->sndbuf_bytes = f->sndbuf_bytes;
		p->rcvbuf_bytes = f->rcvbuf_bytes;
		p->path_mtu_bytes = f->path_mtu_bytes;
		p->nodelay = f->nodelay;
		p->tcp.cc = nd_arena_dup(a, f->cc);
		return;
	}
}

int nd_collect_part(struct nd_run *r, unsigned lane, struct nd_arena *a, struct nd_part *ret,
		    struct nd_err *err)
{
	const struct nd_lane *l = &r->lanes[lane];
	bool paced = l->workload->rate_bps || l->workload->rate_ops;
	int e;

	nd_table_unknown(&nd_part_table, ret);
	ret->window = ret->run = (struct nd_totals){ 0 };
	ret->workload = lane;
	ret->active = nd_is_active(r, lane);
	lane_totals(r, lane, ret);
	e = lane_flows(r, lane, a, ret);
	if (e == 0)
		e = lane_intervals(r, lane, a, ret);
	if (e == 0 && sends_tcp(r, lane))
		e = lane_tcp(r, lane, ret);
	if (e == 0)
		e = lane_rtt(r, lane, ret);
	if (e < 0)
		return nd_fail(err, e, "no memory for the results of %llu flows",
			       (unsigned long long)l->workload->flows);
	if (nd_is_datagram(l) && !is_numbered(l))
		without_numbers(ret);
	ret->tx_technique = l->tx->name;
	ret->rx_technique = l->rx->name;
	lane_facts(r, lane, a, ret);
	ret->engine = r->workers[0].engine ? r->workers[0].engine->name : NULL;
	if (ret->active)
		ret->pacer = !paced ? "none"
			     : nd_is_datagram(l)
				     ? "schedule in user space"
				     : "schedule in user space, SO_MAX_PACING_RATE above it";
	return 0;
}
