/* SPDX-License-Identifier: MIT */
/*
 * The server's groups: clients that wait for each other, begin at one instant of the server's clock, and hear in
 * the end what all of them reached. Each is a test of its own; a group holds no more than its members' rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/num.h"
#include "base/time.h"
#include "session/int.h"

#define AHEAD_MIN_NS (50 * ND_NS_PER_MS) /* from the decision to the start */
#define AHEAD_NS     (20 * ND_NS_PER_MS) /* the same, beside four round trips */
#define RTT_MAX_NS   ND_NS_PER_S         /* a client that says more is not waited for */
#define STAY_NS      (10 * ND_NS_PER_S)  /* from the first result to the last one */
#define ULL(v)       ((unsigned long long)(v))

struct nd_member {
	struct nd_member *next;
	struct nd_gathering *group; /* borrowed */
	struct nd_served *served;   /* borrowed; NULL: gone */
	struct nd_timer *patience;  /* owned */
	uint64_t number;            /* from 1 on */
	uint64_t most;              /* that were there together while it was */
	uint64_t rtt_ns;
	bool is_ready, has_rows;
	const char *client, *address; /* in the group's arena, as all below */
	const char *left;             /* why it has no result */
	struct nd_group_member row[ND_MAX_WORKLOADS];
};

struct nd_gathering {
	struct nd_gathering *next;
	struct nd_server *server; /* borrowed */
	struct nd_arena arena;
	struct nd_group sum;
	uint64_t duration_ns, warmup_ns, cooldown_ns, workloads;
	const char *direction[ND_MAX_WORKLOADS];
	struct nd_member *members; /* owned, in their order */
	uint64_t member_n, attached;
	bool has_begun, is_summed;
	struct nd_timer *stay; /* owned */
};

/* ---- who may join ---- */

static const char *direction_of(const struct nd_workload *w)
{
	return w->active == ND_CLIENT ? "client to server" : "server to client";
}

static int refuse(const struct nd_gathering *g, const char *what, struct nd_err *err)
{
	return nd_fail(err, -EINVAL, "group '%s': the others have %s", g->sum.name, what);
}

static int compare_time(const struct nd_gathering *g, const char *option, uint64_t theirs,
			uint64_t asked, struct nd_err *err)
{
	char a[64], b[64];

	if (theirs == asked)
		return 0;
	return nd_fail(err, -EINVAL, "group '%s': the others have %s %s, this client %s",
		       g->sum.name, option, nd_format_unit(theirs, ND_UNIT_TIME_NS, a, sizeof(a)),
		       nd_format_unit(asked, ND_UNIT_TIME_NS, b, sizeof(b)));
}

static int compare(const struct nd_gathering *g, const struct nd_plan *p, struct nd_err *err)
{
	int r = compare_time(g, "-t", g->duration_ns, p->duration_ns, err);

	if (r == 0)
		r = compare_time(g, "--warmup", g->warmup_ns, p->warmup_ns, err);
	if (r == 0)
		r = compare_time(g, "--cooldown", g->cooldown_ns, p->cooldown_ns, err);
	if (r == 0 && g->sum.expected != p->group_expect)
		r = nd_fail(err, -EINVAL, "group '%s': the others have --expect %llu, not %llu",
			    g->sum.name, ULL(g->sum.expected), ULL(p->group_expect));
	if (r == 0 && g->workloads != p->workloads)
		r = refuse(g, "other directions (-R, --bidir)", err);
	for (uint64_t i = 0; r == 0 && i < g->workloads; i++) {
		if (strcmp(g->direction[i], direction_of(&p->workload[i])) != 0)
			r = refuse(g, "other directions (-R, --bidir)", err);
	}
	if (r == 0 && g->member_n >= g->sum.expected)
		r = nd_fail(err, -EBUSY, "group '%s' is full: its %llu clients are there",
			    g->sum.name, ULL(g->sum.expected));
	return r;
}

static struct nd_gathering *find(const struct nd_server *s, const char *name)
{
	struct nd_gathering *g = s->groups;

