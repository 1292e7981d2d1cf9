/* SPDX-License-Identifier: MIT */
/*
 * The command line of ntttcp.exe: words behind one dash, in either case. What has no meaning here is said in a
 * sentence.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "persona/ntttcp.h"

#define LINE             struct nd_ntttcp_line
#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, LINE, member)
#define GIVEN(member)    .set_offset = (uint32_t)ND_FIELD_OF(bool, LINE, member)
#define MAX_SECONDS      86400
#define MAX_MAPPINGS     1024
#define MAX_SYNC_THREADS 999
#define MAX_ASYNC        63 /* without -icp */
#define TOKEN_OFFSET     1000
#define DATAGRAM_BYTES   128
#define JITTER_BYTES     20
#define DEFAULT_BUFFERS  20480
#define BURN_STEPS       1000
#define COUNT_LIMIT_S    10800 /* a count without -t */
#define ALONE_NO_FILE    "no file"
#define NODE_CPUS        "/sys/devices/system/node/node%llu/cpulist"
#define NODE_FILE_MAX    4096
#define ULL(v)           ((unsigned long long)(v))

/* Code points of the six kinds of traffic that -qos names. */
static const uint8_t code_points[] = { 0, 8, 40, 40, 56, 56 };

/* ---- values */

static LINE *line_of(const struct nd_opt_ctx *ctx)
{
	return ctx->target;
}

static int refuse(const struct nd_opt_ctx *ctx, const char *value, const char *what)
{
	return nd_fail(ctx->err, -EINVAL, "%s: '%.80s' is %s", ctx->as_typed, value, what);
}

/* "64K", "1M": powers of 1024, 32 bits. */
static int memory(const struct nd_opt_ctx *ctx, const char *value, uint64_t *ret)
{
	uint64_t v = 0;
	size_t n = nd_parse_prefix_u64(value, &v);
	unsigned shift = 0;

	if (n && (value[n] | 0x20) == 'k')
		shift = 10;
	else if (n && (value[n] | 0x20) == 'm')
		shift = 20;
	n += n && shift;
	if (!n || value[n])
		return refuse(ctx, value, "not a number such as 20480, 64K or 1M");
	if (v > (uint64_t)INT32_MAX >> shift)
		return refuse(ctx, value, "too much");
	*ret = v << shift;
	return 0;
}

static int parse_memory(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	uint64_t v = 0;
	int r = memory(ctx, value, &v);

	if (r == 0 && v < 1)
		r = refuse(ctx, value, "not above 0");
	if (r == 0)
		memcpy((char *)ctx->target + row->offset, &v, sizeof(v));
	return r;
}

/* A socket buffer; -1 leaves the system's. */
static int parse_buffer(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	uint64_t v = 0;
	int64_t size = -1;
	int r = strcmp(value, "-1") ? memory(ctx, value, &v) : 0;

	if (r < 0)
		return r;
	if (strcmp(value, "-1") != 0)
		size = (int64_t)v;
	if (size == 0)
		nd_ntttcp_note(line_of(ctx),
			       "%s: no buffer is not possible here, the system's is kept",
			       ctx->as_typed);
	memcpy((char *)ctx->target + row->offset, &size, sizeof(size));
	return 0;
}

static int parse_int(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	int64_t v = 0;
	size_t n = nd_parse_prefix_i64(value, &v);

	if (!n || value[n])
		return refuse(ctx, value, "not a number");
	memcpy((char *)ctx->target + row->offset, &v, sizeof(v));
	return 0;
}

/* -a [N]: a number that was typed also says that there is no send buffer, unless -sb has said something. */
static int parse_async(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	LINE *l = line_of(ctx);
	int r = nd_parse_in(ctx->as_typed, value, ND_UNIT_COUNT, 1, UINT16_MAX, &l->n.async_io,
			    ctx->err);

	l->n.async_count_given = value != row->optional;
	if (r == 0 && l->n.async_count_given && !l->has_sndbuf)
		l->n.sndbuf = 0;
	return r;
}

