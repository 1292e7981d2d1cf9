/* SPDX-License-Identifier: MIT */
/*
 * How endpoints come to be. One file per transport.
 * To add a transport: src/net/x.c with a const struct nd_transport, one row in transports.def.
 */
#ifndef ND_NET_NET_H
#define ND_NET_NET_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/field.h"
#include "plan/plan.h"

enum nd_net_caps {
	ND_NET_STREAM = 1 << 0,   /* bytes in order, EOF */
	ND_NET_DATAGRAM = 1 << 1, /* messages kept apart, may be lost */
	ND_NET_TCP_INFO = 1 << 2, /* nd_tcp_sample() answers */
};

struct nd_addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage ss;
	} u;

	socklen_t len;
};

struct nd_transport {
	const char *name, *help;
	unsigned caps;
	int sock_type, protocol;
	/* Set what must stand before connect/listen (sndbuf, mss, cc, dscp, df ...). */
	int (*prepare)(int fd, int family, const struct nd_sockopts *o, struct nd_err *err);
	size_t header_bytes; /* transport header without options, for MTU arithmetic */
};

const struct nd_transport *nd_transport_at(size_t n); /* registry order, NULL behind the last */
const struct nd_transport *nd_transport_find(const char *name);
const char *nd_transport_names(size_t n, const char **ret_help);

/* Addresses. */
/**
 * nd_addr_resolve() - addresses of a host, all with one port. Main thread; may block in the resolver.
 * @host: a name or an address, brackets allowed; @passive: NULL, "" and "*" too, for all addresses of this machine.
 * @port: 0..65535. @ret: at most @room (1 or more) of them, in the resolver's order; @ret_n: how many, at least 1.
 * Return: 0, or negative errno with a sentence that names the host.
 */
ND_MUST_CHECK int nd_addr_resolve(const char *host, uint64_t port, enum nd_af af, bool passive,
				  struct nd_addr *ret, size_t room, size_t *ret_n,
				  struct nd_err *err);
void nd_addr_set_port(struct nd_addr *a, uint16_t port);
uint16_t nd_addr_port(const struct nd_addr *a);
bool nd_addr_equal(const struct nd_addr *a, const struct nd_addr *b); /* address and port */
/** nd_addr_text() - "192.0.2.1:7575", "[2001:db8::1]:7575"; v4-mapped addresses as IPv4. */
const char *nd_addr_text(const struct nd_addr *a, bool with_port, char *buf, size_t size);
bool nd_addr_any(const struct nd_addr *a);
/** nd_addr_unmap() - an IPv4 address written as IPv6 becomes IPv4; others stay. */
void nd_addr_unmap(struct nd_addr *a);

struct nd_cidr {
	uint8_t bytes[16]; /* IPv4 as mapped */
	unsigned bits;
};

/** nd_cidr_parse() - "192.0.2.0/24", "2001:db8::/32", or one address; bits behind the prefix are cleared. -EINVAL. */
ND_MUST_CHECK int nd_cidr_parse(const char *text, struct nd_cidr *ret, struct nd_err *err);
bool nd_cidr_holds(const struct nd_cidr *c, const struct nd_addr *a);

/** nd_listen() - bound, listening (stream) or bound (datagram, with packet info), non-blocking. IPv6
 * wildcard is dual-stack unless @v6only. Datagrams: other sockets may share the port. */
ND_MUST_CHECK int nd_listen(const struct nd_transport *t, const struct nd_addr *at, bool v6only,
			    int *ret_fd, struct nd_err *err);
/** nd_listen_queue() - connections that may wait at a listener until they are accepted. 0: not known. */
uint64_t nd_listen_queue(void);
/** nd_listen_alone() - the same, and -EADDRINUSE where another socket has the port already. */
ND_MUST_CHECK int nd_listen_alone(const struct nd_transport *t, const struct nd_addr *at,
				  bool v6only, int *ret_fd, struct nd_err *err);

bool nd_is_multicast(const struct nd_addr *a);
/** nd_multicast_set() - how @fd sends to groups; join @group, if @joins. */
ND_MUST_CHECK int nd_multicast_set(int fd, const struct nd_addr *group,
				   const struct nd_multicast *m, bool joins, struct nd_err *err);

/** nd_bound() - non-blocking, prepared, bound to @at, which others' sockets may share, and @listens or not. */
ND_MUST_CHECK int nd_bound(const struct nd_transport *t, const struct nd_sockopts *o,
			   const struct nd_addr *at, bool listens, int *ret_fd, struct nd_err *err);

