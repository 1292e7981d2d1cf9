/* SPDX-License-Identifier: MIT */
/*
 * What a live monitor and the tools for interrupts want beside a sample: queues, interrupts with their
 * CPU, drivers' own counters, what an interface could be set to. Read only when asked for: it costs more.
 */
#ifndef ND_OS_DETAIL_H
#define ND_OS_DETAIL_H

#include "base/field.h"
#include "os/os.h"

/* One queue's counts since the interface came up. ND_UNKNOWN: not told. */
struct nd_queue_count {
	uint64_t ifindex;
	uint64_t is_tx; /* 0 or 1 */
	uint64_t queue;
	uint64_t packets, bytes, drops;
};

/* One interrupt of an interface; its counts by CPU are in nd_os_detail.irq_cpu. */
struct nd_irq_count {
	uint64_t ifindex;
	uint64_t number;
	uint64_t count; /* over all CPUs */
	char name[64];
};

/* A driver's counter of what a limit made it drop or delay. */
struct nd_limit_count {
	uint64_t ifindex;
	uint64_t count;
	char name[64];
};

struct nd_os_detail {
	uint64_t at_ns; /* monotonic */
	uint32_t queues, irqs, limits;
	struct nd_queue_count *queue; /* owned, like all below */
	struct nd_irq_count *irq;
	struct nd_limit_count *limit;
	uint32_t cpus;            /* columns of the next two */
	uint32_t *cpu;            /* [cpus] their numbers */
	uint64_t *irq_cpu;        /* [irqs][cpus] */
	const char *queue_source; /* "netdev", "ethtool"; NULL: nothing tells of queues */
};

/** nd_os_detail() - of the interfaces of @s whose name @wanted accepts (NULL: all). What cannot be read is
 * not there. Return: 0 or -ENOMEM. */
ND_MUST_CHECK int nd_os_detail(struct nd_os *os, const struct nd_os_sample *s,
			       bool (*wanted)(void *user, const char *name), void *user,
			       struct nd_os_detail *ret);
/** nd_os_detail_since() - difference, by the rules of nd_os_since(); rows are those of @now. */
ND_MUST_CHECK int nd_os_detail_since(const struct nd_os_detail *now,
				     const struct nd_os_detail *then, struct nd_os_detail *ret);
void nd_os_detail_done(struct nd_os_detail *d);
/** nd_os_detail_busiest() - the CPU that most of an interrupt's counts are on; ND_UNKNOWN: none counted. */
uint64_t nd_os_detail_busiest(const struct nd_os_detail *d, uint32_t irq);

/* ---- interrupts of one interface */

enum nd_irq_kind {
	ND_IRQ_CONTROL, /* no queue: configuration, events */
	ND_IRQ_RX,
	ND_IRQ_TX,
	ND_IRQ_BOTH, /* a pair of queues, or it is not told */
};

struct nd_irq {
	uint64_t number;
	const char *name; /* NULL: unknown */
	enum nd_irq_kind kind;
	uint64_t queue; /* ND_UNKNOWN: none */
	const char *allowed, *effective,
		*hint; /* lists of CPUs, the hint a mask; NULL: unreadable */
	int64_t node;  /* -1 none, INT64_MIN unknown */
	uint64_t count;
};

/** nd_os_nic_irqs() - struct nd_irq, by queue, those without one last. 0 or -ENOMEM. */
ND_MUST_CHECK int nd_os_nic_irqs(struct nd_os *os, const char *name, struct nd_arena *a,
				 struct nd_list *ret);
/** nd_os_irq_kind() - what the name of an interrupt says: "virtio2-input.3", "eth0-TxRx-3". */
enum nd_irq_kind nd_os_irq_kind(const char *name, uint64_t *ret_queue);

/* ---- where CPUs are */

struct nd_cpu_place {
	uint64_t number;
	int64_t node;  /* INT64_MIN unknown */
	uint64_t core; /* lowest number among those that share it: equal numbers share one */
	bool isolated;
};

/** nd_os_cpu_places() - struct nd_cpu_place of the CPUs that are online. Empty: sysfs does not tell. */
ND_MUST_CHECK int nd_os_cpu_places(struct nd_os *os, struct nd_arena *a, struct nd_list *ret);

/* ---- what an interface could be, and how it spreads */

struct nd_nic_limits {
	uint64_t rx_ring_max, tx_ring_max, queues_max; /* ND_UNKNOWN: not told */
	uint64_t queues_apart; /* those to receive and to send are set each for itself: 0, 1 */
	uint64_t rx_usecs, adaptive_rx;  /* coalescing; adaptive 0 or 1 */
	uint64_t udp4_ports, udp6_ports; /* receive hash of UDP looks at ports: 0, 1 */
	uint64_t rps_queues, xps_queues; /* with a mask that is not empty */
};

#define ND_FIREWALL_PORTS  600u
#define ND_FIREWALL_BLOCKS 8u

/* What a firewall is to let in. */
struct nd_firewall_ask {
	const char *nic; /* by which it comes; NULL: by any */
	uint32_t ports;
	uint16_t port[ND_FIREWALL_PORTS]; /* TCP and UDP */
};

/* A rule, or a chain's policy, that stops new flows to a port. */
struct nd_firewall_block {
	uint16_t port;
	bool is_udp, ipv4, ipv6; /* of both families, or one */
	bool sure;               /* whatever else the packet has; else it may */
	bool unread;             /* it, or one before it, could not be read: why it is not sure */
	char where[160];         /* "rule 4 of inet filter input" */
};

/* Chains that filter what comes in to this machine. */
struct nd_firewall {
	bool known;          /* nftables could be asked */
	uint64_t chains;     /* of nftables, hooked to input or before it */
	uint64_t drops;      /* of those: chains that drop what no rule lets in */
	char name[64];       /* "table chain" of the first one that drops */
	bool has_old_tables; /* iptables of old */

	bool rules_known;      /* .block tells all that rules stop */
	const char *rules_why; /* why they are not; a constant. NULL: there was nothing to read */
	bool more;             /* blocks that have no place below */
	uint32_t blocks;
	struct nd_firewall_block block[ND_FIREWALL_BLOCKS];
};

/** nd_os_firewall() - reading nftables needs CAP_NET_ADMIN; its rules are read through libnftables, which is
 * loaded only here and only when there are chains. */
void nd_os_firewall(struct nd_os *os, const struct nd_firewall_ask *ask, struct nd_firewall *ret);
/** nd_os_default_nic() - the interface of the IPv4 or else IPv6 default route. False: there is none. */
bool nd_os_default_nic(struct nd_os *os, char *ret, size_t size);

ND_MUST_CHECK int nd_os_nic_limits(struct nd_os *os, const char *name, struct nd_nic_limits *ret);

#endif
