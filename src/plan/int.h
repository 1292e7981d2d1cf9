/* SPDX-License-Identifier: MIT */
/* Private to plan/: what judging a plan is made of. */
#ifndef ND_PLAN_INT_H
#define ND_PLAN_INT_H

#include "plan/plan.h"

/** nd_plan_most() - the largest of the member at @offset of struct nd_workload over all workloads. */
uint64_t nd_plan_most(const struct nd_plan *plan, size_t offset);

#define MOST(plan, f) nd_plan_most(plan, ND_FIELD_OF(uint64_t, struct nd_workload, f))

/* rules.c: -EINVAL and a sentence. Of every plan, a server's own too; and of one that has a test. */
ND_MUST_CHECK int nd_plan_judge_verb(const struct nd_plan *plan, struct nd_err *err);
ND_MUST_CHECK int nd_plan_judge_test(const struct nd_plan *plan, struct nd_err *err);

#endif
