/* SPDX-License-Identifier: MIT */
/* The native language, server: answers hello and clock, has the plan judged, starts when it is told. */
#include <errno.h>
#include <stdio.h>

#include "dialect/int.h"

void nd_native_server_refuse(struct nd_native *d, const char *sentence)
{
	nd_native_send(d, ND_MSG_REFUSE, &(struct nd_native_body){ .sentence = sentence });
}

void nd_native_server_hello(struct nd_native *d, const struct nd_native_body *b)
{
	const char *features[] = { ND_NATIVE_QUIET };
	const struct nd_native_body answer = {
		.protocol = ND_NATIVE_PROTOCOL,
		.version = ND_VERSION,
		.boot_id = d->boot_id,
		.netns = d->netns_id,
		.hostname = d->hostname,
		.cpus = d->cpus,
		.datagram_bytes = d->datagram_bytes ? d->datagram_bytes : ND_UNKNOWN,
		.follows = ND_UNKNOWN,
		.longest = d->longest_ns ? d->longest_ns : ND_UNKNOWN,
		.queue = d->queue ? d->queue : ND_UNKNOWN,
		.features = { features, ND_COUNTOF(features) },
	};

	if (b->protocol != ND_NATIVE_PROTOCOL) {
		struct nd_err err = { 0 };

		(void)nd_fail(&err, -EPROTO, "this server speaks version %u of the protocol",
			      ND_NATIVE_PROTOCOL);
		nd_native_server_refuse(d, err.text);
		nd_native_fail(d, true, -EPROTO, "client speaks another version of the protocol");
		return;
	}
	nd_native_meet(d, b);
	d->plan->follows = b->follows == 1;
	d->stage = ND_STAGE_PLAN;
	nd_native_send(d, ND_MSG_HELLO, &answer);
}

void nd_native_server_time(struct nd_native *d, const struct nd_native_body *b)
{
	if (b->sent == ND_UNKNOWN) {
		nd_native_protest(d, "message 'time': 'sent' is missing");
		return;
	}
	nd_native_send(d, ND_MSG_TIME,
		       &(struct nd_native_body){ .sent = b->sent, .at = d->now_ns });
}

void nd_native_server_plan(struct nd_native *d, const struct nd_native_body *b)
{
	struct nd_plan *plan = d->plan;
	struct nd_err err = { 0 };
	int code;

	plan->arena.limit = ND_NATIVE_PLAN_MAX;
	code = nd_wire_get(b->plan_json, &nd_plan_table, plan, &plan->arena, ND_MAX_WORKLOADS,
			   &err);
	if (code == 0)
		code = nd_plan_adopt(plan, &err);
	if (code < 0) {
		nd_native_protest(d, "message 'plan': %s", err.text);
		return;
	}
	d->stage = ND_STAGE_JUDGE;
	nd_verbs_add(d->verbs, ND_DO_PROPOSE);
}

/* @port: of the connections that come and go; ND_UNKNOWN: there are none. */
static void agree(struct nd_native *d, uint64_t port)
{
	char token[2 * sizeof(d->key) + 1];
	size_t i;

	for (i = 0; i < sizeof(d->key); i++)
		(void)snprintf(token + 2 * i, 3, "%02x", d->key[i]); /* two digits always */
	d->threads = nd_native_threads(d);
	d->plan->threads = d->threads;
	nd_native_prepare(d);
	nd_native_send(
		d, ND_MSG_AGREED,
		&(struct nd_native_body){
			.token = token, .threads = d->threads, .port = port, .plan = d->plan });
}

void nd_native_server_judged(struct nd_native *d, const struct nd_dialog_event *ev)
{
	if (d->stage != ND_STAGE_JUDGE)
		return;
	if (ev->reason) {
		nd_native_server_refuse(d, ev->reason);
		nd_native_fail(d, true, -EPERM, "refused: %s", ev->reason);
		return;
	}
	if (ev->plan)
		d->plan = ev->plan;
	if (nd_plan_connects(d->plan))
		nd_verbs_add(d->verbs, ND_DO_SOCKET);
	else
		agree(d, ND_UNKNOWN);
}

void nd_native_server_socket(struct nd_native *d, const struct nd_dialog_event *ev)
{
	if (d->stage != ND_STAGE_JUDGE)
		return;
	if (ev->error == 0) {
		agree(d, ev->socket->port);
		return;
	}
	nd_native_server_refuse(d, ev->err->text);
	nd_native_fail(d, false, ev->error, "%s", ev->err->text);
}

void nd_native_server_is_ready(struct nd_native *d, const struct nd_native_body *b)
{
	if (d->peer_is_ready) {
		nd_native_protest(d, "message 'ready' came twice");
		return;
	}
	d->peer_is_ready = true;
	d->rtt_ns = b->rtt == ND_UNKNOWN ? 0 : b->rtt;
	nd_native_hold(d);
}

void nd_native_server_go(struct nd_native *d, const struct nd_native_body *b)
{
	if (!d->is_ready || !d->peer_is_ready) {
		nd_native_protest(d, "message 'go' is out of order: not both ends are ready");
		return;
	}
	if (d->plan->group && (d->gather_ns == 0 || b->at != d->gather_ns)) {
		nd_native_protest(d, "message 'go' is not for the instant of the group");
		return;
	}
	if (b->at == ND_UNKNOWN || b->at > d->now_ns + ND_NATIVE_AHEAD_MAX_NS ||
	    b->at + ND_NATIVE_LATE_MAX_NS < d->now_ns) {
		nd_native_protest(d, "message 'go': 'at' is not near this server's clock");
		return;
	}
	nd_native_start(d, b->at);
}

void nd_native_server_bye(struct nd_native *d, const struct nd_native_body *b)
{
	(void)b; /* holds nothing */
	if (d->stage == ND_STAGE_WRAP)
		nd_native_done(d);
	else
		nd_native_lost(d, -ECONNRESET, "peer lost: the client left before the results");
}
