/* SPDX-License-Identifier: MIT */
/*
 * What spoils, or may spoil, a result.
 * To add a warning: a condition, a sentence with the figures in it, one row in warnings[].
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "result/int.h"
#include "result/scale.h"

#define BUSY_RATIO      0.95
#define STEAL_RATIO     0.02
#define SKEW_RATIO      0.01 /* of the window */
#define WINDOW_RATIO    0.01 /* true length against the one asked for */
#define LOSS_RATIO      0.01
#define MISSED_RATIO    0.02 /* of the asked rate */
#define CLOCK_RTT_US    10000.0
#define CONNTRACK_RATIO 0.9
#define NEAR_40MS_RATIO 0.01
#define ACK_RTT_US      20000.0 /* where round trips are as long as that anyway, 40 ms say nothing */
#define HELD_RATIO      0.5     /* of the time in which a stream had something to send */
#define ONE_QUEUE_RATIO 0.9
#define MANY_FLOWS      4u
#define WORTH_PPS       1000.0 /* packets/s; fewer say nothing of a queue */
#define LATE_RATIO      0.1    /* of the median response time */
#define LINUX_DOUBLES   2u     /* SO_SNDBUF and SO_RCVBUF: half is for bookkeeping */
#define TIMES(n)        ((n) == 1 ? "" : "s")
#define NUMBER(n)       ((unsigned long long)(n))
#define FIGURE(v, m)    (figure_of((v), (m)).text) /* lives until the end of the expression */
#define RATE(v)         FIGURE(v, ND_M_BITRATE)
#define SHARE(v)        FIGURE(v, ND_M_RATIO)
#define SIZE(n)         FIGURE((double)(n), ND_M_BYTES)

/* What a row looks at. Sides of a direction are NULL when not told. */
struct subject {
	struct nd_result *r; /* rows only read it */
	const struct nd_direction *d;
	const struct nd_side *sender, *receiver; /* of d */
	const struct nd_side *side;              /* ABOUT_SIDE: never NULL */
};

enum about { ABOUT_RESULT, ABOUT_DIRECTION, ABOUT_SIDE };

struct row {
	const char *key;
	enum about about;
	bool (*holds)(const struct subject *s);
	void (*say)(const struct subject *s, struct nd_str *out);
};

/* A figure as the text report has it, for a sentence. */
struct figure {
	char text[32];
};

static struct figure figure_of(double value, enum nd_measure m)
{
	struct figure ret = { 0 };
	nd_auto_str text = { 0 };

	nd_scaled_text(&text, value, m);
	(void)snprintf(ret.text, sizeof(ret.text), "%s", nd_str_text(&text)); /* fits */
	return ret;
}

static bool some(uint64_t v)
{
	return nd_known(v) && v > 0;
}

/* Both ends of one machine are one subject. */
static const char *name_of(const struct subject *s, const struct nd_side *side)
{
	return s->r->same_host ? "this machine" : side == s->r->client ? "client" : "server";
}

static bool is_partial(const struct subject *s)
{
	return s->r->partial;
}

static void say_partial(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out, "this result is partial: %s",
		    s->r->partial_reason ? s->r->partial_reason : "the run was cut short");
}

static bool is_same_host(const struct subject *s)
{
	return s->r->same_host;
}

static void say_same_host(const struct subject *s, struct nd_str *out)
{
	const char *host = s->r->client ? s->r->client->host.hostname : NULL;

	nd_str_addf(out, "both ends ran on the same host%s%s: not a network result",
		    host ? " " : "", host ? host : "");
}

static bool is_loopback(const struct subject *s)
{
	/* one host says as much already */
	return s->side->nic_facts.is_loopback && !s->r->same_host;
}

static void say_loopback(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out, "%s: traffic went through the loopback interface %s: no network was used",
		    name_of(s, s->side), s->side->nic_facts.name ? s->side->nic_facts.name : "");
}

static bool bound(const struct nd_side *side)
{
	return side && side->machine.busiest_ratio >= BUSY_RATIO;
}

static void say_bound(const struct subject *s, const struct nd_side *side, struct nd_str *out)
{
	const struct nd_machine *m = &side->machine;

	nd_str_addf(out, "%s: CPU %llu was %s busy", name_of(s, side), NUMBER(m->busiest_cpu),
		    SHARE(m->busiest_ratio));
	if (!isnan(m->busiest_softirq_ratio))
		nd_str_addf(out, " (irq and softirq %s)", SHARE(m->busiest_softirq_ratio));
	nd_str_add(out, ": one core may be what limits the result");
}

