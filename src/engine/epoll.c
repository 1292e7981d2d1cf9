/* SPDX-License-Identifier: MIT */
/*
 * Many flows per worker: each registered once, edge-triggered. Flows that can proceed stand in a ring and
 * take turns; timed ones in a heap. Flows that wait for a connection share one registration: of a new connection one
 * of them is told, and who takes one tells the next.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/int.h"

enum { EVENTS = 256, ALONE = 1024 }; /* operations in turn of a flow that no other waits for */

struct epoll {
	int fd;
	bool coarse; /* no epoll_pwait2 (before Linux 5.11): timeouts in ms */
	struct epoll_event events[EVENTS];
	struct nd_queue q;
	struct nd_flow **idle; /* owned: those that wait for a connection; room for all flows */
	uint32_t idle_n;
};

static void close_epoll(struct nd_io *io)
{
	struct epoll *e = io->engine_state;

	if (!e)
		return;
	nd_io_unguard(io);
	io->patient = io->one_way = io->coarse =
		false; /* the socket stays as it is: it goes with its flow */
	nd_close_p(&e->fd);
	nd_queue_done(&e->q);
	free(e->idle);
	free(e);
	io->engine_state = NULL;
}

static int watch(const struct epoll *e, int fd, uint32_t events, void *who)
{
	struct epoll_event ev = { .events = events, .data.ptr = who };

	if (fd < 0)
		return 0;
	return epoll_ctl(e->fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static int watch_flow(const struct epoll *e, struct nd_flow *f)
{
	return watch(e, f->fd, EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET, f);
}

/* The descriptors of all flows that wait for connections are of one socket: it would wake each of them. */
static int watch_all(const struct nd_io *io, struct epoll *e)
{
	int r = watch(e, io->wake_fd, EPOLLIN, NULL);
	bool heard[ND_MAX_WORKLOADS] = { false };
	uint32_t i;

	for (i = 0; r == 0 && i < io->flow_count; i++) {
		struct nd_flow *f = &io->flows[i];

		if (f->active || !nd_lane_of(io, f)->load->connects) {
			r = watch_flow(e, f);
			continue;
		}
		if (!heard[f->workload])
			r = watch(e, f->fd, EPOLLIN | EPOLLET, e);
		heard[f->workload] = true;
	}
	return r;
}

static bool awaits_call(const struct nd_flow *f)
{
	return f->state == ND_FLOW_BLOCKED && f->step.op == ND_OP_ACCEPT;
}

static void park(struct epoll *e, struct nd_flow *f)
{
	if (!f->parked)
		e->idle[e->idle_n++] = f;
	f->parked = true;
}

static void call_one(struct epoll *e)
{
	while (e->idle_n > 0) {
		struct nd_flow *f = e->idle[--e->idle_n];

		f->parked = false;
		if (!awaits_call(f))
			continue;
		f->state = ND_FLOW_READY;
		nd_queue_push(&e->q, f);
		return;
	}
}

static int open_epoll(struct nd_io *io, struct nd_err *err)
{
	struct epoll *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return nd_fail(err, -ENOMEM, "no memory for an event loop");
	io->engine_state = e;
	nd_io_naps(io);
	e->fd = epoll_create1(EPOLL_CLOEXEC);
	r = e->fd < 0 ? -errno : 0;
	e->idle =
		calloc(nd_io_room(io), sizeof(struct nd_flow *)); /* untouched pages cost nothing */
	if (r == 0)
		r = e->idle ? nd_queue_init(&e->q, io) : -ENOMEM;
	if (r == 0)
		r = watch_all(io, e);
	if (r < 0) {
		char words[64];

		close_epoll(io);
		return nd_fail(err, r, "an event loop for %u flows: %s", io->flow_count,
			       nd_strerror(r, words, sizeof(words)));
	}
	return 0;
}

/* A connection that has all it needs until it is closed is never heard of. */
static void file(struct nd_io *io, struct epoll *e, struct nd_flow *f)
{
	int r = 0;

	if (f->unwatched && f->state == ND_FLOW_BLOCKED) {
		f->unwatched = false;
		r = watch_flow(e, f);
	}
	if (r < 0)
		nd_flow_fail(io, f, r);
	nd_queue_file(&e->q, f);
}

/* After an edge or a wake-up, which may have begun or stopped flows. */
static void rescan(struct nd_io *io, struct epoll *e)
{
	uint32_t i;

	if (!io->rescan)
		return;
	io->rescan = false;
	for (i = 0; i < io->flow_count; i++)
		file(io, e, &io->flows[i]);
}

static int wait_ms(struct epoll *e, uint64_t now_ns, uint64_t until_ns)
{
	uint64_t ms = until_ns > now_ns ? (until_ns - now_ns + ND_NS_PER_MS - 1) / ND_NS_PER_MS : 0;

	return epoll_wait(e->fd, e->events, EVENTS,
			  until_ns == UINT64_MAX ? -1 : (int)ND_MIN(ms, 1000000));
}

static int wait_ns(struct epoll *e, uint64_t now_ns, uint64_t until_ns)
{
#ifdef SYS_epoll_pwait2 /* the kernel may have what the C library does not know yet */
	struct timespec t = nd_timespec(now_ns, until_ns);
	int n;

	if (e->coarse)
		return wait_ms(e, now_ns, until_ns);
	n = (int)syscall(SYS_epoll_pwait2, e->fd, e->events, EVENTS,
			 until_ns == UINT64_MAX ? NULL : &t, NULL, (size_t)0);
	if (n >= 0 || errno != ENOSYS)
		return n;
	e->coarse = true;
#endif
	return wait_ms(e, now_ns, until_ns);
}

static void take_event(struct epoll *e, const struct epoll_event *ev)
{
	const uint32_t broken = EPOLLERR | EPOLLHUP;
	struct nd_flow *f = ev->data.ptr;

	if (ev->events & (EPOLLRDHUP | EPOLLHUP | EPOLLPRI))
		f->hup = true;
	if (nd_flow_unblock(f, ev->events & (EPOLLIN | EPOLLRDHUP | broken),
			    ev->events & (EPOLLOUT | broken)))
		nd_queue_push(&e->q, f);
}

static int wait_for(struct nd_io *io, struct epoll *e, struct nd_err *err)
{
	uint64_t until = ND_MIN(io->edge_ns, nd_timers_next(&e->q.timers));
	bool woken = false;
	int i, n;

	io->still_ns = io->now_ns = nd_io_true(io);
	if (e->q.n == 0 && nd_io_idle(io, until, true))
		until = 0; /* it has waited: only collect what happened */
	n = e->q.n ? epoll_wait(e->fd, e->events, EVENTS, 0) : wait_ns(e, io->now_ns, until);
	if (n < 0 && errno != EINTR)
		return nd_sysfail(err, "epoll");
	if (n < 0)
		nd_io_guard(io, false); /* this wait needs none */
	io->now_ns = nd_now_ns();
	for (i = 0; i < n; i++) {
		if (e->events[i].data.ptr == e)
			call_one(e);
		else if (e->events[i].data.ptr)
			take_event(e, &e->events[i]);
		else
			woken = true;
	}
	if (woken)
		nd_io_woken(io, io->now_ns);
	nd_io_tick(io, io->now_ns);
	nd_queue_due(&e->q, io->now_ns);
	rescan(io, e);
	return 0;
}

static void take_turns(struct nd_io *io, struct epoll *e)
{
	uint32_t left;

	for (left = e->q.n; left > 0 && !io->quit; left--) {
		struct nd_flow *f = nd_queue_pop(&e->q);

		bool listens = f->step.op == ND_OP_ACCEPT;

		nd_io_may_turn(io);
		nd_flow_short_cut(io, f);
		(void)nd_flow_turn(io, f,
				   io->patient ? ALONE
					       : ND_TURN_BUDGET); /* its state is looked at next */
		if (awaits_call(f))
			park(e, f);
		else if (listens)
			call_one(e);
		file(io, e, f);
	}
	rescan(io, e);
}

static int run_epoll(struct nd_io *io, struct nd_err *err)
{
	struct epoll *e = io->engine_state;
	int r = 0;

	nd_io_tick(io, nd_now_ns());
	io->rescan = true;
	rescan(io, e);
	while (r == 0 && !nd_io_over(io)) {
		r = wait_for(io, e, err);
		if (r == 0)
			take_turns(io, e);
	}
	nd_io_guard(io, false);
	return r;
}

/* A server's only flow is served as by the blocking backend. */
static void wait_or_not(struct nd_io *io, struct nd_flow *f)
{
	nd_io_be_hasty(io);
	if (io->open_ended && io->flow_count == io->done_count + 1 &&
	    nd_lane_of(io, f)->load->round_trips) {
		nd_io_be_patient(io, f);
		nd_io_be_exact(io, f);
	}
}

static int add_flow(struct nd_io *io, struct nd_flow *f)
{
	struct epoll *e = io->engine_state;
	int r;

	wait_or_not(io, f);
	r = watch_flow(e, f);

	if (r == 0)
		nd_queue_file(&e->q, f);
	return r;
}

const struct nd_engine nd_engine_epoll = {
	.name = "epoll",
	.help = "edge-triggered epoll: many flows per worker",
	.connects = true,
	.moves = true,
	.open = open_epoll,
	.run = run_epoll,
	.close = close_epoll,
	.add = add_flow,
};
