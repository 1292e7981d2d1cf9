/* SPDX-License-Identifier: MIT */
/*
 * What the machine counted: CPU, interrupts, softirqs, interfaces, queues, protocol counters, host
 * facts. Snapshots are plain copies that are safe to subtract, whatever interface or moment they come
 * from, so that a report and a live monitor read the same source. Linux behind it; every path starts
 * at a root that tests replace by a copied tree.
 */
#ifndef ND_OS_OS_H
#define ND_OS_OS_H

#include "base/arena.h"
#include "base/err.h"

struct nd_os; /* open files and the root; one per thread that reads */

/** nd_os_open() - @root: "" for the machine, or a folder that holds proc/ and sys/. */
ND_MUST_CHECK int nd_os_open(const char *root, struct nd_os **ret, struct nd_err *err);
void nd_os_free(struct nd_os *os);

/** nd_os_unread() - the n-th source of samples that cannot be opened, below the root; NULL: no more. Lives for ever.
 * @os may be NULL. */
const char *nd_os_unread(const struct nd_os *os, size_t n);

/** nd_os_watch_interrupts() - from now on samples count the interrupts of the lines of
 * /proc/interrupts that contain @text. NULL or empty: none. Return: 0 or -ENOMEM. */
ND_MUST_CHECK int nd_os_watch_interrupts(struct nd_os *os, const char *text);
/** nd_os_watch_nic() - whose packets a report wants, when it is not the interface of the test's
 * address. NULL or empty: that one. Return: 0 or -ENOMEM. */
ND_MUST_CHECK int nd_os_watch_nic(struct nd_os *os, const char *name);
/** nd_os_watched_nic() - that name, NULL when none was given. Lives as long as @os. */
const char *nd_os_watched_nic(const struct nd_os *os);

/* ---- CPU: ns since boot, by kind, as the kernel accounts them (USER_HZ ticks) ---- */
struct nd_cpu_times {
	uint64_t user_ns, nice_ns, system_ns, idle_ns, iowait_ns, irq_ns, softirq_ns, steal_ns;
};

struct nd_softirqs {
	uint64_t net_rx, net_tx, timer, sched, other;
};

/* Protocol counters of this network namespace; ND_UNKNOWN where a kernel lacks one. */
#define ND_SNMP(X)                                                 \
	X(tcp_in_segs, "Tcp", "InSegs")                            \
	X(tcp_out_segs, "Tcp", "OutSegs")                          \
	X(tcp_retrans_segs, "Tcp", "RetransSegs")                  \
	X(tcp_in_errs, "Tcp", "InErrs")                            \
	X(tcp_attempt_fails, "Tcp", "AttemptFails")                \
	X(tcp_lost_retransmit, "TcpExt", "TCPLostRetransmit")      \
	X(tcp_syn_retrans, "TcpExt", "TCPSynRetrans")              \
	X(tcp_fast_retrans, "TcpExt", "TCPFastRetrans")            \
	X(tcp_forward_retrans, "TcpExt", "TCPForwardRetrans")      \
	X(tcp_slow_start_retrans, "TcpExt", "TCPSlowStartRetrans") \
	X(tcp_retrans_fail, "TcpExt", "TCPRetransFail")            \
	X(tcp_listen_overflows, "TcpExt", "ListenOverflows")       \
	X(tcp_listen_drops, "TcpExt", "ListenDrops")               \
	X(tcp_backlog_drop, "TcpExt", "TCPBacklogDrop")            \
	X(udp_in_datagrams, "Udp", "InDatagrams")                  \
	X(udp_out_datagrams, "Udp", "OutDatagrams")                \
	X(udp_no_ports, "Udp", "NoPorts")                          \
	X(udp_in_errors, "Udp", "InErrors")                        \
	X(udp_rcvbuf_errors, "Udp", "RcvbufErrors")                \
	X(udp_sndbuf_errors, "Udp", "SndbufErrors")                \
	X(udp_in_csum_errors, "Udp", "InCsumErrors")               \
	X(udp6_in_datagrams, "Udp6", "InDatagrams")                \
	X(udp6_out_datagrams, "Udp6", "OutDatagrams")              \
	X(udp6_no_ports, "Udp6", "NoPorts")                        \
	X(udp6_in_errors, "Udp6", "InErrors")                      \
	X(udp6_rcvbuf_errors, "Udp6", "RcvbufErrors")              \
	X(udp6_sndbuf_errors, "Udp6", "SndbufErrors")              \
	X(udp6_in_csum_errors, "Udp6", "InCsumErrors")             \
	X(ip_in_discards, "Ip", "InDiscards")                      \
	X(ip_out_discards, "Ip", "OutDiscards")                    \
	X(ip_out_no_routes, "Ip", "OutNoRoutes")                   \
	X(ip_reasm_fails, "Ip", "ReasmFails")                      \
	X(ip6_reasm_fails, "Ip6", "ReasmFails")                    \
	X(ip_frag_creates, "Ip", "FragCreates")                    \
	X(ip6_frag_creates, "Ip6", "FragCreates")

