/* SPDX-License-Identifier: MIT */
/*
 * Who accepts connections that come and go. Where both ends are on one machine the kernel carries a connection through
 * on the CPU that opens it. A server thread on each CPU that takes what comes in there, from a queue of its own, leaves it
 * there to its end: half as much again as by threads that wake each other across CPUs. From other machines
 * connections come in where the interface's queues are, which may be one CPU alone: there all threads share one queue.
 */
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "session/int.h"

bool nd_accepts_here(const struct nd_test *t)
{
	struct nd_addr a = t->local, b = t->peer;

	nd_addr_set_port(&a, 0);
	nd_addr_set_port(&b, 0);
	return a.len > 0 && nd_addr_equal(&a, &b);
}

void nd_accepts_pin(struct nd_served *c, const struct nd_run_cfg *cfg)
{
	uint64_t threads = ND_MIN(cfg->threads, nd_plan_flows(&c->plan));

	if (!c->plan.pin && threads > 1 && nd_accepts_here(&c->test) &&
	    c->test.here->host.cpus_allowed == threads)
		c->plan.pin = "auto";
}

/* All workers have CPUs, each another one; else .n is 1. */
static void list_cpus(const struct nd_run *run, struct nd_listen_group *g)
{
	uint32_t n = 0;
	int64_t cpu;

	for (; (cpu = nd_run_cpu_of(run, n)) >= 0; n++) {
		bool is_new = n < ND_COUNTOF(g->cpu);

		for (uint32_t i = 0; is_new && i < n; i++)
			is_new = g->cpu[i] != cpu;
		if (!is_new)
			return;
		g->cpu[n] = (uint32_t)cpu;
	}
	g->n = ND_MAX(n, 1u);
}

void nd_accepts_open(struct nd_served *c, struct nd_listen_group *ret)
{
	const struct nd_transport *t = nd_transport_find(c->plan.workload[0].transport);
	struct nd_err err = { 0 };

	ret->n = 1;
	ret->fd[0] = nd_take_fd(&c->listener);
	if (nd_accepts_here(&c->test))
		list_cpus(c->test.run, ret);
	if (ret->n == 1 || nd_listen_group(t, &c->plan.sock, ret, &err) == 0)
		return;
	nd_log(ND_LOG_DEBUG, "test %llu: %s: one queue of connections for all threads",
	       (unsigned long long)c->number, err.text);
	ret->n = 1;
}
