/* SPDX-License-Identifier: MIT */
/* The main thread's side of a run: make it, give it sockets, start, watch, end it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "run/int.h"

#define GIFTS_AT_ONCE 32u /* flows handed over before a worker in set-up is woken again */

enum { MAX_SHARED_BUFFER = 4 << 20, SPARE_FDS = 64, MANY_FDS = 2048 };

static void wake(const struct nd_worker *w)
{
	uint64_t one = 1;

	if (w->run)                                          /* else it was never made */
		(void)!write(w->wake_fd, &one, sizeof(one)); /* full counter: awake anyway */
}

static void wake_all(struct nd_run *r)
{
	uint64_t one = 1;

	for (uint32_t i = 0; r->workers && i < r->worker_n; i++)
		wake(&r->workers[i]);
	if (r->sampler_fd >= 0)
		(void)!write(r->sampler_fd, &one, sizeof(one));
}

/* What the file holds, from its beginning, over and over. */
static int fill_from_file(const char *path, uint8_t *buf, size_t size, struct nd_err *err)
{
	nd_auto_fd int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe may have no writer */
	size_t n = 0;
	ssize_t r = 1;

	if (fd < 0)
		return nd_sysfail(err, "payload from '%.80s'", path);
	while (n < size && r != 0) {
		r = read(fd, buf + n, size - n);
		if (r < 0 && errno != EINTR)
			return nd_sysfail(err, "payload from '%.80s'", path);
		n += r > 0 ? (size_t)r : 0;
	}
	if (n == 0)
		return nd_fail(err, -ENODATA, "payload from '%.80s': nothing is in it", path);
	for (size_t i = n; i < size; i++)
		buf[i] = buf[i - n];
	return 0;
}

/* The bytes that lane @i sends: made once, shared by all workers, touched before the run. */
static int make_buffer(struct nd_run *r, unsigned i, struct nd_err *err)
{
	const struct nd_workload *wl = r->lanes[i].workload;
	const struct nd_plan *p = r->cfg.plan;
	uint64_t most = ND_MAX(wl->message_bytes, ND_MAX(wl->request_bytes, wl->response_bytes));

	r->tx_size[i] = (size_t)ND_MAX(ND_MIN(most, (uint64_t)MAX_SHARED_BUFFER), 1);
	if (!r->lanes[i].load->round_trips && !nd_is_active(r, i))
		return 0;
	r->tx_buf[i] = aligned_alloc(4096, (r->tx_size[i] + 4095) / 4096 * 4096);
	if (!r->tx_buf[i])
		return nd_fail(err, -ENOMEM, "no memory for the send buffer");
	r->lanes[i].frame->prepare(r->tx_buf[i], r->tx_size[i], p->payload, nd_now_ns());
	return p->payload_file ? fill_from_file(p->payload_file, r->tx_buf[i], r->tx_size[i], err)
			       : 0;
}

static int make_buffers(struct nd_run *r, struct nd_err *err)
{
	int e = 0;

	for (unsigned i = 0; e == 0 && i < r->lane_n; i++)
		e = make_buffer(r, i, err);
	return e;
}

static void plan_schedule(struct nd_run *r)
{
	const struct nd_plan *p = r->cfg.plan;

	r->schedule.bound[ND_PHASE_WARMUP] = p->warmup_ns;
	r->schedule.bound[ND_PHASE_MEASURE] = p->warmup_ns + p->duration_ns;
	r->schedule.bound[ND_PHASE_COOLDOWN] = p->warmup_ns + p->duration_ns + p->cooldown_ns;
	r->schedule.interval_ns = p->interval_ns;
	r->schedule.least_ns = p->short_last ? 0 : p->interval_ns / 2;
}

static int make_worker(struct nd_run *r, uint32_t index, struct nd_err *err)
{
	struct nd_worker *w = &r->workers[index];

	w->run = r;
	w->index = index;
	w->pair[0] = w->pair[1] = -1;
	pthread_mutex_init(&w->lock, NULL);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->wake_fd < 0)
		return nd_sysfail(err, "eventfd");
	if (r->cfg.plan->keep_samples && (r->cfg.end == ND_CLIENT || r->cfg.plan->open_ended) &&
	    nd_samples_new(r->cfg.plan->sample_every, &w->samples) < 0)
		return nd_fail(err, -ENOMEM, "no memory for samples");
	if (w->samples && nd_samples_share(w->samples, r->cfg.plan->workload[0].servers) < 0)
		return nd_fail(err, -ENOMEM, "no memory for samples");
	if (w->samples && nd_plan_is_watched(r->cfg.plan) &&
	    nd_samples_watch(w->samples, r->cfg.plan->workload[0].activity) < 0)
		return nd_fail(err, -ENOMEM, "no memory for a diary");
	if (r->own_tables && r->cfg.end == ND_SERVER &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, w->pair) < 0)
		return nd_sysfail(err, "socket pair");
	return 0;
}

