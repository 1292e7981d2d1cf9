/* SPDX-License-Identifier: MIT */
/* Ways to move bytes, as typed: what cannot be meant is a bad command line, not a test that fails later. */
#include <errno.h>
#include <string.h>

#include "engine/engine.h"
#include "persona/int.h"

static int judge_way(const struct nd_plan *plan, bool sends, bool datagram, struct nd_err *err)
{
	const char *option = sends ? "--tx" : "--rx", *name = sends ? plan->tx : plan->rx;
	const struct nd_xfer *x = nd_xfer_find(name, sends, datagram);

	if (strcmp(name, "auto") == 0)
		return 0;
	if (!x && datagram)
		return nd_fail(err, -EINVAL, "%s %s is for TCP, it cannot move datagrams", option,
			       name);
	if (!x)
		return nd_fail(err, -EINVAL, "%s %s is for datagrams, it needs -u", option, name);
	if (plan->verify && (x->blind || x->heads))
		return nd_fail(err, -EINVAL,
			       "%s %s and --verify exclude each other: nobody sees the bytes",
			       option, name);
	if (strcmp(plan->engine, "uring") == 0 && strcmp(name, "copy") != 0 &&
	    !(sends && strcmp(name, "zerocopy") == 0))
		return nd_fail(
			err, -EINVAL,
			"--engine uring and %s %s exclude each other: it moves bytes its own way",
			option, name);
	return 0;
}

int nd_persona_judge_ways(const struct nd_plan *plan, bool datagram, struct nd_err *err)
{
	bool uring = strcmp(plan->engine, "uring") == 0;
	const struct nd_engine *engine = nd_engine_find(plan->engine); /* NULL: auto */
	int r = judge_way(plan, true, datagram, err);

	if (r == 0 && plan->verb == ND_VERB_CONNECT && engine && !engine->connects)
		r = nd_fail(err, -EINVAL, "--engine %s makes no connections, blocking and epoll do",
			    plan->engine);
	if (r == 0)
		r = judge_way(plan, false, datagram, err);
	if (r == 0 && uring && datagram && (plan->gso > 1 || plan->gro == ND_ON))
		r = nd_fail(err, -EINVAL, "--engine uring and %s exclude each other",
			    plan->gso > 1 ? "--gso" : "--gro");
	if (r == 0 && uring && plan->ask.max)
		r = nd_fail(err, -EINVAL, "--engine uring and --max exclude each other");
	if (r == 0 && plan->ask.spin && strcmp(plan->wait, "auto") != 0 &&
	    strcmp(plan->wait, "spin") != 0)
		r = nd_fail(err, -EINVAL, "--spin and --wait %s exclude each other", plan->wait);
	return r;
}
