/* SPDX-License-Identifier: MIT */
/*
 * The kernel, for counting what the program itself does: sockets take and give everything at once. The linker
 * puts these in the place of the library's calls (--wrap). What is spent in here is not counted, so nothing in
 * here calls anything.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: they use what stands above them */
#include <linux/errqueue.h>
#include <linux/tcp.h>
/* clang-format on */

#include "cost.h"

#ifndef UDP_GRO
#	define UDP_GRO 104
#endif

#define TICK_NS 100

struct cost_kernel cost_kernel;

/* The real ones, and ours. The linker chose the names. */
/* clang-format off */
/* NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp) */
int     __real_clock_gettime(clockid_t id, struct timespec *ret);
ssize_t __real_send(int fd, const void *buf, size_t n, int flags);
ssize_t __real_recv(int fd, void *buf, size_t n, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *m, int flags);
int     __real_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags);
int     __real_recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t);
int     __real_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int     __real_getsockopt(int fd, int level, int name, void *ret, socklen_t *size);
int     __real_poll(struct pollfd *p, nfds_t n, int ms);
int     __real_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *s);
int     __real_epoll_ctl(int ep, int op, int fd, struct epoll_event *ev);
int     __real_epoll_wait(int ep, struct epoll_event *ev, int n, int ms);
long    __real_syscall(long number, ...);
ssize_t __real_sendfile(int out, int in, off_t *at, size_t n);
ssize_t __real_splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags);
ssize_t __real_tee(int in, int out, size_t n, unsigned flags);
ssize_t __real_vmsplice(int fd, const struct iovec *v, size_t n, unsigned flags);
int     __wrap_clock_gettime(clockid_t id, struct timespec *ret);
ssize_t __wrap_send(int fd, const void *buf, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *buf, size_t n, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags);
int     __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags);
int     __wrap_recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t);
int     __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int     __wrap_getsockopt(int fd, int level, int name, void *ret, socklen_t *size);
int     __wrap_poll(struct pollfd *p, nfds_t n, int ms);
int     __wrap_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *s);
int     __wrap_epoll_ctl(int ep, int op, int fd, struct epoll_event *ev);
int     __wrap_epoll_wait(int ep, struct epoll_event *ev, int n, int ms);
long    __wrap_syscall(long number, ...);
ssize_t __wrap_sendfile(int out, int in, off_t *at, size_t n);
ssize_t __wrap_splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags);
ssize_t __wrap_tee(int in, int out, size_t n, unsigned flags);
ssize_t __wrap_vmsplice(int fd, const struct iovec *v, size_t n, unsigned flags);

/* clang-format on */

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	struct cost_kernel *k = &cost_kernel;

	if (!k->on)
		return __real_clock_gettime(id, ret);
	k->now_ns += TICK_NS;
	if (++k->looks >= k->most)
		k->io->quit = true;
	ret->tv_sec = (time_t)(k->now_ns / ND_NS_PER_S);
	ret->tv_nsec = (long)(k->now_ns % ND_NS_PER_S);
	return 0;
}

/* ---- sockets */

static inline __attribute__((always_inline)) long take(int fd, size_t n, int flags)
{
	if (flags & MSG_ZEROCOPY)
		cost_kernel.of_fd[(unsigned)fd % COST_FDS].pinned++;
	cost_kernel_operations(1);
	return (long)n;
}

static inline __attribute__((always_inline)) long give(int fd, uintptr_t buf, size_t n)
{
	cost_kernel_operations(1);
	if (cost_kernel.datagram) {
		cost_kernel_datagram(fd, buf);
		return (long)cost_kernel.datagram;
	}
	return (long)(cost_kernel.short_reads ? n / 2 : n);
}

ssize_t __wrap_send(int fd, const void *buf, size_t n, int flags)
{
	return cost_kernel.on ? take(fd, n, flags) : __real_send(fd, buf, n, flags);
}

