/* SPDX-License-Identifier: MIT */
/* The console of NTttcp for Windows: its tables to the column, its units (KB and MB of 1024). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/time.h"
#include "report/int.h"
#include "report/ntttcp.h"

#define BANNER "Copyright Version 5.40\n"
#define KIB    1024.0
#define MIB    1048576.0

struct state {
	bool is_running; /* the test has begun */
};

/* ---- before and while it runs */

static void windows_begin(const struct nd_report_cfg *cfg, struct nd_str *out)
{
	struct nd_strv notes;
	struct nd_ntrep f;
	uint64_t i;

	if (nd_ntrep_open(&f, cfg, NULL) < 0) { /* it opens nothing but the settings */
		out->failed = true;
		return;
	}
	nd_str_add(out, BANNER);
	notes = nd_face_strv(&f.face, "notes");
	for (i = 0; i < notes.n; i++) {
		nd_report_clean(out, notes.v[i]);
		nd_str_addc(out, '\n', 1);
	}
	if (f.verbose) {
		nd_str_add(out,
			   "Command line: NTttcp for Windows, read by netdyno " ND_VERSION "\n");
		nd_ntrep_windows_settings(&f, out);
	}
	nd_ntrep_done(&f);
}

static void begin_test(const struct nd_report_cfg *cfg, struct nd_str *out)
{
	struct state *s = cfg->state;

	if (!s->is_running)
		nd_str_add(out, "Network activity progressing...\n");
	s->is_running = true;
}

/* "1/2/2030 3:4:5 words": no zeros in front. */
static void trace(const struct nd_report_cfg *cfg, struct nd_str *out, const char *before,
		  const char *text)
{
	time_t now = (time_t)(nd_unix_ms() / 1000);
	struct nd_face face = nd_face_of(cfg, NULL);
	struct tm tm = { 0 };

	if (!nd_face_bool(&face, "verbose"))
		return;
	(void)localtime_r(&now, &tm); /* fails beyond the year 2^31 */
	nd_str_addf(out, "%d/%d/%d %d:%d:%d %s", tm.tm_mon + 1, tm.tm_mday, tm.tm_year + 1900,
		    tm.tm_hour, tm.tm_min, tm.tm_sec, before);
	nd_report_clean(out, text);
	nd_str_addc(out, '\n', 1);
}

static void windows_progress(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
			     struct nd_str *out)
{
	char count[64];

	switch (ev->what) {
	case ND_PROG_LISTENING:
		trace(cfg, out, "listening on ", ev->text);
		break;
	case ND_PROG_CONNECTED:
		trace(cfg, out, "connected to ", ev->text);
		break;
	case ND_PROG_READY:
		trace(cfg, out, "threads created", NULL);
		break;
	case ND_PROG_FLOWS:
		(void)snprintf(count, sizeof(count), "%llu connections in %llu microseconds",
			       (unsigned long long)ev->count, (unsigned long long)ev->microseconds);
		trace(cfg, out, count, NULL);
		break;
	case ND_PROG_PHASE:
		begin_test(cfg, out);
		trace(cfg, out, "phase: ", ev->text);
		break;
	case ND_PROG_DETAIL:
		trace(cfg, out, "", ev->text);
		break;
	case ND_PROG_WARNING:
	case ND_PROG_NOTE:
		nd_report_clean(out, ev->text);
		nd_str_addc(out, '\n', 1);
		break;
	case ND_PROG_INTERVAL: /* it shows none */
	case ND_PROG_SEEN:
	case ND_PROG_SOCKET:
	case ND_PROG_MAX:
		break;
	}
}

/* ---- figures that the XML shows, too */

/* The interrupts of the test's interface where they were counted, else all. */
static double interrupts(const struct nd_machine *m)
{
	uint64_t watched = nd_ntrep_count(m->window_interrupts);

	return (double)(watched ? watched : nd_ntrep_count(m->interrupts));
}

