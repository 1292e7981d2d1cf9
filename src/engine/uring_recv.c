/* SPDX-License-Identifier: MIT */
/*
 * Receives of the uring backend. A flow that wants bytes has one receive with the kernel; what comes waits
 * in chunks until its step takes them. On newer kernels the receive stays and picks from the lane's ring
 * of buffers; on older ones each flow has a buffer.
 */
#if ND_HAVE_URING
#	include <errno.h>
#	include <stdlib.h>
#	include <string.h>
#	include <sys/mman.h>
#	include <sys/socket.h>

#	include "engine/uring.h"

#	define ONE_BYTES  (1ull << 20) /* whatever comes is read in large pieces */
#	define MANY_BYTES (512ull << 10)
#	define LOOK_BYTES (64ull << 10) /* a piece that somebody looks at */
#	define MIN_BYTES  (4ull << 10)
#	define ROOM_BYTES (8ull << 20) /* all buffers of a lane, ... */
#	define NEAR_BYTES \
		(512ull << 10)          /* ... of datagrams, so that they stay in the cache, ... */
#	define OLD_BYTES (64ull << 20) /* ... with one for each flow */

enum { FEW_BUFFERS = 64, MANY_BUFFERS = 4096 };

#	define STAMP_ROOM CMSG_SPACE(sizeof(struct timespec))

void nd_ur_recv_close(struct nd_uring *u, unsigned lane)
{
	struct nd_ur_lane *l = &u->lane[lane];

	if (l->bufs) {
		(void)io_uring_unregister_buf_ring(&u->ring, (int)lane); /* the ring goes with it */
		(void)munmap(l->bufs, l->chunk_n * sizeof(struct io_uring_buf));
	}
	free(l->chunks);
	free(l->rx_room);
	l->bufs = NULL;
	l->chunks = NULL;
	l->rx_room = NULL;
}

static size_t stream_slot(const struct nd_io *io, unsigned lane, bool looks, uint32_t old_flows)
{
	uint64_t message = nd_lane_message(&io->lanes[lane]);
	uint64_t n = nd_plan_flows(io->plan) > 1 ? MANY_BYTES : ONE_BYTES;

	if (looks)
		n = LOOK_BYTES;
	if (io->lanes[lane].load->round_trips)
		n = ND_MIN(n, message);
	if (looks && old_flows)
		n = ND_MIN(n, OLD_BYTES / old_flows);
	return (size_t)((ND_MAX(n, MIN_BYTES) + 63) / 64 * 64);
}

/* The datagram pair has asked for arrival times, of all flows or none. */
static bool is_stamped(const struct nd_io *io, unsigned lane)
{
	uint32_t i;

	for (i = 0; i < io->flow_count; i++) {
		const struct nd_flow *f = &io->flows[i];
		int on = 0;
		socklen_t len = sizeof(on);

		if (f->workload == lane && !f->active)
			return getsockopt(f->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, &len) == 0 && on;
	}
	return false;
}

static void size_lane(const struct nd_io *io, unsigned lane, uint32_t receivers)
{
	const struct nd_uring *u = nd_ur_of(io);
	struct nd_ur_lane *l = &nd_ur_of(io)->lane[lane];
	const struct nd_lane *real = &io->lanes[lane];
	bool datagram = (real->transport->caps & ND_NET_DATAGRAM) != 0;
	/* bytes that nobody looks at may all go to one place */
	bool looks = real->frame->takes;
	uint64_t most = !looks ? UINT64_MAX : datagram ? NEAR_BYTES : ROOM_BYTES;
	uint32_t n = FEW_BUFFERS;

	if (datagram) {
		l->stamped = u->modern && is_stamped(io, lane);
		l->rx_slot = nd_datagram_slot(real);
		if (l->stamped)
			l->rx_slot +=
				(sizeof(struct io_uring_recvmsg_out) + STAMP_ROOM + 63) / 64 * 64;
		l->header.msg_controllen = l->stamped ? STAMP_ROOM : 0;
		receivers = ND_MAX(receivers, 1024);
	} else {
		l->rx_slot = stream_slot(io, lane, looks, u->modern ? 0 : u->room);
	}
	while (n < receivers && n < MANY_BUFFERS && 2 * n * l->rx_slot <= most)
		n *= 2;
	l->chunk_n = u->modern ? n : u->room;
	l->rx_stride = looks || l->stamped ? l->rx_slot : 0;
}

static void give(struct nd_ur_lane *l, uint32_t n)
{
	if (!l->bufs)
		return;
	io_uring_buf_ring_add(l->bufs, l->rx_room + n * l->rx_stride, (unsigned)l->rx_slot,
			      (unsigned short)n, io_uring_buf_ring_mask(l->chunk_n), 0);
	io_uring_buf_ring_advance(l->bufs, 1);
	l->given++;
}

