/* SPDX-License-Identifier: MIT */
/* From what was typed to workloads, and the defaults that depend on something else. */
#include <errno.h>
#include <string.h>

#include "plan/plan.h"

#define TRIAL_WARMUP_NS (200 * ND_NS_PER_MS)
#define IPV4_UDP_BYTES  28u
#define MAX_PIECE_BYTES (1u << 20) /* of pages that are sent without a copy */

/* How much one send hands over: many flows share the caches, so each gets less. */
/* clang-format off */
static const struct { uint64_t flows, bytes; } stream_defaults[] = {
	{ 64,         256 * 1024 }, /* beside what is received in a core's own cache */
	{ 1000,       128 * 1024 },
	{ UINT64_MAX,  64 * 1024 },
};

/* clang-format on */

static uint64_t default_message(uint64_t flows)
{
	size_t i = 0;

	while (flows > stream_defaults[i].flows)
		i++;
	return stream_defaults[i].bytes;
}

static int total_rate(const struct nd_asked_rate *asked, uint64_t flows, const char *name,
		      uint64_t *ret, struct nd_err *err)
{
	uint64_t v = asked->value;

	if (asked->per_flow && __builtin_mul_overflow(v, flows, &v))
		return nd_fail(err, -EINVAL, "%s: the rate over all flows is too large", name);
	*ret = v;
	return 0;
}

/* The largest of those that datagrams take in turn. */
static uint64_t largest(const struct nd_list *sizes)
{
	const struct nd_size *size = sizes->v;
	uint64_t most = 0, i;

	for (i = 0; i < sizes->n; i++)
		most = ND_MAX(most, size[i].bytes);
	return most;
}

static void derive_sizes(struct nd_plan *plan, struct nd_workload *w)
{
	bool rr = nd_plan_has_turns(w);

	w->message_bytes = plan->ask.message_bytes;
	if (rr) {
		w->request_bytes = plan->ask.request_bytes;
		w->response_bytes = plan->ask.response_bytes;
		w->message_bytes = ND_MAX(w->request_bytes, w->response_bytes);
	} else if (plan->ask.sizes.n) {
		w->sizes = plan->ask.sizes;
		w->message_bytes = largest(&w->sizes);
	} else if (!plan->ask.has_message_bytes && plan->verb == ND_VERB_PACKETS) {
		w->message_bytes = ND_PACKET_BYTES;
	} else if (!plan->ask.has_message_bytes && plan->ask.udp) {
		w->message_bytes = 0;
		plan->wants_datagram_bytes = true;
	} else if (!plan->ask.has_message_bytes && plan->ask.max) {
		w->message_bytes = MAX_PIECE_BYTES;
	} else if (!plan->ask.has_message_bytes) {
		w->message_bytes = default_message(w->flows);
	}
}

static const char *frame_of(const struct nd_plan *plan)
{
	if (plan->verify)
		return "pattern";
	return plan->ask.udp ? "native" : "plain";
}

static const char *transport_of(const struct nd_plan *plan)
{
	if (plan->ask.udp)
		return "udp";
	return plan->mptcp ? "mptcp" : "tcp";
}

static int add_workload(struct nd_plan *plan, enum nd_end_kind active, struct nd_err *err)
{
	struct nd_workload *w = &plan->workload[plan->workloads];
	int r;

	*w = (struct nd_workload){
		.active = active,
		.load = plan->ask.shape,
		.frame = frame_of(plan),
		.transport = transport_of(plan),
		.flows = plan->ask.flows,
		.first_flow = nd_plan_flows(plan),
		.total_bytes = plan->ask.total_bytes,
		.total_ops = plan->ask.total_ops,
		.ahead = plan->ask.outstanding > 1 ? plan->ask.outstanding - 1 : 0,
		.arrival = plan->ask.arrival,
	};
	derive_sizes(plan, w);
	r = total_rate(&plan->ask.bps, w->flows, "-b", &w->rate_bps, err);
	if (r == 0)
		r = total_rate(&plan->ask.ops, w->flows, "--rate", &w->rate_ops, err);
	if (r < 0)
		return r;
	plan->workloads++;
	plan->workload_list.n = plan->workloads;
	return 0;
}

/* One way of the traffic under which times are taken again. */
static void add_load(struct nd_plan *plan, enum nd_end_kind active)
{
	const struct nd_asked_load *ask = &plan->load;
	struct nd_workload *w = &plan->workload[plan->workloads];

	*w = (struct nd_workload){
		.active = active,
		.load = "stream",
		.frame = ask->packets ? "native" : "plain",
		.transport = ask->packets  ? "udp"
			     : plan->mptcp ? "mptcp"
					   : "tcp",
		.flows = ask->flows,
		.first_flow = nd_plan_flows(plan),
		.message_bytes = ask->bytes,
	};
	if (ask->packets)
		w->rate_ops = ask->rate;
	else
		w->rate_bps = ask->rate;
	if (!w->message_bytes)
		w->message_bytes = ask->packets ? ND_PACKET_BYTES : default_message(w->flows);
	plan->workloads++;
	plan->workload_list.n = plan->workloads;
}

static void add_loads(struct nd_plan *plan)
{
	if (!plan->load.wanted)
		return;
	if (plan->load.way != ND_LOAD_DOWN)
		add_load(plan, ND_CLIENT);
	if (plan->load.way != ND_LOAD_UP)
		add_load(plan, ND_SERVER);
}

