/* SPDX-License-Identifier: MIT */
/* The native language: what both ends do alike, set-up, run and results. */
#include <errno.h>
#include <string.h>

#include "dialect/int.h"

#define INTERVALS_AT_ONCE 1000u /* rows in one message */

const char *nd_native_peer_name(const struct nd_native *d)
{
	return d->end == ND_CLIENT ? "server" : "client";
}

static uint64_t later(uint64_t at_ns, uint64_t by_ns)
{
	uint64_t sum;

	return __builtin_add_overflow(at_ns, by_ns, &sum) ? UINT64_MAX - 1 : sum;
}

/* What stands behind @at in the verbs' bytes goes to the peer. */
static void queue_send(struct nd_native *d, size_t at)
{
	struct nd_verb_item *v = nd_verbs_add(d->verbs, ND_DO_SEND);

	v->link = d->link;
	v->data_at = at;
	v->n = d->verbs->data.len - at;
}

/* Written where the session reads it: a result is large enough not to be held twice. -EMSGSIZE, -ENOMEM. */
static int try_send(struct nd_native *d, enum nd_native_message m, const struct nd_native_body *b)
{
	struct nd_str *out = &d->verbs->data;
	size_t at = out->len;
	int code = nd_native_encode(m, b, out);

	if (code < 0)
		out->len = at;
	else
		queue_send(d, at);
	return code;
}

void nd_native_send(struct nd_native *d, enum nd_native_message m, const struct nd_native_body *b)
{
	if (d->linked && try_send(d, m, b) < 0)
		d->verbs->failed = true; /* no memory, or a plan of over 16 MiB, which cannot be */
}

void nd_native_timer(struct nd_native *d, enum nd_native_timer timer, uint64_t at_ns)
{
	struct nd_verb_item *v = nd_verbs_add(d->verbs, ND_DO_TIMER);

	v->timer = timer;
	v->at_ns = at_ns;
}

void nd_native_wait(struct nd_native *d, uint64_t by_ns)
{
	d->wait_ns = by_ns;
	nd_native_timer(d, ND_NATIVE_DEADLINE, later(d->now_ns, by_ns));
}

uint64_t nd_native_patience(const struct nd_native *d)
{
	if (d->end == ND_CLIENT && d->plan->connect_timeout_ns)
		return d->plan->connect_timeout_ns;
	return ND_NATIVE_GREETING_NS;
}

uint64_t nd_native_setup_ns(const struct nd_native *d, uint64_t few_ns)
{
	return later(few_ns,
		     ND_NATIVE_SETUP_FLOW_NS * ND_MIN(nd_plan_flows(d->plan), ND_MAX_FLOWS));
}

uint64_t nd_native_threads(const struct nd_native *d)
{
	uint64_t flows = nd_plan_flows(d->plan), threads = d->plan->threads;

	if (threads == 0)
		threads = ND_MIN(d->cpus, d->peer_cpus);
	return ND_MAX(ND_MIN(threads, flows), 1);
}

void nd_native_meet(struct nd_native *d, const struct nd_native_body *b)
{
	/* without memory these are unknown, which does no harm */
	d->peer_version = nd_arena_dup(&d->kept, b->version);
	d->peer_boot_id = nd_arena_dup(&d->kept, b->boot_id);
	if (b->cpus != ND_UNKNOWN)
		d->peer_cpus = ND_MAX(ND_MIN(b->cpus, ND_NATIVE_CPUS_MAX), 1);
}

void nd_native_prepare(struct nd_native *d)
{
	d->stage = ND_STAGE_PREPARE;
	nd_native_wait(d, nd_native_setup_ns(d, ND_MAX(ND_NATIVE_SETUP_NS, nd_native_patience(d))));
	nd_verbs_add(d->verbs, ND_DO_PREPARE)->threads = d->threads;
}

void nd_native_start(struct nd_native *d, uint64_t at_ns)
{
	const struct nd_plan *p = d->plan;
	uint64_t end_ns = later(at_ns, later(later(p->warmup_ns, p->duration_ns),
					     later(p->cooldown_ns, p->drain_ns)));

	d->stage = ND_STAGE_RUN;
	d->start_ns = at_ns;
	d->is_held = false;
	d->times_left = 0;
	nd_native_timer(d, ND_NATIVE_DEADLINE, later(end_ns, ND_NATIVE_OVERTIME_NS));
	nd_verbs_add(d->verbs, ND_DO_START)->at_ns = at_ns;
}

/* ---- this end's result ---- */

/* A copy of @side whose parts come without their rows. NULL: no memory. */
static struct nd_side *without_rows(struct nd_arena *a, const struct nd_side *side,
				    bool with_intervals)
{
	struct nd_side *copy = nd_arena_alloc(a, 1, sizeof(*copy));
	struct nd_part *part;
	uint64_t i;

	if (!copy)
		return NULL;
	*copy = *side;
	if (nd_list_new(a, &copy->parts, side->parts.n, sizeof(*part)) < 0)
		return NULL;
	part = copy->parts.v;
	for (i = 0; i < side->parts.n; i++) {
		part[i] = ((const struct nd_part *)side->parts.v)[i];
		part[i].flows = (struct nd_list){ 0 };
		if (!with_intervals)
			part[i].intervals = (struct nd_list){ 0 };
	}
	return copy;
}

