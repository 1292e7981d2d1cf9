/* SPDX-License-Identifier: MIT */
/* Links: framing of what arrives in any pieces, queues, closing, connecting with fall-back. */
#include <stdio.h>
#include <stdlib.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "ctl-kit.h"

struct seen {
	struct nd_loop *loop;
	struct nd_link *link;
	struct nd_timer *step;
	int fd; /* the other end */
	unsigned messages, downs, ups;
	size_t bytes, sent, close_after, free_after;
	int error;
	char text[512];
	const uint8_t *feed; /* written a byte at a time */
	size_t feed_n, feed_step;
	bool keep_open;
};

static void on_up(void *user)
{
	struct seen *s = user;

	s->ups++;
	nd_loop_quit(s->loop);
}

static void on_message(void *user, const uint8_t *data, size_t n)
{
	struct seen *s = user;

	assert_true(n >= 3 && data[0] == 'm');
	s->messages++;
	s->bytes += n;
	if (s->messages == s->free_after) {
		nd_link_free(s->link);
		s->link = NULL;
		nd_loop_quit(s->loop);
		assert_int_equal(data[n - 1], data[3]); /* still readable in this call */
	} else if (s->messages == s->close_after) {
		nd_link_close(s->link);
		s->link = NULL;
		(void)shutdown(s->fd, SHUT_WR);
		nd_loop_quit(s->loop);
	}
}

static void on_down(void *user, int error, const struct nd_err *err)
{
	struct seen *s = user;

	s->downs++;
	s->error = error;
	if (err)
		memcpy(s->text, err->text, sizeof(s->text));
	nd_link_free(s->link);
	s->link = NULL;
	nd_loop_quit(s->loop);
}

static const struct nd_link_ops ops = { on_up, on_message, on_down };

static void write_some(void *user)
{
	struct seen *s = user;
	size_t n = ND_MIN(s->feed_step, s->feed_n - s->sent);

	if (n > 0) {
		assert_int_equal(write(s->fd, s->feed + s->sent, n), (ssize_t)n);
		s->sent += n;
		nd_timer_set(s->step, 0);
	} else if (!s->keep_open) {
		(void)close(s->fd);
		s->fd = -1;
	}
}

static void begin(struct seen *s, const uint8_t *first, size_t n)
{
	const struct nd_link_cfg cfg = { &toy, &ops, s, 0 };
	struct nd_err err = { 0 };
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	s->fd = fd[1];
	if (nd_loop_new(&s->loop, &err) < 0 ||
	    nd_link_adopt(s->loop, &cfg, fd[0], first, n, &s->link) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(nd_timer_new(s->loop, write_some, s, &s->step), 0);
	nd_timer_set(s->step, 0);
}

static void end(struct seen *s)
{
	nd_link_free(s->link);
	nd_timer_free(s->step);
	nd_loop_free(s->loop);
	if (s->fd >= 0)
		(void)close(s->fd);
}

/* ---- what arrives ---- */

/* clang-format off */
static const struct {
	const char *what;
	size_t length[4];    /* of whole messages, 0: none */
	const char *behind;  /* bytes behind them */
	size_t step, first;  /* written at a time; read before the link was made */
	unsigned messages;
	int error;
} arrivals[] = {
	{ "nothing",               { 0 },              "",         1,   0, 0, 0 },
	{ "byte by byte",          { 5, 300, 1, 0 },   "",         1,   0, 3, 0 },
	{ "all at once",           { 5, 300, 1, 900 }, "",      4000,   0, 4, 0 },
	{ "sevens",                { 5, 300, 1, 900 }, "",         7,   0, 4, 0 },
	{ "read before",           { 5, 300, 1, 900 }, "",      4000,   9, 4, 0 },
	{ "all read before",       { 5, 0 },           "",         1,   8, 1, 0 },
	{ "torn",                  { 5, 0 },           "m\x01",    1,   0, 1, -ECONNRESET },
	{ "not a message",         { 5, 0 },           "x",        1,   0, 1, -EBADMSG },
	{ "not one, read before",  { 5, 0 },           "x",        9,   9, 1, -EBADMSG },
	{ "too large",             { 5, 0 },           "m\xff\xff", 1,  0, 1, -EMSGSIZE },
};

/* clang-format on */

static void frames_are_cut(void **state)
{
	(void)state;
	for (size_t row = 0; row < ND_COUNTOF(arrivals); row++) {
		struct seen s = { .feed_step = arrivals[row].step };
		uint8_t data[4096];
		size_t n = 0, first = arrivals[row].first;

		for (int i = 0; i < 4 && arrivals[row].length[i]; i++)
			n += toy_message(data + n, 'a', arrivals[row].length[i]);
		memcpy(data + n, arrivals[row].behind, strlen(arrivals[row].behind));
		n += strlen(arrivals[row].behind);
		s.feed = data + first;
		s.feed_n = n - first;
		begin(&s, data, first);
		kit_run(s.loop);
		if (s.messages != arrivals[row].messages || s.error != arrivals[row].error ||
		    s.downs != 1)
			fail_msg("row '%s': %u messages, error %d '%s', %u downs",
				 arrivals[row].what, s.messages, s.error, s.text, s.downs);
		end(&s);
	}
}

static void freed_inside_its_message(void **state)
{
	struct seen s = { .feed_step = 4000, .free_after = 2, .keep_open = true };
	uint8_t data[4000];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 5; i++)
		n += toy_message(data + n, 'z', 100);
	s.feed = data;
	s.feed_n = n;
	begin(&s, NULL, 0);
	kit_run(s.loop);
	assert_int_equal(s.messages, 2);
	assert_int_equal(s.downs, 0);
	end(&s);
}

