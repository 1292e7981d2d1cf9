/* SPDX-License-Identifier: MIT */
/* What the clients of a group reached together: sums, shares, windows, and who is left out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
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

#define U     ND_UNKNOWN
#define N     ((double)NAN)
#define CLOSE 1e-9

struct in {
	const char *direction;
	bool complete;
	double goodput_bps, transactions_per_s, start_s, end_s, first_ms, last_ms;
	uint64_t offered, lost;
};

struct out {
	uint64_t members;
	double goodput_bps, lost_ratio, window_s, overlap_ratio, skew_ms, share_of_first;
};

/* clang-format off */
static const struct {
	const char *name;
	struct in in[4];
	size_t n;
	struct out out[2];
	size_t directions;
} rows[] = {
	{ "all alike",
	  { { "a", true, 1e9, N, 1, 11, 0.5, 0.7, U, U }, { "a", true, 3e9, N, 1, 11, 0.6, 1.5, U, U } }, 2,
	  { { 2, 4e9, N, 10, 1, 1.0, 0.25 } }, 1 },
	{ "one begins late and ends early",
	  { { "a", true, 1e9, N, 1, 11, 0, 0, U, U }, { "a", true, 1e9, N, 2, 9, 7, 7, U, U } }, 2,
	  { { 2, 2e9, N, 7, 0.7, 7, 0.5 } }, 1 },
	{ "never together",
	  { { "a", true, 1e9, N, 1, 2, 0, 0, U, U }, { "a", true, 1e9, N, 3, 4, 0, 0, U, U } }, 2,
	  { { 2, 2e9, N, 0, 0, 0, 0.5 } }, 1 },
	{ "datagrams",
	  { { "a", true, 1e9, N, 1, 2, 0, 0, 100, 10 }, { "a", true, 1e9, N, 1, 2, 0, 0, 300, 0 } }, 2,
	  { { 2, 2e9, 0.025, 1, 1, 0, 0.5 } }, 1 },
	{ "one failed",
	  { { "a", false, 9e9, N, 1, 2, 0, 0, U, U }, { "a", true, 1e9, N, 1, 11, 3, 3, U, U } }, 2,
	  { { 1, 1e9, N, 10, 1, 0, N } }, 1 },
	{ "nothing is known of one",
	  { { "a", true, 1e9, N, 1, 11, 3, 4, U, U }, { "a", false, N, N, N, N, N, N, U, U } }, 2,
	  { { 1, 1e9, N, 10, 1, 1, 1 } }, 1 },
	{ "all failed",
	  { { "a", false, 1e9, N, 1, 2, 0, 0, U, U }, { "a", false, N, N, N, N, N, N, U, U } }, 2,
	  { { 0, N, N, N, N, N, N } }, 1 },
	{ "both directions",
	  { { "a", true, 1e9, N, 1, 2, 0, 0, U, U }, { "a", true, 1e9, N, 1, 2, 0, 0, U, U },
	    { "b", true, 3e9, N, 1, 2, 0, 0, U, U }, { "b", true, 1e9, N, 1, 2, 0, 2, U, U } }, 4,
	  { { 2, 2e9, N, 1, 1, 0, 0.5 }, { 2, 4e9, N, 1, 1, 2, 0.75 } }, 2 },
	{ "transactions",
	  { { "a", true, N, 100, 1, 2, 0, 0, U, U }, { "a", true, N, 300, 1, 2, 0, 0, U, U } }, 2,
	  { { 2, N, N, 1, 1, 0, 0.25 } }, 1 },
	{ "nobody", { { 0 } }, 0, { { 0 } }, 0 },
};

/* clang-format on */

static void is_close(const char *name, const char *what, double got, double wanted)
{
	bool same = isnan(wanted) ? isnan(got) : fabs(got - wanted) <= CLOSE * fmax(1, wanted);

	if (!same)
		fail_msg("%s: %s is %g, not %g", name, what, got, wanted);
}

