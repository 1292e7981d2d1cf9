/* SPDX-License-Identifier: MIT */
/*
 * A worker's way through the phases. At its first operation past an edge it marks its counters with the
 * true instant; differences of marks are the intervals and the window, so they add up exactly.
 */
#include <unistd.h>

#include "base/time.h"
#include "run/int.h"

enum { SAMPLE_FLOWS = 64, SAMPLES = 100 };

#define DRAIN_POLL_NS (20 * ND_NS_PER_MS)
#define HELD_NS       (5 * ND_NS_PER_MS) /* more than an operation that does not wait */

static void tell_main(const struct nd_worker *w)
{
	uint64_t one = 1;

	/* an eventfd write fails only when the counter is full, and then main is awake anyway */
	(void)!write(w->run->main_fd, &one, sizeof(one));
}

void nd_worker_publish(struct nd_worker *w, enum nd_worker_state state)
{
	atomic_store_explicit(&w->state, (int)state, memory_order_release);
	tell_main(w);
}

bool nd_worker_stopped(const struct nd_worker *w)
{
	return atomic_load_explicit(&w->run->stop, memory_order_acquire);
}

/* tcp_info of the lane's next sending flow, in turn. Returns its retransmits, 0 when it did not tell. */
static uint64_t sample_next(struct nd_worker *w, unsigned lane)
{
	struct nd_tcp_tally *t = &w->tcp[lane];
	const struct nd_flow *f = &w->flows[w->lane_slot[lane] + t->turn];
	struct nd_tcp_sample s;

	t->turn = (t->turn + 1) % w->lane_slots[lane];
	if (f->fd < 0 || f->step.op == ND_OP_OPEN || nd_tcp_sample(f->fd, &s) < 0)
		return 0;
	if (s.rtt_us != ND_UNKNOWN)
		nd_hist_record(t->rtt, s.rtt_us * ND_NS_PER_US);
	if (s.cwnd_segments != ND_UNKNOWN) {
		t->cwnd_sum += (double)s.cwnd_segments;
		t->cwnd_n++;
	}
	return s.retransmits != ND_UNKNOWN ? s.retransmits : 0;
}

/* At an edge: up to SAMPLE_FLOWS flows. Returns the sum of retransmits when that was all of them, else unknown. */
static uint64_t sample_lane(struct nd_worker *w, unsigned lane)
{
	uint32_t slots = w->lane_slots[lane], n = ND_MIN(slots, (uint32_t)SAMPLE_FLOWS);
	uint64_t retransmits = 0;

	for (uint32_t i = 0; i < n; i++)
		retransmits += sample_next(w, lane);
	return slots > SAMPLE_FLOWS ? ND_UNKNOWN : retransmits;
}

/* Between edges: one flow of each bulk lane a hundred times an interval, so that quantiles mean something. A
 * lane of round trips is left alone: it measures them itself, and a system call would be in the way. */
static void sample_some(struct nd_worker *w, uint64_t now_ns)
{
	const struct nd_run *r = w->run;
	bool any = false;

	if (now_ns < w->sample_ns)
		return;
	for (unsigned i = 0; i < r->lane_n; i++) {
		if (!w->tcp[i].rtt || r->lanes[i].load->round_trips)
			continue;
		any = true;
		if (now_ns > w->start_ns)
			(void)sample_next(w, i); /* kept in the tally */
	}
	w->sample_ns =
		any ? now_ns + ND_MAX(r->schedule.interval_ns / SAMPLES, ND_NS_PER_MS) : UINT64_MAX;
}

static void mark(struct nd_worker *w, uint64_t now_ns)
{
	const struct nd_run *r = w->run;
	uint32_t at = ND_MIN(w->marks, w->series[0].room - 1);

	nd_beat_next(w, at);
	/* lane 0 last: its length is what the main thread goes by */
	for (unsigned i = r->lane_n; i-- > 0;) {
		if (w->tcp[i].rtt)
			w->retransmits[i][at] = w->marks ? sample_lane(w, i) : 0;
		nd_series_mark(&w->series[i], now_ns, &w->io.c[i]);
	}
	w->marks = at + 1;
	w->mark_ns = now_ns;
	tell_main(w);
}

static struct nd_flow_bytes bytes_of(const struct nd_flow *f)
{
	return (struct nd_flow_bytes){ f->c.tx_bytes, f->c.rx_bytes };
}

static void use_hist(struct nd_worker *w, struct nd_hist *const *hist)
{
	for (unsigned i = 0; i < w->run->lane_n; i++)
		w->io.rtt[i] = hist[i];
}

