/* SPDX-License-Identifier: MIT */
/* The program's own command line: a row for each limit and combination, and the documents made of its rows. */
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

#include "persona-words.h"

#define S ND_NS_PER_S

struct line {
	struct words words;
	struct nd_plan plan;
	struct nd_str out;
	struct nd_err err;
};

/* @text: words behind the program's name. */
static int read_line(struct line *l, const char *text)
{
	*l = (struct line){ .words.n = 0 };
	words_set(&l->words, "netdyno", text);
	return nd_persona_read(l->words.n, l->words.v, &l->plan, &l->out, &l->err);
}

static void done(struct line *l)
{
	nd_plan_done(&l->plan);
	nd_str_done(&l->out);
}

struct sentence_case {
	const char *words, *sentence; /* NULL: all is well; ends in "...": begins so */
};

/* clang-format off */
static const struct sentence_case sentences[] = {
	{ "stream h", NULL },
	{ "stream -t 5 h -u -b 1G", NULL },
	{ "stream h -P 8 -T 2 -R --bidir --bidir", "--bidir and --reverse exclude each other" },
	{ "", "a verb is missing" },
	{ "strem h", "unknown verb 'strem'; did you mean 'stream'?" },
	{ "frobnicate", "unknown verb 'frobnicate'; netdyno --help lists them" },
	{ "help frobnicate", "unknown verb 'frobnicate'; netdyno --help lists them" },
	{ "-t 5 stream h", "the verb comes first: unknown option '-t'; see netdyno --help" },
	{ "help stream packets", "help: 'packets' is one word too many" },
	{ "--help frobnicate", "unknown verb 'frobnicate'; netdyno --help lists them" },
	{ "-- stream", "the verb comes first: serve, stream HOST or packets HOST" },
	{ "--gen poem", "--gen: 'poem' is none of man, man-ntttcp, man-netperf, man-netserver, man-sockperf, bash, zsh, protocol-md, schema, results-md" },
	{ "stream", "stream: HOST is missing" },
	{ "stream a b", "stream: 'b' is one word too many" },
	{ "serve h", "serve: 'h' is one word too many" },
	{ "serve --bidir", "unknown option '--bidir'; see netdyno serve --help" },
	/* no host */
	{ "stream h:7575", "HOST 'h:7575': the port is an option: HOST h with -p 7575" },
	{ "packets [::1]:5", "HOST '[::1]:5': the port is an option: HOST ::1 with -p 5" },
	{ "latency []", "HOST '[]' is neither a name nor an address" },
	{ "connect [::1", "HOST '[::1' is neither a name nor an address" },
	{ "stream http://h", "HOST 'http://h' is neither a name nor an address" },
	{ "stream me@h", "HOST 'me@h' is neither a name nor an address" },
	{ "doctor h:1", "HOST 'h:1': the port is an option: HOST h with -p 1" },
	{ "stream ::1", NULL },
	{ "stream fe80::1%eth0", NULL },
	{ "packets h -u", NULL },
	{ "packets h --rate 2Mpps", NULL },
	{ "packets h --rate 310.3k/s", NULL },
	{ "packets h --rate 1k/s/flow -P 2", NULL },
	{ "packets h --rate 1kB", "--rate: '1kB' is not a number a second such as 500, 64k or 1Mpps" },
	{ "packets h --rate -1", "--rate: '-1' is outside 1..1G" },
	{ "irq eth0 spread", "'eth0' is none of show, spread, restore: the interface stands behind it" },
	{ "irq lo eth0", "'lo' is none of show, spread, restore" },
	/* limits */
	{ "stream h --time 0", "--time: '0' is outside 1s..24h" },
	{ "stream h -t 25h", "-t: '25h' is outside 1s..24h" },
	{ "stream h -t", "-t needs a value: TIME" },
	{ "stream h -p 0", "-p: '0' is outside 1..65535" },
	{ "serve -p 65536", "-p: '65536' is outside 0..65535" },
	{ "serve -p 0", NULL },
	{ "stream h -P 0", "-P: '0' is outside 1..100k" },
	{ "stream h --flows 100001", "--flows: '100001' is outside 1..100k" },
	{ "stream h -T 0", "-T: '0' is outside 1..1k" },
	{ "serve --threads 1001", "--threads: '1001' is outside 1..1k" },
	{ "stream h --warmup 25h", "--warmup: '25h' is outside 0s..24h" },
	{ "stream h --cooldown 25h", "--cooldown: '25h' is outside 0s..24h" },
	{ "stream h --drain 11m", "--drain: '11m' is outside 0s..10m" },
	{ "stream h -i 9ms", "-i: '9ms' is outside 10ms..24h" },
	{ "stream h -n 0", "-n: '0' is outside 1..1000Ti" },
	{ "stream h -l 0", "-l: '0' is outside 1..1Gi" },
	{ "stream h -l 2Gi", "-l: '2Gi' is outside 1..1Gi" },
	{ "stream h -b 999", "-b: '999' is outside 1k..100T" },
	{ "stream h -b x/flow", "-b: 'x' is not a rate such as 500M, 2.5G or 10Gbit/s" },
	{ "stream h --rate 2G", "--rate: '2G' is outside 1..1G" },
	{ "stream h --sndbuf 1023", "--sndbuf: '1023' is outside 1Ki..1Gi" },
	{ "stream h --rcvbuf 2Gi", "--rcvbuf: '2Gi' is outside 1Ki..1Gi" },
	{ "stream h --mss 87", "--mss: '87' is outside 88..32767" },
	{ "stream h --dscp 64", "--dscp: '64' is outside 0..63" },
	{ "stream h --dscp nope", "--dscp: 'nope' is neither 0..63 nor a name such as ef" },
	{ "stream h --connect-timeout 99ms", "--connect-timeout: '99ms' is outside 0.1s..1h" },
	{ "stream h -r 0", "-r: '0' is outside 1..1Gi" },
	{ "stream h -r 1,2Gi", "-r: '2Gi' is outside 1..1Gi" },
	{ "stream h --payload x", "--payload: 'x' is none of random, zero, pattern" },
	{ "stream h --shape x", "--shape: 'x' is none of stream..." },
	{ "stream h --engine x", "--engine: 'x' is none of auto, ..." },
	{ "stream h --tx x", "--tx: 'x' is none of auto, copy..." },
	{ "stream h --rx x", "--rx: 'x' is none of auto, copy..." },
	{ "stream h -o x", "-o: 'x' is none of text..." },
	{ "serve --allow nonsense", "--allow: ..." },
	{ "serve --max-time 0", "--max-time: '0' is outside 1s..72h" },
	{ "serve --max-flows 0", "--max-flows: '0' is outside 1..100k" },
	{ "serve --max-tests 1001", "--max-tests: '1001' is outside 1..1k" },
	{ "stream h --pin x", "--pin: 'x' is no list of CPUs such as 0,2-3, nor auto" },
	{ "serve --pin 3-1", "--pin: '3-1' is no list of CPUs such as 0,2-3, nor auto" },
	/* combinations */
	{ "stream h -4 -6", "-4 and -6 exclude each other" },
	{ "serve -46", "-4 and -6 exclude each other" },
	/* ways to move bytes */
	{ "stream h -u --tx splice", "--tx splice is for TCP, it cannot move datagrams" },
	{ "packets h --rx mmap", "--rx mmap is for TCP, it cannot move datagrams" },
	{ "stream h --tx gso", "--tx gso is for datagrams, it needs -u" },
	{ "stream h --rx gro", "--rx gro is for datagrams, it needs -u" },
	{ "stream h --verify --rx trunc", "--rx trunc and --verify exclude each other: nobody sees the bytes" },
	{ "stream h --verify --tx zerocopy", "--tx zerocopy and --verify exclude each other: nobody sees the bytes" },
	{ "stream h --verify --tx copy --rx copy", NULL },
	{ "packets h --verify --rx trunc", "--rx trunc and --verify exclude each other: nobody sees the bytes" },
	{ "stream h -u --tx gso --shape rr", "--gso and --gro have no meaning with --shape rr: each message is answered" },
#if ND_HAVE_URING
	{ "stream h --engine uring --tx splice", "--engine uring and --tx splice exclude each other: ..." },
	{ "stream h --engine uring --tx zerocopy", NULL },
	{ "connect h --engine uring", "--engine uring makes no connections, blocking and epoll do" },
	{ "connect h --engine null", "--engine null makes no connections, blocking and epoll do" },
	{ "stream h --engine uring --max", "--engine uring and --max exclude each other" },
	{ "stream h -u --engine uring --gro on", "--engine uring and --gro exclude each other" },
#endif
	{ "stream h --spin --wait nap", "--spin and --wait nap exclude each other" },
	{ "stream h --spin --wait spin", NULL },
	{ "packets h --trial 3", "--trial needs --find-rate" },
	{ "packets h --find-rate --trial 300ms -i 500ms", "-i: '0.5s' is longer than the test of 0.3s (--trial)" },
	{ "serve --also ntttcp:5001x", "--also: 'ntttcp:5001x': the port is outside 2..65535" },
	{ "serve --also ntttcp:5001+16x", "--also: 'ntttcp:5001+16x': the number of ports is outside 1..512" },
	{ "serve --also ntttcp:6001+4", NULL },
	{ "packets h -l 8,1000 -n 3000 -P 5", "-l: '1000' in a list is over the 600 bytes that -n leaves a flow" },
	{ "stream h -b 1G --rate 5", "-b and --rate exclude each other" },
	{ "stream h -n 1G --warmup 1", "-n with --warmup: warm-up must be 0 when -n ends the test" },
	{ "stream h -n 1G --warmup 0", NULL },
	{ "stream h -n 1G --cooldown 1", "-n with --cooldown: cool-down must be 0 when -n ends the test" },
	{ "stream h -n 1G -t 5", NULL },
	{ "stream h -n 3 -P 4", "-n: '3' is less than one byte for each of 4 flows" },
	{ "stream h -u -l 70000", "-l: '70000' is over 65507, the largest UDP datagram" },
	{ "stream h -u --shape rr -r 70000", "-r: '70000' is over 65507, the largest UDP datagram" },
	{ "stream h -u --mptcp", "--mptcp and -u exclude each other" },
	{ "stream h -u --cc bbr", "--cc is for TCP, it has no meaning with -u" },
	{ "stream h -u --mss 1000", "--mss is for TCP, it has no meaning with -u" },
	{ "stream h -u --nodelay", "--nodelay is for TCP, it has no meaning with -u" },
	{ "stream h --fragment", "--fragment needs -u" },
	{ "stream h -u --fragment", NULL },
	{ "stream h --cc not/a/name", "--cc: 'not/a/name' is no name" },
	{ "stream h --verify", NULL },
	{ "stream h --verify --payload pattern", NULL },
	{ "stream h --verify --payload zero", "--verify needs --payload pattern" },
	{ "stream h --verify --shape rr", "--verify compares streams, it has no meaning with --shape rr" },
	{ "stream h --shape rr -b 1M", "-b has no meaning with --shape rr, --rate sets requests per second" },
	{ "stream h --shape rr --rate 5", NULL },
	{ "stream h --shape rr -l 5", "-l has no meaning with --shape rr, -r gives the sizes" },
	{ "stream h -r 5", "-r needs --shape rr" },
	{ "stream h -i 11", "-i: '11s' is longer than the test of 10s (-t)" },
	{ "stream h -i 10ms -t 1h", "-i: '10ms' makes 360100 intervals, over 100000" },
	{ "stream h -T 3 -P 2", "-T: '3' is more threads than flows, which are 2" },
	{ "stream h -T 3 -P 2 --bidir", NULL },
	{ "stream h -P 60000 --bidir", "-P 60000 with --bidir: 120000 flows are over the limit of 100000" },
	{ "stream h -P 100000", "-P 100000 with one source address: about ..." },
	{ "stream h -l 1Gi -P 5 -T 5", "-l: '1Gi' with -T 5: buffers would be over 4Gi" },
	{ "stream h -B %eth0", NULL },
	{ "stream h -B a,%eth0", "-B: a device stands alone" },
	{ "stream h --json-lines", NULL },
	{ "stream h --json-lines -o json", NULL },
	{ "stream h --json-lines -o text", "--json-lines needs -o json" },
	/* packets */
	{ "packets h", NULL },
	{ "packets h -l 1", NULL },
	{ "packets h -l 64,512,1400 --rate 10k", NULL },
	{ "packets h -l imix -P 4 --spread -R", NULL },
	{ "packets h -l 64,7", "-l: '7' in a list: from 8 bytes on datagrams have a number that tells them apart" },
	{ "packets h -l 64,", "-l: ''..." },
	{ "packets h -l imux", "-l: 'imux'..." },
	{ "packets h -l 65508", "-l: '65508' is outside 1..65507" },
	{ "packets h -l 8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8", "-l: '8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8' has more than 16 sizes" },
	{ "packets h --shape rr", "unknown option '--shape'..." },
	{ "packets h --spread -B a,b", "--spread needs one source address, or none" },
	{ "packets h --find-rate", NULL },
	{ "packets h --find-rate=0", NULL },
	{ "packets --find-rate 0.5% h", NULL },
	{ "packets h --find-rate 0.5%", NULL },
	{ "packets h --find-rate 60%", "--find-rate: '60%' is outside 0%..50%" },
	{ "packets h --find-rate i", "'i' is one operand too many: there is one HOST" },
	{ "packets h 0.5%", "'0.5%' is one operand too many: there is one HOST" },
	{ "packets h --find-rate --bidir", "--find-rate and --bidir exclude each other" },
	{ "packets h --find-rate -n 1M", "--find-rate and -n exclude each other" },
	{ "packets h --find-rate -t 5", "-t has no meaning with --find-rate, --trial is the time of one trial" },
	{ "connect h -P 7 -n 7", NULL },
	{ "connect h -n 1", NULL },
	{ "connect h -T 9", NULL },
	{ "connect h -P 8 -T 9", "-T: '9' is more threads than flows, which are 8" },
	{ "connect h -P 7 -n 6", "-n: '6' is less than one for each of 7 flows" },
	{ "connect h -n 6 --warmup 1", "-n with --warmup: warm-up must be 0 when -n ends the test" },
	{ "stream h --group-wait 5", "--group-wait needs --group" },
	{ "stream h --group a --expect 2 --group-wait 5", NULL },
	{ "connect h --only -r 64", "-r and --only exclude each other: nothing is asked" },
	{ "connect h --busy-poll 50", "--busy-poll has no meaning with connections that do not last" },
	{ "connect h --fragment", "unknown option '--fragment'..." },
	{ "packets h --fragment", NULL },
	{ "latency h -u --fragment", NULL },
	{ "packets h --depth 2 --engine uring", "--depth is for streams: several sends of a flow under way" },
	{ "latency h --depth 2", "unknown option '--depth'..." },
	{ "stream h --depth 2 --engine uring --shape rr", "--depth is for streams: several sends of a flow under way" },
	{ "packets h --trial 0.1", "--trial: '0.1' is outside 0.2s..24h" },
	/* latency beside a load */
	{ "latency h --load stream", NULL },
	{ "latency h --load stream,4,down,rate=1G,size=64Ki", NULL },
	{ "latency h --load packets,both,flows=4,rate=100k,size=64 --rate 1k", NULL },
	{ "latency h --load packets --nodelay --cc bbr --fragment", NULL },
	{ "latency h -u --load stream --cc bbr", NULL },
	{ "latency h -u --load packets --cc bbr", "--cc is for TCP, it has no meaning with -u" },
	{ "latency h --load", "--load..." },
	{ "latency h --load bulk", "--load: 'bulk' begins with neither stream nor packets" },
	{ "latency h --load streams", "--load: 'streams' begins with neither stream nor packets" },
	{ "latency h --load stream,", "--load: '' is none of up, down, both, a number of flows, flows=N, rate=RATE, size=BYTES" },
	{ "latency h --load stream,left", "--load: 'left' is none of up..." },
	{ "latency h --load stream,rate", "--load: 'rate' is none of up..." },
	{ "latency h --load stream,0", "--load flows: '0' is outside 1..10k" },
	{ "latency h --load stream,4x", "--load flows: '4x'..." },
	{ "latency h --load stream,rate=5", "--load rate: '5' is outside 1k..100T" },
	{ "latency h --load packets,rate=0", "--load rate: '0' is outside 1..1G" },
	{ "latency h --load packets,size=65508", "--load size: '65508' is outside 1..65507" },
	{ "stream h --load stream", "unknown option '--load'..." },
};

