/* SPDX-License-Identifier: MIT */
/*
 * An NTttcp dialog of either end, given anything. The first two bytes choose end and settings; then come records
 * of a byte for the kind and what that needs.
 */
#include "dialog.h"
#include "plan/ntttcp.h"

#define TIMERS 3u

enum { UP, WORD, BYTES, DOWN, TIMER, READY, RESULT, OPEN, CLOSED, FIRST, STOP, FAILED, KINDS };

static void carry(struct dialog *x, const struct nd_verb_item *v)
{
	const struct nd_ntttcp *set = x->set;

	switch (v->what) {
	case ND_DO_PREPARE:
		check(++x->prepares == 1);
		check(v->threads > 0 && x->plan.duration_ns > 0);
		break;
	case ND_DO_RESTART:
	case ND_DO_START:
	case ND_DO_FINISH:
		check(x->prepares == 1);
		check(x->plan.duration_ns > 0 && x->plan.duration_ns <= ND_MAX_NS &&
		      x->plan.warmup_ns <= ND_MAX_NS && x->plan.cooldown_ns <= ND_MAX_NS);
		break;
	case ND_DO_SEND:
		check(v->n > 0 && v->data_at + v->n <= x->verbs.data.len);
		break;
	case ND_DO_CONNECT:
		check(!set->no_sync || set->dynamic_ports);
		break;
	case ND_DO_PROPOSE:
	case ND_DO_PEER_INTERVAL:
	case ND_DO_SOCKET:
		check(false);
		break;
	default:
		break;
	}
}

static unsigned link_of(uint8_t b)
{
	return b < 128 ? b : 65536u + b - 128u;
}

static void say(struct dialog *x, unsigned link, const uint8_t *m, size_t n)
{
	feed(x,
	     (struct nd_dialog_event){ .what = ND_DLG_MESSAGE, .link = link, .data = m, .n = n });
}

static void word(struct dialog *x, unsigned link, struct input *in)
{
	uint8_t w[4] = { 0, 0, 0, 0 };

	w[3] = byte(in);
	if (w[3] >= 128) {
		w[0] = byte(in);
		w[2] = byte(in);
	}
	say(x, link, w, sizeof(w));
}

static void local(struct dialog *x, enum nd_dialog_event_kind what, uint8_t b)
{
	struct nd_err err = { .code = -EIO, .text = "it failed" };
	struct nd_part part = { 0 };
	struct nd_side side = { .parts = { .v = &part, .n = 1 } };

	nd_table_unknown(&nd_part_table, &part);
	part.run.rx_bytes = b;
	feed(x, (struct nd_dialog_event){ .what = what,
					  .err = &err,
					  .side = &side,
					  .flow = b,
					  .reason = b & 1 ? "reason" : NULL });
}

static void play(struct dialog *x, struct input *in)
{
	unsigned link;
	uint8_t kind = byte(in) % KINDS;

	switch (kind) {
	case UP:
	case DOWN:
		link = link_of(byte(in));
		feed(x, (struct nd_dialog_event){ .what = kind == UP ? ND_DLG_LINK_UP
								     : ND_DLG_LINK_DOWN,
						  .link = link,
						  .port_class = byte(in) % 6u,
						  .error = kind == DOWN ? -ECONNREFUSED : 0 });
		break;
	case WORD:
		link = link_of(byte(in));
		word(x, link, in);
		break;
	case BYTES:
		link = link_of(byte(in));
		messages(x, link, byte(in) % 6u, in);
		break;
	case TIMER:
		timer(x, byte(in));
		break;
	case READY:
		local(x, ND_DLG_FLOWS_READY, 0);
		break;
	case RESULT:
		local(x, ND_DLG_RESULT, byte(in));
		break;
	case OPEN:
		local(x, ND_DLG_FLOW_OPEN, byte(in));
		break;
	case CLOSED:
		local(x, ND_DLG_FLOW_CLOSED, byte(in));
		break;
	case FIRST:
		local(x, ND_DLG_FIRST_DATA, 0);
		break;
	case STOP:
		local(x, ND_DLG_STOP, byte(in));
		break;
	default:
		local(x, ND_DLG_RUN_FAILED, 0);
		break;
	}
}

static void settings(struct dialog *x, uint8_t a, uint8_t b)
{
	struct nd_ntttcp *set = x->set;

	nd_plan_init(&x->plan);
	*set = (struct nd_ntttcp){
		.sender = a & 1,
		.windows = a & 2,
		.udp = a & 4,
		.no_sync = a & 8,
		.multi = a & 16,
		.last = a & 32,
		.continuous = a & 64,
		.dynamic_ports = a & 128,
		.has_time = b & 1,
		.buffers = b & 2 ? 20480 : 0,
		.warmup_ms = b & 4 ? 1000 : 0,
		.cooldown_ms = b & 8 ? 1500 : 0,
		.time_ms = 1000u * (b >> 4),
		.ports = 2,
	};
	x->plan.face = set;
	x->plan.face_table = &nd_ntttcp_table;
	x->plan.port = 5001;
	x->plan.interval_ns = ND_NS_PER_S;
	x->plan.flows_per_port = 1;
	x->plan.workloads = x->plan.workload_list.n = 1;
	x->plan.workload[0] = (struct nd_workload){ .transport = "tcp", .flows = 2 };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nd_ntttcp set;
	struct dialog x = { .d = nd_dialect_find("ntttcp"),
			    .set = &set,
			    .timers = TIMERS,
			    .carry = carry,
			    .say = say };
	struct input in = { data, size };
	uint8_t a = byte(&in);

	settings(&x, a, byte(&in));
	run_dialog(&x, set.sender ? ND_CLIENT : ND_SERVER, &in, play);
	return 0;
}
