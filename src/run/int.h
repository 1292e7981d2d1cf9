/* SPDX-License-Identifier: MIT */
/* What the files of run/ share: the run, its workers, their phases. Nobody else includes this. */
#ifndef ND_RUN_INT_H
#define ND_RUN_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "run/run.h"
#include "stat/series.h"

/* Where a worker is in the schedule; the order is the order of time. */
enum nd_phase {
	ND_PHASE_WARMUP,
	ND_PHASE_MEASURE,
	ND_PHASE_COOLDOWN,
	ND_PHASE_DRAIN,
	ND_PHASE_MAX
};

extern const char *const nd_phase_names[];

/* Edges of a run: one list of instants, walked by every worker on its own. */
struct nd_schedule {
	uint64_t bound
		[ND_PHASE_DRAIN]; /* ns after the start at which warm-up, measure, cool-down end */
	uint64_t interval_ns;
	uint64_t least_ns; /* a shorter remainder belongs to the interval before it */
};

/** nd_schedule_next() - the edge behind @at_ns in phase @phase: next interval or the phase's end. */
uint64_t nd_schedule_next(const struct nd_schedule *s, enum nd_phase phase, uint64_t at_ns);
/** nd_schedule_marks() - how many edges a run can have, the start and the very end included. */
uint64_t nd_schedule_marks(const struct nd_schedule *s);

/** nd_schedule_phase() - phase of interval number @interval; behind the last edge: drain. */
enum nd_phase nd_schedule_phase(const struct nd_schedule *s, uint64_t interval);

/* Worker states, published by the worker (release), read by the main thread. */
enum nd_worker_state {
	ND_WORKER_SETUP,
	ND_WORKER_READY,
	ND_WORKER_RUNNING,
	ND_WORKER_SENT,
	ND_WORKER_OVER,
	ND_WORKER_FAILED
};

/* Round trips and windows of sampled TCP senders, per lane. */
struct nd_tcp_tally {
	struct nd_hist *rtt; /* ns; NULL when the lane has no TCP sender here */
	double cwnd_sum;
	uint64_t cwnd_n;
	uint32_t turn; /* next flow to sample */
	/* sums of last samples, over flows that told */
	uint64_t flows, retransmits, busy_us, rwnd_us, sndbuf_us, delivery_Bps, mss_bytes;
};

/* What a flow's row shows of its last tcp_info; UINT32_MAX: not told. Ten thousand of them must stay small. */
struct nd_tcp_end {
	uint32_t retransmits, rtt_us, cwnd_segments;
};

/* Round trips of single intervals: a worker fills one after the other, the main thread empties them. */
#define ND_BEATS 4u

struct nd_beat {
	struct nd_hist *hist; /* owned */
	uint32_t interval;    /* that it is filled for; writer: the worker, while it is free */
	_Atomic bool taken;   /* writer: the worker sets it (relaxed), main clears it (release) */
};

/* What an interval's round trips came to; .count 0: none, or not known. */
struct nd_beat_sum {
	uint64_t count;
	double p50_us, p99_us, max_us;
};

/* A socket on its way from the main thread to the worker that owns its flow. */
struct nd_gift {
	uint64_t flow;
	int fd;
};

struct nd_worker {
	struct nd_run *run;
	uint32_t index;
	bool started;
	pthread_t thread;
	struct nd_err err;       /* written before FAILED is published */
	_Atomic int state;       /* enum nd_worker_state; writer: this worker */
	_Atomic uint64_t opened; /* flows with a socket; writer: this worker */
	_Atomic uint64_t closed; /* of them, done; writer: this worker */

