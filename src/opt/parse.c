/* SPDX-License-Identifier: MIT */
/* argv to rows, by the grammar of the set. Values are stored by value.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "opt/int.h"

#define WORD_MAX 48 /* longer words get no suggestion */

struct reader {
	const struct nd_opt_set *set;
	struct nd_opt_ctx ctx;
	char **argv;
	int argc, at; /* next word */
	struct nd_strv *operands;
	bool ended; /* "--" was read */
};

/* ---- words */

/* Bytes of a Unicode dash at @p (U+2010..U+2015, U+2212); 0: none. */
static size_t unicode_dash(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	if (u[0] != 0xe2)
		return 0;
	if (u[1] == 0x80 && u[2] >= 0x90 && u[2] <= 0x95)
		return 3;
	return u[1] == 0x88 && u[2] == 0x92 ? 3 : 0;
}

static bool has_long(const struct nd_opt_set *set, const char *name, size_t n)
{
	struct nd_opt_walk w = { .set = set };
	const struct nd_opt *row;

	while ((row = nd_opt_next(&w)))
		if (row->name && strlen(row->name) == n && !strncmp(row->name, name, n))
			return true;
	return false;
}

/*
 * The word with plain dashes in front; the word itself when it has them already. A text processor makes
 * one long dash of "--", so one dash before the whole name of a long option counts as two.
 */
static const char *plain_dashes(struct reader *rd, const char *word)
{
	const char *p = word;
	size_t dashes = 0, n;
	bool found = false;

	for (; *p == '-' || unicode_dash(p); dashes++) {
		found = found || *p != '-';
		p += *p == '-' ? 1 : unicode_dash(p);
	}
	if (!found)
		return word;
	n = strcspn(p, "=");
	if (dashes == 1 && n > 1 && rd->set->grammar == ND_GRAMMAR_GNU && has_long(rd->set, p, n))
		dashes = 2;
	return nd_arena_printf(rd->ctx.arena, "%.*s%s", (int)ND_MIN(dashes, 3u), "---", p);
}

/* ---- names */

/* Letters apart of the first letters of two words: d[i][j] for i of @a and j of @b. */
struct apart {
	uint8_t d[WORD_MAX + 1][WORD_MAX + 1];
};

/* The cell from its neighbours: a letter changed, added, dropped, or two swapped. */
static uint8_t cell(const struct apart *t, const char *a, const char *b, size_t i, size_t j)
{
	unsigned v = t->d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

	v = ND_MIN(v, ND_MIN(t->d[i - 1][j], t->d[i][j - 1]) + 1u);
	if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
		v = ND_MIN(v, t->d[i - 2][j - 2] + 1u);
	return (uint8_t)v;
}

static unsigned distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b), i, j;
	struct apart t;

	if (na > WORD_MAX || nb > WORD_MAX)
		return UINT32_MAX;
	for (i = 0; i <= na; i++)
		t.d[i][0] = (uint8_t)i;
	for (j = 0; j <= nb; j++)
		t.d[0][j] = (uint8_t)j;
	for (i = 1; i <= na; i++)
		for (j = 1; j <= nb; j++)
			t.d[i][j] = cell(&t, a, b, i, j);
	return t.d[na][nb];
}

bool nd_opt_near(const char *typed, const char *name, unsigned *best)
{
	size_t n = strlen(typed);
	unsigned d = n > 1 && !strncmp(typed, name, n) && name[n] ? 1 : distance(typed, name);

	if (d >= *best || d > 1 + n / 5)
		return false;
	*best = d;
	return true;
}

/* Where all options are told. Windows' tool has no such question. */
static const char *pointer(const struct reader *rd)
{
	if (rd->set->grammar == ND_GRAMMAR_WINDOWS)
		return "";
	return nd_arena_printf(rd->ctx.arena, "; see %s --help", rd->set->prog) ?: "";
}

/* @name: what was typed behind the dashes. */
static int unknown(const struct reader *rd, const char *typed, const char *name)
{
	const char *dashes = rd->set->grammar == ND_GRAMMAR_WINDOWS ? "-" : "--", *best = NULL;
	struct nd_opt_walk w = { .set = rd->set };
	unsigned apart = UINT32_MAX;
	const struct nd_opt *row;

	while ((row = nd_opt_next(&w)))
		if (!row->hidden && row->name && nd_opt_near(name, row->name, &apart))
			best = row->name;
	if (best)
		return nd_fail(rd->ctx.err, -EINVAL, "unknown option '%.80s'; did you mean '%s%s'?",
			       typed, dashes, best);
	return nd_fail(rd->ctx.err, -EINVAL, "unknown option '%.80s'%s", typed, pointer(rd));
}

static const struct nd_opt *find_letter(const struct reader *rd, char c)
{
	struct nd_opt_walk w = { .set = rd->set };
	const struct nd_opt *row;

	while ((row = nd_opt_next(&w)))
		if (row->letter == c)
			return row;
	return NULL;
}

