/* SPDX-License-Identifier: MIT */
/*
 * Order statistics by counting: a pass into logarithmic buckets finds the bucket in which each wanted value lies, a
 * second one counts every value of those few buckets.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "stat/exact.h"
#include "stat/hist.h"

#define CHUNK 4096u
#define NORMAL_RATIO \
	1.48260221851 /* standard deviation over median deviation, of a normal distribution */

const double nd_exact_quantiles[ND_EXACT_QUANTILES] = { 0.99999, 0.9999, 0.999, 0.99, 0.90,
							0.75,    0.50,   0.25,  0.50 };

enum { P75 = 5, P50 = 6, P25 = 7 };

/* ---- the walk */

struct walk {
	uint64_t from_ns, to_ns;
	uint64_t left; /* answers that came in all */
	uint64_t last_tx_ns, last_rx_ns;
	uint64_t every;
	bool has_begun;
	void (*visit)(void *user, const struct nd_sample *at);
	void *user;
	struct nd_exact_span span;
};

static int tx_of(const struct nd_samples *s, uint64_t entry, uint64_t *ret)
{
	struct nd_sample one;
	ssize_t r = nd_samples_read(s, entry, &one, 1);

	*ret = r == 1 ? one.tx_ns : 0;
	return r < 0 ? (int)r : 0;
}

/* False: the window is over. */
static bool step(struct walk *w, uint64_t entry, const struct nd_sample *at)
{
	struct nd_exact_span *span = &w->span;
	uint64_t number = (entry + 1) * w->every;

	if (at->tx_ns == 0 || at->tx_ns > w->to_ns || w->left == 0)
		return false;
	if (at->tx_ns < w->from_ns || at->tx_ns < w->last_tx_ns)
		return true; /* the latter was not kept: an old one stands in its place */
	w->last_tx_ns = at->tx_ns;
	if (!w->has_begun) {
		w->has_begun = true;
		span->first = number;
		span->begin_ns = at->tx_ns;
	}
	if (at->rx_ns == 0) {
		span->dropped++;
		span->last = number;
		span->end_ns = ND_MAX(span->end_ns, at->tx_ns);
		return true;
	}
	w->left--;
	if (at->rx_ns < w->last_rx_ns) {
		span->out_of_order++;
		return true;
	}
	w->last_rx_ns = at->rx_ns;
	span->n++;
	span->last = number;
	span->end_ns = at->rx_ns;
	if (w->visit)
		w->visit(w->user, at);
	return true;
}

/* The window in instants; false: there is none. */
static int open_window(const struct nd_samples *s, const struct nd_exact_cut *cut,
		       const struct nd_sample_counts *c, struct walk *w)
{
	uint64_t first = cut->last ? ND_MIN(cut->first, c->kept - 1) : 0;
	uint64_t last = cut->last ? ND_MIN(cut->last, c->kept - 1) : c->kept - 1;
	int r = tx_of(s, first, &w->from_ns);

	if (r == 0)
		r = tx_of(s, last, &w->to_ns);
	if (r < 0 || cut->last)
		return r;
	w->from_ns += cut->skip_ns;
	w->to_ns -= ND_MIN(cut->tail_ns, w->to_ns);
	return 0;
}

int nd_exact_walk(const struct nd_samples *s, const struct nd_exact_cut *cut,
		  void (*visit)(void *user, const struct nd_sample *at), void *user,
		  struct nd_exact_span *span)
{
	struct nd_sample_counts c;
	struct walk w = { .visit = visit, .user = user };
	struct nd_sample chunk[CHUNK / 16];
	uint64_t at = 0;
	bool more = true;
	ssize_t n = 0;
	int r = 0;

	nd_samples_counts(s, &c);
	w.every = c.every;
	w.left = c.received;
	w.span.is_empty = c.kept == 0;
	if (c.kept > 0)
		r = open_window(s, cut, &c, &w);
	w.span.is_empty |= w.to_ns <= w.from_ns && c.kept != 1;
	if (w.span.is_empty)
		more = false;
	while (r == 0 && more && (n = nd_samples_read(s, at, chunk, ND_COUNTOF(chunk))) > 0) {
		for (ssize_t i = 0; more && i < n; i++)
			more = step(&w, at + (uint64_t)i, &chunk[i]);
		at += (uint64_t)n;
	}
	if (span)
		*span = w.span;
	return r < 0 ? r : n < 0 ? (int)n : 0;
}

