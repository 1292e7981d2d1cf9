/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of NTttcp's two languages. Linux: one connection beside the data ports, words of four
 * bytes. Windows: one connection per data port, a byte each way. A receiver speaks both and finds out which
 * one it is asked in; so does a sender.
 */
#ifndef ND_DIALECT_NTTTCP_H
#define ND_DIALECT_NTTTCP_H

#include "dialect/int.h"
#include "plan/ntttcp.h"

/* Port classes, in the order of the dialect's list. */
enum nd_nt_class { ND_NT_SYNC, ND_NT_DATA, ND_NT_DATAGRAMS, ND_NT_TOKEN, ND_NT_PORT };

/* Words on the sync connection. They have no type: what a number means follows from its place. */
enum {
	ND_NT_STOP = 'E',    /* to a receiver: end; from one: rejected */
	ND_NT_LAST = 'L',    /* start, and all who wait too */
	ND_NT_START = 'R',   /* start; from a receiver: now */
	ND_NT_WAIT = 'W',    /* from a receiver: another word will follow */
	ND_NT_ASK = 'X',     /* which state? */
	ND_NT_RESULT = 'N',  /* among our own ends: a result follows */
	ND_NT_OURS = 10,     /* states: free, and results may be exchanged */
	ND_NT_FREE = 11,     /* free */
	ND_NT_BUSY = 12,     /* a test runs */
	ND_NT_FINISHED = 13, /* free again */
};

#define ND_NT_WORD_BYTES 4u
#define ND_NT_TOKEN_BYTE 'X'
#define ND_NT_RESULT_MIN 256u /* a result is padded to this, and to whole words */
#define ND_NT_TARGET_MAX 64u  /* receivers of one sender */
#define ND_NT_LINKS_MAX  1024u
#define ND_NT_SMALL_LINK 0x10000u /* numbers of token and port links begin here */
#define ND_NT_SMALL_MAX  1000u    /* token or port connections of one sender */
#define ND_NT_AT_ONCE    10u      /* of them in progress */

#define ND_NT_ANSWER_NS (5 * ND_NS_PER_S) /* for a word */
#define ND_NT_GO_NS \
	(30 * ND_NS_PER_S) /* for the answer to R: the receiver still takes connections */
#define ND_NT_STOP_NS (3 * ND_NS_PER_S) /* for the answer to E */
#define ND_NT_LOST_NS \
	(1 * ND_NS_PER_S) /* a receiver that leaves with less than this to go has ended */
#define ND_NT_PROBE_NS \
	(1 * ND_NS_PER_S) /* for a sync port that a Windows command line did not name */
#define ND_NT_RETRY_NS  (100 * ND_NS_PER_MS)
#define ND_NT_TOKENS_NS (10 * ND_NS_PER_S) /* without progress, where tokens were asked for */
#define ND_NT_GUESS_NS  (1 * ND_NS_PER_S)  /* the same where they were a guess */
#define ND_NT_LINGER_NS \
	(500 * ND_NS_PER_MS) /* data connections stay open: the receiver may end later */
#define ND_NT_EARLY_NS   (500 * ND_NS_PER_MS) /* of the measured time that may be missing */
#define ND_NT_PATIENT_NS (10 * ND_NS_PER_S)   /* for ports that a Windows receiver opens late */
#define ND_NT_MUTE_NS    (2 * ND_NS_PER_S)    /* datagrams nobody had announced have ended */
#define ND_NT_GATHER_NS  (300 * ND_NS_PER_MS) /* fewer tokens than ports: were these all? */
#define ND_NT_LOOK_NS    (10 * ND_NS_PER_MS)  /* all tokens are there: do they stay? */
#define ND_NT_TAIL_NS    (200 * ND_NS_PER_MS) /* for what is still under way at the end */
#define ND_NT_ALONE_NS   (1 * ND_NS_PER_S)    /* the same where the sender's clock began later */
#define ND_NT_WRAP_NS    (2 * ND_NS_PER_S)    /* results are here: for the sender's last words */
#define ND_NT_OVER_NS    (10 * ND_NS_PER_S)   /* for a run that was told to end */
#define ND_NT_SILENT_NS  (120 * ND_NS_PER_S)  /* agreed upon, but not started */

enum nd_nt_timer {
	ND_NT_DEADLINE, /* of the stage */
	ND_NT_RETRY,    /* sender: token connections that failed */
	ND_NT_DECIDE,   /* receiver: what kind of sender is this? */
};

