/* SPDX-License-Identifier: MIT */
/* What the ways to move streams have in common. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "engine/call.h"
#include "engine/stream.h"

#define PAGE 4096u
#define SOURCE_LEAST \
	(64u << 10) /* short messages are still sent in whole pages, where pages are sent */
#define PIPE_BYTES (1 << 20)

int nd_source_open(struct nd_source *s, const struct nd_io *io, unsigned lane)
{
	size_t size = ND_MAX(io->tx_size[lane], SOURCE_LEAST), done, n;

	size = (size + PAGE - 1) / PAGE * PAGE;
	*s = (struct nd_source){ 0 };
	s->at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->at == MAP_FAILED) {
		s->at = NULL;
		return -ENOMEM;
	}
	s->size = size;
	for (done = 0; done < size; done += n) {
		n = ND_MIN(size - done, io->tx_size[lane]);
		memcpy(s->at + done, io->tx_buf[lane], n);
	}
	return 0;
}

void nd_source_close(struct nd_source *s)
{
	if (s->at)
		(void)munmap(s->at, s->size); /* it cannot fail on what mmap() gave */
	*s = (struct nd_source){ 0 };
}

int nd_stream_sent(struct nd_io *io, struct nd_flow *f, size_t asked, size_t n)
{
	f->done_bytes += n;
	ND_COUNT_FLOW(io, f, tx_bytes, n);
	if (f->done_bytes >= f->step.bytes)
		ND_COUNT_FLOW(io, f, tx_messages, 1);
	if (n < asked) { /* full: the next call would say EAGAIN */
		f->writable = false;
		ND_COUNT_FLOW(io, f, tx_blocked, 1);
	}
	return 1;
}

int nd_stream_refused(struct nd_io *io, struct nd_flow *f, int code)
{
	if (code != EAGAIN)
		return -code;
	f->writable = false;
	ND_COUNT_FLOW(io, f, tx_blocked, 1);
	return -EAGAIN;
}

int nd_stream_received(struct nd_io *io, struct nd_flow *f, size_t n)
{
	f->done_bytes += n;
	ND_COUNT_FLOW(io, f, rx_bytes, n);
	if (f->step.op != ND_OP_RECV || f->done_bytes >= f->step.bytes)
		ND_COUNT_FLOW(io, f, rx_messages, 1);
	return 1;
}

int nd_stream_empty(struct nd_io *io, struct nd_flow *f, int code)
{
	(void)io;
	f->readable = code != EAGAIN;
	return -code;
}

ssize_t nd_stream_read(struct nd_io *io, struct nd_flow *f, void *room, size_t n, int flags)
{
	ssize_t r;

	do {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		r = nd_call_recv(f->fd, room, n, flags | (io->recv_waits ? 0 : MSG_DONTWAIT));
	} while (r < 0 && nd_call_again(io->recv_waits));
	nd_io_tried(io, r >= 0);
	if (r <= 0)
		return r < 0 ? nd_stream_empty(io, f, errno) : 0;
	/* a short read has emptied the socket, unless it stopped at urgent bytes, or the end is next */
	if ((size_t)r < n && !f->hup && !io->recv_waits)
		f->readable = false;
	return r;
}

void nd_stream_join(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_lane *l = nd_lane_of(io, f);
	int value = (int)ND_MIN(io->plan->lowat_bytes, (uint64_t)INT32_MAX);

	/* an end of the stream wakes whatever is missing; who keeps it open, or sends slowly, would not */
	if (value <= 1 || f->active || f->fd < 0 || l->load->round_trips || io->plan->keep_open ||
	    l->workload->rate_bps || l->workload->rate_ops)
		return;
	if (setsockopt(f->fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value)) < 0)
		return; /* it wakes more often */
}

void nd_stream_lowat(struct nd_io *io, unsigned lane)
{
	for (uint32_t i = 0; i < io->flow_count; i++)
		if (io->flows[i].workload == lane)
			nd_stream_join(io, &io->flows[i]);
}

int nd_pipe_open(int *ret, size_t *ret_size)
{
	int size = PIPE_BYTES;

	if (pipe2(ret, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	/* users without privileges have a limit over all their pipes */
	while (size > (int)PAGE && fcntl(ret[1], F_SETPIPE_SZ, size) < 0)
		size /= 2;
	size = fcntl(ret[1], F_GETPIPE_SZ);
	*ret_size = size > 0 ? (size_t)size : PAGE;
	return 0;
}
