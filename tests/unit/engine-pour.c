/* SPDX-License-Identifier: MIT */
/* A stream that has its worker to itself goes round in a short loop: what it counts is what the other end sees. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <poll.h>
#include <pthread.h>

#include "base/fd.h"
#include "engine-rig.h"

#define MESSAGE 100u
#define SENDS   20000u
#define EDGE_NS (100 * ND_NS_PER_MS) /* far enough for calls to wait */
#define RUN_NS  (300 * ND_NS_PER_MS)
#define TRIES   5 /* on a machine that stands still now and then */

/* One end in its worker, @active or not; the other is the test's, and blocks. */
static int open_one(struct rig *r, bool active)
{
	struct nd_err err = { 0 };
	int fd;

	rig_open(r);
	rig_engine(r->engine)->close(&r->io);
	r->io.flow_count = 1;
	r->io.flows = &r->flows[!active];
	assert_int_equal(rig_engine(r->engine)->open(&r->io, &err), 0);
	assert_true(r->io.patient && r->io.one_way);
	fd = r->flows[active].fd;
	assert_int_equal(nd_nonblock(fd, false, NULL), 0);
	return fd;
}

static void close_one(struct rig *r)
{
	r->io.flows = r->flows;
	r->io.flow_count = 2;
	rig_close(r);
}

static void run_one(struct rig *r)
{
	struct nd_err err = { 0 };

	r->start_ns = nd_now_ns();
	r->io.edge_ns = r->start_ns + EDGE_NS;
	r->deadline_ns = r->start_ns + RIG_PATIENCE_NS;
	nd_flow_begin(&r->io, r->io.flows, r->start_ns);
	assert_int_equal(rig_engine(r->engine)->run(&r->io, &err), 0);
	assert_false(r->late);
}

static void far(struct rig *r, uint64_t now_ns)
{
	r->io.edge_ns = now_ns + EDGE_NS;
	r->io.stop_sending = now_ns >= r->start_ns + RUN_NS;
}

static struct rig rig_of(uint64_t message)
{
	return (struct rig){ .wl = { .message_bytes = message },
			     .engine = "blocking",
			     .load = "stream",
			     .frame = "plain",
			     .transport = "tcp",
			     .pairs = 1,
			     .on_edge = far };
}

struct other {
	int fd;
	uint64_t sum, most; /* bytes; of .most it resets the connection, 0: never */
};

static void reset(int fd)
{
	struct linger hard = { .l_onoff = 1 };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	assert_int_equal(close(fd), 0);
}

static void *read_all(void *at)
{
	static uint8_t room[65536];
	struct other *o = at;
	ssize_t n;

	while ((n = read(o->fd, room, sizeof(room))) > 0) {
		o->sum += (uint64_t)n;
		if (o->most && o->sum >= o->most)
			break;
	}
	if (o->most)
		reset(o->fd);
	return NULL;
}

static void *write_all(void *at)
{
	static const uint8_t from[MESSAGE];
	struct other *o = at;
	ssize_t n = 1;

	for (unsigned i = 0; i < SENDS && n > 0; i++) {
		n = send(o->fd, from, sizeof(from), MSG_NOSIGNAL);
		o->sum += n > 0 ? (uint64_t)n : 0;
	}
	(void)shutdown(o->fd, SHUT_WR); /* it stands, or the sums differ */
	return NULL;
}

static struct other run_beside(struct rig *r, bool active, uint64_t most)
{
	struct other o = { .fd = open_one(r, active), .most = most };
	pthread_t other;

	assert_int_equal(pthread_create(&other, NULL, active ? read_all : write_all, &o), 0);
	run_one(r);
	assert_int_equal(pthread_join(other, NULL), 0);
	return o;
}

/* Short and long messages, and those that the socket takes in parts. */
static void counts_what_is_sent(void **state)
{
	static const uint64_t messages[] = { 1, MESSAGE, 16384, 1 << 20, 5 << 20 };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(messages); i++) {
		struct rig r = rig_of(messages[i]);
		struct other o = run_beside(&r, true, 0);
		const struct nd_counters *c = &r.flows[0].c;
		uint64_t whole = c->tx_messages * messages[i];

		assert_int_equal(r.flows[0].error, 0);
		assert_int_equal(c->tx_bytes, o.sum);
		assert_int_equal(r.io.c[0].tx_bytes, o.sum);
		/* the first one may be shorter, the last one may be in part */
		assert_in_range(c->tx_bytes + 2 * messages[i] - whole, messages[i],
				3 * messages[i]);
		assert_true(c->tx_calls >= c->tx_messages && c->tx_messages > 1);
		assert_true(r.flows[0].last_ns > r.flows[0].first_ns && r.flows[0].first_ns);
		assert_true(r.flows[0].last_ns <= nd_now_ns());
		close_one(&r);
	}
}

