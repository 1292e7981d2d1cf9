/* SPDX-License-Identifier: MIT */
/* From what both ends measured to directions: the receiver's count is the result. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "result/int.h"
#include "stat/summary.h"

#define STEADY_TOLERANCE 0.05
#define SHORTEST_CPU_S   0.05 /* of which a clock is told */

static bool lossy(const struct nd_direction *d)
{
	return d->datagram && !d->transactional;
}

static void join_window_sent(struct nd_direction *d, const struct nd_totals *tx)
{
	d->offered_bps = tx->seconds == 0 ? (double)NAN : tx->tx_bps;
	d->sent_bytes = tx->tx_bytes;
	d->sender_window_s = tx->seconds;
	if (d->transactional && nd_known(tx->transactions) && tx->seconds > 0)
		d->transactions_per_s = (double)tx->transactions / tx->seconds;
}

static void join_window_received(struct nd_direction *d, const struct nd_totals *rx)
{
	uint64_t lost;

	d->goodput_bps = rx->seconds == 0 ? (double)NAN : rx->rx_bps; /* ended before the window */
	d->received_bytes = rx->rx_bytes;
	d->window_s = rx->seconds;
	if (nd_known(rx->start_ns))
		d->window_start_s = (double)rx->start_ns / (double)ND_NS_PER_S;
	if (!lossy(d))
		return;
	if (nd_known(rx->rx_messages) && rx->seconds > 0)
		d->messages_per_s = (double)rx->rx_messages / rx->seconds;
	lost = nd_minus(rx->rx_highest, rx->rx_unique);
	if (nd_known(lost) && rx->rx_highest > 0)
		d->lost_ratio = (double)lost / (double)rx->rx_highest;
}

/* First byte to drain. */
static void join_run(const struct nd_join *j)
{
	struct nd_direction *d = j->d;
	bool counts_messages = d->datagram || d->transactional;

	if (j->tx) {
		d->total_sent_bytes = j->tx->run.tx_bytes;
		if (counts_messages)
			d->total_sent_messages = j->tx->run.tx_messages;
	}
	if (j->rx) {
		d->total_received_bytes = j->rx->run.rx_bytes;
		if (counts_messages)
			d->total_received_messages = j->rx->run.rx_messages;
	}
	if (!j->tx || !j->rx)
		return;
	if (lossy(d))
		d->agreed = nd_known(j->tx->run.tx_messages) &&
			    j->tx->run.tx_messages ==
				    nd_distinct(j->rx->run.rx_unique, j->rx->run.rx_messages);
	else
		d->agreed = nd_known(d->total_sent_bytes) &&
			    d->total_sent_bytes == d->total_received_bytes;
}

/* Datagrams sent when the measured window was over. */
static uint64_t sent_after(const struct nd_direction *d)
{
	const struct nd_interval_joint *row = d->intervals.v;
	uint64_t n = 0;

	for (uint64_t i = 0; i < d->intervals.n; i++) {
		const char *phase = row[i].phase ? row[i].phase : "";

		if (strcmp(phase, "cooldown") == 0 || strcmp(phase, "drain") == 0)
			n = nd_plus(n, row[i].sent_messages);
	}
	return n;
}

/* No number that came tells of the last ones of flows, but the sender's count does. */
static void join_window_tail(const struct nd_join *j)
{
	struct nd_direction *d = j->d;
	uint64_t tail = nd_minus(d->loss.tail, sent_after(d));
	const struct nd_totals *rx = j->rx ? &j->rx->window : NULL;
	uint64_t lost = rx ? nd_minus(rx->rx_highest, rx->rx_unique) : ND_UNKNOWN;

	if (!nd_known(tail) || tail == 0 || !nd_known(lost))
		return;
	d->lost_ratio = ((double)lost + (double)tail) / ((double)rx->rx_highest + (double)tail);
}

/* A peer may have fewer scruples. */
static double told(double quantile, uint64_t samples, uint64_t one_of)
{
	return nd_quantile_says(samples, one_of) ? quantile : (double)NAN;
}

