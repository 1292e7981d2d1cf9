/* SPDX-License-Identifier: MIT */
/* Requests that wait for their answers. The oldest place is always one that is unanswered, or there is none. */
#include "load/pending.h"

#define ROOM_MIN 1024u
#define ROOM_MAX (1u << 20)

static struct nd_pending_one *at(const struct nd_pending *p, uint64_t number)
{
	return &p->v[number & (p->room - 1)];
}

uint32_t nd_pending_room(double per_s, uint64_t patience_ns)
{
	double want = 2 * per_s * (double)patience_ns / (double)ND_NS_PER_S;
	uint32_t room = ROOM_MIN;

	while (room < ROOM_MAX && (double)room < want)
		room *= 2;
	return room;
}

bool nd_pending_is_full(const struct nd_pending *p)
{
	return p->next - p->first >= p->room;
}

void nd_pending_add(struct nd_pending *p, uint64_t due_ns, uint64_t begun_ns)
{
	*at(p, p->next) = (struct nd_pending_one){ due_ns ? due_ns : 1, begun_ns };
	p->next++;
	p->open++;
}

/* Behind what is answered already. */
static void advance(struct nd_pending *p)
{
	while (p->first < p->next && at(p, p->first)->due_ns == 0)
		p->first++;
}

bool nd_pending_take(struct nd_pending *p, uint64_t number, struct nd_pending_one *ret)
{
	if (number < p->first || number >= p->next || at(p, number)->due_ns == 0)
		return false;
	*ret = *at(p, number);
	at(p, number)->due_ns = 0;
	p->open--;
	advance(p);
	return true;
}

uint32_t nd_pending_drop(struct nd_pending *p)
{
	if (p->open == 0)
		return 0;
	at(p, p->first)->due_ns = 0;
	p->open--;
	advance(p);
	return 1;
}

uint32_t nd_pending_expire(struct nd_pending *p, uint64_t before_ns)
{
	uint32_t n = 0;

	while (p->open > 0 && at(p, p->first)->begun_ns < before_ns)
		n += nd_pending_drop(p);
	return n;
}

uint64_t nd_pending_oldest(const struct nd_pending *p)
{
	return p->open ? at(p, p->first)->begun_ns : UINT64_MAX;
}
