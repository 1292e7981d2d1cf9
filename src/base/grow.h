/* SPDX-License-Identifier: MIT */
/* Arrays on the heap that grow by one item at a time. Their room follows from the number of items: it is kept nowhere. */
#ifndef ND_BASE_GROW_H
#define ND_BASE_GROW_H

#include <errno.h>

#include "base/base.h"

/**
 * nd_grow() - make room for one more behind the @n items of array @v.
 * @v: pointer to the items, NULL or grown by this call alone; freed by free(). Written on success, and evaluated more
 * than once.
 * @n: how many there are. It may shrink to any number in between. A limit is the caller's to keep.
 * Context: any thread, allocates. The room is 16 items, 32, 64 ...; what is behind the items is not zeroed.
 * Return: 0 or -ENOMEM, with @v as it was.
 */
#define nd_grow(v, n)                                                    \
	({                                                               \
		void *nd_grown_ = nd_grow_bytes((v), (n), sizeof(*(v))); \
		(v) = nd_grown_ ? nd_grown_ : (v);                       \
		nd_grown_ ? 0 : -ENOMEM;                                 \
	})

/** nd_grow_bytes() - for nd_grow(): @v, or where it is now. NULL: no memory. */
void *nd_grow_bytes(void *v, size_t n, size_t size);

#endif
