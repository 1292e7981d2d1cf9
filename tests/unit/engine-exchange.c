/* SPDX-License-Identifier: MIT */
/* Exchanges that go round in one loop: both ends of one flow, a worker each; and an end whose peer is not as it should be. */
#include <pthread.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/fd.h"
#include "engine-rig.h"

static uint64_t asks_heard, answers_heard; /* events; each end's own */
static const struct nd_load *asks_by, *answers_by;

static void asks_next(void *state, const struct nd_event *ev, struct nd_step *ret,
		      struct nd_note *note)
{
	asks_heard++;
	asks_by->next(state, ev, ret, note);
}

static void answers_next(void *state, const struct nd_event *ev, struct nd_step *ret,
			 struct nd_note *note)
{
	answers_heard++;
	answers_by->next(state, ev, ret, note);
}

static struct nd_load asks_as(const char *name)
{
	struct nd_load l = *nd_load_find(name);

	asks_by = nd_load_find(name);
	l.next = asks_next;
	return l;
}

static struct nd_load answers_as(const char *name)
{
	struct nd_load l = *nd_load_find(name);

	answers_by = nd_load_find(name);
	l.next = answers_next;
	return l;
}

/* The end of a rig that it keeps is its first flow, over @fd. */
static void keep_one(struct rig *r, bool active, int fd)
{
	close(r->flows[0].fd);
	close(r->flows[1].fd);
	if (!active)
		r->flows[0] = r->flows[1];
	r->flows[0].fd = fd;
	r->flows[0].tx.workload = r->flows[0].rx.workload = &r->wl;
	r->flows[1].fd = -1;
}

/* A worker opens its engine itself: who waits inside calls is woken as a thread. */
static void *run_end(void *arg)
{
	struct rig *r = arg;
	int code;

	rig_engine(r->engine)->close(&r->io);
	r->io.flow_count = 1;
	code = rig_engine(r->engine)->open(&r->io, NULL);
	if (code == 0) {
		r->start_ns = nd_now_ns();
		/* those that run for longer do so from one near edge to the next */
		r->io.edge_ns =
			r->start_ns + (r->run_ns > RIG_EDGE_NS ? RIG_EDGE_NS : 200 * ND_NS_PER_MS);
		nd_flow_begin(&r->io, &r->flows[0], r->start_ns);
		code = rig_engine(r->engine)->run(&r->io, NULL);
	}
	return (void *)(intptr_t)code;
}

static void frame_begins(struct rig *r, struct nd_samples *samples, uint8_t *own)
{
	r->flows[0].tx.samples = r->flows[0].rx.samples = samples;
	r->flows[0].tx.own = own;
	r->flows[0].rx.own = own ? own + r->lane.frame->state_bytes : NULL;
}

struct pair_case {
	const char *load, *frame, *transport, *wait;
	uint64_t bytes;
	bool echo, untimed,
		loops; /* the answering end echoes; both ends are in the loop for most exchanges */
	bool near;     /* an edge is never far */
};

/* clang-format off */
static const struct pair_case pair_cases[] = {
	{ "rr",    "native",   "udp", "block", 14,    false, false, true, false },
	{ "rr",    "native",   "udp", "block", 64,    false, false, true, false },
	{ "rr",    "native",   "udp", "block", 4,     false, false, true, false },
	{ "rr",    "plain",    "udp", "block", 14,    false, true,  true, false },
	{ "rr",    "native",   "udp", "spin",  14,    false, false, false, false },
	{ "rr",    "native",   "udp", "block", 20000, false, false, true, false },
	{ "rr",    "pattern",  "tcp", "block", 14,    false, false, true, false },
	{ "rr",    "pattern",  "tcp", "spin",  100,   false, false, false, false },
	{ "burst", "sockperf", "udp", "block", 14,    true,  false, true, false },
	{ "burst", "sockperf", "udp", "block", 1400,  true,  false, true, false },
	{ "burst", "sockperf", "udp", "spin",  14,    true,  false, false, false },
	{ "burst", "sockperf", "tcp", "block", 14,    true,  false, true, false },
	{ "burst", "sockperf", "tcp", "block", 70000, true,  false, false, false }, /* comes in pieces */
	{ "burst", "sockperf", "tcp", "spin",  14,    true,  false, false, false },
	{ "rr",    "native",   "udp", "block", 14,    false, false, true, true },
	{ "rr",    "pattern",  "tcp", "block", 14,    false, false, true, true },
	{ "burst", "sockperf", "udp", "block", 14,    true,  false, true, true },
};

/* clang-format on */

static bool has_asked; /* the asking end is done */

/* Of datagrams nobody says that there will be no more. */
static void ends_with_other(struct rig *r, uint64_t now_ns)
{
	(void)now_ns;
	if (__atomic_load_n(&has_asked, __ATOMIC_ACQUIRE) && rig_datagram(r))
		r->io.quit = true;
}

