/* SPDX-License-Identifier: MIT */
/* NTttcp's two command lines: those of articles and harnesses as typed, and a row for each rule. */
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

#include "engine/engine.h"
#include "frame/frame.h"
#include "persona-words.h"
#include "plan/ntttcp.h"

#define S    ND_NS_PER_S
#define DASH "\xe2\x80\x93" /* U+2013 */

struct line {
	struct words words;
	struct nd_plan plan;
	struct nd_str out;
	struct nd_err err;
	const struct nd_ntttcp *n;
};

/* @text: the whole command line. */
static int read_line(struct line *l, const char *text)
{
	int r;

	*l = (struct line){ .words.n = 0 };
	words_set(&l->words, "", text);
	r = nd_persona_read(l->words.n, l->words.v, &l->plan, &l->out, &l->err);
	l->n = nd_ntttcp_of(&l->plan);
	return r;
}

static void done(struct line *l)
{
	nd_plan_done(&l->plan);
	nd_str_done(&l->out);
}

static const struct nd_target *target(const struct line *l, uint64_t i)
{
	assert_true(i < l->plan.targets.n);
	return (const struct nd_target *)l->plan.targets.v + i;
}

/* ---- commands of articles and harnesses */

struct command_case {
	const char *words;
	bool windows, sender;
	const char *host;
	uint64_t port, ports, flows; /* flows: 0 for a receiver */
	uint64_t seconds, warmup_s, cooldown_s, bytes;
	uint64_t notes;
};

