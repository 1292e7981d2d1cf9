/* SPDX-License-Identifier: MIT */
/* Which interface holds a local address. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "os/os.h"

struct address {
	bool is_ip4;
	struct in_addr ip4;
	struct in6_addr ip6;
	uint32_t scope; /* of a link-local one; 0: any */
};

static bool read_address(const void *sockaddr, struct address *ret)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;
	sa_family_t family;

	memcpy(&family, (const char *)sockaddr + offsetof(struct sockaddr, sa_family),
	       sizeof(family));
	*ret = (struct address){ .is_ip4 = family == AF_INET };
	if (family == AF_INET) {
		memcpy(&in, sockaddr, sizeof(in));
		ret->ip4 = in.sin_addr;
		return true;
	}
	if (family != AF_INET6)
		return false;
	memcpy(&in6, sockaddr, sizeof(in6));
	ret->ip6 = in6.sin6_addr;
	ret->scope = in6.sin6_scope_id;
	if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
		ret->is_ip4 = true;
		memcpy(&ret->ip4, &in6.sin6_addr.s6_addr[12], sizeof(ret->ip4));
	}
	return true;
}

static bool is_same(const struct address *a, const struct address *b)
{
	if (a->is_ip4 != b->is_ip4)
		return false;
	if (a->is_ip4)
		return a->ip4.s_addr == b->ip4.s_addr;
	return !memcmp(&a->ip6, &b->ip6, sizeof(a->ip6)) &&
	       (!a->scope || !b->scope || a->scope == b->scope);
}

/* All of 127.0.0.0/8 is local though only its first address is listed. */
static bool is_in_loopback(const struct address *a, const struct ifaddrs *i)
{
	struct address own, mask;

	if (!(i->ifa_flags & IFF_LOOPBACK) || !i->ifa_netmask || !a->is_ip4)
		return false;
	if (!read_address(i->ifa_addr, &own) || !own.is_ip4 || !read_address(i->ifa_netmask, &mask))
		return false;
	return mask.ip4.s_addr && ((a->ip4.s_addr ^ own.ip4.s_addr) & mask.ip4.s_addr) == 0;
}

static const char *find(const struct ifaddrs *list, const struct address *a)
{
	const struct ifaddrs *i;
	struct address own;

	for (i = list; i; i = i->ifa_next)
		if (i->ifa_addr && read_address(i->ifa_addr, &own) && is_same(a, &own))
			return i->ifa_name;
	for (i = list; i; i = i->ifa_next)
		if (i->ifa_addr && is_in_loopback(a, i))
			return i->ifa_name;
	return NULL;
}

int nd_os_nic_for(const void *sockaddr, char *ret, size_t size)
{
	struct ifaddrs *list = NULL;
	struct address a;
	const char *name;
	int r = 0;

	if (!read_address(sockaddr, &a))
		return -ENODEV;
	if (getifaddrs(&list) < 0)
		return -errno;
	name = find(list, &a);
	if (!name)
		r = -ENODEV;
	else if (strlen(name) >= size)
		r = -ENOSPC;
	else
		memcpy(ret, name, strlen(name) + 1);
	freeifaddrs(list);
	return r;
}