static void run_pair(struct rig *a, struct rig *b, bool samples)
{
	uint8_t own[2][2048] = { { 0 } };
	struct nd_samples *s = NULL;
	int fd[2];
	pthread_t other;
	void *result;

	rig_open(a);
	rig_open(b);
	if (rig_datagram(a))
		rig_datagram_pair(a->lane.transport, &fd[0], &fd[1]);
	else
		rig_stream_pair(a->lane.transport, &fd[0], &fd[1]);
	keep_one(a, true, fd[0]);
	keep_one(b, false, fd[1]);
	if (samples) {
		assert_int_equal(nd_samples_new(1, &s), 0);
		assert_true(2 * a->lane.frame->state_bytes <= sizeof(own[0]));
		frame_begins(a, s, own[0]);
		frame_begins(b, NULL, own[1]);
	}
	a->start_ns = b->start_ns = nd_now_ns();
	a->deadline_ns = b->deadline_ns = a->start_ns + RIG_PATIENCE_NS;
	__atomic_store_n(&has_asked, false, __ATOMIC_RELEASE);
	assert_int_equal(pthread_create(&other, NULL, run_end, b), 0);
	assert_null(run_end(a));
	__atomic_store_n(&has_asked, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(other, &result), 0);
	assert_null(result);
	assert_false(a->late || b->late);
	if (samples) {
		struct nd_sample_counts n;

		nd_samples_counts(s, &n);
		assert_int_equal(n.sent, a->io.c[0].tx_messages);
		assert_int_equal(n.received, a->io.c[0].rx_messages);
		assert_int_equal(n.duplicate + n.alien + n.missed, 0);
		a->flows[0].rx.samples = a->flows[0].tx.samples = NULL;
		nd_samples_free(s);
	}
	rig_close(a);
	rig_close(b);
}

static void check_pair(size_t row, const struct pair_case *c, const struct rig *a,
		       const struct rig *b)
{
	const struct nd_counters *asks = &a->io.c[0], *answers = &b->io.c[0];
	/* the last one may have been on its way at the end */
	uint64_t n = asks->rx_messages, under_way = asks->tx_messages - n;

	/* spinners on a busy machine come to little */
	if (n < (c->loops ? 10 : 1) || under_way > 1 || asks->lost || asks->rx_corrupt ||
	    asks->rx_bytes != n * c->bytes || asks->tx_bytes != (n + under_way) * c->bytes)
		fail_msg("row %zu: the asking end's counts: %llu of %llu answered, %llu lost", row,
			 (unsigned long long)n, (unsigned long long)asks->tx_messages,
			 (unsigned long long)asks->lost);
	/* nor need that have been read */
	if (answers->rx_bytes < asks->rx_bytes || answers->rx_bytes > asks->tx_bytes ||
	    answers->tx_bytes < asks->rx_bytes || answers->rx_foreign || answers->tx_refused)
		fail_msg("row %zu: the answering end's counts", row);
	if (rig_datagram(a) && (answers->rx_bytes != answers->rx_messages * c->bytes ||
				asks->rx_stacked != n || asks->tx_stacked != asks->tx_messages))
		fail_msg("row %zu: datagrams", row);
	if (asks->transactions != (c->echo ? 0 : n) || asks->rx_duplicate || asks->rx_reordered)
		fail_msg("row %zu: transactions", row);
	if (asks->rx_unique != (strcmp(c->frame, "native") == 0 && c->bytes >= 8 ? n : 0))
		fail_msg("row %zu: numbers", row);
	if (c->loops && ND_MAX(asks_heard, answers_heard) >= n)
		fail_msg("row %zu: %llu and %llu events, %llu exchanges", row,
			 (unsigned long long)asks_heard, (unsigned long long)answers_heard,
			 (unsigned long long)n);
}

/* Nothing is counted twice, or not at all, in the loop or beside it. Of those in it the load hears nothing. */
static void pairs_add_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(pair_cases); i++) {
		const struct pair_case *c = &pair_cases[i];
		struct rig a = { .wl = { .message_bytes = c->bytes,
					 .request_bytes = c->bytes,
					 .response_bytes = c->bytes,
					 .answered = true },
				 .engine = "blocking",
				 .load = c->load,
				 .frame = c->frame,
				 .transport = c->transport,
				 .pairs = 1,
				 .wait = nd_wait_find(c->wait),
				 .run_ns = (c->near ? 100 : 1) * ND_NS_PER_MS },
			   b = a;
		struct nd_load asking = asks_as(c->load),
			       answering = answers_as(c->echo ? "echo" : c->load);
		struct nd_hist_view times = { 0 };

		a.plan.untimed = b.plan.untimed = c->untimed;
		a.plan.keep_samples = c->echo;
		b.rx_name = c->echo ? "echo" : NULL;
		a.machine = &asking;
		b.machine = &answering;
		b.on_edge = ends_with_other;
		asks_heard = answers_heard = 0;
		assert_int_equal(nd_hist_new(&a.times), 0);
		run_pair(&a, &b, c->echo);
		check_pair(i, c, &a, &b);
		assert_int_equal(nd_hist_read(a.times, &times), 0);
		if (!c->untimed) /* a tick of the clock is longer than most */
			assert_int_equal(times.count, a.io.c[0].transactions);
		nd_hist_view_done(&times);
		nd_hist_free(a.times);
	}
}