	struct nd_io io;
	const struct nd_engine *engine;
	struct nd_flow *flows; /* owned */
	void *load_states;     /* owned: one block for all flows */
	size_t state_bytes;
	uint64_t flow_n, closed_n;  /* flows, not slots; of them, done */
	uint64_t ports_used;        /* source ports taken in turn so far */
	struct nd_seq *seqs;        /* owned: datagram receivers */
	void *frame_states;         /* owned: two for each slot; NULL: the frame has none */
	struct nd_samples *samples; /* owned; NULL: none are kept. Drained by the sampler. */
	uint32_t lane_slot[ND_MAX_WORKLOADS]; /* first slot of each lane, and how many */
	uint32_t lane_slots[ND_MAX_WORKLOADS];
	struct nd_series series[ND_MAX_WORKLOADS];
	uint64_t *retransmits[ND_MAX_WORKLOADS]; /* at each mark, sampled; owned, may be NULL */
	struct nd_tcp_tally tcp[ND_MAX_WORKLOADS];
	/* round trips of the measured window, and all others; io.rtt points to the one in use */
	struct nd_hist *rtt_window[ND_MAX_WORKLOADS], *rtt_rest[ND_MAX_WORKLOADS];
	/* of the window */
	struct nd_hist *response[ND_MAX_WORKLOADS], *late[ND_MAX_WORKLOADS];
	struct nd_hist *parts[ND_MAX_WORKLOADS][ND_CONN_PARTS]; /* NULL: nothing is opened here */
	struct nd_hist *stamped[ND_MAX_WORKLOADS][ND_PARTS];    /* NULL: no stamps are asked for */
	struct nd_beat beat[ND_MAX_WORKLOADS][ND_BEATS];        /* NULL hist: none here */
	/* datagrams sent in the measured window; NULL: none here */
	struct nd_hist *gap[ND_MAX_WORKLOADS], *burst[ND_MAX_WORKLOADS];
	struct nd_net_facts
		facts[ND_MAX_WORKLOADS]; /* first socket of each lane; strings in .arena */
	struct nd_tcp_sample only[ND_MAX_WORKLOADS]; /* of a run's only flow, .has_only */
	bool has_facts[ND_MAX_WORKLOADS], has_only[ND_MAX_WORKLOADS];
	uint64_t
		retransmitted[ND_MAX_WORKLOADS]; /* by an end that is not active, with .has_facts */
	struct nd_arena arena;
	uint32_t forgotten;      /* slots before it are; main thread, after the run */
	struct nd_tcp_end *last; /* owned: of each flow; NULL: no TCP sender */

	/* phases, this worker only */
	enum nd_phase phase;
	bool draining;        /* the peer has finished: leave when nothing comes any more */
	uint64_t start_ns;    /* agreed start */
	uint64_t edge_rel_ns; /* next edge of the schedule, after the start */
	uint32_t marks, window_from, window_to; /* mark numbers; window_to 0: not reached */
	uint64_t window_end_ns;                 /* true instant */
	uint64_t sample_ns;                     /* next look at a TCP sender */
	uint64_t mark_ns;                       /* of the last mark */
	uint32_t active_left;                   /* sending flows that have not finished */
	uint64_t quiet_count, quiet_since_ns;   /* drain: datagrams seen, and since when no more */

	/* gifts: main writes, worker reads, guarded by .lock; or a socket pair with own tables */
	pthread_mutex_t lock;
	struct nd_gift *gifts;  /* owned */
	size_t gift_at, gift_n; /* gifts from gift_at to gift_n wait */
	uint64_t handed_n;      /* of all gifts; main thread only */
	int pair[2];            /* [0] main's end, [1] worker's; -1 without own tables */
	int wake_fd;
};

struct nd_run {
	struct nd_run_cfg cfg;
	struct nd_lane lanes[ND_MAX_WORKLOADS];
	uint64_t flow_n;
	struct nd_schedule schedule;
	uint8_t *tx_buf[ND_MAX_WORKLOADS]; /* owned */
	size_t tx_size[ND_MAX_WORKLOADS];
	struct nd_worker *workers; /* owned */
	uint32_t *pin_cpus;        /* owned; NULL: not pinned */
	uint8_t *given;            /* owned: one bit per flow, main thread only */
	uint16_t *owner;           /* owned: worker of each flow; NULL: open-ended */
	uint32_t *slot;   /* owned: first slot of each flow at its worker; NULL: open-ended */
	uint64_t given_n; /* main thread only */
	struct nd_beat_sum *beats[ND_MAX_WORKLOADS]; /* owned; main thread only */
	uint32_t beat_n, beat_room;

	/* commands; writer: the main thread, before it writes the worker's wake_fd */
	_Atomic uint64_t start_ns; /* 0: not yet */
	_Atomic uint64_t quiet_ns; /* 0: no finish yet */
	_Atomic uint64_t finish_deadline_ns;

