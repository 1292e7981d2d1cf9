/* SPDX-License-Identifier: MIT */
/* Options of netperf's tests, those behind "--": of the omni family, and of the older tests. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "persona/netperf.h"
#include "report/report.h"

#define LINE             struct nd_netperf_line
#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, LINE, member)
#define CUSTOM(name)     .type = ND_OPT_CUSTOM, .parse = nd_np_parse_##name
#define TWO(member)      AT(struct nd_np_two, member)
#define WORDS(member)    AT(struct nd_np_words, member)
#define FLAG(member)     .type = ND_OPT_FLAG, AT(bool, member)
#define MAX_BURST        65535
#define MAX_MASK         128
#define BOTH             (ND_NP_SEND | ND_NP_RECV)
#define UUID_BYTES       16
#define REFUSED          255

/* clang-format off */
static const struct nd_opt size_rows[] = {
	{ .letter = 'm', CUSTOM(first_sizes), TWO(send), .metavar = "SIZE[,SIZE]", .section = "Sizes", .common = true,
	  .help = "bytes of one send (here, there)" },
	{ .letter = 'M', CUSTOM(first_sizes), TWO(recv), .metavar = "SIZE[,SIZE]", .common = true,
	  .help = "bytes of one receive (there, here)" },
	{ .letter = 'r', CUSTOM(sizes), TWO(turn), .metavar = "SIZE[,SIZE]", .common = true,
	  .help = "bytes of a request, and of a response" },
	{ .letter = 's', CUSTOM(sizes), TWO(local_bufs), .metavar = "SIZE[,SIZE]", .common = true,
	  .help = "socket buffers of this end (send, receive)" },
	{ .letter = 'S', CUSTOM(sizes), TWO(remote_bufs), .metavar = "SIZE[,SIZE]", .common = true,
	  .help = "socket buffers of netserver's end (send, receive)" },
	{ 0 }
};

static const struct nd_opt socket_rows[] = {
	{ .letter = 'D', FLAG(n.nodelay), .section = "Sockets", .common = true, .help = "TCP_NODELAY at both ends" },
	{ .letter = 'C', FLAG(n.cork), .help = "TCP_CORK at this end" },
	{ .letter = 'P', CUSTOM(sizes), TWO(data), .metavar = "PORT[,PORT]", .common = true,
	  .help = "ports of the data (here, there)" },
	{ .letter = 'H', CUSTOM(first_words), WORDS(test_host), .metavar = "HOST[/BITS][,FAMILY]",
	  .help = "where the data goes",
	  .more = "With BITS only so many of the address stay, here and for -L: the others are random in each iteration." },
	{ .letter = 'L', CUSTOM(first_words), WORDS(test_local), .metavar = "HOST[/BITS][,FAMILY]",
	  .help = "where the data comes from" },
	{ .letter = '4', FLAG(test_ipv4), .help = "IPv4 for the data" },
	{ .letter = '6', FLAG(test_ipv6), .help = "IPv6 for the data" },
	{ .letter = 'R', CUSTOM(size), AT(int64_t, route), .metavar = "0|1", .help = "netserver may answer through a router",
	  .more = "By default 1, and 0 for datagrams one way. This end asks for direct routes alone only with 0." },
	{ .letter = 'h', FLAG(no_effect), .help = "show these options" },
	{ .letter = 'N', FLAG(n.connected_remote), .help = "connect netserver's UDP socket" },
	{ .letter = 'n', FLAG(n.connected_local), .help = "connect the UDP socket of this end, which it always is" },
	{ .letter = 'p', CUSTOM(sizes), TWO(client_ports), .metavar = "MIN[,MAX]",
	  .help = "this end's ports for connection tests" },
	{ .letter = 'T', CUSTOM(text), AT(const char *, transport), .metavar = "PROTOCOL", .help = "OMNI: tcp or udp" },
	{ .letter = 'V', FLAG(n.copy_avoidance), .help = "receive without a copy" },
	{ .letter = 'W', CUSTOM(size), AT(int64_t, test_width), .metavar = "N", .help = "buffers in this end's ring" },
	{ .letter = 'w', CUSTOM(nothing), .metavar = "N", .hidden = true, .help = "has no effect" },
	{ 0 }
};

