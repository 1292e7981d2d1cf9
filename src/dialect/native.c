/* SPDX-License-Identifier: MIT */
/*
 * The native language: one port for control and data, messages of length and JSON. This file: what the
 * session sees. The order of messages is in doc/protocol.md; native_client.c and native_server.c are the ends,
 * native_run.c and native_end.c what they share, native_group.c what a group of clients adds, native_msg.c the
 * messages.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "dialect/int.h"

/* ---- what the first bytes are ---- */

static uint32_t read_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Fills @ret when @data begins with an introduction of @ask; MORE when it may become one. */
static int claim_flow(const struct nd_bin_layout *ask, const struct nd_bin_layout *answer,
		      const uint8_t *data, size_t n, struct nd_claim *ret)
{
	struct nd_native_intro intro = { 0 };
	int used = nd_bin_decode(ask, data, n, &intro);

	if (used <= 0) {
		ret->kind = used == 0 ? ND_CLAIM_MORE : ND_CLAIM_ALIEN;
		return used;
	}
	ret->kind = ND_CLAIM_FLOW;
	ret->flow = intro.flow;
	ret->used = (size_t)used;
	memcpy(ret->key, intro.key, sizeof(ret->key));
	if (intro.quiet == 1)
		return 1;
	used = nd_bin_encode(answer, &intro, ret->answer, sizeof(ret->answer));
	ret->answer_bytes = used > 0 ? (size_t)used : 0;
	return 1;
}

static enum nd_claim_kind claim_control(const uint8_t *data, size_t n)
{
	uint32_t length;

	if (n < ND_NATIVE_PREFIX_BYTES) /* lengths up to the limit begin with 0 or 1 */
		return data[0] <= ND_NATIVE_MESSAGE_MAX >> 24 ? ND_CLAIM_MORE : ND_CLAIM_ALIEN;
	length = read_be32(data);
	if (length < 2 || length > ND_NATIVE_MESSAGE_MAX)
		return ND_CLAIM_ALIEN;
	if (n == ND_NATIVE_PREFIX_BYTES)
		return ND_CLAIM_MORE;
	return data[ND_NATIVE_PREFIX_BYTES] == '{' ? ND_CLAIM_CONTROL : ND_CLAIM_ALIEN;
}

static void native_claim(const uint8_t *data, size_t n, bool datagram, struct nd_claim *ret)
{
	*ret = (struct nd_claim){ .kind = ND_CLAIM_MORE };
	if (datagram) {
		if (n != ND_NATIVE_TOKEN_BYTES ||
		    claim_flow(&nd_native_token_layout, &nd_native_token_answer_layout, data, n,
			       ret) <= 0)
			*ret = (struct nd_claim){ .kind = ND_CLAIM_ALIEN };
		return;
	}
	if (n > 0 &&
	    claim_flow(&nd_native_intro_layout, &nd_native_intro_answer_layout, data, n, ret) < 0)
		ret->kind = claim_control(data, n);
}

static ssize_t native_message_bytes(const uint8_t *data, size_t n, unsigned port_class)
{
	size_t length;

	(void)port_class; /* one language on every port */
	if (n < ND_NATIVE_PREFIX_BYTES)
		return 0;
	length = read_be32(data);
	if (length < 2)
		return -EBADMSG;
	if (length > ND_NATIVE_MESSAGE_MAX)
		return -EMSGSIZE;
	if (n > ND_NATIVE_PREFIX_BYTES && data[ND_NATIVE_PREFIX_BYTES] != '{')
		return -EBADMSG;
	length += ND_NATIVE_PREFIX_BYTES;
	return n < length ? 0 : (ssize_t)length;
}

/* ---- life ---- */

static int native_open(void *state, const struct nd_dialog_cfg *cfg, struct nd_err *err)
{
	struct nd_native *d = state;

	*d = (struct nd_native){
		.end = cfg->end,
		.plan = cfg->plan,
		.cpus = ND_MAX(ND_MIN(cfg->cpus, ND_NATIVE_CPUS_MAX), 1),
		.datagram_bytes = cfg->datagram_bytes,
		.longest_ns = cfg->longest_ns,
		.queue = cfg->queue,
		.kept.limit = ND_NATIVE_KEPT_MAX,
		.passing.limit = ND_NATIVE_PASSING_MAX,
		.sent_ns = ND_UNKNOWN,
		.peer_cpus = 1,
	};
	memcpy(d->key, cfg->key, sizeof(d->key));
	d->boot_id = nd_arena_dup(&d->kept, cfg->boot_id);
	d->netns_id = nd_arena_dup(&d->kept, cfg->netns_id);
	d->hostname = nd_arena_dup(&d->kept, cfg->hostname);
	if ((cfg->boot_id && !d->boot_id) || (cfg->netns_id && !d->netns_id) ||
	    (cfg->hostname && !d->hostname))
		return nd_fail(err, -ENOMEM, "no memory for a dialog");
	return 0;
}

static void native_close(void *state)
{
	struct nd_native *d = state;

	if (!d)
		return;
	nd_arena_done(&d->kept);
	nd_arena_done(&d->passing);
	nd_str_done(&d->early);
}

/* ---- events ---- */

static void link_up(struct nd_native *d, unsigned link)
{
	if (d->stage != ND_STAGE_CONNECT)
		return;
	d->link = link;
	d->linked = true;
	nd_native_timer(d, ND_NATIVE_TICK, d->now_ns + ND_NATIVE_TICK_NS);
	if (d->end == ND_CLIENT) {
		nd_native_client_up(d);
		return;
	}
	d->stage = ND_STAGE_HELLO;
	nd_native_wait(d, nd_native_patience(d));
}

