/* SPDX-License-Identifier: MIT */
/* Plans from peers: each row spoils one thing, and the sentence says which. What users type is in persona-native.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "plan/plan.h"

/* A workload by its members, so that new ones need no change here. */
#define WORKLOAD(a, l, f, t, n, first, bytes, request, response, bps, ops, total)            \
	{                                                                                    \
		.active = (a), .load = (l), .frame = (f), .transport = (t), .flows = (n),    \
		.first_flow = (first), .message_bytes = (bytes), .request_bytes = (request), \
		.response_bytes = (response), .rate_bps = (bps), .rate_ops = (ops),          \
		.total_bytes = (total)                                                       \
	}

#define S ND_NS_PER_S

static char long_name[100];

static void decent(struct nd_plan *p)
{
	static const struct nd_workload w =
		WORKLOAD(ND_SERVER, "stream", "plain", "tcp", 2, 0, 1000, 0, 0, 0, 0, 0);

	nd_plan_init(p);
	p->verb = ND_VERB_STREAM;
	p->workload[0] = p->workload[1] = w;
	p->workload[1].first_flow = 2;
	p->workloads = 2;
	p->duration_ns = 10 * S;
	p->warmup_ns = p->interval_ns = S;
	p->engine = p->tx = p->rx = p->wait = "auto";
	p->tx = p->rx = "copy";
}

#define ROW(name, change, sentence)                  \
	static void spoil_##name(struct nd_plan *p)  \
	{                                            \
		struct nd_workload *w = p->workload; \
                                                     \
		(void)w;                             \
		change;                              \
	}                                            \
	static const struct spoiled row_##name = { spoil_##name, #name, sentence };

struct spoiled {
	void (*change)(struct nd_plan *p);
	const char *what, *sentence;
};

