/* SPDX-License-Identifier: MIT */
/* A worker with a single flow waits inside its calls, and looks at the clock only where somebody asks for it. */
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/int.h"

#ifdef sigev_notify_thread_id
#	define NOTIFY_TID sigev_notify_thread_id
#else /* glibc before 2.38 has no name for it */
#	define NOTIFY_TID _sigev_un._tid
#endif

/* Behind an edge: exchanges that follow each other have passed it by then, and set the timer anew. */
#define EDGE_LATE_NS  (200 * ND_NS_PER_US)
#define EDGE_AGAIN_NS (1 * ND_NS_PER_MS)

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

/* A connection yet to be made is made so; one that is accepted is born so. */
static bool block(int fd)
{
	return fd < 0 || nd_nonblock(fd, false, NULL) == 0;
}

static void interrupt(int number)
{
	(void)number; /* that it came is all */
}

/* Time-outs of sockets would do, too, but each call that waits then sets up a timer, and a sendfile() has one for each
 * piece that waits: this one is never due while operations follow each other, and ends a call for good. */
static bool make_guard(struct nd_io *io)
{
	struct sigaction on = { .sa_handler = interrupt }; /* no SA_RESTART: calls end */
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };
	sigset_t set;

	if (io->guarded)
		return true;
	to.NOTIFY_TID = (pid_t)syscall(SYS_gettid);
	(void)sigemptyset(&set);         /* a valid set */
	(void)sigaddset(&set, SIGRTMIN); /* and number */
	io->guarded = sigaction(SIGRTMIN, &on, NULL) == 0 &&
		      pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0 &&
		      timer_create(CLOCK_MONOTONIC, &to, &io->guard) == 0;
	return io->guarded;
}

void nd_io_guard(struct nd_io *io, bool on)
{
	struct itimerspec when = { 0 };

	if (!io->guarded)
		return;
	if (on) {
		when.it_value = nd_timespec(0, 2 * ND_PATIENCE_NS);
		when.it_interval = nd_timespec(0, ND_PATIENCE_NS); /* the call had not begun */
	}
	io->guard_on = on;
	io->guard_edge_ns = 0;
	(void)timer_settime(io->guard, 0, &when, NULL); /* cannot fail with a valid timer */
}

bool nd_io_guard_edge(struct nd_io *io)
{
	struct itimerspec when = { 0 };

	if (!io->guarded || io->edge_ns <= io->now_ns)
		return false;
	if (io->guard_edge_ns == io->edge_ns)
		return true;
	when.it_value = nd_timespec(0, io->edge_ns + EDGE_LATE_NS);
	when.it_interval = nd_timespec(0, EDGE_AGAIN_NS); /* the call had not begun */
	io->guard_on = true;
	io->guard_edge_ns = io->edge_ns;
	(void)timer_settime(io->guard, TIMER_ABSTIME, &when, NULL); /* likewise */
	return true;
}

void nd_io_unguard(struct nd_io *io)
{
	if (io->guarded)
		(void)timer_delete(io->guard); /* likewise */
	io->guarded = io->guard_on = false;
	io->guard_edge_ns = 0;
}

/* Others' descriptors of a listening socket would block with it, and they have no guard. */
static bool is_shared(const struct nd_io *io, const struct nd_flow *f)
{
	const struct nd_lane *l = nd_lane_of(io, f);

	return l->load->connects && !f->active && l->workload->flows > 1 &&
	       !nd_listens_apart(f->fd);
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
	const struct nd_lane *l = nd_lane_of(io, f);

	if ((io->wait && io->wait->idle) || io->nap_room)
		return;
	io->coarse = is_untimed(io, f);
	io->patient = io->blocks =
		may_block(l) && !is_shared(io, f) && make_guard(io) && block(f->fd);
	io->one_way = io->patient && is_one_way(l);
}

void nd_io_settle(struct nd_io *io, struct nd_flow *f, bool waits)
{
	if (io->blocks != waits && io->patient && nd_nonblock(f->fd, !waits, NULL) == 0)
		io->blocks = waits;
}

/* Ways that read the clock as they like, or tell of a send later, are left alone. */
static bool sends_at_once(const struct nd_lane *l)
{
	return l->tx == &nd_xfer_stream_send || l->tx == &nd_xfer_datagram_send ||
	       l->tx == &nd_xfer_datagram_sendto;
}

void nd_io_be_exact(struct nd_io *io, const struct nd_flow *f)
{
	const struct nd_lane *l = nd_lane_of(io, f);

	io->clock_first = !io->coarse && l->load->round_trips && !l->load->connects &&
			  l->load->halves <= 1 &&
			  (f->active ? sends_at_once(l) : l->rx->answer != NULL);
	io->spins = nd_wait_spins(io->wait) && l->load->round_trips && !l->load->connects;
}

void nd_io_be_hasty(struct nd_io *io)
{
	uint32_t i;

	io->now_ns = nd_io_true(io);
	for (i = 0; io->patient && i < io->flow_count; i++)
		if (io->flows[i].fd >= 0 && nd_nonblock(io->flows[i].fd, true, NULL) < 0)
			nd_close_p(&io->flows[i].fd); /* it cannot fail on a socket */
	nd_io_guard(io, false);
	io->patient = io->one_way = io->blocks = io->coarse = io->clock_first = io->spins = false;
}
