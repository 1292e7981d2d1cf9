/* SPDX-License-Identifier: MIT */
/* Figures for people: scaled, with their unit; and text that cannot steer a terminal. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/int.h"

#define EXACT_BYTES 100000.0 /* below this, sizes such as an MSS are told to the byte */

struct scale {
	double factor;
	const char *unit; /* NULL ends a table */
};

/* clang-format off */
static const struct scale bit_scales[] = {
	{ 1, "bit/s" }, { 1e3, "kbit/s" }, { 1e6, "Mbit/s" }, { 1e9, "Gbit/s" },
	{ 1e12, "Tbit/s" }, { 0, NULL }
};

static const struct scale rate_scales[] = {
	{ 1, "/s" }, { 1e3, "k/s" }, { 1e6, "M/s" }, { 1e9, "G/s" }, { 0, NULL }
};

static const struct scale byte_scales[] = {
	{ 1024.0, "KiB" }, { 1048576.0, "MiB" }, { 1073741824.0, "GiB" },
	{ 1099511627776.0, "TiB" }, { 1125899906842624.0, "PiB" },
	{ 1152921504606846976.0, "EiB" }, { 0, NULL }
};

static const struct scale time_scales[] = { /* from ns */
	{ 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" }, { 0, NULL }
};

/* clang-format on */

/* Digits behind the point, so that @digits are shown; rounding up may cost one. */
static int decimals(double v, int digits)
{
	double limit = 10 * (1 - 0.5 * pow(10, -digits));
	int n = digits - 1;

	while (n > 0 && v >= limit) {
		limit *= 10;
		n--;
	}
	return n;
}

/* The largest scale in which the figure, once rounded, has at least one digit before the point. */
static void scaled(struct nd_str *out, double value, const struct scale *s, int digits)
{
	double v = fabs(value);

	while (s[1].unit && v >= s[1].factor * (1 - 0.5 * pow(10, -digits)))
		s++;
	if (v == 0) /* NOLINT(clang-diagnostic-float-equal): exactly nothing */
		nd_str_addf(out, "0 %s", s->unit);
	else
		nd_str_addf(out, "%.*f %s", decimals(v / s->factor, digits), value / s->factor,
			    s->unit);
}

/* A plain figure: no exponent, whole from 1000 on. */
static void plain(struct nd_str *out, double v)
{
	if (fabs(v) >= 1000)
		nd_str_addf(out, "%.0f", v);
	else
		nd_str_addf(out, "%.4g", v);
}

static void percent(struct nd_str *out, double v)
{
	if (v != 0 && fabs(v) < 0.0001)
		nd_str_add(out, v < 0 ? "> -0.0001 %" : "< 0.0001 %");
	else if (fabs(v) >= 10)
		nd_str_addf(out, "%.1f %%", v);
	else
		nd_str_addf(out, "%.3g %%", v);
}

static void bytes(struct nd_str *out, double v)
{
	if (fabs(v) < EXACT_BYTES)
		nd_str_addf(out, "%.0f byte%s", v, fabs(v - 1) < 0.5 ? "" : "s");
	else
		scaled(out, v, byte_scales, 3);
}

void nd_scaled_text(struct nd_str *out, double value, enum nd_measure m)
{
	if (!isfinite(value)) {
		nd_str_add(out, "unknown");
		return;
	}
	switch (m) {
	case ND_M_BYTES:
		bytes(out, value);
		break;
	case ND_M_BITRATE:
		scaled(out, value, bit_scales, 4);
		break;
	case ND_M_RATE:
		scaled(out, value, rate_scales, 4);
		break;
	case ND_M_NS:
		scaled(out, value, time_scales, 3);
		break;
	case ND_M_US:
		scaled(out, value * 1e3, time_scales, 3);
		break;
	case ND_M_MS:
		scaled(out, value * 1e6, time_scales, 3);
		break;
	case ND_M_S:
		scaled(out, value * 1e9, time_scales, 4);
		break;
	case ND_M_RATIO:
		percent(out, value * 100);
		break;
	case ND_M_PERCENT:
		percent(out, value);
		break;
	case ND_M_CPU_S_PER_GB:
		nd_str_addf(out, "%.3g core-s/GB", value);
		break;
	case ND_M_CYCLES_PER_BYTE:
		nd_str_addf(out, "%.3g cycles/byte", value);
		break;
	case ND_M_CORES:
		nd_str_addf(out, "%.2f cores", value);
		break;
	case ND_M_MHZ:
		nd_str_addf(out, "%.0f MHz", value);
		break;
	case ND_M_NONE:
	case ND_M_COUNT:
	case ND_M_MAX:
		plain(out, value);
		break;
	}
}

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

unsigned nd_report_utf8(const char *text, uint32_t *ret)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)text;
	unsigned n, i;
	uint32_t c;

	if (p[0] < 0x80) {
		*ret = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	c = p[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) { /* the terminator continues nothing */
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if (c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

void nd_report_clean(struct nd_str *out, const char *text)
{
	uint32_t c = 0;
	unsigned n;

	for (; text && *text; text += n ? n : 1) {
		n = nd_report_utf8(text, &c);
		if (n == 0 || c < 0x20 || (c >= 0x7f && c <= 0x9f)) /* C0, DEL, C1 */
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
