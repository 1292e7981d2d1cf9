/* SPDX-License-Identifier: MIT */
/* Times of a lane that asks: the workers' histograms added up, and what the clock behind them is worth. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/time.h"
#include "result/latency.h"
#include "run/int.h"
#include "stat/quantile.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define SOURCE_BYTES 64
#define CLOCK_READS  1000u
#define CLOCK_ROUNDS 8u
#define NEAR_LOW_NS  (39 * ND_NS_PER_MS)
#define NEAR_HIGH_NS (41 * ND_NS_PER_MS)

/* The best of some rounds: others were interrupted. */
static double clock_read_ns(void)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < CLOCK_ROUNDS; i++) {
		uint64_t from = nd_now_ns(), to = from;

		for (unsigned k = 0; k < CLOCK_READS; k++)
			to = nd_now_ns();
		best = ND_MIN(best, to - from);
	}
	return (double)best / CLOCK_READS;
}

static const char *clock_source(struct nd_arena *a)
{
	nd_auto_free char *text = NULL;
	size_t n;

	if (nd_read_file(CLOCK_SOURCE, SOURCE_BYTES, &text, &n, NULL) < 0)
		return NULL;
	return nd_arena_dupn(a, text, strcspn(text, "\n"));
}

enum kind { SERVICE, RESPONSE, LATE, OPENED, ANSWERED, ENDED };

static const struct nd_hist *hist_of(const struct nd_worker *w, unsigned lane, enum kind kind)
{
	switch (kind) {
	case SERVICE:
		return w->rtt_window[lane];
	case RESPONSE:
		return w->response[lane];
	case LATE:
		return w->late[lane];
	default:
		return w->parts[lane][kind - OPENED + ND_CONN_OPENED];
	}
}

static int add_up(const struct nd_run *r, unsigned lane, enum kind kind, struct nd_hist_view *ret)
{
	int e = 0;

	for (uint32_t i = 0; i < r->worker_n && e == 0; i++) {
		const struct nd_hist *h = hist_of(&r->workers[i], lane, kind);

		e = h ? nd_hist_view_take(ret, h) : 0;
	}
	return e;
}

/* Buckets up to the last one that is used, in the arena. */
static int keep(const struct nd_hist_view *v, struct nd_arena *a, struct nd_hist_view *ret)
{
	uint32_t n = v->n;

	while (n > 0 && v->v[n - 1] == 0)
		n--;
	*ret = *v;
	ret->n = n;
	ret->v = NULL;
	if (n == 0)
		return 0;
	ret->v = nd_arena_alloc(a, n, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	memcpy(ret->v, v->v, n * sizeof(*ret->v));
	return 0;
}

static int fill(const struct nd_run *r, unsigned lane, enum kind kind, struct nd_arena *a,
		struct nd_latency *l)
{
	ND_CLEANUP(nd_hist_view_done) struct nd_hist_view v = { .min_ns = UINT64_MAX };
	struct nd_times *const times[] = {
		[SERVICE] = &l->service, [RESPONSE] = &l->response, [LATE] = &l->late,
		[OPENED] = &l->opened,   [ANSWERED] = &l->answer,   [ENDED] = &l->ended
	};
	int e = add_up(r, lane, kind, &v);

	if (e == 0)
		e = nd_times_from(&v, a, times[kind]);
	if (e == 0 && kind == SERVICE && v.count)
		l->near_40ms_ratio =
			(double)nd_hist_between(&v, NEAR_LOW_NS, NEAR_HIGH_NS) / (double)v.count;
	if (e == 0 && (kind == SERVICE || kind == RESPONSE))
		e = keep(&v, a, kind == SERVICE ? &l->service_hist : &l->response_hist);
	return e;
}

/* Over the whole run, of all workers. */
static void count(const struct nd_run *r, unsigned lane, struct nd_latency *l)
{
	l->sent = l->answered = l->lost = l->waits = 0;
	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_counters *c = &r->workers[i].io.c[lane];

		l->sent += c->tx_messages + c->tx_refused;
		l->answered += c->transactions;
		l->lost += c->lost;
		l->waits += r->workers[i].io.told[lane].waits;
	}
	l->lost_ratio = l->sent ? (double)l->lost / (double)l->sent : (double)NAN;
}

/* One port of each pair of addresses is one connection; more cannot exist at a time. */
static void count_ports(const struct nd_run *r, unsigned lane, struct nd_latency *l)
{
	const struct nd_plan *plan = r->cfg.plan;

	if (!r->lanes[lane].load->connects)
		return;
	if (plan->source_ports)
		l->source_ports = plan->source_ports;
	l->source_addresses = r->cfg.dev ? 1 : ND_MAX(plan->bind.n, 1u);
	l->handshake = nd_acks_with_request(r, lane) ? "with_request" : "plain";
	l->no_port = 0;
	for (uint32_t i = 0; i < r->worker_n; i++)
		l->no_port += r->workers[i].io.told[lane].no_port;
}

