/* SPDX-License-Identifier: MIT */
/* netserver's face: where to listen, and whom to answer. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "persona/netperf.h"

#define LINE             struct nd_netperf_line
#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, LINE, member)
#define CUSTOM(name)     .type = ND_OPT_CUSTOM, .parse = nd_np_parse_##name
#define MAX_PORTS        4096
#define VERSION          "Netperf version 2.7.0\n"

/* "12865", or "16001-16064", which is not in netserver */
static int parse_ports(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx)
{
	LINE *l = ctx->target;
	uint64_t first = 0, last = 0;
	size_t n = nd_parse_prefix_u64(value, &first), m = 0;

	(void)row; /* there is only this one */
	if (n && value[n] == '-')
		m = nd_parse_prefix_u64(value + n + 1, &last);
	if (!n || value[n + (m ? m + 1 : 0)])
		return nd_np_refuse(l, 1, ctx->err, "%s: '%.80s' is neither a port nor FIRST-LAST",
				    ctx->as_typed, value);
	if (!first || first > UINT16_MAX || (m && (last < first || last > UINT16_MAX)))
		return nd_np_refuse(l, 1, ctx->err, "%s: '%.80s' is outside 1..65535",
				    ctx->as_typed, value);
	if (m && last - first >= MAX_PORTS)
		return nd_np_refuse(l, 1, ctx->err, "%s: '%.80s' is more than %d ports",
				    ctx->as_typed, value, MAX_PORTS);
	l->plan->port = first;
	l->n.last_port = m && last > first ? last : 0;
	return 0;
}

/* clang-format off */
static const struct nd_opt rows[] = {
	{ .letter = 'p', .type = ND_OPT_CUSTOM, .parse = parse_ports, .set_offset = (uint32_t)ND_FIELD_OF(bool, LINE, has_port),
	  .preset = ND_NETPERF_PORT, .metavar = "PORT[-LAST]", .section = "Addresses", .common = true,
	  .help = "where clients ask; one is enough for all" },
	{ .letter = 'L', CUSTOM(first_words), AT(struct nd_np_words, local), .metavar = "HOST[,FAMILY]", .common = true,
	  .help = "address to listen on, by default all" },
	{ .letter = '4', .type = ND_OPT_FLAG, AT(bool, ipv4), .common = true, .help = "IPv4" },
	{ .letter = '6', .type = ND_OPT_FLAG, AT(bool, ipv6), .common = true, .help = "IPv6, and IPv4 with it unless -L names an address" },
	{ .letter = 'Z', CUSTOM(phrase), AT(const char *, n.passphrase), .metavar = "PHRASE", .common = true,
	  .help = "what a client has to say first" },
	{ .letter = 'D', .type = ND_OPT_FLAG, AT(bool, n.foreground), .section = "Running", .common = true,
	  .help = "stay in the foreground" },
	{ .letter = 'f', .type = ND_OPT_FLAG, AT(bool, n.one_by_one), .common = true,
	  .help = "answer one client after the other" },
	{ .letter = 'd', .type = ND_OPT_FLAG, AT(bool, has_debug), .common = true,
	  .help = "show control messages on stderr" },
	{ .letter = 'N', .type = ND_OPT_FLAG, AT(bool, no_effect), .help = "no debug output: there is none" },
	{ .letter = 'v', CUSTOM(size), AT(int64_t, verbosity), .metavar = "N", .help = "has no effect" },
	{ .letter = 'n', CUSTOM(nothing), .metavar = "N", .help = "how many CPUs there are: has no effect" },
	{ .letter = 'V', .type = ND_OPT_FLAG, AT(bool, wants_version), .common = true,
	  .help = "show the version of netserver that this is" },
	{ 0 }
};

/* clang-format on */

static const struct nd_opt *const arrays[] = { rows, NULL };

const struct nd_opt_set nd_netserver_set = {
	.prog = "netserver",
	.operands = "",
	.summary = "answer netperf's clients",
	.description =
		"Goes to the background, unless -D is given. One process and one port serve any number of clients.\n"
		"Without -p, -D, -f and -L, and with a socket as standard input, it serves that one client, "
		"as inetd starts it.",
	.examples = "netserver\tserve port " ND_NETPERF_PORT " in the background\n"
		    "netserver -D -p 16001-16064\tserve 64 ports in the foreground",
	.rows = arrays,
	.max_operands = UINT32_MAX,
};

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int settle_address(LINE *l, struct nd_err *err)
{
	struct nd_plan *plan = l->plan;
	int r = 0;

	if (l->ipv4 || l->ipv6)
		plan->af = l->ipv6 ? ND_AF_IPV6 : ND_AF_IPV4;
	if (l->local.second)
		r = nd_np_family(l, "-L", l->local.second, &plan->af, err);
	if (r == 0 && l->local.first &&
	    nd_strv_add(&plan->arena, &plan->serve.listen, l->local.first) < 0)
		r = nd_fail(err, -ENOMEM, "out of memory");
	l->n.control_af = l->n.data_af = plan->af;
	l->n.local_host = l->local.first;
	return r;
}

int nd_netserver_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			struct nd_err *err)
{
	LINE *l = target;
	struct nd_netperf *n = &l->n;
	bool asks_to_listen = l->has_port || n->foreground || n->one_by_one || l->local.first;
	int r = settle_address(l, err);

	(void)operands; /* have no meaning */
	n->server = true;
	n->inetd = !asks_to_listen && is_socket(0);
	plan->trace_control = l->has_debug;
	nd_netperf_fill_server(l);
	return r;
}

static const struct nd_face faces[] = {
	{ .plan_verb = ND_VERB_RECEIVE,
	  .set = &nd_netserver_set,
	  .target = nd_netperf_make_line,
	  .settle = nd_netserver_settle,
	  .usage_on_stderr = true,
	  .exits = { .help = 1, .usage = 1, .peer = 1, .prefix = "netserver: " } },
	{ .set = NULL },
};

static int choose(struct nd_words *w, const struct nd_face **ret, struct nd_err *err)
{
	(void)err;
	*ret = &faces[0];
	for (int i = 1; i < w->argc; i++) {
		if (strcmp(w->argv[i], "-V") != 0)
			continue;
		nd_str_add(w->out, VERSION);
		return ND_NEXT_PRINT;
	}
	return ND_NEXT_RUN;
}

const struct nd_persona nd_persona_netserver = {
	.name = "netserver",
	.help = "answer netperf's clients",
	.faces = faces,
	.dialect = "netperf",
	.choose = choose,
};
