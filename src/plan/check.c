/* SPDX-License-Identifier: MIT */
/*
 * The one judge of a plan. Rules with fixed words are rows; those with figures are functions. A plan may
 * come from a peer: nothing is believed.
 */
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "plan/plan.h"

#define MAX_NAME       32u
#define MAX_CC         15u /* TCP_CA_NAME_MAX with its end */
#define MAX_CPU        4095u
#define MAX_PIN        1024u
#define MAX_GROUP_WAIT (3600ull * ND_NS_PER_S)
#define MAX_BUFFERS    (4ull << 30)
#define MAX_SAMPLES    4000000ull /* intervals kept by all workers */
#define ULL(v)         ((unsigned long long)(v))

/* ---- rules with fixed words */

struct rule {
	bool (*broken)(const struct nd_plan *plan);
	const char *sentence;
};

static bool has_load(const struct nd_plan *plan, const char *load)
{
	uint64_t i;

	for (i = 0; i < plan->workloads; i++)
		if (!strcmp(plan->workload[i].load, load))
			return true;
	return false;
}

static bool is_rr(const struct nd_plan *plan)
{
	uint64_t i;

	for (i = 0; i < plan->workloads; i++)
		if (nd_plan_has_turns(&plan->workload[i]))
			return true;
	return false;
}

static bool has_udp(const struct nd_plan *plan)
{
	uint64_t i;

	for (i = 0; i < plan->workloads; i++)
		if (nd_plan_is_datagram(&plan->workload[i]))
			return true;
	return false;
}

/* Options of TCP are for nothing then. */
static bool only_udp(const struct nd_plan *plan)
{
	uint64_t i;

	for (i = 0; i < plan->workloads; i++)
		if (!nd_plan_is_datagram(&plan->workload[i]))
			return false;
	return plan->workloads > 0;
}

/* The largest of one member over all workloads. */
static uint64_t most(const struct nd_plan *plan, size_t offset)
{
	uint64_t v, max = 0, i;

	for (i = 0; i < plan->workloads; i++) {
		memcpy(&v, (const char *)&plan->workload[i] + offset, sizeof(v));
		max = ND_MAX(max, v);
	}
	return max;
}

#define MOST(plan, f) most(plan, ND_FIELD_OF(uint64_t, struct nd_workload, f))

static bool both_families(const struct nd_plan *p)
{
	return p->ask.ipv4 && p->ask.ipv6;
}

static bool both_directions(const struct nd_plan *p)
{
	return p->ask.bidir && p->ask.reverse;
}

static bool both_rates(const struct nd_plan *p)
{
	for (uint64_t i = 0; i < p->workloads; i++)
		if (p->workload[i].rate_bps && p->workload[i].rate_ops)
			return true;
	return false;
}

static bool mptcp_udp(const struct nd_plan *p)
{
	return p->mptcp && only_udp(p);
}

static bool cc_udp(const struct nd_plan *p)
{
	return p->sock.cc && only_udp(p);
}

static bool mss_udp(const struct nd_plan *p)
{
	return p->sock.mss_bytes && only_udp(p);
}

static bool nodelay_udp(const struct nd_plan *p)
{
	return p->sock.nodelay && only_udp(p);
}

static bool fragment_tcp(const struct nd_plan *p)
{
	return p->sock.fragment && !has_udp(p);
}

static bool verify_rr(const struct nd_plan *p)
{
	return p->verify && is_rr(p);
}

static bool verify_payload(const struct nd_plan *p)
{
	return p->verify && p->payload != ND_PAYLOAD_PATTERN;
}

static bool rr_bitrate(const struct nd_plan *p)
{
	for (uint64_t i = 0; i < p->workloads; i++)
		if (nd_plan_has_turns(&p->workload[i]) && p->workload[i].rate_bps)
			return true;
	return false;
}

static bool rr_length(const struct nd_plan *p)
{
	return is_rr(p) && p->ask.has_message_bytes;
}

static bool request_stream(const struct nd_plan *p)
{
	return p->ask.has_request && !is_rr(p);
}

