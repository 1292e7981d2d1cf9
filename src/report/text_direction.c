/* SPDX-License-Identifier: MIT */
/* Text: one block per direction. The first two lines are what is read in ten seconds. */
#include <math.h>
#include <string.h>

#include "report/int.h"

#define FEW_FLOWS 8 /* up to here each flow has its line */

static const struct nd_field *row(const char *key)
{
	return nd_report_row(&nd_direction_table, key);
}

static struct nd_line line_of(struct nd_str *out, const char *label)
{
	return (struct nd_line){ .out = out, .label = label, .indent = ND_TEXT_INDENT };
}

/* Transports have their names in capitals. */
static void put_upper(struct nd_str *out, const char *text)
{
	for (; *text; text++)
		if (*text >= 'a' && *text <= 'z')
			nd_str_addc(out, (char)(*text - ('a' - 'A')), 1);
		else
			nd_report_clean(out, (const char[]){ *text, '\0' });
}

/* What an end tells of itself, else what the @other saw of it. */
static void put_end(struct nd_str *out, const char *name, const struct nd_side *side,
		    const struct nd_part *other)
{
	const char *address = side ? side->address : other ? other->peer_address : NULL;

	nd_str_add(out, name ? name : "?");
	if (address) {
		nd_str_addc(out, ' ', 1);
		nd_report_clean(out, address);
	}
}

static void put_window(struct nd_line *l, const struct nd_direction *d)
{
	nd_auto_str text = { 0 };
	double seconds = isfinite(d->window_s) ? d->window_s : d->sender_window_s;

	if (isfinite(seconds))
		nd_str_addf(&text, "%.2f s measured", seconds);
	else if (isfinite(d->asked_window_s))
		nd_str_addf(&text, "%.2f s asked", d->asked_window_s);
	else
		return;
	if (d->window_start_s >= 0.005)
		nd_str_addf(&text, " after %.2f s warm-up", d->window_start_s);
	nd_line_item(l, "   ", "%s", nd_str_text(&text));
}

/* "TCP  client 10.0.0.1 -> server 10.0.0.2   8 flows   10.00 s measured after 1.00 s warm-up" */
static void put_header(struct nd_str *out, const struct nd_result *r, const struct nd_direction *d)
{
	const struct nd_side *tx = nd_result_sender(r, d), *rx = nd_result_receiver(r, d);
	struct nd_line l = { .out = out, .label = "", .indent = 5 };
	nd_auto_str head = { 0 };

	if (d->transport) {
		put_upper(&head, d->transport);
		nd_str_add(&head, "  ");
	}
	put_end(&head, d->sender, tx, nd_result_part(rx, d->workload));
	nd_str_add(&head, d->transactional ? " <-> " : " -> ");
	put_end(&head, d->receiver, rx, nd_result_part(tx, d->workload));
	nd_str_add(out, nd_str_text(&head));
	l.at = head.len;
	if (d->flows != ND_UNKNOWN)
		nd_line_item(&l, "   ", "%llu flow%s", (unsigned long long)d->flows,
			     d->flows == 1 ? "" : "s");
	if (d->datagram && d->message_sizes)
		nd_line_item(&l, "   ", "datagrams in turn: %s", d->message_sizes);
	else if (d->datagram && d->message_bytes != ND_UNKNOWN && d->message_bytes > 0)
		nd_line_item(&l, "   ", "datagrams of %llu bytes",
			     (unsigned long long)d->message_bytes);
	put_window(&l, d);
	nd_line_end(&l);
}

/* "   (11.0 GiB received; offered 9.42 Gbit/s)" */
static void put_aside(struct nd_str *out, const struct nd_direction *d)
{
	size_t before = out->len;

	if (d->received_bytes != ND_UNKNOWN) {
		nd_str_add(out, "   (");
		nd_figure_text(out, row("received_bytes"), d);
		nd_str_add(out, " received");
	}
	if (isfinite(d->offered_bps)) {
		nd_str_add(out, out->len > before ? "; offered " : "   (offered ");
		nd_figure_text(out, row("offered_bps"), d);
	}
	if (isfinite(d->lost_ratio)) {
		nd_str_add(out, out->len > before ? "; lost " : "   (lost ");
		nd_figure_text(out, row("lost_ratio"), d);
	}
	if (out->len > before)
		nd_str_add(out, ")");
}

const char *nd_text_unknown(const struct nd_direction *d)
{
	if (d->window_s == 0)
		return "not measured: the run ended before the window began";
	return d->transactional ? "unknown: the asking end's count is missing"
				: "unknown: the receiver's count is missing";
}

