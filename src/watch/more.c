/* SPDX-License-Identifier: MIT */
/* The second block: drops by place, queues, CPUs, interrupts, protocols, and what limits. */
#include <math.h>
#include <string.h>

#include "watch/int.h"

struct place {
	const char *what;
	uint64_t count;
};

#define PLACES 12u

/* Where this machine as a whole lost something. */
static void places_of(const struct nd_watch_view *v, struct place ret[PLACES])
{
	const struct nd_snmp *s = &v->diff->snmp;
	const struct place places[PLACES] = {
		{ "backlog", v->diff->softnet.dropped },
		{ "flow_limit", v->diff->softnet.flow_limit },
		{ "squeezed", v->diff->softnet.time_squeeze },
		{ "udp_rcvbuf", nd_watch_sum(s->udp_rcvbuf_errors, s->udp6_rcvbuf_errors) },
		{ "udp_sndbuf", nd_watch_sum(s->udp_sndbuf_errors, s->udp6_sndbuf_errors) },
		{ "udp_no_port", nd_watch_sum(s->udp_no_ports, s->udp6_no_ports) },
		{ "udp_checksum", nd_watch_sum(s->udp_in_csum_errors, s->udp6_in_csum_errors) },
		{ "ip_in_discards", s->ip_in_discards },
		{ "ip_out_discards", s->ip_out_discards },
		{ "tcp_listen_overflows", s->tcp_listen_overflows },
		{ "tcp_backlog", s->tcp_backlog_drop },
		{ "tcp_retransmits", s->tcp_retrans_segs },
	};

	memcpy(ret, places, sizeof(places));
}

static void begin_line(const char *before, const char *what, struct nd_str *out)
{
	nd_str_addf(out, "%-12s %-11s", before, what);
}

static void put_nic_drops(const struct nd_watch_view *v, const char *before, struct nd_str *out)
{
	size_t i, k;

	for (i = 0; i < v->rows; i++) {
		const struct nd_nic *n = v->row[i].nic;
		const struct place places[] = {
			{ "rx_missed", n->rx_missed },   { "rx_fifo", n->rx_fifo_errors },
			{ "rx_dropped", n->rx_dropped }, { "rx_errors", n->rx_errors },
			{ "tx_dropped", n->tx_dropped }, { "tx_errors", n->tx_errors },
			{ "qdisc", n->qdisc_drops },
		};
		bool any = false;

		for (k = 0; k < ND_COUNTOF(places); k++) {
			if (places[k].count == 0 || places[k].count == ND_UNKNOWN)
				continue;
			if (!any)
				begin_line(before, "drops:", out);
			nd_str_addf(out, "%s %s %.1f/s", any ? "," : " ", places[k].what,
				    nd_watch_rate(v, places[k].count));
			any = true;
		}
		if (any)
			nd_str_addf(out, " at %s\n", n->name);
	}
}

static void put_drops(const struct nd_watch_view *v, const char *before, struct nd_str *out)
{
	struct place places[PLACES];
	bool any = false;
	size_t i;

	put_nic_drops(v, before, out);
	places_of(v, places);
	for (i = 0; i < PLACES; i++) {
		if (places[i].count == 0 || places[i].count == ND_UNKNOWN)
			continue;
		if (!any)
			begin_line(before, "machine:", out);
		nd_str_addf(out, "%s %s %.1f/s", any ? "," : " ", places[i].what,
			    nd_watch_rate(v, places[i].count));
		any = true;
	}
	if (any)
		nd_str_add(out, "\n");
}

static void put_verdict(const struct nd_watch_view *v, const char *before, struct nd_str *out)
{
	const char *p = nd_str_text(&v->verdict);
	size_t n;

	for (; *p; p += n + (p[n] == '\n')) {
		n = strcspn(p, "\n");
		begin_line(before, "limit:", out);
		nd_str_add(out, "  ");
		nd_str_addn(out, p, n);
		nd_str_add(out, "\n");
	}
}

/* ---- when asked for */

