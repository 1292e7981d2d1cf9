/* SPDX-License-Identifier: MIT */
/* Shared by the files of the native language: its state, its messages, what its two ends have in common. */
#ifndef ND_DIALECT_INT_H
#define ND_DIALECT_INT_H

#include "base/str.h"
#include "dialect/dialect.h"
#include "wire/wire.h"

#define ND_DIALECT(name) extern const struct nd_dialect nd_dialect_##name;
#include "dialect/dialects.def"
#undef ND_DIALECT

#define ND_NATIVE_PROTOCOL     1u
#define ND_NATIVE_PREFIX_BYTES 4u
#define ND_NATIVE_MESSAGE_MAX  (16u << 20)  /* bytes of JSON */
#define ND_NATIVE_FLOW_BYTES   512u         /* a row per flow or interval, at most */
#define ND_NATIVE_SMALL_MAX    (256u << 10) /* the same, while no result can come */
#define ND_NATIVE_ITEMS_MAX    1000000u
#define ND_NATIVE_KEPT_MAX     (512u << 20) /* arena of what lives until close() */
#define ND_NATIVE_PASSING_MAX  (64u << 20)  /* arena of what lives until the next event */
#define ND_NATIVE_PLAN_MAX     (4u << 20)   /* arena of a plan that a peer sent */
#define ND_NATIVE_CPUS_MAX     65536u
#define ND_NATIVE_INTRO_BYTES  28u     /* preamble of a stream flow */
#define ND_NATIVE_TOKEN_BYTES  32u     /* token datagram */
#define ND_NATIVE_QUIET        "quiet" /* a server's feature */

/* Times. All timers are in doc/protocol.md. */
#define ND_NATIVE_TICK_NS       ND_NS_PER_S
#define ND_NATIVE_SILENT_TICKS  10u
#define ND_NATIVE_GREETING_NS   (30 * ND_NS_PER_S) /* from the link to an agreed plan */
#define ND_NATIVE_SETUP_NS      (30 * ND_NS_PER_S)
#define ND_NATIVE_SETUP_FLOW_NS ND_NS_PER_MS
#define ND_NATIVE_OVERTIME_NS   (20 * ND_NS_PER_S)
#define ND_NATIVE_RESULT_NS     (15 * ND_NS_PER_S)
#define ND_NATIVE_STOP_NS       (3 * ND_NS_PER_S)
#define ND_NATIVE_WRAP_NS       (5 * ND_NS_PER_S)
#define ND_NATIVE_OVER_NS       (10 * ND_NS_PER_S) /* for a run that was told to stop */
#define ND_NATIVE_QUIET_NS      (250 * ND_NS_PER_MS)
#define ND_NATIVE_DRAIN_MIN_NS  ND_NS_PER_S
#define ND_NATIVE_AHEAD_MIN_NS  (50 * ND_NS_PER_MS) /* from "go" to the start */
#define ND_NATIVE_AHEAD_NS      (20 * ND_NS_PER_MS) /* the same, beside four round trips */
#define ND_NATIVE_AHEAD_MAX_NS  (60 * ND_NS_PER_S)
#define ND_NATIVE_LATE_MAX_NS   (10 * ND_NS_PER_S)
#define ND_NATIVE_RESEND_MS     200u
#define ND_NATIVE_GROUP_NS      (10 * ND_NS_PER_S) /* from a result to those of the others in a group */
#define ND_NATIVE_GROUP_BYTES   1024u              /* a row of a member, at most */
#define ND_NATIVE_TIMES_BEFORE  10u
#define ND_NATIVE_TIMES_AFTER   8u

enum nd_native_stage {
	ND_STAGE_CONNECT, /* no link yet */
	ND_STAGE_HELLO,   /* waiting for the peer's hello */
	ND_STAGE_PLAN,    /* clock exchange, then plan */
	ND_STAGE_JUDGE,   /* server: the session looks at the plan */
	ND_STAGE_PREPARE, /* both ends open their flows */
	ND_STAGE_RUN,     /* from go until both results are here */
	ND_STAGE_WRAP,    /* client: clock exchange again; server: waiting for bye */
	ND_STAGE_OVER,
};

enum nd_native_timer {
	ND_NATIVE_TICK,     /* each second: beat, and is the peer silent? */
	ND_NATIVE_DEADLINE, /* of the stage */
};

enum nd_native_message {
	ND_MSG_HELLO,
	ND_MSG_TIME,
	ND_MSG_PLAN,
	ND_MSG_AGREED,
	ND_MSG_REFUSE,
	ND_MSG_READY,
	ND_MSG_GATHER,
	ND_MSG_GO,
	ND_MSG_INTERVALS,
	ND_MSG_SENT,
	ND_MSG_RESULT,
	ND_MSG_GROUP,
	ND_MSG_STOP,
	ND_MSG_BEAT,
	ND_MSG_BYE,
	ND_MSG_ERROR,
	ND_MSG_MAX
};

struct json_t;

