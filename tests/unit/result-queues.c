/* SPDX-License-Identifier: MIT */
/* Queues, interrupts and limits of a window as rows; when they spoil a result it is said. */
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

#include "result-fixture.h"

#define QUEUES 3u

struct counted {
	struct nd_queue_count queue[2 * QUEUES];
	struct nd_irq_count irq[3];
	struct nd_limit_count limit[3];
	uint64_t by_cpu[6];
	uint32_t cpu[2];
	struct nd_os_detail d;
};

/* Three pairs of queues, two interrupts for both ways of a pair, one of the device. */
static void count(struct counted *c)
{
	const uint64_t rx[QUEUES] = { 600, 300, 0 };
	const char *const irqs[] = { "eth0-mgmnt", "eth0-TxRx-0", "eth0-TxRx-1" };
	const char *const limits[] = { "bw_in_allowance_exceeded", "rx_out_of_buffer",
				       "pps_allowance_exceeded" };
	unsigned i;

	*c = (struct counted){ .by_cpu = { 1, 0, 10, 90, ND_UNKNOWN, ND_UNKNOWN },
			       .cpu = { 0, 7 } };
	for (i = 0; i < QUEUES; i++) {
		c->queue[2 * i] = (struct nd_queue_count){ 2, 1, i, 0, 0, ND_UNKNOWN };
		c->queue[2 * i + 1] = (struct nd_queue_count){ 2, 0, i, rx[i], rx[i] * 100, 4 };
		c->irq[i] = (struct nd_irq_count){ 2, 40 + i, i == 1 ? 100 : ND_UNKNOWN, "" };
		(void)snprintf(c->irq[i].name, sizeof(c->irq[i].name), "%s", irqs[i]);
		c->limit[i] = (struct nd_limit_count){ 2, i == 1 ? 50 : 7 + i, "" };
		(void)snprintf(c->limit[i].name, sizeof(c->limit[i].name), "%s", limits[i]);
	}
	c->d = (struct nd_os_detail){ .at_ns = 1,
				      .queues = 2 * QUEUES,
				      .irqs = 3,
				      .limits = 3,
				      .queue = c->queue,
				      .irq = c->irq,
				      .limit = c->limit,
				      .cpus = 2,
				      .cpu = c->cpu,
				      .irq_cpu = c->by_cpu,
				      .queue_source = "netdev" };
}

static void make(const struct nd_os_detail *d, struct nd_arena *a, struct nd_machine *m)
{
	nd_table_unknown(&nd_machine_table, m);
	assert_int_equal(nd_machine_queues(d, a, m), 0);
}

static void test_rows(void **state)
{
	const struct nd_queue_row *q;
	const struct nd_irq_row *irq;
	struct nd_arena a = { 0 };
	struct nd_machine m;
	struct counted c;

	(void)state;
	count(&c);
	make(&c.d, &a, &m);
	assert_string_equal(m.queue_source, "netdev");
	assert_int_equal(m.queues.n, 2 * QUEUES);
	q = m.queues.v; /* those that receive are first */
	assert_string_equal(q[0].way, "rx");
	assert_string_equal(q[QUEUES].way, "tx");
	assert_int_equal(q[1].packets, 300);
	assert_int_equal(q[1].bytes, 30000);
	assert_int_equal(q[1].drops, 4);
	assert_float_equal(q[1].share_ratio, 1.0 / 3, 1e-9);
	assert_int_equal(q[0].irq, 41);
	assert_int_equal(q[0].interrupts, 100);
	assert_int_equal(q[0].cpu, 7);
	assert_int_equal(q[QUEUES].irq, 41); /* one interrupt for both ways */
	assert_int_equal(q[1].interrupts, ND_UNKNOWN);
	assert_int_equal(q[2].irq, ND_UNKNOWN);
	assert_true(isnan(q[QUEUES].share_ratio)); /* nothing was sent */
	assert_int_equal(m.irqs.n, 3);
	irq = m.irqs.v;
	assert_string_equal(irq[1].name, "eth0-TxRx-0");
	assert_int_equal(irq[1].cpu, 7);
	assert_int_equal(irq[2].cpu, ND_UNKNOWN);
	nd_arena_done(&a);
}

