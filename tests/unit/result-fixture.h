/* SPDX-License-Identifier: MIT */
/* Finished runs with fixed figures, for the tests of result/ and report/. */
#ifndef ND_TESTS_RESULT_FIXTURE_H
#define ND_TESTS_RESULT_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "result/progress.h"
#include "result/result.h"

#define FIX_WINDOW_S  10
#define FIX_INTERVALS 12 /* one of warm-up, ten measured, drain */

/* A plan as somebody else's struct and rows: result and report only walk it. */
struct fix_workload {
	uint64_t flows;
	const char *load;
};

struct fix_plan {
	const char *host;
	int payload;
	uint64_t duration_ns;
	bool verify;
	struct nd_strv bind;
	struct nd_list workloads;
};

static const char *const fix_payloads[] = { "random", "zero", NULL };

/* clang-format off */
static const struct nd_field fix_workload_rows[] = {
	ND_U64(struct fix_workload, flows, ND_M_COUNT, 0, NULL, "Flows."),
	ND_STR(struct fix_workload, load, 0, NULL, "Shape."),
	ND_ROWS_END
};
static const struct nd_table fix_workload_table = {
	.name = "workload", .size = sizeof(struct fix_workload), .rows = fix_workload_rows
};

static const struct nd_field fix_plan_rows[] = {
	ND_STR(struct fix_plan, host, 0, NULL, "Host."),
	ND_ENUM(int, struct fix_plan, payload, 0, NULL, "Payload.", fix_payloads),
	ND_U64(struct fix_plan, duration_ns, ND_M_NS, 0, NULL, "Time."),
	ND_BOOL(struct fix_plan, verify, 0, NULL, "Verify."),
	ND_STRV(struct fix_plan, bind, 0, NULL, "Source addresses."),
	ND_LIST(struct fix_plan, workloads, 0, NULL, "Traffic.", &fix_workload_table),
	ND_ROWS_END
};
static const struct nd_table fix_plan_table = {
	.name = "plan", .size = sizeof(struct fix_plan), .rows = fix_plan_rows
};

/* clang-format on */

static const char *fix_bind[] = { "10.0.0.1", "%eth0" };
static struct fix_workload fix_workload = { 1, "stream" };
static struct fix_plan fix_plan = { .host = "server.example",
				    .duration_ns = 10000000000,
				    .bind = { fix_bind, 2 },
				    .workloads = { &fix_workload, 1 } };

/* What a fixed run is made of. */
struct fix {
	const char *verb, *load, *transport;
	uint64_t flows, message_bytes, rate_bps;
	bool datagram, transactions, bidir;
	bool no_client, no_server, same_host;
	uint64_t lose_every; /* one datagram of so many does not arrive */
};

/* Two pairs of queues. */
static inline void fix_queues(struct nd_machine *m, struct nd_arena *a, bool client)
{
	struct nd_queue_count queue[4];
	struct nd_irq_count irq[3] = { { .number = 40, .count = 0, .name = "eth0-mgmnt" } };
	struct nd_limit_count limit[1] = { { .count = 0, .name = "pps_allowance_exceeded" } };
	uint64_t by_cpu[3][2] = { { 0 } };
	uint32_t cpu[2] = { 0, 5 };
	struct nd_os_detail d = { .queues = 4,
				  .irqs = 3,
				  .limits = client ? 0 : 1,
				  .queue = queue,
				  .irq = irq,
				  .limit = limit,
				  .cpus = 2,
				  .cpu = cpu,
				  .irq_cpu = by_cpu[0],
				  .queue_source = "ethtool" };
	unsigned i;

	for (i = 0; i < 2; i++) {
		uint64_t n = i ? 900000 : 300000;

		queue[i] = (struct nd_queue_count){ 2, 0, i, n, n * 1448, client ? 0 : ND_UNKNOWN };
		queue[2 + i] = (struct nd_queue_count){ 2, 1, i, n / 2, n * 32, ND_UNKNOWN };
		irq[1 + i] = (struct nd_irq_count){ 2, 41 + i, n / 100, "" };
		(void)snprintf(irq[1 + i].name, sizeof(irq[1 + i].name), "eth0-Tx-Rx-%u", i);
		by_cpu[1 + i][i % 2] = n / 100;
	}
	if (nd_machine_queues(&d, a, m) < 0)
		m->queue_source = NULL;
}

