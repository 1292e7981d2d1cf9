/* SPDX-License-Identifier: MIT */
/* Links: one connection each, with a queue out and a buffer in that the dialect cuts into messages. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "ctl/ctl.h"
#include "ctl/int.h"

#define QUEUE_MAX       ((size_t)64 << 20)
#define BUFFER_FIRST    4096u
#define BUFFER_KEPT     65536u /* a larger one, after a result, goes back to the system */
#define READ_BUDGET     ((size_t)1 << 18) /* per wake, so that one link does not hold the others up */
#define CLOSE_NS        (5 * ND_NS_PER_S)
#define FAREWELL_NS     ND_NS_PER_S /* flushed: how long the peer may take to close its side */
#define USER_TIMEOUT_MS 10000

enum link_state { LINK_CONNECTING, LINK_UP, LINK_DOWN, LINK_FLUSHING, LINK_FAREWELL };

struct bytes {
	uint8_t *data; /* owned */
	size_t from, to, room;
};

struct nd_link {
	struct nd_trash trash;
	struct nd_linger linger;
	struct nd_loop *loop; /* borrowed */
	const struct nd_dialect *dialect;
	unsigned port_class;
	struct nd_link_ops ops;
	void *user;
	enum link_state state;
	bool dead;
	int fd; /* owned, -1 */
	struct nd_watch *watch;
	struct nd_timer *timer;
	struct bytes in, out;

	int broken; /* negative errno that down() shall tell, from the timer */
	struct nd_err why;

	struct nd_addr *to; /* owned; connecting */
	size_t to_n, next;
	struct nd_addr from;
	bool has_from;
	char *dev; /* owned, NULL */
	uint64_t deadline_ns;
	struct nd_addr peer, local;
};

/* ---- buffers ---- */

/* Room for @n more bytes behind .to. */
static int make_room(struct bytes *b, size_t n)
{
	size_t room = b->room ? b->room : BUFFER_FIRST;
	uint8_t *data;

	if (b->from > 0 && (b->from == b->to || b->room - b->to < n)) {
		memmove(b->data, b->data + b->from, b->to - b->from);
		b->to -= b->from;
		b->from = 0;
	}
	if (b->room - b->to >= n)
		return 0;
	while (room - b->to < n)
		room *= 2;
	data = realloc(b->data, room);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->room = room;
	return 0;
}

static int append(struct bytes *b, const void *data, size_t n)
{
	int r = make_room(b, n);

	if (r < 0)
		return r;
	if (n > 0)
		memcpy(b->data + b->to, data, n);
	b->to += n;
	return 0;
}

static void drop_buffer(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){ 0 };
}

/* ---- the end ---- */

static void close_socket(struct nd_link *k)
{
	nd_watch_free(k->watch);
	k->watch = NULL;
	nd_close_p(&k->fd);
}

static void release_link(struct nd_trash *t)
{
	struct nd_link *k = (struct nd_link *)t;

	drop_buffer(&k->in);
	free(k);
}

void nd_link_free(struct nd_link *k)
{
	if (!k || k->dead)
		return;
	k->dead = true;
	if (k->state == LINK_FLUSHING || k->state == LINK_FAREWELL)
		nd_loop_leave(k->loop, &k->linger);
	close_socket(k);
	nd_timer_free(k->timer);
	free(k->to);
	free(k->dev);
	drop_buffer(&k->out);
	/* A caller further up may still stand in the input buffer: it goes when the turn is over. */
	nd_loop_discard(k->loop, &k->trash, release_link);
}

static void end_linger(struct nd_linger *g)
{
	nd_link_free((struct nd_link *)(void *)((char *)g - offsetof(struct nd_link, linger)));
}

/* The last thing an owner hears. */
static void go_down(struct nd_link *k, int error, const struct nd_err *why)
{
	if (k->state == LINK_FLUSHING || k->state == LINK_FAREWELL) {
		nd_link_free(k);
		return;
	}
	k->state = LINK_DOWN;
	nd_timer_set(k->timer, UINT64_MAX);
	close_socket(k);
	k->ops.down(k->user, error, why);
}

static void go_down_sys(struct nd_link *k, int error, const char *doing)
{
	struct nd_err why;

	errno = -error;
	(void)nd_sysfail(&why, "%s", doing); /* the code is known */
	go_down(k, error, &why);
}

