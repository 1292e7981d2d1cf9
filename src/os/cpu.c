/* SPDX-License-Identifier: MIT */
/* /proc/stat, interrupts and softirqs: where each CPU's time went, and what interrupted it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "os/int.h"

#define COUNT_AT(s, offset) ((uint64_t *)(void *)((char *)(s) + (offset)))

/* clang-format off */
static const size_t columns[] = {
	offsetof(struct nd_cpu_times, user_ns),    offsetof(struct nd_cpu_times, nice_ns),
	offsetof(struct nd_cpu_times, system_ns),  offsetof(struct nd_cpu_times, idle_ns),
	offsetof(struct nd_cpu_times, iowait_ns),  offsetof(struct nd_cpu_times, irq_ns),
	offsetof(struct nd_cpu_times, softirq_ns), offsetof(struct nd_cpu_times, steal_ns),
};

static const struct { const char *name; size_t offset; } kinds[] = {
	{ "NET_RX:", offsetof(struct nd_softirqs, net_rx) },
	{ "NET_TX:", offsetof(struct nd_softirqs, net_tx) },
	{ "TIMER:",  offsetof(struct nd_softirqs, timer) },
	{ "SCHED:",  offsetof(struct nd_softirqs, sched) },
};

/* clang-format on */

uint64_t nd_os_cpu_ns(const struct nd_cpu_times *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ND_COUNTOF(columns); i++) {
		uint64_t ns = *(const uint64_t *)(const void *)((const char *)t + columns[i]);

		sum += ns == ND_UNKNOWN ? 0 : ns;
	}
	return sum;
}

/* "cpu12", and "CPU12" in softirqs: the number. ND_OS_CPUS_MAX: it is no such word. */
static uint32_t cpu_number(struct nd_os_word w, const char *prefix)
{
	struct nd_os_word digits = { w.at + 3, w.len - 3 };
	uint64_t n;

	if (w.len <= 3 || memcmp(w.at, prefix, 3) != 0)
		return ND_OS_CPUS_MAX;
	n = nd_os_word_u64(digits);
	return n < ND_OS_CPUS_MAX ? (uint32_t)n : ND_OS_CPUS_MAX;
}

static void read_times(const char *p, uint64_t tick_ns, struct nd_cpu_times *ret)
{
	uint64_t ticks, ns;
	size_t i;

	for (i = 0; i < ND_COUNTOF(columns); i++) {
		ticks = nd_os_next_u64(&p);
		if (ticks == ND_UNKNOWN || __builtin_mul_overflow(ticks, tick_ns, &ns))
			ns = ND_UNKNOWN;
		*COUNT_AT(ret, columns[i]) = ns;
	}
}

static uint32_t count_cpus(const char *text)
{
	struct nd_os_word w;
	const char *line, *p;
	uint32_t n, count = 0;

	for (line = text; line; line = nd_os_line(line)) {
		p = line;
		if (!nd_os_word(&p, &w))
			continue;
		n = cpu_number(w, "cpu");
		if (n < ND_OS_CPUS_MAX)
			count = ND_MAX(count, n + 1);
	}
	return count;
}

int nd_os_parse_stat(const char *text, struct nd_os_sample *s)
{
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t tick_ns = hz > 0 ? ND_NS_PER_S / (uint64_t)hz : ND_UNKNOWN;
	uint32_t count = count_cpus(text), n;
	struct nd_os_word w;
	const char *line, *p;

	if (count) {
		s->cpu = malloc(count * sizeof(*s->cpu));
		if (!s->cpu)
			return -ENOMEM;
		nd_os_blank(s->cpu, count * sizeof(*s->cpu));
		s->cpus = count;
	}
	for (line = text; line; line = nd_os_line(line)) {
		p = line;
		if (!nd_os_word(&p, &w))
			continue;
		n = cpu_number(w, "cpu");
		if (n < s->cpus)
			read_times(p, tick_ns, &s->cpu[n]);
		else if (nd_os_word_is(w, "cpu"))
			read_times(p, tick_ns, &s->all);
		else if (nd_os_word_is(w, "intr"))
			s->interrupts = nd_os_next_u64(&p);
		else if (nd_os_word_is(w, "ctxt"))
			s->context_switches = nd_os_next_u64(&p);
	}
	return 0;
}

