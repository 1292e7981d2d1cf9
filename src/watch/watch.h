/* SPDX-License-Identifier: MIT */
/* The live monitor, and the tools for interrupts. One process of its own each: no test runs beside them. */
#ifndef ND_WATCH_WATCH_H
#define ND_WATCH_WATCH_H

#include "base/err.h"
#include "plan/local.h"
#include "plan/plan.h"

/** nd_watch_run() - show counters until as many samples as were asked for have been shown, or until a signal. A reader
 * that goes away ends it, too. @plan->face: struct nd_watch_ask. Return: 0 or negative errno; -ENODEV and -EINVAL are
 * about the command line. */
ND_MUST_CHECK int nd_watch_run(const struct nd_plan *plan, const struct nd_local_place *place,
			       struct nd_err *err);

/** nd_irq_run() - show, spread or put back the interrupts of an interface. @plan->face: struct nd_irq_ask. Return: 0, or
 * negative errno when nothing, or not all of it, could be done. */
ND_MUST_CHECK int nd_irq_run(const struct nd_plan *plan, const struct nd_local_place *place,
			     struct nd_err *err);

#endif
