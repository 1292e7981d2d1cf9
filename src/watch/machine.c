/* SPDX-License-Identifier: MIT */
/* For programs: CSV, one JSON document, or a JSON object a line. Counts are exact, rates follow from them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "watch/int.h"

static const char *const metric_keys[ND_WATCH_METRICS] = {
	[ND_WATCH_RX_PPS] = "rx_packets_per_s", [ND_WATCH_TX_PPS] = "tx_packets_per_s",
	[ND_WATCH_RX_BYTES] = "rx_bits_per_s",  [ND_WATCH_TX_BYTES] = "tx_bits_per_s",
	[ND_WATCH_DROPS] = "drops_per_s",       [ND_WATCH_ERRORS] = "errors_per_s",
	[ND_WATCH_UTIL] = "ifutil_percent",
};

struct count {
	const char *key;
	uint64_t value;
};

#define COUNTS 15u

static void counts_of(const struct nd_watch_row *row, struct count ret[COUNTS])
{
	const struct nd_nic *n = row->nic;
	const struct count counts[COUNTS] = {
		{ "rx_packets", n->rx_packets },     { "tx_packets", n->tx_packets },
		{ "rx_bytes", n->rx_bytes },         { "tx_bytes", n->tx_bytes },
		{ "rx_dropped", n->rx_dropped },     { "rx_missed", n->rx_missed },
		{ "rx_fifo", n->rx_fifo_errors },    { "rx_errors", n->rx_errors },
		{ "rx_nohandler", n->rx_nohandler }, { "rx_multicast", n->rx_multicast },
		{ "tx_dropped", n->tx_dropped },     { "tx_errors", n->tx_errors },
		{ "qdisc_drops", n->qdisc_drops },   { "drops", row->drops },
		{ "errors", row->errors },
	};

	memcpy(ret, counts, sizeof(counts));
}

static void metrics_of(const struct nd_watch_view *v, const struct nd_watch_row *row,
		       double ret[ND_WATCH_METRICS])
{
	ret[ND_WATCH_RX_PPS] = nd_watch_rate(v, row->nic->rx_packets);
	ret[ND_WATCH_TX_PPS] = nd_watch_rate(v, row->nic->tx_packets);
	ret[ND_WATCH_RX_BYTES] = nd_watch_rate(v, row->nic->rx_bytes);
	ret[ND_WATCH_TX_BYTES] = nd_watch_rate(v, row->nic->tx_bytes);
	ret[ND_WATCH_DROPS] = nd_watch_rate(v, row->drops);
	ret[ND_WATCH_ERRORS] = nd_watch_rate(v, row->errors);
	ret[ND_WATCH_UTIL] = row->util_percent;
}

static double shown(size_t metric, double v)
{
	return metric == ND_WATCH_RX_BYTES || metric == ND_WATCH_TX_BYTES ? v * 8 : v;
}

/* ISO 8601, UTC, with ms: nd_unix_text() has whole seconds. */
static const char *stamp(const struct nd_watch_view *v, char *buf, size_t size)
{
	const char *text = nd_unix_text((uint64_t)v->at.tv_sec * 1000, buf, size);
	size_t n = strlen(text);

	if (n > 0 && text[n - 1] == 'Z' && n + 5 <= size)
		(void)snprintf(buf + n - 1, size - n + 1, ".%03ldZ",
			       v->at.tv_nsec / 1000000); /* fits */
	return text;
}

/* ---- CSV */

/* A name with a comma or a quote in it. */
static void put_cell(struct nd_str *out, const char *text)
{
	if (!strpbrk(text, ",\"\n\r")) {
		nd_str_add(out, text);
		return;
	}
	nd_str_addc(out, '"', 1);
	for (; *text; text++)
		nd_str_addf(out, *text == '"' ? "\"\"" : "%c", *text);
	nd_str_addc(out, '"', 1);
}