/* clang-format on */

static bool fits(const char *text, const char *wanted)
{
	size_t n = strlen(wanted);

	if (n >= 3 && !strcmp(wanted + n - 3, "..."))
		return !strncmp(text, wanted, n - 3);
	return !strcmp(text, wanted);
}

static void answers_in_sentences(void **state)
{
	struct line l;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(sentences); i++) {
		const struct sentence_case *c = &sentences[i];
		int r = read_line(&l, c->words);

		if (r != (c->sentence ? -EINVAL : ND_NEXT_RUN) ||
		    (c->sentence && !fits(l.err.text, c->sentence)))
			fail_msg("netdyno %s: %d '%s'", c->words, r, l.err.text);
		done(&l);
	}
}

static void fills_the_plan(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(read_line(&l, "stream h"), ND_NEXT_RUN);
	assert_int_equal(l.plan.verb, ND_VERB_STREAM);
	assert_string_equal(l.plan.host, "h");
	assert_int_equal(l.plan.port, ND_DEFAULT_PORT);
	assert_int_equal(l.plan.duration_ns, 10 * S);
	assert_int_equal(l.plan.warmup_ns, S);
	assert_int_equal(l.plan.cooldown_ns, 0);
	assert_int_equal(l.plan.interval_ns, S);
	assert_int_equal(l.plan.drain_ns, 10 * S);
	assert_int_equal(l.plan.connect_timeout_ns, 5 * S);
	assert_int_equal(l.plan.threads, 0);
	assert_int_equal(l.plan.workload[0].flows, 1);
	assert_int_equal(l.plan.workload[0].message_bytes, 256 << 10);
	assert_string_equal(l.plan.engine, "auto");
	assert_string_equal(l.plan.out.format, "text");
	assert_true(l.plan.source_ports > 0);
	done(&l);
	assert_int_equal(
		read_line(&l, "stream h -B a,b -Bc --dscp af41 -P 4 -b 1M/flow --shape rr"),
		-EINVAL);
	done(&l);
	assert_int_equal(read_line(&l, "stream h -B a,b -Bc --dscp af41 -P 4 -b 1M/flow -O f -q"),
			 ND_NEXT_RUN);
	assert_int_equal(l.plan.bind.n, 3);
	assert_string_equal(l.plan.bind.v[2], "c");
	assert_true(l.plan.sock.has_dscp);
	assert_int_equal(l.plan.sock.dscp, 34);
	assert_int_equal(l.plan.workload[0].rate_bps, 4000000);
	assert_string_equal(l.plan.out.file, "f");
	assert_true(l.plan.out.quiet);
	done(&l);
	assert_int_equal(read_line(&l, "stream h --shape rr -r 64,1Ki -u"), ND_NEXT_RUN);
	assert_int_equal(l.plan.workload[0].request_bytes, 64);
	assert_int_equal(l.plan.workload[0].response_bytes, 1024);
	done(&l);
}

