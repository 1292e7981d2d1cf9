/* SPDX-License-Identifier: MIT */
/* The loop of the live monitor: a sample each interval, its difference, one layout. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/time.h"
#include "watch/int.h"

#define LEAST_NS ND_NS_PER_MS       /* an interval that was cut shorter is not told */
#define SPEED_NS (30 * ND_NS_PER_S) /* a link's speed is asked for again after so long */

struct speed {
	uint64_t ifindex, mbps, at_ns;
};

struct watching {
	const struct nd_watch_ask *ask;
	const struct nd_local_place *place;
	const struct nd_watch_writer *writer;
	struct nd_os *os;
	int signals;
	bool stopped;
	uint64_t number;
	struct nd_os_sample then; /* owned, like those below */
	struct nd_os_detail then_detail;
	struct nd_watch_all all;
	struct nd_str out;
	struct speed *speed;
	size_t speeds;
};

static bool is_wanted(void *user, const char *name)
{
	const struct nd_strv *names = user;
	uint64_t i;

	for (i = 0; i < names->n; i++)
		if (fnmatch(names->v[i], name, 0) == 0)
			return true;
	return names->n == 0;
}

static bool wanted(const struct watching *w, const char *name)
{
	struct nd_strv names = w->ask->names;

	return is_wanted(&names, name);
}

/* ---- one interval */

static uint64_t ask_speed(struct watching *w, const char *name)
{
	struct nd_arena a = { 0 };
	struct nd_nic_facts f;
	uint64_t mbps = ND_UNKNOWN;

	if (nd_os_nic_facts(w->os, name, &a, &f) == 0)
		mbps = f.speed_mbps;
	nd_arena_done(&a);
	return mbps;
}

static uint64_t speed_of(struct watching *w, const struct nd_nic *n)
{
	struct speed *s = NULL;
	size_t i;

	for (i = 0; i < w->speeds; i++)
		if (w->speed[i].ifindex == n->ifindex)
			s = &w->speed[i];
	if (!s) {
		if (nd_grow(w->speed, w->speeds) < 0)
			return ND_UNKNOWN;
		s = &w->speed[w->speeds++];
		*s = (struct speed){ .ifindex = n->ifindex };
	}
	if (!s->at_ns || nd_now_ns() - s->at_ns > SPEED_NS) {
		s->mbps = ask_speed(w, n->name);
		s->at_ns = nd_now_ns();
	}
	return s->mbps;
}

static uint64_t sum_of(const uint64_t *v, size_t n)
{
	uint64_t sum = ND_UNKNOWN;
	size_t i;

	for (i = 0; i < n; i++)
		sum = nd_watch_sum(sum, v[i]);
	return sum;
}

static void fill_row(struct watching *w, const struct nd_watch_view *v, const struct nd_nic *n,
		     struct nd_watch_row *row)
{
	const uint64_t drops[] = { n->rx_dropped, n->rx_missed, n->tx_dropped, n->qdisc_drops };
	const uint64_t errors[] = { n->rx_errors, n->tx_errors };

	*row = (struct nd_watch_row){ .nic = n, .speed_mbps = speed_of(w, n) };
	row->known = n->rx_packets != ND_UNKNOWN && n->tx_packets != ND_UNKNOWN &&
		     n->rx_bytes != ND_UNKNOWN && n->tx_bytes != ND_UNKNOWN;
	row->drops = sum_of(drops, ND_COUNTOF(drops));
	row->errors = sum_of(errors, ND_COUNTOF(errors));
	row->util_percent = nd_watch_util(nd_watch_rate(v, n->rx_bytes),
					  nd_watch_rate(v, n->tx_bytes), row->speed_mbps);
}

/* A name may hold anything but blanks and slashes, what steers a terminal included. */
static void clean_name(char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || (unsigned char)*name >= 0x7f)
			*name = '?';
}

static bool has_name(const struct nd_os_sample *s, const char *name)
{
	uint32_t i;

	for (i = 0; i < s->nics; i++)
		if (!strcmp(s->nic[i].name, name))
			return true;
	return false;
}

/* Layouts without a place for it: a line for people, once. */
static bool has_no_place(const struct nd_watch_ask *ask)
{
	return ask->sar || ask->quiet || ask->format == ND_LOCAL_CSV;
}

static void add_gone(struct watching *w, const char *name, struct nd_watch_view *v)
{
	struct nd_nic *nic;
	size_t i;

	for (i = 0, nic = v->gone; i < v->rows; i++) {
		if (v->row[i].gone && !strcmp(v->row[i].nic->name, name))
			return; /* asked for twice */
		nic += v->row[i].gone;
	}

	memset(nic, 0xff, sizeof(*nic)); /* ND_UNKNOWN is all ones */
	memset(nic->name, 0, sizeof(nic->name));
	memcpy(nic->name, name, ND_MIN(strlen(name), sizeof(nic->name) - 1));
	clean_name(nic->name);
	v->row[v->rows++] = (struct nd_watch_row){ .nic = nic,
						   .gone = true,
						   .drops = ND_UNKNOWN,
						   .errors = ND_UNKNOWN,
						   .speed_mbps = ND_UNKNOWN,
						   .util_percent = (double)NAN };
	if (has_no_place(w->ask) && has_name(&w->then, name))
		nd_log(ND_LOG_WARN, "%s is gone; it is watched again when it is back", nic->name);
}

