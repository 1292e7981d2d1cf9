/* SPDX-License-Identifier: MIT */
/*
 * What only netperf's and netserver's command lines can say. Filled by the persona, read by the dialect; the
 * report's writers see it through its field rows. Lives in the plan's arena, as plan->face.
 */
#ifndef ND_PLAN_NETPERF_H
#define ND_PLAN_NETPERF_H

#include "plan/plan.h"

/* The tests, by the names users type. */
enum nd_netperf_test {
	ND_NP_TCP_STREAM,
	ND_NP_TCP_MAERTS,
	ND_NP_TCP_RR,
	ND_NP_TCP_CRR,
	ND_NP_UDP_STREAM,
	ND_NP_UDP_RR,
	ND_NP_OMNI,
	ND_NP_TCP_SENDFILE,
	ND_NP_TCP_CC,
	ND_NP_TCP_MSS,
	ND_NP_LOC_CPU,
	ND_NP_REM_CPU,
	ND_NP_UUID,
	ND_NP_TESTS
};

/* Bits of a direction as it travels; both: request and response. */
enum { ND_NP_SEND = 2, ND_NP_RECV = 4 };

enum nd_netperf_style { ND_NP_CLASSIC, ND_NP_CSV, ND_NP_HUMAN, ND_NP_KEYVAL };

/* A member for each end. */
struct nd_netperf_pair {
	int64_t local, remote;
};

/* What the ends told each other of a test, at its start unless said; -1: not told. */
struct nd_netperf_said {
	struct nd_netperf_pair sndbuf, rcvbuf;         /* as the systems had them */
	struct nd_netperf_pair send_bytes, recv_bytes; /* sizes in use */
	struct nd_netperf_pair send_width, recv_width;
	struct nd_netperf_pair data_port;
	int64_t remote_priority, remote_tos;
	bool remote_nodelay, remote_cpu;        /* the server measures its CPU */
	double remote_rate;                     /* of its CPU, as calibrated */
	int64_t remote_cpus, remote_cpu_method; /* at the end */
	int64_t remote_send_calls, remote_recv_calls;
	double remote_elapsed_s;
};

struct nd_netperf {
	enum nd_netperf_test test;
	unsigned direction; /* ND_NP_SEND | ND_NP_RECV, as the client sees it */
	enum nd_af control_af, data_af;
	enum nd_netperf_style style;
	/* global */
	bool server;                /* netserver */
	bool local_cpu, remote_cpu; /* -c -C */
	bool result_only;           /* -r */
	bool keep_stats;            /* -j, or asked by a selector */
	bool no_control;            /* -N */
	bool keepalive;             /* -S */
	bool banner;                /* -P 1 */
	bool shows_tcp_info;        /* $DUMP_TCP_INFO: of the flow's end, on stderr */
	int64_t unit;               /* -f, a letter */
	/* netserver */
	bool foreground, one_by_one, inetd;
	/* the test's own */
	bool datagram, connection_test; /* connection: a new one for each transaction */
	bool nodelay, route, cork, fastopen, use_write, copy_avoidance, retry;
	bool connected_local, connected_remote, pmtu_discovery; /* UDP: -n -N; -f */
	bool defer_accept, pktinfo, debug;                      /* -a -B -g */
	uint64_t multicast_ttl;                                 /* -l; 0: the system's */
	uint64_t last_port;                                     /* netserver; 0: one port only */
	/* global; -1: not asked, unless said */
	struct nd_netperf_pair send_align, recv_align;   /* 8 */
	struct nd_netperf_pair send_offset, recv_offset; /* 0 */
	struct nd_netperf_pair send_width, recv_width;   /* 0: netperf's own choice */
	double local_rate, remote_rate;                  /* 0: to be found */
	uint64_t burst, burst_ns; /* -b -w: so many operations each so long; 0: no pacing */
	uint64_t remote_burst, remote_burst_ns;
	uint64_t local_port;                       /* -p: the control connection's own; 0: any */
	uint64_t interim_ns;                       /* -D; 0: none */
	const char *local_file, *remote_file;      /* -F; NULL: the pattern */
	int64_t length;                            /* -l: s; negative: bytes or transactions */
	uint64_t iterations_max, iterations_min;   /* 1 */
	uint64_t confidence;                       /* 0, 95, 99 */
	double confidence_width;                   /* full width, ratio */
	uint64_t wait_ns;                          /* -s */
	struct nd_netperf_pair cpu, priority, tos; /* -T -y -Y */
	uint64_t verbosity;                        /* -v */
	const char *brand;                         /* -B; NULL */
	const char *passphrase;                    /* -Z; NULL */
	const char *host;                          /* -H; the plan's */
	const char *local_host, *data_host, *data_local; /* -L, test's -H, -L; NULL */
	uint64_t data_host_bits,
		data_local_bits; /* of them that stay, the others are random; 0: all stay */
	uint64_t parallel;       /* --parallel; 1 */
	bool losses;             /* --losses: where datagrams were lost, as far as the ends know */
	/* the test's own; -1: not asked */
	struct nd_netperf_pair send_bytes, recv_bytes; /* -m -M */
	struct nd_netperf_pair sndbuf, rcvbuf;         /* -s -S */
	int64_t request_bytes, response_bytes;
	struct nd_netperf_pair data_port; /* -P; 0: any */
	const char *protocol;             /* "TCP", "UDP" */
	uint64_t first_burst;             /* -b of a request/response test */
	uint64_t recv_timeout_ns;         /* -e; 0: none */
	const char *local_cc, *remote_cc; /* -K; NULL */
	uint64_t mss_bytes, max_pacing;   /* -G -q; 0 */
	uint64_t port_min, port_max;      /* -p */
	const char *uuid;                 /* NULL: made at random */
	const char *selection;            /* as typed; NULL: the default set */
	const char *command;              /* the whole line, for COMMAND_LINE */
	struct nd_netperf_said said;
};

extern const struct nd_table nd_netperf_table, nd_netperf_said_table, nd_netperf_pair_table;
extern const char *const nd_netperf_test_names[]; /* "TCP_STREAM" ..., ends with NULL */

/** nd_netperf_of() - the plan's netperf settings; NULL: another face. */
const struct nd_netperf *nd_netperf_of(const struct nd_plan *plan);

/** nd_netperf_is_rr() - does the test count transactions? */
bool nd_netperf_is_rr(const struct nd_netperf *n);

#endif
