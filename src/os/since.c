/* SPDX-License-Identifier: MIT */
/* What happened between two samples: counts subtracted, wraps undone, resets told apart. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/int.h"

#define WRAP_32      (1ull << 32)
#define LEAST_AHEAD  (1ull << 31) /* a wrapped count that moved further is taken for a reset */
#define NIC_COUNTS   offsetof(struct nd_nic, rx_packets)
#define NIC_LEVELS   offsetof(struct nd_nic, qdisc_backlog_packets)
#define SELF_LEVELS  offsetof(struct nd_process, rss_bytes)
#define IS_ALL_64(T) _Static_assert(sizeof(T) % sizeof(uint64_t) == 0, "counts only")

IS_ALL_64(struct nd_cpu_times);
IS_ALL_64(struct nd_softirqs);
IS_ALL_64(struct nd_snmp);
IS_ALL_64(struct nd_softnet);
_Static_assert(NIC_LEVELS == sizeof(struct nd_nic) - sizeof(uint64_t), "the backlog is last");

uint64_t nd_os_delta(uint64_t now, uint64_t then)
{
	uint64_t ahead;

	if (now == ND_UNKNOWN || then == ND_UNKNOWN)
		return ND_UNKNOWN;
	if (now >= then)
		return now - then;
	ahead = now + WRAP_32 - then;
	return then < WRAP_32 && ahead < LEAST_AHEAD ? ahead : ND_UNKNOWN;
}

/* The uint64_t members between two offsets of a struct. */
static void subtract(const void *now, const void *then, void *ret, size_t from, size_t to)
{
	uint64_t n, t, d;
	size_t at;

	for (at = from; at < to; at += sizeof(uint64_t)) {
		memcpy(&n, (const char *)now + at, sizeof(n));
		memcpy(&t, (const char *)then + at, sizeof(t));
		d = nd_os_delta(n, t);
		memcpy((char *)ret + at, &d, sizeof(d));
	}
}

/* Never a 32-bit count: these are 64 bits of ticks. */
static uint64_t later(uint64_t now, uint64_t then)
{
	return now == ND_UNKNOWN || then == ND_UNKNOWN || now < then ? ND_UNKNOWN : now - then;
}

/* Idle and iowait trade places while a CPU sleeps, so that one of them may fall; none fell when the
 * others went on: it counts as no time. */
static uint64_t later_idle(uint64_t now, uint64_t then, bool went_on)
{
	bool fell = now != ND_UNKNOWN && then != ND_UNKNOWN && now < then;

	return fell && went_on ? 0 : later(now, then);
}

static void since_times(const struct nd_cpu_times *now, const struct nd_cpu_times *then,
			struct nd_cpu_times *ret)
{
	bool went_on;

	ret->user_ns = later(now->user_ns, then->user_ns);
	ret->nice_ns = later(now->nice_ns, then->nice_ns);
	ret->system_ns = later(now->system_ns, then->system_ns);
	ret->irq_ns = later(now->irq_ns, then->irq_ns);
	ret->softirq_ns = later(now->softirq_ns, then->softirq_ns);
	ret->steal_ns = later(now->steal_ns, then->steal_ns);
	went_on = ret->user_ns != ND_UNKNOWN && ret->system_ns != ND_UNKNOWN;
	ret->idle_ns = later_idle(now->idle_ns, then->idle_ns, went_on);
	ret->iowait_ns = later_idle(now->iowait_ns, then->iowait_ns, went_on);
}

static int since_cpus(const struct nd_os_sample *now, const struct nd_os_sample *then,
		      struct nd_os_sample *ret)
{
	uint32_t i, both = ND_MIN(now->cpus, then->cpus), cpus = ND_MAX(now->cpus, then->cpus);

	if (!cpus)
		return 0;
	ret->cpu = malloc(cpus * sizeof(*ret->cpu));
	if (!ret->cpu)
		return -ENOMEM;
	nd_os_blank(ret->cpu, cpus * sizeof(*ret->cpu));
	ret->cpus = cpus;
	for (i = 0; now->cpu && then->cpu && i < both; i++)
		since_times(&now->cpu[i], &then->cpu[i], &ret->cpu[i]);
	return 0;
}

/* The machine's count is the sum of 32-bit ones: where CPUs can be seen, theirs are added up. */
static void add(uint64_t *sum, uint64_t v)
{
	if (v != ND_UNKNOWN)
		*sum = *sum == ND_UNKNOWN ? v : *sum + v;
}

static int since_net_rx(const struct nd_os_sample *now, const struct nd_os_sample *then,
			struct nd_os_sample *ret)
{
	uint32_t i, both = ND_MIN(now->cpus, then->cpus);
	uint64_t sum = ND_UNKNOWN;

	if (!now->cpu_net_rx || !then->cpu_net_rx)
		return 0;
	ret->cpu_net_rx = malloc(ret->cpus * sizeof(*ret->cpu_net_rx));
	if (!ret->cpu_net_rx)
		return -ENOMEM;
	nd_os_blank(ret->cpu_net_rx, ret->cpus * sizeof(*ret->cpu_net_rx));
	for (i = 0; i < both; i++) {
		ret->cpu_net_rx[i] = nd_os_delta(now->cpu_net_rx[i], then->cpu_net_rx[i]);
		add(&sum, ret->cpu_net_rx[i]);
	}
	if (sum != ND_UNKNOWN)
		ret->softirqs.net_rx = sum;
	return 0;
}

static void add_softnet(struct nd_softnet *sum, const struct nd_softnet *v)
{
	add(&sum->processed, v->processed);
	add(&sum->dropped, v->dropped);
	add(&sum->time_squeeze, v->time_squeeze);
	add(&sum->received_rps, v->received_rps);
	add(&sum->flow_limit, v->flow_limit);
}

