/* SPDX-License-Identifier: MIT */
/* Whether a part of a rule matches the first packet of a flow, as far as that packet is known. */
#include <netinet/in.h>
#include <string.h>

#include "os/ruleset.h"

#define DEEPEST  8u /* sets in sets, elements in elements */
#define SYN_ONLY 2u

/* What a key of the packet is. */
struct value {
	enum {
		IS_UNREAD,
		IS_HIDDEN, /* the packet has it; what it is is not known */
		IS_ABSENT, /* the packet has no such thing: no match, asked either way */
		IS_NUMBER,
		IS_NAME,
	} kind;

	uint64_t number;
	const char *name; /* IS_NAME; of a number: what it is called, too. NULL */
};

struct asking {
	const struct nd_ruleset *set;
	const struct nd_rule_item *at;
	const struct nd_rule_packet *p;
};

static enum nd_rule_says compare(const struct asking *a, json_t *key, json_t *with, unsigned depth);

static bool is_text(json_t *j, const char *text)
{
	const char *s = json_string_value(j);

	return s && !strcmp(s, text);
}

static bool is_one_of(const char *s, const char *const *list, size_t n)
{
	size_t i;

	for (i = 0; s && i < n; i++)
		if (!strcmp(s, list[i]))
			return true;
	return false;
}

static enum nd_rule_says both(enum nd_rule_says a, enum nd_rule_says b)
{
	return ND_MAX(a, b);
}

/* The best of several: YES before what is not known, NO last. */
static enum nd_rule_says either(enum nd_rule_says a, enum nd_rule_says b)
{
	return ND_MIN(a, b);
}

/* ---- what the packet is */

static struct value protocol_of(const struct nd_rule_packet *p)
{
	return (struct value){ .kind = IS_NUMBER,
			       .number = p->is_udp ? IPPROTO_UDP : IPPROTO_TCP,
			       .name = p->is_udp ? "udp" : "tcp" };
}

static struct value of_transport(const struct nd_rule_packet *p, const char *protocol,
				 const char *field)
{
	if (strcmp(protocol, "th") != 0 && strcmp(protocol, p->is_udp ? "udp" : "tcp") != 0)
		return (struct value){ .kind = IS_ABSENT };
	if (!strcmp(field, "dport"))
		return (struct value){ .kind = IS_NUMBER, .number = p->port };
	if (!p->is_udp && !strcmp(field, "flags"))
		return (struct value){ .kind = IS_NUMBER, .number = SYN_ONLY, .name = "syn" };
	return (struct value){ .kind = IS_HIDDEN };
}

static struct value of_payload(const struct nd_rule_packet *p, json_t *j)
{
	static const char *const others[] = { "icmp", "icmpv6", "igmp", "sctp", "dccp", "udplite",
					      "ah",   "esp",    "comp", "arp",  "gre" };

	const char *protocol = json_string_value(json_object_get(j, "protocol"));
	const char *field = json_string_value(json_object_get(j, "field"));

	if (!protocol || !field)
		return (struct value){ .kind = IS_UNREAD }; /* by offset */
	if (!strcmp(protocol, "ether"))
		return (struct value){ .kind = IS_HIDDEN };
	if (!strcmp(protocol, "ip") || !strcmp(protocol, "ip6")) {
		if (p->is_ipv6 != !strcmp(protocol, "ip6"))
			return (struct value){ .kind = IS_ABSENT };
		if (!strcmp(field, p->is_ipv6 ? "nexthdr" : "protocol"))
			return protocol_of(p);
		return (struct value){ .kind = IS_HIDDEN };
	}
	if (!strcmp(protocol, "tcp") || !strcmp(protocol, "udp") || !strcmp(protocol, "th"))
		return of_transport(p, protocol, field);
	if (is_one_of(protocol, others, ND_COUNTOF(others)))
		return (struct value){ .kind = IS_ABSENT };
	return (struct value){ .kind = IS_UNREAD };
}

static struct value of_meta(const struct nd_rule_packet *p, json_t *j)
{
	static const char *const hidden[] = {
		"mark", "priority", "length",  "cpu",     "iifgroup", "random", "cgroup",   "time",
		"day",  "hour",     "secmark", "iiftype", "skuid",    "skgid",  "rtclassid"
	};

