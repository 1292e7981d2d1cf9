/* SPDX-License-Identifier: MIT */
/* netperf's omni output: figures that the user selects, as CSV, as a table, or key by key. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "report/int.h"
#include "report/netperf_select.h"

#define MAX_COLUMNS 1024u
#define MAX_BLOCKS  4u
#define HEAD_LINES  4u
#define MAX_FILE    (64u << 10)

struct column {
	const struct nd_npsel *what; /* NULL: nobody knows the name */
	unsigned block;
};

struct selection {
	struct column *v; /* owned */
	size_t n;
};

/* clang-format off */
static const char send_set[] =
	"LSS_SIZE_END,RSR_SIZE_END,LOCAL_SEND_SIZE,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS";
static const char recv_set[] =
	"RSS_SIZE_END,LSR_SIZE_END,REMOTE_SEND_SIZE,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS";
static const char turns_set[] =
	"LSS_SIZE_END,LSR_SIZE_END,RSR_SIZE_END,RSS_SIZE_END,REQUEST_SIZE,RESPONSE_SIZE,"
	"ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS";
static const char cpu_set[] =
	",LOCAL_CPU_UTIL,LOCAL_CPU_PERCENT_USER,LOCAL_CPU_PERCENT_SYSTEM,LOCAL_CPU_PERCENT_IOWAIT,"
	"LOCAL_CPU_PERCENT_IRQ,LOCAL_CPU_PERCENT_SWINTR,LOCAL_CPU_METHOD,"
	"REMOTE_CPU_UTIL,REMOTE_CPU_PERCENT_USER,REMOTE_CPU_PERCENT_SYSTEM,REMOTE_CPU_PERCENT_IOWAIT,"
	"REMOTE_CPU_PERCENT_IRQ,REMOTE_CPU_PERCENT_SWINTR,REMOTE_CPU_METHOD,"
	"LOCAL_SD,REMOTE_SD,SD_UNITS";
/* The first of each block of "all". */
static const char *const block_starts[MAX_BLOCKS] = {
	"SOCKET_TYPE", "LOCAL_CPU_UTIL", "LOCAL_SEND_THROUGHPUT", "LOCAL_SYSNAME"
};

/* clang-format on */

/* ---- what is selected */

static void add(struct selection *s, const struct nd_npsel *what, unsigned block)
{
	if (s->n < MAX_COLUMNS)
		s->v[s->n++] = (struct column){ what, ND_MIN(block, MAX_BLOCKS - 1) };
}

static void add_everything(struct selection *s)
{
	const struct nd_npsel *what;
	unsigned block = 0;

	for (size_t i = 1; (what = nd_npsel_at(i)); i++) {
		if (block + 1 < MAX_BLOCKS && !strcmp(what->name, block_starts[block + 1]))
			block++;
		add(s, what, block);
	}
}

static void add_names(struct selection *s, const char *text)
{
	unsigned block = 0;

	while (*text) {
		size_t n = strcspn(text, ",;\n"), left = strspn(text, " \t"), right = n;

		left = ND_MIN(left, n);
		while (right > left && strchr(" \t\r", text[right - 1]))
			right--;
		if (right > left)
			add(s, nd_npsel_find(text + left, right - left), block);
		text += n;
		if (*text == ';' || *text == '\n') /* one without names is none */
			block += s->n > 0 && s->v[s->n - 1].block == block;
		text += *text != '\0';
	}
}

/* The command line has seen that it can be read; what is gone by now selects nothing. */
static void add_file(struct selection *s, const char *file)
{
	nd_auto_free char *text = NULL;
	size_t n;

	if (nd_read_file(file, MAX_FILE, &text, &n, NULL) == 0)
		add_names(s, text);
}

static void select_figures(const struct nd_nprep *f, struct selection *s)
{
	const char *asked = nd_face_str(&f->face, "selection");
	nd_auto_str names = { 0 };

	if (asked && !strcasecmp(asked, "all")) {
		add_everything(s);
		return;
	}
	if (asked && !nd_nprep_is_selection(asked)) {
		add_file(s, asked);
		return;
	}
	if (!asked) {
		bool turns = f->connects || f->sends == f->recvs;

		nd_str_add(&names, turns ? turns_set : f->sends ? send_set : recv_set);
		nd_str_add(&names, f->local_cpu || f->remote_cpu ? cpu_set : "");
		asked = nd_str_text(&names);
	}
	add_names(s, asked);
}

