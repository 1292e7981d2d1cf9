/* SPDX-License-Identifier: MIT */
/*
 * io_uring: calls are posted in batches, and completions tell what became of them. One system call per round
 * of the loop hands over what all flows have posted and waits for what comes next.
 */
#if ND_HAVE_URING
#	include <errno.h>
#	include <poll.h>
#	include <stdlib.h>
#	include <string.h>

#	include "engine/uring.h"

enum { SUBMISSIONS = 512, COMPLETIONS = 4096, REAP = 64 };

#	define STAGED_MOST (4ull << 20) /* bytes sent per round, so that edges are seen in time */
#	define LEAVE_NS    ND_NS_PER_S  /* longest wait for what was taken back */

static const struct nd_xfer posted_send = {
	.name = "copy",
	.help = "sends posted through io_uring",
	.sends = true,
	.stream = true,
	.datagram = true,
	.batch_max = ND_UR_BATCH,
	.move = nd_ur_send,
};

static const struct nd_xfer posted_recv = {
	.name = "copy",
	.help = "receives posted through io_uring",
	.stream = true,
	.datagram = true,
	.batch_max = ND_UR_BATCH,
	.move = nd_ur_recv,
};

/* ---- shared by the files of the backend */

struct io_uring_sqe *nd_ur_sqe(struct nd_uring *u)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	if (sqe)
		return sqe;
	(void)io_uring_submit(&u->ring); /* when it fails there is still no room */
	return io_uring_get_sqe(&u->ring);
}

void nd_ur_line_add(struct nd_io *io, struct nd_flow *f, bool for_post)
{
	struct nd_uring *u = nd_ur_of(io);
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	struct nd_ur_line *line = for_post ? &l->starved : &l->hungry;
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f), *last;
	uint32_t n = (uint32_t)(f - io->flows) + 1;

	if (for_post ? uf->starved : uf->hungry)
		return;
	*(for_post ? &uf->starved : &uf->hungry) = true;
	*(for_post ? &uf->next_starved : &uf->next_hungry) = 0;
	if (line->last) {
		last = &u->flows[line->last - 1];
		*(for_post ? &last->next_starved : &last->next_hungry) = n;
	} else {
		line->first = n;
	}
	line->last = n;
}

/* The first of the line. Return: true when that helps its step. */
static bool serve_one(struct nd_io *io, struct nd_ur_line *line, bool for_post)
{
	struct nd_uring *u = nd_ur_of(io);
	uint32_t n = line->first;
	struct nd_ur_flow *uf = &u->flows[n - 1];

	line->first = for_post ? uf->next_starved : uf->next_hungry;
	if (!line->first)
		line->last = 0;
	*(for_post ? &uf->starved : &uf->hungry) = false;
	if (!nd_flow_unblock(&io->flows[n - 1], !for_post, for_post))
		return false;
	nd_queue_push(&u->q, &io->flows[n - 1]);
	return true;
}

/* Who has stopped waiting meanwhile takes nobody's turn. */
void nd_ur_line_serve(struct nd_io *io, unsigned lane, bool for_post)
{
	struct nd_ur_lane *l = &nd_ur_of(io)->lane[lane];
	struct nd_ur_line *line = for_post ? &l->starved : &l->hungry;

	while (line->first && !serve_one(io, line, for_post))
		;
}

/* ---- open and close */

static void close_uring(struct nd_io *io)
{
	struct nd_uring *u = io->engine_state;
	unsigned i;

	if (!u)
		return;
	for (i = 0; i < ND_MAX_WORKLOADS; i++)
		nd_ur_recv_close(u, i);
	if (u->is_open)
		io_uring_queue_exit(&u->ring);
	for (i = 0; i < ND_MAX_WORKLOADS; i++)
		nd_ur_send_close(&u->lane[i]);
	nd_queue_done(&u->q);
	free(u->flows);
	if (u->real)
		io->lanes = u->real;
	free(u);
	io->engine_state = NULL;
}

