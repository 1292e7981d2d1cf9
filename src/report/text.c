/* SPDX-License-Identifier: MIT */
/* The report for people: what was measured, how sure it is, what it cost. */
#include <math.h>
#include <string.h>

#include "report/int.h"

struct words {
	const char *name, *shown;
};

static const struct words phase_words[] = { { "warmup", "warm-up" },
					    { "cooldown", "cool-down" },
					    { "drain", "drain" } };

/* What stands behind an interim line; NULL in the measured window. */
static const char *phase_text(const char *phase)
{
	size_t i;

	for (i = 0; phase && i < ND_COUNTOF(phase_words); i++)
		if (!strcmp(phase, phase_words[i].name))
			return phase_words[i].shown;
	return NULL;
}

static void add_part(struct nd_str *out, const char *before, double value, enum nd_measure m,
		     const char *behind)
{
	if (!isfinite(value))
		return;
	nd_str_add(out, before);
	nd_scaled_text(out, value, m);
	nd_str_add(out, behind);
}

static void interim_loss(struct nd_str *out, const struct nd_interval_joint *i)
{
	uint64_t lost = i->lost_messages;

	if (lost == ND_UNKNOWN)
		return;
	nd_str_addf(out, "   lost %llu", (unsigned long long)lost);
	if (lost > 0 && i->received_messages != ND_UNKNOWN) {
		nd_str_add(out, " (");
		nd_scaled_text(out, (double)lost / ((double)lost + (double)i->received_messages),
			       ND_M_RATIO);
		nd_str_add(out, ")");
	}
}

static void interim_transactions(struct nd_str *out, const struct nd_interval_joint *i)
{
	double seconds = i->end_s - i->start_s;

	if (i->transactions != ND_UNKNOWN && seconds > 0)
		add_part(out, " ", (double)i->transactions / seconds, ND_M_RATE, " transactions");
	else
		nd_str_add(out, " -");
	if (i->rtt_count == 0 || i->rtt_count == ND_UNKNOWN)
		return;
	add_part(out, "   p50 ", i->rtt_p50_us, ND_M_US, "");
	add_part(out, "   p99 ", i->rtt_p99_us, ND_M_US, "");
	add_part(out, "   max ", i->rtt_max_us, ND_M_US, "");
}

/* Messages of an interval per second of it. */
static double per_second(uint64_t messages, const struct nd_interval_joint *i)
{
	double seconds = i->end_s - i->start_s;

	return messages != ND_UNKNOWN && seconds > 0 ? (double)messages / seconds : (double)NAN;
}

static void interim_packets(struct nd_str *out, const struct nd_interval_joint *i)
{
	double read = per_second(i->received_messages, i), sent = per_second(i->sent_messages, i);

	add_part(out, " ", read, ND_M_RATE, " delivered");
	add_part(out, isfinite(read) ? "   " : " ", sent, ND_M_RATE, " sent");
	if (!isfinite(read) && !isfinite(sent))
		nd_str_add(out, " -");
	interim_loss(out, i);
}

static void interim_stream(struct nd_str *out, const struct nd_progress_event *ev)
{
	const struct nd_interval_joint *i = ev->interval;

	if (isfinite(i->goodput_bps)) {
		add_part(out, " ", i->goodput_bps, ND_M_BITRATE, "");
		add_part(out, "   offered ", i->offered_bps, ND_M_BITRATE, "");
	} else if (isfinite(i->offered_bps)) {
		add_part(out, " ", i->offered_bps, ND_M_BITRATE, " offered");
	} else {
		nd_str_add(out, " -");
	}
	if (ev->datagram)
		interim_loss(out, i);
	else if (i->retransmits != ND_UNKNOWN)
		nd_str_addf(out, "   %llu retransmit%s", (unsigned long long)i->retransmits,
			    i->retransmits == 1 ? "" : "s");
}

/* "[  3.00 s] 9.401 Gbit/s   offered 9.412 Gbit/s   2 retransmits   warm-up" */
static void interim_line(struct nd_str *out, const struct nd_progress_event *ev)
{
	const char *phase = phase_text(ev->interval->phase);

	if (isfinite(ev->interval->end_s))
		nd_str_addf(out, "[%6.2f s]", ev->interval->end_s);
	else
		nd_str_add(out, "[     - s]");
	if (ev->direction && !ev->alone) {
		nd_str_addc(out, ' ', 1);
		nd_report_clean(out, ev->direction);
		nd_str_addc(out, ' ', 1);
	}
	if (ev->transactions)
		interim_transactions(out, ev->interval);
	else if (ev->packets)
		interim_packets(out, ev->interval);
	else
		interim_stream(out, ev);
	if (phase)
		nd_str_addf(out, "   %s", phase);
	nd_str_addc(out, '\n', 1);
}

