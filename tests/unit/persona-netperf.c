/* SPDX-License-Identifier: MIT */
/* The command lines of netperf and netserver: a row for each option, its forms and its traps. */
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
#include "plan/netperf.h"

#define S    ((int64_t)ND_NS_PER_S)
#define MS   (S / 1000)
#define US   (S / 1000000)
#define SEND ND_NP_SEND
#define RECV ND_NP_RECV
#define BOTH (ND_NP_SEND | ND_NP_RECV)

struct line {
	struct words words;
	struct nd_plan plan;
	struct nd_str out;
	struct nd_err err;
	const struct nd_netperf *n;
};

static int read_line(struct line *l, const char *text)
{
	int r;

	*l = (struct line){ .words.n = 0 };
	words_set(&l->words, "", text);
	r = nd_persona_read(l->words.n, l->words.v, &l->plan, &l->out, &l->err);
	l->n = nd_netperf_of(&l->plan);
	return r;
}

static void done(struct line *l)
{
	nd_plan_done(&l->plan);
	nd_str_done(&l->out);
}

/* ---- a member of the settings or of the plan */

enum kind { SIGNED, UNSIGNED, BOOL, ENUM, REAL, TEXT };

struct option_case {
	const char *words; /* behind "netperf" */
	enum kind kind;
	bool of_plan;
	size_t offset;
	const char *name;
	double value;
	const char *text;
};

/* clang-format off */
#define N(type, kind, member, v) kind, false, ND_FIELD_OF(type, struct nd_netperf, member), #member, (double)(v), NULL
#define P(type, kind, member, v) kind, true, ND_FIELD_OF(type, struct nd_plan, member), #member, (double)(v), NULL
#define I(member, v)  N(int64_t, SIGNED, member, v)
#define U(member, v)  N(uint64_t, UNSIGNED, member, v)
#define B(member, v)  N(bool, BOOL, member, v)
#define C(member, v)  N(int64_t, SIGNED, member, v)
#define D(member, v)  N(double, REAL, member, v)
#define E(type, member, v) N(type, ENUM, member, v)
#define T(member, v)  TEXT, false, ND_FIELD_OF(const char *, struct nd_netperf, member), #member, 0, v
#define PU(member, v) P(uint64_t, UNSIGNED, member, v)
#define PB(member, v) P(bool, BOOL, member, v)
#define PE(type, member, v) P(type, ENUM, member, v)
#define PT(member, v) TEXT, true, ND_FIELD_OF(const char *, struct nd_plan, member), #member, 0, v

