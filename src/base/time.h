/* SPDX-License-Identifier: MIT */
/* The clocks: monotonic for everything measured, wall clock once for a report's header. */
#ifndef ND_BASE_TIME_H
#define ND_BASE_TIME_H

#include <time.h>

#include "base/base.h"

/** nd_now_ns() - CLOCK_MONOTONIC in ns. Any thread, about 25 ns through the vDSO. */
static inline uint64_t nd_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail with a valid clock id */
	return (uint64_t)t.tv_sec * ND_NS_PER_S + (uint64_t)t.tv_nsec;
}

/** nd_unix_ms() - wall clock, ms since 1970. */
uint64_t nd_unix_ms(void);

/** nd_unix_text() - ISO 8601 UTC text of a wall-clock instant, "2030-01-02T03:04:05Z". */
const char *nd_unix_text(uint64_t unix_ms, char *buf, size_t size);

/** nd_ns_until() - ns from now to @at_ns, 0 when past. */
uint64_t nd_ns_until(uint64_t at_ns);

/** nd_ms_until() - the same for poll(): ms rounded up, -1 for UINT64_MAX, never over INT_MAX. */
int nd_ms_until(uint64_t at_ns);

#endif
