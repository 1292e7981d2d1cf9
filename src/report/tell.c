/* SPDX-License-Identifier: MIT */
/* The reports of a session: what goes wrong with one is kept and told in the end. */
#include "base/fd.h"
#include "report/tell.h"

int nd_tell_open(struct nd_tell *t)
{
	return nd_report_open(&t->cfg, &t->report, &t->broken);
}

void nd_tell_progress(void *tell, const struct nd_progress_event *ev)
{
	struct nd_tell *t = tell;
	int r;

	if (!t->report && (t->broken.code || nd_tell_open(t) < 0))
		return; /* else it is the next of a receiver's tests */
	r = nd_report_progress(t->report, ev);
	if (r < 0 && !t->broken.code)
		(void)nd_wrap(&t->broken, r, "writing the report");
}

void nd_tell_finished(void *tell, struct nd_result *result)
{
	struct nd_tell *t = tell;
	int r;

	if (!t->report && (!result || !t->cfg.format || nd_tell_open(t) < 0))
		return;
	r = result ? nd_report_result(t->report, result, &t->broken)
		   : nd_report_failed(t->report, t->failure, &t->broken);
	nd_report_free(nd_take_ptr(t->report));
	t->broken.code = r < 0 ? r : t->broken.code;
}
