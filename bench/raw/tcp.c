/* SPDX-License-Identifier: MIT */
/*
 * Streams, one technique at each end, one thread at each end: one flow by blocking calls, more by epoll.
 *
 *     tcp recv [-p PORT] [-x read|trunc|splice|mmap] [-l BYTES] [-P FLOWS] [-C CC] [-R LOWAT] [-w WARMUP]
 *     tcp send HOST [-p PORT] [-x write|tee|vmsplice|sendfile|zerocopy] [-l BYTES] [-P FLOWS] [-C CC] [-t SECONDS]
 *
 * read and write copy. trunc: the kernel drops the bytes uncopied (MSG_TRUNC); splice: into /dev/null. tee and
 * vmsplice send the same pages again and again; sendfile the same file in memory; zerocopy (MSG_ZEROCOPY) the same
 * pages, whose completions are read away. mmap (TCP_ZEROCOPY_RECEIVE) maps whole pages and copies the rest. All flows
 * are connected before the first byte is sent. The receiver takes FLOWS connections and ends when all are at their end.
 * One line of JSON at the end.
 */
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "raw.h"

enum { EVENTS = 256 };

#define PIPE_BYTES (1 << 20)
#define START_MS   20000
#define CC_BYTES   16
#define CONTROL    128

#ifndef TCP_ZEROCOPY_RECEIVE
#	define TCP_ZEROCOPY_RECEIVE 35
#endif

struct mover {
	const struct raw_options *o;
	ssize_t (*move)(struct mover *m, int fd);
	uint8_t *memory, *window;         /* window: where mmap sees what came */
	int file, null, full[2], pipe[2]; /* full: what tee doubles; pipe: on its way to a socket */
	size_t size, in_pipe;
	bool blocks;
};

/* ---- the techniques: bytes moved, 0 at the end, -1 */

static ssize_t move_write(struct mover *m, int fd)
{
	return send(fd, m->memory, m->size, MSG_NOSIGNAL);
}

static ssize_t move_read(struct mover *m, int fd)
{
	return recv(fd, m->memory, m->size, 0);
}

static ssize_t move_trunc(struct mover *m, int fd)
{
	return recv(fd, NULL, m->size, MSG_TRUNC);
}

static ssize_t move_file(struct mover *m, int fd)
{
	off_t at = 0;

	return sendfile(fd, m->file, &at, m->size);
}

static unsigned pipe_flags(const struct mover *m)
{
	return SPLICE_F_MOVE | (m->blocks ? 0u : SPLICE_F_NONBLOCK);
}

/* What a socket did not take goes to the next: all bytes are alike. */
static ssize_t drain_pipe(struct mover *m, int fd)
{
	ssize_t r = splice(m->pipe[0], NULL, fd, NULL, m->in_pipe, pipe_flags(m));

	if (r > 0)
		m->in_pipe -= (size_t)r;
	return r;
}

static ssize_t move_tee(struct mover *m, int fd)
{
	if (!m->in_pipe) {
		ssize_t r = tee(m->full[0], m->pipe[1], m->size, SPLICE_F_NONBLOCK);

		if (r <= 0)
			raw_die("tee");
		m->in_pipe = (size_t)r;
	}
	return drain_pipe(m, fd);
}

static ssize_t move_vmsplice(struct mover *m, int fd)
{
	struct iovec v = { .iov_base = m->memory, .iov_len = m->size };

	if (!m->in_pipe) {
		ssize_t r = vmsplice(m->pipe[1], &v, 1, SPLICE_F_NONBLOCK);

		if (r <= 0)
			raw_die("vmsplice");
		m->in_pipe = (size_t)r;
	}
	return drain_pipe(m, fd);
}

