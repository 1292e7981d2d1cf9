/* SPDX-License-Identifier: MIT */
/* Repeated runs: their figures, means, and how well they agree. */
#include <math.h>

#include "result/repeats.h"

/* clang-format off */
/* Two-sided quantiles of Student's distribution with 1, 2, 3 ... degrees of freedom. */
static const double t95[ND_REPEATS_MAX - 1] = {
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042
};
static const double t99[ND_REPEATS_MAX - 1] = {
	63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
	3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
	2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750
};

/* clang-format on */

static double known(double v)
{
	return isfinite(v) ? v : 0;
}

static double count(uint64_t v)
{
	return v == ND_UNKNOWN ? 0 : (double)v;
}

static double per(double a, double b)
{
	return b > 0 ? known(a / b) : 0;
}

/* An end that tells all kinds of time, or one that tells only how busy it was. */
static double busy_percent(const struct nd_side *s, double cpus)
{
	const struct nd_machine *m = &s->machine;
	double used = known(m->user_cores) + known(m->system_cores) + known(m->irq_cores) +
		      known(m->softirq_cores) + known(m->steal_cores);
	double idle = known(m->idle_cores) - known(m->iowait_cores);

	if (isfinite(m->steal_cores))
		return per(100 * (used + known(m->iowait_cores)),
			   used + known(m->iowait_cores) + idle);
	return per(100 * known(m->busy_cores), cpus);
}

static void fill_cpu(const struct nd_side *s, double units_per_s, double *ret_cpu,
		     double *ret_demand, double *ret_cpus)
{
	if (!s)
		return;
	*ret_cpus = s->machine.cpus.n ? (double)s->machine.cpus.n : count(s->host.cpus_online);
	if (*ret_cpus <= 0 || !isfinite(s->machine.busy_cores))
		return;
	*ret_cpu = busy_percent(s, *ret_cpus);
	*ret_demand = per(*ret_cpu * 1e4 * *ret_cpus, units_per_s);
}

void nd_repeat_figures(const struct nd_result *r, const struct nd_repeat_ask *ask,
		       struct nd_repeat_figures *ret)
{
	const struct nd_part *client = nd_result_part(r->client, 0);
	const struct nd_part *server = nd_result_part(r->server, 0);
	const struct nd_part *counts = ask->one_end || ask->client_receives ? client : server;
	double n = 0, moved, units;

	*ret = (struct nd_repeat_figures){
		.client_cpu = -1, .server_cpu = -1, .client_demand = -1, .server_demand = -1
	};
	if (!client)
		return;
	ret->elapsed_s = known(client->run.seconds);
	if (ask->transactions)
		n = count(client->run.transactions);
	else if (counts)
		n = count(counts->run.rx_bytes) +
		    (ask->client_receives ? 0 : count(counts->run.tx_bytes));
	ret->per_s = per(n, ret->elapsed_s);
	moved = count(client->run.tx_bytes) + count(client->run.rx_bytes);
	units = ask->transactions ? n : moved / 1024;
	if (ask->client_cpu)
		fill_cpu(r->client, per(units, ret->elapsed_s), &ret->client_cpu,
			 &ret->client_demand, &ret->client_cpus);
	if (ask->server_cpu)
		fill_cpu(r->server, per(units, ret->elapsed_s), &ret->server_cpu,
			 &ret->server_demand, &ret->server_cpus);
}

static void add(struct nd_repeat_mean *m, double v, uint64_t runs)
{
	double from = v - m->mean;

	m->mean += from / (double)runs;
	m->squares += from * (v - m->mean);
}

void nd_repeats_add(struct nd_repeats *s, const struct nd_repeat_figures *f)
{
	s->runs++;
	add(&s->elapsed_s, f->elapsed_s, s->runs);
	add(&s->per_s, f->per_s, s->runs);
	add(&s->client_cpu, f->client_cpu, s->runs);
	add(&s->server_cpu, f->server_cpu, s->runs);
	add(&s->client_demand, f->client_demand, s->runs);
	add(&s->server_demand, f->server_demand, s->runs);
}

double nd_repeats_width(const struct nd_repeats *s, const struct nd_repeat_mean *m)
{
	uint64_t freedom = ND_MIN(s->runs, ND_REPEATS_MAX) - 1;
	double t;

	if (s->runs < 2 || !(m->mean > 0))
		return 0;
	t = s->level == 95 ? t95[freedom - 1] : t99[freedom - 1];
	return 2 * t * sqrt(m->squares / (double)s->runs / (double)(s->runs - 1)) / m->mean;
}

bool nd_repeats_agree(const struct nd_repeats *s)
{
	if (s->runs < 2 || nd_repeats_width(s, &s->per_s) > s->asked_width)
		return false;
	return s->result_only || (nd_repeats_width(s, &s->client_cpu) <= s->asked_width &&
				  nd_repeats_width(s, &s->server_cpu) <= s->asked_width);
}