/* What any message may hold; each message's rows use some of it. */
struct nd_native_body {
	uint64_t protocol, cpus, datagram_bytes, sent, at, threads, rtt, port, follows, longest,
		queue;
	const char *version, *boot_id, *netns, *hostname, *token, *sentence, *reason;
	struct nd_strv features;
	struct nd_list list; /* struct nd_interval_sample */
	struct nd_side *side;
	struct nd_group *group;
	bool flows_omitted, intervals_omitted;
	const struct nd_plan *plan;     /* to be sent */
	const struct json_t *plan_json; /* as received, NULL: none; borrowed */
};

struct nd_native {
	enum nd_end_kind end;
	enum nd_native_stage stage;
	struct nd_plan *plan; /* borrowed */
	uint8_t key[16];
	const char *boot_id, *netns_id, *hostname; /* in .kept */
	uint64_t cpus, datagram_bytes, longest_ns, queue;

	struct nd_arena kept, passing;

	/* while in event() */
	uint64_t now_ns;
	struct nd_verbs *verbs;

	/* the peer */
	unsigned link, silent_ticks;
	bool linked;
	const char *peer_version, *peer_boot_id; /* in .kept */
	uint64_t peer_cpus;

	/* clocks: client only */
	struct nd_clock before, after, held;
	uint64_t sent_ns; /* the exchange under way */
	unsigned times_left;
	bool is_timed; /* the exchanges behind the test are over */

	/* the run */
	uint64_t threads, start_ns;
	uint64_t wait_ns; /* of the deadline that is set, for people */
	bool is_ready, peer_is_ready;
	bool is_held;           /* both are, and the others of the group are not */
	uint64_t gather_ns;     /* when the group begins, on the server's clock; 0: not known yet */
	uint64_t rtt_ns;        /* server: of the client, as it says */
	struct nd_group *group; /* client: what all reached, in .kept */
	bool peer_has_sent;
	bool peer_is_quiet;        /* it leaves flows unanswered that ask it to */
	uint32_t peer_queue;       /* connections that may wait until it accepts them; 0: unknown */
	bool has_result;           /* this end's was sent (or could not be) */
	struct nd_side *peer_side; /* in .kept */
	struct nd_str early;       /* owned: its message, which came while this end's flows stand */
	bool peer_flows_omitted;
	bool is_stopping;  /* results are awaited for a short time only */
	bool peer_is_gone; /* no result will come from it */
	bool gave_up;
	const char *reason; /* why the result is partial, in .kept */
};

struct nd_native_row {
	const char *name, *help, *who;
	const struct nd_table *table; /* of struct nd_native_body */
	bool has_plan;
	bool is_kept; /* what it holds goes to .kept */
	unsigned
		stages[ND_ENDS]; /* when the receiving end takes it: bits of enum nd_native_stage */
	void (*take[ND_ENDS])(struct nd_native *d, const struct nd_native_body *b);
};

/* native_msg.c */
extern const struct nd_bin_layout nd_native_intro_layout, nd_native_intro_answer_layout,
	nd_native_token_layout, nd_native_token_answer_layout;

struct nd_native_intro {
	uint8_t key[16];
	uint64_t flow, quiet;
};

/** nd_native_encode() - length and JSON of a message behind what is in @out. -EMSGSIZE, -ENOMEM. */
ND_MUST_CHECK int nd_native_encode(enum nd_native_message m, const struct nd_native_body *b,
				   struct nd_str *out);
/** nd_native_take() - decode a framed message and hand it to this end; what is wrong ends the dialog. */
void nd_native_take(struct nd_native *d, const uint8_t *data, size_t n);
/** nd_native_take_early() - take what nd_native_take() has put off, now that this end has its result. */
void nd_native_take_early(struct nd_native *d);
/** nd_native_decode_result() - a framed message 'result' for languages that exchange it among others. What it
 * holds goes to @a. -EBADMSG, -ENOMEM. */
ND_MUST_CHECK int nd_native_decode_result(const uint8_t *data, size_t n, struct nd_arena *a,
					  struct nd_native_body *ret, struct nd_err *err);
void nd_native_print(const uint8_t *data, size_t n, struct nd_str *out);
const char *nd_native_stage_name(enum nd_native_stage stage);

/* native_run.c: what both ends do alike */
void nd_native_send(struct nd_native *d, enum nd_native_message m, const struct nd_native_body *b);
/** nd_native_encode_result() - message 'result' behind what is in @out, without rows that make it too large.
 * @a: for a while. -EMSGSIZE, -ENOMEM. */
ND_MUST_CHECK int nd_native_encode_result(struct nd_arena *a, const struct nd_side *side,
					  struct nd_str *out);
