/* SPDX-License-Identifier: MIT */
/* One flow's turn: carry out its step, tell the load, fetch the next. Shared by all backends. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/int.h"

#define PAGE    4096u
#define LOOK_NS (10 * ND_NS_PER_MS) /* a worker that never waits looks at its wake_fd this often */

#define PENDING_NS ND_NS_PER_S /* longest wait for sends whose bytes the socket still needs */
#define END_NS     (60 * ND_NS_PER_S) /* longest wait for the peer's end */

/* A request belongs to the time in which it was to be sent, not to that in which its answer came: else a stall at
 * the end of the window would be missing from it. */
static void take_due(struct nd_io *io, unsigned lane, const struct nd_note *note)
{
	const struct nd_by_due *d = &io->due[lane];
	bool in = note->due_ns >= d->from_ns && note->due_ns < d->to_ns;

	if (note->scheduled && d->late[in])
		nd_hist_record(d->late[in], note->late_ns);
	if (!note->service_ns)
		return;
	if (d->service[in])
		nd_hist_record(d->service[in], note->service_ns);
	if (d->response[in])
		nd_hist_record(d->response[in], note->response_ns);
	if (io->interval[lane])
		nd_hist_record(io->interval[lane], note->response_ns);
}

static void take_note(struct nd_io *io, struct nd_flow *f, const struct nd_note *note)
{
	if (note->transactions)
		ND_COUNT_FLOW(io, f, transactions, note->transactions);
	if (note->lost)
		ND_COUNT_FLOW(io, f, lost, note->lost);
	if (note->part_ns && io->parts[f->workload][note->part])
		nd_hist_record(io->parts[f->workload][note->part], note->part_ns);
	if (note->due_ns) {
		take_due(io, f->workload, note);
		return;
	}
	if (note->service_ns && io->rtt[f->workload])
		nd_hist_record(io->rtt[f->workload], note->service_ns);
	if (note->response_ns && io->response[f->workload])
		nd_hist_record(io->response[f->workload], note->response_ns);
	if (note->service_ns && io->interval[f->workload])
		nd_hist_record(io->interval[f->workload], note->service_ns);
}

static bool has_passed(const struct nd_flow *f)
{
	return f->state == ND_FLOW_TIMED && f->step.op == ND_OP_PASS;
}

/* The next one behind the holder that waits for its turn; NULL: there is none. */
static struct nd_flow *next_holder(const struct nd_io *io)
{
	uint32_t at = io->holder ? (uint32_t)(io->holder - io->flows) : 0;

	for (uint32_t i = 1; i < io->flow_count; i++) {
		struct nd_flow *f = &io->flows[(at + i) % io->flow_count];

		if (has_passed(f))
			return f;
	}
	return NULL;
}

static void give_turn(struct nd_io *io, struct nd_flow *f)
{
	struct nd_event ev = { .what = ND_HAP_TIME, .now_ns = io->now_ns };

	io->holder = f;
	io->rescan = true;
	nd_flow_tell(io, f, &ev);
}

/* Those that pass wait outside of the engine's sight, for no instant and no event. False: so does this one. */
static bool do_pass(struct nd_io *io, struct nd_flow *f)
{
	struct nd_flow *next = io->holder == f ? next_holder(io) : NULL;

	if (!io->holder || (io->holder == f && !next)) {
		give_turn(io, f);
		return true;
	}
	f->step.at_ns = UINT64_MAX;
	f->state = ND_FLOW_TIMED;
	if (next)
		give_turn(io, next);
	return false;
}

static void end_flow(struct nd_io *io, struct nd_flow *f)
{
	struct nd_flow *next;

	if (f->state == ND_FLOW_DONE)
		return;
	f->state = ND_FLOW_DONE;
	io->done_count++;
	next = io->holder == f && !io->stop_told ? next_holder(io) : NULL;
	if (next)
		give_turn(io, next);
	if (nd_lane_of(io, f)->rx->answer && !nd_flow_is_datagram(io, f))
		nd_close_p(&f->fd); /* others may come, for a long time */
	if (io->flow_done)
		io->flow_done(io, f);
}

