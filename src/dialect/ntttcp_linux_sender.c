/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's sender. It finds out which receiver it has: one that listens beside the data ports is asked in words
 * (this file), any other is tried the Windows way (ntttcp_windows_sender.c).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dialect/ntttcp.h"

/* ---- the receivers ---- */

static bool is_same_host(const struct nd_target *a, const struct nd_target *b)
{
	return (!a->host && !b->host) || (a->host && b->host && !strcmp(a->host, b->host));
}

static bool is_new_host(const struct nd_nt *d, const struct nd_target *list, unsigned i)
{
	for (unsigned k = 0; k < d->target_n; k++) {
		if (is_same_host(&list[d->targets[k].index], &list[i]))
			return false;
	}
	return true;
}

/* Several mappings to one host have one receiver. */
int nd_nt_sender_open(struct nd_nt *d, struct nd_err *err)
{
	const struct nd_target *list = d->plan->targets.v;
	uint64_t n = d->plan->targets.n;

	if (n == 0)
		d->target_n = 1;
	for (unsigned i = 0; i < n; i++) {
		if (!is_new_host(d, list, i))
			continue;
		if (d->target_n == ND_NT_TARGET_MAX)
			return nd_fail(err, -E2BIG, "one sender serves at most %u receivers",
				       ND_NT_TARGET_MAX);
		d->targets[d->target_n++].index = i;
	}
	if (d->set->dynamic_ports && d->target_n > 1)
		return nd_fail(err, -EINVAL, "-sp works with one receiver only");
	return 0;
}

/* Give all receivers a word; each answer is awaited. */
static void ask_all(struct nd_nt *d, uint32_t word)
{
	d->pending = 0;
	for (unsigned i = 0; i < d->target_n; i++) {
		struct nd_nt_target *t = &d->targets[i];

		t->is_answered = false;
		if (!t->is_up)
			continue;
		d->pending++;
		nd_nt_say(d, i, word);
	}
}

static void count_answer(struct nd_nt *d, struct nd_nt_target *t)
{
	if (t->is_answered)
		return;
	t->is_answered = true;
	d->pending -= d->pending > 0;
}

static unsigned up_n(const struct nd_nt *d)
{
	unsigned n = 0;

	for (unsigned i = 0; i < d->target_n; i++)
		n += d->targets[i].is_up;
	return n;
}

/* There is no receiver beside the data ports, or none that one can talk to. */
static void go_windows(struct nd_nt *d)
{
	for (unsigned i = 0; i < d->target_n; i++) {
		if (d->targets[i].is_up || !d->targets[i].is_tried)
			nd_nt_close(d, i);
		d->targets[i].is_up = false;
	}
	d->is_guess = !d->set->windows;
	nd_nt_windows_begin(d);
}

static void lose(struct nd_nt *d, int error, const char *during)
{
	nd_nt_fail(d, true, error ? error : -ECONNRESET,
		   "the receiver closed the sync connection %s", during);
}

/* ---- connecting ---- */

static void connect_all(struct nd_nt *d)
{
	for (unsigned i = 0; i < d->target_n; i++) {
		struct nd_verb_item *v = nd_verbs_add(d->verbs, ND_DO_CONNECT);

		v->port_class = ND_NT_SYNC;
		v->index = d->targets[i].index;
		v->link = i;
	}
	if (d->set->windows)
		nd_nt_within(d, ND_NT_PROBE_NS);
}

static void begin(struct nd_nt *d)
{
	const struct nd_ntttcp *set = d->set;

	if (set->no_sync)
		d->way = ND_NT_NO_SYNC;
	if (set->dynamic_ports)
		nd_nt_ports_begin(d);
	else if (set->no_sync)
		nd_nt_sender_ports_read(d);
	else if (set->windows && d->target_n > 1)
		nd_nt_windows_begin(d); /* their ports run on, so a sync port has no fixed place */
	else
		connect_all(d);
}

void nd_nt_sender_ports_read(struct nd_nt *d)
{
	if (d->way != ND_NT_NO_SYNC) {
		nd_nt_windows_begin(d);
		return;
	}
	d->stage = ND_NT_PREPARING;
	nd_nt_data_first(d);
	nd_nt_prepare(d, nd_nt_own_ns(d->set));
}

/* A source address that is not this machine's: scripts expect the code of a receiver that is not reached. */
static int code_of(const struct nd_nt *d, int code)
{
	return code == -EADDRNOTAVAIL && d->set->client_address ? -ENOTCONN : code;
}

