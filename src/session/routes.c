/* SPDX-License-Identifier: MIT */
/* Where a tool's flows go: hosts of a mapping, and ports that count on. */
#include <errno.h>
#include <stdlib.h>

#include "session/int.h"

int nd_routes_resolve(struct nd_routes *r, const struct nd_plan *plan, struct nd_err *err)
{
	const struct nd_target *target = plan->targets.v;
	int e = 0;

	r->n = (uint32_t)plan->targets.n;
	if (r->n == 0)
		return 0;
	r->v = calloc(r->n, sizeof(*r->v));
	if (!r->v)
		return nd_fail(err, -ENOMEM, "no memory for %u hosts", r->n);
	for (uint32_t i = 0; e == 0 && i < r->n; i++) {
		size_t n = 0;

		r->v[i].flows = target[i].flows;
		r->v[i].cpu = target[i].cpu;
		r->v[i].source = target[i].source;
		e = nd_addr_resolve(target[i].host, plan->port, plan->af, false, &r->v[i].to, 1, &n,
				    err);
	}
	return e;
}

int nd_routes_bind(struct nd_routes *r, const struct nd_plan *plan)
{
	const struct nd_target *target = plan->targets.v;
	bool any = false;

	for (uint64_t i = 0; i < plan->targets.n; i++)
		any = any || target[i].cpu >= 0;
	if (!any)
		return 0;
	r->v = calloc(plan->targets.n, sizeof(*r->v));
	if (!r->v)
		return -ENOMEM;
	r->n = (uint32_t)plan->targets.n;
	for (uint32_t i = 0; i < r->n; i++)
		r->v[i].cpu = target[i].cpu;
	return 0;
}

void nd_routes_number(struct nd_routes *r, const struct nd_plan *plan)
{
	const struct nd_target *target = plan->targets.v;
	/* the ports may have been told by the receiver instead of being planned */
	uint64_t moved = r->n && plan->data_port ? plan->data_port - target[0].port : 0;

	for (uint32_t i = 0; i < r->n; i++) {
		nd_addr_set_port(&r->v[i].to, (uint16_t)(target[i].port + moved));
		r->v[i].flows_per_port = plan->flows_per_port;
	}
}

bool nd_routes_flow(const struct nd_routes *r, uint64_t flow, struct nd_addr *ret)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct nd_route *v = &r->v[i];

		if (flow >= v->flows) {
			flow -= v->flows;
			continue;
		}
		*ret = v->to;
		if (v->flows_per_port)
			nd_addr_set_port(ret,
					 (uint16_t)(nd_addr_port(ret) + flow / v->flows_per_port));
		return true;
	}
	return false;
}

void nd_routes_done(struct nd_routes *r)
{
	free(r->v);
	*r = (struct nd_routes){ 0 };
}
