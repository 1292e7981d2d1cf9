/* SPDX-License-Identifier: MIT */
/*
 * sockperf's messages: 14 bytes of header, big-endian and without gaps, then anything. A client numbers them and keeps
 * their instants; a server sends back what asks for it, with one bit cleared.
 */
#include <endian.h>
#include <string.h>

#include "frame/int.h"
#include "plan/sockperf.h"

#define HEADER_BYTES ND_SOCKPERF_HEADER
#define ANEW_BEHIND  1000u /* a first message behind so many others is no late one */

enum { NUMBER_AT = 0, FLAGS_AT = 8, LENGTH_AT = 10 };

enum { FROM_CLIENT = 1, WANTS_ANSWER = 2, WARM_UP = 4, TELLS = 0x8000 };

/*
 * A question that only servers of this program answer: what has arrived? It lacks the bit of clients' messages, so that
 * others ignore it without a word. Number: 0, begin to count; else the how manyth try. Behind the header messages, bytes,
 * and ns from the first to the last of them, all ones where they are not known.
 */
#define TALE_BYTES ND_SOCKPERF_TALE

enum { QUESTION = TELLS, TALE = TELLS | WANTS_ANSWER };

/* A stream of messages, as far as it was written, or read. */
struct stream {
	uint64_t number; /* of the message under way */
	uint64_t made;   /* messages begun */
	uint32_t length, at;
	uint8_t head[HEADER_BYTES];
	bool passes; /* reading: the message under way goes back */
	bool tells;  /* reading: what goes back, or has come, is in .tale */
	uint8_t tale[TALE_BYTES];
	struct nd_sender peer; /* server: of a stream there is one */
	bool compares;         /* reading: it is an answer whose bytes are known */
	bool is_broken;        /* it cannot be read any further */
};

struct own {
	struct stream now, before; /* writing: before the last piece, for unfill() */
	bool was_told;
};

static void put_head(uint8_t *at, uint64_t number, unsigned flags, uint32_t length)
{
	uint64_t be_number = htobe64(number);
	uint16_t be_flags = htobe16((uint16_t)flags);
	uint32_t be_length = htobe32(length);

	memcpy(at + NUMBER_AT, &be_number, sizeof(be_number));
	memcpy(at + FLAGS_AT, &be_flags, sizeof(be_flags));
	memcpy(at + LENGTH_AT, &be_length, sizeof(be_length));
}

static uint64_t number_of(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at + NUMBER_AT, sizeof(v));
	return be64toh(v);
}

static unsigned flags_of(const uint8_t *at)
{
	uint16_t v;

	memcpy(&v, at + FLAGS_AT, sizeof(v));
	return be16toh(v);
}

static uint32_t length_of(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at + LENGTH_AT, sizeof(v));
	return be32toh(v);
}

static void count_both(uint64_t *c, uint64_t *sum, uint64_t n)
{
	if (n == 0)
		return;
	nd_count(c, n);
	nd_count(sum, n);
}

/* ---- the client sends */

static unsigned asking(const struct nd_frame_state *s, uint64_t number)
{
	return FROM_CLIENT | (nd_samples_asks(s->samples, number) ? WANTS_ANSWER : 0u);
}

static void put_u64(uint8_t *at, uint64_t v)
{
	v = htobe64(v);
	memcpy(at, &v, sizeof(v));
}

static void ask(const struct nd_frame_state *s, uint8_t *head)
{
	put_head(head, s->asks - 1u, QUESTION, TALE_BYTES);
}

static void warm_up(const struct nd_frame_state *s, struct nd_batch *b)
{
	unsigned flags = asking(s, 1) | WARM_UP;

	for (uint32_t i = 0; i < b->n; i++)
		put_head(b->iov[i].iov_base, 0, flags, (uint32_t)b->iov[i].iov_len);
}

static void fill_datagrams(struct nd_frame_state *s, struct nd_batch *b)
{
	if (s->asks == ND_SOCKPERF_WARM_UP) {
		warm_up(s, b);
		return;
	}
	if (s->asks) {
		ask(s, b->iov[0].iov_base);
		return;
	}
	for (uint32_t i = 0; i < b->n; i++) {
		uint64_t number = nd_samples_send(s->samples, b->now_ns);

		put_head(b->iov[i].iov_base, number, asking(s, number),
			 (uint32_t)b->iov[i].iov_len);
		if (s->workload->compares)
			nd_pattern_fill((uint8_t *)b->iov[i].iov_base + HEADER_BYTES,
					b->iov[i].iov_len - HEADER_BYTES, number, 0);
		s->next = number + 1;
	}
}