/* ---- what leaves ---- */

struct reader {
	struct nd_watch *watch;
	int fd;
	size_t got;
	bool ended;
};

static void read_all(void *user, bool readable, bool writable)
{
	struct reader *r = user;
	char away[65536];
	ssize_t n = recv(r->fd, away, sizeof(away), MSG_DONTWAIT);

	(void)readable;
	(void)writable;
	if (n > 0) {
		r->got += (size_t)n;
		return;
	}
	if (n < 0 && errno == EAGAIN)
		return;
	assert_int_equal(n, 0); /* not reset: everything was delivered first */
	r->ended = true;
	assert_int_equal(nd_watch_want(r->watch, false, false), 0);
	(void)shutdown(r->fd, SHUT_RDWR);
}

/* 8 MiB wait in the queue when the link is closed; the peer has sent what nobody reads. All of it arrives. */
static void close_comes_after_the_queue(void **state)
{
	struct seen s = { .keep_open = true };
	struct reader r = { 0 };
	struct nd_err err;
	const size_t size = 1 << 20;
	uint8_t *block = calloc(1, size);

	(void)state;
	assert_non_null(block);
	begin(&s, NULL, 0);
	assert_int_equal(write(s.fd, "unread", 6), 6);
	for (int i = 0; i < 8; i++)
		nd_link_send(s.link, block, size);
	nd_link_close(s.link);
	s.link = NULL;
	r.fd = s.fd;
	assert_int_equal(nd_watch_new(s.loop, r.fd, read_all, &r, &r.watch, &err), 0);
	nd_loop_quit(s.loop); /* waits for what is queued */
	kit_run(s.loop);
	assert_true(r.ended);
	assert_int_equal(r.got, 8 * size);
	assert_int_equal(s.downs, 0);
	nd_watch_free(r.watch);
	end(&s);
	free(block);
}

static void loop_ends_a_closing_link(void **state)
{
	struct seen s = { .keep_open = true };
	uint8_t *block = calloc(1, 1 << 20);

	(void)state;
	assert_non_null(block);
	begin(&s, NULL, 0);
	nd_link_send(s.link, block, 1 << 20);
	nd_link_close(s.link); /* nobody reads it, nobody waits: no leak */
	s.link = NULL;
	nd_loop_quit_now(s.loop);
	kit_run(s.loop);
	end(&s);
	free(block);
}

static void full_queue_ends_the_link(void **state)
{
	struct seen s = { .keep_open = true };
	const size_t size = 8 << 20;
	uint8_t *block = calloc(1, size);

	(void)state;
	assert_non_null(block);
	begin(&s, NULL, 0);
	for (int i = 0; i < 10; i++)
		nd_link_send(s.link, block, size);
	assert_int_equal(s.downs, 0); /* not from inside */
	kit_run(s.loop);
	assert_int_equal(s.downs, 1);
	assert_int_equal(s.error, -ENOBUFS);
	end(&s);
	free(block);
}

