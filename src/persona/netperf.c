/* SPDX-License-Identifier: MIT */
/*
 * netperf's face: its options before "--". Much is forgiven, as it always was: stray words do nothing, and of two
 * equal options the later one wins.
 */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/log.h"
#include "persona/netperf.h"
#include "report/report.h"

#define LINE             struct nd_netperf_line
#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, LINE, member)
#define GIVEN(member)    .set_offset = (uint32_t)ND_FIELD_OF(bool, LINE, member)
#define CUSTOM(name)     .type = ND_OPT_CUSTOM, .parse = nd_np_parse_##name
#define TWO(member)      AT(struct nd_np_two, member)
#define WORDS(member)    AT(struct nd_np_words, member)
#define MAX_PARALLEL     1000
#define MAX_FILE         31u /* bytes of the name that travels */
#define ITERATIONS_MIN   3
#define ITERATIONS_MAX   30
#define ITERATIONS       10 /* when only a level is given */
#define WIDTH_PERCENT    5
#define VERSION          "Netperf version 2.7.0\n"
#define REFUSED          255

/* clang-format off */
static const struct nd_opt address_rows[] = {
	{ .letter = 'H', CUSTOM(first_words), WORDS(host), .metavar = "HOST[,FAMILY]", .section = "Addresses",
	  .common = true, .help = "where netserver runs, by default on this machine",
	  .more = "FAMILY is 4, 6 or unspec. Words without an option are ignored, a host's name too." },
	{ .letter = 'p', CUSTOM(first_words), WORDS(ports), .metavar = "PORT[,OWN]", .common = true,
	  .help = "netserver's port (" ND_NETPERF_PORT "), and this end's" },
	{ .letter = 'L', CUSTOM(first_words), WORDS(local), .metavar = "HOST[,FAMILY]", .help = "address of this end" },
	{ .letter = '4', .type = ND_OPT_FLAG, AT(bool, ipv4), .common = true, .help = "IPv4" },
	{ .letter = '6', .type = ND_OPT_FLAG, AT(bool, ipv6), .common = true, .help = "IPv6" },
	{ .letter = 'N', .type = ND_OPT_FLAG, AT(bool, n.no_control),
	  .help = "no control connection: the peer is an echo or discard service" },
	{ .letter = 'Z', CUSTOM(phrase), AT(const char *, n.passphrase), .metavar = "PHRASE",
	  .help = "what netserver wants to hear first" },
	{ 0 }
};

static const struct nd_opt run_rows[] = {
	{ .letter = 't', CUSTOM(text), AT(const char *, test), .preset = "TCP_STREAM", .metavar = "TEST",
	  .section = "Test", .common = true, .help = "which test, in any case of letters",
	  .more = "TCP_STREAM, TCP_MAERTS, TCP_RR, TCP_CRR, UDP_STREAM, UDP_RR, OMNI, TCP_SENDFILE, TCP_CC, TCP_MSS, "
		  "LOC_CPU, REM_CPU or UUID." },
	{ .letter = 'l', CUSTOM(size), AT(int64_t, n.length), .preset = "10", .metavar = "N", .common = true,
	  .help = "seconds; -N: bytes, transactions; 0: endless" },
	{ .letter = 's', CUSTOM(size), AT(int64_t, wait_s), .preset = "0", .metavar = "SECONDS",
	  .help = "wait between set-up and data" },
	{ .letter = 'i', CUSTOM(sizes), TWO(iterations), GIVEN(has_iterations), .metavar = "MAX[,MIN]",
	  .help = "repeat until confident, 3 to 30 times" },
	{ .letter = 'I', CUSTOM(first_sizes), TWO(level), GIVEN(has_level), .metavar = "LEVEL[,WIDTH]",
	  .help = "95 or 99 percent sure, within a width of so many percent (5)" },
	{ .letter = 'r', .type = ND_OPT_FLAG, AT(bool, n.result_only), .help = "confidence of the throughput alone" },
	{ .letter = 'b', CUSTOM(first_sizes), TWO(burst), .metavar = "N[,N]", .common = true,
	  .help = "so many sends in the time of -w (here, there)" },
	{ .letter = 'w', CUSTOM(first_times), TWO(interval_ns), .metavar = "TIME[,TIME]", .common = true,
	  .help = "the time of a burst: ms, or with us, ms, s" },
	{ .name = "parallel", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.parallel), .min = 1,
	  .max = MAX_PARALLEL, .preset = "1", .metavar = "N", .common = true,
	  .help = "so many flows of one process, in one result",
	  .more = "This is not in netperf. Every flow has a control connection of its own, to any netserver." },
	{ .name = "losses", .type = ND_OPT_FLAG, AT(bool, n.losses), .common = true,
	  .help = "UDP_STREAM: one more row, where datagrams were lost",
	  .more = "This is not in netperf. Only our netserver tells of its end; --parallel has that row anyway." },
	{ 0 }
};

