/* SPDX-License-Identifier: MIT */
/* Layout of text: labelled lines that break between items, and lists as columns. */
#include <stdarg.h>
#include <string.h>

#include "report/int.h"

#define CELL_BYTES 34 /* longer words (a peer's error text) are cut */

/* Columns of UTF-8 text: bytes that do not continue a character. */
static size_t columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void start(struct nd_line *l)
{
	size_t before = l->out->len;

	nd_str_addf(l->out, "  %s", l->label);
	l->at = l->out->len - before;
	if (l->at < l->indent) {
		nd_str_addc(l->out, ' ', l->indent - l->at);
		l->at = l->indent;
	} else {
		nd_str_addc(l->out, ' ', 1);
		l->at++;
	}
}

static void add(struct nd_line *l, const char *separator, const char *text)
{
	size_t wide = columns(text), between = strlen(separator), shown;

	if (l->at == 0) {
		start(l);
	} else if (l->at + between + wide > ND_TEXT_COLUMNS) {
		for (shown = between; shown > 0 && separator[shown - 1] == ' '; shown--)
			;
		nd_str_addn(l->out, separator, shown);
		nd_str_addc(l->out, '\n', 1);
		nd_str_addc(l->out, ' ', l->indent);
		l->at = l->indent;
	} else {
		nd_str_add(l->out, separator);
		l->at += between;
	}
	nd_str_add(l->out, text);
	l->at += wide;
}

void nd_line_item(struct nd_line *l, const char *separator, const char *fmt, ...)
{
	nd_auto_str text = { 0 };
	nd_auto_str safe = { 0 };
	va_list ap;

	va_start(ap, fmt);
	nd_str_vaddf(&text, fmt, ap);
	va_end(ap);
	nd_report_clean(&safe, nd_str_text(&text));
	l->out->failed = l->out->failed || !nd_str_ok(&text) || !nd_str_ok(&safe);
	add(l, separator, nd_str_text(&safe));
}

void nd_line_figure(struct nd_line *l, const char *separator, const char *words,
		    const struct nd_field *f, const void *base)
{
	nd_auto_str figure = { 0 };

	if (!nd_figure_known(f, base))
		return;
	if (!words)
		words = f->label ? f->label : f->key;
	nd_figure_text(&figure, f, base);
	l->out->failed = l->out->failed || !nd_str_ok(&figure);
	nd_line_item(l, separator, "%s%s%s", words, *words ? " " : "", nd_str_text(&figure));
}

void nd_line_figures(struct nd_line *l, const struct nd_table *table, const void *base)
{
	nd_row_for_each(f, table) {
		if ((f->show & (ND_SHOW_TEXT | ND_SHOW_KEY)) ||
		    ((f->show & ND_SHOW_NONZERO) && !nd_figure_zero(f, base)))
			nd_line_figure(l, ", ", NULL, f, base);
	}
}

void nd_line_end(struct nd_line *l)
{
	if (l->at > 0)
		nd_str_addc(l->out, '\n', 1);
	l->at = 0;
}

static void cell_text(struct nd_str *out, const struct nd_field *f, const void *item)
{
	nd_str_reset(out);
	if (!nd_figure_known(f, item)) {
		nd_str_add(out, f->type == ND_T_STR ? "" : "-");
		return;
	}
	nd_figure_text(out, f, item);
	if (out->len > CELL_BYTES) {
		out->len = CELL_BYTES;
		while (((unsigned char)out->data[out->len] & 0xc0) == 0x80)
			out->len--; /* not inside a character */
		out->data[out->len] = '\0';
		nd_str_add(out, "...");
	}
}

/* Widest text of a column, its heading included; 0: no item has it. */
static size_t width_of(const struct nd_field *f, const struct nd_list *list, size_t size)
{
	const char *item = list->v;
	nd_auto_str text = { 0 };
	size_t width = 0;
	uint64_t i;

	if (!(f->show & ND_SHOW_COLUMN))
		return 0;
	for (i = 0; i < list->n; i++, item += size) {
		if (!nd_figure_known(f, item))
			continue;
		cell_text(&text, f, item);
		width = ND_MAX(width, columns(nd_str_text(&text)));
	}
	return width ? ND_MAX(width, columns(f->label)) : 0;
}

/* Numbers to the right; text to the left, filled up unless it stands last. */
static void put_cell(struct nd_str *out, const struct nd_field *f, const char *text, size_t width,
		     bool is_last)
{
	size_t room = width - columns(text);

	nd_str_addc(out, ' ', 2);
	if (f->type != ND_T_STR)
		nd_str_addc(out, ' ', room);
	nd_str_add(out, text);
	if (f->type == ND_T_STR && !is_last)
		nd_str_addc(out, ' ', room);
}

#define MAX_COLUMNS 32

void nd_text_table(struct nd_str *out, const struct nd_table *table, const struct nd_list *list)
{
	const struct nd_field *column[MAX_COLUMNS];
	size_t width[MAX_COLUMNS], n = 0, k, wide;
	const char *item = list->v;
	nd_auto_str text = { 0 };
	uint64_t i;

	nd_row_for_each(f, table) {
		wide = width_of(f, list, table->size);
		if (wide == 0 || n == MAX_COLUMNS)
			continue;
		column[n] = f;
		width[n++] = wide;
	}
	for (k = 0; k < n; k++)
		put_cell(out, column[k], column[k]->label, width[k], k + 1 == n);
	nd_str_addc(out, '\n', 1);
	for (i = 0; i < list->n; i++, item += table->size) {
		for (k = 0; k < n; k++) {
			cell_text(&text, column[k], item);
			put_cell(out, column[k], nd_str_text(&text), width[k], k + 1 == n);
		}
		nd_str_addc(out, '\n', 1);
	}
}
