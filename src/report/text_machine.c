/* SPDX-License-Identifier: MIT */
/* Text: what the test cost, and what kind of machines it ran on. */
#include <math.h>
#include <string.h>

#include "report/int.h"

#define NAME_COLUMNS 13

/* One end's part of the CPU table. On one machine both programs are in one row. */
struct cost {
	const char *name;
	const struct nd_side *side;
	double program_cores, cpu_s_per_gb, cycles_per_byte, cpu_us_per_transaction;
	bool transactional;
	const char *source; /* of cycles */
};

static bool is_program(const struct nd_field *f)
{
	return f == nd_report_row(&nd_machine_table, "process_cores");
}

static void put_number(struct nd_str *out, double v, int width, const char *behind)
{
	if (isfinite(v))
		nd_str_addf(out, "%*.2f%s", width, v, behind);
	else
		nd_str_addf(out, "%*s%*s", width, "-", (int)strlen(behind), "");
}

static void put_cost(struct nd_str *out, const struct cost *c)
{
	nd_str_addf(out, "  %-*s", NAME_COLUMNS, c->name);
	nd_row_for_each(f, &nd_machine_table) {
		if (!(f->show & ND_SHOW_COLUMN))
			continue;
		put_number(out,
			   is_program(f) ? c->program_cores
					 : *(const double *)nd_field_at(&c->side->machine, f),
			   8, "");
	}
	if (c->transactional) {
		put_number(out, c->cpu_us_per_transaction, 16, "");
	} else {
		put_number(out, c->cpu_s_per_gb, 11, "");
		put_number(out, c->cycles_per_byte, 10, isnan(c->cycles_per_byte) ? "" : c->source);
	}
	nd_str_addc(out, '\n', 1);
}

static void put_cost_head(struct nd_str *out, bool transactional)
{
	nd_str_addf(out, "\nCPU, in cores  ");
	nd_row_for_each(f, &nd_machine_table) {
		if (f->show & ND_SHOW_COLUMN)
			nd_str_addf(out, "%8s", f->label);
	}
	nd_str_add(out, transactional ? "  us/transaction\n" : "  core-s/GB  cycles/B\n");
}

/* Cost stands alike in each direction: the first will do. */
static void cost_of(const struct nd_result *r, bool client, struct cost *ret)
{
	const struct nd_direction *d = r->directions.v;
	bool sends;

	*ret = (struct cost){ .name = client ? "client" : "server",
			      .side = client ? r->client : r->server,
			      .source = "",
			      .program_cores = (double)NAN,
			      .cpu_s_per_gb = (double)NAN,
			      .cycles_per_byte = (double)NAN,
			      .cpu_us_per_transaction = (double)NAN };
	if (ret->side)
		ret->program_cores = ret->side->machine.process_cores;
	if (r->directions.n == 0)
		return;
	sends = d->client_active == client;
	ret->transactional = d->transactional;
	ret->cpu_s_per_gb = sends ? d->sender_cpu_s_per_gb : d->receiver_cpu_s_per_gb;
	ret->cycles_per_byte = sends ? d->sender_cycles_per_byte : d->receiver_cycles_per_byte;
	ret->cpu_us_per_transaction =
		sends ? d->sender_cpu_us_per_transaction : d->receiver_cpu_us_per_transaction;
	if (d->cycles_source && strcmp(d->cycles_source, "perf") != 0)
		ret->source = " est.";
}

static bool has_cpu(const struct nd_side *side)
{
	return side && isfinite(side->machine.busy_cores);
}

static void put_busiest(struct nd_line *l, const char *name, const struct nd_machine *m)
{
	nd_auto_str text = { 0 };

	if (m->busiest_cpu == ND_UNKNOWN || !isfinite(m->busiest_ratio))
		return;
	nd_str_addf(&text, "%s: CPU %llu was ", name, (unsigned long long)m->busiest_cpu);
	nd_scaled_text(&text, m->busiest_ratio, ND_M_RATIO);
	nd_str_add(&text, " busy");
	if (isfinite(m->busiest_softirq_ratio)) {
		nd_str_add(&text, " (irq and softirq ");
		nd_scaled_text(&text, m->busiest_softirq_ratio, ND_M_RATIO);
		nd_str_add(&text, ")");
	}
	nd_line_item(l, "; ", "%s", nd_str_text(&text));
}

