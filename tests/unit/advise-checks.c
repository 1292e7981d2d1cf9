/* SPDX-License-Identifier: MIT */
/* Each check: silent on a machine in order, heard when its fact is wrong, mute when it is not known. */
#include <math.h>
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

static struct nd_doctor_facts good(void)
{
	struct nd_doctor_facts f;

	nd_doctor_blank(&f);
	f.host = (struct nd_host_facts){ .clocksource = "tsc",
					 .governor = "performance",
					 .congestion_control = "cubic",
					 .cpus_online = 8,
					 .cpus_allowed = 8,
					 .numa_nodes = 1,
					 .smt = 1,
					 .rmem_max_bytes = 16 << 20,
					 .wmem_max_bytes = 16 << 20,
					 .somaxconn = 4096,
					 .netdev_max_backlog = 10000,
					 .port_range_low = 1024,
					 .port_range_high = 65535,
					 .clock_read_ns = 25,
					 .cgroup_cpus = (double)NAN };
	f.nic = (struct nd_nic_facts){ .name = "eth0",
				       .driver = "ena",
				       .duplex = "full",
				       .qdisc = "mq",
				       .offloads = "tso gso gro rx-checksum tx-checksum",
				       .mtu_bytes = 9001,
				       .speed_mbps = 25000,
				       .rx_queues = 8,
				       .tx_queues = 8,
				       .rx_ring = 1024,
				       .tx_ring = 1024,
				       .numa_node = 0 };
	f.limits = (struct nd_nic_limits){ .rx_ring_max = 16384,
					   .tx_ring_max = 1024,
					   .queues_max = 8,
					   .rx_usecs = 20,
					   .adaptive_rx = 1,
					   .udp4_ports = 1,
					   .udp6_ports = 1,
					   .xps_queues = 8 };
	f.irqs_receiving = 8;
	f.irqs_shared = f.irqs_far = 0;
	f.irqbalance = 0;
	f.tcp_rmem_max = f.tcp_wmem_max = 16 << 20;
	f.fd_hard_limit = 1 << 20;
	f.conntrack_count = 0;
	f.conntrack_max = 262144;
	f.idle_latency_us = 2;
	f.steal_ratio = f.throttled_ratio = 0;
	f.firewall.known = true;
	f.rx_missed = f.rx_dropped = f.backlog_dropped = f.squeezed = f.udp_rcvbuf_errors = 0;
	return f;
}

#define SET(name, ...)                              \
	static void name(struct nd_doctor_facts *f) \
	{                                           \
		__VA_ARGS__;                        \
	}

/* clang-format off */
SET(e1000, f->nic.driver = "e1000")
SET(netvsc, f->nic.driver = "hv_netvsc")
SET(odd_driver, f->nic.driver = "mynic")
SET(loopback, f->nic.is_loopback = true)
SET(veth, f->nic.is_virtual = true; f->nic.driver = "veth")
SET(half, f->nic.duplex = "half")
SET(slow_link, f->nic.speed_mbps = 100)
SET(small_mtu, f->nic.mtu_bytes = 1400)
SET(no_tso, f->nic.offloads = "gso gro rx-checksum tx-checksum")
SET(no_offload, f->nic.offloads = "")
SET(lro, f->nic.offloads = "tso gso gro lro rx-checksum tx-checksum")
SET(small_ring, f->nic.rx_ring = 256)
SET(few_queues, f->nic.rx_queues = 4)
SET(one_queue, f->nic.rx_queues = 1; f->limits.queues_max = 1)
SET(shared_irqs, f->irqs_shared = 3)
SET(far_irqs, f->irqs_far = 2)
SET(balanced, f->irqbalance = 1)
SET(rps_for_nothing, f->limits.rps_queues = 8)
SET(no_rps, f->nic.rx_queues = 2)
SET(rps_on_some, f->nic.rx_queues = 4; f->limits.rps_queues = 3)
SET(no_xps, f->limits.xps_queues = 0)
SET(xps_on_some, f->limits.xps_queues = 5)
SET(no_ports, f->limits.udp4_ports = 0)
SET(slow_irq, f->limits.rx_usecs = 500; f->limits.adaptive_rx = 0)
SET(shaper, f->nic.qdisc = "netem")
SET(missed, f->rx_missed = 9)
SET(reno, f->host.congestion_control = "reno")
SET(small_rmem, f->host.rmem_max_bytes = 212992)
SET(small_wmem, f->host.wmem_max_bytes = 212992)
SET(small_tcp, f->tcp_wmem_max = 1 << 20)
SET(small_backlog, f->host.netdev_max_backlog = 300)
SET(small_listen, f->host.somaxconn = 128)
SET(few_ports, f->host.port_range_low = 60000)
SET(few_files, f->fd_hard_limit = 4096)
SET(full_table, f->conntrack_count = 260000)
SET(tracked, f->conntrack_count = 10)
SET(shut, f->firewall.chains = f->firewall.drops = 1; memcpy(f->firewall.name, "t c", 4))
SET(filtered, f->firewall.chains = 2)
#define BLOCK(...)                                                                              \
	f->firewall.chains = f->firewall.drops = f->firewall.blocks = 1;                        \
	f->firewall.rules_known = true;                                                         \
	f->firewall.block[0] = (struct nd_firewall_block){                                      \
		.port = 7575, .ipv4 = true, .where = "rule 4 of inet t c", __VA_ARGS__          \
	}