static int give_all(struct nd_uring *u, unsigned lane)
{
	struct nd_ur_lane *l = &u->lane[lane];
	struct io_uring_buf_reg reg = { .ring_entries = l->chunk_n, .bgid = (uint16_t)lane };
	void *p = mmap(NULL, l->chunk_n * sizeof(struct io_uring_buf), PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	uint32_t i;
	int r;

	if (p == MAP_FAILED)
		return -ENOMEM;
	reg.ring_addr = (uintptr_t)p;
	r = io_uring_register_buf_ring(&u->ring, &reg, 0);
	if (r < 0) {
		(void)munmap(p, l->chunk_n * sizeof(struct io_uring_buf));
		return r;
	}
	l->bufs = p;
	io_uring_buf_ring_init(l->bufs);
	for (i = 0; i < l->chunk_n; i++)
		give(l, i);
	return 0;
}

int nd_ur_recv_open(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct nd_uring *u = nd_ur_of(io);
	struct nd_ur_lane *l = &u->lane[lane];
	uint32_t receivers = nd_lane_receives(io, lane);
	char words[64];
	int r;

	if (receivers == 0)
		return 0;
	size_lane(io, lane, receivers);
	l->chunks = calloc(l->chunk_n, sizeof(*l->chunks));
	l->rx_room = nd_buffer_new(l->rx_stride ? l->chunk_n * l->rx_stride : l->rx_slot);
	if (!l->chunks || !l->rx_room)
		return nd_fail(err, -ENOMEM, "no memory to receive from %u flows", receivers);
	r = u->modern ? give_all(u, lane) : 0;
	if (r < 0)
		return nd_fail(err, r, "engine uring: a ring of buffers: %s",
			       nd_strerror(r, words, sizeof(words)));
	return 0;
}

/* ---- chunks */

static void put_chunk(struct nd_io *io, struct nd_flow *f, uint32_t n, uint32_t bytes)
{
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);

	l->chunks[n] = (struct nd_ur_chunk){ .bytes = bytes };
	if (uf->chunk_last)
		l->chunks[uf->chunk_last - 1].next = n + 1;
	else
		uf->chunk_first = n + 1;
	uf->chunk_last = n + 1;
}

static void give_back(struct nd_io *io, unsigned lane, uint32_t n)
{
	give(&nd_ur_of(io)->lane[lane], n);
	nd_ur_line_serve(io, lane, false);
}

static void drop_chunk(struct nd_io *io, struct nd_flow *f)
{
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);
	uint32_t n = uf->chunk_first - 1;

	uf->chunk_first = l->chunks[n].next;
	if (!uf->chunk_first)
		uf->chunk_last = 0;
	give_back(io, f->workload, n);
}

static void arm(struct nd_io *io, struct nd_flow *f)
{
	struct nd_uring *u = nd_ur_of(io);
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);
	size_t at = (size_t)(f - io->flows);
	struct io_uring_sqe *sqe;

	if (uf->armed || uf->hungry)
		return;
	sqe = nd_ur_sqe(u);
	if (!sqe) {
		nd_ur_line_add(io, f, false);
		return;
	}
	if (!l->bufs)
		io_uring_prep_recv(sqe, f->fd, l->rx_room + at * l->rx_stride, l->rx_slot, 0);
	else if (l->stamped)
		io_uring_prep_recvmsg_multishot(sqe, f->fd, &l->header, 0);
	else
		io_uring_prep_recv_multishot(sqe, f->fd, NULL, 0, 0);
	nd_ur_aim(io, f, sqe);
	if (l->bufs) {
		sqe->flags |= IOSQE_BUFFER_SELECT;
		sqe->buf_group = f->workload;
	}
	io_uring_sqe_set_data64(sqe, nd_ur_data(ND_UR_RECV, 0, at));
	uf->armed = true;
	u->armed++;
	ND_COUNT_FLOW(io, f, rx_calls, 1);
}

static int take_stream(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	uint32_t at = nd_ur_flow_of(io, f)->chunk_first - 1;
	struct nd_ur_chunk *c = &l->chunks[at];
	bool exact = f->step.op == ND_OP_RECV && f->step.bytes;
	uint32_t n = c->bytes;
	struct iovec v = { .iov_base = l->rx_room + at * l->rx_stride + c->from };
	struct nd_batch b = { .iov = &v, .n = 1, .now_ns = io->now_ns };

	if (exact)
		n = (uint32_t)ND_MIN(f->step.bytes - f->done_bytes, n);
	v.iov_len = n;
	f->done_bytes += n;
	ND_COUNT_FLOW(io, f, rx_bytes, n);
	if (!exact || f->done_bytes >= f->step.bytes)
		ND_COUNT_FLOW(io, f, rx_messages, 1);
	if (frame->take) /* a stream is all ours */
		(void)frame->take(&f->rx, &b, &f->c, &io->c[f->workload]);
	c->from += n;
	c->bytes -= n;
	if (c->bytes == 0)
		drop_chunk(io, f);
	return 1;
}

