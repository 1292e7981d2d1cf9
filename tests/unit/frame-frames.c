/* SPDX-License-Identifier: MIT */
/* Frames: golden bytes, round trips, what is duplicate, reordered, foreign, corrupt. */
#include <stdio.h>
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

#include "frame/int.h"

enum { ROOM = 4096, MOST = 64 };

/* A sender's and a receiver's end of one flow, and what is under way. */
struct link {
	struct nd_frame_state tx, rx;
	struct nd_seq seq;
	struct nd_counters c, sum;
	uint8_t bytes[MOST][ROOM];
	struct iovec iov[MOST];
};

static struct link *new_link(uint64_t flow, uint64_t message, bool datagram)
{
	struct link *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->tx = (struct nd_frame_state){ .flow = flow,
					 .message_bytes = message,
					 .datagram = datagram };
	l->rx = l->tx;
	l->rx.seq = datagram ? &l->seq : NULL;
	for (unsigned i = 0; i < MOST; i++)
		l->iov[i] = (struct iovec){ .iov_base = l->bytes[i], .iov_len = message };
	return l;
}

static void fill(const struct nd_frame *f, struct link *l, uint32_t at, uint32_t n, uint64_t now)
{
	struct nd_batch b = { .iov = l->iov + at, .n = n, .now_ns = now };

	f->fill(&l->tx, &b);
}

static uint32_t take(const struct nd_frame *f, struct link *l, uint32_t at, uint32_t n,
		     uint64_t now)
{
	struct nd_batch b = { .iov = l->iov + at, .n = n, .now_ns = now };

	return f->take(&l->rx, &b, &l->c, &l->sum);
}

static void golden_header(void **state)
{
	static const uint8_t want[16] = { 0xab, 0xcd, 0xef, 0x00, 0x00, 0x00, 0x00, 0x00,
					  0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08 };
	const struct nd_frame *f = nd_frame_find("native");
	struct link *l = new_link(0x12abcdef, 16, true);

	(void)state;
	fill(f, l, 0, 1, 0x0102030405060708ull);
	assert_memory_equal(l->bytes[0], want, 16);
	l->tx.next = 0x1122334455ull;
	fill(f, l, 0, 1, 0);
	assert_memory_equal(l->bytes[0] + 3, "\x11\x22\x33\x44\x55", 5);
	/* 8 bytes: no time; fewer: nothing */
	memset(l->bytes[0], 0x77, 16);
	l->iov[0].iov_len = 8;
	fill(f, l, 0, 1, 0);
	assert_int_equal(l->bytes[0][8], 0x77);
	assert_int_equal(l->bytes[0][7], 0x56);
	memset(l->bytes[0], 0x77, 16);
	l->iov[0].iov_len = 7;
	fill(f, l, 0, 1, 0);
	assert_int_equal(l->bytes[0][0], 0x77);
	free(l);
}

static const uint64_t sizes[] = { 1, 7, 8, 9, 15, 16, 17, 100, 1472, ROOM };

static void round_trip(void **state)
{
	static const char *const names[] = { "native", "pattern" };

	(void)state;
	for (size_t i = 0; i < 2 * ND_COUNTOF(sizes); i++) {
		const struct nd_frame *f = nd_frame_find(names[i % 2]);
		uint64_t size = sizes[i / 2];
		struct link *l = new_link(0xffffff + i, size, true);

		f->prepare(l->bytes, sizeof(l->bytes), ND_PAYLOAD_RANDOM, i);
		fill(f, l, 0, MOST, 1000);
		assert_int_equal(take(f, l, 0, MOST, 2000), MOST);
		if (size >= 8) {
			assert_int_equal(l->c.rx_unique, MOST);
			assert_int_equal(l->c.rx_highest, MOST);
			assert_int_equal(l->rx.next, MOST);
		} else {
			assert_int_equal(l->c.rx_unique + l->c.rx_highest, 0);
		}
		assert_int_equal(l->c.rx_duplicate + l->c.rx_reordered, 0);
		assert_int_equal(l->c.rx_foreign + l->c.rx_corrupt, 0);
		assert_memory_equal(&l->c, &l->sum, sizeof(l->c));
		assert_int_equal(l->seq.has_transit, size >= 16);
		free(l);
	}
}

