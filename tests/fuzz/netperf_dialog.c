/* SPDX-License-Identifier: MIT */
/*
 * A netperf dialog of either end, given anything. The first two bytes choose end and settings; then come records of a
 * byte for the kind and what that needs. A message is told by what differs from a plain one: so many pairs of a
 * word's place and a byte for it.
 */
#include "dialog.h"
#include "plan/netperf.h"

#define TIMERS  2u
#define MESSAGE 656u

enum { UP, SPARSE, BYTES, DOWN, TIMER, READY, RESULT, SOCKET, PLAN, FIRST, STOP, FAILED, KINDS };

/* What a server would run must be fit to be judged, and small enough to be tried. */
static void look_at_plan(const struct dialog *x)
{
	const struct nd_workload *w = &x->plan.workload[0];
	struct nd_err err = { 0 };

	check(x->plan.workloads == 1 && w->flows == 1);
	check(w->message_bytes > 0 && w->message_bytes <= (64u << 20));
	check(x->plan.duration_ns > 0 && x->plan.duration_ns <= ND_MAX_NS);
	check(x->plan.data_port <= UINT16_MAX && x->plan.port <= UINT16_MAX);
	(void)nd_plan_check(&x->plan, &err);
}

static void carry(struct dialog *x, const struct nd_verb_item *v)
{
	const struct nd_netperf *set = x->set;

	switch (v->what) {
	case ND_DO_PREPARE:
	case ND_DO_RESTART:
		check((v->what == ND_DO_PREPARE) == (x->prepares == 0));
		check(v->threads > 0);
		x->prepares++;
		break;
	case ND_DO_START:
	case ND_DO_FINISH:
		check(x->prepares > 0);
		break;
	case ND_DO_SEND:
		check(v->n == MESSAGE && v->data_at + v->n <= x->verbs.data.len);
		break;
	case ND_DO_CONNECT:
		check(!set->server && !set->no_control);
		break;
	case ND_DO_PROPOSE:
		check(set->server);
		look_at_plan(x);
		break;
	case ND_DO_SOCKET:
	case ND_DO_CLOSE:
	case ND_DO_STOP:
		break;
	default:
		check(false);
	}
}

static void say(struct dialog *x, unsigned link, const uint8_t *m, size_t n)
{
	nd_auto_str line = { 0 };

	check(n == MESSAGE);
	x->d->print(m, n, &line);
	feed(x,
	     (struct nd_dialog_event){ .what = ND_DLG_MESSAGE, .link = link, .data = m, .n = n });
}

/* An answer, or a request as most are, and what differs from it. */
static void sparse(struct dialog *x, unsigned link, struct input *in)
{
	const struct nd_netperf *set = x->set;
	static const uint8_t usual[][2] = { { 3, 97 }, { 31, 1 }, { 55, 1 },  { 67, 1 },
					    { 95, 4 }, { 99, 1 }, { 103, 6 }, { 107, 4 } };
	static const uint8_t answer[][2] = { { 3, 98 }, { 54, 9 } };
	uint8_t m[MESSAGE] = { 0 };
	unsigned n = byte(in) % 64u;

	for (size_t i = 0; set->server && i < ND_COUNTOF(usual); i++)
		m[usual[i][0]] = usual[i][1];
	for (size_t i = 0; !set->server && i < ND_COUNTOF(answer); i++)
		m[answer[i][0]] = answer[i][1];
	while (n-- > 0) {
		unsigned at = byte(in);

		if (at == 255)
			at += byte(in);
		m[at] = byte(in);
	}
	say(x, link, m, sizeof(m));
}

static void local(struct dialog *x, enum nd_dialog_event_kind what, uint8_t b)
{
	struct nd_err err = { .code = -EIO, .text = "it failed" };
	struct nd_part part;
	struct nd_side side;
	const struct nd_socket_facts s = { .port = b,
					   .sndbuf_bytes = (uint64_t)b << 10,
					   .rcvbuf_bytes = (uint64_t)b << 12,
					   .ipv6 = b & 1 };

	nd_table_unknown(&nd_side_table, &side);
	nd_table_unknown(&nd_part_table, &part);
	part.workload = 0;
	part.run.rx_bytes = b;
	side.parts = (struct nd_list){ .v = &part, .n = 1 };
	feed(x, (struct nd_dialog_event){ .what = what,
					  .err = &err,
					  .error = what == ND_DLG_SOCKET && b == 7 ? -EIO : 0,
					  .side = b & 1 ? &side : NULL,
					  .socket = &s,
					  .plan = &x->plan,
					  .reason = b & 4 ? "reason" : NULL });
}

static void play(struct dialog *x, struct input *in)
{
	static const enum nd_dialog_event_kind locals[] = {
		[READY] = ND_DLG_FLOWS_READY, [RESULT] = ND_DLG_RESULT,    [SOCKET] = ND_DLG_SOCKET,
		[PLAN] = ND_DLG_PLAN,         [FIRST] = ND_DLG_FIRST_DATA, [STOP] = ND_DLG_STOP,
		[FAILED] = ND_DLG_RUN_FAILED,
	};

	uint8_t kind = byte(in) % KINDS, b = byte(in);

	switch (kind) {
	case UP:
		feed(x, (struct nd_dialog_event){ .what = ND_DLG_LINK_UP, .link = b });
		break;
	case DOWN:
		feed(x, (struct nd_dialog_event){ .what = ND_DLG_LINK_DOWN,
						  .link = b,
						  .error = b & 1 ? -ECONNREFUSED : 0 });
		break;
	case SPARSE:
		sparse(x, b & 3u, in);
		break;
	case BYTES:
		messages(x, b & 3u, 0, in);
		break;
	case TIMER:
		timer(x, b);
		break;
	default:
		local(x, locals[kind], b);
		break;
	}
}

static void settings(struct dialog *x, uint8_t a, uint8_t b)
{
	struct nd_netperf *set = x->set;

	nd_plan_init(&x->plan);
	*set = (struct nd_netperf){
		.server = a & 1,
		.datagram = a & 2,
		.connection_test = a & 4,
		.remote_cpu = a & 8,
		.no_control = (a & 16) && !(a & 1),
		.passphrase = a & 32 ? "secret" : NULL,
		.wait_ns = a & 64 ? ND_NS_PER_S : 0,
		.parallel = a & 128 ? 3 : 1,
		.test = (enum nd_netperf_test)(b % ND_NP_TESTS),
		.direction = b >> 4 & (ND_NP_SEND | ND_NP_RECV),
		.length = (int8_t)b,
		.request_bytes = 1,
		.response_bytes = 1,
	};
	x->plan.face = set;
	x->plan.face_table = &nd_netperf_table;
	if (!set->server) {
		x->plan.duration_ns = ND_NS_PER_S;
		x->plan.workloads = x->plan.workload_list.n = 1;
		x->plan.workload[0] = (struct nd_workload){ .transport = "tcp", .flows = 1 };
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nd_netperf set;
	struct dialog x = { .d = nd_dialect_find("netperf"),
			    .set = &set,
			    .timers = TIMERS,
			    .carry = carry,
			    .say = say };
	struct input in = { data, size };
	uint8_t a = byte(&in);

	settings(&x, a, byte(&in));
	run_dialog(&x, set.server ? ND_SERVER : ND_CLIENT, &in, play);
	return 0;
}
