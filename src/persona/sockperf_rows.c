/* SPDX-License-Identifier: MIT */
/* sockperf's options, mode by mode. */
#include <errno.h>
#include <string.h>

#include "persona/sockperf.h"

#define LINE             struct nd_sockperf_line
#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, LINE, member)
#define GIVEN(member)    .set_offset = (uint32_t)ND_FIELD_OF(bool, LINE, member)
#define FLAG(member)     .type = ND_OPT_FLAG, AT(bool, member)
#define TEXT(member)     .type = ND_OPT_STRING, AT(const char *, member)
#define COUNT(member)    .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, member)
#define CUSTOM(name)     .type = ND_OPT_CUSTOM, .parse = parse_##name

#define RATE_MAX    (1ull << 30)
#define TIME_MAX_S  86400u
#define PACKETS_MAX 100000000u

/* Only a network card's own library can do what these ask for. */
static int parse_vendor(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	(void)row;
	(void)value;
	return nd_fail(ctx->err, -EINVAL,
		       "%s takes a vendor's kernel-bypass library, which this program does not use",
		       ctx->as_typed);
}

static int parse_missing(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	(void)row;
	(void)value;
	return nd_fail(ctx->err, -EINVAL, "%s is not implemented here", ctx->as_typed);
}

/* What has no effect must still be what it says it is. */
static int parse_number(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	uint64_t ignored;

	return nd_parse_in(ctx->as_typed, value, ND_UNIT_COUNT, row->min, row->max, &ignored,
			   ctx->err);
}

/* The same, or -1: for ever. */
static int parse_wait(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return strcmp(value, "-1") != 0 ? parse_number(row, value, ctx) : 0;
}

static int parse_looping(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	LINE *l = ctx->target;

	l->loops = strcmp(value, "1") != 0;
	return parse_wait(row, value, ctx);
}

static int parse_iomux(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	static const char *const known[] = { "select", "poll", "epoll", "recvfrom" };
	LINE *l = ctx->target;

	for (size_t i = 0; i < ND_COUNTOF(known); i++) {
		if (strcmp(value, known[i]) != 0 && (value[0] != known[i][0] || value[1]))
			continue;
		l->n.method = known[i];
		return 0;
	}
	if (!strcmp(value, "x") || !strcmp(value, "socketxtreme"))
		return parse_vendor(row, value, ctx);
	return nd_fail(ctx->err, -EINVAL, "%s: '%.80s' is none of select, poll, epoll, recvfrom",
		       ctx->as_typed, value);
}

/* "0,2-5" */
static int parse_cpus(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const char *p = value;
	uint64_t from, to;
	size_t n;

	do {
		n = nd_parse_prefix_u64(p, &from);
		p += n;
		to = from;
		if (n && *p == '-') {
			n = nd_parse_prefix_u64(p + 1, &to);
			p += n + 1;
		}
	} while (n && from <= to && *p == ',' && *++p);
	if (n == 0 || *p || from > to)
		return nd_fail(ctx->err, -EINVAL, "%s: '%.80s' is no list of CPUs such as 0,2-5",
			       ctx->as_typed, value);
	if (row->offset)
		*(const char **)(void *)((char *)ctx->target + row->offset) = value;
	return 0;
}

/* A number, or "max". */
static int parse_rate(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	LINE *l = ctx->target;

	(void)row;
	if (!strcmp(value, "max") || !strcmp(value, "MAX")) {
		l->n.rate = 0;
		return 0;
	}
	return nd_parse_in(ctx->as_typed, value, ND_UNIT_COUNT, 1, RATE_MAX, &l->n.rate, ctx->err);
}

/* "binsize:lower:upper", us */
static int parse_histogram(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	LINE *l = ctx->target;
	uint64_t v[3] = { 0 };
	const char *p = value;

	(void)row;
	for (unsigned i = 0; i < ND_COUNTOF(v); i++) {
		size_t n = nd_parse_prefix_u64(p, &v[i]);

		p += n;
		if (n == 0 || *p != (i < 2 ? ':' : '\0'))
			return nd_fail(ctx->err, -EINVAL,
				       "%s: '%.80s' is not BINSIZE:LOWER:UPPER in us",
				       ctx->as_typed, value);
		p += i < 2;
	}
	if (v[0] == 0 || v[1] >= v[2] || v[2] > UINT32_MAX)
		return nd_fail(ctx->err, -EINVAL, "%s: '%.80s' has no bins", ctx->as_typed, value);
	l->n.bin_us = v[0];
	l->n.bin_low_us = v[1];
	l->n.bin_high_us = v[2];
	return 0;
}

