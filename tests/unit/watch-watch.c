/* SPDX-License-Identifier: MIT */
/* The monitor: figures from counts, idle ends left out, layouts, and counters that begin anew. */
#include <errno.h>
#include <math.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "os-tree.h"
#include "watch/int.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * fmax(1.0, fabs(b)))

/* One interval of one interface. */
struct moment {
	struct nd_nic nic;
	struct nd_os_sample diff;
	struct nd_os_detail detail;
	struct nd_watch_row row;
	struct nd_watch_view view;
};

static void make(struct moment *m, double seconds, uint64_t rx_packets, uint64_t drops)
{
	memset(m, 0, sizeof(*m));
	memcpy(m->nic.name, "eth0", 5);
	m->nic.ifindex = 7;
	m->nic.rx_packets = rx_packets;
	m->nic.tx_packets = rx_packets / 2;
	m->nic.rx_bytes = rx_packets * 1024;
	m->nic.tx_bytes = rx_packets * 512;
	m->nic.rx_dropped = drops;
	m->row = (struct nd_watch_row){
		.nic = &m->nic, .known = true, .drops = drops, .speed_mbps = 1000
	};
	m->view = (struct nd_watch_view){ .seconds = seconds,
					  .number = 1,
					  .diff = &m->diff,
					  .detail = &m->detail,
					  .row = &m->row,
					  .rows = 1 };
	m->row.util_percent = nd_watch_util(nd_watch_rate(&m->view, m->nic.rx_bytes),
					    nd_watch_rate(&m->view, m->nic.tx_bytes), 1000);
}

static void add(struct nd_watch_all *all, double seconds, uint64_t packets, uint64_t drops)
{
	struct moment m;

	make(&m, seconds, packets, drops);
	assert_int_equal(nd_watch_add(all, &m.view), 0);
}

static void test_idle_ends_are_left_out(void **state)
{
	struct nd_watch_all all = { 0 };
	double v[4][ND_WATCH_METRICS];

	(void)state;
	add(&all, 1.0, 0, 0);
	add(&all, 1.0, 100, 0);
	add(&all, 1.0, 0, 0); /* between: counts */
	add(&all, 2.0, 500, 3);
	add(&all, 1.0, 0, 0);
	add(&all, 1.0, 0, 0);
	assert_true(nd_watch_values(&all.past[0], v));
	NEAR(all.past[0].seconds, 4.0);
	NEAR(all.past[0].all_seconds, 7.0);
	NEAR(v[0][ND_WATCH_RX_PPS], 150.0);
	NEAR(v[1][ND_WATCH_RX_PPS], 0.0);
	NEAR(v[2][ND_WATCH_RX_PPS], 250.0);
	NEAR(v[3][ND_WATCH_RX_PPS], 250.0);
	NEAR(v[0][ND_WATCH_DROPS], 0.75);
	NEAR(v[2][ND_WATCH_UTIL], 250.0 * 1024 * 8 * 100 / 1e9);
	nd_watch_all_done(&all);
}

static void test_made_anew_under_its_name(void **state)
{
	struct nd_watch_all all = { 0 };
	struct moment m;

	(void)state;
	add(&all, 1.0, 100, 0);
	make(&m, 1.0, 300, 0);
	m.row.gone = true;
	assert_int_equal(nd_watch_add(&all, &m.view), 0); /* nothing is known of it */
	make(&m, 1.0, 300, 0);
	m.nic.ifindex = 8;
	assert_int_equal(nd_watch_add(&all, &m.view), 0);
	assert_int_equal(all.n, 1);
	NEAR(all.past[0].seconds, 2.0);
	NEAR(all.past[0].total[ND_WATCH_RX_PPS], 400.0);
	nd_watch_all_done(&all);
}

static void test_percentile(void **state)
{
	struct nd_watch_all all = { 0 };
	double v[4][ND_WATCH_METRICS];
	unsigned i;

	(void)state;
	assert_false(nd_watch_values(&(struct nd_watch_past){ .n = 0 }, v));
	for (i = 100; i >= 1; i--)
		add(&all, 1.0, i, 0);
	assert_true(nd_watch_values(&all.past[0], v));
	NEAR(v[3][ND_WATCH_RX_PPS], 95.0);
	NEAR(v[1][ND_WATCH_RX_PPS], 1.0);
	NEAR(v[0][ND_WATCH_RX_PPS], 50.5);
	nd_watch_all_done(&all);
}

