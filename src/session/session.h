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
	ND_END_DAMAGED, /* a result of bytes that are not what was sent */
	ND_END_FAILED,  /* no result: the run failed on this end */
	ND_END_PEER,    /* no result: peer or protocol */
	ND_END_USAGE,   /* no result: the command line, as the system sees it */
};

/** nd_exit_code() - what the program ends with; a plan may carry another tool's codes. */
int nd_exit_code(const struct nd_plan *plan, enum nd_ending ending);

/** nd_session_run() - carry out @plan, as its verb says: run a test against a host, answer tests until a signal (or
 * one with --once), or be a tool's receiver for one test (with plan->hold: until a signal). Blocks until over;
 * SIGINT and SIGTERM end tests and keep what was measured. Each result, partial ones too, goes to @finished on the
 * main thread. Return: enum nd_ending of the last test (a server: ND_END_DONE); @err for the last three, and why a
 * result is partial or damaged. */
int nd_session_run(struct nd_plan *plan, const struct nd_sink *sink,
		   void (*finished)(void *user, struct nd_result *r), void *user,
		   struct nd_err *err);

#endif
