/* SPDX-License-Identifier: MIT */
/* This machine, whatever it is: relations that hold on any, and a namespace of our own where allowed. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
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
#include "base/time.h"
#include "os/os.h"

#define WORK_NS     (60 * ND_NS_PER_MS)
#define TICK_NS     (10 * ND_NS_PER_MS)
#define DATAGRAMS   100u
#define CPUS_MAX    4096u
#define SKIP_STATUS 77

static struct nd_os *open_machine(const char *root)
{
	struct nd_err err = { 0 };
	struct nd_os *os = NULL;

	if (nd_os_open(root, &os, &err) < 0)
		fail_msg("%s", err.text);
	return os;
}

/* Datagrams to ourselves. False: there is no loopback to send over. */
static bool send_datagrams(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	nd_auto_fd int from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	nd_auto_fd int to = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(at);
	char byte = 0;
	unsigned i;

	if (bind(to, (struct sockaddr *)&at, len) < 0 ||
	    getsockname(to, (struct sockaddr *)&at, &len) < 0)
		return false;
	for (i = 0; i < DATAGRAMS; i++)
		if (sendto(from, &byte, 1, 0, (struct sockaddr *)&at, len) != 1 ||
		    recv(to, &byte, 1, 0) != 1)
			return false;
	return true;
}

static void work(void)
{
	uint64_t until = nd_now_ns() + WORK_NS;

	while (nd_now_ns() < until)
		;
}

static uint64_t known(uint64_t v)
{
	return v == ND_UNKNOWN ? 0 : v;
}

static uint64_t busy_ns(const struct nd_cpu_times *t)
{
	return known(t->user_ns) + known(t->nice_ns) + known(t->system_ns) + known(t->irq_ns) +
	       known(t->softirq_ns);
}

static void at_least(const char *what, uint64_t v, uint64_t least)
{
	if (v < least) /* unknown is the largest value */
		fail_msg("%s: %llu, not %llu or more", what, (unsigned long long)v,
			 (unsigned long long)least);
}

static void check_cpus(const struct nd_os_sample *d)
{
	uint32_t i;

	for (i = 0; i < d->cpus; i++)
		assert_true(busy_ns(&d->cpu[i]) <= d->at_ns + 3 * TICK_NS);
	assert_true(busy_ns(&d->all) <= (d->at_ns + 3 * TICK_NS) * ND_MAX(d->cpus, 1u));
	assert_true(d->self.user_ns + d->self.system_ns <=
		    (d->at_ns + 3 * TICK_NS) * ND_MAX(d->cpus, 1u));
	assert_true(d->self.user_ns + d->self.system_ns > 0);
	assert_true(d->self.rss_bytes <= d->self.peak_rss_bytes);
}

static void sees_our_work(void **state)
{
	struct nd_os *os = open_machine("");
	struct nd_os_sample then, now, d;
	const struct nd_nic *lo;
	char name[64];
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	bool sent;

	(void)state;
	assert_int_equal(nd_os_sample(os, &then), 0);
	work();
	sent = send_datagrams();
	assert_int_equal(nd_os_sample(os, &now), 0);
	assert_int_equal(nd_os_since(&now, &then, &d), 0);
	at_least("elapsed", d.at_ns, WORK_NS);
	check_cpus(&d);
	if (!sent || nd_os_nic_for(&at, name, sizeof(name)) < 0)
		goto out;
	at_least("InDatagrams", d.snmp.udp_in_datagrams, DATAGRAMS);
	at_least("OutDatagrams", d.snmp.udp_out_datagrams, DATAGRAMS);
	at_least("softnet", d.softnet.processed, 1);
	lo = nd_os_nic(&d, name);
	assert_non_null(lo);
	at_least("rx_packets", lo->rx_packets, DATAGRAMS);
	at_least("tx_bytes", lo->tx_bytes, (uint64_t)DATAGRAMS * 29);
	assert_true(lo->qdisc_packets == ND_UNKNOWN || lo->qdisc_packets <= lo->tx_packets);
out:
	nd_os_sample_done(&then);
	nd_os_sample_done(&now);
	nd_os_sample_done(&d);
	nd_os_free(os);
}

