/* SPDX-License-Identifier: MIT */
/*
 * How fast many connections come to be: all in flight at once, by as many processes as descriptors need.
 *
 *     conn recv [-p PORT] [-P FLOWS] [-T PROCESSES]
 *     conn send HOST [-p PORT] [-P FLOWS] [-T PROCESSES] [-t SECONDS]
 *
 * The sender holds them for SECONDS when all stand, then closes them; each of its processes has an address of its
 * own to go to when HOST is in 127/8, for an address has but 64k ports. The receiver's processes share the port and
 * end when FLOWS connections were taken and closed. One line of JSON at the end: seconds from the first connect()
 * until the last connection stood, CPU time until they were closed.
 */
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "raw.h"

enum { EVENTS = 512 };

#define LIMIT_MS 60000

/* Shared by the processes, through atomic operations alone. */
struct board {
	uint64_t last_ns; /* when the last connection stood */
	uint32_t up, down, failed;
};

static void stand(struct board *b)
{
	uint64_t now_ns = raw_now(), last_ns;

	last_ns = __atomic_load_n(&b->last_ns, __ATOMIC_RELAXED);
	while (last_ns < now_ns && !__atomic_compare_exchange_n(&b->last_ns, &last_ns, now_ns, true,
								__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_fetch_add(&b->up, 1, __ATOMIC_RELEASE);
}

static void watch(int ep, int fd, uint32_t what)
{
	struct epoll_event e = { .events = what, .data.fd = fd };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) < 0)
		raw_die("epoll_ctl");
}

/* ---- receiving */

static void accept_some(int ep, int listener, struct board *b)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		watch(ep, fd, EPOLLRDHUP);
		stand(b);
	}
	if (errno != EAGAIN && errno != ECONNABORTED)
		__atomic_fetch_add(&b->failed, 1, __ATOMIC_RELAXED);
}

static void run_recv(const struct raw_options *o, int listener, struct board *b)
{
	struct epoll_event events[EVENTS];
	int ep = epoll_create1(EPOLL_CLOEXEC);
	uint64_t limit_ns = raw_now() + 2 * LIMIT_MS * 1000000ull;

	if (ep < 0)
		raw_die("epoll_create1");
	watch(ep, listener, EPOLLIN);
	while (__atomic_load_n(&b->down, __ATOMIC_ACQUIRE) < o->flows && raw_now() < limit_ns) {
		int n = epoll_wait(ep, events, EVENTS, 100);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener) {
				accept_some(ep, listener, b);
				continue;
			}
			close(events[i].data.fd);
			__atomic_fetch_add(&b->down, 1, __ATOMIC_RELEASE);
		}
	}
}

/* ---- sending */

static uint32_t share_of(const struct raw_options *o, uint32_t process)
{
	return o->flows / o->processes + (process < o->flows % o->processes);
}

static void connect_share(const struct raw_options *o, uint32_t process, int ep, int *fds,
			  struct board *b)
{
	struct sockaddr_in to = raw_address(o);
	uint32_t n = share_of(o, process);

	if (ntohl(to.sin_addr.s_addr) >> 24 == 127)
		to.sin_addr.s_addr = htonl(ntohl(to.sin_addr.s_addr) + process);
	for (uint32_t i = 0; i < n; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (fds[i] < 0)
			raw_die("socket");
		raw_set_cc(fds[i], o->cc);
		if (connect(fds[i], (const struct sockaddr *)&to, sizeof(to)) == 0)
			stand(b);
		else if (errno == EINPROGRESS)
			watch(ep, fds[i], EPOLLOUT | EPOLLONESHOT);
		else
			__atomic_fetch_add(&b->failed, 1, __ATOMIC_RELAXED);
	}
}

static void settle(int fd, struct board *b)
{
	int code = 0;
	socklen_t size = sizeof(code);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0 || code)
		__atomic_fetch_add(&b->failed, 1, __ATOMIC_RELAXED);
	else
		stand(b);
}

static bool settled(const struct raw_options *o, struct board *b)
{
	return __atomic_load_n(&b->up, __ATOMIC_ACQUIRE) +
		       __atomic_load_n(&b->failed, __ATOMIC_RELAXED) >=
	       o->flows;
}

static void run_send(const struct raw_options *o, uint32_t process, struct board *b)
{
	struct epoll_event events[EVENTS];
	const struct timespec hold = { .tv_sec = (time_t)o->seconds };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	int *fds = calloc(share_of(o, process) + 1, sizeof(*fds));
	uint64_t limit_ns = raw_now() + LIMIT_MS * 1000000ull;

	if (ep < 0 || !fds)
		raw_die("epoll_create1");
	connect_share(o, process, ep, fds, b);
	while (!settled(o, b) && raw_now() < limit_ns) {
		int n = epoll_wait(ep, events, EVENTS, 10);

		for (int i = 0; i < n; i++)
			settle(events[i].data.fd, b);
	}
	nanosleep(&hold, NULL);
	free(fds); /* the connections end with the process */
}

/* ---- processes */

static void begin(const struct raw_options *o, uint32_t process, int listener, struct board *b)
{
	pid_t pid = fork();

	if (pid < 0)
		raw_die("fork");
	if (pid > 0)
		return;
	if (o->sends)
		run_send(o, process, b);
	else
		run_recv(o, listener, b);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct raw_options o = {
		.technique = "connect", .port = 9079, .flows = 10000, .processes = 1, .seconds = 1
	};
	struct board *b =
		mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t begin_ns = 0;
	int status, bad = 0, listener = -1;

	raw_options(&o, argc, argv);
	raw_descriptors();
	if (b == MAP_FAILED)
		raw_die("mmap");
	for (uint32_t i = 0; i < o.processes; i++) {
		if (!o.sends)
			listener =
				raw_listen(&o); /* each a queue of its own, all before the first */
		else if (!begin_ns)
			begin_ns = raw_now();
		begin(&o, i, listener, b);
		if (!o.sends)
			close(listener);
	}
	if (!o.sends) {
		puts("ready");
		(void)fflush(stdout);
	}
	while (wait(&status) > 0)
		bad |= status;
	printf("{\"end\": \"%s\", \"technique\": \"connect\", \"flows\": %u, \"connections\": %u, "
	       "\"failed\": %u, ",
	       o.sends ? "send" : "recv", o.flows, b->up, b->failed);
	if (o.sends)
		printf("\"set_up_s\": %.6f, ", (double)(b->last_ns - begin_ns) / 1e9);
	printf("\"cpu_s\": %.6f}\n", raw_cpu_s(RUSAGE_CHILDREN));
	return bad || b->up < o.flows;
}
