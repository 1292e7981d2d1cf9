/* SPDX-License-Identifier: MIT */
/*
 * A thread that sleeps until the edges of the measured window and reads the machine's counters there, so
 * that the main thread's business never delays a sample. Each sample keeps its own true instant.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "run/int.h"

#define DRAIN_NS (20 * ND_NS_PER_MS)

/* Samples that are kept go to their file now and then. Return: do any? */
static bool drain_samples(struct nd_run *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->worker_n; i++) {
		if (r->workers[i].samples && r->cfg.plan->sample_every) {
			nd_samples_drain(r->workers[i].samples);
			any = true;
		}
	}
	return any;
}

/* Until the end of a phase, or until the window is over early. False: the run was stopped. The schedule is settled
 * when the start is told, so it is read behind that. */
static bool sleep_until(struct nd_run *r, enum nd_phase phase)
{
	struct pollfd p = { .fd = r->sampler_fd, .events = POLLIN };
	uint64_t n;

	for (;;) {
		uint64_t start = atomic_load_explicit(&r->start_ns, memory_order_acquire);
		uint64_t at = start ? start + r->schedule.bound[phase] : UINT64_MAX;

		if (atomic_load_explicit(&r->stop, memory_order_acquire))
			return false;
		if (atomic_load_explicit(&r->window_closed, memory_order_acquire))
			return true;
		if (start && nd_ns_until(at) == 0)
			return true;
		if (drain_samples(r))
			at = ND_MIN(at, nd_now_ns() + DRAIN_NS);
		if (poll(&p, 1, nd_ms_until(at)) > 0)
			(void)!read(r->sampler_fd, &n, sizeof(n)); /* woken: look again */
	}
}

static bool is_nic(void *user, const char *name)
{
	return !strcmp(user, name);
}

/* Queues of the interface that the packets of the report are of. Behind the sample: some drivers take their time. */
static void take_queues(struct nd_run *r, const struct nd_os_sample *s, struct nd_os_detail *ret)
{
	const char *watched = nd_os_watched_nic(r->os), *nic = watched ? watched : r->cfg.nic;
	char name[sizeof(s->nic->name)];

	if (!nic || strlen(nic) >= sizeof(name))
		return;
	memcpy(name, nic, strlen(nic) + 1);
	if (nd_os_detail(r->os, s, is_nic, name, ret) < 0)
		*ret = (struct nd_os_detail){ 0 }; /* no memory: not known */
}

static void *sampler_main(void *arg)
{
	struct nd_run *r = arg;

	if (!sleep_until(r, ND_PHASE_WARMUP))
		return NULL;
	r->has_window_start = nd_os_sample(r->os, &r->window_start) == 0;
	r->cycles_start = nd_perf_cycles(r->perf);
	if (r->has_window_start)
		take_queues(r, &r->window_start, &r->queues_start);
	(void)sleep_until(r, ND_PHASE_MEASURE); /* stopped: the window ends now */
	r->has_window_end = nd_os_sample(r->os, &r->window_end) == 0;
	r->cycles_end = nd_perf_cycles(r->perf);
	if (r->has_window_end)
		take_queues(r, &r->window_end, &r->queues_end);
	return NULL;
}

int nd_sampler_start(struct nd_run *r, struct nd_err *err)
{
	int e;

	r->sampler_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->sampler_fd < 0)
		return nd_sysfail(err, "eventfd");
	r->has_before = nd_os_sample(r->os, &r->before) == 0;
	e = pthread_create(&r->sampler, NULL, sampler_main, r);
	if (e)
		return nd_fail(err, -e, "starting the sampler thread");
	r->sampling = true;
	return 0;
}

void nd_sampler_stop(struct nd_run *r)
{
	uint64_t one = 1;

	if (r->sampling) {
		atomic_store_explicit(&r->window_closed, true, memory_order_release);
		(void)!write(r->sampler_fd, &one, sizeof(one)); /* full counter: awake anyway */
		pthread_join(r->sampler, NULL);
		r->sampling = false;
	}
	nd_close_p(&r->sampler_fd);
}
