/* SPDX-License-Identifier: MIT */
/* Runs the trials of a search for the highest rate, each a whole test, and reports the last one. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/real.h"
#include "result/scale.h"
#include "session/int.h"
#include "session/search.h"

struct trials {
	const struct nd_session *how; /* borrowed */
	struct nd_hunt hunt;
	struct nd_trial trial[ND_SEARCH_TRIALS];
	uint64_t n;
	struct nd_result last; /* owned: of the last trial, as long as the search goes on */
	uint64_t usual_ns;     /* window of a trial that is no longer than the others */
	bool is_connected, is_over;
};

static double ratio_of(uint64_t part, uint64_t whole)
{
	if (part == ND_UNKNOWN || whole == ND_UNKNOWN || whole == 0)
		return (double)NAN;
	return (double)part / (double)whole;
}

/* One that is refused has not come either. */
static uint64_t missing(const struct nd_loss *l)
{
	if (l->lost == ND_UNKNOWN || l->refused == ND_UNKNOWN)
		return ND_UNKNOWN;
	return l->lost + l->refused;
}

static void tell(const struct trials *t, const struct nd_trial *trial)
{
	struct nd_progress_event ev = { .what = ND_PROG_NOTE };
	const struct nd_sink *sink = t->how->sink;
	nd_auto_str text = { 0 };

	if (!sink || !sink->progress)
		return;
	nd_str_addf(&text, "trial %llu: ", (unsigned long long)trial->number);
	if (trial->asked_per_s > 0 && !trial->reached) {
		nd_str_add(&text, "asked ");
		nd_scaled_text(&text, trial->asked_per_s, ND_M_RATE);
		nd_str_add(&text, ", but ");
	}
	nd_str_add(&text, "offered ");
	nd_scaled_text(&text, trial->offered_per_s, ND_M_RATE);
	nd_str_add(&text, ", delivered ");
	nd_scaled_text(&text, trial->delivered_per_s, ND_M_RATE);
	nd_str_add(&text, ", lost ");
	nd_scaled_text(&text, trial->lost_ratio, ND_M_RATIO);
	if (trial->reason && !strcmp(trial->reason, "queue"))
		nd_str_add(&text, ", the rest in a queue that grows");
	nd_str_addf(&text, ": %s%s (%s)", trial->passed ? "passed" : "failed",
		    trial->reached ? "" : ", sender-limited", trial->purpose);
	ev.text = nd_str_text(&text);
	sink->progress(sink->user, &ev);
}

static const char *purpose_of(enum nd_hunt_phase phase)
{
	switch (phase) {
	case ND_HUNT_RETEST:
		return "re-test";
	case ND_HUNT_AGAIN:
	case ND_HUNT_DOUBT:
		return "again";
	default:
		return "search";
	}
}

static int put_search(const struct trials *t, struct nd_result *r)
{
	const struct nd_hunt *h = &t->hunt;
	struct nd_search *s = nd_arena_alloc(&r->arena, 1, sizeof(*s));
	struct nd_trial *row;

	if (!s)
		return -ENOMEM;
	nd_table_unknown(&nd_search_table, s);
	if (nd_list_new(&r->arena, &s->trials, t->n, sizeof(*row)) < 0)
		return -ENOMEM;
	row = s->trials.v;
	for (uint64_t i = 0; i < t->n; i++)
		row[i] = t->trial[i];
	s->bound_ratio = h->bound_ratio;
	s->trial_s = (double)t->usual_ns / (double)ND_NS_PER_S;
	s->retests = h->retests;
	s->retests_passed = h->retests_passed;
	if (h->passed_per_s > 0)
		s->found_per_s = s->passed_per_s = h->passed_per_s;
	s->low_per_s = nd_hunt_low(h);
	if (h->failed_per_s > 0)
		s->failed_per_s = h->failed_per_s;
	s->limit = nd_hunt_limit(h);
	s->confidence = nd_hunt_confidence(h);
	r->search = s;
	return 0;
}

static void report(const struct trials *t, struct nd_result *r)
{
	if (put_search(t, r) < 0) {
		r->partial = true;
		r->partial_reason = "no memory for the trials";
	}
	t->how->finished(t->how->user, r);
}

/* Why it failed, or shows less than what was asked for; NULL: neither. */
static const char *reason_of(enum nd_hunt_verdict verdict, bool reached)
{
	switch (verdict) {
	case ND_HUNT_LOST:
		return "loss";
	case ND_HUNT_GROWING:
		return "queue";
	case ND_HUNT_PASSED:
		break;
	}
	return reached ? NULL : "sender";
}

