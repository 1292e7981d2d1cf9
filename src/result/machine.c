/* SPDX-License-Identifier: MIT */
/* From the kernel's counters to what an end's CPU and queues did; the uncounted stays unknown. */
#include <errno.h>
#include <math.h>

#include "result/int.h"

/* The kernel counts CPU time in ticks of some 10 ms: shares of a shorter window are noise. */
#define SHORTEST_NS (100 * ND_NS_PER_MS)

/* ns of one kind over ns of the window; NAN when unknown. */
static double share(uint64_t ns, double window_ns)
{
	return nd_known(ns) && window_ns > 0 ? (double)ns / window_ns : (double)NAN;
}

/* Sum of two counts of which a kernel may lack one, such as IPv6's. */
static uint64_t either(uint64_t a, uint64_t b)
{
	if (!nd_known(a))
		return b;
	return nd_known(b) ? nd_plus(a, b) : a;
}

static uint64_t total_ns(const struct nd_cpu_times *t)
{
	uint64_t sum = nd_plus(nd_plus(t->user_ns, t->system_ns), t->idle_ns);

	sum = either(sum, t->nice_ns);
	sum = either(sum, t->iowait_ns);
	sum = either(sum, t->irq_ns);
	sum = either(sum, t->softirq_ns);
	return either(sum, t->steal_ns);
}

/* A CPU's shares are of its own ticks: they are up to one tick off the window. */
static bool cpu_row(const struct nd_cpu_times *t, uint64_t number, struct nd_cpu_row *ret)
{
	uint64_t all = total_ns(t);
	double ns = nd_known(all) ? (double)all : 0;

	if (!(ns > 0)) /* offline, or not counted */
		return false;
	*ret = (struct nd_cpu_row){
		.cpu = number,
		.user_ratio = share(either(t->user_ns, t->nice_ns), ns),
		.system_ratio = share(t->system_ns, ns),
		.irq_ratio = share(t->irq_ns, ns),
		.softirq_ratio = share(t->softirq_ns, ns),
		.steal_ratio = share(t->steal_ns, ns),
		.idle_ratio = share(either(t->idle_ns, t->iowait_ns), ns),
	};
	ret->busy_ratio = share(either(either(either(t->user_ns, t->nice_ns), t->system_ns),
				       either(t->irq_ns, t->softirq_ns)),
				ns);
	return true;
}

static void cpu_packets(const struct nd_os_sample *w, uint32_t cpu, struct nd_cpu_row *row)
{
	const struct nd_softnet *s = w->cpu_softnet ? &w->cpu_softnet[cpu] : NULL;

	row->net_rx = w->cpu_net_rx ? w->cpu_net_rx[cpu] : ND_UNKNOWN;
	row->softnet_processed = s ? s->processed : ND_UNKNOWN;
	row->softnet_dropped = s ? s->dropped : ND_UNKNOWN;
	row->softnet_squeezed = s ? s->time_squeeze : ND_UNKNOWN;
}

static int cpu_rows(const struct nd_os_sample *w, struct nd_arena *a, struct nd_machine *m)
{
	struct nd_cpu_row *row;
	uint64_t n = 0;
	uint32_t i;
	int r;

	if (!w->cpu)
		return 0;
	r = nd_list_new(a, &m->cpus, w->cpus, sizeof(*row));
	if (r < 0)
		return r;
	row = m->cpus.v;
	for (i = 0; i < w->cpus; i++) {
		if (!cpu_row(&w->cpu[i], i, &row[n]))
			continue;
		cpu_packets(w, i, &row[n]);
		if (!nd_known(m->busiest_cpu) || row[n].busy_ratio > m->busiest_ratio) {
			m->busiest_cpu = i;
			m->busiest_ratio = row[n].busy_ratio;
			m->busiest_softirq_ratio =
				share(either(w->cpu[i].irq_ns, w->cpu[i].softirq_ns),
				      (double)total_ns(&w->cpu[i]));
		}
		n++;
	}
	m->cpus.n = n;
	return 0;
}

static void cores(const struct nd_os_sample *w, bool has_ticks, struct nd_machine *m)
{
	const struct nd_cpu_times *t = &w->all;
	uint64_t user = either(t->user_ns, t->nice_ns), busy, all = total_ns(t);
	double ns = (double)w->at_ns;

	if (!nd_known(w->at_ns) || w->at_ns == 0)
		return;
	busy = nd_known(user) && nd_known(t->system_ns) ? nd_plus(user, t->system_ns) : ND_UNKNOWN;
	if (nd_known(busy))
		busy = either(busy, either(t->irq_ns, t->softirq_ns));
	m->seconds = ns / (double)ND_NS_PER_S;
	m->process_cores = share(nd_plus(w->self.user_ns, w->self.system_ns), ns);
	if (!has_ticks)
		return;
	m->busy_cores = share(busy, ns);
	m->user_cores = share(user, ns);
	m->system_cores = share(t->system_ns, ns);
	m->irq_cores = share(t->irq_ns, ns);
	m->softirq_cores = share(t->softirq_ns, ns);
	m->steal_cores = share(t->steal_ns, ns);
	m->idle_cores = share(either(t->idle_ns, t->iowait_ns), ns);
	m->nice_cores = share(t->nice_ns, ns);
	m->iowait_cores = share(t->iowait_ns, ns);
	if (nd_known(all) && all > 0)
		m->steal_ratio = share(t->steal_ns, (double)all);
}