static const struct nd_opt *find_name(const struct reader *rd, const char *name)
{
	int (*compare)(const char *, const char *) =
		rd->set->grammar == ND_GRAMMAR_WINDOWS ? strcasecmp : strcmp;
	struct nd_opt_walk w = { .set = rd->set };
	const struct nd_opt *row;

	while ((row = nd_opt_next(&w)))
		if ((row->name && !compare(row->name, name)) ||
		    (row->alias && !compare(row->alias, name)))
			return row;
	return NULL;
}

/* The one row whose name begins so. NULL with @rd's err set. */
static const struct nd_opt *find_abbreviated(const struct reader *rd, const char *name)
{
	struct nd_opt_walk w = { .set = rd->set };
	const struct nd_opt *row, *found = NULL;
	nd_auto_str names = { 0 };
	size_t n = strlen(name), count = 0;
	char typed[88];

	while (n && (row = nd_opt_next(&w))) {
		if (row->hidden || !row->name || strncmp(row->name, name, n) != 0)
			continue;
		found = row;
		nd_str_addf(&names, "%s--%s", count++ ? ", " : "", row->name);
	}
	if (count == 1)
		return found;
	if (count > 1)
		(void)nd_fail(rd->ctx.err, -EINVAL, "option '--%.80s' is ambiguous: %s", name,
			      nd_str_text(&names)); /* the caller returns it */
	if (count == 0) {
		(void)snprintf(typed, sizeof(typed), "--%s", name); /* a long word is cut */
		(void)unknown(rd, typed, name);                     /* the caller returns it */
	}
	return NULL;
}

/* ---- options with their values */

static bool looks_like_option(struct reader *rd, const char *word)
{
	const char *plain = plain_dashes(rd, word);

	return plain && plain[0] == '-' && plain[1];
}

static int store(struct reader *rd, const struct nd_opt *row, const char *value)
{
	int r = nd_opt_store(row, value, &rd->ctx);

	if (r == 0 && row->set_offset)
		*(bool *)(void *)((char *)rd->ctx.target + row->set_offset) = true;
	return r;
}

/* The value that stands in the next word; NULL: there is none. */
static const char *next_value(struct reader *rd, const struct nd_opt *row)
{
	bool picky = rd->set->grammar == ND_GRAMMAR_SOCKPERF || row->optional;

	if (row->optional && rd->set->grammar == ND_GRAMMAR_GNU)
		return NULL; /* only attached */
	if (rd->at >= rd->argc || (picky && looks_like_option(rd, rd->argv[rd->at])))
		return NULL;
	return rd->argv[rd->at++];
}

/* @attached: value in the same word, NULL: none. ctx.as_typed is set. Returns what was asked for, or 0. */
static int take(struct reader *rd, const struct nd_opt *row, const char *attached)
{
	const char *typed = rd->ctx.as_typed, *value = attached;
	int r;

	if (!typed)
		return nd_fail(rd->ctx.err, -ENOMEM, "out of memory");
	if (!nd_opt_has_value(row)) {
		if (attached)
			return nd_fail(rd->ctx.err, -EINVAL, "%s takes no value", typed);
		return nd_opt_asks(row) ? nd_opt_asks(row) : store(rd, row, NULL);
	}
	if (!value)
		value = next_value(rd, row);
	if (!value)
		value = row->optional;
	if (!value)
		return nd_fail(rd->ctx.err, -EINVAL, "%s needs a value: %s", typed,
			       nd_opt_metavar(row));
	r = store(rd, row, value);
	while (r == 0 && rd->set->grammar == ND_GRAMMAR_WINDOWS && row->type == ND_OPT_LIST &&
	       rd->at < rd->argc && !looks_like_option(rd, rd->argv[rd->at]))
		r = store(rd, row, rd->argv[rd->at++]);
	return r;
}

/* --name, --name=value; @word is behind the dashes. */
static int read_long(struct reader *rd, const char *word)
{
	const char *equals = strchr(word, '=');
	const char *name =
		nd_arena_dupn(rd->ctx.arena, word, equals ? (size_t)(equals - word) : strlen(word));
	const struct nd_opt *row;

	if (!name)
		return nd_fail(rd->ctx.err, -ENOMEM, "out of memory");
	row = find_name(rd, name);
	if (!row && rd->set->grammar == ND_GRAMMAR_SOCKPERF)
		return unknown(rd, nd_arena_printf(rd->ctx.arena, "--%.80s", name), name);
	if (!row)
		row = find_abbreviated(rd, name);
	if (!row)
		return -EINVAL;
	rd->ctx.as_typed = nd_arena_printf(rd->ctx.arena, "--%s", row->name ? row->name : name);
	return take(rd, row, equals ? equals + 1 : NULL);
}

