/* SPDX-License-Identifier: MIT */
/* Options of the native verbs, row by row, and which rows each verb has. Defaults stand as a user types them. */
#include "load/load.h"
#include "persona/native.h"
#include "report/report.h"

#define AT(type, member) .offset = (uint32_t)ND_FIELD_OF(type, struct nd_plan, member)
#define GIVEN(member)    .set_offset = (uint32_t)ND_FIELD_OF(bool, struct nd_plan, member)
#define RATE_AT(member)  AT(struct nd_asked_rate, member)
#define MILLISECONDS(n)  ((n)*ND_NS_PER_MS)
#define MAX_TOTAL_BYTES  (1000ull << 40)
#define MAX_BPS          100000000000000ull
#define MAX_OPS          1000000000ull
#define MAX_CONNECTIONS  1000000000000ull
#define MAX_SOCKBUF      (1ull << 30)

/* plan/ may not know opt/: the same two members under another name. */
_Static_assert(sizeof(struct nd_asked_rate) == sizeof(struct nd_opt_rate), "one layout");
_Static_assert(offsetof(struct nd_asked_rate, value) == offsetof(struct nd_opt_rate, value),
	       "one layout");
_Static_assert(offsetof(struct nd_asked_rate, per_flow) == offsetof(struct nd_opt_rate, per_flow),
	       "one layout");

/* clang-format off */
static const struct nd_opt_choice choices[] = {
	{ "auto", ND_AUTO, "the program decides" },
	{ "on",   ND_ON,   "yes" },
	{ "off",  ND_OFF,  "no" },
	{ NULL, 0, NULL }
};

static const struct nd_opt_choice stampers[] = {
	{ "program", ND_STAMPER_PROGRAM, "by the program alone" },
	{ "kernel",  ND_STAMPER_KERNEL,  "and by the kernel: where each round trip spends its time" },
	{ NULL, 0, NULL }
};

static const struct nd_opt_choice arrivals[] = {
	{ "fixed",   ND_SPACING_FIXED,   "all the same" },
	{ "uniform", ND_SPACING_UNIFORM, "from 0 to twice the mean" },
	{ "poisson", ND_SPACING_POISSON, "exponential: requests know nothing of each other" },
	{ NULL, 0, NULL }
};

static const struct nd_opt_choice payloads[] = {
	{ "random",  ND_PAYLOAD_RANDOM,  "bytes that do not compress" },
	{ "zero",    ND_PAYLOAD_ZERO,    "zeros" },
	{ "pattern", ND_PAYLOAD_PATTERN, "bytes that tell their place in the stream" },
	{ NULL, 0, NULL }
};

static const struct nd_opt time_rows[] = {
	{ .letter = 't', .name = "time", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS,
	  AT(uint64_t, duration_ns), GIVEN(ask.has_time), .min = ND_NS_PER_S, .max = ND_MAX_NS, .preset = "10s",
	  .section = "Test", .common = true, .help = "length of the measured window" },
	{ 0 }
};

static const struct nd_opt total_rows[] = {
	{ .letter = 'n', .name = "bytes", .type = ND_OPT_NUMBER, .unit = ND_UNIT_BYTES,
	  AT(uint64_t, ask.total_bytes), .min = 1, .max = MAX_TOTAL_BYTES,
	  .common = true, .help = "end after so many bytes over all flows",
	  .more = "Each direction moves this many. Warm-up is then 0, and unless -t is given too, time is limited to 24 h." },
	{ 0 }
};

static const struct nd_opt flow_rows[] = {
	{ .letter = 'P', .name = "flows", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, ask.flows), .min = 1, .max = ND_MAX_FLOWS, .preset = "1",
	  .common = true, .help = "connections, or UDP sockets, in parallel" },
	{ 0 }
};

static const struct nd_opt connect_flow_rows[] = {
	{ .letter = 'P', .name = "flows", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, ask.flows), GIVEN(ask.has_flows), .min = 1, .max = ND_MAX_FLOWS, .preset = "8",
	  .common = true, .help = "connections at a time",
	  .more = "Several keep both ends busy while packets are on their way. Their phases hold the time for which they wait "
		  "for each other: -P 1 tells what one takes that is alone. Unless told, they are not more than -n, nor "
		  "fewer than -T; and to an address of this machine one for each CPU. A request goes with the packet "
		  "that ends the handshake." },
	{ 0 }
};

