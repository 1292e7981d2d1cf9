/* SPDX-License-Identifier: MIT */
/* Shared inside engine/: registries, waiting, the heap of timed flows. */
#ifndef ND_ENGINE_INT_H
#define ND_ENGINE_INT_H

#include <errno.h>
#include <time.h>

#include "base/time.h"
#include "engine/engine.h"

#define X(name) extern const struct nd_engine nd_engine_##name;
#include "engine/engines.def"
#undef X
#define X(name) extern const struct nd_xfer nd_xfer_##name;
#include "engine/xfers.def"
#undef X

#define ND_DATAGRAM_ROOM (4ull << 20) /* bytes of buffers for one batch */

/* Operations of one flow before the next has its turn. */
#define ND_TURN_BUDGET 8u

/* Calls of a flow that spins which find nothing, until others are looked at. */
#define ND_SPINS 64u

static inline const struct nd_lane *nd_lane_of(const struct nd_io *io, const struct nd_flow *f)
{
	return &io->lanes[f->workload];
}

static inline bool nd_flow_is_datagram(const struct nd_io *io, const struct nd_flow *f)
{
	return (nd_lane_of(io, f)->transport->caps & ND_NET_DATAGRAM) != 0;
}

/** nd_io_clock() - the time behind an operation: true, or where .coarse the last tick's. It never goes back. */
static inline uint64_t nd_io_clock(const struct nd_io *io)
{
	struct timespec t;
	uint64_t tick_ns;

	if (!io->coarse)
		return nd_now_ns();
	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &t); /* cannot fail with a valid clock id */
	tick_ns = (uint64_t)t.tv_sec * ND_NS_PER_S + (uint64_t)t.tv_nsec;
	return ND_MAX(io->now_ns, tick_ns);
}

/** nd_io_true() - the time as it is, where io->now_ns may be a tick, or a send, old. */
static inline uint64_t nd_io_true(const struct nd_io *io)
{
	return io->coarse || io->clock_first ? nd_now_ns() : io->now_ns;
}

/** nd_io_sent() - a call to send is over: the clock, unless it was read in front of it. */
static inline void nd_io_sent(struct nd_io *io)
{
	if (!io->clock_first)
		io->now_ns = nd_io_clock(io);
}

/** nd_io_tried() - a call to receive is over: the clock, unless it found nothing and is made again at once. */
static inline void nd_io_tried(struct nd_io *io, bool found)
{
	if (found || !io->spins)
		io->now_ns = nd_io_clock(io);
}

/** nd_io_over() - is there nothing left to do for this worker? */
static inline bool nd_io_over(const struct nd_io *io)
{
	return io->quit || (!io->open_ended && io->done_count >= io->flow_count);
}

/** nd_io_room() - flows that the worker may come to own. */
static inline uint32_t nd_io_room(const struct nd_io *io)
{
	return ND_MAX(io->open_ended ? io->flow_room : io->flow_count, 1u);
}

/** nd_flow_due() - when a waiting flow must be looked at without an event; UINT64_MAX: never. */
static inline uint64_t nd_flow_due(const struct nd_flow *f)
{
	if (f->state == ND_FLOW_TIMED)
		return f->step.at_ns;
	if (f->state == ND_FLOW_BLOCKED && f->step.until_ns &&
	    (f->step.op == ND_OP_RECV || f->step.op == ND_OP_FINISH))
		return f->step.until_ns;
	return UINT64_MAX;
}

/** nd_step_writes() - does the step wait until the socket takes bytes? Else until it gives some. */
static inline bool nd_step_writes(const struct nd_step *s)
{
	return s->op == ND_OP_SEND || s->op == ND_OP_OPEN || s->op == ND_OP_ECHO;
}

/** nd_flow_unblock() - the socket may take (give) bytes again. Return: true when that helps its step. */
static inline bool nd_flow_unblock(struct nd_flow *f, bool readable, bool writable)
{
	f->readable |= readable;
	f->called |= readable && f->step.op == ND_OP_ACCEPT;
	f->writable |= writable;
	if (f->state != ND_FLOW_BLOCKED || !(nd_step_writes(&f->step) ? writable : readable))
		return false;
	f->state = ND_FLOW_READY;
	return true;
}

/** nd_timespec() - from @now_ns to @until_ns; 0 when past. */
static inline struct timespec nd_timespec(uint64_t now_ns, uint64_t until_ns)
{
	uint64_t left = until_ns > now_ns ? until_ns - now_ns : 0;

	return (struct timespec){ .tv_sec = (time_t)(left / ND_NS_PER_S),
				  .tv_nsec = (long)(left % ND_NS_PER_S) };
}

