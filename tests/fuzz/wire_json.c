/* SPDX-License-Identifier: MIT */
/* Any JSON as what an end measured and as a plan; what is accepted survives being written and read again. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "result/result.h"
#include "wire/wire.h"

#define ITEMS_MAX   10000u
#define ARENA_BYTES (64u << 20)

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static void put(const struct nd_table *table, const void *base, struct nd_str *out)
{
	struct nd_json j = { .out = out };

	nd_json_open(&j, NULL, '{');
	nd_wire_put(&j, table, base);
	nd_json_close(&j, '}');
	check(nd_str_ok(out));
}

static void check_table(const json_t *root, const struct nd_table *table)
{
	struct nd_arena a = { .limit = ARENA_BYTES }, b = { .limit = ARENA_BYTES };
	void *one = calloc(1, table->size), *two = calloc(1, table->size);
	nd_auto_str first = { 0 }, second = { 0 };
	struct nd_err err = { 0 };

	check(one && two);
	if (nd_wire_get(root, table, one, &a, ITEMS_MAX, &err) == 0) {
		json_t *again;

		put(table, one, &first);
		again = json_loadb(first.data, first.len, JSON_REJECT_DUPLICATES, NULL);
		check(again);
		check(nd_wire_get(again, table, two, &b, ITEMS_MAX, &err) == 0);
		put(table, two, &second);
		check(first.len == second.len && !memcmp(first.data, second.data, first.len));
		json_decref(again);
	} else {
		check(err.code < 0 && err.text[0]);
	}
	nd_arena_done(&a);
	nd_arena_done(&b);
	free(one);
	free(two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

	if (!root)
		return 0;
	check_table(root, &nd_side_table);
	check_table(root, &nd_plan_table);
	json_decref(root);
	return 0;
}
