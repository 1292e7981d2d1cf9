/* SPDX-License-Identifier: MIT */
/* Streams through the backends: nothing is lost, ends are seen, time and bytes are kept. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <signal.h>

#include "engine-rig.h"

struct stream_case {
	const char *name, *engine, *frame, *transport;
	uint32_t pairs;
	uint64_t message, total, run_ns, rate_bps;
	int sndbuf;
	bool unix_pair;
	uint64_t depth;
};

/* clang-format off */
static const struct stream_case cases[] = {
	{ "bytes",          "blocking", "plain",   "tcp",   1,   1 << 20, 40000001, 0, 0, 0, false, 0 },
	{ "bytes",          "epoll",    "plain",   "tcp",   1,   1 << 20, 40000001, 0, 0, 0, false, 0 },
	{ "three flows",    "blocking", "plain",   "tcp",   3,   128000,  10000000, 0, 0, 0, false, 0 },
	{ "200 flows",      "epoll",    "plain",   "tcp",   200, 100000,  20000003, 0, 0, 0, false, 0 },
	{ "tiny messages",  "epoll",    "plain",   "tcp",   4,   1,       4001,     0, 0, 0, false, 0 },
	{ "less than flows", "epoll",   "plain",   "tcp",   8,   1000,    3,        0, 0, 0, false, 0 },
	{ "tiny buffer",    "epoll",    "plain",   "tcp",   2,   1 << 20, 600000,   0, 0, 1, false, 0 },
	{ "tiny buffer",    "blocking", "plain",   "tcp",   1,   1 << 20, 600000,   0, 0, 1, false, 0 },
	{ "tiny buffer",    "epoll",    "pattern", "tcp",   2,   1 << 20, 600000,   0, 0, 1, false, 0 },
	{ "unix",           "epoll",    "plain",   "tcp",   5,   70000,   7000000,  0, 0, 4096, true, 0 },
	{ "unix",           "blocking", "plain",   "tcp",   5,   70000,   7000000,  0, 0, 4096, true, 0 },
	{ "pattern",        "blocking", "pattern", "tcp",   1,   1 << 20, 20000007, 0, 0, 0, false, 0 },
	{ "pattern",        "epoll",    "pattern", "tcp",   3,   99999,   20000007, 0, 0, 0, true, 0 },
	{ "time",           "blocking", "plain",   "tcp",   1,   1 << 20, 0, 30000000, 0, 0, false, 0 },
	{ "time",           "epoll",    "plain",   "tcp",   7,   1 << 20, 0, 30000000, 0, 0, false, 0 },
	{ "rate",           "blocking", "plain",   "tcp",   1,   1 << 20, 0, 100000000, 80000000, 0, false, 0 },
	{ "rate",           "epoll",    "plain",   "tcp",   20,  1 << 20, 0, 100000000, 80000000, 0, false, 0 },
	{ "rate and bytes", "epoll",    "plain",   "tcp",   3,   5000,    300000,   0, 80000000, 0, false, 0 },
	{ "mptcp",          "epoll",    "plain",   "mptcp", 2,   1 << 20, 9000000,  0, 0, 0, false, 0 },
	{ "depth",          "uring",    "plain",   "tcp",   1,   1 << 16, 40000001, 0, 0, 0, false, 8 },
	{ "depth",          "uring",    "pattern", "tcp",   3,   1 << 20, 20000007, 0, 0, 0, false, 64 },
	{ "depth",          "uring",    "pattern", "tcp",   40,  5000,    9000000,  0, 0, 0, false, 3 },
	{ "depth and time", "uring",    "pattern", "tcp",   7,   99999,   0, 30000000, 0, 0, false, 6 },
	{ "depth and rate", "uring",    "plain",   "tcp",   7,   99999,   0, 100000000, 80000000, 0, false, 6 },
	{ "tiny and deep",  "uring",    "pattern", "tcp",   2,   70000,   600000,   0, 0, 1, false, 16 },
	{ "deep and stopped", "uring",  "pattern", "tcp",   2,   1 << 20, 0, 30000000, 0, 1, false, 16 },
};

/* clang-format on */

