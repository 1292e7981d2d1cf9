/* SPDX-License-Identifier: MIT */
/*
 * What on this machine, on the way and at the peer would spoil a result, and how to mend it.
 * To add a check: a row in checks_*.c with a function that looks at gathered facts; text, JSON and exit code follow.
 */
#ifndef ND_ADVISE_ADVISE_H
#define ND_ADVISE_ADVISE_H

#include "base/err.h"
#include "plan/local.h"
#include "plan/plan.h"

#define ND_DOCTOR_WARNED 4 /* exit code */

/** nd_doctor_run() - @plan->face: struct nd_doctor_ask. Return: 0 nothing stands in the way, ND_DOCTOR_WARNED, or
 * negative errno when it could not look. */
ND_MUST_CHECK int nd_doctor_run(const struct nd_plan *plan, const struct nd_local_place *place,
				struct nd_err *err);

#endif
