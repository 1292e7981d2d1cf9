/* SPDX-License-Identifier: MIT */
/* Which CPU serves which queue: near the interface, one thread of each core first, both ways of a queue together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "watch/irq.h"

#define CPUS_MAX   4096u
#define MASK_BYTES 2048u
#define QUEUES_MAX 4096u

bool nd_irq_same_cpus(const char *a, const char *b)
{
	uint32_t x[CPUS_MAX], y[CPUS_MAX];
	int n = a ? nd_os_cpulist(a, x, CPUS_MAX) : -EINVAL;

	return n > 0 && b && nd_os_cpulist(b, y, CPUS_MAX) == n &&
	       !memcmp(x, y, (size_t)n * sizeof(*x));
}

/* ---- CPUs */

static bool holds(const uint32_t *list, int n, uint64_t cpu)
{
	int i;

	for (i = 0; i < n; i++)
		if (list[i] == cpu)
			return true;
	return false;
}

static int parse_list(const char *option, const char *text, uint32_t *ret, struct nd_err *err)
{
	int n = text ? nd_os_cpulist(text, ret, CPUS_MAX) : 0;

	if (n < 0)
		return nd_fail(err, -EINVAL, "%s: '%.80s' is no list of CPUs such as 0,2-5", option,
			       text);
	return n;
}

static bool is_near(const struct nd_irq_view *v, const struct nd_cpu_place *p)
{
	return v->ask->all_nodes || v->nic.numa_node < 0 || p->node == INT64_MIN ||
	       p->node == v->nic.numa_node;
}

/* Every @stride-th of what is left, or the first thread of each core and then the others. */
static size_t arrange(const struct nd_cpu_place **from, size_t n, uint64_t stride, uint32_t *ret)
{
	size_t out = 0, i;

	if (stride) {
		for (i = 0; i < n; i += stride)
			ret[out++] = (uint32_t)from[i]->number;
		return out;
	}
	for (i = 0; i < n; i++)
		if (from[i]->core == from[i]->number)
			ret[out++] = (uint32_t)from[i]->number;
	for (i = 0; i < n; i++)
		if (from[i]->core != from[i]->number)
			ret[out++] = (uint32_t)from[i]->number;
	return out;
}

/* Those that were named must be online, where that is known. */
static int named_cpus(const struct nd_irq_view *v, const uint32_t *named, int n, uint32_t *ret,
		      struct nd_err *err)
{
	const struct nd_cpu_place *place = v->places.v;
	uint64_t k, step = v->ask->stride ? v->ask->stride : 1;
	int out = 0, i;

	for (i = 0; i < n; i++) {
		for (k = 0; k < v->places.n; k++)
			if (place[k].number == named[i])
				break;
		if (v->places.n && k == v->places.n)
			return nd_fail(err, -EINVAL, "--cpus: CPU %u is not online", named[i]);
	}
	for (k = 0; k < (uint64_t)n; k += step)
		ret[out++] = named[k];
	return out;
}

int nd_irq_cpus(const struct nd_irq_view *v, uint32_t *ret, size_t room, struct nd_err *err)
{
	const struct nd_cpu_place *place = v->places.v, *left[CPUS_MAX];
	uint32_t named[CPUS_MAX], apart[CPUS_MAX];
	int named_n, apart_n;
	size_t n = 0;
	uint64_t i;

	named_n = parse_list("--cpus", v->ask->cpus, named, err);
	apart_n = named_n < 0 ? named_n : parse_list("--exclude", v->ask->exclude, apart, err);
	if (apart_n < 0 || room < CPUS_MAX)
		return -EINVAL;
	for (i = 0; i < (uint64_t)named_n; i++)
		if (!holds(apart, apart_n, named[i]))
			named[n++] = named[i];
	if (v->ask->cpus && n)
		return named_cpus(v, named, (int)n, ret, err);
	for (i = 0; !v->ask->cpus && i < v->places.n && n < CPUS_MAX; i++)
		if (!place[i].isolated && is_near(v, &place[i]) &&
		    !holds(apart, apart_n, place[i].number))
			left[n++] = &place[i];
	if (!n)
		return nd_fail(err, -EINVAL, "%s: %s", v->ask->name,
			       v->places.n || v->ask->cpus
				       ? "no CPU is left to use"
				       : "which CPUs are online cannot be read: give --cpus");
	return (int)arrange(left, n, v->ask->stride, ret);
}

/* ---- writes */

struct planning {
	struct nd_irq_view *v;
	struct nd_list *list; /* has room for all */
	const uint32_t *cpu;
	size_t cpus;
	bool failed;
};

static void add(struct planning *p, struct nd_irq_write w)
{
	struct nd_irq_write *all = p->list->v;

	if (!w.path || !w.what || !w.value)
		p->failed = true;
	else
		all[p->list->n++] = w;
}

