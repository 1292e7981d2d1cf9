/* SPDX-License-Identifier: MIT */
/* Both ends of some flows in one worker: sender i and receiver i share a pair of sockets. */
#ifndef ND_TESTS_ENGINE_RIG_H
#define ND_TESTS_ENGINE_RIG_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "engine/int.h"

#define RIG_PATIENCE_NS (20 * ND_NS_PER_S)
#define RIG_EDGE_NS     (5 * ND_NS_PER_MS)

struct rig {
	/* set by the test */
	struct nd_workload wl;
	const char *engine, *load, *frame, *transport;
	const char *tx_name, *rx_name; /* NULL: copy */
	uint32_t pairs;
	uint64_t run_ns; /* stop_sending this long after the start; 0: never */
	int sndbuf;      /* of the sender, 0: the system's */
	bool unix_pair;  /* socketpair() instead of loopback */
	uint64_t depth;  /* sends under way, 0: the engine's own */
	const struct nd_wait *wait;
	struct nd_hist *times;         /* of round trips; NULL: none */
	const struct nd_load *machine; /* instead of that named .load; NULL */
	uint32_t eaten;                /* datagrams that the test took away */
	void (*on_edge)(struct rig *r, uint64_t now_ns);

	/* the rest is the rig's */
	struct nd_plan plan;
	struct nd_lane lane;
	struct nd_io io;
	struct nd_flow *flows; /* senders, then receivers */
	struct nd_seq *seqs;
	uint8_t *states, *tx;
	uint64_t start_ns, deadline_ns;
	uint32_t edges, wakes, flows_done;
	bool late;
};

/* Also those that no user can name. */
static inline const struct nd_engine *rig_engine(const char *name)
{
#if ND_HAVE_URING
	if (strcmp(name, "uring-old") == 0)
		return &nd_engine_uring_old;
#endif
	return nd_engine_find(name);
}

/* Is the engine built in, and does the kernel, or the container, allow it? */
static inline bool rig_has(const char *name)
{
	const struct nd_engine *e = rig_engine(name);
	struct nd_plan plan = { 0 };
	struct nd_io io = { .plan = &plan, .wake_fd = -1 };
	struct nd_err err = { 0 };

	if (strncmp(name, "uring", 5) != 0)
		return true;
	if (!e || e->open(&io, &err) < 0) {
		print_message("%s: left out: %s\n", name, e ? err.text : "not built in");
		return false;
	}
	e->close(&io);
	return true;
}

/* The backends that do what @name does, @name among them: NULL behind the last. */
static inline const char *rig_alike(const char *name, size_t n)
{
	static const char *const alike[] = { "epoll", "uring", "uring-old" };

	if (strcmp(name, "epoll") != 0)
		return n == 0 ? name : NULL;
	return n < ND_COUNTOF(alike) ? alike[n] : NULL;
}

static inline bool rig_datagram(const struct rig *r)
{
	return (r->lane.transport->caps & ND_NET_DATAGRAM) != 0;
}

static inline struct nd_counters rig_sum(const struct rig *r, bool active)
{
	struct nd_counters sum = { 0 };

	for (uint32_t i = 0; i < r->pairs; i++)
		nd_counters_add(&sum, &r->flows[active ? i : r->pairs + i].c);
	return sum;
}

static inline bool rig_senders_done(const struct rig *r)
{
	for (uint32_t i = 0; i < r->pairs; i++)
		if (r->flows[i].state != ND_FLOW_DONE)
			return false;
	return true;
}

static inline void rig_edge(struct nd_io *io, uint64_t now_ns)
{
	struct rig *r = io->run;
	struct nd_counters tx, rx;

	r->edges++;
	io->edge_ns = now_ns + RIG_EDGE_NS;
	if (r->on_edge)
		r->on_edge(r, now_ns);
	/* a machine that stood still meanwhile has given no time to anybody: half of the edges must have been seen */
	if (r->run_ns && now_ns >= r->start_ns + r->run_ns &&
	    r->edges >= r->run_ns / RIG_EDGE_NS / 2)
		io->stop_sending = true;
	if (rig_datagram(r) && rig_senders_done(r)) {
		tx = rig_sum(r, true);
		rx = rig_sum(r, false);
		if (rx.rx_messages + rx.rx_foreign + r->eaten >= tx.tx_messages)
			io->quit = true;
	}
	if (now_ns >= r->deadline_ns) {
		r->late = true;
		io->quit = true;
	}
}

