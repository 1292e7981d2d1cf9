/* SPDX-License-Identifier: MIT */
/* One test: events go to its dialog, the verbs that come back are carried out, its run is watched. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "session/int.h"

#define READ_NS     (50 * ND_NS_PER_MS) /* between two looks into the diaries */
#define TEARDOWN_NS (5 * ND_NS_PER_S)   /* a run that does not end is joined after this long */

static void leave(struct nd_test *t);

/* ---- the end ---- */

/* What a dialog says after it is over is for its links alone. */
static void end_dialog(struct nd_test *t, enum nd_ending ending)
{
	if (t->is_over)
		return;
	t->is_over = true;
	t->ending = ending;
	if (t->ops->over)
		t->ops->over(t->user);
}

void nd_test_fail(struct nd_test *t, enum nd_ending ending, const struct nd_err *err)
{
	if (t->is_over)
		return;
	t->err = *err;
	end_dialog(t, ending);
	if (!t->is_carrying)
		leave(t);
}

static bool is_run_at_rest(const struct nd_test *t)
{
	return !t->run || t->run_state == ND_RUN_OVER || t->run_state == ND_RUN_FAILED;
}

/* Links flush and go, the run is told to stop; when it has, the test is reaped from the loop. Joining a
 * run that still works would hold up every other test. */
static void leave(struct nd_test *t)
{
	if (t->is_leaving)
		return;
	t->is_leaving = true;
	nd_test_drop_timers(t);
	nd_test_drop_links(t, false);
	if (!is_run_at_rest(t)) {
		nd_run_stop(t->run);
		t->run_state = nd_run_poll(t->run);
	}
	nd_timer_set(t->reaper, is_run_at_rest(t) ? 0 : nd_now_ns() + TEARDOWN_NS);
}

static void drop_run(struct nd_test *t)
{
	nd_watch_free(t->run_watch);
	t->run_watch = NULL;
	nd_run_free(t->run);
	t->run = NULL;
}

static void reap(void *user)
{
	struct nd_test *t = user;

	drop_run(t);
	t->ops->gone(t->user);
}

/* ---- the run ---- */

static void tell_run_failed(struct nd_test *t, const struct nd_err *err)
{
	struct nd_dialog_event ev = { .what = ND_DLG_RUN_FAILED, .err = &t->run_err };

	t->run_err = *err;
	nd_test_queue(t, &ev);
}

static void tell_intervals(struct nd_test *t)
{
	struct nd_interval_sample s[ND_MAX_WORKLOADS];
	struct nd_dialog_event ev = { .what = ND_DLG_INTERVAL, .intervals = s };
	uint32_t known = nd_run_intervals(t->run);

	while (t->intervals_told < known && !t->is_over) {
		uint32_t i = t->intervals_told++;

		for (ev.intervals_n = 0; ev.intervals_n < t->plan->workloads; ev.intervals_n++)
			nd_run_interval(t->run, (unsigned)ev.intervals_n, i, &s[ev.intervals_n]);
		if (t->ops->intervals)
			t->ops->intervals(t->user, true, s, ev.intervals_n);
		nd_test_feed(t, &ev);
	}
}

static void tell_seen(struct nd_test *t)
{
	struct nd_diary_entry e;

	while (t->reader && t->run && nd_run_note(t->run, &e))
		t->ops->seen(t->user, &e);
}

static void on_reader(void *user)
{
	struct nd_test *t = user;

	tell_seen(t);
	if (t->run)
		nd_timer_set(t->reader, nd_now_ns() + READ_NS);
}

/* Once there is a run. -ENOMEM. */
static int begin_to_read(struct nd_test *t)
{
	if (!t->ops->seen || !nd_plan_is_watched(t->plan))
		return 0;
	if (!t->reader && nd_timer_new(t->loop, on_reader, t, &t->reader) < 0)
		return -ENOMEM;
	nd_timer_set(t->reader, nd_now_ns() + READ_NS);
	return 0;
}

static void tell_result(struct nd_test *t)
{
	struct nd_dialog_event ev = { .what = ND_DLG_RESULT, .side = &t->side };
	struct nd_err err = { 0 };

	if (t->told_result)
		return;
	if (nd_outcome_side(t, &err) < 0) {
		nd_test_fail(t, ND_END_FAILED, &err);
		return;
	}
	if (t->ops->measured)
		t->ops->measured(t->user, &t->side);
	t->told_result = true;
	tell_seen(t);
	t->samples_n = nd_run_take_samples(t->run, t->samples, ND_COUNTOF(t->samples));
	nd_test_feed(t, &ev);
}

static void tell_sent(struct nd_test *t)
{
	struct nd_dialog_event ev = { .what = ND_DLG_SENT };

	if (t->told_sent)
		return;
	t->told_sent = true;
	if (t->ops->sent)
		t->ops->sent(t->user);
	nd_test_feed(t, &ev);
}

