/* SPDX-License-Identifier: MIT */
/*
 * The report that looks like netperf's, from fixed runs, against committed files.
 * NETDYNO_GOLDEN=update rewrites them: read the difference before it is committed.
 */
#include <cmocka.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "plan/netperf.h"
#include "report/netperf.h"
#include "report/report.h"
#include "result-fixture.h"

#define FILE_MAX (1u << 20)
#define BOTH     (ND_NP_SEND | ND_NP_RECV)

/* clang-format off */
static const struct fix stream = {
	.verb = "stream", .load = "stream", .transport = "tcp", .flows = 1, .message_bytes = 16384
};
static const struct fix packets = {
	.verb = "stream", .load = "stream", .transport = "udp", .flows = 1, .message_bytes = 1472,
	.datagram = true, .lose_every = 100, .rate_bps = 1000000000
};
static const struct fix many_packets = {
	.verb = "stream", .load = "stream", .transport = "udp", .flows = 64, .message_bytes = 1472,
	.datagram = true, .lose_every = 100, .rate_bps = 1000000000
};
static const struct fix turns = {
	.verb = "stream", .load = "rr", .transport = "tcp", .flows = 1, .message_bytes = 1,
	.transactions = true
};
static const struct fix udp_turns = {
	.verb = "stream", .load = "rr", .transport = "udp", .flows = 1, .message_bytes = 1,
	.transactions = true
};
static const struct fix calls = {
	.verb = "stream", .load = "crr", .transport = "tcp", .flows = 1, .message_bytes = 1,
	.transactions = true
};

#define P(l, r) { (l), (r) }
#define NONE    P(-1, -1)
/* What every command line comes to. */
#define LINE(name, letter, way)                                                                   \
	.test = (name), .direction = (way), .unit = (letter), .banner = true, .verbosity = 1,     \
	.host = "10.0.0.5", .protocol = "TCP", .iterations_max = 1, .iterations_min = 1,          \
	.send_align = P(8, 8), .recv_align = P(8, 8), .cpu = NONE, .priority = NONE,              \
	.tos = NONE, .send_bytes = NONE, .recv_bytes = NONE, .sndbuf = NONE, .rcvbuf = NONE,      \
	.request_bytes = -1, .response_bytes = -1, .parallel = 1, .route = true,                  \
	.uuid = "b161cd30-ecaf-41f1-8925-0d1d2afd4fd7", .command = "netperf -H 10.0.0.5"
#define SAID                                                                                      \
	.said.sndbuf = P(16384, 16384), .said.rcvbuf = P(131072, 131072), .said.remote_cpu = true,\
	.said.send_bytes = P(16384, -1), .said.recv_bytes = P(-1, 131072),                        \
	.said.send_width = P(2, 2), .said.recv_width = P(0, 2), .said.remote_cpus = 8
#define STREAM   LINE(ND_NP_TCP_STREAM, 'm', ND_NP_SEND), SAID
#define MAERTS   LINE(ND_NP_TCP_MAERTS, 'm', ND_NP_RECV), SAID, .said.send_bytes.remote = 32768
#define PACKETS  LINE(ND_NP_UDP_STREAM, 'm', ND_NP_SEND), SAID, .datagram = true,                 \
		 .said.send_bytes.local = 1472
#define SIZES    .request_bytes = 1, .response_bytes = 1, .said.send_bytes = P(1, 1),             \
		 .said.recv_bytes = P(1, 1)
