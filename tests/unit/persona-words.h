/* SPDX-License-Identifier: MIT */
/* A command line as tests write it down, in words. */
#ifndef ND_TESTS_PERSONA_WORDS_H
#define ND_TESTS_PERSONA_WORDS_H

#include <stdio.h>
#include <string.h>

#include "persona/persona.h"

#define WORDS_MAX 48

struct words {
	char text[2048];
	char *v[WORDS_MAX + 1]; /* in .text; NULL behind the last */
	int n;
};

/* @prog: the first words, or "" when they are in @text. A blank ends a word, ~ is a blank inside one. */
static inline void words_set(struct words *w, const char *prog, const char *text)
{
	int len =
		snprintf(w->text, sizeof(w->text), "%s%s%s", prog, *prog && *text ? " " : "", text);
	char *p;

	assert_in_range(len, 0, sizeof(w->text) - 1);
	w->v[0] = w->text;
	w->n = 1;
	for (p = w->text; *p; p++) {
		if (*p == ' ') {
			assert_in_range(w->n, 1, WORDS_MAX - 1);
			*p = '\0';
			w->v[w->n++] = p + 1;
		} else if (*p == '~') {
			*p = ' ';
		}
	}
	w->v[w->n] = NULL;
}

/* The plan of a command line that is to be run. */
static inline void words_plan(const char *prog, const char *text, struct nd_plan *ret)
{
	struct words w;
	struct nd_err err = { 0 };
	nd_auto_str out = { 0 };

	words_set(&w, prog, text);
	if (nd_persona_read(w.n, w.v, ret, &out, &err) != ND_NEXT_RUN)
		fail_msg("%s %s: %s", prog, text, err.text);
}

#endif
