/* SPDX-License-Identifier: MIT */
/* The plan's life, its arithmetic over flows, and the rows by which it travels. */
#include <errno.h>
#include <string.h>

#include "plan/plan.h"

#define MANY_DATAGRAM_FLOWS 4000u /* a second and a half to set up; twice as many take ten */

const char *const nd_verb_names[] = { "serve",   "stream", "receive", "packets", "connect",
				      "latency", "watch",  "irq",     "doctor",  NULL };
const char *const nd_stamper_names[] = { "program", "kernel", NULL };
const char *const nd_spacing_names[] = { "fixed", "uniform", "poisson", NULL };
const char *const nd_end_names[] = { "client", "server", NULL };
const char *const nd_payload_names[] = { "random", "zero",    "pattern", "fill-a",
					 "fill-b", "netperf", NULL };
const char *const nd_choice_names[] = { "auto", "on", "off", NULL };
const char *const nd_af_names[] = { "any", "ipv4", "ipv6", NULL };

static void point_list(struct nd_plan *plan)
{
	plan->workload_list = (struct nd_list){ .v = plan->workload, .n = plan->workloads };
}

void nd_plan_init(struct nd_plan *plan)
{
	*plan = (struct nd_plan){ .source_ports = ND_SOURCE_PORTS };
	point_list(plan);
}

void nd_plan_done(struct nd_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < ND_COUNTOF(plan->tries); i++)
		nd_plan_done(plan->tries[i]);
	for (uint64_t i = 0; plan->serve.also_plan && i < plan->serve.also.n; i++)
		nd_plan_done(plan->serve.also_plan[i]); /* NULL where reading stopped before */
	nd_plan_done(plan->twin);
	nd_arena_done(&plan->arena);
}

/* A number that an older peer does not know is "unknown" after decoding. */
static void known(uint64_t *v, uint64_t otherwise)
{
	if (*v == ND_UNKNOWN)
		*v = otherwise;
}

static void complete_sockopts(struct nd_sockopts *o)
{
	known(&o->sndbuf_bytes, 0);
	known(&o->rcvbuf_bytes, 0);
	known(&o->mss_bytes, 0);
	known(&o->dscp, 0);
}

static void complete_workload(struct nd_workload *w)
{
	known(&w->first_flow, 0);
	known(&w->request_bytes, 0);
	known(&w->response_bytes, 0);
	known(&w->rate_bps, 0);
	known(&w->rate_ops, 0);
	known(&w->total_bytes, 0);
	known(&w->total_ops, 0);
}

int nd_plan_adopt(struct nd_plan *plan, struct nd_err *err)
{
	const struct nd_list list = plan->workload_list;
	uint64_t i;

	if (!list.v || list.n < 1 || list.n > ND_MAX_WORKLOADS)
		return nd_fail(err, -EBADMSG, "the plan has %llu workloads, not 1..%d",
			       (unsigned long long)list.n, ND_MAX_WORKLOADS);
	if (list.v != plan->workload)
		memcpy(plan->workload, list.v, (size_t)list.n * sizeof(plan->workload[0]));
	for (i = 0; i < list.n; i++)
		complete_workload(&plan->workload[i]);
	plan->workloads = list.n;
	plan->verb = ND_VERB_STREAM;
	point_list(plan);
	complete_sockopts(&plan->sock);
	known(&plan->warmup_ns, 0);
	known(&plan->cooldown_ns, 0);
	known(&plan->drain_ns, 0);
	known(&plan->group_expect, 0);
	known(&plan->group_wait_ns, 0);
	known(&plan->threads, 0);
	known(&plan->depth, 0);
	known(&plan->gso, 0);
	known(&plan->lowat_bytes, 0);
	known(&plan->busy_poll_us, 0);
	plan->engine = plan->engine ? plan->engine : "auto";
	plan->tx = plan->tx ? plan->tx : "auto";
	plan->rx = plan->rx ? plan->rx : "auto";
	plan->wait = plan->wait ? plan->wait : "auto";
	return 0;
}

bool nd_plan_is_datagram(const struct nd_workload *w)
{
	return w->transport && !strcmp(w->transport, "udp");
}