/* From a place where the owner does not expect a call: down() comes with the loop. */
static void go_down_later(struct nd_link *k, int error, const char *words)
{
	if (k->broken != 0)
		return;
	k->broken = nd_fail(&k->why, error, "%s", words);
	nd_timer_set(k->timer, 0);
}

/* ---- writing ---- */

/* Write until the socket is full. Return: bytes written, negative errno. */
static ssize_t write_some(const struct nd_link *k, const uint8_t *data, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t w = send(k->fd, data + done, n - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0 && errno == EAGAIN)
			break;
		if (w < 0)
			return -errno;
		done += (size_t)w;
	}
	return (ssize_t)done;
}

static int flush(struct nd_link *k, bool *ret_empty)
{
	ssize_t n = write_some(k, k->out.data + k->out.from, k->out.to - k->out.from);

	if (n < 0)
		return (int)n;
	k->out.from += (size_t)n;
	*ret_empty = k->out.from == k->out.to;
	if (*ret_empty && k->out.room > BUFFER_FIRST)
		drop_buffer(&k->out);
	return nd_watch_want(k->watch, true, !*ret_empty);
}

/* The peer may have sent what nobody read: closing now would reset the connection and could take our
 * last message with it. So our side is closed, and the peer's is read until it ends. */
static void begin_farewell(struct nd_link *k)
{
	(void)shutdown(k->fd, SHUT_WR); /* a peer that is gone ends the reading too */
	k->state = LINK_FAREWELL;
	nd_timer_set(k->timer, nd_now_ns() + FAREWELL_NS);
}

static void write_more(struct nd_link *k)
{
	bool empty = false;
	int r = flush(k, &empty);

	if (r < 0)
		go_down_sys(k, r, "writing to the peer");
	else if (empty && k->state == LINK_FLUSHING)
		begin_farewell(k);
}

void nd_link_send(struct nd_link *k, const void *data, size_t n)
{
	bool was_empty = k->out.from == k->out.to;
	ssize_t done = 0;

	if (k->dead || k->broken != 0 || k->state == LINK_DOWN)
		return;
	if (n > QUEUE_MAX - (k->out.to - k->out.from)) {
		go_down_later(k, -ENOBUFS, "the peer does not read: 64 MiB are waiting for it");
		return;
	}
	if (k->state == LINK_UP && was_empty) /* only what the socket does not take is copied */
		done = write_some(k, data, n);
	if (done < 0) {
		go_down_later(k, (int)done, "writing to the peer failed");
		return;
	}
	if ((size_t)done == n)
		return;
	if (append(&k->out, (const uint8_t *)data + done, n - (size_t)done) < 0) {
		go_down_later(k, -ENOMEM, "no memory for a message");
		return;
	}
	if (k->state == LINK_UP && was_empty && nd_watch_want(k->watch, true, true) < 0)
		go_down_later(k, -ENOMEM, "writing to the peer failed");
}

void nd_link_close(struct nd_link *k)
{
	if (!k || k->dead)
		return;
	if (k->state != LINK_UP || k->broken != 0) {
		nd_link_free(k);
		return;
	}
	k->state = LINK_FLUSHING;
	nd_loop_linger(k->loop, &k->linger);
	nd_timer_set(k->timer, nd_now_ns() + CLOSE_NS);
	if (k->out.from == k->out.to)
		begin_farewell(k);
}

/* ---- reading ---- */

static bool is_listening(const struct nd_link *k)
{
	return !k->dead && k->state == LINK_UP && k->broken == 0;
}

/* Hand every whole message on. The owner may free or close the link in each call. */
static void cut_messages(struct nd_link *k)
{
	while (is_listening(k) && k->in.from < k->in.to) {
		const uint8_t *at = k->in.data + k->in.from;
		size_t have = k->in.to - k->in.from;
		ssize_t n = k->dialect->message_bytes(at, have, k->port_class);

		if (n == 0 && have > k->dialect->message_max)
			n = -EMSGSIZE;
		if (n == 0)
			return;
		if (n < 0) {
			go_down_sys(k, (int)n, "the peer sent what is no message");
			return;
		}
		k->in.from += (size_t)n;
		k->ops.message(k->user, at, (size_t)n);
		if (k->in.from == k->in.to && k->in.room > BUFFER_KEPT)
			drop_buffer(&k->in);
	}
}