static const struct nd_opt udp_rows[] = {
	{ .letter = 'u', .name = "udp", .type = ND_OPT_FLAG, AT(bool, ask.udp),
	  .common = true, .help = "datagrams instead of TCP",
	  .more = "Without -b they are sent as fast as they go." },
	{ 0 }
};

/* For packets nothing else is sent: said all the same by people who come from other tools. */
static const struct nd_opt packets_udp_rows[] = {
	{ .letter = 'u', .name = "udp", .type = ND_OPT_FLAG, AT(bool, ask.udp), .hidden = true,
	  .help = "datagrams, as always" },
	{ 0 }
};

static const struct nd_opt way_rows[] = {
	{ .letter = 'R', .name = "reverse", .type = ND_OPT_FLAG, AT(bool, ask.reverse),
	  .common = true, .help = "the server sends" },
	{ .name = "bidir", .type = ND_OPT_FLAG, AT(bool, ask.bidir),
	  .common = true, .help = "both ends send, each over its own flows" },
	{ .letter = 'b', .name = "bitrate", .type = ND_OPT_RATE, .unit = ND_UNIT_BITRATE,
	  RATE_AT(ask.bps), .min = 1000, .max = MAX_BPS,
	  .common = true, .help = "payload bit/s over all flows, or of each",
	  .more = "The rate of each direction. A chunk is never more than 10 ms of it." },
	{ .name = "rate", .type = ND_OPT_RATE, .unit = ND_UNIT_OPS,
	  RATE_AT(ask.ops), .min = 1, .max = MAX_OPS, .help = "messages per second over all flows, or of each" },
	{ 0 }
};

static const struct nd_opt size_rows[] = {
	{ .letter = 'l', .name = "length", .type = ND_OPT_NUMBER, .unit = ND_UNIT_BYTES,
	  AT(uint64_t, ask.message_bytes), GIVEN(ask.has_message_bytes), .min = 1, .max = ND_MAX_MESSAGE,
	  .common = true, .help = "bytes of one send, or of one datagram",
	  .more = "By default 256Ki, less with many flows; for UDP what the path carries without fragmentation." },
	{ .name = "shape", .type = ND_OPT_ENUM, .values = nd_load_names, AT(const char *, ask.shape),
	  .preset = "stream", .help = "traffic shape" },
	{ .letter = 'r', .name = "request", .type = ND_OPT_CUSTOM, .parse = nd_persona_parse_request, .metavar = "SIZE[,SIZE]",
	  GIVEN(ask.has_request), .min = 1, .max = ND_MAX_MESSAGE, .preset = "1",
	  .help = "bytes of a request and of a response, with --shape rr",
	  .more = "One size is used for both." },
	{ 0 }
};

/* The same as of a stream, for datagrams that are all the same or of several sizes. */
static const struct nd_opt packet_rows[] = {
	{ .letter = 'l', .name = "length", .type = ND_OPT_CUSTOM, .parse = nd_persona_parse_sizes, .metavar = "SIZE,...|imix",
	  GIVEN(ask.has_message_bytes), .min = 1, .max = ND_MAX_DATAGRAM,
	  .common = true, .help = "payload of a datagram, several in turn, or imix",
	  .more = "By default 18 bytes: over IPv4 the smallest frame that Ethernet has, 64 bytes, as with any size from "
		  "1 to 18, and the smallest payload that holds flow, number and send time. From 1 to 7 bytes datagrams "
		  "are counted alone, from 8 on they have flow and number. A list has sizes from 8 on, each in turn. "
		  "imix is 7 frames of 64 bytes, 4 of 594 and 1 of 1518, Ethernet's header and check sum included." },
	{ .name = "spread", .type = ND_OPT_FLAG, AT(bool, spread),
	  .help = "source ports that share a receiver's queues evenly",
	  .more = "They follow one another and begin at a multiple of the next power of two of the flows. A hash that "
		  "is linear, such as Toeplitz's, puts as many of such a block on each queue that gets any; with some of its "
		  "keys half the queues get none. Ports that the system picks fall where they may. The report tells how many "
		  "queues were used." },
	{ .name = "find-rate", .type = ND_OPT_NUMBER, .unit = ND_UNIT_PERCENT, AT(uint64_t, find.loss_ppm),
	  GIVEN(find.wanted), .max = ND_MAX_LOSS_PPM, .metavar = "LOSS", .optional = "0.1%",
	  .common = true, .help = "highest rate that loses no more than this share",
	  .more = "0 is none at all. Trials of --trial each search it, up to --rate where that is given; all of them are "
		  "listed: some twenty, a minute with the usual --trial. A trial fails, too, when a queue took what was not "
		  "lost: when less came within its time than was offered in it. The rate that is found is tried again four times "
		  "as long; where that fails, so are all trials behind it, for a queue or a bucket lets more pass for a while. A "
		  "bare --find-rate is 0.1%." },
	{ .name = "trial", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS, AT(uint64_t, find.trial_ns),
	  GIVEN(ask.has_trial), .min = MILLISECONDS(200), .max = ND_MAX_NS, .preset = "2s", .help = "time of one trial of --find-rate",
	  .more = "A trial has a warm-up of 200 ms, unless --warmup says otherwise." },
	{ 0 }
};