static bool sender_is_bound(const struct subject *s)
{
	return bound(s->sender);
}

static void say_sender_bound(const struct subject *s, struct nd_str *out)
{
	say_bound(s, s->sender, out);
}

/* One machine is told of once. */
static bool receiver_is_bound(const struct subject *s)
{
	return bound(s->receiver) && !(s->r->same_host && bound(s->sender));
}

static void say_receiver_bound(const struct subject *s, struct nd_str *out)
{
	say_bound(s, s->receiver, out);
}

static uint64_t effective_sndbuf(const struct subject *s)
{
	const struct nd_part *p = nd_result_part(s->sender, s->d->workload);

	return p ? p->sndbuf_bytes : ND_UNKNOWN;
}

static uint64_t effective_rcvbuf(const struct subject *s)
{
	const struct nd_part *p = nd_result_part(s->receiver, s->d->workload);

	return p ? p->rcvbuf_bytes : ND_UNKNOWN;
}

static bool clamped(uint64_t asked, uint64_t effective)
{
	return some(asked) && nd_known(effective) && asked > effective / LINUX_DOUBLES;
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

static bool sndbuf_is_clamped(const struct subject *s)
{
	return clamped(s->r->asked_sndbuf_bytes, effective_sndbuf(s));
}

static void say_sndbuf(const struct subject *s, struct nd_str *out)
{
	say_buffer(name_of(s, s->sender),
		   &(struct buffer){ "send", "net.core.wmem_max", s->r->asked_sndbuf_bytes,
				     effective_sndbuf(s), s->sender->host.wmem_max_bytes },
		   out);
}

static bool rcvbuf_is_clamped(const struct subject *s)
{
	return clamped(s->r->asked_rcvbuf_bytes, effective_rcvbuf(s));
}

static void say_rcvbuf(const struct subject *s, struct nd_str *out)
{
	say_buffer(name_of(s, s->receiver),
		   &(struct buffer){ "receive", "net.core.rmem_max", s->r->asked_rcvbuf_bytes,
				     effective_rcvbuf(s), s->receiver->host.rmem_max_bytes },
		   out);
}

static bool qdisc_dropped(const struct subject *s)
{
	return some(s->side->machine.qdisc_drops);
}

static void say_qdisc(const struct subject *s, struct nd_str *out)
{
	const struct nd_side *side = s->side;

	nd_str_addf(out, "%s: the queueing discipline of %s dropped %llu packet%s before the wire",
		    name_of(s, side), side->machine.nic ? side->machine.nic : "its interface",
		    NUMBER(side->machine.qdisc_drops), TIMES(side->machine.qdisc_drops));
}

static bool receive_buffer_dropped(const struct subject *s)
{
	return s->d->datagram && s->receiver && some(s->receiver->machine.udp_rcvbuf_errors);
}

static void say_receive_buffer(const struct subject *s, struct nd_str *out)
{
	uint64_t n = s->receiver->machine.udp_rcvbuf_errors;

	nd_str_addf(out,
		    "%s: %llu datagram%s came but found the receive buffer full: lost in the "
		    "receiver, not in the network",
		    name_of(s, s->receiver), NUMBER(n), TIMES(n));
}

static bool is_skewed(const struct subject *s)
{
	return s->d->start_skew_ms / 1e3 > SKEW_RATIO * s->d->window_s;
}

static void say_skew(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out, "%s: flows started up to %s apart, %s of the measured window", s->d->label,
		    FIGURE(s->d->start_skew_ms, ND_M_MS),
		    SHARE(s->d->start_skew_ms / 1e3 / s->d->window_s));
}

static bool is_stolen(const struct subject *s)
{
	return s->side->machine.steal_ratio > STEAL_RATIO;
}

static void say_steal(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out, "%s: the hypervisor took %s of the CPU time for other machines",
		    name_of(s, s->side), SHARE(s->side->machine.steal_ratio));
}

static bool is_unsteady(const struct subject *s)
{
	return s->d->steady < 0.5;
}

static void say_unsteady(const struct subject *s, struct nd_str *out)
{
	const struct nd_interval_joint *row = s->d->intervals.v;
	double low = (double)INFINITY, high = 0;
	uint64_t i;

	nd_str_addf(out, "%s: no steady state", s->d->label);
	for (i = 0; i < s->d->intervals.n; i++) {
		double v = row[i].goodput_bps;

		if (!row[i].phase || strcmp(row[i].phase, "measure") != 0 || isnan(v))
			continue;
		low = ND_MIN(low, v);
		high = ND_MAX(high, v);
	}
	if (!s->d->transactional && low <= high)
		nd_str_addf(out, ": intervals range from %s to %s", RATE(low), RATE(high));
	nd_str_add(out, "; the mean is of little meaning, run longer");
}

