/* SPDX-License-Identifier: MIT */
/* The client of one test. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/num.h"
#include "base/time.h"
#include "session/int.h"
#include "session/netserver.h"

#define ADDRESSES_MAX  32
#define SOURCES_MAX    4096
#define IPV4_UDP_BYTES 28u
#define IPV6_UDP_BYTES 48u
#define SIGNAL_TWIN_NS \
	(300 * ND_NS_PER_MS)          /* one key press may reach us twice, by way of a shell */
#define CONNECT_NS (10 * ND_NS_PER_S) /* for a plan that does not say */
#define STOP_NS    (15 * ND_NS_PER_S) /* a dialog that does not end after an interrupt */

struct client {
	struct nd_plan *plan; /* borrowed */
	const struct nd_sink *sink;
	struct nd_result *result; /* borrowed */
	struct nd_here here;
	struct nd_loop *loop;
	struct nd_test test;
	struct nd_live *live;
	struct nd_phases *phases;
	struct nd_timer *guard;
	struct nd_addr to[ADDRESSES_MAX];
	size_t to_n;
	struct nd_addr *from; /* owned */
	uint32_t from_n;
	struct nd_routes routes;
	struct nd_addr data; /* where flows go, if the dialog asked for a data socket */
	const char *dev;
	uint64_t signal_ns;
	enum nd_ending ending;
	struct nd_err err;
};

static void tell(const struct client *c, enum nd_progress what, const char *text)
{
	struct nd_progress_event ev = { .what = what, .text = text };

	if (c->sink && c->sink->progress)
		c->sink->progress(c->sink->user, &ev);
}

/* ---- addresses ---- */

static int add_source(struct client *c, const char *text, struct nd_err *err)
{
	struct nd_addr a;
	size_t n = 0;
	int r = nd_addr_resolve(text, 0, c->plan->af, false, &a, 1, &n, err);

	if (r < 0)
		return nd_wrap(err, r, c->plan->face ? "source address" : "source address (-B)");
	c->from[c->from_n++] = a;
	return 0;
}

static int find_sources(struct client *c, struct nd_err *err)
{
	const struct nd_strv *bind = &c->plan->bind;
	int r = 0;

	if (bind->n > SOURCES_MAX)
		return nd_fail(err, -EINVAL, "%llu source addresses are over %d",
			       (unsigned long long)bind->n, SOURCES_MAX);
	c->from = calloc(bind->n + 1, sizeof(*c->from));
	if (!c->from)
		return nd_fail(err, -ENOMEM, "no memory for source addresses");
	for (uint64_t i = 0; r == 0 && i < bind->n; i++) {
		if (bind->v[i][0] == '%')
			c->dev = bind->v[i] + 1;
		else
			r = add_source(c, bind->v[i], err);
	}
	return r;
}

/* Flows take the family of the control connection, where nobody asked for another one; sources of the other one are of no
 * use. */
static int keep_family(struct client *c, struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(c->plan);
	int family = c->test.peer.u.sa.sa_family;
	uint32_t kept = 0;

	if (n && n->data_af != ND_AF_ANY)
		family = n->data_af == ND_AF_IPV6 ? AF_INET6 : AF_INET;
	for (uint32_t i = 0; i < c->from_n; i++) {
		if (c->from[i].u.sa.sa_family == family)
			c->from[kept++] = c->from[i];
	}
	if (c->from_n > 0 && kept == 0)
		return nd_fail(err, -EAFNOSUPPORT,
			       "no source address is of the same family as the server's");
	c->from_n = kept;
	return 0;
}

/* ---- what the test asks ---- */

