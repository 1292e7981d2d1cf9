/* SPDX-License-Identifier: MIT */
/* Datagrams by recvmmsg(), up to 64 in a call, one alone by recv(): whole, or only what the frame looks at. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/call.h"
#include "engine/datagram.h"

enum { BATCH = 64 };

struct datagram_recv {
	struct mmsghdr header[BATCH];
	struct iovec iov[BATCH], got[BATCH];
	/* kernel arrival times: the batch's own would add what the datagrams waited for us */
	union nd_dg_control control[BATCH];
	uint64_t stamps[BATCH];
	bool stamped;
	struct sockaddr_storage *from; /* owned: who sent what; NULL: nobody asks */
	uint8_t key[BATCH][ND_SENDER_KEY];
	uint8_t *room; /* owned */
	size_t slot, look;
	uint32_t batch;
	int flags;
};

static void close_recv(struct nd_io *io, unsigned lane)
{
	struct datagram_recv *d = io->rx_state[lane];

	if (!d)
		return;
	nd_dg_drops(io, lane);
	free(d->room);
	free(d->from);
	nd_free_p(&io->rx_state[lane]);
}

/* @look: bytes of a datagram that are wanted; 0: all. */
static int open_look(struct nd_io *io, unsigned lane, size_t look, struct nd_err *err)
{
	const struct nd_lane *l = &io->lanes[lane];
	struct datagram_recv *d;
	size_t apart;
	uint32_t i;

	if (!nd_lane_receives(io, lane))
		return 0;
	io->rx_state[lane] = d = calloc(1, sizeof(*d));
	if (!d)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	d->slot = look ? (look + 63) / 64 * 64 : nd_datagram_slot(l);
	d->look = look ? look : d->slot;
	d->flags = look ? MSG_TRUNC : 0; /* the length is told in full */
	d->batch = look || !l->frame->take ? BATCH : nd_datagram_batch(l, BATCH);
	/* what nobody looks at may all go to one place, which stays in a core's own cache */
	apart = l->frame->take ? d->slot : 0;
	d->room = nd_buffer_new(apart ? d->batch * d->slot : d->slot);
	if (l->workload->servers > 1)
		d->from = calloc(BATCH, sizeof(*d->from));
	if (!d->room || (l->workload->servers > 1 && !d->from))
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	for (i = 0; i < d->batch; i++) {
		d->iov[i] = (struct iovec){ d->room + i * apart, d->look };
		d->header[i].msg_hdr = (struct msghdr){ .msg_iov = &d->iov[i], .msg_iovlen = 1 };
	}
	d->stamped = nd_dg_stamp(io, lane);
	nd_dg_join_all(io, lane);
	return 0;
}

static int open_copy(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	return open_look(io, lane, 0, err);
}

static int open_trunc(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	return open_look(io, lane, ND_MAX(io->lanes[lane].frame->looks_bytes, 1u), err);
}

static int recv_one(struct nd_io *io, struct nd_flow *f, struct datagram_recv *d)
{
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		r = nd_call_recv(f->fd, d->room, d->look,
				 d->flags | (io->recv_waits ? 0 : MSG_DONTWAIT));
	} while (r < 0 &&
		 (nd_call_again(io->recv_waits) || (errno != ENOMEM && nd_is_refusal(errno))));
	d->header[0].msg_len = r < 0 ? 0 : (unsigned)r;
	r = r < 0 ? -errno : 1;
	nd_io_tried(io, r >= 0);
	if (r < 0)
		f->readable = r != -EAGAIN;
	return (int)r;
}

static int call_recv(struct nd_io *io, struct nd_flow *f, struct datagram_recv *d, uint32_t n)
{
	if (n == 1 && !d->stamped && !d->from)
		return recv_one(io, f, d);
	for (uint32_t i = 0; d->from && i < n; i++) {
		d->header[i].msg_hdr.msg_name = &d->from[i];
		d->header[i].msg_hdr.msg_namelen = sizeof(d->from[i]);
	}
	if (d->stamped)
		nd_dg_want(d->header, d->control, n);
	return nd_dg_recv(io, f, d->header, n, d->flags);
}

/* An empty datagram is a goodbye, if such were agreed upon: of @n those before it. */
static uint32_t before_goodbye(const struct nd_io *io, struct nd_flow *f,
			       const struct datagram_recv *d, uint32_t n)
{
	uint32_t i;

	if (!io->plan->goodbyes)
		return n;
	for (i = 0; i < n; i++) {
		if (d->header[i].msg_len == 0) {
			f->over = true;
			break;
		}
	}
	return i;
}

static int move_recv(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct datagram_recv *d = io->rx_state[f->workload];
	uint32_t n = ND_MIN(f->step.count ? f->step.count : 1, d->batch), messages, i;
	struct nd_batch b = { .iov = d->got };
	struct nd_dg_told told;
	uint64_t bytes = 0;
	int r = f->over ? 0 : call_recv(io, f, d, n);

	if (r <= 0)
		return r;
	b.now_ns = io->now_ns;
	b.stamp_ns = d->stamped ? d->stamps : NULL;
	b.key = d->from ? (const uint8_t(*)[ND_SENDER_KEY])d->key : NULL;
	b.n = messages = before_goodbye(io, f, d, (uint32_t)r);
	if (b.n == 0)
		return 0;
	for (i = 0; i < b.n; i++) {
		d->got[i].iov_base = d->iov[i].iov_base;
		d->got[i].iov_len = d->header[i].msg_len;
		if (d->stamped) {
			nd_dg_told(&d->header[i].msg_hdr, &told);
			d->stamps[i] = told.stamp_ns;
		}
		if (d->from)
			nd_dg_key(&d->from[i], d->key[i]);
	}
	if (frame->take)
		messages = frame->take(&f->rx, &b, &f->c, &io->c[f->workload]);
	for (i = 0; i < b.n; i++)
		bytes += d->got[i].iov_len;
	ND_COUNT_FLOW(io, f, rx_messages, messages);
	ND_COUNT_FLOW(io, f, rx_bytes, bytes);
	ND_COUNT_FLOW(io, f, rx_stacked, b.n);
	if (b.n < n && !io->recv_waits && !f->over)
		f->readable = false; /* it gave all it had */
	return r;
}

uint8_t *nd_dg_in(const struct nd_io *io, unsigned lane, size_t *ret_size)
{
	const struct datagram_recv *d = io->rx_state[lane];

	if (!d || d->stamped)
		return NULL;
	*ret_size = d->look;
	return d->room;
}

const struct nd_xfer nd_xfer_datagram_recv = {
	.name = "copy",
	.help = "recv() or recvmmsg()",
	.datagram = true,
	.batch_max = BATCH,
	.open = open_copy,
	.close = close_recv,
	.join = nd_dg_join,
	.move = move_recv,
};

const struct nd_xfer nd_xfer_datagram_trunc = {
	.name = "trunc",
	.help = "MSG_TRUNC: payload is dropped by the kernel",
	.datagram = true,
	.heads = true,
	.batch_max = BATCH,
	.open = open_trunc,
	.close = close_recv,
	.join = nd_dg_join,
	.move = move_recv,
};
