/* SPDX-License-Identifier: MIT */
/* What netserver makes of a request: a plan, an answer, results. Nothing in a request is believed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dialect/netperf.h"

#define KIND_STREAM   1u
#define KIND_DATAGRAM 2u
#define PROTO_TCP     6u
#define PROTO_UDP     17u
#define CPU_MAX       4095
#define INTERVALS     1000u /* that a server's run is divided into, at most */
#define US_PER_S      1000000ull

/* ---- the plan ---- */

/* Words that one would not put into a plan, let alone into a terminal, are left out. */
static const char *take_word(char *to, size_t room, const uint8_t *from, size_t n)
{
	size_t len = 0;

	for (; len < n && len + 1 < room && from[len]; len++) {
		uint8_t c = from[len];
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || c == '_' || c == '-';

		if (!is_plain)
			return NULL;
		to[len] = (char)c;
	}
	to[len] = '\0';
	return len > 0 ? to : NULL;
}

static uint64_t buffer_bytes(uint64_t word)
{
	int64_t bytes = nd_np_signed(word);

	return bytes > 0 ? (uint64_t)bytes : 0;
}

static void fill_sockopts(struct nd_np *d)
{
	const struct nd_np_request *q = &d->request;
	bool is_tcp = !d->asked.datagram;

	d->plan->sock = (struct nd_sockopts){
		.cc = is_tcp ? take_word(d->cc, sizeof(d->cc), q->cc, sizeof(q->cc)) : NULL,
		.sndbuf_bytes = buffer_bytes(q->sndbuf),
		.rcvbuf_bytes = buffer_bytes(q->rcvbuf),
		.nodelay = is_tcp && (q->flags & ND_NP_NODELAY),
		.keepalive = (q->flags & ND_NP_KEEPALIVE) != 0,
		.fastopen = is_tcp && (q->flags & ND_NP_FASTOPEN),
		.defer_accept = is_tcp && (q->flags & ND_NP_DEFER),
		.fragment = !is_tcp && !(q->flags & ND_NP_DISCOVER),
		.has_dscp = nd_np_signed(q->tos) >= 0 && nd_np_signed(q->tos) <= UINT8_MAX,
		.has_priority = nd_np_signed(q->priority) >= 0,
	};
	if (d->plan->sock.has_dscp)
		d->plan->sock.dscp = q->tos >> 2;
	if (d->plan->sock.has_priority)
		d->plan->sock.priority = q->priority;
}

static void fill_addresses(struct nd_np *d)
{
	const struct nd_np_request *q = &d->request;
	struct nd_plan *p = d->plan;
	bool ipv6 = q->family == 6;

	p->af = ipv6 ? ND_AF_IPV6 : q->family == 4 ? ND_AF_IPV4 : ND_AF_ANY;
	p->bind = (struct nd_strv){ 0 };
	p->host = NULL;
	p->port = q->client_port & UINT16_MAX;
	p->data_port = q->port & UINT16_MAX;
	if (nd_np_ip_text(q->server_ip, ipv6, d->bind, sizeof(d->bind))) {
		d->bind_list[0] = d->bind;
		p->bind = (struct nd_strv){ .v = d->bind_list, .n = 1 };
	}
	if (nd_np_ip_text(q->client_ip, ipv6, d->peer, sizeof(d->peer)))
		p->host = d->peer;
}

static void fill_times(struct nd_np *d)
{
	struct nd_plan *p = d->plan;
	int64_t length = nd_np_signed(d->request.length);
	uint64_t most_s = ND_MAX_NS / ND_NS_PER_S;

	p->duration_ns = ND_MAX_NS; /* a receiver is told when to end */
	if (length > 0 && d->request.direction == ND_NP_SEND)
		p->duration_ns = ND_MIN((uint64_t)length, most_s) * ND_NS_PER_S;
	p->warmup_ns = p->cooldown_ns = 0;
	p->interval_ns = ND_MAX(p->duration_ns / INTERVALS, ND_NS_PER_S);
	p->drain_ns = ND_NS_PER_S;
}

