/* SPDX-License-Identifier: MIT */
/*
 * Request and response, one outstanding per flow. The asking end reports each round trip; with a rate also
 * the time from the intended instant, and a stall is caught up in full so that no intended request is lost
 * from the figures.
 */
#include "load/int.h"

/* A datagram, or its answer, that has not come after this long is lost: the next request goes out. */
#define PATIENCE_NS ND_NS_PER_S

struct rr {
	struct nd_pace pace;
	uint64_t request, response;
	uint64_t left;        /* request bytes still to send; ND_UNKNOWN: by time */
	uint64_t intended_ns; /* of the request in flight; 0: no rate */
	uint64_t sent_ns;     /* when its sending began */
	uint64_t seq;         /* its number, 0 without numbers */
	bool active, datagram, receiving, stopping;
};

static int init(void *state, const struct nd_load_cfg *cfg)
{
	struct rr *s = state;
	const struct nd_workload *wl = cfg->workload;
	double bytes_per_s = cfg->bytes_per_s;

	s->active = cfg->active;
	s->datagram = cfg->datagram;
	s->request = ND_MAX(wl->request_bytes, 1);
	s->response = ND_MAX(wl->response_bytes, 1);
	s->left = wl->total_bytes ? cfg->bytes : ND_UNKNOWN;
	if (wl->rate_ops && wl->flows)
		bytes_per_s = (double)wl->rate_ops / (double)wl->flows * (double)s->request;
	nd_pace_init(&s->pace, bytes_per_s, ND_UNKNOWN);
	return 0;
}

static void ask(struct rr *s, uint64_t now_ns, struct nd_step *ret)
{
	s->receiving = false;
	if (s->stopping || s->left == 0) {
		ret->op = ND_OP_FINISH;
		return;
	}
	ret->op = ND_OP_SEND;
	ret->count = 1;
	ret->bytes = s->request;
	s->intended_ns = 0;
	if (s->pace.ns_per_byte > 0)
		s->intended_ns = ret->at_ns = nd_pace_take(&s->pace, s->request, now_ns);
}

static void listen_for(struct rr *s, uint64_t bytes, struct nd_step *ret)
{
	s->receiving = true;
	ret->op = ND_OP_RECV;
	ret->count = 1;
	ret->bytes = bytes;
	if (s->active && s->datagram)
		ret->until_ns = s->sent_ns + PATIENCE_NS;
}

static void answered(struct rr *s, const struct nd_event *ev, struct nd_note *note)
{
	note->transactions = 1;
	note->service_ns = ev->now_ns - s->sent_ns;
	if (s->intended_ns && ev->now_ns > s->intended_ns)
		note->response_ns = ev->now_ns - s->intended_ns;
}

static void next_active(struct rr *s, const struct nd_event *ev, struct nd_step *ret,
			struct nd_note *note)
{
	switch (ev->what) {
	case ND_HAP_START:
		s->pace.next_ns = ev->now_ns;
		ask(s, ev->now_ns, ret);
		break;
	case ND_HAP_SENT:
		if (s->left != ND_UNKNOWN)
			s->left -= ND_MIN(s->left, s->request);
		s->sent_ns = ev->begun_ns;
		s->seq = ev->seq;
		listen_for(s, s->response, ret);
		break;
	case ND_HAP_RECEIVED:
		if (ev->seq && s->seq && ev->seq != s->seq) {
			listen_for(s, s->response, ret); /* a late answer, already given up */
			break;
		}
		answered(s, ev, note);
		ask(s, ev->now_ns, ret);
		break;
	case ND_HAP_TIME:
		ask(s, ev->now_ns, ret);
		break;
	case ND_HAP_STOP:
		s->stopping = true;
		/* what has begun is brought to its end */
		ret->op = s->receiving || ev->bytes ? ND_OP_KEEP : ND_OP_FINISH;
		break;
	default:
		ret->op = ND_OP_FINISH;
	}
}

static void next_passive(struct rr *s, const struct nd_event *ev, struct nd_step *ret)
{
	switch (ev->what) {
	case ND_HAP_RECEIVED:
		ret->op = ND_OP_SEND;
		ret->count = 1;
		ret->bytes = s->response;
		ret->reply = s->datagram;
		break;
	case ND_HAP_CLOSED:
		ret->op = ND_OP_FINISH;
		break;
	case ND_HAP_STOP:
		ret->op = ND_OP_KEEP; /* the asking end finishes */
		break;
	default:
		listen_for(s, s->request, ret);
	}
}

static void next(void *state, const struct nd_event *ev, struct nd_step *ret, struct nd_note *note)
{
	struct rr *s = state;

	*ret = (struct nd_step){ 0 };
	*note = (struct nd_note){ 0 };
	if (s->active)
		next_active(s, ev, ret, note);
	else
		next_passive(s, ev, ret);
}

const struct nd_load nd_load_rr = {
	.name = "rr",
	.help = "request and response, one outstanding per flow",
	.state_bytes = sizeof(struct rr),
	.init = init,
	.next = next,
	.round_trips = true,
};
