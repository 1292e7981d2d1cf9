/* SPDX-License-Identifier: MIT */
/*
 * A worker's only flow that asks, or answers, whole messages over a stream, one at a time: exchanges follow each other in
 * one short loop, as long as each is like the one before and nothing else is due. Between two exchanges the kernel has
 * pushed most of this program out of the nearest cache, so that it is lines of code that cost, not instructions. What is
 * not a whole message goes the way of all steps, from where it stands.
 */
#include <errno.h>
#include <sys/socket.h>

#include "engine/call.h"
#include "engine/stream.h"

struct exchange {
	struct nd_cycle bytes;
	const uint8_t *tx;
	uint8_t *rx;
	struct nd_hist *rtt, *interval; /* or NULL */
	uint64_t until_ns;
	uint64_t n;               /* done, not counted yet */
	uint64_t empty;           /* calls that found nothing, likewise */
	uint64_t sent_ns, now_ns; /* in front of the last send; behind what came last */
	unsigned spins;
	int flags;   /* of calls to receive */
	bool coarse; /* see struct nd_io */
};

/* Are the steps to come the same over and over, and is nothing due before the next look around? */
static bool begin(const struct nd_io *io, const struct nd_flow *f, struct exchange *x)
{
	const struct nd_lane *l = nd_lane_of(io, f);
	bool waits = l->load->repeats && nd_io_may_wait(io, f);
	size_t room = 0;

	if (!l->load->repeats || !(waits || io->spins) || l->tx != &nd_xfer_stream_send ||
	    l->rx != &nd_xfer_stream_recv || l->frame->fills || l->frame->take)
		return false;
	if (f->begun_ns || f->done_bytes || !f->first_sent || !f->first_ns || !f->readable ||
	    !f->writable || f->step.op != (f->active ? ND_OP_SEND : ND_OP_RECV))
		return false;
	if (f->step.until_ns || !l->load->repeats(f->load, &x->bytes))
		return false;
	x->tx = io->tx_buf[f->workload];
	x->rx = nd_stream_room(io, f->workload, &room);
	x->rtt = io->rtt[f->workload];
	x->interval = io->interval[f->workload];
	x->until_ns = ND_MIN(io->look_ns, io->edge_ns);
	x->now_ns = io->now_ns;
	x->spins = io->spins ? ND_SPINS : 0;
	x->flags = waits ? 0 : MSG_DONTWAIT;
	x->coarse = io->coarse;
	return x->bytes.tx <= io->tx_size[f->workload] && x->bytes.rx <= room;
}

static void count(struct nd_io *io, struct nd_flow *f, const struct exchange *x)
{
	ND_COUNT_FLOW(io, f, tx_calls, x->n);
	ND_COUNT_FLOW(io, f, tx_messages, x->n);
	ND_COUNT_FLOW(io, f, tx_bytes, x->n * x->bytes.tx);
	ND_COUNT_FLOW(io, f, rx_calls, x->n + x->empty);
	ND_COUNT_FLOW(io, f, rx_messages, x->n);
	ND_COUNT_FLOW(io, f, rx_bytes, x->n * x->bytes.rx);
	if (f->active)
		ND_COUNT_FLOW(io, f, transactions, x->n);
	if (x->n > 0)
		f->last_ns = x->now_ns;
	io->now_ns = x->now_ns;
}

static inline uint64_t clock_of(const struct exchange *x)
{
	struct timespec t;
	uint64_t ns;

	(void)clock_gettime(x->coarse ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC, &t); /* valid */
	ns = (uint64_t)t.tv_sec * ND_NS_PER_S + (uint64_t)t.tv_nsec;
	return ND_MAX(ns, x->now_ns);
}

/* Return: as recv(). */
static inline ssize_t hear(int fd, struct exchange *x)
{
	unsigned left = x->spins;
	ssize_t r;

	for (;;) {
		r = nd_call_recv(fd, x->rx, x->bytes.rx, x->flags);
		if (r >= 0 || errno != EAGAIN || left-- == 0)
			return r;
		x->empty++;
	}
}

static inline ssize_t say(int fd, const struct exchange *x)
{
	return nd_call_send(fd, x->tx, x->bytes.tx, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A call to receive that gave no whole message. */
static void heard_less(struct nd_io *io, struct nd_flow *f, ssize_t r)
{
	int code = r < 0 ? errno : 0;

	ND_COUNT_FLOW(io, f, rx_calls, 1);
	if (r > 0)
		(void)nd_stream_received(io, f, (size_t)r); /* always 1 */
	else if (code == EAGAIN || code == EINTR)
		f->readable = false;
	else if (code)
		(void)nd_flow_broken(io, f, -code); /* the flow's state says the rest */
}

static void said_less(struct nd_io *io, struct nd_flow *f, ssize_t r, size_t n)
{
	int code = r < 0 ? errno : 0;

	ND_COUNT_FLOW(io, f, tx_calls, 1);
	if (r >= 0)
		(void)nd_stream_sent(io, f, n, (size_t)r); /* always 1 */
	else if (code == EAGAIN)
		(void)nd_stream_refused(io, f, code); /* likewise -EAGAIN */
	else if (code != EINTR)
		(void)nd_flow_broken(io, f, -code); /* the flow's state says the rest */
}

static void ask(struct nd_io *io, struct nd_flow *f, struct exchange *x)
{
	const int fd = f->fd;
	ssize_t sent, r = 0;

	for (;;) {
		x->sent_ns = x->coarse ? x->now_ns : clock_of(x);
		sent = say(fd, x);
		if (sent != (ssize_t)x->bytes.tx)
			break;
		r = hear(fd, x);
		if (r != (ssize_t)x->bytes.rx)
			break;
		x->now_ns = clock_of(x);
		x->n++;
		if (x->rtt)
			nd_hist_record(x->rtt, x->now_ns - x->sent_ns);
		if (x->interval)
			nd_hist_record(x->interval, x->now_ns - x->sent_ns);
		if (x->now_ns >= x->until_ns) {
			count(io, f, x);
			return;
		}
	}
	count(io, f, x);
	f->begun_ns = io->now_ns = x->sent_ns;
	said_less(io, f, sent, x->bytes.tx);
	if (sent != (ssize_t)x->bytes.tx)
		return;
	nd_flow_sent(io, f);
	heard_less(io, f, r);
}

static void answer(struct nd_io *io, struct nd_flow *f, struct exchange *x)
{
	struct nd_event ev = { .what = ND_HAP_RECEIVED, .count = 1, .bytes = x->bytes.rx };
	const int fd = f->fd;
	ssize_t r, sent = 0;

	for (;;) {
		r = hear(fd, x);
		if (r != (ssize_t)x->bytes.rx)
			break;
		x->now_ns = clock_of(x);
		sent = say(fd, x);
		if (sent != (ssize_t)x->bytes.tx)
			break;
		x->n++;
		if (x->now_ns >= x->until_ns) {
			count(io, f, x);
			return;
		}
	}
	count(io, f, x);
	heard_less(io, f, r);
	if (r != (ssize_t)x->bytes.rx)
		return;
	ev.now_ns = io->now_ns;
	nd_flow_tell(io, f, &ev);
	f->begun_ns = io->now_ns;
	said_less(io, f, sent, x->bytes.tx);
}

void nd_flow_exchange(struct nd_io *io, struct nd_flow *f)
{
	struct exchange x = { 0 };

	if (!begin(io, f, &x))
		return;
	if (f->active)
		ask(io, f, &x);
	else
		answer(io, f, &x);
}