static void derive_times(struct nd_plan *plan)
{
	bool counts = plan->ask.total_bytes || plan->ask.total_ops;

	if (counts && !plan->ask.has_warmup)
		plan->warmup_ns = 0;
	if (counts && !plan->ask.has_time) {
		plan->duration_ns = ND_MAX_NS;
		if (plan->interval_ns < ND_MAX_NS / ND_MAX_INTERVALS)
			plan->duration_ns = plan->interval_ns * ND_MAX_INTERVALS;
	}
	if (!plan->ask.has_interval && plan->interval_ns > plan->duration_ns)
		plan->interval_ns = plan->duration_ns;
}

/* Each datagram is a packet, unless something else was asked for. */
static void derive_packets(struct nd_plan *plan)
{
	plan->ask.udp = true;
	plan->ask.shape = "stream";
	if (plan->gso == 0)
		plan->gso = 1;
	if (plan->gro == ND_AUTO)
		plan->gro = ND_OFF;
	if (!plan->find.wanted)
		return;
	if (!plan->ask.has_time)
		plan->duration_ns = plan->find.trial_ns;
	if (!plan->ask.has_warmup)
		plan->warmup_ns = TRIAL_WARMUP_NS;
}

/* Requests that wait for answers, or go by a schedule. */
static void derive_latency(struct nd_plan *plan)
{
	plan->ask.shape = plan->ask.ops.value ? "paced" : "rr";
	plan->sock.nodelay |= !plan->ask.udp && !plan->ask.nagle;
	plan->load.fragment = plan->sock.fragment;
	if (!plan->load.packets)
		return;
	plan->gso = 1; /* each datagram is a packet */
	plan->gro = ND_OFF;
}

static bool is_open(const char *way)
{
	return !way || !strcmp(way, "auto");
}

/* Nothing is copied, and nobody sees the bytes. */
static int derive_max(struct nd_plan *plan, struct nd_err *err)
{
	if (plan->ask.udp)
		return nd_fail(err, -EINVAL, "--max is for TCP, it has no meaning with -u");
	if (plan->verify)
		return nd_fail(err, -EINVAL,
			       "--max and --verify exclude each other: nobody sees the bytes");
	if (plan->ask.shape && strcmp(plan->ask.shape, "stream") != 0)
		return nd_fail(err, -EINVAL, "--max has no meaning with --shape %s",
			       plan->ask.shape);
	if (plan->engine && !strcmp(plan->engine, "uring"))
		return nd_fail(err, -EINVAL, "--max and --engine uring exclude each other");
	if (is_open(plan->tx))
		plan->tx = "splice";
	if (is_open(plan->rx))
		plan->rx = "trunc";
	return 0;
}

/* Ways to move streams, and who may wait for many bytes at once. */
static int derive_ways(struct nd_plan *plan, struct nd_err *err)
{
	int r = plan->ask.max ? derive_max(plan, err) : 0;

	plan->tx = plan->tx ? plan->tx : "auto";
	plan->rx = plan->rx ? plan->rx : "auto";
	if (plan->ask.spin)
		plan->wait = "spin";
	plan->wait = plan->wait ? plan->wait : "auto";
	if (r < 0 || plan->lowat_bytes <= 1)
		return r;
	if (plan->ask.udp)
		return nd_fail(err, -EINVAL, "--lowat is for TCP, it has no meaning with -u");
	if (plan->ask.shape && strcmp(plan->ask.shape, "stream") != 0)
		return nd_fail(err, -EINVAL, "--lowat has no meaning with --shape %s",
			       plan->ask.shape);
	if (plan->ask.bps.value || plan->ask.ops.value)
		return nd_fail(err, -EINVAL,
			       "--lowat excludes -b and --rate: what comes slowly would be late");
	return 0;
}

static void derive_output(struct nd_plan *plan)
{
	if (plan->out.json_lines && !plan->ask.has_format)
		plan->out.format = "json";
	if (plan->out.file && !strcmp(plan->out.file, "-"))
		plan->out.file = NULL; /* as everywhere: standard output */
	if (plan->verb == ND_VERB_SERVE && plan->out.file && !plan->out.format)
		plan->out.format = "text";
}

static void derive_connect(struct nd_plan *plan)
{
	plan->ask.shape = plan->ask.only ? "cc" : "crr";
	if (plan->ask.has_flows)
		return;
	plan->ask.flows = ND_MAX(plan->ask.flows, plan->threads);
	if (plan->ask.total_ops)
		plan->ask.flows = ND_MIN(plan->ask.flows, plan->ask.total_ops);
}

int nd_plan_derive(struct nd_plan *plan, struct nd_err *err)
{
	int r;

	if (plan->face)
		return 0; /* its persona has settled all */
	if (plan->ask.ipv4 || plan->ask.ipv6)
		plan->af = plan->ask.ipv4 ? ND_AF_IPV4 : ND_AF_IPV6;
	derive_output(plan);
	if (plan->verb == ND_VERB_SERVE)
		return 0;
	if (plan->verify && !plan->ask.has_payload)
		plan->payload = ND_PAYLOAD_PATTERN;
	if (plan->verb == ND_VERB_PACKETS)
		derive_packets(plan);
	if (plan->verb == ND_VERB_CONNECT)
		derive_connect(plan);
	if (plan->verb == ND_VERB_LATENCY)
		derive_latency(plan);
	derive_times(plan);
	plan->workloads = 0;
	r = derive_ways(plan, err);
	if (r == 0)
		r = add_workload(
			plan, plan->ask.reverse && !plan->ask.bidir ? ND_SERVER : ND_CLIENT, err);
	if (r == 0 && plan->ask.bidir)
		r = add_workload(plan, ND_SERVER, err);
	if (r == 0)
		add_loads(plan);
	nd_plan_set_imix(plan, IPV4_UDP_BYTES);
	nd_plan_shrink(plan);
	return r;
}
