/* SPDX-License-Identifier: MIT */
/* A worker's only flow waits inside the calls that send: it says so to the socket, and leaves in time. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include "base/fd.h"
#include "engine-rig.h"

#define MESSAGE (1u << 20)
#define TOTAL   (16ull * MESSAGE)
#define SNDBUF \
	(128 << 10) /* more than a segment of loopback: less waits for late acknowledgements */
#define FAR_NS (300 * ND_NS_PER_MS)
#define TRIES  5

static const char *const ways[] = { "copy", "splice", "sendfile" };

/* The sender alone in its worker; the other end is the test's. */
static int open_alone(struct rig *r)
{
	struct nd_err err = { 0 };

	rig_open(r);
	rig_engine(r->engine)->close(&r->io);
	r->io.flow_count = 1;
	assert_int_equal(rig_engine(r->engine)->open(&r->io, &err), 0);
	assert_true(r->io.patient && r->io.one_way);
	assert_int_equal(nd_nonblock(r->flows[1].fd, false, NULL), 0);
	return r->flows[1].fd;
}

static void close_alone(struct rig *r)
{
	r->io.flow_count = 2;
	rig_close(r);
}

static void run_alone(struct rig *r)
{
	struct nd_err err = { 0 };

	r->start_ns = nd_now_ns();
	r->io.edge_ns = r->start_ns + FAR_NS;
	r->deadline_ns = r->start_ns + RIG_PATIENCE_NS;
	nd_flow_begin(&r->io, &r->flows[0], r->start_ns);
	assert_int_equal(rig_engine(r->engine)->run(&r->io, &err), 0);
	assert_false(r->late);
}

static uint64_t read_all(int fd)
{
	static uint8_t room[65536];
	uint64_t sum = 0;
	ssize_t n;

	while ((n = read(fd, room, sizeof(room))) > 0)
		sum += (uint64_t)n;
	return sum;
}

static void *read_apart(void *at)
{
	uint64_t *sum = at;

	*sum = read_all((int)*sum);
	return NULL;
}

static void far(struct rig *r, uint64_t now_ns)
{
	r->io.edge_ns = now_ns + FAR_NS;
}

/* While somebody reads, calls return when all is sent: few are cut short, and then by the guard alone. */
static void waits_in_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(ways); i++) {
		uint64_t least = UINT64_MAX;

		for (unsigned n = 0; n < TRIES && least > TOTAL / MESSAGE; n++) {
			struct rig r = { .wl = { .message_bytes = MESSAGE, .total_bytes = TOTAL },
					 .engine = "blocking",
					 .load = "stream",
					 .frame = "plain",
					 .transport = "tcp",
					 .tx_name = ways[i],
					 .pairs = 1,
					 .sndbuf = SNDBUF,
					 .on_edge = far };
			uint64_t sum = (uint64_t)open_alone(&r);
			pthread_t reader;

			assert_int_equal(pthread_create(&reader, NULL, read_apart, &sum), 0);
			run_alone(&r);
			assert_int_equal(pthread_join(reader, NULL), 0);
			assert_int_equal(r.flows[0].error, 0);
			assert_int_equal(r.flows[0].c.tx_bytes, TOTAL);
			assert_int_equal(sum, TOTAL);
			least = ND_MIN(least, r.flows[0].c.tx_blocked);
			close_alone(&r);
		}
		/* a call that does not wait is cut short by each buffer that is full: hundreds of times */
		if (least > TOTAL / MESSAGE)
			fail_msg("%s: %llu calls were cut short", ways[i],
				 (unsigned long long)least);
	}
}

static void quit(struct rig *r, uint64_t now_ns)
{
	assert_true(now_ns >= r->start_ns + FAR_NS);
	r->io.quit = true;
}

/* Nobody reads: the edge is seen all the same, and what was counted is what the socket took. */
static void leaves_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(ways); i++) {
		struct rig r = { .wl = { .message_bytes = MESSAGE },
				 .engine = "blocking",
				 .load = "stream",
				 .frame = "plain",
				 .transport = "tcp",
				 .tx_name = ways[i],
				 .pairs = 1,
				 .sndbuf = SNDBUF,
				 .on_edge = quit };
		int fd = open_alone(&r);

		run_alone(&r);
		assert_int_equal(r.edges, 1);
		assert_true(r.flows[0].c.tx_bytes > 0);
		assert_true(r.flows[0].c.tx_blocked > 0);
		assert_int_equal(shutdown(r.flows[0].fd, SHUT_WR), 0);
		assert_int_equal(read_all(fd), r.flows[0].c.tx_bytes);
		close_alone(&r);
	}
}

/* What cannot be told not to block is asked of the socket, before each call anew. */
static void settles(void **state)
{
	struct rig r = { .wl = { .message_bytes = MESSAGE },
			 .engine = "blocking",
			 .load = "stream",
			 .frame = "plain",
			 .transport = "tcp",
			 .tx_name = "splice",
			 .pairs = 1 };

	(void)state;
	(void)open_alone(&r);
	for (unsigned i = 0; i < 4; i++) {
		nd_io_settle(&r.io, &r.flows[0], i % 2);
		assert_int_equal((fcntl(r.flows[0].fd, F_GETFL) & O_NONBLOCK) == 0, i % 2);
	}
	nd_io_be_hasty(&r.io);
	assert_true(fcntl(r.flows[0].fd, F_GETFL) & O_NONBLOCK);
	nd_io_settle(&r.io, &r.flows[0], true); /* not its only flow any more */
	assert_true(fcntl(r.flows[0].fd, F_GETFL) & O_NONBLOCK);
	close_alone(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_in_calls),
		cmocka_unit_test(leaves_calls),
		cmocka_unit_test(settles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