void nd_plan_shrink(struct nd_plan *plan)
{
	for (uint64_t i = 0; i < plan->workloads; i++) {
		struct nd_workload *w = &plan->workload[i];
		uint64_t most = w->flows ? nd_plan_share(w->total_bytes, w->flows, 0) : 0;

		if (most && nd_plan_is_datagram(w) && w->message_bytes > most)
			w->message_bytes = most;
	}
}

void nd_plan_set_imix(struct nd_plan *plan, uint64_t header_bytes)
{
	static const struct nd_size frames[ND_IMIX_FRAMES] = { { 64, 7 }, { 594, 4 }, { 1518, 1 } };
	uint64_t i, k;

	for (i = 0; plan->ask.imix && i < plan->workloads; i++) {
		struct nd_workload *w = &plan->workload[i];
		struct nd_size *size = w->sizes.v;

		for (k = 0; k < w->sizes.n && k < ND_IMIX_FRAMES; k++) {
			size[k].count = frames[k].count;
			/* the smallest frame of IPv6 has no room for a number: it is a little larger */
			size[k].bytes = frames[k].bytes - ND_ETHERNET_BYTES;
			size[k].bytes = ND_MAX(size[k].bytes, header_bytes + 8) - header_bytes;
			w->message_bytes = size[k].bytes;
		}
	}
}

void nd_plan_set_datagram(struct nd_plan *plan, uint64_t bytes)
{
	uint64_t i;

	for (i = 0; i < plan->workloads; i++)
		if (nd_plan_is_datagram(&plan->workload[i]) && !plan->workload[i].message_bytes)
			plan->workload[i].message_bytes = ND_MIN(bytes, ND_MAX_DATAGRAM);
	nd_plan_shrink(plan);
	plan->wants_datagram_bytes = false;
}

/* Each of them adds a socket to the one port of the server, and the kernel looks through all that are there for each
 * that is bound, and for the first datagram of each that is not known yet. */
const char *nd_plan_set_up_note(const struct nd_plan *plan)
{
	uint64_t flows = 0;

	for (uint64_t i = 0; i < plan->workloads; i++)
		if (nd_plan_is_datagram(&plan->workload[i]))
			flows += plan->workload[i].flows;
	if (plan->face || flows <= MANY_DATAGRAM_FLOWS)
		return NULL;
	return "setting up so many UDP flows takes seconds, by the square of their number: all are "
	       "sockets of one port of the server";
}

const char *nd_plan_note(const struct nd_plan *plan)
{
	uint64_t i;

	if (plan->face || plan->verb == ND_VERB_PACKETS || plan->load.wanted)
		return NULL; /* it has notes of its own; or that is what was asked for */
	for (i = 0; i < plan->workloads; i++) {
		const struct nd_workload *w = &plan->workload[i];

		if (nd_plan_is_datagram(w) && w->load && !strcmp(w->load, "stream") &&
		    !w->rate_bps && !w->rate_ops)
			return "UDP is sent as fast as it goes; -b sets a rate";
	}
	return NULL;
}

bool nd_plan_has_turns(const struct nd_workload *w)
{
	return w->load && (!strcmp(w->load, "rr") || !strcmp(w->load, "paced") ||
			   !strcmp(w->load, "crr") || !strcmp(w->load, "cc"));
}

bool nd_plan_is_loaded(const struct nd_plan *plan)
{
	bool turns = false, others = false;

	for (uint64_t i = 0; i < plan->workloads; i++) {
		bool has = nd_plan_has_turns(&plan->workload[i]);

		turns |= has;
		others |= !has;
	}
	return turns && others;
}

bool nd_plan_connects(const struct nd_plan *plan)
{
	for (uint64_t i = 0; i < plan->workloads; i++) {
		const char *load = plan->workload[i].load;

		if (load && (!strcmp(load, "crr") || !strcmp(load, "cc")))
			return true;
	}
	return false;
}

uint64_t nd_plan_flows(const struct nd_plan *plan)
{
	uint64_t sum = 0, i;

	for (i = 0; i < plan->workloads; i++)
		sum += plan->workload[i].flows;
	return sum;
}

uint64_t nd_plan_share(uint64_t total, uint64_t parts, uint64_t index)
{
	if (!parts)
		return 0;
	return total / parts + (index < total % parts);
}