#define TURNS    LINE(ND_NP_TCP_RR, 'x', BOTH), SAID, SIZES
#define CALLS(t) LINE(t, 'x', BOTH), SAID, SIZES, .connection_test = true
#define CPU      .local_cpu = true, .remote_cpu = true
#define LOW      .banner = false, .brand = "tag"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init" /* LINE() is what most have */
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#endif
static const struct {
	const char *name;
	const struct fix *fix;
	struct nd_netperf face;
	bool ipv6, repeated;
} cases[] = {
	{ .name = "stream",           .fix = &stream, .face = { STREAM } },
	{ .name = "stream-cpu",       .fix = &stream, .face = { STREAM, CPU, .unit = 'K' } },
	{ .name = "stream-local-cpu", .fix = &stream,
	  .face = { STREAM, .local_cpu = true, .said.remote_cpu = false } },
	{ .name = "stream-more",      .fix = &stream,
	  .face = { STREAM, .verbosity = 2, .nodelay = true } },
	{ .name = "stream-less",      .fix = &stream,
	  .face = { STREAM, LOW, .verbosity = 0, .unit = 'g' } },
	{ .name = "stream-less-cpu",  .fix = &stream,
	  .face = { STREAM, LOW, .verbosity = 0, .local_cpu = true } },
	{ .name = "stream-row",       .fix = &stream, .face = { STREAM, LOW } },
	{ .name = "stream-bits",      .fix = &stream, .face = { STREAM, LOW, .unit = 'b' } },
	{ .name = "stream-banner",    .fix = &stream,
	  .face = { STREAM, .cpu = P(0, -1), .data_port = P(5010, 5011),
		.local_host = "fd00::7:1", .host = "::1" }, .ipv6 = true },
	{ .name = "stream-interim",   .fix = &stream,
	  .face = { STREAM, .interim_ns = ND_NS_PER_S } },
	{ .name = "stream-csv",       .fix = &stream,
	  .face = { STREAM, .style = ND_NP_CSV, .interim_ns = ND_NS_PER_S } },
	{ .name = "stream-keyval",    .fix = &stream,
	  .face = { STREAM, CPU, .style = ND_NP_KEYVAL, .interim_ns = ND_NS_PER_S } },
	{ .name = "maerts-more",      .fix = &stream,
	  .face = { MAERTS, CPU, .verbosity = 2, .interim_ns = ND_NS_PER_S } },
	{ .name = "maerts-human",     .fix = &stream, .face = { MAERTS, .style = ND_NP_HUMAN } },
	{ .name = "sendfile-more",    .fix = &stream,
	  .face = { STREAM, .test = ND_NP_TCP_SENDFILE, .verbosity = 2 } },
	{ .name = "mss",              .fix = &stream, .face = { STREAM, .test = ND_NP_TCP_MSS } },
	{ .name = "packets",          .fix = &packets,
	  .face = { PACKETS, .interim_ns = ND_NS_PER_S } },
	{ .name = "packets-cpu",      .fix = &packets, .face = { PACKETS, CPU, .verbosity = 2 } },
	{ .name = "packets-less",     .fix = &packets, .face = { PACKETS, LOW, .verbosity = 0 } },
	{ .name = "packets-losses",   .fix = &packets, .face = { PACKETS, .losses = true } },
	{ .name = "packets-many",     .fix = &many_packets, .face = { PACKETS, .parallel = 64 } },
	{ .name = "packets-keyval",   .fix = &packets,
	  .face = { PACKETS, .style = ND_NP_KEYVAL, .selection = "all" } },
	{ .name = "rr",               .fix = &turns, .face = { TURNS, .interim_ns = ND_NS_PER_S } },
	{ .name = "rr-cpu",           .fix = &turns,
	  .face = { TURNS, CPU, .brand = "not with titles" } },
	{ .name = "rr-bits",          .fix = &turns,
	  .face = { TURNS, .unit = 'm', .interim_ns = ND_NS_PER_S } },
	{ .name = "rr-bits-cpu",      .fix = &turns, .face = { TURNS, .unit = 'k', CPU } },
	{ .name = "rr-more",          .fix = &turns,
	  .face = { TURNS, .verbosity = 2, .first_burst = 4 } },
	{ .name = "rr-unsettled",     .fix = &turns,
	  .face = { TURNS, .confidence = 99, .confidence_width = 0.05, CPU,
		.result_only = true }, .repeated = true },
	{ .name = "rr-unsettled-csv", .fix = &turns,
	  .face = { TURNS, .confidence = 99, .confidence_width = 0.05, CPU,
		.style = ND_NP_CSV, .selection = "all" }, .repeated = true },
	{ .name = "rr-all",           .fix = &turns,
	  .face = { TURNS, CPU, .style = ND_NP_HUMAN, .selection = "all",
		.brand = "tag", .keep_stats = true, .tos = P(0x28, -1), .local_cc = "reno",
		.priority = P(3, 4), .burst = 10, .burst_ns = 5000000, .local_file = "/dev/zero" } },
	{ .name = "rr-keyval",        .fix = &turns,
	  .face = { TURNS, LOW, .style = ND_NP_KEYVAL, .keep_stats = true,
		.selection = " throughput, p99_latency,nosuch ,Elapsed Time (sec),OUTPUT_NONE,RESULT_BRAND" } },
	{ .name = "rr-csv",           .fix = &turns,
	  .face = { TURNS, .style = ND_NP_CSV, .selection =
		"THROUGHPUT,foo,elapsed_time;LOCAL_CPU_UTIL, OUTPUT_NONE,RESULT_BRAND,P50_LATENCY" } },
	{ .name = "rr-human",         .fix = &turns,
	  .face = { TURNS, .style = ND_NP_HUMAN, .selection =
		"THROUGHPUT,foo,elapsed_time;LOCAL_CPU_UTIL, OUTPUT_NONE,P50_LATENCY" } },
	{ .name = "rr-human-row",     .fix = &turns,
	  .face = { TURNS, LOW, .style = ND_NP_HUMAN, .selection =
		";THROUGHPUT;;ELAPSED_TIME; ;UUID;PROTOCOL;DIRECTION;" } },
	{ .name = "udp-rr-more",      .fix = &udp_turns,
	  .face = { TURNS, .test = ND_NP_UDP_RR, .datagram = true,
		.verbosity = 2, CPU } },
	{ .name = "crr",              .fix = &calls, .face = { CALLS(ND_NP_TCP_CRR) } },
	{ .name = "crr-cpu",          .fix = &calls,
	  .face = { CALLS(ND_NP_TCP_CRR), CPU, .unit = 'm', .verbosity = 2 } },
	{ .name = "crr-less",         .fix = &calls,
	  .face = { CALLS(ND_NP_TCP_CRR), LOW, .local_cpu = true, .verbosity = 0 } },
	{ .name = "cc-more",          .fix = &calls,
	  .face = { CALLS(ND_NP_TCP_CC), .direction = 0, .verbosity = 2 } },
	{ .name = "omni",             .fix = &stream, .face = { STREAM, .test = ND_NP_OMNI } },
	{ .name = "omni-calls",       .fix = &calls, .face = { CALLS(ND_NP_OMNI) } },
	{ .name = "rem-cpu",          .fix = NULL,
	  .face = { STREAM, .test = ND_NP_REM_CPU, .verbosity = 2 } },
	{ .name = "rem-cpu-row",      .fix = NULL, .face = { STREAM, .test = ND_NP_REM_CPU } },
	{ .name = "uuid",             .fix = NULL, .face = { STREAM, .test = ND_NP_UUID } },
	{ .name = "nothing",          .fix = NULL,
	  .face = { TURNS, CPU, .style = ND_NP_HUMAN, .selection = "all" } },
	{ .name = "nothing-row",      .fix = NULL, .face = { PACKETS, CPU, .verbosity = 2 } },
	{ .name = "server",           .fix = &stream, .face = { .server = true } },
};
#pragma GCC diagnostic pop
/* clang-format on */

