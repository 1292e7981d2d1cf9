/* SPDX-License-Identifier: MIT */
/*
 * The receiver of another tool: it has ports of its own, one test at a time, and does not know how many flows will
 * come. Which port a connection comes to says what it is. Data connections that come before the test is agreed
 * upon are held, and given to the run when there is one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "plan/sockperf.h"
#include "session/receiver.h"

enum { ACCEPTS = 64, DOORS_MAX = 4096, TAIL = 100000 };

#define PAUSE_NS (100 * ND_NS_PER_MS) /* out of descriptors: do not spin on the listener */
#define RUN_FDS  32                   /* what workers need for themselves */

/* One listening port. */
struct door {
	struct nd_receiver *receiver; /* borrowed */
	int fd;
	unsigned port_class, index;
	bool datagram, touched; /* a datagram has come before the start */
	struct nd_watch *watch;
};

/* ---- flows */

static void data_arrived(struct door *d, int fd)
{
	struct nd_receiver *v = d->receiver;
	struct nd_dialog_event ev = { .what = ND_DLG_FLOW_OPEN,
				      .port_class = d->port_class,
				      .index = d->index,
				      .flow = v->flow_n };

	if (v->flow_n >= v->plan->workload[0].flows || nd_arrivals_add(v, fd, d->index) < 0) {
		nd_close_p(&fd);
		return;
	}
	nd_arrivals_hear(v, fd, d->port_class, d->index);
	nd_datasock_tell(v->plan, v->sink, fd);
	nd_test_feed(&v->test, &ev);
	nd_arrivals_give(v);
}

/* The sockets of a datagram receiver are its flows; the original stays ours. */
static void give_datagrams(struct nd_receiver *v)
{
	for (unsigned i = 0; i < v->door_n; i++) {
		struct door *d = &v->doors[i];
		int copy;

		if (!d->datagram)
			continue;
		copy = fcntl(d->fd, F_DUPFD_CLOEXEC, 0);
		if (copy >= 0 && nd_arrivals_add(v, copy, d->index) < 0)
			nd_close_p(&copy);
		if (nd_watch_want(d->watch, false, false) < 0)
			nd_log(ND_LOG_DEBUG, "a datagram socket stays watched");
	}
}

/* ---- doors */

static bool is_data(const struct nd_port_class *c)
{
	return c->many && !strcmp(c->name, "data");
}

static void take_connection(struct door *d, int fd)
{
	struct nd_receiver *v = d->receiver;
	struct nd_err err = { 0 };

	if (is_data(&v->plan_ports[d->port_class])) {
		data_arrived(d, fd);
		return;
	}
	if (nd_test_adopt_at(&v->test, d->port_class, d->index, fd, &err) < 0)
		nd_log(ND_LOG_DEBUG, "%s", err.text);
}

/* Take no connections for a while. @data_only: but those that synchronise. */
static void rest(struct nd_receiver *v, bool data_only)
{
	for (unsigned i = 0; i < v->door_n; i++) {
		const struct door *d = &v->doors[i];

		if (d->datagram || (data_only && !is_data(&v->plan_ports[d->port_class])))
			continue;
		if (nd_watch_want(d->watch, false, false) < 0)
			nd_log(ND_LOG_DEBUG, "a full port stays watched");
	}
	nd_timer_set(v->pause, nd_now_ns() + PAUSE_NS);
}

bool nd_receiver_is_near_limit(const struct nd_receiver *v, int fd)
{
	bool is_set_up = v->test.run && v->test.run_state >= ND_RUN_READY;

	return !is_set_up && (uint64_t)fd + RUN_FDS >= v->fd_limit;
}

/* Those that are left wait at their port, connected as far as their senders see: the result has less than was sent. */
static void run_short(struct nd_receiver *v)
{
	rest(v, false);
	if (!v->is_short)
		nd_log(ND_LOG_WARN,
		       "no descriptors are left for more connections (ulimit -n): they are not read, "
		       "and the result lacks them");
	v->is_short = true;
}