static void settle_links(struct nd_nt *d)
{
	unsigned up = up_n(d), i;
	bool is_other = d->set->windows || (d->link_error == -ECONNREFUSED && d->target_n == 1);
	char words[96];

	for (i = 0; i < d->target_n; i++) {
		if (!d->targets[i].is_tried)
			return;
	}
	if (up == d->target_n) {
		d->stage = ND_NT_ASKING;
		ask_all(d, ND_NT_ASK);
		nd_nt_within(d, d->set->windows ? ND_NT_PROBE_NS : ND_NT_ANSWER_NS);
	} else if (up == 0 && is_other) {
		go_windows(d);
	} else if (d->why.text[0]) {
		nd_nt_fail(d, true, code_of(d, d->link_error), "%s", d->why.text);
	} else {
		nd_nt_fail(d, true, d->link_error, "no sync connection: %s",
			   nd_strerror(d->link_error, words, sizeof(words)));
	}
}

static void on_link_up(struct nd_nt *d, struct nd_nt_target *t)
{
	if (d->stage != ND_NT_CONNECTING)
		return;
	t->is_up = t->is_tried = true;
	settle_links(d);
}

/* ---- agreeing ---- */

static bool is_command(uint64_t word)
{
	return word == ND_NT_STOP || word == ND_NT_LAST || word == ND_NT_START || word == ND_NT_ASK;
}

static bool all_ours(const struct nd_nt *d)
{
	for (unsigned i = 0; i < d->target_n; i++) {
		if (!d->targets[i].is_ours)
			return false;
	}
	return true;
}

static void propose(struct nd_nt *d)
{
	uint64_t cycle_s = ND_MIN(nd_nt_own_s(d->set), ND_MAX_NS / ND_NS_PER_S);

	d->way = ND_NT_LINUX;
	d->stage = ND_NT_AGREEING;
	d->agreed_s = 0;
	d->is_bumped = is_command(cycle_s) && !all_ours(d);
	ask_all(d, (uint32_t)cycle_s + d->is_bumped);
	nd_nt_within(d, ND_NT_ANSWER_NS);
}

static void on_state(struct nd_nt *d, struct nd_nt_target *t, uint32_t state)
{
	if (state == ND_NT_BUSY) {
		nd_nt_fail(d, true, -EBUSY, "the receiver is busy with another test");
		return;
	}
	if (d->set->windows && (state < ND_NT_OURS || state > ND_NT_FINISHED)) {
		go_windows(d); /* something else lives on that port */
		return;
	}
	t->is_ours = state == ND_NT_OURS;
	count_answer(d, t);
	if (d->pending == 0)
		propose(d);
}

/* The longest of the receivers' answers; 0, without limit, is the longest of all. */
static void on_time(struct nd_nt *d, struct nd_nt_target *t, int32_t agreed_s)
{
	uint64_t proposed_s = nd_nt_own_s(d->set) + d->is_bumped, cycle_ns;

	if (agreed_s < 0) {
		nd_nt_fail(d, true, -EPROTO, "the receiver answered with a time of %d s", agreed_s);
		return;
	}
	if (d->pending == d->target_n)
		d->agreed_s = agreed_s;
	else if (d->agreed_s != 0)
		d->agreed_s = agreed_s ? ND_MAX(d->agreed_s, agreed_s) : 0;
	count_answer(d, t);
	if (d->pending > 0)
		return;
	cycle_ns = (uint64_t)d->agreed_s * ND_NS_PER_S;
	if (cycle_ns > 0 && (uint64_t)d->agreed_s == proposed_s)
		cycle_ns = nd_nt_own_ns(d->set);
	if (!d->set->windows && (uint64_t)d->agreed_s * 1000 != d->set->time_ms)
		nd_nt_agreed(d, d->agreed_s);
	d->stage = ND_NT_PREPARING;
	nd_nt_within(d, UINT64_MAX); /* the run has a patience of its own */
	nd_nt_keep_open(d, !all_ours(d));
	nd_nt_prepare(d, cycle_ns);
}

/* ---- starting ---- */

void nd_nt_sender_start(struct nd_nt *d)
{
	nd_nt_start(d);
	nd_nt_within(d, d->cycle_ns > 0 ? d->cycle_ns + 2 * ND_NT_OVER_NS : UINT64_MAX);
}

static void on_flows_ready(struct nd_nt *d)
{
	if (d->stage != ND_NT_PREPARING)
		return;
	if (d->way == ND_NT_NO_SYNC) {
		nd_nt_sender_start(d);
	} else if (d->way == ND_NT_WINDOWS) {
		nd_nt_windows_ready(d);
	} else {
		d->stage = ND_NT_STARTING;
		ask_all(d, d->set->last ? ND_NT_LAST : ND_NT_START);
		nd_nt_within(d, ND_NT_GO_NS);
	}
}

