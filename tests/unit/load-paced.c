/* SPDX-License-Identifier: MIT */
/* Requests by a schedule: two halves on one state, fed with events; and the ring behind it. */
#include <math.h>
#include <stdlib.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "load/load.h"
#include "load/pending.h"

#define S    ND_NS_PER_S
#define MS   ND_NS_PER_MS
#define US   ND_NS_PER_US
#define ASKS 0
#define READ 1

struct rig {
	const struct nd_load *load;
	void *state;
	struct nd_step step;
	struct nd_note note;
};

static void rig_up(struct rig *r, const struct nd_workload *wl, bool datagram, uint64_t flow)
{
	struct nd_load_cfg cfg = {
		.workload = wl, .active = true, .flow = flow, .batch_max = 64, .datagram = datagram
	};

	*r = (struct rig){ .load = nd_load_find("paced") };
	assert_non_null(r->load);
	assert_int_equal(r->load->halves, 2);
	r->state = calloc(1, r->load->state_bytes + r->load->more_bytes(wl));
	assert_non_null(r->state);
	assert_int_equal(r->load->init(r->state, &cfg), 0);
}

static void rig_down(struct rig *r)
{
	free(r->state);
}

static void feed(struct rig *r, uint8_t half, struct nd_event ev)
{
	ev.half = half;
	r->load->next(r->state, &ev, &r->step, &r->note);
}

static void start(struct rig *r, uint64_t at)
{
	feed(r, ASKS, (struct nd_event){ .what = ND_HAP_START, .now_ns = at });
	assert_int_equal(r->step.op, ND_OP_SEND);
	assert_int_equal(r->step.count, 1);
}

static void sent(struct rig *r, uint64_t begun, uint64_t seq)
{
	feed(r, ASKS,
	     (struct nd_event){ .what = ND_HAP_SENT,
				.count = 1,
				.bytes = r->step.bytes,
				.begun_ns = begun,
				.now_ns = begun + 5,
				.seq = seq });
}

static void got(struct rig *r, uint64_t now, uint64_t seq)
{
	feed(r, READ,
	     (struct nd_event){
		     .what = ND_HAP_RECEIVED, .count = 1, .bytes = 64, .now_ns = now, .seq = seq });
}

static const struct nd_workload thousand = {
	.flows = 1, .rate_ops = 1000, .request_bytes = 64, .response_bytes = 128
};

/* The schedule runs on while the program stands still, and every request keeps its own instant. */
static void a_stall_is_caught_up_in_full(void **state)
{
	struct rig r;

	(void)state;
	rig_up(&r, &thousand, false, 0);
	start(&r, S);
	assert_int_equal(r.step.at_ns, S);
	assert_int_equal(r.step.bytes, 64);
	assert_int_equal(*r.step.due, S);
	sent(&r, S + 2, 0);
	assert_true(r.note.scheduled);
	assert_int_equal(r.note.late_ns, 2);
	assert_int_equal(r.note.due_ns, S);
	assert_int_equal(r.step.at_ns, S + MS);
	for (unsigned i = 1; i <= 500; i++) { /* half a second late, all at once */
		sent(&r, S + 500 * MS + i, 0);
		assert_int_equal(r.note.late_ns, (500 - i) * MS + i);
		assert_int_equal(r.step.at_ns, S + (i + 1) * MS);
	}
	feed(&r, READ, (struct nd_event){ .what = ND_HAP_START, .now_ns = S });
	assert_int_equal(r.step.op, ND_OP_RECV);
	assert_int_equal(r.step.bytes, 128);
	assert_int_equal(r.step.until_ns, 0); /* streams lose nothing */
	got(&r, S + 501 * MS, 0);
	assert_int_equal(r.note.transactions, 1);
	assert_int_equal(r.note.service_ns, 501 * MS - 2);
	assert_int_equal(r.note.response_ns, 501 * MS);
	got(&r, S + 502 * MS, 0);
	assert_int_equal(r.note.service_ns, 2 * MS - 1);
	assert_int_equal(r.note.response_ns, 501 * MS);
	assert_int_equal(r.note.due_ns, S + MS);
	rig_down(&r);
}