static bool available(const char *transport)
{
	const struct nd_transport *t = nd_transport_find(transport);
	int fd = socket(AF_INET, t->sock_type, t->protocol);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void check_flow(const struct rig *r, const struct stream_case *c, uint32_t i)
{
	const struct nd_flow *tx = &r->flows[i], *rx = &r->flows[r->pairs + i];
	uint64_t share = nd_plan_share(c->total, c->pairs, i);

	if (tx->state != ND_FLOW_DONE || rx->state != ND_FLOW_DONE || tx->error || rx->error)
		fail_msg("%s %s: flow %u: states %u %u errors %d %d", c->name, c->engine, i,
			 tx->state, rx->state, tx->error, rx->error);
	if (tx->c.tx_bytes != rx->c.rx_bytes || (c->total && tx->c.tx_bytes != share))
		fail_msg("%s %s: flow %u: sent %llu, received %llu", c->name, c->engine, i,
			 (unsigned long long)tx->c.tx_bytes, (unsigned long long)rx->c.rx_bytes);
	assert_int_equal(rx->c.rx_corrupt, 0);
	assert_int_equal(tx->c.rx_calls, 0);
	assert_int_equal(rx->c.tx_calls, 0);
	if (tx->c.tx_bytes) {
		assert_true(tx->first_ns >= r->start_ns && tx->last_ns >= tx->first_ns);
		assert_true(rx->first_ns >= r->start_ns && rx->last_ns >= rx->first_ns);
	}
}

static void check_case(const struct stream_case *c, const struct rig *r)
{
	struct nd_counters tx = rig_sum(r, true);

	for (uint32_t i = 0; i < r->pairs; i++)
		check_flow(r, c, i);
	rig_check_sums(r);
	assert_int_equal(r->flows_done, 2 * r->pairs);
	if (c->sndbuf && !c->depth && tx.tx_blocked == 0)
		fail_msg("%s %s %s: never blocked", c->name, c->engine, c->frame);
	if (c->rate_bps && c->run_ns) {
		/* the schedule from start to stop, and a chunk per flow around it */
		uint64_t took = r->flows[0].last_ns - r->start_ns;
		uint64_t most = c->rate_bps / 8 * (took + ND_MAX_CHUNK_NS) / ND_NS_PER_S +
				c->rate_bps / 8 / 100;

		if (tx.tx_bytes > most || tx.tx_bytes < c->rate_bps / 8 / 100)
			fail_msg("%s %s: %llu bytes, at most %llu", c->name, c->engine,
				 (unsigned long long)tx.tx_bytes, (unsigned long long)most);
	}
}

static void move_stream(const struct stream_case *row, const char *engine)
{
	struct stream_case c = *row;
	struct rig r = { .wl = { .message_bytes = c.message,
				 .total_bytes = c.total,
				 .rate_bps = c.rate_bps,
				 .first_flow = 1000 },
			 .engine = engine,
			 .load = "stream",
			 .frame = c.frame,
			 .transport = c.transport,
			 .pairs = c.pairs,
			 .run_ns = c.run_ns,
			 .sndbuf = c.sndbuf,
			 .unix_pair = c.unix_pair,
			 .depth = c.depth };

	c.engine = engine;
	rig_open(&r);
	rig_run(&r);
	check_case(&c, &r);
	rig_close(&r);
}

static void moves_streams(void **state)
{
	const char *engine;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cases); i++) {
		if (!available(cases[i].transport)) {
			print_message("%s: not here, left out\n", cases[i].transport);
			continue;
		}
		for (size_t n = 0; (engine = rig_alike(cases[i].engine, n)); n++)
			if (rig_has(engine))
				move_stream(&cases[i], engine);
	}
}

/* Every way to send with every way to receive. */
static const char *const tx_ways[] = { "copy", "zerocopy", "sendfile", "splice" };
static const char *const rx_ways[] = { "copy", "trunc", "splice", "mmap" };

/* clang-format off */
static const struct stream_case way_cases[] = {
	{ "bytes",         "blocking", "plain", "tcp", 1,  1 << 20, 40000001, 0, 0, 0, false, 0 },
	{ "odd",           "epoll",    "plain", "tcp", 3,  99999,   20000003, 0, 0, 0, false, 0 },
	{ "tiny messages", "epoll",    "plain", "tcp", 4,  1,       4001,     0, 0, 0, false, 0 },
	{ "less than flows", "epoll",  "plain", "tcp", 8,  1000,    3,        0, 0, 0, false, 0 },
	{ "tiny buffer",   "epoll",    "plain", "tcp", 2,  1 << 20, 600000,   0, 0, 1, false, 0 },
	{ "tiny buffer",   "blocking", "plain", "tcp", 1,  70000,   600000,   0, 0, 1, false, 0 },
	{ "time",          "epoll",    "plain", "tcp", 7,  1 << 20, 0, 30000000, 0, 0, false, 0 },
	{ "time",          "blocking", "plain", "tcp", 2,  12345,   0, 30000000, 0, 0, false, 0 },
	{ "rate",          "epoll",    "plain", "tcp", 20, 1 << 20, 0, 60000000, 80000000, 0, false, 0 },
	{ "wake-up mark",  "epoll",    "plain", "tcp", 5,  99999,   9000001,  0, 0, 0, false, 0 },
};

/* clang-format on */

/* What was sent without a copy is told of at the end, but for sends that the system did not
 * allow to be so. */
static void check_told(const struct stream_case *c, const struct rig *r)
{
	struct nd_counters tx = rig_sum(r, true);
	bool zerocopy = strcmp(r->tx_name, "zerocopy") == 0;

	if (tx.tx_copied > tx.tx_zerocopy || (c->depth <= 1 && tx.tx_zerocopy > tx.tx_calls) ||
	    (tx.tx_zerocopy > 0) != (zerocopy && tx.tx_bytes > 0))
		fail_msg("%s: %s to %s: %llu calls, %llu told of, %llu copied", c->name, r->tx_name,
			 r->rx_name, (unsigned long long)tx.tx_calls,
			 (unsigned long long)tx.tx_zerocopy, (unsigned long long)tx.tx_copied);
}

static void move_ways(const struct stream_case *c, const char *tx, const char *rx)
{
	struct rig r = { .wl = { .message_bytes = c->message,
				 .total_bytes = c->total,
				 .rate_bps = c->rate_bps },
			 .engine = c->engine,
			 .load = "stream",
			 .frame = c->frame,
			 .transport = c->transport,
			 .tx_name = tx,
			 .rx_name = rx,
			 .pairs = c->pairs,
			 .run_ns = c->run_ns,
			 .sndbuf = c->sndbuf,
			 .depth = c->depth };

	r.plan.lowat_bytes = strcmp(c->name, "wake-up mark") == 0 ? 65536 : 0;
	rig_open(&r);
	rig_run(&r);
	if (r.flows[0].error)
		print_message("%s %s:\n", tx, rx);
	check_case(c, &r);
	check_told(c, &r);
	rig_close(&r);
}

