/* SPDX-License-Identifier: MIT */
/* How many cores control groups leave this process, and how often they held it back; version 1 or 2. */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/real.h"
#include "base/time.h"
#include "os/int.h"

#define GROUP_BYTES       1024u /* of a group's path; deeper ones are unknown */
#define CONTROLLERS_BYTES 128u
#define MOUNT_BYTES       (CONTROLLERS_BYTES + 1)

/* "0::/a/b" or "4:cpu,cpuacct:/a/b", taken apart. */
struct membership {
	char controllers[CONTROLLERS_BYTES];
	char path[GROUP_BYTES];
};

static bool copy(char *to, size_t size, const char *from, size_t n)
{
	if (n >= size)
		return false;
	memcpy(to, from, n);
	to[n] = '\0';
	return true;
}

static bool read_membership(const char *line, struct membership *ret)
{
	size_t end = strcspn(line, "\n");
	const char *first = memchr(line, ':', end), *second;

	if (!first)
		return false;
	second = memchr(first + 1, ':', end - (size_t)(first + 1 - line));
	if (!second || second[1] != '/')
		return false;
	return copy(ret->controllers, sizeof(ret->controllers), first + 1,
		    (size_t)(second - first - 1)) &&
	       copy(ret->path, sizeof(ret->path), second + 1, end - (size_t)(second + 1 - line));
}

/* Whether "cpu" is one of "cpu,cpuacct". */
static bool has_cpu(const char *controllers)
{
	const char *p = controllers;
	size_t n;

	for (;;) {
		n = strcspn(p, ",");
		if (n == 3 && !memcmp(p, "cpu", n))
			return true;
		if (!p[n])
			return false;
		p += n + 1;
	}
}

/* Called for a group and each above it. @dir: of the group, below the root. */
struct visit {
	void (*see)(struct nd_os *os, const char *dir, bool is_2, void *ctx);
	void *ctx;
};

/* In a container the path may be the host's and lead nowhere: the top of the mount, which is always
 * seen, is the container's group then. */
static void walk_up(struct nd_os *os, const char *mount, const char *path, const struct visit *v)
{
	char group[GROUP_BYTES], dir[sizeof("sys/fs/cgroup") + MOUNT_BYTES + GROUP_BYTES];
	char *slash;

	(void)snprintf(group, sizeof(group), "%s", path); /* as large as the source */
	if (strstr(group, "/.."))
		group[0] = '\0';
	for (;;) {
		slash = strrchr(group, '/');
		if (slash && !slash[1])
			*slash = '\0';
		(void)snprintf(dir, sizeof(dir), "sys/fs/cgroup%s%s", mount, group); /* fits */
		v->see(os, dir, !*mount, v->ctx);
		slash = strrchr(group, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

static void walk_groups(struct nd_os *os, const char *text, const struct visit *v)
{
	char mount[MOUNT_BYTES];
	struct membership m;
	const char *line;

	for (line = text; line; line = nd_os_line(line)) {
		if (!read_membership(line, &m) || strchr(m.controllers, '/'))
			continue;
		if (!m.controllers[0]) {
			walk_up(os, "", m.path, v);
			continue;
		}
		if (!has_cpu(m.controllers))
			continue;
		(void)snprintf(mount, sizeof(mount), "/%s", m.controllers); /* one more byte */
		walk_up(os, mount, m.path, v);
		if (strcmp(m.controllers, "cpu") != 0)
			walk_up(os, "/cpu", m.path, v);
	}
}

/* ---- quotas */

static double ratio(uint64_t quota, uint64_t period)
{
	return quota == ND_UNKNOWN || period == ND_UNKNOWN || !quota || !period
		       ? (double)NAN
		       : (double)quota / (double)period;
}

static double quota_2(struct nd_os *os, const char *dir)
{
	char text[ND_OS_LINE_BYTES];
	const char *p = text;
	uint64_t quota;

	if (!nd_os_peek(os, text, sizeof(text), "%s/cpu.max", dir))
		return (double)NAN;
	quota = nd_os_next_u64(&p); /* "max" is no number */
	return ratio(quota, nd_os_next_u64(&p));
}

/* "-1" is no quota, and no number here. */
static double quota_1(struct nd_os *os, const char *dir)
{
	uint64_t quota, period;

	quota = nd_os_fact_u64(os, "%s/cpu.cfs_quota_us", dir);
	period = nd_os_fact_u64(os, "%s/cpu.cfs_period_us", dir);
	return ratio(quota, period);
}

static void see_quota(struct nd_os *os, const char *dir, bool is_2, void *ctx)
{
	double *least = ctx;

	*least = nd_real_min(*least, is_2 ? quota_2(os, dir) : quota_1(os, dir));
}

/* The tightest counts. */
double nd_os_cgroup_cpus(struct nd_os *os, const char *text)
{
	double least = (double)NAN;

	walk_groups(os, text, &(struct visit){ see_quota, &least });
	return least;
}

/* ---- what a quota did */

static bool is_open(const struct nd_os *os, int fd)
{
	struct stat new, old;
	size_t i;

	for (i = 0; i < os->group_n; i++)
		if (fstat(fd, &new) == 0 && fstat(os->group_fd[i], &old) == 0 &&
		    new.st_dev == old.st_dev &&new.st_ino == old.st_ino)
			return true;
	return false;
}

/* Version 1 has its mount under several names. */
static void see_counts(struct nd_os *os, const char *dir, bool is_2, void *ctx)
{
	nd_auto_fd int fd = -1;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s/cpu.stat", os->root, dir);

	(void)is_2; /* both have the file */
	(void)ctx;  /* it is the visited */
	if (n < 0 || (size_t)n >= sizeof(path) || os->group_n == ND_OS_GROUPS_MAX)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && !is_open(os, fd))
		os->group_fd[os->group_n++] = nd_take_fd(&fd);
}

void nd_os_group_open(struct nd_os *os, const char *text)
{
	walk_groups(os, text, &(struct visit){ see_counts, NULL });
}

/* One count of a group that has a quota, or had one. */
static void add_count(uint64_t *sum, uint64_t v, uint64_t unit)
{
	uint64_t more;

	if (v == ND_UNKNOWN || __builtin_mul_overflow(v, unit, &more))
		return;
	if (*sum == ND_UNKNOWN)
		*sum = 0;
	if (__builtin_add_overflow(*sum, more, sum) || *sum == ND_UNKNOWN)
		*sum = ND_UNKNOWN - 1;
}

void nd_os_parse_cpu_stat(const char *text, struct nd_cgroup *ret)
{
	struct nd_os_word key;
	const char *p, *at;
	uint64_t v;

	for (p = text; p; p = nd_os_line(p)) {
		at = p;
		if (!nd_os_word(&at, &key))
			continue;
		v = nd_os_next_u64(&at);
		if (nd_os_word_is(key, "nr_throttled"))
			add_count(&ret->throttled_periods, v, 1);
		else if (nd_os_word_is(key, "throttled_usec"))
			add_count(&ret->throttled_ns, v, ND_NS_PER_US);
		else if (nd_os_word_is(key, "throttled_time"))
			add_count(&ret->throttled_ns, v, 1);
	}
}

void nd_os_sample_groups(struct nd_os *os, struct nd_cgroup *ret)
{
	const char *text;
	size_t i;

	for (i = 0; i < os->group_n; i++) {
		text = nd_os_read(os, os->group_fd[i]);
		if (text)
			nd_os_parse_cpu_stat(text, ret);
	}
}
