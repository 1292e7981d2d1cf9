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
	       "Median round trip; null with fewer than 20 samples."),                             \
	ND_F64(S, rtt_p90_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "p90",                       \
	       "90 % of round trips were not longer; null with fewer than 100 samples."),          \
	ND_F64(S, rtt_p99_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "p99",                       \
	       "99 % of round trips were not longer; null with fewer than 1000 samples."),         \
	ND_F64(S, rtt_p999_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "p99.9",                    \
	       "99.9 % of them were not longer; null with fewer than 10,000 samples."),            \
	ND_F64(S, rtt_max_us, ND_M_US, ND_SHOW_TEXT | ND_SHOW_COLUMN, "max",                       \
	       "Longest round trip.")

/* Calls that sent datagrams, in the window. */
#define ND_CALLS_ROWS(S, SHOW)                                                                     \
	ND_U64(S, send_calls, ND_M_COUNT, 0, NULL,                                                 \
	       "Calls that handed datagrams to a socket in the measured window."),                 \
	ND_F64(S, gap_p50_us, ND_M_US, SHOW, "p50",                                                \
	       "Median time from the end of one such call of a thread to the end of its next."),   \
	ND_F64(S, gap_p99_us, ND_M_US, SHOW, "p99", "99 % of these times were not longer."),       \
	ND_F64(S, gap_max_us, ND_M_US, SHOW, "max", "The longest of them."),                       \
	ND_F64(S, burst_p50, ND_M_COUNT, SHOW, "p50",                                              \
	       "Median number of datagrams that one call handed over."),                           \
	ND_F64(S, burst_p99, ND_M_COUNT, SHOW, "p99", "99 % of calls handed over no more."),       \
	ND_F64(S, burst_max, ND_M_COUNT, SHOW, "max", "The most that one call handed over.")

/* Its place among the intervals; @WHOSE clock, in words that follow "mean over threads". */
#define ND_PLACE_ROWS(S, WHOSE)                                                                    \
	ND_F64(S, start_s, ND_M_S, ND_SHOW_COLUMN, "start",                                        \
	       "True begin after the agreed start, mean over threads" WHOSE "."),                  \
	ND_F64(S, end_s, ND_M_S, ND_SHOW_COLUMN, "end",                                            \
	       "True end after the agreed start, mean over threads" WHOSE "."),                    \
	ND_STR(S, phase, ND_SHOW_COLUMN, "phase",                                                  \
	       "warmup, measure, cooldown or drain; those of measure add up to the window.")

/* What one end counts of an interval, of a flow, and of a stretch of time. */
#define ND_COUNTED_ROWS(S)                                                                         \
	ND_U64(S, tx_bytes, ND_M_BYTES, 0, NULL, "Payload that sockets took."),                    \
	ND_U64(S, tx_messages, ND_M_COUNT, 0, NULL,                                                \
	       "Sends completed, or datagrams that sockets took."),                                \
	ND_U64(S, rx_bytes, ND_M_BYTES, 0, NULL, "Payload read."),                                 \
	ND_U64(S, rx_messages, ND_M_COUNT, 0, NULL, "Reads completed, or datagrams read."),        \
	ND_U64(S, rx_unique, ND_M_COUNT, 0, NULL, "Datagrams seen for the first time."),           \
	ND_U64(S, rx_duplicate, ND_M_COUNT, 0, NULL, "Datagrams seen before."),                    \
	ND_U64(S, rx_reordered, ND_M_COUNT, 0, NULL, "Datagrams behind a later one."),             \
	ND_U64(S, transactions, ND_M_COUNT, 0, NULL, "Answers that came back.")

/* And of the two that are stretches of time. */
#define ND_STRETCH_ROWS(S)                                                                         \
	ND_F64(S, seconds, ND_M_S, 0, NULL, "True length, mean over threads."),                    \
	ND_F64(S, tx_bps, ND_M_BITRATE, 0, NULL,                                                   \
	       "Each thread's bytes sent over its own true length, summed."),                      \
	ND_F64(S, rx_bps, ND_M_BITRATE, 0, NULL,                                                   \
	       "Each thread's bytes read over its own true length, summed."),                      \
	ND_U64(S, tx_refused, ND_M_COUNT, 0, NULL, "Datagrams that sockets refused.")