/* clang-format off */
static const struct stream_case posted_cases[] = {
	{ "posted",        "uring", "plain", "tcp", 1,  1 << 20, 40000001, 0, 0, 0, false, 0 },
	{ "posted deep",   "uring", "plain", "tcp", 3,  99999,   20000003, 0, 0, 0, false, 8 },
	{ "posted in 1",   "uring", "plain", "tcp", 4,  1,       4001,     0, 0, 0, false, 0 },
	{ "tiny buffer",   "uring", "plain", "tcp", 2,  70000,   600000,   0, 0, 1, false, 4 },
	{ "time",          "uring", "plain", "tcp", 7,  99999,   0, 30000000, 0, 0, false, 4 },
};

/* clang-format on */

static void posts_without_a_copy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(posted_cases) && rig_has("uring"); i++)
		move_ways(&posted_cases[i], "zerocopy", "copy");
}

static void moves_in_all_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(way_cases); i++)
		for (size_t tx = 0; tx < ND_COUNTOF(tx_ways); tx++)
			for (size_t rx = 0; rx < ND_COUNTOF(rx_ways); rx++)
				move_ways(&way_cases[i], tx_ways[tx], rx_ways[rx]);
}

/* Connections that come while it runs are told too how much must have come before they wake. */
static void late_receivers_wake_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rx_ways); i++) {
		struct rig r = { .wl = { .message_bytes = 65536, .total_bytes = 65536 },
				 .engine = "blocking",
				 .load = "stream",
				 .frame = "plain",
				 .transport = "tcp",
				 .rx_name = rx_ways[i],
				 .pairs = 1 };
		int got[2] = { 0, 0 };

		rig_open(&r);
		r.plan.lowat_bytes = 65536;
		for (uint32_t n = 0; n < 2; n++) {
			socklen_t size = sizeof(got[n]);

			r.io.lanes[0].rx->join(&r.io, &r.flows[n]);
			assert_int_equal(
				getsockopt(r.flows[n].fd, SOL_SOCKET, SO_RCVLOWAT, &got[n], &size),
				0);
		}
		assert_int_equal(got[0], r.flows[0].active ? 1 : 65536);
		assert_int_equal(got[1], r.flows[1].active ? 1 : 65536);
		assert_int_not_equal(got[0], got[1]);
		rig_close(&r);
	}
}

/* Requests and responses, by ways that need not see them. */
static void asks_in_all_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(tx_ways) * ND_COUNTOF(rx_ways); i++) {
		struct rig r = { .wl = { .message_bytes = 70000,
					 .request_bytes = 100,
					 .response_bytes = 70000,
					 .total_bytes = 10000 },
				 .engine = i % 2 ? "epoll" : "blocking",
				 .load = "rr",
				 .frame = "plain",
				 .transport = "tcp",
				 .tx_name = tx_ways[i / ND_COUNTOF(rx_ways)],
				 .rx_name = rx_ways[i % ND_COUNTOF(rx_ways)],
				 .pairs = 2 };

		rig_open(&r);
		rig_run(&r);
		for (uint32_t n = 0; n < 4; n++)
			assert_int_equal(r.flows[n].error, 0);
		assert_int_equal(rig_sum(&r, true).transactions, 100);
		assert_int_equal(rig_sum(&r, true).rx_bytes, 7000000);
		rig_check_sums(&r);
		rig_close(&r);
	}
}

/* A worker of one flow at each end, as in a real run: calls may wait in the kernel. */
static void run_two(struct rig *a, struct rig *b);

static void two_workers_in_all_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(tx_ways) * ND_COUNTOF(rx_ways); i++) {
		struct rig a = { .wl = { .message_bytes = 1 << 20, .total_bytes = 20000003 },
				 .engine = "blocking",
				 .load = "stream",
				 .frame = "plain",
				 .transport = "tcp",
				 .tx_name = tx_ways[i / ND_COUNTOF(rx_ways)],
				 .rx_name = rx_ways[i % ND_COUNTOF(rx_ways)],
				 .pairs = 1 },
			   b = a;

		run_two(&a, &b);
		assert_int_equal(a.io.c[0].tx_bytes, 20000003);
		assert_int_equal(b.io.c[0].rx_bytes, 20000003);
	}
}

struct rr_case {
	const char *engine, *wait;
	uint32_t pairs;
	uint64_t request, response, total, run_ns, rate_ops;
};

/* clang-format off */
static const struct rr_case rr_cases[] = {
	{ "blocking", NULL,    1,  1,       1,       200,      0, 0 },
	{ "epoll",    NULL,    1,  1,       1,       200,      0, 0 },
	{ "epoll",    NULL,    50, 100,     3000,    100000,   0, 0 },
	{ "epoll",    NULL,    3,  2000000, 5,       18000000, 0, 0 },
	{ "blocking", NULL,    3,  5,       2000000, 45,       0, 0 },
	{ "blocking", "spin",  1,  1,       1,       200,      0, 0 },
	{ "epoll",    "spin",  9,  64,      64,      64 * 900, 0, 0 },
	{ "epoll",    "block", 4,  64,      64,      0, 40000000, 0 },
	{ "blocking", NULL,    2,  64,      64,      0, 40000000, 0 },
	{ "epoll",    NULL,    2,  64,      64,      64 * 40,  0, 1000 },
};

