/* SPDX-License-Identifier: MIT */
/* What stands in the bytes for NTttcp's -jm and -d: golden bytes, gaps, strange clocks, other letters. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "frame/frame.h"

enum { ROOM = 64, MOST = 8, LAYOUT = 20 };

/* A receiver's end of one flow, and datagrams on their way to it. */
struct link {
	struct nd_frame_state tx, rx;
	struct nd_seq seq;
	struct nd_counters c, sum;
	uint8_t bytes[MOST][ROOM];
	struct iovec iov[MOST];
};

static void begin(struct link *l, bool datagram)
{
	*l = (struct link){ .tx = { .message_bytes = ROOM, .datagram = datagram } };
	l->rx = l->tx;
	l->rx.seq = datagram ? &l->seq : NULL;
	for (unsigned i = 0; i < MOST; i++)
		l->iov[i] = (struct iovec){ .iov_base = l->bytes[i], .iov_len = ROOM };
}

static uint32_t take(const struct nd_frame *f, struct link *l, uint32_t n, uint64_t now_ns)
{
	struct nd_batch b = { .iov = l->iov, .n = n, .now_ns = now_ns };

	return f->take(&l->rx, &b, &l->c, &l->sum);
}

static void put(uint8_t *at, unsigned bytes, uint64_t v)
{
	while (bytes-- > 0) {
		at[bytes] = (uint8_t)v;
		v >>= 8;
	}
}

/* A datagram as another program writes it. */
static void write_layout(uint8_t *at, uint64_t number, uint64_t count, uint64_t hz)
{
	put(at, 4, number);
	put(at + 4, 8, count);
	put(at + 12, 8, hz);
}

static void fills_the_layout(void **state)
{
	static const uint8_t want[2][LAYOUT] = {
		{ 0, 0, 0, 0, 0, 0, 0, 5, 0x2b, 0x5d, 0xff, 0x9f, 0, 0, 0, 0, 0x3b, 0x9a, 0xca, 0 },
		{ 0, 0, 0, 1, 0, 0, 0, 5, 0x2b, 0x5d, 0xff, 0x9f, 0, 0, 0, 0, 0x3b, 0x9a, 0xca, 0 },
	};
	const struct nd_frame *f = nd_frame_find("jitter");
	struct link l;
	struct nd_batch b = { .iov = l.iov, .n = 2, .now_ns = 0x52b5dff9full };

	(void)state;
	begin(&l, true);
	f->prepare(l.bytes, sizeof(l.bytes), ND_PAYLOAD_FILL_A, 1);
	f->fill(&l.tx, &b);
	for (unsigned i = 0; i < 2; i++) {
		assert_memory_equal(l.bytes[i], want[i], LAYOUT);
		for (unsigned k = LAYOUT; k < ROOM; k++)
			assert_int_equal(l.bytes[i][k], 'A');
	}
	f->unfill(&l.tx, 1);
	assert_int_equal(l.tx.next, 1);
	b.n = 1;
	l.iov[0].iov_len = LAYOUT - 1; /* no room: not numbered */
	f->fill(&l.tx, &b);
	assert_int_equal(l.tx.next, 1);
}

struct jitter_case {
	const char *name;
	uint64_t n, number[MOST];
	uint64_t hz; /* sent 1 ms apart by that clock, received 1 ms apart */
	uint64_t unique, duplicate, reordered, highest;
	bool has_jitter;
};

/* clang-format off */
static const struct jitter_case jitters[] = {
	{ "in order",         4, { 0, 1, 2, 3 },          10000000,  4, 0, 0, 4, true },
	{ "a gap",            3, { 0, 1, 5 },             10000000,  3, 0, 0, 6, true },
	{ "twice",            3, { 0, 1, 1 },             1000000000, 2, 1, 0, 2, true },
	{ "behind",           3, { 0, 2, 1 },             1000000000, 3, 0, 1, 3, true },
	{ "joined late",      2, { 7000, 7001 },          10000000,  2, 0, 0, 2, true },
	{ "the last number",  2, { 0xffffffff, 0 },       10000000,  2, 0, 0, 2, true },
	{ "before the first", 3, { 5, 4, 6 },             10000000,  3, 0, 1, 2, true },
	{ "far behind",       2, { 5, 0x80000006 },       10000000,  1, 0, 0, 1, true },
	{ "no clock",         2, { 0, 1 },                0,         0, 0, 0, 0, false },
	{ "plain letters",    2, { 0x41414141, 0x41414141 }, 0x4141414141414141, 0, 0, 0, 0, false },
};

/* clang-format on */

