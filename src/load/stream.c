/* SPDX-License-Identifier: MIT */
/* Bulk: one end sends, by time, by bytes, or at a rate; the other end reads whatever comes. */
#include "load/int.h"

/* A paced burst of datagrams is at most this much of the rate, one that is longer is a single datagram. */
#define BURST_NS  ND_NS_PER_MS
#define SINGLE_NS (100 * ND_NS_PER_US)
#define NUMBERED  8u /* a datagram of so many bytes can carry a sequence number */

struct stream {
	struct nd_pace pace;
	uint64_t left;               /* bytes still to send; ND_UNKNOWN: by time */
	uint64_t message;            /* bytes of one send */
	uint32_t burst;              /* messages in one step */
	const struct nd_size *sizes; /* in turn; NULL: all are .message */
	uint32_t size_n, size_at, size_left, size_runs;
	bool active, datagram, draining;
	bool by_count; /* the rate is one of datagrams, whatever their sizes */
};

static uint32_t burst_of(const struct nd_load_cfg *cfg, uint64_t message)
{
	double one_ns, n;

	if (!cfg->datagram)
		return 1;
	if (cfg->bytes_per_s <= 0)
		return ND_MAX(cfg->batch_max, 1);
	one_ns = (double)message / cfg->bytes_per_s * (double)ND_NS_PER_S;
	if (one_ns > (double)SINGLE_NS)
		return 1;
	n = (double)BURST_NS / one_ns;
	return n >= cfg->batch_max ? ND_MAX(cfg->batch_max, 1) : (uint32_t)n;
}

/* A paced stream is cut into pieces that the rate carries in ND_MAX_CHUNK_NS; datagrams stay whole. */
static uint64_t piece_of(const struct nd_load_cfg *cfg)
{
	uint64_t message = ND_MAX(cfg->workload->message_bytes, 1);
	double most = cfg->bytes_per_s * (double)ND_MAX_CHUNK_NS / (double)ND_NS_PER_S;

	if (cfg->datagram || cfg->bytes_per_s <= 0 || most >= (double)message)
		return message;
	return most < 1 ? 1 : (uint64_t)most;
}

/* The runs of one size are as long as a burst, so that several sizes do not take a call for each datagram. */
static void init_sizes(struct stream *s, const struct nd_workload *wl)
{
	uint64_t most = 1;

	if (wl->sizes.n == 0)
		return;
	s->sizes = wl->sizes.v;
	s->size_n = (uint32_t)wl->sizes.n;
	for (uint32_t i = 0; i < s->size_n; i++)
		most = ND_MAX(most, s->sizes[i].count);
	s->size_runs = most < s->burst ? (uint32_t)(s->burst / most) : 1;
	s->size_left = (uint32_t)s->sizes[0].count * s->size_runs;
}

static void next_size(struct stream *s, uint32_t count)
{
	s->size_left -= count;
	if (s->size_left > 0)
		return;
	s->size_at = (s->size_at + 1) % s->size_n;
	s->size_left = (uint32_t)s->sizes[s->size_at].count * s->size_runs;
}

/* Flows that are paced begin one after the other within the time of a step, so that they do not send all at once and
 * then, at a low rate, nothing for long. How long after the start this one does. */
static uint64_t lead_ns(const struct stream *s, const struct nd_load_cfg *cfg)
{
	double step_ns = (double)s->message * s->burst * s->pace.ns_per_byte;
	double lead = step_ns * (double)cfg->flow / (double)ND_MAX(cfg->workload->flows, 1);

	return lead < (double)INT64_MAX ? (uint64_t)lead : INT64_MAX;
}