static bool total_warmup(const struct nd_plan *p)
{
	return (MOST(p, total_bytes) || MOST(p, total_ops)) && p->warmup_ns;
}

static bool total_cooldown(const struct nd_plan *p)
{
	return (MOST(p, total_bytes) || MOST(p, total_ops)) && p->cooldown_ns;
}

static bool lines_format(const struct nd_plan *p)
{
	return p->out.json_lines && p->out.format && strcmp(p->out.format, "json") != 0;
}

static bool device_among_others(const struct nd_plan *p)
{
	uint64_t i;

	for (i = 0; i < p->bind.n; i++)
		if (p->bind.v[i][0] == '%' && p->bind.n > 1)
			return true;
	return false;
}

static bool asks(const char *way, const char *name)
{
	return way && !strcmp(way, name);
}

static bool gso_tx(const struct nd_plan *p)
{
	return p->gso && p->tx && !asks(p->tx, "auto") && (p->gso > 1) != asks(p->tx, "gso");
}

static bool gro_rx(const struct nd_plan *p)
{
	return p->gro != ND_AUTO && p->rx && !asks(p->rx, "auto") &&
	       (p->gro == ND_ON) != asks(p->rx, "gro");
}

static bool gso_tcp(const struct nd_plan *p)
{
	return p->gso > 1 && !nd_plan_has_datagrams(p);
}

static bool gro_tcp(const struct nd_plan *p)
{
	return p->gro == ND_ON && !nd_plan_has_datagrams(p);
}

static bool pieces_rr(const struct nd_plan *p)
{
	return (p->gso > 1 || p->gro == ND_ON || asks(p->tx, "gso") || asks(p->rx, "gro")) &&
	       is_rr(p);
}

static bool find_both_ways(const struct nd_plan *p)
{
	return p->find.wanted && p->workloads > 1;
}

static bool find_bytes(const struct nd_plan *p)
{
	return p->find.wanted && MOST(p, total_bytes);
}

static bool find_time(const struct nd_plan *p)
{
	return p->find.wanted && p->ask.has_time;
}

static bool trial_alone(const struct nd_plan *p)
{
	return p->ask.has_trial && !p->find.wanted;
}

static bool spread_bound(const struct nd_plan *p)
{
	return p->spread && p->bind.n > 1;
}

static bool group_alone(const struct nd_plan *p)
{
	return p->group && !p->group_expect;
}

static bool wait_alone(const struct nd_plan *p)
{
	return p->ask.has_group_wait && !p->group;
}

static bool request_only(const struct nd_plan *p)
{
	return p->ask.has_request && has_load(p, "cc");
}

static bool poll_connect(const struct nd_plan *p)
{
	return p->busy_poll_us && nd_plan_connects(p);
}

static bool depth_turns(const struct nd_plan *p)
{
	return p->depth > 1 && (is_rr(p) || nd_plan_has_datagrams(p));
}

static bool expect_alone(const struct nd_plan *p)
{
	return p->group_expect && !p->group;
}

static bool group_find(const struct nd_plan *p)
{
	return p->group && p->find.wanted;
}

static bool paced_outstanding(const struct nd_plan *p)
{
	return p->ask.has_outstanding && has_load(p, "paced");
}

static bool arrival_alone(const struct nd_plan *p)
{
	return p->ask.has_arrival && !has_load(p, "paced");
}

static bool nagle_udp(const struct nd_plan *p)
{
	return p->ask.nagle && only_udp(p);
}

static bool nagle_nodelay(const struct nd_plan *p)
{
	return p->ask.nagle && p->sock.nodelay;
}

/* Answers may come in any order, or not at all: each must say whose it is. */
static bool short_datagrams(const struct nd_plan *p)
{
	for (uint64_t i = 0; i < p->workloads; i++) {
		const struct nd_workload *w = &p->workload[i];

		if (nd_plan_is_datagram(w) && (w->ahead || !strcmp(w->load, "paced")) && !p->face &&
		    ND_MIN(w->request_bytes, w->response_bytes) < 8)
			return true;
	}
	return false;
}

