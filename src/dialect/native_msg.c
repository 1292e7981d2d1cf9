/* SPDX-License-Identifier: MIT */
/* The messages of the native language as rows: names, fields, when they may come; their bytes. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "dialect/int.h"

#define PRINT_MAX 300u        /* bytes of a printed message */
#define LONG      (64u << 10) /* of a message; see put_off() */

/* ---- layouts ---- */

/* clang-format off */
#define INTRO_FLOW { "flow", ND_BIN_BE, 4, offsetof(struct nd_native_intro, flow), 0, \
		     "number of the flow, counted over all flows of the test" }
#define INTRO_KEY  { "token", ND_BIN_BYTES, 16, offsetof(struct nd_native_intro, key), 0, \
		     "what the server's `agreed` said" }
#define INTRO_ZERO(n) { "reserved", ND_BIN_ZERO, n, 0, 0, "written as zero, not looked at" }

static const struct nd_bin_row intro_rows[] = {
	{ "magic", ND_BIN_CONST, 4, 0, 0x4e444631, "as a message's length it would be over the limit" },
	INTRO_KEY, INTRO_FLOW,
	{ "quiet", ND_BIN_BE, 4, offsetof(struct nd_native_intro, quiet), 0,
	  "1: no answer is wanted, asked only of a server with the feature `quiet`; 0: one is" },
	{ 0 }
};
static const struct nd_bin_row intro_answer_rows[] = {
	{ "magic", ND_BIN_CONST, 4, 0, 0x4e444f4b, "" },
	INTRO_FLOW, { 0 }
};
static const struct nd_bin_row token_rows[] = {
	{ "magic", ND_BIN_CONST, 4, 0, 0x4e445531, "" },
	INTRO_KEY, INTRO_FLOW, INTRO_ZERO(8), { 0 }
};
static const struct nd_bin_row token_answer_rows[] = {
	{ "magic", ND_BIN_CONST, 4, 0, 0x4e44554b, "" },
	INTRO_FLOW, INTRO_ZERO(8), { 0 }
};
const struct nd_bin_layout nd_native_intro_layout = {
	"preamble", "The client sends this first on each stream flow.",
	intro_rows, sizeof(struct nd_native_intro)
};
const struct nd_bin_layout nd_native_intro_answer_layout = {
	"preamble answer", "The server sends this when it has taken a stream flow, if it is wanted.",
	intro_answer_rows, sizeof(struct nd_native_intro)
};
const struct nd_bin_layout nd_native_token_layout = {
	"token datagram", "The client sends this on each datagram flow until it is answered.",
	token_rows, sizeof(struct nd_native_intro)
};
const struct nd_bin_layout nd_native_token_answer_layout = {
	"token answer", "The server answers each token datagram it takes with this; it is shorter than what was asked.",
	token_answer_rows, sizeof(struct nd_native_intro)
};

/* ---- messages ---- */

