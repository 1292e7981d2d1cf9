/* SPDX-License-Identifier: MIT */
/* Kernel stamps: which request one belongs to, and round trips in three over sockets that have them or not. */
#include <linux/net_tstamp.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "engine-rig.h"
#include "engine/stamps.h"

static uint64_t told(struct nd_stamps *s, uint64_t number)
{
	struct nd_stamps_one *one = nd_stamps_find(s, number);

	return one ? one->tx_ns : UINT64_MAX;
}

/* The last byte of a request counts; others are in the middle of one. */
static void counts_bytes(void **state)
{
	struct nd_stamps s;

	(void)state;
	assert_int_equal(nd_stamps_init(&s, 100, 1), 0);
	nd_stamps_told(&s, 5, 1); /* before anything was sent */
	s.told = 0;
	nd_stamps_sent(&s, s.asked, 1000, 60); /* in two calls */
	assert_int_equal(s.asked, 0);
	nd_stamps_sent(&s, s.asked, 2000, 40);
	assert_int_equal(s.asked, 1);
	nd_stamps_sent(&s, s.asked, 3000, 100);
	assert_true(nd_stamps_wait(&s));
	nd_stamps_told(&s, 59, 1500);
	assert_int_equal(told(&s, 0), 0);
	nd_stamps_told(&s, 99, 2500);
	assert_int_equal(told(&s, 0), 2500);
	assert_int_equal(nd_stamps_find(&s, 0)->begun_ns, 1000);
	assert_int_equal(told(&s, 1), 0);
	nd_stamps_told(&s, 199, 3500);
	assert_int_equal(told(&s, 1), 3500);
	assert_false(nd_stamps_wait(&s));
	nd_stamps_told(&s, 299, 9); /* never sent */
	assert_null(nd_stamps_find(&s, 2));
	nd_stamps_done(&s);
}

/* 32 bits of a count that has more. */
static void wraps(void **state)
{
	static const uint64_t before[] = { 0, UINT32_MAX - 150ull, UINT32_MAX + 1ull,
					   7ull * UINT32_MAX + 3 };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(before); i++) {
		uint64_t from = before[i] / 100 * 100;
		struct nd_stamps s;

		assert_int_equal(nd_stamps_init(&s, 100, 8), 0);
		s.sent = from;
		s.asked = from / 100;
		for (uint64_t k = 0; k < 5; k++)
			nd_stamps_sent(&s, s.asked, 10 * k + 1, 100);
		for (uint64_t k = 5; k-- > 0;) /* in any order */
			nd_stamps_told(&s, (uint32_t)(from + 100 * k + 99), 50 + k);
		for (uint64_t k = 0; k < 5; k++) {
			assert_int_equal(told(&s, from / 100 + k), 50 + k);
			assert_int_equal(nd_stamps_find(&s, from / 100 + k)->begun_ns, 10 * k + 1);
		}
		nd_stamps_done(&s);
	}
}

/* Datagrams have numbers of their own: the kernel's count skips those that it refused. */
static void counts_datagrams(void **state)
{
	struct nd_stamps s;

	(void)state;
	assert_int_equal(nd_stamps_init(&s, 0, 4), 0);
	nd_stamps_sent(&s, 70, 1, 1);
	nd_stamps_sent(&s, 73, 2, 1);
	nd_stamps_told(&s, 1, 22);
	nd_stamps_told(&s, 0, 11);
	assert_int_equal(told(&s, 70), 11);
	assert_int_equal(told(&s, 73), 22);
	assert_null(nd_stamps_find(&s, 71));
	/* a later one takes its place: nobody waits for it any more */
	nd_stamps_sent(&s, 70 + s.room, 3, 1);
	assert_null(nd_stamps_find(&s, 70));
	assert_int_equal(told(&s, 70 + s.room), 0);
	nd_stamps_done(&s);
}

