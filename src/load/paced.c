/* SPDX-License-Identifier: MIT */
/*
 * Requests by a schedule that does not wait for answers. One half of a flow sends, the other reads, on one state:
 * a request has an instant at which it was to be sent, and its answer is set against that one (response time) and
 * against the true one (service time). A stall is caught up in full, so that none is missing from the figures.
 */
#include <math.h>

#include "base/real.h"
#include "load/int.h"
#include "load/pending.h"

#define PATIENCE_NS  ND_NS_PER_S /* a datagram whose answer has not come after that is lost */
#define FULL_NS      (100 * ND_NS_PER_US) /* a ring without room is looked at again */
#define ANSWER_BYTES 256u
#define UNIT         0x1p-53 /* 53 random bits to 0..1 */

enum half { ASKS, HEARS };

struct paced {
	_Alignas(16) uint8_t answers[ANSWER_BYTES]; /* the answering end: the state of plain rr */
	uint64_t request, response;
	double mean_ns, rest_ns; /* between requests; what .next_ns cannot hold */
	uint64_t next_ns;        /* when the next one is to be sent */
	uint64_t due_ns;         /* of the one in hand */
	uint64_t random;
	uint64_t seq;    /* datagrams: number of the last one that was sent, plus 1 */
	uint64_t begins; /* ns after the start: flows do not send all at once */
	struct nd_pending wait;
	enum nd_spacing arrival;
	bool active, datagram;
	bool sending;  /* a request is in hand, and may have begun */
	bool stopping; /* no more requests */
	struct nd_pending_one ring[];
};

static double rate_of(const struct nd_workload *wl)
{
	return (double)ND_MAX(wl->rate_ops, 1u) / (double)ND_MAX(wl->flows, 1u);
}

static size_t more_bytes(const struct nd_workload *wl)
{
	return nd_pending_room(rate_of(wl), PATIENCE_NS) * sizeof(struct nd_pending_one);
}

static int init(void *state, const struct nd_load_cfg *cfg)
{
	struct paced *s = state;
	const struct nd_workload *wl = cfg->workload;

	_Static_assert(ANSWER_BYTES % 16 == 0, "the ring behind it is aligned");
	s->active = cfg->active;
	if (!s->active)
		return nd_load_rr.state_bytes > sizeof(s->answers)
			       ? -1
			       : nd_load_rr.init(s->answers, cfg);
	s->datagram = cfg->datagram;
	s->request = ND_MAX(wl->request_bytes, 1);
	s->response = ND_MAX(wl->response_bytes, 1);
	s->arrival = wl->arrival;
	s->mean_ns = (double)ND_NS_PER_S / rate_of(wl);
	s->begins = (uint64_t)(s->mean_ns / (double)ND_MAX(wl->flows, 1u) * (double)cfg->flow);
	/* every run of the same plan has the same gaps, no two flows have */
	s->random = (cfg->flow + 1) * 0x9e3779b97f4a7c15ull;
	s->wait.room = nd_pending_room(rate_of(wl), PATIENCE_NS);
	s->wait.v = s->ring;
	return 0;
}

/* Over 0, up to 1: splitmix64. */
static double random_unit(struct paced *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return (double)((z >> 11) + 1) * UNIT;
}

static double gap_of(struct paced *s)
{
	switch (s->arrival) {
	case ND_SPACING_POISSON:
		return -s->mean_ns * nd_real_ln(random_unit(s));
	case ND_SPACING_UNIFORM:
		return 2 * s->mean_ns * random_unit(s);
	default:
		return s->mean_ns;
	}
}

static void move_on(struct paced *s)
{
	double gap = gap_of(s) + s->rest_ns;
	uint64_t whole = (uint64_t)gap;

	s->rest_ns = gap - (double)whole;
	s->next_ns += whole;
}

/* ---- the half that sends */

static void ask(struct paced *s, uint64_t now_ns, struct nd_step *ret)
{
	if (s->stopping) {
		s->sending = false;
		ret->op = ND_OP_FINISH;
		return;
	}
	/* streams answer in order, and all: what has no room waits, and its instant stays what it was */
	if (!s->datagram && nd_pending_is_full(&s->wait)) {
		ret->op = ND_OP_WAIT;
		ret->at_ns = now_ns + FULL_NS;
		return;
	}
	s->sending = true;
	s->due_ns = s->next_ns;
	move_on(s);
	ret->op = ND_OP_SEND;
	ret->count = 1;
	ret->bytes = s->request;
	ret->at_ns = s->due_ns;
	ret->due = &s->due_ns;
}

