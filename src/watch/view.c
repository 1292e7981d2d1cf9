/* SPDX-License-Identifier: MIT */
/* What one interval means, and what limits a machine in it. */
#include <math.h>
#include <string.h>

#include "watch/int.h"

#define BUSY_SOFTIRQ 0.9  /* of one CPU: packets wait for it */
#define MUCH_STEAL   0.05 /* of all CPUs' time */
#define ONE_QUEUE    0.9  /* of an interface's packets */
#define WORTH_PPS    1000.0
#define NEARLY_LINE  95.0 /* percent of a link */

double nd_watch_rate(const struct nd_watch_view *v, uint64_t count)
{
	return count == ND_UNKNOWN || v->seconds <= 0 ? (double)NAN : (double)count / v->seconds;
}

uint64_t nd_watch_sum(uint64_t a, uint64_t b)
{
	if (a == ND_UNKNOWN)
		return b;
	return b == ND_UNKNOWN ? a : a + b;
}

double nd_watch_cpu_share(const struct nd_cpu_times *t, uint64_t part_ns)
{
	uint64_t all = nd_os_cpu_ns(t);

	return part_ns == ND_UNKNOWN || !all ? (double)NAN : (double)part_ns / (double)all;
}

double nd_watch_util(double rx_bytes, double tx_bytes, uint64_t speed_mbps)
{
	if (speed_mbps == ND_UNKNOWN || !speed_mbps)
		return (double)NAN;
	return ND_MAX(rx_bytes, tx_bytes) * 8 * 100 / ((double)speed_mbps * 1e6);
}

const char *nd_watch_nic_name(const struct nd_watch_view *v, uint64_t ifindex)
{
	size_t i;

	for (i = 0; i < v->rows; i++)
		if (v->row[i].nic->ifindex == ifindex)
			return v->row[i].nic->name;
	return "?";
}

/* ---- what limits */

static void judge_cpus(struct nd_watch_view *v)
{
	const struct nd_os_sample *d = v->diff;
	double share, steal = nd_watch_cpu_share(&d->all, d->all.steal_ns);
	uint32_t i;

	for (i = 0; d->cpu && i < d->cpus; i++) {
		share = nd_watch_cpu_share(&d->cpu[i], d->cpu[i].softirq_ns);
		if (share >= BUSY_SOFTIRQ)
			nd_str_addf(&v->verdict, "CPU %u spends %.0f %% of its time on packets\n",
				    i, share * 100);
	}
	if (steal >= MUCH_STEAL)
		nd_str_addf(&v->verdict, "the host took %.0f %% of the CPU time away (steal)\n",
			    steal * 100);
}

static void judge_drops(struct nd_watch_view *v)
{
	const struct nd_snmp *s = &v->diff->snmp;
	double backlog = nd_watch_rate(v, v->diff->softnet.dropped);
	double room = nd_watch_rate(v, nd_watch_sum(s->udp_rcvbuf_errors, s->udp6_rcvbuf_errors));

	if (backlog > 0)
		nd_str_addf(&v->verdict,
			    "a CPU's backlog overflows, %.0f packets/s "
			    "(net.core.netdev_max_backlog)\n",
			    backlog);
	if (room > 0)
		nd_str_addf(&v->verdict, "UDP receive buffers overflow, %.0f datagrams/s\n", room);
}

/* Packets over all queues of one interface and way, and the largest one's. */
static void judge_queues(struct nd_watch_view *v, uint64_t ifindex, bool is_tx)
{
	const struct nd_os_detail *d = v->detail;
	uint64_t most = 0, sum = 0, queue = 0, n = 0;
	uint32_t i;

	for (i = 0; i < d->queues; i++) {
		const struct nd_queue_count *q = &d->queue[i];

		if (q->ifindex != ifindex || q->is_tx != is_tx || q->packets == ND_UNKNOWN)
			continue;
		n++;
		sum += q->packets;
		if (q->packets > most) {
			most = q->packets;
			queue = q->queue;
		}
	}
	if (n > 1 && nd_watch_rate(v, sum) >= WORTH_PPS && (double)most >= ONE_QUEUE * (double)sum)
		nd_str_addf(&v->verdict, "%s: one of %llu %s queues, %llu, carries %.0f %%\n",
			    nd_watch_nic_name(v, ifindex), (unsigned long long)n,
			    is_tx ? "transmit" : "receive", (unsigned long long)queue,
			    (double)most * 100 / (double)sum);
}

static void judge_nics(struct nd_watch_view *v)
{
	const struct nd_os_detail *d = v->detail;
	uint32_t i;
	size_t r;

	for (r = 0; r < v->rows; r++) {
		const struct nd_watch_row *row = &v->row[r];

		if (row->util_percent >= NEARLY_LINE)
			nd_str_addf(&v->verdict, "%s: the link is full, %.0f %% of %llu Mbit/s\n",
				    row->nic->name, row->util_percent,
				    (unsigned long long)row->speed_mbps);
		judge_queues(v, row->nic->ifindex, false);
		judge_queues(v, row->nic->ifindex, true);
	}
	for (i = 0; i < d->limits; i++)
		if (nd_watch_rate(v, d->limit[i].count) > 0)
			nd_str_addf(&v->verdict, "%s: %s grows, %.0f/s\n",
				    nd_watch_nic_name(v, d->limit[i].ifindex), d->limit[i].name,
				    nd_watch_rate(v, d->limit[i].count));
}

void nd_watch_judge(struct nd_watch_view *v)
{
	judge_nics(v);
	judge_cpus(v);
	judge_drops(v);
}
