/* SPDX-License-Identifier: MIT */
/*
 * sockperf's messages, shared inside frame/: 14 bytes of header, big-endian and without gaps, then anything. What is one
 * short message in a datagram has a way of its own (sockperf.c), all else is the client's (sockperf_ask.c) or the server's
 * (sockperf_turn.c).
 */
#ifndef ND_FRAME_SOCKPERF_H
#define ND_FRAME_SOCKPERF_H

#include <endian.h>
#include <string.h>

#include "frame/int.h"
#include "plan/sockperf.h"

enum { ND_SP_NUMBER_AT = 0, ND_SP_FLAGS_AT = 8, ND_SP_LENGTH_AT = 10 };

enum { ND_SP_FROM_CLIENT = 1, ND_SP_WANTS_ANSWER = 2, ND_SP_WARM_UP = 4, ND_SP_TELLS = 0x8000 };

/*
 * A question that only servers of this program answer: what has arrived? It lacks the bit of clients' messages, so that
 * others ignore it without a word. Number: 0, begin to count; else the how manyth try. Behind the header messages, bytes,
 * and ns from the first to the last of them, all ones where they are not known.
 */
enum { ND_SP_QUESTION = ND_SP_TELLS, ND_SP_TALE = ND_SP_TELLS | ND_SP_WANTS_ANSWER };

/* A stream of messages, as far as it was written, or read. */
struct nd_sp_stream {
	uint64_t number; /* of the message under way */
	uint64_t made;   /* messages begun */
	uint32_t length, at;
	uint8_t head[ND_SOCKPERF_HEADER];
	bool passes; /* reading: the message under way goes back */
	bool counts; /* reading: it is counted when all of it is there */
	bool tells;  /* reading: what goes back, or has come, is in .tale */
	uint8_t tale[ND_SOCKPERF_TALE];
	struct nd_sender peer; /* server: of a stream there is one */
	bool compares;         /* reading: it is an answer whose bytes are known */
	bool is_broken;        /* it cannot be read any further */
};

struct nd_sp_own {
	struct nd_sp_stream now, before; /* writing: before the last piece, for unfill() */
	bool was_told;
};

static inline void nd_sp_put(uint8_t *at, uint64_t number, unsigned flags, uint32_t length)
{
	uint64_t be_number = htobe64(number);
	uint16_t be_flags = htobe16((uint16_t)flags);
	uint32_t be_length = htobe32(length);

	memcpy(at + ND_SP_NUMBER_AT, &be_number, sizeof(be_number));
	memcpy(at + ND_SP_FLAGS_AT, &be_flags, sizeof(be_flags));
	memcpy(at + ND_SP_LENGTH_AT, &be_length, sizeof(be_length));
}

static inline uint64_t nd_sp_number(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at + ND_SP_NUMBER_AT, sizeof(v));
	return be64toh(v);
}

static inline unsigned nd_sp_flags(const uint8_t *at)
{
	uint16_t v;

	memcpy(&v, at + ND_SP_FLAGS_AT, sizeof(v));
	return be16toh(v);
}

static inline uint32_t nd_sp_length(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at + ND_SP_LENGTH_AT, sizeof(v));
	return be32toh(v);
}

static inline void nd_sp_count(uint64_t *c, uint64_t *sum, uint64_t n)
{
	if (n == 0)
		return;
	nd_count(c, n);
	nd_count(sum, n);
}

/** nd_sp_asking() - flags of the client's message @number. */
static inline unsigned nd_sp_asking(const struct nd_frame_state *s, uint64_t number)
{
	return ND_SP_FROM_CLIENT | (nd_samples_asks(s->samples, number) ? ND_SP_WANTS_ANSWER : 0u);
}

/* One message of @n bytes or more: its length, or 0: it is none. */
static inline uint32_t nd_sp_message(const struct nd_frame_state *s, const uint8_t *at, size_t n)
{
	uint32_t length = n >= ND_SOCKPERF_HEADER ? nd_sp_length(at) : 0;

	return length >= ND_SOCKPERF_HEADER && length <= n && length <= s->message_bytes ? length
											 : 0;
}

static inline void nd_sp_count_message(struct nd_sender *peer, uint32_t length, uint64_t now_ns)
{
	peer->messages++;
	peer->bytes += length;
	peer->last_ns = now_ns;
	if (!peer->first_ns)
		peer->first_ns = now_ns;
}

/* Any of them: as fill, unfill, take and turn of the frame. */
void nd_sp_fill(struct nd_frame_state *s, struct nd_batch *b);
void nd_sp_unfill(struct nd_frame_state *s, uint32_t unsent);
uint32_t nd_sp_take(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
		    struct nd_counters *sum);
uint32_t nd_sp_turn(struct nd_frame_state *s, struct nd_batch *b, struct nd_counters *c,
		    struct nd_counters *sum);

#endif
