/* SPDX-License-Identifier: MIT */
/* The interface that owns a source address: NTttcp-for-Linux binds to both. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "persona/ntttcp.h"

struct literal {
	int family;
	uint8_t bytes[16];
	size_t n;
};

/* False: a name, which is not looked up here. */
static bool read_literal(const char *text, struct literal *ret)
{
	*ret = (struct literal){ .family = strchr(text, ':') ? AF_INET6 : AF_INET };
	ret->n = ret->family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	return inet_pton(ret->family, text, ret->bytes) == 1;
}

static bool is_at(const struct ifaddrs *i, const struct literal *a)
{
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	if (!i->ifa_addr || i->ifa_addr->sa_family != a->family)
		return false;
	memcpy(&v4, i->ifa_addr, sizeof(v4));
	if (a->family == AF_INET)
		return memcmp(&v4.sin_addr, a->bytes, a->n) == 0;
	memcpy(&v6, i->ifa_addr, sizeof(v6));
	return memcmp(&v6.sin6_addr, a->bytes, a->n) == 0;
}

static const struct ifaddrs *owner_of(const struct ifaddrs *list, const char *address)
{
	struct literal a;

	if (!read_literal(address, &a))
		return NULL;
	while (list && !is_at(list, &a))
		list = list->ifa_next;
	return list;
}

/* What goes to this machine takes the loopback, whoever owns the address. */
static bool goes_out(const struct ifaddrs *list, const struct nd_ntttcp_line *l)
{
	const struct nd_target *t = l->targets.v;
	struct literal a;

	for (uint64_t i = 0; i < l->targets.n; i++) {
		if (!t[i].host || !read_literal(t[i].host, &a) || owner_of(list, t[i].host))
			return false;
		if (a.family == AF_INET && (a.bytes[0] == 0 || a.bytes[0] == 127))
			return false;
	}
	return true;
}

static int add_device(struct nd_plan *plan, const char *name)
{
	char text[IF_NAMESIZE + 2];

	(void)snprintf(text, sizeof(text), "%%%s", name); /* it fits */
	return nd_strv_add(&plan->arena, &plan->bind, text);
}

int nd_ntttcp_bind_device(struct nd_ntttcp_line *l)
{
	struct ifaddrs *list = NULL;
	const struct ifaddrs *owner;
	int r = 0;

	/* kernels before 5.7 let nobody else */
	if (!l->n.sender || !l->n.client_address || geteuid() != 0 || getifaddrs(&list) < 0)
		return 0;
	owner = owner_of(list, l->n.client_address);
	if (owner && !(owner->ifa_flags & IFF_LOOPBACK) && goes_out(list, l))
		r = add_device(l->plan, owner->ifa_name);
	freeifaddrs(list);
	return r;
}
