/* SPDX-License-Identifier: MIT */
/* Copying, adding and subtracting counters, member by member. */
#include "stat/counters.h"

void nd_counters_read(const struct nd_counters *from, struct nd_counters *ret)
{
#define X(name) ret->name = __atomic_load_n(&from->name, __ATOMIC_RELAXED);
	ND_COUNTERS(X)
#undef X
}

void nd_counters_add(struct nd_counters *sum, const struct nd_counters *c)
{
#define X(name) sum->name += c->name;
	ND_COUNTERS(X)
#undef X
}

void nd_counters_since(struct nd_counters *ret, const struct nd_counters *now,
		       const struct nd_counters *then)
{
#define X(name) ret->name = now->name - then->name;
	ND_COUNTERS(X)
#undef X
}
