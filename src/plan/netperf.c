/* SPDX-License-Identifier: MIT */
/* Field rows of netperf's settings, for reports. */
#include "plan/netperf.h"

const char *const nd_netperf_test_names[] = { "TCP_STREAM", "TCP_MAERTS", "TCP_RR",  "TCP_CRR",
					      "UDP_STREAM", "UDP_RR",     "OMNI",    "TCP_SENDFILE",
					      "TCP_CC",     "TCP_MSS",    "LOC_CPU", "REM_CPU",
					      "UUID",       NULL };

static const char *const style_names[] = { "classic", "csv", "human", "keyval", NULL };
/* ND_NP_SEND and ND_NP_RECV are bits */
static const char *const direction_names[] = {
	"none", "1", "send", "3", "recv", "5", "both", NULL
};

/* clang-format off */
#define G(f) ND_GROUP(struct nd_netperf_pair, S, f, 0, NULL, NULL, &nd_netperf_pair_table)
#define N(f) ND_U64(S, f, ND_M_NONE, 0, NULL, NULL)
#define B(f) ND_BOOL(S, f, 0, NULL, NULL)
#define T(f) ND_STR(S, f, 0, NULL, NULL)
#define I(f) ND_I64(S, f, ND_M_NONE, 0, NULL, NULL)
#define D(f) ND_F64(S, f, ND_M_NONE, 0, NULL, NULL)
#define S struct nd_netperf_pair
static const struct nd_field pair_rows[] = { I(local), I(remote), ND_ROWS_END };
#undef S
#define S struct nd_netperf_said
static const struct nd_field said_rows[] = {
	G(sndbuf), G(rcvbuf), G(send_bytes), G(recv_bytes), G(send_width), G(recv_width), G(data_port),
	I(remote_priority), I(remote_tos), B(remote_nodelay), B(remote_cpu), D(remote_rate), I(remote_cpus),
	I(remote_cpu_method), I(remote_send_calls), I(remote_recv_calls), D(remote_elapsed_s),
	ND_ROWS_END
};
#undef S
#define S struct nd_netperf
static const struct nd_field rows[] = {
	B(server), ND_ENUM(enum nd_netperf_test, S, test, 0, NULL, NULL, nd_netperf_test_names),
	G(send_align), G(recv_align), G(send_offset), G(recv_offset), G(send_width), G(recv_width), G(cpu),
	G(priority), G(tos), G(send_bytes), G(recv_bytes), G(sndbuf), G(rcvbuf), G(data_port),
	ND_GROUP(struct nd_netperf_said, S, said, 0, NULL, NULL, &nd_netperf_said_table),
	B(local_cpu), B(remote_cpu), D(local_rate), D(remote_rate), N(burst), N(burst_ns), N(interim_ns),
	I(length), N(iterations_max), N(iterations_min), N(confidence), D(confidence_width), B(result_only),
	B(keep_stats), B(no_control), N(wait_ns), B(keepalive), B(banner), B(shows_tcp_info), N(verbosity), T(brand), T(local_host),
	T(data_host), T(data_local), N(parallel), B(losses), I(request_bytes), I(response_bytes), B(datagram),
	B(connection_test), T(protocol), B(nodelay), B(route), B(cork), B(copy_avoidance), N(first_burst), N(recv_timeout_ns),
	T(local_cc), T(remote_cc), N(mss_bytes), T(uuid), T(selection), T(command),
	I(unit), T(host), T(local_file), T(remote_file), N(remote_burst), N(remote_burst_ns),
	ND_ENUM(unsigned, S, direction, 0, NULL, NULL, direction_names),
	ND_ENUM(enum nd_netperf_style, S, style, 0, NULL, NULL, style_names),
	ND_ROWS_END
};
#undef S
#undef G
#undef N
#undef B
#undef T
#undef I
#undef D
/* clang-format on */

const struct nd_table nd_netperf_pair_table = { .name = "pair",
						.size = sizeof(struct nd_netperf_pair),
						.rows = pair_rows };

const struct nd_table nd_netperf_said_table = { .name = "said",
						.size = sizeof(struct nd_netperf_said),
						.rows = said_rows };

const struct nd_table nd_netperf_table = { .name = "netperf",
					   .size = sizeof(struct nd_netperf),
					   .rows = rows };

const struct nd_netperf *nd_netperf_of(const struct nd_plan *plan)
{
	return plan->face_table == &nd_netperf_table ? plan->face : NULL;
}

bool nd_netperf_is_rr(const struct nd_netperf *n)
{
	return n->direction == (ND_NP_SEND | ND_NP_RECV);
}
