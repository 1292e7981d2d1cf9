/* SPDX-License-Identifier: MIT */
/*
 * A finished run as plain data: what both ends measured and what follows from it. Field rows
 * (rows.c, rows_side.c, rows_host.c) name each figure once: key, label, unit, type, place. What one
 * end measured (struct nd_side) travels over the control connection by the same rows.
 * To add a metric: a member here, one row there; every report format and doc/results.md follow.
 */
#ifndef ND_RESULT_RESULT_H
#define ND_RESULT_RESULT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"
#include "base/str.h"
#include "os/detail.h"
#include "os/os.h"
#include "result/latency.h"
#include "result/loaded.h"
#include "stat/counters.h"
#include "stat/hist.h"
#include "stat/samples.h"

/* ---- what one end measured ---- */

/* One interval of one workload at one end, summed over its workers. Times are since the agreed
 * start, true instants (mean over workers). */
struct nd_interval_sample {
	uint64_t index;    /* 0 is the first after the agreed start */
	const char *phase; /* "warmup", "measure", "cooldown", "drain" */
	uint64_t workload;
	double start_s, end_s;
	double seconds; /* true length: sum over workers of bytes/length is the rate */
	uint64_t tx_bytes, tx_messages, tx_refused;
	uint64_t rx_bytes, rx_messages, rx_unique, rx_duplicate, rx_reordered, rx_lost;
	uint64_t transactions;
	double tx_bps, rx_bps;    /* each worker's bytes over its own true length, summed */
	uint64_t tcp_retransmits; /* since the interval before, sampled flows; ND_UNKNOWN */
	/* round trips that ended in it, from when they were to be sent if there was a schedule; never travels */
	uint64_t rtt_count; /* 0: the others are not known */
	double rtt_p50_us, rtt_p99_us, rtt_max_us;
};

/* Totals over a stretch of time, one workload at one end. */
struct nd_totals {
#define X(name) uint64_t name;
	ND_COUNTERS(X)
#undef X
	double seconds;            /* true length, mean over workers */
	double tx_bps, rx_bps;     /* sum over workers of bytes / that worker's true length */
	uint64_t start_ns, end_ns; /* mean true edges, ns since the agreed start */
};

struct nd_flow_row {
	uint64_t flow; /* number over the whole test */
	uint64_t workload;
	uint64_t window_tx_bytes, window_rx_bytes; /* inside the measured window */
	uint64_t tx_bytes, rx_bytes, tx_messages, rx_messages, rx_unique, rx_duplicate,
		rx_reordered; /* whole run */
	uint64_t rx_dropped;  /* datagrams its socket had no room for; ND_UNKNOWN: not told */
	uint64_t transactions;
	int64_t first_ns; /* first payload, ns since the agreed start; INT64_MIN none */
	double jitter_us;
	uint64_t retransmits, rtt_us, cwnd_segments; /* TCP at the end; ND_UNKNOWN */
	const char *error;                           /* what ended it early, NULL */
	uint64_t group; /* receivers of tools with several ports: which port; ND_UNKNOWN */
};

/* tcp_info over sampled flows of one workload, sender's side. */
struct nd_tcp_stats {
	uint64_t flows_sampled;
	uint64_t window_retransmits; /* all flows, measured window; ND_UNKNOWN: not all were read */
	uint64_t retransmits;        /* all flows, whole run */
	uint64_t rtt_samples;        /* whole run */
	double rtt_min_us, rtt_mean_us, rtt_p99_us;
	double cwnd_mean_segments;
	uint64_t mss_bytes;
	const char *cc; /* read back from the sockets */
	double rwnd_limited_ratio, sndbuf_limited_ratio, cwnd_limited_ratio; /* of busy time */
	double delivery_rate_bps; /* mean of last samples */
};

/* Round trips of so many times a power of ten: .tenth 0..9 of 10^decade us each; decade 0 begins at 0. */
struct nd_rtt_tenth {
	uint64_t decade, tenth;
	uint64_t count;
};

/* tcp_info of the only flow when it was closed, for tools that print it. */
struct nd_tcp_last {
	bool is_known;
	uint64_t rto_us, ato_us, pmtu_bytes, rcv_ssthresh, rtt_us, rttvar_us, snd_ssthresh,
		cwnd_segments, reordering, retransmits;
};

