/* SPDX-License-Identifier: MIT */
/*
 * What each switch of ntttcp.exe does here: a row or more for every one of them. It sets something of the plan or
 * of the report, or a sentence says why not: the line is refused, or runs and the sentence stands on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/fd.h"
#include "engine/engine.h"
#include "persona-words.h"
#include "plan/ntttcp.h"

#define NO_NODE "60000"

struct line {
	struct words words;
	struct nd_plan plan;
	struct nd_str out;
	struct nd_err err;
	const struct nd_ntttcp *n;
	char said[1024]; /* on stderr */
};

static const struct nd_workload *load(const struct line *l)
{
	return &l->plan.workload[0];
}

static const struct nd_target *last(const struct line *l)
{
	return (const struct nd_target *)l->plan.targets.v + (l->plan.targets.n - 1);
}

/* ---- what there is to look at */

/* clang-format off */
#define LOOK(name, what) static uint64_t name(const struct line *l) { return (uint64_t)(what); }
LOOK(sends,        l->n->sender && l->plan.verb == ND_VERB_STREAM)
LOOK(receives,     !l->n->sender && l->plan.verb == ND_VERB_RECEIVE)
LOOK(last_port,    last(l)->port + last(l)->ports - 1)
LOOK(last_cpu,     last(l)->cpu)
LOOK(is_quiet,     l->n->no_sync)
LOOK(data_port,    l->plan.data_port)
LOOK(timeout_ms,   l->plan.connect_timeout_ns / ND_NS_PER_MS)
LOOK(seconds,      l->plan.duration_ns / ND_NS_PER_S)
LOOK(warmup,       l->plan.warmup_ns / ND_NS_PER_S)
LOOK(cooldown,     l->plan.cooldown_ns / ND_NS_PER_S)
LOOK(total,        load(l)->total_bytes)
LOOK(message,      load(l)->message_bytes)
LOOK(shown_bytes,  l->n->io_bytes)
LOOK(depth,        l->plan.depth)
LOOK(is_uring,     !strcmp(l->plan.engine, "uring"))
LOOK(shown_sndbuf, l->n->sndbuf)
LOOK(sndbuf,       l->plan.sock.sndbuf_bytes)
LOOK(rcvbuf,       l->plan.sock.rcvbuf_bytes)
LOOK(wsa,          l->n->wsa)
LOOK(transmits,    l->n->transmit_packets)
LOOK(threads,      l->plan.threads)
LOOK(rate,         load(l)->rate_bps)
LOOK(burns,        load(l)->burn_steps)
LOOK(is_timed,     !strcmp(load(l)->load, "timed"))
LOOK(round_trips,  !strcmp(load(l)->load, "rr") && load(l)->response_bytes == l->n->io_bytes)
LOOK(latency,      l->n->latency)
LOOK(is_jitter,    !strcmp(load(l)->frame, "jitter") && l->plan.payload == ND_PAYLOAD_FILL_A)
LOOK(keeps_rows,   l->plan.keep_samples && l->plan.sample_every == 1)
LOOK(is_letter,    !strcmp(load(l)->frame, "letter") && l->plan.payload == ND_PAYLOAD_FILL_A)
LOOK(is_plain,     !strcmp(load(l)->frame, "plain"))
LOOK(is_udp,       !strcmp(load(l)->transport, "udp"))
LOOK(gso,          l->plan.gso)
LOOK(gro,          l->plan.gro)
LOOK(unconnected,  l->n->udp_unconnected)
LOOK(is_sendto,    !strcmp(l->plan.tx, "sendto"))
LOOK(is_ipv6,      l->plan.af == ND_AF_IPV6)
LOOK(nodelay,      l->plan.sock.nodelay)
LOOK(binds,        l->plan.bind.n)
LOOK(lowat,        l->plan.lowat_bytes)
LOOK(dscp,         l->plan.sock.has_dscp ? l->plan.sock.dscp : 99)
LOOK(pins,         l->plan.pin != NULL)
LOOK(has_file,     l->n->xml_file && !strcmp(l->n->xml_file, "xml.txt"))
LOOK(verbose,      l->plan.out.verbose)
LOOK(hides,        l->n->hide_threads)
LOOK(tick_s,       l->plan.interval_ns / ND_NS_PER_S)
LOOK(estats,       l->n->estats)
LOOK(from_idle,    l->n->cpu_from_idle)
LOOK(unbuffered,   l->n->no_stdio_buffer)
LOOK(notes,        l->n->notes.n)
LOOK(windows,      l->n->windows)
#undef LOOK

