/* SPDX-License-Identifier: MIT */
/*
 * The words of NTttcp-for-Linux before rows are looked at: a value that may be left out can stand in the next word, and
 * several mappings behind -m are one value.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "persona/ntttcp.h"

/* Letters with a value, and those that may have one. */
#define WITH_VALUE  "mPanlpbBWtC"
#define WITH_OPTION "rsfOxj"

static bool has_dash(const char *word)
{
	return nd_persona_dashes(word, NULL) != word;
}

static bool is_mapping(const char *word)
{
	return !has_dash(word) && strchr(word, ',');
}

/* @front and @back as one word. */
static char *glue(struct nd_arena *a, const char *front, const char *between, const char *back)
{
	size_t n = strlen(front) + strlen(between) + strlen(back) + 1;
	char *word = nd_arena_alloc(a, n, 1);

	if (word)
		(void)snprintf(word, n, "%s%s%s", front, between, back); /* fits */
	return word;
}

/* The letter of a cluster that ends it: it takes what stands behind. '\0': there is none. */
static char last_letter(const char *letters, bool *ret_at_end)
{
	size_t n = strcspn(letters, WITH_VALUE WITH_OPTION);

	*ret_at_end = letters[n] && !letters[n + 1];
	return letters[n];
}

/* Long options with a value of their own; an abbreviation will do. */
static bool long_takes_next(const char *name)
{
	static const char *const names[] = { "show-nic-packets", "show-dev-interrupts",
					     "fq-rate-limit", NULL };
	size_t i, n = strlen(name);

	for (i = 0; names[i]; i++)
		if (n && !strncmp(names[i], name, n))
			return true;
	return false;
}

/* Word @i and what belongs to it as word *@n of the same array. Return: words used, or -ENOMEM. */
static int take_word(struct nd_words *w, int i, int *n)
{
	struct nd_arena *a = &w->plan->arena;
	const char *next = i + 1 < w->argc ? w->argv[i + 1] : NULL;
	unsigned dashes;
	const char *name = nd_persona_dashes(w->argv[i], &dashes);
	char *word = w->argv[i], letter = '\0';
	bool at_end = false;
	int used = 1;

	if (dashes == 1)
		letter = last_letter(name, &at_end);
	if (at_end && next && strchr(WITH_OPTION, letter) && *next && !has_dash(next)) {
		word = glue(a, "-", name, next);
		used = 2;
	}
	w->argv[(*n)++] = word;
	if (!next ||
	    !((at_end && strchr(WITH_VALUE, letter)) || (dashes == 2 && long_takes_next(name))))
		return word ? used : -ENOMEM;
	word = w->argv[i + 1];
	for (used = 2; letter == 'm' && word && i + used < w->argc && is_mapping(w->argv[i + used]);
	     used++)
		word = glue(a, word, " ", w->argv[i + used]);
	w->argv[(*n)++] = word;
	return word ? used : -ENOMEM;
}

int nd_ntttcp_linux_words(struct nd_words *w)
{
	int i, n = 1, used;

	for (i = 1; i < w->argc; i += used) {
		if (!strcmp(w->argv[i], "--")) { /* all the rest is stray */
			while (i < w->argc)
				w->argv[n++] = w->argv[i++];
			break;
		}
		used = take_word(w, i, &n);
		if (used < 0)
			return used;
	}
	w->argc = n;
	return 0;
}
