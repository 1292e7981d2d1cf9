/* SPDX-License-Identifier: MIT */
/* What netperf's client says in its request, and what it makes of the server's answers. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "dialect/netperf.h"

#define KIND_STREAM   1u
#define KIND_DATAGRAM 2u
#define PROTO_TCP     6u
#define PROTO_UDP     17u

/* ---- the request ---- */

static bool is_both(const struct nd_netperf *n)
{
	return n->direction == (ND_NP_SEND | ND_NP_RECV);
}

/* As the server sees it. */
static uint64_t turned(unsigned direction)
{
	return (direction & ND_NP_SEND ? (uint64_t)ND_NP_RECV : 0) |
	       (direction & ND_NP_RECV ? (uint64_t)ND_NP_SEND : 0);
}

static uint64_t flags_of(const struct nd_netperf *n)
{
	const struct {
		bool is_set;
		uint64_t flag;
	} rows[] = {
		{ n->nodelay, ND_NP_NODELAY },         { n->connection_test, ND_NP_CONNECT },
		{ n->remote_cpu, ND_NP_MEASURE },      { n->route, ND_NP_ROUTE },
		{ n->fastopen, ND_NP_FASTOPEN },       { n->connected_remote, ND_NP_CONNECTED },
		{ n->pmtu_discovery, ND_NP_DISCOVER }, { n->keepalive, ND_NP_KEEPALIVE },
		{ n->defer_accept, ND_NP_DEFER },      { n->pktinfo, ND_NP_PKTINFO },
	};

	uint64_t flags = 0;

	for (size_t i = 0; i < ND_COUNTOF(rows); i++)
		flags |= rows[i].is_set ? rows[i].flag : 0;
	return flags;
}

static void copy_text(uint8_t *to, size_t room, const char *text)
{
	if (text)
		memcpy(to, text, strnlen(text, room - 1));
}

/* The client's own rings; only told, and of no use to the server. */
static void put_widths(const struct nd_np *d, struct nd_np_request *q)
{
	const struct nd_netperf_said *said = &d->set->said;

	if (said->send_width.local > 0)
		q->send_width = nd_np_unsigned(said->send_width.local);
	if (said->recv_width.local > 0)
		q->recv_width = nd_np_unsigned(said->recv_width.local);
}

static void put_sizes(const struct nd_np *d, struct nd_np_request *q)
{
	const struct nd_netperf *n = d->set;
	bool counts = is_both(n) || n->direction == 0;

	q->sndbuf = nd_np_unsigned(n->sndbuf.remote);
	q->rcvbuf = nd_np_unsigned(n->rcvbuf.remote);
	q->send_bytes =
		n->send_bytes.remote > 0 ? nd_np_unsigned(n->send_bytes.remote) : ND_NP_NONE;
	q->recv_bytes =
		n->recv_bytes.remote > 0 ? nd_np_unsigned(n->recv_bytes.remote) : ND_NP_NONE;
	q->send_align = nd_np_unsigned(n->send_align.remote);
	q->recv_align = nd_np_unsigned(n->recv_align.remote);
	q->send_offset = nd_np_unsigned(n->send_offset.remote);
	q->recv_offset = nd_np_unsigned(n->recv_offset.remote);
	q->request = counts ? nd_np_unsigned(n->request_bytes) : ND_NP_NONE;
	q->response = counts ? nd_np_unsigned(n->response_bytes) : ND_NP_NONE;
	put_widths(d, q);
}

static void put_place(const struct nd_np *d, struct nd_np_request *q)
{
	const struct nd_netperf *n = d->set;
	const struct nd_socket_facts *s = &d->socket;

	q->port = nd_np_unsigned(ND_MAX(n->data_port.remote, 0)) & UINT16_MAX;
	q->family = s->ipv6 ? 6 : 4;
	q->kind = n->datagram ? KIND_DATAGRAM : KIND_STREAM;
	q->protocol = n->datagram ? PROTO_UDP : PROTO_TCP;
	q->client_port = d->links && d->link_n > 1 ? 0 : s->port;
	nd_np_put_ip(q->client_ip, s->address, s->ipv6);
	if (n->data_host)
		nd_np_put_ip(q->server_ip, s->peer, s->ipv6);
}

