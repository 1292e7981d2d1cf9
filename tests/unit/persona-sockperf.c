/* SPDX-License-Identifier: MIT */
/* sockperf's command lines: those of articles and harnesses as typed, and a row for each rule and limit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "persona-words.h"
#include "plan/sockperf.h"

static char feed[] = "/tmp/persona-sockperf-XXXXXX"; /* a file with one address */

struct line {
	struct words words;
	struct nd_plan plan;
	struct nd_str out;
	struct nd_err err;
	const struct nd_sockperf *n;
};

/* @text: behind the name; the word FEED stands for the file's name. */
static int read_line(struct line *l, const char *text)
{
	int r;

	*l = (struct line){ .words.n = 0 };
	words_set(&l->words, "sockperf", text);
	for (int i = 0; i < l->words.n; i++)
		if (!strcmp(l->words.v[i], "FEED"))
			l->words.v[i] = feed;
	r = nd_persona_read(l->words.n, l->words.v, &l->plan, &l->out, &l->err);
	l->n = nd_sockperf_of(&l->plan);
	return r;
}

static void done(struct line *l)
{
	nd_plan_done(&l->plan);
	nd_str_done(&l->out);
}

static void write_feed(const char *text)
{
	FILE *f = fopen(feed, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void takes_command_lines(void **state)
{
	static const struct {
		const char *text;
		enum nd_sockperf_mode mode;
		const char *host, *transport, *load;
		uint64_t port, bytes, seconds, rate, burst, flows;
		bool nodelay;
	} rows[] = {
		{ "pp --tcp -i 10.0.0.1 -t 30 -m 14 --full-log result.json", ND_SP_PING_PONG,
		  "10.0.0.1", "tcp", "burst", 11111, 14, 30, 0, 1, 1, true },
		{ "tp -i 10.0.0.1 --pps max -m 14 -t 4 --port 6666", ND_SP_THROUGHPUT, "10.0.0.1",
		  "udp", "burst", 6666, 14, 4, 0, 1, 1, false },
		{ "ping-pong --full-rtt -i h", ND_SP_PING_PONG, "h", "udp", "burst", 11111, 14, 1,
		  0, 1, 1, false },
		{ "ul -i h", ND_SP_UNDER_LOAD, "h", "udp", "under", 11111, 14, 1, 10000, 1, 1,
		  false },
		{ "ul -i h --mps=200 --reply-every 7 -b 3", ND_SP_UNDER_LOAD, "h", "udp", "under",
		  11111, 14, 1, 200, 3, 1, false },
		{ "tp --tcp -i h --tcp-avoid-nodelay", ND_SP_THROUGHPUT, "h", "tcp", "burst", 11111,
		  14, 1, 0, 1, 1, true },
		{ "tp --stream --addr h", ND_SP_THROUGHPUT, "h", "tcp", "burst", 11111, 14, 1, 0, 1,
		  1, false },
		{ "pp --tcp --tcp-avoid-nodelay", ND_SP_PING_PONG, "127.0.0.1", "tcp", "burst",
		  11111, 14, 1, 0, 1, 1, false },
		{ "tp -p=5 -m0x20 -t 2", ND_SP_THROUGHPUT, "127.0.0.1", "udp", "burst", 5, 32, 2, 0,
		  1, 1, false },
		{ "tp --threads 4", ND_SP_THROUGHPUT, "127.0.0.1", "udp", "burst", 11111, 14, 1, 0,
		  1, 4, false },
		{ "pp -f FEED", ND_SP_PING_PONG, "192.0.2.1", "udp", "burst", 4000, 14, 1, 0, 1, 2,
		  false },
	};

	(void)state;
	write_feed("192.0.2.1:4000\n# no\n\n U:no:1\nu:192.0.2.2:4001\r\n192.0.2.1:4000\n");
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		const struct nd_workload *w;
		struct line l;

		if (read_line(&l, rows[i].text) != ND_NEXT_RUN)
			fail_msg("%s: %s", rows[i].text, l.err.text);
		w = &l.plan.workload[0];
		assert_non_null(l.n);
		assert_int_equal(l.n->mode, rows[i].mode);
		assert_string_equal(l.plan.host, rows[i].host);
		assert_string_equal(w->transport, rows[i].transport);
		assert_string_equal(w->load, rows[i].load);
		assert_int_equal(l.plan.port, rows[i].port);
		assert_int_equal(w->message_bytes, rows[i].bytes);
		assert_int_equal(l.plan.duration_ns, rows[i].seconds * ND_NS_PER_S);
		assert_int_equal(w->rate_ops, rows[i].rate);
		assert_int_equal(w->burst, rows[i].burst);
		assert_int_equal(w->flows, rows[i].flows);
		assert_int_equal(l.plan.sock.nodelay, rows[i].nodelay);
		done(&l);
	}
}

static void sets_sockets(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(read_line(&l, "pp -i 239.1.2.3 --tos 0xb9 --mc-ttl 0 --mc-loopback-enable "
				       "--mc-rx-if lo --mc-tx-if 2 --mc-source-filter 192.0.2.9 "
				       "--buffer-size 30000 --rate-limit 1000 --lls 20"),
			 ND_NEXT_RUN);
	assert_int_equal(l.plan.sock.dscp, 0xb9 >> 2);
	assert_int_equal(l.plan.sock.ecn, 1);
	assert_true(l.plan.sock.multicast.wanted && l.plan.sock.multicast.joins);
	assert_true(l.plan.sock.multicast.loops);
	assert_int_equal(l.plan.sock.multicast.ttl, 0);
	assert_string_equal(l.plan.sock.multicast.rx_if, "lo");
	assert_string_equal(l.plan.sock.multicast.tx_if, "2");
	assert_string_equal(l.plan.sock.multicast.source, "192.0.2.9");
	assert_int_equal(l.plan.sock.rcvbuf_bytes, 30000);
	assert_int_equal(l.plan.sock.sndbuf_bytes, 30000);
	assert_int_equal(l.plan.sock.pacing_bps, 8000);
	assert_int_equal(l.plan.busy_poll_us, 20);
	done(&l);
	assert_int_equal(read_line(&l, "tp -i 239.1.2.3"), ND_NEXT_RUN);
	assert_int_equal(l.plan.sock.multicast.ttl, 2);
	assert_false(l.plan.sock.multicast.joins || l.plan.sock.multicast.loops);
	done(&l);
	assert_int_equal(read_line(&l, "pp --tcp -i 239.example --tcp_nb_connect_timeout_ms 250"),
			 ND_NEXT_RUN);
	assert_false(l.plan.sock.multicast.wanted);
	assert_int_equal(l.plan.connect_timeout_ns, 250 * ND_NS_PER_MS);
	done(&l);
}

static void serves(void **state)
{
	struct line l;

	(void)state;
	assert_int_equal(read_line(&l, "sr --tcp --daemonize -m 1000000"), ND_NEXT_RUN);
	assert_int_equal(l.plan.verb, ND_VERB_RECEIVE);
	assert_string_equal(l.plan.workload[0].load, "echo");
	assert_int_equal(l.plan.workload[0].message_bytes, 1000000);
	assert_true(l.plan.daemon && l.plan.hold && l.plan.open_ended && l.plan.sock.nodelay);
	done(&l);
	/* only ever more than sockperf's own limit */
	assert_int_equal(read_line(&l, "server --tcp -m 100"), ND_NEXT_RUN);
	assert_int_equal(l.plan.workload[0].message_bytes, ND_SOCKPERF_LIMIT);
	done(&l);
	assert_int_equal(read_line(&l, "sr --dont-reply --cpu-affinity 0,1-1"), ND_NEXT_RUN);
	assert_true(l.plan.workload[0].silent);
	assert_string_equal(l.plan.pin, "0,1-1");
	done(&l);
}

static void refuses(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "nothing", "'nothing' is no mode" },
		{ "tp word", "throughput: 'word' is one word too many" },
		{ "tp -t 0", "-t: '0' is outside 1..86400" },
		{ "tp -t 86401", "-t: '86401' is outside 1..86400" },
		{ "tp -m 13", "-m: '13' is outside 14..1048575" },
		{ "tp -m 65508", "-m: '65508' is outside 14..65507" },
		{ "tp --tcp -m 1048576", "-m: '1048576' is outside 14..1048575" },
		{ "tp -p 65536", "-p: '65536' is outside 1..65535" },
		{ "tp -b 0", "-b: '0' is outside 1..1M" },
		{ "tp --mps 0", "--mps: '0' is outside 1..1Gi" },
		{ "tp --mps 1073741825", "--mps: '1073741825' is outside 1..1Gi" },
		{ "ul --reply-every 0", "--reply-every: '0' is outside 1..1Gi" },
		{ "pp -n 0", "-n: '0' is outside 1..100M" },
		{ "pp -n 100000001", "-n: '100000001' is outside 1..100M" },
		{ "pp -n 5 -t 1", "-n conflicts with -t,--mps options" },
		{ "pp -n 5 --mps max", "-n conflicts with -t,--mps options" },
		{ "pp --data-integrity -b 2", "--data-integrity conflicts with -b option" },
		{ "pp --ci_sig_level 100", "--ci_sig_level: '100' is outside 1..99" },
		{ "pp --histogram 1:2", "--histogram: '1:2' is not BINSIZE:LOWER:UPPER in us" },
		{ "pp --histogram 0:1:2", "--histogram: '0:1:2' has no bins" },
		{ "tp --mc-ttl 256", "--mc-ttl: '256' is outside 0..255" },
		{ "tp --tos 256", "--tos: '256' is outside 0..255" },
		{ "tp --client_port 65536", "--client_port: '65536' is outside 0..65535" },
		{ "tp --srv-num 0", "--srv-num: '0' is outside 1..16" },
		{ "pp --tcp --srv-num 2", "--tcp conflicts with --srv-num option" },
		{ "tp --recv_looping_num 2", "--recv_looping_num other than 1 needs --nonblocked" },
		{ "tp --recv_looping_num=-1",
		  "--recv_looping_num other than 1 needs --nonblocked" },
		{ "tp -F e", "-F must be used with feed file (option '-f')" },
		{ "tp -F q -f FEED", "-F: 'q' is none of select, poll, epoll, recvfrom" },
		{ "tp -f FEED -p 5", "-f conflicts with -i,-p options" },
		{ "tp -f FEED -i h", "-f conflicts with -i,-p options" },
		{ "tp -f FEED --tcp", "-f conflicts with --tcp option" },
		{ "tp -f FEED --client_port 5", "--client_port conflicts with -f option" },
		{ "tp -f nowhere", "-f: open nowhere: No such file or directory" },
		{ "tp --sender-affinity 0-",
		  "--sender-affinity: '0-' is no list of CPUs such as 0,2-5" },
		{ "tp --sender-affinity 3-2",
		  "--sender-affinity: '3-2' is no list of CPUs such as 0,2-5" },
		{ "ul --receiver-affinity a",
		  "--receiver-affinity: 'a' is no list of CPUs such as 0,2-5" },
		{ "sr --dont-reply --tcp", "--tcp conflicts with --dont-reply option" },
		{ "sr -m 13", "-m: '13' is outside 14..1048575" },
		{ "sr --threads-num 0", "--threads-num: '0' is outside 1..64" },
		{ "sr -t 5", "unknown option '-t'; see sockperf server --help" },
		{ "pb", "--data-file must be used with playback mode" },
		{ "pb --data-file nowhere",
		  "--data-file: open nowhere: No such file or directory" },
		{ "tp --tls", "--tls is not implemented here" },
		{ "tp --load-vma",
		  "--load-vma takes a vendor's kernel-bypass library, which this program does not use" },
		{ "pp --vmazcopyread",
		  "--vmazcopyread takes a vendor's kernel-bypass library, which this program does not use" },
		{ "sr --vmarxfiltercb",
		  "--vmarxfiltercb takes a vendor's kernel-bypass library, which this program does not use" },
		{ "tp --dummy-send",
		  "--dummy-send takes a vendor's kernel-bypass library, which this program does not use" },
		{ "tp --timeout -1", "--timeout needs a value: MS" },
		{ "tp --timeout x", "--timeout: 'x' is not a number such as 1500, 64k or 1Mi" },
	};

	(void)state;
	write_feed("192.0.2.1:4000\n");
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct line l;

		if (read_line(&l, rows[i].text) >= 0)
			fail_msg("%s: was taken", rows[i].text);
		assert_string_equal(l.err.text, rows[i].want);
		done(&l);
	}
}

