/* SPDX-License-Identifier: MIT */
/* NTttcp without words: tokens, ports on demand, no synchronisation; how each end finds out; two of ours. */
#include "dialect-ntttcp.h"

#define SMALL 65536u /* first link of a sender's tokens */

/* ---- receiver ---- */

static void receives_tokens(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.windows = true;
	bench_open(b);
	flow_open(b, 0, 0);
	flow_open(b, 1, 1);
	PASS_MS(b, 200);
	up(b, TOKEN, 1, 0);
	expect(b, ""); /* it may be the sender's last one, so it waits */
	token(b, 0);
	up(b, TOKEN, 0, 1);
	expect(b, "0<58 close 0");
	PASS_MS(b, 10);
	expect(b, "prepare 2 start 1<58");
	token(b, 1);
	expect(b, "close 1");
	flows(b, 2);
	PASS_MS(b, 2000);
	expect(b, "finish 1000");
	result(b, 1000);
	expect(b, "done");
	bench_free(b);
}

/* The sender has fewer threads than this receiver has ports. */
static void receives_fewer_tokens(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.ports = 16;
	bench_open(b);
	flow_open(b, 0, 0);
	up(b, TOKEN, 0, 4);
	down(b, 4, -ECONNRESET);
	up(b, TOKEN, 0, 5);
	PASS_MS(b, 299);
	expect(b, "");
	PASS_MS(b, 1);
	expect(b, "prepare 8 start 5<58");
	up(b, TOKEN, 1, 6);
	token(b, 6);
	expect(b, "6<58 close 6"); /* late, but of this test */
	flows(b, 1);
	PASS_MS(b, 1500);
	flows(b, 0);
	expect(b, "finish 0"); /* each end has its own clock: theirs is over */
	result(b, 1000);
	expect(b, "close 5 done");
	bench_free(b);
}

static void receives_tokens_for_datagrams(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.udp = true;
	b->set.ports = 1;
	bench_open(b);
	up(b, TOKEN, 0, 0);
	PASS_MS(b, 10);
	expect(b, "prepare 1 start 0<58");
	token(b, 0);
	PASS_MS(b, 2000);
	result(b, 1000);
	expect(b, "close 0 finish 200 done");
	bench_free(b);
}

static void tells_ports(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.dynamic_ports = true;
	bench_open(b);
	up(b, PORT, 0, 0);
	up(b, PORT, 0, 1);
	up(b, PORT, 0, 2);
	expect(b, "0<8a130000 close 0 1<8b130000 close 1 close 2");
	down(b, 0, 0);
	expect(b, "");
	bench_free(b);
}

static void receives_without_sync(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.no_sync = true;
	b->set.warmup_ms = 1000;
	bench_open(b);
	expect(b, "");
	flow_open(b, 0, 0);
	expect(b, "prepare 2 start");
	flow_open(b, 1, 1);
	flows(b, 2);
	PASS_MS(b, 3000);
	expect(b, "finish 1000");
	flows(b, 0);
	result(b, 1);
	expect(b, "finish 0 done");
	bench_free(b);
	b = bench_new(false);
	b->set.no_sync = b->set.udp = true;
	bench_open(b);
	first_data(b, DATAGRAMS);
	expect(b, "prepare 2 start");
	PASS_MS(b, 2000);
	result(b, 0);
	expect(b, "finish 200 done");
	bench_free(b);
}

/* Data before any word or token: all senders that synchronise wait for an answer first. */
static void finds_out_that_there_is_no_sync(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	bench_open(b);
	up(b, SYNC, 0, 9); /* somebody who says nothing */
	flow_open(b, 0, 0);
	PASS_MS(b, 400);
	flow_open(b, 1, 1);
	PASS_MS(b, 5000);
	expect(b, ""); /* a connection alone says nothing */
	first_data(b, DATA);
	expect(b, "prepare 2 start");
	first_data(b, DATA);
	flows(b, 2);
	PASS_MS(b, 500);
	flows(b, 0);
	expect(b, "");
	PASS_MS(b, 500);
	expect(b, "finish 0");
	result(b, 0); /* a scanner: the next one may be a sender */
	expect(b, "restart 2");
	up(b, SYNC, 0, 1);
	word(b, 1, 0x58);
	flow_open(b, 0, 2);
	first_data(b, DATA);
	PASS_MS(b, 600);
	expect(b, "1<0000000a"); /* it will say when */
	down(b, 1, 0);
	expect(b, "start"); /* or not: then the data counts */
	bench_free(b);
}