static const struct nd_opt omni_rows[] = {
	{ .letter = 'o', CUSTOM(selection), AT(const char *, n.selection), .optional = "default", .metavar = "NAMES",
	  .section = "Report", .common = true, .help = "these values as CSV; NAMES with commas, a file, or ?" },
	{ .letter = 'O', CUSTOM(selection), AT(const char *, n.selection), .optional = "default", .metavar = "NAMES",
	  .common = true, .help = "the same for people" },
	{ .letter = 'k', CUSTOM(selection), AT(const char *, n.selection), .optional = "default", .metavar = "NAMES",
	  .common = true, .help = "the same, NAME=value" },
	{ .letter = 'u', CUSTOM(text), AT(const char *, n.uuid), .metavar = "UUID", .help = "the test's name" },
	{ .letter = 'd', CUSTOM(text), AT(const char *, way), .metavar = "WAY", .section = "Kind of test",
	  .help = "OMNI: send, recv or rr" },
	{ .letter = 't', CUSTOM(text), AT(const char *, kind), .metavar = "KIND", .help = "OMNI: stream or dgram" },
	{ .letter = 'c', FLAG(n.connection_test), .help = "a connection for each transaction" },
	{ .letter = 'b', CUSTOM(size), AT(int64_t, first_burst), .metavar = "N", .common = true,
	  .help = "requests under way beside the first" },
	{ .letter = 'e', CUSTOM(size), AT(int64_t, timeout_s), .metavar = "SECONDS",
	  .help = "UDP_RR: how long to wait for a response (1)" },
	{ .letter = 'K', CUSTOM(words), WORDS(cc), .metavar = "NAME[,NAME]", .common = true,
	  .help = "congestion control (here, there)" },
	{ .letter = 'G', CUSTOM(size), AT(int64_t, mss), .metavar = "N", .help = "TCP_MAXSEG" },
	{ .letter = 'F', FLAG(n.fastopen), .help = "TCP Fast Open" },
	{ .letter = 'f', FLAG(n.pmtu_discovery), .help = "UDP: forbid fragments at both ends" },
	{ .letter = 'q', CUSTOM(size), AT(int64_t, pacing), .metavar = "RATE", .help = "byte/s that this end's kernel keeps to" },
	{ .letter = 'I', FLAG(n.use_write), .help = "write() in place of send(): all the same here" },
	{ .letter = 'U', FLAG(n.retry), .help = "try again when a connection is refused" },
	{ .letter = 'a', FLAG(n.defer_accept), .help = "TCP_DEFER_ACCEPT at netserver's end" },
	{ .letter = 'B', FLAG(n.pktinfo), .help = "UDP: netserver answers from the address that was asked" },
	{ .letter = 'g', FLAG(n.debug), .help = "SO_DEBUG at this end" },
	{ .letter = 'l', CUSTOM(size), AT(int64_t, ttl), .metavar = "N", .help = "TTL of multicast datagrams" },
	{ .letter = 'i', CUSTOM(nothing), .metavar = "N", .hidden = true, .help = "has no effect" },
	{ .letter = 'j', CUSTOM(nothing), .metavar = "N", .hidden = true, .help = "has no effect" },
	{ 0 }
};

static const struct nd_opt old_rows[] = {
	{ .letter = 'b', CUSTOM(nothing), .metavar = "N", .hidden = true, .help = "has no effect" },
	{ .letter = 'z', FLAG(no_effect), .hidden = true, .help = "has no effect" },
	{ .letter = 'a', FLAG(no_effect), .hidden = true, .help = "has no effect" },
	{ .letter = 'A', FLAG(no_effect), .hidden = true, .help = "has no effect" },
	{ 0 }
};

/* clang-format on */

static const struct nd_opt *const omni_arrays[] = { size_rows, socket_rows, omni_rows, NULL };
static const struct nd_opt *const old_arrays[] = { size_rows, socket_rows, old_rows, NULL };

const struct nd_opt_set nd_netperf_test_set = {
	.prog = "netperf [OPTIONS] --",
	.operands = "",
	.summary = "options of a test",
	.description = "Options of the tests, behind --. Unknown ones are told and ignored.",
	.rows = omni_arrays,
	.max_operands = UINT32_MAX,
};

