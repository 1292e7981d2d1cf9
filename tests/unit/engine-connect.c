/* SPDX-License-Identifier: MIT */
/* Connections made over and over: what is no failure. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine-rig.h"

#define BUDGET 64u /* more operations than a connection has */

/* The peer of the only flow's connection. */
struct far {
	struct rig rig;
	int fd;      /* its end; -1: none */
	int refuses; /* negative errno instead of a connection; 0 */
};

static int call(struct nd_io *io, struct nd_flow *f)
{
	struct far *p = io->run; /* its first member is the rig */
	int fd[2];

	if (p->refuses)
		return p->refuses;
	if (p->fd >= 0)
		close(p->fd);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
	f->fd = fd[0];
	p->fd = fd[1];
	return 0;
}

static void stop(struct nd_io *io, uint64_t now_ns)
{
	rig_wake(io, now_ns);
	io->quit = true;
}

static struct nd_flow *begin(struct far *p, uint64_t ops)
{
	struct rig *r = &p->rig;

	*r = (struct rig){ .engine = "epoll",
			   .load = "crr",
			   .frame = "plain",
			   .transport = "tcp",
			   .unix_pair = true,
			   .pairs = 1,
			   .wl = { .request_bytes = 1,
				   .response_bytes = 1,
				   .message_bytes = 1,
				   .total_ops = ops } };
	rig_open(r);
	close(r->flows[0].fd);
	r->flows[0].fd = -1;
	r->io.connect = call;
	r->io.wake = stop;
	r->io.edge_ns = r->deadline_ns = UINT64_MAX;
	r->io.look_ns = UINT64_MAX;
	r->io.now_ns = nd_now_ns();
	nd_flow_begin(&r->io, &r->flows[0], r->io.now_ns);
	return &r->flows[0];
}

static void finish(struct far *p)
{
	if (p->fd >= 0)
		close(p->fd);
	rig_close(&p->rig);
}

/* As the engines do, until it waits. */
static void go_on(struct rig *r, struct nd_flow *f)
{
	for (int i = 0; i < 2 && f->state == ND_FLOW_READY; i++) /* the first sends alone */
		(void)nd_flow_turn(&r->io, f, BUDGET);
}

static void knows_who_was_stopped(void **state)
{
	static const struct {
		int refuses, error;
		bool stopped;
	} rows[] = {
		{ -ECONNRESET, -ECONNRESET, false },
		{ -ECONNREFUSED, -ECONNREFUSED, false },
		{ -ECONNRESET, 0, true },
		{ -ECONNREFUSED, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct far p = { .fd = -1, .refuses = rows[i].refuses };
		struct nd_flow *f = begin(&p, 0);
		uint64_t one = 1;

		if (rows[i].stopped)
			assert_int_equal(write(p.rig.io.wake_fd, &one, sizeof(one)), sizeof(one));
		go_on(&p.rig, f);
		assert_int_equal(p.rig.io.quit, rows[i].stopped);
		assert_int_equal(f->error, rows[i].error);
		assert_int_equal(f->state == ND_FLOW_DONE, !rows[i].stopped);
		finish(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_who_was_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
