/* SPDX-License-Identifier: MIT */
/*
 * Data flows come to the server's own port and name their test by its key. A stream goes to the run as it
 * is. A datagram makes a connected socket; the run gets a copy of the descriptor at once, but until the
 * start the session keeps reading the original: the answer may be lost, and then the client asks again.
 * Where descriptors are few, the oldest ones are let go before that: their clients have most likely heard.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "session/int.h"

#define REPEATS_AT_ONCE 64
#define TOKEN_BYTES     256 /* more than any language's first datagram */
#define HOLD_SHARE      4   /* of the descriptors may be held */
#define HOLDS_LEAST     16u

struct nd_hold {
	struct nd_served *test; /* borrowed */
	uint64_t flow;
	int fd; /* owned */
	struct nd_watch *watch;
	struct nd_addr peer;
	struct nd_hold *older, *younger; /* over all tests of the server */
};

static struct nd_served *find_test(const struct nd_server *s, const uint8_t key[16])
{
	for (struct nd_served *c = s->tests; c; c = c->next) {
		if (!memcmp(c->key, key, sizeof(c->key)))
			return c->test.run && !c->test.is_over ? c : NULL;
	}
	return NULL;
}

/* Is @flow one of the test's that has no socket yet, and of this kind? */
static bool is_wanted(struct nd_served *c, uint64_t flow, bool datagram)
{
	const struct nd_plan *plan = &c->plan;

	if (!c->given) {
		c->flows = nd_plan_flows(plan);
		c->given = calloc(c->flows / 8 + 1, 1);
	}
	if (!c->given || flow >= c->flows || (c->given[flow / 8] & (1u << flow % 8)))
		return false;
	return nd_plan_is_datagram(&plan->workload[nd_plan_workload_of(plan, flow)]) == datagram;
}

static void mark_given(struct nd_served *c, uint64_t flow)
{
	c->given[flow / 8] |= (uint8_t)(1u << flow % 8);
}

