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

#include <linux/sock_diag.h>

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

/* The first flow sends to a socket that is closed. */
static const struct nd_flow *run_unheard(struct rig *r)
{
	rig_open(r);
	close(r->flows[1].fd);
	r->flows[1].fd = -1;
	r->flows[1].state = ND_FLOW_DONE;
	r->io.done_count = 1;
	r->start_ns = nd_now_ns();
	r->deadline_ns = r->start_ns + RIG_PATIENCE_NS;
	r->io.edge_ns = r->start_ns + RIG_EDGE_NS;
	nd_flow_begin(&r->io, &r->flows[0], r->start_ns);
	assert_int_equal(rig_engine(r->engine)->run(&r->io, NULL), 0);
	assert_false(r->late);
	return &r->flows[0];
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
		f = run_unheard(&r);
		assert_int_equal(f->error, 0);
		assert_true(f->c.tx_refused > 0);
		assert_int_equal(f->tx.next, f->c.tx_messages);
		rig_close(&r);
	}
}

/* ---- ways to send and to receive */

struct way_case {
	const char *tx, *rx, *frame;
	uint64_t message, total;
};

/* Sizes around the header's, largest ones, totals that are no multiples, more than one piece and one call. */
/* clang-format off */
static const struct way_case ways[] = {
	{ "gso",  "copy",  "native",  1,     300 },
	{ "gso",  "copy",  "native",  7,     2807 },
	{ "gso",  "copy",  "native",  8,     40000 },
	{ "gso",  "copy",  "native",  15,    15 * 333 + 9 },
	{ "gso",  "copy",  "pattern", 16,    16 * 129 },
	{ "gso",  "copy",  "pattern", 1472,  1472 * 45 + 3 },
	{ "gso",  "copy",  "pattern", 32753, 32753 * 5 },
	{ "gso",  "copy",  "native",  65507, 65507 * 3 },
	{ "gso",  "copy",  "plain",   100,   100 * 1000 + 1 },
	{ "gso",  "gro",   "native",  1,     100000 },
	{ "gso",  "gro",   "native",  7,     70003 },
	{ "gso",  "gro",   "pattern", 8,     8 * 5000 },
	{ "gso",  "gro",   "pattern", 15,    15 * 5000 + 8 },
	{ "gso",  "gro",   "pattern", 16,    16 * 2048 * 3 + 9 },
	{ "gso",  "gro",   "pattern", 1472,  1472 * 2500 + 11 },
	{ "gso",  "gro",   "pattern", 20000, 20000 * 7 + 16 },
	{ "gso",  "gro",   "native",  65507, 65507 * 3 + 1 },
	{ "gso",  "gro",   "plain",   14,    14 * 10000 },
	{ "gso",  "trunc", "native",  1000,  1000 * 500 + 13 },
	{ "copy", "gro",   "pattern", 14,    14 * 500 + 10 },
	{ "copy", "gro",   "native",  65507, 65507 * 4 },
	{ "copy", "trunc", "native",  1,     300 },
	{ "copy", "trunc", "native",  8,     800 },
	{ "copy", "trunc", "native",  1472,  1472 * 300 + 5 },
	{ "copy", "trunc", "native",  65507, 65507 * 5 },
	{ "copy", "trunc", "jitter",  100,   100 * 300 },
	{ "copy", "trunc", "plain",   500,   500 * 300 },
	{ "sendto", "copy", "native", 1,     300 },
	{ "sendto", "copy", "plain",  100,   100 * 300 + 1 },
	{ "sendto", "gro",  "pattern", 1472, 1472 * 300 + 5 },
	{ "sendto", "copy", "native", 65507, 65507 * 3 },
};

/* clang-format on */

static struct rig way_rig(const struct way_case *c, const char *engine, uint32_t pairs)
{
	return (struct rig){ .wl = { .message_bytes = c->message, .total_bytes = c->total * pairs },
			     .engine = engine,
			     .load = "stream",
			     .frame = c->frame,
			     .transport = "udp",
			     .tx_name = c->tx,
			     .rx_name = c->rx,
			     .pairs = pairs };
}

