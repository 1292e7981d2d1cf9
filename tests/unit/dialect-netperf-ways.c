/* SPDX-License-Identifier: MIT */
/* What netperf's two ends do, event by event. */
#include "dialect-netperf.h"

static void put(uint8_t *m, unsigned at, uint32_t word)
{
	for (unsigned i = 0; i < 4; i++)
		m[at + i] = (uint8_t)(word >> (24 - 8 * i));
}

/* A message of a type, an errno, and a word somewhere. */
static void hear_word(struct bench *b, unsigned link, const uint32_t words[4])
{
	uint8_t m[MESSAGE] = { 0 };

	put(m, 0, words[0]);
	put(m, 4, words[1]);
	put(m, words[2], words[3]);
	hear(b, link, m);
}

#define HEAR(b, link, ...) hear_word(b, link, (const uint32_t[4]){ __VA_ARGS__ })
#define ANSWER(b, link)    HEAR(b, link, 98, 0, 52, 5000 + (link))
#define RESULTS(b, link)   HEAR(b, link, 99, 0, 12, 700)
#define SILENT \
	"close 0 fail peer: recv_response_timed_n: no response received. errno 110 counter 0 "

/* ---- client */

static void nothing(struct nd_netperf *n)
{
	(void)n;
}

static void receives(struct nd_netperf *n)
{
	n->direction = ND_NP_RECV;
}

static struct bench *client(void (*set)(struct nd_netperf *))
{
	struct bench *b = bench_new(false);

	set(&b->set);
	bench_open(b);
	return b;
}

static struct bench *client_asking(void (*set)(struct nd_netperf *))
{
	struct bench *b = client(set);

	up(b, 0);
	got_socket(b, 1000, 16384, 131072);
	says(b, "connect 0 socket 0<97 ");
	return b;
}

static struct bench *client_running(void (*set)(struct nd_netperf *))
{
	struct bench *b = client_asking(set);

	ANSWER(b, 0);
	happens(b, ND_DLG_FLOWS_READY);
	says(b, "prepare start ");
	return b;
}

static void runs_to_the_end(void **state)
{
	struct bench *b = client_running(nothing);

	(void)state;
	b->now_ns += ND_NS_PER_S;
	happens(b, ND_DLG_SENT);
	happens(b, ND_DLG_RESULT);
	says(b, "");
	RESULTS(b, 0);
	says(b, "close 0 done+peer ");
	happens(b, ND_DLG_RESULT);
	down(b, 0, 0);
	says(b, "");
	bench_free(b);
}

/* Results may be here before this end is through. */
static void results_come_early(void **state)
{
	struct bench *b = client_running(nothing);

	(void)state;
	RESULTS(b, 0);
	says(b, "");
	down(b, 0, 0); /* the server may go then */
	happens(b, ND_DLG_RESULT);
	says(b, "done+peer ");
	bench_free(b);
	b = client_running(nothing);
	RESULTS(b, 0);
	fires(b, END); /* and this end must come to one */
	says(b, "stop ");
	happens(b, ND_DLG_RESULT);
	says(b, "close 0 done+peer ");
	bench_free(b);
}

static void receiver_ends_by_its_clock(void **state)
{
	struct bench *b = client_running(receives);

	(void)state;
	assert_int_equal(b->timer[END], b->now_ns + ND_NS_PER_S);
	fires(b, END);
	says(b, "finish ");
	fires(b, END);
	says(b, "stop ");
	happens(b, ND_DLG_RESULT);
	RESULTS(b, 0);
	says(b, "close 0 done+peer ");
	bench_free(b);
}

static void receiver_ends_with_the_server(void **state)
{
	struct bench *b = client_running(receives);

	(void)state;
	RESULTS(b, 0);
	says(b, "finish ");
	happens(b, ND_DLG_RESULT);
	says(b, "close 0 done+peer ");
	bench_free(b);
}

