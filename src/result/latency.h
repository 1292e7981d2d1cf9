/* SPDX-License-Identifier: MIT */
/* Times of requests at the end that asks: distributions, how sure their quantiles are, what the clock is worth. */
#ifndef ND_RESULT_LATENCY_H
#define ND_RESULT_LATENCY_H

#include "base/arena.h"
#include "base/field.h"
#include "stat/hist.h"

/* One quantile, and two times that hold the true one between them with 95 % confidence. */
struct nd_quantile_row {
	const char *name; /* "p99.9" */
	double ratio;     /* 0.999 */
	double us, low_us, high_us;
	const char *missing; /* why it is not told; NULL: it is */
};

/* A distribution of times in the measured window. */
struct nd_times {
	uint64_t count;
	double min_us, mean_us, stddev_us, max_us;
	struct nd_list quantiles; /* struct nd_quantile_row */
};

#define ND_TIME_PARTS 3u

/* Times in three by one end's stamps of its kernel: round trips at the asking end, its part of them at the answering
 * one. The rows of each end's table name the parts, in the order in which they pass. */
struct nd_parted {
	/* answers in the measured window: with both stamps, without that of what this end sent, without that of what it
	 * received, with stamps that are in no order */
	uint64_t stamped, no_send_stamp, no_receive_stamp, odd;
	const char *missing; /* why there are no stamps; NULL: there are */
	struct nd_times parts[ND_TIME_PARTS];
	/* of the asking end: */
	struct nd_parted *server;   /* what the answering end says of its part; NULL: nothing */
	const char *server_missing; /* why not; NULL: it does */
};

struct nd_latency {
	bool open_loop;       /* requests do not wait for answers */
	const char *arrival;  /* gaps of the schedule; NULL: there is none */
	uint64_t outstanding; /* closed loop: requests of a flow that wait for answers */
	const char *clock;    /* where the machine's time comes from; NULL: not told */
	double clock_read_ns; /* what reading it takes */
	uint64_t spinners;    /* threads of the asking end that never wait */
	/* the whole run: sent = answered + lost; a stop leaves some open */
	uint64_t sent, answered, lost;
	double lost_ratio;
	/* connections made in the test; unknown where there are none */
	uint64_t source_ports, source_addresses; /* that they share: of one address; addresses */
	uint64_t no_port;                        /* attempts that found none, whole run */
	const char *handshake; /* how it ends: "with_request", "plain"; NULL: as above */
	struct nd_times service, response, late; /* .count 0: not measured */
	struct nd_times opened, answer, ended;   /* of connections made in the test: their parts */
	struct nd_parted *kernel;                /* NULL: its stamps were not asked for */
	double near_40ms_ratio; /* service times of 39 to 41 ms, which delayed ACKs make */
	uint64_t waits; /* sends that were early: 0: the rate was too high, or there was none */
	/* for exports; buckets in the result's arena, not in rows */
	struct nd_hist_view service_hist, response_hist;
};

extern const struct nd_table nd_latency_table, nd_times_table, nd_quantile_table;
extern const struct nd_table nd_parted_table,
	nd_turned_table; /* of the asking, the answering end */

/** nd_times_from() - what of a histogram stands in a report, into @a. -ENOMEM. */
ND_MUST_CHECK int nd_times_from(const struct nd_hist_view *v, struct nd_arena *a,
				struct nd_times *ret);

#endif
