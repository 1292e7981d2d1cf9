/* SPDX-License-Identifier: MIT */
/*
 * Which flow belongs to whom. Flows are dealt out to workers in turn; those of a route that is bound to a CPU go
 * to the worker of that route. Requests whose times are taken beside a load have workers of their own, as many as
 * without it: no request waits until its own thread has moved some of the load. Open-ended runs do not know their flows beforehand: they are dealt out as they come.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/int.h"

unsigned nd_layout_halves(const struct nd_lane *lane, bool active)
{
	return active && lane->load->halves > 1 ? lane->load->halves : 1;
}

/* ---- who owns what, worked out by the main thread */

static bool is_bound(const struct nd_route *route)
{
	return route->cpu >= 0;
}

static uint64_t flows_with_turns(const struct nd_plan *plan)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < plan->workloads; i++)
		n += nd_plan_has_turns(&plan->workload[i]) ? plan->workload[i].flows : 0;
	return n;
}

static void count_apart(struct nd_run *r)
{
	uint64_t turns = flows_with_turns(r->cfg.plan);
	uint32_t threads = ND_MAX(r->cfg.threads, 1u);

	r->apart_n = (uint32_t)ND_MIN(threads, turns);
	r->worker_n = r->apart_n + (uint32_t)ND_MIN(threads, r->flow_n - turns);
}

/* Workers for routes bound to a CPU, and for all others together. */
static void count_workers(struct nd_run *r)
{
	uint64_t free_flows = r->flow_n, free_workers;
	bool all_bound = r->cfg.route_n > 0;

	if (nd_plan_is_loaded(r->cfg.plan) && !r->cfg.route_n && !r->cfg.plan->open_ended) {
		count_apart(r);
		return;
	}
	for (uint32_t i = 0; i < r->cfg.route_n; i++) {
		all_bound = all_bound && is_bound(&r->cfg.routes[i]);
		if (!is_bound(&r->cfg.routes[i]))
			continue;
		r->worker_n++;
		free_flows -= ND_MIN(r->cfg.routes[i].flows, free_flows);
	}
	r->bound_n = r->worker_n;
	free_workers = all_bound ? 0 : ND_MIN(ND_MAX(r->cfg.threads, 1u), free_flows);
	r->worker_n += (uint32_t)free_workers;
}

/* The route that flow number @flow falls into, and its place there; -1: none. */
int nd_layout_route(const struct nd_run *r, uint64_t flow, uint64_t *ret_at)
{
	for (uint32_t i = 0; i < r->cfg.route_n; i++) {
		if (flow < r->cfg.routes[i].flows) {
			*ret_at = flow;
			return (int)i;
		}
		flow -= r->cfg.routes[i].flows;
	}
	return -1;
}

/* The worker of a bound route: such routes have the first workers, in order. */
static uint32_t bound_worker(const struct nd_run *r, int route)
{
	uint32_t n = 0;

	for (int i = 0; i < route; i++)
		n += is_bound(&r->cfg.routes[i]);
	return n;
}

static uint32_t owner_apart(const struct nd_run *r, uint64_t flow)
{
	const struct nd_plan *plan = r->cfg.plan;

	if (nd_plan_has_turns(&plan->workload[nd_plan_workload_of(plan, flow)]))
		return (uint32_t)(flow % r->apart_n);
	return r->apart_n + (uint32_t)(flow % (r->worker_n - r->apart_n));
}

static uint32_t owner_of(const struct nd_run *r, uint64_t flow)
{
	uint64_t at;
	int route = r->bound_n ? nd_layout_route(r, flow, &at) : -1;

	if (r->apart_n)
		return owner_apart(r, flow);
	if (route >= 0 && is_bound(&r->cfg.routes[route]))
		return bound_worker(r, route);
	return r->bound_n + (uint32_t)(flow % (r->worker_n - r->bound_n));
}

int nd_layout_plan(struct nd_run *r, struct nd_err *err)
{
	uint32_t *count;

	count_workers(r);
	if (r->cfg.plan->open_ended)
		return 0;
	count = calloc(r->worker_n, sizeof(*count));
	r->owner = calloc(r->flow_n, sizeof(*r->owner));
	r->slot = calloc(r->flow_n, sizeof(*r->slot));
	if (!count || !r->owner || !r->slot) {
		free(count);
		return nd_fail(err, -ENOMEM, "no memory for %llu flows",
			       (unsigned long long)r->flow_n);
	}
	for (uint64_t f = 0; f < r->flow_n; f++) {
		unsigned lane = nd_plan_workload_of(r->cfg.plan, f);
		uint32_t w = owner_of(r, f);

		r->owner[f] = (uint16_t)w;
		r->slot[f] = count[w];
		count[w] += nd_layout_halves(&r->lanes[lane], nd_is_active(r, lane));
	}
	free(count);
	return 0;
}

