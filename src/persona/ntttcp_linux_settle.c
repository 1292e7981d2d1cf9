/* SPDX-License-Identifier: MIT */
/*
 * What the options of NTttcp-for-Linux come to together. Numbers are clamped, and what belongs to the other role is
 * ignored: a note says so.
 */
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "persona/ntttcp.h"

#define LINE              struct nd_ntttcp_line
#define MAX_PORTS         512
#define MAX_SECONDS       86400
#define FIRST_SOURCE_PORT 25001
#define RECEIVE_BYTES     (64u * 1024)
#define SEND_BYTES        (128u * 1024)

static int settle_role(LINE *l, struct nd_err *err)
{
	if (l->as_sender && l->as_receiver)
		return nd_fail(err, -EINVAL, "-s and -r exclude each other");
	if (!l->as_sender && !l->as_receiver)
		nd_ntttcp_note(l, "neither -s nor -r: this end receives");
	l->n.sender = l->as_sender;
	return 0;
}

/* What belongs to the other role. */
static int settle_sides(LINE *l, struct nd_err *err)
{
	const struct nd_ntttcp *n = &l->n;

	const struct {
		bool broken, error;
		const char *sentence;
	} rows[] = {
		{ n->sender && n->multi, true, "-M is for the receiver" },
		{ !n->sender && n->last, true, "-L is for the sender" },
		{ !n->sender && n->client_address, true, "-a is for the sender" },
		{ n->nodelay && n->udp, true, "--no-delay has no meaning with -u" },
		{ n->sender && n->epoll, false, "-e is for the receiver: ignored" },
		{ n->sender && n->hold, false, "-H is for the receiver: ignored" },
		{ !n->sender && n->bandwidth_bps, false, "-B is for the sender: ignored" },
		{ !n->sender && n->fq_bps, false, "--fq-rate-limit is for the sender: ignored" },
		{ !n->sender && l->source_port, false, "-f is for the sender: ignored" },
		{ n->sender && n->bandwidth_bps && n->fq_bps, false,
		  "--fq-rate-limit is ignored, -B is given" },
	};

	size_t i;

	for (i = 0; i < ND_COUNTOF(rows); i++) {
		if (rows[i].broken && rows[i].error)
			return nd_fail(err, -EINVAL, "%s", rows[i].sentence);
		if (rows[i].broken)
			nd_ntttcp_note(l, "%s", rows[i].sentence);
	}
	return 0;
}

/* @below: what a number under 1 becomes, 0: the limit when negative, else 1. */
static uint64_t clamp(LINE *l, const char *name, int64_t v, int64_t max, int64_t below)
{
	int64_t kept = v;

	if (v > max || (v < 0 && !below))
		kept = max;
	else if (v < 1)
		kept = 1;
	if (kept != v)
		nd_ntttcp_note(l, "%s: %lld becomes %lld", name, (long long)v, (long long)kept);
	return (uint64_t)kept;
}

static int settle_counts(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	int64_t first = n->no_sync ? 1 : 2;

	n->ports = clamp(l, "-P", l->ports, MAX_PORTS, 0);
	n->threads_per_port = clamp(l, "-n", l->threads, ND_NTTTCP_MAX_THREADS, 1);
	n->conns_per_thread = clamp(l, "-l", l->conns, ND_NTTTCP_MAX_CONNS, 1);
	if (l->base_port < first || l->base_port > UINT16_MAX)
		return nd_fail(err, -EINVAL, "-p: '%lld' is outside %lld..65535",
			       (long long)l->base_port, (long long)first);
	n->base_port = (uint64_t)l->base_port;
	if (!l->source_port || !n->sender)
		return 0;
	n->source_port = l->source_port > 1024 ? (uint64_t)l->source_port : FIRST_SOURCE_PORT;
	if (n->source_port > UINT16_MAX)
		return nd_fail(err, -EINVAL, "-f: '%lld' is outside 1025..65535",
			       (long long)l->source_port);
	return 0;
}

static int settle_sizes(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	uint64_t max = n->udp && n->sender ? ND_MAX_DATAGRAM : ND_MAX_MESSAGE;

	if (l->has_bytes && !n->io_bytes)
		return nd_fail(err, -EINVAL, "-b: '0' is no size");
	if (!l->has_bytes) /* 65507 is what the original comes to as well */
		n->io_bytes = ND_MIN(n->sender ? SEND_BYTES : RECEIVE_BYTES, max);
	if (n->io_bytes > max)
		nd_ntttcp_note(l, "-b: %llu becomes %llu", (unsigned long long)n->io_bytes,
			       (unsigned long long)max);
	n->io_bytes = ND_MIN(n->io_bytes, max);
	return 0;
}

