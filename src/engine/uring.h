/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the uring backend. Its flows run through nd_flow_turn() like those of the other
 * backends; the transfer pair that it puts in the place of the lane's own posts sends and takes what was
 * received, and completions do the rest.
 */
#ifndef ND_ENGINE_URING_H
#define ND_ENGINE_URING_H

#include <liburing.h>

#include "engine/stream.h"

/* One turn of one flow needs at most this many entries: a chain of sends, a receive, a cancellation. */
enum { ND_UR_BATCH = 64, ND_UR_TURN_ROOM = ND_UR_BATCH + 2 };

/* What a completion belongs to. */
enum nd_ur_kind { ND_UR_WAKE, ND_UR_SEND, ND_UR_RECV, ND_UR_CANCEL };

/* One send handed over, or about to be. Places are numbers plus 1; 0 is none. */
struct nd_ur_post {
	const uint8_t *at;
	size_t bytes;
	uint64_t begun_ns; /* of its step */
	uint32_t next;     /* in the flow's list, or the free list */
	uint32_t round;    /* of the loop, when it was handed over */
	bool first;        /* of its chain, and not the rest of a short one */
	bool ends;         /* its step is complete with it */
};

struct nd_ur_chunk { /* a buffer that came back with bytes in it */
	uint32_t from, bytes;
	uint32_t next; /* of the same flow */
};

struct nd_ur_list { /* posts of a flow */
	uint32_t first, last, n;
};

struct nd_ur_line { /* flows that wait for a post or a buffer, first come first served */
	uint32_t first, last;
};

struct nd_ur_flow {               /* what each message touches comes first */
	struct nd_ur_list queued; /* not handed over: the chain before is still under way */
	struct nd_ur_list flying; /* with the kernel */
	uint32_t chunk_first, chunk_last;
	int end;    /* what stands behind the chunks: 0 nothing, 1 end of stream, negative errno */
	bool armed; /* a receive is with the kernel */
	bool full;  /* the socket took less than it was given */
	bool starved; /* in the lane's line for a post */
	bool hungry;  /* ... for a buffer */
	uint32_t next_starved, next_hungry;

	struct nd_ur_list kept; /* datagrams of the batch that did not get out */
	uint32_t refused;       /* of them */
	uint32_t sent;          /* datagrams of the batch that did */
	int failed;             /* what ends the flow with the batch, negative errno */
	bool careful;           /* the next batch is a chain */
	bool mixed;             /* a datagram got out behind one that did not */
	bool odd;               /* what goes out has numbers of a batch before */
};

struct nd_ur_lane {
	struct nd_ur_post *posts; /* owned */
	uint32_t post_n, free_first;
	uint32_t depth;   /* posts of one flow; datagrams: one batch */
	uint8_t *tx_room; /* owned; NULL: the lane's buffer is sent as it is */
	size_t tx_slot;
	struct nd_ur_line starved;
	struct nd_source source; /* pages that are sent without a copy; none: sends copy */

	struct nd_ur_chunk *chunks; /* owned */
	uint32_t chunk_n;
	uint32_t given;   /* buffers that the kernel may fill */
	uint8_t *rx_room; /* owned */
	size_t rx_slot;
	size_t rx_stride;               /* 0: nobody looks at the bytes, all buffers are one */
	struct io_uring_buf_ring *bufs; /* owned; NULL: a buffer for each flow */
	struct msghdr header;           /* datagrams with arrival stamps: its sizes alone matter */
	bool stamped;
	struct nd_ur_line hungry;
	struct iovec iov[ND_UR_BATCH];
	uint64_t stamps[ND_UR_BATCH];
};

struct nd_uring {
	struct io_uring ring;
	bool is_open;
	bool modern;  /* Linux 6.0: multishot receives, exact counts of interrupted sends */
	bool watched; /* the kernel looks at the worker's wake_fd */
	bool fixed;   /* the flows' sockets are registered, in the order of the flows */
	bool leaving; /* the loop is over: only account */
	bool came;    /* something completed in the last round */
	uint32_t round;
	uint32_t flying, armed; /* sends and receives with the kernel */
	uint32_t untold; /* sends without a copy, done, whose pages the socket may still need */
	uint64_t staged_bytes; /* of sends since the kernel was entered */
	struct nd_queue q;
	struct nd_ur_flow *flows; /* owned */
	uint32_t room;
	struct nd_ur_lane lane[ND_MAX_WORKLOADS];
	struct nd_lane lanes[ND_MAX_WORKLOADS]; /* the real ones with our pair */
	const struct nd_lane *real;
};

static inline struct nd_uring *nd_ur_of(const struct nd_io *io)
{
	return io->engine_state;
}

static inline struct nd_ur_flow *nd_ur_flow_of(const struct nd_io *io, const struct nd_flow *f)
{
	return &nd_ur_of(io)->flows[f - io->flows];
}

static inline struct nd_ur_lane *nd_ur_lane_of(const struct nd_io *io, const struct nd_flow *f)
{
	return &nd_ur_of(io)->lane[f->workload];
}

static inline uint64_t nd_ur_data(enum nd_ur_kind kind, uint32_t post, size_t flow)
{
	return (uint64_t)kind << 60 | (uint64_t)post << 32 | flow;
}

/** nd_ur_aim() - the prepared entry is for the flow's socket. A registered one is not looked up, nor held, anew. */
static inline void nd_ur_aim(const struct nd_io *io, const struct nd_flow *f,
			     struct io_uring_sqe *sqe)
{
	if (!nd_ur_of(io)->fixed)
		return;
	sqe->fd = (int)(f - io->flows);
	sqe->flags |= IOSQE_FIXED_FILE;
}

/** nd_ur_sqe() - a free entry; the kernel is entered when there is none. NULL: not now. */
struct io_uring_sqe *nd_ur_sqe(struct nd_uring *u);

void nd_ur_line_add(struct nd_io *io, struct nd_flow *f, bool for_post);
/** nd_ur_line_serve() - the first flow in the lane's line that still waits may try again. */
void nd_ur_line_serve(struct nd_io *io, unsigned lane, bool for_post);

/* uring_send.c */
ND_MUST_CHECK int nd_ur_send_open(struct nd_io *io, unsigned lane, struct nd_err *err);
void nd_ur_send_close(struct nd_ur_lane *l);
int nd_ur_send(struct nd_io *io, struct nd_flow *f); /* as nd_xfer.move */
/** nd_ur_flush() - hand over what the flow's turn has posted, unless a chain is under way. */
void nd_ur_flush(struct nd_io *io, struct nd_flow *f);
/** nd_ur_sent() - what became of a post. */
void nd_ur_sent(struct nd_io *io, struct nd_flow *f, uint32_t post, int result);
/** nd_ur_told() - the socket has no more need of a send's pages. */
void nd_ur_told(struct nd_io *io, struct nd_flow *f, int result);
/** nd_ur_recall() - take sends back; what the socket has of them is counted when they complete. */
void nd_ur_recall(struct nd_io *io, struct nd_flow *f);

/* uring_recv.c */
ND_MUST_CHECK int nd_ur_recv_open(struct nd_io *io, unsigned lane, struct nd_err *err);
void nd_ur_recv_close(struct nd_uring *u, unsigned lane);
int nd_ur_recv(struct nd_io *io, struct nd_flow *f); /* as nd_xfer.move */
/** nd_ur_received() - a completion of the flow's receive. */
void nd_ur_received(struct nd_io *io, struct nd_flow *f, int result, uint32_t flags);

#endif
