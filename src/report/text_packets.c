/* SPDX-License-Identifier: MIT */
/* Text: packets as programs, stacks and interfaces count them, and where the lost ones went. */
#include <math.h>
#include <string.h>

#include "report/int.h"

static const struct nd_field *row(const char *key)
{
	return nd_report_row(&nd_packets_table, key);
}

static struct nd_line line_of(struct nd_str *out, const char *label)
{
	return (struct nd_line){ .out = out, .label = label, .indent = ND_TEXT_INDENT };
}

bool nd_text_is_packets(const struct nd_result *r)
{
	return r->verb && !strcmp(r->verb, "packets");
}

/* Several datagrams of a piece that went through a stack whole were no packets of their own. */
static bool in_pieces(double datagrams_per_s, double pieces_per_s)
{
	return isfinite(datagrams_per_s) && isfinite(pieces_per_s) &&
	       pieces_per_s < datagrams_per_s;
}

static bool has_pieces(const struct nd_packets *p)
{
	return in_pieces(p->sent_per_s, p->tx_stack_per_s) ||
	       in_pieces(p->read_per_s, p->rx_stack_per_s);
}

/* "  Packets      340.6 k/s read   (sent 362.7 k/s; lost 6.08 % of the whole run)" */
void nd_text_packets_headline(struct nd_str *out, const struct nd_direction *d)
{
	const struct nd_packets *p = &d->packets;

	nd_str_addf(out, "  %-12s ", has_pieces(p) ? "Datagrams" : "Packets");
	if (!isfinite(p->read_per_s))
		nd_str_add(out, nd_text_unknown(d));
	else
		nd_scaled_text(out, p->read_per_s, ND_M_RATE);
	nd_str_add(out, isfinite(p->read_per_s) ? " delivered" : "");
	if (isfinite(p->sent_per_s)) {
		nd_str_add(out, "   (sent ");
		nd_scaled_text(out, p->sent_per_s, ND_M_RATE);
		if (isfinite(d->loss.lost_ratio)) {
			nd_str_add(out, "; of the whole run lost ");
			nd_scaled_text(out, d->loss.lost_ratio, ND_M_RATIO);
		}
		nd_str_addc(out, ')', 1);
	}
	nd_str_addc(out, '\n', 1);
}

/* clang-format off */
static const struct { const char *by, *tx, *rx, *words; } counts[] = {
	{ "programs",   "sent_per_s",     "read_per_s",     "datagrams handed over, and read: the result" },
	{ "stacks",     "tx_stack_per_s", "rx_stack_per_s", "the same in pieces that sockets took, and gave" },
	{ "kernels",    "udp_out_per_s",  "udp_in_per_s",   "Udp: OutDatagrams, InDatagrams; all programs'" },
	{ "interfaces", "tx_wire_per_s",  "rx_wire_per_s",  "all programs'; txpck/s and rxpck/s of sar -n DEV" },
};

/* clang-format on */

static void put_rate(struct nd_str *out, const char *key, const struct nd_packets *p)
{
	nd_auto_str text = { 0 };

	if (nd_figure_known(row(key), p))
		nd_figure_text(&text, row(key), p);
	else
		nd_str_add(&text, "-");
	nd_str_addf(out, " %14s", nd_str_text(&text));
}

static void put_counts(struct nd_str *out, const struct nd_direction *d)
{
	const struct nd_packets *p = &d->packets;

	nd_str_addf(out, "  %-12s %14s %14s   in the window\n", "Counted by", "sender", "receiver");
	for (size_t i = 0; i < ND_COUNTOF(counts); i++) {
		nd_str_addf(out, "    %-10s", counts[i].by);
		put_rate(out, counts[i].tx, p);
		put_rate(out, counts[i].rx, p);
		nd_str_addf(out, "   %s\n", counts[i].words);
	}
	if (p->tx_nic || p->rx_nic) {
		nd_str_addf(out, "    %-10s %14s %14s\n", "", p->tx_nic ? p->tx_nic : "-",
			    p->rx_nic ? p->rx_nic : "-");
	}
}

