/* SPDX-License-Identifier: MIT */
/*
 * Traffic shapes as pure state machines: told what happened on a flow, they say what comes next. No
 * descriptors, no clock of their own; tested by feeding events.
 * To add a shape: src/load/x.c with a const struct nd_load, one row in loads.def.
 */
#ifndef ND_LOAD_LOAD_H
#define ND_LOAD_LOAD_H

#include "base/err.h"
#include "plan/plan.h"

enum nd_op {
	ND_OP_SEND, /* .count messages of .bytes each (stream: count is 1) */
	ND_OP_RECV, /* stream: exactly .bytes more, or whatever comes when .bytes is 0; datagrams: up to .count */
	ND_OP_ECHO, /* send the batch just received back to where it came from */
	ND_OP_OPEN, /* a new connection in this slot, not before .at_ns; OPENED, or CLOSED with an error */
	ND_OP_CLOSE,  /* close it; CLOSED */
	ND_OP_ACCEPT, /* take the next connection into this slot; OPENED */
	ND_OP_WAIT,   /* nothing until .at_ns */
	ND_OP_FINISH, /* no more sending: half-close (stream); the flow is done for this end */
	ND_OP_DRAIN,  /* read and count until end of stream or the run ends it */
	ND_OP_PASS, /* the worker's other flows that pass go first, one after the other; TIME when it is this one's turn */
	ND_OP_KEEP, /* answer to STOP alone: go on with the step in hand */
};

/* What to do next on one flow. A step carries a count, so a burst is one call into the engine. */
struct nd_step {
	enum nd_op op;
	uint32_t count;      /* messages; 0 counts as 1 */
	uint64_t bytes;      /* of one message */
	uint64_t at_ns;      /* not before this instant; 0: now */
	const uint64_t *due; /* .count intended instants, or NULL; owned by the load's state */
	uint64_t until_ns; /* RECV: TIME happens when nothing has come by then; 0: wait for ever */
	bool reply;        /* SEND of datagrams: carries the number of the message received last */
	bool last; /* SEND over a stream: CLOSE comes next, and the end may go with these bytes */
	uint8_t asks; /* SEND: no message, but the frame's question number (less 1) what has arrived; 0: none */
};

enum nd_happened {
	ND_HAP_START,    /* the flow may begin; .now_ns is the agreed start */
	ND_HAP_SENT,     /* .count messages, .bytes in all, are with the kernel: the whole step */
	ND_HAP_RECEIVED, /* .count messages, .bytes in all */
	ND_HAP_OPENED,
	ND_HAP_CLOSED, /* by us, or end of stream: .error 0; else negative errno */
	ND_HAP_TIME, /* .at_ns of a WAIT, or .until_ns of a RECV, came; a SEND was skipped; after PASS */
	ND_HAP_STOP, /* the run's time is over: finish now; .bytes: done of the step in hand */
};

struct nd_event {
	enum nd_happened what;
	uint8_t half; /* 0, or 1 for the second slot of a flow with two */
	uint32_t count;
	int error;
	uint64_t bytes;
	uint64_t now_ns;   /* read after the call that made it happen */
	uint64_t begun_ns; /* SENT: the clock before the step's first call */
	uint64_t seq;      /* SENT, RECEIVED: number of the last message, plus 1; 0: it had none */
};

/* Parts of a connection's life, each timed by the end that opens it. */
enum nd_conn_part {
	ND_CONN_OPENED,   /* from asking for it until it is there */
	ND_CONN_ANSWERED, /* from then until the whole answer has come */
	ND_CONN_ENDED,    /* from the answer, or from being there, to the peer's end */
	ND_CONN_PARTS
};

