/* SPDX-License-Identifier: MIT */
/* NTttcp's words on the sync connection: transcripts of both ends, how times are agreed upon, many senders. */
#include "dialect-ntttcp.h"

static void cuts_bytes_by_port(void **state)
{
	static const struct {
		unsigned port_class;
		const char *data;
		size_t n;
		ssize_t want;
	} rows[] = {
		{ SYNC, "\0\0\0X", 3, 0 },
		{ SYNC, "\0\0\0X", 4, 4 },
		{ SYNC, "\0\0\0X\0\0\0\2", 8, 4 },
		{ SYNC, "\0\0\0X{}", 6, 4 }, /* too short for a result */
		{ SYNC, "\0\0\1\0{", 5, 0 }, /* a result of 256 bytes has begun */
		{ SYNC, "\0\0\1\1{", 5, 4 }, /* not whole words */
		{ SYNC, "\0\0\1\0", 4, 4 },  /* or a time of 256 s: nobody knows yet */
		{ SYNC, "\xff\xff\xff\xff{", 5, 4 },
		{ SYNC, "\"m\":{", 5, 4 }, /* the middle of a result */
		{ TOKEN, "", 0, 0 },
		{ TOKEN, "XX", 2, 1 },
		{ PORT, "\x8a\x13\0", 3, 0 },
		{ PORT, "\x8a\x13\0\0\0", 5, 4 },
		{ DATA, "AAAA", 4, -EBADMSG },
		{ 77, "AAAA", 4, -EBADMSG },
	};
	struct nd_claim claim;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++)
		assert_int_equal(ntttcp()->message_bytes((const uint8_t *)rows[i].data, rows[i].n,
							 rows[i].port_class),
				 rows[i].want);
	ntttcp()->claim((const uint8_t *)"\0\0\0X", 4, false, &claim);
	assert_int_equal(claim.kind, ND_CLAIM_ALIEN);
}