/* Somebody tries all ports, those of tokens too. */
static void survives_a_scan(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.time_ms = 60000;
	bench_open(b);
	flow_open(b, 0, 0);
	flow_open(b, 1, 1);
	up(b, TOKEN, 0, 0);
	up(b, TOKEN, 1, 1);
	down(b, 0, 0);
	down(b, 1, 0);
	PASS_MS(b, 5000);
	expect(b, "0<58");
	up(b, TOKEN, 0, 0);
	up(b, TOKEN, 1, 1);
	PASS_MS(b, 10);
	expect(b, "0<58 prepare 2 start 1<58"); /* slowly */
	down(b, 0, 0);
	down(b, 1, 0);
	PASS_MS(b, 1000);
	expect(b, "finish 0");
	result(b, 0);
	expect(b, "restart 2");
	bench_free(b);
}

/* A stray datagram is no test of a minute. */
static void ends_when_datagrams_do(void **state)
{
	struct bench *b;

	(void)state;
	for (unsigned told = 0; told < 2; told++) {
		b = bench_new(false);
		b->set.udp = true;
		b->set.no_sync = told;
		b->set.time_ms = 60000;
		bench_open(b);
		first_data(b, DATAGRAMS);
		expect(b, "prepare 2 start");
		for (unsigned i = 0; i < 5; i++)
			interval(b, i == 1);
		expect(b, "");
		interval(b, 0);
		expect(b, told ? "" : "finish 0");
		bench_free(b);
	}
}

/* TCP and UDP: the run is made when the start is asked for, as only then it is known which. */
static void takes_any_transport(void **state)
{
	struct bench *b = bench_new(false);

	(void)state;
	b->set.any_transport = true;
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 0x58);
	word(b, 0, 2);
	expect(b, "0<0000000a 0<00000002");
	down(b, 0, 0); /* nothing is lost */
	up(b, SYNC, 0, 1);
	word(b, 1, 0x58);
	word(b, 1, 3);
	expect(b, "1<0000000a 1<00000003");
	word(b, 1, 0x52);
	expect(b, "prepare 2 start 1<00000052");
	bench_free(b);
	b = bench_new(false);
	b->set.any_transport = true;
	bench_open(b);
	first_data(b, DATAGRAMS);
	expect(b, "prepare 2 start");
	bench_free(b);
	b = bench_new(false);
	b->set.any_transport = true;
	bench_open(b);
	first_data(b, DATA);
	flows(b, 0);
	result(b, 0);
	expect(b, "prepare 2 start fail: somebody connected, and nothing came");
	bench_free(b);
}

/* ---- sender ---- */

static void sends_tokens(void **state)
{
	struct bench *b = bench_new(true);

	(void)state;
	b->set.windows = true;
	bench_open(b);
	expect(b, "connect 0.0=0");
	down(b, 0, -ECONNREFUSED);
	expect(b, "prepare 2");
	local(b, ND_DLG_FLOWS_READY);
	expect(b, "connect 3.0=65536 connect 3.1=65537");
	down(b, SMALL, -ECONNREFUSED); /* the receiver listens late */
	expect(b, "");
	up(b, TOKEN, 1, SMALL + 1);
	expect(b, "65537<58");
	PASS_MS(b, 99);
	expect(b, "");
	PASS_MS(b, 1);
	expect(b, "connect 3.0=65536");
	token(b, SMALL + 1);
	expect(b, "close 65537");
	up(b, TOKEN, 0, SMALL);
	expect(b, "65536<58");
	token(b, SMALL);
	expect(b, "close 65536 start");
	PASS_MS(b, 2000);
	result(b, 1);
	expect(b, "");
	PASS_MS(b, 500); /* a Windows receiver takes an early end for an error */
	expect(b, "done");
	bench_free(b);
}

