/* SPDX-License-Identifier: MIT */
/* What stands behind the headers, and the pattern that --verify looks for. */
#include <endian.h>
#include <string.h>

#include "frame/int.h"

#define WORD 8u

/*
 * Eight bytes of the pattern, little-endian in memory on every machine: a multiplicative hash of stream and
 * place, so that shifted, swapped and stale data differ, at a few cycles a word.
 */
static uint64_t word_at(uint64_t key, uint64_t index)
{
	uint64_t x = (index + key * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;

	x ^= x >> 29;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 32;
}

static void put_word(uint8_t *at, uint64_t x)
{
	x = htole64(x);
	memcpy(at, &x, WORD);
}

static void put_part(uint8_t *at, size_t n, uint64_t key, uint64_t offset)
{
	uint8_t word[WORD];

	put_word(word, word_at(key, offset / WORD));
	memcpy(at, word + offset % WORD, n);
}

static uint64_t differing(const uint8_t *a, const uint8_t *b, size_t n)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += a[i] != b[i];
	return bad;
}

void nd_pattern_fill(uint8_t *buf, size_t n, uint64_t key, uint64_t at)
{
	size_t head = (WORD - at % WORD) % WORD, i;

	if (head > n)
		head = n;
	if (head)
		put_part(buf, head, key, at);
	for (i = head; n - i >= WORD; i += WORD)
		put_word(buf + i, word_at(key, (at + i) / WORD));
	if (i < n)
		put_part(buf + i, n - i, key, at + i);
}

uint64_t nd_pattern_check(const uint8_t *buf, size_t n, uint64_t key, uint64_t at)
{
	size_t head = (WORD - at % WORD) % WORD, i;
	uint8_t want[WORD];
	uint64_t bad = 0;

	if (head > n)
		head = n;
	if (head) {
		put_part(want, head, key, at);
		bad += differing(buf, want, head);
	}
	for (i = head; n - i >= WORD; i += WORD) {
		put_word(want, word_at(key, (at + i) / WORD));
		if (memcmp(want, buf + i, WORD) != 0)
			bad += differing(buf + i, want, WORD);
	}
	if (i < n) {
		put_part(want, n - i, key, at + i);
		bad += differing(buf + i, want, n - i);
	}
	return bad;
}

static void fill_random(uint8_t *buf, size_t n, uint64_t seed)
{
	uint64_t x = seed ? seed : 1; /* 0 stays 0 for ever */
	size_t i;

	for (i = 0; i < n; i += WORD) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(buf + i, &x, n - i < WORD ? n - i : WORD);
	}
}

void nd_payload_fill(void *buf, size_t size, enum nd_payload payload, uint64_t seed)
{
	switch (payload) {
	case ND_PAYLOAD_ZERO:
		memset(buf, 0, size);
		break;
	case ND_PAYLOAD_PATTERN:
		nd_pattern_fill(buf, size, 0, 0);
		break;
	case ND_PAYLOAD_FILL_A:
		memset(buf, 'A', size);
		break;
	case ND_PAYLOAD_FILL_B:
		memset(buf, 'B', size);
		break;
	case ND_PAYLOAD_NETPERF:
		for (size_t i = 0; i < size; i++)
			((char *)buf)[i] = "netperf"[i % sizeof("netperf")];
		break;
	default:
		fill_random(buf, size, seed);
	}
}
