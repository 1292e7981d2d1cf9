/* SPDX-License-Identifier: MIT */
/* Messages for people, one write per line. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"

#define LINE_BYTES  2048
#define CLEAN_BYTES (2 * LINE_BYTES) /* few characters need an escape */

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

/* Bytes of a character that can be shown as it is; 0: it cannot. */
static unsigned shown_bytes(const char *text)
{
	uint32_t c = 0;
	unsigned n = nd_utf8_read(text, &c);

	return n && !nd_utf8_is_control(c) ? n : 0;
}

/* "\n" or "\x1b" into 5 bytes; returns its length. */
static unsigned escape(unsigned char c, char *out)
{
	static const char from[] = "\n\r\t", to[] = "nrt", digits[] = "0123456789abcdef";
	const char *at = c ? strchr(from, c) : NULL;

	out[0] = '\\';
	if (at) {
		out[1] = to[at - from];
		return 2;
	}
	out[1] = 'x';
	out[2] = digits[c >> 4];
	out[3] = digits[c & 15];
	return 4;
}

const char *nd_log_clean(const char *text, char *out, size_t size)
{
	size_t used = 0;
	unsigned n, taken;

	for (; *text; text += taken, used += n) {
		char word[5];
		const char *from = text;

		n = taken = shown_bytes(text);
		if (n == 0) {
			n = escape((unsigned char)*text, word);
			taken = 1;
			from = word;
		}
		if (n >= size - used)
			break;
		memcpy(out + used, from, n);
	}
	out[used] = '\0';
	return out;
}

void nd_log_line(const char *before, const char *text)
{
	char line[CLEAN_BYTES];

	/* glibc writes one call's text at once; nobody is left to tell when it fails */
	(void)fprintf(stderr, "%s%s\n", before, nd_log_clean(text, line, sizeof(line)));
	(void)fflush(stderr);
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
	nd_log_line("netdyno: ", text);
}
