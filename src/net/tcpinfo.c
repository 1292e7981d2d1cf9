/* SPDX-License-Identifier: MIT */
/*
 * tcp_info by offset: what a kernel tells grows from version to version at the end, so each member is
 * used only when the returned length covers it. The C library's struct may be older than the kernel.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "net/int.h"

#define INFO_ROOM   512 /* 248 in Linux 6.12 */
#define RTT_UNKNOWN UINT32_MAX

struct member {
	uint32_t offset; /* in the kernel's struct tcp_info */
	uint32_t bytes;
	uint32_t to; /* in struct nd_tcp_sample */
};

/* clang-format off */
#define ROW(at, width, name) { (at), (width), (uint32_t)offsetof(struct nd_tcp_sample, name) }
static const struct member members[] = {
	ROW(8, 4, rto_us),
	ROW(12, 4, ato_us),
	ROW(16, 4, mss_bytes),           /* snd_mss */
	ROW(24, 4, unacked_segments),    /* unacked */
	ROW(60, 4, pmtu_bytes),
	ROW(64, 4, rcv_ssthresh),
	ROW(68, 4, rtt_us),              /* rtt, smoothed */
	ROW(72, 4, rttvar_us),
	ROW(76, 4, snd_ssthresh),
	ROW(80, 4, cwnd_segments),       /* snd_cwnd */
	ROW(88, 4, reordering),
	ROW(100, 4, retransmits),        /* total_retrans */
	ROW(120, 8, bytes_acked),
	ROW(148, 4, min_rtt_us),
	ROW(160, 8, delivery_rate_Bps),
	ROW(168, 8, busy_us),            /* busy_time */
	ROW(176, 8, rwnd_limited_us),
	ROW(184, 8, sndbuf_limited_us),
	ROW(208, 8, bytes_retrans),
	ROW(220, 4, reordering_seen),    /* reord_seen */
};

/* clang-format on */

static void read_members(const uint8_t *info, size_t len, struct nd_tcp_sample *ret)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(members); i++) {
		const struct member *m = &members[i];
		uint64_t wide = ND_UNKNOWN;
		uint32_t narrow;

		if ((size_t)m->offset + m->bytes <= len) {
			if (m->bytes == sizeof(narrow)) {
				memcpy(&narrow, info + m->offset, sizeof(narrow));
				wide = narrow;
			} else {
				memcpy(&wide, info + m->offset, sizeof(wide));
			}
		}
		memcpy((char *)ret + m->to, &wide, sizeof(wide));
	}
}

/* Multipath TCP has its own option; what fell back to TCP, and newer kernels, answer to TCP's. */
static int read_info(int fd, uint8_t *info)
{
	socklen_t len = INFO_ROOM;
	int r, code;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len) == 0)
		return (int)len;
	code = -errno;
	r = code == -EOPNOTSUPP || code == -ENOPROTOOPT ? nd_mptcp_subflow(fd, info, INFO_ROOM)
							: code;
	return r == -EOPNOTSUPP || r == -ENOPROTOOPT ? code : r;
}

int nd_tcp_sample(int fd, struct nd_tcp_sample *ret)
{
	uint8_t info[INFO_ROOM] = { 0 };
	int len = read_info(fd, info);

	if (len < 0)
		return len;
	read_members(info, (size_t)len, ret);
	if (ret->min_rtt_us == RTT_UNKNOWN) /* no round trip was measured yet */
		ret->min_rtt_us = ND_UNKNOWN;
	return 0;
}
