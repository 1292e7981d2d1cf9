/* SPDX-License-Identifier: MIT */
/* netserver in a process of its own and netperf's client against it: every kind of test, both sides' figures. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "plan/netperf.h"
#include "result/repeats.h"
#include "session/session.h"

enum { BOTH = ND_NP_SEND | ND_NP_RECV };

struct server {
	pid_t pid;
	uint16_t port;
};

struct kind {
	const char *name, *load, *transport, *engine, *host;
	unsigned direction;
	uint64_t bytes, ops; /* one of them ends it; else time */
	uint64_t ahead, flows;
};

/* clang-format off */
static const struct kind kinds[] = {
	{ "TCP_STREAM", "stream", "tcp", "auto",  "127.0.0.1", ND_NP_SEND, 30000001, 0,   0,  1 },
	{ "TCP_STREAM", "stream", "tcp", "auto",  "127.0.0.1", ND_NP_SEND, 0,        0,   0,  1 },
	{ "TCP_STREAM", "stream", "tcp", "auto",  "127.0.0.1", ND_NP_SEND, 4000000,  0,   0,  4 },
	{ "TCP_STREAM", "stream", "tcp", "auto",  "::1",       ND_NP_SEND, 4000000,  0,   0,  1 },
	{ "TCP_MAERTS", "stream", "tcp", "auto",  "127.0.0.1", ND_NP_RECV, 0,        0,   0,  1 },
	{ "TCP_RR",     "rr",     "tcp", "auto",  "127.0.0.1", BOTH,       0,        300, 0,  1 },
	{ "TCP_RR",     "rr",     "tcp", "auto",  "127.0.0.1", BOTH,       0,        300, 15, 1 },
	{ "TCP_CRR",    "crr",    "tcp", "auto",  "127.0.0.1", BOTH,       0,        60,  0,  1 },
	{ "TCP_CRR",    "crr",    "tcp", "epoll", "127.0.0.1", BOTH,       0,        60,  0,  1 },
	{ "TCP_CRR",    "crr",    "tcp", "auto",  "::1",       BOTH,       0,        20,  0,  1 },
	{ "TCP_CRR",    "crr",    "tcp", "auto",  "127.0.0.1", BOTH,       0,        0,   0,  1 },
	{ "TCP_CC",     "cc",     "tcp", "auto",  "127.0.0.1", 0,          0,        60,  0,  1 },
	{ "UDP_STREAM", "stream", "udp", "auto",  "127.0.0.1", ND_NP_SEND, 64000,    0,   0,  1 },
	{ "UDP_STREAM", "stream", "udp", "auto",  "::1",       ND_NP_SEND, 64000,    0,   0,  2 },
	{ "UDP_RR",     "rr",     "udp", "auto",  "127.0.0.1", BOTH,       0,        300, 0,  1 },
	{ "UDP_RR",     "rr",     "udp", "auto",  "127.0.0.1", BOTH,       0,        0,   3,  1 },
	{ "OMNI",       "stream", "udp", "auto",  "127.0.0.1", ND_NP_RECV, 0,        0,   0,  1 },
};

/* clang-format on */

/* ---- the server ---- */

static void on_listening(void *user, const struct nd_progress_event *ev)
{
	const int *out = user;

	if (ev->what == ND_PROG_LISTENING && write(*out, ev->text, strlen(ev->text) + 1) < 0)
		_exit(9);
}

static void never(void *user, struct nd_result *r)
{
	(void)user;
	(void)r;
}

/* In the child. */
static void serve(int out, const char *phrase)
{
	struct nd_netperf n = { .server = true, .foreground = true, .passphrase = phrase };
	struct nd_sink sink = { on_listening, &out };
	struct nd_err err = { 0 };
	struct nd_plan plan;
	int ending;

	nd_plan_init(&plan);
	plan.verb = ND_VERB_RECEIVE;
	plan.dialect = "netperf";
	plan.face = &n;
	plan.face_table = &nd_netperf_table;
	ending = nd_session_run(&plan, &sink, never, NULL, &err);
	nd_plan_done(&plan);
	_exit(ending == ND_END_DONE ? 0 : 1);
}

static void start(struct server *s, const char *phrase)
{
	unsigned port = 0;
	char text[160] = "";
	const char *c;
	int p[2];

	assert_int_equal(pipe(p), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(p[0]);
		serve(p[1], phrase);
	}
	close(p[1]);
	assert_true(read(p[0], text, sizeof(text) - 1) > 0);
	close(p[0]);
	c = strstr(text, "port '");
	for (c = c ? c + 6 : ""; *c >= '0' && *c <= '9'; c++)
		port = port * 10 + (unsigned)(*c - '0');
	assert_in_range(port, 1, UINT16_MAX);
	s->port = (uint16_t)port;
}

