/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's languages: ports, framing, and what sender and receiver do alike. The ends are ntttcp_receiver.c and
 * ntttcp_linux_sender.c, each with files for the two ways.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/ntttcp.h"

#define QUIET_NS ND_NS_PER_MS

/* ---- words ---- */

uint32_t nd_nt_word_of(const uint8_t *data)
{
	return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
}

static void put_word(uint8_t *out, uint32_t word)
{
	for (unsigned i = 0; i < ND_NT_WORD_BYTES; i++)
		out[i] = (uint8_t)(word >> (24 - 8 * i));
}

void nd_nt_say(struct nd_nt *d, unsigned link, uint32_t word)
{
	uint8_t data[ND_NT_WORD_BYTES];

	put_word(data, word);
	nd_verbs_send(d->verbs, link, data, sizeof(data));
}

static bool may_be_result(uint32_t length)
{
	return length >= ND_NT_RESULT_MIN && length <= ND_NATIVE_MESSAGE_MAX &&
	       length % ND_NT_WORD_BYTES == 0;
}

/* A word, or a whole result. A result that is seen before its first brace is cut into words, which it is a
 * multiple of, and put together again by the dialog. */
static ssize_t sync_bytes(const uint8_t *data, size_t n)
{
	size_t length;

	if (n < ND_NT_WORD_BYTES)
		return 0;
	length = nd_nt_word_of(data);
	if (n == ND_NT_WORD_BYTES || data[ND_NT_WORD_BYTES] != '{' ||
	    !may_be_result((uint32_t)length))
		return ND_NT_WORD_BYTES;
	length += ND_NT_WORD_BYTES;
	return n < length ? 0 : (ssize_t)length;
}

static ssize_t nt_message_bytes(const uint8_t *data, size_t n, unsigned port_class)
{
	switch (port_class) {
	case ND_NT_SYNC:
		return sync_bytes(data, n);
	case ND_NT_TOKEN:
		return n > 0;
	case ND_NT_PORT:
		return n < ND_NT_WORD_BYTES ? 0 : ND_NT_WORD_BYTES;
	default:
		return -EBADMSG;
	}
}

static const char *name_of(uint32_t word)
{
	switch (word) {
	case ND_NT_STOP:
		return " E";
	case ND_NT_LAST:
		return " L";
	case ND_NT_START:
		return " R";
	case ND_NT_WAIT:
		return " W";
	case ND_NT_ASK:
		return " X";
	case ND_NT_RESULT:
		return " N";
	default:
		return "";
	}
}

static void nt_print(const uint8_t *data, size_t n, struct nd_str *out)
{
	if (n > ND_NT_WORD_BYTES) {
		nd_native_print(data, n, out);
	} else if (n == ND_NT_WORD_BYTES) {
		uint32_t word = nd_nt_word_of(data);

		nd_str_addf(out, "word %lld%s", (long long)(int32_t)word, name_of(word));
	} else if (n == 1) {
		nd_str_addf(out, "token 0x%02x", data[0]);
	}
}

/* ---- times ---- */

static uint64_t ms_to_ns(uint64_t ms)
{
	return ND_MIN(ms, ND_MAX_NS / ND_NS_PER_MS) * ND_NS_PER_MS;
}

/* Ends after so many buffers, not by time. */
static bool is_counted(const struct nd_ntttcp *set)
{
	return set->buffers > 0 && !set->has_time;
}

uint64_t nd_nt_own_ns(const struct nd_ntttcp *set)
{
	if (set->continuous || is_counted(set))
		return 0;
	return ms_to_ns(set->warmup_ms) + ms_to_ns(set->time_ms) + ms_to_ns(set->cooldown_ms);
}

uint64_t nd_nt_own_s(const struct nd_ntttcp *set)
{
	return (nd_nt_own_ns(set) + ND_NS_PER_S - 1) / ND_NS_PER_S;
}

/* Divide a cycle (0: no limit) into the plan's phases. Return: did the plan change?
 * Warm-up and measurement are this end's own, the rest of the cycle is cool-down. A receiver that was not told
 * how long to measure leaves that to the sender. A cycle that is all warm-up would measure nothing. */
