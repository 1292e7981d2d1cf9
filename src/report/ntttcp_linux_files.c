/* SPDX-License-Identifier: MIT */
/* XML and JSON of NTttcp for Linux: its elements, units, order, and constants. */
#include <stdarg.h>
#include <stdio.h>

#include "base/json.h"
#include "report/ntttcp.h"

#define VERSION      "5.33-linux"
#define SEND_DEFAULT 131072u
#define RECV_DEFAULT 65536u
#define M_BYTES      1e6 /* its MB and KB are decimal */
#define K_BYTES      1e3

/* One option sets both sizes; without it each role has a default of its own. */
static void make_send_size(const struct nd_ntrep *f, struct nd_str *out)
{
	uint64_t io = nd_face_u64(&f->face, "io_bytes");

	nd_str_addf(out, "%llu",
		    (unsigned long long)(!f->sender && io == RECV_DEFAULT ? SEND_DEFAULT : io));
}

static void make_recv_size(const struct nd_ntrep *f, struct nd_str *out)
{
	uint64_t io = nd_face_u64(&f->face, "io_bytes");

	nd_str_addf(out, "%llu",
		    (unsigned long long)(f->sender && io == SEND_DEFAULT ? RECV_DEFAULT : io));
}

static void make_sync_port(const struct nd_ntrep *f, struct nd_str *out)
{
	uint64_t port = nd_face_u64(&f->face, "base_port");

	nd_str_addf(out, "%llu", (unsigned long long)(port ? port - 1 : 0));
}

/* clang-format off */
static const struct nd_ntrep_setting settings[] = {
	{ "send_socket_buff", "sendSocketBuff", ND_NTREP_MADE, NULL, make_send_size },
	{ "recv_socket_buff", "recvSocketBuff", ND_NTREP_MADE, NULL, make_recv_size },
	{ "port", "port", ND_NTREP_COUNT, "base_port", NULL },
	{ "sync_port", "syncPort", ND_NTREP_MADE, NULL, make_sync_port },
	{ "no_sync", "noSync", ND_NTREP_FLAG, "no_sync", NULL },
	{ "wait_timeout_milliseconds", "waitTimeoutMilliseconds", ND_NTREP_TEXT, "0", NULL },
	{ "async", "async", ND_NTREP_TEXT, "False", NULL },
	{ "verbose", "verbose", ND_NTREP_FLAG, "verbose", NULL },
	{ "wsa", "wsa", ND_NTREP_TEXT, "False", NULL },
	{ "use_ipv6", "useIpv6", ND_NTREP_FLAG, "ipv6", NULL },
	{ "udp", "udp", ND_NTREP_FLAG, "udp", NULL },
	{ "verify_data", "verifyData", ND_NTREP_TEXT, "False", NULL },
	{ "wait_all", "waitAll", ND_NTREP_TEXT, "False", NULL },
	{ "run_time", "runTime", ND_NTREP_SECONDS, "time_ms", NULL },
	{ "warmup_time", "warmupTime", ND_NTREP_SECONDS, "warmup_ms", NULL },
	{ "cooldown_time", "cooldownTime", ND_NTREP_SECONDS, "cooldown_ms", NULL },
	{ "dash_n_timeout", "dashNTimeout", ND_NTREP_TEXT, "0", NULL },
	{ "bind_sender", "bindSender", ND_NTREP_TEXT, "False", NULL },
	{ "sender_name", "senderName", ND_NTREP_TEXT, "NA", NULL },
	{ "max_active_threads", "maxActiveThreads", ND_NTREP_TEXT, "0", NULL },
	{ "tp", "tp", ND_NTREP_TEXT, "False", NULL },
	{ "no_stdio_buffer", "noStdioBuffer", ND_NTREP_TEXT, "False", NULL },
	{ "throughput_Bpms", "throughputBpms", ND_NTREP_TEXT, "0", NULL },
	{ "cpu_burn", "cpuBurn", ND_NTREP_TEXT, "0", NULL },
	{ "latency_measurement", "latencyMeasurement", ND_NTREP_TEXT, "False", NULL },
	{ "use_io_compl_ports", "useIOComplPorts", ND_NTREP_TEXT, "NA", NULL },
	{ "cpu_from_idle_flag", "cpuFromIdleFlag", ND_NTREP_TEXT, "False", NULL },
	{ "get_estats", "getEstats", ND_NTREP_TEXT, "False", NULL },
	{ "qos_flag", "qosFlag", ND_NTREP_TEXT, "False", NULL },
	{ "jitter_measurement", "jitterMeasurement", ND_NTREP_TEXT, "False", NULL },
	{ "packet_spacing", "packetSpacing", ND_NTREP_TEXT, "0", NULL },
	{ NULL, NULL, ND_NTREP_TEXT, NULL, NULL },
};

