/* SPDX-License-Identifier: MIT */
/* Datagrams that go back to where they came from, over sockets that take no more for a while. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <poll.h>
#include <sys/un.h>

#include "engine-rig.h"
#include "engine/datagram.h"

enum { LENGTH = 64 };

static int asker = -1;
static struct sockaddr_un answerer;
static socklen_t answerer_len;
static unsigned polls, interrupted, drained;

static unsigned drain(void)
{
	uint8_t at[LENGTH];
	unsigned n = 0;

	while (recv(asker, at, sizeof(at), MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

/* Instead of the library's: signals come first, as many as there are to come, and then there is room. */
int ppoll(struct pollfd *p, nfds_t n, const struct timespec *left, const sigset_t *mask)
{
	(void)n;
	(void)left;
	(void)mask;
	polls++;
	if (interrupted > 0) {
		interrupted--;
		errno = EINTR;
		return -1;
	}
	drained += drain();
	p->revents = POLLOUT;
	return 1;
}

/* One of these that is connected to nobody has a queue of a few datagrams, and its senders see that it is full. */
static void name_sockets(int *ret_asks, int *ret_answers)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	*ret_asks = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	*ret_answers = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(*ret_asks >= 0 && *ret_answers >= 0);
	assert_int_equal(bind(*ret_asks, (const struct sockaddr *)&at, sizeof(at.sun_family)), 0);
	assert_int_equal(bind(*ret_answers, (const struct sockaddr *)&at, sizeof(at.sun_family)),
			 0);
	answerer_len = sizeof(answerer);
	assert_int_equal(getsockname(*ret_answers, (struct sockaddr *)&answerer, &answerer_len), 0);
}

static unsigned ask(void)
{
	const uint8_t at[LENGTH] = { 1 };
	unsigned n = 0;

	while (n < 10000 && sendto(asker, at, sizeof(at), MSG_DONTWAIT,
				   (const struct sockaddr *)&answerer, answerer_len) > 0)
		n++;
	return n;
}

/* @n datagrams are there. */
static void echo(struct rig *r, unsigned n)
{
	struct nd_flow *f = &r->flows[1];
	uint64_t until = r->io.c[0].rx_messages + n, from_ns;

	while (r->io.c[0].rx_messages < until) {
		if (r->io.recv_waits && nd_dg_echo(&r->io, f, 0, &from_ns) == 1)
			continue;
		assert_true(r->lane.rx->move(&r->io, f) > 0);
		assert_int_equal(r->lane.rx->answer(&r->io, f), 1);
	}
}

static void open_echo(struct rig *r, bool alone)
{
	int fd;

	*r = (struct rig){ .wl = { .message_bytes = LENGTH,
				   .request_bytes = LENGTH,
				   .response_bytes = LENGTH },
			   .engine = "blocking",
			   .load = "echo",
			   .frame = "plain",
			   .transport = "udp",
			   .rx_name = "echo",
			   .pairs = 1 };
	rig_open(r);
	close(r->flows[1].fd);
	name_sockets(&asker, &fd);
	r->flows[1].fd = fd;
	r->flows[1].step = (struct nd_step){ .op = ND_OP_RECV, .count = 64 };
	r->io.recv_waits = alone;
	polls = drained = 0;
}

/* A signal that comes while the socket is full is no reason to give an answer up. */
static void waits_for_room(void **state)
{
	(void)state;
	for (unsigned alone = 0; alone < 2; alone++) {
		struct rig r;
		unsigned n, more;

		open_echo(&r, alone);
		interrupted = 0;
		n = ask();
		assert_true(n > 0 && n < 10000);
		echo(&r, n); /* nobody reads them */
		more = ask();
		interrupted = 3;
		echo(&r, more);
		drained += drain();
		assert_true(polls > 3);
		assert_int_equal(interrupted, 0);
		assert_int_equal(drained, n + more);
		assert_int_equal(r.io.c[0].tx_refused, 0);
		assert_int_equal(r.io.c[0].tx_messages, n + more);
		assert_int_equal(r.io.c[0].tx_bytes, (n + more) * LENGTH);
		close(asker);
		rig_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
