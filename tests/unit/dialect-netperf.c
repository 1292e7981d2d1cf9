/* SPDX-License-Identifier: MIT */
/* netperf's messages, byte by byte as the original's client and server were seen to exchange them. */
#include "dialect-netperf.h"

static void is_near(double value, double want, double by)
{
	assert_true(fabs(value - want) <= by);
}

/* ---- what was seen on the wire; what a real server leaves from earlier messages is zero in ours */

#define ASK_STREAM                                   \
	"000: 00000061 ffffffff ffffffff ffffffff\n" \
	"010: 00000008 00000000 00000002 ffffffff\n" \
	"020: ffffffff ffffffff 00000008 00000000\n" \
	"030: 00000000 ffffffff 00000020 00000000\n" \
	"040: 00000001 00000000 00000000 ffffffff\n" \
	"050: ffffffff ffffffff 00000000 00000004\n" \
	"060: 00000001 00000006 00000004 0000ab7d\n" \
	"090: 00000000 00000000 ffffffff ffffffff\n"
#define ANSWER_STREAM                                \
	"000: 00000062 00000000 00020000 00020000\n" \
	"010: 00000002 00004000 ffffffff 00000002\n" \
	"030: 00000000 00009e97 00000000 00000000\n" \
	"040: 00000000 00000000 ffffffff ffffffff\n"
#define RESULTS_STREAM_REAL                          \
	"000: 62000000 00000000 00000000 19e4b3c9\n" \
	"010: 00000d26 000fab53 00000000 00000000\n" \
	"020: 00000000 003c1e00 00000000 00000000\n" \
	"030: 3f84753e 979e0000 00000000 00000000\n" \
	"040: 00000000 00000000 ffffffff ffffffff\n" \
	"110: 00000000 62627200 00000000 00000000\n"

#define ASK_UDP                                      \
	"000: 00000061 00000001 00010000 ffffffff\n" \
	"010: 00000008 00000000 00000101 ffffffff\n" \
	"020: 00010000 00000800 00000008 00000000\n" \
	"030: 00000000 ffffffff 00000008 00000000\n" \
	"040: 00000001 00000000 00000000 ffffffff\n" \
	"050: ffffffff ffffffff 00000000 00000004\n" \
	"060: 00000002 00000011 00000004 0000d323\n" \
	"090: 00000000 00000000 ffffffff ffffffff\n"
#define ANSWER_UDP                                   \
	"000: 00000062 00000000 00020000 00000800\n" \
	"010: 00000041 00020000 ffffffff 00000101\n" \
	"020: 00000008 42c80000 00000000 00000000\n" \
	"030: 00000000 0000dfa3 00000000 00000000\n" \
	"040: 00000000 00000000 ffffffff ffffffff\n"
#define RESULTS_UDP_REAL                             \
	"000: 62000000 00000000 00000000 01146400\n" \
	"010: 00004519 00020000 00000000 00000000\n" \
	"020: 00000000 00020000 00000000 00000000\n" \
	"030: 3f81016d 42c70000 42472605 41ced9fb\n" \
	"040: 00000000 00000000 4106bb90 ffffffff\n" \
	"050: 00000008 00000002 00000000 42c80000\n" \
	"070: ffffffff 00000000 00000000 00000000\n"

#define ASK_SEED                                     \
	"000: 00000061 ffffffff ffffffff ffffffff\n" \
	"010: 00000008 00000000 00034001 ffffffff\n" \
	"020: ffffffff ffffffff 00000008 00000000\n" \
	"030: 00000000 ffffffff 00000001 00000000\n" \
	"040: 00000001 00000000 00000000 ffffffff\n" \
	"050: ffffffff ffffffff 00000000 00000004\n" \
	"060: 00000002 00000011 00000004 0000d323\n" \
	"090: 00000000 00000000 ffffffff ffffffff\n"

#define ASK_RR                                       \
	"000: 00000061 ffffffff ffffffff ffffffff\n" \
	"010: 00000008 00000000 00000001 00000001\n" \
	"020: ffffffff ffffffff 00000008 00000000\n" \
	"030: 00000001 00000001 00000020 00000000\n" \
	"040: 00000001 00000000 00000000 ffffffff\n" \
	"050: ffffffff ffffffff 00000000 00000004\n" \
	"060: 00000001 00000006 00000006 00009f23\n" \
	"090: 00000000 00000000 ffffffff ffffffff\n"
