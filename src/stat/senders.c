/* SPDX-License-Identifier: MIT */
/* Sets of a few places each; a sender lies in the set of its hash. */
#include <stdlib.h>
#include <string.h>

#include "stat/senders.h"

enum { SETS = 1024, PLACES = 4 };

struct nd_senders {
	struct nd_sender v[SETS][PLACES];
	struct nd_sender *last; /* datagrams of one sender often come together */
	uint64_t clock;
};

struct nd_senders *nd_senders_new(void)
{
	return calloc(1, sizeof(struct nd_senders));
}

void nd_senders_free(struct nd_senders *s)
{
	free(s);
}

const struct nd_sender *nd_senders_at(const struct nd_senders *s, size_t i)
{
	return i < (size_t)SETS * PLACES ? &s->v[i / PLACES][i % PLACES] : NULL;
}

static unsigned set_of(const uint8_t key[ND_SENDER_KEY])
{
	uint64_t x = 0, word;

	for (unsigned i = 0; i < ND_SENDER_KEY; i += 4) {
		uint32_t part;

		memcpy(&part, key + i, sizeof(part));
		word = part;
		x = (x ^ word) * 0x9e3779b97f4a7c15ull;
		x ^= x >> 29;
	}
	return (unsigned)(x >> 32) % SETS;
}

struct nd_sender *nd_senders_of(struct nd_senders *s, const uint8_t key[ND_SENDER_KEY])
{
	struct nd_sender *set, *oldest;

	s->clock++;
	if (s->last && !memcmp(s->last->key, key, ND_SENDER_KEY)) {
		s->last->used = s->clock;
		return s->last;
	}
	oldest = set = s->v[set_of(key)];
	for (unsigned i = 0; i < PLACES; i++) {
		if (set[i].used && !memcmp(set[i].key, key, ND_SENDER_KEY)) {
			oldest = &set[i];
			break;
		}
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	if (!oldest->used || memcmp(oldest->key, key, ND_SENDER_KEY) != 0) {
		/* where nobody has been forgotten yet it is new: what follows is all of it */
		*oldest = (struct nd_sender){ .has_begun = !oldest->used };
		memcpy(oldest->key, key, ND_SENDER_KEY);
	}
	oldest->used = s->clock;
	return s->last = oldest;
}
