/* SPDX-License-Identifier: MIT */
/* Joining: the receiver's count is the result, rows add up, unknown stays unknown. */
#include <cmocka.h>
#include <errno.h>

#include "result-fixture.h"

static const struct nd_direction *join(const struct fix *f, struct nd_result *r)
{
	struct nd_result_ask ask;
	struct nd_err err = { 0 };

	fix_ask(f, &ask);
	assert_int_equal(nd_result_join(r, &ask, &err), 0);
	assert_int_equal(nd_result_warn(r), 0);
	return r->directions.v;
}

static struct nd_part *part_of(struct nd_side *side, uint64_t i)
{
	return (struct nd_part *)side->parts.v + i;
}

static const char *sentence_of(const struct nd_result *r, const char *key)
{
	const struct nd_warning *w = r->warnings.v;
	uint64_t i;

	for (i = 0; i < r->warnings.n; i++)
		if (!strcmp(w[i].key, key))
			return w[i].sentence;
	return NULL;
}

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fabs(b)))
		fail_msg("%.17g is not %.17g", a, b);
}

static void intervals_add_up(const struct nd_direction *d)
{
	const struct nd_interval_joint *row = d->intervals.v;
	uint64_t i, received = 0, sent = 0;

	for (i = 0; i < d->intervals.n; i++) {
		if (strcmp(row[i].phase, "measure") != 0)
			continue;
		received += row[i].received_bytes;
		sent += row[i].sent_bytes;
	}
	assert_int_equal(received, d->received_bytes);
	assert_int_equal(sent, d->sent_bytes);
}

static void test_stream(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_tcp, &r);
	d = join(&fix_tcp, &r);
	assert_int_equal(r.directions.n, 1);
	assert_string_equal(d->label, "client to server");
	assert_string_equal(d->sender, "client");
	near(d->goodput_bps, 9412000000.0);
	assert_int_equal(d->received_bytes, 11765000000);
	near(d->window_s, 10);
	near(d->window_start_s, 1);
	near(d->steady, 1);
	assert_true(d->agreed);
	assert_true(isnan(d->lost_ratio));
	assert_true(isnan(d->transactions_per_s));
	assert_true(isnan(d->messages_per_s));
	assert_true(d->loss.lost == ND_UNKNOWN);
	assert_int_equal(d->failed_flows, 0);
	assert_true(isnan(d->start_skew_ms)); /* one flow */
	near(d->sender_cpu_s_per_gb, 1.38 / 1.1765);
	near(d->sender_cycles_per_byte, 0.98 * 2450e6 / 1176500000);
	assert_string_equal(d->cycles_source, "estimated from CPU time and nominal MHz");
	assert_int_equal(d->tcp.window_retransmits, 2);
	assert_int_equal(d->tcp.retransmits, 3);
	near(d->tcp.rtt_p99_us, 1204);
	near(r.ends_apart_us, 2);
	assert_int_equal(d->intervals.n, FIX_INTERVALS);
	intervals_add_up(d);
	assert_false(r.partial);
	assert_false(r.same_host);
	nd_result_done(&r);
}

static void test_counted_cycles(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_tcp, &r);
	r.client->machine.cycles = 23530000000;
	r.server->machine.cycles = 11765000000;
	d = join(&fix_tcp, &r);
	near(r.client->machine.effective_mhz, 23530e6 / 9.8 / 1e6);
	assert_string_equal(r.client->machine.mhz_source, "perf");
	near(d->sender_cycles_per_byte, 2);
	near(d->receiver_cycles_per_byte, 1);
	assert_string_equal(d->cycles_source, "perf");
	nd_result_done(&r);

	/* one end has no counter: both are estimated, so that they compare */
	fix_make(&fix_tcp, &r);
	r.client->machine.cycles = 23530000000;
	d = join(&fix_tcp, &r);
	assert_string_equal(d->cycles_source, "estimated from CPU time and nominal MHz");
	near(r.server->machine.effective_mhz, 2600);
	assert_non_null(strstr(r.server->machine.mhz_source, "not measured"));
	nd_result_done(&r);

	fix_make(&fix_tcp, &r);
	r.client->machine.cpu_mhz = (double)NAN;
	(void)join(&fix_tcp, &r);
	assert_true(isnan(r.client->machine.effective_mhz));
	assert_null(r.client->machine.mhz_source);
	nd_result_done(&r);
}