static void prints_words(void **state)
{
	static const struct {
		const char *data;
		size_t n;
		const char *want;
	} rows[] = {
		{ "\0\0\0X", 4, "word 88 X" },
		{ "\xff\xff\xff\xff", 4, "word -1" },
		{ "X", 1, "token 0x58" },
		{ "", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		nd_auto_str s = { 0 };

		ntttcp()->print((const uint8_t *)rows[i].data, rows[i].n, &s);
		assert_string_equal(nd_str_text(&s), rows[i].want);
	}
}

static void opens_ports(void **state)
{
	static const struct {
		bool udp, no_sync, dynamic, any;
		unsigned want[5];
	} rows[] = {
		{ false, false, false, false, { 1, 2, 0, 2, 0 } },
		{ true, false, false, false, { 1, 0, 2, 2, 0 } },
		{ false, true, false, false, { 0, 2, 0, 0, 0 } },
		{ true, true, true, false, { 0, 0, 2, 0, 1 } },
		{ false, false, false, true, { 1, 2, 2, 2, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = bench_new(false);

		b->set.udp = rows[i].udp;
		b->set.no_sync = rows[i].no_sync;
		b->set.dynamic_ports = rows[i].dynamic;
		b->set.any_transport = rows[i].any;
		bench_open(b);
		for (unsigned c = 0; c < 6; c++) {
			unsigned n = 0;

			assert_int_equal(ntttcp()->listens(b->state, c, &n),
					 c < 5 && rows[i].want[c] > 0);
			assert_int_equal(n, c < 5 ? rows[i].want[c] : 0);
		}
		assert_int_equal(b->plan.data_port, rows[i].dynamic ? 5002 : 0);
		bench_free(b);
	}
}

/* The other tool's ports are a courtesy. */
static void spares_ports(void **state)
{
	(void)state;
	for (unsigned windows = 0; windows < 2; windows++) {
		struct bench *b = bench_new(false);

		b->set.windows = windows;
		bench_open(b);
		for (unsigned c = SYNC; c <= PORT; c++)
			assert_int_equal(ntttcp()->spares(b->state, c),
					 c == (windows ? SYNC : TOKEN));
		bench_free(b);
	}
}

static void needs_its_own_plan(void **state)
{
	struct bench *b = bench_new(false);
	const struct nd_dialog_cfg cfg = { .end = ND_SERVER, .plan = &b->plan };
	struct nd_err err = { 0 };

	(void)state;
	b->state = calloc(1, ntttcp()->state_bytes);
	assert_non_null(b->state);
	b->plan.face_table = NULL;
	assert_int_equal(ntttcp()->open(b->state, &cfg, &err), -EINVAL);
	bench_free(b);
}

/* ---- receiver ---- */

/* A sender has agreed on @proposed and the test runs. */
static void run_receiver(struct bench *b, uint32_t proposed)
{
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 0x58);
	word(b, 0, proposed);
	flow_open(b, 0, 0);
	flow_open(b, 1, 1);
	word(b, 0, 0x52);
	flows(b, 2);
	nd_str_reset(&b->log);
}

static void receives_a_normal_run(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	bench_open(b);
	up(b, SYNC, 0, 0);
	expect(b, "");
	word(b, 0, 0x58);
	expect(b, "0<0000000a"); /* old receivers say 0b, and no sender tells these apart */
	word(b, 0, 2);
	expect(b, "prepare 2 0<00000002");
	assert_int_equal(b->plan.duration_ns, 2 * ND_NS_PER_S);
	assert_int_equal(b->plan.warmup_ns + b->plan.cooldown_ns, 0);
	flow_open(b, 0, 0);
	PASS_MS(b, 5);
	expect(b, "");
	word(b, 0, 0x52);
	expect(b, "start 0<00000052");
	flows(b, 2);
	PASS_MS(b, 1999);
	expect(b, "");
	PASS_MS(b, 1);
	expect(b, "finish 200");
	down(b, 0, 0);
	flows(b, 0);
	expect(b, "finish 0");
	result(b, 1000);
	expect(b, "done");
	bench_free(b);
}

/* -W 1 -t 1 -C 1 at the sender: E comes at its end, and is answered. */
static void receives_a_warm_run(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.time_ms = 3000;
	run_receiver(b, 3);
	PASS_MS(b, 2990);
	word(b, 0, 0x45);
	expect(b, "0<0000000d finish 200");
	flows(b, 0);
	result(b, 1000);
	expect(b, "finish 0");
	down(b, 0, 0);
	expect(b, "done"); /* it was no interrupt */
	bench_free(b);
}

static void receives_an_interrupted_run(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	run_receiver(b, 5);
	PASS_MS(b, 1000);
	word(b, 0, 0x45);
	result(b, 1000);
	expect(b, "0<0000000d finish 200");
	down(b, 0, 0);
	expect(b, "done: the sender stopped the test");
	bench_free(b);
}

/* The data ends first, as the sender stops before it says so; or it never says so. */
static void receives_until_connections_end(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	run_receiver(b, 5);
	PASS_MS(b, 1000);
	down(b, 0, -ECONNRESET); /* does not end it yet */
	flows(b, 1);
	expect(b, "");
	flows(b, 0);
	expect(b, "finish 0");
	result(b, 1000);
	expect_some(b, "done: the sender's connections ended before");
	bench_free(b);
}

/* Datagrams that stop for a while are a slow sender's; behind a lost sync connection they are a dead one's. */
static void receives_datagrams_until_their_sender_dies(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.udp = true;
	run_receiver(b, 60);
	for (unsigned i = 0; i < 8; i++)
		interval(b, i == 0);
	expect(b, "");
	down(b, 0, -ECONNRESET);
	for (unsigned i = 0; i < 6; i++)
		interval(b, i < 3);
	expect(b, "");
	interval(b, 0);
	expect(b, "finish 0");
	result(b, 1000);
	expect_some(b, "done: no datagrams came any more");
	bench_free(b);
}

static void tells_others_that_it_is_busy(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 0x58);
	up(b, SYNC, 0, 1);
	word(b, 1, 0x58);
	expect(b, "0<0000000a 1<0000000a"); /* both are early */
	word(b, 0, 2);
	word(b, 1, 9);
	expect(b, "prepare 2 0<00000002 1<00000002");
	word(b, 1, 0x52);
	expect(b, "1<00000045"); /* not its test */
	up(b, SYNC, 0, 2);
	word(b, 2, 0x58);
	expect(b, "2<0000000c");
	word(b, 0, 0x52);
	word(b, 2, 0x58);
	up(b, TOKEN, 0, 3);
	expect(b, "start 0<00000052 2<0000000c close 3");
	word(b, 0, 0x58);
	expect(b, "0<0000000c"); /* late, but why not */
	bench_free(b);
}

/* Time words that look like commands are times. */
static void takes_words_by_place(void **state)
{
	static const uint32_t times[] = { 69, 76, 82, 88 };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(times); i++) {
		struct bench *b = bench_new(false);
		char want[40];

		bench_open(b);
		up(b, SYNC, 0, 0);
		word(b, 0, 0x58);
		nd_str_reset(&b->log);
		word(b, 0, times[i]);
		(void)snprintf(want, sizeof(want), "prepare 2 0<%08x", times[i]);
		expect(b, want);
		assert_int_equal(b->plan.duration_ns + b->plan.cooldown_ns, times[i] * ND_NS_PER_S);
		word(b, 0, 0x52);
		expect(b, "start 0<00000052");
		bench_free(b);
	}
}

