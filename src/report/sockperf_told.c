/* SPDX-License-Identifier: MIT */
/* What sockperf prints while a test runs: dots, rows of messages, and gaps in the numbers of a client. */
#include <arpa/inet.h>
#include <string.h>

#include "report/int.h"
#include "report/sockperf.h"

#define ROWS_A_HEAD 20u

static void put_row(struct nd_sprep_told *t, const struct nd_diary_entry *e, uint64_t before,
		    struct nd_str *out)
{
	double us = (double)e->since_ns / 1e3;

	if (t->rows++ % ROWS_A_HEAD == 0)
		nd_str_add(out, "    -- Interval --     -- Message Rate --  -- Total Message "
				"Count --\n");
	nd_str_addf(out, " %10.0f [usec] ", us);
	if (e->since_ns > 0)
		nd_str_addf(out, "%13.0f [msg/s]", (double)(e->sum - before) / us * 1e6);
	else
		nd_str_addf(out, "%13s [msg/s]", "-");
	nd_str_addf(out, " %16llu [msg]\n", (unsigned long long)e->sum);
}

/* "[192.0.2.1:11111]" */
static void add_sender(const uint8_t key[ND_SENDER_KEY], struct nd_str *out)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool is_v4 = !key[18] || !memcmp(key, mapped, sizeof(mapped));
	const uint8_t *at = is_v4 && key[18] ? key + sizeof(mapped) : key;
	char text[INET6_ADDRSTRLEN] = "?";

	(void)inet_ntop(is_v4 ? AF_INET : AF_INET6, at, text, sizeof(text)); /* there is room */
	nd_str_addf(out, is_v4 ? "[%s:%u]" : "[[%s]:%u]", text,
		    (unsigned)key[16] << 8 | (unsigned)key[17]);
}

static void put_summary_of(const uint8_t key[ND_SENDER_KEY], uint64_t missing, struct nd_str *out)
{
	nd_auto_str who = { 0 };

	add_sender(key, &who);
	nd_str_addf(out, "sockperf: %-23s Summary: Total Dropped/OOO: %llu\n", nd_str_text(&who),
		    (unsigned long long)missing);
}

static void put_gap(const struct nd_diary_entry *e, struct nd_str *out)
{
	nd_auto_str who = { 0 }, gap = { 0 };
	uint64_t n = e->to - e->from + 1;

	add_sender(e->key, &who);
	nd_str_addf(&gap, "(%llu)", (unsigned long long)n);
	nd_str_addf(out, "sockperf: %-23s Total Dropped/OOO: %-12lluGAP:%-8s[%llu - %llu]\n",
		    nd_str_text(&who), (unsigned long long)e->sum, nd_str_text(&gap),
		    (unsigned long long)e->from, (unsigned long long)e->to);
}

void nd_sprep_seen(const struct nd_sprep *f, struct nd_sprep_told *t,
		   const struct nd_diary_entry *e, struct nd_str *out)
{
	uint64_t each = nd_face_u64(&f->face, "rows");
	nd_auto_str who = { 0 };

	if (t->is_dotted && e->what != ND_DIARY_COUNT)
		nd_str_add(out, "\n");
	t->is_dotted &= e->what == ND_DIARY_COUNT;
	switch (e->what) {
	case ND_DIARY_COUNT:
		if (each > 0) {
			put_row(t, e, e->from, out);
			break;
		}
		nd_str_add(out, ".");
		t->is_dotted = true;
		break;
	case ND_DIARY_SESSION:
		add_sender(e->key, &who);
		nd_str_addf(out, "sockperf: Starting new session: %-23s\n", nd_str_text(&who));
		break;
	case ND_DIARY_GAP:
		put_gap(e, out);
		break;
	case ND_DIARY_END:
		put_summary_of(e->key, e->sum, out);
		break;
	}
}

void nd_sprep_senders(const struct nd_sprep *f, struct nd_str *out)
{
	for (size_t i = 0; i < f->r->samples_n; i++) {
		const struct nd_senders *list = nd_samples_senders(f->r->samples[i]);
		const struct nd_sender *one;

		for (size_t k = 0; list && (one = nd_senders_at(list, k)); k++)
			if (one->is_numbered)
				put_summary_of(one->key, one->missing, out);
	}
}
