/* SPDX-License-Identifier: MIT */
/* A server and the clients of a group in one process, each on a thread of its own, over loopback. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/log.h"
#include "base/num.h"
#include "base/time.h"
#include "persona-words.h"
#include "session/session.h"

#define CLIENTS  3
#define SHORT_NS (50 * ND_NS_PER_MS)

static void read_plan(const char *line, struct nd_plan *ret)
{
	words_plan("", line, ret);
	nd_log_set(ND_LOG_ERROR);
}

/* ---- the server ---- */

struct server {
	pthread_t thread;
	struct nd_plan plan;
	_Atomic uint64_t port;
	int result;
	struct nd_err err;
};

static void on_listening(void *user, const struct nd_progress_event *ev)
{
	struct server *s = user;
	const char *colon = ev->text ? strrchr(ev->text, ':') : NULL;
	uint64_t port = 0;

	if (!colon || nd_parse_prefix_u64(colon + 1, &port) == 0)
		port = UINT64_MAX;
	atomic_store_explicit(&s->port, port, memory_order_release);
}

static void on_served(void *user, struct nd_result *r)
{
	(void)user;
	(void)r; /* clients look at theirs */
}

static void *serve(void *user)
{
	struct server *s = user;
	struct nd_sink sink = { on_listening, s };

	s->result = nd_session_run(&s->plan, &sink, on_served, s, &s->err);
	return NULL;
}

static uint64_t port_of(const struct server *s)
{
	return atomic_load_explicit(&s->port, memory_order_acquire);
}

static void start_server(struct server *s)
{
	uint64_t limit = nd_now_ns() + 20 * ND_NS_PER_S;

	*s = (struct server){ 0 };
	read_plan("netdyno serve -p 0", &s->plan);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
	while (port_of(s) == 0) {
		assert_true(nd_now_ns() < limit);
		(void)usleep(1000); /* between two looks at the port */
	}
	assert_true(port_of(s) != UINT64_MAX);
}

static void stop_server(struct server *s)
{
	assert_int_equal(pthread_kill(s->thread, SIGTERM), 0);
	assert_int_equal(pthread_join(s->thread, NULL), 0);
	assert_int_equal(s->result, ND_END_DONE);
	nd_plan_done(&s->plan);
}

/* ---- the clients ---- */

struct client {
	pthread_t thread;
	struct nd_plan plan;
	struct nd_result result;
	struct nd_err err;
	int ending;
};

static void keep_result(void *user, struct nd_result *r)
{
	struct client *c = user;

	nd_result_done(&c->result);
	c->result = *r;
	nd_result_init(r);
}

static void *run_client(void *user)
{
	struct client *c = user;

	c->ending = nd_session_run(&c->plan, NULL, keep_result, c, &c->err);
	return NULL;
}

/* All options are read before the first of them runs: the log is everybody's. */
static void run_clients(struct client *c, size_t n, const char *const *options, uint64_t port)
{
	char line[400];

	for (size_t i = 0; i < n; i++) {
		c[i] = (struct client){ .ending = ND_END_FAILED };
		(void)snprintf(line, sizeof(line), "netdyno stream 127.0.0.1 -t 1s %s", options[i]);
		read_plan(line, &c[i].plan);
		c[i].plan.port = port;
		if (c[i].plan.duration_ns == ND_NS_PER_S) { /* less than a user may ask for */
			c[i].plan.duration_ns = 4 * SHORT_NS;
			c[i].plan.interval_ns = SHORT_NS;
		}
		nd_result_init(&c[i].result);
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pthread_create(&c[i].thread, NULL, run_client, &c[i]), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pthread_join(c[i].thread, NULL), 0);
}

static void done_clients(struct client *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		nd_result_done(&c[i].result);
		nd_plan_done(&c[i].plan);
	}
}

#define GROUP "--warmup 0 --group lab --expect 3 "

/* clang-format off */
static const struct {
	const char *options[CLIENTS];
	uint64_t directions, flows;
} goods[] = {
	{ { GROUP "-b 10M", GROUP "-b 20M -P 2", GROUP "-u -b 10M -l 500" }, 1, 4 },
	{ { GROUP "-R -b 10M", GROUP "-R -b 10M -P 3", GROUP "-R -b 10M" },  1, 5 },
	{ { GROUP "--bidir -b 5M", GROUP "--bidir -b 5M", GROUP "--bidir -b 5M" }, 2, 3 },
};

/* clang-format on */

static void check_sum(const struct client *c, uint64_t directions, uint64_t flows)
{
	const struct nd_group *g = c->result.group;
	const struct nd_group_total *t;
	const struct nd_group_member *m;

	if (c->ending != ND_END_DONE)
		fail_msg("ending %d: %s", c->ending, c->err.text);
	assert_non_null(g);
	assert_string_equal(g->name, "lab");
	assert_int_equal(g->complete, CLIENTS);
	assert_int_equal(g->totals.n, directions);
	assert_int_equal(g->members.n, CLIENTS * directions);
	t = g->totals.v;
	m = g->members.v;
	for (uint64_t i = 0; i < directions; i++) {
		double sum = 0;

		for (uint64_t k = 0; k < CLIENTS; k++)
			sum += m[i * CLIENTS + k].goodput_bps;
		assert_int_equal(t[i].members, CLIENTS);
		assert_int_equal(t[i].flows, flows);
		assert_true(t[i].goodput_bps > 0);
		assert_true(fabs(t[i].goodput_bps - sum) <= 1e-6 * sum);
		assert_true(t[i].start_skew_ms >= 0);
	}
}

static void groups_are_summed(void **state)
{
	struct client c[CLIENTS];
	struct server s;

	(void)state;
	start_server(&s);
	for (size_t row = 0; row < ND_COUNTOF(goods); row++) {
		run_clients(c, CLIENTS, goods[row].options, port_of(&s));
		for (size_t i = 0; i < CLIENTS; i++)
			check_sum(&c[i], goods[row].directions, goods[row].flows);
		done_clients(c, CLIENTS);
	}
	stop_server(&s);
}

static void one_is_missing(void **state)
{
	static const char *const options[] = { GROUP "--group-wait 1s", GROUP "--group-wait 1s" };
	struct client c[2];
	struct server s;

	(void)state;
	start_server(&s);
	run_clients(c, 2, options, port_of(&s));
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(c[i].ending, ND_END_PEER);
		/* the one that waits longer has seen the other, too */
		if (!strstr(c[i].err.text, "2 of 3 clients came within 1s"))
			fail_msg("%s", c[i].err.text);
	}
	done_clients(c, 2);
	stop_server(&s);
}

/* A server that ends while clients wait: nothing of the group is left behind. */
static void server_ends(void **state)
{
	struct client c;
	struct server s;

	(void)state;
	start_server(&s);
	c = (struct client){ .ending = ND_END_DONE };
	read_plan("netdyno stream 127.0.0.1 -t 1s --warmup 0 --group lab --expect 3", &c.plan);
	c.plan.port = port_of(&s);
	nd_result_init(&c.result);
	assert_int_equal(pthread_create(&c.thread, NULL, run_client, &c), 0);
	stop_server(&s);
	assert_int_equal(pthread_join(c.thread, NULL), 0);
	assert_int_equal(c.ending, ND_END_PEER);
	done_clients(&c, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_summed),
		cmocka_unit_test(one_is_missing),
		cmocka_unit_test(server_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
