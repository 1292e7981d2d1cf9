/* SPDX-License-Identifier: MIT */
/* The plan of an NTttcp test: what the command lines of both tools have in common. */
#include <errno.h>
#include <string.h>

#include "engine/engine.h"
#include "persona/ntttcp.h"

#define LINUX_TICK_NS (500 * ND_NS_PER_MS)
#define CONNECT_NS    (10 * ND_NS_PER_S)
#define DRAIN_NS      (10 * ND_NS_PER_S)
#define COUNT_LIMIT_NS \
	(3 * 3600 * ND_NS_PER_S) /* Windows: buffers are counted, and -t is not given */

static uint64_t target_flows(const struct nd_ntttcp_line *l)
{
	const struct nd_target *t = l->targets.v;
	uint64_t sum = 0, i;

	for (i = 0; i < l->targets.n; i++)
		sum += t[i].flows;
	return sum;
}

/* The shortest of these that keeps the number of intervals down. */
static uint64_t interval_ns(const struct nd_plan *plan, uint64_t tick_ns)
{
	uint64_t all = plan->warmup_ns + plan->duration_ns + plan->cooldown_ns;

	while (all / tick_ns > ND_MAX_INTERVALS)
		tick_ns *= 2;
	return ND_MIN(tick_ns, plan->duration_ns);
}

/* -sam makes a result of each interval. */
static uint64_t tick_ns(const struct nd_ntttcp *n)
{
	if (n->sample_s)
		return n->sample_s * ND_NS_PER_S;
	return n->windows ? ND_NS_PER_S : LINUX_TICK_NS;
}

static void fill_times(struct nd_plan *plan, const struct nd_ntttcp *n)
{
	plan->warmup_ns = n->warmup_ms * ND_NS_PER_MS;
	plan->cooldown_ns = n->cooldown_ms * ND_NS_PER_MS;
	plan->duration_ns = n->time_ms * ND_NS_PER_MS;
	if (n->continuous)
		plan->duration_ns = ND_MAX_NS;
	else if (!n->time_ms)
		plan->duration_ns = COUNT_LIMIT_NS;
	plan->interval_ns = interval_ns(plan, tick_ns(n));
	plan->drain_ns = DRAIN_NS;
	plan->connect_timeout_ns = CONNECT_NS;
}

static int fill_addresses(struct nd_ntttcp_line *l, struct nd_err *err)
{
	const struct nd_target *first = l->targets.v;
	struct nd_plan *plan = l->plan;
	const struct nd_ntttcp *n = &l->n;
	uint64_t i;
	int r = 0;

	plan->host = first->host;
	plan->port = plan->data_port = n->base_port;
	plan->flows_per_port = n->threads_per_port * n->conns_per_thread;
	plan->source_port = n->source_port;
	plan->targets = l->targets;
	plan->af = n->ipv6 ? ND_AF_IPV6 : ND_AF_IPV4;
	if (!n->sender && !first->host)
		plan->af = ND_AF_ANY;
	if (n->client_address)
		r = nd_strv_add(&plan->arena, &plan->bind, n->client_address);
	for (i = 0; r == 0 && !n->sender && i < l->targets.n; i++)
		if (first[i].host)
			r = nd_strv_add(&plan->arena, &plan->serve.listen, first[i].host);
	return r < 0 ? nd_fail(err, r, "out of memory") : 0;
}

static void fill_engine(struct nd_ntttcp_line *l)
{
	struct nd_plan *plan = l->plan;

	plan->tx = plan->rx = plan->wait = "auto";
	plan->engine = "auto";
	if (!l->n.async_io)
		return;
	if (nd_engine_find("uring")) {
		plan->engine = "uring";
		plan->depth = l->n.sender ? ND_MIN(l->n.async_io, ND_MAX_DEPTH) : 0;
		return;
	}
	plan->engine = "epoll";
	nd_ntttcp_note(l, "-a: this program was built without %s, epoll does the work",
		       nd_engine_lacks("uring") ?: "io_uring");
}

