/* SPDX-License-Identifier: MIT */
/* TCP. */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "net/int.h"

#define CC_NAME_MAX    15 /* the kernel cuts longer names without a word */
#define AVAILABLE_PATH "/proc/sys/net/ipv4/tcp_available_congestion_control"
#define ALLOWED_PATH   "/proc/sys/net/ipv4/tcp_allowed_congestion_control"

static int fail_cc(const char *cc, int code, struct nd_err *err)
{
	nd_auto_free char *names = NULL;
	size_t len = 0;

	/* without the list the sentence is still true */
	if (nd_read_file(code == -EPERM ? ALLOWED_PATH : AVAILABLE_PATH, 4096, &names, &len, NULL) <
	    0)
		return nd_fail(err, code, "congestion control '%.32s' cannot be used", cc);
	while (len > 0 && (names[len - 1] == '\n' || names[len - 1] == ' '))
		names[--len] = '\0';
	if (code == -EPERM)
		return nd_fail(
			err, code,
			"congestion control '%.32s' is not allowed to this user; allowed: %s", cc,
			names);
	return nd_fail(err, code, "congestion control '%.32s' is not available here; there are: %s",
		       cc, names);
}

static int set_cc(int fd, const char *cc, struct nd_err *err)
{
	size_t len = strlen(cc);

	if (len == 0 || len > CC_NAME_MAX)
		return fail_cc(cc, -ENOENT, err);
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)len) < 0)
		return fail_cc(cc, -errno, err);
	return 0;
}

int nd_tcp_prepare(int fd, int family, const struct nd_sockopts *o, struct nd_err *err)
{
	int r = nd_sock_common(fd, family, o, 0, err);

	if (r < 0)
		return r;
	if (o->mss_bytes) {
		r = o->mss_bytes > INT_MAX
			    ? -EINVAL
			    : nd_sock_set(fd, IPPROTO_TCP, TCP_MAXSEG, (int)o->mss_bytes);
		if (r < 0)
			return nd_fail(err, r, "cannot set a segment size of %llu bytes",
				       (unsigned long long)o->mss_bytes);
	}
	if (o->nodelay) {
		r = nd_sock_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
		if (r < 0)
			return nd_fail(err, r, "cannot switch off Nagle's algorithm");
	}
	if (o->cork) {
		r = nd_sock_set(fd, IPPROTO_TCP, TCP_CORK, 1);
		if (r < 0)
			return nd_fail(err, r, "cannot cork a socket");
	}
	return o->cc ? set_cc(fd, o->cc, err) : 0;
}

const struct nd_transport nd_transport_tcp = {
	.name = "tcp",
	.help = "TCP",
	.caps = ND_NET_STREAM | ND_NET_TCP_INFO,
	.sock_type = SOCK_STREAM,
	.protocol = IPPROTO_TCP,
	.prepare = nd_tcp_prepare,
	.header_bytes = 20,
};
