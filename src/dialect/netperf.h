/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of netperf's language: messages of 656 bytes on one connection, a request and an answer, then a
 * test, then its results. All kinds of test are one struct on our side; each has layouts of its own on the wire.
 * A client's dialog is one such cycle over one connection per flow; a server's is any number of them, one connection.
 */
#ifndef ND_DIALECT_NETPERF_H
#define ND_DIALECT_NETPERF_H

#include "dialect/int.h"
#include "plan/netperf.h"

#define ND_NP_BYTES 656u /* of every message */

/* Types of messages. Answers and results of a test follow its request. */
enum {
	ND_NP_DEBUG_ON = 1,
	ND_NP_DEBUG_OFF = 2,
	ND_NP_DEBUG_OK = 3,
	ND_NP_CPU = 5,
	ND_NP_PASSPHRASE = 6,
	ND_NP_STREAM_ASK = 10,
	ND_NP_RR_ASK = 13,
	ND_NP_UDP_STREAM_ASK = 16,
	ND_NP_UDP_RR_ASK = 19,
	ND_NP_CRR_ASK = 34,
	ND_NP_MAERTS_ASK = 94,
	ND_NP_OMNI_ASK = 97,
	ND_NP_CC_ASK = 300,
	ND_NP_SYSINFO = 600,
	ND_NP_SYSINFO_OK = 601,
};

#define ND_NP_UNKNOWN_TEST 998u        /* errno of a server that does not know a type */
#define ND_NP_NONE         UINT32_MAX  /* -1 as it travels */
#define ND_NP_CPU_RATE     0x42c80000u /* 100.0: ticks of a second */
#define ND_NP_FROM_STAT    8u          /* CPU times are from /proc/stat */
#define ND_NP_PHRASE_BYTES 648u
/* Among our own ends, where others leave zeros: the client asks where datagrams were lost, the server tells. */
#define ND_NP_ASK_LOSS  0x6e640001u
#define ND_NP_TELL_LOSS 0x6e640002u

enum nd_np_flags {
	ND_NP_NODELAY = 1u << 0,
	ND_NP_SENDFILE = 1u << 1,
	ND_NP_CONNECT = 1u << 2, /* a new connection for each transaction */
	ND_NP_MEASURE = 1u << 3, /* CPU */
	ND_NP_ROUTE = 1u << 5,
	ND_NP_FASTOPEN = 1u << 11,
	ND_NP_PKTINFO = 1u << 13,   /* UDP: answers come from the address that was asked */
	ND_NP_CONNECTED = 1u << 14, /* UDP */
	ND_NP_DEFER = 1u << 15,     /* TCP_DEFER_ACCEPT */
	ND_NP_DISCOVER = 1u << 16,  /* path MTU */
	ND_NP_KEEPALIVE = 1u << 31,
};

/* Numbers as they travel: 32 bits, -1 is ND_NP_NONE, floats by their bits. What a layout lacks is its default. */
struct nd_np_request {
	uint64_t type, cpu, sndbuf, send_bytes, send_align, send_offset, send_width, request,
		rcvbuf;
	uint64_t recv_bytes, recv_align, recv_offset, recv_width, response, flags, cpu_rate, length;
	uint64_t recv_avoid, send_avoid, send_dirty, recv_dirty, recv_clean, port, family, kind;
	uint64_t protocol, direction, client_port, burst, interval_us, priority, tos;
	uint64_t nodelay, measure; /* of the old kinds; flags elsewhere */
	uint64_t more;             /* ND_NP_ASK_LOSS */
	uint8_t client_ip[16], server_ip[16], cc[16], file[32];
};

struct nd_np_response {
	uint64_t type, error, rcvbuf, recv_bytes, recv_width, sndbuf, send_bytes, send_width, flags;
	uint64_t cpu_rate, length, recv_avoid, send_avoid, port, burst, interval_us, mhz, security;
	uint64_t priority, tos, nodelay, measure;
};

