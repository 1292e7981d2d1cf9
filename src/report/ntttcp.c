/* SPDX-License-Identifier: MIT */
/* This end's figures as both NTttcps count them, and their XML's elements. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/int.h"
#include "report/ntttcp.h"

double nd_ntrep_number(double v)
{
	return isfinite(v) ? v : 0;
}

double nd_ntrep_per(double a, double b)
{
	return b > 0 || b < 0 ? nd_ntrep_number(a / b) : 0;
}

double nd_ntrep_cpu_percent(const struct nd_ntrep *f, double cores)
{
	return nd_ntrep_per(100 * nd_ntrep_number(cores), f->cores_total);
}

double nd_ntrep_busy_percent(const struct nd_ntrep *f)
{
	return f->m && f->cores_total > 0 ? 100 - nd_ntrep_cpu_percent(f, f->m->idle_cores) : 0;
}

const char *nd_ntrep_host(const struct nd_ntrep *f)
{
	return f->own && f->own->host.hostname ? f->own->host.hostname : "";
}

/* ---- threads */

static bool came_to_be(const struct nd_flow_joint *row)
{
	return !row->error ||
	       nd_ntrep_count(row->sent_bytes) + nd_ntrep_count(row->received_bytes) > 0;
}

/* Senders count ports in order; receivers know a flow's port, or else flows came in that order. */
static size_t thread_of(const struct nd_ntrep *f, const struct nd_flow_joint *row, uint64_t at)
{
	uint64_t each = ND_MAX(1, nd_face_u64(&f->face, "conns_per_thread"));
	uint64_t n = f->d->flow_rows.n, k;

	if (f->sender)
		k = at / each;
	else if (row->group != ND_UNKNOWN)
		k = row->group;
	else
		k = at * f->threads / n;
	return (size_t)ND_MIN(k, f->threads - 1);
}

/* What nobody could see of one flow is unknown of the sum. */
static void add_known(uint64_t *sum, uint64_t v, uint64_t times)
{
	if (v == ND_UNKNOWN || times == ND_UNKNOWN)
		*sum = ND_UNKNOWN;
	else if (*sum != ND_UNKNOWN)
		*sum += v * times;
}

/* A call moves one buffer at most. A sender's fills it: its first piece, to start together with the others, and
 * what an edge of the window cuts are this program's doing. */
static uint64_t calls(const struct nd_ntrep *f, uint64_t bytes, uint64_t ios)
{
	uint64_t each = nd_face_u64(&f->face, "io_bytes"), least;

	if (f->udp || each == 0)
		return ios;
	least = bytes / each + (bytes % each != 0);
	return f->sender ? least : ND_MAX(ios, least);
}

static void add_flow(const struct nd_ntrep *f, const struct nd_flow_joint *row,
		     struct nd_ntrep_thread *t)
{
	unsigned ways = f->both_ways ? 2 : 1; /* a buffer is answered by one of its size */

	t->flows++;
	t->bps += nd_ntrep_number(f->sender ? row->offered_bps : row->goodput_bps) * ways;
	t->bytes += nd_ntrep_count(f->sender ? row->sent_bytes : row->received_bytes) * ways;
	t->ios += nd_ntrep_count(f->sender ? row->sends : row->reads) * ways;
	add_known(&t->retransmits, row->retransmits, 1);
	add_known(&t->cwnd_bytes, row->cwnd_segments, f->d->tcp.mss_bytes);
	if (row->rtt_us != ND_UNKNOWN) {
		t->rtt_us_sum += row->rtt_us;
		t->rtts++;
	}
}

/* Never more than there are flows, or ports: both are limited where they are chosen. */
static size_t thread_count(const struct nd_ntrep *f)
{
	const struct nd_flow_joint *row = f->d->flow_rows.v;
	uint64_t each = ND_MAX(1, nd_face_u64(&f->face, "conns_per_thread")), i;
	uint64_t n = f->d->flow_rows.n, ports = nd_face_u64(&f->face, "ports");

	if (f->sender)
		return (size_t)(n / each + (n % each != 0));
	ports = ND_MAX(1, ND_MIN(ports, 65536));
	for (i = 0; i < n; i++)
		if (row[i].group != ND_UNKNOWN && row[i].group < 65536)
			ports = ND_MAX(ports, row[i].group + 1);
	return (size_t)ports;
}

