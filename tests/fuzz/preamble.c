/* SPDX-License-Identifier: MIT */
/* Any first bytes of a connection, any datagram: what they claim to be, for each language. */
#include <stdlib.h>
#include <string.h>

#include "dialect/dialect.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

/* A claim never changes its mind once it is made, and never uses bytes that are not there. */
static void check_stream(const struct nd_dialect *d, const uint8_t *data, size_t size)
{
	enum nd_claim_kind before = ND_CLAIM_MORE;
	struct nd_claim c;
	size_t n;

	for (n = 0; n <= size && n <= 64; n++) {
		d->claim(data, n, false, &c);
		check(before == ND_CLAIM_MORE || c.kind == before);
		check(c.used <= n && c.answer_bytes <= sizeof(c.answer));
		before = c.kind;
	}
}

static void check_datagram(const struct nd_dialect *d, const uint8_t *data, size_t size)
{
	struct nd_claim c;

	d->claim(data, size, true, &c);
	check(c.kind == ND_CLAIM_FLOW || c.kind == ND_CLAIM_ALIEN);
	check(c.used <= size && c.answer_bytes <= size);
}

static void check_messages(const struct nd_dialect *d, const uint8_t *data, size_t size)
{
	nd_auto_str text = { 0 };
	ssize_t n;

	while ((n = d->message_bytes(data, size, 0)) > 0) {
		check((size_t)n <= size && (size_t)n <= d->message_max);
		d->print(data, (size_t)n, &text);
		check(!memchr(nd_str_text(&text), '\n', text.len));
		nd_str_reset(&text);
		data += n;
		size -= (size_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct nd_dialect *d;
	size_t i;

	for (i = 0; (d = nd_dialect_at(i)); i++) {
		check_stream(d, data, size);
		check_datagram(d, data, size);
		check_messages(d, data, size);
	}
	return 0;
}
