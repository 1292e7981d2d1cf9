/* SPDX-License-Identifier: MIT */
/*
 * Option rows: one row gives the parser, limits, default, --help, man section and completion.
 * To add an option: one row in the persona (or the transport) that owns it.
 *
 * The parser writes into any struct through offsets and knows none. A default is written as a user
 * would type it and goes through the same path, so a bad default fails a test.
 */
#ifndef ND_OPT_OPT_H
#define ND_OPT_OPT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/num.h"
#include "base/str.h"

enum nd_opt_type {
	ND_OPT_FLAG,   /* bool; sets true (.fixed_false: false), no value; preset "yes" or "no" */
	ND_OPT_NUMBER, /* uint64_t in .unit, limits min..max */
	ND_OPT_STRING, /* const char * */
	ND_OPT_LIST, /* struct nd_strv; repeatable, comma-separated when .commas; no preset; WINDOWS:
			* takes every following word that is no option */
	ND_OPT_ENUM,   /* const char * out of .values (a registry's names), stored as the name */
	ND_OPT_INT,    /* enum stored as int through .choices */
	ND_OPT_RATE,   /* struct nd_opt_rate: number of .unit with an optional "/flow" behind */
	ND_OPT_CUSTOM, /* .parse decides */
	ND_OPT_MAX
};

/* Where rows and values differ by grammar. */
enum nd_grammar {
	ND_GRAMMAR_GNU,      /* -t5 -t 5 --time 5 --time=5, abbreviations only if unique, -- ends */
	ND_GRAMMAR_WINDOWS,  /* -word value, case-insensitive, one dash */
	ND_GRAMMAR_SOCKPERF, /* -x=5 -x 5 --long=5 --long 5, optional values */
};

struct nd_opt_rate {
	uint64_t value; /* base unit per second; 0 means not asked */
	bool per_flow;
};

/* n-th name of a registry, NULL behind the last; *ret_help gets its one-line help. */
typedef const char *(*nd_names_fn)(size_t n, const char **ret_help);

struct nd_opt_choice {
	const char *name; /* NULL ends the list */
	int value;
	const char *help;
};

struct nd_opt;

struct nd_opt_ctx {
	void *target;           /* the struct that rows write into */
	struct nd_arena *arena; /* strings and lists */
	struct nd_err *err;
	const char *as_typed; /* "--time", for sentences */
};

struct nd_opt {
	char letter; /* 0: none */
	bool common; /* among the fifteen of -h */
	bool hidden;
	bool commas;      /* LIST: split at commas */
	bool fixed_false; /* FLAG: stores false (--no-x) */
	enum nd_opt_type type;
	enum nd_unit unit;
	uint32_t offset;      /* into the target */
	uint32_t set_offset;  /* bool that becomes true when given by the user; 0: none */
	const char *name;     /* long name without dashes, NULL: none */
	const char *alias;    /* second long name, accepted, not listed; NULL: none */
	uint64_t min, max;    /* NUMBER, RATE; max 0: no limit */
	const char *metavar;  /* "SECONDS"; NULL: from the type */
	const char *preset;   /* default as a user would type it; NULL: none */
	const char *optional; /* value when given without one; NULL: a value is needed. GNU: a value
			       * must then stand in the same word; else the next word will do. */
	const char *help;     /* one line, lower case, no full stop */
	const char *more;     /* further sentences for the man page, or NULL */
	const char *section;  /* heading in --help and man; NULL: as the row before */
	nd_names_fn values;   /* ENUM; CUSTOM: words it takes, for help and completion */
	const struct nd_opt_choice *choices; /* INT */
	int (*parse)(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx);
	/* CUSTOM returns 0 or negative errno with ctx->err set */
};

/* The face of one verb or tool. Several row arrays are read as one (transport rows follow). */
struct nd_opt_set {
	const char *prog;        /* "netdyno stream" */
	const char *operands;    /* "HOST", "[IFACE...]", "" */
	const char *first;       /* what the first operand may be: "show spread"; NULL: any */
	const char *summary;     /* one line */
	const char *description; /* paragraphs for the man page */
	const char *examples;    /* lines "command\tsentence", for man and --help; or NULL */
	enum nd_grammar grammar;
	const struct nd_opt *const *rows; /* NULL-terminated list of arrays ending in a zero row */
	unsigned min_operands, max_operands;
};

/** nd_opt_defaults() - apply every row's preset to @target. */
ND_MUST_CHECK int nd_opt_defaults(const struct nd_opt_set *set, void *target,
				  struct nd_arena *arena, struct nd_err *err);

/**
 * nd_opt_parse() - read argv[1..] into @target (defaults are not applied here).
 * @operands: gets what is not an option, in order.
 * Unicode dashes (U+2010..U+2015, U+2212) at the front of a word are read as '-'.
 * Return: 0; ND_OPT_HELP or ND_OPT_HELP_ALL or ND_OPT_VERSION when asked for; -EINVAL with one
 * sentence that names option, value and limits (unknown options get the nearest name).
 */
enum { ND_OPT_HELP = 1, ND_OPT_HELP_ALL = 2, ND_OPT_VERSION = 3 };

int nd_opt_parse(const struct nd_opt_set *set, int argc, char **argv, void *target,
		 struct nd_arena *arena, struct nd_strv *operands, struct nd_err *err);

/** nd_opt_help() - the short (common rows, one screen of 24 lines by 80) or the long help. */
void nd_opt_help(const struct nd_opt_set *set, bool all, struct nd_str *out);
/** nd_opt_man() - the option part of a man page, roff (man macros): paragraphs under .B headings. */
void nd_opt_man(const struct nd_opt_set *set, struct nd_str *out);
/** nd_opt_roff() - add @text so that roff prints it as it is. @line: it begins a line of the page. */
void nd_opt_roff(struct nd_str *out, const char *text, bool line);
/** nd_opt_near() - is @name what @typed was meant to be, and nearer than *@best (letters apart, start
 * with UINT32_MAX)? Then *@best is set. */
bool nd_opt_near(const char *typed, const char *name, unsigned *best);
/** nd_opt_bash() / nd_opt_zsh() - completion of one verb: a branch of a case over verbs that uses $prev
 * and sets $words (bash); a function _netdyno_VERB (zsh). */
void nd_opt_bash(const struct nd_opt_set *set, const char *verb, struct nd_str *out);
void nd_opt_zsh(const struct nd_opt_set *set, const char *verb, struct nd_str *out);

#endif
