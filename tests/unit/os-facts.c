/* SPDX-License-Identifier: MIT */
/* Facts of hosts and interfaces out of copied trees, and lists of CPUs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "os/int.h"

#define TREES   "tests/unit/data/os/"
#define UNKNOWN ND_UNKNOWN

struct list_case {
	const char *text;
	int count; /* or -EINVAL */
	uint32_t v[6];
};

struct text_fact {
	const char *tree;
	size_t offset;
	const char *text;
};

struct number_fact {
	const char *tree;
	size_t offset;
	uint64_t value;
};

#define HOST(tree, member, value)                                   \
	{                                                           \
		tree, offsetof(struct nd_host_facts, member), value \
	}

/* clang-format off */
static const struct list_case lists[] = {
	{ "0", 1, { 0 } },
	{ "0-3", 4, { 0, 1, 2, 3 } },
	{ "0,2-3\n", 3, { 0, 2, 3 } },
	{ "7,5,5", 3, { 7, 5, 5 } },
	{ "0-99999", 6, { 0, 1, 2, 3, 4, 5 } },
	{ "4294967295", 1, { UINT32_MAX } },
	{ "4294967294-4294967295", 2, { UINT32_MAX - 1, UINT32_MAX } },
	{ "", -EINVAL, { 0 } },
	{ "\n", -EINVAL, { 0 } },
	{ ",", -EINVAL, { 0 } },
	{ "1,", -EINVAL, { 0 } },
	{ ",1", -EINVAL, { 0 } },
	{ "1-", -EINVAL, { 0 } },
	{ "-1", -EINVAL, { 0 } },
	{ "3-2", -EINVAL, { 0 } },
	{ "1 2", -EINVAL, { 0 } },
	{ " 1", -EINVAL, { 0 } },
	{ "1\n\n", -EINVAL, { 0 } },
	{ "1-2-3", -EINVAL, { 0 } },
	{ "x", -EINVAL, { 0 } },
	{ "0-3:1/2", -EINVAL, { 0 } },
	{ "4294967296", -EINVAL, { 0 } },
	{ "18446744073709551616", -EINVAL, { 0 } },
};

static const struct text_fact texts[] = {
	HOST("two-cpus", hostname, "bench"),
	HOST("two-cpus", kernel, "6.1.0-18-amd64"),
	HOST("two-cpus", kernel_build, "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1"),
	HOST("two-cpus", machine, "x86_64"),
	HOST("two-cpus", os_name, "Example Linux 1 (first)"),
	HOST("two-cpus", cpu_model, "Example CPU @ 2.50GHz"),
	HOST("two-cpus", boot_id, "11111111-2222-3333-4444-555555555555"),
	HOST("two-cpus", netns_id, "net:[4026531840]"),
	HOST("two-cpus", clocksource, "tsc"),
	HOST("two-cpus", governor, "performance"),
	HOST("two-cpus", congestion_control, "cubic"),
	HOST("two-cpus", default_qdisc, "fq_codel"),
	HOST("two-cpus", virtualization, "Amazon EC2 m5.large"),
	HOST("many-cpus", cpu_model, "ARM implementer 0x41 part 0xd0c"),
	HOST("many-cpus", virtualization, "QEMU, docker"),
	HOST("many-cpus", netns_id, NULL),
	HOST("bare", hostname, NULL),
	HOST("bare", os_name, NULL),
	HOST("bare", cpu_model, NULL),
	HOST("bare", boot_id, NULL),
	HOST("bare", governor, NULL),
	HOST("bare", virtualization, NULL),
	HOST("garbage", cpu_model, NULL),
	HOST("garbage", os_name, "open"),
	HOST("garbage", virtualization, NULL),
};

