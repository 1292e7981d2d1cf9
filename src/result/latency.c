/* SPDX-License-Identifier: MIT */
/* Times of requests as rows, and from histograms to them. */
#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "result/latency.h"
#include "stat/quantile.h"

#define L struct nd_latency
#define Q struct nd_quantile_row
#define T struct nd_times
#define K struct nd_parted

static const struct {
	const char *name;
	double ratio;
} told[] = {
	{ "p50", 0.5 },       { "p75", 0.75 },        { "p90", 0.9 },
	{ "p95", 0.95 },      { "p99", 0.99 },        { "p99.9", 0.999 },
	{ "p99.99", 0.9999 }, { "p99.999", 0.99999 }, { "p99.9999", 0.999999 },
};

/* clang-format off */
static const struct nd_field quantile_rows[] = {
	ND_STR(Q, name, 0, NULL, "Its name, such as p99.9."),
	ND_F64(Q, ratio, ND_M_NONE, 0, NULL, "Share of the times that are not longer."),
	ND_F64(Q, us, ND_M_US, 0, NULL, "The quantile; null with fewer than ten samples beyond it."),
	ND_F64(Q, low_us, ND_M_US, 0, NULL,
	       "The true quantile is, with 95 % confidence if samples are independent, not below this."),
	ND_F64(Q, high_us, ND_M_US, 0, NULL, "And not over this; null where no sample is large enough to say so."),
	ND_STR(Q, missing, 0, NULL, "Why the quantile is null."),
	ND_ROWS_END
};

static const struct nd_field times_rows[] = {
	ND_U64(T, count, ND_M_COUNT, 0, NULL, "Samples in the measured window."),
	ND_F64(T, min_us, ND_M_US, 0, NULL, "Shortest."),
	ND_F64(T, mean_us, ND_M_US, 0, NULL, "Mean."),
	ND_F64(T, stddev_us, ND_M_US, 0, NULL, "Standard deviation."),
	ND_F64(T, max_us, ND_M_US, 0, NULL, "Longest."),
	ND_LIST(T, quantiles, 0, NULL, "Quantiles with their limits.", &nd_quantile_table),
	ND_ROWS_END
};

/* The part that passes as number @i; its label stands above its column in the text. */
#define PART(i, k, la, he)                                                                         \
	{ .key = (k), .label = (la), .help = (he), .type = ND_T_GROUP, .table = &nd_times_table,   \
	  .offset = (uint32_t)offsetof(K, parts[i]) }

static const struct nd_field turned_rows[] = {
	ND_U64(K, stamped, ND_M_COUNT, 0, NULL, "Answers in the measured window with both stamps: the samples."),
	ND_U64(K, no_send_stamp, ND_M_COUNT, 0, NULL, "Answers that have none themselves."),
	ND_U64(K, no_receive_stamp, ND_M_COUNT, 0, NULL, "Answers whose request has no stamp."),
	ND_U64(K, odd, ND_M_COUNT, 0, NULL, "Answers whose stamps are in no order: the wall clock was set."),
	ND_STR(K, missing, 0, NULL, "Why there are no stamps; null: there are."),
	PART(0, "read", "until read",
	     "From a request being at the answering end's stack until its program had it: the stack, waking up, and copying."),
	PART(1, "turn", "until turned", "Until its call that sends the answer: the program."),
	PART(2, "send", "until sent", "Until the answer had left the stack for the device."),
	ND_ROWS_END
};

static const struct nd_field parted_rows[] = {
	ND_U64(K, stamped, ND_M_COUNT, 0, NULL, "Answers in the measured window with both stamps: the samples."),
	ND_U64(K, no_send_stamp, ND_M_COUNT, 0, NULL, "Answers whose request has no stamp."),
	ND_U64(K, no_receive_stamp, ND_M_COUNT, 0, NULL, "Answers that have none themselves."),
	ND_U64(K, odd, ND_M_COUNT, 0, NULL, "Answers whose stamps are in no order: the wall clock was set."),
	ND_STR(K, missing, 0, NULL, "Why there are no stamps; null: there are."),
	PART(0, "send", "until sent", "From the program's call until the request had left the stack for the device."),
	PART(1, "path", "on the way", "Until its answer was at the stack: the device, the network, and the answering machine."),
	PART(2, "read", "until read", "Until the program had it: the stack, waking up, and copying."),
	ND_OPTGROUP(struct nd_parted, K, server, 0, NULL,
	       "The answering end's part of the path, by stamps of its kernel; null: it does not tell.", &nd_turned_table),
	ND_STR(K, server_missing, 0, NULL, "Why it does not tell; null: it does."),
	ND_ROWS_END
};