static void begin_message(struct nd_frame_state *s, struct stream *t, uint64_t now_ns)
{
	t->at = 0;
	if (s->asks) {
		t->length = TALE_BYTES;
		ask(s, t->head);
		return;
	}
	t->length = (uint32_t)nd_sockperf_bytes(s->workload, s->flow, t->made++);
	t->number = nd_samples_send(s->samples, now_ns);
	put_head(t->head, t->number, asking(s, t->number), t->length);
	s->next = t->number + 1;
}

/* @n bytes of the message under way. */
static void write_piece(const struct nd_frame_state *s, const struct stream *t, uint8_t *at,
			size_t n)
{
	size_t head = t->at < HEADER_BYTES ? ND_MIN(n, (size_t)(HEADER_BYTES - t->at)) : 0;

	if (head)
		memcpy(at, t->head + t->at, head);
	if (s->workload->compares && n > head)
		nd_pattern_fill(at + head, n - head, t->number, t->at + head - HEADER_BYTES);
}

/* Write @n bytes of the stream; @at NULL: only go on by so many. */
static void write_stream(struct nd_frame_state *s, struct stream *t, uint8_t *at, size_t n,
			 uint64_t now_ns)
{
	while (n > 0) {
		size_t piece;

		if (t->at == t->length)
			begin_message(s, t, now_ns);
		piece = ND_MIN(n, (size_t)(t->length - t->at));
		if (at)
			write_piece(s, t, at, piece);
		t->at += (uint32_t)piece;
		n -= piece;
		at = at ? at + piece : NULL;
	}
}

static void fill(struct nd_frame_state *s, struct nd_batch *b)
{
	struct own *own = s->own;

	if (s->datagram) {
		fill_datagrams(s, b);
		return;
	}
	own->before = own->now;
	write_stream(s, &own->now, b->iov[0].iov_base, b->iov[0].iov_len, b->now_ns);
	s->piece_bytes = b->iov[0].iov_len;
	s->piece_ns = b->now_ns;
}

static void unfill(struct nd_frame_state *s, uint32_t unsent)
{
	struct own *own = s->own;

	if (s->datagram) {
		if (!s->asks)
			nd_samples_unsend(s->samples, unsent);
		return;
	}
	nd_samples_unsend(s->samples, own->now.made - own->before.made);
	own->now = own->before;
	write_stream(s, &own->now, NULL, (size_t)(s->piece_bytes - unsent), s->piece_ns);
}

/* ---- the client receives */

/* Those from a client, and of a warm-up, are not for us. */
static bool is_answer(const uint8_t *head)
{
	return (flags_of(head) & (FROM_CLIENT | WARM_UP)) == 0;
}

/* Bytes of a header that are not those of the message it answers. */
static uint64_t wrong_in_head(const struct nd_frame_state *s, const uint8_t *head)
{
	bool is_long = s->workload->spread_bytes == 0 && length_of(head) != s->message_bytes;

	return (flags_of(head) != WANTS_ANSWER) + is_long;
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return be64toh(v);
}

static bool is_tale(const uint8_t *head)
{
	return flags_of(head) == TALE && length_of(head) == TALE_BYTES;
}

/* The first answer to a question behind the end: what came before is not all. */
static void take_tale(struct nd_frame_state *s, const uint8_t *at)
{
	struct own *own = s->own;
	uint64_t messages = get_u64(at + HEADER_BYTES);
	struct nd_sample_counts c;

	s->next = number_of(at) + 1;
	nd_samples_counts(s->samples, &c);
	/* more than was sent: of somebody else's before, whose port this is now */
	if (own->was_told || number_of(at) == 0 || messages == ND_UNKNOWN || messages > c.sent)
		return;
	own->was_told = true;
	nd_samples_tell(s->samples, messages, get_u64(at + HEADER_BYTES + 8),
			get_u64(at + HEADER_BYTES + 16));
}

static bool take_answer(struct nd_frame_state *s, const uint8_t *head, const uint8_t *key,
			uint64_t now_ns)
{
	uint64_t number = number_of(head);

	if (!is_answer(head) || !nd_samples_answer_by(s->samples, key, number, now_ns))
		return false;
	s->next = number + 1;
	return true;
}