static inline void fix_machine(struct nd_side *s, struct nd_arena *a, bool client)
{
	struct nd_machine *m = &s->machine;
	struct nd_cpu_row *row;
	unsigned i;

	m->seconds = 10;
	m->busy_cores = client ? 1.38 : 1.71;
	m->user_cores = client ? 0.12 : 0.08;
	m->system_cores = client ? 0.95 : 0.81;
	m->irq_cores = 0;
	m->softirq_cores = client ? 0.31 : 0.82;
	m->steal_cores = client ? 0.01 : 0.25;
	m->idle_cores = client ? 6.61 : 6.04;
	m->process_cores = client ? 0.98 : 0.86;
	m->busiest_cpu = client ? 3 : 5;
	m->busiest_ratio = client ? 0.871 : 0.982;
	m->busiest_softirq_ratio = client ? 0.21 : 0.4125;
	m->steal_ratio = client ? 0.00125 : 0.03125;
	m->interrupts = 412345;
	m->context_switches = 81234;
	m->cpu_mhz = 2600;
	m->cgroup_throttled_periods = client ? 0 : ND_UNKNOWN;
	m->cgroup_throttled_ms = client ? 0 : (double)NAN;
	m->conntrack_count = client ? 17 : ND_UNKNOWN;
	m->conntrack_max = client ? 262144 : ND_UNKNOWN;
	m->peak_rss_bytes = 12582912;
	m->softnet_dropped = 0;
	m->udp_rcvbuf_errors = 0;
	m->udp_no_ports = 0;
	m->udp_in_csum_errors = 0;
	m->tcp_retrans_segs = client ? 17 : 0;
	m->ip_frag_creates = 0;
	m->nic = "eth0";
	m->nic_rx_packets = 1234567;
	m->nic_rx_dropped = 0;
	m->nic_tx_packets = 7654321;
	m->nic_tx_dropped = 0;
	m->qdisc_drops = 0;
	if (nd_list_new(a, &m->cpus, 2, sizeof(*row)) < 0)
		return;
	row = m->cpus.v;
	for (i = 0; i < 2; i++)
		row[i] = (struct nd_cpu_row){ i,        0.05,   0.5,  0,
					      0.2,      0.01,   0.24, 0.75,
					      4000 + i, 600000, i,    client ? 0 : ND_UNKNOWN };
	fix_queues(m, a, client);
}

static inline void fix_facts(struct nd_side *s, bool client, bool same_host)
{
	s->name = client ? "client" : "server";
	s->address = client ? "10.0.0.1" : "10.0.0.2";
	s->version = "0.0.0";
	s->threads = 2;
	s->start_ns = client ? 1200 : -800;
	s->overlapped_tests = client ? ND_UNKNOWN : 0;
	s->host.hostname = client || same_host ? "host-a" : "host-b";
	s->host.boot_id = client || same_host ? "boot-a" : "boot-b";
	s->host.kernel = "6.1.0-18-amd64";
	s->host.machine = "x86_64";
	s->host.cpu_model = "AMD EPYC 7763";
	s->host.cpus_online = 8;
	s->host.cpu_mhz = 2450;
	s->host.virtualization = "KVM";
	s->host.rmem_max_bytes = 212992;
	s->host.wmem_max_bytes = 212992;
	s->nic_facts.name = "eth0";
	s->nic_facts.driver = "mlx5_core";
	s->nic_facts.speed_mbps = 10000;
	s->nic_facts.mtu_bytes = 1500;
	s->nic_facts.is_virtual = true;
}