/* A quantile needs ten samples beyond it. */
static void test_quantiles(void **state)
{
	static const struct {
		uint64_t samples, one_of;
		bool says;
	} rows[] = {
		{ 19, 2, false },      { 20, 2, true },       { 99, 10, false },
		{ 100, 10, true },     { 999, 100, false },   { 1000, 100, true },
		{ 9999, 1000, false }, { 10000, 1000, true }, { ND_UNKNOWN, 2, false },
		{ 0, 2, false },
	};
	const struct nd_direction *d;
	struct nd_result r;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++)
		if (nd_quantile_says(rows[i].samples, rows[i].one_of) != rows[i].says)
			fail_msg("row %zu", i);

	fix_make(&fix_tcp, &r);
	part_of(r.client, 0)->tcp.rtt_samples = 999;
	d = join(&fix_tcp, &r);
	assert_true(isnan(d->tcp.rtt_p99_us));
	near(d->tcp.rtt_mean_us, 431.5);
	assert_int_equal(d->tcp.rtt_samples, 999);
	nd_result_done(&r);

	fix_make(&fix_rr, &r);
	part_of(r.client, 0)->rtt_count = 999;
	d = join(&fix_rr, &r);
	near(d->rtt_p90_us, 25.9);
	assert_true(isnan(d->rtt_p99_us) && isnan(d->rtt_p999_us));
	near(d->rtt_max_us, 2040.5);
	nd_result_done(&r);
}

/* Of one flow there is nothing to compare; ends compare within their clocks' error alone. */
static void test_start(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_udp, &r);
	((struct nd_flow_row *)part_of(r.client, 0)->flows.v)[1].first_ns = INT64_MIN;
	r.clock_rtt_us = (double)NAN;
	d = join(&fix_udp, &r);
	assert_true(isnan(d->start_skew_ms) && isnan(d->start_skew_p50_ms));
	assert_true(isnan(r.ends_apart_us));
	nd_result_done(&r);
}

static void test_both_directions(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_bidir, &r);
	d = join(&fix_bidir, &r);
	assert_int_equal(r.directions.n, 2);
	assert_string_equal(d[1].label, "server to client");
	assert_int_equal(d[0].flow_rows.n, 64);
	assert_int_equal(((const struct nd_flow_joint *)d[1].flow_rows.v)[0].flow, 64);
	assert_true(d[0].spread.min_bps < d[0].spread.median_bps);
	assert_true(d[0].spread.jain > 0.99 && d[0].spread.jain < 1);
	near(d[0].start_skew_ms, 0.63);
	near(d[0].start_skew_p50_ms, 0.315);
	intervals_add_up(&d[0]);
	intervals_add_up(&d[1]);
	/* CPU is an end's: the same in both directions, over the bytes of both */
	near(d[0].sender_cpu_s_per_gb, d[1].receiver_cpu_s_per_gb);
	near(d[0].sender_cpu_s_per_gb, 1.38 / ((d[0].goodput_bps + d[1].goodput_bps) / 8 / 1e9));
	nd_result_done(&r);
}

static void test_loss(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_udp, &r);
	part_of(r.client, 0)->run.tx_refused = 7;
	r.server->machine.udp_rcvbuf_errors = 1000;
	r.server->machine.softnet_dropped = 30; /* charged to the interface, too */
	r.server->machine.nic_rx_dropped = 40;
	r.client->machine.qdisc_drops = 500;
	d = join(&fix_udp, &r);
	assert_int_equal(d->loss.offered, d->loss.sent + 7);
	assert_int_equal(d->loss.lost, d->loss.sent - d->loss.received);
	assert_true(d->loss.lost > 40000);
	assert_int_equal(d->loss.unplaced, d->loss.lost - 1540);
	near(d->loss.lost_ratio, (double)d->loss.lost / (double)d->loss.sent);
	assert_true(d->lost_ratio > 0.0249 && d->lost_ratio < 0.0251);
	assert_false(d->agreed);
	assert_non_null(sentence_of(&r, "receive_buffer_drops"));
	assert_non_null(strstr(sentence_of(&r, "receive_buffer_drops"), "1000 datagrams"));
	assert_non_null(strstr(sentence_of(&r, "qdisc_drops"), "500 packets"));
	assert_null(sentence_of(&r, "udp_unlimited"));
	nd_result_done(&r);
}

