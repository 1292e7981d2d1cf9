/* SPDX-License-Identifier: MIT */
/* Messages for people, one write per line. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/log.h"

#define LINE_BYTES 2048

/* Set by main once the command line is read; any thread may ask. */
static _Atomic int log_level = ND_LOG_WARN;

void nd_log_set(enum nd_log_level level)
{
	atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

bool nd_log_on(enum nd_log_level level)
{
	return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

void nd_log_write(enum nd_log_level level, const char *fmt, ...)
{
	char text[LINE_BYTES];
	va_list ap;

	if (!nd_log_on(level))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* a long line is cut */
	va_end(ap);
	(void)fprintf(stderr, "netdyno: %s\n", text); /* glibc writes one call's text at once */
	(void)fflush(stderr);                         /* nobody is left to tell */
}
