/* SPDX-License-Identifier: MIT */
/* One worker thread: its flows, its buffers, its engine, from set-up to the end. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "run/int.h"

#define GOODBYE_NS  (long)(3 * ND_NS_PER_MS)
#define FAREWELL_NS ND_NS_PER_S
#define LINGER_MS   100

/* Requests with an intended instant have more than one time; those of any kind are told by the interval. */
static int open_times(struct nd_worker *w, unsigned lane)
{
	struct nd_by_due *d = &w->io.due[lane];
	bool stamped = w->run->cfg.plan->stamper == ND_STAMPER_KERNEL;
	int e = nd_beat_new(w, lane);

	for (unsigned k = 0; e == 0 && stamped && k < ND_PARTS; k++)
		e = nd_hist_new(&w->stamped[lane][k]);
	for (unsigned k = 0; e == 0 && k < ND_CONN_PARTS && w->run->lanes[lane].load->connects; k++)
		e = nd_hist_new(&w->parts[lane][k]);
	if (e < 0 || w->run->lanes[lane].load->halves <= 1)
		return e;
	if (nd_hist_new(&w->response[lane]) < 0 || nd_hist_new(&w->late[lane]) < 0)
		return -ENOMEM;
	d->service[0] = w->rtt_rest[lane];
	d->service[1] = w->rtt_window[lane];
	d->response[1] = w->response[lane];
	d->late[1] = w->late[lane];
	return 0;
}

/* Round trips, or calls, are timed at the end that makes them. */
static int open_hists(struct nd_worker *w, unsigned i)
{
	const struct nd_lane *lane = &w->run->lanes[i];
	bool active = nd_is_active(w->run, i) && w->lane_slots[i] > 0;
	bool asks = active && lane->load->round_trips;

	if (w->run->cfg.plan->untimed)
		return 0;
	if ((asks || lane->load->times) &&
	    (nd_hist_new(&w->rtt_window[i]) < 0 || nd_hist_new(&w->rtt_rest[i]) < 0))
		return -ENOMEM;
	w->io.rtt[i] = w->rtt_rest[i];
	if (asks)
		return open_times(w, i);
	for (unsigned k = 0; !active && lane->load->round_trips && k < ND_PARTS; k++)
		if (w->run->cfg.plan->stamper == ND_STAMPER_KERNEL &&
		    nd_hist_new(&w->stamped[i][k]) < 0)
			return -ENOMEM;
	if (active && nd_is_datagram(lane) &&
	    (nd_hist_new(&w->gap[i]) < 0 || nd_hist_new(&w->burst[i]) < 0))
		return -ENOMEM;
	return 0;
}

static int open_series(struct nd_worker *w)
{
	const struct nd_run *r = w->run;
	/* pages that no mark is written to cost nothing; an open-ended run learns its times later */
	uint32_t room = r->cfg.plan->open_ended ? ND_MAX_INTERVALS + 1
						: (uint32_t)nd_schedule_marks(&r->schedule);
	bool sends_tcp = false;

	for (unsigned i = 0; i < r->lane_n; i++) {
		int e = nd_series_init(&w->series[i], room);

		if (e == 0)
			e = open_hists(w, i);
		if (e < 0)
			return e;
		if (!nd_is_active(r, i) || w->lane_slots[i] == 0 ||
		    !(r->lanes[i].transport->caps & ND_NET_TCP_INFO))
			continue;
		sends_tcp = true;
		w->retransmits[i] = calloc(room, sizeof(*w->retransmits[i]));
		if (!w->retransmits[i] || nd_hist_new(&w->tcp[i].rtt) < 0)
			return -ENOMEM;
	}
	if (!sends_tcp)
		return 0;
	w->last = calloc(ND_MAX(w->io.flow_count, 1u), sizeof(*w->last));
	return w->last ? 0 : -ENOMEM;
}