static uint32_t take_datagrams(struct nd_frame_state *s, const struct nd_batch *b,
			       struct nd_counters *c, struct nd_counters *sum)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		const uint8_t *at = b->iov[i].iov_base;

		if (b->iov[i].iov_len == TALE_BYTES && is_tale(at)) {
			take_tale(s, at);
			n++;
			continue;
		}
		if (b->iov[i].iov_len < HEADER_BYTES || length_of(at) > b->iov[i].iov_len ||
		    !take_answer(s, at, b->key ? b->key[i] : NULL, b->now_ns)) {
			b->iov[i].iov_len = 0;
			continue;
		}
		n++;
		if (s->workload->compares)
			count_both(&c->rx_corrupt, &sum->rx_corrupt,
				   wrong_in_head(s, at) +
					   nd_pattern_check(at + HEADER_BYTES,
							    b->iov[i].iov_len - HEADER_BYTES,
							    s->next - 1, 0));
	}
	count_both(&c->rx_foreign, &sum->rx_foreign, b->n - n);
	return n;
}

/* A header that is complete: of a stream that cannot be followed any more, false. */
static bool open_answer(struct nd_frame_state *s, struct stream *t, uint64_t now_ns)
{
	t->length = length_of(t->head);
	if (t->length < HEADER_BYTES || t->length > ND_MAX_MESSAGE)
		return false;
	t->tells = is_tale(t->head);
	if (t->tells) {
		memcpy(t->tale, t->head, HEADER_BYTES);
		t->compares = false;
		return true;
	}
	/* one that was not asked for is skipped */
	t->compares = take_answer(s, t->head, NULL, now_ns) && s->workload->compares;
	t->number = s->next - 1;
	return true;
}

/* @n bytes behind the header. Return: how many are not those that were sent. */
static uint64_t wrong_in_piece(const struct stream *t, const uint8_t *at, size_t n)
{
	return t->compares ? nd_pattern_check(at, n, t->number, t->at - HEADER_BYTES) : 0;
}

static void close_answer(struct nd_frame_state *s, struct stream *t)
{
	if (t->tells)
		take_tale(s, t->tale);
	t->tells = false;
	t->at = t->length = 0;
}

static uint64_t read_stream(struct nd_frame_state *s, const struct nd_batch *b)
{
	uint64_t wrong = 0;
	struct stream *t = &((struct own *)s->own)->now;
	const uint8_t *at = b->iov[0].iov_base;
	size_t n = b->iov[0].iov_len, piece;

	while (n > 0 && !t->is_broken) {
		if (t->at < HEADER_BYTES) {
			piece = ND_MIN(n, (size_t)(HEADER_BYTES - t->at));
			memcpy(t->head + t->at, at, piece);
		} else {
			piece = ND_MIN(n, (size_t)(t->length - t->at));
			wrong += wrong_in_piece(t, at, piece);
			if (t->tells)
				memcpy(t->tale + t->at, at, piece);
		}
		at += piece;
		n -= piece;
		t->at += (uint32_t)piece;
		if (t->at == HEADER_BYTES && t->length == 0)
			t->is_broken = !open_answer(s, t, b->now_ns);
		if (t->at == HEADER_BYTES && t->compares)
			wrong += wrong_in_head(s, t->head);
		if (t->length && t->at == t->length)
			close_answer(s, t);
	}
	return wrong;
}

static uint32_t take_stream(struct nd_frame_state *s, const struct nd_batch *b,
			    struct nd_counters *c, struct nd_counters *sum)
{
	count_both(&c->rx_corrupt, &sum->rx_corrupt, read_stream(s, b));
	return 1;
}

static uint32_t take(struct nd_frame_state *s, const struct nd_batch *b, struct nd_counters *c,
		     struct nd_counters *sum)
{
	return s->datagram ? take_datagrams(s, b, c, sum) : take_stream(s, b, c, sum);
}

/* ---- the server */

/* One message of @n bytes or more: its length, or 0: it is none. */
static uint32_t message_at(const struct nd_frame_state *s, const uint8_t *at, size_t n)
{
	uint32_t length = n >= HEADER_BYTES ? length_of(at) : 0;

	return length >= HEADER_BYTES && length <= n && length <= s->message_bytes ? length : 0;
}

/* Several messages in one datagram are answered if nothing but messages is in it. */
static uint32_t messages_in(const struct nd_frame_state *s, const struct iovec *v)
{
	const uint8_t *at = v->iov_base;
	size_t left = v->iov_len;
	uint32_t n = 0, length;

	while (left > 0) {
		length = message_at(s, at, left);
		if (length == 0)
			return 0;
		at += length;
		left -= length;
		n++;
	}
	return n;
}

static bool is_question(const uint8_t *head)
{
	return flags_of(head) == QUESTION && length_of(head) == TALE_BYTES;
}