/* One workload as this end saw it. */
struct nd_part {
	uint64_t workload;
	bool active;                  /* this end sent / asked */
	struct nd_totals window, run; /* measured window; first byte to drain */
	struct nd_list intervals;     /* struct nd_interval_sample */
	struct nd_list flows;         /* struct nd_flow_row */
	struct nd_tcp_stats tcp;      /* ND_UNKNOWN members when not TCP */
	struct nd_tcp_last last;
	double jitter_us;                                    /* mean over flows, RFC 3550 */
	uint64_t sndbuf_bytes, rcvbuf_bytes, path_mtu_bytes; /* effective, first flow */
	const char *peer_address; /* whom this end called: the first flow's; NULL */
	bool nodelay;
	/* rr: round trips */
	uint64_t rtt_count;
	double rtt_min_us, rtt_mean_us, rtt_p50_us, rtt_p90_us, rtt_p99_us, rtt_p999_us, rtt_max_us;
	double rtt_stddev_us;
	struct nd_list
		rtt_tenths; /* struct nd_rtt_tenth: those with round trips in them, ascending */
	struct nd_latency *latency; /* of the end that asks; NULL: not told; never travels */
	struct nd_parted *turned;   /* of the end that answers; NULL: not told */
	const char *tx_technique, *rx_technique, *engine, *pacer;
	/* datagrams sent in the window: calls, time from one to the next, how many each handed over */
	uint64_t send_calls;
	double gap_p50_us, gap_p99_us, gap_max_us;
	double burst_p50, burst_p99, burst_max;
};

struct nd_cpu_row {
	uint64_t cpu;
	double user_ratio, system_ratio, irq_ratio, softirq_ratio, steal_ratio, idle_ratio,
		busy_ratio;
	uint64_t net_rx; /* softirqs */
	uint64_t softnet_processed, softnet_dropped, softnet_squeezed;
};

/* One queue of the interface in the window. */
struct nd_queue_row {
	const char *way; /* "rx", "tx" */
	uint64_t queue;
	uint64_t packets, bytes, drops;
	double share_ratio;       /* of the packets of all queues of its way */
	uint64_t irq;             /* number of its interrupt; ND_UNKNOWN */
	uint64_t interrupts, cpu; /* of that one, and the CPU that took most of them */
};

/* One interrupt of the interface in the window. */
struct nd_irq_row {
	uint64_t number;
	const char *name;
	uint64_t interrupts;
	uint64_t cpu; /* that took most of them; ND_UNKNOWN: there was none */
};

/* A driver's counter of what a limit made it drop or delay, in the window. */
struct nd_limit_row {
	const char *name;
	uint64_t count;
};

/* All queues of one way together. ND_UNKNOWN, NAN: nobody counts by queue, or nothing came. */
struct nd_queue_sum {
	uint64_t queues, used; /* used: with a packet in the window */
	double imbalance;      /* packets of the busiest one over the mean of all; 1: even */
	uint64_t busiest;
	double busiest_ratio; /* its part of the packets */
};

