/* SPDX-License-Identifier: MIT */
/* Who runs what with whom: the client of one test, the server of many. */
#ifndef ND_SESSION_SESSION_H
#define ND_SESSION_SESSION_H

#include "base/err.h"
#include "plan/plan.h"
#include "result/progress.h"
#include "result/result.h"

/* How a session ended, for the exit code. */
enum nd_ending {
	ND_END_DONE,    /* complete result */
	ND_END_PARTIAL, /* a result, marked partial */
	ND_END_FAILED,  /* no result: the run failed on this end */
	ND_END_PEER,    /* no result: peer or protocol */
};

/** nd_session_client() - run @plan against its host. Blocks until over; SIGINT and SIGTERM end the test and
 * keep what was measured. @ret is initialised by the caller. Return: enum nd_ending; @err for the last two. */
ND_MUST_CHECK int nd_session_client(struct nd_plan *plan, const struct nd_sink *sink,
				    struct nd_result *ret, struct nd_err *err);

/** nd_session_serve() - answer tests until a signal (or one test with --once). One log line per test on
 * stderr; a finished or interrupted test's result goes to @finished (may be NULL). */
ND_MUST_CHECK int nd_session_serve(struct nd_plan *plan, const struct nd_sink *sink,
				   void (*finished)(void *user, struct nd_result *r), void *user,
				   struct nd_err *err);

#endif
