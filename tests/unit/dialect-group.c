/* SPDX-License-Identifier: MIT */
/* A client of a group and its server: held until the others are there, started for all, told of all. */
#include <errno.h>
#include <stdio.h>

#include "dialect-pair.h"

#define MS ND_NS_PER_MS
#define S  ND_NS_PER_S

static struct pair *group_pair(void)
{
	struct pair *p = pair_new(4, 4);
	struct nd_plan *plan = &p->end[ND_CLIENT].plan;

	plan->group = "lab";
	plan->group_expect = 2;
	plan->group_wait_ns = 60 * S;
	return p;
}

static void gather(struct pair *p, uint64_t at_ns, const char *reason)
{
	feed(p, ND_SERVER,
	     (struct nd_dialog_event){ .what = ND_DLG_GATHER, .at_ns = at_ns, .reason = reason });
	pump(p);
}

static void give_both_results(struct pair *p)
{
	give_result(p, ND_CLIENT);
	give_result(p, ND_SERVER);
	pump(p);
}

static void sum_up(struct pair *p, struct nd_group *g)
{
	static struct nd_group_member m[2];

	for (size_t i = 0; i < ND_COUNTOF(m); i++) {
		nd_table_unknown(&nd_group_member_table, &m[i]);
		m[i].number = i + 1;
		m[i].direction = "client to server";
		m[i].client = i ? "beta 192.0.2.2" : NULL;
		m[i].complete = i == 0;
	}
	nd_table_unknown(&nd_group_table, g);
	g->name = "lab";
	g->expected = 2;
	g->members = (struct nd_list){ m, ND_COUNTOF(m) };
	feed(p, ND_SERVER, (struct nd_dialog_event){ .what = ND_DLG_GROUP, .group = g });
	pump(p);
}

/* ---- as it should go ---- */

static void runs_with_the_others(void **state)
{
	struct pair *p = group_pair();
	struct end *client = &p->end[ND_CLIENT], *server = &p->end[ND_SERVER];
	const struct nd_group_member *m;
	struct nd_group g;
	uint64_t at_ns;

	(void)state;
	pump(p);
	assert_int_equal(server->gathers, 1);
	assert_true(server->rtt_ns > 0 && server->rtt_ns < MS);
	pass(p, 20 * S); /* the others take their time */
	assert_int_equal(client->starts + server->starts, 0);
	at_ns = clock_of(p, ND_SERVER) + 100 * MS;
	gather(p, at_ns, NULL);
	assert_int_equal(client->starts, 1);
	assert_int_equal(server->starts, 1);
	assert_int_equal(server->started_ns, at_ns);
	assert_in_range(client->started_ns + SERVER_SKEW, at_ns - MS, at_ns + MS);
	pass(p, 12 * S);
	give_both_results(p);
	assert_int_equal(server->members, 1);
	assert_int_equal(client->outcome, GOING);
	sum_up(p, &g);
	assert_int_equal(client->outcome, DONE);
	assert_int_equal(server->outcome, DONE);
	assert_null(client->reason);
	assert_non_null(client->group);
	assert_string_equal(client->group->name, "lab");
	assert_int_equal(client->group->members.n, 2);
	m = client->group->members.v;
	assert_null(m[0].client);
	assert_string_equal(m[1].client, "beta 192.0.2.2");
	assert_true(m[0].complete);
	assert_false(m[1].complete);
	pair_free(p);
}

static void a_test_alone_is_not_held(void **state)
{
	struct pair *p = pair_new(4, 4);

	(void)state;
	pump(p);
	assert_int_equal(p->end[ND_SERVER].gathers, 0);
	assert_int_equal(p->end[ND_SERVER].starts, 1);
	pair_free(p);
}

/* ---- as it may go ---- */

static void expect_failure(const struct pair *p, const char *client, const char *server)
{
	const struct end *c = &p->end[ND_CLIENT], *s = &p->end[ND_SERVER];

	assert_int_equal(c->outcome, FAILED);
	assert_int_equal(s->outcome, FAILED);
	if (!strstr(c->err.text, client) || !strstr(s->err.text, server))
		fail_msg("'%s' lacks '%s', or '%s' '%s'", c->err.text, client, s->err.text, server);
}

static void too_few_come(void **state)
{
	struct pair *p = group_pair();

	(void)state;
	pump(p);
	gather(p, 0, "group 'lab': 1 of 2 clients came within 1m");
	expect_failure(p, "refused: group 'lab': 1 of 2", "1 of 2 clients came");
	assert_true(p->end[ND_CLIENT].peer_fault);
	pair_free(p);
}