static void fill_sockopts(struct nd_plan *plan, const struct nd_ntttcp *n)
{
	plan->sock.nodelay = n->nodelay && !n->udp;
	plan->sock.sndbuf_bytes = n->sndbuf > 0 ? (uint64_t)n->sndbuf : 0;
	plan->sock.rcvbuf_bytes = n->rcvbuf > 0 ? (uint64_t)n->rcvbuf : 0;
	plan->sock.fragment = n->udp; /* neither tool forbids it, and sizes are theirs */
}

/* -d and -jm need to see the bytes. */
static const char *frame_of(const struct nd_ntttcp *n)
{
	if (n->verify)
		return "letter";
	return n->jitter && n->udp ? "jitter" : "plain";
}

/* A receiver takes whatever datagrams come; on TCP it reads by its own size. */
static void fill_workload(struct nd_ntttcp_line *l)
{
	struct nd_plan *plan = l->plan;
	const struct nd_ntttcp *n = &l->n;

	plan->workload[0] = (struct nd_workload){
		.active = ND_CLIENT,
		.load = "stream",
		.frame = frame_of(n),
		.transport = n->udp ? "udp" : "tcp",
		.flows = n->sender ? target_flows(l) : ND_MAX_FLOWS,
		.message_bytes = n->udp && !n->sender ? ND_MAX_DATAGRAM : n->io_bytes,
		.rate_bps = n->sender ? n->bandwidth_bps : 0,
	};
	plan->workloads = plan->workload_list.n = 1;
	plan->open_ended = !n->sender;
	plan->hold = !n->sender && n->hold;
	plan->keep_open =
		n->sender && n->windows; /* its receivers take an early end for a failure */
	plan->on_time = true;
	plan->interrupts = n->interrupts;
	plan->counted_nic = n->nic;
	plan->payload = n->udp && !n->windows ? ND_PAYLOAD_FILL_B : ND_PAYLOAD_FILL_A;
}

static int check_limits(const struct nd_ntttcp_line *l, struct nd_err *err)
{
	const struct nd_target *t = l->targets.v;
	uint64_t flows = target_flows(l), i;

	if (flows > ND_MAX_FLOWS)
		return nd_fail(err, -EINVAL, "%llu connections are over the limit of %d",
			       (unsigned long long)flows, ND_MAX_FLOWS);
	if (l->n.source_port && l->n.source_port + flows - 1 > UINT16_MAX)
		return nd_fail(err, -EINVAL,
			       "-f: %llu connections from port %llu on end above 65535",
			       (unsigned long long)flows, (unsigned long long)l->n.source_port);
	for (i = 0; i < l->targets.n; i++)
		if (t[i].port + t[i].ports - 1 > UINT16_MAX)
			return nd_fail(err, -EINVAL, "-p: %llu ports from %llu on end above 65535",
				       (unsigned long long)t[i].ports,
				       (unsigned long long)t[i].port);
	return 0;
}

int nd_ntttcp_fill(struct nd_ntttcp_line *l, struct nd_err *err)
{
	struct nd_plan *plan = l->plan;
	int r = check_limits(l, err);

	if (r == 0)
		r = fill_addresses(l, err);
	if (r < 0)
		return r;
	fill_times(plan, &l->n);
	fill_engine(l);
	fill_sockopts(plan, &l->n);
	fill_workload(l);
	plan->verb = l->n.sender ? ND_VERB_STREAM : ND_VERB_RECEIVE;
	plan->dialect = "ntttcp";
	plan->face = &l->n;
	plan->face_table = &nd_ntttcp_table;
	plan->daemon = l->n.daemon;
	plan->out.format = l->n.windows ? "ntttcp-windows" : "ntttcp-linux";
	plan->out.quiet = l->n.quiet;
	plan->out.verbose = l->n.verbose;
	return 0;
}
