/* SPDX-License-Identifier: MIT */
/* What sockperf's ends ask of a session: a row for each way a test goes. */
#include <errno.h>
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

#include "dialect/dialect.h"
#include "plan/sockperf.h"

#define NOW_NS 7000000000ull

struct bench {
	struct nd_plan plan;
	struct nd_sockperf set;
	void *state;
	struct nd_verbs verbs;
	struct nd_str log;
};

static const struct nd_dialect *dialect(void)
{
	return nd_dialect_find("sockperf");
}

static void note(struct bench *b, const struct nd_verb_item *v)
{
	switch (v->what) {
	case ND_DO_PREPARE:
		nd_str_addf(&b->log, "prepare %llu", (unsigned long long)v->threads);
		break;
	case ND_DO_START:
		nd_str_addf(&b->log, "start +%llu",
			    (unsigned long long)((v->at_ns - NOW_NS) / ND_NS_PER_S));
		break;
	case ND_DO_TIMER:
		nd_str_addf(&b->log, "timer %u", v->timer);
		break;
	case ND_DO_FINISH:
		nd_str_addf(&b->log, "finish %llu",
			    (unsigned long long)(v->quiet_ns / ND_NS_PER_MS));
		break;
	case ND_DO_STOP:
		nd_str_add(&b->log, "stop");
		break;
	case ND_DO_DONE:
		nd_str_addf(&b->log, "done%s%s", v->reason ? ": " : "", v->reason ?: "");
		break;
	case ND_DO_FAIL:
		nd_str_addf(&b->log, "fail%s: %s", v->peer_fault ? " peer" : "", v->err.text);
		break;
	default:
		fail_msg("it has no use for verb %d", (int)v->what);
	}
	nd_str_add(&b->log, "; ");
}

static void feed(struct bench *b, struct nd_dialog_event ev)
{
	ev.now_ns = NOW_NS;
	dialect()->event(b->state, &ev, &b->verbs);
	for (size_t i = 0; i < b->verbs.n; i++)
		note(b, &b->verbs.v[i]);
	nd_verbs_reset(&b->verbs);
}

static struct bench *bench_new(enum nd_end_kind end)
{
	struct nd_dialog_cfg cfg = { .end = end };
	struct bench *b = calloc(1, sizeof(*b));
	struct nd_err err = { 0 };

	assert_non_null(b);
	nd_plan_init(&b->plan);
	b->set.wait_s = 3;
	b->plan.face = &b->set;
	b->plan.face_table = &nd_sockperf_table;
	b->plan.threads = 4;
	b->plan.workloads = b->plan.workload_list.n = 1;
	b->plan.workload[0] = (struct nd_workload){
		.load = "burst", .frame = "sockperf", .transport = "udp", .flows = 2
	};
	b->state = calloc(1, dialect()->state_bytes);
	assert_non_null(b->state);
	cfg.plan = &b->plan;
	assert_int_equal(dialect()->open(b->state, &cfg, &err), 0);
	return b;
}

static void bench_free(struct bench *b)
{
	nd_verbs_done(&b->verbs);
	nd_str_done(&b->log);
	nd_plan_done(&b->plan);
	free(b->state);
	free(b);
}

#define ROW_EVENTS 8

static const struct nd_err broken = { .code = -EIO, .text = "it broke" };

#define EV(kind, ...)                              \
	{                                          \
		.what = ND_DLG_##kind, __VA_ARGS__ \
	}

