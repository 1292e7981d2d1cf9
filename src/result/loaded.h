/* SPDX-License-Identifier: MIT */
/* Times without and with a load side by side: what the load adds to them. */
#ifndef ND_RESULT_LOADED_H
#define ND_RESULT_LOADED_H

#include "base/field.h"

/* One quantile, or the mean, of both. NAN: not told. */
struct nd_loaded_row {
	const char *name; /* "p99"; "mean" */
	double idle_us, loaded_us, added_us;
};

struct nd_loaded {
	const char *times;    /* of which: "response" where there is a schedule, else "service" */
	struct nd_list added; /* struct nd_loaded_row */
	double idle_rpm, loaded_rpm; /* round trips per minute */
	const char *rpm_formula;
	uint64_t idle_count, loaded_count; /* samples */
	/* of the load, by its receivers, all directions together */
	uint64_t load_flows;
	double load_goodput_bps, load_messages_per_s;
	/* of the run without it */
	double idle_client_busy_cores, idle_server_busy_cores;
	double idle_start_s, idle_window_s; /* of the measured window, after that run's start */
	struct nd_latency *idle;            /* borrowed: all of its times */
};

extern const struct nd_table nd_loaded_table, nd_loaded_row_table;

struct nd_result;

/**
 * nd_result_loaded() - set @r->loaded from the run without load and the one with it.
 * @idle: of the first run, lives as long as @r; the same as @r: there was no second run.
 * Return: 0, -ENOMEM; also 0, with nothing set, when nobody took times.
 */
ND_MUST_CHECK int nd_result_loaded(struct nd_result *r, const struct nd_result *idle);

#endif