/* Before there are threads. Whoever comes as he likes may be many or few. */
static void make_room(const struct nd_run *r)
{
	uint64_t n = SPARE_FDS + nd_fds_needed(r->cfg.plan, r->lanes);

	if (!r->own_tables)
		nd_fd_room(r->main_fd, r->cfg.plan->open_ended ? ND_MIN(n, MANY_FDS) : n);
}

static int start_workers(struct nd_run *r, struct nd_err *err)
{
	sigset_t all, before;
	char words[64];
	int e = 0;

	for (uint32_t i = 0; i < r->worker_n; i++) {
		e = make_worker(r, i, err);
		if (e < 0)
			return e;
	}
	make_room(r);
	/* signals belong to the main thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (nd_sampler_start(r, err) < 0)
		e = err->code;
	for (uint32_t i = 0; e == 0 && i < r->worker_n; i++) {
		struct nd_worker *w = &r->workers[i];
		int code = pthread_create(&w->thread, NULL, nd_worker_main, w);

		w->started = code == 0;
		if (code)
			e = nd_fail(err, -code, "starting worker thread %u: %s", i,
				    nd_strerror(code, words, sizeof(words)));
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return e;
}

int nd_run_new(const struct nd_run_cfg *cfg, struct nd_run **ret, struct nd_err *err)
{
	struct nd_run *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return nd_fail(err, -ENOMEM, "no memory for a run");
	r->cfg = *cfg;
	r->main_fd = r->sampler_fd = -1;
	r->lane_n = (unsigned)cfg->plan->workloads;
	r->flow_n = nd_plan_flows(cfg->plan);
	for (unsigned i = 0; i < r->lane_n; i++)
		r->by_bytes |= cfg->plan->workload[i].total_bytes > 0 ||
			       cfg->plan->workload[i].total_ops > 0;
	plan_schedule(r);
	e = nd_lanes_fill(cfg->plan, r->lanes, err);
	if (e == 0)
		e = nd_layout_plan(r, err);
	if (e == 0)
		e = nd_fds_judge(cfg->plan, r->lanes, r->worker_n, err);
	r->own_tables = e == 1;
	r->workers = calloc(r->worker_n, sizeof(*r->workers));
	r->given = calloc((size_t)r->flow_n / 8 + 1, 1);
	r->main_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e >= 0 && (!r->workers || !r->given || r->main_fd < 0))
		e = nd_fail(err, -ENOMEM, "no memory for %u workers", r->worker_n);
	if (e >= 0)
		e = nd_os_open("", &r->os, err);
	if (e >= 0 && (nd_os_watch_interrupts(r->os, cfg->plan->interrupts) < 0 ||
		       nd_os_watch_nic(r->os, cfg->plan->counted_nic) < 0))
		e = nd_fail(err, -ENOMEM, "no memory for names");
	if (e >= 0)
		e = nd_pin_plan(r, err);
	if (e >= 0)
		e = make_buffers(r, err);
	if (e >= 0 && nd_perf_open(&r->perf) < 0)
		r->perf = NULL; /* cycles are estimated then, and said so */
	if (e >= 0)
		e = start_workers(r, err);
	if (e < 0) {
		nd_run_free(r);
		return e;
	}
	*ret = r;
	return 0;
}

/* A worker that lacks many flows still need not hear of each: it also looks by itself, often when some have come. */
static bool must_hear(const struct nd_worker *w)
{
	const struct nd_run *r = w->run;

	return r->cfg.plan->open_ended || r->given_n >= r->flow_n ||
	       w->handed_n % GIFTS_AT_ONCE == 1;
}

/* The last flow of all may be another worker's. */
static void tell_of_gift(struct nd_worker *w)
{
	struct nd_run *r = w->run;

	if (r->given_n < r->flow_n) {
		if (must_hear(w))
			wake(w);
		return;
	}
	for (uint32_t i = 0; i < r->worker_n; i++)
		wake(&r->workers[i]);
}

