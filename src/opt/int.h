/* SPDX-License-Identifier: MIT */
/* Shared by the parser and what prints rows: walking them, naming them, storing values. */
#ifndef ND_OPT_INT_H
#define ND_OPT_INT_H

#include "opt/opt.h"

/* A place in the rows of a set: its arrays in order, then -h, --help and --version. */
struct nd_opt_walk {
	const struct nd_opt_set *set;
	size_t array, row;
	const char *section; /* heading of the row returned last */
};

/** nd_opt_next() - the next row, hidden ones included; NULL behind the last. Start zeroed, .set given. */
const struct nd_opt *nd_opt_next(struct nd_opt_walk *w);

/** nd_opt_asks() - ND_OPT_HELP and the like when the row is one of those; else 0. */
int nd_opt_asks(const struct nd_opt *row);

/** nd_opt_label() - "--time", or "-t" when there is no long name, into @buf. Returns @buf. */
const char *nd_opt_label(const struct nd_opt *row, char *buf, size_t size);

bool nd_opt_has_value(const struct nd_opt *row);

/** nd_opt_metavar() - "TIME", "SIZE", as the row says or from its type. */
const char *nd_opt_metavar(const struct nd_opt *row);

/** nd_opt_value_at() - n-th word that the row takes, NULL behind the last or when it is open. */
const char *nd_opt_value_at(const struct nd_opt *row, size_t n, const char **ret_help);

/** nd_opt_facts() - "default 10s, 1s..24h", appended; returns whether there was something to say. */
bool nd_opt_facts(const struct nd_opt *row, struct nd_str *out);

/** nd_opt_store() - one value into the target; flags pass NULL. Negative errno with ctx->err set. */
ND_MUST_CHECK int nd_opt_store(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx);

#endif
