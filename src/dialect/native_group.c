/* SPDX-License-Identifier: MIT */
/* The native language: one of several clients that begin together, and hear of each other in the end. */
#include <errno.h>

#include "base/num.h"
#include "dialect/int.h"

#define GROUP_SLACK_NS (5 * ND_NS_PER_S) /* for the end that does not decide */

const char *nd_native_group_of(struct nd_native *d)
{
	const char *text = nd_arena_printf(&d->passing, "group '%s'", d->plan->group);

	return text ? text : "the group";
}

/* ---- before the start ---- */

static void tell_user(struct nd_native *d)
{
	struct nd_verb_item *v = nd_verbs_add(d->verbs, ND_DO_NOTE);

	(void)nd_fail(&v->err, 0, "waiting for %s of %llu clients", nd_native_group_of(d),
		      (unsigned long long)d->plan->group_expect);
}

void nd_native_hold(struct nd_native *d)
{
	if (!d->plan->group || !d->is_ready || !d->peer_is_ready)
		return;
	d->is_held = true;
	nd_native_wait(d, d->plan->group_wait_ns + GROUP_SLACK_NS);
	if (d->end == ND_CLIENT)
		tell_user(d);
	else
		nd_verbs_add(d->verbs, ND_DO_GATHER)->rtt_ns = d->rtt_ns;
}

void nd_native_held_late(struct nd_native *d)
{
	struct nd_err err = { 0 };
	char text[32];

	(void)nd_fail(&err, -ETIMEDOUT, "%s did not begin within %s", nd_native_group_of(d),
		      nd_format_unit(d->plan->group_wait_ns, ND_UNIT_TIME_NS, text, sizeof(text)));
	if (d->end == ND_CLIENT)
		nd_native_send(d, ND_MSG_STOP, &(struct nd_native_body){ .reason = err.text });
	else
		nd_native_server_refuse(d, err.text);
	nd_native_fail(d, true, -ETIMEDOUT, "%s", err.text);
}

/* The last whole round of exchanges counts: the first one may be an hour old. */
void nd_native_refresh_clock(struct nd_native *d)
{
	if (d->sent_ns != ND_UNKNOWN || d->times_left > 0)
		return;
	d->held = (struct nd_clock){ 0 };
	d->times_left = ND_NATIVE_TIMES_AFTER;
	nd_native_client_ask_time(d);
}

void nd_native_on_gathered(struct nd_native *d, const struct nd_dialog_event *ev)
{
	if (d->stage != ND_STAGE_PREPARE || !d->is_held || d->gather_ns)
		return;
	if (ev->reason) {
		nd_native_server_refuse(d, ev->reason);
		nd_native_fail(d, true, -ETIMEDOUT, "%s", ev->reason);
		return;
	}
	d->gather_ns = ev->at_ns;
	nd_native_wait(d, ND_NATIVE_AHEAD_MAX_NS + ND_NATIVE_LATE_MAX_NS);
	nd_native_send(d, ND_MSG_GATHER, &(struct nd_native_body){ .at = ev->at_ns });
}

void nd_native_client_gather(struct nd_native *d, const struct nd_native_body *b)
{
	uint64_t at_ns;

	if (!d->is_held) {
		nd_native_protest(d, "message 'gather' is out of order: not both ends are ready");
		return;
	}
	at_ns = b->at - (uint64_t)d->before.offset_ns;
	if (b->at == ND_UNKNOWN || at_ns > d->now_ns + ND_NATIVE_AHEAD_MAX_NS ||
	    at_ns + ND_NATIVE_LATE_MAX_NS < d->now_ns) {
		nd_native_protest(d, "message 'gather': 'at' is not near the server's clock");
		return;
	}
	nd_native_send(d, ND_MSG_GO, &(struct nd_native_body){ .at = b->at });
	nd_native_start(d, at_ns);
}

/* ---- behind the results ---- */

void nd_native_stay(struct nd_native *d)
{
	struct nd_verb_item *v;

	if (!d->plan->group)
		return;
	nd_native_wait(d, ND_NATIVE_GROUP_NS + ND_NATIVE_WRAP_NS + GROUP_SLACK_NS);
	if (d->end == ND_CLIENT)
		return;
	v = nd_verbs_add(d->verbs, ND_DO_MEMBER);
	v->peer_side = d->peer_side;
	v->reason = d->reason;
}

void nd_native_wrapped(struct nd_native *d)
{
	if (d->is_timed && (!d->plan->group || d->group))
		nd_native_done(d);
}

void nd_native_on_summed(struct nd_native *d, const struct nd_dialog_event *ev)
{
	const struct nd_native_body b = { .group = ev->group };

	if (d->stage != ND_STAGE_WRAP)
		return;
	nd_native_send(d, ND_MSG_GROUP, &b);
	nd_native_wait(d, ND_NATIVE_WRAP_NS);
}

void nd_native_client_group(struct nd_native *d, const struct nd_native_body *b)
{
	if (!d->plan->group || d->group) {
		nd_native_protest(d, "message 'group' is out of order");
		return;
	}
	if (!b->group) {
		nd_native_protest(d, "message 'group': 'group' is missing");
		return;
	}
	d->group = b->group; /* it was decoded into .kept */
	nd_native_wrapped(d);
}
