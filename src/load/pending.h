/* SPDX-License-Identifier: MIT */
/* Requests that wait for their answers, by number: found in any order, given up in the order they were sent. */
#ifndef ND_LOAD_PENDING_H
#define ND_LOAD_PENDING_H

#include "base/base.h"

struct nd_pending_one {
	uint64_t due_ns;   /* when it was to be sent; 0: it is answered, or was never sent */
	uint64_t begun_ns; /* when it was */
};

/* A ring: .room is a power of two. */
struct nd_pending {
	uint64_t first,
		next; /* numbers: of the oldest that may be unanswered, of the next request */
	uint32_t room, open;      /* .open: how many are unanswered */
	struct nd_pending_one *v; /* borrowed: memory behind the owner's state */
};

/** nd_pending_room() - for so many requests a second that wait up to @patience_ns. */
uint32_t nd_pending_room(double per_s, uint64_t patience_ns);
/** nd_pending_is_full() - is there no room behind the oldest? */
bool nd_pending_is_full(const struct nd_pending *p);
/** nd_pending_add() - the next request; there must be room. */
void nd_pending_add(struct nd_pending *p, uint64_t due_ns, uint64_t begun_ns);
/** nd_pending_take() - an answer to request @number. False: nobody waits for it any more. */
bool nd_pending_take(struct nd_pending *p, uint64_t number, struct nd_pending_one *ret);
/** nd_pending_expire() - give up what was sent before @before_ns. Return: how many. */
uint32_t nd_pending_expire(struct nd_pending *p, uint64_t before_ns);
/** nd_pending_drop() - give up the oldest. Return: 1, or 0 when all are answered. */
uint32_t nd_pending_drop(struct nd_pending *p);
/** nd_pending_oldest() - when the oldest unanswered one was sent; UINT64_MAX: all are answered. */
uint64_t nd_pending_oldest(const struct nd_pending *p);

#endif
