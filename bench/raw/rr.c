/* SPDX-License-Identifier: MIT */
/*
 * Requests and responses on many TCP connections, all at once, one message under way on each: one thread and one epoll
 * set at each end, one read and one write for each message.
 *
 *     rr recv [-p PORT] [-l BYTES] [-P FLOWS]
 *     rr send HOST [-p PORT] [-l BYTES] [-P FLOWS] [-C CC] [-t SECONDS] [-w WARMUP]
 *
 * The receiver ends when all FLOWS connections were closed. One line of JSON at the end; the sender's messages are
 * round trips.
 */
#include <sys/epoll.h>

#include "raw.h"

enum { EVENTS = 512, LONGEST = 4096 };

struct end {
	const struct raw_options *o;
	struct raw_sum sum;
	int ep;
	uint32_t gone; /* connections that were closed */
	uint8_t *message;
};

static void watch(const struct end *e, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	raw_set(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
	if (epoll_ctl(e->ep, EPOLL_CTL_ADD, fd, &ev) < 0)
		raw_die("epoll_ctl");
}

/* Messages are short: they come and go whole. */
static void say(struct end *e, int fd)
{
	if (write(fd, e->message, e->o->bytes) != (ssize_t)e->o->bytes)
		raw_die("write");
	e->sum.calls++;
}

/* Return: was there a message? */
static bool hear(struct end *e, int fd)
{
	ssize_t n = read(fd, e->message, e->o->bytes);

	e->sum.calls++;
	if (n == (ssize_t)e->o->bytes)
		return true;
	if (n > 0 || (n < 0 && errno != ECONNRESET))
		raw_die("read");
	close(fd);
	e->gone++;
	return false;
}

static void accept_some(struct end *e, int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
		watch(e, fd);
}

static void run_recv(struct end *e)
{
	struct epoll_event events[EVENTS];
	int listener = raw_listen(e->o);
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener };

	if (epoll_ctl(e->ep, EPOLL_CTL_ADD, listener, &ev) < 0)
		raw_die("epoll_ctl");
	puts("ready");
	(void)fflush(stdout);
	while (e->gone < e->o->flows) {
		int n = epoll_wait(e->ep, events, EVENTS, -1);
		uint64_t now_ns = raw_now();

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;

			if (fd == listener) {
				accept_some(e, listener);
			} else if (hear(e, fd)) {
				say(e, fd);
				raw_count(&e->sum, e->o, e->o->bytes, 1, now_ns);
			}
		}
	}
}

static void connect_all(struct end *e, int *fds)
{
	struct sockaddr_in to = raw_address(e->o);

	for (uint32_t i = 0; i < e->o->flows; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fds[i] < 0)
			raw_die("socket");
		raw_set_cc(fds[i], e->o->cc);
		if (connect(fds[i], (const struct sockaddr *)&to, sizeof(to)) < 0)
			raw_die("connect");
		watch(e, fds[i]);
	}
}

static void run_send(struct end *e)
{
	struct epoll_event events[EVENTS];
	int *fds = calloc(e->o->flows, sizeof(*fds));
	uint64_t now_ns, end_ns;

	if (!fds)
		raw_die("memory");
	connect_all(e, fds);
	end_ns = raw_now() + e->o->warmup_ns + e->o->seconds * RAW_NS_PER_S;
	for (uint32_t i = 0; i < e->o->flows; i++)
		say(e, fds[i]);
	while ((now_ns = raw_now()) < end_ns) {
		int n = epoll_wait(e->ep, events, EVENTS, 100);

		for (int i = 0; i < n; i++) {
			if (!hear(e, events[i].data.fd))
				raw_die("the receiver has gone");
			raw_count(&e->sum, e->o, e->o->bytes, 1, now_ns);
			say(e, events[i].data.fd);
		}
	}
	free(fds); /* the connections end with the process */
}

int main(int argc, char **argv)
{
	struct raw_options o = {
		.technique = "epoll", .port = 9080, .bytes = 1, .flows = 10000, .seconds = 2
	};
	struct end e = { .o = &o };

	raw_options(&o, argc, argv);
	if (o.bytes > LONGEST) {
		fprintf(stderr, "-l is at most %d\n", LONGEST);
		return 2;
	}
	raw_descriptors();
	e.ep = epoll_create1(EPOLL_CLOEXEC);
	if (e.ep < 0)
		raw_die("epoll_create1");
	e.message = raw_memory(o.bytes);
	if (o.sends)
		run_send(&e);
	else
		run_recv(&e);
	raw_report(&o, &e.sum, NULL, 0);
	free(e.message);
	return 0;
}