/* From the newest kernels' ways down; the thread that enables the ring will be its only user. */
static int open_ring(struct nd_uring *u, struct nd_err *err)
{
	static const unsigned ways[] = {
		IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN,
		0,
	};
	char words[64];
	size_t i;
	int r = -EINVAL;

	for (i = 0; r == -EINVAL && i < ND_COUNTOF(ways); i++) {
		struct io_uring_params p = { .flags = ways[i] | IORING_SETUP_R_DISABLED |
						      IORING_SETUP_CQSIZE,
					     .cq_entries = COMPLETIONS };

		r = io_uring_queue_init_params(SUBMISSIONS, &u->ring, &p);
	}
	if (r == -EPERM || r == -EACCES)
		return nd_fail(
			err, r,
			"engine uring: io_uring is not allowed here (sysctl kernel.io_uring_disabled, "
			"or the container)");
	if (r == -ENOMEM)
		return nd_fail(err, r, "engine uring: no memory for a ring (ulimit -l)");
	if (r < 0)
		return nd_fail(err, r, "engine uring: %s", nd_strerror(r, words, sizeof(words)));
	u->is_open = true;
	if (!(u->ring.features & IORING_FEAT_EXT_ARG) || !(u->ring.features & IORING_FEAT_NODROP))
		return nd_fail(err, -EOPNOTSUPP, "engine uring: it takes Linux 5.11 or later");
	return 0;
}

bool nd_uring_is_new(void)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SINGLE_ISSUER |
					      IORING_SETUP_DEFER_TASKRUN };
	struct io_uring ring;

	if (io_uring_queue_init_params(4, &ring, &p) < 0)
		return false;
	io_uring_queue_exit(&ring);
	return true;
}

/* What Linux 6.0 brought is told by an operation that came with it. */
static bool is_modern(struct nd_uring *u)
{
	struct io_uring_probe *p = io_uring_get_probe_ring(&u->ring);
	bool yes = p && io_uring_opcode_supported(p, IORING_OP_SEND_ZC);

	if (p)
		io_uring_free_probe(p);
	return yes;
}

static bool posts_as(const struct nd_xfer *x)
{
	return strcmp(x->name, "copy") == 0 || (x->sends && strcmp(x->name, "zerocopy") == 0);
}

static int refuse(const struct nd_io *io, struct nd_err *err)
{
	unsigned i;

	for (i = 0; i < io->lane_count; i++) {
		const struct nd_lane *l = &io->lanes[i];
		const struct nd_xfer *odd = !posts_as(l->tx) ? l->tx : l->rx;

		if (!posts_as(odd))
			return nd_fail(err, -EOPNOTSUPP,
				       "engine uring moves bytes its own way: --%s %s "
				       "takes another engine",
				       odd->sends ? "tx" : "rx", odd->name);
		if (strcmp(l->tx->name, "zerocopy") == 0 && !nd_ur_of(io)->modern)
			return nd_fail(err, -EOPNOTSUPP,
				       "--tx zerocopy with engine uring takes Linux 6.2 or later");
	}
	if (io->plan->depth > 1 && !nd_ur_of(io)->modern)
		return nd_fail(
			err, -EOPNOTSUPP,
			"--depth %llu takes Linux 6.0 or later: before, interrupted sends were not "
			"counted exactly",
			(unsigned long long)io->plan->depth);
	return 0;
}

static int open_lanes(struct nd_io *io, struct nd_err *err)
{
	struct nd_uring *u = nd_ur_of(io);
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < io->lane_count && i < ND_MAX_WORKLOADS; i++) {
		r = nd_ur_send_open(io, i, err);
		if (r == 0)
			r = nd_ur_recv_open(io, i, err);
		u->lanes[i] = io->lanes[i];
		u->lanes[i].tx = &posted_send;
		u->lanes[i].rx = &posted_recv;
	}
	return r;
}

static int open_as(struct nd_io *io, bool old, struct nd_err *err)
{
	struct nd_uring *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return nd_fail(err, -ENOMEM, "no memory for an engine");
	io->engine_state = u;
	nd_io_naps(io);
	r = open_ring(u, err);
	u->modern = r == 0 && !old && is_modern(u);
	u->room = nd_io_room(io);
	u->flows = calloc(u->room, sizeof(*u->flows));
	if (r == 0)
		r = refuse(io, err);
	if (r == 0 && (!u->flows || nd_queue_init(&u->q, io) < 0))
		r = nd_fail(err, -ENOMEM, "no memory for %u flows", u->room);
	if (r == 0)
		r = open_lanes(io, err);
	if (r < 0) {
		close_uring(io);
		return r;
	}
	u->real = io->lanes;
	io->lanes = u->lanes;
	return 0;
}

static int open_uring(struct nd_io *io, struct nd_err *err)
{
	return open_as(io, false, err);
}

static int open_old(struct nd_io *io, struct nd_err *err)
{
	return open_as(io, true, err);
}

/* ---- completions */