/* Answers find their requests by number; what does not come in a second is lost, and known no more. */
static void datagrams_are_late_or_lost(void **state)
{
	struct rig r;

	(void)state;
	rig_up(&r, &thousand, true, 0);
	start(&r, S);
	for (uint64_t i = 1; i <= 3; i++)
		sent(&r, S + i * MS, i);
	feed(&r, READ, (struct nd_event){ .what = ND_HAP_START, .now_ns = S });
	assert_int_equal(r.step.until_ns, 2 * S); /* nothing is older than the start */
	got(&r, S + 10 * MS, 2);
	assert_int_equal(r.note.service_ns, 8 * MS);
	assert_int_equal(r.note.due_ns, S + MS);
	assert_int_equal(r.step.until_ns, 2 * S + MS); /* the first one's patience */
	got(&r, S + 11 * MS, 2);                       /* again */
	assert_int_equal(r.note.transactions, 0);
	feed(&r, READ, (struct nd_event){ .what = ND_HAP_TIME, .now_ns = 2 * S + MS });
	assert_int_equal(r.note.lost, 1);
	assert_int_equal(r.step.until_ns, 2 * S + 3 * MS);
	got(&r, 2 * S + 2 * MS, 1); /* too late: it counts as lost and as nothing else */
	assert_int_equal(r.note.transactions, 0);
	assert_int_equal(r.note.lost, 0);
	got(&r, 2 * S + 2 * MS, 3);
	assert_int_equal(r.note.transactions, 1);
	sent(&r, 2 * S + 3 * MS, 3); /* refused by this machine: no new number */
	assert_int_equal(r.note.lost, 1);
	rig_down(&r);
}

/* Both halves end, the reading one behind the last answer. */
static void halves_end_in_order(void **state)
{
	struct rig r;

	(void)state;
	rig_up(&r, &thousand, true, 0);
	start(&r, S);
	sent(&r, S, 1);
	feed(&r, ASKS, (struct nd_event){ .what = ND_HAP_STOP, .now_ns = S + MS });
	assert_int_equal(r.step.op, ND_OP_FINISH);
	feed(&r, READ, (struct nd_event){ .what = ND_HAP_STOP, .now_ns = S + MS });
	assert_int_equal(r.step.op, ND_OP_KEEP);
	got(&r, S + 2 * MS, 1);
	assert_int_equal(r.note.transactions, 1);
	assert_int_equal(r.step.op, ND_OP_FINISH);
	rig_down(&r);

	rig_up(&r, &thousand, false, 0);
	start(&r, S); /* in the middle of a request */
	feed(&r, ASKS, (struct nd_event){ .what = ND_HAP_STOP, .now_ns = S + MS, .bytes = 3 });
	assert_int_equal(r.step.op, ND_OP_KEEP);
	feed(&r, READ, (struct nd_event){ .what = ND_HAP_STOP, .now_ns = S + MS });
	assert_int_equal(r.step.op, ND_OP_KEEP);
	sent(&r, S + MS, 0);
	assert_int_equal(r.step.op, ND_OP_FINISH);
	got(&r, S + 2 * MS, 0);
	assert_int_equal(r.step.op, ND_OP_FINISH);
	rig_down(&r);
}

