/* SPDX-License-Identifier: MIT */
/*
 * One control connection of netserver. A test's data socket is made before its client is told of it; when data comes to
 * it, the dialog begins the test and the run has the socket, or for new connections all the time the listening one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "session/netserver.h"

/* ---- the data socket ---- */

static void drop_socket(struct nd_guest *g)
{
	nd_watch_free(g->watch);
	g->watch = NULL;
	nd_close_p(&g->fd);
}

static bool is_datagram(const struct nd_guest *g)
{
	return (g->transport->caps & ND_NET_DATAGRAM) != 0;
}

static bool accepts_itself(const struct nd_guest *g)
{
	const char *load = g->plan.workload[0].load;

	return !strcmp(load, "crr") || !strcmp(load, "cc");
}

/* Takes @fd. */
static void give(struct nd_guest *g, int fd)
{
	struct nd_err err = { 0 };

	if (!g->test.run)
		nd_close_p(&fd);
	else if (nd_run_give(g->test.run, 0, fd, &err) < 0)
		nd_log(ND_LOG_DEBUG, "%s", err.text);
}

/* The one connection of the test. Others are not listened to any more. */
static bool take_connection(struct nd_guest *g)
{
	int fd = accept4(g->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return false; /* it has gone again, or there is no descriptor left */
	give(g, fd);
	return true;
}

static void on_data(void *user, bool readable, bool writable)
{
	struct nd_guest *g = user;
	struct nd_dialog_event ev = { .what = ND_DLG_FIRST_DATA };

	(void)writable;
	if (!readable || !g->test.run)
		return;
	if (is_datagram(g))
		nd_datasock_claim(g->fd);
	else if (!accepts_itself(g) && !take_connection(g))
		return;
	drop_socket(g); /* the run has it, or a connection of it */
	nd_test_feed(&g->test, &ev);
}

/* The run has a descriptor of its own; ours is for hearing alone. */
static void share(struct nd_guest *g)
{
	int copy = fcntl(g->fd, F_DUPFD_CLOEXEC, 0);

	if (copy >= 0)
		give(g, copy);
}

static int listen_to(struct nd_guest *g, struct nd_err *err)
{
	int r = nd_watch_new(g->server->loop, g->fd, on_data, g, &g->watch, err);

	if (r == 0)
		r = nd_watch_want(g->watch, true, false);
	return r;
}

/* ---- what the dialog asks ---- */

static int on_socket(void *user, struct nd_socket_facts *ret, struct nd_err *err)
{
	struct nd_guest *g = user;
	int r;

	drop_socket(g);
	g->plan.sock.plain_bufs = true;
	r = nd_datasock_serve(&g->plan, &g->test.peer, &g->fd, err);
	if (r < 0)
		return r;
	g->transport = nd_transport_find(g->plan.workload[0].transport);
	return nd_datasock_facts(g->fd, NULL, ret, err);
}

static int on_propose(void *user, struct nd_err *err)
{
	const struct nd_guest *g = user;

	return nd_plan_check(&g->plan, err);
}

static void on_prepared(void *user)
{
	struct nd_guest *g = user;
	struct nd_err err = { 0 };

	if (g->fd < 0)
		return;
	if (is_datagram(g) || accepts_itself(g))
		share(g);
	if (is_datagram(g) && g->plan.workload[0].active == ND_SERVER)
		drop_socket(g); /* nobody calls first */
	else if (listen_to(g, &err) < 0)
		nd_log(ND_LOG_WARN, "%s", err.text);
}

static double rate_of(uint64_t bytes, double seconds)
{
	return bytes != ND_UNKNOWN && seconds > 0 ? (double)bytes * 8 / seconds / 1e6 : 0;
}

static void on_measured(void *user, struct nd_side *side)
{
	struct nd_guest *g = user;
	const struct nd_workload *w = &g->plan.workload[0];
	const struct nd_part *part = nd_result_part(side, 0);
	char peer[128];

	drop_socket(g);
	g->tests++;
	if (!part)
		return;
	nd_log(ND_LOG_INFO,
	       "%s test %llu.%llu from %s: %s %s, %.2f s, %.2f Mbit/s in, %.2f Mbit/s out",
	       g->test.dialect->name, (unsigned long long)g->number, (unsigned long long)g->tests,
	       nd_addr_text(&g->test.peer, false, peer, sizeof(peer)), w->transport, w->load,
	       part->run.seconds, rate_of(part->run.rx_bytes, part->run.seconds),
	       rate_of(part->run.tx_bytes, part->run.seconds));
}

static void on_over(void *user)
{
	struct nd_guest *g = user;

	drop_socket(g);
	if (g->test.ending == ND_END_FAILED || g->test.ending == ND_END_PEER)
		nd_log(ND_LOG_INFO, "%s client %llu: %s", g->test.dialect->name,
		       (unsigned long long)g->number, g->test.err.text);
}

static void on_gone(void *user)
{
	struct nd_guest *g = user;
	struct nd_netserver *v = g->server;

	nd_guest_free(g);
	nd_netserver_left(v);
}

static const struct nd_test_ops guest_ops = {
	.socket = on_socket,
	.propose = on_propose,
	.prepared = on_prepared,
	.measured = on_measured,
	.over = on_over,
	.gone = on_gone,
};

/* ---- life ---- */

static void init_plan(struct nd_guest *g)
{
	const struct nd_plan *own = g->server->plan;

	nd_plan_init(&g->plan);
	g->plan.face = own->face;
	g->plan.face_table = own->face_table;
	g->plan.dialect = own->dialect;
	g->plan.trace_control = own->trace_control;
}

static int begin(struct nd_guest *g, int fd, struct nd_err *err)
{
	struct nd_dialog_cfg cfg = { .end = ND_SERVER };
	nd_auto_fd int own = fd;
	int r;

	g->test.end = ND_SERVER;
	g->test.plan = &g->plan;
	g->test.here = g->server->here;
	g->test.trace = g->plan.trace_control;
	r = nd_test_open(&g->test, &cfg, err);
	return r < 0 ? r : nd_test_adopt(&g->test, nd_take_fd(&own), NULL, 0, err);
}

void nd_guest_new(struct nd_netserver *v, int fd)
{
	struct nd_guest *g = calloc(1, sizeof(*g));
	nd_auto_fd int own = fd;
	struct nd_err err = { 0 };

	if (!g)
		return;
	g->server = v;
	g->fd = -1;
	g->number = ++v->numbers;
	init_plan(g);
	if (nd_test_init(&g->test, v->loop, v->dialect, &guest_ops, g, &err) < 0) {
		nd_plan_done(&g->plan);
		free(g);
		return;
	}
	g->next = v->guests;
	if (g->next)
		g->next->prev = g;
	v->guests = g;
	v->guest_n++;
	if (begin(g, nd_take_fd(&own), &err) < 0)
		nd_test_fail(&g->test, ND_END_FAILED, &err);
}

void nd_guest_free(struct nd_guest *g)
{
	if (g->prev)
		g->prev->next = g->next;
	else
		g->server->guests = g->next;
	if (g->next)
		g->next->prev = g->prev;
	g->server->guest_n--;
	drop_socket(g);
	nd_test_done(&g->test);
	nd_plan_done(&g->plan);
	free(g);
}
