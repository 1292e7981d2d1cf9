/* SPDX-License-Identifier: MIT */
/* Traffic shapes by tables of events and steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "load-script.h"

#define S  ND_NS_PER_S
#define MS ND_NS_PER_MS

static struct nd_size imix[] = { { 18, 7 }, { 548, 4 }, { 1472, 1 } };
static struct nd_size two[] = { { 1500, 1 }, { 30, 1 } };

/* clang-format off */
#define SENT(n, b, t)      { .what = ND_HAP_SENT, .count = (n), .bytes = (b), .now_ns = (t), .begun_ns = (t) - 5 }
#define SENT_AS(q, t)      { .what = ND_HAP_SENT, .count = 1, .bytes = 20, .now_ns = (t), .begun_ns = (t) - 5, .seq = (q) }
#define GOT(n, b, t)       { .what = ND_HAP_RECEIVED, .count = (n), .bytes = (b), .now_ns = (t) }
#define GOT_AS(q, t)       { .what = ND_HAP_RECEIVED, .count = 1, .bytes = 20, .now_ns = (t), .seq = (q) }
#define STOP_IN(b, t)      { .what = ND_HAP_STOP, .now_ns = (t), .bytes = (b) }
#define SEND(n, b, at)     { .op = ND_OP_SEND, .count = (n), .bytes = (b), .at_ns = (at) }
#define REPLY(b)           { .op = ND_OP_SEND, .count = 1, .bytes = (b), .reply = true }
#define RECV(n, b)         { .op = ND_OP_RECV, .count = (n), .bytes = (b) }
#define DRAIN(n)           { .op = ND_OP_DRAIN, .count = (n) }
#define NOTE(s, r)         { .service_ns = (s), .response_ns = (r), .transactions = 1 }

