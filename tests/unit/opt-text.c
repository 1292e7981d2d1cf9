/* SPDX-License-Identifier: MIT */
/* What is printed from option rows: help, man page, completions. */
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "opt/opt.h"

struct target {
	bool unused, flag;
	uint64_t time_ns;
	const char *name, *file, *pin;
	struct nd_strv list;
};

#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, struct target, member)

static const char *names(size_t n, const char **ret_help)
{
	static const char *const v[] = { "auto", "epoll" };

	*ret_help = n ? "'it' waits" : ".dots first";
	return n < ND_COUNTOF(v) ? v[n] : NULL;
}

/* clang-format off */
static const struct nd_opt rows_a[] = {
	{ .letter = 't', .name = "time", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS, AT(uint64_t, time_ns),
	  .min = ND_NS_PER_S, .max = 60 * ND_NS_PER_S, .preset = "10s", .section = "Test", .common = true,
	  .help = "how long", .more = ".It's a time\\length" },
	{ .letter = 'u', .type = ND_OPT_FLAG, AT(bool, flag), .help = "datagrams [not: streams]" },
	{ .name = "secret", .type = ND_OPT_FLAG, AT(bool, flag), .hidden = true, .common = true, .help = "x" },
	{ 0 }
};

static const struct nd_opt rows_b[] = {
	{ .letter = 'e', .name = "engine", .type = ND_OPT_ENUM, .values = names, AT(const char *, name),
	  .section = "How", .help = "which engine" },
	{ .letter = 'O', .name = "output-file", .type = ND_OPT_STRING, .metavar = "FILE", AT(const char *, file), .help = "where to" },
	{ .name = "pin", .type = ND_OPT_STRING, .optional = "auto", .metavar = "LIST", AT(const char *, pin), .help = "which CPUs" },
	{ .letter = 'B', .name = "bind", .type = ND_OPT_LIST, AT(struct nd_strv, list), .help = "from where" },
	{ 0 }
};
/* clang-format on */

static const struct nd_opt *const arrays[] = { rows_a, rows_b, NULL };
static const struct nd_opt_set set = { .prog = "prog verb",
				       .operands = "HOST",
				       .summary = "does it",
				       .examples = "prog verb h\tonce\nprog verb -u h\tquickly",
				       .rows = arrays,
				       .max_operands = 1 };

static void check(struct nd_str *out, const char *wanted)
{
	assert_true(nd_str_ok(out));
	assert_string_equal(nd_str_text(out), wanted);
	nd_str_reset(out);
}

static void prints_short_help(void **state)
{
	nd_auto_str out = { 0 };

	(void)state;
	nd_opt_help(&set, false, &out);
	check(&out, "usage: prog verb [options] HOST\n"
		    "does it\n"
		    "\n"
		    "  -t, --time TIME             how long (10s)\n"
		    "      --help                  show all options\n");
}

static void prints_long_help(void **state)
{
	nd_auto_str out = { 0 };

	(void)state;
	nd_opt_help(&set, true, &out);
	check(&out, "usage: prog verb [options] HOST\n"
		    "does it\n"
		    "\n"
		    "Test:\n"
		    "  -t, --time TIME\n"
		    "        how long (default 10s, 1s..1m)\n"
		    "  -u\n"
		    "        datagrams [not: streams]\n"
		    "\n"
		    "How:\n"
		    "  -e, --engine NAME\n"
		    "        which engine\n"
		    "          auto          .dots first\n"
		    "          epoll         'it' waits\n"
		    "  -O, --output-file FILE\n"
		    "        where to\n"
		    "      --pin[=LIST]\n"
		    "        which CPUs (alone: auto)\n"
		    "  -B, --bind TEXT\n"
		    "        from where (may be repeated)\n"
		    "\n"
		    "Help:\n"
		    "  -h\n"
		    "        show the common options\n"
		    "      --help\n"
		    "        show all options\n"
		    "      --version\n"
		    "        show the version and what is built in\n"
		    "\n"
		    "Examples:\n"
		    "  prog verb h\n"
		    "        once\n"
		    "  prog verb -u h\n"
		    "        quickly\n");
}

static void escapes_roff(void **state)
{
	/* clang-format off */
	static const struct { const char *text; bool line; const char *wanted; } rows[] = {
		{ "plain", true, "plain" },
		{ "--time", true, "\\-\\-time" },
		{ ".TH", true, "\\&.TH" },
		{ ".TH", false, ".TH" },
		{ "'quoted'", true, "\\&\\(aqquoted\\(aq" },
		{ "a\n.b\n'c\nd", true, "a\n\\&.b\n\\&\\(aqc\nd" },
		{ "back\\slash", true, "back\\eslash" },
		{ "`^~", false, "\\(ga\\(ha\\(ti" },
		{ "", true, "" },
	};

	/* clang-format on */
	nd_auto_str out = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		nd_opt_roff(&out, rows[i].text, rows[i].line);
		check(&out, rows[i].wanted);
	}
}

