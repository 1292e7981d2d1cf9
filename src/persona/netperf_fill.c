/* SPDX-License-Identifier: MIT */
/* The plan of a netperf test. Sizes that the system chooses are put in when the data socket is there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "persona/netperf.h"
#include "report/report.h"

#define LINE       struct nd_netperf_line
#define BOTH       (ND_NP_SEND | ND_NP_RECV)
#define CONNECT_NS (60 * ND_NS_PER_S)
#define DRAIN_NS   (60 * ND_NS_PER_S) /* a sender's time ends with the receiver's FIN */
#define SEND_BYTES 16384u             /* until the system's choice is known */
#define RECV_BYTES 131072u
#define GOODBYES   3

static const char *load_of(const struct nd_netperf *n)
{
	if (n->direction == 0)
		return "cc";
	if (n->connection_test)
		return "crr";
	if (n->direction == BOTH)
		return "rr";
	return n->keep_stats ? "timed" : "stream"; /* each call */
}

static void fill_times(LINE *l)
{
	struct nd_plan *plan = l->plan;
	const struct nd_netperf *n = &l->n;

	plan->duration_ns = n->length > 0 ? (uint64_t)n->length * ND_NS_PER_S : ND_MAX_NS;
	plan->interval_ns = n->interim_ns ? n->interim_ns : ND_NS_PER_S;
	while (plan->duration_ns / plan->interval_ns > ND_MAX_INTERVALS)
		plan->interval_ns *= 2;
	plan->interval_ns = ND_MIN(plan->interval_ns, plan->duration_ns);
	plan->warmup_ns = plan->cooldown_ns = 0;
	plan->short_last = n->interim_ns != 0;
	plan->drain_ns = DRAIN_NS;
	plan->connect_timeout_ns = CONNECT_NS;
	plan->refused_ns = n->retry ? CONNECT_NS : 0;
}

