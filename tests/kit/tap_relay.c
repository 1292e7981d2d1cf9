/* SPDX-License-Identifier: MIT */
/*
 * A cable with a length: carries every frame between two TAP devices, each one a fixed time
 * after it was read, and remembers when it came and when it left.
 *
 *     tap_relay FD_A FD_B DELAY_AB_NS DELAY_BA_NS LOSS_PPM SEED LOGFILE
 *
 * FD_A and FD_B are inherited descriptors of TAP devices without packet information header.
 * Says "ready" on stdout. SIGUSR1 writes the log so far and says "log COUNT"; SIGTERM writes
 * it and ends. One line of the log per frame:
 *
 *     DIRECTION IN_NS OUT_NS BYTES FATE
 *
 * DIRECTION is A (from A to B) or B; times are CLOCK_MONOTONIC, OUT_NS is 0 unless delivered.
 * FATE: d delivered, l lost as asked, o queue overrun, f write failed, q still in the queue.
 *
 * Constant delay means the queue is ordered by due time, hence a ring and no heap; frames of
 * one direction never overtake each other. What keeps a link alive (ARP, neighbour discovery)
 * is never lost, else a lost question stops everything for a second.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define QUEUE_FRAMES 16384u
#define QUEUE_BYTES  (32u << 20)
#define FRAME_MAX    65600u
#define BATCH        64
#define RECORDS_MAX  (16u << 20)

struct record {
	uint64_t in_ns, out_ns;
	uint32_t bytes;
	char direction, fate;
};

struct slot {
	uint64_t due_ns;
	size_t record;
	uint32_t offset, bytes;
};

struct way {
	char name;
	int from, to;
	uint64_t delay_ns;
	uint64_t random;
	/* Ring of frames; their bytes stand in store, contiguous, from tail to head. */
	struct slot slots[QUEUE_FRAMES];
	unsigned int first, count;
	unsigned char *store;
	uint32_t head, tail;
};

static struct way ways[2] = { { .name = 'A' }, { .name = 'B' } };
static struct record *records;
static size_t record_count, record_room;
static uint32_t loss_ppm;
static volatile sig_atomic_t stop_asked, log_asked;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		log_asked = 1;
	else
		stop_asked = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "tap_relay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64: the same losses for the same seed on every machine. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static bool may_be_lost(const unsigned char *p, uint32_t bytes)
{
	unsigned int type;

	if (bytes < 34)
		return false;
	type = (unsigned int)p[12] << 8 | p[13];
	if (type == 0x0800)
		return true;
	/* ICMPv6 types 130 to 143 are group membership and neighbour discovery, possibly behind
	 * a hop-by-hop header (0). */
	if (type != 0x86dd || p[20] == 0)
		return false;
	return !(p[20] == 58 && bytes > 54 && p[54] >= 130 && p[54] <= 143);
}

static size_t add_record(const struct way *w, uint64_t in_ns, uint32_t bytes, char fate)
{
	if (record_count == record_room) {
		size_t room = record_room ? record_room * 2 : 65536;
		struct record *grown = NULL;

		if (room <= RECORDS_MAX)
			grown = realloc(records, room * sizeof(*records));
		if (!grown) {
			errno = ENOMEM;
			die("too many frames to remember");
		}
		records = grown;
		record_room = room;
	}
	records[record_count] = (struct record){
		.in_ns = in_ns, .bytes = bytes, .direction = w->name, .fate = fate
	};
	return record_count++;
}

/* Where the next frame of any size can be read to, NULL when the queue is full. */
static unsigned char *room_for_frame(struct way *w)
{
	if (w->count == QUEUE_FRAMES)
		return NULL;
	if (w->count == 0)
		w->head = w->tail = 0;
	if (w->head >= w->tail) {
		if (QUEUE_BYTES - w->head >= FRAME_MAX)
			return w->store + w->head;
		if (w->tail <= FRAME_MAX)
			return NULL;
		w->head = 0;
		return w->store;
	}
	return w->tail - w->head > FRAME_MAX ? w->store + w->head : NULL;
}

