/* SPDX-License-Identifier: MIT */
/* Set-up of a run: what a late worker leaves alone, and how long a client waits for its flows. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
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

#include "base/fd.h"
#include "base/time.h"
#include "persona-words.h"
#include "run/run.h"

#define PATIENCE_MS 20000 /* for a machine that is busy with other things */

static void read_plan(struct nd_plan *plan, const char *options)
{
	words_plan("netdyno stream 127.0.0.1", options, plan);
}

static enum nd_run_state await(struct nd_run *r, enum nd_run_state wanted)
{
	uint64_t until_ns = nd_now_ns() + PATIENCE_MS * ND_NS_PER_MS;
	struct pollfd p = { .fd = nd_run_fd(r), .events = POLLIN };
	enum nd_run_state state = nd_run_poll(r);

	while (state != wanted && state != ND_RUN_FAILED && nd_now_ns() < until_ns) {
		(void)poll(&p, 1, 100); /* the state tells */
		state = nd_run_poll(r);
	}
	return state;
}

/* A loopback socket at a port of its own. */
static int bound(int kind, struct sockaddr_in *ret)
{
	socklen_t n = sizeof(*ret);
	int fd = socket(AF_INET, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET };
	ret->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const void *)ret, sizeof(*ret)), 0);
	assert_int_equal(getsockname(fd, (void *)ret, &n), 0);
	return fd;
}

/*
 * The client has not heard the answer and asks again; only then does the worker get to its flow. The repeat
 * is the session's to answer: it must still be there.
 */
static void late_worker_leaves_repeats(void **state)
{
	struct nd_plan plan;
	struct nd_run_cfg cfg = { .plan = &plan, .end = ND_SERVER, .threads = 1 };
	struct sockaddr_in client_at, server_at;
	int client = bound(SOCK_DGRAM, &client_at), server = bound(SOCK_DGRAM, &server_at);
	struct nd_run *run = NULL;
	struct nd_err err = { 0 };
	char byte[4] = { 0 };

	(void)state;
	read_plan(&plan, "-u -l 100 -n 1k -P 2");
	assert_int_equal(connect(server, (const void *)&client_at, sizeof(client_at)), 0);
	assert_int_equal(sendto(client, "ask", 3, 0, (const void *)&server_at, sizeof(server_at)),
			 3);
	assert_int_equal(nd_run_new(&cfg, &run, &err), 0);
	for (uint64_t flow = 0; flow < 2; flow++)
		assert_int_equal(nd_run_give(run, flow, fcntl(server, F_DUPFD_CLOEXEC, 0), &err),
				 0);
	assert_int_equal(await(run, ND_RUN_READY), ND_RUN_READY);
	assert_int_equal(recv(server, byte, sizeof(byte), 0), 3);
	assert_string_equal(byte, "ask");
	nd_run_free(run);
	nd_plan_done(&plan);
	nd_close_p(&client);
	nd_close_p(&server);
}

/* clang-format off */
static const struct { const char *options; int kind; const char *says; } mute[] = {
	{ "-u -l 100 -t 1s --connect-timeout 100ms", SOCK_DGRAM,  "no answer to datagrams sent to UDP port" },
	{ "-t 1s -P 3 -T 1 --connect-timeout 100ms", SOCK_STREAM, "only 0 of 3 flows to" },
};

/* clang-format on */

/* Connections are taken, datagrams too, and nobody says a word. */
static void waits_as_long_as_asked(void **state)
{
	static const struct nd_greeting greeting[] = {
		{ .hello_bytes = 8, .answer_bytes = 8, .resend_ms = 20 },
		{ .hello_bytes = 8, .answer_bytes = 8, .resend_ms = 20 },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(mute); i++) {
		struct nd_plan plan;
		struct nd_addr peer = { .len = sizeof(peer.u.in) };
		struct nd_run_cfg cfg = { .plan = &plan,
					  .end = ND_CLIENT,
					  .threads = 1,
					  .peer = &peer,
					  .greeting = greeting };
		int fd = bound(mute[i].kind, &peer.u.in);
		uint64_t began_ns = nd_now_ns();
		struct nd_run *run = NULL;
		struct nd_err err = { 0 };

		if (mute[i].kind == SOCK_STREAM)
			assert_int_equal(listen(fd, 16), 0);
		read_plan(&plan, mute[i].options);
		assert_int_equal(nd_run_new(&cfg, &run, &err), 0);
		assert_int_equal(await(run, ND_RUN_FAILED), ND_RUN_FAILED);
		assert_int_equal(nd_run_error(run)->code, -ETIMEDOUT);
		if (!strstr(nd_run_error(run)->text, mute[i].says))
			fail_msg("%s: %s", mute[i].options, nd_run_error(run)->text);
		assert_true(nd_now_ns() - began_ns >= 100 * ND_NS_PER_MS);
		nd_run_free(run);
		nd_plan_done(&plan);
		nd_close_p(&fd);
	}
}

