/* SPDX-License-Identifier: MIT */
/*
 * Messages in bursts, by a schedule or as fast as they go. "burst" waits for as many answers as it has sent, or for
 * none where no answer is asked for; "under" has a second half that reads while the first sends on.
 * The schedule is kept: what is missed is made up for.
 */
#include "load/int.h"
#include "plan/sockperf.h"

/* Datagrams that are not answered after this long are lost: the next burst goes out. */
#define PATIENCE_NS (250 * ND_NS_PER_MS)
#define TAIL_NS     (100 * ND_NS_PER_MS)
/* Who tells what has arrived tells it behind all of that. */
#define LONG_NS (500 * ND_NS_PER_MS)
#define TRIES   20u
/* Behind the last message of a test that ends by their number: answers may come as long as this is not quiet. */
#define WARM_UPS 2u /* so many, to a group */
#define QUIET_NS (500 * ND_NS_PER_MS)

struct burst {
	struct nd_pace pace;
	const struct nd_workload *workload; /* borrowed */
	uint64_t flow, start_ns;
	uint64_t made, heard; /* messages of a stream: begun, awaited */
	uint64_t count;       /* of a burst */
	uint64_t servers;     /* that answer each of its messages */
	uint64_t left;        /* of it, still to be sent or to be answered */
	uint64_t due_ns;
	uint64_t tail_ns;   /* the second half reads until then; 0: on and on */
	bool passes;        /* it waits for its turn, where flows take turns */
	bool warming;       /* messages that do not count are under way */
	bool is_sent;       /* all that was to be sent */
	bool may_ask;       /* what has arrived, at the beginning and at the end */
	bool asking;        /* such a question, or its answer, is under way */
	bool is_ours;       /* somebody answers them */
	uint8_t asks;       /* the last one, as in struct nd_step */
	uint64_t first;     /* datagrams: number of the first of the burst; 0: none */
	uint64_t ops, sent; /* messages to be sent in all, 0: by time; sent so far */
	uint32_t batch;
	bool answered, datagram, hearing, stopping;
};

static int init(void *state, const struct nd_load_cfg *cfg)
{
	struct burst *s = state;
	const struct nd_workload *wl = cfg->workload;

	s->workload = wl;
	s->flow = cfg->flow;
	s->count = wl->schedule.n ? 1 : ND_MAX(wl->burst, 1);
	s->servers = ND_MAX(wl->servers, 1);
	s->answered = wl->answered;
	s->ops = cfg->ops;
	s->datagram = cfg->datagram;
	s->may_ask = wl->asks;
	/* a connection needs no question at its beginning, and sockperf's server drops what it reads together with one */
	s->asks = !cfg->datagram;
	s->batch = ND_MAX(cfg->batch_max, 1u);
	if (wl->activity)
		s->batch = (uint32_t)ND_MIN(s->batch, wl->activity);
	nd_pace_init(&s->pace,
		     wl->rate_ops ? (double)wl->rate_ops / (double)ND_MAX(wl->flows, 1) : 0,
		     ND_UNKNOWN);
	return 0;
}

/* One call for all of a burst, and for many where nothing is to be waited for; streams and changing sizes go one by
 * one. */
static uint64_t at_once(const struct burst *s)
{
	uint64_t n = s->left;

	if (!s->datagram || s->workload->spread_bytes || s->workload->skips)
		return 1;
	return ND_MIN(n, s->batch);
}

static void send_some(struct burst *s, struct nd_step *ret)
{
	s->hearing = false;
	ret->op = ND_OP_SEND;
	ret->count = (uint32_t)at_once(s);
	ret->bytes = nd_sockperf_bytes(s->workload, s->flow, s->made);
	ret->at_ns = s->due_ns;
}

/* When the burst goes out; 0: at once. */
static uint64_t due_of(struct burst *s, uint64_t now_ns)
{
	const struct nd_list *list = &s->workload->schedule;
	const struct nd_playback *v = list->v;

	if (list->n)
		return s->start_ns +
		       v[ND_MIN(s->flow + s->made * s->workload->flows, list->n - 1)].at_ns;
	return s->pace.ns_per_byte > 0 ? nd_pace_take(&s->pace, s->left, now_ns) : 0;
}

/* Flows with a schedule are as far apart as messages: one burst each, round and round. */
static uint64_t place_of(const struct burst *s)
{
	double whole = s->pace.ns_per_byte * (double)s->count;

	return (uint64_t)(whole * (double)s->flow / (double)ND_MAX(s->workload->flows, 1u));
}

