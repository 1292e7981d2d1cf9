/* SPDX-License-Identifier: MIT */
/* Datagrams through the backends: batches, pacing, answers, lost ones, foreign ones, refusals. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "engine-rig.h"

struct datagram_case {
	const char *name, *engine, *frame;
	uint32_t pairs;
	uint64_t message, total, run_ns, rate_bps;
};

/* Totals stay below what a receive buffer holds: the sender may run far ahead of the receiver. */
/* clang-format off */
static const struct datagram_case cases[] = {
	{ "bytes",     "blocking", "native",  1,  1000,  200500, 0, 0 },
	{ "bytes",     "epoll",    "native",  1,  1000,  200500, 0, 0 },
	{ "batch",     "blocking", "native",  1,  14,    1400,   0, 0 },
	{ "one byte",  "epoll",    "native",  2,  1,     200,    0, 0 },
	{ "plain",     "epoll",    "plain",   3,  100,   30050,  0, 0 },
	{ "pattern",   "blocking", "pattern", 1,  500,   50007,  0, 0 },
	{ "pattern",   "epoll",    "pattern", 4,  15,    3000,   0, 0 },
	{ "largest",   "epoll",    "native",  1,  65507, 655070, 0, 0 },
	{ "tail of 3", "epoll",    "native",  1,  100,   1003,   0, 0 },
	{ "many",      "epoll",    "native",  50, 200,   100000, 0, 0 },
	{ "slow",      "epoll",    "native",  1,  100,   0, 50000000, 800000 },
	{ "rate",      "blocking", "native",  1,  100,   0, 50000000, 40000000 },
	{ "rate",      "epoll",    "native",  10, 100,   0, 50000000, 40000000 },
};

/* clang-format on */

static void check_numbers(const struct datagram_case *c, const struct nd_counters *tx,
			  const struct nd_counters *rx)
{
	uint64_t tail = c->total % c->message;

	if (strcmp(c->frame, "plain") == 0 || c->message < 8) {
		assert_int_equal(rx->rx_unique + rx->rx_highest, 0);
		return;
	}
	assert_int_equal(rx->rx_duplicate + rx->rx_reordered, 0);
	assert_int_equal(rx->rx_unique, rx->rx_highest);
	/* a last message without room for a header is lent some bytes by the one before it, where that can */
	assert_int_equal(rx->rx_unique,
			 tx->tx_messages - (tail > 0 && tail < 8 && c->message < 16));
}

static void check_case(const struct datagram_case *c, const struct rig *r)
{
	struct nd_counters tx = rig_sum(r, true), rx = rig_sum(r, false);

	if (tx.tx_bytes != rx.rx_bytes || tx.tx_messages != rx.rx_messages)
		fail_msg("%s %s: sent %llu in %llu, received %llu in %llu", c->name, c->engine,
			 (unsigned long long)tx.tx_bytes, (unsigned long long)tx.tx_messages,
			 (unsigned long long)rx.rx_bytes, (unsigned long long)rx.rx_messages);
	if (c->total)
		assert_int_equal(tx.tx_bytes, c->total);
	assert_int_equal(tx.tx_refused + rx.rx_foreign + rx.rx_corrupt, 0);
	check_numbers(c, &tx, &rx);
	if (strcmp(c->name, "batch") == 0)
		assert_true(tx.tx_calls <= 2 && rx.rx_calls < 10);
	if (strcmp(c->name, "slow") == 0) /* 1 ms each: sent one by one */
		assert_true(tx.tx_calls == tx.tx_messages && tx.tx_messages <= 61);
	if (c->rate_bps)
		assert_true(tx.tx_bytes <= c->rate_bps / 8 / 10); /* twice the time */
	rig_check_sums(r);
}

static void move_datagrams(const struct datagram_case *row, const char *engine)
{
	struct datagram_case c = *row;
	struct rig r = { .wl = { .message_bytes = c.message,
				 .total_bytes = c.total,
				 .rate_bps = c.rate_bps,
				 .first_flow = (1 << 24) - 1 },
			 .engine = engine,
			 .load = "stream",
			 .frame = c.frame,
			 .transport = "udp",
			 .pairs = c.pairs,
			 .run_ns = c.run_ns };

	c.engine = engine;
	rig_open(&r);
	rig_run(&r);
	check_case(&c, &r);
	rig_close(&r);
}

static void moves_datagrams(void **state)
{
	const char *engine;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cases); i++)
		for (size_t n = 0; (engine = rig_alike(cases[i].engine, n)); n++)
			if (rig_has(engine))
				move_datagrams(&cases[i], engine);
}

struct rr_case {
	const char *engine, *frame;
	uint32_t pairs;
	uint64_t request, response, total;
};

static const struct rr_case rr_cases[] = {
	{ "blocking", "native", 1, 14, 14, 14 * 200 },
	{ "epoll", "native", 1, 14, 14, 14 * 200 },
	{ "epoll", "pattern", 20, 100, 1000, 100 * 400 },
	{ "epoll", "native", 3, 100, 1, 100 * 300 },
	{ "blocking", "native", 3, 1, 100, 300 },
	{ "epoll", "plain", 3, 10, 100, 3000 },
};

