/* SPDX-License-Identifier: MIT */
/* All the ways a native dialog ends early: refusals, lost links, silence, stops, late results, broken rules. */
#include <errno.h>
#include <stdio.h>

#include "dialect-pair.h"

#define LINK_CUT_MAX 100u

static bool says(const char *text, const char *part)
{
	if (text && strstr(text, part))
		return true;
	print_error("'%s' does not say '%s'\n", text ? text : "(nothing)", part);
	return false;
}

static void expect_fail(const struct pair *p, enum nd_end_kind e, bool peer_fault,
			const char *words)
{
	const struct end *x = &p->end[e];

	assert_int_equal(x->outcome, FAILED);
	assert_true(says(x->err.text, words));
	assert_int_equal(x->peer_fault, peer_fault);
	assert_true(x->err.code < 0);
	assert_true(x->is_closed);
}

static void expect_partial(const struct pair *p, enum nd_end_kind e, bool has_side,
			   const char *words)
{
	const struct end *x = &p->end[e];

	assert_int_equal(x->outcome, DONE);
	assert_true(says(x->reason, words));
	assert_int_equal(!!x->peer_side, has_side);
}

static void refused_by_the_session(void **state)
{
	struct pair *p = pair_new(1, 1);

	(void)state;
	p->refusal = "at most 10 flows are allowed";
	pump(p);
	expect_fail(p, ND_CLIENT, true, "the server refused: at most 10 flows are allowed");
	expect_fail(p, ND_SERVER, true, "refused: at most 10 flows");
	assert_int_equal(p->end[ND_CLIENT].prepares, 0);
	pair_free(p);
}

static void another_version(void **state)
{
	struct pair *p = pair_new(1, 1);

	(void)state;
	feed(p, ND_SERVER, (struct nd_dialog_event){ .what = ND_DLG_LINK_UP });
	inject(p, ND_SERVER, "{\"m\":\"hello\",\"protocol\":2}");
	expect_fail(p, ND_SERVER, true, "another version");
	assert_true(says(p->end[ND_SERVER].last_sent,
			 "refuse {\"m\":\"refuse\",\"sentence\":\"this server speaks version 1"));
	feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_LINK_UP });
	inject(p, ND_CLIENT, "{\"m\":\"hello\",\"protocol\":2}");
	expect_fail(p, ND_CLIENT, true, "version 2 of the protocol");
	pair_free(p);
}

static void no_connection(void **state)
{
	struct nd_err err = { .code = -ECONNREFUSED, .text = "connecting to 192.0.2.1: refused" };
	struct pair *p = pair_new(1, 1);

	(void)state;
	feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_OPEN });
	feed(p, ND_CLIENT,
	     (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN, .error = err.code, .err = &err });
	assert_string_equal(p->end[ND_CLIENT].err.text, err.text);
	assert_true(p->end[ND_CLIENT].peer_fault);
	pair_free(p);
	p = pair_new(1, 1);
	feed(p, ND_CLIENT,
	     (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN, .error = -ETIMEDOUT });
	assert_true(says(p->end[ND_CLIENT].err.text, "no connection: "));
	pair_free(p);
}

/* Cut the link after each number of deliveries: both ends end, once, with an outcome that fits. */
static void link_lost_before_the_run(void **state)
{
	unsigned cut, steps;
	bool is_cut = true;

	(void)state;
	for (cut = 4; is_cut && cut < LINK_CUT_MAX; cut++) {
		struct pair *p = pair_new(1, 1);
		unsigned e;

		for (steps = 0; steps < cut && step(p); steps++)
			;
		is_cut = steps == cut;
		p->is_deaf = true;
		for (e = 0; e < ND_ENDS; e++) {
			forget(p, (enum nd_end_kind)e);
			feed(p, (enum nd_end_kind)e,
			     (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN });
			assert_int_equal(p->end[e].outcome, FAILED);
			assert_true(says(p->end[e].err.text,
					 e ? "client closed the connection during"
					   : "server closed the connection during"));
			assert_true(p->end[e].peer_fault);
		}
		pair_free(p);
	}
	assert_true(cut > 30 && cut < LINK_CUT_MAX);
}

