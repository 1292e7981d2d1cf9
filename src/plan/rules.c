/* SPDX-License-Identifier: MIT */
/*
 * Rules of a plan with fixed words.
 * To add one: a function that is true where it is broken, one row with the sentence.
 */
#include <errno.h>
#include <string.h>

#include "plan/int.h"

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

static bool map_mptcp(const struct nd_plan *p)
{
	return p->mptcp && asks(p->rx, "mmap");
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
	{ map_mptcp,           "--rx mmap and --mptcp exclude each other: this kind of socket does not do it" },
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

static int judge(const struct nd_plan *plan, const struct rule *rules, struct nd_err *err)
{
	for (; rules->sentence; rules++)
		if (rules->broken(plan))
			return nd_fail(err, -EINVAL, "%s", rules->sentence);
	return 0;
}

int nd_plan_judge_verb(const struct nd_plan *plan, struct nd_err *err)
{
	return judge(plan, every_verb, err);
}

/* Another tool's face has other words, and its persona has judged them. */
int nd_plan_judge_test(const struct nd_plan *plan, struct nd_err *err)
{
	return plan->face ? 0 : judge(plan, tests, err);
}
