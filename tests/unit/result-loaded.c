/* SPDX-License-Identifier: MIT */
/* Times without and with a load: differences, round trips per minute, and what one of them lacks. */
#include <math.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "result/result.h"

struct run {
	struct nd_result r;
	struct nd_direction d[3];
	struct nd_latency l;
	struct nd_quantile_row q[3];
};

static void make(struct run *x, double factor, uint64_t directions)
{
	static const char *const names[] = { "p50", "p90", "p99" };

	nd_result_init(&x->r);
	for (size_t i = 0; i < ND_COUNTOF(x->d); i++)
		nd_table_unknown(&nd_direction_table, &x->d[i]);
	nd_table_unknown(&nd_latency_table, &x->l);
	for (size_t i = 0; i < ND_COUNTOF(x->q); i++)
		x->q[i] = (struct nd_quantile_row){ .name = names[i],
						    .us = factor * (double)(i + 1) };
	x->l.service.quantiles = (struct nd_list){ x->q, ND_COUNTOF(x->q) };
	x->l.service.count = 1000;
	x->l.service.mean_us = factor * 2;
	x->d[0].latency = &x->l;
	for (size_t i = 1; i < ND_COUNTOF(x->d); i++) {
		x->d[i].flows = 2;
		x->d[i].goodput_bps = 1e9;
	}
	x->r.directions = (struct nd_list){ x->d, directions };
}

static const struct nd_loaded_row *row_of(const struct nd_loaded *l, const char *name)
{
	const struct nd_loaded_row *row = l->added.v;

	for (uint64_t i = 0; i < l->added.n; i++)
		if (!strcmp(row[i].name, name))
			return &row[i];
	fail_msg("there is no %s", name);
	return NULL;
}

static bool warned(const struct nd_result *r, const char *key)
{
	const struct nd_warning *w = r->warnings.v;

	for (uint64_t i = 0; i < r->warnings.n; i++)
		if (!strcmp(w[i].key, key))
			return true;
	return false;
}

static void subtracts(void **state)
{
	struct run idle, loaded;
	const struct nd_loaded *l;

	(void)state;
	make(&idle, 10, 1);
	make(&loaded, 50, 3);
	assert_int_equal(nd_result_loaded(&loaded.r, &idle.r), 0);
	l = loaded.r.loaded;
	assert_non_null(l);
	assert_string_equal(l->times, "service");
	assert_int_equal(l->added.n, 4);
	assert_float_equal(row_of(l, "p99")->idle_us, 30, 1e-9);
	assert_float_equal(row_of(l, "p99")->loaded_us, 150, 1e-9);
	assert_float_equal(row_of(l, "p99")->added_us, 120, 1e-9);
	assert_float_equal(row_of(l, "mean")->added_us, 80, 1e-9);
	/* a minute has 3,000,000 times 20 us */
	assert_float_equal(l->idle_rpm, 3e6, 1);
	assert_float_equal(l->loaded_rpm, 6e5, 1);
	assert_int_equal(l->load_flows, 4);
	assert_float_equal(l->load_goodput_bps, 2e9, 1);
	assert_true(isnan(l->load_messages_per_s));
	assert_ptr_equal(l->idle, &idle.l);
	nd_result_done(&idle.r);
	nd_result_done(&loaded.r);
}

/* A quantile that one run cannot tell has no difference. */
static void knows_what_is_unknown(void **state)
{
	struct run idle, loaded;
	const struct nd_loaded *l;

	(void)state;
	make(&idle, 10, 1);
	make(&loaded, 50, 2);
	idle.q[2].us = (double)NAN;
	loaded.d[1].goodput_bps = (double)NAN;
	assert_int_equal(nd_result_loaded(&loaded.r, &idle.r), 0);
	l = loaded.r.loaded;
	assert_true(isnan(row_of(l, "p99")->added_us));
	assert_float_equal(row_of(l, "p99")->loaded_us, 150, 1e-9);
	assert_true(isnan(l->load_goodput_bps));
	assert_int_equal(nd_result_warn(&loaded.r), 0);
	assert_true(warned(&loaded.r, "load_still"));
	nd_result_done(&idle.r);
	nd_result_done(&loaded.r);
}

static void has_one_run(void **state)
{
	struct run idle;
	const struct nd_loaded *l;

	(void)state;
	make(&idle, 10, 1);
	assert_int_equal(nd_result_loaded(&idle.r, &idle.r), 0);
	l = idle.r.loaded;
	assert_float_equal(row_of(l, "p50")->idle_us, 10, 1e-9);
	assert_true(isnan(row_of(l, "p50")->loaded_us) && isnan(row_of(l, "p50")->added_us));
	assert_true(isnan(l->loaded_rpm));
	assert_true(l->loaded_count == ND_UNKNOWN && l->load_flows == ND_UNKNOWN);
	assert_int_equal(nd_result_warn(&idle.r), 0);
	assert_false(warned(&idle.r, "load_still"));
	nd_result_done(&idle.r);
}

/* A schedule has response times, and those count. */
static void follows_the_schedule(void **state)
{
	struct run idle, loaded;

	(void)state;
	make(&idle, 10, 1);
	make(&loaded, 50, 2);
	idle.l.open_loop = loaded.l.open_loop = true;
	idle.l.response = idle.l.service;
	loaded.l.response = loaded.l.service;
	loaded.l.response.mean_us = 1000;
	assert_int_equal(nd_result_loaded(&loaded.r, &idle.r), 0);
	assert_string_equal(loaded.r.loaded->times, "response");
	assert_float_equal(loaded.r.loaded->loaded_rpm, 60000, 1e-6);
	nd_result_done(&idle.r);
	nd_result_done(&loaded.r);
}

/* Streams that their ends hold back do not fill the queues on the way. */
static void doubts_the_load(void **state)
{
	static const struct {
		double rwnd, sndbuf;
		uint64_t asked_bps;
		bool doubts;
	} rows[] = { { 0.6, 0, 0, true },
		     { 0, 0.6, 0, true },
		     { 0.3, 0.3, 0, false },
		     { 0.9, 0, 1000000, false },
		     { (double)NAN, (double)NAN, 0, false } };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct run idle, loaded;

		make(&idle, 10, 1);
		make(&loaded, 50, 2);
		loaded.d[1].label = "client to server";
		loaded.d[1].tcp.rwnd_limited_ratio = rows[i].rwnd;
		loaded.d[1].tcp.sndbuf_limited_ratio = rows[i].sndbuf;
		loaded.d[1].asked_rate_bps = rows[i].asked_bps;
		assert_int_equal(nd_result_loaded(&loaded.r, &idle.r), 0);
		assert_int_equal(nd_result_warn(&loaded.r), 0);
		assert_int_equal(warned(&loaded.r, "load_held_back"), rows[i].doubts);
		assert_false(warned(&loaded.r, "load_still"));
		nd_result_done(&idle.r);
		nd_result_done(&loaded.r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subtracts),       cmocka_unit_test(knows_what_is_unknown),
		cmocka_unit_test(has_one_run),     cmocka_unit_test(follows_the_schedule),
		cmocka_unit_test(doubts_the_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