/* Bytes of one flow in one interval: flows differ a little, intervals are alike. */
static inline uint64_t fix_bytes(const struct fix *f, uint64_t flow)
{
	uint64_t per_s = f->transactions ? 45000 : f->rate_bps ? f->rate_bps / 8 : 1176500000;

	if (f->transactions)
		return per_s;
	per_s = per_s / f->flows + flow * 1000;
	return f->datagram ? per_s / f->message_bytes * f->message_bytes : per_s;
}

static inline uint64_t fix_lost(const struct fix *f, uint64_t messages)
{
	return f->lose_every ? messages / f->lose_every : 0;
}

static inline void fix_flow(const struct fix *f, struct nd_part *p, struct nd_flow_row *row,
			    uint64_t i)
{
	uint64_t bytes = fix_bytes(f, i), messages = bytes / f->message_bytes;
	uint64_t got = messages - fix_lost(f, messages);

	nd_table_unknown(&nd_flow_row_table, row);
	row->flow = p->workload * f->flows + i;
	row->workload = p->workload;
	row->first_ns = (int64_t)(i * 10000 + 5000);
	row->window_tx_bytes = row->tx_bytes = row->window_rx_bytes = row->rx_bytes = 0;
	row->tx_messages = row->rx_messages = row->rx_unique = 0;
	row->rx_duplicate = row->rx_reordered = 0;
	if (p->active || f->transactions) {
		row->window_tx_bytes = bytes * FIX_WINDOW_S;
		row->tx_bytes = bytes * (FIX_WINDOW_S + 1);
		row->tx_messages = messages * (FIX_WINDOW_S + 1);
	}
	if (!p->active || f->transactions) {
		row->window_rx_bytes = got * f->message_bytes * FIX_WINDOW_S;
		row->rx_bytes = got * f->message_bytes * (FIX_WINDOW_S + 1);
		row->rx_messages = row->rx_unique = got * (FIX_WINDOW_S + 1);
		row->jitter_us = 4.5;
	}
	if (!f->datagram) {
		row->window_rx_bytes = p->active && !f->transactions ? 0 : bytes * FIX_WINDOW_S;
		row->rx_bytes = row->window_rx_bytes / FIX_WINDOW_S * (FIX_WINDOW_S + 1);
	}
	if (!f->datagram && p->active) {
		row->retransmits = i % 3;
		row->rtt_us = 431 + i;
		row->cwnd_segments = 312;
	}
}

/* One interval as the sum over flows. */
static inline void fix_interval(const struct fix *f, const struct nd_part *p,
				struct nd_interval_sample *s, uint64_t index)
{
	bool last = index == FIX_INTERVALS - 1;
	uint64_t i;

	nd_table_unknown(&nd_interval_table, s);
	s->index = index;
	s->workload = p->workload;
	s->phase = index == 0 ? "warmup" : last ? "drain" : "measure";
	s->start_s = (double)index;
	s->end_s = (double)index + (last ? 0.25 : 1);
	s->seconds = s->end_s - s->start_s;
	s->tx_bytes = s->tx_messages = s->rx_bytes = s->rx_messages = s->rx_unique = s->rx_lost = 0;
	s->transactions = 0;
	if (p->active && !f->datagram)
		s->tcp_retransmits = index == 3 ? 2 : 0;
	for (i = 0; !last && i < f->flows; i++) {
		uint64_t bytes = fix_bytes(f, i), n = bytes / f->message_bytes;
		uint64_t lost = fix_lost(f, n);

		if (p->active || f->transactions) {
			s->tx_bytes += bytes;
			s->tx_messages += n;
		}
		if (!p->active || f->transactions) {
			s->rx_bytes += f->datagram ? (n - lost) * f->message_bytes : bytes;
			s->rx_messages += n - lost;
			s->rx_unique += n - lost;
			s->rx_lost += lost;
		}
		if (p->active && f->transactions)
			s->transactions += n;
	}
	s->tx_bps = (double)s->tx_bytes * 8 / s->seconds;
	s->rx_bps = (double)s->rx_bytes * 8 / s->seconds;
}

