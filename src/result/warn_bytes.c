/* SPDX-License-Identifier: MIT */
/* What warnings say of the bytes: whether they were moved, copied and whole, and as many as were asked for. */
#include <math.h>
#include <string.h>

#include "result/warn.h"

#define LOSS_RATIO   0.01
#define MISSED_RATIO 0.02 /* of the asked rate */

static bool is_null(const struct nd_side *side, uint64_t workload)
{
	const struct nd_part *p = nd_result_part(side, workload);

	return p && p->engine && !strcmp(p->engine, "null");
}

static bool nothing_moved(const struct nd_subject *s)
{
	return is_null(s->sender, s->d->workload) || is_null(s->receiver, s->d->workload);
}

static void say_nothing_moved(const struct nd_subject *s, struct nd_str *out)
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
static bool sends_pages(const struct nd_subject *s)
{
	const struct nd_part *p = nd_result_part(s->sender, s->d->workload);

	return p && is_one_of(p->tx_technique, "splice", "sendfile");
}

static bool drops_payload(const struct nd_subject *s)
{
	const struct nd_part *p = nd_result_part(s->receiver, s->d->workload);

	return p && !s->d->datagram && is_one_of(p->rx_technique, "splice", "trunc");
}

static bool is_uncopied(const struct nd_subject *s)
{
	return sends_pages(s) || drops_payload(s);
}

static void say_uncopied(const struct nd_subject *s, struct nd_str *out)
{
	const char *where = !drops_payload(s) ? "at the sender"
			    : sends_pages(s)  ? "at either end"
					      : "at the receiver";

	nd_str_addf(out, "%s: no copy %s: measures the stack, not an application", s->d->label,
		    where);
}

/* Sends that were to be without a copy, and were not. */
static bool is_copied(const struct nd_subject *s)
{
	const struct nd_part *p = nd_result_part(s->sender, s->d->workload);

	return p && nd_some(p->run.tx_zerocopy) && nd_some(p->run.tx_copied);
}

static void say_copied(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_totals *c = &nd_result_part(s->sender, s->d->workload)->run;

	nd_str_addf(
		out,
		"%s: of %llu sends without a copy the kernel copied %llu after all: on this way "
		"it costs more than it saves",
		s->d->label, NUMBER(c->tx_zerocopy), NUMBER(c->tx_copied));
}

static uint64_t corrupt_bytes(const struct nd_subject *s)
{
	const struct nd_part *p = nd_result_part(s->receiver, s->d->workload);

	return p ? p->run.rx_corrupt : ND_UNKNOWN;
}

static bool is_corrupt(const struct nd_subject *s)
{
	return nd_some(corrupt_bytes(s));
}

static void say_corrupt(const struct nd_subject *s, struct nd_str *out)
{
	uint64_t n = corrupt_bytes(s);

	nd_str_addf(out, "%s: %llu byte%s differ from what was sent", s->d->label, NUMBER(n),
		    TIMES(n));
}

static bool is_unlimited(const struct nd_subject *s)
{
	const struct nd_direction *d = s->d;

	return d->datagram && !d->transactional && d->asked_rate_bps == 0 &&
	       d->asked_rate_ops == 0 && d->loss.lost_ratio > LOSS_RATIO;
}

static void say_unlimited(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "%s: the sender's rate was not limited and %s was lost: a rate that the "
		    "receiver can take says more (-b)",
		    s->d->label, SHARE(s->d->loss.lost_ratio));
}

/* Without numbers in them what came twice stands in for what is lost, and shows only where there is more of it. */
static bool is_surplus(const struct nd_subject *s)
{
	const struct nd_loss *l = &s->d->loss;

	return s->d->datagram && nd_known(l->sent) && nd_known(l->received) &&
	       l->received > l->sent;
}

static void say_surplus(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_loss *l = &s->d->loss;

	nd_str_addf(out, "%s: %llu more datagram%s came than were sent: ", s->d->label,
		    NUMBER(l->received - l->sent), TIMES(l->received - l->sent));
	nd_str_add(out, nd_known(l->duplicate)
				? "the sender's count is older than the receiver's"
				: "some came twice, and they are too small for numbers (-l 8): "
				  "what is lost cannot be told");
}

/* Messages per second that the sender came to. */
static double offered_ops(const struct nd_direction *d)
{
	if (d->transactional)
		return d->transactions_per_s;
	if (!isnan(d->packets.sent_per_s))
		return d->packets.sent_per_s;
	return nd_some(d->message_bytes) ? d->offered_bps / 8 / (double)d->message_bytes
					 : (double)NAN;
}

static bool missed(double offered, uint64_t asked)
{
	return nd_some(asked) && offered < (1 - MISSED_RATIO) * (double)asked;
}

static bool bytes_are_missing(const struct nd_subject *s)
{
	return s->d->asked_bytes > 0 && nd_known(s->d->total_sent_bytes) &&
	       s->d->total_sent_bytes < s->d->asked_bytes;
}

static void say_missing(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "%s: %llu of the %llu bytes that were asked for were sent when the test ended",
		    s->d->label, NUMBER(s->d->total_sent_bytes), NUMBER(s->d->asked_bytes));
}

static bool rate_is_missed(const struct nd_subject *s)
{
	return missed(s->d->offered_bps, s->d->asked_rate_bps) ||
	       missed(offered_ops(s->d), s->d->asked_rate_ops);
}

static void say_missed(const struct nd_subject *s, struct nd_str *out)
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

/* Most important first. */
/* clang-format off */
const struct nd_warn_row nd_warn_moved[] = {
	{ "nothing_moved",        ABOUT_DIRECTION, nothing_moved,          say_nothing_moved },
	{ "no_copy",              ABOUT_DIRECTION, is_uncopied,            say_uncopied },
	{ "copied",               ABOUT_DIRECTION, is_copied,              say_copied },
	{ "corrupt",              ABOUT_DIRECTION, is_corrupt,             say_corrupt },
	{ "surplus",              ABOUT_DIRECTION, is_surplus,             say_surplus },
	{ NULL, ABOUT_RESULT, NULL, NULL }
};

const struct nd_warn_row nd_warn_asked[] = {
	{ "udp_unlimited",        ABOUT_DIRECTION, is_unlimited,           say_unlimited },
	{ "bytes_missed",         ABOUT_DIRECTION, bytes_are_missing,      say_missing },
	{ "rate_missed",          ABOUT_DIRECTION, rate_is_missed,         say_missed },
	{ NULL, ABOUT_RESULT, NULL, NULL }
};
/* clang-format on */
