/* SPDX-License-Identifier: MIT */
/*
 * Sends of the uring backend. What one turn posts is handed over together, and the next waits until it is
 * over. Pieces of a stream are a chain of linked entries: each begins when the one before is wholly with
 * the socket. Chains of datagrams cost half as much again, so datagrams are loose as long as all get out.
 */
#if ND_HAVE_URING
#	include <errno.h>
#	include <stdlib.h>
#	include <string.h>
#	include <sys/socket.h>

#	include "engine/uring.h"

#	define FILL_ROOM  (64ull << 20) /* for pieces of their own, of all flows of a lane */
#	define FILL_MOST  (256ull << 10)
#	define FILL_LEAST (4ull << 10)
#	define MOST_POSTS 65536u /* of a lane, but for one of each flow */

/* Newer than the library's headers may be, the kernel tells since Linux 6.2. */
#	define REPORT_USAGE 8u
#	define USAGE_COPIED (1u << 31)

#	define DATAGRAM_ROOM  (4ull << 20)
#	define DATAGRAM_POSTS 1024u

void nd_ur_send_close(struct nd_ur_lane *l)
{
	free(l->posts);
	free(l->tx_room);
	nd_source_close(&l->source);
	l->posts = NULL;
	l->tx_room = NULL;
}

/* A piece of its own for each post: smaller ones when there are many. */
static size_t fill_slot(uint64_t message, uint32_t posts)
{
	uint64_t piece = FILL_ROOM / posts;

	if (piece > FILL_MOST)
		piece = FILL_MOST;
	if (piece < FILL_LEAST)
		piece = FILL_LEAST;
	return (size_t)ND_MIN(message, piece);
}

static void size_stream(const struct nd_io *io, unsigned lane, uint32_t senders,
			struct nd_ur_lane *l)
{
	const struct nd_lane *real = &io->lanes[lane];
	uint64_t depth = ND_MAX(io->plan->depth, 1);

	/* who asks waits for the answer: there is nothing to post ahead */
	if (real->load->round_trips)
		depth = 1;
	l->depth = (uint32_t)ND_MIN(depth, ND_MAX(MOST_POSTS / senders, 1));
	l->post_n = senders * l->depth;
	if (real->frame->fills)
		l->tx_slot = fill_slot(nd_lane_message(real), l->post_n);
}

static void size_datagram(const struct nd_io *io, unsigned lane, struct nd_ur_lane *l)
{
	const struct nd_lane *real = &io->lanes[lane];
	size_t slot = nd_datagram_slot(real);

	l->depth = ND_UR_BATCH;
	l->post_n = DATAGRAM_POSTS;
	if (!real->frame->fills &&
	    io->tx_size[lane] >= ND_MIN(nd_lane_message(real), ND_MAX_DATAGRAM))
		return;
	l->tx_slot = slot;
	l->post_n = (uint32_t)ND_MIN(ND_MAX(DATAGRAM_ROOM / slot, ND_UR_BATCH), DATAGRAM_POSTS);
}

int nd_ur_send_open(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct nd_ur_lane *l = &nd_ur_of(io)->lane[lane];
	uint32_t senders = nd_lane_sends(io, lane), i;

	if (senders == 0)
		return 0;
	if (io->lanes[lane].transport->caps & ND_NET_DATAGRAM)
		size_datagram(io, lane, l);
	else
		size_stream(io, lane, senders, l);
	l->posts = calloc(l->post_n, sizeof(*l->posts));
	if (l->posts && l->tx_slot)
		l->tx_room = nd_buffer_new(l->post_n * l->tx_slot);
	if (strcmp(io->lanes[lane].tx->name, "zerocopy") == 0 &&
	    nd_source_open(&l->source, io, lane) < 0)
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	if (!l->posts || (l->tx_slot && !l->tx_room))
		return nd_fail(err, -ENOMEM, "no memory for the sends of %u flows", senders);
	if (l->tx_room)
		io->lanes[lane].frame->prepare(l->tx_room, l->post_n * l->tx_slot,
					       io->plan->payload, nd_now_ns());
	for (i = 0; i < l->post_n; i++)
		l->posts[i].next = i + 1 < l->post_n ? i + 2 : 0;
	l->free_first = 1;
	return 0;
}

/* ---- posts */

static void append(struct nd_ur_lane *l, struct nd_ur_list *to, uint32_t n)
{
	l->posts[n - 1].next = 0;
	if (to->last)
		l->posts[to->last - 1].next = n;
	else
		to->first = n;
	to->last = n;
	to->n++;
}