unsigned nd_plan_workload_of(const struct nd_plan *plan, uint64_t flow)
{
	unsigned i;

	for (i = 0; i + 1 < plan->workloads; i++)
		if (flow < plan->workload[i + 1].first_flow)
			break;
	return i;
}

/* clang-format off */
#define Z struct nd_size
static const struct nd_field size_rows[] = {
	ND_U64(Z, bytes, ND_M_BYTES, ND_SHOW_COLUMN, "size", "Payload of a datagram."),
	ND_U64(Z, count, ND_M_COUNT, ND_SHOW_COLUMN, "in a row", "Its share: so many of it for those of the others."),
	ND_ROWS_END
};
#undef Z

const struct nd_table nd_size_table = {
	.name = "size", .size = sizeof(struct nd_size), .rows = size_rows
};

#define W struct nd_workload
static const struct nd_field workload_rows[] = {
	ND_ENUM(enum nd_end_kind, W, active, ND_SHOW_TEXT, "active end", "The end that sends (stream) or asks (rr).", nd_end_names),
	ND_STR(W, load, ND_SHOW_TEXT, "traffic shape", "The traffic shape."),
	ND_STR(W, frame, 0, "frame", "What stands in the bytes."),
	ND_STR(W, transport, ND_SHOW_TEXT, "transport", "The transport."),
	ND_U64(W, flows, ND_M_COUNT, ND_SHOW_TEXT, "flows", "Connections, or for datagrams sockets, of this workload."),
	ND_U64(W, first_flow, ND_M_NONE, 0, "first flow", "Number of its first flow; flows are numbered over the whole test."),
	ND_U64(W, message_bytes, ND_M_BYTES, ND_SHOW_TEXT, "message size", "Bytes of one send or datagram; with rr the longer of request and response."),
	ND_LIST(W, sizes, 0, "sizes", "Sizes that datagrams take in turn; empty: message_bytes is the only one.", &nd_size_table),
	ND_U64(W, request_bytes, ND_M_BYTES, ND_SHOW_NONZERO, "request size", "Bytes of a request (rr)."),
	ND_U64(W, response_bytes, ND_M_BYTES, ND_SHOW_NONZERO, "response size", "Bytes of a response (rr)."),
	ND_U64(W, rate_bps, ND_M_BITRATE, ND_SHOW_NONZERO, "asked rate", "Payload rate asked over all flows; 0 is unlimited."),
	ND_U64(W, rate_ops, ND_M_RATE, ND_SHOW_NONZERO, "asked messages", "Messages per second asked over all flows; 0 is unlimited."),
	ND_U64(W, total_bytes, ND_M_BYTES, ND_SHOW_NONZERO, "asked bytes", "Bytes after which the workload ends, over all flows; 0 ends by time."),
	ND_U64(W, total_ops, ND_M_COUNT, ND_SHOW_NONZERO, "asked count", "Transactions after which the workload ends, over all flows; 0 ends by time."),
	ND_ROWS_END
};
#undef W

const struct nd_table nd_workload_table = {
	.name = "workload", .size = sizeof(struct nd_workload), .rows = workload_rows
};

#define S struct nd_sockopts
static const struct nd_field sockopt_rows[] = {
	ND_STR(S, cc, ND_SHOW_TEXT, "congestion control", "TCP congestion control asked; null is the system's."),
	ND_U64(S, sndbuf_bytes, ND_M_BYTES, ND_SHOW_NONZERO, "send buffer", "Socket send buffer asked; 0 is the system's."),
	ND_U64(S, rcvbuf_bytes, ND_M_BYTES, ND_SHOW_NONZERO, "receive buffer", "Socket receive buffer asked; 0 is the system's."),
	ND_U64(S, mss_bytes, ND_M_BYTES, ND_SHOW_NONZERO, "maximum segment", "TCP maximum segment size asked; 0 is the system's."),
	ND_U64(S, dscp, ND_M_NONE, ND_SHOW_NONZERO, "DSCP", "Differentiated services code point asked, 0..63."),
	ND_BOOL(S, has_dscp, 0, "DSCP set", "Whether a code point was asked."),
	ND_BOOL(S, nodelay, ND_SHOW_NONZERO, "no delay", "Whether Nagle's algorithm was asked to be off."),
	ND_BOOL(S, fragment, ND_SHOW_NONZERO, "fragmentation", "Whether the network may fragment datagrams."),
	ND_ROWS_END
};
#undef S

