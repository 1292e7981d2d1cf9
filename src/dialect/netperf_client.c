/* SPDX-License-Identifier: MIT */
/*
 * netperf's end: connect, ask, run, await the results. Several flows have a connection each, and a server's process
 * each behind it; they run as one test.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "dialect/netperf.h"

/* ---- words for people ---- */

#define REFUSED 255

/* Whoever was not reached at all has another exit code, where a face has one for it; and some reasons stand where
 * scripts look for them. */
static void set_exit(struct nd_np *d, int code, bool on_stdout)
{
	if (!d->plan->exits.peer)
		return;
	d->plan->exits.peer = code;
	d->plan->exits.peer_on_stdout = on_stdout;
}

/* The number where scripts look for it, its meaning for people. */
static void fail_remote(struct nd_np *d, uint32_t code)
{
	bool is_known = code != ND_NP_UNKNOWN_TEST && code <= 4095;
	char words[96];

	set_exit(d, d->kind->says_all ? REFUSED : 1, true);
	if (code == ND_NP_UNKNOWN_TEST)
		nd_log(ND_LOG_WARN, "the server does not know this test");
	else if (is_known)
		nd_log(ND_LOG_WARN, "at the server: %s",
		       nd_strerror((int)code, words, sizeof(words)));
	nd_np_fail(d, true, is_known ? -(int)code : -EPROTO, "netperf: remote error %u", code);
}

static void fail_silent(struct nd_np *d)
{
	set_exit(d, 1, true);
	nd_log(ND_LOG_WARN, "the server did not answer within %llu seconds",
	       (unsigned long long)(ND_NP_REPLY_NS / ND_NS_PER_S));
	nd_np_fail(d, true, -ETIMEDOUT,
		   "recv_response_timed_n: no response received. errno %d counter 0", ETIMEDOUT);
}

static void fail_closed(struct nd_np *d, int error)
{
	set_exit(d, 1, false);
	if (d->plan->exits.prefix)
		d->plan->exits.prefix = ""; /* the original's line has none */
	if (error) {
		char words[96];

		nd_np_fail(d, true, error, "recv_response: %s",
			   nd_strerror(error, words, sizeof(words)));
		return;
	}
	nd_np_fail(d, true, -ECONNRESET, "recv_response: partial response received: 0 bytes");
}

/* ---- the run ---- */

static bool is_receiver(const struct nd_np *d)
{
	return d->set->direction == ND_NP_RECV;
}

static uint64_t threads_of(const struct nd_np *d)
{
	uint64_t threads = d->plan->threads ? d->plan->threads : d->cpus;

	return ND_MAX(ND_MIN(ND_MIN(threads, nd_plan_flows(d->plan)), ND_MAX_THREADS), 1);
}

static void prepare(struct nd_np *d)
{
	set_exit(d, 1, false); /* data connections that fail */
	d->stage = ND_NP_PREPARING;
	nd_np_timer(d, ND_NP_DEADLINE, UINT64_MAX);
	nd_np_prepare(d, threads_of(d));
}

static void stop(struct nd_np *d)
{
	d->is_stopping = true;
	nd_verbs_add(d->verbs, ND_DO_STOP);
	nd_np_timer(d, ND_NP_END, ND_NP_OVER_NS);
}

/* A server that sends ends by its own clock, and its bytes are counted until ours is over. A connection tells its
 * segment size without any data. */
static void start(struct nd_np *d)
{
	nd_np_start(d);
	if (d->set->test == ND_NP_TCP_MSS)
		stop(d);
	else if (is_receiver(d) && d->set->length > 0)
		nd_np_timer(d, ND_NP_END, d->plan->warmup_ns + d->plan->duration_ns);
}

static void on_ready(struct nd_np *d)
{
	if (d->stage == ND_NP_PREPARING)
		start(d);
}

/* ---- results ---- */

static void settle(struct nd_np *d)
{
	if (d->has_result && (d->results_n == d->link_n || d->set->no_control))
		nd_np_done(d);
}

/* For results after an interrupt: of single connections a server learns no end before its time. */
static uint64_t patience_ns(const struct nd_np *d)
{
	return d->set->connection_test ? ND_NP_DRAIN_NS : ND_NP_STOP_NS;
}

