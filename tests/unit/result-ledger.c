/* SPDX-License-Identifier: MIT */
/* The ledger: what is lost at the stages and what is read is what was offered, whatever the counters say. */
#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "result-fixture.h"

#define NO ND_UNKNOWN

/* The counters of both ends beside a loss of which the network lost the rest. */
struct row {
	const char *name;
	uint64_t refused, qdisc, nic_out, nic_in, backlog, no_port, checksum, buffer;
	/* what the stages must have; of the loss that there is, LOST */
	uint64_t at_qdisc, at_nic_out, at_nic_in, at_backlog, at_no_port, at_checksum, at_buffer;
	bool blind;
};

#define LOST 1000u

/* clang-format off */
static const struct row rows[] = {
	{ "nothing counted",  0,  0, 0, 0,  0,  0, 0, 0,         0, 0, 0, 0, 0, 0, 0,          false },
	{ "each a little",    7, 10, 20, 70, 40, 50, 60, 5,      10, 20, 30, 40, 50, 60, 5,    false },
	{ "the buffer alone", 0,  0, 0, 0,  0,  0, 0, LOST,      0, 0, 0, 0, 0, 0, LOST,       false },
	{ "others' drops",    0, 500, 0, 0, 0,  0, 0, 999999,    0, 0, 0, 0, 0, 0, LOST,       false },
	{ "others' queues",   0,  0, 0, 0, 900, 0, 0, 0,         0, 0, 0, 0, 0, 0, 0,          false },
	{ "the same twice",   0,  0, 900, 900, 900, 0, 0, 200,   0, 0, 0, 800, 0, 0, 200,      false },
	{ "no qdisc to read", 0, NO, 0, 0,  0,  0, 0, 100,       0, 0, 0, 0, 0, 0, 100,        true },
	{ "no nic to read",   0,  0, NO, NO, 30, 0, 0, 0,        0, 0, 0, 30, 0, 0, 0,         true },
	{ "nothing to read",  0, NO, NO, NO, NO, NO, NO, NO,     0, 0, 0, 0, 0, 0, 0,          true },
};

/* clang-format on */

static const struct nd_ledger_row *stage(const struct nd_direction *d, const char *name)
{
	const struct nd_ledger_row *row = d->ledger.v;

	for (uint64_t i = 0; i < d->ledger.n; i++)
		if (!strcmp(row[i].stage, name))
			return &row[i];
	fail_msg("no stage '%s'", name);
	return row;
}

/* All stages together, unknown ones left out. */
static uint64_t lost_in_all(const struct nd_direction *d)
{
	const struct nd_ledger_row *row = d->ledger.v;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < d->ledger.n; i++)
		sum += row[i].lost_here != NO ? row[i].lost_here : 0;
	return sum;
}

static const struct nd_direction *join(struct nd_result *r)
{
	struct nd_result_ask ask;

	fix_ask(&fix_udp, &ask);
	assert_int_equal(nd_result_join(r, &ask, NULL), 0);
	return r->directions.v;
}

static void lose(struct nd_result *r, const struct row *c)
{
	struct nd_part *tx = r->client->parts.v, *rx = r->server->parts.v;

	tx->run.tx_messages = 50000;
	tx->run.tx_stacked = 50000;
	tx->run.tx_refused = c->refused;
	rx->run.rx_messages = rx->run.rx_unique = rx->run.rx_stacked = 50000 - LOST;
	rx->run.rx_highest = 49990;
	r->client->machine.qdisc_drops = c->qdisc;
	r->client->machine.nic_tx_dropped = c->nic_out;
	r->server->machine.nic_rx_dropped = c->nic_in;
	r->server->machine.softnet_dropped = c->backlog;
	r->server->machine.udp_no_ports = c->no_port;
	r->server->machine.udp_in_csum_errors = c->checksum;
	r->server->machine.udp_rcvbuf_errors = c->buffer;
}

static void at(const struct nd_direction *d, const struct row *c, const char *name, uint64_t want)
{
	uint64_t got = stage(d, name)->lost_here;

	if (got != want && !(got == NO && want == 0))
		fail_msg("%s: %s lost %llu, not %llu", c->name, name, (unsigned long long)got,
			 (unsigned long long)want);
}

