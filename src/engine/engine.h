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
#include <time.h>

#include "frame/frame.h"
#include "load/load.h"
#include "net/net.h"
#include "plan/plan.h"
#include "stat/counters.h"
#include "stat/hist.h"

/* A worker with one flow may wait inside its calls, which saves a system call; edges are kept away. Who has done
 * nothing for twice as long is woken, once and again: see nd_io_guard(). */
#define ND_PATIENCE_NS (10 * ND_NS_PER_MS)

enum nd_flow_state {
	ND_FLOW_IDLE,    /* not started */
	ND_FLOW_READY,   /* has a step that may proceed now */
	ND_FLOW_BLOCKED, /* socket said EAGAIN */
	ND_FLOW_TIMED,   /* step waits for an instant */
	ND_FLOW_DONE,    /* this end has finished and seen the end */
};

/* What is remembered of a flow at an edge: ten thousand flows must stay small. */
struct nd_flow_bytes {
	uint64_t tx, rx;
};

/* One flow, owned by one worker. What each operation touches comes first, and fills whole cache lines: of ten
 * thousand flows none is still in the cache when its turn comes. */
struct nd_flow {
	int fd;
	int listen_fd;   /* where its next connections come from; -1: it is one connection */
	uint32_t number; /* within the workload */
	uint8_t state;   /* enum nd_flow_state */
	uint8_t workload;
	uint8_t half; /* second slot of a flow with two, see struct nd_load */
	bool active;
	bool hup; /* the peer has finished sending, or sent urgent bytes: read until 0, or EAGAIN */
	bool first_sent;         /* the first, small piece is out */
	bool readable, writable; /* no EAGAIN or short count since the last event: worth a call */
	bool queued;             /* in the engine's ready list */
	bool called;             /* a connection waits */
	bool unwatched;          /* the engine has to hear of its socket before it waits for it */
	bool parked;             /* in the engine's list of those that wait for one */
	bool half_closed;        /* nothing more is sent on it */
	bool over;               /* datagrams: the peer has said goodbye */
	int error;               /* negative errno that ended it early, 0 */
	struct nd_step step;     /* being carried out */
	uint64_t begun_ns;       /* of the step: the clock before its first call; 0: not begun */
	uint64_t done_bytes;     /* of the step (stream) */
	uint32_t done_count;     /* of the step (datagrams) */
	uint32_t posted;         /* sends on their way to the socket: engines that learn later */
	uint64_t first_ns, last_ns; /* first payload byte sent or received; last */
	void *load;                 /* the load's state */
	struct nd_counters c;
	struct nd_frame_state tx, rx;
	struct nd_flow_bytes at_start, at_end; /* at the edges of the measured window */
	uint32_t drops_before; /* datagrams: what the socket had dropped before the run */
	bool drops_known;      /* the socket tells */
	uint64_t timer_ns;     /* engine's: when it must be looked at again */
	uint32_t timer_slot;   /* engine's: place in its heap, plus 1; 0: not there */
	void *rest; /* of its way to receive and answer: what the socket did not take yet; NULL */
};

struct nd_io;

/* A way to send, or to receive, over one kind of socket. move() does one system call (or one batch), fills or
 * takes frames, counts, advances the step's .done_*, and reads the clock into io->now_ns behind the call. After
 * -EAGAIN or a short count it clears .readable or .writable. Return: messages moved (>= 1; datagrams that
 * were refused or foreign included), 0 end of stream, -EAGAIN, other negative errno. */
struct nd_xfer {
	const char *name, *help;
	bool sends; /* else it receives */
	bool stream, datagram;
	bool blind; /* the program does not see the bytes: only frames that need not fill, or take, them */
	bool heads;   /* datagrams: it sees what the frame looks at, .looks_bytes, and no more */
	bool one_way; /* not where each message is answered */
	bool hidden;  /* nobody asks for it by its name */
	bool never_blocks; /* its calls cannot be told not to block: the socket itself must, see nd_io_settle() */
	uint32_t batch_max; /* datagrams per call; 0: one */
	/* Per worker and lane, before the engine's open(): allocate io->tx_state[lane] or io->rx_state[lane].
	 * Called also for lanes in which the worker does not send (receive): there is nothing to do then. */
	int (*open)(struct nd_io *io, unsigned lane, struct nd_err *err);
	void (*close)(struct nd_io *io, unsigned lane); /* NULL state is fine */
	int (*move)(struct nd_io *io, struct nd_flow *f);
	/* A flow that came after open(); NULL: nothing to do. */
	void (*join)(struct nd_io *io, struct nd_flow *f);
	/* Sends that the socket has taken, and whose bytes it still needs: the flow is not done before they
	 * are over, or a time has passed. Also counts what is over. NULL: none ever. */
	uint32_t (*pending)(struct nd_io *io, struct nd_flow *f);
	/* ND_OP_ECHO: send back what move() received last, as the frame turned it. Return: 1, -EAGAIN, other
	 * negative errno. NULL: it cannot. */
	int (*answer)(struct nd_io *io, struct nd_flow *f);
};