static void put_cost(struct nd_str *out, const struct nd_result *r, const struct nd_direction *d)
{
	const struct nd_packets *p = &d->packets;
	struct nd_line l = line_of(out, "CPU cost");

	if (isfinite(p->sender_cpu_s_per_mpkt))
		nd_line_item(&l, "; ", "%s %.2f core-s", r->same_host ? "both ends" : d->sender,
			     p->sender_cpu_s_per_mpkt);
	if (isfinite(p->receiver_cpu_s_per_mpkt))
		nd_line_item(&l, "; ", "%s %.2f core-s", r->same_host ? "both ends" : d->receiver,
			     p->receiver_cpu_s_per_mpkt);
	if (l.at > 0)
		nd_line_item(&l, " ", "per million %s, of the whole machine",
			     has_pieces(p) ? "datagrams" : "packets");
	nd_line_end(&l);
}

/* What the sender's own clock saw of its calls: a rate that is right on average may come in bursts. */
static void put_calls(struct nd_str *out, const struct nd_result *r, const struct nd_direction *d)
{
	static const char *const gaps[] = { "gap_p50_us", "gap_p99_us", "gap_max_us" };
	const struct nd_packets *p = &d->packets;
	const struct nd_part *part = nd_result_part(nd_result_sender(r, d), d->workload);
	struct nd_line l = line_of(out, "Calls");

	if (p->send_calls == ND_UNKNOWN)
		return;
	nd_line_item(&l, "", "%llu by the sender", (unsigned long long)p->send_calls);
	for (size_t i = 0; i < ND_COUNTOF(gaps); i++)
		nd_line_figure(&l, i ? ", " : "; apart: ", NULL, row(gaps[i]), p);
	if (isfinite(p->burst_p50) && isfinite(p->burst_p99) && isfinite(p->burst_max))
		nd_line_item(&l, "; ", "datagrams in one: p50 %.0f, p99 %.0f, max %.0f",
			     p->burst_p50, p->burst_p99, p->burst_max);
	if (part && part->pacer)
		nd_line_item(&l, "; ", "paced by %s",
			     strcmp(part->pacer, "none") != 0 ? part->pacer : "nothing");
	nd_line_end(&l);
}

void nd_text_packets(struct nd_str *out, const struct nd_result *r, const struct nd_direction *d)
{
	put_counts(out, d);
	put_cost(out, r, d);
	put_calls(out, r, d);
}

/* ---- the ledger */

static bool has_ended(uint64_t n)
{
	return n != ND_UNKNOWN && n > 0;
}

static void put_number(struct nd_str *out, uint64_t n)
{
	if (n == ND_UNKNOWN)
		nd_str_addf(out, " %13s", "-");
	else
		nd_str_addf(out, " %13llu", (unsigned long long)n);
}

static void put_stage(struct nd_str *out, const struct nd_ledger_row *s, const struct nd_loss *loss)
{
	nd_auto_str share = { 0 };

	if (has_ended(s->lost_here) && has_ended(loss->offered))
		nd_scaled_text(&share, (double)s->lost_here / (double)loss->offered, ND_M_RATIO);
	nd_str_addf(out, "    %-8s  %-21s", s->at, s->stage);
	put_number(out, s->counted);
	put_number(out, s->lost_here);
	nd_str_addf(out, " %8s  %s\n", nd_str_text(&share), s->source);
	if (!s->note)
		return;
	nd_str_addf(out, "%14s", "");
	nd_report_clean(out, s->note);
	nd_str_addc(out, '\n', 1);
}

