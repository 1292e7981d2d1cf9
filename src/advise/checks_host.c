/* SPDX-License-Identifier: MIT */
/* Checks of the machine: limits of the kernel, clocks, CPUs, and what stands before a socket. */
#include <math.h>
#include <string.h>

#include "advise/int.h"

#define GOOD_SOCKBUF  (4ull << 20)
#define GOOD_TCP_MEM  (4ull << 20)
#define GOOD_BACKLOG  1000u
#define GOOD_LISTEN   1024u
#define GOOD_PORTS    20000u
#define GOOD_FILES    10000u
#define LONG_SLEEP_US 50u
#define SLOW_CLOCK_NS 200u
#define MUCH_STEAL    0.02

static enum nd_verdict at_least(uint64_t v, uint64_t least, const char *what, struct nd_str *out)
{
	if (v == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%s is %llu", what, (unsigned long long)v);
	return v < least ? ND_VERDICT_WARN : ND_VERDICT_FINE;
}

static enum nd_verdict judge_cc(const struct nd_doctor_facts *f, struct nd_str *out)
{
	static const char *const usual[] = { "cubic", "bbr", "dctcp", "bbr2", "bbr3" };

	const char *cc = f->host.congestion_control;
	size_t i;

	if (!cc)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%s", cc);
	for (i = 0; i < ND_COUNTOF(usual); i++)
		if (!strcmp(cc, usual[i]))
			return ND_VERDICT_FINE;
	return ND_VERDICT_NOTE;
}

static enum nd_verdict judge_rmem(const struct nd_doctor_facts *f, struct nd_str *out)
{
	return at_least(f->host.rmem_max_bytes, GOOD_SOCKBUF, "net.core.rmem_max", out);
}

static enum nd_verdict judge_wmem(const struct nd_doctor_facts *f, struct nd_str *out)
{
	enum nd_verdict v =
		at_least(f->host.wmem_max_bytes, GOOD_SOCKBUF, "net.core.wmem_max", out);

	return v == ND_VERDICT_WARN ? ND_VERDICT_NOTE : v; /* a sender waits; nothing is lost */
}

static enum nd_verdict judge_tcp_mem(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->tcp_rmem_max == ND_UNKNOWN || f->tcp_wmem_max == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "the most that TCP grows to: %llu bytes to receive, %llu to send",
		    (unsigned long long)f->tcp_rmem_max, (unsigned long long)f->tcp_wmem_max);
	return ND_MIN(f->tcp_rmem_max, f->tcp_wmem_max) < GOOD_TCP_MEM ? ND_VERDICT_WARN
								       : ND_VERDICT_FINE;
}

static enum nd_verdict judge_backlog(const struct nd_doctor_facts *f, struct nd_str *out)
{
	return at_least(f->host.netdev_max_backlog, GOOD_BACKLOG, "net.core.netdev_max_backlog",
			out);
}

static enum nd_verdict judge_somaxconn(const struct nd_doctor_facts *f, struct nd_str *out)
{
	return at_least(f->host.somaxconn, GOOD_LISTEN, "net.core.somaxconn", out);
}

static enum nd_verdict judge_ports(const struct nd_doctor_facts *f, struct nd_str *out)
{
	uint64_t low = f->host.port_range_low, high = f->host.port_range_high, ports;

	if (low == ND_UNKNOWN || high == ND_UNKNOWN || high < low)
		return ND_VERDICT_UNKNOWN;
	ports = high - low + 1;
	nd_str_addf(out, "%llu source ports, %llu to %llu", (unsigned long long)ports,
		    (unsigned long long)low, (unsigned long long)high);
	return ports < GOOD_PORTS ? ND_VERDICT_WARN : ND_VERDICT_FINE;
}

