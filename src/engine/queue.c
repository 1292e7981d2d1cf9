/* SPDX-License-Identifier: MIT */
/* Whose turn is next: a ring of flows that can proceed, a heap of those that wait for an instant. */
#include <errno.h>
#include <stdlib.h>

#include "engine/int.h"

int nd_queue_init(struct nd_queue *q, const struct nd_io *io)
{
	*q = (struct nd_queue){ .room = nd_io_room(io) };
	q->ring = calloc(q->room, sizeof(struct nd_flow *));
	return q->ring ? nd_timers_init(&q->timers, q->room) : -ENOMEM;
}

void nd_queue_done(struct nd_queue *q)
{
	nd_timers_done(&q->timers);
	free(q->ring);
	q->ring = NULL;
	q->n = 0;
}

void nd_queue_push(struct nd_queue *q, struct nd_flow *f)
{
	if (f->queued)
		return;
	f->queued = true;
	q->ring[(q->head + q->n++) % q->room] = f;
}

struct nd_flow *nd_queue_pop(struct nd_queue *q)
{
	struct nd_flow *f = q->ring[q->head];

	q->head = (q->head + 1) % q->room;
	q->n--;
	f->queued = false;
	return f;
}

void nd_queue_file(struct nd_queue *q, struct nd_flow *f)
{
	uint64_t due = nd_flow_due(f);

	if (f->state == ND_FLOW_READY)
		nd_queue_push(q, f);
	else if (f->state == ND_FLOW_DONE)
		nd_timers_drop(&q->timers, f);
	/* a patience moves with every transaction: an entry that is too early is set right when it comes up */
	else if (due != UINT64_MAX &&
		 (f->state == ND_FLOW_TIMED || !f->timer_slot || f->timer_ns > due))
		nd_timers_set(&q->timers, f, due);
}

void nd_queue_due(struct nd_queue *q, uint64_t now_ns)
{
	struct nd_flow *f;

	while ((f = nd_timers_pop(&q->timers, now_ns))) {
		if (nd_flow_due(f) <= now_ns)
			f->state = ND_FLOW_READY;
		nd_queue_file(q, f);
	}
}
