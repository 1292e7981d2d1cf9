/* SPDX-License-Identifier: MIT */
/* What a worker does while no flow can proceed. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/int.h"

#define NAP_MAX_NS    ND_NS_PER_MS
#define NAP_MIN_NS    (50 * ND_NS_PER_US) /* shorter ones cost more than they save */
#define NAP_WORTH     32ull               /* datagrams in NAP_MAX_NS: fewer are served one by one */
#define DATAGRAM_COST 1280ull /* what the kernel's buffer counts for one, beside its bytes */

static uint64_t spin(struct nd_io *io, uint64_t now_ns)
{
	(void)io;
	(void)now_ns;
	return 1;
}

bool nd_wait_spins(const struct nd_wait *wait)
{
	return wait && wait->idle == spin;
}

/*
 * A receiver that is woken for every few datagrams costs as much as the datagrams. It may sleep while they
 * gather in the buffer, at the rate seen for half of the time that the buffer lasts.
 */
static void judge_rate(struct nd_io *io, uint64_t now_ns, uint64_t n, uint64_t bytes)
{
	uint64_t t = now_ns - io->nap_from_ns;
	double lasts_ns;

	if (t < NAP_MAX_NS)
		return;
	io->nap_from_ns = now_ns;
	io->nap_seen += n;
	io->nap_seen_bytes += bytes;
	io->nap_ns = 0;
	if (n == 0 || (double)n * NAP_MAX_NS < (double)NAP_WORTH * (double)t)
		return;
	io->nap_fits = io->nap_room / (bytes / n + DATAGRAM_COST);
	lasts_ns = (double)io->nap_fits * (double)t / (double)n;
	io->nap_ns = lasts_ns / 2 > NAP_MAX_NS ? NAP_MAX_NS : (uint64_t)(lasts_ns / 2);
	if (io->nap_ns < NAP_MIN_NS)
		io->nap_ns = 0;
}

/*
 * While we sleep they may come faster than on average: a sender on the same CPU has it for itself then. A nap that
 * found more than half of what the buffer holds was too long, whatever the rate says.
 */
static void judge_nap(struct nd_io *io, uint64_t seen)
{
	uint64_t found = seen - io->nap_last, half = io->nap_fits / 2;

	io->nap_last = seen;
	if (!io->nap_ns)
		return;
	if (found > half)
		io->nap_most_ns = ND_MAX(io->nap_most_ns * half / found, NAP_MIN_NS);
	else
		io->nap_most_ns = ND_MIN(io->nap_most_ns + io->nap_most_ns / 16, NAP_MAX_NS);
}

static uint64_t nap_for(struct nd_io *io, uint64_t now_ns)
{
	uint64_t seen = 0, bytes = 0;
	unsigned i;

	if (!io->nap_room)
		return 0;
	for (i = 0; i < io->lane_count; i++) {
		seen += io->c[i].rx_messages;
		bytes += io->c[i].rx_bytes;
	}
	judge_nap(io, seen);
	/* a sender that rests, or lost its CPU for a while, does not come slowly: then the kernel wakes us, and
	 * the rate is taken from there */
	if (seen == io->nap_seen && io->nap_ns) {
		io->nap_rests = true;
		return 0;
	}
	if (io->nap_rests) {
		io->nap_rests = false;
		io->nap_from_ns = now_ns;
		io->nap_seen = seen;
		io->nap_seen_bytes = bytes;
	}
	judge_rate(io, now_ns, seen - io->nap_seen, bytes - io->nap_seen_bytes);
	return ND_MIN(io->nap_ns, io->nap_most_ns);
}

/* Who else waits for this worker would feel its naps: only one-way datagram receivers take them. */
void nd_io_naps(struct nd_io *io)
{
	uint32_t i;

	io->nap_room = UINT64_MAX;
	io->nap_most_ns = NAP_MAX_NS;
	for (i = 0; i < io->flow_count; i++) {
		const struct nd_flow *f = &io->flows[i];
		const struct nd_lane *lane = nd_lane_of(io, f);
		int bytes = 0;
		socklen_t len = sizeof(bytes);

		if (!nd_flow_is_datagram(io, f) || lane->load->round_trips) {
			io->nap_room = 0;
			return;
		}
		/* the first of its lane speaks for the others */
		if (f->active ||
		    (i > 0 && io->flows[i - 1].workload == f->workload && !io->flows[i - 1].active))
			continue;
		if (getsockopt(f->fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len) < 0)
			bytes = 0;
		io->nap_room = ND_MIN(io->nap_room, (uint64_t)bytes);
	}
	if (io->nap_room == UINT64_MAX)
		io->nap_room = 0;
}

static const struct nd_wait waits[] = {
#define X(word, function, text) { .name = #word, .help = (text), .idle = (function) },
#include "engine/waits.def"
#undef X
};

const struct nd_wait *nd_wait_at(size_t n)
{
	return n < ND_COUNTOF(waits) ? &waits[n] : NULL;
}

const struct nd_wait *nd_wait_find(const char *name)
{
	size_t i;

	for (i = 0; name && i < ND_COUNTOF(waits); i++)
		if (strcmp(waits[i].name, name) == 0)
			return &waits[i];
	return NULL;
}

const char *nd_wait_names(size_t n, const char **ret_help)
{
	if (n >= ND_COUNTOF(waits))
		return NULL;
	if (ret_help)
		*ret_help = waits[n].help;
	return waits[n].name;
}

/* Asleep, but for what main wants. */
static void sleep_until(struct nd_io *io, uint64_t until_ns)
{
	struct pollfd p = { .fd = io->wake_fd, .events = POLLIN };
	struct timespec t = nd_timespec(io->now_ns, until_ns);

	if (ppoll(&p, 1, &t, NULL) > 0)
		nd_io_woken(io, nd_now_ns());
}

bool nd_io_idle(struct nd_io *io, uint64_t until_ns, bool collects)
{
	uint64_t ns = 0;
	uint32_t i;

	if (!io->wait)
		ns = nap_for(io, io->now_ns);
	else if (io->wait->idle)
		ns = io->wait->idle(io, io->now_ns);

	if (ns == 0)
		return false;
	if (ns > 1)
		sleep_until(io, ND_MIN(io->now_ns + ns, until_ns));
	nd_io_tick(io, nd_now_ns());
	if (collects && ns > 1)
		return true;
	for (i = 0; i < io->flow_count; i++)
		(void)nd_flow_unblock(&io->flows[i], true, true); /* all of them are tried */
	io->rescan = true;
	return true;
}