static int init(void *state, const struct nd_load_cfg *cfg)
{
	struct stream *s = state;

	s->active = cfg->active;
	s->datagram = cfg->datagram;
	s->message = piece_of(cfg);
	s->burst = cfg->active ? burst_of(cfg, s->message) : ND_MAX(cfg->batch_max, 1);
	init_sizes(s, cfg->workload);
	s->by_count = s->sizes && cfg->workload->rate_ops > 0;
	s->left = ND_UNKNOWN;
	/* a limit over all flows that is smaller than their number leaves some with nothing to send */
	if (cfg->workload->total_bytes)
		s->left = cfg->bytes;
	nd_pace_init(&s->pace, cfg->bytes_per_s, ND_MAX_CHUNK_NS);
	s->pace.next_ns = lead_ns(s, cfg);
	return 0;
}

/* What would be left for the last datagram is too short for a sequence number: the one before it gives some. */
static void spare_tail(const struct stream *s, uint64_t *bytes, uint32_t *count)
{
	uint64_t rest = s->left - *bytes * *count;

	if (rest == 0 || rest >= NUMBERED || *bytes < 2 * NUMBERED)
		return;
	if (*count > 1)
		(*count)--;
	else
		*bytes -= NUMBERED;
}

static void send_next(struct stream *s, uint64_t most, uint64_t now_ns, struct nd_step *ret)
{
	uint64_t bytes = ND_MIN(s->message, most);
	uint32_t count = s->burst;

	if (s->left == 0) {
		ret->op = ND_OP_FINISH;
		return;
	}
	if (s->sizes) {
		bytes = ND_MIN(bytes, s->sizes[s->size_at].bytes);
		count = ND_MIN(count, s->size_left);
	}
	if (bytes > s->left)
		bytes = s->left;
	if (count > s->left / bytes)
		count = (uint32_t)(s->left / bytes);
	if (s->datagram)
		spare_tail(s, &bytes, &count);
	ret->op = ND_OP_SEND;
	ret->bytes = bytes;
	ret->count = count;
	if (s->sizes)
		next_size(s, count);
	if (s->pace.ns_per_byte > 0)
		ret->at_ns =
			nd_pace_take(&s->pace, (s->by_count ? s->message : bytes) * count, now_ns);
}

static void next_active(struct stream *s, const struct nd_event *ev, struct nd_step *ret)
{
	switch (ev->what) {
	case ND_HAP_START:
		s->pace.next_ns += ev->now_ns;
		/* the first piece is small, so that all flows of a worker start together */
		send_next(s, s->datagram ? s->message : ND_FIRST_BYTES, ev->now_ns, ret);
		break;
	case ND_HAP_SENT:
		if (s->left != ND_UNKNOWN)
			s->left -= ND_MIN(s->left, ev->bytes);
		send_next(s, s->message, ev->now_ns, ret);
		break;
	default:
		ret->op = ND_OP_FINISH;
	}
}

static void next_passive(struct stream *s, const struct nd_event *ev, struct nd_step *ret)
{
	if (ev->what == ND_HAP_CLOSED) {
		ret->op = ND_OP_FINISH;
		return;
	}
	if (ev->what == ND_HAP_STOP)
		s->draining = true;
	ret->op = s->draining ? ND_OP_DRAIN : ND_OP_RECV;
	ret->count = s->burst;
}

static void next(void *state, const struct nd_event *ev, struct nd_step *ret, struct nd_note *note)
{
	struct stream *s = state;

	*ret = (struct nd_step){ 0 };
	*note = (struct nd_note){ 0 };
	if (s->active)
		next_active(s, ev, ret);
	else
		next_passive(s, ev, ret);
}

static bool repeats(const void *state, struct nd_cycle *ret)
{
	const struct stream *s = state;

	if (s->left != ND_UNKNOWN || s->sizes || s->pace.ns_per_byte > 0 || s->draining)
		return false;
	*ret = (struct nd_cycle){ .tx = s->active ? s->message : 0, .one_way = true };
	return true;
}

const struct nd_load nd_load_stream = {
	.name = "stream",
	.help = "one end sends without waiting for answers",
	.state_bytes = sizeof(struct stream),
	.init = init,
	.next = next,
	.repeats = repeats,
};
