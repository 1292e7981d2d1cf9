/* SPDX-License-Identifier: MIT */
/* How many cores a control group leaves this process, version 1 or 2. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "os/int.h"

#define GROUP_BYTES 1024u /* of a group's path; deeper ones are unknown */

/* "0::/a/b" or "4:cpu,cpuacct:/a/b", taken apart. */
struct membership {
	char controllers[128];
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

static double ratio(uint64_t quota, uint64_t period)
{
	return quota == ND_UNKNOWN || period == ND_UNKNOWN || !quota || !period
		       ? (double)NAN
		       : (double)quota / (double)period;
}

static double quota_2(struct nd_os *os, const char *mount, const char *group)
{
	char text[ND_OS_LINE_BYTES];
	const char *p = text;
	uint64_t quota;

	if (!nd_os_peek(os, text, sizeof(text), "sys/fs/cgroup%s%s/cpu.max", mount, group))
		return (double)NAN;
	quota = nd_os_next_u64(&p); /* "max" is no number */
	return ratio(quota, nd_os_next_u64(&p));
}

/* "-1" is no quota, and no number here. */
static double quota_1(struct nd_os *os, const char *mount, const char *group)
{
	uint64_t quota, period;

	quota = nd_os_fact_u64(os, "sys/fs/cgroup%s%s/cpu.cfs_quota_us", mount, group);
	period = nd_os_fact_u64(os, "sys/fs/cgroup%s%s/cpu.cfs_period_us", mount, group);
	return ratio(quota, period);
}

/* The tightest of a group and those above it. In a container the path may be the host's and lead
 * nowhere: the top of the mount, which is always asked, is the container's group then. */
static double tightest(struct nd_os *os, const char *mount, const char *path, bool is_2)
{
	char group[GROUP_BYTES];
	double least = (double)NAN, q;
	char *slash;

	(void)snprintf(group, sizeof(group), "%s", path); /* as large as the source */
	if (strstr(group, "/.."))
		group[0] = '\0';
	for (;;) {
		slash = strrchr(group, '/');
		if (slash && !slash[1])
			*slash = '\0';
		q = is_2 ? quota_2(os, mount, group) : quota_1(os, mount, group);
		least = fmin(least, q);
		slash = strrchr(group, '/');
		if (!slash)
			return least;
		*slash = '\0';
	}
}

double nd_os_cgroup_cpus(struct nd_os *os, const char *text)
{
	char mount[sizeof(((struct membership *)0)->controllers) + 1];
	struct membership m;
	const char *line;
	double least = (double)NAN;

	for (line = text; line; line = nd_os_line(line)) {
		if (!read_membership(line, &m) || strchr(m.controllers, '/'))
			continue;
		if (!m.controllers[0]) {
			least = fmin(least, tightest(os, "", m.path, true));
			continue;
		}
		if (!has_cpu(m.controllers))
			continue;
		(void)snprintf(mount, sizeof(mount), "/%s", m.controllers); /* one more byte */
		least = fmin(least, tightest(os, mount, m.path, false));
		if (strcmp(m.controllers, "cpu") != 0)
			least = fmin(least, tightest(os, "/cpu", m.path, false));
	}
	return least;
}