/* Open-ended runs: some of the flows have ended. */
static void tell_flows(struct nd_test *t)
{
	uint64_t open = 0;

	(void)nd_run_flows_given(t->run, &open);
	if (open != t->flows_told)
		t->ops->flows(t->user, open);
	t->flows_told = open;
}

static void tell_ready(struct nd_test *t)
{
	struct nd_dialog_event ev = { .what = ND_DLG_FLOWS_READY };

	if (t->told_ready)
		return;
	t->told_ready = true;
	t->ready_ns = nd_now_ns();
	if (t->ops->ready)
		t->ops->ready(t->user, nd_run_flows_ready(t->run),
			      (t->ready_ns - t->prepared_ns) / ND_NS_PER_US);
	nd_test_feed(t, &ev);
}

static void on_run(void *user, bool readable, bool writable)
{
	struct nd_test *t = user;
	bool failed_before = t->run_state == ND_RUN_FAILED;

	(void)readable;
	(void)writable;
	t->run_state = nd_run_poll(t->run);
	if (t->is_leaving) {
		if (is_run_at_rest(t))
			nd_timer_set(t->reaper, 0);
		return;
	}
	if (t->run_state == ND_RUN_FAILED) {
		struct nd_dialog_event ev = { .what = ND_DLG_RUN_FAILED, .err = &t->run_err };

		t->run_err = *nd_run_error(t->run);
		if (!failed_before)
			nd_test_feed(t, &ev);
		return;
	}
	if (t->run_state >= ND_RUN_READY)
		tell_ready(t);
	if (t->run_state >= ND_RUN_RUNNING)
		tell_intervals(t);
	if (t->plan->open_ended && t->ops->flows)
		tell_flows(t);
	if (t->run_state >= ND_RUN_SENT)
		tell_sent(t);
	if (t->run_state == ND_RUN_OVER && !t->is_over)
		tell_result(t);
}

static void drop_heard(struct nd_test *t)
{
	for (size_t i = 0; i < ND_COUNTOF(t->heard); i++)
		nd_heard_done(&t->heard[i]);
}

static void hear_intervals(struct nd_test *t, const struct nd_interval_sample *s, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (s[i].workload < t->plan->workloads)
			nd_heard_add(&t->heard[s[i].workload], &s[i]);
	if (t->ops->intervals)
		t->ops->intervals(t->user, false, s, n);
}

static bool get_greeting(const struct nd_test *t, bool datagram, struct nd_greeting *ret)
{
	struct nd_greeting_out g = { 0 };

	if (!t->dialect->greeting(t->dialog, datagram, &g))
		return false;
	*ret = (struct nd_greeting){ .hello_bytes = g.hello_bytes,
				     .flow_at = g.flow_at,
				     .quiet_at = g.quiet_at,
				     .answer_bytes = g.answer_bytes,
				     .answer_flow_at = g.answer_flow_at,
				     .resend_ms = g.resend_ms,
				     .queue = g.queue };
	_Static_assert(sizeof(ret->hello) == sizeof(g.hello) &&
			       sizeof(ret->answer) == sizeof(g.answer),
		       "both ends of the copy have the same room");
	memcpy(ret->hello, g.hello, sizeof(g.hello));
	memcpy(ret->answer, g.answer, sizeof(g.answer));
	return true;
}

static void fill_greeting(struct nd_test *t, struct nd_run_cfg *cfg)
{
	if (t->end == ND_CLIENT && t->dialect->greeting &&
	    get_greeting(t, false, &t->greeting[0]) && get_greeting(t, true, &t->greeting[1]))
		cfg->greeting = t->greeting;
}

static int make_run(struct nd_test *t, uint64_t threads, struct nd_err *err)
{
	struct nd_run_cfg cfg = { .plan = t->plan, .end = t->end };
	int r;

	if (t->run)
		return nd_fail(err, -EALREADY, "the test has a run already");
	if (threads == 0 || threads > ND_MAX_THREADS)
		return nd_fail(err, -EINVAL, "%llu threads are outside 1..%d",
			       (unsigned long long)threads, ND_MAX_THREADS);
	cfg.threads = (uint32_t)threads;
	if (t->local.len > 0 && nd_os_nic_for(&t->local.u.sa, t->nic, sizeof(t->nic)) == 0)
		cfg.nic = t->nic;
	fill_greeting(t, &cfg);
	if (t->ops->prepare)
		t->ops->prepare(t->user, &cfg);
	r = nd_run_check(&cfg, err);
	if (r < 0)
		return r;
	t->prepared_ns = nd_now_ns();
	r = nd_run_new(&cfg, &t->run, err);
	if (r < 0)
		return r;
	t->had_run = true;
	t->run_state = ND_RUN_SETUP;
	r = nd_watch_new(t->loop, nd_run_fd(t->run), on_run, t, &t->run_watch, err);
	if (r == 0 && begin_to_read(t) < 0)
		r = nd_fail(err, -ENOMEM, "no memory for a timer");
	if (r == 0 && t->ops->prepared)
		t->ops->prepared(t->user);
	return r;
}

