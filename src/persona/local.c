/* SPDX-License-Identifier: MIT */
/* The verbs that look at this machine: watch, irq, doctor. Their rows and what rows cannot express. */
#include <errno.h>
#include <string.h>

#include "persona/int.h"
#include "plan/local.h"

#define WATCH(type, member)  .offset = (uint32_t)ND_FIELD_OF(type, struct nd_watch_ask, member)
#define IRQ(type, member)    .offset = (uint32_t)ND_FIELD_OF(type, struct nd_irq_ask, member)
#define DOCTOR(type, member) .offset = (uint32_t)ND_FIELD_OF(type, struct nd_doctor_ask, member)
#define MAX_SAMPLES          1000000000ull
#define MAX_INTERVAL_NS      (3600 * ND_NS_PER_S)

/* clang-format off */
static const struct nd_opt_choice watch_formats[] = {
	{ "text",       ND_LOCAL_TEXT,       "lines; on a terminal a table that renews itself" },
	{ "csv",        ND_LOCAL_CSV,        "a row per interval and interface, with exact counts" },
	{ "json",       ND_LOCAL_JSON,       "one document" },
	{ "json-lines", ND_LOCAL_JSON_LINES, "an object for each interval" },
	{ NULL, 0, NULL }
};

static const struct nd_opt_choice formats[] = {
	{ "text", ND_LOCAL_TEXT, "for people" },
	{ "json", ND_LOCAL_JSON, "one document" },
	{ NULL, 0, NULL }
};

static const struct nd_opt watch_rows[] = {
	{ .letter = 'i', .name = "interval", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS,
	  WATCH(uint64_t, interval_ns), .min = ND_MIN_WATCH_NS, .max = MAX_INTERVAL_NS, .preset = "1s",
	  .section = "Test", .common = true, .help = "time between two samples" },
	{ .letter = 'n', .name = "samples", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  WATCH(uint64_t, samples), .min = 1, .max = MAX_SAMPLES,
	  .common = true, .help = "end after so many, by default when interrupted",
	  .more = "An interrupt tells what came since the last sample, then average, least, most and 95th percentile of the "
		  "intervals from each interface's first to its last packet." },
	{ .letter = 'o', .name = "output", .type = ND_OPT_INT, .choices = watch_formats,
	  WATCH(enum nd_local_format, format), .preset = "text", .section = "Output", .common = true,
	  .help = "format" },
	{ .name = "sar", .type = ND_OPT_FLAG, WATCH(bool, sar), .common = true,
	  .help = "the layout of sar -n DEV, or of sadf -j",
	  .more = "kB are 1024 bytes there, as in sar. Its %ifutil is 0 where a link tells no speed; ours is '-'." },
	{ .letter = 'v', .name = "verbose", .type = ND_OPT_FLAG, WATCH(bool, verbose), .common = true,
	  .help = "queues, interrupts, CPUs and protocols, too",
	  .more = "Drops and what limits are told without it, whenever there are any." },
	{ .letter = 'q', .name = "quiet", .type = ND_OPT_FLAG, WATCH(bool, quiet), .common = true,
	  .help = "only what is told at the end" },
	{ .name = "lines", .type = ND_OPT_FLAG, WATCH(bool, plain), .help = "lines on a terminal, too" },
	{ 0 }
};
/* clang-format on */

static const struct nd_opt *const watch_arrays[] = { watch_rows, NULL };

const struct nd_opt_set nd_persona_watch_set = {
	.prog = "netdyno watch",
	.operands = "[IFACE...]",
	.summary = "show what interfaces, queues and CPUs are doing",
	.description =
		"Reads this machine's counters each interval: packets, bytes, drops and errors of each interface,\n"
		"where packets were lost, and what limits now. Patterns such as 'eth*' name several interfaces.\n"
		"Nothing is shown as a rate that began anew in the interval.",
	.examples =
		"netdyno watch\tall interfaces, each second, until Ctrl-C\n"
		"netdyno watch eth0 -i 100ms -n 50 -o csv\tfive seconds in tenths, for a spreadsheet\n"
		"netdyno watch --sar eth0\tfor scripts that read sar -n DEV 1",
	.rows = watch_arrays,
	.max_operands = 1024,
};

/* ---- irq */

