/* SPDX-License-Identifier: MIT */
/* Two native dialogs that go all the way: clocks, plan, threads, start, results, large ones too. */
#include <math.h>
#include <stdio.h>

#include "dialect-pair.h"

static void a_whole_test(void **state)
{
	struct pair *p = pair_new(8, 4);
	struct end *c = &p->end[ND_CLIENT], *s = &p->end[ND_SERVER];
	struct nd_interval_sample sample = { .index = 0, .phase = "measure" };
	struct nd_dialog_event interval = { .what = ND_DLG_INTERVAL,
					    .intervals = &sample,
					    .intervals_n = 1 };
	struct nd_dialog_facts facts;
	uint64_t skew;

	(void)state;
	run_for(p, 0);
	assert_int_equal(c->prepares, 1);
	assert_int_equal(s->prepares, 1);
	assert_int_equal(c->threads, 4);
	assert_int_equal(s->threads, 4);
	assert_int_equal(s->plan.workload[0].flows, 4);
	assert_string_equal(s->plan.workload[0].load, "stream");
	assert_int_equal(s->plan.duration_ns, 10 * ND_NS_PER_S);
	/* the same instant on both clocks, but for half a round trip */
	skew = s->started_ns - c->started_ns;
	assert_true(skew > SERVER_SKEW - 10 * STEP_NS && skew < SERVER_SKEW + 10 * STEP_NS);

	feed(p, ND_CLIENT, interval);
	feed(p, ND_SERVER, interval);
	pump(p);
	assert_int_equal(c->peer_intervals, 1);
	assert_int_equal(s->peer_intervals, 1);

	pass(p, 11 * ND_NS_PER_S);
	feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_SENT });
	pump(p);
	assert_int_equal(s->finishes, 1);
	assert_int_equal(c->finishes, 0);
	assert_true(s->finish_deadline_ns > clock_of(p, ND_SERVER) + ND_NS_PER_S);
	give_result(p, ND_SERVER);
	pump(p);
	assert_int_equal(c->outcome, GOING);
	give_result(p, ND_CLIENT);
	pump(p);
	assert_int_equal(c->outcome, DONE);
	assert_int_equal(s->outcome, DONE);
	assert_null(c->reason);
	assert_null(s->reason);
	assert_int_equal(c->stops + s->stops, 0);
	assert_string_equal(c->peer_side->name, "server");
	assert_string_equal(s->peer_side->name, "client");
	assert_int_equal(((struct nd_part *)c->peer_side->parts.v)[0].run.tx_bytes, 1001);
	assert_int_equal(((struct nd_part *)s->peer_side->parts.v)[0].run.tx_bytes, 1000);

	native()->facts(c->state, &facts);
	assert_true(facts.same_host);
	assert_string_equal(facts.peer_version, ND_VERSION);
	assert_int_equal(facts.peer_cpus, 4);
	assert_int_equal(facts.start_ns, c->started_ns);
	assert_true(fabs(facts.clock_offset_us - 7e6) < 10);
	assert_true(facts.clock_rtt_us > 0 && facts.clock_rtt_us < 10);
	assert_true(fabs(facts.clock_drift_us) < 10);
	native()->facts(s->state, &facts);
	assert_true(isnan(facts.clock_offset_us) && isnan(facts.clock_drift_us));
	assert_int_equal(facts.start_ns, s->started_ns);
	pair_free(p);
}

static void threads_are_what_both_ends_have(void **state)
{
	static const struct {
		uint64_t client_cpus, server_cpus, flows, asked, want;
	} rows[] = {
		{ 8, 4, 100, 0, 4 },
		{ 2, 4, 100, 0, 2 },
		{ 8, 8, 3, 0, 3 },
		{ 0, 8, 3, 0, 1 },
		{ 8, 8, 3, 7, 3 },
		{ 1, 1, 100, 7, 7 },
		{ 99999999, 99999999, 100000, 0, 65536 },
	};

	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = pair_new(rows[i].client_cpus, rows[i].server_cpus);

		p->end[ND_CLIENT].plan.workload[0].flows = rows[i].flows;
		p->end[ND_CLIENT].plan.threads = rows[i].asked;
		run_for(p, 0);
		assert_int_equal(p->end[ND_CLIENT].threads, rows[i].want);
		assert_int_equal(p->end[ND_SERVER].threads, rows[i].want);
		assert_int_equal(p->end[ND_CLIENT].plan.threads, rows[i].want);
		pair_free(p);
	}
}