static int since_softnet(const struct nd_os_sample *now, const struct nd_os_sample *then,
			 struct nd_os_sample *ret)
{
	uint32_t i, both = ND_MIN(now->cpus, then->cpus);
	struct nd_softnet sum, *v;

	subtract(&now->softnet, &then->softnet, &ret->softnet, 0, sizeof(ret->softnet));
	if (!now->cpu_softnet || !then->cpu_softnet)
		return 0;
	v = malloc(ret->cpus * sizeof(*v));
	if (!v)
		return -ENOMEM;
	ret->cpu_softnet = v;
	nd_os_blank(v, ret->cpus * sizeof(*v));
	nd_os_blank(&sum, sizeof(sum));
	for (i = 0; i < both; i++) {
		subtract(&now->cpu_softnet[i], &then->cpu_softnet[i], &v[i], 0, sizeof(v[i]));
		add_softnet(&sum, &v[i]);
	}
	if (sum.processed != ND_UNKNOWN)
		ret->softnet = sum;
	return 0;
}

static const struct nd_nic *same_nic(const struct nd_os_sample *s, const struct nd_nic *n)
{
	uint32_t i;

	if (n->ifindex == ND_UNKNOWN)
		return nd_os_nic(s, n->name);
	for (i = 0; i < s->nics; i++)
		if (s->nic[i].ifindex == n->ifindex)
			return &s->nic[i];
	return NULL;
}

/* The interface without its counts. */
static struct nd_nic *name_nic(struct nd_os_sample *s, const struct nd_nic *n)
{
	struct nd_nic *ret = &s->nic[s->nics++];

	nd_os_blank(ret, sizeof(*ret));
	ret->ifindex = n->ifindex;
	memcpy(ret->name, n->name, sizeof(ret->name));
	return ret;
}

bool nd_os_fell_too_far(uint64_t now, uint64_t then)
{
	return now != ND_UNKNOWN && then != ND_UNKNOWN && nd_os_delta(now, then) == ND_UNKNOWN;
}

/* One count that fell further than a wrap explains, and none of the others is to be believed: bytes below 2^32 pass for
 * wrapped ones when they begin anew, the packets that they came in do not, and the other way round. */
static bool began_anew(const struct nd_nic *now, const struct nd_nic *then)
{
	return nd_os_fell_too_far(now->rx_packets, then->rx_packets) ||
	       nd_os_fell_too_far(now->rx_bytes, then->rx_bytes) ||
	       nd_os_fell_too_far(now->tx_packets, then->tx_packets) ||
	       nd_os_fell_too_far(now->tx_bytes, then->tx_bytes);
}

/* Those that are there now come first, so that a name finds them before one that is gone. */
static int since_nics(const struct nd_os_sample *now, const struct nd_os_sample *then,
		      struct nd_os_sample *ret)
{
	size_t most = (size_t)now->nics + then->nics;
	const struct nd_nic *n, *before;
	struct nd_nic *d;
	uint32_t i;

	if (!most)
		return 0;
	ret->nic = calloc(most, sizeof(*ret->nic));
	if (!ret->nic)
		return -ENOMEM;
	for (i = 0; i < now->nics; i++) {
		n = &now->nic[i];
		before = same_nic(then, n);
		d = name_nic(ret, n);
		d->qdisc_backlog_packets = n->qdisc_backlog_packets;
		if (before && !began_anew(n, before))
			subtract(n, before, d, NIC_COUNTS, NIC_LEVELS);
	}
	for (i = 0; i < then->nics; i++)
		if (!same_nic(now, &then->nic[i]))
			(void)name_nic(ret, &then->nic[i]); /* gone: all unknown */
	return 0;
}

/* What still waited then may have been put together since. */
static uint64_t since_fragments(uint64_t now, uint64_t then)
{
	if (now == ND_UNKNOWN || then == ND_UNKNOWN)
		return ND_UNKNOWN;
	return now > then ? now - then : 0;
}

int nd_os_since(const struct nd_os_sample *now, const struct nd_os_sample *then,
		struct nd_os_sample *ret)
{
	struct nd_os_sample s;
	int r;

	nd_os_sample_init(&s);
	s.at_ns = now->at_ns >= then->at_ns ? now->at_ns - then->at_ns : ND_UNKNOWN;
	since_times(&now->all, &then->all, &s.all);
	subtract(&now->softirqs, &then->softirqs, &s.softirqs, 0, sizeof(s.softirqs));
	subtract(&now->snmp, &then->snmp, &s.snmp, 0, sizeof(s.snmp));
	s.self = now->self;
	subtract(&now->self, &then->self, &s.self, 0, SELF_LEVELS);
	s.cgroup.throttled_periods =
		later(now->cgroup.throttled_periods, then->cgroup.throttled_periods);
	s.cgroup.throttled_ns = later(now->cgroup.throttled_ns, then->cgroup.throttled_ns);
	s.interrupts = nd_os_delta(now->interrupts, then->interrupts);
	s.watched_interrupts = nd_os_delta(now->watched_interrupts, then->watched_interrupts);
	s.context_switches = nd_os_delta(now->context_switches, then->context_switches);
	s.conntrack_count = now->conntrack_count;
	s.conntrack_max = now->conntrack_max;
	s.unassembled = since_fragments(now->unassembled, then->unassembled);
	r = since_cpus(now, then, &s);
	if (r == 0)
		r = since_net_rx(now, then, &s);
	if (r == 0)
		r = since_softnet(now, then, &s);
	if (r == 0)
		r = since_nics(now, then, &s);
	if (r < 0) {
		nd_os_sample_done(&s);
		return r;
	}
	*ret = s;
	return 0;
}
