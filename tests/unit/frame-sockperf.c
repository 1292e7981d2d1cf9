/* SPDX-License-Identifier: MIT */
/* sockperf's bytes: what a client writes, what a server turns, and what neither believes. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "frame/frame.h"
#include "plan/sockperf.h"

#define ROOM 64u /* in front of a piece, for what was kept of a header */

struct end {
	struct nd_frame_state s;
	struct nd_workload w;
	struct nd_counters c, sum;
	void *own;
};

static const struct nd_frame *frame(void)
{
	return nd_frame_find("sockperf");
}

static void open_end(struct end *e, bool datagram, uint64_t bytes, uint64_t every)
{
	*e = (struct end){ 0 };
	e->own = calloc(1, frame()->state_bytes);
	assert_non_null(e->own);
	e->s.own = e->own;
	e->s.datagram = datagram;
	e->s.message_bytes = e->w.message_bytes = bytes;
	e->s.workload = &e->w;
	if (every != UINT64_MAX)
		assert_int_equal(nd_samples_new(every, &e->s.samples), 0);
}

static void close_end(struct end *e)
{
	nd_samples_free(e->s.samples);
	free(e->own);
}

/* Transcripts of the specification, without payload. */
static void writes_headers(void **state)
{
	static const struct {
		uint64_t every, bytes;
		uint8_t want[3][14];
	} rows[] = {
		{ 1,
		  20,
		  { { 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0x14 },
		    { 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 0x14 },
		    { 0, 0, 0, 0, 0, 0, 0, 3, 0, 3, 0, 0, 0, 0x14 } } },
		{ 2,
		  14,
		  { { 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0x0e },
		    { 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 0x0e },
		    { 0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0x0e } } },
		{ 0,
		  14,
		  { { 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0x0e },
		    { 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0x0e },
		    { 0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0x0e } } },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		uint8_t bytes[3][32] = { 0 }, stream[96] = { 0 };
		struct iovec v[3], piece = { stream, 3 * rows[i].bytes };
		struct nd_batch b = { .iov = v, .n = 3, .now_ns = 5 };
		struct end e;

		for (unsigned k = 0; k < 3; k++)
			v[k] = (struct iovec){ bytes[k], rows[i].bytes };
		open_end(&e, true, rows[i].bytes, rows[i].every);
		frame()->fill(&e.s, &b);
		for (unsigned k = 0; k < 3; k++)
			assert_memory_equal(bytes[k], rows[i].want[k], 14);
		close_end(&e);
		open_end(&e, false, rows[i].bytes, rows[i].every);
		b = (struct nd_batch){ .iov = &piece, .n = 1, .now_ns = 5 };
		frame()->fill(&e.s, &b);
		for (unsigned k = 0; k < 3; k++)
			assert_memory_equal(stream + k * rows[i].bytes, rows[i].want[k], 14);
		close_end(&e);
	}
}

/* Number 0; an answer is asked for where every message has one, and servers do not give it. */
static void warms_up(void **state)
{
	static const struct {
		uint64_t every;
		uint8_t flags;
	} rows[] = { { 1, 7 }, { 2, 5 }, { 100, 5 }, { 0, 5 } };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		uint8_t bytes[20] = { 0 };
		const uint8_t want[14] = { [9] = rows[i].flags, [13] = 20 };
		struct iovec v = { bytes, sizeof(bytes) };
		struct nd_batch b = { .iov = &v, .n = 1, .now_ns = 5 };
		struct end e;

		open_end(&e, true, 20, rows[i].every);
		e.s.asks = ND_SOCKPERF_WARM_UP;
		frame()->fill(&e.s, &b);
		assert_memory_equal(bytes, want, 14);
		frame()->unfill(&e.s, 1);
		assert_int_equal(frame()->turn(&e.s, &b, &e.c, &e.sum), 0);
		assert_int_equal(v.iov_len, 0);
		v.iov_len = sizeof(bytes);
		e.s.asks = 0;
		frame()->fill(&e.s, &b);
		assert_int_equal(bytes[7], 1); /* they have taken no number */
		close_end(&e);
	}
}