	const char *key = json_string_value(json_object_get(j, "key"));

	if (!key)
		return (struct value){ .kind = IS_UNREAD };
	if (!strcmp(key, "l4proto"))
		return protocol_of(p);
	if (!strcmp(key, "nfproto"))
		return (struct value){ .kind = IS_NAME, .name = p->is_ipv6 ? "ipv6" : "ipv4" };
	if (!strcmp(key, "protocol"))
		return (struct value){ .kind = IS_NAME, .name = p->is_ipv6 ? "ip6" : "ip" };
	if (!strcmp(key, "iif") || !strcmp(key, "iifname"))
		return (struct value){ .kind = IS_NAME, .name = p->nic ? p->nic : "?" };
	if (!strcmp(key, "pkttype"))
		return (struct value){ .kind = IS_NAME, .name = "host" };
	return (struct value){ .kind = is_one_of(key, hidden, ND_COUNTOF(hidden)) ? IS_HIDDEN
										  : IS_UNREAD };
}

static struct value of_ct(const struct asking *a, json_t *j)
{
	const char *key = json_string_value(json_object_get(j, "key"));

	if (!key)
		return (struct value){ .kind = IS_UNREAD };
	if (!strcmp(key, "state"))
		return (struct value){ .kind = IS_NAME, .name = "new" };
	if (!strcmp(key, "direction"))
		return (struct value){ .kind = IS_NAME, .name = "original" };
	/* The first packet has none of these, unless a rule has changed where it goes. */
	if (!strcmp(key, "status") && !a->set->moves_ports)
		return (struct value){ .kind = IS_NAME, .name = "" };
	return (struct value){ .kind = IS_HIDDEN };
}

static bool has_text(json_t *list, const char *text)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) if (is_text(item, text)) return true;
	return is_text(list, text);
}

static struct value of_fib(json_t *j)
{
	json_t *flags = json_object_get(j, "flags");

	if (is_text(json_object_get(j, "result"), "type") && has_text(flags, "daddr") &&
	    !has_text(flags, "saddr"))
		return (struct value){ .kind = IS_NAME, .name = "local" };
	return (struct value){ .kind = IS_HIDDEN };
}

/* A number, or names of flags of TCP. */
static bool bits_of(json_t *j, uint64_t *ret)
{
	static const char *const flags[] = {
		"fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"
	};

	json_t *list = json_object_get(j, "|"), *item;
	uint64_t bits = 0, one = 0;
	size_t i;

	if (json_is_integer(j) && json_integer_value(j) >= 0) {
		*ret = (uint64_t)json_integer_value(j);
		return true;
	}
	if (json_is_array(j))
		list = j;
	if (list) {
		json_array_foreach(list, i, item)
		{
			if (json_is_array(item) || !bits_of(item, &one))
				return false;
			bits |= one;
		}
		*ret = bits;
		return json_array_size(list) > 0;
	}
	for (i = 0; i < ND_COUNTOF(flags); i++)
		if (is_text(j, flags[i])) {
			*ret = 1ull << i;
			return true;
		}
	return false;
}

static struct value value_of(const struct asking *a, json_t *key)
{
	static const char *const hidden[] = { "numgen",     "jhash",    "symhash", "osf",
					      "socket",     "rt",       "ipsec",   "exthdr",
					      "tcp option", "ip option" };

	const char *what = json_object_iter_key(json_object_iter(key));
	json_t *in = json_object_iter_value(json_object_iter(key));
	struct value v = { .kind = IS_UNREAD };
	uint64_t mask;

	if (!what || json_object_size(key) != 1)
		return v;
	if (!strcmp(what, "payload"))
		return of_payload(a->p, in);
	if (!strcmp(what, "meta"))
		return of_meta(a->p, in);
	if (!strcmp(what, "ct"))
		return of_ct(a, in);
	if (!strcmp(what, "fib"))
		return of_fib(in);
	if (is_one_of(what, hidden, ND_COUNTOF(hidden)))
		return (struct value){ .kind = IS_HIDDEN };
	if (strcmp(what, "&") != 0 || json_array_size(in) != 2)
		return v;
	if (json_object_get(json_array_get(in, 0), "&"))
		return v; /* nobody masks twice */
	v = value_of(a, json_array_get(in, 0));
	if (v.kind == IS_NUMBER && bits_of(json_array_get(in, 1), &mask))
		return (struct value){ .kind = IS_NUMBER, .number = v.number & mask };
	if (v.kind == IS_NUMBER || v.kind == IS_NAME)
		v.kind = IS_UNREAD;
	return v;
}

