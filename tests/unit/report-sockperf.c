/* SPDX-License-Identifier: MIT */
/* sockperf's lines, byte by byte, of samples whose figures are known. */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "plan/sockperf.h"
#include "report/report.h"

/* 1001 messages, one a ms; the window holds those from 400 to 950 ms. Round trips of 10, 20 ... us in turn. */
static struct nd_samples *samples(void)
{
	struct nd_samples *s = NULL;

	assert_int_equal(nd_samples_new(1, &s), 0);
	for (uint64_t i = 0; i <= 1000; i++) {
		uint64_t at_ns = (i + 1) * ND_NS_PER_MS;

		(void)nd_samples_send(s, at_ns);
		assert_true(nd_samples_answer(s, i + 1, at_ns + (i % 10 + 1) * 10000));
	}
	return s;
}

static void print(struct nd_sockperf *face, bool tty, struct nd_samples *s, struct nd_str *out)
{
	const struct nd_writer *w = nd_writer_find("sockperf");
	const struct nd_report_cfg cfg = {
		.format = "sockperf", .tty = tty, .face = face, .face_table = &nd_sockperf_table
	};
	const struct nd_progress_event ready = { .what = ND_PROG_FLOWS };
	struct nd_part part = { 0 };
	struct nd_side side = { 0 };
	struct nd_result r;

	assert_non_null(w);
	nd_result_init(&r);
	part.run.seconds = 1.001;
	side.parts = (struct nd_list){ .v = &part, .n = 1 };
	r.client = &side;
	r.samples = &s;
	r.samples_n = 1;
	r.face = face;
	r.face_table = &nd_sockperf_table;
	w->begin(&cfg, out);
	w->progress(&cfg, &ready, out);
	w->result(&cfg, &r, out);
	r.client = NULL;
	nd_result_done(&r);
}

static struct nd_sockperf face_of(enum nd_sockperf_mode mode, const char **address)
{
	return (struct nd_sockperf){ .mode = mode,
				     .burst = 1,
				     .reply_every = 1,
				     .message_bytes = 14,
				     .level = 99,
				     .version = "3.10",
				     .addresses = { address, 1 } };
}

static const char head[] =
	"sockperf: == version #3.10 == \n"
	"sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)\n"
	"\n"
	"[ 0] IP = 127.0.0.1       PORT = 11111 # UDP\n"
	"sockperf: Warmup stage (sending a few dummy messages)...\n"
	"sockperf: Starting test...\n"
	"sockperf: Test end (interrupted by timer)\n"
	"sockperf: Test ended\n";

static const char ping_pong[] =
	"sockperf: [Total Run] RunTime=1.001 sec; Warm up time=400 msec; SentMessages=1001; ReceivedMessages=1001\n"
	"sockperf: ========= Printing statistics for Server No: 0\n"
	"sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=551; ReceivedMessages=551\n"
	"sockperf: ====> avg-latency=27.459 (std-dev=14.393, mean-ad=12.518, median-ad=22.239, siqr=12.500, "
	"cv=0.524, std-error=0.613, 99.0% ci=[25.879, 29.039])\n"
	"sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0\n"
	"sockperf: Summary: Latency is 27.459 usec\n"
	"sockperf: Total 551 observations; each percentile contains 5.51 observations\n"
	"sockperf: ---> <MAX> observation =   50.000\n"
	"sockperf: ---> percentile 99.999 =   50.000\n"
	"sockperf: ---> percentile 99.990 =   50.000\n"
	"sockperf: ---> percentile 99.900 =   50.000\n"
	"sockperf: ---> percentile 99.000 =   50.000\n"
	"sockperf: ---> percentile 90.000 =   45.000\n"
	"sockperf: ---> percentile 75.000 =   40.000\n"
	"sockperf: ---> percentile 50.000 =   25.000\n"
	"sockperf: ---> percentile 25.000 =   15.000\n"
	"sockperf: ---> <MIN> observation =    5.000\n";

static void is_laid_out(void **state)
{
	const char *address = "IP = 127.0.0.1       PORT = 11111 # UDP";
	struct nd_sockperf face = face_of(ND_SP_PING_PONG, &address);
	struct nd_samples *s = samples();
	nd_auto_str out = { 0 };

	(void)state;
	print(&face, false, s, &out);
	assert_memory_equal(nd_str_text(&out), head, sizeof(head) - 1);
	assert_string_equal(nd_str_text(&out) + sizeof(head) - 1, ping_pong);
	nd_samples_free(s);
}