/* The old kinds count bytes upwards. */
static uint64_t length_of(const struct nd_np *d)
{
	int64_t length = d->set->length;
	bool is_old_stream = d->kind->type == ND_NP_STREAM_ASK;

	return nd_np_unsigned(is_old_stream && length < 0 ? -length : length);
}

int nd_np_ask(struct nd_np *d, unsigned link, uint8_t *message)
{
	const struct nd_netperf *n = d->set;
	struct nd_np_request q = {
		.type = d->kind->type,
		.cpu = nd_np_unsigned(n->cpu.remote),
		.flags = flags_of(n),
		.nodelay = n->nodelay,
		.measure = n->remote_cpu,
		.cpu_rate = n->remote_rate > 0 ? nd_np_from_double(n->remote_rate) : 0,
		.length = length_of(d),
		.recv_avoid = n->copy_avoidance,
		.send_avoid = n->copy_avoidance,
		.send_dirty = ND_NP_NONE,
		.recv_dirty = ND_NP_NONE,
		.recv_clean = ND_NP_NONE,
		.direction = turned(n->direction),
		.burst = ND_MIN(n->remote_burst, UINT32_MAX),
		.interval_us = ND_MIN(n->remote_burst_ns / ND_NS_PER_US, UINT32_MAX),
		.priority = nd_np_unsigned(n->priority.remote),
		.tos = nd_np_unsigned(n->tos.remote),
	};

	(void)link; /* all flows ask for the same */
	if (n->losses || n->parallel > 1)
		q.more = ND_NP_ASK_LOSS;
	put_sizes(d, &q);
	put_place(d, &q);
	if (!d->kind->says_all) { /* the old kinds know no -1 there */
		q.send_dirty = q.recv_dirty = q.recv_clean = 0;
		q.recv_bytes = q.recv_bytes == ND_NP_NONE ? 0 : q.recv_bytes;
	}
	copy_text(q.cc, sizeof(q.cc), n->remote_cc);
	copy_text(q.file, sizeof(q.file), n->remote_file);
	return nd_np_put(d->kind->ask, &q, message);
}

/* ---- the client's own sizes ---- */

static uint64_t size_of(int64_t asked, uint64_t buffer, bool datagram)
{
	uint64_t size = asked > 0 ? (uint64_t)asked : buffer;

	if (size == 0 || size == ND_UNKNOWN)
		size = ND_NP_AUTO_BYTES;
	return asked <= 0 && datagram ? ND_MIN(size, ND_MAX_DATAGRAM) : size;
}

static int64_t as_said(uint64_t v)
{
	return v == ND_UNKNOWN || v > INT64_MAX ? -1 : (int64_t)v;
}

static int64_t width_of(int64_t asked, bool is_used, bool is_turn, uint64_t buffer, int64_t size)
{
	if (asked > 0)
		return asked;
	if (!is_used)
		return 0;
	return is_turn || size <= 0 ? 1 : as_said(buffer / (uint64_t)size) + 1;
}

void nd_np_own_sizes(struct nd_np *d)
{
	struct nd_netperf *n = d->set;
	struct nd_netperf_said *said = &n->said;
	struct nd_workload *w = &d->plan->workload[0];
	const struct nd_socket_facts *s = &d->socket;
	bool sends = n->direction & ND_NP_SEND, receives = n->direction & ND_NP_RECV;

	said->sndbuf.local = as_said(s->sndbuf_bytes);
	said->rcvbuf.local = as_said(s->rcvbuf_bytes);
	said->data_port.local = as_said(s->port);
	if (is_both(n)) {
		said->send_bytes.local = n->request_bytes;
		said->recv_bytes.local = n->response_bytes;
	} else if (sends) {
		w->message_bytes = size_of(n->send_bytes.local, s->sndbuf_bytes, n->datagram);
		said->send_bytes.local = as_said(w->message_bytes);
	} else if (receives) {
		w->message_bytes = size_of(n->recv_bytes.local, s->rcvbuf_bytes, n->datagram);
		w->recv_bytes = w->message_bytes;
		said->recv_bytes.local = as_said(w->message_bytes);
	}
	said->send_width.local = width_of(n->send_width.local, sends, is_both(n), s->sndbuf_bytes,
					  said->send_bytes.local);
	said->recv_width.local = width_of(n->recv_width.local, receives, is_both(n),
					  s->rcvbuf_bytes, said->recv_bytes.local);
}

