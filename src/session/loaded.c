/* SPDX-License-Identifier: MIT */
/*
 * Times without and with a load: two tests of one plan. The first has the latency workload alone, the second has all
 * of them, and its result is reported with the first one's times beside it. What ends the second early takes nothing
 * from the first.
 */
#include "session/int.h"

struct loaded {
	const struct nd_session *how; /* borrowed */
	struct nd_result idle;        /* owned: of the first test, when .has_idle */
	bool has_idle, is_loading, is_told, is_connected;
};

static void tell(const struct loaded *l, enum nd_progress what, const char *text)
{
	const struct nd_progress_event ev = { .what = what, .text = text };
	const struct nd_sink *sink = l->how->sink;

	if (sink && sink->progress)
		sink->progress(sink->user, &ev);
}

/* Connected is told once. */
static void on_progress(void *user, const struct nd_progress_event *ev)
{
	struct loaded *l = user;

	if (ev->what == ND_PROG_CONNECTED && l->is_connected)
		return;
	l->is_connected |= ev->what == ND_PROG_CONNECTED;
	l->how->sink->progress(l->how->sink->user, ev);
}

static void report(struct loaded *l, struct nd_result *r, const struct nd_result *idle)
{
	if (nd_result_loaded(r, idle) < 0 || nd_result_warn(r) < 0) {
		r->partial = true;
		r->partial_reason = "no memory for the comparison";
	}
	l->is_told = true;
	l->how->finished(l->how->user, r);
	r->loaded = NULL; /* some of it may be of the other result */
}

/* The first result outlives its test. */
static void keep_idle(struct loaded *l, struct nd_result *r)
{
	nd_session_keep(&l->idle, r);
	l->has_idle = true;
}

static void on_finished(void *user, struct nd_result *r)
{
	struct loaded *l = user;

	if (l->is_loading)
		report(l, r, &l->idle);
	else if (r->partial)
		report(l, r, r);
	else
		keep_idle(l, r);
}

static void set_workloads(struct nd_plan *plan, uint64_t n)
{
	plan->workloads = n;
	plan->workload_list.n = n;
}

/* Settings of sockets that only the load has are none of the first test's. */
static void keep_settings(struct nd_plan *plan)
{
	struct nd_sockopts *o = &plan->sock;

	if (nd_plan_has_datagrams(plan)) {
		plan->mptcp = false;
		o->cc = NULL;
		o->mss_bytes = 0;
		o->nodelay = false;
	} else {
		o->fragment = false;
	}
}

/* The second test ended without a result: the first one's is what there is. */
static void report_idle(struct loaded *l, const struct nd_err *err)
{
	nd_session_cut_short(&l->idle, "idle times alone, the test under load failed", err);
	report(l, &l->idle, &l->idle);
}

int nd_session_latency(const struct nd_session *how, struct nd_err *err)
{
	struct nd_plan *plan = how->plan;
	uint64_t workloads = plan->workloads, threads = plan->threads;
	const struct nd_sockopts sock = plan->sock;
	bool mptcp = plan->mptcp;
	struct loaded l = { .how = how };
	const struct nd_sink sink = { on_progress, &l };
	const struct nd_session one = { plan, how->sink ? &sink : NULL, on_finished, &l, NULL };
	int ending;

	if (!plan->load.wanted)
		return nd_session_client(how, err);
	nd_result_init(&l.idle);
	plan->follows = true;
	set_workloads(plan, 1);
	plan->threads = ND_MIN(threads, plan->workload[0].flows);
	keep_settings(plan);
	tell(&l, ND_PROG_NOTE, "idle: times without the load");
	tell(&l, ND_PROG_PHASE, "idle");
	ending = nd_session_client(&one, err);
	set_workloads(plan, workloads);
	plan->threads = threads;
	plan->sock = sock;
	plan->mptcp = mptcp;
	if (l.has_idle) {
		l.is_loading = true;
		plan->follows = false;
		tell(&l, ND_PROG_NOTE, "loaded: the same beside the load");
		tell(&l, ND_PROG_PHASE, "loaded");
		ending = nd_session_client(&one, err);
		if (!l.is_told)
			report_idle(&l, err);
		nd_result_done(&l.idle);
	}
	return ending;
}