/* clang-format off */
static const struct command_case commands[] = {
	/* AWS, TCP: what a shell makes of c:\bench.xml */
	{ "ntttcp -r -p 80 -a 6 -t 60 -cd 5 -wu 5 -v -xml c:bench.xml -m 1,0,192.168.1.4 1,1,192.168.1.4",
	  true, false, "192.168.1.4", 80, 2, 0, 60, 5, 5, 65536, 0 },
	{ "ntttcp -s -p 80 -a -t 60 -cd 5 -wu 5 -m 1,0,192.168.1.4 1,1,192.168.1.4",
	  true, true, "192.168.1.4", 80, 2, 2, 60, 5, 5, 65536, 0 },
	/* AWS, UDP: with the dashes of the page */
	{ "ntttcp " DASH "r " DASH "u -p 80 " DASH "t 60 " DASH "cd 5 " DASH "wu 5 " DASH "v " DASH "xml c:bench.xml "
	  DASH "m 1,0,192.168.1.4 1,1,192.168.1.4", true, false, "192.168.1.4", 80, 2, 0, 60, 5, 5, 65507, 0 },
	{ "ntttcp -s " DASH "u -p 80 -t 60 -cd 5 -wu 5 -m 1,0,192.168.1.4 1,1,192.168.1.4",
	  true, true, "192.168.1.4", 80, 2, 2, 60, 5, 5, 128, 0 },
	/* Azure */
	{ "ntttcp -r -m 4,*,10.0.0.5 -t 10 -P 1", false, false, "10.0.0.5", 5001, 1, 0, 10, 0, 0, 65536, 0 },
	{ "ntttcp -s -m 4,*,10.0.0.5 -t 10 -P 1", false, true, "10.0.0.5", 5001, 1, 1, 10, 0, 0, 131072, 0 },
	{ "ntttcp -r -m 4,*,10.0.0.5 -t 300", false, false, "10.0.0.5", 5001, 4, 0, 300, 0, 0, 65536, 0 },
	{ "ntttcp -s -m 4,*,10.0.0.5 -t 300", false, true, "10.0.0.5", 5001, 4, 4, 300, 0, 0, 131072, 0 },
	{ "ntttcp -s -m 4,*,10.0.0.5 -ns -t 300", true, true, "10.0.0.5", 5001, 4, 4, 300, 0, 0, 65536, 0 },
	{ "C:/tools/ntttcp.exe -s -m 4,*,10.0.0.5 -t 300", true, true, "10.0.0.5", 5001, 4, 4, 300, 0, 0, 65536, 0 },
	/* LISA */
	{ "/usr/local/bin/ntttcp -r10.0.0.4 -P 64 -t 10 -W 1 -C 1 -b 64k --show-nic-packets lo -e "
	  "--show-dev-interrupts Hypervisor callback interrupts",
	  false, false, "10.0.0.4", 5001, 64, 0, 10, 1, 1, 65536, 1 },
	{ "ntttcp -s10.0.0.4 -P 64 -n 320 -t 10 -W 1 -C 1 -b 64k --show-nic-packets lo --show-dev-interrupts mlx",
	  false, true, "10.0.0.4", 5001, 64, 20480, 10, 1, 1, 65536, 0 },
	{ "ntttcp -s10.0.0.4 -P 1 -n 1 -a 10.0.0.5 -u -b 1k -N", false, true, "10.0.0.4", 5001, 1, 1, 60, 0, 0, 1024, 0 },
	/* PerfKitBenchmarker */
	{ "ntttcp -xml -t 60 -p 5001 -r -m 16,*,0.0.0.0 -rb 64K -sb 64K", true, false, "0.0.0.0", 5001, 16, 0, 60, 0, 0, 65536, 0 },
	{ "ntttcp -xml -t 60 -p 5001 -l 1400 -s -u -m 16,*,10.0.0.4 -rb 64K -sb 64K",
	  true, true, "10.0.0.4", 5001, 16, 16, 60, 0, 0, 1400, 0 },
	/* defaults */
	{ "ntttcp -s h", false, true, "h", 5001, 16, 64, 60, 0, 0, 131072, 0 },
	{ "netdyno ntttcp -s h", false, true, "h", 5001, 16, 64, 60, 0, 0, 131072, 0 },
	{ "ntttcp -u -s h", false, true, "h", 5001, 16, 64, 60, 0, 0, 65507, 0 },
	{ "ntttcp -u -r", false, false, NULL, 5001, 16, 0, 60, 0, 0, 65507, 0 },
	{ "ntttcp -r", false, false, NULL, 5001, 16, 0, 60, 0, 0, 65536, 0 },
	{ "ntttcp -t 5", false, false, NULL, 5001, 16, 0, 5, 0, 0, 65536, 1 },
	{ "ntttcp -s -t 1", false, true, "0.0.0.0", 5001, 16, 64, 1, 0, 0, 131072, 1 },
	{ "ntttcp -s -6", false, true, "::", 5001, 16, 64, 60, 0, 0, 131072, 1 },
	{ "ntttcps -m 2,*,h -t 3", true, true, "h", 5001, 2, 2, 3, 0, 0, 65536, 0 },
	{ "ntttcpr -m 2,*,h -t 3", true, false, "h", 5001, 2, 0, 3, 0, 0, 65536, 0 },
	{ "netdyno ntttcpr -m 2,*,h -t 3", true, false, "h", 5001, 2, 0, 3, 0, 0, 65536, 0 },
	/* Linux: the later one wins */
	{ "ntttcp -s -n 8 -m 4,*,h", false, true, "h", 5001, 4, 4, 60, 0, 0, 131072, 0 },
	{ "ntttcp -s -m 4,*,h -n 8", false, true, "h", 5001, 4, 32, 60, 0, 0, 131072, 0 },
	{ "ntttcp -s -m 4,*,h -n 8 -l 3 -s g -t 7 -t 9", false, true, "g", 5001, 4, 96, 9, 0, 0, 131072, 0 },
	{ "ntttcp -s g -m 4,*,h", false, true, "h", 5001, 4, 4, 60, 0, 0, 131072, 0 },
	{ "ntttcp -s g -m 4", false, true, "g", 5001, 4, 4, 60, 0, 0, 131072, 0 },
	{ "ntttcp -r -m 4,*,*", false, false, NULL, 5001, 4, 0, 60, 0, 0, 65536, 0 },
	/* Linux: values in the next word, in clusters, negative, clamped */
	{ "ntttcp -VQs h", false, true, "h", 5001, 16, 64, 60, 0, 0, 131072, 0 },
	{ "ntttcp -Ns h", false, true, "h", 5001, 16, 64, 60, 0, 0, 131072, 0 },
	{ "ntttcp -s h -t -1 -W -1 -C -1", false, true, "h", 5001, 16, 64, 60, 0, 0, 131072, 3 },
	{ "ntttcp -s h -P 513 -n 0 -l -4", false, true, "h", 5001, 512, 512, 60, 0, 0, 131072, 3 },
	{ "ntttcp -s h -P -1 -n 1", false, true, "h", 5001, 512, 512, 60, 0, 0, 131072, 1 },
	{ "ntttcp -s h -P 0 -l 1001", false, true, "h", 5001, 1, 4000, 60, 0, 0, 131072, 2 },
	{ "ntttcp -s h -b 1.5M -t 10s", false, true, "h", 5001, 16, 64, 10, 0, 0, 1572864, 1 },
	{ "ntttcp -s h -b 2g", false, true, "h", 5001, 16, 64, 60, 0, 0, 1 << 30, 1 },
	{ "ntttcp -s h -u -b 64K", false, true, "h", 5001, 16, 64, 60, 0, 0, 65507, 1 },
	{ "ntttcp -r -u -b 64K", false, false, NULL, 5001, 16, 0, 60, 0, 0, 65507, 0 },
	{ "ntttcp -s h -e -H", false, true, "h", 5001, 16, 64, 60, 0, 0, 131072, 2 },
	{ "ntttcp -s h --show-nic-packets -Q stray", false, true, "h", 5001, 16, 64, 60, 0, 0, 131072, 2 },
	{ "ntttcp -s h --show-nic-packets no-such-one", false, true, "h", 5001, 16, 64, 60, 0, 0, 131072, 1 },
	{ "ntttcp stray -s h -- -x", false, true, "h", 5001, 16, 64, 60, 0, 0, 131072, 1 },
	{ "ntttcp -r -m 4,*,h 4,*,g -N", false, false, "h", 5001, 4, 0, 60, 0, 0, 65536, 1 },
	/* which of the two */
	{ "ntttcp -s -m 1,0,a 1,1,b -t 5", true, true, "a", 5001, 2, 2, 5, 0, 0, 65536, 0 },
	{ "ntttcp --dialect=linux -s -m 1,0,a 1,1,b -t 5", false, true, "a", 5001, 2, 2, 5, 0, 0, 131072, 0 },
	{ "ntttcp -s -m 1,0,a 1,1,b -t 5 -W 2", false, true, "a", 5001, 2, 2, 5, 2, 0, 131072, 0 },
	{ "ntttcp -s -m 1,0,a -t 5 --dialect windows", true, true, "a", 5001, 1, 1, 5, 0, 0, 65536, 0 },
	{ "ntttcps --dialect=linux h -t 5", false, true, "h", 5001, 16, 64, 5, 0, 0, 131072, 0 },
	{ "ntttcp -s -m 8,*,h -l 128k -a 2 -t 15", true, true, "h", 5001, 8, 8, 15, 0, 0, 131072, 0 },
	{ "ntttcp -s -m 8,*,h -l 128k -t 15", true, true, "h", 5001, 8, 8, 15, 0, 0, 131072, 0 },
	/* -l and -n as sizes: over UDP, and where Linux has no such number */
	{ "ntttcp -r -6 -u -m 2,*,h -t 1 -l 1400", true, false, "h", 5001, 2, 0, 1, 0, 0, 65507, 0 },
	{ "ntttcp -s -u -l 64 -m 2,*,h -t 1", true, true, "h", 5001, 2, 2, 1, 0, 0, 64, 0 },
	{ "ntttcp -s -m 2,*,h -l 1400 -t 1", true, true, "h", 5001, 2, 2, 1, 0, 0, 1400, 0 },
	{ "ntttcp -s -m 2,*,h -l 1000 -t 1", false, true, "h", 5001, 2, 2000, 1, 0, 0, 131072, 0 },
	{ "ntttcp -s -m 2,*,h -n 30000 -t 1", true, true, "h", 5001, 2, 2, 1, 0, 0, 65536, 0 },
	{ "ntttcp -s -m 2,*,h -u -t 1", false, true, "h", 5001, 2, 2, 1, 0, 0, 65507, 0 },
	{ "ntttcp -s -m 2,*,h -u -l 3 -V -t 1", false, true, "h", 5001, 2, 6, 1, 0, 0, 65507, 0 },
	{ "ntttcp -s h -l 1001 -t 1", false, true, "h", 5001, 16, 64000, 1, 0, 0, 131072, 1 },
	{ "ntttcp -s -m 8,*,h -a -t 15", true, true, "h", 5001, 8, 8, 15, 0, 0, 65536, 0 },
	{ "ntttcp -S -M 8,*,h -T 15 -NDL -P 7", true, true, "h", 7, 8, 8, 15, 0, 0, 65536, 0 },
	/* Windows: by count */
	{ "ntttcp -s -m 2,*,h -ns", true, true, "h", 5001, 2, 2, 10800, 0, 0, 65536, 0 },
	{ "ntttcp -s -m 2,*,h -ns -n 1K -t 9 -wu 3", true, true, "h", 5001, 2, 2, 9, 0, 0, 65536, 1 },
	{ "ntttcp -s -u -l 1k -m 2,*,h -ns -t 9", true, true, "h", 5001, 2, 2, 9, 0, 0, 1024, 0 },
};

