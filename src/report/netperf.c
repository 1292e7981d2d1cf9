/* SPDX-License-Identifier: MIT */
/* netperf's report: figures as it counts them, and what is written when. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "report/int.h"
#include "report/netperf.h"

/* clang-format off */
static const struct nd_nprep_test tests[] = {
	{ "TCP_STREAM",   "MIGRATED TCP STREAM TEST",                  ND_NPREP_STREAM,  false },
	{ "TCP_MAERTS",   "MIGRATED TCP MAERTS TEST",                  ND_NPREP_STREAM,  false },
	{ "TCP_SENDFILE", "TCP SENDFILE TEST",                         ND_NPREP_STREAM,  true },
	{ "TCP_RR",       "MIGRATED TCP REQUEST/RESPONSE TEST",        ND_NPREP_RR,      false },
	{ "UDP_RR",       "MIGRATED UDP REQUEST/RESPONSE TEST",        ND_NPREP_RR,      false },
	{ "TCP_CRR",      "MIGRATED TCP Connect/Request/Response TEST", ND_NPREP_CRR,    false },
	{ "TCP_CC",       "TCP Connect/Close TEST",                    ND_NPREP_CRR,     true },
	{ "UDP_STREAM",   "MIGRATED UDP STREAM TEST",                  ND_NPREP_PACKETS, false },
	{ "TCP_MSS",      "TCP MSS TEST",                              ND_NPREP_MSS,     true },
	{ "LOC_CPU",      NULL,                                        ND_NPREP_CPU,     true },
	{ "REM_CPU",      NULL,                                        ND_NPREP_CPU,     true },
	{ "UUID",         NULL,                                        ND_NPREP_UUID,    true },
	{ "OMNI",         "OMNI",                                      ND_NPREP_OMNI,    false },
};

static const struct unit {
	char letter;
	double bytes; /* in one; 0: its reciprocal in us */
	const char *name;
} units[] = {
	{ 'm', 1e6 / 8,              "10^6bits" },
	{ 'k', 1e3 / 8,              "10^3bits" },
	{ 'g', 1e9 / 8,              "10^9bits" },
	{ 'b', 1.0 / 8,              "10^0bits" },
	{ 'B', 1,                    "Bytes" },
	{ 'K', 1024,                 "KBytes" },
	{ 'M', 1024 * 1024,          "MBytes" },
	{ 'G', 1024.0 * 1024 * 1024, "GBytes" },
	{ 'u', 0,                    "Usec" },
};

/* clang-format on */

static double number(double v)
{
	return isfinite(v) ? v : 0;
}

static double per(double a, double b)
{
	return b > 0 || b < 0 ? number(a / b) : 0;
}

static int64_t count(uint64_t v)
{
	return v > INT64_MAX ? 0 : (int64_t)v;
}

/* -1 where it is not known */
static int64_t known(uint64_t v)
{
	return v > INT64_MAX ? -1 : (int64_t)v;
}

static const struct unit *unit_of(const struct nd_nprep *f)
{
	for (size_t i = 0; i < ND_COUNTOF(units); i++)
		if (units[i].letter == (char)f->unit)
			return &units[i];
	return &units[0];
}

double nd_nprep_bytes_rate(const struct nd_nprep *f, double bytes_per_s)
{
	const struct unit *u = unit_of(f);

	return u->bytes > 0 ? bytes_per_s / u->bytes : per(1e6, bytes_per_s);
}

const char *nd_nprep_unit_name(const struct nd_nprep *f, bool transactions)
{
	return transactions && f->counts_transactions ? "Trans" : unit_of(f)->name;
}

/* ---- what the command line says */

static int64_t of_pair(const struct nd_face *f, const char *key, const char *end)
{
	struct nd_face pair = nd_face_group(f, key);

	return pair.at ? nd_face_i64(&pair, end) : -1;
}

/* What they told each other, else @other. */
static int64_t said(const struct nd_face *f, const char *key, const char *end, int64_t other)
{
	struct nd_face all = nd_face_group(f, "said");
	int64_t v = of_pair(&all, key, end);

	return v > 0 ? v : other;
}

