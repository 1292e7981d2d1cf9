/* SPDX-License-Identifier: MIT */
/*
 * The console of NTttcp for Linux: its lines, white space, and units, which programs read. What it
 * does not know (both ends of a test, datagrams lost) stands below its own figures.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/time.h"
#include "report/int.h"
#include "report/ntttcp.h"

#define BANNER "NTTTCP for Linux 1.4.3\n"
#define RULE   "---------------------------------------------------------\n"

enum step { BEFORE, WARMUP, MEASURE, COOLDOWN, OVER };

/* What was said so far. */
struct state {
	struct nd_str log; /* owned: lines for the log file */
	enum step step;
	bool is_ready;
};

/* ---- lines */

static void stamp(struct nd_str *out, const char *level)
{
	time_t now = (time_t)(nd_unix_ms() / 1000);
	struct tm tm = { 0 };

	(void)localtime_r(&now, &tm); /* fails beyond the year 2^31: midnight then */
	nd_str_addf(out, "%02d:%02d:%02d %-4s: ", tm.tm_hour, tm.tm_min, tm.tm_sec, level);
}

/* A line with the time in front, which the log file holds, too. */
static ND_PRINTF(4, 5) void line(const struct nd_report_cfg *cfg, struct nd_str *out,
				 const char *level, const char *fmt, ...)
{
	struct state *s = cfg->state;
	struct nd_face face = nd_face_of(cfg, NULL);
	nd_auto_str text = { 0 };
	va_list ap;

	stamp(&text, level);
	va_start(ap, fmt);
	nd_str_vaddf(&text, fmt, ap);
	va_end(ap);
	nd_str_addc(&text, '\n', 1);
	out->failed = out->failed || !nd_str_ok(&text);
	nd_str_add(out, nd_str_text(&text));
	if (nd_face_str(&face, "log_file"))
		nd_str_add(&s->log, nd_str_text(&text));
}

/* Words of somebody else: they must not steer the terminal. */
static void words(const struct nd_report_cfg *cfg, struct nd_str *out, const char *level,
		  const char *text)
{
	nd_auto_str safe = { 0 };

	if (!text)
		return;
	nd_report_clean(&safe, text);
	out->failed = out->failed || !nd_str_ok(&safe);
	line(cfg, out, level, "%s", nd_str_text(&safe));
}

struct rate_text {
	char text[40];
};

/* "9.31Gbps" */
static struct rate_text rate_of(double bps)
{
	static const char *const units[] = { "bps", "Kbps", "Mbps", "Gbps" };
	struct rate_text ret;
	double v = nd_ntrep_number(bps);
	size_t i;

	for (i = 0; v > 1000 && i + 1 < ND_COUNTOF(units); i++)
		v /= 1000;
	(void)snprintf(ret.text, sizeof(ret.text), "%.2f%s", v, units[i]);
	return ret;
}

static unsigned long long whole(uint64_t v)
{
	return nd_ntrep_count(v);
}

/* ---- before and while it runs */

static void linux_begin(const struct nd_report_cfg *cfg, struct nd_str *out)
{
	struct nd_face face = nd_face_of(cfg, NULL);
	struct nd_strv notes = nd_face_strv(&face, "notes");
	uint64_t i;

	nd_str_add(out, BANNER RULE);
	for (i = 0; i < notes.n; i++)
		words(cfg, out, "INFO", notes.v[i]);
	if (!nd_face_bool(&face, "verbose"))
		return;
	nd_ntrep_linux_params(&face, out);
	line(cfg, out, "DBG", "read as a command line of NTttcp for Linux, by netdyno " ND_VERSION);
}

/* The receiver's one more thread is the one that talks to senders. */
static void ready(const struct nd_report_cfg *cfg, struct nd_str *out)
{
	struct state *s = cfg->state;
	struct nd_face face = nd_face_of(cfg, NULL);
	bool sender = nd_face_bool(&face, "sender"), alone = nd_face_bool(&face, "no_sync");
	uint64_t n = nd_face_u64(&face, "ports");

	if (s->is_ready)
		return;
	s->is_ready = true;
	if (sender && alone)
		line(cfg, out, "INFO", "Starting sender activity (no sync) ...");
	if (sender)
		n *= nd_face_u64(&face, "threads_per_port");
	else if (!alone)
		n++;
	line(cfg, out, "INFO", "%llu threads created", (unsigned long long)n);
}