/* clang-format on */

static uint64_t expected_notes(const struct line *l, const struct command_case *c)
{
	bool epoll = l->n->async_io && !nd_engine_find("uring");

	return c->notes + (epoll ? 1 : 0);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void compare(const struct line *l, const struct command_case *c)
{
	const struct nd_plan *p = &l->plan;

	const struct {
		const char *name;
		uint64_t is, wanted;
	} rows[] = {
		{ "windows", l->n->windows, c->windows },
		{ "sender", l->n->sender, c->sender },
		{ "verb", p->verb, c->sender ? ND_VERB_STREAM : ND_VERB_RECEIVE },
		{ "base port", p->port, c->port },
		{ "data port", p->data_port, c->port },
		{ "ports", l->n->ports, c->ports },
		{ "flows", p->workload[0].flows, c->sender ? c->flows : ND_MAX_FLOWS },
		{ "open-ended", p->open_ended, !c->sender },
		{ "duration", p->duration_ns, c->seconds * S },
		{ "warm-up", p->warmup_ns, c->warmup_s * S },
		{ "cool-down", p->cooldown_ns, c->cooldown_s * S },
		{ "bytes", p->workload[0].message_bytes, c->bytes },
		{ "notes", l->n->notes.n, expected_notes(l, c) },
	};

	size_t i;

	for (i = 0; i < ND_COUNTOF(rows); i++)
		if (rows[i].is != rows[i].wanted)
			fail_msg("%s: %s is %llu, not %llu", c->words, rows[i].name,
				 (unsigned long long)rows[i].is,
				 (unsigned long long)rows[i].wanted);
	if (!same_text(p->host, c->host))
		fail_msg("%s: host is '%s'", c->words, p->host ? p->host : "none");
	assert_string_equal(p->dialect, "ntttcp");
	assert_string_equal(p->out.format, c->windows ? "ntttcp-windows" : "ntttcp-linux");
}

static void reads_commands(void **state)
{
	struct line l;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(commands); i++) {
		if (read_line(&l, commands[i].words) != ND_NEXT_RUN)
			fail_msg("%s: %s", commands[i].words, l.err.text);
		compare(&l, &commands[i]);
		done(&l);
	}
}