/* The first piece is small, the rest is not; the last is what is left. */
static const struct row by_bytes[] = {
	{ START(S),                 SEND(1, 16384, 0), NONE },
	{ SENT(1, 16384, S),        SEND(1, 100000, 0), NONE },
	{ SENT(1, 100000, S),       SEND(1, 83616, 0), NONE },
	{ SENT(1, 83616, S),        FINISH, NONE },
	END
};
static const struct row by_time[] = {
	{ START(S),                 SEND(1, 1000, 0), NONE },
	{ SENT(1, 1000, S),         SEND(1, 1000, 0), NONE },
	{ STOP(2 * S),              FINISH, NONE },
	END
};
static const struct row nothing_left[] = {
	{ START(S),                 FINISH, NONE },
	END
};
/* 1 MB/s: 10 ms are 10000 bytes. */
static const struct row paced[] = {
	{ START(S),                 SEND(1, 10000, S), NONE },
	{ SENT(1, 10000, S),        SEND(1, 10000, S + 10 * MS), NONE },
	{ SENT(1, 10000, S + 10 * MS), SEND(1, 10000, S + 20 * MS), NONE },
	/* a stall of a second: 10 ms of it are made up for */
	{ SENT(1, 10000, 2 * S),    SEND(1, 10000, 2 * S - 10 * MS), NONE },
	{ SENT(1, 10000, 2 * S),    SEND(1, 10000, 2 * S), NONE },
	{ CLOSED(-32, 2 * S),       FINISH, NONE },
	END
};
/* 10 bytes/s: a byte each 100 ms, never less than one. */
static const struct row crawling[] = {
	{ START(S),                 SEND(1, 1, S), NONE },
	{ SENT(1, 1, S),            SEND(1, 1, S + 100 * MS), NONE },
	END
};
static const struct row reading[] = {
	{ START(S),                 RECV(1, 0), NONE },
	{ GOT(1, 5000, S),          RECV(1, 0), NONE },
	{ STOP(2 * S),              DRAIN(1), NONE },
	{ GOT(1, 5000, 2 * S),      DRAIN(1), NONE },
	{ CLOSED(0, 2 * S),         FINISH, NONE },
	END
};
static const struct row datagrams[] = {
	{ START(S),                 SEND(64, 14, 0), NONE },
	{ SENT(64, 896, S),         SEND(7, 14, 0), NONE },
	{ SENT(7, 98, S),           SEND(1, 6, 0), NONE },
	{ SENT(1, 6, S),            FINISH, NONE },
	END
};
/* 20 us each: bursts of 1 ms. */
static const struct row bursts[] = {
	{ START(S),                 SEND(50, 100, S), NONE },
	{ SENT(50, 5000, S),        SEND(50, 100, S + MS), NONE },
	END
};
/* 200 us each: one by one. */
static const struct row singles[] = {
	{ START(S),                 SEND(1, 100, S), NONE },
	{ SENT(1, 100, S),          SEND(1, 100, S + 200000), NONE },
	END
};
/* Several sizes in turn, as many of each as a burst holds in whole runs. */
static const struct row sizes[] = {
	{ START(S),                 SEND(63, 18, 0), NONE },
	{ SENT(63, 63 * 18, S),     SEND(36, 548, 0), NONE },
	{ SENT(36, 36 * 548, S),    SEND(9, 1472, 0), NONE },
	{ SENT(9, 9 * 1472, S),     SEND(63, 18, 0), NONE },
	{ STOP(S),                  FINISH, NONE },
	END
};
/* 1000 datagrams a second, whatever their sizes: one each ms. */
static const struct row sizes_paced[] = {
	{ START(S),                 SEND(1, 18, S), NONE },
	{ SENT(1, 18, S),           SEND(1, 18, S + MS), NONE },
	{ SENT(1, 18, S + MS),      SEND(1, 18, S + 2 * MS), NONE },
	{ SENT(1, 18, S + 2 * MS),  SEND(1, 18, S + 3 * MS), NONE },
	{ SENT(1, 18, S + 3 * MS),  SEND(1, 18, S + 4 * MS), NONE },
	{ SENT(1, 18, S + 4 * MS),  SEND(1, 18, S + 5 * MS), NONE },
	{ SENT(1, 18, S + 5 * MS),  SEND(1, 18, S + 6 * MS), NONE },
	{ SENT(1, 18, S + 6 * MS),  SEND(1, 548, S + 7 * MS), NONE },
	END
};
/* 24000 bit/s are 1472 bytes in half a second and 18 in no time. */
static const struct row sizes_by_bits[] = {
	{ START(S),                 SEND(1, 1500, S), NONE },
	{ SENT(1, 1500, S),         SEND(1, 30, S + 500 * MS), NONE },
	{ SENT(1, 30, S + 500 * MS), SEND(1, 1500, S + 510 * MS), NONE },
	END
};
/* What is left ends the last run. */
static const struct row sizes_by_bytes[] = {
	{ START(S),                 SEND(2, 1500, 0), NONE },
	{ SENT(2, 3000, S),         SEND(2, 30, 0), NONE },
	{ SENT(2, 60, S),           SEND(1, 940, 0), NONE },
	{ SENT(1, 940, S),          FINISH, NONE },
	END
};
static const struct row datagrams_in[] = {
	{ START(S),                 RECV(64, 0), NONE },
	{ GOT(64, 896, S),          RECV(64, 0), NONE },
	{ STOP(S),                  DRAIN(64), NONE },
	END
};