struct nd_snmp {
#define X(name, group, key) uint64_t name;
	ND_SNMP(X)
#undef X
};

struct nd_softnet {
	uint64_t processed, dropped, time_squeeze, received_rps, flow_limit; /* summed over CPUs */
};

/* One interface. qdisc_* from the root qdisc and its children (netlink); ND_UNKNOWN when not readable. */
struct nd_nic {
	uint64_t ifindex;
	char name[64];
	uint64_t rx_packets, rx_bytes, rx_dropped, rx_errors, rx_missed, rx_nohandler;
	uint64_t rx_multicast, rx_compressed, rx_fifo_errors;
	uint64_t tx_packets, tx_bytes, tx_dropped, tx_errors, tx_carrier_errors, tx_compressed;
	uint64_t qdisc_packets, qdisc_bytes, qdisc_drops, qdisc_overlimits, qdisc_requeues;
	uint64_t qdisc_backlog_packets;
};

/* The CPU quotas of the control groups that hold this program; ND_UNKNOWN: none counts. */
struct nd_cgroup {
	uint64_t throttled_periods; /* a quota was used up before their end */
	uint64_t throttled_ns;      /* for which CPUs were held back, all of them together */
};

struct nd_process {
	uint64_t user_ns, system_ns, voluntary_switches, involuntary_switches, minor_faults,
		rss_bytes;
	uint64_t peak_rss_bytes;
};

struct nd_os_sample {
	uint64_t at_ns; /* monotonic */
	uint32_t cpus;  /* highest CPU number + 1; one that is offline is ND_UNKNOWN everywhere */
	struct nd_cpu_times all;
	struct nd_cpu_times *cpu;       /* [cpus], owned: nd_os_sample_done() */
	uint64_t *cpu_net_rx;           /* [cpus] NET_RX softirqs; may be NULL; owned */
	struct nd_softnet *cpu_softnet; /* [cpus]; may be NULL; owned */
	uint32_t nics;
	struct nd_nic *nic; /* owned */
	struct nd_softirqs softirqs;
	struct nd_snmp snmp;
	struct nd_softnet softnet;
	struct nd_process self;
	struct nd_cgroup cgroup;
	uint64_t interrupts, context_switches; /* machine-wide; ND_UNKNOWN when unreadable */
	uint64_t
		watched_interrupts; /* nd_os_watch_interrupts(); ND_UNKNOWN: no line, or not asked */
	uint64_t conntrack_count, conntrack_max;
	/* datagrams that the kernel gave up to put together from fragments, and those that wait for more of theirs:
	 * half a minute before it gives up, mostly; ND_UNKNOWN when neither IP version tells */
	uint64_t unassembled;
};

/** nd_os_cpu_ns() - the sum over all kinds that are known. */
uint64_t nd_os_cpu_ns(const struct nd_cpu_times *t);
/** nd_os_sample() - read everything once, about 0.3 ms. What cannot be read is ND_UNKNOWN, never 0. */
ND_MUST_CHECK int nd_os_sample(struct nd_os *os, struct nd_os_sample *ret);
/** nd_os_since() - difference of two samples. CPUs are matched by number, interfaces by index; what
 * is missing at one end, or ran backwards (reset), becomes ND_UNKNOWN; 32-bit wraps are undone. What
 * is a level and no count (backlog, memory, conntrack) is @now's; at_ns is the time between.
 * Allocates. */
ND_MUST_CHECK int nd_os_since(const struct nd_os_sample *now, const struct nd_os_sample *then,
			      struct nd_os_sample *ret);
void nd_os_sample_done(struct nd_os_sample *s);
const struct nd_nic *nd_os_nic(const struct nd_os_sample *s, const char *name);
/** nd_os_no_nic() - -ENODEV, and in @err the sentence that there is no interface @name, and which there are. */
int nd_os_no_nic(const struct nd_os_sample *s, const char *name, struct nd_err *err);