/* clang-format on */

static void check_rr(const struct rig *r, const struct rr_case *c, const struct nd_hist *rtt)
{
	struct nd_counters tx = rig_sum(r, true), rx = rig_sum(r, false);
	struct nd_hist_view v = { 0 };

	for (uint32_t i = 0; i < 2 * r->pairs; i++)
		assert_int_equal(r->flows[i].error, 0);
	assert_int_equal(r->io.done_count, 2 * r->pairs);
	assert_int_equal(tx.tx_bytes, tx.transactions * c->request);
	assert_int_equal(tx.rx_bytes, tx.transactions * c->response);
	assert_int_equal(rx.rx_bytes, tx.tx_bytes);
	assert_int_equal(rx.tx_bytes, tx.rx_bytes);
	assert_int_equal(rx.transactions, 0);
	if (c->total)
		assert_int_equal(tx.tx_bytes, c->total);
	assert_true(tx.transactions > 0);
	assert_int_equal(nd_hist_read(rtt, &v), 0);
	assert_int_equal(v.count, tx.transactions);
	nd_hist_view_done(&v);
	rig_check_sums(r);
}

static void move_requests(const struct rr_case *c, const char *engine)
{
	struct rig r = { .wl = { .message_bytes = c->request,
				 .request_bytes = c->request,
				 .response_bytes = c->response,
				 .total_bytes = c->total,
				 .rate_ops = c->rate_ops },
			 .engine = engine,
			 .load = "rr",
			 .frame = "pattern",
			 .transport = "tcp",
			 .pairs = c->pairs,
			 .run_ns = c->run_ns,
			 .wait = c->wait ? nd_wait_find(c->wait) : NULL };
	struct nd_hist *rtt = NULL, *response = NULL;

	rig_open(&r);
	assert_int_equal(nd_hist_new(&rtt), 0);
	assert_int_equal(nd_hist_new(&response), 0);
	r.io.rtt[0] = rtt;
	r.io.response[0] = c->rate_ops ? response : NULL;
	rig_run(&r);
	check_rr(&r, c, rtt);
	rig_close(&r);
	nd_hist_free(rtt);
	nd_hist_free(response);
}

static void moves_requests(void **state)
{
	const char *engine;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rr_cases); i++)
		for (size_t n = 0; (engine = rig_alike(rr_cases[i].engine, n)); n++)
			if (rig_has(engine))
				move_requests(&rr_cases[i], engine);
}

/* A peer that resets ends its flow alone. */
static void keeps_errors(void **state)
{
	/* clang-format off */
	static const struct { const char *engine, *tx, *rx; } rows[] = {
		{ "blocking", "copy",     "copy" },
		{ "epoll",    "copy",     "copy" },
		{ "uring",    "copy",     "copy" },
		{ "uring-old", "copy",    "copy" },
		{ "blocking", "zerocopy", "trunc" },
		{ "epoll",    "zerocopy", "mmap" },
		{ "blocking", "sendfile", "splice" },
		{ "epoll",    "sendfile", "trunc" },
		{ "blocking", "splice",   "trunc" },
		{ "epoll",    "splice",   "splice" },
	};

	/* clang-format on */
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct rig r = { .wl = { .message_bytes = 50000, .total_bytes = 4000000 },
				 .engine = rows[i].engine,
				 .load = "stream",
				 .frame = "plain",
				 .transport = "tcp",
				 .tx_name = rows[i].tx,
				 .rx_name = rows[i].rx,
				 .pairs = 2 };
		struct linger reset = { .l_onoff = 1 };
		int fd;

		if (!rig_has(r.engine))
			continue;
		rig_open(&r);
		fd = r.flows[2].fd; /* the receiver of flow 0 is somebody who hangs up */
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
		close(fd);
		r.flows[2].fd = -1;
		r.flows[2].state = ND_FLOW_DONE;
		r.io.done_count = 1;
		r.start_ns = nd_now_ns();
		r.deadline_ns = r.start_ns + RIG_PATIENCE_NS;
		r.io.edge_ns = r.start_ns + RIG_EDGE_NS;
		for (uint32_t n = 0; n < 4; n++)
			if (n != 2)
				nd_flow_begin(&r.io, &r.flows[n], r.start_ns);
		assert_int_equal(rig_engine(r.engine)->run(&r.io, NULL), 0);
		assert_false(r.late);
		assert_true(r.flows[0].error == -ECONNRESET || r.flows[0].error == -EPIPE);
		assert_int_equal(r.flows[1].error, 0);
		assert_int_equal(r.flows[3].c.rx_bytes, 2000000);
		rig_close(&r);
	}
}

/* An asking end whose peer goes away does not wait for ever. */
static void notices_closed_peer(void **state)
{
	static const char *const engines[] = { "blocking", "epoll", "uring", "uring-old" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(engines); i++) {
		struct rig r = {
			.wl = { .message_bytes = 10, .request_bytes = 10, .response_bytes = 20 },
			.engine = engines[i],
			.load = "rr",
			.frame = "plain",
			.transport = "tcp",
			.pairs = 1
		};

		if (!rig_has(engines[i]))
			continue;
		rig_open(&r);
		assert_int_equal(write(r.flows[1].fd, "half", 4), 4);
		assert_int_equal(shutdown(r.flows[1].fd, SHUT_WR), 0);
		r.flows[1].state = ND_FLOW_DONE;
		r.io.done_count = 1;
		r.start_ns = nd_now_ns();
		r.deadline_ns = r.start_ns + RIG_PATIENCE_NS;
		r.io.edge_ns = r.start_ns + RIG_EDGE_NS;
		nd_flow_begin(&r.io, &r.flows[0], r.start_ns);
		assert_int_equal(rig_engine(engines[i])->run(&r.io, NULL), 0);
		assert_false(r.late);
		assert_int_equal(r.flows[0].error, -ECONNRESET);
		assert_int_equal(r.flows[0].c.transactions, 0);
		assert_int_equal(r.flows[0].c.rx_bytes, 4);
		rig_close(&r);
	}
}