static bool is_overlapped(const struct subject *s)
{
	return some(s->side->overlapped_tests);
}

static void say_overlapped(const struct subject *s, struct nd_str *out)
{
	uint64_t n = s->side->overlapped_tests;

	nd_str_addf(out, "%s: %llu other test%s ran at the same time", name_of(s, s->side),
		    NUMBER(n), TIMES(n));
}

static bool window_is_off(const struct subject *s)
{
	return fabs(s->d->window_s - s->d->asked_window_s) > WINDOW_RATIO * s->d->asked_window_s;
}

static void say_window(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out, "%s: the measured window was %s long, asked were %s", s->d->label,
		    FIGURE(s->d->window_s, ND_M_S), FIGURE(s->d->asked_window_s, ND_M_S));
}

static bool flows_failed(const struct subject *s)
{
	return some(s->d->failed_flows);
}

static void say_failed(const struct subject *s, struct nd_str *out)
{
	const struct nd_flow_joint *row = s->d->flow_rows.v;
	uint64_t i;

	nd_str_addf(out, "%s: %llu of %llu flow%s ended early", s->d->label,
		    NUMBER(s->d->failed_flows), NUMBER(s->d->flows), TIMES(s->d->flows));
	for (i = 0; i < s->d->flow_rows.n; i++)
		if (row[i].error) {
			nd_str_addf(out, "; flow %llu: %s", NUMBER(row[i].flow), row[i].error);
			break;
		}
}

static bool drain_is_incomplete(const struct subject *s)
{
	return !s->d->datagram && !s->d->agreed && nd_known(s->d->total_sent_bytes) &&
	       nd_known(s->d->total_received_bytes);
}

static void say_drain(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "%s: the ends disagree: %llu bytes sent, %llu received; the rest was still "
		    "under way when the run ended",
		    s->d->label, NUMBER(s->d->total_sent_bytes),
		    NUMBER(s->d->total_received_bytes));
}

static bool clock_is_uncertain(const struct subject *s)
{
	return s->r->clock_rtt_us > CLOCK_RTT_US;
}

static void say_clock(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "the best of the clock exchanges took %s: the common start may be off by %s",
		    FIGURE(s->r->clock_rtt_us, ND_M_US), FIGURE(s->r->clock_rtt_us / 2, ND_M_US));
}

static bool is_unlimited(const struct subject *s)
{
	const struct nd_direction *d = s->d;

	return d->datagram && !d->transactional && d->asked_rate_bps == 0 &&
	       d->asked_rate_ops == 0 && d->loss.lost_ratio > LOSS_RATIO;
}

static void say_unlimited(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "%s: the sender's rate was not limited and %s was lost: a rate that the "
		    "receiver can take says more (-b)",
		    s->d->label, SHARE(s->d->loss.lost_ratio));
}

/* Messages per second that the sender came to. */
static double offered_ops(const struct nd_direction *d)
{
	if (d->transactional)
		return d->transactions_per_s;
	if (!isnan(d->packets.sent_per_s))
		return d->packets.sent_per_s;
	return some(d->message_bytes) ? d->offered_bps / 8 / (double)d->message_bytes : (double)NAN;
}

static bool missed(double offered, uint64_t asked)
{
	return some(asked) && offered < (1 - MISSED_RATIO) * (double)asked;
}

static bool bytes_are_missing(const struct subject *s)
{
	return s->d->asked_bytes > 0 && nd_known(s->d->total_sent_bytes) &&
	       s->d->total_sent_bytes < s->d->asked_bytes;
}

static void say_missing(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "%s: %llu of the %llu bytes that were asked for were sent when the test ended",
		    s->d->label, NUMBER(s->d->total_sent_bytes), NUMBER(s->d->asked_bytes));
}

static bool rate_is_missed(const struct subject *s)
{
	return missed(s->d->offered_bps, s->d->asked_rate_bps) ||
	       missed(offered_ops(s->d), s->d->asked_rate_ops);
}

