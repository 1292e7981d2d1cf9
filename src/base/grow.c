/* SPDX-License-Identifier: MIT */
/* The room of a growing array is a power of two, and at least FIRST: full exactly when the items are one of these. */
#include <stdlib.h>

#include "base/grow.h"

#define FIRST ((size_t)16)

void *nd_grow_bytes(void *v, size_t n, size_t size)
{
	bool is_full = !v || (n >= FIRST && (n & (n - 1)) == 0);
	size_t room = ND_MAX(FIRST, n), bytes;

	if (!is_full)
		return v;
	if ((n >= FIRST && __builtin_mul_overflow(room, 2, &room)) ||
	    __builtin_mul_overflow(room, size, &bytes))
		return NULL;
	return realloc(v, bytes);
}