static bool answer(int fd, const struct nd_claim *claim)
{
	return send(fd, claim->answer, claim->answer_bytes, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       (ssize_t)claim->answer_bytes;
}

static int give(struct nd_served *c, uint64_t flow, int fd)
{
	struct nd_err err = { 0 };
	int r = nd_run_give(c->test.run, flow, fd, &err);

	if (r < 0)
		nd_log(ND_LOG_DEBUG, "test %llu: %s", (unsigned long long)c->number, err.text);
	return r;
}

void nd_flows_stream(struct nd_server *s, int fd, const struct nd_claim *claim)
{
	nd_auto_fd int own = fd;
	struct nd_served *c = find_test(s, claim->key);

	if (!c || !is_wanted(c, claim->flow, false))
		return;
	/* the first bytes of a connection always fit its buffer */
	if (claim->answer_bytes > 0 && !answer(own, claim))
		return;
	mark_given(c, claim->flow);
	/* a test that lacks a flow says so */
	(void)give(c, claim->flow, nd_take_fd(&own));
}

void nd_flows_listener(struct nd_served *c)
{
	uint64_t n = nd_plan_flows(&c->plan);
	struct nd_listen_group g;

	nd_accepts_open(c, &g);
	for (uint64_t i = 0; i < n; i++) {
		int copy;

		if (!is_wanted(c, i, false))
			continue;
		copy = fcntl(g.fd[nd_run_worker_of(c->test.run, i) % g.n], F_DUPFD_CLOEXEC, 0);
		if (copy < 0) {
			nd_log(ND_LOG_DEBUG, "test %llu: copying a listening socket: %s",
			       (unsigned long long)c->number, "no descriptor is left");
			break; /* the test says that it lacks a flow */
		}
		mark_given(c, i);
		(void)give(c, i, copy); /* likewise */
	}
	for (uint32_t i = 0; i < g.n; i++)
		nd_close_p(&g.fd[i]);
}

/* ---- datagrams ---- */

/* Is it of a client that introduces a flow? It says in @ret_claim which one. */
static bool is_introduction(const struct nd_hold *h, const uint8_t *data, size_t n,
			    struct nd_claim *ret_claim)
{
	*ret_claim = (struct nd_claim){ .kind = ND_CLAIM_ALIEN };
	h->test->test.dialect->claim(data, n, true, ret_claim);
	return ret_claim->kind == ND_CLAIM_FLOW;
}

/*
 * Repeats of the first datagram; the answer to an earlier one was lost or is on its way. Anything else stays
 * where it is: a client that has begun while this thread was late sends what is to be measured, and the run
 * reads it.
 */
static void answer_repeats(struct nd_hold *h)
{
	for (int i = 0; i < REPEATS_AT_ONCE; i++) {
		uint8_t data[TOKEN_BYTES];
		struct nd_claim claim;
		ssize_t n = recv(h->fd, data, sizeof(data), MSG_DONTWAIT | MSG_PEEK);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			continue; /* an answer that was refused: told once, then cleared */
		if (!is_introduction(h, data, (size_t)n, &claim)) {
			nd_watch_free(h->watch);
			h->watch = NULL;
			return;
		}
		(void)!recv(h->fd, data, sizeof(data), MSG_DONTWAIT);
		if (claim.flow == h->flow && !memcmp(claim.key, h->test->key, sizeof(claim.key)))
			(void)answer(h->fd, &claim); /* lost: the client asks again */
	}
}

static void on_hold(void *user, bool readable, bool writable)
{
	(void)readable;
	(void)writable;
	answer_repeats(user);
}

static void drop_hold(struct nd_hold *h)
{
	nd_watch_free(h->watch);
	nd_close_p(&h->fd);
	free(h);
}

static void keep_hold(struct nd_hold *h)
{
	struct nd_server *s = h->test->server;

	h->older = s->newest_hold;
	if (h->older)
		h->older->younger = h;
	else
		s->oldest_hold = h;
	s->newest_hold = h;
	s->hold_n++;
	h->test->holds[h->flow] = h;
}

/* Answer what is there for the last time. */
static void let_go(struct nd_hold *h)
{
	struct nd_server *s = h->test->server;

	if (s->oldest_hold == h)
		s->oldest_hold = h->younger;
	else
		h->older->younger = h->younger;
	if (s->newest_hold == h)
		s->newest_hold = h->older;
	else
		h->younger->older = h->older;
	s->hold_n--;
	h->test->holds[h->flow] = NULL;
	answer_repeats(h);
	drop_hold(h);
}

static void let_go_beyond(struct nd_server *s, uint64_t most)
{
	struct nd_hold *h = s->oldest_hold, *younger;

	for (; h && s->hold_n > most; h = younger) {
		younger = h->younger;
		let_go(h);
	}
}

static struct nd_hold *make_hold(struct nd_served *c, const struct nd_addr *peer,
				 const struct nd_addr *local, uint64_t flow, struct nd_err *err)
{
	const struct nd_transport *udp = nd_transport_find("udp");
	struct nd_hold *h = calloc(1, sizeof(*h));

	if (!h || !udp) {
		free(h);
		(void)nd_fail(err, -ENOMEM, "no memory, or no transport, for a datagram flow");
		return NULL;
	}
	*h = (struct nd_hold){ .test = c, .flow = flow, .fd = -1, .peer = *peer };
	if (nd_datagram_peer(udp, &c->plan.sock, local, peer, &h->fd, err) < 0 ||
	    nd_watch_new(c->test.loop, h->fd, on_hold, h, &h->watch, err) < 0) {
		drop_hold(h);
		return NULL;
	}
	return h;
}

static int open_datagram(struct nd_served *c, const struct nd_addr *peer,
			 const struct nd_addr *local, const struct nd_claim *claim,
			 struct nd_err *err)
{
	struct nd_server *s = c->server;
	struct nd_hold *h;
	int copy;

	if (!s->hold_max)
		s->hold_max = ND_MAX(nd_fd_limit() / HOLD_SHARE, HOLDS_LEAST);
	let_go_beyond(s, s->hold_max - 1);
	if (!c->holds)
		c->holds = calloc(c->flows, sizeof(struct nd_hold *));
	if (!c->holds)
		return nd_fail(err, -ENOMEM, "no memory for datagram flows");
	h = make_hold(c, peer, local, claim->flow, err);
	if (!h)
		return err->code;
	copy = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0) {
		int r = nd_sysfail(err, "copying a datagram socket");

		drop_hold(h);
		return r;
	}
	mark_given(c, claim->flow);
	keep_hold(h);
	(void)answer(h->fd, claim); /* lost: the client asks again */
	return give(c, claim->flow, copy);
}

void nd_flows_datagram(struct nd_server *s, const struct nd_addr *peer, const struct nd_addr *local,
		       const struct nd_claim *claim)
{
	struct nd_served *c = find_test(s, claim->key);
	struct nd_err err = { 0 };

	if (!c)
		return;
	if (is_wanted(c, claim->flow, true)) {
		int r = open_datagram(c, peer, local, claim, &err);

		if (r == -EMFILE || r == -ENFILE)
			let_go_beyond(s, s->hold_n / 2); /* the client asks again */
		if (r < 0)
			nd_log(ND_LOG_DEBUG, "test %llu: flow %llu: %s",
			       (unsigned long long)c->number, (unsigned long long)claim->flow,
			       err.text);
	} else if (c->holds && claim->flow < c->flows && c->holds[claim->flow] &&
		   nd_addr_equal(&c->holds[claim->flow]->peer, peer)) {
		/* It came to the shared socket before the flow's own was connected. */
		(void)answer(c->holds[claim->flow]->fd, claim); /* lost: the client asks again */
	}
}

void nd_flows_release(struct nd_served *c)
{
	for (uint64_t i = 0; c->holds && i < c->flows; i++) {
		if (c->holds[i])
			let_go(c->holds[i]);
	}
	free(c->holds);
	c->holds = NULL;
}