static void say_missed(const struct subject *s, struct nd_str *out)
{
	const struct nd_direction *d = s->d;

	if (missed(d->offered_bps, d->asked_rate_bps))
		nd_str_addf(out, "%s: %s were asked for, the sender came to %s", d->label,
			    RATE((double)d->asked_rate_bps), RATE(d->offered_bps));
	else
		nd_str_addf(out, "%s: %s messages were asked for, the sender came to %s", d->label,
			    FIGURE((double)d->asked_rate_ops, ND_M_RATE),
			    FIGURE(offered_ops(d), ND_M_RATE));
	nd_str_add(out,
		   ": its CPU or what it sends to held it back, and a stall is not made up for");
}

static bool is_null(const struct nd_side *side, uint64_t workload)
{
	const struct nd_part *p = nd_result_part(side, workload);

	return p && p->engine && !strcmp(p->engine, "null");
}

static bool nothing_moved(const struct subject *s)
{
	return is_null(s->sender, s->d->workload) || is_null(s->receiver, s->d->workload);
}

static void say_nothing_moved(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "%s: engine null moves nothing: the figures are what the program itself costs",
		    s->d->label);
}

static bool is_one_of(const char *name, const char *a, const char *b)
{
	return name && (!strcmp(name, a) || !strcmp(name, b));
}

/* Payload that no program has written, or read. */
static bool sends_pages(const struct subject *s)
{
	const struct nd_part *p = nd_result_part(s->sender, s->d->workload);

	return p && is_one_of(p->tx_technique, "splice", "sendfile");
}

static bool drops_payload(const struct subject *s)
{
	const struct nd_part *p = nd_result_part(s->receiver, s->d->workload);

	return p && !s->d->datagram && is_one_of(p->rx_technique, "splice", "trunc");
}

static bool is_uncopied(const struct subject *s)
{
	return sends_pages(s) || drops_payload(s);
}

static void say_uncopied(const struct subject *s, struct nd_str *out)
{
	const char *where = !drops_payload(s) ? "at the sender"
			    : sends_pages(s)  ? "at either end"
					      : "at the receiver";

	nd_str_addf(out, "%s: no copy %s: measures the stack, not an application", s->d->label,
		    where);
}

/* Sends that were to be without a copy, and were not. */
static bool is_copied(const struct subject *s)
{
	const struct nd_part *p = nd_result_part(s->sender, s->d->workload);

	return p && some(p->run.tx_zerocopy) && some(p->run.tx_copied);
}

static void say_copied(const struct subject *s, struct nd_str *out)
{
	const struct nd_totals *c = &nd_result_part(s->sender, s->d->workload)->run;

	nd_str_addf(
		out,
		"%s: of %llu sends without a copy the kernel copied %llu after all: on this way "
		"it costs more than it saves",
		s->d->label, NUMBER(c->tx_zerocopy), NUMBER(c->tx_copied));
}

static uint64_t corrupt_bytes(const struct subject *s)
{
	const struct nd_part *p = nd_result_part(s->receiver, s->d->workload);

	return p ? p->run.rx_corrupt : ND_UNKNOWN;
}

static bool is_corrupt(const struct subject *s)
{
	return some(corrupt_bytes(s));
}

static void say_corrupt(const struct subject *s, struct nd_str *out)
{
	uint64_t n = corrupt_bytes(s);

	nd_str_addf(out, "%s: %llu byte%s differ from what was sent", s->d->label, NUMBER(n),
		    TIMES(n));
}

static bool is_fragmented(const struct subject *s)
{
	return some(s->side->machine.ip_frag_creates);
}

static void say_fragments(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "%s: %llu IP fragments were sent: packets were larger than the path carries",
		    name_of(s, s->side), NUMBER(s->side->machine.ip_frag_creates));
}

/* Periods in which the quota of a control group was used up before their end. */
static bool is_throttled(const struct subject *s)
{
	return some(s->side->machine.cgroup_throttled_periods);
}

static void say_throttled(const struct subject *s, struct nd_str *out)
{
	const struct nd_machine *m = &s->side->machine;

	nd_str_addf(out, "%s: the CPU quota of its control group was used up in %llu period%s",
		    name_of(s, s->side), NUMBER(m->cgroup_throttled_periods),
		    TIMES(m->cgroup_throttled_periods));
	if (isfinite(m->cgroup_throttled_ms))
		nd_str_addf(out, ", CPUs stood still for %s in all",
			    FIGURE(m->cgroup_throttled_ms, ND_M_MS));
	nd_str_add(out, ": the quota may be what limits the result");
}

static bool conntrack_is_full(const struct subject *s)
{
	const struct nd_machine *m = &s->side->machine;

	return nd_known(m->conntrack_count) && some(m->conntrack_max) &&
	       (double)m->conntrack_count > CONNTRACK_RATIO * (double)m->conntrack_max;
}

