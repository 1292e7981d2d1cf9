/* SPDX-License-Identifier: MIT */
/* The live monitor, and the tools for interrupts. One process of its own each: no test runs beside them. */
#ifndef ND_WATCH_WATCH_H
#define ND_WATCH_WATCH_H

#include "base/err.h"
#include "plan/local.h"
#include "plan/plan.h"

/** nd_watch_run() - @plan->face: struct nd_watch_ask. Show counters until so many samples were shown, or a signal. A reader that goes away ends
 * it, too. Return: 0 or negative errno. */
ND_MUST_CHECK int nd_watch_run(const struct nd_plan *plan, const struct nd_local_place *place,
			       struct nd_err *err);

/** nd_irq_run() - @plan->face: struct nd_irq_ask. Show, spread or put back the interrupts of an interface. Return: 0, or negative errno when
 * nothing, or not all of it, could be done. */
ND_MUST_CHECK int nd_irq_run(const struct nd_plan *plan, const struct nd_local_place *place,
			     struct nd_err *err);

#endif
