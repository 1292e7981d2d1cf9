/* SPDX-License-Identifier: MIT */
/* Rules of nftables in JSON: what they do with the first packet of a flow to port 7575. */
#include <cmocka.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "os/ruleset.h"

#define MATCH(op, left, right) \
	"{\"match\":{\"op\":\"" op "\",\"left\":" left ",\"right\":" right "}},"
#define TCP       "{\"payload\":{\"protocol\":\"tcp\",\"field\":\"dport\"}}"
#define UDP       "{\"payload\":{\"protocol\":\"udp\",\"field\":\"dport\"}}"
#define EITHER    "{\"payload\":{\"protocol\":\"th\",\"field\":\"dport\"}}"
#define FLAGS     "{\"payload\":{\"protocol\":\"tcp\",\"field\":\"flags\"}}"
#define SADDR     "{\"payload\":{\"protocol\":\"ip\",\"field\":\"saddr\"}}"
#define META(key) "{\"meta\":{\"key\":\"" key "\"}}"
#define CT(key)   "{\"ct\":{\"key\":\"" key "\"}}"
#define XT(t, n)  "{\"xt\":{\"type\":\"" t "\",\"name\":\"" n "\"}},"
#define DROP      "{\"drop\":null}"
#define ACCEPT    "{\"accept\":null}"
#define JUMP(to)  "{\"jump\":{\"target\":\"" to "\"}}"
#define FROM_TEN  MATCH("==", SADDR, "{\"prefix\":{\"addr\":\"10.0.0.0\",\"len\":8}}")
#define UNTOLD    XT("match", "multiport")
#define RULE(in, expr)                                                                       \
	",{\"rule\":{\"family\":\"inet\",\"table\":\"t\",\"chain\":\"" in "\",\"handle\":7," \
	"\"expr\":[" expr "]}}"
#define CHAIN(family, hook, more)                                                              \
	",{\"chain\":{\"family\":\"" family "\",\"table\":\"t\",\"name\":\"in\",\"handle\":1," \
	"\"type\":\"filter\",\"hook\":\"" hook "\",\"prio\":0" more "}}"
#define OPEN CHAIN("inet", "input", ",\"policy\":\"accept\"")
#define SHUT CHAIN("inet", "input", ",\"policy\":\"drop\"")
#define PORTS                                                                                      \
	",{\"set\":{\"family\":\"inet\",\"table\":\"t\",\"name\":\"s\",\"type\":\"inet_service\"," \
	"\"elem\":[{\"range\":[1,5]},{\"elem\":{\"val\":7575,\"timeout\":9}}]}}"
#define FATES                                                                                      \
	",{\"map\":{\"family\":\"inet\",\"table\":\"t\",\"name\":\"m\",\"type\":\"inet_service\"," \
	"\"map\":\"verdict\",\"elem\":[[22," ACCEPT "],[7575," DROP "]]}}"
#define VMAP(key, data) "{\"vmap\":{\"key\":" key ",\"data\":" data "}}"

/*
 * What is told: a letter for each of TCP and UDP over IPv4, then over IPv6: "." it passes, "m" may be
 * dropped, "u" the same as something could not be read, "D" is dropped.
 */
struct row {
	const char *name, *rules, *wanted;
};

