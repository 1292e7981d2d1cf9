/* SPDX-License-Identifier: MIT */
/*
 * The other host: is the path wide, do its ports answer, how far are the clocks apart, and what does it say of itself.
 * Ports are tried with real tests that last a moment, so that what is checked is what a test needs.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "advise/int.h"
#include "session/session.h"

#define FAR_US   1000.0 /* a round trip that one flow with small buffers feels */
#define APART_US 1000000.0

/* What one short test told. */
struct tried {
	bool has_result, same_host;
	double rtt_us, offset_us;
	uint64_t lost;
	enum nd_ending ending;
	struct nd_err why;
	struct nd_findings *all; /* the peer's own facts are judged while they are there */
};

static void ignore(void *user, const struct nd_progress_event *ev)
{
	(void)user; /* a moment's test has nothing to tell while it runs */
	(void)ev;
}

static void judge_peer(const struct nd_side *server, struct nd_findings *all)
{
	struct nd_doctor_facts f;

	nd_doctor_blank(&f);
	f.host = server->host;
	f.nic = server->nic_facts;
	nd_doctor_judge(&f, true, all);
}

static void take_result(void *user, struct nd_result *r)
{
	struct tried *t = user;
	const struct nd_direction *d = r->directions.v;

	t->has_result = true;
	t->same_host = r->same_host;
	t->rtt_us = r->clock_rtt_us;
	t->offset_us = r->clock_offset_us;
	t->lost = r->directions.n ? d->loss.lost : ND_UNKNOWN;
	if (t->all && r->server && !r->same_host)
		judge_peer(r->server, t->all);
}

static void run_test(struct nd_plan *plan, struct nd_findings *all, struct tried *ret)
{
	const struct nd_sink sink = { ignore, NULL };

	*ret = (struct tried){ .rtt_us = (double)NAN, .offset_us = (double)NAN, .all = all };
	ret->ending = (enum nd_ending)nd_session_run(plan, &sink, take_result, ret, &ret->why);
}

static bool reached(const struct tried *t)
{
	return t->ending == ND_END_DONE || t->has_result;
}

/* ---- what is looked at, in the order in which it is told */

enum part { PATH, TCP, UDP, RTT, CLOCKS, SAME, PARTS };

/* clang-format off */
static const struct { const char *key, *title, *why, *mend; } parts[PARTS] = {
	[PATH] = { "path_mtu", "path MTU",
		   "Datagrams of the interface's size are lost or cut apart, and TCP stalls until it finds out.",
		   "Let ICMP \"fragmentation needed\" pass, or set the interface's MTU (ip link) to what crosses." },
	[TCP] = { "tcp_port", "TCP port", "No test begins without it.",
		  "Run netdyno serve there, and let TCP to its port in." },
	[UDP] = { "udp_port", "UDP port", "Tests with datagrams cannot begin.",
		  "Let UDP to the server's port in, and answers from it back." },
	[RTT] = { "rtt", "round trip",
		  "One TCP flow carries at most its buffer per round trip.",
		  "Several flows (-P), or larger buffers." },
	[CLOCKS] = { "clocks", "clocks", "Both ends begin at the same instant only as well as their clocks compare.",
		     "A quiet path: the least of several round trips counts." },
	[SAME] = { "same_host", "same machine", "Both ends share CPUs and memory: no network is measured.",
		   "Run the server on another machine." },
};

/* clang-format on */

static void add(struct nd_findings *all, enum part part, enum nd_verdict verdict,
		const struct nd_str *text)
{
	const struct nd_finding f = { .where = "path",
				      .key = parts[part].key,
				      .title = parts[part].title,
				      .why = parts[part].why,
				      .mend = parts[part].mend,
				      .verdict = verdict,
				      .text = nd_str_text(text) };

	all->failed |= !nd_str_ok(text);
	nd_findings_add(all, &f);
}

/* ---- each of them */

static void find_path(const struct nd_addr *to, uint64_t mtu, struct nd_findings *all,
		      struct nd_path *ret)
{
	enum nd_verdict verdict = ND_VERDICT_UNKNOWN;
	nd_auto_str text = { 0 };
	struct nd_err err = { 0 };

	*ret = (struct nd_path){ .passed_bytes = ND_UNKNOWN, .rtt_ns = ND_UNKNOWN };
	if (nd_path_probe(to, mtu, ret, &err) < 0)
		nd_str_add(&text, err.text);
	else
		verdict = nd_path_judge(ret, &text);
	add(all, PATH, verdict, &text);
}

