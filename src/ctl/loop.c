/* SPDX-License-Identifier: MIT */
/* The event loop: descriptors by epoll, timers in a heap, signals by signalfd. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "ctl/ctl.h"
#include "ctl/int.h"

#define EVENTS_PER_TURN 128
#define TIMER_OFF       SIZE_MAX

struct nd_watch {
	struct nd_trash trash;
	struct nd_loop *loop; /* borrowed */
	int fd;               /* borrowed */
	nd_ready_fn fn;
	void *user;
	uint32_t events; /* registered; 0: not in the epoll set */
	bool dead;
};

struct nd_timer {
	struct nd_trash trash;
	struct nd_loop *loop; /* borrowed */
	nd_timer_fn fn;
	void *user;
	uint64_t at_ns;
	uint64_t order; /* equal instants fire in the order they were set */
	size_t place;   /* in the heap, TIMER_OFF when not set */
};

struct nd_loop {
	int epoll_fd; /* owned */
	bool quit, at_once;
	uint64_t turn_ns;       /* the clock when this turn's timers were looked at */
	struct nd_timer **heap; /* owned; room for every timer there is */
	size_t heap_n, heap_room, timers;
	uint64_t order;
	struct nd_trash *trash; /* owned */
	struct nd_linger *lingering;

	int signal_fd; /* owned, -1 */
	struct nd_watch *signal_watch;
	void (*signal_fn)(void *user, int signal);
	void *signal_user;
};

/* ---- what is let go ---- */

void nd_loop_discard(struct nd_loop *l, struct nd_trash *t, void (*release)(struct nd_trash *t))
{
	t->release = release;
	t->next = l->trash;
	l->trash = t;
}

static void empty_trash(struct nd_loop *l)
{
	while (l->trash) {
		struct nd_trash *t = l->trash;

		l->trash = t->next;
		if (t->release)
			t->release(t);
		else
			free(t);
	}
}

void nd_loop_linger(struct nd_loop *l, struct nd_linger *g)
{
	g->prev = NULL;
	g->next = l->lingering;
	if (g->next)
		g->next->prev = g;
	l->lingering = g;
}

void nd_loop_leave(struct nd_loop *l, struct nd_linger *g)
{
	if (g->next)
		g->next->prev = g->prev;
	if (g->prev)
		g->prev->next = g->next;
	else
		l->lingering = g->next;
	g->next = g->prev = NULL;
}

/* ---- descriptors ---- */

int nd_watch_new(struct nd_loop *l, int fd, nd_ready_fn fn, void *user, struct nd_watch **ret,
		 struct nd_err *err)
{
	struct nd_watch *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return nd_fail(err, -ENOMEM, "no memory to watch a descriptor");
	*w = (struct nd_watch){ .loop = l, .fd = fd, .fn = fn, .user = user };
	r = nd_watch_want(w, true, false);
	if (r < 0) {
		free(w);
		errno = -r;
		return nd_sysfail(err, "watching a descriptor");
	}
	*ret = w;
	return 0;
}

int nd_watch_want(struct nd_watch *w, bool read, bool write)
{
	struct epoll_event ev = { .data.ptr = w };
	int op = EPOLL_CTL_MOD;

	if (read)
		ev.events |= EPOLLIN | EPOLLRDHUP;
	if (write)
		ev.events |= EPOLLOUT;
	if (ev.events == w->events || w->dead)
		return 0;
	if (w->events == 0)
		op = EPOLL_CTL_ADD;
	else if (ev.events == 0)
		op = EPOLL_CTL_DEL; /* else errors and hang-ups would still be told */
	if (epoll_ctl(w->loop->epoll_fd, op, w->fd, &ev) < 0)
		return -errno;
	w->events = ev.events;
	return 0;
}

void nd_watch_free(struct nd_watch *w)
{
	if (!w || w->dead)
		return;
	if (w->events !=
	    0) /* fails when the fd is closed, which has taken it out of the set already */
		(void)epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	w->dead = true;
	nd_loop_discard(w->loop, &w->trash, NULL);
}

static void tell_watch(struct nd_watch *w, uint32_t events)
{
	bool broken = events & (EPOLLERR | EPOLLHUP);
	bool readable = (broken || (events & (EPOLLIN | EPOLLRDHUP))) && (w->events & EPOLLIN);
	bool writable = (broken || (events & EPOLLOUT)) && (w->events & EPOLLOUT);

	/* An earlier call-back of this turn may have freed the watch or lost interest. */
	if (!w->dead && (readable || writable))
		w->fn(w->user, readable, writable);
}

/* ---- timers ---- */

static bool has_ended(const struct nd_loop *l)
{
	return l->at_once || (l->quit && !l->lingering);
}

