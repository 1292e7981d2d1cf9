/* SPDX-License-Identifier: MIT */
/* Times without and with a load side by side, as rows, and from two results to them. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "result/int.h"
#include "result/loaded.h"

#define US_PER_MINUTE 60e6

#define L struct nd_loaded
#define A struct nd_loaded_row

/* clang-format off */
static const struct nd_field added_rows[] = {
	ND_STR(A, name, ND_SHOW_COLUMN, "time", "A quantile, such as p99, or the mean."),
	ND_F64(A, idle_us, ND_M_US, ND_SHOW_COLUMN, "idle", "Without the load."),
	ND_F64(A, loaded_us, ND_M_US, ND_SHOW_COLUMN, "loaded", "While the load ran."),
	ND_F64(A, added_us, ND_M_US, ND_SHOW_COLUMN, "added",
	       "The difference: what the load added. Null where one of the two is."),
	ND_ROWS_END
};

static const struct nd_field loaded_rows[] = {
	ND_STR(L, times, 0, NULL,
	       "Which times are compared: response, from when a request was to be sent, where there is a schedule; else service."),
	ND_LIST(L, added, 0, NULL, "Quantile by quantile: idle, loaded, and the difference.", &nd_loaded_row_table),
	ND_F64(L, idle_rpm, ND_M_NONE, 0, NULL, "Round trips per minute without the load, one after the other."),
	ND_F64(L, loaded_rpm, ND_M_NONE, 0, NULL, "Round trips per minute under load: responsiveness."),
	ND_STR(L, rpm_formula, 0, NULL, "How round trips per minute were worked out."),
	ND_U64(L, idle_count, ND_M_COUNT, 0, NULL, "Samples without the load."),
	ND_U64(L, loaded_count, ND_M_COUNT, 0, NULL, "Samples under load; null: there was no run with the load."),
	ND_U64(L, load_flows, ND_M_COUNT, 0, NULL, "Flows of the load, all directions together."),
	ND_F64(L, load_goodput_bps, ND_M_BITRATE, 0, NULL,
	       "Payload that the load's receivers read in the measured window, all directions together."),
	ND_F64(L, load_messages_per_s, ND_M_RATE, 0, NULL,
	       "Datagrams that the load's receivers read, likewise; null for streams."),
	ND_F64(L, idle_client_busy_cores, ND_M_CORES, 0, NULL, "Busy CPUs of the client's machine without the load."),
	ND_F64(L, idle_server_busy_cores, ND_M_CORES, 0, NULL, "The same of the server's machine."),
	ND_F64(L, idle_start_s, ND_M_S, 0, NULL, "Begin of the measured window without the load, after the start of that run."),
	ND_F64(L, idle_window_s, ND_M_S, 0, NULL, "Its true length at the asking end."),
	ND_OPTGROUP(struct nd_latency, L, idle, 0, NULL, "All times of the run without the load.", &nd_latency_table),
	ND_ROWS_END
};
/* clang-format on */

const struct nd_table nd_loaded_row_table = { .name = "added",
					      .size = sizeof(A),
					      .rows = added_rows };
const struct nd_table nd_loaded_table = { .name = "loaded",
					  .size = sizeof(L),
					  .rows = loaded_rows };

/* NULL: nobody took times. */
static struct nd_latency *latency_of(const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;

	return r->directions.n ? d->latency : NULL;
}

/* NULL where there is nothing to compare. */
static const struct nd_times *times_of(const struct nd_latency *l)
{
	if (!l)
		return NULL;
	return l->open_loop ? &l->response : &l->service;
}

static double quantile_at(const struct nd_times *t, uint64_t i)
{
	const struct nd_quantile_row *q = t ? t->quantiles.v : NULL;

	return t && i < t->quantiles.n ? q[i].us : (double)NAN;
}

static int put_added(struct nd_loaded *l, const struct nd_times *idle,
		     const struct nd_times *loaded, struct nd_arena *a)
{
	const struct nd_times *named = loaded && loaded->quantiles.n ? loaded : idle;
	const struct nd_quantile_row *q = named->quantiles.v;
	uint64_t n = named->quantiles.n;
	struct nd_loaded_row *row;

	if (nd_list_new(a, &l->added, n + 1, sizeof(*row)) < 0)
		return -ENOMEM;
	row = l->added.v;
	for (uint64_t i = 0; i < n; i++)
		row[i] = (struct nd_loaded_row){ .name = q[i].name,
						 .idle_us = quantile_at(idle, i),
						 .loaded_us = quantile_at(loaded, i) };
	row[n] = (struct nd_loaded_row){ .name = "mean",
					 .idle_us = idle->mean_us,
					 .loaded_us = loaded ? loaded->mean_us : (double)NAN };
	for (uint64_t i = 0; i <= n; i++)
		row[i].added_us = row[i].loaded_us - row[i].idle_us;
	return 0;
}

/* One unknown direction makes the sum unknown. */
static void put_load(struct nd_loaded *l, const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;

	l->load_flows = 0;
	l->load_goodput_bps = 0;
	l->load_messages_per_s = 0;
	for (uint64_t i = 1; i < r->directions.n; i++) {
		l->load_flows += d[i].flows;
		l->load_goodput_bps += d[i].goodput_bps;
		l->load_messages_per_s += d[i].datagram ? d[i].messages_per_s : (double)NAN;
	}
}

static double rpm_of(const struct nd_times *t)
{
	return t && t->mean_us > 0 ? US_PER_MINUTE / t->mean_us : (double)NAN;
}

static double busy_of(const struct nd_side *side)
{
	return side ? side->machine.busy_cores : (double)NAN;
}

int nd_result_loaded(struct nd_result *r, const struct nd_result *idle)
{
	struct nd_latency *quiet = latency_of(idle);
	const struct nd_direction *d = idle->directions.v;
	bool has_load = r != idle;
	const struct nd_times *before = times_of(quiet),
			      *with = has_load ? times_of(latency_of(r)) : NULL;
	struct nd_loaded *l;

	if (!before)
		return 0;
	l = nd_arena_alloc(&r->arena, 1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	nd_table_unknown(&nd_loaded_table, l);
	l->times = quiet->open_loop ? "response" : "service";
	l->rpm_formula = quiet->open_loop ? "60 s / mean of the response times"
					  : "60 s / mean of the service times";
	l->idle = quiet;
	l->idle_count = before->count;
	l->idle_rpm = rpm_of(before);
	l->loaded_rpm = rpm_of(with);
	l->idle_start_s = d->window_start_s;
	l->idle_window_s = d->sender_window_s;
	l->idle_client_busy_cores = busy_of(idle->client);
	l->idle_server_busy_cores = busy_of(idle->server);
	if (with)
		l->loaded_count = with->count;
	if (has_load)
		put_load(l, r);
	if (put_added(l, before, with, &r->arena) < 0)
		return -ENOMEM;
	r->loaded = l;
	return 0;
}