struct nd_np_results {
	uint64_t type, error, rx_high, rx_low, rx_calls, rcvbuf, tx_high, tx_low, tx_calls, sndbuf;
	uint64_t failed, transactions, elapsed, cpu, user, system, iowait, irq, softirq, demand;
	uint64_t method, cpus, peak_id, peak, retransmits;
	uint64_t bytes;  /* old streams: a double's bits */
	uint64_t volume; /* other old kinds */
	/* ND_NP_TELL_LOSS: drops of the test's socket, and of the whole machine; ND_NP_NONE: not known */
	uint64_t more, own_drops, buffer_drops, no_port, checksum, backlog_drops, nic_drops;
	uint8_t cc[16];
};

/* A kind of test, by its request. */
struct nd_np_kind {
	uint64_t type;
	const struct nd_bin_layout *ask, *answer, *results;
	uint64_t direction;                /* of the server; old kinds do not say */
	bool datagram, connects, says_all; /* says_all: omni */
};

const struct nd_np_kind *nd_np_kind_find(uint64_t type);

/* ---- netperf_msg.c */

uint32_t nd_np_word(const uint8_t *message, unsigned index);
void nd_np_put_word(uint8_t *message, unsigned index, uint32_t word);
uint32_t nd_np_from_double(double value); /* a float's bits */
double nd_np_to_double(uint64_t bits);    /* NAN: no number, or a negative one */
/** nd_np_signed() - a number as it travels. */
int64_t nd_np_signed(uint64_t word);
uint64_t nd_np_unsigned(int64_t value);

/** nd_np_put() - write a struct into a whole message of zeros. -ERANGE. */
ND_MUST_CHECK int nd_np_put(const struct nd_bin_layout *l, const void *from, uint8_t *message);
/** nd_np_get_request() - decode by kind, what it does not say filled in: direction, protocol, flags. */
void nd_np_get_request(const struct nd_np_kind *k, const uint8_t *message,
		       struct nd_np_request *ret);
void nd_np_get_response(const struct nd_np_kind *k, const uint8_t *message,
			struct nd_np_response *ret);
void nd_np_get_results(const struct nd_np_kind *k, const uint8_t *message,
		       struct nd_np_results *ret);
/** nd_np_put_ip() - an address of 4 or 16 bytes as it travels, each word of IPv6 turned around. */
void nd_np_put_ip(uint8_t out[16], const uint8_t *address, bool ipv6);
/** nd_np_ip_text() - and back, as text. False: none is given. */
bool nd_np_ip_text(const uint8_t from[16], bool ipv6, char *ret, size_t size);
void nd_np_print(const uint8_t *data, size_t n, struct nd_str *out);

/* ---- state */

/* Times. */
#define ND_NP_REPLY_NS (120 * ND_NS_PER_S) /* client: for any answer */
#define ND_NP_STOP_NS  (10 * ND_NS_PER_S)  /* for results after an interrupt */
#define ND_NP_PAD_NS   (4 * ND_NS_PER_S) /* server: over the length, for a client that does not end */
#define ND_NP_SILENT_NS \
	(20 * ND_NS_PER_S) /* server: over the length, for data that does not begin */
#define ND_NP_ENDLESS_NS (120 * ND_NS_PER_S)  /* the same without a length */
#define ND_NP_PHRASE_NS  (20 * ND_NS_PER_S)   /* server: for a passphrase */
#define ND_NP_QUIET_NS   (250 * ND_NS_PER_MS) /* no connection for so long: the client has ended */
#define ND_NP_PAUSE_NS   (2 * ND_NS_PER_S)    /* the same without a length */
#define ND_NP_DRAIN_NS   (2 * ND_NS_PER_S)    /* client that receives: for the server's end */
#define ND_NP_OVER_NS    (10 * ND_NS_PER_S)   /* for a run that was told to end */

#define ND_NP_LINKS_MAX  1000u
#define ND_NP_SIZE_MAX   (64u << 20) /* one message of a peer's choice */
#define ND_NP_STREAM_MAX (16u << 20) /* one send or read, likewise: cut */
#define ND_NP_AUTO_BYTES 4096u       /* where the system does not say */

enum nd_np_timer { ND_NP_DEADLINE, ND_NP_END };

