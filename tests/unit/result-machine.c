/* SPDX-License-Identifier: MIT */
/* CPU and counters of one end from differences of samples. */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "result/result.h"

#define S 1000000000ull

/* All counters unknown: structs of nothing but uint64_t. */
static void unknown(void *counters, size_t size)
{
	memset(counters, 0xff, size);
}

static struct nd_os_sample nothing(void)
{
	struct nd_os_sample s = { .interrupts = ND_UNKNOWN,
				  .watched_interrupts = ND_UNKNOWN,
				  .context_switches = ND_UNKNOWN,
				  .conntrack_count = ND_UNKNOWN,
				  .conntrack_max = ND_UNKNOWN,
				  .unassembled = ND_UNKNOWN };

	unknown(&s.all, sizeof(s.all));
	unknown(&s.softirqs, sizeof(s.softirqs));
	unknown(&s.snmp, sizeof(s.snmp));
	unknown(&s.softnet, sizeof(s.softnet));
	unknown(&s.self, sizeof(s.self));
	unknown(&s.cgroup, sizeof(s.cgroup));
	return s;
}

static void near(double a, double b)
{
	if (!(fabs(a - b) < 1e-9))
		fail_msg("%.17g is not %.17g", a, b);
}

static void test_unknown_stays(void **state)
{
	struct nd_os_sample window = nothing(), run = nothing();
	struct nd_arena a = { 0 };
	struct nd_machine m;
	size_t i;

	(void)state;
	window.at_ns = 10 * S;
	for (i = 0; i < 2; i++) {
		assert_int_equal(
			nd_machine_from(i ? &window : NULL, i ? &run : NULL, NULL, NULL, &a, &m),
			0);
		nd_row_for_each(f, &nd_machine_table) {
			const void *at = nd_field_at(&m, f);

			if (!strcmp(f->key, "seconds"))
				continue;
			if (f->type == ND_T_U64 && *(const uint64_t *)at != ND_UNKNOWN)
				fail_msg("%s is known", f->key);
			if (f->type == ND_T_F64 && !isnan(*(const double *)at))
				fail_msg("%s is known", f->key);
		}
		assert_null(m.nic);
		assert_int_equal(m.cpus.n, 0);
	}
	nd_arena_done(&a);
}

static void test_figures(void **state)
{
	struct nd_cpu_times cpu[3] = {
		{ 1 * S, 0, 2 * S, 6 * S, 0, 0, 1 * S, 0 },
		{ 0 },
		{ 2 * S, 1 * S, 4 * S, 1 * S, 0, 1 * S, 1 * S, 0 },
	};
	struct nd_nic nic = { .name = "eth0", .rx_dropped = 4, .rx_missed = 3, .qdisc_drops = 9 };
	struct nd_os_sample window = nothing(), run = nothing();
	const struct nd_cpu_row *row;
	struct nd_arena a = { 0 };
	struct nd_machine m;

	(void)state;
	unknown(&cpu[1], sizeof(cpu[1])); /* offline */
	window.at_ns = 10 * S;
	window.all =
		(struct nd_cpu_times){ 3 * S, 1 * S, 6 * S, 6 * S, 1 * S, 1 * S, 2 * S, S / 2 };
	window.cpus = 3;
	window.cpu = cpu;
	window.self.user_ns = 2 * S;
	window.self.system_ns = 3 * S;
	run.nics = 1;
	run.nic = &nic;
	run.snmp.udp_rcvbuf_errors = 5;
	run.snmp.udp6_rcvbuf_errors = 6;
	run.snmp.udp_no_ports = 2;
	run.snmp.udp6_no_ports = 3;
	run.snmp.udp6_in_csum_errors = 4; /* IPv4 is off */
	run.snmp.udp_sndbuf_errors = 7;   /* IPv6 is off */
	assert_int_equal(nd_machine_from(&window, &run, "eth0", NULL, &a, &m), 0);
	near(m.seconds, 10);
	near(m.busy_cores, 1.3);
	near(m.user_cores, 0.4);
	near(m.idle_cores, 0.7);
	near(m.process_cores, 0.5);
	near(m.steal_ratio, 0.5 / 20.5);
	assert_int_equal(m.cpus.n, 2);
	row = m.cpus.v;
	assert_int_equal(row[1].cpu, 2);
	near(row[0].busy_ratio, 0.4);
	assert_int_equal(m.busiest_cpu, 2);
	near(m.busiest_ratio, 0.9);
	near(m.busiest_softirq_ratio, 0.2);
	assert_int_equal(m.udp_rcvbuf_errors, 11);
	assert_int_equal(m.udp_no_ports, 5);
	assert_int_equal(m.udp_in_csum_errors, 4);
	assert_int_equal(m.udp_sndbuf_errors, 7);
	assert_int_equal(m.nic_rx_dropped, 7);
	assert_int_equal(m.qdisc_drops, 9);
	assert_string_equal(m.nic, "eth0");
	nd_arena_done(&a);
}

