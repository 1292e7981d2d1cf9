/* SPDX-License-Identifier: MIT */
/* Samples of copied trees: what is there is read, what is not there is unknown. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "os/os.h"

#define TREES   "tests/unit/data/os/"
#define TICK_NS 10000000ull
#define UNKNOWN ND_UNKNOWN

#define AT(member) offsetof(struct nd_os_sample, member)

struct figure {
	const char *tree, *name;
	size_t offset;
	uint64_t value;
};

#define FIGURE(tree, member, value)              \
	{                                        \
		tree, #member, AT(member), value \
	}

struct nic_figure {
	const char *tree, *nic, *name;
	size_t offset;
	uint64_t value;
};

#define NIC(tree, nic, member, value)                                      \
	{                                                                  \
		tree, nic, #member, offsetof(struct nd_nic, member), value \
	}

/* clang-format off */
static const struct figure figures[] = {
	FIGURE("two-cpus", all.user_ns, 300 * TICK_NS),
	FIGURE("two-cpus", all.nice_ns, 20 * TICK_NS),
	FIGURE("two-cpus", all.system_ns, 150 * TICK_NS),
	FIGURE("two-cpus", all.idle_ns, 10000 * TICK_NS),
	FIGURE("two-cpus", all.iowait_ns, 40 * TICK_NS),
	FIGURE("two-cpus", all.irq_ns, 5 * TICK_NS),
	FIGURE("two-cpus", all.softirq_ns, 25 * TICK_NS),
	FIGURE("two-cpus", all.steal_ns, 10 * TICK_NS),
	FIGURE("two-cpus", interrupts, 123456),
	FIGURE("two-cpus", context_switches, 654321),
	FIGURE("two-cpus", softirqs.net_rx, 3000),
	FIGURE("two-cpus", softirqs.net_tx, 7),
	FIGURE("two-cpus", softirqs.timer, 30),
	FIGURE("two-cpus", softirqs.sched, 15),
	FIGURE("two-cpus", softirqs.other, 12),
	FIGURE("two-cpus", softnet.processed, 0x300),
	FIGURE("two-cpus", softnet.dropped, 1),
	FIGURE("two-cpus", softnet.time_squeeze, 3),
	FIGURE("two-cpus", softnet.received_rps, 3),
	FIGURE("two-cpus", softnet.flow_limit, 4),
	FIGURE("two-cpus", snmp.tcp_in_segs, 1000),
	FIGURE("two-cpus", snmp.tcp_out_segs, 2000),
	FIGURE("two-cpus", snmp.tcp_retrans_segs, 5),
	FIGURE("two-cpus", snmp.tcp_in_errs, 2),
	FIGURE("two-cpus", snmp.tcp_attempt_fails, 31),
	FIGURE("two-cpus", snmp.tcp_lost_retransmit, 32),
	FIGURE("two-cpus", snmp.tcp_fast_retrans, 33),
	FIGURE("two-cpus", snmp.tcp_slow_start_retrans, 34),
	FIGURE("two-cpus", snmp.tcp_retrans_fail, 35),
	FIGURE("two-cpus", snmp.tcp_syn_retrans, 36),
	FIGURE("two-cpus", snmp.tcp_forward_retrans, UNKNOWN),
	FIGURE("two-cpus", snmp.udp6_in_errors, 37),
	FIGURE("two-cpus", snmp.ip6_reasm_fails, 5),
	FIGURE("two-cpus", unassembled, 6 + 4 + 5 + 2),
	FIGURE("two-cpus", watched_interrupts, UNKNOWN), /* nobody asked */
	FIGURE("two-cpus", snmp.tcp_listen_overflows, 1),
	FIGURE("two-cpus", snmp.tcp_listen_drops, 2),
	FIGURE("two-cpus", snmp.tcp_backlog_drop, 3),
	FIGURE("two-cpus", snmp.udp_in_datagrams, 300),
	FIGURE("two-cpus", snmp.udp_out_datagrams, 400),
	FIGURE("two-cpus", snmp.udp_no_ports, 11),
	FIGURE("two-cpus", snmp.udp_in_errors, 11),
	FIGURE("two-cpus", snmp.udp_rcvbuf_errors, 10),
	FIGURE("two-cpus", snmp.udp_sndbuf_errors, 12),
	FIGURE("two-cpus", snmp.udp_in_csum_errors, 1),
	FIGURE("two-cpus", snmp.udp6_in_datagrams, 50),
	FIGURE("two-cpus", snmp.udp6_out_datagrams, 60),
	FIGURE("two-cpus", snmp.udp6_rcvbuf_errors, 21),
	FIGURE("two-cpus", snmp.udp6_sndbuf_errors, 22),
	FIGURE("two-cpus", snmp.udp6_no_ports, 1),
	FIGURE("two-cpus", snmp.udp6_in_csum_errors, 23),
	FIGURE("two-cpus", snmp.ip_in_discards, 3),
	FIGURE("two-cpus", snmp.ip_out_discards, 4),
	FIGURE("two-cpus", snmp.ip_out_no_routes, 5),
	FIGURE("two-cpus", snmp.ip_reasm_fails, 6),
	FIGURE("two-cpus", snmp.ip_frag_creates, 16),
	FIGURE("two-cpus", self.rss_bytes, 2000 * 1024),
	FIGURE("two-cpus", self.peak_rss_bytes, 3000 * 1024),
	FIGURE("two-cpus", conntrack_count, 17),
	FIGURE("two-cpus", conntrack_max, 65536),
	FIGURE("two-cpus", cgroup.throttled_periods, 4), /* by the group above */
	FIGURE("two-cpus", cgroup.throttled_ns, 1500000),
	FIGURE("many-cpus", cgroup.throttled_periods, 7), /* version 1; its second name is seen through */
	FIGURE("many-cpus", cgroup.throttled_ns, 123456),
	FIGURE("bare", cgroup.throttled_periods, UNKNOWN),
	FIGURE("bare", cgroup.throttled_ns, UNKNOWN),
	FIGURE("garbage", cgroup.throttled_periods, UNKNOWN),
	FIGURE("garbage", cgroup.throttled_ns, UNKNOWN),
	FIGURE("many-cpus", softirqs.net_rx, 10 * 63 * 64 / 2),
	FIGURE("many-cpus", softirqs.timer, 64),
	FIGURE("many-cpus", softnet.received_rps, 0),
	FIGURE("many-cpus", softnet.flow_limit, 0),
	FIGURE("many-cpus", snmp.tcp_in_segs, UNKNOWN),
	FIGURE("bare", all.idle_ns, 4 * TICK_NS),
	FIGURE("bare", all.iowait_ns, UNKNOWN),
	FIGURE("bare", all.steal_ns, UNKNOWN),
	FIGURE("bare", interrupts, UNKNOWN),
	FIGURE("bare", context_switches, UNKNOWN),
	FIGURE("bare", softirqs.net_rx, UNKNOWN),
	FIGURE("bare", softnet.processed, UNKNOWN),
	FIGURE("bare", snmp.udp_in_datagrams, UNKNOWN),
	FIGURE("bare", snmp.udp6_in_datagrams, UNKNOWN),
	FIGURE("bare", snmp.tcp_listen_drops, UNKNOWN),
	FIGURE("bare", self.rss_bytes, UNKNOWN),
	FIGURE("bare", conntrack_count, UNKNOWN),
	FIGURE("bare", unassembled, UNKNOWN),
	FIGURE("bare", conntrack_max, UNKNOWN),
	FIGURE("garbage", all.user_ns, UNKNOWN),
	FIGURE("garbage", interrupts, UNKNOWN),
	FIGURE("garbage", context_switches, UNKNOWN),
	FIGURE("garbage", softirqs.net_rx, UNKNOWN),
	FIGURE("garbage", softirqs.timer, UNKNOWN),
	FIGURE("garbage", softirqs.sched, 3),
	FIGURE("garbage", softirqs.other, UNKNOWN),
	FIGURE("garbage", softnet.processed, 255),
	FIGURE("garbage", softnet.dropped, UNKNOWN),
	FIGURE("garbage", snmp.tcp_in_segs, UNKNOWN),
	FIGURE("garbage", snmp.tcp_out_segs, UNKNOWN),
	FIGURE("garbage", snmp.udp_in_datagrams, 5),
	FIGURE("garbage", snmp.udp_no_ports, UNKNOWN),
	FIGURE("garbage", snmp.udp6_in_datagrams, UNKNOWN),
	FIGURE("garbage", snmp.udp6_out_datagrams, 7),
	FIGURE("garbage", snmp.udp6_sndbuf_errors, UNKNOWN),
	FIGURE("garbage", self.rss_bytes, UNKNOWN),
	FIGURE("garbage", conntrack_count, UNKNOWN),
	FIGURE("garbage", unassembled, UNKNOWN),
};