static void link_lost_during_the_run(void **state)
{
	struct pair *p = pair_new(1, 1);
	unsigned e;

	(void)state;
	run_for(p, 2 * ND_NS_PER_S);
	p->is_deaf = true;
	for (e = 0; e < ND_ENDS; e++) {
		feed(p, (enum nd_end_kind)e, (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN });
		assert_int_equal(p->end[e].outcome, GOING);
		assert_int_equal(p->end[e].stops, 1);
		give_result(p, (enum nd_end_kind)e);
		expect_partial(p, (enum nd_end_kind)e, false, "peer lost: connection closed");
	}
	pair_free(p);
}

/* The peer's result is here already: it is kept. */
static void link_lost_between_the_results(void **state)
{
	struct pair *p = pair_new(1, 1);

	(void)state;
	run_for(p, 2 * ND_NS_PER_S);
	give_result(p, ND_SERVER);
	pump(p);
	p->is_deaf = true;
	feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN });
	assert_int_equal(p->end[ND_CLIENT].stops, 1);
	give_result(p, ND_CLIENT);
	expect_partial(p, ND_CLIENT, true, "peer lost: connection closed");
	feed(p, ND_SERVER, (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN });
	assert_int_equal(p->end[ND_SERVER].stops, 0); /* it has ended already */
	expect_partial(p, ND_SERVER, false, "peer lost: connection closed");
	pair_free(p);
}

static void link_lost_at_the_very_end(void **state)
{
	struct pair *p = pair_new(1, 1);
	unsigned e;

	(void)state;
	run_for(p, 2 * ND_NS_PER_S);
	give_result(p, ND_SERVER);
	give_result(p, ND_CLIENT);
	deliver(p, ND_CLIENT);
	deliver(p, ND_SERVER);
	p->is_deaf = true;
	for (e = 0; e < ND_ENDS; e++) {
		feed(p, (enum nd_end_kind)e, (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN });
		assert_int_equal(p->end[e].outcome, DONE);
		assert_non_null(p->end[e].peer_side);
		assert_null(p->end[e].reason);
	}
	pair_free(p);
}

static void silence(void **state)
{
	struct pair *p = pair_new(1, 1);
	unsigned e;

	(void)state;
	run_for(p, ND_NS_PER_S);
	p->is_deaf = true;
	pass(p, 9 * ND_NS_PER_S);
	assert_int_equal(p->end[ND_CLIENT].stops + p->end[ND_SERVER].stops, 0);
	pass(p, 3 * ND_NS_PER_S);
	obey_stops(p);
	for (e = 0; e < ND_ENDS; e++)
		expect_partial(p, (enum nd_end_kind)e, false, "peer lost: nothing heard for 10 s");
	pair_free(p);
}

static void silence_before_the_run(void **state)
{
	unsigned steps;

	(void)state;
	for (steps = 4; steps < 30; steps += 5) {
		struct pair *p = pair_new(1, 1);
		unsigned i;

		for (i = 0; i < steps; i++)
			assert_true(step(p));
		p->is_deaf = true;
		p->refusal = NULL;
		while (p->end[ND_CLIENT].first < p->end[ND_CLIENT].last ||
		       p->end[ND_SERVER].first < p->end[ND_SERVER].last)
			assert_true(step(p));
		pass(p, 12 * ND_NS_PER_S);
		expect_fail(p, ND_CLIENT, true, "nothing heard for 10 s");
		expect_fail(p, ND_SERVER, true, "nothing heard for 10 s");
		pair_free(p);
	}
}

/* Beats alone do not make progress. */
static void a_client_that_never_plans(void **state)
{
	struct pair *p = pair_new(1, 1);
	int i;

	(void)state;
	feed(p, ND_SERVER, (struct nd_dialog_event){ .what = ND_DLG_LINK_UP });
	inject(p, ND_SERVER, "{\"m\":\"hello\",\"protocol\":1}");
	p->is_deaf = true;
	for (i = 0; i < 40 && p->end[ND_SERVER].outcome == GOING; i++) {
		inject(p, ND_SERVER, "{\"m\":\"beat\"}");
		pass(p, ND_NS_PER_S);
	}
	expect_fail(p, ND_SERVER, true, "no progress in planning for 30s");
	pair_free(p);
}