static void test_unplaced(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_udp, &r);
	r.client->machine.qdisc_drops = ND_UNKNOWN;
	d = join(&fix_udp, &r);
	assert_true(d->loss.unplaced == ND_UNKNOWN);
	nd_result_done(&r);

	fix_make(&fix_udp, &r);
	r.server->machine.udp_rcvbuf_errors = 99999999; /* another program's */
	d = join(&fix_udp, &r);
	assert_int_equal(d->loss.unplaced, 0);
	nd_result_done(&r);

	fix_make(&fix_udp, &r);
	part_of(r.server, 0)->run.rx_unique = part_of(r.client, 0)->run.tx_messages + 5;
	d = join(&fix_udp, &r);
	assert_int_equal(d->loss.lost, 0); /* never negative */
	assert_int_equal(d->loss.unplaced, 0);
	nd_result_done(&r);
}

/* What the receiver's interface counted tells a firewall behind it from a loss before it. */
static void test_firewall(void **state)
{
	static const struct {
		int64_t more; /* than sent */
		bool firewall;
	} rows[] = { { 0, true }, { 10, true }, { -1, false }, { 1000000, false } };
	const struct nd_ledger_row *row;
	const struct nd_direction *d;
	struct nd_result r;
	size_t i, k;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		bool said = false;

		fix_make(&fix_udp, &r);
		r.server->machine.nic_rx_packets =
			part_of(r.client, 0)->run.tx_messages + (uint64_t)rows[i].more;
		d = join(&fix_udp, &r);
		assert_true(d->loss.unplaced > 100);
		row = d->ledger.v;
		for (k = 0; k < d->ledger.n; k++)
			said = said || (row[k].note && strstr(row[k].note, "a firewall there"));
		assert_true(said == rows[i].firewall);
		nd_result_done(&r);
	}
}

/* The end that answers tells its part of round trips, or does not. */
static void test_turns(void **state)
{
	static const struct {
		bool told, has_stamps;
		const char *missing;
	} rows[] = {
		{ true, true, NULL },
		{ true, false, "no stamps" },
		{ false, false,
		  "the answering end tells no stamps: its version does not know of them" },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_parted kernel = { .stamped = 5 };
		struct nd_latency latency = { .kernel = &kernel };
		struct nd_parted turned = { .stamped = 4,
					    .missing = rows[i].has_stamps ? NULL : "no stamps" };
		const struct nd_direction *d;
		struct nd_result r;

		fix_make(&fix_rr, &r);
		part_of(r.client, 0)->latency = &latency;
		part_of(r.server, 0)->turned = rows[i].told ? &turned : NULL;
		d = join(&fix_rr, &r);
		assert_ptr_equal(d->latency, &latency);
		assert_ptr_equal(kernel.server, rows[i].has_stamps ? &turned : NULL);
		if (rows[i].missing)
			assert_string_equal(kernel.server_missing, rows[i].missing);
		else
			assert_null(kernel.server_missing);
		part_of(r.client, 0)->latency = NULL;
		part_of(r.server, 0)->turned = NULL;
		nd_result_done(&r);
	}
}

static void test_transactions(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_rr, &r);
	d = join(&fix_rr, &r);
	assert_true(d->transactional);
	near(d->transactions_per_s, 45000);
	assert_int_equal(d->rtt_count, 450000);
	near(d->rtt_p99_us, 40.25);
	near(d->steady, 1);
	assert_true(r.same_host);
	near(d->sender_cpu_us_per_transaction, 1.38e6 / 45000);
	assert_true(isnan(d->receiver_cpu_us_per_transaction)); /* one machine: once */
	assert_true(isnan(d->sender_cpu_s_per_gb));
	assert_non_null(strstr(sentence_of(&r, "same_host"), "not a network result"));
	nd_result_done(&r);
}

