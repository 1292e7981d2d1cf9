/* SPDX-License-Identifier: MIT */
/* Private to os/: rules of nftables, as libnftables tells them in JSON, and what they do with a packet. */
#ifndef ND_OS_RULESET_H
#define ND_OS_RULESET_H

#include <jansson.h>

#include "os/detail.h"

#define ND_RULESET_BYTES ((size_t)8 << 20) /* a longer text is not read */

/* The first packet of a new flow to a port of this machine. */
struct nd_rule_packet {
	uint64_t port;
	bool is_udp, is_ipv6;
	const char *nic; /* that it comes in by; NULL: not known */
};

/* Does a rule, or a part of one, match? The worst of several parts counts, NO before all. */
enum nd_rule_says {
	ND_RULE_YES,
	ND_RULE_DEPENDS, /* on what is not known of the packet: its address, the time, a counter */
	ND_RULE_UNREAD,  /* it is not told, or means nothing to us */
	ND_RULE_NO,
};

/* A rule, set or map; @name is of the chain, or its own. */
struct nd_rule_item {
	const char *family, *table, *name; /* borrowed, like .json */
	size_t order;
	json_t *json;
};

struct nd_rule_list {
	struct nd_rule_item *v; /* owned; sorted by family, table, name, order */
	size_t n;
};

struct nd_ruleset {
	json_t *root; /* owned */
	struct nd_rule_list rules, sets;
	bool moves_ports; /* a rule somewhere changes destinations */
};

/* How a packet fares. */
struct nd_rule_fate {
	enum { ND_RULE_PASSES, ND_RULE_MAY_DROP, ND_RULE_DROPS } what;

	bool unread;                   /* because of something that is not understood */
	const struct nd_rule_item *at; /* the rule that does it; NULL: the policy */
};

/** nd_ruleset_find() - the first with these names; *@ret_n: how many follow, itself included. NULL: none. */
const struct nd_rule_item *nd_ruleset_find(const struct nd_rule_list *list, const char *family,
					   const char *table, const char *name, size_t *ret_n);
/** nd_ruleset_says() - a "match" of a rule in @at's table. */
enum nd_rule_says nd_ruleset_says(const struct nd_ruleset *s, const struct nd_rule_item *at,
				  const struct nd_rule_packet *p, json_t *match);
/** nd_ruleset_says_key() - is @key of the packet what @value says, a value, range or set? */
enum nd_rule_says nd_ruleset_says_key(const struct nd_ruleset *s, const struct nd_rule_item *at,
				      const struct nd_rule_packet *p, json_t *key, json_t *value);
/** nd_ruleset_walk() - the worst that a base chain, and those that it calls, may do with the packet. */
struct nd_rule_fate nd_ruleset_walk(const struct nd_ruleset *s, const struct nd_rule_item *chain,
				    const struct nd_rule_packet *p);

/**
 * nd_ruleset_judge() - what the rules in @text do with new flows to the ports of @ask, added to @ret->block.
 * Return: 0, -EBADMSG when it is no such text, -E2BIG, -ENOMEM.
 */
ND_MUST_CHECK int nd_ruleset_judge(const char *text, size_t len, const struct nd_firewall_ask *ask,
				   struct nd_firewall *ret);

struct nd_str;
/** nd_os_nft_list() - all rules of this network namespace as JSON. -ENOENT: libnftables is not installed;
 * -EIO: it does not tell. */
ND_MUST_CHECK int nd_os_nft_list(struct nd_str *out);

#endif