static void stopped_during_the_run(void **state)
{
	unsigned e;

	(void)state;
	for (e = 0; e < ND_ENDS; e++) {
		struct pair *p = pair_new(1, 1);
		enum nd_end_kind by = (enum nd_end_kind)e, other = e ? ND_CLIENT : ND_SERVER;

		run_for(p, 2 * ND_NS_PER_S);
		feed(p, by,
		     (struct nd_dialog_event){ .what = ND_DLG_STOP, .reason = "interrupted" });
		pump(p);
		assert_int_equal(p->end[ND_CLIENT].stops, 1);
		assert_int_equal(p->end[ND_SERVER].stops, 1);
		obey_stops(p);
		expect_partial(p, by, true, "interrupted");
		expect_partial(p, other, true, "stopped the test: interrupted");
		pair_free(p);
	}
}

static void stopped_at_both_ends_at_once(void **state)
{
	struct pair *p = pair_new(1, 1);

	(void)state;
	run_for(p, 2 * ND_NS_PER_S);
	feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_STOP });
	feed(p, ND_SERVER, (struct nd_dialog_event){ .what = ND_DLG_STOP });
	pump(p);
	obey_stops(p);
	expect_partial(p, ND_CLIENT, true, "stopped");
	expect_partial(p, ND_SERVER, true, "stopped");
	pair_free(p);
}

static void stopped_before_the_run(void **state)
{
	unsigned steps;

	(void)state;
	for (steps = 4; steps < 34; steps += 3) {
		struct pair *p = pair_new(1, 1);
		unsigned i;

		p->holds_flows[ND_CLIENT] = true;
		for (i = 0; i < steps && step(p); i++)
			;
		feed(p, ND_CLIENT,
		     (struct nd_dialog_event){ .what = ND_DLG_STOP, .reason = "interrupted" });
		pump(p);
		expect_fail(p, ND_CLIENT, false, "interrupted before the test began");
		assert_int_equal(p->end[ND_SERVER].outcome, FAILED);
		assert_int_equal(p->end[ND_SERVER].starts, 0);
		pair_free(p);
	}
}

/* A stop does not wait long for the other end, and a second one not at all. */
static void stopped_and_no_answer(void **state)
{
	struct pair *p;
	unsigned again;

	(void)state;
	for (again = 0; again < 2; again++) {
		p = pair_new(1, 1);
		run_for(p, 2 * ND_NS_PER_S);
		feed(p, ND_CLIENT,
		     (struct nd_dialog_event){ .what = ND_DLG_STOP, .reason = "enough" });
		give_result(p, ND_CLIENT);
		pump(p);
		assert_int_equal(p->end[ND_CLIENT].outcome, GOING);
		if (again)
			feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_STOP });
		else
			pass(p, 3 * ND_NS_PER_S);
		expect_partial(p, ND_CLIENT, false, "enough");
		pair_free(p);
	}
}

static void the_run_fails(void **state)
{
	struct nd_err err = { .code = -EMFILE, .text = "too few descriptors" };
	unsigned e;

	(void)state;
	for (e = 0; e < ND_ENDS; e++) {
		struct pair *p = pair_new(1, 1);
		enum nd_end_kind by = (enum nd_end_kind)e, other = e ? ND_CLIENT : ND_SERVER;

		p->holds_flows[by] = true;
		pump(p);
		feed(p, by, (struct nd_dialog_event){ .what = ND_DLG_RUN_FAILED, .err = &err });
		pump(p);
		expect_fail(p, by, false, "too few descriptors");
		expect_fail(p, other, true, "too few descriptors");
		pair_free(p);
	}
}

