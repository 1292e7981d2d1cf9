/* SPDX-License-Identifier: MIT */
/* Shared inside os/: kept-open files, words of a /proc text, netlink dumps, and the parsers. */
#ifndef ND_OS_INT_H
#define ND_OS_INT_H

#include "os/detail.h"
#include "os/os.h"

#define ND_OS_CPUS_MAX   4096u
#define ND_OS_FILE_BYTES ((size_t)16 << 20) /* no /proc file that is read here is larger */
#define ND_OS_LINE_BYTES 4096u              /* what is read of a file that holds one fact */
#define ND_OS_GROUPS_MAX 16u                /* control groups, one inside the other */

/* What every sample reads; opened once, read at offset 0 each time. */
enum nd_os_file {
	ND_OS_STAT,
	ND_OS_INTERRUPTS,
	ND_OS_SOFTIRQS,
	ND_OS_SNMP,
	ND_OS_SNMP6,
	ND_OS_SOCKSTAT,
	ND_OS_SOCKSTAT6,
	ND_OS_NETSTAT,
	ND_OS_SOFTNET,
	ND_OS_NET_DEV,
	ND_OS_SELF_STATUS,
	ND_OS_CONNTRACK_COUNT,
	ND_OS_CONNTRACK_MAX,
	ND_OS_FILE_COUNT
};

/* A netlink socket. Closed by any failure, so that no half-read dump is left in it. */
struct nd_os_rtnl {
	int fd;       /* -1: opened when needed */
	int protocol; /* 0 is NETLINK_ROUTE */
	uint32_t seq;
	char *buf; /* owned */
};

struct nd_os {
	char *root;           /* owned; "" is the machine */
	char *interrupt_text; /* owned; NULL: no interrupts are watched */
	char *nic_name;       /* owned; NULL: no interface is */
	bool is_machine;
	int fd[ND_OS_FILE_COUNT];       /* -1: not there */
	int group_fd[ND_OS_GROUPS_MAX]; /* cpu.stat of this program's control groups */
	size_t group_n;
	char *buf; /* owned; the text of the file read last */
	size_t size;
	struct nd_os_rtnl rtnl;
	struct nd_os_rtnl genl; /* the generic families */
	uint16_t netdev_family; /* its number; 0: not asked for yet, or not there */
	bool netdev_asked;
};

/* ---- os.c, since.c */

/** nd_os_text() - the file as it is now, terminated. NULL: unreadable. Valid until the next call. */
const char *nd_os_text(struct nd_os *os, enum nd_os_file file);
/** nd_os_read() - the same of an open file. */
const char *nd_os_read(struct nd_os *os, int fd);
/** nd_os_sample_init() - nothing known, nothing owned. */
void nd_os_sample_init(struct nd_os_sample *s);
/** nd_os_delta() - difference of two counts, by the rules of nd_os_since(). */
uint64_t nd_os_delta(uint64_t now, uint64_t then);
/** nd_os_fell_too_far() - does a count begin anew? Further back than a wrap explains. */
bool nd_os_fell_too_far(uint64_t now, uint64_t then);

/* ---- text.c */

/* Blank-separated, inside a text that is terminated somewhere behind it. */
struct nd_os_word {
	const char *at;
	size_t len;
};

/** nd_os_word() - the next word of this line. @p moves behind it. False: the line has no more. */
bool nd_os_word(const char **p, struct nd_os_word *ret);
/** nd_os_line() - the start of the next line, NULL when there is none. */
const char *nd_os_line(const char *p);
bool nd_os_word_is(struct nd_os_word w, const char *text);
/** nd_os_word_u64() - ND_UNKNOWN when the word is anything but a decimal number. */
uint64_t nd_os_word_u64(struct nd_os_word w);
/** nd_os_word_hex() - the same for hexadecimal digits without a prefix. */
uint64_t nd_os_word_hex(struct nd_os_word w);
/** nd_os_next_u64() - the next word of the line as a number; ND_UNKNOWN at the end, too. */
uint64_t nd_os_next_u64(const char **p);
/** nd_os_blank() - every uint64_t of @bytes at @p becomes ND_UNKNOWN. */
void nd_os_blank(void *p, size_t bytes);
/** nd_os_value_of() - what stands behind "key", blanks and ':' or '=' in the text of a file, up to the
 * end of the line. NULL: no such line. */
const char *nd_os_value_of(const char *text, const char *key);

/* Collects facts; a failed allocation is remembered. */
struct nd_os_reader {
	struct nd_os *os;
	struct nd_arena *arena;
	bool failed;
};

