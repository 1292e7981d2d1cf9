/* SPDX-License-Identifier: MIT */
/* The interrupts of an interface: which they are, what their names say, where they may run. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "os/detail.h"
#include "os/int.h"

#define LINES_MAX  4096u
#define NAME_BYTES 64u

/* ---- which */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Names of a folder that are numbers. */
static size_t numbers_in(const char *path, uint32_t *ret, size_t room)
{
	DIR *d = opendir(path);
	struct dirent *e;
	uint64_t v = 0;
	size_t n = 0;

	while (d && n < room &&
	       (e = readdir(d))) /* NOLINT(concurrency-mt-unsafe): a folder of its own */
		if (nd_parse_number(e->d_name, ND_UNIT_COUNT, &v) == 0 && v <= UINT32_MAX)
			ret[n++] = (uint32_t)v;
	if (d)
		(void)closedir(d); /* it was only read */
	qsort(ret, n, sizeof(*ret), by_number);
	return n;
}

size_t nd_os_irq_line(const char *line, uint32_t *ret_number, struct nd_os_word *ret_name,
		      uint64_t *counts, size_t room)
{
	struct nd_os_word w, last = { 0 };
	uint64_t v = 0;
	size_t n;

	if (!nd_os_word(&line, &w) || w.len < 2 || w.at[w.len - 1] != ':')
		return 0;
	v = nd_os_word_u64((struct nd_os_word){ w.at, w.len - 1 });
	if (v > UINT32_MAX)
		return 0;
	for (n = 0; n < room; n++) {
		counts[n] = nd_os_next_u64(&line);
		if (counts[n] == ND_UNKNOWN)
			break;
	}
	while (nd_os_word(&line, &w))
		last = w;
	*ret_number = (uint32_t)v;
	*ret_name = last;
	return n;
}

/* What the names of its interrupts contain: its own name, or that of its device: "virtio2", a PCI address. */
static bool names_nic(struct nd_os_word w, const char *nic, const char *device)
{
	size_t n = strlen(nic), d = device ? strlen(device) : 0, i;

	for (i = 0; i < w.len; i++) {
		if (i + n <= w.len && !strncmp(w.at + i, nic, n) &&
		    (i == 0 || !isalnum((unsigned char)w.at[i - 1])) &&
		    (i + n == w.len || !isalnum((unsigned char)w.at[i + n])))
			return true;
		if (d && i + d <= w.len && !strncmp(w.at + i, device, d) &&
		    (i + d == w.len || !isalnum((unsigned char)w.at[i + d])))
			return true;
	}
	return false;
}

static const char *device_of(struct nd_os *os, const char *nic, char *buf, size_t size)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/sys/class/net/%s/device", os->root, nic);
	const char *slash;
	ssize_t len;

	if (n < 0 || (size_t)n >= sizeof(path))
		return NULL;
	len = readlink(path, buf, size - 1);
	if (len <= 0)
		return NULL;
	buf[len] = '\0';
	slash = strrchr(buf, '/');
	return slash ? slash + 1 : buf;
}

static size_t lines_by_name(struct nd_os *os, const char *nic, uint32_t *ret, size_t room)
{
	const char *text = nd_os_text(os, ND_OS_INTERRUPTS), *line, *device;
	uint64_t counts[1];
	struct nd_os_word name;
	char target[PATH_MAX];
	size_t n = 0;

	device = device_of(os, nic, target, sizeof(target));
	for (line = text; line && n < room; line = nd_os_line(line))
		if (nd_os_irq_line(line, &ret[n], &name, counts, 1) > 0 &&
		    names_nic(name, nic, device))
			n++;
	qsort(ret, n, sizeof(*ret), by_number);
	return n;
}

size_t nd_os_nic_lines(struct nd_os *os, const char *name, uint32_t *ret, size_t room)
{
	static const char *const folders[] = { "device/msi_irqs", "device/../msi_irqs" };

	char path[PATH_MAX];
	size_t n = 0, i;
	int len;

	if (strchr(name, '/') || !*name)
		return 0;
	for (i = 0; n == 0 && i < ND_COUNTOF(folders); i++) {
		len = snprintf(path, sizeof(path), "%s/sys/class/net/%s/%s", os->root, name,
			       folders[i]);
		if (len >= 0 && (size_t)len < sizeof(path))
			n = numbers_in(path, ret, room);
	}
	/* Where sysfs says that it has no device, software made it: it has no interrupt, whatever is called like it. */
	if (n == 0 && nd_os_exists(os, "sys/class/net/%s/ifindex", name) &&
	    !nd_os_exists(os, "sys/class/net/%s/device", name))
		return 0;
	return n ? n : lines_by_name(os, name, ret, room);
}

/* ---- what a name says */

static bool has_word(const char *name, size_t len, const char *word)
{
	size_t n = strlen(word), i;

	for (i = 0; i + n <= len; i++)
		if (!strncasecmp(name + i, word, n))
			return true;
	return false;
}

