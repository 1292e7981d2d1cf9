/* SPDX-License-Identifier: MIT */
/*
 * A connection for each transaction: the asking end opens it, asks, reads the answer and then the end of the stream,
 * which is the answering end's to close first. Without a request it is the connection alone that counts.
 */
#include <errno.h>

#include "load/int.h"

#define RETRY_NS ND_NS_PER_MS /* no port, or nobody to take it: try again after that */

enum crr_stage { CRR_CLOSED, CRR_OPENING, CRR_ASKING, CRR_HEARING, CRR_ENDING };

struct crr {
	uint64_t request, response; /* 0: none */
	uint64_t left;              /* transactions; ND_UNKNOWN: by time */
	uint64_t open_ns;           /* when the connection in hand began */
	uint64_t part_ns;           /* when the part of it that goes on began */
	uint64_t patience_ns;       /* for the request of one that came; 0: any time */
	uint8_t stage;              /* enum crr_stage */
	bool active, stopping, insists;
	struct nd_pace pace; /* of one byte for each connection */
};

static int init_with(struct crr *s, const struct nd_load_cfg *cfg, bool talks)
{
	const struct nd_workload *wl = cfg->workload;

	if (cfg->datagram)
		return -EOPNOTSUPP;
	s->active = cfg->active;
	s->insists = cfg->workload->insists;
	s->patience_ns = cfg->workload->patience_ns;
	s->request = talks ? ND_MAX(cfg->workload->request_bytes, 1) : 0;
	s->response = talks ? ND_MAX(cfg->workload->response_bytes, 1) : 0;
	s->left = cfg->workload->total_ops && cfg->ops ? cfg->ops : ND_UNKNOWN;
	nd_pace_init(&s->pace,
		     wl->rate_ops && wl->flows ? (double)wl->rate_ops / (double)wl->flows : 0,
		     ND_UNKNOWN);
	return 0;
}

static int init_crr(void *state, const struct nd_load_cfg *cfg)
{
	return init_with(state, cfg, true);
}

static int init_cc(void *state, const struct nd_load_cfg *cfg)
{
	return init_with(state, cfg, false);
}

static void open_next(struct crr *s, uint64_t at_ns, struct nd_step *ret)
{
	s->stage = CRR_OPENING;
	ret->op = s->active ? ND_OP_OPEN : ND_OP_ACCEPT;
	ret->at_ns = s->active ? at_ns : 0;
	if (s->left == 0 || (s->active && s->stopping))
		*ret = (struct nd_step){ .op = ND_OP_FINISH };
}

/* Where there is a rate, at the instant that it says. */
static void open_when_due(struct crr *s, uint64_t at_ns, uint64_t now_ns, struct nd_step *ret)
{
	if (s->active && !s->stopping && s->left > 0 && s->pace.ns_per_byte > 0)
		at_ns = nd_pace_take(&s->pace, 1, now_ns);
	open_next(s, at_ns, ret);
}

static void talk(struct crr *s, bool sends, uint64_t bytes, struct nd_step *ret)
{
	s->stage = sends ? CRR_ASKING : CRR_HEARING;
	ret->op = sends ? ND_OP_SEND : ND_OP_RECV;
	ret->count = 1;
	ret->bytes = bytes;
}

/* The peer closes first. */
static void await_end(struct crr *s, struct nd_step *ret)
{
	s->stage = CRR_ENDING;
	ret->op = ND_OP_RECV;
}

static void close_it(struct crr *s, struct nd_step *ret)
{
	s->stage = CRR_CLOSED;
	ret->op = ND_OP_CLOSE;
}

static void end_part(struct crr *s, enum nd_conn_part part, uint64_t now_ns, struct nd_note *note)
{
	note->part = (uint8_t)part;
	note->part_ns = now_ns - s->part_ns;
	s->part_ns = now_ns;
}

static void count(struct crr *s, uint64_t now_ns, struct nd_note *note)
{
	note->transactions = 1;
	note->service_ns = now_ns - s->open_ns;
	if (s->left != ND_UNKNOWN)
		s->left--;
}

