/* SPDX-License-Identifier: MIT */
/*
 * A native dialog, brought to some stage by a peer that keeps the rules, then given anything. The first byte
 * chooses end, stage, and whether it is one of a group; then come records of one byte for the kind and, for messages, two for the length.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/dialect.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum reach { AT_START, AT_GREETED, AT_PREPARED, AT_READY, AT_RUN, AT_RESULT, REACHES };

struct dialog {
	const struct nd_dialect *d;
	enum nd_end_kind end;
	void *state;
	struct nd_plan plan;
	struct nd_verbs verbs;
	uint64_t now_ns;
	unsigned endings;
	bool is_judging, is_started, in_group;
};

static void check(bool good)
{
	if (!good)
		abort();
}

static void feed(struct dialog *x, struct nd_dialog_event ev)
{
	size_t i;

	x->now_ns += ND_NS_PER_MS;
	ev.now_ns = x->now_ns;
	nd_verbs_reset(&x->verbs);
	x->d->event(x->state, &ev, &x->verbs);
	for (i = 0; i < x->verbs.n; i++) {
		const struct nd_verb_item *v = &x->verbs.v[i];

		if (v->what == ND_DO_DONE || v->what == ND_DO_FAIL)
			x->endings++;
		if (v->what == ND_DO_SEND) {
			const uint8_t *sent = (const uint8_t *)x->verbs.data.data + v->data_at;

			check(x->d->message_bytes(sent, v->n, 0) == (ssize_t)v->n);
		}
		if (v->what == ND_DO_PROPOSE)
			x->is_judging = true;
		if (v->what == ND_DO_START)
			x->is_started = true;
		if (v->what == ND_DO_PEER_INTERVAL)
			check(v->intervals && v->intervals_n > 0);
	}
	check(x->endings <= 1);
}

static void local(struct dialog *x, enum nd_dialog_event_kind what)
{
	struct nd_err err = { .code = -EIO, .text = "it failed" };
	struct nd_interval_sample sample = { .phase = "measure" };
	struct nd_part part = { 0 };
	struct nd_side side = { .parts = { .v = &part, .n = 1 } };

	nd_table_unknown(&nd_part_table, &part);
	feed(x, (struct nd_dialog_event){ .what = what,
					  .err = &err,
					  .intervals = &sample,
					  .intervals_n = 1,
					  .side = &side });
}

/* What the session does: judge the plan before it says yes. */
static void judge(struct dialog *x)
{
	struct nd_err err = { 0 };
	int code;

	if (!x->is_judging)
		return;
	x->is_judging = false;
	code = nd_plan_check(&x->plan, &err);
	feed(x, (struct nd_dialog_event){ .what = ND_DLG_PLAN,
					  .plan = &x->plan,
					  .reason = code < 0 ? err.text : NULL });
}

static void message(struct dialog *x, const char *json, size_t n)
{
	uint8_t *data = malloc(n + 4);

	check(data);
	data[0] = (uint8_t)(n >> 24);
	data[1] = (uint8_t)(n >> 16);
	data[2] = (uint8_t)(n >> 8);
	data[3] = (uint8_t)n;
	memcpy(data + 4, json, n);
	feed(x, (struct nd_dialog_event){ .what = ND_DLG_MESSAGE, .data = data, .n = n + 4 });
	free(data);
	judge(x);
}

static void say(struct dialog *x, const char *json)
{
	message(x, json, strlen(json));
}

#define GROUP_JSON ",\"group\":\"g\",\"group_expect\":2,\"group_wait_ns\":2000000000}"
#define PLAN_JSON                                                                                 \
	"{\"workloads\":[{\"active\":\"client\",\"load\":\"stream\",\"frame\":\"plain\","         \
	"\"transport\":\"tcp\",\"flows\":2,\"message_bytes\":65536}],\"duration_ns\":1000000000," \
	"\"warmup_ns\":0,\"cooldown_ns\":0,\"interval_ns\":1000000000,\"drain_ns\":1000000000"

#define AGREED_JSON \
	"{\"m\":\"agreed\",\"token\":\"000102030405060708090a0b0c0d0e0f\",\"threads\":1,\"plan\":" PLAN_JSON

static void agree(struct dialog *x)
{
	char text[96];
	int i;

	if (x->end == ND_SERVER) {
		say(x, x->in_group ? "{\"m\":\"plan\",\"plan\":" PLAN_JSON GROUP_JSON "}"
				   : "{\"m\":\"plan\",\"plan\":" PLAN_JSON "}}");
		return;
	}
	for (i = 0; i < 10; i++) {
		(void)snprintf(text, sizeof(text),
			       "{\"m\":\"time\",\"sent\":%llu,\"at\":5000000000}",
			       (unsigned long long)x->now_ns);
		say(x, text);
	}
	say(x, x->in_group ? AGREED_JSON GROUP_JSON "}" : AGREED_JSON "}}");
}