/* clang-format off */
ROW(nothing, (void)p, NULL)
ROW(no_workloads, p->workloads = 0, "the plan has 0 workloads, not 1..4")
ROW(too_many_workloads, p->workloads = 5, "the plan has 5 workloads, not 1..4")
ROW(endless_workloads, p->workloads = UINT64_MAX, "the plan has 18446744073709551615 workloads, not 1..4")
ROW(no_flows, w->flows = 0, "-P: '0' is outside 1..100k")
ROW(flows, w->flows = 100001, "-P: '100001' is outside 1..100k")
ROW(unknown_flows, w->flows = ND_UNKNOWN, "-P: '18446744073709551615' is outside 1..100k")
ROW(sum, (w->flows = w[1].first_flow = 100000, w[1].flows = 1), "-P 100000: 100001 flows are over the limit of 100000")
ROW(first, w[1].first_flow = 1, "workload 1 begins with flow 1, not 2")
ROW(first_zero, w[0].first_flow = 1, "workload 0 begins with flow 1, not 0")
ROW(no_load, w->load = NULL, "--shape: there is no name")
ROW(empty_load, w->load = "", "--shape: '' is no name")
ROW(strange_load, w->load = "a b", "--shape: 'a b' is no name")
ROW(no_frame, w->frame = NULL, "frame: there is no name")
ROW(no_transport, w->transport = NULL, "transport: there is no name")
ROW(long_transport, w->transport = long_name, "transport: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is no name")
ROW(no_engine, p->engine = NULL, "--engine: there is no name")
ROW(no_tx, p->tx = NULL, "--tx: there is no name")
ROW(no_rx, p->rx = "../x", "--rx: '../x' is no name")
ROW(long_cc, p->sock.cc = "aaaaaaaaaaaaaaaa", "--cc: 'aaaaaaaaaaaaaaaa' is no name")
ROW(active, w->active = ND_ENDS, "a workload is active at neither end")
ROW(no_message, w->message_bytes = 0, "-l: '0' is outside 1..1Gi")
ROW(message, w->message_bytes = (1ull << 30) + 1, "-l: '1073741825' is outside 1..1Gi")
ROW(no_datagram, (w->transport = "udp", w->message_bytes = 0), "-l: '0' is outside 1..1Gi")
ROW(datagram, (w->transport = "udp", w->message_bytes = 65508), "-l: '65508' is over 65507, the largest UDP datagram")
ROW(open_datagram, (w->transport = "udp", w->message_bytes = 0, p->wants_datagram_bytes = true), NULL)
ROW(rr, (w->load = "rr", w->request_bytes = 1, w->response_bytes = 1000), NULL)
ROW(no_request, (w->load = "rr", w->response_bytes = 1), "-r: '0' is outside 1..1Gi")
ROW(no_response, (w->load = "rr", w->request_bytes = 1), "-r: '0' is outside 1..1Gi")
ROW(request, (w->load = "rr", w->response_bytes = 1, w->request_bytes = 1001), "-r: '1001' is over the message size 1000")
ROW(rr_bitrate, (w->load = "rr", w->request_bytes = w->response_bytes = 1, w->rate_bps = 1), "-b has no meaning with --shape rr, --rate sets requests per second")
ROW(total, (w->total_bytes = 1, p->warmup_ns = 0), "-n: '1' is less than one byte for each of 2 flows")
ROW(rate, w->rate_ops = UINT64_MAX / 8, "--rate: '2305843009213693951' messages of 1000 bytes are too many")
ROW(both_rates, (w->rate_ops = 1, w->rate_bps = 1), "-b and --rate exclude each other")
ROW(warmup_total, w->total_bytes = 1000, "-n with --warmup: warm-up must be 0 when -n ends the test")
ROW(cooldown_total, (w->total_bytes = 1000, p->warmup_ns = 0, p->cooldown_ns = 1), "-n with --cooldown: cool-down must be 0 when -n ends the test")
ROW(no_duration, p->duration_ns = 0, "-t: '0s' is outside 1ms..24h")
ROW(duration, p->duration_ns = 86401 * S, "-t: '86401s' is outside 1ms..24h")
ROW(warmup, p->warmup_ns = 86401 * S, "--warmup: '86401s' is outside 0s..24h")
ROW(cooldown, p->cooldown_ns = 86401 * S, "--cooldown: '86401s' is outside 0s..24h")
ROW(drain, p->drain_ns = 86401 * S, "--drain: '86401s' is outside 0s..24h")
ROW(no_interval, p->interval_ns = 0, "-i: '0s' is outside 1ms..24h")
ROW(long_interval, p->interval_ns = 11 * S, "-i: '11s' is longer than the test of 10s (-t)")
ROW(intervals, (p->interval_ns = ND_NS_PER_MS, p->duration_ns = 100 * S), "-i: '1ms' makes 101000 intervals, over 100000")
ROW(samples, (p->interval_ns = 10 * ND_NS_PER_MS, p->duration_ns = 99 * S, w->flows = w[1].first_flow = 1000, p->threads = 1000), "-i: '10ms' with -T 1000 makes over 4000000 samples")
ROW(threads, p->threads = 5, "-T: '5' is more threads than flows, which are 4")
ROW(many_threads, p->threads = 1001, "-T: '1001' is outside 0..1k")
ROW(buffers, (w->message_bytes = 1 << 30, w->flows = w[1].first_flow = 5, p->threads = 5), "-l: '1Gi' with -T 5: buffers would be over 4Gi")
ROW(sndbuf, p->sock.sndbuf_bytes = UINT64_MAX - 1, "--sndbuf: '18446744073709551614' is outside 0..2147483647")
ROW(rcvbuf, p->sock.rcvbuf_bytes = 1ull << 31, "--rcvbuf: '2Gi' is outside 0..2147483647")
ROW(mss, p->sock.mss_bytes = 65536, "--mss: '64Ki' is outside 0..65535")
ROW(dscp, p->sock.dscp = 64, "--dscp: '64' is outside 0..63")
ROW(payload, p->payload = ND_PAYLOAD_MAX, "--payload: '6' is outside 0..5")
ROW(verify, p->verify = true, "--verify needs --payload pattern")
ROW(mptcp_udp, (p->mptcp = true, w->transport = w[1].transport = "udp"), "--mptcp and -u exclude each other")
ROW(map_mptcp, (p->mptcp = true, p->rx = "mmap"), "--rx mmap and --mptcp exclude each other: this kind of socket does not do it")
ROW(trunc_mptcp, (p->mptcp = true, p->rx = "trunc"), NULL)
ROW(mptcp_beside_udp, (p->mptcp = true, w->transport = "udp"), NULL)
ROW(both_rates_apart, (w->rate_ops = 1, w[1].rate_bps = 1), NULL)
ROW(group, (p->group = "a b", p->group_expect = 2, p->group_wait_ns = S), NULL)
ROW(group_alone, p->group = "a", "--group needs --expect, the number of clients")
ROW(expect_alone, p->group_expect = 2, "--expect needs --group")
ROW(group_empty, (p->group = "", p->group_expect = 2, p->group_wait_ns = S), "--group: '' is not 1 to 64 characters")
ROW(group_bell, (p->group = "a\a", p->group_expect = 2, p->group_wait_ns = S), "--group: a name is of printable characters of ASCII")
ROW(group_of_one, (p->group = "a", p->group_expect = 1, p->group_wait_ns = S), "--expect: '1' is outside 2..1k")
ROW(group_of_many, (p->group = "a", p->group_expect = 1001, p->group_wait_ns = S), "--expect: '1001' is outside 2..1k")
ROW(group_wait, (p->group = "a", p->group_expect = 2), "--group-wait: '0s' is outside 1s..1h")
ROW(pin, p->pin = "0,", "--pin: '0,' is no list of CPUs such as 0,2-3, nor auto")
/* clang-format on */

