/* SPDX-License-Identifier: MIT */
/*
 * The receiver of another tool: it has ports of its own (ports.c), one test at a time, and does not know how many
 * flows will come. Data connections that come before the test is agreed upon are held, and given to the run when there
 * is one (arrivals.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/receiver.h"

/* ---- what the test asks */

/* Where both are served, a test without connections is one of datagrams. */
static void choose_transport(struct nd_receiver *v, bool has_streams)
{
	struct nd_workload *w = &v->plan->workload[0];
	bool is_datagram;

	if (!v->transports[0] || !v->transports[1])
		return;
	is_datagram = !has_streams && !nd_ports_are_called(v);
	w->transport = v->transports[is_datagram];
	w->message_bytes = is_datagram ? ND_MAX_DATAGRAM : v->stream_bytes;
}

static void on_prepare(void *user, struct nd_run_cfg *cfg)
{
	struct nd_receiver *v = user;

	/* a receiver connects to nobody, but its mappings name CPUs */
	cfg->routes = v->routes.v;
	cfg->route_n = v->routes.n;
	v->is_started = false;
	choose_transport(v, nd_arrivals_renew(v) > 0);
	if (nd_plan_is_datagram(&v->plan->workload[0]))
		nd_ports_give_datagrams(v);
}

static void on_prepared(void *user)
{
	nd_arrivals_give(user);
}

static void on_flows(void *user, uint64_t open)
{
	struct nd_receiver *v = user;
	struct nd_dialog_event ev = { .what = ND_DLG_FLOW_CLOSED, .flow = open };

	nd_test_feed(&v->test, &ev);
}

static void tell(const struct nd_receiver *v, const struct nd_progress_event *ev)
{
	if (v->sink && v->sink->progress)
		v->sink->progress(v->sink->user, ev);
}

static void on_note(void *user, const char *text)
{
	struct nd_progress_event ev = { .what = ND_PROG_NOTE, .text = text };

	tell(user, &ev);
}

static void on_seen(void *user, const struct nd_diary_entry *e)
{
	struct nd_progress_event ev = { .what = ND_PROG_SEEN, .seen = e };

	tell(user, &ev);
}

static void on_start(void *user, uint64_t at_ns)
{
	nd_arrivals_started(user, true);
	nd_phases_start(((struct nd_receiver *)user)->phases, at_ns);
}

static void on_intervals(void *user, bool own, const struct nd_interval_sample *s, uint64_t n)
{
	struct nd_receiver *v = user;

	if (v->live)
		nd_live_add(v->live, own, s, n);
}

/* Engines read more at a time than such a tool was told to; reports of reads mean its own. What goes back is counted by
 * messages. */
static void count_reads(const struct nd_receiver *v, uint64_t bytes, uint64_t *reads)
{
	uint64_t each = ND_MAX(v->stream_bytes, 1);

	if (!nd_plan_is_datagram(&v->plan->workload[0]) &&
	    strcmp(v->plan->workload[0].load, "echo") != 0)
		*reads = ND_MAX(*reads, bytes / each + (bytes % each != 0));
}

static void count_part(const struct nd_receiver *v, struct nd_part *p)
{
	struct nd_interval_sample *s = p->intervals.v;
	struct nd_flow_row *rows = p->flows.v;

	count_reads(v, p->window.rx_bytes, &p->window.rx_messages);
	count_reads(v, p->run.rx_bytes, &p->run.rx_messages);
	for (uint64_t i = 0; i < p->intervals.n; i++)
		count_reads(v, s[i].rx_bytes, &s[i].rx_messages);
	for (uint64_t i = 0; i < p->flows.n; i++)
		count_reads(v, rows[i].rx_bytes, &rows[i].rx_messages);
}

/* Which port each flow came to: only the session has seen that. */
static void on_measured(void *user, struct nd_side *side)
{
	const struct nd_receiver *v = user;
	struct nd_part *parts = side->parts.v;

	for (uint64_t i = 0; i < side->parts.n; i++) {
		struct nd_flow_row *rows = parts[i].flows.v;

		count_part(v, &parts[i]);
		for (uint64_t k = 0; k < parts[i].flows.n && k < v->flow_n; k++)
			rows[k].group = v->flows[k].index;
	}
}

