/* SPDX-License-Identifier: MIT */
/* Rows of what netperf's omni output can select. To add a figure: a member of struct nd_nprep, a row there. */
#ifndef ND_REPORT_NETPERF_SELECT_H
#define ND_REPORT_NETPERF_SELECT_H

#include "report/netperf.h"

enum nd_npsel_kind {
	ND_NPSEL_COUNT,  /* int64_t */
	ND_NPSEL_REAL,   /* double */
	ND_NPSEL_HEX,    /* int64_t, 32 bits of it */
	ND_NPSEL_TEXT,   /* const char *; NULL: missing */
	ND_NPSEL_QUOTED, /* the same in double quotes */
	ND_NPSEL_ARRAY,  /* char [] */
	ND_NPSEL_WORD,   /* .word */
};

struct nd_npsel {
	const char *name, *head; /* lines of the heading, with bars between them */
	enum nd_npsel_kind kind;
	uint32_t offset; /* in struct nd_nprep */
	int places;      /* decimals */
	const char *word;
};

/** nd_npsel_at() - in their order, the first is the one without a figure. NULL: no more. */
const struct nd_npsel *nd_npsel_at(size_t n);
/** nd_npsel_find() - by name or by heading, whatever the case. NULL: there is none. */
const struct nd_npsel *nd_npsel_find(const char *text, size_t n);
/** nd_npsel_title() - the heading in one line. */
void nd_npsel_title(const struct nd_npsel *s, struct nd_str *out);
/** nd_npsel_value() - Return: false, and nothing added: it is missing. */
bool nd_npsel_value(const struct nd_npsel *s, const struct nd_nprep *f, struct nd_str *out);

#endif
