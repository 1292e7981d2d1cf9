/* SPDX-License-Identifier: MIT */
/* One value of an option into the struct that its row points at. */
#include <errno.h>
#include <string.h>

#include "opt/int.h"

#define PER_FLOW "/flow"

static void *member(const struct nd_opt *row, const struct nd_opt_ctx *ctx)
{
	return (char *)ctx->target + row->offset;
}

/* Offsets are made by ND_FIELD_OF(), which checks the type; the detour through void is for the compiler. */
static void set_bool(struct nd_opt_ctx *ctx, uint32_t offset, bool value)
{
	*(bool *)(void *)((char *)ctx->target + offset) = value;
}

static int out_of_memory(const struct nd_opt_ctx *ctx)
{
	return nd_fail(ctx->err, -ENOMEM, "%s: out of memory", ctx->as_typed);
}

static int store_flag(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	bool on = !value || strcmp(value, "no") != 0;

	set_bool(ctx, row->offset, on != row->fixed_false);
	return 0;
}

static int store_number(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return nd_parse_in(ctx->as_typed, value, row->unit, row->min,
			   row->max ? row->max : UINT64_MAX, member(row, ctx), ctx->err);
}

static int store_rate(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	size_t n = strlen(value), tail = strlen(PER_FLOW);
	bool per_flow = n >= tail && !strcmp(value + n - tail, PER_FLOW);
	const char *number = nd_arena_dupn(ctx->arena, value, per_flow ? n - tail : n);
	struct nd_opt_rate *at = member(row, ctx);
	uint64_t v = 0;
	int r;

	if (!number)
		return out_of_memory(ctx);
	r = nd_parse_in(ctx->as_typed, number, row->unit, row->min,
			row->max ? row->max : UINT64_MAX, &v, ctx->err);
	if (r < 0)
		return r;
	at->value = v;
	at->per_flow = per_flow;
	return 0;
}

static int store_string(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const char *copy;

	if (!*value)
		return nd_fail(ctx->err, -EINVAL, "%s: the value is empty", ctx->as_typed);
	copy = nd_arena_dup(ctx->arena, value);
	if (!copy)
		return out_of_memory(ctx);
	*(const char **)member(row, ctx) = copy;
	return 0;
}

static int add_item(const struct nd_opt *row, const char *text, size_t n, struct nd_opt_ctx *ctx)
{
	const char *item = nd_arena_dupn(ctx->arena, text, n);

	if (!item)
		return out_of_memory(ctx);
	if (!n)
		return nd_fail(ctx->err, -EINVAL, "%s: an item of the list is empty",
			       ctx->as_typed);
	return nd_strv_add(ctx->arena, member(row, ctx), item) < 0 ? out_of_memory(ctx) : 0;
}

static int store_list(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const char *comma;
	int r;

	while (row->commas && (comma = strchr(value, ','))) {
		r = add_item(row, value, (size_t)(comma - value), ctx);
		if (r < 0)
			return r;
		value = comma + 1;
	}
	return add_item(row, value, strlen(value), ctx);
}

/* "--engine: 'x' is none of auto, epoll" */
static int none_of(const struct nd_opt *row, const char *value, const struct nd_opt_ctx *ctx)
{
	nd_auto_str names = { 0 };
	const char *name, *help;
	size_t n;

	for (n = 0; (name = nd_opt_value_at(row, n, &help)); n++)
		nd_str_addf(&names, "%s%s", n ? ", " : "", name);
	return nd_fail(ctx->err, -EINVAL, "%s: '%.80s' is none of %s", ctx->as_typed, value,
		       nd_str_text(&names));
}

static int store_enum(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const char *name, *help;
	size_t n;

	for (n = 0; (name = row->values(n, &help)); n++) {
		if (strcmp(name, value) != 0)
			continue;
		*(const char **)member(row, ctx) = name;
		return 0;
	}
	return none_of(row, value, ctx);
}

static int store_int(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const struct nd_opt_choice *c;

	for (c = row->choices; c->name; c++) {
		if (strcmp(c->name, value) != 0)
			continue;
		memcpy(member(row, ctx), &c->value, sizeof(c->value));
		return 0;
	}
	return none_of(row, value, ctx);
}

static int store_custom(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return row->parse(row, value, ctx);
}

static int (*const stores[ND_OPT_MAX])(const struct nd_opt *, const char *, struct nd_opt_ctx *) = {
	[ND_OPT_FLAG] = store_flag, [ND_OPT_NUMBER] = store_number, [ND_OPT_STRING] = store_string,
	[ND_OPT_LIST] = store_list, [ND_OPT_ENUM] = store_enum,     [ND_OPT_INT] = store_int,
	[ND_OPT_RATE] = store_rate, [ND_OPT_CUSTOM] = store_custom,
};

int nd_opt_store(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return stores[row->type](row, value, ctx);
}

int nd_opt_defaults(const struct nd_opt_set *set, void *target, struct nd_arena *arena,
		    struct nd_err *err)
{
	struct nd_opt_ctx ctx = { .target = target, .arena = arena, .err = err };
	struct nd_opt_walk w = { .set = set };
	const struct nd_opt *row;
	char name[64];
	int r;

	while ((row = nd_opt_next(&w))) {
		if (!row->preset)
			continue;
		nd_opt_label(row, name, sizeof(name));
		ctx.as_typed = name;
		r = nd_opt_store(row, row->preset, &ctx);
		if (r < 0)
			return nd_wrap(err, r == -ENOMEM ? r : -EINVAL, "default of %s", set->prog);
	}
	return 0;
}