uint32_t nd_layout_owner(const struct nd_run *r, uint64_t flow, int route)
{
	if (r->owner)
		return r->owner[flow];
	if (route >= 0 && (uint32_t)route < r->cfg.route_n && is_bound(&r->cfg.routes[route]))
		return bound_worker(r, route);
	if (r->bound_n == r->worker_n)
		return (uint32_t)(flow % r->worker_n);
	return r->bound_n + (uint32_t)(flow % (r->worker_n - r->bound_n));
}

struct nd_flow *nd_layout_flow(struct nd_worker *w, uint64_t flow)
{
	const struct nd_run *r = w->run;

	if (!r->owner || flow >= r->flow_n || r->owner[flow] != w->index)
		return NULL;
	return &w->flows[r->slot[flow]];
}

/* ---- a worker's flows */

static size_t state_bytes(const struct nd_lane *lane)
{
	size_t more = lane->load->more_bytes ? lane->load->more_bytes(lane->workload) : 0;

	return (lane->load->state_bytes + more + 15) / 16 * 16;
}

static int init_load(const struct nd_worker *w, struct nd_flow *f)
{
	const struct nd_run *r = w->run;
	const struct nd_lane *lane = &r->lanes[f->workload];
	const struct nd_workload *wl = lane->workload;
	uint64_t rate_bps = wl->rate_bps ? wl->rate_bps : wl->rate_ops * wl->message_bytes * 8;
	/* which of our server's flows takes a connection nobody knows; netperf's has one, and ends with it */
	bool counts = wl->total_ops && (f->active || r->cfg.plan->dialect);
	struct nd_load_cfg cfg = {
		.workload = wl,
		.active = f->active,
		.flow = f->number,
		.bytes = wl->total_bytes ? nd_plan_share(wl->total_bytes, wl->flows, f->number) : 0,
		.ops = counts ? nd_plan_share(wl->total_ops, wl->flows, f->number) : 0,
		.bytes_per_s = (double)rate_bps / 8 / (double)wl->flows,
		.batch_max = ND_MAX(f->active ? lane->tx->batch_max : lane->rx->batch_max, 1u),
		.datagram = nd_is_datagram(lane),
	};

	return lane->load->init(f->load, &cfg);
}

static size_t frame_bytes(const struct nd_lane *lane)
{
	return (lane->frame->state_bytes + 15) / 16 * 16;
}

static size_t most_frame_bytes(const struct nd_run *r)
{
	size_t most = 0;

	for (unsigned i = 0; i < r->lane_n; i++)
		most = ND_MAX(most, frame_bytes(&r->lanes[i]));
	return most;
}

/* What the frame keeps for both directions of a slot. */
static void frame_states(const struct nd_worker *w, const struct nd_lane *lane, struct nd_flow *f)
{
	size_t each = most_frame_bytes(w->run);
	char *at = w->frame_states;

	f->tx.samples = f->rx.samples = w->samples;
	f->tx.workload = f->rx.workload = lane->workload;
	f->rx.silent = lane->workload->silent;
	if (!at)
		return;
	at += (size_t)(f - w->flows) * 2 * each;
	f->tx.own = at;
	f->rx.own = at + each;
}

/* All slots of flow number @flow, the first of which is @f; @at: which of the worker's flows it is. */
static int init_flow(struct nd_worker *w, unsigned lane_at, uint64_t flow, struct nd_flow *f,
		     uint64_t at)
{
	const struct nd_run *r = w->run;
	const struct nd_lane *lane = &r->lanes[lane_at];

	for (unsigned h = 0; h < nd_layout_halves(lane, nd_is_active(r, lane_at)); h++) {
		f[h].fd = f[h].listen_fd = -1;
		f[h].number = (uint32_t)(flow - lane->workload->first_flow);
		f[h].workload = (uint8_t)lane_at;
		f[h].half = (uint8_t)h;
		f[h].active = nd_is_active(r, lane_at);
		f[h].load = (char *)w->load_states + at * w->state_bytes;
		f[h].tx.flow = flow;
		f[h].rx.flow = flow;
		f[h].tx.message_bytes = lane->workload->message_bytes;
		f[h].rx.message_bytes = lane->workload->message_bytes;
		f[h].rx.seq = nd_is_datagram(lane) ? &w->seqs[at] : NULL;
		frame_states(w, lane, &f[h]);
	}
	return init_load(w, f);
}

static int refused(const struct nd_lane *lane, int code, struct nd_err *err)
{
	return nd_fail(err, code, "traffic shape '%s' refused its settings", lane->load->name);
}