static void asked(struct paced *s, const struct nd_event *ev, struct nd_note *note)
{
	bool refused = s->datagram && ev->seq == s->seq;

	s->sending = false;
	s->seq = ev->seq;
	note->due_ns = s->due_ns;
	note->scheduled = true;
	note->late_ns = ev->begun_ns > s->due_ns ? ev->begun_ns - s->due_ns : 0;
	if (refused) { /* by this machine: it will not be answered */
		note->lost = 1;
		return;
	}
	if (nd_pending_is_full(&s->wait))
		note->lost = nd_pending_drop(&s->wait);
	nd_pending_add(&s->wait, s->due_ns, ev->begun_ns);
}

static void next_asking(struct paced *s, const struct nd_event *ev, struct nd_step *ret,
			struct nd_note *note)
{
	switch (ev->what) {
	case ND_HAP_START:
		s->next_ns = ev->now_ns + s->begins;
		if (s->arrival != ND_SPACING_FIXED)
			move_on(s);
		ask(s, ev->now_ns, ret);
		break;
	case ND_HAP_SENT:
		asked(s, ev, note);
		ask(s, ev->now_ns, ret);
		break;
	case ND_HAP_TIME:
		ask(s, ev->now_ns, ret);
		break;
	case ND_HAP_STOP:
		s->stopping = true;
		ret->op = ND_OP_KEEP;
		if (!s->sending || ev->bytes == 0)
			ask(s, ev->now_ns, ret);
		break;
	default:
		s->stopping = true;
		s->sending = false;
		ret->op = ND_OP_FINISH;
	}
}

/* ---- the half that reads */

static void listen_on(struct paced *s, uint64_t now_ns, struct nd_step *ret)
{
	uint64_t oldest = nd_pending_oldest(&s->wait);

	ret->op = ND_OP_RECV;
	ret->count = 1;
	ret->bytes = s->response;
	if (s->datagram)
		ret->until_ns = ND_MIN(oldest, now_ns) + PATIENCE_NS;
	if (s->stopping && !s->sending && s->wait.open == 0)
		*ret = (struct nd_step){ .op = ND_OP_FINISH };
}

static void heard(struct paced *s, const struct nd_event *ev, struct nd_note *note)
{
	uint64_t number = s->datagram ? ev->seq - 1 : s->wait.first;
	struct nd_pending_one one;

	if (!nd_pending_take(&s->wait, number, &one))
		return; /* it was given up */
	note->transactions = 1;
	note->due_ns = one.due_ns;
	note->service_ns = ev->now_ns - one.begun_ns;
	note->response_ns = ev->now_ns > one.due_ns ? ev->now_ns - one.due_ns : 1;
}

static void next_hearing(struct paced *s, const struct nd_event *ev, struct nd_step *ret,
			 struct nd_note *note)
{
	switch (ev->what) {
	case ND_HAP_RECEIVED:
		heard(s, ev, note);
		break;
	case ND_HAP_STOP:
		ret->op = ND_OP_KEEP;
		if (!s->sending && s->wait.open == 0 && s->stopping)
			ret->op = ND_OP_FINISH;
		return;
	case ND_HAP_CLOSED:
		s->stopping = true;
		ret->op = ND_OP_FINISH;
		return;
	default:
		break;
	}
	if (s->datagram && ev->now_ns > PATIENCE_NS)
		note->lost = nd_pending_expire(&s->wait, ev->now_ns - PATIENCE_NS + 1);
	listen_on(s, ev->now_ns, ret);
}

static void next(void *state, const struct nd_event *ev, struct nd_step *ret, struct nd_note *note)
{
	struct paced *s = state;

	if (!s->active) {
		nd_load_rr.next(s->answers, ev, ret, note);
		return;
	}
	*ret = (struct nd_step){ 0 };
	*note = (struct nd_note){ 0 };
	if (ev->half == ASKS)
		next_asking(s, ev, ret, note);
	else
		next_hearing(s, ev, ret, note);
}

const struct nd_load nd_load_paced = {
	.name = "paced",
	.help = "requests by a schedule that does not wait for answers",
	.state_bytes = sizeof(struct paced),
	.more_bytes = more_bytes,
	.init = init,
	.next = next,
	.halves = 2,
	.round_trips = true,
};
