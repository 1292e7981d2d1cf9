/* SPDX-License-Identifier: MIT */
/*
 * Values of netperf's options. Numbers may have letters behind them that are powers, and most options take two values:
 * one for each end, or one for sending and one for receiving.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "persona/netperf.h"

#define LINE struct nd_netperf_line

#define VALUE_MIN  (-(int64_t)UINT32_MAX)
#define VALUE_MAX  ((int64_t)UINT32_MAX)
#define PHRASE_MAX 647u

static LINE *line_of(const struct nd_opt_ctx *ctx)
{
	return ctx->target;
}

int nd_np_refuse(LINE *l, int code, struct nd_err *err, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* a long sentence is cut */
	va_end(ap);
	l->plan->exits.usage = code;
	return nd_fail(err, -EINVAL, "%s", text);
}

static void *member(const struct nd_opt *row, const struct nd_opt_ctx *ctx)
{
	return (char *)ctx->target + row->offset;
}

/* ---- numbers */

/* Every letter counts, as "KB" does; what is no power is passed over. */
static double power_of(const char *letters)
{
	/* clang-format off */
	static const struct { char letter; double factor; } powers[] = {
		{ 'K', 1024 }, { 'M', 1024 * 1024 }, { 'G', 1024.0 * 1024 * 1024 },
		{ 'k', 1e3 },  { 'm', 1e6 },         { 'g', 1e9 },
	};

	/* clang-format on */
	double factor = 1;
	size_t i;

	for (i = 0; i < ND_COUNTOF(powers); i++)
		if (strchr(letters, powers[i].letter))
			factor *= powers[i].factor;
	return factor;
}

static bool is_letters(const char *text)
{
	for (; *text; text++)
		if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')))
			return false;
	return true;
}

int nd_np_read_size(LINE *l, const char *name, const char *text, int64_t *ret, struct nd_err *err)
{
	int64_t whole = 0;
	size_t n = nd_parse_prefix_i64(text, &whole), fraction = 0;
	double v;

	if (n && text[n] == '.') {
		fraction = 1 + strspn(text + n + 1, "0123456789");
		if (whole == 0 && strpbrk(text + n, "123456789"))
			return nd_np_refuse(l, 1, err,
					    "%s: '%.80s' is below 1, it takes whole numbers", name,
					    text); /* 0 has meanings of its own */
		nd_log(ND_LOG_WARN, "%s: '%.80s' is cut to %lld", name, text, (long long)whole);
	}
	if (!n || !is_letters(text + n + fraction))
		return nd_np_refuse(l, 1, err, "%s: '%.80s' is not a number such as 1400 or 64K",
				    name, text);
	v = (double)whole * power_of(text + n + fraction);
	if (v < (double)VALUE_MIN || v > (double)VALUE_MAX)
		return nd_np_refuse(l, 1, err, "%s: '%.80s' is over %lld", name, text,
				    (long long)VALUE_MAX);
	*ret = (int64_t)v;
	return 0;
}

int nd_np_read_port(LINE *l, const char *name, const char *text, uint64_t *ret, struct nd_err *err)
{
	int64_t port = 0;
	size_t n = nd_parse_prefix_i64(text, &port);

	if (!n || text[n])
		return nd_np_refuse(l, 1, err, "%s: '%.80s' is no port", name, text);
	if (port < 0 || port > UINT16_MAX)
		return nd_np_refuse(l, 1, err, "%s: '%.80s' is outside 0..65535", name, text);
	*ret = (uint64_t)port;
	return 0;
}

int nd_np_family(LINE *l, const char *name, const char *text, enum nd_af *ret, struct nd_err *err)
{
	if (strchr(text, '6'))
		*ret = ND_AF_IPV6;
	else if (strstr(text, "inet") || strchr(text, '4'))
		*ret = ND_AF_IPV4;
	else if (strstr(text, "unspec") || strchr(text, '0'))
		*ret = ND_AF_ANY;
	else
		return nd_np_refuse(l, 1, err, "%s: '%.80s' is neither 4, 6 nor unspec", name,
				    text);
	return 0;
}

/* ---- two of them */