static const struct nic_figure nic_figures[] = {
	NIC("two-cpus", "lo", ifindex, 1),
	NIC("two-cpus", "eth0", ifindex, 2),
	NIC("two-cpus", "eth0", rx_bytes, 50000),
	NIC("two-cpus", "eth0", rx_packets, 100),
	NIC("two-cpus", "eth0", rx_errors, 1),
	NIC("two-cpus", "eth0", rx_dropped, 2),
	NIC("two-cpus", "eth0", rx_missed, UNKNOWN),
	NIC("two-cpus", "eth0", rx_nohandler, UNKNOWN),
	NIC("two-cpus", "eth0", tx_bytes, 70000),
	NIC("two-cpus", "eth0", tx_packets, 140),
	NIC("two-cpus", "eth0", tx_errors, 3),
	NIC("two-cpus", "eth0", tx_dropped, 4),
	NIC("two-cpus", "eth0", tx_carrier_errors, 5),
	NIC("two-cpus", "eth0", qdisc_drops, UNKNOWN),
	NIC("two-cpus", "eth0", qdisc_backlog_packets, UNKNOWN),
	NIC("bare", "eth0", ifindex, UNKNOWN),
	NIC("bare", "eth0", rx_packets, 4),
	NIC("garbage", "eth1", rx_bytes, 7),
	NIC("garbage", "eth1", rx_packets, 8),
	NIC("garbage", "eth1", tx_packets, UNKNOWN),
	NIC("garbage", "eth1", ifindex, UNKNOWN),
	NIC("garbage", "eth2.5:0", rx_bytes, 1),
	NIC("garbage", "../../x", ifindex, UNKNOWN),
};