/* -jm [FILE] */
static int parse_jitter(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	LINE *l = line_of(ctx);

	l->n.jitter = true;
	if (value == row->optional)
		return 0;
	l->n.jitter_file = nd_arena_dup(ctx->arena, value);
	return l->n.jitter_file ? 0 : nd_fail(ctx->err, -ENOMEM, "out of memory");
}

/* ---- rows */

/* clang-format off */
static const struct nd_opt role_rows[] = {
	{ .letter = 's', .type = ND_OPT_FLAG, AT(bool, n.sender), .section = "Role", .common = true, .help = "send" },
	{ .letter = 'r', .type = ND_OPT_FLAG, .fixed_false = true, AT(bool, n.sender), .common = true, .help = "receive (without -s)" },
	{ .letter = 'm', .type = ND_OPT_LIST, AT(struct nd_strv, maps), .metavar = "THREADS,CPU,HOST",
	  .common = true, .help = "threads, CPU or *, receiver; one or more",
	  .more = "Each thread has a port, counted on from -p over all mappings." },
	{ .letter = 'p', .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.base_port), .min = 1, .max = UINT16_MAX,
	  .preset = ND_NTTTCP_PORT, .metavar = "PORT", .common = true, .help = "port of the first thread" },
	{ .name = "ns", .type = ND_OPT_FLAG, AT(bool, n.no_sync), .common = true, .help = "no synchronisation of the two ends" },
	{ .name = "sp", .type = ND_OPT_FLAG, AT(bool, n.dynamic_ports), .help = "the receiver tells the senders their ports" },
	{ .name = "to", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.timeout_ms), GIVEN(has_timeout), .max = UINT32_MAX,
	  .preset = "600000", .metavar = "MS", .help = "longest wait, 0: for ever",
	  .more = "Of a sender for the receiver's answers, of a receiver for a sender to come." },
	{ .name = "-dialect", .type = ND_OPT_ENUM, .values = nd_ntttcp_dialects, AT(const char *, dialect),
	  .help = "whose command line this is, by default as the words tell" },
	{ 0 }
};

static const struct nd_opt test_rows[] = {
	{ .letter = 't', .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, win_time_s), GIVEN(n.has_time),
	  .min = 1, .max = MAX_SECONDS, .metavar = "SECONDS", .section = "Test", .common = true, .help = "length of the test" },
	{ .letter = 'n', .type = ND_OPT_CUSTOM, .parse = parse_memory, AT(uint64_t, n.buffers), GIVEN(has_buffers),
	  .metavar = "N", .common = true, .help = "end after so many buffers of each thread",
	  .more = "Without -t and -n it is 20480." },
	{ .letter = 'l', .type = ND_OPT_CUSTOM, .parse = parse_memory, AT(uint64_t, n.io_bytes), GIVEN(has_bytes),
	  .preset = "64K", .metavar = "SIZE", .common = true, .help = "bytes of a buffer, with -u 128" },
	{ .name = "wu", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, win_warmup_s), .max = MAX_SECONDS,
	  .preset = "0", .metavar = "SECONDS", .common = true, .help = "warm-up before it" },
	{ .name = "cd", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, win_cooldown_s), .max = MAX_SECONDS,
	  .preset = "0", .metavar = "SECONDS", .common = true, .help = "cool-down behind it" },
	{ .letter = 'a', .type = ND_OPT_CUSTOM, .parse = parse_async, .optional = "2", .metavar = "N",
	  .common = true, .help = "asynchronous: operations under way in each thread" },
	{ .letter = 'w', .type = ND_OPT_FLAG, AT(bool, n.wsa), .help = "with -a: scattered calls, here the same" },
	{ .letter = 'x', .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.transmit_packets), GIVEN(has_transmit),
	  .min = 1, .max = UINT16_MAX, .optional = "1", .metavar = "N", .help = "with -a: TransmitPackets, here plain sends" },
	{ .name = "icp", .type = ND_OPT_CUSTOM, .parse = parse_int, AT(int64_t, io_ports), GIVEN(n.io_ports_used),
	  .metavar = "N", .help = "so many workers; allows -a above 63" },
	{ .name = "thr", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.throttle_kBps), GIVEN(has_throttle),
	  .max = UINT32_MAX, .metavar = "KB/S", .help = "sender: rate of each thread" },
	{ .name = "ps", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.packet_spacing_ms), GIVEN(has_spacing),
	  .min = 5, .max = 1000, .metavar = "MS", .help = "sender: time between sends, one thread" },
	{ .name = "brn", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.cpu_burn), GIVEN(has_burn),
	  .max = 100000, .metavar = "N", .help = "burn CPU behind each operation" },
	{ .name = "rt", .type = ND_OPT_FLAG, AT(bool, n.round_trip), .help = "round trips: each buffer is answered" },
	{ .name = "lm", .type = ND_OPT_FLAG, AT(bool, n.latency), .help = "measure how long operations take" },
	{ .name = "jm", .type = ND_OPT_CUSTOM, .parse = parse_jitter, .optional = ALONE_NO_FILE, .metavar = "FILE",
	  .help = "jitter: packets with number and time; a receiver writes FILE" },
	{ .letter = 'd', .type = ND_OPT_FLAG, AT(bool, n.verify), .help = "verify that every byte received is an A" },
	{ 0 }
};

