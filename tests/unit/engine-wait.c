/* SPDX-License-Identifier: MIT */
/* How long a receiver of datagrams sleeps: by the rate, by what its buffer holds, by what it found. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "engine/int.h"

#define US ND_NS_PER_US

struct row {
	const char *what;
	uint64_t room, bytes, per_ms; /* of the buffer; of a datagram; datagrams */
	uint64_t found;               /* after each of ten naps */
	uint64_t least_ns, most_ns;   /* the nap then */
};

/* clang-format off */
static const struct row rows[] = {
	{ "slow",                212992, 1,    31,   1,   0,        0 },
	{ "half of the buffer",  212992, 1,    200,  40,  400 * US, 420 * US },
	{ "longer datagrams",    212992, 1400, 200,  20,  190 * US, 200 * US },
	{ "a large buffer",      4 << 20, 1,   200,  200, 1000 * US, 1000 * US },
	{ "too fast",            212992, 1400, 2000, 20,  0,        0 },
	{ "found it full",       212992, 1,    200,  277, 50 * US,  50 * US },
	{ "one that holds none", 1000,   1400, 200,  1,   0,        0 },
};

/* clang-format on */

static void come(struct nd_io *io, const struct row *row, uint64_t n)
{
	io->c[0].rx_messages += n;
	io->c[0].rx_bytes += n * row->bytes;
}

/* It is told that it must go on at once: it decides, and does not sleep. */
static uint64_t decide(struct nd_io *io, uint64_t now_ns)
{
	uint64_t nap_ns;

	io->now_ns = now_ns;
	if (!nd_io_idle(io, now_ns, true))
		return 0;
	nap_ns = ND_MIN(io->nap_ns, io->nap_most_ns);
	assert_true(nap_ns > 0);
	return nap_ns;
}

static void naps(void **state)
{
	struct nd_plan plan = { 0 };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		const struct row *row = &rows[i];
		struct nd_io io = { .plan = &plan,
				    .lane_count = 1,
				    .wake_fd = -1,
				    .edge_ns = UINT64_MAX,
				    .look_ns = UINT64_MAX };
		uint64_t now_ns = ND_NS_PER_S, nap_ns;

		nd_io_naps(&io);
		io.nap_room = row->room;
		(void)decide(&io, now_ns);
		come(&io, row, row->per_ms);
		nap_ns = decide(&io, now_ns + ND_NS_PER_MS);
		for (unsigned n = 0; nap_ns && n < 10; n++) {
			come(&io, row, row->found);
			nap_ns = decide(&io, now_ns + ND_NS_PER_MS); /* the rate stays as it is */
		}
		if (nap_ns < row->least_ns || nap_ns > row->most_ns)
			fail_msg("%s: sleeps %llu ns", row->what, (unsigned long long)nap_ns);
	}
}

/* Whoever found little again sleeps longer again, up to what the rate allows. */
static void recovers(void **state)
{
	static const struct row row = { .room = 212992, .bytes = 1 };
	struct nd_plan plan = { 0 };
	struct nd_io io = { .plan = &plan,
			    .lane_count = 1,
			    .wake_fd = -1,
			    .edge_ns = UINT64_MAX,
			    .look_ns = UINT64_MAX };
	uint64_t before;

	(void)state;
	nd_io_naps(&io);
	io.nap_room = row.room;
	(void)decide(&io, ND_NS_PER_S);
	come(&io, &row, 200);
	(void)decide(&io, ND_NS_PER_S + ND_NS_PER_MS);
	come(&io, &row, 277);
	before = decide(&io, ND_NS_PER_S + ND_NS_PER_MS);
	assert_true(before < io.nap_ns);
	for (unsigned n = 0; n < 100; n++) {
		come(&io, &row, 1);
		assert_true(decide(&io, ND_NS_PER_S + ND_NS_PER_MS) >= before);
	}
	assert_int_equal(ND_MIN(io.nap_ns, io.nap_most_ns), io.nap_ns);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(naps),
		cmocka_unit_test(recovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
