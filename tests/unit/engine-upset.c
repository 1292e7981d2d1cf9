/* SPDX-License-Identifier: MIT */
/*
 * Whatever ends a call early, no flow stands still for it: random small runs through every engine and way to move bytes,
 * in a process that has used io_uring, while signals come to the worker at random. NETDYNO_SEED repeats a run,
 * NETDYNO_ROUNDS makes it longer.
 */

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/num.h"
#include "engine-rig.h"

#if ND_HAVE_URING
#	include "engine/uring.h"
#endif

#ifdef sigev_notify_thread_id
#	define NOTIFY_TID sigev_notify_thread_id
#else
#	define NOTIFY_TID _sigev_un._tid
#endif

#define ROUNDS   60u
#define STILL_NS (6 * ND_NS_PER_S)
#define LONG_NS  (40 * ND_NS_PER_S)
#define LOOKS    600u /* without a change: a machine that stands still itself looks at nothing */

static uint64_t random_of(uint64_t *s, uint64_t n)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (*s >> 11) % n;
}

/* Mostly small, now and then large. */
static uint64_t skewed(uint64_t *s, uint64_t most)
{
	uint64_t n = 1 + random_of(s, most);

	for (uint64_t i = random_of(s, 4); i > 0; i--)
		n = 1 + random_of(s, n);
	return n;
}

#define PICK(s, of) ((of)[random_of(s, ND_COUNTOF(of))])

static void upset(int number)
{
	(void)number; /* that it came is all */
}

/* Signals to the calling thread, as the one that ends calls that wait. */
static timer_t upset_me(uint64_t every_ns)
{
	struct sigaction on = { .sa_handler = upset };
	struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 1 };
	struct itimerspec when = { 0 };
	timer_t t;

	to.NOTIFY_TID = (pid_t)syscall(SYS_gettid);
	assert_int_equal(sigaction(SIGRTMIN + 1, &on, NULL), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &to, &t), 0);
	when.it_value = when.it_interval = nd_timespec(0, every_ns);
	assert_int_equal(timer_settime(t, 0, &when, NULL), 0);
	return t;
}

struct ways {
	const char *engine;
	const char *tx[4], *rx[4];
};

static const struct ways streams[] = {
	{ "blocking",
	  { "copy", "zerocopy", "sendfile", "splice" },
	  { "copy", "trunc", "splice", "mmap" } },
	{ "epoll",
	  { "copy", "zerocopy", "sendfile", "splice" },
	  { "copy", "trunc", "splice", "mmap" } },
	{ "uring", { "copy", "copy", "zerocopy", "zerocopy" }, { "copy", "copy", "copy", "copy" } },
	{ "uring-old", { "copy", "copy", "copy", "copy" }, { "copy", "copy", "copy", "copy" } },
};

static const struct ways datagrams[] = {
	{ "blocking", { "copy", "sendto", "gso", "copy" }, { "copy", "trunc", "gro", "copy" } },
	{ "epoll", { "copy", "sendto", "gso", "copy" }, { "copy", "trunc", "gro", "copy" } },
	{ "uring", { "copy", "copy", "copy", "copy" }, { "copy", "copy", "copy", "copy" } },
	{ "uring-old", { "copy", "copy", "copy", "copy" }, { "copy", "copy", "copy", "copy" } },
};

static const char *const waits[] = { NULL, NULL, NULL, NULL, "block", "spin", "nap" };

/* A rig that knows when it last moved something. */
struct end {
	struct rig rig;
	uint64_t moved, since_ns;
	uint32_t looks;     /* since then */
	uint64_t signal_ns; /* apart; 0: none */
	struct nd_addr at;  /* where connections are accepted */
	pthread_barrier_t
		*together; /* both ends open before one runs, and run before one closes; or NULL */
	int code;
};

struct upset_case {
	struct end end;
	int rcvbuf;
	bool split; /* a worker for each end */
};

static bool is_copy(const struct rig *r)
{
	return strcmp(r->tx_name, "copy") == 0 && strcmp(r->rx_name, "copy") == 0;
}

static bool has_mptcp(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 262);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void choose_calls(uint64_t *s, struct upset_case *c)
{
	struct rig *r = &c->end.rig;
	uint64_t bytes = skewed(s, 20000);

	r->engine = random_of(s, 2) ? "blocking" : "epoll";
	r->transport = "tcp";
	r->tx_name = r->rx_name = "copy";
	r->pairs = 1 + (uint32_t)random_of(s, 8);
	r->load = random_of(s, 3) ? "crr" : "cc";
	r->frame = "plain";
	r->wl = (struct nd_workload){ .message_bytes = 20000,
				      .request_bytes = bytes,
				      .response_bytes = skewed(s, 20000),
				      .total_ops = skewed(s, 200) };
	r->wl.total_ops = ND_MAX(r->wl.total_ops, r->pairs);
	c->split = random_of(s, 2);
}

