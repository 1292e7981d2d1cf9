/* SPDX-License-Identifier: MIT */
/* Endpoints on loopback: listeners, connections, datagram peers, options, facts. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
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
#include "base/num.h"
#include "net/int.h"

#define PATIENCE_MS 5000

static const struct nd_sockopts no_opts = { 0 };

static bool has_ipv6(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	nd_auto_fd int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
}

static void parse(const char *host, struct nd_addr *ret)
{
	struct nd_err err = { 0 };
	size_t n;

	if (nd_addr_resolve(host, 0, ND_AF_ANY, false, ret, 1, &n, &err) < 0)
		fail_msg("%s: %s", host, err.text);
}

static void own_address(int fd, struct nd_addr *ret)
{
	*ret = (struct nd_addr){ .len = sizeof(ret->u) };
	assert_int_equal(getsockname(fd, &ret->u.sa, &ret->len), 0);
}

static void await(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	if (poll(&p, 1, PATIENCE_MS) != 1)
		fail_msg("nothing happened in %d ms", PATIENCE_MS);
}

static void check_flags(int fd)
{
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

struct reach_case {
	const char *at, *to, *from;
	bool v6only, reached;
};

static const struct reach_case reaches[] = {
	{ "127.0.0.1", "127.0.0.1", NULL, false, true },
	{ "127.0.0.1", "::ffff:127.0.0.1", NULL, false, true },
	{ "127.0.0.1", "127.0.0.1", "127.0.0.9", false, true },
	{ "0.0.0.0", "127.0.0.2", NULL, false, true },
	{ "::1", "::1", "::1", false, true },
	{ "::", "::1", NULL, false, true },
	{ "::", "127.0.0.1", "127.0.0.5", false, true },
	{ "::", "127.0.0.1", NULL, true, false },
};

static bool needs_ipv6(const struct reach_case *c)
{
	return strcmp(c->at, "::") == 0 || strcmp(c->at, "::1") == 0;
}

static void connect_case(const struct reach_case *c, const struct nd_transport *t)
{
	struct nd_addr at, to, from, seen = { .len = sizeof(seen.u) };
	nd_auto_fd int listener = -1, fd = -1, got = -1;
	struct nd_err err = { 0 };
	int r;

	parse(c->at, &at);
	parse(c->to, &to);
	if (c->from)
		parse(c->from, &from);
	assert_int_equal(nd_listen(t, &at, c->v6only, &listener, &err), 0);
	check_flags(listener);
	own_address(listener, &at);
	nd_addr_set_port(&to, nd_addr_port(&at));
	r = nd_open(t, &no_opts, &to, c->from ? &from : NULL, NULL, &fd, &err);
	if (r == 1) {
		await(fd, POLLOUT);
		r = nd_open_result(fd);
	}
	if ((r == 0) != c->reached)
		fail_msg("%s to %s: %d %s", c->to, c->at, r, err.text);
	if (r < 0)
		return;
	check_flags(fd);
	await(listener, POLLIN);
	got = accept4(listener, &seen.u.sa, &seen.len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(got >= 0);
	own_address(fd, &at);
	assert_true(nd_addr_equal(&seen, &at));
	if (c->from) {
		nd_addr_set_port(&from, nd_addr_port(&at));
		assert_true(nd_addr_equal(&from, &at));
	}
}

static void connects(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(reaches); i++)
		if (!needs_ipv6(&reaches[i]) || has_ipv6())
			connect_case(&reaches[i], nd_transport_find("tcp"));
}

/* A server's way with datagrams: learn peer and local address, then a socket for this peer alone. */
static void datagram_case(const struct reach_case *c, const struct nd_transport *t)
{
	struct nd_addr at, to, peer, local, own;
	nd_auto_fd int listener = -1, fd = -1, other = -1, mine = -1;
	struct nd_err err = { 0 };
	char buf[16];

	parse(c->at, &at);
	parse(c->to, &to);
	assert_int_equal(nd_listen(t, &at, c->v6only, &listener, &err), 0);
	check_flags(listener);
	own_address(listener, &at);
	nd_addr_set_port(&to, nd_addr_port(&at));
	assert_int_equal(nd_open(t, &no_opts, &to, NULL, NULL, &fd, &err), 0);
	assert_int_equal(nd_open(t, &no_opts, &to, NULL, NULL, &other, &err), 0);
	assert_int_equal(nd_recv_to(listener, buf, sizeof(buf), &peer, &local), -EAGAIN);
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	await(listener, POLLIN);
	assert_int_equal(nd_recv_to(listener, buf, sizeof(buf), &peer, &local), 5);
	own_address(fd, &own);
	assert_true(nd_addr_equal(&peer, &own));
	assert_true(nd_addr_equal(&local, &to));
	assert_int_equal(nd_datagram_peer(t, &no_opts, &local, &peer, &mine, &err), 0);
	check_flags(mine);
	/* this peer's go to its socket, others' to the listener, answers come from the right place */
	assert_int_equal(send(fd, "mine", 4, 0), 4);
	assert_int_equal(send(other, "other", 5, 0), 5);
	await(mine, POLLIN);
	assert_int_equal(recv(mine, buf, sizeof(buf), 0), 4);
	await(listener, POLLIN);
	assert_int_equal(nd_recv_to(listener, buf, sizeof(buf), &peer, &local), 5);
	own_address(other, &own);
	assert_true(nd_addr_equal(&peer, &own));
	assert_int_equal(send(mine, "answer", 6, 0), 6);
	await(fd, POLLIN);
	assert_int_equal(recv(fd, buf, sizeof(buf), 0), 6);
	assert_int_equal(recv(mine, buf, sizeof(buf), 0), -1);
}

