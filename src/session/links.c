/* SPDX-License-Identifier: MIT */
/* The links and timers of a dialog, by the numbers it gives them. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/log.h"
#include "session/int.h"

#define LINKS_MAX  1024
#define TIMERS_MAX 64

struct nd_test_link {
	struct nd_test_link *next;
	struct nd_test *test; /* borrowed */
	unsigned number, port_class, index;
	bool was_up;
	struct nd_link *link; /* owned; NULL: connecting has failed at once */
};

struct nd_test_timer {
	struct nd_test_timer *next;
	struct nd_test *test; /* borrowed */
	unsigned number;
	struct nd_timer *timer; /* owned */
};

/* ---- links ---- */

static struct nd_test_link *find_link(struct nd_test *t, unsigned number)
{
	struct nd_test_link *s = t->links;

	while (s && s->number != number)
		s = s->next;
	return s;
}

/* Out of the list; the slot is freed, the link is the caller's. */
static struct nd_link *take_link(struct nd_test_link *s)
{
	struct nd_test_link **at = &s->test->links;
	struct nd_link *k = s->link;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	free(s);
	return k;
}

static struct nd_test_link *add_link(struct nd_test *t, unsigned number, unsigned port_class,
				     unsigned index)
{
	struct nd_test_link *s;
	unsigned n = 0;

	for (s = t->links; s; s = s->next)
		n++;
	s = n < LINKS_MAX ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		return NULL;
	*s = (struct nd_test_link){ .next = t->links,
				    .test = t,
				    .number = number,
				    .port_class = port_class,
				    .index = index };
	t->links = s;
	return s;
}

static void trace(const struct nd_test *t, const char *arrow, const void *data, size_t n)
{
	nd_auto_str line = { 0 };

	if (!t->trace || !t->dialect->print)
		return;
	t->dialect->print(data, n, &line);
	nd_log_line(arrow, nd_str_text(&line));
}

/* The addresses of the first link stand for the test. */
static void note_addresses(struct nd_test *t, const struct nd_link *k)
{
	if (t->local.len > 0)
		return;
	t->local = *nd_link_local(k);
	if (nd_link_peer(k)->len > 0) /* else it has gone already */
		t->peer = *nd_link_peer(k);
}

static void on_up(void *user)
{
	struct nd_test_link *s = user;
	struct nd_dialog_event ev = { .what = ND_DLG_LINK_UP,
				      .link = s->number,
				      .port_class = s->port_class,
				      .index = s->index };
	struct nd_test *t = s->test;
	struct nd_err err = { 0 };

	s->was_up = true;
	note_addresses(t, s->link);
	if (t->ops->up && t->ops->up(t->user, &err) < 0)
		nd_test_fail(t, ND_END_FAILED, &err);
	nd_test_feed(t, &ev);
}

static void on_message(void *user, const uint8_t *data, size_t n)
{
	struct nd_test_link *s = user;
	struct nd_dialog_event ev = {
		.what = ND_DLG_MESSAGE, .link = s->number, .data = data, .n = n
	};

	trace(s->test, "< ", data, n);
	nd_test_feed(s->test, &ev);
}

static void on_down(void *user, int error, const struct nd_err *err)
{
	struct nd_test_link *s = user;
	struct nd_test *t = s->test;
	struct nd_err why = { 0 };
	struct nd_dialog_event ev = { .what = ND_DLG_LINK_DOWN, .link = s->number, .error = error };

	if (err) {
		why = *err;
		ev.err = &why;
		if (!s->was_up && t->ops->explain)
			t->ops->explain(t->user, error, &why);
	}
	nd_link_free(take_link(s));
	nd_test_feed(t, &ev);
}

const struct nd_link_ops *nd_test_link_ops(void)
{
	static const struct nd_link_ops ops = { on_up, on_message, on_down };

	return &ops;
}

void nd_test_do_connect(struct nd_test *t, const struct nd_verb_item *v)
{
	struct nd_test_link *s = add_link(t, v->link, v->port_class, v->index);
	struct nd_dialog_event ev = {
		.what = ND_DLG_LINK_DOWN, .link = v->link, .error = -ENOMEM, .err = &t->refusal
	};
	int r;

	if (s && t->ops->connect) {
		r = t->ops->connect(t->user, v, s, &s->link, &t->refusal);
		if (r == 0)
			return;
		ev.error = r;
	} else {
		(void)nd_fail(&t->refusal, -ENOMEM, "no memory for another connection");
	}
	if (s)
		(void)take_link(s); /* there is none */
	nd_test_queue(t, &ev);
}

