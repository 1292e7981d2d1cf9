/* SPDX-License-Identifier: MIT */
/* XML: the same keys as elements; what is unknown is left out. */
#include "base/json.h"
#include "report/int.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Characters that XML 1.0 has no way to write, and bytes that are none, become U+FFFD. */
void nd_report_xml_escape(struct nd_str *out, const char *text)
{
	uint32_t c = 0;
	unsigned n;

	for (; *text; text += n ? n : 1) {
		n = nd_utf8_read(text, &c);
		if (n == 0 || (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0xfffe ||
		    c == 0xffff)
			nd_str_add(out, REPLACEMENT);
		else if (c == '&')
			nd_str_add(out, "&amp;");
		else if (c == '<')
			nd_str_add(out, "&lt;");
		else if (c == '>')
			nd_str_add(out, "&gt;");
		else if (c == '"')
			nd_str_add(out, "&quot;");
		else if (c == '\r' || (c >= 0x7f && c <= 0x9f))
			nd_str_addf(out, "&#%u;", (unsigned)c);
		else
			nd_str_addn(out, text, n);
	}
}

static void put_text(struct nd_str *out, unsigned depth, const char *key, const char *text)
{
	nd_str_addc(out, ' ', (size_t)depth * 2);
	nd_str_addf(out, "<%s>", key);
	nd_report_xml_escape(out, text);
	nd_str_addf(out, "</%s>\n", key);
}

static void put_struct(struct nd_str *out, unsigned depth, const struct nd_table *table,
		       const void *base);

static void put_group(struct nd_str *out, unsigned depth, const char *key,
		      const struct nd_table *table, const void *base)
{
	nd_str_addc(out, ' ', (size_t)depth * 2);
	nd_str_addf(out, "<%s>\n", key);
	put_struct(out, depth + 1, table, base);
	nd_str_addc(out, ' ', (size_t)depth * 2);
	nd_str_addf(out, "</%s>\n", key);
}

static void put_list(struct nd_str *out, unsigned depth, const struct nd_field *f,
		     const struct nd_list *list)
{
	const char *item = list->v;
	uint64_t i;

	nd_str_addc(out, ' ', (size_t)depth * 2);
	nd_str_addf(out, "<%s>\n", f->key);
	for (i = 0; i < list->n; i++, item += f->table->size)
		put_group(out, depth + 1, f->table->name, f->table, item);
	nd_str_addc(out, ' ', (size_t)depth * 2);
	nd_str_addf(out, "</%s>\n", f->key);
}

static void put_strings(struct nd_str *out, unsigned depth, const char *key,
			const struct nd_strv *list)
{
	uint64_t i;

	nd_str_addc(out, ' ', (size_t)depth * 2);
	nd_str_addf(out, "<%s>\n", key);
	for (i = 0; i < list->n; i++)
		put_text(out, depth + 1, "item", list->v[i]);
	nd_str_addc(out, ' ', (size_t)depth * 2);
	nd_str_addf(out, "</%s>\n", key);
}

static void put_number(struct nd_str *out, unsigned depth, const struct nd_field *f, const void *at)
{
	nd_str_addc(out, ' ', (size_t)depth * 2);
	nd_str_addf(out, "<%s>", f->key);
	if (f->type == ND_T_U64)
		nd_str_addf(out, "%llu", (unsigned long long)*(const uint64_t *)at);
	else if (f->type == ND_T_I64)
		nd_str_addf(out, "%lld", (long long)*(const int64_t *)at);
	else
		nd_json_double_text(out, *(const double *)at);
	nd_str_addf(out, "</%s>\n", f->key);
}

static void put_field(struct nd_str *out, unsigned depth, const struct nd_field *f,
		      const void *base)
{
	const void *at = nd_field_at(base, f);

	if (!nd_figure_known(f, base))
		return;
	switch (f->type) {
	case ND_T_U64:
	case ND_T_I64:
	case ND_T_F64:
		put_number(out, depth, f, at);
		break;
	case ND_T_BOOL:
		put_text(out, depth, f->key, *(const bool *)at ? "true" : "false");
		break;
	case ND_T_STR:
		put_text(out, depth, f->key, *(const char *const *)at);
		break;
	case ND_T_ENUM:
		put_text(out, depth, f->key, f->names[*(const int *)at]);
		break;
	case ND_T_STRV:
		put_strings(out, depth, f->key, at);
		break;
	case ND_T_GROUP:
		put_group(out, depth, f->key, f->table, at);
		break;
	case ND_T_OPT:
		put_group(out, depth, f->key, f->table, *(const void *const *)at);
		break;
	case ND_T_LIST:
		put_list(out, depth, f, at);
		break;
	case ND_T_MAX:
		break;
	}
}

static void put_struct(struct nd_str *out, unsigned depth, const struct nd_table *table,
		       const void *base)
{
	nd_row_for_each(f, table) {
		if (nd_report_shown(f))
			put_field(out, depth, f, base);
	}
}

static void xml_result(const struct nd_report_cfg *cfg, const struct nd_result *r,
		       struct nd_str *out)
{
	(void)cfg; /* every writer gets it */
	nd_str_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<netdyno>\n");
	put_struct(out, 1, &nd_result_table, r);
	if (r->plan && r->plan_table)
		put_group(out, 1, "plan", r->plan_table, r->plan);
	nd_str_add(out, "</netdyno>\n");
}

static void xml_failed(const struct nd_report_cfg *cfg, const struct nd_err *err,
		       struct nd_str *out)
{
	(void)cfg; /* every writer gets it */
	nd_str_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<netdyno>\n");
	put_text(out, 1, "tool", "netdyno");
	put_text(out, 1, "version", ND_VERSION);
	nd_str_addf(out, "  <error>\n    <code>%d</code>\n", err->code);
	put_text(out, 2, "sentence", err->text);
	nd_str_add(out, "  </error>\n</netdyno>\n");
}

const struct nd_writer nd_writer_xml = {
	.name = "xml",
	.help = "one XML document with the keys of JSON as elements",
	.result = xml_result,
	.failed = xml_failed,
};