static void machine_figures(const struct nd_ntrep *f, struct nd_ntrep_windows *w)
{
	const struct nd_machine *m = f->m;
	double received = (double)f->packets_received;
	double softirqs =
		(double)(nd_ntrep_count(m->softirq_net_rx) + nd_ntrep_count(m->softirq_net_tx));
	double mhz = f->own->host.cpu_mhz != ND_UNKNOWN ? (double)f->own->host.cpu_mhz
							: nd_ntrep_number(m->cpu_mhz);

	w->softirqs_per_s = nd_ntrep_per(softirqs, f->seconds);
	w->packets_per_softirq = nd_ntrep_per(received, softirqs);
	w->interrupts_per_s = nd_ntrep_per(interrupts(m), f->seconds);
	w->packets_per_interrupt = nd_ntrep_per(received, interrupts(m));
	w->cpu_percent = nd_ntrep_busy_percent(f);
	w->cycles_per_byte = nd_ntrep_per(
		w->cpu_percent / 100 * (double)f->cores * mhz * 1e6 * f->seconds, (double)f->bytes);
	w->retransmits = f->udp ? 0 : nd_ntrep_count(m->window_tcp_retrans_segs);
	w->errors = nd_ntrep_count(f->udp ? m->window_udp_in_errors : m->window_tcp_attempt_fails);
}

/* Numbers and times are read by the receiver: what it told, this end or the other. */
static void packet_figures(const struct nd_ntrep *f, struct nd_ntrep_windows *w)
{
	const struct nd_part *part = nd_result_part(nd_result_receiver(f->r, f->d), f->d->workload);
	uint64_t unique, highest;

	if (!part)
		return;
	w->corrupt_bytes = nd_ntrep_count(part->run.rx_corrupt);
	unique = nd_ntrep_count(part->run.rx_unique);
	highest = nd_ntrep_count(part->run.rx_highest);
	w->has_jitter = f->udp && nd_face_bool(&f->face, "jitter") && highest > 0;
	w->jitter_us = nd_ntrep_number(part->jitter_us);
	w->lost = highest > unique ? highest - unique : 0;
	w->reordered = nd_ntrep_count(part->run.rx_reordered);
	w->duplicate = nd_ntrep_count(part->run.rx_duplicate);
}

static double mean_io_bytes(const struct nd_ntrep *f)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < f->threads; i++)
		sum += nd_ntrep_per((double)f->thread[i].bytes, (double)f->thread[i].ios);
	return nd_ntrep_per(sum, (double)f->threads);
}

void nd_ntrep_windows_figures(const struct nd_ntrep *f, struct nd_ntrep_windows *ret)
{
	const struct nd_part *part = nd_result_part(f->own, f->d->workload);
	uint64_t packets = f->sender ? f->packets_sent : f->packets_received;
	double buffers = nd_ntrep_per((double)f->bytes, (double)nd_face_u64(&f->face, "io_bytes"));

	*ret = (struct nd_ntrep_windows){
		.buffers = buffers,
		.buffers_per_s = nd_ntrep_per(buffers, f->seconds),
		.mb_per_s = nd_ntrep_per((double)f->bytes / MIB, f->seconds),
		.frame_bytes = nd_ntrep_per((double)f->bytes, (double)packets),
		.avg_io_bytes = nd_ntrep_per((double)f->bytes, (double)f->ios),
		.threads_avg_io_bytes = mean_io_bytes(f),
		.has_latency = nd_face_bool(&f->face, "latency"),
		.hides_threads = nd_face_bool(&f->face, "hide_threads"),
		.latency_ns = nd_ntrep_number(part->rtt_mean_us) * 1000,
		.latency_min_ns = nd_ntrep_number(part->rtt_min_us) * 1000,
		.latency_max_ns = nd_ntrep_number(part->rtt_max_us) * 1000,
	};
	machine_figures(f, ret);
	packet_figures(f, ret);
}

/* ---- tables */

/* A thread's own times are not kept apart: with one thread they are those of all. */
static void put_threads(const struct nd_ntrep *f, const struct nd_ntrep_windows *w,
			struct nd_str *out)
{
	size_t i;