/* The receive's own header stands in front of stamped datagrams. */
static void point_at(struct nd_ur_lane *l, uint32_t chunk, uint32_t i)
{
	uint8_t *at = l->rx_room + chunk * l->rx_stride;
	struct io_uring_recvmsg_out *out;
	struct timespec t = { 0 };
	struct cmsghdr *c;

	l->iov[i] = (struct iovec){ .iov_base = at, .iov_len = l->chunks[chunk].bytes };
	if (!l->stamped)
		return;
	out = io_uring_recvmsg_validate(at, (int)l->chunks[chunk].bytes, &l->header);
	l->iov[i].iov_len = 0;
	l->stamps[i] = 0;
	if (!out)
		return;
	l->iov[i].iov_base = io_uring_recvmsg_payload(out, &l->header);
	l->iov[i].iov_len =
		io_uring_recvmsg_payload_length(out, (int)l->chunks[chunk].bytes, &l->header);
	c = io_uring_recvmsg_cmsg_firsthdr(out, &l->header);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
		memcpy(&t, CMSG_DATA(c), sizeof(t));
	l->stamps[i] = (uint64_t)t.tv_sec * ND_NS_PER_S + (uint64_t)t.tv_nsec;
}

static int take_datagrams(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	uint32_t want = ND_MIN(nd_step_count(&f->step), ND_UR_BATCH), messages, i;
	uint32_t chunk = nd_ur_flow_of(io, f)->chunk_first;
	struct nd_batch b = { .iov = l->iov,
			      .now_ns = io->now_ns,
			      .stamp_ns = l->stamped ? l->stamps : NULL };
	uint64_t bytes = 0;

	for (; chunk && b.n < want; chunk = l->chunks[chunk - 1].next)
		point_at(l, chunk - 1, b.n++);
	messages = b.n;
	if (frame->take)
		messages = frame->take(&f->rx, &b, &f->c, &io->c[f->workload]);
	for (i = 0; i < b.n; i++) {
		bytes += l->iov[i].iov_len;
		drop_chunk(io, f);
	}
	ND_COUNT_FLOW(io, f, rx_messages, messages);
	ND_COUNT_FLOW(io, f, rx_bytes, bytes);
	ND_COUNT_FLOW(io, f, rx_stacked, b.n);
	return (int)b.n;
}

int nd_ur_recv(struct nd_io *io, struct nd_flow *f)
{
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);
	int r;

	if (uf->chunk_first) {
		r = nd_flow_is_datagram(io, f) ? take_datagrams(io, f) : take_stream(io, f);
		f->readable = uf->chunk_first || uf->end || !uf->armed;
		return r;
	}
	if (uf->end)
		return uf->end > 0 ? 0 : uf->end;
	arm(io, f);
	f->readable = false;
	return -EAGAIN;
}

/* ---- completions */

/* Nothing came: is it over, or is the receive to be repeated? */
static void came_to_nothing(struct nd_io *io, struct nd_flow *f, int result)
{
	const struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);
	bool datagram = nd_flow_is_datagram(io, f);

	if (result == -ENOBUFS && l->bufs) {
		if (l->given == 0)
			nd_ur_line_add(io, f, false);
		return;
	}
	if (result == -ECANCELED || result == -EINTR || result == -EAGAIN)
		return;
	/* answers to our own datagrams (port unreachable and the like) end nothing */
	if (datagram && (result == 0 || (result != -ENOMEM && nd_is_refusal(-result))))
		return;
	uf->end = result == 0 ? 1 : result;
}

void nd_ur_received(struct nd_io *io, struct nd_flow *f, int result, uint32_t flags)
{
	struct nd_uring *u = nd_ur_of(io);
	struct nd_ur_lane *l = nd_ur_lane_of(io, f);
	struct nd_ur_flow *uf = nd_ur_flow_of(io, f);
	bool filled = l->bufs ? (flags & IORING_CQE_F_BUFFER) != 0 : result >= 0;
	uint32_t n = l->bufs ? flags >> IORING_CQE_BUFFER_SHIFT : (uint32_t)(f - io->flows);

	if (!(flags & IORING_CQE_F_MORE) && uf->armed) {
		uf->armed = false;
		u->armed--;
	}
	if (filled && l->bufs)
		l->given--;
	if (filled && !u->leaving && f->state != ND_FLOW_DONE &&
	    (result > 0 || (result == 0 && nd_flow_is_datagram(io, f)))) {
		put_chunk(io, f, n, (uint32_t)result);
	} else {
		if (filled)
			give_back(io, f->workload, n);
		if (result <= 0)
			came_to_nothing(io, f, result);
	}
	if (nd_flow_unblock(f, true, false))
		nd_queue_push(&u->q, f);
}
#endif