static const struct nd_opt system_rows[] = {
	{ .letter = 'T', CUSTOM(sizes), TWO(bound), .metavar = "CPU[,CPU]", .section = "System", .common = true,
	  .help = "CPU of this end, and of netserver" },
	{ .letter = 'c', CUSTOM(rate), AT(double, n.local_rate), GIVEN(n.local_cpu), .optional = "auto",
	  .metavar = "RATE", .common = true, .help = "measure the CPU of this end" },
	{ .letter = 'C', CUSTOM(rate), AT(double, n.remote_rate), GIVEN(n.remote_cpu), .optional = "auto",
	  .metavar = "RATE", .common = true, .help = "measure the CPU of netserver's end" },
	{ .letter = 'y', CUSTOM(sizes), TWO(priority), .metavar = "N[,N]",
	  .help = "priority of the data sockets (here, there)" },
	{ .letter = 'Y', CUSTOM(tos), TWO(tos), .metavar = "TOS[,TOS]",
	  .help = "type of service: 0..255, or a name such as cs5 or ef" },
	{ .letter = 'S', .type = ND_OPT_FLAG, AT(bool, n.keepalive), .help = "SO_KEEPALIVE on the data sockets" },
	{ .letter = 'F', CUSTOM(first_words), WORDS(fill), .metavar = "FILE[,FILE]",
	  .help = "fill buffers from a file (here, there)",
	  .more = "What the file holds, over and over; TCP_SENDFILE sends it. Our netserver opens no file that a client names." },
	{ .letter = 'a', CUSTOM(sizes), TWO(local_align), .metavar = "N[,N]",
	  .help = "alignment of this end's send and receive buffers" },
	{ .letter = 'A', CUSTOM(sizes), TWO(remote_align), .metavar = "N[,N]", .help = "of the other end's" },
	{ .letter = 'o', CUSTOM(sizes), TWO(local_offset), .metavar = "N[,N]",
	  .help = "offset of this end's send and receive buffers" },
	{ .letter = 'O', CUSTOM(sizes), TWO(remote_offset), .metavar = "N[,N]", .help = "of the other end's" },
	{ .letter = 'W', CUSTOM(sizes), TWO(width), .metavar = "N[,N]", .help = "buffers in the send and receive ring" },
	{ .letter = 'n', CUSTOM(nothing), .metavar = "N", .help = "how many CPUs there are: has no effect" },
	{ .letter = 'k', CUSTOM(nothing), .metavar = "N[,N]", .hidden = true, .help = "has no effect" },
	{ .letter = 'K', CUSTOM(nothing), .metavar = "N[,N]", .hidden = true, .help = "has no effect" },
	{ 0 }
};

static const struct nd_opt output_rows[] = {
	{ .letter = 'D', CUSTOM(interim), AT(uint64_t, n.interim_ns), .metavar = "SECONDS[,UNITS]", .section = "Output",
	  .common = true, .help = "a line each so many seconds (0.2)" },
	{ .letter = 'f', CUSTOM(unit), AT(int64_t, n.unit), .metavar = "UNIT", .common = true,
	  .help = "bit/s: b k m g; byte/s: B K M G; transactions/s: x" },
	{ .letter = 'P', CUSTOM(size), AT(int64_t, banner), .preset = "1", .metavar = "0|1", .common = true,
	  .help = "0: no banner and no titles" },
	{ .letter = 'v', CUSTOM(size), AT(int64_t, verbosity), .preset = "1", .metavar = "N", .common = true,
	  .help = "0: the result alone; 2: more" },
	{ .letter = 'B', CUSTOM(text), AT(const char *, n.brand), .metavar = "TEXT",
	  .help = "text behind the result, with -P 0" },
	{ .letter = 'j', .type = ND_OPT_FLAG, AT(bool, n.keep_stats), .help = "keep the latency of each operation" },
	{ .letter = 'd', .type = ND_OPT_FLAG, AT(bool, has_debug), .help = "show control messages on stderr" },
	{ .letter = 'V', .type = ND_OPT_FLAG, AT(bool, wants_version), .help = "show the version of netperf that this is" },
	{ .name = "format", .type = ND_OPT_ENUM, AT(const char *, format), .values = nd_writer_names,
	  .metavar = "FORMAT", .help = "the report in another form; this is not in netperf" },
	{ 0 }
};

