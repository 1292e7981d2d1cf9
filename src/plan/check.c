/* SPDX-License-Identifier: MIT */
/*
 * The one judge of a plan. Rules with fixed words are rows in rules.c, those with figures are functions here.
 * A plan may come from a peer: nothing is believed.
 */
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "plan/int.h"

#define MAX_NAME       32u
#define MAX_CC         15u /* TCP_CA_NAME_MAX with its end */
#define MAX_CPU        4095u
#define MAX_PIN        1024u
#define MAX_GROUP_WAIT (3600ull * ND_NS_PER_S)
#define MAX_BUFFERS    (4ull << 30)
#define MAX_SAMPLES    4000000ull /* intervals kept by all workers */
#define ULL(v)         ((unsigned long long)(v))

uint64_t nd_plan_most(const struct nd_plan *plan, size_t offset)
{
	uint64_t v, max = 0, i;

	for (i = 0; i < plan->workloads; i++) {
		memcpy(&v, (const char *)&plan->workload[i] + offset, sizeof(v));
		max = ND_MAX(max, v);
	}
	return max;
}

/* ---- words and numbers, each by itself */

static bool is_word(const char *text, size_t max)
{
	size_t n;

	if (!text)
		return false;
	n = strnlen(text, max + 1);
	return n > 0 && n <= max &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       n;
}

static int check_word(const char *name, const char *text, size_t max, struct nd_err *err)
{
	if (is_word(text, max))
		return 0;
	if (!text)
		return nd_fail(err, -EINVAL, "%s: there is no name", name);
	return nd_fail(err, -EINVAL, "%s: '%.40s' is no name", name, text);
}

struct range {
	const char *name;
	enum nd_unit unit;
	uint64_t min, max;
};

static int check_range(const struct range *r, uint64_t value, struct nd_err *err)
{
	char v[64], low[64], high[64];

	if (value >= r->min && value <= r->max)
		return 0;
	return nd_fail(err, -EINVAL, "%s: '%s' is outside %s..%s", r->name,
		       nd_format_unit(value, r->unit, v, sizeof(v)),
		       nd_format_unit(r->min, r->unit, low, sizeof(low)),
		       nd_format_unit(r->max, r->unit, high, sizeof(high)));
}

static int check_numbers(const struct nd_plan *p, struct nd_err *err)
{
	/* clang-format off */
	const struct { struct range range; uint64_t value; } rows[] = {
		{ { "-t",         ND_UNIT_TIME_NS, ND_NS_PER_MS, ND_MAX_NS },      p->duration_ns },
		{ { "--warmup",   ND_UNIT_TIME_NS, 0,            ND_MAX_NS },      p->warmup_ns },
		{ { "--cooldown", ND_UNIT_TIME_NS, 0,            ND_MAX_NS },      p->cooldown_ns },
		{ { "--drain",    ND_UNIT_TIME_NS, 0,            ND_MAX_NS },      p->drain_ns },
		{ { "-i",         ND_UNIT_TIME_NS, ND_NS_PER_MS, ND_MAX_NS },      p->interval_ns },
		{ { "-T",         ND_UNIT_COUNT,   0,            ND_MAX_THREADS }, p->threads },
		{ { "--depth",    ND_UNIT_COUNT,   0,            ND_MAX_DEPTH },   p->depth },
		{ { "--gso",      ND_UNIT_COUNT,   0,            ND_MAX_GSO },     p->gso },
		{ { "--gro",      ND_UNIT_COUNT,   0,            ND_CHOICE_MAX - 1 }, p->gro },
		{ { "--lowat",    ND_UNIT_BYTES,   0,            INT32_MAX },      p->lowat_bytes },
		{ { "--busy-poll", ND_UNIT_COUNT,  0,            ND_MAX_BUSY_POLL_US }, p->busy_poll_us },
		{ { "--sndbuf",   ND_UNIT_BYTES,   0,            INT32_MAX },      p->sock.sndbuf_bytes },
		{ { "--rcvbuf",   ND_UNIT_BYTES,   0,            INT32_MAX },      p->sock.rcvbuf_bytes },
		{ { "--mss",      ND_UNIT_BYTES,   0,            UINT16_MAX },     p->sock.mss_bytes },
		{ { "--dscp",     ND_UNIT_COUNT,   0,            63 },             p->sock.dscp },
		{ { "--payload",  ND_UNIT_COUNT,   0,            ND_PAYLOAD_MAX - 1 }, p->payload },
	};

	/* clang-format on */
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < ND_COUNTOF(rows); i++)
		r = check_range(&rows[i].range, rows[i].value, err);
	return r;
}

