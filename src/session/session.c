/* SPDX-License-Identifier: MIT */
/* Which kind of session a plan asks for. */
#include "base/arena.h"
#include "plan/netperf.h"
#include "session/int.h"

int nd_session_run(struct nd_plan *plan, const struct nd_sink *sink,
		   void (*finished)(void *user, struct nd_result *r), void *user,
		   struct nd_err *err)
{
	static int (*const kinds[])(const struct nd_session *, struct nd_err *) = {
		[ND_VERB_SERVE] = nd_session_serve,     [ND_VERB_STREAM] = nd_session_client,
		[ND_VERB_RECEIVE] = nd_session_receive, [ND_VERB_PACKETS] = nd_session_packets,
		[ND_VERB_CONNECT] = nd_session_client,  [ND_VERB_LATENCY] = nd_session_latency,
	};
	const struct nd_session s = { plan, sink, finished, user, NULL };

	nd_heap_frugal();
	if (plan->verb == ND_VERB_RECEIVE && nd_netperf_of(plan))
		return nd_session_netserver(&s, err);
	if (plan->verb == ND_VERB_STREAM && nd_netperf_of(plan))
		return nd_session_repeat(&s, err);
	return kinds[plan->verb](&s, err);
}