static void csv_begin(const struct nd_watch_ask *ask, const struct nd_watch_head *h,
		      struct nd_str *out)
{
	static const struct nd_nic none = { 0 };

	struct nd_watch_row row = { .nic = &none };
	struct count counts[COUNTS];
	size_t i;

	(void)ask; /* one layout */
	(void)h;   /* no place for it */
	counts_of(&row, counts);
	nd_str_add(out, "kind,time,seconds,iface");
	for (i = 0; i < COUNTS; i++)
		nd_str_addf(out, ",%s", counts[i].key);
	for (i = 0; i < ND_WATCH_METRICS; i++)
		nd_str_addf(out, ",%s", metric_keys[i]);
	nd_str_add(out, "\n");
}

static void put_metrics(struct nd_str *out, const double v[ND_WATCH_METRICS])
{
	size_t i;

	for (i = 0; i < ND_WATCH_METRICS; i++) {
		nd_str_add(out, ",");
		if (isfinite(v[i]))
			nd_json_double_text(out, shown(i, v[i]));
	}
	nd_str_add(out, "\n");
}

static void csv_view(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		     const struct nd_watch_all *all, struct nd_str *out)
{
	double metrics[ND_WATCH_METRICS];
	struct count counts[COUNTS];
	char at[40];
	size_t i, k;

	(void)ask; /* one layout */
	(void)all; /* told at the end */
	for (i = 0; i < v->rows; i++) {
		nd_str_addf(out, "sample,%s,%.6f,", stamp(v, at, sizeof(at)), v->seconds);
		put_cell(out, v->row[i].nic->name);
		counts_of(&v->row[i], counts);
		for (k = 0; k < COUNTS; k++) {
			nd_str_add(out, ",");
			if (counts[k].value != ND_UNKNOWN)
				nd_str_addf(out, "%llu", (unsigned long long)counts[k].value);
		}
		metrics_of(v, &v->row[i], metrics);
		put_metrics(out, metrics);
	}
}

static void csv_end(const struct nd_watch_ask *ask, const struct nd_watch_all *all,
		    struct nd_str *out)
{
	double v[4][ND_WATCH_METRICS];
	size_t i, k;

	(void)ask; /* one layout */
	for (i = 0; i < all->n; i++) {
		if (!nd_watch_values(&all->past[i], v))
			continue;
		for (k = 0; k < ND_COUNTOF(v); k++) {
			nd_str_addf(out, "%s,,%.6f,", nd_watch_stat_names[k], all->past[i].seconds);
			put_cell(out, all->past[i].name);
			nd_str_addc(out, ',', COUNTS);
			put_metrics(out, v[k]);
		}
	}
}

const struct nd_watch_writer nd_watch_csv = { .begin = csv_begin,
					      .view = csv_view,
					      .end = csv_end };

/* ---- JSON */

static bool is_lines(const struct nd_watch_ask *ask)
{
	return ask->format == ND_LOCAL_JSON_LINES;
}

static void put_host(struct nd_json *j, const struct nd_watch_ask *ask,
		     const struct nd_watch_head *h)
{
	nd_auto_str text = { 0 };
	const char *path;
	size_t n;

	nd_json_str(j, "tool", "netdyno");
	nd_json_str(j, "verb", "watch");
	nd_json_str(j, "hostname", h->hostname);
	nd_json_str(j, "kernel", h->kernel);
	nd_json_u64(j, "cpus", h->cpus);
	nd_json_f64(j, "interval_s", (double)ask->interval_ns / (double)ND_NS_PER_S);
	nd_json_open(j, "unreadable", '[');
	for (n = 0; (path = nd_os_unread(h->os, n)); n++) {
		nd_str_reset(&text);
		nd_str_addf(&text, "/%s", path);
		nd_json_str(j, NULL, nd_str_text(&text));
	}
	nd_json_close(j, ']');
}

/* The document's braces are closed in another call: the last one of this is left out. */
static void json_begin(const struct nd_watch_ask *ask, const struct nd_watch_head *h,
		       struct nd_str *out)
{
	struct nd_json j = { .out = out };

