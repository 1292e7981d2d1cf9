/* SPDX-License-Identifier: MIT */
/*
 * The client's flows come to stand: connected and greeted, a bounded number in flight, none of them blocking. For one
 * connection see connect.c, for the server gifts.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "run/int.h"

/* Connections that the peer has not accepted yet: enough to hide the round trip, few enough for its queue. Half of one
 * whose length is known leaves room for another client; those of a group share it. */
enum { IN_FLIGHT = 1024, IN_FLIGHT_LEAST = 32, QUEUE_SHARES = 2, EVENTS = 256 };

/* With many flows only some are answered: a server accepts in the order in which connections came, so that one
 * answer tells of all before it. */
enum { QUIET_FROM = 64, ANSWERS_IN_FLIGHT = 4 };

#define LOOK_AGAIN_MS 50 /* at flows whose answers may have come out of turn */

#define PATIENCE_NS (5 * ND_NS_PER_S) /* for a plan that does not say */

#define RETRY_NS (100 * ND_NS_PER_MS) /* behind a refusal */

enum opening { OPENING_NONE, OPENING_CONNECT, OPENING_REFUSED, OPENING_ANSWER, OPENING_DONE };

struct attempt {
	uint8_t stage;      /* enum opening */
	uint8_t got;        /* bytes of the answer */
	bool in_turn;       /* its answer is read in turn, nobody watches the socket */
	uint32_t before;    /* flows greeted earlier that get no answer */
	uint64_t resend_ns; /* the hello, or after a refusal the connection */
};

struct opener {
	struct nd_worker *w;
	const struct nd_greeting *g; /* [0] of streams, [1] of datagrams; NULL: none */
	struct attempt *tries;       /* one per slot */
	uint32_t next, in_flight, in_flight_max, done, wanted, refused;
	uint32_t greeted, quiet; /* streams so far; of them, those that get no answer */
	uint32_t quiet_taken;    /* and that are known to be accepted */
	uint32_t oldest;         /* slot; in those before it no answer is awaited in turn */
	int epoll;
	bool datagrams;       /* some flows need their hello repeated */
	uint64_t patience_ns; /* without one more flow being accepted */
	uint64_t deadline_ns;
	uint64_t refused_by_ns; /* until then ports that refuse are tried again */
};

static void write_be32(uint8_t *at, uint64_t value)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void answer_of(const struct nd_greeting *g, uint64_t flow, uint8_t *out)
{
	memcpy(out, g->answer, g->answer_bytes);
	write_be32(out + g->answer_flow_at, flow);
}

/* NULL: it needs none. */
static const struct nd_greeting *greeting_of(const struct opener *o, const struct nd_flow *f)
{
	const struct nd_greeting *g = o->g ? &o->g[nd_is_datagram(nd_lane_of(o->w, f))] : NULL;

	return g && g->hello_bytes > 0 ? g : NULL;
}

static void opened(struct opener *o, uint32_t slot)
{
	o->tries[slot].stage = OPENING_DONE;
	o->in_flight--;
	o->done++;
	o->deadline_ns = nd_now_ns() + o->patience_ns;
	atomic_store_explicit(&o->w->opened, o->done, memory_order_relaxed);
}

/* Connections that come and go are made while the run goes on, to a port of their own: the first flow tries it. */
static bool is_probe(const struct nd_worker *w, const struct nd_flow *f)
{
	return nd_lane_of(w, f)->load->connects && !w->run->cfg.plan->dialect && f->tx.flow == 0;
}

static int flow_failed(struct opener *o, uint32_t slot, int code)
{
	const struct nd_flow *f = &o->w->flows[slot];
	char peer[80], words[64];
	struct nd_addr to;

	nd_route_peer(o->w->run, f->tx.flow, &to);
	nd_addr_text(&to, true, peer, sizeof(peer));
	if (is_probe(o->w, f) && code != -EADDRNOTAVAIL)
		return nd_fail(
			&o->w->err, code,
			"no connection to TCP port %s, where the server awaits those of this test: "
			"%s: a firewall may let only the server's own port pass",
			peer, nd_strerror(code, words, sizeof(words)));
	if (code == -EADDRNOTAVAIL)
		return nd_fail(
			&o->w->err, code, "flow %llu to %s: %s", (unsigned long long)f->tx.flow,
			peer,
			o->w->run->cfg.plan->face
				? "its source address is not this machine's, or has no port left"
				: "no source port or address left (give --bind a list of addresses)");
	return nd_fail(&o->w->err, code, "flow %llu to %s: %s", (unsigned long long)f->tx.flow,
		       peer, nd_strerror(code, words, sizeof(words)));
}