/* Netlink's answer, then the files': the second is later, and of the same interfaces. */
static void agrees_with_the_files(void **state)
{
	struct nd_os *asked = open_machine(""), *read = open_machine("/");
	struct nd_os_sample a, b;
	const struct nd_nic *n;
	uint32_t i;

	(void)state;
	assert_int_equal(nd_os_sample(asked, &a), 0);
	assert_int_equal(nd_os_sample(read, &b), 0);
	assert_int_equal(a.cpus, b.cpus);
	for (i = 0; i < a.nics; i++) {
		n = nd_os_nic(&b, a.nic[i].name);
		if (!n)
			continue; /* gone in between */
		at_least(n->name, n->rx_bytes, known(a.nic[i].rx_bytes));
		at_least(n->name, n->tx_packets, known(a.nic[i].tx_packets));
		assert_int_equal(n->qdisc_packets, ND_UNKNOWN);
	}
	nd_os_sample_done(&a);
	nd_os_sample_done(&b);
	nd_os_free(asked);
	nd_os_free(read);
}

static void knows_this_host(void **state)
{
	struct nd_os *os = open_machine("");
	struct nd_arena a = { 0 };
	struct nd_host_facts h;

	(void)state;
	assert_int_equal(nd_os_host(os, &a, &h), 0);
	assert_non_null(h.hostname);
	assert_non_null(h.kernel);
	assert_non_null(h.machine);
	at_least("online", h.cpus_online, 1);
	at_least("allowed", h.cpus_allowed, 1);
	assert_true(h.cpus_allowed <= h.cpus_online || h.cpus_online == ND_UNKNOWN);
	at_least("memory", h.memory_bytes, 1024 * 1024);
	at_least("files", h.fd_limit, 3);
	assert_true(h.port_range_low <= h.port_range_high);
	assert_true(isnan(h.cgroup_cpus) || h.cgroup_cpus > 0);
	assert_true(!h.netns_id || !strncmp(h.netns_id, "net:[", 5));
	nd_arena_done(&a);
	nd_os_free(os);
}

static void knows_each_interface(void **state)
{
	struct nd_os *os = open_machine("");
	struct nd_arena a = { 0 };
	struct nd_nic_facts f;
	struct nd_os_sample s;
	uint32_t i;
	int r;

	(void)state;
	assert_int_equal(nd_os_sample(os, &s), 0);
	for (i = 0; i < s.nics; i++) {
		r = nd_os_nic_facts(os, s.nic[i].name, &a, &f);
		if (r == -ENODEV)
			continue; /* gone in between */
		assert_int_equal(r, 0);
		assert_string_equal(f.name, s.nic[i].name);
		assert_int_equal(f.ifindex, s.nic[i].ifindex);
		at_least("mtu", f.mtu_bytes, 1);
		at_least("tx queues", f.tx_queues, 1);
		assert_true(!f.is_loopback || f.is_virtual);
	}
	assert_int_equal(nd_os_nic_facts(os, "no-such-nic", &a, &f), -ENODEV);
	nd_os_sample_done(&s);
	nd_arena_done(&a);
	nd_os_free(os);
}

struct address_case {
	const char *text;
	int family, r;
	size_t room;
};

/* clang-format off */
static const struct address_case addresses[] = {
	{ "127.0.0.1",        AF_INET,  0,       64 },
	{ "127.1.2.3",        AF_INET,  0,       64 },
	{ "::ffff:127.0.0.1", AF_INET6, 0,       64 },
	{ "127.0.0.1",        AF_INET,  -ENOSPC, 2 },
	{ "127.0.0.1",        AF_INET,  -ENOSPC, 0 },
	{ "0.0.0.0",          AF_INET,  -ENODEV, 64 },
	{ "::",               AF_INET6, -ENODEV, 64 },
	{ "::ffff:0.0.0.0",   AF_INET6, -ENODEV, 64 },
	{ "203.0.113.77",     AF_INET,  -ENODEV, 64 },
	{ "2001:db8::77",     AF_INET6, -ENODEV, 64 },
	{ "0.0.0.0",          AF_UNIX,  -ENODEV, 64 },
};