static int fill_threads(struct nd_ntrep *f)
{
	const struct nd_flow_joint *row = f->d->flow_rows.v;
	uint64_t i;

	f->threads = thread_count(f);
	if (f->threads == 0)
		return 0;
	f->thread = calloc(f->threads, sizeof(*f->thread));
	if (!f->thread)
		return -ENOMEM;
	for (i = 0; i < f->d->flow_rows.n; i++) {
		f->conns += came_to_be(&row[i]);
		add_flow(f, &row[i], &f->thread[thread_of(f, &row[i], i)]);
	}
	for (i = 0; i < f->threads; i++)
		f->thread[i].ios = calls(f, f->thread[i].bytes, f->thread[i].ios);
	return 0;
}

/* ---- totals */

static void fill_machine(struct nd_ntrep *f)
{
	const struct nd_machine *m = f->m;

	f->cores_total = nd_ntrep_number(m->user_cores) + nd_ntrep_number(m->system_cores) +
			 nd_ntrep_number(m->irq_cores) + nd_ntrep_number(m->softirq_cores) +
			 nd_ntrep_number(m->steal_cores) + nd_ntrep_number(m->idle_cores);
	f->cores = m->cpus.n ? m->cpus.n : nd_ntrep_count(f->own->host.cpus_online);
	f->packets_sent =
		nd_ntrep_count(f->udp ? m->window_udp_out_datagrams : m->window_tcp_out_segs);
	f->packets_received =
		nd_ntrep_count(f->udp ? m->window_udp_in_datagrams : m->window_tcp_in_segs);
}

/* This end's own part of the work; with -rt both ways count. */
static uint64_t counted(const struct nd_ntrep *f, uint64_t tx, uint64_t rx)
{
	return (f->sender || f->both_ways ? nd_ntrep_count(tx) : 0) +
	       (!f->sender || f->both_ways ? nd_ntrep_count(rx) : 0);
}

int nd_ntrep_open(struct nd_ntrep *f, const struct nd_report_cfg *cfg, const struct nd_result *r)
{
	const struct nd_part *part;

	*f = (struct nd_ntrep){ .face = nd_face_of(cfg, r), .r = r };
	f->sender = nd_face_bool(&f->face, "sender");
	f->udp = nd_face_bool(&f->face, "udp");
	f->verbose = nd_face_bool(&f->face, "verbose") || cfg->verbose;
	if (!r || r->directions.n == 0)
		return 0;
	f->d = r->directions.v;
	f->own = f->sender ? nd_result_sender(r, f->d) : nd_result_receiver(r, f->d);
	part = nd_result_part(f->own, f->d->workload);
	if (!part)
		return 0;
	f->m = &f->own->machine;
	f->seconds = nd_ntrep_number(part->window.seconds);
	f->both_ways = nd_face_bool(&f->face, "round_trip");
	f->bytes = counted(f, part->window.tx_bytes, part->window.rx_bytes);
	f->ios = calls(f, f->bytes, counted(f, part->window.tx_messages, part->window.rx_messages));
	fill_machine(f);
	return fill_threads(f);
}

void nd_ntrep_done(struct nd_ntrep *f)
{
	free(f->thread);
	f->thread = NULL;
	f->threads = 0;
}

bool nd_ntrep_sample(const struct nd_ntrep *f, uint64_t *at, struct nd_ntrep_sample *ret)
{
	const struct nd_part *part = f->d ? nd_result_part(f->own, f->d->workload) : NULL;
	const struct nd_interval_sample *v;

	while (part && *at < part->intervals.n) {
		v = (const struct nd_interval_sample *)part->intervals.v + (*at)++;
		if (!v->phase || strcmp(v->phase, "measure") != 0)
			continue;
		ret->seconds = nd_ntrep_number(v->seconds);
		ret->bytes = counted(f, v->tx_bytes, v->rx_bytes);
		ret->ios = calls(f, ret->bytes, counted(f, v->tx_messages, v->rx_messages));
		return true;
	}
	return false;
}

