/* SPDX-License-Identifier: MIT */
/* What warnings say of requests, their times, and connections. */
#include <math.h>

#include "result/warn.h"

#define NEAR_40MS_RATIO 0.01
#define ACK_RTT_US      20000.0 /* where round trips are as long as that anyway, 40 ms say nothing */
#define LATE_RATIO      0.1     /* of the median response time */
#define UNSTAMPED_RATIO 0.02    /* of the answers */

/* Threads that never wait, against the CPUs they may use; both ends of one machine share them. */
static bool has_spinners(const struct nd_subject *s)
{
	const struct nd_latency *l = s->d->latency;
	uint64_t n = l && l->spinners != ND_UNKNOWN ? l->spinners : 0;

	if (!s->sender || !nd_some(s->sender->host.cpus_allowed))
		return false;
	if (n > 0 && s->r->same_host && s->receiver)
		n += s->receiver->threads;
	return n > s->sender->host.cpus_allowed;
}

static void say_spinners(const struct nd_subject *s, struct nd_str *out)
{
	uint64_t n = s->d->latency->spinners;

	if (s->r->same_host && s->receiver)
		n += s->receiver->threads;
	nd_str_addf(
		out,
		"%s: %llu threads spin on %llu CPU%s: they take the CPU from each other, and the "
		"times are those of the scheduler",
		nd_name_of(s, s->sender), NUMBER(n), NUMBER(s->sender->host.cpus_allowed),
		TIMES(s->sender->host.cpus_allowed));
}

static bool answers_are_missing(const struct nd_subject *s)
{
	return s->d->latency && nd_some(s->d->latency->lost);
}

static void say_no_answer(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_latency *l = s->d->latency;

	nd_str_addf(out,
		    "%s: %llu request%s (%s) had no answer within one second: they are in no "
		    "percentile",
		    s->d->label, NUMBER(l->lost), TIMES(l->lost), SHARE(l->lost_ratio));
}

static bool has_no_port(const struct nd_subject *s)
{
	return s->d->latency && nd_some(s->d->latency->no_port);
}

static void say_no_port(const struct nd_subject *s, struct nd_str *out)
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
		if (d[i].latency && nd_some(d[i].latency->opened.count))
			return true;
	return false;
}

static bool listener_dropped(const struct nd_subject *s)
{
	return connects(s->r) && (nd_some(s->side->machine.tcp_listen_overflows) ||
				  nd_some(s->side->machine.tcp_listen_drops));
}

static void say_listener(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_machine *m = &s->side->machine;

	nd_str_addf(
		out,
		"%s: its queue of new connections was full (ListenOverflows %llu, ListenDrops %llu): "
		"those are asked for again after a second or more; net.core.somaxconn limits the "
		"queue",
		nd_name_of(s, s->side),
		NUMBER(nd_known(m->tcp_listen_overflows) ? m->tcp_listen_overflows : 0),
		NUMBER(nd_known(m->tcp_listen_drops) ? m->tcp_listen_drops : 0));
}

static bool asked_again(const struct nd_subject *s)
{
	return connects(s->r) && nd_some(s->side->machine.window_tcp_syn_retrans);
}

static void say_asked_again(const struct nd_subject *s, struct nd_str *out)
{
	uint64_t n = s->side->machine.window_tcp_syn_retrans;

	nd_str_addf(
		out,
		"%s: %llu SYN%s sent again in the window: such a connection took a second or more "
		"longer",
		nd_name_of(s, s->side), NUMBER(n), n == 1 ? " was" : "s were");
}

static uint64_t without_stamps(const struct nd_parted *k)
{
	return k->no_send_stamp + k->no_receive_stamp + k->odd;
}

static bool stamps_are_missing(const struct nd_subject *s)
{
	const struct nd_parted *k = s->d->latency ? s->d->latency->kernel : NULL;

	return k &&
	       (k->missing || (double)without_stamps(k) >
				      UNSTAMPED_RATIO * (double)(k->stamped + without_stamps(k)));
}

static void say_stamps(const struct nd_subject *s, struct nd_str *out)
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

static bool is_delayed_ack(const struct nd_subject *s)
{
	const struct nd_latency *l = s->d->latency;

	return l && !s->d->datagram && !nd_some(l->opened.count) &&
	       l->near_40ms_ratio >= NEAR_40MS_RATIO && l->service.min_us < ACK_RTT_US;
}

static void say_delayed_ack(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_part *p = nd_result_part(s->sender, s->d->workload);

	nd_str_addf(out,
		    "%s: %s of the round trips took 39 to 41 ms: delayed ACKs, which meet Nagle's "
		    "algorithm",
		    s->d->label, SHARE(s->d->latency->near_40ms_ratio));
	if (p)
		nd_str_addf(out, " (TCP_NODELAY was %s)", p->nodelay ? "on" : "off");
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

static bool is_late(const struct nd_subject *s)
{
	const struct nd_latency *l = s->d->latency;

	return l && l->open_loop &&
	       quantile_us(&l->late, 0.99) > LATE_RATIO * quantile_us(&l->response, 0.99);
}

static void say_late(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_latency *l = s->d->latency;

	nd_str_addf(out,
		    "%s: this program sent late by %s at p99, which is part of the response times' "
		    "%s: --spin sends in time where a CPU is free",
		    s->d->label, FIGURE(quantile_us(&l->late, 0.99), ND_M_US),
		    FIGURE(quantile_us(&l->response, 0.99), ND_M_US));
}

/* Most important first. */
/* clang-format off */
const struct nd_warn_row nd_warn_asks[] = {
	{ "spinners",             ABOUT_DIRECTION, has_spinners,           say_spinners },
	{ "no_answer",            ABOUT_DIRECTION, answers_are_missing,    say_no_answer },
	{ "no_source_port",       ABOUT_DIRECTION, has_no_port,            say_no_port },
	{ "listen_queue_full",    ABOUT_SIDE,      listener_dropped,       say_listener },
	{ "syn_retransmits",      ABOUT_SIDE,      asked_again,            say_asked_again },
	{ "stamps_missing",       ABOUT_DIRECTION, stamps_are_missing,     say_stamps },
	{ "delayed_ack",          ABOUT_DIRECTION, is_delayed_ack,         say_delayed_ack },
	{ "sent_late",            ABOUT_DIRECTION, is_late,                say_late },
	{ NULL, ABOUT_RESULT, NULL, NULL }
};
/* clang-format on */
