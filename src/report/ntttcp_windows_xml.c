/* SPDX-License-Identifier: MIT */
/* XML of NTttcp for Windows 5.40: its elements, units, order, and line ends. */
#include <stdio.h>

#include "report/int.h"
#include "report/ntttcp.h"

#define VERSION       "5.40"
#define KIB           1024.0
#define MIB           1048576.0
#define UNLIMITED     "9223372036854775807" /* buffers of a timed run */
#define MOST_MS       10800000ull           /* a run that counts buffers ends by then */
#define DEFAULT_AHEAD 2ull /* I/Os it says it has outstanding, also when it waits */

/* The original counts the port on while it assigns them, and shows where it stopped. */
static void make_port(const struct nd_ntrep *f, struct nd_str *out)
{
	bool stays = f->sender && nd_face_bool(&f->face, "dynamic_ports");
	uint64_t port = nd_face_u64(&f->face, "base_port");

	if (!stays)
		port += nd_face_u64(&f->face, "ports");
	nd_str_addf(out, "%llu", (unsigned long long)port);
}

/* Asynchronous I/O with a number of its own goes without a send buffer. */
static void make_sndbuf(const struct nd_ntrep *f, struct nd_str *out)
{
	int64_t asked = nd_face_i64(&f->face, "sndbuf");
	bool none = asked < 0 && nd_face_bool(&f->face, "async_count_given");

	nd_str_addf(out, "%lld", none ? 0 : (long long)asked);
}

static void flag(struct nd_str *out, bool yes)
{
	nd_str_add(out, yes ? "True" : "False");
}

static void make_async(const struct nd_ntrep *f, struct nd_str *out)
{
	flag(out, nd_face_u64(&f->face, "async_io") > 0);
}

static void make_timeout(const struct nd_ntrep *f, struct nd_str *out)
{
	uint64_t buffers = nd_face_u64(&f->face, "buffers"), ms = nd_face_u64(&f->face, "time_ms");

	nd_str_addf(out, "%llu", (unsigned long long)(buffers && ms ? ms : MOST_MS));
}

static void make_bind(const struct nd_ntrep *f, struct nd_str *out)
{
	flag(out, f->sender && nd_face_str(&f->face, "client_address"));
}

static void make_active(const struct nd_ntrep *f, struct nd_str *out)
{
	uint64_t ports = nd_face_u64(&f->face, "io_ports");
	bool asked = nd_face_bool(&f->face, "io_ports_used");

	nd_str_addf(out, "%llu",
		    (unsigned long long)(asked && ports ? ports : nd_face_u64(&f->face, "ports")));
}

static void make_coalescing(const struct nd_ntrep *f, struct nd_str *out)
{
	nd_str_add(out, nd_face_bool(&f->face, "receive_coalescing") ? "1" : "0");
}

static void make_tp(const struct nd_ntrep *f, struct nd_str *out)
{
	flag(out, nd_face_u64(&f->face, "transmit_packets") > 0);
}

static void make_throttle(const struct nd_ntrep *f, struct nd_str *out)
{
	uint64_t kib = nd_face_u64(&f->face, "throttle_kBps"), bytes;

	if (__builtin_mul_overflow(kib, 1024, &bytes))
		bytes = UINT64_MAX;
	nd_str_addf(out, "%llu", (unsigned long long)(bytes / 1000));
}

static void make_qos(const struct nd_ntrep *f, struct nd_str *out)
{
	flag(out, nd_face_u64(&f->face, "qos") > 0);
}

