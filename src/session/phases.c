/* SPDX-License-Identifier: MIT */
/* Tells the phases of a test at their instants, for reports that show them. */
#include <stdlib.h>

#include "base/time.h"
#include "session/int.h"

struct nd_phases {
	const struct nd_plan *plan; /* borrowed */
	const struct nd_sink *sink;
	struct nd_timer *timer;
	uint64_t start_ns;
	unsigned next;
};

enum { PHASES = 4 };

/* When phase @i begins, after the start. */
static uint64_t begins_ns(const struct nd_plan *p, unsigned i)
{
	const uint64_t at[PHASES] = { 0, p->warmup_ns, p->warmup_ns + p->duration_ns,
				      p->warmup_ns + p->duration_ns + p->cooldown_ns };

	return at[i];
}

static void on_timer(void *user)
{
	static const char *const names[PHASES] = { "warmup", "measure", "cooldown", "drain" };
	struct nd_phases *v = user;
	unsigned i = v->next++;
	bool is_empty = i + 1 < PHASES && begins_ns(v->plan, i) == begins_ns(v->plan, i + 1);
	struct nd_progress_event ev = { .what = ND_PROG_PHASE, .text = names[i] };

	if (!is_empty)
		v->sink->progress(v->sink->user, &ev);
	if (v->next < PHASES)
		nd_timer_set(v->timer, v->start_ns + begins_ns(v->plan, v->next));
}

int nd_phases_new(struct nd_loop *l, const struct nd_plan *plan, const struct nd_sink *sink,
		  struct nd_phases **ret)
{
	struct nd_phases *v = calloc(1, sizeof(*v));

	if (!v)
		return -1;
	v->plan = plan;
	v->sink = sink;
	if (nd_timer_new(l, on_timer, v, &v->timer) < 0) {
		free(v);
		return -1;
	}
	*ret = v;
	return 0;
}

void nd_phases_start(struct nd_phases *v, uint64_t at_ns)
{
	if (!v)
		return;
	v->start_ns = at_ns;
	v->next = 0;
	nd_timer_set(v->timer, at_ns);
}

void nd_phases_end(struct nd_phases *v)
{
	/* what ended early has no later phases, but for the last */
	if (!v || v->start_ns == 0 || v->next >= PHASES)
		return;
	v->next = PHASES - 1;
	on_timer(v);
	nd_timer_set(v->timer, UINT64_MAX);
}

void nd_phases_free(struct nd_phases *v)
{
	if (!v)
		return;
	nd_timer_free(v->timer);
	free(v);
}