static const struct option_case options[] = {
	/* forms: both, or the first alone */
	{ "-a 16", I(send_align.local, 16) },          { "-a 16", I(recv_align.local, 16) },
	{ "-a 16,", I(send_align.local, 16) },         { "-a 16,", I(recv_align.local, 8) },
	{ "-a ,16", I(send_align.local, 8) },          { "-a ,16", I(recv_align.local, 16) },
	{ "-a 16,32", I(recv_align.local, 32) },       { "-a 16", I(send_align.remote, 8) },
	{ "-A 16,32", I(send_align.remote, 16) },      { "-A 16,32", I(recv_align.remote, 32) },
	{ "-o 4,8", I(send_offset.local, 4) },         { "-o 4,8", I(recv_offset.local, 8) },
	{ "-O 4,8", I(send_offset.remote, 4) },        { "-O 4,8", I(recv_offset.remote, 8) },
	{ "-W 3,5", I(send_width.local, 3) },          { "-W 3,5", I(recv_width.local, 5) },
	{ "-W 3", I(recv_width.remote, 3) },           { "", I(send_width.local, 0) },
	{ "", I(send_align.local, 8) },                { "", I(send_offset.remote, 0) },
	/* numbers and letters */
	{ "-- -m 1400", I(send_bytes.local, 1400) },   { "-- -m 64K", I(send_bytes.local, 65536) },
	{ "-- -m 64k", I(send_bytes.local, 64000) },   { "-- -m 1M", I(send_bytes.local, 1048576) },
	{ "-- -m 1m", I(send_bytes.local, 1000000) },  { "-- -m 64KB", I(send_bytes.local, 65536) },
	{ "-- -m 1Kk", I(send_bytes.local, 1024000) }, { "-- -m 1.5K", I(send_bytes.local, 1024) },
	{ "-- -m64", I(send_bytes.local, 64) },        { "-- -m 0", I(send_bytes.local, -1) },
	{ "-- -m 10,20", I(send_bytes.remote, 20) },   { "-- -m 10", I(send_bytes.remote, -1) },
	{ "-- -m ,20", I(send_bytes.local, -1) },      { "-- -M 10,20", I(recv_bytes.remote, 10) },
	{ "-- -M 10,20", I(recv_bytes.local, 20) },    { "-- -M 10", I(recv_bytes.local, -1) },
	/* addresses */
	{ "", PT(host, "localhost") },                 { "-6", PT(host, "::1") },
	{ "-H h", PT(host, "h") },                     { "-Hh", PT(host, "h") },
	{ "stray -H h", PT(host, "h") },               { "10.0.0.1", PT(host, "localhost") },
	{ "-H g -H h", PT(host, "h") },                { "-H h,6", PE(enum nd_af, af, ND_AF_IPV6) },
	{ "-H h,inet", PE(enum nd_af, af, ND_AF_IPV4) }, { "-H h,inet6", PE(enum nd_af, af, ND_AF_IPV6) },
	{ "-H h,AF_INET6", PE(enum nd_af, af, ND_AF_IPV6) }, { "-6 -H h,unspec", PE(enum nd_af, af, ND_AF_ANY) },
	{ "-H ,4", PT(host, "localhost") },            { "-4", PE(enum nd_af, af, ND_AF_IPV4) },
	{ "-6", E(enum nd_af, control_af, ND_AF_IPV6) }, { "-L a,4", PE(enum nd_af, af, ND_AF_IPV4) },
	{ "-L a,6 -H h,4", PE(enum nd_af, af, ND_AF_IPV4) }, { "-L a", T(local_host, "a") },
	{ "-L a", PU(bind.n, 1) },                     { "", PU(bind.n, 0) },
	{ "", PU(port, 12865) },                       { "-p 16001", PU(port, 16001) },
	{ "-p 16001,7", U(local_port, 7) },            { "-p ,7", PU(port, 12865) },
	{ "-N", B(no_control, true) },                 { "-N", I(data_port.remote, 9) },
	{ "-N -t TCP_RR", I(data_port.remote, 7) },    { "-N -t TCP_MAERTS", I(data_port.remote, 19) },
	{ "-Z secret", T(passphrase, "secret") },      { "", T(passphrase, NULL) },
	/* what sockets and loads are told */
	{ "-- -C", PB(sock.cork, true) },              { "", PB(sock.cork, false) },
	{ "-t UDP_STREAM -- -C", PB(sock.cork, false) }, { "-- -F", PB(sock.fastopen, true) },
	{ "-t TCP_MAERTS -- -F", PB(sock.fastopen, false) }, { "-t TCP_CRR -- -F", PB(sock.fastopen, true) },
	{ "-- -R 0", PB(sock.no_router, true) },       { "-- -R 1", PB(sock.no_router, false) },
	{ "-t UDP_STREAM", PB(sock.no_router, false) }, { "-- -g", PB(sock.debug, true) },
	{ "-- -a", B(defer_accept, true) },            { "-- -B", B(pktinfo, true) },
	{ "-t UDP_STREAM -- -l 7", PU(sock.multicast.ttl, 7) }, { "", PU(sock.multicast.ttl, 0) },
	{ "-t UDP_RR -- -e 3", PU(workload[0].patience_ns, 3 * S) }, { "-t UDP_RR", PU(workload[0].patience_ns, 0) },
	{ "-t TCP_CRR -- -U", PB(workload[0].insists, true) }, { "-- -U", PU(refused_ns, 60 * S) },
	{ "", PU(refused_ns, 0) },                     { "-t TCP_CRR -- -p 9000,9015", PU(turn_ports[1], 9015) },
	{ "-t TCP_CRR -- -p 9000", PU(turn_ports[0], 9000) }, { "-t TCP_CC -- -p 9000,9015", PU(turn_ports[0], 9000) },
	{ "-t TCP_RR -- -p 9000,9015", PU(turn_ports[0], 0) }, { "-F /dev/zero", PT(payload_file, "/dev/zero") },
	{ "", PE(enum nd_payload, payload, ND_PAYLOAD_NETPERF) }, { "", PT(payload_file, NULL) },
	{ "-j", PT(workload[0].load, "timed") },       { "", PT(workload[0].load, "stream") },
	{ "-j -t TCP_RR", PT(workload[0].load, "rr") }, { "-- -o max_latency", PT(workload[0].load, "timed") },
	{ "-- -k all", PT(workload[0].load, "timed") }, { "-- -k rt_latency", PT(workload[0].load, "stream") },
	/* the test */
	{ "", E(enum nd_netperf_test, test, ND_NP_TCP_STREAM) }, { "-t udp_rr", E(enum nd_netperf_test, test, ND_NP_UDP_RR) },
	{ "-tTCP_CC", E(enum nd_netperf_test, test, ND_NP_TCP_CC) }, { "-t omni", E(enum nd_netperf_test, test, ND_NP_OMNI) },
	{ "-t UUID", E(enum nd_netperf_test, test, ND_NP_UUID) }, { "-t LOC_CPU", E(enum nd_netperf_test, test, ND_NP_LOC_CPU) },
	{ "", I(length, 10) },                         { "-l 60", PU(duration_ns, 60 * S) },
	{ "-l 0", PU(duration_ns, ND_MAX_NS) },        { "-l -1K", I(length, -1024) },
	{ "-l -1000", PU(workload[0].total_bytes, 1000) }, { "-l -1000 -t TCP_RR", PU(workload[0].total_ops, 1000) },
	{ "-l -1000 -t TCP_RR", PU(workload[0].total_bytes, 0) }, { "-l 10", PU(workload[0].total_bytes, 0) },
	{ "-l 10.7", I(length, 10) },                  { "-s 2", U(wait_ns, 2 * S) },
	/* confidence */
	{ "", U(iterations_max, 1) },                  { "", U(confidence, 0) },
	{ "-i 10", U(iterations_max, 10) },            { "-i 10", U(iterations_min, 10) },
	{ "-i 30,3", U(iterations_min, 3) },           { "-i 30,3", U(confidence, 99) },
	{ "-i 30,3", D(confidence_width, 0.05) },      { "-i 100,1", U(iterations_max, 30) },
	{ "-i 100,1", U(iterations_min, 3) },          { "-i 4,8", U(iterations_max, 8) },
	{ "-i 6,", U(iterations_min, 3) },             { "-I 99", D(confidence_width, 0.05) },
	{ "-I 95,10", D(confidence_width, 0.1) },      { "-I 95,10", U(confidence, 95) },
	{ "-I 99", U(iterations_max, 10) },            { "-I 99", U(iterations_min, 3) },
	{ "-I 99,5 -i 30,3", U(iterations_max, 30) },  { "-r", B(result_only, true) },
	/* pacing */
	{ "-b 100 -w 1", U(burst, 100) },              { "-b 100 -w 1", U(burst_ns, MS) },
	{ "-b 100", U(burst_ns, MS) },                 { "-b 100 -w 1", PU(workload[0].rate_ops, 100000) },
	{ "-b 1 -w 10us", U(burst_ns, 10 * US) },      { "-b 1 -w 2s", U(burst_ns, 2 * S) },
	{ "-b 1 -w 10ms", U(burst_ns, 10 * MS) },      { "-b 1 -w 10us", U(remote_burst, 0) },
	{ "-b 1,2 -w 3,4", U(remote_burst, 2) },       { "-b 1,2 -w 3,4", U(remote_burst_ns, 4 * MS) },
	{ "-w 10", PU(workload[0].rate_ops, 0) },      { "-b 2 -w 10 --parallel 3", PU(workload[0].rate_ops, 600) },
	/* the system */
	{ "-T 0,1", I(cpu.local, 0) },                 { "-T 0,1", I(cpu.remote, 1) },
	{ "-T 0", I(cpu.remote, 0) },                  { "-T ,1", I(cpu.local, -1) },
	{ "-T 0", PT(pin, "0") },                      { "-T ,0", PT(pin, NULL) },
	{ "-T 100000", I(cpu.local, -1) },             { "-T 0,100000", I(cpu.remote, 100000) },
	{ "-c", B(local_cpu, true) },                  { "-C", B(remote_cpu, true) },
	{ "-cC", B(remote_cpu, true) },                { "-c", D(local_rate, 0) },
	{ "-c 100", D(local_rate, 100) },              { "-c100", D(local_rate, 100) },
	{ "-c h -C 2.5", D(remote_rate, 2.5) },        { "-c -C", B(local_cpu, true) },
	{ "-C", B(local_cpu, false) },                 { "-y 3,4", I(priority.remote, 4) },
	{ "-y 3", PU(sock.priority, 3) },              { "-y 3", PB(sock.has_priority, true) },
	{ "", I(priority.local, -1) },                 { "-Y CS0,CS0", I(tos.local, 0) },
	{ "-Y 0x10,cs5", I(tos.local, 16) },           { "-Y 0x10,cs5", I(tos.remote, 0xa0) },
	{ "-Y ef", I(tos.remote, 0xb8) },              { "-Y AF41", PU(sock.dscp, 34) },
	{ "", PB(sock.has_dscp, false) },              { "-Y cs0", PB(sock.has_dscp, true) },
	{ "-Y ,lowdelay", I(tos.remote, 16) },         { "-Y ,8", I(tos.local, -1) },
	{ "-S", B(keepalive, true) },                  { "-S", PB(sock.keepalive, true) },
	{ "-F /dev/urandom", T(local_file, "/dev/urandom") }, { "-F /dev/null,/etc/group", T(remote_file, "/etc/group") },
	{ "-F /dev/null", T(remote_file, NULL) },      { "-n 4 -k 1 -K 2", I(length, 10) },
	/* output */
	{ "", U(interim_ns, 0) },                      { "-D 1", U(interim_ns, S) },
	{ "-D -0.20", U(interim_ns, S / 5) },          { "-D 0.5,1000", U(interim_ns, S / 2) },
	{ "-D -0.2", PU(interval_ns, S / 5) },         { "", PU(interval_ns, S) },
	{ "-D 60 -l 5", PU(interval_ns, 5 * S) },      { "", PB(out.quiet, true) },
	{ "", C(unit, 'm') },                          { "-t TCP_RR", C(unit, 'x') },
	{ "-t TCP_CRR", C(unit, 'x') },                { "-t TCP_CC", C(unit, 'x') },
	{ "-f x", C(unit, 'm') },                      { "-f x -t UDP_RR", C(unit, 'x') },
	{ "-f Kbytes", C(unit, 'K') },                 { "-f m -t TCP_RR", C(unit, 'm') },
	{ "-t omni -- -d rr", C(unit, 'x') },          { "-P 0", B(banner, false) },
	{ "", B(banner, true) },                       { "-v 2", U(verbosity, 2) },
	{ "-v2", U(verbosity, 2) },                    { "", U(verbosity, 1) },
	{ "-B tag", T(brand, "tag") },                 { "-B a~b", T(brand, "a b") },
	{ "-j", B(keep_stats, true) },                 { "", B(keep_stats, false) },
	{ "-d -d", PB(trace_control, true) },          { "-P 0 -v 0", T(command, "netperf -P 0 -v 0") },
	/* parallel */
	{ "", U(parallel, 1) },                        { "", PU(targets.n, 0) },
	{ "--parallel 64", PU(workload[0].flows, 64) }, { "--parallel=64", PU(targets.n, 64) },
	{ "--parallel 4 -l -10", PU(workload[0].total_bytes, 40) }, { "--parallel 4", PU(threads, 0) },
	{ "", PU(threads, 1) },
	/* what a test is */
	{ "", E(unsigned, direction, SEND) },          { "-t TCP_MAERTS", E(unsigned, direction, RECV) },
	{ "-t TCP_RR", E(unsigned, direction, BOTH) }, { "-t TCP_CC", E(unsigned, direction, 0) },
	{ "-t TCP_CC", B(connection_test, true) },     { "-t TCP_CRR", B(connection_test, true) },
	{ "-t TCP_RR", B(connection_test, false) },    { "-t TCP_RR -- -c", B(connection_test, true) },
	{ "-t UDP_STREAM", B(datagram, true) },        { "-t UDP_RR", T(protocol, "UDP") },
	{ "", T(protocol, "TCP") },                    { "", PT(workload[0].load, "stream") },
	{ "-t UDP_RR", PT(workload[0].load, "rr") },   { "-t TCP_CRR", PT(workload[0].load, "crr") },
	{ "-t TCP_CC", PT(workload[0].load, "cc") },   { "-t UDP_RR", PT(workload[0].transport, "udp") },
	{ "-t TCP_MAERTS", PE(enum nd_end_kind, workload[0].active, ND_SERVER) },
	{ "-t TCP_RR", PE(enum nd_end_kind, workload[0].active, ND_CLIENT) },
	{ "-t TCP_SENDFILE", PT(tx, "sendfile") },     { "", PT(tx, "auto") },
	{ "", PT(rx, "auto") },                        { "-t TCP_MAERTS -- -V", PT(rx, "splice") },
	{ "-t UDP_STREAM", PU(goodbyes, 3) },          { "", PU(goodbyes, 0) },
	{ "-t UDP_STREAM", PU(gso, 1) },               { "-t UDP_STREAM", PB(sock.fragment, true) },
	{ "-t UDP_STREAM -- -f", PB(sock.fragment, false) },
	/* omni */
	{ "-t omni", E(unsigned, direction, SEND) },   { "-t omni -- -d recv", E(unsigned, direction, RECV) },
	{ "-t omni -- -d send|recv", E(unsigned, direction, BOTH) }, { "-t omni -- -d RR", E(unsigned, direction, BOTH) },
	{ "-t omni -- -d 4", E(unsigned, direction, RECV) }, { "-t omni -- -d maerts", E(unsigned, direction, RECV) },
	{ "-t omni -- -m 9", E(unsigned, direction, SEND) }, { "-t omni -- -m ,9", E(unsigned, direction, RECV) },
	{ "-t omni -- -M ,9", E(unsigned, direction, RECV) }, { "-t omni -- -m 9 -M ,9", E(unsigned, direction, BOTH) },
	{ "-t omni -- -r 9", E(unsigned, direction, BOTH) }, { "-t omni -- -d send -r 9", E(unsigned, direction, SEND) },
	{ "-t omni -- -c", E(unsigned, direction, 0) }, { "-t omni -- -c", PT(workload[0].load, "cc") },
	{ "-t omni -- -c -d rr", PT(workload[0].load, "crr") }, { "-t omni -- -T udp", B(datagram, true) },
	{ "-t omni -- -t dgram", B(datagram, true) },  { "-t omni -- -t stream", B(datagram, false) },
	{ "-t omni -- -T udp -d recv", PE(enum nd_end_kind, workload[0].active, ND_SERVER) },
	{ "-t omni", E(enum nd_netperf_style, style, ND_NP_HUMAN) },
	/* selections */
	{ "", E(enum nd_netperf_style, style, ND_NP_CLASSIC) }, { "-- -o", E(enum nd_netperf_style, style, ND_NP_CSV) },
	{ "-- -O", E(enum nd_netperf_style, style, ND_NP_HUMAN) }, { "-- -k", E(enum nd_netperf_style, style, ND_NP_KEYVAL) },
	{ "-- -o", T(selection, NULL) },               { "-- -o a,b", T(selection, "a,b") },
	{ "-- -oall", T(selection, "all") },           { "-- -k a, -m 3", I(send_bytes.local, 3) },
	{ "-- -k -m 3", I(send_bytes.local, 3) },      { "-- -k -m 3", T(selection, NULL) },
	{ "-- -o a,b -k b,", T(selection, "b,") },      { "-- -o P50_LATENCY", B(keep_stats, true) },
	{ "-v 1", PB(untimed, true) },                 { "-v 2", PB(untimed, false) },
	{ "-j", PB(untimed, false) },                  { "--format json", PB(untimed, false) },
	{ "-- -k P99_LATENCY", PB(untimed, false) },   { "-- -k RT_LATENCY", PB(untimed, true) },
	{ "-- -o rt_latency", B(keep_stats, false) },  { "-- -o rt_latency,mean_latency", B(keep_stats, true) },
	{ "-- -O a;b", T(selection, "a;b") },
	/* the test's own */
	{ "-t TCP_RR", I(request_bytes, 1) },          { "-t TCP_RR -- -r 64", I(response_bytes, 64) },
	{ "-t TCP_RR -- -r 64,1K", I(response_bytes, 1024) }, { "-t TCP_RR -- -r 64,", I(response_bytes, 1) },
	{ "-t TCP_RR -- -r ,64", I(request_bytes, 1) }, { "-- -r 64", I(request_bytes, -1) },
	{ "-t TCP_RR -- -r 8,64", PU(workload[0].message_bytes, 64) },
	{ "-- -s 128K -S 64K", I(sndbuf.local, 131072) }, { "-- -s 128K -S 64K", I(rcvbuf.remote, 65536) },
	{ "-- -s 1,2", PU(sock.rcvbuf_bytes, 2) },     { "-- -s 1,2", I(rcvbuf.remote, -1) },
	{ "-- -D", B(nodelay, true) },                 { "-- -D -m 1", I(send_bytes.local, 1) },
	{ "-t UDP_STREAM -- -D", PB(sock.nodelay, false) }, { "-- -D", PB(sock.nodelay, true) },
	{ "-- -P ,5001", I(data_port.remote, 5001) },  { "-- -P ,5001", I(data_port.local, 0) },
	{ "-- -P,5001", I(data_port.remote, 5001) },   { "-- -P 7001", I(data_port.remote, 7001) },
	{ "-- -P 7001,7002", PU(source_port, 7001) },  { "-- -H d,6", E(enum nd_af, data_af, ND_AF_IPV6) },
	{ "-- -H d", T(data_host, "d") },              { "-- -H d", PU(targets.n, 1) },
	{ "-- -H d/24,4", T(data_host, "d") },         { "-- -H d/24", U(data_host_bits, 24) },
	{ "-- -L s/1", T(data_local, "s") },           { "-- -L s/128", U(data_local_bits, 128) },
	{ "-- -L s", T(data_local, "s") },             { "-4 -- -6", E(enum nd_af, data_af, ND_AF_IPV6) },
	{ "", B(route, true) },                        { "-t UDP_STREAM", B(route, false) },
	{ "-t UDP_RR", B(route, true) },               { "-t UDP_STREAM -- -R 1", B(route, true) },
	{ "-- -R 0", B(route, false) },                { "-t TCP_RR -- -b 8", U(first_burst, 8) },
	{ "-t TCP_RR -- -b 8", PU(workload[0].ahead, 8) }, { "-- -b 8", U(first_burst, 0) },
	{ "-t UDP_RR -- -e 2", U(recv_timeout_ns, 2 * S) }, { "-- -n", B(connected_local, true) },
	{ "-- -N", B(connected_remote, true) },        { "-- -K cubic", T(remote_cc, "cubic") },
	{ "-- -K cubic,reno", T(local_cc, "cubic") },  { "-- -K ,reno", T(local_cc, NULL) },
	{ "-- -K cubic,reno", PT(sock.cc, "cubic") },  { "-- -G 1400", PU(sock.mss_bytes, 1400) },
	{ "-- -q 1000", PU(sock.pacing_bps, 8000) },   { "-- -p 6000,7000", U(port_max, 7000) },
	{ "-- -C", B(cork, true) },                    { "-- -F", B(fastopen, true) },
	{ "-- -I", B(use_write, true) },               { "-- -U", B(retry, true) },
	{ "-- -W 7", I(send_width.local, 7) },         { "-- -W 7", I(send_width.remote, 0) },
	{ "-- -u me", T(uuid, "me") },                 { "-- -f", B(pmtu_discovery, true) },
	{ "-- -i 1 -j 2 -w 3 -l 4 -a -B -g -m 5", I(send_bytes.local, 5) },
	/* unknown ones are passed over */
	{ "-- -Q -m 5", I(send_bytes.local, 5) },      { "-- stray -m 5", I(send_bytes.local, 5) },
	{ "-- --word -m 5", I(send_bytes.local, 5) },  { "-- -m", I(send_bytes.local, -1) },
	{ "-- -m 5 -- -m 6", I(send_bytes.local, 5) }, { "-- -DQm 5", I(send_bytes.local, 5) },
	{ "-t TCP_SENDFILE -- -o -m 5", I(send_bytes.local, 5) }, { "-t TCP_SENDFILE -- -m 5,6", I(send_bytes.remote, -1) },
	/* dashes of a text processor */
	{ "\xe2\x80\x93H h \xe2\x80\x93l 3", PU(duration_ns, 3 * S) },
	{ "-H h \xe2\x80\x94 \xe2\x80\x93m 3", PT(host, "h") },
};