#define ANSWER_RR                                    \
	"000: 00000062 00000000 00020000 00000001\n" \
	"010: 00000001 00004000 00000001 00000001\n" \
	"030: 00000000 0000b049 00000000 00000000\n" \
	"040: 00000000 00000000 ffffffff ffffffff\n"
#define RESULTS_RR_REAL                              \
	"000: 62000000 00000000 00000000 00008890\n" \
	"010: 00008890 00020000 00000000 00008890\n" \
	"020: 00008890 003c1e00 00000000 00008890\n" \
	"030: 3f8004d1 49b00000 00000000 00000000\n" \
	"110: 00000000 62627200 00000000 00000000\n"

#define ASK_UDP_RR                                   \
	"000: 00000061 ffffffff ffffffff ffffffff\n" \
	"010: 00000008 00000000 00000001 00000001\n" \
	"020: ffffffff ffffffff 00000008 00000000\n" \
	"030: 00000001 00000001 00000020 00000000\n" \
	"040: 00000001 00000000 00000000 ffffffff\n" \
	"050: ffffffff ffffffff 00000000 00000004\n" \
	"060: 00000002 00000011 00000006 0000a778\n" \
	"090: 00000000 00000000 ffffffff ffffffff\n"
#define ANSWER_UDP_RR                                \
	"000: 00000062 00000000 00034000 00000001\n" \
	"010: 00000001 00034000 00000001 00000001\n" \
	"030: 00000000 0000b049 00000000 00000000\n" \
	"040: 00000000 00000000 ffffffff ffffffff\n"

#define ASK_MAERTS                                   \
	"000: 00000061 ffffffff ffffffff ffffffff\n" \
	"010: 00000008 00000000 00000000 ffffffff\n" \
	"020: ffffffff ffffffff 00000008 00000000\n" \
	"030: 00000002 ffffffff 00000020 00000000\n" \
	"040: 00000001 00000000 00000000 ffffffff\n" \
	"050: ffffffff ffffffff 00000000 00000004\n" \
	"060: 00000001 00000006 00000002 0000ab7d\n" \
	"090: 00000000 00000000 ffffffff ffffffff\n"
#define ANSWER_MAERTS                                \
	"000: 00000062 00000000 00020000 ffffffff\n" \
	"010: 00000002 00004000 00004000 00000002\n" \
	"030: 00000000 00009e97 00000000 00000000\n" \
	"040: 00000000 00000000 ffffffff ffffffff\n"

#define ASK_CRR                                      \
	"000: 00000061 ffffffff ffffffff ffffffff\n" \
	"010: 00000008 00000000 00000001 00000001\n" \
	"020: ffffffff ffffffff 00000008 00000000\n" \
	"030: 00000001 00000001 00000024 00000000\n" \
	"040: 00000001 00000000 00000000 ffffffff\n" \
	"050: ffffffff ffffffff 00000000 00000004\n" \
	"060: 00000001 00000006 00000006 0000147a\n" \
	"090: 00000000 00000000 ffffffff ffffffff\n"
#define ANSWER_CRR                                   \
	"000: 00000062 00000000 00020000 00000001\n" \
	"010: 00000001 00004000 00000001 00000001\n" \
	"030: 00000000 00008bb3 00000000 00000000\n" \
	"040: 00000000 00000000 ffffffff ffffffff\n"

#define PHRASE_ALL "000: 00000006 00000001 73656372 65740000\n"
#define ASK_ALL                                      \
	"000: 00000061 00000001 00025800 ffffffff\n" \
	"010: 00000100 0000000c 00000003 ffffffff\n" \
	"020: 0003e800 00002000 00000200 00000010\n" \
	"030: 00000005 ffffffff 80000029 00000000\n" \
	"040: 00000001 00000000 00000000 ffffffff\n" \
	"050: ffffffff ffffffff 00001b5a 00000004\n" \
	"060: 00000001 00000006 00000004 00001b59\n" \
	"090: 00000000 00000000 00000004 000000a0\n" \
	"0a0: 72656e6f 00000000 00000000 00000000\n" \
	"0b0: 2f657463 2f67726f 75700000 00000000\n"
#define ANSWER_ALL                                   \
	"000: 00000062 00000000 0007d000 00002000\n" \
	"010: 00000005 0004b000 ffffffff 00000003\n" \
	"020: 00000009 42c80000 00000000 00000000\n" \
	"030: 00000000 00001b5a 00000000 00000000\n" \
	"040: 00000000 00000000 00000004 000000a0\n"