static void agrees_on_a_time(void **state)
{
	static const struct {
		bool has_time, multi, continuous;
		uint32_t warm, time, cool, proposed, agreed;
		uint32_t want[3]; /* warm-up, measured, cool-down of the receiver */
	} rows[] = {
		{ true, false, false, 0, 10, 0, 5, 10, { 0, 10, 0 } },
		{ true, false, false, 0, 5, 0, 10, 10, { 0, 5, 5 } },
		{ true, false, false, 3, 10, 2, 5, 10, { 3, 7, 0 } },
		{ true, false, false, 1, 2, 0, 10, 10, { 1, 2, 7 } },
		{ true, false, false, 0, 10, 0, (uint32_t)-3, 10, { 0, 10, 0 } },
		{ true, false, false, 0, 10, 0, 0, 0, { 0, 86400, 0 } },
		{ true, false, true, 0, 0, 0, 9, 0, { 0, 86400, 0 } },
		{ true, true, false, 1, 2, 1, 9, 2, { 1, 1, 0 } },
		{ true, true, false, 0, 2, 0, 0, 2, { 0, 2, 0 } },
		{ true, false, false, 5, 2, 0, 2, 2, { 0, 2, 0 } }, /* all warm-up */
		{ false, false, false, 0, 60, 0, 10, 10, { 0, 10, 0 } },
		{ false, false, false, 1, 60, 2, 10, 10, { 1, 7, 2 } },
		{ false, false, false, 0, 60, 0, (uint32_t)-1, 60, { 0, 60, 0 } },
		{ true, false, false, 0, 1, 0, 0x7fffffff, 0x7fffffff, { 0, 1, 86399 } },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = bench_new(false);
		char want[40];

		b->set.has_time = rows[i].has_time;
		b->set.multi = rows[i].multi;
		b->set.continuous = rows[i].continuous;
		b->set.warmup_ms = rows[i].warm * 1000;
		b->set.time_ms = rows[i].time * 1000;
		b->set.cooldown_ms = rows[i].cool * 1000;
		bench_open(b);
		up(b, SYNC, 0, 0);
		word(b, 0, 0x58);
		nd_str_reset(&b->log);
		word(b, 0, rows[i].proposed);
		(void)snprintf(want, sizeof(want), "prepare 2 0<%08x", rows[i].agreed);
		expect(b, want);
		assert_int_equal(b->plan.warmup_ns / ND_NS_PER_S, rows[i].want[0]);
		assert_int_equal(b->plan.duration_ns / ND_NS_PER_S, rows[i].want[1]);
		assert_int_equal(b->plan.cooldown_ns / ND_NS_PER_S, rows[i].want[2]);
		bench_free(b);
	}
}