/* ---- the answer ---- */

static void set_target(struct nd_np *d, unsigned link, uint64_t port)
{
	struct nd_target *t = d->plan->targets.v;

	if (link == 0)
		d->plan->data_port = port;
	if (link < d->plan->targets.n)
		t[link].port = port;
}

/* What the server keeps to is what it says, and netperf's own says that it keeps no pace. */
static void take_pace(struct nd_np *d, const struct nd_np_response *r)
{
	if (d->set->remote_burst && !r->burst && d->set->direction == ND_NP_RECV)
		nd_log(ND_LOG_WARN, "-b: the server keeps no pace, it sends as fast as it can");
	d->set->remote_burst = r->burst;
	d->set->remote_burst_ns = r->interval_us * ND_NS_PER_US;
}

void nd_np_take_answer(struct nd_np *d, unsigned link, const struct nd_np_response *r)
{
	struct nd_netperf_said *said = &d->set->said;

	set_target(d, link, r->port);
	if (link > 0)
		return; /* all servers of one host are alike */
	said->sndbuf.remote = nd_np_signed(r->sndbuf);
	said->rcvbuf.remote = nd_np_signed(r->rcvbuf);
	said->send_bytes.remote = nd_np_signed(r->send_bytes);
	said->recv_bytes.remote = nd_np_signed(r->recv_bytes);
	said->send_width.remote = nd_np_signed(r->send_width);
	said->recv_width.remote = nd_np_signed(r->recv_width);
	said->data_port.remote = (int64_t)r->port;
	said->remote_priority = nd_np_signed(r->priority);
	said->remote_tos = nd_np_signed(r->tos);
	said->remote_nodelay = r->flags & ND_NP_NODELAY;
	take_pace(d, r);
	said->remote_cpu = d->set->remote_cpu && (r->flags & ND_NP_MEASURE);
	said->remote_rate = said->remote_cpu ? nd_np_to_double(r->cpu_rate) : (double)NAN;
}

/* ---- results ---- */

static void add(uint64_t *sum, uint64_t n)
{
	*sum = *sum == ND_UNKNOWN ? n : *sum + n;
}

static struct nd_side *new_side(struct nd_np *d)
{
	struct nd_side *s = nd_arena_alloc(&d->kept, 1, sizeof(*s));
	struct nd_part *part;

	if (!s)
		return NULL;
	nd_table_unknown(&nd_side_table, s);
	if (nd_list_new(&d->kept, &s->parts, 1, sizeof(*part)) < 0)
		return NULL;
	part = s->parts.v;
	nd_table_unknown(&nd_part_table, part);
	part->workload = 0;
	part->active = d->set->direction == ND_NP_RECV;
	s->name = "server";
	return s;
}

static double share(uint64_t bits)
{
	double percent = nd_np_to_double(bits);

	return isfinite(percent) ? percent / 100 : (double)NAN;
}

/* Percent of all CPUs there, as cores. */
static void take_cpu(struct nd_np *d, const struct nd_np_results *r, double seconds)
{
	struct nd_netperf_said *said = &d->set->said;
	struct nd_machine *m = &d->peer_side->machine;
	double n = (double)r->cpus;

	said->remote_cpus = nd_np_signed(r->cpus);
	said->remote_cpu_method = nd_np_signed(r->method);
	if (r->cpus == 0 || r->cpus > ND_NATIVE_CPUS_MAX)
		return;
	d->peer_side->host.cpus_online = r->cpus;
	m->seconds = seconds;
	m->busy_cores = share(r->cpu) * n;
	m->idle_cores = n - m->busy_cores;
	if (!d->kind->says_all)
		return;
	m->user_cores = share(r->user) * n;
	m->system_cores = share(r->system) * n;
	m->irq_cores = share(r->irq) * n;
	m->softirq_cores = share(r->softirq) * n;
	m->iowait_cores = share(r->iowait) * n;
	m->busiest_cpu = r->peak_id;
	m->busiest_ratio = share(r->peak);
}

