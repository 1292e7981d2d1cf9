/* SPDX-License-Identifier: MIT */
/* Where a client's flow goes and where it comes from. */
#include "run/int.h"

void nd_route_peer(const struct nd_run *r, uint64_t flow, struct nd_addr *ret)
{
	uint64_t at = 0;
	int i = nd_layout_route(r, flow, &at);
	const struct nd_route *route = i >= 0 ? &r->cfg.routes[i] : NULL;

	*ret = route ? route->to : *r->cfg.peer;
	if (route && route->flows_per_port)
		nd_addr_set_port(ret, (uint16_t)(nd_addr_port(ret) + at / route->flows_per_port));
}

const char *nd_route_multicast(const struct nd_run *r, uint64_t flow)
{
	uint64_t at = 0;
	int i = nd_layout_route(r, flow, &at);

	return i >= 0 ? r->cfg.routes[i].source : NULL;
}

/* The wildcard address of the peer's family, for flows that ask only for a port. */
static void any_of(int family, struct nd_addr *ret)
{
	*ret = (struct nd_addr){ .len = family == AF_INET6 ? sizeof(ret->u.in6)
							   : sizeof(ret->u.in) };
	ret->u.sa.sa_family = (sa_family_t)family;
}

void nd_route_port(const struct nd_run *r, uint64_t flow, const struct nd_addr *peer, uint64_t port,
		   struct nd_addr *ret)
{
	if (r->cfg.from_n)
		*ret = r->cfg.from[flow % r->cfg.from_n];
	else
		any_of(peer->u.sa.sa_family, ret);
	nd_addr_set_port(ret, (uint16_t)port);
}

bool nd_route_source(const struct nd_run *r, uint64_t flow, const struct nd_addr *peer,
		     struct nd_addr *ret)
{
	const struct nd_run_cfg *cfg = &r->cfg;

	if (cfg->from_n)
		*ret = cfg->from[flow % cfg->from_n];
	else if (cfg->source_port)
		any_of(peer->u.sa.sa_family, ret);
	else
		return false;
	if (cfg->source_port)
		nd_addr_set_port(ret, (uint16_t)(cfg->source_port + flow));
	return true;
}
