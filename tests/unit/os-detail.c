/* SPDX-License-Identifier: MIT */
/* Queues, interrupts and limits of machines that do not exist: names, counts, differences. */
#include <errno.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "os-tree.h"
#include "os/detail.h"
#include "os/int.h"

struct counter_name {
	const char *name;
	bool is_one, is_tx;
	uint64_t queue;
	char what;
};

/* clang-format off */
static const struct counter_name counter_names[] = {
	{ "rx_queue_0_packets",   true,  false, 0,  'p' },
	{ "tx_queue_12_bytes",    true,  true,  12, 'b' },
	{ "rx0_packets",          true,  false, 0,  'p' },
	{ "tx7_bytes",            true,  true,  7,  'b' },
	{ "queue_3_rx_cnt",       true,  false, 3,  'p' },
	{ "queue_63_tx_bytes",    true,  true,  63, 'b' },
	{ "rx-0.packets",         true,  false, 0,  'p' },
	{ "tx-5.bytes",           true,  true,  5,  'b' },
	{ "rx_queue_1_drops",     true,  false, 1,  'd' },
	{ "rx_2_packets",         true,  false, 2,  'p' },
	{ "rx_bytes[3]",          true,  false, 3,  'b' },
	{ "rx_packets",           false, false, 0,  0 },
	{ "rx_queue_0_xdp_packets", false, false, 0, 0 },
	{ "rx0_xdp_drop",         false, false, 0,  0 },
	{ "queue_0_rx_tx_cnt",    false, false, 0,  0 },
	{ "rx_queue_0_1_packets", false, false, 0,  0 },
	{ "rx_queue_99999_packets", false, false, 0, 0 },
	{ "rx_queue_18446744073709551616_packets", false, false, 0, 0 },
	{ "rx0_packets\x1b",      false, false, 0,  0 },
	{ "packets_bytes_rx_0",   false, false, 0,  0 },
	{ "",                     false, false, 0,  0 },
};

struct irq_name {
	const char *name;
	enum nd_irq_kind kind;
	uint64_t queue;
};

static const struct irq_name irq_names[] = {
	{ "virtio2-config",                ND_IRQ_CONTROL, ND_UNKNOWN },
	{ "virtio2-input.0",               ND_IRQ_RX,      0 },
	{ "virtio2-output.13",             ND_IRQ_TX,      13 },
	{ "virtio4-input",                 ND_IRQ_RX,      0 },
	{ "eth0-TxRx-3",                   ND_IRQ_BOTH,    3 },
	{ "i40e-eth0-TxRx-10",             ND_IRQ_BOTH,    10 },
	{ "eth0-Tx-Rx-63",                 ND_IRQ_BOTH,    63 },
	{ "ena-mgmnt@pci:0000:00:05.0",    ND_IRQ_CONTROL, ND_UNKNOWN },
	{ "mlx5_comp3@pci:0000:3b:00.0",   ND_IRQ_BOTH,    3 },
	{ "mlx5_async0@pci:0000:3b:00.0",  ND_IRQ_CONTROL, ND_UNKNOWN },
	{ "gve-ntfy-blk7@pci:0000:00:04.0", ND_IRQ_BOTH,   7 },
	{ "gve-mgmnt@pci:0000:00:04.0",    ND_IRQ_CONTROL, ND_UNKNOWN },
	{ "mana_q2@pci:7870:00:00.0",      ND_IRQ_BOTH,    2 },
	{ "eth0-rxtx-1",                   ND_IRQ_BOTH,    1 },
	{ "eth0-rx-2",                     ND_IRQ_RX,      2 },
	{ "eth0",                          ND_IRQ_BOTH,    0 },
	{ "something",                     ND_IRQ_CONTROL, ND_UNKNOWN },
};

/* clang-format on */

