/* SPDX-License-Identifier: MIT */
/*
 * Every way to send and to receive, under every backend that calls it: the turn of a flow, its load, frame and
 * counters, and the backend's own share. Per call for streams, per datagram for datagrams.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cost.h"
#include "engine/int.h"

enum { MANY = 64 };

#define STREAM_BYTES   (128u << 10)
#define DATAGRAM_BYTES 14u
#define LOOKS_PER_OP   20u
#define NAME_BYTES     64u

struct way {
	const struct nd_engine *engine;
	const struct nd_xfer *xfer;
	uint32_t flows;
	bool short_reads;
	const char *name, *load, *frame; /* exchanges; NULL: one direction */
	bool asks;
};

struct rig {
	const struct way *way;
	struct nd_plan plan;
	struct nd_workload wl;
	struct nd_lane lane;
	struct nd_io io;
	struct nd_flow flows[MANY];
	struct nd_seq seqs[MANY];
	struct epoll_event events[MANY];
	uint8_t *states, *tx;       /* owned */
	struct nd_samples *samples; /* owned, of frames that keep them; NULL */
	bool is_open;
};

/* Nothing is timed here. */
static void edge(struct nd_io *io, uint64_t now_ns)
{
	io->edge_ns = now_ns + 3600 * ND_NS_PER_S;
}

/* For the other direction, in which nothing moves. */
static const struct nd_xfer *partner(const struct nd_xfer *x)
{
	return nd_xfer_find("copy", !x->sends, x->datagram);
}

static bool choose(struct rig *r)
{
	const struct nd_xfer *x = r->way->xfer;

	r->wl = (struct nd_workload){ .flows = r->way->flows,
				      .message_bytes = x->datagram || r->way->load ? DATAGRAM_BYTES
										   : STREAM_BYTES,
				      .request_bytes = r->way->load ? DATAGRAM_BYTES : 0,
				      .response_bytes = r->way->load ? DATAGRAM_BYTES : 0,
				      .answered = true };
	r->lane = (struct nd_lane){ .workload = &r->wl,
				    .load = nd_load_find("stream"),
				    .frame = nd_frame_find(x->datagram && !x->blind ? "native"
										    : "plain"),
				    .transport = nd_transport_find(x->datagram ? "udp" : "tcp"),
				    .tx = x->sends ? x : partner(x),
				    .rx = x->sends ? partner(x) : x };
	if (r->way->load) {
		r->lane.load = nd_load_find(r->way->load);
		r->lane.frame = nd_frame_find(r->way->frame);
	}
	return r->lane.load && r->lane.frame && r->lane.transport && r->lane.tx && r->lane.rx;
}

/* A way to send over unconnected sockets asks for the peer first. Nothing is sent. */
static bool has_peer(int fd)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(9),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
}

