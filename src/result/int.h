/* SPDX-License-Identifier: MIT */
/* Shared inside result/: rows that two structs have alike, and what joining is made of. */
#ifndef ND_RESULT_INT_H
#define ND_RESULT_INT_H

#include "result/result.h"

/* clang-format off */
/* Round trips of rr, at the end that asked. */
#define ND_RTT_ROWS(S)                                                                             \
	ND_U64(S, rtt_count, ND_M_COUNT, ND_SHOW_COLUMN, "samples",                                \
	       "Round trips in the measured window that the figures below are made of."),          \
	ND_F64(S, rtt_min_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "min",                       \
	       "Shortest round trip, from sending the request to having read the answer."),        \
	ND_F64(S, rtt_mean_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "mean",                     \
	       "Mean round trip."),                                                                \
	ND_F64(S, rtt_p50_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "p50",                       \
	       "Median round trip."),                                                              \
	ND_F64(S, rtt_p90_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "p90",                       \
	       "90 % of round trips were not longer."),                                            \
	ND_F64(S, rtt_p99_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "p99",                       \
	       "99 % of round trips were not longer."),                                            \
	ND_F64(S, rtt_p999_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "p99.9",                    \
	       "99.9 % of round trips were not longer."),                                          \
	ND_F64(S, rtt_max_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "max",                       \
	       "Longest round trip.")

/* clang-format on */

/* One direction while it is joined. Either end may be unknown (NULL). */
struct nd_join {
	struct nd_result *r;
	struct nd_direction *d;
	const struct nd_side *sender, *receiver;
	const struct nd_part *tx, *rx; /* what they measured of the workload */
};

/** nd_join_intervals() - rows by index, both ends side by side. -ENOMEM. */
ND_MUST_CHECK int nd_join_intervals(const struct nd_join *j);
/** nd_join_flows() - rows by flow number, their spread, failures and start skew. -ENOMEM. */
ND_MUST_CHECK int nd_join_flows(const struct nd_join *j);

/* Figures where 0 and "unknown" differ. */
static inline bool nd_known(uint64_t v)
{
	return v != ND_UNKNOWN;
}

/** nd_distinct() - datagrams received once or more; where they carry no numbers, all that came. */
static inline uint64_t nd_distinct(uint64_t unique, uint64_t messages)
{
	return nd_known(unique) ? unique : messages;
}

/** nd_minus() - @a - @b, never below 0; unknown when one of them is. */
static inline uint64_t nd_minus(uint64_t a, uint64_t b)
{
	if (!nd_known(a) || !nd_known(b))
		return ND_UNKNOWN;
	return a > b ? a - b : 0;
}

/** nd_plus() - @a + @b, UINT64_MAX - 1 at most; unknown when one of them is. */
static inline uint64_t nd_plus(uint64_t a, uint64_t b)
{
	uint64_t sum;

	if (!nd_known(a) || !nd_known(b))
		return ND_UNKNOWN;
	if (__builtin_add_overflow(a, b, &sum) || sum == ND_UNKNOWN)
		return ND_UNKNOWN - 1;
	return sum;
}

#endif