static void on_go(struct nd_nt *d, struct nd_nt_target *t, uint32_t word)
{
	if (word == ND_NT_WAIT) {
		nd_nt_within(d, UINT64_MAX); /* until the last sender comes */
	} else if (word == ND_NT_START) {
		count_answer(d, t);
		if (d->pending == 0)
			nd_nt_sender_start(d);
	} else if (word == ND_NT_STOP) {
		nd_nt_fail(d, true, -ECONNREFUSED, "the receiver rejected the test");
	} else {
		nd_nt_fail(d, true, -EPROTO,
			   "the receiver is not ready: it answered the start with %d%s",
			   (int32_t)word,
			   d->set->last ? " (does it wait for several senders, -M?)" : "");
	}
}

/* ---- ending ---- */

/* Results among our own ends: each end's report has both. */
static void trade(struct nd_nt *d)
{
	if (d->target_n != 1 || !d->targets[0].is_up || !d->targets[0].is_ours ||
	    d->mine.len == 0) {
		nd_nt_done(d);
		return;
	}
	d->stage = ND_NT_TRADING;
	nd_nt_say(d, 0, ND_NT_RESULT);
	nd_nt_within(d, ND_NT_ANSWER_NS);
}

static void tell_stop(struct nd_nt *d)
{
	if (d->told_stop)
		return;
	d->told_stop = true;
	ask_all(d, ND_NT_STOP);
}

static void on_result(struct nd_nt *d, const struct nd_side *side)
{
	uint64_t agreed_ns = (uint64_t)d->agreed_s * ND_NS_PER_S;

	if (d->stage != ND_NT_RUNNING || d->has_result)
		return;
	d->has_result = true;
	nd_nt_keep_result(d, side);
	if (d->way == ND_NT_LINUX && (d->cycle_ns == 0 || d->plan->duration_ns < agreed_ns))
		tell_stop(d);
	if (d->pending > 0) {
		d->stage = ND_NT_ENDING;
		nd_nt_within(d, ND_NT_STOP_NS);
	} else if (d->plan->keep_open && !d->told_stop && !d->is_stopping) {
		d->stage = ND_NT_LINGERING;
		nd_nt_within(d, ND_NT_LINGER_NS);
	} else {
		trade(d);
	}
}

/* An old receiver answers the last sender twice: its second R is of no use. */
static void on_end_word(struct nd_nt *d, struct nd_nt_target *t, uint32_t word)
{
	if (!d->told_stop || word == ND_NT_START)
		return;
	count_answer(d, t);
	if (d->stage == ND_NT_ENDING && d->pending == 0)
		trade(d);
}

static void on_trade(struct nd_nt *d, const uint8_t *data, size_t n)
{
	int r;

	if (!d->has_asked) {
		uint32_t word = n == ND_NT_WORD_BYTES ? nd_nt_word_of(data) : 0;

		d->has_asked = word == ND_NT_RESULT;
		if (!d->has_asked && word != ND_NT_START)
			nd_nt_done(d);
		return;
	}
	r = nd_nt_take_result(d, data, n);
	if (r == 0)
		return;
	if (r > 0)
		nd_verbs_send(d->verbs, 0, d->mine.data, d->mine.len);
	nd_nt_done(d);
}

static void stop_run(struct nd_nt *d, const char *reason)
{
	d->is_stopping = true;
	if (d->cycle_ns > 0 || !d->set->continuous)
		nd_nt_keep_reason(d, reason);
	d->is_late = true;
	nd_verbs_add(d->verbs, ND_DO_STOP);
	nd_nt_within(d, ND_NT_OVER_NS);
}

static void on_stop(struct nd_nt *d, const char *reason)
{
	const char *why = reason ? reason : "stopped";

	switch (d->stage) {
	case ND_NT_RUNNING:
		if (d->is_stopping)
			return;
		stop_run(d, why);
		if (d->way == ND_NT_LINUX)
			tell_stop(d);
		break;
	case ND_NT_ENDING:
	case ND_NT_TRADING:
	case ND_NT_LINGERING:
		nd_nt_done(d);
		break;
	default:
		nd_nt_fail(d, false, -ECANCELED, "%s before the test began", why);
		break;
	}
}

/* ---- what goes wrong ---- */

static void on_run_lost(struct nd_nt *d, struct nd_nt_target *t)
{
	bool is_early = d->cycle_ns == 0 || nd_nt_missing_ns(d) > ND_NT_LOST_NS;

	if (d->told_stop)
		count_answer(d, t);
	if (up_n(d) == 0 && is_early && !d->is_stopping)
		stop_run(d, "the receiver closed the sync connection before the end");
}