/* wake_fd is noticed while flows are busy, and while nothing happens. */
static void wakes(void **state)
{
	static const char *const engines[] = { "blocking", "epoll", "null", "uring", "uring-old" };

	(void)state;
	for (size_t i = 0; i < 2 * ND_COUNTOF(engines); i++) {
		struct rig r = { .wl = { .message_bytes = 100000, .rate_bps = i % 2 ? 8000 : 0 },
				 .engine = engines[i / 2],
				 .load = "stream",
				 .frame = "plain",
				 .transport = "tcp",
				 .pairs = 2,
				 .run_ns = 30 * ND_NS_PER_MS };
		uint64_t one = 1;

		if (!rig_has(engines[i / 2]))
			continue;
		rig_open(&r);
		assert_int_equal(write(r.io.wake_fd, &one, sizeof(one)), sizeof(one));
		rig_run(&r);
		assert_int_equal(r.wakes, 1);
		assert_true(r.edges > 0);
		assert_int_equal(r.io.done_count, 4);
		rig_close(&r);
	}
}

/* Whoever wakes a worker wakes it again at once, until it leaves. */
static void wake_again(struct nd_io *io, uint64_t now_ns)
{
	const struct rig *r = io->run;
	uint64_t one = 1;

	rig_wake(io, now_ns);
	io->look_ns = UINT64_MAX; /* no look: the kernel has to tell */
	io->quit = r->wakes >= 5;
	assert_int_equal(write(io->wake_fd, &one, sizeof(one)), sizeof(one));
}

/* Each time it is heard, though nothing else ever ends the wait. */
static void wakes_again(void **state)
{
	static const char *const engines[] = { "epoll", "uring", "uring-old" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(engines); i++) {
		struct rig r = { .wl = { .message_bytes = 100 },
				 .engine = engines[i],
				 .load = "stream",
				 .frame = "plain",
				 .transport = "tcp",
				 .pairs = 2 };
		uint64_t one = 1;

		if (!rig_has(engines[i]))
			continue;
		rig_open(&r);
		r.io.wake = wake_again;
		r.io.look_ns = UINT64_MAX;
		r.deadline_ns = nd_now_ns() + RIG_PATIENCE_NS;
		r.io.edge_ns = r.deadline_ns; /* too late */
		assert_int_equal(write(r.io.wake_fd, &one, sizeof(one)), sizeof(one));
		assert_int_equal(rig_engine(engines[i])->run(&r.io, NULL), 0);
		assert_false(r.late);
		assert_int_equal(r.wakes, 5);
		rig_close(&r);
	}
}

static void *run_end(void *arg)
{
	struct rig *r = arg;

	return (void *)(intptr_t)rig_engine(r->engine)->run(&r->io, NULL);
}

/* The sockets that rig_open() made are gone: open the engine again over the first flow alone. */
static int reopen(struct rig *r)
{
	const struct nd_engine *e = rig_engine(r->engine);

	e->close(&r->io);
	r->io.flow_count = 1;
	return e->open(&r->io, NULL);
}

static void replace_flow(struct rig *r)
{
	assert_int_equal(reopen(r), 0);
}

/* A worker opens its engine itself: who waits inside calls is woken as a thread. */
static void *run_worker(void *arg)
{
	struct rig *r = arg;
	int code = reopen(r);

	if (code < 0)
		return (void *)(intptr_t)code;
	nd_flow_begin(&r->io, &r->flows[0], r->start_ns);
	return run_end(r);
}

/* One flow per worker, a worker per end, as in a real run. */
static void run_two(struct rig *a, struct rig *b)
{
	pthread_t other;
	void *result;

	rig_open(a);
	rig_open(b);
	close(a->flows[0].fd);
	close(a->flows[1].fd);
	close(b->flows[0].fd);
	close(b->flows[1].fd);
	b->flows[0] = b->flows[1];
	a->flows[1].fd = b->flows[1].fd = -1;
	rig_stream_pair(a->lane.transport, &a->flows[0].fd, &b->flows[0].fd);
	a->start_ns = b->start_ns = nd_now_ns();
	a->deadline_ns = b->deadline_ns = a->start_ns + RIG_PATIENCE_NS;
	/* far away: the workers may wait inside their calls */
	a->io.edge_ns = b->io.edge_ns = a->start_ns + ND_NS_PER_S;
	assert_int_equal(pthread_create(&other, NULL, run_worker, b), 0);
	assert_null(run_worker(a));
	assert_int_equal(pthread_join(other, &result), 0);
	assert_null(result);
	assert_false(a->late || b->late);
	rig_close(a);
	rig_close(b);
}

static const char *const pair_engines[] = { "blocking", "epoll", "uring", "uring-old" };

