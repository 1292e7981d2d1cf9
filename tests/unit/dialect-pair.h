/* SPDX-License-Identifier: MIT */
/*
 * Two native dialogs in memory, with a small session at each end that carries their verbs out: messages
 * go to the other end, flows are ready at once unless held back, timers run on a clock of our own.
 */
#ifndef ND_TESTS_DIALECT_PAIR_H
#define ND_TESTS_DIALECT_PAIR_H

#include <stdlib.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "dialect/dialect.h"

#define PENDING_MAX 256u
#define TIMERS      4u
#define STEP_NS     1000u /* each delivery takes this long */
#define SERVER_SKEW 7000000000ull

struct pending {
	enum nd_dialog_event_kind what;
	uint8_t *data; /* owned */
	size_t n;
};

enum outcome { GOING, DONE, FAILED };

struct end {
	struct nd_plan plan;
	void *state;
	struct nd_verbs verbs;
	struct pending queue[PENDING_MAX];
	unsigned first, last; /* of the queue */
	uint64_t timer[TIMERS];
	bool is_up, is_closed;
	/* what the dialog has asked for */
	enum outcome outcome;
	struct nd_err err;
	bool peer_fault;
	const char *reason;
	struct nd_side *peer_side;
	struct nd_group *group;
	uint64_t rtt_ns;
	unsigned gathers, members;
	uint64_t started_ns, threads, finish_deadline_ns, peer_intervals;
	unsigned prepares, starts, stops, finishes, sends;
	char last_sent[400]; /* as printed */
};

struct pair {
	struct end end[ND_ENDS];
	uint64_t now_ns;
	/* what the sessions do */
	const char *refusal;                                 /* server: of the plan */
	uint64_t lower_message_bytes;                        /* server: 0 no */
	void (*bend)(struct nd_plan *plan, const void *how); /* server: what it agrees to; NULL */
	const void *how;
	bool holds_flows[ND_ENDS]; /* flows do not become ready */
	bool is_deaf;              /* nothing crosses any more */
};

static inline const struct nd_dialect *native(void)
{
	return nd_dialect_find("native");
}

static inline uint64_t clock_of(const struct pair *p, enum nd_end_kind e)
{
	return p->now_ns + (e == ND_SERVER ? SERVER_SKEW : 0);
}

static inline void push(struct pair *p, enum nd_end_kind e, enum nd_dialog_event_kind what,
			const void *data, size_t n)
{
	struct end *x = &p->end[e];
	struct pending *q = &x->queue[x->last % PENDING_MAX];

	assert_true(x->last - x->first < PENDING_MAX);
	x->last++;
	*q = (struct pending){ .what = what, .n = n };
	if (n > 0) {
		q->data = malloc(n);
		assert_non_null(q->data);
		memcpy(q->data, data, n);
	}
}

static inline void carry_send(struct pair *p, enum nd_end_kind e, const struct nd_verb_item *v)
{
	const uint8_t *data = (const uint8_t *)p->end[e].verbs.data.data + v->data_at;
	nd_auto_str text = { 0 };

	assert_int_equal(native()->message_bytes(data, v->n, 0), v->n);
	native()->print(data, v->n, &text);
	strncpy(p->end[e].last_sent, nd_str_text(&text), sizeof(p->end[e].last_sent) - 1);
	p->end[e].sends++;
	if (!p->is_deaf && !p->end[!e].is_closed)
		push(p, !e, ND_DLG_MESSAGE, data, v->n);
}

static inline void carry_end(struct pair *p, enum nd_end_kind e, const struct nd_verb_item *v)
{
	struct end *x = &p->end[e];

	assert_int_equal(x->outcome, GOING);
	x->outcome = v->what == ND_DO_DONE ? DONE : FAILED;
	x->peer_side = v->peer_side;
	x->group = v->group;
	x->reason = v->reason;
	x->err = v->err;
	x->peer_fault = v->peer_fault;
}

