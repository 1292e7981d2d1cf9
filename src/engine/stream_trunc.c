/* SPDX-License-Identifier: MIT */
/* Streams by recv() with MSG_TRUNC: the kernel counts the bytes and drops them. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/stream.h"

#define RECV_BYTES (1ull << 20)

/* Sockets that copy all the same (other than TCP) do no harm: there is room, untouched as long
 * as none does. */
struct trunc {
	uint8_t *room; /* owned */
	size_t size;
};

static void close_trunc(struct nd_io *io, unsigned lane)
{
	struct trunc *s = io->rx_state[lane];

	if (s && s->room)
		(void)munmap(s->room, s->size); /* it cannot fail on what mmap() gave */
	nd_free_p(&io->rx_state[lane]);
}

static int open_trunc(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct trunc *s;
	void *room;

	if (!nd_lane_receives(io, lane))
		return 0;
	io->rx_state[lane] = s = calloc(1, sizeof(*s));
	room = mmap(NULL, RECV_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!s || room == MAP_FAILED)
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	s->room = room;
	s->size = RECV_BYTES;
	nd_stream_lowat(io, lane);
	return 0;
}

static int recv_trunc(struct nd_io *io, struct nd_flow *f)
{
	const struct trunc *s = io->rx_state[f->workload];
	ssize_t r = nd_stream_read(io, f, s->room, nd_stream_wants(f, s->size), MSG_TRUNC);

	return r <= 0 ? (int)r : nd_stream_received(io, f, (size_t)r);
}

const struct nd_xfer nd_xfer_stream_trunc = {
	.name = "trunc",
	.help = "recv() with MSG_TRUNC: bytes are counted and dropped, not copied",
	.stream = true,
	.blind = true,
	.open = open_trunc,
	.close = close_trunc,
	.move = recv_trunc,
	.join = nd_stream_join,
};