/* Two senders, the second is the last. Old receivers send it R twice. */
static void starts_many_senders_together(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.multi = true;
	bench_open(b);
	up(b, SYNC, 0, 7);
	word(b, 7, 0x58);
	word(b, 7, 5);
	word(b, 7, 0x52);
	expect(b, "7<0000000b prepare 2 7<00000002 7<00000057");
	up(b, SYNC, 0, 6);
	word(b, 6, 0x58);
	word(b, 6, 4);
	word(b, 6, 0x52);
	expect(b, "6<0000000b 6<00000002 6<00000057");
	down(b, 6, 0); /* does not wait any more */
	up(b, SYNC, 0, 8);
	word(b, 8, 0x58);
	word(b, 8, 3);
	expect(b, "8<0000000b 8<00000002");
	word(b, 8, 0x4c);
	expect(b, "start 7<00000052 8<00000052");
	flows(b, 4);
	up(b, SYNC, 0, 9);
	word(b, 9, 0x58);
	expect(b, "9<0000000c");
	PASS_MS(b, 2000);
	expect(b, "finish 200");
	result(b, 1000);
	expect(b, "");
	word(b, 7, 0x45);
	down(b, 7, 0);
	expect(b, "7<0000000d");
	down(b, 8, 0);
	expect(b, "close 9 done");
	bench_free(b);
}

static void rejects_the_last_of_many_when_it_is_for_one(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 0x58);
	word(b, 0, 2);
	nd_str_reset(&b->log);
	word(b, 0, 0x4c);
	expect(b, "0<00000045");
	word(b, 0, 3); /* a sender may propose again */
	expect(b, "restart 2 0<00000003");
	word(b, 0, 3);
	expect(b, "0<00000003");
	bench_free(b);
}

/* A sender that leaves, or says nothing, before the start makes room for the next. */
static void waits_for_the_next_sender(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 0x58);
	word(b, 0, 9);
	nd_str_reset(&b->log);
	down(b, 0, -ECONNRESET);
	expect(b, "restart 2");
	assert_int_equal(b->plan.duration_ns, 2 * ND_NS_PER_S);
	up(b, SYNC, 0, 1);
	word(b, 1, 0x58);
	word(b, 1, 2);
	expect(b, "1<0000000a 1<00000002"); /* the run fits */
	PASS_MS(b, 119 * 1000);
	expect(b, "");
	PASS_MS(b, 2 * 1000);
	expect(b, "close 1 restart 2");
	up(b, SYNC, 0, 2);
	word(b, 2, 0x47455420); /* "GET " */
	expect(b, "close 2");
	bench_free(b);
}

static void ends_without_limit(void **state)
{
	static const struct {
		const char *how, *want;
	} rows[] = {
		{ "E", "0<0000000d finish 200" },
		{ "link", "finish 200" },
		{ "flows", "finish 0" },
		{ "stop", "finish 0" },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = bench_new(false);

		b->set.continuous = true;
		b->set.time_ms = 0;
		run_receiver(b, 7);
		PASS_MS(b, 100 * 1000);
		expect(b, "");
		if (!strcmp(rows[i].how, "E"))
			word(b, 0, 0x45);
		else if (!strcmp(rows[i].how, "link"))
			down(b, 0, 0);
		else if (!strcmp(rows[i].how, "flows"))
			flows(b, 0);
		else
			stop(b, "interrupted");
		expect(b, rows[i].want);
		result(b, 1000);
		PASS_MS(b, 3000);
		expect_some(b, "done");
		assert_false(b->is_peer_fault);
		bench_free(b);
	}
}

static void receiver_is_stopped(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	bench_open(b);
	stop(b, "interrupted");
	expect(b, "fail: interrupted before the test began");
	bench_free(b);
	b = bench_new(false);
	run_receiver(b, 2);
	stop(b, "interrupted");
	stop(b, "again");
	expect(b, "stop");
	result(b, 1);
	expect(b, "close 0 done: interrupted");
	bench_free(b);
}

static void receiver_does_not_hang(void **state)
{
	struct bench *b = bench_new(false);
	struct nd_err err = { -EMFILE, "too few descriptors" };

	(void)state;
	run_receiver(b, 2);
	PASS_MS(b, 2000);
	expect(b, "finish 200");
	PASS_MS(b, 10300);
	expect(b, "stop");
	PASS_MS(b, 10100);
	expect(b, "close 0 fail: the run did not end when it was told to");
	bench_free(b);
	b = bench_new(false);
	run_receiver(b, 2);
	PASS_MS(b, 2000);
	result(b, 1);
	PASS_MS(b, 2100); /* the sender does not close: its last words are not awaited for ever */
	expect(b, "finish 200 close 0 done");
	bench_free(b);
	b = bench_new(false);
	bench_open(b);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_RUN_FAILED, .err = &err });
	expect(b, "fail: too few descriptors");
	bench_free(b);
}

