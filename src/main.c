/* SPDX-License-Identifier: MIT */
/* argv to persona to plan to session to report; the only place that prints errors and sets exit codes. */
#include <signal.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "advise/advise.h"
#include "persona/persona.h"
#include "report/report.h"
#include "session/session.h"
#include "watch/watch.h"

struct app {
	struct nd_plan plan;
	struct nd_report *report; /* NULL: none is open */
	struct nd_err failure;    /* why there is no plan, or no complete result */
	struct nd_err broken;     /* why a report did not get out: a closed pipe, a full disk */
};

static bool is_for_scripts(const struct nd_exits *exits, enum nd_ending ending)
{
	return (ending == ND_END_USAGE && exits->usage_on_stdout) ||
	       (ending == ND_END_PEER && exits->peer_on_stdout);
}

static int say(const struct app *app, enum nd_ending ending, const struct nd_err *err)
{
	nd_auto_str line = { 0 };

	nd_str_addf(&line, "%s\n", err->text);
	if (!is_for_scripts(&app->plan.exits, ending) ||
	    nd_write_all(1, nd_str_text(&line), line.len) < 0)
		nd_log_line("netdyno: ", err->text);
	return nd_exit_code(&app->plan, ending);
}

static struct nd_report_cfg report_cfg(const struct nd_plan *p)
{
	return (struct nd_report_cfg){ .format = p->out.format,
				       .file = p->out.file,
				       .json_lines = p->out.json_lines,
				       .quiet = p->out.quiet,
				       .verbose = p->out.verbose,
				       .tty = isatty(1) == 1,
				       .out_fd = 1,
				       .face = p->face,
				       .face_table = p->face_table };
}

static int open_report(struct app *app)
{
	const struct nd_report_cfg cfg = report_cfg(&app->plan);

	return nd_report_open(&cfg, &app->report, &app->broken);
}

static void on_progress(void *user, const struct nd_progress_event *ev)
{
	struct app *app = user;
	int r;

	if (!app->report && (app->broken.code || open_report(app) < 0))
		return; /* else it is the next of a receiver's tests */
	r = nd_report_progress(app->report, ev);
	if (r < 0 && !app->broken.code)
		(void)nd_wrap(&app->broken, r, "writing the report"); /* told in the end */
}

/* @result is NULL when there is none: .failure says why. */
static void on_finished(void *user, struct nd_result *result)
{
	struct app *app = user;
	int r;

	if (!app->report && (!result || !app->plan.out.format || open_report(app) < 0))
		return;
	r = result ? nd_report_result(app->report, result, &app->broken)
		   : nd_report_failed(app->report, &app->failure, &app->broken);
	nd_report_free(nd_take_ptr(app->report));
	app->broken.code = r < 0 ? r : app->broken.code;
}

/* A server reports nothing but results; others begin to before. */
static int run(struct app *app)
{
	const struct nd_sink sink = { app->plan.verb == ND_VERB_SERVE ? NULL : on_progress, app };
	const struct nd_report_cfg cfg = report_cfg(&app->plan);
	int ending = ND_END_FAILED;

	if (nd_report_check(&cfg, &app->broken) < 0)
		; /* told below, while there is a terminal and before there are tests */
	else if (app->plan.daemon && daemon(1, 0) < 0) /* file names stay what they were */
		(void)nd_sysfail(&app->broken, "going to the background");
	else if (app->plan.verb == ND_VERB_SERVE || open_report(app) == 0)
		ending = nd_session_run(&app->plan, &sink, on_finished, app, &app->failure);
	on_finished(app, NULL);
	if (app->broken.code && (ending == ND_END_DONE || !app->failure.code))
		return say(app, ND_END_FAILED, &app->broken);
	return nd_exit_code(&app->plan, ending) ? say(app, ending, &app->failure) : 0;
}

/* The verbs that look at this machine: neither session nor report. */
static int (*const looks[ND_VERB_MAX])(const struct nd_plan *plan,
				       const struct nd_local_place *place, struct nd_err *err) = {
	[ND_VERB_WATCH] = nd_watch_run,
	[ND_VERB_IRQ] = nd_irq_run,
	[ND_VERB_DOCTOR] = nd_doctor_run,
};

static int look(struct app *app)
{
	const struct nd_local_place place = { .root = "", .out_fd = 1, .tty = isatty(1) == 1 };
	int r = looks[app->plan.verb](&app->plan, &place, &app->failure);

	return r < 0 ? say(app, ND_END_FAILED, &app->failure) : r;
}

int main(int argc, char **argv)
{
	struct app app = { 0 };
	nd_auto_str out = { 0 };
	int next = nd_persona_read(argc, argv, &app.plan, &out, &app.failure), code;

	(void)signal(SIGPIPE, SIG_IGN); /* a write says EPIPE instead; cannot fail */
	if (next == ND_NEXT_SCHEMA || next == ND_NEXT_RESULT_DOC)
		(next == ND_NEXT_SCHEMA ? nd_result_schema : nd_result_doc)(&out);
	if (next == ND_NEXT_RUN)
		code = looks[app.plan.verb] ? look(&app) : run(&app);
	else if (!nd_str_ok(&out) || nd_write_all(next < 0 || next == ND_NEXT_USAGE ? 2 : 1,
						  nd_str_text(&out), out.len) < 0)
		code = say(&app, (nd_sysfail(&app.broken, "writing"), ND_END_FAILED), &app.broken);
	else
		code = next < 0 ? say(&app, ND_END_USAGE, &app.failure) : app.plan.exits.help;
	nd_plan_done(&app.plan);
	return code;
}
