/* SPDX-License-Identifier: MIT */
/* Shared by client and server: one test as its session holds it. */
#ifndef ND_SESSION_INT_H
#define ND_SESSION_INT_H

#include "ctl/ctl.h"
#include "dialect/dialect.h"
#include "net/net.h"
#include "os/os.h"
#include "plan/plan.h"
#include "result/progress.h"
#include "result/result.h"
#include "run/run.h"
#include "session/session.h"

#define ND_GREETING_NS (5 * ND_NS_PER_S) /* who has not said what it wants by then is closed */
#define ND_TEST_EVENTS 8                 /* that carrying out verbs may cause at a time */

/* Where something failed: the same error means another thing there. */
enum nd_where {
	ND_AT_OPTION, /* a value of an option: a source address, an address to listen on */
	ND_AT_HOST,   /* the host's name */
	ND_AT_PEER,   /* a dialog says that it is the peer's */
	ND_AT_RUN,    /* a dialog says that it is not, or the run failed */
};

/** nd_ending_of() - how a session ends by an error, without a result. @code: negative errno. */
enum nd_ending nd_ending_of(enum nd_where where, int code);

struct nd_test;

/* What client and server do differently. All on the main thread; NULL members: nothing. */
struct nd_test_ops {
	/* ND_DO_CONNECT: start nd_link_connect() with nd_test_link_ops() and @slot as its user. */
	int (*connect)(void *user, const struct nd_verb_item *v, void *slot, struct nd_link **ret,
		       struct nd_err *err);
	/* A link of the dialog is up; what fails here ends the test. */
	int (*up)(void *user, struct nd_err *err);
	/* A link could not be connected: say it in words that help. */
	void (*explain)(void *user, int error, struct nd_err *err);
	/* ND_DO_PROPOSE: judge test->plan. */
	int (*propose)(void *user, struct nd_err *err);
	/* ND_DO_SOCKET: make the data socket of test->plan. */
	int (*socket)(void *user, struct nd_socket_facts *ret, struct nd_err *err);
	/* ND_DO_PREPARE: add peer, from, dev; what they point to lives as long as the test. */
	void (*prepare)(void *user, struct nd_run_cfg *cfg);
	/* The dialog wants the user to know. */
	void (*note)(void *user, const char *text);
	/* ND_DO_GATHER, ND_DO_MEMBER: of the test's group. */
	void (*gather)(void *user, uint64_t rtt_ns);
	void (*member)(void *user);
	/* All flows of the run are open; it took so long. */
	void (*ready)(void *user, uint64_t flows, uint64_t microseconds);
	/* The run is there and takes sockets. */
	void (*prepared)(void *user);
	void (*start)(void *user, uint64_t at_ns);
	/* Flows of an open-ended run have ended; @open are left. */
	void (*flows)(void *user, uint64_t open);
	/* What this end measured, before the dialog gets it: add what only the session knows. */
	void (*measured)(void *user, struct nd_side *side);
	/* Samples of this end (@own) or the peer's, as they become known. */
	void (*intervals)(void *user, bool own, const struct nd_interval_sample *s, uint64_t n);
	/* From a worker's diary, not long after it was written. NULL: none is kept. */
	void (*seen)(void *user, const struct nd_diary_entry *e);
	void (*sent)(void *user);
	/* The dialog has ended: .ending, .err and the rest are set, the peer's side is still there. */
	void (*over)(void *user);
	/* Nothing of the test runs any more: nd_test_done() and free it. From the loop, nothing above it. */
	void (*gone)(void *user);
};

struct nd_test_link; /* a link and its number in the dialog */
struct nd_test_timer;

/* This host, read once per session. */
struct nd_here {
	struct nd_arena arena;
	struct nd_host_facts host;
	struct nd_os *os; /* owned; NULL: nothing can be read */
};

void nd_here_read(struct nd_here *here); /* what cannot be read stays unknown */
void nd_here_done(struct nd_here *here);

/* Intervals of one workload that the peer told. */
struct nd_heard {
	struct nd_interval_sample *v; /* owned: nd_heard_done() */
	size_t n;
};