/* clang-format off */
static const struct nd_opt irq_rows[] = {
	{ .name = "cpus", .type = ND_OPT_STRING, IRQ(const char *, cpus), .metavar = "LIST",
	  .section = "Spread", .common = true, .help = "CPUs to use, such as 0,2-5",
	  .more = "By default those on the interface's node that are online and not isolated, one thread of each core first." },
	{ .name = "exclude", .type = ND_OPT_STRING, IRQ(const char *, exclude), .metavar = "LIST",
	  .common = true, .help = "CPUs to leave alone, such as a test's" },
	{ .name = "stride", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, IRQ(uint64_t, stride),
	  .min = 1, .max = 1024, .common = true, .help = "every so many-th CPU, by number",
	  .more = "2 is what scripts of cloud guides do: CPUs 0, 2, 4 and so on." },
	{ .name = "all-nodes", .type = ND_OPT_FLAG, IRQ(bool, all_nodes),
	  .help = "CPUs far from the interface, too" },
	{ .name = "no-xps", .type = ND_OPT_FLAG, IRQ(bool, no_xps),
	  .help = "leave alone which CPUs use which transmit queue" },
	{ .name = "apply", .type = ND_OPT_FLAG, IRQ(bool, apply), .common = true,
	  .help = "write it; without this the writes are only shown",
	  .more = "What was set before is kept in --state, for restore; each write is read back." },
	{ .name = "state", .type = ND_OPT_STRING, IRQ(const char *, state), .metavar = "FILE",
	  .help = "keeps the settings before, /run/netdyno-irq-IFACE" },
	{ .letter = 'o', .name = "output", .type = ND_OPT_INT, .choices = formats,
	  IRQ(enum nd_local_format, format), .preset = "text", .section = "Output", .common = true,
	  .help = "format of show" },
	{ 0 }
};
/* clang-format on */

static const struct nd_opt *const irq_arrays[] = { irq_rows, NULL };

const struct nd_opt_set nd_persona_irq_set = {
	.prog = "netdyno irq",
	.operands = "ACTION IFACE",
	.first = "show spread restore",
	.summary = "show or spread the interrupts of an interface over CPUs",
	.description =
		"ACTION is show, spread or restore. show tells which interrupt serves which queue, where it may run and where it does.\n"
		"spread gives each queue a CPU near the interface, both ways of a queue the same one, and says which\n"
		"files it would write; with --apply it writes them. restore puts back what was there before.",
	.examples = "netdyno irq show eth0\tqueues, interrupts, CPUs, nodes\n"
		    "netdyno irq spread eth0\twhat would be written\n"
		    "netdyno irq spread eth0 --stride 2 --apply\tevery second CPU, written\n"
		    "netdyno irq restore eth0 --apply\tas it was before",
	.rows = irq_arrays,
	.min_operands = 2,
	.max_operands = 2,
};

/* ---- doctor */

/* clang-format off */
static const struct nd_opt doctor_rows[] = {
	{ .letter = 'p', .name = "port", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, DOCTOR(uint64_t, port),
	  .min = 1, .max = UINT16_MAX, .preset = "7575", .metavar = "PORT", .section = "Addresses", .common = true,
	  .help = "the server's port, TCP and UDP" },
	{ .name = "also", .type = ND_OPT_LIST, .commas = true, DOCTOR(struct nd_strv, also),
	  .metavar = "TOOL[:PORT[+PORTS]]", .help = "this firewall is to let in ntttcp, netperf or sockperf, too",
	  .more = "The same words as for serve; their ports are 5001+16, 12865 and 11111, unless told." },
	{ .letter = '4', .name = "ipv4", .type = ND_OPT_FLAG, DOCTOR(bool, ipv4), .help = "IPv4 only" },
	{ .letter = '6', .name = "ipv6", .type = ND_OPT_FLAG, DOCTOR(bool, ipv6), .help = "IPv6 only" },
	{ .name = "iface", .type = ND_OPT_STRING, DOCTOR(const char *, nic), .metavar = "IFACE", .common = true,
	  .help = "interface to look at, else the way to HOST" },
	{ .letter = 'o', .name = "output", .type = ND_OPT_INT, .choices = formats,
	  DOCTOR(enum nd_local_format, format), .preset = "text", .section = "Output", .common = true,
	  .help = "format" },
	{ .letter = 'v', .name = "verbose", .type = ND_OPT_FLAG, DOCTOR(bool, all), .common = true,
	  .help = "list what is in order, too" },
	{ 0 }
};
/* clang-format on */

static const struct nd_opt *const doctor_arrays[] = { doctor_rows, NULL };

const struct nd_opt_set nd_persona_doctor_set = {
	.prog = "netdyno doctor",
	.operands = "[HOST]",
	.summary = "say what would spoil a result, and how to mend it",
	.description =
		"Looks at this machine: interface, interrupts, limits, clocks, CPUs, firewall. With HOST also at the way\n"
		"there: the largest packet that crosses, whether TCP and UDP of its port answer, round trip and clocks,\n"
		"and what the other end tells of itself. Nothing is changed. The exit code is 4 when there are warnings.",
	.examples = "netdyno doctor\tthis machine\n"
		    "netdyno doctor 192.0.2.1\tthe way to a host that runs netdyno serve, too\n"
		    "netdyno doctor -o json\tall checks, for programs",
	.rows = doctor_arrays,
	.max_operands = 1,
};

