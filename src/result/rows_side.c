/* SPDX-License-Identifier: MIT */
/* What one end measured, as rows: they carry it to the peer and print it. */
#include "result/int.h"
#include "result/result.h"

#define C struct nd_cpu_row
#define F struct nd_flow_row
#define I struct nd_interval_sample
#define M struct nd_machine
#define P struct nd_part
#define Q struct nd_queue_row
#define S struct nd_side
#define T struct nd_totals
#define V struct nd_tcp_stats

#define TEXT    ND_SHOW_TEXT
#define NONZERO ND_SHOW_NONZERO
#define COLUMN  ND_SHOW_COLUMN
#define TRAVELS ND_NOT_REPORT
#define NO_WIRE ND_NOT_WIRE

/* clang-format off */
static const struct nd_field interval_rows[] = {
	ND_U64(I, index, ND_M_NONE, 0, NULL,
	       "Number of the interval; 0 is the first after the agreed start."),
	ND_U64(I, workload, ND_M_NONE, 0, NULL, "Number of the traffic in the plan."),
	ND_PLACE_ROWS(I, ""),
	ND_STRETCH_ROWS(I),
	ND_COUNTED_ROWS(I),
	ND_U64(I, rx_lost, ND_M_COUNT, 0, NULL, "Datagrams missing by their sequence numbers."),
	ND_U64(I, tcp_retransmits, ND_M_COUNT, 0, NULL, "TCP segments sent again, all flows; null when a thread has more flows than it reads at an edge."),
	ND_U64(I, rtt_count, ND_M_COUNT, ND_HIDE_PEER, NULL, "Round trips that ended in the interval."),
	ND_F64(I, rtt_p50_us, ND_M_US, ND_HIDE_PEER, NULL, "Their median."),
	ND_F64(I, rtt_p99_us, ND_M_US, ND_HIDE_PEER, NULL, "99 % of them were not longer."),
	ND_F64(I, rtt_max_us, ND_M_US, ND_HIDE_PEER, NULL, "The longest."),
	ND_ROWS_END
};

static const struct nd_field totals_rows[] = {
	ND_U64(T, start_ns, ND_M_NS, 0, NULL,
	       "True begin after the agreed start, mean over threads."),
	ND_U64(T, end_ns, ND_M_NS, 0, NULL, "True end after the agreed start, mean over threads."),
	ND_STRETCH_ROWS(T),
	ND_COUNTED_ROWS(T),
	ND_U64(T, tx_calls, ND_M_COUNT, 0, NULL, "System calls made to send."),
	ND_U64(T, tx_blocked, ND_M_COUNT, 0, NULL, "Times a socket was full."),
	ND_U64(T, tx_stacked, ND_M_COUNT, 0, NULL,
	       "Passes of datagrams through the sender's stack; with segmentation offload one for many."),
	ND_U64(T, tx_zerocopy, ND_M_COUNT, 0, NULL, "Sends without a copy that were completed."),
	ND_U64(T, tx_copied, ND_M_COUNT, 0, NULL, "Of them those that the kernel copied after all."),
	ND_U64(T, rx_calls, ND_M_COUNT, 0, NULL, "System calls made to receive."),
	ND_U64(T, rx_stacked, ND_M_COUNT, 0, NULL,
	       "Pieces in which datagrams came from the socket; with coalescing one for many."),
	ND_U64(T, rx_dropped, ND_M_COUNT, 0, NULL, "Datagrams that the sockets had no room for."),
	ND_U64(T, rx_foreign, ND_M_COUNT, 0, NULL,
	       "Datagrams that belong to no flow of the test; counted nowhere else."),
	ND_U64(T, rx_corrupt, ND_M_BYTES, 0, NULL,
	       "Payload that differs from the pattern (--verify)."),
	ND_U64(T, lost, ND_M_COUNT, ND_HIDE_PEER, NULL, "Requests whose answers did not come in time."),
	ND_U64(T, rx_highest, ND_M_COUNT, 0, NULL,
	       "Datagrams known sent by their sequence numbers."),
	ND_ROWS_END
};

