/* SPDX-License-Identifier: MIT */
/* What the rules of nftables do with a new flow: chain by chain, rule by rule, as the kernel would walk them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "os/ruleset.h"

#define DEEPEST   16u    /* chains that call each other; the kernel allows as many */
#define RULES_MAX 20000u /* rules that are looked at for one packet */

enum fate { FATE_PASSES, FATE_MAY_DROP, FATE_DROPS };

/* How a chain, or a rule in it, ends for a packet. */
enum way {
	WAY_ON,   /* the next rule, or what called the chain */
	WAY_BACK, /* out of this chain */
	WAY_END,  /* it was let in or dropped */
};

struct walk {
	const struct nd_ruleset *set;
	const struct nd_rule_packet *p;
	unsigned depth, rules;
	bool may_be_in; /* a rule before may have let it in */
	bool unread;    /* or is not understood */
	enum fate fate; /* the worst that was met */
	bool fate_unread;
	const struct nd_rule_item *at; /* the rule that did it; NULL: the policy */
	bool chain_left;               /* a rule of this chain may have left it */
};

static enum way walk_chain(struct walk *w, const struct nd_rule_item *from, const char *name,
			   bool is_sure);

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

/* ---- what a rule does */

static void meet(struct walk *w, enum nd_rule_says says, bool is_sure,
		 const struct nd_rule_item *at)
{
	enum fate fate =
		is_sure && says == ND_RULE_YES && !w->may_be_in ? FATE_DROPS : FATE_MAY_DROP;

	if (fate <= w->fate)
		return;
	w->fate = fate;
	w->fate_unread = says == ND_RULE_UNREAD || w->unread;
	w->at = at;
}

/* Whoever else decides here: a program, or something that is not understood. */
static void lose_sight(struct walk *w, const struct nd_rule_item *at)
{
	meet(w, ND_RULE_UNREAD, false, at);
	w->may_be_in = w->unread = true;
}

/* When a rule matches for sure, what follows it in the chain does not count. */
static enum way end_with(const struct walk *w, enum nd_rule_says says)
{
	if (says != ND_RULE_YES)
		return WAY_ON;
	return w->chain_left ? WAY_BACK : WAY_END;
}

static enum way call(struct walk *w, const struct nd_rule_item *at, json_t *target,
		     enum nd_rule_says says, bool is_sure, bool comes_back)
{
	const char *name = json_string_value(json_object_get(target, "target"));
	bool left = w->chain_left;
	enum way way;

	if (!name || w->depth >= DEEPEST) {
		lose_sight(w, at);
		return WAY_ON;
	}
	w->unread = w->unread || says == ND_RULE_UNREAD;
	w->chain_left = false;
	way = walk_chain(w, at, name, is_sure && says == ND_RULE_YES && !left);
	w->chain_left = left;
	if (says == ND_RULE_YES)
		return way == WAY_END ? end_with(w, says) : comes_back ? WAY_ON : WAY_BACK;
	w->chain_left = w->chain_left || !comes_back;
	return WAY_ON;
}

static enum way verdict(struct walk *w, const struct nd_rule_item *at, const char *what, json_t *of,
			enum nd_rule_says says, bool is_sure)
{
	if (!strcmp(what, "drop") || !strcmp(what, "reject")) {
		meet(w, says, is_sure && !w->chain_left, at);
		return end_with(w, says);
	}
	if (!strcmp(what, "accept")) {
		if (says != ND_RULE_YES || !is_sure || w->chain_left)
			w->may_be_in = true;
		w->unread = w->unread || says == ND_RULE_UNREAD;
		return end_with(w, says);
	}
	if (!strcmp(what, "return")) {
		if (says == ND_RULE_YES)
			return WAY_BACK;
		w->unread = w->unread || says == ND_RULE_UNREAD;
		w->chain_left = true;
		return WAY_ON;
	}
	if (!strcmp(what, "jump") || !strcmp(what, "goto"))
		return call(w, at, of, says, is_sure, what[0] == 'j');
	return WAY_ON; /* "continue" */
}

static enum way verdict_of(struct walk *w, const struct nd_rule_item *at, json_t *j,
			   enum nd_rule_says says, bool is_sure)
{
	void *first = json_object_iter(j);
	const char *what = json_object_iter_key(first);

	if (what)
		return verdict(w, at, what, json_object_iter_value(first), says, is_sure);
	lose_sight(w, at);
	return WAY_ON;
}

/* "*" stands for what no other element is. */
static bool is_rest(json_t *pair)
{
	const char *s = json_string_value(json_array_get(pair, 0));

	return s && !strcmp(s, "*");
}

