/* SPDX-License-Identifier: MIT */
/* The lobby: who is let in when, and that nobody who idles, babbles or crawls holds up the others. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "ctl-kit.h"

#define GUESTS 1000

struct hall {
	struct nd_loop *loop;
	struct nd_lobby *lobby;
	struct nd_addr at;
	struct nd_timer *step, *talk;
	int guest, datagram_fd;
	unsigned claims, datagrams, welcomes;
	bool refuses, frees_lobby, waits_empty;
	struct nd_claim claim;
	char rest[64], behind[64];
	size_t rest_n;
	const char *slow; /* a byte at a time */
};

static bool on_welcome(void *user, const struct nd_addr *peer)
{
	struct hall *h = user;

	assert_int_equal(peer->u.sa.sa_family, AF_INET);
	h->welcomes++;
	return !h->refuses;
}

static void on_claimed(void *user, int fd, const struct nd_addr *peer, const struct nd_claim *claim,
		       const uint8_t *rest, size_t rest_n)
{
	struct hall *h = user;
	ssize_t n;

	(void)peer;
	h->claims++;
	h->claim = *claim;
	if (h->frees_lobby) {
		nd_lobby_free(h->lobby);
		h->lobby = NULL;
	}
	assert_true(rest_n < sizeof(h->rest));
	if (rest_n > 0)
		memcpy(h->rest, rest, rest_n);
	h->rest_n = rest_n;
	n = recv(fd, h->behind, sizeof(h->behind) - 1, MSG_DONTWAIT);
	h->behind[n > 0 ? n : 0] = '\0';
	(void)close(fd);
	nd_loop_quit(h->loop);
}

