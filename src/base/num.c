/* SPDX-License-Identifier: MIT */
/* Numbers with units, in exact integer arithmetic. A new suffix is a row of its unit's table. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#define FRACTION_DIGITS 19 /* 10^19 is the last power of ten below 2^64 */
#define NUMBER_BYTES    64 /* longest text that nd_format_unit() makes, with room */

struct suffix {
	const char *text; /* NULL ends a table */
	uint64_t factor;
};

struct unit {
	const struct suffix *suffixes; /* in the order in which equally short texts are preferred */
	const char *const *tails;      /* what may stand behind a suffix, "" first */
	uint64_t bare;                 /* factor of a number without suffix */
	const char *words;             /* "is not ..." */
};

/* What was read, before it is known whether all of it makes sense. */
struct reading {
	uint64_t whole, fraction; /* fraction / 10^digits, no trailing zeros */
	unsigned digits;
	bool overflow, too_fine;
};

/* clang-format off */
static const struct suffix scales[] = {
	{ "",   1 },
	{ "k",  1000 },
	{ "M",  1000000 },
	{ "G",  1000000000 },
	{ "T",  1000000000000 },
	{ "Ki", 1ull << 10 },
	{ "Mi", 1ull << 20 },
	{ "Gi", 1ull << 30 },
	{ "Ti", 1ull << 40 },
	{ NULL, 0 }
};

static const struct suffix times[] = {
	{ "s",  ND_NS_PER_S },
	{ "ms", ND_NS_PER_MS },
	{ "us", ND_NS_PER_US },
	{ "ns", 1 },
	{ "m",  60 * ND_NS_PER_S },
	{ "h",  3600 * ND_NS_PER_S },
	{ NULL, 0 }
};

static const struct suffix percents[] = {
	{ "%",  10000 },
	{ NULL, 0 }
};

static const char *const no_tails[]   = { "", NULL };
static const char *const ops_tails[]  = { "", "/s", "pps", NULL };
static const char *const byte_tails[] = { "", "B", NULL };
static const char *const bit_tails[]  = { "", "bit", "bit/s", "bps", NULL };

static const struct unit units[ND_UNIT_MAX] = {
	[ND_UNIT_COUNT]   = { scales,   no_tails,   1,           "a number such as 1500, 64k or 1Mi" },
	[ND_UNIT_OPS]     = { scales,   ops_tails,  1,           "a number a second such as 500, 64k or 1Mpps" },
	[ND_UNIT_BYTES]   = { scales,   byte_tails, 1,           "a size such as 1500, 128Ki or 1.5MB" },
	[ND_UNIT_BITRATE] = { scales,   bit_tails,  1,           "a rate such as 500M, 2.5G or 10Gbit/s" },
	[ND_UNIT_TIME_NS] = { times,    no_tails,   ND_NS_PER_S, "a time such as 10, 250ms or 1.5h" },
	[ND_UNIT_PERCENT] = { percents, no_tails,   10000,       "a percentage such as 1 or 0.5%" },
};

/* clang-format on */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void push_digit(struct reading *r, unsigned base, unsigned digit)
{
	if (__builtin_mul_overflow(r->whole, base, &r->whole) ||
	    __builtin_add_overflow(r->whole, digit, &r->whole))
		r->overflow = true;
}

/* Digits behind the point. Zeros count only once something follows them. */
static const char *read_fraction(const char *p, struct reading *r)
{
	unsigned zeros = 0;

	for (; is_digit(*p); p++) {
		if (*p == '0') {
			zeros++;
			continue;
		}
		if (zeros >= FRACTION_DIGITS || r->digits + zeros >= FRACTION_DIGITS) {
			r->too_fine = true;
			zeros = 0;
			continue;
		}
		for (; zeros; zeros--, r->digits++)
			r->fraction *= 10;
		r->fraction = r->fraction * 10 + (uint64_t)(*p - '0');
		r->digits++;
	}
	return p;
}

/* Returns what stands behind the number, NULL when there is none. */
static const char *read_decimal(const char *p, struct reading *r)
{
	if (!is_digit(*p))
		return NULL;
	for (; is_digit(*p); p++)
		push_digit(r, 10, (unsigned)(*p - '0'));
	if (*p != '.')
		return p;
	return is_digit(p[1]) ? read_fraction(p + 1, r) : NULL;
}

static const char *read_hex(const char *p, struct reading *r)
{
	if (hex_digit(*p) < 0)
		return NULL;
	for (; hex_digit(*p) >= 0; p++)
		push_digit(r, 16, (unsigned)hex_digit(*p));
	return *p ? NULL : p;
}

/* Factor of the suffix that is all of @text, 0 when it is none of this unit. */
static uint64_t find_factor(const char *text, const struct unit *u)
{
	const struct suffix *s;
	const char *const *t;
	size_t n;

	for (t = u->tails; *t; t++)
		if (!strcmp(text, *t))
			return u->bare;
	for (s = u->suffixes; s->text; s++) {
		n = strlen(s->text);
		if (strncmp(text, s->text, n) != 0)
			continue;
		for (t = u->tails; *t; t++)
			if (!strcmp(text + n, *t))
				return s->factor;
	}
	return 0;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	uint64_t rest;

	for (; b; b = rest) {
		rest = a % b;
		a = b;
	}
	return a;
}

static uint64_t power_of_ten(unsigned n)
{
	uint64_t p = 1;

	while (n--)
		p *= 10;
	return p;
}

