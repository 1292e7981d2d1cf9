/* SPDX-License-Identifier: MIT */
/* Sentences about failures: stated where the cause is known, widened on the way up. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* strerror_r() comes in two kinds: GNU returns the words, POSIX (musl) a number; buf has them. */
static ND_UNUSED const char *words_of_gnu(const char *r, const char *buf)
{
	(void)buf;
	return r;
}

static ND_UNUSED const char *words_of_posix(int r, const char *buf)
{
	return r == 0 ? buf : "unknown error";
}

#define WORDS_OF(call, buf) \
	_Generic((call), char * : words_of_gnu, int : words_of_posix)((call), (buf))

/* What does not fit is cut. */
static void append(struct nd_err *err, const char *more)
{
	size_t at = strnlen(err->text, sizeof(err->text) - 1);
	size_t n = strnlen(more, sizeof(err->text) - 1 - at);

	memcpy(err->text + at, more, n);
	err->text[at + n] = '\0';
}

/* @words is never err->text itself: arguments may point into the text that is replaced. */
static void keep(struct nd_err *err, int code, const char *words, const char *tail)
{
	if (!err)
		return;
	err->code = code;
	err->text[0] = '\0';
	append(err, words);
	if (tail) {
		append(err, ": ");
		append(err, tail);
	}
}

static int positive(int code)
{
	if (code == INT_MIN)
		return INT_MAX;
	return code < 0 ? -code : code;
}

const char *nd_strerror(int code, char *buf, size_t size)
{
	if (size == 0)
		return "";
	buf[0] = '\0';
	return WORDS_OF(strerror_r(positive(code), buf, size), buf);
}

int nd_fail(struct nd_err *err, int code, const char *fmt, ...)
{
	char words[sizeof(err->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, ap); /* a long sentence is cut */
	va_end(ap);
	keep(err, code, words, NULL);
	return code;
}

int nd_sysfail(struct nd_err *err, const char *fmt, ...)
{
	char words[sizeof(err->text)], system_words[128];
	int code = errno ? -errno : -EIO; /* 0 would read as success */
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, ap); /* a long sentence is cut */
	va_end(ap);
	keep(err, code, words, nd_strerror(code, system_words, sizeof(system_words)));
	return code;
}

int nd_wrap(struct nd_err *err, int code, const char *fmt, ...)
{
	char words[sizeof(err->text)], before[sizeof(err->text)], system_words[128];
	const char *tail = before;
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, ap); /* a long sentence is cut */
	va_end(ap);
	memcpy(before, err->text, sizeof(before));
	if (!before[0]) /* the callee said nothing: the system's words are better than none */
		tail = nd_strerror(code, system_words, sizeof(system_words));
	keep(err, code, words, tail);
	return code;
}