static void two_workers_stream(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(pair_engines); i++) {
		struct rig a = { .wl = { .message_bytes = 1 << 20, .total_bytes = 60000000 },
				 .engine = pair_engines[i],
				 .load = "stream",
				 .frame = "plain",
				 .transport = "tcp",
				 .pairs = 1 },
			   b = a;

		if (!rig_has(a.engine))
			continue;
		run_two(&a, &b);
		assert_int_equal(a.io.c[0].tx_bytes, 60000000);
		assert_int_equal(b.io.c[0].rx_bytes, 60000000);
	}
}

static void two_workers_rr(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(pair_engines); i++) {
		struct rig a = { .wl = { .message_bytes = 10,
					 .request_bytes = 10,
					 .response_bytes = 100000,
					 .total_bytes = 3000 },
				 .engine = pair_engines[i],
				 .load = "rr",
				 .frame = "pattern",
				 .transport = "tcp",
				 .pairs = 1 },
			   b = a;

		if (!rig_has(a.engine))
			continue;
		run_two(&a, &b);
		assert_int_equal(a.io.c[0].transactions, 300);
		assert_int_equal(a.io.c[0].rx_bytes, 30000000);
		assert_int_equal(a.io.c[0].rx_corrupt + b.io.c[0].rx_corrupt, 0);
	}
}

/* An edge has its own look at the clock: the last tick is not good enough. */
static void look_at_edge(struct rig *r, uint64_t now_ns)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC_COARSE, &t), 0);
	assert_true(now_ns >= r->start_ns + ND_NS_PER_S);
	assert_true(now_ns <= nd_now_ns());
	r->eaten += now_ns != (uint64_t)t.tv_sec * ND_NS_PER_S + (uint64_t)t.tv_nsec;
	r->late |= r->io.coarse != r->plan.untimed;
}

/* Where nobody asks what an operation took, the clock is left alone between edges. */
static void untimed_rr(void **state)
{
	(void)state;
	for (int timed = 0; timed <= 1; timed++) {
		struct rig a = { .wl = { .message_bytes = 10,
					 .request_bytes = 10,
					 .response_bytes = 10 },
				 .engine = "blocking",
				 .load = "rr",
				 .frame = "plain",
				 .transport = "tcp",
				 .pairs = 1,
				 .run_ns = ND_NS_PER_MS,
				 .on_edge = look_at_edge },
			   b = a;

		a.plan.untimed = !timed;
		b.plan.untimed = true; /* an end that answers asks for none anyway */
		run_two(&a, &b);
		assert_true(a.eaten > 0);
		assert_true(a.io.c[0].transactions > 10);
		assert_int_equal(a.io.c[0].tx_bytes, b.io.c[0].rx_bytes);
	}
}

/* Quits 100 ms after the start, and looks at how it came there. */
static void quit_at_edge(struct rig *r, uint64_t now_ns)
{
	assert_true(now_ns >= r->start_ns + 100 * ND_NS_PER_MS);
	assert_true(r->io.patient);
	r->io.quit = true;
}

/* A worker that waits inside its call is at its edges all the same, however long nothing comes. */
static void silent_peer(void **state)
{
	(void)state;
	for (int heard = 0; heard <= 1; heard++) {
		struct rig r = { .wl = { .request_bytes = 10, .response_bytes = 10 },
				 .engine = "blocking",
				 .load = "rr",
				 .frame = "plain",
				 .transport = "tcp",
				 .pairs = 1,
				 .on_edge = quit_at_edge };
		struct nd_flow asking;

		rig_open(&r);
		asking = r.flows[0];
		r.flows[0] = r.flows[1]; /* the end that answers is the only one here */
		replace_flow(&r);
		assert_true(r.io.patient);
		if (heard)
			assert_int_equal(send(asking.fd, "0123456789", 10, 0), 10);
		r.start_ns = nd_now_ns();
		r.deadline_ns = r.start_ns + RIG_PATIENCE_NS;
		r.io.edge_ns = r.start_ns + 100 * ND_NS_PER_MS;
		nd_flow_begin(&r.io, &r.flows[0], r.start_ns);
		assert_null(run_end(&r));
		assert_int_equal(r.edges, 1);
		assert_int_equal(r.flows[0].c.rx_messages, heard);
		assert_true(r.flows[0].c.rx_calls > 0);
		rig_engine(r.engine)->close(&r.io);
		assert_false(r.io.guarded);
		r.flows[0] = asking;
		assert_int_equal(rig_engine(r.engine)->open(&r.io, NULL), 0);
		rig_close(&r);
	}
}

struct exact_case {
	const char *load, *wait;
	bool answers, untimed, first, spins;
};

static const struct exact_case exact_cases[] = {
	{ "rr", "block", false, false, true, false },
	{ "rr", "spin", false, false, true, true },
	{ "rr", "nap", false, false, true, false },
	{ "rr", "block", false, true, false, false }, /* nobody asks */
	{ "rr", "spin", true, false, false,
	  true }, /* the time between its calls is no round trip */
	{ "stream", "spin", false, false, false, false },
};

/* Which clock is read in front of a send, and who tries a socket over and over. */
static void is_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(exact_cases); i++) {
		const struct exact_case *c = &exact_cases[i];
		struct rig r = {
			.wl = { .message_bytes = 10, .request_bytes = 10, .response_bytes = 10 },
			.engine = "blocking",
			.load = c->load,
			.frame = "plain",
			.transport = "tcp",
			.pairs = 1,
			.wait = nd_wait_find(c->wait)
		};
		int asking;

		r.plan.untimed = c->untimed;
		rig_open(&r);
		asking = r.flows[0].active ? r.flows[0].fd : -1;
		if (c->answers)
			r.flows[0].active = false;
		replace_flow(&r);
		if (r.io.clock_first != c->first || r.io.spins != c->spins)
			fail_msg("row %zu: clock first %d, spins %d", i, r.io.clock_first,
				 r.io.spins);
		assert_int_equal(r.flows[0].fd, asking);
		rig_close(&r);
	}
}

