/* SPDX-License-Identifier: MIT */
/*
 * The command line of NTttcp-for-Linux. It forgives much: numbers are clamped, stray words do nothing, and the
 * later of two options wins. What is clamped or ignored is said in a note.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "persona/ntttcp.h"

#define LINE              struct nd_ntttcp_line
#define AT(type, member)  .offset = (uint32_t)ND_FIELD_OF(type, LINE, member)
#define GIVEN(member)     .set_offset = (uint32_t)ND_FIELD_OF(bool, LINE, member)
#define MAX_PORTS         512
#define MAX_SECONDS       86400
#define FIRST_SOURCE_PORT 25001
#define RECEIVE_BYTES     (64u * 1024)
#define SEND_BYTES        (128u * 1024)
#define NO_VALUE          "*" /* what -r and -s have when they stand alone */
#define USAGE_EXIT        255 /* an argument that does not fit; unknown ones have another code */

/* Letters with a value, and those that may have one. */
#define WITH_VALUE  "mPanlpbBWtC"
#define WITH_OPTION "rsfOxj"

/* ---- the words, before rows are looked at */

static bool has_dash(const char *word)
{
	return nd_persona_dashes(word, NULL) != word;
}

static bool is_mapping(const char *word)
{
	return !has_dash(word) && strchr(word, ',');
}

/* @front and @back as one word. */
static char *glue(struct nd_arena *a, const char *front, const char *between, const char *back)
{
	size_t n = strlen(front) + strlen(between) + strlen(back) + 1;
	char *word = nd_arena_alloc(a, n, 1);

	if (word)
		(void)snprintf(word, n, "%s%s%s", front, between, back); /* fits */
	return word;
}

/* The letter of a cluster that ends it: it takes what stands behind. '\0': there is none. */
static char last_letter(const char *letters, bool *ret_at_end)
{
	size_t n = strcspn(letters, WITH_VALUE WITH_OPTION);

	*ret_at_end = letters[n] && !letters[n + 1];
	return letters[n];
}

/* Long options with a value of their own; an abbreviation will do. */
static bool long_takes_next(const char *name)
{
	static const char *const names[] = { "show-nic-packets", "show-dev-interrupts",
					     "fq-rate-limit", NULL };
	size_t i, n = strlen(name);

	for (i = 0; names[i]; i++)
		if (n && !strncmp(names[i], name, n))
			return true;
	return false;
}

/* Word @i and what belongs to it as word *@n of the same array. Return: words used, or -ENOMEM. */
static int take_word(struct nd_words *w, int i, int *n)
{
	struct nd_arena *a = &w->plan->arena;
	const char *next = i + 1 < w->argc ? w->argv[i + 1] : NULL;
	unsigned dashes;
	const char *name = nd_persona_dashes(w->argv[i], &dashes);
	char *word = w->argv[i], letter = '\0';
	bool at_end = false;
	int used = 1;

	if (dashes == 1)
		letter = last_letter(name, &at_end);
	if (at_end && next && strchr(WITH_OPTION, letter) && *next && !has_dash(next)) {
		word = glue(a, "-", name, next);
		used = 2;
	}
	w->argv[(*n)++] = word;
	if (!next ||
	    !((at_end && strchr(WITH_VALUE, letter)) || (dashes == 2 && long_takes_next(name))))
		return word ? used : -ENOMEM;
	word = w->argv[i + 1];
	for (used = 2; letter == 'm' && word && i + used < w->argc && is_mapping(w->argv[i + used]);
	     used++)
		word = glue(a, word, " ", w->argv[i + used]);
	w->argv[(*n)++] = word;
	return word ? used : -ENOMEM;
}

int nd_ntttcp_linux_words(struct nd_words *w)
{
	int i, n = 1, used;

	for (i = 1; i < w->argc; i += used) {
		if (!strcmp(w->argv[i], "--")) { /* all the rest is stray */
			while (i < w->argc)
				w->argv[n++] = w->argv[i++];
			break;
		}
		used = take_word(w, i, &n);
		if (used < 0)
			return used;
	}
	w->argc = n;
	return 0;
}

/* ---- values */

static LINE *line_of(const struct nd_opt_ctx *ctx)
{
	return ctx->target;
}