/* The socket has all, and needs some of it for longer. An error of the flow ends that wait, too. */
static bool must_wait(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_xfer *tx = nd_lane_of(io, f)->tx;

	if (!tx->pending || f->fd < 0 || tx->pending(io, f) == 0 || f->error)
		return false;
	if (!f->step.until_ns)
		f->step.until_ns = io->now_ns + PENDING_NS;
	if (io->now_ns >= f->step.until_ns)
		return false;
	f->state = ND_FLOW_BLOCKED;
	return true;
}

static void half_close(const struct nd_io *io, struct nd_flow *f)
{
	if (!f->active || f->half != 0 || nd_flow_is_datagram(io, f) || io->plan->keep_open ||
	    f->half_closed || f->fd < 0)
		return;
	f->half_closed = true;
	(void)shutdown(f->fd, SHUT_WR); /* one that is broken already cannot be, and need not be */
}

/* Some tools count the time until all has arrived: the peer then closes its half. */
static bool must_hear_end(const struct nd_io *io, struct nd_flow *f)
{
	uint8_t rest[256];
	ssize_t n;

	if (!io->plan->await_end || !f->half_closed || f->error)
		return false;
	do
		n = recv(f->fd, rest, sizeof(rest), MSG_DONTWAIT);
	while (n > 0 || (n < 0 && errno == EINTR));
	if (n == 0 || errno != EAGAIN)
		return false;
	if (!f->step.until_ns)
		f->step.until_ns = io->now_ns + END_NS;
	if (io->now_ns >= f->step.until_ns)
		return false;
	f->state = ND_FLOW_BLOCKED;
	return true;
}

void nd_flow_finish(struct nd_io *io, struct nd_flow *f)
{
	if (f->posted) { /* its last bytes are not with the socket yet */
		f->state = ND_FLOW_BLOCKED;
		return;
	}
	half_close(io, f);
	if (!must_wait(io, f) && !must_hear_end(io, f))
		end_flow(io, f);
}

/* Tell the load and take up what it answers. */
void nd_flow_tell(struct nd_io *io, struct nd_flow *f, struct nd_event *ev)
{
	struct nd_step step; /* the load writes both in full */
	struct nd_note note;

	ev->half = f->half;
	nd_lane_of(io, f)->load->next(f->load, ev, &step, &note);
	take_note(io, f, &note);
	if (step.op == ND_OP_KEEP)
		return;
	f->step = step;
	f->begun_ns = 0;
	f->done_bytes = 0;
	f->done_count = 0;
	f->state = ND_FLOW_READY;
	if (step.op == ND_OP_FINISH)
		nd_flow_finish(io, f);
}

void nd_flow_fail(struct nd_io *io, struct nd_flow *f, int code)
{
	struct nd_event ev = { .what = ND_HAP_CLOSED, .error = code, .now_ns = io->now_ns };

	f->error = code;
	nd_flow_tell(io, f, &ev);
	end_flow(io, f);
}

void nd_flow_payload(struct nd_flow *f, uint64_t now_ns)
{
	if (!f->first_ns)
		f->first_ns = now_ns;
	f->last_ns = now_ns;
}

static void payload(struct nd_io *io, struct nd_flow *f)
{
	if (!f->first_ns)
		io->now_ns = nd_io_true(io);
	nd_flow_payload(f, io->now_ns);
}

void nd_flow_sent(struct nd_io *io, struct nd_flow *f)
{
	uint32_t count = nd_step_count(&f->step);
	struct nd_event ev = { .what = ND_HAP_SENT,
			       .count = count,
			       .bytes = f->step.bytes * count,
			       .now_ns = io->now_ns,
			       .begun_ns = f->begun_ns };
	bool datagram = nd_flow_is_datagram(io, f);

	if (datagram ? f->done_count < count : f->done_bytes < f->step.bytes)
		return;
	if (datagram)
		ev.seq = f->tx.next;
	nd_flow_tell(io, f, &ev);
}