ssize_t __wrap_recv(int fd, void *buf, size_t n, int flags)
{
	return cost_kernel.on ? give(fd, (uintptr_t)buf, n) : __real_recv(fd, buf, n, flags);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	size_t n = 0;

	if (!cost_kernel.on)
		return __real_sendmsg(fd, m, flags);
	for (size_t i = 0; i < m->msg_iovlen; i++)
		n += m->msg_iov[i].iov_len;
	cost_kernel_operations(
		cost_kernel.datagram ? (n + cost_kernel.datagram - 1) / cost_kernel.datagram : 1);
	return (ssize_t)n;
}

/* All that was sent without a copy is told of at once. */
static inline __attribute__((always_inline)) bool tell_pinned(int fd, struct msghdr *m)
{
	struct cost_flow *f = &cost_kernel.of_fd[(unsigned)fd % COST_FDS];
	struct cmsghdr *c = m->msg_control;
	struct sock_extended_err *e = (void *)CMSG_DATA(c);

	if (!f->pinned)
		return false;
	*e = (struct sock_extended_err){ .ee_origin = SO_EE_ORIGIN_ZEROCOPY,
					 .ee_data = f->pinned - 1 };
	c->cmsg_len = CMSG_LEN(sizeof(*e));
	c->cmsg_level = SOL_IP;
	c->cmsg_type = IP_RECVERR;
	m->msg_controllen = CMSG_SPACE(sizeof(*e));
	f->pinned = 0;
	return true;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
	if (!cost_kernel.on)
		return __real_recvmsg(fd, m, flags);
	if (flags & MSG_ERRQUEUE) {
		if (tell_pinned(fd, m))
			return 0;
		errno = EAGAIN;
		return -1;
	}
	cost_kernel_operations(1);
	m->msg_flags = 0;
	m->msg_controllen = 0;
	if (!cost_kernel.datagram)
		return (ssize_t)m->msg_iov[0].iov_len;
	cost_kernel_datagram(fd, (uintptr_t)m->msg_iov[0].iov_base);
	return (ssize_t)cost_kernel.datagram;
}

int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	uint64_t datagrams = 0;

	if (!cost_kernel.on)
		return __real_sendmmsg(fd, m, n, flags);
	for (unsigned i = 0; i < n; i++) {
		m[i].msg_len = 0;
		for (size_t j = 0; j < m[i].msg_hdr.msg_iovlen; j++)
			m[i].msg_len += (unsigned)m[i].msg_hdr.msg_iov[j].iov_len;
		datagrams += (m[i].msg_len + cost_kernel.datagram - 1) / cost_kernel.datagram;
	}
	cost_kernel_operations(datagrams);
	return (int)n;
}

/* Several datagrams in one. */
static inline __attribute__((always_inline)) void give_piece(int fd, struct mmsghdr *m)
{
	struct cmsghdr *c = m->msg_hdr.msg_control;
	uint8_t *at = m->msg_hdr.msg_iov[0].iov_base;

	for (unsigned i = 0; i < COST_GRO; i++, at += cost_kernel.datagram)
		cost_kernel_datagram(fd, (uintptr_t)at);
	m->msg_len = (unsigned)(COST_GRO * cost_kernel.datagram);
	c->cmsg_len = CMSG_LEN(sizeof(int));
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_GRO;
	*(int *)(void *)CMSG_DATA(c) = (int)cost_kernel.datagram;
	m->msg_hdr.msg_controllen = CMSG_SPACE(sizeof(int));
	cost_kernel_operations(COST_GRO);
}

int __wrap_recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t)
{
	if (!cost_kernel.on)
		return __real_recvmmsg(fd, m, n, flags, t);
	for (unsigned i = 0; i < n; i++) {
		m[i].msg_hdr.msg_flags = 0;
		if (cost_kernel.of_fd[(unsigned)fd % COST_FDS].gro) {
			give_piece(fd, &m[i]);
			continue;
		}
		cost_kernel_datagram(fd, (uintptr_t)m[i].msg_hdr.msg_iov[0].iov_base);
		m[i].msg_len = (unsigned)cost_kernel.datagram;
		m[i].msg_hdr.msg_controllen = 0;
		cost_kernel_operations(1);
	}
	return (int)n;
}

