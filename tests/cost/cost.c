/* SPDX-License-Identifier: MIT */
/*
 * Runs every case, for callgrind; tests/cost/run reads the profiles. By itself it only shows that the cases work.
 * Says in order, one line per profile that callgrind writes: "case NAME OPERATIONS"; "skipped NAME" and
 * "failed WHY" stand for none.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost.h"

__attribute__((noinline)) void cost_measured(void (*run)(void *state, uint64_t n), void *state,
					     uint64_t n)
{
	run(state, n);
	__asm__("" ::: "memory"); /* no tail call: the exit is what callgrind looks for */
}

void cost_measure(const struct cost_case *c)
{
	for (uint64_t times = 1; times <= 2; times++) {
		void *state = c->prepare(c);

		if (!state) {
			printf("skipped %s\n", c->name);
			return;
		}
		cost_measured(c->run, state, times * c->n);
		printf("case %s %" PRIu64 "\n", c->name, times * c->n);
		(void)fflush(stdout); /* a lost line shows as a missing figure */
		if (c->done)
			c->done(state);
		else
			free(state);
	}
}

int main(void)
{
	cost_parts();
	cost_engines();
	return 0;
}
