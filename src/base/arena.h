/* SPDX-License-Identifier: MIT */
/* Memory that lives and dies together: the strings and lists of a plan or a result. */
#ifndef ND_BASE_ARENA_H
#define ND_BASE_ARENA_H

#include "base/base.h"

struct nd_arena_block;

struct nd_arena {
	struct nd_arena_block *head; /* owned */
	size_t bytes, limit;         /* limit 0: none */
};

/** nd_arena_alloc() - zeroed, 16-byte aligned. NULL: no memory, over the limit, overflow. */
void *nd_arena_alloc(struct nd_arena *a, size_t count, size_t size);
/** nd_arena_dup() - copy of a string; NULL in, NULL out. */
const char *nd_arena_dup(struct nd_arena *a, const char *text);
/** nd_arena_dupn() - copy of the first @n bytes, terminated. NULL: no memory, or @text is NULL. */
const char *nd_arena_dupn(struct nd_arena *a, const char *text, size_t n);
/** nd_arena_printf() - a string as printf() writes it. NULL: no memory. */
const char *nd_arena_printf(struct nd_arena *a, const char *fmt, ...) ND_PRINTF(2, 3);
/** nd_arena_done() - free all that was allocated; empty afterwards, the limit stays. */
void nd_arena_done(struct nd_arena *a);

/** nd_heap_frugal() - one heap for all threads, large blocks back to the system when freed. First thing in main(). */
void nd_heap_frugal(void);

/* A list of strings in an arena (values of an option that may be repeated). */
struct nd_strv {
	const char **v;
	uint64_t n;
};

/**
 * nd_strv_add() - append a copy of @text.
 * @list: empty, or grown by this call alone: its room follows from .n.
 * Return: 0 or -ENOMEM.
 */
ND_MUST_CHECK int nd_strv_add(struct nd_arena *a, struct nd_strv *list, const char *text);

#endif