/* ---- sentences */

struct sentence_case {
	const char *words, *sentence;
	int exit;
};

/* clang-format off */
static const struct sentence_case sentences[] = {
	{ "ntttcp -s -r", "-s and -r exclude each other", 255 },
	{ "ntttcp -sh -y", "unknown option '-y'; see ntttcp --help", 23 },
	{ "ntttcp -s h -P", "-P needs a value: N", 23 },
	{ "ntttcp -s h --dialekt", "unknown option '--dialekt'; did you mean '--dialect'?", 23 },
	{ "ntttcp -s h --dialect=bsd", "--dialect: 'bsd' is neither linux nor windows", 0 },
	{ "ntttcp -s h --dialect", "--dialect: '' is neither linux nor windows", 0 },
	{ "ntttcp -s h -t x", "-t: 'x' is not a number", 255 },
	{ "ntttcp -s h -t 86401", "-t: '86401' is outside 0..86400", 255 },
	{ "ntttcp -s h -b k", "-b: 'k' is not a number such as 64k or 1.5M", 255 },
	{ "ntttcp -s h -b 0", "-b: '0' is no size", 255 },
	{ "ntttcp -s h -B 9999999999g", "-B: '9999999999g' is too much", 255 },
	{ "ntttcp -s h -M", "-M is for the receiver", 255 },
	{ "ntttcp -r -L", "-L is for the sender", 255 },
	{ "ntttcp -r -a 10.0.0.1", "-a is for the sender", 255 },
	{ "ntttcp -s h -a 10.0.0.1 -6", "-a: '10.0.0.1' is an IPv4 address, and -6 asks for IPv6", 255 },
	{ "ntttcp -s h -a -Q", "-a: '-Q' is no address", 255 },
	{ "ntttcp -s 10.0.0.1 -6", "-s: '10.0.0.1' is an IPv4 address, and -6 asks for IPv6", 255 },
	{ "ntttcp -r ::1", "-r: '::1' is an IPv6 address, which needs -6", 255 },
	{ "ntttcp -s h -u --no-delay", "--no-delay has no meaning with -u", 255 },
	{ "ntttcp -s h -p 1", "-p: '1' is outside 2..65535", 255 },
	{ "ntttcp -s h -p 0 -N", "-p: '0' is outside 1..65535", 255 },
	{ "ntttcp -s h -p 65530", "-p: 16 ports from 65530 on end above 65535", 255 },
	{ "ntttcp -s h -f 65500", "-f: 64 connections from port 65500 on end above 65535", 255 },
	{ "ntttcp -s h -f 65536", "-f: '65536' is outside 1025..65535", 255 },
	{ "ntttcp -s h -P 512 -n 200", "102400 connections are over the limit of 100000", 255 },
	{ "ntttcp -s -m 0,*,h", "-m: '0,*,h' is not PORTS,CPU,ADDRESS with a number of ports in front", 255 },
	{ "ntttcp -s -m 1,x,h", "-m: 'x' is neither a CPU nor *", 255 },
	{ "ntttcp -s -m 1,4096,h", "-m: CPU '4096' is outside 0..4095", 255 },
	{ "ntttcp -s -m 1,*,h,4", "-m: '1,*,h,4' is more than PORTS,CPU,ADDRESS", 255 },
	{ "ntttcp -s -N -m 1,*,h 1,*,g -s k", "-m: several mappings, and 'k' behind them", 255 },
	{ "ntttcp -s -N -m 1,*,h 1,*", "-m: with several mappings each needs an address", 255 },
	/* Windows */
	{ "ntttcp -s -ns -t 5", "-m is missing: THREADS,CPU,HOST", 9 },
	{ "ntttcp -s -ns -m 1,*", "-m: '1,*' is not THREADS,CPU,HOST", 9 },
	{ "ntttcp -s -ns -m 1,*,h,2", "-m: '1,*,h,2' is not THREADS,CPU,HOST", 9 },
	{ "ntttcp -s -ns -m 0,*,h", "-m: '0' threads are outside 1..100000", 9 },
	{ "ntttcp -s -wu 1 -t 5 -m 1000,*,h", "-m: 1000 threads are over 999, which needs -ns", 9 },
	{ "ntttcp -s -wu 1 -m 1,*,h", "-wu and -cd need -t", 9 },
	{ "ntttcp -s -p 64536 -wu 1 -t 5 -m 1,*,h", "-p: the last of 1 ports would be 65536", 9 },
	{ "ntttcp -s -p 65535 -ns -t 5 -m 2,*,h", "-p: the last of 2 ports would be 65536", 9 },
	{ "ntttcp -s -ns -t 0 -m 1,*,h", "-t: '0' is outside 1..86400", 9 },
	{ "ntttcp -s -ns -l 64G -m 1,*,h", "-l: '64G' is not a number such as 20480, 64K or 1M", 9 },
	{ "ntttcp -s -ns -l 4096M -m 1,*,h", "-l: '4096M' is too much", 9 },
	{ "ntttcp -s -ns -u -l 65508 -m 1,*,h", "-l: '65508' is outside 1..65507", 9 },
	{ "ntttcp -s -ns -n 0 -m 1,*,h", "-n: '0' is not above 0", 9 },
	{ "ntttcp -s -ns -m 1,*,h -hv", "-hv: Hyper-V sockets have no meaning here, give an address or a name", 9 },
	{ "ntttcp -s -uso 1400 -m 1,*,h", "-uso needs -s and -u", 9 },
	{ "ntttcp -r -u -uso 1400 -m 1,*,h", "-uso needs -s and -u", 9 },
	{ "ntttcp -s -u -uro -m 1,*,h", "-uro needs -r and -u", 9 },
	{ "ntttcp -r -uro -m 1,*,h", "-uro needs -r and -u", 9 },
	{ "ntttcp -r -uc -m 1,*,h", "-uc needs -u", 9 },
	{ "ntttcp -r -u -uc -a 3 -m 1,*,h", "-uc and -a exclude each other", 9 },
	{ "ntttcp -r -w -m 1,*,h", "-w needs -a", 9 },
	{ "ntttcp -s -a -w -x 2 -m 1,*,h", "-w and -x exclude each other", 9 },
	{ "ntttcp -s -ns -x 2 -m 1,*,h", "-x needs -a", 9 },
	{ "ntttcp -s -a 64 -m 1,*,h", "-a: above 63 needs -icp", 9 },
	{ "ntttcp -r -a -wa -m 1,*,h", "-wa with -a needs -w", 9 },
	{ "ntttcp -r -d -jm f -m 1,*,h", "-d and -jm exclude each other", 9 },
	{ "ntttcp -r -rt -a -m 1,*,h", "-rt and -a exclude each other", 9 },
	{ "ntttcp -s -ps 5 -a -m 1,*,h", "-ps and -a exclude each other", 9 },
	{ "ntttcp -s -ps 5 -thr 9 -m 1,*,h", "-ps excludes -thr and -brn", 9 },
	{ "ntttcp -s -ps 5 -m 2,*,h", "-ps needs a single thread", 9 },
	{ "ntttcp -s -ps 4 -m 2,*,h", "-ps: '4' is outside 5..1k", 9 },
	{ "ntttcp -r -jm -m 1,*,h", "-jm: a receiver needs a file", 9 },
	{ "ntttcp -s -jm -l 19 -m 1,*,h", "-jm needs -l 20 or more", 9 },
	{ "ntttcp -s -es -u -m 1,*,h", "-es has no meaning with -u", 9 },
	{ "ntttcp -s -sam 1 -m 1,*,h", "-sam needs -t", 9 },
	{ "ntttcp -s -qos 6 -m 1,*,h", "-qos: '6' is outside 0..5", 9 },
	{ "ntttcp -s -ns -m 1,*,::1", "-m: '::1' is an IPv6 address, which needs -6", 9 },
	{ "ntttcp -s -ns stray -m 1,*,h", "ntttcp: 'stray' is one word too many", 9 },
	{ "ntttcp -s -ns -q -m 1,*,h", "unknown option '-q'", 9 },
	{ "ntttcp -s -ns -n 2047M -l 512M -m 99999,*,h -p 1", "-p: the last of 99999 ports would be 99999", 9 },
	{ "ntttcp -s -ns -n 2047M -l 512M -m 60000,*,h -p 1", "-n: '2146435072' buffers of each thread are too many", 9 },
};

