/* SPDX-License-Identifier: MIT */
/*
 * System calls of the inner loop. In a program with threads the C library's own are points at which a thread may be
 * cancelled: two locked instructions each, some 20 ns a call, for what nobody does here.
 */
#ifndef ND_ENGINE_CALL_H
#define ND_ENGINE_CALL_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/** nd_call_send() - as send(). */
static inline ssize_t nd_call_send(int fd, const void *buf, size_t n, int flags)
{
	return syscall(SYS_sendto, fd, buf, n, flags, NULL, 0);
}

/** nd_call_sendto() - as sendto(). */
static inline ssize_t nd_call_sendto(int fd, const struct iovec *v, int flags,
				     const struct sockaddr *to, socklen_t len)
{
	return syscall(SYS_sendto, fd, v->iov_base, v->iov_len, flags, to, len);
}

/** nd_call_recv() - as recv(). */
static inline ssize_t nd_call_recv(int fd, void *buf, size_t n, int flags)
{
	return syscall(SYS_recvfrom, fd, buf, n, flags, NULL, NULL);
}

/** nd_call_recvfrom() - as recvfrom(). */
static inline ssize_t nd_call_recvfrom(int fd, const struct iovec *v, int flags,
				       struct sockaddr *from, socklen_t *len)
{
	return syscall(SYS_recvfrom, fd, v->iov_base, v->iov_len, flags, from, len);
}

/** nd_call_accept() - as accept4() that does not ask for the address. */
static inline int nd_call_accept(int fd, int flags)
{
	return (int)syscall(SYS_accept4, fd, NULL, NULL, flags);
}

#endif