static const struct nd_opt group_rows[] = {
	{ .name = "group", .type = ND_OPT_STRING, AT(const char *, group), .metavar = "NAME", .section = "Group",
	  .help = "begin together with other clients that name the same group",
	  .more = "They run against one server, which starts all of them at once and sums up what they reached. The name "
		  "has up to 64 printable characters. Length and directions have to be the same for all of them." },
	{ .name = "expect", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, AT(uint64_t, group_expect),
	  .min = 2, .max = ND_MAX_GROUP, .help = "clients in the group, this one included" },
	{ .name = "group-wait", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS, AT(uint64_t, group_wait_ns),
	  GIVEN(ask.has_group_wait),
	  .min = ND_NS_PER_S, .max = 3600 * ND_NS_PER_S, .preset = "60s",
	  .help = "longest wait for the others of the group" },
	{ 0 }
};

static const struct nd_opt edge_rows[] = {
	{ .name = "warmup", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS,
	  AT(uint64_t, warmup_ns), GIVEN(ask.has_warmup), .max = ND_MAX_NS, .preset = "1s",
	  .help = "time before the measured window" },
	{ .name = "cooldown", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS,
	  AT(uint64_t, cooldown_ns), .max = ND_MAX_NS, .preset = "0s",
	  .help = "time behind the measured window" },
	{ .name = "drain", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS,
	  AT(uint64_t, drain_ns), .max = 600 * ND_NS_PER_S, .preset = "10s",
	  .help = "longest wait for what is still on its way" },
	{ .letter = 'i', .name = "interval", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS,
	  AT(uint64_t, interval_ns), GIVEN(ask.has_interval), .min = MILLISECONDS(10), .max = ND_MAX_NS, .preset = "1s",
	  .common = true, .help = "length of an interval of the report" },
	{ 0 }
};

static const struct nd_opt payload_rows[] = {
	{ .name = "payload", .type = ND_OPT_INT, .choices = payloads, AT(enum nd_payload, payload),
	  GIVEN(ask.has_payload), .preset = "random", .section = "Payload", .help = "what is sent" },
	{ .name = "verify", .type = ND_OPT_FLAG, AT(bool, verify), .help = "compare every byte that is received",
	  .more = "Sends the pattern." },
	{ 0 }
};

static const struct nd_opt port_rows[] = {
	{ .letter = 'p', .name = "port", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, port), .min = 1, .max = UINT16_MAX, .preset = "7575", .metavar = "PORT",
	  .section = "Addresses", .common = true, .help = "the server's port, TCP and UDP" },
	{ 0 }
};

static const struct nd_opt serve_port_rows[] = {
	{ .letter = 'p', .name = "port", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, port), .max = UINT16_MAX, .preset = "7575", .metavar = "PORT",
	  .section = "Addresses", .common = true, .help = "port to listen on, TCP and UDP; 0: any",
	  .more = "Which port the system has picked is told on standard error." },
	{ 0 }
};

/* Behind a port. */
static const struct nd_opt where_rows[] = {
	{ .letter = '4', .name = "ipv4", .type = ND_OPT_FLAG, AT(bool, ask.ipv4), .help = "IPv4 only" },
	{ .letter = '6', .name = "ipv6", .type = ND_OPT_FLAG, AT(bool, ask.ipv6), .help = "IPv6 only" },
	{ 0 }
};