static void has_variants(void **state)
{
	const char *address = "IP = 127.0.0.1       PORT = 11111 # UDP";
	struct nd_sockperf face = face_of(ND_SP_PING_PONG, &address);
	struct nd_samples *s = samples();
	nd_auto_str out = { 0 };

	(void)state;
	face.short_average = face.full_rtt = face.coloured = true;
	face.burst = 2;
	print(&face, false, s, &out);
	assert_non_null(
		strstr(nd_str_text(&out),
		       "sockperf: \033[2;35m====> avg-rtt=54.918 (std-dev=28.787)\033[0m\n"));
	assert_non_null(
		strstr(nd_str_text(&out),
		       "sockperf: Summary: Round trip of burst of 2 messages is 54.918 usec\n"));
	assert_non_null(strstr(nd_str_text(&out),
			       "sockperf: \033[2;35mTotal 551 observations\033[0m; each"));
	nd_samples_free(s);
}

static void sends(void **state)
{
	static const struct {
		uint64_t bytes, rate;
		bool giga, precise;
		const char *want;
		uint64_t range;
		bool short_average;
	} rows[] = {
		{ 14, 0, false, false,
		  "sockperf: Total of 1001 messages sent in 1.001 sec\n\n"
		  "sockperf: NOTE: test was performed, using msg-size=14. For getting maximum throughput consider "
		  "using --msg-size=1472\n"
		  "sockperf: Summary: Message Rate is 1000 [msg/sec]\n"
		  "sockperf: Summary: BandWidth is 0.013 MBps (0.107 Mbps)\n",
		  0, false },
		{ 1472, 0, false, true,
		  "sockperf: Total of 1001 messages sent in 1.001 sec\n\n"
		  "sockperf: Summary: Message Rate is 1000 [msg/sec]\n"
		  "sockperf: Summary: BandWidth is 1.403808594 MBps (11.230468750 Mbps)\n",
		  0, false },
		{ 4000, 1000, true, false,
		  "sockperf: NOTE: test was performed, using msg-size=4000, mps=1000. For getting maximum "
		  "throughput use --mps=max (and consider --msg-size=1472 or --msg-size=4096)\n"
		  "sockperf: Summary: Message Rate is 1000 [msg/sec], Packet Rate is about 3000 [pkt/sec] "
		  "(3 ip frags / msg)\n"
		  "sockperf: Summary: BandWidth is 0.004 GBps (0.031 Gbps)\n",
		  0, false },
		{ 1472, 1000, false, false,
		  "using msg-size=1472, mps=1000. For getting maximum throughput use --mps=max (and "
		  "consider --msg-size=1472 or --msg-size=4096)\n",
		  0, false },
		{ 500, 1000, false, false,
		  "using average msg-size=500 (+/-100), mps=1000. For getting maximum throughput use "
		  "--mps=max (and consider --msg-size=1472 or --msg-size=4096)\n",
		  100, false },
		{ 500, 1000, false, false,
		  "--mps=max (and consider --msg-size=1472 or --msg-size=4096\n", 100, true },
	};

	const char *address = "IP = 127.0.0.1       PORT = 11111 # UDP";

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_sockperf face = face_of(ND_SP_THROUGHPUT, &address);
		struct nd_samples *s = samples();
		nd_auto_str out = { 0 };

		face.message_bytes = rows[i].bytes;
		face.rate = rows[i].rate;
		face.giga = rows[i].giga;
		face.precise = rows[i].precise;
		face.range_bytes = rows[i].range;
		face.short_average = rows[i].short_average;
		print(&face, false, s, &out);
		assert_non_null(strstr(nd_str_text(&out), "send on:\n[ 0] IP"));
		if (!strstr(nd_str_text(&out), rows[i].want))
			fail_msg("%s", nd_str_text(&out));
		nd_samples_free(s);
	}
}

