/* SPDX-License-Identifier: MIT */
/* Help for a terminal: the short one fits a screen of 24 lines by 80 columns. */
#include <string.h>

#include "opt/int.h"

#define WIDTH        80u
#define SHORT_COLUMN 30u
#define MORE_INDENT  8u
#define VALUE_COLUMN 24u

/* "-t, --time TIME" */
static void add_label(const struct nd_opt_set *set, const struct nd_opt *row, struct nd_str *out)
{
	bool windows = set->grammar == ND_GRAMMAR_WINDOWS;
	const char *open = "", *close = "", *glue = " ";

	if (row->letter)
		nd_str_addf(out, "-%c", row->letter);
	else
		nd_str_add(out, windows ? "" : "    ");
	if (row->name)
		nd_str_addf(out, "%s%s%s", row->letter ? ", " : "", windows ? "-" : "--",
			    row->name);
	if (!nd_opt_has_value(row))
		return;
	if (row->optional) {
		glue = set->grammar != ND_GRAMMAR_GNU ? " " : row->name ? "=" : "";
		open = "[";
		close = "]";
	}
	if (row->optional && set->grammar == ND_GRAMMAR_GNU)
		nd_str_addf(out, "%s%s%s%s", open, glue, nd_opt_metavar(row), close);
	else
		nd_str_addf(out, "%s%s%s%s", glue, open, nd_opt_metavar(row), close);
}

static void pad_to(struct nd_str *out, size_t line_start, size_t column)
{
	size_t used = out->len - line_start;

	nd_str_addc(out, ' ', used < column ? column - used : 1);
}

static void usage(const struct nd_opt_set *set, struct nd_str *out)
{
	nd_str_addf(out, "usage: %s [options]%s%s\n%s\n", set->prog, *set->operands ? " " : "",
		    set->operands, set->summary);
}

static void short_help(const struct nd_opt_set *set, struct nd_str *out)
{
	struct nd_opt_walk w = { .set = set };
	const struct nd_opt *row;
	size_t start;

	usage(set, out);
	nd_str_add(out, "\n");
	while ((row = nd_opt_next(&w))) {
		if (!row->common || row->hidden)
			continue;
		start = out->len;
		nd_str_add(out, "  ");
		add_label(set, row, out);
		pad_to(out, start, SHORT_COLUMN);
		nd_str_add(out, row->help);
		if (row->preset && nd_opt_has_value(row))
			nd_str_addf(out, " (%s)", row->preset);
		nd_str_add(out, "\n");
	}
}

/* One line for each value that has words of its own; the bare ones share a paragraph. */
static void add_values(const struct nd_opt *row, struct nd_str *out)
{
	nd_auto_str bare = { 0 };
	const char *name, *help;
	size_t n, start;

	for (n = 0; (name = nd_opt_value_at(row, n, &help)); n++) {
		if (!help) {
			nd_str_addf(&bare, "%s%s", bare.len ? " " : "", name);
			continue;
		}
		start = out->len;
		nd_str_addc(out, ' ', MORE_INDENT + 2);
		nd_str_add(out, name);
		pad_to(out, start, VALUE_COLUMN);
		nd_str_addf(out, "%s\n", help);
	}
	nd_str_wrap(out, nd_str_text(&bare), MORE_INDENT + 2, WIDTH);
}

static void long_row(const struct nd_opt_set *set, const struct nd_opt *row, struct nd_str *out)
{
	nd_auto_str text = { 0 }, facts = { 0 };

	nd_str_add(out, "  ");
	add_label(set, row, out);
	nd_str_add(out, "\n");
	nd_str_add(&text, row->help);
	if (nd_opt_facts(row, &facts))
		nd_str_addf(&text, " (%s)", nd_str_text(&facts));
	nd_str_wrap(out, nd_str_text(&text), MORE_INDENT, WIDTH);
	add_values(row, out);
	if (nd_str_ok(&text) && nd_str_ok(&facts))
		return;
	out->failed = true;
}

static void add_examples(const struct nd_opt_set *set, struct nd_str *out)
{
	const char *p = set->examples, *tab, *end;

	if (!p)
		return;
	nd_str_add(out, "\nExamples:\n");
	for (; *p; p = *end ? end + 1 : end) {
		end = p + strcspn(p, "\n");
		tab = memchr(p, '\t', (size_t)(end - p));
		nd_str_addf(out, "  %.*s\n", (int)((tab ? tab : end) - p), p);
		if (tab)
			nd_str_addf(out, "        %.*s\n", (int)(end - tab - 1), tab + 1);
	}
}

static void long_help(const struct nd_opt_set *set, struct nd_str *out)
{
	struct nd_opt_walk w = { .set = set };
	const char *section = NULL;
	const struct nd_opt *row;

	usage(set, out);
	while ((row = nd_opt_next(&w))) {
		if (row->hidden)
			continue;
		if (w.section != section)
			nd_str_addf(out, "\n%s:\n", w.section);
		section = w.section;
		long_row(set, row, out);
	}
	add_examples(set, out);
}

void nd_opt_help(const struct nd_opt_set *set, bool all, struct nd_str *out)
{
	if (all)
		long_help(set, out);
	else
		short_help(set, out);
}
