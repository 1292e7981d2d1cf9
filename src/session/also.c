/* SPDX-License-Identifier: MIT */
/* Other tools' receivers beside the native server, in the same loop. */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "plan/ntttcp.h"
#include "session/netserver.h"
#include "session/receiver.h"

struct nd_also {
	struct nd_plan *plan; /* borrowed */
	struct nd_receiver receiver;
	struct nd_netserver netserver;
	struct nd_server *server; /* borrowed */
	uint64_t tests;
	bool is_netserver, is_open;
};

/* Did data come, or go? */
static bool has_moved(const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;

	for (uint64_t i = 0; i < r->directions.n; i++)
		if ((d[i].total_received_bytes != ND_UNKNOWN && d[i].total_received_bytes > 0) ||
		    (d[i].total_sent_bytes != ND_UNKNOWN && d[i].total_sent_bytes > 0))
			return true;
	return false;
}

static void on_finished(void *user, struct nd_result *r)
{
	struct nd_also *a = user;
	const struct nd_server *s = a->server;
	nd_auto_str line = { 0 };

	if (!has_moved(r)) /* nobody came before it was to stop */
		return;
	nd_served_line(r, &line);
	nd_log(ND_LOG_INFO, "%s test %llu: %s", a->plan->dialect, (unsigned long long)++a->tests,
	       nd_str_text(&line));
	if (s->finished)
		s->finished(s->finished_user, r);
}

static void on_ended(void *user, enum nd_ending ending, const struct nd_err *err)
{
	struct nd_also *a = user;

	if (!a->server->is_stopping && (ending == ND_END_FAILED || ending == ND_END_PEER))
		nd_log(ND_LOG_INFO, "%s: %s", a->plan->dialect, err->text);
	a->is_open = false;
	nd_server_may_leave(a->server);
}

static int open_netserver(struct nd_also *a, struct nd_err *err)
{
	int r;

	a->is_netserver = true;
	a->netserver = (struct nd_netserver){ .plan = a->plan,
					      .loop = a->server->loop,
					      .here = &a->server->here,
					      .lenient = true,
					      .ended = on_ended,
					      .user = a };
	r = nd_netserver_bind(&a->netserver, err);
	return r < 0 ? r : nd_netserver_open(&a->netserver, err);
}

static int open_receiver(struct nd_also *a, struct nd_err *err)
{
	nd_ntttcp_take_any(a->plan);
	a->receiver = (struct nd_receiver){ .plan = a->plan,
					    .loop = a->server->loop,
					    .here = &a->server->here,
					    .lenient = true,
					    .hold = true,
					    .finished = on_finished,
					    .finished_user = a,
					    .ended = on_ended,
					    .user = a };
	return nd_receiver_open(&a->receiver, err);
}

/* Once for a port, if it is open for datagrams and for connections. */
static void announce(const struct nd_server *s, const struct nd_plan *p)
{
	for (uint64_t i = 0; i < s->also_n; i++)
		if (s->also[i].plan->port == p->port)
			return;
	nd_log(ND_LOG_INFO, "serving %s too, from port %llu", p->dialect,
	       (unsigned long long)p->port);
}

int nd_also_open(struct nd_server *s, struct nd_err *err)
{
	const struct nd_serve *policy = &s->plan->serve;
	int r = 0;

	s->also = calloc(policy->also.n + 1, sizeof(*s->also));
	if (!s->also)
		return nd_fail(err, -ENOMEM, "no memory for other tools' receivers");
	for (; r == 0 && s->also_n < policy->also.n; s->also_n++) {
		struct nd_also *a = &s->also[s->also_n];

		*a = (struct nd_also){ .plan = policy->also_plan[s->also_n],
				       .server = s,
				       .is_open = true };
		r = nd_netperf_of(a->plan) ? open_netserver(a, err) : open_receiver(a, err);
		if (r == 0)
			announce(s, a->plan);
	}
	return r;
}

void nd_also_stop(struct nd_server *s, const char *reason)
{
	for (uint64_t i = 0; i < s->also_n; i++) {
		if (s->also[i].is_netserver)
			nd_netserver_stop(&s->also[i].netserver, reason);
		else
			nd_receiver_stop(&s->also[i].receiver, reason);
	}
}

bool nd_also_is_open(const struct nd_server *s)
{
	for (uint64_t i = 0; i < s->also_n; i++) {
		if (s->also[i].is_open)
			return true;
	}
	return false;
}

void nd_also_done(struct nd_server *s)
{
	for (uint64_t i = 0; i < s->also_n; i++) {
		if (s->also[i].is_netserver)
			nd_netserver_done(&s->also[i].netserver);
		else
			nd_receiver_done(&s->also[i].receiver);
	}
	free(s->also);
}