static void on_result(struct nd_np *d)
{
	if (d->stage != ND_NP_RUNNING || d->has_result)
		return;
	d->has_result = true;
	nd_np_timer(d, ND_NP_END, UINT64_MAX);
	d->stage = ND_NP_AWAITING;
	nd_np_timer(d, ND_NP_DEADLINE, d->is_stopping ? patience_ns(d) : ND_NP_REPLY_NS);
	settle(d);
}

/* The server has ended: so must what still runs here. */
static void wind_up(struct nd_np *d)
{
	if (d->stage == ND_NP_RUNNING && d->results_n == d->link_n && !d->is_finishing) {
		if (is_receiver(d)) {
			nd_np_finish(d, 0, ND_NP_DRAIN_NS);
			return;
		}
		d->is_finishing = true;
		nd_np_timer(d, ND_NP_END, ND_NP_DRAIN_NS);
	}
}

static void take_results(struct nd_np *d, struct nd_np_link *k, const uint8_t *message)
{
	struct nd_np_results r;

	if (k->has_results)
		return;
	if (nd_np_word(message, 1) != 0) {
		fail_remote(d, nd_np_word(message, 1));
		return;
	}
	nd_np_get_results(d->kind, message, &r);
	if (nd_np_take_results(d, &r) < 0) {
		nd_np_fail(d, false, -ENOMEM, "no memory for the server's results");
		return;
	}
	k->has_results = true;
	d->results_n++;
	wind_up(d);
	settle(d);
}

/* ---- asking ---- */

static void ask(struct nd_np *d)
{
	for (unsigned i = 0; i < d->link_n; i++) {
		uint8_t m[ND_NP_BYTES] = { 0 };

		if (nd_np_ask(d, i, m) < 0) {
			nd_np_fail(d, false, -ERANGE, "a number of the request has over 32 bits");
			return;
		}
		nd_np_send(d, i, m);
	}
	d->stage = ND_NP_ASKING;
	nd_np_timer(d, ND_NP_DEADLINE, ND_NP_REPLY_NS);
}

static void take_answer(struct nd_np *d, unsigned link, const uint8_t *message)
{
	struct nd_np_link *k = &d->links[link];
	struct nd_np_response r;

	if (k->is_answered)
		return;
	if (nd_np_word(message, 1) != 0) {
		fail_remote(d, nd_np_word(message, 1));
		return;
	}
	nd_np_get_response(d->kind, message, &r);
	if (r.port == 0 || r.port > UINT16_MAX) {
		nd_np_fail(d, true, -EPROTO, "the server told no data port");
		return;
	}
	nd_np_take_answer(d, link, &r);
	k->is_answered = true;
	if (++d->answered_n == d->link_n)
		prepare(d);
}

static void calibrate(struct nd_np *d)
{
	uint8_t m[ND_NP_BYTES] = { 0 };

	nd_np_put_word(m, 0, ND_NP_CPU);
	nd_np_put_word(m, 1, (uint32_t)nd_np_unsigned(d->set->cpu.remote));
	nd_np_send(d, 0, m);
	d->stage = ND_NP_CALIBRATING;
	nd_np_timer(d, ND_NP_DEADLINE, ND_NP_REPLY_NS);
}

static void take_cpu(struct nd_np *d, const uint8_t *message)
{
	if (nd_np_word(message, 1) != 0) {
		fail_remote(d, nd_np_word(message, 1));
		return;
	}
	d->set->said.remote_rate = nd_np_to_double(nd_np_word(message, 2));
	d->set->said.remote_cpus = nd_np_signed(nd_np_word(message, 3));
	nd_np_done(d);
}

static void on_message(struct nd_np *d, const struct nd_dialog_event *ev)
{
	if (ev->n < ND_NP_BYTES || ev->link >= d->link_n)
		return;
	if (d->stage == ND_NP_ASKING)
		take_answer(d, ev->link, ev->data);
	else if (d->stage == ND_NP_CALIBRATING)
		take_cpu(d, ev->data);
	else if (d->stage == ND_NP_RUNNING || d->stage == ND_NP_AWAITING ||
		 d->stage == ND_NP_PREPARING)
		take_results(d, &d->links[ev->link], ev->data);
}

/* ---- connecting ---- */

