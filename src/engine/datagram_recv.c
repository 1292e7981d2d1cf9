/* SPDX-License-Identifier: MIT */
/* Datagrams by recvmmsg(), up to 64 in a call; one alone by recv(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/int.h"

enum { BATCH = 64 };

#define STAMPED_BYTES 16u /* shorter messages hold no send time */

struct datagram_recv {
	struct mmsghdr header[BATCH];
	struct iovec iov[BATCH], got[BATCH];

	/* kernel arrival times: the batch's own would add what the datagrams waited for us */
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct timespec))];
	} control[BATCH];

	uint64_t stamps[BATCH];
	bool stamped;
	uint8_t *room; /* owned */
	size_t slot;
	uint32_t batch;
};

static void close_recv(struct nd_io *io, unsigned lane)
{
	struct datagram_recv *d = io->rx_state[lane];

	if (d)
		free(d->room);
	nd_free_p(&io->rx_state[lane]);
}

/* For frames that hold a send time. Several flows: all of them or none. */
static bool stamp_arrivals(const struct nd_io *io, unsigned lane)
{
	const struct nd_lane *l = &io->lanes[lane];
	const int on = 1;
	uint32_t i;

	if (!l->frame->takes || l->load->round_trips || nd_lane_message(l) < STAMPED_BYTES)
		return false;
	for (i = 0; i < io->flow_count; i++)
		if (io->flows[i].workload == lane && !io->flows[i].active &&
		    setsockopt(io->flows[i].fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0)
			return false;
	return true;
}

static int open_recv(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	const struct nd_lane *l = &io->lanes[lane];
	struct datagram_recv *d;
	uint32_t i;

	if (!nd_lane_receives(io, lane))
		return 0;
	io->rx_state[lane] = d = calloc(1, sizeof(*d));
	if (!d)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	d->slot = nd_datagram_slot(l);
	d->batch = nd_datagram_batch(l, BATCH);
	d->room = nd_buffer_new(d->batch * d->slot);
	if (!d->room)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	for (i = 0; i < d->batch; i++) {
		d->iov[i] = (struct iovec){ d->room + i * d->slot, d->slot };
		d->header[i].msg_hdr = (struct msghdr){ .msg_iov = &d->iov[i], .msg_iovlen = 1 };
	}
	d->stamped = stamp_arrivals(io, lane);
	return 0;
}

static void want_stamps(struct datagram_recv *d, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		d->header[i].msg_hdr.msg_control = &d->control[i];
		d->header[i].msg_hdr.msg_controllen = sizeof(d->control[i]);
	}
}

static uint64_t stamp_of(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	struct timespec t = { 0 };

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
		memcpy(&t, CMSG_DATA(c), sizeof(t));
	return (uint64_t)t.tv_sec * ND_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Answers to our own datagrams (port unreachable and the like) end nothing: read on behind them. */
static int call_recv(struct nd_io *io, struct nd_flow *f, struct datagram_recv *d, uint32_t n)
{
	ssize_t r;

	if (d->stamped)
		want_stamps(d, n);
	do {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		if (n > 1 || d->stamped) {
			r = recvmmsg(f->fd, d->header, n,
				     io->recv_waits ? MSG_WAITFORONE : MSG_DONTWAIT, NULL);
		} else {
			r = recv(f->fd, d->room, d->slot, io->recv_waits ? 0 : MSG_DONTWAIT);
			d->header[0].msg_len = r < 0 ? 0 : (unsigned)r;
		}
	} while (r < 0 && (errno == EINTR || (errno != ENOMEM && nd_is_refusal(errno))));
	io->now_ns = nd_now_ns();
	if (r < 0)
		return -errno;
	return n > 1 || d->stamped ? (int)r : 1;
}

static int recv_copy(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct datagram_recv *d = io->rx_state[f->workload];
	uint32_t n = ND_MIN(f->step.count ? f->step.count : 1, d->batch), messages, i;
	struct nd_batch b = { .iov = d->got };
	uint64_t bytes = 0;
	int r = call_recv(io, f, d, n);

	b.now_ns = io->now_ns;
	b.stamp_ns = d->stamped ? d->stamps : NULL;
	if (r < 0) {
		f->readable = r != -EAGAIN;
		return r;
	}
	b.n = messages = (uint32_t)r;
	for (i = 0; i < b.n; i++) {
		d->got[i].iov_base = d->iov[i].iov_base;
		d->got[i].iov_len = d->header[i].msg_len;
		if (d->stamped)
			d->stamps[i] = stamp_of(&d->header[i].msg_hdr);
	}
	if (frame->take)
		messages = frame->take(&f->rx, &b, &f->c, &io->c[f->workload]);
	for (i = 0; i < b.n; i++)
		bytes += d->got[i].iov_len;
	ND_COUNT_FLOW(io, f, rx_messages, messages);
	ND_COUNT_FLOW(io, f, rx_bytes, bytes);
	ND_COUNT_FLOW(io, f, rx_stacked, b.n);
	if (b.n < n && !io->recv_waits)
		f->readable = false; /* it gave all it had */
	return r;
}

const struct nd_xfer nd_xfer_datagram_recv = {
	.name = "copy",
	.help = "recv() or recvmmsg()",
	.datagram = true,
	.batch_max = BATCH,
	.open = open_recv,
	.close = close_recv,
	.move = recv_copy,
};
