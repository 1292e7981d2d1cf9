/* SPDX-License-Identifier: MIT */
/* The shapes of sockperf's modes, fed with events. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "load/load.h"
#include "plan/sockperf.h"

#define START_NS 1000000000ull

static union {
	_Alignas(16) uint8_t bytes[512];
} memory;

static const struct nd_load *open_load(const char *name, const struct nd_workload *w, bool datagram)
{
	const struct nd_load *l = nd_load_find(name);
	const struct nd_load_cfg cfg = { .workload = w,
					 .active = true,
					 .ops = w->total_ops,
					 .batch_max = datagram ? 64 : 1,
					 .datagram = datagram };

	assert_non_null(l);
	assert_true(l->state_bytes <= sizeof(memory));
	memory.bytes[0] = 0;
	for (size_t i = 0; i < sizeof(memory); i++)
		memory.bytes[i] = 0;
	assert_int_equal(l->init(memory.bytes, &cfg), 0);
	return l;
}

static struct nd_step tell(const struct nd_load *l, struct nd_event ev)
{
	struct nd_step step;
	struct nd_note note;

	l->next(memory.bytes, &ev, &step, &note);
	return step;
}

static void ping_pong(void **state)
{
	const struct nd_workload w = {
		.flows = 1, .message_bytes = 20, .burst = 2, .answered = true
	};
	const struct nd_load *l = open_load("burst", &w, true);
	struct nd_step s = tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = START_NS });

	(void)state;
	assert_int_equal(s.op, ND_OP_SEND);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.bytes, 20);
	s = tell(l, (struct nd_event){
			    .what = ND_HAP_SENT, .count = 2, .now_ns = START_NS, .seq = 3 });
	assert_int_equal(s.op, ND_OP_RECV);
	assert_int_equal(s.count, 2);
	assert_true(s.until_ns > START_NS);
	s = tell(l, (struct nd_event){ .what = ND_HAP_RECEIVED, .count = 1, .seq = 2 });
	assert_int_equal(s.op, ND_OP_RECV);
	assert_int_equal(s.count, 1);
	/* the other one is lost: the next burst all the same */
	s = tell(l, (struct nd_event){ .what = ND_HAP_TIME, .now_ns = START_NS + 1 });
	assert_int_equal(s.op, ND_OP_SEND);
	(void)tell(l, (struct nd_event){ .what = ND_HAP_SENT, .count = 2, .seq = 5 });
	/* it comes late, and does not count for this burst */
	s = tell(l, (struct nd_event){ .what = ND_HAP_RECEIVED, .count = 1, .seq = 3 });
	assert_int_equal(s.op, ND_OP_RECV);
	assert_int_equal(s.count, 2);
	s = tell(l, (struct nd_event){ .what = ND_HAP_STOP });
	assert_int_equal(s.op, ND_OP_FINISH);
}

static void waits_for_all_servers(void **state)
{
	const struct nd_workload w = {
		.flows = 1, .message_bytes = 20, .burst = 2, .servers = 3, .answered = true
	};
	const struct nd_load *l = open_load("burst", &w, true);
	struct nd_step s = tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = START_NS });

	(void)state;
	assert_int_equal(s.count, 2);
	s = tell(l, (struct nd_event){
			    .what = ND_HAP_SENT, .count = 2, .now_ns = START_NS, .seq = 3 });
	assert_int_equal(s.op, ND_OP_RECV);
	assert_int_equal(s.count, 6);
	s = tell(l, (struct nd_event){ .what = ND_HAP_RECEIVED, .count = 5, .seq = 3 });
	assert_int_equal(s.op, ND_OP_RECV);
	assert_int_equal(s.count, 1);
	s = tell(l, (struct nd_event){ .what = ND_HAP_RECEIVED, .count = 1, .seq = 3 });
	assert_int_equal(s.op, ND_OP_SEND);
}

static void streams_go_one_by_one(void **state)
{
	const struct nd_workload w = {
		.flows = 1, .message_bytes = 20, .burst = 3, .answered = true
	};
	const struct nd_load *l = open_load("burst", &w, false);
	struct nd_step s = tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = START_NS });

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(s.op, ND_OP_SEND);
		assert_int_equal(s.count, 1);
		s = tell(l, (struct nd_event){ .what = ND_HAP_SENT, .count = 1, .bytes = 20 });
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(s.op, ND_OP_RECV);
		assert_int_equal(s.bytes, 20);
		s = tell(l, (struct nd_event){ .what = ND_HAP_RECEIVED, .count = 1, .bytes = 20 });
	}
	assert_int_equal(s.op, ND_OP_SEND);
	/* a message that has begun is brought to its end */
	assert_int_equal(tell(l, (struct nd_event){ .what = ND_HAP_STOP, .bytes = 5 }).op,
			 ND_OP_KEEP);
}

