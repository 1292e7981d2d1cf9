/* SPDX-License-Identifier: MIT */
/*
 * A worker's only flow that asks, or answers, whole messages, one at a time: exchanges follow each other in one short
 * loop, as long as each is like the one before, and looks around are taken in between. Between two exchanges the kernel
 * has pushed most of this program out of the nearest cache, so that it is lines of code that cost, not instructions.
 * What is not a whole message, or not the one that was waited for, goes the way of all steps, from where it stands.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/call.h"
#include "engine/datagram.h"
#include "engine/stream.h"

struct exchange {
	struct nd_cycle bytes;
	struct iovec tx;
	uint8_t *rx;
	size_t room;                    /* to ask the socket for */
	const struct nd_frame *fill;    /* its fill() is called in front of a send; or NULL */
	const struct nd_frame *take;    /* its take() behind what came; or NULL */
	struct nd_hist *rtt, *interval; /* or NULL */
	uint64_t until_ns;
	uint64_t n;     /* done, not counted yet */
	uint64_t empty; /* calls that found nothing, likewise */
	uint64_t sent_ns,
		now_ns; /* in front of the last send, or exchange; behind what came last */
	uint32_t got;   /* messages that the frame found in what came last; 1 where none looks */
	unsigned spins;
	int flags;     /* of calls to receive */
	bool datagram; /* messages are */
	bool is_taken; /* the frame has seen what came last */
	bool coarse;   /* see struct nd_io */
};

/* ---- may it begin? */

static void send_from(struct exchange *x, const uint8_t *at)
{
	memcpy(&x->tx.iov_base, &at, sizeof(at)); /* a frame that fills has room of its own */
	x->tx.iov_len = (size_t)x->bytes.tx;
}

static bool find_stream(const struct nd_io *io, const struct nd_flow *f, struct exchange *x)
{
	const struct nd_lane *l = nd_lane_of(io, f);
	size_t size;

	send_from(x, nd_stream_out(io, f->workload, &size));
	x->rx = nd_stream_room(io, f->workload, &x->room);
	x->fill = l->frame->fills ? l->frame : NULL;
	if (x->bytes.tx > size || x->bytes.rx > x->room)
		return false;
	x->room = (size_t)x->bytes.rx;
	return l->tx == &nd_xfer_stream_send && l->rx == &nd_xfer_stream_recv;
}

static bool find_datagram(const struct nd_io *io, const struct nd_flow *f, struct exchange *x)
{
	const struct nd_lane *l = nd_lane_of(io, f);
	size_t size;

	if (l->tx != &nd_xfer_datagram_send || l->rx != &nd_xfer_datagram_recv ||
	    io->gap[f->workload])
		return false;
	send_from(x, nd_dg_out(io, f->workload, &size));
	x->rx = nd_dg_in(io, f->workload, &x->room);
	x->fill = l->frame->fill ? l->frame : NULL;
	return x->tx.iov_base && x->rx && x->bytes.tx <= size && x->bytes.rx <= x->room;
}

/* Does the flow stand where an exchange begins? */
static bool stands_before_one(const struct nd_flow *f, const struct nd_cycle *c)
{
	bool echoes = c->tx == 0;

	if (f->state != ND_FLOW_READY || f->begun_ns || f->done_bytes || f->done_count ||
	    !f->first_ns || !f->readable || !f->writable || f->rest || f->step.until_ns ||
	    f->step.asks || f->over)
		return false;
	if (f->step.op != (f->active ? ND_OP_SEND : ND_OP_RECV))
		return false;
	return f->first_sent || echoes;
}

/* In front of an edge, too, or those exchanges would take calls more than all others: one in fifty is so near to one that
 * ends a second. At the end of a test, and behind it, commands are to be heard at once. */
static bool may_wait(struct nd_io *io, const struct nd_flow *f)
{
	return nd_io_may_wait(io, f) || (io->patient && !io->stop_sending && nd_io_guard_edge(io));
}

