/* SPDX-License-Identifier: MIT */
/* The lobby: listening sockets, and accepted connections until their first bytes say what they are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "ctl/ctl.h"
#include "ctl/int.h"

#define ACCEPT_BATCH 64
#define CLAIM_BYTES  256 /* no language needs more to show itself */
#define PAUSE_NS     (100 * ND_NS_PER_MS)
#define FRESH_NS     (1 * ND_NS_PER_S) /* a guest that came so lately is on its way in */

/* Connections that come one by one cost a wake-up each, on both CPUs. Behind so many that follow each other closely
 * those to come gather for a while. */
#define STREAM_OF 16u
#define NAP_NS    (500 * ND_NS_PER_US)
#define CLOSE_NS  (NAP_NS + 200 * ND_NS_PER_US)

/* A listening socket. */
struct door {
	struct door *next;
	struct nd_lobby *lobby; /* borrowed */
	int fd;                 /* owned */
	bool is_datagram;
	struct nd_watch *watch;
};

/* An accepted connection. In a list, oldest first: all have the same patience. */
struct guest {
	struct nd_trash trash;
	struct guest *older, *newer;
	struct nd_lobby *lobby; /* borrowed */
	int fd;                 /* owned */
	struct nd_watch *watch;
	struct nd_addr peer;
	uint64_t leaves_ns;
	uint8_t first[CLAIM_BYTES]; /* read already: all of it belongs to the claim */
	size_t first_n;
};

struct nd_lobby {
	struct nd_trash trash;
	struct nd_loop *loop; /* borrowed */
	const struct nd_dialect *dialect;
	struct nd_lobby_ops ops;
	void *user;
	uint64_t patience_ns;
	unsigned max, waiting;
	bool is_full;       /* doors are closed until half of the guests have left */
	unsigned close_n;   /* connections that followed each other closely */
	uint64_t opened_ns; /* the last time that the door opened for some */
	struct guest *oldest, *newest;
	struct door *doors;              /* owned */
	struct nd_timer *bell, *reopens; /* the oldest guest's time is up; accept again */
	bool dead;
};

static void set_doors(struct nd_lobby *b, bool open);

/* ---- guests ---- */

static void set_bell(struct nd_lobby *b)
{
	nd_timer_set(b->bell, b->oldest ? b->oldest->leaves_ns : UINT64_MAX);
}

/* Out of the list and of the loop; the descriptor goes to the caller. */
static int dismiss(struct guest *g)
{
	struct nd_lobby *b = g->lobby;

	if (g->older)
		g->older->newer = g->newer;
	else
		b->oldest = g->newer;
	if (g->newer)
		g->newer->older = g->older;
	else
		b->newest = g->older;
	b->waiting--;
	if (b->is_full && b->waiting <= b->max / 2)
		set_doors(b, true);
	nd_watch_free(g->watch);
	nd_loop_discard(b->loop, &g->trash, NULL);
	return nd_take_fd(&g->fd);
}

static void show_out(struct guest *g)
{
	int fd = dismiss(g);

	nd_close_p(&fd);
}

static void on_bell(void *user)
{
	struct nd_lobby *b = user;
	uint64_t now = nd_now_ns();

	while (b->oldest && b->oldest->leaves_ns <= now)
		show_out(b->oldest);
	set_bell(b);
}

/* Bytes of the claim that are still in the socket: eaten, so that the next reader begins behind them. */
static int eat(struct guest *g, size_t n)
{
	while (n > 0) {
		uint8_t away[CLAIM_BYTES];
		ssize_t got = recv(g->fd, away, ND_MIN(n, sizeof(away)), MSG_DONTWAIT);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EIO; /* they were seen a moment ago */
		n -= (size_t)got;
	}
	return 0;
}

static void let_in(struct guest *g, const struct nd_claim *claim)
{
	struct nd_lobby *b = g->lobby;
	size_t in_socket = claim->used > g->first_n ? claim->used - g->first_n : 0;
	size_t used = ND_MIN(claim->used, g->first_n);
	int fd;

	if (eat(g, in_socket) < 0) {
		show_out(g);
		return;
	}
	fd = dismiss(g); /* the guest's memory stays until the turn is over */
	b->ops.claimed(b->user, fd, &g->peer, claim, g->first + used, g->first_n - used);
}

