/* SPDX-License-Identifier: MIT */
/* Fixed layouts: golden bytes, limits, documentation. */
#include <errno.h>
#include <string.h>

/* cmocka.h needs what stands above it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "wire/wire.h"

struct thing {
	uint64_t big, little, byte;
	uint8_t raw[3];
};

/* clang-format off */
static const struct nd_bin_row thing_rows[] = {
	{ "magic", ND_BIN_CONST, 2, 0, 0x4142, "who" },
	{ "big", ND_BIN_BE, 4, offsetof(struct thing, big), 0, "high byte first" },
	{ "little", ND_BIN_LE, 3, offsetof(struct thing, little), 0, "low byte first" },
	{ "raw", ND_BIN_BYTES, 3, offsetof(struct thing, raw), 0, "as it is" },
	{ "gap", ND_BIN_ZERO, 2, 0, 0, NULL },
	{ "byte", ND_BIN_BE, 1, offsetof(struct thing, byte), 0, "one" },
	{ "end", ND_BIN_CONST, 1, 0, 0x7f, "the last" },
	{ 0 }
};
static const struct nd_bin_row wide_rows[] = {
	{ "wide", ND_BIN_BE, 8, offsetof(struct thing, big), 0, "all bits" },
	{ 0 }
};
/* clang-format on */

static const struct nd_bin_layout thing_layout = { "thing", "A thing.", thing_rows,
						   sizeof(struct thing) };
static const struct nd_bin_layout wide_layout = { "wide", "Wide.", wide_rows,
						  sizeof(struct thing) };
static const struct thing thing = {
	.big = 0x01020304, .little = 0x0a0b0c, .byte = 0xfe, .raw = { 7, 8, 9 }
};
static const uint8_t golden[] = {
	'A', 'B', 1, 2, 3, 4, 0x0c, 0x0b, 0x0a, 7, 8, 9, 0, 0, 0xfe, 0x7f
};

static void writes_golden_bytes(void **state)
{
	uint8_t out[32];

	(void)state;
	memset(out, 0xee, sizeof(out));
	assert_int_equal(nd_bin_size(&thing_layout), sizeof(golden));
	assert_int_equal(nd_bin_encode(&thing_layout, &thing, out, sizeof(out)), sizeof(golden));
	assert_memory_equal(out, golden, sizeof(golden));
	assert_int_equal(out[sizeof(golden)], 0xee);
	assert_int_equal(nd_bin_encode(&thing_layout, &thing, out, sizeof(golden) - 1), -ENOSPC);
}

static void reads_them_back(void **state)
{
	struct thing back = { 0 };
	uint8_t in[sizeof(golden)];

	(void)state;
	memcpy(in, golden, sizeof(in));
	in[12] = 1; /* reserved bytes are not looked at */
	assert_int_equal(nd_bin_decode(&thing_layout, in, sizeof(in), &back), sizeof(in));
	assert_int_equal(back.big, thing.big);
	assert_int_equal(back.little, thing.little);
	assert_int_equal(back.byte, thing.byte);
	assert_memory_equal(back.raw, thing.raw, sizeof(back.raw));
}

static void waits_for_the_rest(void **state)
{
	struct thing back = { .big = 5 };
	size_t n;

	(void)state;
	for (n = 0; n < sizeof(golden); n++)
		assert_int_equal(nd_bin_decode(&thing_layout, golden, n, &back), 0);
	assert_int_equal(back.big, 5); /* untouched */
}

static void sees_a_wrong_constant(void **state)
{
	static const struct {
		size_t at, n;
		int want;
	} rows[] = {
		{ 0, 1, -EBADMSG }, { 1, 1, 0 }, /* not there yet */
		{ 1, 2, -EBADMSG }, { 1, 16, -EBADMSG }, { 15, 15, 0 }, { 15, 16, -EBADMSG },
	};
	struct thing back = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		uint8_t in[sizeof(golden)];

		memcpy(in, golden, sizeof(in));
		in[rows[i].at] ^= 0x20;
		assert_int_equal(nd_bin_decode(&thing_layout, in, rows[i].n, &back), rows[i].want);
	}
}

static void refuses_what_does_not_fit(void **state)
{
	struct thing t = thing;
	uint8_t out[32];

	(void)state;
	t.little = 1u << 24;
	assert_int_equal(nd_bin_encode(&thing_layout, &t, out, sizeof(out)), -ERANGE);
	t.big = UINT64_MAX;
	assert_int_equal(nd_bin_encode(&wide_layout, &t, out, sizeof(out)), 8);
	t.big = 0;
	assert_int_equal(nd_bin_decode(&wide_layout, out, 8, &t), 8);
	assert_true(t.big == UINT64_MAX);
}

static void prints_and_documents(void **state)
{
	nd_auto_str s = { 0 };

	(void)state;
	nd_bin_print(&thing_layout, &thing, &s);
	assert_string_equal(nd_str_text(&s),
			    "thing big=16909060 little=658188 raw=070809 byte=254");
	nd_str_reset(&s);
	nd_bin_doc(&thing_layout, &s);
	assert_string_equal(nd_str_text(&s),
			    "| at | bytes | field | content | meaning |\n|---|---|---|---|---|\n"
			    "| 0 | 2 | magic | constant `AB` | who |\n"
			    "| 2 | 4 | big | number, high byte first | high byte first |\n"
			    "| 6 | 3 | little | number, low byte first | low byte first |\n"
			    "| 9 | 3 | raw | bytes | as it is |\n"
			    "| 12 | 2 | gap | zero |  |\n"
			    "| 14 | 1 | byte | number, high byte first | one |\n"
			    "| 15 | 1 | end | constant `0x7f` | the last |\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_golden_bytes),
		cmocka_unit_test(reads_them_back),
		cmocka_unit_test(waits_for_the_rest),
		cmocka_unit_test(sees_a_wrong_constant),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(prints_and_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