/* clang-format off */
static const struct row rows[] = {
	{ "nothing", OPEN, "...." },
	{ "policy", SHUT, "DDDD" },
	{ "policy of IPv6 alone", CHAIN("ip6", "input", ",\"policy\":\"drop\""), "..DD" },
	{ "policy on the way out", CHAIN("inet", "output", ",\"policy\":\"drop\""), "...." },
	{ "policy of a chain before", CHAIN("ip", "prerouting", ",\"policy\":\"drop\""), "DD.." },
	{ "value", OPEN RULE("in", MATCH("==", TCP, "7575") DROP), "D.D." },
	{ "another value", OPEN RULE("in", MATCH("==", TCP, "7576") DROP), "...." },
	{ "all but another", OPEN RULE("in", MATCH("!=", TCP, "22") DROP), "D.D." },
	{ "all but this one", OPEN RULE("in", MATCH("!=", TCP, "7575") DROP), "...." },
	{ "reject", OPEN RULE("in", MATCH("==", UDP, "7575") "{\"reject\":{\"type\":\"icmpx\"}}"), ".D.D" },
	{ "counted and told first", OPEN RULE("in", MATCH("==", TCP, "7575")
	  "{\"counter\":{\"packets\":0,\"bytes\":0}},{\"log\":null}," DROP), "D.D." },
	{ "range", OPEN RULE("in", MATCH("==", UDP, "{\"range\":[7000,8000]}") DROP), ".D.D" },
	{ "another range", OPEN RULE("in", MATCH("==", UDP, "{\"range\":[7576,8000]}") DROP), "...." },
	{ "set without a name", OPEN RULE("in", MATCH("==", TCP, "{\"set\":[22,{\"range\":[7570,7579]}]}") DROP), "D.D." },
	{ "set that lacks it", OPEN RULE("in", MATCH("==", TCP, "{\"set\":[22,{\"range\":[1,9]}]}") DROP), "...." },
	{ "set with a name", OPEN PORTS RULE("in", MATCH("==", TCP, "\"@s\"") DROP), "D.D." },
	{ "set that is not there", OPEN RULE("in", MATCH("==", TCP, "\"@s\"") DROP), "u.u." },
	{ "from a port on", OPEN RULE("in", MATCH(">=", TCP, "7575") DROP), "D.D." },
	{ "below a port", OPEN RULE("in", MATCH("<", TCP, "7575") DROP), "...." },
	{ "above a port", OPEN RULE("in", MATCH(">", TCP, "7575") DROP), "...." },
	{ "up to a port", OPEN RULE("in", MATCH("<=", UDP, "7575") DROP), ".D.D" },
	{ "protocol by meta", OPEN RULE("in", MATCH("==", META("l4proto"), "\"udp\"") DROP), ".D.D" },
	{ "both protocols", OPEN RULE("in", MATCH("==", META("l4proto"), "{\"set\":[\"tcp\",\"udp\"]}")
	  MATCH("==", EITHER, "7575") DROP), "DDDD" },
	{ "protocol by a number", OPEN RULE("in", MATCH("==", META("l4proto"), "17") DROP), ".D.D" },
	{ "protocol of IPv4", OPEN RULE("in", MATCH("==", "{\"payload\":{\"protocol\":\"ip\",\"field\":\"protocol\"}}",
	  "\"udp\"") DROP), ".D.." },
	{ "protocol of IPv6", OPEN RULE("in", MATCH("==", "{\"payload\":{\"protocol\":\"ip6\",\"field\":\"nexthdr\"}}",
	  "6") DROP), "..D." },
	{ "family", OPEN RULE("in", MATCH("==", META("nfproto"), "\"ipv4\"") DROP), "DD.." },
	{ "protocol and port", OPEN RULE("in", MATCH("==", "{\"concat\":[" META("l4proto") "," EITHER "]}",
	  "{\"set\":[{\"concat\":[\"tcp\",7575]}]}") DROP), "D.D." },
	{ "other protocol", OPEN RULE("in", MATCH("==", "{\"payload\":{\"protocol\":\"icmp\",\"field\":\"type\"}}",
	  "8") DROP), "...." },
	{ "accepted before", OPEN RULE("in", MATCH("==", TCP, "7575") ACCEPT) RULE("in", DROP), ".D.D" },
	{ "accepted behind", OPEN RULE("in", DROP) RULE("in", ACCEPT), "DDDD" },
	{ "let in against a policy", SHUT RULE("in", MATCH("==", EITHER, "7575") ACCEPT), "...." },
	{ "another port let in", SHUT RULE("in", MATCH("==", EITHER, "22") ACCEPT), "DDDD" },
	{ "from an address", OPEN RULE("in", FROM_TEN DROP), "mm.." },
	{ "let in from an address", SHUT RULE("in", FROM_TEN ACCEPT), "mmDD" },
	{ "dropped from an address, then all", OPEN RULE("in", FROM_TEN DROP) RULE("in", DROP), "DDDD" },
	{ "above a rate", OPEN RULE("in", "{\"limit\":{\"rate\":5,\"per\":\"second\",\"inv\":true}}," DROP), "mmmm" },
	{ "old flows", SHUT RULE("in", MATCH("in", CT("state"), "[\"established\",\"related\"]") ACCEPT), "DDDD" },
	{ "new flows", SHUT RULE("in", MATCH("in", CT("state"), "\"new\"") ACCEPT), "...." },
	{ "all but old flows", OPEN RULE("in", MATCH("!=", CT("state"), "\"established\"") DROP), "DDDD" },
	{ "states by a map", OPEN RULE("in", VMAP(CT("state"), "{\"set\":[[\"invalid\"," DROP "],[\"established\","
	  ACCEPT "]]}")), "...." },
	{ "not new, but sent on", SHUT RULE("in", MATCH("in", CT("status"), "\"dnat\"") ACCEPT), "DDDD" },
	{ "sent on somewhere", SHUT RULE("in", MATCH("in", CT("status"), "\"dnat\"") ACCEPT)
	  RULE("nat", MATCH("==", TCP, "80") "{\"dnat\":{\"port\":7575}}"), "mmmm" },
	{ "not the first of a flow", OPEN RULE("in", MATCH("!=", "{\"&\":[" FLAGS ",[\"fin\",\"syn\",\"rst\",\"ack\"]]}",
	  "\"syn\"") DROP), "...." },
	{ "the first of a flow", OPEN RULE("in", MATCH("==", "{\"&\":[" FLAGS ",[\"fin\",\"syn\",\"rst\",\"ack\"]]}",
	  "\"syn\"") DROP), "D.D." },
	{ "flag", OPEN RULE("in", MATCH("in", FLAGS, "\"syn\"") DROP), "D.D." },
	{ "port under a mask", OPEN RULE("in", MATCH("==", "{\"&\":[" TCP ",255]}", "151") DROP), "D.D." },
	{ "loopback", OPEN RULE("in", MATCH("==", META("iifname"), "\"lo\"") DROP), "...." },
	{ "this interface", OPEN RULE("in", MATCH("==", META("iifname"), "\"eth0\"") DROP), "DDDD" },
	{ "another interface", OPEN RULE("in", MATCH("==", META("iif"), "\"eth1\"") DROP), "...." },
	{ "interfaces like it", OPEN RULE("in", MATCH("==", META("iifname"), "\"eth*\"") DROP), "DDDD" },
	{ "all but another interface", OPEN RULE("in", MATCH("!=", META("iifname"), "{\"set\":[\"lo\",\"eth1\"]}")
	  DROP), "DDDD" },
	{ "at this device", CHAIN("netdev", "ingress", ",\"dev\":\"eth0\",\"policy\":\"drop\""), "DDDD" },
	{ "at some devices", CHAIN("netdev", "ingress", ",\"dev\":[\"lo\",\"eth1\"],\"policy\":\"drop\""), "...." },
	{ "at a device that is not told", CHAIN("netdev", "ingress", ",\"policy\":\"drop\""), "mmmm" },
	{ "broadcasts", OPEN RULE("in", MATCH("==", META("pkttype"), "\"broadcast\"") DROP), "...." },
	{ "not for this host", OPEN RULE("in", MATCH("!=", "{\"fib\":{\"result\":\"type\",\"flags\":[\"daddr\"]}}",
	  "\"local\"") DROP), "...." },
	{ "no way back", OPEN RULE("in", MATCH("==", "{\"fib\":{\"result\":\"oif\",\"flags\":[\"saddr\",\"iif\"]}}",
	  "false") DROP), "mmmm" },
	{ "marked", OPEN RULE("in", MATCH("==", META("mark"), "3") DROP), "mmmm" },
	{ "another chain", OPEN RULE("in", JUMP("x")) RULE("x", MATCH("==", TCP, "7575") DROP), "D.D." },
	{ "and back", OPEN RULE("in", JUMP("x")) RULE("x", "{\"return\":null}") RULE("x", DROP), "...." },
	{ "and on", OPEN RULE("in", JUMP("x")) RULE("in", DROP) RULE("x", MATCH("==", TCP, "7575") ACCEPT), ".D.D" },
	{ "never back", OPEN RULE("in", "{\"goto\":{\"target\":\"x\"}}") RULE("in", DROP) RULE("x", MATCH("==", TCP, "22")
	  DROP), "...." },
	{ "never back, then the policy", SHUT RULE("in", "{\"goto\":{\"target\":\"x\"}}") RULE("in", ACCEPT), "DDDD" },
	{ "at times another chain", OPEN RULE("in", FROM_TEN JUMP("x")) RULE("x", DROP), "mm.." },
	{ "at times let in there", SHUT RULE("in", FROM_TEN JUMP("x")) RULE("x", ACCEPT), "mmDD" },
	{ "at times back", OPEN RULE("in", JUMP("x")) RULE("in", DROP) RULE("x", FROM_TEN "{\"return\":null}")
	  RULE("x", ACCEPT), "mm.." },
	{ "at times never back", OPEN RULE("in", FROM_TEN "{\"goto\":{\"target\":\"x\"}}") RULE("in", DROP)
	  RULE("x", ACCEPT), "mmDD" },
	{ "chains in a circle", OPEN RULE("in", JUMP("x")) RULE("x", JUMP("in")), "uuuu" },
	{ "a chain without rules", SHUT RULE("in", JUMP("x")), "DDDD" },
	{ "map", OPEN RULE("in", VMAP(TCP, "{\"set\":[[22," ACCEPT "],[{\"range\":[7000,7999]}," DROP "]]}")), "D.D." },
	{ "map with a name", OPEN FATES RULE("in", VMAP(UDP, "\"@m\"")), ".D.D" },
	{ "map that is not there", OPEN RULE("in", VMAP(UDP, "\"@n\"")), "uuuu" },
	{ "what is left of a map", OPEN RULE("in", VMAP(TCP, "{\"set\":[[\"*\"," DROP "],[22," ACCEPT "]]}")), "DDDD" },
	{ "map to a chain", OPEN RULE("in", VMAP(META("iifname"), "{\"set\":[[\"eth0\"," JUMP("x") "]]}"))
	  RULE("x", DROP), "DDDD" },
	{ "a program decides", OPEN RULE("in", MATCH("==", UDP, "7575") "{\"queue\":{\"num\":1}}"), ".u.u" },
	{ "not told", OPEN RULE("in", MATCH("==", META("l4proto"), "\"tcp\"") UNTOLD DROP), "u.u." },
	{ "not told, for another", OPEN RULE("in", UNTOLD MATCH("==", TCP, "22") DROP), "...." },
	{ "not told, lets in", SHUT RULE("in", UNTOLD ACCEPT), "uuuu" },
	{ "not told, nothing follows", OPEN RULE("in", UNTOLD ACCEPT), "...." },
	{ "comment", OPEN RULE("in", MATCH("==", TCP, "7575") XT("match", "comment") DROP), "D.D." },
	{ "reject of iptables", OPEN RULE("in", MATCH("==", UDP, "7575") XT("target", "REJECT") "{}"), ".D.D" },
	{ "log of iptables", OPEN RULE("in", XT("target", "LOG") "{}"), "...." },
	{ "target that is not known", OPEN RULE("in", MATCH("==", UDP, "7575") XT("target", "NEW") "{}"), ".u.u" },
	{ "nothing of it is told", OPEN RULE("in", "{\"xt\":null}," DROP), "uuuu" },
	{ "a statement to come", OPEN RULE("in", "{\"quantum\":1}," DROP), "uuuu" },
	{ "a key to come", OPEN RULE("in", MATCH("==", META("quantum"), "3") DROP), "uuuu" },
	{ "bytes by offset", OPEN RULE("in", MATCH("==", "{\"payload\":{\"base\":\"th\",\"offset\":16,\"len\":16}}",
	  "7575") DROP), "uuuu" },
	{ "a port by a name", OPEN RULE("in", MATCH("==", TCP, "\"netdyno\"") DROP), "u.u." },
};