static void prepare(struct nd_test *t, uint64_t threads)
{
	struct nd_err err = { 0 };

	t->intervals_told = 0;
	drop_heard(t);
	t->told_ready = t->told_sent = t->told_result = false;
	if (make_run(t, threads, &err) < 0)
		tell_run_failed(t, &err);
}

static void start(struct nd_test *t, uint64_t at_ns)
{
	if (!t->run)
		return;
	t->started_unix_ms = nd_unix_ms() + nd_ns_until(at_ns) / ND_NS_PER_MS;
	if (t->ops->start)
		t->ops->start(t->user, at_ns);
	nd_run_start(t->run, at_ns);
}

/* ---- verbs ---- */

static void propose(struct nd_test *t)
{
	struct nd_dialog_event ev = { .what = ND_DLG_PLAN, .plan = t->plan };

	t->refusal = (struct nd_err){ 0 };
	if (t->ops->propose && t->ops->propose(t->user, &t->refusal) < 0)
		ev.reason = t->refusal.text;
	nd_test_queue(t, &ev);
}

static void make_socket(struct nd_test *t)
{
	struct nd_dialog_event ev = { .what = ND_DLG_SOCKET, .socket = &t->socket };

	t->socket = (struct nd_socket_facts){ 0 };
	t->refusal = (struct nd_err){ 0 };
	if (t->ops->socket)
		ev.error = t->ops->socket(t->user, &t->socket, &t->refusal);
	else
		ev.error = nd_fail(&t->refusal, -EOPNOTSUPP, "this session has no data sockets");
	if (ev.error < 0)
		ev.err = &t->refusal;
	nd_test_queue(t, &ev);
}

static void finish(struct nd_test *t, const struct nd_verb_item *v)
{
	if (v->what == ND_DO_FAIL) {
		t->err = v->err;
		end_dialog(t, nd_ending_of(v->peer_fault ? ND_AT_PEER : ND_AT_RUN, v->err.code));
		return;
	}
	t->reason = v->reason;
	t->peer_side = v->peer_side;
	if (v->group)
		t->group = v->group;
	end_dialog(t, v->reason ? ND_END_PARTIAL : ND_END_DONE);
}

/* An open-ended run that has not begun keeps its flows: it reads the plan's times when it starts. */
static void restart(struct nd_test *t, uint64_t threads)
{
	if (t->run && t->plan->open_ended && t->run_state < ND_RUN_RUNNING)
		return;
	drop_run(t);
	nd_arena_done(&t->arena); /* what the last run came to was told */
	t->side = (struct nd_side){ 0 };
	prepare(t, threads);
}

static void carry_run_verb(struct nd_test *t, const struct nd_verb_item *v)
{
	if (v->what == ND_DO_PREPARE) {
		prepare(t, v->threads);
	} else if (v->what == ND_DO_RESTART) {
		restart(t, v->threads);
	} else if (v->what == ND_DO_START) {
		start(t, v->at_ns);
	} else if (v->what == ND_DO_FINISH && t->run) {
		nd_run_finish(t->run, v->quiet_ns, v->deadline_ns);
	} else if (v->what == ND_DO_STOP && t->run) {
		nd_run_stop(t->run);
	}
}

static void carry_group_verb(struct nd_test *t, const struct nd_verb_item *v)
{
	if (v->what == ND_DO_GATHER && t->ops->gather) {
		t->ops->gather(t->user, v->rtt_ns);
	} else if (v->what == ND_DO_MEMBER) {
		t->peer_side = v->peer_side;
		t->reason = v->reason;
		if (t->ops->member)
			t->ops->member(t->user);
	}
}

static void carry_one(struct nd_test *t, const struct nd_verb_item *v)
{
	bool is_over = t->is_over;

	switch (v->what) {
	case ND_DO_SEND:
		nd_test_do_send(t, v);
		break;
	case ND_DO_CLOSE:
		nd_test_do_close(t, v->link);
		break;
	case ND_DO_CONNECT:
		if (!is_over)
			nd_test_do_connect(t, v);
		break;
	case ND_DO_TIMER:
		if (!is_over)
			nd_test_do_timer(t, v->timer, v->at_ns);
		break;
	case ND_DO_PROPOSE:
		if (!is_over)
			propose(t);
		break;
	case ND_DO_SOCKET:
		if (!is_over)
			make_socket(t);
		break;
	case ND_DO_PREPARE:
	case ND_DO_START:
	case ND_DO_RESTART:
	case ND_DO_FINISH:
	case ND_DO_STOP:
		if (!is_over)
			carry_run_verb(t, v);
		break;
	case ND_DO_PEER_INTERVAL:
		if (!is_over)
			hear_intervals(t, v->intervals, v->intervals_n);
		break;
	case ND_DO_NOTE:
		if (!is_over && t->ops->note)
			t->ops->note(t->user, v->err.text);
		break;
	case ND_DO_GATHER:
	case ND_DO_MEMBER:
		if (!is_over)
			carry_group_verb(t, v);
		break;
	case ND_DO_DONE:
	case ND_DO_FAIL:
		finish(t, v);
		break;
	}
}

