/* SPDX-License-Identifier: MIT */
/*
 * netserver: listens on one port, or on several that follow one another, and serves any number of control connections
 * at once. It goes to the background when its ports are open, so that its exit code is true.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/time.h"
#include "session/netserver.h"

enum { ACCEPTS = 64, GUESTS_MAX = 16384, PORTS_MAX = 4096, ADDRESSES_MAX = 16 };

#define PAUSE_NS (100 * ND_NS_PER_MS) /* out of descriptors: do not spin on the listener */
#define STOP_NS  (5 * ND_NS_PER_S)    /* tests that do not end after an interrupt */

/* One listening socket. */
struct nd_netdoor {
	struct nd_netserver *server; /* borrowed */
	int fd;
	struct nd_watch *watch;
};

/* ---- who comes ---- */

static void want(struct nd_netserver *v, bool open)
{
	for (unsigned i = 0; i < v->door_n; i++) {
		if (v->doors[i].watch && nd_watch_want(v->doors[i].watch, open, false) < 0)
			nd_log(ND_LOG_WARN, "a port does not change between open and closed");
	}
}

static void on_door(void *user, bool readable, bool writable)
{
	const struct nd_netdoor *d = user;
	struct nd_netserver *v = d->server;

	(void)writable;
	for (int i = 0; readable && i < (v->one_by_one ? 1 : ACCEPTS); i++) {
		int fd = accept4(d->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS)) {
			want(v, false);
			nd_timer_set(v->pause, nd_now_ns() + PAUSE_NS);
		}
		if (fd < 0)
			return;
		if (v->guest_n < GUESTS_MAX && !v->is_stopping)
			nd_guest_new(v, fd);
		else
			nd_close_p(&fd);
	}
	if (v->one_by_one && v->guest_n > 0)
		want(v, false);
}

static void on_pause_over(void *user)
{
	struct nd_netserver *v = user;

	want(v, !v->one_by_one || v->guest_n == 0);
}

static void end(struct nd_netserver *v)
{
	struct nd_err none = { 0 };

	if (v->is_ended)
		return;
	v->is_ended = true;
	v->ended(v->user, ND_END_DONE, &none);
}

void nd_netserver_left(struct nd_netserver *v)
{
	if (v->guest_n > 0)
		return;
	if (v->is_stopping || v->once)
		end(v);
	else if (v->one_by_one)
		want(v, true);
}

/* ---- ports ---- */

/* The kernel has picked one. */
static uint64_t port_of(int fd)
{
	struct nd_addr a = { .len = sizeof(a.u) };

	return getsockname(fd, &a.u.sa, &a.len) == 0 ? nd_addr_port(&a) : 0;
}

static int listen_at(struct nd_netserver *v, const struct nd_addr *at, bool v6only,
		     struct nd_err *err)
{
	const struct nd_transport *tcp = nd_transport_find("tcp");
	struct nd_netdoor *d;
	int r;

	if (nd_grow(v->doors, v->door_n) < 0)
		return nd_fail(err, -ENOMEM, "no memory for ports");
	d = &v->doors[v->door_n];
	*d = (struct nd_netdoor){ .server = v, .fd = -1 };
	r = nd_listen(tcp, at, v6only, &d->fd, err);
	if (r == 0 && v->plan->port == 0)
		v->plan->port = port_of(d->fd);
	v->door_n += r == 0;
	return r;
}

/* Without a name everything: IPv6 carries IPv4 too, unless there is no IPv6. So it does with netserver -6, as in the
 * original; a port beside others keeps to the family of theirs. */
