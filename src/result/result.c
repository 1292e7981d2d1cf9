/* SPDX-License-Identifier: MIT */
/* A result's life, and finding one's way in it. */
#include "result/result.h"

#define QUANTILE_BEYOND 10u /* samples, so that the quantile says something */

void nd_result_init(struct nd_result *r)
{
	*r = (struct nd_result){ 0 };
	nd_table_unknown(&nd_result_table, r);
	r->schema = ND_RESULT_SCHEMA;
	r->tool = "netdyno";
	r->version = ND_VERSION;
}

void nd_result_done(struct nd_result *r)
{
	if (!r)
		return;
	nd_arena_done(&r->arena);
	*r = (struct nd_result){ 0 };
}

const struct nd_part *nd_result_part(const struct nd_side *side, uint64_t workload)
{
	const struct nd_part *p;
	uint64_t i;

	if (!side)
		return NULL;
	p = side->parts.v;
	for (i = 0; i < side->parts.n; i++)
		if (p[i].workload == workload)
			return &p[i];
	return NULL;
}

const struct nd_side *nd_result_sender(const struct nd_result *r, const struct nd_direction *d)
{
	return d->client_active ? r->client : r->server;
}

const struct nd_side *nd_result_receiver(const struct nd_result *r, const struct nd_direction *d)
{
	return d->client_active ? r->server : r->client;
}

bool nd_quantile_says(uint64_t samples, uint64_t one_of)
{
	return samples != ND_UNKNOWN && samples / one_of >= QUANTILE_BEYOND;
}