static void knows_datagram_peers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(reaches); i++)
		if (reaches[i].reached && (!needs_ipv6(&reaches[i]) || has_ipv6()))
			datagram_case(&reaches[i], nd_transport_find("udp"));
}

static void says_what_fails(void **state)
{
	const struct nd_transport *tcp = nd_transport_find("tcp");
	struct nd_addr at, six;
	nd_auto_fd int listener = -1, second = -1;
	struct nd_err err = { 0 };

	(void)state;
	parse("127.0.0.1", &at);
	assert_int_equal(nd_listen(tcp, &at, false, &listener, &err), 0);
	own_address(listener, &at);
	assert_int_equal(nd_listen(tcp, &at, false, &second, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "127.0.0.1:"));
	parse("192.0.2.1", &at); /* for documentation: nobody has it */
	assert_int_equal(nd_listen(tcp, &at, false, &second, &err), -EADDRNOTAVAIL);
	parse("::1", &six);
	parse("127.0.0.1", &at);
	assert_int_equal(nd_open(tcp, &no_opts, &at, &six, NULL, &second, &err), -EAFNOSUPPORT);
	assert_int_equal(nd_open(tcp, &no_opts, &at, NULL, "nosuchdevice0", &second, &err),
			 -ENODEV);
	assert_non_null(strstr(err.text, "nosuchdevice0"));
	assert_int_equal(second, -1);
}

static void refused_is_told(void **state)
{
	const struct nd_transport *tcp = nd_transport_find("tcp");
	nd_auto_fd int listener = -1, fd = -1;
	struct nd_err err = { 0 };
	struct nd_addr at;
	int r;

	(void)state;
	parse("127.0.0.1", &at);
	assert_int_equal(nd_listen(tcp, &at, false, &listener, &err), 0);
	own_address(listener, &at);
	nd_close_p(&listener);
	r = nd_open(tcp, &no_opts, &at, NULL, NULL, &fd, &err);
	if (r == 1) {
		await(fd, POLLOUT);
		r = nd_open_result(fd);
	}
	assert_int_equal(r, -ECONNREFUSED);
}

/* Datagram ports are shared by those who all agree to it. */
static void listens_alone(void **state)
{
	const struct nd_transport *udp = nd_transport_find("udp");
	nd_auto_fd int first = -1, second = -1, third = -1;
	struct nd_err err = { 0 };
	struct nd_addr at;

	(void)state;
	parse("127.0.0.1", &at);
	assert_int_equal(nd_listen(udp, &at, false, &first, &err), 0);
	own_address(first, &at);
	assert_int_equal(nd_listen(udp, &at, false, &second, &err), 0);
	assert_int_equal(nd_listen_alone(udp, &at, false, &third, &err), -EADDRINUSE);
	nd_close_p(&first);
	nd_close_p(&second);
	assert_int_equal(nd_listen_alone(udp, &at, false, &third, &err), 0);
	assert_int_equal(nd_listen(udp, &at, false, &first, &err), -EADDRINUSE);
}