/* CPU and kernel counters of one end over the measured window (its own true length). */
struct nd_machine {
	double seconds;
	struct nd_list cpus; /* struct nd_cpu_row */
	double busy_cores;   /* all CPUs, user+system+irq+softirq+nice, in cores */
	double user_cores, system_cores, irq_cores, softirq_cores, steal_cores, idle_cores;
	double process_cores; /* this program's user + system */
	uint64_t busiest_cpu;
	double busiest_ratio, busiest_softirq_ratio;
	double steal_ratio; /* of all CPU time */
	uint64_t cycles;    /* perf, this process; ND_UNKNOWN */
	uint64_t interrupts, context_switches, softirq_net_rx, softirq_net_tx, softirq_other;
	uint64_t voluntary_switches, involuntary_switches;
	double nice_cores, iowait_cores; /* parts of user_cores and idle_cores */
	double cpu_mhz;                  /* first CPU's clock at the end; the caller's */
	double effective_mhz;            /* while this program ran; derived by nd_result_join() */
	const char *mhz_source;          /* where it is from, likewise */
	/* of the control groups of this program */
	uint64_t cgroup_throttled_periods;
	double cgroup_throttled_ms;              /* all CPUs and groups together */
	uint64_t conntrack_count, conntrack_max; /* levels at the window's end */
	/* differences over the window, all programs of this network namespace */
	uint64_t window_interrupts; /* of the lines of /proc/interrupts that were watched */
	uint64_t window_tcp_in_segs, window_tcp_out_segs, window_tcp_retrans_segs,
		window_tcp_attempt_fails, window_tcp_lost_retransmit, window_tcp_syn_retrans,
		window_tcp_fast_retrans, window_tcp_forward_retrans, window_tcp_slow_start_retrans,
		window_tcp_retrans_fail;
	uint64_t window_udp_in_datagrams, window_udp_out_datagrams, window_udp_in_errors;
	const char *window_nic; /* the interface that was watched, else .nic */
	uint64_t window_nic_rx_packets, window_nic_tx_packets;
	const char *queue_source; /* "netdev", "ethtool"; NULL: nothing counts by queue */
	struct nd_queue_sum rx_queues, tx_queues;
	struct nd_list queues;       /* struct nd_queue_row, those that receive first */
	struct nd_list irqs;         /* struct nd_irq_row */
	struct nd_list limits;       /* struct nd_limit_row */
	uint64_t allowance_exceeded; /* packets that a cloud's allowances held back */
	uint64_t peak_rss_bytes;
	/* where packets could vanish: differences over the whole run */
	uint64_t softnet_dropped, softnet_squeezed;
	uint64_t udp_in_datagrams, udp_no_ports, udp_rcvbuf_errors, udp_sndbuf_errors,
		udp_in_csum_errors;
	uint64_t tcp_retrans_segs, tcp_listen_overflows, tcp_listen_drops, tcp_backlog_drop;
	uint64_t ip_out_discards, ip_in_discards, ip_frag_creates, ip_reasm_fails;
	uint64_t ip_unassembled; /* given up, or fragments wait for more */
	const char *nic;         /* the interface of the test's address */
	uint64_t nic_rx_packets, nic_rx_bytes, nic_rx_dropped, nic_rx_errors;
	uint64_t nic_tx_packets, nic_tx_bytes, nic_tx_dropped, nic_tx_errors;
	uint64_t qdisc_drops, qdisc_backlog_packets;
};

/* Everything one end contributes. */
struct nd_side {
	const char *name;    /* "client", "server" */
	const char *address; /* local address of the test */
	const char *version;
	struct nd_host_facts host;
	struct nd_nic_facts nic_facts;
	struct nd_machine machine;
	uint64_t threads;
	struct nd_list parts; /* struct nd_part, one per workload */
	bool partial;
	const char *partial_reason;
	uint64_t overlapped_tests; /* server: other tests that ran at the same time */
	int64_t start_ns;          /* its own first edge, ns after the agreed start */
};

/* ---- what follows ---- */

/* One workload, both ends joined. */
struct nd_flow_joint {
	uint64_t flow;
	double goodput_bps, offered_bps;     /* in the window */
	uint64_t sent_bytes, received_bytes; /* whole run */
	uint64_t sent_messages, received_messages, lost_messages, duplicate_messages,
		reordered_messages, dropped_messages;
	uint64_t sends, reads; /* completed calls, whole run */
	double jitter_us;
	uint64_t retransmits, rtt_us, cwnd_segments;
	const char *error;
	uint64_t group; /* the receiver's nd_flow_row.group */
};

struct nd_interval_joint {
	double start_s, end_s;
	const char *phase;
	double goodput_bps, offered_bps;
	uint64_t received_bytes, sent_bytes, received_messages, sent_messages, lost_messages,
		retransmits;
	uint64_t transactions;
	uint64_t rtt_count;
	double rtt_p50_us, rtt_p99_us, rtt_max_us;
};

struct nd_spread_rows {
	double min_bps, median_bps, max_bps, jain;
};

/* Where datagrams went, whole run; ND_UNKNOWN where nobody could see. */
struct nd_loss {
	uint64_t offered;     /* given to the socket, refused ones included */
	uint64_t refused;     /* by the socket: EAGAIN is no loss, ENOBUFS and the like are */
	uint64_t sent;        /* taken by the socket */
	uint64_t qdisc_drops; /* sender's queueing discipline */
	uint64_t sender_nic_drops;
	uint64_t receiver_nic_drops;
	uint64_t receiver_backlog_drops; /* softnet */
	uint64_t receive_buffer_drops;   /* socket buffer full */
	uint64_t no_port;
	uint64_t checksum;
	uint64_t unassembled; /* fragments of theirs did not come */
	uint64_t received;    /* distinct, read by the program */
	uint64_t lost;        /* sent - received */
	uint64_t duplicate, reordered;
	uint64_t tail;     /* the last ones: numbers behind the highest that came */
	uint64_t unplaced; /* lost and in none of the rows: the network in between */
	double lost_ratio; /* of sent */
};