/* clang-format on */

static double number_at(const struct option_case *c, const char *base)
{
	const void *at = base + c->offset;
	unsigned e;

	switch (c->kind) {
	case SIGNED:
		return (double)*(const int64_t *)at;
	case UNSIGNED:
		return (double)*(const uint64_t *)at;
	case BOOL:
		return *(const bool *)at;
	case ENUM:
		memcpy(&e, at, sizeof(e));
		return e;
	case REAL:
		return *(const double *)at;
	case TEXT:
		break;
	}
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void check_option(const struct option_case *c)
{
	const char *base;
	char words[512];
	struct line l;
	const char *text;
	int r;

	(void)snprintf(words, sizeof(words), "netperf%s%s", *c->words ? " " : "", c->words);
	r = read_line(&l, words);
	if (r != ND_NEXT_RUN || !l.n)
		fail_msg("%s: %s", words, l.err.text);
	base = c->of_plan ? (const char *)&l.plan : (const char *)l.n;
	if (c->kind == TEXT) {
		text = *(const char *const *)(const void *)(base + c->offset);
		if (!same_text(text, c->text))
			fail_msg("%s: %s is '%s', not '%s'", words, c->name, text ?: "(none)",
				 c->text ?: "(none)");
	} else if (number_at(c, base) != c->value) {
		fail_msg("%s: %s is %.9g, not %.9g", words, c->name, number_at(c, base), c->value);
	}
	done(&l);
}

static void test_options(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(options); i++)
		check_option(&options[i]);
}