static void closed_inside_its_message(void **state)
{
	struct seen s = { .feed_step = 4000, .close_after = 1, .keep_open = true };
	uint8_t data[4000];
	size_t n = toy_message(data, 'z', 100);

	(void)state;
	n += toy_message(data + n, 'z', 100);
	s.feed = data;
	s.feed_n = n;
	begin(&s, NULL, 0);
	kit_run(s.loop);
	assert_int_equal(s.messages, 1);
	assert_int_equal(s.downs, 0);
	end(&s);
}

/* ---- connecting ---- */

/* clang-format off */
static const struct {
	const char *what;
	const char *to; /* 'o' open, 'c' closed port, in order */
	int error;      /* 0: up */
} connects[] = {
	{ "open",             "o",   0 },
	{ "closed",           "c",   -ECONNREFUSED },
	{ "second one",       "co",  0 },
	{ "third one",        "cco", 0 },
	{ "all closed",       "ccc", -ECONNREFUSED },
	{ "no address",       "",    -ETIMEDOUT },
};

/* clang-format on */

static void connect_falls_back(void **state)
{
	struct nd_addr open, closed;
	int listener = kit_listen(SOCK_STREAM, &open), away = kit_listen(SOCK_STREAM, &closed);

	(void)state;
	(void)close(away);
	for (size_t row = 0; row < ND_COUNTOF(connects); row++) {
		struct seen s = { .fd = -1 };
		struct nd_addr to[3];
		struct nd_err err = { 0 };
		size_t n = strlen(connects[row].to);
		const struct nd_link_cfg cfg = { &toy, &ops, &s, 0 };
		const struct nd_link_target target = {
			.to = to, .to_n = n, .deadline_ns = nd_now_ns() + 5 * ND_NS_PER_S
		};

		for (size_t i = 0; i < n; i++)
			to[i] = connects[row].to[i] == 'o' ? open : closed;
		assert_int_equal(nd_loop_new(&s.loop, &err), 0);
		if (nd_link_connect(s.loop, &cfg, &target, &s.link, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(s.ups + s.downs, 0); /* never from inside */
		kit_run(s.loop);
		if (s.error != connects[row].error || s.ups != (connects[row].error == 0))
			fail_msg("row '%s': %d '%s', %u ups", connects[row].what, s.error, s.text,
				 s.ups);
		if (s.ups)
			assert_int_equal(nd_addr_port(nd_link_peer(s.link)), nd_addr_port(&open));
		end(&s);
	}
	(void)close(listener);
}

/* A listener whose queue is full does not answer: the deadline ends the attempt. */
static void connect_has_a_deadline(void **state)
{
	struct nd_addr at;
	int listener = kit_listen(SOCK_STREAM, &at), fillers[8];
	struct seen s = { .fd = -1 };
	struct nd_link_target target = { .to = &at, .to_n = 1 };
	const struct nd_link_cfg cfg = { &toy, &ops, &s, 0 };
	struct nd_err err = { 0 };

	(void)state;
	assert_int_equal(listen(listener, 0), 0);
	for (size_t i = 0; i < ND_COUNTOF(fillers); i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(fillers[i], &at.u.sa, at.len); /* under way is enough */
	}
	assert_int_equal(nd_loop_new(&s.loop, &err), 0);
	target.deadline_ns = nd_now_ns() + 50 * ND_NS_PER_MS;
	assert_int_equal(nd_link_connect(s.loop, &cfg, &target, &s.link, &err), 0);
	kit_run(s.loop);
	assert_int_equal(s.error, -ETIMEDOUT);
	end(&s);
	for (size_t i = 0; i < ND_COUNTOF(fillers); i++)
		(void)close(fillers[i]);
	(void)close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_cut),
		cmocka_unit_test(freed_inside_its_message),
		cmocka_unit_test(closed_inside_its_message),
		cmocka_unit_test(close_comes_after_the_queue),
		cmocka_unit_test(loop_ends_a_closing_link),
		cmocka_unit_test(full_queue_ends_the_link),
		cmocka_unit_test(connect_falls_back),
		cmocka_unit_test(connect_has_a_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