static void prints_man(void **state)
{
	nd_auto_str out = { 0 };

	(void)state;
	nd_opt_man(&set, &out);
	assert_non_null(strstr(nd_str_text(&out),
			       "\\fBTest\\fR\n"
			       ".TP\n\\fB\\-t\\fR, \\fB\\-\\-time\\fR \\fITIME\\fR\n"
			       "How long (default 10s, 1s..1m).\n"
			       "\\&.It\\(aqs a time\\elength\n"
			       ".TP\n\\fB\\-u\\fR\nDatagrams [not: streams].\n"
			       ".PP\n\\fBHow\\fR\n"));
	assert_non_null(strstr(nd_str_text(&out), ".RS\n.TP\n\\fBauto\\fR\n\\&.dots first\n"
						  ".TP\n\\fBepoll\\fR\n"
						  "\\&\\(aqit\\(aq waits\n.RE\n"));
	assert_non_null(strstr(nd_str_text(&out), "\\fB\\-\\-pin\\fR[=\\fILIST\\fR]\n"));
	assert_null(strstr(nd_str_text(&out), "secret"));
}

static void prints_bash(void **state)
{
	nd_auto_str out = { 0 };

	(void)state;
	nd_opt_bash(&set, "verb", &out);
	check(&out, "\tverb)\n"
		    "\t\tcase $prev in\n"
		    "\t\t-t|--time) words='' ;;\n"
		    "\t\t-e|--engine) words='auto epoll' ;;\n"
		    "\t\t-O|--output-file) files=yes ;;\n"
		    "\t\t-B|--bind) words='' ;;\n"
		    "\t\t*) words='-t --time -u -e --engine -O --output-file --pin -B --bind -h "
		    "--help --version' ;;\n"
		    "\t\tesac\n"
		    "\t\t;;\n");
}

static void prints_zsh(void **state)
{
	nd_auto_str out = { 0 };

	(void)state;
	nd_opt_zsh(&set, "verb", &out);
	check(&out, "_netdyno_verb() {\n"
		    "\t_arguments -s -S \\\n"
		    "\t\t'(-t --time)'{-t+,--time=}'[how long]:TIME:' \\\n"
		    "\t\t-u'[datagrams \\[not\\: streams\\]]' \\\n"
		    "\t\t'(-e --engine)'{-e+,--engine=}'[which engine]:NAME:(auto epoll)' \\\n"
		    "\t\t'(-O --output-file)'{-O+,--output-file=}'[where to]:FILE:_files' \\\n"
		    "\t\t--pin=-'[which CPUs]::LIST:' \\\n"
		    "\t\t'*'{-B+,--bind=}'[from where]:TEXT:' \\\n"
		    "\t\t-h'[show the common options]' \\\n"
		    "\t\t--help'[show all options]' \\\n"
		    "\t\t--version'[show the version and what is built in]' \\\n"
		    "\t\t'*:HOST:_hosts'\n"
		    "}\n");
}

/* What a first operand may be, and interfaces, wherever they may stand. */
static void prints_operands(void **state)
{
	static const struct nd_opt nic_rows[] = { { .name = "nic",
						    .type = ND_OPT_STRING,
						    AT(const char *, name),
						    .metavar = "IFACE",
						    .help = "which" },
						  { 0 } };
	static const struct nd_opt *const nic_arrays[] = { nic_rows, NULL };
	static const struct nd_opt_set nics = { .prog = "prog nics",
						.operands = "ACTION IFACE",
						.first = "show hide",
						.rows = nic_arrays,
						.max_operands = 2 };
	nd_auto_str bash = { 0 }, zsh = { 0 };

	(void)state;
	nd_opt_bash(&nics, "nics", &bash);
	check(&bash,
	      "\tnics)\n"
	      "\t\tcase $prev in\n"
	      "\t\t--nic) words=$(ls /sys/class/net) ;;\n"
	      "\t\t*) words='--nic -h --help --version show hide'\" $(ls /sys/class/net)\" ;;\n"
	      "\t\tesac\n"
	      "\t\t;;\n");
	nd_opt_zsh(&nics, "nics", &zsh);
	check(&zsh, "_netdyno_nics() {\n"
		    "\t_arguments -s -S \\\n"
		    "\t\t--nic='[which]:IFACE:_net_interfaces' \\\n"
		    "\t\t-h'[show the common options]' \\\n"
		    "\t\t--help'[show all options]' \\\n"
		    "\t\t--version'[show the version and what is built in]' \\\n"
		    "\t\t'1: :(show hide)' \\\n"
		    "\t\t'*:ACTION IFACE:_net_interfaces'\n"
		    "}\n");
}

static void finds_near_words(void **state)
{
	/* clang-format off */
	static const struct { const char *typed, *name; bool near; unsigned apart; } rows[] = {
		{ "tiem", "time", true, 1 },
		{ "time", "time", true, 0 },
		{ "flwos", "flows", true, 1 },
		{ "x", "y", true, 1 },
		{ "abc", "xyz", false, 0 },
		{ "", "a", true, 1 },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a", false, 0 },
	};

	/* clang-format on */
	unsigned best;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		best = UINT32_MAX;
		if (nd_opt_near(rows[i].typed, rows[i].name, &best) != rows[i].near ||
		    (rows[i].near && best != rows[i].apart))
			fail_msg("'%s' '%s': %u", rows[i].typed, rows[i].name, best);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_short_help), cmocka_unit_test(prints_long_help),
		cmocka_unit_test(escapes_roff),      cmocka_unit_test(prints_man),
		cmocka_unit_test(prints_bash),       cmocka_unit_test(prints_zsh),
		cmocka_unit_test(prints_operands),   cmocka_unit_test(finds_near_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