	while (g && (g->has_begun || strcmp(g->sum.name, name) != 0))
		g = g->next;
	return g;
}

bool nd_group_waits_for(const struct nd_server *s, const struct nd_plan *plan)
{
	return plan->group && find(s, plan->group);
}

/* ---- the results ---- */

static void copy_rows(const struct nd_gathering *g, uint64_t workload, struct nd_group_member **ret)
{
	for (const struct nd_member *m = g->members; m; m = m->next) {
		struct nd_group_member *row = (*ret)++;

		if (m->has_rows) {
			*row = m->row[workload];
		} else {
			nd_table_unknown(&nd_group_member_table, row);
			row->direction = g->direction[workload];
			row->error = m->left ? m->left : "its result did not come in time";
		}
		row->number = m->number;
		row->client = m->client;
		row->address = m->address;
	}
}

/* The first client that is missing is named, and how many are. */
static void judge(struct nd_gathering *g)
{
	const struct nd_group_member *row = g->sum.members.v;
	const struct nd_group_member *first = NULL;
	uint64_t missing = 0;

	for (uint64_t i = 0; i < g->member_n; i++) {
		bool is_whole = true;

		for (uint64_t k = 0; k < g->workloads; k++)
			is_whole = is_whole && row[k * g->member_n + i].complete;
		if (!is_whole && !first)
			first = &row[i];
		missing += !is_whole;
	}
	g->sum.complete = g->member_n - missing;
	g->sum.partial = missing > 0;
	if (!first)
		return;
	g->sum.partial_reason = nd_arena_printf(
		&g->arena, "group '%s': %llu of %llu clients ran to the end; client %llu (%s): %s",
		g->sum.name, ULL(g->sum.complete), ULL(g->sum.expected), ULL(first->number),
		first->client ? first->client : "?",
		first->error ? first->error : "is not complete");
}

static int sum_up(struct nd_gathering *g)
{
	struct nd_group_member *row;

	if (nd_list_new(&g->arena, &g->sum.members, g->member_n * g->workloads, sizeof(*row)) < 0)
		return -ENOMEM;
	row = g->sum.members.v;
	for (uint64_t i = 0; i < g->workloads; i++)
		copy_rows(g, i, &row);
	judge(g);
	return nd_group_sum(&g->sum, &g->arena);
}

static void log_sum(const struct nd_gathering *g)
{
	nd_auto_str line = { 0 };

	nd_served_group_line(&g->sum, &line);
	nd_log(ND_LOG_INFO, "%s", nd_str_text(&line));
}

static void tell(const struct nd_member *m)
{
	const struct nd_dialog_event ev = { .what = ND_DLG_GROUP, .group = &m->group->sum };

	if (!m->served || !m->has_rows)
		return;
	m->served->test.group = &m->group->sum;
	nd_test_feed(&m->served->test, &ev);
}

static void finish(struct nd_gathering *g)
{
	if (g->is_summed)
		return;
	g->is_summed = true;
	nd_timer_set(g->stay, UINT64_MAX);
	if (sum_up(g) < 0) {
		nd_log(ND_LOG_WARN, "group '%s': no memory for the sum", g->sum.name);
		return; /* the clients say that it is missing */
	}
	log_sum(g);
	for (const struct nd_member *m = g->members; m; m = m->next)
		tell(m);
}

static void on_stay(void *user)
{
	finish(user);
}

static void finish_if_all(struct nd_gathering *g)
{
	for (const struct nd_member *m = g->members; m; m = m->next) {
		if (!m->has_rows && !m->left)
			return;
	}
	finish(g);
}