static enum nd_verdict judge_files(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->fd_hard_limit == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%llu descriptors a process", (unsigned long long)f->fd_hard_limit);
	return f->fd_hard_limit < GOOD_FILES ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static enum nd_verdict judge_conntrack(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->conntrack_max == ND_UNKNOWN || !f->conntrack_max || f->conntrack_count == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "connections are tracked: %llu of %llu",
		    (unsigned long long)f->conntrack_count, (unsigned long long)f->conntrack_max);
	if ((double)f->conntrack_count > 0.8 * (double)f->conntrack_max)
		return ND_VERDICT_WARN;
	return f->conntrack_count ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

/* "rule 4 of inet filter input drops UDP to port 7575" */
static void put_block(const struct nd_firewall_block *b, const char *before, struct nd_str *out)
{
	nd_str_addf(out, "%s%s %s %s%s to port %u", before, b->where,
		    b->sure ? "drops" : "may drop", b->is_udp ? "UDP" : "TCP",
		    b->ipv4 && b->ipv6 ? ""
		    : b->ipv6          ? " over IPv6"
				       : " over IPv4",
		    b->port);
	if (!b->sure)
		nd_str_add(out, b->unread ? ": a rule there could not be read"
					  : ": it looks at more than the port");
}

/* What stops the ports for sure, or else what may. */
static bool put_blocks(const struct nd_firewall *w, bool sure, struct nd_str *out)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < w->blocks; i++) {
		if (w->block[i].sure != sure)
			continue;
		put_block(&w->block[i], any ? "; " : "", out);
		any = true;
	}
	nd_str_add(out, any && w->more ? "; and more" : "");
	return any;
}

static enum nd_verdict judge_chains(const struct nd_firewall *w, struct nd_str *out)
{
	if (w->rules_known && put_blocks(w, true, out))
		return ND_VERDICT_WARN;
	if (!w->rules_known && w->drops) {
		nd_str_addf(out, "nftables' chain %s drops what no rule lets in", w->name);
		return ND_VERDICT_WARN;
	}
	if (w->rules_known && put_blocks(w, false, out))
		return ND_VERDICT_NOTE;
	nd_str_addf(out, "packets that come in pass %llu chain%s", (unsigned long long)w->chains,
		    w->chains == 1 ? "" : "s");
	if (w->rules_known)
		nd_str_add(out, ", which let the test's port in");
	else if (w->rules_why)
		nd_str_addf(out, "; their rules are not read: %s", w->rules_why);
	return ND_VERDICT_NOTE;
}

static enum nd_verdict judge_firewall(const struct nd_doctor_facts *f, struct nd_str *out)
{
	const struct nd_firewall *w = &f->firewall;
	enum nd_verdict v = ND_VERDICT_FINE;

	if (!w->known && !w->has_old_tables)
		return ND_VERDICT_UNKNOWN;
	if (w->chains)
		v = judge_chains(w, out);
	if (w->has_old_tables) {
		nd_str_addf(out,
			    "%spackets that come in pass rules of the older iptables, which "
			    "are not read",
			    w->chains ? "; " : "");
		return ND_MAX(v, ND_VERDICT_NOTE);
	}
	if (!w->chains)
		nd_str_add(out, "nothing filters what comes in");
	return v;
}

static enum nd_verdict judge_governor(const struct nd_doctor_facts *f, struct nd_str *out)
{
	const char *g = f->host.governor;

	if (!g)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "CPU governor %s", g);
	return !strcmp(g, "performance") ? ND_VERDICT_FINE
	       : !strcmp(g, "schedutil") ? ND_VERDICT_NOTE
					 : ND_VERDICT_WARN;
}

static enum nd_verdict judge_idle(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->idle_latency_us == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "an idle CPU needs up to %llu us to wake",
		    (unsigned long long)f->idle_latency_us);
	return f->idle_latency_us > LONG_SLEEP_US ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static enum nd_verdict judge_clock(const struct nd_doctor_facts *f, struct nd_str *out)
{
	static const char *const slow[] = { "acpi_pm",         "hpet", "pit", "jiffies",
					    "refined-jiffies", "xen" };

	size_t i;

	if (!f->host.clocksource && f->host.clock_read_ns == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "clock source %s", f->host.clocksource ? f->host.clocksource : "unknown");
	if (f->host.clock_read_ns != ND_UNKNOWN)
		nd_str_addf(out, ", a reading costs %llu ns",
			    (unsigned long long)f->host.clock_read_ns);
	for (i = 0; f->host.clocksource && i < ND_COUNTOF(slow); i++)
		if (!strcmp(f->host.clocksource, slow[i]))
			return ND_VERDICT_WARN;
	return f->host.clock_read_ns != ND_UNKNOWN && f->host.clock_read_ns > SLOW_CLOCK_NS
		       ? ND_VERDICT_WARN
		       : ND_VERDICT_FINE;
}