/* clang-format on */

static void tell(const struct nd_firewall *f, char *ret)
{
	uint32_t i;

	memcpy(ret, "....", 5);
	for (i = 0; i < f->blocks; i++) {
		const struct nd_firewall_block *b = &f->block[i];
		char c = b->sure ? 'D' : b->unread ? 'u' : 'm';

		assert_int_equal(b->port, 7575);
		assert_true(b->where[0] && (b->ipv4 || b->ipv6));
		if (b->ipv4)
			ret[b->is_udp] = c;
		if (b->ipv6)
			ret[2 + b->is_udp] = c;
	}
}

static void test_rules(void **state)
{
	const struct nd_firewall_ask ask = { .nic = "eth0", .ports = 1, .port = { 7575 } };
	char said[5];
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_firewall f = { 0 };
		nd_auto_str text = { 0 };

		nd_str_addf(&text, "{\"nftables\":[{\"metainfo\":{}}%s]}", rows[i].rules);
		assert_int_equal(nd_ruleset_judge(nd_str_text(&text), text.len, &ask, &f), 0);
		tell(&f, said);
		if (strcmp(said, rows[i].wanted) != 0)
			fail_msg("%s: %s, not %s", rows[i].name, said, rows[i].wanted);
	}
}

static void test_an_interface_that_is_not_known(void **state)
{
	static const struct row cases[] = {
		{ "lo", OPEN RULE("in", MATCH("==", META("iifname"), "\"lo\"") DROP), "...." },
		{ "eth0", OPEN RULE("in", MATCH("==", META("iifname"), "\"eth0\"") DROP), "mmmm" },
		{ "all but lo", OPEN RULE("in", MATCH("!=", META("iifname"), "\"lo\"") DROP),
		  "DDDD" },
	};
	const struct nd_firewall_ask ask = { .ports = 1, .port = { 7575 } };
	char said[5];
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(cases); i++) {
		struct nd_firewall f = { 0 };
		nd_auto_str text = { 0 };

		nd_str_addf(&text, "{\"nftables\":[{\"metainfo\":{}}%s]}", cases[i].rules);
		assert_int_equal(nd_ruleset_judge(nd_str_text(&text), text.len, &ask, &f), 0);
		tell(&f, said);
		if (strcmp(said, cases[i].wanted) != 0)
			fail_msg("%s: %s, not %s", cases[i].name, said, cases[i].wanted);
	}
}