/* All completions that are there. */
static void read_completions(int fd)
{
	char control[CONTROL];
	struct msghdr m = { .msg_control = control, .msg_controllen = sizeof(control) };

	while (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
		m.msg_controllen = sizeof(control);
	if (errno != EAGAIN)
		raw_die("MSG_ERRQUEUE");
}

static ssize_t move_zerocopy(struct mover *m, int fd)
{
	struct pollfd p = { .fd = fd };
	ssize_t r;

	read_completions(fd);
	r = send(fd, m->memory, m->size, MSG_ZEROCOPY | MSG_NOSIGNAL);
	if (r >= 0 || errno != ENOBUFS)
		return r;
	(void)poll(
		&p, 1,
		1); /* the limit of memory that is pinned: POLLERR tells of the next completion */
	errno = EINTR;
	return -1;
}

/* What fills no page, or does not lie on its borders, is copied. Each call takes the place of the pages before. */
static ssize_t move_mmap(struct mover *m, int fd)
{
	struct tcp_zerocopy_receive z = { 0 };
	socklen_t bytes = sizeof(z);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t r = 0;
	size_t want;

	if (!m->window)
		m->window = mmap(NULL, m->size, PROT_READ, MAP_SHARED, fd, 0);
	if (m->window == MAP_FAILED)
		raw_die("mmap");
	if (m->blocks && poll(&p, 1, -1) < 0)
		return -1;
	z.address = (uint64_t)(uintptr_t)m->window;
	z.length = (uint32_t)m->size;
	if (getsockopt(fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &z, &bytes) < 0)
		z.length = z.recv_skip_hint = 0; /* reading tells why: the end is one reason */
	want = z.recv_skip_hint < m->size ? z.recv_skip_hint : m->size;
	if (z.recv_skip_hint || !z.length)
		r = recv(fd, m->memory, want ? want : m->size, MSG_DONTWAIT);
	if (r < 0 && !z.length) {
		errno = errno == EAGAIN ? EINTR : errno;
		return -1;
	}
	return (r > 0 ? r : 0) + (ssize_t)z.length;
}

static ssize_t move_splice(struct mover *m, int fd)
{
	ssize_t r = splice(fd, NULL, m->pipe[1], NULL, m->size, pipe_flags(m)), out;

	for (ssize_t left = r; left > 0; left -= out) {
		out = splice(m->pipe[0], NULL, m->null, NULL, (size_t)left, SPLICE_F_MOVE);
		if (out <= 0)
			raw_die("splice to /dev/null");
	}
	return r;
}

static const struct technique {
	const char *name;
	bool sends;
	ssize_t (*move)(struct mover *m, int fd);
} techniques[] = {
	{ "write", true, move_write },    { "tee", true, move_tee },
	{ "sendfile", true, move_file },  { "vmsplice", true, move_vmsplice },
	{ "read", false, move_read },     { "trunc", false, move_trunc },
	{ "splice", false, move_splice }, { "zerocopy", true, move_zerocopy },
	{ "mmap", false, move_mmap },
};

static void big_pipe(int fd[2])
{
	if (pipe2(fd, O_CLOEXEC) < 0)
		raw_die("pipe");
	if (fcntl(fd[0], F_SETPIPE_SZ, PIPE_BYTES) < 0)
		raw_die("F_SETPIPE_SZ");
}

static void mover_init(struct mover *m, const struct raw_options *o)
{
	m->o = o;
	m->blocks = o->flows == 1;
	for (size_t i = 0; i < sizeof(techniques) / sizeof(*techniques); i++)
		if (strcmp(techniques[i].name, o->technique) == 0 &&
		    techniques[i].sends == o->sends)
			m->move = techniques[i].move;
	if (!m->move) {
		fprintf(stderr, "no such technique: '%s'\n", o->technique);
		raw_leave(2);
	}
	m->size = o->bytes;
	if (m->move != move_write && m->move != move_read && m->move != move_trunc &&
	    m->move != move_file && m->move != move_zerocopy && m->move != move_mmap &&
	    m->size > PIPE_BYTES)
		m->size = PIPE_BYTES;
	m->memory = raw_memory(m->size);
	big_pipe(m->pipe);
	big_pipe(m->full);
	m->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	m->file = memfd_create("raw", MFD_CLOEXEC);
	if (m->null < 0 || m->file < 0)
		raw_die("open");
	if (m->move == move_file && write(m->file, m->memory, m->size) != (ssize_t)m->size)
		raw_die("write");
	if (m->move == move_tee && write(m->full[1], m->memory, m->size) != (ssize_t)m->size)
		raw_die("write");
}

/* ---- connections */

static void add_event(int ep, int fd, uint32_t what)
{
	struct epoll_event e = { .events = what, .data.fd = fd };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) < 0)
		raw_die("epoll_ctl");
}

/* The listener stays until the end, so that what is counted from outside only grows. */
static void accept_all(const struct raw_options *o, int ep, int *fds)
{
	int listener = raw_listen(o);
	struct pollfd p = { .fd = listener, .events = POLLIN };

	puts("ready");
	(void)fflush(stdout);
	for (uint32_t n = 0; n < o->flows;) {
		int fd = accept4(listener, NULL, NULL,
				 SOCK_CLOEXEC | (o->flows > 1 ? SOCK_NONBLOCK : 0));

		if (fd < 0) {
			if (errno != EAGAIN || poll(&p, 1, START_MS) <= 0)
				raw_die("accept");
			continue;
		}
		fds[n++] = fd;
		add_event(ep, fd, EPOLLIN);
	}
}