/* A stream that is taken in pieces of any length is the same stream. */
static void resumes_a_stream(void **state)
{
	enum { TOTAL = 4000, SPREAD = 30, MOST = 60 };

	uint8_t whole[TOTAL], pieces[TOTAL];
	struct iovec v = { whole, TOTAL };
	struct nd_batch b = { .iov = &v, .n = 1, .now_ns = 5 };
	uint64_t seed = nd_now_ns() | 1, x = seed;
	struct nd_sample_counts c, d;
	struct end e;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	memset(whole, 0, sizeof(whole));
	memset(pieces, 0, sizeof(pieces));
	open_end(&e, false, MOST, 1);
	e.w.spread_bytes = SPREAD;
	frame()->fill(&e.s, &b);
	nd_samples_counts(e.s.samples, &c);
	close_end(&e);
	open_end(&e, false, MOST, 1);
	e.w.spread_bytes = SPREAD;
	for (size_t at = 0; at < TOTAL;) {
		size_t n, taken;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		n = ND_MIN(1 + x % 200, TOTAL - at);
		taken = (x >> 20) % (n + 1);
		v = (struct iovec){ pieces + at, n };
		frame()->fill(&e.s, &b);
		if (taken < n)
			frame()->unfill(&e.s, (uint32_t)(n - taken));
		at += taken;
	}
	assert_memory_equal(whole, pieces, TOTAL);
	nd_samples_counts(e.s.samples, &d);
	assert_int_equal(c.sent, d.sent);
	close_end(&e);
}

struct datagram {
	const char *what;
	uint8_t bytes[64];
	size_t n;
	uint32_t counted; /* messages */
	size_t back;      /* bytes that go back */
};

static const struct datagram datagrams[] = {
	{ "asks", { 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 16, 7, 8 }, 16, 1, 16 },
	{ "does not ask", { 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 14 }, 14, 1, 0 },
	{ "is an answer", { 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 14 }, 14, 0, 0 },
	{ "warms up", { 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 14 }, 14, 0, 0 },
	{ "length 0", { 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0 }, 14, 0, 0 },
	{ "length 13", { 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 13 }, 14, 0, 0 },
	{ "length beyond its end", { 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 15 }, 14, 0, 0 },
	{ "length of 4 GB", { 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0xff, 0xff, 0xff, 0xff }, 14, 0, 0 },
	{ "a runt", { 0, 0, 0, 1 }, 4, 0, 0 },
	{ "nothing", { 0 }, 0, 0, 0 },
	{ "two messages",
	  { 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 14, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 14 },
	  28,
	  2,
	  14 },
	{ "a message and junk", { 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 14, 9 }, 15, 0, 0 },
	{ "the last number",
	  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 3, 0, 0, 0, 14 },
	  14,
	  1,
	  14 },
	{ "other flags", { 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xf3, 0, 0, 0, 14 }, 14, 1, 14 },
};

static void turns_datagrams(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(datagrams); i++) {
		const struct datagram *d = &datagrams[i];
		uint8_t bytes[64];
		struct iovec v = { bytes, d->n };
		struct nd_batch b = { .iov = &v, .n = 1 };
		struct end e;

		memcpy(bytes, d->bytes, sizeof(bytes));
		open_end(&e, true, ND_MAX_DATAGRAM, UINT64_MAX);
		print_message("%s\n", d->what);
		assert_int_equal(frame()->turn(&e.s, &b, &e.c, &e.sum), d->counted);
		assert_int_equal(v.iov_len, d->back);
		assert_int_equal(e.c.rx_foreign, d->counted == 0);
		if (d->back)
			assert_int_equal(((uint8_t *)v.iov_base)[9] & 3, 2);
		close_end(&e);
	}
}

