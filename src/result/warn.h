/* SPDX-License-Identifier: MIT */
/* Private to result/warn*.c: what a warning looks at, its row, and how figures stand in sentences. */
#ifndef ND_RESULT_WARN_H
#define ND_RESULT_WARN_H

#include <stdio.h>

#include "result/int.h"
#include "result/scale.h"

#define TIMES(n)     ((n) == 1 ? "" : "s")
#define NUMBER(n)    ((unsigned long long)(n))
#define FIGURE(v, m) (nd_figure_of((v), (m)).text) /* lives until the end of the expression */
#define RATE(v)      FIGURE(v, ND_M_BITRATE)
#define SHARE(v)     FIGURE(v, ND_M_RATIO)
#define SIZE(n)      FIGURE((double)(n), ND_M_BYTES)

#define ND_BUSY_RATIO 0.95

/* What a row looks at. Sides of a direction are NULL when not told. */
struct nd_subject {
	struct nd_result *r; /* rows only read it */
	const struct nd_direction *d;
	const struct nd_side *sender, *receiver; /* of d */
	const struct nd_side *side;              /* ABOUT_SIDE: never NULL */
};

enum nd_about { ABOUT_RESULT, ABOUT_DIRECTION, ABOUT_SIDE };

struct nd_warn_row {
	const char *key;
	enum nd_about about;
	bool (*holds)(const struct nd_subject *s);
	void (*say)(const struct nd_subject *s, struct nd_str *out);
};

/* A figure as the text report has it, for a sentence. */
struct nd_figure {
	char text[32];
};

static inline struct nd_figure nd_figure_of(double value, enum nd_measure m)
{
	struct nd_figure ret = { 0 };
	nd_auto_str text = { 0 };

	nd_scaled_text(&text, value, m);
	(void)snprintf(ret.text, sizeof(ret.text), "%s", nd_str_text(&text)); /* fits */
	return ret;
}

static inline bool nd_some(uint64_t v)
{
	return nd_known(v) && v > 0;
}

/* Both ends of one machine are one subject. */
static inline const char *nd_name_of(const struct nd_subject *s, const struct nd_side *side)
{
	return s->r->same_host ? "this machine" : side == s->r->client ? "client" : "server";
}

/* Is one core what may limit it? */
static inline bool nd_is_bound(const struct nd_side *side)
{
	return side && side->machine.busiest_ratio >= ND_BUSY_RATIO;
}

/* Lists of the other files, each in its order of importance; the last row has no key: bytes that were moved, or
 * were not; bytes and messages against what was asked for; what in a machine held them back or lost them; what else
 * is odd about a machine; requests and connections; times beside a load. */
extern const struct nd_warn_row nd_warn_moved[], nd_warn_asked[], nd_warn_limits[], nd_warn_host[],
	nd_warn_asks[], nd_warn_loaded[];

#endif
