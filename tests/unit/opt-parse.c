/* SPDX-License-Identifier: MIT */
/* Command lines in the three grammars: a row for each, with what is stored or what is said. */
#include <errno.h>
#include <stdio.h>
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

#define MAX_WORDS 12

struct target {
	bool unused;
	bool flag, other, given, off;
	int choice;
	uint64_t time_ns, count, size;
	const char *text, *name, *pin;
	struct nd_strv list, many;
	struct nd_opt_rate rate;
};

#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, struct target, member)

static const char *names(size_t n, const char **ret_help)
{
	static const char *const v[] = { "auto", "epoll", "uring" };

	*ret_help = "words";
	return n < ND_COUNTOF(v) ? v[n] : NULL;
}

static int parse_size(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	struct target *t = ctx->target;

	return nd_parse_in(ctx->as_typed, value, ND_UNIT_BYTES, row->min, row->max, &t->size,
			   ctx->err);
}

/* clang-format off */
static const struct nd_opt_choice choices[] = { { "zero", 1, "zeros" }, { "random", 2, "noise" }, { NULL, 0, NULL } };

static const struct nd_opt rows_a[] = {
	{ .letter = 't', .name = "time", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS, AT(uint64_t, time_ns),
	  .set_offset = (uint32_t)ND_FIELD_OF(bool, struct target, given),
	  .min = ND_NS_PER_S, .max = 86400 * ND_NS_PER_S, .preset = "10s", .section = "A", .help = "x" },
	{ .letter = 'u', .name = "udp", .type = ND_OPT_FLAG, AT(bool, flag), .help = "x" },
	{ .letter = 'R', .name = "reverse", .alias = "backwards", .type = ND_OPT_FLAG, AT(bool, other), .help = "x" },
	{ .name = "no-off", .type = ND_OPT_FLAG, .fixed_false = true, AT(bool, off), .preset = "no", .help = "x" },
	{ .letter = 'P', .name = "flows", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, count), .min = 1, .help = "x" },
	{ .name = "secret", .type = ND_OPT_STRING, AT(const char *, text), .hidden = true, .help = "x" },
	{ 0 }
};

static const struct nd_opt rows_b[] = {
	{ .letter = 'O', .name = "output-file", .type = ND_OPT_STRING, AT(const char *, text), .help = "x" },
	{ .letter = 'e', .name = "engine", .type = ND_OPT_ENUM, .values = names, AT(const char *, name), .preset = "auto", .help = "x" },
	{ .name = "payload", .type = ND_OPT_INT, .choices = choices, AT(int, choice), .preset = "random", .help = "x" },
	{ .letter = 'B', .name = "bind", .type = ND_OPT_LIST, .commas = true, AT(struct nd_strv, list), .help = "x" },
	{ .letter = 'm', .name = "map", .type = ND_OPT_LIST, AT(struct nd_strv, many), .help = "x" },
	{ .letter = 'b', .name = "bitrate", .type = ND_OPT_RATE, .unit = ND_UNIT_BITRATE, AT(struct nd_opt_rate, rate), .min = 1000, .max = 1000000000000, .help = "x" },
	{ .name = "pin", .letter = 'c', .type = ND_OPT_STRING, .optional = "auto", AT(const char *, pin), .help = "x" },
	{ .letter = 'l', .name = "length", .type = ND_OPT_CUSTOM, .parse = parse_size, .min = 1, .max = 65536, .help = "x" },
	{ 0 }
};
/* clang-format on */

static const struct nd_opt *const arrays[] = { rows_a, rows_b, NULL };

struct parse_case {
	const char *words[MAX_WORDS];
	int r;
	const char *said; /* text of the target, see describe(), or the sentence */
};

/* Only what differs from an untouched target. */
static const char *describe(const struct target *t, const struct nd_strv *operands,
			    struct nd_str *out)
{
	uint64_t i;