/* The socket is full: the load goes on without what stands in the step, unless a part of it is on its way. */
static bool skip(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_workload *wl = nd_lane_of(io, f)->workload;
	struct nd_event ev = { .what = ND_HAP_TIME, .now_ns = io->now_ns };

	if (!wl->skips || !f->active || f->done_bytes || f->done_count || f->step.asks)
		return false;
	ND_COUNT_FLOW(io, f, tx_refused, 1);
	f->writable = true;
	nd_flow_tell(io, f, &ev);
	return true;
}

/* The guard may be late by some scheduler ticks: nothing else may be due by then. */
bool nd_io_may_wait(const struct nd_io *io, const struct nd_flow *f)
{
	uint64_t until = io->now_ns + 3 * ND_PATIENCE_NS;

	return io->patient && io->edge_ns > until &&
	       (!f->step.until_ns || f->step.until_ns > until);
}

/* False: the turn is over. */
static bool do_send(struct nd_io *io, struct nd_flow *f)
{
	uint64_t bytes = f->c.tx_bytes, messages = f->c.tx_messages;
	int r;

	if (!f->begun_ns && f->step.at_ns > io->now_ns) {
		io->told[f->workload].waits += f->first_sent;
		f->state = ND_FLOW_TIMED;
		return false;
	}
	if (!f->writable) {
		f->state = ND_FLOW_BLOCKED;
		return false;
	}
	if (!f->begun_ns) {
		if (io->clock_first)
			io->now_ns = nd_now_ns();
		f->begun_ns = io->now_ns;
		f->tx.asks = f->step.asks;
		if (f->step.reply && f->rx.next)
			f->tx.next = f->rx.next - 1;
	}
	io->send_waits = io->one_way && nd_io_may_wait(io, f);
	r = nd_lane_of(io, f)->tx->move(io, f);
	if (r == -EAGAIN && skip(io, f))
		return true;
	if (r == -EAGAIN) {
		f->state = ND_FLOW_BLOCKED;
		return false;
	}
	if (r < 0)
		return nd_flow_broken(io, f, r);
	if (f->c.tx_bytes != bytes)
		payload(io, f);
	nd_io_burst(io, f->workload, f->c.tx_messages - messages);
	nd_flow_sent(io, f);
	if (io->wait_before_recv && f->state == ND_FLOW_READY && f->step.op == ND_OP_RECV) {
		f->state = ND_FLOW_BLOCKED;
		return false;
	}
	if (!f->first_sent) { /* every flow sends its first piece before any sends a second */
		f->first_sent = true;
		return false;
	}
	return true;
}

void nd_flow_received(struct nd_io *io, struct nd_flow *f, uint64_t messages, uint64_t bytes)
{
	struct nd_event ev = { .what = ND_HAP_RECEIVED, .count = 1, .now_ns = io->now_ns };

	if (nd_flow_is_datagram(io, f)) {
		/* nothing of this flow, and nobody answers what is no message of it */
		if (messages == 0 && !nd_lane_of(io, f)->rx->answer)
			return;
		ev.count = (uint32_t)messages;
		ev.bytes = bytes;
		ev.seq = f->rx.next;
	} else {
		if (f->step.op == ND_OP_RECV && f->done_bytes < f->step.bytes)
			return;
		ev.bytes = f->done_bytes;
	}
	nd_flow_tell(io, f, &ev);
}

static void closed(struct nd_io *io, struct nd_flow *f)
{
	struct nd_event ev = { .what = ND_HAP_CLOSED, .now_ns = io->now_ns };

	/* an asking end is never done first: its answer will not come */
	if (f->active && !io->stop_told && !nd_lane_of(io, f)->load->connects)
		f->error = -ECONNRESET;
	nd_flow_tell(io, f, &ev);
}

static void timed_out(struct nd_io *io, struct nd_flow *f)
{
	struct nd_event ev = { .what = ND_HAP_TIME, .now_ns = io->now_ns };

	nd_flow_tell(io, f, &ev);
}

