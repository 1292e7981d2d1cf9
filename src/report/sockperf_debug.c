/* SPDX-License-Identifier: MIT */
/* sockperf -d: the settings, as they stand behind all defaults. */
#include <string.h>

#include "report/int.h"
#include "report/sockperf.h"

#define NEVER (1u << 30) /* --reply-every of what is not answered */

enum kind {
	IS_NUMBER, /* .key, or .otherwise where that is 0 */
	IS_FLAG,
	IS_NOT,  /* a flag, the other way round */
	IS_TEXT, /* or .nothing */
	IS_OWN,  /* .value tells it */
};

struct setting {
	const char *name; /* as it is shown */
	const char *key;
	const char *nothing;
	uint64_t (*value)(const struct nd_sprep *f);
	uint64_t otherwise;
	enum kind kind;
	bool is_bare; /* no blank at the end */
};

uint64_t nd_sprep_rate_of(const struct nd_sprep *f)
{
	uint64_t rate = nd_face_u64(&f->face, "rate"), burst = nd_face_u64(&f->face, "burst");

	if (rate > 0)
		return rate;
	if (f->mode == ND_SPREP_PP)
		return ND_MIN(ND_SP_PING_MAX * burst, ND_SP_RATE_MAX);
	return f->mode == ND_SPREP_SR ? 10000 : ND_SP_RATE_MAX;
}

static uint64_t is_server(const struct nd_sprep *f)
{
	return f->mode == ND_SPREP_SR;
}

static uint64_t is_ping_pong(const struct nd_sprep *f)
{
	return f->mode == ND_SPREP_PP;
}

static uint64_t is_throughput(const struct nd_sprep *f)
{
	return f->mode == ND_SPREP_TP;
}

static uint64_t nothing(const struct nd_sprep *f)
{
	(void)f;
	return 0;
}

/* A server takes no less than all that fits into a datagram. */
static uint64_t message_bytes(const struct nd_sprep *f)
{
	uint64_t bytes = nd_face_u64(&f->face, "message_bytes");

	return f->mode == ND_SPREP_SR ? ND_MAX(bytes, 65507) : bytes;
}

static uint64_t activity(const struct nd_sprep *f)
{
	return ND_MAX(nd_face_u64(&f->face, "dots"), nd_face_u64(&f->face, "rows"));
}

static uint64_t has_rows(const struct nd_sprep *f)
{
	return nd_face_u64(&f->face, "rows") > 0;
}

static uint64_t handler(const struct nd_sprep *f)
{
	static const char *const methods[] = { "recvfrom", "select", "poll", "epoll" };
	const char *method = nd_face_str(&f->face, "method");

	if (!method || !nd_face_str(&f->face, "feed"))
		return 0;
	for (uint64_t i = 0; i < ND_COUNTOF(methods); i++)
		if (!strcmp(methods[i], method))
			return i + 1;
	return 0;
}

static uint64_t has_threads(const struct nd_sprep *f)
{
	return f->mode == ND_SPREP_SR && nd_face_bool(&f->face, "has_threads");
}

static uint64_t reply_every(const struct nd_sprep *f)
{
	if (f->mode == ND_SPREP_TP)
		return NEVER;
	return f->mode == ND_SPREP_SR ? 100 : nd_face_u64(&f->face, "reply_every");
}

