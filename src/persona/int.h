/* SPDX-License-Identifier: MIT */
/* Private to the folder: the faces, and the documents made of their rows. */
#ifndef ND_PERSONA_INT_H
#define ND_PERSONA_INT_H

#include "persona/persona.h"

#define ND_PERSONA(name) extern const struct nd_persona nd_persona_##name;
#include "persona/personas.def"
#undef ND_PERSONA

/** nd_persona_dashes() - @word behind its dashes, plain and Unicode alike (U+2010..U+2015, U+2212).
 * @ret: how many there were; NULL is fine. */
const char *nd_persona_dashes(const char *word, unsigned *ret);
/** nd_persona_generate() - "man", "man-ntttcp", "bash", "zsh", "protocol-md" and others into @out; false: not one of ours. */
bool nd_persona_generate(const char *what, struct nd_str *out);

/** nd_persona_judge_ways() - can --tx, --rx, --engine and --wait, as typed, go together with the other words? @err: a
 * sentence that names the options. */
int nd_persona_judge_ways(const struct nd_plan *plan, bool datagram, struct nd_err *err);

/** nd_persona_judge_host() - is @host, as typed, a name or an address? @err: a sentence, which tells where a port
 * belongs. */
int nd_persona_judge_host(const char *host, struct nd_err *err);

/** nd_persona_parse_load() - the value of --load. */
int nd_persona_parse_load(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx);

/** nd_persona_settle_also() - read plan->serve.also, each as the tool would read it. -EINVAL: a sentence. */
int nd_persona_settle_also(struct nd_plan *plan, struct nd_err *err);

/* The verbs that look at this machine: rows, what they write into, and the rest. */
extern const struct nd_opt_set nd_persona_watch_set, nd_persona_irq_set, nd_persona_doctor_set;
void *nd_persona_doctor_target(struct nd_plan *plan);
int nd_persona_doctor_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			     struct nd_err *err);
void *nd_persona_watch_target(struct nd_plan *plan);
int nd_persona_watch_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			    struct nd_err *err);
void *nd_persona_irq_target(struct nd_plan *plan);
int nd_persona_irq_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			  struct nd_err *err);

/** nd_persona_man_title() - the first lines of a manual page, in roff. @gen: the name that nd_persona_generate() knows it
 * by; @name: of the page, in capitals. */
void nd_persona_man_title(const char *gen, const char *name, struct nd_str *out);
/** nd_persona_man_options() - a section of options, in roff: @title, @set's description, its rows. */
void nd_persona_man_options(const char *title, const struct nd_opt_set *set, struct nd_str *out);
/** nd_persona_man_examples() - lines "command\tsentence" in roff. */
void nd_persona_man_examples(const char *text, struct nd_str *out);

/** nd_persona_overview() - the verbs in a few lines. */
void nd_persona_overview(struct nd_str *out);

/** nd_persona_version() - version, what was built in, and the names of every registry. */
void nd_persona_version(struct nd_str *out);

#endif