/* ---- facts: what does not change during a run. Strings in the caller's arena, NULL when unknown ---- */
struct nd_host_facts {
	const char *hostname, *kernel, *kernel_build, *machine, *os_name, *cpu_model, *boot_id,
		*netns_id;
	const char *clocksource, *governor, *congestion_control, *default_qdisc;
	const char *virtualization; /* hypervisor vendor from DMI / cpuid flag, container kind */
	uint64_t cpus_online, cpus_allowed, numa_nodes, cpu_mhz;
	uint64_t smt; /* hardware threads per core, 1: none */
	uint64_t rmem_max_bytes, wmem_max_bytes, somaxconn, netdev_max_backlog, fd_limit;
	uint64_t memory_bytes, port_range_low, port_range_high;
	uint64_t clock_read_ns; /* measured: one nd_now_ns() */
	double cgroup_cpus;     /* CPU quota in cores, NAN when none */
};

ND_MUST_CHECK int nd_os_host(struct nd_os *os, struct nd_arena *a, struct nd_host_facts *ret);

/** nd_os_cpu_mhz() - clock of the first CPU as it is now. NAN: unknown. */
double nd_os_cpu_mhz(struct nd_os *os);

struct nd_nic_facts {
	const char *name, *driver, *driver_version, *firmware, *duplex, *bus, *mac, *qdisc;
	const char *offloads; /* "tso gso gro lro rx-checksum tx-checksum", those that are on */
	uint64_t ifindex, mtu_bytes, speed_mbps, rx_queues, tx_queues, rx_ring, tx_ring;
	int64_t numa_node;   /* -1 none, INT64_MIN unknown */
	const char *cpulist; /* CPUs near it, "0-3" */
	bool is_loopback, is_virtual;
};

/** nd_os_nic_facts() - @name of an interface in this namespace. -ENODEV. */
ND_MUST_CHECK int nd_os_nic_facts(struct nd_os *os, const char *name, struct nd_arena *a,
				  struct nd_nic_facts *ret);
/** nd_os_nic_for() - name of the interface that holds the given local address (IPv4-mapped
 * understood). -ENODEV: none does; -ENOSPC: @size is too small. */
ND_MUST_CHECK int nd_os_nic_for(const void *sockaddr, char *ret, size_t size);

/** nd_os_cpulist() - parse "0,2-3" into numbers; at most @room are stored and counted. A newline may
 * follow. Return: how many were stored; -EINVAL: not such a list, or empty. */
int nd_os_cpulist(const char *text, uint32_t *ret, size_t room);
/** nd_os_allowed_cpus() - this thread's affinity list; at most @room are stored and counted. */
int nd_os_allowed_cpus(uint32_t *ret, size_t room);

/* ---- single files, for those who judge or change a machine */

/** nd_os_peek() - start of a file below the root into @buf, terminated. False: unreadable. */
bool nd_os_peek(struct nd_os *os, char *buf, size_t size, const char *fmt, ...) ND_PRINTF(4, 5);
/** nd_os_fact_u64() - the number a file below the root begins with; ND_UNKNOWN. */
uint64_t nd_os_fact_u64(struct nd_os *os, const char *fmt, ...) ND_PRINTF(2, 3);
bool nd_os_exists(struct nd_os *os, const char *fmt, ...) ND_PRINTF(2, 3);
/** nd_os_poke() - write @text into a file below the root that is there already. Return: 0 or -errno. */
ND_MUST_CHECK int nd_os_poke(struct nd_os *os, const char *text, const char *fmt, ...)
	ND_PRINTF(3, 4);
/** nd_os_runs() - is there a process with this name (15 characters at most)? */
bool nd_os_runs(struct nd_os *os, const char *comm);

/* ---- cycles: perf_event where the machine has it ---- */
struct nd_perf;
/** nd_perf_open() - count user+kernel cycles of the calling thread and those it starts from now on.
 * -ENOENT: this machine has no counter; -EACCES: not allowed (kernel.perf_event_paranoid). */
ND_MUST_CHECK int nd_perf_open(struct nd_perf **ret);
uint64_t nd_perf_cycles(struct nd_perf *p); /* since open; ND_UNKNOWN when NULL */
void nd_perf_free(struct nd_perf *p);

#endif
