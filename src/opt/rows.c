/* SPDX-License-Identifier: MIT */
/* Walking option rows, and the words that belong to one. */
#include <stdio.h>
#include <string.h>

#include "opt/int.h"

static const char *const unit_words[ND_UNIT_MAX] = {
	[ND_UNIT_COUNT] = "N",      [ND_UNIT_OPS] = "N",        [ND_UNIT_BYTES] = "SIZE",
	[ND_UNIT_BITRATE] = "RATE", [ND_UNIT_TIME_NS] = "TIME", [ND_UNIT_PERCENT] = "PERCENT",
};

/* What every face understands; .min is what nd_opt_parse() returns. */
/* clang-format off */
static const struct nd_opt asking[] = {
	{ .letter = 'h', .min = ND_OPT_HELP, .section = "Help", .help = "show the common options" },
	{ .name = "help", .alias = "?", .min = ND_OPT_HELP_ALL, .help = "show all options", .common = true },
	{ .name = "version", .min = ND_OPT_VERSION, .help = "show the version and what is built in" },
	{ 0 }
};

/* clang-format on */

static bool is_end(const struct nd_opt *row)
{
	return !row->letter && !row->name;
}

/* A set may use the words of the rows above for its own purpose. */
static bool is_taken(const struct nd_opt_set *set, const struct nd_opt *wanted)
{
	const struct nd_opt *const *array, *row;

	for (array = set->rows; *array; array++)
		for (row = *array; !is_end(row); row++)
			if ((wanted->letter && row->letter == wanted->letter) ||
			    (wanted->name && row->name && !strcmp(row->name, wanted->name)))
				return true;
	return false;
}

const struct nd_opt *nd_opt_next(struct nd_opt_walk *w)
{
	const struct nd_opt *row;

	for (;;) {
		bool own = !w->set->rows[w->array];

		row = (own ? asking : w->set->rows[w->array]) + w->row;
		if (is_end(row) && own)
			return NULL;
		if (is_end(row)) {
			w->array++;
			w->row = 0;
			continue;
		}
		w->row++;
		if (row->section)
			w->section = row->section;
		if (!own || !is_taken(w->set, row))
			return row;
	}
}

int nd_opt_asks(const struct nd_opt *row)
{
	return row >= asking && row < asking + ND_COUNTOF(asking) ? (int)row->min : 0;
}

const char *nd_opt_label(const struct nd_opt *row, char *buf, size_t size)
{
	if (row->name)
		(void)snprintf(buf, size, "--%s", row->name); /* a long name is cut */
	else
		(void)snprintf(buf, size, "-%c", row->letter); /* fits */
	return buf;
}

bool nd_opt_has_value(const struct nd_opt *row)
{
	return row->type != ND_OPT_FLAG;
}

const char *nd_opt_metavar(const struct nd_opt *row)
{
	if (row->metavar)
		return row->metavar;
	switch (row->type) {
	case ND_OPT_NUMBER:
		return unit_words[row->unit];
	case ND_OPT_RATE:
		return row->unit == ND_UNIT_BITRATE ? "RATE[/flow]" : "N[/flow]";
	case ND_OPT_ENUM:
	case ND_OPT_INT:
		return "NAME";
	case ND_OPT_FLAG:
		return "";
	case ND_OPT_STRING:
	case ND_OPT_LIST:
	case ND_OPT_CUSTOM:
	case ND_OPT_MAX:
		break;
	}
	return "TEXT";
}

const char *nd_opt_value_at(const struct nd_opt *row, size_t n, const char **ret_help)
{
	size_t i;

	*ret_help = NULL;
	if (row->values)
		return row->values(n, ret_help);
	if (!row->choices)
		return NULL;
	for (i = 0; row->choices[i].name; i++) {
		if (i != n)
			continue;
		*ret_help = row->choices[i].help;
		return row->choices[i].name;
	}
	return NULL;
}

bool nd_opt_facts(const struct nd_opt *row, struct nd_str *out)
{
	char low[64], high[64];
	size_t before = out->len;

	if (row->preset && row->type != ND_OPT_FLAG)
		nd_str_addf(out, "default %s", row->preset);
	if ((row->type == ND_OPT_NUMBER || row->type == ND_OPT_RATE) && row->max)
		nd_str_addf(out, "%s%s..%s", out->len > before ? ", " : "",
			    nd_format_unit(row->min, row->unit, low, sizeof(low)),
			    nd_format_unit(row->max, row->unit, high, sizeof(high)));
	if (row->optional)
		nd_str_addf(out, "%salone: %s", out->len > before ? ", " : "", row->optional);
	if (row->type == ND_OPT_LIST)
		nd_str_addf(out, "%smay be repeated", out->len > before ? ", " : "");
	return out->len > before;
}