/** nd_os_keep() - copy of the first line, without blanks around it. NULL: NULL or empty. */
const char *nd_os_keep(struct nd_os_reader *r, const char *text);
/** nd_os_fact() - first line of a file below the root, kept. */
const char *nd_os_fact(struct nd_os_reader *r, const char *fmt, ...) ND_PRINTF(2, 3);

/* ---- parsers of one file each; what a text does not say stays as it was (ND_UNKNOWN) */

/** nd_os_parse_stat() - CPU times, interrupts, context switches. Allocates s->cpu. -ENOMEM. */
ND_MUST_CHECK int nd_os_parse_stat(const char *text, struct nd_os_sample *s);
/** nd_os_parse_interrupts() - all CPUs' counts of the lines of /proc/interrupts that contain @word.
 * ND_UNKNOWN: there is none. */
uint64_t nd_os_parse_interrupts(const char *text, const char *word);
/** nd_os_parse_softirqs() - allocates s->cpu_net_rx for s->cpus. -ENOMEM. */
ND_MUST_CHECK int nd_os_parse_softirqs(const char *text, struct nd_os_sample *s);
/** nd_os_parse_softnet() - allocates s->cpu_softnet for s->cpus. -ENOMEM. */
ND_MUST_CHECK int nd_os_parse_softnet(const char *text, struct nd_os_sample *s);
void nd_os_parse_snmp(const char *text, struct nd_snmp *ret);  /* pairs of lines: snmp, netstat */
void nd_os_parse_snmp6(const char *text, struct nd_snmp *ret); /* a counter a line */
/** nd_os_parse_sockstat() - datagrams of which some fragments wait, by the text of sockstat (@key: "FRAG") or of
 * sockstat6 ("FRAG6"). ND_UNKNOWN: not told. */
uint64_t nd_os_parse_sockstat(const char *text, const char *key);
/** nd_os_parse_net_dev() - allocates s->nic; ifindex is left unknown. -ENOMEM. */
ND_MUST_CHECK int nd_os_parse_net_dev(const char *text, struct nd_os_sample *s);
void nd_os_parse_status(const char *text, struct nd_process *ret);
/** nd_os_parse_cpuinfo() - first CPU's model (kept) and clock; whether a hypervisor is announced. */
void nd_os_parse_cpuinfo(const char *text, struct nd_os_reader *r, struct nd_host_facts *ret,
			 int *ret_hypervisor); /* 1 yes, 0 no, -1 this CPU's text cannot tell */
/** nd_os_group_open() - keep open what the groups named in the text of /proc/self/cgroup count. */
void nd_os_group_open(struct nd_os *os, const char *text);
/** nd_os_sample_groups() - their counts, added up. */
void nd_os_sample_groups(struct nd_os *os, struct nd_cgroup *ret);
/** nd_os_parse_cpu_stat() - add one group's counts. */
void nd_os_parse_cpu_stat(const char *text, struct nd_cgroup *ret);
/** nd_os_cgroup_cpus() - CPU quota in cores from the text of /proc/self/cgroup. NAN: none. */
double nd_os_cgroup_cpus(struct nd_os *os, const char *text);

/* ---- virt.c */

/** nd_os_virtualization() - "vendor product, container"; NULL when nothing hints at either. */
const char *nd_os_virtualization(struct nd_os_reader *r, int hypervisor, const char *kernel);

/* ---- nic.c, qdisc.c */

/** nd_os_sample_nics() - fills s->nic by netlink, or from /proc/net/dev. -ENOMEM. */
ND_MUST_CHECK int nd_os_sample_nics(struct nd_os *os, struct nd_os_sample *s);
/** nd_os_sample_qdiscs() - fills qdisc_* of s->nic where netlink can be read. -ENOMEM. */
ND_MUST_CHECK int nd_os_sample_qdiscs(struct nd_os *os, struct nd_os_sample *s);

/* ---- ethtool.c */

/* A counter of ethtool -S. */
struct nd_os_ethtool {
	void *ctx;
	/* Negative ends the walk. */
	int (*take)(void *ctx, const char *name, uint64_t value);
};

/** nd_os_ethtool() - a driver's own counters; a copied tree has them in ethtool-S/NAME. -EOPNOTSUPP. */
ND_MUST_CHECK int nd_os_ethtool(struct nd_os *os, const char *name, const struct nd_os_ethtool *to);
/** nd_os_parse_ethtool() - lines "name: value", as the program of that name prints them. */
int nd_os_parse_ethtool(const char *text, const struct nd_os_ethtool *to);
/** nd_os_queue_counter() - is @name a queue's count of packets, bytes or drops? */
bool nd_os_queue_counter(const char *name, bool *ret_is_tx, uint64_t *ret_queue, char *ret_what);