/* clang-format on */

static const struct nd_opt *const arrays[] = { address_rows, run_rows, system_rows, output_rows,
					       NULL };

const struct nd_opt_set nd_netperf_set = {
	.prog = "netperf",
	.operands = "[-- TEST OPTIONS]",
	.summary = "throughput and transactions as netperf measures and reports them",
	.description =
		"Of two values with a comma between them either may be left out: \",5\" sets the second alone.\n"
		"Behind a number K, M and G are powers of 1024, k, m and g of 1000.\n"
		"A value in brackets may be left out, or stand in the next word.\n"
		"What stands behind -- is for the test; -- -h lists it.",
	.examples = "netperf -H 192.0.2.1 -t TCP_STREAM -l 30\tthroughput of one connection\n"
		    "netperf -H 192.0.2.1 -t UDP_STREAM -- -m 1\tpackets of one byte\n"
		    "netperf -H 192.0.2.1 -t TCP_RR -c -C\ttransactions, and what they cost",
	.rows = arrays,
	.max_operands = UINT32_MAX,
};

/* ---- tests */

enum nd_netperf_test nd_netperf_test_find(const char *name)
{
	int i;

	for (i = 0; i < ND_NP_TESTS; i++)
		if (!strcasecmp(nd_netperf_test_names[i], name))
			break;
	return (enum nd_netperf_test)i;
}

bool nd_netperf_is_old(enum nd_netperf_test test)
{
	return test == ND_NP_TCP_SENDFILE || test == ND_NP_TCP_CC || test == ND_NP_TCP_MSS;
}

void *nd_netperf_make_line(struct nd_plan *plan)
{
	LINE *l = nd_arena_alloc(&plan->arena, 1, sizeof(*l));
	const struct nd_np_two none = { -1, -1 };

	if (!l)
		return NULL;
	l->plan = plan;
	l->n.command = plan->host; /* choose() left it there */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread yet */
	l->n.shows_tcp_info = getenv("DUMP_TCP_INFO") != NULL;
	plan->host = NULL;
	l->local_align = l->remote_align = (struct nd_np_two){ 8, 8 };
	l->bound = l->priority = l->tos = none;
	l->local_bufs = l->remote_bufs = l->turn = l->send = l->recv = none;
	l->test_width = l->route = l->timeout_s = -1;
	return l;
}

/* ---- settings that depend on one another */

