/* SPDX-License-Identifier: MIT */
/* What each interface counted: by netlink, or from /proc/net/dev where that cannot be asked. */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/grow.h"
#include "os/int.h"

#define NICS_MAX 65536u

/* /proc/net/dev, counted from the first number behind the name. */
#define DEV_RX_BYTES   0
#define DEV_RX_PACKETS 1
#define DEV_RX_ERRORS  2
#define DEV_RX_DROPPED 3 /* what the hardware missed is in it */
#define DEV_RX_FIFO    4
#define DEV_RX_COMPR   6
#define DEV_RX_MULTI   7
#define DEV_TX_BYTES   8
#define DEV_TX_PACKETS 9
#define DEV_TX_ERRORS  10
#define DEV_TX_DROPPED 11
#define DEV_TX_CARRIER 14
#define DEV_TX_COMPR   15
#define DEV_COLUMNS    16

/* A new row, nothing known of it. NULL: no memory. */
static struct nd_nic *add_nic(struct nd_os_sample *s, const char *name, size_t len)
{
	struct nd_nic *n;

	if (s->nics >= NICS_MAX || nd_grow(s->nic, s->nics) < 0)
		return NULL;
	n = &s->nic[s->nics++];
	nd_os_blank(n, sizeof(*n));
	memset(n->name, 0, sizeof(n->name));
	memcpy(n->name, name, ND_MIN(len, sizeof(n->name) - 1));
	return n;
}

/* An older kernel's struct is shorter. */
static uint64_t stat_at(const struct nd_os_attr *a, size_t offset)
{
	uint64_t v;

	if (offset + sizeof(v) > a->len)
		return ND_UNKNOWN;
	memcpy(&v, (const char *)a->data + offset, sizeof(v));
	return v;
}

#define STAT(a, member) stat_at(a, offsetof(struct rtnl_link_stats64, member))

static void take_stats(const struct nd_os_attr *a, struct nd_nic *n)
{
	n->rx_packets = STAT(a, rx_packets);
	n->rx_bytes = STAT(a, rx_bytes);
	n->rx_dropped = STAT(a, rx_dropped);
	n->rx_errors = STAT(a, rx_errors);
	n->rx_missed = STAT(a, rx_missed_errors);
	n->rx_nohandler = STAT(a, rx_nohandler);
	n->rx_multicast = STAT(a, multicast);
	n->rx_compressed = STAT(a, rx_compressed);
	n->rx_fifo_errors = STAT(a, rx_fifo_errors);
	n->tx_packets = STAT(a, tx_packets);
	n->tx_bytes = STAT(a, tx_bytes);
	n->tx_dropped = STAT(a, tx_dropped);
	n->tx_errors = STAT(a, tx_errors);
	n->tx_carrier_errors = STAT(a, tx_carrier_errors);
	n->tx_compressed = STAT(a, tx_compressed);
}

int nd_os_take_link(void *ctx, const char *body, size_t len)
{
	struct nd_os_attr a, name = { 0 }, stats = { 0 };
	struct nd_os_sample *s = ctx;
	struct ifinfomsg info;
	struct nd_nic *n;
	const char *p = body + NLMSG_ALIGN(sizeof(info));
	size_t left;

	if (len < NLMSG_ALIGN(sizeof(info)))
		return -EBADMSG;
	memcpy(&info, body, sizeof(info));
	left = len - NLMSG_ALIGN(sizeof(info));
	while (nd_os_attr_next(&p, &left, &a)) {
		if (a.type == IFLA_IFNAME)
			name = a;
		else if (a.type == IFLA_STATS64)
			stats = a;
	}
	if (!name.len)
		return 0;
	n = add_nic(s, name.data, strnlen(name.data, name.len));
	if (!n)
		return -ENOMEM;
	n->ifindex = info.ifi_index > 0 ? (uint64_t)info.ifi_index : ND_UNKNOWN;
	if (stats.len)
		take_stats(&stats, n);
	return 0;
}

/* "eth0: 1 2" and, of old kernels, "eth0:1 2"; an alias has a colon in its name. */
static const char *behind_name(const char *line, struct nd_os_word *ret)
{
	const char *p = line, *colon = NULL;

	while (*p == ' ')
		p++;
	ret->at = p;
	for (; *p && *p != '\n' && *p != ' '; p++)
		if (*p == ':')
			colon = p;
	if (!colon || colon == ret->at)
		return NULL;
	ret->len = (size_t)(colon - ret->at);
	return colon + 1;
}

static void take_columns(const char *p, struct nd_nic *n)
{
	uint64_t v[DEV_COLUMNS];
	size_t i;

	for (i = 0; i < DEV_COLUMNS; i++)
		v[i] = nd_os_next_u64(&p);
	n->rx_bytes = v[DEV_RX_BYTES];
	n->rx_packets = v[DEV_RX_PACKETS];
	n->rx_errors = v[DEV_RX_ERRORS];
	n->rx_dropped = v[DEV_RX_DROPPED];
	n->rx_multicast = v[DEV_RX_MULTI];
	n->rx_compressed = v[DEV_RX_COMPR];
	n->rx_fifo_errors = v[DEV_RX_FIFO];
	n->tx_bytes = v[DEV_TX_BYTES];
	n->tx_packets = v[DEV_TX_PACKETS];
	n->tx_errors = v[DEV_TX_ERRORS];
	n->tx_dropped = v[DEV_TX_DROPPED];
	n->tx_carrier_errors = v[DEV_TX_CARRIER];
	n->tx_compressed = v[DEV_TX_COMPR];
}

int nd_os_parse_net_dev(const char *text, struct nd_os_sample *s)
{
	struct nd_os_word name;
	const char *line, *p;
	struct nd_nic *n;

	for (line = text; line; line = nd_os_line(line)) {
		p = behind_name(line, &name);
		if (!p)
			continue;
		n = add_nic(s, name.at, name.len);
		if (!n)
			return -ENOMEM;
		take_columns(p, n);
	}
	return 0;
}

static uint64_t index_of(struct nd_os *os, const char *name)
{
	unsigned n;

	if (!os->is_machine)
		return strchr(name, '/') ? ND_UNKNOWN
					 : nd_os_fact_u64(os, "sys/class/net/%s/ifindex", name);
	n = if_nametoindex(name);
	return n ? n : ND_UNKNOWN;
}

static int from_files(struct nd_os *os, struct nd_os_sample *s)
{
	const char *text = nd_os_text(os, ND_OS_NET_DEV);
	uint32_t i;
	int r;

	if (!text)
		return 0;
	r = nd_os_parse_net_dev(text, s);
	for (i = 0; i < s->nics; i++)
		s->nic[i].ifindex = index_of(os, s->nic[i].name);
	return r;
}

int nd_os_sample_nics(struct nd_os *os, struct nd_os_sample *s)
{
	struct ifinfomsg all = { .ifi_family = AF_UNSPEC };
	struct nd_os_request q = { .type = RTM_GETLINK,
				   .flags = NLM_F_DUMP,
				   .body = &all,
				   .len = sizeof(all),
				   .take = nd_os_take_link,
				   .ctx = s };
	int r = os->is_machine ? nd_os_rtnl_ask(&os->rtnl, &q) : -EOPNOTSUPP;

	if (r >= 0 || r == -ENOMEM)
		return r;
	s->nics = 0;
	free(s->nic);
	s->nic = NULL;
	return from_files(os, s);
}