static int refuse(const struct nd_opt_ctx *ctx, const char *value, const char *what)
{
	line_of(ctx)->plan->exits.usage = USAGE_EXIT;
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
		line_of(ctx)->plan->exits.usage = USAGE_EXIT;
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

/* ---- settings that depend on one another */

static int settle_role(LINE *l, struct nd_err *err)
{
	if (l->as_sender && l->as_receiver)
		return nd_fail(err, -EINVAL, "-s and -r exclude each other");
	if (!l->as_sender && !l->as_receiver)
		nd_ntttcp_note(l, "neither -s nor -r: this end receives");
	l->n.sender = l->as_sender;
	return 0;
}

/* What belongs to the other role. */
static int settle_sides(LINE *l, struct nd_err *err)
{
	const struct nd_ntttcp *n = &l->n;

	const struct {
		bool broken, error;
		const char *sentence;
	} rows[] = {
		{ n->sender && n->multi, true, "-M is for the receiver" },
		{ !n->sender && n->last, true, "-L is for the sender" },
		{ !n->sender && n->client_address, true, "-a is for the sender" },
		{ n->nodelay && n->udp, true, "--no-delay has no meaning with -u" },
		{ n->sender && n->epoll, false, "-e is for the receiver: ignored" },
		{ n->sender && n->hold, false, "-H is for the receiver: ignored" },
		{ !n->sender && n->bandwidth_bps, false, "-B is for the sender: ignored" },
		{ !n->sender && n->fq_bps, false, "--fq-rate-limit is for the sender: ignored" },
		{ !n->sender && l->source_port, false, "-f is for the sender: ignored" },
		{ n->sender && n->bandwidth_bps && n->fq_bps, false,
		  "--fq-rate-limit is ignored, -B is given" },
	};

	size_t i;

	for (i = 0; i < ND_COUNTOF(rows); i++) {
		if (rows[i].broken && rows[i].error)
			return nd_fail(err, -EINVAL, "%s", rows[i].sentence);
		if (rows[i].broken)
			nd_ntttcp_note(l, "%s", rows[i].sentence);
	}
	return 0;
}

/* @below: what a number under 1 becomes, 0: the limit when negative, else 1. */
static uint64_t clamp(LINE *l, const char *name, int64_t v, int64_t max, int64_t below)
{
	int64_t kept = v;

	if (v > max || (v < 0 && !below))
		kept = max;
	else if (v < 1)
		kept = 1;
	if (kept != v)
		nd_ntttcp_note(l, "%s: %lld becomes %lld", name, (long long)v, (long long)kept);
	return (uint64_t)kept;
}

static int settle_counts(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	int64_t first = n->no_sync ? 1 : 2;

	n->ports = clamp(l, "-P", l->ports, MAX_PORTS, 0);
	n->threads_per_port = clamp(l, "-n", l->threads, ND_NTTTCP_MAX_THREADS, 1);
	n->conns_per_thread = clamp(l, "-l", l->conns, ND_NTTTCP_MAX_CONNS, 1);
	if (l->base_port < first || l->base_port > UINT16_MAX)
		return nd_fail(err, -EINVAL, "-p: '%lld' is outside %lld..65535",
			       (long long)l->base_port, (long long)first);
	n->base_port = (uint64_t)l->base_port;
	if (!l->source_port || !n->sender)
		return 0;
	n->source_port = l->source_port > 1024 ? (uint64_t)l->source_port : FIRST_SOURCE_PORT;
	if (n->source_port > UINT16_MAX)
		return nd_fail(err, -EINVAL, "-f: '%lld' is outside 1025..65535",
			       (long long)l->source_port);
	return 0;
}

static int settle_sizes(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	uint64_t max = n->udp && n->sender ? ND_MAX_DATAGRAM : ND_MAX_MESSAGE;

	if (l->has_bytes && !n->io_bytes)
		return nd_fail(err, -EINVAL, "-b: '0' is no size");
	if (!l->has_bytes) /* 65507 is what the original comes to as well */
		n->io_bytes = ND_MIN(n->sender ? SEND_BYTES : RECEIVE_BYTES, max);
	if (n->io_bytes > max)
		nd_ntttcp_note(l, "-b: %llu becomes %llu", (unsigned long long)n->io_bytes,
			       (unsigned long long)max);
	n->io_bytes = ND_MIN(n->io_bytes, max);
	return 0;
}

/* @otherwise: seconds in place of a negative number. */
static int seconds(LINE *l, const char *name, int64_t v, int64_t otherwise, uint64_t *ret_ms,
		   struct nd_err *err)
{
	if (v < 0)
		nd_ntttcp_note(l, "%s: %lld becomes %lld", name, (long long)v,
			       (long long)otherwise);
	if (v > MAX_SECONDS)
		return nd_fail(err, -EINVAL, "%s: '%lld' is outside 0..%d", name, (long long)v,
			       MAX_SECONDS);
	*ret_ms = (uint64_t)(v < 0 ? otherwise : v) * 1000;
	return 0;
}

static int settle_times(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	int r = seconds(l, "-t", l->time_s, 60, &n->time_ms, err);

	if (r == 0)
		r = seconds(l, "-W", l->warmup_s, 0, &n->warmup_ms, err);
	if (r == 0)
		r = seconds(l, "-C", l->cooldown_s, 0, &n->cooldown_ms, err);
	n->continuous = r == 0 && !n->time_ms;
	return r;
}

/* Without -m there is one target as well. */
static int settle_targets(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	struct nd_target *t;
	uint64_t per_port = n->threads_per_port * n->conns_per_thread, ports = n->ports, i;
	int r;

	if (l->targets.n > 1 && !n->sender)
		nd_ntttcp_note(l, "-m: a receiver has one mapping, the others are ignored");
	if (l->targets.n > 1 && l->address_given)
		return nd_fail(err, -EINVAL, "-m: several mappings, and '%.80s' behind them",
			       l->address);
	if (l->targets.n < 2 || !n->sender) {
		r = nd_list_new(&l->plan->arena, &l->targets, 1, sizeof(*t));
		if (r < 0)
			return nd_fail(err, r, "out of memory");
		t = l->targets.v;
		*t = (struct nd_target){ .host = l->address, .cpu = n->cpu, .ports = n->ports };
	}
	t = l->targets.v;
	for (i = 0, n->ports = 0; i < l->targets.n; i++) {
		t[i].ports = l->ports_given ? ports : ND_MIN(t[i].ports, (uint64_t)MAX_PORTS);
		t[i].port = n->base_port;
		t[i].flows = n->sender ? t[i].ports * per_port : 0;
		n->ports += t[i].ports;
	}
	return 0;
}

static int settle_addresses(LINE *l, struct nd_err *err)
{
	struct nd_ntttcp *n = &l->n;
	const char *none = n->ipv6 ? "::" : "0.0.0.0";
	struct nd_target *t = l->targets.v;
	uint64_t i;
	int r = 0;

	n->server_address = t->host ? t->host : none;
	for (i = 0; r == 0 && i < l->targets.n; i++) {
		if (!t[i].host && l->targets.n > 1)
			return nd_fail(err, -EINVAL,
				       "-m: with several mappings each needs an address");
		if (!t[i].host && n->sender) {
			t[i].host = none;
			nd_ntttcp_note(
				l, "no address of a receiver: it is looked for on this machine");
		}
		if (t[i].host)
			r = nd_ntttcp_check_address(n, n->sender ? "-s" : "-r", t[i].host, err);
	}
	if (r == 0 && n->client_address)
		r = nd_ntttcp_check_address(n, "-a", n->client_address, err);
	return r;
}

static void note_strays(LINE *l, const struct nd_strv *words)
{
	nd_auto_str text = { 0 };
	uint64_t i;

	for (i = 0; i < words->n; i++)
		nd_str_addf(&text, " '%.80s'", words->v[i]);
	if (words->n)
		nd_ntttcp_note(l, "ignored:%s", nd_str_text(&text));
}

static void settle_rates(LINE *l)
{
	struct nd_ntttcp *n = &l->n;

	if (!n->sender || n->bandwidth_bps)
		n->fq_bps = 0;
	if (!n->sender)
		n->bandwidth_bps = 0;
	if (n->bandwidth_bps || n->fq_bps)
		nd_ntttcp_note(l, "the rate is limited to %llu bit/s",
			       (unsigned long long)ND_MAX(n->bandwidth_bps, n->fq_bps));
}

int nd_ntttcp_linux_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			   struct nd_err *err)
{
	static int (*const steps[])(LINE *, struct nd_err *) = {
		settle_role,  settle_sides,   settle_counts,    settle_sizes,
		settle_times, settle_targets, settle_addresses,
	};
	LINE *l = target;
	size_t i;
	int r = 0;

	plan->exits.usage = USAGE_EXIT;
	for (i = 0; r == 0 && i < ND_COUNTOF(steps); i++)
		r = steps[i](l, err);
	if (r < 0)
		return r;
	settle_rates(l);
	if (l->n.nic && !if_nametoindex(l->n.nic))
		nd_ntttcp_note(l, "--show-nic-packets: there is no interface '%.80s' here",
			       l->n.nic);
	note_strays(l, operands);
	r = nd_ntttcp_fill(l, err);
	if (r == 0 && nd_ntttcp_bind_device(l) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	if (r == 0 && l->n.fq_bps)
		plan->sock.pacing_bps = ND_MAX(l->n.fq_bps / plan->workload[0].flows, 1u);
	return r;
}