/* What a load may tell its worker beyond the step: a round trip, for the histogram. 0: none. */
struct nd_note {
	uint64_t service_ns;  /* from actual send */
	uint64_t response_ns; /* from intended send */
	uint32_t transactions;
	uint32_t lost; /* requests whose answers did not come in time */
	uint64_t
		due_ns; /* the request's intended instant: in which window it counts; 0: it has none */
	uint64_t late_ns; /* sent so much behind it, where .scheduled says so */
	bool scheduled;
	uint8_t part;     /* enum nd_conn_part: what .part_ns is of */
	uint64_t part_ns; /* a part of a connection's life took so long */
};

/* Settings of one flow, worked out once from the plan. */
struct nd_load_cfg {
	const struct nd_workload *workload;
	bool active;        /* this end sends / asks */
	uint64_t flow;      /* index within the workload */
	uint64_t bytes;     /* this flow's share of total_bytes; 0: by time */
	uint64_t ops;       /* likewise of total_ops; 0, too: the other end counts */
	double bytes_per_s; /* this flow's share of the rate; 0: unlimited */
	uint32_t batch_max; /* datagrams the engine takes in one step */
	bool datagram;
};

/* What an end of an exchange, or of a stream, sends and receives, over and over. */
struct nd_cycle {
	uint64_t tx,
		rx;   /* bytes of one message; 0 and 0: whatever comes goes back, RECV and ECHO */
	bool timed;   /* the asking end: its round trip is to be noted */
	bool reply;   /* as in struct nd_step */
	bool one_way; /* no exchange: one end sends messages of .tx, the other reads whatever comes */
};

#define ND_LOAD_STREAM 1u /* .needs: bytes in order */

struct nd_load {
	const char *name, *help;
	size_t state_bytes; /* per flow, zeroed before init */
	int (*init)(void *state, const struct nd_load_cfg *cfg);
	/* Called once per event; never blocks, allocates, reads a clock. Writes all of *ret and *note. */
	void (*next)(void *state, const struct nd_event *ev, struct nd_step *ret,
		     struct nd_note *note);
	unsigned needs; /* enum nd_net_caps bits that the transport must have: 0 any */
	/* Slots per flow at the active end, the other has one: 0 and 1: one. 2: one slot sends while the other receives on the same socket and the
	 * same state (open loop); init is called once, next() tells them apart by .half of the event. */
	unsigned halves;
	bool round_trips; /* notes carry round-trip times worth a histogram */
	bool times;       /* notes carry times of operations, of either end */
	bool connects;    /* opens and closes, or accepts and closes, connections as it goes on */
	bool asks_first;  /* .connects: the end that opens one sends at once */
	/* From the step that begins an exchange, SEND where this end asks, RECV where it answers: is one whole exchange
	 * like the other until STOP, with a note of its round trip alone at the asking end, or of nothing, and does the
	 * state need to hear of none? Of a stream: is each operation? Writes all of *ret then. NULL: no. */
	bool (*repeats)(const void *state, struct nd_cycle *ret);
	/* State behind .state_bytes that only some workloads need; NULL: none. */
	size_t (*more_bytes)(const struct nd_workload *workload);
};

const struct nd_load *nd_load_at(size_t n);
const struct nd_load *nd_load_find(const char *name);
const char *nd_load_names(size_t n, const char **ret_help);

/* Bounded-credit pacing, shared by shapes: a stall is not caught up beyond one chunk. */
struct nd_pace {
	double ns_per_byte; /* 0: unlimited */
	uint64_t next_ns;   /* intended instant of the next message */
	uint64_t slack_ns;  /* how far behind is still caught up; ND_UNKNOWN: all of it */
	double rest_ns;     /* what next_ns cannot hold: slow error would add up */
};

/** nd_pace_init() - nothing is due yet. @bytes_per_s: 0 is unlimited. */
void nd_pace_init(struct nd_pace *p, double bytes_per_s, uint64_t slack_ns);
/** nd_pace_take() - intended instant of a message of @bytes; moves the schedule on. */
uint64_t nd_pace_take(struct nd_pace *p, uint64_t bytes, uint64_t now_ns);

#endif