static bool set_times(struct nd_nt *d, uint64_t cycle_ns)
{
	const struct nd_ntttcp *set = d->set;
	struct nd_plan *p = d->plan;
	uint64_t most_ns = ND_MAX_NS, warm_ns, cool_ns = 0, time_ns, before[3];
	bool is_open = d->end == ND_SERVER && !set->has_time && !is_counted(set);

	memcpy(before, (uint64_t[]){ p->warmup_ns, p->duration_ns, p->cooldown_ns },
	       sizeof(before));
	if (p->interval_ns > 0 && p->interval_ns < ND_MAX_NS / ND_MAX_INTERVALS)
		most_ns = p->interval_ns * ND_MAX_INTERVALS;
	if (cycle_ns > 0)
		most_ns = ND_MIN(most_ns, cycle_ns);
	warm_ns = is_counted(set) ? 0 : ms_to_ns(set->warmup_ms);
	if (warm_ns >= most_ns)
		warm_ns = 0;
	time_ns = most_ns - warm_ns;
	if (cycle_ns > 0)
		cool_ns = ms_to_ns(set->cooldown_ms);
	if (is_open && cool_ns < time_ns)
		time_ns -= cool_ns;
	else if (!is_open && cycle_ns > 0 && set->time_ms > 0)
		time_ns = ND_MIN(time_ns, ms_to_ns(set->time_ms));
	p->warmup_ns = warm_ns;
	p->duration_ns = time_ns;
	p->cooldown_ns = cycle_ns > 0 ? most_ns - warm_ns - time_ns : 0;
	d->cycle_ns = cycle_ns > 0 ? most_ns : 0;
	return before[0] != p->warmup_ns || before[1] != p->duration_ns ||
	       before[2] != p->cooldown_ns;
}

uint64_t nd_nt_missing_ns(const struct nd_nt *d)
{
	uint64_t end_ns = d->start_ns + d->plan->warmup_ns + d->plan->duration_ns;

	return d->cycle_ns > 0 && d->now_ns < end_ns ? end_ns - d->now_ns : 0;
}

/* ---- the run ---- */

static uint64_t threads_of(const struct nd_nt *d)
{
	uint64_t most = d->end == ND_SERVER ? d->set->ports : nd_plan_flows(d->plan);
	uint64_t threads = d->plan->threads ? d->plan->threads : d->cpus;

	return ND_MAX(ND_MIN(ND_MIN(threads, most), ND_MAX_THREADS), 1);
}

bool nd_nt_is_udp(const struct nd_nt *d)
{
	return nd_plan_is_datagram(&d->plan->workload[0]);
}

void nd_nt_keep_open(struct nd_nt *d, bool keep)
{
	d->plan->keep_open = keep && !nd_nt_is_udp(d);
}

void nd_nt_prepare(struct nd_nt *d, uint64_t cycle_ns)
{
	bool has_changed = set_times(d, cycle_ns);

	if (!d->is_prepared)
		nd_verbs_add(d->verbs, ND_DO_PREPARE)->threads = threads_of(d);
	else if (has_changed)
		nd_verbs_add(d->verbs, ND_DO_RESTART)->threads = threads_of(d);
	d->is_prepared = true;
}

void nd_nt_again(struct nd_nt *d)
{
	(void)set_times(d, nd_nt_own_ns(d->set));
	nd_verbs_add(d->verbs, ND_DO_RESTART)->threads = threads_of(d);
}

void nd_nt_start(struct nd_nt *d)
{
	d->stage = ND_NT_RUNNING;
	d->start_ns = d->now_ns;
	nd_verbs_add(d->verbs, ND_DO_START)->at_ns = d->start_ns;
}

void nd_nt_finish(struct nd_nt *d, uint64_t by_ns)
{
	struct nd_verb_item *v = nd_verbs_add(d->verbs, ND_DO_FINISH);

	v->quiet_ns = QUIET_NS;
	v->deadline_ns = d->now_ns + by_ns;
	d->is_finishing = true;
	nd_nt_within(d, by_ns + ND_NT_OVER_NS);
}

void nd_nt_late(struct nd_nt *d)
{
	if (d->is_late) {
		nd_nt_fail(d, false, -ETIMEDOUT, "the run did not end when it was told to");
		return;
	}
	d->is_late = true;
	nd_nt_keep_reason(d, "the test ran over its time");
	nd_verbs_add(d->verbs, ND_DO_STOP);
	nd_nt_within(d, ND_NT_OVER_NS);
}

/* ---- results among our own ends ---- */

/* Whole words, so that framing without a memory can cut it anywhere. */
static void pad(struct nd_str *s)
{
	size_t n = s->len - ND_NT_WORD_BYTES, want = ND_MAX(n, ND_NT_RESULT_MIN);

	want = (want + ND_NT_WORD_BYTES - 1) / ND_NT_WORD_BYTES * ND_NT_WORD_BYTES;
	nd_str_addc(s, ' ', want - n);
	if (nd_str_ok(s))
		put_word((uint8_t *)s->data, (uint32_t)want);
}