/* Per-workload choices, resolved once per run. */
struct nd_lane {
	const struct nd_workload *workload;
	const struct nd_load *load;
	const struct nd_frame *frame;
	const struct nd_transport *transport;
	const struct nd_xfer *tx, *rx;
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

/* What the ways of a lane came to, for the report; written by its worker, stays after close(). */
struct nd_told {
	uint32_t tx_segments;       /* datagrams of one piece; 0: not sent in pieces */
	int tx_refused, rx_refused; /* errno by which the kernel refused pieces; 0 */
	uint64_t no_port;           /* connections that found no source port */
	uint64_t waits;     /* sends, but for a flow's first, that waited for their instant */
	int stamps_refused; /* likewise its stamps */
	/* answers in the window without the one, without the other, in no order */
	uint64_t no_tx_stamp, no_rx_stamp, odd_stamps;
};

/* A round trip in three, by the kernel's stamps. */
enum nd_part_of {
	ND_PART_SEND, /* from the program's call until the request has left the stack */
	ND_PART_PATH, /* until the answer is at the stack */
	ND_PART_READ, /* until the program has it */
	ND_PARTS
};

/* At the answering end: .._READ from the request being at the stack until the program has it, .._SEND as above, and
 * between them: */
#define ND_PART_TURN ND_PART_PATH

/* Where requests with an intended instant go: [1] those of the measured window, [0] all others. NULL: nowhere. */
struct nd_by_due {
	uint64_t from_ns, to_ns; /* the window as planned */
	struct nd_hist *service[2], *response[2], *late[2];
};

/*
 * One worker's view. Everything is owned by its worker thread unless said. Per-lane members have one entry
 * per workload of the plan.
 */
struct nd_io {
	const struct nd_plan *plan;
	const struct nd_lane *lanes; /* shared, const */
	unsigned lane_count;
	const struct nd_wait *wait; /* NULL: block, but nap in front of fast datagram flows */
	struct nd_flow *flows;
	uint32_t flow_count, done_count;
	uint32_t
		flow_room; /* slots of .flows; more than flow_count when flows come while it runs */
	bool open_ended;   /* being done with all flows is no reason to leave */
	struct nd_counters c[ND_MAX_WORKLOADS]; /* sum over the flows of each lane, kept in step */
	struct nd_hist *rtt[ND_MAX_WORKLOADS];  /* rr: service times; NULL otherwise */
	struct nd_hist *response[ND_MAX_WORKLOADS]; /* rr: from intended instants; or NULL */
	struct nd_by_due due[ND_MAX_WORKLOADS];     /* requests with intended instants */
	struct nd_hist *parts[ND_MAX_WORKLOADS][ND_CONN_PARTS]; /* of connections' lives; or NULL */
	/* round trips of the interval under way, beside those above; NULL: none */
	struct nd_hist *interval[ND_MAX_WORKLOADS];
	struct nd_hist
		*stamped[ND_MAX_WORKLOADS][ND_PARTS]; /* of round trips with stamps; or NULL */
	/* datagrams sent: ns from one call to the next, and how many each handed over; or NULL */
	struct nd_hist *gap[ND_MAX_WORKLOADS], *burst[ND_MAX_WORKLOADS];
	uint64_t sent_ns[ND_MAX_WORKLOADS]; /* of the last such call; 0: none */
	uint64_t sent_n[ND_MAX_WORKLOADS];  /* datagrams at that instant */

	/* tx_buf is made by the run: prepared by the lane's frame once, shared by all workers, const. Whatever
	 * else a transfer pair needs (receive buffer, own copies for frames that fill, iovecs, pipes) its
	 * open() allocates into tx_state[lane] or rx_state[lane] and close() frees. */
	const uint8_t *tx_buf[ND_MAX_WORKLOADS];
	size_t tx_size[ND_MAX_WORKLOADS];
	void *tx_state[ND_MAX_WORKLOADS], *rx_state[ND_MAX_WORKLOADS];
	struct nd_told told[ND_MAX_WORKLOADS];
	void *engine_state;
	/* the engine's: */
	uint64_t now_ns;  /* the clock as last read by this worker */
	uint64_t look_ns; /* when wake_fd is looked at although there is work */
	struct nd_flow
		*holder; /* whose turn it is, of those whose loads pass it on; NULL: nobody's yet */
	uint32_t far;    /* connections to come that are not asked whether they stand at once */
	bool stop_told;  /* all flows have heard of .stop_sending */
	bool rescan;     /* an edge or a wake-up may have changed flows' states */
	bool wait_before_recv; /* after a send the reply is not there yet: ask the kernel first */
	uint64_t nap_room;     /* bytes that a receive buffer holds; 0: never nap */
	uint64_t nap_fits;     /* datagrams in it, of the lengths that come */
	uint64_t nap_from_ns, nap_seen, nap_seen_bytes; /* the rate is taken since then */
	uint64_t nap_last;    /* datagrams seen when it could last go to sleep */
	uint64_t nap_most_ns; /* longer naps found the buffer too full */
	uint64_t nap_ns;      /* what the rate allows; 0: too slow, or too fast, to nap */
	bool nap_rests;       /* nothing came in the last nap */
	bool patient;  /* the one flow may wait inside its calls, for up to 3 * ND_PATIENCE_NS */
	bool one_way;  /* in those that send, too: nothing comes back that would wait meanwhile */
	bool blocks;   /* the one flow's socket does, unless told by a call */
	bool guarded;  /* .guard is there */
	bool guard_on; /* and under way */
	uint64_t guard_edge_ns; /* for this edge; 0: for none */
	bool coarse; /* nobody asks what single operations took: .now_ns may be a tick of the kernel old */
	bool clock_first; /* the one flow asks, or echoes: the clock is read in front of a send, not behind it */
	bool spins;      /* the one flow is tried over and over: no clock where there is nothing */
	bool recv_waits; /* this call of recv() may; its short count does not clear .readable */
	bool send_waits; /* this call that sends may */
	timer_t guard;   /* its signal ends calls that wait */

