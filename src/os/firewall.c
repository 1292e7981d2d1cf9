/* SPDX-License-Identifier: MIT */
/* What stands before a socket: chains and rules of nftables that packets pass on their way in, and the route that packets take by default. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "os/detail.h"
#include "os/int.h"
#include "os/ruleset.h"

#define ROUTE_BYTES 16384u
#define RTF_UP_FLAG 1u

static uint32_t big_endian(const struct nd_os_attr *a)
{
	uint32_t v = UINT32_MAX;

	if (a->len >= sizeof(v))
		memcpy(&v, a->data, sizeof(v));
	return ntohl(v);
}

/* At the input hook, or at one before it (behind the last is ingress); those that translate addresses stop nothing there. */
static bool comes_in(unsigned family, uint32_t hook, const struct nd_os_attr *type)
{
	if (hook == NF_INET_LOCAL_IN)
		return family != NFPROTO_ARP && family != NFPROTO_NETDEV;
	if (family == NFPROTO_NETDEV)
		return hook == NF_NETDEV_INGRESS;
	if (family != NFPROTO_INET && family != NFPROTO_IPV4 && family != NFPROTO_IPV6)
		return false;
	return (hook == NF_INET_PRE_ROUTING || hook == NF_INET_NUMHOOKS) &&
	       type->len >= sizeof("filter") - 1 &&
	       !memcmp(type->data, "filter", sizeof("filter") - 1);
}

int nd_os_take_chain(void *ctx, const char *body, size_t len)
{
	struct nd_os_attr a, hook = { 0 }, number, table = { 0 }, name = { 0 }, type = { 0 };
	struct nd_firewall *f = ctx;
	uint32_t policy = NF_ACCEPT;
	const char *p = body + NLMSG_ALIGN(sizeof(struct nfgenmsg));
	size_t left;

	if (len < NLMSG_ALIGN(sizeof(struct nfgenmsg)))
		return -EBADMSG;
	left = len - NLMSG_ALIGN(sizeof(struct nfgenmsg));
	while (nd_os_attr_next(&p, &left, &a)) {
		if (a.type == NFTA_CHAIN_HOOK)
			hook = a;
		else if (a.type == NFTA_CHAIN_POLICY)
			policy = big_endian(&a);
		else if (a.type == NFTA_CHAIN_TABLE)
			table = a;
		else if (a.type == NFTA_CHAIN_NAME)
			name = a;
		else if (a.type == NFTA_CHAIN_TYPE)
			type = a;
	}
	if (!hook.len || !nd_os_attr_find(&hook, NFTA_HOOK_HOOKNUM, &number) ||
	    !comes_in((unsigned char)body[0], big_endian(&number), &type))
		return 0;
	f->chains++;
	if (policy != NF_DROP)
		return 0;
	if (!f->drops++ && table.len && name.len)
		(void)snprintf(f->name, sizeof(f->name), "%.*s %.*s",
			       (int)strnlen(table.data, table.len), (const char *)table.data,
			       (int)strnlen(name.data, name.len),
			       (const char *)name.data); /* cut: for people */
	return 0;
}

static void read_rules(const struct nd_firewall_ask *ask, struct nd_firewall *ret)
{
	nd_auto_str text = { 0 };
	int r = nd_os_nft_list(&text);

	if (r == -ENOENT)
		ret->rules_why = "libnftables.so.1 is not installed";
	if (r == 0)
		r = nd_ruleset_judge(nd_str_text(&text), text.len, ask, ret);
	ret->rules_known = r == 0;
	if (r == -E2BIG)
		ret->rules_why = "they are too many";
	else if (r < 0 && !ret->rules_why)
		ret->rules_why = "libnftables does not tell them";
}

void nd_os_firewall(struct nd_os *os, const struct nd_firewall_ask *ask, struct nd_firewall *ret)
{
	struct nd_os_rtnl n = { .fd = -1, .protocol = NETLINK_NETFILTER };
	struct nfgenmsg all = { .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0 };
	struct nd_os_request q = { .type = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETCHAIN,
				   .flags = NLM_F_DUMP,
				   .body = &all,
				   .len = sizeof(all),
				   .take = nd_os_take_chain,
				   .ctx = ret };
	char text[256];

	*ret = (struct nd_firewall){ 0 };
	if (os->is_machine)
		ret->known = nd_os_rtnl_ask(&n, &q) == 0;
	nd_os_rtnl_done(&n);
	if (ret->known && ret->chains)
		read_rules(ask, ret);
	ret->has_old_tables =
		nd_os_peek(os, text, sizeof(text), "proc/net/ip_tables_names") && text[0] != '\0';
}

/* Columns: interface, destination, gateway, flags, ... */
bool nd_os_route_ipv4(const char *text, char *ret, size_t size)
{
	struct nd_os_word nic, destination, skipped, flags;
	const char *line, *p;

	for (line = nd_os_line(text); line; line = nd_os_line(line)) {
		p = line;
		if (!nd_os_word(&p, &nic) || !nd_os_word(&p, &destination) ||
		    !nd_os_word(&p, &skipped) || !nd_os_word(&p, &flags))
			continue;
		if (!nd_os_word_is(destination, "00000000") ||
		    !(nd_os_word_hex(flags) & RTF_UP_FLAG) || nic.len >= size)
			continue;
		memcpy(ret, nic.at, nic.len);
		ret[nic.len] = '\0';
		return true;
	}
	return false;
}

/* Destination and its length come first, the interface last. */
bool nd_os_route_ipv6(const char *text, char *ret, size_t size)
{
	struct nd_os_word address, bits, nic = { 0 };
	const char *line, *p;

	for (line = text; line; line = nd_os_line(line)) {
		p = line;
		if (!nd_os_word(&p, &address) || !nd_os_word(&p, &bits) ||
		    !nd_os_word_is(bits, "00") || address.at[strspn(address.at, "0")] != ' ')
			continue;
		while (nd_os_word(&p, &nic))
			;
		if (!nic.len || nic.len >= size || nd_os_word_is(nic, "lo"))
			continue;
		memcpy(ret, nic.at, nic.len);
		ret[nic.len] = '\0';
		return true;
	}
	return false;
}

bool nd_os_default_nic(struct nd_os *os, char *ret, size_t size)
{
	char text[ROUTE_BYTES];

	if (nd_os_peek(os, text, sizeof(text), "proc/net/route") &&
	    nd_os_route_ipv4(text, ret, size))
		return true;
	return nd_os_peek(os, text, sizeof(text), "proc/net/ipv6_route") &&
	       nd_os_route_ipv6(text, ret, size);
}