static void test_where(void **state)
{
	static const char text[] = "{\"nftables\":[{}" SHUT RULE(
		"in", MATCH("==", UDP, "{\"set\":[5001,7575]}") DROP) "]}";
	const struct nd_firewall_ask ask = { .nic = "eth0", .ports = 3, .port = { 1, 7575, 5001 } };
	struct nd_firewall f = { 0 };

	(void)state;
	assert_int_equal(nd_ruleset_judge(text, sizeof(text) - 1, &ask, &f), 0);
	assert_int_equal(f.blocks, 6); /* TCP and UDP of each, both families in one */
	assert_string_equal(f.block[0].where, "the policy of inet t in");
	assert_true(f.block[0].port == 1 && !f.block[0].is_udp);
	assert_true(f.block[0].ipv4 && f.block[0].ipv6);
	assert_string_equal(f.block[3].where, "rule 7 of inet t in");
	assert_true(f.block[3].port == 7575 && f.block[3].is_udp);
	assert_true(f.block[5].port == 5001 && f.block[5].is_udp && f.block[5].sure);
}

static void test_what_is_no_ruleset(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"nftables\":3}",
		"{\"nftables\":[{\"rule\":3}]}",
		"{\"nftables\":[{\"rule\":{\"family\":\"inet\",\"table\":\"t\"}}]}",
		"{\"nftables\":[{\"chain\":{\"family\":1,\"table\":2,\"name\":3}}]}",
	};
	/* Of the right shape, but for what is inside: judged, and not taken for open or shut. */
	static const char *const odd[] = {
		"{\"nftables\":[1,null,[],\"x\"]}",
		"{\"nftables\":[{}" OPEN RULE("in", "1,null,[],\"x\",{}") "]}",
		"{\"nftables\":[{}" OPEN RULE("in", "{\"match\":null}," DROP) "]}",
		"{\"nftables\":[{}" OPEN RULE("in", "{\"jump\":null}") "]}",
		"{\"nftables\":[{}" OPEN RULE("in",
					      "{\"vmap\":{\"key\":3,\"data\":{\"set\":[3]}}}") "]}",
		"{\"nftables\":[{}" OPEN RULE("in", MATCH("~", TCP, "3") DROP) "]}",
		"{\"nftables\":[{}" OPEN RULE("in",
					      MATCH("==", TCP, "{\"range\":[\"a\"]}") DROP) "]}",
		"{\"nftables\":[{}" OPEN RULE("in", MATCH("==", "{\"concat\":[]}", "{}") DROP) "]}",
	};
	const struct nd_firewall_ask ask = { .nic = "eth0", .ports = 1, .port = { 7575 } };
	struct nd_firewall f = { 0 };
	size_t i;
	uint32_t k;

	(void)state;
	for (i = 0; i < ND_COUNTOF(bad); i++)
		assert_int_equal(nd_ruleset_judge(bad[i], strlen(bad[i]), &ask, &f), -EBADMSG);
	assert_int_equal(f.blocks, 0);
	assert_int_equal(nd_ruleset_judge("", ND_RULESET_BYTES + 1, &ask, &f), -E2BIG);
	for (i = 0; i < ND_COUNTOF(odd); i++) {
		f = (struct nd_firewall){ 0 };
		assert_int_equal(nd_ruleset_judge(odd[i], strlen(odd[i]), &ask, &f), 0);
		for (k = 0; k < f.blocks; k++)
			assert_true(!f.block[k].sure && f.block[k].unread);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_an_interface_that_is_not_known),
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_what_is_no_ruleset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
