/* SPDX-License-Identifier: MIT */
/* The option part of a man page, in the man macros. */
#include <string.h>

#include "opt/int.h"

void nd_opt_roff(struct nd_str *out, const char *text, bool line)
{
	const char *p;

	if (line && (*text == '.' || *text == '\''))
		nd_str_add(out, "\\&");
	for (p = text; *p; p++) {
		switch (*p) {
		case '\\':
			nd_str_add(out, "\\e");
			break;
		case '-':
			nd_str_add(out, "\\-");
			break;
		case '\'':
			nd_str_add(out, "\\(aq");
			break;
		case '`':
			nd_str_add(out, "\\(ga");
			break;
		case '^':
			nd_str_add(out, "\\(ha");
			break;
		case '~':
			nd_str_add(out, "\\(ti");
			break;
		case '\n':
			nd_str_add(out, p[1] == '.' || p[1] == '\'' ? "\n\\&" : "\n");
			break;
		default:
			nd_str_addc(out, *p, 1);
		}
	}
}

/* @font around @text: \fBtext\fR */
static void fonted(struct nd_str *out, char font, const char *text)
{
	nd_str_addf(out, "\\f%c", font);
	nd_opt_roff(out, text, false);
	nd_str_add(out, "\\fR");
}

static void add_term(const struct nd_opt_set *set, const struct nd_opt *row, struct nd_str *out)
{
	const char *dashes = set->grammar == ND_GRAMMAR_WINDOWS ? "\\-" : "\\-\\-";
	bool attached = row->optional && set->grammar == ND_GRAMMAR_GNU;

	nd_str_add(out, ".TP\n");
	if (row->letter)
		nd_str_addf(out, "\\fB\\-%c\\fR", row->letter);
	if (row->letter && row->name)
		nd_str_add(out, ", ");
	if (row->name) {
		nd_str_addf(out, "\\fB%s", dashes);
		nd_opt_roff(out, row->name, false);
		nd_str_add(out, "\\fR");
	}
	if (nd_opt_has_value(row)) {
		nd_str_add(out, attached ? row->name ? "[=" : "[" : row->optional ? " [" : " ");
		fonted(out, 'I', nd_opt_metavar(row));
		nd_str_add(out, row->optional ? "]" : "");
	}
	nd_str_add(out, "\n");
}

static bool values_have_help(const struct nd_opt *row)
{
	const char *help;

	return nd_opt_value_at(row, 0, &help) && help;
}

/* Values with words of their own are a list; bare ones a sentence. */
static void add_values(const struct nd_opt *row, struct nd_str *out)
{
	bool list = values_have_help(row);
	const char *name, *help;
	size_t n;

	for (n = 0; (name = nd_opt_value_at(row, n, &help)); n++) {
		if (!list) {
			nd_str_add(out, n ? ",\n" : "Values:\n");
			fonted(out, 'B', name);
			continue;
		}
		nd_str_add(out, n ? "" : ".RS\n");
		nd_str_add(out, ".TP\n");
		fonted(out, 'B', name);
		nd_str_add(out, "\n");
		nd_opt_roff(out, help ? help : "see the name", true);
		nd_str_add(out, "\n");
	}
	if (n)
		nd_str_add(out, list ? ".RE\n" : ".\n");
}

/* A sentence out of words that begin in lower case and have no full stop. */
static void sentence(struct nd_str *out, const char *text)
{
	char first[2] = { *text, '\0' };

	if (*first >= 'a' && *first <= 'z')
		*first = (char)(*first - 'a' + 'A');
	nd_opt_roff(out, first, true);
	nd_opt_roff(out, *text ? text + 1 : text, false);
}

static void add_row(const struct nd_opt_set *set, const struct nd_opt *row, struct nd_str *out)
{
	nd_auto_str facts = { 0 };

	add_term(set, row, out);
	sentence(out, row->help);
	if (nd_opt_facts(row, &facts)) {
		nd_str_add(out, " (");
		nd_opt_roff(out, nd_str_text(&facts), false);
		nd_str_add(out, ")");
	}
	nd_str_add(out, ".\n");
	if (row->more) {
		nd_opt_roff(out, row->more, true);
		nd_str_add(out, "\n");
	}
	add_values(row, out);
	if (!nd_str_ok(&facts))
		out->failed = true;
}

void nd_opt_man(const struct nd_opt_set *set, struct nd_str *out)
{
	struct nd_opt_walk w = { .set = set };
	const char *section = NULL;
	const struct nd_opt *row;

	while ((row = nd_opt_next(&w))) {
		if (row->hidden)
			continue;
		if (w.section != section) {
			nd_str_add(out, section ? ".PP\n" : ""); /* a heading is above the first */
			fonted(out, 'B', w.section);
			nd_str_add(out, "\n");
		}
		section = w.section;
		add_row(set, row, out);
	}
}
