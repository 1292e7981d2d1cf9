/* SPDX-License-Identifier: MIT */
/*
 * What a run came to. Counts are sums over workers; a rate is the sum over workers of each one's bytes over
 * its own true length.
 */
#include <errno.h>
#include <math.h>

#include "base/str.h"
#include "run/int.h"

#define FORGET 64 /* slots at once; see lane_flows() */

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
	nd_beat_interval(r, workload, i, ret);
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
	const struct nd_workload *wl = r->lanes[lane].workload;
	bool by_bytes =
		(wl->total_bytes || wl->total_ops) && r->schedule.bound[ND_PHASE_WARMUP] == 0;
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
	row->rx_dropped = f->drops_known ? f->c.rx_dropped : ND_UNKNOWN;
	row->first_ns = since_start(f->first_ns, start);
	row->jitter_us =
		f->rx.seq && f->rx.seq->has_transit ? f->rx.seq->jitter_ns / 1e3 : (double)NAN;
	if (w->last && w->tcp[f->workload].rtt)
		tcp_row(row, &w->last[slot]);
	if (f->error)
		row->error = nd_arena_dup(a, nd_strerror(f->error, words, sizeof(words)));
}

static int lane_flows(struct nd_run *r, unsigned lane, struct nd_arena *a, struct nd_part *p)
{
	uint64_t flows = r->owner ? r->lanes[lane].workload->flows : r->given_n;
	struct nd_flow_row *rows;
	double jitter = 0;
	uint64_t jitters = 0;

	if (nd_list_new(a, &p->flows, flows, sizeof(*rows)) < 0)
		return -ENOMEM;
	rows = p->flows.v;
	for (uint32_t i = 0; i < r->worker_n; i++) {
		struct nd_worker *w = &r->workers[i];

		for (uint32_t k = 0; w->flows && k < w->lane_slots[lane]; k++) {
			uint32_t slot = w->lane_slot[lane] + k;

			flow_row(r, w, slot, a, &rows[w->flows[slot].number]);
			/* as many bytes of rows come: both at once would be the run's peak */
			if (k % FORGET == 0 && !nd_is_datagram(&r->lanes[lane]))
				nd_layout_forget(w, slot);
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

/* A client knows whom it called, also when nothing answers any more. */
static const char *peer_of(const struct nd_run *r, struct nd_arena *a)
{
	struct nd_addr peer;
	char text[64];

	if (r->cfg.end != ND_CLIENT || (!r->cfg.peer && r->cfg.route_n == 0))
		return NULL;
	nd_route_peer(r, 0, &peer);
	return nd_arena_dup(a, nd_addr_text(&peer, false, text, sizeof(text)));
}

static struct nd_tcp_last last_of(const struct nd_tcp_sample *s)
{
	return (struct nd_tcp_last){ .is_known = true,
				     .rto_us = s->rto_us,
				     .ato_us = s->ato_us,
				     .pmtu_bytes = s->pmtu_bytes,
				     .rcv_ssthresh = s->rcv_ssthresh,
				     .rtt_us = s->rtt_us,
				     .rttvar_us = s->rttvar_us,
				     .snd_ssthresh = s->snd_ssthresh,
				     .cwnd_segments = s->cwnd_segments,
				     .reordering = s->reordering,
				     .retransmits = s->retransmits };
}

/* What was in force on the lane's sockets when they were closed, read from the first. */
static void lane_facts(const struct nd_run *r, unsigned lane, struct nd_arena *a, struct nd_part *p)
{
	p->peer_address = peer_of(r, a);
	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_worker *w = &r->workers[i];
		const struct nd_net_facts *f = &w->facts[lane];

		if (!w->has_facts[lane])
			continue;
		p->sndbuf_bytes = f->sndbuf_bytes;
		p->rcvbuf_bytes = f->rcvbuf_bytes;
		p->path_mtu_bytes = f->path_mtu_bytes;
		p->nodelay = f->nodelay;
		if (w->has_only[lane])
			p->last = last_of(&w->only[lane]);
		p->tcp.cc = nd_arena_dup(a, f->cc);
		if (!p->active && r->cfg.plan->face)
			p->tcp.retransmits = w->retransmitted[lane];
		if (!p->active && r->cfg.plan->face)
			p->tcp.mss_bytes = f->mss_bytes;
		return;
	}
}

/* ---- techniques */

/* The first worker with pieces, or with refused ones, speaks for all: they have one path. */
static struct nd_told told_of(const struct nd_run *r, unsigned lane)
{
	struct nd_told told = { 0 };

	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_told *t = &r->workers[i].io.told[lane];

		told.tx_segments = ND_MAX(told.tx_segments, t->tx_segments);
		told.tx_refused = told.tx_refused ? told.tx_refused : t->tx_refused;
		told.rx_refused = told.rx_refused ? told.rx_refused : t->rx_refused;
	}
	return told;
}

static const char *tx_words(const struct nd_run *r, unsigned lane, struct nd_arena *a)
{
	const char *name = r->lanes[lane].tx->name;
	struct nd_told told = told_of(r, lane);
	nd_auto_str out = { 0 };
	char words[64];

	if (told.tx_segments == 0)
		return name;
	if (told.tx_refused)
		nd_str_addf(&out, "copy: one by one, %s was refused (%s)", name,
			    nd_strerror(-told.tx_refused, words, sizeof(words)));
	else if (told.tx_segments == 1)
		nd_str_addf(&out, "%s 1: one by one, two are more than a piece may hold", name);
	else
		nd_str_addf(&out, "%s %u: one pass of the stack for up to %u datagrams", name,
			    told.tx_segments, told.tx_segments);
	return nd_arena_dup(a, nd_str_text(&out));
}

static const char *rx_words(const struct nd_run *r, unsigned lane, struct nd_arena *a)
{
	const struct nd_xfer *rx = r->lanes[lane].rx;
	struct nd_told told = told_of(r, lane);
	nd_auto_str out = { 0 };
	char words[64];

	if (!told.rx_refused)
		return rx->name;
	nd_str_addf(&out, "copy: one by one, %s was refused (%s)", rx->name,
		    nd_strerror(-told.rx_refused, words, sizeof(words)));
	return nd_arena_dup(a, nd_str_text(&out));
}

/* The sockets' own counters, read when they were closed: of the run, not of its window. */
static void lane_drops(const struct nd_run *r, unsigned lane, struct nd_part *p)
{
	const struct nd_lane *l = &r->lanes[lane];
	uint64_t sum = 0;

	if (!nd_is_datagram(l) || (p->active && !l->load->round_trips))
		return;
	for (uint32_t i = 0; i < r->worker_n && sum != ND_UNKNOWN; i++) {
		const struct nd_worker *w = &r->workers[i];

		for (uint32_t k = 0; w->flows && k < w->lane_slots[lane]; k++) {
			const struct nd_flow *f = &w->flows[w->lane_slot[lane] + k];

			if (f->half == 0 && !f->drops_known) {
				sum = ND_UNKNOWN;
				break;
			}
			sum += f->c.rx_dropped;
		}
	}
	p->run.rx_dropped = sum;
	p->window.rx_dropped = sum ? ND_UNKNOWN : 0;
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
		e = nd_collect_tcp(r, lane, ret);
	if (e == 0)
		e = nd_collect_rtt(r, lane, a, ret);
	if (e == 0)
		e = nd_collect_latency(r, lane, a, &ret->latency);
	if (e == 0)
		e = nd_collect_turns(r, lane, a, &ret->turned);
	if (e == 0)
		e = nd_collect_calls(r, lane, ret);
	if (e < 0)
		return nd_fail(err, e, "no memory for the results of %llu flows",
			       (unsigned long long)l->workload->flows);
	if (nd_is_datagram(l) && !is_numbered(l))
		without_numbers(ret);
	lane_drops(r, lane, ret);
	ret->tx_technique = tx_words(r, lane, a);
	ret->rx_technique = rx_words(r, lane, a);
	lane_facts(r, lane, a, ret);
	ret->engine = r->workers[0].engine ? r->workers[0].engine->name : NULL;
	if (ret->active)
		ret->pacer = !paced ? "none"
			     : nd_is_datagram(l) || !l->workload->rate_bps
				     ? "schedule in user space"
				     : "schedule in user space, SO_MAX_PACING_RATE above it";
	return 0;
}