/* ---- settings */

void nd_ntrep_setting_text(const struct nd_ntrep *f, const struct nd_ntrep_setting *s,
			   struct nd_str *out)
{
	switch (s->kind) {
	case ND_NTREP_TEXT:
		nd_str_add(out, s->arg);
		break;
	case ND_NTREP_FLAG:
		nd_str_add(out, nd_face_bool(&f->face, s->arg) ? "True" : "False");
		break;
	case ND_NTREP_COUNT:
		nd_str_addf(out, "%llu", (unsigned long long)nd_face_u64(&f->face, s->arg));
		break;
	case ND_NTREP_SIGNED:
		nd_str_addf(out, "%lld", (long long)nd_face_i64(&f->face, s->arg));
		break;
	case ND_NTREP_SECONDS:
		nd_str_addf(out, "%llu", (unsigned long long)nd_face_u64(&f->face, s->arg) / 1000);
		break;
	case ND_NTREP_STRING:
		if (nd_face_str(&f->face, s->arg))
			nd_str_add(out, nd_face_str(&f->face, s->arg));
		break;
	case ND_NTREP_MADE:
		s->make(f, out);
		break;
	}
}

/* ---- XML */

const char *nd_ntrep_root_name(const struct nd_ntrep *f)
{
	return f->sender ? "ntttcps" : "ntttcpr";
}

void nd_ntrep_xml_open(struct nd_ntrep_xml *x, const char *name, const char *attribute)
{
	nd_str_addc(x->out, '\t', x->depth++);
	nd_str_addf(x->out, "<%s%s%s>%s", name, attribute ? " " : "", attribute ? attribute : "",
		    x->eol);
}

void nd_ntrep_xml_close(struct nd_ntrep_xml *x, const char *name)
{
	nd_str_addc(x->out, '\t', --x->depth);
	nd_str_addf(x->out, "</%s>%s", name, x->eol);
}

void nd_ntrep_xml(struct nd_ntrep_xml *x, const char *name, const char *metric, const char *fmt,
		  ...)
{
	nd_auto_str text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	nd_str_vaddf(&text, fmt, ap);
	va_end(ap);
	x->out->failed = x->out->failed || !nd_str_ok(&text);
	nd_str_addc(x->out, '\t', x->depth);
	nd_str_addf(x->out, "<%s", name);
	if (metric)
		nd_str_addf(x->out, " metric=\"%s\"", metric);
	nd_str_add(x->out, ">");
	nd_report_xml_escape(x->out, nd_str_text(&text));
	nd_str_addf(x->out, "</%s>%s", name, x->eol);
}

void nd_ntrep_xml_root(struct nd_ntrep_xml *x, const struct nd_ntrep *f, const char *version)
{
	nd_auto_str attributes = { 0 };

	nd_str_add(&attributes, "computername=\"");
	nd_report_xml_escape(&attributes, nd_ntrep_host(f));
	nd_str_addf(&attributes, "\" version=\"%s\"", version);
	x->out->failed = x->out->failed || !nd_str_ok(&attributes);
	nd_ntrep_xml_open(x, nd_ntrep_root_name(f), nd_str_text(&attributes));
}

void nd_ntrep_xml_settings(struct nd_ntrep_xml *x, const struct nd_ntrep *f,
			   const struct nd_ntrep_setting *s)
{
	nd_auto_str text = { 0 };

	nd_ntrep_xml_open(x, "parameters", NULL);
	for (; s->xml; s++) {
		nd_str_reset(&text);
		nd_ntrep_setting_text(f, s, &text);
		nd_ntrep_xml(x, s->xml, NULL, "%s", nd_str_text(&text));
	}
	x->out->failed = x->out->failed || !nd_str_ok(&text);
	nd_ntrep_xml_close(x, "parameters");
}