/* The peer may open its ports one after the other: the others stay as they are meanwhile. */
static int refused(struct opener *o, uint32_t slot)
{
	struct attempt *t = &o->tries[slot];
	uint64_t now_ns = nd_now_ns();

	if (now_ns >= o->refused_by_ns)
		return flow_failed(o, slot, -ECONNREFUSED);
	nd_close_p(&o->w->flows[slot].fd);
	t->stage = OPENING_REFUSED;
	t->resend_ns = now_ns + RETRY_NS;
	o->refused++;
	o->deadline_ns = now_ns + o->patience_ns; /* somebody is there */
	return 0;
}

/* Every so many-th flow and the last one are, so that one answer is on its way while many are not. */
static bool wants_answer(const struct opener *o, const struct nd_greeting *g)
{
	return !g->quiet_at || o->wanted < QUIET_FROM || o->greeted + 1 == o->wanted ||
	       o->greeted % (o->in_flight_max / ANSWERS_IN_FLIGHT) == 0;
}

/* A fresh stream socket that stands has room for 64 bytes. Return: 0, -errno. */
static int greet_stream(struct opener *o, uint32_t slot, const struct nd_greeting *g)
{
	const struct nd_flow *f = &o->w->flows[slot];
	bool is_quiet = !wants_answer(o, g);
	struct attempt *t = &o->tries[slot];
	uint8_t hello[sizeof(g->hello)];

	memcpy(hello, g->hello, g->hello_bytes);
	write_be32(hello + g->flow_at, f->tx.flow);
	if (is_quiet)
		write_be32(hello + g->quiet_at, 1);
	if (send(f->fd, hello, g->hello_bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	o->greeted++;
	o->quiet += is_quiet;
	t->before = o->quiet;
	t->stage = OPENING_ANSWER;
	if (is_quiet)
		opened(o, slot);
	return 0;
}

static void greet_datagram(struct opener *o, uint32_t slot, const struct nd_greeting *g)
{
	const struct nd_flow *f = &o->w->flows[slot];
	struct attempt *t = &o->tries[slot];
	uint8_t hello[sizeof(g->hello)];

	memcpy(hello, g->hello, g->hello_bytes);
	write_be32(hello + g->flow_at, f->tx.flow);
	(void)send(f->fd, hello, g->hello_bytes, MSG_NOSIGNAL); /* lost: it is repeated */
	t->stage = OPENING_ANSWER;
	t->resend_ns = nd_now_ns() + g->resend_ms * ND_NS_PER_MS;
}

static int say_hello(struct opener *o, uint32_t slot)
{
	const struct nd_flow *f = &o->w->flows[slot];
	const struct nd_greeting *g = greeting_of(o, f);
	int r = 0;

	if (is_probe(o->w, f))
		nd_close_p(&o->w->flows[slot].fd); /* there is one to be had: that is all */
	if (!g || f->fd < 0) {
		opened(o, slot);
		return 0;
	}
	if (nd_is_datagram(nd_lane_of(o->w, f)))
		greet_datagram(o, slot, g);
	else
		r = greet_stream(o, slot, g);
	return r < 0 ? flow_failed(o, slot, r) : 0;
}

/* Where the path is short the connection stands before connect() is back: no need to wait for the news. */
static bool greet_early(struct opener *o, uint32_t slot)
{
	const struct nd_flow *f = &o->w->flows[slot];
	const struct nd_greeting *g = greeting_of(o, f);

	if (!g || is_probe(o->w, f))
		return false;
	if (greet_stream(o, slot, g) < 0)
		return false; /* not yet, or never: the wait tells */
	o->tries[slot].in_turn = true;
	return true;
}

static int start_flow(struct opener *o, uint32_t slot)
{
	struct nd_flow *f = &o->w->flows[slot];
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u32 = slot };
	int r;

	if (nd_lane_of(o->w, f)->load->connects && !is_probe(o->w, f)) { /* as it goes on */
		o->tries[slot].stage = OPENING_DONE;
		atomic_store_explicit(&o->w->opened, ++o->done, memory_order_relaxed);
		return 0;
	}
	r = nd_setup_dial(o->w, f, &o->w->run->cfg.plan->sock, &o->w->err);
	if (r == -ECONNREFUSED && o->refused_by_ns)
		return refused(o, slot);
	if (r < 0)
		return r == -EADDRNOTAVAIL || is_probe(o->w, f) ? flow_failed(o, slot, r) : r;
	o->in_flight++;
	o->tries[slot].stage = OPENING_CONNECT;
	if (r == 1 && greet_early(o, slot))
		return 0;
	if (epoll_ctl(o->epoll, EPOLL_CTL_ADD, f->fd, &ev) < 0)
		return nd_sysfail(&o->w->err, "watching flow %llu", (unsigned long long)f->tx.flow);
	return r == 0 ? say_hello(o, slot) : 0;
}

/* Read exactly the answer: what follows belongs to the test. */
static int read_answer(struct opener *o, uint32_t slot)
{
	struct nd_flow *f = &o->w->flows[slot];
	struct attempt *t = &o->tries[slot];
	bool datagram = nd_is_datagram(nd_lane_of(o->w, f));
	const struct nd_greeting *g = greeting_of(o, f);
	uint8_t want[sizeof(g->answer)], got[sizeof(g->answer)];
	ssize_t n;

	if (!g) /* nothing was said that is answered */
		return 0;
	n = recv(f->fd, got, g->answer_bytes - t->got, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR || (datagram && errno == ECONNREFUSED)
			       ? 0
			       : flow_failed(o, slot, -errno);
	answer_of(g, f->tx.flow, want);
	if (datagram && ((size_t)n != g->answer_bytes || memcmp(want, got, (size_t)n) != 0))
		return 0;
	if (n == 0)
		return nd_fail(
			&o->w->err, -ECONNRESET,
			"flow %llu: the server closed the connection instead of accepting it",
			(unsigned long long)f->tx.flow);
	if (memcmp(want + t->got, got, (size_t)n) != 0)
		return nd_fail(&o->w->err, -EPROTO, "flow %llu: the server's answer is not ours",
			       (unsigned long long)f->tx.flow);
	t->got = (uint8_t)(t->got + n);
	if (t->got == g->answer_bytes) {
		o->quiet_taken = ND_MAX(o->quiet_taken, t->before);
		opened(o, slot);
	}
	return 0;
}

static int handle(struct opener *o, uint32_t slot, uint32_t events)
{
	struct attempt *t = &o->tries[slot];
	struct nd_flow *f = &o->w->flows[slot];
	int r = 0;

	if (t->stage == OPENING_CONNECT && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) {
		r = nd_open_result(f->fd);
		if (r == -ECONNREFUSED && o->refused_by_ns) {
			o->in_flight--;
			return refused(o, slot);
		}
		if (r < 0)
			return flow_failed(o, slot, r);
		r = say_hello(o, slot);
	}
	if (r == 0 && t->stage == OPENING_ANSWER)
		r = read_answer(o, slot);
	return r;
}

static int repeat_hellos(struct opener *o, uint64_t now_ns)
{
	for (uint32_t i = 0; o->datagrams && i < o->next; i++) {
		struct nd_flow *f = &o->w->flows[i];

		if (o->tries[i].stage != OPENING_ANSWER || o->tries[i].resend_ns > now_ns ||
		    !nd_is_datagram(nd_lane_of(o->w, f)))
			continue;
		if (say_hello(o, i) < 0)
			return o->w->err.code;
	}
	return 0;
}

static int retry_refused(struct opener *o, uint64_t now_ns)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && o->refused && i < o->next; i++) {
		if (o->tries[i].stage != OPENING_REFUSED || o->tries[i].resend_ns > now_ns)
			continue;
		o->refused--;
		r = start_flow(o, i);
	}
	return r;
}

