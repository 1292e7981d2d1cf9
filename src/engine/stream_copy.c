/* SPDX-License-Identifier: MIT */
/* Streams by send() and recv(): the kernel copies both ways. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/call.h"
#include "engine/stream.h"

#define RECV_BYTES (256ull << 10) /* what stays in a core's own cache beside the bytes sent */
#define MOST_BYTES (8ull << 20)   /* more than a socket ever holds */
#define MIN_BYTES  (16ull << 10)
#define FILL_BYTES (256ull << 10) /* a filled piece that the socket does not take is filled again */

struct stream_send {
	uint8_t *room; /* owned; NULL: the lane's buffer is sent as it is */
	size_t size;
};

struct stream_recv {
	uint8_t *room; /* owned */
	size_t size;
};

static void close_send(struct nd_io *io, unsigned lane)
{
	struct stream_send *s = io->tx_state[lane];

	if (s)
		free(s->room);
	nd_free_p(&io->tx_state[lane]);
}

static int open_send(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	const struct nd_lane *l = &io->lanes[lane];
	struct stream_send *s;

	if (!l->frame->fills || !nd_lane_sends(io, lane))
		return 0;
	io->tx_state[lane] = s = calloc(1, sizeof(*s));
	if (s)
		s->size = (size_t)ND_MIN(nd_lane_message(l), FILL_BYTES);
	if (!s || !(s->room = nd_buffer_new(s->size)))
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	return 0;
}

static void close_recv(struct nd_io *io, unsigned lane)
{
	struct stream_recv *s = io->rx_state[lane];

	if (s)
		free(s->room);
	nd_free_p(&io->rx_state[lane]);
}

static int open_recv(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	const struct nd_lane *l = &io->lanes[lane];
	struct stream_recv *s;

	if (!nd_lane_receives(io, lane))
		return 0;
	io->rx_state[lane] = s = calloc(1, sizeof(*s));
	/* whatever comes is read in large pieces; an exact message needs room for itself */
	if (s)
		s->size = (size_t)ND_MIN(l->workload->recv_bytes ?: RECV_BYTES, MOST_BYTES);
	if (s && l->load->round_trips)
		s->size = (size_t)ND_MAX(ND_MIN(nd_lane_message(l), RECV_BYTES), MIN_BYTES);
	if (!s || !(s->room = nd_buffer_new(s->size)))
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	nd_stream_lowat(io, lane);
	return 0;
}

static ssize_t send_some(struct nd_io *io, struct nd_flow *f, const uint8_t *buf, size_t n)
{
	int flags =
		MSG_NOSIGNAL | (io->send_waits ? 0 : MSG_DONTWAIT) | (f->step.last ? MSG_MORE : 0);
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		r = nd_call_send(f->fd, buf, n, flags);
	} while (r < 0 && nd_call_again(io->send_waits));
	nd_io_sent(io);
	return r >= 0 ? r : nd_stream_refused(io, f, errno);
}

static int send_filled(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	const struct stream_send *s = io->tx_state[f->workload];
	size_t n = (size_t)ND_MIN(f->step.bytes - f->done_bytes, s->size);
	struct iovec v = { .iov_base = s->room, .iov_len = n };
	struct nd_batch b = { .iov = &v, .n = 1, .now_ns = io->now_ns };
	ssize_t r;

	frame->fill(&f->tx, &b);
	r = send_some(io, f, s->room, n);
	if (frame->unfill && r < (ssize_t)n)
		frame->unfill(&f->tx, (uint32_t)(r < 0 ? n : n - (size_t)r));
	return r < 0 ? (int)r : nd_stream_sent(io, f, n, (size_t)r);
}

static int send_copy(struct nd_io *io, struct nd_flow *f)
{
	size_t from, n;
	ssize_t r;

	if (nd_lane_of(io, f)->frame->fills)
		return send_filled(io, f);
	/* a message longer than the buffer repeats it */
	n = nd_stream_piece(f, io->tx_size[f->workload], &from);
	r = send_some(io, f, io->tx_buf[f->workload] + from, n);
	return r < 0 ? (int)r : nd_stream_sent(io, f, n, (size_t)r);
}

uint8_t *nd_stream_room(const struct nd_io *io, unsigned lane, size_t *ret_size)
{
	const struct stream_recv *s = io->rx_state[lane];

	*ret_size = s ? s->size : 0;
	return s ? s->room : NULL;
}

const uint8_t *nd_stream_out(const struct nd_io *io, unsigned lane, size_t *ret_size)
{
	const struct stream_send *s = io->tx_state[lane];

	*ret_size = s ? s->size : io->tx_size[lane];
	return s ? s->room : io->tx_buf[lane];
}

static void look_at(struct nd_io *io, struct nd_flow *f, const struct stream_recv *s, size_t n)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct iovec v = { .iov_base = s->room, .iov_len = n };
	struct nd_batch b = { .iov = &v, .n = 1, .now_ns = io->now_ns };

	if (frame->take)
		(void)frame->take(&f->rx, &b, &f->c,
				  &io->c[f->workload]); /* a stream is all ours */
}

static int recv_copy(struct nd_io *io, struct nd_flow *f)
{
	const struct stream_recv *s = io->rx_state[f->workload];
	ssize_t r = nd_stream_read(io, f, s->room, nd_stream_wants(f, s->size), 0);

	if (r <= 0)
		return (int)r;
	look_at(io, f, s, (size_t)r);
	return nd_stream_received(io, f, (size_t)r);
}

const struct nd_xfer nd_xfer_stream_send = {
	.name = "copy",
	.help = "send() or sendmmsg()",
	.sends = true,
	.stream = true,
	.open = open_send,
	.close = close_send,
	.move = send_copy,
};

const struct nd_xfer nd_xfer_stream_recv = {
	.name = "copy",
	.help = "recv() or recvmmsg()",
	.stream = true,
	.open = open_recv,
	.close = close_recv,
	.move = recv_copy,
	.join = nd_stream_join,
};
