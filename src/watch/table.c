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
#define DIM_COLUMNS  80

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

static void put_bars(const struct nd_watch_past *p, size_t width, struct nd_str *out)
{
	size_t room = ND_COUNTOF(p->spark), from, i, level;
	double most = 0;

	width = ND_MIN(width, BARS);
	from = p->sparks > width ? p->sparks - width : 0;
	for (i = from; i < p->sparks; i++)
		if (isfinite(p->spark[i % room]))
			most = ND_MAX(most, p->spark[i % room]);
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
		nd_str_addf(out, " %7s", "-");
		return;
	}
	for (; v >= 9999.5 && unit < sizeof(units) - 2; unit++)
		v /= 1000;
	if (unit)
		nd_str_addf(out, " %6.*f%c", v < 100 ? 2 : 1, v, units[unit]);
	else
		nd_str_addf(out, " %7.*f", v < 100 ? 1 : 0, v);
}

/* No more of it than a line holds: what wraps would make the screen roll. */
static void put_line(struct nd_str *out, const char *text, size_t n, const struct winsize *w)
{
	nd_str_addn(out, text, ND_MIN(n, w->ws_col));
	nd_str_add(out, REST_OF_LINE);
}

static void put_bold(struct nd_str *out, const struct nd_str *text, const struct winsize *w)
{
	nd_str_add(out, BOLD);
	nd_str_addn(out, nd_str_text(text), ND_MIN(text->len, w->ws_col));
	nd_str_add(out, PLAIN REST_OF_LINE);
}

static void put_row(const struct nd_watch_view *v, const struct nd_watch_row *row,
		    const struct nd_watch_all *all, const struct winsize *w, struct nd_str *out)
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
	nd_auto_str line = { 0 };
	size_t i;

	nd_str_addf(&line, "%-12.15s", row->nic->name);
	if (!row->known)
		nd_str_addf(&line, " %7s", row->gone ? "gone" : "new");
	for (i = 0; row->known && i < ND_COUNTOF(figures); i++)
		put_short(&line, figures[i]);
	if (p && row->known && line.len + 2 < w->ws_col) {
		nd_str_addn(out, nd_str_text(&line), line.len);
		nd_str_add(out, "  ");
		put_bars(p, w->ws_col - line.len - 2, out);
		nd_str_add(out, REST_OF_LINE);
	} else {
		put_line(out, nd_str_text(&line), line.len, w);
	}
}

/* Worth a line before others: it had packets, or something has happened to it. */
static bool is_busy(const struct nd_watch_all *all, const struct nd_watch_row *row)
{
	const struct nd_watch_past *p = past_of(all, row->nic);

	return !row->known || (p && p->n);
}

/* Those that fit. Return: lines that were taken. */
static unsigned put_rows(const struct nd_watch_view *v, const struct nd_watch_all *all,
			 const struct winsize *w, unsigned room, struct nd_str *out)
{
	unsigned busy = 0, idle, lines = 0;
	nd_auto_str rest = { 0 };
	size_t i;

	if (!room)
		return 0;
	for (i = 0; i < v->rows; i++)
		busy += is_busy(all, &v->row[i]);
	if (v->rows > room)
		room--; /* for the line that says how many are left out */
	busy = ND_MIN(busy, room);
	idle = room - busy;
	for (i = 0; i < v->rows; i++) {
		unsigned *left = is_busy(all, &v->row[i]) ? &busy : &idle;

		if (!*left)
			continue;
		--*left;
		put_row(v, &v->row[i], all, w, out);
		lines++;
	}
	if (lines == v->rows)
		return lines;
	nd_str_addf(&rest, "%zu more; name those that you want to see", v->rows - lines);
	put_line(out, nd_str_text(&rest), rest.len, w);
	return lines + 1;
}

/* What fits: lines that the window lacks are cut, or the screen would roll. */
static void put_fitting(struct nd_str *out, const char *text, unsigned used,
			const struct winsize *w)
{
	unsigned line;
	size_t n;

	for (line = used; *text && line + 1u < w->ws_row; line++) {
		n = strcspn(text, "\n");
		put_line(out, text, n, w);
		text += n + (text[n] == '\n');
	}
}

static void table_view(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		       const struct nd_watch_all *all, struct nd_str *out)
{
	nd_auto_str more = { 0 }, head = { 0 };
	struct winsize w = { 0 };
	unsigned used;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_row)
		w.ws_row = DIM_LINES;
	if (!w.ws_col)
		w.ws_col = DIM_COLUMNS;
	nd_str_add(out, HOME);
	nd_watch_clock(&head, ask, v->at);
	nd_str_addf(&head, "  last %.3f s, sample %llu; Ctrl-C ends", v->seconds,
		    (unsigned long long)v->number);
	put_bold(out, &head, &w);
	nd_str_reset(&head);
	nd_str_addf(&head, "%-12s %7s %7s %7s %7s %7s %7s %7s", "interface", "rxpck/s", "txpck/s",
		    "rxbit/s", "txbit/s", "drop/s", "err/s", "%ifutil");
	put_bold(out, &head, &w);
	used = 2 + put_rows(v, all, &w, w.ws_row > 3 ? w.ws_row - 3u : 0, out);
	if (used + 1u < w.ws_row) {
		nd_str_add(out, REST_OF_LINE);
		nd_watch_more(ask, v, "", &more);
		put_fitting(out, nd_str_text(&more), used + 1, &w);
	}
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
