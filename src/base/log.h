/* SPDX-License-Identifier: MIT */
/* Messages for people, on stderr, from the main thread. The report never goes this way. */
#ifndef ND_BASE_LOG_H
#define ND_BASE_LOG_H

#include "base/base.h"

enum nd_log_level { ND_LOG_ERROR, ND_LOG_WARN, ND_LOG_INFO, ND_LOG_DEBUG };

/** nd_log_set() - write messages up to @level from now on. Main thread, before there are others. */
void nd_log_set(enum nd_log_level level);
/** nd_log_on() - whether messages of @level are written. */
bool nd_log_on(enum nd_log_level level);
/** nd_log_write() - what nd_log() calls once it knows that the message is wanted. */
void nd_log_write(enum nd_log_level level, const char *fmt, ...) ND_PRINTF(2, 3);

/**
 * nd_log_clean() - @text as one line that steers no terminal: control characters and bytes that are not UTF-8
 * become \n, \t, \x1b and so on, whoever typed or sent them.
 * @out: @size bytes, at least 1; what does not fit is cut.
 * Context: any thread, no allocation. Return: @out.
 */
const char *nd_log_clean(const char *text, char *out, size_t size);

/** nd_log_line() - @before as it is and @text cleaned to stderr, whatever the level. */
void nd_log_line(const char *before, const char *text);

/** nd_log() - one line, "netdyno: " in front, flushed. Arguments are not evaluated when silent. */
#define nd_log(level, ...)                                \
	do {                                              \
		if (nd_log_on(level))                     \
			nd_log_write(level, __VA_ARGS__); \
	} while (0)

#endif