	/* Phases: the run sets the next edge; the engine calls edge() at the first operation past it and at
	 * a time-out when nothing happens. edge() moves .edge_ns on, and may set .stop_sending or .quit. */
	uint64_t edge_ns;
	uint64_t
		sample_ns; /* edge() has something to do by then that keeps no call from waiting; 0: nothing */
	uint64_t still_ns; /* .c was then what it is now, but for one operation; 0: not known */
	void (*edge)(struct nd_io *io, uint64_t now_ns);
	void *run;         /* the worker, for edge() */
	bool stop_sending; /* set by edge(): flows get ND_HAP_STOP */
	bool quit;         /* set by edge(): leave the loop now */
	int wake_fd; /* eventfd: main wants attention; wake() is called when readable (it reads the fd) */
	void (*wake)(struct nd_io *io, uint64_t now_ns);
	/* OPEN: start to connect, into f->fd. 0: it is, 1: under way, negative errno. NULL: there is no OPEN */
	int (*connect)(struct nd_io *io, struct nd_flow *f);
	bool (*admits)(struct nd_io *io,
		       int fd); /* one that came while it runs; NULL: all are welcome */
	/* where the flow was to be connected to; NULL: nobody knows */
	void (*peer)(const struct nd_io *io, const struct nd_flow *f, struct nd_addr *ret);
	void (*flow_done)(struct nd_io *io,
			  struct nd_flow *f); /* once per flow, when it becomes DONE */
};

struct nd_engine {
	const char *name, *help;
	bool connects;                                     /* carries out OPEN, CLOSE, ACCEPT */
	bool moves;                                        /* false: null engine, moves nothing */
	int (*open)(struct nd_io *io, struct nd_err *err); /* allocate, register all flows */
	/* Until .quit, or all flows are DONE. Return 0, or negative errno (with @err) if the engine itself
	 * failed; a flow's failure is kept in its .error and ends that flow alone. */
	int (*run)(struct nd_io *io, struct nd_err *err);
	void (*close)(struct nd_io *io);
	/* A flow that came after open(): slot filled, begun by nd_flow_begin(). NULL: cannot. */
	int (*add)(struct nd_io *io, struct nd_flow *f);
};

const struct nd_engine *nd_engine_at(size_t n);
const struct nd_engine *nd_engine_find(const char *name);
/** nd_engine_lacks() - the library without which this program was built, so that engine @name is not in it;
 * NULL: it is, or nobody knows it. */
const char *nd_engine_lacks(const char *name);
const char *nd_engine_names(size_t n, const char **ret_help);
/** nd_engine_auto() - what suits the worker's flows, which are known: blocking for one; uring, where
 * the kernel has its newer ways, for many that ask and answer over streams by copies; else epoll. */
const struct nd_engine *nd_engine_auto(const struct nd_io *io);
const struct nd_wait *nd_wait_at(size_t n);
const struct nd_wait *nd_wait_find(const char *name);
const char *nd_wait_names(size_t n, const char **ret_help);
const struct nd_xfer *nd_xfer_at(size_t n);
/** nd_xfer_find() - the way of that name to send (receive) over a stream or datagram transport; NULL: none. */
const struct nd_xfer *nd_xfer_find(const char *name, bool sends, bool datagram);
/** nd_xfer_tx_names() - ways to send, each name once: streams and datagrams may share one. */
const char *nd_xfer_tx_names(size_t n, const char **ret_help);
const char *nd_xfer_rx_names(size_t n, const char **ret_help);

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
/** nd_io_may_wait() - may this call block, until nd_io_guard() ends it? */
bool nd_io_may_wait(const struct nd_io *io, const struct nd_flow *f);
/** nd_io_tick() - edge and wake handling for engines that have waited: call with a fresh clock. */
void nd_io_tick(struct nd_io *io, uint64_t now_ns);

#endif
