/* SPDX-License-Identifier: MIT */
/*
 * A ring of the latest entries, and a file of those before. An entry is settled when half a ring of others has been
 * sent behind it: until then its answer may come. The worker publishes how far it is after each entry, and writes
 * settled ones no more, so whoever has seen the number may read them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "stat/samples.h"

#define RING  (1u << 20)
#define AFTER (RING / 2)

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): each thread has lines of its own */
struct nd_samples {
	/* of who drains */
	_Alignas(64) _Atomic uint64_t base; /* entries in the file; writer: who drains */
	int fd;                             /* owned; -1: none yet */
	bool is_broken;
	/* the worker's */
	_Alignas(64) _Atomic uint64_t head; /* entries begun; writer: the worker */
	struct nd_sample *ring;             /* owned, RING entries; NULL: nothing is kept */
	uint64_t every;
	uint64_t sent, received, duplicate, alien, missed;
	uint64_t told, there, there_bytes, there_ns;
	uint64_t handled;           /* a server's messages */
	struct nd_diary *diary;     /* owned; NULL */
	struct nd_senders *senders; /* owned; NULL */
	struct nd_samples *next;    /* owned: of the next one who answers; NULL */
	uint8_t key[ND_SENDER_KEY]; /* of the one who answers, where they are told apart */
	bool is_known;              /* it has answered */
};

/* Before the run: of malloc() and memset() a compiler may make calloc(), which would leave the pages to the run. */
static void touch(struct nd_sample *ring)
{
	explicit_bzero(ring, RING * sizeof(*ring));
}

int nd_samples_new(uint64_t every, struct nd_samples **ret)
{
	struct nd_samples *s = aligned_alloc(64, sizeof(*s));

	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	s->every = every;
	if (every) {
		s->ring = malloc(RING * sizeof(*s->ring));
		if (!s->ring) {
			free(s);
			return -ENOMEM;
		}
		touch(s->ring);
	}
	*ret = s;
	return 0;
}

void nd_samples_free(struct nd_samples *s)
{
	while (s) {
		struct nd_samples *next = s->next;

		nd_close_p(&s->fd);
		nd_diary_free(s->diary);
		nd_senders_free(s->senders);
		free(s->ring);
		free(s);
		s = next;
	}
}

int nd_samples_share(struct nd_samples *s, uint64_t n)
{
	int r = 0;

	for (; r == 0 && n > 1; n--, s = s->next)
		r = nd_samples_new(s->every, &s->next);
	return r;
}

struct nd_samples *nd_samples_of(struct nd_samples *s, uint64_t i)
{
	for (; s && i > 0; i--)
		s = s->next;
	return s;
}

int nd_samples_watch(struct nd_samples *s, uint64_t every)
{
	s->diary = nd_diary_new(every);
	return s->diary ? 0 : -ENOMEM;
}

struct nd_diary *nd_samples_diary(const struct nd_samples *s)
{
	return s->diary;
}

const struct nd_senders *nd_samples_senders(const struct nd_samples *s)
{
	return s->senders;
}

/* ---- the worker */

void nd_samples_handle(struct nd_samples *s, uint64_t n, uint64_t now_ns)
{
	s->handled += n;
	if (s->diary)
		nd_diary_count(s->diary, s->handled, now_ns);
}

void nd_samples_keep_senders(struct nd_samples *s, struct nd_senders *senders)
{
	nd_senders_free(s->senders);
	s->senders = senders;
}

bool nd_samples_asks(const struct nd_samples *s, uint64_t number)
{
	return s->every == 1 || (s->every && number % s->every == 0);
}

/* Of a message that asks. Most tests keep them all: a division would be the dearest step of an exchange. */
static uint64_t entry_of(const struct nd_samples *s, uint64_t number)
{
	return (s->every == 1 ? number : number / s->every) - 1;
}

static uint64_t head_of(const struct nd_samples *s)
{
	return atomic_load_explicit(&s->head, memory_order_relaxed);
}

static bool has_room(const struct nd_samples *s, uint64_t entry)
{
	return entry - atomic_load_explicit(&s->base, memory_order_acquire) < RING;
}

uint64_t nd_samples_send(struct nd_samples *s, uint64_t now_ns)
{
	uint64_t number = ++s->sent, entry;

	if (s->next)
		(void)nd_samples_send(s->next, now_ns); /* the same number */
	if (s->diary)
		nd_diary_count(s->diary, number, now_ns);
	if (!nd_samples_asks(s, number))
		return number;
	entry = entry_of(s, number);
	if (has_room(s, entry))
		s->ring[entry % RING] = (struct nd_sample){ .tx_ns = now_ns };
	else
		s->missed++;
	atomic_store_explicit(&s->head, entry + 1, memory_order_release);
	return number;
}

void nd_samples_unsend(struct nd_samples *s, uint64_t n)
{
	if (s->next)
		nd_samples_unsend(s->next, n);
	s->sent -= n < s->sent ? n : s->sent;
	if (s->every)
		atomic_store_explicit(&s->head, s->sent / s->every, memory_order_release);
}