static struct nd_hunt_trial read_trial(const struct nd_plan *plan, const struct nd_direction *d,
				       double asked_per_s)
{
	const struct nd_hunt_trial got = {
		.asked_per_s = asked_per_s,
		.offered_per_s = d->packets.sent_per_s,
		.delivered_per_s = d->packets.read_per_s,
		.lost_ratio = ratio_of(missing(&d->loss), d->loss.offered),
		.window_s = d->window_s,
		.seconds = (double)(plan->warmup_ns + plan->duration_ns) / (double)ND_NS_PER_S,
		.flows = (unsigned)d->flows,
	};

	return got;
}

static void on_trial(void *user, struct nd_result *r)
{
	struct trials *t = user;
	const struct nd_direction *d = r->directions.v;
	const struct nd_hunt_trial got = read_trial(t->how->plan, d, t->hunt.asked_per_s);
	enum nd_hunt_verdict verdict = nd_hunt_judge(&t->hunt, &got);
	bool reached = got.asked_per_s <= 0 || nd_hunt_reached(&got);
	struct nd_trial *trial = &t->trial[t->n++];

	*trial = (struct nd_trial){
		.number = t->n,
		.window_s = got.window_s,
		.asked_per_s = got.asked_per_s > 0 ? got.asked_per_s : (double)NAN,
		.offered_per_s = got.offered_per_s,
		.delivered_per_s = got.delivered_per_s,
		.sent = d->loss.offered,
		.lost = missing(&d->loss),
		.lost_ratio = got.lost_ratio,
		.passed = verdict == ND_HUNT_PASSED,
		.reached = reached,
		.reason = reason_of(verdict, reached),
		.purpose = purpose_of(t->hunt.phase),
	};
	tell(t, trial);
	if (!r->partial)
		nd_hunt_take(&t->hunt, &got);
	t->is_over = r->partial || t->hunt.phase == ND_HUNT_END;
	if (t->is_over)
		report(t, r);
	else
		nd_session_keep(&t->last, r);
}

/* The trials themselves are told of one by one: what happens within them is left out. */
static void on_progress(void *user, const struct nd_progress_event *ev)
{
	struct trials *t = user;
	bool is_news = ev->what == ND_PROG_WARNING || ev->what == ND_PROG_NOTE;

	if (ev->what == ND_PROG_CONNECTED && !t->is_connected)
		t->is_connected = is_news = true;
	if (is_news)
		t->how->sink->progress(t->how->sink->user, ev);
}

static double mean_bytes(const struct nd_workload *w)
{
	const struct nd_size *size = w->sizes.v;
	double bytes = 0, n = 0;

	for (uint64_t i = 0; i < w->sizes.n; i++) {
		bytes += (double)size[i].bytes * (double)size[i].count;
		n += (double)size[i].count;
	}
	return n > 0 ? bytes / n : (double)w->message_bytes;
}

static double cap_of(const struct nd_workload *w)
{
	return w->rate_bps ? (double)w->rate_bps / 8 / mean_bytes(w) : (double)w->rate_ops;
}

int nd_session_packets(const struct nd_session *how, struct nd_err *err)
{
	struct nd_workload *w = &how->plan->workload[0];
	struct trials t = { .how = how, .usual_ns = how->plan->duration_ns };
	const struct nd_sink sink = { on_progress, &t };
	const struct nd_session one = { how->plan, how->sink ? &sink : NULL, on_trial, &t, NULL };
	int ending = ND_END_DONE;

	if (!how->plan->find.wanted)
		return nd_session_client(how, err);
	nd_result_init(&t.last);
	how->plan->follows = true; /* which one is the last is known behind it */
	nd_hunt_begin(&t.hunt, (double)how->plan->find.loss_ppm / 1e6, cap_of(w));
	while (!t.is_over && ending == ND_END_DONE) {
		how->plan->duration_ns = t.usual_ns * (t.hunt.is_long ? ND_SEARCH_LONGER : 1);
		w->rate_bps = 0;
		w->rate_ops = 0;
		if (t.hunt.asked_per_s > 0)
			w->rate_ops = (uint64_t)nd_real_max(nd_real_round(t.hunt.asked_per_s), 1);
		ending = nd_session_client(&one, err);
	}
	if (!t.is_over && t.n > 0) { /* what the trials before it found is not lost */
		nd_session_cut_short(&t.last, "the search ended early, the next trial failed", err);
		report(&t, &t.last);
	}
	nd_result_done(&t.last);
	return ending;
}
