/* SPDX-License-Identifier: MIT */
/*
 * The plain ways to send and to receive, with the kernel's stamps (SO_TIMESTAMPING, software): a request's, when it goes
 * to the device, and its answer's, when it comes in. They split a round trip into three: until the request has left the
 * stack, until the answer is at the stack, until the program has it. Stamps of sends lie in the socket's error queue
 * and are fetched when the answer is there, behind the clock that ends the round trip. The end that answers does the same
 * with its part of it, and fetches them behind the answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
/* clang-format off: it needs struct timespec */
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
/* clang-format on */

#include "base/fd.h"
#include "engine/datagram.h"
#include "engine/stamps.h"
#include "engine/stream.h"

#define ROOM_BYTES   (256u << 10)
#define OFFSET_NS    (100 * ND_NS_PER_MS) /* the wall clock is set against ours so often */
#define OFFSET_TRIES 3u
#define NUMBERED     8u          /* a datagram of so many bytes has a number */
#define PATIENCE_NS  ND_NS_PER_S /* a later answer is lost to the load */
#define OPEN_LOOP    256u        /* messages of a flow under way that nothing is waited for */
#define FETCHES      64u         /* stamps fetched at a time */

#ifndef SOF_TIMESTAMPING_OPT_ID_TCP /* Linux 6.2 */
#	define SOF_TIMESTAMPING_OPT_ID_TCP (1 << 16)
#endif

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(struct scm_timestamping)) +
		  CMSG_SPACE(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in6)) +
		  CMSG_SPACE(sizeof(int))];
};

struct stamped {
	uint8_t *room; /* owned */
	size_t size;
	int64_t offset_ns; /* wall clock minus ours */
	uint64_t offset_until_ns;
	struct nd_stamps *flow; /* owned: by slot, of first halves */
	uint32_t flow_n;
};

/* ---- clocks */

/* Both clocks run alike; only steps of the wall clock move them apart. */
static void compare_clocks(struct stamped *s)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < OFFSET_TRIES; i++) {
		struct timespec wall = { 0 };
		uint64_t before = nd_now_ns(), after;

		(void)clock_gettime(CLOCK_REALTIME, &wall); /* cannot fail */
		after = nd_now_ns();
		if (after - before >= best)
			continue;
		best = after - before;
		s->offset_ns = (int64_t)wall.tv_sec * (int64_t)ND_NS_PER_S + wall.tv_nsec -
			       (int64_t)(before + best / 2);
	}
	s->offset_until_ns = nd_now_ns() + OFFSET_NS;
}

/* 0: there is no stamp. */
static uint64_t our_time(const struct stamped *s, const struct timespec *t)
{
	int64_t ns = (int64_t)t->tv_sec * (int64_t)ND_NS_PER_S + t->tv_nsec;

	return ns > s->offset_ns ? (uint64_t)(ns - s->offset_ns) : 0;
}

/* ---- what the kernel tells */

struct told {
	uint64_t at_ns; /* 0: no stamp */
	uint32_t id;
	bool is_send; /* has an id */
};

static void read_told(const struct stamped *s, struct msghdr *m, struct told *ret)
{
	struct scm_timestamping stamp = { 0 };
	struct sock_extended_err err = { 0 };

	*ret = (struct told){ 0 };
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPING &&
		    n >= sizeof(stamp)) {
			memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
			ret->at_ns = our_time(s, &stamp.ts[0]);
		} else if (c->cmsg_level != SOL_SOCKET && n >= sizeof(err)) {
			memcpy(&err, CMSG_DATA(c), sizeof(err));
			ret->is_send = err.ee_origin == SO_EE_ORIGIN_TIMESTAMPING &&
				       err.ee_info == SCM_TSTAMP_SND;
			ret->id = err.ee_data;
		}
	}
}

