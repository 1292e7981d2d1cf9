/* SPDX-License-Identifier: MIT */
/* What came between two instants: queues, interrupts by CPU, drivers' limits. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/detail.h"
#include "os/int.h"

static void *copy(const void *from, size_t bytes, bool *failed)
{
	void *p = bytes ? malloc(bytes) : NULL;

	if (p)
		memcpy(p, from, bytes);
	else if (bytes)
		*failed = true;
	return p;
}

static void since_queues(const struct nd_os_detail *then, struct nd_os_detail *d)
{
	const struct nd_queue_count *was;
	uint32_t i, k;

	for (i = 0; i < d->queues; i++) {
		struct nd_queue_count *q = &d->queue[i];

		was = NULL;
		for (k = 0; !was && k < then->queues; k++) /* the same place, nearly always */
			if (then->queue[(i + k) % then->queues].ifindex == q->ifindex &&
			    then->queue[(i + k) % then->queues].is_tx == q->is_tx &&
			    then->queue[(i + k) % then->queues].queue == q->queue)
				was = &then->queue[(i + k) % then->queues];
		if (was && (nd_os_fell_too_far(q->packets, was->packets) ||
			    nd_os_fell_too_far(q->bytes, was->bytes)))
			was = NULL; /* it began anew: none of its counts is to be believed */
		q->packets = was ? nd_os_delta(q->packets, was->packets) : ND_UNKNOWN;
		q->bytes = was ? nd_os_delta(q->bytes, was->bytes) : ND_UNKNOWN;
		q->drops = was ? nd_os_delta(q->drops, was->drops) : ND_UNKNOWN;
	}
}

/* Rows stand where they stood, nearly always: there it is looked first. */
static const struct nd_limit_count *limit_then(const struct nd_os_detail *then,
					       const struct nd_limit_count *row, uint32_t at)
{
	const struct nd_limit_count *was;
	uint32_t k;

	for (k = 0; k < then->limits; k++) {
		was = &then->limit[(at + k) % then->limits];
		if (was->ifindex == row->ifindex && !strcmp(was->name, row->name))
			return was;
	}
	return NULL;
}

static void since_limits(const struct nd_os_detail *then, struct nd_os_detail *d)
{
	const struct nd_limit_count *was;
	uint32_t i;

	for (i = 0; i < d->limits; i++) {
		was = limit_then(then, &d->limit[i], i);
		d->limit[i].count = was ? nd_os_delta(d->limit[i].count, was->count) : ND_UNKNOWN;
	}
}

/* Counts by CPU. NULL: it was not there. */
static const uint64_t *irq_then(const struct nd_os_detail *then, const struct nd_irq_count *row,
				uint32_t at)
{
	uint32_t k, place;

	for (k = 0; k < then->irqs; k++) {
		place = (at + k) % then->irqs;
		if (then->irq[place].number == row->number &&
		    !strcmp(then->irq[place].name, row->name))
			return then->irq_cpu + (size_t)place * then->cpus;
	}
	return NULL;
}

/* CPUs that came or went change the columns: that interval is not told. */
static void since_irqs(const struct nd_os_detail *then, struct nd_os_detail *d)
{
	bool same = then->cpus == d->cpus &&
		    (!d->cpus || !memcmp(then->cpu, d->cpu, d->cpus * sizeof(*d->cpu)));
	const uint64_t *was;
	uint64_t *counts, sum, v;
	uint32_t i, c;

	for (i = 0; i < d->irqs; i++) {
		counts = d->irq_cpu + (size_t)i * d->cpus;
		was = same ? irq_then(then, &d->irq[i], i) : NULL;
		sum = 0;
		for (c = 0; c < d->cpus; c++) {
			v = was ? nd_os_delta(counts[c], was[c]) : ND_UNKNOWN;
			counts[c] = v;
			sum = sum == ND_UNKNOWN || v == ND_UNKNOWN ? ND_UNKNOWN : sum + v;
		}
		d->irq[i].count = sum;
	}
}

int nd_os_detail_since(const struct nd_os_detail *now, const struct nd_os_detail *then,
		       struct nd_os_detail *ret)
{
	struct nd_os_detail d = *now;
	bool failed = false;

	d.at_ns = now->at_ns >= then->at_ns ? now->at_ns - then->at_ns : ND_UNKNOWN;
	d.queue = copy(now->queue, now->queues * sizeof(*d.queue), &failed);
	d.irq = copy(now->irq, now->irqs * sizeof(*d.irq), &failed);
	d.limit = copy(now->limit, now->limits * sizeof(*d.limit), &failed);
	d.cpu = copy(now->cpu, now->cpus * sizeof(*d.cpu), &failed);
	d.irq_cpu = copy(now->irq_cpu, (size_t)now->irqs * now->cpus * sizeof(*d.irq_cpu), &failed);
	if (failed) {
		nd_os_detail_done(&d);
		return -ENOMEM;
	}
	since_queues(then, &d);
	since_limits(then, &d);
	since_irqs(then, &d);
	*ret = d;
	return 0;
}

uint64_t nd_os_detail_busiest(const struct nd_os_detail *d, uint32_t irq)
{
	uint64_t most = 0, cpu = ND_UNKNOWN, v;
	uint32_t c;

	for (c = 0; irq < d->irqs && c < d->cpus; c++) {
		v = d->irq_cpu[(size_t)irq * d->cpus + c];
		if (v != ND_UNKNOWN && v > most) {
			most = v;
			cpu = d->cpu[c];
		}
	}
	return cpu;
}
