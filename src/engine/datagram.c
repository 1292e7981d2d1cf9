/* SPDX-License-Identifier: MIT */
/* What the ways to send and to receive datagrams share: control messages, drop counters, refusals. */
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <string.h>

#include "engine/call.h"
#include "engine/datagram.h"

#ifndef UDP_GRO
#	define UDP_GRO 104
#endif

#define STAMPED_BYTES 16u /* shorter messages hold no send time */

void nd_dg_told(struct msghdr *m, struct nd_dg_told *ret)
{
	struct timespec t = { 0 };
	int segment = 0;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&t, CMSG_DATA(c), sizeof(t));
		else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO)
			memcpy(&segment, CMSG_DATA(c), sizeof(segment));
	}
	ret->stamp_ns = (uint64_t)t.tv_sec * ND_NS_PER_S + (uint64_t)t.tv_nsec;
	ret->segment = segment > 0 ? (size_t)segment : 0;
}

void nd_dg_want(struct mmsghdr *header, union nd_dg_control *control, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		header[i].msg_hdr.msg_control = &control[i];
		header[i].msg_hdr.msg_controllen = sizeof(control[i]);
	}
}

static bool wants_stamps(const struct nd_lane *l)
{
	return l->frame->takes && !l->load->round_trips && nd_lane_message(l) >= STAMPED_BYTES;
}

static bool stamp(const struct nd_flow *f)
{
	const int on = 1;

	return f->active || setsockopt(f->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) == 0;
}

bool nd_dg_stamp(const struct nd_io *io, unsigned lane)
{
	uint32_t i;

	if (!wants_stamps(&io->lanes[lane]))
		return false;
	for (i = 0; i < io->flow_count; i++)
		if (io->flows[i].workload == lane && !stamp(&io->flows[i]))
			return false;
	return true;
}

/* ---- drops: the socket counts them itself, at no cost per datagram */

static bool reads(const struct nd_io *io, const struct nd_flow *f)
{
	return f->half == 0 && (!f->active || nd_lane_of(io, f)->load->round_trips);
}

static bool dropped(const struct nd_flow *f, uint32_t *ret)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(f->fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0 ||
	    len <= SK_MEMINFO_DROPS * sizeof(info[0]))
		return false; /* before Linux 4.12 */
	*ret = info[SK_MEMINFO_DROPS];
	return true;
}

void nd_dg_join(struct nd_io *io, struct nd_flow *f)
{
	if (wants_stamps(nd_lane_of(io, f)))
		(void)stamp(f); /* a socket that can do so, as those before it */
	if (reads(io, f))
		f->drops_known = dropped(f, &f->drops_before);
}

void nd_dg_join_all(struct nd_io *io, unsigned lane)
{
	uint32_t i;

	for (i = 0; i < io->flow_count; i++)
		if (io->flows[i].workload == lane)
			io->lanes[lane].rx->join(io, &io->flows[i]);
}

void nd_dg_drops(struct nd_io *io, unsigned lane)
{
	uint32_t i, now;

	for (i = 0; i < io->flow_count; i++) {
		struct nd_flow *f = &io->flows[i];

		if (f->workload != lane || !reads(io, f))
			continue;
		if (f->drops_known && dropped(f, &now))
			ND_COUNT_FLOW(io, f, rx_dropped, now - f->drops_before);
		else
			f->drops_known = false;
	}
}

/* ---- calls */

/* One alone costs less without the headers of many. */
static int call_recv(int fd, struct mmsghdr *header, uint32_t n, int flags)
{
	struct msghdr *m = &header->msg_hdr;
	ssize_t r;

	if (n > 1 || m->msg_control)
		return recvmmsg(fd, header, n, flags, NULL);
	r = nd_call_recvfrom(fd, m->msg_iov, flags & ~MSG_WAITFORONE, m->msg_name, &m->msg_namelen);
	header->msg_len = r < 0 ? 0 : (unsigned)r;
	return r < 0 ? -1 : 1;
}

int nd_dg_recv(struct nd_io *io, struct nd_flow *f, struct mmsghdr *header, uint32_t n, int flags)
{
	int r;

	do {
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		r = call_recv(f->fd, header, n,
			      flags | (io->recv_waits ? MSG_WAITFORONE : MSG_DONTWAIT));
	} while (r < 0 &&
		 (nd_call_again(io->recv_waits) || (errno != ENOMEM && nd_is_refusal(errno))));
	if (r < 0)
		r = -errno;
	nd_io_tried(io, r >= 0);
	if (r < 0)
		f->readable = r != -EAGAIN;
	return r;
}

void nd_dg_key(const struct sockaddr_storage *from, uint8_t ret[ND_SENDER_KEY])
{
	const struct sockaddr_in *v4 = (const void *)from;
	const struct sockaddr_in6 *v6 = (const void *)from;
	bool is_v6 = from->ss_family == AF_INET6;

	memset(ret, 0, ND_SENDER_KEY);
	if (is_v6)
		memcpy(ret, &v6->sin6_addr, sizeof(v6->sin6_addr));
	else
		memcpy(ret, &v4->sin_addr, sizeof(v4->sin_addr));
	ret[18] = is_v6;
	memcpy(ret + 16, is_v6 ? &v6->sin6_port : &v4->sin_port, sizeof(in_port_t));
}

int nd_dg_not_sent(struct nd_io *io, struct nd_flow *f, int code, uint32_t n)
{
	if (code == -EAGAIN) {
		f->writable = false;
		ND_COUNT_FLOW(io, f, tx_blocked, 1);
		return -EAGAIN;
	}
	if (!nd_is_refusal(-code))
		return code;
	ND_COUNT_FLOW(io, f, tx_refused, n);
	f->done_count += n; /* offered once, not again */
	return (int)n;
}
