/* SPDX-License-Identifier: MIT */
/* Each check on whole machines that do not exist: from files of /proc and /sys to what is said, or not said. */
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "advise/int.h"
#include "os-tree.h"

#define QUEUES   8u
#define VARIANTS 3u
#define NIC      "sys/class/net/ens1/"
#define CPU0     "sys/devices/system/cpu/cpu0/"
#define CORE     "proc/sys/net/core/"
#define IPV4     "proc/sys/net/ipv4/"
#define DEVICE   "sys/devices/pci0/0000:3b:00.0/"

/* One file that is not as it should be. */
struct wrong {
	const char *key;
	unsigned variant; /* rows of one are wrong together */
	enum nd_verdict verdict;
	const char *at, *text;
};

#define NOTE ND_VERDICT_NOTE
#define WARN ND_VERDICT_WARN

/* clang-format off */
static const struct wrong wrongs[] = {
	{ "driver", 0, WARN, "driver", "e1000" },
	{ "driver", 1, NOTE, "driver", "hv_netvsc" },
	{ "speed", 0, WARN, NIC "duplex", "half\n" },
	{ "speed", 1, WARN, NIC "speed", "100\n" },
	{ "mtu", 0, NOTE, NIC "mtu", "1400\n" },
	{ "queues", 2, NOTE, "queues", "1" },
	{ "irq_placement", 0, WARN, "proc/irq/103/effective_affinity_list", "0\n" }, /* shared */
	{ "irq_placement", 1, WARN, "proc/irq/103/effective_affinity_list", "9\n" }, /* of the other node */
	{ "irqbalance", 0, NOTE, "proc/7/comm", "irqbalance\n" },
	{ "rps", 0, WARN, NIC "queues/rx-3/rps_cpus", "ff\n" }, /* with a queue for each CPU */
	{ "rps", 2, NOTE, NIC "queues/rx-0/rps_cpus", "00\n" }, /* with one queue for all of them */
	{ "xps", 0, WARN, NIC "queues/tx-5/xps_cpus", "00000000,00000000\n" },
	{ "missed", 0, NOTE, "proc/net/dev", "h\nh\nens1: 9 9 0 0 5 0 0 0 9 9 0 0 0 0 0 0\n" },
	{ "congestion_control", 0, NOTE, IPV4 "tcp_congestion_control", "reno\n" },
	{ "rmem_max", 0, WARN, CORE "rmem_max", "212992\n" },
	{ "wmem_max", 0, NOTE, CORE "wmem_max", "212992\n" },
	{ "tcp_mem", 0, WARN, IPV4 "tcp_rmem", "4096\t131072\t1048576\n" },
	{ "tcp_mem", 1, WARN, IPV4 "tcp_wmem", "4096\t16384\t1048576\n" },
	{ "backlog", 0, WARN, CORE "netdev_max_backlog", "300\n" },
	{ "somaxconn", 0, WARN, CORE "somaxconn", "128\n" },
	{ "port_range", 0, WARN, IPV4 "ip_local_port_range", "60000\t61000\n" },
	{ "conntrack", 0, WARN, "proc/sys/net/netfilter/nf_conntrack_count", "260000\n" },
	{ "conntrack", 1, NOTE, "proc/sys/net/netfilter/nf_conntrack_count", "12\n" },
	{ "firewall", 0, NOTE, "proc/net/ip_tables_names", "filter\n" },
	{ "governor", 0, WARN, CPU0 "cpufreq/scaling_governor", "powersave\n" },
	{ "governor", 1, NOTE, CPU0 "cpufreq/scaling_governor", "schedutil\n" },
	{ "idle", 0, NOTE, CPU0 "cpuidle/state1/latency", "600\n" },
	{ "clocksource", 0, WARN, "sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n" },
	{ "cpu_limit", 0, WARN, "sys/fs/cgroup/cpu.max", "150000 100000\n" },
	{ "cpu_limit", 1, NOTE, "proc/self/status", "Cpus_allowed_list:\t0-1\n" },
	{ "virtual", 0, NOTE, "sys/class/dmi/id/sys_vendor", "QEMU\n" },
	{ "smt", 0, NOTE, CPU0 "topology/thread_siblings_list", "0,8\n" },
	{ "numa", 1, NOTE, "sys/devices/system/node/online", "0-1\n" },
	{ "backlog_drops", 0, NOTE, "proc/net/softnet_stat", "0000000a 00000003 00000004\n" },
	{ "squeezed", 0, NOTE, "proc/net/softnet_stat", "0000000a 00000003 00000004\n" },
	{ "udp_drops", 0, NOTE, "proc/net/snmp", "Udp: InDatagrams RcvbufErrors\nUdp: 10 4\n" },
};