/* Takes @fd. */
static int give_to(struct nd_worker *w, uint64_t flow, int fd, struct nd_err *err)
{
	bool kept;
	int e;

	w->handed_n++;
	if (w->pair[0] >= 0) {
		e = nd_table_send(w->pair[0], flow, fd);
		nd_close_p(&fd);
		tell_of_gift(w);
		return e < 0 ? nd_fail(err, e, "handing flow %llu to its worker",
				       (unsigned long long)flow)
			     : 0;
	}
	kept = nd_gift_keep(w, flow, fd);
	tell_of_gift(w);
	if (kept)
		return 0;
	nd_close_p(&fd);
	return nd_fail(err, -ENOMEM, "no memory for flow %llu", (unsigned long long)flow);
}

int nd_run_give_at(struct nd_run *r, uint64_t flow, int route, int fd, struct nd_err *err)
{
	nd_auto_fd int mine = fd;

	if (flow >= r->flow_n)
		return nd_fail(err, -ERANGE, "flow %llu is not one of %llu",
			       (unsigned long long)flow, (unsigned long long)r->flow_n);
	if (r->given[flow / 8] & (1u << flow % 8))
		return nd_fail(err, -EEXIST, "flow %llu is there already",
			       (unsigned long long)flow);
	r->given[flow / 8] |= (uint8_t)(1u << flow % 8);
	r->given_n++;
	return give_to(&r->workers[nd_layout_owner(r, flow, route)], flow, nd_take_fd(&mine), err);
}

int nd_run_give(struct nd_run *r, uint64_t flow, int fd, struct nd_err *err)
{
	return nd_run_give_at(r, flow, -1, fd, err);
}

int nd_run_fd(const struct nd_run *r)
{
	return r->main_fd;
}

static int least_state(const struct nd_run *r)
{
	int least = ND_WORKER_OVER;

	for (uint32_t i = 0; i < r->worker_n; i++) {
		int s = atomic_load_explicit(&r->workers[i].state, memory_order_acquire);

		if (s == ND_WORKER_FAILED)
			return s;
		least = ND_MIN(least, s);
	}
	return least;
}

uint64_t nd_run_flows_given(const struct nd_run *r, uint64_t *ret_open)
{
	uint64_t closed = 0;

	for (uint32_t i = 0; i < r->worker_n; i++)
		closed += atomic_load_explicit(&r->workers[i].closed, memory_order_relaxed);
	*ret_open = r->given_n - ND_MIN(closed, r->given_n);
	return r->given_n;
}

/* A run that ends by bytes has its window closed by what happens, not by time. */
static void close_window(struct nd_run *r)
{
	uint64_t one = 1;

	if (!r->by_bytes || atomic_load_explicit(&r->window_closed, memory_order_relaxed))
		return;
	atomic_store_explicit(&r->window_closed, true, memory_order_release);
	(void)!write(r->sampler_fd, &one, sizeof(one)); /* full counter: awake anyway */
}

/* Has this end flows of the kind: those that send (ask), or those that receive (answer)? */
static bool has_flows(const struct nd_run *r, bool active)
{
	for (unsigned i = 0; i < r->lane_n; i++) {
		if (nd_is_active(r, i) == active)
			return true;
	}
	return false;
}

enum nd_run_state nd_run_poll(struct nd_run *r)
{
	static const enum nd_run_state states[] = {
		[ND_WORKER_SETUP] = ND_RUN_SETUP,     [ND_WORKER_READY] = ND_RUN_READY,
		[ND_WORKER_RUNNING] = ND_RUN_RUNNING, [ND_WORKER_SENT] = ND_RUN_SENT,
		[ND_WORKER_OVER] = ND_RUN_OVER,       [ND_WORKER_FAILED] = ND_RUN_FAILED,
	};

	uint64_t n;

	(void)!read(r->main_fd, &n, sizeof(n)); /* nothing there: the state is read all the same */
	n = (uint64_t)least_state(r);
	nd_beat_collect(r);
	if (n == ND_WORKER_SENT && has_flows(r, true))
		close_window(r);
	return states[n];
}

const struct nd_err *nd_run_error(const struct nd_run *r)
{
	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_worker *w = &r->workers[i];

		if (atomic_load_explicit(&w->state, memory_order_acquire) == ND_WORKER_FAILED)
			return &w->err;
	}
	return NULL;
}

uint64_t nd_run_flows_ready(const struct nd_run *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->worker_n; i++)
		n += atomic_load_explicit(&r->workers[i].opened, memory_order_relaxed);
	return n;
}

