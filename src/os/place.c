/* SPDX-License-Identifier: MIT */
/* Where CPUs are: node, core, kept apart or not. Which programs run. A value written into a file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "os/detail.h"
#include "os/int.h"

#define NODES_MAX 1024u

/* CPUs that a list file names, none if it cannot be read. */
static size_t listed(struct nd_os *os, uint32_t *ret, size_t room, const char *path)
{
	char text[ND_OS_LINE_BYTES];
	int n;

	if (!nd_os_peek(os, text, sizeof(text), "%s", path))
		return 0;
	n = nd_os_cpulist(text, ret, room);
	return n > 0 ? (size_t)n : 0;
}

static void set_nodes(struct nd_os *os, struct nd_cpu_place *place, size_t n)
{
	uint32_t nodes[NODES_MAX], cpus[ND_OS_CPUS_MAX];
	size_t nodes_n = listed(os, nodes, ND_COUNTOF(nodes), "sys/devices/system/node/online");
	size_t cpus_n, i, k, at;
	char path[64];

	for (i = 0; i < nodes_n; i++) {
		(void)snprintf(path, sizeof(path), "sys/devices/system/node/node%u/cpulist",
			       nodes[i]); /* fits */
		cpus_n = listed(os, cpus, ND_COUNTOF(cpus), path);
		for (k = 0; k < cpus_n; k++)
			for (at = 0; at < n; at++)
				if (place[at].number == cpus[k])
					place[at].node = nodes[i];
	}
}

static uint64_t core_of(struct nd_os *os, uint32_t cpu)
{
	uint32_t siblings[64], least = cpu;
	char path[96];
	size_t n, i;

	(void)snprintf(path, sizeof(path),
		       "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
	n = listed(os, siblings, ND_COUNTOF(siblings), path);
	for (i = 0; i < n; i++)
		least = ND_MIN(least, siblings[i]);
	return least;
}

int nd_os_cpu_places(struct nd_os *os, struct nd_arena *a, struct nd_list *ret)
{
	uint32_t cpus[ND_OS_CPUS_MAX], apart[ND_OS_CPUS_MAX];
	size_t n = listed(os, cpus, ND_COUNTOF(cpus), "sys/devices/system/cpu/online");
	size_t apart_n = listed(os, apart, ND_COUNTOF(apart), "sys/devices/system/cpu/isolated");
	struct nd_list list = { 0 };
	struct nd_cpu_place *place;
	size_t i, k;

	if (nd_list_new(a, &list, n, sizeof(*place)) < 0)
		return -ENOMEM;
	place = list.v;
	for (i = 0; i < n; i++) {
		place[i] = (struct nd_cpu_place){ .number = cpus[i],
						  .node = INT64_MIN,
						  .core = core_of(os, cpus[i]) };
		for (k = 0; k < apart_n; k++)
			place[i].isolated |= apart[k] == cpus[i];
	}
	set_nodes(os, place, n);
	*ret = list;
	return 0;
}

int nd_os_poke(struct nd_os *os, const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	int root = snprintf(path, sizeof(path), "%s/", os->root), n;
	nd_auto_fd int fd = -1;
	va_list ap;

	if (root < 0 || (size_t)root >= sizeof(path))
		return -ENAMETOOLONG;
	va_start(ap, fmt);
	n = vsnprintf(path + root, sizeof(path) - (size_t)root, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(path) - (size_t)root)
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | (os->is_machine ? 0 : O_TRUNC));
	if (fd < 0)
		return -errno;
	return nd_write_all(fd, text, strlen(text));
}

bool nd_os_runs(struct nd_os *os, const char *comm)
{
	char path[PATH_MAX], name[64];
	int n = snprintf(path, sizeof(path), "%s/proc", os->root);
	bool found = false;
	struct dirent *e;
	uint64_t pid = 0;
	DIR *d;

	if (n < 0 || (size_t)n >= sizeof(path))
		return false;
	d = opendir(path);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a folder of its own */
	while (d && !found && (e = readdir(d))) {
		if (nd_parse_number(e->d_name, ND_UNIT_COUNT, &pid) < 0 ||
		    !nd_os_peek(os, name, sizeof(name), "proc/%s/comm", e->d_name))
			continue;
		name[strcspn(name, "\n")] = '\0';
		found = !strcmp(name, comm);
	}
	if (d)
		(void)closedir(d); /* it was only read */
	return found;
}