static enum nd_verdict judge_steal(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (!isfinite(f->steal_ratio))
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "the host took %.1f %% of the CPU time away just now",
		    f->steal_ratio * 100);
	return f->steal_ratio >= MUCH_STEAL ? ND_VERDICT_WARN : ND_VERDICT_FINE;
}

static enum nd_verdict judge_quota(const struct nd_doctor_facts *f, struct nd_str *out)
{
	uint64_t cpus = f->host.cpus_online;

	if (isfinite(f->host.cgroup_cpus) && cpus != ND_UNKNOWN &&
	    f->host.cgroup_cpus < (double)cpus) {
		nd_str_addf(out, "the control group has %.2f of %llu CPUs", f->host.cgroup_cpus,
			    (unsigned long long)cpus);
		return ND_VERDICT_WARN;
	}
	if (f->host.cpus_allowed != ND_UNKNOWN && cpus != ND_UNKNOWN &&
	    f->host.cpus_allowed < cpus) {
		nd_str_addf(out, "this program may use %llu of %llu CPUs",
			    (unsigned long long)f->host.cpus_allowed, (unsigned long long)cpus);
		return ND_VERDICT_NOTE;
	}
	return cpus == ND_UNKNOWN ? ND_VERDICT_UNKNOWN : ND_VERDICT_FINE;
}

static enum nd_verdict judge_throttled(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (!isfinite(f->throttled_ratio))
		return ND_VERDICT_UNKNOWN;
	if (f->throttled_ratio <= 0) {
		nd_str_add(out, "no CPU was held back by a quota just now");
		return ND_VERDICT_FINE;
	}
	nd_str_addf(out,
		    "the control group's quota held CPUs back for %.1f %% of the time just now",
		    f->throttled_ratio * 100);
	return ND_VERDICT_WARN;
}

static enum nd_verdict judge_virtual(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (!f->host.virtualization)
		return ND_VERDICT_FINE;
	nd_str_addf(out, "%s", f->host.virtualization);
	return ND_VERDICT_NOTE;
}

static enum nd_verdict judge_smt(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->host.smt == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%llu hardware thread%s a core", (unsigned long long)f->host.smt,
		    f->host.smt == 1 ? "" : "s");
	return f->host.smt > 1 ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static enum nd_verdict judge_nodes(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->host.numa_nodes == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%llu memory node%s", (unsigned long long)f->host.numa_nodes,
		    f->host.numa_nodes == 1 ? "" : "s");
	return f->host.numa_nodes > 1 ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static enum nd_verdict judge_dropped(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->backlog_dropped == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%llu packets found a CPU's backlog full since the start",
		    (unsigned long long)f->backlog_dropped);
	return f->backlog_dropped ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static enum nd_verdict judge_squeezed(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->squeezed == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "softirqs left packets behind %llu times since the start",
		    (unsigned long long)f->squeezed);
	if (f->budget != ND_UNKNOWN)
		nd_str_addf(out, " (net.core.netdev_budget %llu)", (unsigned long long)f->budget);
	return f->squeezed ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static enum nd_verdict judge_udp_full(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->udp_rcvbuf_errors == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%llu datagrams found a socket's buffer full since the start",
		    (unsigned long long)f->udp_rcvbuf_errors);
	return f->udp_rcvbuf_errors ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