static void test_same_host(void **state)
{
	struct fix f = fix_tcp;
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	f.same_host = true;
	fix_make(&f, &r);
	d = join(&f, &r);
	assert_true(r.same_host);
	assert_false(isnan(d->sender_cpu_s_per_gb));
	assert_true(isnan(d->receiver_cpu_s_per_gb));
	assert_false(isnan(d->receiver_cycles_per_byte)); /* of the program, not the machine */
	nd_result_done(&r);
}

static uint64_t count_of(const struct nd_result *r, const char *key)
{
	const struct nd_warning *v = r->warnings.v;
	uint64_t i, n = 0;

	for (i = 0; i < r->warnings.n; i++)
		n += !strcmp(v[i].key, key);
	return n;
}

/* What the machine has counted is told once for both ends of it, however their times differ. */
static void test_machine_told_once(void **state)
{
	static const struct {
		bool same_host;
		uint64_t client, server, told;
		const char *words;
	} rows[] = {
		{ true, 75, 154, 1, "this machine: 154 packets" },
		{ true, 154, 75, 1, "this machine: 154 packets" },
		{ true, 75, 75, 1, "this machine: 75 packets" },
		{ true, 75, ND_UNKNOWN, 1, "this machine: 75 packets" },
		{ true, 0, 75, 1, "this machine: 75 packets" },
		{ false, 75, 154, 2, "client: 75 packets" },
		{ true, 0, 0, 0, NULL },
	};
	struct nd_result r;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct fix f = fix_tcp;

		f.same_host = rows[i].same_host;
		fix_make(&f, &r);
		if (!r.client || !r.server)
			fail_msg("row %zu: an end is missing", i);
		r.client->machine.softnet_dropped = rows[i].client;
		r.server->machine.softnet_dropped = rows[i].server;
		r.client->machine.steal_ratio = 0.0312;
		r.server->machine.steal_ratio = 0.03;
		(void)join(&f, &r);
		assert_int_equal(count_of(&r, "backlog_drops"), rows[i].told);
		if (rows[i].words)
			assert_non_null(strstr(sentence_of(&r, "backlog_drops"), rows[i].words));
		assert_int_equal(count_of(&r, "steal"), rows[i].same_host ? 1 : 2);
		assert_non_null(strstr(sentence_of(&r, "steal"), "took 3.12 %"));
		nd_result_done(&r);
	}
}

static void test_lost_peer(void **state)
{
	const struct nd_direction *d;
	const struct nd_interval_joint *row;
	struct nd_result r;

	(void)state;
	fix_make(&fix_lost_peer, &r);
	d = join(&fix_lost_peer, &r);
	assert_true(r.partial);
	assert_string_equal(r.partial_reason, "the server did not report what it measured");
	assert_true(isnan(d->goodput_bps));
	assert_true(isnan(d->window_s));
	near(d->offered_bps, 9412000000.0);
	assert_true(d->received_bytes == ND_UNKNOWN);
	assert_int_equal(d->intervals.n, FIX_INTERVALS);
	row = d->intervals.v;
	assert_true(row[2].received_bytes == ND_UNKNOWN);
	assert_int_equal(row[2].sent_bytes, 1176500000);
	assert_true(isnan(d->steady));
	assert_true(isnan(d->sender_cpu_s_per_gb));
	assert_null(sentence_of(&r, "drain_incomplete"));
	assert_non_null(sentence_of(&r, "partial"));
	nd_result_done(&r);
}