static void refuses_feeds(void **state)
{
	static const struct {
		const char *file, *want;
	} rows[] = {
		{ "# nothing\n", "-f: there is no address in it" },
		{ "host\n", "-f: 'host' is no [T:|U:]HOST:PORT" },
		{ "host:0\n", "-f: 'host:0' has no port" },
		{ "host:65536\n", "-f: 'host:65536' has no port" },
		{ "[::1:5\n", "-f: '[::1:5' is no [T:|U:]HOST:PORT" },
		{ "T:host:5:192.0.2.1\n",
		  "-f: 'T:host:5:192.0.2.1' is no [T:|U:]HOST:PORT[:SOURCE]" },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct line l;

		write_feed(rows[i].file);
		assert_true(read_line(&l, "pp -f FEED") < 0);
		assert_string_equal(l.err.text, rows[i].want);
		done(&l);
	}
}

/* A workload of each kind, with one another's numbers; addresses are shown as they stand there. */
static void takes_both_kinds(void **state)
{
	struct line l;

	(void)state;
	write_feed("U:192.0.2.1:1\nT:192.0.2.2:2\nT:192.0.2.2:2\nU:192.0.2.1:1\nT:192.0.2.1:1\n");
	if (read_line(&l, "pp -f FEED --mps 400") != ND_NEXT_RUN)
		fail_msg("%s", l.err.text);
	assert_int_equal(l.plan.workloads, 2);
	assert_string_equal(l.plan.workload[0].transport, "tcp");
	assert_int_equal(l.plan.workload[0].flows, 3);
	assert_int_equal(l.plan.workload[0].rate_ops, 300);
	assert_string_equal(l.plan.workload[1].transport, "udp");
	assert_int_equal(l.plan.workload[1].first_flow, 3);
	assert_int_equal(l.plan.workload[1].flows, 1);
	assert_int_equal(l.plan.workload[1].rate_ops, 100);
	assert_true(l.plan.workload[0].turns && l.plan.workload[1].turns && l.plan.sock.nodelay);
	assert_int_equal(l.plan.targets.n, 4);
	assert_string_equal(((struct nd_target *)l.plan.targets.v)[3].host, "192.0.2.1");
	assert_int_equal(l.n->addresses.n, 4);
	assert_string_equal(l.n->addresses.v[0], "IP = 192.0.2.1       PORT =     1 # UDP");
	assert_string_equal(l.n->addresses.v[1], "IP = 192.0.2.2       PORT =     2 # TCP");
	done(&l);
	assert_int_equal(read_line(&l, "sr -f FEED --tcp-avoid-nodelay"), ND_NEXT_RUN);
	assert_string_equal(l.plan.workload[0].transport, "udp");
	assert_int_equal(l.plan.targets.n, 1);
	assert_non_null(l.plan.twin);
	assert_string_equal(l.plan.twin->workload[0].transport, "tcp");
	assert_int_equal(l.plan.twin->targets.n, 2);
	assert_int_equal(l.plan.twin->port, 2);
	assert_false(l.plan.twin->sock.nodelay);
	assert_ptr_equal(l.plan.twin->face, l.plan.face);
	assert_int_equal(l.n->addresses.n, 3);
	done(&l);
	write_feed("T:192.0.2.2:2\nT:192.0.2.2:2\n");
	assert_int_equal(read_line(&l, "sr -f FEED"), ND_NEXT_RUN);
	assert_int_equal(l.plan.targets.n, 1);
	assert_true(l.n->tcp);
	done(&l);
}

