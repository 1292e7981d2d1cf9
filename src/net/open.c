/* SPDX-License-Identifier: MIT */
/* Sockets: listening, connecting, one per datagram peer; every one non-blocking, closed on exec. */
#include <errno.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "net/int.h"

#define BACKLOG        4096 /* the kernel takes the smaller of this and net.core.somaxconn */
#define SOMAXCONN_PATH "/proc/sys/net/core/somaxconn"
#define TEXT_SIZE      80
#define DEFER_S        3 /* a listener waits so long for data before it takes a connection without any */

static int new_socket(const struct nd_transport *t, int family, bool blocks, struct nd_err *err)
{
	int fd = socket(family, t->sock_type | (blocks ? 0 : SOCK_NONBLOCK) | SOCK_CLOEXEC,
			t->protocol);

	if (fd < 0)
		return nd_sysfail(err, "no %s socket", t->name);
	return fd;
}

static int bind_to(int fd, const struct nd_addr *at, struct nd_err *err)
{
	char text[TEXT_SIZE];

	if (bind(fd, &at->u.sa, at->len) < 0)
		return nd_sysfail(err, "bind to %s", nd_addr_text(at, true, text, sizeof(text)));
	return 0;
}

static int want_packet_info(int fd, int family)
{
	/* on a dual-stack socket this one tells IPv4 addresses too, as mapped */
	if (family == AF_INET6)
		return nd_sock_set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	return nd_sock_set(fd, IPPROTO_IP, IP_PKTINFO, 1);
}

static int listen_at(const struct nd_transport *t, const struct nd_addr *at, bool v6only,
		     bool shares, int *ret_fd, struct nd_err *err)
{
	int family = at->u.sa.sa_family, r = 0;
	nd_auto_fd int fd = new_socket(t, family, false, err);

	if (fd < 0)
		return fd;
	/* streams: connections of an earlier run may linger; datagrams: peers' own sockets share the port */
	if (shares || (t->caps & ND_NET_STREAM))
		r = nd_sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (r == 0 && family == AF_INET6)
		r = nd_sock_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6only);
	if (r == 0 && (t->caps & ND_NET_DATAGRAM))
		r = want_packet_info(fd, family);
	if (r < 0)
		return nd_fail(err, r, "cannot set up a %s listener", t->name);
	r = bind_to(fd, at, err);
	if (r < 0)
		return r;
	if ((t->caps & ND_NET_STREAM) && listen(fd, BACKLOG) < 0)
		return nd_sysfail(err, "%s listen", t->name);
	*ret_fd = nd_take_fd(&fd);
	return 0;
}

int nd_listen(const struct nd_transport *t, const struct nd_addr *at, bool v6only, int *ret_fd,
	      struct nd_err *err)
{
	return listen_at(t, at, v6only, true, ret_fd, err);
}

uint64_t nd_listen_queue(void)
{
	nd_auto_free char *text = NULL;
	uint64_t most = 0;
	size_t n;

	if (nd_read_file(SOMAXCONN_PATH, 64, &text, &n, NULL) < 0 ||
	    nd_parse_prefix_u64(text, &most) == 0)
		return 0;
	return ND_MIN(most, (uint64_t)BACKLOG);
}

int nd_listen_alone(const struct nd_transport *t, const struct nd_addr *at, bool v6only,
		    int *ret_fd, struct nd_err *err)
{
	return listen_at(t, at, v6only, false, ret_fd, err);
}

/* What only a socket that listens has. A kernel that lacks it goes without. */
void nd_listener_set(int fd, const struct nd_sockopts *o)
{
	if (o->fastopen)
		(void)nd_sock_set(fd, IPPROTO_TCP, TCP_FASTOPEN, BACKLOG);
	if (o->defer_accept)
		(void)nd_sock_set(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, DEFER_S);
}

