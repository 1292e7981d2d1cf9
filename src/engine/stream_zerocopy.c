/* SPDX-License-Identifier: MIT */
/*
 * Streams by send() with MSG_ZEROCOPY: the kernel sends our pages and tells on the socket's error
 * queue when it needs them no more, and whether it copied them after all (as it does on loopback).
 * The pages never change, so none of them has to be waited for before it is sent again. /
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
/* clang-format off: it uses what stands above it */
#include <linux/errqueue.h>
/* clang-format on */

#include "base/fd.h"
#include "engine/stream.h"

#define LOOK_EVERY \
	32u /* sends between two looks at the error queue: the kernel merges its messages */

struct own {              /* per flow */
	uint32_t pending; /* sends whose end has not been told */
	uint32_t look_at; /* of them: it is time to look */
	bool woken;       /* the socket was full: an event may have been for the error queue */
};

struct zerocopy {
	struct nd_source source;
	struct own *own; /* owned: one for each slot */
};

static void close_zerocopy(struct nd_io *io, unsigned lane)
{
	struct zerocopy *z = io->tx_state[lane];

	if (!z)
		return;
	nd_source_close(&z->source);
	free(z->own);
	nd_free_p(&io->tx_state[lane]);
}

static int allow(const struct nd_io *io, unsigned lane, struct nd_err *err)
{
	int one = 1;
	uint32_t i;

	for (i = 0; i < io->flow_count; i++) {
		const struct nd_flow *f = &io->flows[i];

		if (f->workload != lane || f->fd < 0)
			continue;
		if (setsockopt(f->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) < 0)
			return nd_sysfail(err, "--tx zerocopy: this socket does not do it");
	}
	return 0;
}

static int open_zerocopy(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct zerocopy *z;

	if (!nd_lane_sends(io, lane))
		return 0;
	io->tx_state[lane] = z = calloc(1, sizeof(*z));
	if (z)
		z->own = calloc(nd_io_room(io), sizeof(*z->own));
	if (!z || !z->own || nd_source_open(&z->source, io, lane) < 0)
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	return allow(io, lane, err);
}

/* One message tells of a run of sends. */
static void take_note(struct nd_io *io, struct nd_flow *f, struct own *o, const struct cmsghdr *c)
{
	struct sock_extended_err e;
	uint32_t n;

	if (c->cmsg_len < CMSG_LEN(sizeof(e)) ||
	    !((c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) ||
	      (c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR)))
		return;
	memcpy(&e, CMSG_DATA(c), sizeof(e));
	if (e.ee_origin != SO_EE_ORIGIN_ZEROCOPY || e.ee_errno != 0)
		return;
	n = e.ee_data - e.ee_info + 1;
	o->pending -= ND_MIN(n, o->pending);
	ND_COUNT_FLOW(io, f, tx_zerocopy, n);
	if (e.ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		ND_COUNT_FLOW(io, f, tx_copied, n);
}

/* Return: true when something was told. */
static bool look(struct nd_io *io, struct nd_flow *f, struct own *o)
{
	char control[256];
	bool any = false;

	while (o->pending) {
		struct msghdr m = { .msg_control = control, .msg_controllen = sizeof(control) };
		struct cmsghdr *c;

		if (recvmsg(f->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
			take_note(io, f, o, c);
		any = true;
	}
	o->woken = false;
	o->look_at = o->pending + LOOK_EVERY;
	return any;
}

static uint32_t pending(struct nd_io *io, struct nd_flow *f)
{
	struct zerocopy *z = io->tx_state[f->workload];
	struct own *o = z ? &z->own[f - io->flows] : NULL;

	if (!o || !o->pending)
		return 0;
	(void)look(io, f, o);
	return o->pending;
}

/* The kernel limits the pages, and the messages about them, that a socket may have: when they
 * are used up something will be told, and until then nothing is sent. */
static ssize_t send_some(struct nd_io *io, struct nd_flow *f, struct own *o, const uint8_t *at,
			 size_t n)
{
	int flags = MSG_NOSIGNAL | MSG_DONTWAIT | MSG_ZEROCOPY;
	ssize_t r;

	for (;;) {
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		r = send(f->fd, at, n, flags);
		if (r >= 0 || (errno != EINTR && errno != ENOBUFS))
			break;
		if (errno != ENOBUFS || look(io, f, o))
			continue;
		errno = EAGAIN;
		if (o->pending || !(flags & MSG_ZEROCOPY))
			break;
		flags &= ~MSG_ZEROCOPY; /* not even one is allowed */
	}
	if (r >= 0 && (flags & MSG_ZEROCOPY))
		o->pending++;
	return r;
}

static int send_zerocopy(struct nd_io *io, struct nd_flow *f)
{
	struct zerocopy *z = io->tx_state[f->workload];
	struct own *o = &z->own[f - io->flows];
	size_t from, n = nd_stream_piece(f, z->source.size, &from);
	ssize_t r;
	int code;

	if (o->woken || o->pending >= ND_MAX(o->look_at, LOOK_EVERY))
		(void)look(io, f, o);
	r = send_some(io, f, o, z->source.at + from, n);
	code = errno;
	io->now_ns = nd_now_ns();
	o->woken = r < (ssize_t)n;
	return r < 0 ? nd_stream_refused(io, f, code) : nd_stream_sent(io, f, n, (size_t)r);
}

const struct nd_xfer nd_xfer_stream_zerocopy = {
	.name = "zerocopy",
	.help = "MSG_ZEROCOPY: the kernel sends our pages, or says that it copied them",
	.sends = true,
	.stream = true,
	.blind = true, /* what is sent may not be changed before it is told */
	.open = open_zerocopy,
	.close = close_zerocopy,
	.move = send_zerocopy,
	.pending = pending,
};
