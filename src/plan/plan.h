/* SPDX-License-Identifier: MIT */
/*
 * What to run. Filled by a persona from options (or by a dialect from a peer's request), judged once
 * by nd_plan_check(), then const. Base units only: ns, bytes, bit/s. Strings live in .arena.
 */
#ifndef ND_PLAN_PLAN_H
#define ND_PLAN_PLAN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"

#define ND_DEFAULT_PORT     7575
#define ND_CONNECT_PORTS    16 /* behind the server's: for connections that come and go */
#define ND_MAX_FLOWS        100000
#define ND_MAX_WORKLOADS    4
#define ND_MAX_MESSAGE      (1ull << 30)
#define ND_MAX_DATAGRAM     65507ull
#define ND_MAX_THREADS      1000
#define ND_MAX_GSO          128 /* datagrams of one piece, what Linux takes */
#define ND_MAX_BUSY_POLL_US 1000000ull
#define ND_MAX_SIZES        16
#define ND_MAX_SIZE_COUNT   1000ull
#define ND_IMIX_FRAMES      3   /* sizes in it */
#define ND_ETHERNET_BYTES   18u /* a frame's header and check sum */
#define ND_PACKET_BYTES     18u /* with IPv4's headers the smallest frame, and room for a send time */
#define ND_MAX_GROUP_NAME   64
#define ND_MAX_GROUP        1000ull /* clients of a group */
#define ND_MAX_DEPTH        64      /* sends of one flow under way */
#define ND_MAX_OUTSTANDING  4096ull /* requests of a flow without an answer */
#define ND_MAX_NS           (24ull * 3600ull * ND_NS_PER_S) /* any duration */
#define ND_MAX_INTERVALS    100000ull
#define ND_SOURCE_PORTS \
	28232ull               /* of one address, 32768..60999, unless the machine says otherwise */
#define ND_FIRST_BYTES  16384u /* a stream flow's first send is never more */
#define ND_MAX_CHUNK_NS (10ull * 1000000ull) /* a paced chunk is at most this much of the rate */

enum nd_verb {
	ND_VERB_SERVE,   /* answer tests of our own language */
	ND_VERB_STREAM,  /* run one as a client */
	ND_VERB_RECEIVE, /* a tool's receiver: own settings, ports of its own */
	ND_VERB_PACKETS, /* as STREAM, of small datagrams that are counted rather than their bytes */
	ND_VERB_CONNECT, /* connections, made and ended over and over */
	ND_VERB_LATENCY, /* requests, and how long their answers take */
	ND_VERB_WATCH, /* these look at this machine, see plan/local.h: no test, nothing to agree */
	ND_VERB_IRQ,
	ND_VERB_DOCTOR,
	ND_VERB_MAX
};

/* Which end has the active role of a workload: sends a stream, makes requests, opens connections. */
enum nd_end_kind { ND_CLIENT, ND_SERVER, ND_ENDS };

enum nd_payload {
	ND_PAYLOAD_RANDOM,
	ND_PAYLOAD_ZERO,
	ND_PAYLOAD_PATTERN,
	ND_PAYLOAD_FILL_A, /* the letter A throughout, as NTttcp sends */
	ND_PAYLOAD_FILL_B, /* the letter B, as its datagrams on Linux */
	/* "netperf" and a zero, over and over */
	ND_PAYLOAD_NETPERF,
	ND_PAYLOAD_MAX
};

enum nd_choice { ND_AUTO, ND_ON, ND_OFF, ND_CHOICE_MAX };

/* When requests are sent that do not wait for answers. */
enum nd_spacing { ND_SPACING_FIXED, ND_SPACING_UNIFORM, ND_SPACING_POISSON, ND_SPACING_MAX };

/* Who says when a request went out and its answer came in: with KERNEL both. */
enum nd_stamper { ND_STAMPER_PROGRAM, ND_STAMPER_KERNEL, ND_STAMPER_MAX };

enum nd_af { ND_AF_ANY, ND_AF_IPV4, ND_AF_IPV6, ND_AF_MAX };

/* One of the sizes that datagrams take in turn: so many of it before the next has its turn. */
struct nd_size {
	uint64_t bytes, count;
};