static inline void rig_wake(struct nd_io *io, uint64_t now_ns)
{
	struct rig *r = io->run;
	uint64_t n;

	(void)now_ns;
	r->wakes++;
	assert_int_equal(read(io->wake_fd, &n, sizeof(n)), sizeof(n));
}

static inline void rig_flow_done(struct nd_io *io, struct nd_flow *f)
{
	struct rig *r = io->run;

	(void)f;
	r->flows_done++;
}

static inline void rig_loopback(struct nd_addr *ret)
{
	struct nd_err err = { 0 };
	size_t n;

	assert_int_equal(nd_addr_resolve("127.0.0.1", 0, ND_AF_IPV4, true, ret, 1, &n, &err), 0);
}

static inline void rig_stream_pair(const struct nd_transport *t, int *ret_a, int *ret_b)
{
	static const struct nd_sockopts opts = { 0 };
	struct nd_err err = { 0 };
	struct nd_addr at;
	int listener, r;

	rig_loopback(&at);
	assert_int_equal(nd_listen(t, &at, false, &listener, &err), 0);
	assert_int_equal(getsockname(listener, &at.u.sa, &at.len), 0);
	r = nd_open(t, &opts, &at, NULL, NULL, ret_a, &err);
	assert_true(r == 0 || r == 1);
	do /* loopback connects within the call, or nearly */
		*ret_b = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	while (*ret_b < 0 && errno == EAGAIN);
	assert_true(*ret_b >= 0);
	assert_int_equal(nd_open_result(*ret_a), 0);
	close(listener);
}

static inline void rig_datagram_pair(const struct nd_transport *t, int *ret_a, int *ret_b)
{
	static const struct nd_sockopts opts = { 0 };
	struct nd_err err = { 0 };
	struct nd_addr at, from;
	int listener;

	rig_loopback(&at);
	assert_int_equal(nd_listen(t, &at, false, &listener, &err), 0);
	assert_int_equal(getsockname(listener, &at.u.sa, &at.len), 0);
	assert_int_equal(nd_open(t, &opts, &at, NULL, NULL, ret_a, &err), 0);
	from.len = sizeof(from.u);
	assert_int_equal(getsockname(*ret_a, &from.u.sa, &from.len), 0);
	assert_int_equal(nd_datagram_peer(t, &opts, &at, &from, ret_b, &err), 0);
	close(listener);
}

static inline void rig_sockets(struct rig *r)
{
	for (uint32_t i = 0; i < r->pairs; i++) {
		int fd[2];

		if (r->unix_pair)
			assert_int_equal(socketpair(AF_UNIX,
						    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
						    fd),
					 0);
		else if (rig_datagram(r))
			rig_datagram_pair(r->lane.transport, &fd[0], &fd[1]);
		else
			rig_stream_pair(r->lane.transport, &fd[0], &fd[1]);
		if (r->sndbuf)
			assert_int_equal(setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &r->sndbuf,
						    sizeof(r->sndbuf)),
					 0);
		r->flows[i].fd = fd[0];
		r->flows[r->pairs + i].fd = fd[1];
	}
}

static inline void rig_flows(struct rig *r)
{
	size_t state_bytes = (r->lane.load->state_bytes + 15) / 16 * 16;

	for (uint32_t i = 0; i < 2 * r->pairs; i++) {
		struct nd_flow *f = &r->flows[i];
		struct nd_load_cfg cfg = {
			.workload = &r->wl,
			.active = i < r->pairs,
			.flow = i % r->pairs,
			.bytes = nd_plan_share(r->wl.total_bytes, r->pairs, i % r->pairs),
			.ops = nd_plan_share(r->wl.total_ops, r->pairs, i % r->pairs),
			.bytes_per_s = (double)r->wl.rate_bps / 8 / r->pairs,
			.batch_max = r->lane.tx->batch_max,
			.datagram = rig_datagram(r),
		};

		f->number = i % r->pairs;
		f->listen_fd = -1;
		f->active = cfg.active;
		f->load = r->states + i * state_bytes;
		f->tx.flow = f->rx.flow = r->wl.first_flow + f->number;
		f->tx.message_bytes = f->rx.message_bytes = r->wl.message_bytes;
		f->rx.seq = cfg.datagram ? &r->seqs[i] : NULL;
		assert_int_equal(r->lane.load->init(f->load, &cfg), 0);
	}
}