static const struct nd_field flow_rows[] = {
	ND_U64(F, flow, ND_M_NONE, 0, NULL, "Number of the flow over the whole test."),
	ND_U64(F, workload, ND_M_NONE, 0, NULL, "Number of the traffic in the plan."),
	ND_U64(F, window_tx_bytes, ND_M_BYTES, 0, NULL,
	       "Payload the socket took in the measured window."),
	ND_U64(F, window_rx_bytes, ND_M_BYTES, 0, NULL, "Payload read in the measured window."),
	ND_COUNTED_ROWS(F), /* whole run */
	ND_U64(F, rx_dropped, ND_M_COUNT, 0, NULL, "Datagrams that its socket had no room for; null when it does not tell."),
	ND_FLOW_ROWS(F),
	ND_I64(F, first_ns, ND_M_NS, 0, NULL, "First payload, after the agreed start."),
	ND_ROWS_END
};

static const struct nd_field tcp_rows[] = {
	ND_U64(V, flows_sampled, ND_M_COUNT, 0, "flows sampled",
	       "Flows whose tcp_info was read; of multipath TCP, each flow's first subflow's."),
	ND_U64(V, window_retransmits, ND_M_COUNT, TEXT, "retransmits in the window",
	       "Segments sent again in the measured window, all flows; null when a thread has more "
	       "flows than it reads at an edge."),
	ND_U64(V, retransmits, ND_M_COUNT, TEXT, "retransmits in the whole run",
	       "Segments sent again, all flows, whole run."),
	ND_F64(V, rtt_min_us, ND_M_US, TEXT, "RTT min",
	       "Smallest of the smoothed round-trip times sampled in the whole run."),
	ND_F64(V, rtt_mean_us, ND_M_US, TEXT, "mean", "Mean of them."),
	ND_F64(V, rtt_p99_us, ND_M_US, TEXT, "p99",
	       "99 % of them were not longer; null with fewer than 1000 samples."),
	ND_U64(V, rtt_samples, ND_M_COUNT, TEXT, "RTT samples", "How many were sampled."),
	ND_F64(V, cwnd_mean_segments, ND_M_COUNT, TEXT, "cwnd in segments",
	       "Mean congestion window."),
	ND_U64(V, mss_bytes, ND_M_BYTES, TEXT, "MSS", "Segment size."),
	ND_STR(V, cc, TEXT, "congestion control",
	       "Congestion control in force, read back from the sockets."),
	ND_F64(V, cwnd_limited_ratio, ND_M_RATIO, NONZERO, "limited by congestion or pacing",
	       "Share of the busy time in which neither buffer was the limit: congestion window, "
	       "pacing, or what the program gave."),
	ND_F64(V, rwnd_limited_ratio, ND_M_RATIO, NONZERO, "by receive window",
	       "Share of the busy time in which the receiver's window was the limit."),
	ND_F64(V, sndbuf_limited_ratio, ND_M_RATIO, NONZERO, "by send buffer",
	       "Share of the busy time in which the send buffer was the limit."),
	ND_F64(V, delivery_rate_bps, ND_M_BITRATE, 0, "delivery rate",
	       "Mean over flows of TCP's last delivery rate."),
	ND_ROWS_END
};

static const struct nd_field rtt_tenth_rows[] = {
	ND_U64(struct nd_rtt_tenth, decade, ND_M_NONE, 0, NULL, "Power of ten, in us."),
	ND_U64(struct nd_rtt_tenth, tenth, ND_M_NONE, 0, NULL, "Which tenth of the next power."),
	ND_U64(struct nd_rtt_tenth, count, ND_M_COUNT, 0, NULL, "Round trips."),
	ND_ROWS_END
};