static void fills_loads(void **state)
{
	static const struct {
		const char *words;
		uint64_t workloads, flows, rate_bps, rate_ops, bytes;
		const char *transport;
		enum nd_end_kind active; /* of the first load */
	} rows[] = {
		{ "latency h --load stream", 2, 1, 0, 0, 256 << 10, "tcp", ND_CLIENT },
		{ "latency h -u --load stream,down,100", 2, 100, 0, 0, 128 << 10, "tcp",
		  ND_SERVER },
		{ "latency h --load packets", 2, 1, 0, 0, 18, "udp", ND_CLIENT },
		{ "latency h -P 2 --load size=5,stream", 0, 0, 0, 0, 0, NULL, ND_CLIENT },
		{ "latency h -P 3 --load packets,both,2,rate=5k,size=64", 3, 2, 0, 5000, 64, "udp",
		  ND_CLIENT },
		{ "latency h --load packets --load stream,size=1Ki,rate=1M", 2, 1, 1000000, 0, 1024,
		  "tcp", ND_CLIENT },
	};
	struct line l;

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		const struct nd_workload *w = &l.plan.workload[1];

		assert_int_equal(read_line(&l, rows[i].words),
				 rows[i].workloads ? ND_NEXT_RUN : -EINVAL);
		if (rows[i].workloads) {
			assert_int_equal(l.plan.workloads, rows[i].workloads);
			assert_int_equal(l.plan.workload_list.n, rows[i].workloads);
			assert_true(nd_plan_is_loaded(&l.plan));
			assert_string_equal(l.plan.workload[0].load, "rr");
			assert_string_equal(w->load, "stream");
			assert_string_equal(w->transport, rows[i].transport);
			assert_int_equal(w->flows, rows[i].flows);
			assert_int_equal(w->first_flow, l.plan.workload[0].flows);
			assert_int_equal(w->rate_bps, rows[i].rate_bps);
			assert_int_equal(w->rate_ops, rows[i].rate_ops);
			assert_int_equal(w->message_bytes, rows[i].bytes);
			assert_int_equal(w->active, rows[i].active);
		}
		done(&l);
	}
}

