/* SPDX-License-Identifier: MIT */
/*
 * What the raw programs share: options, sockets, the clock, the one line of JSON. Each program shows what one
 * technique gives without a tool around it; numbers of tools are judged by these.
 */
#ifndef ND_BENCH_RAW_H
#define ND_BENCH_RAW_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RAW_NS_PER_S 1000000000ull

struct raw_options {
	bool sends;
	const char *host, *technique, *cc; /* borrowed from argv */
	uint16_t port;
	uint64_t bytes;     /* -l: of one call, or of one datagram */
	uint64_t buffer;    /* -B: receive buffer, 0: the system's */
	uint64_t low;       /* -R: SO_RCVLOWAT, 0: the system's */
	uint32_t flows;     /* -P */
	uint32_t processes; /* -T */
	uint32_t segments;  /* -g: datagrams of one GSO call */
	uint64_t seconds;   /* -t: of sending */
	uint64_t warmup_ns; /* -w: left out of bps, not of bytes */
	bool numbered;      /* -q: sequence number in each datagram, checked */
};

struct raw_sum {
	uint64_t bytes, messages, calls;
	uint64_t lost, reordered;
	uint64_t first_ns, last_ns;
	uint64_t warm_bytes, warm_messages, warm_ns; /* when the warm-up was over */
};

static inline _Noreturn void raw_leave(int code)
{
	exit(code); /* NOLINT(concurrency-mt-unsafe): there are no threads */
}

static inline _Noreturn void raw_die(const char *what)
{
	perror(what);
	raw_leave(1);
}

static inline uint64_t raw_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * RAW_NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline double raw_cpu_s(int who)
{
	struct rusage u;

	if (getrusage(who, &u) < 0)
		raw_die("getrusage");
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Decimal, with k or M for 1024 and its square. */
static inline uint64_t raw_number(const char *s, uint64_t least, uint64_t most)
{
	uint64_t n = 0;
	const char *at = s;

	for (; *at >= '0' && *at <= '9' && n <= most; at++)
		n = n * 10 + (uint64_t)(*at - '0');
	if (*at == 'k' && at != s)
		n <<= 10, at++;
	else if (*at == 'M' && at != s)
		n <<= 20, at++;
	if (at == s || *at || n < least || n > most) {
		fprintf(stderr, "'%s' is not a number from %" PRIu64 " to %" PRIu64 "\n", s, least,
			most);
		raw_leave(2);
	}
	return n;
}

static inline void raw_option(struct raw_options *o, int c, const char *value)
{
	switch (c) {
	case 'x':
		o->technique = value;
		break;
	case 'C':
		o->cc = value;
		break;
	case 'p':
		o->port = (uint16_t)raw_number(value, 1, 65535);
		break;
	case 'l':
		o->bytes = raw_number(value, 1, 64 << 20);
		break;
	case 'B':
		o->buffer = raw_number(value, 0, 1 << 30);
		break;
	case 'R':
		o->low = raw_number(value, 0, 1 << 30);
		break;
	case 'P':
		o->flows = (uint32_t)raw_number(value, 1, 100000);
		break;
	case 'T':
		o->processes = (uint32_t)raw_number(value, 1, 64);
		break;
	case 'g':
		o->segments = (uint32_t)raw_number(value, 1, 128);
		break;
	case 't':
		o->seconds = raw_number(value, 1, 60);
		break;
	case 'w':
		o->warmup_ns = raw_number(value, 0, 60) * RAW_NS_PER_S;
		break;
	case 'q':
		o->numbered = true;
		break;
	default:
		raw_leave(2);
	}
}

/* recv [OPTION...] or send HOST [OPTION...] */
static inline void raw_options(struct raw_options *o, int argc, char **argv)
{
	int c;

	if (argc < 2 || (strcmp(argv[1], "recv") != 0 && strcmp(argv[1], "send") != 0) ||
	    (strcmp(argv[1], "send") == 0 && argc < 3)) {
		fprintf(stderr,
			"usage: %s recv|send HOST [-p PORT] [-x TECHNIQUE] [-l BYTES] "
			"[-t SECONDS] ...\n",
			argc ? argv[0] : "raw");
		raw_leave(2);
	}
	o->sends = argv[1][0] == 's';
	o->host = o->sends ? argv[2] : "0.0.0.0";
	optind = o->sends ? 3 : 2;
	while ((c = getopt(argc, argv, "x:C:p:l:B:R:P:T:g:t:w:q")) != -1)
		raw_option(o, c, optarg);
	if (optind != argc) {
		fprintf(stderr, "'%s' is one word too many\n", argv[optind]);
		raw_leave(2);
	}
}

static inline struct sockaddr_in raw_address(const struct raw_options *o)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(o->port) };

	if (inet_pton(AF_INET, o->host, &a.sin_addr) != 1) {
		fprintf(stderr, "'%s' is not an IPv4 address\n", o->host);
		raw_leave(2);
	}
	return a;
}