static void stop(const struct server *s)
{
	int status = -1;

	assert_int_equal(kill(s->pid, SIGTERM), 0);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- the client ---- */

static enum nd_netperf_test test_of(const char *name)
{
	for (unsigned i = 0; nd_netperf_test_names[i]; i++) {
		if (!strcmp(nd_netperf_test_names[i], name))
			return (enum nd_netperf_test)i;
	}
	return ND_NP_OMNI;
}

static void fill_face(const struct kind *k, struct nd_netperf *n)
{
	const struct nd_netperf_pair none = { -1, -1 };
	bool counts = k->direction == BOTH || k->direction == 0;

	*n = (struct nd_netperf){
		.test = test_of(k->name),
		.send_align = { 8, 8 },
		.recv_align = { 8, 8 },
		.cpu = none,
		.priority = none,
		.tos = none,
		.sndbuf = none,
		.rcvbuf = none,
		.send_bytes = none,
		.recv_bytes = none,
		.request_bytes = counts ? 1 : -1,
		.response_bytes = counts ? 1 : -1,
		.direction = k->direction,
		.datagram = !strcmp(k->transport, "udp"),
		.connection_test = k->load[0] == 'c',
		.protocol = !strcmp(k->transport, "udp") ? "UDP" : "TCP",
		.length = k->ops     ? -(int64_t)k->ops
			  : k->bytes ? -(int64_t)k->bytes
				     : 1,
		.iterations_max = 1,
		.iterations_min = 1,
		.parallel = k->flows,
		.route = true,
	};
	if (n->datagram)
		n->send_bytes = (struct nd_netperf_pair){ 1000, 1000 };
}

static void fill_plan(const struct kind *k, const struct server *s, const struct nd_netperf *n,
		      struct nd_plan *plan)
{
	bool is_timed = !k->bytes && !k->ops;

	nd_plan_init(plan);
	plan->verb = ND_VERB_STREAM;
	plan->dialect = "netperf";
	plan->face = n;
	plan->face_table = &nd_netperf_table;
	plan->host = k->host;
	plan->port = s->port;
	plan->engine = k->engine;
	plan->tx = plan->rx = plan->wait = "auto";
	plan->duration_ns = is_timed ? 300 * ND_NS_PER_MS : ND_MAX_NS;
	plan->interval_ns = is_timed ? 100 * ND_NS_PER_MS : ND_MAX_NS / 1000;
	plan->threads = 1;
	plan->goodbyes = n->datagram ? 3 : 0;
	plan->sock.fragment = n->datagram;
	plan->workloads = plan->workload_list.n = 1;
	plan->workload[0] = (struct nd_workload){
		.active = k->direction == ND_NP_RECV ? ND_SERVER : ND_CLIENT,
		.load = k->load,
		.frame = "plain",
		.transport = k->transport,
		.flows = k->flows,
		.message_bytes = 1,
		.request_bytes = n->request_bytes > 0 ? 1 : 0,
		.response_bytes = n->request_bytes > 0 ? 1 : 0,
		.ahead = k->ahead,
		.total_bytes = k->bytes,
		.total_ops = k->ops,
	};
}

/* What a test left behind. */
struct kept {
	unsigned results;
	bool partial, achieved;
	uint64_t runs;
	struct nd_totals client, server;
};

static void keep(void *user, struct nd_result *r)
{
	const struct nd_part *own = nd_result_part(r->client, 0),
			     *peer = nd_result_part(r->server, 0);
	struct kept *k = user;

	k->results++;
	k->partial = r->partial;
	k->runs = r->repeats ? r->repeats->runs : 1;
	if (own)
		k->client = own->run;
	if (peer)
		k->server = peer->run;
}

static int run(const struct kind *k, const struct server *s, struct nd_netperf *n, struct kept *ret,
	       struct nd_err *err)
{
	struct nd_plan plan;
	int ending;

	*ret = (struct kept){ 0 };
	fill_plan(k, s, n, &plan);
	ending = nd_session_run(&plan, NULL, keep, ret, err);
	nd_plan_done(&plan);
	return ending;
}

static void check(const struct kind *k, const struct kept *got)
{
	if (got->results != 1 || got->partial)
		fail_msg("%s: %u results, partial %d", k->name, got->results, got->partial);
	if (k->ops && got->client.transactions != k->ops)
		fail_msg("%s %s: %llu transactions of %llu", k->name, k->engine,
			 (unsigned long long)got->client.transactions, (unsigned long long)k->ops);
	if (k->bytes && got->client.tx_bytes != k->bytes)
		fail_msg("%s: %llu bytes of %llu", k->name,
			 (unsigned long long)got->client.tx_bytes, (unsigned long long)k->bytes);
	if (k->direction == ND_NP_SEND && !strcmp(k->transport, "tcp") &&
	    got->client.tx_bytes != got->server.rx_bytes)
		fail_msg("%s: sent %llu, the server got %llu", k->name,
			 (unsigned long long)got->client.tx_bytes,
			 (unsigned long long)got->server.rx_bytes);
	if (k->direction == ND_NP_SEND && got->server.rx_bytes == 0)
		fail_msg("%s: the server got nothing", k->name);
	if (k->direction == BOTH && got->server.rx_bytes < got->client.transactions)
		fail_msg("%s: %llu transactions, the server has %llu requests", k->name,
			 (unsigned long long)got->client.transactions,
			 (unsigned long long)got->server.rx_bytes);
	if (k->direction == ND_NP_RECV && got->client.rx_bytes == 0)
		fail_msg("%s: nothing came", k->name);
}

static void every_kind(void **state)
{
	const struct server *s = *state;

	for (size_t i = 0; i < ND_COUNTOF(kinds); i++) {
		struct nd_err err = { 0 };
		struct nd_netperf n;
		struct kept got;
		int ending;

		fill_face(&kinds[i], &n);
		ending = run(&kinds[i], s, &n, &got, &err);
		if (ending != ND_END_DONE)
			fail_msg("%s over %s: ended %d: %s", kinds[i].name, kinds[i].host, ending,
				 err.text);
		check(&kinds[i], &got);
	}
}

/* Several tests are one session, and the last has the result. */
static void iterations(void **state)
{
	static const struct kind rr = { "TCP_RR", "rr", "tcp", "auto", "127.0.0.1",
					BOTH,     0,    100,   0,      1 };
	struct nd_err err = { 0 };
	struct nd_netperf n;
	struct kept got;

	fill_face(&rr, &n);
	n.iterations_max = n.iterations_min = 3;
	n.confidence = 99;
	n.confidence_width = 0.05;
	assert_int_equal(run(&rr, *state, &n, &got, &err), ND_END_DONE);
	assert_int_equal(got.results, 1);
	assert_int_equal(got.runs, 3);
}

/* Nothing is measured, and nothing is missing. */
static void no_test(void **state)
{
	static const struct kind cpu = { "REM_CPU",  "stream", "tcp", "auto", "127.0.0.1",
					 ND_NP_SEND, 0,        0,     0,      1 };
	struct nd_err err = { 0 };
	struct nd_netperf n;
	struct kept got;

	fill_face(&cpu, &n);
	assert_int_equal(run(&cpu, *state, &n, &got, &err), ND_END_DONE);
	assert_int_equal(got.results, 1);
	assert_false(got.partial);
}

static void passphrase(void **state)
{
	struct nd_err err = { 0 };
	struct nd_netperf n;
	struct server s;
	struct kept got;

	(void)state;
	start(&s, "open sesame");
	fill_face(&kinds[0], &n);
	n.passphrase = "open sesame";
	assert_int_equal(run(&kinds[0], &s, &n, &got, &err), ND_END_DONE);
	n.passphrase = "open";
	assert_int_not_equal(run(&kinds[0], &s, &n, &got, &err), ND_END_DONE);
	assert_int_equal(got.results, 0);
	stop(&s);
}

static void nobody_listens(void **state)
{
	struct nd_err err = { 0 };
	struct nd_netperf n;
	struct server s;
	struct kept got;

	(void)state;
	start(&s, NULL);
	stop(&s);
	fill_face(&kinds[0], &n);
	assert_int_equal(run(&kinds[0], &s, &n, &got, &err), ND_END_PEER);
	assert_non_null(strstr(err.text, "are you sure there is a netserver listening on"));
}

static int set_up(void **state)
{
	static struct server s;

	start(&s, NULL);
	*state = &s;
	return 0;
}

static int tear_down(void **state)
{
	stop(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passphrase),     cmocka_unit_test(every_kind),
		cmocka_unit_test(iterations),     cmocka_unit_test(no_test),
		cmocka_unit_test(nobody_listens),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