/* Tests of nothing but the machines themselves. */
static bool is_local(const struct nd_np *d)
{
	return d->set->test == ND_NP_LOC_CPU || d->set->test == ND_NP_UUID;
}

static void bind_data(struct nd_np *d)
{
	d->stage = ND_NP_BINDING;
	(void)nd_verbs_add(d->verbs, ND_DO_SOCKET);
}

static void say_phrase(struct nd_np *d, unsigned link)
{
	uint8_t m[ND_NP_BYTES] = { 0 };
	const char *phrase = d->set->passphrase;

	nd_np_put_word(m, 0, ND_NP_PASSPHRASE);
	nd_np_put_word(m, 1, (uint32_t)nd_np_unsigned(d->set->cpu.remote));
	memcpy(m + 8, phrase, strnlen(phrase, ND_NP_PHRASE_BYTES - 1));
	nd_np_send(d, link, m);
}

static void on_up(struct nd_np *d, unsigned link)
{
	if (d->stage != ND_NP_CONNECTING || link >= d->link_n || d->links[link].is_up)
		return;
	d->links[link].is_up = true;
	if (d->set->passphrase)
		say_phrase(d, link);
	if (++d->up_n < d->link_n)
		return;
	if (is_local(d))
		nd_np_done(d);
	else if (d->set->test == ND_NP_REM_CPU)
		calibrate(d);
	else
		bind_data(d);
}

/* The time of netperf's own server runs from its answer on: who waits, does so before it asks. */
static void go_on(struct nd_np *d)
{
	if (d->set->no_control)
		prepare(d);
	else
		ask(d);
}

static void on_socket(struct nd_np *d, const struct nd_dialog_event *ev)
{
	if (d->stage != ND_NP_BINDING)
		return;
	if (ev->error < 0) {
		nd_np_fail(d, false, ev->error, "%s",
			   ev->err ? ev->err->text : "the data socket could not be made");
		return;
	}
	d->socket = *ev->socket;
	nd_np_own_sizes(d);
	if (d->set->wait_ns == 0) {
		go_on(d);
		return;
	}
	d->stage = ND_NP_WAITING;
	nd_np_timer(d, ND_NP_END, d->set->wait_ns);
}

static void begin(struct nd_np *d)
{
	if (d->stage != ND_NP_CONNECTING)
		return;
	if (d->set->no_control) {
		bind_data(d);
		return;
	}
	for (unsigned i = 0; i < d->link_n; i++) {
		struct nd_verb_item *v = nd_verbs_add(d->verbs, ND_DO_CONNECT);

		v->index = i;
		v->link = i;
	}
}

/* ---- what goes wrong ---- */

static void on_down(struct nd_np *d, const struct nd_dialog_event *ev)
{
	struct nd_np_link *k = ev->link < d->link_n ? &d->links[ev->link] : NULL;

	if (!k)
		return;
	if (d->stage == ND_NP_CONNECTING && !k->is_up) {
		nd_np_fail(d, true, ev->err ? ev->err->code : ev->error ?: -ECONNREFUSED, "%s",
			   ev->err ? ev->err->text : "no control connection");
		return;
	}
	k->is_up = false;
	if (k->has_results)
		return;
	if (!d->has_result || !d->is_stopping) { /* half of a result is none, as ever */
		fail_closed(d, ev->error);
		return;
	}
	nd_np_keep_reason(d, "the server closed the control connection before its results");
	nd_np_done(d);
}

static void on_stop(struct nd_np *d, const char *reason)
{
	if (d->stage < ND_NP_RUNNING) {
		nd_np_fail(d, false, -EINTR, "%s", reason);
	} else if (d->stage == ND_NP_RUNNING && !d->is_stopping) {
		stop(d);
	} else if (d->stage == ND_NP_AWAITING) {
		nd_np_timer(d, ND_NP_DEADLINE, patience_ns(d));
	}
}

static void on_end(struct nd_np *d)
{
	if (d->stage == ND_NP_WAITING) {
		go_on(d);
	} else if (d->stage != ND_NP_RUNNING) {
		return;
	} else if (d->is_late || d->is_stopping) {
		nd_np_fail(d, false, -ETIMEDOUT, "the run did not end when it was told to");
	} else if (is_receiver(d) && !d->is_finishing) {
		nd_np_finish(d, 0, ND_NP_DRAIN_NS);
	} else {
		d->is_late = true;
		nd_verbs_add(d->verbs, ND_DO_STOP);
		nd_np_timer(d, ND_NP_END, ND_NP_OVER_NS);
	}
}

