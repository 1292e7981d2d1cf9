/* SPDX-License-Identifier: MIT */
/* The native language: what both ends do alike. Set-up, run, results, and all the ways a test ends early. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
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

static void send_sentence(struct nd_native *d, enum nd_native_message m, const char *text)
{
	nd_native_send(d, m, &(struct nd_native_body){ .sentence = text, .reason = text });
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

static void leave(struct nd_native *d)
{
	d->stage = ND_STAGE_OVER;
	nd_native_timer(d, ND_NATIVE_TICK, UINT64_MAX);
	nd_native_timer(d, ND_NATIVE_DEADLINE, UINT64_MAX);
	if (d->linked)
		nd_verbs_add(d->verbs, ND_DO_CLOSE)->link = d->link;
	d->linked = false;
}

static void fail_with(struct nd_native *d, bool peer_fault, const struct nd_err *err)
{
	struct nd_verb_item *v;

	leave(d);
	v = nd_verbs_add(d->verbs, ND_DO_FAIL);
	v->err = *err;
	v->peer_fault = peer_fault;
}

static void ND_PRINTF(3, 0) vset(struct nd_err *err, int code, const char *fmt, va_list ap)
{
	err->code = code;
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap); /* shortened when too long */
}

void nd_native_fail(struct nd_native *d, bool peer_fault, int code, const char *fmt, ...)
{
	struct nd_err err = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vset(&err, code, fmt, ap);
	va_end(ap);
	fail_with(d, peer_fault, &err);
}

void nd_native_protest(struct nd_native *d, const char *fmt, ...)
{
	struct nd_err err = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vset(&err, -EPROTO, fmt, ap);
	va_end(ap);
	send_sentence(d, ND_MSG_ERROR, err.text);
	(void)nd_wrap(&err, -EPROTO, "%s broke the protocol", nd_native_peer_name(d));
	fail_with(d, true, &err);
}

/* Has the agreed start come, so that there is something worth keeping? */
static bool has_begun(const struct nd_native *d)
{
	return d->stage == ND_STAGE_RUN && d->now_ns >= d->start_ns;
}

/* The run ends now; results are awaited for a short time. @reason is kept, the first one counts. */
static void stop_run(struct nd_native *d, const char *reason)
{
	if (!d->reason)
		d->reason = nd_arena_dup(&d->kept, reason);
	d->is_stopping = true;
	if (!d->has_result)
		nd_verbs_add(d->verbs, ND_DO_STOP);
	nd_native_wait(d, ND_NATIVE_STOP_NS);
}