/* Are the steps to come the same over and over, and is nothing due before the next look around? */
static bool begin(struct nd_io *io, struct nd_flow *f, struct exchange *x)
{
	const struct nd_lane *l = nd_lane_of(io, f);
	bool fits, waits;

	if (!l->load->repeats)
		return false;
	*x = (struct exchange){ .take = l->frame->take ? l->frame : NULL };
	if (io->quit || !(io->patient || io->spins) || !l->load->repeats(f->load, &x->bytes) ||
	    x->bytes.one_way || !stands_before_one(f, &x->bytes))
		return false;
	x->datagram = nd_flow_is_datagram(io, f);
	if (x->bytes.tx == 0)
		fits = l->rx->answer != NULL;
	else
		fits = x->datagram ? find_datagram(io, f, x) : find_stream(io, f, x);
	waits = fits && may_wait(io, f);
	if (!fits || !(waits || io->spins))
		return false;
	if (x->bytes.tx > 0)
		f->tx.asks = 0;
	x->rtt = x->bytes.timed ? io->rtt[f->workload] : NULL;
	x->interval = x->bytes.timed ? io->interval[f->workload] : NULL;
	x->until_ns = ND_MIN(io->look_ns, io->edge_ns);
	x->sent_ns = x->now_ns = io->now_ns;
	x->spins = io->spins ? ND_SPINS : 0;
	x->flags = waits ? 0 : MSG_DONTWAIT;
	x->coarse = io->coarse;
	x->got = 1;
	return true;
}

/* ---- one exchange */

static void count(struct nd_io *io, struct nd_flow *f, const struct exchange *x)
{
	uint64_t stacked = x->datagram ? x->n : 0;

	ND_COUNT_FLOW(io, f, tx_calls, x->n);
	ND_COUNT_FLOW(io, f, tx_messages, x->n);
	ND_COUNT_FLOW(io, f, tx_bytes, x->n * x->bytes.tx);
	ND_COUNT_FLOW(io, f, tx_stacked, stacked);
	ND_COUNT_FLOW(io, f, rx_calls, x->n + x->empty);
	ND_COUNT_FLOW(io, f, rx_messages, x->n);
	ND_COUNT_FLOW(io, f, rx_bytes, x->n * x->bytes.rx);
	ND_COUNT_FLOW(io, f, rx_stacked, stacked);
	if (f->active && x->bytes.timed)
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
		r = nd_call_recv(fd, x->rx, x->room, x->flags);
		if (r >= 0 || errno != EAGAIN || left-- == 0)
			return r;
		x->empty++;
	}
}

static void write_to(struct nd_flow *f, struct exchange *x, uint64_t now_ns)
{
	struct nd_batch b = { .iov = &x->tx, .n = 1, .now_ns = now_ns };

	x->fill->fill(&f->tx, &b);
}

