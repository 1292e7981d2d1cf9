/* SPDX-License-Identifier: MIT */
/*
 * Control languages as event machines. A dialog is one test's conversation, over one link or many. The
 * session feeds events and carries out the verbs that come back; a dialect owns no socket, no
 * thread, no clock and is tested by feeding it events.
 * To add a language: src/dialect/x.c with a const struct nd_dialect, one row in dialects.def.
 */
#ifndef ND_DIALECT_DIALECT_H
#define ND_DIALECT_DIALECT_H

#include <stdarg.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "plan/plan.h"
#include "result/result.h"

/* A kind of port that a server of this language opens. */
struct nd_port_class {
	const char *name;      /* "control and data", "sync", "data" */
	const char *transport; /* transports.def */
	int offset;            /* from the base port */
	bool many;             /* data: one port per flow, counted on from .offset */
};

/* A data socket of the plan, as it was made before anybody is told of it. */
struct nd_socket_facts {
	uint64_t port;                       /* bound to; 0: none yet */
	uint64_t sndbuf_bytes, rcvbuf_bytes; /* as the system has them */
	bool ipv6;
	uint8_t address[16]; /* bound to, 4 or 16 bytes; all zero: any */
	uint8_t peer[16];    /* client: where data goes */
};

/* What the first bytes of an accepted connection, or a datagram on a shared port, turn out to be. */
enum nd_claim_kind {
	ND_CLAIM_MORE,    /* too short to tell */
	ND_CLAIM_CONTROL, /* a link of a new dialog, or of the one with this key */
	ND_CLAIM_FLOW,    /* a data flow of the dialog with this key */
	ND_CLAIM_ALIEN,   /* not this language: close */
};

struct nd_claim {
	enum nd_claim_kind kind;
	uint8_t key[16];     /* joins a dialog; all zero: a new one (CONTROL) */
	uint64_t flow;       /* FLOW: number over the test */
	size_t used;         /* bytes eaten (the rest belongs to the link or flow) */
	uint8_t answer[64];  /* FLOW: send this back when accepted */
	size_t answer_bytes; /* 0: it is not wanted */
};

enum nd_dialog_event_kind {
	ND_DLG_OPEN,        /* dialog begins (client: before any link) */
	ND_DLG_LINK_UP,     /* .link of port class .port_class is connected */
	ND_DLG_MESSAGE,     /* .data/.n on .link, as framed by message_bytes() */
	ND_DLG_LINK_DOWN,   /* .link closed by the peer or broken; .error negative errno or 0 */
	ND_DLG_TIMER,       /* the timer asked for with ND_DO_TIMER .timer */
	ND_DLG_FLOWS_READY, /* local run: all flows are open */
	ND_DLG_RUN_FAILED,  /* .err: the run could not be set up, or refused by nd_run_check() */
	ND_DLG_INTERVAL,    /* .intervals/.n: the local run completed these */
	ND_DLG_SENT,        /* local senders have finished */
	ND_DLG_RESULT,      /* .side: the local run is over and measured */
	ND_DLG_FIRST_DATA,  /* first payload on .flow (languages that decide from data) */
	ND_DLG_FLOW_CLOSED, /* a flow ended; .flow: how many are still open */
	ND_DLG_FLOW_OPEN, /* receiver: a data connection came to .port_class, port .index; .flow: its number */
	ND_DLG_STOP,   /* user or server wants the test ended; .reason */
	ND_DLG_SOCKET, /* answer to ND_DO_SOCKET: .socket; or .error, .err */
	ND_DLG_GATHER, /* server: the group is there and begins at .at_ns; or never, .reason */
	ND_DLG_GROUP,  /* server: what the .group reached together */
	ND_DLG_PLAN, /* server: .plan as agreed by session (limits applied), .reason NULL; or refused, .reason */
};

struct nd_dialog_event {
	enum nd_dialog_event_kind what;
	uint64_t now_ns; /* this host's monotonic clock */
	unsigned link, port_class, timer;
	unsigned index; /* of the port in its class: LINK_UP, FLOW_OPEN */
	const uint8_t *data;
	size_t n;
	int error;
	const struct nd_err *err;
	const struct nd_interval_sample *intervals;
	uint64_t intervals_n;
	const struct nd_side *side;
	uint64_t flow;
	const char *reason;
	struct nd_plan *plan;
	const struct nd_socket_facts *socket;
	uint64_t at_ns;
	struct nd_group *group; /* lives as long as the dialog, only read */
};

