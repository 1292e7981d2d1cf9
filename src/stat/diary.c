/* SPDX-License-Identifier: MIT */
/* A ring with one writer and one reader. */
#include <stdatomic.h>
#include <stdlib.h>

#include "stat/diary.h"

#define ENTRIES 4096u

struct nd_diary {
	uint64_t every, next;   /* the worker's */
	uint64_t last, last_ns; /* of the count entry before */
	_Atomic uint64_t head;  /* writer: the worker */
	_Atomic uint64_t tail;  /* writer: who reads */
	struct nd_diary_entry v[ENTRIES];
};

struct nd_diary *nd_diary_new(uint64_t every)
{
	struct nd_diary *d = calloc(1, sizeof(*d));

	if (d)
		d->every = d->next = every;
	return d;
}

void nd_diary_free(struct nd_diary *d)
{
	free(d);
}

void nd_diary_put(struct nd_diary *d, const struct nd_diary_entry *e)
{
	uint64_t head = atomic_load_explicit(&d->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&d->tail, memory_order_acquire) == ENTRIES)
		return;
	d->v[head % ENTRIES] = *e;
	atomic_store_explicit(&d->head, head + 1, memory_order_release);
}

void nd_diary_count(struct nd_diary *d, uint64_t sum, uint64_t now_ns)
{
	struct nd_diary_entry e = { .what = ND_DIARY_COUNT, .sum = sum, .from = d->last };

	if (!d->last_ns)
		d->last_ns = now_ns;
	if (!d->every || sum < d->next)
		return;
	e.since_ns = now_ns - d->last_ns;
	d->last = sum;
	d->last_ns = now_ns;
	d->next = sum - sum % d->every + d->every;
	nd_diary_put(d, &e);
}

bool nd_diary_take(struct nd_diary *d, struct nd_diary_entry *ret)
{
	uint64_t tail = atomic_load_explicit(&d->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&d->head, memory_order_acquire))
		return false;
	*ret = d->v[tail % ENTRIES];
	atomic_store_explicit(&d->tail, tail + 1, memory_order_release);
	return true;
}