/* What a server may get, cut anywhere, comes back the same. */
static void turns_streams(void **state)
{
	enum { MESSAGES = 40 };

	uint8_t in[4096], want[4096], out[4096], room[ROOM + 4096];
	size_t in_n = 0, want_n = 0;
	uint64_t seed = nd_now_ns() | 1, x = seed;

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	for (unsigned i = 0; i < MESSAGES; i++) {
		uint8_t m[64];
		size_t n = 14 + i % 50;

		memset(m, (int)i, sizeof(m));
		memcpy(m, (const uint8_t[]){ 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0 }, 14);
		m[7] = (uint8_t)i;
		m[9] = i % 3 ? 3 : 1;
		m[13] = (uint8_t)n;
		memcpy(in + in_n, m, n);
		in_n += n;
		if (m[9] != 3)
			continue;
		m[9] = 2;
		memcpy(want + want_n, m, n);
		want_n += n;
	}
	for (unsigned round = 0; round < 200; round++) {
		size_t out_n = 0, counted = 0, at = 0, n;
		struct end e;

		open_end(&e, false, ND_SOCKPERF_LIMIT, UINT64_MAX);
		while (at < in_n) {
			struct iovec v;
			struct nd_batch b = { .iov = &v, .n = 1 };

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			n = ND_MIN(1 + x % (round + 1), in_n - at);
			memcpy(room + ROOM, in + at, n);
			v = (struct iovec){ room + ROOM, n };
			counted += frame()->turn(&e.s, &b, &e.c, &e.sum);
			assert_true((uint8_t *)v.iov_base + frame()->turn_room >= room + ROOM);
			memcpy(out + out_n, v.iov_base, v.iov_len);
			out_n += v.iov_len;
			at += n;
		}
		assert_int_equal(counted, MESSAGES);
		assert_int_equal(out_n, want_n);
		assert_memory_equal(out, want, want_n);
		close_end(&e);
	}
}

static void gives_up_on_nonsense(void **state)
{
	static const uint8_t rows[][14] = {
		{ 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0 },
		{ 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 0, 13 },
		{ 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 1, 0, 0 },
		{ 'G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P', '/', '1', '.', '1' },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		uint8_t room[ROOM + 14];
		struct iovec v = { room + ROOM, 14 };
		struct nd_batch b = { .iov = &v, .n = 1 };
		struct end e;

		memcpy(room + ROOM, rows[i], 14);
		open_end(&e, false, ND_SOCKPERF_LIMIT, UINT64_MAX);
		assert_int_equal(frame()->turn(&e.s, &b, &e.c, &e.sum), ND_TURN_BROKEN);
		close_end(&e);
	}
}

static void takes_answers(void **state)
{
	static const struct {
		uint8_t bytes[23];
		bool is_ours;
		size_t n;
	} rows[] = {
		{ { 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 14 }, true, 14 },
		{ { 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 14 }, true, 14 },  /* without bit 1 */
		{ { 0, 0, 0, 0, 0, 0, 0, 3, 0, 3, 0, 0, 0, 14 }, false, 14 }, /* a client's */
		{ { 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 14 }, false, 14 }, /* warm-up */
		{ { 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 0, 0, 0, 14 }, false, 14 }, /* never sent */
		{ { 0, 0, 0, 0, 0, 0, 0, 3, 0, 2, 0, 0, 1, 14 }, false, 14 }, /* too short */
		{ { 0, 0, 0 }, false, 3 },
	};

	struct nd_sample_counts c;
	struct end e;

	(void)state;
	open_end(&e, true, 14, 1);
	for (unsigned i = 0; i < 4; i++)
		(void)nd_samples_send(e.s.samples, 10);
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		uint8_t bytes[23];
		struct iovec v = { bytes, rows[i].n };
		struct nd_batch b = { .iov = &v, .n = 1, .now_ns = 30 };

		memcpy(bytes, rows[i].bytes, sizeof(bytes));
		assert_int_equal(frame()->take(&e.s, &b, &e.c, &e.sum), rows[i].is_ours);
	}
	nd_samples_counts(e.s.samples, &c);
	assert_int_equal(c.received, 2);
	assert_int_equal(e.c.rx_foreign, 5);
	close_end(&e);
}

