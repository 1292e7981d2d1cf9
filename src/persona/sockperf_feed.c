/* SPDX-License-Identifier: MIT */
/* sockperf's feed file: an address on each line. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/num.h"
#include "persona/sockperf.h"

#define FEED_BYTES (4u << 20)
#define FEED_LINES 4096u

/* "[T:|U:]HOST:PORT[:SOURCE]", IPv6 in brackets. */
static int read_line(const struct nd_sockperf_line *l, const char *line, bool *ret_tcp,
		     struct nd_target *ret, struct nd_err *err)
{
	bool typed = line[0] && strchr("TtUu", line[0]) && line[1] == ':';
	bool tcp = *ret_tcp = typed && (line[0] == 'T' || line[0] == 't');
	const char *host = line + (typed ? 2 : 0), *end, *port;
	size_t used;

	end = *host == '[' ? strchr(host, ']') : strchr(host, ':');
	port = end && *end == ']' ? end + 1 : end;
	host += *host == '[';
	if (!end || end == host || *port != ':')
		return nd_fail(err, -EINVAL, "-f: '%.80s' is no [T:|U:]HOST:PORT", line);
	used = nd_parse_prefix_u64(port + 1, &ret->port);
	if (!used || ret->port < 1 || ret->port > 65535)
		return nd_fail(err, -EINVAL, "-f: '%.80s' has no port", line);
	if (port[1 + used] && (port[1 + used] != ':' || tcp || !port[2 + used]))
		return nd_fail(err, -EINVAL, "-f: '%.80s' is no [T:|U:]HOST:PORT[:SOURCE]", line);
	ret->source = port[1 + used] ? nd_arena_dup(&l->plan->arena, port + 2 + used) : NULL;
	ret->host = nd_arena_dupn(&l->plan->arena, host, (size_t)(end - host));
	ret->ports = 1;
	ret->cpu = -1;
	return ret->host ? 0 : nd_fail(err, -ENOMEM, "out of memory");
}

/* Is the last of @n one of those before it? */
static bool is_known(const struct nd_target *list, const bool *tcp, uint64_t n)
{
	const struct nd_target *t = &list[n];

	for (uint64_t i = 0; i < n; i++)
		if (tcp[i] == tcp[n] && list[i].port == t->port && !strcmp(list[i].host, t->host) &&
		    !t->source)
			return true;
	return false;
}

/* A plan's flows are numbered by workload: those of TCP go first. */
static void sort(struct nd_sockperf_line *l, const bool *tcp, struct nd_target *rest)
{
	struct nd_target *t = l->targets.v;
	uint64_t streams = 0, others = 0;

	for (uint64_t i = 0; i < l->targets.n; i++)
		if (tcp[i])
			t[streams++] = t[i];
		else
			rest[others++] = t[i];
	memcpy(t + streams, rest, others * sizeof(*t));
	l->streams = streams;
	l->n.tcp = others == 0;
}

static int read_lines(struct nd_sockperf_line *l, char *text, bool *tcp, struct nd_err *err)
{
	struct nd_target *t = l->targets.v;
	bool is_client = l->n.mode != ND_SP_SERVER;
	char *rest = text, *line;
	uint64_t n = 0;
	int r = 0;

	while (r == 0 && (line = strsep(&rest, "\n"))) {
		line[strcspn(line, "\r")] = '\0';
		if (!*line || *line == ' ' || *line == '#')
			continue;
		if (n == FEED_LINES)
			return nd_fail(err, -EINVAL, "-f: more than %u addresses", FEED_LINES);
		r = read_line(l, line, &tcp[n], &t[n], err);
		/* a client's equal lines of TCP are as many connections */
		if (r < 0 || (!(tcp[n] && is_client) && is_known(t, tcp, n)))
			continue;
		r = nd_sockperf_show(l, t[n].host, t[n].port, tcp[n], err);
		n++;
	}
	l->targets.n = n;
	if (r == 0 && n == 0)
		r = nd_fail(err, -EINVAL, "-f: there is no address in it");
	return r;
}

int nd_sockperf_feed(struct nd_sockperf_line *l, struct nd_err *err)
{
	nd_auto_free char *text = NULL;
	bool *tcp; /* of each line */
	struct nd_list rest = { 0 };
	size_t n = 0;
	int r = nd_read_file(l->n.feed, FEED_BYTES, &text, &n, err);

	if (r < 0)
		return nd_wrap(err, -EINVAL, "-f");
	tcp = nd_arena_alloc(&l->plan->arena, FEED_LINES + 1, sizeof(*tcp));
	if (!tcp || nd_list_new(&l->plan->arena, &rest, FEED_LINES, sizeof(struct nd_target)) < 0 ||
	    nd_list_new(&l->plan->arena, &l->targets, FEED_LINES + 1, sizeof(struct nd_target)) < 0)
		return nd_fail(err, -ENOMEM, "out of memory");
	r = read_lines(l, text, tcp, err);
	if (r == 0)
		sort(l, tcp, rest.v);
	return r;
}
