/* SPDX-License-Identifier: MIT */
/* Findings for people and for programs. */
#include <string.h>

#include "base/json.h"
#include "advise/int.h"

#define COLUMNS 100u
#define INDENT  10u

static const char *const words[] = { "unknown", "ok", "note", "WARNING" };
static const char *const keys[] = { "unknown", "ok", "note", "warning" };

static const char *place_of(const struct nd_finding *f)
{
	if (!strcmp(f->where, "peer"))
		return "peer's ";
	return "";
}

static void put_one(const struct nd_finding *f, struct nd_str *out)
{
	nd_auto_str line = { 0 }, wrapped = { 0 };

	nd_str_addf(&line, "%s%s: %s", place_of(f), f->title, *f->text ? f->text : "in order");
	nd_str_wrap(&wrapped, nd_str_text(&line), INDENT, COLUMNS);
	nd_str_addf(out, "%-*s", (int)INDENT, words[f->verdict]);
	if (wrapped.len > INDENT)
		nd_str_add(out, nd_str_text(&wrapped) + INDENT);
	if (f->verdict != ND_VERDICT_NOTE && f->verdict != ND_VERDICT_WARN)
		return;
	if (f->why)
		nd_str_wrap(out, f->why, INDENT, COLUMNS);
	if (f->mend) {
		nd_str_reset(&line);
		nd_str_addf(&line, "mend: %s", f->mend);
		nd_str_wrap(out, nd_str_text(&line), INDENT, COLUMNS);
	}
}

static void put_all(const struct nd_findings *all, enum nd_verdict verdict, struct nd_str *out)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		if (all->v[i].verdict == verdict)
			put_one(&all->v[i], out);
}

void nd_doctor_text(const struct nd_doctor_ask *ask, const struct nd_findings *all,
		    struct nd_str *out)
{
	put_all(all, ND_VERDICT_WARN, out);
	put_all(all, ND_VERDICT_NOTE, out);
	if (ask->all) {
		put_all(all, ND_VERDICT_FINE, out);
		put_all(all, ND_VERDICT_UNKNOWN, out);
	}
	nd_str_addf(out,
		    "%zu checks; warnings: %zu, notes: %zu, in order: %zu, cannot be told: %zu%s\n",
		    all->n, nd_findings_count(all, ND_VERDICT_WARN),
		    nd_findings_count(all, ND_VERDICT_NOTE),
		    nd_findings_count(all, ND_VERDICT_FINE),
		    nd_findings_count(all, ND_VERDICT_UNKNOWN),
		    ask->all ? "" : " (--verbose lists all)");
}

void nd_doctor_json(const struct nd_doctor_ask *ask, const struct nd_findings *all,
		    struct nd_str *out)
{
	struct nd_json j = { .out = out, .pretty = true };
	size_t i;

	nd_json_open(&j, NULL, '{');
	nd_json_str(&j, "tool", "netdyno");
	nd_json_str(&j, "verb", "doctor");
	nd_json_str(&j, "host", ask->host);
	nd_json_u64(&j, "warnings", nd_findings_count(all, ND_VERDICT_WARN));
	nd_json_u64(&j, "notes", nd_findings_count(all, ND_VERDICT_NOTE));
	nd_json_open(&j, "checks", '[');
	for (i = 0; i < all->n; i++) {
		const struct nd_finding *f = &all->v[i];
		bool odd = f->verdict == ND_VERDICT_NOTE || f->verdict == ND_VERDICT_WARN;

		nd_json_open(&j, NULL, '{');
		nd_json_str(&j, "where", f->where);
		nd_json_str(&j, "key", f->key);
		nd_json_str(&j, "title", f->title);
		nd_json_str(&j, "severity", keys[f->verdict]);
		nd_json_str(&j, "finding", *f->text ? f->text : NULL);
		nd_json_str(&j, "why", odd ? f->why : NULL);
		nd_json_str(&j, "mend", odd ? f->mend : NULL);
		nd_json_close(&j, '}');
	}
	nd_json_close(&j, ']');
	nd_json_close(&j, '}');
	nd_str_add(out, "\n");
}
