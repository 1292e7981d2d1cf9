/* SPDX-License-Identifier: MIT */
/*
 * What is worth a line while a run goes on: a ring that one worker writes and the main thread reads now and then. What
 * comes while it is full is left out; sums in later entries are right all the same.
 */
#ifndef ND_STAT_DIARY_H
#define ND_STAT_DIARY_H

#include "base/base.h"
#include "stat/senders.h"

enum nd_diary_what {
	ND_DIARY_COUNT, /* so many messages: .sum, .from of which the entry before it told, .since_ns */
	ND_DIARY_SESSION, /* a sender begins anew: .key */
	ND_DIARY_GAP,     /* numbers of .from to .to did not come: .key, .sum of those so far */
	ND_DIARY_END,     /* a sender's numbers are at an end: .key, .sum */
};

struct nd_diary_entry {
	enum nd_diary_what what;
	uint8_t key[ND_SENDER_KEY];
	uint64_t sum, from, to;
	uint64_t since_ns; /* the entry of the same kind before it, or the first message */
};

struct nd_diary;

/** nd_diary_new() - @every: count entries are that many messages apart, 0: there are none. NULL: no memory. */
struct nd_diary *nd_diary_new(uint64_t every);
void nd_diary_free(struct nd_diary *d);

/* The worker's. */
void nd_diary_put(struct nd_diary *d, const struct nd_diary_entry *e);
/** nd_diary_count() - @sum messages are there by now. */
void nd_diary_count(struct nd_diary *d, uint64_t sum, uint64_t now_ns);

/** nd_diary_take() - one other thread's: the oldest entry. False: there is none. */
bool nd_diary_take(struct nd_diary *d, struct nd_diary_entry *ret);

#endif