	nd_str_reset(out);
	if (t->time_ns != 10 * ND_NS_PER_S || t->given)
		nd_str_addf(out, "time=%llus%s ", (unsigned long long)(t->time_ns / ND_NS_PER_S),
			    t->given ? "!" : "");
	nd_str_add(out, t->flag ? "udp " : "");
	nd_str_add(out, t->other ? "reverse " : "");
	nd_str_add(out, t->off ? "" : "off ");
	if (t->count)
		nd_str_addf(out, "flows=%llu ", (unsigned long long)t->count);
	if (t->size)
		nd_str_addf(out, "length=%llu ", (unsigned long long)t->size);
	if (t->rate.value)
		nd_str_addf(out, "rate=%llu%s ", (unsigned long long)t->rate.value,
			    t->rate.per_flow ? "/flow" : "");
	if (t->text)
		nd_str_addf(out, "text=%s ", t->text);
	if (strcmp(t->name, "auto") != 0)
		nd_str_addf(out, "engine=%s ", t->name);
	if (t->choice != 2)
		nd_str_addf(out, "payload=%d ", t->choice);
	if (t->pin)
		nd_str_addf(out, "pin=%s ", t->pin);
	for (i = 0; i < t->list.n; i++)
		nd_str_addf(out, "bind=%s ", t->list.v[i]);
	for (i = 0; i < t->many.n; i++)
		nd_str_addf(out, "map=%s ", t->many.v[i]);
	for (i = 0; i < operands->n; i++)
		nd_str_addf(out, "(%s) ", operands->v[i]);
	if (out->len)
		out->data[--out->len] = '\0';
	return nd_str_text(out);
}

static void run_case(const struct parse_case *c, enum nd_grammar grammar)
{
	const struct nd_opt_set set = { .prog = "prog",
					.operands = "HOST",
					.grammar = grammar,
					.rows = arrays,
					.max_operands = 2 };
	char words[MAX_WORDS + 1][64] = { "prog" }, *argv[MAX_WORDS + 2] = { words[0] };
	struct nd_arena arena = { 0 };
	struct nd_strv operands = { 0 };
	struct nd_err err = { 0 };
	struct target t = { 0 };
	nd_auto_str text = { 0 };
	const char *said;
	int argc = 1, r;

	for (; argc <= MAX_WORDS && c->words[argc - 1]; argc++) {
		(void)snprintf(words[argc], sizeof(words[argc]), "%s", c->words[argc - 1]);
		argv[argc] = words[argc];
	}
	assert_int_equal(nd_opt_defaults(&set, &t, &arena, &err), 0);
	r = nd_opt_parse(&set, argc, argv, &t, &arena, &operands, &err);
	said = r < 0 ? err.text : describe(&t, &operands, &text);
	if (r != c->r || (c->said && strcmp(said, c->said) != 0))
		fail_msg("%s %s ...: %d '%s', not %d '%s'", c->words[0] ? c->words[0] : "",
			 c->words[0] && c->words[1] ? c->words[1] : "", r, said, c->r, c->said);
	nd_arena_done(&arena);
}

