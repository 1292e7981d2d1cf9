/* SPDX-License-Identifier: MIT */
/* The joined result as rows: each figure's key, label, unit and place, once. */
#include "result/int.h"
#include "result/result.h"

#define D struct nd_direction
#define F struct nd_flow_joint
#define I struct nd_interval_joint
#define L struct nd_loss
#define P struct nd_spread_rows
#define R struct nd_result
#define W struct nd_warning

#define TEXT    ND_SHOW_TEXT
#define NONZERO ND_SHOW_NONZERO
#define COLUMN  ND_SHOW_COLUMN

/* clang-format off */
static const struct nd_field flow_rows[] = {
	ND_U64(F, flow, ND_M_NONE, COLUMN, "flow",
	       "Number of the flow over the whole test."),
	ND_RATE_ROWS(F, "goodput", " in the measured window"),
	ND_BYTES_ROWS(F, 0, " in the whole run"),
	ND_MESSAGES_ROWS(F, 0, "Distinct datagrams", " in the whole run"),
	ND_U64(F, lost_messages, ND_M_COUNT, COLUMN, "lost",
	       "Datagrams sent and not received in the whole run."),
	ND_U64(F, duplicate_messages, ND_M_COUNT, COLUMN, "duplicate",
	       "Datagrams received again."),
	ND_U64(F, reordered_messages, ND_M_COUNT, COLUMN, "reordered",
	       "Datagrams that came behind a later one."),
	ND_U64(F, dropped_messages, ND_M_COUNT, COLUMN, "no room",
	       "Datagrams that the flow's own socket at the receiver had no room for, in the whole run; with coalescing "
	       "pieces. They are among those lost. Null when the socket does not tell."),
	ND_U64(F, sends, ND_M_COUNT, 0, NULL, "Calls that sent, completed; whole run."),
	ND_U64(F, reads, ND_M_COUNT, 0, NULL, "Calls that received, completed; whole run."),
	ND_FLOW_ROWS(F),
	ND_ROWS_END
};

static const struct nd_field interval_rows[] = {
	ND_PLACE_ROWS(I, "; the receiver's, the sender's where that is unknown"),
	ND_RATE_ROWS(I, "goodput", " per second of true length"),
	ND_BYTES_ROWS(I, COLUMN, ""),
	ND_MESSAGES_ROWS(I, COLUMN, "Datagrams", ""),
	ND_U64(I, lost_messages, ND_M_COUNT, COLUMN, "lost",
	       "Datagrams missing by their sequence numbers."),
	ND_U64(I, retransmits, ND_M_COUNT, COLUMN, "retransmits",
	       "TCP segments sent again, all flows; null when a thread has more flows than it reads at "
	       "an edge."),
	ND_U64(I, transactions, ND_M_COUNT, COLUMN, "transactions",
	       "Answers that came back to the asking end."),
	ND_U64(I, rtt_count, ND_M_COUNT, COLUMN, "samples",
	       "Round trips that ended in the interval and that the figures behind are made of."),
	ND_F64(I, rtt_p50_us, ND_M_US, COLUMN, "p50",
	       "Their median, each from when its request was to be sent if there was a schedule; null with fewer than 20."),
	ND_F64(I, rtt_p99_us, ND_M_US, COLUMN, "p99", "99 % of them were not longer; null with fewer than 1000."),
	ND_F64(I, rtt_max_us, ND_M_US, COLUMN, "max", "The longest of them."),
	ND_ROWS_END
};

static const struct nd_field spread_rows[] = {
	ND_F64(P, min_bps, ND_M_BITRATE, TEXT, "min", "The slowest flow's goodput."),
	ND_F64(P, median_bps, ND_M_BITRATE, TEXT, "median", "Median of the flows' goodput."),
	ND_F64(P, max_bps, ND_M_BITRATE, TEXT, "max", "The fastest flow's goodput."),
	ND_F64(P, jain, ND_M_NONE, TEXT, "Jain's index",
	       "Fairness over flows, (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n "
	       "when one has all."),
	ND_ROWS_END
};

