/* SPDX-License-Identifier: MIT */
/* Addresses and networks as text and back. */
#include <errno.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "net/int.h"

struct text_case {
	const char *host;
	uint64_t port;
	enum nd_af af;
	const char *with_port, *without; /* NULL: refused */
};

static const struct text_case texts[] = {
	{ "192.0.2.1", 7575, ND_AF_ANY, "192.0.2.1:7575", "192.0.2.1" },
	{ "192.0.2.1", 0, ND_AF_IPV4, "192.0.2.1:0", "192.0.2.1" },
	{ "2001:db8::1", 7575, ND_AF_ANY, "[2001:db8::1]:7575", "2001:db8::1" },
	{ "[2001:db8::1]", 65535, ND_AF_IPV6, "[2001:db8::1]:65535", "2001:db8::1" },
	{ "::ffff:192.0.2.1", 80, ND_AF_ANY, "192.0.2.1:80", "192.0.2.1" },
	{ "::", 1, ND_AF_ANY, "[::]:1", "::" },
	{ "0.0.0.0", 1, ND_AF_ANY, "0.0.0.0:1", "0.0.0.0" },
	{ "fe80::1%lo", 1, ND_AF_ANY, "[fe80::1%lo]:1", "fe80::1%lo" },
	{ "192.0.2.1", 65536, ND_AF_ANY, NULL, NULL },
	{ "192.0.2.1", 1, ND_AF_IPV6, NULL, NULL },
	{ "2001:db8::1", 1, ND_AF_IPV4, NULL, NULL },
	{ "", 1, ND_AF_ANY, NULL, NULL },
	{ "[]", 1, ND_AF_ANY, NULL, NULL },
	{ "192.0.2.1:80", 1, ND_AF_ANY, NULL, NULL },
};

static void resolves_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(texts); i++) {
		const struct text_case *c = &texts[i];
		struct nd_err err = { 0 };
		struct nd_addr a[2];
		char text[80];
		size_t n = 77;
		int r = nd_addr_resolve(c->host, c->port, c->af, false, a, 2, &n, &err);

		if ((r == 0) != (c->with_port != NULL))
			fail_msg("'%s': %d, %s", c->host, r, err.text);
		if (r < 0) {
			assert_int_equal(n, 77);
			assert_true(err.text[0]);
			continue;
		}
		assert_int_equal(n, 1);
		assert_int_equal(nd_addr_port(a), c->port);
		assert_string_equal(nd_addr_text(a, true, text, sizeof(text)), c->with_port);
		assert_string_equal(nd_addr_text(a, false, text, sizeof(text)), c->without);
		(void)nd_addr_text(a, true, text, 4); /* cut, not overrun */
		assert_int_equal(strlen(text), 3);
	}
}

static void resolves_wildcards(void **state)
{
	static const char *const hosts[] = { NULL, "", "*" };

	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(hosts); i++) {
		struct nd_err err = { 0 };
		struct nd_addr a;
		size_t n;

		assert_int_equal(nd_addr_resolve(hosts[i], 5, ND_AF_ANY, true, &a, 1, &n, &err), 0);
		assert_int_equal(n, 1);
		assert_true(nd_addr_any(&a));
		assert_int_equal(nd_addr_port(&a), 5);
		assert_int_equal(nd_addr_resolve(hosts[i], 5, ND_AF_IPV4, true, &a, 1, &n, &err),
				 0);
		assert_int_equal(a.u.sa.sa_family, AF_INET);
		assert_int_equal(nd_addr_resolve(hosts[i], 5, ND_AF_IPV6, true, &a, 1, &n, &err),
				 0);
		assert_int_equal(a.u.sa.sa_family, AF_INET6);
		if (!hosts[i] || !hosts[i][0])
			assert_true(nd_addr_resolve(hosts[i], 5, ND_AF_ANY, false, &a, 1, &n,
						    &err) < 0);
	}
}

static void parse(const char *host, uint16_t port, struct nd_addr *ret)
{
	struct nd_err err = { 0 };
	size_t n;

	if (nd_addr_resolve(host, port, ND_AF_ANY, false, ret, 1, &n, &err) < 0)
		fail_msg("%s: %s", host, err.text);
}