/* One traffic pattern over a set of flows. --bidir is two of them, --load two or three. */
struct nd_workload {
	enum nd_end_kind active; /* who sends (stream) or asks (rr) */
	const char *load;        /* registry names: loads.def, frames.def, transports.def */
	const char *frame;
	const char *transport;
	uint64_t flows;      /* 1..ND_MAX_FLOWS */
	uint64_t first_flow; /* number of its first flow in the test: flows are numbered over all */
	uint64_t message_bytes; /* one send or datagram; stream default 256 KiB at 1 flow */
	uint64_t
		recv_bytes; /* stream: of one call that reads it; 0: as the engine likes; never travels */
	uint64_t request_bytes;  /* rr */
	uint64_t response_bytes; /* rr */
	uint64_t rate_bps;       /* payload bit/s over all flows; 0: unlimited */
	uint64_t rate_ops;       /* messages/s over all flows; 0: unlimited */
	uint64_t total_bytes;    /* end after this many over all flows; 0: end by time */
	uint64_t total_ops;      /* the same in transactions */
	uint64_t ahead;          /* rr: requests under way beside the first; never travels */
	/* rr: a datagram not answered by then is lost, 0: 1 s. crr: a connection that has not asked by then is closed,
	 * 0: never; who does not take one is asked again. Never travel. */
	uint64_t patience_ns;
	bool insists;
	enum nd_spacing arrival; /* paced: gaps between requests; never travels */
	uint64_t burn_steps;     /* load timed: busy work behind each operation; never travels */
	uint64_t burst;          /* loads burst, under: messages of one; these seven never travel */
	uint64_t spread_bytes;   /* messages are shorter than message_bytes by up to so much */
	uint64_t
		servers; /* each message is answered by so many, told apart by address; 0: one; never travels */
	bool answered;     /* load burst: each burst is waited for */
	bool silent;       /* load echo: nothing goes back */
	bool asks;         /* load burst: the receiver is asked what has arrived */
	uint64_t activity; /* frame sockperf: each so many-th message is noted; 0: none */
	bool gaps;         /* frame sockperf: numbers that do not follow are noted; never travel */
	bool warms; /* loads burst, under: messages that do not count go first; never travels */
	bool turns; /* load burst: a worker's flows have their bursts one after the other; never travels */
	bool skips;              /* what a full socket does not take is left out; never travels */
	bool compares;           /* frame sockperf: answers set against what was sent */
	struct nd_list schedule; /* load under: struct nd_playback (plan/sockperf.h) */
	/* struct nd_size, datagrams: taken in turn, none over message_bytes; empty: all have that */
	struct nd_list sizes;
};

/* Datagrams to a group of hosts. */
struct nd_multicast {
	bool wanted;         /* else only the TTL is of effect */
	bool joins;          /* clients hear the group, too; who listens always does */
	bool loops;          /* what this machine sends comes back to it */
	bool answers_sender; /* load echo: and not the group */
	uint64_t ttl;
	const char *rx_if,
		*tx_if;     /* address, index or name of an interface; NULL: the system's choice */
	const char *source; /* only what comes from there; NULL: from everywhere */
};

/* Socket settings; 0 / NULL / false: leave the system's. */
struct nd_sockopts {
	const char *cc;
	uint64_t sndbuf_bytes, rcvbuf_bytes; /* as asked; the kernel may clamp or double */
	uint64_t mss_bytes;
	uint64_t dscp; /* 0..63 */
	uint64_t ecn;  /* 0..3, the bits below it; never travels */
	bool has_dscp;
	bool nodelay;
	bool fragment;   /* UDP: let the network fragment (default: don't-fragment is set) */
	bool plain_bufs; /* as other tools: no sizes of our own, never over the system's limits */
	bool blocks;     /* calls on it may wait, until a signal ends them; never travels */
	bool keepalive, has_priority; /* never travel, like the one before and the next one */
	uint64_t priority;            /* SO_PRIORITY */
	uint64_t pacing_bps; /* this end's kernel holds each flow to it; 0: no; never travels */
	/* as sockets name them; never travel */
	bool cork, fastopen, defer_accept, no_router, debug;
	bool reuseaddr;    /* a receiver's datagram ports may be others', too */
	bool speaks_first; /* what is sent at once goes with the end of the handshake; never travels */
	struct nd_multicast multicast; /* never travels */
};