/* ---- sender ---- */

/* Everything up to the start, with a receiver that answers @state and @agreed. */
static void run_sender(struct bench *b, uint32_t state, uint32_t agreed)
{
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, state);
	word(b, 0, agreed);
	local(b, ND_DLG_FLOWS_READY);
	word(b, 0, 0x52);
	assert_int_equal(b->timer[0] == UINT64_MAX, agreed == 0);
	nd_str_reset(&b->log);
}

static void sends_a_normal_run(void **state)
{
	struct bench *b = bench_new(true);

	(void)state;
	bench_open(b);
	expect(b, "connect 0.0=0");
	up(b, SYNC, 0, 0);
	expect(b, "0<00000058");
	word(b, 0, 11);
	expect(b, "0<00000002");
	word(b, 0, 2);
	expect(b, "prepare 2");
	local(b, ND_DLG_FLOWS_READY);
	expect(b, "0<00000052");
	word(b, 0, 0x52);
	expect(b, "start");
	PASS_MS(b, 2000);
	local(b, ND_DLG_SENT);
	result(b, 1000);
	assert_true(b->plan.keep_open); /* else the receiver may wait for ever */
	PASS_MS(b, 499);
	expect(b, "");
	PASS_MS(b, 1);
	expect(b, "close 0 done"); /* no E: the whole cycle was measured */
	bench_free(b);
	b = bench_new(true);
	run_sender(b, 13, 2);
	result(b, 1000);
	down(b, 0, 0); /* it has ended, too */
	expect(b, "done");
	bench_free(b);
}

static void sends_a_warm_run(void **state)
{
	struct bench *b = bench_new(true);

	(void)state;
	b->set.warmup_ms = b->set.time_ms = b->set.cooldown_ms = 1000;
	run_sender(b, 11, 3);
	assert_int_equal(b->plan.warmup_ns, ND_NS_PER_S);
	assert_int_equal(b->plan.duration_ns, ND_NS_PER_S);
	assert_int_equal(b->plan.cooldown_ns, ND_NS_PER_S);
	PASS_MS(b, 3000);
	result(b, 1000);
	expect(b, "0<00000045");
	word(b, 0, 13);
	expect(b, "close 0 done");
	bench_free(b);
}

static void sender_is_interrupted(void **state)
{
	struct bench *b = bench_new(true);

	(void)state;
	b->set.time_ms = 5000;
	run_sender(b, 11, 5);
	PASS_MS(b, 1000);
	stop(b, "interrupted");
	expect(b, "stop 0<00000045");
	word(b, 0, 13);
	result(b, 1000);
	expect(b, "close 0 done: interrupted");
	bench_free(b);
	b = bench_new(true);
	bench_open(b);
	stop(b, NULL);
	expect_some(b, "fail: stopped before the test began");
	bench_free(b);
}

static void sender_meets_a_refusal(void **state)
{
	static const struct {
		const char *when;
		uint32_t word;
		bool last;
		const char *want;
	} rows[] = {
		{ "ask", 12, false, "fail peer: the receiver is busy with another test" },
		{ "time", (uint32_t)-5, false,
		  "fail peer: the receiver answered with a time of -5 s" },
		{ "start", 0x45, false, "fail peer: the receiver rejected the test" },
		{ "start", 7, false,
		  "fail peer: the receiver is not ready: it answered the start with 7" },
		{ "start", 2, true, "several senders, -M?" },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = bench_new(true);

		b->set.last = rows[i].last;
		bench_open(b);
		up(b, SYNC, 0, 0);
		if (strcmp(rows[i].when, "ask") != 0)
			word(b, 0, 13);
		if (!strcmp(rows[i].when, "start")) {
			word(b, 0, 2);
			local(b, ND_DLG_FLOWS_READY);
		}
		word(b, 0, rows[i].word);
		expect_some(b, rows[i].want);
		bench_free(b);
	}
}

