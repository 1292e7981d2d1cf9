/* SPDX-License-Identifier: MIT */
/* Words that an option of the native verbs takes: names of registries, and values with a grammar of their own. */
#include <errno.h>
#include <string.h>

#include "engine/engine.h"
#include "persona/native.h"

/* ---- lists of names */

const char *nd_persona_engine_names(size_t n, const char **ret_help)
{
	if (n > 0)
		return nd_engine_names(n - 1, ret_help);
	*ret_help =
		"blocking where a thread has one flow, uring where many ask and answer, else epoll";
	return "auto";
}

const char *nd_persona_wait_names(size_t n, const char **ret_help)
{
	if (n > 0)
		return nd_wait_names(n - 1, ret_help);
	*ret_help = "block, but nap where datagrams come fast";
	return "auto";
}

const char *nd_persona_tx_names(size_t n, const char **ret_help)
{
	if (n > 0)
		return nd_xfer_tx_names(n - 1, ret_help);
	*ret_help = "what suits the socket";
	return "auto";
}

const char *nd_persona_rx_names(size_t n, const char **ret_help)
{
	if (n > 0)
		return nd_xfer_rx_names(n - 1, ret_help);
	*ret_help = "what suits the socket";
	return "auto";
}

/* clang-format off */
static const struct { const char *name; uint64_t value; } code_points[] = {
	{ "cs0", 0 },   { "cs1", 8 },   { "cs2", 16 },  { "cs3", 24 },
	{ "cs4", 32 },  { "cs5", 40 },  { "cs6", 48 },  { "cs7", 56 },
	{ "af11", 10 }, { "af12", 12 }, { "af13", 14 }, { "af21", 18 },
	{ "af22", 20 }, { "af23", 22 }, { "af31", 26 }, { "af32", 28 },
	{ "af33", 30 }, { "af41", 34 }, { "af42", 36 }, { "af43", 38 },
	{ "ef", 46 },   { "va", 44 },   { "le", 1 },
};

/* clang-format on */

const char *nd_persona_dscp_names(size_t n, const char **ret_help)
{
	*ret_help = NULL;
	return n < ND_COUNTOF(code_points) ? code_points[n].name : NULL;
}

/* ---- values with a grammar of their own */

int nd_persona_parse_dscp(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	struct nd_sockopts *o = &((struct nd_plan *)ctx->target)->sock;
	size_t i;
	int r = 0;

	for (i = 0; i < ND_COUNTOF(code_points); i++)
		if (!strcmp(value, code_points[i].name))
			break;
	if (i < ND_COUNTOF(code_points))
		o->dscp = code_points[i].value;
	else if (value[0] >= '0' && value[0] <= '9')
		r = nd_parse_in(ctx->as_typed, value, ND_UNIT_COUNT, row->min, row->max, &o->dscp,
				ctx->err);
	else
		r = nd_fail(ctx->err, -EINVAL, "%s: '%.80s' is neither 0..63 nor a name such as ef",
			    ctx->as_typed, value);
	o->has_dscp = r == 0;
	return r;
}

int nd_persona_parse_engine(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	struct nd_plan *plan = ctx->target;
	const char *lacks = nd_engine_lacks(value), *name, *help;
	nd_auto_str names = { 0 };
	size_t i;

	for (i = 0; (name = row->values(i, &help)); i++) {
		if (!strcmp(name, value)) {
			plan->engine = name;
			return 0;
		}
		nd_str_addf(&names, "%s%s", i ? ", " : "", name);
	}
	if (lacks)
		return nd_fail(ctx->err, -EINVAL,
			       "%s: '%s' is not in this program: it was built without %s",
			       ctx->as_typed, value, lacks);
	return nd_fail(ctx->err, -EINVAL, "%s: '%.80s' is none of %s", ctx->as_typed, value,
		       nd_str_text(&names));
}

int nd_persona_parse_request(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	struct nd_plan *plan = ctx->target;
	const char *comma = strchr(value, ',');
	const char *first =
		nd_arena_dupn(ctx->arena, value, comma ? (size_t)(comma - value) : strlen(value));
	uint64_t request = 0, response = 0;
	int r;

	if (!first)
		return nd_fail(ctx->err, -ENOMEM, "%s: out of memory", ctx->as_typed);
	r = nd_parse_in(ctx->as_typed, first, ND_UNIT_BYTES, row->min, row->max, &request,
			ctx->err);
	response = request;
	if (r == 0 && comma)
		r = nd_parse_in(ctx->as_typed, comma + 1, ND_UNIT_BYTES, row->min, row->max,
				&response, ctx->err);
	if (r < 0)
		return r;
	plan->ask.request_bytes = request;
	plan->ask.response_bytes = response;
	return 0;
}

/* A number, or a word for what the plan has a number for: 0 leaves it to the program, 1 is as without. */
static int parse_or_off(const struct nd_opt *row, const char *value, enum nd_unit unit,
			uint64_t *ret, const struct nd_opt_ctx *ctx)
{
	bool is_auto = !strcmp(value, "auto"), is_off = !strcmp(value, "off");

	if (!is_auto && !is_off)
		return nd_parse_in(ctx->as_typed, value, unit, row->min, row->max, ret, ctx->err);
	*ret = is_off ? 1 : 0;
	return 0;
}

int nd_persona_parse_lowat(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	struct nd_plan *plan = ctx->target;

	return parse_or_off(row, value, ND_UNIT_BYTES, &plan->lowat_bytes, ctx);
}

int nd_persona_parse_gso(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	struct nd_plan *plan = ctx->target;

	return parse_or_off(row, value, ND_UNIT_COUNT, &plan->gso, ctx);
}

int nd_persona_parse_sizes(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	struct nd_plan *plan = ctx->target;
	struct nd_size *size;
	uint64_t n = 1;
	int r = 0;

	for (const char *p = value; *p; p++)
		n += *p == ',';
	plan->ask.imix = !strcmp(value, "imix");
	plan->ask.sizes = (struct nd_list){ 0 };
	n = plan->ask.imix ? ND_IMIX_FRAMES : n;
	if (n == 1)
		return nd_parse_in(ctx->as_typed, value, ND_UNIT_BYTES, row->min, row->max,
				   &plan->ask.message_bytes, ctx->err);
	if (n > ND_MAX_SIZES)
		return nd_fail(ctx->err, -EINVAL, "%s: '%.80s' has more than %d sizes",
			       ctx->as_typed, value, ND_MAX_SIZES);
	if (nd_list_new(ctx->arena, &plan->ask.sizes, n, sizeof(*size)) < 0)
		return nd_fail(ctx->err, -ENOMEM, "%s: out of memory", ctx->as_typed);
	size = plan->ask.sizes.v;
	for (; r == 0 && !plan->ask.imix && n-- > 0; size++) {
		size_t len = strcspn(value, ",");
		const char *one = nd_arena_dupn(ctx->arena, value, len);

		size->count = 1;
		if (!one)
			return nd_fail(ctx->err, -ENOMEM, "%s: out of memory", ctx->as_typed);
		r = nd_parse_in(ctx->as_typed, one, ND_UNIT_BYTES, row->min, row->max, &size->bytes,
				ctx->err);
		value += len + (n > 0);
	}
	return r;
}
