/* SPDX-License-Identifier: MIT */
/* Any text as the rules of a firewall: what is told of it is well formed, and the same when asked again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/ruleset.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static void check_block(const struct nd_firewall_ask *ask, const struct nd_firewall_block *b)
{
	size_t i;

	check(b->port == ask->port[0] || b->port == ask->port[1]);
	check(b->ipv4 || b->ipv6);
	check(!b->sure || !b->unread);
	check(b->where[0] && memchr(b->where, 0, sizeof(b->where)));
	for (i = 0; b->where[i]; i++)
		check((unsigned char)b->where[i] >= 0x20 && (unsigned char)b->where[i] < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const nics[] = { NULL, "eth0", "lo", "?" };
	struct nd_firewall_ask ask = { .ports = 2, .port = { 7575, 12865 } };
	struct nd_firewall one, two;
	size_t i;
	uint32_t k;
	int r;

	for (i = 0; i < ND_COUNTOF(nics); i++) {
		one = (struct nd_firewall){ 0 };
		two = (struct nd_firewall){ 0 };
		ask.nic = nics[i];
		r = nd_ruleset_judge((const char *)data, size, &ask, &one);
		check(r == 0 || r == -EBADMSG || r == -ENOMEM || r == -E2BIG);
		check(r == 0 || !one.blocks);
		check(one.blocks <= ND_COUNTOF(one.block));
		for (k = 0; k < one.blocks; k++)
			check_block(&ask, &one.block[k]);
		check(nd_ruleset_judge((const char *)data, size, &ask, &two) == r);
		check(one.blocks == two.blocks);
		for (k = 0; k < one.blocks; k++)
			check(!strcmp(one.block[k].where, two.block[k].where));
	}
	return 0;
}
