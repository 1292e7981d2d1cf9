/* SPDX-License-Identifier: MIT */
/* The interrupts of an interface as a table, and what is odd about them. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "watch/irq.h"

static const char *const kinds[] = { "control", "rx", "tx", "both" };

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

static void put_number(struct nd_str *out, uint64_t v, int width)
{
	if (v == ND_UNKNOWN)
		nd_str_addf(out, " %*s", width, "-");
	else
		nd_str_addf(out, " %*llu", width, (unsigned long long)v);
}

static void put_node(struct nd_str *out, int64_t node, int width)
{
	if (node < 0)
		nd_str_addf(out, " %*s", width, "-");
	else
		nd_str_addf(out, " %*" PRId64, width, node);
}

/* ---- what is odd: a sentence a line */

static int64_t node_of(const struct nd_irq_view *v, const char *cpus)
{
	const struct nd_cpu_place *p = v->places.v;
	uint32_t cpu[2];
	uint64_t i;

	if (!cpus || nd_os_cpulist(cpus, cpu, ND_COUNTOF(cpu)) != 1)
		return INT64_MIN;
	for (i = 0; i < v->places.n; i++)
		if (p[i].number == cpu[0])
			return p[i].node;
	return INT64_MIN;
}

static bool is_busy(const struct nd_irq *irq)
{
	return irq->kind != ND_IRQ_CONTROL && irq->kind != ND_IRQ_TX && irq->effective;
}

static void find_shared(const struct nd_irq_view *v, struct nd_str *out)
{
	const struct nd_irq *irq = v->irqs.v;
	uint64_t i, k, far = 0, receiving = 0, shared = 0;

	for (i = 0; i < v->irqs.n; i++) {
		if (!is_busy(&irq[i]))
			continue;
		receiving++;
		far += v->nic.numa_node >= 0 && node_of(v, irq[i].effective) >= 0 &&
		       node_of(v, irq[i].effective) != v->nic.numa_node;
		for (k = 0; k < i; k++)
			if (is_busy(&irq[k]) &&
			    nd_irq_same_cpus(irq[i].effective, irq[k].effective))
				break;
		shared += k < i;
	}
	if (shared && receiving <= v->places.n)
		nd_str_addf(out,
			    "%llu of %llu receive queues share their CPU with another one, though "
			    "there are %llu CPUs\n",
			    (unsigned long long)shared, (unsigned long long)receiving,
			    (unsigned long long)v->places.n);
	if (far)
		nd_str_addf(out, "%llu receive queues are served far from node %lld\n",
			    (unsigned long long)far, (long long)v->nic.numa_node);
}

/* What could not be read: the columns alone would not say why they are empty. */
static void find_unread(const struct nd_irq_view *v, struct nd_str *out)
{
	const struct nd_irq *irq = v->irqs.v;
	uint64_t i, allowed = 0, effective = 0;

	for (i = 0; i < v->irqs.n; i++) {
		allowed += irq[i].allowed != NULL;
		effective += irq[i].effective != NULL;
	}
	if (allowed < v->irqs.n)
		nd_str_addf(out,
			    "/proc/irq/N/smp_affinity_list cannot be read of %llu of %llu "
			    "interrupts\n",
			    (unsigned long long)(v->irqs.n - allowed),
			    (unsigned long long)v->irqs.n);
	if (effective < v->irqs.n)
		nd_str_addf(out,
			    "/proc/irq/N/effective_affinity_list cannot be read of %llu of "
			    "%llu interrupts: which CPU serves them is not known\n",
			    (unsigned long long)(v->irqs.n - effective),
			    (unsigned long long)v->irqs.n);
	if (!v->places.n)
		nd_str_add(out,
			   "/sys/devices/system/cpu cannot be read: which CPUs are online, and "
			   "on which node, is not known\n");
}

static void find_odd(const struct nd_irq_view *v, struct nd_str *out)
{
	const struct nd_nic_limits *l = &v->limits;

	if (v->balanced)
		nd_str_add(out, "irqbalance runs and moves interrupts again within 10 s: stop it "
				"for a test, or start it with --banirq\n");
	find_shared(v, out);
	if (l->queues_max != ND_UNKNOWN && v->nic.rx_queues != ND_UNKNOWN &&
	    v->nic.rx_queues < l->queues_max && v->nic.rx_queues < v->places.n)
		nd_str_addf(out, "%llu of %llu queues are in use (ethtool -L %s %s)\n",
			    (unsigned long long)v->nic.rx_queues, (unsigned long long)l->queues_max,
			    v->ask->name, l->queues_apart == 1 ? "rx N tx N" : "combined N");
	if (l->rps_queues != ND_UNKNOWN && l->rps_queues && v->places.n &&
	    v->nic.rx_queues != ND_UNKNOWN && v->nic.rx_queues >= v->places.n)
		nd_str_add(out, "RPS deals packets out again, though each CPU has a queue\n");
	if (l->udp4_ports == 0 && v->nic.rx_queues != ND_UNKNOWN && v->nic.rx_queues > 1)
		nd_str_addf(out,
			    "the hash of UDP leaves ports out: flows between two hosts meet in one "
			    "queue (ethtool -N %s rx-flow-hash udp4 sdfn)\n",
			    v->ask->name);
	find_unread(v, out);
	if (!v->irqs.n)
		nd_str_add(out, "no interrupt of this interface was found: it is virtual, or /sys "
				"and /proc/interrupts do not tell\n");
}