/* Return: as send(). */
static inline ssize_t say(struct nd_flow *f, struct exchange *x, uint64_t now_ns)
{
	if (x->fill)
		write_to(f, x, now_ns);
	return nd_call_send(f->fd, x->tx.iov_base, x->tx.iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* @n bytes have come: the frame, if it is one that looks, has not seen them. */
static void look_at(struct nd_io *io, struct nd_flow *f, struct exchange *x, size_t n)
{
	struct iovec v = { .iov_base = x->rx, .iov_len = n };
	struct nd_batch b = { .iov = &v, .n = 1, .now_ns = x->now_ns };

	x->got = x->take->take(&f->rx, &b, &f->c, &io->c[f->workload]);
	x->is_taken = true;
}

/* Of datagrams the answer to the last request alone: both have its number, or neither has one. */
static inline bool is_answer(const struct nd_flow *f, const struct exchange *x)
{
	return x->got == 1 && (!x->datagram || f->rx.next == f->tx.next);
}

/* ---- what is not like the one before */

static void heard_nothing(struct nd_io *io, struct nd_flow *f, const struct exchange *x, int code)
{
	if (code == EAGAIN || code == EINTR)
		f->readable = false;
	else if (code && (!x->datagram || code == ENOMEM || !nd_is_refusal(code)))
		(void)nd_flow_broken(io, f, -code); /* the flow's state says the rest */
	else if (!code && x->datagram)
		f->over = true; /* goodbye */
}

/* The flow's step is to receive, and a call has given @r. Return: did anything come? */
static bool heard(struct nd_io *io, struct nd_flow *f, struct exchange *x, ssize_t r)
{
	size_t n = (size_t)r;

	ND_COUNT_FLOW(io, f, rx_calls, 1);
	if (r < 0 || (r == 0 && (!x->datagram || io->plan->goodbyes))) {
		heard_nothing(io, f, x, r < 0 ? errno : 0);
		return false;
	}
	if (!x->is_taken) {
		x->now_ns = clock_of(x);
		if (x->take)
			look_at(io, f, x, n);
	}
	io->now_ns = x->now_ns;
	if (x->datagram) {
		n = x->got ? n : 0; /* another's */
		ND_COUNT_FLOW(io, f, rx_messages, x->got);
		ND_COUNT_FLOW(io, f, rx_bytes, n);
		ND_COUNT_FLOW(io, f, rx_stacked, 1);
	} else {
		(void)nd_stream_received(io, f, n); /* always 1 */
	}
	if (n > 0)
		nd_flow_payload(f, io->now_ns);
	nd_flow_received(io, f, x->got, n);
	return true;
}

static void not_said(struct nd_io *io, struct nd_flow *f, const struct exchange *x, int code)
{
	int r;

	if (x->datagram && (code == EINTR || (code == ECONNREFUSED && io->plan->keep_samples))) {
		if (x->fill && x->fill->unfill)
			x->fill->unfill(&f->tx, 1);
		return; /* once more */
	}
	if (x->datagram) {
		r = nd_dg_sent(io, f, -code, 1, x->bytes.tx);
	} else {
		if (x->fill && x->fill->unfill)
			x->fill->unfill(&f->tx, (uint32_t)x->bytes.tx);
		r = code == EINTR ? -EAGAIN : nd_stream_refused(io, f, code);
	}
	if (r > 0)
		nd_flow_sent(io, f); /* refused: it is lost */
	else if (r != -EAGAIN)
		(void)nd_flow_broken(io, f, r); /* the flow's state says the rest */
}

/* The flow's step is to send, and has begun. Return: is all of it sent? */
static bool said(struct nd_io *io, struct nd_flow *f, const struct exchange *x, ssize_t r)
{
	size_t n = (size_t)r;

	ND_COUNT_FLOW(io, f, tx_calls, 1);
	if (r < 0) {
		not_said(io, f, x, errno);
		return false;
	}
	if (x->datagram) {
		(void)nd_dg_sent(io, f, 1, 1, x->bytes.tx); /* it is: 1 */
	} else {
		if (n < x->bytes.tx && x->fill && x->fill->unfill)
			x->fill->unfill(&f->tx, (uint32_t)(x->bytes.tx - n));
		(void)nd_stream_sent(io, f, x->bytes.tx, n); /* always 1 */
	}
	if (n != x->bytes.tx)
		return false;
	nd_flow_sent(io, f);
	return true;
}

/* ---- the loops: true when it is time to look around */

static bool ask(struct nd_io *io, struct nd_flow *f, struct exchange *x)
{
	ssize_t sent, r = 0;

	for (;;) {
		x->is_taken = false;
		x->sent_ns = x->coarse ? x->now_ns : clock_of(x);
		sent = say(f, x, x->sent_ns);
		if (sent != (ssize_t)x->bytes.tx)
			break;
		r = hear(f->fd, x);
		if (r != (ssize_t)x->bytes.rx)
			break;
		x->now_ns = clock_of(x);
		if (x->take)
			look_at(io, f, x, (size_t)r);
		if (!is_answer(f, x))
			break;
		x->n++;
		if (x->rtt)
			nd_hist_record(x->rtt, x->now_ns - x->sent_ns);
		if (x->interval)
			nd_hist_record(x->interval, x->now_ns - x->sent_ns);
		if (x->now_ns >= x->until_ns) {
			count(io, f, x);
			return true;
		}
	}
	count(io, f, x);
	f->begun_ns = io->now_ns = x->sent_ns;
	if (said(io, f, x, sent))
		(void)heard(io, f, x, r);
	return false;
}

static bool answer(struct nd_io *io, struct nd_flow *f, struct exchange *x)
{
	ssize_t r, sent = 0;

	for (;;) {
		x->is_taken = false;
		r = hear(f->fd, x);
		if (r != (ssize_t)x->bytes.rx)
			break;
		x->sent_ns = x->now_ns;
		x->now_ns = clock_of(x);
		if (x->take)
			look_at(io, f, x, (size_t)r);
		if (x->got != 1)
			break;
		if (x->bytes.reply && f->rx.next)
			f->tx.next = f->rx.next - 1;
		sent = say(f, x, x->now_ns);
		if (sent != (ssize_t)x->bytes.tx)
			break;
		x->n++;
		if (x->now_ns >= x->until_ns) {
			count(io, f, x);
			return true;
		}
	}
	count(io, f, x);
	if (!heard(io, f, x, r) || r != (ssize_t)x->bytes.rx || x->got != 1)
		return false;
	f->begun_ns = io->now_ns;
	(void)said(io, f, x, sent); /* the flow's state says the rest */
	return false;
}

static int move(struct nd_io *io, struct nd_flow *f, const struct exchange *x)
{
	unsigned left = x->spins;
	int r;

	do {
		f->readable = true;
		r = nd_lane_of(io, f)->rx->move(io, f);
	} while (r == -EAGAIN && left-- > 0);
	return r;
}

/* The turn of a flow that echoes has ended with @r. */
static void not_echoed(struct nd_io *io, struct nd_flow *f, bool has_come, int r)
{
	struct nd_event ev = { .what = ND_HAP_RECEIVED, .count = 1, .now_ns = io->now_ns };

	if (r < 0 && r != -EAGAIN)
		(void)nd_flow_broken(io, f, r); /* the flow's state says the rest */
	else if (has_come)
		nd_flow_tell(io, f, &ev); /* some of it is still to go back */
}

/* Whatever comes goes back; its ways to receive and to answer count it. */
static bool echo(struct nd_io *io, struct nd_flow *f, struct exchange *x)
{
	const struct nd_xfer *rx = nd_lane_of(io, f)->rx;
	bool alone = x->flags == 0 && rx == &nd_xfer_datagram_echo;
	int came = 0, r;

	io->recv_waits = x->flags == 0;
	for (;;) {
		uint64_t bytes;

		r = alone ? nd_dg_echo(io, f, x->until_ns, &x->sent_ns) : 0;
		if (r > 0)
			return true;
		if (r < 0)
			break;
		bytes = f->c.rx_bytes;
		r = came = move(io, f, x);
		if (came <= 0)
			break;
		if (f->c.rx_bytes != bytes)
			f->last_ns = io->now_ns;
		r = rx->answer(io, f);
		if (r != 1)
			break;
		f->done_bytes = 0;
		f->readable = true;
		if (io->now_ns >= x->until_ns)
			return true;
		x->sent_ns = io->now_ns;
		came = 0;
	}
	not_echoed(io, f, came > 0, r);
	return false;
}

/* Near an edge steps wait outside of their calls, for an answer in front of which no exchange begins. */
static void hear_first(struct nd_io *io, struct nd_flow *f)
{
	if (f->active && f->step.op == ND_OP_RECV && io->patient &&
	    nd_lane_of(io, f)->load->repeats && !nd_io_may_wait(io, f))
		(void)nd_flow_turn(io, f, 1); /* the flow's state says the rest */
}

void nd_flow_exchange(struct nd_io *io, struct nd_flow *f)
{
	struct exchange x;

	hear_first(io, f);
	while (begin(io, f, &x)) {
		bool due = x.bytes.tx == 0 ? echo(io, f, &x)
			   : f->active     ? ask(io, f, &x)
					   : answer(io, f, &x);

		if (!due)
			return;
		nd_io_look(io, x.sent_ns);
	}
}
