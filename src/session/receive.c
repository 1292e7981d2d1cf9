/* SPDX-License-Identifier: MIT */
/* A session that is a tool's receiver and nothing else. */
#include <errno.h>
#include <stdio.h>

#include "base/time.h"
#include "plan/ntttcp.h"
#include "session/receiver.h"

#define TWIN_NS (300 * ND_NS_PER_MS) /* one key press may reach us twice, by way of a shell */
#define STOP_NS (5 * ND_NS_PER_S)    /* a test that does not end after an interrupt */

struct receive {
	struct nd_receiver receiver[2]; /* of the plan, and of its twin if there is one */
	unsigned receiver_n, ready_n, ended_n;
	const struct nd_session *how; /* borrowed */
	struct nd_sink sink;
	uint64_t handled; /* by the first that has ended */
	char reason[48];
	struct nd_loop *loop;
	struct nd_here here;
	struct nd_timer *guard, *wait;
	uint64_t signal_ns; /* of the first; 0: none yet */
	enum nd_ending ending;
	struct nd_err err;
};

static void on_ended(void *user, enum nd_ending ending, const struct nd_err *err)
{
	struct receive *s = user;

	if (s->ended_n == 0 || ending != ND_END_DONE) {
		s->ending = ending;
		s->err = *err;
	}
	if (++s->ended_n == s->receiver_n)
		nd_loop_quit(s->loop);
	else
		nd_receiver_stop(&s->receiver[s->receiver[0].is_ended], s->reason);
}

/* Ports of both transports are ready when all are. */
static void on_progress(void *user, const struct nd_progress_event *ev)
{
	struct receive *s = user;

	if (ev->what == ND_PROG_READY && ++s->ready_n < s->receiver_n)
		return;
	s->how->sink->progress(s->how->sink->user, ev);
}

/* Of two there is one report: that of the last, which knows each sender, with the messages of the first. */
static void on_finished(void *user, struct nd_result *r)
{
	struct receive *s = user;
	struct nd_part *p = r->server && r->server->parts.n > 0 ? r->server->parts.v : NULL;

	if (p && p->run.rx_messages != ND_UNKNOWN)
		p->run.rx_messages += s->handled;
	if (p && s->ended_n + 1 < s->receiver_n)
		s->handled = p->run.rx_messages;
	else
		s->how->finished(s->how->user, r);
}

static void give_up(struct receive *s)
{
	(void)nd_fail(&s->err, -EINTR, "interrupted, and the test did not end");
	s->ending = ND_END_FAILED;
	nd_loop_quit_now(s->loop);
}

static void on_signal(void *user, int sig)
{
	struct receive *s = user;
	uint64_t now_ns = nd_now_ns();

	if (s->signal_ns) {
		if (now_ns - s->signal_ns > TWIN_NS)
			give_up(s);
		return;
	}
	s->signal_ns = now_ns;
	(void)snprintf(s->reason, sizeof(s->reason), "interrupted by signal %d", sig); /* it fits */
	nd_timer_set(s->guard, nd_now_ns() + STOP_NS);
	nd_receiver_stop(&s->receiver[s->receiver_n - 1], s->reason); /* then the plan's own */
}

static void on_guard(void *user)
{
	give_up(user);
}

static uint64_t longest_wait_ms(const struct nd_plan *plan)
{
	const struct nd_ntttcp *n = nd_ntttcp_of(plan);

	return n && n->windows ? n->timeout_ms : 0;
}

/* As ntttcp.exe: who waits for a sender does not wait for ever. */
static void on_wait_over(void *user)
{
	struct receive *s = user;

	if (s->signal_ns || !nd_receiver_is_idle(&s->receiver[0]))
		return;
	(void)nd_fail(&s->err, -ETIMEDOUT, "no sender came within %llu ms (-to)",
		      (unsigned long long)longest_wait_ms(s->how->plan));
	s->ending = ND_END_PEER;
	nd_loop_quit_now(s->loop);
}

static int limit_wait(struct receive *s, struct nd_err *err)
{
	uint64_t ms = longest_wait_ms(s->how->plan);

	if (ms == 0)
		return 0;
	if (nd_timer_new(s->loop, on_wait_over, s, &s->wait) < 0)
		return nd_fail(err, -ENOMEM, "no memory for a timer");
	nd_timer_set(s->wait, nd_now_ns() + ms * ND_NS_PER_MS);
	return 0;
}

static int run(struct receive *s, struct nd_err *err)
{
	int r = nd_loop_new(&s->loop, err);

	if (r == 0)
		r = nd_loop_signals(s->loop, on_signal, s, err);
	if (r == 0 && nd_timer_new(s->loop, on_guard, s, &s->guard) < 0)
		r = nd_fail(err, -ENOMEM, "no memory for a timer");
	nd_here_read(&s->here); /* takes a while: from here on signals are not lost */
	for (unsigned i = 0; r == 0 && i < s->receiver_n; i++) {
		s->receiver[i].loop = s->loop;
		r = nd_receiver_open(&s->receiver[i], err);
	}
	if (r == 0)
		r = limit_wait(s, err);
	return r < 0 ? r : nd_loop_run(s->loop, err);
}

/* An address that is not this machine's: where another tool has its own code for a command line that cannot be
 * meant, scripts expect that one. */
static void judge_address(struct nd_plan *plan, const struct nd_err *err, enum nd_ending *ending)
{
	if (err->code != -EADDRNOTAVAIL || plan->exits.help == 0)
		return;
	plan->exits.usage = plan->exits.help;
	*ending = ND_END_USAGE;
}

static void add_receiver(struct receive *s, struct nd_plan *plan)
{
	s->receiver[s->receiver_n++] = (struct nd_receiver){ .plan = plan,
							     .here = &s->here,
							     .sink = &s->sink,
							     .hold = plan->hold,
							     .finished = on_finished,
							     .finished_user = s,
							     .ended = on_ended,
							     .user = s };
}

int nd_session_receive(const struct nd_session *how, struct nd_err *err)
{
	struct receive s = { .how = how, .ending = ND_END_FAILED };
	int r = nd_pin_check(how->plan, err);

	if (r < 0)
		return (int)nd_ending_of(ND_AT_OPTION, r);
	(void)nd_fd_limit(); /* as many as there are */
	s.sink = (struct nd_sink){ how->sink && how->sink->progress ? on_progress : NULL, &s };
	add_receiver(&s, how->plan);
	if (how->plan->twin)
		add_receiver(&s, how->plan->twin);
	r = run(&s, err);
	if (r < 0)
		s.ending = ND_END_FAILED;
	else if (s.ending != ND_END_DONE && s.ending != ND_END_PARTIAL)
		*err = s.err;
	if (r < 0)
		judge_address(how->plan, err, &s.ending);
	for (unsigned i = 0; i < s.receiver_n; i++)
		nd_receiver_done(&s.receiver[i]);
	nd_timer_free(s.guard);
	nd_timer_free(s.wait);
	nd_loop_free(s.loop);
	nd_here_done(&s.here);
	return (int)s.ending;
}