static void waits(struct nd_netperf *n)
{
	n->wait_ns = 2 * ND_NS_PER_S;
}

/* The time of the original's server runs from its answer on: nothing is asked of it before. */
static void waits_before_it_asks(void **state)
{
	struct bench *b = client(waits);

	(void)state;
	up(b, 0);
	says(b, "connect 0 socket ");
	got_socket(b, 1000, 16384, 131072);
	says(b, "");
	fires(b, END);
	says(b, "0<97 ");
	ANSWER(b, 0);
	happens(b, ND_DLG_FLOWS_READY);
	says(b, "prepare start ");
	bench_free(b);
}

static void alone(struct nd_netperf *n)
{
	n->no_control = true;
}

static void goes_without_a_server(void **state)
{
	struct bench *b = client(alone);

	(void)state;
	says(b, "socket ");
	got_socket(b, 1000, 16384, 131072);
	happens(b, ND_DLG_FLOWS_READY);
	happens(b, ND_DLG_RESULT);
	says(b, "prepare start done ");
	bench_free(b);
}

static void three(struct nd_netperf *n)
{
	n->parallel = 3;
}

static void several_flows(void **state)
{
	struct bench *b = bench_new(false);
	struct nd_target targets[3] = { { .port = 1 }, { .port = 1 }, { .port = 1 } };
	const struct nd_part *p;

	(void)state;
	three(&b->set);
	b->plan.targets = (struct nd_list){ .v = targets, .n = 3 };
	b->plan.workload[0].flows = 3;
	bench_open(b);
	up(b, 2);
	up(b, 0);
	up(b, 0);
	says(b, "connect 0 connect 1 connect 2 ");
	up(b, 1);
	got_socket(b, 1000, 16384, 131072);
	says(b, "socket 0<97 1<97 2<97 ");
	assert_int_equal(word_at(b->sent, 108), 0); /* one port would be wrong for two of them */
	ANSWER(b, 1);
	ANSWER(b, 1);
	ANSWER(b, 2);
	says(b, "");
	ANSWER(b, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(targets[i].port, 5000 + i);
	assert_int_equal(b->plan.data_port, 5000);
	happens(b, ND_DLG_FLOWS_READY);
	happens(b, ND_DLG_RESULT);
	RESULTS(b, 0);
	RESULTS(b, 2);
	RESULTS(b, 2);
	says(b, "prepare start ");
	RESULTS(b, 1);
	says(b, "close 0 close 1 close 2 done+peer ");
	p = nd_result_part(b->peer_side, 0);
	assert_int_equal(p->run.rx_bytes, 2100);
	bench_free(b);
}

static void of_cpu(struct nd_netperf *n)
{
	n->test = ND_NP_REM_CPU;
}

static void own_cpu(struct nd_netperf *n)
{
	n->test = ND_NP_LOC_CPU;
}

static void tests_without_data(void **state)
{
	uint8_t m[MESSAGE] = { 0 };
	struct bench *b = client(of_cpu);

	(void)state;
	up(b, 0);
	put(m, 0, 5);
	put(m, 8, 0x42c80000);
	put(m, 12, 4);
	hear(b, 0, m);
	says(b, "connect 0 0<5 close 0 done ");
	assert_true(set_of(b)->said.remote_rate > 99.9 && set_of(b)->said.remote_rate < 100.1);
	assert_int_equal(set_of(b)->said.remote_cpus, 4);
	bench_free(b);
	b = client(own_cpu);
	up(b, 0);
	says(b, "connect 0 close 0 done ");
	bench_free(b);
}

static void of_mss(struct nd_netperf *n)
{
	n->test = ND_NP_TCP_MSS;
}

static void segment_size_needs_no_data(void **state)
{
	struct bench *b = client(of_mss);

	(void)state;
	up(b, 0);
	got_socket(b, 1000, 16384, 131072);
	HEAR(b, 0, 11, 0, 32, 5000);
	happens(b, ND_DLG_FLOWS_READY);
	says(b, "connect 0 socket 0<10 prepare start stop ");
	happens(b, ND_DLG_RESULT);
	HEAR(b, 0, 12, 0, 0, 12);
	says(b, "close 0 done+peer ");
	bench_free(b);
}

static void server_refuses(void **state)
{
	static const struct {
		uint32_t code;
		const char *want;
	} rows[] = {
		{ 98, "close 0 fail peer: netperf: remote error 98 " },
		{ 998, "close 0 fail peer: netperf: remote error 998 " },
		{ 0xffffffff, "close 0 fail peer: netperf: remote error 4294967295 " },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = client_asking(nothing);

		HEAR(b, 0, 98, rows[i].code, 52, 5000);
		says(b, rows[i].want);
		bench_free(b);
		b = client_running(nothing);
		HEAR(b, 0, 99, rows[i].code, 52, 5000);
		says(b, rows[i].want);
		bench_free(b);
	}
}

static void server_is_strange(void **state)
{
	struct bench *b = client_asking(nothing);

	(void)state;
	HEAR(b, 0, 98, 0, 52, 0);
	says(b, "close 0 fail peer: the server told no data port ");
	bench_free(b);
	b = client_asking(nothing);
	HEAR(b, 7, 98, 0, 52, 5000);
	fires(b, DEADLINE);
	says(b, SILENT);
	bench_free(b);
	b = client_running(nothing);
	happens(b, ND_DLG_RESULT);
	fires(b, DEADLINE);
	says(b, SILENT);
	bench_free(b);
}

static void server_goes(void **state)
{
	struct bench *b = client(nothing);

	(void)state;
	b->plan.exits.peer = 255;
	down(b, 0, -ECONNREFUSED);
	says(b, "connect 0 fail peer: no control connection ");
	assert_int_equal(b->plan.exits.peer, 255);
	bench_free(b);
	b = client_asking(nothing);
	b->plan.exits.peer = 255;
	b->plan.exits.prefix = "netperf: ";
	down(b, 0, 0);
	says(b, "fail peer: recv_response: partial response received: 0 bytes ");
	assert_int_equal(b->plan.exits.peer, 1);
	assert_string_equal(b->plan.exits.prefix, "");
	bench_free(b);
	b = client_running(nothing);
	down(b, 0, -ECONNRESET);
	says(b, "fail peer: recv_response: Connection reset by peer ");
	bench_free(b);
	b = client_running(nothing);
	happens(b, ND_DLG_RESULT);
	down(b, 0, 0);
	says(b, "fail peer: recv_response: partial response received: 0 bytes ");
	bench_free(b);
	b = client_running(nothing);
	happens(b, ND_DLG_STOP);
	happens(b, ND_DLG_RESULT);
	down(b, 0, 0);
	says(b, "stop done: the server closed the control connection before its results ");
	bench_free(b);
}

/* An interrupt ends the test early, and the server's results are still wanted. */
static void user_stops(void **state)
{
	struct bench *b = client_running(nothing);

	(void)state;
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_STOP, .reason = "enough" });
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_STOP, .reason = "enough" });
	happens(b, ND_DLG_RESULT);
	says(b, "stop ");
	RESULTS(b, 0);
	says(b, "close 0 done+peer ");
	bench_free(b);
	b = client_running(nothing);
	happens(b, ND_DLG_STOP);
	happens(b, ND_DLG_RESULT);
	fires(b, DEADLINE);
	says(b, "stop close 0 done: interrupted, and the server sent no results ");
	bench_free(b);
	b = client_running(nothing);
	happens(b, ND_DLG_STOP);
	fires(b, END);
	says(b, "stop close 0 fail: the run did not end when it was told to ");
	bench_free(b);
	b = client_asking(nothing);
	happens(b, ND_DLG_STOP);
	says(b, "close 0 fail: stopped ");
	bench_free(b);
}