/* clang-format on */

static void sample(const char *tree, struct nd_os_sample *ret)
{
	struct nd_err err = { 0 };
	struct nd_os *os = NULL;
	char path[128];

	(void)snprintf(path, sizeof(path), TREES "%s", tree); /* fits */
	if (nd_os_open(path, &os, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(nd_os_sample(os, ret), 0);
	nd_os_free(os);
}

static void expect(const char *tree, const char *name, const void *at, uint64_t value)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	if (v != value)
		fail_msg("%s: %s is %llu, not %llu", tree, name, (unsigned long long)v,
			 (unsigned long long)value);
}

static void reads_every_figure(void **state)
{
	struct nd_os_sample s;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(figures); i++) {
		sample(figures[i].tree, &s);
		expect(figures[i].tree, figures[i].name, (char *)&s + figures[i].offset,
		       figures[i].value);
		nd_os_sample_done(&s);
	}
}

static void reads_every_interface(void **state)
{
	const struct nic_figure *f = nic_figures;
	const struct nd_nic *n;
	struct nd_os_sample s;

	(void)state;
	for (; f < nic_figures + ND_COUNTOF(nic_figures); f++) {
		sample(f->tree, &s);
		n = nd_os_nic(&s, f->nic);
		if (!n)
			fail_msg("%s: no interface %s", f->tree, f->nic);
		else
			expect(f->tree, f->name, (const char *)n + f->offset, f->value);
		nd_os_sample_done(&s);
	}
}

