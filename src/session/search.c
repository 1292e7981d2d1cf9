/* SPDX-License-Identifier: MIT */
/*
 * The search for the highest rate. It begins with as much as the sender gives, goes on with what was delivered of
 * that, strides up while trials pass, and halves the interval between the best that passed and the lowest that
 * failed until it is narrow. Noise: what failed is tried again, two of three decide; the best rate must pass
 * re-tests, else it has failed and the search goes on below it; then the failure above it must come again, else it
 * was noise, and the search goes on there. Where the sender is the limit and does not come to the same rate twice,
 * the rate is one that several trials came to.
 *
 * A rate that is too high loses nothing as long as a queue has room or a bucket credit. The queue shows: less comes in
 * the window than is offered in it, and more so the longer it is. The credit does not: of B datagrams, a trial of t
 * seconds passes up to B / t above the limit. So re-tests are longer; where they fail, all trials are from there on.
 */
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "session/search.h"

#define RESOLUTION   0.01 /* of the interval, relative to its upper end */
#define REACHED      0.98 /* of the asked rate: more than a sender's clock is off */
#define FIRST_STRIDE 0.03
#define GROSS_LOSS   0.05 /* beyond the bound: an overload, when nothing is known yet */
#define HALF         0.5
#define HOPELESS     0.5   /* beyond the bound: no noise */
#define SCATTER      0.95  /* of the highest: rates less apart are one */
#define FLOOR_RATIO  1e-4  /* of what the sender gives */
#define EXACT        0.999 /* of the asked rate: as good as all of it */
#define EDGE_S       0.005 /* a receiver naps for a millisecond, and may be late for its turn on a CPU */
#define EDGE_COUNT   2.0 /* datagrams of a flow, sent before an edge and read behind it */
#define STALLS       3u  /* trials in a row that are not taken for what they should have been */

void nd_hunt_begin(struct nd_hunt *h, double bound_ratio, double cap_per_s)
{
	*h = (struct nd_hunt){ .bound_ratio = bound_ratio,
			       .cap_per_s = cap_per_s,
			       .asked_per_s = cap_per_s,
			       .stride = FIRST_STRIDE };
}

double nd_hunt_slack(const struct nd_hunt_trial *t)
{
	double count = t->offered_per_s * t->window_s;

	return EDGE_S / t->window_s + EDGE_COUNT * t->flows / count;
}

/* Of what was offered in the window, what did not come in it beyond what may be lost. */
static double behind(const struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	return 1 - t->delivered_per_s / t->offered_per_s - h->bound_ratio;
}

enum nd_hunt_verdict nd_hunt_judge(const struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	if (!(t->lost_ratio <= h->bound_ratio)) /* unknown does not pass */
		return ND_HUNT_LOST;
	return behind(h, t) > nd_hunt_slack(t) ? ND_HUNT_GROWING : ND_HUNT_PASSED;
}

bool nd_hunt_reached(const struct nd_hunt_trial *t)
{
	return t->asked_per_s > 0 && t->offered_per_s >= REACHED * t->asked_per_s;
}

/* What a trial stands for: that of a clock that is a little off is the rate that was asked for. */
static double rate_of(const struct nd_hunt_trial *t)
{
	return t->asked_per_s > 0 && t->offered_per_s >= EXACT * t->asked_per_s ? t->asked_per_s
										: t->offered_per_s;
}

static void aim(struct nd_hunt *h, enum nd_hunt_phase phase, double asked_per_s)
{
	h->phase = phase;
	h->asked_per_s = asked_per_s;
	h->is_long = h->in_long || phase == ND_HUNT_RETEST;
	h->passes = h->fails = 0;
}

static void retest(struct nd_hunt *h)
{
	h->retests = h->retests_passed = h->retests_reached = 0;
	memset(h->best, 0, sizeof(h->best));
	h->best[0] = h->passed_per_s;
	aim(h, ND_HUNT_RETEST, h->passed_asked);
}

/* The next rate between the ends of the interval; a re-test when it is narrow. */
static void narrow(struct nd_hunt *h)
{
	double low = h->passed_per_s, high = h->failed_per_s, next = (low + high) / 2;

	if (low <= 0) {
		next = high * (1 - (h->in_long ? nd_real_min(h->stride, HALF) : HALF));
		h->stride *= 2;
		if (next < h->lowest_per_s || next < 1)
			aim(h, ND_HUNT_END, 0);
		else
			aim(h, ND_HUNT_SEARCH, next);
		return;
	}
	if (high - low <= RESOLUTION * high || high - low <= 1) {
		retest(h);
		return;
	}
	if (low * (1 + h->stride) < next) {
		next = low * (1 + h->stride);
		h->stride *= 2;
	}
	aim(h, ND_HUNT_SEARCH, next);
}

