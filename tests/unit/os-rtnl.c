/* SPDX-License-Identifier: MIT */
/* Netlink answers, made by hand: links, queueing disciplines, and what is wrong with some. */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "os/int.h"

#define UNKNOWN ND_UNKNOWN
#define SEQ     7u
#define ROOT    TC_H_ROOT

/* An answer while it is put together. */
struct answer {
	size_t len;
	_Alignas(8) char bytes[4096];
};

static size_t add_bytes(struct answer *a, const void *data, size_t len)
{
	size_t at = a->len;

	assert_true(a->len + len + 3 < sizeof(a->bytes));
	memset(a->bytes + at, 0, len + 3);
	if (len)
		memcpy(a->bytes + at, data, len);
	a->len += (len + 3) & ~(size_t)3;
	return at;
}

static size_t begin_attr(struct answer *a, uint16_t type)
{
	struct rtattr head = { .rta_type = type };

	return add_bytes(a, &head, sizeof(head));
}

static void end_attr(struct answer *a, size_t at)
{
	uint16_t len = (uint16_t)(a->len - at);

	memcpy(a->bytes + at + offsetof(struct rtattr, rta_len), &len, sizeof(len));
}

static void add_attr(struct answer *a, uint16_t type, const void *data, size_t len)
{
	size_t at = begin_attr(a, type);

	(void)add_bytes(a, data, len);
	end_attr(a, at);
}

static size_t begin_message(struct answer *a, uint16_t type, uint16_t flags, uint32_t seq)
{
	struct nlmsghdr head = { .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = seq };

	return add_bytes(a, &head, sizeof(head));
}

static void end_message(struct answer *a, size_t at)
{
	uint32_t len = (uint32_t)(a->len - at);

	memcpy(a->bytes + at + offsetof(struct nlmsghdr, nlmsg_len), &len, sizeof(len));
}

struct qdisc_row {
	int ifindex;
	uint32_t parent, handle;
	const char *kind;
	uint32_t packets, bytes, drops, overlimits, requeues, backlog;
	uint64_t packets_64;
	bool is_old; /* TCA_STATS alone */
};

static void add_stats(struct answer *a, const struct qdisc_row *q)
{
	struct gnet_stats_basic basic = { .bytes = q->bytes, .packets = q->packets };
	struct gnet_stats_queue queue = { q->backlog, 0, q->drops, q->requeues, q->overlimits };
	struct tc_stats old = { .bytes = q->bytes,
				.packets = q->packets,
				.drops = q->drops,
				.overlimits = q->overlimits,
				.qlen = q->backlog };
	size_t at;

	if (q->is_old) {
		add_attr(a, TCA_STATS, &old, sizeof(old));
		return;
	}
	at = begin_attr(a, TCA_STATS2);
	add_attr(a, TCA_STATS_BASIC, &basic, sizeof(basic));
	if (q->packets_64)
		add_attr(a, TCA_STATS_PKT64, &q->packets_64, sizeof(q->packets_64));
	add_attr(a, TCA_STATS_QUEUE, &queue, sizeof(queue));
	end_attr(a, at);
}

static void add_qdisc(struct answer *a, const struct qdisc_row *q)
{
	struct tcmsg t = { .tcm_ifindex = q->ifindex,
			   .tcm_parent = q->parent,
			   .tcm_handle = q->handle };
	size_t at = begin_message(a, RTM_NEWQDISC, NLM_F_MULTI, SEQ);

	(void)add_bytes(a, &t, sizeof(t));
	add_attr(a, TCA_KIND, q->kind, strlen(q->kind) + 1);
	if (q->bytes || q->packets)
		add_stats(a, q);
	end_message(a, at);
}

