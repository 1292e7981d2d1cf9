/* SPDX-License-Identifier: MIT */
/* Fixed binary layouts, by their rows. */
#include <errno.h>
#include <string.h>

#include "wire/wire.h"

size_t nd_bin_size(const struct nd_bin_layout *l)
{
	const struct nd_bin_row *row;
	size_t n = 0;

	for (row = l->rows; row->name; row++)
		n += row->bytes;
	return n;
}

/* Which byte of the number, counted from its low end, stands at place @i. */
static unsigned shift_of(const struct nd_bin_row *row, uint32_t i)
{
	return 8 * (row->type == ND_BIN_LE ? i : row->bytes - 1 - i);
}

static uint64_t number_of(const struct nd_bin_row *row, const void *base)
{
	uint64_t value = row->value;

	if (row->type != ND_BIN_CONST)
		memcpy(&value, (const char *)base + row->offset, sizeof(value));
	return value;
}

static int put_number(const struct nd_bin_row *row, uint64_t value, uint8_t *out)
{
	uint32_t i;

	if (row->bytes < 8 && value >> (8 * row->bytes))
		return -ERANGE;
	for (i = 0; i < row->bytes; i++)
		out[i] = (uint8_t)(value >> shift_of(row, i));
	return 0;
}

int nd_bin_encode(const struct nd_bin_layout *l, const void *base, uint8_t *out, size_t room)
{
	const struct nd_bin_row *row;
	size_t at = 0;
	int code = 0;

	if (nd_bin_size(l) > room)
		return -ENOSPC;
	for (row = l->rows; row->name; row++) {
		if (row->type == ND_BIN_BYTES)
			memcpy(out + at, (const char *)base + row->offset, row->bytes);
		else if (row->type == ND_BIN_ZERO)
			memset(out + at, 0, row->bytes);
		else
			code = put_number(row, number_of(row, base), out + at);
		if (code < 0)
			return code;
		at += row->bytes;
	}
	return (int)at;
}

/* Do the first @n bytes of a constant stand at @data? */
static bool const_agrees(const struct nd_bin_row *row, const uint8_t *data, size_t n)
{
	uint32_t i;

	for (i = 0; i < row->bytes && i < n; i++)
		if (data[i] != (uint8_t)(row->value >> shift_of(row, i)))
			return false;
	return true;
}

static void get_number(const struct nd_bin_row *row, const uint8_t *data, void *base)
{
	uint64_t value = 0;
	uint32_t i;

	for (i = 0; i < row->bytes; i++)
		value |= (uint64_t)data[i] << shift_of(row, i);
	memcpy((char *)base + row->offset, &value, sizeof(value));
}

int nd_bin_decode(const struct nd_bin_layout *l, const uint8_t *data, size_t n, void *base)
{
	const struct nd_bin_row *row;
	size_t at = 0, size = nd_bin_size(l);

	for (row = l->rows; row->name; row++) {
		if (at < n && row->type == ND_BIN_CONST && !const_agrees(row, data + at, n - at))
			return -EBADMSG;
		at += row->bytes;
	}
	if (n < size)
		return 0;
	at = 0;
	for (row = l->rows; row->name; row++) {
		if (row->type == ND_BIN_BYTES)
			memcpy((char *)base + row->offset, data + at, row->bytes);
		else if (row->type == ND_BIN_BE || row->type == ND_BIN_LE)
			get_number(row, data + at, base);
		at += row->bytes;
	}
	return (int)size;
}

static void add_hex(struct nd_str *out, const uint8_t *data, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		nd_str_addf(out, "%02x", data[i]);
}

void nd_bin_print(const struct nd_bin_layout *l, const void *base, struct nd_str *out)
{
	const struct nd_bin_row *row;
	nd_str_add(out, l->name);
	for (row = l->rows; row->name; row++) {
		if (row->type == ND_BIN_ZERO || row->type == ND_BIN_CONST)
			continue;
		nd_str_addf(out, " %s=", row->name);
		if (row->type == ND_BIN_BYTES)
			add_hex(out, (const uint8_t *)base + row->offset, row->bytes);
		else
			nd_str_addf(out, "%llu", (unsigned long long)number_of(row, base));
	}
}

static bool is_printable(uint8_t c)
{
	return c > 0x20 && c < 0x7f;
}

/* A constant as its letters where it is made of letters, else in hexadecimal. */
static void doc_const(const struct nd_bin_row *row, struct nd_str *out)
{
	bool is_text = row->bytes > 1;
	uint32_t i;

	for (i = 0; i < row->bytes; i++)
		is_text = is_text && is_printable((uint8_t)(row->value >> shift_of(row, i)));
	nd_str_add(out, is_text ? "`" : "`0x");
	for (i = 0; i < row->bytes; i++)
		nd_str_addf(out, is_text ? "%c" : "%02x",
			    (int)(uint8_t)(row->value >> shift_of(row, i)));
	nd_str_add(out, "`");
}

void nd_bin_doc(const struct nd_bin_layout *l, struct nd_str *out)
{
	const struct nd_bin_row *row;
	static const char *const words[] = {
		[ND_BIN_BE] = "number, high byte first",
		[ND_BIN_LE] = "number, low byte first",
		[ND_BIN_BYTES] = "bytes",
		[ND_BIN_ZERO] = "zero",
		[ND_BIN_CONST] = "constant ",
	};
	size_t at = 0;

	nd_str_add(out, "| at | bytes | field | content | meaning |\n|---|---|---|---|---|\n");
	for (row = l->rows; row->name; row++) {
		nd_str_addf(out, "| %zu | %u | %s | %s", at, row->bytes, row->name,
			    words[row->type]);
		if (row->type == ND_BIN_CONST)
			doc_const(row, out);
		nd_str_addf(out, " | %s |\n", row->help ? row->help : "");
		at += row->bytes;
	}
}
