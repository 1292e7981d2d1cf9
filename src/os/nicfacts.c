/* SPDX-License-Identifier: MIT */
/*
 * What an interface is. On the machine it is asked by netlink and ethtool, which answer for this
 * network namespace; sysfs shows the one in which it was mounted, so it only fills gaps, and only
 * where it plainly shows the same interface. A copied tree has sysfs alone.
 */
#include <errno.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "os/int.h"

#define SYS        "sys/class/net/%s/"
#define QUEUES_MAX 4096u
#define MAC_BYTES  32u
/* Three bit maps, each of at most 127 words, stand behind struct ethtool_link_settings. */
#define MODE_WORDS (3 * 127)

/* clang-format off */
static const struct { uint32_t command; const char *name; } offloads[] = {
	{ ETHTOOL_GTSO,    "tso" },
	{ ETHTOOL_GGSO,    "gso" },
	{ ETHTOOL_GGRO,    "gro" },
	{ ETHTOOL_GRXCSUM, "rx-checksum" },
	{ ETHTOOL_GTXCSUM, "tx-checksum" },
};

/* clang-format on */

/* One interface while it is asked. */
struct asked {
	struct nd_os_reader reader;
	const char *name;                        /* borrowed */
	int fd;                                  /* for ioctl() */
	bool has_kind;                           /* made by software: veth, tun, bridge, ... */
	uint64_t link_rx_queues, link_tx_queues; /* room, not use: the last resort */
	struct nd_nic_facts *facts;
};

static const char *mac_text(struct nd_os_reader *r, const unsigned char *mac, size_t n)
{
	nd_auto_str s = { 0 };
	size_t i;

	for (i = 0; i < n && i < MAC_BYTES; i++)
		nd_str_addf(&s, "%s%02x", i ? ":" : "", mac[i]);
	if (!nd_str_ok(&s))
		r->failed = true;
	return nd_os_keep(r, nd_str_text(&s));
}

/* A string attribute that need not be terminated. */
static const char *text_of(struct nd_os_reader *r, const struct nd_os_attr *a)
{
	char text[64];
	size_t n = strnlen(a->data, ND_MIN(a->len, sizeof(text) - 1));

	memcpy(text, a->data, n);
	text[n] = '\0';
	return nd_os_keep(r, text);
}

static void take_attr(struct asked *q, const struct nd_os_attr *a)
{
	struct nd_os_attr kind;

	switch (a->type) {
	case IFLA_MTU:
		q->facts->mtu_bytes = nd_os_attr_u32(a);
		break;
	case IFLA_ADDRESS:
		q->facts->mac = mac_text(&q->reader, a->data, a->len);
		break;
	case IFLA_QDISC:
		q->facts->qdisc = text_of(&q->reader, a);
		break;
	case IFLA_NUM_RX_QUEUES:
		q->link_rx_queues = nd_os_attr_u32(a);
		break;
	case IFLA_NUM_TX_QUEUES:
		q->link_tx_queues = nd_os_attr_u32(a);
		break;
	case IFLA_LINKINFO:
		q->has_kind = nd_os_attr_find(a, IFLA_INFO_KIND, &kind);
		break;
	default:
		break;
	}
}

static int take_link(void *ctx, const char *body, size_t len)
{
	const char *p = body + NLMSG_ALIGN(sizeof(struct ifinfomsg));
	struct asked *q = ctx;
	struct ifinfomsg info;
	struct nd_os_attr a;
	size_t left;

	if (len < NLMSG_ALIGN(sizeof(info)))
		return -EBADMSG;
	memcpy(&info, body, sizeof(info));
	q->facts->is_loopback = info.ifi_flags & IFF_LOOPBACK;
	left = len - NLMSG_ALIGN(sizeof(info));
	while (nd_os_attr_next(&p, &left, &a))
		take_attr(q, &a);
	return 0;
}

static int ask_link(struct asked *q)
{
	struct ifinfomsg which = { .ifi_family = AF_UNSPEC, .ifi_index = (int)q->facts->ifindex };
	struct nd_os_request r = { .type = RTM_GETLINK,
				   .body = &which,
				   .len = sizeof(which),
				   .take = take_link,
				   .ctx = q };

	return nd_os_rtnl_ask(&q->reader.os->rtnl, &r);
}

static bool ask_ethtool(const struct asked *q, void *command)
{
	struct ifreq r = { .ifr_data = command };

	(void)snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", q->name); /* its length was checked */
	return q->fd >= 0 && ioctl(q->fd, SIOCETHTOOL, &r) == 0;
}

static void ask_mtu(struct asked *q)
{
	struct ifreq r = { 0 };

	(void)snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", q->name); /* its length was checked */
	if (q->facts->mtu_bytes == ND_UNKNOWN && q->fd >= 0 && ioctl(q->fd, SIOCGIFMTU, &r) == 0 &&
	    r.ifr_mtu >= 0)
		q->facts->mtu_bytes = (uint64_t)r.ifr_mtu;
}

