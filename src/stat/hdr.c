/* SPDX-License-Identifier: MIT */
/*
 * Payload V2: a header of 40 bytes, then the counts from the lowest value up as ZigZag LEB128, where a negative
 * number stands for so many empty buckets. A log holds it in a zlib stream, in base64; the stream here has stored
 * blocks, since runs of empty buckets are short already and no library is needed then.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat/hdr.h"

#define COOKIE            0x1c849313u /* V2, with the mark of its variable length numbers */
#define COOKIE_COMPRESSED 0x1c849314u
#define HEADER_BYTES      40u
#define VARINT_BYTES      9u
#define DIGITS            3u
#define STORED_MAX        65535u
#define ADLER             65521u

static uint8_t *put_be32(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

static uint8_t *put_be64(uint8_t *at, uint64_t v)
{
	v = htobe64(v);
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

/* The ninth byte holds eight bits: no number takes more. */
static uint8_t *put_varint(uint8_t *at, int64_t v)
{
	uint64_t u = v < 0 ? (uint64_t) - (v + 1) << 1 | 1 : (uint64_t)v << 1;
	unsigned i;

	for (i = 0; i + 1 < VARINT_BYTES && u > 0x7f; i++) {
		*at++ = (uint8_t)((u & 0x7f) | 0x80);
		u >>= 7;
	}
	*at++ = (uint8_t)u;
	return at;
}

static uint8_t *put_counts(uint8_t *at, const struct nd_hist_view *v)
{
	int64_t empty = 0;

	for (uint32_t i = 0; i < v->n; i++) {
		if (v->v[i] == 0) {
			empty++;
			continue;
		}
		if (empty)
			at = put_varint(at, -empty);
		empty = 0;
		at = put_varint(at, (int64_t)ND_MIN(v->v[i], (uint64_t)INT64_MAX));
	}
	return at;
}

int nd_hdr_encode(const struct nd_hist_view *v, uint8_t **ret, size_t *ret_n)
{
	const double ratio = 1;
	uint64_t filled = 0, ratio_bits;
	uint8_t *room, *at;

	for (uint32_t i = 0; i < v->n; i++)
		filled += v->v[i] != 0;
	room = malloc(HEADER_BYTES + (size_t)filled * 2 * VARINT_BYTES);
	if (!room)
		return -ENOMEM;
	at = put_counts(room + HEADER_BYTES, v);
	*ret_n = (size_t)(at - room);
	memcpy(&ratio_bits, &ratio, sizeof(ratio_bits));
	at = put_be32(room, COOKIE);
	at = put_be32(at, (uint32_t)(*ret_n - HEADER_BYTES));
	at = put_be32(at, 0); /* no offset of its buckets */
	at = put_be32(at, DIGITS);
	at = put_be64(at, 1);
	at = put_be64(at, ND_HIST_MAX_NS);
	(void)put_be64(at, ratio_bits); /* the last one */
	*ret = room;
	return 0;
}

static uint32_t adler32(const uint8_t *p, size_t n)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < n; i++) {
		a = (a + p[i]) % ADLER;
		b = (b + a) % ADLER;
	}
	return b << 16 | a;
}

/* RFC 1950 around blocks of RFC 1951 that are stored as they are. */
static uint8_t *put_zlib(uint8_t *at, const uint8_t *p, size_t n)
{
	uint32_t sum = adler32(p, n);

	*at++ = 0x78;
	*at++ = 0x01;
	for (;;) {
		uint16_t len = (uint16_t)ND_MIN(n, STORED_MAX);

		*at++ = len == n; /* the last block */
		*at++ = (uint8_t)(len & 0xff);
		*at++ = (uint8_t)(len >> 8);
		*at++ = (uint8_t)(~len & 0xff);
		*at++ = (uint8_t)((uint16_t)~len >> 8);
		memcpy(at, p, len);
		at += len;
		p += len;
		n -= len;
		if (n == 0)
			break;
	}
	return put_be32(at, sum);
}

static void put_base64(struct nd_str *out, const uint8_t *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;
		char four[5] = "====";

		if (i + 1 < n)
			v |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < n)
			v |= p[i + 2];
		four[0] = digits[v >> 18];
		four[1] = digits[v >> 12 & 63];
		if (i + 1 < n)
			four[2] = digits[v >> 6 & 63];
		if (i + 2 < n)
			four[3] = digits[v & 63];
		nd_str_add(out, four);
	}
}

void nd_hdr_header(struct nd_str *out, const char *tool, uint64_t started_unix_ms)
{
	nd_str_addf(out, "#[Logged with %s]\n#[Histogram log format version 1.3]\n", tool);
	nd_str_addf(out, "#[StartTime: %llu.%03u (seconds since epoch)]\n",
		    (unsigned long long)(started_unix_ms / 1000),
		    (unsigned)(started_unix_ms % 1000));
	nd_str_add(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
			"\"Interval_Compressed_Histogram\"\n");
}

/* What stands in a line's last column, before base64. */
static int pack(const struct nd_hist_view *v, uint8_t **ret, size_t *ret_n)
{
	uint8_t *plain, *packed, *end;
	size_t n;

	if (nd_hdr_encode(v, &plain, &n) < 0)
		return -ENOMEM;
	packed = malloc(8 + 2 + n + (n / STORED_MAX + 1) * 5 + 4);
	if (packed) {
		end = put_zlib(packed + 8, plain, n);
		*ret_n = (size_t)(end - packed);
		(void)put_be32(put_be32(packed, COOKIE_COMPRESSED), (uint32_t)(*ret_n - 8));
		*ret = packed;
	}
	free(plain);
	return packed ? 0 : -ENOMEM;
}

int nd_hdr_line(struct nd_str *out, const char *tag, double start_s, double length_s,
		const struct nd_hist_view *v)
{
	uint8_t *packed;
	size_t n;

	if (pack(v, &packed, &n) < 0)
		return -ENOMEM;
	if (tag)
		nd_str_addf(out, "Tag=%s,", tag);
	nd_str_addf(out, "%.3f,%.3f,%.3f,", start_s, length_s,
		    v->count ? (double)v->max_ns / 1e6 : 0.0);
	put_base64(out, packed, n);
	nd_str_addc(out, '\n', 1);
	free(packed);
	return nd_str_ok(out) ? 0 : -ENOMEM;
}
