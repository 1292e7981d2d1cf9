/* SPDX-License-Identifier: MIT */
/* Shared inside net/: the transports' common socket options. */
#ifndef ND_NET_INT_H
#define ND_NET_INT_H

#include "net/net.h"

#define X(name) extern const struct nd_transport nd_transport_##name;
#include "net/transports.def"
#undef X

/** nd_sock_set() - an option that is an int. 0 or negative errno, nothing said. */
int nd_sock_set(int fd, int level, int option, int value);
/** nd_sock_get() - the value, negative errno. */
int nd_sock_get(int fd, int level, int option);
/** nd_sock_common() - buffers and DSCP, for every protocol.
 * @rcvbuf_default: asked for when @o asks for nothing, taken as far as the system allows; 0: leave. */
ND_MUST_CHECK int nd_sock_common(int fd, int family, const struct nd_sockopts *o,
				 uint64_t rcvbuf_default, struct nd_err *err);
/** nd_tcp_prepare() - what tcp and mptcp have in common. */
ND_MUST_CHECK int nd_tcp_prepare(int fd, int family, const struct nd_sockopts *o,
				 struct nd_err *err);
/** nd_addr_unmap() - an IPv4 address written as IPv6 becomes IPv4; others stay. */
void nd_addr_unmap(struct nd_addr *a);

#endif
