/* SPDX-License-Identifier: MIT */
/* A chain of zeroed blocks; small requests share one, large ones get their own. */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define ALIGN       16u
#define BLOCK_BYTES 4096u

struct nd_arena_block {
	struct nd_arena_block *next; /* owned */
	size_t used, size;
	char data[] ND_ALIGNED(ALIGN);
};

/* Bytes to take for @count items, in whole alignment units; 0 when that overflows. */
static size_t rounded(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return 0;
	bytes = ND_MAX(bytes, 1u);
	if (__builtin_add_overflow(bytes, ALIGN - 1, &bytes))
		return 0;
	return bytes & ~(size_t)(ALIGN - 1);
}

static struct nd_arena_block *add_block(struct nd_arena *a, size_t bytes)
{
	size_t size = ND_MAX(bytes, BLOCK_BYTES - sizeof(struct nd_arena_block)), all;
	struct nd_arena_block *b;

	if (__builtin_add_overflow(size, sizeof(*b), &all))
		return NULL;
	b = calloc(1, all);
	if (!b)
		return NULL;
	b->size = size;
	if (a->head && bytes == size) { /* full from birth: the head keeps serving small ones */
		b->next = a->head->next;
		a->head->next = b;
	} else {
		b->next = a->head;
		a->head = b;
	}
	return b;
}

void *nd_arena_alloc(struct nd_arena *a, size_t count, size_t size)
{
	size_t bytes = rounded(count, size);
	struct nd_arena_block *b = a->head;
	void *p;

	if (bytes == 0)
		return NULL;
	if (a->limit != 0 && (a->bytes > a->limit || bytes > a->limit - a->bytes))
		return NULL;
	if (!b || bytes > b->size - b->used)
		b = add_block(a, bytes);
	if (!b)
		return NULL;
	p = b->data + b->used;
	b->used += bytes;
	a->bytes += bytes;
	return p;
}

const char *nd_arena_dupn(struct nd_arena *a, const char *text, size_t n)
{
	char *p;

	if (!text || n == SIZE_MAX)
		return NULL;
	p = nd_arena_alloc(a, n + 1, 1);
	if (p)
		memcpy(p, text, n);
	return p;
}

const char *nd_arena_dup(struct nd_arena *a, const char *text)
{
	return text ? nd_arena_dupn(a, text, strlen(text)) : NULL;
}

const char *nd_arena_printf(struct nd_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p = NULL;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0)
		p = nd_arena_alloc(a, (size_t)n + 1, 1);
	if (p)
		(void)vsnprintf(p, (size_t)n + 1, fmt, again); /* measured above */
	va_end(again);
	va_end(ap);
	return p;
}

void nd_arena_done(struct nd_arena *a)
{
	struct nd_arena_block *b, *next;

	if (!a)
		return;
	for (b = a->head; b; b = next) {
		next = b->next;
		free(b);
	}
	a->head = NULL;
	a->bytes = 0;
}

/* Room is 4, 8, 16 ...: full exactly when n is 0 or one of these. */
static bool strv_full(uint64_t n)
{
	return n == 0 || (n >= 4 && (n & (n - 1)) == 0);
}

int nd_strv_add(struct nd_arena *a, struct nd_strv *list, const char *text)
{
	const char **v = list->v, *copy = nd_arena_dup(a, text);

	if (text && !copy)
		return -ENOMEM;
	if (strv_full(list->n)) {
		if (list->n > SIZE_MAX / 2 / sizeof(*v))
			return -ENOMEM;
		v = nd_arena_alloc(a, list->n ? (size_t)list->n * 2 : 4, sizeof(*v));
		if (!v)
			return -ENOMEM;
		if (list->n)
			memcpy(v, list->v, (size_t)list->n * sizeof(*v));
	}
	v[list->n++] = copy;
	list->v = v;
	return 0;
}

void nd_heap_frugal(void)
{
	/* NOLINTBEGIN(concurrency-mt-unsafe): before any thread */
	(void)mallopt(M_ARENA_MAX, 1); /* threads allocate little; each more heap costs memory */
	(void)mallopt(M_MMAP_THRESHOLD, 64 << 10); /* what is larger goes back when freed */
						   /* NOLINTEND(concurrency-mt-unsafe) */
}