static const struct nd_field part_rows[] = {
	ND_U64(P, workload, ND_M_NONE, 0, NULL, "Number of the traffic in the plan."),
	ND_BOOL(P, active, 0, NULL, "This end sent, or asked."),
	ND_GROUP(T, P, window, 0, NULL, "The measured window.", &nd_totals_table),
	ND_GROUP(T, P, run, 0, NULL,
	       "From the first byte until everything was drained.", &nd_totals_table),
	ND_LIST(P, intervals, TRAVELS, NULL, "One after the other.", &nd_interval_table),
	ND_LIST(P, flows, TRAVELS, NULL, "One row per flow.", &nd_flow_row_table),
	ND_GROUP(V, P, tcp, TRAVELS, NULL, "TCP, when this end sent.", &nd_tcp_table),
	ND_F64(P, jitter_us, ND_M_US, TRAVELS, NULL, "Mean over flows of RFC 3550's jitter."),
	ND_U64(P, sndbuf_bytes, ND_M_BYTES, TEXT, "send buffer",
	       "Send buffer in force on the first flow; Linux doubles what is asked, for "
	       "its own bookkeeping."),
	ND_U64(P, rcvbuf_bytes, ND_M_BYTES, TEXT, "receive buffer",
	       "Receive buffer in force on the first flow, likewise doubled."),
	ND_U64(P, path_mtu_bytes, ND_M_BYTES, TEXT, "path MTU",
	       "Largest packet the path carries, first flow."),
	ND_STR(P, peer_address, 0, NULL, "Address that the first flow of this end connected to; at the end that accepted, the other end's if it told no result, else null."),
	ND_BOOL(P, nodelay, 0, "TCP_NODELAY", "TCP_NODELAY was in force."),
	ND_RTT_ROWS(P),
	ND_F64(P, rtt_stddev_us, ND_M_US, ND_HIDE_PEER, NULL, "Standard deviation of round trips."),
	ND_LIST(P, rtt_tenths, ND_HIDE_PEER, NULL, "How many took how long.", &nd_rtt_tenth_table),
	ND_OPTGROUP(struct nd_latency, P, latency, ND_HIDE_PEER, NULL, "Times of requests in full.", &nd_latency_table),
	ND_OPTGROUP(struct nd_parted, P, turned, TRAVELS, NULL, "Answers in three by the kernel's stamps, at the end that answers.", &nd_turned_table),
	ND_STR(P, engine, TEXT, "engine", "How waiting and system calls were done."),
	ND_STR(P, tx_technique, TEXT, "sent by", "How payload was sent."),
	ND_STR(P, rx_technique, TEXT, "received by", "How payload was received."),
	ND_STR(P, pacer, TEXT, "paced by", "What kept the rate that was asked for."),
	ND_CALLS_ROWS(P, TRAVELS),
	ND_ROWS_END
};

static const struct nd_field cpu_rows[] = {
	ND_U64(C, cpu, ND_M_NONE, COLUMN, "CPU", "Number of the CPU."),
	ND_F64(C, busy_ratio, ND_M_RATIO, COLUMN, "busy",
	       "Share of the window in which it did not idle: user, system, irq, softirq."),
	ND_F64(C, user_ratio, ND_M_RATIO, COLUMN, "user", "In user code, nice included."),
	ND_F64(C, system_ratio, ND_M_RATIO, COLUMN, "system", "In the kernel on behalf of programs."),
	ND_F64(C, irq_ratio, ND_M_RATIO, COLUMN, "irq", "In interrupts."),
	ND_F64(C, softirq_ratio, ND_M_RATIO, COLUMN, "softirq", "In softirqs."),
	ND_F64(C, steal_ratio, ND_M_RATIO, COLUMN, "steal", "Taken by the hypervisor for others."),
	ND_F64(C, idle_ratio, ND_M_RATIO, COLUMN, "idle", "Idle, waiting for disks included."),
	ND_U64(C, net_rx, ND_M_COUNT, COLUMN, "NET_RX", "NET_RX softirqs in the window."),
	ND_U64(C, softnet_processed, ND_M_COUNT, COLUMN, "packets",
	       "Packets that its softirqs took from queues and other CPUs, all network namespaces'."),
	ND_U64(C, softnet_dropped, ND_M_COUNT, COLUMN, "dropped",
	       "Packets that found its input queue full (net.core.netdev_max_backlog)."),
	ND_U64(C, softnet_squeezed, ND_M_COUNT, COLUMN, "squeezed",
	       "Times its softirqs left work behind (net.core.netdev_budget)."),
	ND_ROWS_END
};

static const struct nd_field queue_rows[] = {
	ND_STR(Q, way, COLUMN, "queue", "rx or tx."),
	ND_U64(Q, queue, ND_M_NONE, COLUMN, "no.", "Number of the queue."),
	ND_U64(Q, packets, ND_M_COUNT, COLUMN, "packets", "Packets in the window."),
	ND_F64(Q, share_ratio, ND_M_RATIO, COLUMN, "share", "Part of the packets of all queues of its way."),
	ND_U64(Q, bytes, ND_M_BYTES, COLUMN, "bytes", "Bytes in the window."),
	ND_U64(Q, drops, ND_M_COUNT, COLUMN, "dropped", "Packets that the queue dropped; null where a driver does not tell."),
	ND_U64(Q, irq, ND_M_NONE, COLUMN, "IRQ", "Number of its interrupt."),
	ND_U64(Q, interrupts, ND_M_COUNT, COLUMN, "interrupts", "Interrupts in the window."),
	ND_U64(Q, cpu, ND_M_NONE, COLUMN, "CPU", "CPU that took most of them."),
	ND_ROWS_END
};