static void nobody_decides(void **state)
{
	struct pair *p = group_pair();

	(void)state;
	pump(p);
	pass(p, 70 * S);
	expect_failure(p, "did not begin within 1m", "group 'lab'");
	pair_free(p);
}

static void a_client_leaves_while_it_waits(void **state)
{
	struct pair *p = group_pair();

	(void)state;
	pump(p);
	feed(p, ND_CLIENT,
	     (struct nd_dialog_event){ .what = ND_DLG_STOP, .reason = "interrupted by SIGINT" });
	pump(p);
	expect_failure(p, "interrupted by SIGINT before", "the client stopped");
	pair_free(p);
}

static void the_sum_is_missing(void **state)
{
	struct pair *p = group_pair();

	(void)state;
	pump(p);
	gather(p, clock_of(p, ND_SERVER) + 100 * MS, NULL);
	pass(p, 12 * S);
	give_both_results(p);
	pass(p, 30 * S);
	assert_int_equal(p->end[ND_CLIENT].outcome, DONE);
	assert_non_null(p->end[ND_CLIENT].reason);
	assert_non_null(strstr(p->end[ND_CLIENT].reason, "the others of group 'lab'"));
	assert_int_equal(p->end[ND_SERVER].outcome, DONE);
	pair_free(p);
}

/* ---- what is against the rules ---- */

/* clang-format off */
static const struct {
	const char *name;
	enum nd_end_kind to;
	bool in_group, gathers;
	const char *json, *says;
} rows[] = {
	{ "go of one's own",     ND_SERVER, true,  false, "{\"m\":\"go\",\"at\":1007100000000}", "not for the instant of the group" },
	{ "go for another time", ND_SERVER, true,  true,  "{\"m\":\"go\",\"at\":1007100000000}", "out of order" },
	{ "gather without at",   ND_CLIENT, true,  false, "{\"m\":\"gather\"}", "not near" },
	{ "gather in a year",    ND_CLIENT, true,  false, "{\"m\":\"gather\",\"at\":31536000000000000}", "not near" },
	{ "gather of long ago",  ND_CLIENT, true,  false, "{\"m\":\"gather\",\"at\":1}", "not near" },
	{ "gather to one alone", ND_CLIENT, false, false, "{\"m\":\"gather\",\"at\":1007100000000}", "out of order" },
	{ "sum before the end",  ND_CLIENT, true,  true,  "{\"m\":\"group\",\"group\":{}}", "out of order" },
	{ "sum to the server",   ND_SERVER, true,  true,  "{\"m\":\"group\",\"group\":{}}", "out of order" },
};

/* clang-format on */

static void rules_are_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct pair *p = rows[i].in_group ? group_pair() : pair_new(4, 4);
		const struct end *x = &p->end[rows[i].to];

		if (rows[i].in_group)
			pump(p);
		while (!rows[i].in_group && x->prepares == 0 && step(p))
			;
		if (rows[i].gathers)
			gather(p, clock_of(p, ND_SERVER) + 100 * MS, NULL);
		inject(p, rows[i].to, rows[i].json);
		if (x->outcome != FAILED || !strstr(x->err.text, rows[i].says))
			fail_msg("%s: %d '%s'", rows[i].name, x->outcome, x->err.text);
		pair_free(p);
	}
}

static void sums_are_checked(void **state)
{
	static const char *const bad[] = { "{\"m\":\"group\"}", "{\"m\":\"group\",\"group\":7}",
					   "{\"m\":\"group\",\"group\":{\"members\":7}}" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(bad); i++) {
		struct pair *p = group_pair();

		pump(p);
		gather(p, clock_of(p, ND_SERVER) + 100 * MS, NULL);
		pass(p, 12 * S);
		give_both_results(p);
		inject(p, ND_CLIENT, bad[i]);
		if (p->end[ND_CLIENT].outcome != FAILED)
			fail_msg("'%s' was taken", bad[i]);
		pair_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_with_the_others),
		cmocka_unit_test(a_test_alone_is_not_held),
		cmocka_unit_test(too_few_come),
		cmocka_unit_test(nobody_decides),
		cmocka_unit_test(a_client_leaves_while_it_waits),
		cmocka_unit_test(the_sum_is_missing),
		cmocka_unit_test(rules_are_kept),
		cmocka_unit_test(sums_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