/* clang-format on */

static void answers_in_sentences(void **state)
{
	struct line l;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(sentences); i++) {
		const struct sentence_case *c = &sentences[i];
		int r = read_line(&l, c->words);

		if (r != -EINVAL || strcmp(l.err.text, c->sentence) != 0 ||
		    l.plan.exits.usage != c->exit)
			fail_msg("%s: %d exit %d '%s'", c->words, r, l.plan.exits.usage,
				 l.err.text);
		done(&l);
	}
}

/* ---- what rows above do not show */

static void has_exit_codes(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(read_line(&l, "ntttcp -r"), ND_NEXT_RUN);
	assert_int_equal(l.plan.exits.peer, 24);
	done(&l);
	assert_int_equal(read_line(&l, "ntttcpr -m 1,*,h"), ND_NEXT_RUN);
	assert_int_equal(l.plan.exits.peer, 0);
	done(&l);
	assert_int_equal(read_line(&l, "ntttcp -h"), ND_NEXT_PRINT);
	assert_int_equal(l.plan.exits.help, 23);
	done(&l);
	assert_int_equal(read_line(&l, "ntttcp --help"), ND_NEXT_PRINT);
	assert_int_equal(l.plan.exits.help, 0);
	done(&l);
}

static void lists_all_switches(void **state)
{
	static const char *const names[] = { "ntttcp", "netdyno ntttcp", "ntttcps" };
	static const char *const held[] = { "  -P N\n",         "--fq-rate-limit RATE\n",
					    "  -wu SECONDS\n",  "  -xml [FILE]\n",
					    "--dialect NAME\n", "-s[ADDRESS]" };
	struct line l;
	size_t i, j;

	(void)state;
	for (i = 0; i < ND_COUNTOF(names); i++) {
		assert_int_equal(read_line(&l, names[i]), ND_NEXT_PRINT);
		assert_int_equal(l.plan.exits.help, 0);
		for (j = 0; j < ND_COUNTOF(held); j++)
			if (!strstr(nd_str_text(&l.out), held[j]))
				fail_msg("%s: no '%s'", names[i], held[j]);
		done(&l);
	}
}

