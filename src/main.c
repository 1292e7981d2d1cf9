/* SPDX-License-Identifier: MIT */
/* argv to persona to plan to session to report; the only place that prints errors and sets exit codes. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "advise/advise.h"
#include "persona/persona.h"
#include "report/tell.h"
#include "session/session.h"
#include "watch/watch.h"

static bool is_for_scripts(const struct nd_exits *exits, enum nd_ending ending)
{
	return (ending == ND_END_USAGE && exits->usage_on_stdout) ||
	       (ending == ND_END_PEER && exits->peer_on_stdout);
}

static int say(const struct nd_plan *plan, enum nd_ending ending, const struct nd_err *err)
{
	nd_auto_str line = { 0 };

	nd_str_addf(&line, "%s\n", err->text);
	if (!is_for_scripts(&plan->exits, ending) ||
	    nd_write_all(1, nd_str_text(&line), line.len) < 0)
		nd_log_line(plan->exits.prefix ?: "netdyno: ", err->text);
	return nd_exit_code(plan, ending);
}

/* A server reports nothing but results; others begin to before. */
static int run(struct nd_plan *p)
{
	struct nd_err failure = { 0 }; /* why there is no complete result */
	struct nd_tell tell = { .failure = &failure,
				.cfg = { .format = p->out.format,
					 .file = p->out.file,
					 .json_lines = p->out.json_lines,
					 .quiet = p->out.quiet,
					 .verbose = p->out.verbose,
					 .tty = isatty(1) == 1,
					 .out_fd = 1,
					 .face = p->face,
					 .face_table = p->face_table } };
	struct nd_detach away = { .sink = { nd_tell_progress, &tell } };
	const struct nd_sink sink = { p->verb == ND_VERB_SERVE ? NULL : nd_detach_progress, &away };
	int ending = ND_END_FAILED;

	if (nd_report_check(&tell.cfg, &tell.broken) < 0 || nd_detach(&away, p, &tell.broken) < 0)
		; /* told below, while there is a terminal and before there are tests */
	else if (away.is_parent)
		return away.code;
	else if (p->verb == ND_VERB_SERVE || nd_tell_open(&tell) == 0)
		ending = nd_session_run(p, &sink, nd_tell_finished, &tell, &failure);
	nd_tell_finished(&tell, NULL);
	if (tell.broken.code && (ending == ND_END_DONE || !failure.code))
		return say(p, ND_END_FAILED, &tell.broken);
	return nd_exit_code(p, ending) ? say(p, ending, &failure) : 0;
}

/* The verbs that look at this machine: neither session nor report. */
static int (*const looks[ND_VERB_MAX])(const struct nd_plan *plan,
				       const struct nd_local_place *place, struct nd_err *err) = {
	[ND_VERB_WATCH] = nd_watch_run,
	[ND_VERB_IRQ] = nd_irq_run,
	[ND_VERB_DOCTOR] = nd_doctor_run,
};

static int look(const struct nd_plan *plan)
{
	const struct nd_local_place place = { .root = "", .out_fd = 1, .tty = isatty(1) == 1 };
	struct nd_err err = { 0 };
	int r = looks[plan->verb](plan, &place, &err);

	if (r == -ENODEV || r == -EINVAL) /* a name that only the system could judge */
		return say(plan, ND_END_USAGE, &err);
	if (r == -EHOSTUNREACH)
		return say(plan, ND_END_PEER, &err);
	return r < 0 ? say(plan, ND_END_FAILED, &err) : r;
}

int main(int argc, char **argv)
{
	struct nd_plan plan = { 0 };
	struct nd_err err = { 0 };
	nd_auto_str out = { 0 };
	int next = nd_persona_read(argc, argv, &plan, &out, &err), code;

	(void)signal(SIGPIPE, SIG_IGN); /* a write says EPIPE instead; cannot fail */
	if (next == ND_NEXT_SCHEMA || next == ND_NEXT_RESULT_DOC)
		(next == ND_NEXT_SCHEMA ? nd_result_schema : nd_result_doc)(&out);
	if (next == ND_NEXT_RUN)
		code = looks[plan.verb] ? look(&plan) : run(&plan);
	else if (!nd_str_ok(&out) || nd_write_all(next < 0 || next == ND_NEXT_USAGE ? 2 : 1,
						  nd_str_text(&out), out.len) < 0)
		code = say(&plan, (nd_sysfail(&err, "writing"), ND_END_FAILED), &err);
	else
		code = next < 0 ? say(&plan, ND_END_USAGE, &err) : plan.exits.help;
	nd_plan_done(&plan);
	return code;
}
