/* SPDX-License-Identifier: MIT */
/* Cases without sockets: histogram, pacing, loads, headers, sequence numbers, counters, payload. */
#include <stdlib.h>

#include "cost.h"
#include "frame/int.h"

enum { VALUES = 1024, BATCH = 64 };

#define SLOT   64u
#define ROUNDS 6400u

/* ---- histogram */

struct values {
	struct nd_hist *h;
	uint64_t ns[VALUES];
};

static void *prepare_hist(const struct cost_case *c)
{
	struct values *v = calloc(1, sizeof(*v));
	uint64_t x = 1;

	(void)c;
	if (!v || nd_hist_new(&v->h) < 0) {
		free(v);
		return NULL;
	}
	/* from some us to some ms, the same each time */
	for (uint32_t i = 0; i < VALUES; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		v->ns[i] = 5000 + (x >> 33) % (1ull << (11 + i % 12));
	}
	return v;
}

static void done_hist(void *state)
{
	struct values *v = state;

	nd_hist_free(v->h);
	free(v);
}

static void run_hist(void *state, uint64_t n)
{
	struct values *v = state;

	for (uint64_t i = 0; i < n; i++)
		nd_hist_record(v->h, v->ns[i % VALUES]);
}

/* ---- pacing and loads */

static void *prepare_pace(const struct cost_case *c)
{
	struct nd_pace *p = calloc(1, sizeof(*p));

	(void)c;
	if (p)
		nd_pace_init(p, 125e6, ND_NS_PER_MS);
	return p;
}

static void run_pace(void *state, uint64_t n)
{
	uint64_t now_ns = 0;

	for (uint64_t i = 0; i < n; i++)
		now_ns = nd_pace_take(state, 1400, now_ns);
}

struct shape {
	const struct nd_load *load;
	struct nd_workload wl;
	struct nd_event ev[2]; /* in turn */
	_Alignas(16) uint8_t state[512];
};

struct shape_arg {
	const char *load;
	double bytes_per_s;
	enum nd_happened what[2];
};

static void *prepare_shape(const struct cost_case *c)
{
	const struct shape_arg *a = c->arg;
	struct shape *s = calloc(1, sizeof(*s));
	struct nd_load_cfg cfg = {
		.active = true, .bytes_per_s = a->bytes_per_s, .batch_max = BATCH, .datagram = true
	};
	struct nd_event start = { .what = ND_HAP_START, .now_ns = 1 };
	struct nd_step step;
	struct nd_note note;

	if (!s)
		return NULL;
	s->load = nd_load_find(a->load);
	s->wl = (struct nd_workload){ .message_bytes = 14,
				      .request_bytes = 14,
				      .response_bytes = 14 };
	cfg.workload = &s->wl;
	if (!s->load || s->load->state_bytes > sizeof(s->state) ||
	    s->load->init(s->state, &cfg) < 0) {
		free(s);
		return NULL;
	}
	s->load->next(s->state, &start, &step, &note);
	for (unsigned i = 0; i < 2; i++)
		s->ev[i] = (struct nd_event){
			.what = a->what[i], .count = 1, .bytes = 14, .now_ns = 2, .begun_ns = 1
		};
	return s;
}

static void run_shape(void *state, uint64_t n)
{
	struct shape *s = state;
	struct nd_step step;
	struct nd_note note;

	for (uint64_t i = 0; i < n; i++) {
		struct nd_event *ev = &s->ev[i % 2];

		ev->now_ns += 1000;
		s->load->next(s->state, ev, &step, &note);
	}
}

/* ---- frames: n datagrams, 64 in a batch */

struct framed {
	const struct nd_frame *frame;
	struct nd_frame_state tx, rx;
	struct nd_seq seq;
	struct nd_counters c, sum;
	size_t bytes;
	struct iovec iov[BATCH];
	uint8_t room[BATCH][SLOT];
};

struct frame_arg {
	const char *frame;
	size_t bytes;
};

static void *prepare_frame(const struct cost_case *c)
{
	const struct frame_arg *a = c->arg;
	struct framed *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->frame = nd_frame_find(a->frame);
	f->bytes = a->bytes;
	if (!f->frame || a->bytes > SLOT) {
		free(f);
		return NULL;
	}
	f->tx.message_bytes = f->rx.message_bytes = a->bytes;
	f->tx.datagram = f->rx.datagram = true;
	f->rx.seq = &f->seq;
	f->frame->prepare(f->room, sizeof(f->room), ND_PAYLOAD_RANDOM, 1);
	for (unsigned i = 0; i < BATCH; i++)
		f->iov[i] = (struct iovec){ f->room[i], a->bytes };
	return f;
}

