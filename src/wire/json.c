/* SPDX-License-Identifier: MIT */
/* Structs to JSON text and back, by their field rows. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "wire/int.h"

/* ---- writing ---- */

static const char *enum_name(const struct nd_field *f, const void *at)
{
	int value, i;

	memcpy(&value, at, sizeof(value));
	for (i = 0; f->names[i]; i++)
		if (i == value)
			return f->names[i];
	return NULL;
}

bool nd_wire_is_unknown(const struct nd_field *f, const void *at)
{
	switch (f->type) {
	case ND_T_U64:
		return *(const uint64_t *)at > INT64_MAX;
	case ND_T_I64:
		return *(const int64_t *)at == INT64_MIN;
	case ND_T_F64:
		return !isfinite(*(const double *)at);
	case ND_T_STR:
		return !*(const char *const *)at;
	case ND_T_ENUM:
		return !enum_name(f, at);
	case ND_T_STRV:
		return ((const struct nd_strv *)at)->n == 0;
	case ND_T_OPT:
		return !*(const void *const *)at;
	case ND_T_LIST:
		return ((const struct nd_list *)at)->n == 0;
	case ND_T_BOOL:
	case ND_T_GROUP:
	case ND_T_MAX:
		break;
	}
	return false;
}

void nd_wire_put_scalar(struct nd_json *j, const char *key, const struct nd_field *f,
			const void *at)
{
	if (nd_wire_is_unknown(f, at)) {
		nd_json_null(j, key);
		return;
	}
	switch (f->type) {
	case ND_T_U64:
		nd_json_u64(j, key, *(const uint64_t *)at);
		break;
	case ND_T_I64:
		nd_json_i64(j, key, *(const int64_t *)at);
		break;
	case ND_T_F64:
		nd_json_f64(j, key, *(const double *)at);
		break;
	case ND_T_BOOL:
		nd_json_bool(j, key, *(const bool *)at);
		break;
	case ND_T_STR:
		nd_json_str(j, key, *(const char *const *)at);
		break;
	case ND_T_ENUM:
		nd_json_str(j, key, enum_name(f, at));
		break;
	default: /* has parts */
		nd_json_null(j, key);
		break;
	}
}

static void put_list(struct nd_json *j, const struct nd_field *f, const struct nd_list *list)
{
	const struct nd_table *t = f->table;
	uint64_t i;

	if (t->columns) {
		nd_json_open(j, f->key, '{');
		nd_wire_put_columns(j, t, list);
		nd_json_close(j, '}');
		return;
	}
	nd_json_open(j, f->key, '[');
	for (i = 0; i < list->n; i++) {
		nd_json_open(j, NULL, '{');
		nd_wire_put(j, t, nd_wire_item(list, i, t->size));
		nd_json_close(j, '}');
	}
	nd_json_close(j, ']');
}

static void put_strv(struct nd_json *j, const char *key, const struct nd_strv *list)
{
	uint64_t i;

	nd_json_open(j, key, '[');
	for (i = 0; i < list->n; i++)
		if (list->v[i])
			nd_json_str(j, NULL, list->v[i]);
	nd_json_close(j, ']');
}

void nd_wire_put(struct nd_json *j, const struct nd_table *table, const void *base)
{
	nd_row_for_each(f, table) {
		const void *at = nd_field_at(base, f);

		if (!nd_wire_travels(f) || nd_wire_is_unknown(f, at))
			continue;
		if (nd_wire_is_scalar(f)) {
			nd_wire_put_scalar(j, f->key, f, at);
		} else if (f->type == ND_T_STRV) {
			put_strv(j, f->key, at);
		} else if (f->type == ND_T_LIST) {
			put_list(j, f, at);
		} else {
			nd_json_open(j, f->key, '{');
			nd_wire_put(j, f->table,
				    f->type == ND_T_OPT ? *(const void *const *)at : at);
			nd_json_close(j, '}');
		}
	}
}

/* ---- reading ---- */

static int get_object(const struct nd_wire_reader *r, const json_t *object,
		      const struct nd_table *table, void *base);

int nd_wire_bad(const struct nd_wire_reader *r, const char *key, const char *what)
{
	return nd_fail(r->err, -EBADMSG, "'%s': %s", key, what);
}

static int no_room(const struct nd_wire_reader *r, const char *key)
{
	return nd_fail(r->err, -ENOMEM, "'%s': no memory, or more than is allowed", key);
}

/* C0, DEL, and C1 in its UTF-8 form; JSON text is valid UTF-8 when it gets here. */
static void mask_controls(char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == 0x7f) {
			text[i] = '?';
		} else if (c == 0xc2 && i + 1 < n && (unsigned char)text[i + 1] < 0xa0) {
			text[i++] = '?';
			text[i] = '?';
		}
	}
}

static int get_str(const struct nd_wire_reader *r, const char *key, const json_t *v,
		   const char **ret)
{
	size_t n;
	char *copy;

	if (!json_is_string(v))
		return nd_wire_bad(r, key, "is not a string");
	n = json_string_length(v);
	if (n > ND_WIRE_STRING_MAX)
		return nd_wire_bad(r, key, "is too long a string");
	copy = nd_arena_alloc(r->arena, n + 1, 1);
	if (!copy)
		return no_room(r, key);
	memcpy(copy, json_string_value(v), n);
	mask_controls(copy, n);
	*ret = copy;
	return 0;
}

static int get_enum(const struct nd_wire_reader *r, const struct nd_field *f, const json_t *v,
		    void *at)
{
	int i;

	if (!json_is_string(v))
		return nd_wire_bad(r, f->key, "is not a string");
	i = nd_enum_find(f->names, json_string_value(v));
	if (i < 0)
		return nd_fail(r->err, -EBADMSG, "'%s': no such value: '%.40s'", f->key,
			       json_string_value(v));
	memcpy(at, &i, sizeof(i));
	return 0;
}