/* ---- settings of the command lines behind them */

static void plain(struct nd_netperf *n)
{
	(void)n;
}

static void udp(struct nd_netperf *n)
{
	n->datagram = true;
	n->route = false;
	n->local_cpu = n->remote_cpu = true;
	n->cpu = (struct nd_netperf_pair){ 0, 1 };
	n->send_bytes.local = 1024;
	n->recv_bytes.remote = 2048;
	n->sndbuf = (struct nd_netperf_pair){ 131072, 65536 };
	n->rcvbuf = (struct nd_netperf_pair){ 131072, 65536 };
}

static void seed(struct nd_netperf *n)
{
	n->datagram = n->nodelay = true;
	n->route = false;
	n->send_bytes.local = 1;
}

static void rr(struct nd_netperf *n)
{
	n->direction = ND_NP_SEND | ND_NP_RECV;
}

static void udp_rr(struct nd_netperf *n)
{
	rr(n);
	n->datagram = true;
}

static void maerts(struct nd_netperf *n)
{
	n->direction = ND_NP_RECV;
}

static void crr(struct nd_netperf *n)
{
	rr(n);
	n->connection_test = true;
}

static void all(struct nd_netperf *n)
{
	n->local_cpu = n->remote_cpu = n->keepalive = n->nodelay = true;
	n->cpu = (struct nd_netperf_pair){ 0, 1 };
	n->local_file = "/etc/passwd";
	n->remote_file = "/etc/group";
	n->tos = (struct nd_netperf_pair){ 0x10, 0xa0 };
	n->priority = (struct nd_netperf_pair){ 3, 4 };
	n->passphrase = "secret";
	n->send_align = (struct nd_netperf_pair){ 64, 256 };
	n->recv_align = (struct nd_netperf_pair){ 128, 512 };
	n->send_offset = (struct nd_netperf_pair){ 4, 12 };
	n->recv_offset = (struct nd_netperf_pair){ 8, 16 };
	n->send_width.local = 3;
	n->recv_width.local = 5;
	n->data_port = (struct nd_netperf_pair){ 7001, 7002 };
	n->local_cc = "cubic";
	n->remote_cc = "reno";
	n->sndbuf = (struct nd_netperf_pair){ 102400, 153600 };
	n->rcvbuf = (struct nd_netperf_pair){ 204800, 256000 };
	n->send_bytes.local = 4096;
	n->recv_bytes.remote = 8192;
}

struct exchange {
	void (*set)(struct nd_netperf *n);
	uint64_t port, sndbuf, rcvbuf; /* the client's socket */
	const char *ask;
	uint64_t server_port, server_sndbuf, server_rcvbuf;
	const char *answer;
};

/* clang-format off */
static const struct exchange exchanges[] = {
	{ plain,  43901,  16384,  131072, ASK_STREAM, 40599, 16384,  131072, ANSWER_STREAM },
	{ udp,    54051,  262144, 262144, ASK_UDP,    57251, 131072, 131072, ANSWER_UDP },
	{ seed,   54051,  212992, 212992, ASK_SEED,   0,     0,      0,      NULL },
	{ rr,     0x9f23, 16384,  131072, ASK_RR,     45129, 16384,  131072, ANSWER_RR },
	{ udp_rr, 0xa778, 212992, 212992, ASK_UDP_RR, 45129, 212992, 212992, ANSWER_UDP_RR },
	{ maerts, 43901,  16384,  131072, ASK_MAERTS, 40599, 16384,  131072, ANSWER_MAERTS },
	{ crr,    0x147a, 16384,  131072, ASK_CRR,    0x8bb3, 16384, 131072, ANSWER_CRR },
	{ all,    7001,   204800, 409600, ASK_ALL,    7002,  307200, 512000, ANSWER_ALL },
};

/* clang-format on */

static void client_asks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(exchanges); i++) {
		const struct exchange *x = &exchanges[i];
		struct bench *b = bench_new(false);

		x->set(&b->set);
		bench_open(b);
		says(b, "connect 0 ");
		up(b, 0);
		says(b, b->set.passphrase ? "0<6 socket " : "socket ");
		got_socket(b, x->port, x->sndbuf, x->rcvbuf);
		says(b, "0<97 ");
		is_message(b->sent, x->ask);
		if (b->set.passphrase)
			is_message(b->first, PHRASE_ALL);
		bench_free(b);
	}
}

