/* SPDX-License-Identifier: MIT */
/* What is different in a client's session when it speaks netperf's language: where data goes, and its first socket. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/fd.h"
#include "base/log.h"
#include "session/netserver.h"

/* A control connection and a flow each, to the same host: what the server tells makes their ports. */
static int make_targets(struct nd_plan *plan, uint64_t n, struct nd_err *err)
{
	struct nd_target *t;

	if (plan->targets.n > 0 || n < 2)
		return 0;
	if (n > ND_MAX_FLOWS || nd_list_new(&plan->arena, &plan->targets, n, sizeof(*t)) < 0)
		return nd_fail(err, -ENOMEM, "no memory for %llu flows", (unsigned long long)n);
	t = plan->targets.v;
	for (uint64_t i = 0; i < n; i++)
		t[i] = (struct nd_target){
			.host = plan->host, .port = plan->port, .flows = 1, .ports = 1, .cpu = -1
		};
	return 0;
}

static enum nd_af family_of(const struct nd_addr *a)
{
	return a->u.sa.sa_family == AF_INET6 ? ND_AF_IPV6 : ND_AF_IPV4;
}

/* Bytes of an address; *ret_n: how many. */
static uint8_t *bytes_of(struct nd_addr *a, size_t *ret_n)
{
	bool ipv6 = family_of(a) == ND_AF_IPV6;

	*ret_n = ipv6 ? sizeof(a->u.in6.sin6_addr) : sizeof(a->u.in.sin_addr);
	return ipv6 ? a->u.in6.sin6_addr.s6_addr : (uint8_t *)&a->u.in.sin_addr;
}

/* An address whose first @bits are those of @host. */
static int draw(struct nd_plan *plan, const char *host, uint64_t bits, const char **ret,
		struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(plan);
	struct nd_addr a = { 0 };
	uint8_t random[16], *bytes;
	char text[64];
	size_t found = 0, size;
	int r = nd_addr_resolve(host, 0, n->data_af, false, &a, 1, &found, err);

	if (r < 0)
		return r;
	nd_addr_unmap(&a);
	bytes = bytes_of(&a, &size);
	if (bits > 8 * size)
		return nd_fail(err, -EINVAL, "'%.80s/%llu': the address has %zu bits", host,
			       (unsigned long long)bits, 8 * size);
	if (getrandom(random, size, 0) != (ssize_t)size)
		return nd_sysfail(err, "getrandom");
	for (size_t i = 0; i < size; i++) {
		uint64_t kept = ND_MIN(bits > 8 * i ? bits - 8 * i : 0, 8);
		uint8_t free_bits = (uint8_t)(0xffu >> kept);

		bytes[i] = (uint8_t)((bytes[i] & ~free_bits) | (random[i] & free_bits));
	}
	*ret = nd_arena_dup(&plan->arena, nd_addr_text(&a, false, text, sizeof(text)));
	return *ret ? 0 : nd_fail(err, -ENOMEM, "no memory for an address");
}

/* Where a mask leaves bits open, each test has other addresses. */
static int draw_addresses(struct nd_plan *plan, const struct nd_netperf *n, struct nd_err *err)
{
	struct nd_target *t = plan->targets.v;
	const char *host = NULL;
	int r = 0;

	if (n->data_local_bits && plan->bind.n)
		r = draw(plan, n->data_local, n->data_local_bits, &host, err);
	if (r == 0 && host)
		plan->bind.v[0] = host;
	if (r < 0 || !n->data_host_bits)
		return r;
	r = draw(plan, n->data_host, n->data_host_bits, &host, err);
	for (uint64_t i = 0; r == 0 && i < plan->targets.n; i++)
		t[i].host = host;
	return r;
}

int nd_netclient_begin(struct nd_plan *plan, struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(plan);
	struct nd_workload *w = &plan->workload[0];
	int r;

	if (!n)
		return 0;
	plan->sock.plain_bufs = true;
	plan->await_end = w->active == ND_CLIENT;
	r = make_targets(plan, n->parallel, err);
	return r < 0 ? r : draw_addresses(plan, n, err);
}

/* The host of the control connection, or another that was named. */
static int find_peer(const struct nd_plan *plan, const struct nd_netperf *n, struct nd_addr *ret,
		     struct nd_err *err)
{
	const struct nd_target *t = plan->targets.v;
	const char *host = !n->data_host ? plan->host : plan->targets.n ? t->host : n->data_host;
	enum nd_af af = n->data_af != ND_AF_ANY ? n->data_af : plan->af;
	size_t found = 0;

	if (ret->len > 0 && !n->data_host &&
	    (n->data_af == ND_AF_ANY || n->data_af == family_of(ret)))
		return 0;
	if (af == ND_AF_ANY && ret->len > 0)
		af = family_of(ret);
	return nd_addr_resolve(host, plan->data_port, af, false, ret, 1, &found, err);
}

static int find_source(const struct nd_plan *plan, const struct nd_addr *peer, struct nd_addr *ret,
		       struct nd_err *err)
{
	const char *host = plan->bind.n && plan->bind.v[0][0] != '%' ? plan->bind.v[0] : NULL;
	size_t found = 0;

