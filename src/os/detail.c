/* SPDX-License-Identifier: MIT */
/* Queues, interrupts by CPU and drivers' limits of several interfaces at one instant. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/num.h"
#include "base/time.h"
#include "os/detail.h"
#include "os/int.h"

#define ROWS_MAX  65536u
#define LINES_MAX 4096u

struct taking {
	struct nd_os *os;
	const struct nd_os_sample *sample;
	bool (*wanted)(void *user, const char *name);
	void *user;
	struct nd_os_detail *ret;
	uint64_t ifindex; /* of ethtool's answers */
	bool has_queues;  /* netdev told of this one's */
};

struct nd_queue_count *nd_os_add_queue(struct nd_os_detail *d)
{
	if (d->queues >= ROWS_MAX || nd_grow(d->queue, d->queues) < 0)
		return NULL;
	nd_os_blank(&d->queue[d->queues], sizeof(*d->queue));
	return &d->queue[d->queues++];
}

static struct nd_queue_count *find_queue(struct nd_os_detail *d, uint64_t ifindex, bool is_tx,
					 uint64_t queue)
{
	uint32_t i;

	for (i = d->queues; i-- > 0;)
		if (d->queue[i].ifindex == ifindex && d->queue[i].is_tx == is_tx &&
		    d->queue[i].queue == queue)
			return &d->queue[i];
	return NULL;
}

/* ---- queues */

static const struct nd_nic *nic_of(const struct taking *t, uint64_t ifindex)
{
	uint32_t i;

	for (i = 0; i < t->sample->nics; i++)
		if (t->sample->nic[i].ifindex == ifindex)
			return &t->sample->nic[i];
	return NULL;
}

static bool is_wanted(const struct taking *t, const char *name)
{
	return !t->wanted || t->wanted(t->user, name);
}

/* netdev tells of all interfaces at once. */
static void keep_wanted(struct taking *t)
{
	const struct nd_nic *nic;
	uint32_t i, n = 0;

	for (i = 0; i < t->ret->queues; i++) {
		nic = nic_of(t, t->ret->queue[i].ifindex);
		if (nic && is_wanted(t, nic->name))
			t->ret->queue[n++] = t->ret->queue[i];
	}
	t->ret->queues = n;
}

/* ---- ethtool */

static int take_limit(struct taking *t, const char *name, uint64_t value)
{
	struct nd_os_detail *d = t->ret;
	struct nd_limit_count *row;

	if (d->limits >= ROWS_MAX || nd_grow(d->limit, d->limits) < 0)
		return -ENOMEM;
	row = &d->limit[d->limits++];
	*row = (struct nd_limit_count){ .ifindex = t->ifindex, .count = value };
	(void)snprintf(row->name, sizeof(row->name), "%s", name); /* cut: for people */
	return 0;
}

