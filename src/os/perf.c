/* SPDX-License-Identifier: MIT */
/* CPU cycles by perf_event, where the machine has a counter and lets it be read. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "os/os.h"

struct nd_perf {
	int fd;
};

/* The layout that .read_format asks for. */
struct reading {
	uint64_t count, enabled_ns, running_ns;
};

static int open_counter(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_HW_CPU_CYCLES,
					.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
						       PERF_FORMAT_TOTAL_TIME_RUNNING,
					.inherit = 1,
					.exclude_hv = 1 };
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		return (int)fd;
	switch (errno) {
	case ENODEV:
	case ENOSYS:
	case ENXIO:
	case EOPNOTSUPP:
		return -ENOENT;
	case EPERM:
		return -EACCES;
	default:
		return -errno;
	}
}

int nd_perf_open(struct nd_perf **ret)
{
	nd_auto_fd int fd = open_counter();
	struct nd_perf *p;

	if (fd < 0)
		return fd;
	p = malloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->fd = nd_take_fd(&fd);
	*ret = p;
	return 0;
}

uint64_t nd_perf_cycles(struct nd_perf *p)
{
	struct reading v;

	if (!p || read(p->fd, &v, sizeof(v)) != (ssize_t)sizeof(v))
		return ND_UNKNOWN;
	if (v.running_ns >= v.enabled_ns)
		return v.count;
	if (!v.running_ns)
		return ND_UNKNOWN;
	/* the counter was shared with others: scale by the time it was ours */
	return (uint64_t)((double)v.count * (double)v.enabled_ns / (double)v.running_ns);
}

void nd_perf_free(struct nd_perf *p)
{
	if (!p)
		return;
	nd_close_p(&p->fd);
	free(p);
}