/* The way through the engine, and the clock, are for every so many-th call that finds nothing. */
static int receive_anew(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_xfer *rx = nd_lane_of(io, f)->rx;
	unsigned left = ND_SPINS;
	int r = -EAGAIN;

	while (r == -EAGAIN && left-- > 0) {
		f->readable = true;
		r = rx->move(io, f);
	}
	return r;
}

static bool do_recv(struct nd_io *io, struct nd_flow *f)
{
	uint64_t messages = f->c.rx_messages, bytes = f->c.rx_bytes;
	int r;

	if (!f->readable) {
		if (f->step.until_ns && f->step.until_ns <= io->now_ns) {
			timed_out(io, f);
			return true;
		}
		f->state = ND_FLOW_BLOCKED;
		return false;
	}
	io->recv_waits = nd_io_may_wait(io, f);
	r = nd_lane_of(io, f)->rx->move(io, f);
	if (r == -EAGAIN && io->spins)
		r = receive_anew(io, f);
	if (r == -EAGAIN)
		return true; /* not readable any more: blocks, or is out of time */
	if (r < 0)
		return nd_flow_broken(io, f, r);
	if (r == 0) {
		closed(io, f);
		return true;
	}
	if (f->c.rx_bytes != bytes)
		payload(io, f);
	nd_flow_received(io, f, f->c.rx_messages - messages, f->c.rx_bytes - bytes);
	return true;
}

static bool do_echo(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_xfer *rx = nd_lane_of(io, f)->rx;
	struct nd_event ev = { .what = ND_HAP_SENT, .count = 1 };
	int r = rx->answer ? rx->answer(io, f) : -EOPNOTSUPP;

	if (r == -EAGAIN) {
		f->state = ND_FLOW_BLOCKED;
		return false;
	}
	if (r < 0)
		return nd_flow_broken(io, f, r);
	ev.now_ns = io->now_ns;
	nd_flow_tell(io, f, &ev);
	return true;
}

static bool do_wait(struct nd_io *io, struct nd_flow *f)
{
	if (f->step.at_ns > io->now_ns) {
		f->state = ND_FLOW_TIMED;
		return false;
	}
	timed_out(io, f);
	return true;
}

static bool act(struct nd_io *io, struct nd_flow *f)
{
	switch (f->step.op) {
	case ND_OP_SEND:
		return do_send(io, f);
	case ND_OP_RECV:
	case ND_OP_DRAIN:
		return do_recv(io, f);
	case ND_OP_ECHO:
		return do_echo(io, f);
	case ND_OP_WAIT:
		return do_wait(io, f);
	case ND_OP_PASS:
		return do_pass(io, f);
	case ND_OP_OPEN:
		return nd_flow_open(io, f);
	case ND_OP_ACCEPT:
		return nd_flow_accept(io, f);
	case ND_OP_CLOSE:
		return nd_flow_close(io, f);
	case ND_OP_FINISH:
		nd_flow_finish(io, f);
		return false;
	default:
		nd_flow_fail(io, f, -EOPNOTSUPP);
		return false;
	}
}

void nd_io_look(struct nd_io *io, uint64_t from_ns)
{
	io->still_ns = from_ns;
	nd_io_tick(io, nd_io_true(io));
	if (io->patient)
		nd_io_guard(io, true);
}

enum nd_flow_state nd_flow_turn(struct nd_io *io, struct nd_flow *f, unsigned budget)
{
	bool more = true;

	while (more && budget-- > 0 && !io->quit && f->state == ND_FLOW_READY) {
		uint64_t from_ns = io->now_ns;

		more = act(io, f);
		if (io->now_ns >= io->edge_ns || io->now_ns >= io->look_ns)
			nd_io_look(io, from_ns);
	}
	return f->state;
}

/* Requests go one way and responses the other; a stream has one kind of message. */
static void set_lengths(const struct nd_lane *lane, struct nd_flow *f)
{
	const struct nd_workload *wl = lane->workload;

	if (!lane->load->round_trips)
		return;
	f->tx.message_bytes = f->active ? wl->request_bytes : wl->response_bytes;
	f->rx.message_bytes = f->active ? wl->response_bytes : wl->request_bytes;
}

