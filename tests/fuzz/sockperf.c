/* SPDX-License-Identifier: MIT */
/*
 * sockperf's frame and files, given anything. The first byte chooses: a server's or a client's datagrams or stream, in
 * pieces whose lengths are the input's; or a file of addresses or of a playback, read as the command line reads it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frame/frame.h"
#include "persona/persona.h"
#include "plan/sockperf.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SERVER_DATAGRAMS, SERVER_STREAM, CLIENT_DATAGRAMS, CLIENT_STREAM, FEED, PLAYBACK, WAYS };

#define ROOM  64u /* a turned stream may begin so much earlier */
#define PIECE 2048u
#define SENT  100u

struct end {
	struct nd_frame_state s;
	struct nd_workload w;
	struct nd_counters c, sum;
};

static void check(bool good)
{
	if (!good)
		abort();
}

/* What is behind @v's end is not touched, nor what is before it by more than the frame may. */
static bool one_piece(struct end *e, const struct nd_frame *f, bool serves, const uint8_t *data,
		      size_t n)
{
	uint8_t *room = malloc(ROOM + n);
	uint8_t key[1][ND_SENDER_KEY] = { { n > 0 ? data[0] & 3 : 0 } };
	struct iovec v = { room ? room + ROOM : NULL, n };
	struct nd_batch b = {
		.iov = &v, .n = 1, .now_ns = 1000, .key = (const uint8_t(*)[ND_SENDER_KEY])key
	};
	uint32_t r;

	check(room);
	memcpy(room + ROOM, data, n);
	r = serves ? f->turn(&e->s, &b, &e->c, &e->sum) : f->take(&e->s, &b, &e->c, &e->sum);
	if (serves && r != ND_TURN_BROKEN) {
		check((uint8_t *)v.iov_base >= room + ROOM - f->turn_room);
		check((uint8_t *)v.iov_base + v.iov_len <= room + ROOM + n);
		check(!e->s.datagram || v.iov_len <= n);
	}
	free(room);
	return r != ND_TURN_BROKEN;
}

static void pieces(unsigned way, const uint8_t *data, size_t size)
{
	const struct nd_frame *f = nd_frame_find("sockperf");
	bool serves = way == SERVER_DATAGRAMS || way == SERVER_STREAM;
	struct end e = { .w = { .message_bytes = 64, .flows = 1, .compares = true } };
	struct nd_sample_counts counts;

	e.s.own = calloc(1, f->state_bytes);
	e.s.workload = &e.w;
	e.s.datagram = way == SERVER_DATAGRAMS || way == CLIENT_DATAGRAMS;
	e.s.message_bytes = serves ? ND_SOCKPERF_LIMIT : 64;
	e.s.senders = nd_senders_new();
	check(e.s.own && e.s.senders && nd_samples_new(0, &e.s.samples) == 0);
	for (unsigned i = 0; i < SENT; i++)
		(void)nd_samples_send(e.s.samples, 10);
	while (size > 1) {
		size_t n = ND_MIN((size_t)data[0] * 8 + data[1] % 8, size - 2);

		data += ND_MIN(size, 2u);
		size -= ND_MIN(size, 2u);
		if (!one_piece(&e, f, serves, data, ND_MIN(n, (size_t)PIECE)))
			break;
		data += n;
		size -= n;
	}
	nd_samples_counts(e.s.samples, &counts);
	check(counts.received <= counts.sent && counts.told <= 1);
	nd_samples_free(e.s.samples);
	nd_senders_free(e.s.senders);
	free(e.s.own);
}

static void one_file(bool plays, const uint8_t *data, size_t size)
{
	char path[40], sockperf[] = "sockperf", pp[] = "pp", pb[] = "pb", f[] = "-f";
	char file[] = "--data-file";
	char *argv[] = { sockperf, plays ? pb : pp, plays ? file : f, path, NULL };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct nd_err err = { 0 };
	struct nd_plan plan;
	struct nd_str out = { 0 };

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* it fits */
	if (nd_persona_read(4, argv, &plan, &out, &err) < 0)
		check(err.text[0] != '\0');
	else
		check(plan.targets.n > 0 && plan.workload[0].flows > 0);
	nd_plan_done(&plan);
	nd_str_done(&out);
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned way;

	if (size < 1)
		return 0;
	way = data[0] % WAYS;
	if (way >= FEED)
		one_file(way == PLAYBACK, data + 1, size - 1);
	else
		pieces(way, data + 1, size - 1);
	return 0;
}
