/* SPDX-License-Identifier: MIT */
/* What a run came to, from the marks and histograms of workers that have ended. */
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/int.h"

#define S        1000000000ull
#define MARKS    5 /* start, two of warm-up and window, one behind it */
#define US_OF(n) ((uint64_t)(n)*1000)

/* Two workers that sent over TCP for four seconds, the window from the second mark to the fourth. */
struct scene {
	struct nd_plan plan;
	struct nd_run run;
	struct nd_worker workers[2];
};

static void make_worker(struct nd_worker *w, const uint64_t *retransmits)
{
	struct nd_counters c = { 0 };

	assert_int_equal(nd_series_init(&w->series[0], MARKS), 0);
	w->retransmits[0] = calloc(MARKS, sizeof(uint64_t));
	assert_non_null(w->retransmits[0]);
	assert_int_equal(nd_hist_new(&w->tcp[0].rtt), 0);
	for (unsigned i = 0; i < MARKS; i++) {
		c.tx_bytes = i * 1000;
		nd_series_mark(&w->series[0], (i + 1) * S, &c);
		w->retransmits[0][i] = retransmits[i];
	}
	w->marks = MARKS;
	w->window_from = 1;
	w->window_to = 3;
	w->window_end_ns = 4 * S;
	w->tcp[0].flows = 1;
	w->tcp[0].retransmits = retransmits[MARKS - 1];
}

static void make(struct scene *s, const uint64_t (*retransmits)[MARKS])
{
	struct nd_err err = { 0 };

	*s = (struct scene){ .plan = { .workloads = 1, .tx = "auto", .rx = "auto" } };
	s->plan.workload[0] = (struct nd_workload){ .active = ND_CLIENT,
						    .load = "stream",
						    .frame = "plain",
						    .transport = "tcp",
						    .flows = 2 };
	s->run.cfg = (struct nd_run_cfg){ .plan = &s->plan, .end = ND_CLIENT };
	if (nd_lanes_fill(&s->plan, s->run.lanes, &err) < 0)
		fail_msg("%s", err.text);
	s->run.schedule = (struct nd_schedule){ .bound = { S, 3 * S, 3 * S },
						.interval_ns = S,
						.least_ns = S / 2 };
	s->run.workers = s->workers;
	s->run.worker_n = 2;
	s->run.lane_n = 1;
	atomic_store_explicit(&s->run.start_ns, S, memory_order_relaxed);
	for (unsigned i = 0; i < 2; i++)
		make_worker(&s->workers[i], retransmits[i]);
}

static void sample(struct scene *s, unsigned worker, uint64_t n)
{
	for (uint64_t i = 1; i <= n; i++)
		nd_hist_record(s->workers[worker].tcp[0].rtt, US_OF(i));
}

static void done(struct scene *s)
{
	for (unsigned i = 0; i < 2; i++) {
		nd_series_done(&s->workers[i].series[0]);
		free(s->workers[i].retransmits[0]);
		nd_hist_free(s->workers[i].tcp[0].rtt);
	}
}

static void collect(struct scene *s, struct nd_arena *a, struct nd_part *ret)
{
	struct nd_err err = { 0 };

	if (nd_collect_part(&s->run, 0, a, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static const struct {
	uint64_t at[2][MARKS];
	uint64_t window, run;
} retransmit_rows[] = {
	{ { { 0, 3, 4, 9, 11 }, { 0, 0, 2, 2, 2 } }, 8, 13 },
	{ { { 0, 0, 0, 0, 7 }, { 0, 5, 5, 5, 5 } }, 0, 12 },
	/* more flows than an edge has time for: no share is taken for the whole */
	{ { { 0, ND_UNKNOWN, ND_UNKNOWN, ND_UNKNOWN, 7 }, { 0, 1, 2, 3, 4 } }, ND_UNKNOWN, 11 },
	/* a flow that is gone tells nothing any more */
	{ { { 0, 6, 4, 4, 4 }, { 0, 1, 1, 3, 3 } }, 2, 7 },
};

static void test_retransmits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(retransmit_rows); i++) {
		struct nd_arena a = { 0 };
		struct nd_part p;
		struct scene s;

		make(&s, retransmit_rows[i].at);
		collect(&s, &a, &p);
		if (p.tcp.window_retransmits != retransmit_rows[i].window)
			fail_msg("row %zu: %llu", i, (unsigned long long)p.tcp.window_retransmits);
		assert_int_equal(p.tcp.retransmits, retransmit_rows[i].run);
		assert_int_equal(p.window.tx_bytes, 2 * 2000);
		nd_arena_done(&a);
		done(&s);
	}
}

/* Sockets that tell nothing: unknown, not 0. */
static void test_silent_sockets(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_part p;
	struct scene s;

	(void)state;
	make(&s, retransmit_rows[0].at);
	s.workers[0].tcp[0].flows = s.workers[1].tcp[0].flows = 0;
	collect(&s, &a, &p);
	assert_true(p.tcp.retransmits == ND_UNKNOWN && p.tcp.window_retransmits == ND_UNKNOWN);
	assert_int_equal(p.tcp.rtt_samples, 0);
	assert_true(isnan(p.tcp.rtt_min_us) && isnan(p.tcp.rtt_p99_us));
	nd_arena_done(&a);
	done(&s);
}

/* Ten samples must lie beyond the quantile, over all workers. */
static void test_samples(void **state)
{
	static const struct {
		uint64_t samples[2];
		bool says;
	} rows[] = {
		{ { 500, 499 }, false },
		{ { 500, 500 }, true },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_arena a = { 0 };
		struct nd_part p;
		struct scene s;

		make(&s, retransmit_rows[0].at);
		sample(&s, 0, rows[i].samples[0]);
		sample(&s, 1, rows[i].samples[1]);
		collect(&s, &a, &p);
		assert_int_equal(p.tcp.rtt_samples, rows[i].samples[0] + rows[i].samples[1]);
		assert_int_equal(isnan(p.tcp.rtt_p99_us), !rows[i].says);
		assert_true(p.tcp.rtt_min_us >= 0.99 && p.tcp.rtt_mean_us > 200);
		nd_arena_done(&a);
		done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retransmits),
		cmocka_unit_test(test_silent_sockets),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