/* What scripts give and what has no effect here, or is the same anyway. */
static void takes_what_has_no_effect(void **state)
{
	struct line l;

	(void)state;
	write_feed("192.0.2.1:4000\n");
	if (read_line(&l, "ul -f FEED -F p --timeout=-1 --no-rdtsc --uc-reuseaddr -d --dontwarmup "
			  "--nonblocked --recv_looping_num 5 --srv-num 1") != ND_NEXT_RUN)
		fail_msg("%s", l.err.text);
	assert_string_equal(l.plan.wait, "spin");
	done(&l);
}

/* By all its names, and wherever it stands. */
static void helps(void **state)
{
	static const char *const rows[] = { "pp --help", "pp -h", "pp -?", "sr -p 5 --usage",
					    "ul --usage -t 0" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct line l;

		if (read_line(&l, rows[i]) != ND_NEXT_PRINT)
			fail_msg("%s: %s", rows[i], l.err.text);
		assert_non_null(strstr(nd_str_text(&l.out), "usage: sockperf "));
		done(&l);
	}
}

/* What -d shows stands behind the defaults of each mode. */
static void tells_settings(void **state)
{
	static const struct {
		const char *text;
		bool nodelay, loops, has_threads;
		uint64_t ttl, client_port;
		const char *pin, *receiver_pin, *client_address;
	} rows[] = {
		{ "pp -d", true, false, false, 2, 0, NULL, NULL, NULL },
		{ "tp -d", false, false, false, 2, 0, NULL, NULL, NULL },
		{ "tp -d --tcp-avoid-nodelay --client_port 9 --client_ip 127.0.0.2", true, false,
		  false, 2, 9, NULL, NULL, "127.0.0.2" },
		{ "ul -d --tcp-avoid-nodelay --sender-affinity 0 --receiver-affinity 1,0", false,
		  false, false, 2, 0, "0", "1,0", NULL },
		{ "sr --debug --threads-num 1 --mc-ttl 0 --mc-loopback-enable --cpu-affinity 1",
		  true, true, true, 0, 0, "1", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		const char *got[3],
			*want[] = { rows[i].pin, rows[i].receiver_pin, rows[i].client_address };
		struct line l;

		if (read_line(&l, rows[i].text) != ND_NEXT_RUN)
			fail_msg("%s: %s", rows[i].text, l.err.text);
		assert_true(l.n->debug);
		assert_int_equal(l.n->nodelay, rows[i].nodelay);
		assert_int_equal(l.n->loops, rows[i].loops);
		assert_int_equal(l.n->has_threads, rows[i].has_threads);
		assert_int_equal(l.n->ttl, rows[i].ttl);
		assert_int_equal(l.n->client_port, rows[i].client_port);
		got[0] = l.n->pin;
		got[1] = l.n->receiver_pin;
		got[2] = l.n->client_address;
		for (size_t k = 0; k < ND_COUNTOF(got); k++)
			assert_string_equal(got[k] ? got[k] : "", want[k] ? want[k] : "");
		done(&l);
	}
}

static int make_feed(void **state)
{
	int fd = mkstemp(feed);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int drop_feed(void **state)
{
	(void)state;
	return unlink(feed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_command_lines),
		cmocka_unit_test(sets_sockets),
		cmocka_unit_test(serves),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_feeds),
		cmocka_unit_test(takes_what_has_no_effect),
		cmocka_unit_test(takes_both_kinds),
		cmocka_unit_test(helps),
		cmocka_unit_test(tells_settings),
	};

	return cmocka_run_group_tests(tests, make_feed, drop_feed);
}