void nd_run_sockets(const struct nd_run *r, void (*see)(void *user, int fd), void *user)
{
	for (uint32_t k = 0; !r->own_tables && k < r->worker_n; k++) {
		const struct nd_worker *w = &r->workers[k];

		for (uint32_t i = 0; i < w->io.flow_count; i++) {
			if (!w->flows[i].half && w->flows[i].fd >= 0)
				see(user, w->flows[i].fd);
		}
	}
}

void nd_run_start(struct nd_run *r, uint64_t at_ns)
{
	plan_schedule(r); /* a receiver may have agreed on the times since */
	atomic_store_explicit(&r->start_ns, at_ns, memory_order_release);
	wake_all(r);
}

void nd_run_finish(struct nd_run *r, uint64_t quiet_ns, uint64_t deadline_ns)
{
	if (!has_flows(r, false))
		return; /* this end waits for nobody */
	if (!has_flows(r, true))
		close_window(r);
	atomic_store_explicit(&r->finish_deadline_ns, deadline_ns, memory_order_release);
	atomic_store_explicit(&r->quiet_ns, ND_MAX(quiet_ns, 1), memory_order_release);
	wake_all(r);
}

size_t nd_run_take_samples(struct nd_run *r, struct nd_samples **ret, size_t room)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->worker_n && n < room; i++)
		if (r->workers[i].samples)
			ret[n++] = nd_take_ptr(r->workers[i].samples);
	return n;
}

bool nd_run_note(struct nd_run *r, struct nd_diary_entry *ret)
{
	for (uint32_t i = 0; i < r->worker_n; i++) {
		struct nd_samples *s = r->workers[i].samples;

		if (s && nd_samples_diary(s) && nd_diary_take(nd_samples_diary(s), ret))
			return true;
	}
	return false;
}

void nd_run_stop(struct nd_run *r)
{
	atomic_store_explicit(&r->stop, true, memory_order_release);
	wake_all(r);
}

static void free_worker(struct nd_worker *w, unsigned lanes)
{
	nd_close_p(&w->wake_fd);
	nd_close_p(&w->pair[0]);
	nd_close_p(&w->pair[1]);
	for (size_t i = w->gift_at; i < w->gift_n; i++)
		nd_close_p(&w->gifts[i].fd);
	free(w->gifts);
	free(w->last);
	for (unsigned i = 0; i < lanes; i++) {
		nd_series_done(&w->series[i]);
		nd_hist_free(w->rtt_window[i]);
		nd_hist_free(w->rtt_rest[i]);
		nd_hist_free(w->gap[i]);
		nd_hist_free(w->burst[i]);
		nd_hist_free(w->response[i]);
		nd_hist_free(w->late[i]);
		for (unsigned k = 0; k < ND_PARTS; k++)
			nd_hist_free(w->stamped[i][k]);
		for (unsigned k = 0; k < ND_CONN_PARTS; k++)
			nd_hist_free(w->parts[i][k]);
		nd_beat_done(w, i);
		nd_hist_free(w->tcp[i].rtt);
		free(w->retransmits[i]);
	}
	nd_layout_done(w);
	nd_samples_free(w->samples);
	nd_arena_done(&w->arena);
	pthread_mutex_destroy(&w->lock);
}

void nd_run_free(struct nd_run *r)
{
	if (!r)
		return;
	nd_run_stop(r);
	for (uint32_t i = 0; r->workers && i < r->worker_n; i++) {
		if (r->workers[i].started)
			pthread_join(r->workers[i].thread, NULL);
	}
	nd_sampler_stop(r);
	for (uint32_t i = 0; r->workers && i < r->worker_n; i++) {
		if (r->workers[i].run)
			free_worker(&r->workers[i], r->lane_n);
	}
	for (unsigned i = 0; i < r->lane_n; i++)
		free(r->tx_buf[i]);
	for (unsigned i = 0; i < r->lane_n; i++)
		free(r->beats[i]);
	free(r->workers);
	free(r->given);
	free(r->owner);
	free(r->slot);
	free(r->pin_cpus);
	nd_os_sample_done(&r->before);
	nd_os_sample_done(&r->window_start);
	nd_os_sample_done(&r->window_end);
	nd_os_sample_done(&r->after);
	nd_os_detail_done(&r->queues_start);
	nd_os_detail_done(&r->queues_end);
	nd_os_free(r->os);
	nd_perf_free(r->perf);
	nd_close_p(&r->main_fd);
	free(r);
}