static void carry_out(struct nd_test *t)
{
	struct nd_err err;

	for (size_t i = 0; i < t->verbs.n; i++)
		carry_one(t, &t->verbs.v[i]);
	if (t->verbs.failed) {
		(void)nd_fail(&err, -ENOMEM, "no memory for the control connection's messages");
		nd_test_fail(t, ND_END_FAILED, &err);
	}
}

/* ---- events ---- */

/* An event that carrying out a verb has caused: its turn comes when the verbs are done. */
void nd_test_queue(struct nd_test *t, const struct nd_dialog_event *ev)
{
	struct nd_err err;

	if (t->queued < ND_TEST_EVENTS) {
		t->queue[t->queued++] = *ev;
		return;
	}
	(void)nd_fail(&err, -EPROTO, "the dialog runs in circles");
	nd_test_fail(t, ND_END_FAILED, &err);
}

void nd_test_feed(struct nd_test *t, const struct nd_dialog_event *ev)
{
	if (t->is_over)
		return;
	nd_test_queue(t, ev);
	if (t->is_carrying)
		return;
	t->is_carrying = true;
	while (t->queued > 0 && !t->is_over) {
		struct nd_dialog_event next = t->queue[0];

		t->queued--;
		memmove(t->queue, t->queue + 1, t->queued * sizeof(t->queue[0]));
		next.now_ns = nd_now_ns();
		nd_verbs_reset(&t->verbs);
		t->dialect->event(t->dialog, &next, &t->verbs);
		carry_out(t);
	}
	t->is_carrying = false;
	if (t->is_over)
		leave(t);
}

void nd_test_stop(struct nd_test *t, const char *reason)
{
	struct nd_dialog_event ev = { .what = ND_DLG_STOP, .reason = t->stop_reason };

	if (t->is_over)
		return;
	(void)snprintf(t->stop_reason, sizeof(t->stop_reason), "%s",
		       reason); /* a long one is cut */
	nd_test_feed(t, &ev);
}

/* ---- birth and death ---- */

int nd_test_init(struct nd_test *t, struct nd_loop *l, const struct nd_dialect *d,
		 const struct nd_test_ops *ops, void *user, struct nd_err *err)
{
	*t = (struct nd_test){ .loop = l, .dialect = d, .ops = ops, .user = user };
	t->dialog = calloc(1, d->state_bytes);
	if (!t->dialog || nd_timer_new(l, reap, t, &t->reaper) < 0) {
		free(t->dialog);
		t->dialog = NULL;
		return nd_fail(err, -ENOMEM, "no memory for a test");
	}
	return 0;
}

int nd_test_open(struct nd_test *t, const struct nd_dialog_cfg *cfg, struct nd_err *err)
{
	struct nd_dialog_cfg full = *cfg;
	struct nd_dialog_event ev = { .what = ND_DLG_OPEN };
	int r;

	full.end = t->end;
	full.plan = t->plan;
	full.boot_id = t->here->host.boot_id;
	full.netns_id = t->here->host.netns_id;
	full.hostname = t->here->host.hostname;
	full.cpus = t->here->host.cpus_allowed;
	if (t->threads_max)
		full.cpus = ND_MIN(full.cpus, t->threads_max);
	r = t->dialect->open(t->dialog, &full, err);
	if (r < 0)
		return r;
	t->is_open = true;
	nd_test_feed(t, &ev);
	return 0;
}

void nd_test_done(struct nd_test *t)
{
	if (!t || !t->dialog)
		return;
	drop_run(t);
	nd_test_drop_links(t, true);
	nd_test_drop_timers(t);
	nd_timer_free(t->reaper);
	nd_timer_free(t->reader);
	for (size_t i = 0; i < t->samples_n; i++)
		nd_samples_free(t->samples[i]);
	t->samples_n = 0;
	if (t->is_open && t->dialect->close)
		t->dialect->close(t->dialog);
	free(t->dialog);
	t->dialog = NULL;
	nd_verbs_done(&t->verbs);
	drop_heard(t);
	nd_arena_done(&t->arena);
}
