/* SPDX-License-Identifier: MIT */
/* What warnings say of the machines: CPUs, buffers, queues, what kernels dropped, and the platform below. */
#include <math.h>
#include <string.h>

#include "result/warn.h"

#define STEAL_RATIO     0.02
#define CONNTRACK_RATIO 0.9
#define ONE_QUEUE_RATIO 0.9
#define MANY_FLOWS      4u
#define WORTH_PPS       1000.0 /* packets/s; fewer say nothing of a queue */
#define LINUX_DOUBLES   2u     /* SO_SNDBUF and SO_RCVBUF: half is for bookkeeping */

static void say_bound(const struct nd_subject *s, const struct nd_side *side, struct nd_str *out)
{
	const struct nd_machine *m = &side->machine;

	nd_str_addf(out, "%s: CPU %llu was %s busy", nd_name_of(s, side), NUMBER(m->busiest_cpu),
		    SHARE(m->busiest_ratio));
	if (!isnan(m->busiest_softirq_ratio))
		nd_str_addf(out, " (irq and softirq %s)", SHARE(m->busiest_softirq_ratio));
	nd_str_add(out, ": one core may be what limits the result");
}

static bool sender_is_bound(const struct nd_subject *s)
{
	return nd_is_bound(s->sender);
}

static void say_sender_bound(const struct nd_subject *s, struct nd_str *out)
{
	say_bound(s, s->sender, out);
}

/* One machine is told of once. */
static bool receiver_is_bound(const struct nd_subject *s)
{
	return nd_is_bound(s->receiver) && !(s->r->same_host && nd_is_bound(s->sender));
}

static void say_receiver_bound(const struct nd_subject *s, struct nd_str *out)
{
	say_bound(s, s->receiver, out);
}

static bool receive_buffer_dropped(const struct nd_subject *s)
{
	return s->d->datagram && s->receiver && nd_some(s->receiver->machine.udp_rcvbuf_errors);
}

static void say_receive_buffer(const struct nd_subject *s, struct nd_str *out)
{
	uint64_t n = s->receiver->machine.udp_rcvbuf_errors;
	const struct nd_packets *p = &s->d->packets;
	bool in_pieces = p->rx_stack_per_s > 0 && p->rx_stack_per_s < p->read_per_s;

	nd_str_addf(out,
		    "%s: %llu %s%s came but found the receive buffer full: lost in the "
		    "receiver, not in the network",
		    nd_name_of(s, s->receiver), NUMBER(n),
		    in_pieces ? "pieces of several datagrams" : "datagram",
		    in_pieces ? "" : TIMES(n));
}

static bool qdisc_dropped(const struct nd_subject *s)
{
	return nd_some(s->side->machine.qdisc_drops);
}

static void say_qdisc(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_side *side = s->side;

	nd_str_addf(out, "%s: the queueing discipline of %s dropped %llu packet%s before the wire",
		    nd_name_of(s, side), side->machine.nic ? side->machine.nic : "its interface",
		    NUMBER(side->machine.qdisc_drops), TIMES(side->machine.qdisc_drops));
}

/* The CPUs' queues are the machine's, whatever a namespace sees. Two ends on one have counted the same drops, each over
 * a time of its own: they are told once, by the larger count. */
static bool backlog_dropped(const struct nd_subject *s)
{
	const struct nd_side *other = s->side == s->r->client ? s->r->server : s->r->client;
	uint64_t n = s->side->machine.softnet_dropped;

	return nd_some(n) &&
	       !(s->r->same_host && other && nd_some(other->machine.softnet_dropped) &&
		 other->machine.softnet_dropped > n);
}

static void say_backlog(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(
		out,
		"%s: %llu packets found a CPU's input queue full (net.core.netdev_max_backlog), "
		"all programs'",
		nd_name_of(s, s->side), NUMBER(s->side->machine.softnet_dropped));
}

static bool is_over_allowance(const struct nd_subject *s)
{
	return nd_some(s->side->machine.allowance_exceeded);
}

