/* SPDX-License-Identifier: MIT */
/* Data sockets that exist before their run: a server tells its client of them. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "plan/sockperf.h"
#include "session/netserver.h"

static uint64_t buffer_of(int fd, int option)
{
	int bytes = 0;
	socklen_t len = sizeof(bytes);

	return getsockopt(fd, SOL_SOCKET, option, &bytes, &len) == 0 && bytes > 0 ? (uint64_t)bytes
										  : 0;
}

static void put_address(const struct nd_addr *a, uint8_t out[16])
{
	if (a->u.sa.sa_family == AF_INET6)
		memcpy(out, &a->u.in6.sin6_addr, 16);
	else
		memcpy(out, &a->u.in.sin_addr, 4);
}

int nd_datasock_facts(int fd, const struct nd_addr *peer, struct nd_socket_facts *ret,
		      struct nd_err *err)
{
	struct nd_addr at = { .len = sizeof(at.u) }, to;

	if (getsockname(fd, &at.u.sa, &at.len) < 0)
		return nd_sysfail(err, "asking a data socket for its address");
	*ret = (struct nd_socket_facts){
		.port = nd_addr_port(&at),
		.sndbuf_bytes = buffer_of(fd, SO_SNDBUF),
		.rcvbuf_bytes = buffer_of(fd, SO_RCVBUF),
		.ipv6 = at.u.sa.sa_family == AF_INET6,
	};
	put_address(&at, ret->address);
	if (peer) {
		to = *peer;
		nd_addr_unmap(&to);
		put_address(&to, ret->peer);
	}
	return 0;
}

void nd_datasock_tell(const struct nd_plan *plan, const struct nd_sink *sink, int fd)
{
	struct nd_socket_facts is = { 0 };
	struct nd_err err = { 0 };
	struct nd_progress_event ev = { .what = ND_PROG_SOCKET, .fd = fd };

	if (!sink || !sink->progress || !nd_sockperf_of(plan) || plan->sock.rcvbuf_bytes == 0 ||
	    nd_datasock_facts(fd, NULL, &is, &err) < 0)
		return;
	ev.sndbuf_bytes = is.sndbuf_bytes;
	ev.rcvbuf_bytes = is.rcvbuf_bytes;
	sink->progress(sink->user, &ev);
}

/* Data takes the family that was asked for, or that of the control connection. */
static enum nd_af family_of(const struct nd_plan *plan, const struct nd_addr *control)
{
	struct nd_addr a = *control;

	if (plan->af != ND_AF_ANY)
		return plan->af;
	nd_addr_unmap(&a);
	return a.u.sa.sa_family == AF_INET6 ? ND_AF_IPV6 : ND_AF_IPV4;
}

static int bind_at(struct nd_plan *plan, const struct nd_transport *t, struct nd_addr *at,
		   int *ret_fd, struct nd_err *err)
{
	bool listens = !(t->caps & ND_NET_DATAGRAM);
	int r = nd_bound(t, &plan->sock, at, listens, ret_fd, err);

	if (r < 0 && plan->sock.cc) { /* a client may wish for what is not here */
		plan->sock.cc = NULL;
		r = nd_bound(t, &plan->sock, at, listens, ret_fd, err);
	}
	return r;
}

/* Datagrams go to nobody but the client. */
static int connect_to(const struct nd_plan *plan, const struct nd_addr *control, int fd,
		      struct nd_err *err)
{
	struct nd_addr to = *control;
	size_t n = 0;
	int r = 0;

	nd_addr_unmap(&to);
	if (plan->host)
		r = nd_addr_resolve(plan->host, plan->port, plan->af, false, &to, 1, &n, err);
	if (r < 0)
		return r;
	nd_addr_set_port(&to, (uint16_t)plan->port);
	if (connect(fd, &to.u.sa, to.len) < 0)
		return nd_sysfail(err, "connecting a data socket");
	return 0;
}

/* Where the client asks for it; else at another port, which it is told, or at any address: what it calls this machine
 * may be another machine that translates addresses. */
static int bind_near(struct nd_plan *plan, const struct nd_transport *t,
		     const struct nd_addr *control, int *ret_fd, struct nd_err *err)
{
	const char *hosts[] = { plan->bind.n ? plan->bind.v[0] : NULL, NULL };
	int r = -EADDRNOTAVAIL;

	for (unsigned i = 0; r < 0 && i < 4; i++) {
		const char *host = hosts[i / 2];
		uint64_t port = i % 2 ? 0 : plan->data_port;
		struct nd_addr at;
		size_t n = 0;

		r = nd_addr_resolve(host, port, family_of(plan, control), true, &at, 1, &n, err);
		if (r == 0)
			r = bind_at(plan, t, &at, ret_fd, err);
	}
	return r;
}

int nd_datasock_serve(struct nd_plan *plan, const struct nd_addr *control, int *ret_fd,
		      struct nd_err *err)
{
	const struct nd_workload *w = &plan->workload[0];
	const struct nd_transport *t = nd_transport_find(w->transport);
	nd_auto_fd int fd = -1;
	int r;

	if (!t)
		return nd_fail(err, -EPROTONOSUPPORT, "there is no transport '%s'", w->transport);
	r = bind_near(plan, t, control, &fd, err);
	if (r == 0 && (t->caps & ND_NET_DATAGRAM) && w->active == ND_SERVER)
		r = connect_to(plan, control, fd, err);
	if (r == 0)
		*ret_fd = nd_take_fd(&fd);
	return r;
}

void nd_datasock_claim(int fd)
{
	struct nd_addr from = { .len = sizeof(from.u) };
	char byte;

	/* who cannot be connected to is heard all the same */
	if (recvfrom(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, &from.u.sa, &from.len) >= 0)
		(void)!connect(fd, &from.u.sa, from.len);
}
