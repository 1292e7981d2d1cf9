/* SPDX-License-Identifier: MIT */
/* Copies of sides: equal, and independent of what they were made from. */
#include <errno.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "session/int.h"

static const char *const texts[] = { "server", "192.0.2.1", "0.1.0", "eth0", "epoll", "cubic" };

/* A side with strings and lists in many places, all of it in @a. */
static void make_side(struct nd_arena *a, struct nd_side *side)
{
	struct nd_part *part;
	struct nd_flow_row *flow;

	nd_table_unknown(&nd_side_table, side);
	side->name = nd_arena_dup(a, texts[0]);
	side->address = nd_arena_dup(a, texts[1]);
	side->version = nd_arena_dup(a, texts[2]);
	side->machine.nic = nd_arena_dup(a, texts[3]);
	side->threads = 7;
	assert_int_equal(nd_list_new(a, &side->parts, 2, sizeof(*part)), 0);
	part = side->parts.v;
	for (uint64_t i = 0; i < 2; i++) {
		nd_table_unknown(&nd_part_table, &part[i]);
		part[i].workload = i;
		part[i].engine = nd_arena_dup(a, texts[4]);
		part[i].tcp.cc = nd_arena_dup(a, texts[5]);
		assert_int_equal(nd_list_new(a, &part[i].flows, 3, sizeof(*flow)), 0);
		flow = part[i].flows.v;
		for (uint64_t k = 0; k < 3; k++) {
			nd_table_unknown(&nd_flow_row_table, &flow[k]);
			flow[k].flow = 10 * i + k;
			flow[k].error = k == 2 ? nd_arena_dup(a, "broken pipe") : NULL;
		}
	}
}

static void copies_are_deep(void **state)
{
	struct nd_arena from = { 0 }, to = { 0 };
	struct nd_side side, copy;
	const struct nd_part *part;
	const struct nd_flow_row *flow;

	(void)state;
	make_side(&from, &side);
	copy = side;
	assert_int_equal(nd_outcome_copy(&nd_side_table, &copy, &to), 0);
	nd_arena_done(&from); /* a sanitizer tells when the copy needs it */
	assert_string_equal(copy.name, texts[0]);
	assert_string_equal(copy.address, texts[1]);
	assert_string_equal(copy.version, texts[2]);
	assert_string_equal(copy.machine.nic, texts[3]);
	assert_int_equal(copy.threads, 7);
	assert_int_equal(copy.parts.n, 2);
	part = copy.parts.v;
	for (uint64_t i = 0; i < 2; i++) {
		assert_string_equal(part[i].engine, texts[4]);
		assert_string_equal(part[i].tcp.cc, texts[5]);
		assert_int_equal(part[i].flows.n, 3);
		flow = part[i].flows.v;
		for (uint64_t k = 0; k < 3; k++)
			assert_int_equal(flow[k].flow, 10 * i + k);
		assert_null(flow[1].error);
		assert_string_equal(flow[2].error, "broken pipe");
	}
	nd_arena_done(&to);
}

static void full_arena_is_told(void **state)
{
	struct nd_arena from = { 0 };
	struct nd_side side;
	int r = -ENOMEM;
	size_t limit = 1;

	(void)state;
	make_side(&from, &side);
	for (; r < 0 && limit < 1 << 20; limit *= 2) {
		struct nd_arena to = { .limit = limit };
		struct nd_side copy = side;

		r = nd_outcome_copy(&nd_side_table, &copy, &to);
		assert_true(r == 0 || r == -ENOMEM);
		nd_arena_done(&to);
	}
	assert_int_equal(r, 0); /* with enough of it */
	assert_true(limit > 2);
	nd_arena_done(&from);
}

static void damaged_is_no_success(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_side side;
	struct nd_result r = { .server = &side };
	struct nd_err err = { 0 };
	struct nd_part *part;

	(void)state;
	make_side(&a, &side);
	part = side.parts.v;
	assert_int_equal(nd_outcome_ending(&r, &err), ND_END_DONE);
	r.partial = true;
	assert_int_equal(nd_outcome_ending(&r, &err), ND_END_PARTIAL);
	part[1].run.rx_corrupt = 5;
	r.partial = false;
	assert_int_equal(nd_outcome_ending(&r, &err), ND_END_DAMAGED);
	assert_string_equal(err.text, "5 bytes differ from what was sent");
	nd_arena_done(&a);
}

/* A client's test of samples whose every flow was closed by the peer; one flow that stayed makes it a test. */
static void lost_is_no_success(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_side side;
	struct nd_samples *none = NULL;
	struct nd_result r = { .client = &side, .samples = &none, .samples_n = 1 };
	struct nd_err err = { 0 };
	struct nd_part *part;

	(void)state;
	assert_int_equal(nd_samples_new(1, &none), 0);
	make_side(&a, &side);
	part = side.parts.v;
	assert_int_equal(nd_outcome_ending(&r, &err), ND_END_DONE);
	for (uint64_t i = 0; i < 2; i++)
		for (uint64_t k = 0; k < 3; k++)
			((struct nd_flow_row *)part[i].flows.v)[k].error = "gone";
	assert_int_equal(nd_outcome_ending(&r, &err), ND_END_DAMAGED);
	assert_string_equal(err.text, "the test ended early: the server closed the connection");
	r.partial = true;
	assert_int_equal(nd_outcome_ending(&r, &err), ND_END_PARTIAL);
	r.partial = false;
	r.samples_n = 0;
	assert_int_equal(nd_outcome_ending(&r, &err), ND_END_DONE);
	nd_samples_free(none);
	nd_arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_deep),
		cmocka_unit_test(full_arena_is_told),
		cmocka_unit_test(damaged_is_no_success),
		cmocka_unit_test(lost_is_no_success),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
