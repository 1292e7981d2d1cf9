/* SPDX-License-Identifier: MIT */
/* Vocabulary every folder may use: attributes, units, the value that means "unknown". */
#ifndef ND_BASE_BASE_H
#define ND_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ND_COUNTOF(a)   (sizeof(a) / sizeof((a)[0]))
#define ND_MUST_CHECK   __attribute__((warn_unused_result))
#define ND_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define ND_CLEANUP(fn)  __attribute__((cleanup(fn)))
#define ND_ALIGNED(n)   __attribute__((aligned(n)))
#define ND_UNUSED       __attribute__((unused))
#define ND_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define ND_MAX(a, b)    ((a) > (b) ? (a) : (b))
#define ND_CACHE_LINE   64
#define ND_NS_PER_US    1000ull
#define ND_NS_PER_MS    1000000ull
#define ND_NS_PER_S     1000000000ull

/* A count that nobody could see. Writers print null, never 0. The same for a double is NAN. */
#define ND_UNKNOWN UINT64_MAX

/* Offset of a member, with its type checked by the compiler. */
#define ND_FIELD_OF(T, S, f) \
	(offsetof(S, f) +    \
	 0 * sizeof(char[__builtin_types_compatible_p(T, __typeof__(((S *)0)->f)) ? 1 : -1]))

#endif
