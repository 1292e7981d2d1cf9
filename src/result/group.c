/* SPDX-License-Identifier: MIT */
/* Several clients that began together at one server: a row for each, and what they reached in all. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "result/int.h"

#define G struct nd_group
#define M struct nd_group_member
#define T struct nd_group_total

#define COLUMN ND_SHOW_COLUMN

/* clang-format off */
#define RATES(S, WHOSE)                                                                            \
	ND_F64(S, goodput_bps, ND_M_BITRATE, COLUMN, "goodput",                                    \
	       "Payload received per second of " WHOSE " measured window, by the receiver."),      \
	ND_F64(S, messages_per_s, ND_M_RATE, COLUMN, "datagrams",                                  \
	       "Datagrams read per second of it."),                                                \
	ND_F64(S, transactions_per_s, ND_M_RATE, COLUMN, "transactions",                           \
	       "Answers that came back to the asking end per second of it."),                      \
	ND_F64(S, offered_bps, ND_M_BITRATE, COLUMN, "offered",                                    \
	       "Payload that the sender's socket took per second of its own window."),             \
	ND_U64(S, received_bytes, ND_M_BYTES, 0, "received",                                       \
	       "Payload received in " WHOSE " measured window."),                                  \
	ND_U64(S, offered, ND_M_COUNT, 0, "offered",                                               \
	       "Datagrams given to sockets in the whole run."),                                    \
	ND_U64(S, lost, ND_M_COUNT, COLUMN, "lost",                                                \
	       "Datagrams lost or refused in the whole run."),                                     \
	ND_F64(S, lost_ratio, ND_M_RATIO, COLUMN, "lost", "Of those offered.")

static const struct nd_field member_rows[] = {
	ND_U64(M, number, ND_M_NONE, COLUMN, "client", "In the order in which the clients came; the first is 1."),
	ND_STR(M, address, 0, NULL, "Its address, as the server sees it."),
	ND_STR(M, direction, 0, NULL, "The direction in words."),
	ND_BOOL(M, complete, 0, NULL, "It ran to its end and is part of the total."),
	ND_U64(M, flows, ND_M_COUNT, COLUMN, "flows", "Its flows."),
	RATES(M, "its own"),
	ND_F64(M, share_ratio, ND_M_RATIO, COLUMN, "share", "Its share of the group's goodput, or of its transactions."),
	ND_F64(M, first_ms, ND_M_MS, COLUMN, "began at",
	       "First payload of its first flow after the agreed start, by the server's clock: sent by the server, or "
	       "received by it."),
	ND_F64(M, last_ms, ND_M_MS, 0, NULL, "The same of the flow that began last."),
	ND_F64(M, window_start_s, ND_M_S, 0, NULL, "Begin of its measured window after the agreed start."),
	ND_F64(M, window_end_s, ND_M_S, 0, NULL, "End of its measured window after the agreed start."),
	ND_STR(M, client, COLUMN, "from", "Its host and address."),
	ND_STR(M, error, 0, NULL, "Why it is not part of the total."),
	ND_ROWS_END
};

static const struct nd_field total_rows[] = {
	ND_STR(T, direction, 0, NULL, "The direction in words."),
	ND_U64(T, members, ND_M_COUNT, COLUMN, "clients", "Clients that it is the total of."),
	ND_U64(T, flows, ND_M_COUNT, COLUMN, "flows", "Their flows."),
	RATES(T, "each client's own"),
	ND_F64(T, window_start_s, ND_M_S, 0, NULL,
	       "From where on all of them were inside their measured windows, after the agreed start."),
	ND_F64(T, window_s, ND_M_S, COLUMN, "common window", "How long all of them were."),
	ND_F64(T, overlap_ratio, ND_M_RATIO, COLUMN, "overlap",
	       "That time, of the time from the first window's begin to the last one's end. The total is one of clients "
	       "that sent at the same time as far as this is 1."),
	ND_F64(T, start_skew_ms, ND_M_MS, COLUMN, "start skew",
	       "Between the first payload of the flow that began first and that of the one that began last, over the "
	       "flows of all of them, by the server's clock."),
	ND_ROWS_END
};

static const struct nd_field group_rows[] = {
	ND_STR(G, name, 0, NULL, "Its name."),
	ND_U64(G, expected, ND_M_COUNT, 0, NULL, "Clients that it had to have."),
	ND_U64(G, complete, ND_M_COUNT, 0, NULL, "Clients that ran to their end."),
	ND_F64(G, clocks_within_us, ND_M_US, 0, NULL,
	       "Half of the largest round trip between a client and the server before the start: how far a client's own "
	       "start may be from the agreed one."),
	ND_BOOL(G, partial, 0, NULL, "A client is missing in the total."),
	ND_STR(G, partial_reason, 0, NULL, "Which one, and why."),
	ND_LIST(G, totals, 0, NULL, "What they reached together, one per direction.", &nd_group_total_table),
	ND_LIST(G, members, 0, NULL, "Each client's part, by direction.", &nd_group_member_table),
	ND_ROWS_END
};

/* clang-format on */

const struct nd_table nd_group_member_table = {
	.name = "member", .size = sizeof(M), .rows = member_rows, .columns = true
};
const struct nd_table nd_group_total_table = { .name = "total",
					       .size = sizeof(T),
					       .rows = total_rows };
const struct nd_table nd_group_table = { .name = "group", .size = sizeof(G), .rows = group_rows };

/* ---- a member ---- */

static double seconds_of(uint64_t ns)
{
	return nd_known(ns) ? (double)ns / (double)ND_NS_PER_S : (double)NAN;
}