static void server_answers(void **state)
{
	uint8_t ask[MESSAGE];

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(exchanges); i++) {
		const struct exchange *x = &exchanges[i];
		struct bench *b;

		if (!x->answer)
			continue;
		b = bench_new(true);
		bench_open(b);
		up(b, 0);
		from_rows(x->ask, ask);
		hear(b, 0, ask);
		says(b, "socket ");
		got_socket(b, x->server_port, x->server_sndbuf, x->server_rcvbuf);
		says(b, "propose ");
		happens(b, ND_DLG_PLAN);
		says(b, "prepare 0<98 ");
		is_message(b->sent, x->answer);
		bench_free(b);
	}
}

/* ---- what the plan of a server is */

static void server_plans(void **state)
{
	static const struct {
		const char *ask, *load, *transport;
		enum nd_end_kind active;
		uint64_t duration_s, message, request, response;
	} rows[] = {
		{ ASK_STREAM, "stream", "tcp", ND_CLIENT, 86400, 131072, 0, 0 },
		{ ASK_UDP, "stream", "udp", ND_CLIENT, 86400, 2048, 0, 0 },
		{ ASK_SEED, "stream", "udp", ND_CLIENT, 86400, 65507, 0, 0 },
		{ ASK_RR, "rr", "tcp", ND_CLIENT, 86400, 1, 1, 1 },
		{ ASK_UDP_RR, "rr", "udp", ND_CLIENT, 86400, 1, 1, 1 },
		{ ASK_MAERTS, "stream", "tcp", ND_SERVER, 1, 16384, 0, 0 },
		{ ASK_CRR, "crr", "tcp", ND_CLIENT, 86400, 1, 1, 1 },
		{ ASK_ALL, "stream", "tcp", ND_CLIENT, 86400, 8192, 0, 0 },
	};

	uint8_t ask[MESSAGE];
	struct nd_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = bench_new(true);
		const struct nd_workload *w = &b->plan.workload[0];

		bench_open(b);
		from_rows(rows[i].ask, ask);
		hear(b, 0, ask);
		got_socket(b, 40599, 16384, 131072);
		assert_string_equal(w->load, rows[i].load);
		assert_string_equal(w->transport, rows[i].transport);
		assert_int_equal(w->active, rows[i].active);
		assert_int_equal(w->message_bytes, rows[i].message);
		assert_int_equal(w->request_bytes, rows[i].request);
		assert_int_equal(w->response_bytes, rows[i].response);
		assert_int_equal(b->plan.duration_ns, rows[i].duration_s * ND_NS_PER_S);
		assert_int_equal(b->plan.af, ND_AF_IPV4);
		assert_false(b->plan.open_ended);
		assert_int_equal(nd_plan_check(&b->plan, &err), 0);
		bench_free(b);
	}
}

static void server_takes_all_options(void **state)
{
	struct bench *b = bench_new(true);
	uint8_t ask[MESSAGE];

	(void)state;
	bench_open(b);
	from_rows(ASK_ALL, ask);
	hear(b, 0, ask);
	assert_int_equal(b->plan.data_port, 7002);
	assert_int_equal(b->plan.port, 7001);
	assert_string_equal(b->plan.pin, "1");
	assert_string_equal(b->plan.sock.cc, "reno");
	assert_int_equal(b->plan.sock.sndbuf_bytes, 153600);
	assert_int_equal(b->plan.sock.rcvbuf_bytes, 256000);
	assert_int_equal(b->plan.sock.priority, 4);
	assert_int_equal(b->plan.sock.dscp, 0xa0 >> 2);
	assert_true(b->plan.sock.nodelay && b->plan.sock.keepalive && b->plan.sock.has_dscp &&
		    b->plan.sock.has_priority);
	bench_free(b);
}

/* Each word of an IPv6 address is turned around. */
static void server_takes_addresses(void **state)
{
	struct bench *b = bench_new(true);
	uint8_t ask[MESSAGE];

	(void)state;
	bench_open(b);
	from_rows(ASK_MAERTS "078: 0a090901 00000000 00000000 00000000\n", ask);
	hear(b, 0, ask);
	assert_string_equal(b->plan.host, "10.9.9.1");
	assert_int_equal(b->plan.bind.n, 0);
	got_socket(b, 1, 1, 1);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_PLAN, .reason = "not today" });
	says(b, "socket propose 0<98 ");
	assert_int_equal(word_at(b->sent, 4), EINVAL);
	from_rows(ASK_MAERTS "088: 000009fd 00000000 00000000 01000000\n", ask);
	ask[95] = 6;
	hear(b, 0, ask);
	assert_null(b->plan.host);
	assert_int_equal(b->plan.bind.n, 1);
	assert_string_equal(b->plan.bind.v[0], "fd09::1");
	bench_free(b);
}

