/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's receiver. It is not told what kind of sender will come: a word on the sync port, a token connection,
 * or data without either decides. Words are taken by their place, not by their value: a time of 69, 76, 82 or 88
 * seconds looks like a command.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/ntttcp.h"

#define SETTLE_NS ND_NS_PER_S /* by then a test has connections */

/* ---- links ---- */

static struct nd_nt_link *find(const struct nd_nt *d, unsigned number)
{
	for (unsigned i = 0; i < d->link_n; i++) {
		if (d->links[i].number == number)
			return &d->links[i];
	}
	return NULL;
}

static struct nd_nt_link *add(struct nd_nt *d, unsigned number, unsigned port_class)
{
	if (d->link_n == ND_NT_LINKS_MAX)
		return NULL;
	if (d->link_n == d->link_room) {
		unsigned room = d->link_room ? d->link_room * 2 : 16;
		struct nd_nt_link *more = reallocarray(d->links, room, sizeof(*more));

		if (!more)
			return NULL;
		d->links = more;
		d->link_room = room;
	}
	d->links[d->link_n] = (struct nd_nt_link){ .number = number, .port_class = port_class };
	return &d->links[d->link_n++];
}

static void forget(struct nd_nt *d, unsigned number)
{
	struct nd_nt_link *k = find(d, number);

	if (k)
		*k = d->links[--d->link_n];
}

static void turn_away(struct nd_nt *d, unsigned number)
{
	nd_nt_close(d, number);
	forget(d, number);
}

/* ---- which test ---- */

static bool is_before(const struct nd_nt *d)
{
	return d->stage == ND_NT_IDLE || d->stage == ND_NT_AGREED;
}

static void start(struct nd_nt *d)
{
	nd_nt_start(d);
	nd_nt_timer(d, ND_NT_DECIDE, UINT64_MAX);
	nd_nt_within(d, d->cycle_ns > 0 ? d->cycle_ns : UINT64_MAX);
}

