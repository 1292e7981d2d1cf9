/* SPDX-License-Identifier: MIT */
/* The search for the highest rate against senders and paths that are made up. */
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "session/search.h"

/* A sender that comes to so much, and a path that lets so much through. */
struct path {
	double sender_per_s, limit_per_s;
	double noise;        /* a share that some trials lose for no reason */
	unsigned noise_each; /* one trial of so many; 0: none */
	unsigned
		stall_each; /* in one of so many the sender comes to half of what it could; 0: none */
};

static struct nd_hunt_trial run(const struct path *p, const struct nd_hunt *h)
{
	struct nd_hunt_trial t = { .asked_per_s = h->asked_per_s };
	unsigned n = h->trials + 1;
	double through;

	t.offered_per_s =
		t.asked_per_s > 0 ? fmin(t.asked_per_s, p->sender_per_s) : p->sender_per_s;
	if (p->stall_each && n % p->stall_each == 0)
		t.offered_per_s /= 2;
	through = fmin(t.offered_per_s, p->limit_per_s);
	if (p->noise_each && n % p->noise_each == 0)
		through *= 1 - p->noise;
	t.delivered_per_s = through;
	t.lost_ratio = 1 - through / t.offered_per_s;
	return t;
}

static void hunt(const struct path *p, double bound, double cap, struct nd_hunt *h)
{
	nd_hunt_begin(h, bound, cap);
	while (h->phase != ND_HUNT_END) {
		struct nd_hunt_trial t = run(p, h);

		assert_true(h->trials < ND_SEARCH_TRIALS);
		assert_true(h->asked_per_s >= 0);
		assert_true(cap <= 0 || (h->asked_per_s > 0 && h->asked_per_s <= cap));
		nd_hunt_take(h, &t);
	}
}

/* clang-format off */
static const struct {
	const char *name;
	struct path path;
	double bound, cap;
	double low, high; /* between which the rate found must be; 0: none is found */
	const char *limit, *confidence;
	unsigned trials;  /* at most */
} rows[] = {
	{ "a filter",       { 500e3, 5000, 0, 0, 0 },      0.001, 0,     4900, 5006,  "loss",   "high",   20 },
	{ "none at all",    { 500e3, 5000, 0, 0, 0 },      0,     0,     4900, 5000,  "loss",   "high",   20 },
	{ "a wide bound",   { 500e3, 5000, 0, 0, 0 },      0.2,   0,     6100, 6251,  "loss",   "high",   40 },
	{ "capped above",   { 500e3, 5000, 0, 0, 0 },      0.001, 20e3,  4900, 5006,  "loss",   "high",   20 },
	{ "capped below",   { 500e3, 5000, 0, 0, 0 },      0.001, 3000,  3000, 3000,  "asked",  "high",   3 },
	{ "a slow sender",  { 4000, 5000, 0, 0, 0 },       0.001, 0,     4000, 4000,  "sender", "high",   3 },
	{ "slower still",   { 4000, 5000, 0, 0, 0 },       0.001, 20e3,  4000, 4000,  "sender", "high",   3 },
	{ "just too fast",  { 5100, 5000, 0, 0, 0 },       0.001, 0,     4940, 5006,  "loss",   "high",   20 },
	{ "nothing passes", { 500e3, 0, 0, 0, 0 },         0.001, 0,     0,    0,     NULL,     NULL,     30 },
	{ "slow",           { 500e3, 3, 0, 0, 0 },         0.001, 0,     2,    3.01,  "loss",   "high",   40 },
	{ "noise at times", { 500e3, 5000, 0.01, 5, 0 },   0.001, 0,     4700, 5006,  "loss",   NULL,     60 },
	{ "stalls",         { 500e3, 5000, 0, 0, 4 },      0.001, 0,     4900, 5006,  "loss",   "high",   40 },
	{ "capped, stalls", { 500e3, 50e3, 0, 0, 3 },      0.001, 5000,  5000, 5000,  "asked",  "high",   4 },
};

/* clang-format on */

static void finds_the_limit(void **state)
{
	struct nd_hunt h;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *limit, *confidence;

		print_message("%s\n", rows[i].name);
		hunt(&rows[i].path, rows[i].bound, rows[i].cap, &h);
		limit = nd_hunt_limit(&h);
		confidence = nd_hunt_confidence(&h);
		if (h.passed_per_s < rows[i].low || h.passed_per_s > rows[i].high ||
		    h.trials > rows[i].trials)
			fail_msg("%s: %g in %u trials", rows[i].name, h.passed_per_s, h.trials);
		if (!limit != !rows[i].limit || (limit && strcmp(limit, rows[i].limit) != 0))
			fail_msg("%s: limited by %s", rows[i].name, limit ? limit : "nothing");
		if (rows[i].confidence && strcmp(confidence, rows[i].confidence) != 0)
			fail_msg("%s: confidence %s", rows[i].name, confidence);
		if (limit && !strcmp(limit, "loss"))
			assert_true(h.failed_per_s > h.passed_per_s);
	}
}

/* Random losses: whatever it says, it ends, and what it found has passed. */
static void ends_whatever_comes(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (; seed <= 300; seed++) {
		uint32_t x = seed * 2654435761u | 1;
		struct nd_hunt h;

		nd_hunt_begin(&h, 0.01, seed % 2 ? 0 : 1000);
		while (h.phase != ND_HUNT_END) {
			struct nd_hunt_trial t = { .asked_per_s = h.asked_per_s };

			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			t.offered_per_s = t.asked_per_s > 0 ? t.asked_per_s : 1000;
			if (x % 7 == 0)
				t.offered_per_s *= 0.7;
			if (x % 13 == 0)
				t.offered_per_s = (double)NAN;
			t.lost_ratio = x % 5 == 0   ? (double)NAN
				       : x % 2 == 0 ? 0
						    : (double)(x % 100) / 100;
			t.delivered_per_s =
				x % 11 == 0 ? (double)NAN : t.offered_per_s * (1 - t.lost_ratio);
			nd_hunt_take(&h, &t);
			if (h.trials > ND_SEARCH_TRIALS || isnan(h.asked_per_s))
				fail_msg("seed %u: trial %u asks for %g", seed, h.trials,
					 h.asked_per_s);
		}
		assert_true(h.passed_per_s >= 0 && h.passed_per_s <= 1000);
	}
}

/* A sender that was too late for a trial told no rate: that is no rate to halve. */
static void does_without_a_blank_trial(void **state)
{
	static const struct path nothing = { 500e3, 0, 0, 0, 0 };
	const struct nd_hunt_trial blank = { .offered_per_s = (double)NAN,
					     .delivered_per_s = (double)NAN,
					     .lost_ratio = 1 };

	(void)state;
	for (unsigned blanks = 1; blanks <= 4; blanks++) {
		struct nd_hunt h;

		nd_hunt_begin(&h, 0.001, 0);
		for (unsigned i = 0; i < blanks && h.phase != ND_HUNT_END; i++)
			nd_hunt_take(&h, &blank);
		while (h.phase != ND_HUNT_END) {
			struct nd_hunt_trial t = run(&nothing, &h);

			assert_true(h.asked_per_s >= 0);
			nd_hunt_take(&h, &t);
		}
		assert_true(h.trials < 25);
		assert_true(h.passed_per_s <= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_limit),
		cmocka_unit_test(ends_whatever_comes),
		cmocka_unit_test(does_without_a_blank_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
