/* SPDX-License-Identifier: MIT */
/*
 * Datagrams through one pair of connected sockets, one technique at each end.
 *
 *     udp recv [-p PORT] [-x one|mmsg|nap|gro] [-l BYTES] [-B BUFFER] [-t SECONDS] [-w WARMUP] [-q]
 *     udp send HOST [-p PORT] [-x one|mmsg|gso] [-g SEGMENTS] [-l BYTES] [-t SECONDS] [-q]
 *
 * one: send(), recv(). mmsg: 64 in a call. nap: sleep 1 ms, then read until nothing is left. gso: SEGMENTS
 * datagrams in one call and, with what lies under the socket able to, one way down the stack. gro: the
 * reverse; then the kernel hands over datagrams in one piece, which are no packets any more.
 * -q numbers the datagrams (8 bytes), and counts those lost and reordered.
 * The receiver ends when nothing came for 0.3 s, or nothing at all for 10 s. One line of JSON at the end.
 */
#include <netinet/udp.h>

#include "raw.h"

#ifndef UDP_SEGMENT
#	define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#	define UDP_GRO 104
#endif

enum { BATCH = 64 };

#define LARGEST    65507u
#define ROOM       65536u
#define SILENCE_MS 300
#define START_MS   10000

struct batch {
	struct mmsghdr m[BATCH];
	struct iovec iov[BATCH];

	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control[BATCH];

	uint8_t *room;
	size_t slot;
	uint32_t n;
	uint64_t next; /* number of the next datagram */
};

static void batch_init(struct batch *b, uint32_t n, size_t slot)
{
	b->n = n;
	b->slot = slot;
	b->room = raw_memory(n * slot);
	for (uint32_t i = 0; i < n; i++) {
		b->iov[i] = (struct iovec){ .iov_base = b->room + i * slot, .iov_len = slot };
		b->m[i].msg_hdr = (struct msghdr){ .msg_iov = &b->iov[i], .msg_iovlen = 1 };
	}
}

/* ---- sending */

static void put_numbers(struct batch *b, uint64_t datagram)
{
	for (uint32_t i = 0; i < b->n; i++) {
		uint8_t *at = b->iov[i].iov_base;
		size_t left = b->iov[i].iov_len;

		for (; left >= datagram; left -= datagram, at += datagram) {
			memcpy(at, &b->next, sizeof(b->next));
			b->next++;
		}
	}
}

static int send_batch(int fd, struct batch *b)
{
	int r;

	if (b->n > 1)
		return sendmmsg(fd, b->m, b->n, 0);
	r = (int)send(fd, b->iov[0].iov_base, b->iov[0].iov_len, 0);
	return r < 0 ? r : 1;
}

static void send_until(int fd, const struct raw_options *o, struct batch *b, uint32_t each,
		       struct raw_sum *s)
{
	uint64_t end_ns = raw_now() + o->seconds * RAW_NS_PER_S, now_ns;

	do {
		int r;

		if (o->numbered)
			put_numbers(b, o->bytes);
		s->calls++;
		r = send_batch(fd, b);
		if (r < 0 && errno != ENOBUFS && errno != ECONNREFUSED && errno != EAGAIN)
			raw_die("send");
		now_ns = raw_now();
		if (r > 0)
			raw_count(s, o, (uint64_t)r * b->iov[0].iov_len, (uint64_t)r * each,
				  now_ns);
		/* what was not taken is numbered again */
		if (o->numbered)
			b->next -= (uint64_t)(b->n - (r > 0 ? (uint32_t)r : 0u)) * each;
	} while (now_ns < end_ns);
}

static void run_send(const struct raw_options *o, struct raw_sum *s)
{
	struct sockaddr_in to = raw_address(o);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool gso = strcmp(o->technique, "gso") == 0;
	uint32_t each = gso ? o->segments : 1;
	struct batch *b = calloc(1, sizeof(*b));

	if (fd < 0 || !b)
		raw_die("socket");
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		raw_die("connect");
	raw_buffers(fd, o->buffer);
	while (each > 1 && each * o->bytes > LARGEST)
		each--;
	if (gso)
		raw_set(fd, IPPROTO_UDP, UDP_SEGMENT, (int)o->bytes, "UDP_SEGMENT");
	batch_init(b, strcmp(o->technique, "one") == 0 ? 1 : gso ? 16 : BATCH, each * o->bytes);
	send_until(fd, o, b, each, s);
	close(fd);
	free(b->room);
	free(b);
}

/* ---- receiving */

static void take_number(struct raw_sum *s, struct batch *b, const uint8_t *at)
{
	uint64_t n;

	memcpy(&n, at, sizeof(n));
	if (n >= b->next) {
		s->lost += n - b->next;
		b->next = n + 1;
	} else {
		s->reordered++;
		s->lost -= s->lost > 0;
	}
}

/* How long each datagram in message @i is; the last may be shorter. */
static size_t segment_of(struct msghdr *m, size_t len)
{
	int n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO)
			memcpy(&n, CMSG_DATA(c), sizeof(n));
	return n > 0 ? (size_t)n : len;
}