static const struct nd_opt client_rows[] = {
	{ .letter = 'B', .name = "bind", .type = ND_OPT_LIST, .commas = true, AT(struct nd_strv, bind),
	  .metavar = "ADDR[,ADDR...]|%DEV", .help = "source addresses in turn (10,000 flows each), or a device",
	  .more = "The system has some 28,000 source ports for a pair of addresses, and the more of them are taken the longer "
		  "it searches for one: give several addresses for more than 10,000 flows, on loopback such as "
		  "127.0.0.2,127.0.0.3,127.0.0.4." },
	{ .name = "connect-timeout", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS,
	  AT(uint64_t, connect_timeout_ns), .min = MILLISECONDS(100), .max = 3600 * ND_NS_PER_S, .preset = "5s",
	  .help = "longest wait for an answer before the test",
	  .more = "To connect, to agree, and until one more flow is accepted, TCP or UDP." },
	{ 0 }
};

static const char sockets[] = "Sockets"; /* one heading: it is compared by its address */

static const struct nd_opt tcp_rows[] = {
	{ .name = "mptcp", .type = ND_OPT_FLAG, AT(bool, mptcp), .section = sockets, .help = "multipath TCP" },
	{ .name = "cc", .type = ND_OPT_STRING, AT(const char *, sock.cc), .metavar = "NAME",
	  .help = "TCP congestion control, such as cubic or bbr" },
	{ .name = "nodelay", .type = ND_OPT_FLAG, AT(bool, sock.nodelay), .help = "send small TCP segments at once" },
	{ .name = "mss", .type = ND_OPT_NUMBER, .unit = ND_UNIT_BYTES,
	  AT(uint64_t, sock.mss_bytes), .min = 88, .max = 32767, .help = "largest TCP segment" },
	{ 0 }
};

static const struct nd_opt socket_rows[] = {
	{ .name = "sndbuf", .type = ND_OPT_NUMBER, .unit = ND_UNIT_BYTES, .section = sockets,
	  AT(uint64_t, sock.sndbuf_bytes), .min = 1024, .max = MAX_SOCKBUF, .help = "socket send buffer" },
	{ .name = "rcvbuf", .type = ND_OPT_NUMBER, .unit = ND_UNIT_BYTES,
	  AT(uint64_t, sock.rcvbuf_bytes), .min = 1024, .max = MAX_SOCKBUF, .help = "socket receive buffer" },
	{ .name = "dscp", .type = ND_OPT_CUSTOM, .parse = nd_persona_parse_dscp, .values = nd_persona_dscp_names, .metavar = "0..63|NAME",
	  .max = 63, .help = "differentiated services code point" },
	{ 0 }
};

static const struct nd_opt datagram_rows[] = {
	{ .name = "fragment", .type = ND_OPT_FLAG, AT(bool, sock.fragment),
	  .help = "let the network fragment datagrams" },
	{ 0 }
};

static const struct nd_opt worker_rows[] = {
	{ .letter = 'T', .name = "threads", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, threads), .min = 1, .max = ND_MAX_THREADS,
	  .section = "Workers", .common = true, .help = "threads of a test at each end",
	  .more = "By default as many as both ends have CPUs, at most one for each flow." },
	{ .name = "pin", .type = ND_OPT_STRING, AT(const char *, pin), .metavar = "LIST|auto",
	  .help = "CPUs of this end's threads, such as 0,2-3" },
	{ 0 }
};

static const struct nd_opt serve_worker_rows[] = {
	{ .letter = 'T', .name = "threads", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, threads), .min = 1, .max = ND_MAX_THREADS,
	  .section = "Workers", .common = true, .help = "most threads of a test",
	  .more = "Both ends have the same number. By default as many as a client asks for, or as both ends have CPUs." },
	{ .name = "pin", .type = ND_OPT_STRING, AT(const char *, pin), .metavar = "LIST|auto",
	  .help = "CPUs of these threads, such as 0,2-3" },
	{ 0 }
};