static void accept_some(struct door *d)
{
	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(d->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS))
			run_short(d->receiver);
		if (fd < 0)
			return;
		take_connection(d, fd);
		if (nd_receiver_is_near_limit(d->receiver, fd)) {
			rest(d->receiver, true);
			return;
		}
	}
}

static void on_pause_over(void *user)
{
	struct nd_receiver *v = user;

	for (unsigned i = 0; i < v->door_n; i++) {
		if (!v->doors[i].datagram && nd_watch_want(v->doors[i].watch, true, false) < 0)
			nd_log(ND_LOG_WARN, "a port does not accept any more");
	}
}

static void on_door(void *user, bool readable, bool writable)
{
	struct door *d = user;
	struct nd_dialog_event ev = { .what = ND_DLG_FIRST_DATA,
				      .port_class = d->port_class,
				      .index = d->index };

	(void)writable;
	if (!readable)
		return;
	if (!d->datagram) {
		accept_some(d);
		return;
	}
	if (!d->touched) {
		d->touched = true;
		nd_test_feed(&d->receiver->test, &ev);
	}
	if (nd_watch_want(d->watch, false, false) < 0) /* the run reads it, or nobody yet */
		nd_log(ND_LOG_DEBUG, "a datagram socket stays watched");
}

/* Which of the plan's hosts port @index of a class belongs to, and its place there. */
static const struct nd_target *target_of(const struct nd_plan *p, unsigned *index)
{
	const struct nd_target *t = p->targets.v;

	for (uint64_t i = 0; i < p->targets.n; i++) {
		if (*index < t[i].ports)
			return &t[i];
		*index -= (unsigned)t[i].ports;
	}
	return NULL;
}

int nd_receiver_mapping(const struct nd_receiver *v, unsigned index)
{
	const struct nd_target *t = target_of(v->plan, &index);

	return t ? (int)(t - (const struct nd_target *)v->plan->targets.v) : -1;
}

/* Where a port is: on the host of its mapping, or else on the plan's. */
static int door_address(const struct nd_receiver *v, unsigned port_class, unsigned index,
			struct nd_addr *ret, struct nd_err *err)
{
	const struct nd_port_class *c = &v->plan_ports[port_class];
	const struct nd_plan *p = v->plan;
	unsigned at = index;
	const struct nd_target *t = target_of(p, &at);
	const char *host = t ? t->host : p->serve.listen.n ? p->serve.listen.v[0] : NULL;
	uint64_t moved =
		t && p->data_port ? p->data_port - ((struct nd_target *)p->targets.v)->port : 0;
	uint64_t base = !c->many ? p->port : t ? t->port + moved + at : p->port + index;
	int64_t port = (int64_t)base + c->offset;
	size_t n = 0;

	if (port < 1 || port > 65535)
		return nd_fail(err, -ERANGE, "port %lld is outside 1..65535", (long long)port);
	return nd_addr_resolve(host, (uint64_t)port, p->af, true, ret, 1, &n, err);
}

static int join_group(const struct nd_receiver *v, unsigned index, int fd,
		      const struct nd_addr *group, struct nd_err *err)
{
	struct nd_multicast how = v->plan->sock.multicast;
	const struct nd_target *t = target_of(v->plan, &index);

	if (t && t->source)
		how.source = t->source;
	return nd_multicast_set(fd, group, &how, true, err);
}

/* A second receiver at a port would take what is meant for the first; a group is for all who join. */
static bool shares_ports(const struct nd_receiver *v)
{
	return v->plan->sock.reuseaddr || v->plan->sock.multicast.wanted;
}

