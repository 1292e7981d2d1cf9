/* SPDX-License-Identifier: MIT */
/*
 * Instants of numbered messages: when each was sent, when its first answer came. Written by one worker, which neither
 * allocates nor calls the system; another thread moves what is settled to a file that nobody else sees, so that memory
 * stays the same however long a test runs. Read when the worker has ended.
 */
#ifndef ND_STAT_SAMPLES_H
#define ND_STAT_SAMPLES_H

#include <sys/types.h>

#include "base/err.h"
#include "stat/diary.h"

struct nd_sample {
	uint64_t tx_ns, rx_ns; /* 0: not sent; no answer */
};

/* What became of the messages, over the whole run. */
struct nd_sample_counts {
	uint64_t every;     /* each so many-th is kept, and answered; 0: none */
	uint64_t sent;      /* number of the last message */
	uint64_t kept;      /* entries: message (i + 1) * every is entry i */
	uint64_t received;  /* numbers with at least one answer */
	uint64_t duplicate; /* further answers */
	uint64_t alien;     /* answers to what was never sent */
	uint64_t missed;    /* not kept: the file could not be written fast enough */
	/* what receivers told of the flows, where they do */
	uint64_t asked, told;        /* flows */
	uint64_t there, there_bytes; /* messages that arrived */
	uint64_t there_ns;           /* from the first to the last of a flow; the longest */
};

struct nd_samples;

/** nd_samples_new() - @every: see above. -ENOMEM. */
ND_MUST_CHECK int nd_samples_new(uint64_t every, struct nd_samples **ret);
void nd_samples_free(struct nd_samples *s);

/** nd_samples_share() - @n answer each message: a log for each of them, of which @s is the first. -ENOMEM. */
ND_MUST_CHECK int nd_samples_share(struct nd_samples *s, uint64_t n);
/** nd_samples_of() - the log of the @i-th who answers; NULL: there are not so many. */
struct nd_samples *nd_samples_of(struct nd_samples *s, uint64_t i);

/** nd_samples_watch() - keep a diary, too, in which each @every-th message is noted (0: none). -ENOMEM. */
ND_MUST_CHECK int nd_samples_watch(struct nd_samples *s, uint64_t every);
/** nd_samples_diary() - NULL: none is kept. */
struct nd_diary *nd_samples_diary(const struct nd_samples *s);

/* The worker's. */
/** nd_samples_handle() - a server's: @n messages have come. */
void nd_samples_handle(struct nd_samples *s, uint64_t n, uint64_t now_ns);
/** nd_samples_keep_senders() - those whose numbers were looked at, now owned; they are there until the end. */
void nd_samples_keep_senders(struct nd_samples *s, struct nd_senders *senders);
/** nd_samples_send() - the number of the next message, which is about to be sent. */
uint64_t nd_samples_send(struct nd_samples *s, uint64_t now_ns);
/** nd_samples_unsend() - the last @n of them were not sent after all. */
void nd_samples_unsend(struct nd_samples *s, uint64_t n);
/** nd_samples_asks() - is message @number to be answered? */
bool nd_samples_asks(const struct nd_samples *s, uint64_t number);
/** nd_samples_answer() - False: it was never sent. */
bool nd_samples_answer(struct nd_samples *s, uint64_t number, uint64_t now_ns);
/** nd_samples_answer_by() - the same of one of those who answer, told by its key. NULL: there is one alone. False, too:
 * it is one too many. */
bool nd_samples_answer_by(struct nd_samples *s, const uint8_t *key, uint64_t number,
			  uint64_t now_ns);

/** nd_samples_put() - instead of these three: @n entries that are settled, each a message and its answer, kept all or
 * none; @every is 1. */
void nd_samples_put(struct nd_samples *s, const struct nd_sample *v, uint32_t n);

/** nd_samples_tell() - a flow's receiver has told: @messages of @bytes in all, within @ns. */
void nd_samples_tell(struct nd_samples *s, uint64_t messages, uint64_t bytes, uint64_t ns);

/** nd_samples_drain() - any one other thread, many times a second: move what is settled to the file. */
void nd_samples_drain(struct nd_samples *s);

/* When the worker has ended. */
/** nd_samples_senders() - NULL: none were looked at. */
const struct nd_senders *nd_samples_senders(const struct nd_samples *s);
void nd_samples_counts(const struct nd_samples *s, struct nd_sample_counts *ret);
/** nd_samples_read() - entries from @from on. Return: how many, at most @n; 0 at the end; -errno. */
ssize_t nd_samples_read(const struct nd_samples *s, uint64_t from, struct nd_sample *ret, size_t n);

#endif
