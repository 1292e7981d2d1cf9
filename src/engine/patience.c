/* SPDX-License-Identifier: MIT */
/* A worker with a single flow waits inside its calls, and looks at the clock only where somebody asks for it. */
#include <sys/socket.h>
#include <sys/time.h>

#include "base/fd.h"
#include "engine/int.h"

/* One end sends, the other receives, and a call that waits keeps nothing else from happening. */
static bool is_one_way(const struct nd_lane *l)
{
	return !(l->transport->caps & ND_NET_DATAGRAM) && !l->load->round_trips &&
	       !l->load->connects && l->load->halves <= 1;
}

/* Calls that must not block say so themselves; those that cannot are for streams that go one way. */
static bool may_block(const struct nd_lane *l)
{
	return is_one_way(l) || (!l->tx->never_blocks && !l->rx->never_blocks);
}

/* A connection yet to be made is made so; one that is accepted inherits it. */
static bool block(int fd)
{
	struct timeval t = { .tv_usec = ND_PATIENCE_NS / ND_NS_PER_US };

	if (fd < 0)
		return true;
	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) == 0 &&
	       nd_nonblock(fd, false, NULL) == 0;
}

/* Ends by time alone, and no operation of it goes into a histogram, a header or a schedule. */
static bool is_untimed(const struct nd_io *io, const struct nd_flow *f)
{
	const struct nd_lane *l = nd_lane_of(io, f);
	const struct nd_workload *wl = l->workload;

	if (l->load->times || l->load->halves > 1 || l->frame->fills || io->plan->keep_samples ||
	    wl->rate_ops || wl->rate_bps || wl->total_ops || wl->total_bytes)
		return false;
	return io->plan->untimed || (!f->active && l->load->round_trips);
}

void nd_io_be_patient(struct nd_io *io, struct nd_flow *f)
{
	if ((io->wait && io->wait->idle) || io->nap_room)
		return;
	io->coarse = is_untimed(io, f);
	io->patient = io->blocks = may_block(nd_lane_of(io, f)) && block(f->fd);
	io->one_way = io->patient && is_one_way(nd_lane_of(io, f));
}

void nd_io_settle(struct nd_io *io, struct nd_flow *f, bool waits)
{
	if (io->blocks != waits && io->patient && nd_nonblock(f->fd, !waits, NULL) == 0)
		io->blocks = waits;
}

void nd_io_be_hasty(struct nd_io *io)
{
	uint32_t i;

	io->now_ns = nd_io_true(io);
	for (i = 0; io->patient && i < io->flow_count; i++)
		if (io->flows[i].fd >= 0 && nd_nonblock(io->flows[i].fd, true, NULL) < 0)
			nd_close_p(&io->flows[i].fd); /* it cannot fail on a socket */
	io->patient = io->one_way = io->blocks = io->coarse = false;
}
