/* SPDX-License-Identifier: MIT */
/* Datagrams to a group: joining it, and how what is sent to it leaves. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/num.h"
#include "net/int.h"

#define TEXT_SIZE 80

bool nd_is_multicast(const struct nd_addr *a)
{
	if (a->u.sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_MULTICAST(&a->u.in6.sin6_addr);
	return a->u.sa.sa_family == AF_INET && IN_MULTICAST(ntohl(a->u.in.sin_addr.s_addr));
}

static bool is_same_host(const struct sockaddr *a, const struct nd_addr *b)
{
	struct nd_addr copy = { .len = b->len };

	if (!a || a->sa_family != b->u.sa.sa_family)
		return false;
	memcpy(&copy.u, a, a->sa_family == AF_INET6 ? sizeof(copy.u.in6) : sizeof(copy.u.in));
	nd_addr_set_port(&copy, nd_addr_port(b));
	return nd_addr_equal(&copy, b);
}

/* Which interface has the address. 0: none. */
static unsigned index_of_address(const struct nd_addr *at)
{
	struct ifaddrs *list = NULL;
	unsigned index = 0;

	if (getifaddrs(&list) < 0)
		return 0;
	for (const struct ifaddrs *i = list; i && !index; i = i->ifa_next)
		if (is_same_host(i->ifa_addr, at))
			index = if_nametoindex(i->ifa_name);
	freeifaddrs(list);
	return index;
}

/* An address of this machine, an index, or a name. */
static int interface_of(const char *text, unsigned *ret, struct nd_err *err)
{
	struct nd_addr at;
	char name[IF_NAMESIZE];
	uint64_t index;
	size_t n = 0;

	*ret = 0;
	if (!text)
		return 0;
	if (nd_parse_number(text, ND_UNIT_COUNT, &index) == 0) {
		if (index <= UINT32_MAX && if_indextoname((unsigned)index, name))
			*ret = (unsigned)index;
	} else if (if_nametoindex(text)) {
		*ret = if_nametoindex(text);
	} else if (nd_addr_resolve(text, 0, ND_AF_ANY, false, &at, 1, &n, NULL) == 0) {
		*ret = index_of_address(&at);
	}
	return *ret ? 0
		    : nd_fail(err, -ENODEV,
			      "multicast: '%.80s' is no address, index or name of an interface here",
			      text);
}

static int join(int fd, const struct nd_addr *group, const char *source, unsigned interface,
		struct nd_err *err)
{
	int level = group->u.sa.sa_family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP, r;
	struct group_source_req from = { .gsr_interface = interface };
	struct group_req all = { .gr_interface = interface };
	struct nd_addr sender;
	char text[TEXT_SIZE];
	size_t n = 0;

	memcpy(&all.gr_group, &group->u, group->len);
	if (!source) {
		r = setsockopt(fd, level, MCAST_JOIN_GROUP, &all, sizeof(all));
	} else {
		enum nd_af af = level == IPPROTO_IPV6 ? ND_AF_IPV6 : ND_AF_IPV4;

		r = nd_addr_resolve(source, 0, af, false, &sender, 1, &n, err);
		if (r < 0)
			return nd_wrap(err, r, "multicast source");
		memcpy(&from.gsr_group, &group->u, group->len);
		memcpy(&from.gsr_source, &sender.u, sender.len);
		r = setsockopt(fd, level, MCAST_JOIN_SOURCE_GROUP, &from, sizeof(from));
	}
	(void)nd_addr_text(group, false, text, sizeof(text)); /* returns its own argument */
	return r < 0 ? nd_sysfail(err, "joining %s", text) : 0;
}

static int set_sending(int fd, int family, const struct nd_multicast *m, unsigned interface)
{
	struct ip_mreqn v4 = { .imr_ifindex = (int)interface };
	int r;

	if (family == AF_INET6) {
		r = nd_sock_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, m->loops);
		r = r ?: nd_sock_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, (int)m->ttl);
		if (r == 0 && interface)
			r = nd_sock_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface);
		return r;
	}
	r = nd_sock_set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, m->loops);
	r = r ?: nd_sock_set(fd, IPPROTO_IP, IP_MULTICAST_TTL, (int)m->ttl);
	if (r == 0 && interface && setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &v4, sizeof(v4)) < 0)
		r = -errno;
	return r;
}

int nd_multicast_set(int fd, const struct nd_addr *group, const struct nd_multicast *m, bool joins,
		     struct nd_err *err)
{
	unsigned rx = 0, tx = 0;
	int r = interface_of(m->rx_if, &rx, err);

	if (r == 0)
		r = interface_of(m->tx_if, &tx, err);
	if (r < 0)
		return r;
	r = set_sending(fd, group->u.sa.sa_family, m, tx);
	if (r < 0)
		return nd_fail(err, r, "cannot set up a socket for a group");
	return joins ? join(fd, group, m->source, rx, err) : 0;
}