/* One row when both ends are one machine: its CPU must not be counted twice. */
static void put_costs(const struct nd_result *r, struct nd_str *out)
{
	struct nd_line l = { .out = out, .label = "busiest", .indent = ND_TEXT_INDENT };
	struct cost client, server;

	if (!has_cpu(r->client) && !has_cpu(r->server))
		return;
	cost_of(r, true, &client);
	cost_of(r, false, &server);
	put_cost_head(out, client.transactional);
	if (r->same_host && has_cpu(r->client)) {
		client.name = "both ends";
		client.program_cores += server.program_cores;
		client.cycles_per_byte += server.cycles_per_byte;
		put_cost(out, &client);
		put_busiest(&l, "this machine", &r->client->machine);
		nd_line_end(&l);
		return;
	}
	if (has_cpu(r->client))
		put_cost(out, &client);
	if (has_cpu(r->server))
		put_cost(out, &server);
	if (has_cpu(r->client))
		put_busiest(&l, client.name, &r->client->machine);
	if (has_cpu(r->server))
		put_busiest(&l, server.name, &r->server->machine);
	nd_line_end(&l);
}

static void put_nic(struct nd_line *l, const struct nd_nic_facts *n)
{
	nd_auto_str text = { 0 };

	if (!n->name)
		return;
	nd_report_clean(&text, n->name);
	if (n->driver) {
		nd_str_addc(&text, ' ', 1);
		nd_report_clean(&text, n->driver);
	}
	nd_line_item(l, "; ", "%s", nd_str_text(&text));
	if (n->speed_mbps != ND_UNKNOWN && n->speed_mbps > 0) {
		nd_str_reset(&text);
		nd_scaled_text(&text, (double)n->speed_mbps * 1e6, ND_M_BITRATE);
		nd_line_item(l, ", ", "%s", nd_str_text(&text));
	}
	nd_line_figure(l, ", ", NULL, nd_report_row(&nd_nic_facts_table, "mtu_bytes"), n);
}

/* "client         host-a; Linux 6.1.0 x86_64; 8 CPUs, AMD EPYC 7763; KVM; eth0 mlx5_core, ..." */
static void put_host(struct nd_str *out, const char *name, const struct nd_side *side)
{
	struct nd_line l = { .out = out, .label = name, .indent = ND_TEXT_INDENT };
	const struct nd_host_facts *h = &side->host;

	if (h->hostname)
		nd_line_item(&l, "; ", "%s", h->hostname);
	if (h->kernel)
		nd_line_item(&l, "; ", "Linux %s%s%s", h->kernel, h->machine ? " " : "",
			     h->machine ? h->machine : "");
	if (h->cpus_online != ND_UNKNOWN)
		nd_line_item(&l, "; ", "%llu CPU%s%s%s", (unsigned long long)h->cpus_online,
			     h->cpus_online == 1 ? "" : "s", h->cpu_model ? ", " : "",
			     h->cpu_model ? h->cpu_model : "");
	if (h->virtualization)
		nd_line_item(&l, "; ", "%s", h->virtualization);
	put_nic(&l, &side->nic_facts);
	nd_line_figure(&l, "; ", NULL, nd_report_row(&nd_side_table, "threads"), side);
	nd_line_end(&l);
}

static void put_way(struct nd_line *l, const char *way, const struct nd_queue_sum *s)
{
	nd_auto_str text = { 0 };

	if (s->queues == ND_UNKNOWN)
		return;
	nd_str_addf(&text, "%s %llu of %llu used", way, (unsigned long long)s->used,
		    (unsigned long long)s->queues);
	nd_line_item(l, "; ", "%s", nd_str_text(&text));
	if (s->queues < 2 || !isfinite(s->busiest_ratio))
		return;
	nd_str_reset(&text);
	nd_scaled_text(&text, s->busiest_ratio, ND_M_RATIO);
	nd_line_item(l, ", ", "number %llu carried %s", (unsigned long long)s->busiest,
		     nd_str_text(&text));
	nd_line_item(l, ", ", "%.2f times the mean", s->imbalance);
}