static void unsent_numbers_are_used_again(void **state)
{
	static const char *const names[] = { "native", "pattern" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(names); i++) {
		const struct nd_frame *f = nd_frame_find(names[i]);
		struct link *l = new_link(5, 64, true);

		fill(f, l, 0, 10, 0);
		f->unfill(&l->tx, 7);
		fill(f, l, 3, 7, 0);
		assert_int_equal(take(f, l, 0, 10, 0), 10);
		assert_int_equal(l->c.rx_unique, 10);
		assert_int_equal(l->c.rx_highest, 10);
		f->unfill(&l->tx, 100); /* not below nothing */
		assert_int_equal(l->tx.next, 0);
		free(l);
	}
}

static void tells_order(void **state)
{
	const struct nd_frame *f = nd_frame_find("native");
	struct link *l = new_link(5, 20, true);

	(void)state;
	fill(f, l, 0, 10, 0);
	assert_int_equal(take(f, l, 0, 3, 0), 3); /* 0 1 2 */
	assert_int_equal(take(f, l, 5, 2, 0), 2); /* 5 6: 3 and 4 are missing */
	assert_int_equal(take(f, l, 4, 1, 0), 1); /* 4, late */
	assert_int_equal(take(f, l, 4, 1, 0), 1); /* again */
	assert_int_equal(take(f, l, 0, 1, 0), 1); /* 0 again */
	assert_int_equal(l->c.rx_unique, 6);
	assert_int_equal(l->c.rx_reordered, 1);
	assert_int_equal(l->c.rx_duplicate, 2);
	assert_int_equal(l->c.rx_highest, 7);
	assert_memory_equal(&l->c, &l->sum, sizeof(l->c));
	free(l);
}

/* A batch comes to what its messages come to one by one: lost, doubled, late, of others, too short. */
static void a_batch_is_its_messages(void **state)
{
	const struct nd_frame *f = nd_frame_find("native");
	unsigned seed = (unsigned)time(NULL), random = seed;

	(void)state;
	(void)printf("seed %u\n", seed);
	for (unsigned round = 0; round < 300; round++) {
		static const uint64_t lengths[] = { 4, 8, 14, 16, 64 };
		uint64_t length = lengths[round % ND_COUNTOF(lengths)], next = 0;
		struct link *whole = new_link(7, length, true), *one = new_link(7, length, true);
		uint32_t sum = 0;

		for (unsigned i = 0; i < MOST; i++) {
			unsigned luck = (unsigned)rand_r(&random) % 40;

			next += luck == 0 ? 3 : 1; /* lost */
			next -= luck == 1 && next > 2 ? 2 : 0;
			nd_header_put(whole->bytes[i], length, luck == 2 ? 8 : 7, next - 1,
				      next * 10 + luck);
			memcpy(one->bytes[i], whole->bytes[i], length);
			whole->iov[i].iov_len -= luck < 6 ? luck : 0;
			one->iov[i].iov_len = whole->iov[i].iov_len;
		}
		for (unsigned i = 0; i < MOST; i++)
			sum += take(f, one, i, 1, 77);
		assert_int_equal(take(f, whole, 0, MOST, 77), sum);
		assert_memory_equal(&whole->c, &one->c, sizeof(one->c));
		assert_memory_equal(&whole->sum, &one->sum, sizeof(one->sum));
		assert_memory_equal(&whole->seq, &one->seq, sizeof(one->seq));
		assert_int_equal(whole->rx.next, one->rx.next);
		for (unsigned i = 0; i < MOST; i++)
			assert_int_equal(whole->iov[i].iov_len, one->iov[i].iov_len);
		free(whole);
		free(one);
	}
}

/* 40 bits are some hours of datagrams: then the numbers begin again, and are followed. */
static void numbers_outlast_their_room(void **state)
{
	const struct nd_frame *f = nd_frame_find("native");
	struct link *l = new_link(0xffffff, 16, true);

	(void)state;
	l->tx.next = l->rx.next = l->seq.next = (1ull << 40) - 10;
	fill(f, l, 0, 40, 0);
	assert_int_equal(take(f, l, 0, 5, 0), 5);
	assert_int_equal(take(f, l, 20, 20, 0), 20); /* those of the seam are missing */
	assert_int_equal(take(f, l, 5, 15, 0), 15);  /* they were late */
	assert_int_equal(take(f, l, 8, 4, 0), 4);    /* again */
	assert_int_equal(l->c.rx_unique, 40);
	assert_int_equal(l->c.rx_highest, 40);
	assert_int_equal(l->c.rx_reordered, 15);
	assert_int_equal(l->c.rx_duplicate, 4);
	assert_int_equal(l->c.rx_foreign, 0);
	assert_true(l->seq.next == (1ull << 40) + 30);
	free(l);
}

struct foreign_case {
	uint64_t flow, length;
	bool fits;
};

