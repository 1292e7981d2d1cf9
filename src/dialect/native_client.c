/* SPDX-License-Identifier: MIT */
/* The native language, client: says hello, measures the clocks, asks for a plan, gives the start. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dialect/int.h"

void nd_native_client_up(struct nd_native *d)
{
	const struct nd_native_body b = {
		.protocol = ND_NATIVE_PROTOCOL,
		.version = ND_VERSION,
		.boot_id = d->boot_id,
		.netns = d->netns_id,
		.hostname = d->hostname,
		.cpus = d->cpus,
		.datagram_bytes = ND_UNKNOWN,
		.follows = d->plan->follows ? 1 : ND_UNKNOWN,
		.longest = ND_UNKNOWN,
		.queue = ND_UNKNOWN,
	};

	d->stage = ND_STAGE_HELLO;
	nd_native_send(d, ND_MSG_HELLO, &b);
	nd_native_wait(d, nd_native_patience(d));
}

void nd_native_client_ask_time(struct nd_native *d)
{
	d->times_left--;
	d->sent_ns = d->now_ns;
	nd_native_send(d, ND_MSG_TIME,
		       &(struct nd_native_body){ .sent = d->sent_ns, .at = ND_UNKNOWN });
}

/* What the server sends back must fit its path too. A size that the user chose stays. */
static void fit_datagrams(struct nd_plan *plan, uint64_t datagram_bytes)
{
	uint64_t i;

	if (datagram_bytes == 0 || plan->ask.has_message_bytes)
		return;
	for (i = 0; i < plan->workloads; i++) {
		struct nd_workload *w = &plan->workload[i];

		if (nd_plan_is_datagram(w) && w->active == ND_SERVER)
			w->message_bytes = ND_MIN(w->message_bytes, datagram_bytes);
	}
}

/* A test that ends by what it has moved has a longest time that nobody asked for. */
static void fit_time(struct nd_plan *plan, uint64_t longest_ns)
{
	const struct nd_workload *w = &plan->workload[0];
	uint64_t around = plan->warmup_ns + plan->cooldown_ns;

	if (!(w->total_bytes || w->total_ops) || plan->ask.has_time ||
	    longest_ns < around + ND_NS_PER_MS)
		return;
	plan->duration_ns = ND_MIN(plan->duration_ns, longest_ns - around);
	plan->interval_ns = ND_MIN(plan->interval_ns, plan->duration_ns);
}

static bool knows(const struct nd_native_body *b, const char *feature)
{
	for (uint64_t i = 0; i < b->features.n; i++)
		if (!strcmp(b->features.v[i], feature))
			return true;
	return false;
}

void nd_native_client_hello(struct nd_native *d, const struct nd_native_body *b)
{
	if (b->protocol != ND_NATIVE_PROTOCOL) {
		nd_native_protest(d,
				  "the server speaks version %lld of the protocol, this client %u",
				  b->protocol == ND_UNKNOWN ? -1ll : (long long)b->protocol,
				  ND_NATIVE_PROTOCOL);
		return;
	}
	nd_native_meet(d, b);
	d->peer_is_quiet = knows(b, ND_NATIVE_QUIET);
	if (b->queue != ND_UNKNOWN)
		d->peer_queue = (uint32_t)ND_MIN(b->queue, (uint64_t)UINT32_MAX);
	if (b->datagram_bytes != ND_UNKNOWN)
		fit_datagrams(d->plan, b->datagram_bytes);
	if (b->longest != ND_UNKNOWN)
		fit_time(d->plan, b->longest);
	d->stage = ND_STAGE_PLAN;
	nd_native_wait(d, nd_native_patience(d));
	d->times_left = ND_NATIVE_TIMES_BEFORE;
	nd_native_client_ask_time(d);
}

static struct nd_clock *clock_of(struct nd_native *d)
{
	return d->stage == ND_STAGE_PLAN      ? &d->before
	       : d->stage == ND_STAGE_PREPARE ? &d->held
					      : &d->after;
}