/* What the lost end had told while the test ran stands in the rows, and in no sum. */
static void test_lost_peer_had_told(void **state)
{
	struct nd_interval_sample told[2];
	const struct nd_interval_joint *row;
	struct nd_result_ask ask;
	struct nd_err err = { 0 };
	struct nd_result r;

	(void)state;
	fix_make(&fix_lost_peer, &r);
	fix_ask(&fix_lost_peer, &ask);
	for (size_t i = 0; i < ND_COUNTOF(told); i++) {
		nd_table_unknown(&nd_interval_table, &told[i]);
		told[i].index = 2 + i;
		told[i].rx_bytes = 1000 + i;
		told[i].rx_bps = 8000;
	}
	ask.workload[0].heard = (struct nd_list){ .v = told, .n = ND_COUNTOF(told) };
	assert_int_equal(nd_result_join(&r, &ask, &err), 0);
	row = ((const struct nd_direction *)r.directions.v)->intervals.v;
	assert_true(row[1].received_bytes == ND_UNKNOWN);
	for (size_t i = 0; i < ND_COUNTOF(told); i++) {
		assert_int_equal(row[2 + i].received_bytes, 1000 + i);
		near(row[2 + i].goodput_bps, 8000);
		assert_int_equal(row[2 + i].sent_bytes, 1176500000);
		assert_non_null(row[2 + i].phase);
	}
	assert_true(((const struct nd_direction *)r.directions.v)->received_bytes == ND_UNKNOWN);
	nd_result_done(&r);
}

/* A run that ended in its warm-up measured nothing: no rate of 0. */
static void test_no_window(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_tcp, &r);
	part_of(r.client, 0)->window.seconds = part_of(r.server, 0)->window.seconds = 0;
	part_of(r.client, 0)->window.tx_bps = part_of(r.server, 0)->window.rx_bps = 0;
	d = join(&fix_tcp, &r);
	assert_true(isnan(d->goodput_bps));
	assert_true(isnan(d->offered_bps));
	assert_true(d->window_s == 0);
	nd_result_done(&r);
}

static void test_nobody(void **state)
{
	struct fix f = fix_udp;
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	f.no_client = f.no_server = true;
	fix_make(&f, &r);
	d = join(&f, &r);
	assert_true(r.partial);
	assert_int_equal(r.directions.n, 1);
	assert_true(isnan(d->goodput_bps));
	assert_true(d->loss.sent == ND_UNKNOWN);
	assert_true(d->failed_flows == ND_UNKNOWN);
	assert_int_equal(d->intervals.n, 0);
	nd_result_done(&r);
}

/* What a peer tells comes in any order, with holes, and twice. */
static void test_ragged_rows(void **state)
{
	const struct nd_direction *d;
	const struct nd_interval_joint *row;
	const struct nd_flow_joint *flow;
	struct nd_interval_sample *s;
	struct nd_flow_row *f, swap;
	struct nd_result r;

	(void)state;
	fix_make(&fix_udp, &r);
	s = part_of(r.server, 0)->intervals.v;
	s[4].index = UINT64_MAX; /* far out, and a hole at 4 */
	s[5].index = 3;          /* twice: one of them counts */
	f = part_of(r.server, 0)->flows.v;
	swap = f[0];
	f[0] = f[1];
	f[1] = swap;
	f[0].error = "connection reset";
	f[0].rx_dropped = 3;
	d = join(&fix_udp, &r);
	row = d->intervals.v;
	assert_int_equal(d->intervals.n, FIX_INTERVALS + 1);
	assert_true(row[4].received_bytes == ND_UNKNOWN);
	assert_true(row[4].sent_bytes != ND_UNKNOWN);
	assert_true(row[FIX_INTERVALS].sent_bytes == ND_UNKNOWN);
	flow = d->flow_rows.v;
	assert_int_equal(d->flow_rows.n, 2);
	assert_int_equal(flow[1].flow, 1);
	assert_int_equal(flow[1].lost_messages, flow[1].sent_messages - flow[1].received_messages);
	assert_string_equal(flow[1].error, "connection reset");
	assert_int_equal(flow[1].dropped_messages, 3);
	assert_true(flow[0].dropped_messages == ND_UNKNOWN);
	assert_int_equal(d->failed_flows, 1);
	assert_non_null(strstr(sentence_of(&r, "failed_flows"), "1 of 2 flows ended early"));
	nd_result_done(&r);
}

/* ---- warnings: each is silent on a good run, and speaks when bent */

static void bend_loopback(struct nd_result *r)
{
	r->client->nic_facts.is_loopback = true;
	r->client->nic_facts.name = "lo";
}

static void bend_sender(struct nd_result *r)
{
	r->client->machine.busiest_ratio = 0.97;
}

static void bend_window(struct nd_result *r)
{
	part_of(r->server, 0)->window.seconds = 10.2;
}