static void run_fill(void *state, uint64_t n)
{
	struct framed *f = state;
	struct nd_batch b = { .iov = f->iov, .n = BATCH, .now_ns = 1 };

	for (uint64_t i = 0; i < n; i += BATCH)
		f->frame->fill(&f->tx, &b);
}

static void run_fill_take(void *state, uint64_t n)
{
	struct framed *f = state;
	struct nd_batch b = { .iov = f->iov, .n = BATCH, .now_ns = 1 };

	for (uint64_t i = 0; i < n; i += BATCH) {
		f->frame->fill(&f->tx, &b);
		(void)f->frame->take(&f->rx, &b, &f->c, &f->sum); /* all are ours */
	}
}

static void run_header(void *state, uint64_t n)
{
	struct framed *f = state;

	for (uint64_t i = 0; i < n; i++)
		nd_header_put(f->room[i % BATCH], f->bytes, 7, i, i);
}

static void run_seq(void *state, uint64_t n)
{
	struct framed *f = state;

	for (uint64_t i = 0; i < n; i++)
		(void)nd_seq_take(&f->seq, i); /* the cost is what is asked */
}

/* ---- counters */

static void *prepare_counters(const struct cost_case *c)
{
	(void)c;
	return calloc(3, sizeof(struct nd_counters));
}

static void run_count(void *state, uint64_t n)
{
	struct nd_counters *c = state;

	for (uint64_t i = 0; i < n; i++)
		nd_count(&c->tx_bytes, i);
}

static void run_counters(void *state, uint64_t n)
{
	struct nd_counters *c = state;

	for (uint64_t i = 0; i < n; i++) {
		nd_counters_read(&c[0], &c[1]);
		nd_counters_add(&c[2], &c[1]);
		nd_counters_since(&c[1], &c[2], &c[0]);
	}
}

/* ---- payload: per KiB */

static void *prepare_payload(const struct cost_case *c)
{
	(void)c;
	return malloc(1024);
}

static void run_pattern_fill(void *state, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		nd_pattern_fill(state, 1024, 1, i * 1024);
}

static void run_pattern_check(void *state, uint64_t n)
{
	nd_pattern_fill(state, 1024, 1, 0);
	for (uint64_t i = 0; i < n; i++)
		(void)nd_pattern_check(state, 1024, 1, 0); /* the cost is what is asked */
}

static const struct frame_arg native_14 = { "native", 14 }, native_64 = { "native", 64 };
static const struct shape_arg free_stream = { "stream", 0, { ND_HAP_SENT, ND_HAP_SENT } };
static const struct shape_arg paced_stream = { "stream", 14e6, { ND_HAP_SENT, ND_HAP_SENT } };
static const struct shape_arg asking = { "rr", 0, { ND_HAP_SENT, ND_HAP_RECEIVED } };

/* clang-format off */
static const struct cost_case cases[] = {
	{ "hist-record",       ROUNDS, prepare_hist,     run_hist,          done_hist, NULL },
	{ "pace-take",         ROUNDS, prepare_pace,     run_pace,          NULL, NULL },
	{ "load-stream",       ROUNDS, prepare_shape,    run_shape,         NULL, &free_stream },
	{ "load-stream-paced", ROUNDS, prepare_shape,    run_shape,         NULL, &paced_stream },
	{ "load-rr",           ROUNDS, prepare_shape,    run_shape,         NULL, &asking },
	{ "header-put-14",     ROUNDS, prepare_frame,    run_header,        NULL, &native_14 },
	{ "header-put-64",     ROUNDS, prepare_frame,    run_header,        NULL, &native_64 },
	{ "frame-fill-14",     ROUNDS, prepare_frame,    run_fill,          NULL, &native_14 },
	{ "frame-fill-64",     ROUNDS, prepare_frame,    run_fill,          NULL, &native_64 },
	{ "frame-fill-take-14", ROUNDS, prepare_frame,   run_fill_take,     NULL, &native_14 },
	{ "frame-fill-take-64", ROUNDS, prepare_frame,   run_fill_take,     NULL, &native_64 },
	{ "seq-take",          ROUNDS, prepare_frame,    run_seq,           NULL, &native_14 },
	{ "count",             ROUNDS, prepare_counters, run_count,         NULL, NULL },
	{ "counters-read-add-since", ROUNDS, prepare_counters, run_counters, NULL, NULL },
	{ "pattern-fill-1KiB", 100,    prepare_payload,  run_pattern_fill,  NULL, NULL },
	{ "pattern-check-1KiB", 100,   prepare_payload,  run_pattern_check, NULL, NULL },
};

/* clang-format on */

void cost_parts(void)
{
	for (size_t i = 0; i < ND_COUNTOF(cases); i++)
		cost_measure(&cases[i]);
}