static const struct nd_field loss_rows[] = {
	ND_U64(L, offered, ND_M_COUNT, TEXT, "offered",
	       "Datagrams the sender gave to its socket, refused ones included."),
	ND_U64(L, refused, ND_M_COUNT, NONZERO, "refused by the sender's socket",
	       "Datagrams the sender's socket refused (ENOBUFS and the like; a full socket "
	       "is no loss)."),
	ND_U64(L, sent, ND_M_COUNT, TEXT, "sent",
	       "Datagrams the sender's socket took."),
	ND_U64(L, qdisc_drops, ND_M_COUNT, NONZERO, "dropped by the sender's queueing discipline",
	       "Drops of the sender's queueing discipline during the run, other programs' "
	       "included."),
	ND_U64(L, sender_nic_drops, ND_M_COUNT, NONZERO, "dropped by the sender's interface",
	       "Drops of the sender's interface during the run, other programs' included."),
	ND_U64(L, receiver_nic_drops, ND_M_COUNT, NONZERO, "dropped by the receiver's interface",
	       "Drops of the receiver's interface during the run, other programs' included."),
	ND_U64(L, receiver_backlog_drops, ND_M_COUNT, NONZERO, "dropped by the receiver's backlog",
	       "Packets dropped because a CPU's input queue was full; an interface may "
	       "count them too."),
	ND_U64(L, receive_buffer_drops, ND_M_COUNT, NONZERO, "dropped at a full receive buffer",
	       "Datagrams dropped because the receiving socket's buffer was full (UDP "
	       "RcvbufErrors)."),
	ND_U64(L, no_port, ND_M_COUNT, NONZERO, "for a port that nobody has open",
	       "Datagrams that reached the receiver after, or before, its socket was open "
	       "(UDP NoPorts)."),
	ND_U64(L, checksum, ND_M_COUNT, NONZERO, "with a wrong checksum",
	       "Datagrams with a wrong UDP checksum."),
	ND_U64(L, unassembled, ND_M_COUNT, NONZERO, "of which IP fragments are missing",
	       "Datagrams of which the receiver had some IP fragments and not all, other programs' included."),
	ND_U64(L, received, ND_M_COUNT, TEXT, "received",
	       "Distinct datagrams that the receiving program read."),
	ND_U64(L, lost, ND_M_COUNT, TEXT, "lost",
	       "Datagrams sent and not received."),
	ND_U64(L, tail, ND_M_COUNT, 0, "behind the last that came",
	       "Of those lost the last ones of their flows: sent behind the highest number that came."),
	ND_U64(L, unplaced, ND_M_COUNT, TEXT, "lost in none of these places",
	       "Lost and in none of the rows: on the way between, or where nobody counts. "
	       "Known only when all rows are."),
	ND_F64(L, lost_ratio, ND_M_RATIO, TEXT, "lost",
	       "Datagrams lost of those sent."),
	ND_U64(L, duplicate, ND_M_COUNT, NONZERO, "received again",
	       "Datagrams received again."),
	ND_U64(L, reordered, ND_M_COUNT, NONZERO, "received behind a later one",
	       "Datagrams that came behind a later one."),
	ND_ROWS_END
};

