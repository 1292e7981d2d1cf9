/* SPDX-License-Identifier: MIT */
/* argv to persona to plan to session to report; the only place that prints errors and sets exit codes. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "persona/persona.h"
#include "report/report.h"
#include "session/session.h"

enum exit_code { CODE_DONE, CODE_FAILED, CODE_USAGE, CODE_PEER };

struct app {
	struct nd_plan plan;
	struct nd_report *report; /* NULL: none is open */
	struct nd_err broken;     /* why a report did not get out: a closed pipe, a full disk */
};

static int say(const char *before, const struct nd_err *err, int code)
{
	(void)fprintf(stderr, "%snetdyno: %s\n", before, err->text); /* nobody is left to tell */
	return code;
}

static int open_report(struct app *app)
{
	const struct nd_plan *p = &app->plan;
	const struct nd_report_cfg cfg = { .format = p->out.format,
					   .file = p->out.file,
					   .json_lines = p->out.json_lines,
					   .quiet = p->out.quiet,
					   .verbose = p->out.verbose,
					   .tty = isatty(1) == 1,
					   .out_fd = 1,
					   .face = p->face,
					   .face_table = p->face_table };

	return nd_report_open(&cfg, &app->report, &app->broken);
}

static void close_report(struct app *app, const struct nd_result *result,
			 const struct nd_err *failure)
{
	int r = result ? nd_report_result(app->report, result, &app->broken)
		       : nd_report_failed(app->report, failure, &app->broken);

	nd_report_free(nd_take_ptr(app->report));
	app->broken.code = r < 0 ? r : app->broken.code;
}

/* A server reports nothing but results; others have begun to before. */
static void on_progress(void *user, const struct nd_progress_event *ev)
{
	struct app *app = user;
	int r = 0;

	if (!app->report && app->plan.verb != ND_VERB_SERVE && !app->broken.code)
		(void)open_report(app); /* the next of a receiver's tests */
	if (app->report)
		r = nd_report_progress(app->report, ev);
	if (r < 0 && !app->broken.code)
		(void)nd_wrap(&app->broken, r, "writing the report"); /* told in the end */
}

static void on_finished(void *user, struct nd_result *result)
{
	struct app *app = user;

	if (app->report || (app->plan.out.format && open_report(app) == 0))
		close_report(app, result, NULL);
}

static int run(struct app *app)
{
	const struct nd_sink sink = { on_progress, app };
	struct nd_err err = { 0 };
	int ending;

	if (app->plan.daemon && daemon(1, 0) < 0) /* file names stay what they were */
		return say((nd_sysfail(&err, "going to the background"), ""), &err, CODE_FAILED);
	if (app->plan.verb != ND_VERB_SERVE && open_report(app) < 0)
		return say("", &app->broken, CODE_FAILED);
	ending = nd_session_run(&app->plan, &sink, on_finished, app, &err);
	if (app->report)
		close_report(app, NULL, &err);
	if (ending == ND_END_DONE)
		return app->broken.code ? say("", &app->broken, CODE_FAILED) : CODE_DONE;
	if (ending == ND_END_PARTIAL && app->plan.face)
		return CODE_DONE; /* the other tool's: what was measured stands, and says so itself */
	if (ending == ND_END_PEER)
		return say("", &err, app->plan.exits.peer ?: CODE_PEER);
	return say("", &err, CODE_FAILED);
}

int main(int argc, char **argv)
{
	struct app app = { 0 };
	nd_auto_str out = { 0 };
	struct nd_err err = { 0 };
	int next = nd_persona_read(argc, argv, &app.plan, &out, &err), code = CODE_DONE;

	nd_heap_frugal();
	(void)signal(SIGPIPE, SIG_IGN); /* a write says EPIPE instead; cannot fail */
	if (next == ND_NEXT_SCHEMA || next == ND_NEXT_RESULT_DOC)
		(next == ND_NEXT_SCHEMA ? nd_result_schema : nd_result_doc)(&out);
	if (next < 0)
		code = say(nd_str_text(&out), &err, app.plan.exits.usage ?: CODE_USAGE);
	else if (next == ND_NEXT_RUN)
		code = run(&app);
	else if (!nd_str_ok(&out) || nd_write_all(1, nd_str_text(&out), out.len) < 0)
		code = say((nd_sysfail(&err, "writing to standard output"), ""), &err, CODE_FAILED);
	else
		code = app.plan.exits.help;
	nd_plan_done(&app.plan);
	return code;
}
