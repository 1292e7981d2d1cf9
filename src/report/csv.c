/* SPDX-License-Identifier: MIT */
/*
 * CSV (RFC 4180, lines end with a line feed): a row per interval, then a row with the totals of the
 * measured window, for each direction. Figures in base units; unknown is empty. The columns are the
 * figures of the text report; with -v behind them every other figure that is one number or word. Those of
 * groups are named by their path: tcp_cc, server_machine_idle_cores. Lists (flows, CPUs) are for JSON and
 * XML. Behind all that come the rows of a group: one per client and direction, then the sum; of times without and
 * with a load a row for each in place of an interval's: "idle" and "loaded".
 */
#include <math.h>
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
	nd_auto_str safe = { 0 };
	const char *p;

	nd_report_clean(&safe, text);
	out->failed = out->failed || !nd_str_ok(&safe);
	nd_str_addc(out, '"', 1);
	for (p = nd_str_text(&safe); *p; p++)
		nd_str_addc(out, *p, *p == '"' ? 2 : 1);
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
	else if (f->type == ND_T_I64)
		nd_str_addf(out, "%lld", (long long)*(const int64_t *)at);
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

/* ---- everything else ---- */

struct walk {
	struct nd_str *out;
	bool names; /* the heading; else cells */
	bool all;   /* else what the text report shows */
};

static bool is_cell(const struct nd_field *f)
{
	return f->type != ND_T_GROUP && f->type != ND_T_OPT && f->type != ND_T_LIST &&
	       f->type != ND_T_STRV && f->type != ND_T_ENUM;
}

/* The cells of @table at @base (NULL: empty ones) but those @taken, likewise of its groups. */
static void walk_table(const struct walk *w, const char *prefix, const struct nd_table *table,
		       const void *base, bool (*taken)(const struct nd_field *f))
{
	nd_row_for_each(f, table) {
		nd_auto_str path = { 0 };

		if (!nd_report_shown(f) || (f->type != ND_T_GROUP && taken && taken(f)))
			continue;
		if (f->type == ND_T_GROUP) {
			nd_str_addf(&path, "%s%s_", prefix, f->key);
			w->out->failed = w->out->failed || !nd_str_ok(&path);
			walk_table(w, nd_str_text(&path), f->table,
				   base ? nd_field_at(base, f) : NULL, taken);
		} else if (is_cell(f)) {
			if (w->names)
				nd_str_addf(w->out, ",%s%s", prefix, f->key);
			else if (base)
				put_cell(w->out, f, base);
			else
				nd_str_addc(w->out, ',', 1);
		}
	}
}

/* Of a direction: stands among the first columns, or opens the row. */
static bool is_taken(const struct nd_field *f)
{
	return f == nd_report_row(&nd_direction_table, "label") || is_extra(f) ||
	       (is_column(f) && find(&nd_interval_joint_table, f->key));
}

static bool opens_row(const struct nd_field *f)
{
	return f == nd_report_row(&nd_result_table, "partial") ||
	       f == nd_report_row(&nd_result_table, "same_host");
}

static bool is_beyond_text(const struct nd_field *f)
{
	return !(f->show & (ND_SHOW_KEY | ND_SHOW_TEXT | ND_SHOW_NONZERO | ND_SHOW_COLUMN));
}

static bool is_taken_or_beyond(const struct nd_field *f)
{
	return is_taken(f) || is_beyond_text(f);
}

/* Of a machine the text report shows its cost at once, and a line about the busiest CPU. */
static bool is_no_cost(const struct nd_field *f)
{
	return !(f->show & ND_SHOW_COLUMN) && strncmp(f->key, "busiest_", strlen("busiest_")) != 0;
}

static void put_warnings(struct nd_str *out, const struct nd_result *r)
{
	const struct nd_warning *v = r->warnings.v;
	nd_auto_str keys = { 0 };
	uint64_t i;

	for (i = 0; i < r->warnings.n; i++)
		nd_str_addf(&keys, "%s%s", i ? " " : "", v[i].key);
	out->failed = out->failed || !nd_str_ok(&keys);
	nd_str_addc(out, ',', 1);
	put_text(out, nd_str_text(&keys));
}