static void flows_open(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
		       struct nd_str *out)
{
	struct nd_face face = nd_face_of(cfg, NULL);

	ready(cfg, out);
	if (nd_face_bool(&face, "sender"))
		line(cfg, out, "INFO", "%llu connections created in %llu microseconds",
		     (unsigned long long)ev->count, (unsigned long long)ev->microseconds);
}

static enum step step_of(const char *phase)
{
	static const char *const names[] = { "", "warmup", "measure", "cooldown", "drain" };
	size_t i;

	for (i = 0; phase && i < ND_COUNTOF(names); i++)
		if (!strcmp(phase, names[i]))
			return (enum step)i;
	return BEFORE;
}

/* Steps are told one after the other, also those that nobody told of. */
static void go_to(const struct nd_report_cfg *cfg, enum step step, struct nd_str *out)
{
	struct state *s = cfg->state;
	struct nd_face face = nd_face_of(cfg, NULL);

	if (step <= s->step)
		return;
	ready(cfg, out);
	/* the words of a start that was agreed on */
	if (s->step == BEFORE && step < OVER && !nd_face_bool(&face, "no_sync"))
		line(cfg, out, "INFO", "Network activity progressing...");
	if (s->step == WARMUP && step > WARMUP)
		line(cfg, out, "INFO", "Test warmup completed.");
	if (s->step > BEFORE && s->step <= MEASURE && step > MEASURE)
		line(cfg, out, "INFO", "Test run completed.");
	if (step == COOLDOWN)
		line(cfg, out, "INFO", "Test cooldown is in progress...");
	if (step == OVER)
		line(cfg, out, "INFO", "Test cycle finished.");
	s->step = step;
}