static void say_allowance(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_limit_row *l = s->side->machine.limits.v;
	bool first = true;
	uint64_t i;

	nd_str_addf(out,
		    "%s: the platform's allowance held packets back: ", nd_name_of(s, s->side));
	for (i = 0; i < s->side->machine.limits.n; i++) {
		if (!nd_some(l[i].count) || !strstr(l[i].name, "_allowance_exceeded"))
			continue;
		nd_str_addf(out, "%s%s +%llu", first ? "" : ", ", l[i].name, NUMBER(l[i].count));
		first = false;
	}
	nd_str_add(out, ": the result is the instance's limit, not the network's");
}

/* Transmit queues are chosen by the sender's CPUs: there one for all is no mistake. */
static bool is_one_queue(const struct nd_subject *s)
{
	const struct nd_machine *m = s->receiver ? &s->receiver->machine : NULL;

	return m && s->d->flows >= MANY_FLOWS && nd_known(m->rx_queues.queues) &&
	       m->rx_queues.queues > 1 && m->rx_queues.busiest_ratio >= ONE_QUEUE_RATIO &&
	       nd_some(m->window_nic_rx_packets) &&
	       (double)m->window_nic_rx_packets >= WORTH_PPS * m->seconds;
}

static void say_one_queue(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_machine *m = &s->receiver->machine;

	nd_str_addf(
		out,
		"%s: one of %llu receive queues of %s, number %llu, carried %s of the packets "
		"of %llu flows: its CPU is the limit (netdyno doctor looks at the hash; --spread "
		"chooses ports)",
		nd_name_of(s, s->receiver), NUMBER(m->rx_queues.queues),
		m->window_nic ? m->window_nic : "the interface", NUMBER(m->rx_queues.busiest),
		SHARE(m->rx_queues.busiest_ratio), NUMBER(s->d->flows));
}

/* One machine is told of once, by the larger share. */
static bool is_stolen(const struct nd_subject *s)
{
	const struct nd_side *other = s->side == s->r->client ? s->r->server : s->r->client;
	double ratio = s->side->machine.steal_ratio;

	return ratio > STEAL_RATIO &&
	       !(s->r->same_host && other && other->machine.steal_ratio > ratio);
}

static void say_steal(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out, "%s: the hypervisor took %s of the CPU time for other machines",
		    nd_name_of(s, s->side), SHARE(s->side->machine.steal_ratio));
}

/* Periods in which the quota of a control group was used up before their end. */
static bool is_throttled(const struct nd_subject *s)
{
	return nd_some(s->side->machine.cgroup_throttled_periods);
}

static void say_throttled(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_machine *m = &s->side->machine;

	nd_str_addf(out, "%s: the CPU quota of its control group was used up in %llu period%s",
		    nd_name_of(s, s->side), NUMBER(m->cgroup_throttled_periods),
		    TIMES(m->cgroup_throttled_periods));
	if (isfinite(m->cgroup_throttled_ms))
		nd_str_addf(out, ", CPUs stood still for %s in all",
			    FIGURE(m->cgroup_throttled_ms, ND_M_MS));
	nd_str_add(out, ": the quota may be what limits the result");
}

static bool conntrack_is_full(const struct nd_subject *s)
{
	const struct nd_machine *m = &s->side->machine;

	return nd_known(m->conntrack_count) && nd_some(m->conntrack_max) &&
	       (double)m->conntrack_count > CONNTRACK_RATIO * (double)m->conntrack_max;
}

static void say_conntrack(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_machine *m = &s->side->machine;

	nd_str_addf(out,
		    "%s: connection tracking holds %llu of at most %llu connections: packets of "
		    "new ones are dropped when it is full",
		    nd_name_of(s, s->side), NUMBER(m->conntrack_count), NUMBER(m->conntrack_max));
}

static uint64_t effective_sndbuf(const struct nd_subject *s)
{
	const struct nd_part *p = nd_result_part(s->sender, s->d->workload);

	return p ? p->sndbuf_bytes : ND_UNKNOWN;
}

