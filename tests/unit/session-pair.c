/* SPDX-License-Identifier: MIT */
/* Client and server in one process, each on a thread of its own, over loopback. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
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
#include "net/net.h"
#include "persona-words.h"
#include "session/session.h"

#define IDLERS   1000
#define SHORT_NS (50 * ND_NS_PER_MS)

/* ---- command lines to plans ---- */

static void read_plan(const char *line, struct nd_plan *ret)
{
	words_plan("", line, ret);
	if (ret->duration_ns == ND_NS_PER_S) { /* less than a user may ask for */
		ret->duration_ns = 4 * SHORT_NS;
		ret->interval_ns = SHORT_NS;
	}
	nd_log_set(ND_LOG_ERROR);
}

/* ---- the server ---- */

struct server {
	pthread_t thread;
	struct nd_plan plan;
	_Atomic uint64_t port; /* 0: not yet */
	_Atomic unsigned finished;
	int result;
	char partial[256]; /* of the last result */
	struct nd_err err;
};

static void on_listening(void *user, const struct nd_progress_event *ev)
{
	struct server *s = user;
	const char *colon = ev->text ? strrchr(ev->text, ':') : NULL;
	uint64_t port = 0;

	assert_int_equal(ev->what, ND_PROG_LISTENING);
	assert_non_null(colon);
	assert_true(nd_parse_prefix_u64(colon + 1, &port) > 0);
	atomic_store_explicit(&s->port, port, memory_order_release);
}

static void on_finished(void *user, struct nd_result *r)
{
	struct server *s = user;

	(void)snprintf(s->partial, sizeof(s->partial), "%s",
		       r->partial_reason ? r->partial_reason : "");
	assert_true(r->directions.n > 0);
	atomic_fetch_add_explicit(&s->finished, 1, memory_order_release);
}

static void *serve(void *user)
{
	struct server *s = user;
	struct nd_sink sink = { on_listening, s };

	s->result = nd_session_run(&s->plan, &sink, on_finished, s, &s->err);
	if (s->result != ND_END_DONE)
		atomic_store_explicit(&s->port, UINT64_MAX, memory_order_release);
	return NULL;
}

static uint64_t port_of(const struct server *s)
{
	return atomic_load_explicit(&s->port, memory_order_acquire);
}

static unsigned finished_of(const struct server *s)
{
	return atomic_load_explicit(&s->finished, memory_order_acquire);
}

static void start_server(struct server *s, const char *options)
{
	char line[256];
	uint64_t limit = nd_now_ns() + 20 * ND_NS_PER_S;

	*s = (struct server){ 0 };
	(void)snprintf(line, sizeof(line), "netdyno serve%s%s", *options ? " " : "", options);
	read_plan(line, &s->plan);
	s->plan.port = 0;
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
	while (port_of(s) == 0) {
		assert_true(nd_now_ns() < limit);
		(void)usleep(1000); /* between two looks at the port */
	}
	if (port_of(s) == UINT64_MAX)
		fail_msg("%s", s->err.text);
}

static void join_server(struct server *s)
{
	assert_int_equal(pthread_join(s->thread, NULL), 0);
	if (s->result != ND_END_DONE)
		fail_msg("%s", s->err.text);
	nd_plan_done(&s->plan);
}

static void stop_server(struct server *s)
{
	assert_int_equal(pthread_kill(s->thread, SIGTERM), 0);
	join_server(s);
}

/* ---- the client ---- */

struct client {
	struct nd_plan plan;
	struct nd_result result;
	struct nd_err err;
	int ending;
	unsigned intervals, connected;
	pthread_t victim; /* gets .signal at the first interval */
	int signal;
};

static void on_progress(void *user, const struct nd_progress_event *ev)
{
	struct client *c = user;

	if (ev->what == ND_PROG_CONNECTED)
		c->connected++;
	if (ev->what != ND_PROG_INTERVAL)
		return;
	assert_true(ev->interval->end_s > ev->interval->start_s);
	c->intervals++;
	if (c->signal && c->intervals == 1)
		assert_int_equal(pthread_kill(c->victim, c->signal), 0);
}

/* The result outlives its session. */
static void keep_result(void *user, struct nd_result *r)
{
	struct client *c = user;

	nd_result_done(&c->result);
	c->result = *r;
	nd_result_init(r);
}

static void run_client(struct client *c, const char *options, uint64_t port)
{
	struct nd_sink sink = { on_progress, c };
	char line[400];

	(void)snprintf(line, sizeof(line), "netdyno stream %s", options);
	read_plan(line, &c->plan);
	c->plan.port = port;
	nd_result_init(&c->result);
	c->ending = nd_session_run(&c->plan, &sink, keep_result, c, &c->err);
}

