/* SPDX-License-Identifier: MIT */
/*
 * One NTttcp dialog in memory. What it asks for is written down as words, which tests compare with a transcript:
 *   connect CLASS.INDEX=LINK  LINK<HEX (sent)  close LINK  prepare N  restart N  start  finish MS  stop
 *   done[+peer][: reason]  fail[ peer]: sentence
 */
#ifndef ND_TESTS_DIALECT_NTTTCP_H
#define ND_TESTS_DIALECT_NTTTCP_H

#include <errno.h>
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
#include "plan/ntttcp.h"

#define TIMERS 4u

enum { SYNC, DATA, DATAGRAMS, TOKEN, PORT };

struct bench {
	struct nd_plan plan;
	struct nd_ntttcp set;
	void *state;
	struct nd_verbs verbs;
	struct nd_str log;
	struct nd_str sent; /* to link 0 */
	uint64_t now_ns, timer[TIMERS], connects;
	bool is_over, is_quiet; /* quiet: CONNECT, CLOSE are not written down */
	bool is_peer_fault;
	struct nd_side *peer_side;
};

static inline const struct nd_dialect *ntttcp(void)
{
	return nd_dialect_find("ntttcp");
}

/* Settings that a test may change before bench_open(). */
static inline struct bench *bench_new(bool sender)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	nd_plan_init(&b->plan);
	b->set = (struct nd_ntttcp){ .sender = sender,
				     .base_port = 5001,
				     .ports = 2,
				     .threads_per_port = 1,
				     .conns_per_thread = 1,
				     .time_ms = 2000,
				     .has_time = true,
				     .cpu = -1 };
	b->plan.face = &b->set;
	b->plan.face_table = &nd_ntttcp_table;
	b->plan.port = 5001;
	b->plan.flows_per_port = 1;
	b->plan.interval_ns = ND_NS_PER_S;
	b->plan.workloads = b->plan.workload_list.n = 1;
	b->plan.workload[0] = (struct nd_workload){ .active = ND_CLIENT,
						    .load = "stream",
						    .frame = "plain",
						    .transport = "tcp",
						    .flows = sender ? 2 : 1000 };
	b->now_ns = 5 * ND_NS_PER_S;
	memset(b->timer, 0xff, sizeof(b->timer));
	return b;
}

static inline void log_send(struct bench *b, const struct nd_verb_item *v)
{
	const uint8_t *data = (const uint8_t *)b->verbs.data.data + v->data_at;

	if (v->link == 0)
		nd_str_addn(&b->sent, (const char *)data, v->n);
	nd_str_addf(&b->log, "%u<", v->link);
	if (v->n > 4)
		nd_str_add(&b->log, "result");
	for (size_t i = 0; i < v->n && v->n <= 4; i++)
		nd_str_addf(&b->log, "%02x", data[i]);
	nd_str_add(&b->log, " ");
}

static inline void log_end(struct bench *b, const struct nd_verb_item *v)
{
	assert_false(b->is_over);
	b->is_over = true;
	b->peer_side = v->peer_side;
	b->is_peer_fault = v->peer_fault;
	if (v->what == ND_DO_FAIL) {
		assert_true(v->err.code < 0);
		nd_str_addf(&b->log, "fail%s: %s ", v->peer_fault ? " peer" : "", v->err.text);
		return;
	}
	nd_str_addf(&b->log, "done%s%s%s ", v->peer_side ? "+peer" : "", v->reason ? ": " : "",
		    v->reason ? v->reason : "");
}

static inline void log_connect(struct bench *b, const struct nd_verb_item *v)
{
	b->connects++;
	if (!b->is_quiet)
		nd_str_addf(&b->log, "connect %u.%u=%u ", v->port_class, v->index, v->link);
}

static inline void log_verb(struct bench *b, const struct nd_verb_item *v)
{
	switch (v->what) {
	case ND_DO_CONNECT:
		log_connect(b, v);
		break;
	case ND_DO_SEND:
		log_send(b, v);
		break;
	case ND_DO_CLOSE:
		if (!b->is_quiet)
			nd_str_addf(&b->log, "close %u ", v->link);
		break;
	case ND_DO_TIMER:
		assert_true(v->timer < TIMERS);
		b->timer[v->timer] = v->at_ns;
		break;
	case ND_DO_PREPARE:
	case ND_DO_RESTART:
		nd_str_addf(&b->log, "%s %llu ", v->what == ND_DO_PREPARE ? "prepare" : "restart",
			    (unsigned long long)v->threads);
		break;
	case ND_DO_START:
		assert_int_equal(v->at_ns, b->now_ns);
		nd_str_add(&b->log, "start ");
		break;
	case ND_DO_FINISH:
		assert_int_equal(v->quiet_ns, ND_NS_PER_MS);
		nd_str_addf(&b->log, "finish %llu ",
			    (unsigned long long)((v->deadline_ns - b->now_ns) / ND_NS_PER_MS));
		break;
	case ND_DO_STOP:
		nd_str_add(&b->log, "stop ");
		break;
	case ND_DO_DONE:
	case ND_DO_FAIL:
		log_end(b, v);
		break;
	case ND_DO_NOTE:
	case ND_DO_GATHER:
	case ND_DO_MEMBER:
		break;
	case ND_DO_PROPOSE:
	case ND_DO_PEER_INTERVAL:
	case ND_DO_SOCKET:
		fail();
		break;
	}
}