static void flows_do_not_open(void **state)
{
	unsigned e;

	(void)state;
	for (e = 0; e < ND_ENDS; e++) {
		struct pair *p = pair_new(1, 1);
		enum nd_end_kind by = (enum nd_end_kind)e, other = e ? ND_CLIENT : ND_SERVER;

		p->holds_flows[by] = true;
		pump(p);
		pass(p, 29 * ND_NS_PER_S);
		assert_int_equal(p->end[by].outcome, GOING);
		pass(p, 2 * ND_NS_PER_S);
		assert_int_equal(p->end[by].outcome, FAILED);
		assert_int_equal(p->end[other].outcome, FAILED);
		assert_true(says(p->end[ND_CLIENT].err.text, "set-up of 4 flows took over 30s"));
		pair_free(p);
	}
}

static void the_test_runs_over_its_time(void **state)
{
	struct pair *p = pair_new(1, 1);

	(void)state;
	run_for(p, 32 * ND_NS_PER_S);
	assert_int_equal(p->end[ND_CLIENT].stops, 0);
	pass(p, 2 * ND_NS_PER_S);
	assert_int_equal(p->end[ND_CLIENT].stops, 1);
	assert_int_equal(p->end[ND_SERVER].stops, 1);
	obey_stops(p);
	assert_int_equal(p->end[ND_CLIENT].outcome, DONE);
	assert_int_equal(p->end[ND_SERVER].outcome, DONE);
	assert_true(says(p->end[ND_CLIENT].reason, "ran over its time"));
	pair_free(p);
}

static void no_result_from_the_peer(void **state)
{
	unsigned e;

	(void)state;
	for (e = 0; e < ND_ENDS; e++) {
		struct pair *p = pair_new(1, 1);
		enum nd_end_kind by = (enum nd_end_kind)e;

		run_for(p, ND_NS_PER_S);
		give_result(p, by);
		pump(p);
		pass(p, 14 * ND_NS_PER_S);
		assert_int_equal(p->end[by].outcome, GOING);
		pass(p, 2 * ND_NS_PER_S);
		expect_partial(p, by, false, "no result from the ");
		pair_free(p);
	}
}

static void a_run_that_does_not_stop(void **state)
{
	struct pair *p = pair_new(1, 1);

	(void)state;
	run_for(p, ND_NS_PER_S);
	feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_STOP });
	pass(p, 20 * ND_NS_PER_S);
	expect_fail(p, ND_CLIENT, false, "did not end when it was told to");
	pair_free(p);
}

/* Where a dialog stands when the message comes. */
enum where { AT_HELLO, AT_PLAN, AT_PREPARE, AT_RUN };

static struct pair *pair_at(enum where where, enum nd_end_kind e)
{
	struct pair *p = pair_new(1, 1);

	if (where == AT_HELLO) {
		feed(p, e, (struct nd_dialog_event){ .what = ND_DLG_LINK_UP });
	} else if (where == AT_PLAN) {
		while (!strstr(p->end[e].last_sent, "time"))
			assert_true(step(p));
	} else if (where == AT_PREPARE) {
		p->holds_flows[ND_CLIENT] = p->holds_flows[ND_SERVER] = true;
		pump(p);
	} else {
		run_for(p, ND_NS_PER_S);
	}
	p->is_deaf = true;
	return p;
}

