/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's receiver. It is not told what kind of sender will come: a word on the sync port (ntttcp_linux_receiver.c), a
 * token connection (ntttcp_windows_receiver.c), or data without either decides.
 */
#include <errno.h>

#include "base/grow.h"
#include "dialect/ntttcp.h"

#define SETTLE_NS ND_NS_PER_S /* by then a test has connections */

/* ---- links ---- */

struct nd_nt_link *nd_nt_find(const struct nd_nt *d, unsigned number)
{
	for (unsigned i = 0; i < d->link_n; i++) {
		if (d->links[i].number == number)
			return &d->links[i];
	}
	return NULL;
}

static struct nd_nt_link *add(struct nd_nt *d, unsigned number, unsigned port_class)
{
	if (d->link_n == ND_NT_LINKS_MAX || nd_grow(d->links, d->link_n) < 0)
		return NULL;
	d->links[d->link_n] = (struct nd_nt_link){ .number = number, .port_class = port_class };
	return &d->links[d->link_n++];
}

static void forget(struct nd_nt *d, unsigned number)
{
	struct nd_nt_link *k = nd_nt_find(d, number);

	if (k)
		*k = d->links[--d->link_n];
}

void nd_nt_turn_away(struct nd_nt *d, unsigned number)
{
	nd_nt_close(d, number);
	forget(d, number);
}

/* ---- which test ---- */

bool nd_nt_is_before(const struct nd_nt *d)
{
	return d->stage == ND_NT_IDLE || d->stage == ND_NT_AGREED;
}

void nd_nt_begin(struct nd_nt *d)
{
	nd_nt_start(d);
	nd_nt_timer(d, ND_NT_DECIDE, UINT64_MAX);
	nd_nt_within(d, d->cycle_ns > 0 ? d->cycle_ns : UINT64_MAX);
}

/* Both clocks are their own: each end runs the time it was told. */
void nd_nt_start_alone(struct nd_nt *d, enum nd_nt_way way)
{
	d->way = way;
	nd_nt_prepare(d, nd_nt_own_ns(d->set));
	nd_nt_begin(d);
	if (!nd_nt_is_udp(d)) /* somebody may only have looked whether the ports are open */
		nd_nt_timer(d, ND_NT_DECIDE, d->start_ns + SETTLE_NS);
}

/* There was no test after all: wait for the next sender. What this one had connected goes with the run, now and
 * not when the next one's connections may be in there. A run whose transport the next one may not want is no use. */
static void give_back(struct nd_nt *d)
{
	if (d->set->any_transport && d->is_prepared) {
		nd_nt_fail(d, false, -ENODATA, "somebody connected, and nothing came");
		return;
	}
	d->has_owner = d->has_data = d->is_finishing = false;
	d->start_ns = d->flows_open = 0;
	d->tokens = 0;
	d->way = ND_NT_UNKNOWN_WAY;
	d->stage = ND_NT_IDLE;
	nd_nt_within(d, UINT64_MAX);
	if (d->is_prepared)
		nd_nt_again(d);
}

/* The test ends before its time. */
void nd_nt_end_early(struct nd_nt *d, uint64_t tail_ns, const char *reason)
{
	if (nd_nt_missing_ns(d) > ND_NT_EARLY_NS && reason)
		nd_nt_keep_reason(d, reason);
	if (!d->has_result)
		nd_nt_finish(d, tail_ns);
}

/* ---- the end ---- */

/* May a sender still have a question? */
static bool has_guests(const struct nd_nt *d)
{
	for (unsigned i = 0; i < d->link_n; i++) {
		if (d->links[i].port_class == ND_NT_SYNC && d->links[i].place >= ND_NT_AT_END)
			return true;
	}
	return false;
}

void nd_nt_settle(struct nd_nt *d)
{
	if (d->stage == ND_NT_WRAPPING && (d->is_stopping || !has_guests(d)))
		nd_nt_done(d);
}

void nd_nt_give_result(struct nd_nt *d)
{
	struct nd_nt_link *k = d->has_owner ? nd_nt_find(d, d->owner) : NULL;

	d->wants_result = false;
	if (!k)
		return;
	if (d->mine.len == 0) {
		nd_nt_turn_away(d, k->number);
		d->has_owner = false;
		return;
	}
	nd_nt_say(d, k->number, ND_NT_RESULT);
	nd_verbs_send(d->verbs, k->number, d->mine.data, d->mine.len);
	k->place = ND_NT_AT_RESULT;
	nd_nt_within(d, ND_NT_ANSWER_NS);
}

