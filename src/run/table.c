/* SPDX-License-Identifier: MIT */
/*
 * Descriptor tables of their own: where RLIMIT_NOFILE is lower than the flows asked for, each worker
 * leaves the shared table and gets accepted sockets as messages.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/int.h"

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

int nd_table_unshare(const int *keep, size_t keep_n, struct nd_err *err)
{
	int sorted[8];
	unsigned from = 3;

	if (keep_n > ND_COUNTOF(sorted))
		return nd_fail(err, -EINVAL, "too many descriptors to keep");
	if (unshare(CLONE_FILES) < 0)
		return nd_sysfail(err, "own descriptor table (unshare)");
	memcpy(sorted, keep, keep_n * sizeof(*keep));
	qsort(sorted, keep_n, sizeof(*sorted), by_number);
	/* a copy of a link or listener left open here would hold it open after main has closed it */
	for (size_t i = 0; i < keep_n; i++) {
		if (sorted[i] < 3)
			continue;
		if ((unsigned)sorted[i] > from)
			(void)close_range(from, (unsigned)sorted[i] - 1,
					  0); /* nothing there is fine */
		from = (unsigned)sorted[i] + 1;
	}
	(void)close_range(from, ~0u, 0);
	return 0;
}

int nd_table_send(int pair, uint64_t flow, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] ND_ALIGNED(8) = { 0 };
	struct iovec iov = { .iov_base = &flow, .iov_len = sizeof(flow) };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	for (;;) {
		if (sendmsg(pair, &m, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

int nd_table_recv(int pair, uint64_t *ret_flow, int *ret_fd)
{
	char control[CMSG_SPACE(sizeof(int))] ND_ALIGNED(8) = { 0 };
	uint64_t flow;
	struct iovec iov = { .iov_base = &flow, .iov_len = sizeof(flow) };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(pair, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	if (n < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&m);
	if (n != (ssize_t)sizeof(flow) || !c || c->cmsg_type != SCM_RIGHTS)
		return -EBADMSG;
	*ret_flow = flow;
	memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return 0;
}