static inline void fix_add(struct nd_totals *t, const struct nd_interval_sample *s)
{
	t->tx_bytes += s->tx_bytes;
	t->tx_messages += s->tx_messages;
	t->rx_bytes += s->rx_bytes;
	t->rx_messages += s->rx_messages;
	t->rx_unique += s->rx_unique;
	t->rx_highest += s->rx_unique + s->rx_lost;
	t->transactions += s->transactions;
}

static inline void fix_totals(struct nd_part *p)
{
	const struct nd_interval_sample *s = p->intervals.v;
	uint64_t i;

	p->window = p->run = (struct nd_totals){ .seconds = 11.25,
						 .end_ns = 11250000000,
						 .rx_dropped = ND_UNKNOWN };
	p->window.start_ns = ND_NS_PER_S;
	p->window.end_ns = 11 * ND_NS_PER_S;
	p->window.seconds = FIX_WINDOW_S;
	for (i = 0; i < p->intervals.n; i++) {
		fix_add(&p->run, &s[i]);
		if (!strcmp(s[i].phase, "measure"))
			fix_add(&p->window, &s[i]);
	}
	p->window.tx_bps = (double)p->window.tx_bytes * 8 / p->window.seconds;
	p->window.rx_bps = (double)p->window.rx_bytes * 8 / p->window.seconds;
	p->run.tx_bps = (double)p->run.tx_bytes * 8 / p->run.seconds;
	p->run.rx_bps = (double)p->run.rx_bytes * 8 / p->run.seconds;
}

static inline void fix_sender(const struct fix *f, struct nd_part *p)
{
	if (!f->datagram)
		p->tcp =
			(struct nd_tcp_stats){ .flows_sampled = f->flows,
					       .window_retransmits = f->flows == 1 ? 2 : ND_UNKNOWN,
					       .retransmits = f->flows == 1 ? 3 : 63,
					       .rtt_samples = 1200,
					       .rtt_min_us = 102,
					       .rtt_mean_us = 431.5,
					       .rtt_p99_us = 1204,
					       .cwnd_mean_segments = 312.25,
					       .mss_bytes = 1448,
					       .cc = "cubic",
					       .rwnd_limited_ratio = 0.12,
					       .sndbuf_limited_ratio = 0,
					       .cwnd_limited_ratio = 0.043,
					       .delivery_rate_bps = 9.5e9 };
	if (!f->transactions)
		return;
	p->rtt_count = p->window.transactions;
	p->rtt_min_us = 18.1;
	p->rtt_mean_us = 22.2;
	p->rtt_p50_us = 21.4;
	p->rtt_p90_us = 25.9;
	p->rtt_p99_us = 40.25;
	p->rtt_p999_us = 112;
	p->rtt_max_us = 2040.5;
}

static inline int fix_part(const struct fix *f, struct nd_arena *a, struct nd_part *p, bool client)
{
	struct nd_interval_sample *s;
	struct nd_flow_row *row;
	uint64_t i;

	if (nd_list_new(a, &p->intervals, FIX_INTERVALS, sizeof(*s)) < 0 ||
	    nd_list_new(a, &p->flows, f->flows, sizeof(*row)) < 0)
		return -1;
	s = p->intervals.v;
	for (i = 0; i < FIX_INTERVALS; i++)
		fix_interval(f, p, &s[i], i);
	row = p->flows.v;
	for (i = 0; i < f->flows; i++)
		fix_flow(f, p, &row[i], i);
	fix_totals(p);
	p->engine = f->flows == 1 ? "blocking" : "epoll";
	p->tx_technique = p->active || f->transactions ? f->datagram ? "sendmmsg" : "write" : NULL;
	p->rx_technique = !p->active || f->transactions ? f->datagram ? "recvmmsg" : "read" : NULL;
	p->sndbuf_bytes = 425984;
	p->rcvbuf_bytes = 425984;
	p->peer_address = client ? "10.0.0.2" : NULL;
	if (p->active)
		fix_sender(f, p);
	else if (f->datagram)
		p->jitter_us = 4.5;
	return 0;
}

