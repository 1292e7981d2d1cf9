/* SPDX-License-Identifier: MIT */
/*
 * netperf's confidence: the same test again until the means of its figures are known well enough, or as often as was
 * allowed. The last test is reported, with what all of them came to beside it.
 */
#include "plan/netperf.h"
#include "result/repeats.h"
#include "session/int.h"

struct repeat {
	const struct nd_session *how; /* borrowed */
	struct nd_netperf asked;      /* each dialog has a copy of its own in the plan */
	struct nd_repeats all;
	bool is_over, interrupted;
};

static void take(struct repeat *p, const struct nd_result *r)
{
	const struct nd_netperf *n = &p->asked;
	const struct nd_repeat_ask ask = {
		.transactions = nd_netperf_is_rr(n),
		.client_receives = n->direction == ND_NP_RECV,
		.one_end = n->no_control,
		.client_cpu = n->local_cpu,
		.server_cpu = n->remote_cpu && !n->no_control,
	};
	struct nd_repeat_figures f;

	nd_repeat_figures(r, &ask, &f);
	nd_repeats_add(&p->all, &f);
}

static void on_finished(void *user, struct nd_result *r)
{
	struct repeat *p = user;
	uint64_t most = ND_MIN(p->asked.iterations_max, ND_REPEATS_MAX);

	take(p, r);
	p->is_over = r->partial || p->interrupted || p->all.runs >= most ||
		     (nd_repeats_agree(&p->all) && p->all.runs >= p->asked.iterations_min);
	if (!p->is_over)
		return;
	r->repeats = &p->all;
	p->how->finished(p->how->user, r);
	r->repeats = NULL; /* it is ours */
}

int nd_session_repeat(const struct nd_session *how, struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(how->plan);
	struct repeat p = { .how = how };
	const struct nd_session one = { how->plan, how->sink, on_finished, &p, &p.interrupted };
	int ending = ND_END_DONE;

	if (!n || n->iterations_max < 2)
		return nd_session_client(how, err);
	p.asked = *n;
	p.all.level = n->confidence == 95 ? 95 : 99;
	p.all.asked_width = n->confidence_width;
	p.all.result_only = n->result_only;
	while (!p.is_over && ending == ND_END_DONE)
		ending = nd_session_client(&one, err);
	return ending;
}
