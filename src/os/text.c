/* SPDX-License-Identifier: MIT */
/* Words, numbers and one-line facts in the texts of /proc and /sys. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "os/int.h"

#define HEX_DIGITS 8 /* the kernel prints 32 bits */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_end(char c)
{
	return c == '\n' || c == '\0';
}

bool nd_os_word(const char **p, struct nd_os_word *ret)
{
	const char *c = *p;

	while (is_blank(*c))
		c++;
	*p = c;
	if (is_end(*c))
		return false;
	while (!is_blank(*c) && !is_end(*c))
		c++;
	ret->at = *p;
	ret->len = (size_t)(c - *p);
	*p = c;
	return true;
}

const char *nd_os_line(const char *p)
{
	const char *end = strchr(p, '\n');

	return end && end[1] ? end + 1 : NULL;
}

bool nd_os_word_is(struct nd_os_word w, const char *text)
{
	return strlen(text) == w.len && !memcmp(text, w.at, w.len);
}

uint64_t nd_os_word_u64(struct nd_os_word w)
{
	uint64_t v = 0;

	return nd_parse_prefix_u64(w.at, &v) == w.len ? v : ND_UNKNOWN;
}

uint64_t nd_os_word_hex(struct nd_os_word w)
{
	char text[2 + HEX_DIGITS + 1] = "0x";
	uint64_t v = 0;

	if (w.len > HEX_DIGITS)
		return ND_UNKNOWN;
	memcpy(text + 2, w.at, w.len);
	text[2 + w.len] = '\0';
	return nd_parse_number(text, ND_UNIT_COUNT, &v) == 0 ? v : ND_UNKNOWN;
}

uint64_t nd_os_next_u64(const char **p)
{
	struct nd_os_word w;

	return nd_os_word(p, &w) ? nd_os_word_u64(w) : ND_UNKNOWN;
}

void nd_os_blank(void *p, size_t bytes)
{
	memset(p, 0xff, bytes); /* ND_UNKNOWN is all ones */
}

const char *nd_os_value_of(const char *text, const char *key)
{
	size_t n = strlen(key);
	const char *p, *c;

	for (p = text; p; p = nd_os_line(p)) {
		if (strncmp(p, key, n) != 0)
			continue;
		for (c = p + n; is_blank(*c); c++)
			;
		if (*c != ':' && *c != '=')
			continue;
		for (c++; is_blank(*c); c++)
			;
		return c;
	}
	return NULL;
}

const char *nd_os_keep(struct nd_os_reader *r, const char *text)
{
	const char *kept;
	size_t n;

	if (!text)
		return NULL;
	while (is_blank(*text))
		text++;
	n = strcspn(text, "\n");
	while (n && is_blank(text[n - 1]))
		n--;
	if (!n)
		return NULL;
	kept = nd_arena_dupn(r->arena, text, n);
	if (!kept)
		r->failed = true;
	return kept;
}

/* @path: PATH_MAX bytes. False: it would not fit. */
static ND_PRINTF(3, 0) bool place(const struct nd_os *os, char *path, const char *fmt, va_list ap)
{
	int root = snprintf(path, PATH_MAX, "%s/", os->root), n;

	if (root < 0 || root >= PATH_MAX)
		return false;
	n = vsnprintf(path + root, PATH_MAX - (size_t)root, fmt, ap);
	return n >= 0 && n < PATH_MAX - root;
}

static bool peek(const char *path, char *buf, size_t size)
{
	nd_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while (len < size - 1) {
		n = read(fd, buf + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	return true;
}

bool nd_os_peek(struct nd_os *os, char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	bool fits;

	va_start(ap, fmt);
	fits = place(os, path, fmt, ap);
	va_end(ap);
	return fits && peek(path, buf, size);
}

const char *nd_os_fact(struct nd_os_reader *r, const char *fmt, ...)
{
	char path[PATH_MAX], line[ND_OS_LINE_BYTES];
	va_list ap;
	bool fits;

	va_start(ap, fmt);
	fits = place(r->os, path, fmt, ap);
	va_end(ap);
	return fits && peek(path, line, sizeof(line)) ? nd_os_keep(r, line) : NULL;
}

uint64_t nd_os_fact_u64(struct nd_os *os, const char *fmt, ...)
{
	char path[PATH_MAX], line[ND_OS_LINE_BYTES];
	const char *p = line;
	va_list ap;
	bool fits;

	va_start(ap, fmt);
	fits = place(os, path, fmt, ap);
	va_end(ap);
	return fits && peek(path, line, sizeof(line)) ? nd_os_next_u64(&p) : ND_UNKNOWN;
}

bool nd_os_exists(struct nd_os *os, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	bool fits;

	va_start(ap, fmt);
	fits = place(os, path, fmt, ap);
	va_end(ap);
	return fits && access(path, F_OK) == 0;
}
