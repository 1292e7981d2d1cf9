/* SPDX-License-Identifier: MIT */
/* Any bytes as the text of every /proc file that is read, and as an answer of netlink. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/int.h"

#define LIST_ROOM   16u
#define ARENA_BYTES (1u << 20)

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

/* From one moment to the same moment nothing happened, or it is not known. */
static void check_sample(const struct nd_os_sample *s)
{
	struct nd_os_sample d;
	uint32_t i;

	check(s->cpus <= ND_OS_CPUS_MAX);
	for (i = 0; i < s->nics; i++)
		check(strnlen(s->nic[i].name, sizeof(s->nic[i].name)) < sizeof(s->nic[i].name));
	if (nd_os_since(s, s, &d) < 0)
		return;
	check(d.cpus == s->cpus && d.nics <= s->nics * 2);
	check(d.interrupts == 0 || d.interrupts == ND_UNKNOWN);
	check(d.softirqs.net_rx == 0 || d.softirqs.net_rx == ND_UNKNOWN);
	check(d.cgroup.throttled_ns == 0 || d.cgroup.throttled_ns == ND_UNKNOWN);
	check(d.softnet.processed == 0 || d.softnet.processed == ND_UNKNOWN);
	for (i = 0; i < d.cpus; i++)
		check(d.cpu[i].user_ns == 0 || d.cpu[i].user_ns == ND_UNKNOWN);
	for (i = 0; i < s->nics; i++)
		check(d.nic[i].rx_bytes == 0 || d.nic[i].rx_bytes == ND_UNKNOWN ||
		      s->nic[i].ifindex == ND_UNKNOWN);
	nd_os_sample_done(&d);
}

static void read_counters(const char *text)
{
	struct nd_os_sample s;

	nd_os_sample_init(&s);
	if (nd_os_parse_stat(text, &s) == 0 && nd_os_parse_softirqs(text, &s) == 0 &&
	    nd_os_parse_softnet(text, &s) == 0 && nd_os_parse_net_dev(text, &s) == 0) {
		nd_os_parse_snmp(text, &s.snmp);
		nd_os_parse_snmp6(text, &s.snmp);
		s.unassembled = nd_os_parse_sockstat(text, "FRAG");
		nd_os_parse_status(text, &s.self);
		nd_os_parse_cpu_stat(text, &s.cgroup);
		check_sample(&s);
	}
	nd_os_sample_done(&s);
}

static void read_facts(const char *text)
{
	struct nd_os os = { .root = (char[]){ "/nonexistent" }, .rtnl = { .fd = -1 } };
	struct nd_arena arena = { .limit = ARENA_BYTES };
	struct nd_os_reader r = { .os = &os, .arena = &arena };
	struct nd_host_facts facts = { .cpu_mhz = ND_UNKNOWN };
	uint32_t cpus[LIST_ROOM];
	int hypervisor = 2, n;
	double quota;

	nd_os_parse_cpuinfo(text, &r, &facts, &hypervisor);
	check(hypervisor >= -1 && hypervisor <= 1);
	quota = nd_os_cgroup_cpus(&os, text);
	check(quota != quota); /* there is no such folder: NAN */
	nd_os_group_open(&os, text);
	check(os.group_n == 0);
	n = nd_os_cpulist(text, cpus, LIST_ROOM);
	check(n == -EINVAL || (n >= 1 && n <= (int)LIST_ROOM));
	nd_arena_done(&arena);
}

static void walk_answer(const char *bytes, size_t size)
{
	struct nd_os_qdisc_walk w = { 0 };
	struct nd_os_request q = { .take = nd_os_take_link };
	struct nd_os_sample s;
	uint32_t seq = 0;

	if (size >= 12)
		memcpy(&seq, bytes + 8, sizeof(seq));
	nd_os_sample_init(&s);
	q.ctx = &s;
	check(nd_os_rtnl_walk(bytes, size, seq, &q) <= 1);
	(void)nd_os_take_link(&s, bytes, size); /* only its reads matter */
	w.sample = &s;
	w.root = calloc(s.nics + 1, sizeof(*w.root));
	q.take = nd_os_take_qdisc;
	q.ctx = &w;
	if (w.root) {
		check(nd_os_rtnl_walk(bytes, size, seq, &q) <= 1);
		(void)nd_os_take_qdisc(&w, bytes, size); /* only its reads matter */
	}
	check_sample(&s);
	free(w.root);
	nd_os_sample_done(&s);
}