static const struct nd_field irq_rows[] = {
	ND_U64(struct nd_irq_row, number, ND_M_NONE, COLUMN, "IRQ", "Number of the interrupt."),
	ND_STR(struct nd_irq_row, name, COLUMN, "name", "Its name."),
	ND_U64(struct nd_irq_row, interrupts, ND_M_COUNT, COLUMN, "interrupts", "Interrupts in the window, all CPUs."),
	ND_U64(struct nd_irq_row, cpu, ND_M_NONE, COLUMN, "CPU", "CPU that took most of them; null when there was none."),
	ND_ROWS_END
};

static const struct nd_field limit_rows[] = {
	ND_STR(struct nd_limit_row, name, COLUMN, "limit", "The driver's name of the counter."),
	ND_U64(struct nd_limit_row, count, ND_M_COUNT, COLUMN, "packets", "How far it moved in the window."),
	ND_ROWS_END
};

static const struct nd_field queue_sum_rows[] = {
	ND_U64(struct nd_queue_sum, queues, ND_M_COUNT, 0, NULL, "Queues that are counted."),
	ND_U64(struct nd_queue_sum, used, ND_M_COUNT, 0, NULL, "Queues with a packet in the window."),
	ND_F64(struct nd_queue_sum, imbalance, ND_M_NONE, 0, NULL,
	       "Packets of the busiest queue over the mean of all: 1 is even, the number of queues is one for all."),
	ND_U64(struct nd_queue_sum, busiest, ND_M_NONE, 0, NULL, "Number of the busiest queue."),
	ND_F64(struct nd_queue_sum, busiest_ratio, ND_M_RATIO, 0, NULL, "Its part of the packets."),
	ND_ROWS_END
};

