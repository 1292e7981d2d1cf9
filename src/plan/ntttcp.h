/* SPDX-License-Identifier: MIT */
/*
 * What only NTttcp's two command lines can say. Filled by the persona, read by the dialects; the report's writers
 * see it through its field rows. Lives in the plan's arena, as plan->face.
 */
#ifndef ND_PLAN_NTTTCP_H
#define ND_PLAN_NTTTCP_H

#include "plan/plan.h"

struct nd_ntttcp {
	bool windows; /* which of the two command lines, and report */
	bool sender;
	/* both */
	uint64_t base_port;
	uint64_t ports;            /* Linux: -P; Windows: threads in all, each its own port */
	uint64_t threads_per_port; /* Linux -n; Windows 1 */
	uint64_t conns_per_thread; /* Linux -l; Windows 1 */
	uint64_t io_bytes;         /* Linux -b, Windows -l */
	uint64_t source_port;      /* Linux -f: first fixed one; 0: any */
	bool udp, ipv6, no_sync, verbose, nodelay;
	bool has_time;      /* -t was given */
	bool any_transport; /* receiver: TCP or UDP, whichever comes */
	bool continuous;    /* Linux -t 0: until interrupted */
	uint64_t time_ms, warmup_ms, cooldown_ms;
	const char *server_address, *client_address; /* as typed; NULL: none */
	const char *xml_file, *json_file, *log_file; /* NULL: not asked */
	/* Linux */
	bool multi, last, hold, epoll, daemon, quiet, tcp_retrans;
	uint64_t bandwidth_bps, fq_bps; /* -B, --fq-rate-limit; 0: none */
	int64_t cpu;                    /* -m's processor; -1: any */
	const char *nic, *interrupts;   /* --show-nic-packets, --show-dev-interrupts; NULL */
	/* Windows */
	uint64_t buffers;       /* -n; 0: timed */
	uint64_t async_io;      /* -a; 0: off */
	bool async_count_given; /* -a with a number: send buffer 0 */
	int64_t sndbuf, rcvbuf; /* -sb -rb; -1: not asked */
	uint64_t timeout_ms;    /* -to */
	bool dynamic_ports;     /* -sp */
	bool wsa, verify, wait_all, udp_unconnected, receive_coalescing, io_ports_used;
	bool hide_threads, latency, round_trip, no_stdio_buffer, cpu_from_idle, estats, jitter;
	uint64_t uso_bytes, transmit_packets, io_ports, numa_node; /* numa_node ND_UNKNOWN: none */
	uint64_t throttle_kBps, cpu_burn, sample_s, packet_spacing_ms, qos;
	const char *jitter_file;
	struct nd_strv
		notes; /* what was clamped or ignored, a sentence each; for the lines behind the banner */
};

extern const struct nd_table nd_ntttcp_table;

/** nd_ntttcp_of() - the plan's NTttcp settings; NULL: another face. */
const struct nd_ntttcp *nd_ntttcp_of(const struct nd_plan *plan);
/** nd_ntttcp_take_any() - a receiver's plan: TCP and UDP, whichever comes. Other faces' plans stay as they are. */
void nd_ntttcp_take_any(struct nd_plan *plan);

#endif