static int open_door(struct nd_receiver *v, unsigned port_class, unsigned index, struct nd_err *err)
{
	const struct nd_transport *t = nd_transport_find(v->plan_ports[port_class].transport);
	struct nd_addr at;
	struct door *d = &v->doors[v->door_n];
	int r = door_address(v, port_class, index, &at, err);

	if (r < 0)
		return r;
	if (v->door_n == DOORS_MAX)
		return nd_fail(err, -ERANGE, "more than %d ports", DOORS_MAX);
	*d = (struct door){ .receiver = v,
			    .fd = -1,
			    .port_class = port_class,
			    .index = index,
			    .datagram = (t->caps & ND_NET_DATAGRAM) != 0 };
	r = shares_ports(v) ? nd_listen(t, &at, false, &d->fd, err)
			    : nd_listen_alone(t, &at, false, &d->fd, err);
	/* datagrams have no other socket of their own: buffers and the like are its; connections inherit them */
	if (r == 0 && nd_sockperf_of(v->plan))
		r = nd_accepted(t, &v->plan->sock, d->fd, err);
	if (r == 0 && v->plan->sock.multicast.wanted && nd_is_multicast(&at))
		r = join_group(v, index, d->fd, &at, err);
	if (r == 0)
		r = nd_watch_new(v->loop, d->fd, on_door, d, &d->watch, err);
	if (r == 0)
		r = nd_watch_want(d->watch, true, false);
	if (r < 0) { /* those that are counted are open */
		nd_watch_free(d->watch);
		nd_close_p(&d->fd);
		return r;
	}
	if (is_data(&v->plan_ports[port_class]))
		v->transports[d->datagram] = t->name;
	nd_datasock_tell(v->plan, v->sink, d->fd);
	v->door_n++;
	return 0;
}

/* All ports of a class. Beside others, or where it can do without, one that cannot be had is named and left out. */
static int open_class(struct nd_receiver *v, unsigned port_class, struct nd_err *err)
{
	bool lenient = v->lenient ||
		       (v->dialect->spares && v->dialect->spares(v->test.dialog, port_class));
	unsigned n = 0;

	if (!v->dialect->listens(v->test.dialog, port_class, &n))
		return 0;
	for (unsigned i = 0; i < n; i++) {
		int r = open_door(v, port_class, i, err);

		if (r < 0 && (!lenient || r == -EADDRNOTAVAIL)) /* then no port is to be had */
			return r;
		if (r < 0)
			nd_log(ND_LOG_WARN, "%s: not served", err->text);
		if (r == -ERANGE)
			break; /* so are those behind it */
	}
	return 0;
}

static int open_doors(struct nd_receiver *v, struct nd_err *err)
{
	int r = 0;

	v->doors = calloc(DOORS_MAX, sizeof(*v->doors));
	if (!v->doors)
		return nd_fail(err, -ENOMEM, "no memory for ports");
	for (unsigned c = 0; r == 0 && v->plan_ports[c].name; c++)
		r = open_class(v, c, err);
	return r;
}

/* ---- what the test asks */

/* Some connection waits at a port, not yet accepted. */
static bool is_called(const struct nd_receiver *v)
{
	for (unsigned i = 0; i < v->door_n; i++) {
		const struct door *d = &v->doors[i];
		struct pollfd p = { .fd = d->fd, .events = POLLIN };

		if (!d->datagram && is_data(&v->plan_ports[d->port_class]) && poll(&p, 1, 0) > 0)
			return true;
	}
	return false;
}

/* Where both are served, a test without connections is one of datagrams. */
static void choose_transport(struct nd_receiver *v, bool has_streams)
{
	struct nd_workload *w = &v->plan->workload[0];
	bool is_datagram;

	if (!v->transports[0] || !v->transports[1])
		return;
	is_datagram = !has_streams && !is_called(v);
	w->transport = v->transports[is_datagram];
	w->message_bytes = is_datagram ? ND_MAX_DATAGRAM : v->stream_bytes;
}

static void on_prepare(void *user, struct nd_run_cfg *cfg)
{
	struct nd_receiver *v = user;

	/* a receiver connects to nobody, but its mappings name CPUs */
	cfg->routes = v->routes.v;
	cfg->route_n = v->routes.n;
	v->is_started = false;
	choose_transport(v, nd_arrivals_renew(v) > 0);
	if (nd_plan_is_datagram(&v->plan->workload[0]))
		give_datagrams(v);
}

static void on_prepared(void *user)
{
	nd_arrivals_give(user);
}

static void on_flows(void *user, uint64_t open)
{
	struct nd_receiver *v = user;
	struct nd_dialog_event ev = { .what = ND_DLG_FLOW_CLOSED, .flow = open };

	nd_test_feed(&v->test, &ev);
}