/* ---- text */

static void put_head(const struct nd_irq_view *v, struct nd_str *out)
{
	const struct nd_nic_facts *n = &v->nic;

	nd_str_addf(out, "%s: driver %s, queues", v->ask->name, or_dash(n->driver));
	put_number(out, n->rx_queues, 0);
	nd_str_add(out, " rx");
	put_number(out, n->tx_queues, 0);
	nd_str_add(out, " tx, node");
	put_node(out, n->numa_node, 0);
	nd_str_addf(out, ", near CPUs %s, RPS on", or_dash(n->cpulist));
	put_number(out, v->limits.rps_queues, 0);
	nd_str_add(out, " queues, XPS on");
	put_number(out, v->limits.xps_queues, 0);
	nd_str_add(out, "\n");
}

void nd_irq_show(const struct nd_irq_view *v, struct nd_str *out)
{
	const struct nd_irq *irq = v->irqs.v;
	nd_auto_str odd = { 0 };
	const char *p;
	uint64_t i;
	size_t n;

	put_head(v, out);
	if (v->irqs.n)
		nd_str_addf(out, "%5s %-7s %5s %-12s %-9s %-6s %4s %12s %s\n", "queue", "way",
			    "irq", "allowed", "effective", "hint", "node", "count", "name");
	for (i = 0; i < v->irqs.n; i++) {
		if (irq[i].queue == ND_UNKNOWN)
			nd_str_addf(out, "%5s", "-");
		else
			nd_str_addf(out, "%5llu", (unsigned long long)irq[i].queue);
		nd_str_addf(out, " %-7s %5llu %-12s %-9s %-6s", kinds[irq[i].kind],
			    (unsigned long long)irq[i].number, or_dash(irq[i].allowed),
			    or_dash(irq[i].effective), or_dash(irq[i].hint));
		put_node(out, irq[i].node, 4);
		put_number(out, irq[i].count, 12);
		nd_str_addf(out, " %s\n", or_dash(irq[i].name));
	}
	find_odd(v, &odd);
	for (p = nd_str_text(&odd); *p; p += n + (p[n] == '\n')) {
		n = strcspn(p, "\n");
		nd_str_add(out, "warning: ");
		nd_str_addn(out, p, n);
		nd_str_add(out, "\n");
	}
}

/* ---- JSON */

static void put_odd(const struct nd_irq_view *v, struct nd_json *j)
{
	nd_auto_str odd = { 0 }, one = { 0 };
	const char *p;
	size_t n;

	find_odd(v, &odd);
	nd_json_open(j, "warnings", '[');
	for (p = nd_str_text(&odd); *p; p += n + (p[n] == '\n')) {
		n = strcspn(p, "\n");
		nd_str_reset(&one);
		nd_str_addn(&one, p, n);
		nd_json_str(j, NULL, nd_str_text(&one));
	}
	nd_json_close(j, ']');
}

void nd_irq_show_json(const struct nd_irq_view *v, struct nd_str *out)
{
	struct nd_json j = { .out = out, .pretty = true };
	const struct nd_irq *irq = v->irqs.v;
	uint64_t i;

	nd_json_open(&j, NULL, '{');
	nd_json_str(&j, "iface", v->ask->name);
	nd_json_str(&j, "driver", v->nic.driver);
	nd_json_u64(&j, "rx_queues", v->nic.rx_queues);
	nd_json_u64(&j, "tx_queues", v->nic.tx_queues);
	nd_json_u64(&j, "queues_max", v->limits.queues_max);
	nd_json_i64(&j, "numa_node", v->nic.numa_node);
	nd_json_str(&j, "near_cpus", v->nic.cpulist);
	nd_json_u64(&j, "rps_queues", v->limits.rps_queues);
	nd_json_u64(&j, "xps_queues", v->limits.xps_queues);
	nd_json_bool(&j, "irqbalance", v->balanced);
	nd_json_open(&j, "interrupts", '[');
	for (i = 0; i < v->irqs.n; i++) {
		nd_json_open(&j, NULL, '{');
		nd_json_u64(&j, "irq", irq[i].number);
		nd_json_str(&j, "name", irq[i].name);
		nd_json_str(&j, "way", kinds[irq[i].kind]);
		nd_json_u64(&j, "queue", irq[i].queue);
		nd_json_str(&j, "allowed", irq[i].allowed);
		nd_json_str(&j, "effective", irq[i].effective);
		nd_json_str(&j, "hint", irq[i].hint);
		nd_json_i64(&j, "node", irq[i].node);
		nd_json_u64(&j, "count", irq[i].count);
		nd_json_close(&j, '}');
	}
	nd_json_close(&j, ']');
	put_odd(v, &j);
	nd_json_close(&j, '}');
	nd_str_add(out, "\n");
}