	nd_json_open(&j, NULL, '{');
	if (is_lines(ask))
		nd_json_str(&j, "event", "begin");
	put_host(&j, ask, h);
	if (is_lines(ask)) {
		nd_json_close(&j, '}');
		nd_str_add(out, "\n");
	} else {
		nd_str_add(out, ",\"samples\":[");
	}
}

static void put_rows(struct nd_json *j, const struct nd_watch_view *v)
{
	double metrics[ND_WATCH_METRICS];
	struct count counts[COUNTS];
	size_t i, k;

	nd_json_open(j, "interfaces", '[');
	for (i = 0; i < v->rows; i++) {
		nd_json_open(j, NULL, '{');
		nd_json_str(j, "iface", v->row[i].nic->name);
		nd_json_bool(j, "known", v->row[i].known);
		nd_json_bool(j, "gone", v->row[i].gone);
		nd_json_u64(j, "speed_mbps", v->row[i].speed_mbps);
		counts_of(&v->row[i], counts);
		for (k = 0; k < COUNTS; k++)
			nd_json_u64(j, counts[k].key, counts[k].value);
		metrics_of(v, &v->row[i], metrics);
		for (k = 0; k < ND_WATCH_METRICS; k++)
			nd_json_f64(j, metric_keys[k], shown(k, metrics[k]));
		nd_json_close(j, '}');
	}
	nd_json_close(j, ']');
}

static void json_view(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		      const struct nd_watch_all *all, struct nd_str *out)
{
	struct nd_json j = { .out = out };
	char at[40];

	(void)all; /* told at the end */
	if (!is_lines(ask))
		nd_str_add(out, v->number > 1 ? ",\n" : "\n");
	nd_json_open(&j, NULL, '{');
	if (is_lines(ask))
		nd_json_str(&j, "event", "sample");
	nd_json_str(&j, "time", stamp(v, at, sizeof(at)));
	nd_json_f64(&j, "seconds", v->seconds);
	put_rows(&j, v);
	nd_watch_more_json(ask, v, &j);
	nd_json_close(&j, '}');
	if (is_lines(ask))
		nd_str_add(out, "\n");
}

static void put_past(struct nd_json *j, const struct nd_watch_past *p)
{
	double v[4][ND_WATCH_METRICS];
	size_t i, k;

	if (!nd_watch_values(p, v))
		return;
	nd_json_open(j, NULL, '{');
	nd_json_str(j, "iface", p->name);
	nd_json_f64(j, "busy_s", p->seconds);
	nd_json_f64(j, "watched_s", p->all_seconds);
	for (k = 0; k < ND_COUNTOF(v); k++) {
		nd_json_open(j, nd_watch_stat_names[k], '{');
		for (i = 0; i < ND_WATCH_METRICS; i++)
			nd_json_f64(j, metric_keys[i], shown(i, v[k][i]));
		nd_json_close(j, '}');
	}
	nd_json_close(j, '}');
}

static void json_end(const struct nd_watch_ask *ask, const struct nd_watch_all *all,
		     struct nd_str *out)
{
	struct nd_json j = { .out = out };
	size_t i;

	if (is_lines(ask)) {
		nd_json_open(&j, NULL, '{');
		nd_json_str(&j, "event", "end");
		nd_json_open(&j, "summary", '[');
	} else {
		nd_str_add(out, "\n],\"summary\":");
		nd_json_open(&j, NULL, '[');
	}
	for (i = 0; i < all->n; i++)
		put_past(&j, &all->past[i]);
	nd_json_close(&j, ']');
	if (is_lines(ask))
		nd_json_close(&j, '}');
	else
		nd_str_add(out, "}");
	nd_str_add(out, "\n");
}

const struct nd_watch_writer nd_watch_json = { .begin = json_begin,
					       .view = json_view,
					       .end = json_end };
