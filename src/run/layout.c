/* SPDX-License-Identifier: MIT */
/* Which flow belongs to which worker: flow number modulo workers, lanes one after the other. */
#include <errno.h>
#include <stdlib.h>

#include "run/int.h"

/* Flows of one lane that fall to a worker: numbers first..first+n-1 that are index modulo workers. */
static uint64_t lane_share(const struct nd_workload *wl, uint32_t worker, uint32_t workers)
{
	uint64_t skip = (worker + workers - wl->first_flow % workers) % workers;

	return skip >= wl->flows ? 0 : (wl->flows - skip - 1) / workers + 1;
}

unsigned nd_layout_halves(const struct nd_lane *lane)
{
	return lane->load->halves > 1 ? lane->load->halves : 1;
}

uint32_t nd_layout_count(const struct nd_run *r, uint32_t worker)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < r->lane_n; i++)
		n += lane_share(r->lanes[i].workload, worker, r->worker_n) *
		     nd_layout_halves(&r->lanes[i]);
	return (uint32_t)n;
}

struct nd_flow *nd_layout_flow(struct nd_worker *w, uint64_t flow)
{
	const struct nd_run *r = w->run;
	uint64_t slot = 0;

	if (flow % r->worker_n != w->index)
		return NULL;
	for (unsigned i = 0; i < r->lane_n; i++) {
		const struct nd_workload *wl = r->lanes[i].workload;
		uint64_t share = lane_share(wl, w->index, r->worker_n);

		if (flow >= wl->first_flow && flow - wl->first_flow < wl->flows) {
			uint64_t skip = (w->index + r->worker_n - wl->first_flow % r->worker_n) %
					r->worker_n;
			uint64_t at = (flow - wl->first_flow - skip) / r->worker_n;

			return &w->flows[slot + at * nd_layout_halves(&r->lanes[i])];
		}
		slot += share * nd_layout_halves(&r->lanes[i]);
	}
	return NULL;
}

static uint32_t batch_max(const struct nd_lane *lane)
{
	return lane->xfer->batch_max ? lane->xfer->batch_max : 1;
}

static int init_load(struct nd_worker *w, struct nd_flow *f)
{
	const struct nd_run *r = w->run;
	const struct nd_lane *lane = &r->lanes[f->workload];
	const struct nd_workload *wl = lane->workload;
	uint64_t rate_bps = wl->rate_bps ? wl->rate_bps : wl->rate_ops * wl->message_bytes * 8;
	struct nd_load_cfg cfg = {
		.workload = wl,
		.active = f->active,
		.flow = f->number,
		.bytes = wl->total_bytes ? nd_plan_share(wl->total_bytes, wl->flows, f->number) : 0,
		.bytes_per_s = (double)rate_bps / 8 / (double)wl->flows,
		.batch_max = batch_max(lane),
		.datagram = nd_is_datagram(lane),
	};

	return lane->load->init(f->load, &cfg);
}

/* One flow's slots; @state and @seq are this flow's parts of the worker's blocks. */
static int init_flow(struct nd_worker *w, unsigned lane_at, uint64_t number, struct nd_flow *f,
		     void *state, struct nd_seq *seq)
{
	const struct nd_run *r = w->run;
	const struct nd_lane *lane = &r->lanes[lane_at];

	for (unsigned h = 0; h < nd_layout_halves(lane); h++) {
		f[h].fd = -1;
		f[h].number = (uint32_t)number;
		f[h].workload = (uint8_t)lane_at;
		f[h].half = (uint8_t)h;
		f[h].active = nd_is_active(r, lane_at);
		f[h].load = state;
		f[h].tx.flow = lane->workload->first_flow + number;
		f[h].rx.flow = f[h].tx.flow;
		f[h].tx.message_bytes = lane->workload->message_bytes;
		f[h].rx.message_bytes = lane->workload->message_bytes;
		f[h].rx.seq = seq;
	}
	return init_load(w, f);
}

static int fill_lane(struct nd_worker *w, unsigned lane_at, uint32_t *slot, char **state,
		     struct nd_seq **seq)
{
	const struct nd_run *r = w->run;
	const struct nd_lane *lane = &r->lanes[lane_at];
	const struct nd_workload *wl = lane->workload;
	uint64_t skip = (w->index + r->worker_n - wl->first_flow % r->worker_n) % r->worker_n;

	for (uint64_t n = skip; n < wl->flows; n += r->worker_n) {
		int err = init_flow(w, lane_at, n, &w->flows[*slot], *state,
				    nd_is_datagram(lane) ? *seq : NULL);

		if (err < 0)
			return err;
		if (nd_is_active(r, lane_at))
			w->active_left++;
		*slot += nd_layout_halves(lane);
		*state += (lane->load->state_bytes + 15) / 16 * 16;
		if (nd_is_datagram(lane))
			(*seq)++;
	}
	return 0;
}

int nd_layout_flows(struct nd_worker *w, struct nd_err *err)
{
	const struct nd_run *r = w->run;
	uint32_t count = nd_layout_count(r, w->index), slot = 0;
	size_t state_bytes = 0, seqs = 0;
	struct nd_seq *seq;
	char *state;

	for (unsigned i = 0; i < r->lane_n; i++) {
		uint64_t share = lane_share(r->lanes[i].workload, w->index, r->worker_n);

		state_bytes += share * ((r->lanes[i].load->state_bytes + 15) / 16 * 16);
		seqs += nd_is_datagram(&r->lanes[i]) ? share : 0;
	}
	w->flows = calloc(count ? count : 1, sizeof(*w->flows));
	w->load_states = calloc(1, state_bytes ? state_bytes : 1);
	w->seqs = seqs ? calloc(seqs, sizeof(*w->seqs)) : NULL;
	if (!w->flows || !w->load_states || (seqs && !w->seqs))
		return nd_fail(err, -ENOMEM, "no memory for %u flows", count);
	w->io.flows = w->flows;
	w->io.flow_count = count;
	state = w->load_states;
	seq = w->seqs;
	for (unsigned i = 0; i < r->lane_n; i++) {
		int e;

		w->lane_slot[i] = slot;
		e = fill_lane(w, i, &slot, &state, &seq);
		w->lane_slots[i] = slot - w->lane_slot[i];
		if (e < 0)
			return nd_fail(err, e, "traffic shape '%s' refused its settings",
				       r->lanes[i].load->name);
	}
	return 0;
}

void nd_layout_done(struct nd_worker *w)
{
	free(w->flows);
	free(w->load_states);
	free(w->seqs);
	w->flows = NULL;
	w->load_states = NULL;
	w->seqs = NULL;
}
