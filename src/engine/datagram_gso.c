/* SPDX-License-Identifier: MIT */
/*
 * Datagrams by sendmmsg() in pieces of several (UDP_SEGMENT): each piece goes down the stack once and is cut
 * as late as can be. The first piece is the probe: a kernel, device or path that refuses it gets smaller ones.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/datagram.h"

#ifndef UDP_SEGMENT
#	define UDP_SEGMENT 103
#endif

enum {
	PIECES = 16,
	SINGLES = 64, /* in a call, when there are no pieces */
	MESSAGES = PIECES * ND_MAX_GSO,
	OLD_SEGMENTS = 64 /* what kernels before 6.9 take */
};

#define ROOM_BYTES (1u << 20)

struct datagram_gso {
	struct mmsghdr header[SINGLES];
	struct iovec piece[SINGLES];
	struct iovec iov[MESSAGES]; /* a datagram each, for the frame */

	/* all pieces are cut alike */
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(uint16_t))];
	uint8_t *room; /* owned: datagrams one behind the other */
	size_t room_bytes;
	size_t bytes;      /* of one datagram, as .iov points now */
	uint32_t segments; /* of one piece */
};

static void close_gso(struct nd_io *io, unsigned lane)
{
	struct datagram_gso *d = io->tx_state[lane];

	if (d)
		free(d->room);
	nd_free_p(&io->tx_state[lane]);
}

static uint32_t most_segments(uint64_t asked, size_t bytes)
{
	uint64_t n = ND_MIN(asked > 1 ? asked : ND_MAX_GSO, (uint64_t)ND_MAX_GSO);

	return (uint32_t)ND_MAX(ND_MIN(n, ND_MAX_DATAGRAM / bytes), 1);
}

static int open_gso(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	const struct nd_lane *l = &io->lanes[lane];
	size_t bytes = (size_t)ND_MIN(nd_lane_message(l), ND_MAX_DATAGRAM), most;
	struct datagram_gso *d;

	if (!nd_lane_sends(io, lane))
		return 0;
	io->tx_state[lane] = d = calloc(1, sizeof(*d));
	if (!d)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	d->segments = most_segments(io->plan->gso, bytes);
	io->told[lane].tx_segments = d->segments;
	most = bytes * d->segments * PIECES;
	d->room_bytes = ND_MAX(ND_MIN(most, (size_t)ROOM_BYTES), bytes * d->segments);
	d->room = nd_buffer_new(d->room_bytes);
	if (!d->room)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	l->frame->prepare(d->room, d->room_bytes, io->plan->payload, nd_now_ns());
	return 0;
}

/* How many of @left datagrams the next call offers: whole pieces, and what is left behind the last. */
static uint32_t offer(const struct datagram_gso *d, uint32_t left)
{
	uint32_t fits = (uint32_t)ND_MIN(d->room_bytes / d->bytes, (size_t)MESSAGES);
	uint32_t most = d->segments > 1 ? d->segments * PIECES : SINGLES;

	if (d->segments > 1 && fits < most)
		most = ND_MAX(fits / d->segments, 1u) * d->segments;
	return ND_MIN(left, ND_MIN(most, fits));
}

static void say_segment(struct datagram_gso *d)
{
	struct msghdr m = { .msg_control = d->control, .msg_controllen = sizeof(d->control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	uint16_t segment = (uint16_t)d->bytes;

	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(c), &segment, sizeof(segment));
}

/* Point at datagrams of another size. */
static void point(struct datagram_gso *d, size_t bytes)
{
	uint32_t i, n = (uint32_t)ND_MIN(d->room_bytes / bytes, (size_t)MESSAGES);

	d->bytes = bytes;
	say_segment(d);
	for (i = 0; i < n; i++)
		d->iov[i] = (struct iovec){ d->room + i * bytes, bytes };
}

/* Lay @n datagrams out in pieces. Return: how many pieces. */
static uint32_t cut(struct datagram_gso *d, uint32_t n)
{
	uint32_t i, at;

	for (i = 0, at = 0; at < n; i++) {
		uint32_t one = ND_MIN(d->segments, n - at);

		d->piece[i] = (struct iovec){ d->room + at * d->bytes, one * d->bytes };
		d->header[i].msg_hdr = (struct msghdr){ .msg_iov = &d->piece[i], .msg_iovlen = 1 };
		if (one > 1) {
			d->header[i].msg_hdr.msg_control = d->control;
			d->header[i].msg_hdr.msg_controllen = sizeof(d->control);
		}
		at += one;
	}
	return i;
}

/* Was it the piece, rather than the datagrams, that was not wanted? Then smaller ones are tried. */
static bool give_in(struct nd_io *io, const struct nd_flow *f, struct datagram_gso *d, int code)
{
	if (d->segments == 1 || (code != EINVAL && code != EIO && code != EMSGSIZE &&
				 code != ENOPROTOOPT && code != EOPNOTSUPP))
		return false;
	d->segments = d->segments > OLD_SEGMENTS ? OLD_SEGMENTS : 1;
	io->told[f->workload].tx_segments = d->segments;
	if (d->segments == 1)
		io->told[f->workload].tx_refused = code;
	return true;
}

/* Return: pieces that the socket took, negative errno. */
static int call_send(struct nd_io *io, struct nd_flow *f, struct datagram_gso *d, uint32_t *n)
{
	uint32_t pieces;
	int r;

	for (;;) {
		pieces = cut(d, *n);
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		r = sendmmsg(f->fd, d->header, pieces, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (r >= 0)
			break;
		r = -errno;
		if (r != -EINTR && !give_in(io, f, d, -r))
			break;
		if (d->segments == 1 && *n > SINGLES) {
			if (nd_lane_of(io, f)->frame->unfill)
				nd_lane_of(io, f)->frame->unfill(&f->tx, *n - SINGLES);
			*n = SINGLES;
		}
	}
	/* A receiver on the same CPU must have its turn before its buffer is full: a slice of this thread is
	 * several times that. With nobody there it costs next to nothing beside a call of this size. */
	(void)sched_yield();
	io->now_ns = nd_now_ns();
	return r;
}

static int move_gso(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct datagram_gso *d = io->tx_state[f->workload];
	size_t bytes = (size_t)ND_MIN(f->step.bytes, ND_MAX_DATAGRAM);
	struct nd_batch b = { .iov = d->iov, .now_ns = io->now_ns };
	uint32_t n, sent;
	int r;

	if (d->bytes != bytes)
		point(d, bytes);
	n = b.n = offer(d, nd_step_count(&f->step) - f->done_count);
	if (frame->fill)
		frame->fill(&f->tx, &b);
	r = call_send(io, f, d, &n);
	sent = r < 0 ? 0 : ND_MIN((uint32_t)r * d->segments, n);
	if (sent < n && frame->unfill)
		frame->unfill(&f->tx, n - sent);
	if (r < 0)
		return nd_dg_not_sent(io, f, r, ND_MIN(d->segments, n));
	f->done_count += sent;
	ND_COUNT_FLOW(io, f, tx_messages, sent);
	ND_COUNT_FLOW(io, f, tx_bytes, sent * (uint64_t)bytes);
	ND_COUNT_FLOW(io, f, tx_stacked, (uint64_t)r);
	return (int)sent;
}

const struct nd_xfer nd_xfer_datagram_gso = {
	.name = "gso",
	.help = "UDP_SEGMENT: several datagrams in one pass of the stack",
	.sends = true,
	.datagram = true,
	.one_way = true,
	.batch_max = MESSAGES,
	.open = open_gso,
	.close = close_gso,
	.move = move_gso,
};