/* "3.7": the short line of averages; else as the latest. */
static int parse_compat(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	LINE *l = ctx->target;

	(void)row;
	if (strcmp(value, "3.7") != 0 && strcmp(value, "3.10") != 0)
		return nd_fail(ctx->err, -EINVAL, "%s: '%.80s' is neither 3.7 nor 3.10",
			       ctx->as_typed, value);
	l->n.coloured = true;
	l->n.short_average = !strcmp(value, "3.7");
	l->n.version = l->n.short_average ? "3.7" : "3.10";
	return 0;
}

/* clang-format off */
static const struct nd_opt common_rows[] = {
	{ .name = "tcp", .alias = "stream", FLAG(n.tcp), .section = "Addresses", .common = true, .help = "TCP instead of UDP" },
	{ .letter = 'i', .name = "ip", .alias = "addr", TEXT(address), GIVEN(has_address), .metavar = "ADDRESS", .common = true,
	  .help = "server: where to listen, by default everywhere; client: the server" },
	{ .letter = 'p', .name = "port", COUNT(port), GIVEN(has_port), .preset = "11111", .min = 1, .max = 65535,
	  .metavar = "PORT", .common = true, .help = "the server's port" },
	{ .letter = 'f', .name = "file", TEXT(n.feed), .metavar = "FILE",
	  .help = "addresses instead of -i, -p and --tcp: [T:|U:]HOST:PORT, one on a line" },
	{ .letter = 'F', .name = "iomux-type", CUSTOM(iomux), GIVEN(has_iomux), .metavar = "TYPE",
	  .help = "with -f: how sockets are waited for: told, but otherwise without effect" },
	{ .name = "timeout", CUSTOM(wait), .max = INT32_MAX, .metavar = "MS", .help = "of that; has no effect" },
	{ .letter = 'a', .name = "activity", COUNT(n.dots), .min = 1, .max = ND_NS_PER_S, .metavar = "N", .section = "Output",
	  .help = "a dot for each N messages" },
	{ .letter = 'A', .name = "Activity", COUNT(n.rows), .min = 1, .max = ND_NS_PER_S, .metavar = "N",
	  .help = "a line with the time and the rate of each N messages" },
	{ .letter = 'd', .name = "debug", FLAG(n.debug), .help = "the settings, one on a line, and where the statistics begin and end" },
	{ .name = "compat", CUSTOM(compat), .optional = "3.10", .metavar = "VERSION",
	  .help = "colours and exit codes always as sockperf's; 3.7: its line of averages, too" },
	{ .name = "tcp-avoid-nodelay", FLAG(toggles_nodelay), .section = "Sockets",
	  .help = "small messages wait for each other; under throughput they then do not" },
	{ .name = "tcp-skip-blocking-send", FLAG(n.skips), .help = "a message that a full socket does not take is left out" },
	{ .name = "tos", COUNT(n.tos), GIVEN(has_tos), .max = 255, .metavar = "N", .help = "type of service, all eight bits" },
	{ .name = "mc-rx-if", .alias = "mc-rx-ip", TEXT(multicast.rx_if), .metavar = "INTERFACE",
	  .help = "multicast: where the group is joined: an address, index or name" },
	{ .name = "mc-tx-if", .alias = "mc-tx-ip", TEXT(multicast.tx_if), .metavar = "INTERFACE",
	  .help = "multicast: where it is sent to" },
	{ .name = "mc-loopback-enable", FLAG(multicast.loops), .help = "multicast: this machine hears what it sends" },
	{ .name = "mc-ttl", COUNT(multicast.ttl), .preset = "2", .max = 255, .metavar = "N", .help = "multicast: routers on the way" },
	{ .name = "mc-source-filter", TEXT(multicast.source), .metavar = "HOST", .help = "multicast: only what comes from there" },
	{ .name = "uc-reuseaddr", FLAG(n.reuseaddr), .help = "server: the port may be another program's, too" },
	{ .name = "lls", COUNT(lls_us), GIVEN(has_lls), .max = ND_MAX_BUSY_POLL_US, .metavar = "US",
	  .help = "the kernel polls the device for so long before it waits" },
	{ .name = "buffer-size", COUNT(n.buffer_bytes), .min = 1, .max = 1ull << 30, .metavar = "BYTES",
	  .help = "socket buffers" },
	{ .name = "nonblocked", FLAG(n.nonblocked), .common = true, .help = "busy loop instead of waiting" },
	{ .name = "recv_looping_num", CUSTOM(looping), .max = INT32_MAX, .metavar = "N",
	  .help = "has no effect; other than 1 it needs --nonblocked" },
	{ .name = "daemonize", FLAG(n.daemonize), .common = true, .help = "go to the background" },
	{ .name = "dontwarmup", FLAG(n.dont_warm_up), .section = "Running", .help = "no word of a warm-up" },
	{ .name = "pre-warmup-wait", COUNT(n.wait_s), .min = 1, .max = 86400, .metavar = "SECONDS", .help = "wait before the test" },
	{ .name = "no-rdtsc", FLAG(n.no_rdtsc), .help = "has no effect: the clock is the system's" },
	{ .name = "rate-limit", COUNT(n.pace), .min = 1, .max = 1ull << 40, .metavar = "BYTES",
	  .help = "each connection's pace by the kernel, bytes a second" },
	{ .name = "tls", CUSTOM(missing), .optional = "", .metavar = "CIPHER", .help = "not implemented" },
	{ .name = "load-vma", CUSTOM(vendor), .optional = "", .hidden = true, .help = "not here" },
	{ .name = "load-xlio", CUSTOM(vendor), .optional = "", .hidden = true, .help = "not here" },
	{ .name = "zcopyread", CUSTOM(vendor), .optional = "", .hidden = true, .help = "not here" },
	{ .name = "vmazcopyread", CUSTOM(vendor), .optional = "", .hidden = true, .help = "not here" },
	{ .name = "set-sock-accl", CUSTOM(vendor), .optional = "", .hidden = true, .help = "not here" },
	{ 0 }
};