static void check_way(const struct way_case *c, const struct rig *r)
{
	struct nd_counters tx = rig_sum(r, true), rx = rig_sum(r, false);
	bool in_pieces = strcmp(c->tx, "gso") == 0 && r->io.told[0].tx_segments > 1 &&
			 tx.tx_messages >= 2 * r->pairs;

	if (tx.tx_bytes != rx.rx_bytes || tx.tx_messages != rx.rx_messages ||
	    tx.tx_bytes != r->wl.total_bytes || rx.rx_corrupt || rx.rx_foreign)
		fail_msg("%s to %s, %s of %llu: sent %llu in %llu, received %llu in %llu", c->tx,
			 c->rx, c->frame, (unsigned long long)c->message,
			 (unsigned long long)tx.tx_bytes, (unsigned long long)tx.tx_messages,
			 (unsigned long long)rx.rx_bytes, (unsigned long long)rx.rx_messages);
	assert_int_equal(rx.rx_duplicate + rx.rx_reordered + rx.rx_dropped, 0);
	assert_int_equal(rx.rx_unique, rx.rx_highest);
	assert_int_equal(tx.tx_refused, 0);
	if (in_pieces ? tx.tx_stacked >= tx.tx_messages : tx.tx_stacked != tx.tx_messages)
		fail_msg("%s of %llu: %llu sent in %llu passes", c->tx,
			 (unsigned long long)c->message, (unsigned long long)tx.tx_messages,
			 (unsigned long long)tx.tx_stacked);
	in_pieces &= strcmp(c->rx, "gro") == 0;
	if (in_pieces ? rx.rx_stacked >= rx.rx_messages : rx.rx_stacked != rx.rx_messages)
		fail_msg("%s to %s of %llu: %llu received in %llu pieces", c->tx, c->rx,
			 (unsigned long long)c->message, (unsigned long long)rx.rx_messages,
			 (unsigned long long)rx.rx_stacked);
	rig_check_sums(r);
}

static void moves_all_ways(void **state)
{
	static const char *const engines[] = { "blocking", "epoll" };

	(void)state;
	for (size_t i = 0; i < 2 * ND_COUNTOF(ways); i++) {
		const struct way_case *c = &ways[i / 2];
		/* so that all of it fits the receive buffers */
		struct rig r = way_rig(c, engines[i % 2], c->total < 500000 && i % 2 ? 3 : 1);

		rig_open(&r);
		rig_run(&r);
		check_way(c, &r);
		rig_close(&r);
	}
}

static void check_apart(const struct rig *r)
{
	for (uint32_t i = 0; i < r->pairs; i++) {
		struct nd_addr at = { .len = sizeof(at.u) }, peer = at;

		assert_int_equal(getpeername(r->flows[i].fd, &peer.u.sa, &peer.len), -1);
		assert_int_equal(errno, ENOTCONN);
		assert_int_equal(getsockname(r->flows[i].fd, &at.u.sa, &at.len), 0);
		peer.len = sizeof(peer.u);
		assert_int_equal(getpeername(r->flows[r->pairs + i].fd, &peer.u.sa, &peer.len), 0);
		assert_true(nd_addr_equal(&at, &peer));
	}
}

/* Sockets that send have no peer, and still the address by which theirs knows them; those that answer keep theirs. */
static void sends_apart(void **state)
{
	static const struct way_case c = { "sendto", "copy", "native", 100, 5000 };
	static const char *const loads[] = { "stream", "rr" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(loads); i++) {
		struct rig r = way_rig(&c, "epoll", 3);
		struct nd_counters tx, rx;

		r.load = loads[i];
		r.wl.request_bytes = r.wl.response_bytes = 100;
		rig_open(&r);
		check_apart(&r);
		rig_run(&r);
		tx = rig_sum(&r, true);
		rx = rig_sum(&r, false);
		assert_int_equal(tx.tx_messages, 150);
		assert_int_equal(rx.rx_unique, 150);
		assert_int_equal(tx.rx_messages, rx.tx_messages);
		assert_int_equal(rx.tx_messages, i * 150);
		rig_check_sums(&r);
		rig_close(&r);
	}
}

/* Nor do they hear that nobody listens. */
static void hears_no_refusals(void **state)
{
	static const struct way_case c = { "sendto", "copy", "native", 100, 1000 };
	struct rig r = way_rig(&c, "blocking", 1);
	const struct nd_flow *f;

	(void)state;
	f = run_unheard(&r);
	assert_int_equal(f->error, 0);
	assert_int_equal(f->c.tx_refused, 0);
	assert_int_equal(f->c.tx_messages, 10);
	rig_close(&r);
}

