/* SPDX-License-Identifier: MIT */
/* A command line, cut at NUL, read by every grammar with the rows of every verb, and by other tools' faces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "persona/persona.h"

#define MAX_WORDS 32

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static void read_words(const struct nd_face *face, enum nd_grammar grammar, int argc, char **argv)
{
	struct nd_opt_set set = *face->set;
	struct nd_strv operands = { 0 };
	struct nd_err err = { 0 };
	struct nd_plan plan;
	void *target;
	int r;

	set.grammar = grammar;
	nd_plan_init(&plan);
	target = face->target ? face->target(&plan) : &plan;
	check(target != NULL);
	check(nd_opt_defaults(&set, target, &plan.arena, &err) == 0);
	r = nd_opt_parse(&set, argc, argv, target, &plan.arena, &operands, &err);
	check(r >= 0 || (r == -EINVAL && err.text[0]));
	if (r == 0) {
		plan.verb = face->plan_verb;
		r = face->settle(&plan, target, &operands, &err);
		if (r == 0)
			r = nd_plan_derive(&plan, &err);
		if (r == 0)
			r = nd_plan_check(&plan, &err);
		check(r == 0 || (r == -EINVAL && err.text[0]));
	}
	nd_plan_done(&plan);
}

/* Another tool's face, which looks at the words first. */
static void read_tool(const struct nd_persona *p, int argc, char **argv)
{
	char *words[MAX_WORDS + 1], name[16] = { 0 };
	struct nd_err err = { 0 };
	struct nd_str out = { 0 };
	struct nd_plan plan;
	int r;

	memcpy(words, argv, (size_t)argc * sizeof(*words)); /* choose() may move them */
	memcpy(name, p->name, strnlen(p->name, sizeof(name) - 1));
	words[0] = name;
	r = nd_persona_read(argc, words, &plan, &out, &err);
	check(r >= 0 || (r == -EINVAL && err.text[0]));
	nd_plan_done(&plan);
	nd_str_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1), *p, *argv[MAX_WORDS + 1] = { copy };
	const struct nd_persona *tool;
	const struct nd_face *f;
	int argc = 1, g;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	for (p = copy; p < copy + size && argc < MAX_WORDS; p += strlen(p) + 1)
		argv[argc++] = p;
	for (f = nd_persona_at(0)->faces; f->set; f++)
		for (g = ND_GRAMMAR_GNU; g <= ND_GRAMMAR_SOCKPERF; g++)
			read_words(f, (enum nd_grammar)g, argc, argv);
	for (size_t n = 1; (tool = nd_persona_at(n)); n++)
		read_tool(tool, argc, argv);
	free(copy);
	return 0;
}