/* Of one interface and way: packets, and by how much the busiest queue is over the mean. */
static void queue_totals(const struct nd_watch_view *v, uint64_t ifindex, bool is_tx,
			 uint64_t *ret_sum, double *ret_over)
{
	const struct nd_os_detail *d = v->detail;
	uint64_t most = 0, n = 0;
	uint32_t i;

	*ret_sum = 0;
	for (i = 0; i < d->queues; i++) {
		if (d->queue[i].ifindex != ifindex || d->queue[i].is_tx != is_tx ||
		    d->queue[i].packets == ND_UNKNOWN)
			continue;
		n++;
		*ret_sum += d->queue[i].packets;
		most = ND_MAX(most, d->queue[i].packets);
	}
	*ret_over = *ret_sum ? (double)most * (double)n / (double)*ret_sum : (double)NAN;
}

static void put_queues(const struct nd_watch_view *v, const struct nd_nic *nic, bool is_tx,
		       const char *before, struct nd_str *out)
{
	const struct nd_os_detail *d = v->detail;
	bool any = false;
	uint64_t sum;
	double over;
	uint32_t i;

	queue_totals(v, nic->ifindex, is_tx, &sum, &over);
	for (i = 0; i < d->queues; i++) {
		const struct nd_queue_count *q = &d->queue[i];

		if (q->ifindex != nic->ifindex || q->is_tx != is_tx || q->packets == ND_UNKNOWN)
			continue;
		if (!any) {
			begin_line(before, "queues:", out);
			nd_str_addf(out, "  %s %s", nic->name, is_tx ? "tx" : "rx");
		}
		any = true;
		nd_str_addf(out, " %llu: %.0f/s", (unsigned long long)q->queue,
			    nd_watch_rate(v, q->packets));
		if (sum)
			nd_str_addf(out, " %.0f%%", (double)q->packets * 100 / (double)sum);
		if (q->drops != ND_UNKNOWN && q->drops)
			nd_str_addf(out, " (%llu dropped)", (unsigned long long)q->drops);
		nd_str_add(out, ",");
	}
	if (!any)
		return;
	out->data[--out->len] = '\0'; /* the last comma */
	if (isfinite(over))
		nd_str_addf(out, "; busiest/mean %.2f", over);
	nd_str_add(out, "\n");
}

static void put_irqs(const struct nd_watch_view *v, const char *before, struct nd_str *out)
{
	const struct nd_os_detail *d = v->detail;
	uint64_t cpu;
	uint32_t i;

	for (i = 0; i < d->irqs; i++) {
		if (!d->irq[i].count || d->irq[i].count == ND_UNKNOWN)
			continue;
		cpu = nd_os_detail_busiest(d, i);
		begin_line(before, "irq:", out);
		nd_str_addf(out, "  %llu %s %.1f/s on CPU %llu\n",
			    (unsigned long long)d->irq[i].number, d->irq[i].name,
			    nd_watch_rate(v, d->irq[i].count), (unsigned long long)cpu);
	}
}

static void put_share(struct nd_str *out, const struct nd_cpu_times *t, const char *what,
		      uint64_t part_ns)
{
	double share = nd_watch_cpu_share(t, part_ns);

	if (isfinite(share))
		nd_str_addf(out, " %s %.1f%%", what, share * 100);
}