	return nd_addr_resolve(host, plan->source_port, family_of(peer), true, ret, 1, &found, err);
}

int nd_netclient_source(const struct nd_plan *plan, const struct nd_addr *to, struct nd_addr *from,
			struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(plan);
	size_t found = 0;
	int r;

	if (!n)
		return 0;
	from->len = 0; /* the data's own address is not this connection's */
	if (!n->local_host && n->local_port == 0)
		return 1;
	r = nd_addr_resolve(n->local_host, 0, family_of(to), true, from, 1, &found, err);
	if (r < 0)
		return r;
	nd_addr_set_port(from, (uint16_t)n->local_port);
	return 1;
}

static const char *family_name(enum nd_af af)
{
	return af == ND_AF_IPV6 ? "AF_INET6" : af == ND_AF_IPV4 ? "AF_INET" : "AF_UNSPEC";
}

void nd_netclient_explain(const struct nd_plan *plan, const struct nd_addr *to, int error,
			  struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(plan);
	const char *host = plan->host;
	unsigned long long port = plan->port;
	const struct nd_err why = *err;
	const char *from = to && family_of(to) == ND_AF_IPV6 ? "::0" : "0.0.0.0";

	if (!to) {
		(void)nd_fail(err, error,
			      "resolve_host: could not resolve host '%.80s' port '%llu' af %s\n%s\n"
			      "Netperf could not resolve %.80s as a host name",
			      host, port, family_name(n ? n->control_af : plan->af), why.text,
			      host);
		return;
	}
	if (n && n->local_host)
		from = n->local_host;
	if (error != -ECONNREFUSED)
		nd_log(ND_LOG_WARN, "%s", why.text);
	/* this end's address or port may be at fault: scripts expect the code of a server that is not reached */
	(void)nd_fail(err, error == -ENOMEM ? error : -ENOTCONN,
		      "establish control: are you sure there is a netserver listening on %.80s at "
		      "port %llu?\nestablish_control could not establish the control connection "
		      "from %.64s port %llu address family %s to %.80s port %llu address family %s",
		      host, port, from, n ? (unsigned long long)n->local_port : 0ull,
		      family_name(n ? n->control_af : ND_AF_ANY), host, port,
		      family_name(family_of(to)));
}

void nd_netclient_tell(const struct nd_plan *plan, const struct nd_result *r)
{
	const struct nd_netperf *n = nd_netperf_of(plan);
	const struct nd_part *p = nd_result_part(r->client, 0);
	const struct nd_tcp_last *t = p ? &p->last : NULL;
	char line[160];

	if (!n || !n->shows_tcp_info || !t || !t->is_known)
		return;
#define SHOW(...)                                                \
	do {                                                     \
		(void)snprintf(line, sizeof(line), __VA_ARGS__); \
		nd_log_line("", line);                           \
	} while (0)
#define U(member) ((unsigned long long)t->member)
	SHOW("tcpi_rto %llu tcpi_ato %llu tcpi_pmtu %llu tcpi_rcv_ssthresh %llu", U(rto_us),
	     U(ato_us), U(pmtu_bytes), U(rcv_ssthresh));
	/* the fourth name has always been spelt so */
	SHOW("tcpi_rtt %llu tcpi_rttvar %llu tcpi_snd_ssthresh %llu tpci_snd_cwnd %llu", U(rtt_us),
	     U(rttvar_us), U(snd_ssthresh), U(cwnd_segments));
	SHOW("tcpi_reordering %llu tcpi_total_retrans %llu", U(reordering), U(retransmits));
#undef U
#undef SHOW
}

int nd_netclient_socket(struct nd_plan *plan, struct nd_addr *peer, struct nd_socket_facts *ret,
			struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(plan);
	const struct nd_workload *w = &plan->workload[0];
	const struct nd_transport *t = nd_transport_find(w->transport);
	nd_auto_fd int fd = -1;
	struct nd_addr from;
	int r;

	if (!n || !t)
		return nd_fail(err, -EPROTONOSUPPORT, "there is no transport '%s'", w->transport);
	r = find_peer(plan, n, peer, err);
	if (r < 0)
		return r;
	nd_addr_unmap(peer);
	r = find_source(plan, peer, &from, err);
	if (r == 0)
		r = nd_bound(t, &plan->sock, &from, false, &fd, err);
	if (r < 0 && plan->sock.cc) {
		nd_log(ND_LOG_WARN, "-K: %s: left as it is", err->text);
		plan->sock.cc = NULL;
		r = nd_bound(t, &plan->sock, &from, false, &fd, err);
	}
	if (r == 0)
		r = nd_datasock_facts(fd, peer, ret, err);
	if (r < 0)
		return r;
	/* the run makes the flows' sockets anew; from the same port where the server must know it */
	if ((t->caps & ND_NET_DATAGRAM) && w->active == ND_SERVER)
		plan->source_port = ret->port;
	if (!plan->source_port)
		ret->port = 0;
	return 0;
}