/* Once it stands; without a free entry the next round tries again. */
static void watch_wake(struct nd_io *io, struct nd_uring *u)
{
	struct io_uring_sqe *sqe = io->wake_fd >= 0 && !u->watched ? nd_ur_sqe(u) : NULL;

	if (!sqe)
		return;
	io_uring_prep_poll_add(sqe, io->wake_fd, POLLIN);
	io_uring_sqe_set_data64(sqe, nd_ur_data(ND_UR_WAKE, 0, 0));
	u->watched = true;
}

/* Return: true when wake_fd was readable. */
static bool take(struct nd_io *io, const struct io_uring_cqe *c)
{
	uint64_t data = io_uring_cqe_get_data64(c);
	struct nd_uring *u = nd_ur_of(io);
	struct nd_flow *f = &io->flows[(uint32_t)data];

	switch ((enum nd_ur_kind)(data >> 60)) {
	case ND_UR_WAKE:
		u->watched = false;
		return true;
	case ND_UR_SEND:
		if (c->flags & IORING_CQE_F_NOTIF) {
			nd_ur_told(io, f, c->res);
			break;
		}
		if (c->flags & IORING_CQE_F_MORE)
			u->untold++;
		nd_ur_sent(io, f, (uint32_t)(data >> 32) & 0xfffffff, c->res);
		break;
	case ND_UR_RECV:
		nd_ur_received(io, f, c->res, c->flags);
		break;
	case ND_UR_CANCEL:
		break;
	}
	return false;
}

static bool reap(struct nd_io *io, struct nd_uring *u)
{
	struct io_uring_cqe *c[REAP];
	bool woken = false;
	unsigned i, n;

	u->came = false;
	while ((n = io_uring_peek_batch_cqe(&u->ring, c, REAP)) > 0) {
		u->came = true;
		for (i = 0; i < n; i++)
			woken |= take(io, c[i]);
		io_uring_cq_advance(&u->ring, n);
	}
	u->round++;
	return woken;
}

/* Hand over what is staged, and wait until something comes or an instant; @until_ns 0: only collect. */
static int enter(struct nd_uring *u, uint64_t now_ns, uint64_t until_ns, struct nd_err *err)
{
	struct timespec t = nd_timespec(now_ns, until_ns);
	struct __kernel_timespec left = { .tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec };
	struct io_uring_cqe *c;
	char words[64];
	int r;

	u->staged_bytes = 0;
	if (until_ns <= now_ns)
		r = io_uring_submit_and_get_events(&u->ring);
	else if (until_ns == UINT64_MAX)
		r = io_uring_submit_and_wait(&u->ring, 1);
	else
		r = io_uring_submit_and_wait_timeout(&u->ring, &c, 1, &left, NULL);
	/* busy: what has completed must be collected first */
	if (r < 0 && r != -ETIME && r != -EINTR && r != -EAGAIN && r != -EBUSY)
		return nd_fail(err, r, "io_uring: %s", nd_strerror(r, words, sizeof(words)));
	return 0;
}

/* ---- the loop */

static void file_flow(struct nd_io *io, struct nd_uring *u, struct nd_flow *f)
{
	nd_ur_flush(io, f);
	nd_queue_file(&u->q, f);
}

/* After an edge or a wake-up, which may have begun or stopped flows. */
static void rescan(struct nd_io *io, struct nd_uring *u)
{
	uint32_t i;

	if (!io->rescan)
		return;
	io->rescan = false;
	for (i = 0; i < io->flow_count; i++) {
		struct nd_flow *f = &io->flows[i];

		if (f->posted && f->step.op == ND_OP_FINISH && io->stop_told)
			nd_ur_recall(io, f);
		nd_queue_file(&u->q, f);
	}
}

static int wait_for(struct nd_io *io, struct nd_uring *u, struct nd_err *err)
{
	uint64_t until = ND_MIN(io->edge_ns, nd_timers_next(&u->q.timers));
	bool woken;
	int r;

	io->still_ns = io->now_ns;
	if (u->q.n == 0 && u->came && (io->wait ? io->wait->idle != NULL : io->nap_ns != 0)) {
		until = 0; /* the kernel tells a part at a time: collect all before the nap */
	} else if (u->q.n == 0 && (io->wait || io->nap_room)) {
		(void)io_uring_submit(&u->ring); /* it would sleep unasked; enter() tries again */
		if (nd_io_idle(io, until, true))
			until = 0; /* it has waited: only collect what happened */
	}
	watch_wake(io, u);
	r = enter(u, io->now_ns, u->q.n ? 0 : until, err);
	if (r < 0)
		return r;
	io->now_ns = nd_now_ns();
	woken = reap(io, u);
	if (woken)
		io->look_ns = 0; /* the tick looks, since another may have been there first */
	nd_io_tick(io, io->now_ns);
	nd_queue_due(&u->q, io->now_ns);
	rescan(io, u);
	return 0;
}

