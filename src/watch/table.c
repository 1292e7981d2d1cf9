/* SPDX-License-Identifier: MIT */
/* A terminal: one screen that is drawn over itself, with a line of bars for the last intervals. */
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "watch/int.h"

#define OTHER_SCREEN "\033[?1049h\033[?25l\033[2J"
#define FIRST_SCREEN "\033[?25h\033[?1049l"
#define HOME         "\033[H"
#define REST_OF_LINE "\033[K\n"
#define REST         "\033[J"
#define BOLD         "\033[1m"
#define PLAIN        "\033[0m"
#define BARS         24u
#define DIM_LINES    24

static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

static void table_begin(const struct nd_watch_ask *ask, const struct nd_watch_head *h,
			struct nd_str *out)
{
	(void)ask; /* one layout */
	(void)h;   /* the person knows */
	nd_str_add(out, OTHER_SCREEN);
}

static const struct nd_watch_past *past_of(const struct nd_watch_all *all, const struct nd_nic *n)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->past[i].ifindex == n->ifindex && !strcmp(all->past[i].name, n->name))
			return &all->past[i];
	return NULL;
}

static void put_bars(const struct nd_watch_past *p, struct nd_str *out)
{
	size_t room = ND_COUNTOF(p->spark), from, i, level;
	double most = 0;

	from = p->sparks > BARS ? p->sparks - BARS : 0;
	for (i = from; i < p->sparks; i++)
		if (isfinite(p->spark[i % room]))
			most = ND_MAX(most, p->spark[i % room]);
	nd_str_add(out, "  ");
	for (i = from; i < p->sparks; i++) {
		double v = p->spark[i % room];

		level = isfinite(v) && most > 0 ? (size_t)(v / most * 8 + 0.5) : 0;
		nd_str_add(out, bars[ND_MIN(level, ND_COUNTOF(bars) - 1)]);
	}
}

/* 12.3k, 4.56M: five columns at most. */
static void put_short(struct nd_str *out, double v)
{
	static const char units[] = " kMGT";

	size_t unit = 0;

	if (!isfinite(v)) {
		nd_str_addf(out, " %8s", "-");
		return;
	}
	for (; v >= 9999.5 && unit < sizeof(units) - 2; unit++)
		v /= 1000;
	if (unit)
		nd_str_addf(out, " %7.*f%c", v < 100 ? 2 : 1, v, units[unit]);
	else
		nd_str_addf(out, " %8.*f", v < 100 ? 1 : 0, v);
}

static void put_row(const struct nd_watch_view *v, const struct nd_watch_row *row,
		    const struct nd_watch_all *all, struct nd_str *out)
{
	const struct nd_watch_past *p = past_of(all, row->nic);
	const double figures[] = {
		nd_watch_rate(v, row->nic->rx_packets),
		nd_watch_rate(v, row->nic->tx_packets),
		nd_watch_rate(v, row->nic->rx_bytes) * 8,
		nd_watch_rate(v, row->nic->tx_bytes) * 8,
		nd_watch_rate(v, row->drops),
		nd_watch_rate(v, row->errors),
		row->util_percent,
	};
	size_t i;

	nd_str_addf(out, "%-12.15s", row->nic->name);
	for (i = 0; i < ND_COUNTOF(figures); i++)
		put_short(out, figures[i]);
	if (p)
		put_bars(p, out);
	nd_str_add(out, REST_OF_LINE);
}

/* What fits: lines that the window lacks are cut, or the screen would roll. */
static void put_fitting(struct nd_str *out, const char *text, unsigned used)
{
	struct winsize w = { .ws_row = DIM_LINES, .ws_col = 80 };
	unsigned line, columns;
	size_t n;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_row)
		w.ws_row = DIM_LINES;
	columns = w.ws_col ? w.ws_col : 80;
	for (line = used; *text && line + 1u < w.ws_row; line++) {
		n = strcspn(text, "\n");
		nd_str_addn(out, text, ND_MIN(n, columns));
		nd_str_add(out, REST_OF_LINE);
		text += n + (text[n] == '\n');
	}
}

static void table_view(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		       const struct nd_watch_all *all, struct nd_str *out)
{
	nd_auto_str more = { 0 };
	size_t i;

	nd_str_add(out, HOME BOLD);
	nd_watch_clock(out, ask, v->at);
	nd_str_addf(out, "  last %.3f s, sample %llu; Ctrl-C ends" PLAIN REST_OF_LINE, v->seconds,
		    (unsigned long long)v->number);
	nd_str_addf(out, BOLD "%-12s %8s %8s %8s %8s %8s %8s %8s" PLAIN REST_OF_LINE, "interface",
		    "rx pck/s", "tx pck/s", "rx bit/s", "tx bit/s", "drop/s", "err/s", "%ifutil");
	for (i = 0; i < v->rows; i++)
		if (v->row[i].known)
			put_row(v, &v->row[i], all, out);
		else
			nd_str_addf(out, "%-12.15s %8s" REST_OF_LINE, v->row[i].nic->name,
				    v->row[i].gone ? "gone" : "new");
	nd_str_add(out, REST_OF_LINE);
	nd_watch_more(ask, v, "", &more);
	put_fitting(out, nd_str_text(&more), (unsigned)v->rows + 3);
	nd_str_add(out, REST);
}

static void table_end(const struct nd_watch_ask *ask, const struct nd_watch_all *all,
		      struct nd_str *out)
{
	nd_str_add(out, FIRST_SCREEN);
	nd_watch_text.end(ask, all, out);
}

const struct nd_watch_writer nd_watch_table = { .begin = table_begin,
						.view = table_view,
						.end = table_end };