static struct nd_rtt_tenth tenths[] = {
	{ 0, 7, 12 }, { 1, 2, 417000 }, { 2, 1, 500 }, { 7, 9, 1 }, { 8, 0, 2 }
};

static void bend(size_t i, struct nd_result *r)
{
	struct nd_part *p = r->client->parts.v;

	r->client->machine.iowait_cores = 0.01;
	r->client->machine.nice_cores = 0.02;
	if (cases[i].fix->transactions) {
		p->rtt_tenths = (struct nd_list){ tenths, ND_COUNTOF(tenths) };
		p->rtt_stddev_us = 32.27;
	}
	if (cases[i].face.direction == ND_NP_RECV) {
		struct nd_list sent = r->client->parts;

		r->client->parts = r->server->parts;
		r->server->parts = sent;
	}
}

static void make(size_t i, struct nd_result *r)
{
	struct nd_result_ask ask;

	if (cases[i].fix) {
		fix_make(cases[i].fix, r);
		fix_ask(cases[i].fix, &ask);
		ask.workload[0].client_active = cases[i].face.direction != ND_NP_RECV;
		bend(i, r);
	} else {
		nd_result_init(r);
	}
	r->face = &cases[i].face;
	r->face_table = &nd_netperf_table;
	if (cases[i].fix)
		assert_int_equal(nd_result_join(r, &ask, NULL), 0);
}

/* ---- what is compared */

/* The wall clock: ten digits, a point, three digits. */
static bool is_instant(const char *p)
{
	for (unsigned i = 0; i < 14; i++)
		if (i == 10 ? p[i] != '.' : !isdigit((unsigned char)p[i]))
			return false;
	return true;
}

static void settle(const char *text, struct nd_str *out)
{
	while (*text) {
		if (is_instant(text)) {
			nd_str_add(out, "1796036987.666");
			text += 14;
		} else {
			nd_str_addc(out, *text++, 1);
		}
	}
}

