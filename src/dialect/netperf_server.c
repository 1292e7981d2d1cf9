/* SPDX-License-Identifier: MIT */
/*
 * netserver's end of one connection: a request, the data socket, an answer, a test, its results, and so on with the
 * next request. The test's time begins with its first data, so a client may wait before it sends; a request that is
 * answered and followed by nothing ends by itself.
 */
#include <errno.h>
#include <string.h>

#include "dialect/netperf.h"

/* ---- answers without a test ---- */

static void reply(struct nd_np *d, uint32_t type, uint32_t error)
{
	uint8_t m[ND_NP_BYTES] = { 0 };

	nd_np_put_word(m, 0, type);
	nd_np_put_word(m, 1, error);
	nd_np_send(d, 0, m);
}

/* Rate of the CPU's clock as netperf counts it, and how many there are. */
static void reply_cpu(struct nd_np *d)
{
	uint8_t m[ND_NP_BYTES] = { 0 };

	nd_np_put_word(m, 0, ND_NP_CPU);
	nd_np_put_word(m, 2, ND_NP_CPU_RATE);
	nd_np_put_word(m, 3, (uint32_t)d->cpus);
	nd_np_send(d, 0, m);
}

static void reply_sysinfo(struct nd_np *d)
{
	static const char text[] = ",Deprecated,Deprecated,Deprecated,Deprecated";
	uint8_t m[ND_NP_BYTES] = { 0 };

	nd_np_put_word(m, 0, ND_NP_SYSINFO_OK);
	memcpy(m + 8, text, sizeof(text));
	nd_np_send(d, 0, m);
}

static void refuse(struct nd_np *d, int code)
{
	uint32_t answer = (uint32_t)d->request.type + 1;

	reply(d, answer, code < 0 ? (uint32_t)-code : EIO);
	d->stage = ND_NP_IDLE;
	nd_np_timer(d, ND_NP_DEADLINE, UINT64_MAX);
	nd_np_timer(d, ND_NP_END, UINT64_MAX);
}

/* ---- a test ---- */

static void begin(struct nd_np *d, const struct nd_np_kind *k, const uint8_t *message)
{
	int r;

	d->kind = k;
	d->has_data = d->is_ready = false;
	nd_np_get_request(k, message, &d->request);
	r = nd_np_fill_plan(d);
	if (r < 0) {
		refuse(d, r);
		return;
	}
	d->stage = ND_NP_OPENING;
	(void)nd_verbs_add(d->verbs, ND_DO_SOCKET);
}

static void on_socket(struct nd_np *d, const struct nd_dialog_event *ev)
{
	int r = ev->error;

	if (d->stage != ND_NP_OPENING)
		return;
	if (r == 0) {
		d->socket = *ev->socket;
		r = nd_np_fill_sizes(d);
	}
	if (r < 0) {
		refuse(d, r);
		return;
	}
	d->stage = ND_NP_PROPOSING;
	(void)nd_verbs_add(d->verbs, ND_DO_PROPOSE);
}

static int64_t length_of(const struct nd_np *d)
{
	return nd_np_signed(d->request.length);
}

/* What a length in seconds is with @more; without one @else_ns. */
static uint64_t length_ns(const struct nd_np *d, uint64_t more_ns, uint64_t else_ns)
{
	int64_t s = length_of(d);
	uint64_t most_s = ND_MAX_NS / ND_NS_PER_S;

	return s > 0 ? ND_MIN((uint64_t)s, most_s) * ND_NS_PER_S + more_ns : else_ns;
}

static bool is_sender(const struct nd_np *d)
{
	return d->request.direction == ND_NP_SEND;
}

/* Its own connections tell no end: silence does. */
static bool is_connecting(const struct nd_np *d)
{
	return (d->request.flags & ND_NP_CONNECT) != 0;
}

