/* SPDX-License-Identifier: MIT */
/* The list of control languages, the list of verbs, the clock estimate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "dialect/int.h"

#define KEEP_BYTES (64u << 10) /* a larger buffer, after a result, goes back to the system */

static const struct nd_dialect *const dialects[] = {
#define ND_DIALECT(name) &nd_dialect_##name,
#include "dialect/dialects.def"
#undef ND_DIALECT
};

const struct nd_dialect *nd_dialect_at(size_t n)
{
	return n < ND_COUNTOF(dialects) ? dialects[n] : NULL;
}

const struct nd_dialect *nd_dialect_find(const char *name)
{
	size_t i;

	for (i = 0; i < ND_COUNTOF(dialects); i++)
		if (!strcmp(dialects[i]->name, name))
			return dialects[i];
	return NULL;
}

const char *nd_dialect_names(size_t n, const char **ret_help)
{
	const struct nd_dialect *d = nd_dialect_at(n);

	if (!d)
		return NULL;
	if (ret_help)
		*ret_help = d->help;
	return d->name;
}

struct nd_verb_item *nd_verbs_add(struct nd_verbs *verbs, enum nd_do what)
{
	struct nd_verb_item *item = &verbs->dummy;

	if (nd_grow(verbs->v, verbs->n) < 0)
		verbs->failed = true;
	else
		item = &verbs->v[verbs->n++];
	*item = (struct nd_verb_item){ .what = what };
	return item;
}

void nd_verbs_send(struct nd_verbs *verbs, unsigned link, const void *data, size_t n)
{
	struct nd_verb_item *item = nd_verbs_add(verbs, ND_DO_SEND);

	item->link = link;
	item->data_at = verbs->data.len;
	item->n = n;
	nd_str_addn(&verbs->data, data, n);
	if (!nd_str_ok(&verbs->data))
		verbs->failed = true;
}

void nd_verbs_end(struct nd_verbs *verbs, struct nd_side *peer_side, const char *reason)
{
	struct nd_verb_item *item = nd_verbs_add(verbs, ND_DO_DONE);

	item->peer_side = peer_side;
	item->reason = reason;
}

void nd_verbs_fail(struct nd_verbs *verbs, bool peer_fault, int code, const char *fmt, va_list ap)
{
	struct nd_verb_item *item = nd_verbs_add(verbs, ND_DO_FAIL);

	item->peer_fault = peer_fault;
	item->err.code = code;
	(void)vsnprintf(item->err.text, sizeof(item->err.text), fmt,
			ap); /* shortened when too long */
}

void nd_verbs_reset(struct nd_verbs *verbs)
{
	verbs->n = 0;
	verbs->failed = false;
	if (verbs->data.size > KEEP_BYTES)
		nd_str_done(&verbs->data);
	nd_str_reset(&verbs->data);
}

void nd_verbs_done(struct nd_verbs *verbs)
{
	if (!verbs)
		return;
	free(verbs->v);
	nd_str_done(&verbs->data);
	*verbs = (struct nd_verbs){ 0 };
}

void nd_clock_add(struct nd_clock *c, uint64_t sent_ns, uint64_t peer_ns, uint64_t received_ns)
{
	uint64_t rtt_ns = received_ns - sent_ns;

	if (received_ns < sent_ns)
		return;
	if (c->n == 0 || rtt_ns < c->rtt_ns) {
		c->rtt_ns = rtt_ns;
		c->offset_ns = (int64_t)(peer_ns - (sent_ns + rtt_ns / 2));
	}
	c->n++;
}