static void run_fails(void **state)
{
	const struct nd_err err = { .code = -ECONNREFUSED, .text = "flow 0: connection refused" };
	struct bench *b = client_asking(nothing);

	(void)state;
	ANSWER(b, 0);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_RUN_FAILED, .err = &err });
	says(b, "prepare close 0 fail: send_omni: connect_data_socket failed: Connection refused ");
	bench_free(b);
	b = client_running(nothing);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_RUN_FAILED, .err = &err });
	says(b, "close 0 fail: flow 0: connection refused ");
	bench_free(b);
	b = client(nothing);
	up(b, 0);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_SOCKET, .error = -EINVAL });
	says(b, "connect 0 socket close 0 fail: the data socket could not be made ");
	bench_free(b);
}

/* ---- server */

enum { SECONDS = 64, FLAGS = 56, DIRECTION = 104 };

static void ask(uint8_t m[MESSAGE], uint32_t direction, uint32_t flags, uint32_t length)
{
	memset(m, 0, MESSAGE);
	put(m, 0, 97);
	for (unsigned at = 4; at < 16; at += 4)
		put(m, at, UINT32_MAX);
	put(m, 28, 1);
	put(m, 52, 1);
	put(m, FLAGS, flags);
	put(m, SECONDS, length);
	put(m, 92, 4);
	put(m, 96, 1);
	put(m, 100, 6);
	put(m, DIRECTION, direction);
}

