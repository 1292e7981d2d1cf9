/* SPDX-License-Identifier: MIT */
/* A growable text buffer. Allocation failure is remembered, so that callers check once at the end. */
#ifndef ND_BASE_STR_H
#define ND_BASE_STR_H

#include <stdarg.h>

#include "base/base.h"

struct nd_str {
	char *data; /* owned; terminated whenever not NULL */
	size_t len, size;
	bool failed; /* an allocation failed: content is incomplete */
};

/* A buffer belongs to one thread at a time. What adds allocates; a failure sets .failed and leaves the rest out. */

/** nd_str_done() - free the content; empty afterwards, and usable again. */
void nd_str_done(struct nd_str *s);
/** nd_str_reset() - make it empty and forget a failure; the memory is kept. */
void nd_str_reset(struct nd_str *s);
/** nd_str_add() - add @text. */
void nd_str_add(struct nd_str *s, const char *text);
/** nd_str_addn() - add @n bytes. */
void nd_str_addn(struct nd_str *s, const char *text, size_t n);
/** nd_str_addc() - add @c so many @times. */
void nd_str_addc(struct nd_str *s, char c, size_t times);
/** nd_str_addf() - add as printf() writes it. */
void nd_str_addf(struct nd_str *s, const char *fmt, ...) ND_PRINTF(2, 3);
/** nd_str_vaddf() - the same with a list of arguments. */
void nd_str_vaddf(struct nd_str *s, const char *fmt, va_list ap) ND_PRINTF(2, 0);
/**
 * nd_str_wrap() - add @text broken into lines, each behind @indent blanks and ended by a newline.
 * @width: columns of a line, indent included; a longer word stands alone. Newlines in @text stay.
 */
void nd_str_wrap(struct nd_str *s, const char *text, unsigned indent, unsigned width);
/** nd_str_text() - the content, "" when empty. Valid until the next call. */
const char *nd_str_text(const struct nd_str *s);
/**
 * nd_utf8_read() - read one character (RFC 3629: no surrogates, nothing over U+10FFFF, shortest form only).
 * @ret: written only on success. The terminator ends a sequence, as it continues nothing.
 * Return: its bytes, 0 when @text holds no valid one.
 */
unsigned nd_utf8_read(const char *text, uint32_t *ret);

/** nd_utf8_is_control() - whether @c steers a terminal: C0, DEL or C1. */
static inline bool nd_utf8_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

#define nd_auto_str ND_CLEANUP(nd_str_done) struct nd_str

static inline bool nd_str_ok(const struct nd_str *s)
{
	return !s->failed;
}

#endif
