/* SPDX-License-Identifier: MIT */
/*
 * Instructions per operation, counted by callgrind. A case prepares what it needs, then run() does n operations;
 * only run() is counted, without the stubs that stand for the kernel.
 * To add a case: a row in a table of cases, and its limit in tests/cost/limits.
 */
#ifndef ND_TESTS_COST_H
#define ND_TESTS_COST_H

#include "engine/engine.h"

#define COST_FDS 1024u
#define COST_GRO 64u /* datagrams in a piece that is received */

struct cost_case {
	const char *name;
	uint64_t n;
	/* NULL: cannot be measured here. @arg is the row's. */
	void *(*prepare)(const struct cost_case *c);
	void (*run)(void *state, uint64_t n);
	void (*done)(void *state); /* NULL: free() */
	const void *arg;
};

/** cost_measure() - run it with .n and with twice as many operations; says so on stdout. */
void cost_measure(const struct cost_case *c);
/** cost_measured() - callgrind counts between entry and exit, and writes a profile at the exit. */
void cost_measured(void (*run)(void *state, uint64_t n), void *state, uint64_t n);

void cost_parts(void);   /* histogram, pacing, headers, counters */
void cost_engines(void); /* sending and receiving by each backend and technique */

/* What the stubs of tests/cost/stubs.c do. The test's own: they are one per program. */
struct cost_kernel {
	bool on;          /* else calls reach the kernel */
	struct nd_io *io; /* told to quit when .left is used up */
	uint64_t left;    /* operations */
	bool short_reads; /* half of what was asked for: the socket is empty then */
	size_t datagram;  /* bytes of one that is received */

	struct cost_flow {
		uint64_t flow, seq; /* of the next datagram */
		uint32_t pinned;    /* sends without a copy that were not told of */
		bool is_flow, gro;
	} of_fd[COST_FDS];

	uint64_t now_ns;      /* moves on with each look at the clock */
	uint64_t looks, most; /* at the clock; at .most of them something is wrong: quit */
	struct epoll_event *events;
	uint32_t event_n, event_room, event_at;
};

extern struct cost_kernel cost_kernel;

/* For the stubs, which call nothing: what they spend is told by their own names. */
/* So many more operations are over. */
static inline __attribute__((always_inline)) void cost_kernel_operations(uint64_t n)
{
	struct cost_kernel *k = &cost_kernel;

	k->left = k->left > n ? k->left - n : 0;
	if (k->left > 0)
		return;
	k->io->quit = true;
	k->now_ns += ND_NS_PER_S; /* whoever goes on until the next look around takes it now */
}

/* The next datagram for a socket: flow and sequence number, as the native frame has them. */
static inline __attribute__((always_inline)) void cost_kernel_datagram(int fd, uint64_t address)
{
	struct cost_flow *f = &cost_kernel.of_fd[(unsigned)fd % COST_FDS];
	uint64_t word = f->flow << 40 | f->seq++;
	uint8_t *at = (uint8_t *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */

	for (unsigned i = 0; i < 8 && cost_kernel.datagram >= 8; i++)
		at[i] = (uint8_t)(word >> (56 - 8 * i));
}

#endif