static void as_datagrams(uint8_t m[MESSAGE])
{
	put(m, 96, 2);
	put(m, 100, 17);
}

static struct bench *server(const char *phrase)
{
	struct bench *b = bench_new(true);

	b->set.passphrase = phrase;
	bench_open(b);
	up(b, 0);
	return b;
}

static void take(struct bench *b, const uint8_t m[MESSAGE])
{
	hear(b, 0, m);
	got_socket(b, 5000, 16384, 131072);
	happens(b, ND_DLG_PLAN);
}

static struct bench *server_running(uint32_t direction, uint32_t flags, uint32_t length)
{
	struct bench *b = server(NULL);
	uint8_t m[MESSAGE];

	ask(m, direction, flags, length);
	take(b, m);
	happens(b, ND_DLG_FIRST_DATA);
	says(b, "socket propose prepare 0<98 ");
	happens(b, ND_DLG_FLOWS_READY);
	says(b, "start ");
	return b;
}

static void over(struct bench *b)
{
	happens(b, ND_DLG_RESULT);
}

static void one_test_after_another(void **state)
{
	struct bench *b = server_running(4, 0, 1);
	uint8_t m[MESSAGE];

	(void)state;
	over(b);
	says(b, "0<99 ");
	assert_true(b->timer[END] == UINT64_MAX && b->timer[DEADLINE] == UINT64_MAX);
	for (int i = 0; i < 3; i++) {
		ask(m, 2, 0, 1);
		take(b, m);
		happens(b, ND_DLG_FLOWS_READY);
		happens(b, ND_DLG_FIRST_DATA);
		over(b);
		over(b);
		says(b, "socket propose restart 0<98 start 0<99 ");
	}
	down(b, 0, 0);
	says(b, "done ");
	bench_free(b);
}