static void take_message(struct nd_native *d, const struct nd_dialog_event *ev)
{
	if (d->stage ==
	    ND_STAGE_CONNECT) /* the session may hand over a link that has spoken already */
		link_up(d, ev->link);
	if (ev->link != d->link)
		return;
	d->silent_ticks = 0;
	nd_native_take(d, ev->data, ev->n);
}

static void native_event(void *state, const struct nd_dialog_event *ev, struct nd_verbs *ret)
{
	struct nd_native *d = state;

	if (d->stage == ND_STAGE_OVER)
		return;
	d->now_ns = ev->now_ns;
	d->verbs = ret;
	nd_arena_done(&d->passing);
	switch (ev->what) {
	case ND_DLG_OPEN:
		if (d->end == ND_CLIENT)
			nd_verbs_add(ret, ND_DO_CONNECT)->port_class = 0;
		break;
	case ND_DLG_LINK_UP:
		link_up(d, ev->link);
		break;
	case ND_DLG_MESSAGE:
		take_message(d, ev);
		break;
	case ND_DLG_LINK_DOWN:
		nd_native_on_down(d, ev);
		break;
	case ND_DLG_TIMER:
		if (ev->timer == ND_NATIVE_TICK)
			nd_native_on_tick(d);
		else
			nd_native_on_deadline(d);
		break;
	case ND_DLG_GATHER:
		nd_native_on_gathered(d, ev);
		break;
	case ND_DLG_GROUP:
		nd_native_on_summed(d, ev);
		break;
	case ND_DLG_PLAN:
		if (d->end == ND_SERVER)
			nd_native_server_judged(d, ev);
		break;
	case ND_DLG_SOCKET:
		if (d->end == ND_SERVER)
			nd_native_server_socket(d, ev);
		break;
	default:
		nd_native_on_local(d, ev);
		break;
	}
	d->verbs = NULL;
}

/* ---- what else the session asks ---- */

static void native_facts(const void *state, struct nd_dialog_facts *ret)
{
	const struct nd_native *d = state;

	*ret = (struct nd_dialog_facts){
		.clock_offset_us = (double)NAN,
		.clock_rtt_us = (double)NAN,
		.clock_drift_us = (double)NAN,
		.peer_version = d->peer_version,
		.peer_cpus = d->peer_cpus,
		.start_ns = d->start_ns,
		.peer_flows_omitted = d->peer_flows_omitted,
	};
	ret->same_host = d->boot_id && d->peer_boot_id && d->boot_id[0] &&
			 !strcmp(d->boot_id, d->peer_boot_id);
	if (d->before.n > 0) {
		ret->clock_offset_us = (double)d->before.offset_ns / 1e3;
		ret->clock_rtt_us = (double)d->before.rtt_ns / 1e3;
	}
	if (d->before.n > 0 && d->after.n > 0)
		ret->clock_drift_us =
			((double)d->after.offset_ns - (double)d->before.offset_ns) / 1e3;
}

/* Where a field stands in a layout. */
static uint32_t place_of(const struct nd_bin_layout *l, const char *name)
{
	const struct nd_bin_row *row;
	uint32_t at = 0;

	for (row = l->rows; row->name && strcmp(row->name, name) != 0; row++)
		at += row->bytes;
	return at;
}

static bool native_greeting(const void *state, bool datagram, struct nd_greeting_out *ret)
{
	const struct nd_native *d = state;
	const struct nd_bin_layout *ask =
		datagram ? &nd_native_token_layout : &nd_native_intro_layout;
	const struct nd_bin_layout *answer =
		datagram ? &nd_native_token_answer_layout : &nd_native_intro_answer_layout;
	struct nd_native_intro intro = { 0 };
	int n;

	*ret = (struct nd_greeting_out){ .flow_at = place_of(ask, "flow"),
					 .answer_flow_at = place_of(answer, "flow"),
					 .resend_ms = ND_NATIVE_RESEND_MS,
					 .queue = d->peer_queue };
	if (d->peer_is_quiet && !datagram)
		ret->quiet_at = place_of(ask, "quiet");
	memcpy(intro.key, d->key, sizeof(intro.key));
	n = nd_bin_encode(ask, &intro, ret->hello, sizeof(ret->hello));
	ret->hello_bytes = n > 0 ? (uint32_t)n : 0;
	n = nd_bin_encode(answer, &intro, ret->answer, sizeof(ret->answer));
	ret->answer_bytes = n > 0 ? (uint32_t)n : 0;
	return true;
}

/* ---- rows ---- */

static const struct nd_port_class ports[] = {
	{ .name = "control and data", .transport = "tcp" },
	{ .name = "datagrams", .transport = "udp" },
	{ .name = NULL },
};

const struct nd_dialect nd_dialect_native = {
	.name = "native",
	.help = "one port for control and data, both ends measure",
	.ports = ports,
	.state_bytes = sizeof(struct nd_native),
	.message_max = ND_NATIVE_PREFIX_BYTES + ND_NATIVE_MESSAGE_MAX,
	.intro_bytes = ND_NATIVE_INTRO_BYTES,
	.claim = native_claim,
	.message_bytes = native_message_bytes,
	.open = native_open,
	.event = native_event,
	.facts = native_facts,
	.greeting = native_greeting,
	.close = native_close,
	.print = nd_native_print,
};