/* A question is counted by nobody, and answered with what its sender has sent since the first one. */
static void tells_what_arrived(void **state)
{
	static const struct {
		uint8_t number, flags_high, flags_low; /* of a message: else a question */
		uint8_t key;
		uint64_t messages, bytes; /* told */
	} rows[] = {
		{ 1, 0x80, 0, 1, 0, 0 }, /* new: nothing of it came */
		{ 0, 0x80, 0, 1, 0, 0 },
		{ 1, 0, 1, 1, 0, 0 },
		{ 2, 0, 1, 1, 0, 0 },
		{ 7, 0, 1, 2, 0, 0 }, /* somebody else's */
		{ 1, 0x80, 0, 1, 2, 2 * ND_SOCKPERF_TALE },
	};

	struct end e;

	(void)state;
	open_end(&e, true, 100, UINT64_MAX);
	e.s.senders = nd_senders_new();
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		uint8_t bytes[ND_SOCKPERF_TALE] = { 0 };
		uint8_t key[1][ND_SENDER_KEY] = { { rows[i].key } };
		struct iovec v = { bytes, sizeof(bytes) };
		struct nd_batch b = { .iov = &v,
				      .n = 1,
				      .now_ns = 50 + i,
				      .key = (const uint8_t(*)[ND_SENDER_KEY])key };
		bool asks = rows[i].flags_high != 0;
		uint64_t told[3];

		bytes[7] = rows[i].number;
		bytes[8] = rows[i].flags_high;
		bytes[9] = rows[i].flags_low;
		bytes[13] = ND_SOCKPERF_TALE;
		assert_int_equal(frame()->turn(&e.s, &b, &e.c, &e.sum), !asks);
		assert_int_equal(v.iov_len, asks ? ND_SOCKPERF_TALE : 0);
		if (!asks)
			continue;
		assert_int_equal(bytes[8], 0x80);
		assert_int_equal(bytes[9], 2);
		memcpy(told, bytes + 14, sizeof(told));
		assert_int_equal(be64toh(told[0]), rows[i].messages);
		assert_int_equal(be64toh(told[1]), rows[i].bytes);
	}
	nd_senders_free(e.s.senders);
	close_end(&e);
}

/* A message of a stream counts when all of it is there. */
static void counts_whole_messages(void **state)
{
	uint8_t room[64] = { [32 + 7] = 1, [32 + 9] = 3, [32 + 13] = 16 };
	struct iovec v = { room + 32, 15 };
	struct nd_batch b = { .iov = &v, .n = 1, .now_ns = 5 };
	struct end e;

	(void)state;
	open_end(&e, false, 100, 1);
	assert_int_equal(frame()->turn(&e.s, &b, &e.c, &e.sum), 0);
	v = (struct iovec){ room + 32 + 15, 1 };
	assert_int_equal(frame()->turn(&e.s, &b, &e.c, &e.sum), 1);
	close_end(&e);
}

/* ... of a stream, cut at every place; the client takes the answer back in. */
static void tells_over_a_stream(void **state)
{
	uint8_t in[2 * ND_SOCKPERF_TALE + 14] = { [8] = 0x80, [13] = ND_SOCKPERF_TALE };
	const size_t second = ND_SOCKPERF_TALE + 14;

	(void)state;
	in[ND_SOCKPERF_TALE + 7] = 1; /* a message, not to be answered */
	in[ND_SOCKPERF_TALE + 9] = 1;
	in[ND_SOCKPERF_TALE + 13] = 14;
	in[second + 7] = 1;
	in[second + 8] = 0x80;
	in[second + 13] = ND_SOCKPERF_TALE;
	for (size_t cut = 1; cut < sizeof(in); cut++) {
		uint8_t back[sizeof(in)];
		size_t n = 0;
		struct nd_sample_counts c;
		struct end server, client;

		open_end(&server, false, 100, UINT64_MAX);
		open_end(&client, false, 14, 0);
		if (cut % 2) /* else it has sent nothing: what is told is of somebody before it */
			(void)nd_samples_send(client.s.samples, 5);
		for (unsigned half = 0; half < 2; half++) {
			uint8_t room[ROOM + sizeof(in)];
			size_t from = half ? cut : 0, to = half ? sizeof(in) : cut;
			struct iovec v = { room + ROOM, to - from };
			struct nd_batch b = { .iov = &v, .n = 1, .now_ns = 7 };

			memcpy(room + ROOM, in + from, to - from);
			assert_int_not_equal(frame()->turn(&server.s, &b, &server.c, &server.sum),
					     ND_TURN_BROKEN);
			memcpy(back + n, v.iov_base, v.iov_len);
			n += v.iov_len;
			b.iov = &(struct iovec){ back + n - v.iov_len, v.iov_len };
			(void)frame()->take(&client.s, &b, &client.c, &client.sum);
		}
		assert_int_equal(n, 2 * ND_SOCKPERF_TALE);
		nd_samples_counts(client.s.samples, &c);
		assert_int_equal(c.told, cut % 2);
		assert_int_equal(c.there, cut % 2);
		assert_int_equal(c.there_bytes, cut % 2 * 14);
		close_end(&server);
		close_end(&client);
	}
}