static inline void rig_open(struct rig *r)
{
	struct nd_err err = { 0 };
	uint64_t most =
		ND_MAX(r->wl.message_bytes, ND_MAX(r->wl.request_bytes, r->wl.response_bytes));

	r->wl.flows = r->pairs;
	r->plan.depth = r->depth;
	r->lane = (struct nd_lane){
		.workload = &r->wl,
		.load = r->machine ? r->machine : nd_load_find(r->load),
		.frame = nd_frame_find(r->frame),
		.transport = nd_transport_find(r->transport),
	};
	assert_non_null(r->lane.load);
	assert_non_null(r->lane.frame);
	assert_non_null(r->lane.transport);
	r->lane.tx = nd_xfer_find(r->tx_name ? r->tx_name : "copy", true, rig_datagram(r));
	r->lane.rx = nd_xfer_find(r->rx_name ? r->rx_name : "copy", false, rig_datagram(r));
	assert_non_null(r->lane.tx);
	assert_non_null(r->lane.rx);
	r->flows = calloc(2 * r->pairs, sizeof(*r->flows));
	r->seqs = calloc(2 * r->pairs, sizeof(*r->seqs));
	r->states = calloc(2 * r->pairs, (r->lane.load->state_bytes + 15) / 16 * 16);
	r->tx = malloc(most);
	assert_true(r->flows && r->seqs && r->states && r->tx);
	r->lane.frame->prepare(r->tx, most, ND_PAYLOAD_RANDOM, 1);
	r->io = (struct nd_io){ .plan = &r->plan,
				.rtt = { r->times },
				.lanes = &r->lane,
				.lane_count = 1,
				.wait = r->wait,
				.flows = r->flows,
				.flow_count = 2 * r->pairs,
				.tx_buf = { r->tx },
				.tx_size = { most },
				.edge = rig_edge,
				.wake = rig_wake,
				.flow_done = rig_flow_done,
				.run = r,
				.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	rig_flows(r);
	rig_sockets(r);
	assert_int_equal(r->lane.tx->open(&r->io, 0, &err), 0);
	assert_int_equal(r->lane.rx->open(&r->io, 0, &err), 0);
	assert_int_equal(rig_engine(r->engine)->open(&r->io, &err), 0);
}

static inline void rig_run(struct rig *r)
{
	struct nd_err err = { 0 };

	r->start_ns = nd_now_ns();
	r->deadline_ns = r->start_ns + RIG_PATIENCE_NS;
	r->io.edge_ns = r->start_ns + RIG_EDGE_NS;
	for (uint32_t i = 0; i < r->io.flow_count; i++)
		nd_flow_begin(&r->io, &r->flows[i], r->start_ns);
	assert_int_equal(rig_engine(r->engine)->run(&r->io, &err), 0);
	if (r->late)
		fail_msg("%s %s: not done in time: %u of %u flows", r->engine, r->transport,
			 r->io.done_count, r->io.flow_count);
}

static inline void rig_close(struct rig *r)
{
	rig_engine(r->engine)->close(&r->io);
	r->lane.tx->close(&r->io, 0);
	r->lane.rx->close(&r->io, 0);
	for (uint32_t i = 0; i < r->io.flow_count; i++)
		if (r->flows[i].fd >= 0)
			close(r->flows[i].fd);
	close(r->io.wake_fd);
	free(r->flows);
	free(r->seqs);
	free(r->states);
	free(r->tx);
}

/* The sum over flows is what the worker has counted. */
static inline void rig_check_sums(const struct rig *r)
{
	struct nd_counters sum = rig_sum(r, true), other = rig_sum(r, false);

	nd_counters_add(&sum, &other);
	assert_memory_equal(&sum, &r->io.c[0], sizeof(sum));
}

#endif