/* Take an introduction; look at what has come beyond it without taking it: it may belong to a data flow that
 * somebody else reads. As recv(). */
static ssize_t listen_to(struct guest *g, bool *ret_taken)
{
	size_t intro = ND_MIN(g->lobby->dialect->intro_bytes, sizeof(g->first));
	bool takes = g->first_n < intro;
	size_t room = (takes ? intro : sizeof(g->first)) - g->first_n;

	*ret_taken = takes;
	return recv(g->fd, g->first + g->first_n, room, MSG_DONTWAIT | (takes ? 0 : MSG_PEEK));
}

static void on_guest(void *user, bool readable, bool writable)
{
	struct guest *g = user;
	struct nd_claim claim = { .kind = ND_CLAIM_MORE };
	size_t seen;
	bool taken;
	ssize_t n;

	(void)writable;
	if (!readable)
		return;
	n = listen_to(g, &taken);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		show_out(g);
		return;
	}
	seen = g->first_n + (size_t)n;
	g->first_n = taken ? seen : g->first_n;
	g->lobby->dialect->claim(g->first, seen, false, &claim);
	if (claim.kind == ND_CLAIM_CONTROL || claim.kind == ND_CLAIM_FLOW) {
		let_in(g, &claim);
		return;
	}
	/* Undecided bytes all belong to the claim. They are taken, or the loop would be woken for ever. */
	if (claim.kind == ND_CLAIM_MORE && seen < CLAIM_BYTES && eat(g, seen - g->first_n) == 0)
		g->first_n = seen;
	else
		show_out(g);
}

static void seat(struct nd_lobby *b, int fd, const struct nd_addr *peer)
{
	nd_auto_fd int own = fd;
	struct guest *g;

	if (b->waiting >= b->max && b->oldest)
		show_out(b->oldest);
	g = calloc(1, sizeof(*g));
	if (!g)
		return;
	*g = (struct guest){ .lobby = b, .fd = nd_take_fd(&own), .peer = *peer };
	g->leaves_ns = nd_now_ns() + b->patience_ns;
	g->older = b->newest;
	if (b->newest)
		b->newest->newer = g;
	else
		b->oldest = g;
	b->newest = g;
	b->waiting++;
	on_guest(g, true, false); /* who speaks at once need not wait */
	if (b->newest != g)
		return;
	if (nd_watch_new(b->loop, g->fd, on_guest, g, &g->watch, NULL) < 0)
		show_out(g);
	set_bell(b);
}

/* ---- doors ---- */

static void set_doors(struct nd_lobby *b, bool open)
{
	bool done = true;

	b->is_full = false;

	for (struct door *d = b->doors; d; d = d->next) {
		if (!d->is_datagram && nd_watch_want(d->watch, open, false) < 0)
			done = false;
	}
	nd_timer_set(b->reopens, open && done ? UINT64_MAX : nd_now_ns() + PAUSE_NS);
}

static void on_reopen(void *user)
{
	set_doors(user, true);
}