/* Without memory, or when it is too large, the peer goes without. */
void nd_nt_keep_result(struct nd_nt *d, const struct nd_side *side)
{
	nd_str_reset(&d->mine);
	if (!side || nd_native_encode_result(&d->passing, side, &d->mine) < 0 ||
	    d->mine.len > ND_NATIVE_MESSAGE_MAX) {
		nd_str_reset(&d->mine);
		return;
	}
	pad(&d->mine);
	if (!nd_str_ok(&d->mine))
		nd_str_reset(&d->mine);
}

int nd_nt_take_result(struct nd_nt *d, const uint8_t *data, size_t n)
{
	struct nd_native_body b;
	uint32_t length;

	if (n > ND_NT_WORD_BYTES + ND_NATIVE_MESSAGE_MAX - d->theirs.len)
		return -EBADMSG;
	nd_str_addn(&d->theirs, (const char *)data, n);
	if (!nd_str_ok(&d->theirs) || d->theirs.len < ND_NT_WORD_BYTES)
		return -EBADMSG;
	length = nd_nt_word_of((const uint8_t *)d->theirs.data);
	if (!may_be_result(length))
		return -EBADMSG;
	if (d->theirs.len < ND_NT_WORD_BYTES + (size_t)length)
		return 0;
	if (nd_native_decode_result((const uint8_t *)d->theirs.data, d->theirs.len, &d->kept, &b,
				    NULL) < 0)
		return -EBADMSG;
	d->peer_side = b.side;
	d->peer_side->name = d->end == ND_CLIENT ? "server" : "client";
	return 1;
}

/* ---- the end ---- */

void nd_nt_timer(struct nd_nt *d, enum nd_nt_timer timer, uint64_t at_ns)
{
	struct nd_verb_item *v = nd_verbs_add(d->verbs, ND_DO_TIMER);

	v->timer = timer;
	v->at_ns = at_ns;
}

void nd_nt_within(struct nd_nt *d, uint64_t by_ns)
{
	nd_nt_timer(d, ND_NT_DEADLINE, by_ns == UINT64_MAX ? by_ns : d->now_ns + by_ns);
}

void nd_nt_agreed(struct nd_nt *d, int32_t cycle_s)
{
	(void)nd_fail(&nd_verbs_add(d->verbs, ND_DO_NOTE)->err, 0,
		      "Test cycle time negotiated is: %d seconds", cycle_s);
}

void nd_nt_close(struct nd_nt *d, unsigned link)
{
	nd_verbs_add(d->verbs, ND_DO_CLOSE)->link = link;
}

void nd_nt_keep_reason(struct nd_nt *d, const char *reason)
{
	if (!d->reason)
		d->reason = nd_arena_dup(&d->kept, reason);
}

static void leave(struct nd_nt *d)
{
	d->stage = ND_NT_OVER;
	for (unsigned i = ND_NT_DEADLINE; i <= ND_NT_DECIDE; i++)
		nd_nt_timer(d, (enum nd_nt_timer)i, UINT64_MAX);
	for (unsigned i = 0; i < d->target_n; i++) {
		if (d->targets[i].is_up)
			nd_nt_close(d, i);
	}
	for (unsigned i = 0; i < d->link_n; i++)
		nd_nt_close(d, d->links[i].number);
	d->link_n = 0;
}

void nd_nt_done(struct nd_nt *d)
{
	leave(d);
	nd_verbs_end(d->verbs, d->peer_side, d->reason);
}

void nd_nt_fail(struct nd_nt *d, bool peer_fault, int code, const char *fmt, ...)
{
	va_list ap;

	leave(d);
	va_start(ap, fmt);
	nd_verbs_fail(d->verbs, peer_fault, code, fmt, ap);
	va_end(ap);
}

/* ---- what the session sees ---- */

static int nt_open(void *state, const struct nd_dialog_cfg *cfg, struct nd_err *err)
{
	struct nd_nt *d = state;

	*d = (struct nd_nt){
		.end = cfg->end,
		.stage = cfg->end == ND_CLIENT ? ND_NT_CONNECTING : ND_NT_IDLE,
		.plan = cfg->plan,
		.set = nd_ntttcp_of(cfg->plan),
		.cpus = ND_MAX(ND_MIN(cfg->cpus, ND_NATIVE_CPUS_MAX), 1),
		.kept.limit = ND_NATIVE_KEPT_MAX,
		.passing.limit = ND_NATIVE_PASSING_MAX,
	};
	if (!d->set)
		return nd_fail(err, -EINVAL, "this plan was not made for NTttcp's language");
	if (cfg->end == ND_CLIENT)
		return nd_nt_sender_open(d, err);
	if (d->set->dynamic_ports && d->plan->data_port == 0)
		d->plan->data_port = d->plan->port + 1;
	return 0;
}