static void client_tells_addresses(void **state)
{
	struct bench *b = bench_new(false);
	const struct nd_socket_facts s = {
		.port = 7,
		.ipv6 = true,
		.address = { 0xfd, 9, [15] = 1 },
		.peer = { 0xfd, 9, [15] = 2 },
	};

	(void)state;
	b->set.data_host = "fd09::2";
	bench_open(b);
	up(b, 0);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_SOCKET, .socket = &s });
	assert_int_equal(word_at(b->sent, 92), 6);
	assert_memory_equal(b->sent + 120, "\0\0\x09\xfd\0\0\0\0\0\0\0\0\x01\0\0\0", 16);
	assert_memory_equal(b->sent + 136, "\0\0\x09\xfd\0\0\0\0\0\0\0\0\x02\0\0\0", 16);
	bench_free(b);
}

/* ---- results */

static struct bench *client_at(void (*set)(struct nd_netperf *), const char *answer)
{
	struct bench *b = bench_new(false);
	uint8_t m[MESSAGE];

	set(&b->set);
	bench_open(b);
	up(b, 0);
	got_socket(b, 1000, 16384, 131072);
	from_rows(answer, m);
	hear(b, 0, m);
	nd_str_reset(&b->log);
	happens(b, ND_DLG_FLOWS_READY);
	says(b, "start ");
	return b;
}

static const struct nd_part *client_reads(struct bench *b, const char *results)
{
	uint8_t m[MESSAGE];

	happens(b, ND_DLG_RESULT);
	from_rows(results, m);
	hear(b, 0, m);
	says(b, "close 0 done+peer ");
	return nd_result_part(b->peer_side, 0);
}

static void client_reads_stream(void **state)
{
	struct bench *b = client_at(plain, ANSWER_STREAM);
	const struct nd_part *p = client_reads(b, RESULTS_STREAM_REAL);
	const struct nd_netperf_said *said = &set_of(b)->said;

	(void)state;
	assert_int_equal(b->plan.data_port, 40599);
	assert_int_equal(b->plan.workload[0].message_bytes, 16384);
	assert_int_equal(p->run.rx_bytes, 434418633);
	assert_int_equal(p->run.rx_messages, 3366);
	assert_int_equal(p->run.tx_bytes, 0);
	assert_int_equal(p->rcvbuf_bytes, 1026899);
	assert_int_equal(p->sndbuf_bytes, 3939840);
	is_near(p->window.seconds, 1.03483, 0.00001);
	is_near(p->run.rx_bps, 434418633.0 * 8 / 1.03483, 10000);
	assert_string_equal(p->tcp.cc, "bbr");
	assert_int_equal(p->tcp.retransmits, 0);
	assert_true(isnan(b->peer_side->machine.busy_cores)); /* nobody asked: junk */
	assert_int_equal(said->sndbuf.local, 16384);
	assert_int_equal(said->rcvbuf.remote, 131072);
	assert_int_equal(said->send_bytes.local, 16384);
	assert_int_equal(said->recv_bytes.remote, 131072);
	assert_int_equal(said->send_bytes.remote, -1);
	bench_free(b);
}

static void client_reads_cpu(void **state)
{
	struct bench *b = client_at(udp, ANSWER_UDP);
	const struct nd_part *p = client_reads(b, RESULTS_UDP_REAL);
	const struct nd_machine *m = &b->peer_side->machine;

	(void)state;
	assert_int_equal(p->run.rx_bytes, 18113536);
	assert_int_equal(p->run.rx_messages, 17689);
	assert_int_equal(p->tcp.retransmits, ND_UNKNOWN);
	is_near(m->busy_cores, 1.99, 0.0001);
	is_near(m->user_cores, 2 * 0.497871, 0.0001);
	is_near(m->softirq_cores, 2 * 0.0842, 0.0001);
	is_near(m->busiest_ratio, 1, 0.0001);
	assert_int_equal(m->busiest_cpu, 0);
	assert_int_equal(set_of(b)->said.remote_cpus, 2);
	assert_int_equal(set_of(b)->said.remote_cpu_method, 8);
	is_near(set_of(b)->said.remote_rate, 100, 0.0001);
	bench_free(b);
}

