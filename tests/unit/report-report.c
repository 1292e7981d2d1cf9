/* SPDX-License-Identifier: MIT */
/* Where a report goes: at once to a descriptor, whole to a file; and what if it cannot. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "report/report.h"
#include "result-fixture.h"

static void make(struct nd_result *r)
{
	struct nd_result_ask ask;

	fix_make(&fix_tcp, r);
	fix_ask(&fix_tcp, &ask);
	assert_int_equal(nd_result_join(r, &ask, NULL), 0);
	assert_int_equal(nd_result_warn(r), 0);
}

static struct nd_progress_event interval_of(const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;

	return (struct nd_progress_event){ .what = ND_PROG_INTERVAL,
					   .interval = d->intervals.v,
					   .from_receiver = true };
}

static void test_writers(void **state)
{
	struct nd_report_cfg cfg = { .format = "tape", .out_fd = -1 };
	struct nd_report *report = NULL;
	struct nd_err err = { 0 };
	const char *help = NULL;

	(void)state;
	assert_string_equal(nd_writer_names(0, &help), "text");
	assert_non_null(help);
	assert_ptr_equal(nd_writer_find("json"), nd_writer_at(1));
	assert_null(nd_writer_find("tape"));
	assert_null(nd_writer_names(99, NULL));
	assert_int_equal(nd_report_open(&cfg, &report, &err), -EINVAL);
	assert_string_equal(err.text, "there is no report format 'tape'");
	assert_null(report);
	nd_report_free(NULL);
}

/* Each interim line is there before the next is told. */
static void test_at_once(void **state)
{
	struct nd_report_cfg cfg = { .format = "text" };
	struct nd_progress_event ev;
	struct nd_report *report = NULL;
	struct nd_err err = { 0 };
	struct nd_result r;
	char text[256];
	int fd[2];
	ssize_t n;

	(void)state;
	make(&r);
	ev = interval_of(&r);
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	cfg.out_fd = fd[1];
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	assert_int_equal(nd_report_progress(report, &ev), 0);
	n = read(fd[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_string_equal(text, "[  1.00 s] 9.412 Gbit/s   offered 9.412 Gbit/s   0 retransmits"
				  "   warm-up\n");
	nd_report_free(report);
	assert_int_equal(close(fd[0]) | close(fd[1]), 0);
	nd_result_done(&r);
}

struct reader {
	int fd;
	size_t bytes;
};

static void *read_slowly(void *user)
{
	struct reader *reader = user;
	char text[97];
	ssize_t n;

	while ((n = read(reader->fd, text, sizeof(text))) > 0)
		reader->bytes += (size_t)n;
	return NULL;
}

/* A small pipe that somebody made non-blocking takes all of it, in pieces. */
static void test_short_writes(void **state)
{
	struct nd_report_cfg cfg = { .format = "json" };
	struct nd_report *report = NULL;
	struct reader reader = { 0 };
	nd_auto_str whole = { 0 };
	struct nd_err err = { 0 };
	struct nd_result r;
	pthread_t thread;
	int fd[2];

	(void)state;
	make(&r);
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_true(fcntl(fd[1], F_SETPIPE_SZ, 4096) > 0);
	assert_int_equal(nd_nonblock(fd[1], true, &err), 0);
	reader.fd = fd[0];
	assert_int_equal(pthread_create(&thread, NULL, read_slowly, &reader), 0);
	cfg.out_fd = fd[1];
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	assert_int_equal(nd_report_result(report, &r, &err), 0);
	nd_report_free(report);
	assert_int_equal(close(fd[1]), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	nd_writer_find("json")->result(&cfg, &r, &whole);
	assert_int_equal(reader.bytes, whole.len);
	assert_true(whole.len > 4096);
	assert_int_equal(close(fd[0]), 0);
	nd_result_done(&r);
}

static void test_reader_gone(void **state)
{
	struct nd_report_cfg cfg = { .format = "text" };
	struct nd_progress_event ev;
	struct nd_report *report = NULL;
	struct nd_err err = { 0 };
	struct nd_result r;
	int fd[2];

	(void)state;
	make(&r);
	ev = interval_of(&r);
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	cfg.out_fd = fd[1];
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	assert_int_equal(close(fd[0]), 0);
	assert_int_equal(nd_report_progress(report, &ev), -EPIPE);
	assert_int_equal(nd_report_result(report, &r, &err), -EPIPE);
	assert_non_null(strstr(err.text, "writing the report: "));
	nd_report_free(report);
	assert_int_equal(close(fd[1]), 0);
	nd_result_done(&r);
}

static size_t lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* The file is whole at any time: the old report, then the new one; the last result stays. */
static void test_file(void **state)
{
	char folder[] = "/tmp/netdyno-report.XXXXXX";
	nd_auto_str path = { 0 };
	struct nd_report_cfg cfg = { .format = "csv", .out_fd = -1 };
	struct nd_progress_event ev;
	struct nd_report *report = NULL;
	struct nd_err err = { 0 };
	struct nd_result r;
	char *text = NULL;
	size_t n, i;

	(void)state;
	make(&r);
	ev = interval_of(&r);
	assert_non_null(mkdtemp(folder));
	nd_str_addf(&path, "%s/report.csv", folder);
	cfg.file = nd_str_text(&path);
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	assert_int_equal(nd_report_progress(report, &ev), 0);
	assert_int_equal(access(cfg.file, F_OK), -1); /* nothing before the end */
	for (i = 0; i < 2; i++) {
		assert_int_equal(nd_report_result(report, &r, &err), 0);
		assert_int_equal(nd_read_file(cfg.file, 1 << 20, &text, &n, &err), 0);
		assert_int_equal(lines(text), 1 + FIX_INTERVALS + 1);
		assert_int_equal(strncmp(text, "direction,row,", 14), 0);
		nd_free_p(&text);
	}
	nd_report_free(report);
	assert_int_equal(unlink(cfg.file), 0);
	assert_int_equal(rmdir(folder), 0); /* no temporary left */
	nd_result_done(&r);
}

static void test_file_impossible(void **state)
{
	static const char *const files[] = { "/proc/no/such/folder/report.xml", "/" };
	static const int codes[] = { -ENOENT, -EISDIR };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(files); i++) {
		struct nd_report_cfg cfg = { .format = "xml", .file = files[i], .out_fd = -1 };
		struct nd_report *report = NULL;
		struct nd_err err = { 0 };

		/* told before anything is measured */
		assert_int_equal(nd_report_open(&cfg, &report, &err), codes[i]);
		assert_null(report);
		assert_memory_equal(err.text, "-O: ", 4);
	}
}

/* clang-format off */
static const struct {
	const char *format, *text;
	bool lines;
} failures[] = {
	{ "text", "", false }, /* people read it on stderr */
	{ "csv", "", false },
	{ "json", "{\"event\":\"failed\",\"tool\":\"netdyno\",\"version\":\"" ND_VERSION "\",\"error\":"
	          "{\"code\":-111,\"sentence\":\"connect to 'x<y': refused\"}}\n", true },
	{ "xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<netdyno>\n  <tool>netdyno</tool>\n"
	         "  <version>" ND_VERSION "</version>\n  <error>\n    <code>-111</code>\n"
	         "    <sentence>connect to 'x&lt;y': refused</sentence>\n  </error>\n</netdyno>\n", false },
};

/* clang-format on */

static void test_failed(void **state)
{
	const struct nd_err failure = { -111, "connect to 'x<y': refused" };
	nd_auto_str text = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(failures); i++) {
		const struct nd_writer *w = nd_writer_find(failures[i].format);
		struct nd_report_cfg cfg = { .json_lines = failures[i].lines };

		nd_str_reset(&text);
		assert_non_null(w);
		if (w->failed)
			w->failed(&cfg, &failure, &text);
		if (failures[i].format[0] == 'c' || failures[i].format[0] == 't')
			assert_null(w->failed);
		assert_string_equal(nd_str_text(&text), failures[i].text);
	}
}

static void test_quiet(void **state)
{
	char written[] = "/tmp/netdyno-quiet.XXXXXX";
	nd_auto_fd int fd = mkstemp(written);
	struct nd_report_cfg cfg = { .format = "text", .quiet = true, .out_fd = fd };
	struct nd_progress_event ev, warning = { .what = ND_PROG_WARNING, .text = "slow\x1b[0m" };
	struct nd_report *report = NULL;
	nd_auto_free char *text = NULL;
	struct nd_err err = { 0 };
	struct nd_result r;
	size_t n = 0;

	(void)state;
	make(&r);
	ev = interval_of(&r);
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	assert_int_equal(nd_report_progress(report, &ev), 0);
	assert_int_equal(nd_report_progress(report, &warning), 0);
	nd_report_free(report);
	assert_int_equal(nd_read_file(written, 1 << 20, &text, &n, &err), 0);
	assert_string_equal(text, "warning: slow?[0m\n");
	assert_int_equal(unlink(written), 0);
	nd_result_done(&r);
}

/* The columns of a report, "a,b,c". */
static void csv_columns(bool verbose, struct nd_str *ret)
{
	const struct nd_writer *w = nd_writer_find("csv");

	w->begin(&(struct nd_report_cfg){ .verbose = verbose }, ret);
	assert_true(nd_str_ok(ret));
}

static bool has_column(const struct nd_str *names, const char *name, size_t n)
{
	const char *p = nd_str_text(names);

	for (; *p; p += strcspn(p, ",\n") + 1)
		if (strcspn(p, ",\n") == n && !memcmp(p, name, n))
			return true;
	return false;
}

/* What the text report shows; -v adds to it and takes nothing away. */
static void test_csv_columns(void **state)
{
	static const char *const shown[] = { "goodput_bps",
					     "tcp_window_retransmits",
					     "tcp_rtt_samples",
					     "loss_lost_ratio",
					     "warnings",
					     "ends_apart_us",
					     "client_machine_softirq_cores",
					     "server_machine_busiest_ratio" };
	static const char *const hidden[] = { "client_host_kernel", "server_part_window_tx_calls",
					      "client_machine_cycles", "workload", "schema" };
	nd_auto_str few = { 0 };
	nd_auto_str all = { 0 };
	const char *p;
	size_t i;

	(void)state;
	csv_columns(false, &few);
	csv_columns(true, &all);
	for (i = 0; i < ND_COUNTOF(shown); i++)
		if (!has_column(&few, shown[i], strlen(shown[i])))
			fail_msg("%s is missing", shown[i]);
	for (i = 0; i < ND_COUNTOF(hidden); i++)
		if (has_column(&few, hidden[i], strlen(hidden[i])) ||
		    !has_column(&all, hidden[i], strlen(hidden[i])))
			fail_msg("%s is in the wrong place", hidden[i]);
	for (p = nd_str_text(&few); *p; p += strcspn(p, ",\n") + 1)
		if (!has_column(&all, p, strcspn(p, ",\n")))
			fail_msg("-v lacks %.*s", (int)strcspn(p, ",\n"), p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writers),      cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_short_writes), cmocka_unit_test(test_reader_gone),
		cmocka_unit_test(test_file),         cmocka_unit_test(test_file_impossible),
		cmocka_unit_test(test_failed),       cmocka_unit_test(test_csv_columns),
		cmocka_unit_test(test_quiet),
	};
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (sigaction(SIGPIPE, &ignore, NULL) < 0) /* as main.c does */
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