static void fill(const struct in *in, size_t n, struct nd_group_member *m)
{
	for (size_t i = 0; i < n; i++) {
		nd_table_unknown(&nd_group_member_table, &m[i]);
		m[i].direction = in[i].direction;
		m[i].complete = in[i].complete;
		m[i].goodput_bps = in[i].goodput_bps;
		m[i].transactions_per_s = in[i].transactions_per_s;
		m[i].window_start_s = in[i].start_s;
		m[i].window_end_s = in[i].end_s;
		m[i].first_ms = in[i].first_ms;
		m[i].last_ms = in[i].last_ms;
		m[i].offered = in[i].offered;
		m[i].lost = in[i].lost;
	}
}

static void sums_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		const char *name = rows[i].name;
		struct nd_group_member m[4];
		struct nd_group g = { .members = { m, rows[i].n } };
		struct nd_arena a = { 0 };
		const struct nd_group_total *t;
		size_t first = 0;

		fill(rows[i].in, rows[i].n, m);
		assert_int_equal(nd_group_sum(&g, &a), 0);
		assert_int_equal(g.totals.n, rows[i].directions);
		t = g.totals.v;
		for (size_t k = 0; k < g.totals.n; k++) {
			const struct out *o = &rows[i].out[k];

			assert_int_equal(t[k].members, o->members);
			is_close(name, "goodput", t[k].goodput_bps, o->goodput_bps);
			is_close(name, "loss", t[k].lost_ratio, o->lost_ratio);
			is_close(name, "window", t[k].window_s, o->window_s);
			is_close(name, "overlap", t[k].overlap_ratio, o->overlap_ratio);
			is_close(name, "skew", t[k].start_skew_ms, o->skew_ms);
			is_close(name, "share", m[first].share_ratio, o->share_of_first);
			first += rows[i].n / rows[i].directions;
		}
		nd_arena_done(&a);
	}
}

/* ---- a member's row */

static void takes_a_row(void **state)
{
	static struct nd_flow_row flows[] = { { .flow = 0, .first_ns = 2000000 },
					      { .flow = 1, .first_ns = INT64_MIN },
					      { .flow = 2, .first_ns = 1500000 } };
	struct nd_part part;
	struct nd_side side;
	struct nd_result r;
	struct nd_direction d;
	struct nd_group_member m;

	(void)state;
	nd_result_init(&r);
	nd_table_unknown(&nd_part_table, &part);
	nd_table_unknown(&nd_side_table, &side);
	nd_table_unknown(&nd_direction_table, &d);
	part.workload = 0;
	part.window.start_ns = ND_NS_PER_S;
	part.window.end_ns = 3 * ND_NS_PER_S;
	part.flows = (struct nd_list){ flows, ND_COUNTOF(flows) };
	side.parts = (struct nd_list){ &part, 1 };
	d.label = "client to server";
	d.workload = 0;
	d.client_active = d.datagram = true;
	d.goodput_bps = 5e8;
	d.loss.offered = 200;
	d.loss.lost = 3;
	d.loss.refused = 1;
	r.server = &side;
	nd_group_take(&r, &d, &side, &m);
	assert_true(m.complete);
	assert_int_equal(m.lost, 4);
	is_close("row", "loss", m.lost_ratio, 0.02);
	is_close("row", "first", m.first_ms, 1.5);
	is_close("row", "last", m.last_ms, 2);
	is_close("row", "begin", m.window_start_s, 1);
	is_close("row", "end", m.window_end_s, 3);
	r.partial = true;
	r.partial_reason = "peer lost";
	nd_group_take(&r, &d, NULL, &m);
	assert_false(m.complete);
	assert_string_equal(m.error, "peer lost");
	assert_true(isnan(m.first_ms));
	r.server = NULL; /* it is on the stack */
	nd_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_up),
		cmocka_unit_test(takes_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