static const struct row asking[] = {
	{ START(S),                 SEND(1, 10, 0), NONE },
	{ SENT(1, 10, S + 1000),    RECV(1, 20), NONE },
	{ GOT(1, 20, S + 2000),     SEND(1, 10, 0), NOTE(1005, 0) },
	{ SENT(1, 10, S + 3000),    RECV(1, 20), NONE },
	{ STOP(S + 3500),           KEEP, NONE },
	{ GOT(1, 20, S + 4000),     FINISH, NOTE(1005, 0) },
	END
};
static const struct row stopped_before[] = {
	{ START(S),                 SEND(1, 10, 0), NONE },
	{ STOP(S),                  FINISH, NONE },
	END
};
static const struct row stopped_within[] = {
	{ START(S),                 SEND(1, 10, 0), NONE },
	{ STOP_IN(3, S),            KEEP, NONE },
	{ SENT(1, 10, S + 10),      RECV(1, 20), NONE },
	{ GOT(1, 20, S + 20),       FINISH, NOTE(15, 0) },
	END
};
static const struct row asking_bytes[] = {
	{ START(S),                 SEND(1, 10, 0), NONE },
	{ SENT(1, 10, S + 10),      RECV(1, 20), NONE },
	{ GOT(1, 20, S + 20),       SEND(1, 10, 0), NOTE(15, 0) },
	{ SENT(1, 10, S + 30),      RECV(1, 20), NONE },
	{ GOT(1, 20, S + 40),       FINISH, NOTE(15, 0) },
	END
};
/* What is left is less than a request: no byte too many, at either end. */
static const struct row asking_exactly[] = {
	{ START(S),                 SEND(1, 10, 0), NONE },
	{ SENT(1, 10, S + 10),      RECV(1, 20), NONE },
	{ GOT(1, 20, S + 20),       SEND(1, 3, 0), NOTE(15, 0) },
	{ SENT(1, 3, S + 30),       RECV(1, 20), NONE },
	{ GOT(1, 20, S + 40),       FINISH, NOTE(15, 0) },
	END
};
static const struct row answering_exactly[] = {
	{ START(S),                 RECV(1, 10), NONE },
	{ GOT(1, 10, S),            SEND(1, 20, 0), NONE },
	{ SENT(1, 20, S),           RECV(1, 3), NONE },
	{ GOT(1, 3, S),             SEND(1, 20, 0), NONE },
	{ SENT(1, 20, S),           RECV(1, 10), NONE },
	{ CLOSED(0, S),             FINISH, NONE },
	END
};
/* 20, and 3 that could not carry a number. */
static const struct row asking_datagrams_exactly[] = {
	{ START(S),                 SEND(1, 12, 0), NONE },
	{ SENT(1, 12, S + 5),       RECV_TO(20, 2 * S), NONE },
	{ GOT(1, 20, S + 10),       SEND(1, 11, 0), NOTE(10, 0) },
	{ SENT(1, 11, S + 15),      RECV_TO(20, 2 * S + 10), NONE },
	{ GOT(1, 20, S + 20),       FINISH, NOTE(10, 0) },
	END
};
/* 100 a second; the third is late by a second, and all that was missed is asked and dated back. */
static const struct row open_schedule[] = {
	{ START(S),                 SEND(1, 10, S), NONE },
	{ SENT(1, 10, S + 10),      RECV(1, 20), NONE },
	{ GOT(1, 20, S + 20),       SEND(1, 10, S + 10 * MS), NOTE(15, 20) },
	{ SENT(1, 10, S + 10 * MS), RECV(1, 20), NONE },
	{ GOT(1, 20, 2 * S),        SEND(1, 10, S + 20 * MS), NOTE(990 * MS + 5, 990 * MS) },
	{ SENT(1, 10, 2 * S + 10),  RECV(1, 20), NONE },
	{ GOT(1, 20, 2 * S + 20),   SEND(1, 10, S + 30 * MS), NOTE(15, 980 * MS + 20) },
	END
};
static const struct row answering[] = {
	{ START(S),                 RECV(1, 10), NONE },
	{ GOT(1, 10, S),            SEND(1, 20, 0), NONE },
	{ SENT(1, 20, S),           RECV(1, 10), NONE },
	{ STOP(S),                  KEEP, NONE },
	{ GOT(1, 10, S),            SEND(1, 20, 0), NONE },
	{ SENT(1, 20, S),           RECV(1, 10), NONE },
	{ CLOSED(0, S),             FINISH, NONE },
	END
};
static const struct row asking_datagrams[] = {
	{ START(S),                 SEND(1, 20, 0), NONE },
	{ SENT_AS(1, S + 5),        RECV_TO(20, 2 * S), NONE },
	{ TIME(2 * S),              SEND(1, 20, 0), NONE },              /* lost */
	{ SENT_AS(2, 2 * S + 5),    RECV_TO(20, 3 * S), NONE },
	{ GOT_AS(1, 2 * S + 9),     RECV_TO(20, 3 * S), NONE },          /* too late */
	{ GOT_AS(2, 2 * S + 10),    SEND(1, 20, 0), NOTE(10, 0) },
	{ SENT_AS(3, 2 * S + 15),   RECV_TO(20, 3 * S + 10), NONE },
	{ GOT_AS(0, 2 * S + 20),    SEND(1, 20, 0), NOTE(10, 0) },       /* answers without numbers */
	END
};
static const struct row patient_datagrams[] = {
	{ START(S),                 SEND(1, 20, 0), NONE },
	{ SENT_AS(1, S + 5),        RECV_TO(20, 4 * S), NONE },
	{ TIME(4 * S),              SEND(1, 20, 0), NONE },
	{ SENT_AS(2, 4 * S + 5),    RECV_TO(20, 7 * S), NONE },
	END
};
static const struct row answering_datagrams[] = {
	{ START(S),                 RECV(1, 20), NONE },
	{ GOT_AS(1, S),             REPLY(20), NONE },
	{ SENT_AS(1, S),            RECV(1, 20), NONE },
	END
};

