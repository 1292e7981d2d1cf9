/* SPDX-License-Identifier: MIT */
/* The reports of a session, one after the other: opened when there is something to tell, closed by its result. */
#ifndef ND_REPORT_TELL_H
#define ND_REPORT_TELL_H

#include "report/report.h"

struct nd_tell {
	struct nd_report_cfg
		cfg; /* .format NULL: results that no report was opened for are not told */
	const struct nd_err *failure; /* borrowed: why there is no complete result */
	struct nd_err broken;         /* why a report did not get out: a closed pipe, a full disk */
	struct nd_report *report;     /* owned; NULL: none is open */
};

/** nd_tell_open() - begin a report. Return: 0, or negative errno with .broken. */
ND_MUST_CHECK int nd_tell_open(struct nd_tell *t);
/** nd_tell_progress() - as of struct nd_sink; @tell: struct nd_tell. What cannot be written is kept in .broken. */
void nd_tell_progress(void *tell, const struct nd_progress_event *ev);
/** nd_tell_finished() - the result of a test, or NULL when there is none: .failure says why. Ends the report. */
void nd_tell_finished(void *tell, struct nd_result *result);

#endif
