/* SPDX-License-Identifier: MIT */
/* Field rows of sockperf's settings, for reports. */
#include "plan/sockperf.h"

const char *const nd_sockperf_mode_names[] = { "server",     "ping-pong", "under-load",
					       "throughput", "playback",  NULL };

/* clang-format off */
#define S struct nd_sockperf
#define N(f) ND_U64(S, f, ND_M_NONE, 0, NULL, NULL)
#define B(f) ND_BOOL(S, f, 0, NULL, NULL)
#define T(f) ND_STR(S, f, 0, NULL, NULL)
static const struct nd_field rows[] = {
	ND_ENUM(enum nd_sockperf_mode, S, mode, 0, NULL, NULL, nd_sockperf_mode_names),
	B(tcp), B(full_rtt), B(giga), B(precise), B(dont_warm_up), B(nonblocked), B(dont_reply), B(has_rate), B(gaps), B(skips),
	B(short_average), B(coloured), B(daemonize), N(time_s), N(messages), N(burst), N(rate), N(reply_every), N(message_bytes),
	N(range_bytes), N(level), N(threads), N(servers), N(halves), N(dots), N(rows), N(wait_s), N(bin_us), N(bin_low_us), N(bin_high_us), T(log), T(version), T(method), N(pace), N(buffer_bytes),
	T(data_file),
	B(debug), B(compares), B(no_rdtsc), B(reuseaddr), B(nodelay), B(loops), B(answers_sender), B(has_threads),
	N(tos), N(ttl), N(client_port), T(pin), T(receiver_pin), T(client_address), T(feed),
	ND_STRV(S, addresses, 0, NULL, NULL),
	ND_ROWS_END
};
#undef S
#undef N
#undef B
#undef T
/* clang-format on */

const struct nd_table nd_sockperf_table = { .name = "sockperf",
					    .size = sizeof(struct nd_sockperf),
					    .rows = rows };

const struct nd_sockperf *nd_sockperf_of(const struct nd_plan *plan)
{
	return plan->face_table == &nd_sockperf_table ? plan->face : NULL;
}