#define BULK(b, total) { .message_bytes = (b), .total_bytes = (total), .flows = 1 }
#define RR(total, ops) { .request_bytes = 10, .response_bytes = 20, .total_bytes = (total), .rate_ops = (ops), .flows = 1 }
#define RR_DATAGRAM    { .request_bytes = 20, .response_bytes = 20, .flows = 1 }
static const struct script scripts[] = {
	{ "by bytes", "stream", BULK(100000, 200000), { .active = true, .bytes = 200000, .batch_max = 1 }, by_bytes },
	{ "by time", "stream", BULK(1000, 0), { .active = true, .batch_max = 1 }, by_time },
	{ "nothing left", "stream", BULK(1000, 3), { .active = true, .bytes = 0, .batch_max = 1 }, nothing_left },
	{ "paced", "stream", BULK(1 << 20, 0), { .active = true, .bytes_per_s = 1e6, .batch_max = 1 }, paced },
	{ "crawling", "stream", BULK(1 << 20, 0), { .active = true, .bytes_per_s = 10, .batch_max = 1 }, crawling },
	{ "reading", "stream", BULK(1000, 0), { .batch_max = 1 }, reading },
	{ "datagrams", "stream", BULK(14, 1000), { .active = true, .bytes = 1000, .batch_max = 64, .datagram = true }, datagrams },
	{ "bursts", "stream", BULK(100, 0), { .active = true, .bytes_per_s = 5e6, .batch_max = 64, .datagram = true }, bursts },
	{ "singles", "stream", BULK(100, 0), { .active = true, .bytes_per_s = 5e5, .batch_max = 64, .datagram = true }, singles },
	{ "sizes", "stream", { .message_bytes = 1472, .sizes = { imix, 3 } }, { .active = true, .batch_max = 64, .datagram = true }, sizes },
	{ "sizes paced", "stream", { .message_bytes = 1472, .rate_ops = 1000, .sizes = { imix, 3 } }, { .active = true, .bytes_per_s = 1472e3, .batch_max = 64, .datagram = true }, sizes_paced },
	{ "sizes by bits", "stream", { .message_bytes = 1500, .rate_bps = 24000, .sizes = { two, 2 } }, { .active = true, .bytes_per_s = 3000, .batch_max = 64, .datagram = true }, sizes_by_bits },
	{ "sizes by bytes", "stream", { .message_bytes = 1500, .total_bytes = 4000, .sizes = { two, 2 } }, { .active = true, .bytes = 4000, .batch_max = 2, .datagram = true }, sizes_by_bytes },
	{ "datagrams in", "stream", BULK(14, 0), { .batch_max = 64, .datagram = true }, datagrams_in },
	{ "asking", "rr", RR(0, 0), { .active = true, .batch_max = 1 }, asking },
	{ "stopped before", "rr", RR(0, 0), { .active = true, .batch_max = 1 }, stopped_before },
	{ "stopped within", "rr", RR(0, 0), { .active = true, .batch_max = 1 }, stopped_within },
	{ "asking by bytes", "rr", RR(20, 0), { .active = true, .bytes = 20, .batch_max = 1 }, asking_bytes },
	{ "asking exactly", "rr", RR(13, 0), { .active = true, .bytes = 13, .batch_max = 1 }, asking_exactly },
	{ "answering exactly", "rr", RR(13, 0), { .bytes = 13, .batch_max = 1 }, answering_exactly },
	{ "asking exactly, datagrams", "rr", { .request_bytes = 20, .response_bytes = 20, .total_bytes = 23, .flows = 1 },
	  { .active = true, .bytes = 23, .batch_max = 64, .datagram = true }, asking_datagrams_exactly },
	{ "open schedule", "rr", RR(0, 100), { .active = true, .batch_max = 1 }, open_schedule },
	{ "answering", "rr", RR(0, 0), { .batch_max = 1 }, answering },
	{ "asking, patient", "rr", { .request_bytes = 20, .response_bytes = 20, .patience_ns = 3 * S, .flows = 1 },
	  { .active = true, .batch_max = 64, .datagram = true }, patient_datagrams },
	{ "asking, datagrams", "rr", RR_DATAGRAM, { .active = true, .batch_max = 64, .datagram = true }, asking_datagrams },
	{ "answering, datagrams", "rr", RR_DATAGRAM, { .batch_max = 64, .datagram = true }, answering_datagrams },
};