/* clang-format off */
static const struct nd_ntrep_setting settings[] = {
	{ "send_socket_buff",          NULL, ND_NTREP_MADE,   NULL,               make_sndbuf },
	{ "recv_socket_buff",          NULL, ND_NTREP_SIGNED, "rcvbuf",           NULL },
	{ "port",                      NULL, ND_NTREP_MADE,   NULL,               make_port },
	{ "sync_port",                 NULL, ND_NTREP_FLAG,   "dynamic_ports",    NULL },
	{ "no_sync",                   NULL, ND_NTREP_FLAG,   "no_sync",          NULL },
	{ "wait_timeout_milliseconds", NULL, ND_NTREP_COUNT,  "timeout_ms",       NULL },
	{ "async",                     NULL, ND_NTREP_MADE,   NULL,               make_async },
	{ "verbose",                   NULL, ND_NTREP_FLAG,   "verbose",          NULL },
	{ "wsa",                       NULL, ND_NTREP_FLAG,   "wsa",              NULL },
	{ "use_ipv6",                  NULL, ND_NTREP_FLAG,   "ipv6",             NULL },
	{ "udp",                       NULL, ND_NTREP_FLAG,   "udp",              NULL },
	{ "udp_unconnected",           NULL, ND_NTREP_FLAG,   "udp_unconnected",  NULL },
	{ "verify_data",               NULL, ND_NTREP_FLAG,   "verify",           NULL },
	{ "wait_all",                  NULL, ND_NTREP_FLAG,   "wait_all",         NULL },
	{ "run_time",                  NULL, ND_NTREP_COUNT,  "time_ms",          NULL },
	{ "warmup_time",               NULL, ND_NTREP_COUNT,  "warmup_ms",        NULL },
	{ "cooldown_time",             NULL, ND_NTREP_COUNT,  "cooldown_ms",      NULL },
	{ "dash_n_timeout",            NULL, ND_NTREP_MADE,   NULL,               make_timeout },
	{ "bind_sender",               NULL, ND_NTREP_MADE,   NULL,               make_bind },
	{ "sender_name",               NULL, ND_NTREP_STRING, "client_address",   NULL },
	{ "max_active_threads",        NULL, ND_NTREP_MADE,   NULL,               make_active },
	{ "udp_uso_size",              NULL, ND_NTREP_COUNT,  "uso_bytes",        NULL },
	{ "udp_receive_coalescing",    NULL, ND_NTREP_MADE,   NULL,               make_coalescing },
	{ "tp",                        NULL, ND_NTREP_MADE,   NULL,               make_tp },
	{ "use_hvsocket_flag",         NULL, ND_NTREP_TEXT,   "False",            NULL },
	{ "no_stdio_buffer",           NULL, ND_NTREP_FLAG,   "no_stdio_buffer",  NULL },
	{ "throughput_Bpms",           NULL, ND_NTREP_MADE,   NULL,               make_throttle },
	{ "cpu_burn",                  NULL, ND_NTREP_COUNT,  "cpu_burn",         NULL },
	{ "latency_measurement",       NULL, ND_NTREP_FLAG,   "latency",          NULL },
	{ "use_io_compl_ports",        NULL, ND_NTREP_FLAG,   "io_ports_used",    NULL },
	{ "cpu_from_idle_flag",        NULL, ND_NTREP_FLAG,   "cpu_from_idle",    NULL },
	{ "get_estats",                NULL, ND_NTREP_FLAG,   "estats",           NULL },
	{ "qos_flag",                  NULL, ND_NTREP_MADE,   NULL,               make_qos },
	{ "jitter_measurement",        NULL, ND_NTREP_FLAG,   "jitter",           NULL },
	{ "packet_spacing",            NULL, ND_NTREP_COUNT,  "packet_spacing_ms", NULL },
	{ NULL, NULL, ND_NTREP_TEXT, NULL, NULL },
};

/* clang-format on */

void nd_ntrep_windows_settings(const struct nd_ntrep *f, struct nd_str *out)
{
	const struct nd_ntrep_setting *s;
	nd_auto_str text = { 0 };

	for (s = settings; s->xml; s++) {
		nd_str_reset(&text);
		nd_ntrep_setting_text(f, s, &text);
		nd_str_addf(out, "%s: ", s->xml);
		nd_report_clean(out, nd_str_text(&text));
		nd_str_addc(out, '\n', 1);
	}
	out->failed = out->failed || !nd_str_ok(&text);
}

static void put_latency(struct nd_ntrep_xml *x, const struct nd_ntrep_windows *w)
{
	nd_ntrep_xml(x, "avg_latency", "ns", "%.0f", w->latency_ns);
	nd_ntrep_xml(x, "min_latency", "ns", "%.0f", w->latency_min_ns);
	nd_ntrep_xml(x, "max_latency", "ns", "%.0f", w->latency_max_ns);
}

/* ---- -es */

static void put_property(struct nd_ntrep_xml *x, const char *name, uint64_t value,
			 unsigned decimals)
{
	double shown = (double)value;

	if (value == ND_UNKNOWN)
		return;
	for (unsigned i = 0; i < decimals; i++)
		shown /= 10;
	nd_str_addc(x->out, '\t', x->depth);
	nd_str_addf(x->out, "<property name=\"%s\" value=\"%.*f\"/>%s", name, (int)decimals, shown,
		    x->eol);
}

static void put_structure(struct nd_ntrep_xml *x, const char *name)
{
	nd_str_addc(x->out, '\t', x->depth++);
	nd_str_addf(x->out, "<structure name=\"%s\">%s", name, x->eol);
}

/*
 * What the kernel told of the thread's connection, under the names that Windows has for it. It is asked in the end
 * alone: what stood at the beginning of the measured time is not known, and its element is empty.
 */
