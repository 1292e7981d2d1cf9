/* SPDX-License-Identifier: MIT */
/* UDP: large receive buffer and don't-fragment unless asked otherwise. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "net/int.h"

/* The system's 208 KiB hold some 270 small datagrams: a receiver that shares its core loses a third. */
#define RCVBUF_BYTES (8ull << 20)

static int set_fragment(int fd, int family, bool fragment)
{
	int v4 = fragment ? IP_PMTUDISC_DONT : IP_PMTUDISC_DO, r;

	if (family != AF_INET6)
		return nd_sock_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, v4);
	r = nd_sock_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
			fragment ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_DO);
	if (r == 0)
		r = nd_sock_set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, !fragment);
	/* for an IPv4 peer of a dual-stack socket; there may be none */
	(void)nd_sock_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, v4);
	return r;
}

static int prepare(int fd, int family, const struct nd_sockopts *o, struct nd_err *err)
{
	int r = nd_sock_common(fd, family, o, RCVBUF_BYTES, err);

	if (r < 0)
		return r;
	if (o->multicast.ttl && !o->multicast.wanted) {
		int ttl = (int)ND_MIN(o->multicast.ttl, UINT8_MAX);

		r = family == AF_INET6 ? nd_sock_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, ttl)
				       : nd_sock_set(fd, IPPROTO_IP, IP_MULTICAST_TTL, ttl);
		if (r < 0)
			return nd_fail(err, r, "cannot set a multicast TTL of %d", ttl);
	}
	r = set_fragment(fd, family, o->fragment);
	if (r < 0)
		return nd_fail(err, r, "cannot %s fragmentation", o->fragment ? "allow" : "forbid");
	return 0;
}

const struct nd_transport nd_transport_udp = {
	.name = "udp",
	.help = "UDP",
	.caps = ND_NET_DATAGRAM,
	.sock_type = SOCK_DGRAM,
	.protocol = IPPROTO_UDP,
	.prepare = prepare,
	.header_bytes = 8,
};