static int open_port(struct nd_netserver *v, const char *host, enum nd_af af, uint64_t port,
		     struct nd_err *err)
{
	struct nd_addr at[ADDRESSES_MAX];
	size_t n = 0;
	int r = nd_addr_resolve(host, port, af, true, at, ADDRESSES_MAX, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = listen_at(v, &at[i], host || (v->lenient && af == ND_AF_IPV6), err);
	if (r == 0 || host || af != ND_AF_ANY || r == -EADDRINUSE || r == -EACCES)
		return r;
	r = nd_addr_resolve(NULL, port, ND_AF_IPV4, true, at, 1, &n, err);
	return r < 0 ? r : listen_at(v, &at[0], false, err);
}

static int open_ports(struct nd_netserver *v, const struct nd_netperf *n, struct nd_err *err)
{
	const struct nd_plan *p = v->plan;
	const char *host = p->serve.listen.n ? p->serve.listen.v[0] : n->local_host;
	enum nd_af af = n->control_af != ND_AF_ANY ? n->control_af : p->af;
	uint64_t last = ND_MAX(n->last_port, p->port);

	if (last > UINT16_MAX || last - p->port >= PORTS_MAX)
		return nd_fail(err, -ERANGE, "ports %llu to %llu are too many",
			       (unsigned long long)p->port, (unsigned long long)last);
	for (uint64_t port = p->port; port <= last; port++) {
		int r = open_port(v, host, af, port, err);

		if (r < 0 && !v->lenient)
			return r;
		if (r < 0)
			nd_log(ND_LOG_WARN, "%s: not served", err->text);
	}
	return 0;
}

int nd_netserver_bind(struct nd_netserver *v, struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(v->plan);

	v->dialect = nd_dialect_find(v->plan->dialect);
	if (!v->dialect || !n)
		return nd_fail(err, -EPROTONOSUPPORT, "this plan is not one of netserver");
	v->one_by_one = n->one_by_one;
	v->once = n->inetd;
	return v->once ? 0 : open_ports(v, n, err);
}

/* Its only connection is the one that it was started with. */
static int open_standard(struct nd_netserver *v, struct nd_err *err)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return nd_sysfail(err, "taking the connection on standard input");
	if (nd_nonblock(fd, true, err) < 0) {
		nd_close_p(&fd);
		return err->code;
	}
	nd_guest_new(v, fd);
	return 0;
}

int nd_netserver_open(struct nd_netserver *v, struct nd_err *err)
{
	int r = 0;

	if (nd_timer_new(v->loop, on_pause_over, v, &v->pause) < 0)
		return nd_fail(err, -ENOMEM, "no memory for a timer");
	if (v->once)
		return open_standard(v, err);
	for (unsigned i = 0; r == 0 && i < v->door_n; i++) {
		struct nd_netdoor *d = &v->doors[i];

		r = nd_watch_new(v->loop, d->fd, on_door, d, &d->watch, err);
		if (r == 0)
			r = nd_watch_want(d->watch, true, false);
	}
	return r;
}

void nd_netserver_stop(struct nd_netserver *v, const char *reason)
{
	struct nd_guest *g, *next;

	if (v->is_stopping || v->is_ended)
		return;
	v->is_stopping = true;
	want(v, false);
	for (g = v->guests; g; g = next) {
		next = g->next;
		nd_test_stop(&g->test, reason); /* it is freed from the loop, not in here */
	}
	if (v->guest_n == 0)
		end(v);
}

void nd_netserver_done(struct nd_netserver *v)
{
	while (v->guests)
		nd_guest_free(v->guests);
	for (unsigned i = 0; i < v->door_n; i++) {
		nd_watch_free(v->doors[i].watch);
		nd_close_p(&v->doors[i].fd);
	}
	free(v->doors);
	v->doors = NULL;
	v->door_n = 0;
	nd_timer_free(v->pause);
	v->pause = NULL;
}

/* ---- a session of its own ---- */

struct alone {
	struct nd_netserver server;
	struct nd_loop *loop;
	struct nd_here here;
	struct nd_timer *guard;
	bool is_signalled;
};

static void on_ended(void *user, enum nd_ending ending, const struct nd_err *err)
{
	struct alone *s = user;

	(void)ending;
	(void)err;
	nd_loop_quit(s->loop);
}

static void on_guard(void *user)
{
	nd_loop_quit_now(((struct alone *)user)->loop);
}

