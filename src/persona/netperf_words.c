/* SPDX-License-Identifier: MIT */
/*
 * netperf's words, before rows are looked at: options before "--" are the program's, those behind are the test's, and
 * the same letters mean different things. Some options look at the next word before they take it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "persona/netperf.h"

struct walk {
	const struct nd_opt_set *set;
	struct nd_words *w;
	char **out;
	int at, n;
	bool lenient;      /* what is unknown is told and left out */
	bool is_cut;       /* the last option lacks its value */
	const char *stray; /* the first word that is no option */
};

static const struct nd_opt *find_letter(const struct nd_opt_set *set, char letter)
{
	const struct nd_opt *const *array, *row;

	for (array = set->rows; *array; array++)
		for (row = *array; row->letter || row->name; row++)
			if (row->letter == letter)
				return row;
	return NULL;
}

static const struct nd_opt *find_name(const struct nd_opt_set *set, const char *name)
{
	const struct nd_opt *const *array, *row;

	for (array = set->rows; *array; array++)
		for (row = *array; row->letter || row->name; row++)
			if (row->name && !strcmp(row->name, name))
				return row;
	return NULL;
}

/* "-x" and, when there is one, the value in the same word. */
static int push(struct walk *k, char letter, const char *value)
{
	size_t size = strlen(value) + 3;
	char *word = nd_arena_alloc(&k->w->plan->arena, size, 1);

	if (!word)
		return -ENOMEM;
	(void)snprintf(word, size, "-%c%s", letter, value); /* fits */
	k->out[k->n++] = word;
	return 0;
}

static char *next_word(const struct walk *k)
{
	return k->at < k->w->argc ? k->w->argv[k->at] : NULL;
}

/* A value that may be missing: a number where the row speaks of a rate, else all that is no option. */
static bool fits_optional(const struct nd_opt *row, const char *word)
{
	if (row->parse == nd_np_parse_rate)
		return *word >= '0' && *word <= '9';
	return *word && nd_persona_dashes(word, NULL) == word;
}

static int take_optional(struct walk *k, const struct nd_opt *row, const char *rest, bool *ret_used)
{
	char *next = next_word(k);

	*ret_used = *rest && fits_optional(row, rest);
	if (*ret_used)
		return push(k, row->letter, rest);
	if (!*rest && next && fits_optional(row, next)) {
		k->at++;
		return push(k, row->letter, next);
	}
	return push(k, row->letter, "");
}

/* @rest: of the word, behind the letter. */
static int take_value(struct walk *k, const struct nd_opt *row, const char *rest)
{
	char *next = next_word(k);
	int r;

	if (!*rest && !next && k->lenient) {
		nd_log(ND_LOG_WARN, "option '-%c' of the test has no value, it is ignored",
		       row->letter);
		return 0;
	}
	k->is_cut = !*rest && !next;
	if (*rest || !next)
		return push(k, row->letter, rest);
	k->at++;
	r = push(k, row->letter, next);
	if (r == 0 && !*next)
		k->out[k->n++] = next;
	return r;
}

static int take_letters(struct walk *k, const char *letters)
{
	bool used = false;
	int r = 0;

	for (; r == 0 && *letters && !used; letters++) {
		const struct nd_opt *row = find_letter(k->set, *letters);

		if (!row && k->lenient)
			nd_log(ND_LOG_WARN, "unknown option '-%c' of the test is ignored",
			       *letters);
		else if (!row || row->type == ND_OPT_FLAG)
			r = push(k, *letters, "");
		else if (row->optional)
			r = take_optional(k, row, letters + 1, &used);
		else
			r = take_value(k, row, letters + 1), used = true;
	}
	return r;
}

/* Long options are this program's own. */
static void take_long(struct walk *k, char *word, const char *name)
{
	const struct nd_opt *row = find_name(k->set, name);

	if (k->lenient) {
		nd_log(ND_LOG_WARN, "unknown option '%.80s' of the test is ignored", word);
		return;
	}
	k->out[k->n++] = word;
	if (row && row->type != ND_OPT_FLAG && !row->optional && next_word(k))
		k->out[k->n++] = k->w->argv[k->at++];
}

/* Until "--" or the end; words that are no options have no meaning. */
static int walk(struct walk *k)
{
	int r = 0;

	while (r == 0 && k->at < k->w->argc) {
		char *word = k->w->argv[k->at++];
		unsigned dashes;
		const char *name = nd_persona_dashes(word, &dashes);

		if (!*name && (dashes == 2 || (dashes == 1 && word[1])))
			return 0; /* a text processor makes one long dash of two */
		if (dashes == 1)
			r = take_letters(k, name);
		else if (dashes > 1)
			take_long(k, word, name);
		else if (*word && !k->stray)
			k->stray = word;
	}
	return r;
}

static size_t room_for(const struct nd_words *w)
{
	size_t room = 4;

	for (int i = 0; i < w->argc; i++)
		room += strlen(w->argv[i]) + 2;
	return room;
}

/* The last -t of the words so far. */
static const struct nd_opt_set *test_set(const struct walk *k)
{
	const char *name = "TCP_STREAM";

	for (int i = 1; i < k->n; i++)
		if (!strncmp(k->out[i], "-t", 2))
			name = k->out[i] + 2;
	return nd_netperf_is_old(nd_netperf_test_find(name)) ? &nd_netperf_old_set
							     : &nd_netperf_test_set;
}

/* "netperf HOST" measures this machine: worth a word. */
static void say_stray(const struct walk *k)
{
	for (int i = 1; i < k->n; i++)
		if (!strncmp(k->out[i], "-H", 2))
			return;
	if (k->stray)
		nd_log(ND_LOG_WARN, "'%.80s' is ignored: -H names the host", k->stray);
}

int nd_netperf_words(struct nd_words *w)
{
	char *separator = nd_arena_alloc(&w->plan->arena, 1, sizeof("--"));
	struct walk k = { .set = &nd_netperf_set, .w = w, .at = 1 };
	int r;

	k.out = nd_arena_alloc(&w->plan->arena, room_for(w), sizeof(*k.out));
	if (!k.out || !separator)
		return -ENOMEM;
	memcpy(separator, "--", sizeof("--"));
	k.out[k.n++] = w->argv[0];
	r = walk(&k);
	say_stray(&k);
	if (r == 0 && !k.is_cut) {
		k.set = test_set(&k);
		k.lenient = true;
		k.out[k.n++] = separator;
		r = walk(&k);
	}
	w->argv = k.out;
	w->argc = k.n;
	return r;
}

bool nd_netperf_asks(const struct nd_words *w, char letter, bool behind)
{
	bool is_behind = false;

	for (int i = 1; i < w->argc; i++) {
		const char *word = w->argv[i];

		if (!strcmp(word, "--"))
			is_behind = true;
		else if (word[0] == '-' && word[1] == letter && !word[2] && is_behind == behind)
			return true;
	}
	return false;
}