static const struct nd_opt socket_rows[] = {
	{ .letter = 'u', .type = ND_OPT_FLAG, AT(bool, n.udp), .section = "Sockets", .common = true, .help = "UDP instead of TCP" },
	{ .name = "uc", .type = ND_OPT_FLAG, AT(bool, n.udp_unconnected), .help = "UDP over unconnected sockets" },
	{ .name = "uso", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.uso_bytes), .max = ND_MAX_DATAGRAM,
	  .metavar = "BYTES", .help = "UDP sender: buffers cut into datagrams below the socket" },
	{ .name = "uro", .type = ND_OPT_FLAG, AT(bool, n.receive_coalescing), .help = "UDP receiver: datagrams in one piece" },
	{ .letter = '6', .type = ND_OPT_FLAG, AT(bool, n.ipv6), .help = "IPv6" },
	{ .name = "sb", .type = ND_OPT_CUSTOM, .parse = parse_buffer, AT(int64_t, n.sndbuf), GIVEN(has_sndbuf),
	  .metavar = "SIZE", .help = "send buffer" },
	{ .name = "rb", .type = ND_OPT_CUSTOM, .parse = parse_buffer, AT(int64_t, n.rcvbuf), .metavar = "SIZE", .help = "receive buffer" },
	{ .name = "ndl", .type = ND_OPT_FLAG, AT(bool, n.nodelay), .help = "send small pieces at once" },
	{ .name = "nic", .type = ND_OPT_STRING, AT(const char *, n.client_address), GIVEN(has_source),
	  .metavar = "ADDRESS", .help = "sender: source address" },
	{ .name = "wa", .type = ND_OPT_FLAG, AT(bool, n.wait_all), .help = "receiver: whole buffers" },
	{ .name = "qos", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.qos), GIVEN(has_qos), .max = 5,
	  .metavar = "0..5", .help = "sender: kind of traffic, as a code point" },
	{ .name = "na", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.numa_node), GIVEN(has_numa),
	  .max = UINT16_MAX, .metavar = "N", .help = "NUMA node of threads mapped with *" },
	{ .name = "hv", .type = ND_OPT_FLAG, AT(bool, vsock), .help = "Hyper-V sockets: not here" },
	{ 0 }
};

