/* SPDX-License-Identifier: MIT */
/*
 * CSV (RFC 4180, lines end with a line feed): a row per interval, then a row with the totals of the
 * measured window, for each direction. Figures in base units; unknown is empty.
 */
#include <string.h>

#include "base/json.h"
#include "report/int.h"

static bool is_column(const struct nd_field *f)
{
	return (f->show & ND_SHOW_COLUMN) && nd_report_shown(f);
}

static const struct nd_field *find(const struct nd_table *table, const char *key)
{
	nd_row_for_each(f, table) {
		if (!strcmp(f->key, key))
			return f;
	}
	return NULL;
}

/* A column of the totals alone: intervals have no such key. */
static bool is_extra(const struct nd_field *f)
{
	return is_column(f) && !find(&nd_interval_joint_table, f->key);
}

static void put_text(struct nd_str *out, const char *text)
{
	nd_str_addc(out, '"', 1);
	for (; *text; text++)
		nd_str_addc(out, *text, *text == '"' ? 2 : 1);
	nd_str_addc(out, '"', 1);
}

static void put_cell(struct nd_str *out, const struct nd_field *f, const void *base)
{
	const void *at = nd_field_at(base, f);

	nd_str_addc(out, ',', 1);
	if (!nd_figure_known(f, base))
		return;
	if (f->type == ND_T_U64)
		nd_str_addf(out, "%llu", (unsigned long long)*(const uint64_t *)at);
	else if (f->type == ND_T_F64)
		nd_json_double_text(out, *(const double *)at);
	else if (f->type == ND_T_BOOL)
		nd_str_add(out, *(const bool *)at ? "true" : "false");
	else if (f->type == ND_T_STR)
		put_text(out, *(const char *const *)at);
}

static void put_start(struct nd_str *out, const struct nd_result *r, const struct nd_direction *d,
		      const char *row)
{
	put_text(out, d->label);
	nd_str_addf(out, ",%s,%s,%s", row, r->partial ? "true" : "false",
		    r->same_host ? "true" : "false");
}

static void put_interval(struct nd_str *out, const struct nd_interval_joint *i)
{
	nd_row_for_each(f, &nd_interval_joint_table) {
		if (is_column(f))
			put_cell(out, f, i);
	}
	nd_row_for_each(f, &nd_direction_table) {
		if (is_extra(f))
			nd_str_addc(out, ',', 1);
	}
	nd_str_addc(out, '\n', 1);
}

static uint64_t transactions_of(const struct nd_result *r, const struct nd_direction *d)
{
	const struct nd_part *p = nd_result_part(nd_result_sender(r, d), d->workload);

	return p && d->transactional ? p->window.transactions : ND_UNKNOWN;
}

/* The measured window in the columns of an interval. */
static void put_totals(struct nd_str *out, const struct nd_result *r, const struct nd_direction *d)
{
	struct nd_interval_joint total;

	nd_table_unknown(&nd_interval_joint_table, &total);
	total.start_s = d->window_start_s;
	total.end_s = d->window_start_s + d->window_s;
	total.phase = "measure";
	total.goodput_bps = d->goodput_bps;
	total.offered_bps = d->offered_bps;
	total.received_bytes = d->received_bytes;
	total.sent_bytes = d->sent_bytes;
	total.transactions = transactions_of(r, d);
	nd_row_for_each(f, &nd_interval_joint_table) {
		if (is_column(f))
			put_cell(out, f, &total);
	}
	nd_row_for_each(f, &nd_direction_table) {
		if (is_extra(f))
			put_cell(out, f, d);
	}
	nd_str_addc(out, '\n', 1);
}

static void csv_begin(const struct nd_report_cfg *cfg, struct nd_str *out)
{
	(void)cfg; /* every writer gets it */
	nd_str_add(out, "direction,row,partial,same_host");
	nd_row_for_each(f, &nd_interval_joint_table) {
		if (is_column(f))
			nd_str_addf(out, ",%s", f->key);
	}
	nd_row_for_each(f, &nd_direction_table) {
		if (is_extra(f))
			nd_str_addf(out, ",%s", f->key);
	}
	nd_str_addc(out, '\n', 1);
}

static void csv_result(const struct nd_report_cfg *cfg, const struct nd_result *r,
		       struct nd_str *out)
{
	const struct nd_direction *d = r->directions.v;
	const struct nd_interval_joint *row;
	uint64_t i, k;

	(void)cfg; /* every writer gets it */
	for (i = 0; i < r->directions.n; i++) {
		row = d[i].intervals.v;
		for (k = 0; k < d[i].intervals.n; k++) {
			put_start(out, r, &d[i], "interval");
			put_interval(out, &row[k]);
		}
		put_start(out, r, &d[i], "total");
		put_totals(out, r, &d[i]);
	}
}

const struct nd_writer nd_writer_csv = {
	.name = "csv",
	.help = "comma-separated: a row per interval, then one with the totals",
	.begin = csv_begin,
	.result = csv_result,
};