static void join_tcp(struct nd_direction *d, const struct nd_part *sender)
{
	d->tcp = sender->tcp;
	d->tcp.rtt_p99_us = told(sender->tcp.rtt_p99_us, sender->tcp.rtt_samples, 100);
}

/* What the end that answers says of its part, or why there is nothing. */
static void join_turns(struct nd_parted *k, const struct nd_part *other)
{
	k->server = other ? other->turned : NULL;
	k->server_missing =
		k->server ? k->server->missing
		: other   ? "the answering end tells no stamps: its version does not know of them"
			  : "the answering end told no result";
	if (k->server && k->server->missing)
		k->server = NULL;
}

static void join_round_trips(struct nd_direction *d, const struct nd_part *asker,
			     const struct nd_part *other)
{
	d->rtt_count = asker->rtt_count;
	d->rtt_min_us = asker->rtt_min_us;
	d->rtt_mean_us = asker->rtt_mean_us;
	d->rtt_p50_us = told(asker->rtt_p50_us, asker->rtt_count, 2);
	d->rtt_p90_us = told(asker->rtt_p90_us, asker->rtt_count, 10);
	d->rtt_p99_us = told(asker->rtt_p99_us, asker->rtt_count, 100);
	d->rtt_p999_us = told(asker->rtt_p999_us, asker->rtt_count, 1000);
	d->rtt_max_us = asker->rtt_max_us;
	d->latency = asker->latency;
	if (d->latency && d->latency->kernel)
		join_turns(d->latency->kernel, other);
}