/* Where a stretch of flows goes; a receiver's: where it listens. They follow one another in the order of
 * flow numbers. */
struct nd_target {
	const char *host;   /* as typed; NULL (receivers): every address */
	uint64_t port;      /* of its first flow; counts on by .flows_per_port of the plan */
	uint64_t flows;     /* receivers: 0, they come as they like */
	uint64_t ports;     /* how many from .port on */
	int64_t cpu;        /* where its worker runs; -1: anywhere */
	const char *source; /* of a group: only what comes from there; NULL */
};

/* Exit codes that scripts know from another tool; 0: ours. */
struct nd_exits {
	int help;      /* help was asked for */
	int usage;     /* the command line is wrong */
	int peer;      /* no agreement with the peer */
	bool forgives; /* all of these, and a test without a result, are 0 */
	/* scripts read the reason from standard output, as it is */
	bool usage_on_stdout, peer_on_stdout;
	const char *prefix; /* of sentences on standard error, "name: "; NULL: ours */
};

/* A rate as typed: over all flows of a direction, or for each ("/flow"). */
struct nd_asked_rate {
	uint64_t value; /* 0: not asked */
	bool per_flow;
};

/* What the server allows; never travels. 0 / empty: no limit. */
struct nd_serve {
	struct nd_strv listen;      /* addresses, empty: all, dual-stack */
	struct nd_strv allow;       /* CIDRs, empty: everybody */
	struct nd_strv also;        /* other tools' receivers to be beside, as typed */
	struct nd_plan **also_plan; /* [also.n], in the arena; nd_plan_done() ends them */
	uint64_t max_time_ns;
	uint64_t max_flows;
	uint64_t max_tests;
	bool once;
};

/* The highest rate that loses no more than so much; never travels. */
struct nd_find {
	bool wanted;
	uint64_t loss_ppm; /* bound, millionths */
	uint64_t trial_ns; /* measured window of one trial */
};

/* Which way traffic beside a latency test goes; the client sends up. */
enum nd_load_way { ND_LOAD_UP, ND_LOAD_DOWN, ND_LOAD_BOTH };

/* Traffic under which times are taken a second time, as typed; never travels. */
struct nd_asked_load {
	bool wanted;
	bool packets; /* small datagrams; else streams */
	enum nd_load_way way;
	uint64_t flows; /* of each way */
	uint64_t
		rate; /* of each way over all flows: bit/s, or datagrams per second; 0: unlimited */
	uint64_t bytes; /* of one send or datagram; 0: the default */
	bool fragment;  /* derived: its datagrams may be cut */
};

/* What the user wants to see; never travels. */
struct nd_output {
	const char *format; /* writers.def */
	const char *file;   /* NULL: stdout */
	bool json_lines;
	bool quiet;   /* no interim lines */
	bool verbose; /* per-flow rows, more facts */
};

struct nd_plan {
	struct nd_arena arena; /* owns every string and list below */
	enum nd_verb verb;

	/* where */
	enum nd_af af;
	const char *host; /* as typed */
	uint64_t port;
	struct nd_strv bind;   /* client source addresses, or "%dev" */
	uint64_t source_ports; /* that one source address has on this machine; 0: not judged */
	uint64_t connect_timeout_ns;
	uint64_t
		refused_ns; /* client: a flow whose port refuses it tries again for so long; never travels */

	/* what */
	struct nd_workload workload[ND_MAX_WORKLOADS];
	uint64_t workloads;
	struct nd_list workload_list; /* the same as a list, for field rows: .v is workload[] */
	uint64_t duration_ns, warmup_ns, cooldown_ns, interval_ns;
	uint64_t drain_ns; /* receivers wait at most this long for the tail */
	bool short_last; /* what is left of the time is an interval, short as it is; never travels */

	/* several clients that begin together at one server; NULL, 0: this one alone */
	const char *group;
	uint64_t group_expect;  /* clients of the group */
	uint64_t group_wait_ns; /* this one waits at most so long for the others */