	if (w->has_latency)
		nd_str_addf(out, "\n%58s\n", "Latency(ns)");
	else
		nd_str_add(out, "\n\n");
	nd_str_addf(out, "Thread  Time(s) Throughput(KB/s) Avg B / Compl%s\n",
		    w->has_latency ? "        Avg        Min        Max" : "");
	nd_str_addf(out, "======  ======= ================ =============%s\n",
		    w->has_latency ? " ========== ========== ==========" : "");
	for (i = 0; i < f->threads; i++) {
		const struct nd_ntrep_thread *t = &f->thread[i];

		nd_str_addf(out, "%6zu %8.3f %16.3f %13.3f", i, f->seconds, t->bps / 8 / KIB,
			    nd_ntrep_per((double)t->bytes, (double)t->ios));
		if (w->has_latency && f->threads == 1)
			nd_str_addf(out, " %10.0f %10.0f %10.0f", w->latency_ns, w->latency_min_ns,
				    w->latency_max_ns);
		else if (w->has_latency)
			nd_str_addf(out, " %10s %10s %10s", "-", "-", "-");
		nd_str_addc(out, '\n', 1);
	}
}

static void put_totals(const struct nd_ntrep *f, const struct nd_ntrep_windows *w,
		       struct nd_str *out)
{
	nd_str_addf(out,
		    "\n\n"
		    "   Bytes(MEG)    realtime(s) Avg Frame Size Throughput(MB/s)\n"
		    "================ =========== ============== ================\n"
		    "%16.6f %11.3f %14.3f %16.3f\n",
		    (double)f->bytes / MIB, f->seconds, w->frame_bytes, w->mb_per_s);
	if (w->has_latency)
		nd_str_addf(out,
			    "\n"
			    "Latency(ns)\n"
			    "       Avg        Min        Max\n"
			    "========== ========== ==========\n"
			    "%10.0f %10.0f %10.0f\n",
			    w->latency_ns, w->latency_min_ns, w->latency_max_ns);
	nd_str_addf(out,
		    "\n\n"
		    "Throughput(Buffers/s) Cycles/Byte       Buffers\n"
		    "===================== =========== =============\n"
		    "%21.3f %11.3f %13.3f\n",
		    w->buffers_per_s, w->cycles_per_byte, w->buffers);
}

static void put_machine(const struct nd_ntrep *f, const struct nd_ntrep_windows *w,
			struct nd_str *out)
{
	nd_str_addf(out,
		    "\n\n"
		    "DPCs(count/s) Pkts(num/DPC)   Intr(count/s) Pkts(num/intr)\n"
		    "============= ============= =============== ==============\n"
		    "%13.3f %13.3f   %13.3f  %13.3f\n",
		    w->softirqs_per_s, w->packets_per_softirq, w->interrupts_per_s,
		    w->packets_per_interrupt);
	nd_str_addf(out,
		    "\n\n"
		    "Packets Sent Packets Received Retransmits Errors Avg. CPU %%\n"
		    "============ ================ =========== ====== ==========\n"
		    "%12llu %16llu %11llu %6llu %10.3f\n",
		    (unsigned long long)f->packets_sent, (unsigned long long)f->packets_received,
		    (unsigned long long)w->retransmits, (unsigned long long)w->errors,
		    w->cpu_percent);
	if (!(w->cpu_percent > 0))
		nd_str_add(out, "\nThe test was too short to tell how busy the CPUs were.\n");
}

/* The original leaves this to who reads its file of packets. */
static void put_jitter(const struct nd_ntrep_windows *w, struct nd_str *out)
{
	nd_str_addf(out,
		    "\n\n"
		    "  Jitter(us) Packets Lost Reordered Duplicates\n"
		    "============ ============ ========= ==========\n"
		    "%12.3f %12llu %9llu %10llu\n",
		    w->jitter_us, (unsigned long long)w->lost, (unsigned long long)w->reordered,
		    (unsigned long long)w->duplicate);
}