/* A stream's server that stands still: requests wait for room, their instants do not. */
static void a_full_ring_waits(void **state)
{
	uint32_t room = nd_pending_room(1000, S);
	struct rig r;

	(void)state;
	rig_up(&r, &thousand, false, 0);
	start(&r, S);
	for (uint32_t i = 0; i < room; i++) {
		assert_int_equal(r.step.op, ND_OP_SEND);
		sent(&r, S + (uint64_t)i * MS, 0);
	}
	assert_int_equal(r.step.op, ND_OP_WAIT);
	got(&r, 9 * S, 0);
	feed(&r, ASKS, (struct nd_event){ .what = ND_HAP_TIME, .now_ns = 9 * S });
	assert_int_equal(r.step.op, ND_OP_SEND);
	assert_int_equal(*r.step.due, S + (uint64_t)room * MS);
	rig_down(&r);
}

/* Mean and spread of @n gaps. */
static void measure_gaps(enum nd_spacing spacing, unsigned n, double *ret_mean, double *ret_stddev)
{
	struct nd_workload wl = { .flows = 1,
				  .rate_ops = 1000000,
				  .request_bytes = 8,
				  .response_bytes = 8,
				  .arrival = spacing };
	double sum = 0, squares = 0;
	uint64_t last, seq = 0;
	struct rig r;

	rig_up(&r, &wl, true, 0);
	start(&r, S);
	last = *r.step.due;
	for (unsigned i = 0; i < n; i++) {
		double gap;

		sent(&r, *r.step.due, ++seq);
		gap = (double)(*r.step.due - last);
		last = *r.step.due;
		sum += gap;
		squares += gap * gap;
	}
	*ret_mean = sum / n;
	*ret_stddev = sqrt(squares / n - *ret_mean * *ret_mean);
	rig_down(&r);
}

static void gaps_have_their_distribution(void **state)
{
	static const struct {
		enum nd_spacing spacing;
		double stddev; /* of a mean of 1000 ns */
	} rows[] = { { ND_SPACING_FIXED, 0 },
		     { ND_SPACING_UNIFORM, 577.35 },
		     { ND_SPACING_POISSON, 1000 } };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		double mean, stddev;

		measure_gaps(rows[i].spacing, 200000, &mean, &stddev);
		if (fabs(mean - 1000) > 10 || fabs(stddev - rows[i].stddev) > 20)
			fail_msg("row %zu: mean %g, standard deviation %g", i, mean, stddev);
	}
}

/* A rate over several flows: the first of each follow one another. */
static void flows_take_turns(void **state)
{
	struct nd_workload wl = thousand;

	(void)state;
	wl.flows = 4;
	for (uint64_t flow = 0; flow < 4; flow++) {
		struct rig r;

		rig_up(&r, &wl, false, flow);
		start(&r, S);
		assert_int_equal(*r.step.due, S + flow * MS);
		sent(&r, S + flow * MS, 0);
		assert_int_equal(*r.step.due, S + (flow + 4) * MS);
		rig_down(&r);
	}
}

static void the_other_end_answers(void **state)
{
	const struct nd_load *load = nd_load_find("paced");
	struct nd_load_cfg cfg = { .workload = &thousand, .batch_max = 1 };
	struct nd_step step;
	struct nd_note note;
	void *s = calloc(1, load->state_bytes + load->more_bytes(&thousand));

	(void)state;
	assert_non_null(s);
	assert_int_equal(load->init(s, &cfg), 0);
	load->next(s, &(struct nd_event){ .what = ND_HAP_START, .now_ns = S }, &step, &note);
	assert_int_equal(step.op, ND_OP_RECV);
	assert_int_equal(step.bytes, 64);
	load->next(s, &(struct nd_event){ .what = ND_HAP_RECEIVED, .count = 1, .bytes = 64 }, &step,
		   &note);
	assert_int_equal(step.op, ND_OP_SEND);
	assert_int_equal(step.bytes, 128);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_is_caught_up_in_full),
		cmocka_unit_test(datagrams_are_late_or_lost),
		cmocka_unit_test(halves_end_in_order),
		cmocka_unit_test(a_full_ring_waits),
		cmocka_unit_test(gaps_have_their_distribution),
		cmocka_unit_test(flows_take_turns),
		cmocka_unit_test(the_other_end_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