/* Which side is shut follows from who keeps silent about what. */
static void find_tcp(const struct nd_doctor_ask *ask, const struct nd_path *path,
		     const struct tried *t, struct nd_findings *all)
{
	nd_auto_str text = { 0 };

	if (reached(t)) {
		nd_str_addf(&text, "TCP port %llu answers", (unsigned long long)ask->port);
	} else if (t->why.code == -ECONNREFUSED) {
		nd_str_addf(&text,
			    "nothing listens on TCP port %llu, or a firewall refuses it: start "
			    "netdyno serve there",
			    (unsigned long long)ask->port);
	} else if (path->answers_echo && t->ending == ND_END_PEER) {
		nd_str_addf(
			&text,
			"the host answers echo requests, but TCP port %llu does not: a firewall "
			"drops it, most likely the host's own or the cloud's for what comes in "
			"(%s)",
			(unsigned long long)ask->port, t->why.text);
	} else {
		nd_str_addf(&text, "%s", t->why.text);
	}
	add(all, TCP, reached(t) ? ND_VERDICT_FINE : ND_VERDICT_WARN, &text);
}

static void find_udp(const struct nd_doctor_ask *ask, const struct tried *tcp,
		     const struct tried *t, struct nd_findings *all)
{
	enum nd_verdict verdict = ND_VERDICT_WARN;
	nd_auto_str text = { 0 };

	if (!reached(tcp)) {
		verdict = ND_VERDICT_UNKNOWN;
		nd_str_add(&text, "not tried, since TCP does not get there");
	} else if (reached(t) && t->lost != ND_UNKNOWN && t->lost > 0) {
		nd_str_addf(&text,
			    "UDP port %llu answers, but %llu datagrams of a slow trickle were "
			    "lost",
			    (unsigned long long)ask->port, (unsigned long long)t->lost);
	} else if (reached(t)) {
		verdict = ND_VERDICT_FINE;
		nd_str_addf(&text, "UDP port %llu answers", (unsigned long long)ask->port);
	} else {
		nd_str_addf(
			&text,
			"UDP port %llu does not answer, while TCP does: a firewall drops UDP, most "
			"likely the host's own or the cloud's for what comes in (%s)",
			(unsigned long long)ask->port, t->why.text);
	}
	add(all, UDP, verdict, &text);
}

static enum nd_verdict judge_rtt(double us)
{
	if (!isfinite(us))
		return ND_VERDICT_UNKNOWN;
	return us >= FAR_US ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static void find_clock(const struct tried *t, const struct nd_path *path, struct nd_findings *all)
{
	double rtt_us = t->rtt_us;
	nd_auto_str rtt = { 0 }, clock = { 0 };

	if (!isfinite(rtt_us) && path->rtt_ns != ND_UNKNOWN)
		rtt_us = (double)path->rtt_ns / 1000;
	if (isfinite(rtt_us))
		nd_str_addf(&rtt, "%.3f ms", rtt_us / 1000);
	add(all, RTT, judge_rtt(rtt_us), &rtt);
	if (isfinite(t->offset_us) && isfinite(t->rtt_us))
		nd_str_addf(
			&clock,
			"the monotonic clocks could be compared within %.3f ms, as a common start "
			"needs",
			t->rtt_us / 2000);
	add(all, CLOCKS,
	    !clock.len                 ? ND_VERDICT_UNKNOWN
	    : t->rtt_us / 2 > APART_US ? ND_VERDICT_WARN
				       : ND_VERDICT_FINE,
	    &clock);
}

static void find_same(const struct tried *t, struct nd_findings *all)
{
	nd_auto_str text = { 0 };

	if (!t->has_result)
		return;
	nd_str_add(&text, t->same_host ? "it is this very machine" : "it is another machine");
	add(all, SAME, t->same_host ? ND_VERDICT_WARN : ND_VERDICT_FINE, &text);
}

int nd_doctor_host(const struct nd_doctor_ask *ask, const struct nd_doctor_facts *here,
		   const struct nd_addr *to, struct nd_findings *all, struct nd_err *err)
{
	struct tried tcp = { 0 }, udp = { 0 };
	struct nd_path path;

	if (!ask->tcp || !ask->udp)
		return nd_fail(err, -EINVAL, "doctor: no test to try the ports with");
	find_path(to, here->nic.mtu_bytes, all, &path);
	run_test(ask->tcp, all, &tcp);
	if (reached(&tcp))
		run_test(ask->udp, NULL, &udp);
	find_tcp(ask, &path, &tcp, all);
	find_udp(ask, &tcp, &udp, all);
	find_clock(&tcp, &path, all);
	find_same(&tcp, all);
	return 0;
}