/* Of -d: a client's settings with every other one changed, a server's, and where the statistics begin and end. */
static const char client_settings[] =
	"sockperf: +INFO:\n"
	"\tmode = 0 \n\twith_sock_accl = 0 \n\tmsg_size = 100 \n\tmsg_size_range = 10 \n"
	"\tsec_test_duration = 5 \n\tdata_integrity = 1 \n\tpacketrate_stats_print_ratio = 7 \n"
	"\tburst_size = 3 \n\tpacketrate_stats_print_details = 1 \n\tfd_handler_type = 3 \n"
	"\tmthread_server = 0 \n\tsock_buff_size = 0 \n\tthreads_num = 1 \n\tthreads_affinity =  \n"
	"\tis_blocked = 0 \n\tis_nonblocked_send = 1 \n\tdo_warmup = 0 \n\tpre_warmup_wait = 4 \n"
	"\tis_vmarxfiltercb = 0 \n\tis_vmazcopyread = 0 \n\tmc_loop_disable = 0 \n\tmc_ttl = 9 \n"
	"\tuc_reuseaddr = 1 \n\ttcp_nodelay = 1 \n\tclient_work_with_srv_num = 2 \n"
	"\tb_server_reply_via_uc = 0 \n\tb_server_dont_reply = 0 \n\tb_server_detect_gaps = 0\n"
	"\tmps = 1800000 \n\tclient_bind_info = 127.0.0.2:33 \n\treply_every = 1 \n"
	"\tb_client_ping_pong = 1 \n\tb_no_rdtsc = 1 \n\tsender_affinity = 0,1 \n"
	"\treceiver_affinity = 1 \n\tb_stream = 0 \n\tdaemonize = 0 \n\tfeedfile_name = list \n"
	"\ttos = 8 \n\tpacket pace limit = 0\n"
	"sockperf: == version #x == \n";

static const char server_settings[] =
	"sockperf: +INFO:\n"
	"\tmode = 1 \n\twith_sock_accl = 0 \n\tmsg_size = 65507 \n\tmsg_size_range = 0 \n"
	"\tsec_test_duration = 1 \n\tdata_integrity = 0 \n\tpacketrate_stats_print_ratio = 0 \n"
	"\tburst_size = 1 \n\tpacketrate_stats_print_details = 0 \n\tfd_handler_type = 0 \n"
	"\tmthread_server = 1 \n\tsock_buff_size = 0 \n\tthreads_num = 2 \n\tthreads_affinity = 0-1 \n"
	"\tis_blocked = 1 \n\tis_nonblocked_send = 0 \n\tdo_warmup = 1 \n\tpre_warmup_wait = 0 \n"
	"\tis_vmarxfiltercb = 0 \n\tis_vmazcopyread = 0 \n\tmc_loop_disable = 1 \n\tmc_ttl = 2 \n"
	"\tuc_reuseaddr = 0 \n\ttcp_nodelay = 1 \n\tclient_work_with_srv_num = 1 \n"
	"\tb_server_reply_via_uc = 1 \n\tb_server_dont_reply = 1 \n\tb_server_detect_gaps = 1\n"
	"\tmps = 10000 \n\tclient_bind_info = 0.0.0.0:0 \n\treply_every = 100 \n"
	"\tb_client_ping_pong = 0 \n\tb_no_rdtsc = 0 \n\tsender_affinity = <empty> \n"
	"\treceiver_affinity = <empty> \n\tb_stream = 0 \n\tdaemonize = 0 \n"
	"\tfeedfile_name = <empty> \n\ttos = 0 \n\tpacket pace limit = 5\n"
	"sockperf: == version #x == \n";

static void tells_settings(void **state)
{
	static const struct {
		struct nd_sockperf face;
		const char *want;
	} rows[] = {
		{ { .mode = ND_SP_PING_PONG,
		    .debug = true,
		    .message_bytes = 100,
		    .range_bytes = 10,
		    .time_s = 5,
		    .compares = true,
		    .rows = 7,
		    .burst = 3,
		    .method = "poll",
		    .feed = "list",
		    .nonblocked = true,
		    .skips = true,
		    .dont_warm_up = true,
		    .wait_s = 4,
		    .loops = true,
		    .ttl = 9,
		    .reuseaddr = true,
		    .nodelay = true,
		    .servers = 2,
		    .client_address = "127.0.0.2",
		    .client_port = 33,
		    .reply_every = 1,
		    .no_rdtsc = true,
		    .pin = "0,1",
		    .receiver_pin = "1",
		    .tos = 8,
		    .version = "x" },
		  client_settings },
		{ { .mode = ND_SP_SERVER,
		    .debug = true,
		    .message_bytes = 14,
		    .time_s = 1,
		    .burst = 1,
		    .method = "recvfrom",
		    .has_threads = true,
		    .threads = 2,
		    .pin = "0-1",
		    .ttl = 2,
		    .nodelay = true,
		    .servers = 1,
		    .answers_sender = true,
		    .dont_reply = true,
		    .gaps = true,
		    .reply_every = 1,
		    .pace = 5,
		    .version = "x" },
		  server_settings },
	};

	const char *address = "IP = 127.0.0.1       PORT = 11111 # UDP";
	const struct nd_writer *w = nd_writer_find("sockperf");
	struct nd_sockperf whole = face_of(ND_SP_PING_PONG, &address);
	struct nd_samples *s = samples();
	nd_auto_str text = { 0 };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_sockperf face = rows[i].face;
		const struct nd_report_cfg cfg = { .face = &face,
						   .face_table = &nd_sockperf_table };
		nd_auto_str out = { 0 };

		w->begin(&cfg, &out);
		assert_string_equal(nd_str_text(&out), rows[i].want);
	}
	whole.debug = true;
	print(&whole, false, s, &text);
	assert_non_null(strstr(nd_str_text(&text),
			       "Server No: 0\nsockperf: testStart: 0.400000000 sec testEnd: "
			       "0.950010000 sec\nsockperf: [Valid Duration]"));
	nd_samples_free(s);
}