static int take_rows(struct nd_member *m, const struct nd_result *r)
{
	struct nd_arena *a = &m->group->arena;
	const struct nd_test *t = &m->served->test;
	const struct nd_direction *d = r->directions.v;
	const char *host = r->client ? r->client->host.hostname : NULL;
	int code = 0;

	if (r->directions.n != m->group->workloads)
		return -EINVAL;
	if (host)
		m->client = nd_arena_printf(a, "%.64s %s", host, m->address);
	for (uint64_t i = 0; code == 0 && i < r->directions.n; i++) {
		nd_group_take(r, &d[i], t->told_result ? &t->side : NULL, &m->row[i]);
		code = nd_outcome_copy(&nd_group_member_table, &m->row[i], a);
	}
	return code;
}

/* What the server knows of a member's test, now. */
static void measure(struct nd_member *m)
{
	struct nd_result r;
	struct nd_err err = { 0 };

	nd_result_init(&r);
	if (nd_outcome_result(&m->served->test, &r, &err) < 0 || take_rows(m, &r) < 0)
		m->left = "its result could not be joined";
	else
		m->has_rows = true;
	nd_result_done(&r);
}

void nd_group_measured(struct nd_served *c)
{
	struct nd_member *m = c->member;

	if (!m || m->has_rows)
		return;
	measure(m);
	if (m->group->is_summed) {
		m->left = "its result did not come in time";
		tell(m);
		return;
	}
	nd_timer_set(m->group->stay, nd_now_ns() + STAY_NS);
	finish_if_all(m->group);
}

/* ---- the start ---- */

static void begin(struct nd_gathering *g)
{
	struct nd_dialog_event ev = { .what = ND_DLG_GATHER };
	uint64_t rtt_ns = 0;

	g->has_begun = true;
	for (struct nd_member *m = g->members; m; m = m->next) {
		rtt_ns = ND_MAX(rtt_ns, ND_MIN(m->rtt_ns, RTT_MAX_NS));
		nd_timer_set(m->patience, UINT64_MAX);
	}
	g->sum.clocks_within_us = (double)rtt_ns / 2e3;
	ev.at_ns = nd_now_ns() + ND_MAX(AHEAD_MIN_NS, 4 * rtt_ns + AHEAD_NS);
	for (struct nd_member *m = g->members; m; m = m->next) {
		if (m->served)
			nd_test_feed(&m->served->test, &ev);
	}
}

static bool is_complete(const struct nd_gathering *g)
{
	for (const struct nd_member *m = g->members; m; m = m->next) {
		if (!m->is_ready)
			return false;
	}
	return g->member_n == g->sum.expected;
}

void nd_group_hold(struct nd_served *c, uint64_t rtt_ns)
{
	struct nd_member *m = c->member;

	if (!m || m->group->has_begun)
		return;
	m->is_ready = true;
	m->rtt_ns = rtt_ns;
	if (is_complete(m->group))
		begin(m->group);
	else
		nd_timer_set(m->patience, nd_now_ns() + c->plan.group_wait_ns);
}

static void on_impatient(void *user)
{
	struct nd_member *m = user;
	struct nd_dialog_event ev = { .what = ND_DLG_GATHER };
	struct nd_err err = { 0 };
	char text[32];

	if (!m->served || m->group->has_begun)
		return;
	(void)nd_fail(
		&err, -ETIMEDOUT, "group '%s': %llu of %llu clients came within %s",
		m->group->sum.name, ULL(m->most), ULL(m->group->sum.expected),
		nd_format_unit(m->served->plan.group_wait_ns, ND_UNIT_TIME_NS, text, sizeof(text)));
	ev.reason = err.text;
	nd_test_feed(&m->served->test, &ev);
}

/* ---- life ---- */

static struct nd_gathering *new_group(struct nd_server *s, const struct nd_plan *p)
{
	struct nd_gathering *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	nd_table_unknown(&nd_group_table, &g->sum);
	g->sum.name = nd_arena_dup(&g->arena, p->group);
	if (!g->sum.name || nd_timer_new(s->loop, on_stay, g, &g->stay) < 0) {
		nd_arena_done(&g->arena);
		free(g);
		return NULL;
	}
	g->server = s;
	g->sum.expected = p->group_expect;
	g->duration_ns = p->duration_ns;
	g->warmup_ns = p->warmup_ns;
	g->cooldown_ns = p->cooldown_ns;
	g->workloads = p->workloads;
	for (uint64_t i = 0; i < p->workloads; i++)
		g->direction[i] = direction_of(&p->workload[i]);
	g->next = s->groups;
	s->groups = g;
	return g;
}