static void tell(const struct nd_receiver *v, const struct nd_progress_event *ev)
{
	if (v->sink && v->sink->progress)
		v->sink->progress(v->sink->user, ev);
}

static void on_note(void *user, const char *text)
{
	struct nd_progress_event ev = { .what = ND_PROG_NOTE, .text = text };

	tell(user, &ev);
}

static void on_seen(void *user, const struct nd_diary_entry *e)
{
	struct nd_progress_event ev = { .what = ND_PROG_SEEN, .seen = e };

	tell(user, &ev);
}

static void on_start(void *user, uint64_t at_ns)
{
	nd_arrivals_started(user, true);
	nd_phases_start(((struct nd_receiver *)user)->phases, at_ns);
}

static void on_intervals(void *user, bool own, const struct nd_interval_sample *s, uint64_t n)
{
	struct nd_receiver *v = user;

	if (v->live)
		nd_live_add(v->live, own, s, n);
}

/* Engines read more at a time than such a tool was told to; reports of reads mean its own. */
static void count_reads(const struct nd_receiver *v, uint64_t bytes, uint64_t *reads)
{
	uint64_t each = ND_MAX(v->stream_bytes, 1);

	if (!nd_plan_is_datagram(&v->plan->workload[0]))
		*reads = ND_MAX(*reads, bytes / each + (bytes % each != 0));
}

static void count_part(const struct nd_receiver *v, struct nd_part *p)
{
	struct nd_interval_sample *s = p->intervals.v;
	struct nd_flow_row *rows = p->flows.v;

	count_reads(v, p->window.rx_bytes, &p->window.rx_messages);
	count_reads(v, p->run.rx_bytes, &p->run.rx_messages);
	for (uint64_t i = 0; i < p->intervals.n; i++)
		count_reads(v, s[i].rx_bytes, &s[i].rx_messages);
	for (uint64_t i = 0; i < p->flows.n; i++)
		count_reads(v, rows[i].rx_bytes, &rows[i].rx_messages);
}

/* Which port each flow came to: only the session has seen that. */
static void on_measured(void *user, struct nd_side *side)
{
	const struct nd_receiver *v = user;
	struct nd_part *parts = side->parts.v;

	for (uint64_t i = 0; i < side->parts.n; i++) {
		struct nd_flow_row *rows = parts[i].flows.v;

		count_part(v, &parts[i]);
		for (uint64_t k = 0; k < parts[i].flows.n && k < v->flow_n; k++)
			rows[k].group = v->flows[k].index;
	}
}

static void on_over(void *user)
{
	struct nd_receiver *v = user;
	struct nd_result r;
	struct nd_err err = { 0 };

	if (v->live)
		nd_live_flush(v->live);
	nd_phases_end(v->phases);
	v->ending = v->test.ending;
	v->err = v->test.err;
	if (v->ending == ND_END_FAILED || v->ending == ND_END_PEER)
		return;
	nd_result_init(&r);
	if (nd_outcome_result(&v->test, &r, &err) < 0) {
		v->ending = ND_END_FAILED;
		v->err = err;
	} else {
		if (nd_outcome_ending(&r, &v->err) == ND_END_DAMAGED)
			v->ending = ND_END_DAMAGED;
		if (v->finished)
			v->finished(v->finished_user, &r);
	}
	nd_result_done(&r);
}

static int open_test(struct nd_receiver *v, struct nd_err *err);
static void announce(const struct nd_receiver *v);

static void end(struct nd_receiver *v)
{
	v->is_ended = true;
	v->ended(v->user, v->ending, &v->err);
}

/* The tail of a test is not the beginning of the next one. */
static void empty(const struct door *d)
{
	char byte;

	for (int i = 0; d->datagram && i < TAIL; i++) {
		if (recv(d->fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) < 0)
			return;
	}
}