void *nd_persona_doctor_target(struct nd_plan *plan)
{
	struct nd_doctor_ask *ask = nd_arena_alloc(&plan->arena, 1, sizeof(*ask));

	plan->face = ask;
	return ask;
}

/* The test that tries a port, as a user would type it. */
static struct nd_plan *moment(struct nd_plan *plan, const struct nd_doctor_ask *ask, bool udp,
			      struct nd_err *err)
{
	struct nd_plan *test = nd_arena_alloc(&plan->arena, 1, sizeof(*test));
	const char *port = nd_arena_printf(&plan->arena, "-p%llu", (unsigned long long)ask->port);
	const char *words[] = { "netdyno",
				"stream",
				"-q",
				udp ? "-un20k" : "-n64Ki",
				udp ? "-l1000" : "-t1s",
				"--connect-timeout=2s",
				udp ? "-b400k" : "-P1",
				"--interval=1s",
				port,
				ask->ipv4   ? "-4"
				: ask->ipv6 ? "-6"
					    : "-P1",
				"--",
				ask->host };
	char *argv[ND_COUNTOF(words) + 1] = { NULL };
	nd_auto_str out = { 0 };
	size_t i;

	if (!test) {
		(void)nd_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	for (i = 0; i < ND_COUNTOF(words); i++) {
		argv[i] = nd_arena_alloc(&plan->arena, 1, words[i] ? strlen(words[i]) + 1 : 1);
		if (!argv[i] || !words[i]) {
			(void)nd_fail(err, -ENOMEM, "out of memory");
			return NULL;
		}
		memcpy(argv[i], words[i], strlen(words[i]) + 1);
	}
	if (nd_persona_read((int)ND_COUNTOF(words), argv, test, &out, err) == ND_NEXT_RUN)
		return test;
	nd_plan_done(test);
	return NULL;
}

int nd_persona_doctor_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			     struct nd_err *err)
{
	struct nd_doctor_ask *ask = target;

	plan->serve.also = ask->also;
	if (nd_persona_settle_also(plan, err) < 0)
		return -EINVAL;
	ask->host = operands->n ? operands->v[0] : NULL;
	if (!ask->host)
		return 0;
	if (!*ask->host)
		return nd_fail(err, -EINVAL, "HOST is empty");
	if (ask->ipv4 && ask->ipv6)
		return nd_fail(err, -EINVAL, "-4 and -6 exclude each other");
	plan->tries[0] = ask->tcp = moment(plan, ask, false, err);
	plan->tries[1] = ask->udp = ask->tcp ? moment(plan, ask, true, err) : NULL;
	return ask->udp ? 0 : -EINVAL;
}

/* ---- the others */

void *nd_persona_watch_target(struct nd_plan *plan)
{
	struct nd_watch_ask *ask = nd_arena_alloc(&plan->arena, 1, sizeof(*ask));

	plan->face = ask;
	return ask;
}

int nd_persona_watch_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			    struct nd_err *err)
{
	struct nd_watch_ask *ask = target;

	(void)plan; /* everything is in its face */
	ask->names = *operands;
	if (ask->sar && ask->format == ND_LOCAL_CSV)
		return nd_fail(err, -EINVAL, "--sar goes with -o text, json or json-lines");
	return 0;
}

void *nd_persona_irq_target(struct nd_plan *plan)
{
	struct nd_irq_ask *ask = nd_arena_alloc(&plan->arena, 1, sizeof(*ask));

	plan->face = ask;
	return ask;
}

int nd_persona_irq_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			  struct nd_err *err)
{
	static const char *const actions[] = { "show", "spread", "restore", NULL };

	struct nd_irq_ask *ask = target;
	int action = nd_enum_find(actions, operands->v[0]);

	(void)plan; /* everything is in its face */
	if (action < 0)
		return nd_fail(err, -EINVAL, "'%.80s' is none of show, spread, restore%s",
			       operands->v[0],
			       nd_enum_find(actions, operands->v[1]) < 0
				       ? ""
				       : ": the interface stands behind it");
	ask->action = (enum nd_irq_action)action;
	ask->name = operands->v[1];
	if (!*ask->name || strchr(ask->name, '/'))
		return nd_fail(err, -EINVAL, "'%.80s' is not the name of an interface", ask->name);
	if (ask->format != ND_LOCAL_TEXT && ask->action != ND_IRQ_SHOW)
		return nd_fail(err, -EINVAL, "-o goes with show");
	return 0;
}
