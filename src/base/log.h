/* SPDX-License-Identifier: MIT */
/* Messages for people, on stderr, from the main thread. The report never goes this way. */
#ifndef ND_BASE_LOG_H
#define ND_BASE_LOG_H

#include "base/base.h"

enum nd_log_level { ND_LOG_ERROR, ND_LOG_WARN, ND_LOG_INFO, ND_LOG_DEBUG };

void nd_log_set(enum nd_log_level level);
bool nd_log_on(enum nd_log_level level);
void nd_log_write(enum nd_log_level level, const char *fmt, ...) ND_PRINTF(2, 3);

/** nd_log() - one line, "netdyno: " in front, flushed. Arguments are not evaluated when silent. */
#define nd_log(level, ...)                                \
	do {                                              \
		if (nd_log_on(level))                     \
			nd_log_write(level, __VA_ARGS__); \
	} while (0)

#endif
