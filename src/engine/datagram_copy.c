/* SPDX-License-Identifier: MIT */
/* Datagrams by sendmmsg() and recvmmsg(), up to 64 in a call; one alone by send() and recv(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/int.h"

enum { BATCH = 64 };

#define STAMPED_BYTES 16u /* shorter messages hold no send time */
#define ROOM_BYTES    (4ull << 20)

struct datagram_copy {
	struct mmsghdr tx[BATCH], rx[BATCH];
	struct iovec tx_iov[BATCH], rx_iov[BATCH], got[BATCH];

	/* kernel arrival times: the batch's own would add what the datagrams waited for us */
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct timespec))];
	} control[BATCH];

	uint64_t stamps[BATCH];
	bool stamped;
	uint8_t *tx_room, *rx_room; /* owned; tx_room when each message has bytes of its own */
	size_t slot;
	uint32_t batch;
};

static void close_copy(struct nd_io *io, unsigned lane)
{
	struct datagram_copy *d = io->xfer_state[lane];

	if (!d)
		return;
	free(d->tx_room);
	free(d->rx_room);
	free(d);
	io->xfer_state[lane] = NULL;
}

static void point(struct datagram_copy *d, const struct nd_io *io, unsigned lane)
{
	uint32_t i;

	for (i = 0; i < BATCH; i++) {
		d->tx[i].msg_hdr = (struct msghdr){ .msg_iov = &d->tx_iov[i], .msg_iovlen = 1 };
		d->rx[i].msg_hdr = (struct msghdr){ .msg_iov = &d->rx_iov[i], .msg_iovlen = 1 };
		/* const there, and sendmmsg() does not write through it */
		memcpy(&d->tx_iov[i].iov_base, &io->tx_buf[lane], sizeof(void *));
		if (i >= d->batch)
			continue;
		if (d->tx_room)
			d->tx_iov[i].iov_base = d->tx_room + i * d->slot;
		if (d->rx_room)
			d->rx_iov[i].iov_base = d->rx_room + i * d->slot;
		d->rx_iov[i].iov_len = d->slot;
	}
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

static int open_copy(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	const struct nd_lane *l = &io->lanes[lane];
	struct datagram_copy *d = calloc(1, sizeof(*d));
	uint64_t message = ND_MIN(nd_lane_message(l), ND_MAX_DATAGRAM);
	bool ok = true;

	if (!d)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	io->xfer_state[lane] = d;
	d->slot = nd_datagram_slot(l);
	d->batch = (uint32_t)ND_MIN((uint64_t)BATCH, ROOM_BYTES / d->slot);
	if (nd_lane_receives(io, lane))
		ok = (d->rx_room = nd_buffer_new(d->batch * d->slot)) != NULL;
	if (ok && nd_lane_sends(io, lane) && (l->frame->fills || io->tx_size[lane] < message)) {
		ok = (d->tx_room = nd_buffer_new(d->batch * d->slot)) != NULL;
		if (ok)
			l->frame->prepare(d->tx_room, d->batch * d->slot, io->plan->payload,
					  nd_now_ns());
	}
	if (!ok) {
		close_copy(io, lane);
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	}
	d->stamped = d->rx_room && stamp_arrivals(io, lane);
	point(d, io, lane);
	return 0;
}

static int call_send(struct nd_io *io, struct nd_flow *f, struct datagram_copy *d, uint32_t n)
{
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		if (n > 1)
			r = sendmmsg(f->fd, d->tx, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		else
			r = send(f->fd, d->tx_iov[0].iov_base, d->tx_iov[0].iov_len,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (r < 0 && errno == EINTR);
	io->now_ns = nd_now_ns();
	if (r < 0)
		return -errno;
	return n > 1 ? (int)r : 1;
}

static int not_sent(struct nd_io *io, struct nd_flow *f, int code)
{
	if (code == -EAGAIN) {
		f->writable = false;
		ND_COUNT_FLOW(io, f, tx_blocked, 1);
		return -EAGAIN;
	}
	if (!nd_is_refusal(-code))
		return code;
	ND_COUNT_FLOW(io, f, tx_refused, 1);
	f->done_count++; /* offered once, not again */
	return 1;
}

static int send_copy(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct datagram_copy *d = io->xfer_state[f->workload];
	uint32_t left = (f->step.count ? f->step.count : 1) - f->done_count;
	uint32_t n = ND_MIN(left, d->batch), i, unsent;
	size_t bytes = (size_t)ND_MIN(f->step.bytes, d->slot);
	struct nd_batch b = { .iov = d->tx_iov, .n = n, .now_ns = io->now_ns };
	int r;

	for (i = 0; i < n; i++)
		d->tx_iov[i].iov_len = bytes;
	if (frame->fill)
		frame->fill(&f->tx, &b);
	r = call_send(io, f, d, n);
	unsent = r < 0 ? n : n - (uint32_t)r;
	if (unsent && frame->unfill)
		frame->unfill(&f->tx, unsent);
	if (r < 0)
		return not_sent(io, f, r);
	f->done_count += (uint32_t)r;
	ND_COUNT_FLOW(io, f, tx_messages, (uint64_t)r);
	ND_COUNT_FLOW(io, f, tx_bytes, (uint64_t)r * bytes);
	return r;
}

static void want_stamps(struct datagram_copy *d, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		d->rx[i].msg_hdr.msg_control = &d->control[i];
		d->rx[i].msg_hdr.msg_controllen = sizeof(d->control[i]);
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
static int call_recv(struct nd_io *io, struct nd_flow *f, struct datagram_copy *d, uint32_t n)
{
	ssize_t r;

	if (d->stamped)
		want_stamps(d, n);
	do {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		if (n > 1 || d->stamped) {
			r = recvmmsg(f->fd, d->rx, n,
				     io->recv_waits ? MSG_WAITFORONE : MSG_DONTWAIT, NULL);
		} else {
			r = recv(f->fd, d->rx_room, d->slot, io->recv_waits ? 0 : MSG_DONTWAIT);
			d->rx[0].msg_len = r < 0 ? 0 : (unsigned)r;
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
	struct datagram_copy *d = io->xfer_state[f->workload];
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
		d->got[i].iov_base = d->rx_iov[i].iov_base;
		d->got[i].iov_len = d->rx[i].msg_len;
		if (d->stamped)
			d->stamps[i] = stamp_of(&d->rx[i].msg_hdr);
	}
	if (frame->take)
		messages = frame->take(&f->rx, &b, &f->c, &io->c[f->workload]);
	for (i = 0; i < b.n; i++)
		bytes += d->got[i].iov_len;
	ND_COUNT_FLOW(io, f, rx_messages, messages);
	ND_COUNT_FLOW(io, f, rx_bytes, bytes);
	if (b.n < n && !io->recv_waits)
		f->readable = false; /* it gave all it had */
	return r;
}

const struct nd_xfer nd_xfer_datagram_copy = {
	.name = "copy",
	.help = "sendmmsg() and recvmmsg()",
	.datagram = true,
	.batch_max = BATCH,
	.open = open_copy,
	.close = close_copy,
	.send = send_copy,
	.recv = recv_copy,
};