	/* sampler: a thread that sleeps until the window's edges */
	pthread_t sampler;
	struct nd_os *os; /* sampler's, then main's */
	struct nd_os_sample before, window_start, window_end, after;
	struct nd_os_detail queues_start, queues_end; /* of one interface; .at_ns 0: not read */
	struct nd_perf *perf;
	uint64_t cycles_start, cycles_end;
	unsigned lane_n;
	uint32_t worker_n, pin_n;
	uint32_t
		apart_n; /* a loaded test: of the workers, those of requests, the first ones; 0: mixed */
	uint32_t bound_n; /* of the workers: bound to the CPU of a route, the first ones */
	int sampler_fd;
	int main_fd;                /* eventfd: a worker's state or series has moved */
	_Atomic bool stop;          /* a command, as start_ns */
	_Atomic bool window_closed; /* main: all workers are past the window; sampler samples now */
	bool own_tables, sampling;
	bool by_bytes; /* some workload ends by bytes, not by time */
	bool has_before, has_window_start, has_window_end, has_after;
};

static inline const struct nd_lane *nd_lane_of(const struct nd_worker *w, const struct nd_flow *f)
{
	return &w->run->lanes[f->workload];
}

/* May sockets be open yet when the run is over? What is kept per flow stays until nd_run_free() then. */
static inline bool nd_flows_stay(const struct nd_run *r)
{
	return r->cfg.plan->keep_open || r->lanes[0].load->connects;
}

/* setup.c: the client's flows. */
ND_MUST_CHECK int nd_setup_open(struct nd_worker *w); /* connect and greet; fills w->err */
/* connect.c: one connection, and what both ends do with their sockets. */
/** nd_acks_with_request() - do the lane's connections end their handshakes with requests? */
bool nd_acks_with_request(const struct nd_run *r, unsigned lane);
ND_MUST_CHECK int nd_setup_dial(const struct nd_worker *w, struct nd_flow *f,
				const struct nd_sockopts *o, struct nd_err *err); /* as nd_open() */
int nd_setup_connect(struct nd_io *io, struct nd_flow *f); /* while it runs: nd_io.connect */
bool nd_setup_admits(struct nd_io *io, int fd);            /* likewise, nd_io.admits */
void nd_setup_peer(const struct nd_io *io, const struct nd_flow *f, struct nd_addr *ret);
void nd_setup_pace(const struct nd_worker *w, const struct nd_flow *f);
ND_MUST_CHECK int nd_setup_busy_poll(struct nd_worker *w, const struct nd_flow *f);
/* Second halves share the socket through a descriptor of their own. */
ND_MUST_CHECK int nd_setup_halves(struct nd_worker *w);
/* gifts.c: at the server. */
ND_MUST_CHECK int nd_setup_await(struct nd_worker *w);         /* wait for gifts */
bool nd_gift_keep(struct nd_worker *w, uint64_t flow, int fd); /* any thread; false: no memory */
void nd_setup_collect(struct nd_worker *w); /* empty the socket pair, or main would have to wait */
void nd_setup_grow(struct nd_worker *w);    /* open-ended, while it runs: take gifts up at once */

/* table.c: own descriptor tables. */
ND_MUST_CHECK int nd_table_unshare(const int *keep, size_t keep_n, struct nd_err *err);
ND_MUST_CHECK int nd_table_send(int pair, uint64_t flow, int fd);
int nd_table_recv(int pair, uint64_t *ret_flow, int *ret_fd); /* -EAGAIN, -errno */
/* layout.c: which flow belongs to whom. */
ND_MUST_CHECK int nd_layout_plan(struct nd_run *r,
				 struct nd_err *err); /* workers and owners; main thread */
/* @route: where the flow of an open-ended run came to; -1: anywhere. */
uint32_t nd_layout_owner(const struct nd_run *r, uint64_t flow, int route);
int nd_layout_route(const struct nd_run *r, uint64_t flow, uint64_t *ret_at);
struct nd_flow *nd_layout_grow(struct nd_worker *w, uint64_t flow); /* open-ended; NULL: no room */
struct nd_flow *nd_layout_flow(struct nd_worker *w, uint64_t flow); /* first slot; NULL: not ours */
unsigned nd_layout_halves(const struct nd_lane *lane, bool active);
ND_MUST_CHECK int nd_layout_flows(struct nd_worker *w, struct nd_err *err);
void nd_layout_forget(struct nd_worker *w, uint32_t slot); /* nobody reads those before it again */
void nd_layout_done(struct nd_worker *w);
/* route.c */
/** nd_route_multicast() - of what sender of its group flow @flow hears; NULL: of all. */
const char *nd_route_multicast(const struct nd_run *r, uint64_t flow);
void nd_route_peer(const struct nd_run *r, uint64_t flow, struct nd_addr *ret);
bool nd_route_source(const struct nd_run *r, uint64_t flow, const struct nd_addr *peer,
		     struct nd_addr *ret);