static void begin(struct burst *s, uint64_t now_ns, struct nd_step *ret)
{
	s->passes = false;
	s->left = s->count;
	if (s->ops) {
		if (s->sent >= s->ops) {
			s->is_sent = true;
			ret->op = ND_OP_FINISH;
			return;
		}
		s->left = ND_MIN(s->left, s->ops - s->sent);
	}
	/* nobody waits: a burst may be as long as a call takes */
	if (!s->answered && s->pace.ns_per_byte <= 0 && !s->ops)
		s->left = ND_MAX(s->left, s->batch);
	s->due_ns = due_of(s, now_ns);
	s->first = 0;
	send_some(s, ret);
}

/* The burst is over, or was given up. */
static void pass(struct burst *s, uint64_t now_ns, struct nd_step *ret)
{
	s->passes = s->workload->turns && !s->passes;
	s->hearing = true; /* nothing is on its way */
	if (s->passes)
		ret->op = ND_OP_PASS;
	else
		begin(s, now_ns, ret);
}

static void hear(struct burst *s, uint64_t now_ns, struct nd_step *ret)
{
	s->hearing = true;
	ret->op = ND_OP_RECV;
	if (s->datagram) {
		ret->count = (uint32_t)ND_MIN(s->left, s->batch);
		ret->until_ns = now_ns + PATIENCE_NS;
	} else {
		ret->bytes = nd_sockperf_bytes(s->workload, s->flow, s->heard);
	}
}

static void ask(struct burst *s, struct nd_step *ret)
{
	s->asking = true;
	s->asks++;
	*ret = (struct nd_step){
		.op = ND_OP_SEND, .count = 1, .bytes = ND_SOCKPERF_TALE, .asks = s->asks
	};
}

static void warm_up(struct burst *s, struct nd_step *ret)
{
	s->warming = true;
	*ret = (struct nd_step){ .op = ND_OP_SEND,
				 .count = ND_MIN(WARM_UPS, s->batch),
				 .bytes = nd_sockperf_bytes(s->workload, s->flow, 0),
				 .asks = ND_SOCKPERF_WARM_UP };
}

static void finish(struct burst *s, struct nd_step *ret)
{
	ret->op = ND_OP_FINISH;
	if (s->may_ask)
		ask(s, ret);
}

static void hear_tale(struct burst *s, uint64_t now_ns, struct nd_step *ret)
{
	s->hearing = true;
	ret->op = ND_OP_RECV;
	ret->count = 1;
	ret->bytes = s->datagram ? 0 : ND_SOCKPERF_TALE;
	ret->until_ns = now_ns + (s->datagram ? TAIL_NS : LONG_NS);
}

/* The first question, of datagrams alone, is not waited for. Behind the end who has answered it is asked until all is
 * told: questions may be lost. */
static void asking(struct burst *s, const struct nd_event *ev, struct nd_step *ret)
{
	bool is_last;

	if (ev->what == ND_HAP_SENT && s->asks == 1) {
		s->asking = false;
		if (s->stopping)
			finish(s, ret);
		else
			begin(s, ev->now_ns, ret);
		return;
	}
	if (ev->what == ND_HAP_RECEIVED)
		s->is_ours = true;
	is_last = !s->datagram || ev->seq > 1;
	if (ev->what == ND_HAP_SENT || (ev->what == ND_HAP_RECEIVED && !is_last))
		hear_tale(s, ev->now_ns, ret);
	else if (ev->what == ND_HAP_TIME && s->datagram && s->asks < (s->is_ours ? TRIES : 3u))
		ask(s, ret);
	else
		ret->op = ND_OP_FINISH;
}

static void sent(struct burst *s, const struct nd_event *ev, struct nd_step *ret)
{
	uint64_t n = ND_MAX(ev->count, 1u);

	s->made += n;
	s->sent += n;
	s->left -= ND_MIN(n, s->left);
	if (s->first == 0 && ev->seq > n)
		s->first = ev->seq - n;
	if (s->left > 0 && !s->stopping) {
		send_some(s, ret);
	} else if (s->answered) {
		s->left = s->count * s->servers;
		hear(s, ev->now_ns, ret);
	} else if (s->stopping) {
		finish(s, ret);
	} else {
		begin(s, ev->now_ns, ret);
	}
}

