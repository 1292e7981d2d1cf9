/* SPDX-License-Identifier: MIT */
/*
 * The main thread's event loop, timers and links: connect, accept, read and write framed messages. Knows
 * nothing of tests; callbacks do.
 */
#ifndef ND_CTL_CTL_H
#define ND_CTL_CTL_H

#include "base/err.h"
#include "base/str.h"
#include "dialect/dialect.h"
#include "net/net.h"

struct nd_loop;
struct nd_watch; /* a descriptor in the loop */
struct nd_timer;

/* Everything here belongs to the main thread. What returns int: 0, or negative errno. What frees accepts NULL. */

/** nd_loop_new() - an event loop with nothing in it. */
ND_MUST_CHECK int nd_loop_new(struct nd_loop **ret, struct nd_err *err);
/** nd_loop_free() - after everything that was made with it. */
void nd_loop_free(struct nd_loop *l);
/** nd_loop_run() - until nd_loop_quit(). Callbacks may add and remove anything, themselves included. */
ND_MUST_CHECK int nd_loop_run(struct nd_loop *l, struct nd_err *err);
/** nd_loop_quit() - leave nd_loop_run() when links that were given to nd_link_close() have flushed. */
void nd_loop_quit(struct nd_loop *l);
/** nd_loop_quit_now() - the same without waiting for anything. */
void nd_loop_quit_now(struct nd_loop *l);

typedef void (*nd_ready_fn)(void *user, bool readable, bool writable);
/** nd_watch_new() - have @fn called when the borrowed @fd can be read. */
ND_MUST_CHECK int nd_watch_new(struct nd_loop *l, int fd, nd_ready_fn fn, void *user,
			       struct nd_watch **ret, struct nd_err *err);
/** nd_watch_want() - what to wait for from now on. */
ND_MUST_CHECK int nd_watch_want(struct nd_watch *w, bool read, bool write);
/** nd_watch_free() - the descriptor is not closed: do that afterwards. */
void nd_watch_free(struct nd_watch *w);

typedef void (*nd_timer_fn)(void *user);
/** nd_timer_new() - a timer that is off. */
ND_MUST_CHECK int nd_timer_new(struct nd_loop *l, nd_timer_fn fn, void *user,
			       struct nd_timer **ret);
/** nd_timer_set() - one call at @at_ns, monotonic, in the place of an earlier setting. UINT64_MAX: off. */
void nd_timer_set(struct nd_timer *t, uint64_t at_ns);
/** nd_timer_free() - its function is not called any more. */
void nd_timer_free(struct nd_timer *t);

/** nd_loop_signals() - SIGINT, SIGTERM, SIGALRM (and SIGHUP) arrive as a call on the main thread. Blocks them;
 * they stay blocked behind nd_loop_free(): what comes then is the next loop's, or too late to change how it went. */
ND_MUST_CHECK int nd_loop_signals(struct nd_loop *l, void (*fn)(void *user, int signal), void *user,
				  struct nd_err *err);

/* A connection with buffers. Frames are cut by the dialect. */
struct nd_link;

struct nd_link_ops {
	void (*up)(void *user);                                     /* connected */
	void (*message)(void *user, const uint8_t *data, size_t n); /* one frame */
	void (*down)(void *user, int error,
		     const struct nd_err *err); /* free the link here or later */
};

/* Whose link it is. Copied. */
struct nd_link_cfg {
	const struct nd_dialect *dialect;
	const struct nd_link_ops *ops;
	void *user;
	unsigned port_class; /* in the dialect's list: how its bytes are cut */
};

/* Where a link goes. Copied. */
struct nd_link_target {
	const struct nd_addr *to; /* .to_n addresses, tried in this order */
	size_t to_n;
	const struct nd_addr *from; /* source address, NULL: any */
	const char *dev;            /* bind to this device, NULL: none */
	uint64_t deadline_ns;
};

/** nd_link_connect() - under way on return; up() or down() follows, at the latest at the deadline.
 * TCP_NODELAY and keep-alive are set. */
ND_MUST_CHECK int nd_link_connect(struct nd_loop *l, const struct nd_link_cfg *cfg,
				  const struct nd_link_target *target, struct nd_link **ret,
				  struct nd_err *err);
/** nd_link_adopt() - an accepted connection; @data/@n was read from it already. Takes @fd, also when it
 * fails. up() is not called; messages in @data follow from the loop. Return: 0 or negative errno. */
ND_MUST_CHECK int nd_link_adopt(struct nd_loop *l, const struct nd_link_cfg *cfg, int fd,
				const uint8_t *data, size_t n, struct nd_link **ret);
/** nd_link_send() - send @n bytes, in the background what the socket does not take now. More than 64 MiB in the queue ends the link. */
void nd_link_send(struct nd_link *k, const void *data, size_t n);
/** nd_link_close() - after what is queued, 5 s at most; then it frees itself, without a call-back. */
void nd_link_close(struct nd_link *k);
/** nd_link_free() - at once; callable from its own call-backs. */
void nd_link_free(struct nd_link *k);
/** nd_link_peer() - the other end's address; borrowed, as long as the link. */
const struct nd_addr *nd_link_peer(const struct nd_link *k);
/** nd_link_local() - this end's address; likewise. */
const struct nd_addr *nd_link_local(const struct nd_link *k);

/* Accepted connections that have not said yet what they are. */
struct nd_lobby;

struct nd_lobby_ops {
	bool (*welcome)(void *user,
			const struct nd_addr *peer); /* --allow; false: closed at once */
	/* A whole claim was made; take @fd. @rest/@rest_n: bytes read behind the claim. */
	void (*claimed)(void *user, int fd, const struct nd_addr *peer,
			const struct nd_claim *claim, const uint8_t *rest, size_t rest_n);
	void (*datagram)(void *user, int listen_fd, const struct nd_addr *peer,
			 const struct nd_addr *local, const struct nd_claim *claim);
};

struct nd_lobby_cfg {
	const struct nd_dialect *dialect;
	const struct nd_lobby_ops *ops; /* copied */
	void *user;
	uint64_t patience_ns; /* without a claim for this long: closed */
	unsigned max;         /* waiting at a time; when full, the oldest leaves */
};

/** nd_lobby_new() - serve listening sockets (stream and datagram) of one dialect. Accepts in batches;
 * EMFILE pauses accepting for 100 ms instead of spinning. */
ND_MUST_CHECK int nd_lobby_new(struct nd_loop *l, const struct nd_lobby_cfg *cfg,
			       struct nd_lobby **ret, struct nd_err *err);
/** nd_lobby_listen() - serve this listening socket, too. Takes @fd. */
ND_MUST_CHECK int nd_lobby_listen(struct nd_lobby *b, int fd, const struct nd_transport *t,
				  struct nd_err *err);
/** nd_lobby_waiting() - connections that have not said what they are. */
unsigned nd_lobby_waiting(const struct nd_lobby *b);
/** nd_lobby_free() - closes its listening sockets and whoever waits. */
void nd_lobby_free(struct nd_lobby *b);

#endif
