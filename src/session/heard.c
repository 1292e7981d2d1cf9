/* SPDX-License-Identifier: MIT */
/* What the peer tells while the test runs: all that there is of it when it goes without a result. */
#include <stdlib.h>

#include "base/grow.h"
#include "session/int.h"

#define HEARD_MAX 100000u /* for each workload: a peer may tell as many as it likes */

void nd_heard_add(struct nd_heard *heard, const struct nd_interval_sample *s)
{
	if (heard->n >= HEARD_MAX || nd_grow(heard->v, heard->n) < 0)
		return; /* a row is lost, not the test */
	heard->v[heard->n] = *s;
	heard->v[heard->n++].phase = NULL; /* lives shorter than the sample; this end knows, too */
}

void nd_heard_done(struct nd_heard *heard)
{
	free(heard->v);
	*heard = (struct nd_heard){ 0 };
}