SET(blocked, BLOCK(.is_udp = true, .sure = true))
SET(perhaps_blocked, BLOCK(.ipv6 = true))
SET(unread_rule, BLOCK(.ipv6 = true, .unread = true))
SET(let_in, f->firewall.chains = f->firewall.drops = 1; f->firewall.rules_known = true)
SET(no_library, f->firewall.chains = 3; f->firewall.rules_why = "no library")
SET(old_and_blocked, blocked(f); f->firewall.has_old_tables = true)
SET(old_tables, f->firewall.known = false; f->firewall.has_old_tables = true)
SET(powersave, f->host.governor = "powersave")
SET(schedutil, f->host.governor = "schedutil")
SET(sleepy, f->idle_latency_us = 600)
SET(hpet, f->host.clocksource = "hpet")
SET(slow_clock, f->host.clock_read_ns = 900)
SET(stolen, f->steal_ratio = 0.1)
SET(quota, f->host.cgroup_cpus = 1.5)
SET(throttled, f->throttled_ratio = 0.25)
SET(squeezed, f->squeezed = 6; f->budget = 300)
SET(few_cpus, f->host.cpus_allowed = 2)
SET(guest, f->host.virtualization = "KVM")
SET(threads, f->host.smt = 2)
SET(nodes, f->host.numa_nodes = 2)
SET(drops, f->backlog_dropped = 4)
SET(udp_drops, f->udp_rcvbuf_errors = 4)

struct row {
	const char *key;
	void (*spoil)(struct nd_doctor_facts *f);
	enum nd_verdict verdict;
	const char *words;
};

#define NOTE ND_VERDICT_NOTE
#define WARN ND_VERDICT_WARN

static const struct row rows[] = {
	{ "driver", e1000, WARN, "emulated" },      { "driver", netvsc, NOTE, "accelerated" },
	{ "driver", odd_driver, NOTE, "mynic" },    { "driver", loopback, NOTE, "loopback" },
	{ "driver", veth, NOTE, "software" },       { "speed", half, WARN, "half" },
	{ "speed", slow_link, WARN, "100 Mbit/s" }, { "mtu", small_mtu, NOTE, "1400" },
	{ "offloads", no_tso, WARN, "off: tso" },   { "offloads", no_offload, WARN, "gro" },
	{ "lro", lro, NOTE, "large" },              { "rings", small_ring, WARN, "256" },
	{ "queues", few_queues, WARN, "8 queues could be had" },
	{ "queues", one_queue, NOTE, "1 receive" }, { "irq_placement", shared_irqs, WARN, "3 share" },
	{ "irq_placement", far_irqs, WARN, "2 are far" },
	{ "irqbalance", balanced, NOTE, "runs" },   { "rps", rps_for_nothing, WARN, "RPS on 8" },
	{ "rps", rps_on_some, NOTE, "3 of 4" },     { "xps", no_xps, NOTE, "0 of 8" },
	{ "xps", xps_on_some, WARN, "5 of 8" },     { "throttled", throttled, WARN, "25.0 %" },
	{ "squeezed", squeezed, NOTE, "6 times" },
	{ "rps", no_rps, NOTE, "0 of 2" },          { "udp_hash", no_ports, WARN, "addresses alone" },
	{ "coalescing", slow_irq, NOTE, "500 us" }, { "qdisc", shaper, WARN, "netem" },
	{ "missed", missed, NOTE, "9 packets" },    { "congestion_control", reno, NOTE, "reno" },
	{ "rmem_max", small_rmem, WARN, "212992" }, { "wmem_max", small_wmem, NOTE, "212992" },
	{ "tcp_mem", small_tcp, WARN, "1048576" },  { "backlog", small_backlog, WARN, "300" },
	{ "somaxconn", small_listen, WARN, "128" }, { "port_range", few_ports, WARN, "5536" },
	{ "files", few_files, NOTE, "4096" },       { "conntrack", full_table, WARN, "260000" },
	{ "conntrack", tracked, NOTE, "10" },       { "firewall", shut, WARN, "t c" },
	{ "firewall", blocked, WARN, "rule 4 of inet t c drops UDP over IPv4 to port 7575" },
	{ "firewall", perhaps_blocked, NOTE, "may drop TCP to port 7575: it looks at more than the port" },
	{ "firewall", unread_rule, NOTE, "may drop TCP to port 7575: a rule there could not be read" },
	{ "firewall", let_in, NOTE, "1 chain, which let the test's port in" },
	{ "firewall", no_library, NOTE, "3 chains; their rules are not read: no library" },
	{ "firewall", old_and_blocked, WARN, "older iptables" },
	{ "firewall", filtered, NOTE, "2 chains" }, { "firewall", old_tables, NOTE, "iptables" },
	{ "governor", powersave, WARN, "powersave" }, { "governor", schedutil, NOTE, "schedutil" },
	{ "idle", sleepy, NOTE, "600 us" },         { "clocksource", hpet, WARN, "hpet" },
	{ "clocksource", slow_clock, WARN, "900 ns" }, { "steal", stolen, WARN, "10.0 %" },
	{ "cpu_limit", quota, WARN, "1.50 of 8" },  { "cpu_limit", few_cpus, NOTE, "2 of 8" },
	{ "virtual", guest, NOTE, "KVM" },          { "smt", threads, NOTE, "2 hardware threads" },
	{ "numa", nodes, NOTE, "2 memory nodes" },  { "backlog_drops", drops, NOTE, "4 packets" },
	{ "udp_drops", udp_drops, NOTE, "4 datagrams" },
};