static struct nd_ur_post *new_post(struct nd_io *io, struct nd_flow *f, size_t bytes)
{
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	uint32_t n = l->free_first;
	struct nd_ur_post *p;

	if (!n)
		return NULL;
	p = &l->posts[n - 1];
	l->free_first = p->next;
	*p = (struct nd_ur_post){ .bytes = bytes, .begun_ns = f->begun_ns };
	p->at = l->tx_room     ? l->tx_room + (n - 1) * l->tx_slot
		: l->source.at ? l->source.at
			       : io->tx_buf[f->workload];
	append(l, &nd_ur_flow_of(io, f)->queued, n);
	f->posted++;
	return p;
}

static void take_out(struct nd_ur_lane *l, struct nd_ur_list *from, uint32_t n)
{
	uint32_t at = from->first, before = 0;

	while (at != n) { /* in order: it is the first */
		before = at;
		at = l->posts[at - 1].next;
	}
	if (before)
		l->posts[before - 1].next = l->posts[n - 1].next;
	else
		from->first = l->posts[n - 1].next;
	if (from->last == n)
		from->last = before;
	from->n--;
}

static void free_post(struct nd_io *io, struct nd_flow *f, uint32_t n)
{
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);

	l->posts[n - 1].next = l->free_first;
	l->free_first = n;
	f->posted--;
	nd_ur_line_serve(io, f->workload, true);
}

static void drop(struct nd_io *io, struct nd_flow *f, struct nd_ur_list *list)
{
	while (list->first) {
		uint32_t n = list->first;

		take_out(nd_ur_lane_of(io, f), list, n);
		free_post(io, f, n);
	}
}

static int blocked(struct nd_flow *f)
{
	f->writable = false;
	return -EAGAIN;
}

/* With one post at a time the step is done when the socket has it; with several, when it is posted. */
static int send_stream(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	const struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	uint64_t left = f->step.bytes - f->done_bytes;
	size_t size = l->tx_room ? l->tx_slot : io->tx_size[f->workload];
	/* a message longer than the buffer repeats it */
	size_t from = l->tx_room ? 0 : (size_t)(f->done_bytes % size);
	struct nd_ur_post *p;

	if (f->posted >= l->depth)
		return blocked(f);
	p = new_post(io, f, (size_t)ND_MIN(left, size - from));
	if (!p)
		return blocked(f);
	p->at += from;
	p->ends = p->bytes == left;
	if (frame->fills) {
		uint32_t n = (uint32_t)(p - l->posts);
		struct iovec v = { .iov_base = l->tx_room + n * l->tx_slot, .iov_len = p->bytes };
		struct nd_batch b = { .iov = &v, .n = 1, .now_ns = io->now_ns };

		frame->fill(&f->tx, &b);
	}
	if (l->depth == 1)
		return blocked(f);
	f->done_bytes += p->bytes;
	return 1;
}

static int send_datagrams(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	uint32_t want = ND_MIN(nd_step_count(&f->step) - f->done_count, l->depth);
	size_t bytes = (size_t)ND_MIN(f->step.bytes, nd_datagram_slot(nd_lane_of(io, f)));
	struct nd_batch b = { .iov = l->iov, .now_ns = io->now_ns };

	if (f->posted)
		return blocked(f);
	while (b.n < want) {
		const struct nd_ur_post *p = new_post(io, f, bytes);

		if (!p)
			break;
		if (l->tx_room)
			l->iov[b.n].iov_base = l->tx_room + (size_t)(p - l->posts) * l->tx_slot;
		l->iov[b.n++].iov_len = bytes;
	}
	if (b.n == 0)
		nd_ur_line_add(io, f, true);
	else if (frame->fill)
		frame->fill(&f->tx, &b);
	return blocked(f);
}

int nd_ur_send(struct nd_io *io, struct nd_flow *f)
{
	return nd_flow_is_datagram(io, f) ? send_datagrams(io, f) : send_stream(io, f);
}

/* ---- chains */