static void fill_asked(struct nd_nprep *f, const char *end, struct nd_nprep_end *e)
{
	const struct nd_face *c = &f->face;
	bool is_local = e == &f->local;
	int64_t least;

	e->sndbuf_asked = of_pair(c, "sndbuf", end);
	e->rcvbuf_asked = of_pair(c, "rcvbuf", end);
	e->sndbuf = said(c, "sndbuf", end, -1);
	e->rcvbuf = said(c, "rcvbuf", end, -1);
	e->sndbuf_end = e->sndbuf;
	e->rcvbuf_end = e->rcvbuf;
	/* what this end does not do is what was asked for, or nothing */
	least = is_local ? 0 : -1;
	e->send_bytes = said(c, "send_bytes", end, ND_MAX(of_pair(c, "send_bytes", end), least));
	e->recv_bytes = said(c, "recv_bytes", end, ND_MAX(of_pair(c, "recv_bytes", end), least));
	e->send_offset = of_pair(c, "send_offset", end);
	e->recv_offset = of_pair(c, "recv_offset", end);
	e->send_align = of_pair(c, "send_align", end);
	e->recv_align = of_pair(c, "recv_align", end);
	e->send_width = said(c, "send_width", end, 0);
	e->recv_width = said(c, "recv_width", end, 0);
	e->bound = of_pair(c, "cpu", end);
	e->priority = of_pair(c, "priority", end);
	e->tos = of_pair(c, "tos", end);
	e->cork = nd_face_bool(c, "cork");
	e->nodelay = nd_face_bool(c, "nodelay") && !f->datagram;
	e->interval_us =
		(int64_t)(nd_face_u64(c, is_local ? "burst_ns" : "remote_burst_ns") / 1000);
	e->interval_burst = (int64_t)nd_face_u64(c, is_local ? "burst" : "remote_burst");
	e->fill_file = nd_face_str(c, is_local ? "local_file" : "remote_file") ?: "";
	e->cc = nd_face_str(c, is_local ? "local_cc" : "remote_cc") ?: "";
	e->cpu = e->demand = -1;
	e->method = "U";
	e->retransmits = -1;
	e->peak = is_local ? -1 : 0;
	e->peak_id = is_local ? -1 : 0;
}

static void fill_direction(struct nd_nprep *f)
{
	const char *way = nd_face_enum(&f->face, "direction");
	const char *words;

	f->sends = !strcmp(way, "send") || !strcmp(way, "both");
	f->recvs = !strcmp(way, "recv") || !strcmp(way, "both");
	f->connects = nd_face_bool(&f->face, "connection_test");
	f->datagram = nd_face_bool(&f->face, "datagram");
	words = f->sends && f->recvs ? "Send|Recv"
		: f->sends           ? "Send"
		: f->recvs           ? "Receive"
				     : NULL;
	(void)snprintf(f->direction, sizeof(f->direction), "%s%s",
		       f->connects && words ? "Connect|" : "", words ?: "Connection");
}

static const struct nd_nprep_test *test_of(const char *name)
{
	for (size_t i = 0; i < ND_COUNTOF(tests); i++)
		if (!strcmp(tests[i].name, name))
			return &tests[i];
	return &tests[ND_COUNTOF(tests) - 1];
}

static enum nd_nprep_style style_of(const struct nd_nprep *f)
{
	static const char *const names[] = { "classic", "csv", "human", "keyval" };
	const char *name = nd_face_enum(&f->face, "style");

	for (unsigned i = ND_COUNTOF(names) - 1; i > 0; i--)
		if (!strcmp(names[i], name))
			return (enum nd_nprep_style)i;
	return f->test->kind == ND_NPREP_OMNI ? ND_NPREP_HUMAN : ND_NPREP_CLASSIC;
}

static void fill_words(struct nd_nprep *f)
{
	const struct nd_face *c = &f->face;

	f->test = test_of(nd_face_enum(c, "test"));
	f->style = style_of(f);
	fill_direction(f);
	f->unit = nd_face_i64(c, "unit");
	f->counts_transactions = f->unit == 'x' || (f->test->is_old && f->connects);
	f->local_cpu = nd_face_bool(c, "local_cpu");
	f->remote_cpu = nd_face_bool(c, "remote_cpu");
	f->banner = nd_face_bool(c, "banner");
	f->verbosity = (int64_t)nd_face_u64(c, "verbosity");
	f->brand = f->banner ? "" : nd_face_str(c, "brand") ?: "";
	f->brand_quoted = nd_face_str(c, "brand");
	f->socket_type = f->datagram ? "Datagram" : "Stream";
	f->protocol = nd_face_str(c, "protocol") ?: (f->datagram ? "UDP" : "TCP");
	f->uuid = nd_face_str(c, "uuid") ?: "";
	f->command = nd_face_str(c, "command") ?: "";
	f->request_bytes = nd_face_i64(c, "request_bytes");
	f->response_bytes = nd_face_i64(c, "response_bytes");
	f->burst = (int64_t)nd_face_u64(c, "first_burst");
	f->demand_unit = f->counts_transactions ? "usec/Tran" : "usec/KB";
}

