/* SPDX-License-Identifier: MIT */
/* What is in force on a connected socket, and what the path carries. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "net/int.h"

#define CC_ROOM         16u
#define IPV4_UDP_HEADER 28u
#define IPV6_UDP_HEADER 48u
#define ETHERNET_MTU    1500u

static uint64_t known(int r)
{
	return r < 0 ? ND_UNKNOWN : (uint64_t)r;
}

/* Known once the socket is connected. */
static int path_mtu(int fd)
{
	int family = nd_sock_get(fd, SOL_SOCKET, SO_DOMAIN), r = -ENOTCONN;

	if (family == AF_INET6)
		r = nd_sock_get(fd, IPPROTO_IPV6, IPV6_MTU);
	if (r <= 0) /* IPv4, also on a dual-stack socket */
		r = nd_sock_get(fd, IPPROTO_IP, IP_MTU);
	return r == 0 ? -ENOTCONN : r;
}

int nd_net_facts(int fd, const struct nd_transport *t, struct nd_arena *a, struct nd_net_facts *ret)
{
	struct nd_net_facts facts = { .mss_bytes = ND_UNKNOWN };
	char cc[CC_ROOM + 1] = { 0 };
	socklen_t len = CC_ROOM;
	int r = nd_sock_get(fd, SOL_SOCKET, SO_SNDBUF);

	if (r < 0)
		return r;
	facts.sndbuf_bytes = known(r);
	facts.rcvbuf_bytes = known(nd_sock_get(fd, SOL_SOCKET, SO_RCVBUF));
	facts.path_mtu_bytes = known(path_mtu(fd));
	if (t->caps & ND_NET_STREAM) {
		facts.mss_bytes = known(nd_sock_get(fd, IPPROTO_TCP, TCP_MAXSEG));
		facts.nodelay = nd_sock_get(fd, IPPROTO_TCP, TCP_NODELAY) > 0;
		if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &len) == 0 && cc[0]) {
			facts.cc = nd_arena_dup(a, cc);
			if (!facts.cc)
				return -ENOMEM;
		}
	}
	*ret = facts;
	return 0;
}

int nd_path_datagram(const struct nd_addr *to, const struct nd_addr *from, const char *dev,
		     uint64_t *ret, struct nd_err *err)
{
	static const struct nd_sockopts defaults = { 0 };
	struct nd_addr peer = *to;
	nd_auto_fd int fd = -1;
	unsigned header;
	int mtu, r;

	nd_addr_unmap(&peer);
	header = peer.u.sa.sa_family == AF_INET6 ? IPV6_UDP_HEADER : IPV4_UDP_HEADER;
	/* connecting a datagram socket looks up the route and sends nothing */
	r = nd_open(nd_transport_find("udp"), &defaults, &peer, from, dev, &fd, err);
	if (r < 0)
		return nd_wrap(err, r, "path MTU");
	mtu = path_mtu(fd);
	if (mtu <= (int)header)
		mtu = ETHERNET_MTU;
	*ret = ND_MIN((uint64_t)mtu - header, ND_MAX_DATAGRAM);
	return 0;
}