static void client_reads_rr(void **state)
{
	struct bench *b = client_at(rr, ANSWER_RR);
	const struct nd_part *p = client_reads(b, RESULTS_RR_REAL);

	(void)state;
	assert_int_equal(p->run.transactions, 34960);
	assert_int_equal(p->run.rx_bytes, 34960);
	assert_int_equal(p->run.tx_bytes, 34960);
	bench_free(b);
}

static struct bench *server_at(const char *ask, uint64_t port, uint64_t sndbuf, uint64_t rcvbuf)
{
	struct bench *b = bench_new(true);
	uint8_t m[MESSAGE];

	bench_open(b);
	up(b, 0);
	from_rows(ask, m);
	hear(b, 0, m);
	got_socket(b, port, sndbuf, rcvbuf);
	happens(b, ND_DLG_PLAN);
	happens(b, ND_DLG_FLOWS_READY);
	happens(b, ND_DLG_FIRST_DATA);
	says(b, "socket propose prepare 0<98 start ");
	return b;
}

static void measured(struct bench *b, void (*fill)(struct nd_side *, struct nd_part *))
{
	struct nd_part part;
	struct nd_side side;

	nd_table_unknown(&nd_side_table, &side);
	nd_table_unknown(&nd_part_table, &part);
	side.parts = (struct nd_list){ .v = &part, .n = 1 };
	part.workload = 0;
	fill(&side, &part);
	feed(b, (struct nd_dialog_event){ .what = ND_DLG_RESULT, .side = &side });
}

static void as_stream(struct nd_side *side, struct nd_part *p)
{
	(void)side;
	p->run.rx_bytes = 434418633;
	p->run.rx_messages = 3366;
	p->run.seconds = 1.034828;
	p->rcvbuf_bytes = 1026899;
	p->sndbuf_bytes = 3939840;
	p->tcp.cc = "bbr";
	p->tcp.retransmits = 0;
}

/* As seen, but for the type and what is left of other messages. */
static void server_tells_stream(void **state)
{
	struct bench *b = server_at(ASK_STREAM, 40599, 16384, 131072);

	(void)state;
	measured(b, as_stream);
	says(b, "0<99 ");
	is_message(b->sent, "000: 00000063 00000000 00000000 19e4b3c9\n"
			    "010: 00000d26 000fab53 00000000 00000000\n"
			    "020: 00000000 003c1e00 00000000 00000000\n"
			    "030: 3f84753e 00000000 00000000 00000000\n"
			    "110: 00000000 62627200 00000000 00000000\n");
	bench_free(b);
}

static void as_udp(struct nd_side *side, struct nd_part *p)
{
	struct nd_machine *m = &side->machine;

	p->run.rx_bytes = 18113536;
	p->run.rx_messages = 17689;
	p->run.seconds = 1.007856;
	p->rcvbuf_bytes = p->sndbuf_bytes = 131072;
	m->user_cores = 1;
	m->system_cores = 0.5;
	m->softirq_cores = 0.25;
	m->irq_cores = 0;
	m->steal_cores = 0;
	m->idle_cores = 0.25;
	m->iowait_cores = 0.125;
	m->busiest_cpu = 1;
	m->busiest_ratio = 1;
	side->host.cpus_online = 2;
}

static void server_tells_cpu(void **state)
{
	struct bench *b = server_at(ASK_UDP, 57251, 131072, 131072);

	(void)state;
	measured(b, as_udp);
	is_message(b->sent, "000: 00000063 00000000 00000000 01146400\n"
			    "010: 00004519 00020000 00000000 00000000\n"
			    "020: 00000000 00020000 00000000 00000000\n"
			    "030: 3f81016d 42bb8000 42480000 41c80000\n"
			    "040: 40c80000 00000000 41480000 00000000\n"
			    "050: 00000008 00000002 00000001 42c80000\n"
			    "070: ffffffff 00000000 00000000 00000000\n");
	bench_free(b);
}

/* Where datagrams were lost: asked for by our own clients alone, told behind all that others know. */
#define ASK_LOSS "280: 00000000 00000000 00000000 6e640001\n"
#define TELL_LOSS                                    \
	"270: 00000000 6e640002 00000007 ffffffff\n" \
	"280: 00000000 00000003 00000004 00000005\n"