/* A long watch keeps every second value, then every fourth: the totals stay exact. */
static void test_memory_is_bounded(void **state)
{
	struct nd_watch_all all = { 0 };
	double v[4][ND_WATCH_METRICS];
	unsigned i;

	(void)state;
	for (i = 1; i <= 50000; i++)
		add(&all, 1.0, i, 0);
	assert_true(all.past[0].n <= 16384);
	assert_int_equal(all.past[0].stride, 4);
	assert_true(nd_watch_values(&all.past[0], v));
	NEAR(v[0][ND_WATCH_RX_PPS], 25000.5);
	NEAR(v[2][ND_WATCH_RX_PPS], 50000.0);
	assert_true(fabs(v[3][ND_WATCH_RX_PPS] - 47500) < 50);
	nd_watch_all_done(&all);
}

static void test_unknown_is_no_rate(void **state)
{
	struct nd_watch_all all = { 0 };
	const struct nd_watch_ask ask = { .interval_ns = ND_NS_PER_S };
	nd_auto_str text = { 0 }, sar = { 0 };
	struct moment m;

	(void)state;
	make(&m, 1.0, ND_UNKNOWN, 0);
	m.row.known = false;
	assert_int_equal(nd_watch_add(&all, &m.view), 0);
	NEAR(all.past[0].all_seconds, 0.0);
	nd_watch_text.view(&ask, &m.view, &all, &text);
	assert_non_null(strstr(nd_str_text(&text), "counters began anew"));
	nd_watch_sar.view(&ask, &m.view, &all, &sar);
	assert_null(strstr(nd_str_text(&sar), "eth0"));
	nd_watch_sar.end(&ask, &all, &sar);
	assert_null(strstr(nd_str_text(&sar), "eth0"));
	assert_true(isnan(nd_watch_rate(&m.view, ND_UNKNOWN)));
	assert_true(isnan(nd_watch_util(1, 1, ND_UNKNOWN)));
	assert_int_equal(nd_watch_sum(ND_UNKNOWN, ND_UNKNOWN), ND_UNKNOWN);
	assert_int_equal(nd_watch_sum(ND_UNKNOWN, 4), 4);
	nd_watch_all_done(&all);
}

static const char sar_text[] =
	"Linux 6.1.0 (host) \t01/01/70 \t_x86_64_\t(4 CPU)\n"
	"\n"
	"TTTTTTTT        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  "
	"rxmcst/s   %ifutil\n"
	"TTTTTTTT         eth0    500.00    250.00    500.00    250.00      0.00      0.00      "
	"1.50      0.41\n"
	"\n"
	"Average:        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  "
	"rxmcst/s   %ifutil\n"
	"Average:         eth0    500.00    250.00    500.00    250.00      0.00      0.00      "
	"1.50      0.41\n";

static void test_sar_layout(void **state)
{
	const struct nd_watch_head h = { .hostname = "host",
					 .kernel = "6.1.0",
					 .machine = "x86_64",
					 .cpus = 4,
					 .started = 43200 };
	const struct nd_watch_ask ask = { .interval_ns = ND_NS_PER_S, .sar = true };
	struct nd_watch_all all = { 0 };
	nd_auto_str out = { 0 };
	struct moment m;
	size_t i, n = 0;
	char *p;

	(void)state;
	make(&m, 2.0, 1000, 0);
	m.nic.rx_multicast = 3;
	m.view.at.tv_sec = 43200;
	assert_int_equal(nd_watch_add(&all, &m.view), 0);
	nd_watch_sar.begin(&ask, &h, &out);
	nd_watch_sar.view(&ask, &m.view, &all, &out);
	nd_watch_sar.end(&ask, &all, &out);
	for (p = out.data; (p = strchr(p, ':')); p++) /* the hour is that of this machine's zone */
		if (p - out.data >= 2 && p[3] == ':') {
			for (i = 0; i < 8; i++)
				p[(ptrdiff_t)i - 2] = 'T';
			n++;
		}
	assert_int_equal(n, 2);
	assert_string_equal(nd_str_text(&out), sar_text);
	nd_watch_all_done(&all);
}

