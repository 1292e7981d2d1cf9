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

enum bend { AS_IT_IS, DROPPED, UNKNOWN, HOSTILE, SEARCHED, GROUPED };

static const struct fix fix_packets = { .verb = "packets",
					.load = "stream",
					.transport = "udp",
					.flows = 2,
					.message_bytes = 1472,
					.rate_bps = 2000000000,
					.datagram = true,
					.lose_every = 40 };

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
	{ "packets", &fix_packets,   SEARCHED, false, false },
	{ "group",   &fix_bidir,     GROUPED,  false, false },
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

/* The last run of a search, with what both ends counted of packets. */
static void search(struct nd_result *r)
{
	static struct nd_trial trials[] = {
		{ 1, 2, (double)NAN, 900e3, 170e3, 1980000, 1606000, 0.8111, false, true, "loss",
		  "search" },
		{ 2, 2, 169830, 169830, 169830, 373626, 0, 0, true, true, NULL, "search" },
		{ 3, 2, 240000, 169830, 169830, 373626, 0, 0, true, false, "sender", "again" },
		{ 4, 2, 180000, 180000, 170100, 396000, 0, 0, false, true, "queue", "search" },
		{ 5, 8, 169830, 169829, 169820, 1392606, 78, 5.567e-5, true, true, NULL,
		  "re-test" },
	};
	static struct nd_search found = { .bound_ratio = 0.001,
					  .trial_s = 2,
					  .found_per_s = 169830,
					  .low_per_s = 169300,
					  .passed_per_s = 169830,
					  .failed_per_s = 171200,
					  .retests = 2,
					  .retests_passed = 2,
					  .limit = "loss",
					  .confidence = "high",
					  .trials = { trials, ND_COUNTOF(trials) } };
	struct nd_part *tx = r->client->parts.v, *rx = r->server->parts.v;

	r->search = &found;
	tx->window.tx_stacked = tx->window.tx_messages;
	rx->window.rx_stacked = rx->window.rx_messages;
	tx->run.tx_stacked = tx->run.tx_messages;
	tx->send_calls = 26500;
	tx->gap_p50_us = 372;
	tx->gap_p99_us = 1540;
	tx->gap_max_us = 21000;
	tx->burst_p50 = tx->burst_p99 = tx->burst_max = 64;
	tx->pacer = "schedule in user space";
	r->client->machine.window_udp_out_datagrams = 1698370;
	r->server->machine.window_udp_in_datagrams = 1655920;
	r->client->machine.window_nic = r->server->machine.window_nic = "eth0";
	r->client->machine.window_nic_tx_packets = 1698400;
	r->server->machine.window_nic_rx_packets = 1698300;
	rx->run.rx_dropped = 46000;
}

/* One of three, of which one has failed, and one has a name that wants to steer the terminal. */
static void group(struct nd_result *r)
{
	static const char *const names[] = { "alpha 192.0.2.1", "\x1b[2Jbeta 192.0.2.2",
					     "2001:db8::3" };
	static struct nd_group g;
	static struct nd_group_member m[6];

	nd_table_unknown(&nd_group_table, &g);
	for (size_t i = 0; i < ND_COUNTOF(m); i++) {
		nd_table_unknown(&nd_group_member_table, &m[i]);
		m[i].number = i % 3 + 1;
		m[i].direction = i < 3 ? "client to server" : "server to client";
		m[i].client = names[i % 3];
		m[i].complete = i % 3 < 2;
		if (!m[i].complete) {
			m[i].error = "peer lost: connection closed";
			continue;
		}
		m[i].flows = 4;
		m[i].goodput_bps = 1e9 * (double)(i + 1);
		m[i].offered_bps = 1.01e9 * (double)(i + 1);
		m[i].received_bytes = 1250000000 * (i + 1);
		m[i].window_start_s = 1 + 0.001 * (double)i;
		m[i].window_end_s = 11 + 0.001 * (double)i;
		m[i].first_ms = 0.2 + (double)i;
		m[i].last_ms = 0.9 + (double)i;
	}
	g.name = "lab";
	g.expected = 3;
	g.complete = 2;
	g.clocks_within_us = 42;
	g.partial = true;
	g.partial_reason = "group 'lab': 2 of 3 clients ran to the end";
	g.members = (struct nd_list){ m, ND_COUNTOF(m) };
	assert_int_equal(nd_group_sum(&g, &r->arena), 0);
	r->group = &g;
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
	if (cases[i].bend == SEARCHED)
		search(r);
	if (cases[i].bend == GROUPED)
		group(r);
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
