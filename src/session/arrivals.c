/* SPDX-License-Identifier: MIT */
/*
 * Data sockets that came to a tool's receiver, until its run has them. A sender that tells nobody when it starts
 * is heard by its first byte: that is listened for on a second descriptor, as the run may have the first already.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/time.h"
#include "session/receiver.h"

/* A sender opens all connections before it sends on any: the latest ones are enough, and older ones that say nothing
 * may be somebody else's. */
#define STALE_NS ND_NS_PER_S

int nd_arrivals_add(struct nd_receiver *v, int fd, unsigned index)
{
	if (nd_grow(v->flows, v->flow_n) < 0)
		return -ENOMEM;
	v->flows[v->flow_n++] = (struct nd_arrival){ .fd = fd, .index = index };
	return 0;
}

/* In order, as open-ended runs want it. */
void nd_arrivals_give(struct nd_receiver *v)
{
	struct nd_err err = { 0 };

	for (; v->test.run && v->given_n < v->flow_n; v->given_n++) {
		const struct nd_arrival *f = &v->flows[v->given_n];
		int route = nd_ports_mapping(v, f->index);
		int fd = nd_take_fd(&v->flows[v->given_n].fd);

		if (nd_run_give_at(v->test.run, v->given_n, route, fd, &err) < 0)
			nd_log(ND_LOG_DEBUG, "%s", err.text);
	}
}

/* Has the other end gone, and left nothing behind? */
static bool is_dead(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

uint64_t nd_arrivals_renew(struct nd_receiver *v)
{
	uint64_t kept = 0;

	for (uint64_t i = v->given_n; i < v->flow_n; i++) {
		if (is_dead(v->flows[i].fd))
			nd_close_p(&v->flows[i].fd);
		else
			v->flows[kept++] = v->flows[i];
	}
	v->flow_n = kept;
	v->given_n = 0;
	return kept;
}

void nd_arrivals_forget(struct nd_receiver *v)
{
	for (uint64_t i = v->given_n; i < v->flow_n; i++)
		nd_close_p(&v->flows[i].fd);
	v->flow_n = v->given_n = 0;
}

/* ---- ears ---- */

static void close_ear(struct nd_ear *e)
{
	nd_watch_free(e->watch);
	if (e->watch)
		nd_close_p(&e->fd);
	e->watch = NULL;
}

static void on_heard(void *user, bool readable, bool writable)
{
	struct nd_ear *e = user;
	struct nd_receiver *v = e->receiver;
	struct nd_dialog_event ev = { .what = ND_DLG_FIRST_DATA,
				      .port_class = e->port_class,
				      .index = e->index };
	bool is_data = readable && !is_dead(e->fd);

	(void)writable;
	close_ear(e);
	if (is_data)
		nd_test_feed(&v->test, &ev);
}

void nd_arrivals_hear(struct nd_receiver *v, int fd, unsigned port_class, unsigned index)
{
	struct nd_ear *e = &v->ears[v->ear_at % ND_EARS];
	uint64_t now_ns = nd_now_ns();
	struct nd_err err = { 0 };
	nd_auto_fd int own = -1;

	if (v->is_started || (e->watch && now_ns - e->at_ns < STALE_NS))
		return;
	close_ear(e);
	v->ear_at++;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0 || nd_ports_are_near_limit(v, own))
		return; /* (nearly) out of descriptors: other connections will be heard */
	*e = (struct nd_ear){
		.receiver = v, .fd = own, .port_class = port_class, .index = index, .at_ns = now_ns
	};
	if (nd_watch_new(v->loop, own, on_heard, e, &e->watch, &err) < 0) {
		nd_log(ND_LOG_DEBUG, "%s", err.text);
		return;
	}
	(void)nd_take_fd(&own); /* the ear's */
	if (nd_watch_want(e->watch, true, false) < 0)
		close_ear(e);
}

void nd_arrivals_started(struct nd_receiver *v, bool started)
{
	v->is_started = started;
	for (unsigned i = 0; i < ND_EARS; i++)
		close_ear(&v->ears[i]);
}