static int too_late(struct opener *o)
{
	struct nd_addr to;
	char peer[80];

	if (is_probe(o->w, &o->w->flows[0]))
		return flow_failed(o, 0, -ETIMEDOUT);
	nd_route_peer(o->w->run, 0, &to);
	nd_addr_text(&to, true, peer, sizeof(peer));
	if (o->datagrams && o->done == 0)
		return nd_fail(
			&o->w->err, -ETIMEDOUT,
			"no answer to datagrams sent to UDP port %s: a firewall may drop them",
			peer);
	return nd_fail(&o->w->err, -ETIMEDOUT, "only %u of %u flows to %s were accepted in time",
		       o->done, o->wanted, peer);
}

static int start_some(struct opener *o)
{
	uint32_t halves;

	while (o->next < o->w->io.flow_count &&
	       o->in_flight + o->quiet - o->quiet_taken < o->in_flight_max) {
		struct nd_flow *f = &o->w->flows[o->next];
		int r = start_flow(o, o->next);

		if (r < 0)
			return r;
		halves = nd_layout_halves(nd_lane_of(o->w, f), f->active);
		o->next += halves;
	}
	return 0;
}

static bool awaits_turn(const struct opener *o, uint32_t slot)
{
	return o->tries[slot].in_turn && o->tries[slot].stage == OPENING_ANSWER;
}

/* Answers come in the order of the greetings, nearly: up to the first that is not there, or @all that are. */
static int read_in_turn(struct opener *o, bool all)
{
	for (uint32_t i = o->oldest; i < o->next; i++) {
		int r = awaits_turn(o, i) ? read_answer(o, i) : 0;

		if (r < 0)
			return r;
		if (awaits_turn(o, i) && !all)
			break;
		if (i == o->oldest && !awaits_turn(o, i))
			o->oldest++;
	}
	return 0;
}