/* One test is over: the next, or the end. */
static void on_gone(void *user)
{
	struct nd_receiver *v = user;

	nd_test_done(&v->test);
	nd_arrivals_started(v, false);
	nd_arrivals_forget(v);
	nd_live_free(v->live);
	nd_phases_free(v->phases);
	v->live = NULL;
	v->phases = NULL;
	if (!v->hold || v->is_stopping) {
		end(v);
		return;
	}
	for (unsigned i = 0; i < v->door_n; i++) {
		v->doors[i].touched = false;
		empty(&v->doors[i]);
		if (nd_watch_want(v->doors[i].watch, true, false) < 0)
			nd_log(ND_LOG_WARN, "a port does not accept any more");
	}
	if (open_test(v, &v->err) < 0) {
		v->ending = ND_END_FAILED;
		end(v);
		return;
	}
	announce(v);
}

static const struct nd_test_ops receiver_ops = {
	.prepare = on_prepare,
	.prepared = on_prepared,
	.note = on_note,
	.start = on_start,
	.flows = on_flows,
	.measured = on_measured,
	.intervals = on_intervals,
	.seen = on_seen,
	.over = on_over,
	.gone = on_gone,
};

/* ---- life */

static int open_test(struct nd_receiver *v, struct nd_err *err)
{
	struct nd_dialog_cfg cfg = { .end = ND_SERVER };
	int r = nd_test_init(&v->test, v->loop, v->dialect, &receiver_ops, v, err);

	if (r < 0)
		return r;
	v->is_short = false;
	v->test.end = ND_SERVER;
	v->test.plan = v->plan;
	v->test.here = v->here;
	v->test.trace = v->plan->trace_control;
	if (v->sink && v->plan->interval_ns > 0 &&
	    (nd_live_new(v->loop, v->plan, ND_SERVER, v->sink, &v->live) < 0 ||
	     nd_phases_new(v->loop, v->plan, v->sink, &v->phases) < 0))
		return nd_fail(err, -ENOMEM, "no memory for interval lines");
	return nd_test_open(&v->test, &cfg, err);
}

/* Scripts wait for this before they start the sender. */
static void announce(const struct nd_receiver *v)
{
	char text[32];
	struct nd_progress_event ev = { .what = ND_PROG_LISTENING, .text = text };

	(void)snprintf(text, sizeof(text), "port %llu", /* it fits */
		       (unsigned long long)v->plan->port);
	tell(v, &ev);
	ev = (struct nd_progress_event){ .what = ND_PROG_READY };
	tell(v, &ev);
}

int nd_receiver_open(struct nd_receiver *v, struct nd_err *err)
{
	int r;

	v->dialect = nd_dialect_find(v->plan->dialect);
	if (!v->dialect || !v->dialect->listens)
		return nd_fail(err, -EPROTONOSUPPORT, "control language '%s' has no receiver",
			       v->plan->dialect);
	v->plan_ports = v->dialect->ports;
	if (nd_timer_new(v->loop, on_pause_over, v, &v->pause) < 0)
		return nd_fail(err, -ENOMEM, "no memory for a timer");
	if (nd_routes_bind(&v->routes, v->plan) < 0)
		return nd_fail(err, -ENOMEM, "no memory for mappings");
	v->stream_bytes = v->plan->workload[0].message_bytes;
	v->fd_limit = nd_fd_limit();
	r = open_test(v, err);
	if (r == 0)
		r = open_doors(v, err);
	if (r < 0)
		return r;
	announce(v);
	return 0;
}

bool nd_receiver_is_idle(const struct nd_receiver *v)
{
	return !v->is_started && v->flow_n == 0 && !v->is_ended;
}

void nd_receiver_stop(struct nd_receiver *v, const char *reason)
{
	if (v->is_stopping || v->is_ended)
		return;
	v->is_stopping = true;
	nd_test_stop(&v->test, reason);
}

void nd_receiver_done(struct nd_receiver *v)
{
	for (unsigned i = 0; v->doors && i < v->door_n; i++) {
		nd_watch_free(v->doors[i].watch);
		nd_close_p(&v->doors[i].fd);
	}
	free(v->doors);
	if (v->loop)
		nd_test_done(&v->test);
	nd_arrivals_started(v, true);
	nd_arrivals_forget(v);
	free(v->flows);
	nd_routes_done(&v->routes);
	nd_live_free(v->live);
	nd_phases_free(v->phases);
	nd_timer_free(v->pause);
}
