/* SPDX-License-Identifier: MIT */
/* sockperf's face: its modes, and the plan they mean. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "persona/sockperf.h"

#define COUNT_LIMIT_NS (3600ull * ND_NS_PER_S) /* a test by number that never gets there */
#define DRAIN_NS       ND_NS_PER_S
#define UNDER_RATE     10000u
#define VERSION        "3.10"

static const struct {
	const char *name, *alias;
} modes[ND_SP_MODES] = {
	[ND_SP_SERVER] = { "server", "sr" },         [ND_SP_PING_PONG] = { "ping-pong", "pp" },
	[ND_SP_UNDER_LOAD] = { "under-load", "ul" }, [ND_SP_THROUGHPUT] = { "throughput", "tp" },
	[ND_SP_PLAYBACK] = { "playback", "pb" },
};

void *nd_sockperf_make_line(struct nd_plan *plan)
{
	struct nd_sockperf_line *l = nd_arena_alloc(&plan->arena, 1, sizeof(*l));

	if (!l)
		return NULL;
	l->plan = plan;
	l->n.burst = l->n.reply_every = l->n.time_s = l->n.servers = l->n.halves = 1;
	l->n.level = 99;
	l->connect_ms = 10000;
	l->n.version = VERSION;
	l->n.message_bytes = ND_SOCKPERF_HEADER;
	return l;
}

/* ---- what goes together */

static int judge(const struct nd_sockperf_line *l, struct nd_err *err)
{
	const struct nd_sockperf *n = &l->n;
	uint64_t most = n->tcp ? ND_SOCKPERF_MAX_TCP : ND_MAX_DATAGRAM;

	if (l->n.feed && (l->has_address || l->has_port))
		return nd_fail(err, -EINVAL, "-f conflicts with -i,-p options");
	if (l->n.feed && n->tcp)
		return nd_fail(err, -EINVAL, "-f conflicts with --tcp option");
	if (l->n.feed && l->n.client_port)
		return nd_fail(err, -EINVAL, "--client_port conflicts with -f option");
	if (l->loops && !n->nonblocked)
		return nd_fail(err, -EINVAL, "--recv_looping_num other than 1 needs --nonblocked");
	if (l->has_iomux && !l->n.feed)
		return nd_fail(err, -EINVAL, "-F must be used with feed file (option '-f')");
	if (l->has_messages && (l->has_time || l->has_rate))
		return nd_fail(err, -EINVAL, "-n conflicts with -t,--mps options");
	if (l->n.compares && l->has_burst)
		return nd_fail(err, -EINVAL, "--data-integrity conflicts with -b option");
	if (n->dots && n->rows)
		return nd_fail(err, -EINVAL, "-a conflicts with -A option");
	if (n->tcp && n->servers > 1)
		return nd_fail(err, -EINVAL, "--tcp conflicts with --srv-num option");
	if (n->tcp && n->dont_reply)
		return nd_fail(err, -EINVAL, "--tcp conflicts with --dont-reply option");
	if (n->mode != ND_SP_SERVER && n->message_bytes > most)
		return nd_fail(err, -EINVAL, "-m: '%llu' is outside %u..%llu",
			       (unsigned long long)n->message_bytes, ND_SOCKPERF_HEADER,
			       (unsigned long long)most);
	return 0;
}

int nd_sockperf_settle(struct nd_plan *plan, void *target, const struct nd_strv *operands,
		       struct nd_err *err)
{
	struct nd_sockperf_line *l = target;
	int r;

	(void)plan;
	(void)operands; /* the parser took none */
	/* of a playback the log alone tells it */
	if ((l->n.mode == ND_SP_UNDER_LOAD && !l->has_rate) || l->n.mode == ND_SP_PLAYBACK)
		l->n.rate = UNDER_RATE;
	if (l->n.mode != ND_SP_UNDER_LOAD && l->n.mode != ND_SP_PLAYBACK)
		l->n.reply_every = 1;
	l->n.nodelay = (l->n.mode == ND_SP_THROUGHPUT) == l->toggles_nodelay;
	l->n.loops = l->multicast.loops;
	l->n.answers_sender = l->multicast.answers_sender;
	l->n.ttl = l->multicast.ttl;
	r = judge(l, err);
	if (r == 0 && l->n.mode == ND_SP_PLAYBACK)
		r = nd_sockperf_playback(l, err);
	return r < 0 ? r : nd_sockperf_fill(l, err);
}

