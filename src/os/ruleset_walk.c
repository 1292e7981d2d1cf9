/* SPDX-License-Identifier: MIT */
/* What a chain of nftables does with the first packet of a flow: rule by rule, as the kernel would walk them. */
#include <string.h>

#include "os/ruleset.h"

#define DEEPEST   16u    /* chains that call each other; the kernel allows as many */
#define RULES_MAX 20000u /* rules that are looked at for one packet */

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
	bool may_be_in;  /* a rule before may have let it in */
	bool unread;     /* or is not understood */
	bool chain_left; /* a rule of this chain may have left it */
	struct nd_rule_fate worst;
};

static enum way walk_chain(struct walk *w, const struct nd_rule_item *from, const char *name,
			   bool is_sure);

/* ---- what a rule does */

static void meet(struct walk *w, enum nd_rule_says says, bool is_sure,
		 const struct nd_rule_item *at)
{
	const struct nd_rule_fate fate = { .what = is_sure && says == ND_RULE_YES && !w->may_be_in
							   ? ND_RULE_DROPS
							   : ND_RULE_MAY_DROP,
					   .unread = says == ND_RULE_UNREAD || w->unread,
					   .at = at };

	if (fate.what > w->worst.what)
		w->worst = fate;
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

struct nd_rule_fate nd_ruleset_walk(const struct nd_ruleset *s, const struct nd_rule_item *chain,
				    const struct nd_rule_packet *p)
{
	const char *policy = json_string_value(json_object_get(chain->json, "policy"));
	struct walk w = { .set = s, .p = p };
	bool is_sure = true;

	if (!strcmp(chain->family, p->is_ipv6 ? "ip" : "ip6"))
		return w.worst;
	if (!strcmp(chain->family, "netdev")) {
		if (on_device(chain->json, p->nic) == ND_RULE_NO)
			return w.worst;
		is_sure = on_device(chain->json, p->nic) == ND_RULE_YES;
	}
	if (walk_chain(&w, chain, chain->name, is_sure) != WAY_END && policy &&
	    !strcmp(policy, "drop")) {
		w.chain_left = false;
		meet(&w, ND_RULE_YES, is_sure, NULL);
	}
	return w.worst;
}