static void say_conntrack(const struct subject *s, struct nd_str *out)
{
	const struct nd_machine *m = &s->side->machine;

	nd_str_addf(out,
		    "%s: connection tracking holds %llu of at most %llu connections: packets of "
		    "new ones are dropped when it is full",
		    name_of(s, s->side), NUMBER(m->conntrack_count), NUMBER(m->conntrack_max));
}

static bool is_delayed_ack(const struct subject *s)
{
	const struct nd_latency *l = s->d->latency;

	return l && !s->d->datagram && !some(l->opened.count) &&
	       l->near_40ms_ratio >= NEAR_40MS_RATIO && l->service.min_us < ACK_RTT_US;
}

static void say_delayed_ack(const struct subject *s, struct nd_str *out)
{
	const struct nd_part *p = nd_result_part(s->sender, s->d->workload);

	nd_str_addf(out,
		    "%s: %s of the round trips took 39 to 41 ms: delayed ACKs, which meet Nagle's "
		    "algorithm",
		    s->d->label, SHARE(s->d->latency->near_40ms_ratio));
	if (p)
		nd_str_addf(out, " (TCP_NODELAY was %s)", p->nodelay ? "on" : "off");
}

/* Threads that never wait, against the CPUs they may use; both ends of one machine share them. */
static bool has_spinners(const struct subject *s)
{
	const struct nd_latency *l = s->d->latency;
	uint64_t n = l && l->spinners != ND_UNKNOWN ? l->spinners : 0;

	if (!s->sender || !some(s->sender->host.cpus_allowed))
		return false;
	if (n > 0 && s->r->same_host && s->receiver)
		n += s->receiver->threads;
	return n > s->sender->host.cpus_allowed;
}

static void say_spinners(const struct subject *s, struct nd_str *out)
{
	uint64_t n = s->d->latency->spinners;

	if (s->r->same_host && s->receiver)
		n += s->receiver->threads;
	nd_str_addf(
		out,
		"%s: %llu threads spin on %llu CPU%s: they take the CPU from each other, and the "
		"times are those of the scheduler",
		name_of(s, s->sender), NUMBER(n), NUMBER(s->sender->host.cpus_allowed),
		TIMES(s->sender->host.cpus_allowed));
}

static double quantile_us(const struct nd_times *t, double ratio)
{
	const struct nd_quantile_row *q = t->quantiles.v;
	uint64_t i;

	for (i = 0; i < t->quantiles.n; i++)
		if (q[i].ratio >= ratio)
			return q[i].us;
	return (double)NAN;
}

static bool is_late(const struct subject *s)
{
	const struct nd_latency *l = s->d->latency;

	return l && l->open_loop &&
	       quantile_us(&l->late, 0.99) > LATE_RATIO * quantile_us(&l->response, 0.99);
}

static void say_late(const struct subject *s, struct nd_str *out)
{
	const struct nd_latency *l = s->d->latency;

	nd_str_addf(out,
		    "%s: this program sent late by %s at p99, which is part of the response times' "
		    "%s: --spin sends in time where a CPU is free",
		    s->d->label, FIGURE(quantile_us(&l->late, 0.99), ND_M_US),
		    FIGURE(quantile_us(&l->response, 0.99), ND_M_US));
}

static bool answers_are_missing(const struct subject *s)
{
	return s->d->latency && some(s->d->latency->lost);
}

static void say_no_answer(const struct subject *s, struct nd_str *out)
{
	const struct nd_latency *l = s->d->latency;

	nd_str_addf(out,
		    "%s: %llu request%s (%s) had no answer within one second: they are in no "
		    "percentile",
		    s->d->label, NUMBER(l->lost), TIMES(l->lost), SHARE(l->lost_ratio));
}

static bool has_no_port(const struct subject *s)
{
	return s->d->latency && some(s->d->latency->no_port);
}

static void say_no_port(const struct subject *s, struct nd_str *out)
{
	const struct nd_latency *l = s->d->latency;

	nd_str_addf(
		out,
		"%s: %llu attempt%s to connect found no free source port (EADDRNOTAVAIL): -B with "
		"several addresses has more, so has a wider net.ipv4.ip_local_port_range",
		s->d->label, NUMBER(l->no_port), TIMES(l->no_port));
}

/* Counters of all programs: what they say is only of interest where the test itself connects all the time. */
static bool connects(const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;
	uint64_t i;

	for (i = 0; i < r->directions.n; i++)
		if (d[i].latency && some(d[i].latency->opened.count))
			return true;
	return false;
}