/* Rates are those of the whole run: its parts are not told. */
static void take_totals(const struct nd_np *d, const struct nd_np_results *r, double seconds,
			struct nd_totals *t)
{
	add(&t->rx_bytes, r->rx_high << 32 | r->rx_low);
	add(&t->tx_bytes, r->tx_high << 32 | r->tx_low);
	add(&t->rx_messages, r->rx_calls);
	add(&t->tx_messages, r->tx_calls);
	add(&t->rx_calls, r->rx_calls);
	add(&t->tx_calls, r->tx_calls);
	if (is_both(d->set) || d->set->direction == 0)
		add(&t->transactions, r->transactions);
	if (!isfinite(seconds) || seconds <= 0)
		return;
	t->seconds = isfinite(t->seconds) ? ND_MAX(t->seconds, seconds) : seconds;
	t->rx_bps = (double)t->rx_bytes * 8 / t->seconds;
	t->tx_bps = (double)t->tx_bytes * 8 / t->seconds;
	t->start_ns = 0;
	t->end_ns = (uint64_t)ND_MIN(t->seconds * (double)ND_NS_PER_S, (double)ND_MAX_NS);
}

/* The name must not steer a terminal. */
static const char *cc_of(struct nd_np *d, const uint8_t cc[16])
{
	char text[17] = { 0 };

	memcpy(text, cc, 16);
	for (char *p = text; *p; p++) {
		if (*p <= ' ' || *p > '~')
			return NULL;
	}
	return text[0] ? nd_arena_dup(&d->kept, text) : NULL;
}

static uint64_t told(uint64_t word)
{
	return word == ND_NP_NONE ? ND_UNKNOWN : word;
}

/* Of several flows' servers: each counts its own socket, and all the same machine. */
static void take_most(uint64_t *to, uint64_t word)
{
	uint64_t n = told(word);

	if (n != ND_UNKNOWN)
		*to = *to == ND_UNKNOWN ? n : ND_MAX(*to, n);
}

static void take_losses(struct nd_machine *m, struct nd_totals *t, const struct nd_np_results *r)
{
	if (r->more != ND_NP_TELL_LOSS)
		return;
	if (told(r->own_drops) != ND_UNKNOWN)
		add(&t->rx_dropped, r->own_drops);
	take_most(&m->udp_rcvbuf_errors, r->buffer_drops);
	take_most(&m->udp_no_ports, r->no_port);
	take_most(&m->udp_in_csum_errors, r->checksum);
	take_most(&m->softnet_dropped, r->backlog_drops);
	take_most(&m->nic_rx_dropped, r->nic_drops);
}

int nd_np_take_results(struct nd_np *d, const struct nd_np_results *r)
{
	struct nd_netperf_said *said = &d->set->said;
	double seconds = nd_np_to_double(r->elapsed);
	struct nd_part *part;

	if (!d->peer_side)
		d->peer_side = new_side(d);
	if (!d->peer_side)
		return -ENOMEM;
	part = d->peer_side->parts.v;
	take_totals(d, r, seconds, &part->run);
	take_losses(&d->peer_side->machine, &part->run, r);
	part->window = part->run;
	said->remote_elapsed_s = part->run.seconds;
	said->remote_recv_calls = as_said(part->run.rx_calls);
	said->remote_send_calls = as_said(part->run.tx_calls);
	if (said->remote_cpu)
		take_cpu(d, r, seconds);
	if (r->rcvbuf > 0)
		part->rcvbuf_bytes = r->rcvbuf;
	if (r->sndbuf > 0)
		part->sndbuf_bytes = r->sndbuf;
	if (!d->set->datagram && !d->set->connection_test && nd_np_signed(r->retransmits) >= 0)
		add(&part->tcp.retransmits, r->retransmits);
	part->nodelay = said->remote_nodelay;
	if (!part->tcp.cc)
		part->tcp.cc = cc_of(d, r->cc);
	return 0;
}