int nd_bound(const struct nd_transport *t, const struct nd_sockopts *o, const struct nd_addr *at,
	     bool listens, int *ret_fd, struct nd_err *err)
{
	struct nd_addr where = *at;
	nd_auto_fd int fd = -1;
	int r;

	nd_addr_unmap(&where);
	fd = new_socket(t, where.u.sa.sa_family, false, err);
	if (fd < 0)
		return fd;
	r = t->prepare(fd, where.u.sa.sa_family, o, err);
	if (r < 0)
		return r;
	r = nd_sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (r < 0)
		return nd_fail(err, r, "cannot set up a %s socket", t->name);
	r = bind_to(fd, &where, err);
	if (r < 0)
		return r;
	if (listens)
		nd_listener_set(fd, o);
	if (listens && listen(fd, BACKLOG) < 0)
		return nd_sysfail(err, "%s listen", t->name);
	*ret_fd = nd_take_fd(&fd);
	return 0;
}

/* @shares: a port that was named may still be that of a connection which has ended. */
static int bind_source(int fd, const struct nd_addr *from, const char *dev, bool shares,
		       struct nd_err *err)
{
	int r;

	if (dev &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev, (socklen_t)strnlen(dev, IFNAMSIZ)) < 0)
		return nd_sysfail(err, "bind to device '%.32s'", dev);
	if (!from)
		return 0;
	if (shares && nd_addr_port(from) && nd_sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0)
		return nd_sysfail(err, "cannot share a source port");
	/* the port is then chosen with the destination known: one source port serves many peers */
	r = nd_sock_set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	if (r < 0)
		return nd_fail(err, r, "cannot bind without a port");
	return bind_to(fd, from, err);
}

/* Not connected: answers come from others. What comes to the group, and to the own address, comes to a port at every address. An own address that was asked for
 * is then that of the interface. */
static int open_to_group(int fd, const struct nd_multicast *m, const struct nd_addr *group,
			 const struct nd_addr *from, struct nd_err *err)
{
	struct nd_addr any = { .len = group->len };
	struct nd_multicast how = *m;
	char text[TEXT_SIZE];
	int r;

	any.u.sa.sa_family = group->u.sa.sa_family;
	if (from) {
		nd_addr_set_port(&any, nd_addr_port(from));
		if (!how.tx_if && !nd_addr_any(from))
			how.tx_if = nd_addr_text(from, false, text, sizeof(text));
	}
	r = nd_multicast_set(fd, group, &how, how.joins, err);
	return r < 0 ? r : bind_to(fd, &any, err);
}

/* A call that a signal has ended goes on without us. */
static int start_connect(int fd, const struct nd_addr *to, struct nd_err *err)
{
	char text[TEXT_SIZE];

	if (connect(fd, &to->u.sa, to->len) == 0)
		return 0;
	if (errno == EINPROGRESS || errno == EINTR)
		return 1;
	(void)nd_addr_text(to, true, text, sizeof(text)); /* returns its own argument */
	if (errno == EADDRNOTAVAIL)
		return nd_sysfail(err, "connect to %s: no source port or address is left", text);
	return nd_sysfail(err, "connect to %s", text);
}

/* NOLINTNEXTLINE(readability-function-size): what, how, where to, from where, and the answer */
int nd_open(const struct nd_transport *t, const struct nd_sockopts *o, const struct nd_addr *to,
	    const struct nd_addr *from, const char *dev, int *ret_fd, struct nd_err *err)
{
	struct nd_addr peer = *to, source = { 0 };
	nd_auto_fd int fd = -1;
	int family, r;

	nd_addr_unmap(&peer);
	family = peer.u.sa.sa_family;
	if (from) {
		source = *from;
		nd_addr_unmap(&source);
		if (source.u.sa.sa_family != family)
			return nd_fail(err, -EAFNOSUPPORT,
				       "source and destination are not both IPv4 or both IPv6");
	}
	fd = new_socket(t, family, o->blocks, err);
	if (fd < 0)
		return fd;
	r = t->prepare(fd, family, o, err);
	if (r == 0 && o->multicast.wanted && nd_is_multicast(&peer)) {
		r = open_to_group(fd, &o->multicast, &peer, from ? &source : NULL, err);
		if (r == 0)
			*ret_fd = nd_take_fd(&fd);
		return r;
	}
	if (r == 0)
		r = bind_source(fd, from ? &source : NULL, dev, (t->caps & ND_NET_STREAM) != 0,
				err);
	if (r < 0)
		return r;
	if (o->fastopen && (t->caps & ND_NET_STREAM)) /* a kernel that cannot connects as ever */
		(void)nd_sock_set(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1);
	if (o->speaks_first) /* one packet less; a kernel that cannot sends both */
		(void)nd_sock_set(fd, IPPROTO_TCP, TCP_QUICKACK, 0);
	r = start_connect(fd, &peer, err);
	if (r < 0)
		return r;
	*ret_fd = nd_take_fd(&fd);
	return r;
}

