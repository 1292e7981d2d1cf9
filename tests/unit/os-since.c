/* SPDX-License-Identifier: MIT */
/* Differences of samples: wraps undone, resets unknown, CPUs and interfaces matched. */
#include <stdio.h>
#include <stdlib.h>
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
#define TICK_NS 10000000ull
#define UNKNOWN ND_UNKNOWN
#define TWO_32  (1ull << 32)

struct delta_case {
	uint64_t now, then, delta;
};

struct pair_figure {
	const char *now, *then, *name;
	size_t offset;
	uint64_t value;
};

#define PAIR(now, then, member, value)                                           \
	{                                                                        \
		now, then, #member, offsetof(struct nd_os_sample, member), value \
	}

/* clang-format off */
static const struct delta_case deltas[] = {
	{ 5, 3, 2 },
	{ 3, 3, 0 },
	{ 0, 0, 0 },
	{ UNKNOWN, 3, UNKNOWN },
	{ 3, UNKNOWN, UNKNOWN },
	{ UNKNOWN, UNKNOWN, UNKNOWN },
	{ 0, TWO_32 - 1, 1 },
	{ 99, TWO_32 - 1, 100 },
	{ 3, 5, UNKNOWN },                           /* would be nearly 2^32 ahead */
	{ 0, TWO_32 / 2 + 1, TWO_32 / 2 - 1 },       /* the longest way that is a wrap */
	{ 0, TWO_32 / 2, UNKNOWN },
	{ 5, TWO_32, UNKNOWN },                      /* not a 32-bit count */
	{ TWO_32, TWO_32 + 1, UNKNOWN },
	{ TWO_32 + 5, TWO_32 - 1, 6 },
	{ UNKNOWN - 1, 0, UNKNOWN - 1 },
};

