/* SPDX-License-Identifier: MIT */
/* --load: "stream", or "packets", and behind it, in any order, what differs from the default. */
#include <errno.h>
#include <string.h>

#include "persona/int.h"

#define MAX_LOAD_FLOWS 10000ull
#define MIN_LOAD_BPS   1000ull
#define MAX_LOAD_BPS   100000000000000ull
#define MAX_LOAD_OPS   1000000000ull

/* clang-format off */
static const struct { const char *word; enum nd_load_way way; } ways[] = {
	{ "up",   ND_LOAD_UP },
	{ "down", ND_LOAD_DOWN },
	{ "both", ND_LOAD_BOTH },
};

/* clang-format on */

/* @name: "--load flows", for a sentence. */
static int read_number(const char *name, const char *text, struct nd_asked_load *load,
		       struct nd_err *err)
{
	const char *what = strchr(name, ' ') + 1;

	if (!strcmp(what, "flows"))
		return nd_parse_in(name, text, ND_UNIT_COUNT, 1, MAX_LOAD_FLOWS, &load->flows, err);
	if (!strcmp(what, "size"))
		return nd_parse_in(name, text, ND_UNIT_BYTES, 1,
				   load->packets ? ND_MAX_DATAGRAM : ND_MAX_MESSAGE, &load->bytes,
				   err);
	if (load->packets)
		return nd_parse_in(name, text, ND_UNIT_OPS, 1, MAX_LOAD_OPS, &load->rate, err);
	return nd_parse_in(name, text, ND_UNIT_BITRATE, MIN_LOAD_BPS, MAX_LOAD_BPS, &load->rate,
			   err);
}

static int read_item(const char *item, struct nd_asked_load *load, struct nd_opt_ctx *ctx)
{
	static const char *const keys[] = { "flows", "size", "rate" };
	const char *name;
	size_t i;

	for (i = 0; i < ND_COUNTOF(ways); i++) {
		if (strcmp(item, ways[i].word) != 0)
			continue;
		load->way = ways[i].way;
		return 0;
	}
	for (i = 0; i < ND_COUNTOF(keys); i++) {
		size_t n = strlen(keys[i]);
		bool is_flows = i == 0 && item[0] >= '0' && item[0] <= '9';

		if (!is_flows && (strncmp(item, keys[i], n) != 0 || item[n] != '='))
			continue;
		name = nd_arena_printf(ctx->arena, "%s %s", ctx->as_typed, keys[i]);
		if (!name)
			return nd_fail(ctx->err, -ENOMEM, "%s: out of memory", ctx->as_typed);
		return read_number(name, is_flows ? item : item + n + 1, load, ctx->err);
	}
	return nd_fail(
		ctx->err, -EINVAL,
		"%s: '%.80s' is none of up, down, both, a number of flows, flows=N, rate=RATE, "
		"size=BYTES",
		ctx->as_typed, item);
}

int nd_persona_parse_load(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	struct nd_asked_load load = { .wanted = true, .way = ND_LOAD_UP, .flows = 1 };
	size_t n = strcspn(value, ",");
	int r = 0;

	(void)row; /* what it takes differs from word to word */
	load.packets = n == strlen("packets") && !strncmp(value, "packets", n);
	if (!load.packets && (n != strlen("stream") || strncmp(value, "stream", n) != 0))
		return nd_fail(ctx->err, -EINVAL,
			       "%s: '%.80s' begins with neither stream nor packets", ctx->as_typed,
			       value);
	for (value += n; r == 0 && *value; value += n) {
		const char *item = nd_arena_dupn(ctx->arena, value + 1, strcspn(value + 1, ","));

		if (!item)
			return nd_fail(ctx->err, -ENOMEM, "%s: out of memory", ctx->as_typed);
		r = read_item(item, &load, ctx);
		n = strlen(item) + 1;
	}
	if (r == 0)
		((struct nd_plan *)ctx->target)->load = load;
	return r;
}
