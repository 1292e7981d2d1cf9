/* SPDX-License-Identifier: MIT */
/* Datagrams by sendmmsg(), up to 64 in a call; one alone by sendto(): over connected sockets, or over others. */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/call.h"
#include "engine/datagram.h"

enum { BATCH = 64 };

struct datagram_send {
	struct mmsghdr header[BATCH];
	struct iovec iov[BATCH];
	uint8_t *room; /* owned; when each message has bytes of its own */
	size_t slot;
	uint32_t batch;
	struct nd_addr *peers;    /* owned: by flow, .len 0: its socket knows; NULL: all do */
	const struct nd_addr *to; /* where the headers go; NULL: to the socket's own */
};

static void close_send(struct nd_io *io, unsigned lane)
{
	struct datagram_send *d = io->tx_state[lane];

	if (d) {
		free(d->room);
		free(d->peers);
	}
	nd_free_p(&io->tx_state[lane]);
}

static void point(struct datagram_send *d, const struct nd_io *io, unsigned lane)
{
	uint32_t i;

	for (i = 0; i < BATCH; i++) {
		d->header[i].msg_hdr = (struct msghdr){ .msg_iov = &d->iov[i], .msg_iovlen = 1 };
		/* const there, and sendmmsg() does not write through it */
		memcpy(&d->iov[i].iov_base, &io->tx_buf[lane], sizeof(void *));
		if (d->room && i < d->batch)
			d->iov[i].iov_base = d->room + i * d->slot;
	}
}

static int open_send(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	const struct nd_lane *l = &io->lanes[lane];
	struct datagram_send *d;

	if (!nd_lane_sends(io, lane))
		return 0;
	io->tx_state[lane] = d = calloc(1, sizeof(*d));
	if (!d)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	d->slot = nd_datagram_slot(l);
	d->batch = nd_datagram_batch(l, BATCH);
	if (l->frame->fills || io->tx_size[lane] < ND_MIN(nd_lane_message(l), ND_MAX_DATAGRAM)) {
		d->room = nd_buffer_new(d->batch * d->slot);
		if (!d->room)
			return nd_fail(err, -ENOMEM, "no memory for datagrams");
		l->frame->prepare(d->room, d->batch * d->slot, io->plan->payload, nd_now_ns());
	}
	point(d, io, lane);
	return 0;
}

/* ---- sockets without a peer */

/* A socket forgets its peer, but neither its address and port, which the kernel may have chosen for that peer, nor
 * its device. */
static int disconnect(int fd)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct nd_addr was = { .len = sizeof(was.u) }, is = { .len = sizeof(is.u) };
	char device[IF_NAMESIZE] = "";
	socklen_t len = sizeof(device);

	if (getsockname(fd, &was.u.sa, &was.len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &len) < 0 ||
	    connect(fd, &none, sizeof(none)) < 0)
		return -errno;
	if (len > 0 && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, len) < 0)
		return -errno;
	if (getsockname(fd, &is.u.sa, &is.len) < 0)
		return -errno;
	if (nd_addr_port(&is) != nd_addr_port(&was) && bind(fd, &was.u.sa, was.len) < 0)
		return -errno;
	return 0;
}

/* Those that answer keep theirs: it is what brings each the datagrams of its own peer. */
static bool forgets(const struct nd_io *io, uint32_t i, unsigned lane)
{
	return io->flows[i].workload == lane && io->flows[i].active && io->flows[i].fd >= 0;
}

/* Those that send to a group never had one: a socket of IPv6 does not forget it altogether, and hears nobody else. */
static int ask_peer(const struct nd_io *io, const struct nd_flow *f, struct nd_addr *ret)
{
	if (getpeername(f->fd, &ret->u.sa, &ret->len) == 0)
		return 0;
	if (errno != ENOTCONN || !io->peer)
		return -1;
	io->peer(io, f, ret);
	return 0;
}

