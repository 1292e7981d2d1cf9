/* SPDX-License-Identifier: MIT */
/*
 * A worker's only flow that sends, or reads, a stream which goes one way: calls follow each other in one short loop, as
 * long as each is like the one before, and looks around are taken in between. With messages of 16 KiB the way through
 * load, step and turn was a hundredth of the CPU; with short ones it was more than the call. What is not like the one
 * before goes the way of all steps.
 */
#include <errno.h>

#include "base/fd.h"
#include "engine/call.h"
#include "engine/stream.h"

struct pour {
	uint64_t message; /* bytes of one send */
	uint64_t until_ns, from_ns;
	uint64_t n, bytes; /* calls and what they moved, not counted yet */
};

/* ---- may it begin? */

/* Nobody fills, or looks at, what goes over the wire, and it goes by plain copies. */
static bool is_plain(const struct nd_io *io, const struct nd_flow *f, uint64_t message)
{
	const struct nd_lane *l = nd_lane_of(io, f);

	if (l->frame->fills || l->frame->take || l->workload->skips)
		return false;
	return f->active ? l->tx == &nd_xfer_stream_send && message <= io->tx_size[f->workload]
			 : l->rx == &nd_xfer_stream_recv;
}

static bool stands_before_one(const struct nd_flow *f)
{
	if (f->state != ND_FLOW_READY || f->begun_ns || f->done_bytes || !f->first_ns ||
	    f->step.until_ns || f->step.last)
		return false;
	return f->active ? f->step.op == ND_OP_SEND && f->first_sent && f->writable
			 : f->step.op == ND_OP_RECV && !f->step.bytes && f->readable && !f->hup;
}

static bool begin(const struct nd_io *io, const struct nd_flow *f, struct pour *p)
{
	const struct nd_lane *l = nd_lane_of(io, f);
	struct nd_cycle c;

	if (!l->load->repeats || io->quit || !io->one_way || !nd_io_may_wait(io, f) ||
	    !stands_before_one(f) || !l->load->repeats(f->load, &c) || !c.one_way ||
	    !is_plain(io, f, c.tx))
		return false;
	*p = (struct pour){ .message = c.tx,
			    .until_ns = ND_MIN(io->look_ns, io->edge_ns),
			    .from_ns = io->now_ns };
	return true;
}

/* ---- the loops: true when it is time to look around */

static void count_sent(struct nd_io *io, struct nd_flow *f, struct pour *p)
{
	ND_COUNT_FLOW(io, f, tx_calls, p->n);
	ND_COUNT_FLOW(io, f, tx_messages, p->n);
	ND_COUNT_FLOW(io, f, tx_bytes, p->n * p->message);
	if (p->n > 0)
		f->last_ns = io->now_ns;
}

/* A call that has sent less than a message, or failed, with @r. */
static void not_sent(struct nd_io *io, struct nd_flow *f, const struct pour *p, ssize_t r)
{
	int code = r < 0 ? errno : 0;

	f->begun_ns = p->from_ns;
	ND_COUNT_FLOW(io, f, tx_calls, 1);
	if (r < 0) {
		code = nd_stream_refused(io, f, code == EINTR ? EAGAIN : code);
		if (code == -EAGAIN)
			f->state = ND_FLOW_BLOCKED;
		else
			(void)nd_flow_broken(io, f, code); /* the flow's state says the rest */
		return;
	}
	(void)nd_stream_sent(io, f, (size_t)p->message, (size_t)r); /* always 1 */
	nd_flow_payload(f, io->now_ns);
	nd_flow_sent(io, f);
}

static bool send_on(struct nd_io *io, struct nd_flow *f, struct pour *p)
{
	const uint8_t *at = io->tx_buf[f->workload];
	ssize_t r;

	for (;;) {
		r = nd_call_send(f->fd, at, (size_t)p->message, MSG_NOSIGNAL);
		if (r != (ssize_t)p->message)
			break;
		p->n++;
		p->from_ns = io->now_ns;
		io->now_ns = nd_io_clock(io);
		if (io->now_ns >= p->until_ns) {
			count_sent(io, f, p);
			return true;
		}
	}
	count_sent(io, f, p);
	p->from_ns = io->now_ns;
	io->now_ns = nd_io_clock(io);
	not_sent(io, f, p, r);
	return false;
}

static void count_read(struct nd_io *io, struct nd_flow *f, const struct pour *p)
{
	ND_COUNT_FLOW(io, f, rx_calls, p->n);
	ND_COUNT_FLOW(io, f, rx_messages, p->n);
	ND_COUNT_FLOW(io, f, rx_bytes, p->bytes);
	if (p->n > 0)
		f->last_ns = io->now_ns;
}

/* A call has found nothing within its time, or the end, which the step will find once more. */
static void not_read(struct nd_io *io, struct nd_flow *f, ssize_t r)
{
	int code = r < 0 ? errno : 0;

	if (r == 0)
		return;
	ND_COUNT_FLOW(io, f, rx_calls, 1);
	if (code == EAGAIN || code == EINTR)
		(void)nd_stream_empty(io, f, EAGAIN); /* the flow's state says the rest */
	else
		(void)nd_flow_broken(io, f, -code); /* likewise */
}

static bool read_on(struct nd_io *io, struct nd_flow *f, struct pour *p)
{
	size_t size;
	uint8_t *room = nd_stream_room(io, f->workload, &size);
	ssize_t r;

	for (;;) {
		r = nd_call_recv(f->fd, room, size, 0);
		if (r <= 0)
			break;
		p->n++;
		p->bytes += (uint64_t)r;
		p->from_ns = io->now_ns;
		io->now_ns = nd_io_clock(io);
		if (io->now_ns >= p->until_ns) {
			count_read(io, f, p);
			return true;
		}
	}
	count_read(io, f, p);
	io->now_ns = nd_io_clock(io);
	not_read(io, f, r);
	return false;
}

void nd_flow_pour(struct nd_io *io, struct nd_flow *f)
{
	struct pour p;

	while (begin(io, f, &p)) {
		bool due = f->active ? send_on(io, f, &p) : read_on(io, f, &p);

		if (!due)
			return;
		nd_io_look(io, p.from_ns);
	}
}