/** nd_route_port() - the flow's source address, any where it has none, with @port. */
void nd_route_port(const struct nd_run *r, uint64_t flow, const struct nd_addr *peer, uint64_t port,
		   struct nd_addr *ret); /* false: any */
/* worker.c */
void *nd_worker_main(void *worker);
void nd_worker_publish(struct nd_worker *w, enum nd_worker_state state);
bool nd_worker_stopped(const struct nd_worker *w);
void nd_worker_drain_wake(struct nd_worker *w);
/* phase.c: edges, marks and the end of a worker. */
void nd_phase_begin(struct nd_worker *w, uint64_t now_ns);
void nd_phase_edge(struct nd_io *io, uint64_t now_ns);
void nd_phase_wake(struct nd_io *io, uint64_t now_ns);
void nd_phase_flow_done(struct nd_io *io, struct nd_flow *f);
void nd_phase_end(struct nd_worker *w, uint64_t now_ns);
/* sampler.c */
ND_MUST_CHECK int nd_sampler_start(struct nd_run *r, struct nd_err *err);
void nd_sampler_stop(struct nd_run *r);
/* pin.c */
ND_MUST_CHECK int nd_pin_plan(struct nd_run *r, struct nd_err *err); /* main thread */
ND_MUST_CHECK int nd_pin_self(const struct nd_run *r, uint32_t worker, struct nd_err *err);
/* check.c */
ND_MUST_CHECK int nd_lanes_fill(const struct nd_plan *plan, struct nd_lane *lanes,
				struct nd_err *err);
uint64_t nd_fds_needed(const struct nd_plan *plan, const struct nd_lane *lanes);
ND_MUST_CHECK int nd_fds_judge(const struct nd_plan *plan, const struct nd_lane *lanes,
			       uint32_t workers, struct nd_err *err);
/* beat.c: round trips per interval. */
ND_MUST_CHECK int nd_beat_new(struct nd_worker *w, unsigned lane); /* -ENOMEM */
void nd_beat_next(struct nd_worker *w, uint32_t interval);         /* the worker, at an edge */
void nd_beat_collect(struct nd_run *r);                            /* the main thread */
void nd_beat_interval(const struct nd_run *r, unsigned lane, uint32_t i,
		      struct nd_interval_sample *ret);
void nd_beat_done(struct nd_worker *w, unsigned lane);
/* latency.c: times of a lane that asks, for the result. NULL: it does not. */
ND_MUST_CHECK int nd_collect_latency(const struct nd_run *r, unsigned lane, struct nd_arena *a,
				     struct nd_latency **ret);
/** nd_collect_turns() - the same of the end that answers: where answers spent their time there. NULL: not asked for. */
ND_MUST_CHECK int nd_collect_turns(const struct nd_run *r, unsigned lane, struct nd_arena *a,
				   struct nd_parted **ret);
/* times.c: the same of any lane, from samples and histograms. 0, -ENOMEM. */
ND_MUST_CHECK int nd_collect_tcp(const struct nd_run *r, unsigned lane, struct nd_part *p);
ND_MUST_CHECK int nd_collect_rtt(const struct nd_run *r, unsigned lane, struct nd_arena *a,
				 struct nd_part *p);
ND_MUST_CHECK int nd_collect_calls(const struct nd_run *r, unsigned lane, struct nd_part *p);
/* collect.c: what one workload came to, after the workers have ended. */
ND_MUST_CHECK int nd_collect_part(struct nd_run *r, unsigned lane, struct nd_arena *a,
				  struct nd_part *ret, struct nd_err *err);

/** nd_is_active() - does this end send (stream) or ask (rr) in the workload? */
static inline bool nd_is_active(const struct nd_run *r, unsigned lane)
{
	return r->lanes[lane].workload->active == r->cfg.end;
}

static inline bool nd_is_datagram(const struct nd_lane *lane)
{
	return (lane->transport->caps & ND_NET_DATAGRAM) != 0;
}

#endif
