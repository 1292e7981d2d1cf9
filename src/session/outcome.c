/* SPDX-License-Identifier: MIT */
/* What a test gives: this end's side, and both sides joined into a result. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/time.h"
#include "session/int.h"

/* ---- this host ---- */

void nd_here_read(struct nd_here *here)
{
	uint32_t cpus[1024];

	*here = (struct nd_here){ 0 };
	nd_table_unknown(&nd_host_table, &here->host);
	/* What cannot be read stays unknown: a test needs none of it. */
	if (nd_os_open("", &here->os, NULL) < 0)
		here->os = NULL;
	else if (nd_os_host(here->os, &here->arena, &here->host) < 0)
		nd_table_unknown(&nd_host_table, &here->host);
	if (here->host.cpus_allowed == ND_UNKNOWN || here->host.cpus_allowed == 0) {
		int n = nd_os_allowed_cpus(cpus, ND_COUNTOF(cpus));

		here->host.cpus_allowed = n > 0 ? (uint64_t)n : 1;
	}
}

void nd_here_done(struct nd_here *here)
{
	nd_os_free(here->os);
	nd_arena_done(&here->arena);
	*here = (struct nd_here){ 0 };
}

/* ---- copies ---- */

static int copy_strings(struct nd_strv *list, struct nd_arena *a)
{
	struct nd_strv old = *list;

	*list = (struct nd_strv){ 0 };
	for (uint64_t i = 0; i < old.n; i++) {
		int r = nd_strv_add(a, list, old.v[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int copy_list(const struct nd_table *table, struct nd_list *list, struct nd_arena *a)
{
	struct nd_list old = *list;
	int r = nd_list_new(a, list, old.n, table->size);

	if (r < 0 || old.n == 0)
		return r;
	memcpy(list->v, old.v, old.n * table->size);
	for (uint64_t i = 0; r == 0 && i < list->n; i++)
		r = nd_outcome_copy(table, (char *)list->v + i * table->size, a);
	return r;
}

static int copy_member(const struct nd_field *f, void *at, struct nd_arena *a)
{
	if (f->type == ND_T_STR) {
		const char **text = at;
		bool had = *text != NULL;

		*text = nd_arena_dup(a, *text);
		return had && !*text ? -ENOMEM : 0;
	}
	if (f->type == ND_T_STRV)
		return copy_strings(at, a);
	if (f->type == ND_T_LIST)
		return copy_list(f->table, at, a);
	if (f->type == ND_T_GROUP)
		return nd_outcome_copy(f->table, at, a);
	if (f->type == ND_T_OPT && *(void **)at) {
		void *copy = nd_arena_alloc(a, 1, f->table->size);

		if (!copy)
			return -ENOMEM;
		memcpy(copy, *(void **)at, f->table->size);
		*(void **)at = copy;
		return nd_outcome_copy(f->table, copy, a);
	}
	return 0;
}

/* @base is a plain copy already; what it points to is copied here. */
int nd_outcome_copy(const struct nd_table *table, void *base, struct nd_arena *a)
{
	nd_row_for_each(f, table) {
		int r = copy_member(f, nd_field_in(base, f), a);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Rows per flow stay where they are: ten thousands of them are joined once and then of no more use. */
static int copy_parts(const struct nd_list *from, struct nd_arena *a, struct nd_list *ret)
{
	const struct nd_part *old = from->v;
	int r = nd_list_new(a, ret, from->n, sizeof(*old));
	struct nd_part *part = ret->v;

	for (uint64_t i = 0; r == 0 && i < from->n; i++) {
		part[i] = old[i];
		part[i].flows = (struct nd_list){ 0 };
		r = nd_outcome_copy(&nd_part_table, &part[i], a);
		part[i].flows = old[i].flows;
	}
	return r;
}

static void drop_flows(struct nd_side *side)
{
	struct nd_part *part = side ? side->parts.v : NULL;

	for (uint64_t i = 0; part && i < side->parts.n; i++)
		part[i].flows = (struct nd_list){ 0 };
}

/* All of it; the rows per flow only when @with_flows, else they are borrowed: drop_flows(). */
static int copy_side(const struct nd_side *from, bool with_flows, struct nd_arena *a,
		     struct nd_side **ret)
{
	struct nd_side *side = nd_arena_alloc(a, 1, sizeof(*side));
	int r;

	if (!side)
		return -ENOMEM;
	*side = *from;
	if (!with_flows)
		side->parts = (struct nd_list){ 0 };
	r = nd_outcome_copy(&nd_side_table, side, a);
	if (r == 0 && !with_flows)
		r = copy_parts(&from->parts, a, &side->parts);
	if (r == 0)
		*ret = side;
	return r;
}

/* ---- this end ---- */

int nd_outcome_side(struct nd_test *t, struct nd_err *err)
{
	struct nd_side *side = &t->side;
	char text[128];
	int r;

	nd_table_unknown(&nd_side_table, side);
	r = nd_run_result(t->run, &t->arena, side, err);
	if (r < 0)
		return r;
	side->name = t->end == ND_CLIENT ? "client" : "server";
	side->version = ND_VERSION;
	side->address = nd_arena_dup(&t->arena, nd_addr_text(&t->local, false, text, sizeof(text)));
	side->host = t->here->host;
	side->overlapped_tests = t->end == ND_SERVER ? t->overlapped : ND_UNKNOWN;
	nd_table_unknown(&nd_nic_facts_table, &side->nic_facts);
	if (t->nic[0] && t->here->os &&
	    nd_os_nic_facts(t->here->os, t->nic, &t->arena, &side->nic_facts) < 0)
		nd_table_unknown(&nd_nic_facts_table, &side->nic_facts);
	return 0;
}

/* ---- both ends ---- */

static double seconds_of(uint64_t ns)
{
	return (double)ns / (double)ND_NS_PER_S;
}

/* Open-ended: the plan has room, the run has what came. */
static uint64_t flows_of(const struct nd_test *t, uint64_t workload)
{
	const struct nd_part *part = t->side.parts.v;

	if (t->plan->open_ended && t->told_result && workload < t->side.parts.n)
		return part[workload].flows.n;
	return t->plan->workload[workload].flows;
}

/* "imix: 7 of 18, 4 of 548, 1 of 1472 bytes" */
static int put_sizes(const struct nd_workload *w, bool imix, struct nd_arena *a, const char **ret)
{
	const struct nd_size *size = w->sizes.v;
	nd_auto_str text = { 0 };

	nd_str_add(&text, imix ? "imix: " : "");
	for (uint64_t i = 0; i < w->sizes.n; i++)
		nd_str_addf(&text, "%s%llu of %llu", i ? ", " : "",
			    (unsigned long long)size[i].count, (unsigned long long)size[i].bytes);
	if (w->sizes.n == 0)
		return 0;
	nd_str_add(&text, " bytes");
	*ret = nd_str_ok(&text) ? nd_arena_dup(a, nd_str_text(&text)) : NULL;
	return *ret ? 0 : -ENOMEM;
}

static int fill_ask(const struct nd_test *t, struct nd_arena *a, struct nd_result_ask *ask)
{
	int r = 0;
	const struct nd_plan *plan = t->plan;
	bool by_bytes = false;

	_Static_assert(ND_COUNTOF(ask->workload) >= ND_MAX_WORKLOADS, "every workload has a place");
	ask->workloads = plan->workloads;
	for (uint64_t i = 0; i < plan->workloads; i++) {
		const struct nd_workload *w = &plan->workload[i];

		ask->workload[i].client_active = w->active == ND_CLIENT;
		ask->workload[i].datagram = nd_plan_is_datagram(w);
		ask->workload[i].transactions = nd_plan_has_turns(w);
		ask->workload[i].flows = flows_of(t, i);
		ask->workload[i].message_bytes = w->message_bytes;
		ask->workload[i].total_bytes = w->total_bytes;
		ask->workload[i].rate_bps = w->rate_bps;
		ask->workload[i].rate_ops = w->rate_ops;
		ask->workload[i].load = w->load;
		ask->workload[i].transport = w->transport;
		ask->workload[i].heard = (struct nd_list){ .v = t->heard[i].v, .n = t->heard[i].n };
		by_bytes = by_bytes || w->total_bytes > 0 || w->total_ops > 0;
		r = r < 0 ? r : put_sizes(w, plan->ask.imix, a, &ask->workload[i].sizes);
	}
	ask->window_s = by_bytes ? (double)NAN : seconds_of(plan->duration_ns);
	ask->interval_s = seconds_of(plan->interval_ns);
	ask->sndbuf_bytes = plan->sock.sndbuf_bytes;
	ask->rcvbuf_bytes = plan->sock.rcvbuf_bytes;
	return r;
}

static void fill_clock(const struct nd_test *t, struct nd_result *ret)
{
	struct nd_dialog_facts facts = { .clock_offset_us = (double)NAN,
					 .clock_rtt_us = (double)NAN,
					 .clock_drift_us = (double)NAN };

	if (t->dialect->facts)
		t->dialect->facts(t->dialog, &facts);
	if (t->ready_ns)
		ret->setup_ms = 1e3 * seconds_of(t->ready_ns - t->prepared_ns);
	ret->same_host = facts.same_host;
	ret->clock_offset_us = facts.clock_offset_us;
	ret->clock_rtt_us = facts.clock_rtt_us;
	ret->clock_drift_us = facts.clock_drift_us;
}

/* Who vanished is still known to the end that accepted it. */
static int name_peer(const struct nd_test *t, struct nd_side *own, struct nd_arena *a)
{
	struct nd_part *part = own->parts.v;
	char text[128];
	const char *peer;

	if (t->peer.len == 0)
		return 0;
	peer = nd_arena_dup(a, nd_addr_text(&t->peer, false, text, sizeof(text)));
	for (uint64_t i = 0; i < own->parts.n; i++)
		part[i].peer_address = part[i].peer_address ?: peer;
	return peer ? 0 : -ENOMEM;
}

static int fill_sides(const struct nd_test *t, struct nd_result *ret)
{
	bool with_flows = t->plan->face != NULL; /* a tool's writers show threads */
	struct nd_side **own = t->end == ND_CLIENT ? &ret->client : &ret->server;
	struct nd_side **peer = t->end == ND_CLIENT ? &ret->server : &ret->client;
	int r = 0;

	if (t->told_result)
		r = copy_side(&t->side, with_flows, &ret->arena, own);
	if (r == 0 && t->peer_side)
		r = copy_side(t->peer_side, with_flows, &ret->arena, peer);
	else if (r == 0 && *own)
		r = name_peer(t, *own, &ret->arena);
	return r;
}

static int fill_group(const struct nd_test *t, struct nd_result *ret)
{
	if (!t->group)
		return 0;
	ret->group = nd_arena_alloc(&ret->arena, 1, sizeof(*ret->group));
	if (!ret->group)
		return -ENOMEM;
	*ret->group = *t->group;
	return nd_outcome_copy(&nd_group_table, ret->group, &ret->arena);
}

static uint64_t corrupt_bytes(const struct nd_side *side)
{
	const struct nd_part *p = side ? side->parts.v : NULL;
	uint64_t n = 0;

	for (uint64_t i = 0; p && i < side->parts.n; i++)
		n += p[i].run.rx_corrupt != ND_UNKNOWN ? p[i].run.rx_corrupt : 0;
	return n;
}

/* A test that ran to its end and yet is none: all flows of a direction broke, or what came is not what was sent. */
static void judge(struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;
	uint64_t corrupt = corrupt_bytes(r->client) + corrupt_bytes(r->server);

	/* another tool's receiver may end by its own clock and take all flows with it */
	for (uint64_t i = 0; i < r->directions.n && !r->partial && !r->face; i++) {
		if (d[i].failed_flows == ND_UNKNOWN || d[i].failed_flows < d[i].flows)
			continue;
		r->partial = true;
		r->partial_reason =
			nd_arena_printf(&r->arena, "%s: every flow ended early", d[i].label);
	}
	if (r->group && r->group->partial && !r->partial) {
		r->partial = true;
		r->partial_reason = r->group->partial_reason;
	}
	if (corrupt > 0 && !r->partial) {
		r->partial = true;
		r->partial_reason =
			nd_arena_printf(&r->arena, "%llu bytes differ from what was sent",
					(unsigned long long)corrupt);
	}
}

/* Answers were asked for, and none came at all. */
static bool hears_nothing(const struct nd_result *r)
{
	uint64_t asked = 0, received = 0;

	for (size_t i = 0; i < r->samples_n; i++) {
		struct nd_sample_counts c;

		nd_samples_counts(r->samples[i], &c);
		asked += c.kept;
		received += c.received;
	}
	return asked > 0 && received == 0;
}

/* Every flow of a test of samples was gone before its end. */
static bool lost_all(const struct nd_result *r)
{
	const struct nd_part *p = r->client && r->samples_n > 0 ? r->client->parts.v : NULL;
	uint64_t flows = 0, lost = 0;

	for (uint64_t i = 0; p && i < r->client->parts.n; i++) {
		const struct nd_flow_row *row = p[i].flows.v;

		flows += p[i].flows.n;
		for (uint64_t k = 0; k < p[i].flows.n; k++)
			lost += row[k].error != NULL;
	}
	return lost > 0 && lost == flows;
}

enum nd_ending nd_outcome_ending(const struct nd_result *r, struct nd_err *err)
{
	uint64_t corrupt = corrupt_bytes(r->client) + corrupt_bytes(r->server);

	if (corrupt > 0) {
		(void)nd_fail(err, -EBADMSG, "%llu bytes differ from what was sent",
			      (unsigned long long)corrupt);
		return ND_END_DAMAGED;
	}
	if (!r->partial && hears_nothing(r)) {
		(void)nd_fail(err, -ETIMEDOUT, "no answer came from the server");
		return ND_END_DAMAGED;
	}
	if (!r->partial && lost_all(r)) {
		(void)nd_fail(err, -ECONNRESET,
			      "the test ended early: the server closed the connection");
		return ND_END_DAMAGED;
	}
	return r->partial ? ND_END_PARTIAL : ND_END_DONE;
}

int nd_outcome_result(const struct nd_test *t, struct nd_result *ret, struct nd_err *err)
{
	struct nd_result_ask ask = { 0 };
	char text[64];
	int r;

	ret->version = ND_VERSION;
	ret->verb = nd_verb_names[t->plan->verb];
	ret->started_unix_ms = t->started_unix_ms;
	ret->started =
		nd_arena_dup(&ret->arena, nd_unix_text(t->started_unix_ms, text, sizeof(text)));
	ret->target = nd_arena_dup(&ret->arena, t->plan->host);
	ret->partial = t->reason != NULL;
	ret->partial_reason = nd_arena_dup(&ret->arena, t->reason);
	ret->plan = t->plan;
	ret->plan_table = &nd_plan_table;
	ret->samples = t->samples;
	ret->samples_n = t->samples_n;
	ret->face = t->plan->face;
	ret->face_table = t->plan->face_table;
	fill_clock(t, ret);
	r = fill_sides(t, ret);
	if (r == 0)
		r = fill_group(t, ret);
	if (r < 0)
		return nd_fail(err, r, "no memory for the result");
	if (fill_ask(t, &ret->arena, &ask) < 0)
		return nd_fail(err, -ENOMEM, "no memory for the result");
	r = nd_result_join(ret, &ask, err);
	if (!t->plan->face) {
		drop_flows(ret->client);
		drop_flows(ret->server);
	}
	if (r < 0)
		return r;
	judge(ret);
	r = nd_result_warn(ret);
	return r < 0 ? nd_fail(err, r, "no memory for the result's warnings") : 0;
}
