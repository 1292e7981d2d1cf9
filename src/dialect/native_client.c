/* SPDX-License-Identifier: MIT */
/* The native language, client: says hello, measures the clocks, asks for a plan, gives the start. */
#include <errno.h>
#include <string.h>

#include "dialect/int.h"

void nd_native_client_up(struct nd_native *d)
{
	const struct nd_native_body b = {
		.protocol = ND_NATIVE_PROTOCOL,
		.version = ND_VERSION,
		.boot_id = d->boot_id,
		.netns = d->netns_id,
		.hostname = d->hostname,
		.cpus = d->cpus,
		.datagram_bytes = ND_UNKNOWN,
	};

	d->stage = ND_STAGE_HELLO;
	nd_native_send(d, ND_MSG_HELLO, &b);
	nd_native_timer(d, ND_NATIVE_DEADLINE, d->now_ns + ND_NATIVE_GREETING_NS);
}

void nd_native_client_ask_time(struct nd_native *d)
{
	d->times_left--;
	d->sent_ns = d->now_ns;
	nd_native_send(d, ND_MSG_TIME,
		       &(struct nd_native_body){ .sent = d->sent_ns, .at = ND_UNKNOWN });
}

/* What the server sends back must fit its path too. A size that the user chose stays. */
static void fit_datagrams(struct nd_plan *plan, uint64_t datagram_bytes)
{
	uint64_t i;

	if (datagram_bytes == 0 || plan->ask.has_message_bytes)
		return;
	for (i = 0; i < plan->workloads; i++) {
		struct nd_workload *w = &plan->workload[i];

		if (nd_plan_is_datagram(w) && w->active == ND_SERVER)
			w->message_bytes = ND_MIN(w->message_bytes, datagram_bytes);
	}
}

void nd_native_client_hello(struct nd_native *d, const struct nd_native_body *b)
{
	if (b->protocol != ND_NATIVE_PROTOCOL) {
		nd_native_protest(d,
				  "the server speaks version %lld of the protocol, this client %u",
				  b->protocol == ND_UNKNOWN ? -1ll : (long long)b->protocol,
				  ND_NATIVE_PROTOCOL);
		return;
	}
	nd_native_meet(d, b);
	if (b->datagram_bytes != ND_UNKNOWN)
		fit_datagrams(d->plan, b->datagram_bytes);
	d->stage = ND_STAGE_PLAN;
	d->times_left = ND_NATIVE_TIMES_BEFORE;
	nd_native_client_ask_time(d);
}

void nd_native_client_time(struct nd_native *d, const struct nd_native_body *b)
{
	if (b->sent != d->sent_ns || b->at == ND_UNKNOWN) {
		nd_native_protest(d, "message 'time' answers nothing that was asked");
		return;
	}
	d->sent_ns = ND_UNKNOWN;
	nd_clock_add(d->stage == ND_STAGE_PLAN ? &d->before : &d->after, b->sent, b->at, d->now_ns);
	if (d->times_left > 0) {
		nd_native_client_ask_time(d);
	} else if (d->stage == ND_STAGE_PLAN) {
		nd_native_send(d, ND_MSG_PLAN, &(struct nd_native_body){ .plan = d->plan });
	} else {
		nd_native_done(d);
	}
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static bool read_token(const char *text, uint8_t ret[16])
{
	size_t i;

	if (!text || strlen(text) != 32)
		return false;
	for (i = 0; i < 16; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* The plan as the server will run it. A server may make datagrams smaller, and nothing else. */
static int adopt(struct nd_native *d, const struct nd_native_body *b, struct nd_err *err)
{
	struct nd_plan *mine = d->plan, *agreed = nd_arena_alloc(&d->passing, 1, sizeof(*agreed));
	uint64_t i;
	int code;

	if (!agreed)
		return nd_fail(err, -ENOMEM, "no memory for the agreed plan");
	nd_plan_init(agreed);
	code = nd_wire_get(b->plan_json, &nd_plan_table, agreed, &d->passing, ND_MAX_WORKLOADS,
			   err);
	if (code == 0)
		code = nd_plan_adopt(agreed, err);
	if (code < 0)
		return code;
	if (agreed->workloads != mine->workloads || agreed->duration_ns != mine->duration_ns ||
	    agreed->warmup_ns != mine->warmup_ns || agreed->cooldown_ns != mine->cooldown_ns)
		return nd_fail(err, -EBADMSG, "this is not the plan that was asked for");
	for (i = 0; i < mine->workloads; i++) {
		const struct nd_workload *w = &agreed->workload[i];

		if (w->flows != mine->workload[i].flows || w->active != mine->workload[i].active)
			return nd_fail(err, -EBADMSG, "this is not the plan that was asked for");
		if (nd_plan_is_datagram(&mine->workload[i]) && w->message_bytes > 0)
			mine->workload[i].message_bytes =
				ND_MIN(mine->workload[i].message_bytes, w->message_bytes);
	}
	return 0;
}

void nd_native_client_agreed(struct nd_native *d, const struct nd_native_body *b)
{
	struct nd_err err = { 0 };

	if (d->times_left > 0 || d->sent_ns != ND_UNKNOWN) {
		nd_native_protest(d, "message 'agreed' is out of order: nothing was asked yet");
		return;
	}
	if (!read_token(b->token, d->key)) {
		nd_native_protest(d, "message 'agreed': 'token' is not 32 hexadecimal digits");
		return;
	}
	if (adopt(d, b, &err) < 0) {
		nd_native_protest(d, "message 'agreed': %s", err.text);
		return;
	}
	d->threads = nd_native_threads(d);
	if (b->threads < 1 || b->threads > d->threads) {
		nd_native_protest(d, "message 'agreed': 'threads' is not in 1..%llu",
				  (unsigned long long)d->threads);
		return;
	}
	d->threads = b->threads;
	d->plan->threads = b->threads;
	nd_native_prepare(d);
}

void nd_native_client_refuse(struct nd_native *d, const struct nd_native_body *b)
{
	nd_native_lost(d, -EPERM, "the server refused: %s",
		       b->sentence ? b->sentence : "no reason given");
}

void nd_native_client_ready(struct nd_native *d)
{
	uint64_t ahead_ns, at_ns;

	if (!d->is_ready || !d->peer_is_ready)
		return;
	ahead_ns = ND_MIN(4 * ND_MIN(d->before.rtt_ns, ND_NS_PER_S * 3600) + ND_NATIVE_AHEAD_NS,
			  ND_NATIVE_AHEAD_MAX_NS / 2);
	at_ns = d->now_ns + ND_MAX(ahead_ns, ND_NATIVE_AHEAD_MIN_NS);
	nd_native_send(d, ND_MSG_GO,
		       &(struct nd_native_body){ .at = at_ns + (uint64_t)d->before.offset_ns });
	nd_native_start(d, at_ns);
}

void nd_native_client_is_ready(struct nd_native *d, const struct nd_native_body *b)
{
	(void)b; /* holds nothing */
	if (d->peer_is_ready) {
		nd_native_protest(d, "message 'ready' came twice");
		return;
	}
	d->peer_is_ready = true;
	nd_native_client_ready(d);
}
