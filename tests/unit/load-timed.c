/* SPDX-License-Identifier: MIT */
/* The shape that times its operations: what it notes, and that it is a stream otherwise. */
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

struct row {
	enum nd_happened what;
	uint64_t begun_ns, now_ns;
	uint64_t service_ns; /* wanted */
};

static void walk(bool active, const struct row *rows, size_t n)
{
	const struct nd_load *timed = nd_load_find("timed"), *plain = nd_load_find("stream");
	const struct nd_workload w = { .message_bytes = 1000, .burn_steps = 777 };
	const struct nd_load_cfg cfg = { .workload = &w, .active = active };
	void *state = calloc(1, timed->state_bytes), *other = calloc(1, plain->state_bytes);

	assert_non_null(state);
	assert_non_null(other);
	assert_int_equal(timed->init(state, &cfg), 0);
	assert_int_equal(plain->init(other, &cfg), 0);
	for (size_t i = 0; i < n; i++) {
		const struct nd_event ev = { .what = rows[i].what,
					     .begun_ns = rows[i].begun_ns,
					     .now_ns = rows[i].now_ns,
					     .bytes = 1000 };
		struct nd_step step, same;
		struct nd_note note, none;

		timed->next(state, &ev, &step, &note);
		plain->next(other, &ev, &same, &none);
		assert_int_equal(note.service_ns, rows[i].service_ns);
		assert_int_equal(note.transactions, 0);
		assert_int_equal(none.service_ns, 0);
		assert_int_equal(step.op, same.op);
		assert_int_equal(step.bytes, same.bytes);
	}
	free(state);
	free(other);
}

/* Datagrams, too, are sent and read one by one, or the time would be that of many. */
static void times_each_datagram(void **state)
{
	const struct nd_load *timed = nd_load_find("timed");
	const struct nd_workload w = { .message_bytes = 100, .flows = 1 };

	(void)state;
	for (int active = 0; active < 2; active++) {
		const struct nd_load_cfg cfg = {
			.workload = &w, .active = active, .batch_max = 64, .datagram = true
		};
		const struct nd_event ev = { .what = ND_HAP_START, .now_ns = 10 };
		void *own = calloc(1, timed->state_bytes);
		struct nd_step step;
		struct nd_note note;

		assert_non_null(own);
		assert_int_equal(timed->init(own, &cfg), 0);
		timed->next(own, &ev, &step, &note);
		assert_int_equal(step.op, active ? ND_OP_SEND : ND_OP_RECV);
		assert_int_equal(step.count, 1);
		free(own);
	}
}

static void times_operations(void **state)
{
	static const struct row sender[] = { { ND_HAP_START, 0, 10, 0 },
					     { ND_HAP_SENT, 12, 30, 18 },
					     { ND_HAP_SENT, 0, 35, 5 },
					     { ND_HAP_STOP, 0, 40, 0 } };
	static const struct row receiver[] = { { ND_HAP_START, 0, 10, 0 },
					       { ND_HAP_RECEIVED, 0, 30, 0 },
					       { ND_HAP_RECEIVED, 0, 37, 7 },
					       { ND_HAP_CLOSED, 0, 40, 0 } };

	(void)state;
	walk(true, sender, ND_COUNTOF(sender));
	walk(false, receiver, ND_COUNTOF(receiver));
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(times_operations),
						   cmocka_unit_test(times_each_datagram) };

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