/* ---- what the rule says */

/* A pattern of an interface's name ends in "*"; where it comes in is not known, it is not the loopback device. */
static enum nd_rule_says compare_name(const struct asking *a, const struct value *v,
				      const char *with)
{
	size_t n = strlen(with);

	if (v->kind == IS_NAME && !a->p->nic && v->name[0] == '?')
		return strcmp(with, "lo") != 0 ? ND_RULE_DEPENDS : ND_RULE_NO;
	if (v->kind == IS_NAME && !strcmp(v->name, "host") && !strcmp(with, "unicast"))
		return ND_RULE_YES;
	if (v->name && n && with[n - 1] == '*' && v->name == a->p->nic)
		return !strncmp(v->name, with, n - 1) ? ND_RULE_YES : ND_RULE_NO;
	if (!v->name)
		return ND_RULE_UNREAD; /* a port by name */
	return !strcmp(v->name, with) ? ND_RULE_YES : ND_RULE_NO;
}

static enum nd_rule_says compare_range(const struct value *v, json_t *range)
{
	json_t *from = json_array_get(range, 0), *to = json_array_get(range, 1);

	if (v->kind != IS_NUMBER || !json_is_integer(from) || !json_is_integer(to))
		return ND_RULE_UNREAD;
	return v->number <= INT64_MAX && json_integer_value(from) <= (json_int_t)v->number &&
			       (json_int_t)v->number <= json_integer_value(to)
		       ? ND_RULE_YES
		       : ND_RULE_NO;
}

static enum nd_rule_says compare_one(const struct asking *a, json_t *key, json_t *with)
{
	struct value v = value_of(a, key);
	uint64_t bits;

	if (v.kind == IS_UNREAD || v.kind == IS_ABSENT)
		return v.kind == IS_UNREAD ? ND_RULE_UNREAD : ND_RULE_NO;
	if (v.kind == IS_HIDDEN)
		return ND_RULE_DEPENDS;
	if (json_object_get(with, "range"))
		return compare_range(&v, json_object_get(with, "range"));
	if (v.kind == IS_NUMBER && !json_is_string(with) && bits_of(with, &bits))
		return v.number == bits ? ND_RULE_YES : ND_RULE_NO;
	if (json_is_string(with) && v.kind == IS_NUMBER && !v.name && bits_of(with, &bits))
		return v.number == bits ? ND_RULE_YES : ND_RULE_NO; /* what a mask left of flags */
	if (json_is_string(with))
		return compare_name(a, &v, json_string_value(with));
	return ND_RULE_UNREAD;
}

/* Elements of a set, one of which is enough. */
static enum nd_rule_says compare_any(const struct asking *a, json_t *key, json_t *list,
				     unsigned depth)
{
	enum nd_rule_says says = ND_RULE_NO;
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		says = either(says, compare(a, key, item, depth + 1));
		if (says == ND_RULE_YES)
			break;
	}
	return says;
}

static enum nd_rule_says compare_all(const struct asking *a, json_t *keys, json_t *with,
				     unsigned depth)
{
	enum nd_rule_says says = ND_RULE_YES;
	size_t i, n = json_array_size(keys);

	if (!n || n != json_array_size(with))
		return ND_RULE_UNREAD;
	for (i = 0; i < n; i++)
		says = both(says, compare(a, json_array_get(keys, i), json_array_get(with, i),
					  depth + 1));
	return says;
}

/* A set of a name, which a rule calls @name; one that rules fill while packets come is not known. */
static enum nd_rule_says compare_set(const struct asking *a, json_t *key, const char *name,
				     unsigned depth)
{
	const struct nd_rule_item *found =
		nd_ruleset_find(&a->set->sets, a->at->family, a->at->table, name + 1, NULL);

	if (!found)
		return ND_RULE_UNREAD;
	if (has_text(json_object_get(found->json, "flags"), "dynamic"))
		return ND_RULE_DEPENDS;
	return compare_any(a, key, json_object_get(found->json, "elem"), depth);
}