const struct nd_opt_set nd_netperf_old_set = {
	.prog = "netperf -t TCP_SENDFILE|TCP_CC|TCP_MSS [OPTIONS] --",
	.operands = "",
	.summary = "options of these tests",
	.rows = old_arrays,
	.max_operands = UINT32_MAX,
};

/* ---- what a test is */

/* clang-format off */
static const struct { unsigned direction; bool datagram, connects; } kinds[ND_NP_TESTS] = {
	[ND_NP_TCP_STREAM] =   { ND_NP_SEND, false, false },
	[ND_NP_TCP_MAERTS] =   { ND_NP_RECV, false, false },
	[ND_NP_TCP_RR] =       { BOTH,       false, false },
	[ND_NP_TCP_CRR] =      { BOTH,       false, true },
	[ND_NP_UDP_STREAM] =   { ND_NP_SEND, true,  false },
	[ND_NP_UDP_RR] =       { BOTH,       true,  false },
	[ND_NP_OMNI] =         { ND_NP_SEND, false, false },
	[ND_NP_TCP_SENDFILE] = { ND_NP_SEND, false, false },
	[ND_NP_TCP_CC] =       { 0,          false, true },
	[ND_NP_TCP_MSS] =      { ND_NP_SEND, false, false },
	[ND_NP_LOC_CPU] =      { ND_NP_SEND, false, false },
	[ND_NP_REM_CPU] =      { ND_NP_SEND, false, false },
	[ND_NP_UUID] =         { ND_NP_SEND, false, false },
};

static const struct { const char *name; unsigned direction; } ways[] = {
	{ "send", ND_NP_SEND }, { "xmit", ND_NP_SEND }, { "transmit", ND_NP_SEND }, { "stream", ND_NP_SEND },
	{ "recv", ND_NP_RECV }, { "receive", ND_NP_RECV }, { "maerts", ND_NP_RECV }, { "rr", BOTH },
	{ "2", ND_NP_SEND },    { "4", ND_NP_RECV },    { "6", BOTH },
	{ "0", 0 },
};

/* clang-format on */

static int add_way(LINE *l, const char *word, size_t len, unsigned *to, struct nd_err *err)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(ways); i++) {
		if (strlen(ways[i].name) != len || strncasecmp(ways[i].name, word, len) != 0)
			continue;
		*to |= ways[i].direction;
		return 0;
	}
	return nd_np_refuse(l, 1, err, "-d: '%.40s' is none of send, recv, rr", word);
}

/* "send|recv" */
static int read_ways(LINE *l, unsigned *ret, struct nd_err *err)
{
	const char *p = l->way;
	unsigned ways_asked = 0;
	int r = 0;

	for (;;) {
		size_t len = strcspn(p, "|");

		r = add_way(l, p, len, &ways_asked, err);
		if (r < 0 || !p[len])
			break;
		p += len + 1;
	}
	*ret = ways_asked;
	return r;
}

/* Without -d sizes speak: those of this end's sends ask to send, those of the other's to receive. */
static unsigned implied_ways(const LINE *l)
{
	unsigned way = 0;

	if (l->turn.first >= 0 || l->turn.second >= 0)
		return BOTH;
	if (l->send.first >= 0 || l->recv.first >= 0)
		way |= ND_NP_SEND;
	if (l->send.second >= 0 || l->recv.second >= 0)
		way |= ND_NP_RECV;
	if (!way && !l->n.connection_test)
		way = ND_NP_SEND;
	return way;
}

static int settle_transport(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;

	if (l->kind)
		n->datagram = strchr("dD", *l->kind) != NULL;
	if (!l->transport)
		return 0;
	if (strcasecmp(l->transport, "tcp") != 0 && strcasecmp(l->transport, "udp") != 0)
		return nd_np_refuse(l, 1, err, "-T: '%.40s' is neither tcp nor udp", l->transport);
	if (l->kind && n->datagram != (strcasecmp(l->transport, "udp") == 0))
		return nd_np_refuse(l, 1, err, "-T: %.8s and -t %.40s exclude each other",
				    l->transport, l->kind);
	n->datagram = !strcasecmp(l->transport, "udp");
	return 0;
}