/* One stage of the way of datagrams, whole run. Over all stages .lost_here and what was read add up to what was
 * offered. */
struct nd_ledger_row {
	const char *stage, *at; /* "sender", "between", "receiver" */
	uint64_t counted;       /* passed on; ND_UNKNOWN: nobody counts them */
	uint64_t lost_here;     /* of this direction */
	uint64_t dropped;       /* by the counter, all programs' */
	const char *source, *note;
};

/* Packets per second in the measured window: of the programs, the stacks, the interfaces. */
struct nd_packets {
	double sent_per_s, read_per_s;
	double tx_stack_per_s, rx_stack_per_s; /* passes of these datagrams, by the program */
	double udp_out_per_s, udp_in_per_s;    /* by the kernels, all programs' */
	double tx_wire_per_s, rx_wire_per_s;   /* by the interfaces, all programs' */
	const char *tx_nic, *rx_nic;
	double sender_cpu_s_per_mpkt, receiver_cpu_s_per_mpkt;
	uint64_t send_calls;
	double gap_p50_us, gap_p99_us, gap_max_us;
	double burst_p50, burst_p99, burst_max;
};

/* One run of a search for the highest rate. */
struct nd_trial {
	uint64_t number;
	double window_s;
	double asked_per_s, offered_per_s, delivered_per_s;
	uint64_t sent, lost; /* whole run, refused ones included */
	double lost_ratio;
	bool passed, reached;
	const char *reason, *purpose;
};

struct nd_search {
	double bound_ratio, trial_s;
	double found_per_s, low_per_s, passed_per_s, failed_per_s;
	uint64_t retests, retests_passed;
	const char *limit, *confidence;
	struct nd_list trials; /* struct nd_trial */
};

struct nd_direction {
	const char *label; /* "client to server" */
	const char *sender, *receiver;
	const char *load, *transport;
	uint64_t flows;
	/* asked */
	uint64_t workload;  /* number of its nd_part at either end */
	bool client_active; /* the client is the sender */
	bool datagram, transactional;
	uint64_t message_bytes, asked_rate_bps, asked_rate_ops; /* rates: 0 unlimited */
	const char *message_sizes; /* that datagrams take in turn, in words; NULL: one */
	uint64_t asked_bytes;      /* 0: the test ends by time */
	/* the measured window, receiver's count */
	double goodput_bps, offered_bps;
	uint64_t received_bytes, sent_bytes;
	double window_s, asked_window_s, sender_window_s;
	double window_start_s; /* after the agreed start: the warm-up as it was */
	double messages_per_s, transactions_per_s;
	double lost_ratio; /* in the window, from sequence numbers */
	/* whole run, after drain */
	uint64_t total_sent_bytes, total_received_bytes, total_sent_messages,
		total_received_messages;
	bool agreed; /* both ends counted the same: bytes of a stream, datagrams */
	double jitter_us;
	struct nd_loss loss;   /* datagrams */
	struct nd_list ledger; /* struct nd_ledger_row: the same as stages */
	struct nd_packets packets;
	struct nd_tcp_stats tcp;
	struct nd_spread_rows spread; /* goodput over flows, from 2 flows on */
	double start_skew_ms;         /* latest minus earliest first payload over flows */
	double start_skew_p50_ms;
	uint64_t failed_flows;
	/* rr */
	uint64_t rtt_count;
	double rtt_min_us, rtt_mean_us, rtt_p50_us, rtt_p90_us, rtt_p99_us, rtt_p999_us, rtt_max_us;
	struct nd_latency *latency; /* NULL: not told */
	double sender_cpu_s_per_gb,
		receiver_cpu_s_per_gb; /* machine-wide busy core-seconds per 10^9 bytes */
	double sender_cycles_per_byte, receiver_cycles_per_byte;
	/* the same where answers count; per GB and per byte are unknown then */
	double sender_cpu_us_per_transaction, receiver_cpu_us_per_transaction;
	const char *cycles_source; /* "perf" or "estimated from CPU time and nominal MHz" */
	double steady;             /* 1 steady, 0 not, NAN fewer than 4 intervals */
	struct nd_list intervals;  /* struct nd_interval_joint */
	struct nd_list flow_rows;  /* struct nd_flow_joint */
};