static bool listener_dropped(const struct subject *s)
{
	return connects(s->r) && (some(s->side->machine.tcp_listen_overflows) ||
				  some(s->side->machine.tcp_listen_drops));
}

static void say_listener(const struct subject *s, struct nd_str *out)
{
	const struct nd_machine *m = &s->side->machine;

	nd_str_addf(
		out,
		"%s: its queue of new connections was full (ListenOverflows %llu, ListenDrops %llu): "
		"those are asked for again after a second or more; net.core.somaxconn limits the "
		"queue",
		name_of(s, s->side),
		NUMBER(nd_known(m->tcp_listen_overflows) ? m->tcp_listen_overflows : 0),
		NUMBER(nd_known(m->tcp_listen_drops) ? m->tcp_listen_drops : 0));
}

static bool asked_again(const struct subject *s)
{
	return connects(s->r) && some(s->side->machine.window_tcp_syn_retrans);
}

static void say_asked_again(const struct subject *s, struct nd_str *out)
{
	uint64_t n = s->side->machine.window_tcp_syn_retrans;

	nd_str_addf(
		out,
		"%s: %llu SYN%s sent again in the window: such a connection took a second or more "
		"longer",
		name_of(s, s->side), NUMBER(n), n == 1 ? " was" : "s were");
}

static uint64_t without_stamps(const struct nd_parted *k)
{
	return k->no_send_stamp + k->no_receive_stamp + k->odd;
}

static bool stamps_are_missing(const struct subject *s)
{
	const struct nd_parted *k = s->d->latency ? s->d->latency->kernel : NULL;

	return k && (k->missing || (double)without_stamps(k) >
					   MISSED_RATIO * (double)(k->stamped + without_stamps(k)));
}

static void say_stamps(const struct subject *s, struct nd_str *out)
{
	const struct nd_parted *k = s->d->latency->kernel;

	nd_str_addf(out, "%s: ", s->d->label);
	if (k->missing)
		nd_str_addf(out, "there is no kernel's view of the times: %s", k->missing);
	else
		nd_str_addf(
			out,
			"%llu of %llu answers lack a stamp of the kernel and are not in its view of "
			"the times: TCP may put several requests, or the end of one, into a packet "
			"that has none",
			NUMBER(without_stamps(k)), NUMBER(k->stamped + without_stamps(k)));
}

/* ---- times beside a load */

static const struct nd_direction *first_load(const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;

	return r->loaded && r->directions.n > 1 ? &d[1] : NULL;
}

static bool load_stood_still(const struct subject *s)
{
	return first_load(s->r) && !(s->r->loaded->load_goodput_bps > 0);
}

static void say_still(const struct subject *s, struct nd_str *out)
{
	(void)s; /* there is no figure */
	nd_str_add(out,
		   "nothing of the load is known to have come: the times under load are those of "
		   "an idle path");
}

/* A stream that its ends hold back does not fill the queues on the way. */
static bool is_held_back(const struct subject *s)
{
	const struct nd_direction *d = s->d;

	return s->r->loaded && !d->transactional && !d->datagram && d->asked_rate_bps == 0 &&
	       (d->tcp.rwnd_limited_ratio > HELD_RATIO || d->tcp.sndbuf_limited_ratio > HELD_RATIO);
}

static void say_held_back(const struct subject *s, struct nd_str *out)
{
	bool window = s->d->tcp.rwnd_limited_ratio > HELD_RATIO;

	nd_str_addf(
		out,
		"%s: for %s of the time the load waited for the %s, not for the path: it may not "
		"have filled its queues, --load with more flows does",
		s->d->label,
		SHARE(window ? s->d->tcp.rwnd_limited_ratio : s->d->tcp.sndbuf_limited_ratio),
		window ? "receiver's window" : "sender's buffer");
}

static bool load_took_cpu(const struct subject *s)
{
	return first_load(s->r) && (bound(s->r->client) || bound(s->r->server));
}

static void say_load_cpu(const struct subject *s, struct nd_str *out)
{
	const struct nd_side *side = bound(s->r->client) ? s->r->client : s->r->server;

	nd_str_addf(
		out,
		"%s: under load CPU %llu was %s busy: what the load adds to the times may be the "
		"machine's rather than the path's",
		name_of(s, side), NUMBER(side->machine.busiest_cpu),
		SHARE(side->machine.busiest_ratio));
}

