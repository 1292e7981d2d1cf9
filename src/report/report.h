/* SPDX-License-Identifier: MIT */
/*
 * Writers render an event stream and a result. They never measure; figures come from rows.
 * To add a format: src/report/x.c with a const struct nd_writer, one row in writers.def.
 */
#ifndef ND_REPORT_REPORT_H
#define ND_REPORT_REPORT_H

#include "base/err.h"
#include "base/str.h"
#include "result/progress.h"
#include "result/result.h"
#include "result/scale.h"

struct nd_report_cfg {
	const char *format; /* NULL: text */
	const char *file;   /* NULL: stdout; else replaced atomically at the end */
	bool json_lines;    /* implies json */
	bool quiet, verbose;
	bool tty;   /* stdout is a terminal */
	int out_fd; /* 1 */
	/* borrowed: settings of a tool's face for that tool's writers; NULL: our own */
	const void *face;
	const struct nd_table *face_table;
	void *state; /* the writer's own, .state_size zeroed bytes; set by nd_report_open() */
};

struct nd_report; /* an opened report */

struct nd_writer {
	const char *name, *help;
	bool of_face;      /* looks like another tool's report: chosen by its face alone. Last in
			    * writers.def: nd_writer_names() leaves it out. */
	bool hears_all;    /* .quiet keeps no event away */
	size_t state_size; /* of what it keeps between calls, cfg->state */
	/* Each returns text to be written now (appended to @out); NULL members: nothing. */
	void (*begin)(const struct nd_report_cfg *cfg, struct nd_str *out);
	void (*progress)(const struct nd_report_cfg *cfg, const struct nd_progress_event *ev,
			 struct nd_str *out);
	void (*result)(const struct nd_report_cfg *cfg, const struct nd_result *r,
		       struct nd_str *out);
	void (*failed)(const struct nd_report_cfg *cfg, const struct nd_err *err,
		       struct nd_str *out);
	/** files() - replace the files the face asks for, behind result() or failed(). @r: NULL behind
	 * the latter. Return: 0 or negative errno with @err. */
	int (*files)(const struct nd_report_cfg *cfg, const struct nd_result *r,
		     struct nd_err *err);
	void (*done)(const struct nd_report_cfg *cfg); /* release what cfg->state owns */
};

const struct nd_writer *nd_writer_at(size_t n);
const struct nd_writer *nd_writer_find(const char *name);
/** nd_writer_names() - the formats a user may choose. NULL: no more. */
const char *nd_writer_names(size_t n, const char **ret_help);

/** nd_report_check() - can the files that it is to be written to be made? @err names the one that cannot. */
ND_MUST_CHECK int nd_report_check(const struct nd_report_cfg *cfg, struct nd_err *err);
ND_MUST_CHECK int nd_report_open(const struct nd_report_cfg *cfg, struct nd_report **ret,
				 struct nd_err *err);
/** nd_report_progress() - each line is written at once (stdout), or kept for the file. */
ND_MUST_CHECK int nd_report_progress(struct nd_report *r, const struct nd_progress_event *ev);
ND_MUST_CHECK int nd_report_result(struct nd_report *r, const struct nd_result *res,
				   struct nd_err *err);
ND_MUST_CHECK int nd_report_failed(struct nd_report *r, const struct nd_err *failure,
				   struct nd_err *err);
void nd_report_free(struct nd_report *r);

/* Selectors of netperf's omni output, for the command line to list and to judge. */
/** nd_nprep_selector() - names in their order, NULL: no more. */
const char *nd_nprep_selector(size_t n);
/** nd_nprep_is_selection() - a list of selectors rather than the name of a file that holds one: it has a comma or a
 * semicolon, or it is "all" or a known name. */
bool nd_nprep_is_selection(const char *text);

/* Shared by text writers: figures as nd_scaled_text() has them, from a field row. */
/** nd_figure_text() - "9.412 Gbit/s", "1448 bytes", "yes"; "unknown" if it is. Text is cleaned. */
void nd_figure_text(struct nd_str *out, const struct nd_field *f, const void *base);
/** nd_figure_known() - false for null; lists and groups are known. */
bool nd_figure_known(const struct nd_field *f, const void *base);
/** nd_figure_zero() - a number that is 0, false, or an empty text. */
bool nd_figure_zero(const struct nd_field *f, const void *base);

#endif