/** nd_heard_add() - keep a copy; without memory it is lost. */
void nd_heard_add(struct nd_heard *heard, const struct nd_interval_sample *s);
void nd_heard_done(struct nd_heard *heard);

struct nd_test {
	struct nd_loop *loop; /* borrowed, like the next five */
	const struct nd_dialect *dialect;
	const struct nd_test_ops *ops;
	void *user;
	struct nd_plan *plan;
	const struct nd_here *here;
	enum nd_end_kind end;
	bool trace;

	void *dialog; /* owned: the dialect's state */
	bool is_open, is_carrying;
	struct nd_verbs verbs;
	struct nd_dialog_event queue[ND_TEST_EVENTS];
	size_t queued;
	struct nd_test_link *links;   /* owned */
	struct nd_test_timer *timers; /* owned */
	struct nd_addr local, peer;   /* of the first link */
	uint64_t threads_max;         /* of this end; 0: as many as it has CPUs */
	unsigned adopted;             /* links numbered by nd_test_adopt_at() */

	struct nd_run *run; /* owned */
	struct nd_watch *run_watch;
	struct nd_greeting greeting[2]; /* of streams, of datagrams */
	char nic[64];
	enum nd_run_state run_state;
	uint32_t intervals_told;
	struct nd_heard heard[ND_MAX_WORKLOADS]; /* and heard of the peer */
	uint64_t flows_told;
	uint64_t prepared_ns; /* when flows began to open */
	uint64_t ready_ns;    /* when all were open; 0: they are not */
	bool told_ready, told_sent, told_result;
	bool had_run; /* got as far as a run */
	uint64_t started_unix_ms;

	struct nd_arena arena;                         /* of .side */
	struct nd_side side;                           /* this end's, when .told_result */
	struct nd_samples *samples[ND_RESULT_SAMPLES]; /* owned: of this end's workers */
	size_t samples_n;
	uint64_t overlapped; /* kept by the server */
	char name_version[32];

	bool is_over, is_leaving;
	struct nd_timer *reaper;
	struct nd_timer *reader; /* of diaries; NULL: there are none */
	enum nd_ending ending;
	struct nd_err err;               /* FAILED, PEER */
	struct nd_err run_err, refusal;  /* what events point to */
	struct nd_socket_facts socket;   /* likewise */
	const char *reason;              /* PARTIAL: in the dialog */
	const struct nd_side *peer_side; /* in the dialog; NULL: not told */
	const struct nd_group *group;    /* in the dialog, or the server's group; NULL: none */
	char stop_reason[64];
};

/* What a test is made of; the caller owns the memory. */
ND_MUST_CHECK int nd_test_init(struct nd_test *t, struct nd_loop *l, const struct nd_dialect *d,
			       const struct nd_test_ops *ops, void *user, struct nd_err *err);
/** nd_test_open() - begin the dialog; .end, .plan, .here are set. @cfg: key and datagram_bytes are used. */
ND_MUST_CHECK int nd_test_open(struct nd_test *t, const struct nd_dialog_cfg *cfg,
			       struct nd_err *err);
/** nd_test_adopt() - server: an accepted link; takes @fd, also when it fails. */
ND_MUST_CHECK int nd_test_adopt(struct nd_test *t, int fd, const uint8_t *data, size_t n,
				struct nd_err *err);
/** nd_test_adopt_at() - receiver: the same on the port @index of class @port_class. */
ND_MUST_CHECK int nd_test_adopt_at(struct nd_test *t, unsigned port_class, unsigned index, int fd,
				   struct nd_err *err);
void nd_test_feed(struct nd_test *t, const struct nd_dialog_event *ev);
/** nd_test_stop() - the user or server wants it ended; the dialog decides how. */
void nd_test_stop(struct nd_test *t, const char *reason);
/** nd_test_fail() - end it without asking the dialog. over() follows at once, gone() from the loop. */
void nd_test_fail(struct nd_test *t, enum nd_ending ending, const struct nd_err *err);
void nd_test_done(struct nd_test *t);

const struct nd_link_ops *nd_test_link_ops(void);