static const struct {
	const char *name, *words; /* the words behind "ntttcp.exe" */
	uint64_t (*look)(const struct line *l); /* NULL: refused, .said is why */
	uint64_t wanted;
	const char *said; /* on stderr; NULL: nothing */
} switches[] = {
	{ "s",   "-s -m 1,*,h -t 1", sends, 1, NULL },
	{ "r",   "-r -m 1,*,h -t 1", receives, 1, NULL },
	{ "m",   "-s -m 2,*,h 3,1,g -t 1", last_port, 5005, NULL },
	{ "m",   "-s -m 2,*,h 3,1,g -t 1", last_cpu, 1, NULL },
	{ "p",   "-s -m 2,*,h -t 1 -p 80", last_port, 81, NULL },
	{ "ns",  "-s -m 1,*,h -t 1 -ns", is_quiet, 1, NULL },
	{ "sp",  "-r -m 1,*,h -t 1 -sp", data_port, 5002, NULL },
	{ "to",  "-s -m 1,*,h -t 1", timeout_ms, 10000, NULL },
	{ "to",  "-s -m 1,*,h -t 1 -to 700", timeout_ms, 700, NULL },
	{ "to",  "-s -m 1,*,h -t 1 -to 0", timeout_ms, ND_MAX_NS / ND_NS_PER_MS, NULL },
	{ "-dialect", "--dialect=windows -s -m 1,*,h", windows, 1, NULL },
	{ "t",   "-s -m 1,*,h -t 7", seconds, 7, NULL },
	{ "wu",  "-s -m 1,*,h -t 7 -wu 2", warmup, 2, NULL },
	{ "cd",  "-s -m 1,*,h -t 7 -cd 3", cooldown, 3, NULL },
	{ "n",   "-s -m 2,*,h -n 10 -l 1K", total, 20480, NULL },
	{ "n",   "-s -m 1,*,h -l 1", total, 20480, NULL },
	{ "l",   "-s -m 1,*,h -t 1 -l 128K", message, 131072, NULL },
	{ "l",   "-s -u -m 1,*,h -t 1", message, 128, NULL },
	{ "l",   "-r -u -m 1,*,h -t 1 -l 1400", shown_bytes, 1400, NULL },
	{ "a",   "-s -m 1,*,h -t 1 -a 8", shown_sndbuf, 0, NULL },
	{ "a",   "-s -m 1,*,h -t 1 -a", shown_sndbuf, (uint64_t)-1, NULL },
	{ "w",   "-s -m 1,*,h -t 1 -a -w", wsa, 1, NULL },
	{ "x",   "-s -m 1,*,h -t 1 -a -x 4", transmits, 4, NULL },
	{ "x",   "-r -m 1,*,h -t 1 -a -x 4", notes, 1, NULL },
	{ "icp", "-s -m 8,*,h -t 1 -icp 2", threads, 2, NULL },
	{ "icp", "-s -m 8,*,h -t 1 -icp -1", threads, 8, NULL },
	{ "icp", "-s -m 8,*,h -t 1 -icp 0", threads, 0, NULL },
	{ "thr", "-s -m 2,*,h -t 1 -thr 100", rate, 2 * 100 * 1024 * 8, NULL },
	{ "ps",  "-s -u -m 1,*,h -t 1 -ps 20", rate, 128 * 8 * 50, NULL },
	{ "ps",  "-r -u -m 1,*,h -t 1 -ps 20", notes, 1, NULL },
	{ "brn", "-s -m 1,*,h -t 1 -brn 5", burns, 5000, NULL },
	{ "brn", "-s -m 1,*,h -t 1 -rt -brn 5", burns, 0, "-brn has no meaning with -rt: ignored" },
	{ "rt",  "-s -m 1,*,h -t 1 -rt", round_trips, 1, NULL },
	{ "rt",  "-s -m 1,*,h -t 1 -rt", latency, 1, NULL },
	{ "rt",  "-r -m 1,*,h -t 1 -rt", round_trips, 1,
	  "-rt: round trips are timed by the sender, the times here are 0" },
	{ "lm",  "-s -m 1,*,h -t 1 -rt -lm", latency, 1, NULL },
	{ "lm",  "-r -m 1,*,h -t 1 -lm", is_timed, 1, NULL },
	{ "jm",  "-s -u -m 1,*,h -t 1 -jm", is_jitter, 1, NULL },
	{ "jm",  "-r -u -m 1,*,h -t 1 -jm f.csv", is_jitter, 1, NULL },
	{ "jm",  "-r -u -m 1,*,h -t 1 -jm f.csv", keeps_rows, 1, NULL },
	{ "jm",  "-s -u -m 1,*,h -t 1 -jm f.csv", keeps_rows, 0,
	  "-jm: the receiver writes the rows, the sender needs no file" },
	{ "jm",  "-s -m 1,*,h -t 1 -jm", is_plain, 1, "-jm numbers datagrams, it has no meaning without -u: ignored" },
	{ "d",   "-r -m 1,*,h -t 1 -d", is_letter, 1, NULL },
	{ "d",   "-r -u -m 1,*,h -t 1 -d", is_letter, 1, NULL },
	{ "u",   "-s -m 1,*,h -t 1 -u", is_udp, 1, NULL },
	{ "uc",  "-r -u -m 1,*,h -t 1 -uc", unconnected, 1, NULL },
	{ "uc",  "-s -u -m 1,*,h -t 1 -uc", is_sendto, 1, NULL },
	{ "uc",  "-r -u -m 1,*,h -t 1 -uc", is_sendto, 0, NULL },
	{ "uc",  "-s -u -m 1,*,h -t 1 -uc -rt", is_sendto, 1, NULL },
	{ "uc",  "-s -u -m 1,*,h -t 1 -l 60000 -uc -uso 1400", is_sendto, 0,
	  "-uc: with -uso a sender's sockets are connected, which the packets do not show" },
	{ "uso", "-s -u -m 1,*,h -t 1 -l 60000 -uso 1400", gso, 42, NULL },
	{ "uso", "-s -u -m 1,*,h -t 1 -l 60000 -uso 1400", message, 1400, NULL },
	{ "uro", "-r -u -m 1,*,h -t 1 -uro", gro, ND_ON, NULL },
	{ "6",   "-s -m 1,*,::1 -t 1 -6", is_ipv6, 1, NULL },
	{ "sb",  "-s -m 1,*,h -t 1 -sb 32K", sndbuf, 32768, NULL },
	{ "sb",  "-s -m 1,*,h -t 1 -sb 0", notes, 1, NULL },
	{ "rb",  "-s -m 1,*,h -t 1 -rb 64K", rcvbuf, 65536, NULL },
	{ "ndl", "-s -m 1,*,h -t 1 -ndl", nodelay, 1, NULL },
	{ "nic", "-s -m 1,*,h -t 1 -nic 10.0.0.9", binds, 1, NULL },
	{ "wa",  "-r -m 1,*,h -t 1 -wa -l 32K", lowat, 32768, NULL },
	{ "wa",  "-r -u -m 1,*,h -t 1 -wa", lowat, 0, "-wa has no meaning with -u: a datagram always comes whole" },
	{ "wa",  "-s -m 1,*,h -t 1 -wa", lowat, 0, "-wa is for the receiver: ignored" },
	{ "qos", "-s -m 1,*,h -t 1 -qos 0", dscp, 0, NULL },
	{ "qos", "-s -m 1,*,h -t 1 -qos 1", dscp, 8, NULL },
	{ "qos", "-s -m 1,*,h -t 1 -qos 3", dscp, 40, NULL },
	{ "qos", "-r -m 1,*,h -t 1 -qos 3", dscp, 99, NULL },
	{ "na",  "-s -m 1,*,h -t 1", pins, 0, NULL },
	{ "na",  "-s -m 1,*,h -t 1 -na " NO_NODE, NULL, 0, "-na: this machine has no NUMA node " NO_NODE },
	{ "hv",  "-s -m 1,*,h -t 1 -hv", NULL, 0, "-hv: Hyper-V sockets have no meaning here, give an address or a name" },
	{ "xml", "-s -m 1,*,h -t 1 -xml", has_file, 1, NULL },
	{ "v",   "-s -m 1,*,h -t 1 -v", verbose, 1, NULL },
	{ "hpt", "-s -m 1,*,h -t 1 -hpt", hides, 1, NULL },
	{ "sam", "-s -m 1,*,h -t 9 -sam 3", tick_s, 3, NULL },
	{ "sam", "-s -m 1,*,h -t 9 -sam 20", tick_s, 9, NULL },
	{ "es",  "-s -m 1,*,h -t 1 -es -xml", estats, 1, NULL },
	{ "es",  "-s -m 1,*,h -t 1 -es", estats, 1, "-es goes into the XML, which needs -xml: ignored" },
	{ "cfi", "-s -m 1,*,h -t 1 -cfi", from_idle, 1, NULL },
	{ "nsb", "-s -m 1,*,h -t 1 -nsb", unbuffered, 1, NULL },
};

