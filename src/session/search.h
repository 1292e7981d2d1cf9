/* SPDX-License-Identifier: MIT */
/* The search for the highest rate that loses no more than a bound: told of a trial, it says which is next. */
#ifndef ND_SESSION_SEARCH_H
#define ND_SESSION_SEARCH_H

#include "base/base.h"

#define ND_SEARCH_TRIALS  60u /* at most */
#define ND_SEARCH_RETESTS 2u  /* that the rate found must pass, of at most one more */
#define ND_SEARCH_SCATTER 6u  /* re-tests of a sender that does not come to the same rate twice */
#define ND_SEARCH_DOUBTS  2u  /* failures that may turn out to have been noise */
#define ND_SEARCH_LONGER \
	4u /* times the length of a trial: of a re-test, and where a queue seems to grow */

enum nd_hunt_phase {
	ND_HUNT_SEARCH, /* another rate */
	ND_HUNT_AGAIN,  /* what failed once */
	ND_HUNT_RETEST, /* the best rate */
	ND_HUNT_DOUBT,  /* then the one that failed above it */
	ND_HUNT_END,
};

enum nd_hunt_verdict {
	ND_HUNT_PASSED,
	ND_HUNT_LOST, /* more than the bound, or nobody knows how much */
	ND_HUNT_GROWING, /* less came within the window than was offered in it: a queue took the rest */
};

/* What a trial came to. */
struct nd_hunt_trial {
	double asked_per_s;                    /* 0: as fast as it goes */
	double offered_per_s, delivered_per_s; /* in the window of either end */
	double lost_ratio;                     /* of the whole trial */
	double window_s, seconds;              /* the last: with the warm-up */
	unsigned flows;
};

struct nd_hunt {
	double bound_ratio;
	double cap_per_s; /* never more; 0: as fast as it goes */
	/* the next trial */
	enum nd_hunt_phase phase;
	double asked_per_s; /* 0: as fast as it goes */
	bool is_long;       /* ND_SEARCH_LONGER times the usual length */
	/* so far */
	double passed_per_s,
		passed_asked; /* the highest rate that passed, and what was asked then; 0: none */
	double before_per_s;  /* one that passed below it; 0: none */
	double failed_per_s, failed_asked;  /* the lowest that failed above it; 0: none */
	double above_per_s, above_asked;    /* the next above that one; 0: none */
	double best[1 + ND_SEARCH_RETESTS]; /* rates by which the best one passed, highest first */
	double stride;                      /* how far above the best rate the next one is */
	bool failed_growing, above_growing; /* what those two failed by */
	bool in_long; /* what passed failed when it was longer: all trials are long ones from there */
	double short_failed_per_s;      /* the lowest that failed until then; 0: none */
	double short_s, long_s;         /* trials of either length, with the warm-up; 0: none yet */
	double slack_ratio;             /* nd_hunt_slack() of the last trial that passed */
	double lowest_per_s;            /* below this nothing is tried */
	double fastest_per_s;           /* that the sender ever came to */
	unsigned trials, passes, fails; /* the last two: of the rate in hand */
	unsigned stalls; /* trials in a row that the sender held back although it can go so fast */
	unsigned retests, retests_passed,
		retests_reached; /* the last: of those passed, at the full rate */
	unsigned doubts;         /* failures that were noise */
	unsigned disagreements,
		broken; /* rates that both passed and failed; that failed their re-tests */
	bool sender_limited, out_of_trials;
};

void nd_hunt_begin(struct nd_hunt *h, double bound_ratio, double cap_per_s);
/** nd_hunt_slack() - share of what was offered in the window that may be under way at its end without having been so
 * at its beginning: edges of windows are not alike at both ends. */
double nd_hunt_slack(const struct nd_hunt_trial *t);
/** nd_hunt_judge() - does the trial pass: no more lost than the bound, and, within nd_hunt_slack(), no more missing
 * at the end of the window either? */
enum nd_hunt_verdict nd_hunt_judge(const struct nd_hunt *h, const struct nd_hunt_trial *t);
/** nd_hunt_reached() - did the sender come to the rate that it was asked for? */
bool nd_hunt_reached(const struct nd_hunt_trial *t);
/** nd_hunt_take() - the trial in hand came to @t: .phase and .asked_per_s are those of the next. */
void nd_hunt_take(struct nd_hunt *h, const struct nd_hunt_trial *t);
/** nd_hunt_confidence() - "high", "medium", "low", "sender-limited": what confirmed the rate was held back by the
 * sender, so that a higher one may pass; NULL: nothing was found. */
const char *nd_hunt_confidence(const struct nd_hunt *h);
/** nd_hunt_low() - a rate that what was found cannot be above by luck: a trial may pass for as long as a queue or a
 * bucket's credit lasts, and what failed in short trials says how much of that there can be. NAN: not known. */
double nd_hunt_low(const struct nd_hunt *h);
/** nd_hunt_limit() - "loss", "queue", "sender", "asked"; NULL: nothing was found. */
const char *nd_hunt_limit(const struct nd_hunt *h);

#endif