/* clang-format off */
static const struct qdisc_row qdiscs[] = {
	/* no stats: a qdisc that says nothing */
	{ .ifindex = 1, .parent = ROOT, .kind = "noqueue" },
	/* classful: the root has its child's counts in it */
	{ .ifindex = 2, .parent = ROOT, .handle = 0x10000, .kind = "htb", .packets = 10, .bytes = 1000,
	  .drops = 3, .overlimits = 4, .requeues = 1, .backlog = 2 },
	{ .ifindex = 2, .parent = 0x10001, .handle = 0x20000, .kind = "pfifo", .packets = 10,
	  .bytes = 1000, .drops = 3 },
	/* one child per queue, one grandchild, and an ingress qdisc */
	{ .ifindex = 3, .parent = ROOT, .kind = "mq", .packets = 1, .bytes = 1 },
	{ .ifindex = 3, .parent = 1, .handle = 0, .kind = "fq_codel", .packets = 5, .bytes = 500,
	  .drops = 1, .backlog = 7 },
	{ .ifindex = 3, .parent = 2, .handle = 0x80010000, .kind = "htb", .packets = 6, .bytes = 600,
	  .drops = 2, .overlimits = 9 },
	{ .ifindex = 3, .parent = 0x80010001, .handle = 0x80020000, .kind = "pfifo", .packets = 6,
	  .bytes = 600, .drops = 2 },
	{ .ifindex = 3, .parent = TC_H_INGRESS, .handle = 0xffff0000, .kind = "ingress", .packets = 99,
	  .bytes = 99 },
	/* more packets than 32 bits hold */
	{ .ifindex = 4, .parent = ROOT, .handle = 0x10000, .kind = "fq", .packets = 5, .bytes = 1,
	  .packets_64 = (1ull << 32) + 5 },
	{ .ifindex = 5, .parent = ROOT, .handle = 0x10000, .kind = "tbf", .packets = 8, .bytes = 80,
	  .drops = 6, .overlimits = 7, .backlog = 1, .is_old = true },
	/* an interface that came since */
	{ .ifindex = 77, .parent = ROOT, .kind = "pfifo", .packets = 1, .bytes = 1 },
	{ .ifindex = -1, .parent = ROOT, .kind = "pfifo", .packets = 1, .bytes = 1 },
};

static const struct { uint64_t packets, bytes, drops, overlimits, requeues, backlog; } sums[] = {
	{ UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN },
	{ 10, 1000, 3, 4, 1, 2 },
	{ 11, 1100, 3, 9, 0, 7 },
	{ (1ull << 32) + 5, 1, 0, 0, 0, 0 },
	{ 8, 80, 6, 7, UNKNOWN, 1 },
	{ UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN },
};

/* clang-format on */

static void adds_qdiscs_up(void **state)
{
	struct nd_os_qdisc_root roots[ND_COUNTOF(sums)] = { { 0 } };
	struct nd_nic nics[ND_COUNTOF(sums)];
	struct nd_os_sample s = { .nic = nics, .nics = ND_COUNTOF(sums) };
	struct nd_os_qdisc_walk w = { .sample = &s, .root = roots };
	struct nd_os_request q = { .take = nd_os_take_qdisc, .ctx = &w };
	struct answer a = { 0 };
	size_t i, at;

	(void)state;
	nd_os_blank(nics, sizeof(nics));
	for (i = 0; i < ND_COUNTOF(sums); i++)
		nics[i].ifindex = i + 1;
	for (i = 0; i < ND_COUNTOF(qdiscs); i++)
		add_qdisc(&a, &qdiscs[i]);
	assert_int_equal(nd_os_rtnl_walk(a.bytes, a.len, SEQ, &q), 0);
	a.len = 0;
	at = begin_message(&a, NLMSG_DONE, NLM_F_MULTI, SEQ);
	end_message(&a, at);
	assert_int_equal(nd_os_rtnl_walk(a.bytes, a.len, SEQ, &q), 1);
	for (i = 0; i < ND_COUNTOF(sums); i++) {
		assert_int_equal(nics[i].qdisc_packets, sums[i].packets);
		assert_int_equal(nics[i].qdisc_bytes, sums[i].bytes);
		assert_int_equal(nics[i].qdisc_drops, sums[i].drops);
		assert_int_equal(nics[i].qdisc_overlimits, sums[i].overlimits);
		assert_int_equal(nics[i].qdisc_requeues, sums[i].requeues);
		assert_int_equal(nics[i].qdisc_backlog_packets, sums[i].backlog);
	}
}

static void add_link(struct answer *a, int ifindex, const char *name, size_t stat_bytes)
{
	struct ifinfomsg info = { .ifi_index = ifindex };
	struct rtnl_link_stats64 stats = { .rx_packets = 11,
					   .tx_packets = 12,
					   .rx_bytes = 13,
					   .tx_bytes = 14,
					   .rx_missed_errors = 15,
					   .tx_carrier_errors = 16,
					   .rx_nohandler = 17 };
	size_t at = begin_message(a, RTM_NEWLINK, NLM_F_MULTI, SEQ);

	(void)add_bytes(a, &info, sizeof(info));
	if (name)
		add_attr(a, IFLA_IFNAME, name, strlen(name) + 1);
	if (stat_bytes)
		add_attr(a, IFLA_STATS64, &stats, stat_bytes);
	end_message(a, at);
}