static void done_client(struct client *c)
{
	nd_result_done(&c->result);
	nd_plan_done(&c->plan);
}

/* ---- tests that succeed ---- */

/* clang-format off */
static const struct {
	const char *options;
	uint64_t directions, flows;
	bool counts_agree; /* nothing may be lost */
} goods[] = {
	{ "127.0.0.1 -t 1s -i 50ms --warmup 0",             1,   1, true },
	{ "::1 -t 1s -i 50ms --warmup 50ms -P 4",           1,   4, true },
	{ "127.0.0.1 -t 1s -i 50ms --warmup 0 -R -P 16",    1,  16, true },
	{ "127.0.0.1 -t 1s -i 50ms --warmup 0 --bidir",     2,   1, true },
	{ "127.0.0.1 -n 3M --warmup 0 -P 3",                   1,   3, true },
	{ "127.0.0.1 -t 1s -i 50ms --warmup 0 -u -b 5M",    1,   1, false },
	{ "127.0.0.1 -t 1s -i 50ms --warmup 0 -u -b 5M -l 200 -P 64",     1, 64, false },
	{ "127.0.0.1 -t 1s -i 50ms --warmup 0 -u -b 5M -l 200 -P 64 -R",  1, 64, false },
	{ "::1 -t 1s -i 50ms --warmup 0 -u -b 5M --bidir -P 2",           2,  2, false },
	{ "127.0.0.1 -t 1s -i 50ms --warmup 0 --shape rr -P 2",           1,  2, false },
};

/* clang-format on */

static bool has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool r = fd >= 0 && bind(fd, (const void *)&a, sizeof(a)) == 0;

	if (fd >= 0)
		(void)close(fd);
	return r;
}

static void check_good(size_t row, const struct client *c)
{
	const char *options = goods[row].options;
	const struct nd_direction *d = c->result.directions.v;

	if (c->ending != ND_END_DONE)
		fail_msg("'%s': ending %d: %s", options, c->ending,
			 c->err.text[0] ? c->err.text : c->result.partial_reason);
	assert_int_equal(c->result.directions.n, goods[row].directions);
	assert_non_null(c->result.client);
	assert_non_null(c->result.server);
	assert_string_equal(c->result.client->name, "client");
	assert_string_equal(c->result.server->name, "server");
	assert_true(c->result.same_host);
	assert_int_equal(c->connected, 1);
	for (uint64_t i = 0; i < c->result.directions.n; i++) {
		assert_int_equal(d[i].flows, goods[row].flows);
		if (d[i].total_received_bytes == 0 ||
		    d[i].total_received_bytes > d[i].total_sent_bytes)
			fail_msg("'%s': direction %llu: sent %llu, received %llu", options,
				 (unsigned long long)i, (unsigned long long)d[i].total_sent_bytes,
				 (unsigned long long)d[i].total_received_bytes);
		if (goods[row].counts_agree && !d[i].agreed)
			fail_msg("'%s': sent %llu, received %llu", options,
				 (unsigned long long)d[i].total_sent_bytes,
				 (unsigned long long)d[i].total_received_bytes);
	}
	if (strstr(options, "-i 50ms") && c->intervals == 0)
		fail_msg("'%s': no interval was shown", options);
}

static void tests_give_results(void **state)
{
	struct server s;

	(void)state;
	start_server(&s, "");
	for (size_t row = 0; row < ND_COUNTOF(goods); row++) {
		struct client c = { 0 };

		if (goods[row].options[0] == ':' && !has_ipv6())
			continue;
		run_client(&c, goods[row].options, port_of(&s));
		check_good(row, &c);
		done_client(&c);
	}
	stop_server(&s);
	assert_true(finished_of(&s) > 0);
}

/* ---- tests that do not ---- */

/* clang-format off */
static const struct {
	const char *serve, *options;
	enum nd_ending ending;
	const char *says;
} bads[] = {
	{ "--max-flows 4", "127.0.0.1 -t 1s -P 5",     ND_END_PEER, "5 flows are over the 4" },
	{ "--max-time 2s", "127.0.0.1 -t 3s",          ND_END_PEER, "over the 2s" },
	{ "--allow 192.0.2.0/24", "127.0.0.1 -t 1s",   ND_END_PEER, "closed" },
	{ "-4",            "127.0.0.1 --bind ::1",     ND_END_FAILED, "" },
};

/* clang-format on */

