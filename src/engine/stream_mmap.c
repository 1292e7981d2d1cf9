/* SPDX-License-Identifier: MIT */
/*
 * Streams by TCP_ZEROCOPY_RECEIVE: whole pages of what came are mapped instead of copied, where a
 * network card puts them down so; the rest is read as usual. Each call takes the place of the pages
 * mapped by the one before. /
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/stream.h"

#define MAP_BYTES  (1u << 20)
#define ROOM_BYTES (256u << 10)

struct window {
	void *at;      /* owned; NULL: not mapped yet */
	uint8_t *room; /* owned: for what cannot be mapped */
	bool cannot;   /* this kind of socket does not do it */
};

static void close_mmap(struct nd_io *io, unsigned lane)
{
	struct window *s = io->rx_state[lane];

	if (s && s->at)
		(void)munmap(s->at, MAP_BYTES); /* it cannot fail on what mmap() gave */
	if (s)
		free(s->room);
	nd_free_p(&io->rx_state[lane]);
}

/* Any TCP socket's mapping serves all of them. */
static void map(struct window *s, int fd)
{
	s->at = mmap(NULL, MAP_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (s->at != MAP_FAILED)
		return;
	s->at = NULL;
	s->cannot = true;
}

static int open_mmap(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct window *s;
	uint32_t i;

	if (!nd_lane_receives(io, lane))
		return 0;
	io->rx_state[lane] = s = calloc(1, sizeof(*s));
	if (!s || !(s->room = nd_buffer_new(ROOM_BYTES)))
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	for (i = 0; i < io->flow_count && !s->at && !s->cannot; i++)
		if (io->flows[i].workload == lane && io->flows[i].fd >= 0)
			map(s, io->flows[i].fd);
	if (s->cannot)
		return nd_fail(err, -EOPNOTSUPP, "--rx mmap: this kind of socket does not do it");
	nd_stream_lowat(io, lane);
	return 0;
}

/* Return: bytes mapped; *ret_rest: bytes behind them that must be read, as far as known. */
static size_t map_pages(const struct window *s, const struct nd_flow *f, size_t most,
			size_t *ret_rest)
{
	struct tcp_zerocopy_receive z = { .address = (uint64_t)(uintptr_t)s->at,
					  .length = (uint32_t)ND_MIN(most, MAP_BYTES) };
	socklen_t len = sizeof(z);

	*ret_rest = most;
	if (getsockopt(f->fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &z, &len) < 0)
		return 0; /* reading tells why */
	if (z.length || z.recv_skip_hint)
		*ret_rest = ND_MIN(most - z.length, (size_t)z.recv_skip_hint);
	return z.length;
}

/* A short count may be the hint's doing: only EAGAIN says that the socket is empty. */
static int recv_mmap(struct nd_io *io, struct nd_flow *f)
{
	struct window *s = io->rx_state[f->workload];
	size_t most = nd_stream_wants(f, MAP_BYTES), mapped = 0, rest = most;
	ssize_t r = 0;
	int code;

	if (!s->at && !s->cannot)
		map(s, f->fd); /* the first flow that came while it ran */
	if (s->at && most >= 4096) {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		mapped = map_pages(s, f, most, &rest);
	}
	while (rest) {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		r = recv(f->fd, s->room, ND_MIN(rest, (size_t)ROOM_BYTES), MSG_DONTWAIT);
		if (r >= 0 || errno != EINTR)
			break;
	}
	code = errno;
	io->now_ns = nd_now_ns();
	if (mapped == 0 && r <= 0)
		return r < 0 ? nd_stream_empty(io, f, code) : 0;
	return nd_stream_received(io, f, mapped + (r > 0 ? (size_t)r : 0));
}

const struct nd_xfer nd_xfer_stream_mmap = {
	.name = "mmap",
	.help = "TCP_ZEROCOPY_RECEIVE: whole pages are mapped, the rest is copied",
	.stream = true,
	.blind = true,
	.open = open_mmap,
	.close = close_mmap,
	.move = recv_mmap,
	.join = nd_stream_join,
};
