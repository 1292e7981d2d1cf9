/* SPDX-License-Identifier: MIT */
/* What is kept of all intervals: totals, extremes, and enough values for a percentile, in bounded memory. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "watch/int.h"

#define VALUES_MAX \
	16384u /* then every second one goes, and only every second is kept from then on */
#define FIRST 64u

const char *const nd_watch_stat_names[4] = { "average", "min", "max", "p95" };

static bool has_index(const struct nd_watch_view *v, uint64_t ifindex)
{
	size_t i;

	for (i = 0; i < v->rows; i++)
		if (v->row[i].nic->ifindex == ifindex)
			return true;
	return false;
}

/* One that was made anew has another index: it goes on under its name. */
static struct nd_watch_past *past_of(struct nd_watch_all *all, const struct nd_watch_view *v,
				     const struct nd_nic *n)
{
	struct nd_watch_past *p;
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->past[i].ifindex == n->ifindex &&
		    (n->ifindex != ND_UNKNOWN || !strcmp(all->past[i].name, n->name)))
			return &all->past[i];
	for (i = 0; i < all->n; i++)
		if (!strcmp(all->past[i].name, n->name) && !has_index(v, all->past[i].ifindex)) {
			all->past[i].ifindex = n->ifindex;
			return &all->past[i];
		}
	if (nd_grow(all->past, all->n) < 0)
		return NULL;
	p = &all->past[all->n++];
	*p = (struct nd_watch_past){ .ifindex = n->ifindex, .stride = 1 };
	for (i = 0; i < ND_WATCH_METRICS; i++) {
		p->least[i] = (double)INFINITY;
		p->most[i] = (double)-INFINITY;
	}
	return p;
}

static int keep(struct nd_watch_past *p, const double *v)
{
	size_t row = ND_WATCH_METRICS * sizeof(*v), i;
	bool full = p->n == 0 || (p->n >= FIRST && !(p->n & (p->n - 1)));
	double *more;

	if (p->skip++ % p->stride != 0)
		return 0;
	if (p->n == VALUES_MAX) {
		for (i = 0; i < VALUES_MAX / 2; i++)
			memcpy(p->value + i * ND_WATCH_METRICS, p->value + i * 2 * ND_WATCH_METRICS,
			       row);
		p->n = VALUES_MAX / 2;
		p->stride *= 2;
		full = false;
	}
	if (full) {
		more = realloc(p->value, ND_MAX(FIRST, p->n * 2) * row);
		if (!more)
			return -ENOMEM;
		p->value = more;
	}
	memcpy(p->value + p->n++ * ND_WATCH_METRICS, v, row);
	return 0;
}

static int count_in(struct nd_watch_past *p, const double *v, double seconds)
{
	size_t i;

	p->seconds += seconds;
	for (i = 0; i < ND_WATCH_METRICS; i++) {
		if (!isfinite(v[i]))
			continue;
		p->total[i] += v[i] * seconds;
		p->least[i] = ND_MIN(p->least[i], v[i]);
		p->most[i] = ND_MAX(p->most[i], v[i]);
	}
	return keep(p, v);
}

/* Idle intervals count only once something comes behind them. */
static int take(struct nd_watch_past *p, const struct nd_watch_view *v,
		const struct nd_watch_row *row)
{
	const struct nd_nic *n = row->nic;
	const double value[ND_WATCH_METRICS] = {
		[ND_WATCH_RX_PPS] = nd_watch_rate(v, n->rx_packets),
		[ND_WATCH_TX_PPS] = nd_watch_rate(v, n->tx_packets),
		[ND_WATCH_RX_BYTES] = nd_watch_rate(v, n->rx_bytes),
		[ND_WATCH_TX_BYTES] = nd_watch_rate(v, n->tx_bytes),
		[ND_WATCH_DROPS] = nd_watch_rate(v, row->drops),
		[ND_WATCH_ERRORS] = nd_watch_rate(v, row->errors),
		[ND_WATCH_UTIL] = row->util_percent,
	};
	double nothing[ND_WATCH_METRICS] = { 0 };
	int r = 0;

	p->spark[p->sparks++ % ND_COUNTOF(p->spark)] =
		value[ND_WATCH_RX_BYTES] + value[ND_WATCH_TX_BYTES];
	if (!n->rx_packets && !n->tx_packets && !row->drops && !row->errors) {
		p->idle += p->n > 0;
		p->idle_seconds += p->n > 0 ? v->seconds : 0;
		return 0;
	}
	nothing[ND_WATCH_UTIL] = isfinite(row->util_percent) ? 0.0 : (double)NAN;
	for (; r == 0 && p->idle > 0; p->idle--) {
		r = count_in(p, nothing, p->idle_seconds / (double)p->idle);
		p->idle_seconds -= p->idle_seconds / (double)p->idle;
	}
	return r < 0 ? r : count_in(p, value, v->seconds);
}

void nd_watch_sar_counts(const struct nd_nic *n, uint64_t ret[8])
{
	const uint64_t counts[8] = { n->rx_packets,    n->tx_packets,
				     n->rx_bytes,      n->tx_bytes,
				     n->rx_compressed, n->tx_compressed,
				     n->rx_multicast,  0 };

	memcpy(ret, counts, sizeof(counts));
}

int nd_watch_add(struct nd_watch_all *all, const struct nd_watch_view *v)
{
	uint64_t counts[8];
	size_t i, k;
	int r = 0;

	for (i = 0; r == 0 && i < v->rows; i++) {
		const struct nd_watch_row *row = &v->row[i];
		struct nd_watch_past *p;

		if (row->gone)
			continue;
		p = past_of(all, v, row->nic);
		if (!p)
			return -ENOMEM;
		memcpy(p->name, row->nic->name, sizeof(p->name));
		p->speed_mbps = row->speed_mbps;
		if (!row->known)
			continue;
		nd_watch_sar_counts(row->nic, counts);
		p->all_seconds += v->seconds;
		for (k = 0; k < ND_COUNTOF(p->all); k++)
			p->all[k] += counts[k] == ND_UNKNOWN ? 0 : (double)counts[k];
		r = take(p, v, row);
	}
	return r;
}

void nd_watch_all_done(struct nd_watch_all *all)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		free(all->past[i].value);
	free(all->past);
	*all = (struct nd_watch_all){ 0 };
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The nearest rank of what was kept. */
static double percentile_95(const struct nd_watch_past *p, size_t metric)
{
	double *v = malloc(p->n * sizeof(*v)), ret;
	size_t i, n = 0;

	if (!v)
		return (double)NAN;
	for (i = 0; i < p->n; i++)
		if (isfinite(p->value[i * ND_WATCH_METRICS + metric]))
			v[n++] = p->value[i * ND_WATCH_METRICS + metric];
	qsort(v, n, sizeof(*v), ascending);
	ret = n ? v[(n * 95 + 99) / 100 - 1] : (double)NAN;
	free(v);
	return ret;
}

bool nd_watch_values(const struct nd_watch_past *p, double ret[4][ND_WATCH_METRICS])
{
	size_t i;

	if (!p->n || p->seconds <= 0)
		return false;
	for (i = 0; i < ND_WATCH_METRICS; i++) {
		bool known = isfinite(p->least[i]);

		ret[0][i] = known ? p->total[i] / p->seconds : (double)NAN;
		ret[1][i] = known ? p->least[i] : (double)NAN;
		ret[2][i] = known ? p->most[i] : (double)NAN;
		ret[3][i] = known ? percentile_95(p, i) : (double)NAN;
	}
	return true;
}
