/* SPDX-License-Identifier: MIT */
/*
 * Counters of one flow or one worker. One writer (the owning worker); they only ever grow, so that
 * a reader copies and subtracts.
 */
#ifndef ND_STAT_COUNTERS_H
#define ND_STAT_COUNTERS_H

#include "base/base.h"

/* The counters, once: everything that walks them (copy, add, subtract, rows) expands this list. Those of every operation
 * come first: they are one cache line. */
#define ND_COUNTERS(X)                                                                             \
	X(tx_bytes)     /* payload bytes the socket took */                                        \
	X(tx_messages)  /* sends completed (stream), datagrams the socket took */                  \
	X(tx_calls)     /* system calls made to send */                                            \
	X(rx_bytes)     /* payload bytes read by the program */                                    \
	X(rx_messages)  /* reads completed (stream), datagrams read (all of this flow) */          \
	X(rx_calls)     /* system calls made to receive */                                         \
	X(transactions) /* request/response pairs completed */                                     \
	X(tx_blocked)   /* socket full: EAGAIN */                                                  \
	X(tx_refused)   /* datagrams refused: ENOBUFS, ECONNREFUSED and the like */                \
	X(tx_stacked)   /* datagrams: passes through the sender's stack; with GSO one for many */  \
	X(tx_zerocopy)  /* sends that were to be without a copy and were completed */              \
	X(tx_copied)    /* of them those that the kernel copied after all */                       \
	X(rx_stacked)   /* datagrams: pieces that the socket gave; with GRO one for many */        \
	X(rx_dropped)   /* datagrams the socket had no room for; with GRO pieces */                \
	X(rx_unique)    /* datagrams with a sequence number seen for the first time */             \
	X(rx_duplicate) /* seen before */                                                          \
	X(rx_reordered) /* first seen, but behind a higher number */                               \
	X(rx_foreign)   /* datagrams that do not belong to the flow: not counted elsewhere */      \
	X(rx_corrupt)   /* payload bytes that differ from the pattern (--verify) */                \
	X(rx_highest)   /* highest sequence number + 1; summed over flows: datagrams known sent */ \
	X(lost)         /* requests whose answers did not come in time */

struct nd_counters {
#define X(name) uint64_t name;
	ND_COUNTERS(X)
#undef X
};

/** nd_count() - add to a counter that other threads may read. Owner only, relaxed, no locked op. */
/* NOLINTNEXTLINE(readability-non-const-parameter): clang-tidy 14 does not see the store */
static inline void nd_count(uint64_t *c, uint64_t n)
{
	__atomic_store_n(c, __atomic_load_n(c, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

/** nd_counters_read() - copy, any thread; each figure is exact, the set may be one step apart. */
void nd_counters_read(const struct nd_counters *from, struct nd_counters *ret);
void nd_counters_add(struct nd_counters *sum, const struct nd_counters *c);
/** nd_counters_since() - @now - @then, member by member. */
void nd_counters_since(struct nd_counters *ret, const struct nd_counters *now,
		       const struct nd_counters *then);

#endif