static int join_steady(struct nd_direction *d)
{
	const struct nd_interval_joint *row = d->intervals.v;
	nd_auto_free double *v = NULL;
	uint64_t i, n = 0;

	if (d->intervals.n < 4)
		return 0;
	v = calloc(d->intervals.n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (i = 0; i < d->intervals.n; i++) {
		double seconds = row[i].end_s - row[i].start_s;

		if (!row[i].phase || strcmp(row[i].phase, "measure") != 0)
			continue;
		if (!d->transactional)
			v[n++] = row[i].goodput_bps;
		else if (nd_known(row[i].transactions) && seconds > 0)
			v[n++] = (double)row[i].transactions / seconds;
	}
	if (n < 4)
		return 0;
	for (i = 0; i < n; i++)
		if (isnan(v[i]))
			return 0;
	d->steady = nd_steady(v, n, STEADY_TOLERANCE) ? 1 : 0;
	return 0;
}

static int join_direction(const struct nd_join *j)
{
	struct nd_direction *d = j->d;
	int r;

	if (j->tx) {
		/* A dialect that does not say so: answers were counted. */
		d->transactional = d->transactional ||
				   (nd_known(j->tx->run.transactions) && j->tx->run.transactions);
		join_window_sent(d, &j->tx->window);
		join_tcp(d, j->tx);
	}
	if (j->rx)
		join_window_received(d, &j->rx->window);
	if (j->rx && lossy(d))
		d->jitter_us = j->rx->jitter_us;
	if (j->tx && d->transactional)
		join_round_trips(d, j->tx, j->rx);
	join_run(j);
	r = lossy(d) ? nd_join_ledger(j) : 0;
	if (lossy(d))
		nd_join_packets(j);
	if (r == 0)
		r = nd_join_intervals(j);
	if (r == 0 && lossy(d))
		join_window_tail(j);
	if (r == 0)
		r = nd_join_flows(j);
	return r < 0 ? r : join_steady(d);
}

static int ask_direction(struct nd_result *r, const struct nd_result_ask *ask, unsigned i,
			 struct nd_direction *d)
{
	bool client = ask->workload[i].client_active;

	nd_table_unknown(&nd_direction_table, d);
	d->workload = i;
	d->client_active = client;
	d->datagram = ask->workload[i].datagram;
	d->transactional = ask->workload[i].transactions;
	d->label = client ? "client to server" : "server to client";
	d->sender = client ? "client" : "server";
	d->receiver = client ? "server" : "client";
	d->load = nd_arena_dup(&r->arena, ask->workload[i].load);
	d->transport = nd_arena_dup(&r->arena, ask->workload[i].transport);
	d->message_sizes = nd_arena_dup(&r->arena, ask->workload[i].sizes);
	if ((ask->workload[i].sizes && !d->message_sizes) || (ask->workload[i].load && !d->load) ||
	    (ask->workload[i].transport && !d->transport))
		return -ENOMEM;
	d->flows = ask->workload[i].flows;
	d->message_bytes = ask->workload[i].message_bytes;
	d->asked_rate_bps = ask->workload[i].rate_bps;
	d->asked_bytes = ask->workload[i].total_bytes;
	d->asked_rate_ops = ask->workload[i].rate_ops;
	d->asked_window_s = ask->window_s;
	return 0;
}

/* What the test moved per second, all directions; NAN: not known, or not of this kind alone. */
struct work {
	double bytes, transactions;
};

static struct work work_of(const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;
	struct work w = { 0, 0 };
	uint64_t i;

	for (i = 0; i < r->directions.n; i++) {
		w.bytes += d[i].transactional ? (double)NAN : d[i].goodput_bps / 8;
		w.transactions += d[i].transactional ? d[i].transactions_per_s : (double)NAN;
	}
	return w;
}

/* What one end's CPU did for it. NAN members: unknown. */
struct cost {
	double cpu_s_per_gb, cpu_us_per_transaction;
	double counted, estimated; /* cycles per byte */
};

/* @a / @b where there is something to divide by. */
static double per(double a, double b)
{
	return b > 0 ? a / b : (double)NAN;
}

static struct cost cost_of(const struct nd_side *side, const struct work *w)
{
	struct cost c = { (double)NAN, (double)NAN, (double)NAN, (double)NAN };
	const struct nd_machine *m;

	if (!side)
		return c;
	m = &side->machine;
	c.cpu_s_per_gb = per(m->busy_cores * 1e9, w->bytes);
	c.cpu_us_per_transaction = per(m->busy_cores * 1e6, w->transactions);
	if (nd_known(m->cycles))
		c.counted = per(per((double)m->cycles, m->seconds), w->bytes);
	if (nd_known(side->host.cpu_mhz) && side->host.cpu_mhz > 0)
		c.estimated = per(m->process_cores * (double)side->host.cpu_mhz * 1e6, w->bytes);
	return c;
}

static void put_cost(struct nd_direction *d, const struct cost *sender, const struct cost *receiver,
		     bool counted)
{
	d->sender_cpu_s_per_gb = sender->cpu_s_per_gb;
	d->receiver_cpu_s_per_gb = receiver->cpu_s_per_gb;
	d->sender_cpu_us_per_transaction = sender->cpu_us_per_transaction;
	d->receiver_cpu_us_per_transaction = receiver->cpu_us_per_transaction;
	d->sender_cycles_per_byte = counted ? sender->counted : sender->estimated;
	d->receiver_cycles_per_byte = counted ? receiver->counted : receiver->estimated;
	if (!isnan(d->sender_cycles_per_byte) || !isnan(d->receiver_cycles_per_byte))
		d->cycles_source = counted ? "perf" : "estimated from CPU time and nominal MHz";
}

/*
 * CPU belongs to an end, not to a direction: it is set against the bytes of all directions. Cycles
 * are the CPU's own count at both ends or an estimate at both, so that they compare.
 */
static void join_cost(struct nd_result *r)
{
	struct work w = work_of(r);
	struct cost client = cost_of(r->client, &w), server = cost_of(r->server, &w);
	bool counted =
		(!r->client || !isnan(client.counted)) && (!r->server || !isnan(server.counted));
	struct nd_direction *d = r->directions.v;
	uint64_t i;

	if (r->same_host && r->client && !isnan(r->client->machine.busy_cores)) {
		/* one machine: shown once, never added */
		server.cpu_s_per_gb = (double)NAN;
		server.cpu_us_per_transaction = (double)NAN;
	}
	for (i = 0; i < r->directions.n; i++)
		put_cost(&d[i], d[i].client_active ? &client : &server,
			 d[i].client_active ? &server : &client, counted);
}

static int join_partial(struct nd_result *r)
{
	const struct nd_side *side[] = { r->client, r->server };
	static const char *const name[] = { "client", "server" };
	const char *reason;
	unsigned i;

	for (i = 0; i < ND_COUNTOF(side); i++) {
		if (side[i] && !side[i]->partial)
			continue;
		if (!side[i] && side[1 - i] && r->face) /* other tools tell nothing */
			continue;
		r->partial = true;
		if (r->partial_reason)
			continue;
		if (side[i] && side[i]->partial_reason)
			reason = nd_arena_printf(&r->arena, "%s: %s", name[i],
						 side[i]->partial_reason);
		else
			reason = nd_arena_printf(&r->arena, "the %s %s", name[i],
						 side[i] ? "was stopped early"
							 : "did not report what it measured");
		if (!reason)
			return -ENOMEM;
		r->partial_reason = reason;
	}
	return 0;
}

/* Of the whole program's CPU time; where nobody counts cycles, the kernel is believed. */
static void judge_clock(struct nd_side *side)
{
	struct nd_machine *m;
	double cpu_s;

	if (!side)
		return;
	m = &side->machine;
	cpu_s = m->process_cores * m->seconds;
	if (nd_known(m->cycles) && cpu_s >= SHORTEST_CPU_S) {
		m->effective_mhz = (double)m->cycles / cpu_s / 1e6;
		m->mhz_source = "perf";
	} else if (!isnan(m->cpu_mhz)) {
		m->effective_mhz = m->cpu_mhz;
		m->mhz_source = "the kernel's word, not measured";
	}
}

/* Between the ends' first edges, each by its own clock: worth no more than the clocks' error. */
static void join_start(struct nd_result *r)
{
	if (isnan(r->clock_rtt_us) || !r->client || !r->server ||
	    r->client->start_ns == INT64_MIN || r->server->start_ns == INT64_MIN)
		return;
	r->ends_apart_us = fabs((double)r->client->start_ns - (double)r->server->start_ns) /
			   (double)ND_NS_PER_US;
}

static bool same_text(const char *a, const char *b)
{
	return a && b && *a && !strcmp(a, b);
}

int nd_result_join(struct nd_result *r, const struct nd_result_ask *ask, struct nd_err *err)
{
	struct nd_direction *d;
	unsigned i;
	int e;

	if (ask->workloads > ND_COUNTOF(ask->workload))
		return nd_fail(err, -E2BIG, "joining results: %llu kinds of traffic, at most %zu",
			       (unsigned long long)ask->workloads, ND_COUNTOF(ask->workload));
	if (r->client && r->server)
		r->same_host =
			r->same_host || same_text(r->client->host.boot_id, r->server->host.boot_id);
	r->asked_sndbuf_bytes = ask->sndbuf_bytes;
	r->asked_rcvbuf_bytes = ask->rcvbuf_bytes;
	e = nd_list_new(&r->arena, &r->directions, ask->workloads, sizeof(*d));
	d = r->directions.v;
	for (i = 0; e == 0 && i < ask->workloads; i++) {
		struct nd_join j = { .r = r, .d = &d[i], .heard = &ask->workload[i].heard };

		e = ask_direction(r, ask, i, &d[i]);
		j.sender = nd_result_sender(r, &d[i]);
		j.receiver = nd_result_receiver(r, &d[i]);
		j.tx = nd_result_part(j.sender, i);
		j.rx = nd_result_part(j.receiver, i);
		if (e == 0)
			e = join_direction(&j);
	}
	if (e == 0)
		e = join_partial(r);
	if (e < 0)
		return nd_fail(err, e, "joining results: out of memory");
	join_cost(r);
	nd_join_packet_costs(r);
	join_start(r);
	judge_clock(r->client);
	judge_clock(r->server);
	return 0;
}