/* False: there are no more. */
static bool fetch_one(const struct stamped *s, const struct nd_flow *f, struct nd_stamps *of)
{
	union control control;
	struct msghdr m = { .msg_control = &control, .msg_controllen = sizeof(control) };
	struct told told;
	ssize_t r;

	do
		r = recvmsg(f->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return false;
	read_told(s, &m, &told);
	if (told.is_send && told.at_ns)
		nd_stamps_told(of, told.id, told.at_ns);
	return true;
}

/* Whatever is there: a socket with something in its error queue is never at rest. */
static void fetch_all(const struct stamped *s, const struct nd_flow *f, struct nd_stamps *of)
{
	unsigned left = FETCHES;

	while (nd_stamps_wait(of) && left-- > 0 && fetch_one(s, f, of))
		;
}

/* ---- round trips in three parts */

static void take_parts(struct nd_io *io, unsigned lane, const struct nd_stamps_one *one,
		       uint64_t rx_ns)
{
	struct nd_hist *const *to = io->stamped[lane];
	struct nd_told *told = &io->told[lane];

	if (!to[0])
		return;
	if (!one->tx_ns || !rx_ns) {
		nd_count(one->tx_ns ? &told->no_rx_stamp : &told->no_tx_stamp, 1);
		return;
	}
	/* a wall clock that was set, or a stamp of another request */
	if (one->tx_ns < one->begun_ns || rx_ns < one->tx_ns || io->now_ns < rx_ns) {
		nd_count(&told->odd_stamps, 1);
		return;
	}
	nd_hist_record(to[ND_PART_SEND], one->tx_ns - one->begun_ns);
	nd_hist_record(to[ND_PART_PATH], rx_ns - one->tx_ns);
	nd_hist_record(to[ND_PART_READ], io->now_ns - rx_ns);
}

static struct nd_stamps *stamps_of(const struct nd_io *io, const struct nd_flow *f)
{
	const struct stamped *s = io->rx_state[f->workload];

	return &s->flow[f - io->flows - f->half];
}

/* The answer to request @number is here, by io->now_ns. */
static void answered(struct nd_io *io, struct nd_flow *f, uint64_t number, uint64_t rx_ns)
{
	struct stamped *s = io->rx_state[f->workload];
	struct nd_stamps *of = stamps_of(io, f);
	struct nd_stamps_one *one = f->active ? nd_stamps_find(of, number) : NULL;
	unsigned left = FETCHES;

	if (!one)
		return;
	while (!one->tx_ns && nd_stamps_wait(of) && left-- > 0 && fetch_one(s, f, of))
		;
	if (io->now_ns - one->begun_ns < PATIENCE_NS || of->request_bytes)
		take_parts(io, f->workload, one, rx_ns);
	one->number = 0;
	if (io->now_ns >= s->offset_until_ns)
		compare_clocks(s);
}

/* ---- the end that answers */

static void asked(const struct nd_io *io, const struct nd_flow *f, uint64_t rx_ns)
{
	struct nd_stamps *of = stamps_of(io, f);

	if (f->active)
		return;
	of->rx_ns = rx_ns;
	of->got_ns = io->now_ns;
}

static void take_turn(struct nd_io *io, unsigned lane, const struct nd_stamps_one *one)
{
	struct nd_hist *const *to = io->stamped[lane];
	struct nd_told *told = &io->told[lane];

	if (!to[0])
		return;
	if (!one->rx_ns) {
		nd_count(&told->no_rx_stamp, 1);
	} else if (one->got_ns < one->rx_ns || one->begun_ns < one->got_ns ||
		   one->tx_ns < one->begun_ns) {
		nd_count(&told->odd_stamps, 1);
	} else {
		nd_hist_record(to[ND_PART_READ], one->got_ns - one->rx_ns);
		nd_hist_record(to[ND_PART_TURN], one->begun_ns - one->got_ns);
		nd_hist_record(to[ND_PART_SEND], one->tx_ns - one->begun_ns);
	}
}

/* Answers whose stamps are there; those before them will not have any. */
static void settle(struct nd_io *io, const struct nd_flow *f, struct nd_stamps *of)
{
	struct nd_told *told = &io->told[f->workload];

	if (of->asked - of->answered > of->room)
		of->answered = of->asked - of->room;
	for (uint64_t i = of->answered; i < of->asked; i++) {
		struct nd_stamps_one *one = nd_stamps_find(of, i);

		if (!one || !one->tx_ns)
			continue;
		if (i > of->answered && io->stamped[f->workload][0])
			nd_count(&told->no_tx_stamp, i - of->answered);
		take_turn(io, f->workload, one);
		of->answered = i + 1;
	}
}

/* What was sent of answer @number, which began at @begun_ns, is on its way. */
static void turned(struct nd_io *io, const struct nd_flow *f, uint64_t number)
{
	struct stamped *s = io->rx_state[f->workload];
	struct nd_stamps *of = stamps_of(io, f);
	struct nd_stamps_one *one = nd_stamps_find(of, number);
	uint64_t told = of->told;

	if (one) {
		one->rx_ns = of->rx_ns;
		one->got_ns = of->got_ns;
	}
	fetch_all(s, f, of);
	if (of->told > told)
		settle(io, f, of);
	if (io->now_ns >= s->offset_until_ns)
		compare_clocks(s);
}

/* The clock before a call that sends: that of the step, where the load's times begin with it. */
static uint64_t begin_of(const struct nd_flow *f)
{
	return f->active ? f->begun_ns : nd_now_ns();
}

/* ---- opening */

static int want_stamps(int fd)
{
	int flags = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
		    SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
		    SOF_TIMESTAMPING_OPT_TSONLY | SOF_TIMESTAMPING_OPT_ID_TCP;

	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) == 0)
		return 0;
	flags &= ~SOF_TIMESTAMPING_OPT_ID_TCP; /* counts from what the peer has acknowledged: all */
	return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) == 0 ? 0 : -errno;
}