/* Its time begins with the first data; a pad for a client that does not end. */
static void server_has_timers(void **state)
{
	static const struct {
		uint32_t direction, flags, length;
		uint64_t by_ms; /* 0: never */
		const char *want;
		uint64_t quiet_ms;
	} rows[] = {
		{ 4, 0, 10, 14000, "finish ", 0 },    { 2, 0, 10, 14000, "stop ", 0 },
		{ 6, 0, 10, 14000, "finish ", 0 },    { 6, 4, 10, 10000, "finish ", 250 },
		{ 0, 4, 10, 10000, "finish ", 250 },  { 4, 0, 0, 0, NULL, 0 },
		{ 4, 0, (uint32_t)-100, 0, NULL, 0 }, { 6, 4, (uint32_t)-100, 0, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = server_running(rows[i].direction, rows[i].flags, rows[i].length);

		if (rows[i].by_ms == 0) {
			assert_true(b->timer[END] == UINT64_MAX);
			bench_free(b);
			continue;
		}
		assert_int_equal(b->timer[END], b->now_ns + rows[i].by_ms * ND_NS_PER_MS);
		fires(b, END);
		says(b, rows[i].want);
		if (rows[i].want[0] == 'f')
			assert_int_equal(b->quiet_ns, rows[i].quiet_ms * ND_NS_PER_MS);
		over(b);
		says(b, "0<99 ");
		bench_free(b);
	}
}

static void server_run_hangs(void **state)
{
	struct bench *b = server_running(4, 0, 1);

	(void)state;
	fires(b, END);
	fires(b, END);
	says(b, "finish stop ");
	fires(b, END);
	says(b, "fail: the run did not end when it was told to ");
	bench_free(b);
}

/* Nothing comes: the client still gets results, of nothing. */
static void no_data_comes(void **state)
{
	struct bench *b = server(NULL);
	uint8_t m[MESSAGE];

	(void)state;
	ask(m, 4, 0, 1);
	take(b, m);
	happens(b, ND_DLG_FLOWS_READY);
	assert_int_equal(b->timer[DEADLINE], b->now_ns + 21 * ND_NS_PER_S);
	fires(b, DEADLINE);
	says(b, "socket propose prepare 0<98 0<99 ");
	assert_int_equal(word_at(b->sent, 4), 0);
	bench_free(b);
}

static void server_sends_datagrams(void **state)
{
	struct bench *b = server(NULL);
	uint8_t m[MESSAGE];

	(void)state;
	ask(m, 2, 0, 1);
	as_datagrams(m);
	take(b, m);
	happens(b, ND_DLG_FLOWS_READY);
	says(b, "socket propose prepare 0<98 start ");
	bench_free(b);
}

static void counts_transactions(void **state)
{
	struct bench *b = server_running(6, 4, (uint32_t)-100);

	(void)state;
	assert_int_equal(b->plan.workload[0].total_ops, 100);
	assert_int_equal(b->plan.workload[0].total_bytes, 0);
	bench_free(b);
	b = server_running(2, 0, (uint32_t)-5000);
	assert_int_equal(b->plan.workload[0].total_ops, 0);
	assert_int_equal(b->plan.workload[0].total_bytes, 5000);
	bench_free(b);
}

static void refuses_requests(void **state)
{
	static const struct {
		unsigned at;
		uint32_t word;
		int want;
	} rows[] = {
		{ 96, 3, ESOCKTNOSUPPORT },        { 100, 132, EPROTONOSUPPORT },
		{ 92, 7, EAFNOSUPPORT },           { DIRECTION, 8, EINVAL },
		{ DIRECTION, 0, EINVAL },          { FLAGS, 4, EINVAL },
		{ DIRECTION, 0xffffffff, EINVAL },
	};
	struct bench *b = server(NULL);
	uint8_t m[MESSAGE];

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		ask(m, 4, 0, 1);
		put(m, rows[i].at, rows[i].word);
		hear(b, 0, m);
		says(b, "0<98 ");
		assert_int_equal(word_at(b->sent, 4), rows[i].want);
	}
	ask(m, 6, 4, 1);
	as_datagrams(m);
	hear(b, 0, m);
	assert_int_equal(word_at(b->sent, 4), EOPNOTSUPP);
	says(b, "0<98 ");
	bench_free(b);
}