static int settle_omni(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;
	int r = settle_transport(l, err);

	n->direction = 0;
	if (r == 0 && l->way)
		r = read_ways(l, &n->direction, err);
	else if (r == 0)
		n->direction = implied_ways(l);
	if (!n->direction && !n->connection_test) /* "-d 0" */
		n->direction = ND_NP_SEND;
	if (n->style == ND_NP_CLASSIC)
		n->style = ND_NP_HUMAN;
	return r;
}

static int settle_kind(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;
	bool one_way, asked = n->connection_test;
	int r = 0;

	n->direction = kinds[n->test].direction;
	n->datagram = kinds[n->test].datagram;
	n->connection_test = asked || kinds[n->test].connects;
	if (n->test == ND_NP_OMNI)
		r = settle_omni(l, err);
	n->protocol = n->datagram ? "UDP" : "TCP";
	one_way = n->direction == ND_NP_SEND || n->direction == ND_NP_RECV;
	if (r == 0 && n->connection_test && (n->datagram || one_way))
		r = nd_np_refuse(
			l, 1, err,
			"-c: a connection for each transaction is for TCP, in both directions");
	n->route = l->route < 0 ? !(n->datagram && one_way) : l->route > 0;
	return r;
}

/* ---- sizes, ports, addresses */

/* What no socket, or no buffer, takes. */
static int check_sizes(LINE *l, struct nd_err *err)
{
	const struct {
		const char *name;
		const struct nd_np_two *two;
		int64_t most;
	} rows[] = {
		{ "-s", &l->local_bufs, INT32_MAX },
		{ "-S", &l->remote_bufs, INT32_MAX },
		{ "-m", &l->send, (int64_t)ND_MAX_MESSAGE },
		{ "-M", &l->recv, (int64_t)ND_MAX_MESSAGE },
		{ "-r", &l->turn, (int64_t)ND_MAX_MESSAGE },
	};

	for (size_t i = 0; i < ND_COUNTOF(rows); i++) {
		int64_t asked = ND_MAX(rows[i].two->first, rows[i].two->second);

		if (asked > rows[i].most)
			return nd_np_refuse(l, 1, err, "%s: '%lld' is over %lld", rows[i].name,
					    (long long)asked, (long long)rows[i].most);
	}
	return 0;
}

static int settle_sizes(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;
	bool is_old = nd_netperf_is_old(n->test);
	int r;

	/* none is 0: the system's choice */
	n->send_bytes = (struct nd_netperf_pair){ l->send.first ?: -1, l->send.second ?: -1 };
	n->recv_bytes = (struct nd_netperf_pair){ l->recv.second ?: -1, l->recv.first ?: -1 };
	if (is_old)
		n->send_bytes.remote = n->recv_bytes.local = -1;
	r = check_sizes(l, err);
	if (r < 0)
		return r;
	n->sndbuf = (struct nd_netperf_pair){ l->local_bufs.first, l->remote_bufs.first };
	n->rcvbuf = (struct nd_netperf_pair){ l->local_bufs.second, l->remote_bufs.second };
	n->request_bytes = n->response_bytes = -1;
	if (n->direction == BOTH || n->test == ND_NP_TCP_CC) {
		n->request_bytes = l->turn.first > 0 ? l->turn.first : 1;
		n->response_bytes = l->turn.second > 0 ? l->turn.second : 1;
	}
	if (n->datagram &&
	    ND_MAX(n->send_bytes.local, ND_MAX(n->request_bytes, n->response_bytes)) >
		    (int64_t)ND_MAX_DATAGRAM) {
		/* a sentence on each stream, as when the kernel refuses it */
		nd_log_line("netperf: ", "send_omni: send_data failed: Message too long");
		l->plan->exits.usage_on_stdout = true;
		return nd_np_refuse(l, 1, err,
				    "send_data: data send error: Message too long (errno %d)",
				    EMSGSIZE);
	}
	if (l->test_width > 0 && n->direction & ND_NP_SEND)
		n->send_width.local = l->test_width;
	if (l->test_width > 0 && n->direction & ND_NP_RECV)
		n->recv_width.local = l->test_width;
	return 0;
}

