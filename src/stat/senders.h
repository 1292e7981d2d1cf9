/* SPDX-License-Identifier: MIT */
/*
 * Who sent to a socket that many send to, and how much: a table of fixed size that forgets whoever has been silent for
 * longest. One worker's.
 */
#ifndef ND_STAT_SENDERS_H
#define ND_STAT_SENDERS_H

#include "base/base.h"

#define ND_SENDER_KEY 20u /* bytes: address, port, 1 for IPv6, and zeroes */

struct nd_sender {
	uint8_t key[ND_SENDER_KEY];
	bool has_begun; /* it said so, or is new: the counts are all of what it sent since */
	uint64_t messages, bytes;
	uint64_t first_ns, last_ns; /* of what is counted; 0: nothing yet */
	uint64_t used;              /* the table's clock */
	/* where gaps in its numbers are looked for */
	bool is_numbered; /* it has begun */
	uint64_t highest,
		missing; /* number so far; those below it that did not come when they should */
};

struct nd_senders;

/** nd_senders_new() - NULL: no memory. */
struct nd_senders *nd_senders_new(void);
void nd_senders_free(struct nd_senders *s);
/** nd_senders_at() - of @i-th place, which may be nobody's: .used is 0. NULL: there is no such place. */
const struct nd_sender *nd_senders_at(const struct nd_senders *s, size_t i);
/** nd_senders_of() - the one with that key, or a new one in an old one's place. Never NULL; until the next call. */
struct nd_sender *nd_senders_of(struct nd_senders *s, const uint8_t key[ND_SENDER_KEY]);

#endif