static void counts_what_comes(void **state)
{
	struct rig r = rig_of(MESSAGE);
	struct other o = run_beside(&r, false, 0);
	const struct nd_counters *c = &r.flows[1].c;

	(void)state;
	assert_int_equal(o.sum, (uint64_t)SENDS * MESSAGE);
	assert_int_equal(c->rx_bytes, o.sum);
	assert_int_equal(r.io.c[0].rx_bytes, o.sum);
	assert_true(c->rx_messages > 0 && c->rx_calls > c->rx_messages); /* the end is a call */
	assert_int_equal(r.flows[1].state, ND_FLOW_DONE);
	assert_int_equal(r.flows[1].error, 0);
	close_one(&r);
}

/* The reader goes away in the middle: an error of the flow, which keeps what it has counted. */
static void tells_a_reset(void **state)
{
	struct rig r = rig_of(MESSAGE);
	struct other o = run_beside(&r, true, 100 * MESSAGE);

	(void)state;
	assert_true(r.flows[0].error == -EPIPE || r.flows[0].error == -ECONNRESET);
	assert_int_equal(r.flows[0].state, ND_FLOW_DONE);
	assert_true(r.flows[0].c.tx_bytes >= o.sum);
	r.flows[1].fd = -1; /* the reader has closed it */
	close_one(&r);
}

/* Somebody wakes the worker while it goes round. */
static void looks_around(void **state)
{
	struct rig r = rig_of(16384);
	struct other o = { .fd = open_one(&r, true) };
	uint64_t one = 1;
	pthread_t reader;

	(void)state;
	assert_int_equal(write(r.io.wake_fd, &one, sizeof(one)), sizeof(one));
	assert_int_equal(pthread_create(&reader, NULL, read_all, &o), 0);
	run_one(&r);
	assert_int_equal(pthread_join(reader, NULL), 0);
	assert_int_equal(r.wakes, 1);
	assert_true(r.edges >= 1);
	assert_int_equal(r.flows[0].c.tx_bytes, o.sum);
	close_one(&r);
}

static void sample(struct rig *r, uint64_t now_ns)
{
	far(r, now_ns);
	r->io.edge_ns = r->start_ns + RUN_NS; /* no other is due */
	r->io.sample_ns = now_ns + EDGE_NS / 10;
}

/* What is to be done now and then is done between two calls that wait, and keeps none of them from waiting. */
static void takes_samples(void **state)
{
	bool seen = false;

	(void)state;
	for (unsigned n = 0; n < TRIES && !seen; n++) {
		struct rig r = rig_of(16384);
		struct other o = { .fd = open_one(&r, true) };
		pthread_t reader;

		r.on_edge = sample;
		r.io.sample_ns = 1;
		assert_int_equal(pthread_create(&reader, NULL, read_all, &o), 0);
		run_one(&r);
		assert_int_equal(pthread_join(reader, NULL), 0);
		assert_int_equal(r.flows[0].c.tx_bytes, o.sum);
		seen = r.edges >= RUN_NS / EDGE_NS * 3;
		close_one(&r);
	}
	assert_true(seen);
}

/* What has a limit, a rate or sizes in turn is no repetition. */
static void knows_its_kind(void **state)
{
	static struct nd_size two[] = { { .bytes = 10, .count = 1 }, { .bytes = 20, .count = 1 } };

	static const struct {
		struct nd_workload wl;
		double bytes_per_s;
		uint64_t bytes;
		bool want;
	} rows[] = {
		{ { .message_bytes = 7 }, 0, 0, true },
		{ { .message_bytes = 7 }, 1e6, 0, false },
		{ { .message_bytes = 7, .total_bytes = 70 }, 0, 70, false },
		{ { .message_bytes = 7, .sizes = { .v = two, .n = 2 } }, 0, 0, false },
	};
	const struct nd_load *load = nd_load_find("stream");

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_load_cfg cfg = { .workload = &rows[i].wl,
					   .active = true,
					   .bytes = rows[i].bytes,
					   .bytes_per_s = rows[i].bytes_per_s };
		void *s = calloc(1, load->state_bytes);
		struct nd_cycle c = { 0 };

		assert_non_null(s);
		assert_int_equal(load->init(s, &cfg), 0);
		assert_int_equal(load->repeats(s, &c), rows[i].want);
		assert_int_equal(c.one_way, rows[i].want);
		assert_int_equal(c.tx, rows[i].want ? 7 : 0);
		free(s);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_what_is_sent), cmocka_unit_test(counts_what_comes),
		cmocka_unit_test(tells_a_reset),       cmocka_unit_test(looks_around),
		cmocka_unit_test(takes_samples),       cmocka_unit_test(knows_its_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