static int settle_test_name(LINE *l, struct nd_err *err)
{
	char name[41];

	l->n.test = nd_netperf_test_find(l->test);
	if (l->n.test < ND_NP_TESTS)
		return 0;
	l->plan->exits.usage_on_stdout = true;
	(void)snprintf(name, sizeof(name), "%s", l->test); /* the head of a long one is enough */
	for (char *p = name; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return nd_np_refuse(l, 1, err,
			    "The test you requested (%s) is unknown to this netperf.\n"
			    "Please verify that you have the correct test name, \n"
			    "and that test family has been compiled into this netperf.",
			    name);
}

static int settle_addresses(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;
	enum nd_af local_af = ND_AF_ANY;
	uint64_t port = 0;
	int r = 0;

	if (l->ipv4 || l->ipv6)
		n->control_af = l->ipv6 ? ND_AF_IPV6 : ND_AF_IPV4;
	if (l->local.second)
		r = nd_np_family(l, "-L", l->local.second, &local_af, err);
	if (r == 0 && l->host.second)
		r = nd_np_family(l, "-H", l->host.second, &n->control_af, err);
	if (n->control_af == ND_AF_ANY)
		n->control_af = local_af;
	n->data_af = n->control_af;
	n->local_host = l->local.first;
	l->plan->host = l->host.first;
	if (!l->host.first)
		l->plan->host = n->control_af == ND_AF_IPV6 ? "::1" : "localhost";
	n->host = l->plan->host;
	if (r == 0)
		r = nd_np_read_port(l, "-p", l->ports.first ?: ND_NETPERF_PORT, &port, err);
	l->plan->port = port;
	if (r == 0 && l->ports.second)
		r = nd_np_read_port(l, "-p", l->ports.second, &n->local_port, err);
	if (r == 0 && port == 0)
		r = nd_np_refuse(l, 1, err, "-p: '0' is no port of netserver");
	return r;
}

static uint64_t clamp_iterations(int64_t v)
{
	return (uint64_t)ND_MAX(ND_MIN(v, ITERATIONS_MAX), ITERATIONS_MIN);
}

/* Either option brings the other's usual values. */
static int settle_confidence(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;

	n->iterations_max = n->iterations_min = 1;
	if (!l->has_iterations && !l->has_level)
		return 0;
	if (!l->has_level)
		l->level.first = 99;
	if (l->level.first != 95 && l->level.first != 99) {
		l->plan->exits.usage_on_stdout = true;
		return nd_np_refuse(l, REFUSED, err,
				    "Only 95%% and 99%% confidence level is supported");
	}
	if (!l->level.second)
		l->level.second = WIDTH_PERCENT;
	if (l->level.second < 1 || l->level.second > 100)
		return nd_np_refuse(l, REFUSED, err, "-I: the width is outside 1..100 percent");
	if (!l->has_iterations)
		l->iterations = (struct nd_np_two){ ITERATIONS, ITERATIONS_MIN };
	n->confidence = (uint64_t)l->level.first;
	n->confidence_width = (double)l->level.second / 100;
	n->iterations_min = clamp_iterations(l->iterations.second);
	n->iterations_max = ND_MAX(clamp_iterations(l->iterations.first), n->iterations_min);
	return 0;
}

static int settle_pace(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;

	if (l->burst.first < 0 || l->burst.second < 0)
		return nd_np_refuse(l, 1, err, "-b: a negative number");
	n->burst = (uint64_t)l->burst.first;
	n->remote_burst = (uint64_t)l->burst.second;
	if (n->burst)
		n->burst_ns = l->interval_ns.first ? (uint64_t)l->interval_ns.first : ND_NS_PER_MS;
	if (n->remote_burst)
		n->remote_burst_ns =
			l->interval_ns.second ? (uint64_t)l->interval_ns.second : ND_NS_PER_MS;
	return 0;
}

/* A CPU that there is not has always been ignored. */
static int64_t known_cpu(int64_t cpu)
{
	cpu_set_t ours;

	if (cpu < 0)
		return -1;
	CPU_ZERO(&ours);
	if (sched_getaffinity(0, sizeof(ours), &ours) < 0 ||
	    (cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, &ours)))
		return cpu;
	nd_log(ND_LOG_WARN, "-T: there is no CPU %lld here, it is ignored", (long long)cpu);
	return -1;
}

static void settle_pairs(LINE *l)
{
	struct nd_netperf *n = &l->n;

	n->send_align = (struct nd_netperf_pair){ l->local_align.first, l->remote_align.first };
	n->recv_align = (struct nd_netperf_pair){ l->local_align.second, l->remote_align.second };
	n->send_offset = (struct nd_netperf_pair){ l->local_offset.first, l->remote_offset.first };
	n->recv_offset =
		(struct nd_netperf_pair){ l->local_offset.second, l->remote_offset.second };
	n->send_width = (struct nd_netperf_pair){ l->width.first, l->width.first };
	n->recv_width = (struct nd_netperf_pair){ l->width.second, l->width.second };
	n->cpu = (struct nd_netperf_pair){ known_cpu(l->bound.first), l->bound.second };
	n->priority = (struct nd_netperf_pair){ l->priority.first, l->priority.second };
	n->tos = (struct nd_netperf_pair){ l->tos.first, l->tos.second };
}

static int settle_fill(LINE *l, struct nd_err *err)
{
	char words[96];

	l->n.local_file = l->fill.first;
	l->n.remote_file = l->fill.second;
	if (l->fill.second && strlen(l->fill.second) > MAX_FILE)
		return nd_np_refuse(l, REFUSED, err,
				    "-F: Remote fill file name must be less than 32 characters");
	if (l->fill.first && access(l->fill.first, R_OK) < 0)
		return nd_np_refuse(l, 1, err, "-F: '%.80s': %s", l->fill.first,
				    nd_strerror(errno, words, sizeof(words)));
	return 0;
}