static enum nd_netperf_test test_of(const struct nd_np_request *q, bool datagram)
{
	bool connects = q->flags & ND_NP_CONNECT;

	if (q->direction == 0)
		return ND_NP_TCP_CC;
	if (q->direction == ND_NP_SEND)
		return datagram ? ND_NP_OMNI : ND_NP_TCP_MAERTS;
	if (q->direction == ND_NP_RECV)
		return datagram ? ND_NP_UDP_STREAM : ND_NP_TCP_STREAM;
	if (connects)
		return ND_NP_TCP_CRR;
	return datagram ? ND_NP_UDP_RR : ND_NP_TCP_RR;
}

/* What was asked, as netperf's own settings would say it, but from here. */
static void fill_asked(struct nd_np *d)
{
	const struct nd_np_request *q = &d->request;
	struct nd_netperf *a = &d->asked;

	*a = *d->own;
	a->server = true;
	a->datagram = q->kind == KIND_DATAGRAM;
	a->test = test_of(q, a->datagram);
	a->protocol = a->datagram ? "UDP" : "TCP";
	a->connection_test = (q->flags & ND_NP_CONNECT) != 0;
	a->direction = (unsigned)q->direction;
	a->length = nd_np_signed(q->length);
	a->local_cpu = (q->flags & ND_NP_MEASURE) != 0;
	a->nodelay = (q->flags & ND_NP_NODELAY) != 0;
	a->request_bytes = nd_np_signed(q->request);
	a->response_bytes = nd_np_signed(q->response);
}

static int judge(const struct nd_np_request *q)
{
	bool datagram = q->kind == KIND_DATAGRAM, connects = q->flags & ND_NP_CONNECT;
	bool both = q->direction == (ND_NP_SEND | ND_NP_RECV);

	if (q->kind != KIND_STREAM && !datagram)
		return -ESOCKTNOSUPPORT;
	/* 0: the usual one of the kind, as the original sends for a name that it does not know */
	if (q->protocol != 0 && q->protocol != (datagram ? PROTO_UDP : PROTO_TCP))
		return -EPROTONOSUPPORT;
	if (q->family != 0 && q->family != 4 && q->family != 6)
		return -EAFNOSUPPORT;
	if (q->direction & ~(uint64_t)(ND_NP_SEND | ND_NP_RECV))
		return -EINVAL;
	if (connects && datagram)
		return -EOPNOTSUPP;
	return connects ? (both || q->direction == 0 ? 0 : -EINVAL) : (q->direction ? 0 : -EINVAL);
}

static const char *load_of(const struct nd_np_request *q)
{
	if (q->direction == 0)
		return "cc";
	if (q->flags & ND_NP_CONNECT)
		return "crr";
	return q->direction == (ND_NP_SEND | ND_NP_RECV) ? "rr" : "stream";
}

int nd_np_fill_plan(struct nd_np *d)
{
	const struct nd_np_request *q = &d->request;
	struct nd_plan *p = d->plan;
	int64_t cpu = nd_np_signed(q->cpu);
	int r = judge(q);

	if (r < 0)
		return r;
	fill_asked(d);
	p->face = &d->asked;
	p->verb = ND_VERB_STREAM;
	p->dialect = "netperf";
	p->engine = p->tx = p->rx = p->wait = "auto";
	if (q->recv_avoid && q->direction == ND_NP_RECV && !d->asked.datagram)
		p->rx = "splice"; /* to nowhere, without a copy */
	p->payload = ND_PAYLOAD_NETPERF;
	p->threads = 1;
	p->untimed = true; /* the report has no latency of this end */
	p->goodbyes = d->asked.datagram ? 3 : 0;
	p->pin = NULL;
	p->pin_yields = true;
	if (cpu >= 0 && cpu <= CPU_MAX) {
		(void)snprintf(d->pin, sizeof(d->pin), "%d", (int)cpu); /* it fits */
		p->pin = d->pin;
	}
	fill_sockopts(d);
	fill_addresses(d);
	fill_times(d);
	p->workload[0] = (struct nd_workload){
		.active = q->direction == ND_NP_SEND ? ND_SERVER : ND_CLIENT,
		.load = load_of(q),
		.frame = "plain",
		.transport = d->asked.datagram ? "udp" : "tcp",
		.flows = 1,
		.message_bytes = 1,
	};
	p->workloads = p->workload_list.n = 1;
	return 0;
}

