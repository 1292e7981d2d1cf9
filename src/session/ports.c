/* SPDX-License-Identifier: MIT */
/* The listening ports of another tool's receiver. Which one a connection comes to says what it is. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "plan/sockperf.h"
#include "session/receiver.h"

enum { ACCEPTS = 64, PORTS_MAX = 4096, TAIL = 100000 };

#define PAUSE_NS (100 * ND_NS_PER_MS) /* out of descriptors: do not spin on the listener */
#define RUN_FDS  32                   /* what workers need for themselves */

/* One listening port. */
struct nd_port {
	struct nd_receiver *receiver; /* borrowed */
	int fd;
	unsigned port_class, index;
	bool datagram, touched; /* a datagram has come before the start */
	struct nd_watch *watch;
};

/* ---- who comes */

static void data_arrived(struct nd_port *d, int fd)
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

static bool is_data(const struct nd_port_class *c)
{
	return c->many && !strcmp(c->name, "data");
}

static void take_connection(struct nd_port *d, int fd)
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
	for (unsigned i = 0; i < v->port_n; i++) {
		const struct nd_port *d = &v->ports[i];

		if (d->datagram || (data_only && !is_data(&v->plan_ports[d->port_class])))
			continue;
		if (nd_watch_want(d->watch, false, false) < 0)
			nd_log(ND_LOG_DEBUG, "a full port stays watched");
	}
	nd_timer_set(v->pause, nd_now_ns() + PAUSE_NS);
}

bool nd_ports_are_near_limit(const struct nd_receiver *v, int fd)
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

static void accept_some(struct nd_port *d)
{
	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(d->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS))
			run_short(d->receiver);
		if (fd < 0)
			return;
		take_connection(d, fd);
		if (nd_ports_are_near_limit(d->receiver, fd)) {
			rest(d->receiver, true);
			return;
		}
	}
}

static void on_pause_over(void *user)
{
	struct nd_receiver *v = user;

	for (unsigned i = 0; i < v->port_n; i++) {
		if (!v->ports[i].datagram && nd_watch_want(v->ports[i].watch, true, false) < 0)
			nd_log(ND_LOG_WARN, "a port does not accept any more");
	}
}

static void on_port(void *user, bool readable, bool writable)
{
	struct nd_port *d = user;
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

int nd_ports_mapping(const struct nd_receiver *v, unsigned index)
{
	const struct nd_target *t = target_of(v->plan, &index);

	return t ? (int)(t - (const struct nd_target *)v->plan->targets.v) : -1;
}

/* Where it is: on the host of its mapping, or else on the plan's. */
static int address_of(const struct nd_receiver *v, unsigned port_class, unsigned index,
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

static int open_port(struct nd_receiver *v, unsigned port_class, unsigned index, struct nd_err *err)
{
	const struct nd_transport *t = nd_transport_find(v->plan_ports[port_class].transport);
	struct nd_addr at;
	struct nd_port *d = &v->ports[v->port_n];
	int r = address_of(v, port_class, index, &at, err);

	if (r < 0)
		return r;
	if (v->port_n == PORTS_MAX)
		return nd_fail(err, -ERANGE, "more than %d ports", PORTS_MAX);
	*d = (struct nd_port){ .receiver = v,
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
		r = nd_watch_new(v->loop, d->fd, on_port, d, &d->watch, err);
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
	v->port_n++;
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
		int r = open_port(v, port_class, i, err);

		if (r < 0 && (!lenient || r == -EADDRNOTAVAIL)) /* then no port is to be had */
			return r;
		if (r < 0)
			nd_log(ND_LOG_WARN, "%s: not served", err->text);
		if (r == -ERANGE)
			break; /* so are those behind it */
	}
	return 0;
}

int nd_ports_open(struct nd_receiver *v, struct nd_err *err)
{
	int r = 0;

	v->fd_limit = nd_fd_limit();
	if (nd_timer_new(v->loop, on_pause_over, v, &v->pause) < 0)
		return nd_fail(err, -ENOMEM, "no memory for a timer");
	v->ports = calloc(PORTS_MAX, sizeof(*v->ports));
	if (!v->ports)
		return nd_fail(err, -ENOMEM, "no memory for ports");
	for (unsigned c = 0; r == 0 && v->plan_ports[c].name; c++)
		r = open_class(v, c, err);
	return r;
}

/* ---- between tests */

/* The originals stay ours: they are the ports of the next test, too. */
void nd_ports_give_datagrams(struct nd_receiver *v)
{
	for (unsigned i = 0; i < v->port_n; i++) {
		struct nd_port *d = &v->ports[i];
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

bool nd_ports_are_called(const struct nd_receiver *v)
{
	for (unsigned i = 0; i < v->port_n; i++) {
		const struct nd_port *d = &v->ports[i];
		struct pollfd p = { .fd = d->fd, .events = POLLIN };

		if (!d->datagram && is_data(&v->plan_ports[d->port_class]) && poll(&p, 1, 0) > 0)
			return true;
	}
	return false;
}

/* The tail of a test is not the beginning of the next one. */
static void empty(const struct nd_port *d)
{
	char byte;

	for (int i = 0; d->datagram && i < TAIL; i++) {
		if (recv(d->fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) < 0)
			return;
	}
}

void nd_ports_renew(struct nd_receiver *v)
{
	for (unsigned i = 0; i < v->port_n; i++) {
		v->ports[i].touched = false;
		empty(&v->ports[i]);
		if (nd_watch_want(v->ports[i].watch, true, false) < 0)
			nd_log(ND_LOG_WARN, "a port does not accept any more");
	}
}

void nd_ports_done(struct nd_receiver *v)
{
	for (unsigned i = 0; v->ports && i < v->port_n; i++) {
		nd_watch_free(v->ports[i].watch);
		nd_close_p(&v->ports[i].fd);
	}
	free(v->ports);
	nd_timer_free(v->pause);
}
