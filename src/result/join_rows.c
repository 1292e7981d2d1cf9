/* SPDX-License-Identifier: MIT */
/* Joining what both ends measured, row by row: intervals by index, flows by number. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "result/int.h"
#include "stat/summary.h"

/* Rows of one end in the order of their number. */
struct column {
	const void **v; /* owned: column_done() */
	uint64_t n;
};

/* Every kind of row that is joined starts with its number. */
_Static_assert(offsetof(struct nd_interval_sample, index) == 0, "rows are sorted by their number");
_Static_assert(offsetof(struct nd_flow_row, flow) == 0, "rows are sorted by their number");

static void column_done(struct column *c)
{
	nd_free_p(&c->v);
}

static uint64_t number_of(const void *row)
{
	return *(const uint64_t *)row;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = number_of(*(const void *const *)a), y = number_of(*(const void *const *)b);

	return (x > y) - (x < y);
}

/* Peers send rows in any order, and may repeat one: the first counts. */
static int column_of(const struct nd_list *list, size_t size, struct column *ret)
{
	const char *row = list->v;
	uint64_t i, n = 0;

	if (list->n == 0)
		return 0;
	ret->v = calloc(list->n, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	for (i = 0; i < list->n; i++)
		ret->v[i] = row + i * size;
	qsort(ret->v, list->n, sizeof(*ret->v), by_number);
	for (i = 0; i < list->n; i++)
		if (n == 0 || number_of(ret->v[n - 1]) != number_of(ret->v[i]))
			ret->v[n++] = ret->v[i];
	ret->n = n;
	return 0;
}

/* The rows of both columns with the next number; NULL where one end has none. False at the end. */
static bool next_pair(struct column *a, struct column *b, const void **ret_a, const void **ret_b)
{
	uint64_t x = a->n ? number_of(a->v[0]) : 0, y = b->n ? number_of(b->v[0]) : 0;

	*ret_a = a->n && (!b->n || x <= y) ? a->v[0] : NULL;
	*ret_b = b->n && (!a->n || y <= x) ? b->v[0] : NULL;
	if (*ret_a) {
		a->v++;
		a->n--;
	}
	if (*ret_b) {
		b->v++;
		b->n--;
	}
	return *ret_a || *ret_b;
}

static uint64_t count_pairs(struct column a, struct column b)
{
	const void *x, *y;
	uint64_t n = 0;

	while (next_pair(&a, &b, &x, &y))
		n++;
	return n;
}

static void place_interval(const struct nd_interval_sample *s, struct nd_interval_joint *ret)
{
	ret->start_s = s->start_s;
	ret->end_s = s->end_s;
	ret->phase = s->phase ? s->phase : ret->phase;
}

/* Of the two clocks the receiver's counts, as its bytes do. */
static void join_interval(const struct nd_direction *d, const struct nd_interval_sample *tx,
			  const struct nd_interval_sample *rx, struct nd_interval_joint *ret)
{
	nd_table_unknown(&nd_interval_joint_table, ret);
	if (tx)
		place_interval(tx, ret);
	if (rx) {
		place_interval(rx, ret);
		ret->goodput_bps = rx->rx_bps;
		ret->received_bytes = rx->rx_bytes;
	}
	if (tx) {
		ret->offered_bps = tx->tx_bps;
		ret->sent_bytes = tx->tx_bytes;
		ret->retransmits = tx->tcp_retransmits;
	}
	if (rx && (d->datagram || d->transactional))
		ret->received_messages = rx->rx_messages;
	if (tx && (d->datagram || d->transactional))
		ret->sent_messages = tx->tx_messages;
	if (rx && d->datagram && !d->transactional)
		ret->lost_messages = rx->rx_lost;
	if (tx && d->transactional)
		ret->transactions = tx->transactions;
	if (tx && d->transactional && nd_known(tx->rtt_count) && tx->rtt_count > 0) {
		ret->rtt_count = tx->rtt_count;
		ret->rtt_p50_us = tx->rtt_p50_us;
		ret->rtt_p99_us = tx->rtt_p99_us;
		ret->rtt_max_us = tx->rtt_max_us;
	}
}

int nd_join_intervals(const struct nd_join *j)
{
	static const struct nd_list none;
	const struct nd_list *heard = j->tx || j->rx ? j->heard : &none;
	const struct nd_list *tx = j->tx ? &j->tx->intervals : heard,
			     *rx = j->rx ? &j->rx->intervals : heard;
	ND_CLEANUP(column_done) struct column sent = { 0 };
	ND_CLEANUP(column_done) struct column received = { 0 };
	struct column a, b;
	struct nd_interval_joint *row;
	const void *x, *y;
	int r;

	r = column_of(tx, sizeof(struct nd_interval_sample), &sent);
	if (r == 0)
		r = column_of(rx, sizeof(struct nd_interval_sample), &received);
	a = sent;
	b = received;
	if (r == 0)
		r = nd_list_new(&j->r->arena, &j->d->intervals, count_pairs(a, b), sizeof(*row));
	if (r < 0)
		return r;
	row = j->d->intervals.v;
	while (next_pair(&a, &b, &x, &y))
		join_interval(j->d, x, y, row++);
	return 0;
}

static double rate_of(uint64_t bytes, double seconds)
{
	return nd_known(bytes) && seconds > 0 ? (double)bytes * 8 / seconds : (double)NAN;
}

static void join_flow_sent(const struct nd_direction *d, const struct nd_part *part,
			   const struct nd_flow_row *tx, struct nd_flow_joint *ret)
{
	ret->flow = tx->flow;
	ret->offered_bps = rate_of(tx->window_tx_bytes, part->window.seconds);
	ret->sent_bytes = tx->tx_bytes;
	ret->sends = tx->tx_messages;
	if (d->datagram || d->transactional)
		ret->sent_messages = tx->tx_messages;
	ret->retransmits = tx->retransmits;
	ret->rtt_us = tx->rtt_us;
	ret->cwnd_segments = tx->cwnd_segments;
	ret->error = tx->error;
}

static void join_flow_received(const struct nd_direction *d, const struct nd_part *part,
			       const struct nd_flow_row *rx, struct nd_flow_joint *ret)
{
	ret->flow = rx->flow;
	ret->goodput_bps = rate_of(rx->window_rx_bytes, part->window.seconds);
	ret->received_bytes = rx->rx_bytes;
	ret->reads = rx->rx_messages;
	ret->group = rx->group;
	if (d->datagram && !d->transactional) {
		ret->received_messages = nd_distinct(rx->rx_unique, rx->rx_messages);
		ret->duplicate_messages = rx->rx_duplicate;
		ret->reordered_messages = rx->rx_reordered;
		ret->dropped_messages = rx->rx_dropped;
		ret->jitter_us = rx->jitter_us;
	} else if (d->transactional) {
		ret->received_messages = rx->rx_messages;
	}
	if (!ret->error)
		ret->error = rx->error;
}

/* A connection goes to whoever takes it first: the server's flow of a number is not the client's. */
static bool is_pair(const struct nd_direction *d)
{
	return d->flows <= 1 || !d->load ||
	       (strcmp(d->load, "crr") != 0 && strcmp(d->load, "cc") != 0);
}

/* The rows of both ends may go when they are joined: what is said of a flow is copied. */
static int join_flow(const struct nd_join *j, const struct nd_flow_row *tx,
		     const struct nd_flow_row *rx, struct nd_flow_joint *ret)
{
	nd_table_unknown(&nd_flow_joint_table, ret);
	if (tx && j->tx)
		join_flow_sent(j->d, j->tx, tx, ret);
	if (rx && j->rx && is_pair(j->d))
		join_flow_received(j->d, j->rx, rx, ret);
	else if (rx && rx->error && !ret->error)
		ret->error = rx->error;
	if (j->d->datagram && !j->d->transactional)
		ret->lost_messages = nd_minus(ret->sent_messages, ret->received_messages);
	if (!ret->error)
		return 0;
	ret->error = nd_arena_dup(&j->r->arena, ret->error);
	return ret->error ? 0 : -ENOMEM;
}

static int join_spread(struct nd_direction *d)
{
	const struct nd_flow_joint *row = d->flow_rows.v;
	nd_auto_free double *v = NULL;
	struct nd_spread s;
	uint64_t i, n = d->flow_rows.n;

	d->failed_flows = 0;
	for (i = 0; i < n; i++)
		d->failed_flows += row[i].error != NULL;
	if (n < 2)
		return 0;
	v = calloc(n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		v[i] = row[i].goodput_bps;
	nd_spread_of(v, n, &s);
	d->spread = (struct nd_spread_rows){ s.min, s.median, s.max, s.jain };
	return 0;
}

/* Of the end that begins, by its one clock: when each flow's first payload left, after the earliest. */
static int join_skew(struct nd_direction *d, const struct nd_list *flows)
{
	const struct nd_flow_row *row = flows->v;
	nd_auto_free double *v = NULL;
	struct nd_spread s;
	uint64_t i, n = 0;

	if (flows->n < 2)
		return 0;
	v = calloc(flows->n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (i = 0; i < flows->n; i++)
		if (row[i].first_ns != INT64_MIN)
			v[n++] = (double)row[i].first_ns / (double)ND_NS_PER_MS;
	nd_spread_of(v, n, &s);
	if (n < 2)
		return 0;
	d->start_skew_ms = s.max - s.min;
	d->start_skew_p50_ms = s.median - s.min;
	return 0;
}

int nd_join_flows(const struct nd_join *j)
{
	static const struct nd_list none;
	const struct nd_list *tx = j->tx ? &j->tx->flows : &none,
			     *rx = j->rx ? &j->rx->flows : &none;
	ND_CLEANUP(column_done) struct column sent = { 0 };
	ND_CLEANUP(column_done) struct column received = { 0 };
	struct column a, b;
	struct nd_flow_joint *row;
	const void *x, *y;
	int r;

	r = column_of(tx, sizeof(struct nd_flow_row), &sent);
	if (r == 0)
		r = column_of(rx, sizeof(struct nd_flow_row), &received);
	a = sent;
	b = received;
	if (r == 0)
		r = nd_list_new(&j->r->arena, &j->d->flow_rows, count_pairs(a, b), sizeof(*row));
	if (r < 0)
		return r;
	row = j->d->flow_rows.v;
	while (r == 0 && next_pair(&a, &b, &x, &y))
		r = join_flow(j, x, y, row++);
	if (r < 0 || j->d->flow_rows.n == 0)
		return r;
	r = join_spread(j->d);
	return r < 0 ? r : join_skew(j->d, tx);
}
