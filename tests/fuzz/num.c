/* SPDX-License-Identifier: MIT */
/* Any text as a number of every unit; what is accepted survives being written and read again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static void check_unit(const char *text, enum nd_unit unit)
{
	uint64_t v = 0, back = 0, limited = 0;
	struct nd_err err = { 0 };
	char buf[64];
	int r = nd_parse_number(text, unit, &v);

	check(r == 0 || r == -EINVAL || r == -ERANGE);
	check(nd_parse_in("x", text, unit, 1000, 1000000, &limited, &err) != 0 ||
	      (r == 0 && limited == v && v >= 1000 && v <= 1000000));
	check((err.code == 0) == (err.text[0] == '\0'));
	if (r < 0)
		return;
	(void)nd_format_unit(v, unit, buf, sizeof(buf)); /* returns buf */
	check(nd_parse_number(buf, unit, &back) == 0 && back == v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	uint64_t prefix = 0;
	int64_t signed_prefix = 0;
	double d = 0;
	unsigned unit;
	int r;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	for (unit = 0; unit < ND_UNIT_MAX; unit++)
		check_unit(text, unit);
	check(nd_parse_prefix_u64(text, &prefix) <= strlen(text));
	check(nd_parse_prefix_i64(text, &signed_prefix) <= strlen(text));
	check(nd_parse_prefix_double(text, &d) <= strlen(text) && d - d == 0);
	r = nd_parse_double(text, &d);
	check(r == -EINVAL || (r == 0 && d - d == 0)); /* finite */
	free(text);
	return 0;
}
