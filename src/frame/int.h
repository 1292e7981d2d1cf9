/* SPDX-License-Identifier: MIT */
/* Shared inside frame/: the frames, the native datagram header, the verify pattern. */
#ifndef ND_FRAME_INT_H
#define ND_FRAME_INT_H

#include "frame/frame.h"

#define X(name) extern const struct nd_frame nd_frame_##name;
#include "frame/frames.def"
#undef X

#define ND_HEADER_BYTES 8u  /* big-endian: 24 bits flow number, 40 bits sequence number */
#define ND_STAMP_BYTES  16u /* with the sender's monotonic clock behind it, ns, 64 bits big-endian */

/* What a batch came to; added to the counters once. */
struct nd_tally {
	uint64_t messages, unique, duplicate, reordered, foreign, corrupt;
};

/** nd_header_bytes() - header of a message of @bytes: 0, 8 or 16. */
static inline size_t nd_header_bytes(size_t bytes)
{
	return bytes >= ND_STAMP_BYTES    ? ND_STAMP_BYTES
	       : bytes >= ND_HEADER_BYTES ? ND_HEADER_BYTES
					  : 0;
}

void nd_header_put(uint8_t *at, size_t bytes, uint64_t flow, uint64_t seq, uint64_t now_ns);

/**
 * nd_header_take() - does message @i of @b belong to the flow, and which one is it?
 * Counts it into @tally, follows sequence and jitter, sets s->next. Return: true when it does; false:
 * foreign, counted as that.
 */
bool nd_header_take(struct nd_frame_state *s, const struct nd_batch *b, uint32_t i,
		    struct nd_tally *tally);

/** nd_frame_tally() - count a message by what its number said of it. */
static inline void nd_frame_tally(enum nd_seq_kind kind, struct nd_tally *tally)
{
	tally->unique += kind != ND_SEQ_DUPLICATE;
	tally->duplicate += kind == ND_SEQ_DUPLICATE;
	tally->reordered += kind != ND_SEQ_NEW && kind != ND_SEQ_DUPLICATE;
}

/** nd_tally_count() - into both sets of counters. @highest: how far rx_highest has moved. */
void nd_tally_count(const struct nd_tally *t, uint64_t highest, struct nd_counters *c,
		    struct nd_counters *sum);

/** nd_pattern_fill() - the bytes at offset @at of stream @key. */
void nd_pattern_fill(uint8_t *buf, size_t n, uint64_t key, uint64_t at);
/** nd_pattern_check() - how many bytes differ. */
uint64_t nd_pattern_check(const uint8_t *buf, size_t n, uint64_t key, uint64_t at);

#endif
