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
	unsigned from, until; /* trials in which that noise is, and no others; 0: any */
	const double *pace;   /* shares that the sender comes to, in turn; NULL: all */
	unsigned pace_n;
};

#define PATH(sender, limit, share, each, stalls)                                    \
	{                                                                           \
		.sender_per_s = (sender), .limit_per_s = (limit), .noise = (share), \
		.noise_each = (each), .stall_each = (stalls)                        \
	}

static struct nd_hunt_trial run(const struct path *p, const struct nd_hunt *h)
{
	struct nd_hunt_trial t = { .asked_per_s = h->asked_per_s };
	unsigned n = h->trials + 1;
	double through;

	t.offered_per_s =
		t.asked_per_s > 0 ? fmin(t.asked_per_s, p->sender_per_s) : p->sender_per_s;
	if (p->stall_each && n % p->stall_each == 0)
		t.offered_per_s /= 2;
	if (p->pace)
		t.offered_per_s *= p->pace[(n - 1) % p->pace_n];
	through = fmin(t.offered_per_s, p->limit_per_s);
	if (p->noise_each && n % p->noise_each == 0 && n >= p->from && (!p->until || n <= p->until))
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
	{ "a filter",       PATH(500e3, 5000, 0, 0, 0),      0.001, 0,     4900, 5006,  "loss",   "high",   20 },
	{ "none at all",    PATH(500e3, 5000, 0, 0, 0),      0,     0,     4900, 5000,  "loss",   "high",   20 },
	{ "a wide bound",   PATH(500e3, 5000, 0, 0, 0),      0.2,   0,     6100, 6251,  "loss",   "high",   40 },
	{ "capped above",   PATH(500e3, 5000, 0, 0, 0),      0.001, 20e3,  4900, 5006,  "loss",   "high",   20 },
	{ "capped below",   PATH(500e3, 5000, 0, 0, 0),      0.001, 3000,  3000, 3000,  "asked",  "high",   3 },
	{ "a slow sender",  PATH(4000, 5000, 0, 0, 0),       0.001, 0,     4000, 4000,  "sender", "sender-limited", 3 },
	{ "slower still",   PATH(4000, 5000, 0, 0, 0),       0.001, 20e3,  4000, 4000,  "sender", "sender-limited", 3 },
	{ "just too fast",  PATH(5100, 5000, 0, 0, 0),       0.001, 0,     4940, 5006,  "loss",   "high",   20 },
	{ "nothing passes", PATH(500e3, 0, 0, 0, 0),         0.001, 0,     0,    0,     NULL,     NULL,     30 },
	{ "slow",           PATH(500e3, 3, 0, 0, 0),         0.001, 0,     2,    3.01,  "loss",   "high",   40 },
	{ "noise at times", PATH(500e3, 5000, 0.01, 5, 0),   0.001, 0,     4700, 5006,  "loss",   NULL,     60 },
	{ "stalls",         PATH(500e3, 5000, 0, 0, 4),      0.001, 0,     4900, 5006,  "loss",   "high",   40 },
	{ "capped, stalls", PATH(500e3, 50e3, 0, 0, 3),      0.001, 5000,  5000, 5000,  "asked",  "high",   4 },
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

/* A machine that is busy with other things: two trials in a row lose a tenth, or the sender comes to another rate each
 * time. Neither makes the answer a low one. */
static void outlives_noise(void **state)
{
	static const double uneven[] = { 0.6, 0.7, 0.97, 1, 0.75, 0.95, 0.9 };
	struct nd_hunt h;

	(void)state;
	for (unsigned from = 2; from <= 9; from++) {
		const struct path p = { .sender_per_s = 500e3,
					.limit_per_s = 5000,
					.noise = 0.1,
					.noise_each = 1,
					.from = from,
					.until = from + 1 };

		hunt(&p, 0.001, 0, &h);
		if (h.passed_per_s < 4900 || h.passed_per_s > 5006)
			fail_msg("from trial %u: %g in %u trials", from, h.passed_per_s, h.trials);
		assert_string_equal(nd_hunt_limit(&h), "loss");
		assert_true(h.trials <= 40);
	}
	for (unsigned skip = 0; skip < 5; skip++) {
		const struct path p = { .sender_per_s = 4000,
					.limit_per_s = 1e9,
					.pace = uneven + skip,
					.pace_n = (unsigned)(sizeof(uneven) / sizeof(uneven[0])) -
						  skip };

		hunt(&p, 0.001, 0, &h);
		if (h.passed_per_s < 0.9 * 4000 || h.passed_per_s > 4000)
			fail_msg("uneven from %u: %g", skip, h.passed_per_s);
		assert_string_equal(nd_hunt_limit(&h), "sender");
		assert_string_equal(nd_hunt_confidence(&h), "sender-limited");
		assert_int_equal(h.retests, h.retests_passed);
	}
}

/* The rate was reached once. Re-tests without loss that come to less do not confirm it. */
static void slow_retests_confirm_nothing(void **state)
{
	static const struct {
		double share[6]; /* of what is asked that re-tests come to, in turn */
		const char *confidence;
	} cases[] = {
		{ { 1, 1, 1, 1, 1, 1 }, "high" },
		{ { 0.99, 1, 1, 1, 1, 1 }, "high" },  /* a clock that is off */
		{ { 0.5, 0.5, 1, 1, 1, 1 }, "high" }, /* held back for a while: tried again */
		{ { 0.9, 0.9, 0.9, 0.9, 0.9, 0.9 }, "sender-limited" },
		{ { 1, 0.9, 0.9, 0.9, 0.9, 0.9 }, "sender-limited" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned n = 0;
		struct nd_hunt h;

		nd_hunt_begin(&h, 0.001, 1000);
		while (h.phase != ND_HUNT_END) {
			bool again = h.phase == ND_HUNT_RETEST;
			struct nd_hunt_trial t = { .asked_per_s = h.asked_per_s,
						   .offered_per_s = h.asked_per_s };

			if (again)
				t.offered_per_s *= cases[i].share[n < 6 ? n++ : 5];
			t.delivered_per_s = t.offered_per_s;
			nd_hunt_take(&h, &t);
		}
		if (strcmp(nd_hunt_confidence(&h), cases[i].confidence) != 0)
			fail_msg("row %zu: confidence %s, %g", i, nd_hunt_confidence(&h),
				 h.passed_per_s);
		assert_true(h.passed_per_s >= 900 && h.passed_per_s <= 1000);
		if (!strcmp(cases[i].confidence, "high"))
			assert_true(h.passed_per_s > 989);
	}
}

/* A link that carries so much, before which datagrams wait, and which may let some through at once after a rest. */
struct link {
	double carries_per_s, room, credit, drops_ratio;
	double late_s; /* how late the receiver's window ends, more or less, in turn */
};

#define WARMUP_S 0.2
#define USUAL_S  2.0
#define WIDEST   1.13 /* of the truth: a second of credit in long trials of eight */

static double came(const struct link *l, double in, double seconds)
{
	return fmin(in, l->credit + l->carries_per_s * seconds);
}

static struct nd_hunt_trial cross(const struct link *l, const struct nd_hunt *h, double sender)
{
	double window = USUAL_S * (h->is_long ? ND_SEARCH_LONGER : 1), all = WARMUP_S + window;
	double late = h->trials % 2 ? l->late_s : -l->late_s;
	struct nd_hunt_trial t = { .asked_per_s = h->asked_per_s, .window_s = window, .flows = 1 };
	double rate = t.asked_per_s > 0 ? fmin(t.asked_per_s, sender) : sender, in, lost;

	in = rate * (1 - l->drops_ratio);
	lost = fmax(in * all - came(l, in * all, all) - l->room, 0) + rate * all * l->drops_ratio;
	t.offered_per_s = rate;
	t.seconds = all;
	t.delivered_per_s =
		(came(l, in * (all - late), all) - came(l, in * WARMUP_S, WARMUP_S)) / window;
	t.lost_ratio = lost / (rate * all);
	return t;
}

/* clang-format off */
static const struct {
	const char *name;
	struct link link;
	double bound, cap;
	double truth;      /* above any cap: none is known */
	const char *limit; /* NULL: any */
	unsigned trials;   /* at most */
} links[] = {
	{ "no queue",             { 1200, 0, 0, 0, 0 },          0,     0,     1200, "loss",  20 },
	{ "a short queue",        { 1200, 6, 0, 0, 0 },          0,     0,     1200, NULL,    20 },
	{ "of 20 ms",             { 1200, 24, 0, 0, 0 },         0.001, 3000,  1201, NULL,    25 },
	{ "of a second",          { 1200, 1200, 0, 0, 0 },       0,     3000,  1200, "queue", 25 },
	{ "the same, unlimited",  { 1200, 1200, 0, 0, 0 },       0.001, 0,     1201, "queue", 25 },
	{ "of a minute",          { 1200, 72000, 0, 0, 0 },      0,     0,     1200, "queue", 25 },
	{ "may lose 2 %",         { 1200, 1200, 0, 0, 0 },       0.02,  3000,  1224, NULL,    25 },
	{ "a filter's burst",     { 5000, 0, 200, 0, 0 },        0.005, 20000, 5025, "loss",  30 },
	{ "a bucket of 64 KiB",   { 1200, 0, 64, 0, 0 },         0,     3000,  1200, "loss",  30 },
	{ "of a second",          { 1200, 0, 1200, 0, 0 },       0,     3000,  1200, "loss",  40 },
	{ "both",                 { 1200, 600, 600, 0, 0 },      0,     3000,  1200, NULL,    40 },
	{ "1 in 100, 2 % may go", { 1e9, 0, 0, 0.01, 0 },        0.02,  5000,  1e9,  "asked", 3 },
	{ "the same, a queue",    { 1200, 1200, 0, 0.01, 0 },    0.02,  3000,  1224, NULL,    30 },
	{ "fast",                 { 2e5, 8000, 0, 0, 0 },        0.001, 0,     200200, NULL,  30 },
	{ "edges sway",           { 1200, 1200, 0, 0, 0.004 },   0,     3000,  1200, "queue", 40 },
	{ "edges sway, no limit", { 1e9, 0, 0, 0, 0.004 },       0,     3000,  1e9,  "asked", 3 },
};

/* clang-format on */

/* What it says of the interval holds, whatever queue or credit lets short trials pass. */
static void holds_the_truth(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		double truth = links[i].truth, low, high;
		struct nd_hunt h;

		print_message("%s\n", links[i].name);
		nd_hunt_begin(&h, links[i].bound, links[i].cap);
		while (h.phase != ND_HUNT_END) {
			const struct nd_hunt_trial t = cross(&links[i].link, &h, 500e3);

			nd_hunt_take(&h, &t);
		}
		low = nd_hunt_low(&h);
		high = h.failed_per_s > 0 ? h.failed_per_s : truth;
		if (!(low <= truth * 1.000001) || high < truth * 0.999999 ||
		    low < 0.9 * fmin(truth, h.passed_per_s))
			fail_msg("%s: %g to %g is without %g", links[i].name, low, high, truth);
		if (h.trials > links[i].trials || high > truth * WIDEST)
			fail_msg("%s: %g, at most %g in %u trials", links[i].name, h.passed_per_s,
				 high, h.trials);
		if (links[i].limit)
			assert_string_equal(nd_hunt_limit(&h), links[i].limit);
	}
}

/* Lost, or late, beyond what edges of windows explain. */
static void says_why_a_trial_fails(void **state)
{
	static const struct {
		double bound, offered, delivered, lost, window_s;
		enum nd_hunt_verdict verdict;
	} cases[] = {
		{ 0, 1000, 1000, 0, 1, ND_HUNT_PASSED },
		{ 0, 1000, 994, 0, 1, ND_HUNT_PASSED }, /* 5 ms and two datagrams */
		{ 0, 1000, 992, 0, 1, ND_HUNT_GROWING },
		{ 0, 1000, 998, 0, 10, ND_HUNT_GROWING }, /* the same in a longer one: a queue */
		{ 0.02, 1000, 985, 0.01, 1, ND_HUNT_PASSED },
		{ 0.02, 1000, 985, 0.03, 1, ND_HUNT_LOST },
		{ 0.02, 1000, 970, 0, 1, ND_HUNT_GROWING },
		{ 0, 1000, 900, 1e-6, 1, ND_HUNT_LOST },
		{ 0, 1000, 1000, (double)NAN, 1, ND_HUNT_LOST },
		{ 0, 3, 2, 0, 1, ND_HUNT_PASSED },
		{ 0, 1000, 900, 0, 0, ND_HUNT_PASSED }, /* a window that nobody knows */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct nd_hunt_trial t = { .offered_per_s = cases[i].offered,
						 .delivered_per_s = cases[i].delivered,
						 .lost_ratio = cases[i].lost,
						 .window_s = cases[i].window_s,
						 .flows = 1 };
		struct nd_hunt h;

		nd_hunt_begin(&h, cases[i].bound, 0);
		if (nd_hunt_judge(&h, &t) != cases[i].verdict)
			fail_msg("case %zu: %d", i, (int)nd_hunt_judge(&h, &t));
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
	static const struct path nothing = PATH(500e3, 0, 0, 0, 0);
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
		cmocka_unit_test(outlives_noise),
		cmocka_unit_test(slow_retests_confirm_nothing),
		cmocka_unit_test(holds_the_truth),
		cmocka_unit_test(says_why_a_trial_fails),
		cmocka_unit_test(ends_whatever_comes),
		cmocka_unit_test(does_without_a_blank_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
