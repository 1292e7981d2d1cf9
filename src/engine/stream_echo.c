/* SPDX-License-Identifier: MIT */
/*
 * Receive some of a stream, let the frame turn it into its answer, and send that back. A socket that does not take its
 * answer has it kept until it does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/call.h"
#include "engine/stream.h"

#define STREAM_BYTES (256ull << 10)

struct stream_echo {
	uint8_t *room; /* owned; the frame may go back by .before bytes */
	size_t before, size;
	struct iovec back; /* of the flow that has just received */
};

/* What a flow's socket did not take yet, behind this head. */
struct rest {
	size_t at, n;
	uint8_t bytes[];
};

static void close_stream(struct nd_io *io, unsigned lane)
{
	struct stream_echo *s = io->rx_state[lane];

	for (uint32_t i = 0; io->flows && i < io->flow_count; i++)
		if (io->flows[i].workload == lane)
			nd_free_p(&io->flows[i].rest);
	if (s)
		free(s->room);
	nd_free_p(&io->rx_state[lane]);
}

static int open_stream(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct stream_echo *s = calloc(1, sizeof(*s));

	io->rx_state[lane] = s;
	if (!s)
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	s->before = (io->lanes[lane].frame->turn_room + 63) / 64 * 64;
	s->size = STREAM_BYTES;
	s->room = nd_buffer_new(s->before + s->size);
	return s->room ? 0 : nd_fail(err, -ENOMEM, "no memory for buffers");
}

static int turn_stream(struct nd_io *io, struct nd_flow *f, struct stream_echo *s, size_t n)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct nd_batch b = { .iov = &s->back, .n = 1, .now_ns = io->now_ns };
	uint32_t messages = 1;

	s->back = (struct iovec){ s->room + s->before, n };
	if (frame->turn)
		messages = frame->turn(&f->rx, &b, &f->c, &io->c[f->workload]);
	if (messages == ND_TURN_BROKEN)
		return -EBADMSG;
	f->done_bytes += n;
	ND_COUNT_FLOW(io, f, rx_bytes, n);
	ND_COUNT_FLOW(io, f, rx_messages, messages);
	return 1;
}

static int recv_stream(struct nd_io *io, struct nd_flow *f)
{
	struct stream_echo *s = io->rx_state[f->workload];
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		r = nd_call_recv(f->fd, s->room + s->before, s->size,
				 io->recv_waits ? 0 : MSG_DONTWAIT);
	} while (r < 0 && nd_call_again(io->recv_waits));
	nd_io_tried(io, r >= 0);
	if (r <= 0)
		return r < 0 ? nd_stream_empty(io, f, errno) : 0;
	if ((size_t)r < s->size && !f->hup && !io->recv_waits)
		f->readable = false;
	return turn_stream(io, f, s, (size_t)r);
}

/* The buffer is the next flow's: what is left of an answer gets memory of its own. The only place in which a worker
 * asks for some, and only for a peer that does not read. */
static int keep_rest(struct nd_flow *f, const uint8_t *at, size_t n)
{
	struct rest *rest = malloc(sizeof(*rest) + n);

	if (!rest)
		return -ENOMEM;
	rest->at = 0;
	rest->n = n;
	memcpy(rest->bytes, at, n);
	f->rest = rest;
	return -EAGAIN;
}

static ssize_t send_back(struct nd_io *io, struct nd_flow *f, const uint8_t *at, size_t n)
{
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		r = nd_call_send(f->fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (r < 0 && errno == EINTR);
	nd_io_sent(io);
	if (r > 0)
		ND_COUNT_FLOW(io, f, tx_bytes, (uint64_t)r);
	if (r < 0)
		r = errno == EAGAIN ? 0 : -errno;
	if (r >= 0 && (size_t)r < n) {
		f->writable = false;
		ND_COUNT_FLOW(io, f, tx_blocked, 1);
	}
	return r;
}

static int answer_stream(struct nd_io *io, struct nd_flow *f)
{
	struct stream_echo *s = io->rx_state[f->workload];
	struct rest *rest = f->rest;
	const uint8_t *at = rest ? rest->bytes + rest->at : s->back.iov_base;
	size_t n = rest ? rest->n - rest->at : s->back.iov_len;
	ssize_t r = n > 0 ? send_back(io, f, at, n) : 0;

	if (r < 0)
		return (int)r;
	if ((size_t)r < n && !rest)
		return keep_rest(f, at + r, n - (size_t)r);
	if ((size_t)r < n) {
		rest->at += (size_t)r;
		return -EAGAIN;
	}
	if (n > 0)
		ND_COUNT_FLOW(io, f, tx_messages, 1);
	s->back.iov_len = 0;
	nd_free_p(&f->rest);
	return 1;
}

const struct nd_xfer nd_xfer_stream_echo = {
	.name = "echo",
	.help = "whole, and back to where it came from",
	.stream = true,
	.open = open_stream,
	.close = close_stream,
	.move = recv_stream,
	.answer = answer_stream,
};