enum nd_nt_stage {
	/* sender */
	ND_NT_CONNECTING, /* sync links */
	ND_NT_ASKING,     /* X */
	ND_NT_AGREEING,   /* time */
	ND_NT_PORTS,      /* -sp */
	ND_NT_PREPARING,  /* data connections */
	ND_NT_TOKENS,
	ND_NT_STARTING,  /* R or L */
	ND_NT_RUNNING,   /* both ends */
	ND_NT_ENDING,    /* E */
	ND_NT_TRADING,   /* results */
	ND_NT_LINGERING, /* nothing but time */
	/* receiver */
	ND_NT_IDLE,
	ND_NT_AGREED,
	ND_NT_WRAPPING,
	/* both */
	ND_NT_OVER,
};

enum nd_nt_way { ND_NT_UNKNOWN_WAY, ND_NT_LINUX, ND_NT_WINDOWS, ND_NT_NO_SYNC };

/* Sender: the sync link to one receiver; its number is its place. */
struct nd_nt_target {
	unsigned index; /* of the host among the plan's targets */
	bool is_up, is_tried, is_answered, is_ours;
};

/* Sender: a connection that is over after a few bytes. */
struct nd_nt_small {
	enum { ND_NT_TODO, ND_NT_OPEN, ND_NT_FAILED, ND_NT_READ } state;

	uint16_t port; /* read from it */
};

enum nd_nt_place { ND_NT_AT_ASK, ND_NT_AT_TIME, ND_NT_AT_START, ND_NT_AT_END, ND_NT_AT_RESULT };

/* Receiver: a link that came. */
struct nd_nt_link {
	unsigned number, port_class;
	enum nd_nt_place place; /* sync: what its next word is */
	bool is_waiting;        /* R was answered with W */
};

struct nd_nt {
	enum nd_end_kind end;
	enum nd_nt_stage stage;
	enum nd_nt_way way;
	struct nd_plan *plan;        /* borrowed */
	const struct nd_ntttcp *set; /* in the plan */
	uint64_t cpus;
	struct nd_arena kept, passing;

	/* while in event() */
	uint64_t now_ns;
	struct nd_verbs *verbs;

	/* the test */
	uint64_t cycle_ns; /* agreed; 0: until somebody ends it */
	uint64_t start_ns;
	bool is_prepared, is_finishing, is_stopping, is_late, has_result;
	const char *reason;        /* why the result is partial, in .kept */
	struct nd_str mine;        /* this end's result, framed */
	struct nd_str theirs;      /* the peer's, as far as it came */
	struct nd_side *peer_side; /* in .kept */

	/* sender */
	struct nd_nt_target targets[ND_NT_TARGET_MAX];
	unsigned target_n, pending; /* links that have not answered yet */
	bool is_bumped;             /* proposed a second more than wanted, around the commands */
	bool is_guess;              /* the Windows way is tried because there was no sync port */
	bool told_stop;             /* E was sent */
	bool has_asked;             /* TRADING: N was answered */
	int link_error;
	struct nd_err why;         /* of the links that could not be connected */
	struct nd_nt_small *small; /* in .kept */
	enum nd_nt_class small_class;
	unsigned small_n, small_read;

	/* receiver */
	struct nd_nt_link *links; /* owned */
	unsigned link_n;
	bool has_owner, has_data, wants_result;
	unsigned owner; /* link of the sender whose test it is */
	int32_t agreed_s;
	unsigned tokens; /* connections that came */
	bool has_held;
	unsigned held; /* the token link that was not answered yet */
	uint64_t flows_open, ports_told;
	double mute_s; /* how long no datagram has come */
};

/* ---- ntttcp.c: what both ends do alike */

uint32_t nd_nt_word_of(const uint8_t *data);
void nd_nt_say(struct nd_nt *d, unsigned link, uint32_t word);
void nd_nt_timer(struct nd_nt *d, enum nd_nt_timer timer, uint64_t at_ns);
void nd_nt_within(struct nd_nt *d, uint64_t by_ns); /* deadline of the stage */
void nd_nt_close(struct nd_nt *d, unsigned link);
/** nd_nt_agreed() - tell the user of a cycle that is not the one asked for. */
void nd_nt_agreed(struct nd_nt *d, int32_t cycle_s);
/** nd_nt_own_s() - this end's whole time in seconds, rounded up; 0: no limit. */
uint64_t nd_nt_own_s(const struct nd_ntttcp *set);
/** nd_nt_own_ns() - the same, exact. */
uint64_t nd_nt_own_ns(const struct nd_ntttcp *set);
/** nd_nt_keep_open() - sender: a receiver that does not say when it has ended may do so later than this end, and
 * takes an end of its connections before that badly: the Windows one for an error, the Linux one then waits for ever. */