static void refuses_sizes(void **state)
{
	static const struct {
		uint32_t request, response;
		bool datagram;
		int want;
	} rows[] = {
		{ 0, 1, false, EINVAL },
		{ 1, (uint32_t)-7, false, EINVAL },
		{ 1, 0x7fffffff, false, EMSGSIZE },
		{ 65508, 1, true, EMSGSIZE },
	};
	struct bench *b = server(NULL);
	uint8_t m[MESSAGE];

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		ask(m, 6, 0, 1);
		put(m, 28, rows[i].request);
		put(m, 52, rows[i].response);
		if (rows[i].datagram)
			as_datagrams(m);
		hear(b, 0, m);
		got_socket(b, 5000, 16384, 131072);
		says(b, "socket 0<98 ");
		assert_int_equal(word_at(b->sent, 4), rows[i].want);
	}
	ask(m, 4, 0, 1);
	put(m, 36, 0x7fffffff); /* a read may be smaller: the client is told */
	take(b, m);
	says(b, "socket propose prepare 0<98 ");
	assert_int_equal(word_at(b->sent, 12), 16u << 20);
	bench_free(b);
}

static void cannot_serve(void **state)
{
	const struct nd_err err = { .code = -EMFILE, .text = "no descriptors" };
	struct bench *b = server(NULL);
	uint8_t m[MESSAGE];

	(void)state;
	ask(m, 4, 0, 1);
	hear(b, 0, m);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_SOCKET, .error = -EADDRINUSE });
	says(b, "socket 0<98 ");
	assert_int_equal(word_at(b->sent, 4), EADDRINUSE);
	take(b, m);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_RUN_FAILED, .err = &err });
	says(b, "socket propose prepare 0<98 0<99 ");
	assert_int_equal(word_at(b->sent, 4), EMFILE);
	bench_free(b);
}

static void answers_what_is_no_test(void **state)
{
	struct bench *b = server(NULL);

	(void)state;
	HEAR(b, 0, 5, 0, 0, 5);
	says(b, "0<5 ");
	assert_int_equal(word_at(b->sent, 8), 0x42c80000);
	assert_int_equal(word_at(b->sent, 12), 2);
	HEAR(b, 0, 1, 0, 0, 1);
	HEAR(b, 0, 2, 0, 0, 2);
	says(b, "0<3 0<3 ");
	HEAR(b, 0, 6, 0, 0, 6);
	says(b, "");
	HEAR(b, 0, 600, 0, 0, 600);
	assert_string_equal((const char *)b->sent + 8,
			    ",Deprecated,Deprecated,Deprecated,Deprecated");
	says(b, "0<601 ");
	HEAR(b, 0, 4, 0, 0, 4);
	assert_int_equal(word_at(b->sent, 4), 998);
	HEAR(b, 0, 540, 0, 0, 540);
	assert_int_equal(word_at(b->sent, 4), 998);
	HEAR(b, 0, 5, 0, 0, 5);
	assert_int_equal(word_at(b->sent, 4), 0);
	bench_free(b);
}

static void phrase(uint8_t m[MESSAGE], const char *text)
{
	memset(m, 0, MESSAGE);
	put(m, 0, 6);
	put(m, 4, UINT32_MAX);
	for (size_t i = 0; text[i]; i++)
		m[8 + i] = (uint8_t)text[i];
}

static void wants_a_passphrase(void **state)
{
	static const char *const wrong[] = { "", "secre", "secrets", "Secret" };
	struct bench *b = server("secret");
	uint8_t m[MESSAGE];

	(void)state;
	phrase(m, "secret");
	hear(b, 0, m);
	assert_true(b->timer[DEADLINE] == UINT64_MAX);
	hear(b, 0, m);
	HEAR(b, 0, 5, 0, 0, 5);
	says(b, "0<5 ");
	bench_free(b);
	for (size_t i = 0; i < ND_COUNTOF(wrong); i++) {
		b = server("secret");
		phrase(m, wrong[i]);
		hear(b, 0, m);
		says(b, "fail peer: the client did not say the passphrase ");
		bench_free(b);
	}
	b = server("secret");
	HEAR(b, 0, 5, 0, 0, 5);
	says(b, "fail peer: the client did not say the passphrase ");
	bench_free(b);
	b = server("secret");
	assert_int_equal(b->timer[DEADLINE], b->now_ns + 20 * ND_NS_PER_S);
	fires(b, DEADLINE);
	says(b, "fail peer: the client did not say the passphrase ");
	bench_free(b);
}