static void schedule_is_kept(void **state)
{
	const struct nd_workload w = {
		.flows = 1, .message_bytes = 14, .burst = 4, .rate_ops = 1000
	};
	const struct nd_load *l = open_load("under", &w, true);
	uint64_t now_ns = START_NS;
	struct nd_step s = tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = now_ns });

	(void)state;
	/* 4 ms apart, also behind a stall of 50 ms */
	for (unsigned i = 0; i < 40; i++) {
		assert_int_equal(s.op, ND_OP_SEND);
		assert_int_equal(s.count, 4);
		assert_in_range(s.at_ns, START_NS + i * 4000000ull - 1,
				START_NS + i * 4000000ull + 1);
		now_ns = ND_MAX(now_ns, s.at_ns) + (i == 10 ? 50000000 : 10);
		s = tell(l, (struct nd_event){ .what = ND_HAP_SENT, .count = 4, .now_ns = now_ns });
	}
	/* the other half reads until a while behind the end */
	s = tell(l, (struct nd_event){ .what = ND_HAP_START, .half = 1, .now_ns = START_NS });
	assert_int_equal(s.op, ND_OP_RECV);
	assert_int_equal(s.until_ns, 0);
	s = tell(l, (struct nd_event){ .what = ND_HAP_STOP, .half = 1, .now_ns = now_ns });
	assert_int_equal(s.op, ND_OP_RECV);
	assert_true(s.until_ns > now_ns);
	s = tell(l, (struct nd_event){ .what = ND_HAP_TIME, .half = 1, .now_ns = s.until_ns });
	assert_int_equal(s.op, ND_OP_FINISH);
}

static void counts_messages(void **state)
{
	const struct nd_workload w = {
		.flows = 1, .message_bytes = 14, .burst = 1, .answered = true, .total_ops = 3
	};
	const struct nd_load *l = open_load("burst", &w, true);
	struct nd_step s = tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = START_NS });

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(s.op, ND_OP_SEND);
		(void)tell(l, (struct nd_event){ .what = ND_HAP_SENT, .count = 1, .seq = i + 2 });
		s = tell(l, (struct nd_event){ .what = ND_HAP_RECEIVED, .count = 1, .seq = i + 2 });
	}
	assert_int_equal(s.op, ND_OP_FINISH);
}

/* Two flows take them in turn; this is the first one. */
static void plays_back(void **state)
{
	static const struct {
		uint64_t at_ns, bytes;
	} rows[] = { { 1000, 20 }, { 5000, 100 } };
	struct nd_playback list[] = { { 1000, 20 }, { 2000, 64 }, { 5000, 100 } };
	const struct nd_workload w = { .flows = 2,
				       .message_bytes = 100,
				       .burst = 7,
				       .total_ops = 2, /* this flow's share */
				       .schedule = { .v = list, .n = 3 } };
	const struct nd_load *l = open_load("under", &w, true);
	struct nd_step s = tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = START_NS });

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(s.op, ND_OP_SEND);
		assert_int_equal(s.count, 1);
		assert_int_equal(s.bytes, rows[i].bytes);
		assert_int_equal(s.at_ns, START_NS + rows[i].at_ns);
		s = tell(l,
			 (struct nd_event){ .what = ND_HAP_SENT, .count = 1, .now_ns = s.at_ns });
	}
	assert_int_equal(s.op, ND_OP_FINISH);
	/* late answers are waited for, then this half is over, too */
	s = tell(l, (struct nd_event){ .what = ND_HAP_RECEIVED, .half = 1, .now_ns = START_NS });
	assert_int_equal(s.op, ND_OP_RECV);
	assert_true(s.until_ns > START_NS);
	s = tell(l, (struct nd_event){ .what = ND_HAP_TIME, .half = 1, .now_ns = s.until_ns });
	assert_int_equal(s.op, ND_OP_FINISH);
}

static void echoes(void **state)
{
	const struct nd_workload w = { .flows = 1, .message_bytes = 14 };
	const struct nd_load *l = open_load("echo", &w, true);
	struct nd_step s = tell(l, (struct nd_event){ .what = ND_HAP_START });

	(void)state;
	assert_int_equal(s.op, ND_OP_RECV);
	assert_int_equal(s.count, 64);
	assert_int_equal(tell(l, (struct nd_event){ .what = ND_HAP_RECEIVED, .count = 9 }).op,
			 ND_OP_ECHO);
	assert_int_equal(tell(l, (struct nd_event){ .what = ND_HAP_SENT, .count = 1 }).op,
			 ND_OP_RECV);
	assert_int_equal(tell(l, (struct nd_event){ .what = ND_HAP_STOP }).op, ND_OP_KEEP);
	assert_int_equal(tell(l, (struct nd_event){ .what = ND_HAP_CLOSED }).op, ND_OP_FINISH);
}

