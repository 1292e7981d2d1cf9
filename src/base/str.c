/* SPDX-License-Identifier: MIT */
/* A growable text buffer that remembers a failed allocation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define FIRST_BYTES 256u

/* Make room for @more bytes and the terminator. */
static bool reserve(struct nd_str *s, size_t more)
{
	size_t need, size;
	char *p;

	if (s->failed)
		return false;
	if (__builtin_add_overflow(s->len, more, &need) || need == SIZE_MAX) {
		s->failed = true;
		return false;
	}
	need++;
	if (need <= s->size)
		return true;
	size = s->size <= SIZE_MAX / 2 ? s->size * 2 : SIZE_MAX;
	size = ND_MAX(size, ND_MAX(need, FIRST_BYTES));
	p = realloc(s->data, size);
	if (!p) {
		s->failed = true;
		return false;
	}
	s->data = p;
	s->size = size;
	return true;
}

void nd_str_done(struct nd_str *s)
{
	if (!s)
		return;
	free(s->data);
	*s = (struct nd_str){ 0 };
}

void nd_str_reset(struct nd_str *s)
{
	s->len = 0;
	s->failed = false;
	if (s->data)
		s->data[0] = '\0';
}

void nd_str_addn(struct nd_str *s, const char *text, size_t n)
{
	if (n == 0 || !reserve(s, n))
		return;
	memcpy(s->data + s->len, text, n);
	s->len += n;
	s->data[s->len] = '\0';
}

void nd_str_add(struct nd_str *s, const char *text)
{
	nd_str_addn(s, text, strlen(text));
}

void nd_str_addc(struct nd_str *s, char c, size_t times)
{
	if (times == 0 || !reserve(s, times))
		return;
	memset(s->data + s->len, c, times);
	s->len += times;
	s->data[s->len] = '\0';
}

void nd_str_vaddf(struct nd_str *s, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0) {
		s->failed = true;
		return;
	}
	if (n == 0 || !reserve(s, (size_t)n))
		return;
	(void)vsnprintf(s->data + s->len, (size_t)n + 1, fmt, ap); /* measured above */
	s->len += (size_t)n;
}

void nd_str_addf(struct nd_str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nd_str_vaddf(s, fmt, ap);
	va_end(ap);
}

/* Columns of UTF-8 text: bytes that do not continue a character. */
static size_t columns(const char *text, size_t n)
{
	size_t i, count = 0;

	for (i = 0; i < n; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

void nd_str_wrap(struct nd_str *s, const char *text, unsigned indent, unsigned width)
{
	size_t at = 0, n, wide; /* columns used on the open line, 0: none open */

	while (*text) {
		if (*text == '\n') {
			nd_str_addc(s, '\n', 1);
			at = 0;
		}
		if (*text == '\n' || *text == ' ') {
			text++;
			continue;
		}
		n = strcspn(text, " \n");
		wide = columns(text, n);
		if (at != 0 && at + 1 + wide > width) {
			nd_str_addc(s, '\n', 1);
			at = 0;
		}
		nd_str_addc(s, ' ', at ? 1 : indent);
		nd_str_addn(s, text, n);
		at += (at ? 1 : indent) + wide;
		text += n;
	}
	if (at != 0)
		nd_str_addc(s, '\n', 1);
}

const char *nd_str_text(const struct nd_str *s)
{
	return s->data ? s->data : "";
}

unsigned nd_utf8_read(const char *text, uint32_t *ret)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)text;
	unsigned n, i;
	uint32_t c;

	if (p[0] < 0x80) {
		*ret = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	c = p[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}
