/* SPDX-License-Identifier: MIT */
/* The bytes of the native language: golden messages and introductions, claims, framing, printing. */
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

#include "dialect/int.h"

static const struct nd_dialect *native(void)
{
	return nd_dialect_find("native");
}

/* clang-format off */
static const struct {
	enum nd_native_message m;
	struct nd_native_body b;
	const char *want;
} golden[] = {
	{ ND_MSG_HELLO, { .protocol = 1, .version = "0.1.0", .boot_id = "b", .netns = "4026", .hostname = "h",
			  .cpus = 4, .datagram_bytes = 1472, .follows = 1,
			  .longest = 60000000000, .queue = 4096 },
	  "{\"m\":\"hello\",\"protocol\":1,\"version\":\"0.1.0\",\"boot_id\":\"b\",\"netns\":\"4026\","
	  "\"hostname\":\"h\",\"cpus\":4,\"datagram_bytes\":1472,\"longest\":60000000000,\"queue\":4096,"
	  "\"follows\":1}" },
	{ ND_MSG_TIME, { .sent = 123, .at = ND_UNKNOWN }, "{\"m\":\"time\",\"sent\":123}" },
	{ ND_MSG_TIME, { .sent = 123, .at = 456 }, "{\"m\":\"time\",\"sent\":123,\"at\":456}" },
	{ ND_MSG_REFUSE, { .sentence = "no" }, "{\"m\":\"refuse\",\"sentence\":\"no\"}" },
	{ ND_MSG_READY, { .rtt = ND_UNKNOWN }, "{\"m\":\"ready\"}" },
	{ ND_MSG_READY, { .rtt = 250000 }, "{\"m\":\"ready\",\"rtt\":250000}" },
	{ ND_MSG_GATHER, { .at = 98 }, "{\"m\":\"gather\",\"at\":98}" },
	{ ND_MSG_GO, { .at = 99 }, "{\"m\":\"go\",\"at\":99}" },
	{ ND_MSG_SENT, { 0 }, "{\"m\":\"sent\"}" },
	{ ND_MSG_STOP, { .reason = "interrupted" }, "{\"m\":\"stop\",\"reason\":\"interrupted\"}" },
	{ ND_MSG_BEAT, { 0 }, "{\"m\":\"beat\"}" },
	{ ND_MSG_BYE, { 0 }, "{\"m\":\"bye\"}" },
	{ ND_MSG_ERROR, { .sentence = "a \"b\"" }, "{\"m\":\"error\",\"sentence\":\"a \\\"b\\\"\"}" },
};

/* clang-format on */

static void expect_message(enum nd_native_message m, const struct nd_native_body *b,
			   const char *want)
{
	nd_auto_str s = { 0 };
	size_t n = strlen(want);
	const uint8_t *data;

	assert_int_equal(nd_native_encode(m, b, &s), 0);
	data = (const uint8_t *)s.data;
	assert_int_equal(s.len, n + 4);
	assert_int_equal(data[0], 0);
	assert_int_equal(data[1], n >> 16);
	assert_int_equal(data[2], n >> 8 & 0xff);
	assert_int_equal(data[3], n & 0xff);
	assert_string_equal(s.data + 4, want);
	assert_int_equal(native()->message_bytes(data, s.len, 0), s.len);
	assert_int_equal(native()->message_bytes(data, s.len - 1, 0), 0);
}

static void golden_messages(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(golden); i++)
		expect_message(golden[i].m, &golden[i].b, golden[i].want);
}

static void golden_plan(void **state)
{
	static const char plan_text[] =
		"\"plan\":{\"workloads\":[{\"active\":\"server\",\"load\":\"stream\",\"frame\":\"native\","
		"\"transport\":\"udp\",\"flows\":2,\"first_flow\":0,\"message_bytes\":1472,"
		"\"request_bytes\":0,\"response_bytes\":0,\"rate_bps\":1000000,\"rate_ops\":0,"
		"\"total_bytes\":0,\"total_ops\":0}],";
	struct nd_plan plan;
	struct nd_native_body b = { .token = "000102030405060708090a0b0c0d0e0f",
				    .threads = 2,
				    .plan = &plan };
	nd_auto_str s = { 0 };

	(void)state;
	nd_plan_init(&plan);
	plan.workloads = plan.workload_list.n = 1;
	plan.workload[0] = (struct nd_workload){ .active = ND_SERVER,
						 .load = "stream",
						 .frame = "native",
						 .transport = "udp",
						 .flows = 2,
						 .message_bytes = 1472,
						 .rate_bps = 1000000 };
	plan.duration_ns = 10 * ND_NS_PER_S;
	assert_int_equal(nd_native_encode(ND_MSG_PLAN, &b, &s), 0);
	assert_non_null(strstr(s.data + 4, "{\"m\":\"plan\",\"plan\":{"));
	assert_non_null(strstr(s.data + 4, plan_text));
	assert_non_null(strstr(s.data + 4, "\"duration_ns\":10000000000"));
	nd_str_reset(&s);
	b.port = ND_UNKNOWN; /* it has no connections that come and go */
	assert_int_equal(nd_native_encode(ND_MSG_AGREED, &b, &s), 0);
	assert_non_null(strstr(s.data + 4,
			       "{\"m\":\"agreed\",\"token\":\"000102030405060708090a0b0c0d0e0f\","
			       "\"threads\":2,\"plan\":{"));
	nd_plan_done(&plan);
}