static void spinning_rr(void **state)
{
	struct rig a = { .wl = { .request_bytes = 10, .response_bytes = 10, .total_bytes = 3000 },
			 .engine = "blocking",
			 .load = "rr",
			 .frame = "plain",
			 .transport = "tcp",
			 .pairs = 1,
			 .wait = nd_wait_find("spin") },
		   b = a;

	(void)state;
	run_two(&a, &b);
	assert_int_equal(a.io.c[0].transactions, 300);
	assert_int_equal(b.io.c[0].tx_bytes, 3000);
}

struct exchange_case {
	uint64_t request, response;
	const char *wait;
	bool untimed, loops; /* at both ends; else an end may, or not */
};

static const struct exchange_case exchange_cases[] = {
	{ 14, 14, "block", false, true },
	{ 14, 14, "spin", true, false },      /* on a busy machine it finds nothing too often */
	{ 200000, 3, "block", false, false }, /* comes in pieces */
	{ 7, 900000, "spin", false, false },  /* longer than any buffer */
};

static uint64_t asks_heard, answers_heard; /* events; each end's own */

static void asks_next(void *state, const struct nd_event *ev, struct nd_step *ret,
		      struct nd_note *note)
{
	asks_heard++;
	nd_load_find("rr")->next(state, ev, ret, note);
}

static void answers_next(void *state, const struct nd_event *ev, struct nd_step *ret,
			 struct nd_note *note)
{
	answers_heard++;
	nd_load_find("rr")->next(state, ev, ret, note);
}

/* Whether exchanges follow each other in one loop or go step by step: nothing is counted twice, or not at all. Of
 * those in the loop the load hears nothing. */
static void exchanges_add_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(exchange_cases); i++) {
		const struct exchange_case *c = &exchange_cases[i];
		struct rig a = { .wl = { .message_bytes = 10,
					 .request_bytes = c->request,
					 .response_bytes = c->response },
				 .engine = "blocking",
				 .load = "rr",
				 .frame = "plain",
				 .transport = "tcp",
				 .pairs = 1,
				 .wait = nd_wait_find(c->wait),
				 .run_ns = ND_NS_PER_MS },
			   b = a;
		const struct nd_counters *asks = &a.io.c[0], *answers = &b.io.c[0];
		struct nd_load asking = *nd_load_find("rr"), answering = asking;
		struct nd_hist_view times = { 0 };

		a.plan.untimed = b.plan.untimed = c->untimed;
		asking.next = asks_next;
		answering.next = answers_next;
		a.machine = &asking;
		b.machine = &answering;
		asks_heard = answers_heard = 0;
		assert_int_equal(nd_hist_new(&a.times), 0);
		run_two(&a, &b);
		assert_int_equal(nd_hist_read(a.times, &times), 0);
		if (times.count != asks->transactions)
			fail_msg("row %zu: times of round trips", i);
		if (asks->transactions < 2 || asks->tx_messages != asks->transactions ||
		    asks->tx_bytes != c->request * asks->tx_messages ||
		    asks->rx_messages != asks->transactions ||
		    asks->rx_bytes != c->response * asks->rx_messages)
			fail_msg("row %zu: the asking end's counts", i);
		if (answers->rx_messages != asks->transactions ||
		    answers->rx_bytes != asks->tx_bytes ||
		    answers->tx_messages != asks->transactions ||
		    answers->tx_bytes != asks->rx_bytes)
			fail_msg("row %zu: the answering end's counts", i);
		if (c->loops && ND_MAX(asks_heard, answers_heard) >= asks->transactions)
			fail_msg("row %zu: %llu and %llu events, %llu exchanges", i,
				 (unsigned long long)asks_heard, (unsigned long long)answers_heard,
				 (unsigned long long)asks->transactions);
		nd_hist_view_done(&times);
		nd_hist_free(a.times);
	}
}

/* The last receiver comes while the others run; the end is told, since more might come. */
static void add_late(struct rig *r, uint64_t now_ns)
{
	struct nd_flow *late = &r->flows[3];

	if (r->io.flow_count == 3) {
		r->io.flow_count = 4;
		nd_flow_begin(&r->io, late, now_ns);
		assert_int_equal(rig_engine(r->engine)->add(&r->io, late), 0);
	} else if (r->io.done_count == 4) {
		r->io.quit = true;
	}
}

static void takes_late_flows(void **state)
{
	const char *engine;

	(void)state;
	for (size_t n = 0; (engine = rig_alike("epoll", n)); n++) {
		struct rig r = { .wl = { .message_bytes = 100000, .total_bytes = 20000000 },
				 .engine = engine,
				 .load = "stream",
				 .frame = "pattern",
				 .transport = "tcp",
				 .pairs = 2,
				 .on_edge = add_late };

		if (!rig_has(engine))
			continue;
		rig_open(&r);
		rig_engine(engine)->close(&r.io);
		r.io.open_ended = true;
		r.io.flow_count = 3;
		r.io.flow_room = 4;
		assert_int_equal(rig_engine(engine)->open(&r.io, NULL), 0);
		rig_run(&r);
		assert_int_equal(r.io.flow_count, 4);
		assert_int_equal(r.flows[2].c.rx_bytes, 10000000);
		assert_int_equal(r.flows[3].c.rx_bytes, 10000000);
		assert_int_equal(r.io.c[0].rx_corrupt, 0);
		rig_check_sums(&r);
		rig_close(&r);
	}
}

