/* SPDX-License-Identifier: MIT */
/*
 * Requests under way by number. The kernel numbers stamps by bytes of a stream or by datagrams, in 32 bits; what was
 * sent so far says which of the numbers that end so is meant.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "engine/stamps.h"

#define LEAST 64u

int nd_stamps_init(struct nd_stamps *s, uint64_t request_bytes, uint64_t under_way)
{
	*s = (struct nd_stamps){ .request_bytes = request_bytes, .room = LEAST };
	while (s->room < ND_STAMPS_MOST && s->room < 4 * under_way)
		s->room *= 2;
	s->ring = calloc(s->room, sizeof(*s->ring));
	s->numbers = request_bytes ? NULL : calloc(s->room, sizeof(*s->numbers));
	if (s->ring && (s->numbers || request_bytes))
		return 0;
	nd_stamps_done(s);
	return -ENOMEM;
}

void nd_stamps_done(struct nd_stamps *s)
{
	free(nd_take_ptr(s->ring));
	free(nd_take_ptr(s->numbers));
}

static struct nd_stamps_one *place(struct nd_stamps *s, uint64_t number)
{
	return &s->ring[number & (s->room - 1)];
}

void nd_stamps_sent(struct nd_stamps *s, uint64_t number, uint64_t begun_ns, uint64_t n)
{
	struct nd_stamps_one *one = place(s, number);

	if (one->number != number + 1 || s->numbers)
		*one = (struct nd_stamps_one){ .number = number + 1, .begun_ns = begun_ns };
	s->calls++;
	if (s->numbers) {
		s->numbers[s->sent & (s->room - 1)] = number + 1;
		s->sent++;
		s->asked++;
		return;
	}
	s->sent += n;
	s->asked = s->sent / s->request_bytes;
}

struct nd_stamps_one *nd_stamps_find(struct nd_stamps *s, uint64_t number)
{
	struct nd_stamps_one *one = place(s, number);

	return one->number == number + 1 ? one : NULL;
}

void nd_stamps_told(struct nd_stamps *s, uint32_t id, uint64_t tx_ns)
{
	struct nd_stamps_one *one;
	uint64_t at, number;

	s->told++;
	if (s->sent == 0)
		return;
	/* the last byte, or datagram, that was sent and whose number ends so */
	at = s->sent - 1;
	if (at < (uint32_t)((uint32_t)at - id))
		return;
	at -= (uint32_t)((uint32_t)at - id);
	if (s->numbers) {
		if (s->sent - at > s->room || s->numbers[at & (s->room - 1)] == 0)
			return;
		number = s->numbers[at & (s->room - 1)] - 1;
	} else if ((at + 1) % s->request_bytes == 0) {
		number = at / s->request_bytes;
	} else {
		return; /* in the middle of a request */
	}
	one = nd_stamps_find(s, number);
	if (one)
		one->tx_ns = tx_ns;
}