/* ---- commands of tools and articles */

struct command_case {
	const char *words;
	enum nd_netperf_test test;
	uint64_t port, seconds, message; /* message 0: the system's choice */
	unsigned direction;
	bool datagram, banner;
	uint64_t verbosity;
	enum nd_netperf_style style;
	const char *selection;
};

/* clang-format off */
static const struct command_case commands[] = {
	{ "netperf -H 10.0.0.1 -l 300 -t UDP_STREAM -p 16001 -- -m 1 -D", ND_NP_UDP_STREAM, 16001, 300, 1, SEND, true,
	  true, 1, ND_NP_CLASSIC, NULL },
	{ "netperf -H 10.0.0.1 -l 300 -t TCP_STREAM -p 16001 -- -D", ND_NP_TCP_STREAM, 16001, 300, 0, SEND, false,
	  true, 1, ND_NP_CLASSIC, NULL },
	{ "netdyno netperf -H 10.0.0.1", ND_NP_TCP_STREAM, 12865, 10, 0, SEND, false, true, 1, ND_NP_CLASSIC, NULL },
	{ "/usr/bin/netperf -P 0 -v 0 -D -0.20 -4 -Y CS0,CS0 -H h -p 12865 -t TCP_STREAM -l 60 -F /dev/urandom -f m -- -H h "
	  "-k THROUGHPUT,LOCAL_CONG_CONTROL,ELAPSED_TIME,PROTOCOL", ND_NP_TCP_STREAM, 12865, 60, 0, SEND, false, false, 0,
	  ND_NP_KEYVAL, "THROUGHPUT,LOCAL_CONG_CONTROL,ELAPSED_TIME,PROTOCOL" },
	{ "netperf -P 0 -v 0 -D -0.20 -4 -H h -p 12865 -t UDP_RR -l 60 -- -H h -k THROUGHPUT -e 5", ND_NP_UDP_RR, 12865, 60, 0,
	  BOTH, true, false, 0, ND_NP_KEYVAL, "THROUGHPUT" },
	{ "netperf -l 1 -D -0.2 -- -e 1", ND_NP_TCP_STREAM, 12865, 1, 0, SEND, false, true, 1, ND_NP_CLASSIC, NULL },
	{ "netperf -p 20000 -j -v2 -t TCP_RR -H ip -l 60 -I 99,5 -i 30,3 -- -P ,20001 -o THROUGHPUT,THROUGHPUT_UNITS,P50_LATENCY",
	  ND_NP_TCP_RR, 20000, 60, 0, BOTH, false, true, 2, ND_NP_CSV, "THROUGHPUT,THROUGHPUT_UNITS,P50_LATENCY" },
	{ "netperf -s 2 -H h -l 20 -t TCP_RR", ND_NP_TCP_RR, 12865, 20, 0, BOTH, false, true, 1, ND_NP_CLASSIC, NULL },
	{ "netperf -H h -t UDP_STREAM -- -n -P,1000 -m 120", ND_NP_UDP_STREAM, 12865, 10, 120, SEND, true, true, 1,
	  ND_NP_CLASSIC, NULL },
	{ "netperf -H h -t TCP_STREAM -c -C -T 0,1 -F /etc/passwd,/etc/group -Y 0x10,cs5 -y 3,4 -Z secret -S -a 64,128 "
	  "-A 256,512 -o 4,8 -O 12,16 -W 3,5 -- -P 7001,7002 -D -K cubic,reno -s 100K,200K -S 150K,250K -m 4K -M 8K",
	  ND_NP_TCP_STREAM, 12865, 10, 4096, SEND, false, true, 1, ND_NP_CLASSIC, NULL },
};