/* -sam: stretches of the measured time; what the machine did is known for all of it alone. */
static void put_samples(const struct nd_ntrep *f, struct nd_str *out)
{
	struct nd_ntrep_sample s;
	unsigned n = 0;
	uint64_t at = 0;

	nd_str_add(out, "\n\n"
			"Sample  Time(s)      Bytes(MEG) Throughput(MB/s)\n"
			"======  ======= =============== ================\n");
	while (nd_ntrep_sample(f, &at, &s))
		nd_str_addf(out, "%6u %8.3f %15.6f %16.3f\n", n++, s.seconds, (double)s.bytes / MIB,
			    nd_ntrep_per((double)s.bytes / MIB, s.seconds));
}

static void put_result(const struct nd_ntrep *f, struct nd_str *out)
{
	const char *xml = nd_face_str(&f->face, "xml_file");
	struct nd_ntrep_windows w;

	if (xml) {
		nd_str_add(out, "XML file: ");
		nd_report_clean(out, xml);
		nd_str_addc(out, '\n', 1);
		return;
	}
	nd_ntrep_windows_figures(f, &w);
	if (!w.hides_threads)
		put_threads(f, &w, out);
	if (nd_face_u64(&f->face, "sample_s"))
		put_samples(f, out);
	nd_str_add(out, "\n\n#####  Totals:  #####\n");
	put_totals(f, &w, out);
	put_machine(f, &w, out);
	if (w.has_jitter)
		put_jitter(&w, out);
}

static void put_partial(const struct nd_ntrep *f, struct nd_str *out)
{
	struct nd_ntrep_windows w = { 0 };

	if (f->d)
		packet_figures(f, &w);
	if (w.corrupt_bytes) {
		nd_str_addf(out, "Error: data is corrupted: %llu bytes are not the letter A.\n",
			    (unsigned long long)w.corrupt_bytes);
		return;
	}
	nd_str_add(out, "Ended early: ");
	nd_report_clean(out, f->r->partial_reason ? f->r->partial_reason : "no reason was told");
	nd_str_addc(out, '\n', 1);
}

static void windows_result(const struct nd_report_cfg *cfg, const struct nd_result *r,
			   struct nd_str *out)
{
	struct nd_ntrep f;

	begin_test(cfg, out);
	((struct state *)cfg->state)->is_running = false; /* another may follow */
	if (nd_ntrep_open(&f, cfg, r) < 0) {
		out->failed = true;
		return;
	}
	if (r->partial)
		put_partial(&f, out);
	if (f.seconds > 0)
		put_result(&f, out);
	else
		nd_str_add(out, "Error: nothing was measured.\n");
	nd_ntrep_done(&f);
}

static void windows_failed(const struct nd_report_cfg *cfg, const struct nd_err *err,
			   struct nd_str *out)
{
	(void)cfg; /* every writer gets it */
	nd_str_add(out, "Error: ");
	nd_report_clean(out, err->text);
	nd_str_addc(out, '\n', 1);
}

static int windows_files(const struct nd_report_cfg *cfg, const struct nd_result *r,
			 struct nd_err *err)
{
	nd_auto_str text = { 0 };
	const char *path;
	struct nd_ntrep f;
	int e = nd_ntrep_open(&f, cfg, r);

	if (e < 0)
		return nd_fail(err, e, "writing the report's file: out of memory");
	path = nd_face_str(&f.face, "xml_file");
	if (path && f.seconds > 0) {
		nd_ntrep_windows_xml(&f, &text);
		e = nd_str_ok(&text) ? nd_write_file(path, nd_str_text(&text), text.len, err)
				     : nd_fail(err, -ENOMEM, "writing %s: out of memory", path);
	}
	path = nd_face_str(&f.face, "jitter_file");
	if (e == 0 && path && r->samples_n > 0)
		e = nd_ntrep_jitter(r, path, err);
	nd_ntrep_done(&f);
	return e;
}

const struct nd_writer nd_writer_ntttcp_windows = {
	.name = "ntttcp-windows",
	.help = "the console tables and XML of NTttcp for Windows",
	.of_face = true,
	.hears_all = true,
	.state_size = sizeof(struct state),
	.begin = windows_begin,
	.progress = windows_progress,
	.result = windows_result,
	.failed = windows_failed,
	.files = windows_files,
};