static inline void raw_set(int fd, int level, int name, int value, const char *what)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)) < 0)
		raw_die(what);
}

/* As much as root may have, else as much as the system allows. */
static inline void raw_buffers(int fd, uint64_t bytes)
{
	int n = (int)bytes;

	if (!n)
		return;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &n, sizeof(n)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n,
				 sizeof(n)); /* what it gave, it gave */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &n, sizeof(n)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof(n));
}

static inline void raw_set_cc(int fd, const char *cc)
{
	if (cc && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)) < 0)
		raw_die("TCP_CONGESTION");
}

static inline void raw_read_cc(int fd, char *ret, socklen_t size)
{
	memset(ret, 0, size);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, ret, &size) < 0)
		raw_die("TCP_CONGESTION");
}

static inline int raw_listen(const struct raw_options *o)
{
	struct sockaddr_in a = raw_address(o);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		raw_die("socket");
	raw_set(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	raw_set(fd, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
	raw_set_cc(fd, o->cc);
	if (o->low)
		raw_set(fd, SOL_SOCKET, SO_RCVLOWAT, (int)o->low, "SO_RCVLOWAT");
	if (bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		raw_die("bind");
	if (listen(fd, 65535) < 0)
		raw_die("listen");
	return fd;
}

/* Page-aligned, touched, not all zeros. */
static inline uint8_t *raw_memory(size_t bytes)
{
	void *p = NULL;

	if (posix_memalign(&p, 4096, (bytes + 4095) / 4096 * 4096) != 0 || !p)
		raw_die("memory");
	memset(p, 0x5a, bytes);
	return p;
}

/* Room for as many descriptors as this machine allows. */
static inline void raw_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		raw_die("RLIMIT_NOFILE");
	l.rlim_cur = l.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &l) < 0)
		raw_die("RLIMIT_NOFILE");
}

/* Count what one call moved. */
static inline void raw_count(struct raw_sum *s, const struct raw_options *o, uint64_t bytes,
			     uint64_t messages, uint64_t now_ns)
{
	if (!s->first_ns)
		s->first_ns = now_ns;
	s->last_ns = now_ns;
	s->bytes += bytes;
	s->messages += messages;
	if (!s->warm_ns && now_ns - s->first_ns >= o->warmup_ns) {
		s->warm_ns = now_ns;
		s->warm_bytes = s->bytes;
		s->warm_messages = s->messages;
	}
}

static inline void raw_report(const struct raw_options *o, const struct raw_sum *s, const char *cc,
			      double set_up_s)
{
	double took = (double)(s->last_ns - s->first_ns) / 1e9;
	double warm = s->warm_ns ? (double)(s->last_ns - s->warm_ns) / 1e9 : 0;

	printf("{\"end\": \"%s\", \"technique\": \"%s\", \"length\": %" PRIu64
	       ", \"flows\": %u, \"bytes\": %" PRIu64 ", \"messages\": %" PRIu64
	       ", \"calls\": %" PRIu64 ", ",
	       o->sends ? "send" : "recv", o->technique, o->bytes, o->flows, s->bytes, s->messages,
	       s->calls);
	if (o->numbered && !o->sends)
		printf("\"lost\": %" PRIu64 ", \"reordered\": %" PRIu64 ", ", s->lost,
		       s->reordered);
	if (cc)
		printf("\"cc\": \"%s\", \"set_up_s\": %.6f, ", cc, set_up_s);
	printf("\"seconds\": %.6f, \"bps\": %.0f, \"messages_per_s\": %.1f, \"cpu_s\": %.6f}\n",
	       took, warm > 0 ? 8 * (double)(s->bytes - s->warm_bytes) / warm : 0,
	       warm > 0 ? (double)(s->messages - s->warm_messages) / warm : 0,
	       raw_cpu_s(RUSAGE_SELF));
	(void)fflush(stdout);
}

#endif
