/* SPDX-License-Identifier: MIT */
/*
 * Every writer against committed reports of fixed runs. NETDYNO_GOLDEN=update rewrites them: read
 * the difference before it is committed.
 */
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "report/report.h"
#include "result-fixture.h"

#define FILE_MAX (4u << 20)

enum bend { AS_IT_IS, DROPPED, UNKNOWN, HOSTILE };

/* clang-format off */
static const struct {
	const char *name;
	const struct fix *fix;
	enum bend bend;
	bool verbose, text_only;
} cases[] = {
	{ "tcp",     &fix_tcp,       AS_IT_IS, false, false },
	{ "verbose", &fix_tcp,       AS_IT_IS, true,  true },
	{ "bidir",   &fix_bidir,     AS_IT_IS, false, false },
	{ "udp",     &fix_udp,       DROPPED,  false, false },
	{ "rr",      &fix_rr,        AS_IT_IS, false, false },
	{ "partial", &fix_lost_peer, AS_IT_IS, false, false },
	{ "unknown", &fix_udp,       UNKNOWN,  true,  false },
	{ "hostile", &fix_tcp,       HOSTILE,  true,  false },
};

static const struct {
	const char *format, *ending;
	bool lines;
} formats[] = {
	{ "text", "txt",   false },
	{ "json", "json",  false },
	{ "json", "jsonl", true },
	{ "xml",  "xml",   false },
	{ "csv",  "csv",   false },
};

/* clang-format on */

static void drop_some(struct nd_result *r)
{
	((struct nd_part *)r->client->parts.v)->run.tx_refused = 12345;
	r->server->machine.udp_rcvbuf_errors = 24000;
	r->server->machine.nic_rx_dropped = 300;
	r->server->machine.softnet_dropped = 120;
	r->client->machine.qdisc_drops = ND_UNKNOWN;
	((struct nd_part *)r->server->parts.v)->run.rx_reordered = 17;
}

/* Both ends are there and know nothing. */
static void forget(struct nd_result *r)
{
	nd_table_unknown(&nd_side_table, r->client);
	nd_table_unknown(&nd_side_table, r->server);
	nd_table_unknown(&nd_result_table, r);
	r->client = NULL;
	r->plan = NULL;
	r->server = nd_arena_alloc(&r->arena, 1, sizeof(*r->server));
	assert_non_null(r->server);
	nd_table_unknown(&nd_side_table, r->server);
}

/* A peer's text wants to steer the terminal, leave its element, and is no UTF-8. */
static void attack(struct nd_result *r)
{
	r->server->host.hostname = "<b>&\"\x1b[2J\xff\xc2\x9b\n]]>";
	r->server->host.kernel = "one,\"two\"\r\nthree";
	r->server->address = "\x1b]0;x\a";
	((struct nd_flow_row *)((struct nd_part *)r->server->parts.v)->flows.v)->error =
		"\x7f\t<!--";
}

static void make(size_t i, struct nd_result *r)
{
	struct nd_result_ask ask;

	fix_make(cases[i].fix, r);
	fix_ask(cases[i].fix, &ask);
	if (cases[i].bend == DROPPED)
		drop_some(r);
	if (cases[i].bend == HOSTILE)
		attack(r);
	if (cases[i].bend == UNKNOWN) {
		forget(r);
		ask.workload[0].flows = ask.workload[0].message_bytes = ND_UNKNOWN;
		ask.workload[0].load = ask.workload[0].transport = NULL;
		ask.window_s = (double)NAN;
	}
	assert_int_equal(nd_result_join(r, &ask, NULL), 0);
	assert_int_equal(nd_result_warn(r), 0);
}

/* What a session tells on the way: the warm-up, an interval, one without the receiver's count. */
static void tell(struct nd_report *report, const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;
	const struct nd_interval_joint *row = d->intervals.v;
	struct nd_progress_event ev = { .what = ND_PROG_CONNECTED, .text = "10.0.0.2 port 7575" };
	struct nd_interval_joint alone;
	uint64_t i;

	assert_int_equal(nd_report_progress(report, &ev), 0);
	ev = (struct nd_progress_event){ .what = ND_PROG_PHASE, .text = "warmup" };
	assert_int_equal(nd_report_progress(report, &ev), 0);
	for (i = 0; i < d->intervals.n && i < 3; i++) {
		alone = row[i];
		if (i == 2) {
			alone.goodput_bps = (double)NAN;
			alone.received_bytes = ND_UNKNOWN;
		}
		ev = (struct nd_progress_event){ .what = ND_PROG_INTERVAL,
						 .direction = r->directions.n > 1 ? d->label : NULL,
						 .interval = &alone,
						 .from_receiver = i < 2,
						 .datagram = d->datagram,
						 .transactions = d->transactional };
		assert_int_equal(nd_report_progress(report, &ev), 0);
	}
	if (d->intervals.n == FIX_INTERVALS) { /* text is silent about an empty drain */
		ev.interval = &row[FIX_INTERVALS - 1];
		assert_int_equal(nd_report_progress(report, &ev), 0);
	}
}

static void check_columns(const char *name, const char *text)
{
	size_t n = 0;

	for (; *text; text++) {
		n = *text == '\n' ? 0 : n + 1;
		if (n > 100 || *text == '\x1b')
			fail_msg("%s: line too long, or escape character, before: %.60s", name,
				 text);
	}
}

static void compare(const char *path, const char *text, size_t len)
{
	const char *mode = getenv("NETDYNO_GOLDEN"); /* NOLINT(concurrency-mt-unsafe) */
	nd_auto_free char *golden = NULL;
	struct nd_err err = { 0 };
	size_t n = 0;

	if (mode && !strcmp(mode, "update")) {
		assert_int_equal(nd_write_file(path, text, len, &err), 0);
		return;
	}
	if (nd_read_file(path, FILE_MAX, &golden, &n, &err) < 0)
		fail_msg("%s", err.text);
	if (n != len || memcmp(golden, text, n) != 0)
		fail_msg("%s differs; is now:\n%s", path, text);
}

static void render(size_t i, size_t k)
{
	char written[] = "/tmp/netdyno-golden.XXXXXX", path[PATH_MAX];
	nd_auto_fd int fd = mkstemp(written);
	struct nd_report_cfg cfg = { .format = formats[k].format,
				     .json_lines = formats[k].lines,
				     .verbose = cases[i].verbose,
				     .out_fd = fd };
	nd_auto_free char *text = NULL;
	struct nd_report *report = NULL;
	struct nd_err err = { 0 };
	struct nd_result r;
	size_t n = 0;

	assert_true(fd >= 0);
	make(i, &r);
	assert_int_equal(nd_report_open(&cfg, &report, &err), 0);
	tell(report, &r);
	assert_int_equal(nd_report_result(report, &r, &err), 0);
	nd_report_free(report);
	nd_result_done(&r);
	assert_int_equal(nd_read_file(written, FILE_MAX, &text, &n, &err), 0);
	assert_int_equal(unlink(written), 0);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "18446744073709551615"));
	if (!strcmp(formats[k].format, "text"))
		check_columns(cases[i].name, text);
	(void)snprintf(path, sizeof(path), "tests/golden/report-%s.%s", cases[i].name,
		       formats[k].ending);
	compare(path, text, n);
}

static void test_reports(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < ND_COUNTOF(cases); i++)
		for (k = 0; k < ND_COUNTOF(formats); k++)
			if (k == 0 || !cases[i].text_only)
				render(i, k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
