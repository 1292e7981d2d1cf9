/* SPDX-License-Identifier: MIT */
/* Walking the rows that describe a struct. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/field.h"

void nd_table_unknown(const struct nd_table *table, void *base)
{
	nd_row_for_each(f, table) {
		void *at = nd_field_in(base, f);

		switch (f->type) {
		case ND_T_U64:
			*(uint64_t *)at = ND_UNKNOWN;
			break;
		case ND_T_I64:
			*(int64_t *)at = INT64_MIN;
			break;
		case ND_T_F64:
			*(double *)at = (double)NAN;
			break;
		case ND_T_BOOL:
			*(bool *)at = false;
			break;
		case ND_T_STR:
			*(const char **)at = NULL;
			break;
		case ND_T_ENUM:
			memset(at, 0, sizeof(int));
			break;
		case ND_T_STRV:
			*(struct nd_strv *)at = (struct nd_strv){ 0 };
			break;
		case ND_T_GROUP:
			nd_table_unknown(f->table, at);
			break;
		case ND_T_OPT: /* a pointer to some struct: bytes, because its type is not known here */
			memcpy(at, &(void *){ NULL }, sizeof(void *));
			break;
		case ND_T_LIST:
			*(struct nd_list *)at = (struct nd_list){ 0 };
			break;
		case ND_T_MAX:
			break;
		}
	}
}

int nd_list_new(struct nd_arena *a, struct nd_list *list, uint64_t n, size_t size)
{
	size_t bytes;
	void *v = NULL;

	if (__builtin_mul_overflow(n, size, &bytes))
		return -EOVERFLOW;
	if (n > 0) {
		v = nd_arena_alloc(a, (size_t)n, size);
		if (!v)
			return -ENOMEM;
	}
	*list = (struct nd_list){ .v = v, .n = n };
	return 0;
}

int nd_enum_find(const char *const *names, const char *name)
{
	int i;

	for (i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return i;
	return -ENOENT;
}
