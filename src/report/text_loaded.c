/* SPDX-License-Identifier: MIT */
/* Text: times without and with a load side by side, what moved meanwhile, round trips per minute. */
#include <math.h>
#include <string.h>

#include "report/int.h"

static void put_cell(struct nd_str *out, double us)
{
	nd_auto_str text = { 0 };

	if (isfinite(us))
		nd_scaled_text(&text, us, ND_M_US);
	else
		nd_str_addc(&text, '-', 1);
	nd_str_addf(out, "%14s", nd_str_text(&text));
}

/* Rows of which something is known. */
static void put_rows(struct nd_str *out, const struct nd_loaded *l)
{
	const struct nd_loaded_row *row = l->added.v;

	nd_str_addf(out, "  %-13s%14s%14s%14s   (%s times)\n", "Under load", "idle", "loaded",
		    "added", l->times);
	for (uint64_t i = 0; i < l->added.n; i++) {
		if (!isfinite(row[i].idle_us) && !isfinite(row[i].loaded_us))
			continue;
		nd_str_addf(out, "    %-11s", row[i].name);
		put_cell(out, row[i].idle_us);
		put_cell(out, row[i].loaded_us);
		put_cell(out, row[i].added_us);
		nd_str_addc(out, '\n', 1);
	}
}

static void put_load(struct nd_line *line, const struct nd_direction *d)
{
	const struct nd_table *table = &nd_direction_table;
	bool multipath = d->transport && !strcmp(d->transport, "mptcp");
	nd_auto_str text = { 0 };

	if (d->datagram && isfinite(d->messages_per_s))
		nd_figure_text(&text, nd_report_row(table, "messages_per_s"), d);
	else if (isfinite(d->goodput_bps))
		nd_figure_text(&text, nd_report_row(table, "goodput_bps"), d);
	else
		nd_str_add(&text, "unknown");
	nd_line_item(line, "; ", "%s: %s%s received over %llu %s flow%s", d->label,
		     nd_str_text(&text), d->datagram ? " datagrams" : "",
		     (unsigned long long)d->flows,
		     d->datagram ? "UDP"
		     : multipath ? "MPTCP"
				 : "TCP",
		     d->flows == 1 ? "" : "s");
}

static void put_rpm(struct nd_line *line, const char *separator, const char *words, double rpm)
{
	if (isfinite(rpm))
		nd_line_item(line, separator, "%.0f %s", rpm, words);
}

void nd_text_loaded(struct nd_str *out, const struct nd_result *r)
{
	const struct nd_loaded *l = r->loaded;
	const struct nd_direction *d = r->directions.v;
	struct nd_line load = { .out = out, .label = "Load", .indent = ND_TEXT_INDENT };
	struct nd_line rpm = { .out = out, .label = "RPM", .indent = ND_TEXT_INDENT };

	nd_str_addc(out, '\n', 1);
	put_rows(out, l);
	for (uint64_t i = 1; i < r->directions.n; i++)
		put_load(&load, &d[i]);
	nd_line_end(&load);
	put_rpm(&rpm, "", "idle", l->idle_rpm);
	put_rpm(&rpm, ", ", "loaded", l->loaded_rpm);
	if (rpm.at > 0)
		nd_line_item(&rpm, ": ", "round trips per minute, %s", l->rpm_formula);
	nd_line_end(&rpm);
}
