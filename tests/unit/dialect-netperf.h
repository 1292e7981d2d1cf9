/* SPDX-License-Identifier: MIT */
/*
 * One netperf dialog in memory. What it asks for is written down as words, which tests compare with a transcript:
 *   connect LINK  LINK<TYPE (sent)  close LINK  prepare  restart  start  socket  propose  finish  stop
 *   done[+peer][: reason]  fail[ peer]: sentence
 * Messages are compared as rows of four words, "000: 00000061 ffffffff", those that are all zero left out.
 */
#ifndef ND_TESTS_DIALECT_NETPERF_H
#define ND_TESTS_DIALECT_NETPERF_H

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "dialect/dialect.h"
#include "plan/netperf.h"

#define MESSAGE 656u
#define TIMERS  2u

enum { DEADLINE, END };

struct bench {
	struct nd_plan plan;
	struct nd_netperf set;
	void *state;
	struct nd_verbs verbs;
	struct nd_str log;
	uint8_t sent[MESSAGE], first[MESSAGE]; /* to link 0: the last one, and the one before */
	uint64_t now_ns, timer[TIMERS], quiet_ns, by_ns;
	bool is_over;
	struct nd_side *peer_side;
};

static inline const struct nd_dialect *netperf(void)
{
	return nd_dialect_find("netperf");
}

static inline const struct nd_netperf *set_of(const struct bench *b)
{
	return nd_netperf_of(&b->plan);
}

/* As the command lines' defaults are; tests may change them before bench_open(). */
static inline struct bench *bench_new(bool server)
{
	struct bench *b = calloc(1, sizeof(*b));
	const struct nd_netperf_pair none = { -1, -1 };

	assert_non_null(b);
	nd_plan_init(&b->plan);
	b->set = (struct nd_netperf){ .server = server,
				      .send_align = { 8, 8 },
				      .recv_align = { 8, 8 },
				      .length = 1,
				      .parallel = 1,
				      .cpu = none,
				      .priority = none,
				      .tos = none,
				      .send_bytes = none,
				      .recv_bytes = none,
				      .sndbuf = none,
				      .rcvbuf = none,
				      .request_bytes = 1,
				      .response_bytes = 1,
				      .direction = ND_NP_SEND,
				      .route = true,
				      .protocol = "TCP" };
	b->plan.face = &b->set;
	b->plan.face_table = &nd_netperf_table;
	if (!server) {
		b->plan.duration_ns = ND_NS_PER_S;
		b->plan.workloads = b->plan.workload_list.n = 1;
		b->plan.workload[0] = (struct nd_workload){ .load = "stream",
							    .frame = "plain",
							    .transport = "tcp",
							    .flows = 1,
							    .message_bytes = 1 };
	}
	b->now_ns = 5 * ND_NS_PER_S;
	memset(b->timer, 0xff, sizeof(b->timer));
	return b;
}

static inline void bench_free(struct bench *b)
{
	netperf()->close(b->state);
	free(b->state);
	nd_verbs_done(&b->verbs);
	nd_str_done(&b->log);
	nd_plan_done(&b->plan);
	free(b);
}

static inline uint32_t word_at(const uint8_t *m, unsigned at)
{
	return (uint32_t)m[at] << 24 | (uint32_t)m[at + 1] << 16 | (uint32_t)m[at + 2] << 8 |
	       m[at + 3];
}

static inline void log_send(struct bench *b, const struct nd_verb_item *v)
{
	const uint8_t *data = (const uint8_t *)b->verbs.data.data + v->data_at;

	assert_int_equal(v->n, MESSAGE);
	if (v->link == 0) {
		memcpy(b->first, b->sent, MESSAGE);
		memcpy(b->sent, data, MESSAGE);
	}
	nd_str_addf(&b->log, "%u<%u ", v->link, word_at(data, 0));
}

static inline void log_end(struct bench *b, const struct nd_verb_item *v)
{
	assert_false(b->is_over);
	b->is_over = true;
	b->peer_side = v->peer_side;
	if (v->what == ND_DO_FAIL) {
		assert_true(v->err.code < 0);
		nd_str_addf(&b->log, "fail%s: %s ", v->peer_fault ? " peer" : "", v->err.text);
		return;
	}
	nd_str_addf(&b->log, "done%s%s%s ", v->peer_side ? "+peer" : "", v->reason ? ": " : "",
		    v->reason ? v->reason : "");
}

