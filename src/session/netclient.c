/* SPDX-License-Identifier: MIT */
/* What is different in a client's session when it speaks netperf's language: where data goes, and its first socket. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

int nd_netclient_begin(struct nd_plan *plan, struct nd_err *err)
{
	const struct nd_netperf *n = nd_netperf_of(plan);
	struct nd_workload *w = &plan->workload[0];

	if (!n)
		return 0;
	plan->sock.plain_bufs = true;
	plan->await_end = w->active == ND_CLIENT;
	return make_targets(plan, n->parallel, err);
}

static enum nd_af family_of(const struct nd_addr *a)
{
	return a->u.sa.sa_family == AF_INET6 ? ND_AF_IPV6 : ND_AF_IPV4;
}

/* The host of the control connection, or another that was named. */
static int find_peer(const struct nd_plan *plan, const struct nd_netperf *n, struct nd_addr *ret,
		     struct nd_err *err)
{
	const char *host = n->data_host ? n->data_host : plan->host;
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

	if (!n || n->local_port == 0)
		return 0;
	if (from->len == 0) {
		int r = nd_addr_resolve(NULL, 0, family_of(to), true, from, 1, &found, err);

		if (r < 0)
			return r;
	}
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
			      host, port, family_name(plan->af), why.text, host);
		return;
	}
	if (n && n->local_host)
		from = n->local_host;
	/* an address that is not this machine's: scripts expect the code of a server that is not reached */
	(void)nd_fail(err, error == -EADDRNOTAVAIL ? -ENOTCONN : error,
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
