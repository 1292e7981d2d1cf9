/* SPDX-License-Identifier: MIT */
/* Whatever comes goes back to where it came from, as its frame turns it. A flow may be a socket with many peers. */
#include "load/int.h"

struct echo {
	uint32_t batch;
};

static int init(void *state, const struct nd_load_cfg *cfg)
{
	struct echo *s = state;

	s->batch = ND_MAX(cfg->batch_max, 1u);
	return 0;
}

static void next(void *state, const struct nd_event *ev, struct nd_step *ret, struct nd_note *note)
{
	const struct echo *s = state;

	*ret = (struct nd_step){ 0 };
	*note = (struct nd_note){ 0 };
	switch (ev->what) {
	case ND_HAP_RECEIVED:
		ret->op = ND_OP_ECHO;
		break;
	case ND_HAP_CLOSED: /* its descriptor is of use to others */
		ret->op = ND_OP_FINISH;
		break;
	case ND_HAP_STOP:
		ret->op = ND_OP_KEEP; /* until the run ends it */
		break;
	default:
		ret->op = ND_OP_RECV;
		ret->count = s->batch;
	}
}

static bool repeats(const void *state, struct nd_cycle *ret)
{
	(void)state;
	*ret = (struct nd_cycle){ 0 };
	return true;
}

const struct nd_load nd_load_echo = {
	.name = "echo",
	.help = "send back whatever comes",
	.state_bytes = sizeof(struct echo),
	.init = init,
	.next = next,
	.repeats = repeats,
	.round_trips = true,
};