struct null_case {
	const char *load, *frame, *transport;
	uint64_t total, run_ns;
};

static const struct null_case null_cases[] = {
	{ "stream", "plain", "tcp", 0, 20 * ND_NS_PER_MS },
	{ "stream", "plain", "tcp", 1000003, 0 },
	{ "stream", "native", "udp", 0, 20 * ND_NS_PER_MS },
	{ "stream", "native", "udp", 1000003, 0 },
	{ "rr", "plain", "tcp", 0, 20 * ND_NS_PER_MS },
	{ "rr", "native", "udp", 0, 20 * ND_NS_PER_MS },
};

static void null_moves_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(null_cases); i++) {
		const struct null_case *c = &null_cases[i];
		struct rig r = { .wl = { .message_bytes = 1000,
					 .request_bytes = 1000,
					 .response_bytes = 1000,
					 .total_bytes = c->total },
				 .engine = "null",
				 .load = c->load,
				 .frame = c->frame,
				 .transport = c->transport,
				 .pairs = 3,
				 .run_ns = c->run_ns };
		struct nd_counters tx;
		char byte;

		rig_open(&r);
		rig_run(&r);
		tx = rig_sum(&r, true);
		assert_true(tx.tx_bytes > 0);
		assert_int_equal(tx.tx_calls + rig_sum(&r, false).rx_calls, 0);
		if (c->total)
			assert_int_equal(tx.tx_bytes, c->total);
		for (uint32_t n = 0; n < r.pairs; n++)
			assert_true(recv(r.flows[r.pairs + n].fd, &byte, 1, MSG_DONTWAIT) <= 0);
		rig_close(&r);
	}
}

static void finds_by_name(void **state)
{
	const char *help = NULL;

	(void)state;
	for (size_t i = 0; nd_engine_at(i); i++) {
		assert_ptr_equal(nd_engine_find(nd_engine_at(i)->name), nd_engine_at(i));
		assert_string_equal(nd_engine_names(i, &help), nd_engine_at(i)->name);
		assert_non_null(help);
	}
	for (size_t i = 0; nd_xfer_at(i); i++)
		assert_ptr_equal(nd_xfer_find(nd_xfer_at(i)->name, nd_xfer_at(i)->sends,
					      nd_xfer_at(i)->datagram),
				 nd_xfer_at(i));
	for (size_t i = 0; nd_wait_at(i); i++)
		assert_ptr_equal(nd_wait_find(nd_wait_names(i, &help)), nd_wait_at(i));
	assert_null(nd_engine_find("auto"));
	assert_null(nd_engine_find(NULL));
	assert_null(nd_xfer_find("teleport", true, false));
	assert_null(nd_wait_find("nothing"));
}

/* Round trips of many flows go through io_uring where the kernel is new enough; all else does
 * not. */
static void picks_an_engine(void **state)
{
	struct nd_plan plan = { 0 };
	struct nd_lane lane = { .load = nd_load_find("rr"),
				.transport = nd_transport_find("tcp"),
				.tx = nd_xfer_find("copy", true, false),
				.rx = nd_xfer_find("copy", false, false) };
	struct nd_io io = { .plan = &plan, .lanes = &lane, .lane_count = 1, .flow_count = 1 };
	const char *many = "epoll";

	(void)state;
#if ND_HAVE_URING
	many = nd_uring_is_new() ? "uring" : "epoll";
#endif
	assert_string_equal(nd_engine_auto(&io)->name, "blocking");
	io.flow_count = 2;
	assert_string_equal(nd_engine_auto(&io)->name, "epoll");
	io.flow_count = 1000;
	assert_string_equal(nd_engine_auto(&io)->name, many);
	lane.rx = nd_xfer_find("trunc", false, false);
	assert_string_equal(nd_engine_auto(&io)->name, "epoll");
	lane.rx = nd_xfer_find("copy", false, false);
	io.wait = nd_wait_find("spin");
	assert_string_equal(nd_engine_auto(&io)->name, "epoll");
	io.wait = NULL;
	lane.load = nd_load_find("stream");
	assert_string_equal(nd_engine_auto(&io)->name, "epoll");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_streams),
		cmocka_unit_test(moves_in_all_ways),
		cmocka_unit_test(late_receivers_wake_alike),
		cmocka_unit_test(posts_without_a_copy),
		cmocka_unit_test(asks_in_all_ways),
		cmocka_unit_test(two_workers_in_all_ways),
		cmocka_unit_test(moves_requests),
		cmocka_unit_test(keeps_errors),
		cmocka_unit_test(notices_closed_peer),
		cmocka_unit_test(wakes),
		cmocka_unit_test(wakes_again),
		cmocka_unit_test(two_workers_stream),
		cmocka_unit_test(two_workers_rr),
		cmocka_unit_test(untimed_rr),
		cmocka_unit_test(silent_peer),
		cmocka_unit_test(is_exact),
		cmocka_unit_test(spinning_rr),
		cmocka_unit_test(exchanges_add_up),
		cmocka_unit_test(takes_late_flows),
		cmocka_unit_test(null_moves_nothing),
		cmocka_unit_test(finds_by_name),
		cmocka_unit_test(picks_an_engine),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* workers have it blocked */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