static void fills_linux_settings(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(
		read_line(&l,
			  "ntttcp -s h -P 2 -n 2 -l 2 -f 30000 -a 10.0.0.9 -B 1.5g -x -j out.json "
			  "-O --show-tcp-retrans --show-nic lo --show-dev=mlx --no-delay -VQDN"),
		ND_NEXT_RUN);
	assert_int_equal(l.plan.source_port, 30000);
	assert_int_equal(l.plan.flows_per_port, 4);
	assert_int_equal(l.plan.workload[0].flows, 8);
	assert_int_equal(l.plan.workload[0].rate_bps, 1500000000);
	assert_int_equal(l.plan.bind.n, 1);
	assert_string_equal(l.plan.bind.v[0], "10.0.0.9");
	assert_string_equal(l.n->xml_file, "ntttcp-for-linux-log.xml");
	assert_string_equal(l.n->json_file, "out.json");
	assert_string_equal(l.n->log_file, "ntttcp-for-linux-log.log");
	assert_string_equal(l.n->nic, "lo");
	assert_string_equal(l.n->interrupts, "mlx");
	assert_true(l.n->tcp_retrans && l.n->no_sync && l.n->daemon && l.plan.daemon);
	assert_true(l.plan.out.quiet && l.plan.out.verbose && l.plan.sock.nodelay);
	assert_int_equal(l.plan.payload, ND_PAYLOAD_FILL_A);
	assert_int_equal(l.plan.interval_ns, 500 * ND_NS_PER_MS);
	done(&l);
	assert_int_equal(read_line(&l, "ntttcp -s h -u -t 0 --fq-rate-limit 64m -f"), ND_NEXT_RUN);
	assert_true(l.n->continuous && l.plan.sock.fragment);
	assert_int_equal(l.plan.duration_ns, ND_MAX_NS);
	assert_int_equal(l.plan.interval_ns, S);
	assert_int_equal(l.plan.payload, ND_PAYLOAD_FILL_B);
	assert_int_equal(l.plan.sock.pacing_bps, 1000000);
	assert_int_equal(l.plan.source_port, 25001);
	done(&l);
}