/* Counts in front of the words that name the source, at most one per CPU. */
static uint64_t line_sum(const char *p, uint32_t cpus)
{
	uint64_t sum = 0, v;
	struct nd_os_word w;

	for (; cpus > 0 && nd_os_word(&p, &w); cpus--) {
		v = nd_os_word_u64(w);
		if (v == ND_UNKNOWN)
			break;
		if (__builtin_add_overflow(sum, v, &sum))
			return ND_UNKNOWN;
	}
	return sum;
}

/* A line's text ends where the next begins. */
static bool line_contains(const char *line, const char *word)
{
	return memmem(line, strcspn(line, "\n"), word, strlen(word)) != NULL;
}

uint64_t nd_os_parse_interrupts(const char *text, const char *word)
{
	uint64_t sum = ND_UNKNOWN, v;
	const char *line, *p = text;
	struct nd_os_word w;
	uint32_t cpus = 0;

	while (nd_os_word(&p, &w))
		cpus++;
	for (line = nd_os_line(text); line; line = nd_os_line(line)) {
		p = line;
		if (!nd_os_word(&p, &w) || !line_contains(line, word))
			continue;
		v = line_sum(p, cpus);
		if (v == ND_UNKNOWN || __builtin_add_overflow(sum == ND_UNKNOWN ? 0 : sum, v, &sum))
			return ND_UNKNOWN;
	}
	return sum;
}

static uint64_t *place_of(struct nd_softirqs *s, struct nd_os_word name)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(kinds); i++)
		if (nd_os_word_is(name, kinds[i].name))
			return COUNT_AT(s, kinds[i].offset);
	return &s->other;
}

/* All columns of a row; ND_UNKNOWN when there is none, or one is no number. */
static uint64_t row_sum(const char *p)
{
	uint64_t sum = 0, v;
	struct nd_os_word w;
	bool any = false;

	for (; nd_os_word(&p, &w); any = true) {
		v = nd_os_word_u64(w);
		if (v == ND_UNKNOWN || __builtin_add_overflow(sum, v, &sum))
			return ND_UNKNOWN;
	}
	return any ? sum : ND_UNKNOWN;
}

/* The columns of @row by the CPU numbers of @head: the kernel lists CPUs that are offline, too. */
static void spread_row(const char *head, const char *row, uint64_t *ret, uint32_t cpus)
{
	struct nd_os_word name, value;
	uint32_t n;

	while (nd_os_word(&head, &name) && nd_os_word(&row, &value)) {
		n = cpu_number(name, "CPU");
		if (n < cpus)
			ret[n] = nd_os_word_u64(value);
	}
}

int nd_os_parse_softirqs(const char *text, struct nd_os_sample *s)
{
	const char *line, *p;
	struct nd_os_word w;
	uint64_t sum, *at;

	if (s->cpus) {
		s->cpu_net_rx = malloc(s->cpus * sizeof(*s->cpu_net_rx));
		if (!s->cpu_net_rx)
			return -ENOMEM;
		nd_os_blank(s->cpu_net_rx, s->cpus * sizeof(*s->cpu_net_rx));
	}
	for (line = nd_os_line(text); line; line = nd_os_line(line)) {
		p = line;
		if (!nd_os_word(&p, &w) || w.at[w.len - 1] != ':')
			continue;
		if (nd_os_word_is(w, "NET_RX:"))
			spread_row(text, p, s->cpu_net_rx, s->cpus);
		sum = row_sum(p);
		if (sum == ND_UNKNOWN)
			continue;
		at = place_of(&s->softirqs, w);
		if (*at == ND_UNKNOWN)
			*at = sum;
		else if (__builtin_add_overflow(*at, sum, at))
			*at = ND_UNKNOWN;
	}
	return 0;
}
