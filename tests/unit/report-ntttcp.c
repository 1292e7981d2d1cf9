/* SPDX-License-Identifier: MIT */
/*
 * The reports that look like NTttcp's, from fixed runs: console, XML and JSON against committed files.
 * NETDYNO_GOLDEN=update rewrites them: read the difference before it is committed.
 */
#include <cmocka.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan/ntttcp.h"
#include "report/ntttcp.h"
#include "report/report.h"
#include "result-fixture.h"

#define FILE_MAX (1u << 20)

/* clang-format off */
static const struct fix fix_four = {
	.verb = "stream", .load = "stream", .transport = "tcp", .flows = 4, .message_bytes = 65536
};
static const struct fix fix_alone = {
	.verb = "stream", .load = "stream", .transport = "tcp", .flows = 4, .message_bytes = 65536,
	.no_server = true
};
static const struct fix fix_receiver = {
	.verb = "receive", .load = "stream", .transport = "tcp", .flows = 4,
	.message_bytes = 65536, .no_client = true
};
static const struct fix fix_asks = {
	.verb = "stream", .load = "rr", .transport = "tcp", .flows = 1, .message_bytes = 1000,
	.transactions = true
};

static const char *notes[] = { "the UDP send size is too big. use the max value" };

/* What a command line of each kind comes to. */
#define LINUX(on_cpu)                                                                     \
	.base_port = 5001, .ports = 2, .threads_per_port = 1, .conns_per_thread = 2,      \
	.io_bytes = 65536, .time_ms = 10000, .cpu = (on_cpu), .sndbuf = -1, .rcvbuf = -1, \
	.numa_node = ND_UNKNOWN
#define WINDOWS(base, threads, ms, io)                                                    \
	.windows = true, .base_port = (base), .ports = (threads), .threads_per_port = 1,  \
	.conns_per_thread = 1, .io_bytes = (io), .time_ms = (ms), .has_time = true,       \
	.cpu = -1, .sndbuf = -1, .rcvbuf = -1, .timeout_ms = 600000, .numa_node = ND_UNKNOWN

static const struct {
	const char *name;
	const struct fix *fix;
	const char *hostname;
	struct nd_ntttcp face;
} cases[] = {
	{ "linux-sender", &fix_alone, NULL,
	  { LINUX(-1), .sender = true, .server_address = "10.0.0.5" } },
	{ "linux-sender-verbose", &fix_four, "<a&\"b\"\\>",
	  { LINUX(-1), .sender = true, .verbose = true, .server_address = "10.0.0.5",
	    .warmup_ms = 1000, .cooldown_ms = 2000, .tcp_retrans = true, .nic = "eth0",
	    .interrupts = "Hypervisor", .source_port = 25001, .bandwidth_bps = 5000000000,
	    .fq_bps = 1000000, .nodelay = true, .last = true, .daemon = true,
	    .xml_file = "out.xml", .json_file = "out.json", .log_file = "out.log" } },
	{ "linux-receiver", &fix_receiver, NULL,
	  { LINUX(-1), .nic = "eth0", .interrupts = "Hypervisor", .warmup_ms = 1000,
	    .cooldown_ms = 1000, .epoll = true, .xml_file = "out.xml",
	    .json_file = "out.json" } },
	{ "linux-receiver-verbose", &fix_receiver, NULL,
	  { LINUX(1), .verbose = true, .continuous = true, .hold = true, .multi = true,
	    .epoll = true, .no_sync = true, .ipv6 = true, .nic = "eth9",
	    .quiet = true, .log_file = "out.log" } },
	{ "linux-udp", &fix_udp, NULL,
	  { LINUX(-1), .udp = true, .notes = { notes, 1 } } },
	{ "windows-sender", &fix_four, NULL,
	  { WINDOWS(5001, 4, 300000, 65536), .sender = true, .server_address = "10.0.0.5" } },
	{ "windows-receiver", &fix_receiver, NULL,
	  { WINDOWS(80, 4, 60000, 65536), .async_io = 6, .async_count_given = true,
	    .warmup_ms = 5000, .cooldown_ms = 5000, .verbose = true,
	    .xml_file = "c:bench.xml" } },
	{ "windows-udp", &fix_udp, NULL,
	  { WINDOWS(5001, 2, 300000, 1472), .udp = true, .hide_threads = true } },
	{ "windows-latency", &fix_asks, NULL,
	  { WINDOWS(5001, 1, 0, 1000), .sender = true, .latency = true, .round_trip = true,
	    .dynamic_ports = true, .no_sync = true, .buffers = 20480,
	    .client_address = "10.0.0.4", .transmit_packets = 1, .throttle_kBps = 500 } },
	{ "windows-latency-xml", &fix_asks, NULL,
	  { WINDOWS(5001, 1, 0, 1000), .sender = true, .latency = true, .round_trip = true,
	    .dynamic_ports = true, .no_sync = true, .buffers = 20480,
	    .client_address = "10.0.0.4", .transmit_packets = 1, .throttle_kBps = 500,
	    .qos = 3, .io_ports_used = true, .io_ports = 7, .xml_file = "out.xml" } },
	{ "windows-jitter", &fix_udp, NULL,
	  { WINDOWS(5001, 2, 300000, 1472), .udp = true, .jitter = true, .sample_s = 1,
	    .jitter_file = "j.csv" } },
	{ "windows-samples", &fix_udp, NULL,
	  { WINDOWS(5001, 2, 300000, 1472), .udp = true, .jitter = true, .sample_s = 1,
	    .jitter_file = "j.csv", .xml_file = "out.xml" } },
	{ "windows-sender-estats", &fix_four, NULL,
	  { WINDOWS(5001, 4, 60000, 65536), .sender = true, .estats = true,
	    .xml_file = "out.xml" } },
	{ "windows-receiver-estats", &fix_receiver, NULL,
	  { WINDOWS(5001, 4, 60000, 65536), .estats = true, .xml_file = "out.xml" } },
};