static void places_each_loss(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		const struct row *c = &rows[i];
		const struct nd_direction *d;
		struct nd_result r;
		uint64_t placed = c->at_qdisc + c->at_nic_out + c->at_nic_in + c->at_backlog +
				  c->at_no_port + c->at_checksum + c->at_buffer;

		fix_make(&fix_udp, &r);
		lose(&r, c);
		d = join(&r);
		at(d, c, "taken by the socket", c->refused);
		at(d, c, "queueing discipline", c->at_qdisc);
		at(d, c, "interface out", c->at_nic_out);
		at(d, c, "interface in", c->at_nic_in);
		at(d, c, "backlog of a CPU", c->at_backlog);
		at(d, c, "no such port", c->at_no_port);
		at(d, c, "checksum", c->at_checksum);
		at(d, c, "receive buffer full", c->at_buffer);
		at(d, c, "between, or not seen", LOST - placed);
		assert_int_equal(lost_in_all(d) + d->loss.received, d->loss.offered);
		assert_int_equal(d->loss.offered, 50000 + c->refused);
		assert_int_equal(d->loss.tail, 10);
		if (c->blind) {
			assert_true(d->loss.unplaced == NO);
			assert_non_null(strstr(stage(d, "between, or not seen")->note, "maybe"));
		} else {
			assert_int_equal(d->loss.unplaced, LOST - placed);
		}
		nd_result_done(&r);
	}
}

/* A piece of the kernel's holds 50 datagrams: 4 dropped pieces are about 200 of them. */
static void counts_pieces(void **state)
{
	const struct row c = { .qdisc = 4 };
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_udp, &r);
	lose(&r, &c);
	((struct nd_part *)r.client->parts.v)->run.tx_stacked = 1000;
	d = join(&r);
	assert_int_equal(stage(d, "queueing discipline")->lost_here, 200);
	assert_int_equal(stage(d, "queueing discipline")->dropped, 4);
	assert_non_null(stage(d, "queueing discipline")->note);
	assert_int_equal(lost_in_all(d) + d->loss.received, d->loss.offered);
	nd_result_done(&r);
}

/* The test's own sockets know better than a count of all programs'. */
static void believes_its_sockets(void **state)
{
	const struct row c = { .buffer = LOST, .checksum = 3 };
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_udp, &r);
	lose(&r, &c);
	((struct nd_part *)r.server->parts.v)->run.rx_dropped = 103;
	d = join(&r);
	at(d, &c, "receive buffer full", 100);
	at(d, &c, "checksum", 3);
	at(d, &c, "between, or not seen", LOST - 103);
	assert_int_equal(d->loss.receive_buffer_drops, LOST);
	assert_int_equal(lost_in_all(d) + d->loss.received, d->loss.offered);
	nd_result_done(&r);
}

/* What was lost in pieces: those that no other stage has, and no row where nothing was cut. */
static void puts_fragments_last(void **state)
{
	static const struct {
		uint64_t cut, unassembled, qdisc, at_fragments;
		bool blind;
	} cases[] = {
		{ 100000, LOST, 0, LOST, false },
		{ 100000, LOST, 300, LOST - 300, false },
		{ 100000, 5, 0, 5, false },
		{ 0, NO, 0, 0, false },
		{ NO, NO, 0, 0, true },
		{ 100000, NO, 0, 0, true },
		{ 0, 7, 0, 7, false },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cases); i++) {
		const struct row c = { .name = "fragments", .qdisc = cases[i].qdisc };
		const struct nd_direction *d;
		struct nd_result r;

		fix_make(&fix_udp, &r);
		lose(&r, &c);
		r.client->machine.ip_frag_creates = cases[i].cut;
		r.server->machine.ip_unassembled = cases[i].unassembled;
		d = join(&r);
		at(d, &c, "queueing discipline", cases[i].qdisc);
		at(d, &c, "fragments missing", cases[i].at_fragments);
		assert_int_equal(d->loss.unplaced == NO, cases[i].blind);
		assert_int_equal(lost_in_all(d) + d->loss.received, d->loss.offered);
		nd_result_done(&r);
	}
}

static void says_what_it_cannot_see(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_udp, &r);
	r.server = NULL;
	d = join(&r);
	assert_true(stage(d, "between, or not seen")->lost_here == NO);
	assert_true(stage(d, "read by the program")->counted == NO);
	assert_true(stage(d, "offered")->counted == d->loss.offered);
	assert_true(d->loss.unplaced == NO && d->loss.lost == NO);
	nd_result_done(&r);

	/* without numbers in them */
	fix_make(&fix_udp, &r);
	((struct nd_part *)r.server->parts.v)->run.rx_unique = NO;
	((struct nd_part *)r.server->parts.v)->run.rx_highest = NO;
	d = join(&r);
	assert_true(d->loss.tail == NO);
	assert_non_null(stage(d, "read by the program")->note);
	nd_result_done(&r);
}

/* What was sent last and never came is missing in the window, but for what was sent behind it. */
static void window_has_the_last_ones(void **state)
{
	static const struct {
		const char *phase;
		double lost;
	} cases[] = { { "measure", 400. / 1000 },
		      { "cooldown", 100. / 700 },
		      { "drain", 100. / 700 } };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cases); i++) {
		const struct nd_direction *d;
		struct nd_result r;
		struct nd_part *tx, *rx;
		struct nd_interval_sample *row;

		fix_make(&fix_udp, &r);
		tx = r.client->parts.v;
		rx = r.server->parts.v;
		row = tx->intervals.v;
		for (uint64_t k = 0; k < tx->intervals.n; k++)
			row[k].tx_messages = 0;
		row[0].tx_messages = 300;
		row[0].phase = cases[i].phase;
		((struct nd_interval_sample *)rx->intervals.v)[0].phase = cases[i].phase;
		rx->window.rx_highest = 600;
		rx->window.rx_unique = 600;
		rx->run.rx_highest = 5000;
		tx->run.tx_messages = 5400;
		d = join(&r);
		assert_int_equal(d->loss.tail, 400);
		assert_true(fabs(d->lost_ratio - cases[i].lost) < 1e-9);
		nd_result_done(&r);
	}
}