static enum way choose(struct walk *w, const struct nd_rule_item *at, json_t *vmap,
		       enum nd_rule_says rule, bool is_sure)
{
	json_t *data = json_object_get(vmap, "data"), *list = json_object_get(data, "set");
	json_t *key = json_object_get(vmap, "key"), *pair, *rest = NULL;
	const char *name = json_string_value(data);
	const struct nd_rule_item *map =
		name && name[0] == '@'
			? nd_ruleset_find(&w->set->sets, at->family, at->table, name + 1, NULL)
			: NULL;
	enum nd_rule_says says;
	enum way way;
	size_t i;

	if (map)
		list = json_object_get(map->json, "elem");
	if (!json_is_array(list))
		lose_sight(w, at);
	json_array_foreach(list, i, pair)
	{
		if (is_rest(pair)) {
			rest = pair;
			continue;
		}
		says = nd_ruleset_says_key(w->set, at, w->p, key, json_array_get(pair, 0));
		if (says == ND_RULE_NO)
			continue;
		way = verdict_of(w, at, json_array_get(pair, 1), ND_MAX(says, rule), is_sure);
		if (says == ND_RULE_YES)
			return way;
	}
	return rest ? verdict_of(w, at, json_array_get(rest, 1), rule, is_sure) : WAY_ON;
}

/* Programs of iptables that nftables only names; what their targets do is known, of matches only the name. */
static enum nd_rule_says old_match(json_t *xt, enum nd_rule_says says)
{
	const char *name = json_string_value(json_object_get(xt, "name"));

	return name && !strcmp(name, "comment") ? says : ND_MAX(says, ND_RULE_UNREAD);
}

static enum way old_target(struct walk *w, const struct nd_rule_item *at, json_t *xt,
			   enum nd_rule_says says, bool is_sure)
{
	static const char *const harmless[] = { "LOG",   "NFLOG", "MARK",     "CONNMARK", "TRACE",
						"AUDIT", "CT",    "CLASSIFY", "CHECKSUM", "SET" };

	const char *name = json_string_value(json_object_get(xt, "name"));
	size_t i;

	if (name && !strcmp(name, "REJECT"))
		return verdict(w, at, "reject", NULL, says, is_sure);
	for (i = 0; name && i < ND_COUNTOF(harmless); i++)
		if (!strcmp(name, harmless[i]))
			return WAY_ON;
	lose_sight(w, at);
	return WAY_ON;
}

static bool is_old_match(json_t *xt)
{
	const char *type = json_string_value(json_object_get(xt, "type"));

	return !type || !strcmp(type, "match");
}

/* Does a statement that decides nothing narrow what the rest of its rule is for? */
static enum nd_rule_says narrow(const struct walk *w, const struct nd_rule_item *at,
				const char *what, json_t *of)
{
	static const char *const neutral[] = { "counter",    "log",     "notrack", "mangle",
					       "set",        "map",     "flow",    "ct helper",
					       "ct timeout", "secmark", "dup",     "ct expectation",
					       "tunnel",     "last" };
	static const char *const hidden[] = { "limit", "quota", "ct count", "meter" };

	size_t i;

	if (!strcmp(what, "match"))
		return nd_ruleset_says(w->set, at, w->p, of);
	for (i = 0; i < ND_COUNTOF(neutral); i++)
		if (!strcmp(what, neutral[i]))
			return ND_RULE_YES;
	for (i = 0; i < ND_COUNTOF(hidden); i++)
		if (!strcmp(what, hidden[i]))
			return ND_RULE_DEPENDS;
	return ND_RULE_UNREAD;
}

static bool decides(const char *what)
{
	return !strcmp(what, "accept") || !strcmp(what, "drop") || !strcmp(what, "reject") ||
	       !strcmp(what, "return") || !strcmp(what, "jump") || !strcmp(what, "goto") ||
	       !strcmp(what, "continue");
}

static bool sends_elsewhere(const char *what)
{
	return !strcmp(what, "queue") || !strcmp(what, "tproxy") || !strcmp(what, "synproxy") ||
	       !strcmp(what, "fwd") || !strcmp(what, "dnat") || !strcmp(what, "redirect");
}

static enum way walk_rule(struct walk *w, const struct nd_rule_item *at, bool is_sure)
{
	json_t *expr = json_object_get(at->json, "expr"), *statement;
	enum nd_rule_says says = ND_RULE_YES;
	enum way way = WAY_ON;
	size_t i;