static bool has_bytes(const struct nd_side *side)
{
	const struct nd_part *parts = side ? side->parts.v : NULL;

	for (uint64_t i = 0; parts && i < side->parts.n; i++) {
		if (parts[i].run.rx_bytes > 0)
			return true;
	}
	return false;
}

/* Connections that brought nothing were no test: somebody looked whether the port is open. */
static void on_result(struct nd_nt *d, const struct nd_side *side)
{
	if (d->stage != ND_NT_RUNNING)
		return;
	if (d->way != ND_NT_LINUX && !nd_nt_is_udp(d) && !d->is_stopping && !d->is_late &&
	    d->flows_open == 0 && !has_bytes(side)) {
		give_back(d);
		return;
	}
	d->stage = ND_NT_WRAPPING;
	d->has_result = true;
	nd_nt_keep_result(d, side);
	nd_nt_within(d, ND_NT_WRAP_NS);
	if (d->wants_result)
		nd_nt_give_result(d);
	nd_nt_settle(d);
}

/* ---- data ---- */

/* Has a sender spoken that will say when to start? */
static bool is_spoken_for(const struct nd_nt *d)
{
	for (unsigned i = 0; i < d->link_n; i++) {
		if (d->links[i].port_class == ND_NT_SYNC && d->links[i].place > ND_NT_AT_ASK)
			return true;
	}
	return false;
}

/* Data before a word or a token is that of a sender without sync: all others wait for an answer first. It has begun,
 * so this end begins at once. */
static void consider_data(struct nd_nt *d)
{
	if (d->stage == ND_NT_IDLE && d->has_data && d->tokens == 0 && !is_spoken_for(d))
		nd_nt_start_alone(d, ND_NT_NO_SYNC);
}

static void on_data(struct nd_nt *d)
{
	if (d->stage == ND_NT_IDLE)
		d->has_data = true;
	consider_data(d);
}

static void on_flow_open(struct nd_nt *d)
{
	if (d->set->no_sync && d->stage == ND_NT_IDLE)
		nd_nt_start_alone(d, ND_NT_NO_SYNC);
}

/* ---- links come and go ---- */

static void on_up(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	if (ev->port_class == ND_NT_PORT)
		nd_nt_tell_port(d, ev->link);
	else if (!add(d, ev->link, ev->port_class))
		nd_nt_close(d, ev->link);
	else if (ev->port_class == ND_NT_TOKEN)
		nd_nt_token_came(d, ev->link);
}

static void on_message(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	struct nd_nt_link *k = nd_nt_find(d, ev->link);

	if (!k)
		return;
	if (k->port_class == ND_NT_SYNC)
		nd_nt_word_came(d, k, ev);
	else
		nd_nt_token_byte(d, k);
}

static void on_down(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	struct nd_nt_link *k = nd_nt_find(d, ev->link);
	bool is_owner = d->has_owner && d->owner == ev->link;

	if (!k)
		return;
	if (k->port_class == ND_NT_TOKEN && k->place != ND_NT_AT_END)
		d->tokens -= d->tokens > 0; /* its byte never came */
	if (d->has_held && d->held == ev->link)
		d->has_held = false;
	forget(d, ev->link);
	if (is_owner && d->stage == ND_NT_AGREED) {
		give_back(d);
	} else if (is_owner) {
		d->has_owner = false;
		if (d->stage == ND_NT_RUNNING && d->cycle_ns == 0 && !d->is_finishing)
			nd_nt_end_early(d, ND_NT_TAIL_NS, NULL);
	}
	consider_data(d);
	nd_nt_settle(d);
}

/* ---- data ends ---- */

static void on_decide(struct nd_nt *d)
{
	if (d->stage == ND_NT_RUNNING && d->flows_open == 0 && !d->is_finishing)
		nd_nt_end_early(d, 0, NULL);
	else if (d->stage == ND_NT_IDLE && d->has_held)
		nd_nt_tokens_there(d);
}

/* All connections have ended: nothing more will come. Right after the start somebody may only have looked whether
 * the port is open. */