/* ---- what was measured */

static void fill_machine(const struct nd_side *s, struct nd_nprep_end *e)
{
	const struct nd_machine *m = s ? &s->machine : NULL;
	double cores;

	if (!m || e->cpu < 0)
		return;
	cores = e->cpus > 0 ? (double)e->cpus : 1;
	e->method = "S";
	e->user = 100 * per(number(m->user_cores) - number(m->nice_cores), cores);
	e->system = 100 * per(number(m->system_cores), cores);
	e->iowait = 100 * per(number(m->iowait_cores), cores);
	e->irq = 100 * per(number(m->irq_cores), cores);
	e->softirq = 100 * per(number(m->softirq_cores), cores);
	e->peak = 100 * number(m->busiest_ratio);
	e->peak_id = count(m->busiest_cpu);
}

static void fill_part(struct nd_nprep *f, const struct nd_part *p, struct nd_nprep_end *e)
{
	if (!p)
		return;
	e->tx_bytes = count(p->run.tx_bytes);
	e->rx_bytes = count(p->run.rx_bytes);
	e->bytes = e->tx_bytes + e->rx_bytes;
	e->sends = count(p->run.tx_messages);
	e->recvs = count(p->run.rx_messages);
	e->failed_sends = count(p->run.tx_refused);
	e->bytes_per_send = per((double)e->tx_bytes, (double)e->sends);
	e->bytes_per_recv = per((double)e->rx_bytes, (double)e->recvs);
	e->send_rate = nd_nprep_bytes_rate(f, per((double)e->tx_bytes, f->elapsed_s));
	e->recv_rate = nd_nprep_bytes_rate(f, per((double)e->rx_bytes, f->elapsed_s));
	if (f->connects) /* there is no socket whose end would mean something */
		return;
	e->sndbuf_end = p->sndbuf_bytes == ND_UNKNOWN ? e->sndbuf : count(p->sndbuf_bytes);
	e->rcvbuf_end = p->rcvbuf_bytes == ND_UNKNOWN ? e->rcvbuf : count(p->rcvbuf_bytes);
	if (f->datagram)
		return;
	e->retransmits = known(p->tcp.retransmits);
	e->cc = p->tcp.cc ?: e->cc;
}

/* Truncated; the longest one where there are too few to tell. */
static int64_t quantile(double us, double max_us)
{
	return (int64_t)number(isnan(us) ? max_us : us);
}

static void fill_latency(struct nd_nprep *f)
{
	const struct nd_part *p = f->part;

	f->min_us = f->max_us = f->p50_us = f->p90_us = f->p99_us = -1;
	f->mean_us = f->stddev_us = -1;
	if (!p || !nd_face_bool(&f->face, "keep_stats") || p->rtt_count == 0 ||
	    p->rtt_count == ND_UNKNOWN)
		return;
	f->min_us = (int64_t)number(p->rtt_min_us);
	f->max_us = (int64_t)number(p->rtt_max_us);
	f->p50_us = quantile(p->rtt_p50_us, p->rtt_max_us);
	f->p90_us = quantile(p->rtt_p90_us, p->rtt_max_us);
	f->p99_us = quantile(p->rtt_p99_us, p->rtt_max_us);
	f->mean_us = number(p->rtt_mean_us);
	f->stddev_us = number(p->rtt_stddev_us);
}

/* Means of repeated runs take the place of the last one's. */
static void fill_repeats(struct nd_nprep *f, const struct nd_repeats *s)
{
	f->level = (int64_t)nd_face_u64(&f->face, "confidence");
	f->runs = 1;
	f->width_asked = f->rate_width = f->local_cpu_width = f->remote_cpu_width = -1;
	if (f->level > 0)
		f->width_asked = 100 * number(nd_face_f64(&f->face, "confidence_width"));
	if (!s || s->runs == 0)
		return;
	f->runs = (int64_t)s->runs;
	f->rate_width = 100 * nd_repeats_width(s, &s->per_s);
	f->local_cpu_width = 100 * nd_repeats_width(s, &s->client_cpu);
	f->remote_cpu_width = 100 * nd_repeats_width(s, &s->server_cpu);
	f->elapsed_s = s->elapsed_s.mean;
	f->rate = s->per_s.mean;
	f->local.cpu = s->client_cpu.mean;
	f->remote.cpu = s->server_cpu.mean;
	f->local.demand = s->client_demand.mean;
	f->remote.demand = s->server_demand.mean;
}