struct layout {
	const char *label;
	const struct nd_watch_writer *writer;
	enum nd_local_format format;
	const char *words[4];
};

/* clang-format off */
static const struct layout layouts[] = {
	{ "text", &nd_watch_text, ND_LOCAL_TEXT, { "rxpck/s", "eth0", "average", "rx_dropped 4.0/s at eth0" } },
	{ "csv", &nd_watch_csv, ND_LOCAL_CSV, { "kind,time,seconds,iface,rx_packets", "sample,", "p95,,", ",1000,500," } },
	{ "json", &nd_watch_json, ND_LOCAL_JSON, { "\"samples\":[", "\"rx_packets\":1000", "\"summary\":[", "\"p95\":{" } },
	{ "lines", &nd_watch_json, ND_LOCAL_JSON_LINES, { "\"event\":\"begin\"", "\"event\":\"sample\"",
	  "\"event\":\"end\"", "\"drops\":4" } },
	{ "sadf", &nd_watch_sar_json, ND_LOCAL_JSON, { "\"sysstat\"", "\"net-dev\":[", "\"rxpck\":1000", "]}]}}" } },
};

/* clang-format on */

static void test_layouts(void **state)
{
	const struct nd_watch_head h = {
		.hostname = "h", .kernel = "k", .machine = "m", .cpus = 1
	};
	size_t i, k;

	(void)state;
	for (i = 0; i < ND_COUNTOF(layouts); i++) {
		const struct layout *l = &layouts[i];
		const struct nd_watch_ask ask = { .interval_ns = ND_NS_PER_S,
						  .format = l->format,
						  .verbose = true };
		struct nd_watch_all all = { 0 };
		nd_auto_str out = { 0 };
		struct moment m;

		print_message("[%s]\n", l->label);
		make(&m, 1.0, 1000, 4);
		assert_int_equal(nd_watch_add(&all, &m.view), 0);
		if (l->writer->begin)
			l->writer->begin(&ask, &h, &out);
		l->writer->view(&ask, &m.view, &all, &out);
		l->writer->end(&ask, &all, &out);
		assert_true(nd_str_ok(&out));
		for (k = 0; k < ND_COUNTOF(l->words); k++) {
			if (!strstr(nd_str_text(&out), l->words[k]))
				print_message("%s\n", nd_str_text(&out));
			assert_non_null(strstr(nd_str_text(&out), l->words[k]));
		}
		nd_watch_all_done(&all);
	}
}

/* What limits is said only when it does. */
static void test_verdicts(void **state)
{
	struct nd_queue_count queues[] = {
		{ .ifindex = 7, .queue = 0, .packets = 9500, .drops = ND_UNKNOWN },
		{ .ifindex = 7, .queue = 1, .packets = 500, .drops = ND_UNKNOWN },
	};
	struct nd_limit_count limit = { .ifindex = 7,
					.count = 0,
					.name = "pps_allowance_exceeded" };
	struct nd_cpu_times cpu = { .softirq_ns = 50, .idle_ns = 50 };
	struct moment m;

	(void)state;
	make(&m, 1.0, 10000, 0);
	queues[0].packets = queues[1].packets = 5000;
	m.detail.queue = queues;
	m.detail.queues = 2;
	m.detail.limit = &limit;
	m.detail.limits = 1;
	m.diff.cpu = &cpu;
	m.diff.cpus = 1;
	m.diff.all = cpu;
	nd_watch_judge(&m.view);
	assert_int_equal(m.view.verdict.len, 0);

	queues[0].packets = 9500;
	queues[1].packets = 500;
	limit.count = 12;
	cpu.softirq_ns = 950;
	m.diff.all.steal_ns = 20;
	m.diff.softnet.dropped = 3;
	m.diff.snmp.udp_rcvbuf_errors = 8;
	m.row.util_percent = 99;
	nd_watch_judge(&m.view);
	assert_non_null(strstr(nd_str_text(&m.view.verdict), "receive queues, 0, carries 95 %"));
	assert_non_null(strstr(nd_str_text(&m.view.verdict), "pps_allowance_exceeded grows, 12/s"));
	assert_non_null(strstr(nd_str_text(&m.view.verdict), "CPU 0 spends 95 %"));
	assert_non_null(strstr(nd_str_text(&m.view.verdict), "steal"));
	assert_non_null(strstr(nd_str_text(&m.view.verdict), "netdev_max_backlog"));
	assert_non_null(strstr(nd_str_text(&m.view.verdict), "receive buffers overflow, 8"));
	assert_non_null(strstr(nd_str_text(&m.view.verdict), "link is full"));
	nd_str_done(&m.view.verdict);
}