static void take_turns(struct nd_io *io, struct nd_uring *u)
{
	uint32_t left;

	for (left = u->q.n; left > 0 && !io->quit; left--) {
		struct nd_flow *f;

		if (u->staged_bytes >= STAGED_MOST ||
		    io_uring_sq_space_left(&u->ring) < ND_UR_TURN_ROOM)
			break;
		f = nd_queue_pop(&u->q);
		(void)nd_flow_turn(io, f, ND_TURN_BUDGET); /* its state is looked at next */
		file_flow(io, u, f);
	}
	rescan(io, u);
}

/* Take back what is still with the kernel, so that sockets are free and counts final. */
static int leave(struct nd_io *io, struct nd_uring *u, struct nd_err *err)
{
	uint64_t until = nd_now_ns() + LEAVE_NS;
	uint32_t i;
	int r = 0;

	u->leaving = true;
	for (i = 0; i < io->flow_count; i++) {
		struct io_uring_sqe *sqe;

		if (io->flows[i].posted)
			nd_ur_recall(io, &io->flows[i]);
		sqe = u->flows[i].armed ? nd_ur_sqe(u) : NULL;
		if (!sqe)
			continue;
		io_uring_prep_cancel64(sqe, nd_ur_data(ND_UR_RECV, 0, i), 0);
		io_uring_sqe_set_data64(sqe, nd_ur_data(ND_UR_CANCEL, 0, i));
	}
	while (r == 0 && (u->flying || u->armed || u->untold) && io->now_ns < until) {
		r = enter(u, io->now_ns, ND_MIN(until, io->now_ns + 20 * ND_NS_PER_MS), err);
		io->now_ns = nd_now_ns();
		(void)reap(io, u); /* main's wishes have come too late */
	}
	return r;
}

/* Who comes while it runs would have to be registered one by one, and taken out again. Where it is refused
 * (more than the limit of open files) sockets are looked up by each call. */
static void fix_files(const struct nd_io *io, struct nd_uring *u)
{
	int *fds = io->open_ended ? NULL : calloc(ND_MAX(io->flow_count, 1), sizeof(*fds));
	uint32_t i;

	if (!fds)
		return;
	for (i = 0; i < io->flow_count; i++)
		fds[i] = io->flows[i].fd;
	u->fixed = io_uring_register_files(&u->ring, fds, io->flow_count) == 0;
	free(fds);
}

static int run_uring(struct nd_io *io, struct nd_err *err)
{
	struct nd_uring *u = io->engine_state;
	/* version 2.3 of the library does not export io_uring_enable_rings() */
	int r = io_uring_register((unsigned)u->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
	char words[64];
	int left;

	if (r < 0)
		return nd_fail(err, r, "io_uring: %s", nd_strerror(r, words, sizeof(words)));
	(void)io_uring_register_ring_fd(
		&u->ring); /* saves a little at each call; older kernels cannot */
	fix_files(io, u);
	nd_io_tick(io, nd_now_ns());
	io->rescan = true;
	rescan(io, u);
	while (r == 0 && !nd_io_over(io)) {
		take_turns(io, u);
		if (!nd_io_over(io))
			r = wait_for(io, u, err);
	}
	left = leave(io, u, r < 0 ? NULL : err);
	if (u->fixed) /* a socket is closed when nobody holds it */
		(void)io_uring_unregister_files(&u->ring);
	u->fixed = false;
	return r < 0 ? r : left;
}

static int add_flow(struct nd_io *io, struct nd_flow *f)
{
	struct nd_uring *u = nd_ur_of(io);
	size_t at = (size_t)(f - io->flows);

	if (at >= u->room)
		return -ENOSPC;
	if (u->flows[at].armed || u->flows[at].flying.first)
		return -EBUSY;
	u->flows[at] = (struct nd_ur_flow){ 0 };
	nd_queue_file(&u->q, f);
	return 0;
}

const struct nd_engine nd_engine_uring = {
	.name = "uring",
	.help = "io_uring: calls in batches, several sends under way with --depth",
	.moves = true,
	.open = open_uring,
	.run = run_uring,
	.close = close_uring,
	.add = add_flow,
};

const struct nd_engine nd_engine_uring_old = {
	.name = "uring-old",
	.help = "io_uring as on Linux 5.11",
	.moves = true,
	.open = open_old,
	.run = run_uring,
	.close = close_uring,
	.add = add_flow,
};
#endif