enum nd_np_stage {
	/* client */
	ND_NP_CONNECTING,
	ND_NP_BINDING,
	ND_NP_WAITING, /* -s */
	ND_NP_ASKING,
	ND_NP_CALIBRATING, /* REM_CPU */
	ND_NP_PREPARING,
	ND_NP_RUNNING,  /* both ends */
	ND_NP_AWAITING, /* results */
	/* server */
	ND_NP_LOCKED, /* no passphrase yet */
	ND_NP_IDLE,
	ND_NP_OPENING, /* the data socket */
	ND_NP_PROPOSING,
	ND_NP_ANSWERED, /* no data yet */
	/* both */
	ND_NP_OVER,
};

/* Client: the control connection of one flow; its number is its place. */
struct nd_np_link {
	bool is_up, is_answered, has_results;
};

struct nd_np {
	enum nd_end_kind end;
	enum nd_np_stage stage;
	struct nd_plan *plan;   /* borrowed */
	struct nd_netperf *set; /* client: in the plan, ours to fill; server: .asked */
	uint64_t cpus;
	struct nd_arena kept;
	const struct nd_np_kind *kind; /* of the test in hand; NULL: none yet */
	struct nd_socket_facts socket;

	/* while in event() */
	uint64_t now_ns;
	struct nd_verbs *verbs;

	uint64_t start_ns;
	bool is_prepared, is_stopping, is_finishing, is_late, has_result;
	const char *reason;        /* why the result is partial, in .kept */
	struct nd_side *peer_side; /* in .kept */

	/* client */
	struct nd_np_link *links; /* in .kept */
	unsigned link_n, up_n, answered_n, results_n;

	/* server */
	const struct nd_netperf *own; /* netserver's settings, in the plan */
	struct nd_netperf asked;
	struct nd_np_request request;
	bool is_ready, has_data;                  /* of the run that was prepared */
	char bind[64], peer[64], cc[17], pin[12]; /* what the plan points to */
	const char *bind_list[1];
};

/* ---- netperf.c: what both ends do alike */

void nd_np_send(struct nd_np *d, unsigned link, const uint8_t *message);
void nd_np_timer(struct nd_np *d, enum nd_np_timer timer,
		 uint64_t by_ns); /* UINT64_MAX: cancelled */
void nd_np_prepare(struct nd_np *d, uint64_t threads);
void nd_np_start(struct nd_np *d);
/** nd_np_finish() - the run's receivers: nothing more for @quiet_ns, or so long. */
void nd_np_finish(struct nd_np *d, uint64_t quiet_ns, uint64_t by_ns);
void nd_np_keep_reason(struct nd_np *d, const char *reason);
void nd_np_done(struct nd_np *d);
void nd_np_fail(struct nd_np *d, bool peer_fault, int code, const char *fmt, ...) ND_PRINTF(4, 5);

/* ---- the ends */

void nd_np_client_event(struct nd_np *d, const struct nd_dialog_event *ev);
int nd_np_client_open(struct nd_np *d, struct nd_err *err);
void nd_np_server_event(struct nd_np *d, const struct nd_dialog_event *ev);
int nd_np_server_open(struct nd_np *d, struct nd_err *err);

/* ---- netperf_ask.c: what a client's requests say, and what it learns */

/** nd_np_ask() - the request of the settings. -ERANGE. */
ND_MUST_CHECK int nd_np_ask(struct nd_np *d, unsigned link, uint8_t *message);
/** nd_np_own_sizes() - the client's own sends and reads, now that its socket's buffers are known. */
void nd_np_own_sizes(struct nd_np *d);
/** nd_np_take_answer() - into the plan and .said. */
void nd_np_take_answer(struct nd_np *d, unsigned link, const struct nd_np_response *r);
/** nd_np_take_results() - into .peer_side and .said. -ENOMEM. */
ND_MUST_CHECK int nd_np_take_results(struct nd_np *d, const struct nd_np_results *r);

/* ---- netperf_serve.c: a server's plan, answers and results */

/** nd_np_fill_plan() - what a request asks for, but for sizes. Return: 0 or a negative errno for the peer. */
ND_MUST_CHECK int nd_np_fill_plan(struct nd_np *d);
/** nd_np_fill_sizes() - the rest, now that the data socket's buffers are known. */
ND_MUST_CHECK int nd_np_fill_sizes(struct nd_np *d);
/** nd_np_answer() - the response to the request. */
void nd_np_answer(struct nd_np *d, uint8_t *message);
void nd_np_results(struct nd_np *d, const struct nd_side *side, uint8_t *message);

#endif