static const struct foreign_case foreign[] = {
	{ 5, 100, true },  { 5 + (1ull << 24), 100, true }, /* modulo 2^24 */
	{ 6, 100, false }, { 5, 101, false },
	{ 5, 50, true },                    /* the last ones may be shorter */
	{ 5, 51, true },   { 5, 7, false }, /* but not without a number */
	{ 6, 50, false },  { 5, 0, false },
};

static void keeps_foreign_apart(void **state)
{
	const struct nd_frame *f = nd_frame_find("native");
	struct link *l = new_link(5, 100, true);
	uint64_t count = 0, bad = 0;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(foreign); i++) {
		const struct foreign_case *c = &foreign[i];
		uint32_t taken;

		l->iov[0].iov_len = c->length;
		nd_header_put(l->bytes[0], 100, c->flow, i, 0);
		taken = take(f, l, 0, 1, 0);
		if (taken != c->fits || l->iov[0].iov_len != (c->fits ? c->length : 0))
			fail_msg("row %zu: taken %u", i, taken);
		count += c->fits;
		bad += !c->fits;
	}
	assert_int_equal(l->c.rx_unique, count);
	assert_int_equal(l->c.rx_foreign, bad);
	/* counts alone: the length is all there is */
	l->rx.message_bytes = 4;
	l->iov[0].iov_len = 4;
	assert_int_equal(take(f, l, 0, 1, 0), 1);
	l->iov[0].iov_len = 5;
	assert_int_equal(take(f, l, 0, 1, 0), 0);
	assert_int_equal(l->c.rx_foreign, bad + 1);
	free(l);
}

/* What a packet says and when it came, for a log. */
static void keeps_packets(void **state)
{
	const struct nd_frame *f = nd_frame_find("jitter");
	struct link *l = new_link(1, 20, true);
	struct nd_batch b = { .iov = l->iov, .n = 2, .now_ns = 99 };
	struct nd_sample v[8];

	(void)state;
	assert_int_equal(nd_samples_new(1, &l->rx.samples), 0);
	fill(f, l, 0, 2, 1000);
	assert_int_equal(f->take(&l->rx, &b, &l->c, &l->sum), 2);
	assert_int_equal(nd_samples_read(l->rx.samples, 0, v, ND_COUNTOF(v)), 4);
	assert_true(v[0].tx_ns == 0 && v[0].rx_ns == ND_NS_PER_S);
	assert_true(v[1].tx_ns == 1000 && v[1].rx_ns == 99);
	assert_true(v[2].tx_ns == 1 && v[3].tx_ns == 1000);
	nd_samples_free(l->rx.samples);
	free(l);
}

static void measures_jitter(void **state)
{
	const struct nd_frame *f = nd_frame_find("native");
	struct link *l = new_link(1, 16, true);
	uint64_t stamps[2] = { 5000000000000ull, 5000000000000ull + 1600 };
	struct nd_batch b = { .iov = l->iov, .n = 2, .now_ns = 99, .stamp_ns = stamps };

	(void)state;
	fill(f, l, 0, 2, 1000); /* sent together, received 1600 ns apart, by another clock */
	assert_int_equal(f->take(&l->rx, &b, &l->c, &l->sum), 2);
	assert_true(l->seq.jitter_ns > 99.9 && l->seq.jitter_ns < 100.1);
	free(l);
}

/* Cut a stream anywhere, on both ends differently: it fits; change bytes: as many are found. */
static void verifies_streams(void **state)
{
	const struct nd_frame *f = nd_frame_find("pattern");
	uint64_t seed = 12345, x = seed;
	struct link *l = new_link(77, 0, false);
	uint8_t *whole = l->bytes[0];
	size_t at;

	(void)state;
	for (at = 0; at < sizeof(l->bytes);) {
		size_t n;

		x = x * 6364136223846793005ull + 1442695040888963407ull;
		n = ND_MIN((size_t)(x >> 33) % 300, sizeof(l->bytes) - at);
		l->iov[0] = (struct iovec){ .iov_base = whole + at, .iov_len = n };
		fill(f, l, 0, 1, 0);
		if (n > 10) { /* some of it did not go */
			f->unfill(&l->tx, 10);
			n -= 10;
		}
		at += n;
	}
	whole[0] ^= 1;
	whole[1000] ^= 0x80;
	whole[1001] ^= 0xff;
	whole[sizeof(l->bytes) - 1]++;
	for (at = 0; at < sizeof(l->bytes);) {
		size_t n;

		x = x * 6364136223846793005ull + 1442695040888963407ull;
		n = ND_MIN((size_t)(x >> 33) % 5000 + 1, sizeof(l->bytes) - at);
		l->iov[0] = (struct iovec){ .iov_base = whole + at, .iov_len = n };
		assert_int_equal(take(f, l, 0, 1, 0), 1);
		at += n;
	}
	assert_int_equal(l->c.rx_corrupt, 4);
	assert_int_equal(l->sum.rx_corrupt, 4);
	assert_int_equal(l->rx.next, sizeof(l->bytes));
	free(l);
}

