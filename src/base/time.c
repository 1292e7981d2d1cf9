/* SPDX-License-Identifier: MIT */
/* Wall-clock text and time left until an instant. */
#include <limits.h>

#include "base/time.h"

uint64_t nd_unix_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail with a valid clock id */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / ND_NS_PER_MS;
}

const char *nd_unix_text(uint64_t unix_ms, char *buf, size_t size)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm tm;

	if (size == 0)
		return "";
	if (!gmtime_r(&seconds, &tm) || strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		buf[0] = '\0';
	return buf;
}

uint64_t nd_ns_until(uint64_t at_ns)
{
	uint64_t now = nd_now_ns();

	return at_ns > now ? at_ns - now : 0;
}

int nd_ms_until(uint64_t at_ns)
{
	uint64_t left, ms;

	if (at_ns == UINT64_MAX)
		return -1;
	left = nd_ns_until(at_ns);
	ms = left / ND_NS_PER_MS + (left % ND_NS_PER_MS != 0);
	return ms > INT_MAX ? INT_MAX : (int)ms;
}