static void datagrams_fit_both_paths(void **state)
{
	static const struct {
		enum nd_end_kind active;
		bool is_typed;
		uint64_t server_lowers, want;
	} rows[] = {
		{ ND_CLIENT, false, 0, 8000 },    { ND_SERVER, false, 0, 1400 },
		{ ND_SERVER, true, 0, 8000 },     { ND_SERVER, false, 1200, 1200 },
		{ ND_CLIENT, false, 1200, 1200 },
	};

	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = pair_new(1, 1);
		struct nd_plan *plan = &p->end[ND_CLIENT].plan;
		struct nd_greeting_out g;

		plan->workload[0].transport = "udp";
		plan->workload[0].message_bytes = 8000;
		plan->workload[0].active = rows[i].active;
		plan->ask.has_message_bytes = rows[i].is_typed;
		p->lower_message_bytes = rows[i].server_lowers;
		run_for(p, 0);
		assert_int_equal(plan->workload[0].message_bytes, rows[i].want);
		assert_true(native()->greeting(p->end[ND_CLIENT].state, true, &g));
		assert_int_equal(g.hello_bytes, 32);
		assert_memory_equal(g.hello, "NDU1\x00\x01\x02\xff", 8);
		assert_int_equal(g.flow_at, 20);
		assert_int_equal(g.answer_bytes, 16);
		assert_memory_equal(g.answer, "NDUK", 4);
		assert_int_equal(g.answer_flow_at, 4);
		assert_true(g.resend_ms > 0);
		pair_free(p);
	}
}

static void streams_introduce_themselves(void **state)
{
	struct pair *p = pair_new(1, 1);
	struct nd_greeting_out g;
	struct nd_claim claim;

	(void)state;
	run_for(p, 0);
	assert_int_equal(p->end[ND_CLIENT].plan.workload[0].message_bytes, 65536);
	assert_true(native()->greeting(p->end[ND_CLIENT].state, false, &g));
	assert_int_equal(g.hello_bytes, 28);
	g.hello[g.flow_at + 3] = 9;
	native()->claim(g.hello, g.hello_bytes, false, &claim);
	assert_int_equal(claim.kind, ND_CLAIM_FLOW);
	assert_int_equal(claim.flow, 9);
	assert_memory_equal(claim.key, "\x00\x01\x02\xff", 4);
	g.answer[g.answer_flow_at + 3] = 9;
	assert_int_equal(claim.answer_bytes, g.answer_bytes);
	assert_memory_equal(claim.answer, g.answer, g.answer_bytes);
	g.hello[g.quiet_at + 3] = 1;
	native()->claim(g.hello, g.hello_bytes, false, &claim);
	assert_int_equal(claim.kind, ND_CLAIM_FLOW);
	assert_int_equal(claim.flow, 9);
	assert_int_equal(claim.answer_bytes, 0);
	pair_free(p);
}

/* A server that does not say that it can leave flows unanswered is not asked to. */
static void only_a_quiet_server_is_asked_for_it(void **state)
{
	static const struct {
		const char *features;
		uint32_t want;
	} rows[] = {
		{ "", 0 },
		{ ",\"features\":[]", 0 },
		{ ",\"features\":[\"quieter\",\"\"]", 0 },
		{ ",\"features\":[\"later\",\"quiet\"]", 24 },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = pair_new(1, 1);
		struct nd_greeting_out g;
		char hello[128];

		p->is_deaf = true;
		feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_OPEN });
		feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_LINK_UP });
		(void)snprintf(hello, sizeof(hello), "{\"m\":\"hello\",\"protocol\":1%s}",
			       rows[i].features);
		inject(p, ND_CLIENT, hello);
		assert_true(native()->greeting(p->end[ND_CLIENT].state, false, &g));
		assert_int_equal(g.quiet_at, rows[i].want);
		assert_true(native()->greeting(p->end[ND_CLIENT].state, true, &g));
		assert_int_equal(g.quiet_at, 0);
		pair_free(p);
	}
}