/* A socket that sends no checksums takes no pieces: they go one by one, none is lost, and it is said. */
static void gives_in(void **state)
{
	static const struct way_case c = { "gso", "gro", "pattern", 100, 100003 };
	struct rig r = way_rig(&c, "blocking", 1);
	const int on = 1;
	struct nd_counters tx, rx;

	(void)state;
	rig_open(&r);
	assert_int_equal(setsockopt(r.flows[0].fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)), 0);
	rig_run(&r);
	tx = rig_sum(&r, true);
	rx = rig_sum(&r, false);
	assert_int_equal(r.io.told[0].tx_refused, EINVAL);
	assert_int_equal(r.io.told[0].tx_segments, 1);
	assert_int_equal(tx.tx_bytes, 100003);
	assert_int_equal(rx.rx_bytes, 100003);
	assert_int_equal(rx.rx_unique, tx.tx_messages);
	assert_int_equal(rx.rx_highest, tx.tx_messages);
	assert_int_equal(rx.rx_corrupt + tx.tx_refused, 0);
	assert_int_equal(tx.tx_stacked, tx.tx_messages);
	rig_close(&r);
}

static uint32_t socket_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0)
		return 0;
	return info[SK_MEMINFO_DROPS];
}

static void count_drops(struct rig *r, uint64_t now_ns)
{
	(void)now_ns;
	r->eaten = socket_drops(r->flows[1].fd) - r->flows[1].drops_before;
}

/* What a full buffer drops is told by its socket; what it had dropped before is not the run's. */
static void counts_drops(void **state)
{
	static const struct way_case cases_of_loss[] = {
		{ "copy", "copy", "native", 1000, 500000 },
		{ "copy", "trunc", "native", 1000, 500000 },
		{ "gso", "copy", "native", 1000, 500000 },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cases_of_loss); i++) {
		struct rig r = way_rig(&cases_of_loss[i], "epoll", 1);
		const int small = 8192;
		const struct nd_flow *f;

		r.on_edge = count_drops;
		rig_open(&r);
		f = &r.flows[1];
		assert_int_equal(setsockopt(f->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)),
				 0);
		rig_run(&r);
		assert_true(f->drops_known);
		r.lane.rx->close(&r.io, 0);
		assert_true(f->c.rx_dropped > 0);
		assert_int_equal(f->c.rx_dropped + f->c.rx_messages, r.flows[0].c.tx_messages);
		rig_check_sums(&r);
		rig_close(&r);
	}
}

/* Pieces that nobody listens for: each of their datagrams is refused, their numbers are used again. */
static void refuses_whole_pieces(void **state)
{
	static const struct way_case c = { "gso", "gro", "native", 100, 0 };
	struct rig r = way_rig(&c, "epoll", 1);
	const struct nd_flow *f;

	(void)state;
	r.wl.rate_bps = 80000000;
	r.run_ns = 30 * ND_NS_PER_MS;
	f = run_unheard(&r);
	assert_int_equal(f->error, 0);
	assert_true(f->c.tx_refused > 1);
	assert_int_equal(f->tx.next, f->c.tx_messages);
	rig_close(&r);
}

/* Strangers' datagrams, empty ones among them, do not hide in what comes in pieces. */
static void counts_foreign_in_pieces(void **state)
{
	static const struct way_case c = { "gso", "gro", "native", 100, 20000 };
	static const size_t sizes[] = { 0, 100, 2000 };
	uint8_t junk[2000] = { 0xee, 0xee };
	struct rig r = way_rig(&c, "blocking", 1);

	(void)state;
	rig_open(&r);
	for (size_t i = 0; i < ND_COUNTOF(sizes); i++)
		assert_int_equal(send(r.flows[0].fd, junk, sizes[i], 0), sizes[i]);
	rig_run(&r);
	assert_int_equal(r.flows[1].c.rx_foreign, ND_COUNTOF(sizes));
	assert_int_equal(r.flows[1].c.rx_bytes, 20000);
	assert_int_equal(r.flows[1].c.rx_unique, 200);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_datagrams),
		cmocka_unit_test(moves_requests),
		cmocka_unit_test(survives_lost_answers),
		cmocka_unit_test(counts_foreign),
		cmocka_unit_test(survives_refusals),
		cmocka_unit_test(moves_all_ways),
		cmocka_unit_test(sends_apart),
		cmocka_unit_test(hears_no_refusals),
		cmocka_unit_test(gives_in),
		cmocka_unit_test(counts_drops),
		cmocka_unit_test(refuses_whole_pieces),
		cmocka_unit_test(counts_foreign_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