/* ---- values of a rank */

struct picked {
	uint64_t rank; /* from 0 on; ND_UNKNOWN: none */
	uint32_t bucket;
	uint64_t before; /* values in lower buckets */
};

struct picker {
	uint64_t *coarse; /* owned: a count per bucket */
	uint64_t *fine[ND_EXACT_QUANTILES];
	struct picked want[ND_EXACT_QUANTILES];
	unsigned n;
};

static void done_picker(struct picker *p)
{
	free(p->coarse);
	for (unsigned i = 0; i < ND_EXACT_QUANTILES; i++)
		free(p->fine[i]);
}

static int init_picker(struct picker *p)
{
	*p = (struct picker){ 0 };
	p->coarse = calloc(nd_hist_buckets(), sizeof(*p->coarse));
	return p->coarse ? 0 : -ENOMEM;
}

static uint64_t width_of(uint32_t bucket)
{
	return nd_hist_bucket_high(bucket) - nd_hist_bucket_low(bucket) + 1;
}

/* Behind the first pass: which buckets hold the wanted ranks. */
static int aim(struct picker *p)
{
	uint64_t before = 0;
	uint32_t b;
	unsigned i;

	for (b = 0; b < nd_hist_buckets(); b++) {
		uint64_t here = p->coarse[b];

		for (i = 0; i < p->n; i++) {
			uint64_t rank = p->want[i].rank;

			if (rank != ND_UNKNOWN && rank >= before && rank < before + here) {
				p->want[i].bucket = b;
				p->want[i].before = before;
			}
		}
		before += here;
	}
	for (i = 0; i < p->n; i++) {
		if (p->want[i].rank == ND_UNKNOWN)
			continue;
		p->fine[i] = calloc((size_t)width_of(p->want[i].bucket), sizeof(uint64_t));
		if (!p->fine[i])
			return -ENOMEM;
	}
	return 0;
}

static void count_fine(struct picker *p, uint64_t ns)
{
	uint32_t b = nd_hist_bucket(ns);

	for (unsigned i = 0; i < p->n; i++)
		if (p->fine[i] && p->want[i].bucket == b)
			p->fine[i][ns - nd_hist_bucket_low(b)]++;
}

static uint64_t value_of(const struct picker *p, unsigned i)
{
	const struct picked *w = &p->want[i];
	uint64_t seen = w->before, at;

	if (w->rank == ND_UNKNOWN)
		return ND_UNKNOWN;
	for (at = 0; at + 1 < width_of(w->bucket); at++) {
		seen += p->fine[i][at];
		if (seen > w->rank)
			break;
	}
	return nd_hist_bucket_low(w->bucket) + at;
}

static uint64_t clipped(uint64_t ns)
{
	return ND_MIN(ND_MAX(ns, 1), ND_HIST_MAX_NS - 1);
}

/* ---- passes */

struct passes {
	struct nd_samples *const *logs;
	size_t n;
	const struct nd_exact_cut *cut;
	struct nd_exact *ret;
	struct picker values, apart;
	double sum, squares, away;
	uint64_t median;
};

static uint64_t round_trip(const struct nd_sample *at)
{
	return clipped(at->rx_ns - at->tx_ns);
}

static uint64_t apart_of(const struct passes *p, const struct nd_sample *at)
{
	uint64_t ns = round_trip(at);

	return clipped(ns > p->median ? ns - p->median : p->median - ns);
}

static void pass_values(void *user, const struct nd_sample *at)
{
	struct passes *p = user;
	uint64_t ns = round_trip(at);

	p->sum += (double)ns;
	p->ret->min_ns = ND_MIN(p->ret->min_ns, ns);
	p->ret->max_ns = ND_MAX(p->ret->max_ns, ns);
	p->values.coarse[nd_hist_bucket(ns)]++;
}

static void pass_fine(void *user, const struct nd_sample *at)
{
	struct passes *p = user;
	uint64_t ns = round_trip(at);
	double d = (double)ns - p->ret->mean_ns;

	p->squares += d * d;
	p->away += fabs(d);
	count_fine(&p->values, ns);
}

static void pass_apart(void *user, const struct nd_sample *at)
{
	struct passes *p = user;

	p->apart.coarse[nd_hist_bucket(apart_of(p, at))]++;
}