/* Ours, or theirs after an answer, or an error. */
static void active_closed(struct crr *s, const struct nd_event *ev, struct nd_step *ret,
			  struct nd_note *note)
{
	bool is_passing = ev->error == -EADDRNOTAVAIL || ev->error == -EADDRINUSE ||
			  ev->error == -EAGAIN || (s->insists && s->stage == CRR_OPENING);

	if (s->stage == CRR_CLOSED) {
		open_when_due(s, ev->now_ns, ev->now_ns, ret);
	} else if (ev->error == 0 && s->stage == CRR_ENDING) {
		count(s, ev->now_ns, note);
		end_part(s, ND_CONN_ENDED, ev->now_ns, note);
		close_it(s, ret);
	} else if (ev->error && is_passing) {
		open_next(s, ev->now_ns + RETRY_NS, ret);
	} else {
		ret->op = ND_OP_FINISH; /* it is not served as agreed upon */
	}
}

static void next_active(struct crr *s, const struct nd_event *ev, struct nd_step *ret,
			struct nd_note *note)
{
	switch (ev->what) {
	case ND_HAP_START:
		s->pace.next_ns = ev->now_ns;
		open_when_due(s, 0, ev->now_ns, ret);
		break;
	case ND_HAP_OPENED:
		s->open_ns = s->part_ns = ev->begun_ns;
		end_part(s, ND_CONN_OPENED, ev->now_ns, note);
		if (s->request)
			talk(s, true, s->request, ret);
		else
			await_end(s, ret);
		break;
	case ND_HAP_SENT:
		talk(s, false, s->response, ret);
		break;
	case ND_HAP_RECEIVED:
		if (s->stage == CRR_HEARING) /* else it is more than was agreed upon */
			end_part(s, ND_CONN_ANSWERED, ev->now_ns, note);
		await_end(s, ret);
		break;
	case ND_HAP_CLOSED:
		active_closed(s, ev, ret, note);
		break;
	default:
		s->stopping = true;
		ret->op = ND_OP_FINISH; /* what is under way does not count */
	}
}

static void next_passive(struct crr *s, const struct nd_event *ev, struct nd_step *ret,
			 struct nd_note *note)
{
	switch (ev->what) {
	case ND_HAP_OPENED:
		s->open_ns = ev->begun_ns;
		if (s->request) {
			talk(s, false, s->request, ret);
			ret->until_ns = s->patience_ns ? ev->now_ns + s->patience_ns : 0;
			break;
		}
		count(s, ev->now_ns, note);
		close_it(s, ret);
		break;
	case ND_HAP_RECEIVED:
		talk(s, true, s->response, ret);
		ret->last = true;
		break;
	case ND_HAP_SENT:
		count(s, ev->now_ns, note);
		close_it(s, ret);
		break;
	case ND_HAP_TIME: /* who comes and says nothing makes room for those who ask */
		close_it(s, ret);
		break;
	case ND_HAP_STOP:
		ret->op = ND_OP_KEEP; /* the asking end finishes */
		break;
	case ND_HAP_CLOSED:
		if (s->stage == CRR_CLOSED || ev->error)
			open_next(s, 0, ret);
		else
			close_it(s, ret); /* it went before it had asked */
		break;
	default:
		open_next(s, 0, ret);
	}
}

static void next(void *state, const struct nd_event *ev, struct nd_step *ret, struct nd_note *note)
{
	struct crr *s = state;

	*ret = (struct nd_step){ 0 };
	*note = (struct nd_note){ 0 };
	if (s->active)
		next_active(s, ev, ret, note);
	else
		next_passive(s, ev, ret, note);
}

const struct nd_load nd_load_crr = {
	.name = "crr",
	.help = "a connection, a request and a response, over and over",
	.state_bytes = sizeof(struct crr),
	.init = init_crr,
	.next = next,
	.needs = ND_LOAD_STREAM,
	.round_trips = true,
	.connects = true,
	.asks_first = true,
};

const struct nd_load nd_load_cc = {
	.name = "cc",
	.help = "connections, opened and closed over and over",
	.state_bytes = sizeof(struct crr),
	.init = init_cc,
	.next = next,
	.needs = ND_LOAD_STREAM,
	.round_trips = true,
	.connects = true,
};