static void choose_stream(uint64_t *s, struct upset_case *c)
{
	const struct ways *w = &streams[random_of(s, ND_COUNTOF(streams))];
	bool asks = random_of(s, 3) == 0;
	struct rig *r = &c->end.rig;
	uint64_t bytes = skewed(s, 300000);

	r->engine = w->engine;
	r->tx_name = PICK(s, w->tx);
	r->rx_name = PICK(s, w->rx);
	r->transport = "tcp";
	r->load = asks ? "rr" : "stream";
	r->frame = is_copy(r) && random_of(s, 2) ? "pattern" : "plain";
	r->pairs = 1 + (uint32_t)random_of(s, random_of(s, 10) ? 8 : 150);
	r->sndbuf = random_of(s, 2) ? (int)skewed(s, 200000) : 0;
	c->rcvbuf = random_of(s, 3) == 0 ? 65536 + (int)skewed(s, 200000) : 0;
	r->unix_pair = is_copy(r) && random_of(s, 4) == 0;
	if (is_copy(r) && !r->unix_pair && has_mptcp() && random_of(s, 4) == 0)
		r->transport = "mptcp";
	r->depth = strcmp(w->engine, "uring") == 0 ? random_of(s, 17) : 0;
	if (!r->sndbuf && random_of(s, 3) == 0)
		r->plan.lowat_bytes = skewed(s, 100000);
	r->wl = (struct nd_workload){ .message_bytes = bytes, .total_bytes = skewed(s, 4000000) };
	r->wl.total_bytes = ND_MIN(r->wl.total_bytes, 4000 * bytes); /* calls cost time */
	if (asks) {
		r->wl.request_bytes = bytes;
		r->wl.response_bytes = skewed(s, 300000);
		r->wl.message_bytes = ND_MAX(bytes, r->wl.response_bytes);
		r->wl.total_bytes = bytes * (1 + random_of(s, 100));
	}
	/* small pieces take the time of an acknowledgement each */
	if (r->sndbuf && r->sndbuf < 50000)
		r->wl.total_bytes = ND_MIN(r->wl.total_bytes, 400000);
	if (asks)
		r->wl.total_bytes -= r->wl.total_bytes % r->wl.request_bytes;
	if (asks && !r->wl.total_bytes)
		r->wl.total_bytes = r->wl.request_bytes;
	c->split = random_of(s, 3) == 0;
}

static void choose_datagrams(uint64_t *s, struct upset_case *c)
{
	const struct ways *w = &datagrams[random_of(s, ND_COUNTOF(datagrams))];
	bool asks = random_of(s, 2) == 0;
	struct rig *r = &c->end.rig;
	uint64_t bytes = 16 + skewed(s, 1400);

	r->engine = w->engine;
	r->transport = "udp";
	r->load = asks ? "rr" : "stream";
	r->frame = asks || random_of(s, 2) ? "native" : "plain";
	r->tx_name = asks ? "copy" : PICK(s, w->tx);
	r->rx_name = asks ? "copy" : PICK(s, w->rx);
	r->pairs = 1 + (uint32_t)random_of(s, 8);
	r->wl = (struct nd_workload){ .message_bytes = bytes,
				      .request_bytes = bytes,
				      .response_bytes = bytes };
	/* few enough for the receivers' buffers, should they come late */
	r->wl.total_bytes = bytes * r->pairs * (1 + random_of(s, asks ? 200 : 50));
}

static void choose(uint64_t *s, struct upset_case *c)
{
	*c = (struct upset_case){ 0 };
	switch (random_of(s, 6)) {
	case 0:
		choose_datagrams(s, c);
		break;
	case 1:
		choose_calls(s, c);
		break;
	default:
		choose_stream(s, c);
	}
	c->end.rig.wait = nd_wait_find(PICK(s, waits));
	c->end.signal_ns = random_of(s, 4) ? (20 + skewed(s, 2000)) * ND_NS_PER_US : 0;
}