static void remembers_enough(void **state)
{
	static const struct {
		uint64_t under_way;
		uint32_t room;
	} rows[] = { { 1, 64 }, { 16, 64 }, { 17, 128 }, { 4096, 16384 }, { 100000, 16384 } };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_stamps s;

		assert_int_equal(nd_stamps_init(&s, 1, rows[i].under_way), 0);
		assert_int_equal(s.room, rows[i].room);
		nd_stamps_done(&s);
	}
}

struct ask_case {
	const char *engine, *frame, *transport;
	uint64_t bytes;
	bool unix_pair; /* has no stamps */
};

/* clang-format off */
static const struct ask_case ask_cases[] = {
	{ "blocking", "plain",  "tcp", 64,  false },
	{ "epoll",    "plain",  "tcp", 1,   false },
	{ "blocking", "native", "udp", 64,  false },
	{ "epoll",    "native", "udp", 16,  false },
	{ "epoll",    "native", "udp", 4,   false },
	{ "blocking", "plain",  "tcp", 64,  true },
	{ "epoll",    "plain",  "tcp", 64,  true },
};

/* clang-format on */

/* Return: answers with both stamps. */
static uint64_t ask(const struct ask_case *c)
{
	struct rig r = { .wl = { .message_bytes = c->bytes,
				 .request_bytes = c->bytes,
				 .response_bytes = c->bytes,
				 .total_bytes = 200 * c->bytes },
			 .engine = c->engine,
			 .load = "rr",
			 .frame = c->frame,
			 .transport = c->transport,
			 .tx_name = "stamped copy",
			 .rx_name = "stamped copy",
			 .unix_pair = c->unix_pair,
			 .pairs = 2 };
	struct nd_hist *service;
	struct nd_hist_view v, whole;
	const struct nd_told *told = &r.io.told[0];
	uint64_t sum = 0, missing, stamped = 0;

	rig_open(&r);
	assert_int_equal(nd_hist_new(&service), 0);
	r.io.rtt[0] = service;
	for (unsigned k = 0; k < ND_PARTS; k++)
		assert_int_equal(nd_hist_new(&r.io.stamped[0][k]), 0);
	rig_run(&r);
	assert_int_equal(rig_sum(&r, true).transactions, 200);
	rig_check_sums(&r);
	missing = told->no_tx_stamp + told->no_rx_stamp + told->odd_stamps;
	assert_int_equal(nd_hist_read(service, &whole), 0);
	for (unsigned k = 0; k < ND_PARTS; k++) {
		assert_int_equal(nd_hist_read(r.io.stamped[0][k], &v), 0);
		/* both ends are in one worker here: a round trip, and the answering end's part of it, which is not
		 * counted where no stamp of either kind came */
		if (v.count > 0 || v.count + missing != 200)
			assert_int_equal(v.count + missing, 400);
		stamped = v.count;
		sum += v.sum_ns;
		nd_hist_view_done(&v);
	}
	assert_true(sum <= 2 * whole.sum_ns);
	if (missing == 0)
		assert_true(sum > whole.sum_ns);
	nd_hist_view_done(&whole);
	nd_hist_free(service);
	for (unsigned k = 0; k < ND_PARTS; k++)
		nd_hist_free(r.io.stamped[0][k]);
	rig_close(&r);
	return stamped;
}

/* The kernel begins to stamp a little behind the first socket that asks for it, and ends behind the last. */
static int hold_stamps(void)
{
	const int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)), 0);
	return fd;
}

static void parts_add_up(void **state)
{
	uint64_t deadline_ns = nd_now_ns() + RIG_PATIENCE_NS, n;
	int fd = hold_stamps();

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(ask_cases); i++) {
		do
			n = ask(&ask_cases[i]);
		while (n == 0 && !ask_cases[i].unix_pair && nd_now_ns() < deadline_ns);
		assert_int_equal(n == 0, ask_cases[i].unix_pair);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_bytes),     cmocka_unit_test(wraps),
		cmocka_unit_test(counts_datagrams), cmocka_unit_test(remembers_enough),
		cmocka_unit_test(parts_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