static void on_datagram(void *user, int listen_fd, const struct nd_addr *peer,
			const struct nd_addr *local, const struct nd_claim *claim)
{
	struct hall *h = user;

	assert_int_equal(listen_fd, h->datagram_fd);
	assert_int_equal(local->u.in.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_true(nd_addr_port(peer) != 0);
	h->datagrams++;
	h->claim = *claim;
	nd_loop_quit(h->loop);
}

static void open_hall(struct hall *h, uint64_t patience_ns, unsigned max)
{
	static const struct nd_lobby_ops ops = { on_welcome, on_claimed, on_datagram };
	const struct nd_lobby_cfg cfg = { &toy, &ops, h, patience_ns, max };
	struct nd_err err = { 0 };
	int fd = kit_listen(SOCK_STREAM, &h->at);

	h->guest = -1;
	if (nd_loop_new(&h->loop, &err) < 0 || nd_lobby_new(h->loop, &cfg, &h->lobby, &err) < 0 ||
	    nd_lobby_listen(h->lobby, fd, nd_transport_find("tcp"), &err) < 0)
		fail_msg("%s", err.text);
}

static void close_hall(struct hall *h)
{
	nd_lobby_free(h->lobby);
	nd_timer_free(h->step);
	nd_timer_free(h->talk);
	nd_loop_free(h->loop);
	if (h->guest >= 0)
		(void)close(h->guest);
}

static bool is_closed(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

/* Wait until the server side has closed @fd. */
static void wait_closed(int fd)
{
	struct timeval limit = { .tv_sec = 20 };
	char c;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	assert_true(recv(fd, &c, 1, 0) == 0 || errno == ECONNRESET);
}

static void quit_when_empty(void *user)
{
	struct hall *h = user;

	if (h->welcomes > 0 && nd_lobby_waiting(h->lobby) == 0)
		nd_loop_quit(h->loop);
	else
		nd_timer_set(h->step, nd_now_ns() + ND_NS_PER_MS);
}

static void watch_until_empty(struct hall *h)
{
	assert_int_equal(nd_timer_new(h->loop, quit_when_empty, h, &h->step), 0);
	nd_timer_set(h->step, 0);
	kit_run(h->loop);
}

/* ---- claims ---- */

/* clang-format off */
static const struct {
	const char *what, *says;
	bool slow;
	enum nd_claim_kind kind; /* ALIEN: closed */
	uint64_t flow;
	const char *rest, *behind; /* handed over; left in the socket for the next reader */
} claims[] = {
	{ "control",       "mXYhello",       false, ND_CLAIM_CONTROL, 0, "",   "mXYhello" },
	{ "slow control",  "mXY",            true,  ND_CLAIM_CONTROL, 0, "mX", "Y" },
	{ "flow",          "FLOW7",          false, ND_CLAIM_FLOW,    7, "",   "" },
	{ "slow flow",     "FLOW7",          true,  ND_CLAIM_FLOW,    7, "",   "" },
	{ "flow and data", "FLOW3payload",   false, ND_CLAIM_FLOW,    3, "",   "payload" },
	{ "garbage",       "GET / HTTP/1.1", false, ND_CLAIM_ALIEN,   0, "",   "" },
	{ "late garbage",  "FLOT",           true,  ND_CLAIM_ALIEN,   0, "",   "" },
};

/* clang-format on */

static void say_one(void *user)
{
	struct hall *h = user;

	if (!*h->slow)
		return;
	/* The next byte goes when this one was taken, so that each is looked at alone. */
	assert_int_equal(send(h->guest, h->slow++, 1, MSG_NOSIGNAL), 1);
	nd_timer_set(h->talk, nd_now_ns() + 2 * ND_NS_PER_MS);
}

static void claims_are_told(void **state)
{
	(void)state;
	for (size_t row = 0; row < ND_COUNTOF(claims); row++) {
		const char *says = claims[row].says;
		struct hall h = { .slow = says };

		open_hall(&h, 60 * ND_NS_PER_S, 10);
		h.guest = kit_connect(SOCK_STREAM, &h.at);
		if (claims[row].slow) {
			assert_int_equal(nd_timer_new(h.loop, say_one, &h, &h.talk), 0);
			nd_timer_set(h.talk, 0);
		} else {
			assert_int_equal(write(h.guest, says, strlen(says)), strlen(says));
		}
		if (claims[row].kind == ND_CLAIM_ALIEN) {
			watch_until_empty(&h);
			assert_int_equal(h.claims, 0);
			wait_closed(h.guest);
		} else {
			kit_run(h.loop);
			if (h.claim.kind != claims[row].kind || h.claim.flow != claims[row].flow)
				fail_msg("row '%s': kind %d", claims[row].what, h.claim.kind);
			/* A slow one may come in fewer pieces than it was sent in. */
			if (!claims[row].slow || claims[row].kind == ND_CLAIM_FLOW) {
				assert_int_equal(h.rest_n, strlen(claims[row].rest));
				assert_string_equal(h.behind, claims[row].behind);
			} else {
				assert_int_equal(h.rest_n + strlen(h.behind), strlen(says));
			}
		}
		assert_int_equal(nd_lobby_waiting(h.lobby), 0);
		close_hall(&h);
	}
}

static void unwelcome_are_closed(void **state)
{
	struct hall h = { .refuses = true };

	(void)state;
	open_hall(&h, 5 * ND_NS_PER_S, 10);
	h.guest = kit_connect(SOCK_STREAM, &h.at);
	watch_until_empty(&h);
	wait_closed(h.guest);
	close_hall(&h);
}

static void lobby_is_freed_inside_a_claim(void **state)
{
	struct hall h = { .frees_lobby = true };
	int idle;

	(void)state;
	open_hall(&h, 5 * ND_NS_PER_S, 10);
	idle = kit_connect(SOCK_STREAM, &h.at);
	h.guest = kit_connect(SOCK_STREAM, &h.at);
	assert_int_equal(write(h.guest, "mXYrest", 7), 7);
	kit_run(h.loop);
	assert_int_equal(h.claims, 1);
	wait_closed(idle);
	(void)close(idle);
	close_hall(&h);
}

/* ---- crowds ---- */

static void patience_ends(void **state)
{
	struct hall h = { 0 };

	(void)state;
	open_hall(&h, 20 * ND_NS_PER_MS, 10);
	h.guest = kit_connect(SOCK_STREAM, &h.at);
	assert_int_equal(write(h.guest, "FLO", 3), 3);
	watch_until_empty(&h);
	assert_int_equal(h.claims, 0);
	wait_closed(h.guest);
	close_hall(&h);
}

static void oldest_leaves_when_full(void **state)
{
	struct hall h = { 0 };
	int idle[4];

	(void)state;
	open_hall(&h, 60 * ND_NS_PER_S, 3);
	for (size_t i = 0; i < ND_COUNTOF(idle); i++)
		idle[i] = kit_connect(SOCK_STREAM, &h.at);
	h.guest = kit_connect(SOCK_STREAM, &h.at);
	assert_int_equal(write(h.guest, "FLOW1", 5), 5);
	kit_run(h.loop);
	assert_int_equal(h.claims, 1);
	wait_closed(idle[0]);
	wait_closed(idle[1]);
	assert_false(is_closed(idle[2]));
	assert_false(is_closed(idle[3]));
	for (size_t i = 0; i < ND_COUNTOF(idle); i++)
		(void)close(idle[i]);
	close_hall(&h);
}

static void crowd_does_not_hold_up_a_guest(void **state)
{
	struct hall h = { 0 };
	struct rlimit limit;
	int *idle = calloc(GUESTS, sizeof(*idle));
	unsigned n = 0;

	(void)state;
	assert_non_null(idle);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); /* fewer guests otherwise */
	open_hall(&h, 60 * ND_NS_PER_S, 4 * GUESTS);
	for (; n < GUESTS && (limit.rlim_cur == RLIM_INFINITY || 2 * n + 64 < limit.rlim_cur); n++)
		idle[n] = kit_connect(SOCK_STREAM, &h.at);
	h.guest = kit_connect(SOCK_STREAM, &h.at);
	assert_int_equal(write(h.guest, "FLOW1", 5), 5);
	kit_run(h.loop);
	assert_int_equal(h.claims, 1);
	assert_int_equal(nd_lobby_waiting(h.lobby), n);
	while (n > 0)
		(void)close(idle[--n]);
	watch_until_empty(&h); /* all have hung up */
	free(idle);
	close_hall(&h);
}

/* Guests who come one by one, one a turn of the loop. */
struct procession {
	struct hall *h;
	int *guest;
	unsigned n, seen, most_at_once;
};

static void next_guest(void *user)
{
	struct procession *p = user;

	p->most_at_once = ND_MAX(p->most_at_once, p->h->welcomes - p->seen);
	p->seen = p->h->welcomes;
	if (p->n < GUESTS)
		p->guest[p->n++] = kit_connect(SOCK_STREAM, &p->h->at);
	else if (p->h->welcomes == GUESTS)
		nd_loop_quit(p->h->loop);
	nd_timer_set(p->h->step, 0);
}

/* After some who followed each other closely the next ones gather at the door; nobody is left outside. */
static void a_procession_gathers(void **state)
{
	struct hall h = { 0 };
	struct procession p = { .h = &h, .guest = calloc(GUESTS, sizeof(int)) };

	(void)state;
	assert_non_null(p.guest);
	open_hall(&h, 60 * ND_NS_PER_S, 4 * GUESTS);
	assert_int_equal(nd_timer_new(h.loop, next_guest, &p, &h.step), 0);
	nd_timer_set(h.step, 0);
	kit_run(h.loop);
	assert_int_equal(nd_lobby_waiting(h.lobby), GUESTS);
	assert_true(p.most_at_once > 1);
	for (unsigned i = 0; i < GUESTS; i++)
		(void)close(p.guest[i]);
	free(p.guest);
	close_hall(&h);
}

/* Without descriptors nothing is accepted, nothing spins, and later it goes on. */
struct shortage {
	struct hall *h;
	struct rlimit old;
};

static void end_shortage(void *user)
{
	struct shortage *s = user;

	assert_int_equal(s->h->claims, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &s->old), 0);
}