/* Sockets that listen at one address, and the CPUs whose connections they get. */
struct nd_listen_group {
	uint32_t n;
	int fd[256];
	uint32_t cpu[256];
};

/** nd_listen_group() - make .fd from 1 up to .n beside .fd[0], which listens: what comes in on .cpu[i] goes to the i-th, and
 * from other CPUs to any. A failure leaves .fd[0] alone, as it was. */
ND_MUST_CHECK int nd_listen_group(const struct nd_transport *t, const struct nd_sockopts *o,
				  struct nd_listen_group *g, struct nd_err *err);
/** nd_listens_apart() - does the socket share its port, but not its queue? */
bool nd_listens_apart(int fd);

/** nd_open() - a socket that does not block (but for .blocks of @o), prepared, bound to @from (port 0: chosen at
 * connect; NULL: none) or to device @dev, connect started. Return: 0 connected, 1 under way (poll for writing, then
 * nd_open_result()), negative errno. Any thread. */
int nd_open(const struct nd_transport *t, const struct nd_sockopts *o, const struct nd_addr *to,
	    const struct nd_addr *from, const char *dev, int *ret_fd, struct nd_err *err);
/** nd_accepted() - the same settings for a connection that came to a listener. */
ND_MUST_CHECK int nd_accepted(const struct nd_transport *t, const struct nd_sockopts *o, int fd,
			      struct nd_err *err);
/** nd_open_result() - 0 connected, negative errno why not. */
ND_MUST_CHECK int nd_open_result(int fd);
/** nd_datagram_peer() - server side: a socket on @local (address the peer used, our port) connected to
 * @peer, sharing the port with the listener. Non-blocking. */
ND_MUST_CHECK int nd_datagram_peer(const struct nd_transport *t, const struct nd_sockopts *o,
				   const struct nd_addr *local, const struct nd_addr *peer,
				   int *ret_fd, struct nd_err *err);
/** nd_recv_to() - recvmsg that also tells the local address the datagram came to. Bytes or -errno. */
ssize_t nd_recv_to(int fd, void *buf, size_t size, struct nd_addr *ret_peer,
		   struct nd_addr *ret_local);

/* What is really in force on a connected socket, for reports. */
struct nd_net_facts {
	const char *cc; /* arena of the caller */
	uint64_t sndbuf_bytes, rcvbuf_bytes, mss_bytes, path_mtu_bytes;
	bool nodelay;
};

ND_MUST_CHECK int nd_net_facts(int fd, const struct nd_transport *t, struct nd_arena *a,
			       struct nd_net_facts *ret);
/** nd_path_datagram() - largest UDP payload that crosses to @to unfragmented, by the kernel's path MTU. */
ND_MUST_CHECK int nd_path_datagram(const struct nd_addr *to, const struct nd_addr *from,
				   const char *dev, uint64_t *ret, struct nd_err *err);
/** nd_pacing_rate() - SO_MAX_PACING_RATE, bytes/s; enforced by TCP itself and by fq. */
ND_MUST_CHECK int nd_pacing_rate(int fd, uint64_t bytes_per_s);

/** nd_busy_poll() - the kernel polls the device queue for so long before it waits (SO_BUSY_POLL), and keeps
 * its interrupts off where that is known (SO_PREFER_BUSY_POLL). */
ND_MUST_CHECK int nd_busy_poll(int fd, uint64_t us, struct nd_err *err);

/* tcp_info, our own view: the kernel may know more or fewer fields than the headers. Of multipath TCP
 * that of the first subflow. */
struct nd_tcp_sample {
	uint64_t rtt_us, rttvar_us, min_rtt_us, cwnd_segments, mss_bytes,
		retransmits; /* ND_UNKNOWN: not told */
	uint64_t rwnd_limited_us, sndbuf_limited_us, busy_us, delivery_rate_Bps, bytes_retrans;
	uint64_t unacked_segments, reordering_seen, bytes_acked;
	uint64_t rto_us, ato_us, pmtu_bytes, rcv_ssthresh, snd_ssthresh, reordering;
};

ND_MUST_CHECK int nd_tcp_sample(int fd, struct nd_tcp_sample *ret); /* -errno; owner thread */

/** nd_fd_limit() - raise RLIMIT_NOFILE to the hard limit and tell it. */
uint64_t nd_fd_limit(void);

#endif
