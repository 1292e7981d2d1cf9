/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's sender, the Windows way: data connections first, then one token connection for each, a byte in either
 * direction. With -sp, each data port is asked for before all that. Few of these connections are made at a time,
 * and those that fail are tried again: the receiver listens late.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/ntttcp.h"

/* ---- many small connections ---- */

static void expect_progress(struct nd_nt *d)
{
	nd_nt_within(d, d->is_guess ? ND_NT_GUESS_NS : ND_NT_TOKENS_NS);
}

static unsigned count(const struct nd_nt *d, unsigned state)
{
	unsigned n = 0;

	for (unsigned i = 0; i < d->small_n; i++)
		n += d->small[i].state == state;
	return n;
}

/* A token's port is that of the data connection it belongs to; ports are asked of the host. */
static void connect_small(struct nd_nt *d, unsigned i)
{
	struct nd_verb_item *v = nd_verbs_add(d->verbs, ND_DO_CONNECT);
	uint64_t flow = i * ND_MAX(d->plan->flows_per_port, 1);

	v->port_class = d->small_class;
	v->index = d->small_class == ND_NT_TOKEN ? (unsigned)flow : d->targets[0].index;
	v->link = ND_NT_SMALL_LINK + i;
	d->small[i].state = ND_NT_OPEN;
}

static void connect_some(struct nd_nt *d)
{
	unsigned open = count(d, ND_NT_OPEN);

	for (unsigned i = 0; i < d->small_n && open < ND_NT_AT_ONCE; i++) {
		if (d->small[i].state != ND_NT_TODO)
			continue;
		connect_small(d, i);
		open++;
	}
}

static void small_begin(struct nd_nt *d, enum nd_nt_stage stage, enum nd_nt_class port_class)
{
	uint64_t n = ND_MAX(d->set->ports, 1);

	if (n > ND_NT_SMALL_MAX) {
		nd_nt_fail(d, false, -E2BIG,
			   "%llu threads are over %u, which is what can be synchronised: give -ns",
			   (unsigned long long)n, ND_NT_SMALL_MAX);
		return;
	}
	d->small = nd_arena_alloc(&d->kept, n, sizeof(*d->small));
	if (!d->small) {
		d->verbs->failed = true;
		return;
	}
	d->small_n = (unsigned)n;
	d->small_read = 0;
	d->small_class = port_class;
	d->stage = stage;
	expect_progress(d);
	connect_some(d);
}

static void close_open(struct nd_nt *d)
{
	for (unsigned i = 0; i < d->small_n; i++) {
		if (d->small[i].state == ND_NT_OPEN)
			nd_nt_close(d, ND_NT_SMALL_LINK + i);
	}
	nd_nt_timer(d, ND_NT_RETRY, UINT64_MAX);
}

/* ---- what they are for ---- */

void nd_nt_ports_begin(struct nd_nt *d)
{
	small_begin(d, ND_NT_PORTS, ND_NT_PORT);
}

/* A Windows receiver may be there and open its ports a little later; and some end without a word. */
void nd_nt_data_first(struct nd_nt *d)
{
	nd_nt_keep_open(d, true);
	d->plan->refused_ns = d->set->windows ? ND_NT_PATIENT_NS : 0;
}

void nd_nt_windows_begin(struct nd_nt *d)
{
	d->way = ND_NT_WINDOWS;
	d->stage = ND_NT_PREPARING;
	nd_nt_data_first(d);
	nd_nt_within(d, UINT64_MAX); /* the run has a patience of its own */
	nd_nt_prepare(d, nd_nt_own_ns(d->set));
}

void nd_nt_windows_ready(struct nd_nt *d)
{
	small_begin(d, ND_NT_TOKENS, ND_NT_TOKEN);
}

