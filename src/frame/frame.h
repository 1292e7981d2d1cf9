/* SPDX-License-Identifier: MIT */
/*
 * What stands in the bytes. Memory only; each call gets a whole batch, the loop is inside.
 * To add a frame: src/frame/x.c with a const struct nd_frame, one row in frames.def.
 */
#ifndef ND_FRAME_FRAME_H
#define ND_FRAME_FRAME_H

#include <sys/uio.h>

#include "base/err.h"
#include "plan/plan.h"
#include "stat/counters.h"
#include "stat/hist.h"
#include "stat/samples.h"
#include "stat/senders.h"
#include "stat/seq.h"

/* Datagrams of one system call, or one piece of a stream (n = 1). */
struct nd_batch {
	struct iovec *iov; /* one per message */
	uint32_t n;
	uint64_t now_ns;          /* send: the instant stamped; receive: when the call returned */
	const uint64_t *stamp_ns; /* receive: kernel arrival stamps, wall clock, or NULL */
	const uint8_t (*key)[ND_SENDER_KEY]; /* receive: who sent each datagram; NULL: not known */
};

/* Per flow and direction, in the flow's slot; zeroed before the run. */
struct nd_frame_state {
	uint64_t flow; /* number over the whole test */
	/* send: next sequence number; receive: number of the last message, plus 1; stream: next offset */
	uint64_t next;
	struct nd_seq *seq; /* receive, datagrams: owned by the flow; NULL for streams */
	uint64_t message_bytes;
	bool datagram;              /* set by the engine when the flow begins */
	bool silent;                /* server: nothing is sent back */
	uint8_t asks;               /* send: a question, see struct nd_step */
	struct nd_senders *senders; /* borrowed: of .key; NULL */
	struct nd_samples *samples; /* borrowed: its worker's; NULL: no instants are kept */
	void *own; /* of frames with .state_bytes; the flow's, zeroed before the run */
	const struct nd_workload *workload; /* borrowed: what the flow is one of */
	uint64_t piece_bytes, piece_ns;     /* stream: last filled */
};

#define ND_TURN_BROKEN UINT32_MAX

struct nd_frame {
	const char *name, *help;
	bool datagram, stream; /* what it can travel in */
	bool fills;         /* fill must run before each send (else the buffer is prepared once) */
	bool takes;         /* take must see the bytes (else trunc receive is allowed) */
	size_t looks_bytes; /* take sees no more than so many of the first; 0: all of them */
	/* Prepare the shared send buffer once. */
	void (*prepare)(void *buf, size_t size, enum nd_payload payload, uint64_t seed);
	/* Write headers / pattern into a batch about to be sent. NULL: nothing. */
	void (*fill)(struct nd_frame_state *s, struct nd_batch *b);
	/* Undo fill for the last @unsent messages (stream: bytes), which the socket did not take.
	 * NULL: nothing. */
	void (*unfill)(struct nd_frame_state *s, uint32_t unsent);
	/* Look at what was received: rx_unique, rx_duplicate, rx_reordered, rx_foreign, rx_corrupt,
	 * rx_highest of both counters. Returns messages of this flow (foreign ones not counted); the iov_len
	 * of a foreign one becomes 0, so that what is left adds up to the flow's bytes. NULL: all. */
	uint32_t (*take)(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
			 struct nd_counters *sum);
	/* Turn a received batch into its own reply, in place: what is not answered gets length 0, or leaves a
	 * stream, which may begin up to .turn_room bytes earlier. Return: messages of the flow, or ND_TURN_BROKEN:
	 * the stream makes no sense. NULL: bytes go back as they are. */
	uint32_t (*turn)(struct nd_frame_state *s, struct nd_batch *b, struct nd_counters *c,
			 struct nd_counters *sum);
	size_t turn_room;
	size_t state_bytes; /* of each direction of a flow, zeroed: nd_frame_state.own */
};

const struct nd_frame *nd_frame_at(size_t n);
const struct nd_frame *nd_frame_find(const char *name);
const char *nd_frame_names(size_t n, const char **ret_help);

/** nd_payload_fill() - random (xorshift from @seed), zero, or the verify pattern from offset 0. */
void nd_payload_fill(void *buf, size_t size, enum nd_payload payload, uint64_t seed);

#endif