/* The run has its socket, and data waits in it; where this end sends datagrams nobody calls first. */
static void start_if_due(struct nd_np *d)
{
	bool is_called = d->has_data || (is_sender(d) && d->asked.datagram);

	if (d->stage != ND_NP_ANSWERED || !d->is_ready || !is_called)
		return;
	nd_np_start(d);
	nd_np_timer(d, ND_NP_DEADLINE, UINT64_MAX);
	if (is_connecting(d) && length_of(d) >= 0)
		nd_np_timer(d, ND_NP_END, length_ns(d, 0, 0));
	else
		nd_np_timer(d, ND_NP_END, length_ns(d, ND_NP_PAD_NS, UINT64_MAX));
}

static void on_plan(struct nd_np *d, const struct nd_dialog_event *ev)
{
	uint8_t m[ND_NP_BYTES] = { 0 };

	if (d->stage != ND_NP_PROPOSING)
		return;
	if (ev->reason) {
		refuse(d, -EINVAL);
		return;
	}
	nd_np_prepare(d, 1);
	nd_np_answer(d, m);
	nd_np_send(d, 0, m);
	d->stage = ND_NP_ANSWERED;
	nd_np_timer(d, ND_NP_DEADLINE, length_ns(d, ND_NP_SILENT_NS, ND_NP_ENDLESS_NS));
}

static void give_results(struct nd_np *d, const struct nd_side *side, uint32_t error)
{
	uint8_t m[ND_NP_BYTES] = { 0 };

	nd_np_results(d, side, m);
	nd_np_put_word(m, 1, error);
	nd_np_send(d, 0, m);
	d->has_result = true;
	d->stage = ND_NP_IDLE;
	nd_np_timer(d, ND_NP_DEADLINE, UINT64_MAX);
	nd_np_timer(d, ND_NP_END, UINT64_MAX);
	if (d->is_stopping)
		nd_np_done(d);
}

static void on_result(struct nd_np *d, const struct nd_side *side)
{
	if (d->stage == ND_NP_RUNNING && !d->has_result)
		give_results(d, side, 0);
}

static void on_run_failed(struct nd_np *d, const struct nd_err *err)
{
	uint32_t code = err && err->code < 0 ? (uint32_t)-err->code : EIO;

	if (d->stage == ND_NP_ANSWERED || d->stage == ND_NP_RUNNING)
		give_results(d, NULL, code);
}

static void end_run(struct nd_np *d)
{
	if (d->is_late) {
		nd_np_fail(d, false, -ETIMEDOUT, "the run did not end when it was told to");
		return;
	}
	d->is_late = true;
	nd_verbs_add(d->verbs, ND_DO_STOP);
	nd_np_timer(d, ND_NP_END, ND_NP_OVER_NS);
}

/* The test's time is over. */
static void on_end(struct nd_np *d)
{
	uint64_t quiet_ns = length_of(d) > 0 ? ND_NP_QUIET_NS : ND_NP_PAUSE_NS;

	if (d->stage != ND_NP_RUNNING)
		return;
	if (d->is_finishing || is_sender(d))
		end_run(d);
	else if (is_connecting(d))
		nd_np_finish(d, quiet_ns, length_of(d) > 0 ? ND_NP_PAD_NS : ND_MAX_NS);
	else
		nd_np_finish(d, 0, 0);
}

static void on_flow_closed(struct nd_np *d, uint64_t open)
{
	if (d->stage == ND_NP_RUNNING && open == 0 && !d->is_finishing && !is_sender(d))
		nd_np_finish(d, 0, 0);
}

/* ---- the connection ---- */

static bool is_right(const struct nd_np *d, const uint8_t *message)
{
	char phrase[ND_NP_PHRASE_BYTES + 1] = { 0 };

	memcpy(phrase, message + 8, ND_NP_PHRASE_BYTES);
	return nd_np_word(message, 0) == ND_NP_PASSPHRASE && !strcmp(phrase, d->own->passphrase);
}

