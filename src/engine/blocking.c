/* SPDX-License-Identifier: MIT */
/*
 * Non-blocking calls, and poll() when they would block: fewest system calls for a worker with one flow.
 * With more flows it works too, at a price per flow and wait.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/int.h"

/* Of a turn. An odd number: an end that asks, and began in the middle of an exchange, comes to stand before one. */
#define STEPS (ND_TURN_BUDGET - 1)

struct blocking {
	struct pollfd p[1]; /* wake_fd, then one per flow */
};

int nd_blocking_open(struct nd_io *io, struct nd_err *err)
{
	struct blocking *b = calloc(1, sizeof(*b) + io->flow_count * sizeof(struct pollfd));

	if (!b)
		return nd_fail(err, -ENOMEM, "no memory to wait for %u flows", io->flow_count);
	b->p[0] = (struct pollfd){ .fd = io->wake_fd, .events = POLLIN };
	io->engine_state = b;
	return 0;
}

void nd_blocking_close(struct nd_io *io)
{
	free(io->engine_state);
	io->engine_state = NULL;
	nd_io_unguard(io);
	io->patient = io->one_way = io->coarse = io->clock_first = io->spins =
		false; /* the socket stays as it is: it goes with its flow */
}

/* Errors are told unasked, the end of sends without a copy among them. */
static short events_of(const struct nd_io *io, const struct nd_flow *f)
{
	if (f->step.op == ND_OP_FINISH && !io->plan->await_end)
		return 0;
	return nd_step_writes(&f->step) ? POLLOUT : POLLIN;
}

/* What each flow waits for; returns the instant of the next thing to do. */
static uint64_t prepare(const struct nd_io *io, struct pollfd *p)
{
	uint64_t until = io->edge_ns, due;
	uint32_t i;

	for (i = 0; i < io->flow_count; i++) {
		const struct nd_flow *f = &io->flows[i];

		p[i] = (struct pollfd){ .fd = -1 };
		if (f->state == ND_FLOW_BLOCKED) {
			p[i].fd = f->step.op == ND_OP_ACCEPT ? f->listen_fd : f->fd;
			p[i].events = events_of(io, f);
		}
		due = nd_flow_due(f);
		until = ND_MIN(until, due);
	}
	return until;
}

static int wait_for(struct nd_io *io, struct nd_err *err)
{
	struct blocking *b = io->engine_state;
	struct pollfd *p = b->p;
	uint64_t until = prepare(io, p + 1);
	struct timespec t;
	uint32_t i;
	int n;

	io->still_ns = io->now_ns = nd_io_true(io);
	t = nd_timespec(io->now_ns, until);
	if (nd_io_idle(io, until, false))
		return 0;
	n = ppoll(p, io->flow_count + 1, until == UINT64_MAX ? NULL : &t, NULL);
	if (n < 0 && errno != EINTR)
		return nd_sysfail(err, "poll");
	if (n < 0)
		nd_io_guard(io, false); /* poll() needs none */
	io->now_ns = nd_now_ns();
	for (i = 0; n > 0 && i < io->flow_count; i++)
		if (p[i + 1].revents)
			(void)nd_flow_unblock(&io->flows[i], true,
					      true); /* it asked for one alone */
	if (n > 0 && p[0].revents)
		nd_io_woken(io, io->now_ns);
	nd_io_tick(io, io->now_ns);
	return 0;
}

static bool take_turns(struct nd_io *io)
{
	bool ready = false;
	uint32_t i;

	for (i = 0; i < io->flow_count && !io->quit; i++) {
		struct nd_flow *f = &io->flows[i];

		if (nd_flow_due(f) <= io->now_ns)
			f->state = ND_FLOW_READY;
		if (f->state == ND_FLOW_READY)
			nd_io_may_turn(io);
		nd_flow_short_cut(io, f);
		if (f->state == ND_FLOW_READY)
			ready |= nd_flow_turn(io, f, STEPS) == ND_FLOW_READY;
	}
	return ready;
}

int nd_blocking_run(struct nd_io *io, struct nd_err *err)
{
	int r = 0;

	nd_io_tick(io, nd_now_ns());
	while (r == 0 && !io->quit && io->done_count < io->flow_count)
		if (!take_turns(io) && !io->quit && io->done_count < io->flow_count)
			r = wait_for(io, err);
	nd_io_guard(io, false);
	return r;
}

static int open_waiting(struct nd_io *io, struct nd_err *err)
{
	nd_io_naps(io);
	if (io->flow_count == 1) {
		nd_io_be_patient(io, &io->flows[0]);
		nd_io_be_exact(io, &io->flows[0]);
	}
	io->wait_before_recv = !(io->wait && io->wait->idle) && !io->patient;
	return nd_blocking_open(io, err);
}

const struct nd_engine nd_engine_blocking = {
	.name = "blocking",
	.help = "calls and poll(): best for one flow per worker",
	.connects = true,
	.moves = true,
	.open = open_waiting,
	.run = nd_blocking_run,
	.close = nd_blocking_close,
};
