/* SPDX-License-Identifier: MIT */
/* Datagrams by sendmmsg(), up to 64 in a call; one alone by send(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "engine/datagram.h"

enum { BATCH = 64 };

struct datagram_send {
	struct mmsghdr header[BATCH];
	struct iovec iov[BATCH];
	uint8_t *room; /* owned; when each message has bytes of its own */
	size_t slot;
	uint32_t batch;
};

static void close_send(struct nd_io *io, unsigned lane)
{
	struct datagram_send *d = io->tx_state[lane];

	if (d)
		free(d->room);
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

static int call_send(struct nd_io *io, struct nd_flow *f, struct datagram_send *d, uint32_t n)
{
	/* tools whose sockets have no peer never hear that nobody listens: what a message hears was another's fate */
	bool deaf = io->plan->keep_samples;
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, tx_calls, 1);
		if (n > 1)
			r = sendmmsg(f->fd, d->header, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		else
			r = send(f->fd, d->iov[0].iov_base, d->iov[0].iov_len,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (r < 0 && (errno == EINTR || (deaf && errno == ECONNREFUSED)));
	io->now_ns = nd_now_ns();
	if (r < 0)
		return -errno;
	return n > 1 ? (int)r : 1;
}

static int send_copy(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct datagram_send *d = io->tx_state[f->workload];
	uint32_t left = (f->step.count ? f->step.count : 1) - f->done_count;
	uint32_t n = ND_MIN(left, d->batch), i, unsent;
	size_t bytes = (size_t)ND_MIN(f->step.bytes, d->slot);
	struct nd_batch b = { .iov = d->iov, .n = n, .now_ns = io->now_ns };
	int r;

	for (i = 0; i < n; i++)
		d->iov[i].iov_len = bytes;
	if (frame->fill)
		frame->fill(&f->tx, &b);
	r = call_send(io, f, d, n);
	unsent = r < 0 ? n : n - (uint32_t)r;
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
