/* SPDX-License-Identifier: MIT */
/* sockperf's server: messages that ask for it go back, with one bit cleared; the others are counted. */
#include "frame/sockperf.h"

#define ANEW_BEHIND 1000u /* a first message behind so many others is no late one */

static void put_u64(uint8_t *at, uint64_t v)
{
	v = htobe64(v);
	memcpy(at, &v, sizeof(v));
}

/* Several messages in one datagram are answered if nothing but messages is in it. */
static uint32_t messages_in(const struct nd_frame_state *s, const struct iovec *v)
{
	const uint8_t *at = v->iov_base;
	size_t left = v->iov_len;
	uint32_t n = 0, length;

	while (left > 0) {
		length = nd_sp_message(s, at, left);
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
	return nd_sp_flags(head) == ND_SP_QUESTION && nd_sp_length(head) == ND_SOCKPERF_TALE;
}

/* The message at @head becomes the tale, what is behind the header included. */
static void tell(struct nd_sender *peer, uint8_t *head)
{
	uint64_t number = nd_sp_number(head);

	if (number == 0) {
		peer->has_begun = true;
		peer->messages = peer->bytes = peer->first_ns = peer->last_ns = 0;
	}
	nd_sp_put(head, number, ND_SP_TALE, ND_SOCKPERF_TALE);
	put_u64(head + ND_SOCKPERF_HEADER, peer->has_begun ? peer->messages : ND_UNKNOWN);
	put_u64(head + ND_SOCKPERF_HEADER + 8, peer->has_begun ? peer->bytes : ND_UNKNOWN);
	put_u64(head + ND_SOCKPERF_HEADER + 16,
		peer->has_begun ? peer->last_ns - peer->first_ns : ND_UNKNOWN);
}

/* Turn one message in place. Return: was it counted; *ret_back: does it go back? */
static bool turn_head(const struct nd_frame_state *s, uint8_t *head, bool *ret_back)
{
	unsigned flags = nd_sp_flags(head);
	uint16_t be_flags = htobe16((uint16_t)(flags & ~(unsigned)ND_SP_FROM_CLIENT));
	bool counts = (flags & ND_SP_FROM_CLIENT) && !(flags & ND_SP_WARM_UP);

	*ret_back = counts && (flags & ND_SP_WANTS_ANSWER) && !s->silent;
	if (*ret_back)
		memcpy(head + ND_SP_FLAGS_AT, &be_flags, sizeof(be_flags));
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

/* What does not go back is closed up behind what does. Return: messages counted. */
static uint32_t turn_datagram(const struct nd_frame_state *s, struct iovec *v,
			      struct nd_sender *peer, uint64_t now_ns)
{
	uint8_t *at = v->iov_base, *to = at;
	uint32_t left = messages_in(s, v), n = 0;

	for (; left > 0; left--) {
		uint32_t length = nd_sp_length(at);
		unsigned flags = nd_sp_flags(at);
		bool goes_back, counts = turn_head(s, at, &goes_back);

		n += counts;
		if (s->workload->gaps && peer && (flags & ND_SP_FROM_CLIENT))
			look_for_gap(s, peer, nd_sp_number(at), flags & ND_SP_WARM_UP);
		if (counts && peer)
			nd_sp_count_message(peer, length, now_ns);
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
		uint32_t here = turn_datagram(s, &b->iov[i], peer, b->now_ns);

		nd_sp_count(&c->rx_foreign, &sum->rx_foreign, here == 0);
		n += here;
	}
	return n;
}

/* Copy @n bytes, which may overlap, to *to if the message under way goes back. */
static void pass(const struct nd_sp_stream *t, const uint8_t *from, size_t n, uint8_t **to)
{
	if (!t->passes)
		return;
	memmove(*to, from, n);
	*to += n;
}

/* A header is complete. False: the rest of the stream makes no sense. */
static bool open_message(const struct nd_frame_state *s, struct nd_sp_stream *t)
{
	t->length = nd_sp_length(t->head);
	if (t->length < ND_SOCKPERF_HEADER || t->length > s->message_bytes)
		return false;
	t->counts = turn_head(s, t->head, &t->passes);
	t->tells = is_question(t->head) && !s->silent;
	if (t->tells) {
		memcpy(t->tale, t->head, ND_SOCKPERF_HEADER);
		t->peer.has_begun = true; /* with the connection */
		tell(&t->peer, t->tale);
		memcpy(t->head, t->tale, ND_SOCKPERF_HEADER);
		t->passes = true;
	}
	return true;
}

/* All of a message is there. Return: messages counted. */
static uint32_t close_message(struct nd_sp_stream *t, uint64_t now_ns)
{
	if (t->counts)
		nd_sp_count_message(&t->peer, t->length, now_ns);
	t->at = t->length = 0;
	return t->counts;
}

/* The piece becomes what goes back of it, in place: it begins earlier by what was kept of a header. */
static uint32_t turn_stream(struct nd_frame_state *s, struct nd_batch *b)
{
	struct nd_sp_stream *t = &((struct nd_sp_own *)s->own)->now;
	const uint8_t *at = b->iov[0].iov_base;
	size_t left = b->iov[0].iov_len, piece;
	uint8_t *begin = (uint8_t *)b->iov[0].iov_base - (t->at < ND_SOCKPERF_HEADER ? t->at : 0);
	uint8_t *to = begin;
	uint32_t n = 0;

	while (left > 0) {
		if (t->at < ND_SOCKPERF_HEADER) {
			piece = ND_MIN(left, (size_t)(ND_SOCKPERF_HEADER - t->at));
			memcpy(t->head + t->at, at, piece);
			t->at += (uint32_t)piece;
			if (t->at == ND_SOCKPERF_HEADER && !open_message(s, t))
				return ND_TURN_BROKEN;
			if (t->at == ND_SOCKPERF_HEADER)
				pass(t, t->head, ND_SOCKPERF_HEADER, &to);
		} else {
			piece = ND_MIN(left, (size_t)(t->length - t->at));
			pass(t, t->tells ? t->tale + t->at : at, piece, &to);
			t->at += (uint32_t)piece;
		}
		at += piece;
		left -= piece;
		if (t->at >= ND_SOCKPERF_HEADER && t->at == t->length)
			n += close_message(t, b->now_ns);
	}
	b->iov[0] = (struct iovec){ begin, (size_t)(to - begin) };
	return n;
}

uint32_t nd_sp_turn(struct nd_frame_state *s, struct nd_batch *b, struct nd_counters *c,
		    struct nd_counters *sum)
{
	uint32_t n = s->datagram ? turn_datagrams(s, b, c, sum) : turn_stream(s, b);

	if (s->samples && n != ND_TURN_BROKEN)
		nd_samples_handle(s->samples, n, b->now_ns);
	return n;
}
