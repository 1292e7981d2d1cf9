/* SPDX-License-Identifier: MIT */
/* Figures of rows for people, and text that cannot steer a terminal. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "report/int.h"

bool nd_figure_known(const struct nd_field *f, const void *base)
{
	const void *at = nd_field_at(base, f);
	const void *pointer;

	switch (f->type) {
	case ND_T_U64:
		return *(const uint64_t *)at != ND_UNKNOWN;
	case ND_T_I64:
		return *(const int64_t *)at != INT64_MIN;
	case ND_T_F64:
		return isfinite(*(const double *)at);
	case ND_T_STR:
		return *(const char *const *)at != NULL;
	case ND_T_OPT:
		memcpy(&pointer, at, sizeof(pointer));
		return pointer != NULL;
	case ND_T_BOOL:
	case ND_T_ENUM:
	case ND_T_STRV:
	case ND_T_GROUP:
	case ND_T_LIST:
	case ND_T_MAX:
		break;
	}
	return true;
}

bool nd_figure_zero(const struct nd_field *f, const void *base)
{
	const void *at = nd_field_at(base, f);

	switch (f->type) {
	case ND_T_U64:
	case ND_T_I64:
		return *(const uint64_t *)at == 0;
	case ND_T_F64:
		return fpclassify(*(const double *)at) == FP_ZERO;
	case ND_T_BOOL:
		return !*(const bool *)at;
	case ND_T_STR:
		return *(const char *const *)at && !**(const char *const *)at;
	case ND_T_STRV:
		return ((const struct nd_strv *)at)->n == 0;
	case ND_T_LIST:
		return ((const struct nd_list *)at)->n == 0;
	case ND_T_ENUM:
	case ND_T_GROUP:
	case ND_T_OPT:
	case ND_T_MAX:
		break;
	}
	return false;
}

static void whole(struct nd_str *out, uint64_t v, enum nd_measure m)
{
	if (m == ND_M_NONE || m == ND_M_COUNT) /* exact, whatever its size */
		nd_str_addf(out, "%llu", (unsigned long long)v);
	else
		nd_scaled_text(out, (double)v, m);
}

static void words(struct nd_str *out, const struct nd_strv *list)
{
	uint64_t i;

	for (i = 0; i < list->n; i++) {
		nd_str_addc(out, ' ', i > 0);
		nd_report_clean(out, list->v[i]);
	}
}

void nd_figure_text(struct nd_str *out, const struct nd_field *f, const void *base)
{
	const void *at = nd_field_at(base, f);
	int64_t v;

	if (!nd_figure_known(f, base)) {
		nd_str_add(out, "unknown");
		return;
	}
	switch (f->type) {
	case ND_T_U64:
		whole(out, *(const uint64_t *)at, f->measure);
		break;
	case ND_T_I64:
		v = *(const int64_t *)at;
		if (v < 0)
			nd_str_addc(out, '-', 1);
		whole(out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, f->measure);
		break;
	case ND_T_F64:
		nd_scaled_text(out, *(const double *)at, f->measure);
		break;
	case ND_T_BOOL:
		nd_str_add(out, *(const bool *)at ? "yes" : "no");
		break;
	case ND_T_STR:
		nd_report_clean(out, *(const char *const *)at);
		break;
	case ND_T_ENUM:
		nd_str_add(out, f->names[*(const int *)at]);
		break;
	case ND_T_STRV:
		words(out, at);
		break;
	case ND_T_GROUP:
	case ND_T_OPT:
	case ND_T_LIST:
	case ND_T_MAX:
		break;
	}
}

void nd_report_clean(struct nd_str *out, const char *text)
{
	uint32_t c = 0;
	unsigned n;

	for (; text && *text; text += n ? n : 1) {
		n = nd_utf8_read(text, &c);
		if (n == 0 || nd_utf8_is_control(c))
			nd_str_addc(out, '?', 1);
		else
			nd_str_addn(out, text, n);
	}
}

const struct nd_field *nd_report_row(const struct nd_table *table, const char *key)
{
	nd_row_for_each(f, table) {
		if (!strcmp(f->key, key))
			return f;
	}
	assert(false && "a key of ours is missing in its table");
	return table->rows;
}

bool nd_report_shown(const struct nd_field *f)
{
	return !(f->show & (ND_HIDE_PEER | ND_NOT_REPORT));
}