/* clang-format on */

static double bytes_per_s(const struct nd_ntrep *f)
{
	return nd_ntrep_per((double)f->bytes, f->seconds);
}

static uint64_t interrupts(const struct nd_ntrep *f)
{
	return f->m ? nd_ntrep_count(f->m->window_interrupts) : 0;
}

static uint64_t nic_sent(const struct nd_ntrep *f)
{
	bool asked = nd_face_str(&f->face, "nic") != NULL;

	return asked && f->m ? nd_ntrep_count(f->m->window_nic_tx_packets) : 0;
}

static uint64_t nic_received(const struct nd_ntrep *f)
{
	bool asked = nd_face_str(&f->face, "nic") != NULL;

	return asked && f->m ? nd_ntrep_count(f->m->window_nic_rx_packets) : 0;
}

static double packets_per_interrupt(const struct nd_ntrep *f)
{
	return nd_ntrep_per((double)(nic_sent(f) + nic_received(f)), (double)interrupts(f));
}

static uint64_t retransmits(const struct nd_ntrep *f)
{
	return f->udp || !f->m ? 0 : nd_ntrep_count(f->m->window_tcp_retrans_segs);
}

static bool shows_rtt(const struct nd_ntrep *f)
{
	return f->verbose && f->sender && !f->udp;
}

/* As `uname -a` puts it. */
static void make_os(const struct nd_ntrep *f, struct nd_str *out)
{
	static const struct nd_host_facts none;
	const struct nd_host_facts *h = f->own ? &f->own->host : &none;
	const char *const words[] = { h->hostname, h->kernel, h->kernel_build, h->machine };
	size_t i;

	nd_str_add(out, "Linux");
	for (i = 0; i < ND_COUNTOF(words); i++)
		if (words[i])
			nd_str_addf(out, " %s", words[i]);
	nd_str_add(out, " GNU/Linux");
}

/* ---- XML */

static void xml_threads(struct nd_ntrep_xml *x, const struct nd_ntrep *f)
{
	char index[40];
	size_t i;

	for (i = 0; f->verbose && i < f->threads; i++) {
		double per_s = f->thread[i].bps / 8;

		(void)snprintf(index, sizeof(index), "index=\"%zu\"", i);
		nd_ntrep_xml_open(x, "thread", index);
		nd_ntrep_xml(x, "realtime", "s", "%.3f", f->seconds);
		nd_ntrep_xml(x, "throughput", "KB/s", "%.3f", per_s / K_BYTES);
		nd_ntrep_xml(x, "throughput", "MB/s", "%.3f", per_s / M_BYTES);
		nd_ntrep_xml(x, "throughput", "mbps", "%.3f", per_s * 8 / M_BYTES);
		nd_ntrep_xml(x, "avg_bytes_per_compl", "B", "0.000");
		nd_ntrep_xml_close(x, "thread");
	}
}

