/* SPDX-License-Identifier: MIT */
/* A streaming JSON writer: ordered, 64-bit exact, shortest doubles, NaN and infinity as null. */
#ifndef ND_BASE_JSON_H
#define ND_BASE_JSON_H

#include "base/str.h"

struct nd_json {
	struct nd_str *out;  /* borrowed */
	unsigned depth;      /* open containers, at most 64 */
	uint64_t has_member; /* bit per depth: a comma is due */
	bool pretty;         /* two blanks per level, else one line */
};

/* @key is NULL inside an array and for the outermost value. Invalid UTF-8 becomes U+FFFD. A failed allocation is
 * remembered by .out. */

/** nd_json_open() - begin an object ('{') or an array ('['). */
void nd_json_open(struct nd_json *j, const char *key, char bracket);
/** nd_json_close() - end it: '}' or ']'. */
void nd_json_close(struct nd_json *j, char bracket);
/** nd_json_str() - a string; NULL is null. */
void nd_json_str(struct nd_json *j, const char *key, const char *value);
/** nd_json_u64() - a number; ND_UNKNOWN is null. */
void nd_json_u64(struct nd_json *j, const char *key, uint64_t value);
/** nd_json_i64() - a number; INT64_MIN is null. */
void nd_json_i64(struct nd_json *j, const char *key, int64_t value);
/** nd_json_f64() - a number as nd_json_double_text() writes it; NaN and infinity are null. */
void nd_json_f64(struct nd_json *j, const char *key, double value);
/** nd_json_bool() - true or false. */
void nd_json_bool(struct nd_json *j, const char *key, bool value);
/** nd_json_null() - null. */
void nd_json_null(struct nd_json *j, const char *key);
/** nd_json_double_text() - 15 to 17 digits that read back to the same double; null if no number. */
void nd_json_double_text(struct nd_str *out, double value);

#endif