static void fills_the_server_plan(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(read_line(&l, "serve"), ND_NEXT_RUN);
	assert_int_equal(l.plan.verb, ND_VERB_SERVE);
	assert_int_equal(l.plan.port, ND_DEFAULT_PORT);
	assert_int_equal(l.plan.serve.max_time_ns, 0);
	assert_int_equal(l.plan.serve.max_flows, ND_MAX_FLOWS);
	assert_int_equal(l.plan.serve.max_tests, 16);
	assert_null(l.plan.out.format);
	done(&l);
	assert_int_equal(read_line(&l, "serve --once --listen ::1 --listen 127.0.0.1 -6 -O f "
				       "--allow 192.0.2.0/24,2001:db8::/32"),
			 ND_NEXT_RUN);
	assert_true(l.plan.serve.once);
	assert_int_equal(l.plan.serve.listen.n, 2);
	assert_int_equal(l.plan.serve.allow.n, 2);
	assert_int_equal(l.plan.af, ND_AF_IPV6);
	assert_string_equal(l.plan.out.format, "text");
	done(&l);
}

/* clang-format off */
static const struct { const char *words; int next; const char *holds; } printed[] = {
	{ "--help", ND_NEXT_PRINT, "usage: netdyno VERB" },
	{ "-h", ND_NEXT_PRINT, "usage: netdyno VERB" },
	{ "\xe2\x80\x94help", ND_NEXT_PRINT, "usage: netdyno VERB" },
	{ "help", ND_NEXT_PRINT, "usage: netdyno VERB" },
	{ "--version", ND_NEXT_PRINT, "netdyno " },
	{ "--version", ND_NEXT_PRINT, "\nfeatures: " ND_FEATURES "\n" },
	{ "--version", ND_NEXT_PRINT, ND_HAVE_URING ? "uring=yes" : "uring=no" },
	{ "stream --version", ND_NEXT_PRINT, "engines: " },
	{ "help stream", ND_NEXT_PRINT, "usage: netdyno stream [options] HOST" },
	{ "help help", ND_NEXT_PRINT, "usage: netdyno VERB" },
	{ "help ntttcp", ND_NEXT_PRINT, "usage: ntttcp [options]" },
	{ "--help watch", ND_NEXT_PRINT, "usage: netdyno watch" },
	{ "-h sockperf", ND_NEXT_PRINT, "usage: sockperf MODE" },
	{ "version", ND_NEXT_PRINT, "\nfeatures: " },
	{ "-V", ND_NEXT_PRINT, "\nfeatures: " },
	{ "help netserver", ND_NEXT_PRINT, "answer netperf's clients" },
	{ "help sockperf", ND_NEXT_PRINT, "usage: sockperf MODE" },
	{ "stream --help", ND_NEXT_PRINT, "--connect-timeout TIME" },
	{ "stream -h", ND_NEXT_PRINT, "-t, --time TIME" },
	{ "serve -h", ND_NEXT_PRINT, "--allow CIDR" },
	{ "--gen man", ND_NEXT_PRINT, ".SH EXIT STATUS" },
	{ "--gen bash", ND_NEXT_PRINT, "complete -F _netdyno netdyno" },
	{ "--gen bash", ND_NEXT_PRINT, "complete -F _netdyno_link ntttcp netperf netserver sockperf\n" },
	{ "--gen bash", ND_NEXT_PRINT, " show spread restore'\" $(ls /sys/class/net)\" ;;" },
	{ "--gen bash", ND_NEXT_PRINT, "--iface) words=$(ls /sys/class/net) ;;" },
	{ "--gen zsh", ND_NEXT_PRINT, "'1: :(show spread restore)'" },
	{ "--gen zsh", ND_NEXT_PRINT, "'*:ACTION IFACE:_net_interfaces'" },
	{ "--gen=zsh", ND_NEXT_PRINT, "#compdef netdyno" },
	{ "--gen protocol-md", ND_NEXT_PRINT, "#" },
	{ "--gen schema", ND_NEXT_SCHEMA, "" },
	{ "--gen results-md", ND_NEXT_RESULT_DOC, "" },
};