static void test_counter_names(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(counter_names); i++) {
		const struct counter_name *c = &counter_names[i];
		uint64_t queue = 0;
		bool is_tx = false;
		char what = 0;

		print_message("[%s]\n", c->name);
		assert_int_equal(nd_os_queue_counter(c->name, &is_tx, &queue, &what), c->is_one);
		assert_int_equal(is_tx, c->is_tx);
		assert_int_equal(queue, c->queue);
		assert_int_equal(what, c->what);
	}
}

static void test_irq_names(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(irq_names); i++) {
		uint64_t queue = 1;

		print_message("[%s]\n", irq_names[i].name);
		assert_int_equal(nd_os_irq_kind(irq_names[i].name, &queue), irq_names[i].kind);
		assert_int_equal(queue, irq_names[i].queue);
	}
}

static struct nd_os *open_tree(void)
{
	struct nd_os *os = NULL;
	struct nd_err err;

	assert_int_equal(nd_os_open(tree_root, &os, &err), 0);
	return os;
}

static void check_irqs(const struct tree_machine *m)
{
	struct nd_arena a = { 0 };
	struct nd_list list = { 0 };
	const struct nd_irq *irq;
	struct nd_os *os;
	unsigned each = m->name_tx ? 2 : 1, i;

	tree_make(m);
	os = open_tree();
	assert_int_equal(nd_os_nic_irqs(os, m->nic, &a, &list), 0);
	assert_int_equal(list.n, m->queues * each + 1);
	irq = list.v;
	for (i = 0; i < m->queues * each; i++) {
		assert_int_equal(irq[i].queue, i / each);
		assert_int_equal(irq[i].number, m->first_irq + 1 + i);
		assert_int_equal(irq[i].count, (each == 2 && i % 2 ? 200 : 100) + i / each);
		assert_non_null(irq[i].allowed);
		assert_string_equal(irq[i].effective, "0");
		assert_int_equal(irq[i].node, 0);
	}
	assert_int_equal(irq[i].kind, ND_IRQ_CONTROL);
	assert_string_equal(irq[i].name, m->control);
	nd_arena_done(&a);
	nd_os_free(os);
	tree_end();
}

static void test_irqs(void **state)
{
	const struct tree_machine machines[] = { TREE_ENA, TREE_MLX5, TREE_VIRTIO };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(machines); i++)
		check_irqs(&machines[i]);
}

/* Nothing but /proc: names tell which interrupts are its own, and only where they can. */
static void test_no_sysfs(void **state)
{
	struct nd_list list = { 0 };
	struct nd_arena a = { 0 };
	struct nd_os *os;

	(void)state;
	tree_begin();
	tree_put("proc/interrupts", "     CPU0 CPU1\n"
				    " 25: 10 20 PCI-MSIX 0-edge eth0-TxRx-0\n"
				    " 26: 1 2 PCI-MSIX 1-edge eth01-TxRx-0\n"
				    " 27: 1 2 PCI-MSIX 1-edge myeth0-TxRx-0\n"
				    " 28: 3 4 PCI-MSIX 1-edge i40e-eth0-TxRx-1\n");
	os = open_tree();
	assert_int_equal(nd_os_nic_irqs(os, "eth0", &a, &list), 0);
	assert_int_equal(list.n, 2);
	assert_int_equal(((const struct nd_irq *)list.v)[0].number, 25);
	assert_int_equal(((const struct nd_irq *)list.v)[0].count, 30);
	assert_null(((const struct nd_irq *)list.v)[0].allowed);
	assert_int_equal(((const struct nd_irq *)list.v)[1].number, 28);
	assert_int_equal(nd_os_nic_irqs(os, "../../etc", &a, &list), 0);
	assert_int_equal(list.n, 0);
	assert_int_equal(nd_os_cpu_places(os, &a, &list), 0);
	assert_int_equal(list.n, 0);
	nd_arena_done(&a);
	nd_os_free(os);
	tree_end();
}