static void put_estats(struct nd_ntrep_xml *x, const struct nd_ntrep *f,
		       const struct nd_ntrep_thread *t)
{
	uint64_t rtt_us = t->rtts ? t->rtt_us_sum / t->rtts : ND_UNKNOWN;

	nd_ntrep_xml_open(x, "estats", "type=\"Measurement_Begin\"");
	nd_ntrep_xml_close(x, "estats");
	nd_ntrep_xml_open(x, "estats", "type=\"Measurement_End\"");
	put_structure(x, "TCP_ESTATS_DATA_ROD_v0");
	put_property(x, f->sender ? "DataBytesOut" : "DataBytesIn", t->bytes, 0);
	nd_ntrep_xml_close(x, "structure");
	if (f->sender) {
		put_structure(x, "TCP_ESTATS_PATH_ROD_v0");
		put_property(x, "PktsRetrans", t->retransmits, 0);
		put_property(x, "SmoothedRtt", rtt_us, 3); /* in ms */
		nd_ntrep_xml_close(x, "structure");
		put_structure(x, "TCP_ESTATS_SND_CONG_ROD_v0");
		put_property(x, "CurCwnd", t->cwnd_bytes, 0);
		nd_ntrep_xml_close(x, "structure");
	}
	nd_ntrep_xml_close(x, "estats");
}

/* ---- the document */

static void put_thread(struct nd_ntrep_xml *x, const struct nd_ntrep *f,
		       const struct nd_ntrep_windows *w, size_t i)
{
	const struct nd_ntrep_thread *t = &f->thread[i];
	double per_s = t->bps / 8;
	char index[40];

	(void)snprintf(index, sizeof(index), "index=\"%zu\"", i);
	nd_ntrep_xml_open(x, "thread", index);
	nd_ntrep_xml(x, "realtime", "s", "%.3f", f->seconds);
	nd_ntrep_xml(x, "throughput", "KB/s", "%.3f", per_s / KIB);
	nd_ntrep_xml(x, "throughput", "MB/s", "%.3f", per_s / MIB);
	nd_ntrep_xml(x, "throughput", "mbps", "%.3f", per_s * 8 / 1e6);
	nd_ntrep_xml(x, "throughput", "Bps", "%.1f", per_s);
	nd_ntrep_xml(x, "avg_bytes_per_compl", "B", "%.3f",
		     nd_ntrep_per((double)t->bytes, (double)t->ios));
	if (w->has_latency && f->threads == 1)
		put_latency(x, w);
	if (!f->udp && nd_face_bool(&f->face, "estats"))
		put_estats(x, f, t);
	nd_ntrep_xml_close(x, "thread");
}

static void put_totals(struct nd_ntrep_xml *x, const struct nd_ntrep *f,
		       const struct nd_ntrep_windows *w)
{
	double per_s = nd_ntrep_per((double)f->bytes, f->seconds);

	nd_ntrep_xml(x, "total_bytes", "MB", "%.6f", (double)f->bytes / MIB);
	nd_ntrep_xml(x, "realtime", "s", "%.6f", f->seconds);
	nd_ntrep_xml(x, "avg_bytes_per_compl", "B", "%.3f", w->avg_io_bytes);
	nd_ntrep_xml(x, "threads_avg_bytes_per_compl", "B", "%.3f", w->threads_avg_io_bytes);
	nd_ntrep_xml(x, "avg_frame_size", "B", "%.3f", w->frame_bytes);
	nd_ntrep_xml(x, "throughput", "MB/s", "%.3f", w->mb_per_s);
	nd_ntrep_xml(x, "throughput", "mbps", "%.3f", per_s * 8 / 1e6);
	nd_ntrep_xml(x, "throughput", "Bps", "%.1f", per_s);
	nd_ntrep_xml(x, "total_buffers", NULL, "%.3f", w->buffers);
	nd_ntrep_xml(x, "throughput", "buffers/s", "%.3f", w->buffers_per_s);
	if (w->has_latency)
		put_latency(x, w);
}