/* ---- sizes ---- */

/* Of one send or read: as asked, else as large as the buffer, else a page. */
static uint64_t size_of(uint64_t asked, uint64_t buffer, bool datagram)
{
	int64_t bytes = nd_np_signed(asked);
	uint64_t size = bytes > 0 ? (uint64_t)bytes : buffer;

	if (size == 0 || size == ND_UNKNOWN)
		size = ND_NP_AUTO_BYTES;
	return ND_MIN(size, datagram ? ND_MAX_DATAGRAM : ND_NP_STREAM_MAX);
}

static int turn_bytes(uint64_t word, bool datagram, uint64_t *ret)
{
	int64_t bytes = nd_np_signed(word);

	if (bytes == 0 || bytes < -1)
		return -EINVAL;
	if (bytes > (int64_t)(datagram ? ND_MAX_DATAGRAM : ND_NP_SIZE_MAX))
		return -EMSGSIZE;
	*ret = bytes < 0 ? 1 : (uint64_t)bytes;
	return 0;
}

static int fill_turns(struct nd_np *d, struct nd_workload *w)
{
	int r = turn_bytes(d->request.request, d->asked.datagram, &w->request_bytes);

	if (r == 0)
		r = turn_bytes(d->request.response, d->asked.datagram, &w->response_bytes);
	w->message_bytes = ND_MAX(w->request_bytes, w->response_bytes);
	return r;
}

/* So many in so many microseconds, if the client wants it. */
static void fill_pace(struct nd_np *d, struct nd_workload *w)
{
	const struct nd_np_request *q = &d->request;

	if (q->direction == ND_NP_SEND && q->burst > 0 && q->interval_us > 0)
		w->rate_ops = ND_MAX(q->burst * US_PER_S / q->interval_us, 1);
}

int nd_np_fill_sizes(struct nd_np *d)
{
	const struct nd_np_request *q = &d->request;
	struct nd_workload *w = &d->plan->workload[0];
	const struct nd_socket_facts *s = &d->socket;
	int64_t length = nd_np_signed(q->length);
	bool datagram = d->asked.datagram;

	if (q->direction == (ND_NP_SEND | ND_NP_RECV) || q->direction == 0) {
		w->total_ops = length < 0 ? (uint64_t)-length : 0;
		if (q->direction == 0)
			return 0;
		return fill_turns(d, w);
	}
	if (q->direction == ND_NP_RECV) {
		w->recv_bytes = w->message_bytes =
			size_of(q->recv_bytes, s->rcvbuf_bytes, datagram);
		return 0;
	}
	w->message_bytes = size_of(q->send_bytes, s->sndbuf_bytes, datagram);
	w->total_bytes = length < 0 ? (uint64_t)-length : 0;
	fill_pace(d, w);
	return 0;
}

/* ---- the answer ---- */

/* Of buffers in a ring: netperf would have so many. */
static uint64_t width_of(uint64_t asked, uint64_t buffer, uint64_t size)
{
	return asked > 0 ? asked : size > 0 && buffer != ND_UNKNOWN ? buffer / size + 1 : 1;
}