static void put_balance(struct nd_str *out, const struct nd_direction *d)
{
	const struct nd_ledger_row *s = d->ledger.v;
	int64_t rest = (int64_t)(d->loss.offered - d->loss.received);

	if (d->loss.offered == ND_UNKNOWN || d->loss.received == ND_UNKNOWN)
		return;
	for (uint64_t i = 0; i < d->ledger.n; i++)
		rest -= s[i].lost_here == ND_UNKNOWN ? 0 : (int64_t)s[i].lost_here;
	nd_str_addf(out, "    %-8s  %-21s %13s %13lld %8s  offered - lost - read\n", "", "balance",
		    "", (long long)rest, "");
}

bool nd_text_has_loss(const struct nd_direction *d)
{
	return has_ended(d->loss.lost) || has_ended(d->loss.refused);
}

void nd_text_ledger(struct nd_str *out, const struct nd_direction *d, bool whole)
{
	const struct nd_ledger_row *s = d->ledger.v;
	uint64_t i;

	if (d->ledger.n == 0)
		return;
	nd_str_addf(out, "  %-33s %13s %13s           of the whole run, by\n",
		    whole ? "Ledger" : "Loss", "counted", "lost here");
	for (i = 0; i < d->ledger.n; i++) {
		bool is_end = i == 0 || i + 1 == d->ledger.n;

		if (whole || is_end || s[i].lost_here != 0)
			put_stage(out, &s[i], &d->loss);
	}
	put_balance(out, d);
	if (has_ended(d->loss.tail))
		nd_str_addf(out, "    %llu of those lost were the last ones of their flows\n",
			    (unsigned long long)d->loss.tail);
}

/* ---- the search */

/* Words of the table that do not speak for themselves. */
static void explain_trials(struct nd_str *out, const struct nd_search *s)
{
	const struct nd_trial *t = s->trials.v;
	unsigned slow = 0;
	uint64_t i;

	for (i = 0; i < s->trials.n; i++)
		slow += t[i].passed && !t[i].reached && t[i].asked_per_s > 0;
	nd_str_add(
		out,
		"  search: a new rate; again: the same rate, in doubt; re-test: the rate found\n"
		"  queue: not lost, but later and later; sender: no failure, but slower than asked\n");
	if (slow)
		nd_str_addf(
			out,
			"  %u of those that passed offered less than asked: they show only what "
			"they offered\n",
			slow);
}

void nd_text_search(struct nd_str *out, const struct nd_search *s)
{
	struct nd_line l = line_of(out, "Found");
	nd_auto_str bound = { 0 };

	nd_scaled_text(&bound, s->bound_ratio, ND_M_RATIO);
	nd_str_addf(
		out,
		"\nHighest rate with a loss of at most %s; the report above is of its last trial\n",
		nd_str_text(&bound));
	if (isfinite(s->found_per_s))
		nd_line_figure(&l, ", ", "", nd_report_row(&nd_search_table, "found_per_s"), s);
	else
		nd_line_item(&l, ", ", "none: every rate that was tried failed");
	nd_line_figure(&l, "; ", "at least", nd_report_row(&nd_search_table, "low_per_s"), s);
	nd_line_figure(&l, ", ", "failed at", nd_report_row(&nd_search_table, "failed_per_s"), s);
	if (s->retests != ND_UNKNOWN && s->retests > 0)
		nd_line_item(&l, "; ", "%llu of %llu re-tests passed",
			     (unsigned long long)s->retests_passed, (unsigned long long)s->retests);
	if (s->limit)
		nd_line_item(&l, "; ", "limited by %s",
			     !strcmp(s->limit, "sender")  ? "the sender"
			     : !strcmp(s->limit, "asked") ? "what was asked for"
			     : !strcmp(s->limit, "queue") ? "a queue that grows"
							  : s->limit);
	if (s->confidence && !strcmp(s->confidence, "sender-limited"))
		nd_line_item(&l, "; ", "sender-limited: more may pass");
	else if (s->confidence)
		nd_line_item(&l, "; ", "confidence %s", s->confidence);
	nd_line_end(&l);
	nd_text_table(out, &nd_trial_table, &s->trials);
	explain_trials(out, s);
}
