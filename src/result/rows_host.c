/* SPDX-License-Identifier: MIT */
/* Facts of a machine and of its interface, as rows. */
#include "result/result.h"

#define H struct nd_host_facts
#define N struct nd_nic_facts

#define TEXT ND_SHOW_TEXT

/* clang-format off */
static const struct nd_field host_rows[] = {
	ND_STR(H, hostname, 0, "host", "Name of the machine."),
	ND_STR(H, kernel, 0, "kernel", "Kernel release."),
	ND_STR(H, kernel_build, TEXT, "kernel build", "Number and date of the kernel's build."),
	ND_STR(H, machine, 0, "machine", "Architecture."),
	ND_STR(H, os_name, TEXT, "system", "Distribution."),
	ND_STR(H, cpu_model, 0, "CPU", "Model of the CPU."),
	ND_U64(H, cpus_online, ND_M_COUNT, 0, "CPUs", "CPUs online."),
	ND_U64(H, cpus_allowed, ND_M_COUNT, TEXT, "CPUs allowed", "CPUs this program may use."),
	ND_F64(H, cgroup_cpus, ND_M_CORES, TEXT, "CPU quota",
	       "CPU quota of the control group; null when there is none."),
	ND_U64(H, numa_nodes, ND_M_COUNT, TEXT, "NUMA nodes", "NUMA nodes."),
	ND_U64(H, smt, ND_M_COUNT, TEXT, "threads per core", "Hardware threads per core."),
	ND_U64(H, cpu_mhz, ND_M_MHZ, TEXT, "nominal clock", "Nominal clock of the CPU."),
	ND_STR(H, governor, TEXT, "frequency governor", "CPU frequency governor."),
	ND_U64(H, memory_bytes, ND_M_BYTES, TEXT, "memory", "Memory of the machine."),
	ND_STR(H, virtualization, 0, "virtualization", "Hypervisor or container it runs in."),
	ND_STR(H, boot_id, 0, "boot id",
	       "Changes with each boot: equal at both ends means one machine."),
	ND_STR(H, netns_id, 0, "network namespace", "Network namespace of the program."),
	ND_STR(H, clocksource, TEXT, "clock source", "Clock source of the kernel."),
	ND_U64(H, clock_read_ns, ND_M_NS, TEXT, "clock read",
	       "What reading the clock costs, measured."),
	ND_STR(H, congestion_control, TEXT, "default congestion control",
	       "Default of TCP's congestion control."),
	ND_STR(H, default_qdisc, TEXT, "default queueing discipline",
	       "Default queueing discipline."),
	ND_U64(H, rmem_max_bytes, ND_M_BYTES, TEXT, "net.core.rmem_max",
	       "Largest receive buffer a program may ask for."),
	ND_U64(H, wmem_max_bytes, ND_M_BYTES, TEXT, "net.core.wmem_max",
	       "Largest send buffer a program may ask for."),
	ND_U64(H, somaxconn, ND_M_COUNT, TEXT, "net.core.somaxconn", "Longest accept queue."),
	ND_U64(H, netdev_max_backlog, ND_M_COUNT, TEXT, "net.core.netdev_max_backlog",
	       "Longest input queue of a CPU."),
	ND_U64(H, fd_limit, ND_M_COUNT, TEXT, "descriptors", "Descriptors this program may open."),
	ND_U64(H, port_range_low, ND_M_NONE, TEXT, "first local port",
	       "First port for outgoing connections."),
	ND_U64(H, port_range_high, ND_M_NONE, TEXT, "last local port",
	       "Last port for outgoing connections."),
	ND_ROWS_END
};

static const struct nd_field nic_facts_rows[] = {
	ND_STR(N, name, 0, "interface", "Name of the interface."),
	ND_STR(N, driver, 0, "driver", "Driver."),
	ND_STR(N, driver_version, TEXT, "driver version", "Version of the driver."),
	ND_STR(N, firmware, TEXT, "firmware", "Version of the firmware."),
	ND_STR(N, bus, TEXT, "bus", "Address on the bus."),
	ND_STR(N, mac, TEXT, "MAC address", "Hardware address."),
	ND_U64(N, ifindex, ND_M_NONE, 0, "index", "Index of the interface."),
	ND_U64(N, mtu_bytes, ND_M_BYTES, 0, "MTU", "Largest packet of the interface."),
	ND_U64(N, speed_mbps, ND_M_NONE, 0, "speed in Mbit/s", "Link speed in Mbit/s."),
	ND_STR(N, duplex, TEXT, "duplex", "full or half."),
	ND_STR(N, qdisc, TEXT, "queueing discipline", "Root queueing discipline."),
	ND_STR(N, offloads, TEXT, "offloads", "Offloads that are on."),
	ND_U64(N, rx_queues, ND_M_COUNT, TEXT, "receive queues", "Receive queues."),
	ND_U64(N, tx_queues, ND_M_COUNT, TEXT, "transmit queues", "Transmit queues."),
	ND_U64(N, rx_ring, ND_M_COUNT, TEXT, "receive ring", "Slots of a receive ring."),
	ND_U64(N, tx_ring, ND_M_COUNT, TEXT, "transmit ring", "Slots of a transmit ring."),
	ND_I64(N, numa_node, ND_M_NONE, TEXT, "NUMA node", "NUMA node it is near to; -1 none."),
	ND_STR(N, cpulist, TEXT, "near CPUs", "CPUs near it."),
	ND_BOOL(N, is_loopback, 0, "loopback",
	       "It is the loopback interface: no network in between."),
	ND_BOOL(N, is_virtual, 0, "virtual", "There is no hardware behind it in this machine."),
	ND_ROWS_END
};

/* clang-format on */

const struct nd_table nd_host_table = { .name = "host", .size = sizeof(H), .rows = host_rows };
const struct nd_table nd_nic_facts_table = { .name = "nic",
					     .size = sizeof(N),
					     .rows = nic_facts_rows };