/* clang-format on */

static void bend_machine(struct nd_side *s)
{
	struct nd_machine *m = s ? &s->machine : NULL;

	if (!m)
		return;
	s->host.kernel_build = "#1 SMP";
	m->nice_cores = 0.02;
	m->iowait_cores = 0.01;
	m->cpu_mhz = 2445.424;
	m->window_interrupts = 24063;
	m->softirq_net_rx = 42187;
	m->softirq_net_tx = 440;
	m->window_tcp_in_segs = 2161992;
	m->window_tcp_out_segs = 25324915;
	m->window_tcp_retrans_segs = 60412;
	m->window_tcp_attempt_fails = 1;
	m->window_tcp_lost_retransmit = 12;
	m->window_tcp_syn_retrans = 0;
	m->window_tcp_fast_retrans = 14567;
	m->window_tcp_slow_start_retrans = 3;
	m->window_tcp_retrans_fail = 0;
	m->window_udp_in_datagrams = 1655570;
	m->window_udp_out_datagrams = 1698360;
	m->window_udp_in_errors = 4;
	m->window_nic = "eth0";
	m->window_nic_rx_packets = 48801;
	m->window_nic_tx_packets = 48803;
}

/* Flows come to ports in any order. */
static void bend_flows(struct nd_side *s, uint64_t ports)
{
	struct nd_part *p = s ? s->parts.v : NULL;
	struct nd_flow_row *row = p ? p->flows.v : NULL;
	uint64_t i;

	for (i = 0; p && i < p->flows.n; i++)
		row[i].group = p->active ? ND_UNKNOWN : (i + 1) % ports;
}

static void make(size_t i, struct nd_result *r)
{
	struct nd_result_ask ask;

	fix_make(cases[i].fix, r);
	fix_ask(cases[i].fix, &ask);
	bend_machine(r->client);
	bend_machine(r->server);
	bend_flows(r->server, cases[i].face.ports);
	if (cases[i].hostname)
		r->client->host.hostname = cases[i].hostname;
	if (cases[i].face.nic && !strcmp(cases[i].face.nic, "eth9")) {
		r->server->machine.window_nic_rx_packets = ND_UNKNOWN;
		r->server->machine.window_nic_tx_packets = ND_UNKNOWN;
		r->server->machine.cpu_mhz = (double)NAN;
	}
	r->face = &cases[i].face;
	r->face_table = &nd_ntttcp_table;
	assert_int_equal(nd_result_join(r, &ask, NULL), 0);
}