static void xml_totals(struct nd_ntrep_xml *x, const struct nd_ntrep *f)
{
	double per_s = bytes_per_s(f);

	if (f->sender)
		nd_ntrep_xml(x, "conns_tested", NULL, "%llu", (unsigned long long)f->conns);
	nd_ntrep_xml(x, "total_bytes", "MB", "%.6f", (double)f->bytes / M_BYTES);
	nd_ntrep_xml(x, "realtime", "s", "%.6f", f->seconds);
	nd_ntrep_xml(x, "avg_bytes_per_compl", "B", "0.000");
	nd_ntrep_xml(x, "threads_avg_bytes_per_compl", "B", "0.000");
	nd_ntrep_xml(x, "avg_frame_size", "B", "0.000");
	nd_ntrep_xml(x, "throughput", "MB/s", "%.3f", per_s / M_BYTES);
	nd_ntrep_xml(x, "throughput", "mbps", "%.3f", per_s * 8 / M_BYTES);
	nd_ntrep_xml(x, "throughput", "Bps", "%.3f", per_s);
	nd_ntrep_xml(x, "total_buffers", NULL, "0.000");
	nd_ntrep_xml(x, "throughput", "buffers/s", "0.000");
	nd_ntrep_xml(x, "avg_packets_per_interrupt", "packets/interrupt", "%.3f",
		     packets_per_interrupt(f));
	nd_ntrep_xml(x, "interrupts", "count/sec", "%.3f",
		     nd_ntrep_per((double)interrupts(f), f->seconds));
	nd_ntrep_xml(x, "total_interrupts", "count", "%llu", (unsigned long long)interrupts(f));
	nd_ntrep_xml(x, "dpcs", "count/sec", "0.000");
	nd_ntrep_xml(x, "avg_packets_per_dpc", "packets/dpc", "0.000");
	nd_ntrep_xml(x, "packets_sent", NULL, "%llu", (unsigned long long)nic_sent(f));
	nd_ntrep_xml(x, "packets_received", NULL, "%llu", (unsigned long long)nic_received(f));
	nd_ntrep_xml(x, "packets_retransmitted", NULL, "%llu", (unsigned long long)retransmits(f));
	nd_ntrep_xml(x, "errors", NULL, "0");
	nd_ntrep_xml(x, "bufferCount", NULL, "0");
	nd_ntrep_xml(x, "bufferLen", NULL, "0");
}

static void xml_retransmits(struct nd_ntrep_xml *x, const struct nd_ntrep *f)
{
	struct nd_ntrep_rate rate[ND_NTREP_RATES];
	size_t i;

	if (!nd_face_bool(&f->face, "tcp_retrans"))
		return;
	nd_ntrep_linux_rates(f, rate);
	nd_ntrep_xml(x, "tcp_retransmits", "retrans_segs", "%llu",
		     (unsigned long long)retransmits(f));
	for (i = 0; i < ND_NTREP_RATES; i++)
		nd_ntrep_xml(x, "tcp_retransmits", rate[i].xml, "%.2f", rate[i].per_s);
}

static void xml_cpu(struct nd_ntrep_xml *x, const struct nd_ntrep *f)
{
	const struct nd_machine *m = f->m;

	nd_ntrep_xml(x, "cpu_cores", "cpu cores", "%llu", (unsigned long long)f->cores);
	nd_ntrep_xml(x, "cpu_speed", "MHz", "%.3f", nd_ntrep_number(m->cpu_mhz));
	nd_ntrep_xml(x, "user", "%", "%.2f",
		     nd_ntrep_cpu_percent(f, m->user_cores - nd_ntrep_number(m->nice_cores)));
	nd_ntrep_xml(x, "system", "%", "%.2f", nd_ntrep_cpu_percent(f, m->system_cores));
	nd_ntrep_xml(x, "idle", "%", "%.2f",
		     nd_ntrep_cpu_percent(f, m->idle_cores - nd_ntrep_number(m->iowait_cores)));
	nd_ntrep_xml(x, "iowait", "%", "%.2f", nd_ntrep_cpu_percent(f, m->iowait_cores));
	nd_ntrep_xml(x, "softirq", "%", "%.2f", nd_ntrep_cpu_percent(f, m->softirq_cores));
	nd_ntrep_xml(x, "cycles_per_byte", "cycles/byte", "%.2f", nd_ntrep_linux_cycles(f));
	nd_ntrep_xml(x, "cpu_busy_all", "%", "%.2f", 100 * nd_ntrep_number(m->process_cores));
}

