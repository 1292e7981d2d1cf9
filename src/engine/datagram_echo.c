/* SPDX-License-Identifier: MIT */
/*
 * Receive datagrams, let the frame turn what came into its answer, and send that back. The addresses of the batch are
 * kept, so that a socket without a peer of its own serves as many as come.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "engine/call.h"
#include "engine/datagram.h"

enum { BATCH = 64, SINGLES = 1023 };

#define FULL_NS (10 * ND_NS_PER_MS) /* longest wait for a socket that is full */

/* A datagram that comes alone: what is looked at for it lies together. */
struct alone {
	struct iovec v; /* what came, and then what goes back of it */
	socklen_t len;  /* of its sender's address; 0: it has none */
	struct sockaddr_storage from;
	uint8_t key[1][ND_SENDER_KEY];
};

/* Of datagrams that came alone, one behind the other: not counted yet. */
struct alone_counts {
	uint64_t rx_calls, rx, rx_messages, rx_bytes;
	uint64_t tx_calls, tx, tx_bytes, refused;
};

struct datagram_echo {
	struct alone alone;
	struct mmsghdr header[BATCH];
	struct iovec iov[BATCH], back[BATCH];
	struct sockaddr_storage from[BATCH];
	struct mmsghdr answer[BATCH];
	uint8_t *room; /* owned */
	size_t slot;
	uint32_t batch;
	struct nd_senders *senders;        /* owned */
	uint8_t key[BATCH][ND_SENDER_KEY]; /* of who sent what was read last */
	struct nd_addr
		*groups; /* owned: by flow, .len 0: none, which hears the answers; NULL: all */
	uint32_t n;      /* of .answer: to be sent back */
	uint32_t used;   /* headers that the kernel has written to */
	uint32_t most;   /* to ask for in a call that may wait */
	uint32_t singles,
		pause; /* calls for one before two are asked for; how many those were last */
};

/* Whose numbers were looked at is a part of what the run came to. */
static void keep_senders(const struct nd_io *io, unsigned lane, struct datagram_echo *d)
{
	for (uint32_t i = 0; io->flows && io->lanes[lane].workload->gaps && i < io->flow_count; i++)
		if (io->flows[i].workload == lane && io->flows[i].rx.samples && d->senders) {
			nd_samples_keep_senders(io->flows[i].rx.samples, d->senders);
			d->senders = NULL;
		}
}

static void close_datagrams(struct nd_io *io, unsigned lane)
{
	struct datagram_echo *d = io->rx_state[lane];

	if (!d)
		return;
	nd_dg_drops(io, lane);
	keep_senders(io, lane, d);
	free(d->room);
	free(d->groups);
	nd_senders_free(d->senders);
	nd_free_p(&io->rx_state[lane]);
}

static int open_datagrams(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	const struct nd_lane *l = &io->lanes[lane];
	struct datagram_echo *d = calloc(1, sizeof(*d));

	io->rx_state[lane] = d;
	if (!d)
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	d->slot = nd_datagram_slot(l);
	d->batch = nd_datagram_batch(l, BATCH);
	d->room = nd_buffer_new(d->batch * d->slot);
	if (io->plan->sock.multicast.wanted && !io->plan->sock.multicast.answers_sender)
		d->groups = calloc(nd_io_room(io), sizeof(*d->groups));
	d->senders = nd_senders_new();
	if (!d->room || !d->senders ||
	    (io->plan->sock.multicast.wanted && !d->groups &&
	     !io->plan->sock.multicast.answers_sender))
		return nd_fail(err, -ENOMEM, "no memory for datagrams");
	d->used = d->batch;
	d->most = 1;
	nd_dg_join_all(io, lane);
	return 0;
}

/* A socket that is bound to a group answers to it. */
static void join_datagrams(struct nd_io *io, struct nd_flow *f)
{
	struct datagram_echo *d = io->rx_state[f->workload];
	struct nd_addr at = { .len = sizeof(at.u) };

	nd_dg_join(io, f);
	if (d->groups && getsockname(f->fd, &at.u.sa, &at.len) == 0 && nd_is_multicast(&at))
		d->groups[f - io->flows] = at;
}

/* To the group, and the sender's port of it. */
static void aim_at_group(const struct nd_addr *group, struct sockaddr_storage *to)
{
	struct nd_addr at = *group, from = { .u.ss = *to };

	nd_addr_set_port(&at, nd_addr_port(&from));
	if (at.u.sa.sa_family == AF_INET6)
		at.u.in6.sin6_scope_id = from.u.in6.sin6_scope_id;
	*to = at.u.ss;
}