/* It has been as fast before: something else held it back. */
static bool has_stalled(const struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	return t->asked_per_s > 0 && !nd_hunt_reached(t) &&
	       REACHED * t->asked_per_s <= h->fastest_per_s;
}

static void judge_passed(struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	bool reached = nd_hunt_reached(t);
	double rate = rate_of(t);

	if (rate > h->passed_per_s) {
		h->before_per_s = h->passed_per_s;
		h->passed_per_s = rate;
		h->passed_asked = t->asked_per_s;
		h->sender_limited = !reached && !has_stalled(h, t);
	}
	if (h->sender_limited || h->failed_per_s <= 0) /* it goes no faster, or is not asked to */
		retest(h);
	else
		narrow(h);
}

static void set_failed(struct nd_hunt *h, double rate, double asked_per_s, bool growing)
{
	h->above_per_s = h->failed_per_s;
	h->above_asked = h->failed_asked;
	h->above_growing = h->failed_growing;
	h->failed_per_s = rate;
	h->failed_asked = asked_per_s;
	h->failed_growing = growing;
}

static void judge_failed(struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	/* one that stalled was as fast as it was asked to be in between */
	double rate = nd_hunt_reached(t) || has_stalled(h, t) ? t->asked_per_s : t->offered_per_s;
	bool growing = nd_hunt_judge(h, t) == ND_HUNT_GROWING;
	bool first = h->failed_per_s <= 0;

	if (!(rate >= 0) || (t->asked_per_s > 0 && rate <= h->passed_per_s))
		rate = t->asked_per_s;
	if (first || rate < h->failed_per_s)
		set_failed(h, rate, t->asked_per_s, growing);
	if (!first) {
		narrow(h);
		return;
	}
	h->lowest_per_s = rate * FLOOR_RATIO;
	/* what came through an overload is a good guess of what would have come without */
	if (t->delivered_per_s >= 1 && t->delivered_per_s < rate)
		aim(h, ND_HUNT_SEARCH, t->delivered_per_s * (1 - RESOLUTION / 2));
	else
		narrow(h);
}

/* So much is missing that there is no doubt. */
static bool is_gross(const struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	double gross = h->failed_per_s > 0 ? HOPELESS : GROSS_LOSS;

	return !(t->lost_ratio - h->bound_ratio <= gross) || behind(h, t) > gross;
}

static void take_search(struct nd_hunt *h, const struct nd_hunt_trial *t, bool passed)
{
	h->passes += passed;
	h->fails += !passed;
	if (h->passes && h->fails == 1 && h->passes == 1)
		h->disagreements++;
	if (passed && (h->fails == 0 || h->passes == 2))
		judge_passed(h, t);
	else if (!passed && (is_gross(h, t) || h->fails == 2))
		judge_failed(h, t);
	else { /* the same rate; a queue that grows is another's end of a longer trial, one that sways is not */
		h->phase = ND_HUNT_AGAIN;
		h->is_long |= nd_hunt_judge(h, t) == ND_HUNT_GROWING;
	}
}

/* The best rate passed for as long as a trial lasted, and no longer: what came of it is a good guess. */
static void lengthen(struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	double rate = h->passed_per_s, next = rate * (1 - 2 * RESOLUTION);

	h->in_long = true;
	h->short_failed_per_s = h->failed_per_s;
	h->sender_limited = false;
	set_failed(h, rate, h->passed_asked, nd_hunt_judge(h, t) == ND_HUNT_GROWING);
	h->passed_per_s = h->passed_asked = h->before_per_s = 0;
	h->stride = FIRST_STRIDE;
	if (t->delivered_per_s >= 1)
		next = nd_real_min(next, t->delivered_per_s * (1 - RESOLUTION / 2));
	aim(h, ND_HUNT_SEARCH, next);
}

/* The best rate was luck. */
static void fall_back(struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	h->broken++;
	h->sender_limited = false;
	set_failed(h, h->passed_per_s, h->passed_asked, nd_hunt_judge(h, t) == ND_HUNT_GROWING);
	h->passed_per_s = h->passed_asked = h->before_per_s;
	h->before_per_s = 0;
	h->stride = FIRST_STRIDE;
	if (h->passed_per_s > 0)
		narrow(h);
	else
		aim(h, ND_HUNT_SEARCH, h->failed_per_s * (1 - 2 * RESOLUTION));
}

/* A trial that the sender held back confirms no more than what it sent: the rate is the highest that enough of them
 * came to, or the lowest of fewer. */
static void confirm(struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	double rate = rate_of(t), lower;

	h->retests_reached += nd_hunt_reached(t);
	if (rate < h->passed_per_s && !nd_hunt_reached(t))
		h->sender_limited = !has_stalled(h, t);
	for (unsigned i = 0; i <= ND_SEARCH_RETESTS; i++) {
		if (rate > h->best[i]) {
			lower = h->best[i];
			h->best[i] = rate;
			rate = lower;
		}
		if (h->best[i] > 0)
			h->passed_per_s = h->best[i];
	}
}