/* A log that cannot be written is told before the test. */
static void looks_at_its_log(void **state)
{
	static const struct {
		const char *log, *want;
	} rows[] = {
		{ "/nowhere/log", "--full-log: /nowhere/log: No such file or directory" },
		{ "/", "--full-log: '/' is a folder" },
		{ "/dev/null", NULL },
		{ NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_sockperf face = { .log = rows[i].log };
		const struct nd_report_cfg cfg = { .face = &face,
						   .face_table = &nd_sockperf_table };
		struct nd_err err = { 0 };

		assert_int_equal(nd_report_check(&cfg, &err) < 0, rows[i].want != NULL);
		if (rows[i].want)
			assert_string_equal(err.text, rows[i].want);
	}
}

/* What a server says before anybody comes, and at the end; the socket is told where buffers were asked for. */
static void server_begins(void **state)
{
	static const char *address[] = { "A", "B", "C" };

	static const struct {
		struct nd_sockperf face;
		const char *want;
	} rows[] = {
		{ { .method = "recvfrom", .addresses = { address, 1 }, .threads = 4, .halves = 1 },
		  "sockperf: == version #x == \n"
		  "sockperf: [SERVER] listen on:\n[ 0] A\n"
		  "sockperf: Warmup stage (sending a few dummy messages)...\n"
		  "sockperf: [tid 1] using recvfrom() to block on socket(s)\n" },
		{ { .method = "poll",
		    .addresses = { address, 3 },
		    .threads = 2,
		    .halves = 2,
		    .dont_warm_up = true },
		  "sockperf: == version #x == \n"
		  "sockperf: Running 2 threads to manage 3 sockets\n"
		  "sockperf: [SERVER] listen on:\n[ 0] A\n[ 1] B\n"
		  "sockperf: [tid 1] using poll() to block on socket(s)\n"
		  "sockperf: [SERVER] listen on:\n[ 0] C\n"
		  "sockperf: [tid 2] using poll() to block on socket(s)\n" },
		{ { .addresses = { address, 1 },
		    .dont_warm_up = true,
		    .daemonize = true,
		    .halves = 1,
		    .buffer_bytes = 20001,
		    .pace = 7 },
		  "sockperf: Running as daemon\n"
		  "sockperf: Socket buffers sizes of fd 5: RX: 40000 Byte, TX: 40002 Byte\n"
		  "sockperf: WARNING: Failed setting receive or send socket buffer size to 20001 bytes "
		  "(check 'sysctl net.core.rmem_max' value)\n"
		  "sockperf: == version #x == \n"
		  "sockperf: succeed to set sock-SO_MAX_PACING_RATE\n"
		  "sockperf: [SERVER] listen on:\n[ 0] A\n"
		  "sockperf: [tid 1] using recvfrom() to block on socket(s)\n" },
	};
	const struct nd_progress_event socket = {
		.what = ND_PROG_SOCKET, .fd = 5, .rcvbuf_bytes = 40000, .sndbuf_bytes = 40002
	};
	static const struct nd_progress_event before[] = {
		{ .what = ND_PROG_READY },
		{ .what = ND_PROG_PHASE, .text = "warmup" },
	};
	const struct nd_progress_event ready = { .what = ND_PROG_PHASE, .text = "measure" };
	const struct nd_writer *w = nd_writer_find("sockperf");

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_sockperf face = rows[i].face;
		uint64_t kept[4] = { 0 };
		const struct nd_report_cfg cfg = { .face = &face,
						   .face_table = &nd_sockperf_table,
						   .state = kept };
		size_t length;
		nd_auto_str out = { 0 };

		face.version = "x";
		w->begin(&cfg, &out);
		if (face.buffer_bytes)
			w->progress(&cfg, &socket, &out);
		length = out.len;
		for (size_t k = 0; k < ND_COUNTOF(before); k++)
			w->progress(&cfg, &before[k], &out);
		for (uint64_t k = 1; k < face.halves; k++)
			w->progress(&cfg, &ready, &out);
		/* ports that listen do not answer yet; of a daemon nobody hears any more when they do */
		assert_int_equal(out.len > length, face.daemonize);
		for (unsigned k = 0; k < 2; k++) /* a second run says nothing more */
			w->progress(&cfg, &ready, &out);
		assert_string_equal(nd_str_text(&out), rows[i].want);
	}
}