/* clang-format on */

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

static void test_each_fires(void **state)
{
	const struct nd_check *c;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_doctor_facts f = good();
		nd_auto_str text = { 0 };

		print_message("[%s: %s]\n", rows[i].key, rows[i].words);
		rows[i].spoil(&f);
		c = find(rows[i].key);
		assert_true(c && c->judge(&f, &text) == rows[i].verdict);
		if (!strstr(nd_str_text(&text), rows[i].words))
			print_message("%s\n", nd_str_text(&text));
		assert_non_null(strstr(nd_str_text(&text), rows[i].words));
	}
}

/* In order: all silent. Nothing known: none of them says a word that is not so. Each has a row above. */
static void test_each_is_silent(void **state)
{
	struct nd_doctor_facts f = good(), none;
	const struct nd_check *c;
	size_t i, k;

	(void)state;
	nd_doctor_blank(&none);
	for (i = 0; (c = nd_check_at(i)); i++) {
		nd_auto_str text = { 0 };

		print_message("[%s]\n", c->key);
		assert_int_equal(c->judge(&f, &text), ND_VERDICT_FINE);
		nd_str_reset(&text);
		assert_true(c->judge(&none, &text) <= ND_VERDICT_FINE);
		assert_non_null(c->why);
		assert_non_null(c->mend);
		for (k = 0; k < ND_COUNTOF(rows); k++)
			if (!strcmp(rows[k].key, c->key))
				break;
		assert_true(k < ND_COUNTOF(rows));
	}
}

static void test_judge(void **state)
{
	struct nd_doctor_facts f = good();
	struct nd_arena a = { 0 };
	struct nd_findings here = { .arena = &a }, peer = { .arena = &a }, named = { .arena = &a };
	struct nd_doctor_ask ask = { .all = false };
	nd_auto_str out = { 0 };

	(void)state;
	small_rmem(&f);
	balanced(&f);
	nd_doctor_judge(&f, false, &here);
	assert_int_equal(nd_findings_count(&here, WARN), 1);
	assert_int_equal(nd_findings_count(&here, NOTE), 1);
	f.nic.rx_ring = 256;
	nd_doctor_judge(&f, false, &named);
	nd_doctor_text(&ask, &named, &out); /* what can be pasted has the interface's name in it */
	assert_non_null(strstr(nd_str_text(&out), "mend: ethtool -G eth0 rx MAXIMUM"));
	assert_non_null(
		strstr(nd_str_text(&out), "mend: Stop it for the test")); /* of a note, too */
	assert_null(strstr(nd_str_text(&out), "IFACE"));
	nd_str_reset(&out);
	f.nic.rx_ring = 1024;
	nd_doctor_text(&ask, &here, &out);
	assert_non_null(
		strstr(nd_str_text(&out), "WARNING   receive buffers: net.core.rmem_max is"));
	assert_non_null(strstr(nd_str_text(&out), "mend: sysctl -w net.core.rmem_max="));
	assert_null(strstr(nd_str_text(&out), "congestion"));
	nd_str_reset(&out);
	nd_doctor_json(&ask, &here, &out);
	assert_non_null(strstr(nd_str_text(&out), "\"warnings\": 1"));

	nd_doctor_judge(&f, true, &peer); /* what a peer does not tell is not judged */
	assert_int_equal(nd_findings_count(&peer, WARN), 1);
	assert_int_equal(nd_findings_count(&peer, NOTE), 0);
	assert_true(peer.n < here.n);
	nd_str_reset(&out);
	nd_doctor_text(&ask, &peer, &out);
	assert_non_null(strstr(nd_str_text(&out), "peer's receive buffers"));
	nd_findings_done(&here);
	nd_findings_done(&named);
	nd_findings_done(&peer);
	nd_arena_done(&a);
}