static const struct nd_field machine_rows[] = {
	ND_F64(M, seconds, ND_M_S, 0, NULL,
	       "True length of the window over which CPU was counted."),
	ND_F64(M, busy_cores, ND_M_CORES, 0, "busy",
	       "All CPUs together: user, system, irq and softirq, in cores."),
	ND_F64(M, user_cores, ND_M_CORES, COLUMN, "user", "In user code, nice included."),
	ND_F64(M, system_cores, ND_M_CORES, COLUMN, "system",
	       "In the kernel on behalf of programs."),
	ND_F64(M, irq_cores, ND_M_CORES, COLUMN, "irq", "In interrupts."),
	ND_F64(M, softirq_cores, ND_M_CORES, COLUMN, "softirq",
	       "In softirqs: most of the network's work."),
	ND_F64(M, steal_cores, ND_M_CORES, COLUMN, "steal", "Taken by the hypervisor for others."),
	ND_F64(M, idle_cores, ND_M_CORES, COLUMN, "idle", "Idle, waiting for disks included."),
	ND_F64(M, process_cores, ND_M_CORES, COLUMN, "program",
	       "This program's user and system time."),
	ND_U64(M, busiest_cpu, ND_M_NONE, 0, NULL, "Number of the CPU that idled least."),
	ND_F64(M, busiest_ratio, ND_M_RATIO, 0, NULL, "How busy it was."),
	ND_F64(M, busiest_softirq_ratio, ND_M_RATIO, 0, NULL,
	       "The part of its time that went to irq and softirq."),
	ND_F64(M, steal_ratio, ND_M_RATIO, 0, NULL,
	       "Part of all CPU time that the hypervisor took for others."),
	ND_U64(M, cycles, ND_M_COUNT, 0, NULL,
	       "CPU cycles of this program in the window, counted by the CPU."),
	ND_U64(M, interrupts, ND_M_COUNT, TEXT, "interrupts", "Interrupts in the window."),
	ND_U64(M, context_switches, ND_M_COUNT, TEXT, "context switches",
	       "Context switches in the window."),
	ND_U64(M, softirq_net_rx, ND_M_COUNT, TEXT, "NET_RX softirqs",
	       "NET_RX softirqs in the window."),
	ND_U64(M, softirq_net_tx, ND_M_COUNT, TEXT, "NET_TX softirqs",
	       "NET_TX softirqs in the window."),
	ND_U64(M, softirq_other, ND_M_COUNT, TEXT, "other softirqs",
	       "All other softirqs in the window."),
	ND_U64(M, voluntary_switches, ND_M_COUNT, 0, NULL, "Times this program waited."),
	ND_U64(M, involuntary_switches, ND_M_COUNT, TEXT, "preemptions",
	       "Times this program was preempted."),
	ND_F64(M, nice_cores, ND_M_CORES, 0, NULL,
	       "The part of user_cores that ran with lowered priority."),
	ND_F64(M, iowait_cores, ND_M_CORES, 0, NULL,
	       "The part of idle_cores that waited for disks."),
	ND_F64(M, cpu_mhz, ND_M_MHZ, 0, NULL, "Clock of the first CPU at the end of the run."),
	ND_F64(M, effective_mhz, ND_M_MHZ, TEXT | NO_WIRE, "clock",
	       "Clock of the CPUs while this program ran, in the window; mhz_source tells whether "
	       "it was measured."),
	ND_STR(M, mhz_source, TEXT | NO_WIRE, "clock by",
	       "perf: this program's cycles over its CPU time; else the kernel's word for one CPU "
	       "at the end of the run."),
	ND_U64(M, cgroup_throttled_periods, ND_M_COUNT, NONZERO, "periods of used up CPU quota",
	       "Periods in which the CPU quota of a control group of this program was used up, in "
	       "the window."),
	ND_F64(M, cgroup_throttled_ms, ND_M_MS, NONZERO, "CPUs held back by the quota for",
	       "Time for which it held CPUs back, in the window, all CPUs and groups together."),
	ND_U64(M, conntrack_count, ND_M_COUNT, TEXT, "connections tracked",
	       "Connections that connection tracking held at the end of the window."),
	ND_U64(M, conntrack_max, ND_M_COUNT, TEXT, "of at most",
	       "Connections that it may hold; null where it is not in use."),
	ND_U64(M, window_interrupts, ND_M_COUNT, 0, NULL,
	       "Interrupts of the sources that were asked for, in the window."),
	ND_U64(M, window_tcp_in_segs, ND_M_COUNT, 0, NULL,
	       "All programs' TCP segments received in the window."),
	ND_U64(M, window_tcp_out_segs, ND_M_COUNT, 0, NULL,
	       "All programs' TCP segments sent in the window."),
	ND_U64(M, window_tcp_retrans_segs, ND_M_COUNT, 0, NULL,
	       "All programs' TCP segments sent again in the window."),
	ND_U64(M, window_tcp_attempt_fails, ND_M_COUNT, 0, NULL,
	       "All programs' TCP connections that failed to open in the window."),
	ND_U64(M, window_tcp_lost_retransmit, ND_M_COUNT, 0, NULL,
	       "TCP segments sent again that were lost again, in the window."),
	ND_U64(M, window_tcp_syn_retrans, ND_M_COUNT, 0, NULL,
	       "TCP SYNs sent again in the window."),
	ND_U64(M, window_tcp_fast_retrans, ND_M_COUNT, 0, NULL,
	       "TCP fast retransmissions in the window."),
	ND_U64(M, window_tcp_forward_retrans, ND_M_COUNT, 0, NULL,
	       "TCP forward retransmissions in the window; newer kernels do not count them."),
	ND_U64(M, window_tcp_slow_start_retrans, ND_M_COUNT, 0, NULL,
	       "TCP retransmissions in slow start, in the window."),
	ND_U64(M, window_tcp_retrans_fail, ND_M_COUNT, 0, NULL,
	       "TCP retransmissions that failed in the window."),
	ND_U64(M, window_udp_in_datagrams, ND_M_COUNT, 0, NULL,
	       "All programs' UDP datagrams delivered in the window."),
	ND_U64(M, window_udp_out_datagrams, ND_M_COUNT, 0, NULL,
	       "All programs' UDP datagrams sent in the window."),
	ND_U64(M, window_udp_in_errors, ND_M_COUNT, 0, NULL,
	       "UDP datagrams that could not be delivered, in the window."),
	ND_STR(M, window_nic, 0, NULL, "Interface of the two figures below."),
	ND_U64(M, window_nic_rx_packets, ND_M_COUNT, 0, NULL, "Packets it received in the window."),
	ND_U64(M, window_nic_tx_packets, ND_M_COUNT, 0, NULL, "Packets it sent in the window."),
	ND_STR(M, queue_source, 0, NULL,
	       "Who counts by queue: netdev (the kernel's netlink family) or ethtool (the driver's own counters); null: nobody."),
	ND_GROUP(struct nd_queue_sum, M, rx_queues, 0, NULL, "Its receive queues together.", &nd_queue_sum_table),
	ND_GROUP(struct nd_queue_sum, M, tx_queues, 0, NULL, "Its transmit queues together.", &nd_queue_sum_table),
	ND_LIST(M, queues, 0, NULL, "One row per queue of it.", &nd_queue_table),
	ND_LIST(M, irqs, 0, NULL, "One row per interrupt of it.", &nd_irq_table),
	ND_LIST(M, limits, 0, NULL, "Counters of its driver of what a limit made it drop or delay.", &nd_limit_table),
	ND_U64(M, allowance_exceeded, ND_M_COUNT, NONZERO, "over the cloud's allowance",
	       "Packets that the platform's allowances (bandwidth, packets, connections) held back or dropped, in the window."),
	ND_U64(M, peak_rss_bytes, ND_M_BYTES, TEXT, "memory at most",
	       "Most memory this program had resident."),
	ND_U64(M, softnet_dropped, ND_M_COUNT, NONZERO, "backlog drops",
	       "Packets dropped at a full input queue, whole run."),
	ND_U64(M, softnet_squeezed, ND_M_COUNT, NONZERO, "softirq budget used up",
	       "Times a softirq left work behind, whole run."),
	ND_U64(M, udp_in_datagrams, ND_M_COUNT, NONZERO, "UDP datagrams in",
	       "UDP datagrams delivered, whole run."),
	ND_U64(M, udp_no_ports, ND_M_COUNT, NONZERO, "UDP for no port",
	       "UDP datagrams for a port nobody has open, whole run."),
	ND_U64(M, udp_rcvbuf_errors, ND_M_COUNT, NONZERO, "UDP receive buffer drops",
	       "UDP datagrams dropped at a full receive buffer, whole run."),
	ND_U64(M, udp_sndbuf_errors, ND_M_COUNT, NONZERO, "UDP send buffer errors",
	       "UDP datagrams refused for lack of buffer, whole run."),
	ND_U64(M, udp_in_csum_errors, ND_M_COUNT, NONZERO, "UDP checksum errors",
	       "UDP datagrams with a wrong checksum, whole run."),
	ND_U64(M, tcp_retrans_segs, ND_M_COUNT, NONZERO, "TCP segments sent again",
	       "All programs' TCP segments sent again, whole run."),
	ND_U64(M, tcp_listen_overflows, ND_M_COUNT, NONZERO, "TCP listen overflows",
	       "Connections dropped because an accept queue was full, whole run."),
	ND_U64(M, tcp_listen_drops, ND_M_COUNT, NONZERO, "TCP listen drops",
	       "Connections dropped by listening sockets for any reason, those included, whole run."),
	ND_U64(M, tcp_backlog_drop, ND_M_COUNT, NONZERO, "TCP backlog drops",
	       "TCP segments dropped at a busy socket, whole run."),
	ND_U64(M, ip_out_discards, ND_M_COUNT, NONZERO, "IP output discards",
	       "IP packets discarded on the way out, whole run."),
	ND_U64(M, ip_in_discards, ND_M_COUNT, NONZERO, "IP input discards",
	       "IP packets discarded on the way in, whole run."),
	ND_U64(M, ip_frag_creates, ND_M_COUNT, NONZERO, "IP fragments sent",
	       "IP fragments created, whole run."),
	ND_U64(M, ip_reasm_fails, ND_M_COUNT, NONZERO, "IP reassembly failures",
	       "IP packets never reassembled, whole run."),
	ND_U64(M, ip_unassembled, ND_M_COUNT, 0, NULL,
	       "IP packets of which fragments are missing, whole run: those that reassembly gave up, and those that "
	       "still wait, for half a minute mostly."),
	ND_STR(M, nic, 0, "interface",
	       "Interface of the test's address; the figures below are its, whole run."),
	ND_U64(M, nic_rx_packets, ND_M_COUNT, TEXT, "interface packets in", "Packets received."),
	ND_U64(M, nic_rx_bytes, ND_M_BYTES, 0, NULL, "Bytes received, headers included."),
	ND_U64(M, nic_rx_dropped, ND_M_COUNT, NONZERO, "interface drops in",
	       "Packets dropped on receipt."),
	ND_U64(M, nic_rx_errors, ND_M_COUNT, NONZERO, "interface errors in",
	       "Packets received with errors."),
	ND_U64(M, nic_tx_packets, ND_M_COUNT, TEXT, "interface packets out",
	       "Packets sent; more than one segment each with offloads."),
	ND_U64(M, nic_tx_bytes, ND_M_BYTES, 0, NULL, "Bytes sent, headers included."),
	ND_U64(M, nic_tx_dropped, ND_M_COUNT, NONZERO, "interface drops out",
	       "Packets dropped when sending."),
	ND_U64(M, nic_tx_errors, ND_M_COUNT, NONZERO, "interface errors out",
	       "Packets not sent because of errors."),
	ND_U64(M, qdisc_drops, ND_M_COUNT, NONZERO, "queueing discipline drops",
	       "Packets dropped by the queueing discipline."),
	ND_U64(M, qdisc_backlog_packets, ND_M_COUNT, NONZERO, "queueing discipline backlog",
	       "Packets still in the queueing discipline at the end."),
	ND_LIST(M, cpus, 0, NULL, "One row per CPU.", &nd_cpu_table),
	ND_ROWS_END
};

