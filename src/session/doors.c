/* SPDX-License-Identifier: MIT */
/* The server's listening sockets: TCP and UDP on one port, for each address. */
#include <errno.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/log.h"
#include "session/int.h"

#define PORT_TRIES    32 /* port 0: TCP's choice may be taken for UDP */
#define ADDRESSES_MAX 16
#define ADDRESS_TEXT  80
#define FIRST_OF_ALL  1024 /* ports below are for root, unless the system says otherwise */

/* Multipath listeners serve plain TCP as well; not every kernel has them. */
static int listen_stream(const struct nd_addr *at, bool v6only, int *ret_fd,
			 const struct nd_transport **ret_t, struct nd_err *err)
{
	static const char *const names[] = { "mptcp", "tcp" };
	int r = -EPROTONOSUPPORT;

	for (size_t i = 0; i < ND_COUNTOF(names); i++) {
		const struct nd_transport *t = nd_transport_find(names[i]);

		if (!t)
			continue;
		*ret_t = t;
		r = nd_listen(t, at, v6only, ret_fd, err);
		if (r == 0 || r == -EADDRINUSE)
			return r;
	}
	return r;
}

static int port_of(int fd, uint16_t *ret, struct nd_err *err)
{
	struct nd_addr a = { .len = sizeof(a.u) };

	if (getsockname(fd, &a.u.sa, &a.len) < 0)
		return nd_sysfail(err, "asking for the port");
	*ret = nd_addr_port(&a);
	return 0;
}

static void announce(const struct nd_server *s, const struct nd_addr *at)
{
	char where[128], text[192];
	struct nd_progress_event ev = { .what = ND_PROG_LISTENING, .text = text };

	(void)snprintf(text, sizeof(text), "listening on %s (TCP and UDP)", /* it fits */
		       nd_addr_text(at, true, where, sizeof(where)));
	/* nobody could know a port that the kernel has picked */
	nd_log(s->picks_port ? ND_LOG_WARN : ND_LOG_INFO, "%s", text);
	if (s->sink && s->sink->progress)
		s->sink->progress(s->sink->user, &ev);
}

/* Both sockets of one address. @at gets the port that was chosen. */
static int open_pair(struct nd_server *s, struct nd_addr *at, bool v6only, struct nd_err *err)
{
	nd_auto_fd int stream = -1;
	nd_auto_fd int datagram = -1;
	const struct nd_transport *t = NULL, *udp = nd_transport_find("udp");
	uint16_t port = 0;
	int r;

	if (!udp)
		return nd_fail(err, -EPROTONOSUPPORT, "there is no transport 'udp'");
	r = listen_stream(at, v6only, &stream, &t, err);
	if (r == 0)
		r = port_of(stream, &port, err);
	if (r < 0)
		return r;
	nd_addr_set_port(at, port);
	r = nd_listen(udp, at, v6only, &datagram, err);
	if (r == 0)
		r = nd_lobby_listen(s->lobby, nd_take_fd(&stream), t, err);
	if (r == 0)
		r = nd_lobby_listen(s->lobby, nd_take_fd(&datagram), udp, err);
	if (r == 0)
		announce(s, at);
	return r;
}

/* @err: what the system said; @at: where. */
static int explain(int code, const struct nd_addr *at, struct nd_err *err)
{
	char text[ADDRESS_TEXT];

	(void)nd_addr_text(at, true, text, sizeof(text)); /* returns the buffer */
	if (code == -EADDRINUSE)
		return nd_fail(err, code,
			       "%s is in use: does another server run? -p takes another port",
			       text);
	if (code == -EACCES && nd_addr_port(at) < FIRST_OF_ALL)
		return nd_fail(err, code, "%s: ports below %d are for root; -p takes another port",
			       text, FIRST_OF_ALL);
	return code;
}

static int open_address(struct nd_server *s, const struct nd_addr *where, bool v6only,
			struct nd_err *err)
{
	uint64_t asked = s->plan->port;
	int r = -EADDRINUSE;

	for (int i = 0; i < (asked ? 1 : PORT_TRIES) && r == -EADDRINUSE; i++) {
		struct nd_addr at = *where;

		nd_addr_set_port(&at, (uint16_t)asked);
		r = open_pair(s, &at, v6only, err);
		if (r == 0)
			s->plan->port = nd_addr_port(&at);
		else
			r = explain(r, &at, err);
	}
	return r;
}

/* Everything: IPv6 carries IPv4 too, unless one of them was asked for. */
static int open_all(struct nd_server *s, struct nd_err *err)
{
	enum nd_af af = s->plan->af;
	struct nd_addr at;
	size_t n = 0;
	int r = nd_addr_resolve(NULL, s->plan->port, af, true, &at, 1, &n, err);

	if (r == 0)
		r = open_address(s, &at, af == ND_AF_IPV6, err);
	if (r == 0 || af != ND_AF_ANY || at.u.sa.sa_family != AF_INET6 || r == -EADDRINUSE ||
	    r == -EACCES)
		return r;
	r = nd_addr_resolve(NULL, s->plan->port, ND_AF_IPV4, true, &at, 1, &n, err);
	return r < 0 ? r : open_address(s, &at, false, err);
}

static int open_named(struct nd_server *s, const char *name, bool alone, struct nd_err *err)
{
	struct nd_addr at[ADDRESSES_MAX];
	size_t n = 0;
	int r = nd_addr_resolve(name, s->plan->port, s->plan->af, true, at, ADDRESSES_MAX, &n, err);

	if (r < 0)
		s->failed_as = nd_ending_of(ND_AT_OPTION, r);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = open_address(s, &at[i], !alone || s->plan->af == ND_AF_IPV6, err);
	return r < 0 ? nd_wrap(err, r, "listening on %s", name) : 0;
}

int nd_doors_open(struct nd_server *s, struct nd_err *err)
{
	const struct nd_strv *list = &s->plan->serve.listen;
	int r = 0;

	s->picks_port = s->plan->port == 0;
	if (list->n == 0)
		return open_all(s, err);
	/* Beside others the IPv6 wildcard keeps to IPv6, or it would take the others' port. */
	for (uint64_t i = 0; r == 0 && i < list->n; i++)
		r = open_named(s, list->v[i], list->n == 1, err);
	return r;
}
