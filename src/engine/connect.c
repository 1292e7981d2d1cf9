/* SPDX-License-Identifier: MIT */
/* Steps that make and end connections while the run goes on. */
#include <errno.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/call.h"
#include "engine/int.h"

#define FAR 64u /* connections, until the next one is asked whether it stands at once */

/* What the peer says comes later, and the engine will tell: no call for nothing. */
static bool opened(struct nd_io *io, struct nd_flow *f)
{
	struct nd_event ev = { .what = ND_HAP_OPENED,
			       .now_ns = io->now_ns,
			       .begun_ns = f->begun_ns };

	f->readable = !f->active || !f->unwatched || io->patient;
	f->writable = true;
	nd_flow_tell(io, f, &ev);
	return true;
}

/* Both ends are told when a run is stopped: what the other one breaks off then has not failed. */
static bool is_ending(struct nd_io *io, const struct nd_flow *f)
{
	if (!f->active)
		return false;
	io->look_ns = io->now_ns;
	nd_io_tick(io, io->now_ns);
	return io->quit || f->state == ND_FLOW_DONE;
}

bool nd_flow_broken(struct nd_io *io, struct nd_flow *f, int code)
{
	struct nd_event ev = { .what = ND_HAP_CLOSED, .error = code, .now_ns = io->now_ns };

	if (!nd_lane_of(io, f)->load->connects) {
		nd_flow_fail(io, f, code);
		return false;
	}
	if (is_ending(io, f))
		return false;
	nd_close_p(&f->fd);
	f->unwatched = false;
	io->told[f->workload].no_port += code == -EADDRNOTAVAIL || code == -EADDRINUSE;
	nd_flow_tell(io, f, &ev);
	if (f->state == ND_FLOW_DONE)
		f->error = code;
	return true;
}

/* Under way, but on a short path it stands before connect() is back. Return: 0 it does, 1 it does not yet, or nobody
 * has asked, negative errno. */
static int ask_at_once(struct nd_io *io, const struct nd_flow *f)
{
	if (io->far > 0) {
		io->far--;
		return 1;
	}
	if (nd_call_send(f->fd, "", 0, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	if (errno != EAGAIN && errno != EINTR)
		return -errno;
	io->far = FAR;
	return 1;
}

static bool begin_open(struct nd_io *io, struct nd_flow *f)
{
	int r;

	f->begun_ns = io->now_ns;
	r = io->connect ? io->connect(io, f) : -EOPNOTSUPP;
	if (r == 1)
		r = ask_at_once(io, f);
	io->now_ns = nd_io_clock(io);
	if (r < 0)
		return nd_flow_broken(io, f, r);
	f->unwatched = true;
	if (r == 0)
		return opened(io, f);
	f->writable = false;
	f->state = ND_FLOW_BLOCKED;
	return false;
}

bool nd_flow_open(struct nd_io *io, struct nd_flow *f)
{
	int r;

	if (f->step.at_ns > io->now_ns) {
		f->state = ND_FLOW_TIMED;
		return false;
	}
	if (f->fd < 0)
		return begin_open(io, f);
	if (!f->writable) {
		f->state = ND_FLOW_BLOCKED;
		return false;
	}
	r = nd_open_result(f->fd);
	return r < 0 ? nd_flow_broken(io, f, r) : opened(io, f);
}

static bool is_unwelcome(struct nd_io *io, int fd)
{
	return fd >= 0 && io->admits && !io->admits(io, fd);
}

/* The next one that is welcome. */
static int accept_next(struct nd_io *io, int listen_fd, bool waits)
{
	int fd;

	for (;;) {
		fd = nd_call_accept(listen_fd, (waits ? 0 : SOCK_NONBLOCK) | SOCK_CLOEXEC);
		if (is_unwelcome(io, fd))
			nd_close_p(&fd);
		else if (fd >= 0 || (!nd_call_again(io->patient) && errno != ECONNABORTED))
			return fd;
	}
}

bool nd_flow_accept(struct nd_io *io, struct nd_flow *f)
{
	bool waits = nd_io_may_wait(io, f);
	int fd = -1;

	errno = EAGAIN;
	if (waits || !io->patient || f->called)
		fd = accept_next(io, f->listen_fd, waits);
	f->called = false;
	if (fd < 0 && errno == EAGAIN) {
		f->state = ND_FLOW_BLOCKED;
		return false;
	}
	if (fd < 0) {
		nd_flow_fail(io, f, -errno);
		return false;
	}
	io->now_ns = nd_io_clock(io);
	f->begun_ns = io->now_ns;
	f->fd = fd;
	f->unwatched = true;
	return opened(io, f);
}

bool nd_flow_close(struct nd_io *io, struct nd_flow *f)
{
	struct nd_event ev = { .what = ND_HAP_CLOSED };

	nd_close_p(&f->fd);
	f->unwatched = false;
	ev.now_ns = io->now_ns = nd_io_clock(io);
	nd_flow_tell(io, f, &ev);
	return true;
}