/* ---- CSV */

static void csv(const struct nd_nprep *f, const struct selection *s, struct nd_str *out)
{
	bool first = true;

	for (size_t i = 0; f->banner && i < s->n; i++) {
		if (!s->v[i].what)
			continue; /* its value has a place all the same: so it is in the original */
		nd_str_add(out, first ? "" : ",");
		nd_npsel_title(s->v[i].what, out);
		first = false;
	}
	nd_str_add(out, f->banner ? "\n" : "");
	for (size_t i = 0; i < s->n; i++) {
		bool missing = !s->v[i].what || !nd_npsel_value(s->v[i].what, f, out);

		if (i + 1 < s->n)
			nd_str_add(out, missing ? ", " : ",");
	}
	nd_str_add(out, "\n");
}

/* ---- key by key */

static void keyval(const struct nd_nprep *f, const struct selection *s, struct nd_str *out)
{
	nd_auto_str value = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		nd_str_reset(&value);
		if (s->v[i].what && nd_npsel_value(s->v[i].what, f, &value))
			nd_str_addf(out, "%s=%s\n", s->v[i].what->name, nd_str_text(&value));
	}
	out->failed = out->failed || !nd_str_ok(&value);
}

/* ---- table */

/* Line @n of a heading: "" behind its last. */
static const char *head_line(const struct nd_npsel *what, unsigned n, size_t *ret_len)
{
	const char *p = what ? what->head : "";

	for (; n > 0 && *p; n--) {
		p += strcspn(p, "|");
		p += *p == '|';
	}
	*ret_len = strcspn(p, "|");
	return p;
}

static size_t width_of(const struct nd_npsel *what, const struct nd_str *value, bool missing)
{
	size_t width = missing ? 0 : value->len + 1, n;

	for (unsigned i = 0; i < HEAD_LINES; i++) {
		(void)head_line(what, i, &n);
		width = ND_MAX(width, n);
	}
	return width;
}

/* One line of a block; @line HEAD_LINES: the values. */
static void block_line(const struct nd_nprep *f, const struct selection *s, unsigned block,
		       unsigned line, struct nd_str *out)
{
	nd_auto_str value = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		const struct nd_npsel *what = s->v[i].what;
		const char *text;
		size_t n, width;
		bool missing;

		if (s->v[i].block != block)
			continue;
		nd_str_reset(&value);
		missing = !what || !nd_npsel_value(what, f, &value);
		width = width_of(what, &value, missing);
		text = head_line(what, line, &n);
		if (line == HEAD_LINES) {
			text = nd_str_text(&value);
			n = value.len;
		}
		nd_str_addn(out, text, n);
		nd_str_addc(out, ' ', width + 1 - n);
	}
	nd_str_add(out, "\n");
	out->failed = out->failed || !nd_str_ok(&value);
}

static void human(const struct nd_nprep *f, const struct selection *s, struct nd_str *out)
{
	unsigned blocks = s->n ? s->v[s->n - 1].block + 1 : 0;

	for (unsigned block = 0; block < blocks; block++) {
		nd_str_add(out, block ? "\n" : "");
		for (unsigned line = f->banner ? 0 : HEAD_LINES; line <= HEAD_LINES; line++)
			block_line(f, s, block, line, out);
	}
}

void nd_nprep_omni(const struct nd_nprep *f, struct nd_str *out)
{
	struct selection s = { .v = calloc(MAX_COLUMNS, sizeof(*s.v)) };

	if (!s.v) {
		out->failed = true;
		return;
	}
	select_figures(f, &s);
	if (f->style == ND_NPREP_CSV)
		csv(f, &s, out);
	else if (f->style == ND_NPREP_KEYVAL)
		keyval(f, &s, out);
	else
		human(f, &s, out);
	free(s.v);
}