/* Lines that come while a test runs. */
static void tells_what_it_sees(void **state)
{
	static const uint8_t v4[ND_SENDER_KEY] = { 127, 0, 0, 1, [16] = 0x84, [17] = 4 };
	static const uint8_t mapped[ND_SENDER_KEY] = { [10] = 0xff, [11] = 0xff, 10, 0, 0,
						       1,           0,           80, 1 };
	static const uint8_t v6[ND_SENDER_KEY] = { [0] = 0xfd, [15] = 2, [17] = 9, [18] = 1 };

	static const struct {
		uint64_t rows;
		struct nd_diary_entry e;
		const uint8_t *key;
		const char *want;
	} rows[] = {
		{ 100,
		  { ND_DIARY_COUNT, .sum = 3000, .since_ns = 135400000 },
		  NULL,
		  "    -- Interval --     -- Message Rate --  -- Total Message Count --\n"
		  "     135400 [usec]         22157 [msg/s]             3000 [msg]\n" },
		{ 100,
		  { ND_DIARY_COUNT, .sum = 3000 },
		  NULL,
		  "          0 [usec]             - [msg/s]             3000 [msg]\n" },
		{ 0, { ND_DIARY_COUNT, .sum = 3000 }, NULL, "." },
		{ 0, { ND_DIARY_COUNT, .sum = 3000 }, NULL, "." },
		{ 0,
		  { .what = ND_DIARY_SESSION },
		  v4,
		  "\nsockperf: Starting new session: [127.0.0.1:33796]      \n" },
		{ 0,
		  { ND_DIARY_GAP, .sum = 19992, .from = 10, .to = 19999 },
		  v4,
		  "sockperf: [127.0.0.1:33796]       Total Dropped/OOO: 19992       "
		  "GAP:(19990) [10 - 19999]\n" },
		{ 0,
		  { ND_DIARY_GAP, .sum = 2, .from = 3, .to = 4 },
		  mapped,
		  "sockperf: [10.0.0.1:80]           Total Dropped/OOO: 2           "
		  "GAP:(2)     [3 - 4]\n" },
		{ 0,
		  { ND_DIARY_END, .sum = 2 },
		  v6,
		  "sockperf: [[fd00::2]:9]           Summary: Total Dropped/OOO: 2\n" },
	};

	const struct nd_writer *w = nd_writer_find("sockperf");
	uint64_t kept[4] = { 0 };

	(void)state;
	assert_true(w->state_size <= sizeof(kept));
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_sockperf face = { .mode = ND_SP_SERVER, .rows = rows[i].rows };
		const struct nd_report_cfg cfg = { .face = &face,
						   .face_table = &nd_sockperf_table,
						   .state = kept };
		struct nd_diary_entry e = rows[i].e;
		const struct nd_progress_event ev = { .what = ND_PROG_SEEN, .seen = &e };
		nd_auto_str out = { 0 };

		if (rows[i].key)
			memcpy(e.key, rows[i].key, sizeof(e.key));
		w->progress(&cfg, &ev, &out);
		assert_string_equal(nd_str_text(&out), rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_laid_out),
		cmocka_unit_test(has_variants),
		cmocka_unit_test(sends),
		cmocka_unit_test(server_begins),
		cmocka_unit_test(tells_what_it_sees),
		cmocka_unit_test(tells_settings),
		cmocka_unit_test(looks_at_its_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