static const struct nd_opt engine_rows[] = {
	{ .name = "engine", .type = ND_OPT_CUSTOM, .parse = nd_persona_parse_engine, .values = nd_persona_engine_names, .metavar = "NAME",
	  .preset = "auto", .help = "how threads wait and call" },
	{ 0 }
};

static const struct nd_opt moving_rows[] = {
	{ .name = "depth", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, depth), .min = 1, .max = ND_MAX_DEPTH, .help = "sends under way per flow, with --engine uring",
	  .more = "By default one. Each has a buffer of its own when bytes are verified." },
	{ .name = "tx", .type = ND_OPT_ENUM, .values = nd_persona_tx_names, AT(const char *, tx),
	  .preset = "auto", .help = "how bytes are sent" },
	{ .name = "rx", .type = ND_OPT_ENUM, .values = nd_persona_rx_names, AT(const char *, rx),
	  .preset = "auto", .help = "how bytes are received" },
	{ .name = "gso", .type = ND_OPT_CUSTOM, .parse = nd_persona_parse_gso, .metavar = "N|auto|off",
	  .min = 1, .max = ND_MAX_GSO, .help = "datagrams in one pass of the sender's stack, 1 to 128",
	  .more = "UDP_SEGMENT: they are cut apart by the interface, or just before it; on loopback only by the receiver. "
		  "Auto is as many as 64 KiB hold where no rate is asked for, and off under packets. Where the kernel or the "
		  "interface refuses, they are sent one by one and the report says so." },
	{ .name = "gro", .type = ND_OPT_INT, .choices = choices, AT(enum nd_choice, gro),
	  .preset = "auto", .help = "receive datagrams that came together in one piece",
	  .more = "UDP_GRO. Auto is on where --gso is on, and off under packets." },
	{ 0 }
};

static const struct nd_opt wait_rows[] = {
	{ .name = "wait", .type = ND_OPT_ENUM, .values = nd_persona_wait_names, AT(const char *, wait),
	  .preset = "auto", .help = "what threads do when nothing can proceed" },
	{ .name = "spin", .type = ND_OPT_FLAG, AT(bool, ask.spin), .help = "the same as --wait spin" },
	{ .name = "busy-poll", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT, .metavar = "US",
	  AT(uint64_t, busy_poll_us), .min = 1, .max = ND_MAX_BUSY_POLL_US,
	  .help = "microseconds that the kernel polls the interface",
	  .more = "SO_BUSY_POLL and SO_PREFER_BUSY_POLL. Nothing is polled on loopback and between virtual interfaces." },
	{ 0 }
};

static const struct nd_opt stream_rows[] = {
	{ .name = "max", .type = ND_OPT_FLAG, AT(bool, ask.max),
	  .help = "the fastest --tx and --rx, without a copy at either end",
	  .more = "The same pages are sent over and over, and what arrives is counted and dropped: this measures the "
		  "stack, not an application. --tx or --rx beside it keeps its own choice." },
	{ .name = "lowat", .type = ND_OPT_CUSTOM, .parse = nd_persona_parse_lowat, .metavar = "BYTES|auto|off",
	  .min = 1, .max = MAX_SOCKBUF, .preset = "auto",
	  .help = "bytes that must have come before a receiver wakes",
	  .more = "Sets SO_RCVLOWAT. The end of a stream wakes it, too. Tests at a rate do not have it." },
	{ 0 }
};

static const struct nd_opt format_rows[] = {
	{ .letter = 'o', .name = "output", .type = ND_OPT_ENUM, .values = nd_writer_names, .metavar = "FORMAT",
	  AT(const char *, out.format), GIVEN(ask.has_format), .preset = "text",
	  .section = "Output", .common = true, .help = "format of the report" },
	{ 0 }
};

static const struct nd_opt serve_format_rows[] = {
	{ .letter = 'o', .name = "output", .type = ND_OPT_ENUM, .values = nd_writer_names, .metavar = "FORMAT",
	  AT(const char *, out.format), GIVEN(ask.has_format),
	  .section = "Output", .common = true, .help = "report of each finished test, by default none" },
	{ 0 }
};