/* clang-format off */
const struct nd_check nd_checks_host[] = {
	{ "congestion_control", "congestion control", "It decides how fast one flow grows and what loss does to it.",
	  "sysctl -w net.ipv4.tcp_congestion_control=cubic, or --cc for one test.",
	  "/proc/sys/net/ipv4/tcp_congestion_control", true, judge_cc },
	{ "rmem_max", "receive buffers", "Datagrams that come while the reader is elsewhere are lost: at 10 Gbit/s 212992 "
	  "bytes last 0.2 ms.", "sysctl -w net.core.rmem_max=16777216",
	  "/proc/sys/net/core/rmem_max", true, judge_rmem },
	{ "wmem_max", "send buffers", "A sender sleeps more often, and a wanted --sndbuf is cut to it.",
	  "sysctl -w net.core.wmem_max=16777216",
	  "/proc/sys/net/core/wmem_max", true, judge_wmem },
	{ "tcp_mem", "TCP's buffers", "A flow carries at most this much per round trip.",
	  "sysctl -w net.ipv4.tcp_rmem='4096 131072 16777216' (and tcp_wmem)",
	  "/proc/sys/net/ipv4/tcp_rmem and tcp_wmem", false, judge_tcp_mem },
	{ "backlog", "CPU backlog", "Packets that another CPU handed over are dropped behind this many.",
	  "sysctl -w net.core.netdev_max_backlog=10000",
	  "/proc/sys/net/core/netdev_max_backlog", true, judge_backlog },
	{ "somaxconn", "listen backlog", "Connections that come at once are refused or wait for a second.",
	  "sysctl -w net.core.somaxconn=4096",
	  "/proc/sys/net/core/somaxconn", true, judge_somaxconn },
	{ "port_range", "source ports", "Few of them limit flows, and connections per second, to one server's port.",
	  "sysctl -w net.ipv4.ip_local_port_range='1024 65535'",
	  "/proc/sys/net/ipv4/ip_local_port_range", true, judge_ports },
	{ "files", "open files", "Each flow is a descriptor.", "ulimit -Hn 1048576, or LimitNOFILE= of the service",
	  "RLIMIT_NOFILE", false, judge_files },
	{ "conntrack", "connection tracking", "Each packet is looked up, and new flows are dropped when the table is full.",
	  "Let the test's ports pass without tracking (nft: notrack), or raise net.netfilter.nf_conntrack_max.",
	  "/proc/sys/net/netfilter/nf_conntrack_count", false, judge_conntrack },
	{ "firewall", "firewall", "Rules cost for each packet, and may drop the test's port, which peers see as silence.",
	  "Let TCP and UDP of port 7575 in on the server; nft -a list ruleset shows rules with their numbers.",
	  "nftables, which answers root alone", false, judge_firewall },
	{ "governor", "CPU clock", "The clock rises only under load: the first seconds and latencies are slow.",
	  "cpupower frequency-set -g performance",
	  "/sys/devices/system/cpu/cpu0/cpufreq", true, judge_governor },
	{ "idle", "idle states", "A request that comes to a sleeping CPU waits until it is awake.",
	  "cpupower idle-set -D 10, or hold /dev/cpu_dma_latency open, for latency.",
	  "/sys/devices/system/cpu/cpu0/cpuidle", false, judge_idle },
	{ "clocksource", "clock", "Slow readings cost in each operation, and are coarse.",
	  "echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource, where it is offered.",
	  "/sys/devices/system/clocksource", true, judge_clock },
	{ "steal", "stolen time", "Another guest uses this CPU: results vary and are too low.",
	  "Use a machine with CPUs of its own, or repeat and take the best.",
	  "/proc/stat", false, judge_steal },
	{ "cpu_limit", "CPU limit", "Threads are stopped when the share is used up: throughput has steps, latency peaks.",
	  "Raise cpu.max of the control group (container: its CPU limit).",
	  "/sys/devices/system/cpu/online", true, judge_quota },
	{ "throttled", "CPU quota in force", "What is measured now is the quota, in steps of its period.",
	  "Raise cpu.max of the control group (container: its CPU limit).",
	  "cpu.stat of the control group", false, judge_throttled },
	{ "virtual", "virtual machine", "Part of the work is done elsewhere and stands in no counter here.",
	  "None: compare with machines of the same kind.",
	  "/sys/class/dmi", true, judge_virtual },
	{ "smt", "hardware threads", "Two threads of a core share it: busy together they are slower than on two cores.",
	  "--pin one thread of each core.",
	  "/sys/devices/system/cpu/cpu0/topology", true, judge_smt },
	{ "numa", "memory nodes", "Threads far from the interface pay for each byte.", "--pin auto",
	  "/sys/devices/system/node", true, judge_nodes },
	{ "backlog_drops", "backlog drops", "A CPU was handed more packets than it could take.",
	  "More queues or RPS over more CPUs; net.core.netdev_max_backlog.",
	  "/proc/net/softnet_stat", false, judge_dropped },
	{ "squeezed", "softirq budget", "More came than a CPU may take at one go: packets waited, and may again.",
	  "More queues or RPS over more CPUs; net.core.netdev_budget and netdev_budget_usecs.",
	  "/proc/net/softnet_stat", false, judge_squeezed },
	{ "udp_drops", "UDP drops", "A reader was too slow, or its buffer too small.",
	  "Larger buffers (--rcvbuf, net.core.rmem_max), more threads.",
	  "/proc/net/snmp", false, judge_udp_full },
	{ NULL, NULL, NULL, NULL, NULL, false, NULL }
};
/* clang-format on */