static void on_signal(void *user, int sig)
{
	struct alone *s = user;
	char reason[48];

	if (s->is_signalled) {
		nd_loop_quit_now(s->loop);
		return;
	}
	s->is_signalled = true;
	(void)snprintf(reason, sizeof(reason), "interrupted by signal %d", sig); /* it fits */
	nd_timer_set(s->guard, nd_now_ns() + STOP_NS);
	nd_netserver_stop(&s->server, reason);
}

/* "'IN(6)ADDR_ANY' port '12865' and family AF_UNSPEC", as scripts look for it. */
static const char *place(const struct alone *s, char *buf, size_t size)
{
	static const char *const families[] = {
		[ND_AF_ANY] = "AF_UNSPEC", [ND_AF_IPV4] = "AF_INET", [ND_AF_IPV6] = "AF_INET6"
	};
	const struct nd_plan *p = s->server.plan;
	const struct nd_netperf *n = nd_netperf_of(p);
	char last[16] = "";

	if (n && n->last_port > p->port)
		(void)snprintf(last, sizeof(last), "-%u", (unsigned)n->last_port); /* it fits */
	(void)snprintf(buf, size, "'%.80s' port '%u%s' and family %s",             /* it fits */
		       p->serve.listen.n ? p->serve.listen.v[0] : "IN(6)ADDR_ANY",
		       (unsigned)p->port, last, families[p->af]);
	return buf;
}

static void announce(const struct alone *s)
{
	char text[160];
	struct nd_progress_event ev = { .what = ND_PROG_LISTENING,
					.text = place(s, text, sizeof(text)) };

	if (!s->server.once && s->server.sink && s->server.sink->progress)
		s->server.sink->progress(s->server.sink->user, &ev);
}

/* Threads and what a loop holds would not survive it: it comes before both. */
static int go_to_background(const struct alone *s, struct nd_err *err)
{
	announce(s);
	return daemon(1, 0) < 0 ? nd_sysfail(err, "going to the background") : 0;
}

/* In the words that scripts look for. */
static int explain(const struct alone *s, int code, struct nd_err *err)
{
	char text[160];

	return nd_wrap(err, code, "Unable to start netserver with  %s",
		       place(s, text, sizeof(text)));
}

static int make_loop(struct alone *s, struct nd_err *err)
{
	int r = nd_loop_new(&s->loop, err);

	s->server.loop = s->loop;
	if (r == 0)
		r = nd_loop_signals(s->loop, on_signal, s, err);
	if (r == 0 && nd_timer_new(s->loop, on_guard, s, &s->guard) < 0)
		r = nd_fail(err, -ENOMEM, "no memory for a timer");
	return r;
}

/* In the foreground signals are heard before anybody sees a port. */
static int run(struct alone *s, struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(s->server.plan);
	bool stays = n->foreground || n->inetd;
	int r = stays ? make_loop(s, err) : 0;

	if (r < 0)
		return r;
	r = nd_netserver_bind(&s->server, err);
	if (r < 0)
		return explain(s, r, err);
	if (n->inetd) /* standard error may be the connection */
		nd_log_set(ND_LOG_ERROR);
	if (!stays)
		r = go_to_background(s, err);
	if (r == 0 && !stays)
		r = make_loop(s, err);
	if (r == 0)
		r = nd_netserver_open(&s->server, err);
	if (r == 0 && stays)
		announce(s); /* from now on signals end it in good order */
	return r < 0 ? r : nd_loop_run(s->loop, err);
}

int nd_session_netserver(const struct nd_session *how, struct nd_err *err)
{
	struct alone s = { 0 };
	int r;

	(void)nd_fd_limit(); /* as many as there are */
	nd_here_read(&s.here);
	s.server = (struct nd_netserver){
		.plan = how->plan, .here = &s.here, .sink = how->sink, .ended = on_ended, .user = &s
	};
	r = run(&s, err);
	nd_netserver_done(&s.server);
	nd_timer_free(s.guard);
	nd_loop_free(s.loop);
	nd_here_done(&s.here);
	return r < 0 ? ND_END_FAILED : ND_END_DONE;
}