static const struct nd_field latency_rows[] = {
	ND_BOOL(L, open_loop, 0, NULL, "Requests went by a schedule and did not wait for answers."),
	ND_STR(L, arrival, 0, NULL, "Gaps of the schedule: fixed, uniform or poisson; null: there was none."),
	ND_U64(L, outstanding, ND_M_COUNT, 0, NULL,
	       "Requests of a flow that may wait for answers at a time; null in an open loop."),
	ND_STR(L, clock, 0, NULL, "Where the asking machine's time comes from (Linux's clock source)."),
	ND_F64(L, clock_read_ns, ND_M_NS, 0, NULL, "What one reading of it takes, at the end of the test."),
	ND_U64(L, spinners, ND_M_COUNT, 0, NULL, "Threads of the asking end that never wait, but ask again and again."),
	ND_U64(L, sent, ND_M_COUNT, 0, NULL, "Requests in the whole run, those that this machine refused included."),
	ND_U64(L, answered, ND_M_COUNT, 0, NULL, "Answers that came in time, in the whole run."),
	ND_U64(L, lost, ND_M_COUNT, 0, NULL,
	       "Requests that were refused by this machine, or not answered within one second, in the whole run."),
	ND_F64(L, lost_ratio, ND_M_RATIO, 0, NULL, "Of those sent."),
	ND_U64(L, source_ports, ND_M_COUNT, 0, NULL,
	       "Of connections made in the test: ports that the client's system has for one of its addresses and this server; "
	       "no more connections exist at a time. Null where none is made in the test."),
	ND_U64(L, source_addresses, ND_M_COUNT, 0, NULL, "Likewise: addresses of the client that they come from in turn."),
	ND_U64(L, no_port, ND_M_COUNT, 0, NULL,
	       "Likewise: attempts that found no free port (EADDRNOTAVAIL), whole run; they are made again a millisecond "
	       "later."),
	ND_STR(L, handshake, 0, NULL,
	       "Likewise, how one ends: \"with_request\": its last ACK goes with the request, as the client sets TCP_QUICKACK to 0, "
	       "and the server takes a connection when the request is there (TCP_DEFER_ACCEPT): web servers do the latter, few "
	       "clients the former, which saves a packet; \"plain\": the ACK is a packet of its own."),
	ND_GROUP(struct nd_times, L, service, 0, NULL,
	       "From the true sending of a request to its answer.", &nd_times_table),
	ND_GROUP(struct nd_times, L, response, 0, NULL,
	       "From when a request was to be sent to its answer: what a stall costs all that were to be sent in it. "
	       "Count 0 without a schedule.", &nd_times_table),
	ND_GROUP(struct nd_times, L, late, 0, NULL,
	       "How far behind its schedule this program sent.", &nd_times_table),
	ND_GROUP(struct nd_times, L, opened, 0, NULL,
	       "From asking for a connection until it was there; count 0 where none is made in the test.", &nd_times_table),
	ND_GROUP(struct nd_times, L, answer, 0, NULL,
	       "From a connection being there to the last byte of the answer; count 0 where nothing is asked on connections "
	       "made in the test.", &nd_times_table),
	ND_GROUP(struct nd_times, L, ended, 0, NULL,
	       "From the answer, or from a connection being there where nothing is asked, until its end came from the "
	       "server, which closes first; count 0 where none is made in the test.", &nd_times_table),
	ND_OPTGROUP(struct nd_parted, L, kernel, 0, NULL,
	       "Service times in three by the kernel's stamps; null: they were not asked for.",
	       &nd_parted_table),
	ND_F64(L, near_40ms_ratio, ND_M_RATIO, 0, NULL,
	       "Service times of 39 to 41 ms: what an acknowledgement that is held back costs."),
	ND_ROWS_END
};
/* clang-format on */

const struct nd_table nd_quantile_table = { .name = "quantile",
					    .size = sizeof(Q),
					    .rows = quantile_rows };
const struct nd_table nd_times_table = { .name = "times", .size = sizeof(T), .rows = times_rows };
const struct nd_table nd_turned_table = { .name = "turned",
					  .size = sizeof(K),
					  .rows = turned_rows };
const struct nd_table nd_parted_table = { .name = "kernel",
					  .size = sizeof(K),
					  .rows = parted_rows };
const struct nd_table nd_latency_table = { .name = "latency",
					   .size = sizeof(L),
					   .rows = latency_rows };

static double us_of(uint64_t ns)
{
	return ns == ND_UNKNOWN ? (double)NAN : (double)ns / 1e3;
}

static int quantile_row(const struct nd_hist_view *v, size_t i, struct nd_arena *a, Q *row)
{
	struct nd_quantile got;

	nd_quantile_of(v, told[i].ratio, &got);
	*row = (Q){ .name = told[i].name,
		    .ratio = told[i].ratio,
		    .us = us_of(got.ns),
		    .low_us = us_of(got.low_ns),
		    .high_us = us_of(got.high_ns) };
	if (got.ns != ND_UNKNOWN)
		return 0;
	row->missing = nd_arena_printf(a, "of %llu samples fewer than %u are beyond it",
				       (unsigned long long)v->count, ND_QUANTILE_BEYOND);
	return row->missing ? 0 : -ENOMEM;
}

int nd_times_from(const struct nd_hist_view *v, struct nd_arena *a, struct nd_times *ret)
{
	Q *row;
	int e = 0;

	nd_table_unknown(&nd_times_table, ret);
	ret->count = v->count;
	if (v->count == 0)
		return 0;
	ret->min_us = us_of(v->min_ns);
	ret->mean_us = nd_hist_mean(v) / 1e3;
	ret->stddev_us = nd_hist_stddev(v) / 1e3;
	ret->max_us = us_of(v->max_ns);
	if (nd_list_new(a, &ret->quantiles, ND_COUNTOF(told), sizeof(*row)) < 0)
		return -ENOMEM;
	row = ret->quantiles.v;
	for (size_t i = 0; e == 0 && i < ND_COUNTOF(told); i++)
		e = quantile_row(v, i, a, &row[i]);
	return e;
}
