/* SPDX-License-Identifier: MIT */
/* Text: how long requests took, quantile by quantile, and what stands behind the figures. */
#include <math.h>
#include <string.h>

#include "report/int.h"

#define COLUMN 34 /* of one distribution */
#define NARROW 14 /* of one without limits */

static struct nd_line line_of(struct nd_str *out, const char *label)
{
	return (struct nd_line){ .out = out, .label = label, .indent = ND_TEXT_INDENT };
}

bool nd_text_is_latency(const struct nd_result *r)
{
	return r->verb && (!strcmp(r->verb, "latency") || !strcmp(r->verb, "connect"));
}

static void put_us(struct nd_str *out, double us)
{
	if (isfinite(us))
		nd_scaled_text(out, us, ND_M_US);
	else
		nd_str_addc(out, '-', 1);
}

/* The distributions that were measured, side by side. */
struct columns {
	const struct nd_times *v[4];
	const char *head[4];
	unsigned n;
	bool is_life; /* all of a connection, then its parts: those without limits */
};

static void put_cell(struct nd_str *out, const struct columns *c, unsigned i, const char *text)
{
	size_t width = c->is_life && i > 0 ? NARROW : COLUMN, n = strlen(text);

	nd_str_add(out, text);
	if (i + 1 < c->n && n < width)
		nd_str_addc(out, ' ', width - n);
}

/* "25.1 us  (25.0 us to 25.3 us)" */
static void put_quantile(struct nd_str *out, const struct columns *c, unsigned column, uint64_t i)
{
	const struct nd_times *t = c->v[column];
	const struct nd_quantile_row *q = t->quantiles.v;
	nd_auto_str cell = { 0 };

	if (i >= t->quantiles.n || !isfinite(q[i].us)) {
		nd_str_addc(&cell, '-', 1);
	} else if (c->is_life && column > 0) {
		put_us(&cell, q[i].us);
	} else {
		put_us(&cell, q[i].us);
		nd_str_add(&cell, "  (");
		put_us(&cell, q[i].low_us);
		nd_str_add(&cell, " to ");
		put_us(&cell, q[i].high_us);
		nd_str_addc(&cell, ')', 1);
	}
	put_cell(out, c, column, nd_str_text(&cell));
}

static void put_plain(struct nd_str *out, const struct columns *c, unsigned column, double us)
{
	nd_auto_str cell = { 0 };

	put_us(&cell, us);
	put_cell(out, c, column, nd_str_text(&cell));
}

static bool has(const struct nd_times *t)
{
	return t->count > 0 && t->count != ND_UNKNOWN;
}

static void add_part(struct columns *c, const struct nd_times *t, const char *head)
{
	if (!has(t))
		return;
	c->v[c->n] = t;
	c->head[c->n++] = head;
	c->is_life = true;
}

static struct columns columns_of(const struct nd_latency *l)
{
	struct columns c = { .n = 0 };

	if (has(&l->response)) {
		c.v[c.n] = &l->response;
		c.head[c.n++] = "response: from when it was due";
	}
	c.v[c.n] = &l->service;
	c.head[c.n++] = l->open_loop      ? "service: from when it was sent"
			: has(&l->opened) ? "all of it  (95 % limits)"
					  : "service time  (95 % limits)";
	add_part(&c, &l->opened, "made");
	add_part(&c, &l->answer, "answered");
	add_part(&c, &l->ended, "ended");
	return c;
}

static void put_heads(struct nd_str *out, const char *label, const struct columns *c)
{
	nd_str_addf(out, "  %-13s", label);
	for (unsigned i = 0; i < c->n; i++)
		put_cell(out, c, i, c->head[i]);
	nd_str_addc(out, '\n', 1);
}

enum figure { MIN, MAX, MEAN };

