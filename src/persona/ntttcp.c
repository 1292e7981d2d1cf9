/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's face. Two tools of that name have command lines that clash; which one was meant follows from the
 * words, and --dialect overrides. Both fill struct nd_ntttcp, and the plan is made of that here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "engine/engine.h"
#include "persona/ntttcp.h"

#define DIALECT       "dialect"
#define MAX_CPU       4095
#define LINUX_TICK_NS (500 * ND_NS_PER_MS)
#define CONNECT_NS    (10 * ND_NS_PER_S)
#define DRAIN_NS      (10 * ND_NS_PER_S)
#define COUNT_LIMIT_NS \
	(3 * 3600 * ND_NS_PER_S) /* Windows: buffers are counted, and -t is not given */
#define MAN_DATE "2026-11-30"    /* moves with the version */

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

static uint64_t target_flows(const struct nd_ntttcp_line *l)
{
	const struct nd_target *t = l->targets.v;
	uint64_t sum = 0, i;

	for (i = 0; i < l->targets.n; i++)
		sum += t[i].flows;
	return sum;
}

/* The shortest of these that keeps the number of intervals down. */
static uint64_t interval_ns(const struct nd_plan *plan, uint64_t tick_ns)
{
	uint64_t all = plan->warmup_ns + plan->duration_ns + plan->cooldown_ns;

	while (all / tick_ns > ND_MAX_INTERVALS)
		tick_ns *= 2;
	return ND_MIN(tick_ns, plan->duration_ns);
}

/* -sam makes a result of each interval. */
static uint64_t tick_ns(const struct nd_ntttcp *n)
{
	if (n->sample_s)
		return n->sample_s * ND_NS_PER_S;
	return n->windows ? ND_NS_PER_S : LINUX_TICK_NS;
}

static void fill_times(struct nd_plan *plan, const struct nd_ntttcp *n)
{
	plan->warmup_ns = n->warmup_ms * ND_NS_PER_MS;
	plan->cooldown_ns = n->cooldown_ms * ND_NS_PER_MS;
	plan->duration_ns = n->time_ms * ND_NS_PER_MS;
	if (n->continuous)
		plan->duration_ns = ND_MAX_NS;
	else if (!n->time_ms)
		plan->duration_ns = COUNT_LIMIT_NS;
	plan->interval_ns = interval_ns(plan, tick_ns(n));
	plan->drain_ns = DRAIN_NS;
	plan->connect_timeout_ns = CONNECT_NS;
}

static int fill_addresses(struct nd_ntttcp_line *l, struct nd_err *err)
{
	const struct nd_target *first = l->targets.v;
	struct nd_plan *plan = l->plan;
	const struct nd_ntttcp *n = &l->n;
	uint64_t i;
	int r = 0;

	plan->host = first->host;
	plan->port = plan->data_port = n->base_port;
	plan->flows_per_port = n->threads_per_port * n->conns_per_thread;
	plan->source_port = n->source_port;
	plan->targets = l->targets;
	plan->af = n->ipv6 ? ND_AF_IPV6 : ND_AF_IPV4;
	if (!n->sender && !first->host)
		plan->af = ND_AF_ANY;
	if (n->client_address)
		r = nd_strv_add(&plan->arena, &plan->bind, n->client_address);
	for (i = 0; r == 0 && !n->sender && i < l->targets.n; i++)
		if (first[i].host)
			r = nd_strv_add(&plan->arena, &plan->serve.listen, first[i].host);
	return r < 0 ? nd_fail(err, r, "out of memory") : 0;
}

static void fill_engine(struct nd_ntttcp_line *l)
{
	struct nd_plan *plan = l->plan;

	plan->tx = plan->rx = plan->wait = "auto";
	plan->engine = "auto";
	if (!l->n.async_io)
		return;
	if (nd_engine_find("uring")) {
		plan->engine = "uring";
		plan->depth = l->n.sender ? ND_MIN(l->n.async_io, ND_MAX_DEPTH) : 0;
		return;
	}
	plan->engine = "epoll";
	nd_ntttcp_note(l, "-a: this program was built without %s, epoll does the work",
		       nd_engine_lacks("uring") ?: "io_uring");
}