/* ---- whole runs on machines that do not exist */

struct run {
	int r;
	struct nd_err err;
	char out[65536];
};

static void run(const struct nd_watch_ask *ask, bool tty, struct run *ret)
{
	struct nd_local_place place = { .root = tree_root, .tty = tty };
	struct nd_plan plan;
	FILE *f = tmpfile();
	size_t n;

	assert_non_null(f);
	memset(ret, 0, sizeof(*ret));
	nd_plan_init(&plan);
	plan.face = ask;
	place.out_fd = fileno(f);
	ret->r = nd_watch_run(&plan, &place, &ret->err);
	rewind(f);
	n = fread(ret->out, 1, sizeof(ret->out) - 1, f);
	ret->out[n] = '\0';
	(void)fclose(f);
	nd_plan_done(&plan);
}

static void test_runs(void **state)
{
	const char *names[] = { "eth*" }, *wrong[] = { "eth0", "nope" };
	struct nd_watch_ask ask = {
		.interval_ns = ND_MIN_WATCH_NS, .samples = 2, .names = { names, 1 }, .verbose = true
	};
	const struct tree_machine m = TREE_VIRTIO;
	static struct run r;

	(void)state;
	tree_make(&m);
	run(&ask, false, &r);
	assert_int_equal(r.r, 0);
	assert_non_null(strstr(r.out, "eth0"));
	assert_non_null(strstr(r.out, "no packet was seen"));
	run(&ask, true, &r); /* a screen, and the terminal as it was behind it */
	assert_int_equal(r.r, 0);
	assert_non_null(strstr(r.out, "\033[?1049h"));
	assert_non_null(strstr(r.out, "\033[?1049l"));
	ask.quiet = true;
	run(&ask, true, &r);
	assert_null(strstr(r.out, "\033"));
	assert_null(strstr(r.out, "eth0"));
	ask.names = (struct nd_strv){ wrong, 2 };
	run(&ask, false, &r);
	assert_int_equal(r.r, -ENODEV);
	assert_non_null(strstr(r.err.text, "'nope'; there are: eth0"));
	tree_end();
}

/* Nothing can be read: there is nothing to show, and no failure. A name that steers a terminal is shown harmless. */
static void test_odd_machines(void **state)
{
	struct nd_watch_ask ask = { .interval_ns = ND_MIN_WATCH_NS, .samples = 1, .verbose = true };
	static struct run r;

	(void)state;
	tree_begin();
	run(&ask, false, &r);
	assert_int_equal(r.r, 0);
	tree_put("proc/net/dev", "head\nhead\n\033[2J: 1 1 0 0 0 0 0 0 2 2 0 0 0 0 0 0\n");
	run(&ask, false, &r);
	assert_int_equal(r.r, 0);
	assert_non_null(strstr(r.out, "?[2J"));
	assert_null(strchr(r.out, '\033'));
	/* What is not there is named, once. */
	assert_non_null(strstr(r.out, "# cannot be read: /proc/stat, /proc/interrupts, "));
	assert_non_null(strstr(r.out, "/proc/net/softnet_stat"));
	assert_null(strstr(r.out, "conntrack"));
	ask.format = ND_LOCAL_JSON_LINES;
	run(&ask, false, &r);
	assert_non_null(strstr(r.out, "\"unreadable\":[\"/proc/stat\",\"/proc/interrupts\""));
	tree_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_ends_are_left_out),
		cmocka_unit_test(test_made_anew_under_its_name),
		cmocka_unit_test(test_percentile),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_unknown_is_no_rate),
		cmocka_unit_test(test_sar_layout),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_odd_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