/* ---- irq.c */

/** nd_os_nic_lines() - numbers of the interrupts of an interface, ascending; at most @room. */
size_t nd_os_nic_lines(struct nd_os *os, const char *name, uint32_t *ret, size_t room);
/** nd_os_irq_line() - a line of /proc/interrupts of a device: number and name; @counts gets a count per
 * column. Return: columns with a count, 0: another line. */
size_t nd_os_irq_line(const char *line, uint32_t *ret_number, struct nd_os_word *ret_name,
		      uint64_t *counts, size_t room);

/* ---- detail.c */

struct nd_os_line_owner {
	uint32_t line;
	uint64_t ifindex;
};

/** nd_os_parse_irqs() - rows of /proc/interrupts that have an owner, added to @d. -ENOMEM. */
ND_MUST_CHECK int nd_os_parse_irqs(const char *text, const struct nd_os_line_owner *owner, size_t n,
				   struct nd_os_detail *d);
/** nd_os_add_queue() - one more row of @d, of which nothing is known. NULL: no memory, or too many. */
struct nd_queue_count *nd_os_add_queue(struct nd_os_detail *d);

/* ---- netdev.c */
/** nd_os_netdev_queues() - queues of all interfaces, into @d, which has none. None: it does not tell. 0 or -ENOMEM. */
ND_MUST_CHECK int nd_os_netdev_queues(struct nd_os *os, struct nd_os_detail *d);
/* Add what one answer says of a queue. ctx: struct nd_os_detail */
int nd_os_take_qstats(void *ctx, const char *body, size_t len);

/* ---- firewall.c */

/* Add what one NFT_MSG_NEWCHAIN body says. ctx: struct nd_firewall */
int nd_os_take_chain(void *ctx, const char *body, size_t len);
/** nd_os_route_ipv4() - interface of the default route in the text of /proc/net/route. */
bool nd_os_route_ipv4(const char *text, char *ret, size_t size);
bool nd_os_route_ipv6(const char *text, char *ret, size_t size); /* of /proc/net/ipv6_route */

/* ---- rtnl.c */

struct nd_os_attr {
	uint16_t type;
	size_t len;
	const void *data;
};

/** nd_os_attr_next() - take one attribute from @p, @left. False: none, or cut off. */
bool nd_os_attr_next(const char **p, size_t *left, struct nd_os_attr *ret);
/** nd_os_attr_u32() - its value; ND_UNKNOWN when it is shorter. */
uint64_t nd_os_attr_u32(const struct nd_os_attr *a);
/** nd_os_attr_find() - first attribute of @type in a nested one. */
bool nd_os_attr_find(const struct nd_os_attr *in, uint16_t type, struct nd_os_attr *ret);

struct nd_os_request {
	uint16_t type, flags;
	const void *body;
	size_t len;
	/* Called for each answer's body. Negative ends the walk with that errno. */
	int (*take)(void *ctx, const char *body, size_t len);
	void *ctx;
};

/** nd_os_rtnl_ask() - send, and take every answer. Negative errno; the socket is closed then. */
ND_MUST_CHECK int nd_os_rtnl_ask(struct nd_os_rtnl *n, const struct nd_os_request *q);
/** nd_os_rtnl_walk() - one datagram of answers. 1: that was all; 0: more follows; negative errno. */
ND_MUST_CHECK int nd_os_rtnl_walk(const char *buf, size_t len, uint32_t seq,
				  const struct nd_os_request *q);
void nd_os_rtnl_done(struct nd_os_rtnl *n);

/* What was seen of one interface's qdiscs. */
struct nd_os_qdisc_root {
	uint32_t major; /* of the root's handle, in the upper half */
	bool is_split;  /* a root that only spreads over children, one per queue */
	bool has_child;
};

struct nd_os_qdisc_walk {
	struct nd_os_sample *sample;   /* borrowed */
	struct nd_os_qdisc_root *root; /* owned, [sample->nics] */
	uint32_t last;                 /* interface of the message before */
};

/* Add what one RTM_NEWLINK or RTM_NEWQDISC body says. */
int nd_os_take_link(void *ctx, const char *body, size_t len);  /* ctx: struct nd_os_sample */
int nd_os_take_qdisc(void *ctx, const char *body, size_t len); /* ctx: struct nd_os_qdisc_walk */

#endif