static void proposes_no_command(void **state)
{
	static const struct {
		uint32_t time, state, proposed, agreed, cycle_ms;
	} rows[] = {
		{ 69, 11, 70, 70, 69000 }, { 76, 11, 77, 77, 76000 }, { 82, 13, 83, 83, 82000 },
		{ 88, 11, 89, 89, 88000 }, { 88, 10, 88, 88, 88000 }, { 70, 11, 70, 70, 70000 },
		{ 82, 11, 83, 90, 90000 }, { 88, 11, 89, 10, 10000 },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = bench_new(true);
		uint64_t cycle_ns;
		char want[40];

		b->set.time_ms = rows[i].time * 1000;
		bench_open(b);
		up(b, SYNC, 0, 0);
		nd_str_reset(&b->log);
		word(b, 0, rows[i].state);
		(void)snprintf(want, sizeof(want), "0<%08x", rows[i].proposed);
		expect(b, want);
		word(b, 0, rows[i].agreed);
		expect(b, "prepare 2");
		cycle_ns = b->plan.warmup_ns + b->plan.duration_ns + b->plan.cooldown_ns;
		assert_int_equal(cycle_ns / ND_NS_PER_MS, rows[i].cycle_ms);
		local(b, ND_DLG_FLOWS_READY);
		word(b, 0, 0x52);
		nd_str_reset(&b->log);
		result(b, 1);
		if (rows[i].proposed != rows[i].time) {
			/* the receiver's clock has a second more, or it has cut ours */
			if (rows[i].agreed < rows[i].time)
				PASS_MS(b, 500);
			expect_some(b, rows[i].agreed < rows[i].time ? "done" : "0<00000045");
		}
		bench_free(b);
	}
}

/* -M at the receiver: wait, then start; the second R of old receivers is not for us. */
static void waits_with_other_senders(void **state)
{
	struct bench *b = bench_new(true);

	(void)state;
	b->set.time_ms = 5000;
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 11);
	word(b, 0, 2);
	local(b, ND_DLG_FLOWS_READY);
	expect(b, "connect 0.0=0 0<00000058 0<00000005 prepare 2 0<00000052");
	assert_int_equal(b->plan.duration_ns, 2 * ND_NS_PER_S); /* the receiver's time wins */
	word(b, 0, 0x57);
	PASS_MS(b, 3600 * 1000);
	expect(b, "");
	word(b, 0, 0x52);
	expect(b, "start");
	bench_free(b);
	b = bench_new(true);
	b->set.last = true;
	b->set.warmup_ms = 1000;
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 11);
	word(b, 0, 3);
	local(b, ND_DLG_FLOWS_READY);
	expect(b, "connect 0.0=0 0<00000058 0<00000003 prepare 2 0<0000004c");
	word(b, 0, 0x52);
	word(b, 0, 0x52);
	expect(b, "start");
	result(b, 1);
	expect(b, "0<00000045");
	word(b, 0, 0x52); /* even now */
	expect(b, "");
	word(b, 0, 13);
	expect(b, "close 0 done");
	bench_free(b);
}

/* One sender, two receivers: each is asked; they begin together. */
static void sends_to_several(void **state)
{
	struct nd_target list[] = { { .host = "10.0.0.1" },
				    { .host = "10.0.0.1" },
				    { .host = "10.0.0.2" } };
	struct bench *b = bench_new(true);

	(void)state;
	b->plan.targets = (struct nd_list){ .v = list, .n = 3 };
	bench_open(b);
	expect(b, "connect 0.0=0 connect 0.2=1");
	up(b, SYNC, 0, 1);
	expect(b, "");
	up(b, SYNC, 0, 0);
	expect(b, "0<00000058 1<00000058");
	word(b, 1, 10);
	word(b, 0, 10);
	expect(b, "0<00000002 1<00000002");
	word(b, 1, 5);
	word(b, 0, 2);
	expect(b, "prepare 2");
	assert_int_equal(b->plan.cooldown_ns, 3 * ND_NS_PER_S);
	local(b, ND_DLG_FLOWS_READY);
	word(b, 0, 0x52);
	expect(b, "0<00000052 1<00000052");
	word(b, 1, 0x52);
	expect(b, "start");
	down(b, 1, -ECONNRESET); /* the other one goes on */
	expect(b, "");
	result(b, 1);
	expect(b, "0<00000045");
	down(b, 0, 0);
	expect(b, "done");
	bench_free(b);
}

