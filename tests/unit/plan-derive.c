/* SPDX-License-Identifier: MIT */
/* What was typed becomes workloads; the plan's arithmetic over flows; decoding. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/num.h"
#include "plan/plan.h"

/* A workload by its members, so that new ones need no change here. */
#define WORKLOAD(a, l, f, t, n, first, bytes, request, response, bps, ops, total)            \
	{                                                                                    \
		.active = (a), .load = (l), .frame = (f), .transport = (t), .flows = (n),    \
		.first_flow = (first), .message_bytes = (bytes), .request_bytes = (request), \
		.response_bytes = (response), .rate_bps = (bps), .rate_ops = (ops),          \
		.total_bytes = (total)                                                       \
	}

#define KI 1024ull
#define S  ND_NS_PER_S

/* As the parser leaves it when nothing was typed but a host. */
static void typed(struct nd_plan *p)
{
	nd_plan_init(p);
	p->verb = ND_VERB_STREAM;
	p->host = "h";
	p->ask.flows = 1;
	p->ask.shape = "stream";
	p->ask.request_bytes = p->ask.response_bytes = 1;
	p->duration_ns = 10 * S;
	p->warmup_ns = p->interval_ns = S;
	p->drain_ns = 10 * S;
	p->engine = "auto";
	p->tx = p->rx = "copy";
	p->out.format = "text";
}

static void derive(struct nd_plan *p)
{
	struct nd_err err = { 0 };

	if (nd_plan_derive(p, &err) < 0)
		fail_msg("%s", err.text);
	if (p->wants_datagram_bytes) {
		assert_int_equal(nd_plan_check(p, &err), 0);
		nd_plan_set_datagram(p, 1472);
		assert_false(p->wants_datagram_bytes);
	}
	if (nd_plan_check(p, &err) < 0)
		fail_msg("%s", err.text);
}

static void udp(struct nd_plan *p)
{
	p->ask.udp = true;
}

static void udp_length(struct nd_plan *p)
{
	p->ask.udp = p->ask.has_message_bytes = true;
	p->ask.message_bytes = 100;
}

static void mptcp(struct nd_plan *p)
{
	p->mptcp = true;
}

static void verify(struct nd_plan *p)
{
	p->verify = true;
}

static void reverse(struct nd_plan *p)
{
	p->ask.reverse = true;
}

static void length(struct nd_plan *p)
{
	p->ask.has_message_bytes = true;
	p->ask.message_bytes = 12345;
}

static void four(struct nd_plan *p)
{
	p->ask.flows = 4;
}

static void five(struct nd_plan *p)
{
	p->ask.flows = 5;
}

static void sixty_five(struct nd_plan *p)
{
	p->ask.flows = 65;
}

static void many(struct nd_plan *p)
{
	p->ask.flows = 1001;
}

static void rate(struct nd_plan *p)
{
	p->ask.flows = 4;
	p->ask.bps.value = 1000;
}

static void rate_each(struct nd_plan *p)
{
	rate(p);
	p->ask.bps.per_flow = true;
}

static void ops_each(struct nd_plan *p)
{
	p->ask.flows = 4;
	p->ask.ops = (struct nd_asked_rate){ 10, true };
}

static void rr(struct nd_plan *p)
{
	p->ask.shape = "rr";
	p->ask.request_bytes = 64;
	p->ask.response_bytes = 1000;
}

static void rr_udp(struct nd_plan *p)
{
	rr(p);
	p->ask.udp = true;
}

static void rr_reverse(struct nd_plan *p)
{
	rr(p);
	p->ask.reverse = true;
}

static void packets(struct nd_plan *p)
{
	p->verb = ND_VERB_PACKETS;
}

static void packets_rate(struct nd_plan *p)
{
	packets(p);
	p->ask.ops.value = 5000;
	p->ask.message_bytes = 1;
	p->ask.has_message_bytes = true;
}

static void packets_imix(struct nd_plan *p)
{
	packets(p);
	p->ask.imix = p->ask.has_message_bytes = true;
	assert_int_equal(
		nd_list_new(&p->arena, &p->ask.sizes, ND_IMIX_FRAMES, sizeof(struct nd_size)), 0);
}