/* Which thread gets which of the ports makes no difference; that there is none between them does. */
static void adopt_ports(struct nd_nt *d)
{
	unsigned least = UINT16_MAX, most = 0;
	bool is_run = true;

	for (unsigned i = 0; i < d->small_n; i++) {
		least = ND_MIN(least, d->small[i].port);
		most = ND_MAX(most, d->small[i].port);
		for (unsigned k = 0; k < i; k++)
			is_run = is_run && d->small[k].port != d->small[i].port;
	}
	if (!is_run || most - least + 1 != d->small_n) {
		nd_nt_fail(d, true, -EPROTO,
			   "the receiver's ports %u..%u do not follow one another: does it serve "
			   "another sender too?",
			   least, most);
		return;
	}
	d->plan->data_port = least;
	nd_nt_sender_ports_read(d);
}

static void small_read(struct nd_nt *d, unsigned i)
{
	d->small[i].state = ND_NT_READ;
	nd_nt_close(d, ND_NT_SMALL_LINK + i);
	if (++d->small_read < d->small_n) {
		expect_progress(d);
		connect_some(d);
		return;
	}
	nd_nt_timer(d, ND_NT_RETRY, UINT64_MAX);
	nd_nt_within(d, UINT64_MAX);
	if (d->stage == ND_NT_PORTS)
		adopt_ports(d);
	else
		nd_nt_sender_start(d);
}

void nd_nt_small_late(struct nd_nt *d)
{
	const struct nd_plan *p = d->plan;
	unsigned long long base = p->data_port ? p->data_port : p->port;
	bool is_none = d->small_read == 0;

	close_open(d);
	if (d->stage == ND_NT_PORTS)
		nd_nt_fail(
			d, true, -ETIMEDOUT,
			"port %llu does not tell the data ports: does the receiver run with -sp?",
			(unsigned long long)p->port);
	else if (d->is_guess && is_none && !d->set->udp)
		nd_nt_sender_start(d); /* data is taken, and no kind of synchronisation */
	else if (d->is_guess && is_none && d->why.text[0])
		nd_nt_fail(d, true, d->why.code, "%s", d->why.text);
	else
		nd_nt_fail(d, true, -ETIMEDOUT,
			   "%u of %u connections to the ports from %llu on, which synchronise the "
			   "start, were answered: a receiver without synchronisation needs a "
			   "sender without (-ns)",
			   d->small_read, d->small_n, base + 1000);
}

/* ---- events ---- */

static void retry(struct nd_nt *d)
{
	for (unsigned i = 0; i < d->small_n; i++) {
		if (d->small[i].state == ND_NT_FAILED)
			d->small[i].state = ND_NT_TODO;
	}
	connect_some(d);
}

static void on_down(struct nd_nt *d, unsigned i)
{
	if (count(d, ND_NT_FAILED) == 0)
		nd_nt_timer(d, ND_NT_RETRY, d->now_ns + ND_NT_RETRY_NS);
	d->small[i].state = ND_NT_FAILED;
	connect_some(d);
}

static void on_bytes(struct nd_nt *d, unsigned i, const uint8_t *data, size_t n)
{
	if (d->stage == ND_NT_PORTS) {
		if (n < ND_NT_WORD_BYTES)
			return;
		d->small[i].port = (uint16_t)(data[0] | data[1] << 8);
	}
	small_read(d, i);
}

void nd_nt_small_event(struct nd_nt *d, const struct nd_dialog_event *ev)
{
	const uint8_t token = ND_NT_TOKEN_BYTE;
	unsigned i = ev->link - ND_NT_SMALL_LINK;

	if (d->stage != ND_NT_PORTS && d->stage != ND_NT_TOKENS)
		return;
	if (ev->what == ND_DLG_TIMER) {
		retry(d);
		return;
	}
	if (i >= d->small_n || d->small[i].state != ND_NT_OPEN)
		return;
	if (ev->what == ND_DLG_LINK_UP && d->stage == ND_NT_TOKENS)
		nd_verbs_send(d->verbs, ev->link, &token, 1);
	else if (ev->what == ND_DLG_LINK_DOWN)
		on_down(d, i);
	else if (ev->what == ND_DLG_MESSAGE && ev->n > 0)
		on_bytes(d, i, ev->data, ev->n);
}