static int caller(const struct nd_transport *t, const struct nd_addr *at)
{
	struct nd_err err = { 0 };
	int fd = -1;

	if (nd_open(t, &(struct nd_sockopts){ .blocks = true }, at, NULL, NULL, &fd, &err) < 0)
		fail_msg("%s", err.text);
	return fd;
}

/* A CPU's connections go to its socket; the address is nobody's else before, and the first socket's alone behind a failure. */
static void groups_by_cpu(void **state)
{
	const struct nd_transport *t = nd_transport_find("tcp");
	struct nd_listen_group g = { .n = 2, .cpu = { UINT32_MAX - 1 } };
	struct nd_err err = { 0 };
	cpu_set_t before, one;
	struct nd_addr at;
	int cpu = sched_getcpu();

	(void)state;
	assert_true(cpu >= 0 && sched_getaffinity(0, sizeof(before), &before) == 0);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	parse("127.0.0.1", &at);
	assert_int_equal(nd_bound(t, &no_opts, &at, true, &g.fd[0], &err), 0);
	own_address(g.fd[0], &at);
	assert_false(nd_listens_apart(g.fd[0]));
	assert_true(nd_listen_group(nd_transport_find("udp"), &no_opts, &g, &err) < 0);
	assert_false(nd_listens_apart(g.fd[0]));

	g.cpu[1] = (uint32_t)cpu;
	assert_int_equal(nd_listen_group(t, &no_opts, &g, &err), 0);
	assert_true(nd_listens_apart(g.fd[0]) && nd_listens_apart(g.fd[1]));
	check_flags(g.fd[1]);
	for (unsigned i = 0; i < 8; i++) {
		nd_auto_fd int fd = caller(t, &at);
		nd_auto_fd int got = -1;

		assert_true(fd >= 0);
		await(g.fd[1], POLLIN);
		got = accept4(g.fd[1], NULL, NULL, SOCK_CLOEXEC);
		assert_true(got >= 0);
		assert_int_equal(accept4(g.fd[0], NULL, NULL, SOCK_CLOEXEC), -1);
	}
	nd_close_p(&g.fd[0]);
	nd_close_p(&g.fd[1]);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static int fresh(const struct nd_transport *t, int family)
{
	int fd = socket(family, t->sock_type | SOCK_CLOEXEC, t->protocol);

	assert_true(fd >= 0);
	return fd;
}

static void sets_tcp_options(void **state)
{
	const struct nd_transport *t = nd_transport_find("tcp");
	const struct nd_sockopts o = { .cc = "reno",
				       .sndbuf_bytes = 100000,
				       .rcvbuf_bytes = 50000,
				       .mss_bytes = 1000,
				       .dscp = 46,
				       .has_dscp = true,
				       .nodelay = true };
	nd_auto_fd int fd = fresh(t, AF_INET);
	struct nd_err err = { 0 };
	char cc[17] = { 0 };
	socklen_t len = 16;

	(void)state;
	assert_int_equal(t->prepare(fd, AF_INET, &o, &err), 0);
	assert_int_equal(nd_sock_get(fd, SOL_SOCKET, SO_SNDBUF), 200000); /* Linux doubles */
	assert_int_equal(nd_sock_get(fd, SOL_SOCKET, SO_RCVBUF), 100000);
	assert_int_equal(nd_sock_get(fd, IPPROTO_IP, IP_TOS), 46 << 2);
	assert_int_equal(nd_sock_get(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &len), 0);
	assert_string_equal(cc, "reno");
	if (has_ipv6()) {
		nd_auto_fd int six = fresh(t, AF_INET6);

		assert_int_equal(t->prepare(six, AF_INET6, &o, &err), 0);
		assert_int_equal(nd_sock_get(six, IPPROTO_IPV6, IPV6_TCLASS), 46 << 2);
	}
}

/* What other tools' command lines ask of sockets. */
static void sets_rare_options(void **state)
{
	static const struct nd_sockopts o = { .cork = true,
					      .no_router = true,
					      .fastopen = true,
					      .defer_accept = true },
					plain = { 0 }, many = { .multicast.ttl = 7 };
	const struct nd_transport *tcp = nd_transport_find("tcp"), *udp = nd_transport_find("udp");
	struct nd_addr at;
	struct nd_err err = { 0 };
	nd_auto_fd int door = -1, other = -1, fd = fresh(tcp, AF_INET), mine = fresh(udp, AF_INET);

	(void)state;
	assert_int_equal(tcp->prepare(fd, AF_INET, &o, &err), 0);
	assert_int_equal(nd_sock_get(fd, IPPROTO_TCP, TCP_CORK), 1);
	assert_int_equal(nd_sock_get(fd, SOL_SOCKET, SO_DONTROUTE), 1);
	assert_int_equal(udp->prepare(mine, AF_INET, &many, &err), 0);
	assert_int_equal(nd_sock_get(mine, IPPROTO_IP, IP_MULTICAST_TTL), 7);
	parse("127.0.0.1", &at);
	assert_int_equal(nd_bound(tcp, &o, &at, true, &door, &err), 0);
	assert_true(nd_sock_get(door, IPPROTO_TCP, TCP_FASTOPEN) > 0);
	assert_true(nd_sock_get(door, IPPROTO_TCP, TCP_DEFER_ACCEPT) > 0);
	assert_int_equal(nd_bound(tcp, &plain, &at, true, &other, &err), 0);
	assert_int_equal(nd_sock_get(other, IPPROTO_TCP, TCP_DEFER_ACCEPT), 0);
	own_address(door, &at);
	nd_close_p(&fd);
	assert_true(nd_open(tcp, &o, &at, NULL, NULL, &fd, &err) >= 0);
	assert_int_equal(nd_sock_get(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT), 1);
}

struct bad_case {
	struct nd_sockopts o;
	const char *word; /* in the sentence */
};

static const struct bad_case bad_options[] = {
	{ { .cc = "nosuchcc" }, "reno" },
	{ { .cc = "" }, "congestion control" },
	{ { .cc = "renorenorenorenorenorenorenorenorenorenoreno" }, "not available" },
	{ { .mss_bytes = 1 }, "segment size" },
	{ { .mss_bytes = 1ull << 40 }, "segment size" },
	{ { .dscp = 64, .has_dscp = true }, "dscp 64" },
};

static void bad_options_are_refused(void **state)
{
	const struct nd_transport *t = nd_transport_find("tcp");

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(bad_options); i++) {
		nd_auto_fd int fd = fresh(t, AF_INET);
		struct nd_err err = { 0 };

		if (t->prepare(fd, AF_INET, &bad_options[i].o, &err) >= 0 ||
		    !strstr(err.text, bad_options[i].word))
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void sets_udp_options(void **state)
{
	const struct nd_transport *t = nd_transport_find("udp");
	static const int families[] = { AF_INET, AF_INET6 };
	struct nd_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 2 * ND_COUNTOF(families); i++) {
		struct nd_sockopts o = { .fragment = i % 2 };
		int family = families[i / 2], before;

		if (family == AF_INET6 && !has_ipv6())
			continue;
		nd_auto_fd int fd = fresh(t, family);

		before = nd_sock_get(fd, SOL_SOCKET, SO_RCVBUF);
		assert_int_equal(t->prepare(fd, family, &o, &err), 0);
		assert_true(nd_sock_get(fd, SOL_SOCKET, SO_RCVBUF) >= before);
		if (family == AF_INET) {
			assert_int_equal(nd_sock_get(fd, IPPROTO_IP, IP_MTU_DISCOVER),
					 o.fragment ? IP_PMTUDISC_DONT : IP_PMTUDISC_DO);
			continue;
		}
		assert_int_equal(nd_sock_get(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER),
				 o.fragment ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_DO);
		assert_int_equal(nd_sock_get(fd, IPPROTO_IPV6, IPV6_DONTFRAG), !o.fragment);
	}
}

static void tells_facts(void **state)
{
	const struct nd_transport *t = nd_transport_find("tcp");
	const struct nd_sockopts o = { .cc = "reno", .nodelay = true };
	nd_auto_fd int listener = -1, fd = -1, got = -1;
	struct nd_arena arena = { 0 };
	struct nd_net_facts facts;
	struct nd_tcp_sample s;
	struct nd_err err = { 0 };
	struct nd_addr at;

	(void)state;
	parse("127.0.0.1", &at);
	assert_int_equal(nd_listen(t, &at, false, &listener, &err), 0);
	own_address(listener, &at);
	assert_true(nd_open(t, &o, &at, NULL, NULL, &fd, &err) >= 0);
	await(fd, POLLOUT);
	await(listener, POLLIN);
	got = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(got >= 0);
	assert_int_equal(nd_net_facts(fd, t, &arena, &facts), 0);
	assert_string_equal(facts.cc, "reno");
	assert_true(facts.nodelay);
	assert_true(facts.mss_bytes > 500 && facts.mss_bytes <= facts.path_mtu_bytes);
	assert_true(facts.sndbuf_bytes > 0 && facts.rcvbuf_bytes > 0);
	nd_arena_done(&arena);

	assert_int_equal(write(fd, "12345", 5), 5);
	await(got, POLLIN);
	assert_int_equal(nd_tcp_sample(fd, &s), 0);
	assert_true(s.rtt_us < 5000000 && s.cwnd_segments > 0 && s.cwnd_segments < 1000000);
	assert_true(s.mss_bytes > 500 && s.mss_bytes <= facts.path_mtu_bytes);
	assert_int_equal(s.retransmits, 0);
	assert_int_equal(nd_tcp_sample(-1, &s), -EBADF);
	assert_int_equal(nd_pacing_rate(fd, 1000000), 0);
	assert_true(nd_pacing_rate(-1, 1) < 0);
	assert_true(nd_net_facts(-1, t, &arena, &facts) < 0);
}

/* Two ways to the first subflow's figures: what this kernel tells to both is the same. */
static void looks_into_multipath(void **state)
{
	const struct nd_transport *t = nd_transport_find("mptcp");
	nd_auto_fd int listener = -1, fd = -1, got = -1;
	struct nd_tcp_sample s;
	struct tcp_info info = { 0 };
	struct nd_err err = { 0 };
	struct nd_addr at;
	int r;

	(void)state;
	parse("127.0.0.1", &at);
	if (nd_listen(t, &at, false, &listener, &err) < 0)
		skip(); /* no such transport here */
	own_address(listener, &at);
	assert_true(nd_open(t, &no_opts, &at, NULL, NULL, &fd, &err) >= 0);
	await(fd, POLLOUT);
	await(listener, POLLIN);
	got = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(got >= 0);
	assert_int_equal(write(fd, "12345", 5), 5);
	await(got, POLLIN);
	assert_true(t->caps & ND_NET_TCP_INFO);
	if (nd_tcp_sample(fd, &s) < 0)
		skip(); /* older than Linux 5.16 */
	assert_true(s.mss_bytes > 500 && s.rtt_us < 5000000 && s.cwnd_segments > 0);
	assert_int_equal(s.retransmits, 0);
	r = nd_mptcp_subflow(fd, (uint8_t *)&info, sizeof(info));
	if (r == -EOPNOTSUPP) /* fell back to TCP */
		skip();
	assert_true(r > (int)offsetof(struct tcp_info, tcpi_total_retrans));
	assert_int_equal(info.tcpi_snd_mss, s.mss_bytes);
	assert_int_equal(info.tcpi_total_retrans, s.retransmits);
	assert_true(nd_mptcp_subflow(-1, (uint8_t *)&info, sizeof(info)) == -EBADF);
}

/* The members that the C library knows too are where we look for them. */
static void offsets_are_right(void **state)
{
	const struct nd_transport *t = nd_transport_find("tcp");
	nd_auto_fd int listener = -1, fd = -1;
	struct nd_tcp_sample s;
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	struct nd_err err = { 0 };
	struct nd_addr at;

	(void)state;
	parse("127.0.0.1", &at);
	assert_int_equal(nd_listen(t, &at, false, &listener, &err), 0);
	own_address(listener, &at);
	assert_true(nd_open(t, &no_opts, &at, NULL, NULL, &fd, &err) >= 0);
	await(fd, POLLOUT);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	assert_int_equal(nd_tcp_sample(fd, &s), 0);
	assert_int_equal(s.rtt_us, info.tcpi_rtt);
	assert_int_equal(s.rttvar_us, info.tcpi_rttvar);
	assert_int_equal(s.mss_bytes, info.tcpi_snd_mss);
	assert_int_equal(s.cwnd_segments, info.tcpi_snd_cwnd);
	assert_int_equal(s.retransmits, info.tcpi_total_retrans);
	assert_int_equal(s.unacked_segments, info.tcpi_unacked);
}

static void tells_path_datagram(void **state)
{
	static const char *const hosts[] = { "127.0.0.1", "::ffff:127.0.0.1", "::1" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(hosts); i++) {
		const struct nd_transport *t = nd_transport_find("udp");
		nd_auto_fd int fd = -1;
		static uint8_t big[ND_MAX_DATAGRAM];
		struct nd_err err = { 0 };
		struct nd_addr to;
		uint64_t n = 0;

		if (i == 2 && !has_ipv6())
			continue;
		parse(hosts[i], &to);
		nd_addr_set_port(&to, 9);
		assert_int_equal(nd_path_datagram(&to, NULL, NULL, &n, &err), 0);
		assert_true(n >= 1200 && n <= ND_MAX_DATAGRAM);
		/* that much passes with fragmentation forbidden */
		assert_int_equal(nd_open(t, &no_opts, &to, NULL, NULL, &fd, &err), 0);
		assert_int_equal(send(fd, big, n, MSG_DONTWAIT), n);
	}
}

static void raises_fd_limit(void **state)
{
	struct rlimit lim;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	assert_int_equal(nd_fd_limit(), lim.rlim_max);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	assert_int_equal(lim.rlim_cur, lim.rlim_max);
}

static void finds_by_name(void **state)
{
	const char *help = NULL;

	(void)state;
	for (size_t i = 0; nd_transport_at(i); i++) {
		const struct nd_transport *t = nd_transport_at(i);

		assert_ptr_equal(nd_transport_find(t->name), t);
		assert_string_equal(nd_transport_names(i, &help), t->name);
		assert_non_null(help);
		assert_true(!(t->caps & ND_NET_STREAM) != !(t->caps & ND_NET_DATAGRAM));
	}
	assert_null(nd_transport_find("pigeon"));
	assert_null(nd_transport_find(NULL));
	assert_null(nd_transport_names(99, NULL));
}

static void knows_how_many_may_wait(void **state)
{
	nd_auto_free char *text = NULL;
	uint64_t most = 0;
	size_t n;

	(void)state;
	assert_int_equal(nd_read_file("/proc/sys/net/core/somaxconn", 64, &text, &n, NULL), 0);
	assert_true(nd_parse_prefix_u64(text, &most) > 0);
	assert_int_equal(nd_listen_queue(), most < 4096 ? most : 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connects),
		cmocka_unit_test(knows_datagram_peers),
		cmocka_unit_test(says_what_fails),
		cmocka_unit_test(refused_is_told),
		cmocka_unit_test(listens_alone),
		cmocka_unit_test(groups_by_cpu),
		cmocka_unit_test(sets_tcp_options),
		cmocka_unit_test(sets_rare_options),
		cmocka_unit_test(bad_options_are_refused),
		cmocka_unit_test(sets_udp_options),
		cmocka_unit_test(looks_into_multipath),
		cmocka_unit_test(tells_facts),
		cmocka_unit_test(offsets_are_right),
		cmocka_unit_test(tells_path_datagram),
		cmocka_unit_test(raises_fd_limit),
		cmocka_unit_test(finds_by_name),
		cmocka_unit_test(knows_how_many_may_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
