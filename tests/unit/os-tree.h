/* SPDX-License-Identifier: MIT */
/* Machines that do not exist: folders of proc/ and sys/ made for one test. */
#ifndef OS_TREE_H
#define OS_TREE_H

#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

static char tree_root[] = "/tmp/netdyno-tree-XXXXXX";

static inline int tree_remove(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	return remove(path);
}

static inline void tree_begin(void)
{
	memcpy(tree_root + sizeof(tree_root) - 7, "XXXXXX", 6);
	assert_non_null(mkdtemp(tree_root));
}

static inline void tree_end(void)
{
	assert_int_equal(nftw(tree_root, tree_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Every folder on the way to @path. */
static inline void tree_folders(char *path)
{
	char *p;

	for (p = path + strlen(tree_root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0755);
		*p = '/';
	}
}

static inline void tree_put(const char *at, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", tree_root, at);
	tree_folders(path);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline void tree_link(const char *at, const char *to)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", tree_root, at);
	tree_folders(path);
	assert_int_equal(symlink(to, path), 0);
}

static inline void tree_get(const char *at, char *ret, size_t size)
{
	char path[PATH_MAX];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", tree_root, at);
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(ret, 1, size - 1, f);
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	(void)fclose(f);
}

/* A file with one number, or text, in it. */
#define TREE_PUT(text, ...)                                              \
	do {                                                             \
		char tree_at_[256];                                      \
		(void)snprintf(tree_at_, sizeof(tree_at_), __VA_ARGS__); \
		tree_put(tree_at_, text);                                \
	} while (0)

struct tree_machine {
	unsigned cpus, nodes, threads; /* of a core; siblings are cpus/threads apart */
	const char *nic, *device;      /* "eth0", "0000:00:05.0" */
	const char *child;             /* "virtio2" between device and interface, or NULL */
	unsigned queues;
	const char *name;    /* of queue %u's interrupt */
	const char *name_tx; /* of another one for sending, or NULL */
	const char *control; /* NULL: none */
	int node;
	unsigned first_irq;
};

static inline void tree_cpus(const struct tree_machine *m)
{
	unsigned cores = m->cpus / m->threads, i;
	char list[64];

	(void)snprintf(list, sizeof(list), "0-%u\n", m->cpus - 1);
	tree_put("sys/devices/system/cpu/online", list);
	for (i = 0; i < m->cpus; i++) {
		(void)snprintf(list, sizeof(list), m->threads > 1 ? "%u,%u\n" : "%u\n", i % cores,
			       i % cores + cores);
		TREE_PUT(list, "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", i);
	}
	(void)snprintf(list, sizeof(list), m->nodes > 1 ? "0-%u\n" : "0\n", m->nodes - 1);
	tree_put("sys/devices/system/node/online", list);
	for (i = 0; i < m->nodes; i++) { /* blocks of cores, and their siblings */
		unsigned each = cores / m->nodes;

		if (m->threads > 1)
			(void)snprintf(list, sizeof(list), "%u-%u,%u-%u\n", i * each,
				       (i + 1) * each - 1, cores + i * each,
				       cores + (i + 1) * each - 1);
		else
			(void)snprintf(list, sizeof(list), "%u-%u\n", i * each, (i + 1) * each - 1);
		TREE_PUT(list, "sys/devices/system/node/node%u/cpulist", i);
	}
}

static inline void tree_irq(const struct tree_machine *m, struct nd_str *lines, unsigned irq,
			    const char *name, unsigned count)
{
	char text[64];
	unsigned i;

	(void)snprintf(text, sizeof(text), "0-%u\n", m->cpus - 1);
	TREE_PUT(text, "proc/irq/%u/smp_affinity_list", irq);
	TREE_PUT("0\n", "proc/irq/%u/effective_affinity_list", irq);
	TREE_PUT("0\n", "proc/irq/%u/node", irq);
	TREE_PUT("msix\n", "sys/devices/pci0/%s/msi_irqs/%u", m->device, irq);
	nd_str_addf(lines, " %u:", irq);
	for (i = 0; i < m->cpus; i++)
		nd_str_addf(lines, " %u", i == 0 ? count : 0);
	nd_str_addf(lines, "  PCI-MSIX-%s  %u-edge  %s\n", m->device, irq, name);
}

/* A fixed name with one %u in it. */
static inline void tree_name(char *ret, size_t size, const char *name, unsigned queue)
{
	const char *at = strstr(name, "%u");

	assert_non_null(at);
	(void)snprintf(ret, size, "%.*s%u%s", (int)(at - name), name, queue, at + 2);
}

static inline void tree_queues(const struct tree_machine *m)
{
	nd_auto_str lines = { 0 };
	unsigned i, irq = m->first_irq;
	char name[64];

	nd_str_add(&lines, "     ");
	for (i = 0; i < m->cpus; i++)
		nd_str_addf(&lines, " CPU%u", i);
	nd_str_add(&lines, "\n");
	if (m->control)
		tree_irq(m, &lines, irq++, m->control, 1);
	for (i = 0; i < m->queues; i++) {
		tree_name(name, sizeof(name), m->name, i);
		tree_irq(m, &lines, irq++, name, 100 + i);
		if (m->name_tx) {
			tree_name(name, sizeof(name), m->name_tx, i);
			tree_irq(m, &lines, irq++, name, 200 + i);
		}
		TREE_PUT("0\n", "sys/class/net/%s/queues/rx-%u/rps_cpus", m->nic, i);
		TREE_PUT("0\n", "sys/class/net/%s/queues/tx-%u/xps_cpus", m->nic, i);
	}
	nd_str_add(&lines, "NMI: 1 1 Non-maskable interrupts\n");
	tree_put("proc/interrupts", nd_str_text(&lines));
}

static inline void tree_make(const struct tree_machine *m)
{
	char text[128];

	tree_begin();
	tree_cpus(m);
	tree_queues(m);
	TREE_PUT("7\n", "sys/class/net/%s/ifindex", m->nic);
	TREE_PUT("1500\n", "sys/class/net/%s/mtu", m->nic);
	TREE_PUT("1\n", "sys/class/net/%s/type", m->nic);
	(void)snprintf(text, sizeof(text), "%d\n", m->node);
	TREE_PUT(text, "sys/devices/pci0/%s/numa_node", m->device);
	if (m->child) {
		(void)snprintf(text, sizeof(text), "sys/devices/pci0/%s/%s/status", m->device,
			       m->child);
		tree_put(text, "0\n");
	}
	(void)snprintf(text, sizeof(text), "../../../devices/pci0/%s%s%s", m->device,
		       m->child ? "/" : "", m->child ? m->child : "");
	{
		char at[128];

		(void)snprintf(at, sizeof(at), "sys/class/net/%s/device", m->nic);
		tree_link(at, text);
	}
	(void)snprintf(text, sizeof(text),
		       "head\nhead\n%s: 1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0\n", m->nic);
	tree_put("proc/net/dev", text);
}

#define TREE_ENA                                                                                \
	{                                                                                       \
		.cpus = 128, .nodes = 2, .threads = 2, .nic = "eth0", .device = "0000:00:05.0", \
		.queues = 64, .name = "eth0-Tx-Rx-%u", .control = "ena-mgmnt@pci:0000:00:05.0", \
		.node = 1, .first_irq = 40                                                      \
	}
#define TREE_MLX5                                                                              \
	{                                                                                      \
		.cpus = 16, .nodes = 2, .threads = 1, .nic = "ens1", .device = "0000:3b:00.0", \
		.queues = 8, .name = "mlx5_comp%u@pci:0000:3b:00.0",                           \
		.control = "mlx5_async0@pci:0000:3b:00.0", .node = 0, .first_irq = 100         \
	}
#define TREE_VIRTIO                                                                           \
	{                                                                                     \
		.cpus = 8, .nodes = 1, .threads = 2, .nic = "eth0", .device = "0000:00:03.0", \
		.child = "virtio2", .queues = 4, .name = "virtio2-input.%u",                  \
		.name_tx = "virtio2-output.%u", .control = "virtio2-config", .node = -1,      \
		.first_irq = 37                                                               \
	}

#endif