#define B struct nd_native_body
static const struct nd_field hello_rows[] = {
	ND_U64(B, protocol, ND_M_NONE, 0, NULL, "version of the protocol, 1; another one is refused"),
	ND_STR(B, version, 0, NULL, "version of the program, for people"),
	ND_STR(B, boot_id, 0, NULL, "the same at both ends: the same machine"),
	ND_STR(B, netns, 0, NULL, "network namespace"),
	ND_STR(B, hostname, 0, NULL, "for people"),
	ND_U64(B, cpus, ND_M_COUNT, 0, NULL, "CPUs that this end may use"),
	ND_U64(B, datagram_bytes, ND_M_BYTES, 0, NULL,
	       "server: the largest datagram to this client that needs no fragments; absent: not known"),
	ND_U64(B, longest, ND_M_NS, 0, NULL,
	       "server: the longest test that it answers, warm-up and cool-down included; absent: any"),
	ND_U64(B, queue, ND_M_COUNT, 0, NULL,
	       "server: connections that may wait until it accepts them, all clients' together; absent: not known"),
	ND_U64(B, follows, ND_M_NONE, 0, NULL,
	       "client: 1: another test of the same session comes behind this one; absent: none, or it is not known yet"),
	ND_STRV(B, features, 0, NULL, "optional parts that this end knows: `quiet`, see *Flows*"),
	ND_ROWS_END
};
static const struct nd_field time_rows[] = {
	ND_U64(B, sent, ND_M_NS, 0, NULL, "the client's clock when it asked; comes back as it was"),
	ND_U64(B, at, ND_M_NS, 0, NULL, "the server's clock; in the answer only"),
	ND_ROWS_END
};
static const struct nd_field agreed_rows[] = {
	ND_STR(B, token, 0, NULL, "16 bytes in hexadecimal, which data flows introduce themselves with"),
	ND_U64(B, threads, ND_M_COUNT, 0, NULL, "workers of each end"),
	ND_U64(B, port, ND_M_NONE, 0, NULL,
	       "where connections that are made and ended over and over go, TCP: one of the 16 behind the server's "
	       "own, or any where those are taken; absent: the plan has none"),
	ND_ROWS_END
};
static const struct nd_field sentence_rows[] = {
	ND_STR(B, sentence, 0, NULL, "what is wrong, for people"),
	ND_ROWS_END
};
static const struct nd_field reason_rows[] = {
	ND_STR(B, reason, 0, NULL, "why, for people"),
	ND_ROWS_END
};
static const struct nd_field go_rows[] = {
	ND_U64(B, at, ND_M_NS, 0, NULL, "the start, on the server's clock"),
	ND_ROWS_END
};
static const struct nd_field ready_rows[] = {
	ND_U64(B, rtt, ND_M_NS, 0, NULL, "client of a group: its smallest round trip to the server"),
	ND_ROWS_END
};
static const struct nd_field gather_rows[] = {
	ND_U64(B, at, ND_M_NS, 0, NULL, "the start of the whole group, on the server's clock"),
	ND_ROWS_END
};
static const struct nd_field group_rows[] = {
	ND_OPTGROUP(struct nd_group, B, group, 0, NULL, "its members, and what they reached together", &nd_group_table),
	ND_ROWS_END
};
static const struct nd_field intervals_rows[] = {
	ND_LIST(B, list, 0, NULL, "intervals that this end has completed", &nd_interval_table),
	ND_ROWS_END
};
static const struct nd_field result_rows[] = {
	ND_OPTGROUP(struct nd_side, B, side, 0, NULL, "all that this end measured", &nd_side_table),
	ND_BOOL(B, flows_omitted, 0, NULL, "the message would have been too large with a row per flow"),
	ND_BOOL(B, intervals_omitted, 0, NULL, "and with a row per interval"),
	ND_ROWS_END
};
static const struct nd_field no_rows[] = { ND_ROWS_END };

#define TABLE(name) static const struct nd_table name##_table = { #name, sizeof(B), name##_rows, false }
TABLE(hello);
TABLE(time);
TABLE(agreed);
TABLE(sentence);
TABLE(reason);
TABLE(ready);
TABLE(gather);
TABLE(group);
TABLE(go);
TABLE(intervals);
TABLE(result);
TABLE(no);
#undef B

#define HELLO_	 (1u << ND_STAGE_HELLO)
#define PLAN_	 (1u << ND_STAGE_PLAN)
#define JUDGE_	 (1u << ND_STAGE_JUDGE)
#define PREPARE_ (1u << ND_STAGE_PREPARE)
#define RUN_	 (1u << ND_STAGE_RUN)
#define WRAP_	 (1u << ND_STAGE_WRAP)
#define AGREEING (PLAN_ | JUDGE_ | PREPARE_)
#define GREETED	 (AGREEING | RUN_ | WRAP_)
#define ANY	 (HELLO_ | GREETED)