/* clang-format on */

static void follows_scripts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(scripts); i++)
		script_play(&scripts[i]);
}

struct total_case {
	uint64_t message, total;
	double bytes_per_s;
	uint32_t batch;
	bool datagram;
};

static const struct total_case totals[] = {
	{ 1, 1, 0, 1, false },
	{ 1 << 20, 123456789, 0, 1, false },
	{ 1 << 20, 16384, 0, 1, false },
	{ 1 << 20, 16385, 0, 1, false },
	{ 14, 1000003, 0, 64, true },
	{ 1472, 1000003, 0, 64, true },
	{ 1472, 5, 0, 64, true },
	{ 1000, 1000000, 0, 3, true },
	{ 1 << 20, 1000003, 1e6, 1, true },
	{ 7, 1000003, 123456.7, 64, true },
	{ 50000, 1000003, 77777.7, 1, false },
};

/* Whatever the sizes: the sum is right, no step exceeds its batch nor 10 ms of the rate, time only grows. */
static void totals_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(totals); i++) {
		const struct total_case *c = &totals[i];
		const struct nd_load *load = nd_load_find("stream");
		struct nd_workload wl = { .message_bytes = c->message,
					  .total_bytes = c->total,
					  .flows = 1 };
		struct nd_load_cfg cfg = { .workload = &wl,
					   .active = true,
					   .bytes = c->total,
					   .bytes_per_s = c->bytes_per_s,
					   .batch_max = c->batch,
					   .datagram = c->datagram };
		struct nd_event ev = { .what = ND_HAP_START, .now_ns = S };
		void *machine = calloc(1, load->state_bytes);
		uint64_t sum = 0;

		assert_non_null(machine);
		assert_int_equal(load->init(machine, &cfg), 0);
		for (;;) {
			struct nd_step step;
			struct nd_note note;
			double chunk;

			load->next(machine, &ev, &step, &note);
			if (step.op == ND_OP_FINISH)
				break;
			assert_int_equal(step.op, ND_OP_SEND);
			assert_in_range(step.count, 1, c->batch);
			assert_in_range(step.bytes, 1, c->message);
			chunk = (double)(step.bytes * step.count);
			if (c->bytes_per_s > 0 && step.count > 1)
				assert_true(chunk <= c->bytes_per_s / 100);
			if (c->bytes_per_s > 0 && !c->datagram)
				assert_true(chunk <= c->bytes_per_s / 100);
			sum += step.bytes * step.count;
			assert_true(sum <= c->total);
			if (step.at_ns)
				assert_true(step.at_ns >= ev.now_ns);
			ev = (struct nd_event){ .what = ND_HAP_SENT,
						.count = step.count,
						.bytes = step.bytes * step.count,
						.now_ns = ND_MAX(ev.now_ns, step.at_ns) };
		}
		assert_int_equal(sum, c->total);
		/* the schedule takes as long as the rate says, but for its last step */
		if (c->bytes_per_s > 0) {
			double took = (double)(ev.now_ns - S) / (double)S;

			assert_true(took <= (double)c->total / c->bytes_per_s + 0.001);
			assert_true(took >= (double)(c->total - ND_MIN(c->total, c->message * 2)) /
							    c->bytes_per_s -
						    0.011);
		}
		free(machine);
	}
}