static void pass_apart_fine(void *user, const struct nd_sample *at)
{
	struct passes *p = user;

	count_fine(&p->apart, apart_of(p, at));
}

static int pass(struct passes *p, void (*visit)(void *user, const struct nd_sample *at))
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n; i++)
		r = nd_exact_walk(p->logs[i], p->cut, visit, p, NULL);
	return r;
}

static uint64_t rank_of(double quantile, uint64_t n)
{
	double k = nd_real_floor(0.5 + quantile * (double)n) - 1;

	return k < 0 ? ND_UNKNOWN : (uint64_t)k;
}

static void add_span(struct nd_exact_span *sum, const struct nd_exact_span *v, bool is_first)
{
	if (is_first) {
		*sum = *v;
		return;
	}
	sum->n += v->n;
	sum->dropped += v->dropped;
	sum->out_of_order += v->out_of_order;
	sum->last += v->last >= v->first && !v->is_empty ? v->last - v->first + 1 : 0;
	sum->begin_ns = ND_MIN(sum->begin_ns, v->begin_ns);
	sum->end_ns = ND_MAX(sum->end_ns, v->end_ns);
	sum->is_empty &= v->is_empty;
}

static int first_pass(struct passes *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n; i++) {
		struct nd_exact_span span;

		r = nd_exact_walk(p->logs[i], p->cut, pass_values, p, &span);
		add_span(&p->ret->span, &span, i == 0);
	}
	return r;
}

static int look(struct passes *p)
{
	uint64_t n = p->ret->span.n;
	int r;

	p->ret->mean_ns = p->sum / (double)n;
	p->values.n = ND_EXACT_QUANTILES;
	for (unsigned i = 0; i < ND_EXACT_QUANTILES; i++)
		p->values.want[i].rank = rank_of(nd_exact_quantiles[i], n);
	p->values.want[ND_EXACT_QUANTILES - 1].rank = (n - 1) / 2;
	r = aim(&p->values);
	if (r == 0)
		r = pass(p, pass_fine);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < ND_EXACT_QUANTILES; i++)
		p->ret->at_ns[i] = value_of(&p->values, i);
	p->median = p->ret->at_ns[ND_EXACT_QUANTILES - 1];
	r = pass(p, pass_apart);
	p->apart.n = 1;
	p->apart.want[0].rank = (n - 1) / 2;
	if (r == 0)
		r = aim(&p->apart);
	return r == 0 ? pass(p, pass_apart_fine) : r;
}

static void conclude(struct passes *p)
{
	struct nd_exact *e = p->ret;
	double n = (double)e->span.n;

	e->stddev_ns = e->span.n > 1 ? sqrt(p->squares / (n - 1)) : 0;
	e->mean_ad_ns = p->away / n;
	e->median_ad_ns = (double)value_of(&p->apart, 0);
	if (e->median_ad_ns <= 1)
		e->median_ad_ns = 0; /* none is 0 in a bucket */
	e->median_ad_ns *= NORMAL_RATIO;
	if (e->at_ns[P25] != ND_UNKNOWN)
		e->siqr_ns = ((double)e->at_ns[P75] - (double)e->at_ns[P25]) / 2;
	e->error_ns = e->stddev_ns / sqrt(n);
}

int nd_exact_of(struct nd_samples *const *logs, size_t n, const struct nd_exact_cut *cut,
		struct nd_exact *ret)
{
	struct passes p = { .logs = logs, .n = n, .cut = cut, .ret = ret };
	int r;

	*ret = (struct nd_exact){ .min_ns = UINT64_MAX };
	for (unsigned i = 0; i < ND_EXACT_QUANTILES; i++)
		ret->at_ns[i] = ND_UNKNOWN;
	ret->span.is_empty = true;
	r = init_picker(&p.values);
	if (r == 0)
		r = init_picker(&p.apart);
	if (r == 0)
		r = first_pass(&p);
	if (r == 0 && ret->span.n > 0) {
		r = look(&p);
		if (r == 0)
			conclude(&p);
	}
	done_picker(&p.values);
	done_picker(&p.apart);
	return r;
}

/* Abramowitz and Stegun 26.2.23: within 4.5e-4. */
double nd_exact_normal(double level)
{
	double t = sqrt(-2 * nd_real_ln((1 - level) / 2));

	return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
			   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}
