/* SPDX-License-Identifier: MIT */
/*
 * Source ports for --spread: an aligned block that follows one another. A receiver chooses the queue of a packet by a
 * hash of addresses and ports. Toeplitz's is linear over bits, so that the ports of an aligned block of 2^n map to
 * hash values that repeat equally often: as many flows on every queue that gets any. Which do depends on the key, which
 * only the receiver's driver knows: with the key that Microsoft gives as an example, over IPv4, 16 and 32 ports fall on
 * as many queues, but 4, 8 and 64 on half as many. Ports picked by the system fall where they may: of 8 flows on 8
 * queues, three queues stay empty on average.
 */
#include <errno.h>

#include "base/fd.h"
#include "base/time.h"
#include "session/int.h"

#define LOW       32768u /* where the system does not say */
#define HIGH      60999u
#define TRIES     64u
#define MOST_PORT 65535u

static bool is_free(const struct nd_ports *p, const struct nd_plan *plan, uint64_t port)
{
	const struct nd_transport *udp = nd_transport_find("udp");
	struct nd_addr from = { .len = p->peer->len };
	nd_auto_fd int fd = -1;

	from.u.sa.sa_family = p->peer->u.sa.sa_family;
	if (p->from)
		from = *p->from;
	nd_addr_set_port(&from, (uint16_t)port);
	return udp && nd_open(udp, &plan->sock, p->peer, &from, p->dev, &fd, NULL) >= 0;
}

int nd_spread_ports(const struct nd_ports *p, struct nd_plan *plan, struct nd_err *err)
{
	uint64_t low = p->host->port_range_low, high = p->host->port_range_high;
	uint64_t flows = nd_plan_flows(plan), block = 1, first, blocks, begin, i, k;

	if (low == ND_UNKNOWN || high == ND_UNKNOWN || high <= low || high > MOST_PORT) {
		low = LOW;
		high = HIGH;
	}
	while (block < flows)
		block *= 2;
	first = (low + block - 1) / block;
	blocks = (high + 1) / block > first ? (high + 1) / block - first : 0;
	begin = blocks ? nd_now_ns() / ND_NS_PER_US % blocks : 0;
	for (i = 0; i < blocks && i < TRIES; i++) {
		uint64_t at = (first + (begin + i) % blocks) * block;

		for (k = 0; k < flows && is_free(p, plan, at + k); k++)
			;
		if (k < flows)
			continue;
		plan->source_port = at;
		return 0;
	}
	return nd_fail(err, -EADDRINUSE,
		       "--spread: no block of %llu free source ports that follow one another, from "
		       "a multiple of %llu on",
		       (unsigned long long)flows, (unsigned long long)block);
}