/* @otherwise: seconds in place of a negative number. */
static int seconds(LINE *l, const char *name, int64_t v, int64_t otherwise, uint64_t *ret_ms,
		   struct nd_err *err)
{
	if (v < 0)
		nd_ntttcp_note(l, "%s: %lld becomes %lld", name, (long long)v,
			       (long long)otherwise);
	if (v > MAX_SECONDS)
		return nd_fail(err, -EINVAL, "%s: '%lld' is outside 0..%d", name, (long long)v,
			       MAX_SECONDS);
	*ret_ms = (uint64_t)(v < 0 ? otherwise : v) * 1000;
	return 0;
}

static int settle_times(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	int r = seconds(l, "-t", l->time_s, 60, &n->time_ms, err);

	if (r == 0)
		r = seconds(l, "-W", l->warmup_s, 0, &n->warmup_ms, err);
	if (r == 0)
		r = seconds(l, "-C", l->cooldown_s, 0, &n->cooldown_ms, err);
	n->continuous = r == 0 && !n->time_ms;
	return r;
}

/* Without -m there is one target as well. */
static int settle_targets(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	struct nd_target *t;
	uint64_t per_port = n->threads_per_port * n->conns_per_thread, ports = n->ports, i;
	int r;

	if (l->targets.n > 1 && !n->sender)
		nd_ntttcp_note(l, "-m: a receiver has one mapping, the others are ignored");
	if (l->targets.n > 1 && l->address_given)
		return nd_fail(err, -EINVAL, "-m: several mappings, and '%.80s' behind them",
			       l->address);
	if (l->targets.n < 2 || !n->sender) {
		r = nd_list_new(&l->plan->arena, &l->targets, 1, sizeof(*t));
		if (r < 0)
			return nd_fail(err, r, "out of memory");
		t = l->targets.v;
		*t = (struct nd_target){ .host = l->address, .cpu = n->cpu, .ports = n->ports };
	}
	t = l->targets.v;
	for (i = 0, n->ports = 0; i < l->targets.n; i++) {
		t[i].ports = l->ports_given ? ports : ND_MIN(t[i].ports, (uint64_t)MAX_PORTS);
		t[i].port = n->base_port;
		t[i].flows = n->sender ? t[i].ports * per_port : 0;
		n->ports += t[i].ports;
	}
	return 0;
}

static int settle_addresses(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	const char *none = n->ipv6 ? "::" : "0.0.0.0";
	struct nd_target *t = l->targets.v;
	uint64_t i;
	int r = 0;

	n->server_address = t->host ? t->host : none;
	for (i = 0; r == 0 && i < l->targets.n; i++) {
		if (!t[i].host && l->targets.n > 1)
			return nd_fail(err, -EINVAL,
				       "-m: with several mappings each needs an address");
		if (!t[i].host && n->sender) {
			t[i].host = none;
			nd_ntttcp_note(
				l, "no address of a receiver: it is looked for on this machine");
		}
		if (t[i].host)
			r = nd_ntttcp_check_address(n, n->sender ? "-s" : "-r", t[i].host, err);
	}
	if (r == 0 && n->client_address)
		r = nd_ntttcp_check_address(n, "-a", n->client_address, err);
	return r;
}

static void note_strays(LINE *l, const struct nd_strv *words)
{
	nd_auto_str text = { 0 };
	uint64_t i;

	for (i = 0; i < words->n; i++)
		nd_str_addf(&text, " '%.80s'", words->v[i]);
	if (words->n)
		nd_ntttcp_note(l, "ignored:%s", nd_str_text(&text));
}

static void settle_rates(LINE *l)
{
	struct nd_ntttcp *n = &l->n;

	if (!n->sender || n->bandwidth_bps)
		n->fq_bps = 0;
	if (!n->sender)
		n->bandwidth_bps = 0;
	if (n->bandwidth_bps || n->fq_bps)
		nd_ntttcp_note(l, "the rate is limited to %llu bit/s",
			       (unsigned long long)ND_MAX(n->bandwidth_bps, n->fq_bps));
}

int nd_ntttcp_linux_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			   struct nd_err *err)
{
	static int (*const steps[])(LINE *, struct nd_err *) = {
		settle_role,  settle_sides,   settle_counts,    settle_sizes,
		settle_times, settle_targets, settle_addresses,
	};
	LINE *l = target;
	size_t i;
	int r = 0;

	plan->exits.usage = ND_NTTTCP_USAGE_EXIT;
	for (i = 0; r == 0 && i < ND_COUNTOF(steps); i++)
		r = steps[i](l, err);
	if (r < 0)
		return r;
	settle_rates(l);
	if (l->n.nic && !if_nametoindex(l->n.nic))
		nd_ntttcp_note(l, "--show-nic-packets: there is no interface '%.80s' here",
			       l->n.nic);
	note_strays(l, operands);
	r = nd_ntttcp_fill(l, err);
	if (r == 0 && nd_ntttcp_bind_device(l) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	if (r == 0 && l->n.fq_bps)
		plan->sock.pacing_bps = ND_MAX(l->n.fq_bps / plan->workload[0].flows, 1u);
	return r;
}