static void hand_over(struct nd_io *io, struct nd_flow *f, uint32_t n, bool last)
{
	struct nd_uring *u = nd_ur_of(io);
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	struct nd_ur_post *p = &l->posts[n - 1];
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): flush() has seen to the room */
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
	bool stream = !nd_flow_is_datagram(io, f);
	bool chain = stream || nd_ur_flow_of(io, f)->careful;
	int flags = MSG_NOSIGNAL;

	/* a short one would let the next begin; alone it is better short, and counted at once */
	if (stream && l->depth > 1)
		flags |= MSG_WAITALL;
	if (!chain) /* one that waits would be overtaken */
		flags |= MSG_DONTWAIT;
	if (l->source.at)
		io_uring_prep_send_zc(sqe, f->fd, p->at, p->bytes, flags, REPORT_USAGE);
	else
		io_uring_prep_send(sqe, f->fd, p->at, p->bytes, flags);
	nd_ur_aim(io, f, sqe);
	if (stream && u->modern && nd_ur_flow_of(io, f)->full)
		sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
	if (chain && !last)
		sqe->flags |= IOSQE_IO_LINK;
	io_uring_sqe_set_data64(sqe, nd_ur_data(ND_UR_SEND, n, (size_t)(f - io->flows)));
	p->round = u->round;
	p->first = n == nd_ur_flow_of(io, f)->flying.first && !nd_ur_flow_of(io, f)->full;
	u->staged_bytes += p->bytes;
	u->flying++;
}

static bool must_end(const struct nd_io *io, const struct nd_flow *f)
{
	return f->state == ND_FLOW_DONE || nd_ur_of(io)->leaving ||
	       (f->step.op == ND_OP_FINISH && io->stop_told);
}

void nd_ur_flush(struct nd_io *io, struct nd_flow *f)
{
	struct nd_uring *u = nd_ur_of(io);
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);
	uint32_t n;

	if (!uf->queued.first || uf->flying.first)
		return;
	if (must_end(io, f)) {
		nd_ur_recall(io, f);
		return;
	}
	if (io_uring_sq_space_left(&u->ring) < uf->queued.n) {
		nd_queue_push(&u->q, f);
		return;
	}
	uf->flying = uf->queued;
	uf->queued = (struct nd_ur_list){ 0 };
	for (n = uf->flying.first; n; n = nd_ur_lane_of(io, f)->posts[n - 1].next)
		hand_over(io, f, n, n == uf->flying.last);
	uf->full = false;
	ND_COUNT_FLOW(io, f, tx_calls, 1);
}

void nd_ur_recall(struct nd_io *io, struct nd_flow *f)
{
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);
	size_t at = (size_t)(f - io->flows);
	struct io_uring_sqe *sqe;

	drop(io, f, &uf->queued);
	if (uf->flying.first) {
		sqe = nd_ur_sqe(nd_ur_of(io));
		if (!sqe) {
			io->rescan = true; /* once more */
			return;
		}
		/* the rest of the chain ends with it */
		io_uring_prep_cancel64(sqe, nd_ur_data(ND_UR_SEND, uf->flying.first, at), 0);
		io_uring_sqe_set_data64(sqe, nd_ur_data(ND_UR_CANCEL, 0, at));
	} else if (f->step.op == ND_OP_FINISH && f->state == ND_FLOW_BLOCKED) {
		nd_flow_finish(io, f);
	}
}

/* ---- completions */

static bool interrupted(int result)
{
	return result == -ECANCELED || result == -EAGAIN || result == -EINTR;
}

static bool same_step(const struct nd_flow *f, const struct nd_ur_post *p)
{
	return f->step.op == ND_OP_SEND && f->begun_ns == p->begun_ns && f->state != ND_FLOW_DONE;
}

/* Its step may be complete; if not, the rest is posted in the next turn. */
static void go_on(struct nd_io *io, struct nd_flow *f)
{
	f->writable = true;
	nd_flow_sent(io, f);
	if (f->state == ND_FLOW_BLOCKED && f->step.op == ND_OP_SEND)
		f->state = ND_FLOW_READY;
}

static int socket_error(const struct nd_flow *f)
{
	int code = 0;
	socklen_t len = sizeof(code);

	if (getsockopt(f->fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 || code == 0)
		code = ECONNRESET;
	return -code;
}

/* The socket took a part: the same post goes on with the rest. */
static void send_rest(struct nd_io *io, struct nd_flow *f, uint32_t post, size_t n)
{
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);
	struct nd_ur_post *p = &l->posts[post - 1];

	p->at += n;
	p->bytes -= n;
	f->done_bytes += n;
	uf->full = n > 0;
	append(l, &uf->queued, post);
}

static void stream_done(struct nd_io *io, struct nd_flow *f, const struct nd_ur_post *p, int result)
{
	if (f->state == ND_FLOW_DONE || nd_ur_of(io)->leaving)
		return;
	if (result < 0 && !interrupted(result)) {
		nd_flow_fail(io, f, result);
	} else if (nd_ur_lane_of(io, f)->depth > 1) {
		/* a whole one or none, unless the connection broke or the sends were taken back */
		if (result < (int)p->bytes && f->step.op != ND_OP_FINISH)
			nd_flow_fail(io, f, socket_error(f));
		else
			(void)nd_flow_unblock(f, false, true);
	} else if (same_step(f, p)) {
		f->done_bytes += (size_t)result;
		go_on(io, f);
	}
}