static const struct nd_opt output_rows[] = {
	{ .name = "xml", .type = ND_OPT_STRING, AT(const char *, n.xml_file), .optional = "xml.txt",
	  .metavar = "FILE", .section = "Output", .common = true, .help = "write the result as XML, without tables" },
	{ .letter = 'v', .type = ND_OPT_FLAG, AT(bool, n.verbose), .common = true, .help = "settings and more lines" },
	{ .name = "hpt", .type = ND_OPT_FLAG, AT(bool, n.hide_threads), .help = "no rows for threads" },
	{ .name = "sam", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, n.sample_s), .min = 1, .max = MAX_SECONDS,
	  .metavar = "SECONDS", .help = "a result for each stretch of the test" },
	{ .name = "es", .type = ND_OPT_FLAG, AT(bool, n.estats), .help = "TCP's own statistics, in the XML" },
	{ .name = "cfi", .type = ND_OPT_FLAG, AT(bool, n.cpu_from_idle), .help = "CPU use from idle time, here the same" },
	{ .name = "nsb", .type = ND_OPT_FLAG, AT(bool, n.no_stdio_buffer), .help = "output unbuffered; lines always are" },
	{ 0 }
};
/* clang-format on */

static const struct nd_opt *const arrays[] = {
	role_rows, test_rows, socket_rows, output_rows, NULL,
};

const struct nd_opt_set nd_ntttcp_windows_set = {
	.prog = "ntttcp",
	.operands = "",
	.summary = "throughput as ntttcp.exe measures and reports it",
	.description = "Upper and lower case are the same, and a dash may be a long one.\n"
		       "K and M are powers of 1024.",
	.examples = "ntttcp -r -m 1,0,192.168.1.4 1,1,192.168.1.4 -t 60 -wu 5 -cd 5\t"
		    "receive with two threads on two CPUs\n"
		    "ntttcp -s -m 8,*,192.168.1.4 -l 128K -a 2 -t 60\tsend with eight threads",
	.grammar = ND_GRAMMAR_WINDOWS,
	.rows = arrays,
};

/* ---- settings that depend on one another */

static int read_mapping(const LINE *l, const char *text, struct nd_target *t, struct nd_err *err)
{
	const char *field[3];
	int n = nd_ntttcp_fields(&l->plan->arena, text, field, (int)ND_COUNTOF(field));
	size_t used;

	if (n < 0)
		return nd_fail(err, n, "out of memory");
	if (n != (int)ND_COUNTOF(field) || !*field[1] || !*field[2])
		return nd_fail(err, -EINVAL, "-m: '%.80s' is not THREADS,CPU,HOST", text);
	used = nd_parse_prefix_u64(field[0], &t->ports);
	if (!used || field[0][used] || !t->ports || t->ports > ND_MAX_FLOWS)
		return nd_fail(err, -EINVAL, "-m: '%.80s' threads are outside 1..%d", field[0],
			       ND_MAX_FLOWS);
	t->host = field[2];
	t->flows = l->n.sender ? t->ports : 0;
	return nd_ntttcp_cpu("-m", field[1], &t->cpu, err);
}

/* Threads and ports are counted on over all mappings. */
static int settle_mappings(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	struct nd_target *t;
	uint64_t i;
	int r;

	if (!l->maps.n)
		return nd_fail(err, -EINVAL, "-m is missing: THREADS,CPU,HOST");
	if (l->maps.n > MAX_MAPPINGS)
		return nd_fail(err, -EINVAL, "-m: %llu mappings are over %d", ULL(l->maps.n),
			       MAX_MAPPINGS);
	r = nd_list_new(&l->plan->arena, &l->targets, l->maps.n, sizeof(*t));
	if (r < 0)
		return nd_fail(err, r, "out of memory");
	t = l->targets.v;
	for (i = 0; i < l->maps.n; i++) {
		r = read_mapping(l, l->maps.v[i], &t[i], err);
		if (r == 0)
			r = nd_ntttcp_check_address(n, "-m", t[i].host, err);
		if (r < 0)
			return r;
		t[i].port = n->base_port + (n->dynamic_ports ? 1 : 0) + n->ports;
		n->ports += t[i].ports;
	}
	n->server_address = t->host;
	n->cpu = t->cpu;
	n->threads_per_port = n->conns_per_thread = 1;
	if (n->ports > MAX_SYNC_THREADS && !n->no_sync)
		return nd_fail(err, -EINVAL, "-m: %llu threads are over %d, which needs -ns",
			       ULL(n->ports), MAX_SYNC_THREADS);
	i = n->base_port + n->ports + (n->dynamic_ports ? 0 : -1ull) +
	    (n->no_sync ? 0 : TOKEN_OFFSET);
	if (i > UINT16_MAX)
		return nd_fail(err, -EINVAL, "-p: the last of %llu ports would be %llu",
			       ULL(n->ports), ULL(i));
	return 0;
}

