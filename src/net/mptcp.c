/* SPDX-License-Identifier: MIT */
/*
 * Multipath TCP. TCP_INFO would answer for the first subflow alone, so it is not offered.
 */
#include <sys/socket.h>

#include "net/int.h"

#define PROTOCOL_MPTCP 262 /* newer than some C libraries */

const struct nd_transport nd_transport_mptcp = {
	.name = "mptcp",
	.help = "multipath TCP",
	.caps = ND_NET_STREAM,
	.sock_type = SOCK_STREAM,
	.protocol = PROTOCOL_MPTCP,
	.prepare = nd_tcp_prepare,
	.header_bytes = 20,
};