/* Where a link goes: to the host it is asked for, or beside the port of a flow. */
static int link_addresses(struct client *c, const struct nd_verb_item *v, struct nd_addr *to,
			  size_t *ret_n, struct nd_err *err)
{
	const struct nd_port_class *kind = &c->test.dialect->ports[v->port_class];

	*ret_n = 1;
	nd_routes_number(&c->routes, c->plan);
	if (c->routes.n == 0 || nd_netperf_of(c->plan)) {
		*ret_n = c->to_n;
		memcpy(to, c->to, c->to_n * sizeof(*to));

	} else if (kind->many) {
		if (!nd_routes_flow(&c->routes, v->index, to))
			return nd_fail(err, -EINVAL, "there is no flow %u", v->index);
	} else if (v->index < c->routes.n) {
		*to = c->routes.v[v->index].to;
		nd_addr_set_port(to, (uint16_t)c->plan->port);
	} else {
		return nd_fail(err, -EINVAL, "there is no host %u", v->index);
	}
	for (size_t i = 0; i < *ret_n; i++)
		nd_addr_set_port(&to[i], (uint16_t)(nd_addr_port(&to[i]) + kind->offset));
	return 0;
}

static int on_connect(void *user, const struct nd_verb_item *v, void *slot, struct nd_link **ret,
		      struct nd_err *err)
{
	struct client *c = user;
	const struct nd_port_class *ports = c->test.dialect->ports;
	struct nd_addr to[ADDRESSES_MAX], from = { 0 };
	const struct nd_link_cfg cfg = { .dialect = c->test.dialect,
					 .ops = nd_test_link_ops(),
					 .user = slot,
					 .port_class = v->port_class };
	struct nd_link_target target = { .to = to,
					 .dev = c->dev,
					 .deadline_ns = nd_now_ns() + c->plan->connect_timeout_ns };
	int r;

	for (unsigned i = 0; i <= v->port_class; i++) {
		if (!ports[i].name)
			return nd_fail(err, -EINVAL, "there is no port of class %u", v->port_class);
	}
	r = link_addresses(c, v, to, &target.to_n, err);
	if (r < 0)
		return r;
	if (c->from_n)
		from = c->from[0];
	r = nd_netclient_source(c->plan, &to[0], &from, err);
	if (r < 0)
		return r;
	target.from = from.len > 0 ? &from : NULL;
	return nd_link_connect(c->loop, &cfg, &target, ret, err);
}

static void on_explain(void *user, int error, struct nd_err *err)
{
	struct client *c = user;
	const char *host = c->plan->host;
	unsigned long long port = c->plan->port;
	char limit[32], words[64];

	if (nd_netperf_of(c->plan))
		nd_netclient_explain(c->plan, &c->to[0], error, err);
	else if (error == -ECONNREFUSED && c->plan->face)
		(void)nd_fail(err, error, "connection refused: is a receiver running on %s?", host);
	else if (error == -ECONNREFUSED)
		(void)nd_fail(err, error,
			      "connection refused: is `netdyno serve` running on %s port %llu?",
			      host, port);
	else if (error == -ETIMEDOUT)
		(void)nd_fail(err, error,
			      "no answer from %s port %llu within %s: is it up, and does every "
			      "firewall let the port through?",
			      host, port,
			      nd_format_unit(c->plan->connect_timeout_ns, ND_UNIT_TIME_NS, limit,
					     sizeof(limit)));
	else if (error == -EHOSTUNREACH || error == -ENETUNREACH)
		(void)nd_fail(err, error, "%s port %llu cannot be reached: %s", host, port,
			      nd_strerror(error, words, sizeof(words)));
	else
		(void)nd_wrap(err, error, "connecting to %s port %llu", host, port);
}

/* Datagrams without an asked size are as large as the path to the address in use carries them. */
static int size_datagrams(struct client *c, struct nd_err *err)
{
	struct nd_plan *plan = c->plan;
	uint64_t bytes = 0;
	int r;

	if (plan->face || !(nd_plan_has_datagrams(plan) || plan->load.packets))
		return 0;
	nd_plan_set_imix(plan,
			 c->test.peer.u.sa.sa_family == AF_INET6 ? IPV6_UDP_BYTES : IPV4_UDP_BYTES);
	r = nd_path_datagram(&c->test.peer, c->from_n ? c->from : NULL, c->dev, &bytes, err);
	if (r < 0)
		return r;
	if (!plan->wants_datagram_bytes)
		return nd_plan_fits_path(plan, ND_ENDS, bytes, err);
	nd_plan_set_datagram(plan, bytes);
	return nd_plan_check(plan, err);
}