/* At most ten at a time; the ports are not reached at all. */
static void sends_many_tokens(void **state)
{
	struct bench *b = bench_new(true);

	(void)state;
	b->set.windows = true;
	b->set.ports = 25;
	b->is_quiet = true;
	bench_open(b);
	down(b, 0, -ECONNREFUSED);
	local(b, ND_DLG_FLOWS_READY);
	expect(b, "prepare 2");
	assert_int_equal(b->connects, 1 + 10);
	for (unsigned i = 0; i < 5; i++)
		token(b, SMALL + i);
	assert_int_equal(b->connects, 1 + 15);
	PASS_MS(b, 9999);
	expect(b, "");
	PASS_MS(b, 1);
	expect_some(b, "fail peer: 5 of 25 connections to the ports from 6001 on");
	bench_free(b);
	b = bench_new(true);
	b->set.windows = true;
	b->set.ports = 1001;
	bench_open(b);
	down(b, 0, -ECONNREFUSED);
	local(b, ND_DLG_FLOWS_READY);
	expect_some(b, "fail: 1001 threads are over 1000");
	bench_free(b);
}

static void asks_for_ports(void **state)
{
	static const struct {
		uint16_t second, want;
	} rows[] = { { 5003, 5002 }, { 5001, 5001 }, { 5004, 0 }, { 5002, 0 } };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = bench_new(true);
		const uint8_t second[] = { (uint8_t)rows[i].second, (uint8_t)(rows[i].second >> 8),
					   0, 0 };

		b->set.windows = b->set.dynamic_ports = true;
		bench_open(b);
		expect(b, "connect 4.0=65536 connect 4.0=65537");
		up(b, PORT, 0, SMALL);
		bytes(b, SMALL, "\x8a\x13\0\0", 4);
		expect(b, "close 65536");
		up(b, PORT, 0, SMALL + 1);
		bytes(b, SMALL + 1, second, 4);
		if (rows[i].want == 0) {
			expect_some(b, "do not follow one another");
		} else {
			expect(b, "close 65537 prepare 2");
			assert_int_equal(b->plan.data_port, rows[i].want);
			local(b, ND_DLG_FLOWS_READY);
			expect(b, "connect 3.0=65536 connect 3.1=65537");
		}
		bench_free(b);
	}
}

static void asks_for_ports_in_vain(void **state)
{
	struct bench *b = bench_new(true);

	(void)state;
	b->set.windows = b->set.dynamic_ports = b->set.no_sync = true;
	bench_open(b);
	up(b, PORT, 0, SMALL); /* a data port takes the connection, too */
	PASS_MS(b, 10000);
	expect_some(b, "fail peer: port 5001 does not tell the data ports");
	bench_free(b);
}

static void sends_without_sync(void **state)
{
	unsigned windows;

	(void)state;
	for (windows = 0; windows < 2; windows++) {
		struct bench *b = bench_new(true);

		b->set.no_sync = true;
		b->set.windows = windows;
		bench_open(b);
		expect(b, "prepare 2");
		local(b, ND_DLG_FLOWS_READY);
		expect(b, "start");
		result(b, 1);
		expect(b, ""); /* the receiver may end later */
		PASS_MS(b, 500);
		expect(b, "done");
		bench_free(b);
	}
}