static void broken_rules(void **state)
{
	static const struct {
		enum where where;
		unsigned ends; /* 1 client, 2 server */
		const char *message, *words;
	} rows[] = {
		{ AT_HELLO, 3, "{\"m\":\"nonsense\"}", "unknown message 'nonsense'" },
		{ AT_HELLO, 3, "{\"x\":1}", "without a name" },
		{ AT_HELLO, 3, "{\"m\":1}", "without a name" },
		{ AT_HELLO, 3, "{\"m\":\"hello\",\"m\":\"hello\"}", "not JSON" },
		{ AT_HELLO, 3, "{\"m\":", "not JSON" },
		{ AT_HELLO, 3, "[]", "without a name" },
		{ AT_HELLO, 3, "{\"m\":\"hello\",\"protocol\":1,\"cpus\":-1}", "'cpus'" },
		{ AT_HELLO, 3, "{\"m\":\"beat\"}", "'beat' is out of order during the greeting" },
		{ AT_HELLO, 3, "{\"m\":\"ready\"}", "out of order" },
		{ AT_HELLO, 3, "{\"m\":\"result\",\"side\":{}}", "out of order" },
		{ AT_HELLO, 1, "{\"m\":\"plan\",\"plan\":{}}", "out of order" },
		{ AT_PLAN, 3, "{\"m\":\"hello\",\"protocol\":1}", "out of order during planning" },
		{ AT_PLAN, 1, "{\"m\":\"time\",\"sent\":1,\"at\":1}", "answers nothing" },
		{ AT_PLAN, 1, "{\"m\":\"agreed\",\"plan\":{}}", "nothing was asked yet" },
		{ AT_PLAN, 2, "{\"m\":\"time\"}", "'sent' is missing" },
		{ AT_PLAN, 2, "{\"m\":\"plan\"}", "'plan' is missing" },
		{ AT_PLAN, 2, "{\"m\":\"plan\",\"plan\":[]}", "'plan': is not an object" },
		{ AT_PLAN, 2, "{\"m\":\"plan\",\"plan\":{}}", "workloads" },
		{ AT_PLAN, 2, "{\"m\":\"plan\",\"plan\":{\"workloads\":[{},{},{},{},{}]}}",
		  "too long" },
		{ AT_PLAN, 2, "{\"m\":\"agreed\"}", "out of order" },
		{ AT_PREPARE, 2, "{\"m\":\"go\",\"at\":1}", "not both ends are ready" },
		{ AT_PREPARE, 2, "{\"m\":\"plan\",\"plan\":{}}", "out of order during set-up" },
		{ AT_PREPARE, 3, "{\"m\":\"sent\"}", "out of order" },
		{ AT_PREPARE, 1, "{\"m\":\"go\"}", "out of order" },
		{ AT_PREPARE, 3, "{\"m\":\"intervals\",\"list\":{}}", "out of order" },
		{ AT_RUN, 3, "{\"m\":\"ready\"}", "out of order during the test" },
		{ AT_RUN, 3, "{\"m\":\"result\"}", "'side' is missing" },
		{ AT_RUN, 3, "{\"m\":\"result\",\"side\":{\"parts\":[{},{},{},{},{}]}}",
		  "too long a list" },
		{ AT_RUN, 3, "{\"m\":\"intervals\",\"list\":{\"index\":\"-1\"}}", "'index'" },
		{ AT_RUN, 2, "{\"m\":\"go\",\"at\":1}", "out of order" },
	};

	size_t i;
	unsigned e;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++)
		for (e = 0; e < ND_ENDS; e++) {
			struct pair *p;

			if (!(rows[i].ends & (1u << e)))
				continue;
			p = pair_at(rows[i].where, (enum nd_end_kind)e);
			inject(p, (enum nd_end_kind)e, rows[i].message);
			if (p->end[e].outcome != FAILED)
				print_error("row %zu, end %u\n", i, e);
			expect_fail(p, (enum nd_end_kind)e, true, rows[i].words);
			assert_true(says(p->end[e].err.text, e ? "client broke the protocol: "
							       : "server broke the protocol: "));
			assert_true(
				says(p->end[e].last_sent, "error {\"m\":\"error\",\"sentence\":"));
			pair_free(p);
		}
}

static void twice_is_once_too_often(void **state)
{
	static const struct {
		enum where where;
		const char *message;
	} rows[] = {
		{ AT_PREPARE, "{\"m\":\"ready\"}" },
		{ AT_RUN, "{\"m\":\"sent\"}" },
		{ AT_RUN, "{\"m\":\"result\",\"side\":{}}" },
	};

	size_t i;
	unsigned e;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++)
		for (e = 0; e < ND_ENDS; e++) {
			struct pair *p = pair_at(rows[i].where, (enum nd_end_kind)e);
			/* held back flows: the other end's ready has not come */
			inject(p, (enum nd_end_kind)e, rows[i].message);
			assert_int_equal(p->end[e].outcome, GOING);
			inject(p, (enum nd_end_kind)e, rows[i].message);
			expect_fail(p, (enum nd_end_kind)e, true, "came twice");
			pair_free(p);
		}
}