/* clang-format off */
static const struct {
	const char *what;
	void (*change)(struct nd_plan *p);
	struct nd_workload w;
} shapes[] = {
	{ "udp", udp, WORKLOAD(ND_CLIENT, "stream", "native", "udp", 1, 0, 1472, 0, 0, 0, 0, 0) },
	{ "udp -l", udp_length, WORKLOAD(ND_CLIENT, "stream", "native", "udp", 1, 0, 100, 0, 0, 0, 0, 0) },
	{ "mptcp", mptcp, WORKLOAD(ND_CLIENT, "stream", "plain", "mptcp", 1, 0, 256 * KI, 0, 0, 0, 0, 0) },
	{ "verify", verify, WORKLOAD(ND_CLIENT, "stream", "pattern", "tcp", 1, 0, 256 * KI, 0, 0, 0, 0, 0) },
	{ "reverse", reverse, WORKLOAD(ND_SERVER, "stream", "plain", "tcp", 1, 0, 256 * KI, 0, 0, 0, 0, 0) },
	{ "-l", length, WORKLOAD(ND_CLIENT, "stream", "plain", "tcp", 1, 0, 12345, 0, 0, 0, 0, 0) },
	{ "-P 4", four, WORKLOAD(ND_CLIENT, "stream", "plain", "tcp", 4, 0, 256 * KI, 0, 0, 0, 0, 0) },
	{ "-P 5", five, WORKLOAD(ND_CLIENT, "stream", "plain", "tcp", 5, 0, 256 * KI, 0, 0, 0, 0, 0) },
	{ "-P 65", sixty_five, WORKLOAD(ND_CLIENT, "stream", "plain", "tcp", 65, 0, 128 * KI, 0, 0, 0, 0, 0) },
	{ "-P 1001", many, WORKLOAD(ND_CLIENT, "stream", "plain", "tcp", 1001, 0, 64 * KI, 0, 0, 0, 0, 0) },
	{ "-b", rate, WORKLOAD(ND_CLIENT, "stream", "plain", "tcp", 4, 0, 256 * KI, 0, 0, 1000, 0, 0) },
	{ "-b /flow", rate_each, WORKLOAD(ND_CLIENT, "stream", "plain", "tcp", 4, 0, 256 * KI, 0, 0, 4000, 0, 0) },
	{ "--rate /flow", ops_each, WORKLOAD(ND_CLIENT, "stream", "plain", "tcp", 4, 0, 256 * KI, 0, 0, 0, 40, 0) },
	{ "rr", rr, WORKLOAD(ND_CLIENT, "rr", "plain", "tcp", 1, 0, 1000, 64, 1000, 0, 0, 0) },
	{ "rr -u", rr_udp, WORKLOAD(ND_CLIENT, "rr", "native", "udp", 1, 0, 1000, 64, 1000, 0, 0, 0) },
	{ "packets", packets, WORKLOAD(ND_CLIENT, "stream", "native", "udp", 1, 0, 18, 0, 0, 0, 0, 0) },
	{ "packets --rate", packets_rate, WORKLOAD(ND_CLIENT, "stream", "native", "udp", 1, 0, 1, 0, 0, 0, 5000, 0) },
	{ "packets imix", packets_imix, WORKLOAD(ND_CLIENT, "stream", "native", "udp", 1, 0, 1472, 0, 0, 0, 0, 0) },
	{ "rr -R", rr_reverse, WORKLOAD(ND_SERVER, "rr", "plain", "tcp", 1, 0, 1000, 64, 1000, 0, 0, 0) },
};

/* clang-format on */

static bool same(const struct nd_workload *a, const struct nd_workload *b)
{
	return a->active == b->active && !strcmp(a->load, b->load) && !strcmp(a->frame, b->frame) &&
	       !strcmp(a->transport, b->transport) && a->flows == b->flows &&
	       a->first_flow == b->first_flow && a->message_bytes == b->message_bytes &&
	       a->request_bytes == b->request_bytes && a->response_bytes == b->response_bytes &&
	       a->rate_bps == b->rate_bps && a->rate_ops == b->rate_ops &&
	       a->total_bytes == b->total_bytes;
}

static void derives_workloads(void **state)
{
	struct nd_plan p;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(shapes); i++) {
		typed(&p);
		shapes[i].change(&p);
		derive(&p);
		if (p.workloads != 1 || !same(&p.workload[0], &shapes[i].w))
			fail_msg("%s", shapes[i].what);
		assert_int_equal(p.payload, p.verify ? ND_PAYLOAD_PATTERN : ND_PAYLOAD_RANDOM);
		nd_plan_done(&p);
	}
}

/* The frames are the same whatever the headers; the smallest of IPv6 is a little larger. */
static void fits_imix_to_headers(void **state)
{
	static const struct nd_size v4[] = { { 18, 7 }, { 548, 4 }, { 1472, 1 } };
	static const struct nd_size v6[] = { { 8, 7 }, { 528, 4 }, { 1452, 1 } };
	struct nd_plan p;

	(void)state;
	typed(&p);
	packets_imix(&p);
	derive(&p);
	assert_int_equal(p.gso, 1);
	assert_int_equal(p.gro, ND_OFF);
	assert_int_equal(p.workload[0].sizes.n, 3);
	assert_memory_equal(p.workload[0].sizes.v, v4, sizeof(v4));
	nd_plan_set_imix(&p, 48);
	assert_memory_equal(p.workload[0].sizes.v, v6, sizeof(v6));
	assert_int_equal(p.workload[0].message_bytes, 1452);
	assert_null(nd_plan_note(&p));
	nd_plan_done(&p);
}