/* clang-format on */

static void finds_the_interface_of(void **state)
{
	const struct address_case *c;
	struct sockaddr_storage at;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	char name[64];
	int r;

	(void)state;
	if (!send_datagrams())
		skip();
	for (c = addresses; c < addresses + ND_COUNTOF(addresses); c++) {
		memset(&at, 0, sizeof(at));
		in = (struct sockaddr_in){ .sin_family = AF_INET };
		in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
		if (c->family == AF_INET6) {
			assert_int_equal(inet_pton(AF_INET6, c->text, &in6.sin6_addr), 1);
			memcpy(&at, &in6, sizeof(in6));
		} else {
			assert_int_equal(inet_pton(AF_INET, c->text, &in.sin_addr), 1);
			memcpy(&at, &in, sizeof(in));
			at.ss_family = (sa_family_t)c->family;
		}
		r = nd_os_nic_for(&at, name, c->room);
		if (r != c->r)
			fail_msg("%s in %zu bytes: %d", c->text, c->room, r);
		if (r == 0)
			assert_string_equal(name, "lo");
	}
}

static void lists_allowed_cpus(void **state)
{
	uint32_t all[CPUS_MAX], one[CPUS_MAX];
	cpu_set_t before, narrow;
	int count;

	(void)state;
	count = nd_os_allowed_cpus(all, CPUS_MAX);
	assert_true(count > 0);
	assert_int_equal(nd_os_allowed_cpus(one, 1), 1);
	assert_int_equal(one[0], all[0]);
	assert_int_equal(nd_os_allowed_cpus(one, 0), 0);
	if (sched_getaffinity(0, sizeof(before), &before) < 0 || all[count - 1] >= CPU_SETSIZE)
		skip();
	CPU_ZERO(&narrow);
	CPU_SET(all[count - 1], &narrow);
	assert_int_equal(sched_setaffinity(0, sizeof(narrow), &narrow), 0);
	assert_int_equal(nd_os_allowed_cpus(one, CPUS_MAX), 1);
	assert_int_equal(one[0], all[count - 1]);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void counts_cycles_or_says_why_not(void **state)
{
	struct nd_perf *p = NULL;
	uint64_t first, second;
	int r = nd_perf_open(&p);

	(void)state;
	assert_int_equal(nd_perf_cycles(NULL), ND_UNKNOWN);
	nd_perf_free(NULL);
	if (r < 0) {
		assert_null(p);
		print_message("no cycles here: %d\n", r);
		skip();
	}
	first = nd_perf_cycles(p);
	work();
	second = nd_perf_cycles(p);
	assert_true(first == ND_UNKNOWN || second == ND_UNKNOWN || second > first);
	nd_perf_free(p);
}

/* ---- in a child that has a network namespace of its own; it goes with the child */

static bool shell(const char *line)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execlp("sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* The first thing that is not as it should be, by its line. */
#define EXPECT(condition)                                                             \
	do {                                                                          \
		if (!(condition)) {                                                   \
			(void)fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			return 1;                                                     \
		}                                                                     \
	} while (0)

static bool make_network(void)
{
	return shell("{ ip link set lo up && ip link add nd0 mtu 1400 type veth peer name nd1 &&"
		     " ip link set nd0 up && ip link set nd1 up &&"
		     " ip addr add 198.51.100.1/24 dev nd0 &&"
		     " ip neigh add 198.51.100.2 lladdr 02:00:00:00:00:02 dev nd0 &&"
		     " tc qdisc add dev nd0 root tbf rate 100kbit burst 2kb limit 4000; }"
		     " >/dev/null 2>&1");
}

static bool flood(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	nd_auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char payload[1000] = { 0 };
	unsigned i;

	if (inet_pton(AF_INET, "198.51.100.2", &to.sin_addr) != 1)
		return false;
	for (i = 0; i < DATAGRAMS; i++)
		if (sendto(fd, payload, sizeof(payload), 0, (struct sockaddr *)&to, sizeof(to)) <
			    0 &&
		    errno != ENOBUFS)
			return false;
	return true;
}

static int check_queue(struct nd_os *os)
{
	struct nd_os_sample then, now, d;
	const struct nd_nic *n, *peer;

	EXPECT(nd_os_sample(os, &then) == 0);
	EXPECT(flood());
	EXPECT(nd_os_sample(os, &now) == 0);
	EXPECT(nd_os_since(&now, &then, &d) == 0);
	n = nd_os_nic(&d, "nd0");
	peer = nd_os_nic(&d, "nd1");
	EXPECT(n && peer);
	EXPECT(n->qdisc_drops > 0 && n->qdisc_drops <= DATAGRAMS);
	EXPECT(n->qdisc_overlimits > 0 && n->qdisc_overlimits != ND_UNKNOWN);
	EXPECT(n->qdisc_backlog_packets > 0 && n->qdisc_backlog_packets < DATAGRAMS);
	/* neighbour discovery may have sent packets of its own */
	EXPECT(n->qdisc_packets + n->qdisc_drops + n->qdisc_backlog_packets >= DATAGRAMS);
	EXPECT(n->tx_packets >= n->qdisc_packets);
	EXPECT(peer->rx_packets >= n->tx_packets);
	EXPECT(!nd_os_nic(&d, "eth0"));
	nd_os_sample_done(&then);
	nd_os_sample_done(&now);
	nd_os_sample_done(&d);
	return 0;
}

/* sysfs still shows the namespace that this process came from. */
static int check_facts(struct nd_os *os)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct nd_arena a = { 0 };
	struct nd_nic_facts f;
	char name[64];

	EXPECT(nd_os_nic_facts(os, "nd0", &a, &f) == 0);
	EXPECT(f.mtu_bytes == 1400);
	EXPECT(f.is_virtual && !f.is_loopback);
	EXPECT(f.qdisc && !strcmp(f.qdisc, "tbf"));
	EXPECT(!f.driver || !strcmp(f.driver, "veth"));
	EXPECT(f.tx_queues >= 1 && f.tx_queues < CPUS_MAX);
	EXPECT(f.mac && strlen(f.mac) == 17);
	EXPECT(inet_pton(AF_INET, "198.51.100.1", &at.sin_addr) == 1);
	EXPECT(nd_os_nic_for(&at, name, sizeof(name)) == 0 && !strcmp(name, "nd0"));
	nd_arena_done(&a);
	return 0;
}

static int in_namespace(void)
{
	struct nd_err err = { 0 };
	struct nd_os *os = NULL;
	int r;

	if (unshare(CLONE_NEWNET) < 0 || !make_network())
		return SKIP_STATUS;
	EXPECT(nd_os_open("", &os, &err) == 0);
	r = check_queue(os);
	if (r == 0)
		r = check_facts(os);
	nd_os_free(os);
	return r;
}

static void sees_a_queue_overflow(void **state)
{
	int status = 0;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0)
		_exit(in_namespace());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIP_STATUS) {
		print_message("needs root, ip and tc\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sees_our_work),
		cmocka_unit_test(agrees_with_the_files),
		cmocka_unit_test(knows_this_host),
		cmocka_unit_test(knows_each_interface),
		cmocka_unit_test(finds_the_interface_of),
		cmocka_unit_test(lists_allowed_cpus),
		cmocka_unit_test(counts_cycles_or_says_why_not),
		cmocka_unit_test(sees_a_queue_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