static inline void carry(struct pair *p, enum nd_end_kind e, const struct nd_verb_item *v)
{
	struct end *x = &p->end[e];

	switch (v->what) {
	case ND_DO_CONNECT:
		push(p, ND_CLIENT, ND_DLG_LINK_UP, NULL, 0);
		push(p, ND_SERVER, ND_DLG_LINK_UP, NULL, 0);
		break;
	case ND_DO_SEND:
		carry_send(p, e, v);
		break;
	case ND_DO_CLOSE:
		x->is_closed = true;
		if (!p->is_deaf && !p->end[!e].is_closed)
			push(p, !e, ND_DLG_LINK_DOWN, NULL, 0);
		break;
	case ND_DO_TIMER:
		assert_true(v->timer < TIMERS);
		x->timer[v->timer] = v->at_ns;
		break;
	case ND_DO_PROPOSE:
		push(p, e, ND_DLG_PLAN, NULL, 0);
		break;
	case ND_DO_PREPARE:
		x->prepares++;
		x->threads = v->threads;
		if (!p->holds_flows[e])
			push(p, e, ND_DLG_FLOWS_READY, NULL, 0);
		break;
	case ND_DO_START:
		x->starts++;
		x->started_ns = v->at_ns;
		break;
	case ND_DO_FINISH:
		x->finishes++;
		x->finish_deadline_ns = v->deadline_ns;
		break;
	case ND_DO_STOP:
		x->stops++;
		break;
	case ND_DO_GATHER:
		x->gathers++;
		x->rtt_ns = v->rtt_ns;
		break;
	case ND_DO_MEMBER:
		x->members++;
		assert_non_null(v->peer_side);
		break;
	case ND_DO_NOTE:
	case ND_DO_SOCKET:
		break;
	case ND_DO_PEER_INTERVAL:
		x->peer_intervals += v->intervals_n;
		break;
	case ND_DO_DONE:
	case ND_DO_FAIL:
		carry_end(p, e, v);
		break;
	case ND_DO_RESTART:
		fail();
		break;
	}
}

/* Give one event to an end and carry out what it asks for. */
static inline void feed(struct pair *p, enum nd_end_kind e, struct nd_dialog_event ev)
{
	struct end *x = &p->end[e];
	size_t i;

	ev.now_ns = clock_of(p, e);
	nd_verbs_reset(&x->verbs);
	native()->event(x->state, &ev, &x->verbs);
	assert_false(x->verbs.failed);
	for (i = 0; i < x->verbs.n; i++)
		carry(p, e, &x->verbs.v[i]);
}

static inline void deliver(struct pair *p, enum nd_end_kind e)
{
	struct end *x = &p->end[e];
	struct pending q = x->queue[x->first++ % PENDING_MAX];
	struct nd_dialog_event ev = { .what = q.what, .data = q.data, .n = q.n };
	uint64_t i;

	p->now_ns += STEP_NS;
	if (q.what == ND_DLG_PLAN) {
		ev.plan = &x->plan;
		ev.reason = p->refusal;
		for (i = 0; i < x->plan.workloads && p->lower_message_bytes; i++)
			x->plan.workload[i].message_bytes = p->lower_message_bytes;
		if (p->bend)
			p->bend(&x->plan, p->how);
	}
	if (!x->is_closed || (q.what != ND_DLG_MESSAGE && q.what != ND_DLG_LINK_DOWN))
		feed(p, e, ev);
	free(q.data);
}

/* Throw away what waits for an end. */
static inline void forget(struct pair *p, enum nd_end_kind e)
{
	struct end *x = &p->end[e];

	for (; x->first < x->last; x->first++)
		free(x->queue[x->first % PENDING_MAX].data);
}

/* Deliver one waiting event, the client's first; false when there is none. */
static inline bool step(struct pair *p)
{
	if (p->end[ND_CLIENT].first < p->end[ND_CLIENT].last)
		deliver(p, ND_CLIENT);
	else if (p->end[ND_SERVER].first < p->end[ND_SERVER].last)
		deliver(p, ND_SERVER);
	else
		return false;
	return true;
}

static inline void pump(struct pair *p)
{
	while (step(p))
		;
}

/* Let time pass; timers fire in their order. */
static inline void pass(struct pair *p, uint64_t ns)
{
	uint64_t until_ns = p->now_ns + ns;

	for (;;) {
		unsigned e, t, best_e = 0, best_t = 0;
		uint64_t best_ns = UINT64_MAX;

		for (e = 0; e < ND_ENDS; e++)
			for (t = 0; t < TIMERS; t++) {
				uint64_t at_ns = p->end[e].timer[t];

				if (at_ns == UINT64_MAX)
					continue;
				at_ns -= e == ND_SERVER ? SERVER_SKEW : 0;
				if (at_ns < best_ns) {
					best_ns = at_ns;
					best_e = e;
					best_t = t;
				}
			}
		if (best_ns > until_ns)
			break;
		p->now_ns = ND_MAX(p->now_ns, best_ns);
		p->end[best_e].timer[best_t] = UINT64_MAX;
		feed(p, best_e, (struct nd_dialog_event){ .what = ND_DLG_TIMER, .timer = best_t });
		pump(p);
	}
	p->now_ns = ND_MAX(p->now_ns, until_ns);
}