static void fill_sockopts(struct nd_plan *plan, const struct nd_ntttcp *n)
{
	plan->sock.nodelay = n->nodelay && !n->udp;
	plan->sock.sndbuf_bytes = n->sndbuf > 0 ? (uint64_t)n->sndbuf : 0;
	plan->sock.rcvbuf_bytes = n->rcvbuf > 0 ? (uint64_t)n->rcvbuf : 0;
	plan->sock.fragment = n->udp; /* neither tool forbids it, and sizes are theirs */
}

/* -d and -jm need to see the bytes. */
static const char *frame_of(const struct nd_ntttcp *n)
{
	if (n->verify)
		return "letter";
	return n->jitter && n->udp ? "jitter" : "plain";
}

/* A receiver takes whatever datagrams come; on TCP it reads by its own size. */
static void fill_workload(struct nd_ntttcp_line *l)
{
	struct nd_plan *plan = l->plan;
	const struct nd_ntttcp *n = &l->n;

	plan->workload[0] = (struct nd_workload){
		.active = ND_CLIENT,
		.load = "stream",
		.frame = frame_of(n),
		.transport = n->udp ? "udp" : "tcp",
		.flows = n->sender ? target_flows(l) : ND_MAX_FLOWS,
		.message_bytes = n->udp && !n->sender ? ND_MAX_DATAGRAM : n->io_bytes,
		.rate_bps = n->sender ? n->bandwidth_bps : 0,
	};
	plan->workloads = plan->workload_list.n = 1;
	plan->open_ended = !n->sender;
	plan->hold = !n->sender && n->hold;
	plan->keep_open =
		n->sender && n->windows; /* its receivers take an early end for a failure */
	plan->on_time = true;
	plan->interrupts = n->interrupts;
	plan->counted_nic = n->nic;
	plan->payload = n->udp && !n->windows ? ND_PAYLOAD_FILL_B : ND_PAYLOAD_FILL_A;
}

static int check_limits(const struct nd_ntttcp_line *l, struct nd_err *err)
{
	const struct nd_target *t = l->targets.v;
	uint64_t flows = target_flows(l), i;

	if (flows > ND_MAX_FLOWS)
		return nd_fail(err, -EINVAL, "%llu connections are over the limit of %d",
			       (unsigned long long)flows, ND_MAX_FLOWS);
	if (l->n.source_port && l->n.source_port + flows - 1 > UINT16_MAX)
		return nd_fail(err, -EINVAL,
			       "-f: %llu connections from port %llu on end above 65535",
			       (unsigned long long)flows, (unsigned long long)l->n.source_port);
	for (i = 0; i < l->targets.n; i++)
		if (t[i].port + t[i].ports - 1 > UINT16_MAX)
			return nd_fail(err, -EINVAL, "-p: %llu ports from %llu on end above 65535",
				       (unsigned long long)t[i].ports,
				       (unsigned long long)t[i].port);
	return 0;
}

int nd_ntttcp_fill(struct nd_ntttcp_line *l, struct nd_err *err)
{
	struct nd_plan *plan = l->plan;
	int r = check_limits(l, err);

	if (r == 0)
		r = fill_addresses(l, err);
	if (r < 0)
		return r;
	fill_times(plan, &l->n);
	fill_engine(l);
	fill_sockopts(plan, &l->n);
	fill_workload(l);
	plan->verb = l->n.sender ? ND_VERB_STREAM : ND_VERB_RECEIVE;
	plan->dialect = "ntttcp";
	plan->face = &l->n;
	plan->face_table = &nd_ntttcp_table;
	plan->daemon = l->n.daemon;
	plan->out.format = l->n.windows ? "ntttcp-windows" : "ntttcp-linux";
	plan->out.quiet = l->n.quiet;
	plan->out.verbose = l->n.verbose;
	return 0;
}

/* ---- the manual page */

