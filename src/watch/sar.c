/* SPDX-License-Identifier: MIT */
/* The layout of `sar -n DEV`, to the blank, and of `sadf -j` as one object per sample. */
#include <math.h>
#include <string.h>

#include "watch/int.h"

#define COLUMNS 8u

static const char *const json_keys[COLUMNS] = { "rxpck", "txpck", "rxkB",   "txkB",
						"rxcmp", "txcmp", "rxmcst", "ifutil-percent" };

static void put_head(const char *at, struct nd_str *out)
{
	nd_str_addf(out, "\n%-11s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", at, "IFACE", "rxpck/s",
		    "txpck/s", "rxkB/s", "txkB/s", "rxcmp/s", "txcmp/s", "rxmcst/s", "%ifutil");
}

/* Per second, in sar's units; what is not known is 0 there. */
static void rates(const double counts[COLUMNS], double seconds, uint64_t mbps, double ret[COLUMNS])
{
	size_t i;

	for (i = 0; i < COLUMNS; i++)
		ret[i] = seconds > 0 ? counts[i] / seconds : 0.0;
	ret[7] = nd_watch_util(ret[2], ret[3], mbps);
	if (!isfinite(ret[7]))
		ret[7] = 0.0;
	ret[2] /= 1024;
	ret[3] /= 1024;
}

static void rates_of(const struct nd_watch_view *v, const struct nd_watch_row *row,
		     double ret[COLUMNS])
{
	uint64_t counts[COLUMNS];
	double values[COLUMNS];
	size_t i;

	nd_watch_sar_counts(row->nic, counts);
	for (i = 0; i < COLUMNS; i++)
		values[i] = counts[i] == ND_UNKNOWN ? 0.0 : (double)counts[i];
	rates(values, v->seconds, row->speed_mbps, ret);
}

static void put_row(const char *at, const char *name, const double v[COLUMNS], struct nd_str *out)
{
	size_t i;

	nd_str_addf(out, "%-11s %9s", at, name);
	for (i = 0; i < COLUMNS; i++)
		nd_str_addf(out, " %9.2f", v[i]);
	nd_str_add(out, "\n");
}

static void sar_begin(const struct nd_watch_ask *ask, const struct nd_watch_head *h,
		      struct nd_str *out)
{
	struct tm t = { 0 };

	(void)ask;                          /* one layout */
	(void)localtime_r(&h->started, &t); /* else the epoch */
	nd_str_addf(out, "Linux %s (%s) \t%02d/%02d/%02d \t_%s_\t(%llu CPU)\n", h->kernel,
		    h->hostname, t.tm_mon + 1, t.tm_mday, t.tm_year % 100, h->machine,
		    (unsigned long long)h->cpus);
}

static void sar_view(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		     const struct nd_watch_all *all, struct nd_str *out)
{
	nd_auto_str at = { 0 };
	double figures[COLUMNS];
	size_t i;

	(void)all; /* told at the end */
	nd_watch_clock(&at, ask, v->at);
	put_head(nd_str_text(&at), out);
	for (i = 0; i < v->rows; i++) {
		if (!v->row[i].known)
			continue;
		rates_of(v, &v->row[i], figures);
		put_row(nd_str_text(&at), v->row[i].nic->name, figures, out);
	}
}

static void sar_end(const struct nd_watch_ask *ask, const struct nd_watch_all *all,
		    struct nd_str *out)
{
	double figures[COLUMNS];
	size_t i;

	(void)ask; /* one layout */
	put_head("Average:", out);
	for (i = 0; i < all->n; i++) {
		const struct nd_watch_past *p = &all->past[i];

		if (p->all_seconds <= 0)
			continue;
		rates(p->all, p->all_seconds, p->speed_mbps, figures);
		put_row("Average:", p->name, figures, out);
	}
}

const struct nd_watch_writer nd_watch_sar = { .begin = sar_begin,
					      .view = sar_view,
					      .end = sar_end };

/* ---- JSON with sadf's keys */

static bool is_lines(const struct nd_watch_ask *ask)
{
	return ask->format == ND_LOCAL_JSON_LINES;
}

static void put_stamp(struct nd_json *j, const struct nd_watch_view *v)
{
	struct tm t = { 0 };
	nd_auto_str date = { 0 }, at = { 0 };

	(void)gmtime_r(&v->at.tv_sec, &t); /* else the epoch */
	nd_str_addf(&date, "%04d-%02d-%02d", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday);
	nd_str_addf(&at, "%02d:%02d:%02d", t.tm_hour, t.tm_min, t.tm_sec);
	nd_json_open(j, "timestamp", '{');
	nd_json_str(j, "date", nd_str_text(&date));
	nd_json_str(j, "time", nd_str_text(&at));
	nd_json_u64(j, "utc", 1);
	nd_json_f64(j, "interval", v->seconds);
	nd_json_close(j, '}');
}

static void json_begin(const struct nd_watch_ask *ask, const struct nd_watch_head *h,
		       struct nd_str *out)
{
	struct nd_json j = { .out = out };
	nd_auto_str host = { 0 };

	if (is_lines(ask))
		return;
	/* The outer braces are closed at the end: written by hand, since that is another call. */
	nd_json_open(&j, NULL, '{');
	nd_json_str(&j, "nodename", h->hostname);
	nd_json_str(&j, "sysname", "Linux");
	nd_json_str(&j, "release", h->kernel);
	nd_json_str(&j, "machine", h->machine);
	nd_json_u64(&j, "number-of-cpus", h->cpus);
	nd_str_addn(&host, nd_str_text(out), out->len);
	nd_str_reset(out);
	nd_str_addf(out, "{\"sysstat\": {\"hosts\": [%s, \"statistics\": [", nd_str_text(&host));
}

static void json_view(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		      const struct nd_watch_all *all, struct nd_str *out)
{
	struct nd_json j = { .out = out };
	double figures[COLUMNS];
	size_t i, k;

	(void)all; /* sadf has no averages */
	if (!is_lines(ask))
		nd_str_add(out, v->number > 1 ? ",\n" : "\n");
	nd_json_open(&j, NULL, '{');
	put_stamp(&j, v);
	nd_json_open(&j, "network", '{');
	nd_json_open(&j, "net-dev", '[');
	for (i = 0; i < v->rows; i++) {
		if (!v->row[i].known)
			continue;
		rates_of(v, &v->row[i], figures);
		nd_json_open(&j, NULL, '{');
		nd_json_str(&j, "iface", v->row[i].nic->name);
		for (k = 0; k < COLUMNS; k++)
			nd_json_f64(&j, json_keys[k], figures[k]);
		nd_json_close(&j, '}');
	}
	nd_json_close(&j, ']');
	nd_json_close(&j, '}');
	nd_json_close(&j, '}');
	if (is_lines(ask))
		nd_str_add(out, "\n");
}

static void json_end(const struct nd_watch_ask *ask, const struct nd_watch_all *all,
		     struct nd_str *out)
{
	(void)all; /* sadf has no averages */
	if (!is_lines(ask))
		nd_str_add(out, "\n]}]}}\n");
}

const struct nd_watch_writer nd_watch_sar_json = { .begin = json_begin,
						   .view = json_view,
						   .end = json_end };