static int check_port(LINE *l, const char *name, int64_t port, struct nd_err *err)
{
	if (port >= 0 && port <= UINT16_MAX)
		return 0;
	return nd_np_refuse(l, 1, err, "%s: '%lld' is outside 0..65535", name, (long long)port);
}

static int settle_ports(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;

	const struct {
		const char *name;
		int64_t port;
	} rows[] = {
		{ "-P", l->data.first },
		{ "-P", l->data.second },
		{ "-p", l->client_ports.first },
		{ "-p", l->client_ports.second },
	};

	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < ND_COUNTOF(rows); i++)
		r = check_port(l, rows[i].name, rows[i].port, err);
	if (r < 0)
		return r;
	n->data_port = (struct nd_netperf_pair){ l->data.first, l->data.second };
	if (n->no_control && !n->data_port.remote)
		n->data_port.remote = n->direction == ND_NP_SEND ? 9
				      : n->direction == BOTH     ? 7
								 : 19;
	n->port_min = (uint64_t)l->client_ports.first;
	n->port_max = (uint64_t)l->client_ports.second;
	if (n->port_max && n->port_min > n->port_max)
		r = nd_np_refuse(l, 1, err, "-p: '%lld' is over '%lld'",
				 (long long)l->client_ports.first,
				 (long long)l->client_ports.second);
	return r;
}

/* "192.0.2.0/24": an address of those, another one for each iteration. */
static int cut_mask(LINE *l, const char *name, const char *text, const char **ret,
		    uint64_t *ret_bits, struct nd_err *err)
{
	const char *slash = text ? strchr(text, '/') : NULL;
	size_t n = slash ? nd_parse_prefix_u64(slash + 1, ret_bits) : 0;

	*ret = text;
	if (!slash)
		return 0;
	if (slash == text || !n || slash[1 + n] || *ret_bits < 1 || *ret_bits > MAX_MASK)
		return nd_np_refuse(l, 1, err,
				    "%s: '%.80s' is no address with a mask of 1..%d bits", name,
				    text, MAX_MASK);
	*ret = nd_arena_dupn(&l->plan->arena, text, (size_t)(slash - text));
	return *ret ? 0 : nd_fail(err, -ENOMEM, "out of memory");
}

static int take_family(LINE *l, const char *name, const char *text, struct nd_err *err)
{
	enum nd_af af = ND_AF_ANY;
	int r = text ? nd_np_family(l, name, text, &af, err) : 0;

	if (r == 0 && af != ND_AF_ANY)
		l->n.data_af = af;
	return r;
}

static int settle_hosts(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;
	int r;

	if (l->test_ipv4 || l->test_ipv6)
		n->data_af = l->test_ipv6 ? ND_AF_IPV6 : ND_AF_IPV4;
	r = take_family(l, "-L", l->test_local.second, err);
	if (r == 0)
		r = take_family(l, "-H", l->test_host.second, err);
	if (r == 0)
		r = cut_mask(l, "-L", l->test_local.first, &n->data_local, &n->data_local_bits,
			     err);
	if (r == 0)
		r = cut_mask(l, "-H", l->test_host.first, &n->data_host, &n->data_host_bits, err);
	return r;
}

/* ---- the rest */

static int settle_numbers(LINE *l, struct nd_err *err)
{
	struct nd_netperf *n = &l->n;

	if (l->first_burst < 0 || l->first_burst > MAX_BURST)
		return nd_np_refuse(l, 1, err, "-b: '%lld' is outside 0..%d",
				    (long long)l->first_burst, MAX_BURST);
	if (l->mss < 0 || l->mss > UINT16_MAX)
		return nd_np_refuse(l, 1, err, "-G: '%lld' is outside 0..65535", (long long)l->mss);
	if (l->ttl < 0 || l->ttl > UINT8_MAX)
		return nd_np_refuse(l, 1, err, "-l: '%lld' is outside 0..255", (long long)l->ttl);
	if (l->pacing < 0)
		return nd_np_refuse(l, 1, err, "-q: '%lld' is no rate", (long long)l->pacing);
	if (l->timeout_s > (int64_t)(ND_MAX_NS / ND_NS_PER_S))
		return nd_np_refuse(l, 1, err, "-e: '%lld' seconds are over 24h",
				    (long long)l->timeout_s);
	n->first_burst = n->direction == BOTH ? (uint64_t)l->first_burst : 0;
	n->recv_timeout_ns = l->timeout_s > 0 ? (uint64_t)l->timeout_s * ND_NS_PER_S : 0;
	n->mss_bytes = (uint64_t)l->mss;
	n->multicast_ttl = (uint64_t)l->ttl;
	n->max_pacing = (uint64_t)l->pacing;
	n->local_cc = l->cc.first;
	n->remote_cc = l->cc.second;
	return 0;
}

