/* SPDX-License-Identifier: MIT */
/* Field rows of NTttcp's settings, for reports. */
#include "plan/ntttcp.h"

/* clang-format off */
#define S struct nd_ntttcp
#define N(f) ND_U64(S, f, ND_M_NONE, 0, NULL, NULL)
#define B(f) ND_BOOL(S, f, 0, NULL, NULL)
#define T(f) ND_STR(S, f, 0, NULL, NULL)
#define I(f) ND_I64(S, f, ND_M_NONE, 0, NULL, NULL)
static const struct nd_field rows[] = {
	B(windows), B(sender), N(base_port), N(ports), N(threads_per_port), N(conns_per_thread), N(io_bytes),
	N(source_port), B(udp), B(ipv6), B(no_sync), B(verbose), B(nodelay), B(has_time), B(any_transport), B(continuous),
	N(time_ms), N(warmup_ms), N(cooldown_ms), T(server_address), T(client_address), T(xml_file),
	T(json_file), T(log_file), B(multi), B(last), B(hold), B(epoll), B(daemon), B(quiet), B(tcp_retrans),
	N(bandwidth_bps), N(fq_bps), I(cpu), T(nic), T(interrupts), N(buffers), N(async_io),
	B(async_count_given), I(sndbuf), I(rcvbuf), N(timeout_ms), B(dynamic_ports), B(wsa), B(verify),
	B(wait_all), B(udp_unconnected), B(receive_coalescing), B(io_ports_used), B(hide_threads), B(latency),
	B(round_trip), B(no_stdio_buffer), B(cpu_from_idle), B(estats), B(jitter), N(uso_bytes),
	N(transmit_packets), N(io_ports), N(numa_node), N(throttle_kBps), N(cpu_burn), N(sample_s),
	N(packet_spacing_ms), N(qos), T(jitter_file),
	ND_STRV(S, notes, 0, NULL, NULL),
	ND_ROWS_END
};
#undef S
#undef N
#undef B
#undef T
#undef I
/* clang-format on */

const struct nd_table nd_ntttcp_table = { .name = "ntttcp",
					  .size = sizeof(struct nd_ntttcp),
					  .rows = rows };

const struct nd_ntttcp *nd_ntttcp_of(const struct nd_plan *plan)
{
	return plan->face_table == &nd_ntttcp_table ? plan->face : NULL;
}

void nd_ntttcp_take_any(struct nd_plan *plan)
{
	const struct nd_ntttcp *set = nd_ntttcp_of(plan);
	struct nd_ntttcp *copy = set ? nd_arena_alloc(&plan->arena, 1, sizeof(*copy)) : NULL;

	if (!copy) /* no memory: the transport that was asked for is served */
		return;
	*copy = *set;
	copy->any_transport = true;
	plan->face = copy;
}