static int fill_part(const struct nd_run *r, unsigned lane, enum nd_part_of part,
		     struct nd_arena *a, struct nd_times *ret)
{
	ND_CLEANUP(nd_hist_view_done) struct nd_hist_view v = { .min_ns = UINT64_MAX };
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < r->worker_n; i++)
		if (r->workers[i].stamped[lane][part])
			e = nd_hist_view_take(&v, r->workers[i].stamped[lane][part]);
	return e < 0 ? e : nd_times_from(&v, a, ret);
}

/* What all workers were told of stamps. */
static struct nd_told told_of(const struct nd_run *r, unsigned lane)
{
	struct nd_told sum = { 0 };

	for (uint32_t i = 0; i < r->worker_n; i++) {
		const struct nd_told *t = &r->workers[i].io.told[lane];

		sum.no_tx_stamp += t->no_tx_stamp;
		sum.no_rx_stamp += t->no_rx_stamp;
		sum.odd_stamps += t->odd_stamps;
		if (t->stamps_refused)
			sum.stamps_refused = t->stamps_refused;
	}
	return sum;
}

/* The sentence for what the kernel did not tell. */
static int say_missing(const char **ret, uint64_t stamped, const struct nd_told *t,
		       const char *nothing, struct nd_arena *a)
{
	char words[64];

	if (stamped > 0 && !t->stamps_refused)
		return 0;
	if (t->stamps_refused)
		*ret = nd_arena_printf(a, "the kernel refused its stamps: %s",
				       nd_strerror(t->stamps_refused, words, sizeof(words)));
	else if (t->no_tx_stamp + t->no_rx_stamp + t->odd_stamps > 0)
		*ret = "the kernel, or the driver of the interface, gave no stamps";
	else
		*ret = nothing;
	return *ret ? 0 : -ENOMEM;
}

/* What one end's stamps tell: the histograms of its parts in the order in which they pass, and what to say of none. */
struct stamped_end {
	enum nd_part_of parts[ND_TIME_PARTS];
	const char *nothing;
};

static const struct stamped_end asking = { { ND_PART_SEND, ND_PART_PATH, ND_PART_READ },
					   "no answer came in the measured window" };
static const struct stamped_end answering = { { ND_PART_READ, ND_PART_TURN, ND_PART_SEND },
					      "no stamp of an answer came in the measured window" };

/* Times in three by this end's stamps. NULL: they were not asked for. */
static int fill_parted(const struct nd_run *r, unsigned lane, const struct stamped_end *end,
		       struct nd_arena *a, struct nd_parted **ret)
{
	const struct nd_told told = told_of(r, lane);
	struct nd_parted *k;
	int e = 0;

	*ret = NULL;
	if (r->cfg.plan->stamper != ND_STAMPER_KERNEL)
		return 0;
	*ret = k = nd_arena_alloc(a, 1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->no_send_stamp = told.no_tx_stamp;
	k->no_receive_stamp = told.no_rx_stamp;
	k->odd = told.odd_stamps;
	for (unsigned i = 0; e == 0 && i < ND_TIME_PARTS; i++)
		e = fill_part(r, lane, end->parts[i], a, &k->parts[i]);
	k->stamped = k->parts[0].count;
	return e < 0 ? e : say_missing(&k->missing, k->stamped, &told, end->nothing, a);
}

int nd_collect_turns(const struct nd_run *r, unsigned lane, struct nd_arena *a,
		     struct nd_parted **ret)
{
	*ret = NULL;
	if (!r->lanes[lane].load->round_trips || nd_is_active(r, lane))
		return 0;
	return fill_parted(r, lane, &answering, a, ret);
}

int nd_collect_latency(const struct nd_run *r, unsigned lane, struct nd_arena *a,
		       struct nd_latency **ret)
{
	const struct nd_workload *wl = r->lanes[lane].workload;
	struct nd_latency *l;
	int e = 0;

	*ret = NULL;
	if (!r->lanes[lane].load->round_trips || !nd_is_active(r, lane))
		return 0;
	l = nd_arena_alloc(a, 1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	nd_table_unknown(&nd_latency_table, l);
	l->open_loop = r->lanes[lane].load->halves > 1;
	if (l->open_loop)
		l->arrival = nd_spacing_names[wl->arrival];
	else
		l->outstanding = wl->ahead + 1;
	l->clock = clock_source(a);
	l->clock_read_ns = clock_read_ns();
	l->spinners = strcmp(r->cfg.plan->wait, "spin") == 0 ? r->worker_n : 0;
	count(r, lane, l);
	count_ports(r, lane, l);
	for (unsigned k = SERVICE; e == 0 && k <= ENDED; k++)
		e = fill(r, lane, (enum kind)k, a, l);
	if (e == 0)
		e = fill_parted(r, lane, &asking, a, &l->kernel);
	*ret = l;
	return e;
}