static inline void log_verb(struct bench *b, const struct nd_verb_item *v)
{
	switch (v->what) {
	case ND_DO_CONNECT:
		assert_int_equal(v->port_class, 0);
		nd_str_addf(&b->log, "connect %u ", v->link);
		break;
	case ND_DO_SEND:
		log_send(b, v);
		break;
	case ND_DO_CLOSE:
		nd_str_addf(&b->log, "close %u ", v->link);
		break;
	case ND_DO_TIMER:
		assert_true(v->timer < TIMERS);
		b->timer[v->timer] = v->at_ns;
		break;
	case ND_DO_SOCKET:
		nd_str_add(&b->log, "socket ");
		break;
	case ND_DO_PROPOSE:
		nd_str_add(&b->log, "propose ");
		break;
	case ND_DO_PREPARE:
	case ND_DO_RESTART:
		assert_true(v->threads > 0);
		nd_str_add(&b->log, v->what == ND_DO_PREPARE ? "prepare " : "restart ");
		break;
	case ND_DO_START:
		assert_int_equal(v->at_ns, b->now_ns);
		nd_str_add(&b->log, "start ");
		break;
	case ND_DO_FINISH:
		b->quiet_ns = v->quiet_ns;
		b->by_ns = v->deadline_ns - b->now_ns;
		nd_str_add(&b->log, "finish ");
		break;
	case ND_DO_STOP:
		nd_str_add(&b->log, "stop ");
		break;
	case ND_DO_DONE:
	case ND_DO_FAIL:
		log_end(b, v);
		break;
	default:
		fail();
		break;
	}
}

static inline void feed(struct bench *b, struct nd_dialog_event ev)
{
	ev.now_ns = b->now_ns;
	nd_verbs_reset(&b->verbs);
	netperf()->event(b->state, &ev, &b->verbs);
	for (size_t i = 0; i < b->verbs.n; i++)
		log_verb(b, &b->verbs.v[i]);
}

static inline void bench_open(struct bench *b)
{
	const struct nd_dialog_cfg cfg = { .end = b->set.server ? ND_SERVER : ND_CLIENT,
					   .plan = &b->plan,
					   .cpus = 2 };
	struct nd_err err = { 0 };

	b->state = calloc(1, netperf()->state_bytes);
	assert_non_null(b->state);
	assert_int_equal(netperf()->open(b->state, &cfg, &err), 0);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_OPEN });
}

static inline void happens(struct bench *b, enum nd_dialog_event_kind what)
{
	feed(b, (struct nd_dialog_event){ .what = what });
}

static inline void up(struct bench *b, unsigned link)
{
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_LINK_UP, .link = link });
}

static inline void down(struct bench *b, unsigned link, int error)
{
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN, .link = link, .error = error });
}

static inline void hear(struct bench *b, unsigned link, const uint8_t *message)
{
	feed(b, (struct nd_dialog_event){
			.what = ND_DLG_MESSAGE, .link = link, .data = message, .n = MESSAGE });
}

static inline void got_socket(struct bench *b, uint64_t port, uint64_t sndbuf, uint64_t rcvbuf)
{
	const struct nd_socket_facts s = { .port = port,
					   .sndbuf_bytes = sndbuf,
					   .rcvbuf_bytes = rcvbuf };

	feed(b, (struct nd_dialog_event){ .what = ND_DLG_SOCKET, .socket = &s });
}

/* Let a timer fire when it is due. */
static inline void fires(struct bench *b, unsigned timer)
{
	assert_true(b->timer[timer] != UINT64_MAX);
	b->now_ns = ND_MAX(b->now_ns, b->timer[timer]);
	b->timer[timer] = UINT64_MAX;
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_TIMER, .timer = timer });
}

static inline void says(struct bench *b, const char *want)
{
	assert_string_equal(nd_str_text(&b->log), want);
	nd_str_reset(&b->log);
}

/* A message from its rows. */
static inline void from_rows(const char *rows, uint8_t out[MESSAGE])
{
	unsigned at, w[4];
	int used;

	memset(out, 0, MESSAGE);

	while (sscanf(rows, " %x: %8x %8x %8x %8x%n", &at, &w[0], &w[1], &w[2], &w[3], &used) ==
	       5) {
		assert_true(at + 16 <= MESSAGE);
		for (unsigned i = 0; i < 16; i++)
			out[at + i] = (uint8_t)(w[i / 4] >> (24 - 8 * (i % 4)));
		rows += used;
	}
	assert_int_equal(strspn(rows, " \n"), strlen(rows));
}

/* And back. */
static inline void to_rows(const uint8_t *m, struct nd_str *out)
{
	static const uint8_t zero[16];

	for (unsigned at = 0; at < MESSAGE; at += 16) {
		if (!memcmp(m + at, zero, 16))
			continue;
		nd_str_addf(out, "%03x: %08x %08x %08x %08x\n", at, word_at(m, at),
			    word_at(m, at + 4), word_at(m, at + 8), word_at(m, at + 12));
	}
}

static inline void is_message(const uint8_t *m, const char *want)
{
	nd_auto_str rows = { 0 };

	to_rows(m, &rows);
	assert_string_equal(nd_str_text(&rows), want);
}

#endif