static void put_machine(struct nd_ntrep_xml *x, const struct nd_ntrep *f,
			const struct nd_ntrep_windows *w)
{
	uint64_t buffers = nd_face_u64(&f->face, "buffers"), io = nd_face_u64(&f->face, "async_io");

	nd_ntrep_xml(x, "avg_packets_per_interrupt", "packets/interrupt", "%.3f",
		     w->packets_per_interrupt);
	nd_ntrep_xml(x, "interrupts", "count/sec", "%.3f", w->interrupts_per_s);
	nd_ntrep_xml(x, "dpcs", "count/sec", "%.3f", w->softirqs_per_s);
	nd_ntrep_xml(x, "avg_packets_per_dpc", "packets/dpc", "%.3f", w->packets_per_softirq);
	nd_ntrep_xml(x, "cycles", "cycles/byte", "%.3f", w->cycles_per_byte);
	nd_ntrep_xml(x, "packets_sent", NULL, "%llu", (unsigned long long)f->packets_sent);
	nd_ntrep_xml(x, "packets_received", NULL, "%llu", (unsigned long long)f->packets_received);
	nd_ntrep_xml(x, "packets_retransmitted", NULL, "%llu", (unsigned long long)w->retransmits);
	nd_ntrep_xml(x, "errors", NULL, "%llu", (unsigned long long)w->errors);
	nd_ntrep_xml(x, "cpu", "%", "%.3f", w->cpu_percent);
	nd_ntrep_xml(x, "num_processors", NULL, "%llu", (unsigned long long)f->cores);
	if (buffers)
		nd_ntrep_xml(x, "bufferCount", NULL, "%llu", (unsigned long long)buffers);
	else
		nd_ntrep_xml(x, "bufferCount", NULL, "%s", UNLIMITED);
	nd_ntrep_xml(x, "bufferLen", NULL, "%llu",
		     (unsigned long long)nd_face_u64(&f->face, "io_bytes"));
	nd_ntrep_xml(x, "io", NULL, "%llu", (unsigned long long)(io ? io : DEFAULT_AHEAD));
}

/* The original leaves this to who reads its file of packets. */
static void put_jitter(struct nd_ntrep_xml *x, const struct nd_ntrep_windows *w)
{
	nd_ntrep_xml(x, "jitter", "us", "%.3f", w->jitter_us);
	nd_ntrep_xml(x, "packets_lost", NULL, "%llu", (unsigned long long)w->lost);
	nd_ntrep_xml(x, "packets_reordered", NULL, "%llu", (unsigned long long)w->reordered);
	nd_ntrep_xml(x, "packets_duplicate", NULL, "%llu", (unsigned long long)w->duplicate);
}

static void put_whole(struct nd_ntrep_xml *x, const struct nd_ntrep *f,
		      const struct nd_ntrep_windows *w)
{
	size_t i;

	nd_ntrep_xml_root(x, f, VERSION);
	nd_ntrep_xml_settings(x, f, settings);
	for (i = 0; !w->hides_threads && i < f->threads; i++)
		put_thread(x, f, w, i);
	put_totals(x, f, w);
	put_machine(x, f, w);
	if (w->has_jitter)
		put_jitter(x, w);
	nd_ntrep_xml_close(x, nd_ntrep_root_name(f));
}

/* A document of its own, with what is known of the stretch alone: the machine is asked about the whole. */
static void put_sample(struct nd_ntrep_xml *x, const struct nd_ntrep *f,
		       const struct nd_ntrep_sample *s)
{
	double per_s = nd_ntrep_per((double)s->bytes, s->seconds);
	double buffers = nd_ntrep_per((double)s->bytes, (double)nd_face_u64(&f->face, "io_bytes"));

	nd_ntrep_xml_root(x, f, VERSION);
	nd_ntrep_xml_settings(x, f, settings);
	nd_ntrep_xml(x, "total_bytes", "MB", "%.6f", (double)s->bytes / MIB);
	nd_ntrep_xml(x, "realtime", "s", "%.6f", s->seconds);
	nd_ntrep_xml(x, "avg_bytes_per_compl", "B", "%.3f",
		     nd_ntrep_per((double)s->bytes, (double)s->ios));
	nd_ntrep_xml(x, "throughput", "MB/s", "%.3f", per_s / MIB);
	nd_ntrep_xml(x, "throughput", "mbps", "%.3f", per_s * 8 / 1e6);
	nd_ntrep_xml(x, "throughput", "Bps", "%.1f", per_s);
	nd_ntrep_xml(x, "total_buffers", NULL, "%.3f", buffers);
	nd_ntrep_xml(x, "throughput", "buffers/s", "%.3f", nd_ntrep_per(buffers, s->seconds));
	nd_ntrep_xml_close(x, nd_ntrep_root_name(f));
}

/* -sam: a document for each stretch, and the one of the whole test behind them. */
void nd_ntrep_windows_xml(const struct nd_ntrep *f, struct nd_str *out)
{
	struct nd_ntrep_xml x = { .out = out, .eol = "\r\n" };
	bool sampled = nd_face_u64(&f->face, "sample_s") > 0;
	struct nd_ntrep_windows w;
	struct nd_ntrep_sample s;
	uint64_t at = 0;

	nd_ntrep_windows_figures(f, &w);
	if (sampled)
		nd_ntrep_xml_open(&x, "samples", NULL);
	while (sampled && nd_ntrep_sample(f, &at, &s))
		put_sample(&x, f, &s);
	put_whole(&x, f, &w);
	if (sampled)
		nd_ntrep_xml_close(&x, "samples");
}
