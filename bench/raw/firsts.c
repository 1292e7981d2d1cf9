/* SPDX-License-Identifier: MIT */
/*
 * When does the first payload of each TCP flow arrive? Watches an interface and notes, for each pair of
 * ports, the kernel's time stamp of the first packet that carries test payload.
 *
 *     firsts INTERFACE PORT FLOWS SECONDS
 *
 * Only IPv4 packets that come in for TCP port PORT are looked at. Set-up is told from payload without
 * knowing any tool: payload is more than SETUP_BYTES in one packet, and control messages, which may be
 * longer, begin with a JSON object, bare or behind its length in four bytes.
 * Says "ready" on stdout when packets are being watched. Ends when FLOWS flows were seen, on SIGTERM, or
 * after SECONDS, and then says one line per flow and a last one:
 *
 *     flow SOURCE_PORT NANOSECONDS BYTES
 *     end FLOWS DROPS
 *
 * DROPS is how many packets the capture lost: when it is not 0, a first packet may be among them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SETUP_BYTES  100u
#define BUFFER_BYTES (512 << 20) /* queued packets count with their whole size, up to 64 KiB each */
#define HEAD_BYTES   192u        /* headers at their longest, and the first payload */

struct seen {
	uint64_t first_ns[65536]; /* by source port; 0 is not seen */
	uint32_t bytes[65536];
	uint32_t flows;
};

static bool read_number(const char *s, uint32_t most, uint32_t *ret)
{
	uint64_t n = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		n = n * 10 + (uint64_t)(*s - '0');
		if (n > most)
			return false;
	}
	*ret = (uint32_t)n;
	return n > 0;
}

/* The kernel hands over TCP for this port only: answers and other traffic need no room. */
static int filter_port(int fd, uint32_t port)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS,
			 9), /* protocol; packets begin with the IP header */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 4),
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), /* X = length of the IP header */
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),  /* destination port */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int open_capture(const char *name, uint32_t port)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	const int bytes = BUFFER_BYTES, on = 1;
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	at.sll_ifindex = (int)if_nametoindex(name);
	if (fd < 0 || !at.sll_ifindex)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0 ||
	    filter_port(fd, port) < 0)
		return -1;
	/* Bound last: without a protocol nothing was queued before. One protocol: incoming only. */
	return bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ? -1 : fd;
}

static uint64_t stamp_of(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct timespec t;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&t, CMSG_DATA(c), sizeof(t));
		return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	}
	return 0;
}

/* A JSON object, or one behind a length below 16 MiB. */
static bool is_control(const uint8_t *p, size_t n)
{
	if (n >= 2 && p[0] == '{' && p[1] == '"')
		return true;
	return n >= 6 && p[0] == 0 && p[4] == '{' && p[5] == '"';
}

/* @have: bytes in @packet, @length: bytes of the packet on the wire, IP header included. */
static void note(struct seen *s, const uint8_t *packet, size_t have, size_t length, uint64_t at_ns)
{
	size_t ip = (size_t)(packet[0] & 15) * 4, head, payload;
	struct tcphdr tcp;

	if (have < ip + sizeof(tcp))
		return;
	memcpy(&tcp, packet + ip, sizeof(tcp));
	head = ip + (size_t)tcp.doff * 4;
	if (length <= head + SETUP_BYTES || have < head)
		return;
	payload = length - head;
	if (is_control(packet + head, have - head))
		return;
	if (!s->first_ns[ntohs(tcp.source)]) {
		s->first_ns[ntohs(tcp.source)] = at_ns;
		s->bytes[ntohs(tcp.source)] = (uint32_t)payload;
		s->flows++;
	}
}

/* Take what is queued. Return: 0, -1: the socket failed. */
static int drain(int fd, struct seen *s, uint32_t flows)
{
	while (s->flows < flows) {
		uint8_t head[HEAD_BYTES];
		_Alignas(struct cmsghdr) uint8_t control[128];
		struct iovec iov = { .iov_base = head, .iov_len = sizeof(head) };
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(fd, &m, MSG_TRUNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		if (n > 0)
			note(s, head, (size_t)n < sizeof(head) ? (size_t)n : sizeof(head),
			     (size_t)n, stamp_of(&m));
	}
	return 0;
}

static int watch(int fd, struct seen *s, uint32_t flows, uint32_t seconds)
{
	struct pollfd wait[2] = { { .fd = fd, .events = POLLIN }, { .fd = -1, .events = POLLIN } };
	struct timespec now, end;
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	if (pthread_sigmask(SIG_BLOCK, &stop, NULL) != 0)
		return -1;
	wait[1].fd = signalfd(-1, &stop, SFD_CLOEXEC);
	if (wait[1].fd < 0)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	puts("ready");
	if (fflush(stdout) != 0)
		return -1;
	while (s->flows < flows) {
		if (poll(wait, 2, 100) < 0 && errno != EINTR)
			return -1;
		if (drain(fd, s, flows) < 0)
			return -1;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (wait[1].revents || now.tv_sec > end.tv_sec)
			break;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct seen seen;
	struct tpacket_stats lost = { 0 };
	socklen_t n = sizeof(lost);
	uint32_t port, flows, seconds;
	int fd;

	if (argc != 5 || !read_number(argv[2], 65535, &port) ||
	    !read_number(argv[3], 60000, &flows) || !read_number(argv[4], 86400, &seconds)) {
		fputs("usage: firsts INTERFACE PORT FLOWS SECONDS\n", stderr);
		return 2;
	}
	fd = open_capture(argv[1], port);
	if (fd < 0 || watch(fd, &seen, flows, seconds) < 0 ||
	    getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &lost, &n) < 0) {
		perror("firsts");
		return 1;
	}
	for (uint32_t i = 0; i < 65536; i++) {
		if (seen.first_ns[i])
			printf("flow %" PRIu32 " %" PRIu64 " %" PRIu32 "\n", i, seen.first_ns[i],
			       seen.bytes[i]);
	}
	printf("end %" PRIu32 " %u\n", seen.flows, lost.tp_drops);
	return 0;
}