/* One client of a group, one of its directions. */
struct nd_group_member {
	uint64_t number;    /* in the order in which they came, from 1 on */
	const char *client; /* host and address, for people */
	const char *address;
	const char *direction; /* label */
	bool complete;         /* counts in the group's total */
	uint64_t flows;
	/* its own measured window, receiver's count */
	double goodput_bps, offered_bps, messages_per_s, transactions_per_s;
	uint64_t received_bytes;
	uint64_t offered, lost; /* datagrams, whole run */
	double lost_ratio;
	double share_ratio;                  /* of the group's total */
	double first_ms, last_ms;            /* first payload of its flows, by the server's clock */
	double window_start_s, window_end_s; /* all after the agreed start */
	const char *error;                   /* why it is not complete */
};

/* What the complete members of a group reached together in one direction. */
struct nd_group_total {
	const char *direction;
	uint64_t members, flows;
	double goodput_bps, offered_bps, messages_per_s, transactions_per_s;
	uint64_t received_bytes, offered, lost;
	double lost_ratio;
	double window_start_s, window_s; /* what the members' windows have in common */
	double overlap_ratio; /* of the time from the first one's begin to the last one's end */
	double start_skew_ms; /* over all flows of all members */
};

/* Clients that began together at one server. */
struct nd_group {
	const char *name;
	uint64_t expected, complete;
	double clocks_within_us; /* how far a client's clock may have been off */
	bool partial;
	const char *partial_reason;
	struct nd_list totals;  /* struct nd_group_total, one per direction */
	struct nd_list members; /* struct nd_group_member, by direction, then by number */
};

struct nd_warning {
	const char *key;      /* stable: "same_host", ... */
	const char *sentence; /* with the figures in it */
};

struct nd_result {
	struct nd_arena arena;
	uint64_t schema; /* ND_RESULT_SCHEMA: grows when a key changes its meaning */
	const char *tool, *version, *verb;
	uint64_t started_unix_ms;
	const char *started; /* ISO 8601 */
	const char *target;  /* as typed */
	bool partial;
	const char *partial_reason;
	bool same_host; /* equal boot id: not a network result; CPU shown once */
	uint64_t asked_sndbuf_bytes, asked_rcvbuf_bytes; /* 0: left to the system */
	const void *plan;                                /* borrowed; described by plan_table */
	const struct nd_table *plan_table;
	/* borrowed: settings of a tool's face for that tool's writers; NULL: our own. Set before
	 * joining: a peer of that tool that tells nothing makes no result partial. */
	const void *face;
	const struct nd_table *face_table;
	/* agreed start */
	double clock_offset_us,
		clock_rtt_us;      /* server's clock minus client's, min-RTT estimate, its RTT */
	double clock_drift_us;     /* offset after minus before */
	double ends_apart_us;      /* both ends' first edges; NAN without .clock_rtt_us */
	double setup_ms;           /* until all flows were open at the end that reports */
	struct nd_list directions; /* struct nd_direction */
	struct nd_side *client, *server;  /* NULL: not told */
	struct nd_list warnings;          /* struct nd_warning */
	struct nd_search *search;         /* of which this was the last run; NULL: none */
	const struct nd_repeats *repeats; /* borrowed, of which this was the last run; NULL: none */
	struct nd_group *group;           /* of which this was one client; NULL: none */
	struct nd_loaded
		*loaded; /* of which this was the second run; NULL: no load was asked for */
	/* borrowed: instants of messages, of each worker of the end that asked for them to be kept */
	struct nd_samples *const *samples;
	size_t samples_n;
};

#define ND_RESULT_SAMPLES 64

