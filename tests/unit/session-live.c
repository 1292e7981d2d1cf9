/* SPDX-License-Identifier: MIT */
/* Interval lines: whose figures they show, and how long they wait for the other end's. */
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

#include "base/time.h"
#include "session/int.h"

#define LINES_MAX 16

struct shown {
	struct nd_loop *loop;
	struct nd_live *live;
	struct nd_plan plan;
	unsigned n, quit_after;
	struct nd_progress_event ev[LINES_MAX];
	struct nd_interval_joint joint[LINES_MAX];
	uint64_t at_ns[LINES_MAX];
};

static void on_progress(void *user, const struct nd_progress_event *ev)
{
	struct shown *s = user;

	assert_int_equal(ev->what, ND_PROG_INTERVAL);
	assert_true(s->n < LINES_MAX);
	s->ev[s->n] = *ev;
	s->joint[s->n] = *ev->interval;
	s->at_ns[s->n++] = nd_now_ns();
	if (s->n == s->quit_after)
		nd_loop_quit(s->loop);
}

static void begin(struct shown *s, enum nd_end_kind active, bool both)
{
	struct nd_sink sink = { on_progress, s };
	struct nd_err err;

	*s = (struct shown){ 0 };
	nd_plan_init(&s->plan);
	s->plan.interval_ns = ND_NS_PER_S;
	s->plan.workloads = both ? 2 : 1;
	for (uint64_t i = 0; i < s->plan.workloads; i++)
		s->plan.workload[i] = (struct nd_workload){
			.active = i ? (active == ND_CLIENT ? ND_SERVER : ND_CLIENT) : active,
			.load = "stream",
			.transport = "tcp",
			.flows = 1
		};
	assert_int_equal(nd_loop_new(&s->loop, &err), 0);
	assert_int_equal(nd_live_new(s->loop, &s->plan, ND_CLIENT, &sink, &s->live), 0);
}

static void end(struct shown *s)
{
	nd_live_free(s->live);
	nd_loop_free(s->loop);
	nd_plan_done(&s->plan);
}

static struct nd_interval_sample sample(uint64_t index, uint64_t workload, double tx, double rx)
{
	return (struct nd_interval_sample){ .index = index,
					    .workload = workload,
					    .phase = "measure",
					    .start_s = (double)index,
					    .end_s = (double)index + 1,
					    .tx_bps = tx,
					    .rx_bps = rx,
					    .tx_bytes = (uint64_t)tx / 8,
					    .rx_bytes = (uint64_t)rx / 8 };
}

static void add(struct shown *s, bool own, uint64_t index, double tx, double rx)
{
	struct nd_interval_sample one = sample(index, 0, tx, rx);

	nd_live_add(s->live, own, &one, 1);
}

/* clang-format off */
static const struct {
	enum nd_end_kind active;
	double own_tx, own_rx, peer_tx, peer_rx, goodput, offered;
} pairs[] = {
	{ ND_CLIENT, 80, 0,  0, 72,  72, 80 },
	{ ND_SERVER, 0, 64, 88,  0,  64, 88 },
};

/* clang-format on */

static void both_ends_make_a_line(void **state)
{
	(void)state;
	for (size_t row = 0; row < ND_COUNTOF(pairs); row++) {
		for (int peer_first = 0; peer_first < 2; peer_first++) {
			struct shown s;

			begin(&s, pairs[row].active, false);
			if (peer_first)
				add(&s, false, 0, pairs[row].peer_tx, pairs[row].peer_rx);
			add(&s, true, 0, pairs[row].own_tx, pairs[row].own_rx);
			assert_int_equal(s.n, peer_first); /* else it waits */
			if (!peer_first)
				add(&s, false, 0, pairs[row].peer_tx, pairs[row].peer_rx);
			assert_int_equal(s.n, 1);
			assert_true(s.ev[0].from_receiver);
			assert_non_null(s.ev[0].direction);
			assert_true(s.ev[0].alone);
			assert_true(s.joint[0].goodput_bps == pairs[row].goodput);
			assert_true(s.joint[0].offered_bps == pairs[row].offered);
			end(&s);
		}
	}
}