static void refusals_are_told(void **state)
{
	(void)state;
	for (size_t row = 0; row < ND_COUNTOF(bads); row++) {
		struct server s;
		struct client c = { 0 };

		start_server(&s, bads[row].serve);
		run_client(&c, bads[row].options, port_of(&s));
		if ((c.ending != ND_END_PEER && c.ending != ND_END_FAILED) ||
		    (*bads[row].says && c.ending != (int)bads[row].ending) ||
		    !strstr(c.err.text, bads[row].says))
			fail_msg("'%s': ending %d: '%s'", bads[row].options, c.ending, c.err.text);
		done_client(&c);
		stop_server(&s);
		assert_int_equal(finished_of(&s), 0);
	}
}

static void refused_port_ends_at_once(void **state)
{
	struct client c = { 0 };
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint64_t began = nd_now_ns();

	(void)state;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (const void *)&a, sizeof(a)), 0); /* taken, but nobody listens */
	assert_int_equal(getsockname(fd, (void *)&a, &n), 0);
	run_client(&c, "127.0.0.1 -t 1s", ntohs(a.sin_port));
	assert_int_equal(c.ending, ND_END_PEER);
	assert_non_null(strstr(c.err.text, "connection refused: is `netdyno serve` running on"));
	assert_true(nd_now_ns() - began < 10 * ND_NS_PER_S); /* a second, on an idle machine */
	done_client(&c);
	(void)close(fd);
}

static void unknown_host_is_told(void **state)
{
	struct client c = { 0 };

	(void)state;
	run_client(&c, "no.such.host.invalid -t 1s", 1);
	assert_int_equal(c.ending, ND_END_PEER);
	assert_non_null(strstr(c.err.text, "no.such.host.invalid"));
	done_client(&c);
}

/* ---- interruptions ---- */

static void interrupted_client_keeps_what_was_measured(void **state)
{
	struct server s;
	struct client c = { .victim = pthread_self(), .signal = SIGINT };

	(void)state;
	start_server(&s, "");
	run_client(&c, "127.0.0.1 -t 60s -i 50ms --warmup 0", port_of(&s));
	if (c.ending != ND_END_PARTIAL)
		fail_msg("ending %d: %s", c.ending, c.err.text);
	assert_non_null(strstr(c.result.partial_reason, "SIGINT"));
	assert_non_null(c.result.server);
	done_client(&c);
	stop_server(&s);
	assert_int_equal(finished_of(&s), 1);
	assert_non_null(strstr(s.partial, "SIGINT"));
}

static void stopped_server_tells_its_client(void **state)
{
	struct server s;
	struct client c = { .signal = SIGTERM };

	(void)state;
	start_server(&s, "");
	c.victim = s.thread;
	run_client(&c, "127.0.0.1 -t 60s -i 50ms --warmup 0 -P 2", port_of(&s));
	if (c.ending != ND_END_PARTIAL)
		fail_msg("ending %d: %s", c.ending, c.err.text);
	assert_non_null(strstr(c.result.partial_reason, "server"));
	done_client(&c);
	join_server(&s);
	assert_int_equal(finished_of(&s), 1);
}

/* ---- several at a time ---- */

struct other {
	struct client c;
	uint64_t port;
	const char *options;
};

static void *run_other(void *user)
{
	struct other *o = user;

	run_client(&o->c, o->options, o->port);
	return NULL;
}

static void tests_are_apart(void **state)
{
	static const char *const lines[] = {
		"127.0.0.1 -t 1s -i 50ms --warmup 0 -P 3",
		"127.0.0.1 -t 1s -i 50ms --warmup 0 -u -b 2M -P 5",
		"127.0.0.1 -t 1s -i 50ms --warmup 0 --shape rr",
	};
	struct other o[ND_COUNTOF(lines)] = { 0 };
	pthread_t thread[ND_COUNTOF(lines)];
	struct server s;

	(void)state;
	start_server(&s, "--max-tests 3");
	for (size_t i = 0; i < ND_COUNTOF(lines); i++) {
		o[i].port = port_of(&s);
		o[i].options = lines[i];
		assert_int_equal(pthread_create(&thread[i], NULL, run_other, &o[i]), 0);
	}
	for (size_t i = 0; i < ND_COUNTOF(lines); i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		if (o[i].c.ending != ND_END_DONE)
			fail_msg("'%s': ending %d: %s", lines[i], o[i].c.ending, o[i].c.err.text);
		done_client(&o[i].c);
	}
	stop_server(&s);
	assert_int_equal(finished_of(&s), ND_COUNTOF(lines));
}

/* A second client asks while the first one's test runs. */
struct intruder {
	struct client first;
	uint64_t port;
	struct client second;
};

static void ask_too(void *user, const struct nd_progress_event *ev)
{
	struct intruder *t = user;

	if (ev->what == ND_PROG_INTERVAL && t->first.intervals++ == 0)
		run_client(&t->second, "127.0.0.1 -t 1s", t->port);
}