/* Sums of the lines with a text; columns behind the last CPU are no counts. */
static void watches_interrupts(void **state)
{
	static const struct {
		const char *text;
		uint64_t sum;
	} rows[] = {
		{ "eth0", 1000 + 2000 + 7 + 8 + 5 + 9 },
		{ "TxRx-1", 15 },
		{ "LOC", 300000 },
		{ "Local timer", 300000 },
		{ "ERR", 3 },
		{ "12-edge", 14 },
		{ "mlx", UNKNOWN },
		{ "CPU0", UNKNOWN },
		{ "", UNKNOWN },
		{ NULL, UNKNOWN },
	};
	struct nd_os_sample s;
	struct nd_os *os = NULL;
	size_t i;

	(void)state;
	assert_int_equal(nd_os_open(TREES "two-cpus", &os, NULL), 0);
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		assert_int_equal(nd_os_watch_interrupts(os, rows[i].text), 0);
		assert_int_equal(nd_os_sample(os, &s), 0);
		expect("two-cpus", rows[i].text, &s.watched_interrupts, rows[i].sum);
		nd_os_sample_done(&s);
	}
	assert_null(nd_os_watched_nic(os));
	assert_int_equal(nd_os_watch_nic(os, "veth7"), 0);
	assert_string_equal(nd_os_watched_nic(os), "veth7");
	assert_int_equal(nd_os_watch_nic(os, NULL), 0);
	assert_null(nd_os_watched_nic(os));
	nd_os_free(os);
}

static void reads_the_clock(void **state)
{
	struct nd_os *os = NULL;

	(void)state;
	assert_int_equal(nd_os_open(TREES "two-cpus", &os, NULL), 0);
	assert_true(fabs(nd_os_cpu_mhz(os) - 2499.998) < 1e-9);
	nd_os_free(os);
	assert_int_equal(nd_os_open(TREES "bare", &os, NULL), 0);
	assert_true(isnan(nd_os_cpu_mhz(os)));
	nd_os_free(os);
}

static void finds_no_other_interface(void **state)
{
	struct nd_os_sample s;

	(void)state;
	sample("two-cpus", &s);
	assert_int_equal(s.nics, 2);
	assert_null(nd_os_nic(&s, "eth"));
	assert_null(nd_os_nic(&s, "eth01"));
	assert_null(nd_os_nic(&s, "face"));
	assert_null(nd_os_nic(&s, ""));
	nd_os_sample_done(&s);
	sample("garbage", &s);
	assert_int_equal(s.nics, 4);
	assert_int_equal(strlen(s.nic[2].name), sizeof(s.nic[2].name) - 1);
	nd_os_sample_done(&s);
}

static void numbers_each_cpu(void **state)
{
	struct nd_os_sample s;

	(void)state;
	sample("two-cpus", &s);
	assert_int_equal(s.cpus, 2);
	assert_int_equal(s.cpu[0].nice_ns, 20 * TICK_NS);
	assert_int_equal(s.cpu[1].user_ns, 200 * TICK_NS);
	assert_int_equal(s.cpu_net_rx[0], 1000);
	assert_int_equal(s.cpu_net_rx[1], 2000);
	assert_int_equal(s.cpu_softnet[0].dropped, 1);
	assert_int_equal(s.cpu_softnet[1].processed, 0x200);
	nd_os_sample_done(&s);
	sample("garbage", &s);
	assert_int_equal(s.cpus, 2);
	assert_int_equal(s.cpu[0].user_ns, UNKNOWN);
	assert_int_equal(s.cpu[0].nice_ns, 5 * TICK_NS);
	assert_int_equal(s.cpu[0].system_ns, UNKNOWN); /* too many ticks for 64 bits of ns */
	assert_int_equal(s.cpu[0].idle_ns, UNKNOWN);
	assert_int_equal(s.cpu[0].iowait_ns, UNKNOWN);
	assert_int_equal(s.cpu[1].user_ns, UNKNOWN);
	assert_int_equal(s.cpu_net_rx[0], 12);
	assert_int_equal(s.cpu_net_rx[1], UNKNOWN);
	nd_os_sample_done(&s);
	sample("bare", &s);
	assert_int_equal(s.cpus, 1);
	assert_null(s.cpu_net_rx);
	assert_null(s.cpu_softnet);
	nd_os_sample_done(&s);
}

static bool is_offline(uint32_t cpu)
{
	return (cpu >= 8 && cpu < 16) || cpu == 40 || cpu == 41;
}