/* clang-format on */

static void check_command(const struct command_case *c)
{
	struct line l;
	int r = read_line(&l, c->words);

	if (r != ND_NEXT_RUN || !l.n)
		fail_msg("%s: %s", c->words, l.err.text);
	if (l.n->test != c->test || l.plan.port != c->port || l.n->direction != c->direction ||
	    l.n->datagram != c->datagram || l.n->banner != c->banner ||
	    l.n->verbosity != c->verbosity || l.n->style != c->style)
		fail_msg("%s: a setting differs", c->words);
	assert_int_equal(l.plan.duration_ns, c->seconds * ND_NS_PER_S);
	assert_int_equal(l.plan.verb, ND_VERB_STREAM);
	assert_string_equal(l.plan.dialect, "netperf");
	if (c->message)
		assert_int_equal(l.plan.workload[0].message_bytes, c->message);
	if (!same_text(l.n->selection, c->selection))
		fail_msg("%s: the selection is %s", c->words, l.n->selection ?: "(none)");
	done(&l);
}

static void test_commands(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(commands); i++)
		check_command(&commands[i]);
}

/* ---- what is refused, and with which code */

struct refusal_case {
	const char *words;
	int code;
	const char *part; /* of the sentence */
};

/* clang-format off */
static const struct refusal_case refusals[] = {
	{ "netperf -- -l 256", 1, "-l: '256' is outside 0..255" },
	{ "netperf -x", 1, "unknown option '-x'" },
	{ "netperf --paralel 3", 1, "did you mean '--parallel'?" },
	{ "netperf --parallel 0", 1, "outside" },
	{ "netperf --parallel 1001", 1, "outside" },
	{ "netperf -l", 1, "-l needs a value" },
	{ "netperf -t", 1, "-t needs a value" },
	{ "netperf -t SCTP_STREAM", 1, "The test you requested (SCTP_STREAM) is unknown to this netperf" },
	{ "netperf -t nosuch", 1, "The test you requested (NOSUCH) is unknown to this netperf" },
	{ "netperf -l ten", 1, "not a number" },
	{ "netperf -l 0.5", 1, "-l: '0.5' is below 1" },
	{ "netperf -- -m 0.9K", 1, "-m: '0.9K' is below 1" },
	{ "netperf -l 100000", 1, "over 24h" },
	{ "netperf -s -1", 1, "outside" },
	{ "netperf -I 90", 255, "Only 95% and 99% confidence level is supported" },
	{ "netperf -I 99,200", 255, "outside 1..100" },
	{ "netperf -i ,", 1, "has no value" },
	{ "netperf -p x", 1, "no port" },
	{ "netperf -p 70000", 1, "outside 0..65535" },
	{ "netperf -p 0", 1, "no port" },
	{ "netperf -H h,ipx", 1, "neither 4, 6 nor unspec" },
	{ "netperf -f q", 1, "none of b B k K" },
	{ "netperf -D soon", 1, "seconds" },
	{ "netperf -D 0", 1, "outside 1ms..24h" },
	{ "netperf -w 1h", 0, NULL },
	{ "netperf -w soon", 1, "not a time" },
	{ "netperf -b -1", 1, "negative" },
	{ "netperf -Y 256", 1, "0..255" },
	{ "netperf -Y fast", 1, "name such as" },
	{ "netperf -c 1x", 1, "no rate" },
	{ "netperf -F ,12345678901234567890123456789012", 255, "must be less than 32 characters" },
	{ "netperf -F /there/is/none", 1, "No such file" },
	{ "netperf -- -m 5G", 1, "over" },
	{ "netperf -- -s 1,3G", 1, "-s: '3221225472' is over 2147483647" },
	{ "netperf -- -m 2G", 1, "-m: '2147483648' is over 1073741824" },
	{ "netperf -- -M 1,2G", 1, "-M: '2147483648' is over 1073741824" },
	{ "netperf -t TCP_RR -- -r 2G", 1, "-r: '2147483648' is over 1073741824" },
	{ "netperf -- -S 2G", 1, "-S: '2147483648' is over 2147483647" },
	{ "netperf -- -P 70000", 1, "outside 0..65535" },
	{ "netperf -- -p 9,8", 1, "is over" },
	{ "netperf -- -H h/0", 1, "no address with a mask of 1..128 bits" },
	{ "netperf -- -L /24", 1, "no address with a mask of 1..128 bits" },
	{ "netperf -- -H h/24x,4", 1, "no address with a mask of 1..128 bits" },
	{ "netperf -t UDP_STREAM -- -m 65508", 1, "send_data: data send error: Message too long" },
	{ "netperf -t UDP_RR -- -r 65508", 1, "Message too long" },
	{ "netperf -t UDP_RR -- -c", 1, "for TCP" },
	{ "netperf -t TCP_STREAM -- -c", 1, "in both directions" },
	{ "netperf -t omni -- -d sideways", 1, "none of send, recv, rr" },
	{ "netperf -t omni -- -T sctp", 1, "neither tcp nor udp" },
	{ "netperf -t omni -- -T tcp -t dgram", 1, "exclude each other" },
	{ "netperf -t TCP_RR -- -b 70000", 1, "outside 0..65535" },
	{ "netperf -- -o there_is_none", 255, "Could not open output selection file 'there_is_none' errno 2" },
	{ "netperf -- -o", 0, NULL },
	{ "netperf -- -o throughput", 0, NULL },
	{ "netserver -x", 1, "unknown option '-x'" },
	{ "netserver -p", 1, "needs a value" },
	{ "netserver -p x", 1, "neither a port nor FIRST-LAST" },
	{ "netserver -p 0", 1, "outside 1..65535" },
	{ "netserver -p 9-8", 1, "outside 1..65535" },
	{ "netserver -p 1-9000", 1, "more than 4096 ports" },
	{ "netserver -L a,ipx", 1, "neither 4, 6 nor unspec" },
};