static void derives_searches(void **state)
{
	struct nd_plan p;

	(void)state;
	typed(&p);
	packets(&p);
	p.find = (struct nd_find){ .wanted = true, .loss_ppm = 1000, .trial_ns = 2 * ND_NS_PER_S };
	derive(&p);
	assert_int_equal(p.duration_ns, 2 * ND_NS_PER_S);
	assert_int_equal(p.warmup_ns, 200 * ND_NS_PER_MS);
	nd_plan_done(&p);
}

static void derives_both_directions(void **state)
{
	const struct nd_workload out =
		WORKLOAD(ND_CLIENT, "stream", "plain", "tcp", 3, 0, 256 * KI, 0, 0, 30, 0, 99);
	struct nd_workload back = out;
	struct nd_plan p;

	(void)state;
	back.active = ND_SERVER;
	back.first_flow = 3;
	typed(&p);
	p.ask.bidir = true;
	p.ask.flows = 3;
	p.ask.bps = (struct nd_asked_rate){ 10, true };
	p.ask.total_bytes = 99;
	derive(&p);
	assert_int_equal(p.workloads, 2);
	assert_true(same(&p.workload[0], &out));
	assert_true(same(&p.workload[1], &back));
	assert_ptr_equal(p.workload_list.v, p.workload);
	assert_int_equal(p.workload_list.n, 2);
	assert_int_equal(nd_plan_flows(&p), 6);
	assert_int_equal(nd_plan_workload_of(&p, 0), 0);
	assert_int_equal(nd_plan_workload_of(&p, 2), 0);
	assert_int_equal(nd_plan_workload_of(&p, 3), 1);
	assert_int_equal(nd_plan_workload_of(&p, 5), 1);
	nd_plan_done(&p);
}

/* clang-format off */
static const struct {
	const char *what;
	uint64_t total, time_ns, warmup_ns, interval_ns; /* as typed; ND_UNKNOWN: not */
	uint64_t duration, warmup, interval;
} times[] = {
	{ "nothing", 0, ND_UNKNOWN, ND_UNKNOWN, ND_UNKNOWN, 10 * S, S, S },
	{ "-t", 0, 5 * S, ND_UNKNOWN, ND_UNKNOWN, 5 * S, S, S },
	{ "--warmup", 0, ND_UNKNOWN, 3 * S, ND_UNKNOWN, 10 * S, 3 * S, S },
	{ "-n", 1000, ND_UNKNOWN, ND_UNKNOWN, ND_UNKNOWN, 86400 * S, 0, S },
	{ "-n -t", 1000, 7 * S, ND_UNKNOWN, ND_UNKNOWN, 7 * S, 0, S },
	{ "-n --warmup 0", 1000, ND_UNKNOWN, 0, ND_UNKNOWN, 86400 * S, 0, S },
	{ "-n -i", 1000, ND_UNKNOWN, ND_UNKNOWN, S / 10, 10000 * S, 0, S / 10 },
	{ "-t short", 0, S / 2, ND_UNKNOWN, ND_UNKNOWN, S / 2, S, S / 2 },
};

/* clang-format on */

static void derives_times(void **state)
{
	struct nd_plan p;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(times); i++) {
		typed(&p);
		p.ask.total_bytes = times[i].total;
		p.ask.has_time = times[i].time_ns != ND_UNKNOWN;
		p.ask.has_warmup = times[i].warmup_ns != ND_UNKNOWN;
		p.ask.has_interval = times[i].interval_ns != ND_UNKNOWN;
		p.duration_ns = p.ask.has_time ? times[i].time_ns : p.duration_ns;
		p.warmup_ns = p.ask.has_warmup ? times[i].warmup_ns : p.warmup_ns;
		p.interval_ns = p.ask.has_interval ? times[i].interval_ns : p.interval_ns;
		derive(&p);
		if (p.duration_ns != times[i].duration || p.warmup_ns != times[i].warmup ||
		    p.interval_ns != times[i].interval)
			fail_msg("%s: %llu %llu %llu", times[i].what,
				 (unsigned long long)p.duration_ns, (unsigned long long)p.warmup_ns,
				 (unsigned long long)p.interval_ns);
		nd_plan_done(&p);
	}
}