static void bend_drain(struct nd_result *r)
{
	part_of(r->server, 0)->run.rx_bytes -= 4096;
}

static void bend_clock(struct nd_result *r)
{
	r->clock_rtt_us = 24000;
}

static void bend_overlap(struct nd_result *r)
{
	r->server->overlapped_tests = 3;
}

static void bend_corrupt(struct nd_result *r)
{
	part_of(r->server, 0)->run.rx_corrupt = 1;
}

static void bend_fragments(struct nd_result *r)
{
	r->client->machine.ip_frag_creates = 88;
}

static void bend_steady(struct nd_result *r)
{
	((struct nd_interval_sample *)part_of(r->server, 0)->intervals.v)[2].rx_bps = 1e9;
}

static void bend_skew(struct nd_result *r)
{
	struct nd_part *p = part_of(r->client, 0);
	struct nd_flow_row *row = nd_arena_alloc(&r->arena, 2, sizeof(*row));

	assert_non_null(row);
	row[0] = row[1] = *(struct nd_flow_row *)p->flows.v;
	row[1].flow = 1;
	row[1].first_ns = 250000000;
	p->flows = (struct nd_list){ row, 2 };
}

static void bend_engine(struct nd_result *r)
{
	part_of(r->server, 0)->engine = "null";
}

static void bend_offered(struct nd_result *r)
{
	part_of(r->client, 0)->window.tx_bps = 9e9;
}

static void bend_partial(struct nd_result *r)
{
	r->server->partial = true;
	r->server->partial_reason = "stopped by SIGTERM";
}

static void bend_quota(struct nd_result *r)
{
	r->client->machine.cgroup_throttled_periods = 42;
	r->client->machine.cgroup_throttled_ms = 1350;
}

static void bend_conntrack(struct nd_result *r)
{
	r->client->machine.conntrack_count = 235930;
}

static void bend_bytes(struct nd_result *r)
{
	part_of(r->client, 0)->run.tx_bytes = 12941500000 - 1;
}

/* clang-format off */
static const struct {
	const char *key;
	void (*bend)(struct nd_result *r);
	uint64_t sndbuf;
	const char *words;
	uint64_t rate_bps, bytes;
} bent[] = {
	{ "loopback",         bend_loopback,  0, "client: traffic went through the loopback interface lo", 0, 0 },
	{ "sender_cpu_bound", bend_sender,    0, "client: CPU 3 was 97.0 % busy (irq and softirq 21.0 %)", 0, 0 },
	{ "window_off",       bend_window,    0, "10.20 s long, asked were 10.00 s", 0, 0 },
	{ "drain_incomplete", bend_drain,     0, "12941500000 bytes sent, 12941495904 received", 0, 0 },
	{ "clock_uncertain",  bend_clock,     0, "took 24.0 ms: the common start may be off by 12.0 ms", 0, 0 },
	{ "overlapped",       bend_overlap,   0, "server: 3 other tests ran", 0, 0 },
	{ "corrupt",          bend_corrupt,   0, "1 byte differ", 0, 0 },
	{ "fragments",        bend_fragments, 0, "client: 88 IP fragments", 0, 0 },
	{ "no_steady_state",  bend_steady,    0, "range from 1.000 Gbit/s to 9.412 Gbit/s", 0, 0 },
	{ "start_skew",       bend_skew,      0, "up to 250 ms apart, 2.5 % of", 0, 0 },
	{ "nothing_moved",    bend_engine,    0, "engine null moves nothing", 0, 0 },
	{ "rate_missed",      bend_offered,   0, "10.00 Gbit/s were asked for, the sender came to 9.000 Gbit/s", 10000000000, 0 },
	{ "partial",          bend_partial,   0, "server: stopped by SIGTERM", 0, 0 },
	{ "buffers_clamped",  NULL,           4194304, "4.00 MiB was asked for, the kernel gave 208 KiB (half of 416 KiB)", 0, 0 },
	{ "bytes_missed",     bend_bytes,     0, "12941499999 of the 12941500000 bytes that were asked for", 0, 12941500000 },
	{ "cgroup_throttled", bend_quota,     0, "client: the CPU quota of its control group was used up in 42 periods, CPUs stood still for 1.35 s", 0, 0 },
	{ "conntrack_full",   bend_conntrack, 0, "client: connection tracking holds 235930 of at most 262144", 0, 0 },
};