static void tell(const struct upset_case *c, const struct rig *r, const char *what)
{
	print_message(
		"%s: %s %s %s tx %s rx %s frame %s%s x%u message %llu request %llu response %llu total %llu ops %llu "
		"sndbuf %d rcvbuf %d depth %llu lowat %llu wait %s signal %llu split %d\n",
		what, r->engine, r->transport, r->load, r->tx_name, r->rx_name, r->frame,
		r->unix_pair ? " unix" : "", r->pairs, (unsigned long long)r->wl.message_bytes,
		(unsigned long long)r->wl.request_bytes, (unsigned long long)r->wl.response_bytes,
		(unsigned long long)r->wl.total_bytes, (unsigned long long)r->wl.total_ops,
		r->sndbuf, c->rcvbuf, (unsigned long long)r->depth,
		(unsigned long long)r->plan.lowat_bytes, r->wait ? r->wait->name : "-",
		(unsigned long long)c->end.signal_ns, c->split);
	for (uint32_t i = 0; i < r->io.flow_count; i++) {
		const struct nd_flow *f = &r->io.flows[i];

		print_message(
			"  flow %u %s: state %u op %u readable %d writable %d done %llu of %llu posted %u error %d tx %llu rx %llu\n",
			i, f->active ? "active" : "passive", f->state, f->step.op, f->readable,
			f->writable, (unsigned long long)f->done_bytes,
			(unsigned long long)f->step.bytes, f->posted, f->error,
			(unsigned long long)f->c.tx_bytes, (unsigned long long)f->c.rx_bytes);
	}
}

static void look(struct rig *r, uint64_t now_ns)
{
	struct end *e = (struct end *)r;
	uint64_t moved = r->io.c[0].tx_bytes + r->io.c[0].rx_bytes + r->io.c[0].transactions +
			 r->io.done_count;

	if (e->moved != moved || !e->since_ns) {
		e->since_ns = now_ns;
		e->looks = 0;
	}
	e->moved = moved;
	if (++e->looks >= LOOKS && now_ns - e->since_ns >= STILL_NS)
		r->late = r->io.quit = true;
}

static void meet(struct end *e)
{
	if (e->together)
		(void)pthread_barrier_wait(e->together); /* tells who was last */
}

static void *run_end(void *arg)
{
	struct end *e = arg;
	const struct nd_engine *engine = rig_engine(e->rig.engine);
	struct rig *r = &e->rig;
	timer_t t = NULL;

	if (e->signal_ns)
		t = upset_me(e->signal_ns);
	engine->close(&r->io);
	e->code = engine->open(&r->io, NULL);
	meet(e);
	for (uint32_t i = 0; e->code == 0 && i < r->io.flow_count; i++)
		nd_flow_begin(&r->io, &r->io.flows[i], r->start_ns);
	if (e->code == 0)
		e->code = engine->run(&r->io, NULL);
	meet(e);
	engine->close(&r->io);
	if (e->signal_ns)
		assert_int_equal(timer_delete(t), 0);
	return NULL;
}

static void start(struct rig *r, uint64_t edge_ns)
{
	r->on_edge = look;
	r->start_ns = nd_now_ns();
	r->deadline_ns = r->start_ns + LONG_NS;
	r->io.edge_ns = r->start_ns + edge_ns;
}

static void run_one(struct upset_case *c)
{
	start(&c->end.rig, RIG_EDGE_NS);
	(void)run_end(&c->end);
	assert_int_equal(c->end.code, 0);
}

/* The active ends in one worker, the others in another, which only sees them. */
static void run_split(struct end *a, struct end *b)
{
	struct rig *r = &a->rig, *other = &b->rig;
	pthread_barrier_t together;
	pthread_t thread;

	assert_int_equal(pthread_barrier_init(&together, NULL, 2), 0);
	a->together = b->together = &together;

	for (uint32_t i = 0; i < r->pairs; i++) {
		close(other->flows[i].fd);
		close(other->flows[r->pairs + i].fd);
		other->flows[i].fd = -1;
		other->flows[r->pairs + i].fd = r->flows[r->pairs + i].fd;
		r->flows[r->pairs + i].fd = -1;
	}
	r->io.flow_count = other->io.flow_count = r->pairs;
	other->io.flows += r->pairs;
	/* far away: a worker of one flow may wait inside its calls */
	start(r, ND_NS_PER_S / 4);
	start(other, ND_NS_PER_S / 4);
	assert_int_equal(pthread_create(&thread, NULL, run_end, b), 0);
	(void)run_end(a);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_barrier_destroy(&together), 0);
	assert_int_equal(a->code, 0);
	assert_int_equal(b->code, 0);
}

static bool makes_calls(const struct rig *r)
{
	return r->lane.load->connects;
}