static void sender_loses_the_receiver(void **state)
{
	struct bench *b = bench_new(true);

	(void)state;
	bench_open(b);
	up(b, SYNC, 0, 0);
	down(b, 0, 0);
	expect_some(b, "fail peer: the receiver closed the sync connection instead of answering");
	bench_free(b);
	b = bench_new(true);
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 11);
	down(b, 0, 0);
	expect_some(b, "fail peer: the receiver closed the sync connection before the start");
	bench_free(b);
	b = bench_new(true);
	run_sender(b, 11, 2);
	PASS_MS(b, 500);
	down(b, 0, 0);
	expect(b, "stop");
	result(b, 1);
	expect(b, "done: the receiver closed the sync connection before the end");
	bench_free(b);
	b = bench_new(true);
	run_sender(b, 11, 2);
	PASS_MS(b, 1500);
	down(b, 0, 0); /* it has ended, which it may a moment before us */
	PASS_MS(b, 500);
	result(b, 1);
	PASS_MS(b, 500);
	expect(b, "done");
	bench_free(b);
}

static void sender_does_not_hang(void **state)
{
	static const struct {
		unsigned words;
		uint64_t ms;
		const char *want;
	} rows[] = {
		{ 0, 5000, "fail peer: no answer on the sync connection" },
		{ 1, 5000, "fail peer: the receiver has stopped answering" },
		{ 2, 30000, "fail peer: the receiver has stopped answering" },
	};
	struct bench *b;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		b = bench_new(true);
		bench_open(b);
		up(b, SYNC, 0, 0);
		if (rows[i].words > 0)
			word(b, 0, 11);
		if (rows[i].words > 1) {
			word(b, 0, 2);
			local(b, ND_DLG_FLOWS_READY);
		}
		PASS_MS(b, rows[i].ms);
		expect_some(b, rows[i].want);
		bench_free(b);
	}
	b = bench_new(true);
	b->set.cooldown_ms = 1000;
	run_sender(b, 11, 3);
	result(b, 1);
	PASS_MS(b, 3000); /* nobody answers E */
	expect(b, "0<00000045 close 0 done");
	bench_free(b);
	b = bench_new(true);
	run_sender(b, 11, 2);
	PASS_MS(b, 40000);
	expect(b, "stop close 0 fail: the run did not end when it was told to");
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_bytes_by_port),
		cmocka_unit_test(prints_words),
		cmocka_unit_test(opens_ports),
		cmocka_unit_test(spares_ports),
		cmocka_unit_test(needs_its_own_plan),
		cmocka_unit_test(receives_a_normal_run),
		cmocka_unit_test(receives_a_warm_run),
		cmocka_unit_test(receives_an_interrupted_run),
		cmocka_unit_test(receives_until_connections_end),
		cmocka_unit_test(receives_datagrams_until_their_sender_dies),
		cmocka_unit_test(tells_others_that_it_is_busy),
		cmocka_unit_test(takes_words_by_place),
		cmocka_unit_test(agrees_on_a_time),
		cmocka_unit_test(starts_many_senders_together),
		cmocka_unit_test(rejects_the_last_of_many_when_it_is_for_one),
		cmocka_unit_test(waits_for_the_next_sender),
		cmocka_unit_test(ends_without_limit),
		cmocka_unit_test(receiver_is_stopped),
		cmocka_unit_test(receiver_does_not_hang),
		cmocka_unit_test(sends_a_normal_run),
		cmocka_unit_test(sends_a_warm_run),
		cmocka_unit_test(sender_is_interrupted),
		cmocka_unit_test(sender_meets_a_refusal),
		cmocka_unit_test(proposes_no_command),
		cmocka_unit_test(waits_with_other_senders),
		cmocka_unit_test(sends_to_several),
		cmocka_unit_test(sender_loses_the_receiver),
		cmocka_unit_test(sender_does_not_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
