/* SPDX-License-Identifier: MIT */
/*
 * netperf's language: ports, framing, and what both ends do alike. The ends are netperf_client.c and
 * netperf_server.c; what their messages say is in netperf_ask.c and netperf_serve.c, layouts are in netperf_msg.c.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>

#include "dialect/netperf.h"

/* ---- verbs ---- */

void nd_np_send(struct nd_np *d, unsigned link, const uint8_t *message)
{
	nd_verbs_send(d->verbs, link, message, ND_NP_BYTES);
}

void nd_np_timer(struct nd_np *d, enum nd_np_timer timer, uint64_t by_ns)
{
	struct nd_verb_item *v = nd_verbs_add(d->verbs, ND_DO_TIMER);

	v->timer = timer;
	v->at_ns = by_ns == UINT64_MAX ? by_ns : d->now_ns + by_ns;
}

void nd_np_prepare(struct nd_np *d, uint64_t threads)
{
	nd_verbs_add(d->verbs, d->is_prepared ? ND_DO_RESTART : ND_DO_PREPARE)->threads = threads;
	d->is_prepared = true;
	d->has_result = d->is_finishing = d->is_late = false;
}

void nd_np_start(struct nd_np *d)
{
	d->stage = ND_NP_RUNNING;
	d->start_ns = d->now_ns;
	nd_verbs_add(d->verbs, ND_DO_START)->at_ns = d->start_ns;
}

void nd_np_finish(struct nd_np *d, uint64_t quiet_ns, uint64_t by_ns)
{
	struct nd_verb_item *v;

	if (d->has_result)
		return;
	v = nd_verbs_add(d->verbs, ND_DO_FINISH);
	v->quiet_ns = quiet_ns;
	v->deadline_ns = d->now_ns + by_ns;
	d->is_finishing = true;
	nd_np_timer(d, ND_NP_END, by_ns + ND_NP_OVER_NS);
}

/* ---- the end ---- */

void nd_np_keep_reason(struct nd_np *d, const char *reason)
{
	if (!d->reason)
		d->reason = nd_arena_dup(&d->kept, reason);
}

static void leave(struct nd_np *d)
{
	d->stage = ND_NP_OVER;
	nd_np_timer(d, ND_NP_DEADLINE, UINT64_MAX);
	nd_np_timer(d, ND_NP_END, UINT64_MAX);
	for (unsigned i = 0; i < d->link_n; i++) {
		if (d->links[i].is_up)
			nd_verbs_add(d->verbs, ND_DO_CLOSE)->link = i;
	}
}

void nd_np_done(struct nd_np *d)
{
	leave(d);
	nd_verbs_end(d->verbs, d->peer_side, d->reason);
}

void nd_np_fail(struct nd_np *d, bool peer_fault, int code, const char *fmt, ...)
{
	va_list ap;

	leave(d);
	va_start(ap, fmt);
	nd_verbs_fail(d->verbs, peer_fault, code, fmt, ap);
	va_end(ap);
}

/* ---- what the session sees ---- */

static ssize_t np_message_bytes(const uint8_t *data, size_t n, unsigned port_class)
{
	(void)data;
	if (port_class != 0)
		return -EBADMSG;
	return n < ND_NP_BYTES ? 0 : (ssize_t)ND_NP_BYTES;
}

static int np_open(void *state, const struct nd_dialog_cfg *cfg, struct nd_err *err)
{
	struct nd_np *d = state;
	int r;

	*d = (struct nd_np){
		.end = cfg->end,
		.plan = cfg->plan,
		.cpus = ND_MAX(ND_MIN(cfg->cpus, ND_NATIVE_CPUS_MAX), 1),
		.kept.limit = ND_NATIVE_KEPT_MAX,
	};
	if (!nd_netperf_of(cfg->plan))
		return nd_fail(err, -EINVAL, "this plan was not made for netperf's language");
	r = cfg->end == ND_CLIENT ? nd_np_client_open(d, err) : nd_np_server_open(d, err);
	if (r < 0)
		nd_arena_done(&d->kept);
	return r;
}

static void np_close(void *state)
{
	struct nd_np *d = state;

	if (d)
		nd_arena_done(&d->kept);
}

static void np_event(void *state, const struct nd_dialog_event *ev, struct nd_verbs *ret)
{
	struct nd_np *d = state;

	if (d->stage == ND_NP_OVER)
		return;
	d->now_ns = ev->now_ns;
	d->verbs = ret;
	if (d->end == ND_CLIENT)
		nd_np_client_event(d, ev);
	else
		nd_np_server_event(d, ev);
	d->verbs = NULL;
}

static void np_claim(const uint8_t *data, size_t n, bool datagram, struct nd_claim *ret)
{
	(void)data;
	(void)n;
	*ret = (struct nd_claim){ .kind = datagram ? ND_CLAIM_ALIEN : ND_CLAIM_CONTROL };
}

static bool np_greeting(const void *state, bool datagram, struct nd_greeting_out *ret)
{
	(void)state;
	(void)datagram;
	*ret = (struct nd_greeting_out){ 0 };
	return false;
}

static void np_facts(const void *state, struct nd_dialog_facts *ret)
{
	const struct nd_np *d = state;

	*ret = (struct nd_dialog_facts){
		.clock_offset_us = (double)NAN,
		.clock_rtt_us = (double)NAN,
		.clock_drift_us = (double)NAN,
		.start_ns = d->start_ns,
	};
}

static const struct nd_port_class ports[] = {
	{ .name = "control", .transport = "tcp" },
	{ .name = NULL },
};

const struct nd_dialect nd_dialect_netperf = {
	.name = "netperf",
	.help = "netperf 2.6 and later",
	.ports = ports,
	.state_bytes = sizeof(struct nd_np),
	.message_max = ND_NP_BYTES,
	.claim = np_claim,
	.message_bytes = np_message_bytes,
	.open = np_open,
	.event = np_event,
	.facts = np_facts,
	.greeting = np_greeting,
	.close = np_close,
	.print = nd_np_print,
};