/* The gap between the last call before the window and its first is not in it. */
static void watch_calls(struct nd_worker *w, bool in_window)
{
	for (unsigned i = 0; i < w->run->lane_n; i++) {
		w->io.gap[i] = in_window ? w->gap[i] : NULL;
		w->io.burst[i] = in_window ? w->burst[i] : NULL;
		for (unsigned k = 0; k < ND_PARTS; k++)
			w->io.stamped[i][k] = in_window ? w->stamped[i][k] : NULL;
		for (unsigned k = 0; k < ND_CONN_PARTS; k++)
			w->io.parts[i][k] = in_window ? w->parts[i][k] : NULL;
		w->io.sent_ns[i] = 0;
	}
}

static void open_window(struct nd_worker *w)
{
	w->window_from = w->marks - 1;
	use_hist(w, w->rtt_window);
	watch_calls(w, true);
	for (uint32_t i = 0; i < w->io.flow_count; i++)
		w->flows[i].at_start = bytes_of(&w->flows[i]);
}

static void close_window(struct nd_worker *w, uint64_t at_ns)
{
	w->window_to = w->marks - 1;
	use_hist(w, w->rtt_rest);
	watch_calls(w, false);
	w->window_end_ns = at_ns;
	for (uint32_t i = 0; i < w->io.flow_count; i++)
		w->flows[i].at_end = bytes_of(&w->flows[i]);
}

/* Phases that end at this edge, empty ones included. */
static void pass_phases(struct nd_worker *w)
{
	const struct nd_schedule *s = &w->run->schedule;

	while (w->phase != ND_PHASE_DRAIN && w->edge_rel_ns == s->bound[w->phase]) {
		if (w->phase == ND_PHASE_WARMUP)
			open_window(w);
		else if (w->phase == ND_PHASE_MEASURE)
			close_window(w, w->mark_ns);
		else
			w->io.stop_sending = true;
		w->phase++;
	}
	if (w->phase != ND_PHASE_DRAIN)
		w->edge_rel_ns = nd_schedule_next(s, w->phase, w->edge_rel_ns);
}

/* Other programs, or a call that they kept from coming back, may hold a worker up for longer than any operation takes.
 * What it has counted was so when the edge was due, but for one operation: tools whose time is to be as it was asked
 * for have it end there. */
static uint64_t instant_of(const struct nd_worker *w, uint64_t due_ns, uint64_t now_ns)
{
	bool was_held = now_ns > due_ns + HELD_NS && w->io.still_ns && w->io.still_ns <= due_ns;

	return was_held && w->run->cfg.plan->on_time ? due_ns : now_ns;
}

/* The peer has finished, and this worker sends nothing any more: it only waits for the tail. */
static bool is_waiting(const struct nd_worker *w)
{
	return w->phase == ND_PHASE_DRAIN || (w->draining && w->active_left == 0);
}

static void set_edge(struct nd_worker *w, uint64_t now_ns)
{
	uint64_t edge_ns = w->start_ns + w->edge_rel_ns;

	if (w->phase == ND_PHASE_DRAIN)
		w->io.edge_ns = now_ns + DRAIN_POLL_NS;
	else if (is_waiting(w))
		w->io.edge_ns = ND_MIN(edge_ns, now_ns + DRAIN_POLL_NS);
	else
		w->io.edge_ns = w->io.patient ? edge_ns : ND_MIN(edge_ns, w->sample_ns);
	w->io.sample_ns = w->io.patient ? w->sample_ns : 0;
}

/* By the schedule: true edges are later, and differ from worker to worker. */
static void set_due(struct nd_worker *w)
{
	const struct nd_schedule *s = &w->run->schedule;

	for (unsigned i = 0; i < w->run->lane_n; i++) {
		w->io.due[i].from_ns = w->start_ns + s->bound[ND_PHASE_WARMUP];
		w->io.due[i].to_ns = w->start_ns + s->bound[ND_PHASE_MEASURE];
	}
}

void nd_phase_begin(struct nd_worker *w, uint64_t now_ns)
{
	set_due(w);
	w->io.still_ns = w->start_ns; /* nothing is counted yet */
	mark(w, instant_of(w, w->start_ns, now_ns));
	w->io.still_ns = 0;
	pass_phases(w);
	if (w->edge_rel_ns == 0)
		w->edge_rel_ns = nd_schedule_next(&w->run->schedule, w->phase, 0);
	/* the peer may have finished before this worker woke up */
	if (atomic_load_explicit(&w->run->quiet_ns, memory_order_acquire))
		w->draining = true;
	sample_some(w, now_ns);
	set_edge(w, now_ns);
	nd_worker_publish(w, w->active_left ? ND_WORKER_RUNNING : ND_WORKER_SENT);
}