	/* how */
	uint64_t threads;    /* per end; 0: as many as both ends have CPUs, at most the flows */
	const char *engine;  /* engines.def, "auto" */
	const char *tx, *rx; /* ways to send and to receive: xfers.def, "auto" */
	uint64_t gso;        /* datagrams of one piece for the kernel; 0: sender's choice, 1: off */
	enum nd_choice gro;  /* receivers take several datagrams in one piece */
	uint64_t lowat_bytes;  /* SO_RCVLOWAT; 0: receiver's choice, 1: off */
	const char *wait;      /* waits.def, "auto" */
	uint64_t busy_poll_us; /* SO_BUSY_POLL; 0: off */
	uint64_t depth;        /* sends under way per flow, where the engine posts them; 0: one */
	/* bytes of the payload, over and over; NULL: as .payload says; never travels */
	const char *payload_file;
	enum nd_payload payload;
	bool verify;
	bool mptcp;
	const char *pin; /* NULL: none; "auto"; "0,2-3" (this end's list) */
	bool pin_yields; /* a list with a CPU that cannot be had is passed over; never travels */
	struct nd_sockopts sock;

	/* as typed, before nd_plan_derive() makes workloads of it */
	struct {
		uint64_t flows, message_bytes, total_bytes, total_ops, request_bytes,
			response_bytes;
		uint64_t outstanding;
		enum nd_spacing arrival;
		struct nd_asked_rate bps, ops;
		struct nd_list sizes; /* struct nd_size: -l as a list */
		bool imix;            /* -l imix: .sizes are of its frames with IPv4's headers */
		bool udp, reverse, bidir, ipv4, ipv6, max, spin;
		bool has_message_bytes, has_warmup, has_time, has_interval, has_request;
		bool has_payload, has_format, has_trial, has_outstanding, has_arrival, nagle, only;
		bool has_group_wait, has_flows;
		const char *shape; /* loads.def */
	} ask;

	/* other tools' ways; all zero for our own face */
	const char *dialect; /* dialects.def; NULL: native */
	const void *face;    /* settings of that face alone, in the arena; NULL: none */
	const struct nd_table *face_table;
	/* first and last source port that loads which connect take in turn; 0: any; never travel */
	uint64_t turn_ports[2];
	struct nd_list targets;  /* of struct nd_target; empty: .host for all */
	uint64_t data_port;      /* flow k goes to data_port + k / flows_per_port; 0: .port */
	uint64_t flows_per_port; /* 0: all to one port */
	uint64_t source_port;    /* flow k comes from source_port + k; 0: any */
	uint64_t goodbyes;       /* empty datagrams that end a flow, sent so many times; 0: none */
	bool await_end;  /* senders of a stream wait for the peer's end of it; never travels */
	bool open_ended; /* receiver: flows come as they like; workload[0].flows is room */
	bool hold;       /* receiver: test after test */
	bool keep_open;  /* sender: connections stay as they are until the test is over */
	bool follows; /* client: another test of the same session comes behind it; never in the plan itself */
	const char *interrupts;  /* count interrupts of lines with this text; NULL: none */
	const char *counted_nic; /* count packets of this interface; NULL: the test's own */
	struct nd_exits exits;   /* never travels */
	struct nd_plan *twin;    /* owned: a receiver's ports of its other transport; NULL */
	bool daemon;             /* goes to the background once ports or flows are open */

	bool wants_datagram_bytes; /* a datagram workload waits for nd_plan_set_datagram() */
	bool untimed;              /* nobody asks what single operations took; never travels */
	bool on_time;              /* who is held up passes edges when due; never travels */
	bool trace_control;        /* print control messages on stderr */
	/* client: the frame numbers messages, and each so many-th one's instants are kept (0: none). Open-ended
	 * receiver: the frame keeps what it finds in each. Never travel. */
	bool keep_samples;
	uint64_t sample_every;
	enum nd_stamper stamper; /* of round trips, at both ends */
	bool spread; /* client: source ports that follow one another; session picks them */
	struct nd_find find;
	struct nd_asked_load
		load; /* workload[0] is then the latency test, the others are the load */

	struct nd_plan *tries[2]; /* doctor's short tests, in the arena; nd_plan_done() ends them */
	struct nd_serve serve;
	struct nd_output out;
};

/** nd_plan_init() - empty plan; strings are added with nd_arena_dup(&plan->arena, ...). The plan points
 * into itself (.workload_list): it must not be copied or moved. */
void nd_plan_init(struct nd_plan *plan);
void nd_plan_done(struct nd_plan *plan);

