/* SPDX-License-Identifier: MIT */
/* The edges of a run: intervals, and the ends of warm-up, measuring and cool-down. */
#include "run/int.h"

const char *const nd_phase_names[] = { "warmup", "measure", "cooldown", "drain", NULL };

uint64_t nd_schedule_next(const struct nd_schedule *s, enum nd_phase phase, uint64_t at_ns)
{
	uint64_t bound = s->bound[phase];
	uint64_t next = at_ns + s->interval_ns;

	if (next > bound || bound - next < s->least_ns)
		return bound;
	return next;
}

uint64_t nd_schedule_marks(const struct nd_schedule *s)
{
	uint64_t total = s->bound[ND_PHASE_COOLDOWN];

	return total / s->interval_ns + 2 * ND_PHASE_MAX + 2;
}

/* Edges of one phase, its end included; as nd_schedule_next() walks them. */
static uint64_t edges_in(const struct nd_schedule *s, enum nd_phase phase)
{
	uint64_t length = s->bound[phase] - (phase ? s->bound[phase - 1] : 0);
	uint64_t whole = length / s->interval_ns, rest = length % s->interval_ns;

	if (length == 0)
		return 0;
	return ND_MAX(whole + (rest >= s->least_ns && rest > 0), 1);
}

enum nd_phase nd_schedule_phase(const struct nd_schedule *s, uint64_t interval)
{
	uint64_t edges = 0;
	enum nd_phase p;

	for (p = ND_PHASE_WARMUP; p < ND_PHASE_DRAIN; p++) {
		edges += edges_in(s, p);
		if (interval < edges)
			break;
	}
	return p;
}
