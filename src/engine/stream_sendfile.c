/* SPDX-License-Identifier: MIT */
/* Streams by sendfile() from a file in memory, one for each worker: no copy at the sender. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/stream.h"

struct file {
	int fd; /* owned */
	size_t size;
};

static void close_sendfile(struct nd_io *io, unsigned lane)
{
	struct file *s = io->tx_state[lane];

	if (s)
		nd_close_p(&s->fd);
	nd_free_p(&io->tx_state[lane]);
}

static int fill_file(struct file *s, const struct nd_source *from, struct nd_err *err)
{
	size_t done = 0;

	s->fd = memfd_create("netdyno", MFD_CLOEXEC);
	if (s->fd < 0)
		return nd_sysfail(err, "--tx sendfile: a file in memory");
	while (done < from->size) {
		ssize_t r = write(s->fd, from->at + done, from->size - done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return nd_sysfail(err, "--tx sendfile: a file in memory");
		done += (size_t)r;
	}
	s->size = done;
	return 0;
}

static int open_sendfile(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct nd_source from;
	struct file *s;
	int r;

	if (!nd_lane_sends(io, lane))
		return 0;
	io->tx_state[lane] = s = calloc(1, sizeof(*s));
	if (s)
		s->fd = -1;
	if (!s || nd_source_open(&from, io, lane) < 0)
		return nd_fail(err, -ENOMEM, "no memory for buffers");
	r = fill_file(s, &from, err);
	nd_source_close(&from);
	return r;
}

/* It moves through a pipe, too: as with splice(), a short count does not say that the socket is full. */
static int send_file(struct nd_io *io, struct nd_flow *f)
{
	const struct file *s = io->tx_state[f->workload];
	size_t from, n = nd_stream_piece(f, s->size, &from);
	ssize_t r;
	int code;

	nd_io_settle(io, f, io->send_waits);
	do {
		off_t at = (off_t)from;

		ND_COUNT_FLOW(io, f, tx_calls, 1);
		r = sendfile(f->fd, s->fd, &at, n);
	} while (r < 0 && nd_call_again(io->send_waits));
	code = errno;
	io->now_ns = nd_now_ns();
	return r < 0 ? nd_stream_refused(io, f, code) : nd_stream_sent(io, f, (size_t)r, (size_t)r);
}

const struct nd_xfer nd_xfer_stream_sendfile = {
	.name = "sendfile",
	.help = "sendfile() from memory: no copy at the sender",
	.sends = true,
	.stream = true,
	.blind = true,
	.never_blocks = true,
	.open = open_sendfile,
	.close = close_sendfile,
	.move = send_file,
};