/* What this end does not do is told as it was asked. */
static void answer_sizes(const struct nd_np *d, struct nd_np_response *a)
{
	const struct nd_np_request *q = &d->request;
	const struct nd_workload *w = &d->plan->workload[0];
	const struct nd_socket_facts *s = &d->socket;

	a->recv_bytes = q->recv_bytes;
	a->recv_width = q->recv_width;
	a->send_bytes = q->send_bytes;
	a->send_width = q->send_width;
	if (q->direction == (ND_NP_SEND | ND_NP_RECV)) {
		a->recv_bytes = w->request_bytes;
		a->send_bytes = w->response_bytes;
		a->recv_width = width_of(q->recv_width, 0, 0);
		a->send_width = width_of(q->send_width, 0, 0);
	} else if (q->direction == ND_NP_RECV) {
		a->recv_bytes = w->message_bytes;
		a->recv_width = width_of(q->recv_width, s->rcvbuf_bytes, w->message_bytes);
	} else if (q->direction == ND_NP_SEND) {
		a->send_bytes = w->message_bytes;
		a->send_width = width_of(q->send_width, s->sndbuf_bytes, w->message_bytes);
	}
}

void nd_np_answer(struct nd_np *d, uint8_t *message)
{
	const struct nd_np_request *q = &d->request;
	bool measures = q->flags & ND_NP_MEASURE;
	struct nd_np_response a = {
		.type = q->type + 1,
		.rcvbuf = d->socket.rcvbuf_bytes & UINT32_MAX,
		.sndbuf = d->socket.sndbuf_bytes & UINT32_MAX,
		.nodelay = d->plan->sock.nodelay,
		.measure = measures,
		.flags = (d->plan->sock.nodelay ? (uint64_t)ND_NP_NODELAY : 0) |
			 (measures ? (uint64_t)ND_NP_MEASURE : 0),
		.cpu_rate = measures ? ND_NP_CPU_RATE : 0,
		.port = d->socket.port,
		.priority = q->priority,
		.tos = q->tos,
	};

	answer_sizes(d, &a);
	a.recv_width = ND_MIN(a.recv_width, UINT32_MAX);
	a.send_width = ND_MIN(a.send_width, UINT32_MAX);
	if (d->plan->workload[0].rate_ops > 0) {
		a.burst = q->burst;
		a.interval_us = q->interval_us;
	}
	if (!d->kind->says_all)
		a.length = q->length;
	if (nd_np_put(d->kind->answer, &a, message) < 0) { /* cannot be: all are of 32 bits */
		nd_np_put_word(message, 0, (uint32_t)a.type);
		nd_np_put_word(message, 1, EIO);
	}
}

/* ---- results ---- */

static uint64_t known(uint64_t v)
{
	return v == ND_UNKNOWN ? 0 : v;
}

static uint64_t low_word(uint64_t v)
{
	return known(v) & UINT32_MAX;
}

static double cores(double v)
{
	return isfinite(v) && v > 0 ? v : 0;
}

/* As netperf counts: all that is not idle, waiting for disks and stolen time included, of all CPUs. */
static void put_cpu(const struct nd_machine *m, struct nd_np_results *r)
{
	double all = cores(m->user_cores) + cores(m->system_cores) + cores(m->irq_cores) +
		     cores(m->softirq_cores) + cores(m->steal_cores) + cores(m->idle_cores);
	double idle = cores(m->idle_cores) - cores(m->iowait_cores);
	double part = all > 0 ? 100 / all : 0;

	r->cpu = nd_np_from_double(all > 0 ? 100 - idle * part : 0);
	r->user = nd_np_from_double(cores(m->user_cores) * part);
	r->system = nd_np_from_double(cores(m->system_cores) * part);
	r->iowait = nd_np_from_double(cores(m->iowait_cores) * part);
	r->irq = nd_np_from_double(cores(m->irq_cores) * part);
	r->softirq = nd_np_from_double(cores(m->softirq_cores) * part);
	r->peak_id = low_word(m->busiest_cpu);
	r->peak = nd_np_from_double(cores(m->busiest_ratio) * 100);
	r->method = ND_NP_FROM_STAT;
}

static uint64_t transactions_of(const struct nd_np *d, const struct nd_totals *t)
{
	if (known(t->transactions) > 0)
		return t->transactions;
	return d->request.direction == (ND_NP_SEND | ND_NP_RECV) ? known(t->tx_messages) : 0;
}