/* A long result that comes before this end's own is read when that is there; what is wrong with it is found then. */
static void long_results_wait(void **state)
{
	static const struct {
		const char *begin, *words; /* NULL: it is taken */
		bool twice;
	} rows[] = {
		{ "{\"m\":\"result\",\"side\":{},\"unknown\":\"", NULL, false },
		{ "{\"m\":\"result\",\"side\":{},\"unknown\":\"", "came twice", true },
		{ "{\"m\":\"result\",\"unknown\":\"", "'side' is missing", false },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++)
		for (unsigned e = 0; e < ND_ENDS; e++) {
			struct pair *p = pair_at(AT_RUN, (enum nd_end_kind)e);
			nd_auto_str text = { 0 };

			nd_str_add(&text, rows[i].begin);
			nd_str_addc(&text, 'x', 100000);
			nd_str_add(&text, "\"}");
			inject(p, (enum nd_end_kind)e, nd_str_text(&text));
			if (rows[i].twice)
				inject(p, (enum nd_end_kind)e, nd_str_text(&text));
			assert_int_equal(p->end[e].outcome, GOING);
			p->is_deaf = true;
			give_result(p, (enum nd_end_kind)e);
			if (rows[i].words) {
				expect_fail(p, (enum nd_end_kind)e, true, rows[i].words);
			} else {
				assert_int_equal(p->end[e].outcome, GOING);
				feed(p, (enum nd_end_kind)e,
				     (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN });
				assert_int_equal(p->end[e].outcome, DONE);
				assert_non_null(p->end[e].peer_side);
			}
			pair_free(p);
		}
}

static void a_start_out_of_reach(void **state)
{
	static const char *const rows[] = { "{\"m\":\"go\"}", "{\"m\":\"go\",\"at\":5}",
					    "{\"m\":\"go\",\"at\":9223372036854775807}" };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = pair_at(AT_PREPARE, ND_SERVER);

		feed(p, ND_SERVER, (struct nd_dialog_event){ .what = ND_DLG_FLOWS_READY });
		inject(p, ND_SERVER, "{\"m\":\"ready\"}");
		inject(p, ND_SERVER, rows[i]);
		expect_fail(p, ND_SERVER, true, "'at' is not near this server's clock");
		pair_free(p);
	}
}

/* What a server says in agreed is checked against what was asked. */
static void an_agreement_that_is_none(void **state)
{
	static const struct {
		const char *message, *words;
	} rows[] = {
		{ "{\"m\":\"agreed\",\"threads\":1,\"plan\":{}}", "'token'" },
		{ "{\"m\":\"agreed\",\"token\":\"0g\",\"threads\":1,\"plan\":{}}", "'token'" },
		{ "{\"m\":\"agreed\",\"token\":\"000102030405060708090a0b0c0d0e0G\",\"plan\":{}}",
		  "'token'" },
		{ "{\"m\":\"agreed\",\"token\":\"000102030405060708090a0b0c0d0e0f\",\"plan\":{}}",
		  "workloads" },
		{ "{\"m\":\"agreed\",\"token\":\"000102030405060708090a0b0c0d0e0f\",\"plan\":"
		  "{\"workloads\":[{\"flows\":9}]}}",
		  "'workloads[0].load' is not what was asked for" },
		{ "{\"m\":\"agreed\",\"token\":\"000102030405060708090a0b0c0d0e0f\",\"plan\":"
		  "{\"workloads\":[{\"flows\":4},{\"flows\":4}]}}",
		  "'workloads' are not as many" },
		{ "{\"m\":\"agreed\",\"token\":\"000102030405060708090a0b0c0d0e0f\",\"threads\":2,\"plan\":"
		  "{\"workloads\":[{\"flows\":4,\"active\":\"client\",\"load\":\"stream\","
		  "\"frame\":\"plain\",\"transport\":\"tcp\",\"message_bytes\":65536}],"
		  "\"duration_ns\":10000000000,\"warmup_ns\":1000000000,\"interval_ns\":1000000000,"
		  "\"drain_ns\":2000000000}}",
		  "'threads' is not in 1..1" },
	};

	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = pair_new(1, 1);

		while (!strstr(p->end[ND_CLIENT].last_sent, "plan"))
			assert_true(step(p));
		p->is_deaf = true;
		inject(p, ND_CLIENT, rows[i].message);
		expect_fail(p, ND_CLIENT, true, rows[i].words);
		pair_free(p);
	}
}