void nd_flow_begin(struct nd_io *io, struct nd_flow *f, uint64_t start_ns)
{
	struct nd_event ev = { .what = ND_HAP_START, .now_ns = start_ns };

	if (io->now_ns < start_ns)
		io->now_ns = start_ns;
	f->readable = f->writable = true;
	f->tx.datagram = f->rx.datagram = nd_flow_is_datagram(io, f);
	set_lengths(nd_lane_of(io, f), f);
	if (nd_lane_of(io, f)->load->connects && !f->active)
		f->listen_fd = nd_take_fd(&f->fd);
	nd_flow_tell(io, f, &ev);
}

void nd_flow_stop(struct nd_io *io, struct nd_flow *f, uint64_t now_ns)
{
	struct nd_event ev = { .what = ND_HAP_STOP, .now_ns = now_ns, .bytes = f->done_bytes };

	if (f->posted && ev.bytes == 0)
		ev.bytes = 1; /* it has begun, how far is not known */
	if (f->state != ND_FLOW_IDLE && f->state != ND_FLOW_DONE)
		nd_flow_tell(io, f, &ev);
}

static void stop_all(struct nd_io *io)
{
	uint32_t i;

	if (!io->stop_sending || io->stop_told)
		return;
	io->stop_told = true;
	for (i = 0; i < io->flow_count; i++)
		nd_flow_stop(io, &io->flows[i], io->now_ns);
}

void nd_io_woken(struct nd_io *io, uint64_t now_ns)
{
	io->now_ns = now_ns;
	if (io->wake)
		io->wake(io, now_ns);
	io->rescan = true;
	stop_all(io);
}

void nd_io_tick(struct nd_io *io, uint64_t now_ns)
{
	struct pollfd p = { .fd = io->wake_fd, .events = POLLIN };

	io->now_ns = now_ns;
	if (now_ns >= io->edge_ns || (io->sample_ns && now_ns >= io->sample_ns)) {
		io->edge(io, now_ns);
		io->now_ns = nd_now_ns(); /* what the edge took is no part of the next operation */
		io->rescan = true;
	}
	if (now_ns >= io->look_ns) {
		io->look_ns = now_ns + LOOK_NS;
		if (poll(&p, 1, 0) > 0)
			nd_io_woken(io, now_ns);
	}
	stop_all(io);
}

uint64_t nd_lane_message(const struct nd_lane *lane)
{
	const struct nd_workload *wl = lane->workload;
	uint64_t most = ND_MAX(wl->message_bytes, ND_MAX(wl->request_bytes, wl->response_bytes));

	return ND_MAX(most, 1);
}

/* What comes later to an open-ended run comes to be received from. */
static uint32_t to_come(const struct nd_io *io)
{
	return io->open_ended ? nd_io_room(io) - ND_MIN(io->flow_count, nd_io_room(io)) : 0;
}

uint32_t nd_lane_receives(const struct nd_io *io, unsigned lane)
{
	uint32_t i, n = to_come(io);

	for (i = 0; i < io->flow_count; i++)
		n += io->flows[i].workload == lane &&
		     (!io->flows[i].active || io->lanes[lane].load->round_trips);
	return n;
}

uint32_t nd_lane_sends(const struct nd_io *io, unsigned lane)
{
	uint32_t i, n = io->lanes[lane].load->round_trips ? to_come(io) : 0;

	for (i = 0; i < io->flow_count; i++)
		n += io->flows[i].workload == lane &&
		     (io->flows[i].active || io->lanes[lane].load->round_trips);
	return n;
}

/* The machine or the path did not want it; the next one may pass. */
bool nd_is_refusal(int code)
{
	return code == ENOBUFS || code == ENOMEM || code == ECONNREFUSED || code == EPERM ||
	       code == EHOSTUNREACH || code == ENETUNREACH || code == ENETDOWN;
}

uint8_t *nd_buffer_new(size_t size)
{
	uint8_t *p = aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);

	if (p)
		memset(p, 0, size);
	return p;
}