/* clang-format on */

/* ---- a command line, and what it says on stderr */

static int read_words(struct line *l, const char *text)
{
	*l = (struct line){ .words.n = 0 };
	words_set(&l->words, "ntttcp.exe", text);
	return nd_persona_read(l->words.n, l->words.v, &l->plan, &l->out, &l->err);
}

static int read_line(struct line *l, const char *text)
{
	nd_auto_fd int kept = dup(STDERR_FILENO);
	nd_auto_fd int tape = memfd_create("said", MFD_CLOEXEC);
	ssize_t n;
	int r;

	assert_true(kept >= 0 && tape >= 0);
	assert_true(dup2(tape, STDERR_FILENO) >= 0);
	r = read_words(l, text);
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	n = pread(tape, l->said, sizeof(l->said) - 1, 0);
	assert_true(n >= 0);
	l->said[n] = '\0';
	l->n = nd_ntttcp_of(&l->plan);
	return r;
}

static void done(struct line *l)
{
	nd_plan_done(&l->plan);
	nd_str_done(&l->out);
}

static void expect_sentence(const char *words, const char *said, const char *sentence)
{
	char wanted[256] = "";

	if (sentence)
		(void)snprintf(wanted, sizeof(wanted), "netdyno: %s\n", sentence);
	if (strcmp(said, wanted) != 0)
		fail_msg("%s: says '%s', not '%s'", words, said, wanted);
}