static bool is_control(const char *name, size_t len)
{
	static const char *const words[] = { "config", "async", "mgmnt", "mgmt",  "admin", "event",
					     "cmd",    "ctrl",  "pages", "other", "misc",  "hwc" };

	size_t i;

	for (i = 0; i < ND_COUNTOF(words); i++)
		if (has_word(name, len, words[i]))
			return true;
	return false;
}

enum nd_irq_kind nd_os_irq_kind(const char *name, uint64_t *ret_queue)
{
	size_t len = strcspn(name, "@"), at = len;
	bool rx, tx;

	*ret_queue = ND_UNKNOWN;
	while (at > 0 && isdigit((unsigned char)name[at - 1]))
		at--;
	if (is_control(name, at))
		return ND_IRQ_CONTROL;
	rx = has_word(name, at, "rx") || has_word(name, at, "input");
	tx = has_word(name, at, "tx") || has_word(name, at, "output");
	if (at < len)
		(void)nd_parse_prefix_u64(name + at, ret_queue); /* too long: stays unknown */
	else if (rx || tx)
		*ret_queue = 0; /* "virtio4-input": the only one */
	if (*ret_queue == ND_UNKNOWN)
		return ND_IRQ_CONTROL;
	if (rx != tx)
		return rx ? ND_IRQ_RX : ND_IRQ_TX;
	return ND_IRQ_BOTH;
}

/* ---- each in full */

/* Columns that /proc/interrupts has. */
static size_t columns(const char *text)
{
	struct nd_os_word w;
	size_t n = 0;

	while (nd_os_word(&text, &w))
		n += w.len > 3 && !memcmp(w.at, "CPU", 3);
	return n;
}

static void take_counts(struct nd_os_reader *r, const char *text, struct nd_irq *irq, size_t n)
{
	uint64_t counts[ND_OS_CPUS_MAX];
	size_t cpus = ND_MIN(columns(text), ND_COUNTOF(counts)), used, i, k;
	struct nd_os_word name;
	const char *line;
	uint32_t number;

	for (line = nd_os_line(text); line; line = nd_os_line(line)) {
		used = nd_os_irq_line(line, &number, &name, counts, cpus);
		for (i = 0; used && i < n; i++) {
			if (irq[i].number != number)
				continue;
			irq[i].count = 0;
			for (k = 0; k < used; k++)
				irq[i].count += counts[k] == ND_UNKNOWN ? 0 : counts[k];
			irq[i].name = name.len ? nd_arena_dupn(r->arena, name.at, name.len) : NULL;
			if (name.len && !irq[i].name)
				r->failed = true;
		}
	}
}

static void read_irq(struct nd_os_reader *r, struct nd_irq *irq)
{
	char text[NAME_BYTES];

	if (!irq->name)
		irq->name = nd_os_fact(r, "sys/kernel/irq/%u/actions", (unsigned)irq->number);
	irq->allowed = nd_os_fact(r, "proc/irq/%u/smp_affinity_list", (unsigned)irq->number);
	irq->effective =
		nd_os_fact(r, "proc/irq/%u/effective_affinity_list", (unsigned)irq->number);
	irq->hint = nd_os_fact(r, "proc/irq/%u/affinity_hint", (unsigned)irq->number);
	irq->node = INT64_MIN;
	if (nd_os_peek(r->os, text, sizeof(text), "proc/irq/%u/node", (unsigned)irq->number))
		irq->node = text[0] == '-' ? -1
					   : (int64_t)nd_os_fact_u64(r->os, "proc/irq/%u/node",
								     (unsigned)irq->number);
	irq->queue = ND_UNKNOWN;
	irq->kind = irq->name ? nd_os_irq_kind(irq->name, &irq->queue) : ND_IRQ_CONTROL;
}

/* Queues in their order, receiving before sending; ND_UNKNOWN is last by itself. */
static int by_queue(const void *a, const void *b)
{
	const struct nd_irq *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

int nd_os_nic_irqs(struct nd_os *os, const char *name, struct nd_arena *a, struct nd_list *ret)
{
	struct nd_os_reader r = { .os = os, .arena = a };
	uint32_t number[LINES_MAX];
	size_t n = nd_os_nic_lines(os, name, number, ND_COUNTOF(number)), i;
	struct nd_list list = { 0 };
	const char *text;
	struct nd_irq *irq;

	if (nd_list_new(a, &list, n, sizeof(*irq)) < 0)
		return -ENOMEM;
	irq = list.v;
	for (i = 0; i < n; i++)
		irq[i] = (struct nd_irq){ .number = number[i], .count = ND_UNKNOWN };
	text = nd_os_text(os, ND_OS_INTERRUPTS);
	if (text && n)
		take_counts(&r, text, irq, n);
	for (i = 0; i < n; i++)
		read_irq(&r, &irq[i]);
	if (r.failed)
		return -ENOMEM;
	if (n)
		qsort(irq, n, sizeof(*irq), by_queue);
	*ret = list;
	return 0;
}