int nd_open_result(int fd)
{
	int r = nd_sock_get(fd, SOL_SOCKET, SO_ERROR);

	return r > 0 ? -r : r;
}

/*
 * Until it is connected the new socket attracts datagrams of everybody who writes to the shared port. It
 * lets none in: peers that are not yet known repeat their first datagram.
 */
static int shut_ears(int fd, bool shut)
{
	struct sock_filter drop_all = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &drop_all };

	if (!shut)
		return nd_sock_set(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno
											   : 0;
}

int nd_datagram_peer(const struct nd_transport *t, const struct nd_sockopts *o,
		     const struct nd_addr *local, const struct nd_addr *peer, int *ret_fd,
		     struct nd_err *err)
{
	struct nd_addr at = *local, to = *peer;
	nd_auto_fd int fd = -1;
	int r;

	nd_addr_unmap(&at);
	nd_addr_unmap(&to);
	if (at.u.sa.sa_family != to.u.sa.sa_family)
		return nd_fail(err, -EAFNOSUPPORT, "local address and peer are of two families");
	fd = new_socket(t, at.u.sa.sa_family, false, err);
	if (fd < 0)
		return fd;
	r = t->prepare(fd, at.u.sa.sa_family, o, err);
	if (r < 0)
		return r;
	r = nd_sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (r == 0)
		r = shut_ears(fd, true);
	if (r < 0)
		return nd_fail(err, r, "cannot set up a socket for a datagram peer");
	r = bind_to(fd, &at, err);
	if (r == 0)
		r = start_connect(fd, &to, err);
	if (r < 0)
		return r;
	r = shut_ears(fd, false);
	if (r < 0)
		return nd_fail(err, r, "cannot open a socket for a datagram peer");
	*ret_fd = nd_take_fd(&fd);
	return 0;
}

static void local_from(struct msghdr *m, struct nd_addr *ret)
{
	struct in_pktinfo v4;
	struct in6_pktinfo v6;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&v4, CMSG_DATA(c), sizeof(v4));
			ret->u.in.sin_addr = v4.ipi_spec_dst;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&v6, CMSG_DATA(c), sizeof(v6));
			ret->u.in6.sin6_addr = v6.ipi6_addr;
			if (IN6_IS_ADDR_LINKLOCAL(&v6.ipi6_addr))
				ret->u.in6.sin6_scope_id = (uint32_t)v6.ipi6_ifindex;
		}
	}
}

ssize_t nd_recv_to(int fd, void *buf, size_t size, struct nd_addr *ret_peer,
		   struct nd_addr *ret_local)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
			  CMSG_SPACE(sizeof(struct in_pktinfo))];
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct nd_addr peer = { 0 }, local = { 0 };
	struct msghdr m = { .msg_name = &peer.u,
			    .msg_namelen = sizeof(peer.u),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n;

	do
		n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	peer.len = m.msg_namelen;
	local.len = sizeof(local.u);
	if (getsockname(fd, &local.u.sa, &local.len) < 0) /* family and port */
		return -errno;
	local_from(&m, &local);
	*ret_peer = peer;
	*ret_local = local;
	return n;
}

int nd_accepted(const struct nd_transport *t, const struct nd_sockopts *o, int fd,
		struct nd_err *err)
{
	struct nd_addr local = { .len = sizeof(local.u) };

	/* only what goes into the IP header asks for the family: thousands of sockets are spared the question */
	local.u.sa.sa_family = AF_INET;
	if (o->has_dscp && getsockname(fd, &local.u.sa, &local.len) < 0)
		return nd_sysfail(err, "asking an accepted socket for its address");
	return t->prepare(fd, local.u.sa.sa_family, o, err);
}