static uint64_t effective_rcvbuf(const struct nd_subject *s)
{
	const struct nd_part *p = nd_result_part(s->receiver, s->d->workload);

	return p ? p->rcvbuf_bytes : ND_UNKNOWN;
}

static bool clamped(uint64_t asked, uint64_t effective)
{
	return nd_some(asked) && nd_known(effective) && asked > effective / LINUX_DOUBLES;
}

/* @max: of the system's setting, which may be unknown. */
struct buffer {
	const char *what, *setting;
	uint64_t asked, effective, max;
};

static void say_buffer(const char *name, const struct buffer *b, struct nd_str *out)
{
	nd_str_addf(out, "%s: a %s buffer of %s was asked for, the kernel gave %s (half of %s)",
		    name, b->what, SIZE(b->asked), SIZE((double)b->effective / LINUX_DOUBLES),
		    SIZE(b->effective));
	if (nd_known(b->max))
		nd_str_addf(out, "; %s is %s", b->setting, SIZE(b->max));
}

static bool sndbuf_is_clamped(const struct nd_subject *s)
{
	return clamped(s->r->asked_sndbuf_bytes, effective_sndbuf(s));
}

static void say_sndbuf(const struct nd_subject *s, struct nd_str *out)
{
	say_buffer(nd_name_of(s, s->sender),
		   &(struct buffer){ "send", "net.core.wmem_max", s->r->asked_sndbuf_bytes,
				     effective_sndbuf(s), s->sender->host.wmem_max_bytes },
		   out);
}

static bool rcvbuf_is_clamped(const struct nd_subject *s)
{
	return clamped(s->r->asked_rcvbuf_bytes, effective_rcvbuf(s));
}

static void say_rcvbuf(const struct nd_subject *s, struct nd_str *out)
{
	say_buffer(nd_name_of(s, s->receiver),
		   &(struct buffer){ "receive", "net.core.rmem_max", s->r->asked_rcvbuf_bytes,
				     effective_rcvbuf(s), s->receiver->host.rmem_max_bytes },
		   out);
}

static bool is_fragmented(const struct nd_subject *s)
{
	return nd_some(s->side->machine.ip_frag_creates);
}

static void say_fragments(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "%s: %llu IP fragments were sent: packets were larger than the path carries",
		    nd_name_of(s, s->side), NUMBER(s->side->machine.ip_frag_creates));
}

/* Most important first. */
/* clang-format off */
const struct nd_warn_row nd_warn_limits[] = {
	{ "sender_cpu_bound",     ABOUT_DIRECTION, sender_is_bound,        say_sender_bound },
	{ "receiver_cpu_bound",   ABOUT_DIRECTION, receiver_is_bound,      say_receiver_bound },
	{ "receive_buffer_drops", ABOUT_DIRECTION, receive_buffer_dropped, say_receive_buffer },
	{ "qdisc_drops",          ABOUT_SIDE,      qdisc_dropped,          say_qdisc },
	{ "backlog_drops",        ABOUT_SIDE,      backlog_dropped,        say_backlog },
	{ "allowance_exceeded",   ABOUT_SIDE,      is_over_allowance,      say_allowance },
	{ "one_queue",            ABOUT_DIRECTION, is_one_queue,           say_one_queue },
	{ NULL, ABOUT_RESULT, NULL, NULL }
};

const struct nd_warn_row nd_warn_host[] = {
	{ "steal",                ABOUT_SIDE,      is_stolen,              say_steal },
	{ "cgroup_throttled",     ABOUT_SIDE,      is_throttled,           say_throttled },
	{ "conntrack_full",       ABOUT_SIDE,      conntrack_is_full,      say_conntrack },
	{ "buffers_clamped",      ABOUT_DIRECTION, sndbuf_is_clamped,      say_sndbuf },
	{ "buffers_clamped",      ABOUT_DIRECTION, rcvbuf_is_clamped,      say_rcvbuf },
	{ "fragments",            ABOUT_SIDE,      is_fragmented,          say_fragments },
	{ NULL, ABOUT_RESULT, NULL, NULL }
};
/* clang-format on */