struct equal_case {
	const char *a;
	uint16_t a_port;
	const char *b;
	uint16_t b_port;
	bool equal;
};

static const struct equal_case equals[] = {
	{ "192.0.2.1", 1, "192.0.2.1", 1, true },
	{ "192.0.2.1", 1, "192.0.2.1", 2, false },
	{ "192.0.2.1", 1, "192.0.2.2", 1, false },
	{ "192.0.2.1", 1, "::ffff:192.0.2.1", 1, true },
	{ "::1", 1, "::1", 1, true },
	{ "::1", 1, "127.0.0.1", 1, false },
	{ "fe80::1%lo", 1, "fe80::1", 1, true }, /* not said is not different */
};

static void compares(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(equals); i++) {
		const struct equal_case *c = &equals[i];
		struct nd_addr a, b;

		parse(c->a, c->a_port, &a);
		parse(c->b, c->b_port, &b);
		if (nd_addr_equal(&a, &b) != c->equal || nd_addr_equal(&b, &a) != c->equal)
			fail_msg("%s and %s", c->a, c->b);
	}
}

struct cidr_case {
	const char *network, *address;
	bool holds;
};

static const struct cidr_case cidrs[] = {
	{ "192.0.2.0/24", "192.0.2.0", true },
	{ "192.0.2.0/24", "192.0.2.255", true },
	{ "192.0.2.0/24", "192.0.3.0", false },
	{ "192.0.2.77/24", "192.0.2.1", true },
	{ "192.0.2.0/24", "::ffff:192.0.2.9", true },
	{ "192.0.2.0/25", "192.0.2.128", false },
	{ "192.0.2.1", "192.0.2.1", true },
	{ "192.0.2.1", "192.0.2.2", false },
	{ "192.0.2.1/32", "192.0.2.2", false },
	{ "192.0.2.1/31", "192.0.2.0", true },
	{ "0.0.0.0/0", "203.0.113.7", true },
	{ "0.0.0.0/0", "2001:db8::1", false },
	{ "::/0", "2001:db8::1", true },
	{ "::/0", "192.0.2.1", false },
	{ "2001:db8::/32", "2001:db8:ffff::1", true },
	{ "2001:db8::/32", "2001:db9::1", false },
	{ "2001:db8::1", "2001:db8::1", true },
	{ "2001:db8::1/128", "2001:db8::2", false },
	{ "2001:db8::/33", "2001:db8:8000::", false },
	{ "::ffff:192.0.2.0/120", "192.0.2.5", true },
	{ "::ffff:192.0.2.0/120", "192.0.3.5", false },
};

static void networks_hold(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(cidrs); i++) {
		const struct cidr_case *c = &cidrs[i];
		struct nd_err err = { 0 };
		struct nd_cidr net;
		struct nd_addr a;

		if (nd_cidr_parse(c->network, &net, &err) < 0)
			fail_msg("%s: %s", c->network, err.text);
		parse(c->address, 1, &a);
		if (nd_cidr_holds(&net, &a) != c->holds)
			fail_msg("%s and %s", c->network, c->address);
	}
}

static const char *const bad_networks[] = {
	"",
	"/",
	"/24",
	"192.0.2.0/33",
	"192.0.2.0/",
	"192.0.2.0/-1",
	"192.0.2",
	"192.0.2.0/24/8",
	"example.org",
	"2001:db8::/129",
	"2001:db8::/x",
	"*",
	"192.0.2.0 ",
	"fe80::1%lo",
	"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee:ffff/1",
};

static void bad_networks_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ND_COUNTOF(bad_networks); i++) {
		struct nd_err err = { 0 };
		struct nd_cidr net = { .bits = 7 };

		if (nd_cidr_parse(bad_networks[i], &net, &err) != -EINVAL || !err.text[0])
			fail_msg("'%s' passed", bad_networks[i]);
		assert_int_equal(net.bits, 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolves_numbers),
		cmocka_unit_test(resolves_wildcards),
		cmocka_unit_test(compares),
		cmocka_unit_test(networks_hold),
		cmocka_unit_test(bad_networks_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