/* Transmit queues are chosen by the sender's CPUs: there one for all is no mistake. */
static bool is_one_queue(const struct subject *s)
{
	const struct nd_machine *m = s->receiver ? &s->receiver->machine : NULL;

	return m && s->d->flows >= MANY_FLOWS && nd_known(m->rx_queues.queues) &&
	       m->rx_queues.queues > 1 && m->rx_queues.busiest_ratio >= ONE_QUEUE_RATIO &&
	       some(m->window_nic_rx_packets) &&
	       (double)m->window_nic_rx_packets >= WORTH_PPS * m->seconds;
}

static void say_one_queue(const struct subject *s, struct nd_str *out)
{
	const struct nd_machine *m = &s->receiver->machine;

	nd_str_addf(
		out,
		"%s: one of %llu receive queues of %s, number %llu, carried %s of the packets "
		"of %llu flows: its CPU is the limit (netdyno doctor looks at the hash; --spread "
		"chooses ports)",
		name_of(s, s->receiver), NUMBER(m->rx_queues.queues),
		m->window_nic ? m->window_nic : "the interface", NUMBER(m->rx_queues.busiest),
		SHARE(m->rx_queues.busiest_ratio), NUMBER(s->d->flows));
}

static bool is_over_allowance(const struct subject *s)
{
	return some(s->side->machine.allowance_exceeded);
}

static void say_allowance(const struct subject *s, struct nd_str *out)
{
	const struct nd_limit_row *l = s->side->machine.limits.v;
	bool first = true;
	uint64_t i;

	nd_str_addf(out, "%s: the platform's allowance held packets back: ", name_of(s, s->side));
	for (i = 0; i < s->side->machine.limits.n; i++) {
		if (!some(l[i].count) || !strstr(l[i].name, "_allowance_exceeded"))
			continue;
		nd_str_addf(out, "%s%s +%llu", first ? "" : ", ", l[i].name, NUMBER(l[i].count));
		first = false;
	}
	nd_str_add(out, ": the result is the instance's limit, not the network's");
}

static bool backlog_dropped(const struct subject *s)
{
	return some(s->side->machine.softnet_dropped);
}

static void say_backlog(const struct subject *s, struct nd_str *out)
{
	nd_str_addf(
		out,
		"%s: %llu packets found a CPU's input queue full (net.core.netdev_max_backlog), "
		"all programs'",
		name_of(s, s->side), NUMBER(s->side->machine.softnet_dropped));
}