static void leaves_gaps_unknown(void **state)
{
	struct nd_os_sample s;
	uint32_t i;

	(void)state;
	sample("many-cpus", &s);
	assert_int_equal(s.cpus, 64);
	for (i = 0; i < s.cpus; i++) {
		assert_int_equal(s.cpu_net_rx[i], 10 * i);
		assert_int_equal(s.cpu[i].user_ns, is_offline(i) ? UNKNOWN : (i + 1) * TICK_NS);
		assert_int_equal(s.cpu[i].softirq_ns, is_offline(i) ? UNKNOWN : i * TICK_NS);
		assert_int_equal(s.cpu_softnet[i].processed, is_offline(i) ? UNKNOWN : i + 1);
	}
	nd_os_sample_done(&s);
}

static void sees_what_changes(void **state)
{
	struct nd_os_sample s;
	struct nd_err err = { 0 };
	char root[] = "/tmp/nd-os-sample-XXXXXX", path[64], proc[64];
	struct nd_os *os = NULL;
	uint64_t round;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(root));
	(void)snprintf(proc, sizeof(proc), "%s/proc", root);      /* fits */
	(void)snprintf(path, sizeof(path), "%s/proc/stat", root); /* fits */
	assert_int_equal(mkdir(proc, 0755), 0);
	for (round = 0; round < 3; round++) {
		f = fopen(path, "w");
		assert_non_null(f);
		assert_true(fprintf(f, "ctxt %llu\n", (unsigned long long)round) > 0);
		assert_int_equal(fclose(f), 0);
		if (!os)
			assert_int_equal(nd_os_open(root, &os, &err), 0);
		assert_int_equal(nd_os_sample(os, &s), 0);
		assert_int_equal(s.context_switches, round);
		assert_int_equal(s.cpus, 0);
		assert_int_equal(s.nics, 0);
		nd_os_sample_done(&s);
	}
	nd_os_free(os);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(proc), 0);
	assert_int_equal(rmdir(root), 0);
}

static void reads_a_large_file(void **state)
{
	struct nd_os_sample s;
	struct nd_err err = { 0 };
	char root[] = "/tmp/nd-os-sample-XXXXXX", path[64], proc[64];
	struct nd_os *os = NULL;
	unsigned i;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(root));
	(void)snprintf(proc, sizeof(proc), "%s/proc", root);      /* fits */
	(void)snprintf(path, sizeof(path), "%s/proc/stat", root); /* fits */
	assert_int_equal(mkdir(proc, 0755), 0);
	f = fopen(path, "w");
	assert_non_null(f);
	for (i = 0; i < 5000; i++)
		assert_true(fprintf(f, "cpu%u 1 2 3 4 5 6 7 8 9 10\n", i) > 0);
	assert_true(fprintf(f, "ctxt 77\n") > 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(nd_os_open(root, &os, &err), 0);
	assert_int_equal(nd_os_sample(os, &s), 0);
	assert_int_equal(s.cpus, 4096);
	assert_int_equal(s.cpu[4095].steal_ns, 8 * TICK_NS);
	assert_int_equal(s.context_switches, 77);
	nd_os_sample_done(&s);
	nd_os_free(os);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(proc), 0);
	assert_int_equal(rmdir(root), 0);
}

static void says_what_it_cannot_open(void **state)
{
	struct nd_err err = { 0 };
	struct nd_os *os = NULL;

	(void)state;
	assert_int_equal(nd_os_open(TREES "not-there", &os, &err), -ENOENT);
	assert_non_null(strstr(err.text, "not-there"));
	assert_null(os);
	nd_os_free(NULL);
	nd_os_sample_done(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_figure),
		cmocka_unit_test(reads_every_interface),
		cmocka_unit_test(watches_interrupts),
		cmocka_unit_test(reads_the_clock),
		cmocka_unit_test(finds_no_other_interface),
		cmocka_unit_test(numbers_each_cpu),
		cmocka_unit_test(leaves_gaps_unknown),
		cmocka_unit_test(sees_what_changes),
		cmocka_unit_test(reads_a_large_file),
		cmocka_unit_test(says_what_it_cannot_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
