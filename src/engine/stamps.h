/* SPDX-License-Identifier: MIT */
/* Which request a stamp of the kernel belongs to: a flow's requests under way. Memory only. */
#ifndef ND_ENGINE_STAMPS_H
#define ND_ENGINE_STAMPS_H

#include "base/base.h"

#define ND_STAMPS_MOST 16384u /* requests that are remembered of a flow, at most */

struct nd_stamps_one {
	uint64_t number;   /* of the request, plus 1; 0: none */
	uint64_t begun_ns; /* before the call that sent it */
	uint64_t tx_ns;    /* handed to the device; 0: not told yet */
	/* an answer: when its request was at the stack, 0: no stamp; when the program had it */
	uint64_t rx_ns, got_ns;
};

struct nd_stamps {
	struct nd_stamps_one *ring; /* owned; by number */
	uint64_t *numbers;          /* owned: request of each datagram; NULL: a stream */
	uint64_t request_bytes;     /* stream: of each request */
	uint32_t room;              /* a power of two */
	uint64_t sent;              /* bytes, or datagrams, that the socket took */
	uint64_t calls, told;       /* sends, and stamps of them */
	uint64_t asked, answered;   /* requests that were sent whole; answers that came whole */
	uint64_t rx_ns, got_ns; /* the answering end's: of the request that came last, likewise */
};

/** nd_stamps_init() - for @under_way requests without an answer. @request_bytes: 0: datagrams. -ENOMEM. */
ND_MUST_CHECK int nd_stamps_init(struct nd_stamps *s, uint64_t request_bytes, uint64_t under_way);
void nd_stamps_done(struct nd_stamps *s);

/** nd_stamps_sent() - a call sent @n bytes of request number @number, or the one datagram that is it. */
void nd_stamps_sent(struct nd_stamps *s, uint64_t number, uint64_t begun_ns, uint64_t n);
/** nd_stamps_told() - the kernel's stamp of a send: @id as it counts, bytes or datagrams, 32 bits of it. */
void nd_stamps_told(struct nd_stamps *s, uint32_t id, uint64_t tx_ns);
/** nd_stamps_find() - NULL: nobody waits for its answer, or too many came behind it. */
struct nd_stamps_one *nd_stamps_find(struct nd_stamps *s, uint64_t number);

/** nd_stamps_wait() - are there sends whose stamps have not come? */
static inline bool nd_stamps_wait(const struct nd_stamps *s)
{
	return s->told < s->calls;
}

#endif