static void put_cpus(const struct nd_watch_view *v, const char *before, struct nd_str *out)
{
	const struct nd_os_sample *d = v->diff;
	uint32_t i;

	for (i = 0; d->cpu && i < d->cpus; i++) {
		const struct nd_cpu_times *t = &d->cpu[i];

		if (!isfinite(nd_watch_cpu_share(t, t->idle_ns)))
			continue; /* offline */
		begin_line(before, "cpu:", out);
		nd_str_addf(out, "  %u", i);
		put_share(out, t, "soft", t->softirq_ns);
		put_share(out, t, "irq", t->irq_ns);
		put_share(out, t, "system", t->system_ns);
		put_share(out, t, "user", nd_watch_sum(t->user_ns, t->nice_ns));
		put_share(out, t, "idle", nd_watch_sum(t->idle_ns, t->iowait_ns));
		put_share(out, t, "steal", t->steal_ns);
		if (d->cpu_net_rx && d->cpu_net_rx[i] != ND_UNKNOWN)
			nd_str_addf(out, ", NET_RX %.0f/s", nd_watch_rate(v, d->cpu_net_rx[i]));
		if (d->cpu_softnet && d->cpu_softnet[i].processed != ND_UNKNOWN)
			nd_str_addf(out, ", backlog %.0f/s squeezed %.0f/s dropped %.0f/s",
				    nd_watch_rate(v, d->cpu_softnet[i].processed),
				    nd_watch_rate(v, d->cpu_softnet[i].time_squeeze),
				    nd_watch_rate(v, d->cpu_softnet[i].dropped));
		nd_str_add(out, "\n");
	}
}

static void put_rate(struct nd_str *out, const struct nd_watch_view *v, const char *what,
		     uint64_t count)
{
	if (count != ND_UNKNOWN)
		nd_str_addf(out, " %s %.1f/s", what, nd_watch_rate(v, count));
}

static void put_protocols(const struct nd_watch_view *v, const char *before, struct nd_str *out)
{
	const struct nd_snmp *s = &v->diff->snmp;

	begin_line(before, "udp:", out);
	nd_str_add(out, " ");
	put_rate(out, v, "in", nd_watch_sum(s->udp_in_datagrams, s->udp6_in_datagrams));
	put_rate(out, v, "out", nd_watch_sum(s->udp_out_datagrams, s->udp6_out_datagrams));
	put_rate(out, v, "no_port", nd_watch_sum(s->udp_no_ports, s->udp6_no_ports));
	put_rate(out, v, "rcvbuf", nd_watch_sum(s->udp_rcvbuf_errors, s->udp6_rcvbuf_errors));
	put_rate(out, v, "sndbuf", nd_watch_sum(s->udp_sndbuf_errors, s->udp6_sndbuf_errors));
	nd_str_add(out, "\n");
	begin_line(before, "tcp:", out);
	nd_str_add(out, " ");
	put_rate(out, v, "in", s->tcp_in_segs);
	put_rate(out, v, "out", s->tcp_out_segs);
	put_rate(out, v, "retransmits", s->tcp_retrans_segs);
	nd_str_add(out, "\n");
}

void nd_watch_more(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
		   const char *before, struct nd_str *out)
{
	size_t i;

	for (i = 0; ask->verbose && i < v->rows; i++) {
		put_queues(v, v->row[i].nic, false, before, out);
		put_queues(v, v->row[i].nic, true, before, out);
	}
	if (ask->verbose) {
		put_irqs(v, before, out);
		put_cpus(v, before, out);
		put_protocols(v, before, out);
	}
	put_drops(v, before, out);
	put_verdict(v, before, out);
}

/* ---- as members */

static void json_queues(const struct nd_watch_view *v, struct nd_json *j)
{
	const struct nd_os_detail *d = v->detail;
	uint32_t i;

	nd_json_str(j, "queue_source", d->queue_source);
	nd_json_open(j, "queues", '[');
	for (i = 0; i < d->queues; i++) {
		nd_json_open(j, NULL, '{');
		nd_json_str(j, "iface", nd_watch_nic_name(v, d->queue[i].ifindex));
		nd_json_str(j, "way", d->queue[i].is_tx ? "tx" : "rx");
		nd_json_u64(j, "queue", d->queue[i].queue);
		nd_json_u64(j, "packets", d->queue[i].packets);
		nd_json_u64(j, "bytes", d->queue[i].bytes);
		nd_json_u64(j, "drops", d->queue[i].drops);
		nd_json_close(j, '}');
	}
	nd_json_close(j, ']');
	nd_json_open(j, "interrupts", '[');
	for (i = 0; i < d->irqs; i++) {
		nd_json_open(j, NULL, '{');
		nd_json_str(j, "iface", nd_watch_nic_name(v, d->irq[i].ifindex));
		nd_json_u64(j, "irq", d->irq[i].number);
		nd_json_str(j, "name", d->irq[i].name);
		nd_json_u64(j, "count", d->irq[i].count);
		nd_json_u64(j, "cpu", nd_os_detail_busiest(d, i));
		nd_json_close(j, '}');
	}
	nd_json_close(j, ']');
}