/* More was read than sent: nothing is lost, and nothing is below zero. */
static void never_below_zero(void **state)
{
	const struct row c = { .buffer = 77 };
	const struct nd_direction *d;
	struct nd_result r;

	(void)state;
	fix_make(&fix_udp, &r);
	lose(&r, &c);
	((struct nd_part *)r.server->parts.v)->run.rx_unique = 50005;
	d = join(&r);
	assert_int_equal(lost_in_all(d), 0);
	assert_int_equal(stage(d, "receive buffer full")->dropped, 77);
	nd_result_done(&r);
}

static const char *surplus_of(struct nd_result *r)
{
	const struct nd_warning *w = r->warnings.v;

	for (uint64_t i = 0; i < r->warnings.n; i++)
		if (!strcmp(w[i].key, "surplus"))
			return w[i].sentence;
	return NULL;
}

/* Copies of datagrams without numbers, or a sender that was heard earlier than the receiver: it is said. */
static void says_what_is_too_much(void **state)
{
	static const struct {
		uint64_t messages, unique;
		const char *words;
	} cases[] = {
		{ 50000, NO, NULL },
		{ 50041, NO, "41 more datagrams came than were sent: some came twice" },
		{ 50001, NO, "1 more datagram came" },
		{ 50041, 50000, NULL },
		{ 50041, 50041, "the sender's count is older" },
	};
	const struct row c = { 0 };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cases); i++) {
		struct nd_result r;
		struct nd_part *rx;

		fix_make(&fix_udp, &r);
		lose(&r, &c);
		rx = r.server->parts.v;
		rx->run.rx_messages = cases[i].messages;
		rx->run.rx_unique = cases[i].unique;
		rx->run.rx_duplicate = cases[i].unique == NO ? NO : 0;
		(void)join(&r);
		assert_int_equal(nd_result_warn(&r), 0);
		if (!cases[i].words)
			assert_null(surplus_of(&r));
		else if (!surplus_of(&r) || !strstr(surplus_of(&r), cases[i].words))
			fail_msg("says: %s", surplus_of(&r));
		nd_result_done(&r);
	}
}

static void keeps_kinds_of_packets_apart(void **state)
{
	const struct nd_direction *d;
	struct nd_result r;
	struct nd_part *tx, *rx;

	(void)state;
	fix_make(&fix_udp, &r);
	tx = r.client->parts.v;
	rx = r.server->parts.v;
	tx->window.seconds = rx->window.seconds = 10;
	tx->window.tx_messages = 1000000;
	tx->window.tx_stacked = 20000;
	rx->window.rx_messages = 900000;
	rx->window.rx_stacked = 30000;
	r.client->machine.window_udp_out_datagrams = 20100;
	r.server->machine.window_udp_in_datagrams = 30100;
	r.client->machine.window_nic_tx_packets = 1000500;
	r.server->machine.window_nic_rx_packets = 990000;
	r.server->machine.window_nic = "eth1";
	d = join(&r);
	assert_true(d->packets.sent_per_s > 99999 && d->packets.sent_per_s < 100001);
	assert_true(d->packets.read_per_s > 89999 && d->packets.read_per_s < 90001);
	assert_true(d->packets.tx_stack_per_s > 1999 && d->packets.tx_stack_per_s < 2001);
	assert_true(d->packets.rx_stack_per_s > 2999 && d->packets.rx_stack_per_s < 3001);
	assert_true(d->packets.udp_in_per_s > 3009 && d->packets.udp_in_per_s < 3011);
	assert_true(d->packets.rx_wire_per_s > 98999 && d->packets.rx_wire_per_s < 99001);
	assert_string_equal(d->packets.rx_nic, "eth1");
	/* 1.38 busy cores for 0.09 million a second */
	assert_true(fabs(d->packets.sender_cpu_s_per_mpkt - 1.38 / 0.09) < 1e-9);
	nd_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_each_loss),
		cmocka_unit_test(counts_pieces),
		cmocka_unit_test(believes_its_sockets),
		cmocka_unit_test(puts_fragments_last),
		cmocka_unit_test(says_what_it_cannot_see),
		cmocka_unit_test(window_has_the_last_ones),
		cmocka_unit_test(never_below_zero),
		cmocka_unit_test(says_what_is_too_much),
		cmocka_unit_test(keeps_kinds_of_packets_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