/* -q is short for another option under latency */
#define OUTPUT_ROWS(quiet_letter)                                                                          \
	{ .letter = 'O', .name = "output-file", .type = ND_OPT_STRING, AT(const char *, out.file),         \
	  .metavar = "FILE", .common = true, .help = "write the report there instead",                     \
	  .more = "The file is replaced at the end, in one step." },                                       \
	{ .name = "json-lines", .type = ND_OPT_FLAG, AT(bool, out.json_lines),                             \
	  .help = "JSON with one line for each event" },                                                   \
	{ .letter = (quiet_letter), .name = "quiet", .type = ND_OPT_FLAG, AT(bool, out.quiet),             \
	  .common = true, .help = "no interim lines" },                                                    \
	{ .letter = 'v', .name = "verbose", .type = ND_OPT_FLAG, AT(bool, out.verbose),                    \
	  .common = true, .help = "rows for all flows, however many; more facts" },                        \
	{ .name = "trace-control", .type = ND_OPT_FLAG, AT(bool, trace_control),                           \
	  .help = "show control messages on stderr" },                                                     \
	{ 0 }

static const struct nd_opt output_rows[] = { OUTPUT_ROWS('q') };
static const struct nd_opt latency_output_rows[] = { OUTPUT_ROWS(0) };

/* What every verb that asks and waits for answers has. */
static const struct nd_opt request_rows[] = {
	{ .letter = 'r', .name = "request", .type = ND_OPT_CUSTOM, .parse = nd_persona_parse_request, .metavar = "SIZE[,SIZE]",
	  GIVEN(ask.has_request), .min = 1, .max = ND_MAX_MESSAGE, .preset = "64",
	  .common = true, .help = "bytes of a request and of its answer",
	  .more = "One size is used for both." },
	{ 0 }
};

static const struct nd_opt connect_rows[] = {
	{ .letter = 'n', .name = "connections", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, ask.total_ops), .min = 1, .max = MAX_CONNECTIONS,
	  .common = true, .help = "end after so many over all flows",
	  .more = "Warm-up is then 0, and unless -t is given too, time is limited to 24 h." },
	{ .name = "only", .type = ND_OPT_FLAG, AT(bool, ask.only), .common = true,
	  .help = "connections alone, without request and answer" },
	{ 0 }
};

static const struct nd_opt latency_rows[] = {
	{ .letter = 'q', .name = "outstanding", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, ask.outstanding), GIVEN(ask.has_outstanding), .min = 1, .max = ND_MAX_OUTSTANDING, .preset = "1",
	  .common = true, .help = "requests of a flow that may wait for answers",
	  .more = "A closed loop: the next request waits for an answer, so that a stall delays one request, and all that would "
		  "have followed are missing. Its figures are service times." },
	{ .name = "rate", .type = ND_OPT_RATE, .unit = ND_UNIT_OPS,
	  RATE_AT(ask.ops), .min = 1, .max = MAX_OPS,
	  .common = true, .help = "requests per second over all flows, or of each",
	  .more = "An open loop: requests go by a schedule, answered or not. An answer is set against the instant at which its "
		  "request was to be sent (response time) and that at which it was (service time); how late it was is told." },
	{ .name = "arrival", .type = ND_OPT_INT, .choices = arrivals, AT(enum nd_spacing, ask.arrival),
	  GIVEN(ask.has_arrival), .preset = "fixed", .common = true, .help = "gaps between requests, with --rate" },
	{ .name = "timestamps", .type = ND_OPT_INT, .choices = stampers, AT(enum nd_stamper, stamper),
	  .preset = "program", .help = "who says when requests go and answers come",
	  .more = "The kernel's stamps (SO_TIMESTAMPING, software) split each round trip into the time until "
		  "the request has left the stack, the time until the answer is at the stack, and the time until the program "
		  "has it; and, of a server that knows of it, the time in the middle into its own three: until it had the request, until "
		  "its call that answers, until the answer has left its stack. Each answer then takes one more system call at each "
		  "end, behind its own time." },
	{ .name = "load", .type = ND_OPT_CUSTOM, .parse = nd_persona_parse_load, .metavar = "SPEC",
	  .common = true, .help = "times idle, then beside a load: stream,4,down",
	  .more = "Times are taken twice, each time for -t behind a warm-up: idle first, then while this load runs between the same ends. "
		  "Added latency and round trips per minute are told. SPEC is stream (TCP) or packets (UDP, 18 bytes by "
		  "default), then, each behind a comma and in any order: up (the client sends, the default), down or both; "
		  "a number of flows, or flows=N, of each way; rate=RATE of each way over all its flows, bit/s or datagrams per "
		  "second, by default unlimited; size=BYTES of one send or datagram. The load has threads of its own. For the server these are two tests." },
	{ .name = "nagle", .type = ND_OPT_FLAG, AT(bool, ask.nagle), .help = "leave Nagle's algorithm on",
	  .more = "By default TCP_NODELAY is set." },
	{ 0 }
};

