/* SPDX-License-Identifier: MIT */
/* What warnings say of times beside a load. */
#include "result/warn.h"

#define HELD_RATIO 0.5 /* of the time in which a stream had something to send */

static const struct nd_direction *first_load(const struct nd_result *r)
{
	const struct nd_direction *d = r->directions.v;

	return r->loaded && r->directions.n > 1 ? &d[1] : NULL;
}

static bool load_stood_still(const struct nd_subject *s)
{
	return first_load(s->r) && !(s->r->loaded->load_goodput_bps > 0);
}

static void say_still(const struct nd_subject *s, struct nd_str *out)
{
	(void)s; /* there is no figure */
	nd_str_add(out,
		   "nothing of the load is known to have come: the times under load are those of "
		   "an idle path");
}

/* A stream that its ends hold back does not fill the queues on the way. */
static bool is_held_back(const struct nd_subject *s)
{
	const struct nd_direction *d = s->d;

	return s->r->loaded && !d->transactional && !d->datagram && d->asked_rate_bps == 0 &&
	       (d->tcp.rwnd_limited_ratio > HELD_RATIO || d->tcp.sndbuf_limited_ratio > HELD_RATIO);
}

static void say_held_back(const struct nd_subject *s, struct nd_str *out)
{
	bool window = s->d->tcp.rwnd_limited_ratio > HELD_RATIO;

	nd_str_addf(
		out,
		"%s: for %s of the time the load waited for the %s, not for the path: it may not "
		"have filled its queues, --load with more flows does",
		s->d->label,
		SHARE(window ? s->d->tcp.rwnd_limited_ratio : s->d->tcp.sndbuf_limited_ratio),
		window ? "receiver's window" : "sender's buffer");
}

static bool load_took_cpu(const struct nd_subject *s)
{
	return first_load(s->r) && (nd_is_bound(s->r->client) || nd_is_bound(s->r->server));
}

static void say_load_cpu(const struct nd_subject *s, struct nd_str *out)
{
	const struct nd_side *side = nd_is_bound(s->r->client) ? s->r->client : s->r->server;

	nd_str_addf(
		out,
		"%s: under load CPU %llu was %s busy: what the load adds to the times may be the "
		"machine's rather than the path's",
		nd_name_of(s, side), NUMBER(side->machine.busiest_cpu),
		SHARE(side->machine.busiest_ratio));
}

/* Most important first. */
/* clang-format off */
const struct nd_warn_row nd_warn_loaded[] = {
	{ "load_still",           ABOUT_RESULT,    load_stood_still,       say_still },
	{ "load_cpu_bound",       ABOUT_RESULT,    load_took_cpu,          say_load_cpu },
	{ "load_held_back",       ABOUT_DIRECTION, is_held_back,           say_held_back },
	{ NULL, ABOUT_RESULT, NULL, NULL }
};
/* clang-format on */