/* ---- settings: what is asked for is so */

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	if (level == IPPROTO_UDP && name == UDP_GRO && fd >= 0)
		cost_kernel.of_fd[(unsigned)fd % COST_FDS].gro = *(const int *)value != 0;
	return cost_kernel.on ? 0 : __real_setsockopt(fd, level, name, value, size);
}

int __wrap_getsockopt(int fd, int level, int name, void *ret, socklen_t *size)
{
	if (!cost_kernel.on)
		return __real_getsockopt(fd, level, name, ret, size);
	if (level == IPPROTO_TCP && name == TCP_ZEROCOPY_RECEIVE) {
		((struct tcp_zerocopy_receive *)ret)->recv_skip_hint = 0; /* all was mapped */
		cost_kernel_operations(1);
	}
	return 0;
}

/* ---- pipes and files: all there is room for; what goes to a socket is an operation */

ssize_t __wrap_sendfile(int out, int in, off_t *at, size_t n)
{
	if (!cost_kernel.on)
		return __real_sendfile(out, in, at, n);
	if (at)
		*at += (off_t)n;
	cost_kernel_operations(1);
	return (ssize_t)n;
}

ssize_t __wrap_splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags)
{
	if (!cost_kernel.on)
		return __real_splice(in, in_at, out, out_at, n, flags);
	if (cost_kernel.of_fd[(unsigned)in % COST_FDS].is_flow ||
	    cost_kernel.of_fd[(unsigned)out % COST_FDS].is_flow)
		cost_kernel_operations(1);
	return (ssize_t)n;
}

ssize_t __wrap_tee(int in, int out, size_t n, unsigned flags)
{
	return cost_kernel.on ? (ssize_t)n : __real_tee(in, out, n, flags);
}

ssize_t __wrap_vmsplice(int fd, const struct iovec *v, size_t n, unsigned flags)
{
	size_t bytes = 0;

	if (!cost_kernel.on)
		return __real_vmsplice(fd, v, n, flags);
	for (size_t i = 0; i < n; i++)
		bytes += v[i].iov_len;
	return (ssize_t)bytes;
}

/* ---- waiting: what was asked about has happened */

int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
	return cost_kernel.on ? 0 : __real_poll(p, n, ms);
}

int __wrap_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *s)
{
	int ready = 0;

	if (!cost_kernel.on)
		return __real_ppoll(p, n, t, s);
	/* the first is for waking up */
	p[0].revents = 0;
	for (nfds_t i = 1; i < n; i++) {
		p[i].revents = (short)(p[i].fd >= 0 ? p[i].events : 0);
		ready += p[i].revents != 0;
	}
	return ready;
}

int __wrap_epoll_ctl(int ep, int op, int fd, struct epoll_event *ev)
{
	struct cost_kernel *k = &cost_kernel;

	/* while the engine opens */
	if (k->events && op == EPOLL_CTL_ADD && ev->data.ptr && k->event_n < k->event_room)
		k->events[k->event_n++] = *ev;
	return __real_epoll_ctl(ep, op, fd, ev);
}

static inline __attribute__((always_inline)) int next_events(struct epoll_event *ev, int most)
{
	struct cost_kernel *k = &cost_kernel;
	int n = 0;

	if (!k->short_reads)
		return 0;
	for (; n < most && (uint32_t)n < k->event_n; n++) {
		ev[n].events = EPOLLIN;
		ev[n].data = k->events[k->event_at].data;
		k->event_at = k->event_at + 1 < k->event_n ? k->event_at + 1 : 0;
	}
	return n;
}

int __wrap_epoll_wait(int ep, struct epoll_event *ev, int n, int ms)
{
	return cost_kernel.on ? next_events(ev, n) : __real_epoll_wait(ep, ev, n, ms);
}

long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
#ifdef SYS_epoll_pwait2
	if (cost_kernel.on && number == SYS_epoll_pwait2) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): that is how it came */
		return next_events((struct epoll_event *)(uintptr_t)a[1], (int)a[2]);
	}
#endif
	if (cost_kernel.on && number == SYS_sendto)
		return take((int)a[0], (size_t)a[2], (int)a[3]);
	if (cost_kernel.on && number == SYS_recvfrom)
		return give((int)a[0], (uintptr_t)a[1], (size_t)a[2]);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp) */
