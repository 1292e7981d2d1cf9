/* SPDX-License-Identifier: MIT */
/* An opened report: where a writer's text goes, at once or all together at the end. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "report/face.h"
#include "report/int.h"

#define ND_WRITER(name) &nd_writer_##name,
static const struct nd_writer *const writers[] = {
#include "report/writers.def"
};
#undef ND_WRITER

struct nd_report {
	struct nd_report_cfg cfg;
	const struct nd_writer *writer;
	struct nd_str text; /* not written yet */
};

const struct nd_writer *nd_writer_at(size_t n)
{
	return n < ND_COUNTOF(writers) ? writers[n] : NULL;
}

const struct nd_writer *nd_writer_find(const char *name)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(writers); i++)
		if (!strcmp(writers[i]->name, name))
			return writers[i];
	return NULL;
}

const char *nd_writer_names(size_t n, const char **ret_help)
{
	const struct nd_writer *w = nd_writer_at(n);

	if (!w || w->of_face)
		return NULL;
	if (ret_help)
		*ret_help = w->help;
	return w->name;
}

/* A terminal or pipe may be non-blocking because somebody else made it so. */
static int write_patiently(int fd, const char *p, size_t n)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	ssize_t w;

	while (n > 0) {
		w = write(fd, p, n);
		if (w >= 0) {
			p += w;
			n -= (size_t)w;
		} else if (errno == EAGAIN) {
			(void)poll(&ready, 1, -1); /* interrupted or not: write() tells */
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

/* Text that is ready: written now, or kept for the file. */
static int flush(struct nd_report *r)
{
	int e;

	if (r->cfg.file)
		return nd_str_ok(&r->text) ? 0 : -ENOMEM;
	e = nd_str_ok(&r->text) ? 0 : -ENOMEM;
	if (e == 0)
		e = write_patiently(r->cfg.out_fd, nd_str_text(&r->text), r->text.len);
	nd_str_reset(&r->text);
	return e;
}

static void begin(struct nd_report *r)
{
	if (r->writer->begin)
		r->writer->begin(&r->cfg, &r->text);
}

/* The end of a document: a file is replaced now, and the next result replaces it again. */
static int finish(struct nd_report *r, struct nd_err *err)
{
	int e = flush(r);

	if (e == -ENOMEM)
		return nd_fail(err, e, "writing the report: out of memory");
	if (e < 0) {
		errno = -e;
		return nd_sysfail(err, "writing the report");
	}
	if (!r->cfg.file)
		return 0;
	e = nd_write_file(r->cfg.file, nd_str_text(&r->text), r->text.len, err);
	nd_str_reset(&r->text);
	begin(r);
	return e;
}

/* May a file be made in the folder that @file names? */
static int check_folder(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *folder = slash ? strndup(file, (size_t)(slash - file) + 1) : strdup(".");
	int r = folder ? 0 : -ENOMEM;

	if (folder && access(folder, W_OK | X_OK) < 0)
		r = -errno;
	free(folder);
	return r;
}

/* A report that cannot be put where it belongs is better told before the test than after. */
static int check_file(const char *name, const char *file, struct nd_err *err)
{
	struct stat st;
	int r;

	if (!file)
		return 0;
	if (stat(file, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return nd_fail(err, -EISDIR, "%s: '%.200s' is a folder", name, file);
		return access(file, W_OK) < 0 ? nd_sysfail(err, "%s: %.200s", name, file) : 0;
	}
	r = check_folder(file);
	errno = -r;
	return r < 0 ? nd_sysfail(err, "%s: %.200s", name, file) : 0;
}

/* The same for the files that another tool's face has beside its report. */
int nd_report_check(const struct nd_report_cfg *cfg, struct nd_err *err)
{
	static const struct {
		const char *key, *name;
	} files[] = {
		{ "xml_file", "the XML file" },
		{ "json_file", "the JSON file" },
		{ "log_file", "the log file" },
		{ "log", "--full-log" },
	};

	struct nd_face face = nd_face_of(cfg, NULL);
	int r = check_file("-O", cfg->file, err);

	for (size_t i = 0; r == 0 && i < ND_COUNTOF(files); i++)
		r = check_file(files[i].name, nd_face_str(&face, files[i].key), err);
	return r;
}

int nd_report_open(const struct nd_report_cfg *cfg, struct nd_report **ret, struct nd_err *err)
{
	const char *format = cfg->json_lines ? "json" : cfg->format;
	const struct nd_writer *w = format ? nd_writer_find(format) : writers[0];
	struct nd_report *r;
	int e;

	if (!w)
		return nd_fail(err, -EINVAL, "there is no report format '%.80s'", format);
	e = nd_report_check(cfg, err);
	if (e < 0)
		return e;
	r = calloc(1, sizeof(*r));
	if (!r)
		return nd_fail(err, -ENOMEM, "opening the report: out of memory");
	r->cfg = *cfg;
	r->writer = w;
	r->cfg.state = w->state_size ? calloc(1, w->state_size) : NULL;
	if (w->state_size && !r->cfg.state) {
		free(r);
		return nd_fail(err, -ENOMEM, "opening the report: out of memory");
	}
	begin(r);
	e = flush(r);
	if (e < 0) {
		nd_report_free(r);
		errno = -e;
		return nd_sysfail(err, "writing the report");
	}
	*ret = r;
	return 0;
}

int nd_report_progress(struct nd_report *r, const struct nd_progress_event *ev)
{
	bool hushed = r->cfg.quiet && !r->writer->hears_all;

	if (!r->writer->progress || (hushed && ev->what != ND_PROG_WARNING))
		return 0;
	r->writer->progress(&r->cfg, ev, &r->text);
	return flush(r);
}

int nd_report_result(struct nd_report *r, const struct nd_result *res, struct nd_err *err)
{
	int e = 0, f;

	if (r->writer->result)
		r->writer->result(&r->cfg, res, &r->text);
	if (r->writer->files)
		e = r->writer->files(&r->cfg, res, err);
	f = finish(r, e < 0 ? NULL : err);
	return e < 0 ? e : f;
}

int nd_report_failed(struct nd_report *r, const struct nd_err *failure, struct nd_err *err)
{
	int e = 0, f;

	if (!r->writer->failed)
		return 0;
	r->writer->failed(&r->cfg, failure, &r->text);
	if (r->writer->files)
		e = r->writer->files(&r->cfg, NULL, err);
	f = finish(r, e < 0 ? NULL : err);
	return e < 0 ? e : f;
}

void nd_report_free(struct nd_report *r)
{
	if (!r)
		return;
	if (r->writer->done)
		r->writer->done(&r->cfg);
	free(r->cfg.state);
	nd_str_done(&r->text);
	free(r);
}