int nd_native_encode_result(struct nd_arena *a, const struct nd_side *side, struct nd_str *out)
{
	struct nd_side whole = *side;
	struct nd_native_body b = { .side = &whole };
	size_t at = out->len;
	int code = nd_native_encode(ND_MSG_RESULT, &b, out);

	while (code == -EMSGSIZE && !b.intervals_omitted) {
		out->len = at;
		b.intervals_omitted = b.flows_omitted;
		b.flows_omitted = true;
		b.side = without_rows(a, side, !b.intervals_omitted);
		code = b.side ? nd_native_encode(ND_MSG_RESULT, &b, out) : -ENOMEM;
	}
	return code;
}

static void send_result(struct nd_native *d, const struct nd_side *side)
{
	size_t at = d->verbs->data.len;
	int code = nd_native_encode_result(&d->passing, side, &d->verbs->data);

	if (code < 0)
		d->verbs->failed = true;
	else
		queue_send(d, at);
}

/* ---- events of this end ---- */

static void on_flows_ready(struct nd_native *d)
{
	struct nd_native_body b = { .rtt = ND_UNKNOWN };

	if (d->stage != ND_STAGE_PREPARE || d->is_ready)
		return;
	d->is_ready = true;
	if (d->end == ND_CLIENT && d->plan->group && d->before.n > 0)
		b.rtt = d->before.rtt_ns;
	nd_native_send(d, ND_MSG_READY, &b);
	if (d->end == ND_CLIENT)
		nd_native_client_ready(d);
	else
		nd_native_hold(d);
}

static void on_intervals(struct nd_native *d, const struct nd_dialog_event *ev)
{
	uint64_t at = 0, n;

	if (d->stage != ND_STAGE_RUN || d->has_result)
		return;
	for (; at < ev->intervals_n; at += n) {
		struct nd_native_body b = { 0 };

		n = ND_MIN(ev->intervals_n - at, INTERVALS_AT_ONCE);
		/* a list owns what it points to, but is only read here */
		memcpy(&b.list.v, &(const void *){ ev->intervals + at }, sizeof(b.list.v));
		b.list.n = n;
		nd_native_send(d, ND_MSG_INTERVALS, &b);
	}
}

static void on_result(struct nd_native *d, const struct nd_side *side)
{
	if (d->stage != ND_STAGE_RUN || d->has_result)
		return;
	d->has_result = true;
	if (d->linked && side)
		send_result(d, side);
	if (!d->is_stopping)
		nd_native_wait(d, ND_NATIVE_RESULT_NS);
	nd_native_take_early(d);
	nd_native_settle(d);
}

void nd_native_on_local(struct nd_native *d, const struct nd_dialog_event *ev)
{
	switch (ev->what) {
	case ND_DLG_FLOWS_READY:
		on_flows_ready(d);
		break;
	case ND_DLG_RUN_FAILED:
		nd_native_run_failed(d, ev->err);
		break;
	case ND_DLG_INTERVAL:
		on_intervals(d, ev);
		break;
	case ND_DLG_SENT:
		if (d->stage == ND_STAGE_RUN && !d->has_result)
			nd_native_send(d, ND_MSG_SENT, &(struct nd_native_body){ 0 });
		break;
	case ND_DLG_RESULT:
		on_result(d, ev->side);
		break;
	case ND_DLG_STOP:
		nd_native_stop_asked(d, ev->reason);
		break;
	default:
		break;
	}
}

/* ---- messages that both ends take alike ---- */

void nd_native_on_intervals(struct nd_native *d, const struct nd_native_body *b)
{
	struct nd_verb_item *v;

	if (b->list.n == 0)
		return;
	v = nd_verbs_add(d->verbs, ND_DO_PEER_INTERVAL);
	v->intervals = b->list.v;
	v->intervals_n = b->list.n;
}

void nd_native_on_sent(struct nd_native *d, const struct nd_native_body *b)
{
	struct nd_verb_item *v;

	(void)b; /* holds nothing */
	if (d->peer_has_sent) {
		nd_native_protest(d, "message 'sent' came twice");
		return;
	}
	d->peer_has_sent = true;
	if (d->has_result)
		return;
	v = nd_verbs_add(d->verbs, ND_DO_FINISH);
	v->quiet_ns = ND_NATIVE_QUIET_NS;
	v->deadline_ns = later(d->now_ns, ND_MAX(d->plan->drain_ns, ND_NATIVE_DRAIN_MIN_NS));
}

void nd_native_on_result(struct nd_native *d, const struct nd_native_body *b)
{
	if (d->peer_side) {
		nd_native_protest(d, "message 'result' came twice");
		return;
	}
	if (!b->side) {
		nd_native_protest(d, "message 'result': 'side' is missing");
		return;
	}
	if (b->side->parts.n > ND_MAX_WORKLOADS) {
		nd_native_protest(d, "message 'result': 'parts' is too long a list");
		return;
	}
	d->peer_side = b->side; /* it was decoded into .kept */
	d->peer_side->name = nd_native_peer_name(d);
	d->peer_flows_omitted = b->flows_omitted;
	nd_native_settle(d);
}

void nd_native_on_beat(struct nd_native *d, const struct nd_native_body *b)
{
	(void)d; /* whatever comes shows that the peer is there */
	(void)b;
}