void nd_ntrep_linux_xml(const struct nd_ntrep *f, struct nd_str *out)
{
	struct nd_ntrep_xml x = { .out = out, .eol = "\n" };
	nd_auto_str os = { 0 };

	make_os(f, &os);
	nd_ntrep_xml_root(&x, f, VERSION);
	nd_ntrep_xml_settings(&x, f, settings);
	xml_threads(&x, f);
	xml_totals(&x, f);
	xml_retransmits(&x, f);
	xml_cpu(&x, f);
	nd_ntrep_xml(&x, "io", NULL, "0");
	if (shows_rtt(f))
		nd_ntrep_xml(&x, "tcp_average_rtt", "us", "%llu",
			     (unsigned long long)nd_ntrep_linux_rtt_us(f));
	nd_ntrep_xml(&x, "os", NULL, "%s", nd_str_text(&os));
	nd_ntrep_xml_close(&x, nd_ntrep_root_name(f));
	out->failed = out->failed || !nd_str_ok(&os);
}

/* ---- JSON: four blanks a level, " : ", and every value a string */

struct json {
	struct nd_str *out; /* borrowed */
	unsigned depth;
	bool has_member; /* a comma is due */
};

static void add_quoted(struct nd_str *out, const char *text)
{
	struct nd_json j = { .out = out };

	nd_json_str(&j, NULL, text);
}

static void json_key(struct json *j, const char *key)
{
	if (j->has_member)
		nd_str_addc(j->out, ',', 1);
	if (j->depth > 0)
		nd_str_addc(j->out, '\n', 1);
	nd_str_addc(j->out, ' ', (size_t)j->depth * 4);
	if (key) {
		add_quoted(j->out, key);
		nd_str_add(j->out, " : ");
	}
	j->has_member = true;
}

static void json_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	nd_str_addc(j->out, bracket, 1);
	j->depth++;
	j->has_member = false;
}

static void json_close(struct json *j, char bracket)
{
	j->depth--;
	nd_str_addc(j->out, '\n', 1);
	nd_str_addc(j->out, ' ', (size_t)j->depth * 4);
	nd_str_addc(j->out, bracket, 1);
	j->has_member = true;
}

static ND_PRINTF(3, 4) void json_value(struct json *j, const char *key, const char *fmt, ...)
{
	nd_auto_str text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	nd_str_vaddf(&text, fmt, ap);
	va_end(ap);
	json_key(j, key);
	add_quoted(j->out, nd_str_text(&text));
	j->out->failed = j->out->failed || !nd_str_ok(&text);
}

static ND_PRINTF(4, 5) void json_metric(struct json *j, const char *key, const char *metric,
					const char *fmt, ...)
{
	nd_auto_str text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	nd_str_vaddf(&text, fmt, ap);
	va_end(ap);
	json_open(j, key, '{');
	json_value(j, "metric", "%s", metric);
	json_value(j, "value", "%s", nd_str_text(&text));
	json_close(j, '}');
	j->out->failed = j->out->failed || !nd_str_ok(&text);
}

static void json_settings(struct json *j, const struct nd_ntrep *f)
{
	const struct nd_ntrep_setting *s;
	nd_auto_str text = { 0 };

	json_open(j, "parameters", '{');
	for (s = settings; s->json; s++) {
		nd_str_reset(&text);
		nd_ntrep_setting_text(f, s, &text);
		json_value(j, s->json, "%s", nd_str_text(&text));
	}
	j->out->failed = j->out->failed || !nd_str_ok(&text);
	json_close(j, '}');
}