/* ---- to the plan */

int nd_sockperf_show(struct nd_sockperf_line *l, const char *host, uint64_t port, bool tcp,
		     struct nd_err *err)
{
	const char *text = nd_arena_printf(&l->plan->arena, "IP = %-15s PORT = %5llu # %s", host,
					   (unsigned long long)port, tcp ? "TCP" : "UDP");

	if (!text || nd_strv_add(&l->plan->arena, &l->n.addresses, text) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	return 0;
}

/* As typed; what a name stands for is not asked. */
static bool is_group(const char *host)
{
	uint64_t first = 0, other;
	size_t n = nd_parse_prefix_u64(host, &first);
	unsigned dots = 0;

	for (const char *p = host + n; n > 0 && *p == '.'; dots++) {
		n = nd_parse_prefix_u64(p + 1, &other);
		p += n + 1;
		if (n > 0 && !*p)
			return dots == 2 && first >= 224 && first <= 239;
	}
	return strncasecmp(host, "ff", 2) == 0 && strchr(host, ':');
}

static int one_target(struct nd_sockperf_line *l, struct nd_err *err)
{
	struct nd_target *t;
	const char *host = l->address, *shown = host;
	bool is_server = l->n.mode == ND_SP_SERVER;

	if (!host && !is_server)
		host = "127.0.0.1";
	if (!shown) /* IPv6 came with 3.8 */
		shown = l->n.short_average ? "0.0.0.0" : is_server ? "::" : host;
	if (nd_list_new(&l->plan->arena, &l->targets, 1, sizeof(*t)) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	t = l->targets.v;
	*t = (struct nd_target){ .host = host, .port = l->port, .ports = 1, .cpu = -1 };
	return nd_sockperf_show(l, shown, l->port, l->n.tcp, err);
}

static void place(struct nd_plan *plan, struct nd_list targets)
{
	const struct nd_target *t = targets.v;

	plan->targets = targets;
	plan->host = t->host;
	plan->port = plan->data_port = t->port;
	plan->af = ND_AF_ANY;
}

static int fill_addresses(struct nd_sockperf_line *l, struct nd_err *err)
{
	struct nd_plan *plan = l->plan;
	struct nd_target *t;
	int r = l->n.feed ? nd_sockperf_feed(l, err) : one_target(l, err);

	if (r < 0)
		return r;
	if (!l->n.method)
		l->n.method = l->n.feed ? "epoll" : "recvfrom";
	t = l->targets.v;
	for (uint64_t i = 0; i < l->targets.n; i++)
		t[i].flows = l->n.mode == ND_SP_SERVER ? 0 : ND_MAX(l->n.threads, 1);
	for (uint64_t i = 0; i < l->targets.n; i++)
		l->multicast.wanted |= t[i].host && is_group(t[i].host);
	place(plan, l->targets);
	plan->source_port = l->n.client_port;
	if (l->n.client_address && nd_strv_add(&plan->arena, &plan->bind, l->n.client_address) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void fill_sockopts(const struct nd_sockperf_line *l)
{
	struct nd_plan *plan = l->plan;

	plan->sock.nodelay = (l->n.tcp || l->streams) && l->n.nodelay;
	plan->sock.fragment = true;
	plan->sock.sndbuf_bytes = plan->sock.rcvbuf_bytes = l->n.buffer_bytes;
	plan->sock.has_dscp = l->has_tos;
	plan->sock.dscp = l->n.tos >> 2;
	plan->sock.ecn = l->n.tos & 3;
	plan->sock.pacing_bps = l->n.pace * 8;
	plan->busy_poll_us = l->lls_us;
	plan->sock.reuseaddr = l->n.reuseaddr;
	plan->sock.multicast = l->multicast;
	plan->sock.multicast.joins = l->n.mode != ND_SP_THROUGHPUT;
}

/* One burst is under way at a time, as many addresses as there are. */
static bool takes_turns(const struct nd_sockperf_line *l)
{
	return l->n.mode == ND_SP_PING_PONG && l->targets.n > 1;
}

static void fill_how(const struct nd_sockperf_line *l)
{
	struct nd_plan *plan = l->plan;

	plan->tx = plan->rx = "auto";
	plan->engine = l->n.skips || takes_turns(l) ? "epoll" : "auto";
	/* answers to a group come from elsewhere */
	if ((l->multicast.wanted || l->n.servers > 1) && l->n.mode != ND_SP_SERVER)
		plan->tx = "sendto";
	plan->wait = l->n.nonblocked ? "spin" : "auto";
	plan->pin = l->n.pin;
	plan->threads = ND_MAX(l->n.threads, 1);
	plan->connect_timeout_ns = l->connect_ms * ND_NS_PER_MS;
	plan->daemon = l->n.daemonize;
	plan->drain_ns = DRAIN_NS;
	plan->interval_ns = ND_NS_PER_S;
	plan->duration_ns = l->n.messages ? COUNT_LIMIT_NS : l->n.time_s * ND_NS_PER_S;
}

static void fill_server(struct nd_sockperf_line *l)
{
	struct nd_plan *plan = l->plan;
	uint64_t most = l->n.tcp ? ND_SOCKPERF_LIMIT : ND_MAX_DATAGRAM;

	if (l->has_message_bytes)
		most = ND_MAX(most, l->n.tcp ? l->n.message_bytes : 0);
	plan->workload[0] = (struct nd_workload){ .active = ND_CLIENT,
						  .load = "echo",
						  .frame = "sockperf",
						  .transport = l->n.tcp ? "tcp" : "udp",
						  .flows = ND_MAX_FLOWS,
						  .message_bytes = most,
						  .request_bytes = most,
						  .response_bytes = most,
						  .silent = l->n.dont_reply,
						  .activity = ND_MAX(l->n.dots, l->n.rows),
						  .gaps = l->n.gaps };
	plan->keep_samples = nd_plan_is_watched(plan);
	plan->rx = "echo";
	plan->duration_ns = ND_MAX_NS;
	plan->interval_ns = 60 * ND_NS_PER_S;
	plan->open_ended = plan->hold = true;
}

static void fill_client(struct nd_sockperf_line *l)
{
	static const char *const loads[ND_SP_MODES] = { [ND_SP_PING_PONG] = "burst",
							[ND_SP_UNDER_LOAD] = "under",
							[ND_SP_THROUGHPUT] = "burst",
							[ND_SP_PLAYBACK] = "under" };
	struct nd_plan *plan = l->plan;
	const struct nd_sockperf *n = &l->n;
	uint64_t flows = ND_MAX(n->threads, 1) * l->targets.n;

	plan->workload[0] =
		(struct nd_workload){ .active = ND_CLIENT,
				      .load = loads[n->mode],
				      .frame = "sockperf",
				      .transport = n->tcp ? "tcp" : "udp",
				      .flows = flows,
				      .message_bytes = n->message_bytes,
				      .request_bytes = n->message_bytes,
				      .response_bytes = n->message_bytes,
				      .spread_bytes = n->range_bytes,
				      .rate_ops = n->rate,
				      .burst = n->burst,
				      .servers = n->servers,
				      .compares = l->n.compares,
				      .skips = n->skips,
				      .turns = takes_turns(l),
				      .activity = ND_MAX(n->dots, n->rows),
				      .warms = l->multicast.wanted && !n->dont_warm_up,
				      .asks = n->mode == ND_SP_THROUGHPUT && !l->multicast.wanted,
				      .answered = n->mode == ND_SP_PING_PONG };
	/* before and behind those that count */
	if (n->messages)
		plan->workload[0].total_ops = n->messages + 8000 + 1000;
	plan->keep_samples = true;
	plan->sample_every = n->mode == ND_SP_THROUGHPUT ? 0 : n->reply_every;
}

static uint64_t share(uint64_t of, uint64_t flows, uint64_t all)
{
	return of ? ND_MAX(of * flows / all, 1) : 0;
}

/* Addresses of both kinds: a workload of each, with numbers that go through both. */
static void split(struct nd_sockperf_line *l)
{
	struct nd_workload *w = l->plan->workload;
	uint64_t all = w[0].flows;

	w[1] = w[0];
	w[0].transport = "tcp";
	w[0].flows = l->streams * ND_MAX(l->n.threads, 1);
	w[1].first_flow = w[0].flows;
	w[1].flows = all - w[0].flows;
	for (unsigned i = 0; i < 2; i++) {
		w[i].rate_ops = share(l->n.rate, w[i].flows, all);
		w[i].total_ops = share(w[i].total_ops, w[i].flows, all);
	}
	l->plan->workloads = l->plan->workload_list.n = 2;
}

/* Its messages are as long and as many as the file says. */
static void fill_playback(struct nd_sockperf_line *l)
{
	const struct nd_playback *v = l->n.schedule.v;
	struct nd_workload *w = &l->plan->workload[0];
	uint64_t n = l->n.schedule.n;

	w->schedule = l->n.schedule;
	w->total_ops = n;
	w->rate_ops = 0;
	for (uint64_t i = 0; i < n; i++)
		w->message_bytes = ND_MAX(w->message_bytes, v[i].bytes);
	w->request_bytes = w->response_bytes = w->message_bytes;
	l->plan->duration_ns = ND_MIN(v[n - 1].at_ns + COUNT_LIMIT_NS, ND_MAX_NS);
}

static bool is_mixed(const struct nd_sockperf_line *l)
{
	return l->streams && l->streams < l->targets.n;
}

static void fill_face(struct nd_sockperf_line *l)
{
	struct nd_plan *plan = l->plan;

	plan->verb = l->n.mode == ND_SP_SERVER ? ND_VERB_RECEIVE : ND_VERB_STREAM;
	plan->workloads = plan->workload_list.n = 1;
	plan->dialect = "sockperf";
	plan->face_table = &nd_sockperf_table;
	plan->out.format = "sockperf";
}

/* A server's lines of TCP: a plan of their own beside that of the others. */
static int fill_twin(struct nd_sockperf_line *l, struct nd_err *err)
{
	struct nd_sockperf_line half = *l;
	struct nd_target *t = l->targets.v;

	half.plan = l->plan->twin = nd_arena_alloc(&l->plan->arena, 1, sizeof(*half.plan));
	if (!half.plan)
		return nd_fail(err, -ENOMEM, "out of memory");
	nd_plan_init(half.plan);
	half.n.tcp = true;
	l->n.halves = 2;
	half.multicast.wanted = false;
	place(half.plan, (struct nd_list){ t, l->streams });
	fill_how(&half);
	fill_sockopts(&half);
	fill_server(&half);
	fill_face(&half);
	half.plan->face = &l->n; /* one report for both */
	l->targets = (struct nd_list){ t + l->streams, l->targets.n - l->streams };
	l->streams = 0;
	place(l->plan, l->targets);
	return 0;
}

int nd_sockperf_fill(struct nd_sockperf_line *l, struct nd_err *err)
{
	struct nd_plan *plan = l->plan;
	int r = fill_addresses(l, err);

	if (r == 0 && is_mixed(l) && l->n.mode == ND_SP_SERVER)
		r = fill_twin(l, err);
	if (r < 0)
		return r;
	if (is_mixed(l) && l->n.mode == ND_SP_PLAYBACK)
		return nd_fail(err, -EINVAL, "-f: a playback goes to TCP or to UDP, not to both");
	fill_how(l);
	fill_sockopts(l);
	if (l->n.mode == ND_SP_SERVER)
		fill_server(l);
	else
		fill_client(l);
	if (l->n.mode == ND_SP_PLAYBACK)
		fill_playback(l);
	fill_face(l);
	plan->face = &l->n;
	if (is_mixed(l))
		split(l);
	return 0;
}

/* ---- the words */

#define MAKE(name, which)                                                 \
	static void *make_##name(struct nd_plan *plan)                    \
	{                                                                 \
		struct nd_sockperf_line *l = nd_sockperf_make_line(plan); \
                                                                          \
		if (l)                                                    \
			l->n.mode = (which);                              \
		return l;                                                 \
	}
MAKE(server, ND_SP_SERVER)
MAKE(ping, ND_SP_PING_PONG)
MAKE(under, ND_SP_UNDER_LOAD)
MAKE(send, ND_SP_THROUGHPUT)
MAKE(playback, ND_SP_PLAYBACK)
#undef MAKE

#define FACE(mode, make, theirs)                                                                \
	{                                                                                       \
		.plan_verb = (mode) == ND_SP_SERVER ? ND_VERB_RECEIVE : ND_VERB_STREAM,         \
		.set = &nd_sockperf_sets[mode], .target = (make), .settle = nd_sockperf_settle, \
		.exits = {                                                                      \
			.forgives = (theirs),                                                   \
			.prefix = "sockperf: "                                                  \
		}                                                                               \
	}
/* In the order of the modes; then the same with the exit codes of sockperf. */
static const struct nd_face faces[] = {
	FACE(ND_SP_SERVER, make_server, false),
	FACE(ND_SP_PING_PONG, make_ping, false),
	FACE(ND_SP_UNDER_LOAD, make_under, false),
	FACE(ND_SP_THROUGHPUT, make_send, false),
	FACE(ND_SP_PLAYBACK, make_playback, false),
	FACE(ND_SP_SERVER, make_server, true),
	FACE(ND_SP_PING_PONG, make_ping, true),
	FACE(ND_SP_UNDER_LOAD, make_under, true),
	FACE(ND_SP_THROUGHPUT, make_send, true),
	FACE(ND_SP_PLAYBACK, make_playback, true),
	{ .set = NULL },
};

static void overview(struct nd_str *out)
{
	nd_str_add(out, "usage: sockperf MODE [options]\n\n");
	for (unsigned i = 0; i < ND_SP_MODES; i++)
		nd_str_addf(out, "  %-12s%-5s%s\n", modes[i].name, modes[i].alias,
			    nd_sockperf_sets[i].summary);
	nd_str_add(out, "\nsockperf MODE --help shows all options of a mode\n");
}

static bool asks_compat(const struct nd_words *w)
{
	for (int i = 2; i < w->argc; i++)
		if (!strncmp(w->argv[i], "--compat", 8))
			return true;
	return false;
}

/* Two more names of --help; what begins with a dash is no value. */
static void know_questions(struct nd_words *w)
{
	for (int i = 2; i < w->argc; i++) {
		char *help;

		if (strcmp(w->argv[i], "-?") != 0 && strcmp(w->argv[i], "--usage") != 0)
			continue;
		help = nd_arena_alloc(&w->plan->arena, 1, sizeof("--help"));
		if (help) /* else it is an unknown option */
			w->argv[i] = memcpy(help, "--help", sizeof("--help"));
	}
}

static int choose(struct nd_words *w, const struct nd_face **ret, struct nd_err *err)
{
	const char *word = w->argc > 1 ? w->argv[1] : NULL;

	if (word && !strcmp(word, "--version")) {
		nd_str_add(w->out, "sockperf, version " VERSION " (netdyno " ND_VERSION ")\n");
		return ND_NEXT_PRINT;
	}
	for (unsigned i = 0; word && i < ND_SP_MODES; i++) {
		if (strcmp(word, modes[i].name) != 0 && strcmp(word, modes[i].alias) != 0)
			continue;
		*ret = &faces[i + (asks_compat(w) ? (unsigned)ND_SP_MODES : 0u)];
		know_questions(w);
		w->argc--;
		w->argv++;
		return ND_NEXT_RUN;
	}
	overview(w->out);
	w->plan->exits.prefix = "sockperf: ";
	if (!word || word[0] == '-' || !strcmp(word, "help") || !strcmp(word, "h") ||
	    !strcmp(word, "?"))
		return ND_NEXT_PRINT;
	return nd_fail(err, -EINVAL, "'%.80s' is no mode", word);
}

const struct nd_persona nd_persona_sockperf = {
	.name = "sockperf",
	.help = "latency and packet rate with the words, wire and reports of sockperf",
	.faces = faces,
	.dialect = "sockperf",
	.choose = choose,
};
