/* SPDX-License-Identifier: MIT */
/* JSON: one document, or one object per event and line. Everything comes from the rows. */
#include "base/json.h"
#include "report/int.h"

static void put_struct(struct nd_json *j, const struct nd_table *table, const void *base);

static void put_list(struct nd_json *j, const struct nd_field *f, const struct nd_list *list)
{
	const char *item = list->v;
	uint64_t i;

	nd_json_open(j, f->key, '[');
	for (i = 0; i < list->n; i++, item += f->table->size) {
		nd_json_open(j, NULL, '{');
		put_struct(j, f->table, item);
		nd_json_close(j, '}');
	}
	nd_json_close(j, ']');
}

static void put_strings(struct nd_json *j, const char *key, const struct nd_strv *list)
{
	uint64_t i;

	nd_json_open(j, key, '[');
	for (i = 0; i < list->n; i++)
		nd_json_str(j, NULL, list->v[i]);
	nd_json_close(j, ']');
}

static void put_group(struct nd_json *j, const struct nd_field *f, const void *base)
{
	if (!base) {
		nd_json_null(j, f->key);
		return;
	}
	nd_json_open(j, f->key, '{');
	put_struct(j, f->table, base);
	nd_json_close(j, '}');
}

static void put_field(struct nd_json *j, const struct nd_field *f, const void *base)
{
	const void *at = nd_field_at(base, f);

	switch (f->type) {
	case ND_T_U64:
		nd_json_u64(j, f->key, *(const uint64_t *)at);
		break;
	case ND_T_I64:
		nd_json_i64(j, f->key, *(const int64_t *)at);
		break;
	case ND_T_F64:
		nd_json_f64(j, f->key, *(const double *)at);
		break;
	case ND_T_BOOL:
		nd_json_bool(j, f->key, *(const bool *)at);
		break;
	case ND_T_STR:
		nd_json_str(j, f->key, *(const char *const *)at);
		break;
	case ND_T_ENUM:
		nd_json_str(j, f->key, f->names[*(const int *)at]);
		break;
	case ND_T_STRV:
		put_strings(j, f->key, at);
		break;
	case ND_T_GROUP:
		put_group(j, f, at);
		break;
	case ND_T_OPT:
		put_group(j, f, *(const void *const *)at);
		break;
	case ND_T_LIST:
		put_list(j, f, at);
		break;
	case ND_T_MAX:
		break;
	}
}

static void put_struct(struct nd_json *j, const struct nd_table *table, const void *base)
{
	nd_row_for_each(f, table) {
		if (nd_report_shown(f))
			put_field(j, f, base);
	}
}

static void json_result(const struct nd_report_cfg *cfg, const struct nd_result *r,
			struct nd_str *out)
{
	struct nd_json j = { .out = out, .pretty = !cfg->json_lines };

	nd_json_open(&j, NULL, '{');
	if (cfg->json_lines)
		nd_json_str(&j, "event", "result");
	put_struct(&j, &nd_result_table, r);
	if (r->plan && r->plan_table) {
		nd_json_open(&j, "plan", '{');
		put_struct(&j, r->plan_table, r->plan);
		nd_json_close(&j, '}');
	} else {
		nd_json_null(&j, "plan");
	}
	nd_json_close(&j, '}');
	nd_str_addc(out, '\n', 1);
}

static void json_failed(const struct nd_report_cfg *cfg, const struct nd_err *err,
			struct nd_str *out)
{
	struct nd_json j = { .out = out, .pretty = !cfg->json_lines };

	nd_json_open(&j, NULL, '{');
	if (cfg->json_lines)
		nd_json_str(&j, "event", "failed");
	nd_json_str(&j, "tool", "netdyno");
	nd_json_str(&j, "version", ND_VERSION);
	nd_json_open(&j, "error", '{');
	nd_json_i64(&j, "code", err->code);
	nd_json_str(&j, "sentence", err->text);
	nd_json_close(&j, '}');
	nd_json_close(&j, '}');
	nd_str_addc(out, '\n', 1);
}

static void json_progress(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
			  struct nd_str *out)
{
	static const char *const names[ND_PROG_MAX] = {
		[ND_PROG_LISTENING] = "listening", [ND_PROG_CONNECTED] = "connected",
		[ND_PROG_PHASE] = "phase",         [ND_PROG_INTERVAL] = "interval",
		[ND_PROG_WARNING] = "warning",
	};
	struct nd_json j = { .out = out };

	if (!cfg->json_lines || !names[ev->what])
		return;
	nd_json_open(&j, NULL, '{');
	nd_json_str(&j, "event", names[ev->what]);
	if (ev->what == ND_PROG_INTERVAL) {
		nd_json_str(&j, "direction", ev->direction);
		nd_json_bool(&j, "from_receiver", ev->from_receiver);
		put_struct(&j, &nd_interval_joint_table, ev->interval);
	} else {
		nd_json_str(&j, "text", ev->text);
	}
	nd_json_close(&j, '}');
	nd_str_addc(out, '\n', 1);
}

const struct nd_writer nd_writer_json = {
	.name = "json",
	.help = "one JSON document; doc/results.md names every key",
	.progress = json_progress,
	.result = json_result,
	.failed = json_failed,
};