/* What no file tells: the kernel is asked (ethtool, netlink, rlimits), or two moments are compared. Their cases are
 * in advise-checks.c, and in the tests with namespaces. */
static const char *const asked[] = { "offloads", "lro", "rings", "udp_hash", "coalescing",
				     "qdisc", "files", "steal", "throttled" };

/* clang-format on */

static void put_driver(const char *name)
{
	char to[128], path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/" DEVICE "driver", tree_root);
	(void)unlink(path); /* there may be none yet */
	(void)snprintf(to, sizeof(to), "../../../bus/pci/drivers/%s", name);
	tree_link(DEVICE "driver", to);
}

static void put_host(void)
{
	tree_put(IPV4 "tcp_congestion_control", "bbr\n");
	tree_put(IPV4 "tcp_rmem", "4096\t131072\t16777216\n");
	tree_put(IPV4 "tcp_wmem", "4096\t16384\t16777216\n");
	tree_put(IPV4 "ip_local_port_range", "1024\t65535\n");
	tree_put(CORE "rmem_max", "16777216\n");
	tree_put(CORE "wmem_max", "16777216\n");
	tree_put(CORE "netdev_max_backlog", "10000\n");
	tree_put(CORE "somaxconn", "4096\n");
	tree_put("proc/sys/net/netfilter/nf_conntrack_count", "0\n");
	tree_put("proc/sys/net/netfilter/nf_conntrack_max", "262144\n");
	tree_put("proc/net/ip_tables_names", "");
	tree_put("proc/net/softnet_stat", "0000000a 00000000 00000000\n");
	tree_put("proc/net/snmp", "Udp: InDatagrams RcvbufErrors\nUdp: 10 0\n");
	tree_put("proc/self/cgroup", "0::/\n");
	tree_put("proc/self/status", "Cpus_allowed_list:\t0-7\n");
	tree_put("sys/fs/cgroup/cpu.max", "max 100000\n");
	tree_put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	tree_put(CPU0 "cpufreq/scaling_governor", "performance\n");
	tree_put(CPU0 "cpuidle/state0/latency", "0\n");
	tree_put(CPU0 "cpuidle/state1/latency", "2\n");
}

/* A machine on which there is nothing to mend, but for its number of queues. */
static void put_machine(unsigned queues)
{
	struct tree_machine m = TREE_MLX5;
	char text[32];
	unsigned i;

	m.cpus = QUEUES;
	m.nodes = 1;
	m.queues = queues;
	tree_make(&m);
	for (i = 0; i < queues; i++) {
		(void)snprintf(text, sizeof(text), "%u\n", i);
		TREE_PUT(text, "proc/irq/%u/effective_affinity_list", m.first_irq + 1 + i);
		(void)snprintf(text, sizeof(text), "%x\n", 1u << i);
		TREE_PUT(text, NIC "queues/tx-%u/xps_cpus", i);
	}
	put_driver("mlx5_core");
	tree_put(NIC "speed", "25000\n");
	tree_put(NIC "duplex", "full\n");
	put_host();
}

static void put_wrongs(unsigned variant)
{
	unsigned queues = QUEUES;
	size_t i;

	for (i = 0; i < ND_COUNTOF(wrongs); i++)
		if (wrongs[i].variant == variant && !strcmp(wrongs[i].at, "queues"))
			queues = 1;
	put_machine(queues);
	if (variant == 1) { /* a second node, with CPUs 8 to 15 */
		tree_put("sys/devices/system/node/node1/cpulist", "8-15\n");
		tree_put("sys/devices/system/cpu/online", "0-15\n");
		TREE_PUT("9\n", "sys/devices/system/cpu/cpu9/topology/thread_siblings_list");
	}
	for (i = 0; i < ND_COUNTOF(wrongs); i++) {
		if (wrongs[i].variant != variant || !strcmp(wrongs[i].at, "queues"))
			continue;
		if (!strcmp(wrongs[i].at, "driver"))
			put_driver(wrongs[i].text);
		else
			tree_put(wrongs[i].at, wrongs[i].text);
	}
}