/* Parts of "x", "x,", ",y" or "x,y"; NULL: empty. *ret_comma: there is one. */
static int cut(const struct nd_opt_ctx *ctx, const char *text, struct nd_np_words *ret,
	       bool *ret_comma)
{
	size_t n = strcspn(text, ",");

	*ret_comma = text[n] != '\0';
	*ret = (struct nd_np_words){ 0 };
	if (n) {
		ret->first = nd_arena_dupn(ctx->arena, text, n);
		if (!ret->first)
			return nd_fail(ctx->err, -ENOMEM, "out of memory");
	}
	if (*ret_comma && text[n + 1]) {
		ret->second = nd_arena_dup(ctx->arena, text + n + 1);
		if (!ret->second)
			return nd_fail(ctx->err, -ENOMEM, "out of memory");
	}
	if (!ret->first && !ret->second)
		return nd_np_refuse(line_of(ctx), 1, ctx->err, "%s: '%.80s' has no value",
				    ctx->as_typed, text);
	return 0;
}

typedef int (*read_fn)(LINE *l, const char *name, const char *text, int64_t *ret,
		       struct nd_err *err);

struct two_way {
	read_fn read;
	bool first_alone; /* without a comma the second stays as it was */
};

static int read_two(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx,
		    const struct two_way *way)
{
	struct nd_np_two *to = member(row, ctx);
	struct nd_np_words part;
	bool comma;
	int r = cut(ctx, value, &part, &comma);

	if (r == 0 && part.first)
		r = way->read(line_of(ctx), ctx->as_typed, part.first, &to->first, ctx->err);
	if (r == 0 && part.second)
		r = way->read(line_of(ctx), ctx->as_typed, part.second, &to->second, ctx->err);
	if (r == 0 && !comma && !way->first_alone)
		to->second = to->first;
	return r;
}

int nd_np_parse_sizes(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const struct two_way way = { nd_np_read_size, false };

	return read_two(row, value, ctx, &way);
}

int nd_np_parse_first_sizes(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const struct two_way way = { nd_np_read_size, true };

	return read_two(row, value, ctx, &way);
}

/* "10": ms; "10us", "10s" */
static int read_time(LINE *l, const char *name, const char *text, int64_t *ret, struct nd_err *err)
{
	int64_t v = 0, unit = ND_NS_PER_MS;
	size_t n = nd_parse_prefix_i64(text, &v);

	if (!n || v < 0 || !is_letters(text + n))
		return nd_np_refuse(l, 1, err, "%s: '%.80s' is not a time such as 10, 10us or 1s",
				    name, text);
	if (!strchr(text + n, 'm') && strchr(text + n, 'u'))
		unit = ND_NS_PER_US;
	else if (!strchr(text + n, 'm') && strchr(text + n, 's'))
		unit = ND_NS_PER_S;
	if (__builtin_mul_overflow(v, unit, ret) || *ret > (int64_t)ND_MAX_NS)
		return nd_np_refuse(l, 1, err, "%s: '%.80s' is over 24h", name, text);
	return 0;
}

int nd_np_parse_first_times(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const struct two_way way = { read_time, true };

	return read_two(row, value, ctx, &way);
}

/* clang-format off */
static const struct { const char *name; int tos; } tos_names[] = {
	{ "af11", 0x28 }, { "af12", 0x30 }, { "af13", 0x38 }, { "af21", 0x48 }, { "af22", 0x50 },
	{ "af23", 0x58 }, { "af31", 0x68 }, { "af32", 0x70 }, { "af33", 0x78 }, { "af41", 0x88 },
	{ "af42", 0x90 }, { "af43", 0x98 }, { "cs0", 0x00 },  { "cs1", 0x20 },  { "cs2", 0x40 },
	{ "cs3", 0x60 },  { "cs4", 0x80 },  { "cs5", 0xa0 },  { "cs6", 0xc0 },  { "cs7", 0xe0 },
	{ "ef", 0xb8 },   { "lowdelay", 0x10 }, { "throughput", 0x08 }, { "reliability", 0x04 },
};

/* clang-format on */

