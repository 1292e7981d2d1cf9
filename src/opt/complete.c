/* SPDX-License-Identifier: MIT */
/* Completion for bash and zsh, from the same rows as the parser. */
#include <string.h>

#include "opt/int.h"

static bool is_file(const struct nd_opt *row)
{
	return row->metavar && !strcmp(row->metavar, "FILE");
}

static bool is_iface(const char *word)
{
	return word && strstr(word, "IFACE");
}

static void add_dashed(const struct nd_opt_set *set, const struct nd_opt *row, const char *between,
		       struct nd_str *out)
{
	const char *dashes = set->grammar == ND_GRAMMAR_WINDOWS ? "-" : "--";

	if (row->letter)
		nd_str_addf(out, "-%c", row->letter);
	if (row->name)
		nd_str_addf(out, "%s%s%s", row->letter ? between : "", dashes, row->name);
}

static void add_names(const struct nd_opt *row, struct nd_str *out)
{
	const char *name, *help;
	size_t n;

	for (n = 0; (name = nd_opt_value_at(row, n, &help)); n++)
		nd_str_addf(out, "%s%s", n ? " " : "", name);
}

static bool has_names(const struct nd_opt *row)
{
	const char *help;

	return nd_opt_value_at(row, 0, &help) != NULL;
}

void nd_opt_bash(const struct nd_opt_set *set, const char *verb, struct nd_str *out)
{
	struct nd_opt_walk w = { .set = set }, all = { .set = set };
	const struct nd_opt *row;

	nd_str_addf(out, "\t%s)\n\t\tcase $prev in\n", verb);
	while ((row = nd_opt_next(&w))) {
		if (row->hidden || !nd_opt_has_value(row) || row->optional)
			continue;
		nd_str_add(out, "\t\t");
		add_dashed(set, row, "|", out);
		nd_str_add(out, ") ");
		if (is_file(row)) {
			nd_str_add(out, "files=yes");
		} else if (is_iface(row->metavar)) {
			nd_str_add(out, "words=$(ls /sys/class/net)");
		} else {
			nd_str_add(out, "words='");
			add_names(row, out);
			nd_str_add(out, "'");
		}
		nd_str_add(out, " ;;\n");
	}
	nd_str_add(out, "\t\t*) words='");
	while ((row = nd_opt_next(&all))) {
		if (row->hidden)
			continue;
		nd_str_add(out, all.array || all.row > 1 ? " " : "");
		add_dashed(set, row, " ", out);
	}
	nd_str_addf(out, "%s%s'", set->first ? " " : "", set->first ? set->first : "");
	nd_str_add(out, is_iface(set->operands) ? "\" $(ls /sys/class/net)\" ;;\n" : " ;;\n");
	nd_str_add(out, "\t\tesac\n\t\t;;\n");
}

/* Inside '...' of an _arguments spec: quotes of the shell, and what the spec itself reads. */
static void zsh_text(struct nd_str *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			nd_str_add(out, "'\\''");
		else if (strchr("[]:\\", *text))
			nd_str_addf(out, "\\%c", *text);
		else
			nd_str_addc(out, *text, 1);
	}
}

/* ":TIME:" and what to offer behind it. */
static void zsh_value(const struct nd_opt *row, struct nd_str *out)
{
	if (!nd_opt_has_value(row))
		return;
	nd_str_add(out, row->optional ? "::" : ":");
	zsh_text(out, nd_opt_metavar(row));
	nd_str_add(out, ":");
	if (is_file(row))
		nd_str_add(out, "_files");
	if (is_iface(row->metavar))
		nd_str_add(out, "_net_interfaces");
	if (!has_names(row))
		return;
	nd_str_add(out, "(");
	add_names(row, out);
	nd_str_add(out, ")");
}

/* '(-t --time)'{-t+,--time=}'[help]:TIME:' */
static void zsh_row(const struct nd_opt *row, struct nd_str *out)
{
	bool repeated = row->type == ND_OPT_LIST, both = row->letter && row->name;
	const char *short_tail = "", *long_tail = "";

	if (nd_opt_has_value(row)) {
		short_tail = row->optional ? "-" : "+";
		long_tail = row->optional ? "=-" : "=";
	}
	nd_str_add(out, " \\\n\t\t");
	if (repeated)
		nd_str_add(out, "'*'");
	else if (both)
		nd_str_addf(out, "'(-%c --%s)'", row->letter, row->name);
	if (both)
		nd_str_addf(out, "{-%c%s,--%s%s}", row->letter, short_tail, row->name, long_tail);
	else if (row->name)
		nd_str_addf(out, "--%s%s", row->name, long_tail);
	else
		nd_str_addf(out, "-%c%s", row->letter, short_tail);
	nd_str_add(out, "'[");
	zsh_text(out, row->help);
	nd_str_add(out, "]");
	zsh_value(row, out);
	nd_str_add(out, "'");
}

void nd_opt_zsh(const struct nd_opt_set *set, const char *verb, struct nd_str *out)
{
	struct nd_opt_walk w = { .set = set };
	const struct nd_opt *row;

	nd_str_addf(out, "_netdyno_%s() {\n\t_arguments -s -S", verb);
	while ((row = nd_opt_next(&w)))
		if (!row->hidden)
			zsh_row(row, out);
	if (set->first)
		nd_str_addf(out, " \\\n\t\t'1: :(%s)'", set->first);
	if (set->max_operands) {
		nd_str_add(out, " \\\n\t\t'*:");
		zsh_text(out, set->operands);
		nd_str_addf(out, ":%s'", is_iface(set->operands) ? "_net_interfaces" : "_hosts");
	}
	nd_str_add(out, "\n}\n");
}