static void compare(const struct jitter_case *c, const struct link *l, uint32_t taken)
{
	const struct {
		const char *name;
		uint64_t is, wanted;
	} rows[] = {
		{ "messages", taken, c->n },
		{ "unique", l->c.rx_unique, c->unique },
		{ "duplicate", l->c.rx_duplicate, c->duplicate },
		{ "reordered", l->c.rx_reordered, c->reordered },
		{ "highest", l->c.rx_highest, c->highest },
		{ "foreign", l->c.rx_foreign, 0 },
		{ "jitter", l->seq.has_transit, c->has_jitter },
	};

	for (size_t i = 0; i < ND_COUNTOF(rows); i++)
		if (rows[i].is != rows[i].wanted)
			fail_msg("%s: %s is %llu, not %llu", c->name, rows[i].name,
				 (unsigned long long)rows[i].is,
				 (unsigned long long)rows[i].wanted);
	assert_memory_equal(&l->c, &l->sum, sizeof(l->c));
}

static void reads_the_layout(void **state)
{
	const struct nd_frame *f = nd_frame_find("jitter");
	struct link l;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(jitters); i++) {
		const struct jitter_case *c = &jitters[i];
		uint64_t stamps[MOST];
		struct nd_batch b = { .iov = l.iov, .n = (uint32_t)c->n, .stamp_ns = stamps };

		begin(&l, true);
		for (uint64_t k = 0; k < c->n; k++) {
			write_layout(l.bytes[k], c->number[k], c->hz / 1000 * k, c->hz);
			stamps[k] = 77 + k * ND_NS_PER_MS;
		}
		compare(c, &l, f->take(&l.rx, &b, &l.c, &l.sum));
		if (c->has_jitter && l.seq.jitter_ns > 0.5)
			fail_msg("%s: jitter %f", c->name, l.seq.jitter_ns);
	}
}

/* Numbers go on behind 32 bits. */
static void counts_on(void **state)
{
	const struct nd_frame *f = nd_frame_find("jitter");
	struct link l;

	(void)state;
	begin(&l, true);
	for (uint64_t n = 0; n < 3 * (1ull << 32); n += 1ull << 30) {
		write_layout(l.bytes[0], n & UINT32_MAX, 1, 1000);
		assert_int_equal(take(f, &l, 1, 5), 1);
		assert_int_equal(l.seq.next, n + 1);
	}
	l.iov[0].iov_len = LAYOUT - 1;
	assert_int_equal(take(f, &l, 1, 5), 1); /* payload all the same */
	assert_int_equal(l.c.rx_unique, 12);
}

/* Whatever comes ends in counters that fit together. */
static void survives_anything(void **state)
{
	const struct nd_frame *f = nd_frame_find("jitter");
	unsigned seed = (unsigned)time(NULL), i, k;
	struct link l;

	(void)state;
	print_message("seed %u\n", seed);
	begin(&l, true);
	for (i = 0; i < 2000; i++) {
		for (k = 0; k < MOST; k++) {
			uint64_t any = (uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed) << 9;

			write_layout(l.bytes[k], (uint64_t)rand_r(&seed), any,
				     rand_r(&seed) % 4 ? any >> 24 : any);
			l.iov[k].iov_len = (size_t)(rand_r(&seed) % (ROOM + 1));
		}
		assert_int_equal(take(f, &l, MOST, (uint64_t)i * 77), MOST);
	}
	assert_true(l.c.rx_unique + l.c.rx_duplicate <= 2000ull * MOST);
}

static void looks_at_letters(void **state)
{
	static const struct {
		bool datagram;
		uint32_t n;
		unsigned wrong; /* bytes in each */
	} rows[] = {
		{ false, 1, 0 }, { false, 1, 1 }, { false, 1, ROOM }, { true, 3, 0 }, { true, 3, 2 }
	};
	const struct nd_frame *f = nd_frame_find("letter");
	struct link l;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		begin(&l, rows[i].datagram);
		f->prepare(l.bytes, sizeof(l.bytes), ND_PAYLOAD_FILL_A, 1);
		for (uint32_t k = 0; k < rows[i].n; k++)
			memset(l.bytes[k] + (ROOM - rows[i].wrong) / 2, 'B', rows[i].wrong);
		assert_int_equal(take(f, &l, rows[i].n, 1), rows[i].n);
		assert_int_equal(l.c.rx_corrupt, rows[i].n * rows[i].wrong);
		assert_int_equal(l.sum.rx_corrupt, l.c.rx_corrupt);
		assert_int_equal(l.c.rx_unique, rows[i].datagram ? rows[i].n : 0);
		assert_int_equal(l.c.rx_highest, l.c.rx_unique);
	}
	l.iov[0].iov_len = 0;
	assert_int_equal(take(f, &l, 1, 1), 1); /* an empty datagram */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_the_layout), cmocka_unit_test(reads_the_layout),
		cmocka_unit_test(counts_on),        cmocka_unit_test(survives_anything),
		cmocka_unit_test(looks_at_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
