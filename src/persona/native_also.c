/* SPDX-License-Identifier: MIT */
/* --also: another tool's command line, read as that tool would read it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "persona/int.h"

/* "ntttcp:5001+16" is "ntttcp -r -H -e -p 5001 -P 16". @numbers: "", ":PORT" or ":PORT+PORTS". */
static int read_also_ntttcp(const char *text, const char *numbers, struct nd_plan *plan,
			    struct nd_err *err)
{
	nd_auto_str out = { 0 };
	char name[] = "ntttcp", port[16] = "5001", ports[16] = "16";
	char receiver[] = "-r", hold[] = "-H", port_word[] = "-p", ports_word[] = "-P",
	     epoll[] = "-e";
	char *argv[] = { name, receiver, hold, epoll, port_word, port, ports_word, ports, NULL };
	const char *plus = strchr(numbers, '+');
	uint64_t n = 0;
	size_t used = *numbers ? nd_parse_prefix_u64(numbers + 1, &n) : 0;

	if (*numbers &&
	    (!used || (numbers[1 + used] && numbers + 1 + used != plus) || n < 2 || n > UINT16_MAX))
		return nd_fail(err, -EINVAL, "'%.80s': the port is outside 2..65535", text);
	if (*numbers)
		(void)snprintf(port, sizeof(port), "%llu", (unsigned long long)n);
	used = plus ? nd_parse_prefix_u64(plus + 1, &n) : 0;
	if (plus && (!used || plus[1 + used] || n < 1 || n > 512))
		return nd_fail(err, -EINVAL, "'%.80s': the number of ports is outside 1..512",
			       text);
	if (plus)
		(void)snprintf(ports, sizeof(ports), "%llu", (unsigned long long)n);
	return nd_persona_read((int)ND_COUNTOF(argv) - 1, argv, plan, &out, err);
}

/* "netperf:12865" is "netserver -D -p 12865". */
static int read_also_netperf(const char *text, const char *numbers, struct nd_plan *plan,
			     struct nd_err *err)
{
	nd_auto_str out = { 0 };
	char name[] = "netserver", port[16] = "12865", port_word[] = "-p", foreground[] = "-D";
	char *argv[] = { name, foreground, port_word, port, NULL };
	uint64_t n = 0;
	size_t used = *numbers ? nd_parse_prefix_u64(numbers + 1, &n) : 0;

	if (*numbers && (!used || numbers[1 + used] || n < 1 || n > UINT16_MAX))
		return nd_fail(err, -EINVAL, "'%.80s': the port is outside 1..65535", text);
	if (*numbers)
		(void)snprintf(port, sizeof(port), "%llu", (unsigned long long)n);
	return nd_persona_read((int)ND_COUNTOF(argv) - 1, argv, plan, &out, err);
}

/* "sockperf:11111" is "sockperf sr -p 11111"; "/tcp" behind it: with --tcp. */
static int read_also_sockperf(const char *text, const char *numbers, struct nd_plan *plan,
			      struct nd_err *err)
{
	nd_auto_str out = { 0 };
	char name[] = "sockperf", mode[] = "sr", port[16] = "11111", port_word[] = "-p";
	char tcp[] = "--tcp";
	char *argv[] = { name, mode, port_word, port, NULL, NULL };
	const char *slash = strchr(numbers, '/');
	size_t n = slash ? (size_t)(slash - numbers) : strlen(numbers), used = 0;
	uint64_t v = 0;

	if (n > 0)
		used = nd_parse_prefix_u64(numbers + 1, &v);
	if (n > 0 && (used + 1 != n || v < 1 || v > UINT16_MAX))
		return nd_fail(err, -EINVAL, "'%.80s': the port is outside 1..65535", text);
	if (slash && strcmp(slash, "/tcp") != 0)
		return nd_fail(err, -EINVAL, "'%.80s' is no sockperf[:PORT]", text);
	if (n > 0)
		(void)snprintf(port, sizeof(port), "%llu", (unsigned long long)v);
	argv[4] = slash ? tcp : NULL;
	return nd_persona_read(slash ? 5 : 4, argv, plan, &out, err);
}

static int read_also(const char *text, struct nd_plan *plan, struct nd_err *err)
{
	static const struct {
		const char *name;
		int (*read)(const char *text, const char *numbers, struct nd_plan *plan,
			    struct nd_err *err);
	} tools[] = {
		{ "ntttcp", read_also_ntttcp },
		{ "netperf", read_also_netperf },
		{ "sockperf", read_also_sockperf },
	};

	size_t name_n = strcspn(text, ":/"), i;

	nd_plan_init(plan);
	for (i = 0; i < ND_COUNTOF(tools); i++)
		if (strlen(tools[i].name) == name_n && !strncmp(tools[i].name, text, name_n))
			return tools[i].read(text, text + name_n, plan, err);
	return nd_fail(err, -EINVAL,
		       "'%.80s' is not a tool that can be served; there are: "
		       "ntttcp[:PORT[+PORTS]], netperf[:PORT], sockperf[:PORT]",
		       text);
}

/* Its servers are of UDP or of TCP; who asks for one gets both. */
static int double_sockperf(struct nd_plan *plan, struct nd_err *err)
{
	struct nd_strv *also = &plan->serve.also;
	uint64_t n = also->n;

	for (uint64_t i = 0; i < n; i++) {
		const char *text = also->v[i];

		if (strncmp(text, "sockperf", 8) != 0 || strchr(text, '/'))
			continue;
		text = nd_arena_printf(&plan->arena, "%s/tcp", text);
		if (!text || nd_strv_add(&plan->arena, also, text) < 0)
			return nd_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int nd_persona_settle_also(struct nd_plan *plan, struct nd_err *err)
{
	struct nd_serve *s = &plan->serve;

	if (double_sockperf(plan, err) < 0)
		return -ENOMEM;
	s->also_plan = nd_arena_alloc(&plan->arena, s->also.n + 1, sizeof(struct nd_plan *));
	if (!s->also_plan)
		return nd_fail(err, -ENOMEM, "out of memory");
	for (uint64_t i = 0; i < s->also.n; i++) {
		s->also_plan[i] = nd_arena_alloc(&plan->arena, 1, sizeof(struct nd_plan));
		if (!s->also_plan[i])
			return nd_fail(err, -ENOMEM, "out of memory");
		if (read_also(s->also.v[i], s->also_plan[i], err) < 0)
			return nd_wrap(err, -EINVAL, "--also");
	}
	return 0;
}