/* clang-format off */
#define NUMBER(k)  .kind = IS_NUMBER, .key = (k)
#define FLAG(k)    .kind = IS_FLAG, .key = (k)
#define NOT(k)     .kind = IS_NOT, .key = (k)
#define TEXT(k, n) .kind = IS_TEXT, .key = (k), .nothing = (n)
#define OWN(v)     .kind = IS_OWN, .value = (v)
static const struct setting settings[] = {
	{ .name = "mode", OWN(is_server) },
	{ .name = "with_sock_accl", OWN(nothing) },
	{ .name = "msg_size", OWN(message_bytes) },
	{ .name = "msg_size_range", NUMBER("range_bytes") },
	{ .name = "sec_test_duration", NUMBER("time_s") },
	{ .name = "data_integrity", FLAG("compares") },
	{ .name = "packetrate_stats_print_ratio", OWN(activity) },
	{ .name = "burst_size", NUMBER("burst") },
	{ .name = "packetrate_stats_print_details", OWN(has_rows) },
	{ .name = "fd_handler_type", OWN(handler) },
	{ .name = "mthread_server", OWN(has_threads) },
	{ .name = "sock_buff_size", NUMBER("buffer_bytes") },
	{ .name = "threads_num", NUMBER("threads"), .otherwise = 1 },
	{ .name = "threads_affinity", TEXT("pin", "") }, /* a server's */
	{ .name = "is_blocked", NOT("nonblocked") },
	{ .name = "is_nonblocked_send", FLAG("skips") },
	{ .name = "do_warmup", NOT("dont_warm_up") },
	{ .name = "pre_warmup_wait", NUMBER("wait_s") },
	{ .name = "is_vmarxfiltercb", OWN(nothing) },
	{ .name = "is_vmazcopyread", OWN(nothing) },
	{ .name = "mc_loop_disable", NOT("loops") },
	{ .name = "mc_ttl", NUMBER("ttl") },
	{ .name = "uc_reuseaddr", FLAG("reuseaddr") },
	{ .name = "tcp_nodelay", FLAG("nodelay") },
	{ .name = "client_work_with_srv_num", NUMBER("servers") },
	{ .name = "b_server_reply_via_uc", FLAG("answers_sender") },
	{ .name = "b_server_dont_reply", FLAG("dont_reply") },
	{ .name = "b_server_detect_gaps", FLAG("gaps"), .is_bare = true },
	{ .name = "mps", OWN(nd_sprep_rate_of) },
	{ .name = "client_bind_info", TEXT("client_address", "0.0.0.0") },
	{ .name = "reply_every", OWN(reply_every) },
	{ .name = "b_client_ping_pong", OWN(is_ping_pong) },
	{ .name = "b_no_rdtsc", FLAG("no_rdtsc") },
	{ .name = "sender_affinity", TEXT("pin", "<empty>") }, /* a client's */
	{ .name = "receiver_affinity", TEXT("receiver_pin", "<empty>") },
	{ .name = "b_stream", OWN(is_throughput) },
	{ .name = "daemonize", FLAG("daemonize") },
	{ .name = "feedfile_name", TEXT("feed", "<empty>") },
	{ .name = "tos", NUMBER("tos") },
	{ .name = "packet pace limit", NUMBER("pace"), .is_bare = true },
};
#undef NUMBER
#undef FLAG
#undef NOT
#undef TEXT
#undef OWN

/* clang-format on */

/* One setting of two names: each is the other end's, too, where it is not given. */
static bool is_other_end(const struct nd_sprep *f, const struct setting *s)
{
	return s->key && !strcmp(s->key, "pin") &&
	       (f->mode == ND_SPREP_SR) != !strcmp(s->name, "threads_affinity");
}

static void put_text(const struct nd_sprep *f, const struct setting *s, struct nd_str *out)
{
	const char *text = is_other_end(f, s) ? NULL : nd_face_str(&f->face, s->key);

	nd_report_clean(out, text ?: s->nothing);
	if (!strcmp(s->name, "client_bind_info"))
		nd_str_addf(out, ":%llu", (unsigned long long)nd_face_u64(&f->face, "client_port"));
}

static uint64_t number(const struct nd_sprep *f, const struct setting *s)
{
	uint64_t v;

	if (s->kind == IS_OWN)
		return s->value(f);
	if (s->kind == IS_FLAG || s->kind == IS_NOT)
		return nd_face_bool(&f->face, s->key) == (s->kind == IS_FLAG);
	v = nd_face_u64(&f->face, s->key);
	return v > 0 ? v : s->otherwise;
}

void nd_sprep_settings(const struct nd_sprep *f, struct nd_str *out)
{
	nd_str_add(out, "sockperf: +INFO:\n");
	for (size_t i = 0; i < ND_COUNTOF(settings); i++) {
		const struct setting *s = &settings[i];

		nd_str_addf(out, "\t%s = ", s->name);
		if (s->kind == IS_TEXT)
			put_text(f, s, out);
		else
			nd_str_addf(out, "%llu", (unsigned long long)number(f, s));
		nd_str_add(out, s->is_bare ? "\n" : " \n");
	}
}
