/* SPDX-License-Identifier: MIT */
/* Protocol counters: /proc/net/snmp and netstat (a line of names, a line of values) and snmp6; of sockstat the
 * fragments (a line of names and values in turns). */
#include <string.h>

#include "os/int.h"

struct counter {
	const char *group, *key;
	size_t offset;
};

/* clang-format off */
static const struct counter counters[] = {
#define X(name, group, key) { group, key, offsetof(struct nd_snmp, name) },
	ND_SNMP(X)
#undef X
};

/* clang-format on */

static void put(struct nd_snmp *s, const struct counter *c, uint64_t v)
{
	memcpy((char *)s + c->offset, &v, sizeof(v));
}

static bool is_group(struct nd_os_word w, const char *group)
{
	return w.len > 1 && w.at[w.len - 1] == ':' &&
	       nd_os_word_is((struct nd_os_word){ w.at, w.len - 1 }, group);
}

/* Whether any row is of the group that this line begins with; most lines of netstat are not. */
static bool is_wanted(struct nd_os_word group)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(counters); i++)
		if (is_group(group, counters[i].group))
			return true;
	return false;
}

static void take(struct nd_os_word group, struct nd_os_word key, uint64_t v, struct nd_snmp *ret)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(counters); i++)
		if (nd_os_word_is(key, counters[i].key) && is_group(group, counters[i].group))
			put(ret, &counters[i], v);
}

void nd_os_parse_snmp(const char *text, struct nd_snmp *ret)
{
	struct nd_os_word group, again, key, value;
	const char *names = text, *values;

	/* A line whose successor is of another group is skipped alone, so that pairs are found again. */
	for (; names && (values = nd_os_line(names)); names = values) {
		const char *n = names, *v = values;

		if (!nd_os_word(&n, &group) || !nd_os_word(&v, &again))
			continue;
		if (group.len != again.len || memcmp(group.at, again.at, group.len) != 0)
			continue;
		if (is_wanted(group))
			while (nd_os_word(&n, &key) && nd_os_word(&v, &value))
				take(group, key, nd_os_word_u64(value), ret);
	}
}

/* "Udp6InDatagrams": group and key in one word. */
static bool is_joined(struct nd_os_word w, const struct counter *c)
{
	size_t n = strlen(c->group);

	return w.len > n && !memcmp(w.at, c->group, n) &&
	       nd_os_word_is((struct nd_os_word){ w.at + n, w.len - n }, c->key);
}

void nd_os_parse_snmp6(const char *text, struct nd_snmp *ret)
{
	struct nd_os_word name;
	const char *line, *p;
	size_t i;

	for (line = text; line; line = nd_os_line(line)) {
		p = line;
		if (!nd_os_word(&p, &name))
			continue;
		for (i = 0; i < ND_COUNTOF(counters); i++)
			if (strchr(counters[i].group, '6') && is_joined(name, &counters[i]))
				put(ret, &counters[i], nd_os_next_u64(&p));
	}
}

uint64_t nd_os_parse_sockstat(const char *text, const char *key)
{
	const char *p = nd_os_value_of(text, key);
	struct nd_os_word word;

	while (p && nd_os_word(&p, &word))
		if (nd_os_word_is(word, "inuse"))
			return nd_os_next_u64(&p);
	return ND_UNKNOWN;
}
