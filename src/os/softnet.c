/* SPDX-License-Identifier: MIT */
/* /proc/net/softnet_stat: what each CPU's backlog took, dropped and had to put off. */
#include <errno.h>
#include <stdlib.h>

#include "os/int.h"

/* Columns, counted from 0; a kernel before the one named has fewer. */
#define PROCESSED    0
#define DROPPED      1
#define TIME_SQUEEZE 2
#define RECEIVED_RPS 9
#define FLOW_LIMIT   10 /* 3.11 */
#define CPU          12 /* 5.10 */
#define COLUMN_COUNT 13

/* False: the line is empty or broken before its first column ends. */
static bool read_row(const char *p, struct nd_softnet *ret, uint64_t *ret_cpu)
{
	uint64_t v[COLUMN_COUNT];
	struct nd_os_word w;
	size_t i;

	nd_os_blank(v, sizeof(v));
	for (i = 0; i < COLUMN_COUNT && nd_os_word(&p, &w); i++)
		v[i] = nd_os_word_hex(w);
	ret->processed = v[PROCESSED];
	ret->dropped = v[DROPPED];
	ret->time_squeeze = v[TIME_SQUEEZE];
	ret->received_rps = v[RECEIVED_RPS];
	ret->flow_limit = v[FLOW_LIMIT];
	*ret_cpu = v[CPU];
	return ret->processed != ND_UNKNOWN;
}

static void add(uint64_t *sum, uint64_t v)
{
	if (v == ND_UNKNOWN)
		return;
	if (*sum == ND_UNKNOWN)
		*sum = v;
	else if (__builtin_add_overflow(*sum, v, sum))
		*sum = ND_UNKNOWN;
}

/* Without the column, rows are the CPUs that are online, in their order: the first one from @from. */
static uint64_t next_online(const struct nd_os_sample *s, uint64_t from)
{
	while (from < s->cpus && s->cpu && s->cpu[from].user_ns == ND_UNKNOWN)
		from++;
	return from;
}

int nd_os_parse_softnet(const char *text, struct nd_os_sample *s)
{
	struct nd_softnet row;
	const char *line;
	uint64_t cpu, next = 0;

	if (s->cpus) {
		s->cpu_softnet = malloc(s->cpus * sizeof(*s->cpu_softnet));
		if (!s->cpu_softnet)
			return -ENOMEM;
		nd_os_blank(s->cpu_softnet, s->cpus * sizeof(*s->cpu_softnet));
	}
	for (line = text; line; line = nd_os_line(line)) {
		if (!read_row(line, &row, &cpu))
			continue;
		if (cpu == ND_UNKNOWN)
			cpu = next_online(s, next);
		next = cpu + 1;
		if (cpu < s->cpus)
			s->cpu_softnet[cpu] = row;
		add(&s->softnet.processed, row.processed);
		add(&s->softnet.dropped, row.dropped);
		add(&s->softnet.time_squeeze, row.time_squeeze);
		add(&s->softnet.received_rps, row.received_rps);
		add(&s->softnet.flow_limit, row.flow_limit);
	}
	return 0;
}
