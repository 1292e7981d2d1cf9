/* SPDX-License-Identifier: MIT */
/*
 * Pacing with bounded credit: the schedule runs on while the sender stalls, but at most slack_ns of it is
 * caught up, so that a long stall is not followed by a long burst.
 */
#include "load/load.h"

void nd_pace_init(struct nd_pace *p, double bytes_per_s, uint64_t slack_ns)
{
	*p = (struct nd_pace){ .slack_ns = slack_ns };
	if (bytes_per_s > 0)
		p->ns_per_byte = (double)ND_NS_PER_S / bytes_per_s;
}

uint64_t nd_pace_take(struct nd_pace *p, uint64_t bytes, uint64_t now_ns)
{
	uint64_t at_ns, whole;
	double step;

	if (p->ns_per_byte <= 0)
		return now_ns;
	if (p->next_ns < now_ns && now_ns - p->next_ns > p->slack_ns)
		p->next_ns = now_ns - p->slack_ns;
	at_ns = p->next_ns;
	step = (double)bytes * p->ns_per_byte + p->rest_ns;
	if (step > (double)INT64_MAX) /* centuries: the rate is next to nothing */
		step = (double)INT64_MAX;
	whole = (uint64_t)step;
	p->rest_ns = step - (double)whole;
	p->next_ns = whole > UINT64_MAX - at_ns ? UINT64_MAX : at_ns + whole;
	return at_ns;
}
