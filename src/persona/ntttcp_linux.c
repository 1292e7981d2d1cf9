/* SPDX-License-Identifier: MIT */
/*
 * The command line of NTttcp-for-Linux: rows, and how values are read. It forgives much: stray words do nothing, and
 * the later of two options wins. What is ignored is said in a note. Values that may be left out are found by
 * ntttcp_linux_words.c; what all come to together is ntttcp_linux_settle.c.
 */
#include <errno.h>
#include <string.h>

#include "persona/ntttcp.h"

#define LINE             struct nd_ntttcp_line
#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, LINE, member)
#define GIVEN(member)    .set_offset = (uint32_t)ND_FIELD_OF(bool, LINE, member)
#define NO_VALUE         "*" /* what -r and -s have when they stand alone */

/* ---- values */

static bool has_dash(const char *word)
{
	return nd_persona_dashes(word, NULL) != word;
}

static LINE *line_of(const struct nd_opt_ctx *ctx)
{
	return ctx->target;
}

static int refuse(const struct nd_opt_ctx *ctx, const char *value, const char *what)
{
	line_of(ctx)->plan->exits.usage = ND_NTTTCP_USAGE_EXIT;
	return nd_fail(ctx->err, -EINVAL, "%s: '%.80s' is %s", ctx->as_typed, value, what);
}

static void note_rest(const struct nd_opt_ctx *ctx, const char *value, size_t used)
{
	if (value[used])
		nd_ntttcp_note(line_of(ctx), "%s: '%.80s' in '%.80s' is ignored", ctx->as_typed,
			       value + used, value);
}

static int parse_int(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	int64_t v = 0;
	size_t n = nd_parse_prefix_i64(value, &v);

	if (!n)
		return refuse(ctx, value, "not a number");
	note_rest(ctx, value, n);
	memcpy((char *)ctx->target + row->offset, &v, sizeof(v));
	return 0;
}

/* A decimal number and one of k, m, g, each @step of the one before. */
static int scaled(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx, double step)
{
	static const char letters[] = "kmg";
	double v = 0;
	size_t n = nd_parse_prefix_double(value, &v);
	const char *letter = n && value[n] ? strchr(letters, value[n] | 0x20) : NULL;
	uint64_t whole;
	int i;

	if (!n || v < 0)
		return refuse(ctx, value, "not a number such as 64k or 1.5M");
	for (i = 0; letter && i <= letter - letters; i++)
		v *= step;
	if (v >= 1e18)
		return refuse(ctx, value, "too much");
	note_rest(ctx, value, n + (letter ? 1 : 0));
	whole = (uint64_t)v;
	memcpy((char *)ctx->target + row->offset, &whole, sizeof(whole));
	return 0;
}

static int parse_size(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return scaled(row, value, ctx, 1024);
}

static int parse_rate(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	return scaled(row, value, ctx, 1000);
}

/* -r, -s */
static int parse_role(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	LINE *l = line_of(ctx);

	if (row->letter == 's')
		l->as_sender = true;
	else
		l->as_receiver = true;
	if (!strcmp(value, NO_VALUE))
		return 0;
	l->address = nd_arena_dup(ctx->arena, value);
	l->address_given = true;
	return l->address ? 0 : nd_fail(ctx->err, -ENOMEM, "out of memory");
}

/* A name; what looks like an option is dropped. */
static int parse_name(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	const char *copy;

	if (!*value || has_dash(value)) {
		nd_ntttcp_note(line_of(ctx), "%s: '%.80s' is no name, the option is ignored",
			       ctx->as_typed, value);
		return 0;
	}
	copy = nd_arena_dup(ctx->arena, value);
	if (!copy)
		return nd_fail(ctx->err, -ENOMEM, "out of memory");
	memcpy((char *)ctx->target + row->offset, &copy, sizeof(copy));
	return 0;
}

/* ---- -m PORTS[,CPU[,ADDRESS]], and more of them behind blanks */

static int read_mapping(const struct nd_opt_ctx *ctx, const char *text, struct nd_target *t)
{
	const char *field[3] = { NULL, "", NULL };
	int n = nd_ntttcp_fields(ctx->arena, text, field, (int)ND_COUNTOF(field)), r;
	int64_t ports = 0;
	size_t used;

	if (n < 0)
		return nd_fail(ctx->err, n, "out of memory");
	if (n > (int)ND_COUNTOF(field))
		return refuse(ctx, text, "more than PORTS,CPU,ADDRESS");
	used = nd_parse_prefix_i64(field[0], &ports);
	if (!used || field[0][used] || ports < 1)
		return refuse(ctx, text, "not PORTS,CPU,ADDRESS with a number of ports in front");
	r = nd_ntttcp_cpu(ctx->as_typed, field[1], &t->cpu, ctx->err);
	if (r < 0) {
		line_of(ctx)->plan->exits.usage = ND_NTTTCP_USAGE_EXIT;
		return r;
	}
	t->ports = (uint64_t)ports;
	t->host = field[2] && *field[2] && strcmp(field[2], NO_VALUE) != 0 ? field[2] : NULL;
	return 0;
}