static void received(struct burst *s, const struct nd_event *ev, struct nd_step *ret)
{
	uint64_t n = ND_MAX(ev->count, 1u);

	s->heard += n;
	/* the answer to a burst that was given up is not the answer to this one */
	if (s->datagram && s->first && ev->seq && ev->seq <= s->first)
		n = 0;
	s->left -= ND_MIN(n, s->left);
	if (s->stopping)
		ret->op = ND_OP_FINISH;
	else if (s->left > 0)
		hear(s, ev->now_ns, ret);
	else
		pass(s, ev->now_ns, ret);
}

static void next_sender(struct burst *s, const struct nd_event *ev, struct nd_step *ret)
{
	if (s->warming && ev->what == ND_HAP_SENT) {
		s->warming = false;
		if (s->stopping)
			finish(s, ret);
		else
			pass(s, ev->now_ns, ret);
		return;
	}
	if (s->asking && ev->what != ND_HAP_STOP) {
		asking(s, ev, ret);
		return;
	}
	switch (ev->what) {
	case ND_HAP_START:
		s->start_ns = ev->now_ns;
		s->pace.next_ns = ev->now_ns + place_of(s);
		if (s->workload->warms && s->datagram)
			warm_up(s, ret);
		else if (s->may_ask && s->datagram)
			ask(s, ret);
		else
			pass(s, ev->now_ns, ret);
		break;
	case ND_HAP_SENT:
		sent(s, ev, ret);
		break;
	case ND_HAP_RECEIVED:
		received(s, ev, ret);
		break;
	case ND_HAP_TIME:
		if (s->stopping)
			ret->op = ND_OP_FINISH;
		else
			pass(s, ev->now_ns, ret);
		break;
	case ND_HAP_STOP:
		s->stopping = true;
		if (s->asking || s->warming || (!s->hearing && ev->bytes))
			ret->op = ND_OP_KEEP;
		else
			finish(s, ret);
		break;
	default:
		ret->op = ND_OP_FINISH;
	}
}

static void next(void *state, const struct nd_event *ev, struct nd_step *ret, struct nd_note *note)
{
	*ret = (struct nd_step){ 0 };
	*note = (struct nd_note){ 0 };
	next_sender(state, ev, ret);
}

/* One message at a time, each like the other, and none of them due, counted or in turn. */
static bool repeats(const void *state, struct nd_cycle *ret)
{
	const struct burst *s = state;
	const struct nd_workload *wl = s->workload;

	if (!s->answered || s->count != 1 || s->left != 1 || s->first || s->ops || wl->schedule.n ||
	    wl->spread_bytes || wl->skips || wl->turns || s->pace.ns_per_byte > 0)
		return false;
	if (s->passes || s->warming || s->asking || s->stopping || s->is_sent)
		return false;
	*ret = (struct nd_cycle){ .tx = nd_sockperf_bytes(wl, s->flow, 0),
				  .rx = nd_sockperf_bytes(wl, s->flow, 0) };
	return true;
}

/* The second half reads whatever comes, and for a while behind the end. */
static void next_under(void *state, const struct nd_event *ev, struct nd_step *ret,
		       struct nd_note *note)
{
	struct burst *s = state;

	if (ev->half == 0) {
		next(state, ev, ret, note);
		return;
	}
	if (ev->what == ND_HAP_STOP)
		s->tail_ns = ev->now_ns + TAIL_NS;
	*ret = (struct nd_step){ .op = ND_OP_RECV,
				 .count = s->batch,
				 .until_ns = s->tail_ns
						     ?: s->ops ? ev->now_ns + QUIET_NS
							       : 0 };
	*note = (struct nd_note){ 0 };
	if (ev->what == ND_HAP_CLOSED || (ev->what == ND_HAP_TIME && (s->tail_ns || s->is_sent)) ||
	    (s->tail_ns && ev->now_ns >= s->tail_ns))
		ret->op = ND_OP_FINISH;
}

const struct nd_load nd_load_burst = {
	.name = "burst",
	.help = "bursts of messages, each answered before the next, or none at all",
	.state_bytes = sizeof(struct burst),
	.init = init,
	.next = next,
	.repeats = repeats,
	.round_trips = true,
};

const struct nd_load nd_load_under = {
	.name = "under",
	.help = "bursts of messages by a schedule, answers read beside it",
	.state_bytes = sizeof(struct burst),
	.init = init,
	.next = next_under,
	.halves = 2,
	.round_trips = true,
};