static void walk_side(const struct walk *w, const char *name, const struct nd_side *side,
		      uint64_t workload)
{
	const struct nd_part *part = side ? nd_result_part(side, workload) : NULL;
	nd_auto_str prefix = { 0 };

	nd_str_addf(&prefix, w->all ? "%s_" : "%s_machine_", name);
	if (w->all) {
		walk_table(w, nd_str_text(&prefix), &nd_side_table, side, NULL);
		nd_str_add(&prefix, "part_");
		walk_table(w, nd_str_text(&prefix), &nd_part_table, part, NULL);
	} else {
		walk_table(w, nd_str_text(&prefix), &nd_machine_table, side ? &side->machine : NULL,
			   is_no_cost);
	}
	w->out->failed = w->out->failed || !nd_str_ok(&prefix);
}

/* @r, @d NULL: names, or the empty cells of an interval. */
static void walk_rest(const struct walk *w, const struct nd_result *r, const struct nd_direction *d)
{
	uint64_t workload = d ? d->workload : 0;

	if (w->names)
		nd_str_add(w->out, ",warnings");
	else if (r)
		put_warnings(w->out, r);
	else
		nd_str_addc(w->out, ',', 1);
	walk_table(w, "", &nd_direction_table, d, w->all ? is_taken : is_taken_or_beyond);
	walk_table(w, "", &nd_result_table, r, w->all ? opens_row : is_beyond_text);
	walk_side(w, "client", r ? r->client : NULL, workload);
	walk_side(w, "server", r ? r->server : NULL, workload);
}

static void put_interval(const struct walk *w, const struct nd_interval_joint *i)
{
	struct nd_str *out = w->out;

	nd_row_for_each(f, &nd_interval_joint_table) {
		if (is_column(f))
			put_cell(out, f, i);
	}
	nd_row_for_each(f, &nd_direction_table) {
		if (is_extra(f))
			nd_str_addc(out, ',', 1);
	}
	walk_rest(w, NULL, NULL);
	nd_str_addc(out, '\n', 1);
}

static uint64_t transactions_of(const struct nd_result *r, const struct nd_direction *d)
{
	const struct nd_part *p = nd_result_part(nd_result_sender(r, d), d->workload);

	return p && d->transactional ? p->window.transactions : ND_UNKNOWN;
}

/* Of a count that only intervals have: those of the measured window together. */
static uint64_t measured(const struct nd_direction *d, const struct nd_field *f)
{
	const struct nd_interval_joint *row = d->intervals.v;
	uint64_t i, sum = ND_UNKNOWN, v;

	for (i = 0; i < d->intervals.n; i++) {
		if (!row[i].phase || strcmp(row[i].phase, "measure") != 0)
			continue;
		v = *(const uint64_t *)nd_field_at(&row[i], f);
		if (v == ND_UNKNOWN)
			return ND_UNKNOWN;
		sum = sum == ND_UNKNOWN ? v : sum + v;
	}
	return sum;
}

/* The measured window in the columns of an interval. */
static void put_totals(const struct walk *w, const struct nd_result *r,
		       const struct nd_direction *d)
{
	struct nd_str *out = w->out;
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
		if (f->type == ND_T_U64 && !nd_figure_known(f, &total))
			*(uint64_t *)nd_field_in(&total, f) = measured(d, f);
		if (is_column(f))
			put_cell(out, f, &total);
	}
	nd_row_for_each(f, &nd_direction_table) {
		if (is_extra(f))
			put_cell(out, f, d);
	}
	walk_rest(w, r, d);
	nd_str_addc(out, '\n', 1);
}

/* The figures that a group's rows share with an interval, by their keys; the rest stays empty. */
static void put_group_row(const struct walk *w, const struct nd_table *table, const void *base,
			  double start_s, double end_s)
{
	struct nd_interval_joint row;

	nd_table_unknown(&nd_interval_joint_table, &row);
	row.start_s = start_s;
	row.end_s = end_s;
	row.phase = "measure";
	nd_row_for_each(f, &nd_interval_joint_table) {
		const struct nd_field *g = find(table, f->key);

		if (g && g->type == f->type && f->type == ND_T_F64)
			*(double *)nd_field_in(&row, f) = *(const double *)nd_field_at(base, g);
		else if (g && g->type == f->type && f->type == ND_T_U64)
			*(uint64_t *)nd_field_in(&row, f) = *(const uint64_t *)nd_field_at(base, g);
	}
	put_interval(w, &row);
}

