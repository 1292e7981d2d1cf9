/* SPDX-License-Identifier: MIT */
/* Shared by the ways to move streams: pages to send from, what is counted behind a call. */
#ifndef ND_ENGINE_STREAM_H
#define ND_ENGINE_STREAM_H

#include "engine/int.h"

/* The lane's payload in pages of its own. Sockets may need them for longer than we do: nobody
 * else may come to write there, so they are mapped, never from the heap. */
struct nd_source {
	uint8_t *at; /* owned; NULL: none */
	size_t size; /* whole pages, at least as much as the lane's buffer */
};

/** nd_source_open() - Return: 0, -ENOMEM. */
ND_MUST_CHECK int nd_source_open(struct nd_source *s, const struct nd_io *io, unsigned lane);
void nd_source_close(struct nd_source *s);

/** nd_stream_piece() - bytes that the flow's step still has to send, up to the end of a buffer
 * of @size that is sent over and over; @ret_from: where in it they begin. */
static inline size_t nd_stream_piece(const struct nd_flow *f, size_t size, size_t *ret_from)
{
	*ret_from = (size_t)(f->done_bytes % size);
	return (size_t)ND_MIN(f->step.bytes - f->done_bytes, size - *ret_from);
}

/** nd_stream_sent() - the socket took @n of @asked bytes: count them. Return: 1. */
int nd_stream_sent(struct nd_io *io, struct nd_flow *f, size_t asked, size_t n);
/** nd_stream_refused() - a call to send ended with @code, an errno. Return: as nd_xfer.move. */
int nd_stream_refused(struct nd_io *io, struct nd_flow *f, int code);

/** nd_stream_wants() - bytes to ask the socket for, of at most @size. */
static inline size_t nd_stream_wants(const struct nd_flow *f, size_t size)
{
	if (f->step.op != ND_OP_RECV || !f->step.bytes)
		return size;
	return (size_t)ND_MIN(f->step.bytes - f->done_bytes, size);
}

/** nd_stream_room() - where the plain way to receive reads to, @ret_size bytes; NULL: nowhere. */
uint8_t *nd_stream_room(const struct nd_io *io, unsigned lane, size_t *ret_size);

/** nd_stream_out() - where the plain way to send takes its bytes from, likewise. */
const uint8_t *nd_stream_out(const struct nd_io *io, unsigned lane, size_t *ret_size);

/** nd_stream_received() - the socket gave @n bytes: count them. Return: 1. */
int nd_stream_received(struct nd_io *io, struct nd_flow *f, size_t n);
/** nd_stream_empty() - a call to receive ended with @code. Return: as nd_xfer.move. */
int nd_stream_empty(struct nd_io *io, struct nd_flow *f, int code);

/** nd_stream_read() - recv() into @room, @flags added; a short read has emptied the socket. Return: bytes,
 * or what nd_xfer.move gives at the end of the stream and for errors. */
ssize_t nd_stream_read(struct nd_io *io, struct nd_flow *f, void *room, size_t n, int flags);

/** nd_stream_lowat() - the lane's receivers wake for as many bytes as the plan asks for. Left alone
 * they stay as they are: 1 MiB saved a fifth of the CPU with MSG_TRUNC behind a sender that copies,
 * cost half as much again behind one that splices, and did nothing for reads that copy. */
void nd_stream_lowat(struct nd_io *io, unsigned lane);
/** nd_stream_join() - the same for one flow, such as one that came later: nd_xfer.join. */
void nd_stream_join(struct nd_io *io, struct nd_flow *f);

/** nd_pipe_open() - of 1 MiB, or as much as is allowed; does not block. Return: 0, -errno. */
ND_MUST_CHECK int nd_pipe_open(int *ret, size_t *ret_size);

#endif