static int spread(struct client *c, struct nd_err *err)
{
	const struct nd_ports ports = { .peer = &c->test.peer,
					.from = c->from_n ? c->from : NULL,
					.dev = c->dev,
					.host = &c->here.host };

	return nd_spread_ports(&ports, c->plan, err);
}

/* Nobody has to be waited for on one machine: the connections at once that keep its CPUs busy are one for each, whose
 * thread waits inside its calls. */
static void settle_connections(const struct client *c)
{
	struct nd_plan *plan = c->plan;
	struct nd_workload *w = &plan->workload[0];
	uint64_t n = plan->threads ?: c->here.host.cpus_allowed;

	if (plan->verb != ND_VERB_CONNECT || plan->ask.has_flows || !nd_accepts_here(&c->test) ||
	    n == ND_UNKNOWN)
		return;
	w->flows = ND_MIN(n, (uint64_t)ND_MAX_THREADS);
	if (w->total_ops)
		w->flows = ND_MIN(w->flows, w->total_ops);
}

static int on_up(void *user, struct nd_err *err)
{
	struct client *c = user;
	char text[128];
	int r = keep_family(c, err);

	settle_connections(c);
	if (r == 0)
		r = size_datagrams(c, err);
	if (r == 0 && c->plan->spread)
		r = spread(c, err);
	if (r == 0)
		tell(c, ND_PROG_CONNECTED, nd_addr_text(&c->test.peer, true, text, sizeof(text)));
	return r;
}

static int on_socket(void *user, struct nd_socket_facts *ret, struct nd_err *err)
{
	struct client *c = user;

	c->data = c->test.peer;
	return nd_netclient_socket(c->plan, &c->data, ret, err);
}

/* Ports that the server told, at the address of data. */
static void aim(struct client *c, struct nd_run_cfg *cfg)
{
	nd_addr_set_port(&c->data, (uint16_t)c->plan->data_port);
	cfg->peer = &c->data;
	for (uint32_t i = 0; i < c->routes.n; i++) {
		uint16_t port = nd_addr_port(&c->routes.v[i].to);

		c->routes.v[i].to = c->data;
		nd_addr_set_port(&c->routes.v[i].to, port);
	}
}

static void on_prepare(void *user, struct nd_run_cfg *cfg)
{
	struct client *c = user;

	tell(c, ND_PROG_READY, NULL);
	cfg->peer = &c->test.peer;
	cfg->from = c->from;
	cfg->from_n = c->from_n;
	cfg->dev = c->dev;
	cfg->source_port = (uint16_t)c->plan->source_port;
	if (c->routes.n > 0) {
		nd_routes_number(&c->routes, c->plan);
		cfg->peer = &c->routes.v[0].to;
		cfg->routes = c->routes.v;
		cfg->route_n = c->routes.n;
	}
	if (!c->plan->dialect && c->plan->data_port) /* connections that come and go */
		c->data = c->test.peer;
	if (c->data.len > 0)
		aim(c, cfg);
}

static void on_start(void *user, uint64_t at_ns)
{
	nd_phases_start(((struct client *)user)->phases, at_ns);
}

static void on_note(void *user, const char *text)
{
	tell(user, ND_PROG_NOTE, text);
}

static void tell_of_socket(void *user, int fd)
{
	const struct client *c = user;

	nd_datasock_tell(c->plan, c->sink, fd);
}

static void on_ready(void *user, uint64_t flows, uint64_t microseconds)
{
	const struct client *c = user;
	struct nd_progress_event ev = { .what = ND_PROG_FLOWS,
					.count = flows,
					.microseconds = microseconds };

	nd_run_sockets(c->test.run, tell_of_socket, user);
	if (c->sink && c->sink->progress)
		c->sink->progress(c->sink->user, &ev);
}