static void test_places(void **state)
{
	const struct tree_machine m = TREE_ENA;
	struct nd_list list = { 0 };
	const struct nd_cpu_place *p;
	struct nd_arena a = { 0 };
	struct nd_os *os;

	(void)state;
	tree_make(&m);
	tree_put("sys/devices/system/cpu/isolated", "3,127\n");
	os = open_tree();
	assert_int_equal(nd_os_cpu_places(os, &a, &list), 0);
	assert_int_equal(list.n, 128);
	p = list.v;
	assert_int_equal(p[0].node, 0);
	assert_int_equal(p[31].node, 0);
	assert_int_equal(p[32].node, 1);
	assert_int_equal(p[96].node, 1);
	assert_int_equal(p[96].core, 32);
	assert_int_equal(p[32].core, 32);
	assert_true(p[3].isolated && p[127].isolated && !p[4].isolated);
	nd_arena_done(&a);
	nd_os_free(os);
	tree_end();
}

/* ---- details */

static void put_counters(unsigned long long packets, unsigned long long limit)
{
	nd_auto_str text = { 0 };
	unsigned i;

	nd_str_add(&text, "NIC statistics:\n");
	for (i = 0; i < 64; i++)
		nd_str_addf(&text,
			    "     queue_%u_rx_cnt: %llu\n     queue_%u_rx_bytes: %llu\n"
			    "     queue_%u_tx_cnt: %u\n     queue_%u_tx_doorbells: 5\n",
			    i, packets + i, i, packets * 100, i, i, i);
	nd_str_addf(&text, "     pps_allowance_exceeded: %llu\n     bw_in_allowance_exceeded: 0\n",
		    limit);
	tree_put("ethtool-S/eth0", nd_str_text(&text));
}

static void take(struct nd_os *os, struct nd_os_sample *s, struct nd_os_detail *d)
{
	assert_int_equal(nd_os_sample(os, s), 0);
	assert_int_equal(nd_os_detail(os, s, NULL, NULL, d), 0);
}

static void test_detail(void **state)
{
	const struct tree_machine m = TREE_ENA;
	struct nd_os_detail then, now, diff;
	struct nd_os_sample s;
	nd_auto_str line = { 0 };
	struct nd_os *os;
	uint32_t i;

	(void)state;
	tree_make(&m);
	put_counters(1000, 5);
	os = open_tree();
	take(os, &s, &then);
	nd_os_sample_done(&s);
	assert_int_equal(then.queues, 128);
	assert_string_equal(then.queue_source, "ethtool");
	assert_int_equal(then.irqs, 65);
	assert_int_equal(then.cpus, 128);
	assert_int_equal(then.limits, 2);
	nd_os_free(os); /* files are kept open: a new tree wants a new reader */

	put_counters(1500, 12);
	nd_str_add(&line, "    ");
	for (i = 0; i < m.cpus; i++)
		nd_str_addf(&line, " CPU%u", i);
	nd_str_add(&line, "\n 41:");
	for (i = 0; i < m.cpus; i++)
		nd_str_addf(&line, " %u", i == 0 ? 103u : i == 9 ? 50u : 0u);
	nd_str_add(&line, " PCI-MSIX 1-edge eth0-Tx-Rx-0\n");
	tree_put("proc/interrupts", nd_str_text(&line));
	os = open_tree();
	take(os, &s, &now);
	nd_os_sample_done(&s);
	assert_int_equal(nd_os_detail_since(&now, &then, &diff), 0);
	for (i = 0; i < diff.queues; i++) {
		assert_int_equal(diff.queue[i].ifindex, 7);
		assert_int_equal(diff.queue[i].packets, diff.queue[i].is_tx ? 0 : 500);
		if (!diff.queue[i].is_tx)
			assert_int_equal(diff.queue[i].bytes, 50000);
	}
	assert_int_equal(diff.limit[0].count, 7);
	assert_int_equal(diff.limit[1].count, 0);
	assert_int_equal(diff.irqs, 1);
	assert_int_equal(diff.irq[0].count, 53);
	assert_int_equal(nd_os_detail_busiest(&diff, 0), 9);
	assert_int_equal(nd_os_detail_busiest(&diff, 1), ND_UNKNOWN);
	nd_os_detail_done(&diff);

	/* The other way round is a reset: nothing is known, instead of something absurd. */
	assert_int_equal(nd_os_detail_since(&then, &now, &diff), 0);
	assert_int_equal(diff.queue[0].packets, ND_UNKNOWN);
	assert_int_equal(diff.limit[0].count, ND_UNKNOWN);
	nd_os_detail_done(&diff);
	nd_os_detail_done(&then);
	nd_os_detail_done(&now);
	nd_os_free(os);
	tree_end();
}