/* clang-format off */
static const struct rule every_verb[] = {
	{ both_families, "-4 and -6 exclude each other" },
	{ lines_format,  "--json-lines needs -o json" },
	{ NULL, NULL }
};

static const struct rule tests[] = {
	{ both_directions,     "--bidir and --reverse exclude each other" },
	{ both_rates,          "-b and --rate exclude each other" },
	{ mptcp_udp,           "--mptcp and -u exclude each other" },
	{ cc_udp,              "--cc is for TCP, it has no meaning with -u" },
	{ mss_udp,             "--mss is for TCP, it has no meaning with -u" },
	{ nodelay_udp,         "--nodelay is for TCP, it has no meaning with -u" },
	{ fragment_tcp,        "--fragment needs -u" },
	{ verify_rr,           "--verify compares streams, it has no meaning with --shape rr" },
	{ verify_payload,      "--verify needs --payload pattern" },
	{ rr_bitrate,          "-b has no meaning with --shape rr, --rate sets requests per second" },
	{ rr_length,           "-l has no meaning with --shape rr, -r gives the sizes" },
	{ request_stream,      "-r needs --shape rr" },
	{ total_warmup,        "-n with --warmup: warm-up must be 0 when -n ends the test" },
	{ total_cooldown,      "-n with --cooldown: cool-down must be 0 when -n ends the test" },
	{ device_among_others, "-B: a device stands alone" },
	{ gso_tx,              "--gso and --tx exclude each other" },
	{ gro_rx,              "--gro and --rx exclude each other" },
	{ gso_tcp,             "--gso needs -u" },
	{ gro_tcp,             "--gro needs -u" },
	{ pieces_rr,           "--gso and --gro have no meaning with --shape rr: each message is answered" },
	{ find_both_ways,      "--find-rate and --bidir exclude each other" },
	{ find_bytes,          "--find-rate and -n exclude each other" },
	{ find_time,           "-t has no meaning with --find-rate, --trial is the time of one trial" },
	{ trial_alone,         "--trial needs --find-rate" },
	{ paced_outstanding,   "-q and --rate exclude each other: requests by a schedule do not wait" },
	{ arrival_alone,       "--arrival needs --rate" },
	{ nagle_udp,           "--nagle is for TCP, it has no meaning with -u" },
	{ nagle_nodelay,       "--nagle and --nodelay exclude each other" },
	{ short_datagrams,     "-r: with -u and --rate or -q sizes are of 8 bytes and more: a number tells whose answer it is" },
	{ group_alone,         "--group needs --expect, the number of clients" },
	{ wait_alone,          "--group-wait needs --group" },
	{ request_only,        "-r and --only exclude each other: nothing is asked" },
	{ poll_connect,        "--busy-poll has no meaning with connections that do not last" },
	{ depth_turns,         "--depth is for streams: several sends of a flow under way" },
	{ expect_alone,        "--expect needs --group" },
	{ group_find,          "--group and --find-rate exclude each other" },
	{ spread_bound,        "--spread needs one source address, or none" },
	{ NULL, NULL }
};

/* clang-format on */

static int check_rules(const struct nd_plan *plan, const struct rule *rules, struct nd_err *err)
{
	for (; rules->sentence; rules++)
		if (rules->broken(plan))
			return nd_fail(err, -EINVAL, "%s", rules->sentence);
	return 0;
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

/* Another tool's face has other words, and its persona has judged them. */
static int check_test_rules(const struct nd_plan *plan, struct nd_err *err)
{
	return plan->face ? 0 : check_rules(plan, tests, err);
}

int nd_plan_check(const struct nd_plan *plan, struct nd_err *err)
{
	/* in this order: later ones divide and multiply by what earlier ones have limited */
	static int (*const all[])(const struct nd_plan *, struct nd_err *) = {
		check_workloads, check_numbers, check_words, check_test_rules,
		check_time,      check_threads, check_ports, check_group
	};
	int r = check_rules(plan, every_verb, err);
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