static const struct nd_table sockopt_table = {
	.name = "socket", .size = sizeof(struct nd_sockopts), .rows = sockopt_rows
};

#define P struct nd_plan
static const struct nd_field plan_rows[] = {
	{ .key = "workloads", .label = "workloads", .help = "What is sent from where to where.",
	  .type = ND_T_LIST, .table = &nd_workload_table,
	  .offset = (uint32_t)ND_FIELD_OF(struct nd_list, P, workload_list) },
	ND_U64(P, duration_ns, ND_M_NS, ND_SHOW_TEXT, "duration", "Measured time asked; with a number of bytes the limit."),
	ND_U64(P, warmup_ns, ND_M_NS, ND_SHOW_NONZERO, "warm-up", "Time before the measured window."),
	ND_U64(P, cooldown_ns, ND_M_NS, ND_SHOW_NONZERO, "cool-down", "Time behind the measured window."),
	ND_U64(P, interval_ns, ND_M_NS, 0, "interval", "Length of an interval."),
	ND_U64(P, drain_ns, ND_M_NS, 0, "drain limit", "Longest time that receivers wait for the tail."),
	ND_STR(P, group, ND_SHOW_TEXT, "group", "Name of the group of clients that begin together; null: the test is alone."),
	ND_U64(P, group_expect, ND_M_COUNT, ND_SHOW_NONZERO, "clients of the group", "Clients that the group has; 0: the test is alone."),
	ND_U64(P, group_wait_ns, ND_M_NS, 0, "group wait", "Longest wait for the others."),
	ND_U64(P, threads, ND_M_COUNT, ND_SHOW_NONZERO, "threads", "Workers asked for each end; 0 leaves it to the ends."),
	ND_STR(P, engine, 0, "engine", "Engine asked."),
	ND_STR(P, tx, 0, "send technique", "Way of sending asked."),
	ND_STR(P, rx, 0, "receive technique", "Way of receiving asked."),
	ND_U64(P, gso, ND_M_COUNT, ND_SHOW_NONZERO, "segmentation", "Datagrams given to the kernel in one piece (UDP_SEGMENT) asked; 0 leaves it to the sender, 1 is off."),
	ND_ENUM(enum nd_choice, P, gro, 0, "coalescing", "Whether receivers ask for datagrams in one piece (UDP_GRO).", nd_choice_names),
	ND_U64(P, lowat_bytes, ND_M_BYTES, ND_SHOW_NONZERO, "wake-up mark", "Bytes that must have come before a receiver wakes (SO_RCVLOWAT) asked; 0 leaves it to the receiver, 1 is off."),
	ND_STR(P, wait, 0, "wait policy", "What a thread does when nothing can proceed, asked."),
	ND_U64(P, busy_poll_us, ND_M_US, ND_SHOW_NONZERO, "busy poll", "Time that the kernel polls the device queue (SO_BUSY_POLL) asked; 0 is off."),
	ND_ENUM(enum nd_stamper, P, stamper, ND_NOT_REPORT, "time stamps", "Who stamps requests and answers: the program alone, or the kernel, too, at each end that can.", nd_stamper_names),
	ND_U64(P, depth, ND_M_COUNT, ND_SHOW_NONZERO, "depth", "Sends under way per flow asked; 0 is one."),
	ND_ENUM(enum nd_payload, P, payload, ND_SHOW_TEXT, "payload", "What the payload is made of.", nd_payload_names),
	ND_BOOL(P, verify, ND_SHOW_NONZERO, "verified", "Whether receivers compare each byte."),
	ND_BOOL(P, mptcp, ND_SHOW_NONZERO, "MPTCP", "Whether multipath TCP was asked."),
	ND_GROUP(struct nd_sockopts, P, sock, ND_SHOW_TEXT, "socket", "Socket settings asked.", &sockopt_table),
	ND_ROWS_END
};
#undef P
/* clang-format on */

const struct nd_table nd_plan_table = { .name = "plan",
					.size = sizeof(struct nd_plan),
					.rows = plan_rows };
