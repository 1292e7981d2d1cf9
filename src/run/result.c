/* SPDX-License-Identifier: MIT */
/* This end's contribution to the result: parts, CPU and counters of the machine. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/fd.h"
#include "run/int.h"

static uint64_t least_window_ns(const struct nd_run *r)
{
	uint64_t start = UINT64_MAX;

	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_worker *w = &r->workers[i];

		if (w->marks)
			start = ND_MIN(start, w->series[0].marks[0].at_ns);
	}
	return start;
}

static int queues(struct nd_run *r, struct nd_arena *a, struct nd_machine *m)
{
	struct nd_os_detail d;
	int e;

	if (!r->queues_start.at_ns || !r->queues_end.at_ns)
		return 0;
	e = nd_os_detail_since(&r->queues_end, &r->queues_start, &d);
	if (e < 0)
		return e;
	e = nd_machine_queues(&d, a, m);
	nd_os_detail_done(&d);
	return e;
}

static int machine(struct nd_run *r, struct nd_arena *a, struct nd_machine *ret)
{
	struct nd_os_sample window = { 0 }, run = { 0 };
	int e = -ENODATA;

	nd_table_unknown(&nd_machine_table, ret);
	if (r->has_window_start && r->has_window_end && r->has_before && r->has_after) {
		e = nd_os_since(&r->window_end, &r->window_start, &window);
		if (e == 0)
			e = nd_os_since(&r->after, &r->before, &run);
		if (e == 0)
			e = nd_machine_from(&window, &run, r->cfg.nic, nd_os_watched_nic(r->os), a,
					    ret);
		if (e == 0)
			e = queues(r, a, ret);
		if (e == 0 && r->cycles_start != ND_UNKNOWN && r->cycles_end != ND_UNKNOWN)
			ret->cycles = r->cycles_end - r->cycles_start;
	}
	ret->cpu_mhz = nd_os_cpu_mhz(r->os);
	nd_os_sample_done(&window);
	nd_os_sample_done(&run);
	return e == -ENODATA ? 0 : e;
}

/* Which port a flow came to is known to whoever accepted it. */
static void without_groups(struct nd_part *p)
{
	struct nd_flow_row *row = p->flows.v;

	for (uint64_t i = 0; i < p->flows.n; i++)
		row[i].group = ND_UNKNOWN;
}

/* Nobody works any more: what is kept per flow goes before the rows are written, sent, and joined. */
static void release_flows(struct nd_run *r)
{
	if (nd_flows_stay(r)) /* somebody does: their sockets are open */
		return;
	for (uint32_t i = 0; i < r->worker_n; i++) {
		nd_layout_done(&r->workers[i]);
		free(nd_take_ptr(r->workers[i].last));
	}
	for (unsigned i = 0; i < r->lane_n; i++)
		free(nd_take_ptr(r->tx_buf[i]));
}

int nd_run_result(struct nd_run *r, struct nd_arena *a, struct nd_side *ret, struct nd_err *err)
{
	uint64_t start = atomic_load_explicit(&r->start_ns, memory_order_relaxed);
	uint64_t first = least_window_ns(r);
	struct nd_part *parts;

	nd_sampler_stop(r);
	nd_beat_collect(r);
	if (!r->has_after)
		r->has_after = nd_os_sample(r->os, &r->after) == 0;
	ret->threads = r->worker_n;
	ret->start_ns = first == UINT64_MAX ? INT64_MIN : (int64_t)(first - start);
	if (nd_list_new(a, &ret->parts, r->lane_n, sizeof(*parts)) < 0)
		return nd_fail(err, -ENOMEM, "no memory for the result");
	parts = ret->parts.v;
	for (unsigned i = 0; i < r->lane_n; i++) {
		int e = nd_collect_part(r, i, a, &parts[i], err);

		if (e < 0)
			return e;
		without_groups(&parts[i]);
	}
	release_flows(r);
	if (machine(r, a, &ret->machine) < 0)
		return nd_fail(err, -ENOMEM, "no memory for the machine's counters");
	return 0;
}