static int check_words(const struct nd_plan *plan, struct nd_err *err)
{
	int r = check_word("--engine", plan->engine, MAX_NAME, err);

	if (r == 0)
		r = check_word("--tx", plan->tx, MAX_NAME, err);
	if (r == 0)
		r = check_word("--rx", plan->rx, MAX_NAME, err);
	if (r == 0)
		r = check_word("--wait", plan->wait, MAX_NAME, err);
	if (r == 0 && plan->sock.cc)
		r = check_word("--cc", plan->sock.cc, MAX_CC, err);
	if (r == 0 && plan->depth > 1 && strcmp(plan->engine, "uring") != 0)
		r = nd_fail(err, -EINVAL, "--depth: several sends under way take --engine uring");
	return r;
}

/* "0,2-3": numbers and ranges */
static bool is_cpu_list(const char *p)
{
	uint64_t low, high;
	size_t n;

	if (strlen(p) > MAX_PIN)
		return false;
	for (;; p++) {
		n = nd_parse_prefix_u64(p, &low);
		if (!n || low > MAX_CPU)
			return false;
		p += n;
		if (*p == '-') {
			n = nd_parse_prefix_u64(p + 1, &high);
			if (!n || high > MAX_CPU || high < low)
				return false;
			p += n + 1;
		}
		if (*p != ',')
			return !*p;
	}
}

static int check_pin(const struct nd_plan *plan, struct nd_err *err)
{
	if (!plan->pin || !strcmp(plan->pin, "auto") || is_cpu_list(plan->pin))
		return 0;
	return nd_fail(err, -EINVAL, "--pin: '%.80s' is no list of CPUs such as 0,2-3, nor auto",
		       plan->pin);
}

/* ---- workloads */

/* What tells a receiver's datagrams apart is a number in each, and that a peer's list makes no sense is said. */
static int check_size_list(const struct nd_workload *w, struct nd_err *err)
{
	const struct range count = { "-l", ND_UNIT_COUNT, 1, ND_MAX_SIZE_COUNT };
	const struct range bytes = { "-l", ND_UNIT_BYTES, 8, w->message_bytes };
	const struct nd_size *size = w->sizes.v;
	uint64_t i;
	int r = 0;

	if (w->sizes.n > ND_MAX_SIZES)
		return nd_fail(err, -EINVAL, "-l: %llu sizes are over %d", ULL(w->sizes.n),
			       ND_MAX_SIZES);
	if (w->sizes.n && (!nd_plan_is_datagram(w) || strcmp(w->load, "stream") != 0))
		return nd_fail(err, -EINVAL, "-l: a list of sizes is for datagrams");
	for (i = 0; r == 0 && i < w->sizes.n; i++) {
		if (size[i].bytes < 8)
			return nd_fail(err, -EINVAL,
				       "-l: '%llu' in a list: from 8 bytes on datagrams have a "
				       "number that tells them apart",
				       ULL(size[i].bytes));
		if (w->total_bytes && size[i].bytes > w->message_bytes)
			return nd_fail(err, -EINVAL,
				       "-l: '%llu' in a list is over the %llu bytes that -n leaves "
				       "a flow",
				       ULL(size[i].bytes), ULL(w->message_bytes));
		r = check_range(&bytes, size[i].bytes, err);
		if (r == 0)
			r = check_range(&count, size[i].count, err);
	}
	return r;
}