static void read_frames(struct way *w)
{
	static unsigned char spill[FRAME_MAX];

	for (int i = 0; i < BATCH; i++) {
		unsigned char *to = room_for_frame(w);
		ssize_t n = read(w->from, to ? to : spill, FRAME_MAX);
		uint64_t at;

		if (n <= 0) {
			if (n < 0 && errno != EAGAIN && errno != EINTR)
				die("reading a frame");
			return;
		}
		at = now_ns();
		if (loss_ppm && may_be_lost(to ? to : spill, (uint32_t)n) &&
		    next_random(&w->random) % 1000000u < loss_ppm) {
			(void)add_record(w, at, (uint32_t)n, 'l');
			continue;
		}
		if (!to) {
			(void)add_record(w, at, (uint32_t)n, 'o');
			continue;
		}
		w->slots[(w->first + w->count++) % QUEUE_FRAMES] = (struct slot){
			.due_ns = at + w->delay_ns,
			.record = add_record(w, at, (uint32_t)n, 'q'),
			.offset = (uint32_t)(to - w->store),
			.bytes = (uint32_t)n,
		};
		w->head = (uint32_t)(to - w->store) + (uint32_t)n;
	}
}

static void write_due_frames(struct way *w)
{
	for (int i = 0; i < BATCH && w->count; i++) {
		struct slot *s = &w->slots[w->first];
		struct record *r = &records[s->record];
		ssize_t n;

		if (s->due_ns > now_ns())
			return;
		n = write(w->to, w->store + s->offset, s->bytes);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		r->fate = n == (ssize_t)s->bytes ? 'd' : 'f';
		if (r->fate == 'd')
			r->out_ns = now_ns();
		w->first = (w->first + 1) % QUEUE_FRAMES;
		w->count--;
		w->tail = w->count ? w->slots[w->first].offset : w->head;
	}
}

/* Written aside and renamed, so that a reader never sees half a log. */
static void write_log(const char *path)
{
	char aside[4096];
	FILE *f;

	if (snprintf(aside, sizeof(aside), "%s.new", path) >= (int)sizeof(aside))
		die("log name");
	f = fopen(aside, "we");
	if (!f)
		die(aside);
	for (size_t i = 0; i < record_count; i++) {
		const struct record *r = &records[i];

		fprintf(f, "%c %" PRIu64 " %" PRIu64 " %" PRIu32 " %c\n", r->direction, r->in_ns,
			r->out_ns, r->bytes, r->fate);
	}
	if (fclose(f) != 0 || rename(aside, path) != 0)
		die(path);
	printf("log %zu\n", record_count);
	fflush(stdout);
}

static uint64_t wait_ns(void)
{
	uint64_t due = UINT64_MAX, now = now_ns();

	for (int i = 0; i < 2; i++) {
		const struct way *w = &ways[i];

		if (w->count && w->slots[w->first].due_ns < due)
			due = w->slots[w->first].due_ns;
	}
	if (due == UINT64_MAX)
		return 1000000000u;
	return due > now ? due - now : 0;
}

static void relay(const char *log_path)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t held, waiting;

	/* Signals arrive inside ppoll only: none is missed between looking and waiting. */
	sigemptyset(&held);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGUSR1);
	sigprocmask(SIG_BLOCK, &held, &waiting);
	sigdelset(&waiting, SIGTERM);
	sigdelset(&waiting, SIGUSR1);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	printf("ready\n");
	fflush(stdout);

	while (!stop_asked) {
		struct pollfd fds[2] = { { .fd = ways[0].from, .events = POLLIN },
					 { .fd = ways[1].from, .events = POLLIN } };
		uint64_t ns = wait_ns();
		struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

		if (ppoll(fds, 2, &t, &waiting) < 0 && errno != EINTR)
			die("ppoll");
		for (int i = 0; i < 2; i++) {
			read_frames(&ways[i]);
			write_due_frames(&ways[i]);
		}
		if (log_asked) {
			log_asked = 0;
			write_log(log_path);
		}
	}
	write_log(log_path);
}

static uint64_t number(const char *text)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-') {
		errno = EINVAL;
		die(text);
	}
	return v;
}

int main(int argc, char **argv)
{
	if (argc != 8) {
		fprintf(stderr,
			"tap_relay FD_A FD_B DELAY_AB_NS DELAY_BA_NS LOSS_PPM SEED LOGFILE\n");
		return 2;
	}
	for (int i = 0; i < 2; i++) {
		struct way *w = &ways[i];

		w->from = (int)number(argv[1 + i]);
		w->to = (int)number(argv[2 - i]);
		w->delay_ns = number(argv[3 + i]);
		w->random = number(argv[6]) * 2 + (uint64_t)i;
		w->store = malloc(QUEUE_BYTES);
		if (!w->store)
			die("queue");
		if (fcntl(w->from, F_SETFL, O_NONBLOCK) < 0)
			die(argv[1 + i]);
	}
	loss_ppm = (uint32_t)number(argv[5]);
	/* Both only sharpen the delay; without them the log still tells the truth. */
	(void)prctl(PR_SET_TIMERSLACK, 1000);
	(void)setpriority(PRIO_PROCESS, 0, -10);
	relay(argv[7]);
	return 0;
}