static void take_message(const struct raw_options *o, struct batch *b, uint32_t i, bool gro,
			 struct raw_sum *s, uint64_t *messages)
{
	size_t len = b->m[i].msg_len, one = gro ? segment_of(&b->m[i].msg_hdr, len) : len;
	const uint8_t *at = b->iov[i].iov_base;

	*messages += one ? (len + one - 1) / one : 1;
	if (!o->numbered || one < sizeof(b->next))
		return;
	for (; len >= one; len -= one, at += one)
		take_number(s, b, at);
}

static void want_control(struct batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		b->m[i].msg_hdr.msg_control = &b->control[i];
		b->m[i].msg_hdr.msg_controllen = sizeof(b->control[i]);
	}
}

/* Return: messages, 0 when there are none. */
static int recv_batch(int fd, struct batch *b, bool gro)
{
	ssize_t r;

	if (gro)
		want_control(b);
	if (b->n > 1)
		return recvmmsg(fd, b->m, b->n, MSG_DONTWAIT, NULL);
	r = recv(fd, b->iov[0].iov_base, b->slot, MSG_DONTWAIT);
	b->m[0].msg_len = r < 0 ? 0 : (unsigned)r;
	return r < 0 ? -1 : 1;
}

static bool wait_for(int fd, bool naps, uint64_t *quiet_since_ns, uint64_t now_ns)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (!naps)
		return poll(&p, 1, SILENCE_MS) > 0;
	if (!*quiet_since_ns)
		*quiet_since_ns = now_ns;
	nanosleep(&nap, NULL);
	return now_ns - *quiet_since_ns < SILENCE_MS * 1000000ull;
}

static void recv_until(int fd, const struct raw_options *o, struct batch *b, struct raw_sum *s)
{
	bool gro = strcmp(o->technique, "gro") == 0, naps = strcmp(o->technique, "nap") == 0;
	uint64_t limit_ns = raw_now() + (o->seconds + 20) * RAW_NS_PER_S, now_ns, quiet_ns = 0;

	do {
		uint64_t bytes = 0, messages = 0;
		int r = recv_batch(fd, b, gro);

		s->calls++;
		now_ns = raw_now();
		if (r <= 0) {
			if (r < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)
				raw_die("recv");
			if (!wait_for(fd, naps, &quiet_ns, now_ns))
				return;
			continue;
		}
		quiet_ns = 0;
		for (int i = 0; i < r; i++) {
			bytes += b->m[i].msg_len;
			take_message(o, b, (uint32_t)i, gro, s, &messages);
		}
		raw_count(s, o, bytes, messages, now_ns);
		if (naps && (uint32_t)r < b->n) /* it gave all it had */
			(void)wait_for(fd, true, &quiet_ns, now_ns);
	} while (now_ns < limit_ns);
}

static void run_recv(const struct raw_options *o, struct raw_sum *s)
{
	struct sockaddr_in at = raw_address(o), from;
	socklen_t size = sizeof(from);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool gro = strcmp(o->technique, "gro") == 0;
	struct batch *b = calloc(1, sizeof(*b));
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char peek;

	if (fd < 0 || !b)
		raw_die("socket");
	raw_buffers(fd, o->buffer);
	if (gro)
		raw_set(fd, IPPROTO_UDP, UDP_GRO, 1, "UDP_GRO");
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
		raw_die("bind");
	batch_init(b, strcmp(o->technique, "one") == 0 ? 1 : BATCH, gro ? ROOM : o->bytes + 64);
	puts("ready");
	(void)fflush(stdout);
	if (poll(&p, 1, START_MS) <= 0) {
		fprintf(stderr, "nothing came\n");
		raw_leave(1);
	}
	/* a connected socket is found sooner */
	if (recvfrom(fd, &peek, 1, MSG_PEEK, (struct sockaddr *)&from, &size) < 0 ||
	    connect(fd, (const struct sockaddr *)&from, size) < 0)
		raw_die("connect");
	recv_until(fd, o, b, s);
	close(fd);
	free(b->room);
	free(b);
}

static bool known(const struct raw_options *o)
{
	static const char *const sends[] = { "one", "mmsg", "gso" };
	static const char *const recvs[] = { "one", "mmsg", "nap", "gro" };
	const char *const *names = o->sends ? sends : recvs;

	for (size_t i = 0; i < (o->sends ? 3u : 4u); i++)
		if (strcmp(o->technique, names[i]) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct raw_options o = { .technique = "mmsg",
				 .port = 9077,
				 .bytes = 14,
				 .buffer = 8 << 20,
				 .flows = 1,
				 .segments = 64,
				 .seconds = 2,
				 .warmup_ns = RAW_NS_PER_S / 2 };
	struct raw_sum s = { 0 };

	raw_options(&o, argc, argv);
	if (!known(&o) || o.bytes > LARGEST || (o.numbered && o.bytes < 8)) {
		fprintf(stderr, "cannot: technique '%s', %" PRIu64 " bytes\n", o.technique,
			o.bytes);
		return 2;
	}
	if (o.sends)
		run_send(&o, &s);
	else
		run_recv(&o, &s);
	raw_report(&o, &s, NULL, 0);
	return 0;
}
