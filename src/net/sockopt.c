/* SPDX-License-Identifier: MIT */
/* Socket options that every transport has: buffers, DSCP, pacing; the limit on descriptors. */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#ifndef SO_PREFER_BUSY_POLL
#	define SO_PREFER_BUSY_POLL 69
#endif

#include "net/int.h"

int nd_sock_set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

int nd_sock_get(int fd, int level, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, option, &value, &len) < 0 ? -errno : value;
}

/* The forced form goes beyond net.core.*mem_max; it needs CAP_NET_ADMIN. */
static int set_buffer(int fd, bool may_force, int forced, int plain, uint64_t bytes)
{
	int value = bytes > INT_MAX ? INT_MAX : (int)bytes;

	if (may_force && nd_sock_set(fd, SOL_SOCKET, forced, value) == 0)
		return 0;
	return nd_sock_set(fd, SOL_SOCKET, plain, value);
}

static int set_dscp(int fd, int family, uint64_t dscp, uint64_t ecn)
{
	int value = (int)(dscp << 2 | ecn), r;

	if (dscp > 63 || ecn > 3)
		return -EINVAL;
	if (family == AF_INET6) {
		r = nd_sock_set(fd, IPPROTO_IPV6, IPV6_TCLASS, value);
		if (r < 0)
			return r;
		/* for an IPv4 peer of a dual-stack socket; there may be none */
		(void)nd_sock_set(fd, IPPROTO_IP, IP_TOS, value);
		return 0;
	}
	return nd_sock_set(fd, IPPROTO_IP, IP_TOS, value);
}

static int set_flags(int fd, const struct nd_sockopts *o, struct nd_err *err)
{
	char words[64];
	int r = 0;

	if (o->keepalive)
		r = nd_sock_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	if (r < 0)
		return nd_fail(err, r, "cannot switch on keep-alive");
	if (o->no_router)
		r = nd_sock_set(fd, SOL_SOCKET, SO_DONTROUTE, 1);
	if (r < 0)
		return nd_fail(err, r, "cannot do without routers");
	if (o->debug)
		r = nd_sock_set(fd, SOL_SOCKET, SO_DEBUG, 1);
	if (r < 0)
		return nd_fail(err, r, "cannot switch on SO_DEBUG: %s",
			       nd_strerror(r, words, sizeof(words)));
	if (o->has_priority)
		r = nd_sock_set(fd, SOL_SOCKET, SO_PRIORITY, (int)ND_MIN(o->priority, INT_MAX));
	if (r < 0)
		return nd_fail(err, r, "cannot set priority %llu", (unsigned long long)o->priority);
	return 0;
}

int nd_sock_common(int fd, int family, const struct nd_sockopts *o, uint64_t rcvbuf_default,
		   struct nd_err *err)
{
	uint64_t rcvbuf = o->rcvbuf_bytes || o->plain_bufs ? o->rcvbuf_bytes : rcvbuf_default;
	bool force = !o->plain_bufs;
	int r;

	if (o->sndbuf_bytes) {
		r = set_buffer(fd, force, SO_SNDBUFFORCE, SO_SNDBUF, o->sndbuf_bytes);
		if (r < 0)
			return nd_fail(err, r, "cannot set the send buffer");
	}
	if (rcvbuf) {
		r = set_buffer(fd, force, SO_RCVBUFFORCE, SO_RCVBUF, rcvbuf);
		if (r < 0 && o->rcvbuf_bytes)
			return nd_fail(err, r, "cannot set the receive buffer");
	}
	if (o->has_dscp) {
		r = set_dscp(fd, family, o->dscp, o->ecn);
		if (r < 0)
			return nd_fail(err, r, "cannot set dscp %llu", (unsigned long long)o->dscp);
	}
	return set_flags(fd, o, err);
}

int nd_busy_poll(int fd, uint64_t us, struct nd_err *err)
{
	char words[64];
	int r = nd_sock_set(fd, SOL_SOCKET, SO_BUSY_POLL, us > INT_MAX ? INT_MAX : (int)us);

	if (r < 0)
		return nd_fail(err, r, "cannot poll for %llu us (SO_BUSY_POLL): %s",
			       (unsigned long long)us, nd_strerror(r, words, sizeof(words)));
	/* before Linux 5.11 there is none: then interrupts go on beside it */
	(void)nd_sock_set(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, 1);
	return 0;
}

int nd_pacing_rate(int fd, uint64_t bytes_per_s)
{
	return setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_s, sizeof(bytes_per_s)) < 0
		       ? -errno
		       : 0;
}

uint64_t nd_fd_limit(void)
{
	struct rlimit lim = { 0 };

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return 0;
	if (lim.rlim_cur < lim.rlim_max) {
		rlim_t before = lim.rlim_cur;

		lim.rlim_cur = lim.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &lim) < 0)
			return before;
	}
	return lim.rlim_cur;
}