struct path_row {
	const char *label;
	struct nd_path path;
	enum nd_verdict verdict;
	const char *words;
};

/* clang-format off */
static const struct path_row paths[] = {
	{ "all of it", { .answers_echo = true, .asked_bytes = 1500, .passed_bytes = 1500, .told_bytes = ND_UNKNOWN },
	  ND_VERDICT_FINE, "1500 bytes cross" },
	{ "more than IP can", { .answers_echo = true, .asked_bytes = 65536, .passed_bytes = 65535,
	  .told_bytes = ND_UNKNOWN }, ND_VERDICT_FINE, "65535 bytes" },
	{ "told", { .answers_echo = true, .asked_bytes = 1500, .passed_bytes = 1400, .told_bytes = 1400,
	  .router = "192.0.2.1" }, WARN, "192.0.2.1 says 1400" },
	{ "found", { .answers_echo = true, .asked_bytes = 9000, .passed_bytes = 1500, .told_bytes = ND_UNKNOWN }, WARN,
	  "1500 bytes cross in one piece, those of 1501 do not" },
	{ "hardly anything", { .answers_echo = true, .asked_bytes = 1500, .passed_bytes = 100, .told_bytes = ND_UNKNOWN },
	  WARN, "nor do those of 576" },
	{ "no echo", { .asked_bytes = 1500, .passed_bytes = ND_UNKNOWN, .told_bytes = ND_UNKNOWN }, ND_VERDICT_UNKNOWN,
	  "no echo" },
};

/* clang-format on */

static void test_paths(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(paths); i++) {
		nd_auto_str text = { 0 };

		print_message("[%s]\n", paths[i].label);
		assert_int_equal(nd_path_judge(&paths[i].path, &text), paths[i].verdict);
		assert_non_null(strstr(nd_str_text(&text), paths[i].words));
	}
}

/* Facts of a machine that does not exist. */
static void test_gather(void **state)
{
	const struct tree_machine m = TREE_MLX5;
	struct nd_doctor_facts f;
	struct nd_arena a = { 0 };
	struct nd_os *os = NULL;

	(void)state;
	tree_make(&m);
	tree_put("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
	tree_put("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n");
	tree_put("proc/sys/net/ipv4/udp_mem", "1\n");
	tree_put("proc/7/comm", "irqbalance\n");
	tree_put("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n");
	tree_put("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "133\n");
	tree_put("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "600\n");
	tree_put("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n");
	TREE_PUT("9\n", "proc/irq/103/effective_affinity_list"); /* CPU 9 is on node 1 */
	assert_int_equal(nd_os_open(tree_root, &os, NULL), 0);
	assert_int_equal(nd_doctor_gather(os, "ens1", &a, &f), 0);
	assert_int_equal(f.tcp_rmem_max, 6291456);
	assert_int_equal(f.tcp_wmem_max, 4194304);
	assert_int_equal(f.irqbalance, 1);
	assert_int_equal(f.idle_latency_us, 133);
	assert_int_equal(f.irqs_receiving, 8);
	assert_int_equal(f.irqs_shared, 6);
	assert_int_equal(f.irqs_far, 1);
	assert_int_equal(f.nic.numa_node, 0);
	nd_os_free(os);
	nd_arena_done(&a);
	tree_end();

	tree_begin(); /* nothing can be read: nothing fails */
	assert_int_equal(nd_os_open(tree_root, &os, NULL), 0);
	assert_int_equal(nd_doctor_gather(os, NULL, &a, &f), 0);
	assert_int_equal(f.irqs_receiving, ND_UNKNOWN);
	nd_os_free(os);
	nd_arena_done(&a);
	tree_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_fires), cmocka_unit_test(test_each_is_silent),
		cmocka_unit_test(test_judge),      cmocka_unit_test(test_paths),
		cmocka_unit_test(test_gather),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