static void gather(struct dialog *x)
{
	if (x->end == ND_CLIENT)
		say(x, "{\"m\":\"gather\",\"at\":5000000000}");
	else
		feed(x, (struct nd_dialog_event){ .what = ND_DLG_GATHER, .at_ns = x->now_ns });
}

static void sum_up(struct dialog *x)
{
	struct nd_group_member m;
	struct nd_group g;

	nd_table_unknown(&nd_group_member_table, &m);
	nd_table_unknown(&nd_group_table, &g);
	g.members = (struct nd_list){ &m, 1 };
	feed(x, (struct nd_dialog_event){ .what = ND_DLG_GROUP, .group = &g });
}

static void reach(struct dialog *x, enum reach to)
{
	char text[64];

	feed(x, (struct nd_dialog_event){ .what = ND_DLG_OPEN });
	feed(x, (struct nd_dialog_event){ .what = ND_DLG_LINK_UP });
	if (to >= AT_GREETED)
		say(x, "{\"m\":\"hello\",\"protocol\":1,\"cpus\":4,\"boot_id\":\"b\"}");
	if (to >= AT_PREPARED)
		agree(x);
	if (to >= AT_READY)
		local(x, ND_DLG_FLOWS_READY);
	if (to >= AT_RUN) {
		say(x, "{\"m\":\"ready\"}");
		if (x->in_group)
			gather(x);
		if (x->end == ND_SERVER) {
			(void)snprintf(
				text, sizeof(text), "{\"m\":\"go\",\"at\":%llu}",
				(unsigned long long)(x->now_ns - (x->in_group ? ND_NS_PER_MS : 0)));
			say(x, text);
		}
		x->now_ns += ND_NS_PER_S;
	}
	if (to >= AT_RESULT)
		local(x, ND_DLG_RESULT);
	check(x->endings == 0 && x->is_started == (to >= AT_RUN));
}

static void play(struct dialog *x, const uint8_t *data, size_t size)
{
	static const enum nd_dialog_event_kind events[] = { ND_DLG_FLOWS_READY, ND_DLG_RUN_FAILED,
							    ND_DLG_INTERVAL,    ND_DLG_SENT,
							    ND_DLG_RESULT,      ND_DLG_STOP,
							    ND_DLG_LINK_DOWN };

	size_t n;

	while (size > 0) {
		uint8_t kind = *data++;

		size--;
		if (kind < ND_COUNTOF(events)) {
			local(x, events[kind]);
		} else if (kind < 10) {
			feed(x,
			     (struct nd_dialog_event){ .what = ND_DLG_TIMER, .timer = kind & 1 });
		} else if (kind == 250) {
			feed(x,
			     (struct nd_dialog_event){ .what = ND_DLG_GATHER, .at_ns = x->now_ns });
		} else if (kind == 251) {
			feed(x, (struct nd_dialog_event){ .what = ND_DLG_GATHER,
							  .reason = "too few" });
		} else if (kind == 252) {
			sum_up(x);
		} else if (size >= 2) {
			n = (size_t)data[0] << 8 | data[1];
			data += 2;
			size -= 2;
			n = ND_MIN(n, size);
			message(x, (const char *)data, n);
			data += n;
			size -= n;
		} else {
			break;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dialog x = { .d = nd_dialect_find("native"), .now_ns = 100 * ND_NS_PER_S };
	struct nd_dialog_cfg cfg = { .plan = &x.plan, .boot_id = "b", .hostname = "h", .cpus = 2 };
	struct nd_dialog_facts facts;
	struct nd_greeting_out greeting;

	if (size == 0)
		return 0;
	x.end = data[0] & 1 ? ND_SERVER : ND_CLIENT;
	x.in_group = data[0] & 128;
	cfg.end = x.end;
	nd_plan_init(&x.plan);
	if (x.end == ND_CLIENT) {
		x.plan.workloads = x.plan.workload_list.n = 1;
		x.plan.workload[0] = (struct nd_workload){ .active = ND_CLIENT,
							   .load = "stream",
							   .frame = "plain",
							   .transport = "tcp",
							   .flows = 2,
							   .message_bytes = 65536 };
		x.plan.duration_ns = ND_NS_PER_S;
		x.plan.interval_ns = x.plan.drain_ns = ND_NS_PER_S;
		x.plan.group = x.in_group ? "g" : NULL;
		x.plan.group_expect = x.in_group ? 2 : 0;
		x.plan.group_wait_ns = 2 * ND_NS_PER_S;
	}
	x.state = calloc(1, x.d->state_bytes);
	check(x.state && x.d->open(x.state, &cfg, NULL) == 0);
	reach(&x, (enum reach)(((data[0] & 127) >> 1) % REACHES));
	play(&x, data + 1, size - 1);
	x.d->facts(x.state, &facts);
	(void)x.d->greeting(x.state, false, &greeting);
	(void)x.d->greeting(x.state, true, &greeting);
	x.d->close(x.state);
	free(x.state);
	nd_verbs_done(&x.verbs);
	nd_plan_done(&x.plan);
	return 0;
}