/* The message at @head becomes the tale, what is behind the header included. */
static void tell(struct nd_sender *peer, uint8_t *head)
{
	uint64_t number = number_of(head);

	if (number == 0) {
		peer->has_begun = true;
		peer->messages = peer->bytes = peer->first_ns = peer->last_ns = 0;
	}
	put_head(head, number, TALE, TALE_BYTES);
	put_u64(head + HEADER_BYTES, peer->has_begun ? peer->messages : ND_UNKNOWN);
	put_u64(head + HEADER_BYTES + 8, peer->has_begun ? peer->bytes : ND_UNKNOWN);
	put_u64(head + HEADER_BYTES + 16,
		peer->has_begun ? peer->last_ns - peer->first_ns : ND_UNKNOWN);
}

static void count_message(struct nd_sender *peer, uint32_t length, uint64_t now_ns)
{
	peer->messages++;
	peer->bytes += length;
	peer->last_ns = now_ns;
	if (!peer->first_ns)
		peer->first_ns = now_ns;
}

/* Turn one message in place. Return: was it counted; *ret_back: does it go back? */
static bool turn_head(const struct nd_frame_state *s, uint8_t *head, bool *ret_back)
{
	unsigned flags = flags_of(head);
	uint16_t be_flags = htobe16((uint16_t)(flags & ~(unsigned)FROM_CLIENT));
	bool counts = (flags & FROM_CLIENT) && !(flags & WARM_UP);

	*ret_back = counts && (flags & WANTS_ANSWER) && !s->silent;
	if (*ret_back)
		memcpy(head + FLAGS_AT, &be_flags, sizeof(be_flags));
	return counts;
}

static void note(const struct nd_frame_state *s, enum nd_diary_what what,
		 const struct nd_sender *peer, uint64_t from, uint64_t to)
{
	struct nd_diary_entry e = { .what = what, .sum = peer->missing, .from = from, .to = to };

	memcpy(e.key, peer->key, sizeof(e.key));
	nd_diary_put(nd_samples_diary(s->samples), &e);
}

/* Numbers that do not follow. A client that begins again says so to groups alone, by a warm-up; other ones begin at 1.
 * What comes late is not taken off again. */
static void look_for_gap(const struct nd_frame_state *s, struct nd_sender *peer, uint64_t number,
			 bool warm_up)
{
	bool begins =
		warm_up || !peer->is_numbered || (number == 1 && peer->highest >= ANEW_BEHIND);

	if (begins && peer->is_numbered)
		note(s, ND_DIARY_END, peer, 0, 0);
	if (begins) {
		peer->is_numbered = true;
		peer->missing = 0;
		peer->highest = warm_up ? 0 : number;
		note(s, ND_DIARY_SESSION, peer, 0, 0);
		return;
	}
	if (number > peer->highest + 1) {
		peer->missing += number - peer->highest - 1;
		note(s, ND_DIARY_GAP, peer, peer->highest + 1, number - 1);
	}
	peer->highest = ND_MAX(peer->highest, number);
}

/* Is it one message that asks for its answer, and nothing else, where nobody looks for gaps? */
static inline bool is_plain(const struct nd_frame_state *s, const struct iovec *v)
{
	const uint8_t *at = v->iov_base;

	return message_at(s, at, v->iov_len) == v->iov_len && v->iov_len > 0 &&
	       flags_of(at) == (FROM_CLIENT | WANTS_ANSWER) && !s->silent && !s->workload->gaps;
}

static inline void turn_plain(const struct iovec *v, struct nd_sender *peer, uint64_t now_ns)
{
	const uint16_t be_flags = htobe16(WANTS_ANSWER);

	memcpy((uint8_t *)v->iov_base + FLAGS_AT, &be_flags, sizeof(be_flags));
	if (peer)
		count_message(peer, (uint32_t)v->iov_len, now_ns);
}

/* What does not go back is closed up behind what does. Return: messages counted. */
static uint32_t turn_datagram(const struct nd_frame_state *s, struct iovec *v,
			      struct nd_sender *peer, uint64_t now_ns)
{
	uint8_t *at = v->iov_base, *to = at;
	uint32_t left = messages_in(s, v), n = 0;