static int open_io(struct nd_worker *w)
{
	struct nd_run *r = w->run;
	const char *name = r->cfg.plan->engine;

	w->io.plan = r->cfg.plan;
	w->io.lanes = r->lanes;
	w->io.lane_count = r->lane_n;
	w->io.run = w;
	w->io.connect = nd_setup_connect;
	w->io.admits = w->run->cfg.allow_n > 0 ? nd_setup_admits : NULL;
	w->io.peer = nd_setup_peer;
	w->io.edge = nd_phase_edge;
	w->io.wake = nd_phase_wake;
	w->io.flow_done = nd_phase_flow_done;
	w->io.wake_fd = w->wake_fd;
	w->io.wait = nd_wait_find(r->cfg.plan->wait); /* NULL: auto */
	w->io.edge_ns = UINT64_MAX;
	for (unsigned i = 0; i < r->lane_n; i++) {
		int e;

		w->io.tx_buf[i] = r->tx_buf[i];
		w->io.tx_size[i] = r->tx_size[i];
		e = r->lanes[i].tx->open(&w->io, i, &w->err);
		if (e == 0)
			e = r->lanes[i].rx->open(&w->io, i, &w->err);
		if (e < 0)
			return e;
	}
	w->engine = strcmp(name, "auto") == 0 ? nd_engine_auto(&w->io) : nd_engine_find(name);
	if (w->io.open_ended && !w->engine->add)
		w->engine = nd_engine_find("epoll"); /* flows are still to come */
	return w->engine->open(&w->io, &w->err);
}

static void close_io(struct nd_worker *w)
{
	if (w->engine)
		w->engine->close(&w->io);
	for (unsigned i = 0; i < w->run->lane_n; i++) {
		w->run->lanes[i].tx->close(&w->io, i);
		w->run->lanes[i].rx->close(&w->io, i);
	}
}

static int own_table(struct nd_worker *w)
{
	int keep[] = { w->wake_fd, w->pair[1], w->run->main_fd };

	return w->run->own_tables ? nd_table_unshare(keep, ND_COUNTOF(keep), &w->err) : 0;
}

static int set_up(struct nd_worker *w)
{
	int e = nd_pin_self(w->run, w->index, &w->err);

	if (e == 0)
		e = own_table(w);
	if (e == 0)
		e = nd_layout_flows(w, &w->err);
	if (e == 0 && open_series(w) < 0)
		e = nd_fail(&w->err, -ENOMEM, "no memory for the counters of worker %u", w->index);
	if (e == 0)
		e = w->run->cfg.end == ND_CLIENT ? nd_setup_open(w) : nd_setup_await(w);
	if (e == 0)
		e = open_io(w);
	return e;
}

/* Sleep until the agreed start. False: stopped before. */
static bool await_start(struct nd_worker *w)
{
	struct pollfd p = { .fd = w->wake_fd, .events = POLLIN };

	for (;;) {
		uint64_t start = atomic_load_explicit(&w->run->start_ns, memory_order_acquire);
		uint64_t left = start ? nd_ns_until(start) : UINT64_MAX;
		struct timespec t = { .tv_sec = (time_t)(left / ND_NS_PER_S),
				      .tv_nsec = (long)(left % ND_NS_PER_S) };

		if (nd_worker_stopped(w))
			return false;
		if (start && left == 0) {
			w->start_ns = start;
			return true;
		}
		if (ppoll(&p, 1, start ? &t : NULL, NULL) > 0)
			nd_worker_drain_wake(w);
		if (w->io.open_ended)
			nd_setup_collect(w);
	}
}

/* Where both ends share cores, a receiver that wakes up for the first flow holds up the sender of the next. Their first
 * pieces fit every receive buffer: a moment in the warm-up costs nothing, and all flows start together. */
static void let_senders_begin(const struct nd_worker *w)
{
	struct timespec moment = { .tv_nsec = (long)ND_NS_PER_MS };

	if (w->active_left == 0 && w->io.flow_count > 1 &&
	    w->run->schedule.bound[ND_PHASE_WARMUP] > 100 * ND_NS_PER_MS)
		(void)nanosleep(&moment, NULL); /* cut short: as well */
}

static bool says_goodbye(const struct nd_worker *w, const struct nd_flow *f)
{
	return f->active && f->half == 0 && f->fd >= 0 &&
	       nd_is_datagram(&w->run->lanes[f->workload]);
}