static inline void fill_plan(struct nd_plan *plan)
{
	plan->verb = ND_VERB_STREAM;
	plan->workloads = plan->workload_list.n = 1;
	plan->workload[0] = (struct nd_workload){
		.active = ND_CLIENT,
		.load = "stream",
		.frame = "plain",
		.transport = "tcp",
		.flows = 4,
		.message_bytes = 65536,
	};
	plan->duration_ns = 10 * ND_NS_PER_S;
	plan->warmup_ns = ND_NS_PER_S;
	plan->interval_ns = ND_NS_PER_S;
	plan->drain_ns = 2 * ND_NS_PER_S;
	plan->engine = "auto";
	plan->tx = plan->rx = "copy";
}

/* @cpus: of client and server. */
static inline struct pair *pair_new(uint64_t client_cpus, uint64_t server_cpus)
{
	struct pair *p = calloc(1, sizeof(*p));
	unsigned e, t;

	assert_non_null(p);
	p->now_ns = 1000 * ND_NS_PER_S;
	for (e = 0; e < ND_ENDS; e++) {
		struct end *x = &p->end[e];
		struct nd_dialog_cfg cfg = {
			.end = (enum nd_end_kind)e,
			.plan = &x->plan,
			.key = { 0, 1, 2, 0xff },
			.boot_id = "boot-1",
			.netns_id = "4026531840",
			.hostname = e ? "receiver" : "sender",
			.cpus = e ? server_cpus : client_cpus,
			.datagram_bytes = e ? 1400 : 0,
		};
		struct nd_err err = { 0 };

		nd_plan_init(&x->plan);
		if (e == ND_CLIENT) {
			fill_plan(&x->plan);
			memset(cfg.key, 0, sizeof(cfg.key));
		}
		for (t = 0; t < TIMERS; t++)
			x->timer[t] = UINT64_MAX;
		x->state = calloc(1, native()->state_bytes);
		assert_non_null(x->state);
		assert_int_equal(native()->open(x->state, &cfg, &err), 0);
		push(p, (enum nd_end_kind)e, ND_DLG_OPEN, NULL, 0);
	}
	return p;
}

static inline void pair_free(struct pair *p)
{
	unsigned e;

	for (e = 0; e < ND_ENDS; e++) {
		struct end *x = &p->end[e];

		forget(p, (enum nd_end_kind)e);
		native()->close(x->state);
		free(x->state);
		nd_verbs_done(&x->verbs);
		nd_plan_done(&x->plan);
	}
	free(p);
}

/* What an end measured, in little. */
static inline void give_result(struct pair *p, enum nd_end_kind e)
{
	struct nd_part part = { 0 };
	struct nd_side side = { 0 };

	nd_table_unknown(&nd_side_table, &side);
	nd_table_unknown(&nd_part_table, &part);
	part.workload = 0;
	part.active = e == ND_CLIENT;
	part.run.tx_bytes = 1000 + e;
	side.name = "whatever";
	side.threads = 2;
	side.parts = (struct nd_list){ .v = &part, .n = 1 };
	feed(p, e, (struct nd_dialog_event){ .what = ND_DLG_RESULT, .side = &side });
}

/* Up to the agreed start and @ns behind it. */
static inline void run_for(struct pair *p, uint64_t ns)
{
	pump(p);
	assert_int_equal(p->end[ND_CLIENT].starts, 1);
	assert_int_equal(p->end[ND_SERVER].starts, 1);
	pass(p, p->end[ND_CLIENT].started_ns - p->now_ns + ns);
}

/* A run that was told to stop is over at once. */
static inline void obey_stops(struct pair *p)
{
	unsigned e;

	for (e = 0; e < ND_ENDS; e++)
		if (p->end[e].stops && p->end[e].outcome == GOING)
			give_result(p, (enum nd_end_kind)e);
	pump(p);
}

/* Put a message of our own before an end. */
static inline void inject(struct pair *p, enum nd_end_kind e, const char *json)
{
	size_t n = strlen(json);
	uint8_t *data = malloc(n + 4);

	assert_non_null(data);
	data[0] = (uint8_t)(n >> 24);
	data[1] = (uint8_t)(n >> 16);
	data[2] = (uint8_t)(n >> 8);
	data[3] = (uint8_t)n;
	memcpy(data + 4, json, n);
	feed(p, e, (struct nd_dialog_event){ .what = ND_DLG_MESSAGE, .data = data, .n = n + 4 });
	free(data);
}

#endif
