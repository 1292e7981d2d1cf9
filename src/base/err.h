/* SPDX-License-Identifier: MIT */
/* What went wrong, as one sentence, filled where the cause is known. */
#ifndef ND_BASE_ERR_H
#define ND_BASE_ERR_H

#include "base/base.h"

struct nd_err {
	int code;       /* negative errno, 0 when nothing failed */
	char text[512]; /* lower case, no full stop, always terminated */
};

/**
 * nd_fail() - state a failure in words.
 * @err: may be NULL. Overwritten.
 * @code: negative errno.
 * Context: any thread, no allocation. Return: @code, so that `return nd_fail(...)` works.
 */
int nd_fail(struct nd_err *err, int code, const char *fmt, ...) ND_PRINTF(3, 4);

/** nd_sysfail() - the same with errno: appends ": " and the system's words. Return: -errno. */
int nd_sysfail(struct nd_err *err, const char *fmt, ...) ND_PRINTF(2, 3);

/** nd_wrap() - put "words: " before the text that @err holds already. Return: @code. */
int nd_wrap(struct nd_err *err, int code, const char *fmt, ...) ND_PRINTF(3, 4);

/** nd_strerror() - the system's words for @code (its sign is ignored), thread-safe. */
const char *nd_strerror(int code, char *buf, size_t size);

#endif