void nd_native_lost(struct nd_native *d, int code, const char *fmt, ...)
{
	struct nd_err err = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vset(&err, code, fmt, ap);
	va_end(ap);
	if (d->stage == ND_STAGE_WRAP) {
		nd_native_done(d);
	} else if (has_begun(d)) {
		d->peer_is_gone = true;
		stop_run(d, err.text);
		nd_native_settle(d);
	} else {
		fail_with(d, true, &err);
	}
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

/* ---- the end ---- */

void nd_native_done(struct nd_native *d)
{
	struct nd_verb_item *v;

	if (d->end == ND_CLIENT && d->plan->group && !d->group && !d->reason)
		d->reason = nd_arena_printf(&d->kept, "what the others of %s measured is missing",
					    nd_native_group_of(d));
	if (d->end == ND_CLIENT)
		nd_native_send(d, ND_MSG_BYE, &(struct nd_native_body){ 0 });
	leave(d);
	v = nd_verbs_add(d->verbs, ND_DO_DONE);
	v->peer_side = d->peer_side;
	v->group = d->group;
	v->reason = d->reason;
}

void nd_native_settle(struct nd_native *d)
{
	if (d->stage != ND_STAGE_RUN || !d->has_result || (!d->peer_side && !d->peer_is_gone))
		return;
	if (!d->peer_side || d->peer_is_gone) {
		nd_native_done(d);
		return;
	}
	d->stage = ND_STAGE_WRAP;
	nd_native_wait(d, ND_NATIVE_WRAP_NS);
	nd_native_stay(d);
	if (d->end == ND_CLIENT && d->is_stopping) {
		nd_native_done(d); /* somebody wants it to end: no time for the clocks */
	} else if (d->end == ND_CLIENT) {
		d->times_left = ND_NATIVE_TIMES_AFTER;
		nd_native_client_ask_time(d);
	}
}

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

static void on_run_failed(struct nd_native *d, const struct nd_err *why)
{
	struct nd_err err = { .code = -EIO, .text = "the run failed" };

	if (why)
		err = *why;
	if (d->end == ND_CLIENT)
		send_sentence(d, ND_MSG_STOP, err.text);
	else
		send_sentence(d, ND_MSG_REFUSE, err.text);
	fail_with(d, false, &err);
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

static void on_stop(struct nd_native *d, const char *reason)
{
	const char *why = reason ? reason : "stopped";

	if (d->stage == ND_STAGE_WRAP) {
		nd_native_done(d);
		return;
	}
	if (d->is_stopping) { /* asked again: do not wait for the peer */
		d->peer_is_gone = true;
		nd_native_settle(d);
		return;
	}
	if (d->stage != ND_STAGE_CONNECT)
		send_sentence(d, ND_MSG_STOP, why);
	if (has_begun(d)) {
		stop_run(d, why);
		nd_native_settle(d);
	} else {
		nd_native_fail(d, false, -ECANCELED, "%s before the test began", why);
	}
}

void nd_native_on_local(struct nd_native *d, const struct nd_dialog_event *ev)
{
	switch (ev->what) {
	case ND_DLG_FLOWS_READY:
		on_flows_ready(d);
		break;
	case ND_DLG_RUN_FAILED:
		on_run_failed(d, ev->err);
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
		on_stop(d, ev->reason);
		break;
	default:
		break;
	}
}

/* ---- timers, link ---- */

/* Ticks are counted, not time: a process that was stopped for a while must not take its own sleep for the peer's. */
void nd_native_on_tick(struct nd_native *d)
{
	if (++d->silent_ticks > ND_NATIVE_SILENT_TICKS) {
		nd_native_lost(d, -ETIMEDOUT, "peer lost: nothing heard for %u s",
			       ND_NATIVE_SILENT_TICKS);
		return;
	}
	if (d->stage > ND_STAGE_HELLO)
		nd_native_send(d, ND_MSG_BEAT, &(struct nd_native_body){ 0 });
	if (d->end == ND_CLIENT && d->is_held)
		nd_native_refresh_clock(d);
	nd_native_timer(d, ND_NATIVE_TICK, d->now_ns + ND_NATIVE_TICK_NS);
}

static const char *wait_text(const struct nd_native *d, char *buf, size_t size)
{
	uint64_t unit = d->wait_ns < ND_NS_PER_S ? ND_NS_PER_MS : ND_NS_PER_S;

	return nd_format_unit(d->wait_ns / unit * unit, ND_UNIT_TIME_NS, buf, size);
}

static void setup_is_late(struct nd_native *d)
{
	const char *who = !d->is_ready        ? "this end"
			  : !d->peer_is_ready ? nd_native_peer_name(d)
					      : "the client's go";
	struct nd_err err = { 0 };
	bool is_ready = d->is_ready;
	char text[32];

	(void)nd_fail(&err, -ETIMEDOUT, "set-up of %llu flows took over %s: waiting for %s",
		      (unsigned long long)nd_plan_flows(d->plan), wait_text(d, text, sizeof(text)),
		      who);
	send_sentence(d, d->end == ND_CLIENT ? ND_MSG_STOP : ND_MSG_REFUSE, err.text);
	fail_with(d, is_ready, &err);
}

static void run_is_late(struct nd_native *d)
{
	if (!d->is_stopping && !d->has_result) {
		send_sentence(d, ND_MSG_STOP, "the test ran over its time");
		stop_run(d, "the test ran over its time");
		return;
	}
	d->peer_is_gone = true;
	if (!d->reason)
		d->reason = nd_arena_printf(
			&d->kept, "no result from the %s within %llu s", nd_native_peer_name(d),
			(unsigned long long)(ND_NATIVE_RESULT_NS / ND_NS_PER_S));
	if (d->has_result) {
		nd_native_settle(d);
	} else if (d->gave_up) {
		nd_native_fail(d, false, -ETIMEDOUT, "the run did not end when it was told to");
	} else {
		d->gave_up = true;
		nd_native_wait(d, ND_NATIVE_OVER_NS);
	}
}

void nd_native_on_deadline(struct nd_native *d)
{
	char text[32];

	switch (d->stage) {
	case ND_STAGE_PREPARE:
		if (d->is_held)
			nd_native_held_late(d);
		else
			setup_is_late(d);
		break;
	case ND_STAGE_RUN:
		run_is_late(d);
		break;
	case ND_STAGE_WRAP:
		nd_native_done(d);
		break;
	default:
		nd_native_lost(d, -ETIMEDOUT, "no progress in %s for %s",
			       nd_native_stage_name(d->stage), wait_text(d, text, sizeof(text)));
		break;
	}
}

void nd_native_on_down(struct nd_native *d, const struct nd_dialog_event *ev)
{
	const char *stage = nd_native_stage_name(d->stage);
	int code = ev->error ? ev->error : -ECONNRESET;
	char words[128];

	if (d->linked && ev->link != d->link)
		return;
	d->linked = false;
	if (d->stage == ND_STAGE_CONNECT && ev->err)
		nd_native_fail(d, true, ev->err->code, "%s", ev->err->text);
	else if (d->stage == ND_STAGE_CONNECT)
		nd_native_fail(d, true, code, "no connection: %s",
			       nd_strerror(code, words, sizeof(words)));
	else if (ev->err && (code == -EBADMSG || code == -EMSGSIZE))
		nd_native_lost(d, -EPROTO, "what the %s sent is not netdyno's language",
			       nd_native_peer_name(d));
	else if (has_begun(d))
		nd_native_lost(d, -ECONNRESET, "peer lost: connection closed");
	else
		nd_native_lost(d, -ECONNRESET, "%s closed the connection during %s%s",
			       nd_native_peer_name(d), stage,
			       d->stage == ND_STAGE_HELLO && d->end == ND_CLIENT
				       ? " (does it --allow this address, and speak netdyno?)"
				       : "");
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

void nd_native_on_stop(struct nd_native *d, const struct nd_native_body *b)
{
	const char *why = b->reason ? b->reason : "no reason given", *peer = nd_native_peer_name(d);

	if (d->stage == ND_STAGE_WRAP || d->is_stopping)
		return; /* both ends asked at once, or it is over anyway */
	if (has_begun(d))
		stop_run(d, nd_arena_printf(&d->passing, "the %s stopped the test: %s", peer, why));
	else
		nd_native_fail(d, true, -ECANCELED, "the %s stopped the test: %s", peer, why);
}

void nd_native_on_beat(struct nd_native *d, const struct nd_native_body *b)
{
	(void)d; /* whatever comes shows that the peer is there */
	(void)b;
}

void nd_native_on_error(struct nd_native *d, const struct nd_native_body *b)
{
	nd_native_lost(d, -EPROTO, "the %s ended it: %s", nd_native_peer_name(d),
		       b->sentence ? b->sentence : "no reason given");
}