static void send(struct nd_report *report, enum nd_progress what, const char *text)
{
	const struct nd_progress_event ev = {
		.what = what, .text = text, .count = 4, .microseconds = 1516
	};

	assert_int_equal(nd_report_progress(report, &ev), 0);
}

static void send_intervals(struct nd_report *report, const struct nd_result *r, uint64_t from,
			   uint64_t to)
{
	const struct nd_interval_joint *row = ((struct nd_direction *)r->directions.v)->intervals.v;

	for (; from < to; from++) {
		const struct nd_progress_event ev = { .what = ND_PROG_INTERVAL,
						      .interval = &row[from] };

		assert_int_equal(nd_report_progress(report, &ev), 0);
	}
}

/* A session's events in their order. */
static void tell(size_t i, struct nd_report *report, const struct nd_result *r)
{
	const struct nd_ntttcp *face = &cases[i].face;

	if (!face->sender)
		send(report, ND_PROG_LISTENING, "0.0.0.0 port 5001");
	else
		send(report, ND_PROG_CONNECTED, "10.0.0.5 port 5000");
	send(report, ND_PROG_READY, NULL);
	send(report, ND_PROG_DETAIL, "\x1b[2Jkey\n: value");
	send(report, ND_PROG_FLOWS, NULL);
	if (face->warmup_ms) {
		send(report, ND_PROG_PHASE, "warmup");
		send_intervals(report, r, 0, 1);
	}
	send(report, ND_PROG_PHASE, "measure");
	send_intervals(report, r, 1, 3);
	if (face->cooldown_ms)
		send(report, ND_PROG_PHASE, "cooldown");
	send_intervals(report, r, 3, 4); /* late: nobody wants it any more */
	send(report, ND_PROG_PHASE, "drain");
	send_intervals(report, r, FIX_INTERVALS - 1, FIX_INTERVALS);
}

/* ---- what is compared */

static bool is_clock(const char *p)
{
	static const char shape[] = "dd:dd:dd ";
	size_t i;

	for (i = 0; shape[i]; i++)
		if (shape[i] == 'd' ? !isdigit((unsigned char)p[i]) : p[i] != shape[i])
			return false;
	return true;
}

/* "1/2/2030 3:4:5 ": its length, 0 when the line begins with something else. */
static size_t date_length(const char *p)
{
	size_t date = strspn(p, "0123456789/"), clock;

	if (!memchr(p, '/', date) || p[date] != ' ')
		return 0;
	clock = strspn(p + date + 1, "0123456789:");
	return clock && p[date + 1 + clock] == ' ' ? date + clock + 2 : 0;
}

/* Lines begin with the time of day: that of every line becomes the same. */
static void settle(const char *text, struct nd_str *out)
{
	const char *end;

	for (; *text; text = end) {
		end = strchr(text, '\n');
		end = end ? end + 1 : text + strlen(text);
		if (is_clock(text)) {
			nd_str_add(out, "11:24:47 ");
			text += 9;
		} else if (date_length(text)) {
			nd_str_add(out, "1/2/2030 3:4:5 ");
			text += date_length(text);
		}
		nd_str_addn(out, text, (size_t)(end - text));
	}
}

static void compare(const char *name, const char *ending, const char *text)
{
	const char *mode = getenv("NETDYNO_GOLDEN"); /* NOLINT(concurrency-mt-unsafe) */
	nd_auto_free char *golden = NULL;
	struct nd_err err = { 0 };
	nd_auto_str now = { 0 };
	char path[PATH_MAX];
	size_t n = 0;

	settle(text, &now);
	(void)snprintf(path, sizeof(path), "tests/golden/ntttcp-%s.%s", name, ending);
	if (mode && !strcmp(mode, "update")) {
		assert_int_equal(nd_write_file(path, nd_str_text(&now), now.len, &err), 0);
		return;
	}
	if (nd_read_file(path, FILE_MAX, &golden, &n, &err) < 0)
		fail_msg("%s", err.text);
	if (strcmp(golden, nd_str_text(&now)) != 0)
		fail_msg("%s differs; is now:\n%s", path, nd_str_text(&now));
}