	json_array_foreach(expr, i, statement)
	{
		void *first = json_object_iter(statement);
		const char *what = json_object_iter_key(first);
		json_t *of = json_object_iter_value(first);

		if (!what)
			says = ND_MAX(says, ND_RULE_UNREAD);
		else if (decides(what))
			return verdict(w, at, what, of, says, is_sure);
		else if (!strcmp(what, "vmap"))
			way = choose(w, at, of, says, is_sure);
		else if (!strcmp(what, "xt") && is_old_match(of))
			says = old_match(of, says);
		else if (!strcmp(what, "xt"))
			way = old_target(w, at, of, says, is_sure);
		else if (sends_elsewhere(what)) {
			lose_sight(w, at);
		} else
			says = ND_MAX(says, narrow(w, at, what, of));
		if (says == ND_RULE_NO || way != WAY_ON)
			return way;
	}
	return WAY_ON;
}

static enum way walk_chain(struct walk *w, const struct nd_rule_item *from, const char *name,
			   bool is_sure)
{
	size_t i, n = 0;
	const struct nd_rule_item *rule =
		nd_ruleset_find(&w->set->rules, from->family, from->table, name, &n);
	enum way way = WAY_ON;

	w->depth++;
	for (i = 0; i < n && way == WAY_ON; i++) {
		if (++w->rules > RULES_MAX) {
			lose_sight(w, &rule[i]);
			break;
		}
		way = walk_rule(w, &rule[i], is_sure);
	}
	w->depth--;
	return way == WAY_END ? WAY_END : WAY_ON;
}

/* ---- what is told */

static void name_place(const struct walk *w, const struct nd_rule_item *chain, char *to,
		       size_t size)
{
	const struct nd_rule_item *at = w->at ? w->at : chain;
	long long handle = json_integer_value(json_object_get(at->json, "handle"));

	if (w->at) /* cut: for people */
		(void)snprintf(to, size, "rule %lld of %.16s %.48s %.64s", handle, at->family,
			       at->table, at->name);
	else
		(void)snprintf(to, size, "the policy of %.16s %.48s %.64s", at->family, at->table,
			       at->name);
	for (; *to; to++) /* a name may be what somebody chose */
		if ((unsigned char)*to < 0x20 || (unsigned char)*to >= 0x7f)
			*to = '?';
}

static void keep(const struct walk *w, const struct nd_rule_item *chain, struct nd_firewall *ret)
{
	struct nd_firewall_block b = { .port = (uint16_t)w->p->port,
				       .is_udp = w->p->is_udp,
				       .ipv4 = !w->p->is_ipv6,
				       .ipv6 = w->p->is_ipv6,
				       .sure = w->fate == FATE_DROPS,
				       .unread = w->fate != FATE_DROPS && w->fate_unread };
	uint32_t i;

	name_place(w, chain, b.where, sizeof(b.where));
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

/* Of an interface only ("netdev")? Whether the packet comes in there. */
static enum nd_rule_says on_device(json_t *chain, const char *nic)
{
	json_t *dev = json_object_get(chain, "dev"), *one;
	const char *name = json_string_value(dev);
	size_t i;

	if (!nic || !dev)
		return ND_RULE_DEPENDS;
	if (name)
		return !strcmp(name, nic) ? ND_RULE_YES : ND_RULE_NO;
	json_array_foreach(dev, i, one) if (json_is_string(one) && !strcmp(json_string_value(one),
									   nic)) return ND_RULE_YES;
	return ND_RULE_NO;
}

static void pass(const struct nd_ruleset *s, const struct nd_rule_item *chain,
		 const struct nd_rule_packet *p, struct nd_firewall *ret)
{
	const char *policy = json_string_value(json_object_get(chain->json, "policy"));
	struct walk w = { .set = s, .p = p };
	bool is_sure = true;

	if (!strcmp(chain->family, p->is_ipv6 ? "ip" : "ip6"))
		return;
	if (!strcmp(chain->family, "netdev")) {
		if (on_device(chain->json, p->nic) == ND_RULE_NO)
			return;
		is_sure = on_device(chain->json, p->nic) == ND_RULE_YES;
	}
	if (walk_chain(&w, chain, chain->name, is_sure) != WAY_END && policy &&
	    !strcmp(policy, "drop")) {
		w.chain_left = false;
		meet(&w, ND_RULE_YES, is_sure, NULL);
	}
	if (w.fate != FATE_PASSES)
		keep(&w, chain, ret);
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

			pass(s, chain, &p, ret);
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