static int open_apart(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct datagram_send *d;
	int r = open_send(io, lane, err);
	uint32_t i;

	d = io->tx_state[lane];
	if (r < 0 || !d)
		return r;
	d->peers = calloc(nd_io_room(io), sizeof(*d->peers));
	if (!d->peers)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	for (i = 0; i < io->flow_count; i++) { /* of all first: two flows may share a socket */
		d->peers[i].len = forgets(io, i, lane) ? sizeof(d->peers[i].u) : 0;
		if (d->peers[i].len && ask_peer(io, &io->flows[i], &d->peers[i]) < 0)
			return nd_sysfail(err, "asking a socket for its peer");
	}
	for (i = 0; r == 0 && i < io->flow_count; i++)
		if (d->peers[i].len && !nd_is_multicast(&d->peers[i]))
			r = disconnect(io->flows[i].fd);
	errno = -r;
	return r < 0 ? nd_sysfail(err, "disconnecting a socket from its peer") : 0;
}

/* The headers of a lane serve all of its flows. */
static const struct nd_addr *aim(const struct nd_io *io, const struct nd_flow *f,
				 struct datagram_send *d)
{
	const struct nd_addr *to = d->peers ? &d->peers[f - io->flows] : NULL;
	uint32_t i;

	if (to && to->len == 0)
		to = NULL;
	for (i = 0; to != d->to && i < BATCH; i++) {
		/* const here, and sendmmsg() does not write through it */
		memcpy(&d->header[i].msg_hdr.msg_name, &to, sizeof(void *));
		d->header[i].msg_hdr.msg_namelen = to ? to->len : 0;
	}
	return d->to = to;
}

/* ---- sending */

static int call_send(struct nd_io *io, struct nd_flow *f, struct datagram_send *d, uint32_t n)
{
	const struct nd_addr *to = aim(io, f, d);
	/* tools whose sockets have no peer never hear that nobody listens: what a message hears was another's fate */
	bool deaf = io->plan->keep_samples;
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		if (n > 1)
			r = sendmmsg(f->fd, d->header, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		else
			r = nd_call_sendto(f->fd, &d->iov[0], MSG_NOSIGNAL | MSG_DONTWAIT,
					   to ? &to->u.sa : NULL, to ? to->len : 0);
	} while (r < 0 && (errno == EINTR || (deaf && errno == ECONNREFUSED)));
	if (r < 0)
		r = -errno;
	nd_io_sent(io);
	if (r < 0)
		return (int)r;
	return n > 1 ? (int)r : 1;
}

int nd_dg_sent(struct nd_io *io, struct nd_flow *f, int r, uint32_t n, size_t bytes)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	uint32_t unsent = r < 0 ? n : n - (uint32_t)r;

	if (unsent && frame->unfill)
		frame->unfill(&f->tx, unsent);
	if (r < 0)
		return nd_dg_not_sent(io, f, r, 1);
	f->done_count += (uint32_t)r;
	ND_COUNT_FLOW(io, f, tx_messages, (uint64_t)r);
	ND_COUNT_FLOW(io, f, tx_bytes, (uint64_t)r * bytes);
	ND_COUNT_FLOW(io, f, tx_stacked, (uint64_t)r);
	return r;
}

static int send_copy(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct datagram_send *d = io->tx_state[f->workload];
	uint32_t left = (f->step.count ? f->step.count : 1) - f->done_count;
	uint32_t n = ND_MIN(left, d->batch), i;
	size_t bytes = (size_t)ND_MIN(f->step.bytes, d->slot);
	struct nd_batch b = { .iov = d->iov, .n = n, .now_ns = io->now_ns };

	for (i = 0; i < n; i++)
		d->iov[i].iov_len = bytes;
	if (frame->fill)
		frame->fill(&f->tx, &b);
	return nd_dg_sent(io, f, call_send(io, f, d, n), n, bytes);
}

uint8_t *nd_dg_out(const struct nd_io *io, unsigned lane, size_t *ret_size)
{
	const struct datagram_send *d = io->tx_state[lane];

	*ret_size = d ? d->slot : 0;
	return d ? d->iov[0].iov_base : NULL;
}

const struct nd_xfer nd_xfer_datagram_send = {
	.name = "copy",
	.help = "send() or sendmmsg()",
	.sends = true,
	.datagram = true,
	.batch_max = BATCH,
	.open = open_send,
	.close = close_send,
	.move = send_copy,
};

const struct nd_xfer nd_xfer_datagram_sendto = {
	.name = "sendto",
	.help = "sendto() or sendmmsg() over unconnected sockets",
	.sends = true,
	.datagram = true,
	.batch_max = BATCH,
	.open = open_apart,
	.close = close_send,
	.move = send_copy,
};