static const struct pair_figure pairs[] = {
	PAIR("two-cpus-later", "two-cpus", all.user_ns, 50 * TICK_NS),
	PAIR("two-cpus-later", "two-cpus", all.idle_ns, 140 * TICK_NS),
	PAIR("two-cpus-later", "two-cpus", all.iowait_ns, 0),  /* fell while the rest went on */
	PAIR("two-cpus-later", "two-cpus", all.steal_ns, 2 * TICK_NS),
	PAIR("two-cpus-later", "two-cpus", interrupts, 100),
	PAIR("two-cpus-later", "two-cpus", context_switches, 500),
	PAIR("two-cpus-later", "two-cpus", softirqs.net_rx, 501),
	PAIR("two-cpus-later", "two-cpus", softirqs.net_tx, 1),
	PAIR("two-cpus-later", "two-cpus", softirqs.other, 2),
	PAIR("two-cpus-later", "two-cpus", softnet.processed, 0x40),
	PAIR("two-cpus-later", "two-cpus", softnet.dropped, 1),
	PAIR("two-cpus-later", "two-cpus", softnet.time_squeeze, 3),
	PAIR("two-cpus-later", "two-cpus", snmp.tcp_in_segs, 500),
	PAIR("two-cpus-later", "two-cpus", snmp.udp_rcvbuf_errors, 3),
	PAIR("two-cpus-later", "two-cpus", snmp.udp6_out_datagrams, 2),
	PAIR("two-cpus-later", "two-cpus", snmp.tcp_backlog_drop, 1),
	PAIR("two-cpus-later", "two-cpus", self.rss_bytes, 2500 * 1024), /* levels are now's */
	PAIR("two-cpus-later", "two-cpus", self.peak_rss_bytes, 3000 * 1024),
	PAIR("two-cpus-later", "two-cpus", conntrack_count, 12),
	PAIR("two-cpus-later", "two-cpus", unassembled, 8),
	PAIR("two-cpus", "two-cpus-later", unassembled, 0),
	PAIR("two-cpus-later", "two-cpus", conntrack_max, 65536),
	PAIR("two-cpus-later", "two-cpus", cgroup.throttled_periods, 5),
	PAIR("two-cpus-later", "two-cpus", cgroup.throttled_ns, 2500000),
	PAIR("two-cpus", "two-cpus-later", cgroup.throttled_periods, UNKNOWN),
	PAIR("two-cpus", "bare", cgroup.throttled_ns, UNKNOWN),
	PAIR("two-cpus", "bare", snmp.tcp_in_segs, UNKNOWN),
	PAIR("bare", "two-cpus", snmp.tcp_in_segs, UNKNOWN),
	PAIR("bare", "two-cpus", softnet.processed, UNKNOWN),
	PAIR("wrap-later", "wrap", interrupts, 100),
	PAIR("wrap-later", "wrap", context_switches, 100),
	PAIR("wrap-later", "wrap", softirqs.net_rx, 22),       /* the sum of both CPUs' wraps */
	PAIR("wrap-later", "wrap", softirqs.timer, 2000),
	PAIR("wrap-later", "wrap", softnet.processed, 35),
	PAIR("wrap-later", "wrap", softnet.dropped, 1),
	PAIR("wrap-later", "wrap", snmp.tcp_in_segs, 1000),
	PAIR("wrap-later", "wrap", snmp.tcp_out_segs, TWO_32),
	PAIR("wrap-later", "wrap", all.user_ns, 10 * TICK_NS),
	PAIR("wrap-later", "wrap", all.iowait_ns, 0),
	PAIR("reset", "two-cpus", all.user_ns, UNKNOWN),
	PAIR("reset", "two-cpus", all.idle_ns, UNKNOWN),
	PAIR("reset", "two-cpus", all.iowait_ns, UNKNOWN),
	PAIR("reset", "two-cpus", interrupts, UNKNOWN),
	PAIR("reset", "two-cpus", context_switches, UNKNOWN),
	PAIR("reset", "two-cpus", softirqs.net_rx, UNKNOWN),
	PAIR("reset", "two-cpus", softnet.processed, UNKNOWN),
	PAIR("reset", "two-cpus", snmp.tcp_in_segs, UNKNOWN),
	PAIR("reset", "two-cpus", snmp.udp_in_datagrams, UNKNOWN),
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

static void since(const char *now_tree, const char *then_tree, struct nd_os_sample *ret)
{
	struct nd_os_sample now, then;

	sample(then_tree, &then);
	sample(now_tree, &now);
	assert_int_equal(nd_os_since(&now, &then, ret), 0);
	assert_int_equal(ret->at_ns, now.at_ns - then.at_ns);
	nd_os_sample_done(&now);
	nd_os_sample_done(&then);
}

struct nic_case {
	const char *label;
	struct nd_nic then, now;
	uint64_t rx_packets, rx_bytes, tx_bytes;
};

#define NIC(rp, rb, tp, tb)                                                      \
	{                                                                        \
		.ifindex = 3, .name = "n", .rx_packets = (rp), .rx_bytes = (rb), \
		.tx_packets = (tp), .tx_bytes = (tb)                             \
	}

/* clang-format off */
static const struct nic_case nics[] = {
	{ "it goes on", NIC(10, 1000, 5, 500), NIC(30, 3000, 6, 600), 20, 2000, 100 },
	{ "32 bits of bytes wrap", NIC(10, TWO_32 - 100, 5, 500), NIC(30, 1900, 6, 600), 20, 2000, 100 },
	{ "of both ways", NIC(10, TWO_32 - 100, 5, TWO_32 - 1), NIC(30, 1900, 6, 99), 20, 2000, 100 },
	{ "of packets alone", NIC(TWO_32 - 5, 7ull << 40, 5, 500), NIC(15, (7ull << 40) + 2000, 6, 600), 20, 2000, 100 },
	{ "bytes below 2^32 begin anew: no wrap", NIC(3000000, 4200000000, 5, 500), NIC(1, 60, 0, 0), UNKNOWN, UNKNOWN,
	  UNKNOWN },
	{ "one way has gone further since", NIC(3000000, 4200000000, 5, 500), NIC(1, 60, 900, 90000),
	  UNKNOWN, UNKNOWN, UNKNOWN },
	{ "sent more since, with fewer bytes", NIC(0, 0, 5, 5000), NIC(0, 0, 20, 1200), UNKNOWN, UNKNOWN, UNKNOWN },
	{ "64 bits fell", NIC(1ull << 40, 1ull << 50, 5, 500), NIC(0, 0, 5, 500), UNKNOWN, UNKNOWN, UNKNOWN },
	{ "idle", NIC(10, 1000, 5, 500), NIC(10, 1000, 5, 500), 0, 0, 0 },
};

/* clang-format on */

static void interfaces_that_begin_anew(void **state)
{
	struct nd_os_sample then, now, d;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(nics); i++) {
		struct nd_nic before = nics[i].then, after = nics[i].now;

		print_message("[%s]\n", nics[i].label);
		nd_os_sample_init(&then);
		nd_os_sample_init(&now);
		then.nics = now.nics = 1;
		then.nic = &before;
		now.nic = &after;
		assert_int_equal(nd_os_since(&now, &then, &d), 0);
		assert_int_equal(d.nic[0].rx_packets, nics[i].rx_packets);
		assert_int_equal(d.nic[0].rx_bytes, nics[i].rx_bytes);
		assert_int_equal(d.nic[0].tx_bytes, nics[i].tx_bytes);
		nd_os_sample_done(&d);
	}
}

static void tells_wraps_from_resets(void **state)
{
	uint64_t d;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(deltas); i++) {
		d = nd_os_delta(deltas[i].now, deltas[i].then);
		if (d != deltas[i].delta)
			fail_msg("row %zu: %llu", i, (unsigned long long)d);
	}
}