static bool make_flows(struct rig *r)
{
	size_t each = (r->lane.load->state_bytes + 15) / 16 * 16;
	bool datagram = r->way->xfer->datagram;

	for (uint32_t i = 0; i < r->way->flows; i++) {
		struct nd_flow *f = &r->flows[i];
		struct nd_load_cfg cfg = { .workload = &r->wl,
					   .active = r->way->load ? r->way->asks
								  : r->way->xfer->sends,
					   .flow = i,
					   .batch_max = r->lane.tx->batch_max,
					   .datagram = datagram };

		f->fd = socket(AF_INET, (datagram ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
		f->listen_fd = -1;
		f->number = i;
		cost_kernel.of_fd[(unsigned)f->fd % COST_FDS] =
			(struct cost_flow){ .flow = i, .seq = r->samples != NULL, .is_flow = true };
		f->active = cfg.active;
		f->load = r->states + i * each;
		f->tx.flow = f->rx.flow = i;
		f->tx.message_bytes = f->rx.message_bytes = r->wl.message_bytes;
		f->rx.seq = datagram ? &r->seqs[i] : NULL;
		f->tx.datagram = f->rx.datagram = datagram;
		f->tx.samples = f->rx.samples = r->samples;
		f->tx.workload = f->rx.workload = &r->wl;
		if (f->fd < 0 || (datagram && !has_peer(f->fd)) ||
		    r->lane.load->init(f->load, &cfg) < 0)
			return false;
	}
	return true;
}

static bool open_all(struct rig *r)
{
	struct nd_err err = { 0 };
	const char *what = r->lane.tx->open(&r->io, 0, &err) < 0    ? "sending"
			   : r->lane.rx->open(&r->io, 0, &err) < 0  ? "receiving"
			   : r->way->engine->open(&r->io, &err) < 0 ? "engine"
								    : NULL;

	if (what)
		fprintf(stderr, "cost: %s: %s\n", what, err.text);
	r->is_open = !what;
	return r->is_open;
}

static void done_rig(void *state)
{
	struct rig *r = state;

	cost_kernel = (struct cost_kernel){ 0 };
	if (r->is_open)
		r->way->engine->close(&r->io);
	if (r->lane.tx)
		r->lane.tx->close(&r->io, 0);
	if (r->lane.rx)
		r->lane.rx->close(&r->io, 0);
	for (uint32_t i = 0; i < r->way->flows; i++)
		if (r->flows[i].fd > 0)
			close(r->flows[i].fd);
	if (r->io.wake_fd > 0)
		close(r->io.wake_fd);
	nd_samples_free(r->samples);
	free(r->states);
	free(r->tx);
	free(r);
}

static void *prepare_rig(const struct cost_case *c)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->way = c->arg;
	cost_kernel = (struct cost_kernel){ .events = r->events, .event_room = MANY };
	if (!choose(r) ||
	    (strcmp(r->lane.frame->name, "sockperf") == 0 && nd_samples_new(1, &r->samples) < 0)) {
		free(r);
		return NULL;
	}
	r->states = calloc(r->way->flows, (r->lane.load->state_bytes + 15) / 16 * 16);
	r->tx = nd_buffer_new(STREAM_BYTES);
	r->io = (struct nd_io){ .plan = &r->plan,
				.lanes = &r->lane,
				.lane_count = 1,
				.wait = nd_wait_find("block"),
				.flows = r->flows,
				.flow_count = r->way->flows,
				.tx_buf = { r->tx },
				.tx_size = { STREAM_BYTES },
				.edge = edge,
				.edge_ns = UINT64_MAX,
				.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (r->states && r->tx && make_flows(r) && open_all(r))
		return r;
	done_rig(r);
	return NULL;
}

static void run_rig(void *state, uint64_t n)
{
	struct rig *r = state;
	struct cost_kernel *k = &cost_kernel;
	struct nd_err err = { 0 };

	k->io = &r->io;
	k->left = n;
	k->looks = 0;
	k->most = LOOKS_PER_OP * n;
	k->now_ns = ND_NS_PER_S;
	k->datagram = r->way->xfer->datagram ? DATAGRAM_BYTES : 0;
	k->short_reads = r->way->short_reads;
	k->on = true;
	for (uint32_t i = 0; i < r->way->flows; i++)
		nd_flow_begin(&r->io, &r->flows[i], ND_NS_PER_S);
	if (r->way->engine->run(&r->io, &err) < 0)
		fprintf(stderr, "cost: %s\n", err.text);
	k->on = false;
	if (k->left)
		printf("failed %" PRIu64 " of %" PRIu64 " operations were not done\n", k->left, n);
}

static void measure(const struct way *w)
{
	char name[NAME_BYTES];
	struct cost_case c = { .name = name,
			       .n = w->xfer->datagram ? 32768 : 2000,
			       .prepare = prepare_rig,
			       .run = run_rig,
			       .done = done_rig,
			       .arg = w };

	if (w->name)
		(void)snprintf(name, sizeof(name), "%s", w->name);
	else
		(void)snprintf(name, sizeof(name), "%s-%s-%s-%s%s", w->engine->name,
			       w->xfer->datagram ? "datagram" : "stream",
			       w->xfer->sends ? "send" : "recv", w->xfer->name,
			       w->short_reads ? "-short" : "");
	cost_measure(&c);
}

/* Half a read, and an event for the next: what epoll costs where flows are slow. */
static bool has_short(const struct nd_xfer *x)
{
	return !x->sends && x->stream &&
	       (strcmp(x->name, "copy") == 0 || strcmp(x->name, "trunc") == 0);
}

/* The ring has its own ways, by these names. */
static bool is_of_ring(const struct nd_xfer *x)
{
	return strcmp(x->name, "copy") == 0 || (x->sends && strcmp(x->name, "zerocopy") == 0);
}

/* Whole exchanges of a lone flow; an operation is one call of the two that each takes. */
static void measure_exchanges(const struct nd_engine *blocking)
{
	const struct nd_xfer *stream = nd_xfer_find("copy", false, false);
	const struct nd_xfer *datagram = nd_xfer_find("copy", false, true);

	measure(&(struct way){ blocking, stream, 1, false, "exchange-stream-ask", "rr", "plain",
			       true });
	measure(&(struct way){ blocking, stream, 1, false, "exchange-stream-answer", "rr", "plain",
			       false });
	measure(&(struct way){ blocking, datagram, 1, false, "exchange-datagram-ask", "rr",
			       "native", true });
	measure(&(struct way){ blocking, datagram, 1, false, "exchange-datagram-answer", "rr",
			       "native", false });
	measure(&(struct way){ blocking, datagram, 1, false, "exchange-sockperf-ask", "burst",
			       "sockperf", true });
}

void cost_engines(void)
{
	const struct nd_engine *blocking = nd_engine_find("blocking");
	const struct nd_engine *epoll = nd_engine_find("epoll"), *uring = nd_engine_find("uring");
	const struct nd_xfer *x;

	for (size_t i = 0; (x = nd_xfer_at(i)); i++) {
		if (x->hidden)
			continue; /* needs its own kind at the other end, and is no path that moves many bytes */
		measure(&(struct way){ .engine = blocking, .xfer = x, .flows = 1 });
		measure(&(struct way){ .engine = epoll, .xfer = x, .flows = MANY });
		if (has_short(x))
			measure(&(struct way){
				.engine = epoll, .xfer = x, .flows = MANY, .short_reads = true });
		if (uring && is_of_ring(x))
			measure(&(struct way){ .engine = uring, .xfer = x, .flows = MANY });
	}
	measure_exchanges(blocking);
}