static bool only_lo(void *user, const char *name)
{
	(void)user;
	return !strcmp(name, "lo");
}

/* Nothing to read at all, unwanted interfaces, and this machine. */
static void test_detail_of_nothing(void **state)
{
	struct nd_os_detail d, again;
	struct nd_os_sample s;
	struct nd_os *os;

	(void)state;
	tree_begin();
	os = open_tree();
	take(os, &s, &d);
	assert_int_equal(d.queues + d.irqs + d.limits, 0);
	assert_int_equal(nd_os_detail_since(&d, &d, &again), 0);
	nd_os_detail_done(&again);
	nd_os_detail_done(&d);
	nd_os_sample_done(&s);
	nd_os_free(os);
	tree_end();

	assert_int_equal(nd_os_open("", &os, NULL), 0);
	assert_int_equal(nd_os_sample(os, &s), 0);
	assert_int_equal(nd_os_detail(os, &s, only_lo, NULL, &d), 0);
	assert_int_equal(d.irqs, 0);
	nd_os_detail_done(&d);
	assert_int_equal(nd_os_detail(os, &s, NULL, NULL, &d), 0);
	nd_os_detail_done(&d);
	nd_os_sample_done(&s);
	nd_os_free(os);
}

static void test_limits(void **state)
{
	const struct tree_machine m = TREE_VIRTIO;
	struct nd_nic_limits l;
	struct nd_firewall f;
	char nic[16] = "";
	struct nd_os *os;

	(void)state;
	tree_make(&m);
	tree_put("sys/class/net/eth0/queues/rx-1/rps_cpus", "00000000,000000f0\n");
	tree_put("proc/net/route", "Iface Destination Gateway Flags\n"
				   "docker0 000011AC 00000000 0001\n"
				   "eth9 00000000 0102A8C0 0003\n");
	tree_put("proc/4711/comm", "irqbalance\n");
	os = open_tree();
	assert_int_equal(nd_os_nic_limits(os, "eth0", &l), 0);
	assert_int_equal(l.rps_queues, 1);
	assert_int_equal(l.xps_queues, 0);
	assert_int_equal(l.rx_ring_max, ND_UNKNOWN);
	assert_int_equal(nd_os_nic_limits(os, "a/b", &l), -ENODEV);
	assert_true(nd_os_default_nic(os, nic, sizeof(nic)));
	assert_string_equal(nic, "eth9");
	assert_true(nd_os_runs(os, "irqbalance"));
	assert_false(nd_os_runs(os, "irqbal"));
	nd_os_firewall(os, &(struct nd_firewall_ask){ 0 }, &f);
	assert_false(f.known || f.has_old_tables);
	assert_int_equal(nd_os_poke(os, "5", "proc/irq/%d/smp_affinity_list", 38), 0);
	assert_int_equal(nd_os_poke(os, "5", "proc/irq/999/smp_affinity_list"), -ENOENT);
	nd_os_free(os);
	tree_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counter_names), cmocka_unit_test(test_irq_names),
		cmocka_unit_test(test_irqs),          cmocka_unit_test(test_no_sysfs),
		cmocka_unit_test(test_places),        cmocka_unit_test(test_detail),
		cmocka_unit_test(test_limits),        cmocka_unit_test(test_detail_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