static int check_datagram(const char *name, uint64_t bytes, struct nd_err *err)
{
	if (bytes <= ND_MAX_DATAGRAM)
		return 0;
	return nd_fail(err, -EINVAL, "%s: '%llu' is over %llu, the largest UDP datagram", name,
		       ULL(bytes), ND_MAX_DATAGRAM);
}

static int check_sizes(const struct nd_plan *plan, const struct nd_workload *w, struct nd_err *err)
{
	bool rr = !strcmp(w->load, "rr") || !strcmp(w->load, "paced"),
	     datagram = nd_plan_is_datagram(w);
	const struct range length = { rr ? "-r" : "-l", ND_UNIT_BYTES, 1, ND_MAX_MESSAGE };
	const struct range request = { "-r", ND_UNIT_BYTES, 1, ND_MAX_MESSAGE };
	int r = 0;

	if (datagram)
		r = check_datagram(length.name, w->message_bytes, err);
	if (r == 0 && !(datagram && !w->message_bytes && plan->wants_datagram_bytes))
		r = check_range(&length, w->message_bytes, err);
	if (r == 0)
		r = check_size_list(w, err);
	if (r < 0 || !rr)
		return r;
	r = check_range(&request, w->request_bytes, err);
	if (r == 0)
		r = check_range(&request, w->response_bytes, err);
	if (r == 0 && ND_MAX(w->request_bytes, w->response_bytes) > w->message_bytes)
		r = nd_fail(err, -EINVAL, "-r: '%llu' is over the message size %llu",
			    ULL(ND_MAX(w->request_bytes, w->response_bytes)),
			    ULL(w->message_bytes));
	return r;
}

static int check_rates(const struct nd_workload *w, struct nd_err *err)
{
	uint64_t bits;

	if (w->total_bytes && w->total_bytes < w->flows)
		return nd_fail(err, -EINVAL,
			       "-n: '%llu' is less than one byte for each of %llu flows",
			       ULL(w->total_bytes), ULL(w->flows));
	if (w->total_ops && w->total_ops < w->flows && !nd_plan_is_datagram(w))
		return nd_fail(err, -EINVAL, "-n: '%llu' is less than one for each of %llu flows",
			       ULL(w->total_ops), ULL(w->flows));
	if (__builtin_mul_overflow(w->rate_ops, ND_MAX(w->message_bytes, 1u) * 8, &bits))
		return nd_fail(err, -EINVAL, "--rate: '%llu' messages of %llu bytes are too many",
			       ULL(w->rate_ops), ULL(w->message_bytes));
	return 0;
}

static int check_workload(const struct nd_plan *plan, const struct nd_workload *w,
			  struct nd_err *err)
{
	const struct range flows = { "-P", ND_UNIT_COUNT, 1, ND_MAX_FLOWS };
	int r = check_range(&flows, w->flows, err);

	if (r == 0)
		r = check_word("--shape", w->load, MAX_NAME, err);
	if (r == 0)
		r = check_word("frame", w->frame, MAX_NAME, err);
	if (r == 0)
		r = check_word("transport", w->transport, MAX_NAME, err);
	if (r == 0 && (unsigned)w->active >= ND_ENDS)
		r = nd_fail(err, -EINVAL, "a workload is active at neither end");
	if (r == 0)
		r = check_sizes(plan, w, err);
	if (r == 0)
		r = check_rates(w, err);
	return r;
}

static int check_workloads(const struct nd_plan *plan, struct nd_err *err)
{
	uint64_t sum = 0, i;
	int r;

	if (plan->workloads < 1 || plan->workloads > ND_MAX_WORKLOADS)
		return nd_fail(err, -EINVAL, "the plan has %llu workloads, not 1..%d",
			       ULL(plan->workloads), ND_MAX_WORKLOADS);
	for (i = 0; i < plan->workloads; i++) {
		r = check_workload(plan, &plan->workload[i], err);
		if (r < 0)
			return r;
		if (plan->workload[i].first_flow != sum)
			return nd_fail(err, -EINVAL,
				       "workload %llu begins with flow %llu, not %llu", ULL(i),
				       ULL(plan->workload[i].first_flow), ULL(sum));
		sum += plan->workload[i].flows;
	}
	if (sum > ND_MAX_FLOWS)
		return nd_fail(err, -EINVAL, "-P %llu%s: %llu flows are over the limit of %d",
			       ULL(plan->workload[0].flows), plan->ask.bidir ? " with --bidir" : "",
			       ULL(sum), ND_MAX_FLOWS);
	return 0;
}