static void close_stamped(struct nd_io *io, unsigned lane)
{
	struct stamped *s = io->rx_state[lane];

	if (!s)
		return;
	if (io->lanes[lane].transport->caps & ND_NET_DATAGRAM)
		nd_dg_drops(io, lane);
	for (uint32_t i = 0; s->flow && i < s->flow_n; i++)
		nd_stamps_done(&s->flow[i]);
	free(s->flow);
	free(s->room);
	nd_free_p(&io->rx_state[lane]);
}

static int open_flows(struct nd_io *io, unsigned lane, struct stamped *s)
{
	const struct nd_lane *l = &io->lanes[lane];
	bool datagram = l->transport->caps & ND_NET_DATAGRAM;

	for (uint32_t i = 0; i < io->flow_count; i++) {
		const struct nd_flow *f = &io->flows[i];
		bool waits = f->active && l->load->halves <= 1;
		uint64_t bytes =
			f->active ? l->workload->request_bytes : l->workload->response_bytes;
		int r;

		if (f->workload != lane || f->half != 0 || f->fd < 0)
			continue;
		if (nd_stamps_init(&s->flow[i], datagram ? 0 : ND_MAX(bytes, 1),
				   waits ? l->workload->ahead + 1 : OPEN_LOOP) < 0)
			return -ENOMEM;
		r = want_stamps(f->fd);
		if (r < 0)
			io->told[lane].stamps_refused = -r;
	}
	return 0;
}

static int open_stamped(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	struct stamped *s;

	if (!nd_lane_receives(io, lane))
		return 0;
	io->rx_state[lane] = s = calloc(1, sizeof(*s));
	if (!s)
		return nd_fail(err, -ENOMEM, "no memory for stamps");
	s->size = (size_t)ND_MIN(nd_lane_message(&io->lanes[lane]), ROOM_BYTES);
	s->room = nd_buffer_new(s->size);
	s->flow = calloc(io->flow_count, sizeof(*s->flow));
	s->flow_n = io->flow_count;
	if (!s->room || !s->flow || open_flows(io, lane, s) < 0)
		return nd_fail(err, -ENOMEM, "no memory for stamps");
	compare_clocks(s);
	if (io->lanes[lane].transport->caps & ND_NET_DATAGRAM)
		nd_dg_join_all(io, lane);
	return 0;
}

/* ---- moving */

static ssize_t receive(struct nd_io *io, struct nd_flow *f, size_t n, struct told *ret)
{
	struct stamped *s = io->rx_state[f->workload];
	struct iovec v = { .iov_base = s->room, .iov_len = n };
	union control control;
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	ssize_t r;

	do {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		ND_COUNT_FLOW(io, f, rx_calls, 1);
		r = recvmsg(f->fd, &m, io->recv_waits ? 0 : MSG_DONTWAIT);
	} while (r < 0 && (nd_call_again(io->recv_waits) ||
			   (f->rx.datagram && errno != ENOMEM && nd_is_refusal(errno))));
	r = r < 0 ? -errno : r;
	io->now_ns = nd_now_ns();
	if (r >= 0)
		read_told(s, &m, ret);
	else if (r == -EAGAIN)
		fetch_all(s, f, stamps_of(io, f));
	return r;
}

static int recv_stream(struct nd_io *io, struct nd_flow *f)
{
	const struct stamped *s = io->rx_state[f->workload];
	struct nd_stamps *of = stamps_of(io, f);
	size_t n = nd_stream_wants(f, s->size);
	struct told told;
	ssize_t r = receive(io, f, n, &told);
	int moved;

	if (r <= 0)
		return r < 0 ? nd_stream_empty(io, f, (int)-r) : 0;
	if ((size_t)r < n && !f->hup && !io->recv_waits)
		f->readable = false;
	moved = nd_stream_received(io, f, (size_t)r);
	asked(io, f, told.at_ns);
	if (f->active && f->step.op == ND_OP_RECV && f->done_bytes >= f->step.bytes)
		answered(io, f, of->answered++, told.at_ns);
	return moved;
}