static void put_headline(struct nd_str *out, const struct nd_result *r,
			 const struct nd_direction *d)
{
	const struct nd_field *f = row(d->transactional ? "transactions_per_s" : "goodput_bps");

	if (nd_text_is_packets(r))
		nd_text_packets_headline(out, d);
	nd_str_addf(out, "  %-12s ", f->label);
	if (nd_figure_known(f, d))
		nd_figure_text(out, f, d);
	else
		nd_str_add(out, nd_text_unknown(d));
	if (!d->transactional && d->window_s != 0)
		put_aside(out, d);
	nd_str_addc(out, '\n', 1);
	if (r->same_host)
		nd_str_add(out,
			   "  Same host    not a network result: both ends ran on one machine\n");
}

static void put_round_trips(struct nd_str *out, const struct nd_direction *d)
{
	struct nd_line l = line_of(out, "Round trip");

	nd_row_for_each(f, &nd_direction_table) {
		if (!strncmp(f->key, "rtt_", 4) && (f->show & ND_SHOW_TEXT))
			nd_line_figure(&l, ", ", NULL, f, d);
	}
	nd_line_figure(&l, "; ", "samples", row("rtt_count"), d);
	if (l.at > 0 && d->asked_rate_ops == 0)
		nd_line_item(&l, "; ", "closed loop: a stall counts once");
	nd_line_end(&l);
}

static void put_datagrams(struct nd_str *out, const struct nd_direction *d)
{
	struct nd_line l = line_of(out, "Datagrams");
	nd_auto_str lost = { 0 };

	nd_line_figure(&l, ", ", "read at", row("messages_per_s"), d);
	nd_line_figure(&l, "; ", "whole run: sent", nd_report_row(&nd_loss_table, "sent"),
		       &d->loss);
	nd_line_figure(&l, ", ", "received", nd_report_row(&nd_loss_table, "received"), &d->loss);
	if (d->loss.lost != ND_UNKNOWN) {
		nd_str_addf(&lost, "lost %llu", (unsigned long long)d->loss.lost);
		if (isfinite(d->loss.lost_ratio)) {
			nd_str_add(&lost, " (");
			nd_scaled_text(&lost, d->loss.lost_ratio, ND_M_RATIO);
			nd_str_add(&lost, ")");
		}
		nd_line_item(&l, ", ", "%s", nd_str_text(&lost));
	}
	nd_line_figure(&l, ", ", "duplicated", nd_report_row(&nd_loss_table, "duplicate"),
		       &d->loss);
	nd_line_figure(&l, ", ", "reordered", nd_report_row(&nd_loss_table, "reordered"), &d->loss);
	nd_line_figure(&l, "; ", NULL, row("jitter_us"), d);
	nd_line_end(&l);
}

static void put_instants(struct nd_line *l, const char *name, const struct nd_part *p)
{
	if (p && p->window.start_ns != ND_UNKNOWN && p->window.end_ns != ND_UNKNOWN)
		nd_line_item(l, "; ", "%s's from %.9f s to %.9f s", name,
			     (double)p->window.start_ns / (double)ND_NS_PER_S,
			     (double)p->window.end_ns / (double)ND_NS_PER_S);
}

/* Rates are over true lengths, and those are rarely what was asked for. */
static void put_lengths(const struct nd_report_cfg *cfg, const struct nd_result *r,
			const struct nd_direction *d, struct nd_str *out)
{
	struct nd_line l = line_of(out, "Window");

	nd_line_figure(&l, ", ", "asked", row("asked_window_s"), d);
	nd_line_figure(&l, ", ", "true", row("window_s"), d);
	nd_line_figure(&l, ", ", "sender's", row("sender_window_s"), d);
	if (!nd_figure_zero(row("asked_rate_bps"), d))
		nd_line_figure(&l, "; ", NULL, row("asked_rate_bps"), d);
	if (!nd_figure_zero(row("asked_rate_ops"), d))
		nd_line_figure(&l, "; ", NULL, row("asked_rate_ops"), d);
	if (cfg->verbose) {
		put_instants(&l, d->sender, nd_result_part(nd_result_sender(r, d), d->workload));
		put_instants(&l, d->receiver,
			     nd_result_part(nd_result_receiver(r, d), d->workload));
	}
	nd_line_end(&l);
}