/* clang-format on */

static void prints_what_is_asked(void **state)
{
	struct line l;
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(printed); i++) {
		if (read_line(&l, printed[i].words) != printed[i].next ||
		    !strstr(nd_str_text(&l.out), printed[i].holds))
			fail_msg("netdyno %s: '%s' %s", printed[i].words, l.err.text,
				 nd_str_text(&l.out));
		done(&l);
	}
}

/* Other tools' names stand where verbs do, in both shells. */
static void completes_every_persona(void **state)
{
	static const char *const generators[] = { "--gen bash", "--gen zsh" };
	const struct nd_persona *p;
	char word[64];
	struct line l;
	size_t i, n;

	(void)state;
	for (i = 0; i < ND_COUNTOF(generators); i++) {
		assert_int_equal(read_line(&l, generators[i]), ND_NEXT_PRINT);
		for (n = 1; (p = nd_persona_at(n)); n++) {
			(void)snprintf(word, sizeof(word), "\t%s) ", p->name);
			word[strlen(word) - (i == 0)] = '\0'; /* bash goes on in the next line */
			if (!strstr(nd_str_text(&l.out), word))
				fail_msg("%s: no '%s'", generators[i], word);
			(void)snprintf(word, sizeof(word), i == 0 ? " %s " : "'%s:", p->name);
			if (!strstr(nd_str_text(&l.out), word))
				fail_msg("%s: no '%s'", generators[i], word);
		}
		done(&l);
	}
}