static void on_over(void *user)
{
	struct nd_receiver *v = user;
	struct nd_result r;
	struct nd_err err = { 0 };

	if (v->live)
		nd_live_flush(v->live);
	nd_phases_end(v->phases);
	v->ending = v->test.ending;
	v->err = v->test.err;
	if (v->ending == ND_END_FAILED || v->ending == ND_END_PEER)
		return;
	nd_result_init(&r);
	if (nd_outcome_result(&v->test, &r, &err) < 0) {
		v->ending = ND_END_FAILED;
		v->err = err;
	} else {
		if (nd_outcome_ending(&r, &v->err) == ND_END_DAMAGED)
			v->ending = ND_END_DAMAGED;
		if (v->finished)
			v->finished(v->finished_user, &r);
	}
	nd_result_done(&r);
}

static int open_test(struct nd_receiver *v, struct nd_err *err);
static void announce(const struct nd_receiver *v);

static void end(struct nd_receiver *v)
{
	v->is_ended = true;
	v->ended(v->user, v->ending, &v->err);
}

/* One test is over: the next, or the end. */
static void on_gone(void *user)
{
	struct nd_receiver *v = user;

	nd_test_done(&v->test);
	nd_arrivals_started(v, false);
	nd_arrivals_forget(v);
	nd_live_free(v->live);
	nd_phases_free(v->phases);
	v->live = NULL;
	v->phases = NULL;
	if (!v->hold || v->is_stopping) {
		end(v);
		return;
	}
	nd_ports_renew(v);
	if (open_test(v, &v->err) < 0) {
		v->ending = ND_END_FAILED;
		end(v);
		return;
	}
	announce(v);
}

static const struct nd_test_ops receiver_ops = {
	.prepare = on_prepare,
	.prepared = on_prepared,
	.note = on_note,
	.start = on_start,
	.flows = on_flows,
	.measured = on_measured,
	.intervals = on_intervals,
	.seen = on_seen,
	.over = on_over,
	.gone = on_gone,
};

/* ---- life */

static int open_test(struct nd_receiver *v, struct nd_err *err)
{
	struct nd_dialog_cfg cfg = { .end = ND_SERVER };
	int r = nd_test_init(&v->test, v->loop, v->dialect, &receiver_ops, v, err);

	if (r < 0)
		return r;
	v->is_short = false;
	v->test.end = ND_SERVER;
	v->test.plan = v->plan;
	v->test.here = v->here;
	v->test.trace = v->plan->trace_control;
	if (v->sink && v->plan->interval_ns > 0 &&
	    (nd_live_new(v->loop, v->plan, ND_SERVER, v->sink, &v->live) < 0 ||
	     nd_phases_new(v->loop, v->plan, v->sink, &v->phases) < 0))
		return nd_fail(err, -ENOMEM, "no memory for interval lines");
	return nd_test_open(&v->test, &cfg, err);
}

/* Scripts wait for this before they start the sender. */
static void announce(const struct nd_receiver *v)
{
	char text[32];
	struct nd_progress_event ev = { .what = ND_PROG_LISTENING, .text = text };

	(void)snprintf(text, sizeof(text), "port %llu", /* it fits */
		       (unsigned long long)v->plan->port);
	tell(v, &ev);
	ev = (struct nd_progress_event){ .what = ND_PROG_READY };
	tell(v, &ev);
}

int nd_receiver_open(struct nd_receiver *v, struct nd_err *err)
{
	int r;

	v->dialect = nd_dialect_find(v->plan->dialect);
	if (!v->dialect || !v->dialect->listens)
		return nd_fail(err, -EPROTONOSUPPORT, "control language '%s' has no receiver",
			       v->plan->dialect);
	v->plan_ports = v->dialect->ports;
	if (nd_routes_bind(&v->routes, v->plan) < 0)
		return nd_fail(err, -ENOMEM, "no memory for mappings");
	v->stream_bytes = v->plan->workload[0].message_bytes;
	r = open_test(v, err);
	if (r == 0)
		r = nd_ports_open(v, err);
	if (r < 0)
		return r;
	announce(v);
	return 0;
}

bool nd_receiver_is_idle(const struct nd_receiver *v)
{
	return !v->is_started && v->flow_n == 0 && !v->is_ended;
}

void nd_receiver_stop(struct nd_receiver *v, const char *reason)
{
	if (v->is_stopping || v->is_ended)
		return;
	v->is_stopping = true;
	nd_test_stop(&v->test, reason);
}

void nd_receiver_done(struct nd_receiver *v)
{
	nd_ports_done(v);
	if (v->loop)
		nd_test_done(&v->test);
	nd_arrivals_started(v, true);
	nd_arrivals_forget(v);
	free(v->flows);
	nd_routes_done(&v->routes);
	nd_live_free(v->live);
	nd_phases_free(v->phases);
}