/* Both clocks are their own: each end runs the time it was told. */
static void start_alone(struct nd_nt *d, enum nd_nt_way way)
{
	d->way = way;
	nd_nt_prepare(d, nd_nt_own_ns(d->set));
	start(d);
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
static void end_early(struct nd_nt *d, uint64_t tail_ns, const char *reason)
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

static void settle(struct nd_nt *d)
{
	if (d->stage == ND_NT_WRAPPING && (d->is_stopping || !has_guests(d)))
		nd_nt_done(d);
}

static void give_result(struct nd_nt *d)
{
	struct nd_nt_link *k = d->has_owner ? find(d, d->owner) : NULL;

	d->wants_result = false;
	if (!k)
		return;
	if (d->mine.len == 0) {
		turn_away(d, k->number);
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
		give_result(d);
	settle(d);
}

/* ---- words ---- */

static uint32_t state_of(const struct nd_nt *d, const struct nd_nt_link *k)
{
	bool is_busy = !is_before(d) || (d->has_owner && d->owner != k->number);

	if (is_busy)
		return ND_NT_BUSY;
	return d->set->multi ? ND_NT_FREE : ND_NT_OURS;
}

static int32_t agree(const struct nd_nt *d, int32_t proposed_s)
{
	const struct nd_ntttcp *set = d->set;
	bool is_endless = set->continuous || (set->buffers > 0 && !set->has_time);
	uint64_t own = is_endless ? 0 : (set->time_ms + 999) / 1000;
	int32_t own_s = (int32_t)ND_MIN(own, ND_MAX_NS / ND_NS_PER_S);

	if (set->multi)
		return own_s;
	if (proposed_s > 0 && !set->has_time)
		return proposed_s; /* nobody asked this end for another one */
	if (proposed_s == 0 || own_s == 0)
		return 0;
	return ND_MAX(own_s, proposed_s);
}

static void on_ask(struct nd_nt *d, struct nd_nt_link *k, uint32_t word)
{
	uint32_t state = state_of(d, k);

	if (word != ND_NT_ASK) {
		turn_away(d, k->number); /* not a sender */
		return;
	}
	nd_nt_say(d, k->number, state);
	if (state != ND_NT_BUSY)
		k->place = ND_NT_AT_TIME;
}

static void prepare_agreed(struct nd_nt *d)
{
	nd_nt_prepare(d, (uint64_t)d->agreed_s * ND_NS_PER_S);
}

static void on_time(struct nd_nt *d, struct nd_nt_link *k, int32_t proposed_s)
{
	bool is_its = d->set->multi || !d->has_owner || d->owner == k->number;

	k->place = ND_NT_AT_START;
	if (is_before(d) && is_its) {
		d->agreed_s = agree(d, proposed_s);
		d->way = ND_NT_LINUX;
		d->stage = ND_NT_AGREED;
		if (!d->set->multi) {
			d->has_owner = true;
			d->owner = k->number;
			nd_nt_within(d, ND_NT_SILENT_NS);
		}
		if (!d->set->windows && !d->set->multi &&
		    (uint64_t)d->agreed_s * 1000 > d->set->time_ms)
			nd_nt_agreed(d, d->agreed_s);
		nd_nt_timer(d, ND_NT_DECIDE, UINT64_MAX);
		if (!d->set->any_transport)
			prepare_agreed(d);
	}
	nd_nt_say(d, k->number, (uint32_t)d->agreed_s);
}

/* Connections stand, or there are none and datagrams will come: now the transport is known. */
static void start_agreed(struct nd_nt *d)
{
	if (d->set->any_transport)
		prepare_agreed(d);
	start(d);
}

/* The last sender is there: all begin. It gets one R, not the two of old receivers, the second of which nobody
 * reads. */
static void start_all(struct nd_nt *d, struct nd_nt_link *last)
{
	start_agreed(d);
	last->is_waiting = true;
	for (unsigned i = 0; i < d->link_n; i++) {
		struct nd_nt_link *k = &d->links[i];

		if (!k->is_waiting)
			continue;
		k->is_waiting = false;
		k->place = ND_NT_AT_END;
		nd_nt_say(d, k->number, ND_NT_START);
	}
}

static void on_start(struct nd_nt *d, struct nd_nt_link *k, uint32_t word)
{
	bool is_multi = d->set->multi;
	bool is_ready = d->stage == ND_NT_AGREED && (is_multi || d->owner == k->number);

	if (is_ready && is_multi && word == ND_NT_LAST) {
		start_all(d, k);
	} else if (is_ready && is_multi && word == ND_NT_START) {
		k->is_waiting = true;
		nd_nt_say(d, k->number, ND_NT_WAIT);
	} else if (is_ready && word == ND_NT_START) {
		start_agreed(d);
		k->place = ND_NT_AT_END;
		nd_nt_say(d, k->number, ND_NT_START);
	} else if (is_ready && word != ND_NT_LAST && word != ND_NT_STOP && !k->is_waiting) {
		on_time(d, k, (int32_t)word); /* it has thought better of its time */
	} else {
		nd_nt_say(d, k->number, ND_NT_STOP);
	}
}

static void on_end(struct nd_nt *d, struct nd_nt_link *k, uint32_t word)
{
	bool is_over = d->stage != ND_NT_RUNNING || d->is_finishing;

	if (word == ND_NT_STOP) {
		nd_nt_say(d, k->number, ND_NT_FINISHED);
		if (!is_over)
			end_early(d, ND_NT_TAIL_NS,
				  d->cycle_ns > 0 ? "the sender stopped the test" : NULL);
	} else if (word == ND_NT_RESULT && d->has_owner && d->owner == k->number) {
		if (!is_over)
			end_early(d, ND_NT_TAIL_NS, NULL); /* all is sent */
		d->wants_result = true;
		if (d->stage == ND_NT_WRAPPING)
			give_result(d);
		settle(d);
	} else if (word == ND_NT_ASK) {
		nd_nt_say(d, k->number, is_over ? ND_NT_FINISHED : ND_NT_BUSY);
	}
}

static void on_sync(struct nd_nt *d, struct nd_nt_link *k, const struct nd_dialog_event *ev)
{
	uint32_t word;

	if (k->place == ND_NT_AT_RESULT) {
		if (nd_nt_take_result(d, ev->data, ev->n) != 0)
			nd_nt_done(d); /* with it, or without when it was none */
		return;
	}
	if (ev->n != ND_NT_WORD_BYTES) {
		turn_away(d, ev->link);
		return;
	}
	word = nd_nt_word_of(ev->data);
	if (k->place == ND_NT_AT_ASK)
		on_ask(d, k, word);
	else if (k->place == ND_NT_AT_TIME)
		on_time(d, k, (int32_t)word);
	else if (k->place == ND_NT_AT_START)
		on_start(d, k, word);
	else
		on_end(d, k, word);
}

/* ---- tokens ---- */

static void answer_held(struct nd_nt *d)
{
	const uint8_t token = ND_NT_TOKEN_BYTE;
	struct nd_nt_link *k = d->has_held ? find(d, d->held) : NULL;

	d->has_held = false;
	if (!k)
		return;
	nd_verbs_send(d->verbs, k->number, &token, 1);
	if (k->place == ND_NT_AT_END)
		turn_away(d, k->number);
	else
		k->place = ND_NT_AT_START;
}

/* Both bytes have crossed: the connection has done its work. */
static void on_token_byte(struct nd_nt *d, struct nd_nt_link *k)
{
	if (k->place == ND_NT_AT_START)
		turn_away(d, k->number);
	else
		k->place = ND_NT_AT_END;
}

static void start_windows(struct nd_nt *d)
{
	start_alone(d, ND_NT_WINDOWS);
	answer_held(d);
}

/* A sender begins when its last token is answered. So the one that came last is not, until it is clear that no
 * other will come; a sender may have fewer threads than there are ports. Who only looks whether a port is open
 * does not stay. */
static void on_token(struct nd_nt *d, unsigned link)
{
	if (d->stage != ND_NT_IDLE && d->way == ND_NT_LINUX) {
		turn_away(d, link); /* somebody else's test */
		return;
	}
	answer_held(d);
	d->has_held = true;
	d->held = link;
	d->tokens++;
	if (d->stage != ND_NT_IDLE)
		answer_held(d);
	else
		nd_nt_timer(d, ND_NT_DECIDE,
			    d->now_ns +
				    (d->tokens < d->set->ports ? ND_NT_GATHER_NS : ND_NT_LOOK_NS));
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
		start_alone(d, ND_NT_NO_SYNC);
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
		start_alone(d, ND_NT_NO_SYNC);
}

/* ---- links come and go ---- */

static void tell_port(struct nd_nt *d, unsigned link)
{
	uint64_t port = d->plan->data_port + d->ports_told;
	const uint8_t data[ND_NT_WORD_BYTES] = { (uint8_t)port, (uint8_t)(port >> 8) };

	if (d->ports_told < d->set->ports) {
		d->ports_told++;
		nd_verbs_send(d->verbs, link, data, sizeof(data));
	}
	nd_nt_close(d, link);
}

static void on_up(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	if (ev->port_class == ND_NT_PORT)
		tell_port(d, ev->link);
	else if (!add(d, ev->link, ev->port_class))
		nd_nt_close(d, ev->link);
	else if (ev->port_class == ND_NT_TOKEN)
		on_token(d, ev->link);
}

static void on_message(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	struct nd_nt_link *k = find(d, ev->link);

	if (!k)
		return;
	if (k->port_class == ND_NT_SYNC)
		on_sync(d, k, ev);
	else
		on_token_byte(d, k);
}

static void on_down(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	struct nd_nt_link *k = find(d, ev->link);
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
			end_early(d, ND_NT_TAIL_NS, NULL);
	}
	consider_data(d);
	settle(d);
}

/* ---- data ends ---- */

static void on_decide(struct nd_nt *d)
{
	if (d->stage == ND_NT_RUNNING && d->flows_open == 0 && !d->is_finishing)
		end_early(d, 0, NULL);
	else if (d->stage == ND_NT_IDLE && d->has_held)
		start_windows(d);
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
		end_early(d, 0, "the sender's connections ended before the time that was agreed");
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
		end_early(d, 0, "no datagrams came any more");
}

/* ---- what else happens ---- */

static void on_stop(struct nd_nt *d, const char *reason)
{
	const char *why = reason ? reason : "stopped";

	if (is_before(d)) {
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
		turn_away(d, d->owner);
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
