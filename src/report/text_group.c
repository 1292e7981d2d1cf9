/* SPDX-License-Identifier: MIT */
/* Text: what the clients of a group reached together, and each one's part. */
#include <math.h>
#include <string.h>

#include "report/int.h"

#define ROWS_MAX 32 /* and one that ends them */

static const struct nd_field *row(const char *key)
{
	return nd_report_row(&nd_group_total_table, key);
}

static struct nd_line line_of(struct nd_str *out, const char *label)
{
	return (struct nd_line){ .out = out, .label = label, .indent = ND_TEXT_INDENT };
}

/* "Group 'lab': 3 of 3 clients ran together" */
static void put_head(struct nd_str *out, const struct nd_group *g)
{
	nd_str_add(out, "\nGroup '");
	nd_report_clean(out, g->name);
	nd_str_add(out, "': ");
	if (g->complete != ND_UNKNOWN && g->expected != ND_UNKNOWN)
		nd_str_addf(out, "%llu of %llu clients ran together",
			    (unsigned long long)g->complete, (unsigned long long)g->expected);
	nd_str_addc(out, '\n', 1);
}

/* "  Together     9.41 Gbit/s, offered 9.42 Gbit/s; 24 flows of 3 clients, client to server" */
static void put_sum(struct nd_str *out, const struct nd_group_total *t)
{
	struct nd_line l = line_of(out, "Together");

	if (isfinite(t->transactions_per_s))
		nd_line_figure(&l, ", ", "transactions", row("transactions_per_s"), t);
	else
		nd_line_figure(&l, ", ", "", row("goodput_bps"), t);
	nd_line_figure(&l, ", ", "datagrams", row("messages_per_s"), t);
	if (isnan(t->transactions_per_s))
		nd_line_figure(&l, ", ", NULL, row("offered_bps"), t);
	nd_line_figure(&l, ", ", NULL, row("lost"), t);
	nd_line_figure(&l, ", ", NULL, row("lost_ratio"), t);
	if (t->members != ND_UNKNOWN && t->flows != ND_UNKNOWN)
		nd_line_item(&l, "; ", "%llu flows of %llu clients", (unsigned long long)t->flows,
			     (unsigned long long)t->members);
	nd_line_item(&l, ", ", "%s", t->direction ? t->direction : "?");
	nd_line_end(&l);
}

static void put_window(struct nd_str *out, const struct nd_group_total *t)
{
	struct nd_line l = line_of(out, "Windows");

	nd_line_figure(&l, ", ", "all clients measured for", row("window_s"), t);
	nd_line_figure(&l, ", ", "an overlap of", row("overlap_ratio"), t);
	nd_line_figure(&l, "; ", "all flows began within", row("start_skew_ms"), t);
	nd_line_end(&l);
}

/* The rows of one direction. */
static struct nd_list rows_of(const struct nd_group *g, const char *direction)
{
	struct nd_group_member *m = g->members.v;
	struct nd_list list = { 0 };

	for (uint64_t i = 0; direction && i < g->members.n; i++) {
		if (!m[i].direction || strcmp(m[i].direction, direction) != 0)
			continue;
		list.v = list.n ? list.v : &m[i];
		list.n++;
	}
	return list;
}

/* Which figures people compare; more of them do not fit on a line. */
static bool is_wanted(const struct nd_field *f, bool packets)
{
	static const char *const bytes[] = { "goodput_bps", "offered_bps" };
	static const char *const datagrams[] = { "messages_per_s" };
	const char *const *leave = packets ? bytes : datagrams;
	size_t n = packets ? ND_COUNTOF(bytes) : ND_COUNTOF(datagrams);

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(f->key, leave[i]))
			return false;
	}
	return strcmp(f->key, "lost") != 0;
}

static void put_members(struct nd_str *out, const struct nd_list *rows, bool packets)
{
	struct nd_field fields[ROWS_MAX] = { { 0 } };
	const struct nd_table table = { .size = nd_group_member_table.size, .rows = fields };
	size_t n = 0;

	nd_row_for_each(f, &nd_group_member_table) {
		if (n + 1 < ROWS_MAX && is_wanted(f, packets))
			fields[n++] = *f;
	}
	nd_text_table(out, &table, rows);
}

/* Who is not part of the sum, and why. */
static void put_errors(struct nd_str *out, const struct nd_list *rows)
{
	const struct nd_group_member *m = rows->v;

	for (uint64_t i = 0; i < rows->n; i++) {
		if (m[i].complete || !m[i].error)
			continue;
		nd_str_addf(out,
			    "  client %llu is not in the sum: ", (unsigned long long)m[i].number);
		nd_report_clean(out, m[i].error);
		nd_str_addc(out, '\n', 1);
	}
}

static void put_clocks(struct nd_str *out, const struct nd_group *g)
{
	struct nd_line l = line_of(out, "Clocks");

	nd_line_figure(&l, ", ", "of the clients within",
		       nd_report_row(&nd_group_table, "clocks_within_us"), g);
	nd_line_item(&l, "; ", "the server's CPU and counters are those of all clients");
	nd_line_end(&l);
}

void nd_text_group(struct nd_str *out, const struct nd_result *r)
{
	const struct nd_group *g = r->group;
	const struct nd_group_total *t = g->totals.v;

	put_head(out, g);
	for (uint64_t i = 0; i < g->totals.n; i++) {
		const struct nd_list rows = rows_of(g, t[i].direction);

		put_sum(out, &t[i]);
		put_window(out, &t[i]);
		put_members(out, &rows, nd_text_is_packets(r));
		put_errors(out, &rows);
	}
	put_clocks(out, g);
}
