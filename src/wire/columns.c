/* SPDX-License-Identifier: MIT */
/*
 * Lists of equal rows, a column per key. Numbers of a column are one string: as JSON values they would cost a
 * reader some forty bytes each while it parses, for ten thousands of rows and a score of keys.
 */
#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "wire/int.h"

#define UNKNOWN    '-'
#define DIGITS_U64 20 /* of the largest count */

static bool is_packed(const struct nd_field *c)
{
	return c->type == ND_T_U64 || c->type == ND_T_I64 || c->type == ND_T_F64;
}

/* ---- writing ---- */

/* Same text on the wire? */
static bool is_equal(const struct nd_field *c, const void *a, const void *b)
{
	if (nd_wire_is_unknown(c, a) || nd_wire_is_unknown(c, b))
		return nd_wire_is_unknown(c, a) && nd_wire_is_unknown(c, b);
	switch (c->type) {
	case ND_T_U64:
	case ND_T_I64:
	case ND_T_F64: /* bit for bit: -0.0 is not 0.0 */
		return !memcmp(a, b, sizeof(uint64_t));
	case ND_T_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case ND_T_STR:
		return !strcmp(*(const char *const *)a, *(const char *const *)b);
	case ND_T_ENUM:
		return !memcmp(a, b, sizeof(int));
	default:
		return false;
	}
}

static bool is_same_for_all(const struct nd_field *c, const struct nd_list *list, size_t size)
{
	const void *first = nd_field_at(list->v, c);
	uint64_t i;

	for (i = 1; i < list->n; i++)
		if (!is_equal(c, first, nd_field_at(nd_wire_item(list, i, size), c)))
			return false;
	return true;
}

/* By hand: a hundred thousand calls of printf would be felt at the end of a test. */
static void add_u64(struct nd_str *out, uint64_t value)
{
	char text[DIGITS_U64];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	nd_str_addn(out, text + at, sizeof(text) - at);
}

static void add_number(struct nd_str *out, const struct nd_field *c, const void *at)
{
	if (nd_wire_is_unknown(c, at)) {
		nd_str_addc(out, UNKNOWN, 1);
	} else if (c->type == ND_T_F64) {
		nd_json_double_text(out, *(const double *)at);
	} else if (c->type == ND_T_I64 && *(const int64_t *)at < 0) {
		nd_str_addc(out, '-', 1);
		add_u64(out, -*(const uint64_t *)at);
	} else {
		add_u64(out, *(const uint64_t *)at);
	}
}

static void put_packed(struct nd_json *j, const struct nd_field *c, const struct nd_list *list,
		       size_t size)
{
	uint64_t i;

	nd_json_open(j, c->key, '"'); /* digits, signs and blanks need no escape */
	for (i = 0; i < list->n; i++) {
		if (i > 0)
			nd_str_addc(j->out, ' ', 1);
		add_number(j->out, c, nd_field_at(nd_wire_item(list, i, size), c));
	}
	nd_json_close(j, '"');
}

static void put_array(struct nd_json *j, const struct nd_field *c, const struct nd_list *list,
		      size_t size)
{
	uint64_t i;

	nd_json_open(j, c->key, '[');
	for (i = 0; i < list->n; i++)
		nd_wire_put_scalar(j, NULL, c, nd_field_at(nd_wire_item(list, i, size), c));
	nd_json_close(j, ']');
}

void nd_wire_put_columns(struct nd_json *j, const struct nd_table *table,
			 const struct nd_list *list)
{
	bool is_first = true; /* it tells the number of rows, whatever its values */

	nd_row_for_each(c, table) {
		const void *first = nd_field_at(list->v, c);

		if (!nd_wire_travels(c) || !nd_wire_is_scalar(c))
			continue;
		if (!is_first && is_same_for_all(c, list, table->size)) {
			if (!nd_wire_is_unknown(c, first))
				nd_wire_put_scalar(j, c->key, c, first);
		} else if (is_packed(c)) {
			put_packed(j, c, list, table->size);
		} else {
			put_array(j, c, list, table->size);
		}
		is_first = false;
	}
}

/* ---- reading ---- */

/* Numbers of a packed column, well formed or not. */
static size_t count_packed(const json_t *v)
{
	const char *text = json_string_value(v), *end = text + json_string_length(v);
	size_t n = 0;

	while (text < end) {
		const char *blank = memchr(text, ' ', (size_t)(end - text));

		n++;
		text = blank ? blank + 1 : end;
	}
	return n;
}

/* Does this column tell the number of rows, and which one? */
static bool tells_count(const struct nd_field *c, const json_t *v, size_t *ret)
{
	if (is_packed(c) && json_is_string(v))
		*ret = count_packed(v);
	else if (!is_packed(c) && json_is_array(v))
		*ret = json_array_size(v);
	else
		return false;
	return true;
}

