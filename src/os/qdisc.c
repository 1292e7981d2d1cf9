/* SPDX-License-Identifier: MIT */
/* What each interface's queueing discipline counted. Only netlink knows. */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "os/int.h"

#define MAJOR 0xffff0000u /* of a handle */

/* One qdisc's counts, gathered before they are added to an interface. */
struct counts {
	uint64_t packets, bytes, drops, overlimits, requeues, backlog_packets;
};

static void take_basic(const struct nd_os_attr *a, struct counts *c)
{
	struct gnet_stats_basic b = { 0 };

	/* The kernel's struct ends in padding that a 32-bit one lacks. */
	if (a->len < offsetof(struct gnet_stats_basic, packets) + sizeof(b.packets))
		return;
	memcpy(&b, a->data, ND_MIN(a->len, sizeof(b)));
	c->bytes = b.bytes;
	c->packets = b.packets;
}

static void take_queue(const struct nd_os_attr *a, struct counts *c)
{
	struct gnet_stats_queue q;

	if (a->len < sizeof(q))
		return;
	memcpy(&q, a->data, sizeof(q));
	c->backlog_packets = q.qlen;
	c->drops = q.drops;
	c->requeues = q.requeues;
	c->overlimits = q.overlimits;
}

static void take_stats2(const struct nd_os_attr *a, struct counts *c)
{
	struct nd_os_attr in;

	if (nd_os_attr_find(a, TCA_STATS_BASIC, &in))
		take_basic(&in, c);
	if (nd_os_attr_find(a, TCA_STATS_QUEUE, &in))
		take_queue(&in, c);
	/* only there once the 32 bits of the other one are used up */
	if (nd_os_attr_find(a, TCA_STATS_PKT64, &in) && in.len >= sizeof(c->packets))
		memcpy(&c->packets, in.data, sizeof(c->packets));
}

/* Kernels before 2.6.18 have this one alone; it does not count requeues. */
static void take_stats(const struct nd_os_attr *a, struct counts *c)
{
	struct tc_stats t = { 0 };

	if (a->len < offsetof(struct tc_stats, backlog) + sizeof(t.backlog))
		return;
	memcpy(&t, a->data, ND_MIN(a->len, sizeof(t)));
	c->bytes = t.bytes;
	c->packets = t.packets;
	c->drops = t.drops;
	c->overlimits = t.overlimits;
	c->backlog_packets = t.qlen;
}

static void add(uint64_t *sum, uint64_t v)
{
	if (v != ND_UNKNOWN)
		*sum = *sum == ND_UNKNOWN ? v : *sum + v;
}

static void add_counts(struct nd_nic *n, const struct counts *c)
{
	add(&n->qdisc_packets, c->packets);
	add(&n->qdisc_bytes, c->bytes);
	add(&n->qdisc_drops, c->drops);
	add(&n->qdisc_overlimits, c->overlimits);
	add(&n->qdisc_requeues, c->requeues);
	add(&n->qdisc_backlog_packets, c->backlog_packets);
}

static void clear_counts(struct nd_nic *n)
{
	const struct counts unknown = { ND_UNKNOWN, ND_UNKNOWN, ND_UNKNOWN,
					ND_UNKNOWN, ND_UNKNOWN, ND_UNKNOWN };

	n->qdisc_packets = unknown.packets;
	n->qdisc_bytes = unknown.bytes;
	n->qdisc_drops = unknown.drops;
	n->qdisc_overlimits = unknown.overlimits;
	n->qdisc_requeues = unknown.requeues;
	n->qdisc_backlog_packets = unknown.backlog_packets;
}

/* The dump comes in the order of the interfaces: the search goes on where the last one ended. */
static bool find_nic(struct nd_os_qdisc_walk *w, int ifindex, uint32_t *ret)
{
	const struct nd_os_sample *s = w->sample;
	uint32_t i, at;

	for (i = 0; i < s->nics; i++) {
		at = (w->last + i) % s->nics;
		if (ifindex <= 0 || s->nic[at].ifindex != (uint64_t)ifindex)
			continue;
		w->last = at;
		*ret = at;
		return true;
	}
	return false;
}

static bool is_splitter(const struct nd_os_attr *kind)
{
	const char *name = kind->data;
	size_t n = kind->len ? strnlen(name, kind->len) : 0;

	return (n == 2 && !memcmp(name, "mq", n)) || (n == 6 && !memcmp(name, "mqprio", n));
}

/* A root counts what its children do; of a splitter the children, one per queue, are added up. */
static void place(struct nd_os_qdisc_walk *w, const struct tcmsg *t, const struct nd_os_attr *kind,
		  const struct counts *c)
{
	struct nd_os_qdisc_root *root;
	struct nd_nic *n;
	uint32_t at;

	if (!find_nic(w, t->tcm_ifindex, &at))
		return;
	root = &w->root[at];
	n = &w->sample->nic[at];
	if (t->tcm_parent == TC_H_ROOT) {
		root->major = t->tcm_handle & MAJOR;
		root->is_split = is_splitter(kind);
		root->has_child = false;
		clear_counts(n);
		add_counts(n, c);
	} else if (root->is_split && (t->tcm_parent & MAJOR) == root->major &&
		   t->tcm_parent != TC_H_INGRESS) {
		if (!root->has_child)
			clear_counts(n);
		root->has_child = true;
		add_counts(n, c);
	}
}

int nd_os_take_qdisc(void *ctx, const char *body, size_t len)
{
	struct nd_os_attr a, kind = { 0 }, old = { 0 }, stats = { 0 };
	struct counts c;
	struct tcmsg t;
	const char *p = body + NLMSG_ALIGN(sizeof(t));
	size_t left;

	if (len < NLMSG_ALIGN(sizeof(t)))
		return -EBADMSG;
	memcpy(&t, body, sizeof(t));
	left = len - NLMSG_ALIGN(sizeof(t));
	while (nd_os_attr_next(&p, &left, &a)) {
		if (a.type == TCA_KIND)
			kind = a;
		else if (a.type == TCA_STATS)
			old = a;
		else if (a.type == TCA_STATS2)
			stats = a;
	}
	nd_os_blank(&c, sizeof(c));
	if (stats.len)
		take_stats2(&stats, &c);
	else if (old.len)
		take_stats(&old, &c);
	place(ctx, &t, &kind, &c);
	return 0;
}

int nd_os_sample_qdiscs(struct nd_os *os, struct nd_os_sample *s)
{
	struct tcmsg all = { .tcm_family = AF_UNSPEC };
	struct nd_os_qdisc_walk w = { .sample = s };
	struct nd_os_request q = { .type = RTM_GETQDISC,
				   .flags = NLM_F_DUMP,
				   .body = &all,
				   .len = sizeof(all),
				   .take = nd_os_take_qdisc,
				   .ctx = &w };
	uint32_t i;
	int r;

	if (!os->is_machine || !s->nics)
		return 0;
	w.root = calloc(s->nics, sizeof(*w.root));
	if (!w.root)
		return -ENOMEM;
	r = nd_os_rtnl_ask(&os->rtnl, &q);
	free(w.root);
	for (i = 0; r < 0 && i < s->nics; i++)
		clear_counts(&s->nic[i]); /* half a dump is no sum */
	return r == -ENOMEM ? r : 0;
}