static void put_figures(struct nd_str *out, const struct columns *c, enum figure which)
{
	static const char *const names[] = { "min", "max", "mean" };

	nd_str_addf(out, "    %-11s", names[which]);
	for (unsigned i = 0; i < c->n; i++)
		put_plain(out, c, i,
			  which == MIN   ? c->v[i]->min_us
			  : which == MAX ? c->v[i]->max_us
					 : c->v[i]->mean_us);
	nd_str_addc(out, '\n', 1);
}

/* Quantiles that some column knows, and the first one that none does, with the reason. */
static void put_quantiles(struct nd_str *out, const struct columns *c)
{
	const struct nd_quantile_row *q = c->v[0]->quantiles.v;

	for (uint64_t k = 0; k < c->v[0]->quantiles.n; k++) {
		nd_str_addf(out, "    %-11s", q[k].name);
		if (!isfinite(q[k].us)) {
			nd_str_addf(out, "not told: %s\n", q[k].missing ? q[k].missing : "unknown");
			return;
		}
		for (unsigned i = 0; i < c->n; i++)
			put_quantile(out, c, i, k);
		nd_str_addc(out, '\n', 1);
	}
}

static void put_requests(struct nd_str *out, const struct nd_latency *l)
{
	bool connects = l->source_addresses != ND_UNKNOWN;
	struct nd_line line = line_of(out, connects ? "Connections" : "Requests");

	if (connects) {
		nd_line_item(&line, "", "whole run: %llu made and ended",
			     (unsigned long long)l->answered);
		nd_line_item(&line, "; ", "samples in the window %llu",
			     (unsigned long long)l->service.count);
		if (l->handshake && strcmp(l->handshake, "with_request") == 0)
			nd_line_item(&line, "; ",
				     "the request carries the last ACK of the handshake "
				     "(TCP_QUICKACK off), and the server waits for it "
				     "(TCP_DEFER_ACCEPT)");
		nd_line_end(&line);
		return;
	}
	nd_line_item(&line, "", "whole run: sent %llu", (unsigned long long)l->sent);
	nd_line_item(&line, ", ", "answered %llu", (unsigned long long)l->answered);
	nd_line_item(&line, ", ", "lost %llu", (unsigned long long)l->lost);
	nd_line_item(&line, "; ", "samples in the window %llu",
		     (unsigned long long)l->service.count);
	if (!l->open_loop)
		nd_line_item(&line, "; ",
			     "closed loop, %llu at a time per flow: a stall counts once",
			     (unsigned long long)l->outstanding);
	nd_line_end(&line);
}

static void put_ports(struct nd_str *out, const struct nd_latency *l)
{
	struct nd_line line = line_of(out, "Source ports");
	uint64_t most = l->source_ports * l->source_addresses;

	if (l->source_ports == ND_UNKNOWN)
		return;
	nd_line_item(&line, "", "%llu", (unsigned long long)l->source_ports);
	nd_line_item(&line, " ",
		     l->source_addresses > 1 ? "for each of %llu addresses" : "for %llu address",
		     (unsigned long long)l->source_addresses);
	nd_line_item(&line, ": ", "at most %llu connections at a time", (unsigned long long)most);
	nd_line_item(
		&line, "; ", "%s",
		"the server closes first and keeps TIME_WAIT, so a port is free again at once");
	nd_line_item(&line, "; ", "%llu attempts found none", (unsigned long long)l->no_port);
	nd_line_end(&line);
}

static double quantile(const struct nd_times *t, const char *name)
{
	const struct nd_quantile_row *q = t->quantiles.v;

	for (uint64_t i = 0; i < t->quantiles.n; i++)
		if (!strcmp(q[i].name, name))
			return q[i].us;
	return (double)NAN;
}

static void put_late(struct nd_line *line, const char *words, double us)
{
	nd_auto_str text = { 0 };

	if (!isfinite(us))
		return;
	nd_scaled_text(&text, us, ND_M_US);
	nd_line_item(line, ", ", "%s %s", words, nd_str_text(&text));
}