static uint64_t count_words(const char *text)
{
	uint64_t n = 1;

	for (; (text = strchr(text, ' ')); text++)
		n++;
	return n;
}

/* One mapping is another way to say -P, -n 1, and an address; what stands later on the line wins. */
static int parse_mappings(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	LINE *l = line_of(ctx);
	struct nd_list list = { 0 };
	struct nd_target *t;
	uint64_t i;
	int r = nd_list_new(ctx->arena, &list, count_words(value), sizeof(*t));

	(void)row;
	if (r < 0)
		return nd_fail(ctx->err, r, "%s: too many mappings", ctx->as_typed);
	t = list.v;
	for (i = 0; r == 0 && i < list.n; i++) {
		size_t n = strcspn(value, " ");
		const char *text = nd_arena_dupn(ctx->arena, value, n);

		r = text ? read_mapping(ctx, text, &t[i]) : -ENOMEM;
		value += n + (value[n] == ' ');
	}
	if (r < 0)
		return r;
	l->targets = list;
	l->ports = (int64_t)t->ports;
	l->threads = 1;
	l->n.cpu = t->cpu;
	l->ports_given = l->address_given = false;
	if (t->host)
		l->address = t->host;
	return 0;
}

/* ---- rows */

/* clang-format off */
static const struct nd_opt role_rows[] = {
	{ .letter = 'r', .type = ND_OPT_CUSTOM, .parse = parse_role, .metavar = "ADDRESS", .optional = NO_VALUE,
	  .section = "Role", .common = true, .help = "receive; the address to listen on" },
	{ .letter = 's', .type = ND_OPT_CUSTOM, .parse = parse_role, .metavar = "ADDRESS", .optional = NO_VALUE,
	  .common = true, .help = "send; the receiver's address or name" },
	{ .letter = 'D', .type = ND_OPT_FLAG, AT(bool, n.daemon), .help = "run in the background" },
	{ .letter = 'M', .type = ND_OPT_FLAG, AT(bool, n.multi), .help = "receiver: wait for several senders" },
	{ .letter = 'L', .type = ND_OPT_FLAG, AT(bool, n.last), .help = "sender: the last of several, all start" },
	{ .letter = 'e', .type = ND_OPT_FLAG, AT(bool, n.epoll), .help = "receiver: epoll, which is used anyway" },
	{ .letter = 'H', .type = ND_OPT_FLAG, AT(bool, n.hold), .help = "receiver: test after test until interrupted" },
	{ .letter = 'N', .type = ND_OPT_FLAG, AT(bool, n.no_sync), .common = true, .help = "no synchronisation of the two ends" },
	{ .name = "dialect", .type = ND_OPT_ENUM, .values = nd_ntttcp_dialects, AT(const char *, dialect),
	  .help = "whose command line this is, by default as the words tell" },
	{ 0 }
};

static const struct nd_opt flow_rows[] = {
	{ .letter = 'm', .type = ND_OPT_CUSTOM, .parse = parse_mappings, .metavar = "PORTS,CPU,ADDRESS",
	  .section = "Connections", .common = true, .help = "ports, CPU or *, receiver; more than one may follow",
	  .more = "One mapping sets -P, the address, and -n to 1; what stands later on the line wins. With several "
		  "mappings one sender sends to several receivers." },
	{ .letter = 'P', .type = ND_OPT_CUSTOM, .parse = parse_int, AT(int64_t, ports), GIVEN(ports_given),
	  .preset = "16", .metavar = "N", .common = true, .help = "ports of the receiver, at most 512" },
	{ .letter = 'n', .type = ND_OPT_CUSTOM, .parse = parse_int, AT(int64_t, threads), .preset = "4",
	  .metavar = "N", .common = true, .help = "sender: threads for each port" },
	{ .letter = 'l', .type = ND_OPT_CUSTOM, .parse = parse_int, AT(int64_t, conns), .preset = "1",
	  .metavar = "N", .common = true, .help = "sender: connections of each thread" },
	{ .letter = 'p', .type = ND_OPT_CUSTOM, .parse = parse_int, AT(int64_t, base_port), .preset = ND_NTTTCP_PORT,
	  .metavar = "PORT", .common = true, .help = "first data port; the one below synchronises" },
	{ .letter = 'f', .type = ND_OPT_CUSTOM, .parse = parse_int, AT(int64_t, source_port), .optional = "25001",
	  .metavar = "PORT", .help = "sender: fixed source ports from here on" },
	{ .letter = 'a', .type = ND_OPT_STRING, AT(const char *, n.client_address), .metavar = "ADDRESS",
	  .help = "sender: source address",
	  .more = "For root the interface that owns it, too." },
	{ .letter = '6', .type = ND_OPT_FLAG, AT(bool, n.ipv6), .help = "IPv6" },
	{ .letter = 'u', .type = ND_OPT_FLAG, AT(bool, n.udp), .common = true, .help = "UDP instead of TCP" },
	{ .name = "no-delay", .type = ND_OPT_FLAG, AT(bool, n.nodelay), .help = "send small pieces at once" },
	{ 0 }
};