static const struct nd_field direction_rows[] = {
	ND_STR(D, label, 0, NULL, "The direction in words."),
	ND_STR(D, sender, COLUMN, NULL, "The end that sends or asks: client or server."),
	ND_STR(D, receiver, COLUMN, NULL,
	       "The end that receives or answers; its count is the result."),
	ND_STR(D, load, COLUMN, NULL, "Traffic shape."),
	ND_STR(D, transport, COLUMN, NULL, "Transport."),
	ND_U64(D, flows, ND_M_COUNT, COLUMN, "flows", "Flows that were asked for."),
	ND_U64(D, workload, ND_M_NONE, 0, NULL,
	       "Number of this traffic in the plan and in each end's parts."),
	ND_BOOL(D, client_active, 0, NULL, "The client is the sender."),
	ND_BOOL(D, datagram, 0, NULL, "Messages have bounds and may be lost."),
	ND_BOOL(D, transactional, 0, NULL, "Answers are what counts, not bytes."),
	ND_U64(D, message_bytes, ND_M_BYTES, COLUMN, "message size",
	       "Payload of one datagram or send."),
	ND_STR(D, message_sizes, 0, NULL,
	       "Sizes that datagrams take in turn, and how many of each; null: all are of message_bytes."),
	ND_U64(D, asked_bytes, ND_M_BYTES, 0, "asked bytes",
	       "Payload after which the direction was to end; 0: it ended by time."),
	ND_U64(D, asked_rate_bps, ND_M_BITRATE, COLUMN, "asked rate",
	       "Rate asked for, all flows; 0 is unlimited."),
	ND_U64(D, asked_rate_ops, ND_M_RATE, COLUMN, "asked rate",
	       "Messages asked for, all flows; 0 is unlimited."),
	ND_RATE_ROWS(D, "Throughput", " in the measured window"),
	ND_BYTES_ROWS(D, COLUMN, " in the measured window"),
	ND_F64(D, window_s, ND_M_S, COLUMN, "measured",
	       "True length of the measured window at the receiver, mean over its threads."),
	ND_F64(D, asked_window_s, ND_M_S, COLUMN, "asked",
	       "Length of the measured window that was asked for."),
	ND_F64(D, sender_window_s, ND_M_S, COLUMN, "sender's window",
	       "True length of the measured window at the sender."),
	ND_F64(D, window_start_s, ND_M_S, COLUMN, "warm-up",
	       "True begin of the measured window after the agreed start."),
	ND_F64(D, messages_per_s, ND_M_RATE, COLUMN, "datagrams",
	       "Datagrams read per second of the measured window."),
	ND_F64(D, transactions_per_s, ND_M_RATE, COLUMN, "Transactions",
	       "Answers that came back to the asking end per second of the measured window."),
	ND_F64(D, lost_ratio, ND_M_RATIO, COLUMN, "lost in the window",
	       "Datagrams missing in the measured window by their sequence numbers, and the last ones of "
	       "flows by the sender's count, of those known sent."),
	ND_U64(D, total_sent_bytes, ND_M_BYTES, 0, "sent",
	       "Payload the sender's socket took in the whole run."),
	ND_U64(D, total_received_bytes, ND_M_BYTES, 0, "received",
	       "Payload the receiver read from the first byte until everything was drained."),
	ND_U64(D, total_sent_messages, ND_M_COUNT, 0, "sent",
	       "Datagrams or requests sent in the whole run; not counted for a stream."),
	ND_U64(D, total_received_messages, ND_M_COUNT, 0, "received",
	       "Datagrams (repeated ones included) or requests read in the whole run."),
	ND_BOOL(D, agreed, 0, NULL,
	        "Both ends counted the same in the whole run: bytes of a stream; distinct "
	       "datagrams."),
	ND_F64(D, jitter_us, ND_M_US, COLUMN, "jitter", "Mean over flows of RFC 3550's jitter."),
	ND_GROUP(struct nd_loss, D, loss, 0, NULL,
	       "Where datagrams went in the whole run.", &nd_loss_table),
	ND_LIST(D, ledger, 0, NULL,
	       "The way of datagrams stage by stage, in the whole run; what the stages lost and what was read add up "
	       "to what was offered.", &nd_ledger_table),
	ND_GROUP(struct nd_packets, D, packets, 0, NULL,
	       "Packets per second in the measured window, as programs, stacks and interfaces count them.",
	       &nd_packets_table),
	ND_GROUP(struct nd_tcp_stats, D, tcp, 0, NULL, "TCP at the sender.", &nd_tcp_table),
	ND_GROUP(struct nd_spread_rows, D, spread, 0, NULL,
	       "Goodput over flows; from two flows on.", &nd_spread_table),
	ND_F64(D, start_skew_ms, ND_M_MS, COLUMN, "start skew",
	       "Between the first flow's first payload and the last flow's, by the sender's clock; null "
	       "for one flow."),
	ND_F64(D, start_skew_p50_ms, ND_M_MS, COLUMN, "median",
	       "Median over flows of how long after the first flow it began."),
	ND_U64(D, failed_flows, ND_M_COUNT, COLUMN, "failed flows",
	       "Flows that an error ended early."),
	ND_RTT_ROWS(D),
	ND_OPTGROUP(struct nd_latency, D, latency, 0, NULL,
	       "Times of requests in full, where this end asked.", &nd_latency_table),
	ND_F64(D, sender_cpu_s_per_gb, ND_M_CPU_S_PER_GB, COLUMN, NULL,
	       "Busy core-seconds of the sender's whole machine per 10^9 payload bytes "
	       "received, all directions "
	       "together; null for the server's end when both ends are one machine."),
	ND_F64(D, receiver_cpu_s_per_gb, ND_M_CPU_S_PER_GB, COLUMN, NULL,
	       "The same of the receiver's machine."),
	ND_F64(D, sender_cycles_per_byte, ND_M_CYCLES_PER_BYTE, COLUMN, NULL,
	       "CPU cycles of the sending program per payload byte received, all "
	       "directions together."),
	ND_F64(D, receiver_cycles_per_byte, ND_M_CYCLES_PER_BYTE, COLUMN, NULL,
	       "The same of the receiving program."),
	ND_F64(D, sender_cpu_us_per_transaction, ND_M_US, COLUMN, NULL,
	       "Busy core time of the asking end's whole machine per answer; null where "
	       "bytes count."),
	ND_F64(D, receiver_cpu_us_per_transaction, ND_M_US, COLUMN, NULL,
	       "The same of the answering end's machine."),
	ND_STR(D, cycles_source, 0, NULL,
	       "perf: counted by the CPU; else estimated from CPU time and nominal MHz."),
	ND_F64(D, steady, ND_M_NONE, 0, NULL,
	       "1: measured intervals have no trend and little spread; 0: they have; null: "
	       "fewer than four."),
	ND_LIST(D, intervals, 0, NULL,
	       "One after the other, warm-up included.", &nd_interval_joint_table),
	ND_LIST(D, flow_rows, 0, NULL, "One row per flow.", &nd_flow_joint_table),
	ND_ROWS_END
};