static int settle_sizes(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	uint64_t max = n->udp ? ND_MAX_DATAGRAM : ND_MAX_MESSAGE;

	if (n->udp && !l->has_bytes)
		n->io_bytes = DATAGRAM_BYTES;
	if (n->io_bytes > max)
		return nd_fail(err, -EINVAL, "-l: '%llu' is outside 1..%llu", ULL(n->io_bytes),
			       ULL(max));
	return 0;
}

struct rule {
	bool broken;
	const char *sentence;
};

static int settle_words(LINE *l, struct nd_err *err)
{
	const struct nd_ntttcp *n = &l->n;
	bool async = n->async_io > 0;
	const struct rule rows[] = {
		{ l->vsock,
		  "-hv: Hyper-V sockets have no meaning here, give an address or a name" },
		{ n->uso_bytes && !(n->sender && n->udp), "-uso needs -s and -u" },
		{ n->uso_bytes && n->round_trip, "-uso and -rt exclude each other" },
		{ n->receive_coalescing && !(!n->sender && n->udp), "-uro needs -r and -u" },
		{ n->receive_coalescing && n->round_trip, "-uro and -rt exclude each other" },
		{ n->udp_unconnected && !n->udp, "-uc needs -u" },
		{ n->udp_unconnected && async, "-uc and -a exclude each other" },
		{ n->wsa && !async, "-w needs -a" },
		{ n->wsa && l->has_transmit, "-w and -x exclude each other" },
		{ l->has_transmit && !async, "-x needs -a" },
		{ n->async_io > MAX_ASYNC && !n->io_ports_used, "-a: above 63 needs -icp" },
		{ n->wait_all && async && !n->wsa, "-wa with -a needs -w" },
		{ n->verify && n->jitter, "-d and -jm exclude each other" },
		{ n->round_trip && async, "-rt and -a exclude each other" },
		{ l->has_spacing && async, "-ps and -a exclude each other" },
		{ l->has_spacing && (l->has_throttle || l->has_burn),
		  "-ps excludes -thr and -brn" },
		{ l->has_spacing && n->ports > 1, "-ps needs a single thread" },
		{ n->jitter && !n->sender && !n->jitter_file, "-jm: a receiver needs a file" },
		{ n->jitter && n->io_bytes < JITTER_BYTES, "-jm needs -l 20 or more" },
		{ n->estats && n->udp, "-es has no meaning with -u" },
		{ n->sample_s && !n->has_time, "-sam needs -t" },
		{ false, NULL },
	};
	const struct rule *row;

	for (row = rows; row->sentence; row++)
		if (row->broken)
			return nd_fail(err, -EINVAL, "%s", row->sentence);
	return 0;
}

