/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's face. Two tools of that name have command lines that clash; which one was meant follows from the
 * words, and --dialect overrides. Both fill struct nd_ntttcp, of which ntttcp_fill.c makes the plan.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "persona/ntttcp.h"

#define DIALECT "dialect"
#define MAX_CPU 4095

enum dialect { DIALECT_LINUX, DIALECT_WINDOWS };

static const char *const dialect_names[] = { "linux", "windows", NULL };

/* Words that only the Windows tool has. */
static const char *const windows_words[] = {
	"ns",  "sp",  "to",  "rb",  "sb",  "wu",  "cd", "wa",  "nic", "xml",
	"ndl", "na",  "hpt", "uso", "uro", "uc",  "hv", "nsb", "thr", "brn",
	"lm",  "icp", "cfi", "es",  "sam", "qos", "jm", "ps",  "rt",  NULL,
};

/* Letters that only one of the two tools has, or has in this case. */
#define WINDOWS_LETTERS "vwd"
#define LINUX_LETTERS   "PMLeHBCWVDNOjQbfh"

const char *nd_ntttcp_dialects(size_t n, const char **ret_help)
{
	static const char *const help[] = { "as NTttcp-for-Linux", "as ntttcp.exe" };

	if (n >= ND_COUNTOF(help))
		return NULL;
	*ret_help = help[n];
	return dialect_names[n];
}

/* ---- which command line this is */

static bool one_case(const char *word)
{
	bool lower = false, upper = false;

	for (; *word; word++) {
		lower = lower || (*word >= 'a' && *word <= 'z');
		upper = upper || (*word >= 'A' && *word <= 'Z');
	}
	return !(lower && upper);
}