/* A flow whose port refuses it tries again; another, taken meanwhile, is left as it is. */
static void tries_refused_ports_again(void **state)
{
	static const bool opens_late[] = { true, false };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(opens_late); i++) {
		struct nd_plan plan;
		struct nd_addr to[2] = { { .len = sizeof(to[0].u.in) },
					 { .len = sizeof(to[1].u.in) } };
		struct nd_run_cfg cfg = { .plan = &plan, .end = ND_CLIENT, .threads = 1 };
		int open = bound(SOCK_STREAM, &to[0].u.in), shut = bound(SOCK_STREAM, &to[1].u.in);
		struct nd_route routes[2] = { { .to = to[0], .flows = 1, .cpu = -1 },
					      { .to = to[1], .flows = 1, .cpu = -1 } };
		nd_auto_fd int taken = -1;
		struct pollfd p = { .fd = open, .events = POLLIN };
		struct nd_run *run = NULL;
		struct nd_err err = { 0 };
		char port[48];

		read_plan(&plan, "-t 1s -P 2 -T 1");
		plan.refused_ns = (opens_late[i] ? PATIENCE_MS : 300) * ND_NS_PER_MS;
		cfg.peer = &to[0];
		cfg.routes = routes;
		cfg.route_n = 2;
		assert_int_equal(listen(open, 16), 0);
		assert_int_equal(nd_run_new(&cfg, &run, &err), 0);
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		taken = accept4(open, NULL, NULL, SOCK_CLOEXEC);
		assert_true(taken >= 0);
		if (opens_late[i])
			assert_int_equal(listen(shut, 16), 0);
		await(run, ND_RUN_READY);
		assert_int_equal(poll(&p, 1, 0), 0); /* nobody came again */
		(void)snprintf(port, sizeof(port), "127.0.0.1:%u: Connection refused",
			       ntohs(to[1].u.in.sin_port));
		if (opens_late[i])
			assert_int_equal(nd_run_poll(run), ND_RUN_READY);
		else if (!strstr(nd_run_error(run)->text, port))
			fail_msg("%s, not %s", nd_run_error(run)->text, port);
		nd_run_free(run);
		nd_plan_done(&plan);
		nd_close_p(&open);
		nd_close_p(&shut);
	}
}

enum {
	FLOWS = 40,
	WORD = 8,
	AT = 4
}; /* flows, bytes of hello and answer, where the flow's number is */

/* Take all connections with what they say first. */
static void take_flows(int listener, int fd[FLOWS], uint8_t hello[FLOWS][WORD])
{
	for (int i = 0; i < FLOWS; i++) {
		struct pollfd p = { .fd = listener, .events = POLLIN };

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		fd[i] = accept(listener, NULL, NULL);
		assert_true(fd[i] >= 0);
		assert_int_equal(recv(fd[i], hello[i], WORD, MSG_WAITALL), WORD);
	}
}

/* Answers are awaited in the order of the greetings: any other, and answers in pieces, do as well. */
static void answers_come_out_of_turn(void **state)
{
	static const struct nd_greeting greeting[2] = { { .hello = "hell",
							  .hello_bytes = WORD,
							  .flow_at = AT,
							  .answer = "answ",
							  .answer_bytes = WORD,
							  .answer_flow_at = AT } };
	static const unsigned steps[] = { 1, FLOWS - 1, 7 }; /* in turn, backwards, mixed */

	(void)state;
	for (size_t row = 0; row < ND_COUNTOF(steps); row++) {
		struct nd_plan plan;
		struct nd_addr peer = { .len = sizeof(peer.u.in) };
		struct nd_run_cfg cfg = { .plan = &plan,
					  .end = ND_CLIENT,
					  .threads = 2,
					  .peer = &peer,
					  .greeting = greeting };
		int listener = bound(SOCK_STREAM, &peer.u.in), fd[FLOWS];
		uint8_t hello[FLOWS][WORD];
		struct nd_run *run = NULL;
		struct nd_err err = { 0 };

		assert_int_equal(listen(listener, FLOWS), 0);
		read_plan(&plan, "-t 1s -P 40 -T 2 --connect-timeout 20s");
		assert_int_equal(nd_run_new(&cfg, &run, &err), 0);
		take_flows(listener, fd, hello);
		for (unsigned n = 0, i = 0; n < FLOWS; n++, i = (i + steps[row]) % FLOWS) {
			uint8_t answer[WORD] = "answ";

			assert_memory_equal(hello[i], "hell", AT);
			memcpy(answer + AT, hello[i] + AT, WORD - AT);
			assert_int_equal(send(fd[i], answer, AT, 0), AT);
			assert_int_equal(send(fd[i], answer + AT, WORD - AT, 0), WORD - AT);
		}
		if (await(run, ND_RUN_READY) != ND_RUN_READY)
			fail_msg("row %zu: %llu of %d flows", row,
				 (unsigned long long)nd_run_flows_ready(run), FLOWS);
		nd_run_free(run);
		nd_plan_done(&plan);
		for (int i = 0; i < FLOWS; i++)
			nd_close_p(&fd[i]);
		nd_close_p(&listener);
	}
}