/* Rows. */
extern const struct nd_table nd_side_table, nd_part_table, nd_interval_table, nd_flow_row_table,
	nd_direction_table, nd_result_table, nd_warning_table, nd_interval_joint_table,
	nd_machine_table, nd_host_table, nd_nic_facts_table, nd_totals_table, nd_tcp_table,
	nd_cpu_table, nd_queue_table, nd_irq_table, nd_limit_table, nd_queue_sum_table,
	nd_flow_joint_table, nd_loss_table, nd_spread_table, nd_ledger_table, nd_packets_table,
	nd_trial_table, nd_search_table, nd_rtt_tenth_table, nd_group_table, nd_group_total_table,
	nd_group_member_table;

#define ND_RESULT_SCHEMA 1

/** nd_result_init() - everything unknown; tool and schema are filled in. */
void nd_result_init(struct nd_result *r);
void nd_result_done(struct nd_result *r);

/** nd_result_part() - what @side measured of a workload; NULL: @side is NULL or has none. */
const struct nd_part *nd_result_part(const struct nd_side *side, uint64_t workload);
/** nd_result_sender() - the end that sends or asks; NULL: not told. */
const struct nd_side *nd_result_sender(const struct nd_result *r, const struct nd_direction *d);
const struct nd_side *nd_result_receiver(const struct nd_result *r, const struct nd_direction *d);

/* What the plan says that the joint figures need; filled by session. */
struct nd_result_ask {
	uint64_t workloads;

	struct {
		bool client_active, datagram;
		bool transactions; /* counts answers rather than bytes: rr */
		uint64_t flows, message_bytes, total_bytes, rate_bps, rate_ops;
		const char *load, *transport;
		const char *sizes; /* in words; NULL: one */
		/* struct nd_interval_sample, without phases: all that there is of an end that gave no result; borrowed */
		struct nd_list heard;
	} workload[8];

	double window_s; /* asked measured window; NAN: the test ends by bytes */
	double interval_s;
	uint64_t sndbuf_bytes, rcvbuf_bytes; /* asked; 0: left to the system */
};

/**
 * nd_result_join() - derive directions from what both ends measured.
 * @r: client and server are set, either may be NULL: the result is partial then. Also sets
 *     same_host when boot ids are equal, and partial when an end says so. Owns what is made.
 * Return: 0, -ENOMEM, -E2BIG (more workloads than @ask has room for).
 */
ND_MUST_CHECK int nd_result_join(struct nd_result *r, const struct nd_result_ask *ask,
				 struct nd_err *err);
/** nd_result_warn() - run every row of warn.c over the joined result, anew each time. -ENOMEM. */
ND_MUST_CHECK int nd_result_warn(struct nd_result *r);
/**
 * nd_machine_from() - CPU and counters of one end.
 * @window: nd_os_since() of the samples around the measured window, @run: of those around the whole
 *     run; at_ns of such a difference is its length. NULL: unknown.
 * @nic: the interface of the test's address; NULL: unknown.
 * @watched: the interface whose packets are counted over the window; NULL: @nic.
 * Everything that was not counted stays unknown; .cycles (perf) and .cpu_mhz are the caller's. -ENOMEM.
 */
ND_MUST_CHECK int nd_machine_from(const struct nd_os_sample *window, const struct nd_os_sample *run,
				  const char *nic, const char *watched, struct nd_arena *a,
				  struct nd_machine *ret);

/** nd_machine_queues() - add what one interface's queues, interrupts and limits counted in the window.
 * @d: nd_os_detail_since() of that interface alone. Strings are copied into @a. -ENOMEM. */
ND_MUST_CHECK int nd_machine_queues(const struct nd_os_detail *d, struct nd_arena *a,
				    struct nd_machine *m);

/** nd_group_take() - a member's row of a direction from its result as the server has it. What it points to
 * lives as long as @r. @server: that end with its rows per flow; NULL: it measured nothing. */
void nd_group_take(const struct nd_result *r, const struct nd_direction *d,
		   const struct nd_side *server, struct nd_group_member *ret);
/** nd_group_sum() - totals and shares from .members, which are in their order. .totals is in @a. -ENOMEM. */
ND_MUST_CHECK int nd_group_sum(struct nd_group *g, struct nd_arena *a);

/** nd_quantile_says() - whether @samples are enough for a quantile beyond which one sample of so many
 * lies (10: p90, 100: p99): at least ten must lie there. Unknown is not enough. */
bool nd_quantile_says(uint64_t samples, uint64_t one_of);

/* Documentation of every key, generated from the rows. */
void nd_result_schema(struct nd_str *out);
void nd_result_doc(struct nd_str *out);

#endif