/* links.c: the links and timers of a dialog, by number. */
void nd_test_do_connect(struct nd_test *t, const struct nd_verb_item *v);
void nd_test_do_send(struct nd_test *t, const struct nd_verb_item *v);
void nd_test_do_close(struct nd_test *t, unsigned number);
void nd_test_do_timer(struct nd_test *t, unsigned number, uint64_t at_ns);
void nd_test_drop_links(struct nd_test *t, bool at_once);
void nd_test_drop_timers(struct nd_test *t);
void nd_test_queue(struct nd_test *t, const struct nd_dialog_event *ev);

/* outcome.c: what a test gives. */
/** nd_outcome_side() - this end's measurements, into t->side. */
ND_MUST_CHECK int nd_outcome_side(struct nd_test *t, struct nd_err *err);
/** nd_outcome_result() - both ends joined into @ret, which is initialised. Copies: nothing in it points
 * into the test, but for .plan. */
ND_MUST_CHECK int nd_outcome_result(const struct nd_test *t, struct nd_result *ret,
				    struct nd_err *err);
/** nd_outcome_ending() - how a session ends by what this result says of itself; @err says why for ND_END_DAMAGED. */
enum nd_ending nd_outcome_ending(const struct nd_result *r, struct nd_err *err);
/** nd_outcome_copy() - deep copy by field rows. */
ND_MUST_CHECK int nd_outcome_copy(const struct nd_table *table, void *base, struct nd_arena *a);

/* What a session is given. */
struct nd_session {
	struct nd_plan *plan;
	const struct nd_sink *sink;
	void (*finished)(void *user, struct nd_result *r);
	void *user;
	bool *interrupted; /* set when a signal has ended a client's test; NULL: nobody asks */
};

/** nd_session_client(), nd_session_serve(), nd_session_receive() - the three kinds of session. Return: enum
 * nd_ending, @err says why. */
int nd_session_client(const struct nd_session *how, struct nd_err *err);
/** nd_session_repeat() - as nd_session_client(), as often as netperf's plan says. */
int nd_session_repeat(const struct nd_session *how, struct nd_err *err);
int nd_session_serve(const struct nd_session *how, struct nd_err *err);
int nd_session_receive(const struct nd_session *how, struct nd_err *err);
/** nd_session_netserver() - the receiver of netperf's clients, until a signal. */
int nd_session_netserver(const struct nd_session *how, struct nd_err *err);
/** nd_session_packets() - as nd_session_client(); with plan->find a search of many tests, the last of which is
 * reported. */
int nd_session_packets(const struct nd_session *how, struct nd_err *err);

/** nd_session_latency() - as nd_session_client(); with plan->load twice, without and with it, as one result. */
int nd_session_latency(const struct nd_session *how, struct nd_err *err);

/* keep.c: a result that outlives its test, where a session has several. */
/** nd_session_keep() - move @r to @kept, which is initialised or holds an earlier one. What is borrowed from the test
 * is copied, or goes; @r is empty then. */
void nd_session_keep(struct nd_result *kept, struct nd_result *r);
/** nd_session_cut_short() - no more came behind @kept: it is partial, @what (a constant) and @err say why. */
void nd_session_cut_short(struct nd_result *kept, const char *what, const struct nd_err *err);

/* Where flows come from and go to, for nd_spread_ports(). */
struct nd_ports {
	const struct nd_addr *peer;
	const struct nd_addr *from; /* NULL: any */
	const char *dev;            /* NULL: any */
	const struct nd_host_facts *host;
};

/** nd_spread_ports() - choose plan->source_port, so that flows share a receiver's queues. -EADDRINUSE. */
ND_MUST_CHECK int nd_spread_ports(const struct nd_ports *p, struct nd_plan *plan,
				  struct nd_err *err);

/* routes.c: a tool's hosts and ports. */
struct nd_routes {
	struct nd_route *v; /* owned */
	uint32_t n;         /* 0: one host, one port */
};

/** nd_routes_resolve() - addresses of plan->targets. Blocks in the resolver. */
ND_MUST_CHECK int nd_routes_resolve(struct nd_routes *r, const struct nd_plan *plan,
				    struct nd_err *err);
