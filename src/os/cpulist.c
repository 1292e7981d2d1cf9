/* SPDX-License-Identifier: MIT */
/* Lists of CPUs: "0,2-3" as the kernel and people write them, and the ones this thread may use. */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>

#include "base/num.h"
#include "os/int.h"

#define MASK_CPUS_MAX 65536u

/* "7" or "2-3"; returns what stands behind, NULL when it is neither. */
static const char *read_range(const char *p, uint64_t *ret_first, uint64_t *ret_last)
{
	size_t n = nd_parse_prefix_u64(p, ret_first);

	if (!n)
		return NULL;
	p += n;
	*ret_last = *ret_first;
	if (*p == '-') {
		n = nd_parse_prefix_u64(p + 1, ret_last);
		if (!n)
			return NULL;
		p += 1 + n;
	}
	return *ret_first <= *ret_last && *ret_last <= UINT32_MAX ? p : NULL;
}

int nd_os_cpulist(const char *text, uint32_t *ret, size_t room)
{
	uint64_t first = 0, last = 0;
	const char *p = text;
	size_t count = 0;

	room = ND_MIN(room, (size_t)INT_MAX);
	for (;;) {
		p = read_range(p, &first, &last);
		if (!p)
			return -EINVAL;
		for (; first <= last && count < room; first++)
			ret[count++] = (uint32_t)first;
		if (*p != ',')
			break;
		p++;
	}
	if (*p == '\n')
		p++;
	return *p ? -EINVAL : (int)count;
}

/* The kernel refuses a mask that is smaller than its own. */
int nd_os_allowed_cpus(uint32_t *ret, size_t room)
{
	uint32_t cpus, i;
	size_t bytes, count = 0;
	cpu_set_t *mask;
	int r = -EINVAL;

	for (cpus = CPU_SETSIZE; r == -EINVAL && cpus <= MASK_CPUS_MAX; cpus *= 2) {
		bytes = CPU_ALLOC_SIZE(cpus);
		mask = CPU_ALLOC(cpus);
		if (!mask)
			return -ENOMEM;
		r = sched_getaffinity(0, bytes, mask) < 0 ? -errno : 0;
		for (i = 0; r == 0 && i < cpus && count < room; i++)
			if (CPU_ISSET_S(i, bytes, mask))
				ret[count++] = i;
		CPU_FREE(mask);
	}
	return r < 0 ? r : (int)count;
}
