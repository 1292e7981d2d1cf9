/* SPDX-License-Identifier: MIT */
/* What the rules of nftables do with new flows: their text sorted out, each chain asked, and what is told of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "os/ruleset.h"

/* ---- names */

static int compare_names(const struct nd_rule_item *a, const struct nd_rule_item *b)
{
	int r = strcmp(a->family, b->family);

	if (r == 0)
		r = strcmp(a->table, b->table);
	return r ? r : strcmp(a->name, b->name);
}

static int compare_items(const void *x, const void *y)
{
	const struct nd_rule_item *a = x, *b = y;
	int r = compare_names(a, b);

	return r ? r : (a->order > b->order) - (a->order < b->order);
}

const struct nd_rule_item *nd_ruleset_find(const struct nd_rule_list *list, const char *family,
					   const char *table, const char *name, size_t *ret_n)
{
	struct nd_rule_item wanted = { .family = family, .table = table, .name = name };
	size_t low = 0, high = list->n, middle, n = 0;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (compare_names(&list->v[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < list->n && compare_names(&list->v[low + n], &wanted) == 0 &&
	       (n == 0 || ret_n))
		n++;
	if (n && ret_n)
		*ret_n = n;
	return n ? &list->v[low] : NULL;
}

/* ---- what is told */

static void name_place(const struct nd_rule_fate *f, const struct nd_rule_item *chain, char *to,
		       size_t size)
{
	const struct nd_rule_item *at = f->at ? f->at : chain;
	long long handle = json_integer_value(json_object_get(at->json, "handle"));

	if (f->at) /* cut: for people */
		(void)snprintf(to, size, "rule %lld of %.16s %.48s %.64s", handle, at->family,
			       at->table, at->name);
	else
		(void)snprintf(to, size, "the policy of %.16s %.48s %.64s", at->family, at->table,
			       at->name);
	for (; *to; to++) /* a name may be what somebody chose */
		if ((unsigned char)*to < 0x20 || (unsigned char)*to >= 0x7f)
			*to = '?';
}

static void keep(const struct nd_rule_fate *f, const struct nd_rule_packet *p,
		 const struct nd_rule_item *chain, struct nd_firewall *ret)
{
	struct nd_firewall_block b = { .port = (uint16_t)p->port,
				       .is_udp = p->is_udp,
				       .ipv4 = !p->is_ipv6,
				       .ipv6 = p->is_ipv6,
				       .sure = f->what == ND_RULE_DROPS,
				       .unread = f->what != ND_RULE_DROPS && f->unread };
	uint32_t i;

	name_place(f, chain, b.where, sizeof(b.where));
	for (i = 0; i < ret->blocks; i++) {
		struct nd_firewall_block *k = &ret->block[i];

		if (k->port != b.port || k->is_udp != b.is_udp || k->sure != b.sure ||
		    strcmp(k->where, b.where) != 0)
			continue;
		k->ipv4 = k->ipv4 || b.ipv4;
		k->ipv6 = k->ipv6 || b.ipv6;
		return;
	}
	if (ret->blocks < ND_COUNTOF(ret->block)) {
		ret->block[ret->blocks++] = b;
		return;
	}
	ret->more = true;
	for (i = 0; b.sure && i < ret->blocks; i++) /* what is sure is worth more */
		if (!ret->block[i].sure) {
			ret->block[i] = b;
			return;
		}
}

static bool filters_input(const struct nd_rule_item *chain)
{
	const char *hook = json_string_value(json_object_get(chain->json, "hook"));
	const char *type = json_string_value(json_object_get(chain->json, "type"));

	return hook && type && !strcmp(type, "filter") &&
	       (!strcmp(hook, "input") || !strcmp(hook, "prerouting") ||
		!strcmp(hook, "ingress")) &&
	       (!strcmp(chain->family, "ip") || !strcmp(chain->family, "ip6") ||
		!strcmp(chain->family, "inet") || !strcmp(chain->family, "netdev"));
}

static void pass_ports(const struct nd_ruleset *s, const struct nd_rule_item *chain,
		       const struct nd_firewall_ask *ask, struct nd_firewall *ret)
{
	uint32_t i, way;

	for (i = 0; i < ask->ports && i < ND_COUNTOF(ask->port); i++)
		for (way = 0; way < 4; way++) {
			struct nd_rule_packet p = { .port = ask->port[i],
						    .is_udp = way & 2,
						    .is_ipv6 = way & 1,
						    .nic = ask->nic };
			const struct nd_rule_fate f = nd_ruleset_walk(s, chain, &p);

			if (f.what != ND_RULE_PASSES)
				keep(&f, &p, chain, ret);
		}
}

/* ---- the text */

static int add(struct nd_rule_list *list, json_t *j, const char *name_key)
{
	const char *family = json_string_value(json_object_get(j, "family"));
	const char *table = json_string_value(json_object_get(j, "table"));
	const char *name = json_string_value(json_object_get(j, name_key));

	if (!family || !table || !name)
		return -EBADMSG;
	if (nd_grow(list->v, list->n) < 0)
		return -ENOMEM;
	list->v[list->n] = (struct nd_rule_item){
		.family = family, .table = table, .name = name, .order = list->n, .json = j
	};
	list->n++;
	return 0;
}

static bool moves(json_t *rule)
{
	json_t *statement, *xt;
	const char *name;
	size_t i;

	json_array_foreach(json_object_get(rule, "expr"), i, statement)
	{
		xt = json_object_get(statement, "xt");
		name = json_string_value(json_object_get(xt, "name"));
		if (json_object_get(statement, "dnat") || json_object_get(statement, "redirect") ||
		    (xt && (!name || !strcmp(name, "DNAT") || !strcmp(name, "REDIRECT"))))
			return true;
	}
	return false;
}

static int sort_out(struct nd_ruleset *s, struct nd_rule_list *chains)
{
	json_t *list = json_object_get(s->root, "nftables"), *entry;
	int r = json_is_array(list) ? 0 : -EBADMSG;
	json_t *j;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if ((j = json_object_get(entry, "rule"))) {
			r = add(&s->rules, j, "chain");
			s->moves_ports = s->moves_ports || moves(j);
		} else if ((j = json_object_get(entry, "set")) ||
			   (j = json_object_get(entry, "map")))
			r = add(&s->sets, j, "name");
		else if ((j = json_object_get(entry, "chain")))
			r = add(chains, j, "name");
		if (r < 0)
			return r;
	}
	if (s->rules.n)
		qsort(s->rules.v, s->rules.n, sizeof(*s->rules.v), compare_items);
	if (s->sets.n)
		qsort(s->sets.v, s->sets.n, sizeof(*s->sets.v), compare_items);
	return r;
}

int nd_ruleset_judge(const char *text, size_t len, const struct nd_firewall_ask *ask,
		     struct nd_firewall *ret)
{
	struct nd_rule_list chains = { 0 };
	struct nd_ruleset s = { 0 };
	size_t i;
	int r = -EBADMSG;

	if (len > ND_RULESET_BYTES)
		return -E2BIG;
	s.root = json_loadb(text, len, 0, NULL);
	if (s.root)
		r = sort_out(&s, &chains);
	for (i = 0; r == 0 && i < chains.n; i++)
		if (filters_input(&chains.v[i]))
			pass_ports(&s, &chains.v[i], ask, ret);
	free(chains.v);
	free(s.rules.v);
	free(s.sets.v);
	json_decref(s.root);
	return r;
}