static void derives_the_rest(void **state)
{
	struct nd_err err = { 0 };
	struct nd_plan p;

	(void)state;
	typed(&p);
	p.ask.ipv6 = true;
	p.out.json_lines = true;
	derive(&p);
	assert_int_equal(p.af, ND_AF_IPV6);
	assert_string_equal(p.out.format, "json");
	typed(&p);
	p.ask.bps = (struct nd_asked_rate){ UINT64_MAX / 2, true };
	p.ask.flows = 3;
	assert_int_equal(nd_plan_derive(&p, &err), -EINVAL);
	assert_string_equal(err.text, "-b: the rate over all flows is too large");
	nd_plan_init(&p);
	p.out.file = "x";
	assert_int_equal(nd_plan_derive(&p, &err), 0);
	assert_string_equal(p.out.format, "text");
	assert_int_equal(nd_plan_check(&p, &err), 0);
}

static void notes_unlimited_datagrams(void **state)
{
	struct nd_plan p;

	(void)state;
	typed(&p);
	derive(&p);
	assert_null(nd_plan_note(&p));
	typed(&p);
	p.ask.udp = true;
	derive(&p);
	assert_non_null(nd_plan_note(&p));
	typed(&p);
	p.ask.udp = true;
	p.ask.bps.value = 1000;
	derive(&p);
	assert_null(nd_plan_note(&p));
}

static void notes_slow_set_up(void **state)
{
	static const struct {
		bool udp, noted;
		uint64_t flows;
	} rows[] = { { true, false, 1 },
		     { true, false, 4000 },
		     { true, true, 4001 },
		     { false, false, 10000 } };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_plan p;

		typed(&p);
		p.ask.udp = rows[i].udp;
		p.ask.flows = rows[i].flows;
		derive(&p);
		assert_int_equal(nd_plan_set_up_note(&p) != NULL, rows[i].noted);
	}
}

static void shares_evenly(void **state)
{
	/* clang-format off */
	static const struct { uint64_t total, parts; } rows[] = {
		{ 0, 1 }, { 1, 3 }, { 10, 3 }, { 12, 4 }, { 99999, 7 }, { UINT64_MAX, 1000 },
	};

	/* clang-format on */
	uint64_t sum, last, share, j;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		sum = 0;
		last = nd_plan_share(rows[i].total, rows[i].parts, 0);
		for (j = 0; j < rows[i].parts; j++) {
			share = nd_plan_share(rows[i].total, rows[i].parts, j);
			assert_true(share <= last && last - share <= 1);
			last = share;
			sum += share;
		}
		assert_int_equal(sum, rows[i].total);
	}
	assert_int_equal(nd_plan_share(5, 0, 0), 0);
}

static void adopts_what_was_decoded(void **state)
{
	struct nd_workload w[ND_MAX_WORKLOADS + 1] = {
		WORKLOAD(ND_SERVER, "stream", "plain", "tcp", 2, ND_UNKNOWN, 10, ND_UNKNOWN,
			 ND_UNKNOWN, ND_UNKNOWN, ND_UNKNOWN, ND_UNKNOWN),
	};
	struct nd_err err = { 0 };
	struct nd_plan p;
	uint64_t n;

	(void)state;
	for (n = 0; n <= ND_MAX_WORKLOADS + 1; n++) {
		nd_plan_init(&p);
		nd_table_unknown(&nd_plan_table, &p);
		p.workload_list = (struct nd_list){ .v = w, .n = n };
		if (n == 0 || n > ND_MAX_WORKLOADS) {
			assert_int_equal(nd_plan_adopt(&p, &err), -EBADMSG);
			continue;
		}
		assert_int_equal(nd_plan_adopt(&p, &err), 0);
		assert_int_equal(p.workloads, n);
		assert_int_equal(p.verb, ND_VERB_STREAM);
		assert_ptr_equal(p.workload_list.v, p.workload);
	}
	nd_plan_init(&p);
	nd_table_unknown(&nd_plan_table, &p);
	p.workload_list = (struct nd_list){ .v = w, .n = 1 };
	assert_int_equal(nd_plan_adopt(&p, &err), 0);
	assert_int_equal(p.workload[0].total_bytes, 0);
	assert_string_equal(p.engine, "auto");
	assert_int_equal(nd_plan_check(&p, &err), -EINVAL);
	p.duration_ns = p.interval_ns = S;
	assert_int_equal(nd_plan_check(&p, &err), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(derives_workloads),
		cmocka_unit_test(derives_both_directions),
		cmocka_unit_test(fits_imix_to_headers),
		cmocka_unit_test(derives_searches),
		cmocka_unit_test(derives_times),
		cmocka_unit_test(derives_the_rest),
		cmocka_unit_test(notes_unlimited_datagrams),
		cmocka_unit_test(notes_slow_set_up),
		cmocka_unit_test(shares_evenly),
		cmocka_unit_test(adopts_what_was_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
