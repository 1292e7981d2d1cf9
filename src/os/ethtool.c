/* SPDX-License-Identifier: MIT */
/* Drivers' own counters (ethtool -S), whatever they are called, and what an interface could be set to. */
#include <ctype.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/num.h"
#include "os/detail.h"
#include "os/int.h"

#define COUNTERS_MAX 65536u
#define SPARE        256u
#define SYS          "sys/class/net/%s/"
#define QUEUES_MAX   4096u
#define MASK_BYTES   2048u

static bool ask(int fd, const char *name, void *command)
{
	struct ifreq r = { .ifr_data = command };

	(void)snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name); /* too long: no such device */
	return fd >= 0 && ioctl(fd, SIOCETHTOOL, &r) == 0;
}

/* How many counters there are; 0: none, or nobody to ask. */
static uint32_t count_of(int fd, const char *name)
{
	union {
		struct ethtool_sset_info info;
		uint32_t words[sizeof(struct ethtool_sset_info) / sizeof(uint32_t) + 1];
	} a = { .words = { 0 } };

	a.info.cmd = ETHTOOL_GSSET_INFO;
	a.info.sset_mask = 1ull << ETH_SS_STATS;
	if (!ask(fd, name, &a) || !a.info.sset_mask)
		return 0;
	return a.words[sizeof(struct ethtool_sset_info) / sizeof(uint32_t)];
}

static void *zeroes(size_t bytes)
{
	return calloc(1, bytes);
}

