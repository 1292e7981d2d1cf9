/* SPDX-License-Identifier: MIT */
/* Flows that join a test by its key: who gets an answer, how often, and who gets none. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "ctl-kit.h"
#include "persona/persona.h"
#include "session/int.h"

#define FLOWS         3
#define STREAM_ANSWER 6 /* bytes */

/* "FLOW" and a digit, as in the kit; the key follows, the answer is "OK" and the digit. */
static void key_claim(const uint8_t *data, size_t n, bool datagram, struct nd_claim *ret)
{
	toy_claim(data, n, datagram, ret);
	if (ret->kind != ND_CLAIM_FLOW)
		return;
	if (n < 6) {
		ret->kind = ND_CLAIM_MORE;
		return;
	}
	ret->key[0] = data[5];
	ret->used = 6;
	memcpy(ret->answer, (const uint8_t[]){ 'O', 'K', data[4] }, 3);
	ret->answer_bytes = 3;
}

static const struct nd_dialect keyed = {
	.name = "keyed",
	.claim = key_claim,
};

struct rig {
	struct nd_server s;
	struct nd_served c;
	struct nd_addr at;
	int door; /* the lobby's */
};

static void on_datagram(void *user, int listen_fd, const struct nd_addr *peer,
			const struct nd_addr *local, const struct nd_claim *claim)
{
	(void)listen_fd;
	nd_flows_datagram(user, peer, local, claim);
}

static void on_claimed(void *user, int fd, const struct nd_addr *peer, const struct nd_claim *claim,
		       const uint8_t *rest, size_t rest_n)
{
	(void)peer;
	(void)rest;
	assert_int_equal(rest_n, 0);
	nd_flows_stream(user, fd, claim);
}

static bool on_welcome(void *user, const struct nd_addr *peer)
{
	(void)user;
	(void)peer;
	return true;
}