/* "1", "100,00000000": groups of 32, the highest first. */
static const char *mask_of(struct planning *p, uint32_t cpu)
{
	nd_auto_str s = { 0 };
	uint32_t group = cpu / 32;

	nd_str_addf(&s, "%x", 1u << (cpu % 32));
	while (group-- > 0)
		nd_str_add(&s, ",00000000");
	return nd_arena_dup(&p->v->arena, nd_str_text(&s));
}

static bool same_mask(const char *a, const char *b)
{
	a += strspn(a, "0,");
	b += strspn(b, "0,");
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static void plan_irq(struct planning *p, const struct nd_irq *irq, uint32_t cpu)
{
	struct nd_arena *a = &p->v->arena;
	const char *value = nd_arena_printf(a, "%u", cpu);

	if (value && nd_irq_same_cpus(irq->allowed, value))
		return;
	add(p, (struct nd_irq_write){ .path = nd_arena_printf(a, "proc/irq/%llu/smp_affinity_list",
							      (unsigned long long)irq->number),
				      .what = irq->name ? irq->name : "interrupt",
				      .value = value,
				      .was = irq->allowed,
				      .number = irq->number,
				      .cpu = cpu });
}

static void plan_mask(struct planning *p, const char *kind, const char *file, uint64_t queue,
		      const char *value)
{
	struct nd_arena *a = &p->v->arena;
	const char *path = nd_arena_printf(a, "sys/class/net/%s/queues/%s-%llu/%s", p->v->ask->name,
					   kind, (unsigned long long)queue, file);
	char now[MASK_BYTES];

	if (!path || !value) {
		p->failed = true;
		return;
	}
	if (!nd_os_peek(p->v->os, now, sizeof(now), "%s", path))
		return; /* one queue alone has none */
	now[strcspn(now, "\n")] = '\0';
	if (same_mask(now, value))
		return;
	add(p, (struct nd_irq_write){
		       .path = path,
		       .what = nd_arena_printf(a, "%s queue %llu", kind, (unsigned long long)queue),
		       .value = value,
		       .was = nd_arena_dup(a, now),
		       .number = ND_UNKNOWN,
		       .cpu = ND_UNKNOWN });
}

/* Interrupts are by queue: a new number is the next queue. */
static uint64_t plan_irqs(struct planning *p)
{
	const struct nd_irq *irq = p->v->irqs.v;
	uint64_t i, queues = 0, last = ND_UNKNOWN;
	uint32_t cpu = p->cpu[0];

	for (i = 0; i < p->v->irqs.n; i++) {
		if (irq[i].kind == ND_IRQ_CONTROL)
			continue;
		if (irq[i].queue != last)
			cpu = p->cpu[queues++ % p->cpus];
		last = irq[i].queue;
		plan_irq(p, &irq[i], cpu);
	}
	return queues;
}

static uint64_t count_of(const struct planning *p, const char *kind)
{
	uint64_t n = 0;

	while (n < QUEUES_MAX && nd_os_exists(p->v->os, "sys/class/net/%s/queues/%s-%llu",
					      p->v->ask->name, kind, (unsigned long long)n))
		n++;
	return n;
}

/* Packets that a queue's CPU has taken need not be dealt out again where each CPU has a queue. */
static void plan_masks(struct planning *p, uint64_t queues)
{
	uint64_t n = count_of(p, "tx"), i;

	for (i = 0; !p->v->ask->no_xps && n > 1 && i < n; i++)
		plan_mask(p, "tx", "xps_cpus", i, mask_of(p, p->cpu[i % p->cpus]));
	n = count_of(p, "rx");
	for (i = 0; queues >= p->v->places.n && p->v->places.n && i < n; i++)
		plan_mask(p, "rx", "rps_cpus", i, "0");
}

int nd_irq_plan(struct nd_irq_view *v, struct nd_list *ret, struct nd_str *ret_cpus,
		uint64_t *ret_queues, struct nd_err *err)
{
	uint32_t cpu[CPUS_MAX] = { 0 };
	struct nd_list list = { 0 };
	struct planning p = { .v = v, .list = &list, .cpu = cpu };
	int n = nd_irq_cpus(v, cpu, CPUS_MAX, err), i;
	uint64_t most;

	if (n < 0)
		return n;
	p.cpus = (size_t)n;
	most = v->irqs.n + count_of(&p, "tx") + count_of(&p, "rx");
	if (nd_list_new(&v->arena, &list, most, sizeof(struct nd_irq_write)) < 0)
		return nd_fail(err, -ENOMEM, "irq: out of memory");
	list.n = 0;
	*ret_queues = plan_irqs(&p);
	if (*ret_queues == 0)
		return nd_fail(err, -ENOENT, "%s has no interrupt of a queue that could be moved",
			       v->ask->name);
	plan_masks(&p, *ret_queues);
	if (p.failed)
		return nd_fail(err, -ENOMEM, "irq: out of memory");
	for (i = 0; i < n && (uint64_t)i < *ret_queues; i++)
		nd_str_addf(ret_cpus, "%s%u", i ? "," : "", cpu[i]);
	*ret = list;
	return 0;
}

/* ---- the state before: "irq NAME VALUE" or "file PATH VALUE", a tab between */

void nd_irq_keep(const struct nd_list *writes, struct nd_str *out)
{
	const struct nd_irq_write *w = writes->v;
	uint64_t i;

	nd_str_add(out, "netdyno-irq\t1\n");
	for (i = 0; i < writes->n; i++)
		if (w[i].was)
			nd_str_addf(out, "%s\t%s\t%s\n", w[i].number == ND_UNKNOWN ? "file" : "irq",
				    w[i].number == ND_UNKNOWN ? w[i].path : w[i].what, w[i].was);
}

static const struct nd_irq *irq_named(const struct nd_irq_view *v, const char *name)
{
	const struct nd_irq *irq = v->irqs.v;
	uint64_t i;

	for (i = 0; i < v->irqs.n; i++)
		if (irq[i].name && !strcmp(irq[i].name, name))
			return &irq[i];
	return NULL;
}

/* Below the queues of this interface, and nowhere else: the file may have been changed. */
static bool is_own_file(const struct nd_irq_view *v, const char *path)
{
	nd_auto_str front = { 0 };

	nd_str_addf(&front, "sys/class/net/%s/queues/", v->ask->name);
	return nd_str_ok(&front) && !strncmp(path, nd_str_text(&front), front.len) &&
	       !strstr(path, "..");
}

static void recall(struct planning *p, const char *kind, const char *name, const char *value)
{
	struct nd_arena *a = &p->v->arena;
	const struct nd_irq *irq;
	char now[MASK_BYTES];

	if (!strcmp(kind, "irq")) {
		irq = irq_named(p->v, name);
		if (!irq || nd_irq_same_cpus(irq->allowed, value))
			return; /* gone, or as it was */
		add(p, (struct nd_irq_write){
			       .path = nd_arena_printf(a, "proc/irq/%llu/smp_affinity_list",
						       (unsigned long long)irq->number),
			       .what = irq->name,
			       .value = value,
			       .was = irq->allowed,
			       .number = irq->number,
			       .cpu = ND_UNKNOWN });
		return;
	}
	if (!is_own_file(p->v, name) || !nd_os_peek(p->v->os, now, sizeof(now), "%s", name))
		return;
	now[strcspn(now, "\n")] = '\0';
	if (!same_mask(now, value))
		add(p, (struct nd_irq_write){ .path = name,
					      .what = strchr(name + 14, '/') + 1,
					      .value = value,
					      .was = nd_arena_dup(a, now),
					      .number = ND_UNKNOWN,
					      .cpu = ND_UNKNOWN });
}

int nd_irq_recall(struct nd_irq_view *v, const char *text, struct nd_list *ret, struct nd_err *err)
{
	struct nd_list list = { 0 };
	struct planning p = { .v = v, .list = &list };
	const char *line, *name, *value, *end;
	uint64_t lines = 1;

	if (strncmp(text, "netdyno-irq\t1\n", 14) != 0)
		return nd_fail(err, -EBADMSG, "this file does not hold what irq spread kept");
	for (line = text; *line; line++)
		lines += *line == '\n';
	if (nd_list_new(&v->arena, &list, lines, sizeof(struct nd_irq_write)) < 0)
		return nd_fail(err, -ENOMEM, "irq: out of memory");
	list.n = 0;
	for (line = strchr(text, '\n') + 1; *line; line = end + (*end == '\n')) {
		end = line + strcspn(line, "\n");
		name = memchr(line, '\t', (size_t)(end - line));
		value = name ? memchr(name + 1, '\t', (size_t)(end - name - 1)) : NULL;
		if (!value)
			return nd_fail(err, -EBADMSG, "a line of this file is broken");
		name = nd_arena_dupn(&v->arena, name + 1, (size_t)(value - name - 1));
		value = nd_arena_dupn(&v->arena, value + 1, (size_t)(end - value - 1));
		if (!name || !value)
			return nd_fail(err, -ENOMEM, "irq: out of memory");
		recall(&p, *line == 'i' ? "irq" : "file", name, value);
	}
	if (p.failed)
		return nd_fail(err, -ENOMEM, "irq: out of memory");
	*ret = list;
	return 0;
}