static void test_sums(void **state)
{
	struct nd_arena a = { 0 };
	struct nd_os_detail none = { .at_ns = 1 };
	struct nd_machine m;
	struct counted c;
	unsigned i;

	(void)state;
	count(&c);
	make(&c.d, &a, &m);
	assert_int_equal(m.rx_queues.queues, QUEUES);
	assert_int_equal(m.rx_queues.used, 2);
	assert_int_equal(m.rx_queues.busiest, 0);
	assert_float_equal(m.rx_queues.busiest_ratio, 2.0 / 3, 1e-9);
	assert_float_equal(m.rx_queues.imbalance, 2, 1e-9); /* 600 over a mean of 300 */
	assert_int_equal(m.tx_queues.queues, QUEUES);
	assert_int_equal(m.tx_queues.used, 0);
	assert_int_equal(m.tx_queues.busiest, ND_UNKNOWN);
	assert_true(isnan(m.tx_queues.imbalance));
	assert_int_equal(m.allowance_exceeded, 7 + 9); /* a full ring is no allowance */
	assert_int_equal(m.limits.n, 3);

	for (i = 0; i < 2 * QUEUES; i++) /* a reset: unknown, and no queue of it counts */
		c.queue[i].packets = ND_UNKNOWN;
	c.limit[0].count = c.limit[2].count = ND_UNKNOWN;
	make(&c.d, &a, &m);
	assert_int_equal(m.rx_queues.queues, ND_UNKNOWN);
	assert_true(isnan(m.rx_queues.imbalance));
	assert_int_equal(m.allowance_exceeded, ND_UNKNOWN);
	assert_int_equal(m.queues.n, 2 * QUEUES);

	make(&none, &a, &m);
	assert_null(m.queue_source);
	assert_int_equal(m.queues.n + m.irqs.n + m.limits.n, 0);
	assert_int_equal(m.rx_queues.queues, ND_UNKNOWN);
	assert_int_equal(m.allowance_exceeded, ND_UNKNOWN);
	nd_arena_done(&a);
}

/* ---- warnings */

static void one_queue(struct nd_machine *m)
{
	m->rx_queues =
		(struct nd_queue_sum){ .queues = 8, .used = 2, .busiest = 3, .busiest_ratio = .97 };
	m->window_nic = "eth0";
	m->window_nic_rx_packets = 5000000;
}

static void few_packets(struct nd_machine *m)
{
	one_queue(m);
	m->window_nic_rx_packets = 500;
}

static void even(struct nd_machine *m)
{
	one_queue(m);
	m->rx_queues.busiest_ratio = .14;
}

static void the_only_queue(struct nd_machine *m)
{
	one_queue(m);
	m->rx_queues.queues = 1;
}

static void over_allowance(struct nd_machine *m)
{
	struct nd_limit_row *row = m->limits.v;

	m->allowance_exceeded = row[0].count = 77;
}

static void backlog(struct nd_machine *m)
{
	m->softnet_dropped = 5;
}

static void nothing(struct nd_machine *m)
{
	(void)m;
}

struct said {
	const char *label, *key;
	const struct fix *fix;
	void (*bend)(struct nd_machine *server);
	const char *words; /* NULL: it says nothing */
};

/* clang-format off */
static const struct said said[] = {
	{ "one queue for many flows", "one_queue", &fix_bidir, one_queue,
	  "server: one of 8 receive queues of eth0, number 3, carried 97.0 % of the packets of 64 flows" },
	{ "one queue for one flow", "one_queue", &fix_tcp, one_queue, NULL },
	{ "hardly a packet", "one_queue", &fix_bidir, few_packets, NULL },
	{ "even", "one_queue", &fix_bidir, even, NULL },
	{ "there is no other", "one_queue", &fix_bidir, the_only_queue, NULL },
	{ "allowance", "allowance_exceeded", &fix_tcp, over_allowance, "pps_allowance_exceeded +77" },
	{ "none exceeded", "allowance_exceeded", &fix_tcp, nothing, NULL },
	{ "backlog", "backlog_drops", &fix_tcp, backlog, "server: 5 packets found a CPU's input queue full" },
	{ "no backlog", "backlog_drops", &fix_tcp, nothing, NULL },
};

/* clang-format on */

static const char *sentence_of(const struct nd_result *r, const char *key)
{
	const struct nd_warning *w = r->warnings.v;
	uint64_t i;

	for (i = 0; i < r->warnings.n; i++)
		if (!strcmp(w[i].key, key))
			return w[i].sentence;
	return NULL;
}

static void test_warnings(void **state)
{
	const char *sentence;
	struct nd_result_ask ask;
	struct nd_result r;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(said); i++) {
		print_message("[%s]\n", said[i].label);
		fix_make(said[i].fix, &r);
		fix_ask(said[i].fix, &ask);
		said[i].bend(&r.server->machine);
		assert_int_equal(nd_result_join(&r, &ask, NULL), 0);
		assert_int_equal(nd_result_warn(&r), 0);
		sentence = sentence_of(&r, said[i].key);
		assert_int_equal(sentence != NULL, said[i].words != NULL);
		if (sentence && !strstr(sentence, said[i].words))
			fail_msg("%s", sentence);
		nd_result_done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_warnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