static void json_cpus(const struct nd_watch_view *v, struct nd_json *j)
{
	const struct nd_os_sample *d = v->diff;
	uint32_t i;

	nd_json_open(j, "cpus", '[');
	for (i = 0; d->cpu && i < d->cpus; i++) {
		const struct nd_cpu_times *t = &d->cpu[i];

		if (!isfinite(nd_watch_cpu_share(t, t->idle_ns)))
			continue;
		nd_json_open(j, NULL, '{');
		nd_json_u64(j, "cpu", i);
		nd_json_f64(j, "softirq_ratio", nd_watch_cpu_share(t, t->softirq_ns));
		nd_json_f64(j, "irq_ratio", nd_watch_cpu_share(t, t->irq_ns));
		nd_json_f64(j, "system_ratio", nd_watch_cpu_share(t, t->system_ns));
		nd_json_f64(j, "user_ratio", nd_watch_cpu_share(t, t->user_ns));
		nd_json_f64(j, "idle_ratio", nd_watch_cpu_share(t, t->idle_ns));
		nd_json_f64(j, "steal_ratio", nd_watch_cpu_share(t, t->steal_ns));
		nd_json_u64(j, "net_rx", d->cpu_net_rx ? d->cpu_net_rx[i] : ND_UNKNOWN);
		nd_json_u64(j, "backlog_processed",
			    d->cpu_softnet ? d->cpu_softnet[i].processed : ND_UNKNOWN);
		nd_json_u64(j, "backlog_squeezed",
			    d->cpu_softnet ? d->cpu_softnet[i].time_squeeze : ND_UNKNOWN);
		nd_json_u64(j, "backlog_dropped",
			    d->cpu_softnet ? d->cpu_softnet[i].dropped : ND_UNKNOWN);
		nd_json_close(j, '}');
	}
	nd_json_close(j, ']');
}

static void json_lost(const struct nd_watch_view *v, struct nd_json *j)
{
	const struct nd_os_detail *d = v->detail;
	const char *p = nd_str_text(&v->verdict);
	struct place places[PLACES];
	nd_auto_str one = { 0 };
	size_t i, n;

	places_of(v, places);
	nd_json_open(j, "machine", '{');
	for (i = 0; i < PLACES; i++)
		nd_json_u64(j, places[i].what, places[i].count);
	nd_json_close(j, '}');
	nd_json_open(j, "limits", '[');
	for (i = 0; i < d->limits; i++) {
		nd_json_open(j, NULL, '{');
		nd_json_str(j, "iface", nd_watch_nic_name(v, d->limit[i].ifindex));
		nd_json_str(j, "name", d->limit[i].name);
		nd_json_u64(j, "count", d->limit[i].count);
		nd_json_close(j, '}');
	}
	nd_json_close(j, ']');
	nd_json_open(j, "verdict", '[');
	for (; *p; p += n + (p[n] == '\n')) {
		n = strcspn(p, "\n");
		nd_str_reset(&one);
		nd_str_addn(&one, p, n);
		nd_json_str(j, NULL, nd_str_text(&one));
	}
	nd_json_close(j, ']');
}

void nd_watch_more_json(const struct nd_watch_ask *ask, const struct nd_watch_view *v,
			struct nd_json *j)
{
	const struct nd_snmp *s = &v->diff->snmp;

	json_lost(v, j);
	if (!ask->verbose)
		return;
	json_queues(v, j);
	json_cpus(v, j);
	nd_json_open(j, "protocols", '{');
#define X(name, group, key) nd_json_u64(j, #name, s->name);
	ND_SNMP(X)
#undef X
	nd_json_close(j, '}');
}