/* ---- queues, interrupts, routes, chains */

static bool is_known(uint64_t v)
{
	return v != ND_UNKNOWN;
}

static int take_counter(void *ctx, const char *name, uint64_t value)
{
	uint64_t *n = ctx, queue = 0;
	bool is_tx = false;
	char what = 0;

	(void)value; /* any */
	check(strlen(name) < 64);
	if (nd_os_queue_counter(name, &is_tx, &queue, &what))
		check(queue < 4096 && (what == 'p' || what == 'b' || what == 'd'));
	return ++*n > 1000000 ? -E2BIG : 0;
}

/* What came between a moment and the same moment is nothing, or unknown. */
static void check_detail(const struct nd_os_detail *d)
{
	struct nd_os_detail diff;
	uint32_t i;

	check(d->cpus <= ND_OS_CPUS_MAX);
	if (nd_os_detail_since(d, d, &diff) < 0)
		return;
	for (i = 0; i < diff.queues; i++)
		check(diff.queue[i].packets == 0 || !is_known(diff.queue[i].packets));
	for (i = 0; i < diff.irqs; i++) {
		check(diff.irq[i].count == 0 || !is_known(diff.irq[i].count));
		check(strnlen(d->irq[i].name, sizeof(d->irq[i].name)) < sizeof(d->irq[i].name));
		(void)nd_os_detail_busiest(d, i); /* only its reads matter */
	}
	nd_os_detail_done(&diff);
}

static void read_detail(const char *text)
{
	static const struct nd_os_line_owner owner[] = { { 0, 1 }, { 25, 2 }, { 38, 2 } };

	struct nd_os_detail d = { .at_ns = 1 };
	char nic[16];
	uint64_t n = 0, queue;

	if (nd_os_parse_irqs(text, owner, sizeof(owner) / sizeof(*owner), &d) == 0)
		check_detail(&d);
	nd_os_detail_done(&d);
	(void)nd_os_parse_ethtool(text,
				  &(struct nd_os_ethtool){ &n, take_counter }); /* too many: cut */
	check(nd_os_irq_kind(text, &queue) == ND_IRQ_CONTROL || is_known(queue));
	if (nd_os_route_ipv4(text, nic, sizeof(nic)) || nd_os_route_ipv6(text, nic, sizeof(nic)))
		check(strnlen(nic, sizeof(nic)) < sizeof(nic));
}

static void walk_detail(const char *bytes, size_t size)
{
	struct nd_os_request q = { .take = nd_os_take_qstats, .flags = 0 };
	struct nd_os_detail d = { .at_ns = 1 };
	struct nd_firewall f = { .known = true };
	uint32_t seq = 0;

	if (size >= 12)
		memcpy(&seq, bytes + 8, sizeof(seq));
	q.ctx = &d;
	check(nd_os_rtnl_walk(bytes, size, seq, &q) <= 1);
	(void)nd_os_take_qstats(&d, bytes, size); /* only its reads matter */
	check_detail(&d);
	nd_os_detail_done(&d);
	q.take = nd_os_take_chain;
	q.ctx = &f;
	check(nd_os_rtnl_walk(bytes, size, seq, &q) <= 1);
	(void)nd_os_take_chain(&f, bytes, size); /* only its reads matter */
	check(f.drops <= f.chains && strnlen(f.name, sizeof(f.name)) < sizeof(f.name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *bytes = malloc(size ? size : 1);

	if (text && bytes && size) {
		memcpy(bytes, data, size); /* without the terminator, so that its end is guarded */
		walk_answer(bytes, size);
		walk_detail(bytes, size);
	}
	if (text) {
		if (size)
			memcpy(text, data, size);
		text[size] = '\0';
		read_counters(text);
		read_facts(text);
		read_detail(text);
	}
	free(bytes);
	free(text);
	return 0;
}