/* To a group two messages that do not count go first, and what is full is left out. */
static void warms_up_and_skips(void **state)
{
	const struct nd_workload w = { .flows = 1,
				       .message_bytes = 20,
				       .burst = 1,
				       .answered = true,
				       .warms = true,
				       .skips = true };
	const struct nd_load *l = open_load("burst", &w, true);
	struct nd_step s = tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = START_NS });

	(void)state;
	assert_int_equal(s.op, ND_OP_SEND);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.asks, ND_SOCKPERF_WARM_UP);
	assert_int_equal(s.bytes, 20);
	s = tell(l, (struct nd_event){ .what = ND_HAP_SENT, .count = 2, .now_ns = START_NS });
	assert_int_equal(s.op, ND_OP_SEND);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.asks, 0);
	/* the socket is full: the next one, and no wait for an answer */
	s = tell(l, (struct nd_event){ .what = ND_HAP_TIME, .now_ns = START_NS + 1 });
	assert_int_equal(s.op, ND_OP_SEND);
	/* stopped between its warm-up and its first message */
	l = open_load("under", &w, true);
	(void)tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = START_NS });
	s = tell(l, (struct nd_event){ .what = ND_HAP_STOP });
	assert_int_equal(s.op, ND_OP_KEEP);
	s = tell(l, (struct nd_event){ .what = ND_HAP_SENT, .count = 2 });
	assert_int_equal(s.op, ND_OP_FINISH);
}

/* One flow after the other: a burst that is over, or was given up, passes; its turn comes as an instant does. */
static void takes_turns(void **state)
{
	const struct nd_workload w = {
		.flows = 3, .message_bytes = 20, .burst = 1, .answered = true, .turns = true
	};
	const struct nd_load *l = open_load("burst", &w, true);
	struct nd_step s = tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = START_NS });

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(s.op, ND_OP_PASS);
		s = tell(l, (struct nd_event){ .what = ND_HAP_TIME, .now_ns = START_NS });
		assert_int_equal(s.op, ND_OP_SEND);
		s = tell(l, (struct nd_event){ .what = ND_HAP_SENT, .count = 1, .seq = 2 });
		assert_int_equal(s.op, ND_OP_RECV);
		s = tell(l, (struct nd_event){ .what = i ? ND_HAP_TIME : ND_HAP_RECEIVED,
					       .count = 1,
					       .seq = 2 });
	}
	assert_int_equal(s.op, ND_OP_PASS);
	s = tell(l, (struct nd_event){ .what = ND_HAP_STOP });
	assert_int_equal(s.op, ND_OP_FINISH);
}

struct cycle_case {
	struct nd_workload wl;
	uint64_t ops;
	bool datagram, repeats;
};

static const struct cycle_case cycle_cases[] = {
	{ { .flows = 1, .message_bytes = 20, .answered = true }, 0, true, true },
	{ { .flows = 1, .message_bytes = 20, .answered = true }, 0, false, true },
	{ { .flows = 1, .message_bytes = 20, .answered = true, .burst = 2 }, 0, true, false },
	{ { .flows = 1, .message_bytes = 20, .answered = true, .rate_ops = 9 }, 0, true, false },
	{ { .flows = 1, .message_bytes = 20, .answered = true, .spread_bytes = 3 },
	  0,
	  true,
	  false },
	{ { .flows = 2, .message_bytes = 20, .answered = true, .turns = true }, 0, true, false },
	{ { .flows = 1, .message_bytes = 20, .answered = true, .skips = true }, 0, true, false },
	{ { .flows = 1, .message_bytes = 20, .answered = true, .warms = true }, 0, true, false },
	{ { .flows = 1, .message_bytes = 20, .answered = true, .total_ops = 9 }, 9, true, false },
	{ { .flows = 1, .message_bytes = 20 }, 0, true, false },
};

/* An engine may carry out whole exchanges on its own where each is like the other; not behind the stop. */
static void says_what_repeats(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cycle_cases); i++) {
		const struct cycle_case *c = &cycle_cases[i];
		const struct nd_load *l = open_load("burst", &c->wl, c->datagram);
		struct nd_cycle cycle = { 0 };
		struct nd_step s =
			tell(l, (struct nd_event){ .what = ND_HAP_START, .now_ns = START_NS });

		if (l->repeats(memory.bytes, &cycle) != c->repeats ||
		    cycle.tx != (c->repeats ? 20u : 0) || cycle.rx != cycle.tx || cycle.timed)
			fail_msg("row %zu", i);
		if (!c->repeats)
			continue;
		s = tell(l, (struct nd_event){ .what = ND_HAP_SENT, .count = 1, .seq = 3 });
		assert_int_equal(s.op, ND_OP_RECV);
		s = tell(l, (struct nd_event){ .what = ND_HAP_RECEIVED, .count = 1, .seq = 3 });
		assert_int_equal(s.op, ND_OP_SEND);
		assert_true(l->repeats(memory.bytes, &cycle));
		(void)tell(l, (struct nd_event){ .what = ND_HAP_STOP });
		assert_false(l->repeats(memory.bytes, &cycle));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ping_pong),          cmocka_unit_test(waits_for_all_servers),
		cmocka_unit_test(says_what_repeats),  cmocka_unit_test(streams_go_one_by_one),
		cmocka_unit_test(schedule_is_kept),   cmocka_unit_test(counts_messages),
		cmocka_unit_test(plays_back),         cmocka_unit_test(echoes),
		cmocka_unit_test(warms_up_and_skips), cmocka_unit_test(takes_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