static bool is_pattern(const char *name)
{
	return strpbrk(name, "*?[\\");
}

/* Those asked for by name are told for as long as they are away, others once. */
static void fill_gone(struct watching *w, const struct nd_os_sample *now, struct nd_watch_view *v)
{
	const struct nd_strv *names = &w->ask->names;
	const char *name;
	uint64_t i, k;

	for (i = 0; i < names->n; i++)
		if (!is_pattern(names->v[i]) && !has_name(now, names->v[i]))
			add_gone(w, names->v[i], v);
	for (i = 0; i < w->then.nics; i++) {
		name = w->then.nic[i].name;
		for (k = 0; k < names->n && strcmp(names->v[k], name) != 0; k++)
			;
		if (k == names->n && wanted(w, name) && !has_name(now, name))
			add_gone(w, name, v);
	}
}

/* Interfaces that are gone have rows of differences, too, all unknown: their names are told instead. */
static int fill_view(struct watching *w, const struct nd_os_sample *now, struct nd_watch_view *v)
{
	const struct nd_os_sample *d = v->diff;
	size_t most_gone = w->then.nics + w->ask->names.n + 1;
	uint32_t i;

	v->seconds = (double)d->at_ns / (double)ND_NS_PER_S;
	v->number = ++w->number;
	(void)clock_gettime(CLOCK_REALTIME, &v->at); /* cannot fail */
	v->row = calloc(d->nics + most_gone, sizeof(*v->row));
	v->gone = calloc(most_gone, sizeof(*v->gone));
	if (!v->row || !v->gone)
		return -ENOMEM;
	for (i = 0; i < d->nics && i < now->nics; i++) /* in the order of @now */
		if (wanted(w, now->nic[i].name))
			fill_row(w, v, &d->nic[i], &v->row[v->rows++]);
	fill_gone(w, now, v);
	nd_watch_judge(v);
	return 0;
}

static int show(struct watching *w, const struct nd_os_sample *now, const struct nd_os_sample *diff,
		const struct nd_os_detail *detail)
{
	struct nd_watch_view v = { .diff = diff, .detail = detail };
	int r = fill_view(w, now, &v);

	if (r == 0)
		r = nd_watch_add(&w->all, &v);
	if (r == 0 && !w->ask->quiet && w->writer->view)
		w->writer->view(w->ask, &v, &w->all, &w->out);
	free(v.row);
	free(v.gone);
	nd_str_done(&v.verdict);
	return r;
}

static int take(struct watching *w, struct nd_os_sample *ret, struct nd_os_detail *ret_detail)
{
	struct nd_strv names = w->ask->names;
	int r = nd_os_sample(w->os, ret);

	if (r < 0)
		return r;
	r = nd_os_detail(w->os, ret, is_wanted, &names, ret_detail);
	if (r < 0)
		nd_os_sample_done(ret);
	return r;
}

static void clean_names(struct nd_os_sample *s)
{
	uint32_t i;

	for (i = 0; i < s->nics; i++)
		clean_name(s->nic[i].name);
}

static int step(struct watching *w)
{
	struct nd_os_sample now, diff;
	struct nd_os_detail now_detail, detail;
	int r = take(w, &now, &now_detail);

	if (r < 0)
		return r;
	r = nd_os_since(&now, &w->then, &diff);
	if (r == 0) {
		r = nd_os_detail_since(&now_detail, &w->then_detail, &detail);
		if (r == 0) {
			clean_names(&diff);
			r = show(w, &now, &diff, &detail);
			nd_os_detail_done(&detail);
		}
		nd_os_sample_done(&diff);
	}
	nd_os_sample_done(&w->then);
	nd_os_detail_done(&w->then_detail);
	w->then = now;
	w->then_detail = now_detail;
	return r;
}

/* ---- the loop */

/* 1: nobody reads any more. */
static int flush(struct watching *w)
{
	int r;

	if (!nd_str_ok(&w->out))
		return -ENOMEM;
	r = nd_write_all(w->place->out_fd, nd_str_text(&w->out), w->out.len);
	nd_str_reset(&w->out);
	return r == -EPIPE ? 1 : r;
}

static void wait_until(struct watching *w, uint64_t at_ns)
{
	struct pollfd p = { .fd = w->signals, .events = POLLIN };
	struct timespec t;
	uint64_t ns;

	for (ns = nd_ns_until(at_ns); ns > 0 && !w->stopped; ns = nd_ns_until(at_ns)) {
		t = (struct timespec){ .tv_sec = (time_t)(ns / ND_NS_PER_S),
				       .tv_nsec = (long)(ns % ND_NS_PER_S) };
		w->stopped = ppoll(&p, 1, &t, NULL) > 0;
	}
}