static const struct spoiled *const rows[] = {
	&row_nothing,
	&row_no_workloads,
	&row_too_many_workloads,
	&row_endless_workloads,
	&row_no_flows,
	&row_flows,
	&row_unknown_flows,
	&row_sum,
	&row_first,
	&row_first_zero,
	&row_no_load,
	&row_empty_load,
	&row_strange_load,
	&row_no_frame,
	&row_no_transport,
	&row_long_transport,
	&row_no_engine,
	&row_no_tx,
	&row_no_rx,
	&row_long_cc,
	&row_active,
	&row_no_message,
	&row_message,
	&row_no_datagram,
	&row_datagram,
	&row_open_datagram,
	&row_rr,
	&row_no_request,
	&row_no_response,
	&row_request,
	&row_rr_bitrate,
	&row_total,
	&row_rate,
	&row_both_rates,
	&row_warmup_total,
	&row_cooldown_total,
	&row_no_duration,
	&row_duration,
	&row_warmup,
	&row_cooldown,
	&row_drain,
	&row_no_interval,
	&row_long_interval,
	&row_intervals,
	&row_samples,
	&row_threads,
	&row_many_threads,
	&row_buffers,
	&row_sndbuf,
	&row_rcvbuf,
	&row_mss,
	&row_dscp,
	&row_payload,
	&row_verify,
	&row_mptcp_udp,
	&row_map_mptcp,
	&row_trunc_mptcp,
	&row_mptcp_beside_udp,
	&row_both_rates_apart,
	&row_group,
	&row_group_alone,
	&row_expect_alone,
	&row_group_empty,
	&row_group_bell,
	&row_group_of_one,
	&row_group_of_many,
	&row_group_wait,
	&row_pin,
};

static void judges_peers(void **state)
{
	struct nd_plan p;
	size_t i;

	(void)state;
	memset(long_name, 'a', sizeof(long_name) - 1);
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_err err = { 0 };
		int r;

		decent(&p);
		rows[i]->change(&p);
		r = nd_plan_check(&p, &err);
		if (r != (rows[i]->sentence ? -EINVAL : 0) ||
		    (rows[i]->sentence && strcmp(err.text, rows[i]->sentence) != 0))
			fail_msg("%s: %d '%s'", rows[i]->what, r, err.text);
	}
}