/* A result with @flows rows, each with an error text of @text bytes. */
static void give_large_result(struct pair *p, enum nd_end_kind e, uint64_t flows, int text)
{
	struct nd_arena a = { 0 };
	struct nd_list list;
	struct nd_flow_row *row;
	struct nd_part part;
	struct nd_side side;
	uint64_t i;

	assert_int_equal(nd_list_new(&a, &list, flows, sizeof(*row)), 0);
	row = list.v;
	for (i = 0; i < flows; i++) {
		row[i] = (struct nd_flow_row){
			.flow = i,
			.window_rx_bytes = 123456789012 + i * 7919,
			.rx_bytes = 1234567890123 + i * 104729,
			.rx_messages = 123456789 + i * 31,
			.rx_unique = 123456789 + i * 31,
			.rx_reordered = i % 977,
			.first_ns = 1000000 + (int64_t)i * 13,
			.jitter_us = 12.3456789012345 + 1e-7 * (double)i,
			.retransmits = i % 31,
			.rtt_us = 100 + i % 977,
			.cwnd_segments = 10 + i % 89,
		};
		if (text)
			row[i].error = nd_arena_printf(&a, "%0*d", text, (int)i);
	}
	nd_table_unknown(&nd_side_table, &side);
	nd_table_unknown(&nd_part_table, &part);
	part.flows = list;
	side.parts = (struct nd_list){ .v = &part, .n = 1 };
	feed(p, e, (struct nd_dialog_event){ .what = ND_DLG_RESULT, .side = &side });
	nd_arena_done(&a);
}

static void large_results_cross(void **state)
{
	static const struct {
		uint64_t flows;
		int text;
		uint64_t want;
	} rows[] = {
		{ 100000, 0, 100000 },
		{ 20000, 1000, 0 }, /* 20 MB: they are left out, and that is said */
	};

	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = pair_new(1, 1);
		struct nd_dialog_facts facts;
		const struct nd_part *part;

		p->end[ND_CLIENT].plan.workload[0].flows =
			rows[i].flows; /* what it asks, it may get */
		run_for(p, ND_NS_PER_S);
		give_large_result(p, ND_SERVER, rows[i].flows, rows[i].text);
		pump(p);
		give_result(p, ND_CLIENT);
		pump(p);
		assert_int_equal(p->end[ND_CLIENT].outcome, DONE);
		assert_non_null(p->end[ND_CLIENT].peer_side);
		part = p->end[ND_CLIENT].peer_side->parts.v;
		assert_int_equal(part->flows.n, rows[i].want);
		native()->facts(p->end[ND_CLIENT].state, &facts);
		assert_int_equal(facts.peer_flows_omitted, rows[i].want == 0);
		if (part->flows.n > 0) {
			const struct nd_flow_row *row = part->flows.v;

			assert_int_equal(row[99999].rx_bytes, 1234567890123 + 99999ull * 104729);
		}
		pair_free(p);
	}
}

static void keeps_beating(void **state)
{
	struct pair *p = pair_new(1, 1);

	(void)state;
	run_for(p, 9 * ND_NS_PER_S); /* nothing but beats */
	assert_string_equal(p->end[ND_CLIENT].last_sent, "beat {\"m\":\"beat\"}");
	assert_string_equal(p->end[ND_SERVER].last_sent, "beat {\"m\":\"beat\"}");
	pass(p, 15 * ND_NS_PER_S);
	assert_int_equal(p->end[ND_CLIENT].outcome, GOING);
	assert_int_equal(p->end[ND_SERVER].outcome, GOING);
	pair_free(p);
}

/* Session's own slowness is not the peer's silence: one tick, however late, is one tick. */
static void sleep_is_not_silence(void **state)
{
	struct pair *p = pair_new(1, 1);

	(void)state;
	run_for(p, ND_NS_PER_S);
	p->now_ns += 60 * ND_NS_PER_S;
	feed(p, ND_CLIENT, (struct nd_dialog_event){ .what = ND_DLG_TIMER, .timer = 0 });
	assert_int_equal(p->end[ND_CLIENT].outcome, GOING);
	assert_int_equal(p->end[ND_CLIENT].stops, 0);
	pair_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_test),
		cmocka_unit_test(threads_are_what_both_ends_have),
		cmocka_unit_test(datagrams_fit_both_paths),
		cmocka_unit_test(streams_introduce_themselves),
		cmocka_unit_test(only_a_quiet_server_is_asked_for_it),
		cmocka_unit_test(large_results_cross),
		cmocka_unit_test(keeps_beating),
		cmocka_unit_test(sleep_is_not_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