enum nd_do {
	ND_DO_CONNECT, /* client: open a link of .port_class; LINK_UP or LINK_DOWN follows */
	ND_DO_SEND,    /* .data/.n to .link (copied into the verb list's buffer) */
	ND_DO_CLOSE,   /* close .link after what is queued */
	ND_DO_TIMER,   /* ND_DLG_TIMER .timer at .at_ns (again: moved; UINT64_MAX: cancelled) */
	ND_DO_PROPOSE, /* server: peer asks for dialog's .plan; session judges, answers ND_DLG_PLAN */
	ND_DO_SOCKET, /* make the data socket of the plan, bound, before the run; ND_DLG_SOCKET follows */
	ND_DO_PREPARE, /* make the run of the dialog's plan with .threads workers: flows open or are awaited */
	ND_DO_START, /* nd_run_start(.at_ns) on the local clock */
	ND_DO_RESTART, /* throw the run away and PREPARE again (languages with repeated tests on one dialog) */
	ND_DO_FINISH, /* peer's senders have finished: nd_run_finish(.quiet_ns, .deadline_ns) */
	ND_DO_STOP,   /* nd_run_stop() */
	ND_DO_NOTE,   /* the user should know: .err.text */
	ND_DO_PEER_INTERVAL, /* the peer's samples (.intervals/.n) for live lines */
	ND_DO_GATHER, /* server: ready to begin with the group of the plan, .rtt_ns away; ND_DLG_GATHER follows */
	ND_DO_MEMBER, /* server: results of both ends are here, .peer_side, .reason when partial; ND_DLG_GROUP follows */
	ND_DO_DONE, /* dialog is over; .peer_side and .group may be NULL; .reason when partial */
	ND_DO_FAIL, /* dialog is over without a result: .err, exit code 3 when .peer_fault */
};

struct nd_verb_item {
	enum nd_do what;
	unsigned link, port_class, timer;
	unsigned
		index; /* CONNECT: of the port in its class; .link comes back in LINK_UP and LINK_DOWN */
	size_t data_at, n; /* into nd_verbs.data */
	uint64_t at_ns, threads, quiet_ns, deadline_ns, rtt_ns;
	const struct nd_interval_sample *intervals; /* in the dialog's arena until the next event */
	uint64_t intervals_n;
	struct nd_side *peer_side; /* in the dialog's arena */
	struct nd_group *group;    /* likewise */
	const char *reason;
	struct nd_err err;
	bool peer_fault;
};

/* Filled by event(), emptied by the session. */
struct nd_verbs {
	struct nd_verb_item *v; /* owned */
	size_t n;
	struct nd_str data;        /* bytes of SEND */
	bool failed;               /* no memory: end the dialog */
	struct nd_verb_item dummy; /* what nd_verbs_add() gives when failed */
};
/** nd_verbs_add() - append a verb, zeroed but for @what; never NULL (a dummy when failed). Valid until the next call. */
struct nd_verb_item *nd_verbs_add(struct nd_verbs *verbs, enum nd_do what);
/** nd_verbs_end() - DONE with what the peer told, and why it ended early: NULL, it did not. */
void nd_verbs_end(struct nd_verbs *verbs, struct nd_side *peer_side, const char *reason);
/** nd_verbs_fail() - FAIL with a sentence, which is shortened when it is too long. */
void nd_verbs_fail(struct nd_verbs *verbs, bool peer_fault, int code, const char *fmt, va_list ap)
	ND_PRINTF(4, 0);
/** nd_verbs_send() - SEND with a copy of @n bytes. */
void nd_verbs_send(struct nd_verbs *verbs, unsigned link, const void *data, size_t n);
/** nd_verbs_reset() - empty it, the memory is kept. */
void nd_verbs_reset(struct nd_verbs *verbs);
/** nd_verbs_done() - free it. */
void nd_verbs_done(struct nd_verbs *verbs);