/* (whole + fraction / 10^digits) * factor, exactly or not at all. */
static int scale(const struct reading *r, uint64_t factor, uint64_t *ret)
{
	uint64_t ten = power_of_ten(r->digits), shared = common_divisor(factor, ten), v;

	/* The divisor is cut down first, so that the product below stays under one factor. */
	if (r->too_fine || r->fraction % (ten / shared) != 0)
		return -EINVAL;
	if (r->overflow || __builtin_mul_overflow(r->whole, factor, &v) ||
	    __builtin_add_overflow(v, r->fraction / (ten / shared) * (factor / shared), &v))
		return -ERANGE;
	*ret = v;
	return 0;
}

int nd_parse_number(const char *text, enum nd_unit unit, uint64_t *ret)
{
	const struct unit *u = &units[unit];
	struct reading r = { 0 };
	const char *behind;
	uint64_t factor;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		behind = read_hex(text + 2, &r);
	else
		behind = read_decimal(text, &r);
	if (!behind)
		return -EINVAL;
	factor = find_factor(behind, u);
	return factor ? scale(&r, factor, ret) : -EINVAL;
}

/* NOLINTNEXTLINE(readability-function-size): a row's limits, two outputs, and what to call it */
int nd_parse_in(const char *name, const char *text, enum nd_unit unit, uint64_t min, uint64_t max,
		uint64_t *ret, struct nd_err *err)
{
	char low[NUMBER_BYTES], high[NUMBER_BYTES];
	uint64_t v = 0;
	int r = nd_parse_number(text, unit, &v);

	if (r == -EINVAL && text[0] == '-' && nd_parse_number(text + 1, unit, &v) == 0)
		r = -ERANGE; /* a number, and below every limit */
	if (r == -EINVAL)
		return nd_fail(err, r, "%s: '%.80s' is not %s", name, text, units[unit].words);
	if (r == 0 && v >= min && v <= max) {
		*ret = v;
		return 0;
	}
	(void)nd_format_unit(min, unit, low, sizeof(low)); /* returns the buffer */
	if (max == UINT64_MAX)
		return nd_fail(err, -ERANGE, "%s: '%.80s' is %s%s", name, text,
			       r && *text != '-' ? "too large" : "below ",
			       r && *text != '-' ? "" : low);
	return nd_fail(err, -ERANGE, "%s: '%.80s' is outside %s..%s", name, text, low,
		       nd_format_unit(max, unit, high, sizeof(high)));
}

/* -123.4e-5: returns what stands behind it, NULL when it is no number. */
static const char *skip_double(const char *p)
{
	struct reading unused = { 0 };

	if (*p == '-')
		p++;
	p = read_decimal(p, &unused);
	if (!p || (*p != 'e' && *p != 'E'))
		return p;
	p++;
	if (*p == '-' || *p == '+')
		p++;
	if (!is_digit(*p))
		return NULL;
	while (is_digit(*p))
		p++;
	return p;
}

size_t nd_parse_prefix_double(const char *text, double *ret)
{
	const char *end = skip_double(text);
	char *stop = NULL;
	double v;

	if (!end)
		return 0;
	v = strtod(text, &stop); /* too small a number becomes 0 */
	if (stop != end || !isfinite(v))
		return 0; /* "0x1p3" is longer than what was checked */
	*ret = v;
	return (size_t)(end - text);
}

int nd_parse_double(const char *text, double *ret)
{
	double v = 0;
	size_t n = nd_parse_prefix_double(text, &v);

	if (n == 0 || text[n])
		return -EINVAL;
	*ret = v;
	return 0;
}

size_t nd_parse_prefix_u64(const char *text, uint64_t *ret)
{
	struct reading r = { 0 };
	const char *p = text;

	for (; is_digit(*p); p++)
		push_digit(&r, 10, (unsigned)(*p - '0'));
	if (p == text || r.overflow)
		return 0;
	*ret = r.whole;
	return (size_t)(p - text);
}

size_t nd_parse_prefix_i64(const char *text, int64_t *ret)
{
	size_t sign = text[0] == '-' ? 1 : 0, n;
	uint64_t v = 0;

	n = nd_parse_prefix_u64(text + sign, &v);
	if (n == 0 || v > (uint64_t)INT64_MAX + sign)
		return 0;
	*ret = (int64_t)(sign ? -v : v);
	return sign + n;
}

/* @value / factor and the suffix, exactly. Returns the length, 0 when the fraction has no end. */
static size_t write_scaled(uint64_t value, const struct suffix *s, char *buf, unsigned *ret_digits)
{
	uint64_t factor = s->factor, rest = value % factor;
	char fraction[FRACTION_DIGITS + 1];
	unsigned n = 0;
	int len;

	for (; rest && n < FRACTION_DIGITS; n++) {
		fraction[n] = (char)('0' + rest * 10 / factor); /* a factor is below 2^42 */
		rest = rest * 10 % factor;
	}
	if (rest)
		return 0;
	fraction[n] = '\0';
	len = snprintf(buf, NUMBER_BYTES, "%llu%s%s%s", (unsigned long long)(value / factor),
		       n ? "." : "", fraction, s->text);
	*ret_digits = n;
	return len > 0 ? (size_t)len : 0;
}

const char *nd_format_unit(uint64_t value, enum nd_unit unit, char *buf, size_t size)
{
	char best[NUMBER_BYTES] = "", text[NUMBER_BYTES];
	size_t best_len = SIZE_MAX, len;
	unsigned best_digits = 0, digits = 0;
	const struct suffix *s;

	for (s = units[unit].suffixes; s->text; s++) {
		len = write_scaled(value, s, text, &digits);
		if (len == 0 || len > best_len || (len == best_len && digits >= best_digits))
			continue;
		memcpy(best, text, sizeof(best));
		best_len = len;
		best_digits = digits;
	}
	if (size == 0)
		return "";
	(void)snprintf(buf, size, "%s", best); /* a caller's small buffer cuts */
	return buf;
}