static void on_deadline(struct nd_np *d)
{
	if (d->stage == ND_NP_AWAITING && d->is_stopping) {
		nd_np_keep_reason(d, "interrupted, and the server sent no results");
		nd_np_done(d);
	} else {
		fail_silent(d);
	}
}

/* Was there nobody to connect to? */
static bool is_unreached(int code)
{
	return code == -ECONNREFUSED || code == -ECONNRESET || code == -ETIMEDOUT ||
	       code == -EHOSTUNREACH || code == -ENETUNREACH;
}

static void on_run_failed(struct nd_np *d, const struct nd_err *err)
{
	char words[96];

	if (err && d->stage == ND_NP_PREPARING && d->kind->says_all && is_unreached(err->code)) {
		nd_log(ND_LOG_WARN, "%s", err->text);
		nd_np_fail(d, false, err->code, "send_omni: connect_data_socket failed: %s",
			   nd_strerror(-err->code, words, sizeof(words)));
	} else if (err && err->code < 0)
		nd_np_fail(d, false, err->code, "%s", err->text);
	else
		nd_np_fail(d, false, -EIO, "the run failed");
}

void nd_np_client_event(struct nd_np *d, const struct nd_dialog_event *ev)
{
	switch (ev->what) {
	case ND_DLG_OPEN:
		begin(d);
		break;
	case ND_DLG_LINK_UP:
		on_up(d, ev->link);
		break;
	case ND_DLG_MESSAGE:
		on_message(d, ev);
		break;
	case ND_DLG_LINK_DOWN:
		on_down(d, ev);
		break;
	case ND_DLG_SOCKET:
		on_socket(d, ev);
		break;
	case ND_DLG_FLOWS_READY:
		on_ready(d);
		break;
	case ND_DLG_RESULT:
		on_result(d);
		break;
	case ND_DLG_RUN_FAILED:
		on_run_failed(d, ev->err);
		break;
	case ND_DLG_TIMER:
		if (ev->timer == ND_NP_END)
			on_end(d);
		else
			on_deadline(d);
		break;
	case ND_DLG_STOP:
		on_stop(d, ev->reason ? ev->reason : "stopped");
		break;
	default:
		break;
	}
}

/* ---- birth ---- */

static uint64_t type_of(enum nd_netperf_test test)
{
	if (test == ND_NP_TCP_SENDFILE || test == ND_NP_TCP_MSS)
		return ND_NP_STREAM_ASK;
	return test == ND_NP_TCP_CC ? ND_NP_CC_ASK : ND_NP_OMNI_ASK;
}

static void forget_said(struct nd_netperf_said *s)
{
	nd_table_unknown(&nd_netperf_said_table, s);
	s->sndbuf = s->rcvbuf = s->send_bytes = s->recv_bytes = s->send_width = s->recv_width =
		s->data_port = (struct nd_netperf_pair){ -1, -1 };
	s->remote_priority = s->remote_tos = s->remote_cpus = s->remote_cpu_method = -1;
	s->remote_send_calls = s->remote_recv_calls = -1;
}

int nd_np_client_open(struct nd_np *d, struct nd_err *err)
{
	const struct nd_netperf *from = nd_netperf_of(d->plan);

	d->set = nd_arena_alloc(&d->plan->arena, 1, sizeof(*d->set));
	d->link_n = (unsigned)ND_MAX(ND_MIN(from->parallel, ND_NP_LINKS_MAX), 1);
	d->links = nd_arena_alloc(&d->kept, d->link_n, sizeof(*d->links));
	if (!d->set || !d->links)
		return nd_fail(err, -ENOMEM, "no memory for netperf's settings");
	*d->set = *from;
	d->plan->face = d->set;
	forget_said(&d->set->said);
	d->kind = nd_np_kind_find(type_of(d->set->test));
	d->stage = ND_NP_CONNECTING;
	if (from->parallel > ND_NP_LINKS_MAX)
		return nd_fail(err, -E2BIG, "--parallel: '%llu' is over %u",
			       (unsigned long long)from->parallel, ND_NP_LINKS_MAX);
	return 0;
}