/** nd_plan_adopt() - after the rows of nd_plan_table were decoded from a peer: copy .workload_list into
 * .workload[], point the list there again, and give what the peer left out its default. The verb becomes
 * ND_VERB_STREAM. Return: 0, or -EBADMSG when there are no workloads or too many. */
ND_MUST_CHECK int nd_plan_adopt(struct nd_plan *plan, struct nd_err *err);

/** nd_plan_set_datagram() - give datagram workloads without a size, left open by nd_plan_derive(), the
 * largest that crosses the path. @bytes: 1..ND_MAX_DATAGRAM; cut at that. */
void nd_plan_set_datagram(struct nd_plan *plan, uint64_t bytes);

/** nd_plan_set_imix() - sizes of IMIX are those of frames: give its datagrams what @header_bytes of IP and UDP
 * leave of them. Nothing else is touched. */
void nd_plan_set_imix(struct nd_plan *plan, uint64_t header_bytes);

/** nd_plan_note() - what a user should know about a plan that is right, or NULL. */
const char *nd_plan_note(const struct nd_plan *plan);
/** nd_plan_set_up_note() - likewise, where its flows take long to come to be. */
const char *nd_plan_set_up_note(const struct nd_plan *plan);

/** nd_plan_is_loaded() - are times taken in one workload while another one moves all it can? */
bool nd_plan_is_loaded(const struct nd_plan *plan);

/** nd_plan_is_watched() - is a diary kept of the run? */
static inline bool nd_plan_is_watched(const struct nd_plan *p)
{
	return p->workload[0].activity || p->workload[0].gaps;
}

/** nd_plan_is_datagram() - does the workload keep messages apart (UDP)? */
bool nd_plan_is_datagram(const struct nd_workload *w);

/** nd_plan_derive() - turn .ask into workloads and defaults that rows cannot express (UDP frames,
 * reverse, bidir, rr sizes, -n without warm-up). Before nd_plan_check(). */
ND_MUST_CHECK int nd_plan_derive(struct nd_plan *plan, struct nd_err *err);

/** nd_plan_check() - the one judge of combinations; a sentence says why not. Also run by the server
 * on what a peer sent (behind nd_plan_adopt()), so nothing in it trusts sizes or strings. A datagram
 * workload of 0 bytes passes only while .wants_datagram_bytes. */
ND_MUST_CHECK int nd_plan_check(const struct nd_plan *plan, struct nd_err *err);

/** nd_plan_shrink() - no datagram is larger than all that its flow has to send. */
void nd_plan_shrink(struct nd_plan *plan);
bool nd_plan_has_datagrams(const struct nd_plan *plan);
/** nd_plan_fits_path() - datagrams that @sender (ND_ENDS: either end) sends must cross a path of @bytes in one
 * piece, unless fragments were asked for. */
ND_MUST_CHECK int nd_plan_fits_path(const struct nd_plan *plan, enum nd_end_kind sender,
				    uint64_t bytes, struct nd_err *err);
/** nd_plan_limits() - what a server refuses: its own policy against a peer's plan. */
ND_MUST_CHECK int nd_plan_limits(const struct nd_plan *plan, const struct nd_serve *policy,
				 struct nd_err *err);

/** nd_plan_has_turns() - does the workload count transactions? */
bool nd_plan_has_turns(const struct nd_workload *w);
/** nd_plan_connects() - are there connections that are made and ended over and over? */
bool nd_plan_connects(const struct nd_plan *plan);
uint64_t nd_plan_flows(const struct nd_plan *plan); /* over all workloads */
/** nd_plan_share() - the @index-th of @parts shares of @total: shares differ by at most 1, first ones larger. */
uint64_t nd_plan_share(uint64_t total, uint64_t parts, uint64_t index);
/** nd_plan_workload_of() - which workload owns flow number @flow. */
unsigned nd_plan_workload_of(const struct nd_plan *plan, uint64_t flow);

/* The part of a plan that travels to the peer and stands in a report. */
extern const struct nd_table nd_plan_table, nd_workload_table, nd_size_table;
extern const char *const nd_verb_names[],
	*const nd_spacing_names[], *const nd_stamper_names[],
					   *const nd_end_names[],
						   *const nd_payload_names[],
							   *const nd_af_names[],
								   *const nd_choice_names[];

#endif