struct bent {
	const char *key;
	size_t at; /* in the plan */
	enum nd_type type;
	bool is_fine;
};

static void bend(struct nd_plan *plan, const void *how)
{
	const struct bent *b = how;
	char *at = (char *)plan + b->at;
	const char *other = "rr";
	uint64_t number;

	if (b->type == ND_T_STR) {
		memcpy(at, &other, sizeof(other));
	} else if (b->type == ND_T_U64) {
		memcpy(&number, at, sizeof(number));
		number++;
		memcpy(at, &number, sizeof(number));
	} else {
		at[0] = (char)!at
			[0]; /* bool, or an enum of few names: the machine's low byte first */
	}
}

/* Whatever a server bends, the client names the key. What it may choose by itself is no matter. */
static void a_bent_agreement(void **state)
{
#define W(k, t)                                                                            \
	{                                                                                  \
		"'workloads[0]." #k "'", offsetof(struct nd_plan, workload[0].k), t, false \
	}
#define P(k, t)                                                   \
	{                                                         \
		"'" #k "'", offsetof(struct nd_plan, k), t, false \
	}
#define FREE(k, t)                                       \
	{                                                \
		"", offsetof(struct nd_plan, k), t, true \
	}
	static const struct bent rows[] = {
		W(active, ND_T_ENUM),
		W(load, ND_T_STR),
		W(frame, ND_T_STR),
		W(transport, ND_T_STR),
		W(flows, ND_T_U64),
		W(first_flow, ND_T_U64),
		W(message_bytes, ND_T_U64),
		W(request_bytes, ND_T_U64),
		W(response_bytes, ND_T_U64),
		W(rate_bps, ND_T_U64),
		W(rate_ops, ND_T_U64),
		W(total_bytes, ND_T_U64),
		P(duration_ns, ND_T_U64),
		P(warmup_ns, ND_T_U64),
		P(cooldown_ns, ND_T_U64),
		P(interval_ns, ND_T_U64),
		P(drain_ns, ND_T_U64),
		P(payload, ND_T_ENUM),
		P(verify, ND_T_BOOL),
		P(mptcp, ND_T_BOOL),
		FREE(engine, ND_T_STR),
		FREE(tx, ND_T_STR),
		FREE(rx, ND_T_STR),
		FREE(depth, ND_T_U64),
		FREE(sock.nodelay, ND_T_BOOL),
	};
#undef W
#undef P
#undef FREE
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = pair_new(1, 1);

		p->bend = bend;
		p->how = &rows[i];
		pump(p);
		if (rows[i].is_fine) {
			assert_int_equal(p->end[ND_CLIENT].starts, 1);
		} else {
			expect_fail(p, ND_CLIENT, true, rows[i].key);
			expect_fail(p, ND_CLIENT, true, "is not what was asked for");
			expect_fail(p, ND_SERVER, true, rows[i].key);
		}
		pair_free(p);
	}
}

/* --connect-timeout: how long the server may keep the client waiting, at each stage of set-up. */
static void patience_of_the_user(void **state)
{
	static const struct {
		const char *after, *words; /* what the client sent last; what it says then */
		uint64_t timeout_ns, within_ns;
	} rows[] = {
		{ "hello", "no progress in the greeting for 2s", 2 * ND_NS_PER_S, 2 * ND_NS_PER_S },
		{ "time", "no progress in planning for 2s", 2 * ND_NS_PER_S, 2 * ND_NS_PER_S },
		{ "plan", "no progress in planning for 0.1s", ND_NS_PER_S / 10, ND_NS_PER_S / 10 },
		{ "ready", "took over 2s: waiting for server", 2 * ND_NS_PER_S,
		  2 * ND_NS_PER_S + 4 * ND_NS_PER_MS },
	};

	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = pair_new(1, 1);
		uint64_t began_ns;

		p->end[ND_CLIENT].plan.connect_timeout_ns = rows[i].timeout_ns;
		p->holds_flows[ND_SERVER] = true;
		while (strncmp(p->end[ND_CLIENT].last_sent, rows[i].after, strlen(rows[i].after)))
			assert_true(step(p));
		began_ns = p->now_ns;
		p->is_deaf = true;
		forget(p, ND_CLIENT);
		pass(p, rows[i].within_ns - ND_NS_PER_MS);
		assert_int_equal(p->end[ND_CLIENT].outcome, GOING);
		pass(p, 2 * ND_NS_PER_MS);
		expect_fail(p, ND_CLIENT, true, rows[i].words);
		assert_true(p->now_ns - began_ns < rows[i].within_ns + 10 * ND_NS_PER_MS);
		pair_free(p);
	}
}

