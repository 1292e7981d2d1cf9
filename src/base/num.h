/* SPDX-License-Identifier: MIT */
/* Strict reading of numbers with units; the only place in the tree that reads numbers from text. */
#ifndef ND_BASE_NUM_H
#define ND_BASE_NUM_H

#include "base/base.h"
#include "base/err.h"

enum nd_unit {
	ND_UNIT_COUNT,   /* k M G T = 1000^n, Ki Mi Gi Ti = 1024^n, optional fraction if exact */
	ND_UNIT_OPS,     /* operations a second: as COUNT, optional /s or pps behind */
	ND_UNIT_BYTES,   /* as COUNT, optional B behind */
	ND_UNIT_BITRATE, /* bit/s: as COUNT, optional bit, bit/s, bps behind */
	ND_UNIT_TIME_NS, /* ns us ms s m h, bare number = seconds; result in ns */
	ND_UNIT_PERCENT, /* optional %; result in millionths (1 % = 10000) */
	ND_UNIT_MAX
};

/**
 * nd_parse_number() - read the whole of @text as a number of @unit.
 * No sign, no blanks, no locale, nothing behind. "1.5k" is 1500; "0.5" of a count is refused.
 * Base 10, or 16 behind 0x without unit.
 * Return: 0; -EINVAL not a number of this unit; -ERANGE does not fit 64 bits. @ret only on success.
 */
ND_MUST_CHECK int nd_parse_number(const char *text, enum nd_unit unit, uint64_t *ret);

/**
 * nd_parse_in() - nd_parse_number() with limits, and a sentence when it fails:
 * "--time: '0' is outside 1s..24h". @name is put in front (an option as typed).
 */
ND_MUST_CHECK int nd_parse_in(const char *name, const char *text, enum nd_unit unit, uint64_t min,
			      uint64_t max, uint64_t *ret, struct nd_err *err);

/** nd_parse_double() - plain decimal or exponent form, finite. Return: 0 or -EINVAL. */
ND_MUST_CHECK int nd_parse_double(const char *text, double *ret);

/** nd_parse_prefix_u64() - digits @text starts with. Return: bytes used, 0 when none or too big. */
size_t nd_parse_prefix_u64(const char *text, uint64_t *ret);
/** nd_parse_prefix_i64() - the same behind an optional '-'. */
size_t nd_parse_prefix_i64(const char *text, int64_t *ret);
/** nd_parse_prefix_double() - what nd_parse_double() takes, at the front of @text. Return: bytes used, or 0. */
size_t nd_parse_prefix_double(const char *text, double *ret);

/** nd_format_unit() - shortest text that reads back to @value: "10s", "64Ki", "1500", "1M". */
const char *nd_format_unit(uint64_t value, enum nd_unit unit, char *buf, size_t size);

#endif