static const struct nd_field warning_rows[] = {
	ND_STR(W, key, 0, NULL, "Stable name of the warning."),
	ND_STR(W, sentence, 0, NULL, "What is wrong, with the figures in it."),
	ND_ROWS_END
};

static const struct nd_field result_rows[] = {
	ND_U64(R, schema, ND_M_NONE, 0, NULL,
	       "Version of this description; it grows when a key changes its meaning."),
	ND_STR(R, tool, 0, NULL, "netdyno."),
	ND_STR(R, version, 0, NULL, "Version of the program that wrote the report."),
	ND_STR(R, verb, 0, NULL, "What was run."),
	ND_STR(R, started, 0, NULL, "Wall clock at the begin, ISO 8601, UTC."),
	ND_U64(R, started_unix_ms, ND_M_MS, 0, NULL, "The same, since 1970."),
	ND_STR(R, target, 0, NULL, "The peer as typed."),
	ND_BOOL(R, partial, 0, NULL, "The run was cut short, or an end's figures are missing."),
	ND_STR(R, partial_reason, 0, NULL, "Why it is partial."),
	ND_BOOL(R, same_host, 0, NULL,
	        "Both ends ran on one machine: this is no result of a network, and CPU "
	       "must not be added up."),
	ND_U64(R, asked_sndbuf_bytes, ND_M_BYTES, 0, NULL,
	       "Send buffer asked for; 0 left to the system."),
	ND_U64(R, asked_rcvbuf_bytes, ND_M_BYTES, 0, NULL,
	       "Receive buffer asked for; 0 left to the system."),
	ND_F64(R, clock_offset_us, ND_M_US, 0, NULL,
	       "Server's clock minus client's, from the exchange with the smallest round trip."),
	ND_F64(R, clock_rtt_us, ND_M_US, TEXT, "clocks compared within",
	       "That round trip; half of it is how far the offset, and with it the common "
	       "start, may be off."),
	ND_F64(R, clock_drift_us, ND_M_US, 0, NULL, "Offset after the run minus before."),
	ND_F64(R, ends_apart_us, ND_M_US, TEXT, "ends began within",
	       "Between both ends' first edges, give or take half of clock_rtt_us; null when that is "
	       "unknown."),
	ND_F64(R, setup_ms, ND_M_MS, 0, NULL,
	       "From when flows began to be opened until all were open, at the end that reports; before the test."),
	ND_LIST(R, directions, 0, NULL,
	       "One per traffic of the plan, both ends joined.", &nd_direction_table),
	ND_LIST(R, warnings, 0, NULL, "What spoils, or may spoil, the result.", &nd_warning_table),
	ND_OPTGROUP(struct nd_search, R, search, 0, NULL,
	       "Search for the highest rate; the rest of the report is of its last trial at the rate found.",
	       &nd_search_table),
	ND_OPTGROUP(struct nd_group, R, group, 0, NULL,
	       "All clients of the group; the rest of the report is of this one.", &nd_group_table),
	ND_OPTGROUP(struct nd_loaded, R, loaded, 0, NULL,
	       "Times without and with a load; the rest of the report is of the run with it, the first direction the "
	       "requests, the others the load.", &nd_loaded_table),
	ND_OPTGROUP(struct nd_side, R, client, 0, NULL,
	       "What the client measured.", &nd_side_table),
	ND_OPTGROUP(struct nd_side, R, server, 0, NULL,
	       "What the server measured.", &nd_side_table),
	ND_ROWS_END
};

/* clang-format on */

const struct nd_table nd_flow_joint_table = { .name = "flow",
					      .size = sizeof(F),
					      .rows = flow_rows };
const struct nd_table nd_interval_joint_table = { .name = "interval",
						  .size = sizeof(I),
						  .rows = interval_rows };
const struct nd_table nd_spread_table = { .name = "spread",
					  .size = sizeof(P),
					  .rows = spread_rows };
const struct nd_table nd_loss_table = { .name = "loss", .size = sizeof(L), .rows = loss_rows };
const struct nd_table nd_direction_table = { .name = "direction",
					     .size = sizeof(D),
					     .rows = direction_rows };
const struct nd_table nd_warning_table = { .name = "warning",
					   .size = sizeof(W),
					   .rows = warning_rows };
const struct nd_table nd_result_table = { .name = "result",
					  .size = sizeof(R),
					  .rows = result_rows };
