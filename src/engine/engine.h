/* SPDX-License-Identifier: MIT */
/*
 * How bytes move: backends execute the steps that loads ask for. One worker thread owns one nd_io.
 * To add a backend: src/engine/x.c with a const struct nd_engine, one row in engines.def.
 * To add a way to move bytes (zerocopy, GSO, splice ...): a const struct nd_xfer, one row in xfers.def.
 *
 * The inner loop allocates, locks, logs, formats nothing; one clock read per operation.
 */
#ifndef ND_ENGINE_ENGINE_H
#define ND_ENGINE_ENGINE_H

#include <stdatomic.h>

#include "frame/frame.h"
#include "load/load.h"
#include "net/net.h"
#include "plan/plan.h"
#include "stat/counters.h"
#include "stat/hist.h"

enum nd_flow_state {
	ND_FLOW_IDLE,    /* not started */
	ND_FLOW_READY,   /* has a step that may proceed now */
	ND_FLOW_BLOCKED, /* socket said EAGAIN */
	ND_FLOW_TIMED,   /* step waits for an instant */
	ND_FLOW_DONE,    /* this end has finished and seen the end */
};

/* One flow, owned by one worker. */
struct nd_flow {
	int fd;
	uint32_t number; /* within the workload */
	uint8_t state;   /* enum nd_flow_state */
	uint8_t workload;
	uint8_t half; /* second slot of a flow with two, see struct nd_load */
	bool active;
	bool hup;                   /* the peer has finished sending: read until 0 */
	bool first_sent;            /* the first, small piece is out */
	int error;                  /* negative errno that ended it early, 0 */
	struct nd_step step;        /* being carried out */
	uint64_t done_bytes;        /* of the step (stream) */
	uint32_t done_count;        /* of the step (datagrams) */
	uint64_t first_ns, last_ns; /* first payload byte sent or received; last */
	void *load;                 /* the load's state */
	struct nd_frame_state tx, rx;
	struct nd_counters c;
	struct nd_counters at_start, at_end; /* copies at the edges of the measured window */
	struct nd_flow *next_timed;
};

struct nd_io;

/* A way to move bytes over one kind of socket. send/recv do one system call (or one batch), fill and
 * take frames, and count. Return: messages moved (>= 1), 0 end of stream, -EAGAIN, other negative errno. */
struct nd_xfer {
	const char *name, *help;
	bool stream, datagram;
	uint32_t batch_max;                                /* datagrams per call */
	int (*open)(struct nd_io *io, struct nd_err *err); /* per worker; .tx_state/.rx_state */
	void (*close)(struct nd_io *io);
	int (*send)(struct nd_io *io, struct nd_flow *f);
	int (*recv)(struct nd_io *io, struct nd_flow *f);
};

/* Per-workload choices, resolved once per run. */
struct nd_lane {
	const struct nd_workload *workload;
	const struct nd_load *load;
	const struct nd_frame *frame;
	const struct nd_transport *transport;
	const struct nd_xfer *xfer;
	/* for steps that open or accept while the run goes on; NULL / -1 otherwise */
	const struct nd_addr *peer, *from;
	uint32_t from_n;
	int listen_fd;
};

/*
 * What a worker does when no flow can proceed. To add a policy: a row in waits.def.
 * idle() returns 0: wait in the kernel for an event; n > 0: sleep n ns (1: not at all), then try every
 * blocked flow again without asking the kernel which is ready.
 */
struct nd_wait {
	const char *name, *help;
	uint64_t (*idle)(struct nd_io *io, uint64_t now_ns);
};

/* One worker's view. Everything is owned by its worker thread unless said. */
struct nd_io {
	const struct nd_plan *plan;
	const struct nd_lane *lanes; /* shared, const */
	const struct nd_wait *wait;  /* NULL: block */
	struct nd_flow *flows;
	uint32_t flow_count, done_count;
	struct nd_counters c; /* sum over flows, kept in step */
	struct nd_hist *rtt;  /* rr: service times; NULL otherwise */

	uint8_t *
		tx_buf; /* shared by all workers, const while running (frames that fill use tx_own) */
	size_t tx_size;
	uint8_t *tx_own; /* own copy when the frame fills; NULL otherwise */
	uint8_t *rx_buf;
	size_t rx_size;
	void *xfer_state, *engine_state;

	/* Phases: the run sets the next edge; the engine calls edge() at the first operation past it and at
	 * a time-out when nothing happens. edge() moves .edge_ns on, and may set .stop_sending or .quit. */
	uint64_t edge_ns;
	void (*edge)(struct nd_io *io, uint64_t now_ns);
	void *run;         /* the worker, for edge() */
	bool stop_sending; /* set by edge(): flows get ND_HAP_STOP */
	bool quit;         /* set by edge(): leave the loop now */
	int wake_fd;       /* eventfd: main wants attention; wake() is called when readable */
	void (*wake)(struct nd_io *io, uint64_t now_ns);
};

struct nd_engine {
	const char *name, *help;
	bool moves;                                        /* false: null engine, moves nothing */
	int (*open)(struct nd_io *io, struct nd_err *err); /* allocate, register all flows */
	/* Until .quit, or all flows are DONE. Return 0, or negative errno (with @err) if the engine itself
	 * failed; a flow's failure is kept in its .error and ends that flow alone. */
	int (*run)(struct nd_io *io, struct nd_err *err);
	void (*close)(struct nd_io *io);
};

const struct nd_engine *nd_engine_at(size_t n);
const struct nd_engine *nd_engine_find(const char *name);
const char *nd_engine_names(size_t n, const char **ret_help);
/** nd_engine_auto() - blocking when a worker owns one flow, else epoll. */
const struct nd_engine *nd_engine_auto(uint32_t flows);
const struct nd_xfer *nd_xfer_at(size_t n);
/** nd_xfer_find() - the pair of that name for a stream or datagram transport; NULL: none. */
const struct nd_xfer *nd_xfer_find(const char *name, bool datagram);

/*
 * Shared by backends: nd_flow_turn() carries out steps on one flow until it blocks, must wait, is done, or
 * @budget operations are used; it asks the load for the next step after each, calls edge() when one is
 * past, and keeps first/last instants. Returns the flow's state.
 */
enum nd_flow_state nd_flow_turn(struct nd_io *io, struct nd_flow *f, unsigned budget);
/** nd_flow_begin() - START to the load at @start_ns, first step fetched; state set. */
void nd_flow_begin(struct nd_io *io, struct nd_flow *f, uint64_t start_ns);
/** nd_flow_stop() - STOP to the load: a sender half-closes, a receiver goes on draining. */
void nd_flow_stop(struct nd_io *io, struct nd_flow *f, uint64_t now_ns);
/** nd_io_tick() - edge and wake handling for engines that have waited: call with a fresh clock. */
void nd_io_tick(struct nd_io *io, uint64_t now_ns);

#endif