static void reads_cpu_lists(void **state)
{
	/* clang-format off */
	static const struct { const char *text; bool good; } lists[] = {
		{ "auto", true }, { "0", true }, { "0,2-3", true }, { "3-3", true }, { "0-4095", true },
		{ "", false }, { ",", false }, { "1-", false }, { "-1", false }, { "3-2", false },
		{ "a", false }, { "0 1", false }, { "4096", false }, { "0-99999999999999999999", false },
	};
	/* clang-format on */
	struct nd_err err = { 0 };
	struct nd_plan p;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(lists); i++) {
		decent(&p);
		p.pin = lists[i].text;
		if ((nd_plan_check(&p, &err) == 0) != lists[i].good)
			fail_msg("'%s'", lists[i].text);
	}
}

static void keeps_server_policy(void **state)
{
	/* clang-format off */
	static const struct { uint64_t max_time, max_flows; const char *sentence; } policies[] = {
		{ 0, 0, NULL },
		{ 11 * S, 4, NULL },
		{ 11 * S - 1, 4, "-t, or --trial: a test of 11s, warm-up and cool-down included, is over the 10999999999ns that this server allows" },
		{ 10 * S, 0, "-t, or --trial: a test of 11s, warm-up and cool-down included, is over the 10s that this server allows" },
		{ 0, 3, "-P: 4 flows are over the 3 that this server allows" },
	};
	/* clang-format on */
	struct nd_plan p;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(policies); i++) {
		const struct nd_serve policy = { .max_time_ns = policies[i].max_time,
						 .max_flows = policies[i].max_flows };
		struct nd_err err = { 0 };
		int r;

		decent(&p);
		r = nd_plan_limits(&p, &policy, &err);
		if (r != (policies[i].sentence ? -EPERM : 0) ||
		    (policies[i].sentence && strcmp(err.text, policies[i].sentence) != 0))
			fail_msg("%zu: '%s'", i, err.text);
	}
}

/* Judged where the flows are opened. */
static void counts_source_ports(void **state)
{
	/* clang-format off */
	static const struct { const char *host; uint64_t flows, addresses, ports; bool bidir; const char *sentence; } cases[] = {
		{ "h", 14116, 0, 28232, true, NULL },
		{ "h", 14117, 0, 28232, true, "-P 14117 and --bidir with one source address: about 28232 ports; give -B a list of addresses" },
		{ "h", 15000, 0, 28232, false, "-P 15000 with one source address: about 28232 ports; give -B a list of addresses" },
		{ "h", 15000, 2, 28232, false, NULL },
		{ "h", 30000, 2, 28232, false, "-P 30000 with 2 source addresses: about 28232 ports each; give -B more addresses" },
		{ "h", 30000, 0, 0, false, NULL },
		{ NULL, 30000, 0, 28232, false, NULL },
	};

	/* clang-format on */
	static const char *addresses[] = { "a", "b" };
	struct nd_plan p;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(cases); i++) {
		struct nd_err err = { 0 };
		int r;

		decent(&p);
		p.host = cases[i].host;
		p.workload[0].flows = p.workload[1].flows = cases[i].flows;
		p.workload[1].first_flow = cases[i].flows;
		p.source_ports = cases[i].ports;
		p.ask.bidir = cases[i].bidir;
		p.bind = (struct nd_strv){ addresses, cases[i].addresses };
		r = nd_plan_check(&p, &err);
		if (r != (cases[i].sentence ? -EINVAL : 0) ||
		    (r && strcmp(err.text, cases[i].sentence) != 0))
			fail_msg("%zu: '%s'", i, err.text);
	}
}

static void documents_every_row(void **state)
{
	(void)state;
	nd_row_for_each(f, &nd_plan_table)
		assert_true(f->help && f->label);
	nd_row_for_each(f, &nd_workload_table)
		assert_true(f->help && f->label);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(judges_peers),        cmocka_unit_test(reads_cpu_lists),
		cmocka_unit_test(keeps_server_policy), cmocka_unit_test(counts_source_ports),
		cmocka_unit_test(documents_every_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