void nd_native_timer(struct nd_native *d, enum nd_native_timer timer, uint64_t at_ns);
void nd_native_prepare(struct nd_native *d);
/** nd_native_wait() - how long this stage may take from now on. */
void nd_native_wait(struct nd_native *d, uint64_t by_ns);
/** nd_native_patience() - the longest wait for an answer before the start; the client's user may say it. */
uint64_t nd_native_patience(const struct nd_native *d);
/** nd_native_setup_ns() - the same for all flows, when a few are given @few_ns. */
uint64_t nd_native_setup_ns(const struct nd_native *d, uint64_t few_ns);
void nd_native_start(struct nd_native *d, uint64_t at_ns);
/** nd_native_threads() - workers of each end. */
uint64_t nd_native_threads(const struct nd_native *d);
/** nd_native_meet() - keep what the peer's hello says about it. */
void nd_native_meet(struct nd_native *d, const struct nd_native_body *b);
const char *nd_native_peer_name(const struct nd_native *d);

void nd_native_on_local(struct nd_native *d, const struct nd_dialog_event *ev);

void nd_native_on_intervals(struct nd_native *d, const struct nd_native_body *b);
void nd_native_on_sent(struct nd_native *d, const struct nd_native_body *b);
void nd_native_on_result(struct nd_native *d, const struct nd_native_body *b);
void nd_native_on_beat(struct nd_native *d, const struct nd_native_body *b);

/* native_end.c: all the ways a test ends */
/** nd_native_fail() - end the dialog without a result. */
void nd_native_fail(struct nd_native *d, bool peer_fault, int code, const char *fmt, ...)
	ND_PRINTF(4, 5);
/** nd_native_protest() - the peer broke the rules: say so to it, then fail. */
void nd_native_protest(struct nd_native *d, const char *fmt, ...) ND_PRINTF(2, 3);
/** nd_native_lost() - nothing more will come from the peer: before the start fail, else keep what is measured. */
void nd_native_lost(struct nd_native *d, int code, const char *fmt, ...) ND_PRINTF(3, 4);
/** nd_native_settle() - go on when both results are here, or the peer's will not come. */
void nd_native_settle(struct nd_native *d);
void nd_native_done(struct nd_native *d);
/** nd_native_run_failed() - this end's run did; @why: NULL when it does not say. */
void nd_native_run_failed(struct nd_native *d, const struct nd_err *why);
/** nd_native_stop_asked() - somebody at this end wants it to end; @reason: NULL when it is not told. */
void nd_native_stop_asked(struct nd_native *d, const char *reason);

void nd_native_on_tick(struct nd_native *d);
void nd_native_on_deadline(struct nd_native *d);
void nd_native_on_down(struct nd_native *d, const struct nd_dialog_event *ev);
void nd_native_on_stop(struct nd_native *d, const struct nd_native_body *b);
void nd_native_on_error(struct nd_native *d, const struct nd_native_body *b);

/* native_client.c */
void nd_native_client_up(struct nd_native *d);
void nd_native_client_ready(struct nd_native *d); /* an end has become ready */
void nd_native_client_ask_time(struct nd_native *d);
void nd_native_client_hello(struct nd_native *d, const struct nd_native_body *b);
void nd_native_client_time(struct nd_native *d, const struct nd_native_body *b);
void nd_native_client_agreed(struct nd_native *d, const struct nd_native_body *b);
void nd_native_client_refuse(struct nd_native *d, const struct nd_native_body *b);
void nd_native_client_is_ready(struct nd_native *d, const struct nd_native_body *b);

/* native_group.c: one of several clients that begin together. */
/** nd_native_hold() - when both ends are ready: wait for the others. */
void nd_native_hold(struct nd_native *d);
void nd_native_held_late(struct nd_native *d);
/** nd_native_refresh_clock() - client, while it is held: clocks drift apart. */
void nd_native_refresh_clock(struct nd_native *d);
/** nd_native_stay() - both results are here: wait for those of the others. */
void nd_native_stay(struct nd_native *d);
/** nd_native_wrapped() - client: done, when nothing is missing any more. */
void nd_native_wrapped(struct nd_native *d);
void nd_native_on_gathered(struct nd_native *d, const struct nd_dialog_event *ev);
void nd_native_on_summed(struct nd_native *d, const struct nd_dialog_event *ev);
void nd_native_client_gather(struct nd_native *d, const struct nd_native_body *b);
void nd_native_client_group(struct nd_native *d, const struct nd_native_body *b);
/** nd_native_group_of() - "group 'NAME'", in .passing. */
const char *nd_native_group_of(struct nd_native *d);

/* native_server.c */
void nd_native_server_socket(struct nd_native *d, const struct nd_dialog_event *ev);
void nd_native_server_judged(struct nd_native *d, const struct nd_dialog_event *ev);
void nd_native_server_refuse(struct nd_native *d, const char *sentence);
void nd_native_server_hello(struct nd_native *d, const struct nd_native_body *b);
void nd_native_server_time(struct nd_native *d, const struct nd_native_body *b);
void nd_native_server_plan(struct nd_native *d, const struct nd_native_body *b);
void nd_native_server_is_ready(struct nd_native *d, const struct nd_native_body *b);
void nd_native_server_go(struct nd_native *d, const struct nd_native_body *b);
void nd_native_server_bye(struct nd_native *d, const struct nd_native_body *b);

#endif