static int call(struct nd_io *io, struct nd_flow *f)
{
	static const struct nd_sockopts opts = { 0 };
	const struct end *e = io->run;
	struct nd_err err = { 0 };

	return nd_open(e->rig.lane.transport, &opts, &e->at, NULL, NULL, &f->fd, &err);
}

/* The sockets that rig_open() made are not wanted: one end listens. */
static void listen_instead(struct end *e)
{
	struct rig *r = &e->rig;
	struct nd_err err = { 0 };
	int listener;

	rig_loopback(&e->at);
	assert_int_equal(nd_listen(r->lane.transport, &e->at, false, &listener, &err), 0);
	assert_int_equal(getsockname(listener, &e->at.u.sa, &e->at.len), 0);
	for (uint32_t i = 0; i < r->pairs; i++) {
		close(r->flows[i].fd);
		r->flows[i].fd = -1;
		close(r->flows[r->pairs + i].fd);
		r->flows[r->pairs + i].fd = dup(listener);
		assert_true(r->flows[r->pairs + i].fd >= 0);
	}
	close(listener);
	r->io.connect = call;
}

static void stop_listening(struct rig *r)
{
	for (uint32_t i = 0; i < r->io.flow_count; i++)
		if (r->io.flows[i].listen_fd >= 0)
			close(r->io.flows[i].listen_fd);
}

static void set_rcvbuf(const struct upset_case *c)
{
	const struct rig *r = &c->end.rig;

	for (uint32_t i = 0; c->rcvbuf && i < r->pairs; i++)
		assert_int_equal(setsockopt(r->flows[r->pairs + i].fd, SOL_SOCKET, SO_RCVBUF,
					    &c->rcvbuf, sizeof(c->rcvbuf)),
				 0);
}

static uint64_t check(const struct upset_case *c, const struct rig *a, const struct rig *b)
{
	uint64_t took = nd_now_ns() - a->start_ns, bad = 0, sent = 0, got = 0;
	bool datagrams_ask = rig_datagram(a) && strcmp(a->load, "rr") == 0;

	for (uint32_t i = 0; i < a->pairs; i++) {
		const struct nd_flow *tx = &a->flows[i], *rx = &b->flows[a->pairs + i];

		bad += tx->error || rx->error || rx->c.rx_corrupt || tx->c.rx_corrupt;
		sent += tx->c.tx_bytes;
		got += rx->c.rx_bytes;
	}
	bad += a->late || b->late || sent != got ||
	       (!datagrams_ask && !makes_calls(a) && sent != a->wl.total_bytes);
	if (makes_calls(a))
		bad += rig_sum(a, true).transactions != a->wl.total_ops;
	if (bad || took > 2 * STILL_NS) {
		tell(c, a, a->late || b->late ? "stands still" : bad ? "is wrong" : "is slow");
		print_message("  sent %llu, received %llu, took %llu us\n",
			      (unsigned long long)sent, (unsigned long long)got,
			      (unsigned long long)took / 1000);
		if (a != b)
			tell(c, b, "other end");
	}
	return bad;
}

static uint64_t run_case(struct upset_case *c)
{
	struct end other = c->end;
	uint64_t bad;

	if (!rig_has(c->end.rig.engine))
		return 0;
	rig_open(&c->end.rig);
	if (makes_calls(&c->end.rig))
		listen_instead(&c->end);
	else
		set_rcvbuf(c);
	if (c->split) {
		rig_open(&other.rig);
		run_split(&c->end, &other);
	} else {
		run_one(c);
	}
	bad = check(c, &c->end.rig, c->split ? &other.rig : &c->end.rig);
	if (c->split) {
		other.rig.io.flows -= other.rig.pairs;
		c->end.rig.io.flow_count = other.rig.io.flow_count = 2 * other.rig.pairs;
		stop_listening(&other.rig);
		rig_close(&other.rig);
	}
	stop_listening(&c->end.rig);
	rig_close(&c->end.rig);
	return bad;
}

static uint64_t asked_for(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	uint64_t n = 0;

	return text && nd_parse_prefix_u64(text, &n) > 0 ? n : otherwise;
}

static void goes_on(void **state)
{
	uint64_t seed = asked_for("NETDYNO_SEED", nd_now_ns()), bad = 0;
	uint64_t rounds = asked_for("NETDYNO_ROUNDS", ROUNDS);

	(void)state;
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t s = (seed + i) * 0x9e3779b97f4a7c15ull | 1;
		struct upset_case c;

		for (int k = 0; k < 8; k++)
			(void)random_of(&s, 2);
		choose(&s, &c);
		if (run_case(&c) == 0)
			continue;
		print_message("  NETDYNO_SEED=%llu NETDYNO_ROUNDS=1\n",
			      (unsigned long long)(seed + i));
		bad++;
	}
	print_message("seed %llu\n", (unsigned long long)seed);
	assert_int_equal(bad, 0);
}

