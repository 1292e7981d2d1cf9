/* SPDX-License-Identifier: MIT */
/*
 * The search for the highest rate. It begins with as much as the sender gives, goes on with what was delivered of
 * that, strides up while trials pass, and halves the interval between the best that passed and the lowest that
 * failed until it is narrow. Noise: a narrow failure is tried again, two of three decide; the best rate must pass
 * re-tests, else it has failed and the search goes on below it.
 */
#include <math.h>

#include "base/real.h"
#include "session/search.h"

#define RESOLUTION   0.01 /* of the interval, relative to its upper end */
#define REACHED      0.98 /* of the asked rate: more than a sender's clock is off */
#define FIRST_STRIDE 0.03
#define GROSS_LOSS   0.05 /* beyond the bound: no noise */
#define FLOOR_RATIO  1e-4 /* of what the sender gives */
#define STALLS       3u   /* trials in a row that are not taken for what they should have been */

void nd_hunt_begin(struct nd_hunt *h, double bound_ratio, double cap_per_s)
{
	*h = (struct nd_hunt){ .bound_ratio = bound_ratio,
			       .cap_per_s = cap_per_s,
			       .asked_per_s = cap_per_s,
			       .stride = FIRST_STRIDE };
}

bool nd_hunt_passes(const struct nd_hunt *h, double lost_ratio)
{
	return lost_ratio <= h->bound_ratio; /* unknown does not */
}

bool nd_hunt_reached(const struct nd_hunt_trial *t)
{
	return t->asked_per_s > 0 && t->offered_per_s >= REACHED * t->asked_per_s;
}

static void aim(struct nd_hunt *h, enum nd_hunt_phase phase, double asked_per_s)
{
	h->phase = phase;
	h->asked_per_s = asked_per_s;
	h->passes = h->fails = 0;
}

static void retest(struct nd_hunt *h)
{
	h->retests = h->retests_passed = 0;
	aim(h, ND_HUNT_RETEST, h->passed_asked);
}

/* The next rate between the ends of the interval; a re-test when it is narrow. */
static void narrow(struct nd_hunt *h)
{
	double low = h->passed_per_s, high = h->failed_per_s, next = (low + high) / 2;

	if (low <= 0) {
		next = high / 2;
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
	double rate = reached ? t->asked_per_s : t->offered_per_s;

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

static void judge_failed(struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	double rate = nd_hunt_reached(t) ? t->asked_per_s : t->offered_per_s;
	bool first = h->failed_per_s <= 0;

	if (!(rate >= 0) || (t->asked_per_s > 0 && rate <= h->passed_per_s))
		rate = t->asked_per_s;
	if (first || rate < h->failed_per_s)
		h->failed_per_s = rate;
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

static void take_search(struct nd_hunt *h, const struct nd_hunt_trial *t, bool passed)
{
	bool gross = !(t->lost_ratio <= h->bound_ratio + GROSS_LOSS);

	h->passes += passed;
	h->fails += !passed;
	if (h->passes && h->fails == 1 && h->passes == 1)
		h->disagreements++;
	if (passed && (h->fails == 0 || h->passes == 2))
		judge_passed(h, t);
	else if (!passed && (gross || h->fails == 2))
		judge_failed(h, t);
	else
		h->phase = ND_HUNT_AGAIN; /* the same rate */
}

/* The best rate was luck. */
static void fall_back(struct nd_hunt *h)
{
	h->broken++;
	h->sender_limited = false;
	h->failed_per_s = h->passed_per_s;
	h->passed_per_s = h->passed_asked = h->before_per_s;
	h->before_per_s = 0;
	h->stride = FIRST_STRIDE;
	if (h->passed_per_s > 0)
		narrow(h);
	else
		aim(h, ND_HUNT_SEARCH, h->failed_per_s * (1 - 2 * RESOLUTION));
}

/* A re-test that the sender held back confirms no more than what it sent. */
static void take_retest(struct nd_hunt *h, const struct nd_hunt_trial *t, bool passed)
{
	if (passed && !nd_hunt_reached(t) && t->offered_per_s < h->passed_per_s) {
		h->passed_per_s = t->offered_per_s;
		h->sender_limited = !has_stalled(h, t);
	}
	h->retests++;
	h->retests_passed += passed;
	if (h->retests_passed == ND_SEARCH_RETESTS)
		aim(h, ND_HUNT_END, 0);
	else if (h->retests - h->retests_passed == ND_SEARCH_RETESTS)
		fall_back(h);
}

void nd_hunt_take(struct nd_hunt *h, const struct nd_hunt_trial *t)
{
	bool passed = nd_hunt_passes(h, t->lost_ratio);
	bool blank = !(t->offered_per_s >= 0); /* a sender that told no rate */

	h->trials++;
	h->fastest_per_s = nd_real_max(h->fastest_per_s, t->offered_per_s);
	h->stalls = blank || (passed && has_stalled(h, t)) ? h->stalls + 1 : 0;
	if (h->stalls > 0 && h->stalls < STALLS)
		h->phase =
			h->phase == ND_HUNT_SEARCH ? ND_HUNT_AGAIN : h->phase; /* the same rate */
	else if (h->phase == ND_HUNT_RETEST)
		take_retest(h, t, passed);
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
	return h->disagreements || h->retests > h->retests_passed ? "medium" : "high";
}

const char *nd_hunt_limit(const struct nd_hunt *h)
{
	if (h->passed_per_s <= 0)
		return NULL;
	if (h->sender_limited)
		return "sender";
	return h->failed_per_s > 0 ? "loss" : "asked";
}
