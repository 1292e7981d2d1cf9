/* SPDX-License-Identifier: MIT */
/* What the ways to send and to receive datagrams share. */
#ifndef ND_ENGINE_DATAGRAM_H
#define ND_ENGINE_DATAGRAM_H

#include <sys/socket.h>

#include "engine/int.h"

/* What the kernel tells beside a datagram, or beside a piece of several. */
union nd_dg_control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(int))];
};

struct nd_dg_told {
	uint64_t stamp_ns; /* arrival, wall clock; 0: not told */
	size_t segment;    /* bytes of one datagram of several; 0: it is one */
};

void nd_dg_told(struct msghdr *m, struct nd_dg_told *ret);
/** nd_dg_want() - room for that in @n messages: the kernel shortens it in each call. */
void nd_dg_want(struct mmsghdr *header, union nd_dg_control *control, uint32_t n);

/** nd_dg_stamp() - arrival times for frames that hold a send time: of all flows of the lane or of none. */
bool nd_dg_stamp(const struct nd_io *io, unsigned lane);
/** nd_dg_key() - who a datagram came from, as senders are told apart. */
void nd_dg_key(const struct sockaddr_storage *from, uint8_t ret[ND_SENDER_KEY]);
/** nd_dg_join() - what its socket has dropped before the run is not the run's; arrival times as of the others. */
void nd_dg_join(struct nd_io *io, struct nd_flow *f);
void nd_dg_join_all(struct nd_io *io, unsigned lane);
/** nd_dg_drops() - what the sockets of the lane had no room for, into rx_dropped; ND_UNKNOWN: not told. */
void nd_dg_drops(struct nd_io *io, unsigned lane);
/** nd_dg_recv() - recvmmsg() into @n messages; answers to our own datagrams (port unreachable and the like)
 * end nothing: read on behind them. Return: messages, negative errno; reads the clock. */
int nd_dg_recv(struct nd_io *io, struct nd_flow *f, struct mmsghdr *header, uint32_t n, int flags);
/** nd_dg_sent() - a call to send @n messages of @bytes each has ended with @r, as sendmmsg(), or a negative errno: what
 * was not sent is taken back from the frame, the rest is counted. Return: as nd_xfer.move. */
int nd_dg_sent(struct nd_io *io, struct nd_flow *f, int r, uint32_t n, size_t bytes);
/** nd_dg_out(), nd_dg_in() - where the plain ways send one datagram from, and receive one to: at most *ret_size bytes.
 * NULL: nowhere. */
uint8_t *nd_dg_out(const struct nd_io *io, unsigned lane, size_t *ret_size);
uint8_t *nd_dg_in(const struct nd_io *io, unsigned lane, size_t *ret_size);
/** nd_dg_echo() - nd_xfer_datagram_echo's flow waits inside its calls: datagrams that come alone go back, one behind the
 * other. Return: 1, @until_ns has passed; 0: they come several at a time, see move() and answer(); a negative errno, as
 * move(). io->now_ns is when the last one came, *ret_from_ns when that before it did. */
int nd_dg_echo(struct nd_io *io, struct nd_flow *f, uint64_t until_ns, uint64_t *ret_from_ns);
/** nd_dg_not_sent() - what move() answers when a call with @n datagrams was refused with @code. */
int nd_dg_not_sent(struct nd_io *io, struct nd_flow *f, int code, uint32_t n);

#endif
