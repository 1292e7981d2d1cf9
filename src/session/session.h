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

/* A session that goes to the background once it is ready. */
struct nd_detach {
	struct nd_sink sink;   /* whom its events are for, .progress not NULL */
	enum nd_progress when; /* it is ready */
	int fd;                /* -1; in the child that has still to tell: owned */
	bool is_parent;
	int code; /* parent: what to exit with */
};

/** nd_detach() - if @plan says so, make the child that is to go to the background; before there is a thread or a report. The
 * parent returns when the child is ready or has ended. Return: 0, or negative errno with @err. */
ND_MUST_CHECK int nd_detach(struct nd_detach *d, const struct nd_plan *plan, struct nd_err *err);
/** nd_detach_progress() - as of struct nd_sink; @detach: struct nd_detach. When ports or flows are open the child leaves
 * its terminal, and what it prints from there on goes nowhere. */
void nd_detach_progress(void *detach, const struct nd_progress_event *ev);

/** nd_session_run() - carry out @plan, as its verb says: run a test against a host, answer tests until a signal (or
 * one with --once), or be a tool's receiver for one test (with plan->hold: until a signal). Blocks until over;
 * SIGINT and SIGTERM end tests and keep what was measured. Each result, partial ones too, goes to @finished on the
 * main thread. Return: enum nd_ending of the last test (a server: ND_END_DONE); @err for the last three, and why a
 * result is partial or damaged. */
int nd_session_run(struct nd_plan *plan, const struct nd_sink *sink,
		   void (*finished)(void *user, struct nd_result *r), void *user,
		   struct nd_err *err);

#endif