static void put_bytes(const struct nd_np *d, const struct nd_totals *t, uint64_t transactions,
		      struct nd_np_results *r)
{
	uint64_t rx = known(t->rx_bytes), tx = known(t->tx_bytes);
	double real = (double)(d->request.direction == ND_NP_SEND ? tx : rx);

	r->rx_high = rx >> 32;
	r->rx_low = rx & UINT32_MAX;
	r->tx_high = tx >> 32;
	r->tx_low = tx & UINT32_MAX;
	memcpy(&r->bytes, &real, sizeof(r->bytes));
	r->volume = (d->kind->datagram || transactions == 0 ? rx : rx + tx) & UINT32_MAX;
}

static void put_part(const struct nd_np *d, const struct nd_part *part, struct nd_np_results *r)
{
	const struct nd_totals *t = &part->run;
	double seconds = cores(t->seconds) > 0 ? t->seconds : cores(part->window.seconds);
	bool has_socket = !d->asked.datagram && !d->asked.connection_test;
	uint64_t transactions = transactions_of(d, t);

	put_bytes(d, t, transactions, r);
	r->rx_calls = low_word(t->rx_messages);
	r->tx_calls = low_word(t->tx_messages);
	r->transactions = transactions & UINT32_MAX;
	r->elapsed = nd_np_from_double(seconds);
	if (known(part->rcvbuf_bytes) > 0)
		r->rcvbuf = low_word(part->rcvbuf_bytes);
	if (known(part->sndbuf_bytes) > 0)
		r->sndbuf = low_word(part->sndbuf_bytes);
	if (has_socket && part->tcp.retransmits != ND_UNKNOWN)
		r->retransmits = low_word(part->tcp.retransmits);
	else if (has_socket && d->request.direction == ND_NP_RECV)
		r->retransmits = 0; /* it has sent nothing */
	if (has_socket && part->tcp.cc)
		memcpy(r->cc, part->tcp.cc, strnlen(part->tcp.cc, sizeof(r->cc) - 1));
}

static uint64_t loss_word(uint64_t n)
{
	return n == ND_UNKNOWN ? ND_NP_NONE : ND_MIN(n, UINT32_MAX - 1);
}

/* For a client that asks: other tools' do not, and find zeros. */
static void put_losses(const struct nd_side *side, const struct nd_part *part,
		       struct nd_np_results *r)
{
	const struct nd_machine *m = &side->machine;

	r->more = ND_NP_TELL_LOSS;
	r->own_drops = loss_word(part->run.rx_dropped);
	r->buffer_drops = loss_word(m->udp_rcvbuf_errors);
	r->no_port = loss_word(m->udp_no_ports);
	r->checksum = loss_word(m->udp_in_csum_errors);
	r->backlog_drops = loss_word(m->softnet_dropped);
	r->nic_drops = loss_word(m->nic_rx_dropped);
}

void nd_np_results(struct nd_np *d, const struct nd_side *side, uint8_t *message)
{
	struct nd_np_results r = {
		.type = d->request.type + 2,
		.rcvbuf = d->socket.rcvbuf_bytes & UINT32_MAX,
		.sndbuf = d->socket.sndbuf_bytes & UINT32_MAX,
		.retransmits = ND_NP_NONE,
	};
	const struct nd_part *part = nd_result_part(side, 0);

	if (part)
		put_part(d, part, &r);
	if (part && d->request.more == ND_NP_ASK_LOSS && d->asked.datagram)
		put_losses(side, part, &r);
	if (side && (d->request.flags & ND_NP_MEASURE)) {
		uint64_t online = known(side->host.cpus_online);

		put_cpu(&side->machine, &r);
		r.cpus = (online > 0 ? online : d->cpus) & UINT32_MAX;
	}
	if (nd_np_put(d->kind->results, &r, message) < 0) /* cannot be: all are of 32 bits */
		nd_np_put_word(message, 1, EIO);
}
