/* SPDX-License-Identifier: MIT */
/* Counts of queues as the generic netlink family "netdev" tells them: the same for every driver that has it. */
#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

#include "os/detail.h"
#include "os/int.h"

/* The generic family "netdev" (Linux 6.9); the headers of older systems lack it. */
#define NETDEV_QSTATS_GET 12
#define QSTATS_IFINDEX    1
#define QSTATS_TYPE       2
#define QSTATS_QUEUE      3
#define QSTATS_SCOPE      4
#define QSTATS_RX_PACKETS 8
#define QSTATS_RX_BYTES   9
#define QSTATS_TX_PACKETS 10
#define QSTATS_TX_BYTES   11
#define QSTATS_RX_DROPS   13
#define QSTATS_TX_DROPS   24 /* by the hardware */
#define SCOPE_QUEUE       1

static uint64_t attr_number(const struct nd_os_attr *a)
{
	uint64_t v;

	if (a->len < sizeof(v))
		return nd_os_attr_u32(a);
	memcpy(&v, a->data, sizeof(v));
	return v;
}

static int take_family(void *ctx, const char *body, size_t len)
{
	const char *p = body + GENL_HDRLEN;
	size_t left = len - GENL_HDRLEN;
	struct nd_os *os = ctx;
	struct nd_os_attr a;

	if (len < GENL_HDRLEN)
		return -EBADMSG;
	while (nd_os_attr_next(&p, &left, &a))
		if (a.type == CTRL_ATTR_FAMILY_ID && a.len >= sizeof(os->netdev_family))
			memcpy(&os->netdev_family, a.data, sizeof(os->netdev_family));
	return 0;
}

static void find_family(struct nd_os *os)
{
	static const char name[] = "netdev";

	struct {
		struct genlmsghdr head;
		uint16_t len, type;
		char name[8];
	} body = { .head = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		   .len = 4 + sizeof(name),
		   .type = CTRL_ATTR_FAMILY_NAME };

	struct nd_os_request q = { .type = GENL_ID_CTRL,
				   .body = &body,
				   .len = sizeof(body),
				   .take = take_family,
				   .ctx = os };

	os->netdev_asked = true;
	memcpy(body.name, name, sizeof(name));
	if (os->is_machine && nd_os_rtnl_ask(&os->genl, &q) < 0)
		os->netdev_family = 0; /* no such family */
}

static void take_qstat(struct nd_queue_count *q, const struct nd_os_attr *a)
{
	switch (a->type) {
	case QSTATS_RX_PACKETS:
	case QSTATS_TX_PACKETS:
		q->packets = attr_number(a);
		break;
	case QSTATS_RX_BYTES:
	case QSTATS_TX_BYTES:
		q->bytes = attr_number(a);
		break;
	case QSTATS_RX_DROPS:
	case QSTATS_TX_DROPS:
		q->drops = attr_number(a);
		break;
	default:
		break;
	}
}

int nd_os_take_qstats(void *ctx, const char *body, size_t len)
{
	const char *p = body + GENL_HDRLEN;
	size_t left = len - GENL_HDRLEN;
	struct nd_queue_count *q;
	struct nd_os_attr a;

	if (len < GENL_HDRLEN)
		return -EBADMSG;
	q = nd_os_add_queue(ctx);
	if (!q)
		return -ENOMEM;
	while (nd_os_attr_next(&p, &left, &a)) {
		if (a.type == QSTATS_IFINDEX)
			q->ifindex = attr_number(&a);
		else if (a.type == QSTATS_TYPE)
			q->is_tx = attr_number(&a);
		else if (a.type == QSTATS_QUEUE)
			q->queue = attr_number(&a);
		else
			take_qstat(q, &a);
	}
	return 0;
}

int nd_os_netdev_queues(struct nd_os *os, struct nd_os_detail *d)
{
	struct {
		struct genlmsghdr head;
		uint16_t len, type;
		uint32_t scope;
	} body = { .head = { .cmd = NETDEV_QSTATS_GET, .version = 1 },
		   .len = 8,
		   .type = QSTATS_SCOPE,
		   .scope = SCOPE_QUEUE };

	struct nd_os_request q = { .flags = NLM_F_DUMP,
				   .body = &body,
				   .len = sizeof(body),
				   .take = nd_os_take_qstats,
				   .ctx = d };
	int r;

	if (!os->netdev_asked)
		find_family(os);
	q.type = os->netdev_family;
	if (!q.type)
		return 0;
	r = nd_os_rtnl_ask(&os->genl, &q);
	if (r < 0)
		d->queues = 0;
	else if (d->queues)
		d->queue_source = "netdev";
	return r == -ENOMEM ? r : 0;
}