static int unknown_letter(const struct reader *rd, const char *word, char c)
{
	size_t n = strcspn(word + 1, "=");

	if (c < '!' || c > '~')
		return nd_fail(rd->ctx.err, -EINVAL, "unknown option '%.80s'%s", word, pointer(rd));
	if (has_long(rd->set, word + 1, n))
		return nd_fail(rd->ctx.err, -EINVAL,
			       "unknown option '%.80s'; did you mean '-%.80s'?", word, word);
	return nd_fail(rd->ctx.err, -EINVAL, "unknown option '-%c'%s%.80s%s%s", c,
		       word[2] ? " in '" : "", word[2] ? word : "", word[2] ? "'" : "",
		       pointer(rd));
}

/* -x, -x5, -xyz for flags; @word with its dash. */
static int read_letters(struct reader *rd, const char *word)
{
	const char *p;
	int r;

	for (p = word + 1; *p; p++) {
		const struct nd_opt *row = find_letter(rd, *p);

		if (!row)
			return unknown_letter(rd, word, *p);
		rd->ctx.as_typed = nd_arena_printf(rd->ctx.arena, "-%c", *p);
		if (!nd_opt_has_value(row)) {
			r = take(rd, row, NULL);
			if (r)
				return r;
			continue;
		}
		r = take(rd, row, p[1] ? p + 1 : NULL);
		if (r == -EINVAL || r == -ERANGE) {
			size_t n = strcspn(word + 1, "=");

			/* -time 5 is read as -t ime */
			if (n > 1 && has_long(rd->set, word + 1, n))
				return nd_fail(rd->ctx.err, r,
					       "unknown option '%.80s'; did you mean '-%.80s'?",
					       word, word);
		}
		return r;
	}
	return 0;
}

/* -x, -x5, -x=5: no clusters. */
static int read_sockperf(struct reader *rd, const char *word)
{
	const struct nd_opt *row = find_letter(rd, word[1]);
	const char *value = word[2] == '=' ? word + 3 : word + 2;

	if (!row)
		return unknown_letter(rd, word, word[1]);
	rd->ctx.as_typed = nd_arena_printf(rd->ctx.arena, "-%c", word[1]);
	return take(rd, row, word[2] ? value : NULL);
}

static int read_windows(struct reader *rd, const char *word)
{
	const struct nd_opt *row = find_name(rd, word + 1);
	char c = word[1];

	if (!row && !word[2]) {
		row = find_letter(rd, c);
		if (!row && c >= 'A' && c <= 'Z')
			row = find_letter(rd, (char)(c - 'A' + 'a'));
		else if (!row && c >= 'a' && c <= 'z')
			row = find_letter(rd, (char)(c - 'a' + 'A'));
	}
	if (!row)
		return unknown(rd, word, word + 1);
	rd->ctx.as_typed = nd_arena_printf(rd->ctx.arena, "%s", word);
	return take(rd, row, NULL);
}

static int read_option(struct reader *rd, const char *word)
{
	bool two = word[1] == '-';

	if (rd->set->grammar == ND_GRAMMAR_WINDOWS)
		return read_windows(rd, word);
	if (two && word[2])
		return read_long(rd, word + 2);
	if (two && rd->set->grammar == ND_GRAMMAR_SOCKPERF)
		return unknown(rd, word, "");
	if (two) {
		rd->ended = true;
		return 0;
	}
	if (rd->set->grammar == ND_GRAMMAR_SOCKPERF)
		return read_sockperf(rd, word);
	return read_letters(rd, word);
}

static int count_operands(const struct reader *rd)
{
	const struct nd_opt_set *set = rd->set;
	const char *verb = strchr(set->prog, ' '); /* the program's name stands in front anyway */

	verb = verb ? verb + 1 : set->prog;
	if (rd->operands->n < set->min_operands)
		return nd_fail(rd->ctx.err, -EINVAL, "%s: %s is missing", verb, set->operands);
	if (rd->operands->n > set->max_operands)
		return nd_fail(rd->ctx.err, -EINVAL, "%s: '%.80s' is one word too many", verb,
			       rd->operands->v[set->max_operands]);
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): argv, where it goes, and two outputs */
int nd_opt_parse(const struct nd_opt_set *set, int argc, char **argv, void *target,
		 struct nd_arena *arena, struct nd_strv *operands, struct nd_err *err)
{
	struct reader rd = { .set = set,
			     .ctx = { .target = target, .arena = arena, .err = err },
			     .argv = argv,
			     .argc = argc,
			     .at = 1,
			     .operands = operands };
	const char *word;
	int r = 0;

	while (r == 0 && rd.at < argc) {
		word = rd.ended ? argv[rd.at] : plain_dashes(&rd, argv[rd.at]);
		if (!word)
			return nd_fail(err, -ENOMEM, "out of memory");
		rd.at++;
		if (!rd.ended && word[0] == '-' && word[1])
			r = read_option(&rd, word);
		else if (nd_strv_add(arena, operands, word) < 0)
			r = nd_fail(err, -ENOMEM, "out of memory");
	}
	if (r == 0)
		r = count_operands(&rd);
	return r < 0 && r != -ENOMEM ? -EINVAL : r;
}