static void point(struct datagram_echo *d)
{
	for (uint32_t i = 0; i < d->used; i++) {
		d->iov[i] = (struct iovec){ d->room + i * d->slot, d->slot };
		d->header[i].msg_hdr = (struct msghdr){ .msg_name = &d->from[i],
							.msg_namelen = sizeof(d->from[i]),
							.msg_iov = &d->iov[i],
							.msg_iovlen = 1 };
	}
	d->used = 0;
}

/* Who waits for one asks for no more: that costs, unless more have come. Whether they have is tried again and again,
 * less and less often. */
static uint32_t wants(const struct nd_io *io, const struct nd_flow *f,
		      const struct datagram_echo *d)
{
	uint32_t most = ND_MIN(nd_step_count(&f->step), d->batch);

	return io->recv_waits ? ND_MIN(most, d->most) : most;
}

static void learn(struct datagram_echo *d, uint32_t got, uint32_t wanted)
{
	if (got < wanted) {
		d->most = 1;
		d->pause = ND_MIN(2 * d->pause + 1, (uint32_t)SINGLES);
		d->singles = d->pause;
	} else if (wanted > 1) {
		d->most = 2 * wanted;
		d->pause = 0;
	} else if (d->singles > 0) {
		d->singles--;
	} else {
		d->most = 2;
	}
}

/* Those that the frame left some bytes of go back. */
static void keep_answers(struct datagram_echo *d, const struct nd_addr *group, uint32_t n)
{
	d->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct msghdr *m;

		if (d->back[i].iov_len == 0 || d->header[i].msg_hdr.msg_namelen == 0)
			continue;
		m = &d->answer[d->n++].msg_hdr;
		*m = d->header[i].msg_hdr;
		m->msg_iov = &d->back[i];
		m->msg_flags = 0;
		if (group && group->len > 0)
			aim_at_group(group, &d->from[i]);
	}
}

static int recv_datagrams(struct nd_io *io, struct nd_flow *f)
{
	struct datagram_echo *d = io->rx_state[f->workload];
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	uint32_t want = wants(io, f, d), n;
	struct nd_batch b = { .iov = d->back, .key = (const uint8_t(*)[ND_SENDER_KEY])d->key };
	uint64_t bytes = 0;
	int r;

	point(d);
	r = nd_dg_recv(io, f, d->header, want, 0);
	if (r <= 0)
		return r;
	d->used = (uint32_t)r;
	learn(d, d->used, want);
	b.now_ns = io->now_ns;
	b.n = n = (uint32_t)r;
	for (uint32_t i = 0; i < b.n; i++) {
		d->back[i] = (struct iovec){ d->iov[i].iov_base, d->header[i].msg_len };
		bytes += d->header[i].msg_len;
	}
	if (frame->turn) {
		for (uint32_t i = 0; i < b.n; i++)
			nd_dg_key(&d->from[i], d->key[i]);
		f->rx.senders = d->senders;
		n = frame->turn(&f->rx, &b, &f->c, &io->c[f->workload]);
	}
	keep_answers(d, d->groups ? &d->groups[f - io->flows] : NULL, b.n);
	ND_COUNT_FLOW(io, f, rx_messages, n);
	ND_COUNT_FLOW(io, f, rx_bytes, bytes);
	ND_COUNT_FLOW(io, f, rx_stacked, b.n);
	if (b.n < want && !io->recv_waits)
		f->readable = false;
	return r;
}