static void compare(const char *name, const char *text)
{
	const char *mode = getenv("NETDYNO_GOLDEN"); /* NOLINT(concurrency-mt-unsafe) */
	nd_auto_free char *golden = NULL;
	struct nd_err err = { 0 };
	nd_auto_str now = { 0 };
	char path[PATH_MAX];
	size_t n = 0;

	settle(text, &now);
	(void)snprintf(path, sizeof(path), "tests/golden/netperf-%s.txt", name);
	if (mode && !strcmp(mode, "update")) {
		assert_int_equal(nd_write_file(path, nd_str_text(&now), now.len, &err), 0);
		return;
	}
	if (nd_read_file(path, FILE_MAX, &golden, &n, &err) < 0)
		fail_msg("%s", err.text);
	if (strcmp(golden, nd_str_text(&now)) != 0)
		fail_msg("%s differs; is now:\n%s", path, nd_str_text(&now));
}

static void tell(size_t i, struct nd_report *report, const struct nd_result *r)
{
	struct nd_progress_event ev = { .what = ND_PROG_CONNECTED,
					.text = cases[i].ipv6 ? "[::1]:12865" : "10.0.0.5:12865" };
	const struct nd_direction *d = r->directions.n ? r->directions.v : NULL;

	if (cases[i].face.server) {
		struct nd_progress_event door = { .what = ND_PROG_LISTENING,
						  .text = "'IN(6)ADDR_ANY' port '12865' and family "
							  "AF_UNSPEC" };

		assert_int_equal(nd_report_progress(report, &door), 0);
	}
	assert_int_equal(nd_report_progress(report, &ev), 0);
	ev.what = ND_PROG_READY;
	assert_int_equal(nd_report_progress(report, &ev), 0);
	for (uint64_t k = 0; d && k < 2; k++) {
		ev = (struct nd_progress_event){
			.what = ND_PROG_INTERVAL,
			.interval = (struct nd_interval_joint *)d->intervals.v + k
		};
		assert_int_equal(nd_report_progress(report, &ev), 0);
	}
}

/* Four runs that differ; the last is the result. */
static void repeat(size_t i, struct nd_result *r, struct nd_repeats *s)
{
	const struct nd_repeat_ask ask = { .transactions = true,
					   .client_cpu = true,
					   .server_cpu = true };
	struct nd_repeat_figures f;

	*s = (struct nd_repeats){ .level = cases[i].face.confidence,
				  .asked_width = cases[i].face.confidence_width,
				  .result_only = cases[i].face.result_only };
	nd_repeat_figures(r, &ask, &f);
	for (unsigned k = 0; k < 4; k++) {
		nd_repeats_add(s, &f);
		f.per_s *= 0.9;
		f.server_cpu *= 0.99;
	}
	r->repeats = s;
}

static void render(size_t i)
{
	nd_auto_fd int fd = memfd_create("report", MFD_CLOEXEC);
	nd_auto_free char *text = NULL;
	struct nd_report_cfg cfg = { .format = "netperf",
				     .quiet = true, /* of no matter: its own setting counts */
				     .out_fd = fd,
				     .face = &cases[i].face,
				     .face_table = &nd_netperf_table };
	struct nd_report *report = NULL;
	struct nd_err err = { 0 };
	struct nd_repeats all;
	struct nd_result r;
	char path[64];
	size_t n;

	assert_true(fd >= 0);
	make(i, &r);
	if (cases[i].repeated)
		repeat(i, &r, &all);
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	tell(i, report, &r);
	assert_int_equal(nd_report_result(report, &r, &err), 0);
	nd_report_free(report);
	nd_result_done(&r);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(nd_read_file(path, FILE_MAX, &text, &n, &err), 0);
	compare(cases[i].name, text);
}

static void test_golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cases); i++)
		render(i);
}

static void test_selections(void **state)
{
	size_t n = 0;

	(void)state;
	while (nd_nprep_selector(n))
		n++;
	assert_int_equal(n, 174);
	assert_string_equal(nd_nprep_selector(0), "OUTPUT_NONE");
	assert_string_equal(nd_nprep_selector(n - 1), "COMMAND_LINE");
	for (size_t i = 0; i < n; i++)
		assert_true(nd_nprep_is_selection(nd_nprep_selector(i)));
	assert_true(nd_nprep_is_selection("All"));
	assert_true(nd_nprep_is_selection("a,b"));
	assert_true(nd_nprep_is_selection("throughput"));
	assert_false(nd_nprep_is_selection("throughput.txt"));
	assert_false(nd_nprep_is_selection(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_golden),
					    cmocka_unit_test(test_selections) };

	return cmocka_run_group_tests_name("report-netperf", tests, NULL, NULL);
}
