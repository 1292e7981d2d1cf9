/* SPDX-License-Identifier: MIT */
/* The program's own face: its verbs, and what rows cannot express of them. Options mean the same under every verb. */
#include <errno.h>
#include <string.h>

#include "net/net.h"
#include "persona/native.h"

/* A bad network is a bad command line, not a server that fails later. */
static int settle_serve(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			struct nd_err *err)
{
	struct nd_cidr unused;
	uint64_t i;
	int r;

	(void)target;   /* the plan */
	(void)operands; /* the parser took none */
	for (i = 0; i < plan->serve.allow.n; i++) {
		r = nd_cidr_parse(plan->serve.allow.v[i], &unused, err);
		if (r < 0)
			return nd_wrap(err, -EINVAL, "--allow");
	}
	return nd_persona_settle_also(plan, err);
}

static int settle_stream(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			 struct nd_err *err)
{
	int r;

	(void)target; /* the plan */
	plan->host = operands->v[0];
	r = nd_persona_judge_host(plan->host, err);
	if (r < 0)
		return r;
	return nd_persona_judge_ways(plan, plan->ask.udp, err);
}

static int settle_latency(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			  struct nd_err *err)
{
	int r;

	(void)target; /* the plan */
	plan->host = operands->v[0];
	r = nd_persona_judge_host(plan->host, err);
	if (r < 0)
		return r;
	plan->tx = plan->rx = "auto"; /* it has no words for them */
	if (plan->stamper == ND_STAMPER_KERNEL &&
	    (!strcmp(plan->engine, "uring") || !strcmp(plan->engine, "null")))
		return nd_fail(err, -EINVAL,
			       "--timestamps kernel and --engine %s exclude each other: it gets no "
			       "stamps",
			       plan->engine);
	return nd_persona_judge_ways(plan, plan->ask.udp, err);
}

/* An optional value stands in the option's word; "--find-rate 0.1% HOST" is what people type all the same. */
static int settle_packets(struct nd_plan *plan, void *target, const struct nd_strv *operands,
			  struct nd_err *err)
{
	uint64_t i, ppm = 0;
	int r;

	(void)target; /* the plan */
	plan->host = operands->v[0];
	for (i = 0; operands->n == 2 && i < 2; i++) {
		if (!plan->find.wanted ||
		    nd_parse_number(operands->v[i], ND_UNIT_PERCENT, &ppm) < 0)
			continue;
		plan->host = operands->v[1 - i];
		break;
	}
	if (operands->n == 2 && (!plan->find.wanted || i == 2))
		return nd_fail(err, -EINVAL, "'%.80s' is one operand too many: there is one HOST",
			       operands->v[1]);
	if (operands->n == 2 && ppm > ND_MAX_LOSS_PPM)
		return nd_fail(err, -EINVAL, "--find-rate: '%.80s' is outside 0%%..50%%",
			       operands->v[i]);
	if (operands->n == 2)
		plan->find.loss_ppm = ppm;
	r = nd_persona_judge_host(plan->host, err);
	return r < 0 ? r : nd_persona_judge_ways(plan, true, err);
}

/* clang-format off */
#define VERB(v, upper, how) { .verb = #v, .plan_verb = ND_VERB_##upper, .set = &nd_persona_##v##_set, .settle = (how) }
/* One that looks at this machine alone, with a target of its own. */
#define LOCAL(v, upper)                                                                                   \
	{ .verb = #v, .plan_verb = ND_VERB_##upper, .is_local = true, .set = &nd_persona_##v##_set,       \
	  .target = nd_persona_##v##_target, .settle = nd_persona_##v##_settle }

static const struct nd_face faces[] = {
	VERB(serve,   SERVE,   settle_serve),
	VERB(stream,  STREAM,  settle_stream),
	VERB(packets, PACKETS, settle_packets),
	VERB(connect, CONNECT, settle_latency),
	VERB(latency, LATENCY, settle_latency),
	LOCAL(watch,  WATCH),
	LOCAL(irq,    IRQ),
	LOCAL(doctor, DOCTOR),
	{ .set = NULL },
};

/* clang-format on */

const struct nd_persona nd_persona_native = {
	.name = "netdyno",
	.help = "the program's own verbs",
	.faces = faces,
	.dialect = "native",
};