static void window_protocols(const struct nd_snmp *s, struct nd_machine *m)
{
	m->window_tcp_in_segs = s->tcp_in_segs;
	m->window_tcp_out_segs = s->tcp_out_segs;
	m->window_tcp_retrans_segs = s->tcp_retrans_segs;
	m->window_tcp_attempt_fails = s->tcp_attempt_fails;
	m->window_tcp_lost_retransmit = s->tcp_lost_retransmit;
	m->window_tcp_syn_retrans = s->tcp_syn_retrans;
	m->window_tcp_fast_retrans = s->tcp_fast_retrans;
	m->window_tcp_forward_retrans = s->tcp_forward_retrans;
	m->window_tcp_slow_start_retrans = s->tcp_slow_start_retrans;
	m->window_tcp_retrans_fail = s->tcp_retrans_fail;
	m->window_udp_in_datagrams = either(s->udp_in_datagrams, s->udp6_in_datagrams);
	m->window_udp_out_datagrams = either(s->udp_out_datagrams, s->udp6_out_datagrams);
	m->window_udp_in_errors = either(s->udp_in_errors, s->udp6_in_errors);
}

static int window_figures(const struct nd_os_sample *w, struct nd_arena *a, struct nd_machine *m)
{
	bool has_ticks = !nd_known(w->at_ns) || w->at_ns >= SHORTEST_NS;

	cores(w, has_ticks, m);
	m->interrupts = w->interrupts;
	m->context_switches = w->context_switches;
	m->softirq_net_rx = w->softirqs.net_rx;
	m->softirq_net_tx = w->softirqs.net_tx;
	m->softirq_other =
		nd_plus(nd_plus(w->softirqs.timer, w->softirqs.sched), w->softirqs.other);
	m->voluntary_switches = w->self.voluntary_switches;
	m->involuntary_switches = w->self.involuntary_switches;
	window_protocols(&w->snmp, m);
	m->window_interrupts = w->watched_interrupts;
	m->cgroup_throttled_periods = w->cgroup.throttled_periods;
	if (nd_known(w->cgroup.throttled_ns))
		m->cgroup_throttled_ms = (double)w->cgroup.throttled_ns / (double)ND_NS_PER_MS;
	m->conntrack_count = w->conntrack_count;
	m->conntrack_max = w->conntrack_max;
	return has_ticks ? cpu_rows(w, a, m) : 0;
}

static void run_counters(const struct nd_os_sample *run, struct nd_machine *m)
{
	const struct nd_snmp *s = &run->snmp;

	m->peak_rss_bytes = run->self.peak_rss_bytes;
	m->softnet_dropped = run->softnet.dropped;
	m->softnet_squeezed = run->softnet.time_squeeze;
	m->udp_in_datagrams = either(s->udp_in_datagrams, s->udp6_in_datagrams);
	m->udp_no_ports = either(s->udp_no_ports, s->udp6_no_ports);
	m->udp_rcvbuf_errors = either(s->udp_rcvbuf_errors, s->udp6_rcvbuf_errors);
	m->udp_sndbuf_errors = either(s->udp_sndbuf_errors, s->udp6_sndbuf_errors);
	m->udp_in_csum_errors = either(s->udp_in_csum_errors, s->udp6_in_csum_errors);
	m->tcp_retrans_segs = s->tcp_retrans_segs;
	m->tcp_listen_overflows = s->tcp_listen_overflows;
	m->tcp_listen_drops = s->tcp_listen_drops;
	m->tcp_backlog_drop = s->tcp_backlog_drop;
	m->ip_out_discards = s->ip_out_discards;
	m->ip_in_discards = s->ip_in_discards;
	m->ip_frag_creates = either(s->ip_frag_creates, s->ip6_frag_creates);
	m->ip_reasm_fails = either(s->ip_reasm_fails, s->ip6_reasm_fails);
	m->ip_unassembled = run->unassembled;
}

static void nic_counters(const struct nd_nic *n, struct nd_machine *m)
{
	m->nic_rx_packets = n->rx_packets;
	m->nic_rx_bytes = n->rx_bytes;
	m->nic_rx_dropped = either(n->rx_dropped, n->rx_missed);
	m->nic_rx_errors = n->rx_errors;
	m->nic_tx_packets = n->tx_packets;
	m->nic_tx_bytes = n->tx_bytes;
	m->nic_tx_dropped = n->tx_dropped;
	m->nic_tx_errors = n->tx_errors;
	m->qdisc_drops = n->qdisc_drops;
	m->qdisc_backlog_packets = n->qdisc_backlog_packets;
}

int nd_machine_from(const struct nd_os_sample *window, const struct nd_os_sample *run,
		    const char *nic, const char *watched, struct nd_arena *a,
		    struct nd_machine *ret)
{
	const char *shown = watched ? watched : nic;
	const struct nd_nic *n = run && nic ? nd_os_nic(run, nic) : NULL;
	const struct nd_nic *w = window && shown ? nd_os_nic(window, shown) : NULL;
	int r;

	nd_table_unknown(&nd_machine_table, ret);
	ret->nic = nd_arena_dup(a, nic);
	ret->window_nic = nd_arena_dup(a, shown);
	if ((nic && !ret->nic) || (shown && !ret->window_nic))
		return -ENOMEM;
	if (window) {
		r = window_figures(window, a, ret);
		if (r < 0)
			return r;
	}
	if (run)
		run_counters(run, ret);
	if (n)
		nic_counters(n, ret);
	if (w) {
		ret->window_nic_rx_packets = w->rx_packets;
		ret->window_nic_tx_packets = w->tx_packets;
	}
	return 0;
}