/* What a dialog knows from birth. */
struct nd_dialog_cfg {
	enum nd_end_kind end;
	struct nd_plan *
		plan; /* client: what to run (may be completed); server: empty, filled from the peer */
	uint8_t key[16]; /* server: random token that joins flows to this dialog */
	const char *boot_id, *netns_id, *hostname; /* this host */
	uint64_t cpus;                             /* this end may use */
	uint64_t datagram_bytes; /* server: largest datagram back to this peer; 0 unknown */
	uint64_t longest_ns;     /* server: longest test that it answers; 0: any */
	uint64_t queue; /* server: connections that may wait until it accepts them; 0: unknown */
};

/* What a session may ask a dialog for, at any time. */
struct nd_dialog_facts {
	double clock_offset_us, clock_rtt_us, clock_drift_us; /* NAN: not measured */
	bool same_host;                                       /* equal boot id */
	const char *peer_version;
	uint64_t peer_cpus;
	uint64_t start_ns; /* agreed start, local clock; 0: none yet */
	bool peer_flows_omitted; /* the peer's result was too large with a row per flow: it came without */
};

struct nd_greeting_out { /* copied into struct nd_greeting by the session */
	uint8_t hello[64], answer[64];
	uint32_t hello_bytes, flow_at, quiet_at, answer_bytes, answer_flow_at, resend_ms, queue;
};

struct nd_dialect {
	const char *name, *help;
	const struct nd_port_class *ports; /* ends with .name NULL */
	size_t state_bytes;
	size_t message_max;
	/** Bytes with which a data flow introduces itself: they may be read at once, whoever it is; 0: looked at first. */
	size_t intro_bytes;
	/** Server: what is this? @datagram: a whole datagram on a shared port. */
	void (*claim)(const uint8_t *data, size_t n, bool datagram, struct nd_claim *ret);
	/** Length of the first whole message at @data, on a link of @port_class; 0: need more; -EBADMSG,
	 * -EMSGSIZE: close. */
	ssize_t (*message_bytes)(const uint8_t *data, size_t n, unsigned port_class);
	/** Server: does it open ports of this class, and how many, counted on from the first? NULL: all
	 * classes that are not .many, one port each. */
	bool (*listens)(const void *state, unsigned port_class, unsigned *ret_count);
	/** Server: are ports of this class welcome, but not needed? One that cannot be had is named, and
	 * the others are served. NULL: all are needed. */
	bool (*spares)(const void *state, unsigned port_class);
	int (*open)(void *state, const struct nd_dialog_cfg *cfg, struct nd_err *err);
	void (*event)(void *state, const struct nd_dialog_event *ev, struct nd_verbs *ret);
	void (*facts)(const void *state, struct nd_dialog_facts *ret);
	/** Client: how its flows introduce themselves; false: they need not. */
	bool (*greeting)(const void *state, bool datagram, struct nd_greeting_out *ret);
	void (*close)(void *state);
	/** Print a message for --trace-control. */
	void (*print)(const uint8_t *data, size_t n, struct nd_str *out);
};

/** nd_dialect_at() - number @n of dialects.def; NULL behind the last. */
const struct nd_dialect *nd_dialect_at(size_t n);
/** nd_dialect_find() - by name; NULL: there is none. */
const struct nd_dialect *nd_dialect_find(const char *name);
/** nd_dialect_names() - name of number @n, and its help; NULL behind the last. */
const char *nd_dialect_names(size_t n, const char **ret_help);
/** nd_dialect_doc() - messages and layouts of the native language in Markdown, from their rows. */
void nd_dialect_doc(struct nd_str *out);

/* How far the peer's clock is ahead of ours, by the exchange with the smallest RTT. */
struct nd_clock {
	int64_t offset_ns;
	uint64_t rtt_ns; /* UINT64_MAX: none yet */
	unsigned n;
};

/** nd_clock_add() - one exchange: sent and received on our clock, the peer's in between, each in ns.
 * Its offset is peer - (sent + received) / 2. */
void nd_clock_add(struct nd_clock *c, uint64_t sent_ns, uint64_t peer_ns, uint64_t received_ns);

#endif
