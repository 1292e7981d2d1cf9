/* SPDX-License-Identifier: MIT */
/* The server of many tests: who is let in, and how it ends. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "session/int.h"

#define LOBBY_MAX 4096u
#define SIGNAL_TWIN_NS \
	(300 * ND_NS_PER_MS) /* one key press may reach us twice, by way of a shell */

/* ---- the lobby ---- */

/* At most one line a second: whoever knocks in vain must not fill the log. */
static void tell_unwelcome(struct nd_server *s, const struct nd_addr *peer)
{
	uint64_t now = nd_now_ns();
	char text[128];

	s->unwelcome++;
	if (now - s->unwelcome_ns < ND_NS_PER_S && s->unwelcome_ns)
		return;
	s->unwelcome_ns = now;
	nd_log(ND_LOG_INFO, "--allow leaves %s out: refused (%llu so far)",
	       nd_addr_text(peer, false, text, sizeof(text)), (unsigned long long)s->unwelcome);
}

static bool on_welcome(void *user, const struct nd_addr *peer)
{
	struct nd_server *s = user;

	for (uint64_t i = 0; i < s->allow_n; i++) {
		if (nd_cidr_holds(&s->allow[i], peer))
			return true;
	}
	if (s->allow_n > 0)
		tell_unwelcome(s, peer);
	return s->allow_n == 0;
}

static void on_claimed(void *user, int fd, const struct nd_addr *peer, const struct nd_claim *claim,
		       const uint8_t *rest, size_t rest_n)
{
	nd_auto_fd int own = fd;
	struct nd_server *s = user;

	if (claim->kind == ND_CLAIM_FLOW && rest_n == 0)
		nd_flows_stream(s, nd_take_fd(&own), claim);
	else if (claim->kind == ND_CLAIM_CONTROL)
		nd_served_new(s, nd_take_fd(&own), peer, rest, rest_n);
}

static void on_datagram(void *user, int listen_fd, const struct nd_addr *peer,
			const struct nd_addr *local, const struct nd_claim *claim)
{
	(void)listen_fd; /* the flow gets a socket of its own */
	nd_flows_datagram(user, peer, local, claim);
}

/* ---- the end ---- */

static void on_signal(void *user, int sig)
{
	struct nd_server *s = user;
	uint64_t now = nd_now_ns();

	(void)sig;
	if (s->signal_ns == 0) {
		s->signal_ns = now;
		nd_server_stop(s, "shutting down");
	} else if (now - s->signal_ns > SIGNAL_TWIN_NS) {
		nd_loop_quit_now(s->loop);
	}
}

static void on_guard(void *user)
{
	struct nd_server *s = user;

	nd_loop_quit_now(s->loop);
}

static void on_patience(void *user)
{
	nd_server_answered(user);
}

/* ---- the session ---- */

static int read_allow(struct nd_server *s, struct nd_err *err)
{
	const struct nd_strv *list = &s->plan->serve.allow;
	int r = 0;

	s->allow = calloc(list->n + 1, sizeof(*s->allow));
	if (!s->allow)
		return nd_fail(err, -ENOMEM, "no memory for the list of allowed networks");
	for (; r == 0 && s->allow_n < list->n; s->allow_n++)
		r = nd_cidr_parse(list->v[s->allow_n], &s->allow[s->allow_n], err);
	return r < 0 ? nd_wrap(err, r, "--allow") : 0;
}

static int set_up(struct nd_server *s, struct nd_err *err)
{
	static const struct nd_lobby_ops ops = { on_welcome, on_claimed, on_datagram };
	struct nd_lobby_cfg cfg = { .ops = &ops, .user = s, .patience_ns = ND_GREETING_NS };
	int r;

	s->dialect = nd_dialect_find("native");
	if (!s->dialect)
		return nd_fail(err, -EPROTONOSUPPORT, "there is no control language 'native'");
	r = nd_pin_check(s->plan, err);
	if (r < 0)
		s->failed_as = ND_END_USAGE;
	if (r < 0)
		return r;
	cfg.dialect = s->dialect;
	cfg.max = (unsigned)ND_MIN(ND_MAX(nd_fd_limit() / 4, 16), LOBBY_MAX);
	r = read_allow(s, err);
	if (r == 0)
		r = nd_loop_new(&s->loop, err);
	if (r == 0)
		r = nd_loop_signals(s->loop, on_signal, s, err);
	if (r == 0 && nd_timer_new(s->loop, on_guard, s, &s->guard) < 0)
		r = nd_fail(err, -ENOMEM, "no memory for a timer");
	if (r == 0 && nd_timer_new(s->loop, on_patience, s, &s->patience) < 0)
		r = nd_fail(err, -ENOMEM, "no memory for a timer");
	if (r == 0)
		r = nd_lobby_new(s->loop, &cfg, &s->lobby, err);
	if (r == 0)
		r = nd_doors_open(s, err);
	return r < 0 ? r : nd_also_open(s, err);
}

static void tear_down(struct nd_server *s)
{
	while (s->tests)
		nd_served_free(s->tests);
	nd_also_done(s);
	nd_lobby_free(s->lobby);
	nd_timer_free(s->guard);
	nd_timer_free(s->patience);
	nd_loop_free(s->loop);
	free(s->allow);
	nd_here_done(&s->here);
}

int nd_session_serve(const struct nd_session *how, struct nd_err *err)
{
	struct nd_server s = { .plan = how->plan,
			       .sink = how->sink,
			       .finished = how->finished,
			       .finished_user = how->user,
			       .failed_as = ND_END_FAILED };
	int r;

	nd_here_read(&s.here);
	r = set_up(&s, err);
	if (r == 0)
		r = nd_loop_run(s.loop, err);
	tear_down(&s);
	return r < 0 ? (int)s.failed_as : (int)ND_END_DONE;
}