static const struct nd_native_row rows[ND_MSG_MAX] = {
	[ND_MSG_HELLO] = { "hello", "Who this is.", "both, the client first", &hello_table, false, false,
		{ HELLO_, HELLO_ }, { nd_native_client_hello, nd_native_server_hello } },
	[ND_MSG_TIME] = { "time", "One exchange for the offset between the clocks.", "client asks, server answers",
		&time_table, false, false,
		{ PLAN_ | PREPARE_ | RUN_ | WRAP_, PLAN_ | PREPARE_ | WRAP_ }, { nd_native_client_time, nd_native_server_time } },
	[ND_MSG_PLAN] = { "plan", "What the client wants to run.", "client", &no_table, true, false,
		{ 0, PLAN_ }, { NULL, nd_native_server_plan } },
	[ND_MSG_AGREED] = { "agreed", "The server will run this plan.", "server", &agreed_table, true, false,
		{ PLAN_, 0 }, { nd_native_client_agreed, NULL } },
	[ND_MSG_REFUSE] = { "refuse", "The server will not, or can not; it closes the connection.", "server",
		&sentence_table, false, false,
		{ HELLO_ | AGREEING | RUN_, 0 }, { nd_native_client_refuse, NULL } },
	[ND_MSG_READY] = { "ready", "All flows are open at this end.", "both", &ready_table, false, false,
		{ PREPARE_, PREPARE_ }, { nd_native_client_is_ready, nd_native_server_is_ready } },
	[ND_MSG_GATHER] = { "gather", "All clients of the group are ready; the client answers with `go` for this instant.",
		"server", &gather_table, false, false,
		{ PREPARE_, 0 }, { nd_native_client_gather, NULL } },
	[ND_MSG_GO] = { "go", "When all flows begin.", "client", &go_table, false, false,
		{ 0, PREPARE_ }, { NULL, nd_native_server_go } },
	[ND_MSG_INTERVALS] = { "intervals", "Interim figures for live lines.", "both", &intervals_table, false, false,
		{ RUN_, RUN_ }, { nd_native_on_intervals, nd_native_on_intervals } },
	[ND_MSG_SENT] = { "sent", "The senders of this end have finished.", "both", &no_table, false, false,
		{ RUN_, RUN_ }, { nd_native_on_sent, nd_native_on_sent } },
	[ND_MSG_RESULT] = { "result", "What this end measured.", "both", &result_table, false, true,
		{ RUN_, RUN_ }, { nd_native_on_result, nd_native_on_result } },
	[ND_MSG_GROUP] = { "group", "What all clients of the group measured.", "server", &group_table, false, true,
		{ WRAP_, 0 }, { nd_native_client_group, NULL } },
	[ND_MSG_STOP] = { "stop", "End now. Results are exchanged all the same when the test had begun.", "both",
		&reason_table, false, false,
		{ ANY, ANY }, { nd_native_on_stop, nd_native_on_stop } },
	[ND_MSG_BEAT] = { "beat", "Still there.", "both", &no_table, false, false,
		{ GREETED, GREETED }, { nd_native_on_beat, nd_native_on_beat } },
	[ND_MSG_BYE] = { "bye", "The client has all it wants.", "client", &no_table, false, false,
		{ 0, RUN_ | WRAP_ }, { NULL, nd_native_server_bye } },
	[ND_MSG_ERROR] = { "error", "The other end broke the rules; the connection is closed.", "both",
		&sentence_table, false, false,
		{ ANY, ANY }, { nd_native_on_error, nd_native_on_error } },
};

/* clang-format on */

const char *nd_native_stage_name(enum nd_native_stage stage)
{
	static const char *const names[] = {
		[ND_STAGE_CONNECT] = "connecting", [ND_STAGE_HELLO] = "the greeting",
		[ND_STAGE_PLAN] = "planning",      [ND_STAGE_JUDGE] = "planning",
		[ND_STAGE_PREPARE] = "set-up",     [ND_STAGE_RUN] = "the test",
		[ND_STAGE_WRAP] = "the end",       [ND_STAGE_OVER] = "nothing",
	};

	return names[stage];
}

int nd_native_encode(enum nd_native_message m, const struct nd_native_body *b, struct nd_str *out)
{
	const struct nd_native_row *row = &rows[m];
	struct nd_json j = { .out = out };
	size_t at = out->len, n, i;

	nd_str_addc(out, '\0', ND_NATIVE_PREFIX_BYTES);
	nd_json_open(&j, NULL, '{');
	nd_json_str(&j, "m", row->name);
	nd_wire_put(&j, row->table, b);
	if (row->has_plan && b->plan) {
		nd_json_open(&j, "plan", '{');
		nd_wire_put(&j, &nd_plan_table, b->plan);
		nd_json_close(&j, '}');
	}
	nd_json_close(&j, '}');
	if (!nd_str_ok(out))
		return -ENOMEM;
	n = out->len - at - ND_NATIVE_PREFIX_BYTES;
	if (n > ND_NATIVE_MESSAGE_MAX)
		return -EMSGSIZE;
	for (i = 0; i < ND_NATIVE_PREFIX_BYTES; i++)
		out->data[at + i] = (char)(uint8_t)(n >> (8 * (ND_NATIVE_PREFIX_BYTES - 1 - i)));
	return 0;
}