/* What does nothing in this role or mode. */
static int settle_notes(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	bool receiver = !n->sender;
	const struct rule rows[] = {
		{ receiver && l->has_source, "-nic is for the sender: ignored" },
		{ receiver && l->has_throttle, "-thr is for the sender: ignored" },
		{ receiver && l->has_spacing, "-ps is for the sender: ignored" },
		{ receiver && l->has_qos, "-qos is for the sender: ignored" },
		{ receiver && l->has_transmit, "-x is for the sender: ignored" },
		{ n->nodelay && n->udp, "-ndl has no meaning with -u: ignored" },
		{ l->has_buffers && (l->win_warmup_s || l->win_cooldown_s),
		  "-wu and -cd have no meaning with -n: ignored" },
		{ false, NULL },
	};
	const struct rule *row;

	(void)err; /* nothing is wrong */
	for (row = rows; row->sentence; row++)
		if (row->broken)
			nd_ntttcp_note(l, "%s", row->sentence);
	if (receiver) {
		n->client_address = NULL;
		n->throttle_kBps = n->packet_spacing_ms = n->qos = n->transmit_packets = 0;
		l->has_qos = false;
	}
	n->latency = n->latency || n->round_trip;
	return 0;
}

/* What has no counterpart on this system, or none yet: said at once, not in the report. */
static int settle_here(LINE *l, struct nd_err *err)
{
	const struct nd_ntttcp *n = &l->n;
	bool receiver = !n->sender;
	const struct rule rows[] = {
		{ n->wait_all && n->sender, "-wa is for the receiver: ignored" },
		{ n->wait_all && receiver && n->udp,
		  "-wa has no meaning with -u: a datagram always comes whole" },
		{ n->udp_unconnected && n->uso_bytes,
		  "-uc: with -uso a sender's sockets are connected, which the packets do not show" },
		{ n->jitter && !n->udp,
		  "-jm numbers datagrams, it has no meaning without -u: ignored" },
		{ n->jitter && n->sender && n->jitter_file,
		  "-jm: the receiver writes the rows, the sender needs no file" },
		{ n->cpu_burn && n->round_trip, "-brn has no meaning with -rt: ignored" },
		{ n->round_trip && receiver,
		  "-rt: round trips are timed by the sender, the times here are 0" },
		{ n->estats && !n->xml_file, "-es goes into the XML, which needs -xml: ignored" },
		{ false, NULL },
	};
	const struct rule *row;

	(void)err; /* nothing is wrong */
	for (row = rows; row->sentence; row++)
		if (row->broken)
			nd_log(ND_LOG_WARN, "%s", row->sentence);
	return 0;
}

/* -na: CPUs of the node for all threads that no mapping binds. Memory follows: who touches it first has it near. */
static int settle_node(LINE *l, struct nd_err *err)
{
	nd_auto_free char *text = NULL;
	struct nd_err why = { 0 };
	char path[80];
	size_t n = 0;

	if (!l->has_numa)
		return 0;
	(void)snprintf(path, sizeof(path), NODE_CPUS, ULL(l->n.numa_node)); /* it fits */
	if (nd_read_file(path, NODE_FILE_MAX, &text, &n, &why) < 0)
		return nd_fail(err, -EINVAL, "-na: this machine has no NUMA node %llu",
			       ULL(l->n.numa_node));
	text[strcspn(text, "\n")] = '\0';
	if (!*text)
		return nd_fail(err, -EINVAL, "-na: NUMA node %llu has no CPUs",
			       ULL(l->n.numa_node));
	l->plan->pin = nd_arena_dup(&l->plan->arena, text);
	return l->plan->pin ? 0 : nd_fail(err, -ENOMEM, "out of memory");
}

static int settle_times(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;

	if (!l->has_buffers && !n->has_time)
		n->buffers = DEFAULT_BUFFERS;
	n->time_ms = l->win_time_s * 1000;
	if (!n->buffers) {
		n->warmup_ms = l->win_warmup_s * 1000;
		n->cooldown_ms = l->win_cooldown_s * 1000;
	} else if (!l->has_buffers && (l->win_warmup_s || l->win_cooldown_s)) {
		return nd_fail(err, -EINVAL, "-wu and -cd need -t");
	}
	if (n->io_ports_used)
		n->io_ports = l->io_ports < 0 ? n->ports : (uint64_t)l->io_ports;
	return 0;
}

