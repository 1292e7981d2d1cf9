/* SPDX-License-Identifier: MIT */
/* Checks of the interface: what it is, how it is set, who serves it. */
#include <string.h>

#include "advise/int.h"

#define SMALL_RING   512u
#define LONG_USECS   100u
#define ETHERNET_MTU 1500u
#define SLOW_MBPS    1000u

static bool is_real(const struct nd_doctor_facts *f)
{
	return f->nic.name && !f->nic.is_loopback && !f->nic.is_virtual;
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

static enum nd_verdict judge_driver(const struct nd_doctor_facts *f, struct nd_str *out)
{
	static const char *const fast[] = { "ena",     "gve",    "mana",  "virtio_net", "mlx5_core",
					    "mlx4_en", "ice",    "i40e",  "iavf",       "ixgbe",
					    "ixgbevf", "igb",    "igc",   "bnxt_en",    "vmxnet3",
					    "qede",    "ionic",  "idpf",  "sfc",        "cxgb4",
					    "nfp",     "funeth", "fm10k", "atlantic",   "hns3",
					    "hinic",   "tg3",    NULL };
	static const char *const slow[] = { "e1000",    "e1000e",  "8139cp", "8139too",
					    "ne2k-pci", "pcnet32", "vif",    "xen_netfront",
					    "rtl8139",  NULL };

	if (!f->nic.name)
		return ND_VERDICT_UNKNOWN;
	if (!is_real(f) || !f->nic.driver) {
		nd_str_addf(out, "%s is %s", f->nic.name,
			    f->nic.is_loopback ? "the loopback: no network is measured over it"
					       : "made by software");
		return f->nic.is_loopback || f->nic.is_virtual ? ND_VERDICT_NOTE
							       : ND_VERDICT_UNKNOWN;
	}
	nd_str_addf(out, "%s: %s", f->nic.name, f->nic.driver);
	if (is_one_of(f->nic.driver, slow)) {
		nd_str_add(out, ", an emulated or old device");
		return ND_VERDICT_WARN;
	}
	if (!strcmp(f->nic.driver, "hv_netvsc")) {
		nd_str_add(out, ", the slow way of that platform unless a second interface "
				"(accelerated networking) stands behind it");
		return ND_VERDICT_NOTE;
	}
	if (!is_one_of(f->nic.driver, fast)) {
		nd_str_add(out, ", which this program does not know");
		return ND_VERDICT_NOTE;
	}
	return ND_VERDICT_FINE;
}

static enum nd_verdict judge_speed(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (!f->nic.name || f->nic.speed_mbps == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%s: %llu Mbit/s, %s duplex", f->nic.name,
		    (unsigned long long)f->nic.speed_mbps,
		    f->nic.duplex ? f->nic.duplex : "unknown");
	if (f->nic.duplex && !strcmp(f->nic.duplex, "half"))
		return ND_VERDICT_WARN;
	return f->nic.speed_mbps < SLOW_MBPS ? ND_VERDICT_WARN : ND_VERDICT_FINE;
}

static enum nd_verdict judge_mtu(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (!f->nic.name || f->nic.mtu_bytes == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%s: MTU %llu bytes", f->nic.name, (unsigned long long)f->nic.mtu_bytes);
	if (f->nic.mtu_bytes < ETHERNET_MTU)
		return ND_VERDICT_NOTE;
	return ND_VERDICT_FINE;
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	const char *p;

	for (p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
	return false;
}

static enum nd_verdict judge_offloads(const struct nd_doctor_facts *f, struct nd_str *out)
{
	static const char *const wanted[] = { "tso", "gso", "gro", "rx-checksum", "tx-checksum" };

	bool missing = false;
	size_t i;

	if (!is_real(f) || !f->nic.offloads)
		return ND_VERDICT_UNKNOWN;
	for (i = 0; i < ND_COUNTOF(wanted); i++) {
		if (has_word(f->nic.offloads, wanted[i]))
			continue;
		nd_str_addf(out, "%s%s", missing ? ", " : "off: ", wanted[i]);
		missing = true;
	}
	if (missing)
		return ND_VERDICT_WARN;
	nd_str_addf(out, "on: %s", f->nic.offloads);
	return ND_VERDICT_FINE;
}

static enum nd_verdict judge_lro(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (!is_real(f) || !f->nic.offloads)
		return ND_VERDICT_UNKNOWN;
	if (!has_word(f->nic.offloads, "lro"))
		return ND_VERDICT_FINE;
	nd_str_add(out, "large receive offload is on");
	return ND_VERDICT_NOTE;
}

static enum nd_verdict judge_rings(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (!is_real(f) || f->nic.rx_ring == ND_UNKNOWN || f->limits.rx_ring_max == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "receive ring of %llu, %llu at most", (unsigned long long)f->nic.rx_ring,
		    (unsigned long long)f->limits.rx_ring_max);
	return f->nic.rx_ring < SMALL_RING && f->nic.rx_ring < f->limits.rx_ring_max
		       ? ND_VERDICT_WARN
		       : ND_VERDICT_FINE;
}

static enum nd_verdict judge_queues(const struct nd_doctor_facts *f, struct nd_str *out)
{
	uint64_t cpus = f->host.cpus_online, queues = f->nic.rx_queues;

	if (!is_real(f) || queues == ND_UNKNOWN || cpus == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%llu receive queue%s, %llu CPU%s", (unsigned long long)queues,
		    queues == 1 ? "" : "s", (unsigned long long)cpus, cpus == 1 ? "" : "s");
	if (f->limits.queues_max != ND_UNKNOWN && queues < f->limits.queues_max && queues < cpus) {
		nd_str_addf(out, ", %llu queues could be had",
			    (unsigned long long)f->limits.queues_max);
		return ND_VERDICT_WARN;
	}
	return queues == 1 && cpus > 1 ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static enum nd_verdict judge_irqs(const struct nd_doctor_facts *f, struct nd_str *out)
{
	uint64_t cpus = f->host.cpus_online;

	if (f->irqs_receiving == ND_UNKNOWN || !f->irqs_receiving)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out,
		    "receive interrupts: %llu, of them %llu share their CPU with another one, %llu "
		    "are far from the interface's node",
		    (unsigned long long)f->irqs_receiving, (unsigned long long)f->irqs_shared,
		    (unsigned long long)f->irqs_far);
	if (f->irqs_far)
		return ND_VERDICT_WARN;
	return f->irqs_shared && cpus != ND_UNKNOWN && f->irqs_receiving <= cpus ? ND_VERDICT_WARN
										 : ND_VERDICT_FINE;
}

static enum nd_verdict judge_balance(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->irqbalance < 0)
		return ND_VERDICT_UNKNOWN;
	nd_str_add(out, f->irqbalance ? "irqbalance runs" : "irqbalance does not run");
	return f->irqbalance ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static enum nd_verdict judge_rps(const struct nd_doctor_facts *f, struct nd_str *out)
{
	uint64_t cpus = f->host.cpus_online, queues = f->nic.rx_queues;
	uint64_t rps = f->limits.rps_queues;

	if (!is_real(f) || rps == ND_UNKNOWN || queues == ND_UNKNOWN || cpus == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "RPS on %llu of %llu receive queues", (unsigned long long)rps,
		    (unsigned long long)queues);
	if (rps && queues >= cpus)
		return ND_VERDICT_WARN; /* a second deal for nothing */
	return rps < queues && queues < cpus ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

static enum nd_verdict judge_xps(const struct nd_doctor_facts *f, struct nd_str *out)
{
	uint64_t queues = f->nic.tx_queues, xps = f->limits.xps_queues;

	if (!is_real(f) || queues == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	if (queues == 1) {
		nd_str_add(out, "one transmit queue: there is nothing to choose");
		return ND_VERDICT_FINE;
	}
	if (xps == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "XPS on %llu of %llu transmit queues", (unsigned long long)xps,
		    (unsigned long long)queues);
	if (xps && xps < queues)
		return ND_VERDICT_WARN; /* the others' are chosen for no CPU */
	return xps ? ND_VERDICT_FINE : ND_VERDICT_NOTE;
}

static enum nd_verdict judge_hash(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (!is_real(f) || f->limits.udp4_ports == ND_UNKNOWN || f->nic.rx_queues == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "UDP's receive hash looks at %s",
		    f->limits.udp4_ports ? "addresses and ports" : "addresses alone");
	return !f->limits.udp4_ports && f->nic.rx_queues > 1 ? ND_VERDICT_WARN : ND_VERDICT_FINE;
}

static enum nd_verdict judge_coalescing(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (!is_real(f) || f->limits.rx_usecs == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "an interrupt waits up to %llu us%s",
		    (unsigned long long)f->limits.rx_usecs,
		    f->limits.adaptive_rx == 1 ? ", adaptive" : "");
	return f->limits.rx_usecs > LONG_USECS && f->limits.adaptive_rx != 1 ? ND_VERDICT_NOTE
									     : ND_VERDICT_FINE;
}

static enum nd_verdict judge_qdisc(const struct nd_doctor_facts *f, struct nd_str *out)
{
	static const char *const shapers[] = { "tbf", "htb", "hfsc", "netem", "cake", "sfq",
					       "hhf", "cbq", "red",  "choke", NULL };

	if (!f->nic.qdisc)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%s: %s", f->nic.name ? f->nic.name : "?", f->nic.qdisc);
	return is_one_of(f->nic.qdisc, shapers) ? ND_VERDICT_WARN : ND_VERDICT_FINE;
}

static enum nd_verdict judge_missed(const struct nd_doctor_facts *f, struct nd_str *out)
{
	if (f->rx_missed == ND_UNKNOWN)
		return ND_VERDICT_UNKNOWN;
	nd_str_addf(out, "%llu packets had no room in the receive ring since the start",
		    (unsigned long long)f->rx_missed);
	return f->rx_missed ? ND_VERDICT_NOTE : ND_VERDICT_FINE;
}

/* clang-format off */
const struct nd_check nd_checks_nic[] = {
	{ "driver", "network driver",
	  "The device decides how many packets a second a machine can take; emulated ones are slow by design.",
	  "Choose the platform's fast device: ENA, gVNIC, accelerated networking (MANA, mlx5), virtio with several queues.",
	  "/sys/class/net/IFACE/device", true, judge_driver },
	{ "speed", "link", "Nothing is faster than the link, and a half duplex link collides.",
	  "Look at the cable, the switch's port and ethtool's negotiation.",
	  "the driver, by ethtool and /sys/class/net/IFACE/speed", true, judge_speed },
	{ "mtu", "MTU", "Small packets cost more CPU for the same bytes; a tunnel may be in between.",
	  "ip link set IFACE mtu 1500, or 9001 where the whole path carries jumbo frames.",
	  "/sys/class/net/IFACE/mtu", true, judge_mtu },
	{ "offloads", "offloads",
	  "Without them the CPU cuts, joins and sums up each packet: several times the cost of a stream.",
	  "ethtool -K IFACE tso on gso on gro on rx on tx on",
	  "the driver, by ethtool -k", true, judge_offloads },
	{ "lro", "large receive offload", "It hides packets from counters and breaks forwarding.",
	  "ethtool -K IFACE lro off, for counts of packets.",
	  "the driver, by ethtool -k", true, judge_lro },
	{ "rings", "receive ring", "Bursts that come while the CPU is elsewhere are lost in the interface.",
	  "ethtool -G IFACE rx MAXIMUM",
	  "the driver, by ethtool -g", false, judge_rings },
	{ "queues", "queues", "A queue is served by one CPU at a time: too few of them limit packets per second.",
	  "ethtool -L IFACE combined N (or rx N tx N); where one queue is all there is, RPS spreads the rest of the work.",
	  "/sys/class/net/IFACE/queues", false, judge_queues },
	{ "irq_placement", "interrupts",
	  "Queues that share a CPU share its time, and memory of another node costs more than a copy saves.",
	  "netdyno irq spread IFACE --apply",
	  "/proc/interrupts and /proc/irq", false, judge_irqs },
	{ "irqbalance", "irqbalance", "It moves interrupts while a test runs, so that runs differ.",
	  "Stop it for the test, or start it with --banirq for the interface's interrupts.",
	  "/proc", false, judge_balance },
	{ "rps", "receive packet steering",
	  "With fewer queues than CPUs it is the way to use the others; with enough queues it costs for nothing.",
	  "Write a mask of CPUs into /sys/class/net/IFACE/queues/rx-N/rps_cpus, or 0.",
	  "/sys/class/net/IFACE/queues/rx-N/rps_cpus", false, judge_rps },
	{ "xps", "transmit packet steering",
	  "CPUs that share a transmit queue wait for its lock; a queue that XPS gives to no CPU is hardly used.",
	  "netdyno irq spread IFACE --apply, or a mask of CPUs in each /sys/class/net/IFACE/queues/tx-N/xps_cpus.",
	  "/sys/class/net/IFACE/queues/tx-N/xps_cpus", false, judge_xps },
	{ "udp_hash", "hash of UDP", "All flows between two hosts then meet in one queue, however many there are.",
	  "ethtool -N IFACE rx-flow-hash udp4 sdfn (and udp6)",
	  "the driver, by ethtool -n", false, judge_hash },
	{ "coalescing", "interrupt coalescing", "Each request may wait that long at each end before anybody sees it.",
	  "ethtool -C IFACE rx-usecs 8, for latency; adaptive-rx on, for both.",
	  "the driver, by ethtool -c", false, judge_coalescing },
	{ "qdisc", "queueing discipline", "This one shapes, delays or drops on purpose: the test measures it.",
	  "tc qdisc del dev IFACE root",
	  "netlink", true, judge_qdisc },
	{ "missed", "packets missed", "The interface has had no room before: it may have none in a test.",
	  "A larger ring (ethtool -G), more queues, interrupts on CPUs that are free.",
	  "/proc/net/dev and netlink", false, judge_missed },
	{ NULL, NULL, NULL, NULL, NULL, false, NULL }
};
/* clang-format on */
