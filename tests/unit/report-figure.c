/* SPDX-License-Identifier: MIT */
/* Figures as people read them, and text that cannot steer a terminal. */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "report/int.h"

/* clang-format off */
static const struct {
	double value;
	enum nd_measure measure;
	const char *text;
} figures[] = {
	{ 0,                 ND_M_BITRATE, "0 bit/s" },
	{ 9412345678.0,      ND_M_BITRATE, "9.412 Gbit/s" },
	{ 94123456789.0,     ND_M_BITRATE, "94.12 Gbit/s" },
	{ 941234567890.0,    ND_M_BITRATE, "941.2 Gbit/s" },
	{ 999960000.0,       ND_M_BITRATE, "1.000 Gbit/s" }, /* not 1000 Mbit/s */
	{ 9999600.0,         ND_M_BITRATE, "10.00 Mbit/s" }, /* not 10.000 */
	{ 999.94,            ND_M_BITRATE, "999.9 bit/s" },
	{ 12345e12,          ND_M_BITRATE, "12345 Tbit/s" },
	{ 0.25,              ND_M_BITRATE, "0.250 bit/s" },
	{ 1,                 ND_M_BYTES,   "1 byte" },
	{ 1448,              ND_M_BYTES,   "1448 bytes" },
	{ 65507,             ND_M_BYTES,   "65507 bytes" },
	{ 1048576,           ND_M_BYTES,   "1.00 MiB" },
	{ 11811160064.0,     ND_M_BYTES,   "11.0 GiB" },
	{ 1234567,           ND_M_RATE,    "1.235 M/s" },
	{ 812.25,            ND_M_RATE,    "812.2 /s" },
	{ 21,                ND_M_NS,      "21.0 ns" },
	{ 431.5,             ND_M_US,      "432 us" },
	{ 1204,              ND_M_US,      "1.20 ms" },
	{ -1250.5,           ND_M_US,      "-1.25 ms" },
	{ 2500,              ND_M_MS,      "2.50 s" },
	{ 10,                ND_M_S,       "10.00 s" },
	{ 86400,             ND_M_S,       "86400 s" },
	{ 0.0231,            ND_M_RATIO,   "2.31 %" },
	{ 0.0000000001,      ND_M_RATIO,   "< 0.0001 %" },
	{ 0,                 ND_M_RATIO,   "0 %" },
	{ 1,                 ND_M_RATIO,   "100.0 %" },
	{ 12.5,              ND_M_PERCENT, "12.5 %" },
	{ 1.173,             ND_M_CPU_S_PER_GB, "1.17 core-s/GB" },
	{ 0.853,             ND_M_CYCLES_PER_BYTE, "0.853 cycles/byte" },
	{ 1.384,             ND_M_CORES,   "1.38 cores" },
	{ 2450,              ND_M_MHZ,     "2450 MHz" },
	{ 312.25,            ND_M_COUNT,   "312.2" },
	{ 123456,            ND_M_COUNT,   "123456" },
	{ (double)NAN,       ND_M_BITRATE, "unknown" },
	{ (double)INFINITY,  ND_M_BYTES,   "unknown" },
};

static const struct {
	const char *dirty, *clean;
} texts[] = {
	{ NULL, "" },
	{ "", "" },
	{ "h\xc3\xb6st", "h\xc3\xb6st" },
	{ "a\x1b[2Jb\nc\x7f", "a?[2Jb?c?" },
	{ "\xc2\x9b" "2J", "?2J" },     /* C1 as UTF-8 */
	{ "\xff\xc3", "??" },           /* no UTF-8; cut off */
	{ "\xed\xa0\x80", "???" },      /* a surrogate */
	{ "\xc0\xaf", "??" },           /* longer than needed */
};

/* clang-format on */

static void test_scaled(void **state)
{
	nd_auto_str text = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(figures); i++) {
		nd_str_reset(&text);
		nd_scaled_text(&text, figures[i].value, figures[i].measure);
		if (strcmp(nd_str_text(&text), figures[i].text) != 0)
			fail_msg("%g: '%s' is not '%s'", figures[i].value, nd_str_text(&text),
				 figures[i].text);
	}
}

static void test_clean(void **state)
{
	nd_auto_str text = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(texts); i++) {
		nd_str_reset(&text);
		nd_report_clean(&text, texts[i].dirty);
		assert_string_equal(nd_str_text(&text), texts[i].clean);
	}
}

struct sample {
	uint64_t count, bytes;
	int64_t offset_ns;
	bool on;
	const char *text;
};

static void test_rows(void **state)
{
	/* clang-format off */
	static const struct nd_field rows[] = {
		ND_U64(struct sample, count, ND_M_COUNT, 0, NULL, ""),
		ND_U64(struct sample, bytes, ND_M_BYTES, 0, NULL, ""),
		ND_I64(struct sample, offset_ns, ND_M_NS, 0, NULL, ""),
		ND_BOOL(struct sample, on, 0, NULL, ""),
		ND_STR(struct sample, text, 0, NULL, ""),
		ND_ROWS_END
	};
	/* clang-format on */
	static const char *const known[] = { "18446744073709551614", "2.00 MiB", "-1.50 us", "yes",
					     "a?b" };
	struct sample s = { UINT64_MAX - 1, 2097152, -1500, true, "a\tb" };
	struct sample zero = { .text = "" };
	struct sample unknown = { ND_UNKNOWN, ND_UNKNOWN, INT64_MIN, false, NULL };
	nd_auto_str text = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(known); i++) {
		nd_str_reset(&text);
		nd_figure_text(&text, &rows[i], &s);
		assert_string_equal(nd_str_text(&text), known[i]);
		assert_true(nd_figure_known(&rows[i], &s));
		assert_false(nd_figure_zero(&rows[i], &s));
		assert_true(nd_figure_zero(&rows[i], &zero));
		assert_int_equal(nd_figure_known(&rows[i], &unknown), rows[i].type == ND_T_BOOL);
	}
	nd_str_reset(&text);
	nd_figure_text(&text, &rows[0], &unknown);
	assert_string_equal(nd_str_text(&text), "unknown");
}

/* A line breaks between items, and is nothing without one. */
static void test_lines(void **state)
{
	nd_auto_str text = { 0 };
	struct nd_line l = { .out = &text, .label = "Label", .indent = ND_TEXT_INDENT };
	const char *p, *end;
	unsigned i;

	(void)state;
	nd_line_end(&l);
	assert_string_equal(nd_str_text(&text), "");
	for (i = 0; i < 20; i++)
		nd_line_item(&l, ", ", "item number %u", i);
	nd_line_end(&l);
	for (p = nd_str_text(&text); *p; p = end + 1) {
		end = strchr(p, '\n');
		assert_non_null(end);
		assert_true(end - p <= ND_TEXT_COLUMNS);
		assert_true(end[-1] != ' ');
		assert_int_equal(strncmp(p + ND_TEXT_INDENT, "item", 4), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scaled),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
