/* SPDX-License-Identifier: MIT */
/* Everything that local checks look at, read once. Nothing is judged here. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/num.h"
#include "advise/int.h"
#include "result/result.h"

#define LOOK_NS      (200 * ND_NS_PER_MS) /* over which stolen time is seen */
#define STATES_MAX   16u
#define NEVER_CHOSEN 1u

void nd_doctor_blank(struct nd_doctor_facts *f)
{
	*f = (struct nd_doctor_facts){ .irqs_receiving = ND_UNKNOWN,
				       .irqs_shared = ND_UNKNOWN,
				       .irqs_far = ND_UNKNOWN,
				       .irqbalance = -1,
				       .budget = ND_UNKNOWN,
				       .busy_poll = ND_UNKNOWN,
				       .tcp_rmem_max = ND_UNKNOWN,
				       .tcp_wmem_max = ND_UNKNOWN,
				       .udp_mem_pages = ND_UNKNOWN,
				       .fd_hard_limit = ND_UNKNOWN,
				       .conntrack_count = ND_UNKNOWN,
				       .conntrack_max = ND_UNKNOWN,
				       .idle_latency_us = ND_UNKNOWN,
				       .steal_ratio = (double)NAN,
				       .throttled_ratio = (double)NAN,
				       .rx_missed = ND_UNKNOWN,
				       .rx_dropped = ND_UNKNOWN,
				       .backlog_dropped = ND_UNKNOWN,
				       .squeezed = ND_UNKNOWN,
				       .udp_rcvbuf_errors = ND_UNKNOWN };
	nd_table_unknown(&nd_host_table, &f->host);
	nd_table_unknown(&nd_nic_facts_table, &f->nic);
	memset(&f->limits, 0xff, sizeof(f->limits)); /* ND_UNKNOWN is all ones */
}

/* The third of "4096 131072 6291456". */
static uint64_t third_of(struct nd_os *os, const char *path)
{
	char line[256], *p, *last;
	uint64_t v = ND_UNKNOWN;

	if (!nd_os_peek(os, line, sizeof(line), "%s", path))
		return ND_UNKNOWN;
	line[strcspn(line, "\n")] = '\0';
	for (p = line, last = line; (p = strpbrk(p, " \t")); p++)
		last = p + 1;
	return nd_parse_number(last, ND_UNIT_COUNT, &v) == 0 ? v : ND_UNKNOWN;
}

static void read_limits(struct nd_os *os, struct nd_doctor_facts *f)
{
	struct rlimit files;

	f->budget = nd_os_fact_u64(os, "proc/sys/net/core/netdev_budget");
	f->busy_poll = nd_os_fact_u64(os, "proc/sys/net/core/busy_poll");
	f->tcp_rmem_max = third_of(os, "proc/sys/net/ipv4/tcp_rmem");
	f->tcp_wmem_max = third_of(os, "proc/sys/net/ipv4/tcp_wmem");
	f->udp_mem_pages = third_of(os, "proc/sys/net/ipv4/udp_mem");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		f->fd_hard_limit = files.rlim_max;
	f->irqbalance = nd_os_runs(os, "irqbalance");
}

static void read_idle(struct nd_os *os, struct nd_doctor_facts *f)
{
	uint64_t latency;
	unsigned i;

	for (i = 0; i < STATES_MAX; i++) {
		latency = nd_os_fact_u64(os, "sys/devices/system/cpu/cpu0/cpuidle/state%u/latency",
					 i);
		if (latency == ND_UNKNOWN)
			break;
		if (nd_os_fact_u64(os, "sys/devices/system/cpu/cpu0/cpuidle/state%u/disable", i) ==
		    NEVER_CHOSEN)
			continue;
		if (f->idle_latency_us == ND_UNKNOWN || latency > f->idle_latency_us)
			f->idle_latency_us = latency;
	}
}

/* ---- interrupts */

static uint64_t cpu_of(const char *list)
{
	uint32_t cpu[2];

	return list && nd_os_cpulist(list, cpu, ND_COUNTOF(cpu)) == 1 ? cpu[0] : ND_UNKNOWN;
}

static int64_t node_of(const struct nd_list *places, uint64_t cpu)
{
	const struct nd_cpu_place *p = places->v;
	uint64_t i;

	for (i = 0; i < places->n; i++)
		if (p[i].number == cpu)
			return p[i].node;
	return INT64_MIN;
}

