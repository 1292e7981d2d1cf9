/* SPDX-License-Identifier: MIT */
/*
 * Workers, phases, clock, sampler: the only threads of the program. A run is one end's share of one
 * test. The main thread makes it, gives it sockets or addresses, starts it at an instant, and polls
 * nd_run_fd(); results are read when it is over.
 *
 * Phases of a worker: set up (flows open) -> ready -> warm up -> measure -> cool down -> drain -> over.
 * Each worker snapshots its own counters at its first operation past an edge, with the true instant.
 */
#ifndef ND_RUN_RUN_H
#define ND_RUN_RUN_H

#include "base/err.h"
#include "engine/engine.h"
#include "net/net.h"
#include "os/os.h"
#include "plan/plan.h"
#include "result/result.h"

struct nd_run;

/* How the client's flows introduce themselves; worked out by the dialect, opaque here. */
struct nd_greeting {
	uint8_t hello[64]; /* sent first on each stream flow; as a datagram on datagram flows */
	uint32_t hello_bytes;
	uint32_t flow_at;  /* a 4-byte big-endian flow number is written here */
	uint32_t quiet_at; /* likewise 1, where no answer is wanted; 0: each flow is answered */
	uint8_t answer
		[64]; /* what the peer answers when the flow is accepted; flow number likewise */
	uint32_t answer_bytes;
	uint32_t answer_flow_at;
	uint32_t resend_ms; /* datagrams: repeat the hello until answered */
	uint32_t queue; /* connections that may wait until the peer accepts them; 0: not known */
};

/* Where a stretch of flows goes; routes follow one another in the order of flow numbers. */
struct nd_route {
	struct nd_addr to; /* port of its first flow */
	uint64_t flows;
	uint64_t flows_per_port; /* the port counts on after so many; 0: never */
	int64_t cpu;             /* worker of its own on this CPU; -1: any worker */
	const char *source;      /* of a group: only what comes from there; NULL. Borrowed */
};

struct nd_run_cfg {
	const struct nd_plan *plan; /* borrowed, const while the run lives */
	enum nd_end_kind end;       /* which end this is */
	const struct nd_addr *peer; /* client: where to connect, when there are no routes */
	/* borrowed; client: covers all flows; open-ended: CPUs of those that come */
	const struct nd_route *routes;
	uint32_t route_n;
	const struct nd_addr *from; /* client: source addresses, .from_n (0: any) */
	uint32_t from_n;
	const char *dev; /* client: bind to this device, or NULL */
	/* client: the flows' hello, [0] of streams, [1] of datagrams; NULL: none */
	const struct nd_greeting *greeting;
	uint32_t threads; /* workers of this end */
	const char *nic;  /* interface of the test's address: --pin auto, counters; NULL: unknown */
	uint16_t source_port; /* client: flow k binds to this + k; 0: any */
	const struct nd_cidr *
		allow; /* server: whose connections its workers accept, borrowed, .allow_n (0: all) */
	uint64_t allow_n;
};

/** nd_pin_check() - are the CPUs of --pin, and of mappings, such as this program may use? None and "auto" are.
 * -EINVAL. */
ND_MUST_CHECK int nd_pin_check(const struct nd_plan *plan, struct nd_err *err);
/** nd_run_check() - can this end run the plan: names known, engine fits transport, descriptors and source
 * ports suffice. Opens nothing. A sentence in @err. */
ND_MUST_CHECK int nd_run_check(const struct nd_run_cfg *cfg, struct nd_err *err);

/** nd_run_new() - create workers; on the client they begin to open their flows at once, on the server they
 * wait for nd_run_give(). Main thread. */
ND_MUST_CHECK int nd_run_new(const struct nd_run_cfg *cfg, struct nd_run **ret, struct nd_err *err);