static uint32_t number_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* clang-format off */
enum { QUIET_AT = 8, QUIET_WORD = 12, CROWD = 1500 };
static const struct { const char *options; uint32_t flows, quiet_at, queue, least, most; /* answered */ } crowds[] = {
	{ "-t 1s -P 40 -T 1",   40,    QUIET_AT, 0,    40,    40 },    /* too few */
	{ "-t 1s -P 1500 -T 1", CROWD, 0,        0,    CROWD, CROWD }, /* the peer cannot */
	{ "-t 1s -P 1500 -T 1", CROWD, QUIET_AT, 0,    7,     7 },     /* each 256th */
	{ "-t 1s -P 1500 -T 1", CROWD, QUIET_AT, 4096, 4,     4 },     /* each 512th */
	{ "-t 1s -P 1500 -T 1", CROWD, QUIET_AT, 128,  95,    95 },    /* each 16th */
	{ "-t 1s -P 300 -T 2",  300,   QUIET_AT, 0,    2,     20 },
	{ "-t 1s -P 200 -T 2 -R", 200, QUIET_AT, 0,    2,     20 },
};

/* clang-format on */

/* Of many flows the first and the last are answered and some in between, by the length of the peer's
 * queue; that is enough for all to stand. The peer answers late, so that no more connections come than it has room for. */
static void few_of_many_are_answered(void **state)
{
	(void)state;
	for (size_t row = 0; row < ND_COUNTOF(crowds); row++) {
		struct nd_greeting greeting[2] = { { .hello = "hell",
						     .hello_bytes = QUIET_WORD,
						     .flow_at = AT,
						     .quiet_at = crowds[row].quiet_at,
						     .queue = crowds[row].queue,
						     .answer = "answ",
						     .answer_bytes = WORD,
						     .answer_flow_at = AT } };
		struct nd_plan plan;
		struct nd_addr peer = { .len = sizeof(peer.u.in) };
		struct nd_run_cfg cfg = { .plan = &plan,
					  .end = ND_CLIENT,
					  .threads = 2,
					  .peer = &peer,
					  .greeting = greeting };
		int listener = bound(SOCK_STREAM, &peer.u.in), fd[CROWD];
		uint8_t hello[QUIET_WORD], answer[WORD] = "answ";
		uint32_t quiet = 0, value = 0, seen[CROWD / 32 + 1] = { 0 };
		struct nd_run *run = NULL;
		struct nd_err err = { 0 };

		assert_int_equal(listen(listener, CROWD), 0);
		read_plan(&plan, crowds[row].options);
		cfg.threads = (uint32_t)plan.threads;
		assert_int_equal(nd_run_new(&cfg, &run, &err), 0);
		for (uint32_t i = 0; i < crowds[row].flows; i++) {
			struct pollfd p = { .fd = listener, .events = POLLIN };

			assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
			fd[i] = accept(listener, NULL, NULL);
			assert_true(fd[i] >= 0);
			assert_int_equal(recv(fd[i], hello, QUIET_WORD, MSG_WAITALL), QUIET_WORD);
			value = number_at(hello + AT);
			assert_true(value < crowds[row].flows);
			assert_false(seen[value / 32] & (1u << value % 32));
			seen[value / 32] |= 1u << value % 32;
			value = number_at(hello + QUIET_AT);
			assert_true(value == 0 || (value == 1 && i > 0));
			quiet += value;
			memcpy(answer + AT, hello + AT, WORD - AT);
			if (value == 0)
				assert_int_equal(send(fd[i], answer, WORD, 0), WORD);
		}
		assert_int_equal(value, 0); /* the last one */
		assert_in_range(crowds[row].flows - quiet, crowds[row].least, crowds[row].most);
		assert_int_equal(await(run, ND_RUN_READY), ND_RUN_READY);
		nd_run_free(run);
		nd_plan_done(&plan);
		for (uint32_t i = 0; i < crowds[row].flows; i++)
			nd_close_p(&fd[i]);
		nd_close_p(&listener);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(tries_refused_ports_again),
		cmocka_unit_test(late_worker_leaves_repeats),
		cmocka_unit_test(waits_as_long_as_asked),
		cmocka_unit_test(answers_come_out_of_turn),
		cmocka_unit_test(few_of_many_are_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
