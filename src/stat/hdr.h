/* SPDX-License-Identifier: MIT */
/*
 * Histograms in the log format of HdrHistogram (version 1.3, payload V2): other programs read, merge and plot it.
 * Buckets are those of a histogram from 1 ns to 1 h with three significant digits, so nothing is lost.
 */
#ifndef ND_STAT_HDR_H
#define ND_STAT_HDR_H

#include "base/str.h"
#include "stat/hist.h"

/** nd_hdr_header() - the first lines of a log. @started_unix_ms: wall clock at the agreed start. */
void nd_hdr_header(struct nd_str *out, const char *tool, uint64_t started_unix_ms);
/** nd_hdr_line() - one histogram: @start_s after the start, over @length_s. @tag: no comma, no blank.
 * Return: 0, -ENOMEM. */
ND_MUST_CHECK int nd_hdr_line(struct nd_str *out, const char *tag, double start_s, double length_s,
			      const struct nd_hist_view *v);
/** nd_hdr_encode() - payload V2 of @v, not compressed, into bytes that the caller frees. -ENOMEM. */
ND_MUST_CHECK int nd_hdr_encode(const struct nd_hist_view *v, uint8_t **ret, size_t *ret_n);

#endif