/* Transactions per second only where there are transactions. */
static void settle_unit(LINE *l)
{
	struct nd_netperf *n = &l->n;
	bool counts = n->direction == BOTH || n->direction == 0;

	if (!n->unit)
		n->unit = counts ? 'x' : 'm';
	if (n->unit == 'x' && !counts)
		n->unit = 'm';
}

static bool names_latency(const char *selection)
{
	const char *p = selection;

	if (p && !strcasecmp(p, "all"))
		return true;
	while (p && (p = strcasestr(p, "_LATENCY"))) {
		if (p - selection < 2 || strncasecmp(p - 2, "RT", 2) != 0)
			return true;
		p++;
	}
	return false;
}

static int make_uuid(LINE *l, struct nd_err *err)
{
	uint8_t b[UUID_BYTES];
	nd_auto_str text = { 0 };

	if (l->n.uuid)
		return 0;
	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return nd_sysfail(err, "getrandom");
	b[6] = (uint8_t)((b[6] & 0x0fu) | 0x40u);
	b[8] = (uint8_t)((b[8] & 0x3fu) | 0x80u);
	for (unsigned i = 0; i < UUID_BYTES; i++)
		nd_str_addf(&text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			    b[i]);
	l->n.uuid = nd_str_ok(&text) ? nd_arena_dup(&l->plan->arena, nd_str_text(&text)) : NULL;
	return l->n.uuid ? 0 : nd_fail(err, -ENOMEM, "out of memory");
}

/* A list, or a file that holds one. */
static int settle_selection(LINE *l, struct nd_err *err)
{
	const char *text = l->n.selection;

	if (!text || nd_nprep_is_selection(text) || access(text, R_OK) == 0)
		return 0;
	l->plan->exits.usage_on_stdout = true;
	return nd_np_refuse(l, REFUSED, err,
			    "Could not open output selection file '%.80s' errno %d", text, errno);
}

/* As argv: a word in front, which is not looked at. */
static int parse(LINE *l, const struct nd_strv *words, struct nd_err *err)
{
	struct nd_arena *a = &l->plan->arena;
	char **argv = nd_arena_alloc(a, words->n + 2, sizeof(*argv));
	struct nd_strv stray = { 0 };
	uint64_t i;
	int r;

	for (i = 0; argv && i < words->n; i++) {
		size_t size = strlen(words->v[i]) + 1;

		argv[i + 1] = nd_arena_alloc(a, size, 1);
		if (!argv[i + 1])
			return nd_fail(err, -ENOMEM, "out of memory");
		memcpy(argv[i + 1], words->v[i], size);
	}
	if (!argv)
		return nd_fail(err, -ENOMEM, "out of memory");
	r = nd_opt_parse(nd_netperf_is_old(l->n.test) ? &nd_netperf_old_set : &nd_netperf_test_set,
			 (int)words->n + 1, argv, l, a, &stray, err);
	return r > 0 ? 0 : r; /* nobody asks for help here any more */
}

int nd_netperf_settle_test(LINE *l, const struct nd_strv *words, struct nd_err *err)
{
	static int (*const steps[])(LINE *, struct nd_err *) = {
		settle_kind,    settle_sizes,     settle_ports, settle_hosts,
		settle_numbers, settle_selection, make_uuid,
	};
	int r = parse(l, words, err);
	size_t i;

	for (i = 0; r == 0 && i < ND_COUNTOF(steps); i++)
		r = steps[i](l, err);
	if (r < 0)
		return r < 0 && r != -ENOMEM ? -EINVAL : r;
	settle_unit(l);
	l->n.keep_stats = l->n.keep_stats || names_latency(l->n.selection);
	return 0;
}