static void golden_intervals_and_result(void **state)
{
	struct nd_interval_sample sample[2];
	struct nd_side side;
	struct nd_part part;
	nd_auto_str s = { 0 };

	(void)state;
	nd_table_unknown(&nd_interval_table, &sample[0]);
	sample[0].index = 3;
	sample[0].phase = "measure";
	sample[1] = sample[0];
	sample[1].index = 4;
	expect_message(ND_MSG_INTERVALS,
		       &(struct nd_native_body){ .list = { .v = sample, .n = 2 } },
		       "{\"m\":\"intervals\",\"list\":{\"index\":\"3 4\",\"phase\":\"measure\"}}");

	nd_table_unknown(&nd_side_table, &side);
	nd_table_unknown(&nd_part_table, &part);
	part.workload = 0;
	side.name = "server";
	side.parts = (struct nd_list){ .v = &part, .n = 1 };
	assert_int_equal(
		nd_native_encode(ND_MSG_RESULT,
				 &(struct nd_native_body){ .side = &side, .flows_omitted = true },
				 &s),
		0);
	assert_non_null(strstr(s.data + 4, "{\"m\":\"result\",\"side\":{\"name\":\"server\""));
	assert_non_null(strstr(s.data + 4, "\"parts\":[{\"workload\":0"));
	assert_non_null(
		strstr(s.data + 4, "},\"flows_omitted\":true,\"intervals_omitted\":false}"));
}

/* clang-format off */
#define TOKEN	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
static const uint8_t preamble[28] = { 'N', 'D', 'F', '1', TOKEN, 0, 1, 0x86, 0x9f, 0, 0, 0, 0 };
static const uint8_t preamble_answer[8] = { 'N', 'D', 'O', 'K', 0, 1, 0x86, 0x9f };
static const uint8_t datagram[32] = { 'N', 'D', 'U', '1', TOKEN, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0 };
static const uint8_t datagram_answer[16] = { 'N', 'D', 'U', 'K', 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0 };
static const uint8_t token[16] = { TOKEN };

/* clang-format on */

static void golden_introductions(void **state)
{
	struct nd_native_intro intro = { .flow = 99999 };
	uint8_t out[64];

	(void)state;
	memcpy(intro.key, token, sizeof(token));
	assert_int_equal(nd_bin_encode(&nd_native_intro_layout, &intro, out, sizeof(out)), 28);
	assert_memory_equal(out, preamble, 28);
	assert_int_equal(nd_bin_encode(&nd_native_intro_answer_layout, &intro, out, sizeof(out)),
			 8);
	assert_memory_equal(out, preamble_answer, 8);
	intro.flow = 5;
	assert_int_equal(nd_bin_encode(&nd_native_token_layout, &intro, out, sizeof(out)), 32);
	assert_memory_equal(out, datagram, 32);
	assert_int_equal(nd_bin_encode(&nd_native_token_answer_layout, &intro, out, sizeof(out)),
			 16);
	assert_memory_equal(out, datagram_answer, 16);
}

static void claims_flows(void **state)
{
	uint8_t data[64] = { 0 };
	struct nd_claim c;
	size_t n;

	(void)state;
	memcpy(data, preamble, sizeof(preamble)); /* and payload behind it */
	for (n = 0; n <= sizeof(data); n++) {
		native()->claim(data, n, false, &c);
		assert_int_equal(c.kind, n < 28 ? ND_CLAIM_MORE : ND_CLAIM_FLOW);
	}
	assert_int_equal(c.used, 28);
	assert_int_equal(c.flow, 99999);
	assert_memory_equal(c.key, token, 16);
	assert_int_equal(c.answer_bytes, 8);
	assert_memory_equal(c.answer, preamble_answer, 8);

	memcpy(data, datagram, sizeof(datagram));
	for (n = 0; n <= sizeof(data); n++) {
		native()->claim(data, n, true, &c);
		assert_int_equal(c.kind, n == 32 ? ND_CLAIM_FLOW : ND_CLAIM_ALIEN);
		assert_true(c.answer_bytes <= n); /* no amplification */
	}
	native()->claim(datagram, 32, true, &c);
	assert_int_equal(c.flow, 5);
	assert_memory_equal(c.key, token, 16);
	assert_int_equal(c.answer_bytes, 16);
	assert_memory_equal(c.answer, datagram_answer, 16);
	native()->claim(preamble, 28, true, &c);
	assert_int_equal(c.kind, ND_CLAIM_ALIEN);
	native()->claim(datagram, 32, false, &c);
	assert_int_equal(c.kind, ND_CLAIM_ALIEN);
}

