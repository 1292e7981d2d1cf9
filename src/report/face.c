/* SPDX-License-Identifier: MIT */
/* Settings of another tool's face, found by their keys. */
#include <string.h>

#include "report/face.h"

struct nd_face nd_face_of(const struct nd_report_cfg *cfg, const struct nd_result *r)
{
	if (r && r->face && r->face_table)
		return (struct nd_face){ r->face, r->face_table };
	return (struct nd_face){ cfg->face_table ? cfg->face : NULL, cfg->face_table };
}

/* The member of @key, NULL when there is none of this type. */
static const void *member(const struct nd_face *f, const char *key, enum nd_type type)
{
	if (!f->at)
		return NULL;
	nd_row_for_each(row, f->table) {
		if (!strcmp(row->key, key))
			return row->type == type ? nd_field_at(f->at, row) : NULL;
	}
	return NULL;
}

uint64_t nd_face_u64(const struct nd_face *f, const char *key)
{
	const uint64_t *at = member(f, key, ND_T_U64);

	return at && *at != ND_UNKNOWN ? *at : 0;
}

int64_t nd_face_i64(const struct nd_face *f, const char *key)
{
	const int64_t *at = member(f, key, ND_T_I64);

	return at && *at != INT64_MIN ? *at : 0;
}

bool nd_face_bool(const struct nd_face *f, const char *key)
{
	const bool *at = member(f, key, ND_T_BOOL);

	return at && *at;
}

const char *nd_face_str(const struct nd_face *f, const char *key)
{
	const char *const *at = member(f, key, ND_T_STR);

	return at ? *at : NULL;
}

struct nd_strv nd_face_strv(const struct nd_face *f, const char *key)
{
	const struct nd_strv *at = member(f, key, ND_T_STRV);

	return at ? *at : (struct nd_strv){ 0 };
}