/* A terminal sees one line that changes. */
static bool overwrites(const struct nd_report_cfg *cfg)
{
	const char *term = getenv("TERM"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */

	return cfg->tty && term && strcmp(term, "dumb") != 0;
}

static void real_time(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
		      struct nd_str *out)
{
	const struct nd_interval_joint *i = ev->interval;
	struct state *s = cfg->state;
	struct nd_face face = nd_face_of(cfg, NULL);
	double bps = nd_face_bool(&face, "sender") ? i->offered_bps : i->goodput_bps;
	enum step step = step_of(i->phase);

	if (step == WARMUP || step == MEASURE)
		go_to(cfg, step, out);
	if (step > MEASURE || s->step > MEASURE || nd_face_bool(&face, "quiet") || !isfinite(bps))
		return;
	nd_str_addf(out, "%sReal-time throughput: %s%c", overwrites(cfg) ? "\x1b[2K" : "",
		    rate_of(bps).text, overwrites(cfg) ? '\r' : '\n');
}

static void detail(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
		   struct nd_str *out)
{
	nd_auto_str text = { 0 };

	if (ev->what != ND_PROG_DETAIL)
		nd_str_add(&text,
			   ev->what == ND_PROG_LISTENING ? "listening on " : "connected to ");
	nd_str_add(&text, ev->text ? ev->text : "");
	out->failed = out->failed || !nd_str_ok(&text);
	words(cfg, out, "DBG", nd_str_text(&text));
}

static void linux_progress(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
			   struct nd_str *out)
{
	struct nd_face face = nd_face_of(cfg, NULL);

	switch (ev->what) {
	case ND_PROG_LISTENING:
	case ND_PROG_CONNECTED:
	case ND_PROG_DETAIL:
		if (nd_face_bool(&face, "verbose"))
			detail(cfg, ev, out);
		break;
	case ND_PROG_READY:
		ready(cfg, out);
		break;
	case ND_PROG_FLOWS:
		flows_open(cfg, ev, out);
		break;
	case ND_PROG_PHASE:
		go_to(cfg, step_of(ev->text), out);
		break;
	case ND_PROG_INTERVAL:
		real_time(cfg, ev, out);
		break;
	case ND_PROG_WARNING:
	case ND_PROG_NOTE:
		words(cfg, out, "INFO", ev->text);
		break;
	case ND_PROG_SEEN:
	case ND_PROG_SOCKET:
	case ND_PROG_MAX:
		break;
	}
}

/* ---- figures that the files show, too */

double nd_ntrep_linux_cycles(const struct nd_ntrep *f)
{
	double idle = f->m->idle_cores - nd_ntrep_number(f->m->iowait_cores);
	double busy = 1 - nd_ntrep_cpu_percent(f, idle) / 100;
	double hz = nd_ntrep_number(f->m->cpu_mhz) * 1e6;

	return nd_ntrep_per(hz * f->seconds * (double)f->cores * busy, (double)f->bytes);
}

/* Whole microseconds: of each thread's flows, then of the threads. */
uint64_t nd_ntrep_linux_rtt_us(const struct nd_ntrep *f)
{
	uint64_t sum = 0, n = 0;
	size_t i;

	for (i = 0; i < f->threads; i++) {
		if (!f->thread[i].rtts)
			continue;
		sum += f->thread[i].rtt_us_sum / f->thread[i].rtts;
		n++;
	}
	return n ? sum / n : 0;
}

void nd_ntrep_linux_rates(const struct nd_ntrep *f, struct nd_ntrep_rate ret[ND_NTREP_RATES])
{
	/* clang-format off */
	static const struct { const char *console, *xml; size_t offset; } rows[ND_NTREP_RATES] = {
#define ROW(console, xml, member) { console "/sec", xml "_per_sec", \
				    offsetof(struct nd_machine, window_tcp_##member) }
		ROW("retrans_segments",  "retrans_segments",  retrans_segs),
		ROW("lost_retrans",      "lost_retrans",      lost_retransmit),
		ROW("syn_retrans",       "syn_retrans",       syn_retrans),
		ROW("fast_retrans",      "fast_retrans",      fast_retrans),
		ROW("forward_retrans",   "forward_retrans",   forward_retrans),
		ROW("slowStart_retrans", "slowStart_retrans", slow_start_retrans),
		ROW("retrans_fail",      "retrans_fail",      retrans_fail),
#undef ROW
	};
	/* clang-format on */
	uint64_t v;
	size_t i;

	for (i = 0; i < ND_NTREP_RATES; i++) {
		memcpy(&v, (const char *)f->m + rows[i].offset, sizeof(v));
		ret[i] = (struct nd_ntrep_rate){ rows[i].console, rows[i].xml,
						 nd_ntrep_per((double)nd_ntrep_count(v),
							      f->seconds) };
	}
}

/* ---- the result */

static void put_threads(const struct nd_report_cfg *cfg, const struct nd_ntrep *f,
			struct nd_str *out)
{
	size_t i;

	line(cfg, out, "INFO", "\tThread\tTime(s)\tThroughput");
	line(cfg, out, "INFO", "\t======\t=======\t==========");
	for (i = 0; i < f->threads; i++)
		line(cfg, out, "INFO", "\t%zu\t %.2f\t %s", i, f->seconds,
		     rate_of(f->thread[i].bps).text);
}

static void put_traffic(const struct nd_report_cfg *cfg, const struct nd_ntrep *f,
			struct nd_str *out)
{
	struct nd_ntrep_rate rate[ND_NTREP_RATES];
	size_t i;

	line(cfg, out, "INFO", "#####  Totals:  #####");
	line(cfg, out, "INFO", "test duration\t:%.2f seconds", f->seconds);
	line(cfg, out, "INFO", "total bytes\t:%llu", (unsigned long long)f->bytes);
	line(cfg, out, "INFO", "\t throughput\t:%s",
	     rate_of(nd_ntrep_per((double)f->bytes * 8, f->seconds)).text);
	if (!f->udp)
		line(cfg, out, "INFO", "\t retrans segs\t:%llu",
		     whole(f->m->window_tcp_retrans_segs));
	if (!nd_face_bool(&f->face, "tcp_retrans"))
		return;
	nd_ntrep_linux_rates(f, rate);
	line(cfg, out, "INFO", "tcp retransmit:");
	for (i = 0; i < ND_NTREP_RATES; i++)
		line(cfg, out, "INFO", "\t %s\t:%.2f", rate[i].console, rate[i].per_s);
}

static void put_packets(const struct nd_report_cfg *cfg, const struct nd_ntrep *f,
			struct nd_str *out)
{
	bool counts = nd_face_str(&f->face, "nic"), splits = nd_face_str(&f->face, "interrupts");
	uint64_t tx = f->m->window_nic_tx_packets, rx = f->m->window_nic_rx_packets;
	double n = (double)nd_ntrep_count(f->m->window_interrupts);

	if (counts && (tx == ND_UNKNOWN || rx == ND_UNKNOWN))
		words(cfg, out, "ERR", "the interface to show packets for was not there");
	if (counts) {
		line(cfg, out, "INFO", "total packets:");
		line(cfg, out, "INFO", "\t tx_packets\t:%llu", whole(tx));
		line(cfg, out, "INFO", "\t rx_packets\t:%llu", whole(rx));
	}
	if (splits) {
		line(cfg, out, "INFO", "interrupts:");
		line(cfg, out, "INFO", "\t total\t\t:%llu", whole(f->m->window_interrupts));
		line(cfg, out, "INFO", "\t interrupts/sec\t:%.3f", nd_ntrep_per(n, f->seconds));
	}
	if (counts && splits)
		line(cfg, out, "INFO", "\t pkts/interrupt\t:%.2f",
		     nd_ntrep_per((double)(nd_ntrep_count(tx) + nd_ntrep_count(rx)), n));
}

static void put_cpu(const struct nd_report_cfg *cfg, const struct nd_ntrep *f, struct nd_str *out)
{
	const struct nd_machine *m = f->m;
	double user = m->user_cores - nd_ntrep_number(m->nice_cores);
	double idle = m->idle_cores - nd_ntrep_number(m->iowait_cores);

	if (!isfinite(m->cpu_mhz))
		line(cfg, out, "ERR", "the clock of the CPU is unknown, and so are cycles/byte");
	line(cfg, out, "INFO", "cpu cores\t:%llu", (unsigned long long)f->cores);
	line(cfg, out, "INFO", "\t cpu speed\t:%.3fMHz", nd_ntrep_number(m->cpu_mhz));
	line(cfg, out, "INFO", "\t user\t\t:%.2f%%", nd_ntrep_cpu_percent(f, user));
	line(cfg, out, "INFO", "\t system\t\t:%.2f%%", nd_ntrep_cpu_percent(f, m->system_cores));
	line(cfg, out, "INFO", "\t idle\t\t:%.2f%%", nd_ntrep_cpu_percent(f, idle));
	line(cfg, out, "INFO", "\t iowait\t\t:%.2f%%", nd_ntrep_cpu_percent(f, m->iowait_cores));
	line(cfg, out, "INFO", "\t softirq\t:%.2f%%", nd_ntrep_cpu_percent(f, m->softirq_cores));
	line(cfg, out, "INFO", "\t cycles/byte\t:%.2f", nd_ntrep_linux_cycles(f));
	line(cfg, out, "INFO", "cpu busy (all)\t:%.2f%%", 100 * nd_ntrep_number(m->process_cores));
}

/* Told by an end that tells more than the originals do. */
static void put_both_ends(const struct nd_report_cfg *cfg, const struct nd_ntrep *f,
			  struct nd_str *out)
{
	const struct nd_direction *d = f->d;
	const struct nd_loss *l = &d->loss;

	if (!f->r->client || !f->r->server || !(f->verbose || f->udp))
		return;
	line(cfg, out, "INFO", "both ends:");
	line(cfg, out, "INFO", "\t received\t:%llu bytes, %s", whole(d->received_bytes),
	     rate_of(d->goodput_bps).text);
	if (f->udp && l->lost != ND_UNKNOWN && l->sent != ND_UNKNOWN)
		line(cfg, out, "INFO", "\t lost\t\t:%llu of %llu datagrams (%.2f%%)",
		     whole(l->lost), whole(l->sent),
		     nd_ntrep_per(100 * (double)l->lost, (double)l->sent));
	else if (d->tcp.retransmits != ND_UNKNOWN)
		line(cfg, out, "INFO", "\t retransmitted\t:%llu segments of these connections",
		     whole(d->tcp.retransmits));
}

static void put_warnings(const struct nd_report_cfg *cfg, const struct nd_ntrep *f,
			 struct nd_str *out)
{
	const struct nd_warning *w = f->r->warnings.v;
	uint64_t i;

	for (i = 0; f->verbose && i < f->r->warnings.n; i++)
		words(cfg, out, "DBG", w[i].sentence);
}

static void put_result(const struct nd_report_cfg *cfg, const struct nd_ntrep *f,
		       struct nd_str *out)
{
	if (f->verbose)
		put_threads(cfg, f, out);
	if (f->sender)
		line(cfg, out, "INFO", "%llu connections tested", (unsigned long long)f->conns);
	put_traffic(cfg, f, out);
	put_packets(cfg, f, out);
	put_cpu(cfg, f, out);
	if (f->verbose && f->sender && !f->udp)
		line(cfg, out, "INFO", "tcpi rtt\t\t:%llu us",
		     (unsigned long long)nd_ntrep_linux_rtt_us(f));
	put_both_ends(cfg, f, out);
	put_warnings(cfg, f, out);
	nd_str_add(out, RULE);
}

static void linux_result(const struct nd_report_cfg *cfg, const struct nd_result *r,
			 struct nd_str *out)
{
	struct state *s = cfg->state;
	struct nd_ntrep f;

	go_to(cfg, OVER, out);
	s->step = BEFORE; /* a receiver may go on with the next test */
	if (nd_ntrep_open(&f, cfg, r) < 0) {
		out->failed = true;
		return;
	}
	if (r->partial)
		words(cfg, out, "INFO", r->partial_reason ? r->partial_reason : "ended early");
	if (f.seconds > 0)
		put_result(cfg, &f, out);
	else
		line(cfg, out, "ERR", "nothing was measured");
	nd_ntrep_done(&f);
}

static void linux_failed(const struct nd_report_cfg *cfg, const struct nd_err *err,
			 struct nd_str *out)
{
	words(cfg, out, "ERR", err->text);
}

/* ---- files */

typedef void make_text(const struct nd_ntrep *f, struct nd_str *out);

static int write_document(const char *path, const struct nd_ntrep *f, make_text *make,
			  struct nd_err *err)
{
	nd_auto_str text = { 0 };

	if (!path)
		return 0;
	make(f, &text);
	if (!nd_str_ok(&text))
		return nd_fail(err, -ENOMEM, "writing %s: out of memory", path);
	return nd_write_file(path, nd_str_text(&text), text.len, err);
}

static int write_documents(const struct nd_report_cfg *cfg, const struct nd_result *r,
			   struct nd_err *err)
{
	struct nd_ntrep f;
	int e = nd_ntrep_open(&f, cfg, r);

	if (e < 0)
		return nd_fail(err, e, "writing the report's files: out of memory");
	if (f.seconds > 0) {
		e = write_document(nd_face_str(&f.face, "xml_file"), &f, nd_ntrep_linux_xml, err);
		if (e == 0)
			e = write_document(nd_face_str(&f.face, "json_file"), &f,
					   nd_ntrep_linux_json, err);
	}
	nd_ntrep_done(&f);
	return e;
}

static int linux_files(const struct nd_report_cfg *cfg, const struct nd_result *r,
		       struct nd_err *err)
{
	struct nd_face face = nd_face_of(cfg, r);
	const struct state *s = cfg->state;
	const char *log = nd_face_str(&face, "log_file");
	int e = r ? write_documents(cfg, r, err) : 0, f = 0;

	if (log && !nd_str_ok(&s->log))
		f = nd_fail(e < 0 ? NULL : err, -ENOMEM, "writing %s: out of memory", log);
	else if (log)
		f = nd_write_file(log, nd_str_text(&s->log), s->log.len, e < 0 ? NULL : err);
	return e < 0 ? e : f;
}

static void linux_done(const struct nd_report_cfg *cfg)
{
	nd_str_done(&((struct state *)cfg->state)->log);
}

const struct nd_writer nd_writer_ntttcp_linux = {
	.name = "ntttcp-linux",
	.help = "the console, XML and JSON of NTttcp for Linux",
	.of_face = true,
	.hears_all = true,
	.state_size = sizeof(struct state),
	.begin = linux_begin,
	.progress = linux_progress,
	.result = linux_result,
	.failed = linux_failed,
	.files = linux_files,
	.done = linux_done,
};