static void takes_links(void **state)
{
	struct nd_os_sample s = { 0 };
	struct nd_os_request q = { .take = nd_os_take_link, .ctx = &s };
	struct answer a = { 0 };

	(void)state;
	add_link(&a, 3, "eth0", sizeof(struct rtnl_link_stats64));
	add_link(&a, 4, "old0", offsetof(struct rtnl_link_stats64, rx_nohandler));
	add_link(&a, 5, "dumb0", 0);
	add_link(&a, 6, NULL, sizeof(struct rtnl_link_stats64));
	assert_int_equal(nd_os_rtnl_walk(a.bytes, a.len, SEQ + 1, &q), 0); /* another's answer */
	assert_int_equal(s.nics, 0);
	assert_int_equal(nd_os_rtnl_walk(a.bytes, a.len, SEQ, &q), 0);
	assert_int_equal(s.nics, 3);
	assert_string_equal(s.nic[0].name, "eth0");
	assert_int_equal(s.nic[0].ifindex, 3);
	assert_int_equal(s.nic[0].rx_packets, 11);
	assert_int_equal(s.nic[0].rx_missed, 15);
	assert_int_equal(s.nic[0].tx_carrier_errors, 16);
	assert_int_equal(s.nic[0].rx_nohandler, 17);
	assert_int_equal(s.nic[0].rx_dropped, 0);
	assert_int_equal(s.nic[0].qdisc_drops, UNKNOWN);
	assert_int_equal(s.nic[1].tx_bytes, 14);
	assert_int_equal(s.nic[1].rx_nohandler, UNKNOWN);
	assert_int_equal(s.nic[2].rx_packets, UNKNOWN);
	nd_os_sample_done(&s);
}

static int count_only(void *ctx, const char *body, size_t len)
{
	(void)body;
	(void)len;
	return ++*(int *)ctx > 2 ? -E2BIG : 0;
}

struct end_case {
	uint16_t type;
	int32_t code;
	bool has_code;
	int r;
};

/* clang-format off */
static const struct end_case ends[] = {
	{ NLMSG_DONE,  0,       false, 1 },
	{ NLMSG_DONE,  0,       true,  1 },
	{ NLMSG_DONE,  -EPERM,  true,  -EPERM },
	{ NLMSG_ERROR, 0,       true,  1 },
	{ NLMSG_ERROR, -ENODEV, true,  -ENODEV },
	{ NLMSG_ERROR, 5,       true,  -EBADMSG },
	{ NLMSG_ERROR, INT32_MIN, true, -EBADMSG },
	{ NLMSG_ERROR, 0,       false, -EBADMSG },
	{ NLMSG_NOOP,  0,       true,  0 },
};

/* clang-format on */

static void ends_as_it_is_told(void **state)
{
	struct answer a;
	int seen = 0;
	struct nd_os_request q = { .take = count_only, .ctx = &seen };
	size_t i, at;

	(void)state;
	for (i = 0; i < ND_COUNTOF(ends); i++) {
		a.len = 0;
		at = begin_message(&a, ends[i].type, 0, SEQ);
		if (ends[i].has_code)
			(void)add_bytes(&a, &ends[i].code, sizeof(ends[i].code));
		end_message(&a, at);
		assert_int_equal(nd_os_rtnl_walk(a.bytes, a.len, SEQ, &q), ends[i].r);
	}
	assert_int_equal(seen, 0);
	a.len = 0;
	add_link(&a, 1, "a", 0);
	add_link(&a, 2, "b", 0);
	add_link(&a, 3, "c", 0);
	assert_int_equal(nd_os_rtnl_walk(a.bytes, a.len, SEQ, &q), -E2BIG);
}

static void refuses_what_is_cut_off(void **state)
{
	struct nd_os_sample s = { 0 };
	struct nd_os_request q = { .take = nd_os_take_link, .ctx = &s };
	struct answer a = { 0 };
	char *copy;
	size_t n;
	int r;

	(void)state;
	add_link(&a, 3, "eth0", sizeof(struct rtnl_link_stats64));
	for (n = 0; n < a.len; n++) {
		copy = malloc(n + 1); /* its end is guarded in a sanitizer build */
		assert_non_null(copy);
		memcpy(copy, a.bytes, n);
		r = nd_os_rtnl_walk(copy, n, SEQ, &q);
		assert_int_equal(r, n < NLMSG_HDRLEN ? 0 : -EBADMSG);
		if (n >= NLMSG_HDRLEN)
			(void)nd_os_take_link(&s, copy + NLMSG_HDRLEN, n - NLMSG_HDRLEN);
		free(copy);
	}
	nd_os_sample_done(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds_qdiscs_up),
		cmocka_unit_test(takes_links),
		cmocka_unit_test(ends_as_it_is_told),
		cmocka_unit_test(refuses_what_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