/* Drivers fill what they do not know with "N/A". */
static const char *told(struct nd_os_reader *r, char *text, size_t size)
{
	text[size - 1] = '\0';
	return strcmp(text, "N/A") ? nd_os_keep(r, text) : NULL;
}

static void ask_driver(struct asked *q)
{
	struct ethtool_drvinfo d = { .cmd = ETHTOOL_GDRVINFO };

	if (!ask_ethtool(q, &d))
		return;
	q->facts->driver = told(&q->reader, d.driver, sizeof(d.driver));
	q->facts->driver_version = told(&q->reader, d.version, sizeof(d.version));
	q->facts->firmware = told(&q->reader, d.fw_version, sizeof(d.fw_version));
	q->facts->bus = told(&q->reader, d.bus_info, sizeof(d.bus_info));
}

static void ask_rings(struct asked *q)
{
	struct ethtool_ringparam r = { .cmd = ETHTOOL_GRINGPARAM };

	if (!ask_ethtool(q, &r))
		return;
	q->facts->rx_ring = r.rx_pending;
	q->facts->tx_ring = r.tx_pending;
}

static void ask_channels(struct asked *q)
{
	struct ethtool_channels c = { .cmd = ETHTOOL_GCHANNELS };

	if (!ask_ethtool(q, &c))
		return;
	if (c.rx_count || c.combined_count)
		q->facts->rx_queues = (uint64_t)c.rx_count + c.combined_count;
	if (c.tx_count || c.combined_count)
		q->facts->tx_queues = (uint64_t)c.tx_count + c.combined_count;
}

static void set_speed(struct nd_nic_facts *f, uint64_t mbps)
{
	if (mbps && mbps < INT32_MAX)
		f->speed_mbps = mbps;
}

/* The first answer is a refusal that tells how long the bit maps are, as a negative number. */
static void ask_speed(struct asked *q)
{
	union {
		struct ethtool_link_settings s;
		uint32_t
			words[sizeof(struct ethtool_link_settings) / sizeof(uint32_t) + MODE_WORDS];
	} a = { .words = { 0 } };

	a.s.cmd = ETHTOOL_GLINKSETTINGS;
	if (!ask_ethtool(q, &a) || a.s.link_mode_masks_nwords >= 0)
		return;
	a.s.link_mode_masks_nwords = (int8_t)-ND_MAX(a.s.link_mode_masks_nwords, -127);
	a.s.cmd = ETHTOOL_GLINKSETTINGS;
	if (!ask_ethtool(q, &a))
		return;
	set_speed(q->facts, a.s.speed);
	if (a.s.duplex == DUPLEX_FULL)
		q->facts->duplex = "full";
	else if (a.s.duplex == DUPLEX_HALF)
		q->facts->duplex = "half";
}

static void ask_offloads(struct asked *q)
{
	struct ethtool_value v;
	nd_auto_str s = { 0 };
	bool answered = false;
	size_t i;

	for (i = 0; i < ND_COUNTOF(offloads); i++) {
		v = (struct ethtool_value){ .cmd = offloads[i].command };
		if (!ask_ethtool(q, &v))
			continue;
		answered = true;
		if (v.data)
			nd_str_addf(&s, "%s%s", s.len ? " " : "", offloads[i].name);
	}
	v = (struct ethtool_value){ .cmd = ETHTOOL_GFLAGS };
	if (ask_ethtool(q, &v) && (v.data & ETH_FLAG_LRO))
		nd_str_addf(&s, "%slro", s.len ? " " : "");
	if (!answered)
		return;
	q->facts->offloads = nd_arena_dup(q->reader.arena, nd_str_text(&s)); /* "" is: all off */
	if (!nd_str_ok(&s) || !q->facts->offloads)
		q->reader.failed = true;
}

static uint64_t count_queues(const struct asked *q, const char *kind)
{
	unsigned n = 0;

	while (n < QUEUES_MAX && nd_os_exists(q->reader.os, SYS "queues/%s-%u", q->name, kind, n))
		n++;
	return n ? n : ND_UNKNOWN;
}

/* A virtio device is a child of the PCI device that knows its place. */
static int64_t read_node(struct nd_os *os, const char *name)
{
	char text[64];
	const char *p = text;
	uint64_t v;

	if (!nd_os_peek(os, text, sizeof(text), SYS "device/numa_node", name) &&
	    !nd_os_peek(os, text, sizeof(text), SYS "device/../numa_node", name))
		return INT64_MIN;
	if (text[0] == '-')
		return -1;
	v = nd_os_next_u64(&p);
	return v <= INT64_MAX ? (int64_t)v : INT64_MIN;
}

