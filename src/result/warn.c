/* SPDX-License-Identifier: MIT */
/*
 * What spoils, or may spoil, a result.
 * To add a warning: a condition, a sentence with the figures in it, one row in the list of its importance.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "result/warn.h"

#define SKEW_RATIO   0.01 /* of the window */
#define PIECE_S      0.01 /* the longest piece of a paced stream, or burst of datagrams */
#define WINDOW_RATIO 0.01 /* true length against the one asked for */
#define CLOCK_RTT_US 10000.0

static bool is_partial(const struct nd_subject *s)
{
	return s->r->partial;
}

static void say_partial(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out, "this result is partial: %s",
		    s->r->partial_reason ? s->r->partial_reason : "the run was cut short");
}

static bool is_same_host(const struct nd_subject *s)
{
	return s->r->same_host;
}

static void say_same_host(const struct nd_subject *s, struct nd_str *out)
{
	const char *host = s->r->client ? s->r->client->host.hostname : NULL;

	nd_str_addf(out, "both ends ran on the same host%s%s: not a network result",
		    host ? " " : "", host ? host : "");
}

static bool is_loopback(const struct nd_subject *s)
{
	/* one host says as much already */
	return s->side->nic_facts.is_loopback && !s->r->same_host;
}

static void say_loopback(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out, "%s: traffic went through the loopback interface %s: no network was used",
		    nd_name_of(s, s->side), s->side->nic_facts.name ? s->side->nic_facts.name : "");
}

static bool flows_failed(const struct nd_subject *s)
{
	return nd_some(s->d->failed_flows);
}

static void say_failed(const struct nd_subject *s, struct nd_str *out)
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

static bool is_overlapped(const struct nd_subject *s)
{
	return nd_some(s->side->overlapped_tests);
}

static void say_overlapped(const struct nd_subject *s, struct nd_str *out)
{
	uint64_t n = s->side->overlapped_tests;

	nd_str_addf(out, "%s: %llu other test%s ran at the same time", nd_name_of(s, s->side),
		    NUMBER(n), TIMES(n));
}

static bool is_unsteady(const struct nd_subject *s)
{
	return s->d->steady < 0.5;
}

static void say_unsteady(const struct nd_subject *s, struct nd_str *out)
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

static bool window_is_off(const struct nd_subject *s)
{
	return fabs(s->d->window_s - s->d->asked_window_s) > WINDOW_RATIO * s->d->asked_window_s;
}

static void say_window(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out, "%s: the measured window was %s long, asked were %s", s->d->label,
		    FIGURE(s->d->window_s, ND_M_S), FIGURE(s->d->asked_window_s, ND_M_S));
}

static bool drain_is_incomplete(const struct nd_subject *s)
{
	return !s->d->datagram && !s->d->agreed && nd_known(s->d->total_sent_bytes) &&
	       nd_known(s->d->total_received_bytes);
}

static void say_drain(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "%s: the ends disagree: %llu bytes sent, %llu received; the rest was still "
		    "under way when the run ended",
		    s->d->label, NUMBER(s->d->total_sent_bytes),
		    NUMBER(s->d->total_received_bytes));
}

/* Flows that are paced take turns with their first piece: within the time of one. */
static double meant_skew_s(const struct nd_direction *d)
{
	double apart_s = 0;

	if (!d->asked_rate_bps && !d->asked_rate_ops)
		return 0;
	if (d->datagram && d->asked_rate_ops)
		apart_s = (double)d->flows / (double)d->asked_rate_ops;
	else if (d->datagram)
		apart_s = 8.0 * (double)d->message_bytes * (double)d->flows /
			  (double)d->asked_rate_bps;
	return ND_MAX(apart_s, PIECE_S);
}

static bool is_skewed(const struct nd_subject *s)
{
	return s->d->start_skew_ms / 1e3 - meant_skew_s(s->d) > SKEW_RATIO * s->d->window_s;
}

static void say_skew(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out, "%s: flows started up to %s apart, %s of the measured window", s->d->label,
		    FIGURE(s->d->start_skew_ms, ND_M_MS),
		    SHARE(s->d->start_skew_ms / 1e3 / s->d->window_s));
}

