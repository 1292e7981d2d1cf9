/* SPDX-License-Identifier: MIT */
/*
 * Command-line faces: which words a user may type and the plan they mean. No loop, no socket.
 * To add a face: src/persona/x.c with a const struct nd_persona, one row in personas.def.
 * A tool whose grammar follows from its words chooses the face itself, see struct nd_words.
 */
#ifndef ND_PERSONA_PERSONA_H
#define ND_PERSONA_PERSONA_H

#include "opt/opt.h"
#include "plan/plan.h"

/* One verb of a face: its options and what they make of the plan. */
struct nd_face {
	const char *verb;      /* "stream"; NULL: the persona has no verbs */
	struct nd_exits exits; /* copied into the plan; settle may change them there */
	enum nd_verb plan_verb;
	bool usage_on_stderr; /* where -h goes */
	bool is_local;        /* looks at this machine: there is no test to derive and to judge */
	const struct nd_opt_set *set;
	/* What the rows write into, made in the plan's arena (NULL: no memory). No function: the plan. */
	void *(*target)(struct nd_plan *plan);
	/* What rows cannot express; operands are put in place here. 0 or -EINVAL with a sentence. */
	int (*settle)(struct nd_plan *plan, void *target, const struct nd_strv *operands,
		      struct nd_err *err);
};

/* A command line that is looked at before any row is. */
struct nd_words {
	const char *called; /* link name, or first word of ours */
	int argc;           /* may be replaced with .argv: memory of the plan's arena */
	char **argv;
	struct nd_plan *plan;
	struct nd_str *out; /* ND_NEXT_PRINT */
};

struct nd_persona {
	const char *name, *help;  /* also the link name */
	const char *const *links; /* further names of the same kind, ends with NULL; NULL: none */
	const struct nd_face *faces; /* ends with .set NULL */
	const char *dialect;         /* default */
	/* Which face reads these words: ND_NEXT_RUN with *ret, ND_NEXT_PRINT, or -EINVAL with a sentence. No
	 * function: the verb says it. */
	int (*choose)(struct nd_words *w, const struct nd_face **ret, struct nd_err *err);
};

const struct nd_persona *nd_persona_at(size_t n);
/** nd_persona_find() - by its name or one of its links. */
const struct nd_persona *nd_persona_find(const char *name);

/* What main does next. */
enum nd_persona_next {
	ND_NEXT_RUN,
	ND_NEXT_PRINT,      /* out, exit plan->exits.help */
	ND_NEXT_USAGE,      /* the same, but to standard error */
	ND_NEXT_SCHEMA,     /* print nd_result_schema() */
	ND_NEXT_RESULT_DOC, /* print nd_result_doc() */
};

/** nd_persona_read() - argv to plan: link name or first word picks persona and verb, options are parsed,
 * the plan derived and checked, the log level set. @out gets help, version or generated text when asked for.
 * @plan: initialised here, whatever is returned; the caller ends it with nd_plan_done().
 * Return: enum nd_persona_next, or -EINVAL with one sentence (exit code plan->exits.usage, or 2); @out may then hold an
 * overview for stderr, to be printed before the sentence. */
int nd_persona_read(int argc, char **argv, struct nd_plan *plan, struct nd_str *out,
		    struct nd_err *err);

#endif