static bool is_before(const struct nd_timer *a, const struct nd_timer *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void put_at(struct nd_loop *l, size_t place, struct nd_timer *t)
{
	l->heap[place] = t;
	t->place = place;
}

static void sift_up(struct nd_loop *l, struct nd_timer *t)
{
	size_t i = t->place;

	while (i > 0 && is_before(t, l->heap[(i - 1) / 2])) {
		put_at(l, i, l->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put_at(l, i, t);
}

static void sift_down(struct nd_loop *l, struct nd_timer *t)
{
	size_t i = t->place;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < l->heap_n && is_before(l->heap[child + 1], l->heap[child]))
			child++;
		if (child >= l->heap_n || !is_before(l->heap[child], t))
			break;
		put_at(l, i, l->heap[child]);
		i = child;
	}
	put_at(l, i, t);
}

static void take_out(struct nd_loop *l, struct nd_timer *t)
{
	size_t hole = t->place;

	t->place = TIMER_OFF;
	l->heap_n--;
	if (hole == l->heap_n)
		return;
	put_at(l, hole, l->heap[l->heap_n]);
	sift_down(l, l->heap[hole]);
	sift_up(l, l->heap[hole]);
}

int nd_timer_new(struct nd_loop *l, nd_timer_fn fn, void *user, struct nd_timer **ret)
{
	struct nd_timer *t;

	/* Room is made here, so that setting a timer cannot fail. */
	if (l->timers == l->heap_room) {
		size_t room = l->heap_room ? 2 * l->heap_room : 16;
		struct nd_timer **heap = reallocarray(l->heap, room, sizeof(struct nd_timer *));

		if (!heap)
			return -ENOMEM;
		l->heap = heap;
		l->heap_room = room;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct nd_timer){ .loop = l, .fn = fn, .user = user, .place = TIMER_OFF };
	l->timers++;
	*ret = t;
	return 0;
}

void nd_timer_set(struct nd_timer *t, uint64_t at_ns)
{
	struct nd_loop *l = t->loop;

	if (t->place != TIMER_OFF)
		take_out(l, t);
	if (at_ns == UINT64_MAX)
		return;
	/* Nothing is set into the past: it would go before timers that are due already. */
	t->at_ns = ND_MAX(at_ns, l->turn_ns);
	t->order = l->order++;
	t->place = l->heap_n++;
	sift_up(l, t);
}

void nd_timer_free(struct nd_timer *t)
{
	if (!t)
		return;
	nd_timer_set(t, UINT64_MAX);
	t->loop->timers--;
	nd_loop_discard(t->loop, &t->trash, NULL);
}

/* Timers that a call-back sets anew wait for the next turn, due or not, so that descriptors are served. */
static void run_timers(struct nd_loop *l)
{
	uint64_t last = l->order;

	l->turn_ns = nd_now_ns();
	while (!has_ended(l) && l->heap_n > 0) {
		struct nd_timer *t = l->heap[0];

		if (t->at_ns > l->turn_ns || t->order >= last)
			break;
		take_out(l, t);
		t->fn(t->user);
	}
}

/* ---- signals ---- */

static void read_signals(void *user, bool readable, bool writable)
{
	struct nd_loop *l = user;
	struct signalfd_siginfo info;

	(void)readable;
	(void)writable;
	while (read(l->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		l->signal_fn(l->signal_user, (int)info.ssi_signo);
}

static bool is_ignored(int sig)
{
	struct sigaction now;

	return sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int nd_loop_signals(struct nd_loop *l, void (*fn)(void *user, int signal), void *user,
		    struct nd_err *err)
{
	nd_auto_fd int fd = -1;
	sigset_t set;
	int r;

	if (l->signal_fd >= 0)
		return nd_fail(err, -EBUSY, "signals are taken already");
	(void)sigemptyset(&set); /* these cannot fail with valid numbers */
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGALRM); /* scripts end a netperf by it */
	if (!is_ignored(SIGHUP))        /* nohup asks for that */
		(void)sigaddset(&set, SIGHUP);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return nd_sysfail(err, "signalfd");
	r = nd_watch_new(l, fd, read_signals, l, &l->signal_watch, err);
	if (r < 0)
		return r;
	r = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (r != 0) {
		nd_watch_free(l->signal_watch);
		l->signal_watch = NULL;
		return nd_fail(err, -r, "blocking signals failed");
	}
	l->signal_fn = fn;
	l->signal_user = user;
	l->signal_fd = nd_take_fd(&fd);
	return 0;
}

/* ---- the loop ---- */

int nd_loop_new(struct nd_loop **ret, struct nd_err *err)
{
	struct nd_loop *l = calloc(1, sizeof(*l));

	if (!l)
		return nd_fail(err, -ENOMEM, "no memory for the event loop");
	l->signal_fd = -1;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		int r = nd_sysfail(err, "epoll_create1");

		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void nd_loop_free(struct nd_loop *l)
{
	if (!l)
		return;
	while (l->lingering)
		l->lingering->end(l->lingering);
	if (l->signal_fd >= 0) {
		nd_watch_free(l->signal_watch);
		nd_close_p(&l->signal_fd);
	}
	empty_trash(l);
	free(l->heap);
	nd_close_p(&l->epoll_fd);
	free(l);
}

int nd_loop_run(struct nd_loop *l, struct nd_err *err)
{
	struct epoll_event events[EVENTS_PER_TURN];

	while (!has_ended(l)) {
		int wait_ms = l->heap_n > 0 ? nd_ms_until(l->heap[0]->at_ns) : -1;
		int n = epoll_wait(l->epoll_fd, events, EVENTS_PER_TURN, wait_ms);

		if (n < 0 && errno != EINTR)
			return nd_sysfail(err, "epoll_wait");
		for (int i = 0; i < n && !has_ended(l); i++)
			tell_watch(events[i].data.ptr, events[i].events);
		run_timers(l);
		empty_trash(l);
	}
	l->quit = l->at_once = false;
	return 0;
}

void nd_loop_quit(struct nd_loop *l)
{
	l->quit = true;
}

void nd_loop_quit_now(struct nd_loop *l)
{
	l->at_once = true;
}