/* Numbers of one client, one after the other; 0: a warm-up. */
static void finds_gaps(void **state)
{
	static const struct {
		uint64_t number;
		enum nd_diary_what what[2];
		unsigned n;
		uint64_t sum, from, to;
	} rows[] = {
		{ 7, { ND_DIARY_SESSION }, 1, 0, 0, 0 },
		{ 8, { 0 }, 0, 0, 0, 0 },
		{ 11, { ND_DIARY_GAP }, 1, 2, 9, 10 },
		{ 9, { 0 }, 0, 0, 0, 0 }, /* late */
		{ 12, { 0 }, 0, 0, 0, 0 },
		{ 12, { 0 }, 0, 0, 0, 0 }, /* twice */
		{ 1, { 0 }, 0, 0, 0, 0 },
		{ 14, { ND_DIARY_GAP }, 1, 3, 13, 13 },
		{ 0, { ND_DIARY_END, ND_DIARY_SESSION }, 2, 0, 0, 0 },
		{ 3, { ND_DIARY_GAP }, 1, 2, 1, 2 },
		{ 2000, { ND_DIARY_GAP }, 1, 1998, 4, 1999 },
		{ 1, { ND_DIARY_END, ND_DIARY_SESSION }, 2, 0, 0, 0 },
		{ UINT64_MAX, { ND_DIARY_GAP }, 1, UINT64_MAX - 2, 2, UINT64_MAX - 1 },
	};

	static uint8_t key[1][ND_SENDER_KEY] = { { 127, 0, 0, 1, [16] = 0x2b, [17] = 0x67 } };
	struct nd_diary_entry e = { 0 };
	struct end server;

	(void)state;
	open_end(&server, true, 65507, 0);
	server.w.gaps = true;
	server.s.senders = nd_senders_new();
	assert_non_null(server.s.senders);
	assert_int_equal(nd_samples_watch(server.s.samples, 0), 0);
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		uint8_t m[14] = { [9] = rows[i].number ? 1 : 5, [13] = 14 };
		uint64_t be_number = htobe64(rows[i].number);
		struct iovec v = { m, sizeof(m) };
		struct nd_batch b = {
			.iov = &v, .n = 1, .now_ns = 9, .key = (const uint8_t(*)[ND_SENDER_KEY])key
		};

		memcpy(m, &be_number, sizeof(be_number));
		(void)frame()->turn(&server.s, &b, &server.c, &server.sum);
		for (unsigned k = 0; k < rows[i].n; k++) {
			assert_true(nd_diary_take(nd_samples_diary(server.s.samples), &e));
			assert_int_equal(e.what, rows[i].what[k]);
			assert_memory_equal(e.key, key[0], sizeof(e.key));
		}
		assert_false(nd_diary_take(nd_samples_diary(server.s.samples), &e));
		if (rows[i].n == 0)
			continue;
		assert_int_equal(e.sum, rows[i].sum);
		assert_int_equal(e.from, rows[i].from);
		assert_int_equal(e.to, rows[i].to);
	}
	nd_senders_free(server.s.senders);
	close_end(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_headers),
		cmocka_unit_test(resumes_a_stream),
		cmocka_unit_test(turns_datagrams),
		cmocka_unit_test(turns_streams),
		cmocka_unit_test(gives_up_on_nonsense),
		cmocka_unit_test(takes_answers),
		cmocka_unit_test(tells_what_arrived),
		cmocka_unit_test(tells_over_a_stream),
		cmocka_unit_test(counts_whole_messages),
		cmocka_unit_test(finds_gaps),
		cmocka_unit_test(warms_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