/* Once the flow has nothing to read: bytes on both sides of an urgent one, at which a read stops. The end follows when
 * all of them have been read, and not before. */
static void speak_urgently(struct rig *r, uint64_t now_ns)
{
	struct end *e = (struct end *)r;
	static const uint8_t bytes[3000];
	int fd = r->flows[0].fd;

	if (r->edges == 2) {
		assert_int_equal(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
		assert_int_equal(send(fd, bytes, 1, MSG_OOB), 1);
		assert_int_equal(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	} else if (r->flows[1].c.rx_bytes >= 2 * sizeof(bytes) && !e->moved) {
		e->moved = 1;
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
	}
	r->late |= now_ns - r->start_ns > STILL_NS && r->edges > LOOKS;
	r->io.quit |= r->late;
}

static void reads_behind_urgent_bytes(void **state)
{
	static const char *const engines[] = { "blocking", "epoll", "uring", "uring-old" };
	static const char *const ways[] = { "copy", "trunc" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(engines) * ND_COUNTOF(ways); i++) {
		struct end e = { .rig = { .wl = { .message_bytes = 10000 },
					  .engine = engines[i / ND_COUNTOF(ways)],
					  .load = "stream",
					  .frame = "plain",
					  .transport = "tcp",
					  .rx_name = ways[i % ND_COUNTOF(ways)],
					  .pairs = 1 } };
		struct rig *r = &e.rig;

		if (!rig_has(r->engine) ||
		    (strncmp(r->engine, "uring", 5) == 0 && i % ND_COUNTOF(ways)))
			continue;
		rig_open(r);
		start(r, RIG_EDGE_NS);
		r->on_edge = speak_urgently;
		r->flows[0].state = ND_FLOW_DONE;
		r->io.done_count = 1;
		nd_flow_begin(&r->io, &r->flows[1], r->start_ns);
		assert_int_equal(rig_engine(r->engine)->run(&r->io, NULL), 0);
		if (r->late || r->flows[1].error || r->flows[1].c.rx_bytes != 6000)
			fail_msg("%s %s: %llu bytes read, error %d", r->engine, r->rx_name,
				 (unsigned long long)r->flows[1].c.rx_bytes, r->flows[1].error);
		rig_close(r);
	}
}

#if ND_HAVE_URING
/* Flows wait for a buffer, or for room to post: one that is done, or waits for something else, takes no turn of those
 * behind it, which nothing else would wake. */
static void lines_pass_on(void **state)
{
	(void)state;
	for (int for_post = 0; for_post <= 1; for_post++) {
		struct rig r = { .wl = { .message_bytes = 1000 },
				 .engine = "uring",
				 .load = "stream",
				 .frame = "plain",
				 .transport = "udp",
				 .pairs = 2 };
		struct nd_flow *f = NULL;

		if (!rig_has("uring"))
			return;
		rig_open(&r);
		for (uint32_t i = 0; i < 4; i++) {
			f = &r.flows[i];
			f->state = ND_FLOW_BLOCKED;
			f->step = (struct nd_step){ .op = for_post ? ND_OP_SEND : ND_OP_RECV };
			nd_ur_line_add(&r.io, f, for_post);
		}
		r.flows[0].state = ND_FLOW_DONE;
		r.flows[1].step.op = for_post ? ND_OP_RECV : ND_OP_SEND;
		nd_ur_line_serve(&r.io, 0, for_post);
		assert_int_equal(r.flows[0].state, ND_FLOW_DONE);
		assert_int_equal(r.flows[1].state, ND_FLOW_BLOCKED);
		assert_int_equal(r.flows[2].state, ND_FLOW_READY);
		assert_int_equal(r.flows[3].state, ND_FLOW_BLOCKED);
		nd_ur_line_serve(&r.io, 0, for_post);
		assert_int_equal(r.flows[3].state, ND_FLOW_READY);
		nd_ur_line_serve(&r.io, 0, for_post); /* there is nobody left */
		rig_close(&r);
	}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_behind_urgent_bytes),
#if ND_HAVE_URING
		cmocka_unit_test(lines_pass_on),
#endif
		cmocka_unit_test(goes_on),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* workers have it blocked */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