/* Most important first. */
/* clang-format off */
static const struct row warnings[] = {
	{ "partial",              ABOUT_RESULT,    is_partial,             say_partial },
	{ "same_host",            ABOUT_RESULT,    is_same_host,           say_same_host },
	{ "loopback",             ABOUT_SIDE,      is_loopback,            say_loopback },
	{ "nothing_moved",        ABOUT_DIRECTION, nothing_moved,          say_nothing_moved },
	{ "no_copy",              ABOUT_DIRECTION, is_uncopied,            say_uncopied },
	{ "copied",               ABOUT_DIRECTION, is_copied,              say_copied },
	{ "corrupt",              ABOUT_DIRECTION, is_corrupt,             say_corrupt },
	{ "failed_flows",         ABOUT_DIRECTION, flows_failed,           say_failed },
	{ "overlapped",           ABOUT_SIDE,      is_overlapped,          say_overlapped },
	{ "sender_cpu_bound",     ABOUT_DIRECTION, sender_is_bound,        say_sender_bound },
	{ "receiver_cpu_bound",   ABOUT_DIRECTION, receiver_is_bound,      say_receiver_bound },
	{ "receive_buffer_drops", ABOUT_DIRECTION, receive_buffer_dropped, say_receive_buffer },
	{ "qdisc_drops",          ABOUT_SIDE,      qdisc_dropped,          say_qdisc },
	{ "backlog_drops",        ABOUT_SIDE,      backlog_dropped,        say_backlog },
	{ "allowance_exceeded",   ABOUT_SIDE,      is_over_allowance,      say_allowance },
	{ "one_queue",            ABOUT_DIRECTION, is_one_queue,           say_one_queue },
	{ "udp_unlimited",        ABOUT_DIRECTION, is_unlimited,           say_unlimited },
	{ "bytes_missed",         ABOUT_DIRECTION, bytes_are_missing,      say_missing },
	{ "rate_missed",          ABOUT_DIRECTION, rate_is_missed,         say_missed },
	{ "load_still",           ABOUT_RESULT,    load_stood_still,       say_still },
	{ "load_cpu_bound",       ABOUT_RESULT,    load_took_cpu,          say_load_cpu },
	{ "load_held_back",       ABOUT_DIRECTION, is_held_back,           say_held_back },
	{ "spinners",             ABOUT_DIRECTION, has_spinners,           say_spinners },
	{ "no_answer",            ABOUT_DIRECTION, answers_are_missing,    say_no_answer },
	{ "no_source_port",       ABOUT_DIRECTION, has_no_port,            say_no_port },
	{ "listen_queue_full",    ABOUT_SIDE,      listener_dropped,       say_listener },
	{ "syn_retransmits",      ABOUT_SIDE,      asked_again,            say_asked_again },
	{ "stamps_missing",       ABOUT_DIRECTION, stamps_are_missing,     say_stamps },
	{ "delayed_ack",          ABOUT_DIRECTION, is_delayed_ack,         say_delayed_ack },
	{ "sent_late",            ABOUT_DIRECTION, is_late,                say_late },
	{ "no_steady_state",      ABOUT_DIRECTION, is_unsteady,            say_unsteady },
	{ "window_off",           ABOUT_DIRECTION, window_is_off,          say_window },
	{ "drain_incomplete",     ABOUT_DIRECTION, drain_is_incomplete,    say_drain },
	{ "start_skew",           ABOUT_DIRECTION, is_skewed,              say_skew },
	{ "clock_uncertain",      ABOUT_RESULT,    clock_is_uncertain,     say_clock },
	{ "steal",                ABOUT_SIDE,      is_stolen,              say_steal },
	{ "cgroup_throttled",     ABOUT_SIDE,      is_throttled,           say_throttled },
	{ "conntrack_full",       ABOUT_SIDE,      conntrack_is_full,      say_conntrack },
	{ "buffers_clamped",      ABOUT_DIRECTION, sndbuf_is_clamped,      say_sndbuf },
	{ "buffers_clamped",      ABOUT_DIRECTION, rcvbuf_is_clamped,      say_rcvbuf },
	{ "fragments",            ABOUT_SIDE,      is_fragmented,          say_fragments },
};

/* clang-format on */

/* Both directions, and both ends of one machine, may have the same to say: once. */
static bool said(const struct nd_warning *v, uint64_t n, const char *sentence)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(v[i].sentence, sentence))
			return true;
	return false;
}

static int judge(const struct row *row, const struct subject *s)
{
	struct nd_list *list = &s->r->warnings;
	struct nd_warning *v = list->v;
	nd_auto_str text = { 0 };

	if (!row->holds(s))
		return 0;
	row->say(s, &text);
	if (!nd_str_ok(&text))
		return -ENOMEM;
	if (said(v, list->n, nd_str_text(&text)))
		return 0;
	v[list->n].key = row->key;
	v[list->n].sentence = nd_arena_dup(&s->r->arena, nd_str_text(&text));
	if (!v[list->n].sentence)
		return -ENOMEM;
	list->n++;
	return 0;
}

static int judge_directions(const struct row *row, struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;
	uint64_t i;
	int e = 0;

	for (i = 0; e == 0 && i < r->directions.n; i++)
		e = judge(row, &(struct subject){ .r = r,
						  .d = &d[i],
						  .sender = nd_result_sender(r, &d[i]),
						  .receiver = nd_result_receiver(r, &d[i]) });
	return e;
}

static int judge_sides(const struct row *row, struct nd_result *r)
{
	const struct nd_side *side[] = { r->client, r->server };
	size_t i;
	int e = 0;

	for (i = 0; e == 0 && i < ND_COUNTOF(side); i++)
		if (side[i])
			e = judge(row, &(struct subject){ .r = r, .side = side[i] });
	return e;
}

int nd_result_warn(struct nd_result *r)
{
	uint64_t subjects = ND_MAX(r->directions.n, 2);
	size_t i;
	int e;

	e = nd_list_new(&r->arena, &r->warnings, ND_COUNTOF(warnings) * subjects,
			sizeof(struct nd_warning));
	r->warnings.n = 0;
	for (i = 0; e == 0 && i < ND_COUNTOF(warnings); i++) {
		switch (warnings[i].about) {
		case ABOUT_RESULT:
			e = judge(&warnings[i], &(struct subject){ .r = r });
			break;
		case ABOUT_DIRECTION:
			e = judge_directions(&warnings[i], r);
			break;
		case ABOUT_SIDE:
			e = judge_sides(&warnings[i], r);
			break;
		}
	}
	return e;
}