static void client_vanishes(void **state)
{
	struct bench *b = server_running(4, 0, 1);
	uint8_t m[MESSAGE];

	(void)state;
	down(b, 0, -ECONNRESET);
	says(b, "stop ");
	over(b);
	says(b, "0<99 done: the client closed its control connection ");
	bench_free(b);
	b = server(NULL);
	ask(m, 4, 0, 1);
	take(b, m);
	down(b, 0, 0);
	says(b, "socket propose prepare 0<98 done: the client closed its control connection ");
	bench_free(b);
	b = server_running(4, 0, 1);
	happens(b, ND_DLG_STOP);
	over(b);
	says(b, "stop 0<99 done: stopped ");
	bench_free(b);
}

static void client_is_rude(void **state)
{
	struct bench *b = server_running(4, 0, 1);
	uint8_t m[MESSAGE];

	(void)state;
	ask(m, 4, 0, 1);
	hear(b, 0, m);
	says(b, "fail peer: the client asked for a test before the last one ended ");
	bench_free(b);
	b = server(NULL);
	memset(m, 0xff, MESSAGE);
	put(m, 0, 97);
	hear(b, 0, m);
	assert_int_equal(word_at(b->sent, 4), ESOCKTNOSUPPORT);
	ask(m, 4, 0, 1);
	put(m, 160, 0x1b5b324a); /* would clear a screen */
	hear(b, 0, m);
	assert_null(b->plan.sock.cc);
	bench_free(b);
}

static void needs_its_own_plan(void **state)
{
	struct bench *b = bench_new(false);
	struct nd_dialog_cfg cfg = { .end = ND_CLIENT, .plan = &b->plan, .cpus = 1 };
	struct nd_err err = { 0 };

	(void)state;
	b->state = calloc(1, netperf()->state_bytes);
	assert_non_null(b->state);
	b->set.parallel = 1001;
	assert_int_equal(netperf()->open(b->state, &cfg, &err), -E2BIG);
	b->plan.face_table = NULL;
	assert_int_equal(netperf()->open(b->state, &cfg, &err), -EINVAL);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_to_the_end),
		cmocka_unit_test(results_come_early),
		cmocka_unit_test(receiver_ends_by_its_clock),
		cmocka_unit_test(receiver_ends_with_the_server),
		cmocka_unit_test(waits_before_it_asks),
		cmocka_unit_test(goes_without_a_server),
		cmocka_unit_test(several_flows),
		cmocka_unit_test(tests_without_data),
		cmocka_unit_test(segment_size_needs_no_data),
		cmocka_unit_test(server_refuses),
		cmocka_unit_test(server_is_strange),
		cmocka_unit_test(server_goes),
		cmocka_unit_test(user_stops),
		cmocka_unit_test(run_fails),
		cmocka_unit_test(one_test_after_another),
		cmocka_unit_test(server_has_timers),
		cmocka_unit_test(server_run_hangs),
		cmocka_unit_test(no_data_comes),
		cmocka_unit_test(server_sends_datagrams),
		cmocka_unit_test(counts_transactions),
		cmocka_unit_test(refuses_requests),
		cmocka_unit_test(refuses_sizes),
		cmocka_unit_test(cannot_serve),
		cmocka_unit_test(answers_what_is_no_test),
		cmocka_unit_test(wants_a_passphrase),
		cmocka_unit_test(client_vanishes),
		cmocka_unit_test(client_is_rude),
		cmocka_unit_test(needs_its_own_plan),
	};

	return cmocka_run_group_tests_name("dialect-netperf-ways", tests, NULL, NULL);
}