static bool is_scattered(const struct nd_hunt *h)
{
	return h->retests == h->retests_passed && h->retests < ND_SEARCH_SCATTER &&
	       h->best[ND_SEARCH_RETESTS] < SCATTER * h->best[0];
}

static void take_retest(struct nd_hunt *h, const struct nd_hunt_trial *t, bool passed)
{
	if (passed)
		confirm(h, t);
	h->retests++;
	h->retests_passed += passed;
	if (h->retests_passed < ND_SEARCH_RETESTS) {
		if (h->retests - h->retests_passed < ND_SEARCH_RETESTS)
			return;
		if (h->in_long)
			fall_back(h, t);
		else
			lengthen(h, t);
	} else if (!is_scattered(h)) {
		bool doubtful = h->failed_asked > 0 && h->doubts < ND_SEARCH_DOUBTS;

		aim(h, doubtful ? ND_HUNT_DOUBT : ND_HUNT_END, doubtful ? h->failed_asked : 0);
	}
}

/* Passes as often as it has failed: that was noise. */
static void take_doubt(struct nd_hunt *h, const struct nd_hunt_trial *t, bool passed)
{
	if (!passed || !nd_hunt_reached(t)) {
		h->disagreements += h->passes > 0;
		aim(h, ND_HUNT_END, 0);
		return;
	}
	if (++h->passes < 2)
		return;
	h->doubts++;
	h->disagreements++;
	h->before_per_s = h->passed_per_s;
	h->passed_per_s = h->passed_asked = t->asked_per_s;
	set_failed(h, h->above_per_s, h->above_asked, h->above_growing);
	h->above_per_s = h->above_asked = 0;
	h->stride = FIRST_STRIDE;
	if (h->failed_per_s > 0)
		narrow(h);
	else
		retest(h);
}

void nd_hunt_take(struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	bool passed = nd_hunt_judge(h, t) == ND_HUNT_PASSED;
	bool blank = !(t->offered_per_s >= 0); /* a sender that told no rate */

	h->trials++;
	*(h->is_long ? &h->long_s : &h->short_s) = t->seconds;
	if (passed)
		h->slack_ratio = nd_hunt_slack(t);
	h->fastest_per_s = nd_real_max(h->fastest_per_s, t->offered_per_s);
	h->stalls = blank || has_stalled(h, t) ? h->stalls + 1 : 0;
	if (h->stalls > 0 && h->stalls < STALLS)
		h->phase =
			h->phase == ND_HUNT_SEARCH ? ND_HUNT_AGAIN : h->phase; /* the same rate */
	else if (h->phase == ND_HUNT_RETEST)
		take_retest(h, t, passed);
	else if (h->phase == ND_HUNT_DOUBT)
		take_doubt(h, t, passed);
	else
		take_search(h, t, passed);
	if (h->phase != ND_HUNT_END && h->trials >= ND_SEARCH_TRIALS) {
		h->out_of_trials = true;
		aim(h, ND_HUNT_END, 0);
	}
}

const char *nd_hunt_confidence(const struct nd_hunt *h)
{
	if (h->passed_per_s <= 0)
		return NULL;
	if (h->out_of_trials || h->retests_passed < ND_SEARCH_RETESTS)
		return "low";
	if (h->broken)
		return "low";
	if (h->sender_limited || h->retests_reached < ND_SEARCH_RETESTS)
		return "sender-limited";
	return h->disagreements || h->retests > h->retests_passed ? "medium" : "high";
}

const char *nd_hunt_limit(const struct nd_hunt *h)
{
	if (h->passed_per_s <= 0)
		return NULL;
	if (h->sender_limited)
		return "sender";
	if (h->failed_per_s > 0)
		return h->failed_growing ? "queue" : "loss";
	return "asked";
}

/* With B datagrams of room and credit: what failed in t1 seconds was above limit + B / t1, what passed in t2 is at most
 * limit + B / t2. */
double nd_hunt_low(const struct nd_hunt *h)
{
	double failed = h->in_long ? h->short_failed_per_s : h->failed_per_s;
	double low = h->passed_per_s * (1 - h->slack_ratio), by_length;

	if (h->passed_per_s <= 0 || (h->in_long && failed <= 0))
		return (double)NAN;
	if (failed <= 0 || h->sender_limited || !(h->long_s > h->short_s))
		return low;
	by_length = h->passed_per_s -
		    (failed - h->passed_per_s) * h->short_s / (h->long_s - h->short_s);
	return nd_real_max(nd_real_min(low, by_length), 0);
}