/* Per thread as typed, over all threads in the plan. */
static void set_rates(const LINE *l, struct nd_workload *w)
{
	const struct nd_ntttcp *n = &l->n;
	uint64_t bps = n->throttle_kBps * 1024 * 8 * n->ports;

	if (n->packet_spacing_ms)
		bps = n->io_bytes * 8 * 1000 / n->packet_spacing_ms;
	if (n->round_trip && bps)
		w->rate_ops = ND_MAX(bps / 8 / n->io_bytes, 1u);
	else
		w->rate_bps = bps;
}

static uint64_t wait_ns(uint64_t ms)
{
	return ms ? ND_MIN(ms, ND_MAX_NS / ND_NS_PER_MS) * ND_NS_PER_MS : ND_MAX_NS;
}

/* A buffer goes down in one piece, and on the wire as datagrams of the size asked for. Posted operations send and
 * receive each on its own. */
static void set_offloads(const struct nd_ntttcp *n, struct nd_plan *plan)
{
	plan->gso = 1;
	plan->gro = n->receive_coalescing && n->async_io == 0 ? ND_ON : ND_OFF;
	if (n->uso_bytes == 0 || n->uso_bytes >= n->io_bytes)
		return;
	plan->workload[0].message_bytes = n->uso_bytes;
	if (n->async_io == 0)
		plan->gso = ND_MIN(n->io_bytes / n->uso_bytes, (uint64_t)ND_MAX_GSO);
}

static int set_workload(LINE *l, struct nd_plan *plan, struct nd_err *err)
{
	const struct nd_ntttcp *n = &l->n;
	struct nd_workload *w = &plan->workload[0];
	uint64_t total = n->sender ? n->buffers : 0;

	if (__builtin_mul_overflow(total, n->io_bytes * n->ports, &total))
		return nd_fail(err, -EINVAL, "-n: '%llu' buffers of each thread are too many",
			       ULL(n->buffers));
	w->total_bytes = total;
	if (n->round_trip && n->udp && !n->sender) {
		w->load = "echo"; /* a socket that is connected to nobody answers whoever asked */
		plan->rx = "echo";
	} else if (n->round_trip) {
		w->load = "rr";
		w->request_bytes = w->response_bytes = n->io_bytes;
	} else if (n->latency || n->cpu_burn) {
		w->load = "timed";
		w->burn_steps = n->cpu_burn * BURN_STEPS;
	}
	if (n->sender)
		set_rates(l, w);
	plan->sock.has_dscp = l->has_qos;
	plan->sock.dscp = code_points[n->qos];
	if (n->dynamic_ports)
		plan->data_port = n->base_port + 1;
	if (n->io_ports_used)
		plan->threads = ND_MIN(n->io_ports, ND_MIN(n->ports, ND_MAX_THREADS));
	if (l->has_timeout)
		plan->connect_timeout_ns = wait_ns(n->timeout_ms);
	if (n->wait_all && !n->sender && !n->udp)
		plan->lowat_bytes = n->io_bytes;
	set_offloads(n, plan);
	plan->keep_samples = n->jitter && n->udp && !n->sender;
	plan->sample_every = plan->keep_samples;
	if (n->udp_unconnected && n->sender && !n->uso_bytes)
		plan->tx = "sendto";
	return 0;
}

int nd_ntttcp_windows_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			     struct nd_err *err)
{
	static int (*const steps[])(LINE *, struct nd_err *) = {
		settle_mappings, settle_sizes, settle_words, settle_notes,
		settle_here,     settle_node,  settle_times, nd_ntttcp_fill,
	};
	LINE *l = target;
	size_t i;
	int r = 0;

	(void)operands; /* the parser took none */
	l->n.windows = true;
	for (i = 0; r == 0 && i < ND_COUNTOF(steps); i++)
		r = steps[i](l, err);
	return r < 0 ? r : set_workload(l, plan, err);
}