static const struct nd_opt server_rows[] = {
	{ .letter = 'm', .name = "msg-size", COUNT(n.message_bytes), GIVEN(has_message_bytes), .min = ND_SOCKPERF_HEADER,
	  .max = ND_SOCKPERF_MAX_TCP, .metavar = "BYTES", .section = "Server", .help = "longest message that is taken" },
	{ .name = "threads-num", COUNT(n.threads), GIVEN(n.has_threads), .min = 1, .max = ND_SOCKPERF_THREADS, .metavar = "N", .help = "threads that answer" },
	{ .name = "cpu-affinity", CUSTOM(cpus), AT(const char *, n.pin), .metavar = "CPUS", .help = "where they run" },
	{ .name = "force-unicast-reply", FLAG(multicast.answers_sender), .help = "multicast: answers go to the sender, not to the group" },
	{ .name = "dont-reply", FLAG(n.dont_reply), .common = true, .help = "count only" },
	{ .letter = 'g', .name = "gap-detection", FLAG(n.gaps), .help = "lines about numbers of datagrams that did not come, by client" },
	{ .name = "rxfiltercb", CUSTOM(vendor), .optional = "", .hidden = true, .help = "not here" },
	{ .name = "vmarxfiltercb", CUSTOM(vendor), .optional = "", .hidden = true, .help = "not here" },
	{ 0 }
};

static const struct nd_opt client_rows[] = {
	{ .name = "full-log", TEXT(n.log), .section = "Results", .metavar = "FILE", .common = true, .help = "every observation" },
	{ .name = "full-rtt", FLAG(n.full_rtt), .common = true, .help = "round trips instead of half of them" },
	{ .name = "giga-size", FLAG(n.giga), .help = "throughput: GBps" },
	{ .name = "increase_output_precision", FLAG(n.precise), .help = "throughput: nine decimals" },
	{ .name = "sender-affinity", CUSTOM(cpus), AT(const char *, n.pin), .section = "Client", .metavar = "CPUS", .help = "where the client runs" },
	{ .name = "receiver-affinity", CUSTOM(cpus), AT(const char *, n.receiver_pin), .metavar = "CPUS", .help = "has no effect: one thread sends and receives" },
	{ .name = "tcp_nb_connect_timeout_ms", COUNT(connect_ms), .preset = "10000", .min = 1, .max = 3600000, .metavar = "MS",
	  .help = "longest wait for a connection" },
	{ .name = "srv-num", COUNT(n.servers), .preset = "1", .min = 1, .max = ND_SOCKPERF_SERVERS, .metavar = "N",
	  .help = "servers that answer each message, as those of a group do: statistics of each, in the order of their first answers" },
	{ .name = "dummy-send", CUSTOM(vendor), .optional = "", .hidden = true, .help = "not here" },
	{ .name = "client_port", COUNT(n.client_port), GIVEN(has_client_port), .max = 65535, .metavar = "PORT",
	  .help = "own port; 0: any" },
	{ .name = "client_ip", .alias = "client_addr", TEXT(n.client_address), .metavar = "ADDRESS", .help = "own address" },
	{ .name = "threads", COUNT(n.threads), .min = 1, .max = ND_SOCKPERF_THREADS, .metavar = "N", .common = true,
	  .help = "so many clients in one, each a thread with a socket; figures are of all together" },
	{ 0 }
};