static void put_schedule(struct nd_str *out, const struct nd_direction *d)
{
	const struct nd_latency *l = d->latency;
	struct nd_line line = line_of(out, "Schedule");
	nd_auto_str rate = { 0 };

	if (!l->open_loop)
		return;
	nd_scaled_text(&rate, (double)d->asked_rate_ops, ND_M_RATE);
	nd_line_item(&line, "", "%s asked, %s gaps", nd_str_text(&rate),
		     l->arrival ? l->arrival : "unknown");
	put_late(&line, "sent late by p50", quantile(&l->late, "p50"));
	put_late(&line, "p99", quantile(&l->late, "p99"));
	put_late(&line, "max", l->late.max_us);
	nd_line_end(&line);
}

static void put_times(struct nd_str *out, const char *label, const struct columns *c)
{
	put_heads(out, label, c);
	put_figures(out, c, MIN);
	put_quantiles(out, c);
	put_figures(out, c, MAX);
	put_figures(out, c, MEAN);
}

/* The parts that one end's rows name, in their order. */
static void put_parts(struct nd_str *out, const char *label, const struct nd_parted *k,
		      const struct nd_table *end)
{
	struct columns c = { .n = 0 };

	if (!has(&k->parts[0]))
		return;
	nd_row_for_each(row, end) {
		if (row->type != ND_T_GROUP || c.n == ND_COUNTOF(c.v))
			continue;
		c.v[c.n] = nd_field_at(k, row);
		c.head[c.n++] = row->label;
	}
	if (c.n > 0)
		put_times(out, label, &c);
}

/* Answers with both stamps, without their request's, without their own. */
static void put_stamps(struct nd_line *line, const struct nd_parted *k, uint64_t no_request,
		       uint64_t no_answer)
{
	nd_line_item(line, "; ", "%llu answers with both of the kernel's stamps",
		     (unsigned long long)k->stamped);
	nd_line_item(line, ", ", "%llu whose request has none", (unsigned long long)no_request);
	nd_line_item(line, ", ", "%llu that have none themselves", (unsigned long long)no_answer);
	if (k->odd > 0)
		nd_line_item(line, ", ", "%llu in no order", (unsigned long long)k->odd);
}

/* Where round trips spent their time. */
static void put_kernel(struct nd_str *out, const struct nd_latency *l)
{
	const struct nd_parted *k = l->kernel;
	struct nd_line line = line_of(out, "Stamps");

	if (!k)
		return;
	put_parts(out, "In parts", k, &nd_parted_table);
	if (k->missing)
		nd_line_item(&line, "", "%s", k->missing);
	put_stamps(&line, k, k->no_send_stamp, k->no_receive_stamp);
	nd_line_end(&line);
}

/* The answering end's part of the way, by its own stamps. */
static void put_turns(struct nd_str *out, const struct nd_parted *k)
{
	const struct nd_parted *t = k ? k->server : NULL;
	struct nd_line line = line_of(out, "Stamps there");

	if (!k)
		return;
	if (t) {
		put_parts(out, "At server", t, &nd_turned_table);
		put_stamps(&line, t, t->no_receive_stamp, t->no_send_stamp);
	} else {
		nd_line_item(&line, "", "none: %s",
			     k->server_missing ? k->server_missing : "they were not told");
	}
	nd_line_end(&line);
}

static void put_clock(struct nd_str *out, const struct nd_latency *l)
{
	struct nd_line line = line_of(out, "Clock");

	if (l->clock)
		nd_line_item(&line, "", "%s", l->clock);
	if (isfinite(l->clock_read_ns))
		nd_line_item(&line, ", ", "%.0f ns to read, twice in each time", l->clock_read_ns);
	nd_line_end(&line);
}

void nd_text_latency(struct nd_str *out, const struct nd_direction *d)
{
	const struct nd_latency *l = d->latency;
	struct columns c = columns_of(l);

	if (has(&l->service))
		put_times(out, "Time", &c);
	put_kernel(out, l);
	put_turns(out, l->kernel);
	put_requests(out, l);
	put_ports(out, l);
	put_schedule(out, d);
	put_clock(out, l);
}