static void silent_peer_is_not_waited_for_long(void **state)
{
	struct shown s;
	struct nd_err err;
	uint64_t began = nd_now_ns();

	(void)state;
	begin(&s, ND_CLIENT, false);
	s.quit_after = 1;
	add(&s, true, 0, 80, 0);
	assert_int_equal(nd_loop_run(s.loop, &err), 0);
	assert_int_equal(s.n, 1);
	assert_true(s.at_ns[0] - began >= 500 * ND_NS_PER_MS);
	assert_false(s.ev[0].from_receiver);
	assert_true(s.joint[0].goodput_bps == 80);
	assert_true(s.joint[0].received_bytes == ND_UNKNOWN);
	add(&s, false, 0, 0, 70); /* too late, and no harm */
	add(&s, true, 1, 90, 0);
	add(&s, false, 1, 0, 85);
	assert_int_equal(s.n, 2);
	assert_true(s.joint[1].goodput_bps == 85);
	end(&s);
}

static void lines_come_in_order(void **state)
{
	struct shown s;

	(void)state;
	begin(&s, ND_CLIENT, false);
	for (uint64_t i = 0; i < 4; i++)
		add(&s, true, i, 80, 0);
	add(&s, false, 1, 0, 71);
	add(&s, false, 2, 0, 72);
	assert_int_equal(s.n, 0); /* the first waits still */
	add(&s, false, 0, 0, 70);
	assert_int_equal(s.n, 3);
	nd_live_flush(s.live);
	assert_int_equal(s.n, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_true(s.joint[i].start_s == (double)i);
	assert_false(s.ev[3].from_receiver);
	end(&s);
}

static void two_directions_make_two_lines(void **state)
{
	struct nd_interval_sample own[2] = { sample(0, 0, 80, 0), sample(0, 1, 0, 30) };
	struct nd_interval_sample peer[2] = { sample(0, 0, 0, 75), sample(0, 1, 40, 0) };
	struct shown s;

	(void)state;
	begin(&s, ND_CLIENT, true);
	nd_live_add(s.live, true, own, 2);
	nd_live_add(s.live, false, peer, 1);
	assert_int_equal(s.n, 0);
	nd_live_add(s.live, false, peer + 1, 1);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.ev[0].direction, "client to server");
	assert_string_equal(s.ev[1].direction, "server to client");
	assert_true(s.joint[0].goodput_bps == 75 && s.joint[0].offered_bps == 80);
	assert_true(s.joint[1].goodput_bps == 30 && s.joint[1].offered_bps == 40);
	end(&s);
}

static void flood_of_samples_is_bounded(void **state)
{
	struct shown s;

	(void)state;
	begin(&s, ND_CLIENT, false);
	for (uint64_t i = 0; i < 100000; i++)
		add(&s, false, i + 5, 0, 1);
	add(&s, true, 5, 80, 0);
	assert_int_equal(s.n, 1);
	assert_true(s.ev[0].from_receiver);
	end(&s);
}

static void stubs_are_left_out(void **state)
{
	struct nd_interval_sample own = sample(0, 0, 80, 0);
	struct shown s;

	(void)state;
	begin(&s, ND_CLIENT, false);
	own.phase = "drain";
	own.end_s = own.start_s + 0.1;
	nd_live_add(s.live, true, &own, 1);
	nd_live_flush(s.live);
	assert_int_equal(s.n, 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_make_a_line),
		cmocka_unit_test(silent_peer_is_not_waited_for_long),
		cmocka_unit_test(lines_come_in_order),
		cmocka_unit_test(two_directions_make_two_lines),
		cmocka_unit_test(flood_of_samples_is_bounded),
		cmocka_unit_test(stubs_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