static void as_lossy(struct nd_side *side, struct nd_part *p)
{
	p->run.rx_messages = 100;
	p->run.rx_dropped = 7;
	side->machine.udp_no_ports = 0;
	side->machine.udp_in_csum_errors = 3;
	side->machine.softnet_dropped = 4;
	side->machine.nic_rx_dropped = 5;
}

static void server_tells_losses(void **state)
{
	static const struct {
		const char *ask;
		bool tells;
	} rows[] = { { ASK_UDP ASK_LOSS, true },
		     { ASK_UDP, false },
		     { ASK_STREAM ASK_LOSS, false } };

	uint8_t wanted[MESSAGE];

	(void)state;
	from_rows(TELL_LOSS, wanted);
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = server_at(rows[i].ask, 57251, 131072, 131072);

		measured(b, as_lossy);
		if (!rows[i].tells)
			memset(wanted, 0, sizeof(wanted));
		assert_memory_equal(b->sent + 292, wanted + 292, MESSAGE - 292);
		from_rows(TELL_LOSS, wanted);
		bench_free(b);
	}
}

static void udp_losses(struct nd_netperf *n)
{
	udp(n);
	n->losses = true;
}

static void client_reads_losses(void **state)
{
	struct bench *b = client_at(udp_losses, ANSWER_UDP);
	const struct nd_part *p = client_reads(b, RESULTS_UDP_REAL TELL_LOSS);
	const struct nd_machine *m = &b->peer_side->machine;

	(void)state;
	assert_int_equal(word_at(b->sent, 652), 0x6e640001);
	assert_int_equal(p->run.rx_dropped, 7);
	assert_int_equal(m->udp_rcvbuf_errors, ND_UNKNOWN);
	assert_int_equal(m->udp_no_ports, 0);
	assert_int_equal(m->udp_in_csum_errors, 3);
	assert_int_equal(m->softnet_dropped, 4);
	assert_int_equal(m->nic_rx_dropped, 5);
	bench_free(b);
	b = client_at(udp_losses, ANSWER_UDP); /* another server has left something there */
	p = client_reads(b, RESULTS_UDP_REAL "280: 00000001 00000002 00000003 6e640001\n");
	assert_int_equal(p->run.rx_dropped, ND_UNKNOWN);
	assert_int_equal(b->peer_side->machine.udp_no_ports, ND_UNKNOWN);
	bench_free(b);
}

static void as_large(struct nd_side *side, struct nd_part *p)
{
	(void)side;
	p->run.tx_bytes = 0x123456789aull;
	p->run.tx_messages = 0x0000ffffffffull;
	p->run.seconds = 1;
	p->tcp.cc = "a name that is far too long for it";
	p->tcp.retransmits = 13;
}

static void server_tells_large_numbers(void **state)
{
	struct bench *b = server_at(ASK_MAERTS, 40599, 16384, 131072);

	(void)state;
	measured(b, as_large);
	assert_int_equal(word_at(b->sent, 24), 0x12);
	assert_int_equal(word_at(b->sent, 28), 0x3456789a);
	assert_int_equal(word_at(b->sent, 112), 13);
	assert_memory_equal(b->sent + 276, "a name that is \0", 16);
	bench_free(b);
}

/* ---- old kinds */

static void old_kinds(void **state)
{
	static const struct {
		unsigned type, port_at, bytes_at, length_at, family_at;
		bool is_double;
	} rows[] = {
		{ 10, 32, 8, 40, 64, true },   { 13, 28, 8, 52, 68, false },
		{ 16, 24, 12, 40, 56, false }, { 19, 28, 8, 52, 68, false },
		{ 34, 28, 8, 52, 68, false },  { 94, 32, 8, 40, 64, true },
		{ 300, 28, 8, 52, 68, false },
	};

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		struct bench *b = bench_new(true);
		uint8_t m[MESSAGE] = { 0 };
		char want[64];

		m[2] = (uint8_t)(rows[i].type >> 8);
		m[3] = (uint8_t)rows[i].type;
		memset(m + 4, 0xff, 4);
		m[rows[i].length_at + 3] = 1;
		m[rows[i].family_at + 3] = 4;
		m[35] = m[39] = 1; /* sizes of requests, in those that have them */
		bench_open(b);
		hear(b, 0, m);
		got_socket(b, 0x1234, 16384, 131072);
		happens(b, ND_DLG_PLAN);
		(void)snprintf(want, sizeof(want), "socket propose prepare 0<%u ",
			       rows[i].type + 1);
		says(b, want);
		assert_int_equal(word_at(b->sent, rows[i].port_at), 0x1234);
		assert_int_equal(b->plan.af, ND_AF_IPV4);
		happens(b, ND_DLG_FLOWS_READY);
		happens(b, ND_DLG_FIRST_DATA);
		measured(b, rows[i].type == 94 ? as_large : as_stream);
		(void)snprintf(want, sizeof(want), "start 0<%u ", rows[i].type + 2);
		says(b, want);
		if (rows[i].is_double)
			assert_int_equal(word_at(b->sent, 8),
					 rows[i].type == 94 ? 0x42323456 : 0x41b9e4b3);
		else
			assert_int_equal(word_at(b->sent, rows[i].bytes_at), 434418633);
		bench_free(b);
	}
}