/* clang-format off */
static const struct parse_case gnu[] = {
	{ { NULL }, 0, "" },
	{ { "-t5" }, 0, "time=5s!" },
	{ { "-t", "5" }, 0, "time=5s!" },
	{ { "--time", "5" }, 0, "time=5s!" },
	{ { "--time=5" }, 0, "time=5s!" },
	{ { "--ti=5" }, 0, "time=5s!" },
	{ { "--time=5", "-t", "6m" }, 0, "time=360s!" },
	{ { "-uR" }, 0, "udp reverse" },
	{ { "-uRt5" }, 0, "time=5s! udp reverse" },
	{ { "-uP", "4" }, 0, "udp flows=4" },
	{ { "--backwards" }, 0, "reverse" },
	{ { "--no-off" }, 0, "off" },
	{ { "a", "-u", "b" }, 0, "udp (a) (b)" },
	{ { "--", "-u" }, 0, "(-u)" },
	{ { "-" }, 0, "(-)" },
	{ { "-b", "10G" }, 0, "rate=10000000000" },
	{ { "-b500M/flow" }, 0, "rate=500000000/flow" },
	{ { "-e", "epoll", "--payload", "zero" }, 0, "engine=epoll payload=1" },
	{ { "-B", "a,b", "-Bc" }, 0, "bind=a bind=b bind=c" },
	{ { "--map", "a,b", "--map=c" }, 0, "map=a,b map=c" },
	{ { "--pin" }, 0, "pin=auto" },
	{ { "--pin=0-3" }, 0, "pin=0-3" },
	{ { "--pin", "x" }, 0, "pin=auto (x)" },
	{ { "-c2" }, 0, "pin=2" },
	{ { "-l", "64Ki" }, 0, "length=65536" },
	{ { "--secret", "x" }, 0, "text=x" },
	{ { "-O", "-" }, 0, "text=-" },
	{ { "-O", "-u" }, 0, "text=-u" },
	/* dashes as a text processor makes them */
	{ { "\xe2\x80\x93t5" }, 0, "time=5s!" },
	{ { "\xe2\x80\x94time", "5" }, 0, "time=5s!" },
	{ { "\xe2\x80\x93\xe2\x80\x93time=5" }, 0, "time=5s!" },
	{ { "\xe2\x88\x92u" }, 0, "udp" },
	{ { "\xe2\x80\x94udp" }, 0, "udp" },
	{ { "\xe2\x80\x90-udp" }, 0, "udp" },
	{ { "-O", "\xe2\x80\x94" }, 0, "text=\xe2\x80\x94" },
	{ { "--", "\xe2\x80\x94udp" }, 0, "(\xe2\x80\x94udp)" },
	/* asking */
	{ { "-h" }, ND_OPT_HELP, NULL },
	{ { "-uh" }, ND_OPT_HELP, NULL },
	{ { "--help" }, ND_OPT_HELP_ALL, NULL },
	{ { "--version", "--nonsense" }, ND_OPT_VERSION, NULL },
	/* sentences */
	{ { "--time", "0" }, -EINVAL, "--time: '0' is outside 1s..24h" },
	{ { "-t", "25h" }, -EINVAL, "-t: '25h' is outside 1s..24h" },
	{ { "-t", "soon" }, -EINVAL, "-t: 'soon' is not a time such as 10, 250ms or 1.5h" },
	{ { "-t=5" }, -EINVAL, "-t: '=5' is not a time such as 10, 250ms or 1.5h" },
	{ { "--ti", "0" }, -EINVAL, "--time: '0' is outside 1s..24h" },
	{ { "-P", "0" }, -EINVAL, "-P: '0' is below 1" },
	{ { "--tiem" }, -EINVAL, "unknown option '--tiem'; did you mean '--time'?" },
	{ { "--tiem=4" }, -EINVAL, "unknown option '--tiem'; did you mean '--time'?" },
	{ { "--udpp" }, -EINVAL, "unknown option '--udpp'; did you mean '--udp'?" },
	{ { "--completely-different" }, -EINVAL, "unknown option '--completely-different'; see prog --help" },
	{ { "--secre", "x" }, -EINVAL, "unknown option '--secre'; see prog --help" },
	{ { "-time", "5" }, -EINVAL, "unknown option '-time'; did you mean '--time'?" },
	{ { "-udp" }, -EINVAL, "unknown option '-udp'; did you mean '--udp'?" },
	{ { "-x" }, -EINVAL, "unknown option '-x'; see prog --help" },
	{ { "-ux" }, -EINVAL, "unknown option '-x' in '-ux'; see prog --help" },
	{ { "-\x01" }, -EINVAL, NULL },
	{ { "--p" }, -EINVAL, "option '--p' is ambiguous: --payload, --pin" },
	{ { "--time" }, -EINVAL, "--time needs a value: TIME" },
	{ { "-ut" }, -EINVAL, "-t needs a value: TIME" },
	{ { "--udp=1" }, -EINVAL, "--udp takes no value" },
	{ { "--help=1" }, -EINVAL, "--help takes no value" },
	{ { "-e", "iouring" }, -EINVAL, "-e: 'iouring' is none of auto, epoll, uring" },
	{ { "--payload=x" }, -EINVAL, "--payload: 'x' is none of zero, random" },
	{ { "-b", "1/flow" }, -EINVAL, "-b: '1' is outside 1k..1T" },
	{ { "-b", "/flow" }, -EINVAL, "-b: '' is not a rate such as 500M, 2.5G or 10Gbit/s" },
	{ { "-O", "" }, -EINVAL, "-O: the value is empty" },
	{ { "-B", "a,,b" }, -EINVAL, "-B: an item of the list is empty" },
	{ { "-l", "65537" }, -EINVAL, "-l: '65537' is outside 1..64Ki" },
	{ { "a", "b", "c" }, -EINVAL, "prog: 'c' is one word too many" },
	{ { "--=5" }, -EINVAL, "unknown option '--'; see prog --help" },
	{ { "--pim" }, -EINVAL, "unknown option '--pim'; did you mean '--pin'?" },
	{ { "--nim" }, -EINVAL, "unknown option '--nim'; see prog --help" },
	{ { "-P", "-1" }, -EINVAL, "-P: '-1' is below 1" },
	{ { "-P", "-1x" }, -EINVAL, "-P: '-1x' is not a number such as 1500, 64k or 1Mi" },
	{ { "-l", "-1" }, -EINVAL, "-l: '-1' is outside 1..64Ki" },
};

