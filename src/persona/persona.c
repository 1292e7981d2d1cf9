/* SPDX-License-Identifier: MIT */
/* From argv to a checked plan: which face, which verb, what was asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "persona/int.h"

#define PORT_RANGE       "/proc/sys/net/ipv4/ip_local_port_range"
#define PORT_RANGE_BYTES 64

static const struct nd_persona *const personas[] = {
#define ND_PERSONA(name) &nd_persona_##name,
#include "persona/personas.def"
#undef ND_PERSONA
};

/* What may stand where the verb belongs. */
struct top {
	bool unused; /* offset 0 means "none" in a row */
	const char *generator;
};

/* clang-format off */
static const struct nd_opt top_rows[] = {
	{ .name = "gen", .type = ND_OPT_STRING, .section = "Options", .hidden = true,
	  .offset = (uint32_t)ND_FIELD_OF(const char *, struct top, generator),
	  .help = "write a document: man, man-ntttcp, man-netperf, man-netserver, man-sockperf, bash, zsh, protocol-md, schema, "
		  "results-md" },
	{ 0 }
};

/* clang-format on */

static const struct nd_opt *const top_arrays[] = { top_rows, NULL };

static const struct nd_opt_set top_set = {
	.prog = "netdyno",
	.operands = "VERB",
	.rows = top_arrays,
	.max_operands = UINT32_MAX,
};

const struct nd_persona *nd_persona_at(size_t n)
{
	return n < ND_COUNTOF(personas) ? personas[n] : NULL;
}

const struct nd_persona *nd_persona_find(const char *name)
{
	const char *const *link;
	size_t i;

	for (i = 0; i < ND_COUNTOF(personas); i++) {
		if (!strcmp(personas[i]->name, name))
			return personas[i];
		for (link = personas[i]->links; link && *link; link++)
			if (!strcmp(*link, name))
				return personas[i];
	}
	return NULL;
}

const char *nd_persona_dashes(const char *word, unsigned *ret)
{
	unsigned n = 0;

	for (;; n++) {
		const unsigned char *u = (const unsigned char *)word;

		if (*word == '-')
			word++;
		else if (u[0] == 0xe2 && ((u[1] == 0x80 && u[2] >= 0x90 && u[2] <= 0x95) ||
					  (u[1] == 0x88 && u[2] == 0x92)))
			word += 3;
		else
			break;
	}
	if (ret)
		*ret = n;
	return word;
}

static const struct nd_face *find_face(const struct nd_persona *p, const char *verb)
{
	const struct nd_face *f;

	for (f = p->faces; f->set; f++)
		if (f->verb && !strcmp(f->verb, verb))
			return f;
	return NULL;
}

/* Ports that the machine gives to one source address; the usual number when it does not say. */
static uint64_t source_ports(void)
{
	nd_auto_free char *text = NULL;
	uint64_t low = 0, high = 0;
	size_t len, n;
	const char *p;

	if (nd_read_file(PORT_RANGE, PORT_RANGE_BYTES, &text, &len, NULL) < 0)
		return ND_SOURCE_PORTS;
	n = nd_parse_prefix_u64(text, &low);
	p = text + n;
	p += strspn(p, " \t");
	if (!n || !nd_parse_prefix_u64(p, &high) || high < low)
		return ND_SOURCE_PORTS;
	return high - low + 1;
}

static void set_log(const struct nd_plan *plan)
{
	if (plan->trace_control)
		nd_log_set(ND_LOG_DEBUG);
	else
		nd_log_set(plan->out.quiet ? ND_LOG_WARN : ND_LOG_INFO);
}

/* The plan is filled: complete and judge it. */
static int finish(struct nd_plan *plan, struct nd_err *err)
{
	int r = nd_plan_derive(plan, err);

	if (r == 0)
		r = nd_plan_check(plan, err);
	if (r < 0)
		return r;
	if (nd_plan_note(plan))
		nd_log(ND_LOG_INFO, "%s", nd_plan_note(plan));
	if (nd_plan_set_up_note(plan))
		nd_log(ND_LOG_INFO, "%s", nd_plan_set_up_note(plan));
	return ND_NEXT_RUN;
}

/* @r: what the user wants to know instead. */
static int print_help(const struct nd_face *face, int r, struct nd_plan *plan, struct nd_str *out)
{
	if (r == ND_OPT_VERSION)
		nd_persona_version(out);
	else
		nd_opt_help(face->set, r == ND_OPT_HELP_ALL, out);
	if (r != ND_OPT_HELP)
		plan->exits.help = 0; /* other tools have no such question */
	return r == ND_OPT_HELP && face->usage_on_stderr ? ND_NEXT_USAGE : ND_NEXT_PRINT;
}

/* @argv[0] is the word before the options. */
static int read_face(const struct nd_face *face, int argc, char **argv, struct nd_plan *plan,
		     struct nd_str *out, struct nd_err *err)
{
	struct nd_strv operands = { 0 };
	void *target = plan;
	int r;

	plan->exits = face->exits;
	if (face->target)
		target = face->target(plan);
	if (!target)
		return nd_fail(err, -ENOMEM, "out of memory");
	r = nd_opt_defaults(face->set, target, &plan->arena, err);
	if (r == 0)
		r = nd_opt_parse(face->set, argc, argv, target, &plan->arena, &operands, err);
	if (r != 0)
		return r > 0 ? print_help(face, r, plan, out) : r;
	set_log(plan);
	plan->verb = face->plan_verb;
	plan->source_ports = source_ports();
	if (face->settle)
		r = face->settle(plan, target, &operands, err);
	if (r == 0 && face->is_local)
		return ND_NEXT_RUN;
	return r < 0 ? r : finish(plan, err);
}