/* What reports of other tools count in the window, of the interface they name. */
static void test_window_counts(void **state)
{
	struct nd_nic nic[] = { { .name = "eth0", .rx_packets = 7, .tx_packets = 8 },
				{ .name = "eth1", .rx_packets = 70, .tx_packets = 80 } };
	struct nd_os_sample window = nothing();
	struct nd_arena a = { 0 };
	struct nd_machine m;

	(void)state;
	window.at_ns = 10 * S;
	window.all = (struct nd_cpu_times){ 3 * S, 1 * S, 6 * S, 6 * S, 2 * S, 0, 0, 0 };
	window.nics = 2;
	window.nic = nic;
	window.watched_interrupts = 99;
	window.cgroup.throttled_periods = 12;
	window.cgroup.throttled_ns = 345600000;
	window.conntrack_count = 200;
	window.conntrack_max = 262144;
	window.snmp.tcp_retrans_segs = 3;
	window.snmp.tcp_attempt_fails = 4;
	window.snmp.udp_in_errors = 5;
	window.snmp.udp6_in_errors = 6;
	assert_int_equal(nd_machine_from(&window, NULL, "eth0", NULL, &a, &m), 0);
	near(m.nice_cores, 0.1);
	near(m.iowait_cores, 0.2);
	assert_int_equal(m.window_interrupts, 99);
	assert_int_equal(m.cgroup_throttled_periods, 12);
	near(m.cgroup_throttled_ms, 345.6);
	assert_int_equal(m.conntrack_count, 200);
	assert_int_equal(m.conntrack_max, 262144);
	assert_int_equal(m.window_tcp_retrans_segs, 3);
	assert_int_equal(m.window_tcp_attempt_fails, 4);
	assert_int_equal(m.window_udp_in_errors, 11);
	assert_true(m.window_tcp_forward_retrans == ND_UNKNOWN);
	assert_string_equal(m.window_nic, "eth0");
	assert_int_equal(m.window_nic_rx_packets, 7);
	assert_true(m.nic_rx_packets == ND_UNKNOWN); /* of the whole run */
	assert_int_equal(nd_machine_from(&window, NULL, "eth0", "eth1", &a, &m), 0);
	assert_string_equal(m.nic, "eth0");
	assert_string_equal(m.window_nic, "eth1");
	assert_int_equal(m.window_nic_tx_packets, 80);
	nd_arena_done(&a);
}

/* An interface that is not there any more: its counters are unknown, not 0. */
static void test_no_such_nic(void **state)
{
	struct nd_os_sample run = nothing();
	struct nd_arena a = { 0 };
	struct nd_machine m;

	(void)state;
	assert_int_equal(nd_machine_from(NULL, &run, "eth7", NULL, &a, &m), 0);
	assert_string_equal(m.nic, "eth7");
	assert_true(m.nic_rx_dropped == ND_UNKNOWN);
	assert_true(m.qdisc_drops == ND_UNKNOWN);
	nd_arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_stays),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_window_counts),
		cmocka_unit_test(test_no_such_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
