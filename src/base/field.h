/* SPDX-License-Identifier: MIT */
/*
 * Rows that describe the members of a struct once: key, type, unit, place. The same rows carry the
 * struct over a control connection, print it in each report format, and document it.
 */
#ifndef ND_BASE_FIELD_H
#define ND_BASE_FIELD_H

#include "base/arena.h"
#include "base/base.h"

enum nd_type {
	ND_T_U64,   /* uint64_t; ND_UNKNOWN is null */
	ND_T_I64,   /* int64_t; INT64_MIN is null */
	ND_T_F64,   /* double; NAN is null */
	ND_T_BOOL,  /* bool */
	ND_T_STR,   /* const char *, NULL is null */
	ND_T_ENUM,  /* an enum (int sized); names in .names */
	ND_T_STRV,  /* struct nd_strv */
	ND_T_GROUP, /* an embedded struct described by .table */
	ND_T_OPT,   /* pointer to one struct described by .table, NULL is null */
	ND_T_LIST,  /* struct nd_list of structs described by .table */
	ND_T_MAX
};

/* What a number counts; decides scaling and the words behind it in text. */
enum nd_measure {
	ND_M_NONE,
	ND_M_BYTES,
	ND_M_BITRATE, /* bit/s */
	ND_M_COUNT,
	ND_M_RATE, /* 1/s */
	ND_M_NS,
	ND_M_US,
	ND_M_MS,
	ND_M_S,
	ND_M_RATIO,   /* 0..1, printed as % in text */
	ND_M_PERCENT, /* 0..100 */
	ND_M_CPU_S_PER_GB,
	ND_M_CYCLES_PER_BYTE,
	ND_M_CORES,
	ND_M_MHZ,
	ND_M_MAX
};

enum nd_show {
	ND_SHOW_KEY = 1 << 0,     /* text: a headline figure, always shown when known */
	ND_SHOW_TEXT = 1 << 1,    /* text: shown when known */
	ND_SHOW_NONZERO = 1 << 2, /* text: shown when known and not zero */
	ND_SHOW_COLUMN = 1 << 3,  /* text: a column of the list's table; csv: a column */
	ND_HIDE_PEER = 1 << 4,    /* local bookkeeping: never sent to a peer nor printed */
	ND_NOT_REPORT = 1 << 5,   /* travels between ends, not part of a report */
	ND_NOT_WIRE = 1 << 6,     /* derived: printed, not sent */
};

struct nd_list {
	void *v; /* items, in an arena */
	uint64_t n;
};

struct nd_table;

struct nd_field {
	const char *key;   /* stable for ever; JSON key, XML element, CSV column */
	const char *label; /* words in the text report; NULL: key with blanks */
	const char *help;  /* one sentence for doc/results.md and the schema */
	enum nd_type type;
	enum nd_measure measure;
	unsigned show; /* enum nd_show bits */
	uint32_t offset;
	const char *const *names;     /* ND_T_ENUM: NULL-terminated */
	const struct nd_table *table; /* GROUP, OPT, LIST */
};

/* Members end with a row whose key is NULL. columns: lists of it travel key by key. */
struct nd_table {
	const char *name; /* for documentation and XML list items */
	size_t size;
	const struct nd_field *rows;
	bool columns; /* only numbers, bools and strings inside */
};

/* NOLINTNEXTLINE(bugprone-macro-parentheses): @row is declared here */
#define nd_row_for_each(row, tab) for (const struct nd_field *row = (tab)->rows; row->key; row++)

static inline const void *nd_field_at(const void *base, const struct nd_field *f)
{
	return (const char *)base + f->offset;
}

static inline void *nd_field_in(void *base, const struct nd_field *f)
{
	return (char *)base + f->offset;
}

/** nd_table_unknown() - set every number of the struct to "unknown", strings and
 * optional structs to NULL, lists to empty, bools to false, enums to 0. Groups are walked. */
void nd_table_unknown(const struct nd_table *table, void *base);

/** nd_list_new() - a list of @n zeroed items in @a. -ENOMEM, -EOVERFLOW. */
ND_MUST_CHECK int nd_list_new(struct nd_arena *a, struct nd_list *list, uint64_t n, size_t size);

/** nd_enum_find() - index of @name in a NULL-terminated list, or -ENOENT. */
int nd_enum_find(const char *const *names, const char *name);

/* Row writers for tables of fields; fence them with clang-format off. */
/* clang-format off */
/* NOLINTNEXTLINE(readability-identifier-naming): for the writers below only */
#define ND_ROW_(T, S, f, ty, me, sh, la, he)                                                       \
	{ .key = #f, .label = (la), .help = (he), .type = (ty), .measure = (me), .show = (sh),     \
	  .offset = (uint32_t)ND_FIELD_OF(T, S, f) }
#define ND_U64(S, f, me, sh, la, he)  ND_ROW_(uint64_t, S, f, ND_T_U64, me, sh, la, he)
#define ND_I64(S, f, me, sh, la, he)  ND_ROW_(int64_t, S, f, ND_T_I64, me, sh, la, he)
#define ND_F64(S, f, me, sh, la, he)  ND_ROW_(double, S, f, ND_T_F64, me, sh, la, he)
#define ND_BOOL(S, f, sh, la, he)     ND_ROW_(bool, S, f, ND_T_BOOL, ND_M_NONE, sh, la, he)
#define ND_STR(S, f, sh, la, he)      ND_ROW_(const char *, S, f, ND_T_STR, ND_M_NONE, sh, la, he)
#define ND_STRV(S, f, sh, la, he)     ND_ROW_(struct nd_strv, S, f, ND_T_STRV, ND_M_NONE, sh, la, he)
#define ND_ENUM(T, S, f, sh, la, he, nm)                                                           \
	{ .key = #f, .label = (la), .help = (he), .type = ND_T_ENUM, .show = (sh), .names = (nm),  \
	  .offset = (uint32_t)ND_FIELD_OF(T, S, f) }
#define ND_GROUP(T, S, f, sh, la, he, tb)                                                          \
	{ .key = #f, .label = (la), .help = (he), .type = ND_T_GROUP, .show = (sh), .table = (tb), \
	  .offset = (uint32_t)ND_FIELD_OF(T, S, f) }
#define ND_OPTGROUP(T, S, f, sh, la, he, tb)                                                       \
	{ .key = #f, .label = (la), .help = (he), .type = ND_T_OPT, .show = (sh), .table = (tb),   \
	  .offset = (uint32_t)ND_FIELD_OF(T *, S, f) } /* NOLINT(bugprone-macro-parentheses): a type */
#define ND_LIST(S, f, sh, la, he, tb)                                                              \
	{ .key = #f, .label = (la), .help = (he), .type = ND_T_LIST, .show = (sh), .table = (tb),  \
	  .offset = (uint32_t)ND_FIELD_OF(struct nd_list, S, f) }
#define ND_ROWS_END { .key = NULL }
/* clang-format on */

#endif