static void move_requests(const struct rr_case *c, const char *engine)
{
	struct rig r = { .wl = { .message_bytes = c->request,
				 .request_bytes = c->request,
				 .response_bytes = c->response,
				 .total_bytes = c->total },
			 .engine = engine,
			 .load = "rr",
			 .frame = c->frame,
			 .transport = "udp",
			 .pairs = c->pairs };
	struct nd_counters tx;

	rig_open(&r);
	rig_run(&r);
	tx = rig_sum(&r, true);
	assert_int_equal(tx.tx_bytes, c->total);
	assert_int_equal(tx.transactions, c->total / c->request);
	assert_int_equal(tx.rx_bytes, tx.transactions * c->response);
	assert_int_equal(tx.rx_foreign + tx.rx_corrupt + tx.rx_duplicate, 0);
	rig_check_sums(&r);
	rig_close(&r);
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

/* The first request is swallowed; then the answering end begins. */
static void eat_one(struct rig *r, uint64_t now_ns)
{
	uint8_t eaten[20];

	if (r->flows[1].state == ND_FLOW_IDLE &&
	    recv(r->flows[1].fd, eaten, sizeof(eaten), MSG_DONTWAIT) == sizeof(eaten))
		nd_flow_begin(&r->io, &r->flows[1], now_ns);
}

/* An answer that does not come is given up after a second; one that comes late belongs to nobody. */
static void survives_lost_answers(void **state)
{
	static const char *const engines[] = { "blocking", "epoll", "uring", "uring-old" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(engines); i++) {
		struct rig r = { .wl = { .message_bytes = 20,
					 .request_bytes = 20,
					 .response_bytes = 20,
					 .total_bytes = 60 },
				 .engine = engines[i],
				 .load = "rr",
				 .frame = "native",
				 .transport = "udp",
				 .pairs = 1,
				 .eaten = 1,
				 .on_edge = eat_one };
		/* an answer to a request that was never made: flow 0, number 77 */
		const uint8_t stale[20] = { [7] = 77 };

		if (!rig_has(engines[i]))
			continue;
		rig_open(&r);
		assert_int_equal(send(r.flows[1].fd, stale, sizeof(stale), 0), sizeof(stale));
		r.start_ns = nd_now_ns();
		r.deadline_ns = r.start_ns + RIG_PATIENCE_NS;
		r.io.edge_ns = r.start_ns + RIG_EDGE_NS;
		nd_flow_begin(&r.io, &r.flows[0], r.start_ns);
		assert_int_equal(rig_engine(engines[i])->run(&r.io, NULL), 0);
		assert_false(r.late);
		assert_int_equal(r.flows[0].c.tx_messages, 3);
		assert_int_equal(r.flows[0].c.transactions, 2);
		assert_int_equal(r.flows[0].c.rx_messages, 3);
		assert_true(nd_now_ns() - r.start_ns >= ND_NS_PER_S);
		rig_close(&r);
	}
}

static void count_foreign(const char *engine, bool big)
{
	struct rig r = { .wl = { .message_bytes = 100, .total_bytes = 1000 },
			 .engine = engine,
			 .load = "stream",
			 .frame = "native",
			 .transport = "udp",
			 .pairs = 1 };
	uint8_t junk[2000] = { 0xee, 0xee };

	rig_open(&r);
	assert_true(send(r.flows[0].fd, junk, big ? sizeof(junk) : 100, 0) > 0);
	rig_run(&r);
	assert_int_equal(r.flows[1].c.rx_foreign, 1);
	assert_int_equal(r.flows[1].c.rx_bytes, 1000);
	assert_int_equal(r.flows[1].c.rx_messages, 10);
	assert_int_equal(r.flows[1].c.rx_unique, 10);
	rig_close(&r);
}

/* What others send to a flow's socket is counted apart. */
static void counts_foreign(void **state)
{
	const char *engine;

	(void)state;
	for (size_t n = 0; (engine = rig_alike("epoll", n)); n++) {
		if (!rig_has(engine))
			continue;
		count_foreign(engine, false);
		count_foreign(engine, true);
	}
}

/* A port nobody listens on: refusals are counted, the sender goes on, numbers are not used up. */
static void survives_refusals(void **state)
{
	static const char *const engines[] = { "blocking", "epoll", "uring", "uring-old" };

	(void)state;
	for (size_t i = 0; i < 2 * ND_COUNTOF(engines); i++) {
		struct rig r = {
			.wl = { .message_bytes = 100, .total_bytes = 0, .rate_bps = 8000000 },
			.engine = engines[i / 2],
			.load = "stream",
			.frame = "native",
			.transport = "udp",
			.pairs = 1,
			.run_ns = 30 * ND_NS_PER_MS
		};
		const struct nd_flow *f;

		if (!rig_has(r.engine))
			continue;
		rig_open(&r);
		f = &r.flows[0];
		close(r.flows[1].fd);
		r.flows[1].fd = -1;
		r.flows[1].state = ND_FLOW_DONE;
		r.io.done_count = 1;
		r.start_ns = nd_now_ns();
		r.deadline_ns = r.start_ns + RIG_PATIENCE_NS;
		r.io.edge_ns = r.start_ns + RIG_EDGE_NS;
		nd_flow_begin(&r.io, &r.flows[0], r.start_ns);
		assert_int_equal(rig_engine(r.engine)->run(&r.io, NULL), 0);
		assert_false(r.late);
		assert_int_equal(f->error, 0);
		assert_true(f->c.tx_refused > 0);
		assert_int_equal(f->tx.next, f->c.tx_messages);
		rig_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_datagrams),       cmocka_unit_test(moves_requests),
		cmocka_unit_test(survives_lost_answers), cmocka_unit_test(counts_foreign),
		cmocka_unit_test(survives_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