static int settle_rest(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;

	if (n->length > (int64_t)(ND_MAX_NS / ND_NS_PER_S))
		return nd_np_refuse(l, 1, err, "-l: '%lld' seconds are over 24h",
				    (long long)n->length);
	if (l->wait_s < 0 || l->wait_s > (int64_t)(ND_MAX_NS / ND_NS_PER_S))
		return nd_np_refuse(l, 1, err, "-s: '%lld' seconds are outside 0..24h",
				    (long long)l->wait_s);
	n->wait_ns = (uint64_t)l->wait_s * ND_NS_PER_S;
	n->banner = l->banner != 0;
	n->verbosity = (uint64_t)ND_MAX(l->verbosity, 0);
	l->plan->trace_control = l->has_debug;
	return 0;
}

int nd_netperf_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
		      struct nd_err *err)
{
	static int (*const steps[])(LINE *, struct nd_err *) = {
		settle_test_name, settle_addresses, settle_confidence,
		settle_pace,      settle_fill,      settle_rest,
	};
	LINE *l = target;
	size_t i;
	int r = 0;

	(void)plan; /* the line has it */
	for (i = 0; r == 0 && i < ND_COUNTOF(steps); i++)
		r = steps[i](l, err);
	if (r < 0)
		return r;
	settle_pairs(l);
	r = nd_netperf_settle_test(l, operands, err);
	return r < 0 ? r : nd_netperf_fill(l, err);
}

/* ---- the face */

static const struct nd_face faces[] = {
	{ .plan_verb = ND_VERB_STREAM,
	  .set = &nd_netperf_set,
	  .target = nd_netperf_make_line,
	  .settle = nd_netperf_settle,
	  .usage_on_stderr = true,
	  .exits = { .help = 1,
		     .usage = 1,
		     .peer = REFUSED,
		     .peer_on_stdout = true,
		     .prefix = "netperf: " } },
	{ .set = NULL },
};

static const char *join_words(struct nd_words *w)
{
	nd_auto_str text = { 0 };

	for (int i = 0; i < w->argc; i++)
		nd_str_addf(&text, "%s%s", i ? " " : "", w->argv[i]);
	return nd_str_ok(&text) ? nd_arena_dup(&w->plan->arena, nd_str_text(&text)) : NULL;
}

static bool is_old_set(const struct nd_words *w)
{
	const char *name = "";

	for (int i = 1; i < w->argc && strcmp(w->argv[i], "--") != 0; i++)
		if (!strncmp(w->argv[i], "-t", 2))
			name = w->argv[i] + 2;
	return nd_netperf_is_old(nd_netperf_test_find(name));
}

/* -o ?: what can be selected, on one line or one in each. */
static bool list_selectors(struct nd_words *w)
{
	const char *name;
	char letter = 0;
	size_t i;

	for (int k = 1; k < w->argc; k++)
		if (w->argv[k][0] == '-' && w->argv[k][1] && strchr("oOk", w->argv[k][1]) &&
		    !strcmp(w->argv[k] + 2, "?"))
			letter = w->argv[k][1];
	for (i = 0; letter && (name = nd_nprep_selector(i)); i++)
		nd_str_addf(w->out, "%s%c", name, letter == 'O' ? '\n' : ',');
	nd_str_add(w->out, letter ? "OUTPUT_END\n" : "");
	return letter != 0;
}

/* What is asked is not a test. */
static int print_instead(struct nd_words *w)
{
	w->plan->exits = faces[0].exits;
	if (nd_netperf_asks(w, 'V', false)) {
		nd_str_add(w->out, VERSION);
		w->plan->exits.help = 0;
		return ND_NEXT_PRINT;
	}
	if (list_selectors(w))
		return ND_NEXT_PRINT;
	if (!nd_netperf_asks(w, 'h', true))
		return ND_NEXT_RUN;
	nd_opt_help(is_old_set(w) ? &nd_netperf_old_set : &nd_netperf_test_set, true, w->out);
	return ND_NEXT_PRINT;
}

static int choose(struct nd_words *w, const struct nd_face **ret, struct nd_err *err)
{
	const char *command = join_words(w);
	int next;

	if (!command || nd_netperf_words(w) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	next = print_instead(w);
	w->plan->host = command; /* until there is a line to keep it */
	*ret = &faces[0];
	return next;
}

const struct nd_persona nd_persona_netperf = {
	.name = "netperf",
	.help = "tests with the words, protocol and reports of netperf",
	.faces = faces,
	.dialect = "netperf",
	.choose = choose,
};