static int fill_targets(LINE *l, struct nd_err *err)
{
	const struct nd_netperf *n = &l->n;
	struct nd_plan *plan = l->plan;
	struct nd_target *t;
	uint64_t i;

	if (n->parallel == 1 && !n->data_host)
		return 0;
	if (nd_list_new(&plan->arena, &plan->targets, n->parallel, sizeof(*t)) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	t = plan->targets.v;
	for (i = 0; i < n->parallel; i++)
		t[i] = (struct nd_target){ .host = n->data_host ?: plan->host,
					   .port = (uint64_t)n->data_port.remote,
					   .flows = 1,
					   .ports = 1,
					   .cpu = -1 };
	return 0;
}

static int fill_addresses(LINE *l, struct nd_err *err)
{
	const struct nd_netperf *n = &l->n;
	const char *source = n->data_local ?: n->local_host;
	struct nd_plan *plan = l->plan;

	plan->af = n->data_af;
	plan->source_port = (uint64_t)n->data_port.local;
	plan->data_port = (uint64_t)n->data_port.remote;
	if (n->connection_test && n->port_min) {
		plan->turn_ports[0] = n->port_min;
		plan->turn_ports[1] = ND_MAX(n->port_max, n->port_min);
	}
	if (source && nd_strv_add(&plan->arena, &plan->bind, source) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	return fill_targets(l, err);
}

static void fill_sockopts(LINE *l)
{
	const struct nd_netperf *n = &l->n;

	l->plan->sock = (struct nd_sockopts){
		.cc = n->datagram ? NULL : n->local_cc,
		.sndbuf_bytes = n->sndbuf.local > 0 ? (uint64_t)n->sndbuf.local : 0,
		.rcvbuf_bytes = n->rcvbuf.local > 0 ? (uint64_t)n->rcvbuf.local : 0,
		.mss_bytes = n->datagram ? 0 : n->mss_bytes,
		.nodelay = n->nodelay && !n->datagram,
		.fragment = n->datagram && !n->pmtu_discovery,
		.keepalive = n->keepalive && !n->datagram,
		.has_dscp = n->tos.local >= 0,
		.dscp = n->tos.local >= 0 ? (uint64_t)n->tos.local >> 2 : 0,
		.has_priority = n->priority.local >= 0,
		.priority = n->priority.local >= 0 ? (uint64_t)n->priority.local : 0,
		.pacing_bps = n->max_pacing * 8,
		.cork = n->cork && !n->datagram,
		/* who only receives would never send the segment that opens the connection */
		.fastopen = n->fastopen && !n->datagram && n->direction & ND_NP_SEND,
		.no_router = l->route == 0,
		.debug = n->debug,
		.multicast.ttl = n->multicast_ttl,
	};
}

/* Of one send, one read, or one turn. */
static uint64_t message_bytes(const struct nd_netperf *n)
{
	int64_t asked = n->direction & ND_NP_SEND ? n->send_bytes.local : n->recv_bytes.local;

	if (n->direction == BOTH || n->direction == 0)
		asked = ND_MAX(ND_MAX(n->request_bytes, n->response_bytes), 1);
	if (n->datagram)
		return asked > 0 ? ND_MIN((uint64_t)asked, ND_MAX_DATAGRAM) : ND_MAX_DATAGRAM;
	if (asked > 0)
		return (uint64_t)asked;
	return n->direction & ND_NP_SEND ? SEND_BYTES : RECV_BYTES;
}

/* So many operations, all flows together. */
static uint64_t burst_rate(const struct nd_netperf *n)
{
	if (!n->burst || n->direction == ND_NP_RECV)
		return 0;
	return (uint64_t)((double)n->burst * (double)n->parallel * (double)ND_NS_PER_S /
			  (double)n->burst_ns)
		       ?: 1;
}

static void fill_workload(LINE *l)
{
	const struct nd_netperf *n = &l->n;
	struct nd_plan *plan = l->plan;
	bool sends = n->direction != ND_NP_RECV, turns = n->direction == BOTH || !n->direction;
	uint64_t total = n->length < 0 ? (uint64_t)-n->length * n->parallel : 0;

	plan->workload[0] = (struct nd_workload){
		.active = sends ? ND_CLIENT : ND_SERVER,
		.load = load_of(n),
		.frame = "plain",
		.transport = n->datagram ? "udp" : "tcp",
		.flows = n->parallel,
		.message_bytes = message_bytes(n),
		.request_bytes = n->request_bytes > 0 ? (uint64_t)n->request_bytes : 0,
		.response_bytes = n->response_bytes > 0 ? (uint64_t)n->response_bytes : 0,
		.rate_ops = burst_rate(n),
		.total_bytes = turns ? 0 : total,
		.total_ops = turns ? total : 0,
		.ahead = n->first_burst,
		.patience_ns = n->recv_timeout_ns,
		.insists = n->retry,
	};
	plan->workloads = plan->workload_list.n = 1;
}

static int fill_engine(LINE *l, struct nd_err *err)
{
	struct nd_plan *plan = l->plan;
	const struct nd_netperf *n = &l->n;
	bool receives = n->direction == ND_NP_RECV && !n->datagram;

	plan->engine = plan->wait = "auto";
	plan->tx = n->test == ND_NP_TCP_SENDFILE ? "sendfile" : "auto";
	plan->rx = n->copy_avoidance && receives ? "splice" : "auto";
	plan->gso = n->datagram ? 1 : 0; /* each send is a packet, as it always was */
	plan->gro = n->datagram ? ND_OFF : ND_AUTO;
	plan->goodbyes = n->datagram ? GOODBYES : 0;
	plan->payload = ND_PAYLOAD_NETPERF;
	plan->payload_file = n->local_file;
	plan->threads = n->parallel == 1 ? 1 : 0;
	plan->pin_yields = true; /* nobody ever heard of a CPU that there is not */
	if (n->cpu.local >= 0) {
		plan->pin = nd_arena_printf(&plan->arena, "%lld", (long long)n->cpu.local);
		if (!plan->pin)
			return nd_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static void say_ignored(const struct nd_netperf *n)
{
	const struct {
		bool given;
		const char *sentence;
	} rows[] = {
		{ n->fastopen && n->direction == ND_NP_RECV,
		  "-F: TCP Fast Open is for an end that sends first: ignored" },
		{ n->remote_burst && n->direction == BOTH,
		  "-b: the other end answers, it keeps no pace" },
	};

	size_t i;

	for (i = 0; i < ND_COUNTOF(rows); i++)
		if (rows[i].given)
			nd_log(ND_LOG_WARN, "%s", rows[i].sentence);
}

static void fill_face(LINE *l)
{
	struct nd_plan *plan = l->plan;

	plan->dialect = "netperf";
	plan->face = &l->n;
	plan->face_table = &nd_netperf_table;
	plan->out.format = l->format ?: (nd_writer_find("netperf") ? "netperf" : "text");
	plan->out.quiet = l->n.interim_ns == 0;
	/* as the original: no clock is read for an operation whose latency is not asked for */
	plan->untimed = !l->n.keep_stats && l->n.verbosity < 2 && !l->format;
}

int nd_netperf_fill(LINE *l, struct nd_err *err)
{
	int r = fill_addresses(l, err);

	if (r == 0)
		r = fill_engine(l, err);
	if (r < 0)
		return r;
	fill_times(l);
	fill_sockopts(l);
	fill_workload(l);
	fill_face(l);
	say_ignored(&l->n);
	return 0;
}

void nd_netperf_fill_server(LINE *l)
{
	struct nd_plan *plan = l->plan;

	plan->engine = plan->tx = plan->rx = plan->wait = "auto";
	plan->payload = ND_PAYLOAD_NETPERF;
	plan->duration_ns = plan->interval_ns = ND_NS_PER_S;
	plan->open_ended = true;
	plan->workload[0] = (struct nd_workload){ .active = ND_CLIENT,
						  .load = "stream",
						  .frame = "plain",
						  .transport = "tcp",
						  .flows = 1,
						  .message_bytes = RECV_BYTES };
	plan->workloads = plan->workload_list.n = 1;
	fill_face(l);
}
