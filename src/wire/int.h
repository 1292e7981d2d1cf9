/* SPDX-License-Identifier: MIT */
/* Shared inside wire/: single values, which objects and columns are both made of. */
#ifndef ND_WIRE_INT_H
#define ND_WIRE_INT_H

#include <jansson.h>

#include "wire/wire.h"

static inline bool nd_wire_travels(const struct nd_field *f)
{
	return !(f->show & (ND_HIDE_PEER | ND_NOT_WIRE));
}

static inline bool nd_wire_is_scalar(const struct nd_field *f)
{
	return f->type <= ND_T_ENUM;
}

/* ---- writing ---- */

/** nd_wire_is_unknown() - can this value be left out, because reading nothing gives the same? */
bool nd_wire_is_unknown(const struct nd_field *f, const void *at);
void nd_wire_put_scalar(struct nd_json *j, const char *key, const struct nd_field *f,
			const void *at);
/** nd_wire_put_columns() - a list of a .columns table as an open object's members. */
void nd_wire_put_columns(struct nd_json *j, const struct nd_table *table,
			 const struct nd_list *list);

/* ---- reading ---- */

/* What stays the same all the way down. */
struct nd_wire_reader {
	struct nd_arena *arena;
	uint64_t max_items;
	struct nd_err *err;
};

/** nd_wire_bad() - -EBADMSG: @key is what @what says. */
int nd_wire_bad(const struct nd_wire_reader *r, const char *key, const char *what);
ND_MUST_CHECK int nd_wire_get_scalar(const struct nd_wire_reader *r, const struct nd_field *f,
				     const json_t *v, void *at);
/** nd_wire_new_items() - items of a list that is about to be filled; all members unknown. */
ND_MUST_CHECK int nd_wire_new_items(const struct nd_wire_reader *r, const struct nd_field *f,
				    size_t n, struct nd_list *ret);
ND_MUST_CHECK int nd_wire_get_columns(const struct nd_wire_reader *r, const struct nd_field *f,
				      const json_t *v, struct nd_list *ret);

/** nd_wire_item() - item number @i of a list whose items are @size bytes. */
static inline void *nd_wire_item(const struct nd_list *list, uint64_t i, size_t size)
{
	return (char *)list->v + (size_t)i * size;
}

#endif
