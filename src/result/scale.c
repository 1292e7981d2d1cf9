/* SPDX-License-Identifier: MIT */
/* Numbers for people: scaled, with their unit, alike in reports and in the sentences of warnings. */
#include <math.h>

#include "base/real.h"
#include "result/scale.h"

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
	double limit = 10 * (1 - 0.5 * nd_real_pow10(-digits));
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

	while (s[1].unit && v >= s[1].factor * (1 - 0.5 * nd_real_pow10(-digits)))
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
