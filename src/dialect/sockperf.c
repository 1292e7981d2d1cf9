/* SPDX-License-Identifier: MIT */
/*
 * sockperf's ends do not talk about a test: a client begins when it likes, a server answers whatever comes. So there
 * are no links and no messages here, only the order in which each end does its own part.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dialect/int.h"
#include "plan/sockperf.h"

#define TAIL_NS (100 * ND_NS_PER_MS) /* for late answers */
#define OVER_NS (5 * ND_NS_PER_S)
#define MANY    50000u /* connections that came: the next lull is a good time to begin anew */

enum timer { BEGIN, LATE };

struct sockperf {
	struct nd_plan *plan; /* borrowed */
	const struct nd_sockperf *set;
	enum nd_end_kind end;
	uint64_t came;
	char reason[64];
	bool is_prepared, is_running, is_stopping, is_finishing, is_over;
	bool is_unwanted; /* server: told to stop before it was ready */
};

static const struct nd_port_class ports[] = {
	{ .name = "data", .transport = "tcp", .many = true },
	{ .name = "data", .transport = "udp", .many = true },
	{ .name = NULL },
};

/* Nothing that comes to a port is a message. */
static void sp_claim(const uint8_t *data, size_t n, bool datagram, struct nd_claim *ret)
{
	(void)data;
	(void)n;
	(void)datagram;
	*ret = (struct nd_claim){ .kind = ND_CLAIM_ALIEN };
}

static ssize_t sp_message_bytes(const uint8_t *data, size_t n, unsigned port_class)
{
	(void)data;
	(void)n;
	(void)port_class;
	return -EBADMSG;
}

static uint64_t ports_of(const struct nd_plan *plan)
{
	const struct nd_target *t = plan->targets.v;
	uint64_t n = 0;

	for (uint64_t i = 0; i < plan->targets.n; i++)
		n += t[i].ports;
	return ND_MAX(n, 1);
}

static bool sp_listens(const void *state, unsigned port_class, unsigned *ret_count)
{
	const struct sockperf *d = state;

	*ret_count = (unsigned)ports_of(d->plan);
	return strcmp(ports[port_class].transport, d->plan->workload[0].transport) == 0;
}

static int sp_open(void *state, const struct nd_dialog_cfg *cfg, struct nd_err *err)
{
	struct sockperf *d = state;

	d->plan = cfg->plan;
	d->end = cfg->end;
	d->set = cfg->plan ? nd_sockperf_of(cfg->plan) : NULL;
	return d->set ? 0 : nd_fail(err, -EINVAL, "there is no plan of sockperf's");
}

static void set_timer(struct nd_verbs *ret, enum timer timer, uint64_t at_ns)
{
	struct nd_verb_item *v = nd_verbs_add(ret, ND_DO_TIMER);

	v->timer = timer;
	v->at_ns = at_ns;
}

static void prepare(struct sockperf *d, struct nd_verbs *ret)
{
	uint64_t most = d->end == ND_SERVER ? ND_MAX_THREADS : nd_plan_flows(d->plan);

	if (d->is_prepared)
		return;
	d->is_prepared = true;
	nd_verbs_add(ret, ND_DO_PREPARE)->threads =
		ND_MAX(ND_MIN(ND_MIN(d->plan->threads, most), ND_MAX_THREADS), 1);
}

static void finish(struct sockperf *d, uint64_t now_ns, struct nd_verbs *ret)
{
	struct nd_verb_item *v;

	if (d->end == ND_SERVER || d->is_finishing)
		return;
	d->is_finishing = true;
	v = nd_verbs_add(ret, ND_DO_FINISH);
	v->quiet_ns = TAIL_NS;
	v->deadline_ns = now_ns + TAIL_NS;
	set_timer(ret, LATE, now_ns + OVER_NS);
}

static void fail(struct sockperf *d, const struct nd_err *why, bool is_peer, struct nd_verbs *ret)
{
	struct nd_verb_item *v;

	if (d->is_over)
		return;
	d->is_over = true;
	v = nd_verbs_add(ret, ND_DO_FAIL);
	v->err = *why;
	v->peer_fault = is_peer;
}