/* Read once. Return: bytes, 0 at the end of the stream, negative errno. */
static ssize_t read_some(struct nd_link *k)
{
	int r = make_room(&k->in, 1);
	ssize_t n;

	if (r < 0)
		return r;
	do
		n = recv(k->fd, k->in.data + k->in.to, k->in.room - k->in.to, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	k->in.to += (size_t)n;
	return n;
}

static void read_more(struct nd_link *k)
{
	cut_messages(
		k); /* an adopted link may hold some, and the peer may have closed behind them */
	for (size_t got = 0; is_listening(k) && got < READ_BUDGET;) {
		ssize_t n = read_some(k);

		if (n == -EAGAIN)
			return;
		if (n < 0) {
			go_down_sys(k, (int)n, "reading from the peer");
			return;
		}
		if (n == 0) {
			bool torn = k->in.from < k->in.to;

			if (torn)
				go_down_sys(k, -ECONNRESET, "closed in the middle of a message");
			else
				go_down(k, 0, NULL);
			return;
		}
		got += (size_t)n;
		cut_messages(k);
	}
}

/* After nd_link_close(): whatever comes is of no interest, until the peer closes its side. */
static void read_away(struct nd_link *k)
{
	for (size_t got = 0; got < READ_BUDGET;) {
		ssize_t n;

		k->in.from = k->in.to = 0;
		n = read_some(k);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			nd_link_free(k);
			return;
		}
		got += (size_t)n;
	}
}

/* ---- connecting ---- */

static void try_next(struct nd_link *k);