static const struct number_fact numbers[] = {
	HOST("two-cpus", cpus_online, 2),
	HOST("two-cpus", cpus_allowed, 2),
	HOST("two-cpus", numa_nodes, 1),
	HOST("two-cpus", smt, 2),
	HOST("two-cpus", cpu_mhz, 2499),
	HOST("two-cpus", rmem_max_bytes, 212992),
	HOST("two-cpus", wmem_max_bytes, 212993),
	HOST("two-cpus", somaxconn, 4096),
	HOST("two-cpus", netdev_max_backlog, 1000),
	HOST("two-cpus", memory_bytes, 4046844ull * 1024),
	HOST("two-cpus", port_range_low, 32768),
	HOST("two-cpus", port_range_high, 60999),
	HOST("many-cpus", cpus_online, 54),
	HOST("many-cpus", numa_nodes, 2),
	HOST("many-cpus", cpu_mhz, 2600),
	HOST("many-cpus", smt, UNKNOWN),
	HOST("bare", cpus_online, UNKNOWN),
	HOST("bare", cpus_allowed, UNKNOWN),
	HOST("bare", cpu_mhz, UNKNOWN),
	HOST("bare", rmem_max_bytes, UNKNOWN),
	HOST("bare", memory_bytes, UNKNOWN),
	HOST("bare", port_range_high, UNKNOWN),
	HOST("garbage", cpus_online, UNKNOWN),
	HOST("garbage", cpu_mhz, UNKNOWN),
	HOST("garbage", memory_bytes, UNKNOWN),
	HOST("garbage", port_range_low, 32768),
	HOST("garbage", port_range_high, UNKNOWN),
};

/* clang-format on */

static struct nd_os *open_tree(const char *tree)
{
	struct nd_err err = { 0 };
	struct nd_os *os = NULL;
	char path[128];

	(void)snprintf(path, sizeof(path), TREES "%s", tree); /* fits */
	if (nd_os_open(path, &os, &err) < 0)
		fail_msg("%s", err.text);
	return os;
}

static void host_of(const char *tree, struct nd_arena *a, struct nd_host_facts *ret)
{
	struct nd_os *os = open_tree(tree);

	assert_int_equal(nd_os_host(os, a, ret), 0);
	nd_os_free(os);
}

static void reads_lists_of_cpus(void **state)
{
	const struct list_case *c;
	uint32_t v[6];
	int r;

	(void)state;
	for (c = lists; c < lists + ND_COUNTOF(lists); c++) {
		r = nd_os_cpulist(c->text, v, ND_COUNTOF(v));
		if (r != c->count || (r > 0 && memcmp(v, c->v, (size_t)r * sizeof(*v)) != 0))
			fail_msg("'%s': %d", c->text, r);
	}
	assert_int_equal(nd_os_cpulist("0-3", v, 0), 0);
}

static void names_a_host(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_host_facts h;
	const char *text;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(texts); i++) {
		host_of(texts[i].tree, &a, &h);
		memcpy(&text, (char *)&h + texts[i].offset, sizeof(text));
		if (!text != !texts[i].text || (text && strcmp(text, texts[i].text) != 0))
			fail_msg("%s: '%s' is not '%s'", texts[i].tree, text ? text : "(null)",
				 texts[i].text ? texts[i].text : "(null)");
	}
	nd_arena_done(&a);
}

static void measures_a_host(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_host_facts h;
	uint64_t v;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(numbers); i++) {
		host_of(numbers[i].tree, &a, &h);
		memcpy(&v, (char *)&h + numbers[i].offset, sizeof(v));
		if (v != numbers[i].value)
			fail_msg("%s: row %zu is %llu", numbers[i].tree, i, (unsigned long long)v);
		assert_true(h.clock_read_ns < 1000000);
		assert_true(h.fd_limit > 0);
	}
	nd_arena_done(&a);
}

static void finds_the_tightest_quota(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_host_facts h;

	(void)state;
	host_of("two-cpus", &a, &h); /* the group has none, the one above has */
	assert_true(fabs(h.cgroup_cpus - 1.5) < 1e-9);
	host_of("many-cpus", &a, &h); /* version 1; the path leads nowhere in this tree */
	assert_true(fabs(h.cgroup_cpus - 2.5) < 1e-9);
	host_of("bare", &a, &h);
	assert_true(isnan(h.cgroup_cpus));
	host_of("garbage", &a, &h);
	assert_true(isnan(h.cgroup_cpus));
	nd_arena_done(&a);
}