static enum nd_rule_says compare(const struct asking *a, json_t *key, json_t *with, unsigned depth)
{
	json_t *in, *parts = json_object_get(key, "concat");
	const char *name = json_string_value(with);

	if (depth > DEEPEST || !key || !with)
		return ND_RULE_UNREAD;
	if (!parts && value_of(a, key).kind == IS_HIDDEN)
		return ND_RULE_DEPENDS; /* whatever a set of thousands holds */
	if (name && name[0] == '@')
		return compare_set(a, key, name, depth);
	if (name && !strcmp(name, "*"))
		return ND_RULE_YES; /* what no other element is */
	in = json_object_get(with, "set");
	if (in)
		return json_is_array(in) ? compare_any(a, key, in, depth)
					 : compare(a, key, in, depth + 1);
	in = json_object_get(with, "elem");
	if (in)
		return compare(a, key, json_object_get(in, "val"), depth + 1);
	if (parts)
		return compare_all(a, parts, json_object_get(with, "concat"), depth);
	return compare_one(a, key, with);
}

/* An order, which only numbers have. */
static enum nd_rule_says in_order(const struct asking *a, json_t *key, const char *op, json_t *with)
{
	struct value v = value_of(a, key);
	json_int_t n = json_integer_value(with);
	bool holds;

	if (v.kind == IS_ABSENT)
		return ND_RULE_NO;
	if (v.kind == IS_HIDDEN)
		return ND_RULE_DEPENDS;
	if (v.kind != IS_NUMBER || !json_is_integer(with) || n < 0)
		return ND_RULE_UNREAD;
	if (op[1])
		holds = op[0] == '<' ? v.number <= (uint64_t)n : v.number >= (uint64_t)n;
	else
		holds = op[0] == '<' ? v.number < (uint64_t)n : v.number > (uint64_t)n;
	return holds ? ND_RULE_YES : ND_RULE_NO;
}

/* Is any of the states in a list the packet's? For flags of TCP: has it one of them? */
static enum nd_rule_says has_any(const struct asking *a, json_t *key, json_t *with)
{
	struct value v = value_of(a, key);
	uint64_t bits;

	if (v.kind == IS_NUMBER && bits_of(with, &bits))
		return v.number & bits ? ND_RULE_YES : ND_RULE_NO;
	if (json_object_get(with, "|"))
		with = json_object_get(with, "|");
	return json_is_array(with) ? compare_any(a, key, with, 0) : compare(a, key, with, 0);
}

/* A packet that lacks a part of what is asked matches no question about it. */
static bool is_absent(const struct asking *a, json_t *key)
{
	json_t *parts = json_object_get(key, "concat"), *part;
	size_t i;

	json_array_foreach(parts, i, part) if (value_of(a, part).kind == IS_ABSENT) return true;
	return !parts && value_of(a, key).kind == IS_ABSENT;
}

enum nd_rule_says nd_ruleset_says_key(const struct nd_ruleset *s, const struct nd_rule_item *at,
				      const struct nd_rule_packet *p, json_t *key, json_t *value)
{
	struct asking a = { .set = s, .at = at, .p = p };

	return is_absent(&a, key) ? ND_RULE_NO : compare(&a, key, value, 0);
}

enum nd_rule_says nd_ruleset_says(const struct nd_ruleset *s, const struct nd_rule_item *at,
				  const struct nd_rule_packet *p, json_t *match)
{
	struct asking a = { .set = s, .at = at, .p = p };
	json_t *left = json_object_get(match, "left"), *right = json_object_get(match, "right");
	const char *op = json_string_value(json_object_get(match, "op"));
	enum nd_rule_says says;

	if (!left || !right || !op)
		return ND_RULE_UNREAD;
	if (is_absent(&a, left))
		return ND_RULE_NO;
	if (!strcmp(op, "in"))
		return has_any(&a, left, right);
	if (op[0] == '<' || op[0] == '>')
		return in_order(&a, left, op, right);
	if (strcmp(op, "==") != 0 && strcmp(op, "!=") != 0)
		return ND_RULE_UNREAD;
	says = compare(&a, left, right, 0);
	if (op[0] == '!' && (says == ND_RULE_YES || says == ND_RULE_NO))
		says = says == ND_RULE_YES ? ND_RULE_NO : ND_RULE_YES;
	return says;
}
