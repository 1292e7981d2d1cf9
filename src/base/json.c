/* SPDX-License-Identifier: MIT */
/* JSON text, written as it comes (RFC 8259). */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"

#define DEPTH_MAX   64
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static uint64_t depth_bit(const struct nd_json *j)
{
	return j->depth ? 1ull << (j->depth - 1) : 0;
}

static void new_line(struct nd_json *j)
{
	if (!j->pretty)
		return;
	nd_str_addc(j->out, '\n', 1);
	nd_str_addc(j->out, ' ', (size_t)j->depth * 2);
}

/* The letter of a two-character escape, 0 when @c has none. */
static char short_escape(uint32_t c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = c > 0 && c < 0x80 ? strchr(from, (int)c) : NULL;

	if (!at)
		return '\0';
	return to[at - from];
}

/* C0, DEL and C1: all that could steer a terminal. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

static void add_quoted(struct nd_str *out, const char *text)
{
	const char *plain = text; /* first byte that is not written yet */
	uint32_t c = 0;
	unsigned n = 0;

	nd_str_addc(out, '"', 1);
	for (; *text; text += n ? n : 1, plain = text) {
		for (; *text; text += n) {
			n = nd_utf8_read(text, &c);
			if (n == 0 || short_escape(c) || is_control(c))
				break;
		}
		nd_str_addn(out, plain, (size_t)(text - plain));
		if (!*text)
			break;
		if (n == 0) {
			nd_str_add(out, REPLACEMENT);
		} else if (short_escape(c)) {
			nd_str_addc(out, '\\', 1);
			nd_str_addc(out, short_escape(c), 1);
		} else {
			nd_str_addf(out, "\\u%04x", (unsigned)c);
		}
	}
	nd_str_addc(out, '"', 1);
}

/* Comma, line and key in front of any value. */
static void begin(struct nd_json *j, const char *key)
{
	if (j->depth > 0) {
		if (j->has_member & depth_bit(j))
			nd_str_addc(j->out, ',', 1);
		j->has_member |= depth_bit(j);
		new_line(j);
	}
	if (key) {
		add_quoted(j->out, key);
		nd_str_add(j->out, j->pretty ? ": " : ":");
	}
}

void nd_json_open(struct nd_json *j, const char *key, char bracket)
{
	assert(j->depth < DEPTH_MAX);
	begin(j, key);
	nd_str_addc(j->out, bracket, 1);
	j->depth++;
	j->has_member &= ~depth_bit(j);
}

void nd_json_close(struct nd_json *j, char bracket)
{
	bool filled = j->has_member & depth_bit(j);

	assert(j->depth > 0);
	j->depth--;
	if (filled)
		new_line(j);
	nd_str_addc(j->out, bracket, 1);
}

void nd_json_str(struct nd_json *j, const char *key, const char *value)
{
	begin(j, key);
	if (value)
		add_quoted(j->out, value);
	else
		nd_str_add(j->out, "null");
}

void nd_json_u64(struct nd_json *j, const char *key, uint64_t value)
{
	begin(j, key);
	if (value == ND_UNKNOWN)
		nd_str_add(j->out, "null");
	else
		nd_str_addf(j->out, "%llu", (unsigned long long)value);
}

void nd_json_i64(struct nd_json *j, const char *key, int64_t value)
{
	begin(j, key);
	if (value == INT64_MIN)
		nd_str_add(j->out, "null");
	else
		nd_str_addf(j->out, "%lld", (long long)value);
}

void nd_json_f64(struct nd_json *j, const char *key, double value)
{
	begin(j, key);
	nd_json_double_text(j->out, value);
}

void nd_json_bool(struct nd_json *j, const char *key, bool value)
{
	begin(j, key);
	nd_str_add(j->out, value ? "true" : "false");
}

void nd_json_null(struct nd_json *j, const char *key)
{
	begin(j, key);
	nd_str_add(j->out, "null");
}

void nd_json_double_text(struct nd_str *out, double value)
{
	char text[32];
	double back = 0;
	int digits;

	if (!isfinite(value)) {
		nd_str_add(out, "null");
		return;
	}
	if (signbit(value) && !(value < 0)) {
		nd_str_add(out, "-0.0"); /* readers take "-0" for the whole number 0 */
		return;
	}
	for (digits = 15; digits <= 17; digits++) { /* 17 always read back the same */
		(void)snprintf(text, sizeof(text), "%.*g", digits, value); /* at most 24 bytes */
		if (nd_parse_double(text, &back) == 0 && back >= value && back <= value)
			break;
	}
	nd_str_add(out, text);
}