static void verifies_datagrams(void **state)
{
	const struct nd_frame *f = nd_frame_find("pattern");

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(sizes); i++) {
		struct link *l = new_link(3, sizes[i], true);
		size_t head = nd_header_bytes(sizes[i]);

		fill(f, l, 0, 3, 0);
		if (sizes[i] > head)
			l->bytes[1][sizes[i] - 1] ^= 4;
		assert_int_equal(take(f, l, 0, 3, 0), 3);
		assert_int_equal(l->c.rx_corrupt, sizes[i] > head);
		free(l);
	}
}

/* Another flow's or another place's bytes are not taken for the right ones. */
static void pattern_depends_on_place(void **state)
{
	uint8_t a[800], b[800];

	(void)state;
	nd_pattern_fill(a, sizeof(a), 1, 0);
	nd_pattern_fill(b, sizeof(b), 1, 8);
	assert_memory_equal(a + 8, b, sizeof(a) - 8);
	assert_true(nd_pattern_check(a, sizeof(a), 1, 8) > 700);
	assert_true(nd_pattern_check(a, sizeof(a), 2, 0) > 700);
	assert_int_equal(nd_pattern_check(a, sizeof(a), 1, 0), 0);
	assert_int_equal(nd_pattern_check(a, 0, 1, 0), 0);
	assert_int_equal(nd_pattern_check(b + 3, 2, 1, 11), 0);
}

static void payloads(void **state)
{
	uint8_t a[1001], b[1001];
	unsigned zeros = 0;

	(void)state;
	nd_payload_fill(a, sizeof(a), ND_PAYLOAD_RANDOM, 0);
	nd_payload_fill(b, sizeof(b), ND_PAYLOAD_RANDOM, 0);
	assert_memory_equal(a, b, sizeof(a));
	nd_payload_fill(b, sizeof(b), ND_PAYLOAD_RANDOM, 7);
	assert_true(memcmp(a, b, sizeof(a)) != 0);
	for (unsigned i = 500; i < sizeof(b); i++)
		zeros += b[i] == 0;
	assert_true(zeros < 20);
	nd_payload_fill(b, sizeof(b), ND_PAYLOAD_ZERO, 7);
	for (unsigned i = 0; i < sizeof(b); i++)
		assert_int_equal(b[i], 0);
	nd_payload_fill(b, sizeof(b), ND_PAYLOAD_PATTERN, 7);
	assert_int_equal(nd_pattern_check(b, sizeof(b), 0, 0), 0);
	nd_payload_fill(b, sizeof(b), ND_PAYLOAD_NETPERF, 7);
	assert_memory_equal(b, "netperf\0netperf\0net", 19);
	assert_memory_equal(b + 992, "netperf\0n", 9);
}

static void finds_by_name(void **state)
{
	const char *help = NULL;

	(void)state;
	for (size_t i = 0; nd_frame_at(i); i++) {
		assert_ptr_equal(nd_frame_find(nd_frame_at(i)->name), nd_frame_at(i));
		assert_string_equal(nd_frame_names(i, &help), nd_frame_at(i)->name);
		assert_non_null(help);
		assert_int_equal(nd_frame_at(i)->fills, nd_frame_at(i)->fill != NULL);
		assert_int_equal(nd_frame_at(i)->takes, nd_frame_at(i)->take != NULL);
		assert_non_null(nd_frame_at(i)->prepare);
	}
	assert_null(nd_frame_find("none"));
	assert_null(nd_frame_find(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_header),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(unsent_numbers_are_used_again),
		cmocka_unit_test(tells_order),
		cmocka_unit_test(a_batch_is_its_messages),
		cmocka_unit_test(numbers_outlast_their_room),
		cmocka_unit_test(keeps_foreign_apart),
		cmocka_unit_test(measures_jitter),
		cmocka_unit_test(keeps_packets),
		cmocka_unit_test(verifies_streams),
		cmocka_unit_test(verifies_datagrams),
		cmocka_unit_test(pattern_depends_on_place),
		cmocka_unit_test(payloads),
		cmocka_unit_test(finds_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
