/* SPDX-License-Identifier: MIT */
/*
 * Datagrams by recvmmsg() in pieces of several (UDP_GRO): what came through the stack together is handed
 * over together, and taken apart here.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/datagram.h"

#ifndef UDP_GRO
#	define UDP_GRO 104
#endif

enum {
	PIECES = 16,
	MESSAGES = 2 * ND_MAX_GSO /* taken at once: more would not stay in a core's own cache */
};

#define PIECE_BYTES 65536u
/* Pieces are most often far shorter than their places, which must not share the lines of a cache. */
#define PLACE_BYTES (PIECE_BYTES + 35u * 64u)

struct datagram_gro {
	struct mmsghdr header[PIECES];
	struct iovec iov[PIECES];
	union nd_dg_control control[PIECES];
	struct iovec got[MESSAGES];
	uint64_t stamps[MESSAGES];
	uint8_t *room; /* owned: a piece each */
	bool stamped;
};

static void close_gro(struct nd_io *io, unsigned lane)
{
	struct datagram_gro *d = io->rx_state[lane];

	if (!d)
		return;
	nd_dg_drops(io, lane);
	free(d->room);
	nd_free_p(&io->rx_state[lane]);
}

/* A kernel that cannot gives them one by one. */
static void join_gro(struct nd_io *io, struct nd_flow *f)
{
	const int on = 1;

	nd_dg_join(io, f);
	if (!f->active && setsockopt(f->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) < 0)
		io->told[f->workload].rx_refused = errno;
}

static int open_gro(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct datagram_gro *d;
	uint32_t i;

	if (!nd_lane_receives(io, lane))
		return 0;
	io->rx_state[lane] = d = calloc(1, sizeof(*d));
	if (d)
		d->room = nd_buffer_new(PIECES * (size_t)PLACE_BYTES);
	if (!d || !d->room)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	for (i = 0; i < PIECES; i++) {
		d->iov[i] = (struct iovec){ d->room + i * (size_t)PLACE_BYTES, PIECE_BYTES };
		d->header[i].msg_hdr = (struct msghdr){ .msg_iov = &d->iov[i], .msg_iovlen = 1 };
	}
	d->stamped = nd_dg_stamp(io, lane);
	nd_dg_join_all(io, lane);
	return 0;
}

static void take_batch(struct nd_io *io, struct nd_flow *f, struct datagram_gro *d, uint32_t n)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct nd_batch b = { .iov = d->got,
			      .n = n,
			      .now_ns = io->now_ns,
			      .stamp_ns = d->stamped ? d->stamps : NULL };
	uint32_t messages = n, i;
	uint64_t bytes = 0;

	if (n == 0)
		return;
	if (frame->take)
		messages = frame->take(&f->rx, &b, &f->c, &io->c[f->workload]);
	for (i = 0; i < n; i++)
		bytes += d->got[i].iov_len;
	ND_COUNT_FLOW(io, f, rx_messages, messages);
	ND_COUNT_FLOW(io, f, rx_bytes, bytes);
}

/* Behind the @n that wait to be taken. Return: how many wait now. */
static uint32_t take_apart(struct nd_io *io, struct nd_flow *f, struct datagram_gro *d,
			   uint32_t piece, uint32_t n)
{
	uint8_t *at = d->iov[piece].iov_base;
	size_t left = d->header[piece].msg_len, segment;
	struct nd_dg_told told;

	nd_dg_told(&d->header[piece].msg_hdr, &told);
	segment = told.segment ? told.segment : left;
	do { /* an empty datagram is one, too */
		size_t one = ND_MIN(segment, left);

		if (n == MESSAGES) {
			take_batch(io, f, d, n);
			n = 0;
		}
		d->got[n] = (struct iovec){ at, one };
		if (d->stamped)
			d->stamps[n] = told.stamp_ns;
		n++;
		at += one;
		left -= one;
	} while (left > 0);
	return n;
}

static int move_gro(struct nd_io *io, struct nd_flow *f)
{
	struct datagram_gro *d = io->rx_state[f->workload];
	uint32_t n = 0, i;
	int r;

	nd_dg_want(d->header, d->control, PIECES);
	r = nd_dg_recv(io, f, d->header, PIECES, 0);
	if (r < 0)
		return r;
	for (i = 0; i < (uint32_t)r; i++)
		n = take_apart(io, f, d, i, n);
	take_batch(io, f, d, n);
	ND_COUNT_FLOW(io, f, rx_stacked, (uint64_t)r);
	if (r < PIECES && !io->recv_waits)
		f->readable = false; /* it gave all it had */
	return r;
}

const struct nd_xfer nd_xfer_datagram_gro = {
	.name = "gro",
	.help = "UDP_GRO: datagrams that came together in one piece",
	.datagram = true,
	.one_way = true,
	.batch_max = PIECES * ND_MAX_GSO,
	.open = open_gro,
	.close = close_gro,
	.join = join_gro,
	.move = move_gro,
};