/* A file the report wrote into the folder of @dir_fd. */
static void compare_file(size_t i, int dir_fd, const char *written, const char *ending)
{
	nd_auto_free char *text = NULL;
	struct nd_err err = { 0 };
	char path[PATH_MAX];
	size_t n = 0;

	if (!written)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, written);
	if (nd_read_file(path, FILE_MAX, &text, &n, &err) < 0)
		fail_msg("%s", err.text);
	compare(cases[i].name, ending, text);
	assert_int_equal(unlinkat(dir_fd, written, 0), 0);
}

/* Files are named without a folder: the report is made in one of our own. */
static void report_in(size_t i, int dir_fd, int home_fd)
{
	nd_auto_fd int fd = openat(dir_fd, "console", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct nd_report_cfg cfg = { .format = cases[i].face.windows ? "ntttcp-windows"
								     : "ntttcp-linux",
				     .quiet = true, /* of no matter: its own setting counts */
				     .out_fd = fd,
				     .face = &cases[i].face,
				     .face_table = &nd_ntttcp_table };
	struct nd_report *report = NULL;
	struct nd_err err = { 0 };
	struct nd_result r;

	assert_true(fd >= 0);
	make(i, &r);
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	tell(i, report, &r);
	assert_int_equal(fchdir(dir_fd), 0);
	if (nd_report_result(report, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fchdir(home_fd), 0);
	nd_report_free(report);
	nd_result_done(&r);
}

static void render(size_t i)
{
	const struct nd_ntttcp *face = &cases[i].face;
	char folder[] = "/tmp/netdyno-ntttcp.XXXXXX";
	nd_auto_fd int dir = -1;
	nd_auto_fd int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_non_null(mkdtemp(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0 && home >= 0);
	report_in(i, dir, home);
	compare_file(i, dir, "console", "txt");
	compare_file(i, dir, face->xml_file, face->sample_s ? "xml-samples" : "xml");
	compare_file(i, dir, face->json_file, "json");
	compare_file(i, dir, face->log_file, "log");
	assert_int_equal(rmdir(folder), 0); /* nothing else was written */
}

static void test_reports(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(cases); i++)
		render(i);
}

/* ---- what else a report does */

struct tape {
	char text[4096];
};

/* A report of @face into a pipe: what @drive makes it say. */
static void record(const char *format, const struct nd_ntttcp *face,
		   void (*drive)(struct nd_report *report), struct tape *ret)
{
	struct nd_report_cfg cfg = { .format = format,
				     .face = face,
				     .face_table = face ? &nd_ntttcp_table : NULL };
	struct nd_report *report = NULL;
	nd_auto_str text = { 0 };
	struct nd_err err = { 0 };
	char raw[4096];
	int fd[2];
	ssize_t n;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	cfg.out_fd = fd[1];
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	drive(report);
	nd_report_free(report);
	assert_int_equal(close(fd[1]), 0);
	n = read(fd[0], raw, sizeof(raw) - 1);
	assert_true(n > 0);
	raw[n] = '\0';
	assert_int_equal(close(fd[0]), 0);
	settle(raw, &text);
	(void)snprintf(ret->text, sizeof(ret->text), "%s", nd_str_text(&text));
}

static void nothing_measured(struct nd_report *report)
{
	struct nd_err err = { 0 };
	struct nd_result r;

	nd_result_init(&r);
	r.partial = true;
	r.partial_reason = "interrupted";
	assert_int_equal(nd_report_result(report, &r, &err), 0);
	nd_result_done(&r);
}

/* What -d found: the kind of failure stands in the place of the ordinary end. */
static void is_corrupt(struct nd_report *report)
{
	static const struct nd_ntttcp face = { WINDOWS(5001, 4, 300000, 65536), .verify = true };
	struct nd_result_ask ask;
	struct nd_err err = { 0 };
	struct nd_result r;

	fix_make(&fix_receiver, &r);
	fix_ask(&fix_receiver, &ask);
	((struct nd_part *)r.server->parts.v)->run.rx_corrupt = 1234;
	r.face = &face;
	r.face_table = &nd_ntttcp_table;
	assert_int_equal(nd_result_join(&r, &ask, NULL), 0);
	r.partial = true;
	r.partial_reason = "1234 bytes differ from what was sent";
	assert_int_equal(nd_report_result(report, &r, &err), 0);
	nd_result_done(&r);
}

static void fails(struct nd_report *report)
{
	struct nd_err failure = { 0 }, err = { 0 };

	(void)nd_fail(&failure, -ECONNREFUSED, "10.0.0.5 port 5000: connection \x1b[1mrefused");
	assert_int_equal(nd_report_failed(report, &failure, &err), 0);
}

static void speaks(struct nd_report *report)
{
	send(report, ND_PROG_WARNING, "heed this");
	send(report, ND_PROG_NOTE, "cycle time negotiated is: 3 seconds");
	send(report, ND_PROG_PHASE, "measure");
	send(report, ND_PROG_PHASE, "no such phase");
}

static void test_endings(void **state)
{
	static const struct nd_ntttcp receiver = { LINUX(-1) },
				      alone = { LINUX(-1), .no_sync = true },
				      lone_sender = { LINUX(-1), .no_sync = true, .sender = true },
				      windows = { WINDOWS(5001, 4, 300000, 65536) };
	struct tape t;

	(void)state;
	record("ntttcp-linux", NULL, nothing_measured, &t); /* without a face, too */
	assert_non_null(strstr(t.text, "11:24:47 INFO: interrupted\n"
				       "11:24:47 ERR : nothing was measured\n"));
	assert_null(strstr(t.text, "Totals"));
	record("ntttcp-windows", &windows, nothing_measured, &t);
	assert_non_null(strstr(t.text, "Ended early: interrupted\nError: nothing was measured.\n"));
	record("ntttcp-windows", &windows, is_corrupt, &t);
	assert_non_null(
		strstr(t.text, "\nError: data is corrupted: 1234 bytes are not the letter A.\n"));
	assert_null(strstr(t.text, "Ended early"));
	assert_non_null(strstr(t.text, "#####  Totals:  #####"));
	record("ntttcp-linux", &receiver, fails, &t);
	assert_non_null(
		strstr(t.text, "11:24:47 ERR : 10.0.0.5 port 5000: connection ?[1mrefused\n"));
	record("ntttcp-windows", &windows, fails, &t);
	assert_non_null(strstr(t.text, "\nError: 10.0.0.5 port 5000"));
	record("ntttcp-linux", &receiver, speaks, &t);
	assert_non_null(strstr(t.text, "11:24:47 INFO: heed this\n"
				       "11:24:47 INFO: cycle time negotiated is: 3 seconds\n"
				       "11:24:47 INFO: 3 threads created\n"
				       "11:24:47 INFO: Network activity progressing...\n"));
	record("ntttcp-linux", &alone, speaks, &t); /* nobody agreed on a start */
	assert_non_null(strstr(t.text, " threads created\n"));
	assert_null(strstr(t.text, "Network activity"));
	record("ntttcp-linux", &lone_sender, speaks, &t);
	assert_non_null(strstr(t.text, "11:24:47 INFO: Starting sender activity (no sync) ...\n"
				       "11:24:47 INFO: "));
	assert_null(strstr(t.text, "Network activity"));
	record("ntttcp-windows", NULL, speaks, &t);
	assert_string_equal(
		t.text, "Copyright Version 5.40\nheed this\n"
			"cycle time negotiated is: 3 seconds\nNetwork activity progressing...\n");
}

/* A file that cannot be written fails the report; what was measured is said all the same. */
static void test_file_refused(void **state)
{
	struct nd_ntttcp face = cases[0].face;
	struct nd_report_cfg cfg = { .format = "ntttcp-linux",
				     .face = &face,
				     .face_table = &nd_ntttcp_table };
	char text[8192], folder[] = "/tmp/netdyno-test-XXXXXX", path[64];
	struct nd_report *report = NULL;
	struct nd_err err = { 0 };
	struct nd_result r;
	int fd[2];
	ssize_t n;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/out.xml", folder);
	face.xml_file = path;
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	cfg.out_fd = fd[1];
	make(0, &r);
	r.face = &face;
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	assert_int_equal(rmdir(folder), 0); /* while the test runs */
	assert_int_equal(nd_report_result(report, &r, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	nd_report_free(report);
	assert_int_equal(close(fd[1]), 0);
	n = read(fd[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "#####  Totals:  #####"));
	assert_int_equal(close(fd[0]), 0);
	nd_result_done(&r);
}

/* One of which that is known before is refused before. */
static void test_file_foreseen(void **state)
{
	static const struct {
		const char *xml, *json, *log, *sentence;
		int code;
	} rows[] = {
		{ "/nonexistent/out.xml", NULL, NULL,
		  "the XML file: /nonexistent/out.xml: No such file or directory", -ENOENT },
		{ NULL, "/tmp", NULL, "the JSON file: '/tmp' is a folder", -EISDIR },
		{ NULL, NULL, "/nonexistent/log",
		  "the log file: /nonexistent/log: No such file or directory", -ENOENT },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_ntttcp face = { .xml_file = rows[i].xml,
					  .json_file = rows[i].json,
					  .log_file = rows[i].log };
		const struct nd_report_cfg cfg = { .format = "ntttcp-linux",
						   .out_fd = -1,
						   .face = &face,
						   .face_table = &nd_ntttcp_table };
		struct nd_report *report = NULL;
		struct nd_err err = { 0 };

		assert_int_equal(nd_report_open(&cfg, &report, &err), rows[i].code);
		assert_string_equal(err.text, rows[i].sentence);
		assert_null(report);
	}
}

/* A row for each packet, the header once, another test behind the first. */
static void test_jitter_rows(void **state)
{
	static const struct nd_sample packet[][2] = { { { 0, 10000000 }, { 22202417055, 5 } },
						      { { 7, 1000000000 }, { 3, 4 } } };
	static const char text[] = "packet_num,send_count,send_freq,recv_count,recv_freq\n"
				   "0,22202417055,10000000,5,1000000000\n"
				   "7,3,1000000000,4,1000000000\n"
				   "0,22202417055,10000000,5,1000000000\n"
				   "7,3,1000000000,4,1000000000\n";
	char path[] = "/tmp/jitter-XXXXXX";
	nd_auto_fd int fd = mkstemp(path);
	nd_auto_free char *written = NULL;
	struct nd_samples *s = NULL;
	struct nd_result r = { .samples = &s, .samples_n = 1 };
	struct nd_err err = { 0 };
	size_t n = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(nd_samples_new(1, &s), 0);
	for (size_t i = 0; i < ND_COUNTOF(packet); i++)
		nd_samples_put(s, packet[i], 2);
	assert_int_equal(nd_ntrep_jitter(&r, path, &err), 0);
	assert_int_equal(nd_ntrep_jitter(&r, path, &err), 0);
	assert_int_equal(nd_read_file(path, FILE_MAX, &written, &n, &err), 0);
	assert_string_equal(written, text);
	(void)unlink(path);
	assert_int_equal(nd_ntrep_jitter(&r, "/nowhere/at/all", &err), -ENOENT);
	nd_samples_free(s);
}

/* They belong to their face: nobody is offered them elsewhere. */
static void test_not_offered(void **state)
{
	size_t n;

	(void)state;
	for (n = 0; nd_writer_names(n, NULL); n++)
		assert_null(strstr(nd_writer_names(n, NULL), "ntttcp"));
	assert_non_null(nd_writer_find("ntttcp-linux"));
	assert_non_null(nd_writer_find("ntttcp-windows"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reports),      cmocka_unit_test(test_endings),
		cmocka_unit_test(test_file_refused), cmocka_unit_test(test_file_foreseen),
		cmocka_unit_test(test_not_offered),  cmocka_unit_test(test_jitter_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