static const struct nd_opt test_rows[] = {
	{ .letter = 't', .type = ND_OPT_CUSTOM, .parse = parse_int, AT(int64_t, time_s), GIVEN(n.has_time),
	  .preset = "60", .metavar = "SECONDS", .section = "Test", .common = true,
	  .help = "length of the test, 0: until interrupted" },
	{ .letter = 'W', .type = ND_OPT_CUSTOM, .parse = parse_int, AT(int64_t, warmup_s), .preset = "0",
	  .metavar = "SECONDS", .common = true, .help = "warm-up before it" },
	{ .letter = 'C', .type = ND_OPT_CUSTOM, .parse = parse_int, AT(int64_t, cooldown_s), .preset = "0",
	  .metavar = "SECONDS", .common = true, .help = "cool-down behind it" },
	{ .letter = 'b', .type = ND_OPT_CUSTOM, .parse = parse_size, AT(uint64_t, n.io_bytes), GIVEN(has_bytes),
	  .metavar = "SIZE", .common = true, .help = "bytes of one send, receive or datagram (128k, 64k)",
	  .more = "k, m and g are powers of 1024. By default 128k to send, 64k to receive, and 65507 in a datagram." },
	{ .letter = 'B', .type = ND_OPT_CUSTOM, .parse = parse_rate, AT(uint64_t, n.bandwidth_bps),
	  .metavar = "RATE", .help = "sender: bit/s over all connections",
	  .more = "k, m and g are powers of 1000." },
	{ .name = "fq-rate-limit", .type = ND_OPT_CUSTOM, .parse = parse_rate, AT(uint64_t, n.fq_bps),
	  .metavar = "RATE", .help = "the same, held by the kernel's pacing" },
	{ 0 }
};

static const struct nd_opt output_rows[] = {
	{ .letter = 'O', .type = ND_OPT_STRING, AT(const char *, n.log_file), .metavar = "FILE",
	  .optional = "ntttcp-for-linux-log.log", .section = "Output", .help = "copy the log lines there" },
	{ .letter = 'x', .type = ND_OPT_STRING, AT(const char *, n.xml_file), .metavar = "FILE",
	  .optional = "ntttcp-for-linux-log.xml", .common = true, .help = "write the result as XML" },
	{ .letter = 'j', .type = ND_OPT_STRING, AT(const char *, n.json_file), .metavar = "FILE",
	  .optional = "ntttcp-for-linux-log.json", .common = true, .help = "write the result as JSON" },
	{ .letter = 'Q', .type = ND_OPT_FLAG, AT(bool, n.quiet), .common = true, .help = "no lines while the test runs" },
	{ .letter = 'V', .type = ND_OPT_FLAG, AT(bool, n.verbose), .common = true, .help = "settings, and a row for each thread" },
	{ .name = "show-tcp-retrans", .type = ND_OPT_FLAG, AT(bool, n.tcp_retrans), .help = "TCP's counters of retransmission" },
	{ .name = "show-nic-packets", .type = ND_OPT_CUSTOM, .parse = parse_name, AT(const char *, n.nic),
	  .metavar = "IFACE", .help = "packets of this interface" },
	{ .name = "show-dev-interrupts", .type = ND_OPT_CUSTOM, .parse = parse_name, AT(const char *, n.interrupts),
	  .metavar = "WORD", .help = "interrupts of lines that hold this word" },
	{ 0 }
};
/* clang-format on */

static const struct nd_opt *const arrays[] = {
	role_rows, flow_rows, test_rows, output_rows, NULL,
};

const struct nd_opt_set nd_ntttcp_linux_set = {
	.prog = "ntttcp",
	.operands = "",
	.summary = "throughput as NTttcp-for-Linux measures and reports it",
	.description = "Words without a dash are ignored, and the later of two options wins.\n"
		       "A value in brackets may be left out, or stand in the next word.",
	.examples = "ntttcp -r -m 4,*,10.0.0.5 -t 10\treceive on four ports\n"
		    "ntttcp -s -m 4,*,10.0.0.5 -t 10\tsend over four connections\n"
		    "ntttcp -s10.0.0.5 -P 64 -n 4 -W 1 -t 10\tsend over 256 connections",
	.rows = arrays,
	.max_operands = UINT32_MAX,
};