/* ---- what is too much together */

static int check_time(const struct nd_plan *p, struct nd_err *err)
{
	uint64_t intervals = (p->warmup_ns + p->duration_ns + p->cooldown_ns) / p->interval_ns;
	char i[64], t[64];

	(void)nd_format_unit(p->interval_ns, ND_UNIT_TIME_NS, i,
			     sizeof(i)); /* returns the buffer */
	if (p->interval_ns > p->duration_ns)
		return nd_fail(err, -EINVAL, "-i: '%s' is longer than the test of %s (%s)", i,
			       nd_format_unit(p->duration_ns, ND_UNIT_TIME_NS, t, sizeof(t)),
			       p->find.wanted ? "--trial" : "-t");
	if (intervals > ND_MAX_INTERVALS)
		return nd_fail(err, -EINVAL, "-i: '%s' makes %llu intervals, over %llu", i,
			       ULL(intervals), ND_MAX_INTERVALS);
	if (intervals * ND_MAX(p->threads, 1u) * p->workloads > MAX_SAMPLES)
		return nd_fail(err, -EINVAL, "-i: '%s' with -T %llu makes over %llu samples", i,
			       ULL(p->threads), MAX_SAMPLES);
	return 0;
}

static int check_threads(const struct nd_plan *p, struct nd_err *err)
{
	uint64_t bytes = MOST(p, message_bytes);
	char b[64];

	if (p->threads > nd_plan_flows(p))
		return nd_fail(err, -EINVAL,
			       "-T: '%llu' is more threads than flows, which are %llu",
			       ULL(p->threads), ULL(nd_plan_flows(p)));
	if (bytes * ND_MAX(p->threads, 1u) > MAX_BUFFERS)
		return nd_fail(err, -EINVAL, "-l: '%s' with -T %llu: buffers would be over 4Gi",
			       nd_format_unit(bytes, ND_UNIT_BYTES, b, sizeof(b)), ULL(p->threads));
	return 0;
}

/* The client opens all flows, each from a port of its own. */
static int check_ports(const struct nd_plan *p, struct nd_err *err)
{
	uint64_t addresses = ND_MAX(p->bind.n, 1u), flows = nd_plan_flows(p);
	const char *bidir = p->ask.bidir ? " and --bidir" : "";

	if (p->face || !p->host || !p->source_ports || flows <= p->source_ports * addresses)
		return 0;
	if (addresses == 1)
		return nd_fail(err, -EINVAL,
			       "-P %llu%s with one source address: about %llu ports; "
			       "give -B a list of addresses",
			       ULL(p->workload[0].flows), bidir, ULL(p->source_ports));
	return nd_fail(err, -EINVAL,
		       "-P %llu%s with %llu source addresses: about %llu ports each; "
		       "give -B more addresses",
		       ULL(p->workload[0].flows), bidir, ULL(addresses), ULL(p->source_ports));
}