/* clang-format on */

static void test_refusals(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(refusals); i++) {
		const struct refusal_case *c = &refusals[i];
		struct line l;
		int r = read_line(&l, c->words);

		if (!c->part) {
			if (r != ND_NEXT_RUN)
				fail_msg("%s: %s", c->words, l.err.text);
		} else if (r != -EINVAL || !strstr(l.err.text, c->part)) {
			fail_msg("%s: %d '%s', not '%s'", c->words, r, l.err.text, c->part);
		} else if (l.plan.exits.usage != c->code) {
			fail_msg("%s: code %d, not %d", c->words, l.plan.exits.usage, c->code);
		}
		done(&l);
	}
}

/* ---- what is printed instead */

struct print_case {
	const char *words;
	int next, code;
	const char *part;
};

/* clang-format off */
static const struct print_case prints[] = {
	{ "netperf -V", ND_NEXT_PRINT, 0, "Netperf version 2.7.0\n" },
	{ "netperf -H h -V", ND_NEXT_PRINT, 0, "Netperf version 2.7.0\n" },
	{ "netserver -V", ND_NEXT_PRINT, 0, "Netperf version 2.7.0\n" },
	{ "netperf -- -h", ND_NEXT_PRINT, 1, "bytes of one send" },
	{ "netperf -t TCP_CC -- -h", ND_NEXT_PRINT, 1, "options of these tests" },
	{ "netperf -- -o ?", ND_NEXT_PRINT, 1, "PROTOCOL,DIRECTION," },
	{ "netperf -- -k ?", ND_NEXT_PRINT, 1, ",COMMAND_LINE,OUTPUT_END\n" },
	{ "netperf -- -O ?", ND_NEXT_PRINT, 1, "PROTOCOL\nDIRECTION\n" },
	{ "netperf -h", ND_NEXT_USAGE, 1, "usage: netperf" },
	{ "netserver -h", ND_NEXT_USAGE, 1, "usage: netserver" },
	{ "netperf --help", ND_NEXT_PRINT, 0, "--parallel" },
	{ "netperf --version", ND_NEXT_PRINT, 0, "netdyno " },
};

