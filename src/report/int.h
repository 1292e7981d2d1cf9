/* SPDX-License-Identifier: MIT */
/* Shared inside report/: the writers, safe text, and lines that break between items. */
#ifndef ND_REPORT_INT_H
#define ND_REPORT_INT_H

#include "report/report.h"

#define ND_WRITER(name) extern const struct nd_writer nd_writer_##name;
#include "report/writers.def"
#undef ND_WRITER

#define ND_TEXT_COLUMNS 100
#define ND_TEXT_INDENT  15

/** nd_report_clean() - add @text (NULL: nothing) without what steers a terminal or ends a line. */
void nd_report_clean(struct nd_str *out, const char *text);

/** nd_report_xml_escape() - text or attribute value; what XML cannot write becomes U+FFFD. */
void nd_report_xml_escape(struct nd_str *out, const char *text);

/** nd_report_row() - the row of @key. The key must be there: it is a literal of ours. */
const struct nd_field *nd_report_row(const struct nd_table *table, const char *key);
/** nd_report_shown() - the row belongs into a report. */
bool nd_report_shown(const struct nd_field *f);

/* "  Label        item, item; item": breaks between items, nothing at all without one. */
struct nd_line {
	struct nd_str *out; /* borrowed */
	const char *label;
	unsigned indent;
	size_t at; /* columns used, 0: no item yet */
};

void nd_line_item(struct nd_line *l, const char *separator, const char *fmt, ...) ND_PRINTF(3, 4);
/** nd_line_figure() - "words figure", if it is known. @words NULL: the row's label; "": none. */
void nd_line_figure(struct nd_line *l, const char *separator, const char *words,
		    const struct nd_field *f, const void *base);
/** nd_line_figures() - every row of @table that text shows (ND_SHOW_TEXT, _NONZERO). */
void nd_line_figures(struct nd_line *l, const struct nd_table *table, const void *base);
void nd_line_end(struct nd_line *l);

/** nd_text_table() - a list as columns: rows marked ND_SHOW_COLUMN that are known somewhere. */
void nd_text_table(struct nd_str *out, const struct nd_table *table, const struct nd_list *list);

/* Parts of the text report. */
void nd_text_direction(const struct nd_report_cfg *cfg, const struct nd_result *r,
		       const struct nd_direction *d, struct nd_str *out);
/** nd_text_is_latency() - is it a test of times? */
bool nd_text_is_latency(const struct nd_result *r);
/** nd_text_latency() - @d has a latency. */
void nd_text_latency(struct nd_str *out, const struct nd_direction *d);
/** nd_text_loaded() - @r has times without and with a load. */
void nd_text_loaded(struct nd_str *out, const struct nd_result *r);
/** nd_text_unknown() - why there is no figure of the window. */
const char *nd_text_unknown(const struct nd_direction *d);
/** nd_text_is_packets() - is it a test of packets rather than bytes? */
bool nd_text_is_packets(const struct nd_result *r);
void nd_text_packets_headline(struct nd_str *out, const struct nd_direction *d);
void nd_text_packets(struct nd_str *out, const struct nd_result *r, const struct nd_direction *d);
bool nd_text_has_loss(const struct nd_direction *d);
/** nd_text_ledger() - the way of datagrams; unless @whole only the stages that lost some. */
void nd_text_ledger(struct nd_str *out, const struct nd_direction *d, bool whole);
void nd_text_search(struct nd_str *out, const struct nd_search *s);
void nd_text_group(struct nd_str *out, const struct nd_result *r);
void nd_text_machines(const struct nd_report_cfg *cfg, const struct nd_result *r,
		      struct nd_str *out);

#endif
