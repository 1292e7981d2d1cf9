/* SPDX-License-Identifier: MIT */
/* Can this end run the plan? Names, abilities, descriptors: judged before anything is opened. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "run/int.h"

enum {
	SPARE_FDS = 32,
	MANY_PORTS = 32
}; /* links, listeners, event descriptors, standard streams */

/* Ways to move datagrams in pieces of several: by choice of the user, or where nothing speaks against it: our own
 * language, one way, as fast as it goes, not each a packet of its own. */
static bool in_pieces(const struct nd_plan *plan, const struct nd_lane *l)
{
	const struct nd_workload *wl = l->workload;

	if (plan->gso || strcmp(plan->tx, "auto") != 0)
		return plan->gso > 1 || strcmp(plan->tx, "gso") == 0;
	return !plan->dialect && !l->load->round_trips && !wl->rate_bps && !wl->rate_ops &&
	       wl->sizes.n == 0 && wl->message_bytes <= ND_MAX_DATAGRAM / 2 &&
	       strcmp(plan->engine, "uring") != 0 && strcmp(plan->engine, "null") != 0;
}

/* What "auto" stands for: plain copies, but for datagrams in pieces. */
static const char *auto_xfer(const struct nd_plan *plan, bool sends, const struct nd_lane *l)
{
	if (!nd_is_datagram(l))
		return "copy";
	if (sends)
		return in_pieces(plan, l) ? "gso" : "copy";
	if (plan->gro == ND_AUTO)
		return in_pieces(plan, l) ? "gro" : "copy";
	return plan->gro == ND_ON ? "gro" : "copy";
}

/* What a way can do, against what the lane needs. */
static int judge_xfer(const char *name, const struct nd_xfer *x, const struct nd_lane *l,
		      struct nd_err *err)
{
	const char *option = x->sends ? "tx" : "rx";
	bool sees = x->sends ? l->frame->fills : l->frame->takes;

	if (x->blind && sees)
		return nd_fail(err, -EOPNOTSUPP,
			       "--%s %s does not see the payload, which frame '%s' must", option,
			       name, l->frame->name);
	if (x->heads && sees && l->frame->looks_bytes == 0)
		return nd_fail(err, -EOPNOTSUPP,
			       "--%s %s does not see all of the payload, which frame '%s' must",
			       option, name, l->frame->name);
	if (x->one_way && l->load->round_trips)
		return nd_fail(err, -EOPNOTSUPP,
			       "--%s %s moves several datagrams at once: traffic shape '%s' "
			       "answers each",
			       option, name, l->load->name);
	return 0;
}

/* A tool's plan of both transports: a way for the one says nothing about the other. */
static bool is_for_other(const struct nd_plan *plan, const char *name, bool sends, bool datagram)
{
	return plan->face && plan->workloads > 1 && !nd_xfer_find(name, sends, datagram) &&
	       nd_xfer_find(name, sends, !datagram);
}

/* How one direction of a lane moves. */
static int pick_xfer(const struct nd_plan *plan, bool sends, const struct nd_lane *l,
		     const struct nd_xfer **ret, struct nd_err *err)
{
	const char *name = sends ? plan->tx : plan->rx;
	bool datagram = nd_is_datagram(l);

	if (strcmp(name, "auto") == 0 || is_for_other(plan, name, sends, datagram))
		name = auto_xfer(plan, sends, l);
	if (plan->stamper == ND_STAMPER_KERNEL && l->load->round_trips)
		name = "stamped copy";
	*ret = nd_xfer_find(name, sends, datagram);
	if (!*ret)
		return nd_fail(err, -EOPNOTSUPP, "--%s %s cannot move %s", sends ? "tx" : "rx",
			       name, datagram ? "datagrams" : "streams");
	return judge_xfer(name, *ret, l, err);
}

static int check_lane(const struct nd_plan *plan, const struct nd_workload *wl, struct nd_lane *l,
		      struct nd_err *err)
{
	bool datagram;
	int r;