static int connect_one(const struct raw_options *o)
{
	struct sockaddr_in to = raw_address(o);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		raw_die("socket");
	raw_set_cc(fd, o->cc);
	if (strcmp(o->technique, "zerocopy") == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &(int){ 1 }, sizeof(int)) < 0)
		raw_die("SO_ZEROCOPY");
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		raw_die("connect");
	return fd;
}

static void await_connected(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int code = 0;
	socklen_t size = sizeof(code);

	if (poll(&p, 1, START_MS) <= 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0 ||
	    code) {
		errno = code ? code : ETIMEDOUT;
		raw_die("connect");
	}
}

static void connect_all(const struct raw_options *o, int ep, int *fds)
{
	for (uint32_t n = 0; n < o->flows; n++)
		fds[n] = connect_one(o);
	for (uint32_t n = 0; n < o->flows; n++) {
		await_connected(fds[n]);
		add_event(ep, fds[n], EPOLLOUT);
	}
	if (o->flows == 1 && fcntl(fds[0], F_SETFL, 0) < 0)
		raw_die("fcntl");
}

/* ---- moving; the clock is read once a call */

static void move_one(struct mover *m, int fd, uint64_t end_ns, struct raw_sum *s)
{
	uint64_t now_ns;
	ssize_t r;

	do {
		s->calls++;
		r = m->move(m, fd);
		now_ns = raw_now();
		if (r > 0)
			raw_count(s, m->o, (uint64_t)r, 1, now_ns);
		else if (r < 0 && errno != EINTR)
			raw_die(m->o->technique);
	} while (r != 0 && now_ns < end_ns);
}

/* Return: whether the flow goes on. */
static bool move_some(struct mover *m, int fd, struct raw_sum *s)
{
	ssize_t r;

	s->calls++;
	r = m->move(m, fd);
	if (r > 0)
		raw_count(s, m->o, (uint64_t)r, 1, raw_now());
	else if (r < 0 && errno != EAGAIN && errno != EINTR)
		raw_die(m->o->technique);
	return r != 0;
}

static void move_many(struct mover *m, int ep, uint64_t end_ns, struct raw_sum *s)
{
	struct epoll_event events[EVENTS];
	uint32_t left = m->o->flows;

	while (left && raw_now() < end_ns) {
		int n = epoll_wait(ep, events, EVENTS, 1000);

		if (n < 0 && errno != EINTR)
			raw_die("epoll_wait");
		for (int i = 0; i < n; i++) {
			if (move_some(m, events[i].data.fd, s))
				continue;
			if (epoll_ctl(ep, EPOLL_CTL_DEL, events[i].data.fd, NULL) < 0)
				raw_die("epoll_ctl");
			left--;
		}
	}
}

int main(int argc, char **argv)
{
	struct raw_options o = { .technique = NULL,
				 .port = 9078,
				 .bytes = 128 << 10,
				 .flows = 1,
				 .seconds = 2,
				 .warmup_ns = RAW_NS_PER_S / 2 };
	struct raw_sum s = { 0 };
	struct mover m = { 0 };
	char cc[CC_BYTES];
	uint64_t begin_ns, set_up_ns;
	int ep, *fds;

	raw_options(&o, argc, argv);
	if (!o.technique)
		o.technique = o.sends ? "write" : "read";
	raw_descriptors();
	mover_init(&m, &o);
	ep = epoll_create1(EPOLL_CLOEXEC);
	fds = calloc(o.flows, sizeof(*fds));
	if (ep < 0 || !fds)
		raw_die("epoll_create1");
	begin_ns = raw_now();
	if (o.sends)
		connect_all(&o, ep, fds);
	else
		accept_all(&o, ep, fds);
	set_up_ns = raw_now() - begin_ns;
	raw_read_cc(fds[0], cc, sizeof(cc));
	/* the receiver ends with the streams, and at last by itself */
	begin_ns = raw_now() + (o.sends ? o.seconds : 90) * RAW_NS_PER_S;
	if (o.flows == 1)
		move_one(&m, fds[0], begin_ns, &s);
	else
		move_many(&m, ep, begin_ns, &s);
	for (uint32_t i = 0; i < o.flows; i++)
		close(fds[i]);
	free(fds);
	raw_report(&o, &s, cc, (double)set_up_ns / 1e9);
	return 0;
}