struct pace_case {
	double bytes_per_s;
	uint64_t bytes, slack_ns, times;
};

static const struct pace_case paces[] = {
	{ 1.25e9, 14, 10 * MS, 1000000 }, /* 11.2 ns each: rounding would add up */
	{ 3, 1, 10 * MS, 100 },
	{ 1e6, 1000, 0, 1000 },
	{ 1e6, 1000, ND_UNKNOWN, 1000 },
};

static void pacing_keeps_the_rate(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(paces); i++) {
		const struct pace_case *c = &paces[i];
		struct nd_pace p;
		uint64_t last = 0;
		double want = (double)(c->bytes * (c->times - 1)) / c->bytes_per_s * 1e9, is;

		nd_pace_init(&p, c->bytes_per_s, c->slack_ns);
		p.next_ns = S;
		for (uint64_t n = 0; n < c->times; n++) {
			uint64_t at = nd_pace_take(&p, c->bytes, last ? last : S);

			assert_true(at >= last);
			last = at;
		}
		is = (double)(last - S);
		if (is < want - 2 || is > want + 2)
			fail_msg("row %zu: %f ns instead of %f", i, is, want);
	}
}

/* clang-format off */
static const struct { uint64_t message, flows; double bytes_per_s; bool datagram; uint64_t apart_ns; } starts[] = {
	{ 64 << 10, 100, 12500,    true,  52428800 },      /* 5.24288 s for each datagram of a flow */
	{ 1400,     4,   1.4e6,    true,  MS / 4 },
	{ 100,      8,   5e6,      true,  MS / 8 },        /* bursts of 50 */
	{ 1 << 20,  5,   1e6,      false, 2 * MS },        /* pieces of 10 ms */
	{ 1400,     1,   1.4e6,    true,  0 },
	{ 1400,     50,  0,        true,  0 },             /* as fast as it goes: together */
	{ 1 << 20,  50,  0,        false, 0 },
};

/* clang-format on */

/* All flows of a workload send their first messages evenly over the time that each takes for one. */
static void paced_flows_take_turns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(starts); i++) {
		struct nd_workload wl = { .message_bytes = starts[i].message,
					  .flows = starts[i].flows };
		const struct nd_load *load = nd_load_find("stream");

		for (uint64_t flow = 0; flow < starts[i].flows; flow++) {
			struct nd_load_cfg cfg = { .workload = &wl,
						   .active = true,
						   .flow = flow,
						   .bytes_per_s = starts[i].bytes_per_s,
						   .batch_max = 64,
						   .datagram = starts[i].datagram };
			struct nd_event ev = { .what = ND_HAP_START, .now_ns = S };
			_Alignas(64) uint8_t place[256] = { 0 };
			struct nd_step step;
			struct nd_note note;
			uint64_t want = S + flow * starts[i].apart_ns;

			assert_true(load->state_bytes <= sizeof(place));
			assert_int_equal(load->init(place, &cfg), 0);
			load->next(place, &ev, &step, &note);
			assert_int_equal(step.op, ND_OP_SEND);
			if (starts[i].bytes_per_s > 0)
				assert_in_range(step.at_ns, want - 2, want + 2);
			else
				assert_int_equal(step.at_ns, 0);
		}
	}
}

