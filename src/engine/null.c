/* SPDX-License-Identifier: MIT */
/*
 * Moves nothing: every call succeeds at once, without a system call. What is left is the program's own
 * cost. Sockets are opened and closed as ever.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/int.h"

#define PIECE (1ull << 20)

struct null {
	struct nd_lane lanes[ND_MAX_WORKLOADS];
	const struct nd_lane *real;
	void *blocking; /* the engine below */
};

static int send_nothing(struct nd_io *io, struct nd_flow *f)
{
	uint32_t count = f->step.count ? f->step.count : 1;

	f->done_bytes = f->step.bytes;
	f->done_count = count;
	if (nd_flow_is_datagram(io, f))
		f->tx.next += count;
	ND_COUNT_FLOW(io, f, tx_bytes, f->step.bytes * count);
	ND_COUNT_FLOW(io, f, tx_messages, count);
	io->now_ns = nd_now_ns();
	return (int)count;
}

/* The peer is imagined: it has sent all when its share is here or the time is over. 0: nothing more comes. */
static uint64_t still_comes(const struct nd_io *io, const struct nd_flow *f)
{
	const struct nd_workload *wl = nd_lane_of(io, f)->workload;
	uint64_t share = nd_plan_share(wl->total_bytes, wl->flows, f->number);

	if (f->active)
		return UINT64_MAX; /* answers come as long as it asks */
	if (io->stop_told)
		return 0;
	return wl->total_bytes ? share - ND_MIN(share, f->c.rx_bytes) : UINT64_MAX;
}

static int recv_nothing(struct nd_io *io, struct nd_flow *f)
{
	uint32_t count = 1;
	uint64_t bytes = f->step.bytes ? f->step.bytes : PIECE, most = still_comes(io, f);

	io->now_ns = nd_now_ns();
	if (most == 0)
		return 0;
	if (nd_flow_is_datagram(io, f)) {
		bytes = ND_MAX(f->rx.message_bytes, 1);
		count = (uint32_t)ND_MIN(nd_step_count(&f->step), ND_MAX(most / bytes, 1));
		f->rx.next = 0; /* without numbers: every answer fits */
	}
	bytes = ND_MIN(bytes, most);
	f->done_bytes = bytes;
	ND_COUNT_FLOW(io, f, rx_bytes, bytes * count);
	ND_COUNT_FLOW(io, f, rx_messages, count);
	return (int)count;
}

static const struct nd_xfer no_send = {
	.name = "null",
	.help = "moves nothing",
	.sends = true,
	.stream = true,
	.datagram = true,
	.batch_max = 64,
	.move = send_nothing,
};

static const struct nd_xfer no_recv = {
	.name = "null",
	.help = "moves nothing",
	.stream = true,
	.datagram = true,
	.batch_max = 64,
	.move = recv_nothing,
};

static int open_null(struct nd_io *io, struct nd_err *err)
{
	struct null *n = calloc(1, sizeof(*n));
	unsigned i;
	int r;

	if (!n)
		return nd_fail(err, -ENOMEM, "no memory for an engine");
	r = nd_blocking_open(io, err);
	if (r < 0) {
		free(n);
		return r;
	}
	n->blocking = io->engine_state;
	n->real = io->lanes;
	for (i = 0; i < io->lane_count && i < ND_MAX_WORKLOADS; i++) {
		n->lanes[i] = io->lanes[i];
		n->lanes[i].tx = &no_send;
		n->lanes[i].rx = &no_recv;
	}
	io->lanes = n->lanes;
	io->engine_state = n;
	return 0;
}

static void close_null(struct nd_io *io)
{
	struct null *n = io->engine_state;

	if (!n)
		return;
	io->lanes = n->real;
	io->engine_state = n->blocking;
	nd_blocking_close(io);
	free(n);
}

static int run_null(struct nd_io *io, struct nd_err *err)
{
	struct null *n = io->engine_state;
	int r;

	io->engine_state = n->blocking;
	r = nd_blocking_run(io, err);
	io->engine_state = n;
	return r;
}

const struct nd_engine nd_engine_null = {
	.name = "null",
	.help = "moves nothing: shows what the program itself costs",
	.moves = false,
	.open = open_null,
	.run = run_null,
	.close = close_null,
};