/* What a flow tells at one end, and joined. */
#define ND_FLOW_ROWS(S)                                                                            \
	ND_F64(S, jitter_us, ND_M_US, ND_SHOW_COLUMN, "jitter",                                    \
	       "Variation of the transit time as RFC 3550 section 6.4.1 computes it."),            \
	ND_U64(S, retransmits, ND_M_COUNT, ND_SHOW_COLUMN, "retransmits of the run",               \
	       "TCP segments sent again in the whole run."),                                       \
	ND_U64(S, rtt_us, ND_M_US, ND_SHOW_COLUMN, "RTT",                                          \
	       "TCP's smoothed round-trip time at the end of the run."),                           \
	ND_U64(S, cwnd_segments, ND_M_COUNT, ND_SHOW_COLUMN, "cwnd",                               \
	       "TCP's congestion window at the end of the run, in segments."),                     \
	ND_STR(S, error, ND_SHOW_COLUMN, "ended early",                                            \
	       "What ended the flow early; null when nothing did."),                               \
	ND_U64(S, group, ND_M_NONE, 0, NULL,                                                       \
	       "Number of the receiver's port, where a tool counts per port.")

/* Rates of both ends side by side; @WHEN: " in the measured window", " per second". */
#define ND_RATE_ROWS(S, GOODPUT, WHEN)                                                             \
	ND_F64(S, goodput_bps, ND_M_BITRATE, ND_SHOW_COLUMN, GOODPUT,                              \
	       "Payload that the receiving program read" WHEN "."),                                \
	ND_F64(S, offered_bps, ND_M_BITRATE, ND_SHOW_COLUMN, "offered",                            \
	       "Payload that the sender's socket took" WHEN "; never the result.")

/* Bytes of both ends side by side. */
#define ND_BYTES_ROWS(S, SHOW, WHEN)                                                               \
	ND_U64(S, received_bytes, ND_M_BYTES, SHOW, "received",                                    \
	       "Payload that the receiving program read" WHEN "."),                                \
	ND_U64(S, sent_bytes, ND_M_BYTES, SHOW, "sent",                                            \
	       "Payload that the sender's socket took" WHEN ".")

/* Messages of both ends side by side. */
#define ND_MESSAGES_ROWS(S, SHOW, DATAGRAMS, WHEN)                                                 \
	ND_U64(S, received_messages, ND_M_COUNT, SHOW, "messages received",                        \
	       DATAGRAMS " read, or requests answered" WHEN "; not counted for a stream."),        \
	ND_U64(S, sent_messages, ND_M_COUNT, SHOW, "messages sent",                                \
	       "Datagrams or requests sent" WHEN "; not counted for a stream.")

/* clang-format on */

/* One direction while it is joined. Either end may be unknown (NULL). */
struct nd_join {
	struct nd_result *r;
	struct nd_direction *d;
	const struct nd_side *sender, *receiver;
	const struct nd_part *tx, *rx; /* what they measured of the workload */
	const struct nd_list *heard; /* intervals of the one that is NULL, where the other is not */
};

/** nd_join_intervals() - rows by index, both ends side by side. -ENOMEM. */
ND_MUST_CHECK int nd_join_intervals(const struct nd_join *j);
/** nd_join_flows() - rows by flow number, their spread, failures and start skew. -ENOMEM. */
ND_MUST_CHECK int nd_join_flows(const struct nd_join *j);

/** nd_join_ledger() - .loss and .ledger of a direction of datagrams. -ENOMEM. */
ND_MUST_CHECK int nd_join_ledger(const struct nd_join *j);
/** nd_join_packets() - .packets of a direction of datagrams. */
void nd_join_packets(const struct nd_join *j);
/** nd_join_packet_costs() - CPU of all directions, once they are joined. */
void nd_join_packet_costs(struct nd_result *r);

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
