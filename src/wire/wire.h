/* SPDX-License-Identifier: MIT */
/*
 * Encode, decode and print messages from field rows. A struct never touches the network: rows in, bytes
 * out; byte order, length and limits are in the rows, bounds are checked in one place.
 */
#ifndef ND_WIRE_WIRE_H
#define ND_WIRE_WIRE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"
#include "base/json.h"
#include "base/str.h"

/* ---- structs as JSON, by their field rows (the native control language) ---- */

/** nd_wire_put() - write the members of @base into the open object of @j. Unknown values, and rows marked
 * ND_HIDE_PEER or ND_NOT_WIRE, are left out. Lists of .columns tables become one array per key. */
void nd_wire_put(struct nd_json *j, const struct nd_table *table, const void *base);

struct json_t;
/** nd_wire_get() - read members that are present; others become unknown, NULL, false, first enum value.
 * Unknown keys are skipped. Wrong types, negative or fractional counts, unknown enum names, lists over
 * @max_items, strings over 64 KiB end with -EBADMSG and a sentence that names the key. */
ND_MUST_CHECK int nd_wire_get(const struct json_t *object, const struct nd_table *table, void *base,
			      struct nd_arena *a, uint64_t max_items, struct nd_err *err);

/* ---- fixed binary layouts ---- */
enum nd_bin_type {
	ND_BIN_BE, /* unsigned, big-endian, .bytes wide (1..8), in a uint64_t member */
	ND_BIN_LE,
	ND_BIN_BYTES, /* copied; member is an array of .bytes */
	ND_BIN_ZERO,  /* .bytes of zero, no member */
	ND_BIN_CONST, /* big-endian constant .value; a different one on decode is -EBADMSG */
};

struct nd_bin_row {
	const char *name;
	enum nd_bin_type type;
	uint32_t bytes;
	uint32_t offset; /* of the member */
	uint64_t value;  /* CONST */
	const char *help;
};

struct nd_bin_layout {
	const char *name, *help;
	const struct nd_bin_row *rows; /* ends with .name NULL */
	size_t struct_bytes;
};

size_t nd_bin_size(const struct nd_bin_layout *l);
/** nd_bin_encode() - bytes written, or -ENOSPC. */
int nd_bin_encode(const struct nd_bin_layout *l, const void *base, uint8_t *out, size_t room);
/** nd_bin_decode() - bytes used; 0 when @n is too short but right so far; -EBADMSG. */
int nd_bin_decode(const struct nd_bin_layout *l, const uint8_t *data, size_t n, void *base);
void nd_bin_print(const struct nd_bin_layout *l, const void *base, struct nd_str *out);
void nd_bin_doc(const struct nd_bin_layout *l, struct nd_str *out); /* Markdown table */

#endif