static void on_intervals(void *user, bool own, const struct nd_interval_sample *s, uint64_t n)
{
	struct client *c = user;

	nd_live_add(c->live, own, s, n);
}

static void on_seen(void *user, const struct nd_diary_entry *e)
{
	const struct client *c = user;
	struct nd_progress_event ev = { .what = ND_PROG_SEEN, .seen = e };

	if (c->sink && c->sink->progress)
		c->sink->progress(c->sink->user, &ev);
}

static void on_sent(void *user)
{
	nd_phases_end(((struct client *)user)->phases);
}

static void on_over(void *user)
{
	struct client *c = user;
	const struct nd_test *t = &c->test;

	nd_live_flush(c->live);
	c->ending = t->ending;
	c->err = t->err;
	if (c->ending == ND_END_FAILED || c->ending == ND_END_PEER)
		return;
	if (!t->told_result && !t->peer_side && !nd_netperf_of(c->plan)) {
		c->ending = ND_END_FAILED;
		(void)nd_fail(&c->err, -EINTR, "%s: nothing was measured",
			      t->reason ? t->reason : "the test ended");
	} else if (nd_outcome_result(t, c->result, &c->err) < 0) {
		c->ending = ND_END_FAILED;
	} else if (!t->told_result && !t->peer_side) { /* it asked for nothing that is measured */
		c->result->partial = false;
		c->result->partial_reason = NULL;
	} else {
		nd_netclient_tell(c->plan, c->result);
		c->ending = nd_outcome_ending(c->result, &c->err);
	}
}

static void on_gone(void *user)
{
	struct client *c = user;

	nd_loop_quit(c->loop);
}

static const struct nd_test_ops client_ops = {
	.connect = on_connect,
	.up = on_up,
	.explain = on_explain,
	.socket = on_socket,
	.prepare = on_prepare,
	.note = on_note,
	.ready = on_ready,
	.start = on_start,
	.intervals = on_intervals,
	.seen = on_seen,
	.sent = on_sent,
	.over = on_over,
	.gone = on_gone,
};

/* ---- signals ---- */

static const char *name_of(int sig)
{
	return sig == SIGINT ? "SIGINT" : sig == SIGTERM ? "SIGTERM" : "SIGHUP";
}

static void give_up(struct client *c, const char *why)
{
	(void)nd_fail(&c->err, -EINTR, "%s", why);
	c->ending = ND_END_FAILED;
	nd_loop_quit_now(c->loop);
}

static void on_signal(void *user, int sig)
{
	struct client *c = user;
	uint64_t now = nd_now_ns();
	char reason[48];

	if (c->signal_ns == 0) {
		c->signal_ns = now;
		nd_timer_set(c->guard, now + STOP_NS);
		(void)snprintf(reason, sizeof(reason), "interrupted by %s", name_of(sig));
		nd_test_stop(&c->test, reason);
	} else if (now - c->signal_ns > SIGNAL_TWIN_NS && !c->test.is_over) {
		give_up(c, "interrupted twice");
	} else if (now - c->signal_ns > SIGNAL_TWIN_NS) {
		nd_loop_quit_now(c->loop); /* there is a result; only the farewell is cut short */
	}
}

static void on_guard(void *user)
{
	struct client *c = user;

	if (c->test.is_over)
		nd_loop_quit_now(c->loop);
	else
		give_up(c, "interrupted, and the test did not end");
}

/* ---- the session ---- */