/* ---- a peer that does what it likes */

enum { TWICE, LATE, FOREIGN, SHORT, SILENT, DEEDS };

#define EVERY  40u /* answers between two such deeds */
#define ROUNDS 2u

struct peer {
	int fd;
	uint64_t asked; /* datagrams that came */
	bool broken;
};

static void say(struct peer *p, const uint8_t *at, size_t n)
{
	p->broken |= send(p->fd, at, n, 0) != (ssize_t)n;
}

static void *play_peer(void *arg)
{
	struct peer *p = arg;
	uint8_t now[64], before[64] = { 0 }, other[64];
	const uint64_t end = EVERY * DEEDS * ROUNDS;

	for (uint64_t k = 1; k <= end + 1; k++) {
		ssize_t n = recv(p->fd, now, sizeof(now), 0);
		uint64_t deed = k % EVERY ? DEEDS : k / EVERY % DEEDS;

		__atomic_store_n(&p->asked, k, __ATOMIC_RELEASE);
		if (n < 14 || p->broken) {
			p->broken = true;
			break;
		}
		memcpy(other, now, sizeof(other));
		other[0] ^= 1; /* another flow */
		if (deed == TWICE)
			say(p, now, 14);
		if (deed == LATE)
			say(p, before, 14);
		if (deed == FOREIGN)
			say(p, other, 14);
		if (deed == SHORT) /* of the flow, and of its number: an answer */
			say(p, now, 12);
		else if (deed != SILENT)
			say(p, now, 14);
		memcpy(before, now, sizeof(before));
	}
	return NULL;
}

static struct peer *played;

static void ends_when_played(struct rig *r, uint64_t now_ns)
{
	(void)now_ns;
	if (__atomic_load_n(&played->asked, __ATOMIC_ACQUIRE) > EVERY * DEEDS * ROUNDS)
		r->io.stop_sending = true;
	if (r->flows[0].state == ND_FLOW_DONE)
		r->io.quit = true;
}

/* Answers that come twice, late, from others, shorter, or never: each is what it is, and the next request goes out. */
static void stands_odd_answers(void **state)
{
	struct rig r = { .wl = { .message_bytes = 14,
				 .request_bytes = 14,
				 .response_bytes = 14,
				 .patience_ns = 100 * ND_NS_PER_MS },
			 .engine = "blocking",
			 .load = "rr",
			 .frame = "native",
			 .transport = "udp",
			 .pairs = 1,
			 .on_edge = ends_when_played };
	struct nd_load asking = asks_as("rr");
	struct nd_hist_view times = { 0 };
	const struct nd_counters *c = &r.io.c[0];
	struct peer p = { 0 };
	pthread_t other;
	int fd[2];

	(void)state;
	r.machine = &asking;
	asks_heard = 0;
	assert_int_equal(nd_hist_new(&r.times), 0);
	rig_open(&r);
	rig_datagram_pair(r.lane.transport, &fd[0], &fd[1]);
	assert_int_equal(nd_nonblock(fd[1], false, NULL), 0);
	keep_one(&r, true, fd[0]);
	p.fd = fd[1];
	played = &p;
	r.start_ns = nd_now_ns();
	r.deadline_ns = r.start_ns + RIG_PATIENCE_NS;
	assert_int_equal(pthread_create(&other, NULL, play_peer, &p), 0);
	assert_null(run_end(&r));
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_false(r.late || p.broken);
	assert_int_equal(c->transactions + c->lost, c->tx_messages);
	assert_true(c->lost >= ROUNDS);
	assert_true(c->rx_duplicate >= 2 * ROUNDS);
	assert_int_equal(c->rx_foreign, ROUNDS);
	assert_int_equal(c->rx_messages, c->rx_unique + c->rx_duplicate);
	assert_int_equal(c->rx_unique, c->transactions);
	assert_int_equal(c->rx_stacked, c->rx_messages + c->rx_foreign);
	assert_int_equal(c->rx_bytes, 14 * c->rx_messages - 2 * ROUNDS);
	assert_int_equal(nd_hist_read(r.times, &times), 0);
	assert_int_equal(times.count, c->transactions);
	/* the loop takes over again behind each of them */
	assert_true(asks_heard < c->transactions);
	nd_hist_view_done(&times);
	nd_hist_free(r.times);
	close(p.fd);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_add_up),
		cmocka_unit_test(stands_odd_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
