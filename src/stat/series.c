/* SPDX-License-Identifier: MIT */
/* Marks of one worker, appended by it and read by anyone. */
#include <errno.h>
#include <stdlib.h>

#include "stat/series.h"

int nd_series_init(struct nd_series *s, uint32_t room)
{
	room = ND_MAX(room, 1u); /* the last mark is always there to be overwritten */
	s->marks = calloc(room, sizeof(*s->marks));
	s->room = s->marks ? room : 0;
	atomic_init(&s->n, 0);
	return s->marks ? 0 : -ENOMEM;
}

void nd_series_done(struct nd_series *s)
{
	if (!s)
		return;
	free(s->marks);
	s->marks = NULL;
	s->room = 0;
	atomic_init(&s->n, 0);
}

void nd_series_mark(struct nd_series *s, uint64_t at_ns, const struct nd_counters *c)
{
	uint32_t n = atomic_load_explicit(&s->n, memory_order_relaxed), i = ND_MIN(n, s->room - 1);
	struct nd_mark *m = &s->marks[i];

	/* Only a full series writes a mark that readers see: they may meet it half written. */
	__atomic_store_n(&m->at_ns, at_ns, __ATOMIC_RELAXED);
#define X(name) __atomic_store_n(&m->c.name, c->name, __ATOMIC_RELAXED);
	ND_COUNTERS(X)
#undef X
	atomic_store_explicit(&s->n, i + 1, memory_order_release);
}

uint32_t nd_series_count(const struct nd_series *s)
{
	return atomic_load_explicit(&s->n, memory_order_acquire);
}
