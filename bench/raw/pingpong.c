/* SPDX-License-Identifier: MIT */
/*
 * Round trips of one message that is outstanding, and nothing else: one connected socket at each end.
 *
 *     pingpong recv [-p PORT] [-x tcp|udp|tcp-spin|udp-spin] [-l BYTES]
 *     pingpong send HOST [the same] [-t SECONDS] [-w SECONDS]
 *
 * spin: calls that do not wait, over and over. The answering end ends with the asking one: by the end of the stream,
 * or by an empty datagram. One line of JSON at the asking end: quantiles of its own samples behind the warm-up.
 */
#include "raw.h"

#define SAMPLES_MAX (1u << 24)

struct wire {
	int fd, flags; /* of recv() */
	bool udp;
};

static void join_peer(struct wire *w, const struct raw_options *o)
{
	struct sockaddr_in a = raw_address(o);
	socklen_t len = sizeof(a);
	uint8_t byte;
	int listener;

	w->udp = o->technique[0] == 'u';
	w->flags = strstr(o->technique, "-spin") ? MSG_DONTWAIT : 0;
	w->fd = socket(AF_INET, (w->udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
	if (w->fd < 0)
		raw_die("socket");
	if (o->sends && connect(w->fd, (const struct sockaddr *)&a, len) < 0)
		raw_die("connect");
	if (!o->sends && w->udp) {
		if (bind(w->fd, (const struct sockaddr *)&a, len) < 0)
			raw_die("bind");
		puts("ready");
		(void)fflush(stdout);
		if (recvfrom(w->fd, &byte, 1, MSG_PEEK, (struct sockaddr *)&a, &len) < 0 ||
		    connect(w->fd, (const struct sockaddr *)&a, len) < 0)
			raw_die("the first datagram");
	} else if (!o->sends) {
		close(w->fd);
		listener = raw_listen(o);
		if (fcntl(listener, F_SETFL, 0) < 0)
			raw_die("fcntl");
		puts("ready");
		(void)fflush(stdout);
		w->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (w->fd < 0)
			raw_die("accept");
		close(listener);
	}
	if (!w->udp)
		raw_set(w->fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
}

/* A whole message. False: the peer has ended. */
static bool get(const struct wire *w, uint8_t *buf, size_t n)
{
	size_t have = 0;
	ssize_t r;

	while (have < n) {
		r = recv(w->fd, buf + have, n - have, w->flags);
		if (r < 0 && errno == EAGAIN)
			continue;
		if (r <= 0)
			return false;
		have += (size_t)r;
	}
	return true;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double quantile_us(const uint32_t *v, uint64_t n, double q)
{
	return n ? (double)v[(uint64_t)(q * (double)(n - 1))] / 1e3 : 0;
}

static void ask(const struct wire *w, const struct raw_options *o, uint8_t *buf)
{
	uint32_t *v = (uint32_t *)(void *)raw_memory(SAMPLES_MAX * sizeof(*v));
	uint64_t begin_ns = raw_now(), from_ns = begin_ns + o->warmup_ns, now_ns = begin_ns;
	uint64_t until_ns = from_ns + o->seconds * RAW_NS_PER_S, sent_ns, n = 0;

	while (now_ns < until_ns) {
		sent_ns = raw_now();
		if (send(w->fd, buf, o->bytes, MSG_NOSIGNAL) < 0 || !get(w, buf, o->bytes))
			raw_die("the exchange");
		now_ns = raw_now();
		if (sent_ns >= from_ns && n < SAMPLES_MAX)
			v[n++] = (uint32_t)(now_ns - sent_ns);
	}
	if (w->udp)
		(void)!send(w->fd, "", 0, 0); /* a lost one leaves the other end to be ended */
	qsort(v, n, sizeof(*v), by_size);
	printf("{\"technique\": \"%s\", \"length\": %" PRIu64 ", \"exchanges\": %" PRIu64
	       ", \"p50_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f, \"max_us\": %.3f}\n",
	       o->technique, o->bytes, n, quantile_us(v, n, 0.5), quantile_us(v, n, 0.99),
	       quantile_us(v, n, 0.999), quantile_us(v, n, 1));
	free(v);
}

int main(int argc, char **argv)
{
	struct raw_options o = { .technique = "tcp", .port = 9080, .bytes = 64, .seconds = 1 };
	struct wire w;
	uint8_t *buf;

	raw_options(&o, argc, argv);
	if (strcmp(o.technique, "tcp") != 0 && strcmp(o.technique, "udp") != 0 &&
	    strcmp(o.technique, "tcp-spin") != 0 && strcmp(o.technique, "udp-spin") != 0) {
		fprintf(stderr, "'%s' is none of tcp, udp, tcp-spin, udp-spin\n", o.technique);
		return 2;
	}
	buf = raw_memory(o.bytes);
	join_peer(&w, &o);
	if (o.sends)
		ask(&w, &o, buf);
	else
		while (get(&w, buf, o.bytes) && send(w.fd, buf, o.bytes, MSG_NOSIGNAL) >= 0)
			;
	free(buf);
	return 0;
}