/* A tool that looks at its words first. */
static int read_chosen(const struct nd_persona *p, struct nd_words *w, struct nd_err *err)
{
	const struct nd_face *face = NULL;
	int r = p->choose(w, &face, err);

	return r == ND_NEXT_RUN ? read_face(face, w->argc, w->argv, w->plan, w->out, err) : r;
}

static int unknown_verb(const struct nd_persona *p, const char *word, struct nd_err *err)
{
	const struct nd_face *f, *best = NULL;
	unsigned apart = UINT32_MAX;

	for (f = p->faces; f->set; f++)
		if (nd_opt_near(word, f->verb, &apart))
			best = f;
	if (best)
		return nd_fail(err, -EINVAL, "unknown verb '%.80s'; did you mean '%s'?", word,
			       best->verb);
	return nd_fail(err, -EINVAL, "unknown verb '%.80s'; %s --help lists them", word, p->name);
}

/* netdyno help ntttcp: as ntttcp --help. */
static int read_help_of_tool(char *tool, struct nd_plan *plan, struct nd_str *out,
			     struct nd_err *err)
{
	char help[] = "--help";
	char *argv[] = { tool, help, NULL };

	nd_plan_done(plan); /* begun anew */
	return nd_persona_read(2, argv, plan, out, err);
}

/* What netdyno help [VERB] and netdyno --help [VERB] print; @verb NULL: all verbs. */
static int read_help(char *verb, struct nd_plan *plan, struct nd_str *out, struct nd_err *err)
{
	const struct nd_persona *own = personas[0], *tool = verb ? nd_persona_find(verb) : own;
	const struct nd_face *face;

	if (!verb || tool == own || !strcmp(verb, "help")) {
		nd_persona_overview(out);
		return ND_NEXT_PRINT;
	}
	if (tool)
		return read_help_of_tool(verb, plan, out, err);
	face = find_face(own, verb);
	if (!face)
		return unknown_verb(own, verb, err);
	nd_opt_help(face->set, true, out);
	return ND_NEXT_PRINT;
}

/* Options where the verb belongs. */
static int read_top(int argc, char **argv, struct nd_plan *plan, struct nd_str *out,
		    struct nd_err *err)
{
	struct nd_strv operands = { 0 };
	struct top top = { 0 };
	int r = nd_opt_parse(&top_set, argc, argv, &top, &plan->arena, &operands, err);

	if (r == ND_OPT_VERSION) {
		nd_persona_version(out);
		return ND_NEXT_PRINT;
	}
	if (r > 0)
		return read_help(argc > 2 ? argv[2] : NULL, plan, out, err);
	if (r < 0)
		return nd_wrap(err, r, "the verb comes first");
	if (!top.generator)
		return nd_fail(err, -EINVAL,
			       "the verb comes first: serve, stream HOST or packets HOST");
	if (nd_persona_generate(top.generator, out))
		return ND_NEXT_PRINT;
	if (!strcmp(top.generator, "schema"))
		return ND_NEXT_SCHEMA;
	if (!strcmp(top.generator, "results-md"))
		return ND_NEXT_RESULT_DOC;
	return nd_fail(
		err, -EINVAL,
		"--gen: '%.80s' is none of man, man-ntttcp, man-netperf, man-netserver, man-sockperf, bash, "
		"zsh, protocol-md, schema, results-md",
		top.generator);
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (slash)
		return slash + 1;
	return path ? path : "";
}

int nd_persona_read(int argc, char **argv, struct nd_plan *plan, struct nd_str *out,
		    struct nd_err *err)
{
	const struct nd_persona *own = personas[0], *p = NULL;
	struct nd_words w = { .plan = plan, .out = out };
	const struct nd_face *face;

	nd_plan_init(plan);
	if (argc > 0)
		p = nd_persona_find(base_name(argv[0]));
	if ((!p || p == own) && argc > 1) {
		p = nd_persona_find(argv[1]);
		argc -= p ? 1 : 0;
		argv += p ? 1 : 0;
	}
	p = p ? p : own;
	if (p->choose) {
		w.called = base_name(argv[0]);
		w.argc = argc;
		w.argv = argv;
		return read_chosen(p, &w, err);
	}
	if (argc < 2) {
		nd_persona_overview(out);
		return nd_fail(err, -EINVAL, "a verb is missing");
	}
	if (!strcmp(argv[1], "version") || !strcmp(argv[1], "-V")) {
		nd_persona_version(out);
		return ND_NEXT_PRINT;
	}
	if (nd_persona_dashes(argv[1], NULL) != argv[1])
		return read_top(argc, argv, plan, out, err);
	if (!strcmp(argv[1], "help") && argc > 3)
		return nd_fail(err, -EINVAL, "help: '%.80s' is one word too many", argv[3]);
	if (!strcmp(argv[1], "help"))
		return read_help(argc > 2 ? argv[2] : NULL, plan, out, err);
	face = find_face(p, argv[1]);
	if (!face)
		return unknown_verb(p, argv[1], err);
	return read_face(face, argc - 1, argv + 1, plan, out, err);
}