static bool is_limit(const char *name)
{
	static const char *const ends[] = { "_allowance_exceeded", "rx_out_of_buffer",
					    "rx_no_buffer_count", "rx_missed_errors",
					    "rx_alloc_fail" };

	size_t n = strlen(name), i;

	for (i = 0; i < ND_COUNTOF(ends); i++)
		if (n >= strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

static int take_ethtool(void *ctx, const char *name, uint64_t value)
{
	struct taking *t = ctx;
	struct nd_queue_count *q;
	uint64_t queue = 0;
	bool is_tx = false;
	char what = 0;

	if (is_limit(name))
		return take_limit(t, name, value);
	if (t->has_queues || !nd_os_queue_counter(name, &is_tx, &queue, &what))
		return 0;
	q = find_queue(t->ret, t->ifindex, is_tx, queue);
	if (!q) {
		q = nd_os_add_queue(t->ret);
		if (!q)
			return -ENOMEM;
		q->ifindex = t->ifindex;
		q->is_tx = is_tx;
		q->queue = queue;
		t->ret->queue_source = "ethtool";
	}
	if (what == 'p')
		q->packets = value;
	else if (what == 'b')
		q->bytes = value;
	else
		q->drops = value;
	return 0;
}

static bool has_queues(const struct nd_os_detail *d, uint64_t ifindex)
{
	uint32_t i;

	for (i = 0; i < d->queues; i++)
		if (d->queue[i].ifindex == ifindex && d->queue[i].packets != ND_UNKNOWN)
			return true;
	return false;
}

static int ask_ethtool(struct taking *t, const struct nd_nic *nic)
{
	const struct nd_os_ethtool to = { .ctx = t, .take = take_ethtool };
	int r;

	t->ifindex = nic->ifindex;
	t->has_queues = has_queues(t->ret, nic->ifindex);
	r = nd_os_ethtool(t->os, nic->name, &to);
	return r == -ENOMEM ? r : 0;
}

/* ---- interrupts */

static int take_header(struct nd_os_detail *d, const char *text)
{
	struct nd_os_word w;
	uint64_t cpu;

	while (nd_os_word(&text, &w)) {
		if (w.len < 4 || memcmp(w.at, "CPU", 3) != 0)
			continue;
		cpu = nd_os_word_u64((struct nd_os_word){ w.at + 3, w.len - 3 });
		if (cpu >= ND_OS_CPUS_MAX)
			continue;
		if (!d->cpu) {
			d->cpu = malloc(ND_OS_CPUS_MAX * sizeof(*d->cpu));
			if (!d->cpu)
				return -ENOMEM;
		}
		if (d->cpus < ND_OS_CPUS_MAX)
			d->cpu[d->cpus++] = (uint32_t)cpu;
	}
	return 0;
}

static int add_irq(struct nd_os_detail *d, const struct nd_irq_count *row, const uint64_t *counts)
{
	uint64_t *more;

	if (d->irqs >= ROWS_MAX || nd_grow(d->irq, d->irqs) < 0)
		return -ENOMEM;
	more = realloc(d->irq_cpu, ((size_t)d->irqs + 1) * d->cpus * sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->irq_cpu = more;
	memcpy(more + (size_t)d->irqs * d->cpus, counts, d->cpus * sizeof(*more));
	d->irq[d->irqs++] = *row;
	return 0;
}

/* Interrupts of all wanted interfaces; /proc/interrupts is read once behind it. */
static size_t owners(struct taking *t, struct nd_os_line_owner *ret, size_t max)
{
	uint32_t lines[LINES_MAX], i;
	size_t n = 0, k, got;

	for (i = 0; i < t->sample->nics; i++) {
		const struct nd_nic *nic = &t->sample->nic[i];

		if (!is_wanted(t, nic->name) ||
		    (t->os->is_machine &&
		     nd_os_fact_u64(t->os, "sys/class/net/%s/ifindex", nic->name) != nic->ifindex))
			continue;
		got = nd_os_nic_lines(t->os, nic->name, lines, ND_COUNTOF(lines));
		for (k = 0; k < got && n < max; k++)
			ret[n++] = (struct nd_os_line_owner){ lines[k], nic->ifindex };
	}
	return n;
}

static int take_line(struct nd_os_detail *d, const char *line, const struct nd_os_line_owner *owner,
		     size_t n, uint64_t *counts)
{
	struct nd_irq_count row = { .count = 0 };
	struct nd_os_word name;
	uint32_t number;
	size_t used, i, k;

	used = nd_os_irq_line(line, &number, &name, counts, d->cpus);
	for (i = 0; used && i < n; i++)
		if (owner[i].line == number)
			break;
	if (!used || i == n)
		return 0;
	for (k = used; k < d->cpus; k++)
		counts[k] = ND_UNKNOWN;
	for (k = 0; k < used; k++)
		row.count += counts[k] == ND_UNKNOWN ? 0 : counts[k];
	row.ifindex = owner[i].ifindex;
	row.number = number;
	if (name.len) /* a line may end behind its counts */
		memcpy(row.name, name.at, ND_MIN(name.len, sizeof(row.name) - 1));
	return add_irq(d, &row, counts);
}

int nd_os_parse_irqs(const char *text, const struct nd_os_line_owner *owner, size_t n,
		     struct nd_os_detail *d)
{
	uint64_t counts[ND_OS_CPUS_MAX];
	const char *line;
	int r = take_header(d, text);

	for (line = nd_os_line(text); r == 0 && d->cpus && line; line = nd_os_line(line))
		r = take_line(d, line, owner, n, counts);
	return r;
}

static int ask_interrupts(struct taking *t)
{
	struct nd_os_line_owner owner[LINES_MAX];
	size_t n = owners(t, owner, ND_COUNTOF(owner));
	const char *text = n ? nd_os_text(t->os, ND_OS_INTERRUPTS) : NULL;

	return text ? nd_os_parse_irqs(text, owner, n, t->ret) : 0;
}

/* ---- all of it */

int nd_os_detail(struct nd_os *os, const struct nd_os_sample *s,
		 bool (*wanted)(void *user, const char *name), void *user, struct nd_os_detail *ret)
{
	struct nd_os_detail d = { .at_ns = nd_now_ns() };
	struct taking t = { .os = os, .sample = s, .wanted = wanted, .user = user, .ret = &d };
	int r = nd_os_netdev_queues(os, &d);
	uint32_t i;

	keep_wanted(&t);
	for (i = 0; r == 0 && i < s->nics; i++)
		if (is_wanted(&t, s->nic[i].name))
			r = ask_ethtool(&t, &s->nic[i]);
	if (r == 0)
		r = ask_interrupts(&t);
	if (r < 0) {
		nd_os_detail_done(&d);
		return r;
	}
	*ret = d;
	return 0;
}

void nd_os_detail_done(struct nd_os_detail *d)
{
	if (!d)
		return;
	free(d->queue);
	free(d->irq);
	free(d->limit);
	free(d->cpu);
	free(d->irq_cpu);
	*d = (struct nd_os_detail){ 0 };
}
