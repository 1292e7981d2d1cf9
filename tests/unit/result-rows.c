/* SPDX-License-Identifier: MIT */
/* Rows: every member of a struct has one, each with its sentence; schema and page name them all. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "result/result.h"

#define MAX_BYTES 4096

static const struct nd_table *const tables[] = {
	&nd_side_table,        &nd_part_table,           &nd_interval_table,
	&nd_flow_row_table,    &nd_machine_table,        &nd_host_table,
	&nd_nic_facts_table,   &nd_totals_table,         &nd_tcp_table,
	&nd_cpu_table,         &nd_flow_joint_table,     &nd_loss_table,
	&nd_spread_table,      &nd_interval_joint_table, &nd_direction_table,
	&nd_result_table,      &nd_warning_table,        &nd_group_table,
	&nd_group_total_table, &nd_group_member_table,   &nd_latency_table,
	&nd_times_table,       &nd_quantile_table,
};

/* clang-format off */
static const size_t type_bytes[ND_T_MAX] = {
	[ND_T_U64] = sizeof(uint64_t), [ND_T_I64] = sizeof(int64_t), [ND_T_F64] = sizeof(double),
	[ND_T_BOOL] = sizeof(bool), [ND_T_STR] = sizeof(char *), [ND_T_ENUM] = sizeof(int),
	[ND_T_STRV] = sizeof(struct nd_strv), [ND_T_OPT] = sizeof(void *),
	[ND_T_LIST] = sizeof(struct nd_list),
};

/* Members without a row, and why: they are no figures. */
static const struct {
	const struct nd_table *table;
	size_t offset, bytes;
} exempt[] = {
	{ &nd_result_table, offsetof(struct nd_result, arena), sizeof(struct nd_arena) },
	{ &nd_result_table, offsetof(struct nd_result, plan), 4 * sizeof(void *) }, /* they and face have their own rows */
	{ &nd_result_table, offsetof(struct nd_result, repeats), sizeof(void *) }, /* for a tool's writers */
	{ &nd_result_table, offsetof(struct nd_result, samples), 2 * sizeof(void *) }, /* theirs, too */
	{ &nd_part_table, offsetof(struct nd_part, last), sizeof(struct nd_tcp_last) }, /* stays at this end */
	{ &nd_latency_table, offsetof(struct nd_latency, service_hist), 2 * sizeof(struct nd_hist_view) }, /* for exports */
	{ &nd_latency_table, offsetof(struct nd_latency, waits), sizeof(uint64_t) }, /* for one writer */
};

/* clang-format on */

/* Bytes that belong to no row may only be the padding behind a bool. */
static void check_cover(const struct nd_table *t)
{
	unsigned char covered[MAX_BYTES] = { 0 };
	size_t i, hole = 0;

	assert_true(t->size <= MAX_BYTES);
	for (i = 0; i < ND_COUNTOF(exempt); i++)
		if (exempt[i].table == t)
			memset(covered + exempt[i].offset, 1, exempt[i].bytes);
	nd_row_for_each(f, t) {
		size_t n = f->type == ND_T_GROUP ? f->table->size : type_bytes[f->type];

		for (i = 0; i < n; i++)
			if (covered[f->offset + i]++)
				fail_msg("%s: %s has two rows", t->name, f->key);
	}
	for (i = 0; i < t->size; i++) {
		hole = covered[i] ? 0 : hole + 1;
		if (hole == sizeof(uint64_t))
			fail_msg("%s: the member at byte %zu has no row", t->name, i - hole + 1);
	}
}

static void test_each_member_once(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < ND_COUNTOF(tables); i++) {
		check_cover(tables[i]);
		for (k = 0; k < i; k++)
			assert_string_not_equal(tables[k]->name, tables[i]->name);
	}
}

static void test_keys_and_help(void **state)
{
	size_t i, n;

	(void)state;
	for (i = 0; i < ND_COUNTOF(tables); i++)
		nd_row_for_each(f, tables[i]) {
			if (!f->help || !*f->help || f->help[strlen(f->help) - 1] != '.')
				fail_msg("%s: %s has no sentence", tables[i]->name, f->key);
			n = strspn(f->key, "abcdefghijklmnopqrstuvwxyz0123456789_");
			assert_int_equal(n, strlen(f->key));
			for (const struct nd_field *g = tables[i]->rows; g != f; g++)
				assert_string_not_equal(g->key, f->key);
			if ((f->show & (ND_SHOW_TEXT | ND_SHOW_NONZERO)) && !f->label)
				fail_msg("%s: %s is shown and has no label", tables[i]->name,
					 f->key);
		}
}

/* A unit in the key and the row's measure must say the same. */
static void test_units(void **state)
{
	/* clang-format off */
	static const struct {
		const char *ending;
		enum nd_measure measure;
	} endings[] = {
		{ "_bps", ND_M_BITRATE }, { "_bytes", ND_M_BYTES }, { "_ns", ND_M_NS }, { "_us", ND_M_US },
		{ "_ms", ND_M_MS }, { "_ratio", ND_M_RATIO }, { "_cores", ND_M_CORES }, { "_mhz", ND_M_MHZ },
		{ "_cpu_s_per_gb", ND_M_CPU_S_PER_GB }, { "_cycles_per_byte", ND_M_CYCLES_PER_BYTE },
		{ "s_per_s", ND_M_RATE },
	};

	/* clang-format on */
	size_t i, k, n, m;

	(void)state;
	for (i = 0; i < ND_COUNTOF(tables); i++)
		nd_row_for_each(f, tables[i]) {
			n = strlen(f->key);
			for (k = 0; k < ND_COUNTOF(endings); k++) {
				m = strlen(endings[k].ending);
				if (n > m && !strcmp(f->key + n - m, endings[k].ending) &&
				    f->measure != endings[k].measure)
					fail_msg("%s: %s has another unit", tables[i]->name,
						 f->key);
			}
		}
}

static void test_documents(void **state)
{
	nd_auto_str schema = { 0 };
	nd_auto_str page = { 0 };
	nd_auto_str text = { 0 };
	size_t i;

	(void)state;
	nd_result_schema(&schema);
	nd_result_doc(&page);
	assert_true(nd_str_ok(&schema) && nd_str_ok(&page));
	for (i = 0; i < ND_COUNTOF(tables); i++) {
		if (tables[i] == &nd_interval_table || tables[i] == &nd_flow_row_table)
			continue; /* between the ends alone */
		nd_str_reset(&text);
		nd_str_addf(&text, "\"%s\": {", tables[i]->name);
		assert_non_null(strstr(nd_str_text(&schema), nd_str_text(&text)));
		nd_str_reset(&text);
		nd_str_addf(&text, "\n## %s\n", tables[i]->name);
		assert_non_null(strstr(nd_str_text(&page), nd_str_text(&text)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_member_once),
		cmocka_unit_test(test_keys_and_help),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
