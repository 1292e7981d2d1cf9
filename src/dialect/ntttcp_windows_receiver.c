/* SPDX-License-Identifier: MIT */
/*
 * NTttcp's receiver, the Windows way: a token connection beside each data connection, a byte in either direction. With
 * -sp, each sender's thread asks for its port before.
 */
#include "dialect/ntttcp.h"

static void answer_held(struct nd_nt *d)
{
	const uint8_t token = ND_NT_TOKEN_BYTE;
	struct nd_nt_link *k = d->has_held ? nd_nt_find(d, d->held) : NULL;

	d->has_held = false;
	if (!k)
		return;
	nd_verbs_send(d->verbs, k->number, &token, 1);
	if (k->place == ND_NT_AT_END)
		nd_nt_turn_away(d, k->number);
	else
		k->place = ND_NT_AT_START;
}

/* Both bytes have crossed: the connection has done its work. */
void nd_nt_token_byte(struct nd_nt *d, struct nd_nt_link *k)
{
	if (k->place == ND_NT_AT_START)
		nd_nt_turn_away(d, k->number);
	else
		k->place = ND_NT_AT_END;
}

void nd_nt_tokens_there(struct nd_nt *d)
{
	nd_nt_start_alone(d, ND_NT_WINDOWS);
	answer_held(d);
}

/* A sender begins when its last token is answered. So the one that came last is not, until it is clear that no
 * other will come; a sender may have fewer threads than there are ports. Who only looks whether a port is open
 * does not stay. */
void nd_nt_token_came(struct nd_nt *d, unsigned link)
{
	if (d->stage != ND_NT_IDLE && d->way == ND_NT_LINUX) {
		nd_nt_turn_away(d, link); /* somebody else's test */
		return;
	}
	answer_held(d);
	d->has_held = true;
	d->held = link;
	d->tokens++;
	if (d->stage != ND_NT_IDLE)
		answer_held(d);
	else
		nd_nt_timer(d, ND_NT_DECIDE,
			    d->now_ns +
				    (d->tokens < d->set->ports ? ND_NT_GATHER_NS : ND_NT_LOOK_NS));
}

void nd_nt_tell_port(struct nd_nt *d, unsigned link)
{
	uint64_t port = d->plan->data_port + d->ports_told;
	const uint8_t data[ND_NT_WORD_BYTES] = { (uint8_t)port, (uint8_t)(port >> 8) };

	if (d->ports_told < d->set->ports) {
		d->ports_told++;
		nd_verbs_send(d->verbs, link, data, sizeof(data));
	}
	nd_nt_close(d, link);
}