/* The number of items: the one that all columns with a value per row have. */
static int count_columns(const struct nd_wire_reader *r, const struct nd_field *f, const json_t *v,
			 size_t *ret)
{
	bool found = false;
	size_t n = 0, more;

	nd_row_for_each(c, f->table) {
		const json_t *column = json_object_get(v, c->key);

		if (!nd_wire_travels(c) || !nd_wire_is_scalar(c))
			continue;
		if (is_packed(c) && json_is_array(column))
			return nd_wire_bad(r, c->key, "is a list, not a string of numbers");
		if (!tells_count(c, column, &more))
			continue;
		if (found && more != n)
			return nd_wire_bad(r, f->key, "has columns of different length");
		n = more;
		found = true;
	}
	if (n > r->max_items)
		return nd_wire_bad(r, f->key, "is too long a list");
	*ret = n;
	return 0;
}

/* Read one number of a packed column. Return: its end, NULL when it is none of the column's. */
static const char *read_number(const struct nd_field *c, const char *text, void *at)
{
	uint64_t count = 0;
	size_t used;

	if (text[0] == UNKNOWN && (text[1] == ' ' || text[1] == '\0'))
		return text + 1; /* it is unknown already */
	if (c->type == ND_T_F64) {
		used = nd_parse_prefix_double(text, at);
	} else if (c->type == ND_T_I64) {
		used = nd_parse_prefix_i64(text, at);
	} else {
		used = nd_parse_prefix_u64(text, &count);
		if (count > INT64_MAX)
			return NULL;
		if (used)
			*(uint64_t *)at = count;
	}
	return used ? text + used : NULL;
}

static int get_packed(const struct nd_wire_reader *r, const struct nd_field *c, const json_t *v,
		      const struct nd_list *list, size_t size)
{
	static const char *const wrong[ND_T_MAX] = {
		[ND_T_U64] = "holds something that is not a whole number from 0",
		[ND_T_I64] = "holds something that is not a whole number",
		[ND_T_F64] = "holds something that is not a number",
	};
	const char *text = json_string_value(v), *end = text + json_string_length(v);
	uint64_t i;

	for (i = 0; i < list->n; i++, text++) {
		text = read_number(c, text, nd_field_in(nd_wire_item(list, i, size), c));
		if (!text || (i + 1 < list->n ? *text != ' ' : text != end))
			return nd_wire_bad(r, c->key, wrong[c->type]);
	}
	return 0;
}

/* Read once, so that a string is stored once. */
static int get_same(const struct nd_wire_reader *r, const struct nd_field *c, const json_t *v,
		    const struct nd_list *list, size_t size)
{
	void *first = nd_field_in(list->v, c);
	size_t bytes = c->type == ND_T_BOOL   ? sizeof(bool)
		       : c->type == ND_T_ENUM ? sizeof(int)
					      : sizeof(uint64_t);
	int code = nd_wire_get_scalar(r, c, v, first);
	uint64_t i;

	for (i = 1; i < list->n && code == 0; i++)
		memcpy(nd_field_in(nd_wire_item(list, i, size), c), first, bytes);
	return code;
}

static int get_array(const struct nd_wire_reader *r, const struct nd_field *c, const json_t *v,
		     const struct nd_list *list, size_t size)
{
	int code = 0;
	uint64_t i;

	for (i = 0; i < list->n && code == 0; i++) {
		const json_t *item = json_array_get(v, (size_t)i);

		if (!json_is_null(item))
			code = nd_wire_get_scalar(r, c, item,
						  nd_field_in(nd_wire_item(list, i, size), c));
	}
	return code;
}

int nd_wire_get_columns(const struct nd_wire_reader *r, const struct nd_field *f, const json_t *v,
			struct nd_list *ret)
{
	size_t n = 0, size = f->table->size;
	int code;

	if (!json_is_object(v))
		return nd_wire_bad(r, f->key, "is not an object of columns");
	code = count_columns(r, f, v, &n);
	if (code == 0)
		code = nd_wire_new_items(r, f, n, ret);
	if (code < 0 || n == 0)
		return code;
	nd_row_for_each(c, f->table) {
		const json_t *column = json_object_get(v, c->key);

		if (!nd_wire_travels(c) || !nd_wire_is_scalar(c) || !column || json_is_null(column))
			continue;
		if (is_packed(c) && json_is_string(column))
			code = get_packed(r, c, column, ret, size);
		else if (json_is_array(column))
			code = get_array(r, c, column, ret, size);
		else
			code = get_same(r, c, column, ret, size);
		if (code < 0)
			return code;
	}
	return 0;
}