static void old_client(void **state)
{
	struct bench *b = bench_new(false);
	uint8_t m[MESSAGE] = { 0 };
	const struct nd_part *p;

	(void)state;
	b->set.test = ND_NP_TCP_SENDFILE;
	b->set.length = -5000;
	bench_open(b);
	up(b, 0);
	got_socket(b, 1, 16384, 131072);
	says(b, "connect 0 socket 0<10 ");
	assert_int_equal(word_at(b->sent, 16), 0); /* reads: the server's choice */
	assert_int_equal(word_at(b->sent, 52), 0);
	assert_int_equal(word_at(b->sent, 40), 5000); /* bytes count upwards */
	assert_int_equal(word_at(b->sent, 64), 4);
	from_rows("000: 0000000b 00000000 00020000 00020000\n"
		  "020: 00001234 00000000 00000000 00000000\n",
		  m);
	hear(b, 0, m);
	assert_int_equal(b->plan.data_port, 0x1234);
	happens(b, ND_DLG_FLOWS_READY);
	nd_str_reset(&b->log);
	p = client_reads(b, "000: 0000000c 00000000 40b38800 00000000\n"
			    "010: 00000003 3f800000 00000000 00000000\n");
	assert_int_equal(p->run.rx_bytes, 5000);
	assert_int_equal(p->run.rx_messages, 3);
	is_near(p->run.seconds, 1, 0.0001);
	bench_free(b);
}

static void prints(void **state)
{
	static const struct {
		const char *rows, *want;
	} cases[] = {
		{ ASK_STREAM, "omni request type=97 cpu=4294967295" },
		{ ANSWER_STREAM, "omni response type=98 error=0 rcvbuf=131072" },
		{ RESULTS_STREAM_REAL, "omni results type=1644167168 error=0 rx_high=0" },
		{ "000: 00000063 00000000 00000000 00000001\n", "omni results type=99" },
		{ "000: 0000012d 00000000 00000000 00000001\n", "rr response type=301" },
		{ "000: 00000005 00000000 42c80000 00000002\n",
		  "type 5 00000000 42c80000 00000002" },
		{ PHRASE_ALL, "type 6" }, /* it is nobody's business */
	};

	uint8_t m[MESSAGE];

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cases); i++) {
		nd_auto_str s = { 0 };

		from_rows(cases[i].rows, m);
		netperf()->print(m, MESSAGE, &s);
		assert_memory_equal(nd_str_text(&s), cases[i].want, strlen(cases[i].want));
		assert_null(strstr(nd_str_text(&s), "7365"));
	}
	assert_int_equal(netperf()->message_bytes(m, MESSAGE - 1, 0), 0);
	assert_int_equal(netperf()->message_bytes(m, MESSAGE + 9, 0), MESSAGE);
	assert_int_equal(netperf()->message_bytes(m, MESSAGE, 1), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client_asks),
		cmocka_unit_test(server_answers),
		cmocka_unit_test(server_plans),
		cmocka_unit_test(server_takes_all_options),
		cmocka_unit_test(server_takes_addresses),
		cmocka_unit_test(client_tells_addresses),
		cmocka_unit_test(client_reads_stream),
		cmocka_unit_test(client_reads_cpu),
		cmocka_unit_test(client_reads_rr),
		cmocka_unit_test(server_tells_stream),
		cmocka_unit_test(server_tells_cpu),
		cmocka_unit_test(server_tells_losses),
		cmocka_unit_test(client_reads_losses),
		cmocka_unit_test(server_tells_large_numbers),
		cmocka_unit_test(old_kinds),
		cmocka_unit_test(old_client),
		cmocka_unit_test(prints),
	};

	return cmocka_run_group_tests_name("dialect-netperf", tests, NULL, NULL);
}