/* A Linux command line, and no sync port: Windows, or no synchronisation, or nobody. */
static void finds_out_which_receiver(void **state)
{
	struct nd_err err = { -ECONNREFUSED, "port 5001: refused" };
	struct bench *b = bench_new(true);

	(void)state;
	b->plan.flows_per_port = 8;
	bench_open(b);
	down(b, 0, -ECONNREFUSED);
	local(b, ND_DLG_FLOWS_READY);
	expect(b, "connect 0.0=0 prepare 2 connect 3.0=65536 connect 3.8=65537");
	token(b, SMALL);
	token(b, SMALL + 1);
	expect(b, "close 65536 close 65537 start");
	result(b, 1);
	PASS_MS(b, 500);
	expect(b, "done");
	bench_free(b);

	b = bench_new(true);
	b->is_quiet = true;
	bench_open(b);
	down(b, 0, -ECONNREFUSED);
	local(b, ND_DLG_FLOWS_READY);
	for (unsigned i = 0; i < 10; i++) {
		down(b, SMALL, -ECONNREFUSED);
		down(b, SMALL + 1, -ECONNREFUSED);
		PASS_MS(b, 100);
	}
	expect(b, "prepare 2 start");
	assert_int_equal(b->connects, 1 + 2 * 10);
	bench_free(b);

	b = bench_new(true);
	bench_open(b);
	down(b, 0, -ECONNREFUSED);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_RUN_FAILED, .err = &err });
	expect(b, "connect 0.0=0 prepare 2 fail peer: port 5000: refused");
	bench_free(b);

	err = (struct nd_err){ -ETIMEDOUT, "flow 0: no answer" };
	b = bench_new(true);
	bench_open(b);
	down(b, 0, -ECONNREFUSED);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_RUN_FAILED, .err = &err });
	expect_some(b, "fail peer: port 5000: refused; and flow 0: no answer");
	bench_free(b);

	b = bench_new(true);
	b->set.udp = true; /* datagrams go out whether anybody is there or not */
	b->is_quiet = true;
	bench_open(b);
	down(b, 0, -ECONNREFUSED);
	local(b, ND_DLG_FLOWS_READY);
	PASS_MS(b, 1000);
	expect(b, "prepare 2 fail peer: port 5000: refused");
	bench_free(b);

	b = bench_new(true);
	bench_open(b);
	down(b, 0, -ETIMEDOUT);
	expect_some(b, "fail peer: no sync connection: ");
	bench_free(b);
}

/* A Windows receiver may open its ports late, which the run waits for; a Linux command line is told at once. */
static void tries_data_ports_again(void **state)
{
	static const struct {
		bool windows, no_sync;
		uint64_t refused_ns;
	} rows[] = {
		{ true, false, 10 * ND_NS_PER_S },
		{ true, true, 10 * ND_NS_PER_S },
		{ false, true, 0 },
		{ false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_err err = { -ECONNREFUSED, "flow 0: no way" };
		struct nd_dialog_event ev = { .what = ND_DLG_RUN_FAILED, .err = &err };
		struct bench *b = bench_new(true);

		b->set.windows = rows[i].windows;
		b->set.no_sync = rows[i].no_sync;
		bench_open(b);
		if (!rows[i].no_sync)
			down(b, 0, -ECONNREFUSED);
		expect_some(b, "prepare 2");
		assert_int_equal(b->plan.refused_ns, rows[i].refused_ns);
		feed(b, ev);
		expect_some(b, "fail peer: ");
		bench_free(b);
	}
}

/* A Windows command line looks for the words first, but not for long. */
static void probes_the_sync_port(void **state)
{
	struct nd_target list[] = { { .host = "10.0.0.1" }, { .host = "10.0.0.2" } };
	struct bench *b = bench_new(true);

	(void)state;
	b->set.windows = true;
	bench_open(b);
	PASS_MS(b, 1000);
	expect(b, "connect 0.0=0 close 0 prepare 2");
	bench_free(b);

	b = bench_new(true);
	b->set.windows = true;
	bench_open(b);
	up(b, SYNC, 0, 0);
	PASS_MS(b, 1000);
	expect(b, "connect 0.0=0 0<00000058 close 0 prepare 2");
	bench_free(b);

	b = bench_new(true);
	b->set.windows = true;
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 0x48545450);
	expect(b, "connect 0.0=0 0<00000058 close 0 prepare 2");
	bench_free(b);

	b = bench_new(true);
	b->set.windows = true;
	b->set.has_time = false;
	b->set.buffers = 20480; /* ends by count */
	bench_open(b);
	up(b, SYNC, 0, 0);
	word(b, 0, 10);
	expect(b, "connect 0.0=0 0<00000058 0<00000000");
	word(b, 0, 0);
	local(b, ND_DLG_FLOWS_READY);
	word(b, 0, 0x52);
	expect(b, "prepare 2 0<00000052 start");
	result(b, 1);
	expect(b, "0<00000045"); /* all is sent, and the receiver does not know how much that is */
	bench_free(b);

	b = bench_new(true);
	b->set.windows = true;
	b->plan.targets = (struct nd_list){ .v = list, .n = 2 };
	bench_open(b);
	expect(b, "prepare 2");
	bench_free(b);

	b = bench_new(true);
	b->set.windows = b->set.dynamic_ports = true;
	b->plan.targets = (struct nd_list){ .v = list, .n = 2 };
	b->state = calloc(1, ntttcp()->state_bytes);
	assert_non_null(b->state);
	assert_int_equal(
		ntttcp()->open(b->state,
			       &(struct nd_dialog_cfg){ .end = ND_CLIENT, .plan = &b->plan }, NULL),
		-EINVAL);
	bench_free(b);
}

