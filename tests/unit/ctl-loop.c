/* SPDX-License-Identifier: MIT */
/* The event loop: timers in order, descriptors, signals, objects freed inside call-backs. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "ctl-kit.h"

struct state {
	struct nd_loop *loop;
	struct nd_timer *timer[8];
	struct nd_watch *watch[2];
	char seen[32];
	size_t seen_n;
	int fd[2], signal;
	unsigned count;
};

static struct nd_loop *new_loop(void)
{
	struct nd_loop *l = NULL;
	struct nd_err err = { 0 };

	if (nd_loop_new(&l, &err) < 0)
		fail_msg("%s", err.text);
	return l;
}

static void quit(void *user)
{
	nd_loop_quit(((struct state *)user)->loop);
}

/* ---- timers ---- */

struct timer_note {
	struct state *s;
	char name;
};

static void note(void *user)
{
	const struct timer_note *n = user;

	n->s->seen[n->s->seen_n++] = n->name;
}

/* clang-format off */
static const struct {
	const char *what;
	int at_ms[5], again_ms[5]; /* before the loop begins; again: set once more; -1: off; 0: not */
	const char *order;
} timer_rows[] = {
	{ "by instant",     { 30, 10, 20,  5, 40 }, { 0 },              "dbcae" },
	{ "equal instants", { 10, 10, 10, 10, 10 }, { 0 },              "abcde" },
	{ "moved",          { 30, 10, 20,  5, 40 }, { 1, 0, 0, 35, 0 }, "abcde" },
	{ "switched off",   { 30, 10, 20,  5, 40 }, { 0, -1, 0, -1 },   "cae" },
	{ "long past",      { -9, -5, -7,  1,  2 }, { 0 },              "abcde" },
};

/* clang-format on */

static void timers_fire_in_order(void **state)
{
	(void)state;
	for (size_t row = 0; row < ND_COUNTOF(timer_rows); row++) {
		struct state s = { .loop = new_loop() };
		struct timer_note n[5];
		uint64_t base = nd_now_ns();

		for (int i = 0; i < 5; i++) {
			int at = timer_rows[row].at_ms[i], again = timer_rows[row].again_ms[i];

			n[i] = (struct timer_note){ &s, (char)('a' + i) };
			assert_int_equal(nd_timer_new(s.loop, note, &n[i], &s.timer[i]), 0);
			nd_timer_set(s.timer[i], at < 0 ? 0 : base + (uint64_t)at * ND_NS_PER_MS);
			if (again)
				nd_timer_set(s.timer[i],
					     again < 0 ? UINT64_MAX
						       : base + (uint64_t)again * ND_NS_PER_MS);
		}
		assert_int_equal(nd_timer_new(s.loop, quit, &s, &s.timer[5]), 0);
		nd_timer_set(s.timer[5], base + 60 * ND_NS_PER_MS);
		kit_run(s.loop);
		if (strcmp(s.seen, timer_rows[row].order) != 0)
			fail_msg("row '%s': %s", timer_rows[row].what, s.seen);
		for (int i = 0; i < 6; i++)
			nd_timer_free(s.timer[i]);
		nd_loop_free(s.loop);
	}
}

static void count_up(void *user)
{
	struct state *s = user;

	s->count++;
}

/* A heap of many, set and removed at random: they fire in order, and only those that are left. */
struct many {
	struct nd_timer *timer;
	uint64_t at_ns;
	struct many_state *all;
};

struct many_state {
	uint64_t last_ns;
	unsigned fired;
};

static void fire_one(void *user)
{
	struct many *m = user;

	assert_true(m->at_ns >= m->all->last_ns);
	m->all->last_ns = m->at_ns;
	m->all->fired++;
}

static void heap_keeps_order(void **state)
{
	struct state s = { .loop = new_loop() };
	static struct many many[2000];
	struct many_state all = { 0 };
	unsigned seed = (unsigned)nd_now_ns(), left = 0;
	uint64_t base = nd_now_ns();
	struct nd_timer *end;

	(void)state;
	print_message("seed %u\n", seed);
	for (size_t i = 0; i < ND_COUNTOF(many); i++) {
		many[i] = (struct many){ .all = &all };
		assert_int_equal(nd_timer_new(s.loop, fire_one, &many[i], &many[i].timer), 0);
	}
	for (size_t i = 0; i < 3 * ND_COUNTOF(many); i++) {
		struct many *m = &many[(unsigned)rand_r(&seed) % ND_COUNTOF(many)];

		m->at_ns =
			rand_r(&seed) % 4 ? base + (uint64_t)rand_r(&seed) % 30000000 : UINT64_MAX;
		nd_timer_set(m->timer, m->at_ns);
	}
	for (size_t i = 0; i < ND_COUNTOF(many); i++)
		left += many[i].at_ns != UINT64_MAX && many[i].at_ns != 0;
	assert_int_equal(nd_timer_new(s.loop, quit, &s, &end), 0);
	nd_timer_set(end, base + 40000000);
	kit_run(s.loop);
	assert_int_equal(all.fired, left);
	for (size_t i = 0; i < ND_COUNTOF(many); i++)
		nd_timer_free(many[i].timer);
	nd_timer_free(end);
	nd_loop_free(s.loop);
}

static void free_self(void *user)
{
	struct state *s = user;

	nd_timer_free(s->timer[0]);
	nd_timer_free(s->timer[1]); /* due as well, and must not fire now */
	s->timer[0] = s->timer[1] = NULL;
	nd_loop_quit(s->loop);
}