/* Count in the flow and in its lane's sum. */
#define ND_COUNT_FLOW(io, f, name, n)                          \
	do {                                                   \
		uint64_t nd_n_ = (n);                          \
		nd_count(&(f)->c.name, nd_n_);                 \
		nd_count(&(io)->c[(f)->workload].name, nd_n_); \
	} while (0)

static inline uint32_t nd_step_count(const struct nd_step *s)
{
	return s->count ? s->count : 1;
}

/** nd_flow_tell() - to the load; its answer is the flow's step. */
void nd_flow_tell(struct nd_io *io, struct nd_flow *f, struct nd_event *ev);

/* connect.c: steps of loads that make connections. True: the turn goes on. */
bool nd_flow_open(struct nd_io *io, struct nd_flow *f);
bool nd_flow_accept(struct nd_io *io, struct nd_flow *f);
bool nd_flow_close(struct nd_io *io, struct nd_flow *f);
/** nd_flow_broken() - its connection has failed; the flow goes on if the load does. */
bool nd_flow_broken(struct nd_io *io, struct nd_flow *f, int code);

/** nd_flow_exchange() - @f is the worker's only flow, and READY: as many whole exchanges as follow each other, if its
 * load repeats itself, with looks around in between. None is fine: the steps go on from where it stands. */
void nd_flow_exchange(struct nd_io *io, struct nd_flow *f);
/** nd_flow_pour() - likewise of a stream that goes one way, and waits inside its calls. */
void nd_flow_pour(struct nd_io *io, struct nd_flow *f);

/** nd_flow_short_cut() - before its turn: what one loop can do of a flow that has its worker to itself. */
static inline void nd_flow_short_cut(struct nd_io *io, struct nd_flow *f)
{
	if (f->state != ND_FLOW_READY)
		return;
	if (io->one_way)
		nd_flow_pour(io, f);
	else if (io->patient || io->spins)
		nd_flow_exchange(io, f);
}

/* Parts of a turn, for a backend that learns later what became of a call. */
/** nd_flow_sent() - tell the load, if the whole SEND step is done; READY then. */
void nd_flow_sent(struct nd_io *io, struct nd_flow *f);
/** nd_flow_received() - tell the load that @messages of @bytes came, if they are what the step waits for. */
void nd_flow_received(struct nd_io *io, struct nd_flow *f, uint64_t messages, uint64_t bytes);
/** nd_io_look() - an edge, or the look around, is due; the last operation began at @from_ns. */
void nd_io_look(struct nd_io *io, uint64_t from_ns);
/** nd_flow_fail() - an error ends this flow alone: DONE. */
void nd_flow_fail(struct nd_io *io, struct nd_flow *f, int code);
/** nd_flow_finish() - half-close, DONE; while sends are posted it only waits for them. */
void nd_flow_finish(struct nd_io *io, struct nd_flow *f);

/** nd_io_burst() - a call has handed @n datagrams of the lane to the socket; io->now_ns is behind it. */
static inline void nd_io_burst(struct nd_io *io, unsigned lane, uint64_t n)
{
	if (!io->gap[lane] || n == 0)
		return;
	if (io->sent_ns[lane] == io->now_ns) { /* posted together, told one by one */
		io->sent_n[lane] += n;
		return;
	}
	if (io->sent_ns[lane]) {
		nd_hist_record(io->gap[lane], io->now_ns - io->sent_ns[lane]);
		nd_hist_record(io->burst[lane], io->sent_n[lane]);
	}
	io->sent_ns[lane] = io->now_ns;
	io->sent_n[lane] = n;
}

/** nd_flow_payload() - payload was moved at @now_ns: first and last instants. */
void nd_flow_payload(struct nd_flow *f, uint64_t now_ns);

/** nd_io_be_patient() - @f is the worker's only flow: it may wait inside the calls, see .patient and .coarse. */
void nd_io_be_patient(struct nd_io *io, struct nd_flow *f);
/** nd_io_be_hasty() - it is not any more: no call blocks. */
void nd_io_be_hasty(struct nd_io *io);
/** nd_io_settle() - before a call that cannot be told not to block: @waits: it may. */
void nd_io_settle(struct nd_io *io, struct nd_flow *f, bool waits);
/** nd_io_be_exact() - @f is the worker's only flow: see .clock_first and .spins. */
void nd_io_be_exact(struct nd_io *io, const struct nd_flow *f);
/** nd_io_guard() - calls that wait end with EINTR when this was not called anew for 2 * ND_PATIENCE_NS. */
void nd_io_guard(struct nd_io *io, bool on);
/** nd_io_guard_edge() - instead, they end just behind the worker's next edge, which may be near. False: they cannot. */
bool nd_io_guard_edge(struct nd_io *io);

/** nd_io_may_turn() - steps follow, which may wait inside their calls. */
static inline void nd_io_may_turn(struct nd_io *io)
{
	if (io->patient && !io->guard_on)
		nd_io_guard(io, true);
}