static void nt_close(void *state)
{
	struct nd_nt *d = state;

	if (!d)
		return;
	nd_arena_done(&d->kept);
	nd_arena_done(&d->passing);
	nd_str_done(&d->mine);
	nd_str_done(&d->theirs);
	free(d->links);
}

static void nt_event(void *state, const struct nd_dialog_event *ev, struct nd_verbs *ret)
{
	struct nd_nt *d = state;

	if (d->stage == ND_NT_OVER)
		return;
	d->now_ns = ev->now_ns;
	d->verbs = ret;
	nd_arena_done(&d->passing);
	if (d->end == ND_CLIENT)
		nd_nt_sender_event(d, ev);
	else
		nd_nt_receiver_event(d, ev);
	d->verbs = NULL;
}

static bool nt_listens(const void *state, unsigned port_class, unsigned *ret_count)
{
	const struct nd_nt *d = state;
	const struct nd_ntttcp *set = d->set;
	const bool opens[] = {
		[ND_NT_SYNC] = !set->no_sync && (!set->windows || set->base_port > 1),
		[ND_NT_DATA] = !set->udp || set->any_transport,
		[ND_NT_DATAGRAMS] = set->udp || set->any_transport,
		[ND_NT_TOKEN] = !set->no_sync,
		[ND_NT_PORT] = set->dynamic_ports,
	};
	bool is_one = port_class == ND_NT_SYNC || port_class == ND_NT_PORT;

	if (port_class >= ND_COUNTOF(opens) || !opens[port_class])
		return false;
	*ret_count = is_one ? 1 : (unsigned)ND_MIN(set->ports, UINT16_MAX);
	return true;
}

/* What belongs to the tool whose command line this is not. */
static bool nt_spares(const void *state, unsigned port_class)
{
	const struct nd_nt *d = state;

	return port_class == (d->set->windows ? ND_NT_SYNC : ND_NT_TOKEN);
}

/* The port says what a connection is, and nothing else does. */
static void nt_claim(const uint8_t *data, size_t n, bool datagram, struct nd_claim *ret)
{
	(void)data;
	(void)n;
	(void)datagram;
	*ret = (struct nd_claim){ .kind = ND_CLAIM_ALIEN };
}

static bool nt_greeting(const void *state, bool datagram, struct nd_greeting_out *ret)
{
	(void)state;
	(void)datagram;
	*ret = (struct nd_greeting_out){ 0 };
	return false;
}

static void nt_facts(const void *state, struct nd_dialog_facts *ret)
{
	const struct nd_nt *d = state;

	*ret = (struct nd_dialog_facts){
		.clock_offset_us = (double)NAN,
		.clock_rtt_us = (double)NAN,
		.clock_drift_us = (double)NAN,
		.peer_version = d->peer_side ? d->peer_side->version : NULL,
		.start_ns = d->start_ns,
	};
}

static const struct nd_port_class ports[] = {
	[ND_NT_SYNC] = { .name = "sync", .transport = "tcp", .offset = -1 },
	[ND_NT_DATA] = { .name = "data", .transport = "tcp", .many = true },
	[ND_NT_DATAGRAMS] = { .name = "data", .transport = "udp", .many = true },
	[ND_NT_TOKEN] = { .name = "token", .transport = "tcp", .offset = 1000, .many = true },
	[ND_NT_PORT] = { .name = "port", .transport = "tcp" },
	{ .name = NULL },
};

const struct nd_dialect nd_dialect_ntttcp = {
	.name = "ntttcp",
	.help = "NTttcp for Linux and for Windows; finds out which one the peer is",
	.ports = ports,
	.state_bytes = sizeof(struct nd_nt),
	.message_max = ND_NT_WORD_BYTES + ND_NATIVE_MESSAGE_MAX,
	.claim = nt_claim,
	.message_bytes = nt_message_bytes,
	.listens = nt_listens,
	.spares = nt_spares,
	.open = nt_open,
	.event = nt_event,
	.facts = nt_facts,
	.greeting = nt_greeting,
	.close = nt_close,
	.print = nt_print,
};