static void takes_several_receivers(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(read_line(&l, "ntttcp -s -N -m 4,*,a 2,1,b -n 3"), ND_NEXT_RUN);
	assert_int_equal(l.plan.targets.n, 2);
	assert_string_equal(target(&l, 1)->host, "b");
	assert_int_equal(target(&l, 0)->flows, 12);
	assert_int_equal(target(&l, 1)->flows, 6);
	assert_int_equal(target(&l, 0)->port, 5001);
	assert_int_equal(target(&l, 1)->port, 5001);
	assert_int_equal(target(&l, 0)->cpu, -1);
	assert_int_equal(target(&l, 1)->cpu, 1);
	assert_int_equal(l.plan.workload[0].flows, 18);
	done(&l);
	/* on Windows ports are counted on, over every -m */
	assert_int_equal(read_line(&l, "ntttcp -s -ns -m 4,*,a 2,1,b -t 5 -m 1,0,c"), ND_NEXT_RUN);
	assert_int_equal(l.plan.targets.n, 3);
	assert_int_equal(target(&l, 1)->port, 5005);
	assert_int_equal(target(&l, 2)->port, 5007);
	assert_int_equal(target(&l, 2)->cpu, 0);
	assert_int_equal(l.plan.flows_per_port, 1);
	done(&l);
	assert_int_equal(read_line(&l, "ntttcp -r -sp -m 2,*,a -t 5"), ND_NEXT_RUN);
	assert_int_equal(l.plan.port, 5001);
	assert_int_equal(l.plan.data_port, 5002);
	assert_int_equal(target(&l, 0)->port, 5002);
	done(&l);
}

static void fills_windows_settings(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(read_line(&l, "ntttcps -m 3,*,h -n 10 -l 1K -to 5000 -nic 10.0.0.9 -qos 5 "
				       "-xml -hpt -v -rb 64K -sb 32K -a 8 -ndl -lm"),
			 ND_NEXT_RUN);
	assert_int_equal(l.plan.workload[0].total_bytes, 3 * 10 * 1024);
	assert_int_equal(l.n->buffers, 10);
	assert_int_equal(l.n->timeout_ms, 5000);
	assert_string_equal(l.plan.bind.v[0], "10.0.0.9");
	assert_int_equal(l.plan.sock.dscp, 56);
	assert_int_equal(l.plan.sock.rcvbuf_bytes, 65536);
	assert_int_equal(l.plan.sock.sndbuf_bytes, 32768);
	assert_string_equal(l.n->xml_file, "xml.txt");
	assert_true(l.n->hide_threads && l.n->latency && l.plan.sock.nodelay);
	assert_string_equal(l.plan.engine, nd_engine_find("uring") ? "uring" : "epoll");
	assert_int_equal(l.plan.depth, nd_engine_find("uring") ? 8 : 0);
	done(&l);
	assert_int_equal(read_line(&l, "ntttcps -m 3,*,h -t 5 -thr 100 -a 8"), ND_NEXT_RUN);
	assert_int_equal(l.plan.workload[0].rate_bps, 3 * 100 * 1024 * 8);
	assert_int_equal(l.n->sndbuf, 0); /* what the report shows */
	assert_int_equal(l.plan.sock.sndbuf_bytes, 0);
	assert_int_equal(l.n->buffers, 0);
	done(&l);
	assert_int_equal(read_line(&l, "ntttcps -m 1,*,h -t 5 -ps 20 -u -jm"), ND_NEXT_RUN);
	assert_int_equal(l.plan.workload[0].rate_bps, 128 * 8 * 50);
	assert_int_equal(l.plan.payload, ND_PAYLOAD_FILL_A);
	assert_true(l.n->jitter);
	assert_null(l.n->jitter_file);
	done(&l);
	assert_int_equal(read_line(&l, "ntttcpr -m 1,*,h -t 5 -rt -l 99 -icp -1"), ND_NEXT_RUN);
	assert_string_equal(l.plan.workload[0].load, "rr");
	assert_int_equal(l.plan.workload[0].request_bytes, 99);
	assert_int_equal(l.n->io_ports, 1);
	assert_true(l.n->latency);
	done(&l);
}

