/* SPDX-License-Identifier: MIT */
/*
 * Streams by splice(): no copy at either end. The sender has one pipe full of its pages, doubles
 * them into a second one by tee(), and moves that into sockets; the receiver moves what comes
 * through a pipe into /dev/null. Pipes belong to a worker: what one socket did not take goes to the
 * next, all bytes are alike. /
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/stream.h"

#define FLAGS (SPLICE_F_MOVE | SPLICE_F_NONBLOCK)

struct splice_send {
	struct nd_source source;
	int full[2], way[2]; /* owned pipes: with all pages; on their way to a socket */
	size_t level;        /* bytes in .way */
	size_t room;         /* of one filling */
};

struct splice_recv {
	int way[2]; /* owned pipe */
	int null;   /* owned */
	size_t room;
};

/* ---- sender */

static void close_send(struct nd_io *io, unsigned lane)
{
	struct splice_send *s = io->tx_state[lane];
	int i;

	for (i = 0; s && i < 2; i++) {
		nd_close_p(&s->full[i]);
		nd_close_p(&s->way[i]);
	}
	if (s)
		nd_source_close(&s->source);
	nd_free_p(&io->tx_state[lane]);
}

/* As many of the pages as fit, again and again. */
static int fill(struct splice_send *s)
{
	ssize_t r;

	do {
		struct iovec v = { .iov_base = s->source.at, .iov_len = s->source.size };

		r = vmsplice(s->full[1], &v, 1, SPLICE_F_NONBLOCK);
		s->room += r > 0 ? (size_t)r : 0;
	} while (r > 0 || (r < 0 && errno == EINTR));
	return s->room ? 0 : -errno;
}

static int open_pipes(struct splice_send *s, struct nd_err *err)
{
	size_t unused;

	if (nd_pipe_open(s->full, &unused) < 0 || nd_pipe_open(s->way, &unused) < 0)
		return nd_sysfail(err, "--tx splice: a pipe");
	return fill(s) < 0 ? nd_sysfail(err, "--tx splice: filling a pipe") : 0;
}

static int open_send(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct splice_send *s;

	if (!nd_lane_sends(io, lane))
		return 0;
	io->tx_state[lane] = s = calloc(1, sizeof(*s));
	if (s)
		s->full[0] = s->full[1] = s->way[0] = s->way[1] = -1;
	if (!s || nd_source_open(&s->source, io, lane) < 0)
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	return open_pipes(s, err);
}

/* No more than the step takes: what it would leave, behind the small first piece, cuts every later step in two. */
static int refill(struct nd_io *io, struct nd_flow *f, struct splice_send *s)
{
	size_t n = (size_t)ND_MIN(f->step.bytes - f->done_bytes, s->room);
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		r = tee(s->full[0], s->way[1], n, SPLICE_F_NONBLOCK);
	} while (r < 0 && errno == EINTR);
	if (r <= 0)
		return r < 0 && errno != EAGAIN ? -errno : -EIO;
	s->level = (size_t)r;
	return 0;
}

/* A short count may be the pipe's doing, or a signal's, or of work that the kernel left for later: no edge would follow.
 * Only EAGAIN says that the socket is full. */
static int send_pages(struct nd_io *io, struct nd_flow *f)
{
	struct splice_send *s = io->tx_state[f->workload];
	ssize_t r = s->level ? 0 : refill(io, f, s);
	int code;
	size_t n;

	if (r < 0)
		return (int)r;
	n = (size_t)ND_MIN(f->step.bytes - f->done_bytes, s->level);
	nd_io_settle(io, f, io->send_waits);
	do {
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		r = splice(s->way[0], NULL, f->fd, NULL, n, FLAGS);
	} while (r < 0 && nd_call_again(io->send_waits));
	code = errno;
	io->now_ns = nd_now_ns();
	if (r <= 0)
		return nd_stream_refused(io, f, r < 0 ? code : EIO);
	s->level -= (size_t)r;
	return nd_stream_sent(io, f, (size_t)r, (size_t)r);
}

/* ---- receiver */

static void close_recv(struct nd_io *io, unsigned lane)
{
	struct splice_recv *s = io->rx_state[lane];

	if (s) {
		nd_close_p(&s->way[0]);
		nd_close_p(&s->way[1]);
		nd_close_p(&s->null);
	}
	nd_free_p(&io->rx_state[lane]);
}

static int open_recv(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct splice_recv *s;

	if (!nd_lane_receives(io, lane))
		return 0;
	io->rx_state[lane] = s = calloc(1, sizeof(*s));
	if (!s)
		return nd_fail(err, -ENOMEM, "no memory for a pipe");
	s->way[0] = s->way[1] = -1;
	s->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (s->null < 0)
		return nd_sysfail(err, "--rx splice: /dev/null");
	if (nd_pipe_open(s->way, &s->room) < 0)
		return nd_sysfail(err, "--rx splice: a pipe");
	nd_stream_lowat(io, lane);
	return 0;
}

/* The pipe is empty before and behind each move. */
static int drop(const struct splice_recv *s, size_t n)
{
	while (n > 0) {
		ssize_t r = splice(s->way[0], NULL, s->null, NULL, n, SPLICE_F_MOVE);

		if (r <= 0 && errno != EINTR)
			return r < 0 ? -errno : -EIO;
		n -= r > 0 ? (size_t)r : 0;
	}
	return 0;
}

/* A short count may be the pipe's doing: only EAGAIN says that the socket is empty. */
static int recv_pages(struct nd_io *io, struct nd_flow *f)
{
	const struct splice_recv *s = io->rx_state[f->workload];
	size_t n = nd_stream_wants(f, s->room);
	ssize_t r;
	int code;

	nd_io_settle(io, f, io->recv_waits);
	do {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		r = splice(f->fd, NULL, s->way[1], NULL, n, FLAGS);
	} while (r < 0 && nd_call_again(io->recv_waits));
	code = errno;
	if (r > 0 && drop(s, (size_t)r) < 0)
		return -EIO;
	io->now_ns = nd_now_ns();
	if (r <= 0)
		return r < 0 ? nd_stream_empty(io, f, code) : 0;
	return nd_stream_received(io, f, (size_t)r);
}

const struct nd_xfer nd_xfer_stream_splice_send = {
	.name = "splice",
	.help = "tee() and splice() of the same pages: no copy at the sender",
	.sends = true,
	.stream = true,
	.blind = true,
	.never_blocks = true,
	.open = open_send,
	.close = close_send,
	.move = send_pages,
};

const struct nd_xfer nd_xfer_stream_splice_recv = {
	.name = "splice",
	.help = "splice() into /dev/null: no copy at the receiver",
	.stream = true,
	.blind = true,
	.never_blocks = true,
	.open = open_recv,
	.close = close_recv,
	.move = recv_pages,
	.join = nd_stream_join,
};