static void describes_an_interface(void **state)
{
	struct nd_os *os = open_tree("two-cpus");
	struct nd_arena a = { 0 };
	struct nd_nic_facts f;

	(void)state;
	assert_int_equal(nd_os_nic_facts(os, "eth0", &a, &f), 0);
	assert_string_equal(f.name, "eth0");
	assert_string_equal(f.driver, "ena");
	assert_string_equal(f.duplex, "full");
	assert_string_equal(f.mac, "02:00:00:00:00:01");
	assert_string_equal(f.cpulist, "0-1");
	assert_null(f.qdisc);
	assert_null(f.offloads);
	assert_null(f.firmware);
	assert_int_equal(f.ifindex, 2);
	assert_int_equal(f.mtu_bytes, 9001);
	assert_int_equal(f.speed_mbps, 25000);
	assert_int_equal(f.rx_queues, 2);
	assert_int_equal(f.tx_queues, 2);
	assert_int_equal(f.rx_ring, UNKNOWN);
	assert_int_equal(f.numa_node, 0);
	assert_false(f.is_loopback);
	assert_false(f.is_virtual);
	assert_int_equal(nd_os_nic_facts(os, "lo", &a, &f), 0);
	assert_true(f.is_loopback);
	assert_true(f.is_virtual);
	assert_int_equal(f.numa_node, INT64_MIN);
	assert_int_equal(nd_os_nic_facts(os, "veth7", &a, &f), 0);
	assert_false(f.is_loopback);
	assert_true(f.is_virtual);
	assert_int_equal(f.speed_mbps, UNKNOWN);
	assert_null(f.duplex);
	nd_arena_done(&a);
	nd_os_free(os);
}

static void knows_little_of_some(void **state)
{
	static const char *const wrong[] = {
		"eth9", "", ".", "..", "../net/eth0", "a-name-that-is-too-long-for-an-interface"
	};
	struct nd_arena a = { 0 };
	struct nd_nic_facts f;
	struct nd_os *os = open_tree("bare");
	size_t i;

	(void)state;
	assert_int_equal(nd_os_nic_facts(os, "eth0", &a, &f), 0); /* only /proc/net/dev has it */
	assert_string_equal(f.name, "eth0");
	assert_int_equal(f.mtu_bytes, UNKNOWN);
	assert_int_equal(f.ifindex, UNKNOWN);
	assert_int_equal(f.rx_queues, UNKNOWN);
	for (i = 0; i < ND_COUNTOF(wrong); i++)
		assert_int_equal(nd_os_nic_facts(os, wrong[i], &a, &f), -ENODEV);
	nd_os_free(os);
	os = open_tree("garbage");
	assert_int_equal(nd_os_nic_facts(os, "eth1", &a, &f), 0);
	assert_int_equal(f.numa_node, -1);
	assert_int_equal(f.speed_mbps, UNKNOWN);
	assert_int_equal(f.ifindex, UNKNOWN);
	nd_os_free(os);
	nd_arena_done(&a);
}

static void reports_a_full_arena(void **state)
{
	struct nd_os *os = open_tree("two-cpus");
	struct nd_arena a = { .limit = 1 };
	struct nd_host_facts h;
	struct nd_nic_facts f;

	(void)state;
	assert_int_equal(nd_os_host(os, &a, &h), -ENOMEM);
	assert_int_equal(nd_os_nic_facts(os, "eth0", &a, &f), -ENOMEM);
	nd_arena_done(&a);
	nd_os_free(os);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lists_of_cpus),
		cmocka_unit_test(names_a_host),
		cmocka_unit_test(measures_a_host),
		cmocka_unit_test(describes_an_interface),
		cmocka_unit_test(finds_the_tightest_quota),
		cmocka_unit_test(knows_little_of_some),
		cmocka_unit_test(reports_a_full_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
