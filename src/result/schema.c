/* SPDX-License-Identifier: MIT */
/* The rows as a JSON schema and as a page of documentation. */
#include <string.h>

#include "base/json.h"
#include "result/int.h"
#include "result/progress.h"

#define MAX_TABLES 32

/* clang-format off */
static const char *const unit_words[ND_M_MAX] = {
	[ND_M_NONE]            = "",
	[ND_M_BYTES]           = "bytes",
	[ND_M_BITRATE]         = "bit/s",
	[ND_M_COUNT]           = "count",
	[ND_M_RATE]            = "1/s",
	[ND_M_NS]              = "ns",
	[ND_M_US]              = "us",
	[ND_M_MS]              = "ms",
	[ND_M_S]               = "s",
	[ND_M_RATIO]           = "ratio, 0 to 1",
	[ND_M_PERCENT]         = "percent",
	[ND_M_CPU_S_PER_GB]    = "core-seconds per 10^9 bytes",
	[ND_M_CYCLES_PER_BYTE] = "cycles per byte",
	[ND_M_CORES]           = "cores",
	[ND_M_MHZ]             = "MHz",
};

static const char *const type_words[ND_T_MAX] = {
	[ND_T_U64]   = "integer",
	[ND_T_I64]   = "integer",
	[ND_T_F64]   = "number",
	[ND_T_BOOL]  = "boolean",
	[ND_T_STR]   = "string",
	[ND_T_ENUM]  = "string",
	[ND_T_STRV]  = "list of strings",
	[ND_T_GROUP] = "object",
	[ND_T_OPT]   = "object",
	[ND_T_LIST]  = "list",
};

/* Events of --json-lines, besides the result and a failure. */
static const struct {
	const char *name, *help;
} text_events[] = {
	{ "listening", "Waiting for clients; text says where." },
	{ "connected", "Connected; text says to whom." },
	{ "phase",     "A phase begins; text is its name." },
	{ "warning",   "Said while the test runs; text is a sentence." },
};

/* clang-format on */

/* clang-format off */
static const char doc_head[] =
	"# What a report holds\n"
	"\n"
	"Written by the program from the rows that also write every report; do not edit.\n"
	"\n"
	"The same keys stand in JSON (`-o json`, checked by `results.schema.json`), in XML (elements\n"
	"of the same names, lists hold one element per item named after its section here) and in CSV\n"
	"(columns; those of groups with their path before the key: `tcp_cc`,\n"
	"`server_machine_idle_cores`; no lists but the intervals, which are rows; the figures of the\n"
	"text report, with `-v` every other one behind them). A key never changes its meaning. What\n"
	"nobody could see is `null` in JSON, absent in XML, empty in CSV; it is never 0. The result is\n"
	"the receiver's count; what the sender offered stands beside it.\n"
	"\n"
	"`--json-lines` writes one object per line: `interval` events (the keys of\n"
	"[interval](#interval), with `direction` and `from_receiver`) and at last the result with\n"
	"`\"event\": \"result\"`, or a failure with `\"event\": \"failed\"` and `error.code`,\n"
	"`error.sentence`. Also:\n"
	"\n";

/* clang-format on */

/* Tables that a report holds, each once, in the order in which they are met. */
struct tables {
	const struct nd_table *v[MAX_TABLES];
	size_t n;
};

static bool reported(const struct nd_field *f)
{
	return !(f->show & (ND_HIDE_PEER | ND_NOT_REPORT));
}

/* Walks breadth first: @t grows while it is read. Room ends it, a unit test sees to that. */
static void collect(struct tables *t, const struct nd_table *root)
{
	size_t at, i;

	t->v[t->n++] = root;
	for (at = 0; at < t->n; at++) {
		nd_row_for_each(f, t->v[at]) {
			if (!f->table || !reported(f) || t->n == MAX_TABLES)
				continue;
			for (i = 0; i < t->n && t->v[i] != f->table; i++)
				;
			if (i == t->n)
				t->v[t->n++] = f->table;
		}
	}
}

static void put_types(struct nd_json *j, const char *type, bool may_be_null)
{
	if (!may_be_null) {
		nd_json_str(j, "type", type);
		return;
	}
	nd_json_open(j, "type", '[');
	nd_json_str(j, NULL, type);
	nd_json_str(j, NULL, "null");
	nd_json_close(j, ']');
}

static void put_reference(struct nd_json *j, const char *key, const char *table)
{
	nd_auto_str ref = { 0 };

	nd_str_addf(&ref, "#/$defs/%s", table);
	nd_json_str(j, key, nd_str_text(&ref));
}