/* ---- two of ours ---- */

struct pair {
	struct bench *end[2];
	size_t read[2]; /* of what each has sent on the sync connection */
};

/* Hand over what @from has sent, in pieces of @most bytes, cut into messages as a link does. */
static void deliver(struct pair *p, unsigned from, size_t most)
{
	struct bench *a = p->end[from], *z = p->end[!from];
	size_t have = 0;

	while (p->read[from] < a->sent.len && !z->is_over) {
		const uint8_t *data = (const uint8_t *)a->sent.data + p->read[from];
		ssize_t n;

		have = ND_MIN(have + most, a->sent.len - p->read[from]);
		n = ntttcp()->message_bytes(data, have, SYNC);
		assert_true(n >= 0);
		if (n == 0)
			continue;
		bytes(z, 0, data, (size_t)n);
		p->read[from] += (size_t)n;
		have -= ND_MIN(have, (size_t)n);
	}
}

static void pump(struct pair *p, size_t most)
{
	for (int i = 0; i < 20; i++)
		deliver(p, (unsigned)i & 1, most);
}

static struct pair *pair_new(void)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->end[0] = bench_new(true);
	p->end[1] = bench_new(false);
	return p;
}

static void pair_run(struct pair *p, size_t most)
{
	bench_open(p->end[1]);
	bench_open(p->end[0]);
	up(p->end[1], SYNC, 0, 0);
	up(p->end[0], SYNC, 0, 0);
	pump(p, most);
	local(p->end[0], ND_DLG_FLOWS_READY);
	flow_open(p->end[1], 0, 0);
	flow_open(p->end[1], 1, 1);
	pump(p, most);
	expect(p->end[0], "connect 0.0=0 0<00000058 0<00000002 prepare 2 0<00000052 start");
	expect(p->end[1], "0<0000000a prepare 2 0<00000002 start 0<00000052");
	flows(p->end[1], 2);
}

static void pair_free(struct pair *p)
{
	bench_free(p->end[0]);
	bench_free(p->end[1]);
	free(p);
}

static const struct nd_part *peer_part(const struct bench *b)
{
	assert_non_null(b->peer_side);
	assert_int_equal(b->peer_side->parts.n, 1);
	return b->peer_side->parts.v;
}