/* clang-format on */

static void test_warnings(void **state)
{
	struct nd_result_ask ask;
	struct nd_result r;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(bent); i++) {
		fix_make(&fix_tcp, &r);
		fix_ask(&fix_tcp, &ask);
		ask.workload[0].total_bytes = bent[i].bytes; /* which were sent */
		assert_int_equal(nd_result_join(&r, &ask, NULL), 0);
		assert_int_equal(nd_result_warn(&r), 0);
		assert_null(sentence_of(&r, bent[i].key));
		nd_result_done(&r);

		fix_make(&fix_tcp, &r);
		if (bent[i].bend)
			bent[i].bend(&r);
		ask.sndbuf_bytes = bent[i].sndbuf;
		ask.workload[0].rate_bps = bent[i].rate_bps;
		ask.workload[0].total_bytes = bent[i].bytes;
		assert_int_equal(nd_result_join(&r, &ask, NULL), 0);
		assert_int_equal(nd_result_warn(&r), 0);
		if (!sentence_of(&r, bent[i].key) ||
		    !strstr(sentence_of(&r, bent[i].key), bent[i].words))
			fail_msg("%s says: %s", bent[i].key, sentence_of(&r, bent[i].key));
		nd_result_done(&r);
	}
}

/* Flows that take turns are meant to begin apart; more than that is a warning as ever. */
static void test_meant_skew(void **state)
{
	static const struct {
		uint64_t rate_bps, rate_ops;
		bool datagram, warns;
	} rows[] = {
		{ 0, 0, true, true },          { 10000000, 0, true, false },
		{ 1000000000, 0, true, true }, { 0, 400, true, false },
		{ 0, 4000, true, true },       { 10000000, 0, false, true },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_direction *d;
		struct nd_result r;

		fix_make(&fix_tcp, &r);
		bend_skew(&r);
		(void)join(&fix_tcp, &r);
		d = r.directions.v;
		d->datagram = rows[i].datagram;
		d->message_bytes = 60000;
		d->flows = 100;
		d->asked_rate_bps = rows[i].rate_bps;
		d->asked_rate_ops = rows[i].rate_ops;
		assert_int_equal(nd_result_warn(&r), 0);
		assert_int_equal(sentence_of(&r, "start_skew") != NULL, rows[i].warns);
		nd_result_done(&r);
	}
}

static void test_good_run(void **state)
{
	struct nd_result r;

	(void)state;
	fix_make(&fix_tcp, &r);
	r.server->machine.busiest_ratio = 0.5;
	r.server->machine.steal_ratio = 0;
	(void)join(&fix_tcp, &r);
	assert_int_equal(r.warnings.n, 0);
	nd_result_done(&r);
}

static void test_too_many(void **state)
{
	struct nd_result_ask ask = { .workloads = 9 };
	struct nd_err err = { 0 };
	struct nd_result r;

	(void)state;
	nd_result_init(&r);
	assert_int_equal(nd_result_join(&r, &ask, &err), -E2BIG);
	assert_non_null(strstr(err.text, "9 kinds of traffic"));
	nd_result_done(&r);
	nd_result_done(&r);
	nd_result_done(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),       cmocka_unit_test(test_start),
		cmocka_unit_test(test_stream),          cmocka_unit_test(test_counted_cycles),
		cmocka_unit_test(test_both_directions), cmocka_unit_test(test_loss),
		cmocka_unit_test(test_unplaced),        cmocka_unit_test(test_transactions),
		cmocka_unit_test(test_turns),           cmocka_unit_test(test_firewall),
		cmocka_unit_test(test_same_host),       cmocka_unit_test(test_machine_told_once),
		cmocka_unit_test(test_lost_peer),       cmocka_unit_test(test_lost_peer_had_told),
		cmocka_unit_test(test_no_window),       cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_ragged_rows),     cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_good_run),        cmocka_unit_test(test_meant_skew),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