void nd_nt_keep_open(struct nd_nt *d, bool keep);
/** nd_nt_prepare() - the run of a cycle (0: no limit); another one takes the place of a run with other times. */
void nd_nt_prepare(struct nd_nt *d, uint64_t cycle_ns);
/** nd_nt_again() - throw the run and its flows away; a new one has this end's own times. */
void nd_nt_again(struct nd_nt *d);
void nd_nt_start(struct nd_nt *d);
/** nd_nt_is_udp() - is the data of this test datagrams? */
bool nd_nt_is_udp(const struct nd_nt *d);
void nd_nt_finish(struct nd_nt *d, uint64_t by_ns);
/** nd_nt_missing_ns() - how much of the measured time is still to come. */
uint64_t nd_nt_missing_ns(const struct nd_nt *d);
void nd_nt_keep_reason(struct nd_nt *d, const char *reason);
void nd_nt_keep_result(struct nd_nt *d, const struct nd_side *side);
/** nd_nt_take_result() - more bytes of the peer's. Return: 1 complete, 0 not yet, -EBADMSG. */
ND_MUST_CHECK int nd_nt_take_result(struct nd_nt *d, const uint8_t *data, size_t n);
/** nd_nt_late() - the run was told to end and has not. */
void nd_nt_late(struct nd_nt *d);
void nd_nt_done(struct nd_nt *d);
void nd_nt_fail(struct nd_nt *d, bool peer_fault, int code, const char *fmt, ...) ND_PRINTF(4, 5);

/* ---- the ends */

void nd_nt_sender_event(struct nd_nt *d, const struct nd_dialog_event *ev);
int nd_nt_sender_open(struct nd_nt *d, struct nd_err *err);
void nd_nt_receiver_event(struct nd_nt *d, const struct nd_dialog_event *ev);

/* ---- ntttcp_linux_sender.c to ntttcp_windows_sender.c and back */

/** nd_nt_windows_begin() - data first, then tokens. */
void nd_nt_windows_begin(struct nd_nt *d);
void nd_nt_windows_ready(struct nd_nt *d); /* the data connections are there */
/** nd_nt_data_first() - data connections are made with nothing agreed on. */
void nd_nt_data_first(struct nd_nt *d);
/** nd_nt_ports_begin() - ask for each data port. */
void nd_nt_ports_begin(struct nd_nt *d);
void nd_nt_small_event(struct nd_nt *d, const struct nd_dialog_event *ev);
void nd_nt_small_late(struct nd_nt *d); /* no progress for too long */
/** nd_nt_sender_ports_read() - plan->data_port is known. */
void nd_nt_sender_ports_read(struct nd_nt *d);
/** nd_nt_sender_start() - all that had to be there is there. */
void nd_nt_sender_start(struct nd_nt *d);

/* ---- ntttcp_receiver.c to ntttcp_linux_receiver.c and ntttcp_windows_receiver.c */

/** nd_nt_find() - the link of that number; NULL: it has gone. */
struct nd_nt_link *nd_nt_find(const struct nd_nt *d, unsigned number);
void nd_nt_turn_away(struct nd_nt *d, unsigned number); /* close a link and forget it */
bool nd_nt_is_before(const struct nd_nt *d);            /* no test runs or has run */
/** nd_nt_begin() - the run that is prepared, now; it ends by the cycle. */
void nd_nt_begin(struct nd_nt *d);
/** nd_nt_start_alone() - prepare and begin; both clocks are their own: each end runs the time it was told. */
void nd_nt_start_alone(struct nd_nt *d, enum nd_nt_way way);
/** nd_nt_end_early() - the test ends before its time. @reason: why the result is partial; NULL: it is not. */
void nd_nt_end_early(struct nd_nt *d, uint64_t tail_ns, const char *reason);
void nd_nt_give_result(struct nd_nt *d); /* to the sender that has asked for it */
void nd_nt_settle(struct nd_nt *d);      /* done, when no sender can have a question any more */

/* ---- and back */

/** nd_nt_word_came() - bytes on sync link @k. */
void nd_nt_word_came(struct nd_nt *d, struct nd_nt_link *k, const struct nd_dialog_event *ev);
void nd_nt_token_came(struct nd_nt *d, unsigned link);        /* a token connection */
void nd_nt_token_byte(struct nd_nt *d, struct nd_nt_link *k); /* on it */
void nd_nt_tokens_there(struct nd_nt *d); /* no other will come: begin, and answer the last one */
void nd_nt_tell_port(struct nd_nt *d, unsigned link);

#endif
