/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's receiver, the Linux way: words on the sync connection. They are taken by their place, not by their value: a
 * time of 69, 76, 82 or 88 seconds looks like a command.
 */
#include "dialect/ntttcp.h"

static uint32_t state_of(const struct nd_nt *d, const struct nd_nt_link *k)
{
	bool is_busy = !nd_nt_is_before(d) || (d->has_owner && d->owner != k->number);

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
		nd_nt_turn_away(d, k->number); /* not a sender */
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
	if (nd_nt_is_before(d) && is_its) {
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
	nd_nt_begin(d);
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
			nd_nt_end_early(d, ND_NT_TAIL_NS,
					d->cycle_ns > 0 ? "the sender stopped the test" : NULL);
	} else if (word == ND_NT_RESULT && d->has_owner && d->owner == k->number) {
		if (!is_over)
			nd_nt_end_early(d, ND_NT_TAIL_NS, NULL); /* all is sent */
		d->wants_result = true;
		if (d->stage == ND_NT_WRAPPING)
			nd_nt_give_result(d);
		nd_nt_settle(d);
	} else if (word == ND_NT_ASK) {
		nd_nt_say(d, k->number, is_over ? ND_NT_FINISHED : ND_NT_BUSY);
	}
}

void nd_nt_word_came(struct nd_nt *d, struct nd_nt_link *k, const struct nd_dialog_event *ev)
{
	uint32_t word;

	if (k->place == ND_NT_AT_RESULT) {
		if (nd_nt_take_result(d, ev->data, ev->n) != 0)
			nd_nt_done(d); /* with it, or without when it was none */
		return;
	}
	if (ev->n != ND_NT_WORD_BYTES) {
		nd_nt_turn_away(d, ev->link);
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