int nd_wire_get_scalar(const struct nd_wire_reader *r, const struct nd_field *f, const json_t *v,
		       void *at)
{
	switch (f->type) {
	case ND_T_U64:
		if (!json_is_integer(v) || json_integer_value(v) < 0)
			return nd_wire_bad(r, f->key, "is not a whole number from 0");
		*(uint64_t *)at = (uint64_t)json_integer_value(v);
		return 0;
	case ND_T_I64:
		if (!json_is_integer(v))
			return nd_wire_bad(r, f->key, "is not a whole number");
		*(int64_t *)at = (int64_t)json_integer_value(v);
		return 0;
	case ND_T_F64:
		if (!json_is_number(v))
			return nd_wire_bad(r, f->key, "is not a number");
		*(double *)at = json_number_value(v);
		return 0;
	case ND_T_BOOL:
		if (!json_is_boolean(v))
			return nd_wire_bad(r, f->key, "is neither true nor false");
		*(bool *)at = json_is_true(v);
		return 0;
	case ND_T_STR:
		return get_str(r, f->key, v, at);
	case ND_T_ENUM:
		return get_enum(r, f, v, at);
	default:
		return nd_wire_bad(r, f->key, "cannot stand here");
	}
}

static int get_strv(const struct nd_wire_reader *r, const char *key, const json_t *v,
		    struct nd_strv *ret)
{
	size_t i, n = json_array_size(v); /* 0 for what is no array */

	if (!json_is_array(v))
		return nd_wire_bad(r, key, "is not a list");
	if (n > ND_MIN(r->max_items, ND_WIRE_ROWS_MAX))
		return nd_wire_bad(r, key, "is too long a list");
	if (n == 0)
		return 0;
	ret->v = nd_arena_alloc(r->arena, n, sizeof(*ret->v));
	if (!ret->v)
		return no_room(r, key);
	for (i = 0; i < n; i++) {
		int code = get_str(r, key, json_array_get(v, i), &ret->v[i]);

		if (code < 0)
			return code;
	}
	ret->n = n;
	return 0;
}

int nd_wire_new_items(const struct nd_wire_reader *r, const struct nd_field *f, size_t n,
		      struct nd_list *ret)
{
	uint64_t i;

	if (nd_list_new(r->arena, ret, n, f->table->size) < 0)
		return no_room(r, f->key);
	for (i = 0; i < n; i++)
		nd_table_unknown(f->table, nd_wire_item(ret, i, f->table->size));
	return 0;
}

static int get_rows(const struct nd_wire_reader *r, const struct nd_field *f, const json_t *v,
		    struct nd_list *ret)
{
	size_t i, n = json_array_size(v);
	int code;

	if (!json_is_array(v))
		return nd_wire_bad(r, f->key, "is not a list");
	if (n > ND_MIN(r->max_items, ND_WIRE_ROWS_MAX))
		return nd_wire_bad(r, f->key, "is too long a list");
	code = nd_wire_new_items(r, f, n, ret);
	for (i = 0; i < n && code == 0; i++) {
		const json_t *item = json_array_get(v, i);

		if (!json_is_object(item))
			return nd_wire_bad(r, f->key, "holds something that is not an object");
		code = get_object(r, item, f->table, nd_wire_item(ret, i, f->table->size));
	}
	return code;
}

static int get_opt(const struct nd_wire_reader *r, const struct nd_field *f, const json_t *v,
		   void *at)
{
	void *item;
	int code;

	if (!json_is_object(v))
		return nd_wire_bad(r, f->key, "is not an object");
	item = nd_arena_alloc(r->arena, 1, f->table->size);
	if (!item)
		return no_room(r, f->key);
	code = get_object(r, v, f->table, item);
	if (code == 0)
		memcpy(at, &item,
		       sizeof(item)); /* a pointer to some struct: its type is not known here */
	return code;
}

static int get_member(const struct nd_wire_reader *r, const struct nd_field *f, const json_t *v,
		      void *at)
{
	switch (f->type) {
	case ND_T_STRV:
		return get_strv(r, f->key, v, at);
	case ND_T_GROUP:
		if (!json_is_object(v))
			return nd_wire_bad(r, f->key, "is not an object");
		return get_object(r, v, f->table, at);
	case ND_T_OPT:
		return get_opt(r, f, v, at);
	case ND_T_LIST:
		return f->table->columns ? nd_wire_get_columns(r, f, v, at) : get_rows(r, f, v, at);
	default:
		return nd_wire_get_scalar(r, f, v, at);
	}
}

/* Recursion is as deep as the tables are. */
static int get_object(const struct nd_wire_reader *r, const json_t *object,
		      const struct nd_table *table, void *base)
{
	nd_table_unknown(table, base);
	nd_row_for_each(f, table) {
		const json_t *v = json_object_get(object, f->key);
		int code;

		if (!nd_wire_travels(f) || !v || json_is_null(v))
			continue;
		code = get_member(r, f, v, nd_field_in(base, f));
		if (code < 0)
			return code;
	}
	return 0;
}

int nd_wire_get(const struct json_t *object, const struct nd_table *table, void *base,
		struct nd_arena *a, uint64_t max_items, struct nd_err *err)
{
	const struct nd_wire_reader r = { .arena = a, .max_items = max_items, .err = err };

	if (!json_is_object(object))
		return nd_fail(err, -EBADMSG, "'%s': is not an object", table->name);
	return get_object(&r, object, table, base);
}