static int fill_lane(struct nd_worker *w, unsigned lane_at, struct nd_err *err)
{
	const struct nd_run *r = w->run;
	const struct nd_lane *lane = &r->lanes[lane_at];
	const struct nd_workload *wl = lane->workload;

	w->lane_slot[lane_at] = w->io.flow_count;
	for (uint64_t n = wl->first_flow; n < wl->first_flow + wl->flows; n++) {
		int e;

		if (r->owner[n] != w->index)
			continue;
		e = init_flow(w, lane_at, n, &w->flows[r->slot[n]], w->flow_n++);
		if (e < 0)
			return refused(lane, e, err);
		w->active_left += nd_is_active(r, lane_at);
		w->io.flow_count += nd_layout_halves(lane, nd_is_active(r, lane_at));
	}
	w->lane_slots[lane_at] = w->io.flow_count - w->lane_slot[lane_at];
	return 0;
}

/* Flows of this worker: an upper bound when they come as they like. */
static uint64_t count_own(const struct nd_worker *w, uint64_t *ret_slots, bool *ret_datagrams)
{
	const struct nd_run *r = w->run;
	uint64_t n = 0;

	*ret_slots = 0;
	*ret_datagrams = false;
	for (unsigned i = 0; i < r->lane_n; i++) {
		const struct nd_workload *wl = r->lanes[i].workload;
		uint64_t own = r->owner ? 0 : wl->flows / (r->bound_n ? 1 : r->worker_n) + 1;

		for (uint64_t f = wl->first_flow; r->owner && f < wl->first_flow + wl->flows; f++)
			own += r->owner[f] == w->index;
		*ret_slots += own * nd_layout_halves(&r->lanes[i], nd_is_active(r, i));
		*ret_datagrams |= own > 0 && nd_is_datagram(&r->lanes[i]);
		n += own;
	}
	return n;
}

int nd_layout_flows(struct nd_worker *w, struct nd_err *err)
{
	const struct nd_run *r = w->run;
	uint64_t slots, own;
	bool datagrams;
	int e = 0;

	own = ND_MAX(count_own(w, &slots, &datagrams), 1);
	for (unsigned i = 0; i < r->lane_n; i++)
		w->state_bytes = ND_MAX(w->state_bytes, state_bytes(&r->lanes[i]));
	/* zeroed pages that nobody touches cost nothing: room for flows that never come is free */
	w->flows = calloc(ND_MAX(slots, 1), sizeof(*w->flows));
	w->load_states = calloc(own, ND_MAX(w->state_bytes, 1u));
	w->seqs = datagrams ? calloc(own, sizeof(*w->seqs)) : NULL;
	if (most_frame_bytes(r)) {
		w->frame_states = calloc(ND_MAX(slots, 1), 2 * most_frame_bytes(r));
		if (!w->frame_states)
			return nd_fail(err, -ENOMEM, "no memory for %llu flows",
				       (unsigned long long)own);
	}
	if (!w->flows || !w->load_states || (datagrams && !w->seqs))
		return nd_fail(err, -ENOMEM, "no memory for %llu flows", (unsigned long long)own);
	w->io.flows = w->flows;
	w->io.flow_room = (uint32_t)slots;
	w->io.open_ended = r->cfg.plan->open_ended;
	for (unsigned i = 0; e == 0 && r->owner && i < r->lane_n; i++)
		e = fill_lane(w, i, err);
	return e;
}

/* A flow that came while the run was open: the next free slot of its worker is its own. */
struct nd_flow *nd_layout_grow(struct nd_worker *w, uint64_t flow)
{
	struct nd_flow *f = &w->flows[w->io.flow_count];

	if (w->io.flow_count >= w->io.flow_room || init_flow(w, 0, flow, f, w->flow_n) < 0)
		return NULL;
	w->flow_n++;
	w->io.flow_count++;
	w->lane_slots[0]++;
	return f;
}

/* Whole pages of slots before @slot; they read as zeros from now on. */
void nd_layout_forget(struct nd_worker *w, uint32_t slot)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *from = (char *)&w->flows[w->forgotten], *to = (char *)&w->flows[slot];

	if (nd_flows_stay(w->run)) /* their sockets are open */
		return;
	from += (page - (uintptr_t)from % page) % page;
	to -= (uintptr_t)to % page;
	if (from < to && madvise(from, (size_t)(to - from), MADV_DONTNEED) == 0)
		w->forgotten = slot;
}

void nd_layout_done(struct nd_worker *w)
{
	free(w->flows);
	free(w->load_states);
	free(w->seqs);
	free(nd_take_ptr(w->frame_states));
	w->flows = NULL;
	w->load_states = NULL;
	w->seqs = NULL;
}