static void fill_figures(struct nd_nprep *f)
{
	const struct nd_repeat_ask ask = { .transactions = f->counts_transactions,
					   .client_receives = f->recvs && !f->sends,
					   .one_end = nd_face_bool(&f->face, "no_control"),
					   .client_cpu = f->local_cpu,
					   .server_cpu = f->remote_cpu };
	const struct nd_part *server = nd_result_part(f->r->server, 0);
	struct nd_repeat_figures run;

	nd_repeat_figures(f->r, &ask, &run);
	f->elapsed_s = run.elapsed_s;
	f->rate = run.per_s;
	f->local.cpu = run.client_cpu;
	f->remote.cpu = run.server_cpu;
	f->local.cpus = (int64_t)run.client_cpus;
	f->remote.cpus = (int64_t)run.server_cpus;
	f->local.demand = run.client_demand;
	f->remote.demand = run.server_demand;
	fill_machine(f->r->client, &f->local);
	fill_machine(f->r->server, &f->remote);
	fill_part(f, f->part, &f->local);
	fill_part(f, server, &f->remote);
	if (server)
		f->remote.nodelay = server->nodelay;
}

static void fill_derived(struct nd_nprep *f)
{
	double transactions_per_s =
		f->part ? per((double)count(f->part->run.transactions), f->elapsed_s) : 0;

	f->result_rate = f->counts_transactions ? f->rate : nd_nprep_bytes_rate(f, f->rate);
	(void)snprintf(f->unit_name, sizeof(f->unit_name), "%s/s", nd_nprep_unit_name(f, true));
	f->mss = f->part && !f->datagram ? known(f->part->tcp.mss_bytes) : -1;
	f->transaction_rate = 1;
	f->rt_latency_us = -1;
	if (!f->connects && !(f->sends && f->recvs))
		return;
	f->transaction_rate = f->counts_transactions ? f->rate : transactions_per_s;
	f->rt_latency_us = per(1e6, f->transaction_rate);
	if (!f->connects)
		f->rt_latency_us *= (double)(1 + f->burst);
}

/* As it was asked for, not as it turned out: nothing is bound and nothing looked up. */
static void fill_addresses(struct nd_nprep *f)
{
	const struct nd_face *c = &f->face;
	bool ipv6 =
		f->r && f->r->client && f->r->client->address && strchr(f->r->client->address, ':');

	f->source = nd_face_str(c, "data_local") ?: nd_face_str(c, "local_host");
	f->source = f->source ?: (ipv6 ? "::0" : "0.0.0.0");
	f->dest = nd_face_str(c, "data_host") ?: nd_face_str(c, "host") ?: "";
	f->source_port = ND_MAX(0, of_pair(c, "data_port", "local"));
	f->dest_port = ND_MAX(0, of_pair(c, "data_port", "remote"));
	f->source_family = 0;
	f->dest_family = ipv6 ? 10 : 2;
}

void nd_nprep_open(struct nd_nprep *f, const struct nd_report_cfg *cfg, const struct nd_result *r)
{
	*f = (struct nd_nprep){ .face = nd_face_of(cfg, r), .r = r };
	fill_words(f);
	fill_asked(f, "local", &f->local);
	fill_asked(f, "remote", &f->remote);
	if (f->sends && f->recvs)
		f->local.send_bytes = f->local.recv_bytes = 0;
	f->part = r ? nd_result_part(r->client, 0) : NULL;
	if (r)
		fill_figures(f);
	fill_repeats(f, r ? r->repeats : NULL);
	fill_derived(f);
	fill_latency(f);
	fill_addresses(f);
}

/* ---- while it runs */

struct state {
	uint64_t lines;
	uint64_t began_unix_ms; /* when this run's intervals began */
	double seen_s;          /* end of the one before */
	bool has_banner;
};

/* This end's count: sent, or received where it only receives. */
static double interval_rate(const struct nd_nprep *f, const struct nd_interval_joint *v,
			    double seconds)
{
	double bytes, n = (double)count(v->transactions);

	if (f->counts_transactions)
		return per(n, seconds);
	if (f->connects || (f->sends && f->recvs))
		bytes = n * (double)(ND_MAX(0, f->request_bytes) + ND_MAX(0, f->response_bytes));
	else
		bytes = (double)count(f->sends ? v->sent_bytes : v->received_bytes);
	return nd_nprep_bytes_rate(f, per(bytes, seconds));
}