static void too_large_for_the_stage(void **state)
{
	struct pair *p = pair_at(AT_HELLO, ND_SERVER);
	nd_auto_str s = { 0 };

	(void)state;
	nd_str_add(&s, "{\"m\":\"hello\",\"protocol\":1,\"x\":\"");
	nd_str_addc(&s, 'x', 300000);
	nd_str_add(&s, "\"}");
	inject(p, ND_SERVER, nd_str_text(&s));
	expect_fail(p, ND_SERVER, true, "too large during the greeting");
	pair_free(p);
}

static void told_of_an_error(void **state)
{
	struct pair *p = pair_at(AT_PLAN, ND_CLIENT);

	(void)state;
	inject(p, ND_CLIENT, "{\"m\":\"error\",\"sentence\":\"you are wrong\"}");
	expect_fail(p, ND_CLIENT, true, "the server ended it: you are wrong");
	pair_free(p);
	p = pair_at(AT_RUN, ND_CLIENT);
	inject(p, ND_CLIENT, "{\"m\":\"error\"}");
	obey_stops(p);
	expect_partial(p, ND_CLIENT, false, "the server ended it: no reason given");
	pair_free(p);
	p = pair_at(AT_RUN, ND_SERVER);
	inject(p, ND_SERVER, "{\"m\":\"bye\"}");
	obey_stops(p);
	expect_partial(p, ND_SERVER, false, "the client left before the results");
	pair_free(p);
}

static void unknown_keys_are_nothing(void **state)
{
	struct pair *p = pair_at(AT_HELLO, ND_SERVER);

	(void)state;
	inject(p, ND_SERVER,
	       "{\"new\":[{}],\"m\":\"hello\",\"protocol\":1,\"features\":[\"later\"]}");
	assert_int_equal(p->end[ND_SERVER].outcome, GOING);
	assert_true(says(p->end[ND_SERVER].last_sent, "hello {\"m\":\"hello\",\"protocol\":1"));
	pair_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_by_the_session),
		cmocka_unit_test(another_version),
		cmocka_unit_test(no_connection),
		cmocka_unit_test(link_lost_before_the_run),
		cmocka_unit_test(link_lost_during_the_run),
		cmocka_unit_test(link_lost_between_the_results),
		cmocka_unit_test(link_lost_at_the_very_end),
		cmocka_unit_test(silence),
		cmocka_unit_test(silence_before_the_run),
		cmocka_unit_test(a_client_that_never_plans),
		cmocka_unit_test(stopped_during_the_run),
		cmocka_unit_test(stopped_at_both_ends_at_once),
		cmocka_unit_test(stopped_before_the_run),
		cmocka_unit_test(stopped_and_no_answer),
		cmocka_unit_test(the_run_fails),
		cmocka_unit_test(flows_do_not_open),
		cmocka_unit_test(the_test_runs_over_its_time),
		cmocka_unit_test(no_result_from_the_peer),
		cmocka_unit_test(a_run_that_does_not_stop),
		cmocka_unit_test(broken_rules),
		cmocka_unit_test(twice_is_once_too_often),
		cmocka_unit_test(long_results_wait),
		cmocka_unit_test(a_start_out_of_reach),
		cmocka_unit_test(an_agreement_that_is_none),
		cmocka_unit_test(a_bent_agreement),
		cmocka_unit_test(patience_of_the_user),
		cmocka_unit_test(too_large_for_the_stage),
		cmocka_unit_test(told_of_an_error),
		cmocka_unit_test(unknown_keys_are_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
