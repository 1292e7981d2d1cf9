/* SPDX-License-Identifier: MIT */
/* Sockets that the main thread has accepted and hands to a worker, which makes flows of them. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/grow.h"
#include "run/int.h"

/* a server's worker looks for flows that it was not woken for; more come soon where some have come */
#define LOOK_MS      20
#define LOOK_SOON_MS 1

static bool push_gift(struct nd_worker *w, uint64_t flow, int fd)
{
	if (nd_grow(w->gifts, w->gift_n) < 0)
		return false;
	w->gifts[w->gift_n++] = (struct nd_gift){ flow, fd };
	return true;
}

bool nd_gift_keep(struct nd_worker *w, uint64_t flow, int fd)
{
	bool kept;

	pthread_mutex_lock(&w->lock);
	kept = push_gift(w, flow, fd);
	pthread_mutex_unlock(&w->lock);
	return kept;
}

void nd_setup_collect(struct nd_worker *w)
{
	struct nd_gift gift;

	while (w->pair[1] >= 0 && nd_table_recv(w->pair[1], &gift.flow, &gift.fd) == 0) {
		if (!nd_gift_keep(w, gift.flow, gift.fd))
			nd_close_p(&gift.fd); /* no memory: the peer sees it closed */
	}
}

/* Those that are kept came before those that are still on their way. */
static bool take_gift(struct nd_worker *w, struct nd_gift *ret)
{
	bool found = false;

	pthread_mutex_lock(&w->lock);
	if (w->gift_at < w->gift_n) {
		*ret = w->gifts[w->gift_at++];
		found = true;
	} else {
		free(nd_take_ptr(w->gifts));
		w->gift_at = w->gift_n = 0;
	}
	pthread_mutex_unlock(&w->lock);
	if (!found && w->pair[1] >= 0)
		found = nd_table_recv(w->pair[1], &ret->flow, &ret->fd) == 0;
	return found;
}

/* A socket that somebody else made gets the test's settings. */
static int fit_socket(struct nd_worker *w, const struct nd_flow *f)
{
	int r = 0;

	if (nd_lane_of(w, f)->load->connects) /* it listens */
		return 0;
	if (!nd_is_datagram(nd_lane_of(w, f))) /* those were made with them */
		r = nd_accepted(nd_lane_of(w, f)->transport, &w->run->cfg.plan->sock, f->fd,
				&w->err);
	nd_setup_pace(w, f);
	return r < 0 ? r : nd_setup_busy_poll(w, f);
}

/* Flows that come as they like: each gets the next slot. */
void nd_setup_grow(struct nd_worker *w)
{
	struct nd_gift gift;

	while (take_gift(w, &gift)) {
		struct nd_flow *f = nd_layout_grow(w, gift.flow);

		if (!f) {
			nd_close_p(&gift.fd); /* no room: the peer sees it closed */
			continue;
		}
		f->fd = gift.fd;
		atomic_store_explicit(&w->opened, w->flow_n, memory_order_relaxed);
		if (!nd_is_datagram(nd_lane_of(w, f)) && fit_socket(w, f) < 0)
			w->err = (struct nd_err){ 0 }; /* it is measured as it is */
		if (nd_lane_of(w, f)->rx->join)
			nd_lane_of(w, f)->rx->join(&w->io, f);
		nd_flow_begin(&w->io, f, w->start_ns);
		if (w->engine->add(&w->io, f) < 0) {
			f->error = -ENOMEM;
			nd_close_p(&f->fd);
		}
	}
}

/* Take what was handed over. Returns how many flows more this worker has, or negative errno. */
static int await_some(struct nd_worker *w, uint32_t lacks)
{
	struct nd_gift gift;
	uint32_t n = 0;

	while (n < lacks && take_gift(w, &gift)) {
		struct nd_flow *f = nd_layout_flow(w, gift.flow);

		if (!f || f->fd >= 0) {
			nd_close_p(&gift.fd); /* main checks both; never two for one */
			continue;
		}
		f->fd = gift.fd;
		if (fit_socket(w, f) < 0)
			return w->err.code;
		n++;
	}
	return (int)n;
}

int nd_setup_await(struct nd_worker *w)
{
	struct pollfd p = { .fd = w->wake_fd, .events = POLLIN };
	uint32_t have = 0, wanted = 0;
	int n = 0;

	if (w->io.open_ended)
		return 0; /* they come while it runs */
	for (uint32_t i = 0; i < w->io.flow_count; i++)
		wanted += w->flows[i].half == 0;
	while (have < wanted && !nd_worker_stopped(w)) {
		if (poll(&p, 1, n > 0 ? LOOK_SOON_MS : LOOK_MS) < 0 && errno != EINTR)
			return nd_sysfail(&w->err, "waiting for flows");
		if (p.revents)
			nd_worker_drain_wake(w);
		n = await_some(w, wanted - have);
		if (n < 0)
			return n;
		have += (uint32_t)n;
		atomic_store_explicit(&w->opened, have, memory_order_relaxed);
	}
	return have == wanted ? nd_setup_halves(w) : 0;
}