/* Pieces are for who asks for them: what goes down at once is -l, what crosses the wire -uso. */
static void fills_offloads(void **state)
{
	static const struct {
		const char *words;
		uint64_t message, gso;
		enum nd_choice gro;
	} rows[] = {
		{ "ntttcp -s -ns -u -m 1,*,h -l 1000", 1000, 1, ND_OFF },
		{ "ntttcp -s -ns -u -m 1,*,h -l 60000 -uso 1400", 1400, 42, ND_OFF },
		{ "ntttcp -s -ns -u -m 1,*,h -l 60000 -uso 100", 100, ND_MAX_GSO, ND_OFF },
		{ "ntttcp -s -ns -u -m 1,*,h -l 1000 -uso 1000", 1000, 1, ND_OFF },
		{ "ntttcp -s -ns -u -m 1,*,h -l 60000 -uso 1400 -a 4", 1400, 1, ND_OFF },
		{ "ntttcp -r -ns -u -m 1,*,h", ND_MAX_DATAGRAM, 1, ND_OFF },
		{ "ntttcp -r -ns -u -uro -m 1,*,h", ND_MAX_DATAGRAM, 1, ND_ON },
	};
	struct line l;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		if (read_line(&l, rows[i].words) != ND_NEXT_RUN)
			fail_msg("%s: %s", rows[i].words, l.err.text);
		assert_int_equal(l.plan.workload[0].message_bytes, rows[i].message);
		assert_int_equal(l.plan.gso, rows[i].gso);
		assert_int_equal(l.plan.gro, rows[i].gro);
		done(&l);
	}
}

static void fills_with_letters(void **state)
{
	char buf[7];

	(void)state;
	nd_payload_fill(buf, sizeof(buf), ND_PAYLOAD_FILL_A, 1);
	assert_memory_equal(buf, "AAAAAAA", sizeof(buf));
	nd_payload_fill(buf, sizeof(buf), ND_PAYLOAD_FILL_B, 1);
	assert_memory_equal(buf, "BBBBBBB", sizeof(buf));
	assert_string_equal(nd_payload_names[ND_PAYLOAD_FILL_A], "fill-a");
	assert_string_equal(nd_payload_names[ND_PAYLOAD_FILL_B], "fill-b");
}

/* Every row of both sets: words for it, and a letter or name that no other has. */
static void has_whole_rows(void **state)
{
	static const char *const faces[] = { "linux", "windows" };
	const struct nd_opt *const *array, *row;
	const struct nd_face *f = nd_persona_find("ntttcp")->faces;
	struct nd_err err = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(faces); i++, f++) {
		struct nd_plan plan;
		void *t;

		assert_non_null((*f->set->rows)->section);
		for (array = f->set->rows; *array; array++)
			for (row = *array; row->name || row->letter; row++)
				if (!row->help || strlen(row->help) > 60)
					fail_msg("%s: help of %c %s", faces[i], row->letter,
						 row->name);
		nd_plan_init(&plan);
		t = f->target(&plan);
		assert_non_null(t);
		if (nd_opt_defaults(f->set, t, &plan.arena, &err) < 0)
			fail_msg("%s", err.text);
		nd_plan_done(&plan);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_commands),         cmocka_unit_test(answers_in_sentences),
		cmocka_unit_test(has_exit_codes),         cmocka_unit_test(lists_all_switches),
		cmocka_unit_test(fills_linux_settings),   cmocka_unit_test(takes_several_receivers),
		cmocka_unit_test(fills_windows_settings), cmocka_unit_test(fills_with_letters),
		cmocka_unit_test(has_whole_rows),         cmocka_unit_test(fills_offloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