/* A test with a run of FLOWS flows, whose key is 'k', behind a lobby. */
static void begin(struct rig *r, bool datagram)
{
	static const struct nd_lobby_ops ops = { on_welcome, on_claimed, on_datagram };
	static const struct nd_test_ops none = { 0 };
	/* a worker's answer: two letters and the number of the flow in 4 bytes */
	static const struct nd_greeting answer = { .answer = "OK",
						   .answer_bytes = STREAM_ANSWER,
						   .answer_flow_at = 2 };
	const struct nd_transport *t = nd_transport_find(datagram ? "udp" : "tcp");
	char line[] = "netdyno stream 127.0.0.1 -P 3 --bidir", *words[6], *rest = line;
	struct nd_run_cfg run = {
		.plan = &r->c.plan, .end = ND_SERVER, .threads = 1, .greeting = &answer
	};
	nd_auto_str out = { 0 };
	struct nd_err err = { 0 };

	*r = (struct rig){ .s.dialect = &keyed };
	assert_int_equal(nd_loop_new(&r->s.loop, &err), 0);
	r->c.server = &r->s;
	for (size_t i = 0; i < ND_COUNTOF(words); i++)
		words[i] = strsep(&rest, " ");
	if (datagram)
		memcpy(words[5], "-u", 3); /* in place of the longer word */
	else
		memcpy(words[5], "-R", 3);
	assert_int_equal(nd_persona_read(6, words, &r->c.plan, &out, &err), ND_NEXT_RUN);
	nd_plan_set_datagram(&r->c.plan, 100);
	r->c.key[0] = 'k';
	r->c.test.loop = r->s.loop;
	r->c.test.dialect = &keyed;
	r->c.test.ops = &none;
	r->s.tests = &r->c;
	if (nd_run_new(&run, &r->c.test.run, &err) < 0)
		fail_msg("%s", err.text);
	r->at = (struct nd_addr){ .len = sizeof(r->at.u.in) };
	r->at.u.in.sin_family = AF_INET;
	r->at.u.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (nd_listen(t, &r->at, false, &r->door, &err) < 0 ||
	    getsockname(r->door, &r->at.u.sa, &r->at.len) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(
		nd_lobby_new(r->s.loop,
			     &(struct nd_lobby_cfg){ &keyed, &ops, &r->s, 60 * ND_NS_PER_S, 10 },
			     &r->s.lobby, &err),
		0);
	assert_int_equal(nd_lobby_listen(r->s.lobby, r->door, t, &err), 0);
}

static void end(struct rig *r)
{
	nd_flows_release(&r->c);
	nd_run_free(r->c.test.run);
	nd_lobby_free(r->s.lobby);
	nd_loop_free(r->s.loop);
	nd_plan_done(&r->c.plan);
	free(r->c.given);
}

/* The loop turns until @fd has something to read, or a marker that was sent behind it has come through. */
struct turn {
	struct nd_loop *loop;
	struct nd_timer *timer;
	int fd;
	unsigned left;
	bool readable;
};

static void look(void *user)
{
	struct turn *t = user;
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	t->readable = poll(&p, 1, 0) > 0;
	if (t->readable || t->left-- == 0)
		nd_loop_quit(t->loop);
	else
		nd_timer_set(t->timer, nd_now_ns() + ND_NS_PER_MS);
}

/* Does an answer come? @patience: looks, a millisecond apart. */
static bool is_answered(struct rig *r, int fd, unsigned patience, char *ret_digit)
{
	struct turn t = { .loop = r->s.loop, .fd = fd, .left = patience };
	char answer[8];
	ssize_t n;

	assert_int_equal(nd_timer_new(r->s.loop, look, &t, &t.timer), 0);
	nd_timer_set(t.timer, 0);
	kit_run(r->s.loop);
	nd_timer_free(t.timer);
	if (!t.readable)
		return false;
	n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	if ((n != 3 && n != STREAM_ANSWER) || answer[0] != 'O')
		return false; /* closed */
	*ret_digit = n == 3 ? answer[2] : (char)('0' + answer[STREAM_ANSWER - 1]);
	return true;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* clang-format off */
static const struct {
	const char *what, *says;
	bool answered;
} rows[] = {
	{ "a flow",         "FLOW0k", true },
	{ "another flow",   "FLOW2k", true },
	{ "foreign key",    "FLOW1x", false },
	{ "no such flow",   "FLOW7k", false },
	{ "taken already",  "FLOW0k", false }, /* by another peer */
};

/* clang-format on */

static void claims_are_answered(void **state)
{
	for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
		struct rig r;
		int fd[ND_COUNTOF(rows)];

		(void)state;
		begin(&r, type == SOCK_DGRAM);
		for (size_t row = 0; row < ND_COUNTOF(rows); row++) {
			char digit = 0;

			fd[row] = kit_connect(type, &r.at);
			say(fd[row], rows[row].says);
			if (is_answered(&r, fd[row], rows[row].answered ? 10000 : 20, &digit) !=
			    rows[row].answered)
				fail_msg("row '%s', type %d", rows[row].what, type);
			if (rows[row].answered)
				assert_int_equal(digit, rows[row].says[4]);
		}
		for (size_t row = 0; row < ND_COUNTOF(rows); row++)
			(void)close(fd[row]);
		end(&r);
	}
}

/* The first answer may be lost: the client asks again, on what is a connected socket by now. */
static void repeats_are_answered(void **state)
{
	struct rig r;
	int fd, other;
	char digit = 0;

	(void)state;
	begin(&r, true);
	fd = kit_connect(SOCK_DGRAM, &r.at);
	for (int i = 0; i < 4; i++) {
		say(fd, "FLOW1k");
		assert_true(is_answered(&r, fd, 10000, &digit));
		assert_int_equal(digit, '1');
	}
	say(fd, "FLOW2k"); /* one socket, one flow */
	assert_false(is_answered(&r, fd, 20, &digit));
	/* Two at once reach the shared socket before the flow has its own. */
	other = kit_connect(SOCK_DGRAM, &r.at);
	say(other, "FLOW2k");
	say(other, "FLOW2k");
	assert_true(is_answered(&r, other, 10000, &digit));
	assert_true(is_answered(&r, other, 10000, &digit));
	/* What is queued at the start is answered still; afterwards the socket is the run's alone. */
	say(fd, "FLOW1k");
	nd_flows_release(&r.c);
	assert_true(is_answered(&r, fd, 10000, &digit));
	(void)close(fd);
	(void)close(other);
	end(&r);
}

/* Bytes of the next datagram that this process has not read from the peer at the other end of @fd. */
static int waiting_from(int fd)
{
	struct nd_addr own = { .len = sizeof(own.u) };

	assert_int_equal(getsockname(fd, &own.u.sa, &own.len), 0);
	for (int other = 0; other < 256; other++) {
		struct nd_addr peer = { .len = sizeof(peer.u) };
		int n = 0;

		if (getpeername(other, &peer.u.sa, &peer.len) == 0 && nd_addr_equal(&own, &peer) &&
		    ioctl(other, FIONREAD, &n) == 0)
			return n;
	}
	return -1;
}

/* A client may begin before this thread has heard of the start: what it sends is the run's to read. */
static void early_data_is_left_to_the_run(void **state)
{
	struct rig r;
	int fd;
	char digit = 0;

	(void)state;
	begin(&r, true);
	fd = kit_connect(SOCK_DGRAM, &r.at);
	say(fd, "FLOW1k");
	assert_true(is_answered(&r, fd, 10000, &digit));
	say(fd, "FLOW1k");
	say(fd, "payload");
	assert_true(is_answered(&r, fd, 10000, &digit));
	assert_false(is_answered(&r, fd, 20, &digit));
	assert_int_equal(waiting_from(fd), 7);
	nd_flows_release(&r.c);
	assert_int_equal(waiting_from(fd), 7);
	(void)close(fd);
	end(&r);
}

/* @hold_max: sockets that the session may keep for those who ask again; 0: its own choice. */
static void all_come(uint64_t hold_max, uint64_t held)
{
	struct rig r;
	int fd[FLOWS];
	uint64_t limit = nd_now_ns() + 20 * ND_NS_PER_S;
	char digit = 0;

	begin(&r, true);
	r.s.hold_max = hold_max;
	for (int i = 0; i < FLOWS; i++) {
		char text[] = { 'F', 'L', 'O', 'W', (char)('0' + i), 'k', '\0' };

		assert_int_equal(nd_run_poll(r.c.test.run), ND_RUN_SETUP);
		fd[i] = kit_connect(SOCK_DGRAM, &r.at);
		say(fd[i], text);
		assert_true(is_answered(&r, fd[i], 10000, &digit));
	}
	assert_int_equal(r.s.hold_n, held);
	for (uint64_t i = 0; i < FLOWS; i++)
		assert_int_equal(r.c.holds[i] != NULL, i >= FLOWS - held);
	while (nd_run_poll(r.c.test.run) != ND_RUN_READY) {
		struct pollfd p = { .fd = nd_run_fd(r.c.test.run), .events = POLLIN };

		assert_true(nd_now_ns() < limit);
		(void)poll(&p, 1, 100); /* the state is looked at in any case */
	}
	for (int i = 0; i < FLOWS; i++)
		(void)close(fd[i]);
	end(&r);
	assert_int_equal(r.s.hold_n, 0);
	assert_null(r.s.oldest_hold);
	assert_null(r.s.newest_hold);
}

static void run_is_ready_when_all_have_come(void **state)
{
	(void)state;
	all_come(0, FLOWS);
}

/* Descriptors are few: the oldest are let go, the run gets all the same. */
static void oldest_are_let_go(void **state)
{
	(void)state;
	all_come(2, 2);
	all_come(1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_are_answered),
		cmocka_unit_test(repeats_are_answered),
		cmocka_unit_test(early_data_is_left_to_the_run),
		cmocka_unit_test(run_is_ready_when_all_have_come),
		cmocka_unit_test(oldest_are_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