/** nd_routes_bind() - of an end that connects nowhere: the CPUs that plan->targets name; none when they name none.
 * -ENOMEM. */
ND_MUST_CHECK int nd_routes_bind(struct nd_routes *r, const struct nd_plan *plan);
/** nd_routes_number() - first ports, once plan->data_port is known. */
void nd_routes_number(struct nd_routes *r, const struct nd_plan *plan);
/** nd_routes_flow() - where flow number @flow goes. False: there is no such flow. */
bool nd_routes_flow(const struct nd_routes *r, uint64_t flow, struct nd_addr *ret);
void nd_routes_done(struct nd_routes *r);

/* live.c: interval lines from the samples of both ends. */
struct nd_live;

ND_MUST_CHECK int nd_live_new(struct nd_loop *l, const struct nd_plan *plan, enum nd_end_kind end,
			      const struct nd_sink *sink, struct nd_live **ret);
void nd_live_add(struct nd_live *v, bool own, const struct nd_interval_sample *s, uint64_t n);
void nd_live_flush(struct nd_live *v); /* do not wait for the peer any more */
void nd_live_free(struct nd_live *v);

/* phases.c: tells warm-up, measuring, cool-down and drain as they begin. */
struct nd_phases;

ND_MUST_CHECK int nd_phases_new(struct nd_loop *l, const struct nd_plan *plan,
				const struct nd_sink *sink,
				struct nd_phases **ret);   /* -1: no memory */
void nd_phases_start(struct nd_phases *v, uint64_t at_ns); /* NULL is fine, below too */
/** nd_datasock_tell() - sizes of a socket's buffers, for a face that shows them when they were asked for. */
void nd_datasock_tell(const struct nd_plan *plan, const struct nd_sink *sink, int fd);
void nd_phases_end(struct nd_phases *v); /* sending is over, maybe early: the drain begins */
void nd_phases_free(struct nd_phases *v);

/* ---- the server: its files share these ---- */

struct nd_gathering; /* a group */
struct nd_member;
struct nd_hold; /* a datagram socket whose first datagrams the session still answers */

/* One client's test. */
struct nd_served {
	struct nd_test test;
	struct nd_server *server; /* borrowed */
	struct nd_served *next, *prev;
	struct nd_plan plan;
	uint8_t key[16];
	uint64_t datagram_bytes;  /* that cross the path to the client; 0: unknown */
	uint64_t number;          /* in the log; 0: nothing was asked yet */
	bool is_running;          /* a run was agreed upon and the dialog is not over */
	bool is_started;          /* overlaps with others that are */
	bool is_next;             /* goes on with the one session that --once answers */
	int listener;             /* owned: of connections that come and go; -1: none */
	uint8_t *given;           /* owned: a bit per flow that has its socket */
	struct nd_hold **holds;   /* owned: per flow; NULL: no datagram flow yet */
	uint64_t flows;           /* room of both */
	struct nd_member *member; /* borrowed, of its group; NULL: none */
};

struct nd_also;

struct nd_server {
	struct nd_plan *plan; /* borrowed: the server's own, its policy */
	const struct nd_sink *sink;
	void (*finished)(void *user, struct nd_result *r);
	void *finished_user;
	struct nd_here here;
	struct nd_loop *loop;
	struct nd_lobby *lobby;
	struct nd_hold *oldest_hold, *newest_hold; /* borrowed: over all tests */
	uint64_t hold_n, hold_max;                 /* 0: by the limit of descriptors */
	const struct nd_dialect *dialect;
	struct nd_timer *guard;
	struct nd_served *tests; /* owned, newest first */
	unsigned test_n;
	uint64_t numbers;            /* given to tests so far */
	struct nd_also *also;        /* owned */
	struct nd_gathering *groups; /* they end with their last member */
	uint64_t also_n;
	struct nd_cidr *allow; /* owned */
	uint64_t allow_n;
	bool is_stopping, once_taken;
	struct nd_timer *patience; /* --once: so long for the session's next test */
	struct nd_addr once_peer;  /* whose next test is waited for; .len 0: nobody's */
	bool picks_port;           /* the plan leaves it to the kernel */
	enum nd_ending failed_as;  /* when it does not come up */
	uint64_t signal_ns;
	uint64_t unwelcome, unwelcome_ns; /* connections refused, and when the log last said so */
};