/* Half of those that are awaited in turn have most likely been answered when this one has: one wake-up for all
 * of them. -1: none is awaited. */
static int middle_fd(const struct opener *o)
{
	uint32_t middle = o->oldest + (o->next - o->oldest) / 2;

	for (uint32_t i = middle; i < o->next; i++)
		if (awaits_turn(o, i))
			return o->w->flows[i].fd;
	for (uint32_t i = o->oldest; i < middle; i++)
		if (awaits_turn(o, i))
			return o->w->flows[i].fd;
	return -1;
}

static int handle_watched(struct opener *o)
{
	struct epoll_event ev[EVENTS];
	int r, n = epoll_wait(o->epoll, ev, EVENTS, 0);

	if (n < 0 && errno != EINTR)
		return nd_sysfail(&o->w->err, "waiting for connections");
	for (int i = 0; i < n; i++) {
		if (ev[i].data.u32 == UINT32_MAX) {
			nd_worker_drain_wake(o->w);
			continue;
		}
		r = handle(o, ev[i].data.u32, ev[i].events);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Wait for what is watched and for what comes in turn, and take it. */
static int wait_some(struct opener *o)
{
	struct pollfd p[] = { { .fd = o->epoll, .events = POLLIN },
			      { .fd = middle_fd(o), .events = POLLIN } };
	uint32_t done = o->done;
	int r, n = poll(p, ND_COUNTOF(p), LOOK_AGAIN_MS);

	if (n < 0 && errno != EINTR)
		return nd_sysfail(&o->w->err, "waiting for connections");
	r = p[0].revents ? handle_watched(o) : 0;
	if (r == 0)
		r = read_in_turn(o, false);
	if (r == 0 && o->done == done) /* out of turn, or late */
		r = read_in_turn(o, true);
	return r;
}

static int open_all(struct opener *o)
{
	while (o->done < o->wanted && !nd_worker_stopped(o->w)) {
		uint64_t now_ns;
		int r = start_some(o);

		if (r < 0)
			return r;
		if (o->done == o->wanted)
			break; /* nobody had to be greeted */
		r = wait_some(o);
		if (r < 0)
			return r;
		now_ns = nd_now_ns();
		r = repeat_hellos(o, now_ns);
		if (r >= 0)
			r = retry_refused(o, now_ns);
		if (r < 0)
			return r;
		if (now_ns > o->deadline_ns && o->done < o->wanted)
			return too_late(o);
	}
	return 0;
}

static int run_opener(struct opener *o)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = UINT32_MAX };
	struct nd_worker *w = o->w;
	int r;

	if (epoll_ctl(o->epoll, EPOLL_CTL_ADD, w->wake_fd, &ev) < 0)
		return nd_sysfail(&w->err, "watching for the main thread");
	for (uint32_t i = 0; i < w->io.flow_count; i++) {
		o->wanted += w->flows[i].half == 0;
		o->datagrams |= nd_is_datagram(nd_lane_of(w, &w->flows[i]));
	}
	o->patience_ns = w->run->cfg.plan->connect_timeout_ns ?: PATIENCE_NS;
	o->deadline_ns = nd_now_ns() + o->patience_ns;
	if (w->run->cfg.plan->refused_ns)
		o->refused_by_ns = nd_now_ns() + w->run->cfg.plan->refused_ns;
	r = open_all(o);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < w->io.flow_count && o->done == o->wanted; i++) {
		if (w->flows[i].half != 0 || w->flows[i].fd < 0)
			continue;
		nd_setup_pace(w, &w->flows[i]);
		r = nd_setup_busy_poll(w, &w->flows[i]);
		if (r < 0)
			return r;
	}
	return nd_setup_halves(w);
}

/* One worker's. */
static uint32_t in_flight_max(const struct nd_worker *w)
{
	const struct nd_greeting *g = w->run->cfg.greeting;
	const struct nd_plan *p = w->run->cfg.plan;
	uint64_t clients = p->group ? ND_MAX(p->group_expect, 1) : 1;
	uint64_t n = g && g->queue ? g->queue / QUEUE_SHARES / clients : IN_FLIGHT;

	return (uint32_t)ND_MAX(n / w->run->worker_n, (uint64_t)IN_FLIGHT_LEAST);
}

int nd_setup_open(struct nd_worker *w)
{
	nd_auto_fd int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct opener o = {
		.w = w, .g = w->run->cfg.greeting, .epoll = epoll, .in_flight_max = in_flight_max(w)
	};
	int r;

	if (epoll < 0)
		return nd_sysfail(&w->err, "opening an epoll set");
	o.tries = calloc(w->io.flow_count ? w->io.flow_count : 1, sizeof(*o.tries));
	r = o.tries ? run_opener(&o) : nd_fail(&w->err, -ENOMEM, "no memory for the flows");
	free(o.tries);
	return r;
}