void nd_native_client_time(struct nd_native *d, const struct nd_native_body *b)
{
	if (b->sent != d->sent_ns || b->at == ND_UNKNOWN) {
		nd_native_protest(d, "message 'time' answers nothing that was asked");
		return;
	}
	d->sent_ns = ND_UNKNOWN;
	if (d->stage == ND_STAGE_RUN)
		return; /* asked while the test was held */
	nd_clock_add(clock_of(d), b->sent, b->at, d->now_ns);
	if (d->times_left > 0) {
		nd_native_client_ask_time(d);
	} else if (d->stage == ND_STAGE_PLAN) {
		nd_native_send(d, ND_MSG_PLAN, &(struct nd_native_body){ .plan = d->plan });
	} else if (d->stage == ND_STAGE_PREPARE) {
		d->before = d->held;
	} else {
		d->is_timed = true;
		nd_native_wrapped(d);
	}
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static bool read_token(const char *text, uint8_t ret[16])
{
	size_t i;

	if (!text || strlen(text) != 32)
		return false;
	for (i = 0; i < 16; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* ---- the agreed plan ---- */

/* What a server has to leave alone, beside all that is said of workloads. Techniques are its own business. */
static const char *const fixed_keys[] = {
	"duration_ns", "warmup_ns", "cooldown_ns", "interval_ns", "drain_ns",
	"payload",     "verify",    "mptcp",       "group",       "group_expect",
};

static bool is_same(const struct nd_field *f, const void *a, const void *b);

static bool is_same_list(const struct nd_table *table, const struct nd_list *a,
			 const struct nd_list *b)
{
	if (a->n != b->n)
		return false;
	for (uint64_t i = 0; i < a->n * table->size; i += table->size) {
		nd_row_for_each(f, table)
			if (!is_same(f, (const char *)a->v + i, (const char *)b->v + i))
				return false;
	}
	return true;
}

static bool is_same(const struct nd_field *f, const void *a, const void *b)
{
	const void *x = nd_field_at(a, f), *y = nd_field_at(b, f);
	const char *p, *q;

	switch (f->type) {
	case ND_T_U64:
		return *(const uint64_t *)x == *(const uint64_t *)y;
	case ND_T_BOOL:
		return *(const bool *)x == *(const bool *)y;
	case ND_T_ENUM:
		return memcmp(x, y, sizeof(int)) == 0;
	case ND_T_STR:
		p = *(const char *const *)x;
		q = *(const char *const *)y;
		return p == q || (p && q && !strcmp(p, q));
	case ND_T_LIST:
		return is_same_list(f->table, x, y);
	default:
		return true; /* a plan has none of those */
	}
}

static int differs(const char *where, const struct nd_field *f, struct nd_err *err)
{
	return nd_fail(err, -EBADMSG, "'%s%s' is not what was asked for", where, f->key);
}

static int compare_workload(const struct nd_workload *mine, const struct nd_workload *agreed,
			    uint64_t number, struct nd_err *err)
{
	char where[32];

	(void)snprintf(where, sizeof(where), "workloads[%u].", (unsigned)number); /* it fits */
	nd_row_for_each(f, &nd_workload_table) {
		bool is_size = f->offset == offsetof(struct nd_workload, message_bytes);

		if (is_size && nd_plan_is_datagram(mine) && agreed->message_bytes > 0 &&
		    agreed->message_bytes <= mine->message_bytes)
			continue;
		if (!is_same(f, mine, agreed))
			return differs(where, f, err);
	}
	return 0;
}

static bool is_fixed(const struct nd_field *f)
{
	for (size_t i = 0; i < ND_COUNTOF(fixed_keys); i++)
		if (!strcmp(fixed_keys[i], f->key))
			return true;
	return false;
}

/* A server may make datagrams smaller and choose other techniques: the test stays the one that was asked for. */
static int compare(const struct nd_plan *mine, const struct nd_plan *agreed, struct nd_err *err)
{
	int code = 0;

	if (agreed->workloads != mine->workloads)
		return nd_fail(err, -EBADMSG, "'workloads' are not as many as were asked for");
	for (uint64_t i = 0; i < mine->workloads && code == 0; i++)
		code = compare_workload(&mine->workload[i], &agreed->workload[i], i, err);
	if (code < 0)
		return code;
	nd_row_for_each(f, &nd_plan_table)
		if (is_fixed(f) && !is_same(f, mine, agreed))
			return differs("", f, err);
	return 0;
}

/* The plan as the server will run it. */
static int adopt(struct nd_native *d, const struct nd_native_body *b, struct nd_err *err)
{
	struct nd_plan *mine = d->plan, *agreed = nd_arena_alloc(&d->passing, 1, sizeof(*agreed));
	int code;

	if (!agreed)
		return nd_fail(err, -ENOMEM, "no memory for the agreed plan");
	nd_plan_init(agreed);
	code = nd_wire_get(b->plan_json, &nd_plan_table, agreed, &d->passing, ND_MAX_WORKLOADS,
			   err);
	if (code == 0)
		code = nd_plan_adopt(agreed, err);
	if (code == 0)
		code = compare(mine, agreed, err);
	for (uint64_t i = 0; i < mine->workloads && code == 0; i++)
		mine->workload[i].message_bytes = agreed->workload[i].message_bytes;
	return code;
}

void nd_native_client_agreed(struct nd_native *d, const struct nd_native_body *b)
{
	struct nd_err err = { 0 };

	if (d->times_left > 0 || d->sent_ns != ND_UNKNOWN) {
		nd_native_protest(d, "message 'agreed' is out of order: nothing was asked yet");
		return;
	}
	if (!read_token(b->token, d->key)) {
		nd_native_protest(d, "message 'agreed': 'token' is not 32 hexadecimal digits");
		return;
	}
	if (adopt(d, b, &err) < 0) {
		nd_native_protest(d, "message 'agreed': %s", err.text);
		return;
	}
	d->threads = nd_native_threads(d);
	if (b->threads < 1 || b->threads > d->threads) {
		nd_native_protest(d, "message 'agreed': 'threads' is not in 1..%llu",
				  (unsigned long long)d->threads);
		return;
	}
	if (nd_plan_connects(d->plan) && (b->port < 1 || b->port > UINT16_MAX)) {
		nd_native_protest(d, "message 'agreed': 'port' is not in 1..65535");
		return;
	}
	if (nd_plan_connects(d->plan))
		d->plan->data_port = b->port;
	d->threads = b->threads;
	d->plan->threads = b->threads;
	nd_native_prepare(d);
}

void nd_native_client_refuse(struct nd_native *d, const struct nd_native_body *b)
{
	nd_native_lost(d, -EPERM, "the server refused: %s",
		       b->sentence ? b->sentence : "no reason given");
}

void nd_native_client_ready(struct nd_native *d)
{
	uint64_t ahead_ns, at_ns;

	if (d->is_ready &&
	    !d->peer_is_ready) /* all flows are accepted: little is left to do there */
		nd_native_wait(d, nd_native_setup_ns(d, nd_native_patience(d)));
	if (!d->is_ready || !d->peer_is_ready)
		return;
	if (d->plan->group) {
		nd_native_hold(d);
		return;
	}
	ahead_ns = ND_MIN(4 * ND_MIN(d->before.rtt_ns, ND_NS_PER_S * 3600) + ND_NATIVE_AHEAD_NS,
			  ND_NATIVE_AHEAD_MAX_NS / 2);
	at_ns = d->now_ns + ND_MAX(ahead_ns, ND_NATIVE_AHEAD_MIN_NS);
	nd_native_send(d, ND_MSG_GO,
		       &(struct nd_native_body){ .at = at_ns + (uint64_t)d->before.offset_ns });
	nd_native_start(d, at_ns);
}

void nd_native_client_is_ready(struct nd_native *d, const struct nd_native_body *b)
{
	(void)b; /* holds nothing */
	if (d->peer_is_ready) {
		nd_native_protest(d, "message 'ready' came twice");
		return;
	}
	d->peer_is_ready = true;
	nd_native_client_ready(d);
}
