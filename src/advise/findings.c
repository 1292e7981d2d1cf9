/* SPDX-License-Identifier: MIT */
/* Checks in their order, and the list of what they found. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "advise/int.h"

#define PLACEHOLDER "IFACE"

const struct nd_check *nd_check_at(size_t n)
{
	const struct nd_check *const lists[] = { nd_checks_nic, nd_checks_host };
	const struct nd_check *c;
	size_t i;

	for (i = 0; i < ND_COUNTOF(lists); i++)
		for (c = lists[i]; c->key; c++)
			if (n-- == 0)
				return c;
	return NULL;
}

void nd_findings_add(struct nd_findings *all, const struct nd_finding *f)
{
	struct nd_finding *own;

	if (nd_grow(all->v, all->n) < 0) {
		all->failed = true;
		return;
	}
	own = &all->v[all->n++];
	*own = *f;
	own->text = nd_arena_dup(all->arena, f->text ? f->text : "");
	all->failed |= !own->text;
}

void nd_findings_done(struct nd_findings *all)
{
	free(all->v);
	all->v = NULL;
	all->n = 0;
}

size_t nd_findings_count(const struct nd_findings *all, enum nd_verdict verdict)
{
	size_t n = 0, i;

	for (i = 0; i < all->n; i++)
		n += all->v[i].verdict == verdict;
	return n;
}

/* What can be pasted names the interface. */
static const char *with_name(struct nd_findings *all, const char *mend, const char *nic)
{
	nd_auto_str text = { 0 };
	const char *at, *ret;

	if (!nic || !strstr(mend, PLACEHOLDER))
		return mend;
	for (; (at = strstr(mend, PLACEHOLDER)); mend = at + strlen(PLACEHOLDER)) {
		nd_str_addn(&text, mend, (size_t)(at - mend));
		nd_str_add(&text, nic);
	}
	nd_str_add(&text, mend);
	ret = nd_str_ok(&text) ? nd_arena_dup(all->arena, nd_str_text(&text)) : NULL;
	all->failed |= !ret;
	return ret;
}

static bool is_of_nic(const struct nd_check *c)
{
	const struct nd_check *n;

	for (n = nd_checks_nic; n->key; n++)
		if (n == c)
			return true;
	return false;
}

/* Which source is silent, or that there is no interface to ask about. */
static const char *nothing_from(struct nd_findings *all, const struct nd_check *c,
				const struct nd_nic_facts *nic)
{
	nd_auto_str text = { 0 };
	const char *named, *ret;

	if (!nic->name && is_of_nic(c))
		return "no interface was found to look at (--iface names one)";
	if (nic->is_virtual && is_of_nic(c))
		return "software made this interface, there is no device to judge";
	named = with_name(all, c->source, nic->name);
	nd_str_addf(&text, "nothing from %s", named ? named : c->source);
	ret = nd_str_ok(&text) ? nd_arena_dup(all->arena, nd_str_text(&text)) : NULL;
	all->failed |= !ret;
	return ret ? ret : "out of memory";
}

void nd_doctor_judge(const struct nd_doctor_facts *f, bool is_peer, struct nd_findings *all)
{
	const struct nd_check *c;
	nd_auto_str text = { 0 };
	size_t i;

	for (i = 0; (c = nd_check_at(i)); i++) {
		if (is_peer && !c->of_peer)
			continue;
		nd_str_reset(&text);
		struct nd_finding one = { .where = is_peer ? "peer" : "here",
					  .key = c->key,
					  .title = c->title,
					  .why = c->why,
					  .mend = with_name(all, c->mend, f->nic.name),
					  .verdict = c->judge(f, &text) };

		if (one.verdict == ND_VERDICT_UNKNOWN) {
			nd_str_reset(&text);
			nd_str_addf(&text, "cannot be told: %s",
				    is_peer ? "the peer does not say"
					    : nothing_from(all, c, &f->nic));
		}
		one.text = nd_str_text(&text);
		all->failed |= !nd_str_ok(&text);
		nd_findings_add(all, &one);
	}
}