static const struct nd_opt serve_rows[] = {
	{ .name = "listen", .type = ND_OPT_LIST, .commas = true, AT(struct nd_strv, serve.listen),
	  .metavar = "ADDR", .common = true, .help = "address to listen on, by default all",
	  .more = "An IPv6 address may stand in brackets; a link-local one needs %DEV behind it." },
	{ .name = "also", .type = ND_OPT_LIST, .commas = true, AT(struct nd_strv, serve.also),
	  .metavar = "TOOL[:PORT[+PORTS]]", .section = "Addresses",
	  .help = "serve ntttcp, netperf or sockperf, too",
	  .more = "Ports are 5001+16, 12865 and 11111, unless told. sockperf is served over UDP and TCP." },
	{ .name = "allow", .type = ND_OPT_LIST, .commas = true, AT(struct nd_strv, serve.allow),
	  .metavar = "CIDR", .section = "Limits", .common = true, .help = "clients to answer, by default all" },
	{ .name = "once", .type = ND_OPT_FLAG, AT(bool, serve.once), .common = true, .help = "end after one test" },
	{ .name = "max-time", .type = ND_OPT_NUMBER, .unit = ND_UNIT_TIME_NS,
	  AT(uint64_t, serve.max_time_ns), .min = ND_NS_PER_S, .max = 3 * ND_MAX_NS,
	  .common = true, .help = "longest test, by default any" },
	{ .name = "max-flows", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, serve.max_flows), .min = 1, .max = ND_MAX_FLOWS, .preset = "100k",
	  .common = true, .help = "most flows of a test" },
	{ .name = "max-tests", .type = ND_OPT_NUMBER, .unit = ND_UNIT_COUNT,
	  AT(uint64_t, serve.max_tests), .min = 1, .max = 1000, .preset = "16",
	  .common = true, .help = "tests at the same time" },
	{ 0 }
};
/* clang-format on */

static const struct nd_opt *const serve_arrays[] = {
	serve_port_rows,   where_rows,  serve_rows, serve_worker_rows,
	serve_format_rows, output_rows, NULL,
};

static const struct nd_opt *const stream_arrays[] = {
	time_rows, total_rows,  flow_rows,     udp_rows,    way_rows,    size_rows,
	edge_rows, group_rows,  port_rows,     where_rows,  client_rows, payload_rows,
	tcp_rows,  socket_rows, datagram_rows, worker_rows, engine_rows, moving_rows,
	wait_rows, stream_rows, format_rows,   output_rows, NULL,
};

static const struct nd_opt *const packets_arrays[] = {
	time_rows,     total_rows,       flow_rows,   way_rows,    packet_rows,  edge_rows,
	group_rows,    port_rows,        where_rows,  client_rows, payload_rows, socket_rows,
	datagram_rows, worker_rows,      engine_rows, moving_rows, wait_rows,    format_rows,
	output_rows,   packets_udp_rows, NULL,
};

static const struct nd_opt *const connect_arrays[] = {
	time_rows,  connect_flow_rows, request_rows, connect_rows, edge_rows,   port_rows,
	where_rows, client_rows,       tcp_rows,     socket_rows,  worker_rows, engine_rows,
	wait_rows,  format_rows,       output_rows,  NULL,
};

const struct nd_opt_set nd_persona_connect_set = {
	.prog = "netdyno connect",
	.operands = "HOST",
	.summary = "measure connections per second to a host that runs netdyno serve",
	.description =
		"Opens a TCP connection, asks, reads the answer and its end, and begins anew, on each of -P flows. The\n"
		"server names a port for these connections when the test begins: the first free one of the 16 behind its\n"
		"own, 7576 to 7591, which a firewall has to let pass, too. It closes first: ports of the client are free\n"
		"again at once, and none has to wait. The end of a connection goes with its answer, in one packet.\n"
		"Where both ends are on one machine the server's threads, if it has as many as there are CPUs, take one\n"
		"CPU each and the connections that are opened there.",
	.examples = "netdyno connect 192.0.2.1 -P 64 -T 2\t64 at a time, from two threads\n"
		    "netdyno connect 192.0.2.1 --only\tconnections without request and answer",
	.rows = connect_arrays,
	.min_operands = 1,
	.max_operands = 1,
};

