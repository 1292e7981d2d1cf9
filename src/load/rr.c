/* SPDX-License-Identifier: MIT */
/*
 * Request and response, one outstanding per flow, or as many more as the workload says. The asking end reports each round trip; with a rate also
 * the time from the intended instant, and a stall is caught up in full so that no intended request is lost
 * from the figures.
 */
#include "load/int.h"

/* A datagram, or its answer, that has not come after this long is lost: the next request goes out. */
#define PATIENCE_NS ND_NS_PER_S
#define AHEAD_MAX   65535u
#define RING_MIN    64u
#define NUMBERED    8u /* a datagram of so many bytes can carry a sequence number */

struct rr {
	struct nd_pace pace;
	uint64_t request, response, patience_ns;
	uint64_t left;        /* request bytes still to send, or to come; ND_UNKNOWN: by time */
	uint64_t intended_ns; /* of the request in flight; 0: no rate */
	uint64_t sent_ns;     /* when its sending began */
	uint64_t ops;         /* requests still to send; ND_UNKNOWN: by time or bytes */
	uint64_t seq;         /* its number, 0 without numbers */
	uint32_t window, under_way; /* requests that may be, and are, unanswered */
	uint32_t ring, first;       /* places in .begun_ns; that of the oldest, without numbers */
	bool active, datagram, receiving, stopping;
	uint64_t begun_ns[]; /* when they were sent; 0: answered */
};

static uint32_t window_of(const struct nd_workload *wl)
{
	return (uint32_t)ND_MIN(wl->ahead, AHEAD_MAX) + 1;
}

/* One that is lost keeps its place until so many later ones were sent, or nothing has come for a while. */
static uint32_t ring_of(const struct nd_workload *wl)
{
	uint32_t window = window_of(wl), ring = RING_MIN;

	while (ring < 4 * window)
		ring *= 2;
	return window == 1 ? 1 : ring;
}

static size_t more_bytes(const struct nd_workload *wl)
{
	return (ring_of(wl) - 1) * sizeof(uint64_t); /* one has its place */
}

static int init(void *state, const struct nd_load_cfg *cfg)
{
	struct rr *s = state;
	const struct nd_workload *wl = cfg->workload;
	double bytes_per_s = cfg->bytes_per_s;

	s->active = cfg->active;
	s->datagram = cfg->datagram;
	s->request = ND_MAX(wl->request_bytes, 1);
	s->response = ND_MAX(wl->response_bytes, 1);
	s->patience_ns = wl->patience_ns ?: PATIENCE_NS;
	s->left = wl->total_bytes ? cfg->bytes : ND_UNKNOWN;
	s->ops = wl->total_ops ? cfg->ops : ND_UNKNOWN;
	s->window = window_of(wl);
	s->ring = ring_of(wl);
	if (wl->rate_ops && wl->flows)
		bytes_per_s = (double)wl->rate_ops / (double)wl->flows * (double)s->request;
	nd_pace_init(&s->pace, bytes_per_s, ND_UNKNOWN);
	return 0;
}

/* Bytes of the next request: the last one may be shorter. Nothing left: what would come is one too many. */
static uint64_t request_bytes(const struct rr *s)
{
	uint64_t bytes = s->left ? ND_MIN(s->request, s->left) : s->request;
	uint64_t rest = s->left - bytes;

	/* a rest too short for a sequence number gets some of this one */
	if (s->datagram && s->left > bytes && rest < NUMBERED && bytes >= 2 * NUMBERED)
		bytes -= NUMBERED;
	return bytes;
}

static void use_up(struct rr *s, uint64_t bytes)
{
	if (s->left != ND_UNKNOWN)
		s->left -= ND_MIN(s->left, bytes);
}

static bool may_ask(const struct rr *s)
{
	return !s->stopping && s->left > 0 && s->ops > 0 && s->under_way < s->window;
}

static void ask(struct rr *s, uint64_t now_ns, struct nd_step *ret)
{
	s->receiving = false;
	ret->op = ND_OP_SEND;
	ret->count = 1;
	ret->bytes = request_bytes(s);
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
		ret->until_ns = s->sent_ns + s->patience_ns;
}

/* The next request, or the next answer, or the end. */
static void go_on(struct rr *s, uint64_t now_ns, struct nd_step *ret)
{
	if (may_ask(s))
		ask(s, now_ns, ret);
	else if (s->under_way > 0)
		listen_for(s, s->response, ret);
	else
		ret->op = ND_OP_FINISH;
}

/* Answers say whose they are, and may come in any order. */
static bool is_numbered(const struct rr *s, uint64_t seq)
{
	return s->datagram && s->window > 1 && seq > 0;
}