static int read_tos(LINE *l, const char *name, const char *text, int64_t *ret, struct nd_err *err)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < ND_COUNTOF(tos_names); i++) {
		if (strcasecmp(text, tos_names[i].name) != 0)
			continue;
		*ret = tos_names[i].tos;
		return 0;
	}
	if (nd_parse_number(text, ND_UNIT_COUNT, &v) < 0 || v > UINT8_MAX)
		return nd_np_refuse(l, 1, err,
				    "%s: '%.80s' is neither 0..255 nor a name such as cs5 or ef",
				    name, text);
	*ret = (int64_t)v;
	return 0;
}

int nd_np_parse_tos(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const struct two_way way = { read_tos, false };

	return read_two(row, value, ctx, &way);
}

static int read_words(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx,
		      bool first_alone)
{
	struct nd_np_words *to = member(row, ctx), part;
	bool comma;
	int r = cut(ctx, value, &part, &comma);

	if (r < 0)
		return r;
	to->first = part.first ?: to->first;
	to->second = part.second ?: to->second;
	if (!comma && !first_alone)
		to->second = to->first;
	return 0;
}

int nd_np_parse_words(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return read_words(row, value, ctx, false);
}

int nd_np_parse_first_words(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return read_words(row, value, ctx, true);
}

/* ---- single ones */

int nd_np_parse_size(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return nd_np_read_size(line_of(ctx), ctx->as_typed, value, member(row, ctx), ctx->err);
}

/* -c, -C: also asks for it */
int nd_np_parse_rate(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	double *to = member(row, ctx);

	if (!strcmp(value, row->optional))
		return 0;
	if (nd_parse_double(value, to) < 0 || *to < 0)
		return nd_np_refuse(line_of(ctx), 1, ctx->err, "%s: '%.80s' is no rate",
				    ctx->as_typed, value);
	return 0;
}

int nd_np_parse_unit(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	if (!*value || !strchr("bBkKmMgGxu", *value))
		return nd_np_refuse(line_of(ctx), 1, ctx->err,
				    "%s: '%.80s' is none of b B k K m M g G x u", ctx->as_typed,
				    value);
	*(int64_t *)member(row, ctx) = (uint8_t)*value;
	return 0;
}

/* Seconds with a fraction; a minus in front asked for what is always done here, and units for what never is. */
int nd_np_parse_interim(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	uint64_t *to = member(row, ctx);
	const char *text = value + (*value == '-' ? 1 : 0);
	double s = 0;
	size_t n = nd_parse_prefix_double(text, &s);

	if (!n || (text[n] && text[n] != ','))
		return nd_np_refuse(line_of(ctx), 1, ctx->err,
				    "%s: '%.80s' is not a number of seconds", ctx->as_typed, value);
	if (s < 0.001 || s > 86400)
		return nd_np_refuse(line_of(ctx), 1, ctx->err, "%s: '%.80s' is outside 1ms..24h",
				    ctx->as_typed, value);
	*to = (uint64_t)(s * (double)ND_NS_PER_S + 0.5);
	return 0;
}

static int keep(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const char **to = member(row, ctx);

	*to = nd_arena_dup(ctx->arena, value);
	return *to ? 0 : nd_fail(ctx->err, -ENOMEM, "out of memory");
}

int nd_np_parse_text(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return keep(row, value, ctx);
}

int nd_np_parse_phrase(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	if (strlen(value) > PHRASE_MAX)
		return nd_np_refuse(line_of(ctx), 1, ctx->err, "%s: the phrase is over %u bytes",
				    ctx->as_typed, PHRASE_MAX);
	return keep(row, value, ctx);
}

/* -o, -O, -k: the last one wins, with its selection or without */
int nd_np_parse_selection(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	struct nd_netperf *n = &line_of(ctx)->n;

	n->style = row->letter == 'o' ? ND_NP_CSV : row->letter == 'O' ? ND_NP_HUMAN : ND_NP_KEYVAL;
	n->selection = NULL;
	return strcmp(value, row->optional) != 0 ? keep(row, value, ctx) : 0;
}

/* Accepted as ever, and without effect. */
int nd_np_parse_nothing(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	(void)value;
	(void)ctx;
	nd_log(ND_LOG_WARN, "-%c has no effect", row->letter);
	return 0;
}