static void subtracts_every_figure(void **state)
{
	const struct pair_figure *p = pairs;
	struct nd_os_sample d;
	uint64_t v;

	(void)state;
	for (; p < pairs + ND_COUNTOF(pairs); p++) {
		since(p->now, p->then, &d);
		memcpy(&v, (char *)&d + p->offset, sizeof(v));
		if (v != p->value)
			fail_msg("%s - %s: %s is %llu, not %llu", p->now, p->then, p->name,
				 (unsigned long long)v, (unsigned long long)p->value);
		nd_os_sample_done(&d);
	}
}

static void matches_cpus(void **state)
{
	struct nd_os_sample d;

	(void)state;
	since("two-cpus-later", "two-cpus", &d);
	assert_int_equal(d.cpus, 2);
	assert_int_equal(d.cpu[0].user_ns, 50 * TICK_NS);
	assert_int_equal(d.cpu[0].iowait_ns, 0);
	assert_int_equal(d.cpu[1].idle_ns, 100 * TICK_NS);
	assert_int_equal(d.cpu_net_rx[0], 500);
	assert_int_equal(d.cpu_net_rx[1], 1);
	assert_int_equal(d.cpu_softnet[1].time_squeeze, 3);
	nd_os_sample_done(&d);
	since("reset", "two-cpus", &d); /* one CPU fewer, the other began anew */
	assert_int_equal(d.cpus, 2);
	assert_int_equal(d.cpu[0].idle_ns, UNKNOWN);
	assert_int_equal(d.cpu[1].user_ns, UNKNOWN);
	assert_int_equal(d.cpu_net_rx[1], UNKNOWN);
	nd_os_sample_done(&d);
	since("many-cpus", "two-cpus", &d);
	assert_int_equal(d.cpus, 64);
	assert_int_equal(d.cpu[2].user_ns, UNKNOWN);
	nd_os_sample_done(&d);
}

static void matches_interfaces(void **state)
{
	const struct nd_nic *n;
	struct nd_os_sample d;

	(void)state;
	since("two-cpus-later", "two-cpus", &d);
	assert_int_equal(d.nics, 3);
	n = nd_os_nic(&d, "eth0");
	assert_non_null(n);
	assert_int_equal(n->ifindex, 2);
	assert_int_equal(n->rx_packets, 10);
	assert_int_equal(n->tx_bytes, 20000);
	assert_int_equal(n->rx_dropped, 1);
	assert_int_equal(n->rx_missed, UNKNOWN);
	n = nd_os_nic(&d, "tap3"); /* new */
	assert_non_null(n);
	assert_int_equal(n->rx_packets, UNKNOWN);
	nd_os_sample_done(&d);
	since("wrap-later", "wrap", &d);
	n = nd_os_nic(&d, "eth0");
	assert_non_null(n);
	assert_int_equal(n->rx_packets, 20);
	assert_int_equal(n->rx_bytes, 2000);
	assert_int_equal(n->tx_bytes, TWO_32);
	assert_int_equal(n->tx_packets, 5);
	n = nd_os_nic(&d, "gone0");
	assert_non_null(n);
	assert_int_equal(n->ifindex, 3);
	assert_int_equal(n->tx_packets, UNKNOWN);
	nd_os_sample_done(&d);
}

/* The kernel gives a number again once its interface is gone; a name may come back under another. */
static void goes_by_index(void **state)
{
	struct nd_nic before[] = { { .ifindex = 4, .name = "a", .rx_packets = 10 },
				   { .ifindex = 5, .name = "b", .rx_packets = 20 } };
	struct nd_nic after[] = { { .ifindex = 5, .name = "renamed", .rx_packets = 27 },
				  { .ifindex = 6, .name = "a", .rx_packets = 3 } };
	struct nd_os_sample now = { .nic = after, .nics = 2 }, then = { .nic = before, .nics = 2 };
	struct nd_os_sample d;

	(void)state;
	after[0].qdisc_backlog_packets = 9;
	assert_int_equal(nd_os_since(&now, &then, &d), 0);
	assert_int_equal(d.nics, 3);
	assert_int_equal(nd_os_nic(&d, "renamed")->rx_packets, 7);
	assert_int_equal(nd_os_nic(&d, "renamed")->qdisc_backlog_packets, 9);
	assert_int_equal(nd_os_nic(&d, "a")->ifindex, 6);
	assert_int_equal(nd_os_nic(&d, "a")->rx_packets, UNKNOWN);
	nd_os_sample_done(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(interfaces_that_begin_anew),
		cmocka_unit_test(tells_wraps_from_resets),
		cmocka_unit_test(subtracts_every_figure),
		cmocka_unit_test(matches_cpus),
		cmocka_unit_test(matches_interfaces),
		cmocka_unit_test(goes_by_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