static void unlock(struct nd_np *d, const uint8_t *message)
{
	if (!is_right(d, message)) {
		nd_np_fail(d, true, -EACCES, "the client did not say the passphrase");
		return;
	}
	d->stage = ND_NP_IDLE;
	nd_np_timer(d, ND_NP_DEADLINE, UINT64_MAX);
}

static void on_message(struct nd_np *d, const struct nd_dialog_event *ev)
{
	const uint8_t *m = ev->data;
	const struct nd_np_kind *k;
	uint32_t type;

	if (ev->n < ND_NP_BYTES)
		return;
	type = nd_np_word(m, 0);
	k = nd_np_kind_find(type);
	if (d->stage == ND_NP_LOCKED)
		unlock(d, m);
	else if (d->stage != ND_NP_IDLE)
		nd_np_fail(d, true, -EPROTO,
			   "the client asked for a test before the last one ended");
	else if (k)
		begin(d, k, m);
	else if (type == ND_NP_CPU)
		reply_cpu(d);
	else if (type == ND_NP_DEBUG_ON || type == ND_NP_DEBUG_OFF)
		reply(d, ND_NP_DEBUG_OK, 0);
	else if (type == ND_NP_SYSINFO)
		reply_sysinfo(d);
	else if (type != ND_NP_PASSPHRASE)
		reply(d, type, ND_NP_UNKNOWN_TEST);
}

static void on_timer(struct nd_np *d, unsigned timer)
{
	if (timer == ND_NP_END)
		on_end(d);
	else if (d->stage == ND_NP_LOCKED)
		nd_np_fail(d, true, -ETIMEDOUT, "the client did not say the passphrase");
	else if (d->stage == ND_NP_ANSWERED)
		give_results(d, NULL, 0); /* nothing came */
}

/* The client has gone, or this end goes: what runs is of no use to anybody. */
static void on_stop(struct nd_np *d, const char *reason)
{
	bool runs = d->stage == ND_NP_ANSWERED || d->stage == ND_NP_RUNNING;

	if (runs)
		nd_np_keep_reason(d, reason);
	if (d->stage == ND_NP_RUNNING && !d->is_stopping) {
		d->is_stopping = true;
		d->is_late = false;
		end_run(d);
		return;
	}
	nd_np_done(d);
}

void nd_np_server_event(struct nd_np *d, const struct nd_dialog_event *ev)
{
	switch (ev->what) {
	case ND_DLG_LINK_UP:
		if (d->stage == ND_NP_LOCKED)
			nd_np_timer(d, ND_NP_DEADLINE, ND_NP_PHRASE_NS);
		break;
	case ND_DLG_MESSAGE:
		on_message(d, ev);
		break;
	case ND_DLG_LINK_DOWN:
		on_stop(d, "the client closed its control connection");
		break;
	case ND_DLG_SOCKET:
		on_socket(d, ev);
		break;
	case ND_DLG_PLAN:
		on_plan(d, ev);
		break;
	case ND_DLG_FIRST_DATA:
		d->has_data = true;
		start_if_due(d);
		break;
	case ND_DLG_FLOWS_READY:
		d->is_ready = true;
		start_if_due(d);
		break;
	case ND_DLG_FLOW_CLOSED:
		on_flow_closed(d, ev->flow);
		break;
	case ND_DLG_RESULT:
		on_result(d, ev->side);
		break;
	case ND_DLG_RUN_FAILED:
		on_run_failed(d, ev->err);
		break;
	case ND_DLG_TIMER:
		on_timer(d, ev->timer);
		break;
	case ND_DLG_STOP:
		on_stop(d, ev->reason ? ev->reason : "stopped");
		break;
	default:
		break;
	}
}

int nd_np_server_open(struct nd_np *d, struct nd_err *err)
{
	(void)err;
	d->own = nd_netperf_of(d->plan);
	d->asked = *d->own;
	d->set = &d->asked;
	d->stage = d->own->passphrase ? ND_NP_LOCKED : ND_NP_IDLE;
	return 0;
}
