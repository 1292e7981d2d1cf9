/* SPDX-License-Identifier: MIT */
/*
 * Interval lines while a test runs. The receiver's figures are the ones to show; those of the peer come a
 * little later than our own, so a line waits for them, but not for long.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/time.h"
#include "session/int.h"

#define WAIT_NS  (500 * ND_NS_PER_MS)
#define PEER_MAX 4096 /* samples of the peer that have not met ours */

struct moment {
	uint64_t known_ns; /* when this end's samples were complete */
	uint64_t index;
	struct nd_interval_sample own[ND_MAX_WORKLOADS];
};

struct nd_live {
	struct nd_loop *loop;       /* borrowed */
	const struct nd_plan *plan; /* borrowed */
	enum nd_end_kind end;
	struct nd_sink sink;
	struct nd_timer *timer;
	struct moment *waiting; /* owned, oldest first */
	size_t waiting_n;
	struct nd_interval_sample *peer; /* owned */
	size_t peer_n;
};

static const struct nd_interval_sample *find_peer(const struct nd_live *v, uint64_t index,
						  uint64_t workload)
{
	for (size_t i = 0; i < v->peer_n; i++) {
		if (v->peer[i].index == index && v->peer[i].workload == workload)
			return &v->peer[i];
	}
	return NULL;
}

static bool is_complete(const struct nd_live *v, const struct moment *m)
{
	if (v->plan->face)
		return true; /* other tools' peers tell nothing while a test runs */
	for (uint64_t w = 0; w < v->plan->workloads; w++) {
		if (!find_peer(v, m->index, w))
			return false;
	}
	return true;
}

static void fill_joint(const struct nd_interval_sample *tx, const struct nd_interval_sample *rx,
		       const struct nd_progress_event *ev, struct nd_interval_joint *ret)
{
	nd_table_unknown(&nd_interval_joint_table, ret);
	if (tx) {
		ret->offered_bps = tx->tx_bps;
		ret->sent_bytes = tx->tx_bytes;
		if (ev->datagram || ev->transactions)
			ret->sent_messages = tx->tx_messages;
		ret->retransmits = tx->tcp_retransmits;
		ret->goodput_bps = tx->tx_bps; /* until the receiver says better */
		if (ev->transactions)
			ret->transactions = tx->transactions;
		if (ev->transactions && tx->rtt_count != ND_UNKNOWN && tx->rtt_count > 0) {
			ret->rtt_count = tx->rtt_count;
			ret->rtt_p50_us = tx->rtt_p50_us;
			ret->rtt_p99_us = tx->rtt_p99_us;
			ret->rtt_max_us = tx->rtt_max_us;
		}
	}
	if (rx) {
		ret->goodput_bps = rx->rx_bps;
		ret->received_bytes = rx->rx_bytes;
		if (ev->datagram || ev->transactions)
			ret->received_messages = rx->rx_messages;
		if (ev->datagram && !ev->transactions)
			ret->lost_messages = rx->rx_lost;
	}
}

/* What drains within a moment after the end makes a rate of no meaning; the result has it all the same. */
static bool is_stub(const struct nd_live *v, const struct nd_interval_sample *own)
{
	double length_ns = (own->end_s - own->start_s) * 1e9;
	bool drains = own->phase && !strcmp(own->phase, "drain");

	return !(length_ns > 0) || (drains && length_ns * 2 < (double)v->plan->interval_ns);
}

static void show_line(const struct nd_live *v, const struct moment *m, uint64_t workload)
{
	const struct nd_workload *w = &v->plan->workload[workload];
	const struct nd_interval_sample *own = &m->own[workload];
	const struct nd_interval_sample *peer = find_peer(v, m->index, workload);
	bool is_active = w->active == v->end;
	const struct nd_interval_sample *rx = is_active ? peer : own;
	struct nd_interval_joint joint;
	struct nd_progress_event ev = { .what = ND_PROG_INTERVAL,
					.interval = &joint,
					.from_receiver = rx != NULL,
					.datagram = nd_plan_is_datagram(w),
					.transactions = nd_plan_has_turns(w),
					.packets =
						v->plan->verb == ND_VERB_PACKETS ||
						(nd_plan_is_loaded(v->plan) &&
						 nd_plan_is_datagram(w) && !nd_plan_has_turns(w)) };

	ev.alone = v->plan->workloads == 1;
	ev.direction = w->active == ND_CLIENT ? "client to server" : "server to client";
	if (is_stub(v, own))
		return;
	fill_joint(is_active ? own : peer, rx, &ev, &joint);
	joint.start_s = own->start_s;
	joint.end_s = own->end_s;
	joint.phase = own->phase;
	v->sink.progress(v->sink.user, &ev);
}

static void show_first(struct nd_live *v)
{
	struct moment *m = &v->waiting[0];
	size_t kept = 0;

	for (uint64_t w = 0; w < v->plan->workloads; w++)
		show_line(v, m, w);
	for (size_t i = 0; i < v->peer_n; i++) {
		if (v->peer[i].index > m->index)
			v->peer[kept++] = v->peer[i];
	}
	v->peer_n = kept;
	v->waiting_n--;
	memmove(v->waiting, v->waiting + 1, v->waiting_n * sizeof(*v->waiting));
}

static void show_due(struct nd_live *v)
{
	uint64_t now = nd_now_ns();

	while (v->waiting_n > 0 &&
	       (is_complete(v, &v->waiting[0]) || now >= v->waiting[0].known_ns + WAIT_NS))
		show_first(v);
	nd_timer_set(v->timer, v->waiting_n > 0 ? v->waiting[0].known_ns + WAIT_NS : UINT64_MAX);
}

static void on_timer(void *user)
{
	show_due(user);
}

static void add_own(struct nd_live *v, const struct nd_interval_sample *s, uint64_t n)
{
	struct moment *m;

	if (n == 0 || nd_grow(v->waiting, v->waiting_n) < 0)
		return; /* without memory a line is lost, not the test */
	m = &v->waiting[v->waiting_n++];
	*m = (struct moment){ .known_ns = nd_now_ns(), .index = s[0].index };
	for (uint64_t i = 0; i < n && i < ND_MAX_WORKLOADS; i++)
		m->own[i] = s[i];
}

static void add_peer(struct nd_live *v, const struct nd_interval_sample *s)
{
	if (v->peer_n >= PEER_MAX || nd_grow(v->peer, v->peer_n) < 0)
		return;
	v->peer[v->peer_n] = *s;
	v->peer[v->peer_n++].phase = NULL; /* lives shorter than the sample; ours is shown */
}

void nd_live_add(struct nd_live *v, bool own, const struct nd_interval_sample *s, uint64_t n)
{
	if (!v)
		return;
	if (own)
		add_own(v, s, n);
	for (uint64_t i = 0; !own && i < n; i++)
		add_peer(v, &s[i]);
	show_due(v);
}

void nd_live_flush(struct nd_live *v)
{
	while (v && v->waiting_n > 0)
		show_first(v);
}

int nd_live_new(struct nd_loop *l, const struct nd_plan *plan, enum nd_end_kind end,
		const struct nd_sink *sink, struct nd_live **ret)
{
	struct nd_live *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	*v = (struct nd_live){ .loop = l, .plan = plan, .end = end, .sink = *sink };
	if (nd_timer_new(l, on_timer, v, &v->timer) < 0) {
		free(v);
		return -ENOMEM;
	}
	*ret = v;
	return 0;
}

void nd_live_free(struct nd_live *v)
{
	if (!v)
		return;
	nd_timer_free(v->timer);
	free(v->waiting);
	free(v->peer);
	free(v);
}