static void put_start(struct nd_str *out, const struct nd_result *r, const struct nd_direction *d)
{
	struct nd_line l = line_of(out, "Start");
	nd_auto_str apart = { 0 };

	if (isfinite(r->setup_ms) && d->flow_rows.n >= 2)
		nd_line_figure(&l, "", "flows set up in",
			       nd_report_row(&nd_result_table, "setup_ms"), r);
	if (isfinite(d->start_skew_ms)) {
		nd_line_figure(&l, ", ", "flows began within", row("start_skew_ms"), d);
		nd_line_figure(&l, ", ", "half of them within", row("start_skew_p50_ms"), d);
	}
	if (isfinite(r->ends_apart_us)) {
		nd_scaled_text(&apart, r->ends_apart_us, ND_M_US);
		nd_str_add(&apart, " (clocks +- ");
		nd_scaled_text(&apart, r->clock_rtt_us / 2, ND_M_US);
		nd_str_add(&apart, ")");
		nd_line_item(&l, ", ", "ends within %s", nd_str_text(&apart));
	}
	nd_line_end(&l);
}

static void put_flows(struct nd_str *out, const struct nd_direction *d)
{
	struct nd_line l = line_of(out, "Flows");

	if (d->flow_rows.n >= 2)
		nd_line_figures(&l, &nd_spread_table, &d->spread);
	nd_line_end(&l);
}

/* What an end has to do with it: a stream's sender receives nothing. */
enum role { SENDS = 1, RECEIVES = 2, BOTH = 3 };

static const struct {
	const char *key;
	enum role role;
} means[] = {
	{ "engine", BOTH },
	{ "tx_technique", SENDS },
	{ "rx_technique", RECEIVES },
	{ "pacer", SENDS },
};

static void put_end_means(struct nd_line *l, const char *name, const struct nd_part *p,
			  enum role role)
{
	size_t i;

	for (i = 0; p && i < ND_COUNTOF(means); i++) {
		const struct nd_field *f = nd_report_row(&nd_part_table, means[i].key);
		const char *const *value = nd_field_at(p, f);
		nd_auto_str label = { 0 };

		if (!(means[i].role & role) || !*value || !strcmp(*value, "none"))
			continue;
		nd_str_addf(&label, "%s%s%s", name, *name ? ": " : "", f->label);
		nd_line_figure(l, *name ? "; " : ", ", nd_str_text(&label), f, p);
		name = "";
	}
}

/* How the bytes were moved, as it was in the end and not as it was asked. */
static void put_means(struct nd_str *out, const struct nd_result *r, const struct nd_direction *d)
{
	struct nd_line l = line_of(out, "Means");

	put_end_means(&l, d->sender, nd_result_part(nd_result_sender(r, d), d->workload),
		      d->transactional ? BOTH : SENDS);
	put_end_means(&l, d->receiver, nd_result_part(nd_result_receiver(r, d), d->workload),
		      d->transactional ? BOTH : RECEIVES);
	nd_line_end(&l);
}

static void put_tcp(struct nd_str *out, const struct nd_direction *d)
{
	struct nd_line l = line_of(out, "TCP");

	if (d->transport && !strcmp(d->transport, "mptcp") && d->tcp.flows_sampled != ND_UNKNOWN &&
	    d->tcp.flows_sampled > 0)
		nd_line_item(&l, "", "of each flow's first subflow");
	nd_line_figures(&l, &nd_tcp_table, &d->tcp);
	nd_line_end(&l);
}

void nd_text_direction(const struct nd_report_cfg *cfg, const struct nd_result *r,
		       const struct nd_direction *d, struct nd_str *out)
{
	put_header(out, r, d);
	put_headline(out, r, d);
	if (d->latency && nd_text_is_latency(r))
		nd_text_latency(out, d);
	else if (d->transactional)
		put_round_trips(out, d);
	put_tcp(out, d);
	if (d->datagram && !d->transactional) {
		put_datagrams(out, d);
		if (nd_text_is_packets(r))
			nd_text_packets(out, r, d);
		if (nd_text_is_packets(r) || nd_text_has_loss(d))
			nd_text_ledger(out, d, nd_text_is_packets(r) || cfg->verbose);
	}
	put_flows(out, d);
	put_lengths(cfg, r, d, out);
	put_start(out, r, d);
	put_means(out, r, d);
	if (d->flow_rows.n >= 2 && (d->flow_rows.n <= FEW_FLOWS || cfg->verbose))
		nd_text_table(out, &nd_flow_joint_table, &d->flow_rows);
}
