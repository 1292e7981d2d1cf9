/* SPDX-License-Identifier: MIT */
/*
 * A run in the few figures that netperf's reports and its repeated runs judge by, and how well such runs agree:
 * means, and the width of the interval in which the true mean lies with some confidence (Student's t).
 */
#ifndef ND_RESULT_REPEATS_H
#define ND_RESULT_REPEATS_H

#include "result/result.h"

#define ND_REPEATS_MAX 31 /* runs; t is known for one less */

/* Which figures of a result count. Its first workload is meant. */
struct nd_repeat_ask {
	bool transactions;    /* else bytes */
	bool client_receives; /* the client's count of bytes, else the server's */
	bool one_end;         /* the server told nothing: the client's count is what there is */
	bool client_cpu, server_cpu; /* measured */
};

struct nd_repeat_figures {
	double elapsed_s, per_s;       /* transactions or bytes */
	double client_cpu, server_cpu; /* busy part of all CPUs, in percent; -1 not measured */
	double client_demand, server_demand; /* us of CPU for each transaction or KiB; -1 */
	double client_cpus, server_cpus;     /* 0 unknown */
};

struct nd_repeat_mean {
	double mean, squares; /* sum of squared distances from it */
};

/* Zeroed but for the first four: no run yet. */
struct nd_repeats {
	uint64_t level;     /* 95 or 99 percent */
	double asked_width; /* full, ratio of the mean */
	bool result_only;   /* CPU need not agree */
	uint64_t runs;
	struct nd_repeat_mean elapsed_s, per_s, client_cpu, server_cpu, client_demand,
		server_demand;
};

/** nd_repeat_figures() - what nobody measured is 0, of CPU -1. Waiting for disks and stolen time count as busy. */
void nd_repeat_figures(const struct nd_result *r, const struct nd_repeat_ask *ask,
		       struct nd_repeat_figures *ret);
void nd_repeats_add(struct nd_repeats *s, const struct nd_repeat_figures *f);
/** nd_repeats_width() - full width as a ratio of the mean. 0: it is not measured, or fewer than 2 runs. */
double nd_repeats_width(const struct nd_repeats *s, const struct nd_repeat_mean *m);
/** nd_repeats_agree() - from 2 runs on: each width that counts is within what was asked. */
bool nd_repeats_agree(const struct nd_repeats *s);

#endif
