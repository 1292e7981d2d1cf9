/* SPDX-License-Identifier: MIT */
/* Shared by the fuzz targets of tools' dialogs: input eaten byte by byte, one dialog that is fed and its verbs judged. */
#ifndef ND_FUZZ_DIALOG_H
#define ND_FUZZ_DIALOG_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/dialect.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TIMERS_MAX 3u

struct input {
	const uint8_t *data;
	size_t size;
};

struct dialog {
	const struct nd_dialect *d;
	void *state, *set; /* .set: the face's settings, the target's */
	struct nd_plan plan;
	struct nd_verbs verbs;
	uint64_t now_ns, timer[TIMERS_MAX];
	unsigned timers, endings, prepares;
	/* The target's: what stands in a verb beyond what all have alike, and one message from the peer. */
	void (*carry)(struct dialog *x, const struct nd_verb_item *v);
	void (*say)(struct dialog *x, unsigned link, const uint8_t *m, size_t n);
};

static inline void check(bool good)
{
	if (!good)
		abort();
}

static inline uint8_t byte(struct input *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

static inline void carry_any(struct dialog *x, const struct nd_verb_item *v)
{
	if (v->what == ND_DO_DONE || v->what == ND_DO_FAIL) {
		x->endings++;
		check(v->what == ND_DO_DONE || (v->err.code < 0 && v->err.text[0]));
	} else if (v->what == ND_DO_TIMER) {
		check(v->timer < x->timers);
		x->timer[v->timer] = v->at_ns;
	} else {
		x->carry(x, v);
	}
}

static inline void feed(struct dialog *x, struct nd_dialog_event ev)
{
	bool was_over = x->endings > 0;

	x->now_ns += ND_NS_PER_MS;
	ev.now_ns = x->now_ns;
	nd_verbs_reset(&x->verbs);
	x->d->event(x->state, &ev, &x->verbs);
	check(!was_over || x->verbs.n == 0);
	for (size_t i = 0; i < x->verbs.n; i++)
		carry_any(x, &x->verbs.v[i]);
	check(x->endings <= 1);
}

/* As a link would cut them, from one read. */
static inline void messages(struct dialog *x, unsigned link, unsigned port_class, struct input *in)
{
	size_t n = (size_t)byte(in) << 8, at = 0;

	n |= byte(in);
	n = ND_MIN(n, in->size);
	while (at < n) {
		uint8_t *copy = malloc(n - at);
		ssize_t used;

		check(copy != NULL);
		memcpy(copy, in->data + at, n - at);
		used = x->d->message_bytes(copy, n - at, port_class);
		check(used <= (ssize_t)(n - at));
		if (used > 0)
			x->say(x, link, copy, (size_t)used);
		free(copy);
		if (used <= 0)
			break;
		at += (size_t)used;
	}
	in->data += n;
	in->size -= n;
}

/* Timers fire when they are due; the byte says which one is looked at. */
static inline void timer(struct dialog *x, uint8_t which)
{
	unsigned i = which % x->timers;

	if (x->timer[i] == UINT64_MAX)
		return;
	x->now_ns = ND_MAX(x->now_ns, x->timer[i]);
	x->timer[i] = UINT64_MAX;
	feed(x, (struct nd_dialog_event){ .what = ND_DLG_TIMER, .timer = i });
}

/* From the opening to the last byte of @in; @play takes one record. */
static inline void run_dialog(struct dialog *x, enum nd_end_kind end, struct input *in,
			      void (*play)(struct dialog *x, struct input *in))
{
	struct nd_dialog_cfg cfg = { .plan = &x->plan, .cpus = 2, .end = end };
	struct nd_dialog_facts facts;

	memset(x->timer, 0xff, sizeof(x->timer));
	x->now_ns = ND_NS_PER_S;
	x->state = calloc(1, x->d->state_bytes);
	check(x->state && x->d->open(x->state, &cfg, NULL) == 0);
	feed(x, (struct nd_dialog_event){ .what = ND_DLG_OPEN });
	while (in->size > 0)
		play(x, in);
	x->d->facts(x->state, &facts);
	x->d->close(x->state);
	free(x->state);
	nd_verbs_done(&x->verbs);
	nd_plan_done(&x->plan);
}

#endif