/* Takes @fd. */
static int adopt(struct nd_test_link *s, int fd, const uint8_t *data, size_t n, struct nd_err *err)
{
	struct nd_test *t = s->test;
	struct nd_dialog_event ev = { .what = ND_DLG_LINK_UP,
				      .link = s->number,
				      .port_class = s->port_class,
				      .index = s->index };
	struct nd_link_cfg cfg = { .dialect = t->dialect,
				   .ops = nd_test_link_ops(),
				   .user = s,
				   .port_class = s->port_class };
	int r = nd_link_adopt(t->loop, &cfg, fd, data, n, &s->link);

	if (r < 0) {
		(void)take_link(s); /* there is none */
		return nd_fail(err, r, "taking over a connection failed");
	}
	s->was_up = true;
	note_addresses(t, s->link);
	nd_test_feed(t, &ev);
	return 0;
}

int nd_test_adopt(struct nd_test *t, int fd, const uint8_t *data, size_t n, struct nd_err *err)
{
	nd_auto_fd int own = fd;
	struct nd_test_link *s = add_link(t, 0, 0, 0);

	if (!s)
		return nd_fail(err, -ENOMEM, "no memory for another connection");
	return adopt(s, nd_take_fd(&own), data, n, err);
}

int nd_test_adopt_at(struct nd_test *t, unsigned port_class, unsigned index, int fd,
		     struct nd_err *err)
{
	nd_auto_fd int own = fd;
	struct nd_test_link *s = add_link(t, t->adopted++, port_class, index);

	if (!s)
		return nd_fail(err, -ENOMEM, "no memory for another connection");
	return adopt(s, nd_take_fd(&own), NULL, 0, err);
}

void nd_test_do_send(struct nd_test *t, const struct nd_verb_item *v)
{
	struct nd_test_link *s = find_link(t, v->link);
	const char *data = nd_str_text(&t->verbs.data) + v->data_at;

	if (!s || !s->link)
		return; /* it went down a moment ago: the dialog will hear of it */
	trace(t, "> ", data, v->n);
	nd_link_send(s->link, data, v->n);
}

void nd_test_do_close(struct nd_test *t, unsigned number)
{
	struct nd_test_link *s = find_link(t, number);

	if (s)
		nd_link_close(take_link(s));
}

void nd_test_drop_links(struct nd_test *t, bool at_once)
{
	while (t->links) {
		struct nd_test_link *s = t->links;
		struct nd_link *k = s->link;

		t->links = s->next;
		free(s);
		if (at_once)
			nd_link_free(k);
		else
			nd_link_close(k);
	}
}

/* ---- timers ---- */

static void on_timer(void *user)
{
	struct nd_test_timer *s = user;
	struct nd_dialog_event ev = { .what = ND_DLG_TIMER, .timer = s->number };

	nd_test_feed(s->test, &ev);
}

void nd_test_do_timer(struct nd_test *t, unsigned number, uint64_t at_ns)
{
	struct nd_test_timer *s;
	struct nd_err err;
	unsigned n = 0;

	for (s = t->timers; s && s->number != number; s = s->next)
		n++;
	if (!s) {
		s = n < TIMERS_MAX ? calloc(1, sizeof(*s)) : NULL;
		if (!s || nd_timer_new(t->loop, on_timer, s, &s->timer) < 0) {
			free(s);
			(void)nd_fail(&err, -ENOMEM, "no memory for a timer");
			nd_test_fail(t, ND_END_FAILED, &err);
			return;
		}
		s->next = t->timers;
		s->test = t;
		s->number = number;
		t->timers = s;
	}
	nd_timer_set(s->timer, at_ns);
}

void nd_test_drop_timers(struct nd_test *t)
{
	while (t->timers) {
		struct nd_test_timer *s = t->timers;

		t->timers = s->next;
		nd_timer_free(s->timer);
		free(s);
	}
}