static void full_server_refuses(void **state)
{
	struct intruder t = { 0 };
	struct nd_sink sink = { ask_too, &t };
	struct server s;

	(void)state;
	start_server(&s, "--max-tests 1");
	t.port = port_of(&s);
	read_plan("netdyno stream 127.0.0.1 -t 1s -i 50ms --warmup 0", &t.first.plan);
	t.first.plan.port = port_of(&s);
	nd_result_init(&t.first.result);
	t.first.ending = nd_session_run(&t.first.plan, &sink, keep_result, &t.first, &t.first.err);
	if (t.first.ending != ND_END_DONE)
		fail_msg("the first: %s", t.first.err.text);
	assert_int_equal(t.second.ending, ND_END_PEER);
	assert_non_null(strstr(t.second.err.text, "server is full: 1 of 1 tests are running"));
	done_client(&t.first);
	done_client(&t.second);
	stop_server(&s);
	assert_int_equal(finished_of(&s), 1);
}

static void once_means_once(void **state)
{
	struct server s;
	struct client c = { 0 };
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	start_server(&s, "--once");
	a.sin_port = htons((uint16_t)port_of(&s));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (const void *)&a, sizeof(a)), 0);
	assert_int_equal(send(fd, "GET /\r\n", 7, MSG_NOSIGNAL), 7); /* does not count */
	run_client(&c, "127.0.0.1 -t 1s --warmup 0", port_of(&s));
	assert_int_equal(c.ending, ND_END_DONE);
	done_client(&c);
	join_server(&s);
	assert_int_equal(finished_of(&s), 1);
	(void)close(fd);
}

/* ---- rude peers ---- */

static void idlers_do_not_hurt(void **state)
{
	struct server s;
	struct client c = { 0 };
	struct rlimit limit;
	struct sockaddr_in a = { .sin_family = AF_INET };
	int *idle = calloc(IDLERS, sizeof(*idle));
	int n = 0;

	(void)state;
	assert_non_null(idle);
	start_server(&s, ""); /* raises the limit to what is allowed */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	a.sin_port = htons((uint16_t)port_of(&s));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (; n < IDLERS && 2 * (rlim_t)n + 200 < limit.rlim_cur; n++) {
		idle[n] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(idle[n], (const void *)&a, sizeof(a)), 0);
		if (n % 3 == 0)
			assert_int_equal(send(idle[n], "\0\0\0\x30{\"hel", 9, MSG_NOSIGNAL), 9);
	}
	run_client(&c, "127.0.0.1 -t 1s --warmup 0", port_of(&s));
	if (c.ending != ND_END_DONE)
		fail_msg("ending %d: %s", c.ending, c.err.text);
	done_client(&c);
	while (n > 0)
		(void)close(idle[--n]);
	free(idle);
	stop_server(&s);
}

/* Bytes at random, and beginnings that look right: the server answers none of it with a crash. */
static void garbage_does_not_hurt(void **state)
{
	struct server s;
	struct client c = { 0 };
	unsigned seed = (unsigned)nd_now_ns();
	struct sockaddr_in a = { .sin_family = AF_INET };

	(void)state;
	print_message("seed %u\n", seed);
	start_server(&s, "");
	a.sin_port = htons((uint16_t)port_of(&s));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 200; i++) {
		int type = i % 2 ? SOCK_STREAM : SOCK_DGRAM;
		uint8_t data[600];
		size_t n = (size_t)rand_r(&seed) % sizeof(data);
		int fd = socket(AF_INET, type, 0);

		for (size_t k = 0; k < n; k++)
			data[k] = (uint8_t)rand_r(&seed);
		if (i % 4 == 1 && n > 5)
			memcpy(data, "\0\0\1\0{", 5);
		assert_int_equal(connect(fd, (const void *)&a, sizeof(a)), 0);
		(void)send(fd, data, n, MSG_NOSIGNAL); /* the server may have hung up */
		(void)close(fd);
	}
	run_client(&c, "127.0.0.1 -t 1s --warmup 0", port_of(&s));
	if (c.ending != ND_END_DONE)
		fail_msg("ending %d: %s", c.ending, c.err.text);
	done_client(&c);
	stop_server(&s);
	assert_int_equal(finished_of(&s), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tests_give_results),
		cmocka_unit_test(refusals_are_told),
		cmocka_unit_test(refused_port_ends_at_once),
		cmocka_unit_test(unknown_host_is_told),
		cmocka_unit_test(interrupted_client_keeps_what_was_measured),
		cmocka_unit_test(stopped_server_tells_its_client),
		cmocka_unit_test(tests_are_apart),
		cmocka_unit_test(full_server_refuses),
		cmocka_unit_test(once_means_once),
		cmocka_unit_test(idlers_do_not_hurt),
		cmocka_unit_test(garbage_does_not_hurt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