static int recv_datagram(struct nd_io *io, struct nd_flow *f)
{
	const struct nd_frame *frame = nd_lane_of(io, f)->frame;
	const struct stamped *s = io->rx_state[f->workload];
	struct nd_stamps *of = stamps_of(io, f);
	struct iovec v = { .iov_base = s->room };
	struct nd_batch b = { .iov = &v, .n = 1 };
	uint32_t messages = 1;
	struct told told;
	ssize_t r = receive(io, f, s->size, &told);

	if (r < 0) {
		f->readable = r != -EAGAIN;
		return (int)r;
	}
	v.iov_len = (size_t)r;
	b.now_ns = io->now_ns;
	if (frame->take)
		messages = frame->take(&f->rx, &b, &f->c, &io->c[f->workload]);
	ND_COUNT_FLOW(io, f, rx_messages, messages);
	ND_COUNT_FLOW(io, f, rx_bytes, v.iov_len);
	ND_COUNT_FLOW(io, f, rx_stacked, 1);
	if (messages)
		asked(io, f, told.at_ns);
	if (messages && r >= (ssize_t)NUMBERED && f->rx.next)
		answered(io, f, f->rx.next - 1, told.at_ns);
	else if (messages && of->asked)
		answered(io, f, of->asked - 1, told.at_ns);
	return 1;
}

static int send_stream(struct nd_io *io, struct nd_flow *f)
{
	struct nd_stamps *of = stamps_of(io, f);
	uint64_t before = f->done_bytes, begun_ns = begin_of(f), number = of->asked;
	int r = nd_xfer_stream_send.move(io, f);

	if (f->done_bytes > before)
		nd_stamps_sent(of, number, begun_ns, f->done_bytes - before);
	if (!f->active && f->done_bytes > before)
		turned(io, f, number);
	return r;
}

static int send_datagram(struct nd_io *io, struct nd_flow *f)
{
	struct nd_stamps *of = stamps_of(io, f);
	uint64_t before = f->c.tx_messages, next = f->tx.next, number = of->asked;
	uint64_t begun_ns = begin_of(f);
	int r = nd_xfer_datagram_send.move(io, f);

	if (f->c.tx_messages == before)
		return r;
	nd_stamps_sent(of, f->active && f->tx.next > next ? next : number, begun_ns, 1);
	if (!f->active)
		turned(io, f, number);
	return r;
}

static int open_stream_send(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	return nd_xfer_stream_send.open(io, lane, err);
}

static void close_stream_send(struct nd_io *io, unsigned lane)
{
	nd_xfer_stream_send.close(io, lane);
}

static int open_datagram_send(struct nd_io *io, unsigned lane, struct nd_err *err)
{
	return nd_xfer_datagram_send.open(io, lane, err);
}

static void close_datagram_send(struct nd_io *io, unsigned lane)
{
	nd_xfer_datagram_send.close(io, lane);
}

#define NAME "stamped copy"
#define HELP "copies, with the kernel's stamps"

const struct nd_xfer nd_xfer_stamped_stream_send = {
	.name = NAME,
	.help = HELP,
	.hidden = true,
	.sends = true,
	.stream = true,
	.open = open_stream_send,
	.close = close_stream_send,
	.move = send_stream,
};

const struct nd_xfer nd_xfer_stamped_stream_recv = {
	.name = NAME,
	.help = HELP,
	.hidden = true,
	.stream = true,
	.open = open_stamped,
	.close = close_stamped,
	.move = recv_stream,
};

const struct nd_xfer nd_xfer_stamped_datagram_send = {
	.name = NAME,
	.help = HELP,
	.hidden = true,
	.sends = true,
	.datagram = true,
	.batch_max = 1,
	.open = open_datagram_send,
	.close = close_datagram_send,
	.move = send_datagram,
};

const struct nd_xfer nd_xfer_stamped_datagram_recv = {
	.name = NAME,
	.help = HELP,
	.hidden = true,
	.datagram = true,
	.batch_max = 1,
	.open = open_stamped,
	.close = close_stamped,
	.join = nd_dg_join,
	.move = recv_datagram,
};
