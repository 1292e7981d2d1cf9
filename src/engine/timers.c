/* SPDX-License-Identifier: MIT */
/* A binary heap of timed flows; each knows its place, so that it can be moved. */
#include <errno.h>
#include <stdlib.h>

#include "engine/int.h"

int nd_timers_init(struct nd_timers *t, uint32_t room)
{
	t->n = 0;
	t->v = calloc(room ? room : 1, sizeof(struct nd_flow *));
	return t->v ? 0 : -ENOMEM;
}

void nd_timers_done(struct nd_timers *t)
{
	free(t->v);
	t->v = NULL;
	t->n = 0;
}

static void place(struct nd_timers *t, uint32_t at, struct nd_flow *f)
{
	t->v[at] = f;
	f->timer_slot = at + 1;
}

static void sift_up(struct nd_timers *t, uint32_t at, struct nd_flow *f)
{
	while (at > 0 && t->v[(at - 1) / 2]->timer_ns > f->timer_ns) {
		place(t, at, t->v[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	place(t, at, f);
}

static void sift_down(struct nd_timers *t, uint32_t at, struct nd_flow *f)
{
	uint32_t child;

	for (child = 2 * at + 1; child < t->n; child = 2 * at + 1) {
		if (child + 1 < t->n && t->v[child + 1]->timer_ns < t->v[child]->timer_ns)
			child++;
		if (t->v[child]->timer_ns >= f->timer_ns)
			break;
		place(t, at, t->v[child]);
		at = child;
	}
	place(t, at, f);
}

static void settle(struct nd_timers *t, uint32_t at, struct nd_flow *f)
{
	if (at > 0 && t->v[(at - 1) / 2]->timer_ns > f->timer_ns)
		sift_up(t, at, f);
	else
		sift_down(t, at, f);
}

void nd_timers_set(struct nd_timers *t, struct nd_flow *f, uint64_t at_ns)
{
	f->timer_ns = at_ns;
	settle(t, f->timer_slot ? f->timer_slot - 1 : t->n++, f);
}

void nd_timers_drop(struct nd_timers *t, struct nd_flow *f)
{
	uint32_t at = f->timer_slot - 1;

	if (!f->timer_slot)
		return;
	f->timer_slot = 0;
	if (--t->n > at)
		settle(t, at, t->v[t->n]);
}

uint64_t nd_timers_next(const struct nd_timers *t)
{
	return t->n ? t->v[0]->timer_ns : UINT64_MAX;
}

struct nd_flow *nd_timers_pop(struct nd_timers *t, uint64_t now_ns)
{
	struct nd_flow *f = t->n ? t->v[0] : NULL;

	if (!f || f->timer_ns > now_ns)
		return NULL;
	nd_timers_drop(t, f);
	return f;
}