static void every_switch_acts(void **state)
{
	struct line l;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(switches); i++) {
		const char *words = switches[i].words;
		int r = read_line(&l, words);

		if (r != (switches[i].look ? ND_NEXT_RUN : -EINVAL))
			fail_msg("%s: %d '%s'", words, r, l.err.text);
		if (!switches[i].look) {
			assert_string_equal(l.err.text, switches[i].said);
		} else {
			expect_sentence(words, l.said, switches[i].said);
			if (switches[i].look(&l) != switches[i].wanted)
				fail_msg("%s: %llu, not %llu", words,
					 (unsigned long long)switches[i].look(&l),
					 (unsigned long long)switches[i].wanted);
		}
		done(&l);
	}
}

static bool has_row(const struct nd_opt *row)
{
	char letter[2] = { row->letter, '\0' };
	const char *name = row->name ? row->name : letter;
	size_t i;

	for (i = 0; i < ND_COUNTOF(switches); i++)
		if (!strcmp(switches[i].name, name))
			return true;
	return false;
}

/* A switch that is added takes a row above. */
static void no_switch_is_left_out(void **state)
{
	const struct nd_opt *const *array, *row;

	(void)state;
	/* the second of its faces is the one of Windows */
	for (array = nd_persona_find("ntttcp")->faces[1].set->rows; *array; array++)
		for (row = *array; row->name || row->letter; row++)
			if (!has_row(row))
				fail_msg("-%s%c", row->name ? row->name : "",
					 row->letter ? row->letter : ' ');
}

/* What this program was built with decides. */
static void posts_several_where_it_can(void **state)
{
	bool can = nd_engine_find("uring") != NULL;
	struct line l;

	(void)state;
	assert_int_equal(read_line(&l, "-s -m 1,*,h -t 1 -a 8"), ND_NEXT_RUN);
	assert_int_equal(is_uring(&l), can);
	assert_int_equal(depth(&l), can ? 8 : 0);
	assert_int_equal(notes(&l), can ? 0 : 1);
	done(&l);
}

/* A node that this machine has: its CPUs, as the kernel lists them. */
static void binds_to_a_node(void **state)
{
	nd_auto_free char *cpus = NULL;
	struct nd_err err = { 0 };
	struct line l;
	size_t n;

	(void)state;
	if (nd_read_file("/sys/devices/system/node/node0/cpulist", 4096, &cpus, &n, &err) < 0)
		skip();
	cpus[strcspn(cpus, "\n")] = '\0';
	assert_int_equal(read_line(&l, "-s -m 1,*,h 1,0,h -t 1 -na 0"), ND_NEXT_RUN);
	assert_string_equal(l.plan.pin, cpus);
	assert_int_equal(last_cpu(&l), 0); /* a mapping's own CPU stays */
	done(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_switch_acts),
		cmocka_unit_test(no_switch_is_left_out),
		cmocka_unit_test(posts_several_where_it_can),
		cmocka_unit_test(binds_to_a_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