/* Nothing was under way any more: no news. */
static bool is_idle_drain(const struct nd_interval_joint *i)
{
	return i->phase && !strcmp(i->phase, "drain") &&
	       (i->received_bytes == 0 || i->received_bytes == ND_UNKNOWN);
}

static void text_line(struct nd_str *out, const char *words, const char *text)
{
	if (!text)
		return;
	nd_str_add(out, words);
	nd_report_clean(out, text);
	nd_str_addc(out, '\n', 1);
}

static void text_progress(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
			  struct nd_str *out)
{
	(void)cfg; /* every writer gets it */
	switch (ev->what) {
	case ND_PROG_LISTENING:
		text_line(out, "Listening on ", ev->text);
		break;
	case ND_PROG_CONNECTED:
		text_line(out, "Connected to ", ev->text);
		break;
	case ND_PROG_PHASE: /* the intervals' lines say it */
		break;
	case ND_PROG_INTERVAL:
		if (!is_idle_drain(ev->interval))
			interim_line(out, ev);
		break;
	case ND_PROG_WARNING:
		text_line(out, "warning: ", ev->text);
		break;
	case ND_PROG_NOTE:
		text_line(out, "note: ", ev->text);
		break;
	case ND_PROG_READY: /* for reports that must look like another tool's */
	case ND_PROG_FLOWS:
	case ND_PROG_DETAIL:
	case ND_PROG_SEEN:
	case ND_PROG_SOCKET:
	case ND_PROG_MAX:
		break;
	}
}

/* Long sentences go on below their first word. */
static void put_sentence(struct nd_str *out, const char *head, const char *sentence)
{
	nd_auto_str safe = { 0 };
	nd_auto_str text = { 0 };
	size_t indent = strlen(head);

	nd_report_clean(&safe, sentence);
	nd_str_wrap(&text, nd_str_text(&safe), (unsigned)indent, ND_TEXT_COLUMNS);
	out->failed = out->failed || !nd_str_ok(&safe) || !nd_str_ok(&text);
	if (text.len <= indent)
		return;
	nd_str_add(out, head);
	nd_str_add(out, nd_str_text(&text) + indent);
}

static void put_title(struct nd_str *out, const struct nd_result *r)
{
	nd_str_add(out, r->tool ? r->tool : "netdyno");
	if (r->version) {
		nd_str_addc(out, ' ', 1);
		nd_report_clean(out, r->version);
	}
	if (r->verb) {
		nd_str_add(out, "   ");
		nd_report_clean(out, r->verb);
	}
	if (r->target) {
		nd_str_add(out, r->verb ? " " : "   ");
		nd_report_clean(out, r->target);
	}
	if (r->started)
		nd_str_addf(out, "   %s", r->started);
	nd_str_addc(out, '\n', 1);
}

static void text_result(const struct nd_report_cfg *cfg, const struct nd_result *r,
			struct nd_str *out)
{
	const struct nd_direction *d = r->directions.v;
	const struct nd_warning *w = r->warnings.v;
	uint64_t i;

	nd_str_addc(out, '\n', !cfg->quiet); /* below the interim lines */
	put_title(out, r);
	if (r->partial)
		put_sentence(out, "PARTIAL: ",
			     r->partial_reason ? r->partial_reason : "the run was cut short");
	for (i = 0; i < r->directions.n; i++) {
		nd_str_addc(out, '\n', 1);
		nd_text_direction(cfg, r, &d[i], out);
	}
	if (r->loaded)
		nd_text_loaded(out, r);
	if (r->search)
		nd_text_search(out, r->search);
	if (r->group)
		nd_text_group(out, r);
	nd_text_machines(cfg, r, out);
	nd_str_addc(out, '\n', r->warnings.n > 0);
	for (i = 0; i < r->warnings.n; i++)
		put_sentence(out, "warning: ", w[i].sentence);
}

const struct nd_writer nd_writer_text = {
	.name = "text",
	.help = "lines for people, figures scaled and with their units",
	.progress = text_progress,
	.result = text_result,
};