static void fits_a_screen(void **state)
{
	const struct nd_face *f;
	nd_auto_str out = { 0 };
	const char *p, *end;
	unsigned lines;

	(void)state;
	for (f = nd_persona_find("netdyno")->faces; f->set; f++) {
		nd_str_reset(&out);
		nd_opt_help(f->set, false, &out);
		lines = 0;
		for (p = nd_str_text(&out); *p; p = end + 1, lines++) {
			end = strchr(p, '\n');
			assert_non_null(end);
			if (end - p > 79)
				fail_msg("%s: %.*s", f->verb, (int)(end - p), p);
		}
		assert_true(lines < 24);
	}
}

static void check_row(const struct nd_opt *row)
{
	const char *name = row->name ? row->name : "", *text = row->help ? row->help : "", *help;
	size_t n = strlen(text);

	if (n == 0 || n > 60 || text[n - 1] == '.')
		fail_msg("%s: help is missing, long, or ends in a full stop", name);
	if (row->type == ND_OPT_LIST && row->preset)
		fail_msg("%s: a list with a default", name);
	if (row->type == ND_OPT_CUSTOM && !row->parse)
		fail_msg("%s: nothing parses it", name);
	if (row->type == ND_OPT_ENUM && !row->values(0, &help))
		fail_msg("%s: no values", name);
	if (row->type == ND_OPT_INT && !row->choices)
		fail_msg("%s: no choices", name);
	if (row->max && row->max < row->min)
		fail_msg("%s: limits", name);
}