static bool clock_is_uncertain(const struct nd_subject *s)
{
	return s->r->clock_rtt_us > CLOCK_RTT_US;
}

static void say_clock(const struct nd_subject *s, struct nd_str *out)
{
	nd_str_addf(out,
		    "the best of the clock exchanges took %s: the common start may be off by %s",
		    FIGURE(s->r->clock_rtt_us, ND_M_US), FIGURE(s->r->clock_rtt_us / 2, ND_M_US));
}

/* clang-format off */
static const struct nd_warn_row gravest[] = {
	{ "partial",              ABOUT_RESULT,    is_partial,             say_partial },
	{ "same_host",            ABOUT_RESULT,    is_same_host,           say_same_host },
	{ "loopback",             ABOUT_SIDE,      is_loopback,            say_loopback },
	{ NULL, ABOUT_RESULT, NULL, NULL }
};

static const struct nd_warn_row disturbed[] = {
	{ "failed_flows",         ABOUT_DIRECTION, flows_failed,           say_failed },
	{ "overlapped",           ABOUT_SIDE,      is_overlapped,          say_overlapped },
	{ NULL, ABOUT_RESULT, NULL, NULL }
};

static const struct nd_warn_row unsure[] = {
	{ "no_steady_state",      ABOUT_DIRECTION, is_unsteady,            say_unsteady },
	{ "window_off",           ABOUT_DIRECTION, window_is_off,          say_window },
	{ "drain_incomplete",     ABOUT_DIRECTION, drain_is_incomplete,    say_drain },
	{ "start_skew",           ABOUT_DIRECTION, is_skewed,              say_skew },
	{ "clock_uncertain",      ABOUT_RESULT,    clock_is_uncertain,     say_clock },
	{ NULL, ABOUT_RESULT, NULL, NULL }
};
/* clang-format on */

/* Most important first. */
static const struct nd_warn_row *const lists[] = {
	gravest,        nd_warn_moved, disturbed, nd_warn_limits, nd_warn_asked,
	nd_warn_loaded, nd_warn_asks,  unsure,    nd_warn_host,
};

/* Both directions, and both ends of one machine, may have the same to say: once. */
static bool said(const struct nd_warning *v, uint64_t n, const char *sentence)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(v[i].sentence, sentence))
			return true;
	return false;
}

static int judge(const struct nd_warn_row *row, const struct nd_subject *s)
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

static int judge_directions(const struct nd_warn_row *row, struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;
	uint64_t i;
	int e = 0;

	for (i = 0; e == 0 && i < r->directions.n; i++)
		e = judge(row, &(struct nd_subject){ .r = r,
						     .d = &d[i],
						     .sender = nd_result_sender(r, &d[i]),
						     .receiver = nd_result_receiver(r, &d[i]) });
	return e;
}

static int judge_sides(const struct nd_warn_row *row, struct nd_result *r)
{
	const struct nd_side *side[] = { r->client, r->server };
	size_t i;
	int e = 0;

	for (i = 0; e == 0 && i < ND_COUNTOF(side); i++)
		if (side[i])
			e = judge(row, &(struct nd_subject){ .r = r, .side = side[i] });
	return e;
}

static int judge_row(const struct nd_warn_row *row, struct nd_result *r)
{
	switch (row->about) {
	case ABOUT_RESULT:
		return judge(row, &(struct nd_subject){ .r = r });
	case ABOUT_DIRECTION:
		return judge_directions(row, r);
	case ABOUT_SIDE:
		return judge_sides(row, r);
	}
	return 0;
}

int nd_result_warn(struct nd_result *r)
{
	uint64_t subjects = ND_MAX(r->directions.n, 2);
	const struct nd_warn_row *row;
	size_t i, rows = 0;
	int e;

	for (i = 0; i < ND_COUNTOF(lists); i++)
		for (row = lists[i]; row->key; row++)
			rows++;
	e = nd_list_new(&r->arena, &r->warnings, rows * subjects, sizeof(struct nd_warning));
	r->warnings.n = 0;
	for (i = 0; e == 0 && i < ND_COUNTOF(lists); i++)
		for (row = lists[i]; e == 0 && row->key; row++)
			e = judge_row(row, r);
	return e;
}