static int set_up(struct client *c, struct nd_err *err)
{
	const char *name = c->plan->dialect ? c->plan->dialect : "native";
	const struct nd_dialect *d = nd_dialect_find(name);
	const struct nd_host_facts *host = &c->here.host;
	int r;

	if (!d)
		return nd_fail(err, -EPROTONOSUPPORT, "there is no control language '%s'", name);
	if (c->plan->source_ports == 0 && host->port_range_low != ND_UNKNOWN &&
	    host->port_range_high != ND_UNKNOWN && host->port_range_high >= host->port_range_low)
		c->plan->source_ports = host->port_range_high - host->port_range_low + 1;
	r = nd_plan_check(c->plan, err);
	if (r == 0)
		r = nd_loop_new(&c->loop, err);
	if (r == 0)
		r = nd_loop_signals(c->loop, on_signal, c, err);
	if (r == 0)
		r = nd_test_init(&c->test, c->loop, d, &client_ops, c, err);
	if (r == 0 && nd_timer_new(c->loop, on_guard, c, &c->guard) < 0)
		r = nd_fail(err, -ENOMEM, "no memory for a timer");
	if (r == 0 && c->sink && c->sink->progress && c->plan->interval_ns > 0 &&
	    (nd_live_new(c->loop, c->plan, ND_CLIENT, c->sink, &c->live) < 0 ||
	     nd_phases_new(c->loop, c->plan, c->sink, &c->phases) < 0))
		r = nd_fail(err, -ENOMEM, "no memory for interval lines");
	return r;
}

static int run_test(struct client *c, struct nd_err *err)
{
	struct nd_dialog_cfg cfg = { .end = ND_CLIENT };
	int r;

	c->test.end = ND_CLIENT;
	c->test.plan = c->plan;
	c->test.here = &c->here;
	c->test.trace = c->plan->trace_control;
	if (c->plan->connect_timeout_ns == 0)
		c->plan->connect_timeout_ns = CONNECT_NS;
	r = nd_test_open(&c->test, &cfg, err);
	return r < 0 ? r : nd_loop_run(c->loop, err);
}

static void tear_down(struct client *c)
{
	nd_test_done(&c->test);
	nd_live_free(c->live);
	nd_phases_free(c->phases);
	nd_timer_free(c->guard);
	nd_loop_free(c->loop);
	nd_routes_done(&c->routes);
	free(c->from);
	nd_here_done(&c->here);
}

/* Addresses first: what fails there needs no server. */
static int find_addresses(struct client *c, struct nd_err *err)
{
	const struct nd_plan *plan = c->plan;
	const struct nd_netperf *n = nd_netperf_of(plan);
	enum nd_af af = n ? n->control_af : plan->af; /* the data may have one of its own */
	int r = nd_addr_resolve(plan->host, plan->port, af, false, c->to, ADDRESSES_MAX, &c->to_n,
				err);

	if (r < 0 && n)
		nd_netclient_explain(plan, NULL, r, err);
	return r < 0 ? r : nd_routes_resolve(&c->routes, plan, err);
}

int nd_session_client(const struct nd_session *how, struct nd_err *err)
{
	struct client c = { .plan = how->plan, .sink = how->sink, .ending = ND_END_FAILED };
	enum nd_ending ending = ND_END_FAILED;
	struct nd_err why = { 0 };
	struct nd_result result;
	int r;

	nd_result_init(&result);
	c.result = &result;
	(void)nd_fd_limit(); /* as many as there are; nd_run_check() judges */
	nd_here_read(&c.here);
	r = nd_netclient_begin(c.plan, &why);
	if (r == 0)
		r = find_sources(&c, &why);
	if (r == 0)
		r = nd_pin_check(c.plan, &why);
	if (r < 0)
		ending = nd_ending_of(ND_AT_OPTION, r);
	if (r == 0) {
		r = find_addresses(&c, &why);
		ending = r < 0 ? nd_ending_of(ND_AT_HOST, r) : ND_END_FAILED;
	}
	if (r == 0)
		r = set_up(&c, &why);
	if (r == 0)
		r = run_test(&c, &why);
	if (r == 0) {
		ending = c.ending;
		why = c.err;
	}
	if (ending == ND_END_PARTIAL)
		(void)nd_fail(&why, -EINTR, "partial: %s",
			      result.partial_reason ? result.partial_reason : "ended early");
	if (how->interrupted && c.signal_ns)
		*how->interrupted = true;
	if (ending == ND_END_DONE || ending == ND_END_PARTIAL || ending == ND_END_DAMAGED)
		how->finished(how->user, &result);
	tear_down(&c);
	nd_result_done(&result);
	*err = why;
	return (int)ending;
}