/* How many rows of a verb answer to a word of @row. */
static unsigned rows_named(const struct nd_opt_set *set, const struct nd_opt *row)
{
	const struct nd_opt *const *array, *other;
	unsigned n = 0;

	for (array = set->rows; *array; array++)
		for (other = *array; other->name; other++)
			n += (row->letter && other->letter == row->letter) ||
			     !strcmp(other->name, row->name);
	return n;
}

static void has_whole_rows(void **state)
{
	const struct nd_opt *const *array, *row;
	const struct nd_face *f;

	(void)state;
	for (f = nd_persona_find("netdyno")->faces; f->set; f++) {
		assert_non_null((*f->set->rows)->section);
		for (array = f->set->rows; *array; array++) {
			for (row = *array; row->name; row++) {
				check_row(row);
				assert_int_equal(rows_named(f->set, row), 1);
			}
			assert_int_equal(row->letter, 0); /* every option has a long name */
		}
	}
}

/* A default that a user could not type would fail here. */
static void parses_every_default(void **state)
{
	const struct nd_face *f;

	(void)state;
	for (f = nd_persona_find("netdyno")->faces; f->set; f++) {
		struct nd_err err = { 0 };
		struct nd_plan plan;

		nd_plan_init(&plan);
		if (nd_opt_defaults(f->set, f->target ? f->target(&plan) : &plan, &plan.arena,
				    &err) < 0)
			fail_msg("%s", err.text);
		nd_plan_done(&plan);
	}
}

static void finds_personas(void **state)
{
	(void)state;
	assert_ptr_equal(nd_persona_find("netdyno"), nd_persona_at(0));
	assert_null(nd_persona_find("nobody"));
	assert_null(nd_persona_at(1000));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_in_sentences),    cmocka_unit_test(fills_the_plan),
		cmocka_unit_test(fills_the_server_plan),   cmocka_unit_test(prints_what_is_asked),
		cmocka_unit_test(completes_every_persona), cmocka_unit_test(fits_a_screen),
		cmocka_unit_test(has_whole_rows),          cmocka_unit_test(parses_every_default),
		cmocka_unit_test(finds_personas),          cmocka_unit_test(fills_loads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