/** nd_run_worker_of() - who has flow @flow; not of open-ended runs, whose flows are dealt out as they come. */
uint32_t nd_run_worker_of(const struct nd_run *r, uint64_t flow);
/** nd_run_cpu_of() - where worker @worker runs by --pin; -1: anywhere, or there is no such worker. */
int64_t nd_run_cpu_of(const struct nd_run *r, uint32_t worker);

/** nd_run_give() - server: hand an accepted socket over for flow @flow (number over the test). Takes @fd
 * even on failure. -EEXIST: that flow has one already; -ERANGE: no such flow. */
ND_MUST_CHECK int nd_run_give(struct nd_run *r, uint64_t flow, int fd, struct nd_err *err);
/** nd_run_give_at() - the same of an open-ended run with routes: the flow has come to route number @route. */
ND_MUST_CHECK int nd_run_give_at(struct nd_run *r, uint64_t flow, int route, int fd,
				 struct nd_err *err);

/** nd_run_flows_given() - open-ended runs: sockets handed over so far, and how many of them are still open. */
uint64_t nd_run_flows_given(const struct nd_run *r, uint64_t *ret_open);

/* State for the main thread's event loop. nd_run_fd() is readable when it may have changed. */
enum nd_run_state {
	ND_RUN_SETUP,   /* flows are opening */
	ND_RUN_READY,   /* all flows are there, waiting for nd_run_start() */
	ND_RUN_RUNNING, /* between start and the end of sending */
	ND_RUN_SENT,    /* this end's senders have finished; receivers go on */
	ND_RUN_OVER,    /* all workers have ended; nd_run_result() may be called */
	ND_RUN_FAILED   /* set-up failed: nd_run_error() */
};

int nd_run_fd(const struct nd_run *r);
enum nd_run_state nd_run_poll(struct nd_run *r); /* clears the fd, returns the state */
const struct nd_err *nd_run_error(const struct nd_run *r);
uint64_t nd_run_flows_ready(const struct nd_run *r);

/** nd_run_sockets() - have @see look at the descriptor of each flow and its settings, between READY and the start.
 * None where workers have tables of their own. */
void nd_run_sockets(const struct nd_run *r, void (*see)(void *user, int fd), void *user);

/** nd_run_start() - all flows begin at @at_ns (this host's monotonic clock). */
void nd_run_start(struct nd_run *r, uint64_t at_ns);
/** nd_run_finish() - peer's senders have finished: receivers drain until end of stream (stream) or until
 * nothing has come for @quiet_ns (datagram), at most until @deadline_ns. */
void nd_run_finish(struct nd_run *r, uint64_t quiet_ns, uint64_t deadline_ns);
/** nd_run_stop() - end now, keep what was measured (SIGINT, peer lost): result is partial. */
void nd_run_stop(struct nd_run *r);

/** nd_run_intervals() - intervals that every worker has completed; index 0 is the first after the start,
 * warm-up included. nd_run_interval() sums interval @i of workload @workload over workers; may be called
 * while running. Main thread. */
uint32_t nd_run_intervals(const struct nd_run *r);
void nd_run_interval(const struct nd_run *r, unsigned workload, uint32_t i,
		     struct nd_interval_sample *ret);

/** nd_run_result() - once per run: fill this end's measurements (struct nd_side) in @a. After ND_RUN_OVER. */
ND_MUST_CHECK int nd_run_result(struct nd_run *r, struct nd_arena *a, struct nd_side *ret,
				struct nd_err *err);
/** nd_run_note() - the next entry of a worker's diary; may be called while running. Main thread. False: no more. */
bool nd_run_note(struct nd_run *r, struct nd_diary_entry *ret);
/** nd_run_take_samples() - after ND_RUN_OVER: the instants that were kept, a log of each worker, now the caller's.
 * Return: how many. */
size_t nd_run_take_samples(struct nd_run *r, struct nd_samples **ret, size_t room);
/** nd_run_free() - stops and joins what still runs. NULL is fine. */
void nd_run_free(struct nd_run *r);

#endif