static void shortage_of_descriptors_passes(void **state)
{
	struct hall h = { 0 };
	struct shortage s = { .h = &h };
	struct nd_timer *relief;
	struct rlimit tight;

	(void)state;
	open_hall(&h, 60 * ND_NS_PER_S, 10);
	h.guest = kit_connect(SOCK_STREAM, &h.at);
	assert_int_equal(write(h.guest, "FLOW1", 5), 5);
	assert_int_equal(nd_timer_new(h.loop, end_shortage, &s, &relief), 0);
	nd_timer_set(relief, nd_now_ns() + 30 * ND_NS_PER_MS);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &s.old), 0);
	tight = s.old;
	tight.rlim_cur = 3; /* fewer than are open */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	kit_run(h.loop);
	assert_int_equal(h.claims, 1);
	nd_timer_free(relief);
	close_hall(&h);
}

/* ---- datagrams ---- */

static void datagrams_are_claimed(void **state)
{
	struct hall h = { 0 };
	struct nd_addr at;
	struct nd_err err = { 0 };
	const struct nd_transport *udp = nd_transport_find("udp");
	int fd = -1;

	(void)state;
	open_hall(&h, 60 * ND_NS_PER_S, 10);
	at = h.at;
	nd_addr_set_port(&at, 0);
	assert_int_equal(nd_listen(udp, &at, false, &fd, &err), 0);
	at.len = sizeof(at.u);
	assert_int_equal(getsockname(fd, &at.u.sa, &at.len), 0);
	h.datagram_fd = fd;
	assert_int_equal(nd_lobby_listen(h.lobby, fd, udp, &err), 0);
	h.guest = kit_connect(SOCK_DGRAM, &at);
	assert_int_equal(send(h.guest, "what?", 5, 0), 5);
	assert_int_equal(send(h.guest, "", 0, 0), 0);
	assert_int_equal(send(h.guest, "mXY", 3, 0), 3); /* control does not come this way */
	assert_int_equal(send(h.guest, "FLOW5", 5, 0), 5);
	kit_run(h.loop);
	assert_int_equal(h.datagrams, 1);
	assert_int_equal(h.claim.flow, 5);
	close_hall(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_are_told),
		cmocka_unit_test(unwelcome_are_closed),
		cmocka_unit_test(lobby_is_freed_inside_a_claim),
		cmocka_unit_test(patience_ends),
		cmocka_unit_test(oldest_leaves_when_full),
		cmocka_unit_test(crowd_does_not_hold_up_a_guest),
		cmocka_unit_test(a_procession_gathers),
		cmocka_unit_test(shortage_of_descriptors_passes),
		cmocka_unit_test(datagrams_are_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