static bool is_out_of_resources(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* Accept once. Return: false when there is nothing more for now. */
static bool accept_one(struct nd_lobby *b, int listen_fd)
{
	struct nd_addr peer = { .len = sizeof(peer.u) };
	nd_auto_fd int fd = accept4(listen_fd, &peer.u.sa, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && is_out_of_resources(errno)) {
		nd_log(ND_LOG_DEBUG,
		       "no descriptor for a new connection: accepting again in 100 ms");
		b->opened_ns = 0; /* it is no stream that has paused */
		set_doors(b, false);
		return false;
	}
	if (fd < 0)
		return errno != EAGAIN; /* others concern one connection */
	if (b->ops.welcome(b->user, &peer) && !b->dead)
		seat(b, nd_take_fd(&fd), &peer);
	return true;
}

/* Full of guests that have only just come: they are on their way in, and the next ones wait in the backlog. Those who
 * sit there for longer make place instead, one by one. */
static bool is_crowded(const struct nd_lobby *b)
{
	return b->waiting >= b->max && b->oldest &&
	       b->oldest->leaves_ns > nd_now_ns() + b->patience_ns - FRESH_NS;
}

/* All that were there were taken, @n of them: do more come? */
static bool is_stream(struct nd_lobby *b, unsigned n)
{
	uint64_t now_ns = nd_now_ns(), gap_ns = now_ns - b->opened_ns;

	b->opened_ns = now_ns;
	b->close_n = n > 0 && gap_ns < CLOSE_NS ? b->close_n + n : 0;
	return b->close_n >= STREAM_OF;
}

static void nap(struct nd_lobby *b)
{
	set_doors(b, false);
	nd_timer_set(b->reopens, nd_now_ns() + NAP_NS);
}

static void on_stream_door(void *user, bool readable, bool writable)
{
	struct door *d = user;
	struct nd_lobby *b = d->lobby;

	(void)readable;
	(void)writable;
	for (int i = 0; i < ACCEPT_BATCH && !b->dead; i++) {
		if (is_crowded(b)) {
			set_doors(b, false);
			b->is_full = true;
			return;
		}
		if (!accept_one(b, d->fd)) {
			if (!b->dead && is_stream(b, (unsigned)i))
				nap(b);
			return;
		}
	}
}

static void on_datagram_door(void *user, bool readable, bool writable)
{
	struct door *d = user;
	struct nd_lobby *b = d->lobby;

	(void)readable;
	(void)writable;
	for (int i = 0; i < ACCEPT_BATCH && !b->dead; i++) {
		uint8_t data[CLAIM_BYTES];
		struct nd_claim claim = { .kind = ND_CLAIM_ALIEN };
		struct nd_addr peer, local;
		ssize_t n = nd_recv_to(d->fd, data, sizeof(data), &peer, &local);

		if (n == -EAGAIN)
			break;
		if (n < 0)
			continue; /* an error that an earlier datagram left on the socket */
		b->dialect->claim(data, (size_t)n, true, &claim);
		if (claim.kind == ND_CLAIM_FLOW && b->ops.welcome(b->user, &peer) && !b->dead)
			b->ops.datagram(b->user, d->fd, &peer, &local, &claim);
	}
}

int nd_lobby_listen(struct nd_lobby *b, int fd, const struct nd_transport *t, struct nd_err *err)
{
	nd_auto_fd int own = fd;
	nd_auto_free void *memory = calloc(1, sizeof(struct door));
	struct door *d = memory;
	int r;

	if (!d)
		return nd_fail(err, -ENOMEM, "no memory for a listening socket");
	*d = (struct door){ .lobby = b, .fd = fd, .is_datagram = t->caps & ND_NET_DATAGRAM };
	r = nd_watch_new(b->loop, fd, d->is_datagram ? on_datagram_door : on_stream_door, d,
			 &d->watch, err);
	if (r < 0)
		return r;
	(void)nd_take_fd(&own);
	d->next = b->doors;
	b->doors = nd_take_ptr(memory);
	return 0;
}

/* ---- the lobby ---- */

int nd_lobby_new(struct nd_loop *l, const struct nd_lobby_cfg *cfg, struct nd_lobby **ret,
		 struct nd_err *err)
{
	struct nd_lobby *b = calloc(1, sizeof(*b));

	if (!b)
		return nd_fail(err, -ENOMEM, "no memory for the lobby");
	*b = (struct nd_lobby){ .loop = l,
				.dialect = cfg->dialect,
				.ops = *cfg->ops,
				.user = cfg->user,
				.patience_ns = cfg->patience_ns,
				.max = cfg->max };
	if (nd_timer_new(l, on_bell, b, &b->bell) < 0 ||
	    nd_timer_new(l, on_reopen, b, &b->reopens) < 0) {
		nd_lobby_free(b);
		return nd_fail(err, -ENOMEM, "no memory for the lobby");
	}
	*ret = b;
	return 0;
}

unsigned nd_lobby_waiting(const struct nd_lobby *b)
{
	return b->waiting;
}

static void release_lobby(struct nd_trash *t)
{
	struct nd_lobby *b = (struct nd_lobby *)t;

	while (b->doors) {
		struct door *d = b->doors;

		b->doors = d->next;
		free(d);
	}
	free(b);
}

void nd_lobby_free(struct nd_lobby *b)
{
	if (!b || b->dead)
		return;
	b->dead = true;
	while (b->oldest)
		show_out(b->oldest);
	for (struct door *d = b->doors; d; d = d->next) {
		nd_watch_free(d->watch);
		nd_close_p(&d->fd);
	}
	nd_timer_free(b->bell);
	nd_timer_free(b->reopens);
	nd_loop_discard(b->loop, &b->trash, release_lobby);
}