	for (; left > 0; left--) {
		uint32_t length = length_of(at);
		unsigned flags = flags_of(at);
		bool goes_back, counts = turn_head(s, at, &goes_back);

		n += counts;
		if (s->workload->gaps && peer && (flags & FROM_CLIENT))
			look_for_gap(s, peer, number_of(at), flags & WARM_UP);
		if (counts && peer)
			count_message(peer, length, now_ns);
		if (peer && is_question(at) && !s->silent) {
			tell(peer, at);
			goes_back = true;
		}
		if (goes_back) {
			if (to != at)
				memmove(to, at, length);
			to += length;
		}
		at += length;
	}
	v->iov_len = (size_t)(to - (uint8_t *)v->iov_base);
	return n;
}

static uint32_t turn_datagrams(struct nd_frame_state *s, struct nd_batch *b, struct nd_counters *c,
			       struct nd_counters *sum)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		struct nd_sender *peer =
			b->key && s->senders ? nd_senders_of(s->senders, b->key[i]) : NULL;
		uint32_t here;

		if (is_plain(s, &b->iov[i])) {
			turn_plain(&b->iov[i], peer, b->now_ns);
			n++;
			continue;
		}
		here = turn_datagram(s, &b->iov[i], peer, b->now_ns);
		count_both(&c->rx_foreign, &sum->rx_foreign, here == 0);
		n += here;
	}
	return n;
}

/* Copy @n bytes, which may overlap, to *to if the message under way goes back. */
static void pass(const struct stream *t, const uint8_t *from, size_t n, uint8_t **to)
{
	if (!t->passes)
		return;
	memmove(*to, from, n);
	*to += n;
}

/* A header is complete. False: the rest of the stream makes no sense. */
static bool open_message(const struct nd_frame_state *s, struct stream *t, uint64_t now_ns,
			 uint32_t *count)
{
	bool counts;

	t->length = length_of(t->head);
	if (t->length < HEADER_BYTES || t->length > s->message_bytes)
		return false;
	counts = turn_head(s, t->head, &t->passes);
	*count += counts;
	if (counts)
		count_message(&t->peer, t->length, now_ns);
	t->tells = is_question(t->head) && !s->silent;
	if (t->tells) {
		memcpy(t->tale, t->head, HEADER_BYTES);
		t->peer.has_begun = true; /* with the connection */
		tell(&t->peer, t->tale);
		memcpy(t->head, t->tale, HEADER_BYTES);
		t->passes = true;
	}
	return true;
}

/* The piece becomes what goes back of it, in place: it begins earlier by what was kept of a header. */
static uint32_t turn_stream(struct nd_frame_state *s, struct nd_batch *b)
{
	struct stream *t = &((struct own *)s->own)->now;
	const uint8_t *at = b->iov[0].iov_base;
	size_t left = b->iov[0].iov_len, piece;
	uint8_t *begin = (uint8_t *)b->iov[0].iov_base - (t->at < HEADER_BYTES ? t->at : 0);
	uint8_t *to = begin;
	uint32_t n = 0;

	while (left > 0) {
		if (t->at < HEADER_BYTES) {
			piece = ND_MIN(left, (size_t)(HEADER_BYTES - t->at));
			memcpy(t->head + t->at, at, piece);
			t->at += (uint32_t)piece;
			if (t->at == HEADER_BYTES && !open_message(s, t, b->now_ns, &n))
				return ND_TURN_BROKEN;
			if (t->at == HEADER_BYTES)
				pass(t, t->head, HEADER_BYTES, &to);
		} else {
			piece = ND_MIN(left, (size_t)(t->length - t->at));
			pass(t, t->tells ? t->tale + t->at : at, piece, &to);
			t->at += (uint32_t)piece;
		}
		at += piece;
		left -= piece;
		if (t->at >= HEADER_BYTES && t->at == t->length)
			t->at = t->length = 0;
	}
	b->iov[0] = (struct iovec){ begin, (size_t)(to - begin) };
	return n;
}

static uint32_t turn(struct nd_frame_state *s, struct nd_batch *b, struct nd_counters *c,
		     struct nd_counters *sum)
{
	uint32_t n = s->datagram ? turn_datagrams(s, b, c, sum) : turn_stream(s, b);

	if (s->samples && n != ND_TURN_BROKEN)
		nd_samples_handle(s->samples, n, b->now_ns);
	return n;
}

const struct nd_frame nd_frame_sockperf = {
	.name = "sockperf",
	.help = "number, flags and length in 14 bytes, as sockperf",
	.datagram = true,
	.stream = true,
	.fills = true,
	.takes = true,
	.looks_bytes = 0,
	.state_bytes = sizeof(struct own),
	.turn_room = HEADER_BYTES,
	.prepare = nd_payload_fill,
	.fill = fill,
	.unfill = unfill,
	.take = take,
	.turn = turn,
};
