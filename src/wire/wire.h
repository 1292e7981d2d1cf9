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

#define ND_WIRE_STRING_MAX 65536u /* bytes of one string */
#define ND_WIRE_ROWS_MAX   4096u  /* items of a list that is not in columns */

/**
 * nd_wire_put() - write the members of @base into the open object of @j.
 * Left out: unknown values (a count over INT64_MAX is one too), NULL, what is marked ND_HIDE_PEER or
 * ND_NOT_WIRE, and empty lists.
 * A list of a .columns table is an object with one member per key. Numbers are one string, "12 13 - 15", '-'
 * being unknown; others are an array. The first key is always written so: it tells the number of items. Each
 * other key is left out when all its values are unknown, and stands as one single value when they are all
 * equal: 100,000 flows stay far below the 16 MiB of a message, and cost their reader no value per number.
 */
void nd_wire_put(struct nd_json *j, const struct nd_table *table, const void *base);

struct json_t;
/**
 * nd_wire_get() - read members that are present; others become unknown, NULL, false, first enum value.
 * Unknown keys are skipped; null is the same as absent. Control characters in strings become '?', so
 * that nothing a peer says can steer a terminal.
 * @a: strings and lists are put here; its .limit bounds what a peer can make us allocate.
 * Wrong types, negative or fractional counts, unknown enum names, lists over @max_items (or over
 * ND_WIRE_ROWS_MAX when not in columns), columns of different length, strings over ND_WIRE_STRING_MAX (columns
 * of numbers are not limited beyond their message) end with -EBADMSG and a sentence that names the key.
 * -ENOMEM: no memory or over the arena's limit.
 */
ND_MUST_CHECK int nd_wire_get(const struct json_t *object, const struct nd_table *table, void *base,
			      struct nd_arena *a, uint64_t max_items, struct nd_err *err);

/* ---- fixed binary layouts ---- */
enum nd_bin_type {
	ND_BIN_BE, /* unsigned, big-endian, .bytes wide (1..8), in a uint64_t member */
	ND_BIN_LE,
	ND_BIN_BYTES, /* copied; member is an array of .bytes */
	ND_BIN_ZERO,  /* .bytes of zero, no member; not looked at on decode: room for later */
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
/** nd_bin_encode() - bytes written; -ENOSPC; -ERANGE: a number is too large for its bytes. */
int nd_bin_encode(const struct nd_bin_layout *l, const void *base, uint8_t *out, size_t room);
/** nd_bin_decode() - bytes used; 0 when @n is too short but right so far; -EBADMSG. */
int nd_bin_decode(const struct nd_bin_layout *l, const uint8_t *data, size_t n, void *base);
/** nd_bin_print() - one line, "name key=value ...", bytes in hexadecimal. */
void nd_bin_print(const struct nd_bin_layout *l, const void *base, struct nd_str *out);
void nd_bin_doc(const struct nd_bin_layout *l, struct nd_str *out); /* Markdown table */

#endif