/* How evenly the interface's queues shared the packets; one queue alone says nothing. */
static void put_queues(struct nd_str *out, const struct nd_machine *m, bool verbose)
{
	struct nd_line l = { .out = out, .label = "  queues", .indent = ND_TEXT_INDENT };
	bool several = (m->rx_queues.queues != ND_UNKNOWN && m->rx_queues.queues > 1) ||
		       (m->tx_queues.queues != ND_UNKNOWN && m->tx_queues.queues > 1);

	if (!several && !verbose)
		return;
	put_way(&l, "rx", &m->rx_queues);
	put_way(&l, "tx", &m->tx_queues);
	nd_line_end(&l);
}

/* Rows of queues tell of their interrupts, too. */
static bool tells_irqs(const struct nd_list *queues)
{
	const struct nd_queue_row *q = queues->v;
	uint64_t i;

	for (i = 0; i < queues->n; i++)
		if (q[i].irq != ND_UNKNOWN)
			return true;
	return false;
}

/* CPUs, queues, interrupts, limits: a row each. */
static void put_tables(struct nd_str *out, const struct nd_machine *m, bool with_cpus)
{
	if (with_cpus && m->cpus.n > 0)
		nd_text_table(out, &nd_cpu_table, &m->cpus);
	if (m->queues.n > 0)
		nd_text_table(out, &nd_queue_table, &m->queues);
	if (m->irqs.n > 0 && !tells_irqs(&m->queues))
		nd_text_table(out, &nd_irq_table, &m->irqs);
	if (m->limits.n > 0)
		nd_text_table(out, &nd_limit_table, &m->limits);
}

/* Everything else that is known of an end. */
static void put_more(struct nd_str *out, const struct nd_side *side)
{
	const struct nd_part *part = side->parts.v;
	struct nd_line host = { .out = out, .label = "  machine", .indent = ND_TEXT_INDENT };
	struct nd_line nic = { .out = out, .label = "  interface", .indent = ND_TEXT_INDENT };
	struct nd_line counted = { .out = out, .label = "  counted", .indent = ND_TEXT_INDENT };
	uint64_t i;

	nd_line_figures(&host, &nd_host_table, &side->host);
	nd_line_end(&host);
	nd_line_figures(&nic, &nd_nic_facts_table, &side->nic_facts);
	nd_line_end(&nic);
	nd_line_figures(&counted, &nd_machine_table, &side->machine);
	nd_line_end(&counted);
	for (i = 0; i < side->parts.n; i++) {
		struct nd_line sockets = { .out = out,
					   .label = "  sockets",
					   .indent = ND_TEXT_INDENT };

		nd_line_figure(&sockets, ", ", NULL, nd_report_row(&nd_part_table, "sndbuf_bytes"),
			       &part[i]);
		nd_line_figure(&sockets, ", ", NULL, nd_report_row(&nd_part_table, "rcvbuf_bytes"),
			       &part[i]);
		nd_line_figure(&sockets, ", ", NULL,
			       nd_report_row(&nd_part_table, "path_mtu_bytes"), &part[i]);
		if (part[i].nodelay)
			nd_line_item(&sockets, ", ", "TCP_NODELAY");
		nd_line_end(&sockets);
	}
}

void nd_text_machines(const struct nd_report_cfg *cfg, const struct nd_result *r,
		      struct nd_str *out)
{
	const struct nd_side *side[] = { r->client, r->server };
	static const char *const name[] = { "client", "server" };
	size_t i, head = 0;

	put_costs(r, out);
	for (i = 0; i < ND_COUNTOF(side); i++) {
		nd_auto_str text = { 0 };

		if (!side[i])
			continue;
		put_host(&text, name[i], side[i]);
		put_queues(&text, &side[i]->machine, cfg->verbose);
		if (cfg->verbose) {
			put_more(&text, side[i]);
			put_tables(&text, &side[i]->machine, i == 0 || !r->same_host);
		}
		if (text.len == 0)
			continue;
		nd_str_add(out, head++ ? "" : "\nMachines\n");
		nd_str_add(out, nd_str_text(&text));
		out->failed = out->failed || !nd_str_ok(&text);
	}
}