static bool receives(const struct nd_irq *irq)
{
	return (irq->kind == ND_IRQ_RX || irq->kind == ND_IRQ_BOTH) &&
	       cpu_of(irq->effective) != ND_UNKNOWN;
}

static void count_irqs(const struct nd_list *irqs, const struct nd_list *places,
		       struct nd_doctor_facts *f)
{
	const struct nd_irq *irq = irqs->v;
	uint64_t i, k, cpu;
	int64_t node;

	f->irqs_receiving = f->irqs_shared = f->irqs_far = 0;
	for (i = 0; i < irqs->n; i++) {
		if (!receives(&irq[i]))
			continue;
		cpu = cpu_of(irq[i].effective);
		node = node_of(places, cpu);
		f->irqs_receiving++;
		f->irqs_far += f->nic.numa_node >= 0 && node >= 0 && node != f->nic.numa_node;
		for (k = 0; k < i; k++)
			if (receives(&irq[k]) && cpu_of(irq[k].effective) == cpu)
				break;
		f->irqs_shared += k < i;
	}
}

static int read_nic(struct nd_os *os, const char *nic, struct nd_arena *a,
		    struct nd_doctor_facts *f)
{
	struct nd_list irqs = { 0 }, places = { 0 };
	int r = nd_os_nic_facts(os, nic, a, &f->nic);

	if (r == 0)
		r = nd_os_nic_limits(os, nic, &f->limits);
	if (r == 0)
		r = nd_os_nic_irqs(os, nic, a, &irqs);
	if (r == 0)
		r = nd_os_cpu_places(os, a, &places);
	if (r == 0 && irqs.n)
		count_irqs(&irqs, &places, f);
	return r;
}

/* ---- counters */

static uint64_t known_sum(uint64_t a, uint64_t b)
{
	if (a == ND_UNKNOWN || b == ND_UNKNOWN)
		return a == ND_UNKNOWN ? b : a;
	return a + b;
}

static void take_counts(const struct nd_os_sample *s, const char *nic, struct nd_doctor_facts *f)
{
	const struct nd_nic *n = nic ? nd_os_nic(s, nic) : NULL;

	if (n) {
		f->rx_missed = known_sum(n->rx_missed, n->rx_fifo_errors);
		f->rx_dropped = n->rx_dropped;
	}
	f->backlog_dropped = s->softnet.dropped;
	f->squeezed = s->softnet.time_squeeze;
	f->udp_rcvbuf_errors = known_sum(s->snmp.udp_rcvbuf_errors, s->snmp.udp6_rcvbuf_errors);
	f->conntrack_count = s->conntrack_count;
	f->conntrack_max = s->conntrack_max;
}

/* Over a moment: what the host took away, and how long the group's CPUs were held back. */
static void take_time(const struct nd_os_sample *d, struct nd_doctor_facts *f)
{
	const struct nd_cpu_times *t = &d->all;
	uint64_t sum = nd_os_cpu_ns(t);

	if (sum && t->steal_ns != ND_UNKNOWN)
		f->steal_ratio = (double)t->steal_ns / (double)sum;
	if (d->cgroup.throttled_ns != ND_UNKNOWN && d->at_ns)
		f->throttled_ratio = (double)d->cgroup.throttled_ns / (double)d->at_ns;
}

static int read_counts(struct nd_os *os, const char *nic, struct nd_doctor_facts *f)
{
	struct timespec moment = { .tv_nsec = (long)LOOK_NS };
	struct nd_os_sample then, now, diff;
	int r = nd_os_sample(os, &then);

	if (r < 0)
		return r;
	(void)nanosleep(&moment, NULL); /* a shorter moment will do */
	r = nd_os_sample(os, &now);
	if (r == 0) {
		take_counts(&now, nic, f);
		r = nd_os_since(&now, &then, &diff);
		if (r == 0) {
			take_time(&diff, f);
			nd_os_sample_done(&diff);
		}
		nd_os_sample_done(&now);
	}
	nd_os_sample_done(&then);
	return r;
}

int nd_doctor_gather(struct nd_os *os, const char *nic, struct nd_arena *a,
		     struct nd_doctor_facts *ret)
{
	struct nd_doctor_facts f;
	int r;

	nd_doctor_blank(&f);
	r = nd_os_host(os, a, &f.host);
	if (r == 0 && nic)
		r = read_nic(os, nic, a, &f);
	if (r == 0)
		r = read_counts(os, nic, &f);
	if (r < 0)
		return r;
	read_limits(os, &f);
	read_idle(os, &f);
	*ret = f;
	return 0;
}