/* Streams end by end of stream; datagrams, and connections, when nothing has come for a while. */
static bool only_endless_left(const struct nd_worker *w)
{
	for (uint32_t i = 0; i < w->io.flow_count; i++) {
		const struct nd_flow *f = &w->flows[i];

		const struct nd_lane *l = &w->run->lanes[f->workload];

		if (f->state != ND_FLOW_DONE && !nd_is_datagram(l) && !l->load->connects)
			return false;
	}
	return true;
}

static void check_drained(struct nd_worker *w, uint64_t now_ns)
{
	const struct nd_run *r = w->run;
	uint64_t quiet_ns = atomic_load_explicit(&r->quiet_ns, memory_order_acquire);
	uint64_t deadline_ns = atomic_load_explicit(&r->finish_deadline_ns, memory_order_acquire);
	uint64_t seen = 0;

	if (quiet_ns == 0)
		return;
	for (unsigned i = 0; i < r->lane_n; i++)
		seen += w->io.c[i].rx_messages;
	if (seen != w->quiet_count || w->quiet_since_ns == 0) {
		w->quiet_count = seen;
		w->quiet_since_ns = now_ns;
	}
	if (w->active_left == 0 && now_ns - w->quiet_since_ns >= quiet_ns && only_endless_left(w))
		w->io.quit = true;
	if (now_ns >= deadline_ns)
		w->io.quit = true;
}

/* The tail of a run that ends by bytes belongs to its last interval; time goes on by the schedule. */
static bool has_edges(const struct nd_worker *w)
{
	return w->phase != ND_PHASE_DRAIN && !(w->run->by_bytes && is_waiting(w));
}

static void pass_edges(struct nd_worker *w, uint64_t now_ns)
{
	while (has_edges(w) && now_ns >= w->start_ns + w->edge_rel_ns) {
		mark(w, instant_of(w, w->start_ns + w->edge_rel_ns, now_ns));
		pass_phases(w);
	}
}

void nd_phase_edge(struct nd_io *io, uint64_t now_ns)
{
	struct nd_worker *w = io->run;

	pass_edges(w, now_ns);
	if (w->run->cfg.plan
		    ->on_time) { /* it may have been held up here, too: nothing was counted meanwhile */
		io->still_ns = now_ns;
		pass_edges(w, nd_now_ns());
	}
	if (is_waiting(w))
		check_drained(w, now_ns);
	else
		sample_some(w, now_ns);
	if (nd_worker_stopped(w))
		io->quit = true;
	set_edge(w, now_ns);
}

void nd_worker_drain_wake(struct nd_worker *w)
{
	uint64_t n;

	/* nothing to read is as good as something: the commands are looked at next */
	(void)!read(w->wake_fd, &n, sizeof(n));
}

void nd_phase_wake(struct nd_io *io, uint64_t now_ns)
{
	struct nd_worker *w = io->run;

	nd_worker_drain_wake(w);
	if (io->open_ended)
		nd_setup_grow(w);
	if (atomic_load_explicit(&w->run->quiet_ns, memory_order_acquire))
		w->draining = true;
	nd_phase_edge(io, now_ns);
}

void nd_phase_flow_done(struct nd_io *io, struct nd_flow *f)
{
	struct nd_worker *w = io->run;

	w->closed_n++;
	atomic_store_explicit(&w->closed, w->closed_n, memory_order_relaxed);
	if (io->open_ended && w->closed_n == w->flow_n)
		tell_main(w);
	/* of two halves the one that reads is done last */
	if (!f->active || f->half + 1u != nd_layout_halves(&w->run->lanes[f->workload], true) ||
	    w->active_left == 0)
		return;
	if (--w->active_left == 0)
		nd_worker_publish(w, ND_WORKER_SENT);
}

/* The last payload of this worker's flows, for runs that end by bytes: the window ends there. */
static uint64_t last_payload(const struct nd_worker *w)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < w->io.flow_count; i++)
		last = ND_MAX(last, w->flows[i].last_ns);
	return last;
}

/* That nothing could be sent any more is part of a sender's time. */
static bool sends_on_time(const struct nd_worker *w)
{
	return w->run->cfg.plan->on_time && w->run->cfg.end == ND_CLIENT && !w->run->by_bytes;
}

void nd_phase_end(struct nd_worker *w, uint64_t now_ns)
{
	uint64_t last = last_payload(w), end_ns = now_ns;

	if (w->marks == 0)
		return;
	if (w->phase == ND_PHASE_MEASURE && last > w->start_ns && !sends_on_time(w))
		end_ns = ND_MIN(now_ns, last);
	if (end_ns > w->mark_ns)
		mark(w, end_ns);
	if (w->phase == ND_PHASE_WARMUP)
		open_window(w);
	if (w->window_to == 0)
		close_window(w, end_ns);
}