static const char man_head[] =
	".\\\" Written by netdyno \\-\\-gen man-ntttcp; do not edit.\n"
	".TH NTTTCP 1 " MAN_DATE " \"netdyno " ND_VERSION "\"\n"
	".SH NAME\nntttcp \\- throughput, as NTttcp for Linux and for Windows measure it\n"
	".SH SYNOPSIS\n"
	".B ntttcp\n.RI [ options ]\n.br\n"
	".B netdyno ntttcp\n.RI [ options ]\n"
	".SH DESCRIPTION\n"
	".B ntttcp\nis\n.BR netdyno (1)\nwith the command line, the control protocols and the "
	"reports of two tools of that name.\n"
	"Which of the two command lines is meant follows from the words: switches that only\n"
	".B ntttcp.exe\nhas, sizes behind\n.B \\-l\nor\n.BR \\-n ,\n"
	".B \\-l\nwith\n.B \\-u\nand\n.BR \\-m ,\n"
	".B \\-a\nwithout an address, or two mappings without a switch of Linux stand for Windows; "
	"all else is Linux.\n"
	"The names\n.B ntttcps\nand\n.B ntttcpr\nare the Windows tool as sender and receiver.\n"
	".B \\-\\-dialect=linux\nor\n.B \\-\\-dialect=windows\noverrides.\n"
	"Without any word all switches are listed.\n"
	"Dashes may be the long ones of a text processor.\n"
	".PP\nWhat is clamped or ignored is told in a line.\n";

static const char man_differs[] =
	".SH WHERE IT DIFFERS\n"
	"One receiver serves senders of Linux and of Windows, each with its synchronisation or without\n"
	".RB ( \\-N ,\n.BR \\-ns );\na sender finds out which receiver it has.\n"
	"The test takes exactly the time of\n.BR \\-t ;\na receiver without\n.B \\-t\n"
	"takes the sender\\(aqs. Nothing waits for ever: a port that refuses ends the sender at once, "
	"and a receiver ends when its senders have gone.\n"
	"Exit codes tell whether there is a result.\n"
	".PP\n"
	"Connections may be as many as the system gives descriptors for; threads of\n.B \\-P\nand\n"
	".B \\-n\nare told as they were asked for, but no more than the CPUs can use are started.\n"
	".B \\-m\nmay name several receivers. A rate of\n.B \\-B\nis kept without spinning, from the "
	"first byte on.\n"
	".PP\n"
	"With UDP between two of ours both ends add what was received and lost.\n"
	"In tables of Windows, MB and KB are of 1024 and mbps of 1000; DPCs are the softirqs of the "
	"network, packets are those of the network namespace.\n";

static const char man_exit[] =
	".SH EXIT STATUS\n"
	".TP\n.B 0\nThe test is done, or has ended early with a result that says so.\n"
	".TP\n.B 1\nThe run failed.\n"
	".TP\n.B 3\nWindows: the peer did not answer, refused, or broke the protocol.\n"
	".TP\n.B 9\nWindows: the command line is wrong.\n"
	".TP\n.B 23\nLinux: a switch is unknown, or\n.B \\-h\nwas given.\n"
	".TP\n.B 24\nLinux: the peer did not answer, refused, or broke the protocol.\n"
	".TP\n.B 255\nLinux: a value does not fit.\n"
	".SH SEE ALSO\n.BR netdyno (1)\n";

void nd_ntttcp_man(struct nd_str *out)
{
	nd_str_add(out, man_head);
	nd_str_add(out, ".SH OPTIONS AS ON LINUX\n");
	nd_opt_roff(out, nd_ntttcp_linux_set.description, true);
	nd_str_add(out, "\n.PP\n");
	nd_opt_man(&nd_ntttcp_linux_set, out);
	nd_str_add(out, ".SH OPTIONS AS ON WINDOWS\n");
	nd_opt_roff(out, nd_ntttcp_windows_set.description, true);
	nd_str_add(out, "\n.PP\n");
	nd_opt_man(&nd_ntttcp_windows_set, out);
	nd_str_add(out, man_differs);
	nd_str_add(out, ".SH EXAMPLES\n");
	nd_persona_man_examples(nd_ntttcp_linux_set.examples, out);
	nd_persona_man_examples(nd_ntttcp_windows_set.examples, out);
	nd_str_add(out, man_exit);
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
