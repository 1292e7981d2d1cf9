/* SPDX-License-Identifier: MIT */
/* The native language: all the ways a test ends, with both results or early. Both ends do alike. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/num.h"
#include "dialect/int.h"

static void send_sentence(struct nd_native *d, enum nd_native_message m, const char *text)
{
	nd_native_send(d, m, &(struct nd_native_body){ .sentence = text, .reason = text });
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

/* ---- in order ---- */

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

/* ---- this end stops it ---- */

void nd_native_run_failed(struct nd_native *d, const struct nd_err *why)
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

void nd_native_stop_asked(struct nd_native *d, const char *reason)
{
	const char *why = reason ? reason : "stopped";
	/* before the peer hears of it where we open connections: it breaks off what is under way */
	bool begun = has_begun(d), at_once = begun && d->end == ND_CLIENT;

	if (d->stage == ND_STAGE_WRAP) {
		nd_native_done(d);
		return;
	}
	if (d->is_stopping) { /* asked again: do not wait for the peer */
		d->peer_is_gone = true;
		nd_native_settle(d);
		return;
	}
	if (at_once)
		stop_run(d, why);
	if (d->stage != ND_STAGE_CONNECT)
		send_sentence(d, ND_MSG_STOP, why);
	if (begun && !at_once)
		stop_run(d, why);
	if (begun) {
		nd_native_settle(d);
	} else {
		nd_native_fail(d, false, -ECANCELED, "%s before the test began", why);
	}
}

/* ---- nobody speaks any more ---- */

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

/* ---- the peer ends it ---- */

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

void nd_native_on_error(struct nd_native *d, const struct nd_native_body *b)
{
	nd_native_lost(d, -EPROTO, "the %s ended it: %s", nd_native_peer_name(d),
		       b->sentence ? b->sentence : "no reason given");
}