static double ratio_of(uint64_t part, uint64_t whole)
{
	if (!nd_known(part) || !nd_known(whole) || whole == 0)
		return (double)NAN;
	return (double)part / (double)whole;
}

/* When the flows began, of the server's rows: one clock for all clients. */
static void take_begins(const struct nd_part *server, M *ret)
{
	const struct nd_flow_row *row = server ? server->flows.v : NULL;

	for (uint64_t i = 0; row && i < server->flows.n; i++) {
		double ms = (double)row[i].first_ns / (double)ND_NS_PER_MS;

		if (row[i].first_ns == INT64_MIN)
			continue;
		ret->first_ms = nd_real_min(ret->first_ms, ms);
		ret->last_ms = nd_real_max(ret->last_ms, ms);
	}
}

void nd_group_take(const struct nd_result *r, const struct nd_direction *d,
		   const struct nd_side *server, M *ret)
{
	const struct nd_part *rx = nd_result_part(nd_result_receiver(r, d), d->workload);
	const struct nd_part *tx = nd_result_part(nd_result_sender(r, d), d->workload);
	const struct nd_part *counts = d->transactional ? tx : rx;

	nd_table_unknown(&nd_group_member_table, ret);
	ret->direction = d->label;
	ret->flows = d->flows;
	ret->complete = !r->partial && counts;
	ret->error = r->partial_reason;
	ret->goodput_bps = d->goodput_bps;
	ret->offered_bps = d->offered_bps;
	ret->transactions_per_s = d->transactions_per_s;
	ret->received_bytes = d->received_bytes;
	if (d->datagram && !d->transactional) {
		ret->messages_per_s = d->messages_per_s;
		ret->offered = d->loss.offered;
		ret->lost = nd_plus(d->loss.lost, d->loss.refused);
		ret->lost_ratio = ratio_of(ret->lost, ret->offered);
	}
	if (counts && nd_known(counts->window.start_ns) && nd_known(counts->window.end_ns)) {
		ret->window_start_s = seconds_of(counts->window.start_ns);
		ret->window_end_s = seconds_of(counts->window.end_ns);
	}
	take_begins(nd_result_part(server, d->workload), ret);
}

/* ---- all of them ---- */

/* Unknown and a number make the number: what no member has stays unknown. */
static double plus(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

static uint64_t plus_count(uint64_t a, uint64_t b)
{
	return !nd_known(a) ? b : !nd_known(b) ? a : nd_plus(a, b);
}

struct edges {
	double first_start, last_start, first_end, last_end, first_ms, last_ms;
};

static void add(T *t, struct edges *e, const M *m)
{
	t->members++;
	t->flows = plus_count(t->flows, m->flows);
	t->goodput_bps = plus(t->goodput_bps, m->goodput_bps);
	t->offered_bps = plus(t->offered_bps, m->offered_bps);
	t->messages_per_s = plus(t->messages_per_s, m->messages_per_s);
	t->transactions_per_s = plus(t->transactions_per_s, m->transactions_per_s);
	t->received_bytes = plus_count(t->received_bytes, m->received_bytes);
	t->offered = plus_count(t->offered, m->offered);
	t->lost = plus_count(t->lost, m->lost);
	e->first_start = nd_real_min(e->first_start, m->window_start_s);
	e->last_start = nd_real_max(e->last_start, m->window_start_s);
	e->first_end = nd_real_min(e->first_end, m->window_end_s);
	e->last_end = nd_real_max(e->last_end, m->window_end_s);
	e->first_ms = nd_real_min(e->first_ms, m->first_ms);
	e->last_ms = nd_real_max(e->last_ms, m->last_ms);
}

static void sum(const M *m, uint64_t n, T *t)
{
	struct edges e = { (double)NAN, (double)NAN, (double)NAN,
			   (double)NAN, (double)NAN, (double)NAN };

	nd_table_unknown(&nd_group_total_table, t);
	t->direction = m->direction;
	t->members = 0;
	for (uint64_t i = 0; i < n; i++) {
		if (m[i].complete)
			add(t, &e, &m[i]);
	}
	t->lost_ratio = ratio_of(t->lost, t->offered);
	t->start_skew_ms = e.last_ms - e.first_ms;
	if (!(e.last_end > e.first_start))
		return;
	t->window_start_s = e.last_start;
	t->window_s = nd_real_max(e.first_end - e.last_start, 0);
	t->overlap_ratio = t->window_s / (e.last_end - e.first_start);
}

static void share_out(const T *t, M *m, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		if (m[i].complete && t->transactions_per_s > 0)
			m[i].share_ratio = m[i].transactions_per_s / t->transactions_per_s;
		else if (m[i].complete && t->goodput_bps > 0)
			m[i].share_ratio = m[i].goodput_bps / t->goodput_bps;
	}
}

/* Rows of the same direction from @at on. */
static uint64_t stretch(const struct nd_list *members, uint64_t at)
{
	const M *m = members->v;
	uint64_t n = 1;

	while (at + n < members->n && !strcmp(m[at + n].direction, m[at].direction))
		n++;
	return n;
}

int nd_group_sum(G *g, struct nd_arena *a)
{
	M *m = g->members.v;
	uint64_t at, n, directions = 0;
	T *t;

	for (at = 0; at < g->members.n; at += stretch(&g->members, at))
		directions++;
	if (nd_list_new(a, &g->totals, directions, sizeof(*t)) < 0)
		return -ENOMEM;
	t = g->totals.v;
	for (at = 0; at < g->members.n; at += n) {
		n = stretch(&g->members, at);
		sum(m + at, n, t);
		share_out(t++, m + at, n);
	}
	return 0;
}
