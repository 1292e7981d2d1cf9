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
/** nd_listener_set() - options of a socket that is to listen, as far as the kernel has them. */
void nd_listener_set(int fd, const struct nd_sockopts *o);
/** nd_tcp_prepare() - what tcp and mptcp have in common. */
ND_MUST_CHECK int nd_tcp_prepare(int fd, int family, const struct nd_sockopts *o,
				 struct nd_err *err);

/** nd_mptcp_subflow() - the first subflow's struct tcp_info into @info. Return: its bytes, at most @room;
 * -EOPNOTSUPP, -ENOPROTOOPT: no such socket, or the kernel cannot. */
ND_MUST_CHECK int nd_mptcp_subflow(int fd, uint8_t *info, size_t room);

#endif