/* A thread's MB/s has a word behind it: programs that read these files expect it. */
static void json_threads(struct json *j, const struct nd_ntrep *f)
{
	size_t i;

	if (!f->verbose)
		return;
	json_open(j, "threads", '[');
	for (i = 0; i < f->threads; i++) {
		double per_s = f->thread[i].bps / 8;

		json_open(j, NULL, '{');
		json_value(j, "index", "%zu", i);
		json_metric(j, "realTime", "s", "%.3f", f->seconds);
		json_open(j, "throughputs", '[');
		json_metric(j, NULL, "KB/s", "%.3f", per_s / K_BYTES);
		json_metric(j, NULL, "MB/s", "%.3f bps", per_s / M_BYTES);
		json_metric(j, NULL, "mbps", "%.3f", per_s * 8 / M_BYTES);
		json_close(j, ']');
		json_metric(j, "avgBytesPerCompl", "B", "0.000");
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_totals(struct json *j, const struct nd_ntrep *f)
{
	double per_s = bytes_per_s(f);

	json_metric(j, "totalBytes", "MB", "%.6f", (double)f->bytes / M_BYTES);
	json_metric(j, "realTime", "s", "%.6f", f->seconds);
	json_metric(j, "avgBytesPerCompl", "B", "0.000");
	json_metric(j, "threadsAvgBytesPerCompl", "B", "0.000");
	json_metric(j, "avgFrameSize", "B", "0.000");
	json_open(j, "throughputs", '[');
	json_metric(j, NULL, "MB/s", "%.3f", per_s / M_BYTES);
	json_metric(j, NULL, "mbps", "%.3f", per_s * 8 / M_BYTES);
	json_metric(j, NULL, "Bps", "%.3f", per_s);
	json_metric(j, NULL, "buffer/s", "0.000");
	json_close(j, ']');
	json_value(j, "totalBuffers", "0.000");
	json_metric(j, "avgPacketsPerInterrupt", "packets/interrupt", "%.3f",
		    packets_per_interrupt(f));
	json_metric(j, "interrupt", "count/sec", "%.3f",
		    nd_ntrep_per((double)interrupts(f), f->seconds));
	json_metric(j, "interruptTotal", "count", "%llu", (unsigned long long)interrupts(f));
	json_metric(j, "dpcs", "count/sec", "0.000");
	json_metric(j, "avgPacketsPerDpc", "packets/dpc", "0.000");
	json_metric(j, "cycles", "cycles/byte", "%.3f", nd_ntrep_linux_cycles(f));
	json_value(j, "packetsSent", "%llu", (unsigned long long)nic_sent(f));
	json_value(j, "packetsReceived", "%llu", (unsigned long long)nic_received(f));
	json_value(j, "packets_retransmitted", "%llu", (unsigned long long)retransmits(f));
	json_value(j, "errors", "0");
	json_metric(j, "cpu", "%", "%.3f", 100 * nd_ntrep_number(f->m->process_cores));
	json_value(j, "bufferCount", "0");
	json_value(j, "bufferLen", "0");
	json_value(j, "io", "0");
}

static void json_retransmits(struct json *j, const struct nd_ntrep *f)
{
	struct nd_ntrep_rate rate[ND_NTREP_RATES];
	size_t i;

	if (!nd_face_bool(&f->face, "tcp_retrans"))
		return;
	nd_ntrep_linux_rates(f, rate);
	json_open(j, "tcp_retransmits", '[');
	json_metric(j, NULL, "retrans_segs", "%llu", (unsigned long long)retransmits(f));
	for (i = 0; i < ND_NTREP_RATES; i++)
		json_metric(j, NULL, rate[i].xml, "%.2f", rate[i].per_s);
	json_close(j, ']');
}

void nd_ntrep_linux_json(const struct nd_ntrep *f, struct nd_str *out)
{
	struct json j = { .out = out };
	nd_auto_str os = { 0 };

	make_os(f, &os);
	json_open(&j, NULL, '{');
	json_open(&j, nd_ntrep_root_name(f), '{');
	json_value(&j, "computername", "%s", nd_ntrep_host(f));
	json_value(&j, "version", VERSION);
	json_settings(&j, f);
	json_threads(&j, f);
	json_totals(&j, f);
	json_retransmits(&j, f);
	if (shows_rtt(f))
		json_value(&j, "tcpAverageRtt metric", "%llu us",
			   (unsigned long long)nd_ntrep_linux_rtt_us(f));
	json_value(&j, "os", "%s", nd_str_text(&os));
	json_close(&j, '}');
	json_close(&j, '}');
	nd_str_addc(out, '\n', 1);
	out->failed = out->failed || !nd_str_ok(&os);
}