static void free_group(struct nd_gathering *g)
{
	struct nd_gathering **at = &g->server->groups;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	while (g->members) {
		struct nd_member *m = g->members;

		g->members = m->next;
		nd_timer_free(m->patience);
		free(m);
	}
	nd_timer_free(g->stay);
	nd_arena_done(&g->arena);
	free(g);
}

static int add_member(struct nd_gathering *g, struct nd_served *c)
{
	struct nd_member *m = calloc(1, sizeof(*m)), **at = &g->members;
	char text[128];

	if (!m || nd_timer_new(g->server->loop, on_impatient, m, &m->patience) < 0) {
		free(m);
		return -ENOMEM;
	}
	while (*at)
		at = &(*at)->next;
	*at = m;
	m->group = g;
	m->served = c;
	m->number = ++g->member_n;
	for (struct nd_member *one = g->members; one; one = one->next)
		one->most = ND_MAX(one->most, g->member_n);
	m->address =
		nd_arena_dup(&g->arena, nd_addr_text(&c->test.peer, false, text, sizeof(text)));
	m->client = m->address;
	g->attached++;
	c->member = m;
	return 0;
}

int nd_group_join(struct nd_served *c, struct nd_err *err)
{
	struct nd_server *s = c->server;
	struct nd_gathering *g = find(s, c->plan.group);
	int r;

	if (s->plan->serve.max_tests && c->plan.group_expect > s->plan->serve.max_tests)
		return nd_fail(err, -EPERM,
			       "--expect: '%llu' is over the %llu tests that this server runs at "
			       "the same time",
			       ULL(c->plan.group_expect), ULL(s->plan->serve.max_tests));
	r = g ? compare(g, &c->plan, err) : 0;
	if (r < 0)
		return r;
	g = g ? g : new_group(s, &c->plan);
	r = g ? add_member(g, c) : -ENOMEM;
	if (r == 0)
		return 0;
	if (g && g->attached == 0)
		free_group(g);
	return nd_fail(err, r, "no memory for the group");
}

/* Before the start a place becomes free; others count from one on again. */
static void give_up_place(struct nd_member *m)
{
	struct nd_gathering *g = m->group;
	struct nd_member **at = &g->members;
	uint64_t number = 0;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	nd_timer_free(m->patience);
	free(m);
	g->member_n--;
	for (m = g->members; m; m = m->next)
		m->number = ++number;
}

void nd_group_over(struct nd_served *c)
{
	struct nd_member *m = c->member;
	struct nd_gathering *g = m ? m->group : NULL;

	if (!g)
		return;
	if (!g->has_begun) {
		c->member = NULL;
		give_up_place(m);
		if (--g->attached == 0)
			free_group(g);
		return;
	}
	if (m->has_rows || m->left)
		return;
	if (c->test.ending == ND_END_DONE || c->test.ending == ND_END_PARTIAL)
		measure(m);
	else
		m->left = nd_arena_dup(&g->arena, c->test.err.text);
	if (!m->has_rows && !m->left)
		m->left = "it has left";
	if (!g->is_summed)
		finish_if_all(g);
}

void nd_group_leave(struct nd_served *c)
{
	struct nd_member *m = c->member;

	if (!m)
		return;
	c->member = NULL;
	m->served = NULL;
	if (--m->group->attached == 0)
		free_group(m->group);
}

const char *nd_group_name(const struct nd_served *c)
{
	return c->member ? c->member->group->sum.name : NULL;
}

bool nd_group_is_alone(const struct nd_served *c)
{
	return c->member ? c->member->group->attached == 1 : !c->server->groups;
}

bool nd_group_is_same(const struct nd_served *a, const struct nd_served *b)
{
	return a->member && b->member && a->member->group == b->member->group;
}