static const struct parse_case windows[] = {
	{ { "-t", "5", "-UDP" }, 0, "time=5s! udp" },
	{ { "-T", "5" }, 0, "time=5s!" },
	{ { "-Time", "5" }, 0, "time=5s!" },
	{ { "-m", "8,*,10.0.0.1", "4,0,10.0.0.2", "-u" }, 0, "udp map=8,*,10.0.0.1 map=4,0,10.0.0.2" },
	{ { "-pin", "-u" }, 0, "udp pin=auto" },
	{ { "-pin", "3" }, 0, "pin=3" },
	{ { "\xe2\x80\x93time", "5" }, 0, "time=5s!" },
	{ { "-Help" }, ND_OPT_HELP_ALL, NULL },
	{ { "-?" }, ND_OPT_HELP_ALL, NULL },
	{ { "-t5" }, -EINVAL, "unknown option '-t5'" },
	{ { "-tiem", "5" }, -EINVAL, "unknown option '-tiem'; did you mean '-time'?" },
	{ { "--time", "5" }, -EINVAL, "unknown option '--time'; did you mean '-time'?" },
	{ { "-Time", "0" }, -EINVAL, "-Time: '0' is outside 1s..24h" },
	{ { "-t" }, -EINVAL, "-t needs a value: TIME" },
};

static const struct parse_case sockperf[] = {
	{ { "-t5" }, 0, "time=5s!" },
	{ { "-t=5" }, 0, "time=5s!" },
	{ { "-t", "5" }, 0, "time=5s!" },
	{ { "--time=5" }, 0, "time=5s!" },
	{ { "--time", "5" }, 0, "time=5s!" },
	{ { "--pin", "3" }, 0, "pin=3" },
	{ { "--pin", "-u" }, 0, "udp pin=auto" },
	{ { "-c", "3" }, 0, "pin=3" },
	{ { "-h" }, ND_OPT_HELP, NULL },
	{ { "--ti", "5" }, -EINVAL, "unknown option '--ti'; did you mean '--time'?" },
	{ { "-uR" }, -EINVAL, "-u takes no value" },
	{ { "-t", "-5" }, -EINVAL, "-t needs a value: TIME" },
	{ { "-t=0" }, -EINVAL, "-t: '0' is outside 1s..24h" },
	{ { "--" }, -EINVAL, "unknown option '--'; see prog --help" },
	{ { "-x" }, -EINVAL, "unknown option '-x'; see prog --help" },
};

/* clang-format on */

static void reads_gnu(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(gnu); i++)
		run_case(&gnu[i], ND_GRAMMAR_GNU);
}

static void reads_windows(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(windows); i++)
		run_case(&windows[i], ND_GRAMMAR_WINDOWS);
}

static void reads_sockperf(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(sockperf); i++)
		run_case(&sockperf[i], ND_GRAMMAR_SOCKPERF);
}

static void says_what_default_is_bad(void **state)
{
	static const struct nd_opt rows[] = {
		{ .name = "time",
		  .type = ND_OPT_NUMBER,
		  .unit = ND_UNIT_TIME_NS,
		  AT(uint64_t, time_ns),
		  .min = ND_NS_PER_S,
		  .max = ND_NS_PER_S,
		  .preset = "2s" },
		{ 0 },
	};
	static const struct nd_opt *const bad[] = { rows, NULL };
	const struct nd_opt_set set = { .prog = "prog", .operands = "", .rows = bad };
	struct nd_arena arena = { 0 };
	struct nd_err err = { 0 };
	struct target t = { 0 };

	(void)state;
	assert_int_equal(nd_opt_defaults(&set, &t, &arena, &err), -EINVAL);
	assert_string_equal(err.text, "default of prog: --time: '2s' is outside 1s..1s");
	nd_arena_done(&arena);
}

static void counts_operands(void **state)
{
	const struct nd_opt_set set = { .prog = "prog x",
					.operands = "HOST",
					.rows = arrays,
					.min_operands = 1,
					.max_operands = 1 };
	char word[] = "x", *argv[] = { word, NULL };
	struct nd_arena arena = { 0 };
	struct nd_strv operands = { 0 };
	struct nd_err err = { 0 };
	struct target t = { 0 };

	(void)state;
	assert_int_equal(nd_opt_parse(&set, 1, argv, &t, &arena, &operands, &err), -EINVAL);
	assert_string_equal(err.text, "x: HOST is missing");
	nd_arena_done(&arena);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_gnu),       cmocka_unit_test(reads_windows),
		cmocka_unit_test(reads_sockperf),  cmocka_unit_test(says_what_default_is_bad),
		cmocka_unit_test(counts_operands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
