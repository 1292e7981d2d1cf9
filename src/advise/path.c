/* SPDX-License-Identifier: MIT */
/*
 * The largest packet that crosses a path in one piece: echo requests that must not be fragmented, whatever the kernel
 * remembers of the path. A router that says why is believed only as far as a smaller packet then is answered.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "advise/int.h"

#define TRIES       2u
#define FIRST_NS    ND_NS_PER_S /* the first answer may need the neighbour's address */
#define LEAST_NS    (50 * ND_NS_PER_MS)
#define SMALL_BYTES 100u
#define LEAST_BYTES 576u /* IPv4's least that hosts take; IPv6: 1280 */
#define IPV6_BYTES  1280u
#define MOST_BYTES  65535u
#define ECHO_BYTES  8u /* header of an echo request */

struct prober {
	int fd;
	bool is_ipv6, is_raw;
	uint16_t id, number;
	uint64_t wait_ns;
	struct nd_path *path;
	char *packet; /* owned */
};

enum outcome { ANSWERED, TOLD, SILENT };

static size_t ip_header(const struct prober *p)
{
	return p->is_ipv6 ? 40 : 20;
}

static uint16_t checksum(const char *data, size_t n)
{
	uint32_t sum = 0;
	uint16_t word;
	size_t i;

	for (i = 0; i + 1 < n; i += 2) {
		memcpy(&word, data + i, sizeof(word));
		sum += word;
	}
	if (n % 2)
		sum += ntohs((uint16_t)((unsigned char)data[n - 1] << 8));
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* The same place of type, code, sum, id and number in both families; the kernel sums IPv6 up. */
static ssize_t send_echo(struct prober *p, size_t bytes)
{
	size_t n = bytes - ip_header(p);
	struct icmphdr h = { .type = p->is_ipv6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO };

	h.un.echo.id = htons(p->id);
	h.un.echo.sequence = htons(++p->number);
	memset(p->packet, 0, n);
	memcpy(p->packet, &h, sizeof(h));
	if (!p->is_ipv6) {
		h.checksum = checksum(p->packet, n);
		memcpy(p->packet, &h, sizeof(h));
	}
	return send(p->fd, p->packet, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool is_answer(const struct prober *p, const char *data, size_t n)
{
	struct icmphdr h;
	size_t skip = p->is_raw && !p->is_ipv6 && n > 0 ? (size_t)(data[0] & 0x0f) * 4 : 0;

	if (n < skip + sizeof(h))
		return false;
	memcpy(&h, data + skip, sizeof(h));
	return h.type == (p->is_ipv6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) &&
	       h.un.echo.sequence == htons(p->number) &&
	       (!p->is_raw || h.un.echo.id == htons(p->id));
}

/* @from: the address behind the error, aligned as it likes. */
static void name_router(struct prober *p, const unsigned char *from)
{
	struct nd_addr a = { 0 };
	sa_family_t family;

	memcpy(&family, from + offsetof(struct sockaddr, sa_family), sizeof(family));
	if (family != AF_INET && family != AF_INET6)
		return;
	a.len = family == AF_INET6 ? sizeof(a.u.in6) : sizeof(a.u.in);
	memcpy(&a.u, from, a.len);
	(void)nd_addr_text(&a, false, p->path->router,
			   sizeof(p->path->router)); /* cut if need be */
}

/* What routers said, or this host itself. */
static bool read_error(struct prober *p)
{
	char control[512], data[64];
	struct iovec part = { data, sizeof(data) };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct sock_extended_err e;
	struct cmsghdr *c;
	bool told = false;

	if (recvmsg(p->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (!(c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) &&
		    !(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (e.ee_errno != EMSGSIZE || !e.ee_info)
			continue;
		told = true;
		if (p->path->told_bytes == ND_UNKNOWN || e.ee_info < p->path->told_bytes) {
			p->path->told_bytes = e.ee_info;
			name_router(p, CMSG_DATA(c) + sizeof(e));
		}
	}
	return told;
}

static bool read_answer(struct prober *p)
{
	char data[256];
	ssize_t n = recv(p->fd, data, sizeof(data), MSG_DONTWAIT);

	return n > 0 && is_answer(p, data, (size_t)n);
}

static enum outcome await(struct prober *p, uint64_t sent_ns)
{
	struct pollfd poller = { .fd = p->fd, .events = POLLIN };
	uint64_t until = sent_ns + p->wait_ns, took;

	while (nd_now_ns() < until) {
		if (poll(&poller, 1, nd_ms_until(until)) <= 0)
			continue;
		if ((poller.revents & POLLERR) && read_error(p))
			return TOLD;
		if (!(poller.revents & POLLIN) || !read_answer(p))
			continue;
		took = nd_now_ns() - sent_ns;
		if (p->path->rtt_ns == ND_UNKNOWN || took < p->path->rtt_ns)
			p->path->rtt_ns = took;
		return ANSWERED;
	}
	return SILENT;
}

/* @bytes: of the whole packet. */
static enum outcome probe(struct prober *p, size_t bytes)
{
	enum outcome o = SILENT;
	unsigned i;

	for (i = 0; o == SILENT && i < TRIES; i++) {
		uint64_t now = nd_now_ns();

		if (send_echo(p, bytes) < 0 && errno == EMSGSIZE)
			o = read_error(p) ? TOLD : SILENT; /* more than the interface carries */
		else
			o = await(p, now);
	}
	if (o == ANSWERED && (p->path->passed_bytes == ND_UNKNOWN || bytes > p->path->passed_bytes))
		p->path->passed_bytes = bytes;
	return o;
}

/* Nobody said, or what was said is not so: the size is found by halves. */
static void search(struct prober *p, uint64_t too_big)
{
	uint64_t least = p->is_ipv6 ? IPV6_BYTES : LEAST_BYTES, middle;

	if (too_big <= least || probe(p, least) != ANSWERED)
		return;
	while (least + 1 < too_big) {
		middle = least + (too_big - least) / 2;
		if (probe(p, middle) == ANSWERED)
			least = middle;
		else
			too_big = middle;
	}
}

static void run(struct prober *p)
{
	uint64_t most = ND_MIN(p->path->asked_bytes, MOST_BYTES), told;
	unsigned hops;

	p->wait_ns = FIRST_NS;
	if (probe(p, SMALL_BYTES) != ANSWERED)
		return;
	p->path->answers_echo = true;
	p->wait_ns = LEAST_NS + 4 * p->path->rtt_ns;
	/* Each router on the way may know of a smaller one behind it. */
	for (hops = 0; hops < 8; hops++) {
		told = p->path->told_bytes;
		if (probe(p, ND_MIN(most, told)) == ANSWERED)
			return;
		if (p->path->told_bytes == told)
			break;
	}
	search(p, ND_MIN(most, p->path->told_bytes));
}

static int open_socket(struct prober *p, const struct nd_addr *to, struct nd_err *err)
{
	int family = to->u.sa.sa_family, on = 1, probe_always = IP_PMTUDISC_PROBE;
	int protocol = p->is_ipv6 ? (int)IPPROTO_ICMPV6 : (int)IPPROTO_ICMP;
	int level = p->is_ipv6 ? (int)IPPROTO_IPV6 : (int)IPPROTO_IP;
	nd_auto_fd int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, protocol);

	if (fd < 0) {
		fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, protocol);
		p->is_raw = true;
	}
	if (fd < 0)
		return nd_fail(err, -EPERM, "echo requests are not allowed to this user");
	if (setsockopt(fd, level, p->is_ipv6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &probe_always,
		       sizeof(probe_always)) < 0 ||
	    setsockopt(fd, level, p->is_ipv6 ? IPV6_RECVERR : IP_RECVERR, &on, sizeof(on)) < 0)
		return nd_sysfail(err, "an echo socket that does not fragment");
	if (connect(fd, &to->u.sa, to->len) < 0)
		return nd_sysfail(err, "connect an echo socket");
	p->fd = nd_take_fd(&fd);
	return 0;
}

int nd_path_probe(const struct nd_addr *to, uint64_t mtu_bytes, struct nd_path *ret,
		  struct nd_err *err)
{
	struct nd_path path = { .asked_bytes = mtu_bytes == ND_UNKNOWN ? 1500 : mtu_bytes,
				.passed_bytes = ND_UNKNOWN,
				.told_bytes = ND_UNKNOWN,
				.rtt_ns = ND_UNKNOWN };
	struct nd_addr peer = *to;
	struct prober p = { .fd = -1, .path = &path };
	int r;

	nd_addr_unmap(&peer);
	nd_addr_set_port(&peer, 0); /* a port means a protocol's number to raw sockets */
	p.is_ipv6 = peer.u.sa.sa_family == AF_INET6;
	p.id = (uint16_t)(getpid() ^ (int)(nd_now_ns() >> 10));
	p.packet = calloc(1, MOST_BYTES + 1);
	if (!p.packet)
		return nd_fail(err, -ENOMEM, "path: out of memory");
	r = open_socket(&p, &peer, err);
	if (r == 0) {
		run(&p);
		*ret = path;
	}
	nd_close_p(&p.fd);
	free(p.packet);
	return r;
}

enum nd_verdict nd_path_judge(const struct nd_path *p, struct nd_str *out)
{
	uint64_t most = ND_MIN(p->asked_bytes, MOST_BYTES);

	if (!p->answers_echo) {
		nd_str_add(out, "the host answers no echo request, so the size cannot be probed");
		return ND_VERDICT_UNKNOWN;
	}
	if (p->passed_bytes != ND_UNKNOWN && p->passed_bytes >= most) {
		nd_str_addf(out,
			    "packets of %llu bytes cross in one piece, as large as the "
			    "interface sends them",
			    (unsigned long long)most);
		return ND_VERDICT_FINE;
	}
	if (p->passed_bytes == ND_UNKNOWN || p->passed_bytes <= SMALL_BYTES)
		nd_str_addf(out,
			    "packets of %llu bytes do not cross in one piece, nor do those of %u",
			    (unsigned long long)most, LEAST_BYTES);
	else
		nd_str_addf(out,
			    "packets of %llu bytes cross in one piece, those of %llu do not; the "
			    "interface sends up to %llu",
			    (unsigned long long)p->passed_bytes,
			    (unsigned long long)p->passed_bytes + 1, (unsigned long long)most);
	if (p->told_bytes != ND_UNKNOWN && p->router[0])
		nd_str_addf(out, "; %s says %llu", p->router, (unsigned long long)p->told_bytes);
	else
		nd_str_add(out, "; nobody on the way says so: larger ones vanish");
	return ND_VERDICT_WARN;
}