static void pacing_bounds_credit(void **state)
{
	struct nd_pace p;

	(void)state;
	nd_pace_init(&p, 0, 5);
	assert_int_equal(nd_pace_take(&p, 1000, 77), 77); /* unlimited: now */
	nd_pace_init(&p, 1e9, 100);
	p.next_ns = 1000;
	assert_int_equal(nd_pace_take(&p, 10, 1000), 1000);
	assert_int_equal(nd_pace_take(&p, 10, 1100), 1010); /* late by less than the slack */
	assert_int_equal(nd_pace_take(&p, 10, 5000), 4900); /* by more: 100 ns are caught up */
	assert_int_equal(nd_pace_take(&p, 10, 5000), 4910);
	nd_pace_init(&p, 1e9, ND_UNKNOWN);
	p.next_ns = 1000;
	assert_int_equal(nd_pace_take(&p, 10, 100 * S), 1000);
	nd_pace_init(&p, 1e-12, 100); /* next to nothing: no overflow */
	p.next_ns = 1000;
	assert_int_equal(nd_pace_take(&p, 1 << 30, 1000), 1000);
	assert_true(nd_pace_take(&p, 1 << 30, 1000) > 1000 * S);
	(void)nd_pace_take(&p, 1 << 30, 1000);
	(void)nd_pace_take(&p, 1 << 30, 1000);
	assert_true(nd_pace_take(&p, 1, 1000) > 1000 * S);
}

static void finds_by_name(void **state)
{
	const char *help = NULL;

	(void)state;
	for (size_t i = 0; nd_load_at(i); i++) {
		assert_ptr_equal(nd_load_find(nd_load_at(i)->name), nd_load_at(i));
		if (!nd_load_names(i, &help)) /* known, but offered to nobody */
			continue;
		assert_string_equal(nd_load_names(i, &help), nd_load_at(i)->name);
		assert_non_null(help);
	}
	assert_null(nd_load_find("none"));
	assert_null(nd_load_find(NULL));
	assert_null(nd_load_names(99, NULL));
}

struct cycle_case {
	struct nd_workload wl;
	bool asks, repeats;
};

static const struct cycle_case cycle_cases[] = {
	{ { .request_bytes = 10, .response_bytes = 20 }, true, true },
	{ { .request_bytes = 10, .response_bytes = 20 }, false, true },
	{ { .request_bytes = 10, .response_bytes = 20, .ahead = 1 }, true, false },
	{ { .request_bytes = 10, .response_bytes = 20, .total_ops = 5 }, true, false },
	{ { .request_bytes = 10, .response_bytes = 20, .total_bytes = 50 }, false, false },
	{ { .request_bytes = 10, .response_bytes = 20, .rate_ops = 5, .flows = 1 }, true, false },
};

/* An engine may carry out whole exchanges on its own, but for those that are counted, numbered or due. */
static void says_what_repeats(void **state)
{
	const struct nd_load *load = nd_load_find("rr");

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cycle_cases); i++) {
		const struct cycle_case *c = &cycle_cases[i];
		struct nd_load_cfg cfg = { .workload = &c->wl,
					   .active = c->asks,
					   .bytes = c->wl.total_bytes,
					   .ops = c->wl.total_ops };
		void *s = calloc(1, load->state_bytes + load->more_bytes(&c->wl));
		struct nd_event ev = { .what = ND_HAP_START, .now_ns = S };
		struct nd_cycle cycle = { 0 };
		struct nd_step step;
		struct nd_note note;

		assert_non_null(s);
		assert_int_equal(load->init(s, &cfg), 0);
		load->next(s, &ev, &step, &note);
		if (load->repeats(s, &cycle) != c->repeats ||
		    cycle.tx != (c->repeats ? c->asks ? 10u : 20u : 0) ||
		    cycle.rx != (c->repeats ? c->asks ? 20u : 10u : 0))
			fail_msg("row %zu", i);
		ev.what = ND_HAP_STOP;
		load->next(s, &ev, &step, &note);
		if (c->asks && load->repeats(s, &cycle))
			fail_msg("row %zu: it goes on behind the stop", i);
		free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_scripts),        cmocka_unit_test(totals_are_exact),
		cmocka_unit_test(pacing_keeps_the_rate),  cmocka_unit_test(pacing_bounds_credit),
		cmocka_unit_test(paced_flows_take_turns), cmocka_unit_test(finds_by_name),
		cmocka_unit_test(says_what_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