/* The last part of where a link below this interface's folder leads. */
static const char *link_name(struct asked *q, const char *link)
{
	char path[PATH_MAX], target[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" SYS "%s", q->reader.os->root, q->name, link);
	const char *slash;
	ssize_t len;

	if (n < 0 || (size_t)n >= sizeof(path))
		return NULL;
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return NULL;
	target[len] = '\0';
	slash = strrchr(target, '/');
	return nd_os_keep(&q->reader, slash ? slash + 1 : target);
}

static void fill_text(const char **at, const char *text)
{
	if (!*at)
		*at = text;
}

static void fill_count(uint64_t *at, uint64_t v)
{
	if (*at == ND_UNKNOWN)
		*at = v;
}

static void read_device(struct asked *q)
{
	struct nd_nic_facts *f = q->facts;
	struct nd_os_reader *r = &q->reader;

	f->is_virtual = f->is_loopback || !nd_os_exists(r->os, SYS "device", q->name);
	if (f->is_virtual)
		return;
	f->numa_node = read_node(r->os, q->name);
	f->cpulist = nd_os_fact(r, SYS "device/local_cpulist", q->name);
	if (!f->cpulist)
		f->cpulist = nd_os_fact(r, SYS "device/../local_cpulist", q->name);
	fill_text(&f->driver, link_name(q, "device/driver"));
	fill_text(&f->bus, link_name(q, "device"));
}

static void read_sysfs(struct asked *q)
{
	struct nd_nic_facts *f = q->facts;
	struct nd_os_reader *r = &q->reader;
	const char *duplex;

	fill_count(&f->ifindex, nd_os_fact_u64(r->os, SYS "ifindex", q->name));
	fill_count(&f->mtu_bytes, nd_os_fact_u64(r->os, SYS "mtu", q->name));
	fill_count(&f->rx_queues, count_queues(q, "rx"));
	fill_count(&f->tx_queues, count_queues(q, "tx"));
	fill_text(&f->mac, nd_os_fact(r, SYS "address", q->name));
	if (f->speed_mbps == ND_UNKNOWN)
		set_speed(f, nd_os_fact_u64(r->os, SYS "speed", q->name));
	duplex = f->duplex ? NULL : nd_os_fact(r, SYS "duplex", q->name);
	if (duplex && strcmp(duplex, "unknown") != 0)
		f->duplex = duplex;
	if (nd_os_fact_u64(r->os, SYS "type", q->name) == ARPHRD_LOOPBACK)
		f->is_loopback = true;
	read_device(q);
}

static bool is_same_interface(struct asked *q)
{
	const char *mac = nd_os_fact(&q->reader, SYS "address", q->name);
	const char *own = q->facts->mac;

	return nd_os_fact_u64(q->reader.os, SYS "ifindex", q->name) == q->facts->ifindex &&
	       (!own || !mac || !strcmp(own, mac));
}

static int ask_machine(struct asked *q)
{
	nd_auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned index = if_nametoindex(q->name);
	int r;

	if (!index)
		return -ENODEV;
	if (fd < 0)
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	q->fd = fd;
	q->facts->ifindex = index;
	r = ask_link(q);
	if (r == -ENODEV || r == -ENOMEM)
		return r;
	ask_mtu(q);
	ask_driver(q);
	ask_rings(q);
	ask_channels(q);
	ask_speed(q);
	ask_offloads(q);
	q->facts->is_virtual = q->facts->is_loopback || q->has_kind;
	if (is_same_interface(q))
		read_sysfs(q);
	fill_count(&q->facts->rx_queues, q->link_rx_queues);
	fill_count(&q->facts->tx_queues, q->link_tx_queues);
	return 0;
}

/* A copied tree may lack sysfs; the interface is there when any file says so. */
static int read_tree(struct asked *q)
{
	struct nd_os_sample s;
	int r;

	if (nd_os_exists(q->reader.os, "sys/class/net/%s", q->name)) {
		read_sysfs(q);
		return 0;
	}
	nd_os_sample_init(&s);
	r = nd_os_sample_nics(q->reader.os, &s);
	if (r == 0 && !nd_os_nic(&s, q->name))
		r = -ENODEV;
	nd_os_sample_done(&s);
	return r;
}

static bool is_name(const char *name)
{
	size_t n = strlen(name);

	return n && n < IF_NAMESIZE && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

int nd_os_nic_facts(struct nd_os *os, const char *name, struct nd_arena *a,
		    struct nd_nic_facts *ret)
{
	struct nd_nic_facts f = { .ifindex = ND_UNKNOWN,
				  .mtu_bytes = ND_UNKNOWN,
				  .speed_mbps = ND_UNKNOWN,
				  .rx_queues = ND_UNKNOWN,
				  .tx_queues = ND_UNKNOWN,
				  .rx_ring = ND_UNKNOWN,
				  .tx_ring = ND_UNKNOWN,
				  .numa_node = INT64_MIN };
	struct asked q = { .reader = { .os = os, .arena = a },
			   .name = name,
			   .fd = -1,
			   .link_rx_queues = ND_UNKNOWN,
			   .link_tx_queues = ND_UNKNOWN,
			   .facts = &f };
	int r;

	if (!is_name(name))
		return -ENODEV;
	r = os->is_machine ? ask_machine(&q) : read_tree(&q);
	if (r < 0)
		return r;
	f.name = nd_os_keep(&q.reader, name);
	if (q.reader.failed)
		return -ENOMEM;
	*ret = f;
	return 0;
}