static const struct nd_native_row *find_row(const char *name)
{
	size_t i;

	for (i = 0; i < ND_MSG_MAX; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

/* The row of a parsed message, when it may come now. NULL: the dialog is over. */
static const struct nd_native_row *row_of(struct nd_native *d, const json_t *root)
{
	const char *name = json_string_value(json_object_get(root, "m"));
	const struct nd_native_row *row;

	if (!name) {
		nd_native_protest(d, "a message without a name");
		return NULL;
	}
	row = find_row(name);
	if (!row) {
		nd_native_protest(d, "unknown message '%.40s'", name);
		return NULL;
	}
	if (!row->take[d->end] || !(row->stages[d->end] & (1u << d->stage))) {
		nd_native_protest(d, "message '%s' is out of order during %s", row->name,
				  nd_native_stage_name(d->stage));
		return NULL;
	}
	return row;
}

static void take_parsed(struct nd_native *d, const json_t *root)
{
	const struct nd_native_row *row = row_of(d, root);
	struct nd_native_body b = { 0 };
	struct nd_err err = { 0 };
	struct nd_arena *a;

	if (!row)
		return;
	a = row->is_kept ? &d->kept : &d->passing;
	if (nd_wire_get(root, row->table, &b, a, ND_NATIVE_ITEMS_MAX, &err) < 0) {
		nd_native_protest(d, "message '%s': %s", row->name, err.text);
		return;
	}
	if (row->has_plan) {
		b.plan_json = json_object_get(root, "plan");
		if (!b.plan_json) {
			nd_native_protest(d, "message '%s': 'plan' is missing", row->name);
			return;
		}
	}
	row->take[d->end](d, &b);
}

static uint64_t intervals_of(const struct nd_plan *p)
{
	uint64_t ns = p->warmup_ns + p->duration_ns + p->cooldown_ns;

	return p->interval_ns ? p->workloads * (ns / p->interval_ns + 4) : 0;
}

/* What a result of this test can need, or one of a group: a parsed message takes many times its size. */
static size_t room_of(const struct nd_native *d)
{
	uint64_t need = ND_NATIVE_SMALL_MAX + nd_plan_flows(d->plan) * ND_NATIVE_FLOW_BYTES;

	if (d->stage == ND_STAGE_WRAP && d->end == ND_CLIENT && d->plan->group)
		return ND_NATIVE_SMALL_MAX +
		       (size_t)(d->plan->group_expect * d->plan->workloads) * ND_NATIVE_GROUP_BYTES;
	if (d->stage != ND_STAGE_RUN)
		return ND_NATIVE_SMALL_MAX;
	return (size_t)ND_MIN(need + intervals_of(d->plan) * ND_NATIVE_FLOW_BYTES,
			      (uint64_t)ND_NATIVE_MESSAGE_MAX);
}

/* The peer's result, with rows for thousands of flows, takes ten times its size to be read: not as long as this
 * end has as many flows of its own. */
static bool put_off(struct nd_native *d, const uint8_t *data, size_t n)
{
	if (n < LONG || d->stage != ND_STAGE_RUN || d->has_result || d->peer_side || d->early.len)
		return false;
	nd_str_addn(&d->early, (const char *)data, n);
	if (nd_str_ok(&d->early))
		return true;
	nd_str_done(&d->early); /* no memory: now or never */
	return false;
}

void nd_native_take_early(struct nd_native *d)
{
	struct nd_str early = d->early;

	d->early = (struct nd_str){ 0 };
	if (early.len)
		nd_native_take(d, (const uint8_t *)early.data, early.len);
	nd_str_done(&early);
}

void nd_native_take(struct nd_native *d, const uint8_t *data, size_t n)
{
	size_t max = room_of(d);
	json_error_t error;
	json_t *root;

	if (n < ND_NATIVE_PREFIX_BYTES || n - ND_NATIVE_PREFIX_BYTES > max) {
		nd_native_protest(d, "a message of %zu bytes is too large during %s", n,
				  nd_native_stage_name(d->stage));
		return;
	}
	if (put_off(d, data, n))
		return;
	root = json_loadb((const char *)data + ND_NATIVE_PREFIX_BYTES, n - ND_NATIVE_PREFIX_BYTES,
			  JSON_REJECT_DUPLICATES, &error);
	if (!root)
		nd_native_protest(d, "a message that is not JSON: at byte %d", error.position);
	else
		take_parsed(d, root);
	json_decref(root);
}

int nd_native_decode_result(const uint8_t *data, size_t n, struct nd_arena *a,
			    struct nd_native_body *ret, struct nd_err *err)
{
	json_error_t error;
	json_t *root;
	int code;

	*ret = (struct nd_native_body){ 0 };
	if (n < ND_NATIVE_PREFIX_BYTES)
		return nd_fail(err, -EBADMSG, "message 'result' is too short");
	root = json_loadb((const char *)data + ND_NATIVE_PREFIX_BYTES, n - ND_NATIVE_PREFIX_BYTES,
			  JSON_REJECT_DUPLICATES, &error);
	if (!root || strcmp(json_string_value(json_object_get(root, "m")) ?: "", "result") != 0)
		code = nd_fail(err, -EBADMSG, "this is no message 'result'");
	else
		code = nd_wire_get(root, &result_table, ret, a, ND_NATIVE_ITEMS_MAX, err);
	json_decref(root);
	if (code == 0 && (!ret->side || ret->side->parts.n > ND_MAX_WORKLOADS))
		code = nd_fail(err, -EBADMSG, "message 'result' does not say what was measured");
	return code;
}

/* How many of @n bytes make at most @room and do not end inside a character. */
static size_t whole_characters(const char *text, size_t n, size_t room)
{
	if (n <= room)
		return n;
	while (room > 0 && ((unsigned char)text[room] & 0xc0) == 0x80)
		room--;
	return room;
}

void nd_native_print(const uint8_t *data, size_t n, struct nd_str *out)
{
	static const char start[] = "{\"m\":\"";
	const char *text = (const char *)data + ND_NATIVE_PREFIX_BYTES;
	size_t i, name_bytes = 0, room = PRINT_MAX, shown;

	if (n < ND_NATIVE_PREFIX_BYTES) {
		nd_str_add(out, "(too short)");
		return;
	}
	n -= ND_NATIVE_PREFIX_BYTES;
	if (n > sizeof(start) && !memcmp(text, start, sizeof(start) - 1)) {
		const char *name = text + sizeof(start) - 1;

		while (name_bytes < 20 && name_bytes < n - (sizeof(start) - 1) &&
		       name[name_bytes] >= 'a' && name[name_bytes] <= 'z')
			name_bytes++;
		nd_str_addn(out, name, name_bytes);
	}
	nd_str_add(out, name_bytes ? " " : "? ");
	room -= name_bytes + 5;
	shown = whole_characters(text, n, room);
	for (i = 0; i < shown; i++) {
		bool is_control = (unsigned char)text[i] < 0x20 || text[i] == 0x7f;

		nd_str_addn(out, is_control ? "?" : text + i, 1);
	}
	if (shown < n)
		nd_str_add(out, "...");
}

/* ---- documentation ---- */

static void doc_rows(const struct nd_native_row *row, struct nd_str *out)
{
	static const char *const types[ND_T_MAX] = {
		[ND_T_U64] = "number",   [ND_T_I64] = "number",   [ND_T_F64] = "number",
		[ND_T_BOOL] = "boolean", [ND_T_STR] = "string",   [ND_T_ENUM] = "string",
		[ND_T_STRV] = "strings", [ND_T_GROUP] = "object", [ND_T_OPT] = "object",
		[ND_T_LIST] = "list",
	};

	if (!row->table->rows->key && !row->has_plan)
		return;
	nd_str_add(out, "\n| key | content | meaning |\n|---|---|---|\n");
	nd_row_for_each(f, row->table)
		nd_str_addf(out, "| `%s` | %s%s | %s |\n", f->key, types[f->type],
			    f->measure == ND_M_NS      ? ", ns"
			    : f->measure == ND_M_BYTES ? ", bytes"
						       : "",
			    f->help);
	if (row->has_plan)
		nd_str_add(out, "| `plan` | object | the plan, by the rows of `nd_plan_table` |\n");
}

void nd_dialect_doc(struct nd_str *out)
{
	static const struct nd_bin_layout *const layouts[] = {
		&nd_native_intro_layout,
		&nd_native_intro_answer_layout,
		&nd_native_token_layout,
		&nd_native_token_answer_layout,
	};
	size_t i;

	for (i = 0; i < ND_MSG_MAX; i++) {
		nd_str_addf(out, "### %s\n\n%s Sent by: %s.\n", rows[i].name, rows[i].help,
			    rows[i].who);
		doc_rows(&rows[i], out);
		nd_str_add(out, "\n");
	}
	for (i = 0; i < ND_COUNTOF(layouts); i++) {
		nd_str_addf(out, "### %s, %zu bytes\n\n%s\n\n", layouts[i]->name,
			    nd_bin_size(layouts[i]), layouts[i]->help);
		nd_bin_doc(layouts[i], out);
		nd_str_add(out, "\n");
	}
}