/* False: it takes nothing, for a good while. The guard of calls that wait is no reason to wait for less. */
static bool wait_for_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	const uint64_t until_ns = nd_now_ns() + FULL_NS;
	struct timespec left;
	int r;

	do {
		left = nd_timespec(nd_now_ns(), until_ns);
		r = ppoll(&p, 1, &left, NULL);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

/* Return: as sendmmsg(). */
static int send_answers(int fd, struct mmsghdr *m, uint32_t n)
{
	const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
	ssize_t r;

	if (n > 1)
		return sendmmsg(fd, m, n, flags);
	r = nd_call_sendto(fd, m->msg_hdr.msg_iov, flags, m->msg_hdr.msg_name,
			   m->msg_hdr.msg_namelen);
	m->msg_len = r < 0 ? 0 : (unsigned)r;
	return r < 0 ? -1 : 1;
}

/* A call to send has failed with @code. Is it to be made again? */
static bool is_to_be_sent(int fd, int code)
{
	return code == EINTR || (code == EAGAIN && wait_for_room(fd));
}

static int answer_datagrams(struct nd_io *io, struct nd_flow *f)
{
	struct datagram_echo *d = io->rx_state[f->workload];
	uint32_t at = 0;

	while (at < d->n) {
		int r = send_answers(f->fd, d->answer + at, d->n - at);
		int code = r < 0 ? errno : 0;

		ND_COUNT_FLOW(io, f, tx_calls, 1);
		for (int i = 0; i < r; i++)
			ND_COUNT_FLOW(io, f, tx_bytes, d->answer[at + (uint32_t)i].msg_len);
		ND_COUNT_FLOW(io, f, tx_messages, r > 0 ? (uint64_t)r : 0);
		at += r > 0 ? (uint32_t)r : 0;
		if (r > 0 || is_to_be_sent(f->fd, code))
			continue;
		ND_COUNT_FLOW(io, f, tx_refused, 1); /* one peer's trouble is not the others' */
		at++;
	}
	d->n = 0;
	nd_io_sent(io);
	return 1;
}

/* ---- one that comes alone, and the next */

static void count_alone(struct nd_io *io, struct nd_flow *f, const struct alone_counts *n)
{
	ND_COUNT_FLOW(io, f, rx_calls, n->rx_calls);
	ND_COUNT_FLOW(io, f, rx_messages, n->rx_messages);
	ND_COUNT_FLOW(io, f, rx_bytes, n->rx_bytes);
	ND_COUNT_FLOW(io, f, rx_stacked, n->rx);
	ND_COUNT_FLOW(io, f, tx_calls, n->tx_calls);
	ND_COUNT_FLOW(io, f, tx_messages, n->tx);
	ND_COUNT_FLOW(io, f, tx_bytes, n->tx_bytes);
	ND_COUNT_FLOW(io, f, tx_refused, n->refused);
}

/* Return: 0, read on; a negative errno. */
static int heard_nothing(struct nd_flow *f, int code)
{
	if (code != ENOMEM && nd_is_refusal(code))
		return 0; /* of an answer that went before */
	if (code == EINTR)
		code = EAGAIN; /* the guard */
	f->readable = code != EAGAIN;
	return -code;
}

static inline void answer_alone(const struct nd_flow *f, const struct alone *a,
				struct alone_counts *n)
{
	ssize_t r;

	do {
		r = nd_call_sendto(f->fd, &a->v, MSG_NOSIGNAL | MSG_DONTWAIT,
				   (const struct sockaddr *)&a->from, a->len);
		n->tx_calls++;
	} while (r < 0 && is_to_be_sent(f->fd, errno));
	if (r < 0) {
		n->refused++;
		return;
	}
	n->tx++;
	n->tx_bytes += (uint64_t)r;
}

static inline void turn_alone(struct nd_io *io, struct nd_flow *f, struct alone *a,
			      struct alone_counts *n)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	struct nd_batch b = { .iov = &a->v,
			      .n = 1,
			      .now_ns = io->now_ns,
			      .key = (const uint8_t(*)[ND_SENDER_KEY])a->key };

	n->rx++;
	n->rx_bytes += a->v.iov_len;
	if (!frame->turn) {
		n->rx_messages++;
		return;
	}
	nd_dg_key(&a->from, a->key[0]);
	n->rx_messages += frame->turn(&f->rx, &b, &f->c, &io->c[f->workload]);
}

int nd_dg_echo(struct nd_io *io, struct nd_flow *f, uint64_t until_ns, uint64_t *ret_from_ns)
{
	struct datagram_echo *d = io->rx_state[f->workload];
	struct alone *a = &d->alone;
	struct alone_counts n = { 0 };
	uint64_t from_ns = io->now_ns;
	int ret = 0;

	f->rx.senders = d->senders;
	while (ret == 0 && !d->groups && d->most == 1) {
		ssize_t r;

		a->v = (struct iovec){ d->room, d->slot };
		a->len = sizeof(a->from);
		r = nd_call_recvfrom(f->fd, &a->v, 0, (struct sockaddr *)&a->from, &a->len);
		n.rx_calls++;
		if (r < 0) {
			ret = heard_nothing(f, errno);
			continue;
		}
		from_ns = io->now_ns;
		io->now_ns = nd_io_clock(io);
		f->last_ns = r > 0 ? io->now_ns : f->last_ns;
		a->v.iov_len = (size_t)r;
		turn_alone(io, f, a, &n);
		if (a->v.iov_len > 0 && a->len > 0)
			answer_alone(f, a, &n);
		learn(d, 1, 1);
		ret = io->now_ns >= until_ns;
	}
	if (ret < 0)
		io->now_ns = nd_io_clock(io);
	count_alone(io, f, &n);
	*ret_from_ns = from_ns;
	return ret;
}

const struct nd_xfer nd_xfer_datagram_echo = {
	.name = "echo",
	.help = "whole, and back to where it came from",
	.datagram = true,
	.batch_max = BATCH,
	.open = open_datagrams,
	.close = close_datagrams,
	.join = join_datagrams,
	.move = recv_datagrams,
	.answer = answer_datagrams,
};