/* clang-format on */

static void test_prints(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(prints); i++) {
		const struct print_case *c = &prints[i];
		struct line l;
		int r = read_line(&l, c->words);

		if (r != c->next || !strstr(nd_str_text(&l.out), c->part))
			fail_msg("%s: %d '%s'", c->words, r, nd_str_text(&l.out));
		if (l.plan.exits.help != c->code)
			fail_msg("%s: code %d, not %d", c->words, l.plan.exits.help, c->code);
		done(&l);
	}
}

/* ---- netserver */

struct server_case {
	const char *words;
	uint64_t port, last_port;
	bool foreground, one_by_one, inetd;
	const char *passphrase, *listen;
	enum nd_af af;
};

/* clang-format off */
static const struct server_case servers[] = {
	{ "netserver -p 12865", 12865, 0, false, false, false, NULL, NULL, ND_AF_ANY },
	{ "netserver -p 16001", 16001, 0, false, false, false, NULL, NULL, ND_AF_ANY },
	{ "netserver -D", 12865, 0, true, false, false, NULL, NULL, ND_AF_ANY },
	{ "netserver -Df", 12865, 0, true, true, false, NULL, NULL, ND_AF_ANY },
	{ "netserver -f", 12865, 0, false, true, false, NULL, NULL, ND_AF_ANY },
	{ "netserver -p 16001-16064", 16001, 16064, false, false, false, NULL, NULL, ND_AF_ANY },
	{ "netserver -p 16001-16001", 16001, 0, false, false, false, NULL, NULL, ND_AF_ANY },
	{ "netserver -D -Z secret", 12865, 0, true, false, false, "secret", NULL, ND_AF_ANY },
	{ "netserver -L 10.0.0.1,4", 12865, 0, false, false, false, NULL, "10.0.0.1", ND_AF_IPV4 },
	{ "netserver -D -6", 12865, 0, true, false, false, NULL, NULL, ND_AF_IPV6 },
	{ "netserver -D -N -n 3 -v 2 stray", 12865, 0, true, false, false, NULL, NULL, ND_AF_ANY },
	{ "netdyno netserver -D", 12865, 0, true, false, false, NULL, NULL, ND_AF_ANY },
};

