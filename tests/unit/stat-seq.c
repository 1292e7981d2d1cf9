/* SPDX-License-Identifier: MIT */
/* Sequence numbers as they arrive, one row per story, checked against a plain model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
#include "stat/seq.h"

#define STEPS_MAX 8
#define ROOM      8192u

struct step {
	uint64_t seq;
	enum nd_seq_kind kind;
};

struct story {
	const char *name;
	struct step steps[STEPS_MAX];
	unsigned n;
};

#define NEW ND_SEQ_NEW
#define DUP ND_SEQ_DUPLICATE
#define REO ND_SEQ_REORDERED
#define OLD ND_SEQ_TOO_OLD

/* clang-format off */
static const struct story stories[] = {
	{ "in order",      { { 0, NEW }, { 1, NEW }, { 2, NEW } }, 3 },
	{ "duplicate",     { { 0, NEW }, { 0, DUP }, { 1, NEW }, { 0, DUP }, { 1, DUP } }, 5 },
	{ "gap",           { { 0, NEW }, { 5, NEW }, { 3, REO }, { 3, DUP }, { 4, REO }, { 5, DUP } }, 6 },
	{ "starts late",   { { 7, NEW }, { 0, REO }, { 0, DUP } }, 3 },
	{ "window edge",   { { 0, NEW }, { 1023, NEW }, { 0, DUP }, { 1024, NEW }, { 0, OLD },
			     { 1, REO } }, 6 },
	{ "whole window",  { { 5, NEW }, { 1029, NEW }, { 5, OLD }, { 6, REO }, { 1029, DUP } }, 5 },
	{ "far ahead",     { { 5, NEW }, { 1ull << 40, NEW }, { (1ull << 40) - 1019, REO },
			     { 5, OLD } }, 4 },
	{ "clears a wrap", { { 0, NEW }, { 1, NEW }, { 1025, NEW }, { 1024, REO }, { 1024, DUP } }, 5 },
	{ "the last",      { { UINT64_MAX, OLD }, { 0, NEW }, { UINT64_MAX - 1, NEW }, { UINT64_MAX, OLD },
			     { UINT64_MAX - 1, DUP }, { UINT64_MAX - 2, REO } }, 6 },
};

/* clang-format on */

static void tells_kinds_apart(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < ND_COUNTOF(stories); i++) {
		struct nd_seq s = { 0 };

		for (k = 0; k < stories[i].n; k++) {
			enum nd_seq_kind kind = nd_seq_take(&s, stories[i].steps[k].seq);

			if (kind != stories[i].steps[k].kind)
				fail_msg("%s, step %zu: %d", stories[i].name, k, (int)kind);
		}
	}
}

static enum nd_seq_kind model(bool *seen, uint64_t *next, uint64_t seq)
{
	bool was = seen[seq];

	if (seq<*next && * next - seq> ND_SEQ_WINDOW)
		return ND_SEQ_TOO_OLD;
	seen[seq] = true;
	if (seq >= *next) {
		*next = seq + 1;
		return ND_SEQ_NEW;
	}
	return was ? ND_SEQ_DUPLICATE : ND_SEQ_REORDERED;
}

static void agrees_with_a_model(void **state)
{
	bool *seen = calloc(ROOM, sizeof(*seen));
	unsigned seed = (unsigned)nd_now_ns(), random = seed, i;
	struct nd_seq s = { 0 };
	uint64_t next = 0, seq;

	(void)state;
	assert_non_null(seen);
	(void)printf("seed %u\n", seed);
	for (i = 0; i < 30000; i++) {
		seq = (i / 4 + (unsigned)rand_r(&random) % (i % 7 ? 50 : 1500)) % ROOM;
		if (nd_seq_take(&s, seq) != model(seen, &next, seq))
			fail_msg("step %u: %llu", i, (unsigned long long)seq);
		assert_int_equal(s.next, next);
	}
	free(seen);
}

/* A run is what its numbers are one by one; gaps, late ones and duplicates stand between. */
static void runs_as_one_by_one(void **state)
{
	unsigned seed = (unsigned)nd_now_ns(), random = seed, i;
	struct nd_seq run = { 0 }, one = { 0 };

	(void)state;
	(void)printf("seed %u\n", seed);
	for (i = 0; i < 20000; i++) {
		uint64_t n = (uint64_t)rand_r(&random) % (i % 50 ? 130 : 3000), k;
		uint64_t back = (uint64_t)rand_r(&random) % 1200;

		nd_seq_run(&run, n);
		for (k = 0; k < n; k++)
			assert_int_equal(nd_seq_take(&one, one.next), ND_SEQ_NEW);
		if (i % 3 == 0)
			k = run.next + (uint64_t)rand_r(&random) % (i % 20 ? 10 : 2000);
		else
			k = run.next > back ? run.next - back : 0;
		if (nd_seq_take(&run, k) != nd_seq_take(&one, k))
			fail_msg("step %u: %llu", i, (unsigned long long)k);
		assert_memory_equal(&run, &one, sizeof(run));
	}
}

static void smooths_jitter(void **state)
{
	struct nd_seq s = { 0 };

	(void)state;
	nd_seq_jitter(&s, UINT64_MAX - 7); /* clocks are not in step: transit may be negative */
	assert_true(fabs(s.jitter_ns) <= 0);
	nd_seq_jitter(&s, 8);
	assert_true(fabs(s.jitter_ns - 1) < 1e-9);
	nd_seq_jitter(&s, UINT64_MAX - 7);
	assert_true(fabs(s.jitter_ns - (1 + 15.0 / 16)) < 1e-9);
	nd_seq_jitter(&s, UINT64_MAX - 7);
	assert_true(fabs(s.jitter_ns - (1 + 15.0 / 16) * 15 / 16) < 1e-9);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_kinds_apart),
		cmocka_unit_test(agrees_with_a_model),
		cmocka_unit_test(runs_as_one_by_one),
		cmocka_unit_test(smooths_jitter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