/* The socket is connected: options that need no answer, then the owner hears of it. */
static int settle(struct nd_link *k)
{
	const int on = 1, idle_s = 5, step_s = 2, user_ms = USER_TIMEOUT_MS;

	k->peer.len = k->local.len = sizeof(k->peer.u);
	if (getpeername(k->fd, &k->peer.u.sa, &k->peer.len) < 0)
		k->peer.len = 0;
	if (getsockname(k->fd, &k->local.u.sa, &k->local.len) < 0)
		k->local.len = 0;
	/* Not every kind of socket has these; a link works without them. */
	(void)setsockopt(k->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(k->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(k->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(k->fd, IPPROTO_TCP, TCP_KEEPINTVL, &step_s, sizeof(step_s));
	(void)setsockopt(k->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof(user_ms));
	k->state = LINK_UP;
	return nd_watch_want(k->watch, true, k->out.from < k->out.to);
}

static void finish_connect(struct nd_link *k)
{
	int r = nd_open_result(k->fd);

	if (r == 0)
		r = settle(k);
	if (r == 0) {
		nd_timer_set(k->timer, UINT64_MAX);
		k->ops.up(k->user);
		return;
	}
	k->broken = r;
	errno = -r;
	(void)nd_sysfail(&k->why, "connecting"); /* the code is in .broken */
	close_socket(k);
	try_next(k);
}

static void on_ready(void *user, bool readable, bool writable)
{
	struct nd_link *k = user;

	if (k->state == LINK_CONNECTING) {
		finish_connect(k);
		return;
	}
	if (writable && k->broken == 0)
		write_more(k);
	if (!readable || k->dead)
		return;
	if (k->state == LINK_UP)
		read_more(k);
	else
		read_away(k);
}

static bool fits_source(const struct nd_link *k, const struct nd_addr *to)
{
	return !k->has_from || k->from.u.sa.sa_family == to->u.sa.sa_family;
}

/* Start with one address. Return: 0 under way, negative errno. */
static int try_one(struct nd_link *k, const struct nd_addr *to)
{
	const struct nd_sockopts opts = { .nodelay = true };
	const struct nd_transport *tcp = nd_transport_find("tcp");
	int r;

	if (!tcp)
		return nd_fail(&k->why, -EPROTONOSUPPORT, "there is no transport 'tcp'");
	if (!fits_source(k, to))
		return nd_fail(&k->why, -EAFNOSUPPORT,
			       "the source address is of another family than the peer's");
	r = nd_open(tcp, &opts, to, k->has_from ? &k->from : NULL, k->dev, &k->fd, &k->why);
	if (r < 0)
		return r;
	r = nd_watch_new(k->loop, k->fd, on_ready, k, &k->watch, &k->why);
	if (r == 0)
		r = nd_watch_want(k->watch, false, true);
	if (r < 0)
		close_socket(k);
	return r;
}

/* The addresses that are left share the time that is left. When none is, down() follows from the timer. */
static void try_next(struct nd_link *k)
{
	uint64_t now = nd_now_ns();

	while (k->next < k->to_n && now < k->deadline_ns) {
		uint64_t left = k->to_n - k->next;
		int r = try_one(k, &k->to[k->next++]);

		if (r == 0) {
			k->broken = 0;
			nd_timer_set(k->timer, now + (k->deadline_ns - now) / left);
			return;
		}
		k->broken = r;
	}
	if (k->broken == 0)
		k->broken = nd_fail(&k->why, -ETIMEDOUT, "no answer");
	nd_timer_set(k->timer, 0);
}

static void on_timer(void *user)
{
	struct nd_link *k = user;

	if (k->state == LINK_FLUSHING || k->state == LINK_FAREWELL) {
		nd_link_free(k);
	} else if (k->broken != 0) {
		struct nd_err why = k->why;

		go_down(k, k->broken, &why);
	} else if (k->state == LINK_CONNECTING) {
		close_socket(k);
		k->broken = nd_fail(&k->why, -ETIMEDOUT, "no answer within the time allowed");
		try_next(k);
	} else if (k->state == LINK_UP) {
		cut_messages(k); /* what was read before the link was adopted */
	}
}

/* ---- birth ---- */

static int make_link(struct nd_loop *l, const struct nd_link_cfg *cfg, struct nd_link **ret)
{
	struct nd_link *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	*k = (struct nd_link){ .loop = l,
			       .dialect = cfg->dialect,
			       .port_class = cfg->port_class,
			       .ops = *cfg->ops,
			       .user = cfg->user,
			       .linger.end = end_linger,
			       .fd = -1 };
	r = nd_timer_new(l, on_timer, k, &k->timer);
	if (r < 0) {
		free(k);
		return r;
	}
	*ret = k;
	return 0;
}

int nd_link_connect(struct nd_loop *l, const struct nd_link_cfg *cfg,
		    const struct nd_link_target *target, struct nd_link **ret, struct nd_err *err)
{
	struct nd_link *k = NULL;
	size_t n = target->to_n;

	if (make_link(l, cfg, &k) < 0)
		return nd_fail(err, -ENOMEM, "no memory for a connection");
	k->to = calloc(n ? n : 1, sizeof(*k->to));
	k->dev = target->dev ? strdup(target->dev) : NULL;
	if (!k->to || (target->dev && !k->dev)) {
		nd_link_free(k);
		return nd_fail(err, -ENOMEM, "no memory for a connection");
	}
	for (k->to_n = 0; k->to_n < n; k->to_n++)
		k->to[k->to_n] = target->to[k->to_n];
	k->has_from = target->from != NULL;
	if (target->from)
		k->from = *target->from;
	k->deadline_ns = target->deadline_ns;
	if (n > 0)
		k->peer = target->to[0];
	*ret = k;
	try_next(k);
	return 0;
}

int nd_link_adopt(struct nd_loop *l, const struct nd_link_cfg *cfg, int fd, const uint8_t *data,
		  size_t n, struct nd_link **ret)
{
	nd_auto_fd int own = fd;
	struct nd_link *k = NULL;
	int r = make_link(l, cfg, &k);

	if (r < 0)
		return r;
	k->fd = nd_take_fd(&own);
	r = nd_nonblock(k->fd, true, NULL);
	if (r == 0)
		r = nd_watch_new(l, k->fd, on_ready, k, &k->watch, NULL);
	if (r == 0)
		r = append(&k->in, data, n);
	if (r == 0)
		r = settle(k);
	if (r < 0) {
		nd_link_free(k);
		return r;
	}
	if (n > 0)
		nd_timer_set(k->timer, 0);
	*ret = k;
	return 0;
}

const struct nd_addr *nd_link_peer(const struct nd_link *k)
{
	return &k->peer;
}

const struct nd_addr *nd_link_local(const struct nd_link *k)
{
	return &k->local;
}