/* clang-format on */

static void test_servers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(servers); i++) {
		const struct server_case *c = &servers[i];
		struct line l;
		int r = read_line(&l, c->words);

		if (r != ND_NEXT_RUN || !l.n || !l.n->server)
			fail_msg("%s: %s", c->words, l.err.text);
		if (l.plan.port != c->port || l.n->last_port != c->last_port ||
		    l.n->foreground != c->foreground || l.n->one_by_one != c->one_by_one ||
		    l.n->inetd != c->inetd || l.plan.af != c->af)
			fail_msg("%s: a setting differs", c->words);
		if (!same_text(l.n->passphrase, c->passphrase))
			fail_msg("%s: the passphrase differs", c->words);
		if (!same_text(l.plan.serve.listen.n ? l.plan.serve.listen.v[0] : NULL, c->listen))
			fail_msg("%s: the address differs", c->words);
		assert_int_equal(l.plan.verb, ND_VERB_RECEIVE);
		done(&l);
	}
}

/* ---- beside our own server */

/* clang-format off */
static const struct { const char *words; uint64_t port; const char *part; } also[] = {
	{ "netdyno serve --also netperf", 12865, NULL },
	{ "netdyno serve --also netperf:9000", 9000, NULL },
	{ "netdyno serve --also ntttcp,netperf:9000", 5001, NULL },
	{ "netdyno serve --also netperf:0", 0, "outside 1..65535" },
	{ "netdyno serve --also netperf:90x", 0, "outside 1..65535" },
	{ "netdyno serve --also sockets", 0, "there are: ntttcp[:PORT[+PORTS]], netperf[:PORT]" },
};

/* clang-format on */

static void test_also(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(also); i++) {
		struct line l;
		int r = read_line(&l, also[i].words);

		if (also[i].part) {
			if (r != -EINVAL || !strstr(l.err.text, also[i].part))
				fail_msg("%s: '%s'", also[i].words, l.err.text);
		} else {
			if (r != ND_NEXT_RUN)
				fail_msg("%s: %s", also[i].words, l.err.text);
			assert_int_equal(l.plan.serve.also_plan[0]->port, also[i].port);
		}
		done(&l);
	}
}

/* A random name for a test, each time another. */
static void test_uuid(void **state)
{
	struct line a, b;

	(void)state;
	assert_int_equal(read_line(&a, "netperf"), ND_NEXT_RUN);
	assert_int_equal(read_line(&b, "netperf"), ND_NEXT_RUN);
	assert_int_equal(strlen(a.n->uuid), 36);
	assert_string_not_equal(a.n->uuid, b.n->uuid);
	done(&a);
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),  cmocka_unit_test(test_commands),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_prints),
		cmocka_unit_test(test_servers),  cmocka_unit_test(test_uuid),
		cmocka_unit_test(test_also),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
