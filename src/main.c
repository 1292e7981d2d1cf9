/* SPDX-License-Identifier: MIT */
/* argv to persona to plan to session to report; the only place that prints errors and sets exit codes. */
#include <malloc.h>
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

static enum exit_code say(const char *before, const struct nd_err *err, enum exit_code code)
{
	(void)fprintf(stderr, "%snetdyno: %s\n", before, err->text); /* nobody is left to tell */
	return code;
}

static int open_report(struct app *app)
{
	const struct nd_output *o = &app->plan.out;
	const struct nd_report_cfg cfg = { o->format, o->file,    o->json_lines,
					   o->quiet,  o->verbose, isatty(1) == 1,
					   1 };

	return nd_report_open(&cfg, &app->report, &app->broken);
}

static void on_progress(void *user, const struct nd_progress_event *ev)
{
	struct app *app = user;
	int r = app->report ? nd_report_progress(app->report, ev) : 0;

	if (r < 0 && !app->broken.code)
		(void)nd_wrap(&app->broken, r, "writing the report"); /* told in the end */
}

static void write_report(struct app *app, struct nd_result *result, const struct nd_err *failure)
{
	int r = result ? nd_report_result(app->report, result, &app->broken)
		       : nd_report_failed(app->report, failure, &app->broken);

	nd_report_free(nd_take_ptr(app->report));
	app->broken.code = r < 0 ? r : app->broken.code;
}

static void on_finished(void *user, struct nd_result *result)
{
	if (((struct app *)user)->plan.out.format && open_report(user) == 0)
		write_report(user, result, NULL);
}

static enum exit_code run(struct app *app)
{
	const struct nd_sink sink = { on_progress, app };
	struct nd_result r;
	struct nd_err err = { 0 };
	int ending = ND_END_DONE;

	nd_result_init(&r);
	if (app->plan.verb == ND_VERB_SERVE)
		ending = nd_session_serve(&app->plan, &sink, on_finished, app, &err);
	else if (open_report(app) == 0)
		ending = nd_session_client(&app->plan, &sink, &r, &err);
	if (ending == ND_END_PARTIAL)
		(void)nd_fail(&err, -1, "partial: %s", r.partial_reason ?: "ended early");
	if (app->report)
		write_report(app, ending >= 0 && ending <= ND_END_PARTIAL ? &r : NULL, &err);
	nd_result_done(&r);
	if (ending == ND_END_DONE)
		return app->broken.code ? say("", &app->broken, CODE_FAILED) : CODE_DONE;
	return say("", &err, ending == ND_END_PEER ? CODE_PEER : CODE_FAILED);
}

int main(int argc, char **argv)
{
	struct app app = { 0 };
	nd_auto_str out = { 0 };
	struct nd_err err = { 0 };
	int next = nd_persona_read(argc, argv, &app.plan, &out, &err), code = CODE_DONE;

	/* NOLINTBEGIN(concurrency-mt-unsafe): there is one thread */
	(void)mallopt(M_ARENA_MAX, 1); /* threads allocate little; each more heap costs memory */
	(void)mallopt(M_MMAP_THRESHOLD, 64 << 10); /* what is larger goes back when freed */
	/* NOLINTEND(concurrency-mt-unsafe) */
	(void)signal(SIGPIPE, SIG_IGN);            /* a write says EPIPE instead; cannot fail */
	if (next == ND_NEXT_SCHEMA || next == ND_NEXT_RESULT_DOC)
		(next == ND_NEXT_SCHEMA ? nd_result_schema : nd_result_doc)(&out);
	if (next < 0)
		code = say(nd_str_text(&out), &err, CODE_USAGE);
	else if (next == ND_NEXT_RUN)
		code = run(&app);
	else if (!nd_str_ok(&out) || nd_write_all(1, nd_str_text(&out), out.len) < 0)
		code = say((nd_sysfail(&err, "writing to standard output"), ""), &err, CODE_FAILED);
	nd_plan_done(&app.plan);
	return code;
}
