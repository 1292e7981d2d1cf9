/* SPDX-License-Identifier: MIT */
/* Plain lines: the time, the interface, what it did. Each line can be found by its second word. */
#include <math.h>
#include <stdio.h>

#include "watch/int.h"

#define HEADER_EVERY 20u /* lines */

void nd_watch_number(struct nd_str *out, double v, int width, int decimals)
{
	if (isfinite(v))
		nd_str_addf(out, " %*.*f", width - 1, decimals, v);
	else
		nd_str_addf(out, " %*s", width - 1, "-");
}

void nd_watch_clock(struct nd_str *out, const struct nd_watch_ask *ask, struct timespec at)
{
	struct tm t;

	if (!localtime_r(&at.tv_sec, &t)) {
		nd_str_add(out, "-");
		return;
	}
	nd_str_addf(out, "%02d:%02d:%02d", t.tm_hour, t.tm_min, t.tm_sec);
	if (ask->interval_ns % ND_NS_PER_S)
		nd_str_addf(out, ".%03ld", at.tv_nsec / 1000000);
}

static void put_head(const char *before, struct nd_str *out)
{
	nd_str_addf(out, "%-12s %-11s %11s %11s %11s %11s %9s %9s %9s %8s %7s\n", before, "IFACE",
		    "rxpck/s", "txpck/s", "rxkB/s", "txkB/s", "rxGbit/s", "txGbit/s", "drop/s",
		    "err/s", "%ifutil");
}

static void put_figures(const double v[ND_WATCH_METRICS], struct nd_str *out)
{
	nd_watch_number(out, v[ND_WATCH_RX_PPS], 12, 1);
	nd_watch_number(out, v[ND_WATCH_TX_PPS], 12, 1);
	nd_watch_number(out, v[ND_WATCH_RX_BYTES] / 1024, 12, 1);
	nd_watch_number(out, v[ND_WATCH_TX_BYTES] / 1024, 12, 1);
	nd_watch_number(out, v[ND_WATCH_RX_BYTES] * 8 / 1e9, 10, 4);
	nd_watch_number(out, v[ND_WATCH_TX_BYTES] * 8 / 1e9, 10, 4);
	nd_watch_number(out, v[ND_WATCH_DROPS], 10, 1);
	nd_watch_number(out, v[ND_WATCH_ERRORS], 9, 1);
	nd_watch_number(out, v[ND_WATCH_UTIL], 8, 2);
	nd_str_add(out, "\n");
}

static void put_row(const struct nd_watch_view *v, const struct nd_watch_row *row, const char *at,
		    struct nd_str *out)
{
	const double figures[ND_WATCH_METRICS] = {
		[ND_WATCH_RX_PPS] = nd_watch_rate(v, row->nic->rx_packets),
		[ND_WATCH_TX_PPS] = nd_watch_rate(v, row->nic->tx_packets),
		[ND_WATCH_RX_BYTES] = nd_watch_rate(v, row->nic->rx_bytes),
		[ND_WATCH_TX_BYTES] = nd_watch_rate(v, row->nic->tx_bytes),
		[ND_WATCH_DROPS] = nd_watch_rate(v, row->drops),
		[ND_WATCH_ERRORS] = nd_watch_rate(v, row->errors),
		[ND_WATCH_UTIL] = row->util_percent,
	};

	nd_str_addf(out, "%-12s %-11s", at, row->nic->name);
	put_figures(figures, out);
}

/* No state is kept here: a header is due whenever the lines so far pass a multiple. */
static bool head_is_due(const struct nd_watch_view *v)
{
	uint64_t lines = v->rows ? v->rows : 1, before = (v->number - 1) * lines;

	return v->number == 1 || before / HEADER_EVERY != (before + lines) / HEADER_EVERY;
}

/* Only when there is something to say: figures that come from there are missing or "-". */
static void text_begin(const struct nd_watch_ask *ask, const struct nd_watch_head *h,
		       struct nd_str *out)
{
	const char *path;
	size_t n;

	(void)ask; /* nothing to choose */
	for (n = 0; (path = nd_os_unread(h->os, n)); n++)
		nd_str_addf(out, "%s/%s", n ? ", " : "# cannot be read: ", path);
	nd_str_add(out, n ? "\n" : "");
}

static void text_view(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		      const struct nd_watch_all *all, struct nd_str *out)
{
	nd_auto_str at = { 0 };
	size_t i;

	(void)all; /* told at the end */
	nd_watch_clock(&at, ask, v->at);
	if (head_is_due(v))
		put_head("time", out);
	for (i = 0; i < v->rows; i++)
		if (v->row[i].known)
			put_row(v, &v->row[i], nd_str_text(&at), out);
		else
			nd_str_addf(out, "%-12s %-11s %s\n", nd_str_text(&at), v->row[i].nic->name,
				    v->row[i].gone ? "gone" : "new, or its counters began anew");
	nd_watch_more(ask, v, nd_str_text(&at), out);
}

static void text_end(const struct nd_watch_ask *ask, const struct nd_watch_all *all,
		     struct nd_str *out)
{
	double v[4][ND_WATCH_METRICS];
	bool any = false;
	size_t i, k;

	(void)ask; /* nothing to choose */
	for (i = 0; i < all->n; i++) {
		const struct nd_watch_past *p = &all->past[i];

		if (!nd_watch_values(p, v))
			continue;
		if (!any) {
			nd_str_add(out, "\nfrom each interface's first packet to its last\n");
			put_head("", out);
		}
		any = true;
		for (k = 0; k < ND_COUNTOF(v); k++) {
			nd_str_addf(out, "%-12s %-11s", nd_watch_stat_names[k], p->name);
			put_figures(v[k], out);
		}
	}
	for (i = 0; i < all->n; i++)
		if (all->past[i].n)
			nd_str_addf(out, "%-12s %-11s %.3f s of %.3f s\n", "busy",
				    all->past[i].name, all->past[i].seconds,
				    all->past[i].all_seconds);
	if (!any)
		nd_str_add(out, "\nno packet was seen\n");
}

const struct nd_watch_writer nd_watch_text = { .begin = text_begin,
					       .view = text_view,
					       .end = text_end };