static void put_number(struct nd_json *j, const struct nd_field *f)
{
	put_types(j, type_words[f->type], true);
	if (f->type == ND_T_U64)
		nd_json_u64(j, "minimum", 0);
	if (f->measure != ND_M_NONE)
		nd_json_str(j, "x-unit", unit_words[f->measure]);
}

static void put_names(struct nd_json *j, const struct nd_field *f)
{
	const char *const *name;

	nd_json_open(j, "enum", '[');
	for (name = f->names; *name; name++)
		nd_json_str(j, NULL, *name);
	nd_json_close(j, ']');
}

static void put_optional(struct nd_json *j, const struct nd_field *f)
{
	nd_json_open(j, "anyOf", '[');
	nd_json_open(j, NULL, '{');
	put_reference(j, "$ref", f->table->name);
	nd_json_close(j, '}');
	nd_json_open(j, NULL, '{');
	nd_json_str(j, "type", "null");
	nd_json_close(j, '}');
	nd_json_close(j, ']');
}

static void put_list(struct nd_json *j, const struct nd_field *f)
{
	nd_json_str(j, "type", "array");
	nd_json_open(j, "items", '{');
	if (f->type == ND_T_LIST)
		put_reference(j, "$ref", f->table->name);
	else
		nd_json_str(j, "type", "string");
	nd_json_close(j, '}');
}

static void put_field(struct nd_json *j, const struct nd_field *f)
{
	nd_json_open(j, f->key, '{');
	nd_json_str(j, "description", f->help);
	switch (f->type) {
	case ND_T_U64:
	case ND_T_I64:
	case ND_T_F64:
		put_number(j, f);
		break;
	case ND_T_BOOL:
		put_types(j, "boolean", false);
		break;
	case ND_T_STR:
		put_types(j, "string", true);
		break;
	case ND_T_ENUM:
		put_names(j, f);
		break;
	case ND_T_STRV:
	case ND_T_LIST:
		put_list(j, f);
		break;
	case ND_T_GROUP:
		put_reference(j, "$ref", f->table->name);
		break;
	case ND_T_OPT:
		put_optional(j, f);
		break;
	case ND_T_MAX:
		break;
	}
	nd_json_close(j, '}');
}

static void put_properties(struct nd_json *j, const struct nd_table *table)
{
	nd_row_for_each(f, table) {
		if (reported(f))
			put_field(j, f);
	}
}

static void put_required(struct nd_json *j, const struct nd_table *table)
{
	nd_row_for_each(f, table) {
		if (reported(f))
			nd_json_str(j, NULL, f->key);
	}
}

/* A property that may only have one value. */
static void put_constant(struct nd_json *j, const char *key, const char *value)
{
	nd_json_open(j, key, '{');
	nd_json_str(j, "const", value);
	nd_json_close(j, '}');
}

static void put_simple(struct nd_json *j, const char *key, const char *type, bool may_be_null)
{
	nd_json_open(j, key, '{');
	put_types(j, type, may_be_null);
	nd_json_close(j, '}');
}

static void put_table(struct nd_json *j, const struct nd_table *table)
{
	nd_json_open(j, table->name, '{');
	nd_json_str(j, "type", "object");
	nd_json_open(j, "properties", '{');
	put_properties(j, table);
	if (table == &nd_result_table) {
		nd_json_open(j, "plan", '{');
		nd_json_str(j, "description", "What was run: the plan that both ends agreed on.");
		put_types(j, "object", true);
		nd_json_close(j, '}');
		put_constant(j, "event", "result"); /* --json-lines */
	}
	nd_json_close(j, '}');
	nd_json_open(j, "required", '[');
	put_required(j, table);
	if (table == &nd_result_table)
		nd_json_str(j, NULL, "plan");
	nd_json_close(j, ']');
	nd_json_close(j, '}');
}

static void put_failure(struct nd_json *j)
{
	nd_json_open(j, "failure", '{');
	nd_json_str(j, "description", "Written instead of a result.");
	nd_json_str(j, "type", "object");
	nd_json_open(j, "properties", '{');
	put_simple(j, "tool", "string", false);
	put_simple(j, "version", "string", false);
	put_constant(j, "event", "failed"); /* --json-lines */
	nd_json_open(j, "error", '{');
	nd_json_str(j, "type", "object");
	nd_json_open(j, "properties", '{');
	put_simple(j, "code", "integer", false);
	put_simple(j, "sentence", "string", false);
	nd_json_close(j, '}');
	nd_json_open(j, "required", '[');
	nd_json_str(j, NULL, "code");
	nd_json_str(j, NULL, "sentence");
	nd_json_close(j, ']');
	nd_json_close(j, '}');
	nd_json_close(j, '}');
	nd_json_open(j, "required", '[');
	nd_json_str(j, NULL, "tool");
	nd_json_str(j, NULL, "version");
	nd_json_str(j, NULL, "error");
	nd_json_close(j, ']');
	nd_json_close(j, '}');
}

