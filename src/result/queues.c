/* SPDX-License-Identifier: MIT */
/* What queues, interrupts and a driver's limits counted in the window, and how even it was. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "result/int.h"

#define ALLOWANCE "_allowance_exceeded"

static void sum_up(const struct nd_os_detail *d, bool is_tx, struct nd_queue_sum *ret,
		   uint64_t *ret_packets)
{
	struct nd_queue_sum s = { .imbalance = (double)NAN,
				  .busiest = ND_UNKNOWN,
				  .busiest_ratio = (double)NAN };
	uint64_t all = 0, most = 0;
	uint32_t i;

	for (i = 0; i < d->queues; i++) {
		const struct nd_queue_count *q = &d->queue[i];

		if (q->is_tx != is_tx || !nd_known(q->packets))
			continue;
		s.queues++;
		s.used += q->packets > 0;
		all = nd_plus(all, q->packets);
		if (q->packets > most) {
			most = q->packets;
			s.busiest = q->queue;
		}
	}
	*ret_packets = all;
	if (!s.queues)
		return;
	if (all) {
		s.busiest_ratio = (double)most / (double)all;
		s.imbalance = s.busiest_ratio * (double)s.queues;
	}
	*ret = s;
}

/* The interrupt that serves a queue by its name: one for both ways, or one of each. */
static void find_irq(const struct nd_os_detail *d, bool is_tx, struct nd_queue_row *q)
{
	enum nd_irq_kind kind;
	uint64_t queue;
	uint32_t i;

	for (i = 0; i < d->irqs; i++) {
		kind = nd_os_irq_kind(d->irq[i].name, &queue);
		if (queue != q->queue ||
		    (kind != ND_IRQ_BOTH && kind != (is_tx ? ND_IRQ_TX : ND_IRQ_RX)))
			continue;
		q->irq = d->irq[i].number;
		q->interrupts = d->irq[i].count;
		q->cpu = nd_os_detail_busiest(d, i);
		return;
	}
}

static int queue_rows(const struct nd_os_detail *d, struct nd_arena *a, struct nd_machine *m)
{
	struct nd_queue_row *row;
	uint64_t all[2], n = 0;
	uint32_t i, tx;

	sum_up(d, false, &m->rx_queues, &all[0]);
	sum_up(d, true, &m->tx_queues, &all[1]);
	if (nd_list_new(a, &m->queues, d->queues, sizeof(*row)) < 0)
		return -ENOMEM;
	row = m->queues.v;
	for (tx = 0; tx < ND_COUNTOF(all); tx++) {
		for (i = 0; i < d->queues; i++) {
			const struct nd_queue_count *q = &d->queue[i];

			if (q->is_tx != tx)
				continue;
			row[n] = (struct nd_queue_row){ .way = tx ? "tx" : "rx",
							.queue = q->queue,
							.packets = q->packets,
							.bytes = q->bytes,
							.drops = q->drops,
							.share_ratio = (double)NAN,
							.irq = ND_UNKNOWN,
							.interrupts = ND_UNKNOWN,
							.cpu = ND_UNKNOWN };
			if (all[tx] && nd_known(q->packets))
				row[n].share_ratio = (double)q->packets / (double)all[tx];
			find_irq(d, tx, &row[n++]);
		}
	}
	m->queues.n = n;
	return 0;
}

static int irq_rows(const struct nd_os_detail *d, struct nd_arena *a, struct nd_machine *m)
{
	struct nd_irq_row *row;
	uint32_t i;

	if (nd_list_new(a, &m->irqs, d->irqs, sizeof(*row)) < 0)
		return -ENOMEM;
	row = m->irqs.v;
	for (i = 0; i < d->irqs; i++) {
		row[i] = (struct nd_irq_row){ .number = d->irq[i].number,
					      .name = nd_arena_dup(a, d->irq[i].name),
					      .interrupts = d->irq[i].count,
					      .cpu = nd_os_detail_busiest(d, i) };
		if (!row[i].name)
			return -ENOMEM;
	}
	return 0;
}

static bool is_allowance(const char *name)
{
	size_t n = strlen(name), end = strlen(ALLOWANCE);

	return n >= end && !strcmp(name + n - end, ALLOWANCE);
}

static int limit_rows(const struct nd_os_detail *d, struct nd_arena *a, struct nd_machine *m)
{
	struct nd_limit_row *row;
	uint32_t i;

	if (nd_list_new(a, &m->limits, d->limits, sizeof(*row)) < 0)
		return -ENOMEM;
	row = m->limits.v;
	for (i = 0; i < d->limits; i++) {
		row[i] = (struct nd_limit_row){ .name = nd_arena_dup(a, d->limit[i].name),
						.count = d->limit[i].count };
		if (!row[i].name)
			return -ENOMEM;
		if (!is_allowance(row[i].name) || !nd_known(row[i].count))
			continue;
		m->allowance_exceeded = nd_known(m->allowance_exceeded)
						? nd_plus(m->allowance_exceeded, row[i].count)
						: row[i].count;
	}
	return 0;
}

int nd_machine_queues(const struct nd_os_detail *d, struct nd_arena *a, struct nd_machine *m)
{
	int r = queue_rows(d, a, m);

	if (r == 0)
		r = irq_rows(d, a, m);
	if (r == 0)
		r = limit_rows(d, a, m);
	if (r == 0 && d->queues && d->queue_source)
		m->queue_source = d->queue_source; /* a literal */
	return r;
}