/* The last one may be shorter: what came since the one before is told, too. */
static int watch(struct watching *w)
{
	uint64_t due = nd_now_ns();
	int r;

	do {
		due += w->ask->interval_ns;
		if (due < nd_now_ns()) /* stopped for a while: no rows are made up */
			due = nd_now_ns();
		wait_until(w, due);
		if (w->stopped && nd_now_ns() - w->then.at_ns < LEAST_NS)
			return 0;
		r = step(w);
		if (r == 0)
			r = flush(w);
	} while (r == 0 && !w->stopped && (!w->ask->samples || w->number < w->ask->samples));
	return r;
}

static int begin(struct watching *w, struct nd_err *err)
{
	struct nd_arena a = { 0 };
	struct nd_watch_head h = { .started = time(NULL), .os = w->os };
	struct nd_host_facts f;
	int r = nd_os_host(w->os, &a, &f);

	if (r == 0) {
		h.hostname = f.hostname ? f.hostname : "?";
		h.kernel = f.kernel ? f.kernel : "?";
		h.machine = f.machine ? f.machine : "?";
		h.cpus = f.cpus_online == ND_UNKNOWN ? 0 : f.cpus_online;
		if (w->writer->begin)
			w->writer->begin(w->ask, &h, &w->out);
		r = flush(w);
	}
	nd_arena_done(&a);
	return r < 0 ? nd_fail(err, r, "watch: cannot begin") : r;
}

/* A name that is not there at the start is a mistake; one that goes later is not. */
static int check_names(const struct watching *w, struct nd_err *err)
{
	uint64_t i;
	uint32_t k;

	for (i = 0; i < w->ask->names.n; i++) {
		for (k = 0; k < w->then.nics; k++)
			if (fnmatch(w->ask->names.v[i], w->then.nic[k].name, 0) == 0)
				break;
		if (k == w->then.nics)
			return nd_os_no_nic(&w->then, w->ask->names.v[i], err);
	}
	return 0;
}

static int go_on(struct watching *w, struct nd_err *err)
{
	int r = begin(w, err);

	if (r != 0)
		return r;
	r = watch(w);
	if (r == 0 || w->writer == &nd_watch_table) { /* a terminal is given back in any case */
		w->writer->end(w->ask, &w->all, &w->out);
		r = r == 0 ? flush(w) : (flush(w), r);
	}
	if (r < 0)
		return nd_fail(err, r, "watch: %s",
			       r == -ENOMEM ? "out of memory" : "cannot write");
	return r;
}

static int run(struct watching *w, struct nd_err *err)
{
	struct termios was;
	bool keeps;
	int r = nd_os_open(w->place->root, &w->os, err);

	if (r < 0)
		return r;
	r = take(w, &w->then, &w->then_detail);
	if (r < 0)
		return nd_fail(err, r, "watch: out of memory");
	r = check_names(w, err);
	if (r < 0)
		return r;
	keeps = w->writer == &nd_watch_table && nd_terminal_keep(w->place->out_fd, &was);
	r = go_on(w, err);
	if (keeps)
		nd_terminal_restore(w->place->out_fd, &was);
	return r;
}

static const struct nd_watch_writer *choose(const struct nd_watch_ask *ask, bool tty)
{
	bool json = ask->format == ND_LOCAL_JSON || ask->format == ND_LOCAL_JSON_LINES;

	if (ask->format == ND_LOCAL_CSV)
		return &nd_watch_csv;
	if (json)
		return ask->sar ? &nd_watch_sar_json : &nd_watch_json;
	if (ask->sar)
		return &nd_watch_sar;
	return tty && !ask->plain && !ask->quiet ? &nd_watch_table : &nd_watch_text;
}

int nd_watch_run(const struct nd_plan *plan, const struct nd_local_place *place, struct nd_err *err)
{
	const struct nd_watch_ask *ask = plan->face;
	struct watching w = { .ask = ask, .place = place, .writer = choose(ask, place->tty) };
	sigset_t ends, before;
	nd_auto_fd int fd = -1;
	int r;

	(void)sigemptyset(&ends); /* these four cannot fail with valid numbers */
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGHUP);
	r = -pthread_sigmask(SIG_BLOCK, &ends, &before);
	if (r < 0)
		return nd_fail(err, r, "watch: signals cannot be blocked");
	fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	w.signals = fd;
	r = fd < 0 ? nd_sysfail(err, "signalfd") : run(&w, err);
	/* A signal that has come is taken out, or it would end the program when it is let through again. */
	while (fd >= 0 &&
	       read(fd, &(struct signalfd_siginfo){ 0 }, sizeof(struct signalfd_siginfo)) > 0)
		;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* what was in force before is valid */
	nd_os_sample_done(&w.then);
	nd_os_detail_done(&w.then_detail);
	nd_watch_all_done(&w.all);
	nd_str_done(&w.out);
	free(w.speed);
	nd_os_free(w.os);
	return r < 0 ? r : 0;
}
