/* SPDX-License-Identifier: MIT */
/*
 * What only sockperf's command line can say. Filled by the persona, read by the dialect; the report's writer sees it
 * through its field rows. Lives in the plan's arena, as plan->face.
 */
#ifndef ND_PLAN_SOCKPERF_H
#define ND_PLAN_SOCKPERF_H

#include "plan/plan.h"

#define ND_SOCKPERF_HEADER  14u
#define ND_SOCKPERF_PORT    11111
#define ND_SOCKPERF_LIMIT   65508ull /* of a message to a server that was told nothing */
#define ND_SOCKPERF_MAX_TCP 1048575ull
#define ND_SOCKPERF_TALE    38u /* bytes of a server's answer to what has arrived */
#define ND_SOCKPERF_WARM_UP \
	255 /* nd_step.asks: messages in front of the first, which do not count */
#define ND_SOCKPERF_THREADS 64 /* logs that a result holds */
#define ND_SOCKPERF_SERVERS 16 /* that answer each message */

enum nd_sockperf_mode {
	ND_SP_SERVER,
	ND_SP_PING_PONG,
	ND_SP_UNDER_LOAD,
	ND_SP_THROUGHPUT,
	ND_SP_PLAYBACK,
	ND_SP_MODES
};

struct nd_sockperf {
	enum nd_sockperf_mode mode;
	bool tcp, full_rtt, giga, precise, dont_warm_up, nonblocked, dont_reply, has_rate, gaps,
		skips;
	bool has_time, short_average, coloured, daemonize, codes_as_theirs;
	bool debug, compares, no_rdtsc, reuseaddr, nodelay, loops, answers_sender, has_threads;
	uint64_t time_s;      /* -t */
	uint64_t messages;    /* -n; 0: by time */
	uint64_t burst;       /* -b */
	uint64_t rate;        /* --mps; 0: max */
	uint64_t reply_every; /* R; 1 but for under-load */
	uint64_t message_bytes, range_bytes;
	uint64_t level; /* --ci_sig_level */
	uint64_t threads;
	uint64_t servers;                         /* --srv-num */
	uint64_t halves;                          /* a server's runs; 2: of TCP and of UDP */
	uint64_t dots, rows;                      /* -a, -A: messages of each; 0: none */
	uint64_t wait_s;                          /* --pre-warmup-wait */
	uint64_t bin_us, bin_low_us, bin_high_us; /* --histogram; bin 0: none */
	uint64_t buffer_bytes, pace;              /* --buffer-size, --rate-limit; 0: none */
	uint64_t tos, ttl, client_port;           /* for -d alone, as .pin and what follows it */
	const char *method;                       /* how sockets are waited for, as shown */
	const char *log;                          /* --full-log; NULL */
	const char *version;                      /* as shown */
	const char *data_file;                    /* --data-file; NULL */
	const char *pin, *receiver_pin, *client_address, *feed; /* NULL: not given */
	struct nd_strv addresses;                               /* shown, "IP PORT TCP|UDP" */
	struct nd_list schedule;                                /* playback: struct nd_playback */
};

/* One message of a playback. */
struct nd_playback {
	uint64_t at_ns, bytes;
};

extern const struct nd_table nd_sockperf_table;
extern const char *const nd_sockperf_mode_names[]; /* ends with NULL */

/** nd_sockperf_of() - the plan's sockperf settings; NULL: another face. */
const struct nd_sockperf *nd_sockperf_of(const struct nd_plan *plan);

/** nd_sockperf_size() - bytes of message number @index of a flow: @most, or less by up to @spread, the same whoever
 * asks. */
static inline uint64_t nd_sockperf_size(uint64_t most, uint64_t spread, uint64_t index)
{
	uint64_t x = (index + 1) * 0x9e3779b97f4a7c15ull;

	if (spread == 0 || most <= ND_SOCKPERF_HEADER)
		return most;
	spread = ND_MIN(spread, most - ND_SOCKPERF_HEADER);
	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 29;
	return most - x % (spread + 1);
}

/** nd_sockperf_bytes() - bytes of message number @index of flow @flow of @w. Flows take the messages of a playback in
 * turn. */
static inline uint64_t nd_sockperf_bytes(const struct nd_workload *w, uint64_t flow, uint64_t index)
{
	const struct nd_playback *v = w->schedule.v;

	if (w->schedule.n == 0)
		return nd_sockperf_size(w->message_bytes, w->spread_bytes, index);
	return v[ND_MIN(flow + index * w->flows, w->schedule.n - 1)].bytes;
}

#endif