static void put_group(const struct walk *w, const struct nd_result *r, const struct nd_group *g)
{
	const struct nd_group_total *t = g->totals.v;
	const struct nd_group_member *m = g->members.v;
	uint64_t i;

	for (i = 0; i < g->members.n; i++) {
		put_text(w->out, m[i].direction);
		nd_str_addf(w->out, ",client %llu of the group,%s,%s",
			    (unsigned long long)m[i].number, m[i].complete ? "false" : "true",
			    r->same_host ? "true" : "false");
		put_group_row(w, &nd_group_member_table, &m[i], m[i].window_start_s,
			      m[i].window_end_s);
	}
	for (i = 0; i < g->totals.n; i++) {
		put_text(w->out, t[i].direction);
		nd_str_addf(w->out, ",group,%s,%s", g->partial ? "true" : "false",
			    r->same_host ? "true" : "false");
		put_group_row(w, &nd_group_total_table, &t[i], t[i].window_start_s,
			      t[i].window_start_s + t[i].window_s);
	}
}

static double quantile_of(const struct nd_times *t, const char *name)
{
	const struct nd_quantile_row *q = t->quantiles.v;
	uint64_t i;

	for (i = 0; i < t->quantiles.n; i++)
		if (!strcmp(q[i].name, name))
			return q[i].us;
	return (double)NAN;
}

/* Times of a run in the columns of an interval's. */
static void put_times(const struct walk *w, const struct nd_result *r, const char *name,
		      const struct nd_latency *l)
{
	const struct nd_direction *d = r->directions.v;
	const struct nd_times *t = l->open_loop ? &l->response : &l->service;
	struct nd_interval_joint row;

	put_start(w->out, r, d, name);
	nd_table_unknown(&nd_interval_joint_table, &row);
	row.phase = "measure";
	row.rtt_count = t->count;
	row.rtt_p50_us = quantile_of(t, "p50");
	row.rtt_p99_us = quantile_of(t, "p99");
	row.rtt_max_us = t->max_us;
	put_interval(w, &row);
}

static void put_loaded(const struct walk *w, const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;

	put_times(w, r, "idle", r->loaded->idle);
	if (d->latency && d->latency != r->loaded->idle)
		put_times(w, r, "loaded", d->latency);
}

static void csv_begin(const struct nd_report_cfg *cfg, struct nd_str *out)
{
	nd_str_add(out, "direction,row,partial,same_host");
	nd_row_for_each(f, &nd_interval_joint_table) {
		if (is_column(f))
			nd_str_addf(out, ",%s", f->key);
	}
	nd_row_for_each(f, &nd_direction_table) {
		if (is_extra(f))
			nd_str_addf(out, ",%s", f->key);
	}
	walk_rest(&(struct walk){ .out = out, .names = true, .all = cfg->verbose }, NULL, NULL);
	nd_str_addc(out, '\n', 1);
}

static void csv_result(const struct nd_report_cfg *cfg, const struct nd_result *r,
		       struct nd_str *out)
{
	const struct walk w = { .out = out, .all = cfg->verbose };
	const struct nd_direction *d = r->directions.v;
	const struct nd_interval_joint *row;
	uint64_t i, k;

	for (i = 0; i < r->directions.n; i++) {
		row = d[i].intervals.v;
		for (k = 0; k < d[i].intervals.n; k++) {
			put_start(out, r, &d[i], "interval");
			put_interval(&w, &row[k]);
		}
		put_start(out, r, &d[i], "total");
		put_totals(&w, r, &d[i]);
	}
	if (r->loaded)
		put_loaded(&w, r);
	if (r->group)
		put_group(&w, r, r->group);
}

const struct nd_writer nd_writer_csv = {
	.name = "csv",
	.help = "comma-separated: a row per interval, then one with the totals; -v: every column",
	.begin = csv_begin,
	.result = csv_result,
};
