/* SPDX-License-Identifier: MIT */
/* One connection of a flow, before the run or while it goes on, and what the sockets of both ends are set to. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "run/int.h"

#define PORT_TRIES 64 /* source ports that are taken by others, before the load waits a moment */

/* Other tools' connections are made as they make them. */
bool nd_acks_with_request(const struct nd_run *r, unsigned lane)
{
	return r->lanes[lane].load->asks_first && !r->cfg.plan->face;
}

/* One packet less: the first bytes go with what ends the handshake. What receives keeps the kernel's own way to
 * acknowledge; connections of the test itself are not greeted, but ask. */
static bool speaks_first(const struct nd_run *r, const struct nd_flow *f)
{
	const struct nd_greeting *g = r->cfg.greeting;
	const struct nd_lane *l = &r->lanes[f->workload];

	if (l->load->connects)
		return f->active && nd_acks_with_request(r, f->workload);
	return g && g->quiet_at && f->active && !nd_is_datagram(l) &&
	       nd_layout_halves(l, true) == 1;
}

int nd_setup_dial(const struct nd_worker *w, struct nd_flow *f, const struct nd_sockopts *o,
		  struct nd_err *err)
{
	const struct nd_run_cfg *cfg = &w->run->cfg;
	const char *source = nd_route_multicast(w->run, f->tx.flow);
	const struct nd_lane *l = nd_lane_of(w, f);
	struct nd_sockopts own = *o;
	struct nd_addr to, from;
	bool bound;

	if (source)
		own.multicast.source = source;
	own.speaks_first = speaks_first(w->run, f);
	nd_route_peer(w->run, f->tx.flow, &to);
	bound = nd_route_source(w->run, f->tx.flow, &to, &from);
	return nd_open(l->transport, &own, &to, bound ? &from : NULL, cfg->dev, &f->fd, err);
}

/* From the next port of this worker's share of them: each has every so many-th. */
static int connect_in_turn(struct nd_worker *w, struct nd_flow *f, const struct nd_sockopts *o)
{
	const struct nd_plan *p = w->run->cfg.plan;
	uint64_t n = p->turn_ports[1] - p->turn_ports[0] + 1;
	uint64_t at = w->index + w->ports_used++ * w->run->worker_n;
	struct nd_addr to, from;
	struct nd_err why;

	nd_route_peer(w->run, f->tx.flow, &to);
	nd_route_port(w->run, f->tx.flow, &to, p->turn_ports[0] + at % n, &from);
	return nd_open(nd_lane_of(w, f)->transport, o, &to, &from, w->run->cfg.dev, &f->fd, &why);
}

void nd_setup_peer(const struct nd_io *io, const struct nd_flow *f, struct nd_addr *ret)
{
	const struct nd_worker *w = io->run;

	nd_route_peer(w->run, f->tx.flow, ret);
}

int nd_setup_connect(struct nd_io *io, struct nd_flow *f)
{
	struct nd_sockopts o = io->plan->sock;
	struct nd_worker *w = io->run;
	struct nd_err why;
	int r = -EADDRINUSE;

	o.blocks = nd_io_may_wait(io, f);
	if (!io->plan->turn_ports[0])
		return nd_setup_dial(w, f, &o, &why);
	for (int i = 0; i < PORT_TRIES && (r == -EADDRINUSE || r == -EADDRNOTAVAIL); i++)
		r = connect_in_turn(w, f, &o);
	return r;
}

bool nd_setup_admits(struct nd_io *io, int fd)
{
	const struct nd_worker *w = io->run;
	const struct nd_run_cfg *cfg = &w->run->cfg;
	struct nd_addr peer = { .len = sizeof(peer.u) };

	if (getpeername(fd, &peer.u.sa, &peer.len) < 0)
		return false; /* it has gone */
	for (uint64_t i = 0; i < cfg->allow_n; i++) {
		if (nd_cidr_holds(&cfg->allow[i], &peer))
			return true;
	}
	return false;
}

int nd_setup_halves(struct nd_worker *w)
{
	for (uint32_t i = 0; i < w->io.flow_count; i++) {
		if (w->flows[i].half == 0)
			continue;
		w->flows[i].fd = fcntl(w->flows[i - 1].fd, F_DUPFD_CLOEXEC, 0);
		if (w->flows[i].fd < 0)
			return nd_sysfail(&w->err, "second descriptor of flow %llu",
					  (unsigned long long)w->flows[i].tx.flow);
	}
	return 0;
}

void nd_setup_pace(const struct nd_worker *w, const struct nd_flow *f)
{
	const struct nd_workload *wl = nd_lane_of(w, f)->workload;
	uint64_t asked_bps = w->run->cfg.plan->sock.pacing_bps;

	if (asked_bps && f->active && nd_pacing_rate(f->fd, ND_MAX(asked_bps / 8, 1)) < 0)
		return; /* a kernel that cannot is as fast as it is */
	if (asked_bps || !wl->rate_bps || !f->active || nd_is_datagram(nd_lane_of(w, f)))
		return;
	/* TCP paces itself; our own schedule stays in charge, so a tenth above leaves room for headers */
	if (nd_pacing_rate(f->fd, wl->rate_bps / 8 / wl->flows * 11 / 10 + 1) < 0)
		return; /* then our schedule paces alone */
}

int nd_setup_busy_poll(struct nd_worker *w, const struct nd_flow *f)
{
	uint64_t us = w->run->cfg.plan->busy_poll_us;

	return us ? nd_busy_poll(f->fd, us, &w->err) : 0;
}