static void keep_numbered(struct rr *s, const struct nd_event *ev, struct nd_note *note)
{
	uint64_t *place = &s->begun_ns[(ev->seq - 1) % s->ring];

	if (ev->seq == s->seq) { /* refused: it has not gone out */
		note->lost = 1;
		return;
	}
	if (*place) { /* it was overtaken by all others */
		note->lost = 1;
		s->under_way--;
	}
	*place = ev->begun_ns;
	s->under_way++;
}

static void asked(struct rr *s, const struct nd_event *ev, struct nd_note *note)
{
	use_up(s, ev->bytes);
	s->ops -= s->ops != ND_UNKNOWN;
	s->sent_ns = ev->begun_ns;
	if (is_numbered(s, ev->seq))
		keep_numbered(s, ev, note);
	else
		s->begun_ns[(s->first + s->under_way++) % s->ring] = ev->begun_ns;
	s->seq = ev->seq;
}

/* When the request of this answer was sent; 0: it was given up. */
static uint64_t find(struct rr *s, const struct nd_event *ev)
{
	uint64_t begun_ns = s->begun_ns[s->first];

	if (is_numbered(s, ev->seq)) {
		uint64_t *place = &s->begun_ns[(ev->seq - 1) % s->ring];

		if (ev->seq > s->seq || s->seq - ev->seq >= s->ring)
			return 0;
		begun_ns = *place;
		*place = 0;
		return begun_ns;
	}
	if (s->window == 1 && ev->seq && s->seq && ev->seq != s->seq)
		return 0;
	s->first = (s->first + 1) % s->ring;
	return begun_ns;
}

/* False: nobody waits for it any more. */
static bool answered(struct rr *s, const struct nd_event *ev, struct nd_note *note)
{
	uint64_t begun_ns = find(s, ev);

	if (begun_ns == 0 || s->under_way == 0)
		return false;
	note->transactions = 1;
	note->service_ns = ev->now_ns - begun_ns;
	s->under_way--;
	if (s->intended_ns && ev->now_ns > s->intended_ns)
		note->response_ns = ev->now_ns - s->intended_ns;
	return true;
}

static void give_up(struct rr *s, struct nd_note *note)
{
	note->lost = s->under_way;
	s->under_way = 0;
	for (uint32_t i = 0; i < s->ring; i++)
		s->begun_ns[i] = 0;
}

static void next_active(struct rr *s, const struct nd_event *ev, struct nd_step *ret,
			struct nd_note *note)
{
	switch (ev->what) {
	case ND_HAP_START:
		s->pace.next_ns = ev->now_ns;
		go_on(s, ev->now_ns, ret);
		break;
	case ND_HAP_SENT:
		asked(s, ev, note);
		go_on(s, ev->now_ns, ret);
		break;
	case ND_HAP_RECEIVED:
		if (answered(s, ev, note))
			go_on(s, ev->now_ns, ret);
		else
			listen_for(s, s->response, ret);
		break;
	case ND_HAP_TIME: /* they are lost */
		give_up(s, note);
		go_on(s, ev->now_ns, ret);
		break;
	case ND_HAP_STOP:
		s->stopping = true;
		/* what has begun is brought to its end */
		if (s->receiving || ev->bytes)
			ret->op = ND_OP_KEEP;
		else
			go_on(s, ev->now_ns, ret);
		break;
	default:
		ret->op = ND_OP_FINISH;
	}
}

static void next_passive(struct rr *s, const struct nd_event *ev, struct nd_step *ret)
{
	switch (ev->what) {
	case ND_HAP_RECEIVED:
		use_up(s, ev->bytes);
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
		listen_for(s, s->datagram ? s->request : request_bytes(s), ret);
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

static bool repeats(const void *state, struct nd_cycle *ret)
{
	const struct rr *s = state;

	if (s->window > 1 || s->under_way > 0 || s->left != ND_UNKNOWN || s->ops != ND_UNKNOWN ||
	    s->pace.ns_per_byte > 0 || s->stopping)
		return false;
	*ret = (struct nd_cycle){ .tx = s->active ? s->request : s->response,
				  .rx = s->active ? s->response : s->request,
				  .timed = s->active,
				  .reply = !s->active && s->datagram };
	return true;
}

const struct nd_load nd_load_rr = {
	.name = "rr",
	.help = "request and response, one outstanding per flow",
	.state_bytes = sizeof(struct rr) + sizeof(uint64_t),
	.more_bytes = more_bytes,
	.init = init,
	.next = next,
	.repeats = repeats,
	.round_trips = true,
};