static const struct nd_field side_rows[] = {
	ND_STR(S, name, 0, NULL, "client or server."),
	ND_STR(S, address, 0, NULL, "Local address of the test."),
	ND_STR(S, version, 0, NULL, "Version of the program at this end."),
	ND_GROUP(struct nd_host_facts, S, host, 0, NULL, "The machine.", &nd_host_table),
	ND_GROUP(struct nd_nic_facts, S, nic_facts, 0, NULL,
	       "The interface of the test's address.", &nd_nic_facts_table),
	ND_GROUP(M, S, machine, 0, NULL, "What the machine counted.", &nd_machine_table),
	ND_U64(S, threads, ND_M_COUNT, TEXT, "threads", "Threads that moved data."),
	ND_LIST(S, parts, 0, NULL, "What this end measured of each traffic.", &nd_part_table),
	ND_BOOL(S, partial, 0, NULL, "This end was cut short."),
	ND_STR(S, partial_reason, 0, NULL, "Why."),
	ND_U64(S, overlapped_tests, ND_M_COUNT, NONZERO, "other tests meanwhile",
	       "Server: other tests that ran at the same time."),
	ND_I64(S, start_ns, ND_M_NS, 0, NULL, "This end's own first edge, after the agreed start."),
	ND_ROWS_END
};