/* Whatever pieces the connection is cut into; whoever is ready first. */
static void exchanges_results(void **state)
{
	static const struct {
		size_t most;
		bool receiver_first;
	} rows[] = {
		{ 1 << 20, true }, { 1 << 20, false }, { 1, true }, { 3, false }, { 7, true }
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = pair_new();
		struct bench *s = p->end[0], *r = p->end[1];

		pair_run(p, rows[i].most);
		PASS_MS(s, 2000);
		PASS_MS(r, 2000);
		expect(r, "finish 200");
		flows(r, 0);
		expect(r, "finish 0");
		if (rows[i].receiver_first)
			result(r, 900);
		result(s, 1000);
		expect(s, "0<0000004e");
		pump(p, rows[i].most);
		if (!rows[i].receiver_first) {
			expect(r, "");
			result(r, 900);
			pump(p, rows[i].most);
		}
		expect(r, "0<0000004e 0<result close 0 done+peer");
		expect(s, "0<result close 0 done+peer");
		assert_int_equal(peer_part(s)->run.rx_bytes, 900);
		assert_int_equal(peer_part(r)->run.tx_bytes, 1000);
		assert_string_equal(s->peer_side->name, "server");
		assert_string_equal(r->peer_side->name, "client");
		pair_free(p);
	}
}

static void exchanges_results_of_a_shorter_test(void **state)
{
	struct pair *p = pair_new();
	struct bench *s = p->end[0], *r = p->end[1];

	(void)state;
	pair_run(p, 100);
	PASS_MS(s, 1000);
	PASS_MS(r, 1000);
	stop(s, "interrupted");
	result(s, 500);
	pump(p, 100);
	result(r, 400);
	pump(p, 100);
	expect(s, "stop 0<00000045 0<0000004e 0<result close 0 done+peer: interrupted");
	expect(r, "0<0000000d finish 200 0<0000004e 0<result close 0 done+peer: "
		  "the sender stopped the test");
	pair_free(p);
}

/* Each way in which the exchange may fail: the test's own result is there all the same. */
static void goes_without_the_peers_result(void **state)
{
	static const char *const rows[] = { "silence", "gone", "other word", "no length",
					    "no json" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		for (unsigned e = 0; e < 2; e++) {
			struct pair *p = pair_new();
			struct bench *b = p->end[e];
			uint8_t junk[260] = { 0, 0, 1, 0, '{' };

			pair_run(p, 1000);
			result(b, 100);
			word(b, 0, e ? 0x4e : 0x52); /* a sender skips a late R */
			if (e == 0 && i > 2)
				word(b, 0, 0x4e);
			if (i == 0)
				PASS_MS(b, 5000);
			else if (i == 1)
				down(b, 0, -ECONNRESET);
			else if (i < 4)
				word(b, 0, 7);
			else
				bytes(b, 0, junk, sizeof(junk));
			expect_some(b, "done");
			assert_null(b->peer_side);
			pair_free(p);
		}
	}
}

static void knows_facts(void **state)
{
	struct pair *p = pair_new();
	struct nd_dialog_facts facts;
	struct nd_greeting_out greeting;

	(void)state;
	pair_run(p, 1000);
	ntttcp()->facts(p->end[0]->state, &facts);
	assert_int_equal(facts.start_ns, p->end[0]->now_ns);
	assert_null(facts.peer_version);
	assert_false(ntttcp()->greeting(p->end[0]->state, false, &greeting));
	pair_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receives_tokens),
		cmocka_unit_test(receives_fewer_tokens),
		cmocka_unit_test(receives_tokens_for_datagrams),
		cmocka_unit_test(tells_ports),
		cmocka_unit_test(receives_without_sync),
		cmocka_unit_test(finds_out_that_there_is_no_sync),
		cmocka_unit_test(survives_a_scan),
		cmocka_unit_test(ends_when_datagrams_do),
		cmocka_unit_test(takes_any_transport),
		cmocka_unit_test(sends_tokens),
		cmocka_unit_test(sends_many_tokens),
		cmocka_unit_test(asks_for_ports),
		cmocka_unit_test(asks_for_ports_in_vain),
		cmocka_unit_test(sends_without_sync),
		cmocka_unit_test(finds_out_which_receiver),
		cmocka_unit_test(tries_data_ports_again),
		cmocka_unit_test(probes_the_sync_port),
		cmocka_unit_test(exchanges_results),
		cmocka_unit_test(exchanges_results_of_a_shorter_test),
		cmocka_unit_test(goes_without_the_peers_result),
		cmocka_unit_test(knows_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
