/* SPDX-License-Identifier: MIT */
/* Settings of another tool's face, found by their keys. */
#include <math.h>
#include <string.h>

#include "report/face.h"

struct nd_face nd_face_of(const struct nd_report_cfg *cfg, const struct nd_result *r)
{
	if (r && r->face && r->face_table)
		return (struct nd_face){ r->face, r->face_table };
	return (struct nd_face){ cfg->face_table ? cfg->face : NULL, cfg->face_table };
}

static const struct nd_field *row_of(const struct nd_face *f, const char *key, enum nd_type type)
{
	if (!f->at)
		return NULL;
	nd_row_for_each(row, f->table) {
		if (!strcmp(row->key, key))
			return row->type == type ? row : NULL;
	}
	return NULL;
}

/* The member of @key, NULL when there is none of this type. */
static const void *member(const struct nd_face *f, const char *key, enum nd_type type)
{
	const struct nd_field *row = row_of(f, key, type);

	return row ? nd_field_at(f->at, row) : NULL;
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

double nd_face_f64(const struct nd_face *f, const char *key)
{
	const double *at = member(f, key, ND_T_F64);

	return at ? *at : (double)NAN;
}

const char *nd_face_enum(const struct nd_face *f, const char *key)
{
	const struct nd_field *row = row_of(f, key, ND_T_ENUM);
	int v, i;

	if (!row)
		return "";
	memcpy(&v, nd_field_at(f->at, row), sizeof(v));
	for (i = 0; row->names[i]; i++)
		if (i == v)
			return row->names[i];
	return "";
}

struct nd_face nd_face_group(const struct nd_face *f, const char *key)
{
	const struct nd_field *row = row_of(f, key, ND_T_GROUP);

	return row ? (struct nd_face){ nd_field_at(f->at, row), row->table }
		   : (struct nd_face){ 0 };
}

struct nd_strv nd_face_strv(const struct nd_face *f, const char *key)
{
	const struct nd_strv *at = member(f, key, ND_T_STRV);

	return at ? *at : (struct nd_strv){ 0 };
}