static void goes_its_ways(void **state)
{
	static const struct {
		enum nd_end_kind end;
		struct nd_dialog_event ev[ROW_EVENTS]; /* OPEN comes before */
		size_t n;
		const char *want;
	} rows[] = {
		/* a client asks nobody; it has as many workers as flows; what comes twice counts once */
		{ ND_CLIENT,
		  { EV(FLOWS_READY), EV(SENT), EV(SENT), EV(RESULT), EV(RESULT) },
		  5,
		  "prepare 2; start +3; finish 100; timer 1; done; " },
		/* a run that does not end is stopped, and then given up */
		{ ND_CLIENT,
		  { EV(FLOWS_READY), EV(SENT), EV(TIMER, .timer = 1), EV(TIMER, .timer = 1) },
		  4,
		  "prepare 2; start +3; finish 100; timer 1; stop; timer 1; "
		  "fail: the run did not end when it was told to; " },
		{ ND_CLIENT,
		  { EV(FLOWS_READY), EV(STOP, .reason = "interrupted"), EV(RESULT) },
		  3,
		  "prepare 2; start +3; stop; timer 1; done: interrupted; " },
		{ ND_CLIENT,
		  { EV(STOP, .reason = "interrupted"), EV(STOP) },
		  2,
		  "prepare 2; fail: interrupted before the test began; " },
		{ ND_CLIENT, { EV(RUN_FAILED, .err = &broken) }, 1, "prepare 2; fail: it broke; " },
		/* a server's ports come first; it never finishes by itself, and being stopped is its end */
		{ ND_SERVER,
		  { EV(TIMER, .timer = 0), EV(FLOWS_READY), EV(FLOW_OPEN), EV(FLOW_CLOSED),
		    EV(SENT), EV(STOP, .reason = "interrupted"), EV(RESULT) },
		  7,
		  "timer 0; prepare 4; start +0; stop; timer 1; done; " },
		/* also before it is ready, or has begun to be */
		{ ND_SERVER,
		  { EV(TIMER, .timer = 0), EV(STOP, .reason = "interrupted"), EV(FLOWS_READY),
		    EV(RESULT) },
		  4,
		  "timer 0; prepare 4; timer 1; start +0; stop; timer 1; done; " },
		{ ND_SERVER,
		  { EV(STOP, .reason = "interrupted"), EV(TIMER, .timer = 0), EV(FLOWS_READY),
		    EV(RESULT) },
		  4,
		  "timer 0; timer 1; prepare 4; start +0; stop; timer 1; done; " },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = bench_new(rows[i].end);

		feed(b, (struct nd_dialog_event){ .what = ND_DLG_OPEN });
		for (size_t k = 0; k < rows[i].n; k++)
			feed(b, rows[i].ev[k]);
		assert_string_equal(nd_str_text(&b->log), rows[i].want);
		bench_free(b);
	}
}

static void listens_where_its_targets_are(void **state)
{
	struct nd_target targets[] = { { .port = 11111, .ports = 1 },
				       { .port = 22222, .ports = 3 } };
	struct bench *b = bench_new(ND_SERVER);
	unsigned n = 0;

	(void)state;
	b->plan.targets = (struct nd_list){ targets, 2 };
	assert_false(dialect()->listens(b->state, 0, &n));
	assert_true(dialect()->listens(b->state, 1, &n));
	assert_int_equal(n, 4);
	b->plan.workload[0].transport = "tcp";
	assert_true(dialect()->listens(b->state, 0, &n));
	assert_false(dialect()->listens(b->state, 1, &n));
	bench_free(b);
}

static void needs_its_own_plan(void **state)
{
	struct nd_plan plan;
	struct nd_err err = { 0 };
	void *d = calloc(1, dialect()->state_bytes);

	(void)state;
	assert_non_null(d);
	nd_plan_init(&plan);
	assert_int_equal(dialect()->open(d, &(struct nd_dialog_cfg){ .plan = &plan }, &err),
			 -EINVAL);
	assert_string_equal(err.text, "there is no plan of sockperf's");
	nd_plan_done(&plan);
	free(d);
}

/* Nothing that comes to a port is a link's. */
static void claims_nothing(void **state)
{
	static const uint8_t message[14] = { [7] = 1, [9] = 3, [13] = 14 };
	struct nd_claim claim;

	(void)state;
	for (size_t n = 0; n <= sizeof(message); n++) {
		dialect()->claim(message, n, true, &claim);
		assert_int_equal(claim.kind, ND_CLAIM_ALIEN);
		assert_true(dialect()->message_bytes(message, n, 0) < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_its_ways),
		cmocka_unit_test(listens_where_its_targets_are),
		cmocka_unit_test(needs_its_own_plan),
		cmocka_unit_test(claims_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