static inline void feed(struct bench *b, struct nd_dialog_event ev)
{
	ev.now_ns = b->now_ns;
	nd_verbs_reset(&b->verbs);
	ntttcp()->event(b->state, &ev, &b->verbs);
	assert_false(b->verbs.failed);
	for (size_t i = 0; i < b->verbs.n; i++)
		log_verb(b, &b->verbs.v[i]);
}

static inline void expect(struct bench *b, const char *want)
{
	if (b->log.len > 0 && b->log.data[b->log.len - 1] == ' ')
		b->log.data[--b->log.len] = '\0';
	assert_string_equal(nd_str_text(&b->log), want);
	nd_str_reset(&b->log);
}

/* The log says at least this. */
static inline void expect_some(struct bench *b, const char *part)
{
	if (!strstr(nd_str_text(&b->log), part))
		print_error("'%s' is not in '%s'\n", part, nd_str_text(&b->log));
	assert_non_null(strstr(nd_str_text(&b->log), part));
	nd_str_reset(&b->log);
}

static inline void local(struct bench *b, enum nd_dialog_event_kind what)
{
	feed(b, (struct nd_dialog_event){ .what = what });
}

static inline void bench_open(struct bench *b)
{
	const struct nd_dialog_cfg cfg = { .end = b->set.sender ? ND_CLIENT : ND_SERVER,
					   .plan = &b->plan,
					   .cpus = 8 };
	struct nd_err err = { 0 };

	b->plan.workload[0].transport = b->set.udp ? "udp" : "tcp";
	b->state = calloc(1, ntttcp()->state_bytes);
	assert_non_null(b->state);
	assert_int_equal(ntttcp()->open(b->state, &cfg, &err), 0);
	local(b, ND_DLG_OPEN);
}

static inline void bench_free(struct bench *b)
{
	if (b->state)
		ntttcp()->close(b->state);
	free(b->state);
	nd_verbs_done(&b->verbs);
	nd_str_done(&b->log);
	nd_str_done(&b->sent);
	nd_plan_done(&b->plan);
	free(b);
}

static inline void up(struct bench *b, unsigned port_class, unsigned index, unsigned link)
{
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_LINK_UP,
					  .port_class = port_class,
					  .index = index,
					  .link = link });
}

static inline void down(struct bench *b, unsigned link, int error)
{
	static const struct nd_err refused = { -ECONNREFUSED, "port 5000: refused" };

	feed(b, (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN,
					  .link = link,
					  .error = error,
					  .err = error == refused.code ? &refused : NULL });
}

static inline void bytes(struct bench *b, unsigned link, const void *data, size_t n)
{
	feed(b, (struct nd_dialog_event){
			.what = ND_DLG_MESSAGE, .link = link, .data = data, .n = n });
}

static inline void word(struct bench *b, unsigned link, uint32_t w)
{
	const uint8_t data[] = { (uint8_t)(w >> 24), (uint8_t)(w >> 16), (uint8_t)(w >> 8),
				 (uint8_t)w };

	bytes(b, link, data, sizeof(data));
}

static inline void token(struct bench *b, unsigned link)
{
	bytes(b, link, "X", 1);
}

static inline void flows(struct bench *b, uint64_t open)
{
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_FLOW_CLOSED, .flow = open });
}

static inline void flow_open(struct bench *b, unsigned index, uint64_t flow)
{
	feed(b,
	     (struct nd_dialog_event){
		     .what = ND_DLG_FLOW_OPEN, .port_class = DATA, .index = index, .flow = flow });
}

static inline void first_data(struct bench *b, unsigned port_class)
{
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_FIRST_DATA, .port_class = port_class });
}

/* The run has completed an interval of half a second. */
static inline void interval(struct bench *b, uint64_t n)
{
	const struct nd_interval_sample s = { .end_s = 0.5, .rx_bytes = n };

	feed(b, (struct nd_dialog_event){
			.what = ND_DLG_INTERVAL, .intervals = &s, .intervals_n = 1 });
}

static inline void stop(struct bench *b, const char *reason)
{
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_STOP, .reason = reason });
}

/* The run is over: each end has moved @n bytes. */
static inline void result(struct bench *b, uint64_t n)
{
	struct nd_part part;
	struct nd_side side;

	memset(&part, 0, sizeof(part));
	memset(&side, 0, sizeof(side));
	nd_table_unknown(&nd_part_table, &part);
	nd_table_unknown(&nd_side_table, &side);
	part.workload = 0;
	part.active = b->set.sender;
	part.run.rx_bytes = b->set.sender ? 0 : n;
	part.run.tx_bytes = b->set.sender ? n : 0;
	side.parts = (struct nd_list){ .v = &part, .n = 1 };
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_RESULT, .side = &side });
}

/* Let time pass; timers fire in their order. */
static inline void pass(struct bench *b, uint64_t ns)
{
	uint64_t end = b->now_ns + ns;

	for (;;) {
		unsigned next = 0;

		for (unsigned i = 1; i < TIMERS; i++)
			next = b->timer[i] < b->timer[next] ? i : next;
		if (b->timer[next] > end)
			break;
		b->now_ns = ND_MAX(b->now_ns, b->timer[next]);
		b->timer[next] = UINT64_MAX;
		feed(b, (struct nd_dialog_event){ .what = ND_DLG_TIMER, .timer = next });
	}
	b->now_ns = end;
}

#define PASS_MS(b, ms) pass(b, (ms)*ND_NS_PER_MS)

#endif