	*l = (struct nd_lane){
		.workload = wl,
		.load = nd_load_find(wl->load),
		.frame = nd_frame_find(wl->frame),
		.transport = nd_transport_find(wl->transport),
	};
	if (!l->load)
		return nd_fail(err, -EOPNOTSUPP, "traffic shape '%s' is not known here", wl->load);
	if (!l->frame)
		return nd_fail(err, -EOPNOTSUPP, "frame '%s' is not known here", wl->frame);
	if (!l->transport)
		return nd_fail(err, -EOPNOTSUPP, "transport '%s' is not known here", wl->transport);
	datagram = nd_is_datagram(l);
	if ((l->load->needs & ~l->transport->caps) != 0)
		return nd_fail(err, -EOPNOTSUPP, "traffic shape '%s' does not run over %s",
			       wl->load, wl->transport);
	if (datagram ? !l->frame->datagram : !l->frame->stream)
		return nd_fail(err, -EOPNOTSUPP, "frame '%s' does not travel in %s", wl->frame,
			       datagram ? "datagrams" : "streams");
	r = pick_xfer(plan, true, l, &l->tx, err);
	return r < 0 ? r : pick_xfer(plan, false, l, &l->rx, err);
}

int nd_lanes_fill(const struct nd_plan *plan, struct nd_lane *lanes, struct nd_err *err)
{
	for (uint64_t i = 0; i < plan->workloads; i++) {
		int e = check_lane(plan, &plan->workload[i], &lanes[i], err);

		if (e < 0)
			return e;
	}
	return 0;
}

/* Descriptors of one worker's flows; second halves have one of their own. */
uint64_t nd_fds_needed(const struct nd_plan *plan, const struct nd_lane *lanes)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < plan->workloads; i++)
		n += plan->workload[i].flows * nd_layout_halves(&lanes[i], true);
	return n;
}

static uint64_t ports_of(const struct nd_plan *plan)
{
	const struct nd_target *t = plan->targets.v;
	uint64_t n = 0;

	for (uint64_t i = 0; i < plan->targets.n; i++)
		n += t[i].ports;
	return n;
}

/* 0: one table will do; 1: each worker needs its own; negative: not even then. */
int nd_fds_judge(const struct nd_plan *plan, const struct nd_lane *lanes, uint32_t workers,
		 struct nd_err *err)
{
	uint64_t limit = nd_fd_limit(), need = nd_fds_needed(plan, lanes);

	/* as many as come: who listens on that many ports means more than one table holds */
	if (plan->open_ended)
		return nd_fd_tables() && workers > 1 && limit < need &&
		       ports_of(plan) >= MANY_PORTS;
	/* datagram flows of a server are held twice for a moment */
	if (need * 2 + SPARE_FDS <= limit || need + SPARE_FDS + workers * 2 <= limit * 9 / 10)
		return 0;
	if (nd_fd_tables() && need / workers + SPARE_FDS + 1 <= limit)
		return 1;
	return nd_fail(
		err, -EMFILE,
		"flows: %llu on %u threads is more than the %llu descriptors of this end allow "
		"(ulimit -n)%s",
		(unsigned long long)need, workers, (unsigned long long)limit,
		plan->face ? "" : ": give more --threads or fewer --flows");
}

int nd_run_check(const struct nd_run_cfg *cfg, struct nd_err *err)
{
	struct nd_lane lanes[ND_MAX_WORKLOADS];
	const char *engine = cfg->plan->engine, *wait = cfg->plan->wait;
	const struct nd_engine *chosen = nd_engine_find(engine);
	int e = nd_lanes_fill(cfg->plan, lanes, err);

	if (e < 0)
		return e;
	if (strcmp(engine, "auto") != 0 && !chosen)
		return nd_fail(err, -EOPNOTSUPP, "engine '%s' is not known here", engine);
	for (uint64_t i = 0; chosen && i < cfg->plan->workloads; i++) {
		if (lanes[i].load->connects && !chosen->connects)
			return nd_fail(err, -EOPNOTSUPP,
				       "engine '%s' makes no connections, as '%s' needs", engine,
				       lanes[i].load->name);
	}
	if (strcmp(wait, "auto") != 0 && !nd_wait_find(wait))
		return nd_fail(err, -EOPNOTSUPP, "wait policy '%s' is not known here", wait);
	e = nd_fds_judge(cfg->plan, lanes, cfg->threads ? cfg->threads : 1, err);
	return e < 0 ? e : 0;
}