static void timer_frees_itself_and_another(void **state)
{
	struct state s = { .loop = new_loop() };

	(void)state;
	assert_int_equal(nd_timer_new(s.loop, free_self, &s, &s.timer[0]), 0);
	assert_int_equal(nd_timer_new(s.loop, count_up, &s, &s.timer[1]), 0);
	nd_timer_set(s.timer[0], 0);
	nd_timer_set(s.timer[1], 0);
	kit_run(s.loop);
	assert_int_equal(s.count, 0);
	nd_loop_free(s.loop);
}

/* ---- descriptors ---- */

static void set_again(void *user)
{
	struct state *s = user;

	s->count++;
	nd_timer_set(s->timer[0], 0);
}

static void quit_when_readable(void *user, bool readable, bool writable)
{
	struct state *s = user;

	assert_true(readable);
	assert_false(writable);
	nd_loop_quit(s->loop);
}

static void busy_timer_does_not_starve(void **state)
{
	struct state s = { .loop = new_loop() };
	struct nd_err err;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s.fd), 0);
	assert_int_equal(nd_timer_new(s.loop, set_again, &s, &s.timer[0]), 0);
	nd_timer_set(s.timer[0], 0);
	assert_int_equal(nd_watch_new(s.loop, s.fd[0], quit_when_readable, &s, &s.watch[0], &err),
			 0);
	assert_int_equal(write(s.fd[1], "x", 1), 1);
	kit_run(s.loop);
	nd_timer_free(s.timer[0]);
	nd_watch_free(s.watch[0]);
	(void)close(s.fd[0]);
	(void)close(s.fd[1]);
	nd_loop_free(s.loop);
}

/* Both are readable in the same turn; whichever comes first frees both. */
static void free_both(void *user, bool readable, bool writable)
{
	struct state *s = user;

	(void)readable;
	(void)writable;
	s->count++;
	for (int i = 0; i < 2; i++) {
		nd_watch_free(s->watch[i]);
		(void)close(s->fd[i]);
	}
	nd_loop_quit(s->loop);
}

static void watch_frees_another(void **state)
{
	struct state s = { .loop = new_loop() };
	struct nd_err err;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s.fd), 0);
	assert_int_equal(write(s.fd[0], "x", 1), 1);
	assert_int_equal(write(s.fd[1], "x", 1), 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(nd_watch_new(s.loop, s.fd[i], free_both, &s, &s.watch[i], &err),
				 0);
	kit_run(s.loop);
	assert_int_equal(s.count, 1);
	nd_loop_free(s.loop);
}

static void fail_when_called(void *user, bool readable, bool writable)
{
	(void)user;
	fail_msg("called: %d %d", readable, writable);
}

static void unwanted_watch_is_silent(void **state)
{
	struct state s = { .loop = new_loop() };
	struct nd_err err;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s.fd), 0);
	assert_int_equal(nd_watch_new(s.loop, s.fd[0], fail_when_called, &s, &s.watch[0], &err), 0);
	assert_int_equal(nd_watch_want(s.watch[0], false, false), 0);
	(void)close(s.fd[1]); /* a hang-up, which epoll tells even when nobody asked */
	assert_int_equal(nd_timer_new(s.loop, quit, &s, &s.timer[0]), 0);
	nd_timer_set(s.timer[0], nd_now_ns() + 5 * ND_NS_PER_MS);
	kit_run(s.loop);
	nd_timer_free(s.timer[0]);
	nd_watch_free(s.watch[0]);
	(void)close(s.fd[0]);
	nd_loop_free(s.loop);
}

/* ---- signals ---- */

static void take_signal(void *user, int sig)
{
	struct state *s = user;

	s->signal = sig;
	nd_loop_quit(s->loop);
}

static void signals_arrive_in_the_loop(void **state)
{
	static const int rows[] = { SIGINT, SIGTERM, SIGHUP };
	struct nd_err err;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct state s = { .loop = new_loop() };

		assert_int_equal(nd_loop_signals(s.loop, take_signal, &s, &err), 0);
		assert_int_equal(nd_loop_signals(s.loop, take_signal, &s, &err), -EBUSY);
		assert_int_equal(raise(rows[i]), 0);
		kit_run(s.loop);
		assert_int_equal(s.signal, rows[i]);
		nd_loop_free(s.loop);
	}
}

/* What comes between two loops is the second one's. */
static void signals_between_loops_are_the_next_ones(void **state)
{
	struct state first = { .loop = new_loop() }, second = { 0 };
	struct nd_err err;

	(void)state;
	assert_int_equal(nd_loop_signals(first.loop, take_signal, &first, &err), 0);
	nd_loop_free(first.loop);
	assert_int_equal(raise(SIGINT), 0);
	second.loop = new_loop();
	assert_int_equal(nd_loop_signals(second.loop, take_signal, &second, &err), 0);
	kit_run(second.loop);
	assert_int_equal(first.signal, 0);
	assert_int_equal(second.signal, SIGINT);
	nd_loop_free(second.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_order),
		cmocka_unit_test(heap_keeps_order),
		cmocka_unit_test(timer_frees_itself_and_another),
		cmocka_unit_test(busy_timer_does_not_starve),
		cmocka_unit_test(watch_frees_another),
		cmocka_unit_test(unwanted_watch_is_silent),
		cmocka_unit_test(signals_arrive_in_the_loop),
		cmocka_unit_test(signals_between_loops_are_the_next_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
