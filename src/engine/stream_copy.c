/* SPDX-License-Identifier: MIT */
/* Streams by send() and recv(): the kernel copies both ways. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "engine/int.h"

#define RECV_BYTES (256ull << 10) /* what stays in a core's own cache beside the bytes sent */
#define MIN_BYTES  (16ull << 10)
#define FILL_BYTES (256ull << 10) /* a filled piece that the socket does not take is filled again */

struct stream_copy {
	uint8_t *rx, *tx; /* owned; tx only when the frame fills */
	size_t rx_size, tx_size;
};

static void close_copy(struct nd_io *io, unsigned lane)
{
	struct stream_copy *s = io->xfer_state[lane];

	if (!s)
		return;
	free(s->rx);
	free(s->tx);
	free(s);
	io->xfer_state[lane] = NULL;
}

static int open_copy(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	const struct nd_lane *l = &io->lanes[lane];
	struct stream_copy *s = calloc(1, sizeof(*s));
	uint64_t message = nd_lane_message(l);
	bool ok;

	if (!s)
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	io->xfer_state[lane] = s;
	/* whatever comes is read in large pieces; an exact message needs room for itself */
	s->rx_size = RECV_BYTES;
	if (l->load->round_trips)
		s->rx_size = (size_t)ND_MAX(ND_MIN(message, RECV_BYTES), MIN_BYTES);
	s->tx_size = (size_t)ND_MIN(message, FILL_BYTES);
	ok = true;
	if (nd_lane_receives(io, lane))
		ok = (s->rx = nd_buffer_new(s->rx_size)) != NULL;
	if (ok && l->frame->fills && nd_lane_sends(io, lane))
		ok = (s->tx = nd_buffer_new(s->tx_size)) != NULL;
	if (ok)
		return 0;
	close_copy(io, lane);
	return nd_fail(err, -ENOMEM, "no memory for buffers");
}

static int sent(struct nd_io *io, struct nd_flow *f, size_t asked, size_t n)
{
	f->done_bytes += n;
	ND_COUNT_FLOW(io, f, tx_bytes, n);
	if (f->done_bytes >= f->step.bytes)
		ND_COUNT_FLOW(io, f, tx_messages, 1);
	if (n < asked) { /* full: the next call would say EAGAIN */
		f->writable = false;
		ND_COUNT_FLOW(io, f, tx_blocked, 1);
	}
	return 1;
}

static ssize_t send_some(struct nd_io *io, struct nd_flow *f, const uint8_t *buf, size_t n)
{
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		r = send(f->fd, buf, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (r < 0 && errno == EINTR);
	io->now_ns = nd_now_ns();
	if (r >= 0)
		return r;
	if (errno != EAGAIN)
		return -errno;
	f->writable = false;
	ND_COUNT_FLOW(io, f, tx_blocked, 1);
	return -EAGAIN;
}

static int send_filled(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	const struct stream_copy *s = io->xfer_state[f->workload];
	size_t n = (size_t)ND_MIN(f->step.bytes - f->done_bytes, s->tx_size);
	struct iovec v = { .iov_base = s->tx, .iov_len = n };
	struct nd_batch b = { .iov = &v, .n = 1, .now_ns = io->now_ns };
	ssize_t r;

	frame->fill(&f->tx, &b);
	r = send_some(io, f, s->tx, n);
	if (frame->unfill && r < (ssize_t)n)
		frame->unfill(&f->tx, (uint32_t)(r < 0 ? n : n - (size_t)r));
	return r < 0 ? (int)r : sent(io, f, n, (size_t)r);
}

static int send_copy(struct nd_io *io, struct nd_flow *f)
{
	size_t size = io->tx_size[f->workload], from, n;
	ssize_t r;

	if (nd_lane_of(io, f)->frame->fills)
		return send_filled(io, f);
	/* a message longer than the buffer repeats it */
	from = (size_t)(f->done_bytes % size);
	n = (size_t)ND_MIN(f->step.bytes - f->done_bytes, size - from);
	r = send_some(io, f, io->tx_buf[f->workload] + from, n);
	return r < 0 ? (int)r : sent(io, f, n, (size_t)r);
}

static void look_at(struct nd_io *io, struct nd_flow *f, const struct stream_copy *s, size_t n)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct iovec v = { .iov_base = s->rx, .iov_len = n };
	struct nd_batch b = { .iov = &v, .n = 1, .now_ns = io->now_ns };

	if (frame->take)
		(void)frame->take(&f->rx, &b, &f->c,
				  &io->c[f->workload]); /* a stream is all ours */
}

static int recv_copy(struct nd_io *io, struct nd_flow *f)
{
	const struct stream_copy *s = io->xfer_state[f->workload];
	bool exact = f->step.op == ND_OP_RECV && f->step.bytes;
	size_t n = s->rx_size;
	ssize_t r;

	if (exact)
		n = (size_t)ND_MIN(f->step.bytes - f->done_bytes, n);
	do {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		r = recv(f->fd, s->rx, n, io->recv_waits ? 0 : MSG_DONTWAIT);
	} while (r < 0 && errno == EINTR);
	io->now_ns = nd_now_ns();
	if (r < 0) {
		f->readable = errno != EAGAIN;
		return -errno;
	}
	if (r == 0)
		return 0;
	/* a short read has emptied the socket, unless the end of the stream is behind it */
	if ((size_t)r < n && !f->hup && !io->recv_waits)
		f->readable = false;
	f->done_bytes += (uint64_t)r;
	ND_COUNT_FLOW(io, f, rx_bytes, (uint64_t)r);
	if (!exact || f->done_bytes >= f->step.bytes)
		ND_COUNT_FLOW(io, f, rx_messages, 1);
	look_at(io, f, s, (size_t)r);
	return 1;
}

const struct nd_xfer nd_xfer_stream_copy = {
	.name = "copy",
	.help = "send() and recv()",
	.stream = true,
	.batch_max = 1,
	.open = open_copy,
	.close = close_copy,
	.send = send_copy,
	.recv = recv_copy,
};