/* clang-format on */

const struct nd_table nd_interval_table = {
	.name = "interval_sample", .size = sizeof(I), .rows = interval_rows, .columns = true
};
const struct nd_table nd_totals_table = { .name = "totals",
					  .size = sizeof(T),
					  .rows = totals_rows };
const struct nd_table nd_flow_row_table = {
	.name = "flow_row", .size = sizeof(F), .rows = flow_rows, .columns = true
};
const struct nd_table nd_tcp_table = { .name = "tcp", .size = sizeof(V), .rows = tcp_rows };
const struct nd_table nd_rtt_tenth_table = { .name = "rtt_tenth",
					     .size = sizeof(struct nd_rtt_tenth),
					     .rows = rtt_tenth_rows };
const struct nd_table nd_part_table = { .name = "part", .size = sizeof(P), .rows = part_rows };
const struct nd_table nd_cpu_table = {
	.name = "cpu", .size = sizeof(C), .rows = cpu_rows, .columns = true
};
const struct nd_table nd_queue_table = {
	.name = "queue", .size = sizeof(Q), .rows = queue_rows, .columns = true
};
const struct nd_table nd_irq_table = {
	.name = "irq", .size = sizeof(struct nd_irq_row), .rows = irq_rows, .columns = true
};
const struct nd_table nd_limit_table = {
	.name = "limit", .size = sizeof(struct nd_limit_row), .rows = limit_rows, .columns = true
};
const struct nd_table nd_queue_sum_table = { .name = "queue_sum",
					     .size = sizeof(struct nd_queue_sum),
					     .rows = queue_sum_rows };
const struct nd_table nd_machine_table = { .name = "machine",
					   .size = sizeof(M),
					   .rows = machine_rows };
const struct nd_table nd_side_table = { .name = "side", .size = sizeof(S), .rows = side_rows };