static void on_flows(struct nd_nt *d, uint64_t open)
{
	uint64_t settled_ns = d->start_ns + SETTLE_NS;

	d->flows_open = open;
	if (open > 0 || nd_nt_is_udp(d))
		return;
	if (d->stage == ND_NT_IDLE)
		d->has_data = false;
	if (d->stage != ND_NT_RUNNING)
		return;
	if (d->way == ND_NT_LINUX && !d->is_finishing)
		nd_nt_end_early(d, 0,
				"the sender's connections ended before the time that was agreed");
	else if (d->is_finishing || d->now_ns >= settled_ns)
		nd_nt_finish(d, 0);
	else
		nd_nt_timer(d, ND_NT_DECIDE, settled_ns);
}

/* Datagrams have no end. Where nobody told of them, a stray one must not keep the ports for a whole test; nor must a
 * sender that died, whose sync connection has gone. */
static bool may_fall_silent(const struct nd_nt *d)
{
	if (d->stage != ND_NT_RUNNING || d->is_finishing || !nd_nt_is_udp(d))
		return false;
	if (d->way == ND_NT_LINUX)
		return !d->has_owner && !d->set->multi;
	return d->way == ND_NT_NO_SYNC && !d->set->no_sync;
}

static void on_intervals(struct nd_nt *d, const struct nd_interval_sample *v, uint64_t n)
{
	uint64_t bytes = 0;

	if (n == 0 || !may_fall_silent(d))
		return;
	for (uint64_t i = 0; i < n; i++)
		bytes += v[i].rx_bytes;
	d->mute_s = bytes > 0 ? 0 : d->mute_s + v[0].end_s - v[0].start_s;
	if (d->mute_s * ND_NS_PER_S >= ND_NT_MUTE_NS)
		nd_nt_end_early(d, 0, "no datagrams came any more");
}

/* ---- what else happens ---- */

static void on_stop(struct nd_nt *d, const char *reason)
{
	const char *why = reason ? reason : "stopped";

	if (nd_nt_is_before(d)) {
		nd_nt_fail(d, false, -ECANCELED, "%s before the test began", why);
	} else if (d->stage == ND_NT_WRAPPING) {
		nd_nt_done(d);
	} else if (!d->is_stopping && d->cycle_ns == 0) {
		d->is_stopping = true;
		nd_nt_finish(d, 0); /* which is how a test without limit ends */
	} else if (!d->is_stopping) {
		d->is_stopping = d->is_late = true;
		nd_nt_keep_reason(d, why);
		nd_verbs_add(d->verbs, ND_DO_STOP);
		nd_nt_within(d, ND_NT_OVER_NS);
	}
}

/* Who closes first cuts the other's time. A sender with a clock of its own may have begun a little later. */
static uint64_t tail_ns(const struct nd_nt *d)
{
	return d->way == ND_NT_LINUX || nd_nt_is_udp(d) ? ND_NT_TAIL_NS : ND_NT_ALONE_NS;
}

static void on_deadline(struct nd_nt *d)
{
	switch (d->stage) {
	case ND_NT_AGREED:
		nd_nt_turn_away(d, d->owner);
		give_back(d);
		break;
	case ND_NT_RUNNING:
		if (d->is_finishing || d->is_late)
			nd_nt_late(d);
		else
			nd_nt_finish(d, tail_ns(d));
		break;
	case ND_NT_WRAPPING:
		nd_nt_done(d);
		break;
	default:
		break;
	}
}

void nd_nt_receiver_event(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	switch (ev->what) {
	case ND_DLG_LINK_UP:
		on_up(d, ev);
		break;
	case ND_DLG_MESSAGE:
		on_message(d, ev);
		break;
	case ND_DLG_LINK_DOWN:
		on_down(d, ev);
		break;
	case ND_DLG_TIMER:
		if (ev->timer == ND_NT_DECIDE)
			on_decide(d);
		else
			on_deadline(d);
		break;
	case ND_DLG_FLOW_OPEN:
		on_flow_open(d);
		break;
	case ND_DLG_FIRST_DATA:
		on_data(d);
		break;
	case ND_DLG_INTERVAL:
		on_intervals(d, ev->intervals, ev->intervals_n);
		break;
	case ND_DLG_FLOW_CLOSED:
		on_flows(d, ev->flow);
		break;
	case ND_DLG_RUN_FAILED:
		nd_nt_fail(d, false, ev->err ? ev->err->code : -EIO, "%s",
			   ev->err ? ev->err->text : "the run failed");
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
