/* SPDX-License-Identifier: MIT */
/*
 * Shared by netperf's reports: the figures as netperf counts them. What nobody could see is the number that
 * netperf prints then, because its formats know no other word: -1 or 0.
 */
#ifndef ND_REPORT_NETPERF_H
#define ND_REPORT_NETPERF_H

#include "report/face.h"
#include "result/repeats.h"

enum nd_nprep_style { ND_NPREP_CLASSIC, ND_NPREP_CSV, ND_NPREP_HUMAN, ND_NPREP_KEYVAL };

/* What tests have in common in their rows. */
enum nd_nprep_kind {
	ND_NPREP_STREAM,  /* TCP, either way */
	ND_NPREP_PACKETS, /* UDP_STREAM */
	ND_NPREP_RR,
	ND_NPREP_CRR, /* and TCP_CC */
	ND_NPREP_MSS,
	ND_NPREP_OMNI, /* has no classic rows */
	ND_NPREP_CPU,  /* LOC_CPU, REM_CPU */
	ND_NPREP_UUID
};

struct nd_nprep_test {
	const char *name, *title;
	enum nd_nprep_kind kind;
	bool is_old; /* its server tells bytes as a floating-point number */
};

/* One end; "remote" as it told, or as we asked. */
struct nd_nprep_end {
	int64_t sndbuf_asked, sndbuf, sndbuf_end, rcvbuf_asked, rcvbuf, rcvbuf_end;
	int64_t send_bytes, recv_bytes;                         /* of one call */
	double cpu, user, system, iowait, irq, softirq, demand; /* percent; us per unit */
	const char *method;                                     /* a letter */
	int64_t cpus, bound, peak_id;
	double peak;
	int64_t retransmits;
	double send_rate, recv_rate; /* in the unit asked for */
	int64_t sends, recvs, failed_sends, tx_bytes, rx_bytes;
	double bytes_per_send, bytes_per_recv;
	int64_t bytes;
	int64_t send_offset, recv_offset, send_align, recv_align, send_width, recv_width;
	int64_t nodelay, cork, priority, tos;
	int64_t interval_us, interval_burst;
	const char *cc, *fill_file;
};

struct nd_nprep {
	struct nd_face face;
	const struct nd_result *r;  /* borrowed; NULL: before the test */
	const struct nd_part *part; /* borrowed, of this end; NULL: nothing was measured */
	const struct nd_nprep_test *test;
	enum nd_nprep_style style;
	bool sends, recvs, connects; /* the test's direction, as the client sees it */
	bool datagram, counts_transactions;
	int64_t unit; /* a letter */
	bool local_cpu, remote_cpu;
	bool banner;
	int64_t verbosity;
	const char *brand, *brand_quoted;
	struct nd_nprep_end local, remote;
	double elapsed_s, rate,
		result_rate; /* rate: per second, of bytes or transactions; in the unit */
	char unit_name[16];  /* "10^6bits/s", "Trans/s" */
	const char *socket_type, *protocol;
	char direction[32];
	const char *demand_unit, *uuid, *command;
	int64_t request_bytes, response_bytes, burst, mss;
	double transaction_rate, rt_latency_us;
	/* confidence */
	int64_t level, runs;
	double width_asked, rate_width, local_cpu_width, remote_cpu_width; /* percent; -1 */
	/* addresses of data */
	int64_t source_port, source_family, dest_port, dest_family;
	const char *source, *dest;
	/* latency, us; -1: not kept */
	int64_t min_us, max_us, p50_us, p90_us, p99_us;
	double mean_us, stddev_us;
};

/** nd_nprep_open() - figures of @r; NULL: those that are known before. Nothing to be released. */
void nd_nprep_open(struct nd_nprep *f, const struct nd_report_cfg *cfg, const struct nd_result *r);
/** nd_nprep_bytes_rate() - bytes per second in the unit asked for, Mbit/s where that counts transactions. */
double nd_nprep_bytes_rate(const struct nd_nprep *f, double bytes_per_s);
/** nd_nprep_unit_name() - the words of a unit without its time. @transactions: of those, if it counts them. */
const char *nd_nprep_unit_name(const struct nd_nprep *f, bool transactions);

/** nd_nprep_banner() - @ipv6: what the data runs over. */
void nd_nprep_banner(const struct nd_nprep *f, bool ipv6, struct nd_str *out);
/** nd_nprep_classic() - titles and rows of every test that has them. */
void nd_nprep_classic(const struct nd_nprep *f, struct nd_str *out);
/** nd_nprep_more() - what -v 2 adds. */
void nd_nprep_more(const struct nd_nprep *f, struct nd_str *out);
/** nd_nprep_histogram() - round trips; nothing without any. @heading: NULL: what omni output has. */
void nd_nprep_histogram(const struct nd_nprep *f, struct nd_str *out);
/** nd_nprep_omni() - what was selected, in the style asked for. */
void nd_nprep_omni(const struct nd_nprep *f, struct nd_str *out);

#endif