/** nd_io_unguard() - the worker's signal is not used any more. */
void nd_io_unguard(struct nd_io *io);

/** nd_call_again() - errno of a call: is it to be made again? One that @waited, and that the guard ended, moved nothing:
 * errno is EAGAIN then. */
static inline bool nd_call_again(bool waited)
{
	if (errno == EINTR && waited)
		errno = EAGAIN;
	return errno == EINTR;
}

/** nd_io_woken() - wake_fd is readable. */
void nd_io_woken(struct nd_io *io, uint64_t now_ns);

/**
 * nd_io_idle() - no flow can proceed: apply the wait policy.
 * @collects: the engine knows how to ask which sockets have become ready; then a nap leaves flows blocked.
 * Return: true when it has waited, and otherwise blocked flows are READY again; false: wait in the kernel.
 */
bool nd_io_idle(struct nd_io *io, uint64_t until_ns, bool collects);
/** nd_wait_spins() - is this policy never to wait? */
bool nd_wait_spins(const struct nd_wait *wait);
/** nd_io_naps() - work out .nap_room, when the engine opens. */
void nd_io_naps(struct nd_io *io);

/* As uring, but with nothing that came behind Linux 5.11: for tests. */
#if ND_HAVE_URING
extern const struct nd_engine nd_engine_uring_old;
/** nd_uring_is_new() - Linux 6.1 or later, and allowed here. */
bool nd_uring_is_new(void);
#endif

/* The blocking backend, also under the null engine. */
int nd_blocking_open(struct nd_io *io, struct nd_err *err);
int nd_blocking_run(struct nd_io *io, struct nd_err *err);
void nd_blocking_close(struct nd_io *io);

/** nd_lane_message() - the longest message of a lane in either direction, at least 1. */
uint64_t nd_lane_message(const struct nd_lane *lane);
/** nd_lane_receives() - how many flows of this worker in the lane read, those to come included. */
uint32_t nd_lane_receives(const struct nd_io *io, unsigned lane);
/** nd_lane_sends() - ... write. */
uint32_t nd_lane_sends(const struct nd_io *io, unsigned lane);
/** nd_is_refusal() - a positive errno: the datagram was not wanted, the next one may pass. */
bool nd_is_refusal(int code);

/** nd_datagram_slot() - room for the longest datagram of a lane: one byte too many shows a longer one. */
static inline size_t nd_datagram_slot(const struct nd_lane *lane)
{
	return (size_t)((ND_MIN(nd_lane_message(lane), ND_MAX_DATAGRAM) + 64) / 64 * 64);
}

/** nd_datagram_batch() - how many of them one call moves: at most @most, and not too much memory. */
static inline uint32_t nd_datagram_batch(const struct nd_lane *lane, uint32_t most)
{
	return (uint32_t)ND_MIN((uint64_t)most, ND_DATAGRAM_ROOM / nd_datagram_slot(lane));
}

/** nd_buffer_new() - page-aligned and touched; NULL: no memory. */
uint8_t *nd_buffer_new(size_t size);

/* Flows by .timer_ns, earliest first. */
struct nd_timers {
	struct nd_flow **v; /* owned; room for all flows */
	uint32_t n;
};

int nd_timers_init(struct nd_timers *t, uint32_t room); /* -ENOMEM */
void nd_timers_done(struct nd_timers *t);
void nd_timers_set(struct nd_timers *t, struct nd_flow *f, uint64_t at_ns); /* adds or moves */
void nd_timers_drop(struct nd_timers *t, struct nd_flow *f);
uint64_t nd_timers_next(const struct nd_timers *t);                  /* UINT64_MAX: none */
struct nd_flow *nd_timers_pop(struct nd_timers *t, uint64_t now_ns); /* due, or NULL */

/* Flows that can proceed, in a ring, each at most once; those that wait for an instant, in a heap. */
struct nd_queue {
	struct nd_timers timers;
	struct nd_flow **ring; /* owned */
	uint32_t head, n, room;
};

/** nd_queue_init() - room for all flows that @io may come to have. Return: 0, -ENOMEM. */
int nd_queue_init(struct nd_queue *q, const struct nd_io *io);
void nd_queue_done(struct nd_queue *q);
void nd_queue_push(struct nd_queue *q, struct nd_flow *f);
struct nd_flow *nd_queue_pop(struct nd_queue *q); /* only while .n > 0 */
/** nd_queue_file() - where the flow waits for its next turn, by its state. */
void nd_queue_file(struct nd_queue *q, struct nd_flow *f);
/** nd_queue_due() - flows whose instant has come are READY, and filed. */
void nd_queue_due(struct nd_queue *q, uint64_t now_ns);

#endif