static int take_machine(const char *name, const struct nd_os_ethtool *to)
{
	nd_auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	nd_auto_free struct ethtool_gstrings *names = NULL;
	nd_auto_free struct ethtool_stats *values = NULL;
	uint32_t n = count_of(fd, name), i;
	char text[ETH_GSTRING_LEN + 1];
	int r = 0;

	if (n == 0 || n > COUNTERS_MAX)
		return -EOPNOTSUPP;
	/* Older kernels write as many as there are by then, whatever was asked for: room for a driver that grows. */
	names = zeroes((2 * (size_t)n + SPARE) * ETH_GSTRING_LEN);
	values = zeroes((2 * (size_t)n + SPARE) * sizeof(uint64_t));
	if (!names || !values)
		return -ENOMEM; /* NOLINT(clang-analyzer-unix.Malloc): they clean themselves up */
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = n;
	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = n;
	if (!ask(fd, name, names) || !ask(fd, name, values))
		return -EOPNOTSUPP;
	for (i = 0; r >= 0 && i < n; i++) {
		memcpy(text, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		text[ETH_GSTRING_LEN] = '\0';
		r = to->take(to->ctx, text, values->data[i]);
	}
	return r < 0 ? r : 0;
}

int nd_os_parse_ethtool(const char *text, const struct nd_os_ethtool *to)
{
	const char *line, *colon, *p;
	char key[64];
	int r = 0;

	for (line = text; r >= 0 && line; line = nd_os_line(line)) {
		line += strspn(line, " \t");
		colon = strchr(line, ':');
		if (!colon || (size_t)(colon - line) >= sizeof(key) ||
		    colon > line + strcspn(line, "\n"))
			continue;
		memcpy(key, line, (size_t)(colon - line));
		key[colon - line] = '\0';
		p = colon + 1;
		r = to->take(to->ctx, key, nd_os_next_u64(&p));
	}
	return r < 0 ? r : 0;
}

static int take_tree(struct nd_os *os, const char *name, const struct nd_os_ethtool *to)
{
	nd_auto_free char *text = malloc(ND_OS_FILE_BYTES / 16);

	if (!text)
		return -ENOMEM;
	if (!nd_os_peek(os, text, ND_OS_FILE_BYTES / 16, "ethtool-S/%s", name))
		return -EOPNOTSUPP;
	return nd_os_parse_ethtool(text, to);
}

int nd_os_ethtool(struct nd_os *os, const char *name, const struct nd_os_ethtool *to)
{
	return os->is_machine ? take_machine(name, to) : take_tree(os, name, to);
}

/* ---- names: rx_queue_0_packets, rx0_packets, queue_0_rx_cnt, rx-0.packets are one and the same */

struct name_parts {
	bool has_way, is_tx, has_number, has_what;
	uint64_t queue;
	char what;
};

/* One run of letters. False: a name with it counts something else. */
static bool take_word(struct name_parts *n, const char *at, size_t len)
{
	static const struct {
		const char *word;
		char what;
	} whats[] = {
		{ "packets", 'p' }, { "pkts", 'p' },  { "cnt", 'p' },
		{ "bytes", 'b' },   { "drops", 'd' }, { "dropped", 'd' },
	};

	size_t i;

	if ((len == 5 && !strncasecmp(at, "queue", 5)) || (len == 1 && tolower(*at) == 'q'))
		return true;
	if (len == 2 && (!strncasecmp(at, "rx", 2) || !strncasecmp(at, "tx", 2)) && !n->has_way) {
		n->has_way = true;
		n->is_tx = tolower(*at) == 't';
		return true;
	}
	for (i = 0; i < ND_COUNTOF(whats); i++) {
		if (strlen(whats[i].word) != len || strncasecmp(at, whats[i].word, len) != 0)
			continue;
		if (n->has_what)
			return false;
		n->has_what = true;
		n->what = whats[i].what;
		return true;
	}
	return false;
}

static size_t letters(const char *p)
{
	size_t n = 0;

	while (isalpha((unsigned char)p[n]))
		n++;
	return n;
}

bool nd_os_queue_counter(const char *name, bool *ret_is_tx, uint64_t *ret_queue, char *ret_what)
{
	struct name_parts n = { 0 };
	const char *p = name;
	size_t len;

	while (*p) {
		len = letters(p);
		if (len > 0 && !take_word(&n, p, len))
			return false;
		p += len;
		if (isdigit((unsigned char)*p)) {
			len = nd_parse_prefix_u64(p, &n.queue);
			if (!len || n.has_number || n.queue >= QUEUES_MAX)
				return false;
			n.has_number = true;
			p += len;
		} else if (*p && strchr("_-.[] ", *p)) {
			p++;
		} else if (*p && !isalpha((unsigned char)*p)) {
			return false;
		}
	}
	if (!n.has_way || !n.has_number || !n.has_what)
		return false;
	*ret_is_tx = n.is_tx;
	*ret_queue = n.queue;
	*ret_what = n.what;
	return true;
}

/* ---- what it could be */

static void ask_maxima(int fd, const char *name, struct nd_nic_limits *l)
{
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ethtool_coalesce coalesce = { .cmd = ETHTOOL_GCOALESCE };

	if (ask(fd, name, &ring) && ring.rx_max_pending) {
		l->rx_ring_max = ring.rx_max_pending;
		l->tx_ring_max = ring.tx_max_pending;
	}
	if (ask(fd, name, &channels)) {
		l->queues_max = ND_MAX(channels.max_combined, channels.max_rx);
		l->queues_apart = channels.max_combined ? 0 : 1;
	}
	if (ask(fd, name, &coalesce)) {
		l->rx_usecs = coalesce.rx_coalesce_usecs;
		l->adaptive_rx = coalesce.use_adaptive_rx_coalesce ? 1 : 0;
	}
}

static uint64_t hashes_ports(int fd, const char *name, uint32_t flow)
{
	struct ethtool_rxnfc q = { .cmd = ETHTOOL_GRXFH, .flow_type = flow };

	if (!ask(fd, name, &q))
		return ND_UNKNOWN;
	return (q.data & (RXH_L4_B_0_1 | RXH_L4_B_2_3)) != 0;
}

static uint64_t masked_queues(struct nd_os *os, const char *name, const char *kind,
			      const char *file)
{
	char mask[MASK_BYTES];
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i < QUEUES_MAX; i++) {
		if (!nd_os_peek(os, mask, sizeof(mask), SYS "queues/%s-%u/%s", name, kind, i, file))
			break;
		n += mask[strspn(mask, "0,\n")] != '\0';
	}
	return i ? n : ND_UNKNOWN;
}

int nd_os_nic_limits(struct nd_os *os, const char *name, struct nd_nic_limits *ret)
{
	nd_auto_fd int fd = os->is_machine ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

	if (strchr(name, '/'))
		return -ENODEV;
	nd_os_blank(ret, sizeof(*ret));
	ask_maxima(fd, name, ret);
	ret->udp4_ports = hashes_ports(fd, name, UDP_V4_FLOW);
	ret->udp6_ports = hashes_ports(fd, name, UDP_V6_FLOW);
	ret->rps_queues = masked_queues(os, name, "rx", "rps_cpus");
	ret->xps_queues = masked_queues(os, name, "tx", "xps_cpus");
	return 0;
}
