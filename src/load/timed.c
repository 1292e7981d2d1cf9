/* SPDX-License-Identifier: MIT */
/* A stream whose operations are timed, at either end, and that may have the worker busy behind each. */
#include <errno.h>

#include "load/int.h"

#define STREAM_BYTES 256u
#define BEGIN        27u /* where the busy work starts again */

struct timed {
	_Alignas(16) uint8_t stream[STREAM_BYTES]; /* the plain shape's state */
	uint64_t last_ns; /* when the operation before was over; 0: there was none */
	uint64_t burn_steps, burnt;
};

static int init(void *state, const struct nd_load_cfg *cfg)
{
	struct nd_load_cfg one = *cfg;
	struct timed *t = state;

	one.batch_max = 1; /* each operation is a call of its own */
	if (nd_load_stream.state_bytes > sizeof(t->stream))
		return -EOVERFLOW;
	t->burn_steps = cfg->workload->burn_steps;
	return nd_load_stream.init(t->stream, &one);
}

/* Half of it when it is even, else three times it and one more: no compiler can skip that. */
static void burn(struct timed *t)
{
	uint64_t x = ND_MAX(t->burnt, BEGIN), i;

	for (i = 0; i < t->burn_steps; i++)
		x = x == 1 ? BEGIN : x % 2 ? 3 * x + 1 : x / 2;
	t->burnt = x;
}

/* A send takes from its first call to the whole step's end, a receive from the end of the operation before. */
static void next(void *state, const struct nd_event *ev, struct nd_step *ret, struct nd_note *note)
{
	struct timed *t = state;

	nd_load_stream.next(t->stream, ev, ret, note);
	if (ev->what != ND_HAP_SENT && ev->what != ND_HAP_RECEIVED)
		return;
	if (ev->what == ND_HAP_SENT && ev->begun_ns)
		note->service_ns = ev->now_ns - ev->begun_ns;
	else if (t->last_ns)
		note->service_ns = ev->now_ns - t->last_ns;
	t->last_ns = ev->now_ns;
	burn(t);
}

const struct nd_load nd_load_timed = {
	.name = "timed",
	.help = "as stream, and every operation is timed",
	.state_bytes = sizeof(struct timed),
	.init = init,
	.next = next,
	.times = true,
};