static void halt(struct sockperf *d, uint64_t now_ns, struct nd_verbs *ret)
{
	d->is_stopping = true;
	nd_verbs_add(ret, ND_DO_STOP);
	set_timer(ret, LATE, now_ns + OVER_NS);
}

static void stop(struct sockperf *d, const struct nd_dialog_event *ev, struct nd_verbs *ret)
{
	struct nd_err why = { 0 };

	if (!d->is_running && d->end == ND_SERVER) {
		d->is_unwanted = true; /* it ends as any server does, as soon as it can */
		set_timer(ret, LATE, ev->now_ns + OVER_NS);
		prepare(d, ret);
		return;
	}
	if (!d->is_running) {
		(void)nd_fail(&why, -ECANCELED, "%s before the test began",
			      ev->reason ? ev->reason : "stopped");
		fail(d, &why, false, ret);
		return;
	}
	/* that is how a server is meant to end */
	if (d->end == ND_CLIENT)
		(void)snprintf(d->reason, sizeof(d->reason), "%s",
			       ev->reason ? ev->reason : "stopped"); /* cut if need be */
	halt(d, ev->now_ns, ret);
}

static void start(struct sockperf *d, uint64_t now_ns, struct nd_verbs *ret)
{
	uint64_t wait_ns = ND_MIN(d->set->wait_s, ND_MAX_NS / ND_NS_PER_S) * ND_NS_PER_S;

	if (d->is_running)
		return;
	d->is_running = true;
	nd_verbs_add(ret, ND_DO_START)->at_ns = now_ns + (d->end == ND_CLIENT ? wait_ns : 0);
	if (d->is_unwanted)
		halt(d, now_ns, ret);
}

static void done(struct sockperf *d, struct nd_verbs *ret)
{
	if (d->is_over)
		return;
	d->is_over = true;
	nd_verbs_add(ret, ND_DO_DONE)->reason = d->reason[0] ? d->reason : NULL;
}

static void on_timer(struct sockperf *d, const struct nd_dialog_event *ev, struct nd_verbs *ret)
{
	struct nd_err why = { 0 };

	if (ev->timer == BEGIN) {
		prepare(d, ret);
		return;
	}
	if (!d->is_stopping) {
		halt(d, ev->now_ns, ret);
		return;
	}
	(void)nd_fail(&why, -ETIMEDOUT, "the run did not end when it was told to");
	fail(d, &why, false, ret);
}

static void sp_event(void *state, const struct nd_dialog_event *ev, struct nd_verbs *ret)
{
	struct sockperf *d = state;

	switch (ev->what) {
	case ND_DLG_OPEN:
		/* a server's ports are opened behind this */
		if (d->end == ND_SERVER)
			set_timer(ret, BEGIN, ev->now_ns);
		else
			prepare(d, ret);
		break;
	case ND_DLG_TIMER:
		on_timer(d, ev, ret);
		break;
	case ND_DLG_FLOWS_READY:
		start(d, ev->now_ns, ret);
		break;
	case ND_DLG_FLOW_OPEN:
		d->came++;
		break;
	case ND_DLG_FLOW_CLOSED:
		if (d->end == ND_SERVER && ev->flow == 0 && d->came > MANY && !d->is_stopping)
			stop(d, ev, ret);
		break;
	case ND_DLG_SENT:
		finish(d, ev->now_ns, ret);
		break;
	case ND_DLG_RESULT:
		done(d, ret);
		break;
	case ND_DLG_RUN_FAILED:
		fail(d, ev->err, false, ret);
		break;
	case ND_DLG_STOP:
		stop(d, ev, ret);
		break;
	default:
		break;
	}
}

const struct nd_dialect nd_dialect_sockperf = {
	.name = "sockperf",
	.help = "sockperf: nothing is agreed upon",
	.ports = ports,
	.state_bytes = sizeof(struct sockperf),
	.message_max = 1,
	.claim = sp_claim,
	.message_bytes = sp_message_bytes,
	.listens = sp_listens,
	.open = sp_open,
	.event = sp_event,
};