static void put_interval_event(struct nd_json *j)
{
	nd_json_open(j, "interval_event", '{');
	nd_json_str(j, "description", "One interval of one direction, while the test runs.");
	nd_json_str(j, "type", "object");
	nd_json_open(j, "properties", '{');
	put_constant(j, "event", "interval");
	put_simple(j, "direction", "string", true);
	put_simple(j, "from_receiver", "boolean", false);
	put_properties(j, &nd_interval_joint_table);
	nd_json_close(j, '}');
	nd_json_open(j, "required", '[');
	nd_json_str(j, NULL, "event");
	nd_json_str(j, NULL, "direction");
	nd_json_str(j, NULL, "from_receiver");
	put_required(j, &nd_interval_joint_table);
	nd_json_close(j, ']');
	nd_json_close(j, '}');
}

static void put_text_event(struct nd_json *j)
{
	size_t i;

	nd_json_open(j, "text_event", '{');
	nd_json_str(j, "type", "object");
	nd_json_open(j, "properties", '{');
	nd_json_open(j, "event", '{');
	nd_json_open(j, "enum", '[');
	for (i = 0; i < ND_COUNTOF(text_events); i++)
		nd_json_str(j, NULL, text_events[i].name);
	nd_json_close(j, ']');
	nd_json_close(j, '}');
	put_simple(j, "text", "string", true);
	nd_json_close(j, '}');
	nd_json_open(j, "required", '[');
	nd_json_str(j, NULL, "event");
	nd_json_str(j, NULL, "text");
	nd_json_close(j, ']');
	nd_json_close(j, '}');
}

void nd_result_schema(struct nd_str *out)
{
	static const char *const documents[] = { "result", "failure", "interval_event",
						 "text_event" };
	struct nd_json j = { .out = out, .pretty = true };
	struct tables t = { 0 };
	size_t i;

	collect(&t, &nd_result_table);
	nd_json_open(&j, NULL, '{');
	nd_json_str(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	nd_json_str(&j, "title", "netdyno report");
	nd_json_str(
		&j, "description",
		"A report, or one line of --json-lines. Unknown figures are null, never 0. Later "
		"versions may add keys.");
	nd_json_open(&j, "anyOf", '[');
	for (i = 0; i < ND_COUNTOF(documents); i++) {
		nd_json_open(&j, NULL, '{');
		put_reference(&j, "$ref", documents[i]);
		nd_json_close(&j, '}');
	}
	nd_json_close(&j, ']');
	nd_json_open(&j, "$defs", '{');
	for (i = 0; i < t.n; i++)
		put_table(&j, t.v[i]);
	put_failure(&j);
	put_interval_event(&j);
	put_text_event(&j);
	nd_json_close(&j, '}');
	nd_json_close(&j, '}');
	nd_str_addc(out, '\n', 1);
}

static void doc_type(struct nd_str *out, const struct nd_field *f)
{
	const char *const *name;

	nd_str_add(out, type_words[f->type]);
	if (f->type == ND_T_LIST)
		nd_str_addf(out, " of [%s](#%s)", f->table->name, f->table->name);
	else if (f->table)
		nd_str_addf(out, " [%s](#%s)", f->table->name, f->table->name);
	if (f->type == ND_T_ENUM) {
		nd_str_add(out, ":");
		for (name = f->names; *name; name++)
			nd_str_addf(out, " %s", *name);
	}
}

static void doc_table(struct nd_str *out, const struct nd_table *table)
{
	nd_str_addf(out, "\n## %s\n\n| key | type | unit | meaning |\n|---|---|---|---|\n",
		    table->name);
	nd_row_for_each(f, table) {
		if (!reported(f))
			continue;
		nd_str_addf(out, "| `%s` | ", f->key);
		doc_type(out, f);
		nd_str_addf(out, " | %s | %s |\n", unit_words[f->measure], f->help ? f->help : "");
	}
	if (table == &nd_result_table)
		nd_str_add(out, "| `plan` | object |  | What was run: the plan that both ends "
				"agreed on. |\n");
}

void nd_result_doc(struct nd_str *out)
{
	struct tables t = { 0 };
	size_t i;

	collect(&t, &nd_result_table);
	nd_str_add(out, doc_head);
	for (i = 0; i < ND_COUNTOF(text_events); i++)
		nd_str_addf(out, "* `%s`: %s\n", text_events[i].name, text_events[i].help);
	for (i = 0; i < t.n; i++)
		doc_table(out, t.v[i]);
}