static void interim(const struct nd_nprep *f, struct state *state,
		    const struct nd_interval_joint *v, struct nd_str *out)
{
	double seconds = v->end_s - v->start_s, rate = interval_rate(f, v, seconds), end;
	unsigned long long n = state->lines++;

	if (n == 0 || v->end_s <= state->seen_s)
		state->began_unix_ms = nd_unix_ms() - (uint64_t)(v->end_s * 1000);
	state->seen_s = v->end_s;
	end = (double)state->began_unix_ms / 1000 + v->end_s;
	if (f->style == ND_NPREP_CSV)
		nd_str_addf(out, "%.2f,%s,%.3f,%.3f\n", rate, f->unit_name, seconds, end);
	else if (f->style == ND_NPREP_KEYVAL)
		nd_str_addf(out,
			    "NETPERF_INTERIM_RESULT[%llu]=%.2f\nNETPERF_UNITS[%llu]=%s\n"
			    "NETPERF_INTERVAL[%llu]=%.3f\nNETPERF_ENDING[%llu]=%.3f\n",
			    n, rate, n, f->unit_name, n, seconds, n, end);
	else
		nd_str_addf(out, "Interim result: %7.2f %s over %.3f seconds ending at %.3f\n",
			    rate, f->unit_name, seconds, end);
}

/* "[::1]:12865", or a host as it was typed */
static bool is_ipv6(const char *connected, const char *host)
{
	return connected ? connected[0] == '[' : strchr(host, ':') != NULL;
}

static void progress(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
		     struct nd_str *out)
{
	struct state *state = cfg->state;
	bool connected = ev->what == ND_PROG_CONNECTED;
	struct nd_nprep f;

	if (ev->what == ND_PROG_LISTENING) /* netserver */
		nd_str_addf(out, "Starting netserver with host %s\n", ev->text);
	if (!connected && ev->what != ND_PROG_READY && ev->what != ND_PROG_INTERVAL)
		return;
	nd_nprep_open(&f, cfg, NULL);
	if (f.face.at && nd_face_bool(&f.face, "server"))
		return;
	if (connected || ev->what == ND_PROG_READY) {
		if (f.banner && f.test->title && !state->has_banner)
			nd_nprep_banner(&f, is_ipv6(connected ? ev->text : NULL, f.dest), out);
		state->has_banner = true;
	} else if (nd_face_u64(&f.face, "interim_ns") && ev->interval &&
		   ev->interval->end_s > ev->interval->start_s) {
		interim(&f, state, ev->interval, out);
	}
}

/* ---- when it is over */

static void cpu_and_names(const struct nd_nprep *f, struct nd_str *out)
{
	struct nd_face all = nd_face_group(&f->face, "said");
	bool is_local = !strcmp(f->test->name, "LOC_CPU");
	int64_t cpus = nd_face_i64(&all, "remote_cpus");

	if (f->test->kind == ND_NPREP_UUID) {
		nd_str_add(out, f->uuid);
		return;
	}
	if (is_local)
		cpus = sysconf(_SC_NPROCESSORS_ONLN);
	nd_str_add(out, "100"); /* ticks of its clock a second: how /proc/stat counts */
	if (f->verbosity > 1)
		nd_str_addf(out, "\nThere are %lld %s cpus\n", (long long)cpus,
			    is_local ? "local" : "remote");
}

static void result(const struct nd_report_cfg *cfg, const struct nd_result *r, struct nd_str *out)
{
	struct nd_nprep f;

	nd_nprep_open(&f, cfg, r);
	if (nd_face_bool(&f.face, "server"))
		return;
	if (f.test->kind == ND_NPREP_CPU || f.test->kind == ND_NPREP_UUID) {
		cpu_and_names(&f, out);
	} else if (f.style == ND_NPREP_CLASSIC) {
		nd_nprep_classic(&f, out);
	} else {
		nd_nprep_omni(&f, out);
		if (f.verbosity > 1)
			nd_nprep_histogram(&f, out);
	}
}

const struct nd_writer nd_writer_netperf = { .name = "netperf",
					     .help = "as netperf prints it",
					     .of_face = true,
					     .hears_all = true,
					     .state_size = sizeof(struct state),
					     .progress = progress,
					     .result = result };