/* What everybody in a group has to type alike, and what stands in everybody's report. */
static int check_group(const struct nd_plan *p, struct nd_err *err)
{
	const struct range expect = { "--expect", ND_UNIT_COUNT, 2, ND_MAX_GROUP };
	const struct range wait = { "--group-wait", ND_UNIT_TIME_NS, ND_NS_PER_S, MAX_GROUP_WAIT };
	size_t n;
	int r;

	if (!p->group)
		return 0;
	n = strnlen(p->group, ND_MAX_GROUP_NAME + 1);
	if (n == 0 || n > ND_MAX_GROUP_NAME)
		return nd_fail(err, -EINVAL, "--group: '%.80s' is not 1 to %d characters", p->group,
			       ND_MAX_GROUP_NAME);
	for (const char *c = p->group; *c; c++) {
		if (*c < ' ' || *c > '~')
			return nd_fail(err, -EINVAL,
				       "--group: a name is of printable characters of ASCII");
	}
	r = check_range(&expect, p->group_expect, err);
	return r < 0 ? r : check_range(&wait, p->group_wait_ns, err);
}

int nd_plan_check(const struct nd_plan *plan, struct nd_err *err)
{
	/* in this order: later ones divide and multiply by what earlier ones have limited */
	static int (*const all[])(const struct nd_plan *, struct nd_err *) = {
		check_workloads, check_numbers, check_words, nd_plan_judge_test,
		check_time,      check_threads, check_ports, check_group
	};
	int r = nd_plan_judge_verb(plan, err);
	size_t i;

	if (r == 0)
		r = check_pin(plan, err);
	if (plan->verb == ND_VERB_SERVE && !plan->workloads)
		return r;
	for (i = 0; r == 0 && i < ND_COUNTOF(all); i++)
		r = all[i](plan, err);
	return r;
}

bool nd_plan_has_datagrams(const struct nd_plan *plan)
{
	for (uint64_t i = 0; i < plan->workloads; i++) {
		if (nd_plan_is_datagram(&plan->workload[i]))
			return true;
	}
	return false;
}

int nd_plan_fits_path(const struct nd_plan *plan, enum nd_end_kind sender, uint64_t bytes,
		      struct nd_err *err)
{
	for (uint64_t i = 0; i < plan->workloads && !plan->sock.fragment; i++) {
		const struct nd_workload *w = &plan->workload[i];

		if (nd_plan_is_datagram(w) && (sender == ND_ENDS || sender == w->active) &&
		    w->message_bytes > bytes)
			return nd_fail(err, -EMSGSIZE,
				       "-l: '%llu' is over %llu, the largest datagram that crosses "
				       "the path in one piece; --fragment lets it be cut",
				       ULL(w->message_bytes), ULL(bytes));
	}
	if (plan->load.packets && !plan->load.fragment && plan->load.bytes > bytes)
		return nd_fail(err, -EMSGSIZE,
			       "--load size: '%llu' is over %llu, the largest datagram that "
			       "crosses the path in one piece; --fragment lets it be cut",
			       ULL(plan->load.bytes), ULL(bytes));
	return 0;
}

int nd_plan_limits(const struct nd_plan *plan, const struct nd_serve *policy, struct nd_err *err)
{
	uint64_t asked_ns = plan->warmup_ns + plan->duration_ns + plan->cooldown_ns;
	uint64_t flows = nd_plan_flows(plan);
	char asked[64], limit[64];

	if (policy->max_flows && flows > policy->max_flows)
		return nd_fail(err, -EPERM,
			       "-P: %llu flows are over the %llu that this server allows",
			       ULL(flows), ULL(policy->max_flows));
	if (!policy->max_time_ns || asked_ns <= policy->max_time_ns)
		return 0;
	if (plan->workloads && (plan->workload[0].total_bytes || plan->workload[0].total_ops) &&
	    asked_ns >= ND_MAX_NS)
		return nd_fail(
			err, -EPERM,
			"-n: this server allows at most %s, warm-up and cool-down included: "
			"give -t, too",
			nd_format_unit(policy->max_time_ns, ND_UNIT_TIME_NS, limit, sizeof(limit)));
	return nd_fail(
		err, -EPERM,
		"-t, or --trial: a test of %s, warm-up and cool-down included, is over the %s that this "
		"server allows",
		nd_format_unit(asked_ns, ND_UNIT_TIME_NS, asked, sizeof(asked)),
		nd_format_unit(policy->max_time_ns, ND_UNIT_TIME_NS, limit, sizeof(limit)));
}
