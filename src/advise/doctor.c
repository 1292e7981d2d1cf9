/* SPDX-License-Identifier: MIT */
/* netdyno doctor: gather, judge, ask the other host, tell. */
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/fd.h"
#include "advise/int.h"

struct visit {
	const struct nd_doctor_ask *ask;
	const struct nd_local_place *place;
	struct nd_os *os; /* owned, like those below */
	struct nd_arena arena;
	struct nd_findings all;
	struct nd_doctor_facts here;
	struct nd_addr to; /* .len 0: none */
	char nic[IF_NAMESIZE];
};

static int resolve(struct visit *v, struct nd_err *err)
{
	enum nd_af af = v->ask->ipv4 ? ND_AF_IPV4 : v->ask->ipv6 ? ND_AF_IPV6 : ND_AF_ANY;
	struct nd_addr found[8];
	size_t n = 0;
	int r;

	if (!v->ask->host)
		return 0;
	r = nd_addr_resolve(v->ask->host, v->ask->port, af, false, found, ND_COUNTOF(found), &n,
			    err);
	if (r == 0 && n == 0)
		r = nd_fail(err, -ENOENT, "%s has no address", v->ask->host);
	if (r < 0)
		return r == -ENOMEM ? r : -EHOSTUNREACH; /* no fault of this machine */
	v->to = found[0];
	return 0;
}

/* The interface that packets to the host would leave by. */
static bool nic_to(const struct nd_addr *to, char *ret, size_t size)
{
	nd_auto_fd int fd = socket(to->u.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct nd_addr own = { .len = sizeof(own.u) };

	return fd >= 0 && connect(fd, &to->u.sa, to->len) == 0 &&
	       getsockname(fd, &own.u.sa, &own.len) == 0 &&
	       nd_os_nic_for(&own.u.ss, ret, size) == 0;
}

static int choose_nic(struct visit *v, struct nd_err *err)
{
	struct nd_os_sample s;
	bool there;

	if (!v->ask->nic) {
		if (!v->to.len || !nic_to(&v->to, v->nic, sizeof(v->nic)))
			(void)nd_os_default_nic(v->os, v->nic, sizeof(v->nic)); /* else none */
		return 0;
	}
	if (nd_os_sample(v->os, &s) < 0)
		return nd_fail(err, -ENOMEM, "doctor: out of memory");
	there = nd_os_nic(&s, v->ask->nic) && strlen(v->ask->nic) < sizeof(v->nic);
	if (there)
		memcpy(v->nic, v->ask->nic, strlen(v->ask->nic) + 1);
	else
		(void)nd_os_no_nic(&s, v->ask->nic, err); /* returned below */
	nd_os_sample_done(&s);
	return there ? 0 : -ENODEV;
}

static void add_port(struct nd_firewall_ask *ask, uint64_t port)
{
	if (ask->ports < ND_COUNTOF(ask->port) && port >= 1 && port <= UINT16_MAX)
		ask->port[ask->ports++] = (uint16_t)port;
}

/* Those of a tool's server: one, or a row of them, which has a port to synchronise below it. */
static void add_tool(struct nd_firewall_ask *ask, const struct nd_plan *tool)
{
	const struct nd_target *t = tool->targets.v;
	uint64_t i, k;

	for (i = 0; i < ask->ports; i++)
		if (ask->port[i] == tool->port)
			return; /* a server of UDP, and one of TCP */
	if (!tool->targets.n)
		add_port(ask, tool->port);
	for (i = 0; i < tool->targets.n; i++)
		for (k = 0; k <= t[i].ports; k++)
			add_port(ask, t[i].port + k - 1);
}

static void read_firewall(struct visit *v, const struct nd_serve *serve)
{
	struct nd_firewall_ask ask = { .nic = v->nic[0] ? v->nic : NULL };
	uint64_t i;

	add_port(&ask, v->ask->port);
	for (i = 0; i < serve->also.n; i++)
		add_tool(&ask, serve->also_plan[i]);
	nd_os_firewall(v->os, &ask, &v->here.firewall);
}

static int look(struct visit *v, const struct nd_serve *serve, struct nd_err *err)
{
	int r = nd_os_open(v->place->root, &v->os, err);

	if (r == 0)
		r = resolve(v, err);
	if (r == 0)
		r = choose_nic(v, err);
	if (r < 0)
		return r;
	r = nd_doctor_gather(v->os, v->nic[0] ? v->nic : NULL, &v->arena, &v->here);
	if (r < 0)
		return nd_fail(err, r, "doctor: this machine cannot be read");
	read_firewall(v, serve);
	nd_doctor_judge(&v->here, false, &v->all);
	if (v->to.len)
		r = nd_doctor_host(v->ask, &v->here, &v->to, &v->all, err);
	if (r == 0 && v->all.failed)
		r = nd_fail(err, -ENOMEM, "doctor: out of memory");
	return r;
}

static int tell(const struct visit *v, struct nd_err *err)
{
	nd_auto_str out = { 0 };
	int r;

	(v->ask->format == ND_LOCAL_TEXT ? nd_doctor_text : nd_doctor_json)(v->ask, &v->all, &out);
	r = nd_str_ok(&out) ? nd_write_all(v->place->out_fd, nd_str_text(&out), out.len) : -ENOMEM;
	if (r < 0 && r != -EPIPE)
		return nd_fail(err, r, "doctor: cannot write");
	return nd_findings_count(&v->all, ND_VERDICT_WARN) ? ND_DOCTOR_WARNED : 0;
}

int nd_doctor_run(const struct nd_plan *plan, const struct nd_local_place *place,
		  struct nd_err *err)
{
	struct visit v = { .ask = plan->face, .place = place };
	int r;

	v.all.arena = &v.arena;
	r = look(&v, &plan->serve, err);
	if (r == 0)
		r = tell(&v, err);
	nd_findings_done(&v.all);
	nd_os_free(v.os);
	nd_arena_done(&v.arena);
	return r;
}