static bool is_number(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* "64K": a size, which on Linux neither -l nor -n takes */
static bool is_size(const char *word)
{
	size_t n = strspn(word, "0123456789");

	return n && word[n] && strchr("kKmM", word[n]) && !word[n + 1];
}

/* More than there may be connections and threads on Linux: bytes, or buffers. */
static bool is_over(char letter, const char *word)
{
	int64_t v = 0;

	return nd_parse_prefix_i64(word, &v) == strlen(word) &&
	       v > (letter == 'l' ? ND_NTTTCP_MAX_CONNS : ND_NTTTCP_MAX_THREADS);
}

/* @letter: alone behind one dash. @next: the word behind, NULL: none. @mapped: there is a mapping. */
static bool takes_windows_value(char letter, const char *next, bool mapped)
{
	if (letter == 'a') /* an address on Linux */
		return !next || nd_persona_dashes(next, NULL) != next || is_number(next);
	if (letter != 'l' && letter != 'n')
		return false;
	return next && (is_size(next) || (mapped && is_over(letter, next)));
}

static bool is_mapping(const char *word)
{
	const char *comma = strchr(word, ',');

	return comma && strchr(comma + 1, ',') && nd_persona_dashes(word, NULL) == word;
}

static bool is_windows_word(const char *name)
{
	size_t i;

	if (!name[1])
		return strchr(WINDOWS_LETTERS, *name);
	for (i = 0; one_case(name) && windows_words[i]; i++)
		if (!strcasecmp(name, windows_words[i]))
			return true;
	return false;
}

static unsigned count_mappings(const struct nd_words *w)
{
	unsigned n = 0;

	for (int i = 1; i < w->argc; i++)
		n += is_mapping(w->argv[i]);
	return n;
}

/*
 * A word of Windows decides; values and mappings that look like it only when nothing looks like Linux. With
 * datagrams -l is their size: on Linux it counts connections, of which that tool never had two over UDP.
 */
static enum dialect guess(const struct nd_words *w)
{
	bool like_linux = false, like_windows = false, datagrams = false, has_length = false;
	unsigned dashes, mappings = count_mappings(w);
	const char *name, *next;
	int i;

	for (i = 1; i < w->argc; i++) {
		name = nd_persona_dashes(w->argv[i], &dashes);
		next = i + 1 < w->argc ? w->argv[i + 1] : NULL;
		like_linux = like_linux || dashes > 1;
		if (dashes != 1 || !*name)
			continue;
		if (is_windows_word(name))
			return DIALECT_WINDOWS;
		if (name[1])
			continue;
		like_linux = like_linux || strchr(LINUX_LETTERS, *name);
		like_windows = like_windows || takes_windows_value(*name, next, mappings > 0);
		datagrams = datagrams || *name == 'u';
		has_length = has_length || *name == 'l';
	}
	like_windows = like_windows || (mappings && datagrams && has_length);
	return (mappings > 1 || like_windows) && !like_linux ? DIALECT_WINDOWS : DIALECT_LINUX;
}

/* The value of --dialect in word @i; *ret_words gets how many it takes, 0: it is another word. */
static const char *dialect_value(const struct nd_words *w, int i, int *ret_words)
{
	unsigned dashes;
	const char *name = nd_persona_dashes(w->argv[i], &dashes);
	size_t n = strlen(DIALECT);

	*ret_words = 0;
	if (!dashes || strncmp(name, DIALECT, n) != 0 || (name[n] && name[n] != '='))
		return NULL;
	*ret_words = name[n] || i + 1 == w->argc ? 1 : 2;
	if (name[n])
		return name + n + 1;
	return i + 1 < w->argc ? w->argv[i + 1] : "";
}

/* Takes --dialect out of the words. Return: enum dialect, -ENOENT when it is not there, or -EINVAL. */
static int take_dialect(struct nd_words *w, struct nd_err *err)
{
	int i, kept = 1, used, found = -ENOENT;
	const char *value;

	for (i = 1; i < w->argc; i += ND_MAX(used, 1)) {
		value = dialect_value(w, i, &used);
		if (!used) {
			w->argv[kept++] = w->argv[i];
			continue;
		}
		found = nd_enum_find(dialect_names, value);
		if (found < 0)
			return nd_fail(err, -EINVAL,
				       "--dialect: '%.80s' is neither linux nor windows", value);
	}
	w->argc = kept;
	return found;
}

/* ---- the words, copied: one more in front where the link name gives the role */

static int copy_words(struct nd_words *w, const char *role)
{
	char **v = nd_arena_alloc(&w->plan->arena, (size_t)w->argc + 2, sizeof(*v));
	int i, n = 0;

	if (!v)
		return -ENOMEM;
	v[n++] = w->argv[0];
	if (role) {
		v[n] = nd_arena_alloc(&w->plan->arena, strlen(role) + 1, 1);
		if (!v[n])
			return -ENOMEM;
		memcpy(v[n++], role, strlen(role));
	}
	for (i = 1; i < w->argc; i++)
		v[n++] = w->argv[i];
	w->argv = v;
	w->argc = n;
	return 0;
}

/* clang-format off */
static const struct { const char *name, *role; } link_names[] = {
	{ "ntttcps", "-s" }, { "ntttcps.exe", "-s" }, { "ntttcpr", "-r" }, { "ntttcpr.exe", "-r" },
	{ "ntttcp.exe", NULL },
};

/* clang-format on */

/* Names of the Windows tool. */
static bool is_windows_name(const char *called, const char **ret_role)
{
	size_t i;

	*ret_role = NULL;
	for (i = 0; i < ND_COUNTOF(link_names); i++) {
		if (strcmp(called, link_names[i].name) != 0)
			continue;
		*ret_role = link_names[i].role;
		return true;
	}
	return false;
}

static void list_switches(struct nd_str *out)
{
	nd_opt_help(&nd_ntttcp_linux_set, true, out);
	nd_str_add(out, "\nor, with the words of ntttcp.exe:\n\n");
	nd_opt_help(&nd_ntttcp_windows_set, true, out);
}

static void *make_line(struct nd_plan *plan)
{
	struct nd_ntttcp_line *l = nd_arena_alloc(&plan->arena, 1, sizeof(*l));

	if (!l)
		return NULL;
	l->plan = plan;
	l->n.cpu = l->n.sndbuf = l->n.rcvbuf = -1;
	l->n.numa_node = ND_UNKNOWN;
	return l;
}

static const struct nd_face faces[] = {
	[DIALECT_LINUX] = { .plan_verb = ND_VERB_RECEIVE,
			    .set = &nd_ntttcp_linux_set,
			    .target = make_line,
			    .settle = nd_ntttcp_linux_settle,
			    .exits = { .help = 23,
				       .usage = 23,
				       .peer = 24,
				       .prefix = "ntttcp: " } },
	[DIALECT_WINDOWS] = { .plan_verb = ND_VERB_RECEIVE,
			      .set = &nd_ntttcp_windows_set,
			      .target = make_line,
			      .settle = nd_ntttcp_windows_settle,
			      .exits = { .help = 9, .usage = 9, .prefix = "ntttcp: " } },
	{ .set = NULL },
};

static int choose(struct nd_words *w, const struct nd_face **ret, struct nd_err *err)
{
	const char *role;
	bool windows = is_windows_name(w->called, &role);
	int dialect, r;

	if (w->argc < 2) {
		list_switches(w->out);
		return ND_NEXT_PRINT;
	}
	if (copy_words(w, role) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	dialect = take_dialect(w, err);
	if (dialect < 0 && dialect != -ENOENT)
		return dialect;
	if (dialect == -ENOENT)
		dialect = windows ? DIALECT_WINDOWS : (int)guess(w);
	if (dialect == DIALECT_LINUX) {
		r = nd_ntttcp_linux_words(w);
		if (r < 0)
			return nd_fail(err, r, "out of memory");
	}
	*ret = &faces[dialect];
	return ND_NEXT_RUN;
}

/* ---- what both command lines share */

void nd_ntttcp_note(struct nd_ntttcp_line *l, const char *fmt, ...)
{
	nd_auto_str text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	nd_str_vaddf(&text, fmt, ap);
	va_end(ap);
	if (nd_strv_add(&l->plan->arena, &l->n.notes, nd_str_text(&text)) < 0)
		nd_log(ND_LOG_WARN, "%s", nd_str_text(&text)); /* no memory: told at once */
}

int nd_ntttcp_fields(struct nd_arena *a, const char *text, const char **field, int room)
{
	int n = 0;
	size_t len;

	for (;; text += len + 1, n++) {
		len = strcspn(text, ",");
		if (n < room) {
			field[n] = nd_arena_dupn(a, text, len);
			if (!field[n])
				return -ENOMEM;
		}
		if (!text[len])
			return n + 1;
	}
}

int nd_ntttcp_cpu(const char *name, const char *text, int64_t *ret, struct nd_err *err)
{
	int64_t v = 0;
	size_t n;

	if (!*text || !strcmp(text, "*")) {
		*ret = -1;
		return 0;
	}
	n = nd_parse_prefix_i64(text, &v);
	if (!n || text[n])
		return nd_fail(err, -EINVAL, "%s: '%.80s' is neither a CPU nor *", name, text);
	if (v < -1 || v > MAX_CPU)
		return nd_fail(err, -EINVAL, "%s: CPU '%.80s' is outside 0..%d", name, text,
			       MAX_CPU);
	*ret = v;
	return 0;
}

int nd_ntttcp_check_address(const struct nd_ntttcp *n, const char *name, const char *address,
			    struct nd_err *err)
{
	struct in_addr v4;

	if (!*address || nd_persona_dashes(address, NULL) != address)
		return nd_fail(err, -EINVAL, "%s: '%.80s' is no address", name, address);
	if (n->ipv6 && inet_pton(AF_INET, address, &v4) == 1)
		return nd_fail(err, -EINVAL, "%s: '%.80s' is an IPv4 address, and -6 asks for IPv6",
			       name, address);
	if (!n->ipv6 && strchr(address, ':'))
		return nd_fail(err, -EINVAL, "%s: '%.80s' is an IPv6 address, which needs -6", name,
			       address);
	return 0;
}

static const char *const links[] = { "ntttcps",     "ntttcpr",     "ntttcp.exe",
				     "ntttcps.exe", "ntttcpr.exe", NULL };

const struct nd_persona nd_persona_ntttcp = {
	.name = "ntttcp",
	.help = "throughput with the words, protocols and reports of NTttcp",
	.links = links,
	.faces = faces,
	.dialect = "ntttcp",
	.choose = choose,
};