static const struct nd_opt *const latency_arrays[] = {
	time_rows,   flow_rows,   udp_rows,    request_rows, latency_rows,        edge_rows,
	port_rows,   where_rows,  client_rows, tcp_rows,     socket_rows,         datagram_rows,
	worker_rows, engine_rows, wait_rows,   format_rows,  latency_output_rows, NULL,
};

const struct nd_opt_set nd_persona_latency_set = {
	.prog = "netdyno latency",
	.operands = "HOST",
	.summary = "measure how long requests to a host that runs netdyno serve take",
	.description =
		"Sends requests and reports how long their answers took, as percentiles with the limits between which\n"
		"they are known. Without --rate the next request waits for an answer; with it requests go by a schedule,\n"
		"so that a stall shows in all that were to be sent in it.",
	.examples =
		"netdyno latency 192.0.2.1\tone request after the other, 64 bytes each way, 10 s\n"
		"netdyno latency 192.0.2.1 -u --rate 10k --arrival poisson\tUDP, 10,000 a second at random instants\n"
		"netdyno latency 192.0.2.1 --load stream,4,both\tidle, then beside four streams each way\n"
		"netdyno latency 192.0.2.1 -r 64,1Ki -q 4 --spin --pin 1\tfour under way, a thread that never sleeps",
	.rows = latency_arrays,
	.min_operands = 1,
	.max_operands = 1,
};

const struct nd_opt_set nd_persona_packets_set = {
	.prog = "netdyno packets",
	.operands = "HOST",
	.summary = "measure packets per second to a host that runs netdyno serve",
	.description =
		"Sends UDP datagrams, each a packet of its own, and reports how many the receiver read, how many\n"
		"the stacks and interfaces of both ends counted, what a packet cost, and where every lost one went.",
	.examples =
		"netdyno packets 192.0.2.1 -P 64\tthe smallest packets over 64 flows, 10 s\n"
		"netdyno packets 192.0.2.1 --rate 100k -l 64,512,1400\t100,000 a second, three sizes in turn\n"
		"netdyno packets 192.0.2.1 --find-rate 0.1%\tthe highest rate that loses at most 0.1 %",
	.rows = packets_arrays,
	.min_operands = 1,
	.max_operands = 2, /* settle_packets() */
};

const struct nd_opt_set nd_persona_serve_set = {
	.prog = "netdyno serve",
	.operands = "",
	.summary = "answer tests from other machines",
	.description =
		"Listens on one port, TCP and UDP, for control and data, until it is interrupted.\n"
		"Several clients are served at the same time. One line on standard error tells of "
		"each test.",
	.examples =
		"netdyno serve\tanswer everybody on port 7575\n"
		"netdyno serve --allow 192.0.2.0/24 --max-time 1m\tonly one network, short tests\n"
		"netdyno serve --once -o json\tone test, its result as JSON on standard output",
	.rows = serve_arrays,
};

const struct nd_opt_set nd_persona_stream_set = {
	.prog = "netdyno stream",
	.operands = "HOST",
	.summary = "measure bulk throughput to a host that runs netdyno serve",
	.description =
		"Sends as much as the path takes, or at a rate, and reports what the receiver got.\n"
		"Both ends tell what it cost them in CPU, and where packets were lost.",
	.examples = "netdyno stream 192.0.2.1\tone TCP connection, 10 s\n"
		    "netdyno stream 192.0.2.1 -P 8 -R\teight connections, the server sends\n"
		    "netdyno stream 192.0.2.1 -u -b 1G\tUDP at 1 Gbit/s\n"
		    "netdyno stream 192.0.2.1 -n 10Gi -o json\t10 GiB, the result as JSON\n"
		    "netdyno stream 192.0.2.1 --shape rr -r 64\trequests and responses of 64 bytes",
	.rows = stream_arrays,
	.min_operands = 1,
	.max_operands = 1,
};