static void on_sync_down(struct nd_nt *d, struct nd_nt_target *t, const struct nd_dialog_event *ev)
{
	t->is_up = false;
	switch (d->stage) {
	case ND_NT_CONNECTING:
		t->is_tried = true;
		d->link_error = ev->error ? ev->error : -ECONNRESET;
		if (ev->err)
			d->why = *ev->err;
		settle_links(d);
		break;
	case ND_NT_ASKING:
		if (d->set->windows)
			go_windows(d);
		else
			lose(d, ev->error, "instead of answering");
		break;
	case ND_NT_RUNNING:
		on_run_lost(d, t);
		break;
	case ND_NT_ENDING:
		count_answer(d, t);
		if (d->pending == 0)
			trade(d);
		break;
	case ND_NT_TRADING:
		nd_nt_done(d);
		break;
	case ND_NT_LINGERING:
		if (up_n(d) == 0)
			nd_nt_done(d); /* they have all ended */
		break;
	default:
		if (d->way == ND_NT_LINUX)
			lose(d, ev->error, "before the start");
		break;
	}
}

static void on_run_failed(struct nd_nt *d, const struct nd_err *err)
{
	static const int faults[] = { -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -ENETUNREACH,
				      -ECONNRESET };
	int code = err ? err->code : -EIO;
	const char *text = err ? err->text : "the run failed";
	bool is_peers = code_of(d, code) != code;

	for (size_t i = 0; i < ND_COUNTOF(faults); i++)
		is_peers = is_peers || code == faults[i];
	if (d->is_guess && d->why.text[0] && code == d->why.code)
		nd_nt_fail(d, is_peers, code, "%s", d->why.text); /* nobody is there */
	else if (d->is_guess && d->why.text[0])
		nd_nt_fail(d, is_peers, code, "%s; and %s", d->why.text, text);
	else
		nd_nt_fail(d, is_peers, code_of(d, code), "%s", text);
}

static void on_deadline(struct nd_nt *d)
{
	bool is_probe = d->set->windows;

	switch (d->stage) {
	case ND_NT_CONNECTING:
	case ND_NT_ASKING:
		if (is_probe)
			go_windows(d);
		else
			nd_nt_fail(d, true, -ETIMEDOUT,
				   "no answer on the sync connection: is it an NTttcp receiver?");
		break;
	case ND_NT_PORTS:
	case ND_NT_TOKENS:
		nd_nt_small_late(d);
		break;
	case ND_NT_RUNNING:
		nd_nt_late(d);
		break;
	case ND_NT_ENDING:
	case ND_NT_TRADING:
	case ND_NT_LINGERING:
		nd_nt_done(d);
		break;
	default:
		nd_nt_fail(d, true, -ETIMEDOUT, "the receiver has stopped answering");
		break;
	}
}

/* ---- events ---- */

static void on_word(struct nd_nt *d, struct nd_nt_target *t, const struct nd_dialog_event *ev)
{
	uint32_t word = ev->n == ND_NT_WORD_BYTES ? nd_nt_word_of(ev->data) : 0;

	switch (d->stage) {
	case ND_NT_ASKING:
		on_state(d, t, word);
		break;
	case ND_NT_AGREEING:
		on_time(d, t, (int32_t)word);
		break;
	case ND_NT_STARTING:
		on_go(d, t, word);
		break;
	case ND_NT_RUNNING:
	case ND_NT_ENDING:
		on_end_word(d, t, word);
		break;
	case ND_NT_TRADING:
		on_trade(d, ev->data, ev->n);
		break;
	default:
		break;
	}
}

static void on_link(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	struct nd_nt_target *t;

	if (ev->link >= ND_NT_SMALL_LINK) {
		nd_nt_small_event(d, ev);
		return;
	}
	if (ev->link >= d->target_n)
		return;
	t = &d->targets[ev->link];
	if (ev->what == ND_DLG_LINK_UP)
		on_link_up(d, t);
	else if (ev->what == ND_DLG_LINK_DOWN)
		on_sync_down(d, t, ev);
	else if (t->is_up)
		on_word(d, t, ev);
}

void nd_nt_sender_event(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	switch (ev->what) {
	case ND_DLG_OPEN:
		begin(d);
		break;
	case ND_DLG_LINK_UP:
	case ND_DLG_LINK_DOWN:
	case ND_DLG_MESSAGE:
		on_link(d, ev);
		break;
	case ND_DLG_TIMER:
		if (ev->timer == ND_NT_DEADLINE)
			on_deadline(d);
		else
			nd_nt_small_event(d, ev);
		break;
	case ND_DLG_FLOWS_READY:
		on_flows_ready(d);
		break;
	case ND_DLG_RUN_FAILED:
		on_run_failed(d, ev->err);
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