/* also.c: other tools' receivers. */
ND_MUST_CHECK int nd_also_open(struct nd_server *s, struct nd_err *err);
void nd_also_stop(struct nd_server *s, const char *reason);
bool nd_also_is_open(const struct nd_server *s);
void nd_also_done(struct nd_server *s);

/* doors.c: listening sockets. */
ND_MUST_CHECK int nd_doors_open(struct nd_server *s, struct nd_err *err);

/* served.c: one client's test. */
/** nd_served_new() - begin a test on an accepted connection. Takes @fd. */
void nd_served_new(struct nd_server *s, int fd, const struct nd_addr *peer, const uint8_t *rest,
		   size_t rest_n);
void nd_served_free(struct nd_served *c);
/** nd_served_line() - a result as one line for the log. */
void nd_served_line(const struct nd_result *r, struct nd_str *out);
/** nd_server_may_leave() - leave the loop when the server stops and nothing runs any more. */
void nd_server_may_leave(struct nd_server *s);
/** nd_server_stop() - no new tests; running ones end within 5 s; then the loop is left. */
void nd_server_stop(struct nd_server *s, const char *reason);
/** nd_server_answered() - the one session of --once is over: stop. */
void nd_server_answered(struct nd_server *s);

/** nd_served_group_line() - a group's sum as one line for the log. */
void nd_served_group_line(const struct nd_group *g, struct nd_str *out);

/* group.c: clients that begin together. */
/** nd_group_waits_for() - is there a group that this plan would join? */
bool nd_group_waits_for(const struct nd_server *s, const struct nd_plan *plan);
/** nd_group_join() - a place in the group of c->plan, which is checked. The sentence says why not. */
ND_MUST_CHECK int nd_group_join(struct nd_served *c, struct nd_err *err);
/** nd_group_hold() - its client and server are ready: when all are, all begin. */
void nd_group_hold(struct nd_served *c, uint64_t rtt_ns);
/** nd_group_measured() - the results of both its ends are here. */
void nd_group_measured(struct nd_served *c);
/** nd_group_over() - its dialog is over; before the start that frees its place. */
void nd_group_over(struct nd_served *c);
/** nd_group_leave() - it is about to be freed. */
void nd_group_leave(struct nd_served *c);
const char *nd_group_name(const struct nd_served *c); /* NULL: no group */
/** nd_group_is_alone() - nobody else is left of its group, or of the one that it was in. */
bool nd_group_is_alone(const struct nd_served *c);
bool nd_group_is_same(const struct nd_served *a, const struct nd_served *b);

/* flows.c: sockets that join a test by its key. */
void nd_flows_stream(struct nd_server *s, int fd, const struct nd_claim *claim); /* takes @fd */
void nd_flows_datagram(struct nd_server *s, const struct nd_addr *peer, const struct nd_addr *local,
		       const struct nd_claim *claim);
/** nd_flows_listener() - each flow that makes connections over and over gets the test's listening socket. */
void nd_flows_listener(struct nd_served *c);
/* accepts.c: who accepts connections that come and go, and where. */
/** nd_accepts_here() - are both ends of the test's control connection at one address? */
bool nd_accepts_here(const struct nd_test *t);
/** nd_accepts_pin() - before the run is made: a thread for each CPU, where that keeps connections on theirs. */
void nd_accepts_pin(struct nd_served *c, const struct nd_run_cfg *cfg);
/** nd_accepts_open() - when it is made: a listening socket for each worker where each has a CPU of its own, else one for
 * all. c->listener becomes @ret's, the caller's, as the others are. */
void nd_accepts_open(struct nd_served *c, struct nd_listen_group *ret);
/** nd_flows_release() - answer what is queued on datagram sockets for the last time, and let go. */
void nd_flows_release(struct nd_served *c);

#endif