static void claims_links(void **state)
{
	static const struct {
		const char *data;
		size_t n;
		enum nd_claim_kind want;
	} rows[] = {
		{ "", 0, ND_CLAIM_MORE },
		{ "\0", 1, ND_CLAIM_MORE },
		{ "\1", 1, ND_CLAIM_MORE },
		{ "\2", 1, ND_CLAIM_ALIEN },
		{ "G", 1, ND_CLAIM_ALIEN },
		{ "N", 1, ND_CLAIM_MORE },
		{ "NDF", 3, ND_CLAIM_MORE },
		{ "NDX", 3, ND_CLAIM_ALIEN },
		{ "NDF2", 4, ND_CLAIM_ALIEN },
		{ "\0\0\0", 3, ND_CLAIM_MORE },
		{ "\0\0\0\1", 4, ND_CLAIM_ALIEN },
		{ "\0\0\0\2", 4, ND_CLAIM_MORE },
		{ "\0\0\0\2{", 5, ND_CLAIM_CONTROL },
		{ "\0\0\0\2x", 5, ND_CLAIM_ALIEN },
		{ "\1\0\0\0{", 5, ND_CLAIM_CONTROL },
		{ "\1\0\0\1{", 5, ND_CLAIM_ALIEN },
		{ "GET / HTTP/1.1\r\n", 16, ND_CLAIM_ALIEN },
		{ "\x16\x03\x01\x02\x00", 5, ND_CLAIM_ALIEN },
	};

	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++) {
		struct nd_claim c;

		native()->claim((const uint8_t *)rows[i].data, rows[i].n, false, &c);
		if (c.kind != rows[i].want)
			print_error("row %zu\n", i);
		assert_int_equal(c.kind, rows[i].want);
		assert_int_equal(c.used, 0);
		assert_int_equal(c.answer_bytes, 0);
	}
}

static void cuts_messages(void **state)
{
	static const struct {
		const char *data;
		size_t n;
		ssize_t want;
	} rows[] = {
		{ "", 0, 0 },
		{ "\0\0\0", 3, 0 },
		{ "\0\0\0\2", 4, 0 },
		{ "\0\0\0\2{", 5, 0 },
		{ "\0\0\0\2{}", 6, 6 },
		{ "\0\0\0\2{}\0\0", 8, 6 },
		{ "\0\0\0\0", 4, -EBADMSG },
		{ "\0\0\0\1{", 5, -EBADMSG },
		{ "\0\0\0\2[]", 6, -EBADMSG },
		{ "\1\0\0\0{", 5, 0 },
		{ "\1\0\0\1{", 5, -EMSGSIZE },
		{ "NDF1", 4, -EMSGSIZE },
		{ "\xff\xff\xff\xff", 4, -EMSGSIZE },
	};

	size_t i;

	(void)state;
	for (i = 0; i < ND_COUNTOF(rows); i++)
		assert_int_equal(
			native()->message_bytes((const uint8_t *)rows[i].data, rows[i].n, 0),
			rows[i].want);
}

static void prints_one_short_line(void **state)
{
	nd_auto_str s = { 0 }, message = { 0 };
	size_t i;

	(void)state;
	native()->print((const uint8_t *)"\0\0\0\x1b{\"m\":\"stop\",\"reason\":\"a\x1b\n\"}", 31,
			&s);
	assert_string_equal(nd_str_text(&s), "stop {\"m\":\"stop\",\"reason\":\"a??\"}");
	nd_str_reset(&s);
	native()->print((const uint8_t *)"\0\0\0\7[1,2,3]", 11, &s);
	assert_string_equal(nd_str_text(&s), "? [1,2,3]");
	nd_str_reset(&s);
	native()->print((const uint8_t *)"\0\0", 2, &s);
	assert_string_equal(nd_str_text(&s), "(too short)");
	nd_str_reset(&s);
	nd_str_addn(&message, "\0\0\1\0{\"m\":\"stop\",\"reason\":\"", 26);
	for (i = 0; i < 500; i++)
		nd_str_add(&message, "\xc3\xa9"); /* is not cut in the middle */
	native()->print((const uint8_t *)message.data, message.len, &s);
	assert_true(s.len <= 300 && s.len > 290);
	assert_string_equal(nd_str_text(&s) + s.len - 5, "\xc3\xa9...");
}

static void documents_all_of_it(void **state)
{
	static const char *const words[] = { "### hello", "### error", "| `reason` | string |",
					     "### token datagram, 32 bytes", "constant `NDF1`" };
	nd_auto_str s = { 0 };
	size_t i;

	(void)state;
	nd_dialect_doc(&s);
	for (i = 0; i < ND_COUNTOF(words); i++)
		assert_non_null(strstr(nd_str_text(&s), words[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_messages),
		cmocka_unit_test(golden_plan),
		cmocka_unit_test(golden_intervals_and_result),
		cmocka_unit_test(golden_introductions),
		cmocka_unit_test(claims_flows),
		cmocka_unit_test(claims_links),
		cmocka_unit_test(cuts_messages),
		cmocka_unit_test(prints_one_short_line),
		cmocka_unit_test(documents_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