static void stream_sent(struct nd_io *io, struct nd_flow *f, uint32_t post, int result)
{
	struct nd_uring *u = nd_ur_of(io);
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	const struct nd_ur_post p = l->posts[post - 1];
	size_t n = result > 0 ? (size_t)result : 0;

	ND_COUNT_FLOW(io, f, tx_bytes, n);
	if (p.ends && n == p.bytes)
		ND_COUNT_FLOW(io, f, tx_messages, 1);
	if (n)
		nd_flow_payload(f, io->now_ns);
	/* it had to wait, or the rest must; that rest is not counted again */
	if ((p.first && p.round != u->round) || (n > 0 && n < p.bytes))
		ND_COUNT_FLOW(io, f, tx_blocked, 1);
	if (l->depth == 1 && n < p.bytes && (result >= 0 || interrupted(result)) &&
	    same_step(f, &p) && !u->leaving) {
		send_rest(io, f, post, n);
		return;
	}
	free_post(io, f, post);
	stream_done(io, f, &p, result);
}

/*
 * All of a batch are through. Those that did not get out give their numbers back when they were its last
 * ones; otherwise they go out as they are before any others.
 */
static void batch_done(struct nd_io *io, struct nd_flow *f, const struct nd_ur_post *last)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);

	nd_io_burst(io, f->workload, uf->sent);
	uf->sent = 0;
	uf->careful = uf->kept.n > 0 || f->c.tx_refused > 0;
	uf->odd = uf->kept.n > 0 && (uf->mixed || uf->odd);
	if (uf->odd && !must_end(io, f) && !uf->failed) {
		uf->queued = uf->kept;
		uf->kept = (struct nd_ur_list){ 0 };
	} else {
		if (uf->kept.n && !uf->odd && frame->unfill)
			frame->unfill(&f->tx, uf->kept.n);
		f->done_count += uf->refused; /* offered once, not again */
		drop(io, f, &uf->kept);
	}
	uf->mixed = false;
	uf->refused = 0;
	if (f->state == ND_FLOW_DONE || nd_ur_of(io)->leaving)
		return;
	if (uf->failed)
		nd_flow_fail(io, f, uf->failed);
	else if (f->posted == 0 && same_step(f, last))
		go_on(io, f);
}

static void datagram_sent(struct nd_io *io, struct nd_flow *f, uint32_t post, int result)
{
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	const struct nd_ur_post p = l->posts[post - 1];
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);

	if (result >= 0) {
		uf->mixed |= uf->kept.n > 0;
		f->done_count++;
		uf->sent++;
		ND_COUNT_FLOW(io, f, tx_messages, 1);
		ND_COUNT_FLOW(io, f, tx_stacked, 1);
		ND_COUNT_FLOW(io, f, tx_bytes, p.bytes);
		nd_flow_payload(f, io->now_ns);
		free_post(io, f, post);
	} else {
		append(l, &uf->kept, post);
		if (nd_is_refusal(-result)) {
			uf->refused++;
			ND_COUNT_FLOW(io, f, tx_refused, 1);
		} else if (result == -EAGAIN) {
			ND_COUNT_FLOW(io, f, tx_blocked, 1);
		} else if (!interrupted(result)) {
			uf->failed = result;
		}
	}
	if (uf->flying.n == 0)
		batch_done(io, f, &p);
}

void nd_ur_told(struct nd_io *io, struct nd_flow *f, int result)
{
	nd_ur_of(io)->untold--;
	ND_COUNT_FLOW(io, f, tx_zerocopy, 1);
	if ((unsigned)result & USAGE_COPIED)
		ND_COUNT_FLOW(io, f, tx_copied, 1);
}

void nd_ur_sent(struct nd_io *io, struct nd_flow *f, uint32_t post, int result)
{
	struct nd_uring *u = nd_ur_of(io);

	u->flying--;
	take_out(nd_ur_lane_of(io, f), &nd_ur_flow_of(io, f)->flying, post);
	if (nd_flow_is_datagram(io, f))
		datagram_sent(io, f, post, result);
	else
		stream_sent(io, f, post, result);
	if (f->posted == 0 && f->step.op == ND_OP_FINISH && f->state == ND_FLOW_BLOCKED)
		nd_flow_finish(io, f);
	else if (f->posted && must_end(io, f))
		nd_ur_recall(io, f);
	nd_queue_push(&u->q, f);
}
#endif
