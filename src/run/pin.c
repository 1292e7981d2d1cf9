/* SPDX-License-Identifier: MIT */
/* Where workers run: --pin list, or auto: CPUs near the interface, one per worker. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "run/int.h"

enum { MAX_CPUS = 1024 };

/* CPUs near the interface that this process may use; all it may use when nothing is known. */
static int near_nic(const struct nd_run *r, uint32_t *cpus)
{
	struct nd_arena a = { 0 };
	struct nd_nic_facts facts = { 0 };
	uint32_t allowed[MAX_CPUS], near[MAX_CPUS];
	int allowed_n = nd_os_allowed_cpus(allowed, MAX_CPUS), near_n = 0, n = 0;

	if (r->cfg.nic && nd_os_nic_facts(r->os, r->cfg.nic, &a, &facts) == 0 && facts.cpulist)
		near_n = nd_os_cpulist(facts.cpulist, near, MAX_CPUS);
	for (int i = 0; i < allowed_n; i++) {
		for (int k = 0; k < near_n; k++) {
			if (near[k] == allowed[i])
				cpus[n++] = allowed[i];
		}
	}
	if (n == 0) {
		n = ND_MAX(allowed_n, 0);
		memcpy(cpus, allowed, (size_t)n * sizeof(*cpus));
	}
	nd_arena_done(&a);
	return n;
}

static bool is_allowed(uint32_t cpu)
{
	uint32_t allowed[MAX_CPUS];
	int n = nd_os_allowed_cpus(allowed, MAX_CPUS);

	for (int i = 0; i < n; i++) {
		if (allowed[i] == cpu)
			return cpu < CPU_SETSIZE;
	}
	return false;
}

static int judge_one(const char *option, uint32_t cpu, struct nd_err *err)
{
	if (is_allowed(cpu))
		return 0;
	return nd_fail(err, -EINVAL, "%s: CPU %u is not one that this program may use here", option,
		       cpu);
}

static int judge(const uint32_t *cpus, int n, struct nd_err *err)
{
	int e = 0;

	for (int i = 0; e == 0 && i < n; i++)
		e = judge_one("--pin", cpus[i], err);
	return e;
}

int nd_pin_plan(struct nd_run *r, struct nd_err *err)
{
	const char *pin = r->cfg.plan->pin;
	int n;

	if (!pin)
		return 0;
	r->pin_cpus = calloc(MAX_CPUS, sizeof(*r->pin_cpus));
	if (!r->pin_cpus)
		return nd_fail(err, -ENOMEM, "no memory for the list of CPUs");
	n = strcmp(pin, "auto") == 0 ? near_nic(r, r->pin_cpus)
				     : nd_os_cpulist(pin, r->pin_cpus, MAX_CPUS);
	if (n <= 0)
		return nd_fail(err, -EINVAL, "--pin: '%s' is not a list of CPUs such as 0,2-3",
			       pin);
	if (r->cfg.plan->pin_yields && judge(r->pin_cpus, n, err) < 0) {
		nd_log(ND_LOG_DEBUG, "%s: passed over", err->text);
		*err = (struct nd_err){ 0 };
		return 0;
	}
	r->pin_n = (uint32_t)n;
	return judge(r->pin_cpus, n, err);
}

int nd_pin_check(const struct nd_plan *plan, struct nd_err *err)
{
	const struct nd_target *t = plan->targets.v;
	uint32_t cpus[MAX_CPUS];
	int e = 0;

	for (uint64_t i = 0; e == 0 && i < plan->targets.n; i++)
		e = t[i].cpu < 0 ? 0 : judge_one("-m", (uint32_t)t[i].cpu, err);
	if (e < 0 || !plan->pin || plan->pin_yields || strcmp(plan->pin, "auto") == 0)
		return e;
	return judge(cpus, nd_os_cpulist(plan->pin, cpus, MAX_CPUS), err);
}

/* The CPU of the route that has a worker of its own; -1: none. */
static int64_t bound_cpu(const struct nd_run *r, uint32_t worker)
{
	for (uint32_t i = 0; worker < r->bound_n && i < r->cfg.route_n; i++) {
		if (r->cfg.routes[i].cpu >= 0 && worker-- == 0)
			return r->cfg.routes[i].cpu;
	}
	return -1;
}

uint32_t nd_run_worker_of(const struct nd_run *r, uint64_t flow)
{
	return nd_layout_owner(r, flow, -1);
}

int64_t nd_run_cpu_of(const struct nd_run *r, uint32_t worker)
{
	if (r->pin_n == 0 || worker >= r->worker_n)
		return -1;
	return r->pin_cpus[worker % r->pin_n];
}

int nd_pin_self(const struct nd_run *r, uint32_t worker, struct nd_err *err)
{
	int64_t bound = bound_cpu(r, worker);
	uint32_t cpu;
	cpu_set_t set;

	if (bound >= CPU_SETSIZE)
		return nd_fail(err, -EINVAL, "CPU %lld is over %d", (long long)bound,
			       CPU_SETSIZE - 1);
	if (r->pin_n == 0 && bound < 0)
		return 0;
	cpu = bound >= 0 ? (uint32_t)bound : r->pin_cpus[worker % r->pin_n];
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return nd_sysfail(err, "--pin: worker %u on CPU %u", worker, cpu);
	return 0;
}