static void gather(struct nd_arena *a, struct nd_doctor_facts *ret)
{
	struct nd_os *os = NULL;

	assert_int_equal(nd_os_open(tree_root, &os, NULL), 0);
	assert_int_equal(nd_doctor_gather(os, "ens1", a, ret), 0);
	nd_os_firewall(os, &(struct nd_firewall_ask){ 0 }, &ret->firewall);
	nd_os_free(os);
}

static const struct nd_check *find(const char *key)
{
	const struct nd_check *c;
	size_t i;

	for (i = 0; (c = nd_check_at(i)); i++)
		if (!strcmp(c->key, key))
			return c;
	fail_msg("no check %s", key);
	return NULL;
}

static void expect(const struct nd_doctor_facts *f, const char *key, enum nd_verdict verdict)
{
	nd_auto_str text = { 0 };
	const struct nd_check *c = find(key);
	enum nd_verdict v = c ? c->judge(f, &text) : ND_VERDICT_UNKNOWN;

	if (v != verdict)
		fail_msg("%s: %d instead of %d: %s", key, v, verdict, nd_str_text(&text));
	assert_true(v == ND_VERDICT_FINE || text.len > 0);
}

static void test_fires(void **state)
{
	struct nd_doctor_facts f;
	struct nd_arena a = { 0 };
	unsigned v;
	size_t i;

	(void)state;
	for (v = 0; v < VARIANTS; v++) {
		put_wrongs(v);
		gather(&a, &f);
		for (i = 0; i < ND_COUNTOF(wrongs); i++) {
			if (wrongs[i].variant != v)
				continue;
			print_message("[%u: %s]\n", v, wrongs[i].key);
			expect(&f, wrongs[i].key, wrongs[i].verdict);
		}
		tree_end();
	}
	nd_arena_done(&a);
}

static bool is_asked(const char *key)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(asked); i++)
		if (!strcmp(asked[i], key))
			return true;
	return false;
}

static bool has_case(const char *key)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(wrongs); i++)
		if (!strcmp(wrongs[i].key, key))
			return true;
	return false;
}

/* Every check there is: silent where all is in order, and known, unless no file tells; and it has a case above. */
static void test_silent(void **state)
{
	struct nd_doctor_facts f;
	struct nd_arena a = { 0 };
	const struct nd_check *c;
	nd_auto_str text = { 0 };
	enum nd_verdict v;
	size_t i;

	(void)state;
	put_machine(QUEUES);
	gather(&a, &f);
	for (i = 0; (c = nd_check_at(i)); i++) {
		print_message("[%s]\n", c->key);
		if (has_case(c->key) == is_asked(c->key))
			fail_msg("%s needs a case, or a word that no file tells", c->key);
		nd_str_reset(&text);
		v = c->judge(&f, &text);
		if (v > ND_VERDICT_FINE)
			fail_msg("%s says %s", c->key, nd_str_text(&text));
		if (!is_asked(c->key) && strcmp(c->key, "firewall") != 0)
			assert_int_equal(v, ND_VERDICT_FINE);
	}
	tree_end();
	nd_arena_done(&a);
}

static void sources_are_named(const struct nd_doctor_facts *f, struct nd_arena *a)
{
	struct nd_findings all = { .arena = a };
	size_t i;

	nd_doctor_judge(f, false, &all);
	assert_true(nd_findings_count(&all, ND_VERDICT_UNKNOWN) > 20);
	for (i = 0; i < all.n; i++) {
		if (all.v[i].verdict != ND_VERDICT_UNKNOWN)
			continue;
		print_message("[%s]\n", all.v[i].key);
		assert_non_null(strstr(all.v[i].text, "cannot be told: nothing from "));
		assert_null(strstr(all.v[i].text, "IFACE"));
	}
	nd_findings_done(&all);
}

/* No sysfs and nothing readable: no check fires, and none claims to know but of the program itself. */
static void test_nothing_readable(void **state)
{
	struct nd_doctor_facts f;
	struct nd_arena a = { 0 };
	const struct nd_check *c;
	nd_auto_str text = { 0 };
	size_t i;

	(void)state;
	tree_begin();
	tree_put("proc/net/dev", "h\nh\nens1: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n");
	gather(&a, &f);
	for (i = 0; (c = nd_check_at(i)); i++) {
		if (!strcmp(c->key, "files")) /* this process's own limit */
			continue;
		print_message("[%s]\n", c->key);
		nd_str_reset(&text);
		if (c->judge(&f, &text) > ND_VERDICT_FINE)
			fail_msg("%s says %s", c->key, nd_str_text(&text));
	}
	sources_are_named(&f, &a);
	tree_end();
	nd_arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fires),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_nothing_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