bool nd_samples_answer(struct nd_samples *s, uint64_t number, uint64_t now_ns)
{
	struct nd_sample *at;
	uint64_t entry;

	if (number == 0 || number > s->sent || !nd_samples_asks(s, number)) {
		s->alien++;
		return false;
	}
	entry = entry_of(s, number);
	if (head_of(s) - entry > AFTER || !has_room(s, entry)) {
		s->duplicate++; /* so late that it is not known any more */
		return true;
	}
	at = &s->ring[entry % RING];
	if (at->rx_ns) {
		s->duplicate++;
		return true;
	}
	at->rx_ns = now_ns;
	s->received++;
	return true;
}

bool nd_samples_answer_by(struct nd_samples *s, const uint8_t *key, uint64_t number,
			  uint64_t now_ns)
{
	if (!key || !s->next)
		return nd_samples_answer(s, number, now_ns);
	for (struct nd_samples *at = s; at; at = at->next) {
		if (!at->is_known) {
			memcpy(at->key, key, sizeof(at->key));
			at->is_known = true;
		}
		if (!memcmp(at->key, key, sizeof(at->key)))
			return nd_samples_answer(at, number, now_ns);
	}
	s->alien++;
	return false;
}

void nd_samples_put(struct nd_samples *s, const struct nd_sample *v, uint32_t n)
{
	if (!s->ring || !has_room(s, s->sent + n - 1)) {
		s->missed += n;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		s->ring[(s->sent + i) % RING] = v[i];
	s->sent += n;
	s->received += n;
	atomic_store_explicit(&s->head, s->sent, memory_order_release);
}

void nd_samples_tell(struct nd_samples *s, uint64_t messages, uint64_t bytes, uint64_t ns)
{
	s->told++;
	s->there += messages;
	s->there_bytes += bytes;
	s->there_ns = ND_MAX(s->there_ns, ns);
}

/* ---- the file */

static int open_file(void)
{
	static const char *const places[] = { "/var/tmp", "/tmp" };
	const char *own = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
	int fd = -1;

	if (own && *own)
		fd = open(own, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	for (size_t i = 0; fd < 0 && i < ND_COUNTOF(places); i++)
		fd = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd;
}

/* @n entries from @from on, which do not wrap around. */
static bool put(struct nd_samples *s, uint64_t from, uint64_t n)
{
	const char *at = (const char *)&s->ring[from % RING];
	size_t left = (size_t)n * sizeof(struct nd_sample);
	off_t to = (off_t)(from * sizeof(struct nd_sample));

	while (left > 0) {
		ssize_t r = pwrite(s->fd, at, left, to);

		if (r <= 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		at += r;
		to += r;
		left -= (size_t)r;
	}
	return true;
}

static void drain(struct nd_samples *s)
{
	uint64_t head = atomic_load_explicit(&s->head, memory_order_acquire);
	uint64_t base = atomic_load_explicit(&s->base, memory_order_relaxed);

	if (!s->ring || s->is_broken || head < base + AFTER + AFTER / 8)
		return;
	if (s->fd < 0)
		s->fd = open_file();
	while (s->fd >= 0 && base + AFTER < head) {
		uint64_t n = ND_MIN(head - AFTER - base, RING - base % RING);

		if (!put(s, base, n))
			break;
		base += n;
		atomic_store_explicit(&s->base, base, memory_order_release);
	}
	s->is_broken = base + AFTER < head;
}

void nd_samples_drain(struct nd_samples *s)
{
	for (; s; s = s->next)
		drain(s);
}

/* ---- reading */

void nd_samples_counts(const struct nd_samples *s, struct nd_sample_counts *ret)
{
	uint64_t base = atomic_load_explicit(&s->base, memory_order_acquire);

	*ret = (struct nd_sample_counts){
		.every = s->every,
		.sent = s->sent,
		.kept = ND_MIN(head_of(s), base + RING),
		.received = s->received,
		.duplicate = s->duplicate,
		.alien = s->alien,
		.missed = s->missed,
		.told = s->told,
		.there = s->there,
		.there_bytes = s->there_bytes,
		.there_ns = s->there_ns,
	};
}

ssize_t nd_samples_read(const struct nd_samples *s, uint64_t from, struct nd_sample *ret, size_t n)
{
	uint64_t base = atomic_load_explicit(&s->base, memory_order_acquire);
	uint64_t end = ND_MIN(head_of(s), base + RING);
	ssize_t r;

	if (from >= end)
		return 0;
	if (from >= base) {
		n = (size_t)ND_MIN(ND_MIN(n, end - from), RING - from % RING);
		memcpy(ret, &s->ring[from % RING], n * sizeof(*ret));
		return (ssize_t)n;
	}
	n = (size_t)ND_MIN(n, base - from);
	do
		r = pread(s->fd, ret, n * sizeof(*ret), (off_t)(from * sizeof(*ret)));
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	return r < (ssize_t)sizeof(*ret) ? -EIO : r / (ssize_t)sizeof(*ret);
}