/* Never NULL. */
static inline struct nd_side *fix_side(const struct fix *f, struct nd_arena *a, bool client)
{
	struct nd_side *s = nd_arena_alloc(a, 1, sizeof(*s));
	struct nd_part *p;
	uint64_t i;

	if (!s)
		abort();
	nd_table_unknown(&nd_side_table, s);
	fix_facts(s, client, f->same_host);
	fix_machine(s, a, client);
	if (nd_list_new(a, &s->parts, f->bidir ? 2 : 1, sizeof(*p)) < 0)
		abort();
	p = s->parts.v;
	for (i = 0; i < s->parts.n; i++) {
		nd_table_unknown(&nd_part_table, &p[i]);
		p[i].workload = i;
		p[i].active = client == (i == 0);
		if (fix_part(f, a, &p[i], client) < 0)
			abort();
	}
	return s;
}

static inline void fix_ask(const struct fix *f, struct nd_result_ask *ask)
{
	unsigned i;

	*ask = (struct nd_result_ask){ .workloads = f->bidir ? 2 : 1,
				       .window_s = FIX_WINDOW_S,
				       .interval_s = 1 };
	for (i = 0; i < ask->workloads; i++) {
		ask->workload[i].client_active = i == 0;
		ask->workload[i].datagram = f->datagram;
		ask->workload[i].transactions = f->transactions;
		ask->workload[i].flows = f->flows;
		ask->workload[i].message_bytes = f->message_bytes;
		ask->workload[i].rate_bps = f->rate_bps;
		ask->workload[i].load = f->load;
		ask->workload[i].transport = f->transport;
	}
}

/* Everything but joining and warning: tests may bend it before. */
static inline void fix_make(const struct fix *f, struct nd_result *r)
{
	nd_result_init(r);
	r->version = "0.0.0";
	r->verb = f->verb;
	r->target = "server.example";
	r->started_unix_ms = 1893553445000;
	r->started = "2030-01-02T03:04:05Z";
	r->plan = &fix_plan;
	r->plan_table = &fix_plan_table;
	r->clock_offset_us = -1250.5;
	r->clock_rtt_us = 84;
	r->clock_drift_us = 0.75;
	if (!f->no_client)
		r->client = fix_side(f, &r->arena, true);
	if (!f->no_server)
		r->server = fix_side(f, &r->arena, false);
}

static const struct fix fix_tcp = {
	.verb = "stream", .load = "stream", .transport = "tcp", .flows = 1, .message_bytes = 1048576
};
static const struct fix fix_bidir = { .verb = "stream",
				      .load = "stream",
				      .transport = "tcp",
				      .flows = 64,
				      .message_bytes = 65536,
				      .bidir = true };
static const struct fix fix_udp = { .verb = "stream",
				    .load = "stream",
				    .transport = "udp",
				    .flows = 2,
				    .message_bytes = 1472,
				    .rate_bps = 2000000000,
				    .datagram = true,
				    .lose_every = 40 };
static const struct fix fix_rr = { .verb = "latency",
				   .load = "rr",
				   .transport = "tcp",
				   .flows = 1,
				   .message_bytes = 1,
				   .transactions = true,
				   .same_host = true };
static const struct fix fix_lost_peer = { .verb = "stream",
					  .load = "stream",
					  .transport = "tcp",
					  .flows = 1,
					  .message_bytes = 1048576,
					  .no_server = true };

#endif