/* One may come to a full buffer: others follow at some distance. */
static void say_goodbye(const struct nd_worker *w)
{
	struct timespec distance = { .tv_nsec = GOODBYE_NS };
	uint64_t rounds = w->run->cfg.plan->goodbyes;

	for (uint64_t n = 0; n < rounds; n++) {
		bool any = false;

		for (uint32_t i = 0; i < w->io.flow_count; i++) {
			const struct nd_flow *f = &w->flows[i];

			any |= says_goodbye(w, f);
			if (says_goodbye(w, f)) /* refused: the peer has gone, or it is one less */
				(void)!send(f->fd, "", 0, MSG_NOSIGNAL | MSG_DONTWAIT);
		}
		if (any && n + 1 < rounds)
			(void)nanosleep(&distance, NULL); /* cut short: as well */
	}
}

/* A run that is stopped leaves streams in the middle: bytes that come to a closed socket would break the connection
 * for a peer that has something to say yet. */
static void say_end(const struct nd_worker *w)
{
	uint64_t until_ns = nd_now_ns() + FAREWELL_NS;

	if (!w->run->cfg.plan->await_end)
		return;
	for (uint32_t i = 0; i < w->io.flow_count; i++) {
		if (w->flows[i].fd >= 0 && !nd_is_datagram(&w->run->lanes[w->flows[i].workload]))
			(void)shutdown(w->flows[i].fd, SHUT_WR); /* or it is broken */
	}
	for (uint32_t i = 0; i < w->io.flow_count; i++) {
		struct pollfd p = { .fd = w->flows[i].fd, .events = POLLIN };
		uint8_t rest[4096];

		if (p.fd < 0 || w->flows[i].state == ND_FLOW_DONE ||
		    nd_is_datagram(&w->run->lanes[w->flows[i].workload]))
			continue;
		while (nd_ns_until(until_ns) > 0 &&
		       poll(&p, 1, (int)(nd_ns_until(until_ns) / ND_NS_PER_MS) + 1) > 0 &&
		       recv(p.fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
			;
	}
}

static void measure(struct nd_worker *w)
{
	uint64_t now_ns = nd_now_ns();
	int e;

	for (uint32_t i = 0; i < w->io.flow_count; i++)
		nd_flow_begin(&w->io, &w->flows[i], w->start_ns);
	nd_phase_begin(w, now_ns);
	let_senders_begin(w);
	if (w->io.open_ended)
		nd_setup_grow(w);
	e = w->engine->run(&w->io, &w->err);
	nd_phase_end(w, nd_now_ns());
	say_goodbye(w);
	say_end(w);
	if (e < 0) {
		nd_worker_publish(w, ND_WORKER_FAILED);
		return;
	}
}

/* An end that answers, or reads, has sent little; tools with one connection show it all the same. */
static bool sample_only(const struct nd_worker *w, unsigned lane, const struct nd_flow *f,
			struct nd_tcp_sample *ret)
{
	return w->run->cfg.plan->face && w->run->flow_n == 1 && !w->run->cfg.plan->open_ended &&
	       (w->run->lanes[lane].transport->caps & ND_NET_TCP_INFO) &&
	       nd_tcp_sample(f->fd, ret) == 0;
}

static void read_facts(struct nd_worker *w)
{
	for (unsigned i = 0; i < w->run->lane_n; i++) {
		const struct nd_flow *f = &w->flows[w->lane_slot[i]];

		if (w->lane_slots[i] == 0 || f->fd < 0)
			continue;
		w->has_facts[i] = nd_net_facts(f->fd, w->run->lanes[i].transport, &w->arena,
					       &w->facts[i]) == 0;
		w->has_only[i] = sample_only(w, i, f, &w->only[i]);
		w->retransmitted[i] = w->has_only[i] && !nd_is_active(w->run, i)
					      ? w->only[i].retransmits
					      : ND_UNKNOWN;
	}
}

static uint32_t narrow(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static void add_known(uint64_t *sum, uint64_t v)
{
	*sum += v != ND_UNKNOWN ? v : 0;
}

/* A sender's last tcp_info: some of it for its row, the rest into the lane's sums. */
static void read_last(const struct nd_flow *f, struct nd_tcp_tally *t, struct nd_tcp_end *ret)
{
	struct nd_tcp_sample s;

	*ret = (struct nd_tcp_end){ UINT32_MAX, UINT32_MAX, UINT32_MAX };
	if (f->fd < 0 || nd_tcp_sample(f->fd, &s) < 0 || s.retransmits == ND_UNKNOWN)
		return;
	*ret = (struct nd_tcp_end){ narrow(s.retransmits), narrow(s.rtt_us),
				    narrow(s.cwnd_segments) };
	t->flows++;
	t->retransmits += s.retransmits;
	t->mss_bytes = s.mss_bytes;
	if (s.busy_us == ND_UNKNOWN)
		return;
	t->busy_us += s.busy_us;
	add_known(&t->rwnd_us, s.rwnd_limited_us);
	add_known(&t->sndbuf_us, s.sndbuf_limited_us);
	add_known(&t->delivery_Bps, s.delivery_rate_Bps);
}

/* Last words of the sockets. What the loads know is of no use any more. */
static void read_sockets(struct nd_worker *w)
{
	if (w->flows)
		read_facts(w);
	for (uint32_t i = 0; w->flows && w->last && i < w->io.flow_count; i++) {
		const struct nd_flow *f = &w->flows[i];

		if (w->tcp[f->workload].rtt)
			read_last(f, &w->tcp[f->workload], &w->last[i]);
	}
	free(nd_take_ptr(w->load_states));
}

/* In their own table nobody else can. */
static void close_flows(struct nd_worker *w)
{
	for (uint32_t i = 0; w->flows && i < w->io.flow_count; i++) {
		nd_close_p(&w->flows[i].fd);
		nd_close_p(&w->flows[i].listen_fd);
	}
}

/* Connections that stay until the test is over: nd_run_stop() or nd_run_free() ends the wait. */
static void keep_flows(struct nd_worker *w)
{
	struct pollfd p = { .fd = w->wake_fd, .events = POLLIN };

	while (!nd_worker_stopped(w)) {
		if (poll(&p, 1, -1) > 0)
			nd_worker_drain_wake(w);
	}
	close_flows(w);
}

/* Who opens connections hears a little later that the run is stopped: those under way then are not broken off. */
static bool must_linger(const struct nd_worker *w)
{
	return nd_worker_stopped(w) && w->flows && w->io.flow_count > 0 && !w->flows[0].active &&
	       w->run->lanes[w->flows[0].workload].load->connects;
}

/* Or until nd_run_free(): nobody else wakes a worker that is over. */
static void linger(struct nd_worker *w)
{
	struct pollfd p = { .fd = w->wake_fd, .events = POLLIN };

	(void)poll(&p, 1, LINGER_MS); /* cut short: as well */
	close_flows(w);
}

void *nd_worker_main(void *worker)
{
	struct nd_worker *w = worker;
	bool keep_open = w->run->cfg.plan->keep_open, lingers;
	int e;

	(void)prctl(PR_SET_TIMERSLACK, 1ul); /* finer wake-ups; the default only makes us later */
	e = set_up(w);
	if (e == 0 && !nd_worker_stopped(w)) {
		nd_worker_publish(w, ND_WORKER_READY);
		if (await_start(w))
			measure(w);
	}
	read_sockets(w);
	close_io(w);
	lingers = e == 0 && !keep_open && must_linger(w);
	if (lingers)
		nd_worker_drain_wake(w); /* what has stopped it */
	else if (!keep_open || e < 0)
		close_flows(w);
	if (e < 0)
		nd_worker_publish(w, ND_WORKER_FAILED);
	else if (atomic_load_explicit(&w->state, memory_order_relaxed) != ND_WORKER_FAILED)
		nd_worker_publish(w, ND_WORKER_OVER);
	if (lingers)
		linger(w);
	else if (keep_open && e == 0)
		keep_flows(w);
	return NULL;
}