static const struct nd_opt timed_rows[] = {
	{ .letter = 't', .name = "time", COUNT(n.time_s), GIVEN(has_time), .preset = "1", .min = 1, .max = TIME_MAX_S,
	  .section = "Messages", .metavar = "SECONDS", .common = true, .help = "how long" },
	{ .letter = 'b', .name = "burst", COUNT(n.burst), GIVEN(has_burst), .preset = "1", .min = 1, .max = 1000000, .metavar = "N",
	  .common = true, .help = "messages at once" },
	{ .name = "mps", .alias = "pps", CUSTOM(rate), GIVEN(has_rate), .metavar = "N|max", .common = true,
	  .help = "messages a second" },
	{ .letter = 'm', .name = "msg-size", COUNT(n.message_bytes), GIVEN(has_message_bytes), .preset = "14",
	  .min = ND_SOCKPERF_HEADER, .max = ND_SOCKPERF_MAX_TCP, .metavar = "BYTES", .common = true, .help = "length of a message" },
	{ .letter = 'r', .name = "range", COUNT(n.range_bytes), .max = ND_SOCKPERF_MAX_TCP, .metavar = "BYTES",
	  .help = "messages are shorter by up to so much" },
	{ 0 }
};

static const struct nd_opt ping_rows[] = {
	{ .letter = 'n', .name = "number-of-packets", COUNT(n.messages), GIVEN(has_messages), .min = 1, .max = PACKETS_MAX,
	  .metavar = "N", .help = "so many observations instead of a time" },
	{ .name = "data-integrity", FLAG(n.compares), .help = "answers are compared with what was sent" },
	{ 0 }
};

static const struct nd_opt under_rows[] = {
	{ .name = "reply-every", COUNT(n.reply_every), .preset = "100", .min = 1, .max = RATE_MAX, .metavar = "N", .common = true,
	  .help = "each so many-th message is answered" },
	{ 0 }
};

static const struct nd_opt quantile_rows[] = {
	{ .name = "ci_sig_level", COUNT(n.level), .preset = "99", .min = 1, .max = 99, .section = "Statistics", .metavar = "PERCENT",
	  .help = "of the confidence interval" },
	{ .name = "histogram", CUSTOM(histogram), .metavar = "SIZE:LOW:HIGH", .help = "bars, in us" },
	{ 0 }
};

static const struct nd_opt playback_rows[] = {
	{ .name = "data-file", TEXT(n.data_file), .metavar = "FILE", .section = "Messages", .help = "SECONDS, BYTES on each line" },
	{ 0 }
};

/* clang-format on */

static const struct nd_opt *const server_arrays[] = { common_rows, server_rows, NULL };
static const struct nd_opt *const ping_arrays[] = { common_rows, client_rows,   timed_rows,
						    ping_rows,   quantile_rows, NULL };
static const struct nd_opt *const under_arrays[] = { common_rows, client_rows,   timed_rows,
						     under_rows,  quantile_rows, NULL };
static const struct nd_opt *const send_arrays[] = { common_rows, client_rows, timed_rows, NULL };
static const struct nd_opt *const playback_arrays[] = { common_rows, client_rows,   playback_rows,
							under_rows,  quantile_rows, NULL };

#define SET(word, text, list)                                                                \
	{                                                                                    \
		.prog = "sockperf " word, .operands = "", .summary = (text), .rows = (list), \
		.grammar = ND_GRAMMAR_SOCKPERF                                               \
	}

const struct nd_opt_set nd_sockperf_sets[ND_SP_MODES] = {
	[ND_SP_SERVER] = SET("server", "answer clients", server_arrays),
	[ND_SP_PING_PONG] = SET("ping-pong", "send, wait for the answer, send again", ping_arrays),
	[ND_SP_UNDER_LOAD] =
		SET("under-load", "send by a schedule, answers come beside it", under_arrays),
	[ND_SP_THROUGHPUT] = SET("throughput", "send, and wait for nothing", send_arrays),
	[ND_SP_PLAYBACK] = SET("playback", "send at the times of a file", playback_arrays),
};
